"""Agreement between raters beyond chance, and correlation, divergence and overlap of two vectors or texts.

Coefficients of agreement are Cohen's and Fleiss' kappa, Krippendorff's alpha, and Gwet's AC1.

Ratings are ``[unit, rater]`` arrays of any values: numbers, codes, strings. A unit is usually a document. None and NaN
mean no rating. Negatives of an integer array also mean no rating (as in ``arrays``), except where the values are
measured (alpha on ordinal data): there -1 is a rating.

Observed agreement is computed on units with at least two ratings. Chance agreement may use all ratings, as each
function states. Coefficients are 1 for full agreement, 0 for chance agreement and negative for less than that. They are
None if they are 0/0: no unit to compare, or full chance agreement, as only one value was used. Written from the
formulas: the package ``krippendorff`` is GPL, this project Apache-2.0.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from core.stats.arrays import TINY, Codes, Numbers, distinct_rows, ratings
from core.stats.intervals import Estimate, t_quantile
from core.stats.metric_intervals import MIN_CORRELATED_UNITS, Shape, Spread, interval

_MAX_PATTERNS, _PARTS = 1_000, 200
"""Distinct rows of answers up to which a jackknife leaves out each, and the random parts that it else leaves out."""
_MIN_OTHERS = 3  # units with another answer than the most frequent one that an interval needs

Level: TypeAlias = Literal["nominal", "ordinal"]
Disagreement: TypeAlias = Callable[[Numbers, Numbers], tuple[float, float]]
"""Function of answers ``[unit, rater]`` and weights ``[unit]``: the observed and the chance disagreement."""
Coefficient: TypeAlias = Callable[[npt.NDArray[Any], Numbers], float | None]
"""Function of answers ``[unit, rater]`` and weights ``[unit]``."""


def cohen_kappa(first: npt.ArrayLike, second: npt.ArrayLike, weights: Numbers | None = None) -> float | None:
    """Return Cohen's kappa of two raters, each ``[unit]``: (p_o - p_e) / (1 - p_e).

    p_e comes from each rater's own distribution. Source: Cohen 1960 (Educ. Psychol. Meas. 20). ``weights`` is
    ``[unit]``: how many units each one represents, 1 by default. Raises ValueError for vectors of different lengths.
    """
    answers = _nominal(np.stack([np.asarray(first), np.asarray(second)], axis=-1))
    both = (answers >= 0).all(axis=1)
    times = np.ones(len(answers)) if weights is None else weights
    size = int(answers.max(initial=-1)) + 1
    counts = np.bincount(answers[both, 0] * size + answers[both, 1], times[both], size * size)
    kappa = float(table_agreement(counts.reshape(size, size), "kappa"))
    return None if np.isnan(kappa) else kappa


def stratified_kappa(answers: Codes, strata: Codes, weights: Numbers) -> float | None:
    """Return Cohen's kappa of two raters over strata ``[unit]`` of questions, ``[unit, rater]``, -1 for no answer.

    Both disagreements, 1 - p_o and 1 - p_e within each stratum, are summed over the units: chance agreement is never
    that of different questions. With one stratum it is ``cohen_kappa``. ``weights`` as there.
    """
    both = (answers >= 0).all(axis=1)
    size, count = int(answers.max(initial=0)) + 1, int(strata.max(initial=0)) + 1
    cells = (strata[both] * size + answers[both, 0]) * size + answers[both, 1]
    tables = np.bincount(cells, weights[both], count * size * size).reshape(count, size, size)
    n = tables.sum(axis=(1, 2))
    same_by_chance = (tables.sum(axis=1) * tables.sum(axis=2)).sum(axis=1) / np.maximum(n, TINY)
    observed = float((n - np.trace(tables, axis1=1, axis2=2)).sum())
    return _beyond_chance(observed, float((n - same_by_chance).sum()))


def fleiss_kappa(answers: npt.ArrayLike, weights: Numbers | None = None) -> float | None:
    """Return Fleiss' kappa of any number of raters, ``[unit, rater]``: (p_o - p_e) / (1 - p_e).

    p_o is the share of pairs of raters that agree, averaged over units. p_e is the sum of squared shares of the
    categories. Source: Fleiss 1971 (Psychol. Bull. 76). Units may have unequal numbers of ratings, as generalised by
    Gwet (Handbook of Inter-Rater Reliability, 4th ed. 2014): each unit's distribution has the same weight (with equal
    numbers: Fleiss'). ``weights`` as for ``cohen_kappa``.
    """
    return _beyond_chance(*fleiss_disagreement(answers, weights))


def fleiss_disagreement(answers: npt.ArrayLike, weights: Numbers | None = None) -> tuple[float, float]:
    """Return 1 - p_o and 1 - p_e of Fleiss' kappa; zeros without a unit to compare."""
    table = _table(_nominal(answers))
    times = np.ones(len(table)) if weights is None else weights
    per_unit = table.sum(axis=1)
    pairable, rated = per_unit >= 2, per_unit > 0
    n = float(times[pairable].sum())
    if not n:
        return 0.0, 0.0
    m = per_unit[pairable]
    observed = float(times[pairable] @ (((table[pairable] ** 2).sum(axis=1) - m) / (m * (m - 1)))) / n
    shares = times[rated] @ (table[rated] / per_unit[rated][:, None]) / times[rated].sum()
    return 1 - observed, 1 - float((shares**2).sum())


def krippendorff_alpha(
    answers: npt.ArrayLike, weights: Numbers | None = None, level: Level = "nominal"
) -> float | None:
    """Return Krippendorff's alpha, 1 - D_o / D_e, of any number of raters with gaps, ``[unit, rater]``.

    Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability. His ordinal difference is the squared
    distance of mid-ranks among the pairable values, so both disagreements are sums of squares and need no coincidence
    matrix. Nominal values may be anything. ``weights`` is ``[unit]``: how many units each one represents, 1 by default.
    Raises ValueError for ordinal values that are not numbers.
    """
    return _beyond_chance(*krippendorff_disagreement(answers, weights, level))


def krippendorff_disagreement(
    answers: npt.ArrayLike, weights: Numbers | None = None, level: Level = "nominal"
) -> tuple[float, float]:
    """Return D_o and D_e of Krippendorff's alpha; zeros without a unit to compare, and with only one value."""
    if level == "nominal":
        table = _table(_nominal(answers))
        pairable = table.sum(axis=1) >= 2
        table = table[pairable]
        per_unit = table.sum(axis=1)
        times = np.ones(len(per_unit)) if weights is None else weights[pairable]
        total = float(times @ per_unit)
        within = float(times @ ((per_unit**2 - (table**2).sum(axis=1)) / (per_unit - 1)))
        between = total**2 - float(((times @ table) ** 2).sum())
    else:
        numbers = np.ascontiguousarray(ratings(answers).T)  # [rater, unit], which numpy sums faster
        has_rating = ~np.isnan(numbers)
        counts = has_rating.sum(axis=0)
        pairable = counts >= 2
        per_unit = np.maximum(counts, 2)
        times = np.where(pairable, 1.0 if weights is None else weights, 0.0)
        total = float(times @ per_unit)
        cell_weights = has_rating * times  # values that are missing or alone have no weight
        ranks = mid_ranks(np.where(has_rating, numbers, 0.0).ravel(), cell_weights.ravel()).reshape(has_rating.shape)
        squares = (has_rating * (ranks - (has_rating * ranks).sum(axis=0) / per_unit) ** 2).sum(axis=0)
        # The ordered pairs of m values differ by 2 m times their sum of squares, all squared distances summed.
        within = float(times @ (2 * per_unit * squares / (per_unit - 1)))
        middle = float((cell_weights * ranks).sum()) / total if total else 0.0
        between = 2 * total * float((cell_weights * (ranks - middle) ** 2).sum())
    if total <= 1 or between <= 1e-9:
        return 0.0, 0.0
    return within / total, between / (total * (total - 1))


def _beyond_chance(observed: float, expected: float) -> float | None:
    return 1 - observed / expected if expected > TINY else None


def with_interval(
    coefficient: Coefficient,
    answers: npt.NDArray[Any],
    groups: Codes | None = None,
    shape: Shape = "correlation",
) -> Estimate:
    """Return a coefficient of answers ``[unit, rater]`` and weights ``[unit]`` with its interval: a jackknife.

    Units with equal codes in ``groups``, ``[unit]``, depend on each other: the sums over groups are then independent.
    Source: Fleiss and Davies 1982, Jackknifing Functions of Multinomial Frequencies (Am. J. Epidemiol. 115). Student's
    t on Fisher's scale, which keeps the interval within -1 to 1; without it for a difference of two coefficients, whose
    shape is ``signed``. (Simulated coverage at 95%, two and three raters: of 60 and 200 units 92 to 99%, of 20 and 30
    85 to 98%, of 10 76 to 99%, the least where raters agree little and one value is frequent. Differences: 90 to 100%.)
    No interval for fewer than ``MIN_CORRELATED_UNITS`` independent units (of a difference: two), where all answers of
    each unit agree, if the coefficient is undefined without some unit, and where fewer than three compared units have
    an answer other than the most frequent one: a value near 0 would seem certain.
    """
    return _jackknife(answers[None], lambda *rows: (coefficient(*rows),), lambda values: values[:, 0], groups, shape)


def over_items(disagreement: Disagreement, answers: Numbers, groups: Codes | None = None) -> Estimate:
    """Return one coefficient of several items, ``[unit, item, rater]``: 1 - D_o / D_e with each summed over the items.

    It is the mean of the items' coefficients, weighted by their chance disagreement, so that a rare label counts less.
    The answers of all items in one table would agree beyond chance by the items' frequencies alone. The interval is
    that of ``with_interval``: a unit is left out of all items at once.
    """

    def beyond_chance(sums: Numbers) -> Numbers:
        return np.asarray(1 - sums[:, 0] / np.where(sums[:, 1] > TINY, sums[:, 1], np.nan))

    return _jackknife(answers.swapaxes(0, 1), disagreement, beyond_chance, groups, "correlation")


def _jackknife(
    items: npt.NDArray[Any],
    statistics: Callable[[npt.NDArray[Any], Numbers], Sequence[float | None]],
    coefficient: Callable[[Numbers], Numbers],
    groups: Codes | None,
    shape: Shape,
) -> Estimate:
    """Return a coefficient of answers ``[item, unit, rater]`` with its interval.

    ``statistics`` are those of an item: their sums ``[part, statistic]`` over the items give the ``coefficient``,
    ``[part]``, NaN where it is undefined.
    """
    if not items.size:
        return Estimate()
    is_used, is_other = np.zeros((2, items.shape[1]), dtype=np.bool_)
    patterns = []
    for item in items:
        coded = _nominal(item)
        is_compared = (coded >= 0).sum(axis=1) >= 2
        is_answer = (coded >= 0) & is_compared[:, None]
        most_frequent = np.bincount(coded[is_answer], minlength=1).argmax()
        is_used |= is_compared
        is_other |= (is_answer & (coded != most_frequent)).any(axis=1)
        rows, inverse, counts = distinct_rows(coded)
        patterns.append((item[rows], inverse, counts.astype(np.float64)))
    unit = np.unique((np.arange(len(is_used)) if groups is None else groups)[is_used], return_inverse=True)[1]
    units = int(unit.max(initial=-1)) + 1
    full = np.array([statistics(rows, times) for rows, _, times in patterns], dtype=np.float64).sum(axis=0)
    estimate = float(coefficient(full[None])[0])
    if np.isnan(estimate):
        return Estimate()
    if units < 2 or (shape != "signed" and (units < MIN_CORRELATED_UNITS or is_other.sum() < _MIN_OTHERS)):
        return Estimate(estimate)
    part = None
    if max(len(np.unique(inverse[is_used])) for _, inverse, _ in patterns) > _MAX_PATTERNS:
        part = np.random.default_rng(0).permutation(units)[unit] % min(units, _PARTS)
    sums = np.zeros((len(unit) if part is None else int(part.max()) + 1, len(full)))
    for rows, inverse, times in patterns:
        if part is None:
            left_out, number = np.unique(inverse[is_used], return_inverse=True)
            removed = np.eye(len(times))[left_out]
        else:
            number = np.arange(len(sums))
            removed = np.array([np.bincount(inverse[is_used][part == index], None, len(times)) for index in number])
        sums += np.array([statistics(rows, times - one) for one in removed], dtype=np.float64)[number]
    values, size = coefficient(sums), len(sums)
    if np.isnan(values).any():
        return Estimate(estimate)
    changes = (size - 1) / size * (values - values.mean())
    if part is None:
        changes, size = np.bincount(unit, changes), units
    variance = size / (size - 1) * float((changes**2).sum())
    return Estimate(estimate, interval(shape, estimate, Spread(variance, t_quantile(units - 1))))


def mid_ranks(values: Numbers, weights: Numbers) -> Numbers:
    """Return the weight below each value and half of that at it."""
    _, inverse = np.unique(values, return_inverse=True)
    value_weights = np.bincount(inverse, weights)
    return np.asarray((value_weights.cumsum() - value_weights / 2)[inverse])


def table_agreement(tables: npt.ArrayLike, name: Literal["kappa", "ac1", "alpha"]) -> Numbers:
    """Return a coefficient of two annotators from their confusion matrices ``[..., first, second]``, NaN where 0/0.

    A matrix has a row for every category that could be chosen (q). Counts may be weighted. Kappa and alpha equal those
    of ``cohen_kappa`` and ``krippendorff_alpha``, which name the sources. AC1 is (p_o - p_e) / (1 - p_e) with chance
    agreement p_e = sum p_k (1 - p_k) / (q - 1), which stays small if one category is rare, where kappa collapses.
    Source: Gwet 2008 (Br. J. Math. Stat. Psychol. 61).
    """
    counts = np.asarray(tables, dtype=np.float64)
    n = counts.sum(axis=(-1, -2))
    total = np.where(n > 0, n, np.nan)
    observed = np.trace(counts, axis1=-2, axis2=-1) / total
    rows, columns = counts.sum(axis=-1) / total[..., None], counts.sum(axis=-2) / total[..., None]
    shares = (rows + columns) / 2
    match name:
        case "kappa":
            expected = (rows * columns).sum(axis=-1)
        case "ac1":
            expected = (shares * (1 - shares)).sum(axis=-1) / max(1, counts.shape[-1] - 1)
        case "alpha":
            expected = ((2 * total * (shares**2).sum(axis=-1)) - 1) / (2 * total - 1)
    denominator = 1 - expected
    return np.asarray(
        np.divide(observed - expected, denominator, out=np.full(np.shape(n), np.nan), where=denominator > TINY)
    )


def _nominal(answers: npt.ArrayLike) -> Codes:
    """Return values ``[unit, rater]`` of any type as codes from 0 without gaps, -1 for no rating."""
    array = np.asarray(answers)
    has_value = np.ones(array.shape, dtype=np.bool_)
    if array.dtype.kind == "i":
        has_value = array >= 0
    elif array.dtype.kind == "f":
        has_value = ~np.isnan(array)
    elif array.dtype.kind == "O":
        has_value = np.array([[value is not None and value == value for value in row] for row in array], dtype=np.bool_)
        has_value = has_value.reshape(array.shape)
    result = np.full(array.shape, -1, dtype=np.int64)
    if array.dtype.kind == "O":
        code_by_value: dict[object, int] = {}
        result[has_value] = [code_by_value.setdefault(value, len(code_by_value)) for value in array[has_value]]
    else:
        result[has_value] = np.unique(array[has_value], return_inverse=True)[1]
    return result


def _table(coded: Codes) -> Numbers:
    """Return the number of times each value was given to each unit, ``[unit, value]``."""
    size = int(coded.max(initial=-1)) + 1
    rows, columns = np.nonzero(coded >= 0)
    flat = np.bincount(rows * size + coded[rows, columns], minlength=len(coded) * size)
    return flat.reshape(len(coded), size).astype(np.float64)


PRIOR = 0.5
"""Prior added to every count, so that an unused category leaves the divergence finite (Jeffreys' prior)."""
_TOKEN = re.compile(r"\w+")


def pearson(first: Numbers, second: Numbers, weights: Numbers | None = None) -> float | None:
    """Return Pearson's correlation of pairs, weighted if weights are given.

    None for fewer than two different values on a side.
    """
    weights = np.ones(len(first)) if weights is None else weights
    used = weights > 0
    if not used.any() or np.ptp(first[used]) == 0 or np.ptp(second[used]) == 0:
        return None
    total = weights.sum()
    a, b = first - first @ weights / total, second - second @ weights / total
    return float(np.clip((weights * a) @ b / np.sqrt((weights * a) @ a * ((weights * b) @ b)), -1.0, 1.0))


def spearman(first: Numbers, second: Numbers, weights: Numbers | None = None) -> float | None:
    """Return Spearman's correlation, ties at their mid-rank; weights and None as for ``pearson``."""
    weights = np.ones(len(first)) if weights is None else weights
    return pearson(mid_ranks(first, weights), mid_ranks(second, weights), weights)


def kendall(first: Numbers, second: Numbers, weights: Numbers | None = None) -> float | None:
    """Return Kendall's tau-b; weights and None as for ``pearson``."""
    weights = np.ones(len(first)) if weights is None else weights
    used = weights > 0
    rows, columns = (np.unique(side[used], return_inverse=True)[1] for side in (first, second))
    if not used.any() or not rows.max() or not columns.max():
        return None
    table = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(table, (rows, columns), weights[used])
    above = np.zeros((table.shape[0] + 1, table.shape[1] + 1))
    above[:-1, :-1] = table[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]  # weight at or above both values
    higher = above[1:, 1:]
    lower_second = above[1:, :1] - above[1:, :-1]
    concordance = float((table * (higher - lower_second)).sum())
    total = table.sum()
    untied = [(total**2 - float((table.sum(axis=axis) ** 2).sum())) / 2 for axis in (1, 0)]
    return float(np.clip(concordance / np.sqrt(untied[0] * untied[1]), -1.0, 1.0))


def divergence(reference: npt.ArrayLike, predicted: npt.ArrayLike) -> Numbers:
    """Return the Kullback-Leibler divergence of the annotator's categories from the reference's in nats, 0 or more.

    Both are counts ``[..., category]``; NaN where a side has no case. KL = sum p log(p / q) with p the reference's
    shares and q the annotator's, both with ``PRIOR`` added to each count (Kullback and Leibler 1951; used on labels in
    Ma et al., Authors Should Label Their Own Documents, table 1).
    """
    counts = [np.asarray(side, dtype=np.float64) for side in (reference, predicted)]
    p, q = ((side + PRIOR) / (side + PRIOR).sum(axis=-1, keepdims=True) for side in counts)
    kl = np.maximum((p * np.log(p / q)).sum(axis=-1), 0.0)
    return np.where((counts[0].sum(axis=-1) > 0) & (counts[1].sum(axis=-1) > 0), kl, np.nan)


def rouge_l(text: str, reference: str) -> float | None:
    """Return the F1 of the longest common subsequence of words, 0 to 1; None if either text has no words.

    Precision is its length over the text's words, recall over the reference's (Lin 2004, ROUGE, section 3, with
    beta = 1). Words are compared without case and without stemming.
    """
    from rapidfuzz.distance import LCSseq

    predicted, wanted = (_TOKEN.findall(unicodedata.normalize("NFKC", side).casefold()) for side in (text, reference))
    if not predicted or not wanted:
        return None
    return float(2 * LCSseq.similarity(predicted, wanted) / (len(predicted) + len(wanted)))
