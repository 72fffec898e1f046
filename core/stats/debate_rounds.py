"""Agreement, accuracy and upper bound of agents that answer in parallel, by round.

Agreement and accuracy per round and the upper bound follow Tseng et al. 2025, *Evaluating Large Language Models as
Expert Annotators* (sections 4.2 and 4.3). Agreement of judges, together and of consecutive ones, follows
*Courtroom-LLM* (4.3.1); figure 6 does not define it, and the share of judges with the most common value is our choice.
As in figure 2 of Tseng et al., every round covers all documents: a document on which the agents agreed is not discussed
again, and their answers carry over. (Documents that a later round discusses are the hard ones. On them alone accuracy
would seem to fall from round to round.) Values are ``[document, item]`` numbers, NaN for none: 1 and 0 of a multilabel,
the index of a choice, a rating.

Documents are the independent units of the intervals, or groups of them. Shares of right cells are estimated under the
``Design`` of the reference. Agreement needs no reference and is that of all documents of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from core.codebook import Kind
from core.stats.agreement import fleiss_disagreement, krippendorff_disagreement, over_items
from core.stats.arrays import Codes, Mask, Numbers, check_shapes, distinct_rows, is_right, known_median, ratings
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
    """Cells with the same value again."""
    to_right: int
    """Cells that the agent changed from wrong to right."""
    to_wrong: int
    """From right to wrong."""
    sideways: int
    """From one wrong value to another, or a change without gold."""


@dataclass(frozen=True, slots=True)
class Round:
    """State after a round of agents that answered the same question in parallel."""

    name: str
    agents: tuple[AgentRound, ...]
    asked: int
    """Documents with a value by any agent in this round."""
    documents: int
    """Documents that every agent has answered completely, in this round or before."""
    unanimous: Estimate
    """Share of these on which all agents agree on every item (ratings: less than a point apart)."""
    agreement: Estimate
    """Fleiss' kappa, of ratings Krippendorff's ordinal alpha, over the items (``over_items``)."""
    with_majority: Estimate
    """Mean share of agents per cell with the most common value (of ratings: less than a point from the median)."""
    consecutive: tuple[tuple[str, str, Estimate], ...]
    """Each agent and the next, and the share of cells on which they agree: judges who answer in sequence."""
    vote: Estimate
    """Accuracy of what the agents decide together by the rule of the run (a tie is wrong)."""
    mean: Estimate
    """Mean accuracy of the agents."""
    upper_bound: Estimate
    """Share of cells with gold on which at least one agent is right: the best result of a perfect referee."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Upper bound of the debate, as shares of cells with gold and a verdict."""

    cells: int
    at_first: Estimate
    """Some agent of the first step was right."""
    ever: Estimate
    """Some agent was right at some step."""
    reached: Estimate
    """The verdict is right."""
    gap: Estimate
    """``at_first`` minus ``reached``: right answers that the debate lost, less those that it found."""


Decide: TypeAlias = Callable[[Sequence[float]], float]
"""The decision of several agents on one cell from the value of each; NaN for no value."""
Vote: TypeAlias = Callable[[Mapping[str, Numbers]], Numbers]
"""The decisions of agents together, ``[document, item]``, from the values by agent; NaN where nothing is decided."""


def vote_of(predicted: Sequence[npt.ArrayLike], decide: Decide) -> Numbers:
    """Return the decisions of several agents together. Cells with the same values are decided once."""
    stack = np.stack([ratings(values_of_agent) for values_of_agent in predicted])
    cells = stack.reshape(len(stack), -1).T
    first, inverse, _ = distinct_rows(np.searchsorted(np.unique(stack[~np.isnan(stack)]), cells))
    decisions = np.array([decide(cells[row].tolist()) for row in first], dtype=np.float64)
    return decisions[inverse].reshape(stack.shape[1:])


def rounds(
    reference: npt.ArrayLike,
    steps: Sequence[tuple[str, Mapping[str, npt.ArrayLike]]],
    *,
    vote: Vote,
    kind: Kind = "multilabel",
    design: Design | None = None,
    groups: Codes | None = None,
) -> tuple[Round, ...]:
    """Return the rounds of a debate from (name, values by agent), in order.

    Agents that answered together in an earlier round continue as a group. An agent without any value for a document
    (NaN throughout) keeps its last values. ``vote`` is the rule by which the agents decide together. ``design``
    describes how the documents with a reference were selected and which depend on each other, by default all are
    independent. ``groups`` are those of all documents, ``[document]``. Raises ValueError for shapes that differ.
    """
    debate = _Debate(ratings(reference), kind, design or Design(), Design(groups=groups))
    debate_rounds: list[Round] = []
    latest_by_group: list[dict[str, Numbers]] = []
    for name, agents in steps:
        answers = {agent: ratings(values) for agent, values in agents.items()}
        check_shapes(debate.reference, *answers.values())
        latest = next((group for group in latest_by_group if not group.keys().isdisjoint(answers)), None)
        if latest is None:
            latest = {}
            latest_by_group.append(latest)
        earlier = dict(latest)
        for agent, values in answers.items():
            before = earlier.get(agent, values)
            latest[agent] = np.where(_has_answer(values)[:, None], values, before)
        debate_rounds.append(debate.round(name, earlier, answers, latest, vote(latest)))
    return tuple(debate_rounds)


def bound(
    reference: npt.ArrayLike,
    steps: Sequence[Sequence[npt.ArrayLike]],
    verdict: npt.ArrayLike,
    *,
    kind: Kind = "multilabel",
    design: Design | None = None,
) -> Bound:
    """Return the upper bound of a debate: ``steps`` are the values of the agents of each step.

    ``design`` as for ``rounds``.
    """
    debate = _Debate(ratings(reference), kind, design or Design(), Design())
    counted = debate.has_reference & ~np.isnan(ratings(verdict))
    right = debate.right(ratings(verdict))
    cells, reached, undefined = int(counted.sum()), debate.accuracy(right, counted), Estimate()
    if not cells or not steps:
        return Bound(cells, undefined, undefined, reached, undefined)
    right_by_step = [np.any([debate.right(ratings(values)) for values in step], axis=0) for step in steps]
    losses = (right_by_step[0] & counted).sum(axis=1) - (right & counted).sum(axis=1)
    return Bound(
        cells,
        debate.accuracy(right_by_step[0], counted),
        debate.accuracy(np.any(right_by_step, axis=0), counted),
        reached,
        ratio(losses, counted.sum(axis=1), debate.reference_design, signed=True),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Debate:
    """The reference, the kind of values, and the selection of the documents of all rounds."""

    reference: Numbers
    kind: Kind
    reference_design: Design
    """Of the documents with a reference, for shares of right cells."""
    document_design: Design
    """Of all documents, for agreement, which needs no reference."""

    @property
    def has_reference(self) -> Mask:
        """``[document, item]``: True if there is a reference."""
        return ~np.isnan(self.reference)

    def right(self, values: Numbers) -> Mask:
        """Return a mask of right values."""
        return is_right(self.reference, values, kind=self.kind)

    def accuracy(self, right: Mask, among: Mask) -> Estimate:
        """Return the share of right cells among some cells, ``[document, item]``."""
        return _share_of_cells(right, among, self.reference_design)

    def round(
        self,
        name: str,
        earlier: Mapping[str, Numbers],
        answers: Mapping[str, Numbers],
        latest: Mapping[str, Numbers],
        vote: Numbers,
    ) -> Round:
        """Return a round from values by agent: those before it, those given in it, and the latest ones after it."""
        stack = np.stack(list(latest.values()))
        has_value = ~np.isnan(stack)
        right = np.stack([self.right(values) for values in latest.values()])
        is_complete: Mask = np.all(has_value, axis=(0, 2))
        agrees = is_right(stack.min(axis=0), stack.max(axis=0), kind=self.kind).all(axis=1)
        answered, voted = has_value & self.has_reference, self.has_reference & np.any(has_value, axis=0)
        return Round(
            name=name,
            agents=tuple(
                self.agent(agent, earlier.get(agent), answers.get(agent), values) for agent, values in latest.items()
            ),
            asked=int(np.any([_has_answer(values) for values in answers.values()], axis=0).sum()),
            documents=int(is_complete.sum()),
            unanimous=ratio(is_complete & agrees, is_complete, self.document_design),
            agreement=self.agreement(stack),
            with_majority=self.share_with_majority(stack),
            consecutive=tuple(
                (first, second, self.share_alike(latest[first], latest[second])) for first, second in pairwise(latest)
            ),
            vote=self.accuracy(self.right(vote), voted),
            mean=ratio((right & answered).sum(axis=2).T, answered.sum(axis=2).T, self.reference_design),
            upper_bound=self.accuracy(np.any(right, axis=0), voted),
        )

    def agent(self, name: str, earlier: Numbers | None, current: Numbers | None, latest: Numbers) -> AgentRound:
        """Return an agent after a round; the values before the round and in the round are None if there are none."""
        accuracy = self.accuracy(self.right(latest), self.has_reference & ~np.isnan(latest))
        if current is None or earlier is None:
            return AgentRound(name, accuracy, 0, 0, 0, 0)
        was_right, right = self.right(earlier), self.right(current)
        both = ~np.isnan(earlier) & ~np.isnan(current)
        changed = both & (earlier != current)
        return AgentRound(
            name,
            accuracy,
            kept=int((both & ~changed).sum()),
            to_right=int((changed & right & ~was_right).sum()),
            to_wrong=int((changed & was_right & ~right).sum()),
            sideways=int((changed & (right == was_right)).sum()),
        )

    def agreement(self, stack: Numbers) -> Estimate:
        """Return Krippendorff's alpha of ratings or Fleiss' kappa of labels, ``[agent, document, item]``."""
        is_rating = self.kind == "rating"
        disagreement = partial(krippendorff_disagreement, level="ordinal") if is_rating else fleiss_disagreement
        return over_items(disagreement, stack.transpose(1, 2, 0), self.document_design.groups)

    def share_with_majority(self, stack: Numbers) -> Estimate:
        """Return the mean share of agents with the most common value, over cells with values of two or more agents."""
        count = (~np.isnan(stack)).sum(axis=0)
        comparable = count >= 2
        if self.kind == "rating":
            leading = is_right(known_median(stack)[None, ...], stack, kind=self.kind).sum(axis=0)
        else:  # On a tie count the agents that gave one of the leading values: at least one.
            leading = count_votes(stack)[1].max(axis=0, initial=0)
        shares = np.where(comparable, leading / np.maximum(count, 1), 0.0)
        return ratio(shares.sum(axis=1), comparable.sum(axis=1), self.document_design)

    def share_alike(self, first: Numbers, second: Numbers) -> Estimate:
        """Return the share of cells with values of both agents on which they agree."""
        agrees = is_right(first, second, kind=self.kind)
        return _share_of_cells(agrees, ~np.isnan(first + second), self.document_design)


def _has_answer(predicted: Numbers) -> Mask:
    """Return ``[document]``: True if any item has a value."""
    return np.asarray(~np.isnan(predicted).all(axis=1))


def count_votes(stack: Numbers) -> tuple[Numbers, npt.NDArray[np.int64]]:
    """Return the values that agents gave, ascending, and how many gave each to a cell, ``[value, document, item]``."""
    values = np.unique(stack[~np.isnan(stack)])
    votes = np.array([(stack == value).sum(axis=0) for value in values], dtype=np.int64)
    return values, votes.reshape(len(values), *stack.shape[1:])


def _share_of_cells(part: Mask, among: Mask, design: Design) -> Estimate:
    """Return the share of some cells in others, each ``[document, item]``."""
    return ratio((part & among).sum(axis=1), among.sum(axis=1), design)
