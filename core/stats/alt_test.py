"""May the model replace the annotators? The alternative annotator test (Calderon, Reichart and Dror 2025, *The
Alternative Annotator Test for LLM-as-a-Judge*, section 3).

Leave each person out in turn and ask, document by document, whether the model or the person left out agrees better with
the people who remain. The model may stand in for a person when it wins about as often, less an allowance ``epsilon``
for its being cheaper and quicker; it passes when that holds for at least half of the people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from core.stats.arrays import Ratings, ratings

People: TypeAlias = Literal["experts", "trained", "crowd"]
EPSILONS: Mapping[People, float] = {"experts": 0.2, "trained": 0.15, "crowd": 0.1}
"""The allowance that the authors advise by who the people are: the dearer a person, the more a model may fall short."""
LEAST_PEOPLE = 3
LEAST_DOCUMENTS = 30
"""Documents a person under which Wilcoxon's signed-rank test takes the place of the t-test (authors, section 3)."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The model against one person."""

    person: str
    n: int
    """documents of which this person, the model and at least one other person labelled the same item"""
    model_wins: float | None
    """share of documents on which the model agrees with the others at least as well as the person does"""
    person_wins: float | None
    """the reverse; both count a draw"""
    p: float | None
    """one-sided, of the model falling short by epsilon or more; None under two documents"""
    replaceable: bool
    """rejected at q after the correction for several people"""


@dataclass(frozen=True, slots=True)
class Alternative:
    """The test's outcome."""

    epsilon: float
    people: tuple[LeftOut, ...]
    winning_rate: float | None
    """share of the people tested that the model may stand in for; None when nobody could be"""
    advantage: float | None
    """mean of ``model_wins``: how probable it is that the model is as good as a person or better"""
    passed: bool
    """winning rate of a half or more"""
    why_not: str
    """why there is no test, in plain words; empty where there is one"""

    @property
    def sentence(self) -> str:
        """The outcome in plain words."""
        if self.winning_rate is None or self.advantage is None:
            return self.why_not
        tested = [one for one in self.people if one.p is not None]
        won = sum(one.replaceable for one in tested)
        verdict = "may stand in for the annotators" if self.passed else "should not replace the annotators yet"
        return (
            f"The model {verdict}: it holds its own against {won} of {len(tested)} people "
            f"(winning rate {self.winning_rate:.2f}, at least 0.50 is asked; ε = {self.epsilon:g}), and is as good as "
            f"a person or better on {self.advantage:.0%} of documents."
        )


def alternative_test(
    model: npt.ArrayLike,
    people: Mapping[str, npt.ArrayLike],
    *,
    epsilon: float = EPSILONS["trained"],
    q: float = 0.05,
    measured: bool = False,
) -> Alternative:
    """The test from values ``[document, item]``, NaN for none.

    Agreement of two annotators on a document is the share of items with the same value among those that both gave; with
    ``measured`` (ratings) it is minus the root mean squared distance. Model and person are measured on the same items,
    those that both of them labelled, so that one who left the hard ones open wins nothing by it. For each person j over
    documents, W_f is 1 where the model agrees with the others at least as well as j, W_h the reverse, and H0: mean(W_f)
    <= mean(W_h) - epsilon is tested by a paired t-test on W_h - W_f against epsilon (Wilcoxon's under 30 documents).
    Over people the false discovery rate is held at q (Benjamini and Yekutieli 2001). Deviation: labels of a document
    are pooled into one agreement, where the authors have one label a document. Raises ValueError for shapes that
    differ.
    """
    said = ratings(model)
    grids = {name: ratings(values) for name, values in people.items()}
    if any(grid.shape != said.shape for grid in grids.values()):
        raise ValueError("shapes differ")
    if len(grids) < LEAST_PEOPLE:
        few = {0: "nobody", 1: "one person"}.get(len(grids), "two people")
        why = (
            f"The test needs at least three people who labelled the same documents; here {few} did. "
            "It leaves each person out in turn and needs others to compare with."
        )
        return Alternative(epsilon, (), None, None, False, why)
    tested = [_left_out(name, said, grids, epsilon, measured) for name in grids]
    known = [one for one in tested if one.p is not None]
    if not known:
        why = "No person shares two or more documents with the model and another person, so nothing can be tested."
        return Alternative(epsilon, tuple(tested), None, None, False, why)
    rejected = iter(_yekutieli([one.p for one in known if one.p is not None], q))
    judged = tuple(replace(one, replaceable=next(rejected)) if one.p is not None else one for one in tested)
    rate = sum(one.replaceable for one in judged) / len(known)
    wins = [one.model_wins for one in known if one.model_wins is not None]
    return Alternative(epsilon, judged, rate, sum(wins) / len(wins), rate >= 0.5, "")


def _left_out(name: str, said: Ratings, grids: Mapping[str, Ratings], epsilon: float, measured: bool) -> LeftOut:
    own = grids[name]
    others = [grid for other, grid in grids.items() if other != name]
    both = ~np.isnan(said) & ~np.isnan(own)
    by_model, by_person = (_agreement(np.where(both, one, np.nan), others, measured) for one in (said, own))
    known = ~np.isnan(by_model) & ~np.isnan(by_person)
    n = int(known.sum())
    if not n:
        return LeftOut(name, 0, None, None, None, False)
    gap = by_model[known] - by_person[known]
    model_wins, person_wins = gap >= -1e-12, gap <= 1e-12
    p = _short_by(person_wins.astype(np.float64) - model_wins, epsilon) if n >= 2 else None
    return LeftOut(name, n, float(model_wins.mean()), float(person_wins.mean()), p, False)


def _agreement(own: Ratings, others: Sequence[Ratings], measured: bool) -> Ratings:
    """Mean agreement with those of the others who labelled the document, ``[document]``; NaN with none of them."""
    each = np.stack([_alike(own, other, measured) for other in others])
    there = ~np.isnan(each)
    sums = np.where(there, each, 0.0).sum(axis=0)
    mean = np.full(len(own), np.nan)
    np.divide(sums, there.sum(axis=0), out=mean, where=there.any(axis=0))
    return mean


def _alike(one: Ratings, other: Ratings, measured: bool) -> Ratings:
    both = ~np.isnan(one) & ~np.isnan(other)
    size = both.sum(axis=1)
    score = np.where(both, (one - other) ** 2 if measured else one == other, 0.0).sum(axis=1)
    mean = np.full(len(one), np.nan)
    np.divide(score, size, out=mean, where=size > 0)
    return -np.sqrt(mean) if measured else mean


def _short_by(lead: Ratings, epsilon: float) -> float:
    """p of H0: the mean lead of the person is epsilon or more."""
    from scipy import stats

    n = len(lead)
    if n < LEAST_DOCUMENTS:  # exact as far as scipy can: with few documents the normal approximation is too sure
        return float(stats.wilcoxon(lead - epsilon, alternative="less").pvalue)
    mean, sd = float(lead.mean()), float(lead.std(ddof=1))
    if sd < 1e-12:  # the same on all of many documents
        return 0.0 if mean < epsilon else 1.0
    return float(stats.t.cdf((mean - epsilon) / (sd / sqrt(n)), n - 1))


def _yekutieli(p_values: Sequence[float], q: float) -> list[bool]:
    """Which hypotheses fall at false discovery rate q under any dependence."""
    m = len(p_values)
    harmonic = sum(1 / rank for rank in range(1, m + 1))
    order = sorted(range(m), key=lambda place: p_values[place])
    last = max((rank for rank, place in enumerate(order, 1) if p_values[place] <= rank * q / (m * harmonic)), default=0)
    return [place in order[:last] for place in range(m)]
