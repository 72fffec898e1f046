"""Arrays that metrics are computed on: one row per document, and a mark for "no value".

- *values* of an annotator are float64 ``[document, item]``: 1 and 0 of a label, the index of a choice, a rating, NaN
  for no value (a scale may go below zero, so -1 is a rating);
- a *binary grid* is int8 ``[document, item]``: 1 present, 0 absent, -1 no value (no gold, or unreadable);
- *codes* are int64 of any shape: the index of a label, -1 for no value;
- *ratings* are float64 of any shape: NaN for no value.

A missing value never counts as absent. A document counts in an evaluation if it has gold for at least one item and the
annotator has a value for *every* item (the definition of a verdict). It is *excluded* if it has gold and the annotator
lacks a value. Without gold it is neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from core.codebook import Codebook, Kind
from core.documents import RATING_TOLERANCE

BinaryGrid: TypeAlias = npt.NDArray[np.int8]
Codes: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]

TINY = 1e-12
"""Smaller widths, variances and differences are rounding errors."""
_NO_VALUE = -1e300  # orders rows without a value


def codes(values: npt.ArrayLike) -> Codes:
    """Return whole numbers of any shape as int64, with -1 for None, NaN and negatives ("no value").

    Raises ValueError for a fraction or an infinity.
    """
    array = np.asarray(values)
    if array.dtype.kind in "biu":
        return np.maximum(array.astype(np.int64), -1)
    numbers = np.asarray(array, dtype=np.float64)
    has_value = numbers >= 0
    present = numbers[has_value]
    if not np.isfinite(present).all() or (present != np.floor(present)).any():
        raise ValueError("expected whole numbers or no value")
    result = np.full(numbers.shape, -1, dtype=np.int64)
    result[has_value] = present.astype(np.int64)
    return result


def ratings(values: npt.ArrayLike) -> Numbers:
    """Return numbers of any shape as float64, NaN for None ("no value"). Raises ValueError for an infinity."""
    array = np.asarray(values, dtype=np.float64)
    if np.isinf(array).any():
        raise ValueError("a rating cannot be infinite")
    return array


def one_hot(choices: Codes, labels: int) -> BinaryGrid:
    """Return codes ``[document]`` as a binary grid ``[document, labels]``; a row of -1 for no value."""
    grid: BinaryGrid = (choices[:, None] == np.arange(labels)[None, :]).astype(np.int8)
    grid[choices < 0] = -1
    return grid


def distinct_rows(rows: npt.NDArray[Any]) -> tuple[Codes, Codes, Codes]:
    """Return the place of the first of each distinct row in lexical order, the number of each row, and the counts.

    NaN equals NaN. Rows of codes are compared as single numbers while these fit into 64 bits, which is ten times as
    quick.
    """
    keys = np.nan_to_num(rows, nan=_NO_VALUE)
    if rows.dtype.kind == "i" and (base := int(rows.max(initial=-1)) + 2) ** rows.shape[1] < 2**63:
        keys = (rows.astype(np.int64) + 1) @ base ** np.arange(rows.shape[1] - 1, -1, -1, dtype=np.int64)
    _, first, inverse, counts = np.unique(keys, axis=0, return_index=True, return_inverse=True, return_counts=True)
    return first, inverse.reshape(-1), counts


def known_mean(values: Numbers, axis: int = 0) -> Numbers:
    """Return the mean along an axis of the values that are not NaN; NaN where all are (numpy's nanmean warns there)."""
    return np.asarray(np.ma.masked_invalid(values).mean(axis=axis).filled(np.nan))


def known_median(values: Numbers, axis: int = 0) -> Numbers:
    """Return the median along an axis, as ``known_mean``."""
    median: Any = np.ma.median  # has no types before numpy 2.5
    return np.asarray(median(np.ma.masked_invalid(values), axis=axis).filled(np.nan))


def in_order_of(target: Codebook, codebook: Codebook, values: Numbers) -> Numbers:
    """Return ``values`` ``[document, item]`` of a codebook for another one of its kind, whose labels differ in order.

    NaN for labels that only one of them has.
    """
    if codebook.kind != "choice":
        unknown = np.full((len(values), 1), np.nan)  # the last column
        columns = {item: column for column, item in enumerate(codebook.items)}
        return np.hstack([values, unknown])[:, [columns.get(item, -1) for item in target.items]]
    positions = np.array([*(target.label_numbers.get(id, np.nan) for id in codebook.label_numbers), np.nan])
    return positions[np.where(np.isnan(values), -1, values).astype(np.int64)]


def codes_of_groups(groups: Sequence[str]) -> Codes | None:
    """Return the group of each document as a code, None if no two documents are in one group.

    A document without a group (an empty name) is a group of its own.
    """
    if not any(groups):
        return None
    code_of_group: dict[str, int] = {}
    codes = [code_of_group.setdefault(group or f"\0{row}", len(code_of_group)) for row, group in enumerate(groups)]
    return np.array(codes, dtype=np.int64) if len(code_of_group) < len(codes) else None


def check_shapes(first: npt.NDArray[np.generic], *others: npt.NDArray[np.generic]) -> None:
    """Raise ValueError unless all arrays have the same shape."""
    for other in others:
        if other.shape != first.shape:
            raise ValueError(f"shapes differ: {first.shape} and {other.shape}")


def counted_documents(has_gold: Mask, *has_value: Mask) -> tuple[Mask, int]:
    """Return a mask ``[document]`` of the documents that count, and the number of excluded documents.

    The arguments are masks ``[document, item]`` of the gold and of each annotator. Excluded documents have gold and
    lack a value from some annotator.
    """
    gold = has_gold.any(axis=1)
    complete = np.ones_like(gold)
    for mask in has_value:
        complete &= mask.all(axis=1)
    return gold & complete, int((gold & ~complete).sum())


def is_right(reference: Numbers, predicted: Numbers, *, kind: Kind) -> Mask:
    """Return a mask of right values: equal to the reference, or a rating less than a point away.

    False if either value is missing.
    """
    right: Mask = (
        np.abs(predicted - reference) < RATING_TOLERANCE if kind == "rating" else np.equal(predicted, reference)
    )
    return right


def differ(first: Numbers, second: Numbers, *, kind: Kind) -> Mask:
    """Return a mask of values that differ, ratings by a point or more. False if either value is missing."""
    return ~np.isnan(first + second) & ~is_right(first, second, kind=kind)


def coded(reference: Numbers, *annotations: Numbers, kind: Kind) -> list[Codes]:
    """Return the reference and annotations as codes that are equal where an annotation is right; -1 where missing.

    The code of a rating is 1 if it is less than a point off the reference, else 0. Ratings have no finite set of
    values: a mean may lie between two points.
    """
    grids = [reference, *annotations]
    codes = [is_right(reference, values, kind=kind) for values in grids] if kind == "rating" else grids
    return [np.where(np.isnan(values), -1, code).astype(np.int64) for values, code in zip(grids, codes, strict=True)]
