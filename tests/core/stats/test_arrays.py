from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.codebook import Codebook, Kind, Label
from core.stats import arrays
from tests.each_row import each_row


def test_none_nan_and_negatives_are_missing_and_not_absent() -> None:
    assert arrays.codes([[1, None], [float("nan"), 0]]).tolist() == [[1, -1], [-1, 0]]
    assert arrays.codes(np.array([[True, False]])).tolist() == [[1, 0]]
    assert arrays.codes(np.array([[-3, 1]])).tolist() == [[-1, 1]]


@each_row("values", [[[0.5]], [[float("inf")]]])
def test_codes_are_whole_numbers(values: object) -> None:
    with pytest.raises(ValueError, match="expected"):
        arrays.codes(values)  # type: ignore[arg-type]


@each_row("width", [1, 5, 26, 27, 40])
def test_distinct_rows_are_in_lexical_order(width: int) -> None:
    rng = np.random.default_rng(width)
    rows = rng.integers(-1, 4, size=(300, width)).astype(np.int8)
    rows = np.concatenate([rows, rows[:50], np.full((3, width), 3, np.int8)])
    first, number, frequency = arrays.distinct_rows(rows)
    expected, counts = np.unique(rows, axis=0, return_counts=True)
    assert (rows[first] == expected).all()
    assert (expected[number] == rows).all()
    assert (frequency == counts).all()


def test_no_rows_are_distinct_in_an_empty_grid() -> None:
    assert [len(rows_found) for rows_found in arrays.distinct_rows(np.zeros((0, 3), np.int8))] == [0, 0, 0]


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


@each_row(
    ("kind", "values", "expected"),
    [
        ("multilabel", [[1, 0, np.nan], [0, 1, 1]], [[np.nan, 1, np.nan], [1, 0, np.nan]]),
        ("choice", [[0], [1], [2], [np.nan]], [[1], [np.nan], [0], [np.nan]]),
    ],
)
def test_values_follow_the_order_of_another_codebook(kind: Kind, values: Any, expected: Any) -> None:
    own = Codebook(kind=kind, labels=tuple(Label(name=id, id=id) for id in ("a", "b", "c")))
    target = Codebook(kind=kind, labels=tuple(Label(name=id, id=id) for id in ("c", "a", "d")))
    np.testing.assert_equal(
        arrays.in_order_of(target, own, np.array(values, dtype=float)), np.array(expected, dtype=float)
    )


@each_row(
    ("groups", "expected"),
    [(["ann", "ben", "ann", ""], [0, 1, 0, 2]), (["", "", "ann"], None), (["", ""], None), ([], None)],
)
def test_documents_without_a_group_are_groups_of_their_own(groups: list[str], expected: list[int] | None) -> None:
    codes = arrays.codes_of_groups(groups)
    assert (codes if codes is None else codes.tolist()) == expected
