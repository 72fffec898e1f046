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
    stack = np.stack([ratings(values_of_agent) for values_of_agent in predicted])
    if len(stack) == 1:
        return ratings(predicted[0])
    has_value: Mask = np.any(~np.isnan(stack), axis=0)
    result = np.full(stack.shape[1:], np.nan)
    if measured:
        result[has_value] = np.nanmedian(stack[:, has_value], axis=0)
        return result
    values, votes = count_votes(stack)
    if not len(values):
        return result
    chosen = has_value & ((votes == votes.max(axis=0)).sum(axis=0) == 1)
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
    reference_design, document_design = design or Design(), Design(groups=groups)
    gold = ratings(reference)
    debate_rounds: list[Round] = []
    tables: list[dict[str, Ratings]] = []
    for name, agents in steps:
        predicted = {agent: ratings(values) for agent, values in agents.items()}
        check_shapes(gold, *predicted.values())
        table = next(
            (earlier_table for earlier_table in tables if not earlier_table.keys().isdisjoint(predicted)), None
        )
        if table is None:
            table = {}
            tables.append(table)
        earlier = dict(table)
        table |= {agent: _latest(grid, earlier.get(agent)) for agent, grid in predicted.items()}
        debate_rounds.append(
            _round(name, gold, dict(table), predicted, earlier, measured, reference_design, document_design)
        )
    return tuple(debate_rounds)


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
    right_by_step = [
        np.any(np.stack([is_right(gold, ratings(values), measured=measured) for values in step]), axis=0)
        for step in steps
    ]
    losses = (right_by_step[0] & counted).sum(axis=1) - (right & counted).sum(axis=1)
    return Bound(
        cells,
        _share(right_by_step[0], counted, chosen),
        _share(np.any(np.stack(right_by_step), axis=0), counted, chosen),
        reached,
        ratio(losses, counted.sum(axis=1), chosen, signed=True),
    )


def _latest(current: Ratings, earlier: Ratings | None) -> Ratings:
    """Return the last values that an agent gave for each document."""
    return current if earlier is None else np.where(_spoken(current)[:, None], current, earlier)


def _spoken(predicted: Ratings) -> Mask:
    """Return ``[document]``: True if any item has a value."""
    return np.asarray(~np.isnan(predicted).all(axis=1))


def _round(
    name: str,
    gold: Ratings,
    current: Mapping[str, Ratings],
    in_round: Mapping[str, Ratings],
    earlier: Mapping[str, Ratings],
    measured: bool,
    reference_design: Design,
    document_design: Design,
) -> Round:
    """Return a round.

    ``current`` are the latest values by agent, ``in_round`` those given in this round, ``earlier`` those before it.
    ``reference_design`` is the design of shares that need a reference, ``document_design`` that of the others, which
    concern all documents.
    """
    stack = np.stack(list(current.values()))
    known = ~np.isnan(stack)
    right = np.stack([is_right(gold, grid, measured=measured) for grid in current.values()])
    has_gold = ~np.isnan(gold)
    is_complete: Mask = np.all(known, axis=(0, 2))
    differs = np.any(stack != stack[:1], axis=(0, 2))
    vote = vote_of(list(current.values()), measured=measured)
    answered = known & has_gold
    voted = has_gold & np.any(known, axis=0)
    return Round(
        name=name,
        agents=tuple(
            _agent(agent, gold, grid, in_round.get(agent), earlier.get(agent), measured, reference_design)
            for agent, grid in current.items()
        ),
        asked=int(np.any([_spoken(grid) for grid in in_round.values()], axis=0).sum()),
        documents=int(is_complete.sum()),
        unanimous=ratio(is_complete & ~differs, is_complete, document_design),
        agreement=_agreement(stack, document_design.groups, measured),
        with_majority=_share_with_majority(stack, vote, measured, document_design),
        consecutive=tuple(
            (first, second, _share_alike(current[first], current[second], measured, document_design))
            for first, second in pairwise(current)
        ),
        vote=_share(is_right(gold, vote, measured=measured), voted, reference_design),
        mean=ratio((right & answered).sum(axis=2).T, answered.sum(axis=2).T, reference_design),
        upper_bound=_share(np.any(right, axis=0), voted, reference_design),
    )


def _share_alike(first: Ratings, second: Ratings, measured: bool, design: Design) -> Estimate:
    """Return the share of cells with values of both agents on which they agree."""
    return _share(is_right(first, second, measured=measured), ~np.isnan(first + second), design)


def _agreement(stack: Ratings, groups: Codes | None, measured: bool) -> Estimate:
    """Return Krippendorff's alpha of ratings or Fleiss' kappa of labels, ``[agent, document, item]``."""
    if stack.shape[2] > 1:  # the cells of a document depend on each other
        groups = np.repeat(np.arange(stack.shape[1]) if groups is None else groups, stack.shape[2])

    def coefficient(answers: Ratings, times: Ratings) -> float | None:
        return krippendorff_alpha(answers, "ordinal", times) if measured else fleiss_kappa(answers, times)

    return with_interval(coefficient, stack.reshape(len(stack), -1).T, groups)


def _share_with_majority(stack: Ratings, vote: Ratings, measured: bool, design: Design) -> Estimate:
    """Return the mean share of agents with the most common value, over cells with values of two or more agents."""
    count = (~np.isnan(stack)).sum(axis=0)
    several = count >= 2
    with_vote = is_right(vote[None, ...], stack, measured=measured).sum(axis=0)
    # On a tie count the agents that gave one of the leading values: at least one.
    leading = with_vote if measured else count_votes(stack)[1].max(axis=0, initial=0)
    shares = np.where(several, leading / np.maximum(count, 1), 0.0)
    return ratio(shares.sum(axis=1), several.sum(axis=1), design)


def _agent(
    name: str,
    gold: Ratings,
    current: Ratings,
    in_round: Ratings | None,
    earlier: Ratings | None,
    measured: bool,
    design: Design,
) -> AgentRound:
    accuracy = _share(is_right(gold, current, measured=measured), ~np.isnan(gold) & ~np.isnan(current), design)
    if in_round is None or earlier is None:
        return AgentRound(name, accuracy, 0, 0, 0, 0)
    right = is_right(gold, in_round, measured=measured)
    both = ~np.isnan(earlier) & ~np.isnan(in_round)
    changed = both & (earlier != in_round)
    was_right = is_right(gold, earlier, measured=measured)
    return AgentRound(
        name,
        accuracy,
        kept=int((both & ~changed).sum()),
        to_right=int((changed & right & ~was_right).sum()),
        to_wrong=int((changed & was_right & ~right).sum()),
        sideways=int((changed & (right == was_right)).sum()),
    )


def count_votes(stack: Ratings) -> tuple[Ratings, npt.NDArray[np.int64]]:
    """Return the values that agents gave, ascending, and how many gave each to a cell, ``[value, document, item]``."""
    values = np.unique(stack[~np.isnan(stack)])
    votes = np.array([(stack == value).sum(axis=0) for value in values], dtype=np.int64)
    return values, votes.reshape(len(values), *stack.shape[1:])


def _share(mask: Mask, among: Mask, design: Design) -> Estimate:
    return ratio((mask & among).sum(axis=1), among.sum(axis=1), design)
