"""Consensus and vote over several annotations of one document. Pure.

The unit is an item of the codebook: each label of a multilabel codebook, the one choice, each dimension of a rating.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from core.codebook import Codebook
from core.debate.context import DebateContext
from core.debate.turns import Reply, Verdict
from core.documents import Value, as_rating, is_number

Vote: TypeAlias = Mapping[str, Value]
"""One annotator's value for each item; a missing item is an abstention."""

RatingAverage: TypeAlias = Literal["median", "mean"]


def in_consensus(votes: Sequence[Vote], codebook: Codebook, within: float = 0) -> bool:
    """Return True if all votes agree on every item.

    They agree on identical lists of labels, the same choice, and ratings at most ``within`` points apart. An item that
    one of them leaves open prevents a consensus, and so does the absence of any vote.
    """
    return bool(votes) and all(_agree([vote.get(item) for vote in votes], within) for item in codebook.items)


class VotingRule(Protocol):
    """Rule by which the values of several voters become one, in a debate and in Evaluate."""

    def decide(self, values: Sequence[Value | None], codebook: Codebook) -> tuple[Value | None, str]:
        """Return (value, reason) of an item from the value of each voter, None for an abstention.

        Without a value, there is a reason.
        """

    def share(self, values: Sequence[Value | None], value: Value) -> float:
        """Return the share of the votes for a value, weighed as in ``decide``; at least one voter must give one."""


@dataclass(frozen=True, slots=True)
class MajorityVote:
    """The value with more votes than any other, of ratings the average, if more than half of the voters give one.

    A tie has no value. Ratings take the median (of an even number the mean of the middle two) or the mean, without
    weights.
    """

    average: RatingAverage = "median"
    weights: Sequence[float] | None = None
    """How much each vote counts; None for all alike."""

    def decide(self, values: Sequence[Value | None], codebook: Codebook) -> tuple[Value | None, str]:
        """Return (value, reason) of an item, as ``VotingRule``."""
        weighed = self._weighed(values)
        if not weighed:
            return None, "nobody decided it"
        if not is_majority(len(weighed), len(values)):
            return None, f"only {len(weighed)} of {len(values)} decided it"
        return _result(weighed, codebook, self.average)

    def share(self, values: Sequence[Value | None], value: Value) -> float:
        """Return the weighted share of the votes for a value, as ``VotingRule``."""
        weighed = self._weighed(values)
        return sum(weight for vote, weight in weighed if vote == value) / sum(weight for _, weight in weighed)

    def _weighed(self, values: Sequence[Value | None]) -> list[tuple[Value, float]]:
        weights = self.weights or [1] * len(values)
        return [(value, weight) for value, weight in zip(values, weights, strict=True) if value is not None]


def majority_verdict(context: DebateContext, replies: Sequence[Reply], rule: VotingRule = MajorityVote()) -> Verdict:
    """Return the verdict of several roles that were asked for a decision each.

    More than half of the replies must be readable. Otherwise the document fails if one of the others met a provider
    error (a new attempt may help), else it is unresolved.
    """
    readable = [reply for reply in replies if reply.readable]
    if not is_majority(len(readable), len(replies)):
        for reply in replies:
            if reply.error is not None:
                return context.failed(reply.error)
        problems = dict.fromkeys(reply.reading.problem for reply in replies if reply.reading.problem)
        return context.unresolved(f"{len(readable)} of {len(replies)} could be read: {'; '.join(problems)}")
    votes = [reply.reading.values if reply.readable else {} for reply in replies]
    values: dict[str, Value | None] = {}
    reasons: dict[str, str] = {}
    for item in context.codebook.items:
        values[item], reason = rule.decide([vote.get(item) for vote in votes], context.codebook)
        if reason:
            reasons[item] = reason
    notes = [f"'{name}' is not a label that was asked about" for reply in readable for name in reply.reading.unknown]
    if len(readable) < len(replies):
        notes.append(f"{len(readable)} of {len(replies)} voted; the others gave nothing that can be read")
    return Verdict(values=values, reasons=reasons, notes=tuple(dict.fromkeys(notes)))


def is_majority(count: int, total: int) -> bool:
    """Return True if ``count`` is more than half of ``total``."""
    return 2 * count > total


def _agree(values: Sequence[Value | None], within: float) -> bool:
    if None in values:
        return False
    numbers = [value for value in values if is_number(value)]
    if len(numbers) == len(values):
        return max(numbers) - min(numbers) <= within + 1e-9  # 4.4 - 3.4 is more than 1
    return len(set(values)) == 1


def _result(
    weighed: Sequence[tuple[Value, float]], codebook: Codebook, average: RatingAverage
) -> tuple[Value | None, str]:
    if codebook.kind == "rating":
        numbers = [float(value) for value, _ in weighed if not isinstance(value, str)]
        rating = statistics.median(numbers) if average == "median" else statistics.fmean(numbers)
        return as_rating(round(rating, 4)), ""
    totals: defaultdict[Value, float] = defaultdict(float)
    for value, weight in weighed:
        totals[value] += weight
    ranked = sorted(totals, key=totals.__getitem__, reverse=True)
    highest = totals[ranked[0]]
    winners = [value for value in ranked if highest - totals[value] < 1e-9]
    if len(winners) > 1:
        return None, f"a tie: {' and '.join(f'{highest:g} for {codebook.value_name(value)}' for value in winners)}"
    return winners[0], ""
