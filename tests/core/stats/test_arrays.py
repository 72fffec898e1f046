from __future__ import annotations

import numpy as np
import pytest

from core.stats import arrays


def test_none_nan_and_negatives_are_missing_and_not_absent() -> None:
    assert arrays.codes([[1, None], [float("nan"), 0]]).tolist() == [[1, -1], [-1, 0]]
    assert arrays.codes(np.array([[True, False]])).tolist() == [[1, 0]]
    assert arrays.codes(np.array([[-3, 1]])).tolist() == [[-1, 1]]


@pytest.mark.parametrize("values", [[[0.5]], [[float("inf")]]])
def test_codes_are_whole_numbers(values: object) -> None:
    with pytest.raises(ValueError, match="expected"):
        arrays.codes(values)  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [3, 70])
def test_distinct_rows_are_in_lexical_order_however_wide(width: int) -> None:
    rows = np.random.default_rng(0).integers(-1, 2, (40, 3)).repeat(2, axis=0)
    rows = np.pad(rows, ((0, 0), (width - 3, 0)), constant_values=3)
    first, number, counts = arrays.distinct_rows(rows)
    assert rows[first].tolist() == np.unique(rows, axis=0).tolist()
    assert (rows[first][number] == rows).all()
    assert counts.sum() == len(rows)


def test_rows_without_values_are_equal() -> None:
    nothing = float("nan")
    first, number, counts = arrays.distinct_rows(np.array([[1.0, nothing], [0.5, 2.0], [1.0, nothing]]))
    assert (first.tolist(), number.tolist(), counts.tolist()) == ([1, 0], [1, 0, 1], [1, 2])


def test_rating_can_be_negative() -> None:
    assert np.isnan(arrays.ratings([None, 1])[0])
    assert arrays.ratings([-1, 1]).tolist() == [-1.0, 1.0]
    with pytest.raises(ValueError, match="infinite"):
        arrays.ratings([float("inf")])


def test_codes_become_one_column_for_each_label() -> None:
    assert arrays.one_hot(np.array([1, -1, 0]), 2).tolist() == [[0, 1], [-1, -1], [1, 0]]


def test_document_counts_with_any_gold_and_a_complete_verdict() -> None:
    gold = np.array([[True, False], [True, True], [False, False]])
    predicted = np.array([[True, True], [True, False], [False, False]])
    counted, excluded = arrays.counted_documents(gold, predicted)
    # The first document counts; the second has an incomplete verdict; the third has no gold.
    assert counted.tolist() == [True, False, False]
    assert excluded == 1


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match="shapes differ"):
        arrays.check_shapes(np.zeros((2, 1)), np.zeros((1, 2)))
