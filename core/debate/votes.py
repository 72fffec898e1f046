"""Consensus and vote: what several annotations of one document come to together. Pure.

The unit is an item of the codebook: each label of a multilabel codebook, the one choice, each dimension of a rating.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from core.codebook import Codebook
from core.debate.context import DebateContext
from core.debate.turns import Reply, Verdict
from core.documents import Value

Ballot: TypeAlias = Mapping[str, Value]
"""What one voter says of each item; one that is missing is an abstention."""

Middle: TypeAlias = Literal["median", "mean"]


def in_consensus(ballots: Sequence[Ballot], codebook: Codebook, within: float = 0) -> bool:
    """Whether all ballots say the same of every item: identical lists of labels, the same choice, ratings that lie at
    most ``within`` points apart. An item that one of them leaves open is no consensus, and nobody's silence is none."""
    return bool(ballots) and all(_same([ballot.get(item) for ballot in ballots], within) for item in codebook.items)


def elect(
    ballots: Sequence[Ballot], codebook: Codebook, middle: Middle = "median"
) -> tuple[dict[str, Value | None], dict[str, str]]:
    """(value, reason) by item. A label is present or absent, and a choice made, by more votes than any other value has;
    a tie is None with the reason. Ratings are the median (of an even number the mean of the middle two), or the mean.
    """
    values: dict[str, Value | None] = {}
    reasons: dict[str, str] = {}
    for item in codebook.items:
        said = [ballot[item] for ballot in ballots if item in ballot]
        values[item], reason = _elected(said, codebook, middle)
        if reason:
            reasons[item] = reason
    return values, reasons


def council(case: DebateContext, replies: Sequence[Reply], middle: Middle = "median") -> Verdict:
    """The verdict of several who were asked for one each.

    It stands when more than half of them gave a readable decision; those vote. Otherwise the document is failed if one
    of the missing met a provider fault (asking again may help), else unresolved.
    """
    heard = [reply for reply in replies if reply.error is None and reply.reading.readable]
    if not quorum(len(heard), len(replies)):
        for reply in replies:
            if reply.error is not None:
                return case.failed(reply.error)
        problems = dict.fromkeys(reply.reading.problem for reply in replies if reply.reading.problem)
        return case.unresolved(f"{len(heard)} of {len(replies)} could be read: {'; '.join(problems)}")
    values, reasons = elect([reply.reading.values for reply in heard], case.codebook, middle)
    notes = [f"'{name}' is not in the codebook" for reply in heard for name in reply.reading.unknown]
    if len(heard) < len(replies):
        notes.append(f"{len(heard)} of {len(replies)} voted; the others gave nothing that can be read")
    return Verdict(values=values, reasons=reasons, notes=tuple(dict.fromkeys(notes)))


def quorum(heard: int, asked: int) -> bool:
    """Whether those that were heard may decide: they are more than half."""
    return 2 * heard > asked


def _same(said: Sequence[Value | None], within: float) -> bool:
    if None in said:
        return False
    numbers = [value for value in said if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == len(said):
        return max(numbers) - min(numbers) <= within
    return len(set(said)) == 1


def _elected(said: Sequence[Value], codebook: Codebook, middle: Middle) -> tuple[Value | None, str]:
    if not said:
        return None, "nobody decided it"
    if codebook.kind == "rating":
        numbers = [float(value) for value in said if not isinstance(value, str)]
        value = statistics.median(numbers) if middle == "median" else statistics.fmean(numbers)
        return int(value) if value == int(value) else round(value, 4), ""
    votes = Counter(said).most_common()
    if len(votes) > 1 and votes[0][1] == votes[1][1]:
        best = [_written(value, codebook) for value, count in votes if count == votes[0][1]]
        return None, f"a tie: {' and '.join(f'{votes[0][1]} for {name}' for name in best)}"
    return votes[0][0], ""


def _written(value: Value, codebook: Codebook) -> str:
    if isinstance(value, bool):
        return "present" if value else "absent"
    return codebook.label(str(value)).name
