"""Agreement between raters beyond chance: Cohen's and Fleiss' kappa, Krippendorff's alpha, Gwet's AC1.

Ratings are ``[unit, rater]`` arrays of any values: numbers, codes, strings. A unit is usually a document. None and NaN
mean no rating. Negatives of an integer array also mean no rating (as in ``arrays``), except where the values are
measured (alpha on ordinal and interval data, weighted kappa): there -1 is a rating.

Observed agreement is computed on units with at least two ratings. Chance agreement may use all ratings, as each
function states. Coefficients are 1 for full agreement, 0 for chance agreement and negative for less than that. Written
from the formulas: the package ``krippendorff`` is GPL, this project Apache-2.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from core.stats.arrays import Codes, Ratings, ratings


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement coefficient with the numbers behind it."""

    value: float | None
    """None if it is 0/0: no unit to compare, or chance agreement is full (only one value was used)"""
    n: int
    """units with at least two ratings"""
    excluded: int
    """units with fewer ratings"""
    observed: float | None
    """observed agreement, 0 to 1 (for alpha: observed disagreement D_o, 0 or more)"""
    expected: float | None
    """agreement expected by chance (for alpha: expected disagreement D_e)"""


def cohen_kappa(
    first: npt.ArrayLike, second: npt.ArrayLike, weights: Literal["linear", "quadratic"] | None = None
) -> Agreement:
    """Return Cohen's kappa of two raters, each ``[unit]``: (p_o - p_e) / (1 - p_e).

    p_e comes from each rater's own distribution. With ``weights`` the values must be numbers, and a disagreement is
    weighted by their distance or its square, relative to the largest distance that occurs. Sources: Cohen 1960 (Educ.
    Psychol. Meas. 20), Cohen 1968 (Psychol. Bull. 70).
    """
    pair = _columns(first, second)
    if weights is None:
        answers, values = _nominal(pair), None
    else:
        answers, values = _measured(pair)
    both = (answers >= 0).all(axis=1)
    n, size = int(both.sum()), int(answers.max(initial=-1)) + 1
    if not n:
        return Agreement(None, 0, len(answers), None, None)
    table = np.bincount(answers[both, 0] * size + answers[both, 1], minlength=size * size).reshape(size, size) / n
    credit = np.eye(size)
    if values is not None:
        distance = np.abs(values[:, None] - values[None, :]) ** (1 if weights == "linear" else 2)
        credit = 1 - distance / max(distance.max(), 1e-300)
    observed = float((table * credit).sum())
    expected = float((np.outer(table.sum(axis=1), table.sum(axis=0)) * credit).sum())
    return Agreement(_beyond_chance(observed, expected), n, len(answers) - n, observed, expected)


def fleiss_kappa(answers: npt.ArrayLike) -> Agreement:
    """Return Fleiss' kappa of any number of raters, ``[unit, rater]``: (p_o - p_e) / (1 - p_e).

    p_o is the share of pairs of raters that agree, averaged over units. p_e is the sum of squared shares of the
    categories. Source: Fleiss 1971 (Psychol. Bull. 76). Units may have unequal numbers of ratings, as generalised by
    Gwet (Handbook of Inter-Rater Reliability, 4th ed. 2014): each unit's distribution has the same weight (with equal
    numbers: Fleiss').
    """
    observed, shares, n, units = _pairs(answers)
    if observed is None:
        return Agreement(None, 0, units, None, None)
    expected = float((shares**2).sum())
    return Agreement(_beyond_chance(observed, expected), n, units - n, observed, expected)


def gwet_ac1(answers: npt.ArrayLike, categories: int | None = None) -> Agreement:
    """Return Gwet's AC1 of any number of raters, ``[unit, rater]``.

    It is computed as Fleiss' kappa, but with chance agreement sum p_k (1 - p_k) / (q - 1). This stays small if one
    category is rare, where kappa collapses. ``categories`` is q, the number of categories that could be chosen (2 for a
    present-or-absent label); by default the number that were. AC1 of a single category is undefined. Source: Gwet 2008
    (Br. J. Math. Stat. Psychol. 61).
    """
    observed, shares, n, units = _pairs(answers)
    if observed is None:
        return Agreement(None, 0, units, None, None)
    used = int((shares > 0).sum())
    possible = used if categories is None else categories
    if possible < used:
        raise ValueError(f"{used} categories were used, but only {possible} are possible")
    if possible < 2:
        return Agreement(None, n, units - n, observed, None)
    expected = float((shares * (1 - shares)).sum()) / (possible - 1)
    return Agreement(_beyond_chance(observed, expected), n, units - n, observed, expected)


def krippendorff_alpha(
    answers: npt.ArrayLike, level: Literal["nominal", "ordinal", "interval"] = "nominal"
) -> Agreement:
    """Return Krippendorff's alpha, 1 - D_o / D_e, of any number of raters with gaps, ``[unit, rater]``.

    Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability. His interval difference is a squared
    distance, so both disagreements are sums of squares. His ordinal difference is the squared distance of mid-ranks
    among the pairable values. Neither needs the coincidence matrix. Nominal values may be anything, others must be
    numbers.
    """
    if level == "nominal":
        coded = _nominal(answers)
        table = _table(coded)
        pairable = table.sum(axis=1) >= 2
        table = table[pairable]
        per_unit, per_value = table.sum(axis=1), table.sum(axis=0)
        total = float(per_unit.sum())
        within = float(((per_unit**2 - (table**2).sum(axis=1)) / (per_unit - 1)).sum())
        between = total**2 - float((per_value**2).sum())
    else:
        numbers = ratings(answers)
        known = ~np.isnan(numbers)
        pairable = known.sum(axis=1) >= 2
        numbers, known = numbers[pairable], known[pairable]
        if level == "ordinal":
            numbers = _mid_ranks(numbers, known)
        per_unit = known.sum(axis=1).astype(np.float64)
        total = float(per_unit.sum())
        values = np.where(known, numbers, 0.0)
        means = values.sum(axis=1) / per_unit
        squares = (np.where(known, numbers - means[:, None], 0.0) ** 2).sum(axis=1)
        # The ordered pairs of m values differ by 2 m times their sum of squares, all squared distances summed.
        within = float((2 * per_unit * squares / (per_unit - 1)).sum())
        mean = values.sum() / total if total else 0.0
        between = 2 * total * float((np.where(known, numbers - mean, 0.0) ** 2).sum())
    n, units = int(pairable.sum()), len(pairable)
    if not n:
        return Agreement(None, 0, units, None, None)
    observed, expected = within / total, between / (total * (total - 1))
    return Agreement(1 - observed / expected if expected > 0 else None, n, units - n, observed, expected)


def table_agreement(tables: npt.ArrayLike, name: Literal["kappa", "ac1", "alpha"]) -> Ratings:
    """Return a coefficient of two annotators from their confusion matrices ``[..., first, second]``, NaN where 0/0.

    A matrix has a row for every category that could be chosen (q of AC1). Counts may be weighted. The results equal
    those of ``cohen_kappa``, ``gwet_ac1`` and ``krippendorff_alpha``, which name the sources.
    """
    counts = np.asarray(tables, dtype=np.float64)
    if counts.ndim < 2 or counts.shape[-1] != counts.shape[-2]:
        raise ValueError(f"expected square matrices, got {counts.shape}")
    n = counts.sum(axis=(-1, -2))
    whole = np.where(n > 0, n, np.nan)
    observed = np.trace(counts, axis1=-2, axis2=-1) / whole
    rows, columns = counts.sum(axis=-1) / whole[..., None], counts.sum(axis=-2) / whole[..., None]
    shares = (rows + columns) / 2
    match name:
        case "kappa":
            expected = (rows * columns).sum(axis=-1)
        case "ac1":
            expected = (shares * (1 - shares)).sum(axis=-1) / max(1, counts.shape[-1] - 1)
        case "alpha":
            expected = ((2 * whole * (shares**2).sum(axis=-1)) - 1) / (2 * whole - 1)
    left = 1 - expected
    return np.asarray(np.divide(observed - expected, left, out=np.full(np.shape(n), np.nan), where=left > 1e-12))


def _beyond_chance(observed: float, expected: float) -> float | None:
    return (observed - expected) / (1 - expected) if 1 - expected > 1e-12 else None


def _columns(first: npt.ArrayLike, second: npt.ArrayLike) -> npt.NDArray[np.generic]:
    a, b = np.asarray(first), np.asarray(second)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"expected two vectors of one length, got {a.shape} and {b.shape}")
    return np.stack([a, b], axis=1)


def _nominal(answers: npt.ArrayLike) -> Codes:
    """Return values ``[unit, rater]`` of any type as codes from 0 without gaps, -1 for no rating."""
    array = np.asarray(answers)
    if array.ndim != 2:
        raise ValueError(f"expected [unit, rater], got {array.ndim} dimensions")
    known = np.ones(array.shape, dtype=np.bool_)
    if array.dtype.kind == "i":
        known = array >= 0
    elif array.dtype.kind == "f":
        known = ~np.isnan(array)
    elif array.dtype.kind == "O":
        known = np.array([[value is not None and value == value for value in row] for row in array], dtype=np.bool_)
        known = known.reshape(array.shape)
    result = np.full(array.shape, -1, dtype=np.int64)
    if array.dtype.kind == "O":
        seen: dict[object, int] = {}
        result[known] = [seen.setdefault(value, len(seen)) for value in array[known]]
    else:
        result[known] = np.unique(array[known], return_inverse=True)[1]
    return result


def _measured(answers: npt.ArrayLike) -> tuple[Codes, Ratings]:
    """Return numbers ``[unit, rater]`` as codes in ascending order, and the number of each code."""
    numbers = ratings(answers)
    known = ~np.isnan(numbers).any(axis=1)
    values, inverse = np.unique(numbers[known], return_inverse=True)
    result = np.full(numbers.shape, -1, dtype=np.int64)
    result[known] = inverse.reshape(-1, numbers.shape[1])
    return result, values


def _table(coded: Codes) -> Ratings:
    """Return the number of times each value was given to each unit, ``[unit, value]``."""
    size = int(coded.max(initial=-1)) + 1
    rows, columns = np.nonzero(coded >= 0)
    flat = np.bincount(rows * size + coded[rows, columns], minlength=len(coded) * size)
    return flat.reshape(len(coded), size).astype(np.float64)


def _pairs(answers: npt.ArrayLike) -> tuple[float | None, Ratings, int, int]:
    """Return mean pairwise agreement, the categories' mean shares, the units with two ratings or more, all units."""
    table = _table(_nominal(answers))
    per_unit = table.sum(axis=1)
    several = per_unit >= 2
    n, units = int(several.sum()), len(table)
    if not n:
        return None, np.zeros(0), 0, units
    m = per_unit[several]
    agree = ((table[several] ** 2).sum(axis=1) - m) / (m * (m - 1))
    rated = per_unit > 0
    shares = (table[rated] / per_unit[rated][:, None]).mean(axis=0)
    return float(agree.mean()), shares, n, units


def _mid_ranks(numbers: Ratings, known: npt.NDArray[np.bool_]) -> Ratings:
    _, inverse, frequency = np.unique(numbers[known], return_inverse=True, return_counts=True)
    middle = np.cumsum(frequency) - frequency / 2
    result = np.full(numbers.shape, np.nan)
    result[known] = middle[inverse]
    return result
