"""Significance tests of a difference between two annotators, with its direction.

``first`` is the baseline and ``second`` the annotator of interest; differences are second minus first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from core.formatting import format_number, format_p_value, format_signed
from core.stats.arrays import Codes, Numbers, check_shapes, codes, ratings
from core.stats.intervals import Estimate, Interval, t_quantile, wilson

Direction: TypeAlias = Literal["gain", "loss", "none"]
ALPHA = 0.05
"""Level below which p is significant."""


@dataclass(frozen=True, slots=True)
class McNemar:
    """McNemar's exact test on cases of two annotators."""

    n: int
    """Cases with gold and a value from both."""
    excluded: int
    """Cases with gold and without a value from at least one annotator."""
    only_first: int
    """Right with the first annotator alone (lost)."""
    only_second: int
    """Right with the second annotator alone (gained)."""
    p: float | None
    """Two-sided; 1 without discordant pairs, None if no case was compared, and for a sample with unequal chances."""
    groups: int | None = None
    """Groups of dependent cases that were exchanged as a whole; None if cases are independent."""

    @property
    def direction(self) -> Direction:
        """Direction of the second annotator's difference from the first, significant or not."""
        return _direction(self.only_second - self.only_first)

    def significant(self) -> bool:
        """Return True if p is below ``ALPHA``."""
        return self.p is not None and self.p < ALPHA

    def odds_ratio(self) -> Estimate:
        """Return the cases gained for each case lost; None if none was lost (it would be infinite), and without a p.

        Its interval follows from Wilson's of the share gained; None for groups of dependent documents.
        """
        if not self.only_first or self.p is None:
            return Estimate()
        ratio = self.only_second / self.only_first
        share = wilson(self.only_second, self.only_second + self.only_first) if self.groups is None else None
        return Estimate(ratio, share and Interval(share.low / (1 - share.low), share.high / (1 - share.high)))


def mcnemar(only_first: int, only_second: int, n: int, *, excluded: int = 0) -> McNemar:
    """Return McNemar's test from the discordant counts of ``n`` cases (McNemar 1947, Psychometrika 12).

    p is that of the two-sided binomial at one half (doubled tail), None without cases and 1 without discordant ones.
    The cases must be independent: documents or the cells of one label, not all cells of all labels.
    """
    from scipy.special import bdtr

    discordant = only_first + only_second
    p = min(1.0, 2 * float(bdtr(min(only_first, only_second), discordant, 0.5)))
    return McNemar(n, excluded, only_first, only_second, p if n else None)


def mcnemar_of(
    reference: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike, *, groups: Codes | None = None
) -> McNemar:
    """Return McNemar's test from codes of equal shape (``[document]`` of a choice or of one label), -1 for no value.

    With ``groups`` (``[document]``, equal codes for dependent documents) the annotators are exchanged on whole groups,
    see ``sign_flip``.
    """
    gold, first_codes, second_codes = codes(reference), codes(first), codes(second)
    check_shapes(gold, first_codes, second_codes)
    compared = (gold >= 0) & (first_codes >= 0) & (second_codes >= 0)
    first_right, second_right = (first_codes == gold) & compared, (second_codes == gold) & compared
    test = mcnemar(
        int((first_right & ~second_right).sum()),
        int((second_right & ~first_right).sum()),
        int(compared.sum()),
        excluded=int(((gold >= 0) & ~compared).sum()),
    )
    if groups is None or test.p is None:
        return test
    _, group = np.unique(groups, return_inverse=True)
    gains = np.bincount(group, second_right.astype(np.float64) - first_right).astype(np.int64)
    group_count = len(np.unique(group[compared]))
    return replace(test, p=sign_flip(gains), groups=group_count)


def sign_flip(gains: Codes) -> float:
    """Return p of the hypothesis that the sign of each independent gain is random, two-sided and exact.

    The distribution of the sum of gains with random signs is the inverse Fourier transform of a product of cosines,
    which takes little time for many gains, too. p has 12 decimal places. With gains of 1 and -1 it is McNemar's exact
    test. This is the cluster permutation test of a paired difference (Fisher 1935).
    """
    sizes, counts = np.unique(np.abs(gains[gains != 0]), return_counts=True)
    reach = int(sizes @ counts)
    sums = 2 * reach + 1
    frequencies = np.arange(reach + 1)
    spectrum = np.ones(reach + 1)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        spectrum *= np.cos(2 * np.pi / sums * (frequencies * size % sums)) ** count
    chances = np.fft.irfft(spectrum, sums)  # of the sums 0, 1, ..., reach, -reach, ..., -1
    distance = np.minimum(np.arange(sums), sums - np.arange(sums))
    p = float(chances[distance >= abs(int(gains.sum()))].sum())
    return min(1.0, max(0.0, round(p, 12)))


@dataclass(frozen=True, slots=True)
class TTest:
    """A t-test on scores of repeated iterations. Means and difference are in the unit of the scores."""

    kind: Literal["paired", "welch"]
    n_first: int
    n_second: int
    excluded: int
    """Scores left out: missing ones and, when paired, the partners of missing ones."""
    mean_first: float | None
    mean_second: float | None
    difference: float | None
    """Mean of second minus mean of first."""
    t: float | None
    """Signed as the difference; None for fewer than two scores on a side or without any spread (0/0, or infinite)."""
    df: float | None
    p: float | None
    """Two-sided; None as t."""
    interval: Interval | None
    """Of the difference; None as t."""

    @property
    def direction(self) -> Direction:
        """Direction of the second system's difference from the first, significant or not."""
        return _direction(self.difference or 0.0)

    def sentence(self) -> str:
        """Return the result in plain words, with its direction."""
        name = "Paired t-test" if self.kind == "paired" else "Welch's t-test"
        if self.t is None or self.p is None or self.df is None or self.difference is None:
            return f"{name}: not defined for these scores (fewer than two per side, or no variation)."
        df = f"{self.df:.0f}" if self.kind == "paired" else f"{self.df:.1f}"
        verdict = f"a significant {self.direction}" if self.p < ALPHA else "not significant"
        difference, t = format_signed(self.difference, 2), format_number(self.t, 2)
        return f"{name}: {difference}, t({df}) = {t}, {format_p_value(self.p)}: {verdict} at {ALPHA:g}."


def paired_t(first: npt.ArrayLike, second: npt.ArrayLike) -> TTest:
    """Return Student's t-test of the differences; scores are paired by iteration (NaN: missing).

    t = mean(d) / (sd(d) / sqrt(n)), n - 1 degrees of freedom (Student 1908). Iterations of two systems are paired
    only if something connects them (the same seed, the same sample of documents); otherwise use ``welch_t``. Raises
    ValueError for different numbers of scores.
    """
    sides = ratings(first), ratings(second)
    check_shapes(*sides)
    complete = ~np.isnan(sides[0] + sides[1])
    first_scores, second_scores = (side[complete] for side in sides)
    n = len(first_scores)
    error, df = (sqrt(_variance(second_scores - first_scores) / n), n - 1.0) if n >= 2 else (0.0, None)
    return _t_test("paired", first_scores, second_scores, 2 * int((~complete).sum()), error, df)


def welch_t(first: npt.ArrayLike, second: npt.ArrayLike) -> TTest:
    """Return Welch's t-test of two independent sets of scores, unequal variances and sizes allowed (NaN: missing).

    t = (m2 - m1) / sqrt(v1/n1 + v2/n2), degrees of freedom after Welch and Satterthwaite (Welch 1947, Biometrika 34).
    """
    first_scores, second_scores = _defined(first), _defined(second)
    n, m = len(first_scores), len(second_scores)
    error, df = 0.0, None
    if n >= 2 and m >= 2:
        a, b = _variance(first_scores) / n, _variance(second_scores) / m
        error = sqrt(a + b)
        if error:
            df = (a + b) ** 2 / (a * a / (n - 1) + b * b / (m - 1))
    return _t_test("welch", first_scores, second_scores, np.size(first) + np.size(second) - n - m, error, df)


def _defined(scores: npt.ArrayLike) -> Numbers:
    """Return the scores that are not missing, ``[iteration]``."""
    values = ratings(scores)
    return values[~np.isnan(values)]


def _t_test(
    kind: Literal["paired", "welch"], first: Numbers, second: Numbers, excluded: int, error: float, df: float | None
) -> TTest:
    # Not scipy.stats: its tests warn if one set has no spread, as iterations of a deterministic model, and load slowly.
    from scipy.special import stdtr

    before, after = (float(side.mean()) if len(side) else None for side in (first, second))
    difference = None if before is None or after is None else after - before
    t = p = interval = None
    # Equal scores leave a spread of rounding errors only, which must not pass for precision.
    if difference is not None and df is not None and error > 1e-12 * max(1.0, abs(difference)):
        t = difference / error
        p = 2 * float(stdtr(df, -abs(t)))
        half = t_quantile(df) * error
        interval = Interval(difference - half, difference + half)
    df = None if t is None else df
    return TTest(kind, len(first), len(second), excluded, before, after, difference, t, df, p, interval)


def _variance(values: Numbers) -> float:
    return float(values.var(ddof=1))


def _direction(difference: float) -> Direction:
    if difference == 0:
        return "none"
    return "gain" if difference > 0 else "loss"


def independent_d(first: npt.ArrayLike, second: npt.ArrayLike) -> float | None:
    """Return Hedges' g of two independent sets of scores, corrected for few scores.

    It is the difference of means divided by the root of the mean of both variances (unequal variances allowed). None
    with fewer than two scores on a side or without spread.
    """
    first_scores, second_scores = _defined(first), _defined(second)
    if len(first_scores) < 2 or len(second_scores) < 2:
        return None
    difference = second_scores.mean() - first_scores.mean()
    spread = sqrt((_variance(first_scores) + _variance(second_scores)) / 2)
    # Equal scores leave a spread of rounding errors only.
    if spread <= 1e-12 * max(1.0, abs(difference)):
        return None
    return float(difference / spread * (1 - 3 / (4 * (len(first_scores) + len(second_scores) - 2) - 1)))


@dataclass(frozen=True, slots=True)
class CochranQ:
    """Test of equal accuracy of several annotators on the same cases."""

    names: tuple[str, ...]
    n: int
    """Cases with a value from every annotator."""
    excluded: int
    """Cases with gold and without a value from at least one annotator."""
    right: tuple[int, ...]
    """Number of right cases of each annotator."""
    statistic: float | None
    """Q; None if every case is right with all or with none, or without a case."""
    df: int
    p: float | None
    """Of Q as chi-squared; 1 if all are right on the very same cases, None without a case."""

    def sentence(self) -> str:
        """Return the result in plain words."""
        if self.p is None:
            return "Cochran's Q: not defined, no case has gold and a value from all."
        if self.statistic is None:
            same = f"{self.right[0]:,} of {self.n:,} cases"
            return f"All {len(self.names)} are right on the same {same}, so there is no difference."
        test = f"Cochran's Q({self.df}) = {self.statistic:.2f}, {format_p_value(self.p)}, {self.n:,} cases"
        if self.p >= ALPHA:
            return f"No significant difference ({test})."
        best = self.names[max(range(len(self.names)), key=lambda index: self.right[index])]
        return f"They differ significantly; {best} is right most often ({test})."


def cochrans_q(reference: npt.ArrayLike, predicted: Mapping[str, npt.ArrayLike]) -> CochranQ:
    """Return Cochran's Q from codes of equal shape, -1 for no value; a case is right if it equals the reference.

    Q = (k - 1) (k sum C_j^2 - T^2) / (k T - sum R_i^2), chi-squared with k - 1 degrees of freedom (Cochran 1950,
    Biometrika 37). With two annotators it is McNemar's test without correction. Cases must be independent, as for that.
    """
    from scipy.special import chdtrc

    names = tuple(predicted)
    k = len(names)
    gold = codes(reference)
    grids = np.stack([codes(predicted[name]) for name in names])
    compared = (gold >= 0) & (grids >= 0).all(axis=0)
    right = (grids == gold)[:, compared]
    n, excluded = int(compared.sum()), int(((gold >= 0) & ~compared).sum())
    per_annotator = right.sum(axis=1).astype(np.float64)
    per_case = right.sum(axis=0).astype(np.float64)
    total = per_annotator.sum()
    spread = k * total - float((per_case**2).sum())
    statistic: float | None = None
    p: float | None = None if not n else 1.0
    if spread > 0:
        statistic = float((k - 1) * (k * (per_annotator**2).sum() - total**2) / spread)
        p = float(chdtrc(k - 1, statistic))
    return CochranQ(names, n, excluded, tuple(int(count) for count in per_annotator), statistic, k - 1, p)


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return Holm's adjusted p-values in the given order, for comparison with a common level.

    The i-th smallest of m is multiplied by m - i + 1, is never below the one before it, and is at most 1 (Holm 1979,
    Scand. J. Stat. 6). A test without a p (None) is not one of the m.
    """
    ordered = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    before = 0.0
    for rank, (p, index) in enumerate(ordered):
        before = max(before, min(1.0, p * (len(ordered) - rank)))
        adjusted[index] = before
    return tuple(adjusted)
