"""Agreement, accuracy and upper bound of agents that answer in parallel, by round.

Agreement and accuracy per round and the upper bound follow Tseng et al., *Evaluating LLMs as Expert Annotators*
(sections 4.2 and 4.3). Agreement with the majority and between consecutive judges follows *Courtroom-LLM* (4.3.1). As
in figure 2 of Tseng et al., every round covers all documents: a document on which the agents agreed is not discussed
again, and their answers carry over. (Documents that a later round discusses are the hard ones. On them alone accuracy
would seem to fall from round to round.) Values are ``[document, item]`` numbers, NaN for none: 1 and 0 of a multilabel,
the index of a choice, a rating.

Documents are the independent units of the intervals, or groups of them. Shares of right cells are estimated under the
``Design`` of the reference. Agreement needs no reference, so that it is that of all documents of the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from core.annotations import NEAR
from core.stats.agreement import fleiss_kappa, krippendorff_alpha, with_interval
from core.stats.arrays import Codes, Mask, Ratings, check_shapes, ratings
from core.stats.intervals import Estimate
from core.stats.metric_intervals import Design, ratio


@dataclass(frozen=True, slots=True)
class AgentRound:
    """Agent after a round.

    ``accuracy`` is the share of right cells among those with gold and a value of the agent, None without any. The other
    numbers count cells with a value of the agent in this round and an earlier one.
    """

    agent: str
    accuracy: Estimate
    kept: int
    """cells with the same value again"""
    to_right: int
    """cells that the agent changed from wrong to right"""
    to_wrong: int
    """from right to wrong"""
    sideways: int
    """from one wrong value to another, or a change without gold"""


@dataclass(frozen=True, slots=True)
class Round:
    """State after a round of agents that answered the same question in parallel."""

    name: str
    agents: tuple[AgentRound, ...]
    asked: int
    """documents with a value by any agent in this round"""
    documents: int
    """documents that every agent has answered completely, in this round or before"""
    unanimous: Estimate
    """share of these on which all agents agree on every item"""
    agreement: Estimate
    """Fleiss' kappa over cells; of ratings Krippendorff's ordinal alpha"""
    with_majority: Estimate
    """mean share of agents per cell with the most common value (of ratings: within a point of the median)"""
    consecutive: tuple[tuple[str, str, Estimate], ...]
    """each agent and the next, and the share of cells on which they agree: judges who answer in sequence"""
    vote: Estimate
    """accuracy of the vote (a tie is wrong)"""
    mean: Estimate
    """mean accuracy of the agents"""
    upper_bound: Estimate
    """share of cells with gold on which at least one agent is right: the best result of a perfect referee"""


@dataclass(frozen=True, slots=True)
class Bound:
    """Upper bound of the debate, as shares of cells with gold and a verdict."""

    cells: int
    at_first: Estimate
    """some agent of the first step was right"""
    ever: Estimate
    """some agent was right at some step"""
    reached: Estimate
    """the verdict is right"""
    gap: Estimate
    """``at_first`` minus ``reached``: right answers that the debate lost; negative if it found more"""


def is_right(reference: Ratings, predicted: Ratings, *, measured: bool) -> Mask:
    """Return a mask of right values: equal to the reference, or a rating less than a point away.

    False if either value is missing.
    """
    right: Mask = np.abs(predicted - reference) < NEAR if measured else np.equal(predicted, reference)
    return right


def vote_of(predicted: Sequence[npt.ArrayLike], *, measured: bool) -> Ratings:
    """Return the vote of several agents: the most common value, NaN on a tie; for ratings the median."""
    stack = np.stack([ratings(one) for one in predicted])
    if len(stack) == 1:
        return ratings(predicted[0])
    there: Mask = np.any(~np.isnan(stack), axis=0)
    result = np.full(stack.shape[1:], np.nan)
    if measured:
        result[there] = np.nanmedian(stack[:, there], axis=0)
        return result
    values, votes = _votes(stack)
    if not len(values):
        return result
    chosen = there & ((votes == votes.max(axis=0)).sum(axis=0) == 1)
    result[chosen] = values[votes.argmax(axis=0)[chosen]]
    return result


def rounds(
    reference: npt.ArrayLike,
    steps: Sequence[tuple[str, Mapping[str, npt.ArrayLike]]],
    *,
    measured: bool = False,
    design: Design | None = None,
    groups: Codes | None = None,
) -> tuple[Round, ...]:
    """Return the rounds of a debate from (name, values by agent), in order.

    Agents that answered together in an earlier round continue as a group. An agent without any value for a document
    (NaN throughout) keeps its last values. ``design`` describes how the documents with a reference were selected and
    which depend on each other, by default all are independent. ``groups`` are those of all documents, ``[document]``.
    Raises ValueError for shapes that differ.
    """
    judged, every = design or Design(), Design(groups=groups)
    gold = ratings(reference)
    found: list[Round] = []
    tables: list[dict[str, Ratings]] = []
    for name, agents in steps:
        predicted = {agent: ratings(values) for agent, values in agents.items()}
        check_shapes(gold, *predicted.values())
        table = next((one for one in tables if not one.keys().isdisjoint(predicted)), None)
        if table is None:
            table = {}
            tables.append(table)
        before = dict(table)
        table |= {agent: _latest(grid, before.get(agent)) for agent, grid in predicted.items()}
        found.append(_round(name, gold, dict(table), predicted, before, measured, judged, every))
    return tuple(found)


def bound(
    reference: npt.ArrayLike,
    steps: Sequence[Sequence[npt.ArrayLike]],
    verdict: npt.ArrayLike,
    *,
    measured: bool = False,
    design: Design | None = None,
) -> Bound:
    """Return the upper bound of a debate: ``steps`` are the values of the agents of each step.

    ``design`` as for ``rounds``.
    """
    gold, ended = ratings(reference), ratings(verdict)
    counted = ~np.isnan(gold) & ~np.isnan(ended)
    chosen, right = design or Design(), is_right(gold, ended, measured=measured)
    cells, reached, undefined = int(counted.sum()), _share(right, counted, chosen), Estimate(None, None)
    if not cells or not steps:
        return Bound(cells, undefined, undefined, reached, undefined)
    each = [
        np.any(np.stack([is_right(gold, ratings(one), measured=measured) for one in step]), axis=0) for step in steps
    ]
    lost = (each[0] & counted).sum(axis=1) - (right & counted).sum(axis=1)
    return Bound(
        cells,
        _share(each[0], counted, chosen),
        _share(np.any(np.stack(each), axis=0), counted, chosen),
        reached,
        ratio(lost, counted.sum(axis=1), chosen, signed=True),
    )


def _latest(now: Ratings, before: Ratings | None) -> Ratings:
    """Return the last values that an agent gave for each document."""
    return now if before is None else np.where(_spoken(now)[:, None], now, before)


def _spoken(predicted: Ratings) -> Mask:
    """Return ``[document]``: True if any item has a value."""
    return np.asarray(~np.isnan(predicted).all(axis=1))


def _round(
    name: str,
    gold: Ratings,
    predicted: Mapping[str, Ratings],
    now: Mapping[str, Ratings],
    before: Mapping[str, Ratings],
    measured: bool,
    judged: Design,
    every: Design,
) -> Round:
    """Return a round.

    ``predicted`` are the current values, ``now`` those given in this round, ``before`` the earlier ones. ``judged`` is
    the design of shares that need a reference, ``every`` that of the others, which concern all documents.
    """
    stack = np.stack(list(predicted.values()))
    known = ~np.isnan(stack)
    right = np.stack([is_right(gold, grid, measured=measured) for grid in predicted.values()])
    has_gold = ~np.isnan(gold)
    full: Mask = np.all(known, axis=(0, 2))
    together = vote_of(list(predicted.values()), measured=measured)
    several = known.sum(axis=0) >= 2
    cells = stack.reshape(len(stack), -1).T
    groups = every.groups
    if stack.shape[2] > 1:  # the cells of a document depend on each other
        groups = np.repeat(np.arange(stack.shape[1]) if groups is None else groups, stack.shape[2])
    unlike = np.any(stack != stack[:1], axis=(0, 2))
    with_vote = is_right(together[None, ...], stack, measured=measured).sum(axis=0)
    # On a tie count the agents that gave one of the leading values: at least one.
    leading = with_vote if measured else _votes(stack)[1].max(axis=0, initial=0)
    per_cell = np.where(several, leading / np.maximum(known.sum(axis=0), 1), 0.0)
    agents = tuple(
        _agent(agent, gold, grid, now.get(agent), before.get(agent), measured, judged)
        for agent, grid in predicted.items()
    )
    answered = known & has_gold
    voted = has_gold & np.any(known, axis=0)
    return Round(
        name=name,
        agents=agents,
        asked=int(np.any([_spoken(grid) for grid in now.values()], axis=0).sum()),
        documents=int(full.sum()),
        unanimous=ratio(full & ~unlike, full, every),
        agreement=with_interval(
            lambda answers, times: (
                krippendorff_alpha(answers, "ordinal", times) if measured else fleiss_kappa(answers, times)
            ),
            cells,
            groups,
        ),
        with_majority=ratio(per_cell.sum(axis=1), several.sum(axis=1), every),
        consecutive=tuple(
            (
                one,
                two,
                _share(
                    is_right(predicted[one], predicted[two], measured=measured),
                    ~np.isnan(predicted[one] + predicted[two]),
                    every,
                ),
            )
            for one, two in pairwise(predicted)
        ),
        vote=_share(is_right(gold, together, measured=measured), voted, judged),
        mean=ratio((right & answered).sum(axis=2).T, answered.sum(axis=2).T, judged),
        upper_bound=_share(np.any(right, axis=0), voted, judged),
    )


def _agent(
    name: str,
    gold: Ratings,
    stands: Ratings,
    now: Ratings | None,
    was: Ratings | None,
    measured: bool,
    design: Design,
) -> AgentRound:
    accuracy = _share(is_right(gold, stands, measured=measured), ~np.isnan(gold) & ~np.isnan(stands), design)
    if now is None or was is None:
        return AgentRound(name, accuracy, 0, 0, 0, 0)
    right = is_right(gold, now, measured=measured)
    both = ~np.isnan(was) & ~np.isnan(now)
    changed = both & (was != now)
    was_right = is_right(gold, was, measured=measured)
    return AgentRound(
        name,
        accuracy,
        kept=int((both & ~changed).sum()),
        to_right=int((changed & right & ~was_right).sum()),
        to_wrong=int((changed & was_right & ~right).sum()),
        sideways=int((changed & (right == was_right)).sum()),
    )


def _votes(stack: Ratings) -> tuple[Ratings, npt.NDArray[np.int64]]:
    """Return the values that agents gave, and how many gave each to each cell, ``[value, document, item]``."""
    values = np.unique(stack[~np.isnan(stack)])
    votes = np.array([(stack == value).sum(axis=0) for value in values], dtype=np.int64)
    return values, votes.reshape(len(values), *stack.shape[1:])


def _share(mask: Mask, among: Mask, design: Design) -> Estimate:
    return ratio((mask & among).sum(axis=1), among.sum(axis=1), design)
