from __future__ import annotations

import numpy as np
import pytest

from core.stats import arrays


def test_none_nan_and_negatives_are_missing_and_not_absent() -> None:
    assert arrays.binary_grid([[1, None], [float("nan"), 0]]).tolist() == [[1, -1], [-1, 0]]
    assert arrays.binary_grid(np.array([[True, False]])).tolist() == [[1, 0]]
    assert arrays.binary_grid(np.array([[-3, 1]])).tolist() == [[-1, 1]]
    assert arrays.binary_grid([[1, 0]]).dtype == np.int8


@pytest.mark.parametrize("values", [[[2]], [[0.5]], [1, 0], [[float("inf")]]])
def test_invalid_binary_grid_is_rejected(values: object) -> None:
    with pytest.raises(ValueError, match="expected"):
        arrays.binary_grid(values)  # type: ignore[arg-type]


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
