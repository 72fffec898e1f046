"""Alternative annotator test: can the model replace the annotators?

Source: Calderon, Reichart and Dror 2025, *The Alternative Annotator Test for LLM-as-a-Judge*, section 3.

Each person is left out in turn. For each document the test compares the agreement with the remaining people of the
model and of the person left out. The model may replace a person if it wins about as often, minus an allowance
``epsilon`` for lower cost and higher speed. It passes if that holds for at least half of the people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from core.codebook import Kind
from core.stats.arrays import TINY, Codes, Numbers, check_shapes, known_mean, ratings
from core.stats.intervals import Estimate, format_estimate
from core.stats.metric_intervals import Design, ratio

People: TypeAlias = Literal["experts", "trained", "crowd"]
EPSILONS: Mapping[People, float] = {"experts": 0.2, "trained": 0.15, "crowd": 0.1}
"""Allowance recommended by the authors for each kind of annotator: higher for more expensive people."""
Q = 0.05
"""Limit of the false discovery rate over people."""
MIN_PEOPLE = 3
MIN_DOCUMENTS = 30
"""Documents per person below which Wilcoxon's signed-rank test replaces the t-test (authors, section 3)."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Comparison of the model with one person."""

    person: str
    n: int
    """Documents on which this person, the model and at least one other person labelled the same item."""
    model_wins: Estimate
    """Share of documents on which the model agrees with the others at least as well as the person does."""
    person_wins: Estimate
    """The reverse; both count a tie."""
    p: float | None
    """One-sided, for the model being worse by epsilon or more; None for fewer than two documents (or groups)."""
    replaceable: bool
    """Rejected at ``Q`` after the correction for several people."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Result of the test."""

    epsilon: float
    people: tuple[LeftOut, ...] = ()
    winning_rate: float | None = None
    """Share of the tested people whom the model may replace; None if nobody could be tested."""
    advantage: Estimate = Estimate()
    """Mean of ``model_wins``: the probability that the model is as good as a person or better."""
    passed: bool = False
    """Winning rate of a half or more."""
    why_not: str = ""
    """Reason for a missing test, in plain words; empty if there is a test."""

    @property
    def sentence(self) -> str:
        """Return the result in plain words."""
        if self.winning_rate is None:
            return self.why_not
        tested = [person for person in self.people if person.p is not None]
        won = sum(person.replaceable for person in tested)
        verdict = "may replace the annotators" if self.passed else "should not replace the annotators yet"
        return (
            f"The model {verdict}: it passes the test against {won} of {len(tested)} people "
            f"(a winning rate of {self.winning_rate:.2f}; 0.50 is required), and is as good as a person or better on "
            f"{format_estimate(self.advantage, percent=True)} of documents."
        )


def alternative_test(
    model: npt.ArrayLike,
    people: Mapping[str, npt.ArrayLike],
    *,
    epsilon: float = EPSILONS["trained"],
    kind: Kind = "multilabel",
    groups: Codes | None = None,
) -> Alternative:
    """Return the test result from values ``[document, item]``, NaN for none.

    Agreement of an annotator with others on a document is the mean share of items with the same value among those that
    both labelled. For ratings it is minus the root of the mean squared distance over the others, as in the authors'
    code. Model and person are compared on the items that both labelled, so leaving hard items open gains nothing. For
    each person j over documents, W_f is 1 if the model agrees with the others at least as well as j, and W_h is the
    reverse. H0: mean(W_f) <= mean(W_h) - epsilon is tested by a paired t-test on W_h - W_f against epsilon (Wilcoxon's
    for fewer than 30 documents). The false discovery rate over people is limited to ``Q`` (Benjamini and Yekutieli
    2001). Raises ValueError for shapes that differ.

    Deviations: labels of a document are pooled into one agreement, where the authors have one label per document.
    Documents with equal codes in ``groups``, ``[document]``, depend on each other: the means of the groups are tested.
    """
    from scipy.stats import false_discovery_control

    model_ratings = ratings(model)
    grids = {name: ratings(values) for name, values in people.items()}
    check_shapes(model_ratings, *grids.values())
    if len(grids) < MIN_PEOPLE:
        few = {0: "nobody", 1: "one person"}.get(len(grids), "two people")
        why = f"The test needs at least three people who labelled the same documents; here {few} did."
        return Alternative(epsilon, why_not=why)
    leads = {name: _lead_of_model(name, model_ratings, grids, kind) for name in grids}
    tested = [_left_out(name, lead, epsilon, groups) for name, lead in leads.items()]
    testable = [result for result in tested if result.p is not None]
    if not testable:
        why = "No person shares two or more documents with the model and another person, so nothing can be tested."
        return Alternative(epsilon, tuple(tested), why_not=why)
    adjusted = false_discovery_control([result.p for result in testable if result.p is not None], method="by")
    rejected = iter((adjusted <= Q).tolist())
    judged = tuple(replace(result, replaceable=next(rejected)) if result.p is not None else result for result in tested)
    rate = sum(result.replaceable for result in judged) / len(testable)
    lead = np.column_stack([leads[result.person] for result in testable])
    advantage = ratio(lead >= -TINY, ~np.isnan(lead), Design(groups=groups))
    return Alternative(epsilon, judged, rate, advantage, rate >= 0.5)


def _lead_of_model(name: str, model_ratings: Numbers, grids: Mapping[str, Numbers], kind: Kind) -> Numbers:
    """Return the agreement of the model with the others minus that of a person, ``[document]``, NaN without others."""
    person_ratings = grids[name]
    other_ratings = [grid for other, grid in grids.items() if other != name]
    both = ~np.isnan(model_ratings) & ~np.isnan(person_ratings)
    by_model, by_person = (
        _agreement(np.where(both, values, np.nan), other_ratings, kind) for values in (model_ratings, person_ratings)
    )
    return np.asarray(by_model - by_person)


def _left_out(name: str, lead_of_model: Numbers, epsilon: float, groups: Codes | None) -> LeftOut:
    compared = ~np.isnan(lead_of_model)
    wins = lead_of_model >= -TINY, lead_of_model <= TINY  # of the model and of the person; both win on a tie
    lead = (wins[1].astype(np.float64) - wins[0])[compared]
    if groups is not None and len(lead):
        _, unit, sizes = np.unique(groups[compared], return_inverse=True, return_counts=True)
        lead = np.bincount(unit, weights=lead) / sizes
    p = _short_by(lead, epsilon) if len(lead) >= 2 else None
    by_model, by_person = (ratio(won, compared, Design(groups=groups)) for won in wins)
    return LeftOut(name, int(compared.sum()), by_model, by_person, p, False)


def _agreement(values: Numbers, other_ratings: Sequence[Numbers], kind: Kind) -> Numbers:
    """Return the agreement with the others who labelled the document, ``[document]``; NaN without others.

    It is the mean over other people and items: of equal values; for ratings of squared distances, as minus its root.
    """
    differences = np.stack(other_ratings) - values
    per_item = differences**2 if kind == "rating" else np.where(np.isnan(differences), np.nan, differences == 0)
    mean = known_mean(known_mean(per_item, axis=2))
    return -np.sqrt(mean) if kind == "rating" else mean


def _short_by(lead: Numbers, epsilon: float) -> float:
    """Return p of H0: the mean lead of the person, ``[document]`` or ``[group]``, is epsilon or more."""
    from scipy import stats

    n, gap = len(lead), np.where(np.abs(lead - epsilon) < TINY, 0.0, lead - epsilon)
    if not gap.any():
        return 1.0
    if n < MIN_DOCUMENTS:  # exact as far as scipy can: with few documents the normal approximation is too sure
        return float(stats.wilcoxon(gap, alternative="less").pvalue)
    mean, sd = float(lead.mean()), float(lead.std(ddof=1))
    if sd < TINY:  # equal on all of many documents
        return 0.0 if mean < epsilon else 1.0
    return float(stats.t.cdf((mean - epsilon) / (sd / sqrt(n)), n - 1))
