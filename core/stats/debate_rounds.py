"""Agreement, accuracy and upper bound of agents that answer in parallel, by round.

Agreement and accuracy per round and the upper bound follow Tseng et al., *Evaluating LLMs as Expert Annotators*
(sections 4.2 and 4.3). Agreement with the majority and between consecutive judges follows *Courtroom-LLM* (4.3.1). As
in figure 2 of Tseng et al., every round covers all documents: a document on which the agents agreed is not discussed
again, and their answers carry over. (Documents that a later round discusses are the hard ones. On them alone accuracy
would seem to fall from round to round.) Values are ``[document, item]`` numbers, NaN for none: 1 and 0 of a multilabel,
the index of a choice, a rating.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from core.annotations import NEAR
from core.stats.agreement import Agreement, fleiss_kappa, krippendorff_alpha
from core.stats.arrays import Mask, Ratings, check_shapes, ratings


@dataclass(frozen=True, slots=True)
class AgentRound:
    """Agent after a round.

    ``accuracy`` is the share of right cells among those with gold and a value of the agent, None without any. The other
    numbers count cells with a value of the agent in this round and an earlier one.
    """

    agent: str
    accuracy: float | None
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
    unanimous: float | None
    """share of these on which all agents agree on every item"""
    agreement: Agreement
    """Fleiss' kappa over cells; of ratings Krippendorff's ordinal alpha"""
    with_majority: float | None
    """mean share of agents per cell with the most common value (of ratings: within a point of the median)"""
    consecutive: tuple[tuple[str, str, float | None], ...]
    """each agent and the next, and the share of cells on which they agree: judges who answer in sequence"""
    vote: float | None
    """accuracy of the vote (a tie is wrong)"""
    mean: float | None
    """mean accuracy of the agents"""
    upper_bound: float | None
    """share of cells with gold on which at least one agent is right: the best result of a perfect referee"""


@dataclass(frozen=True, slots=True)
class Bound:
    """Upper bound of the debate, as shares of cells with gold and a verdict."""

    cells: int
    at_first: float | None
    """some agent of the first step was right"""
    ever: float | None
    """some agent was right at some step"""
    reached: float | None
    """the verdict is right"""

    @property
    def gap(self) -> float | None:
        """``at_first`` minus ``reached``: right answers that the debate lost; negative if it found more."""
        return None if self.at_first is None or self.reached is None else self.at_first - self.reached


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
    reference: npt.ArrayLike, steps: Sequence[tuple[str, Mapping[str, npt.ArrayLike]]], *, measured: bool = False
) -> tuple[Round, ...]:
    """Return the rounds of a debate from (name, values by agent), in order.

    Agents that answered together in an earlier round continue as a group. An agent without any value for a document
    (NaN throughout) keeps its last values. Raises ValueError for shapes that differ.
    """
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
        found.append(_round(name, gold, dict(table), predicted, before, measured))
    return tuple(found)


def bound(
    reference: npt.ArrayLike,
    steps: Sequence[Sequence[npt.ArrayLike]],
    verdict: npt.ArrayLike,
    *,
    measured: bool = False,
) -> Bound:
    """Return the upper bound of a debate: ``steps`` are the values of the agents of each step."""
    gold, ended = ratings(reference), ratings(verdict)
    counted = ~np.isnan(gold) & ~np.isnan(ended)
    cells, reached = int(counted.sum()), _share(is_right(gold, ended, measured=measured), counted)
    if not cells or not steps:
        return Bound(cells, None, None, reached)
    each = [
        np.any(np.stack([is_right(gold, ratings(one), measured=measured) for one in step]), axis=0) for step in steps
    ]
    return Bound(cells, _share(each[0], counted), _share(np.any(np.stack(each), axis=0), counted), reached)


def _latest(now: Ratings, before: Ratings | None) -> Ratings:
    """Return the last values that an agent gave for each document."""
    return now if before is None else np.where(_spoken(now)[:, None], now, before)


def _spoken(predicted: Ratings) -> Mask:
    """Return ``[document]``: True if any item has a value."""
    there: Mask = np.any(~np.isnan(predicted), axis=1)
    return there


def _round(
    name: str,
    gold: Ratings,
    predicted: Mapping[str, Ratings],
    now: Mapping[str, Ratings],
    before: Mapping[str, Ratings],
    measured: bool,
) -> Round:
    """Return a round.

    ``predicted`` are the current values, ``now`` those given in this round, ``before`` the earlier ones.
    """
    stack = np.stack(list(predicted.values()))
    known = ~np.isnan(stack)
    right = np.stack([is_right(gold, grid, measured=measured) for grid in predicted.values()])
    has_gold = ~np.isnan(gold)
    full: Mask = np.all(known, axis=(0, 2))
    together = vote_of(list(predicted.values()), measured=measured)
    several = known.sum(axis=0) >= 2
    cells = stack.reshape(len(stack), -1).T
    with_vote = is_right(together[None, ...], stack, measured=measured).sum(axis=0)
    # On a tie count the agents that gave one of the leading values: at least one.
    leading = with_vote if measured else _votes(stack)[1].max(axis=0, initial=0)
    per_cell = leading[several] / known.sum(axis=0)[several]
    agents = tuple(
        _agent(agent, gold, grid, now.get(agent), before.get(agent), measured) for agent, grid in predicted.items()
    )
    accuracies = [one.accuracy for one in agents if one.accuracy is not None]
    voted = has_gold & np.any(known, axis=0)
    return Round(
        name=name,
        agents=agents,
        asked=int(np.any([_spoken(grid) for grid in now.values()], axis=0).sum()),
        documents=int(full.sum()),
        unanimous=float(np.all(stack[:, full] == stack[:1, full], axis=(0, 2)).mean()) if full.any() else None,
        agreement=krippendorff_alpha(cells, "ordinal") if measured else fleiss_kappa(cells),
        with_majority=float(per_cell.mean()) if len(per_cell) else None,
        consecutive=tuple(
            (
                one,
                two,
                _share(
                    is_right(predicted[one], predicted[two], measured=measured),
                    ~np.isnan(predicted[one] + predicted[two]),
                ),
            )
            for one, two in pairwise(predicted)
        ),
        vote=_share(is_right(gold, together, measured=measured), voted),
        mean=sum(accuracies) / len(accuracies) if accuracies else None,
        upper_bound=_share(np.any(right, axis=0), voted),
    )


def _agent(
    name: str, gold: Ratings, stands: Ratings, now: Ratings | None, was: Ratings | None, measured: bool
) -> AgentRound:
    accuracy = _share(is_right(gold, stands, measured=measured), ~np.isnan(gold) & ~np.isnan(stands))
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


def _share(mask: Mask, among: Mask) -> float | None:
    whole = int(among.sum())
    return int((mask & among).sum()) / whole if whole else None
