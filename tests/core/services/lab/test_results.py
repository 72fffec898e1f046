"""Tests of trial results, with effects counted by hand.

====  =====  ======  =====  =======================
doc   ref.   before  after  effect
====  =====  ======  =====  =======================
d0    A      A       A B    broken on B
d1    A B    A       A B    fixed on B
d2    B      A       A      as wrong as before
d3    (none) (none)  (none) same
d4    -      A       B      changed, no reference
d5    A      (open)  A      fixed on A
d6    A B    B       A      fixed on A, broken on B
====  =====  ======  =====  =======================
"""

from __future__ import annotations

import numpy as np
import pytest

from core.codebook import Codebook, Label
from core.services.lab.results import compare_grids

BOOK = Codebook(labels=(Label(name="A", id="a"), Label(name="B", id="b")))
X = np.nan
DOCUMENTS = [f"d{n}" for n in range(7)]
REFERENCE = np.array([[1, 0], [1, 1], [0, 1], [0, 0], [X, X], [1, 0], [1, 1]], dtype=float)
BEFORE = np.array([[1, 0], [1, 0], [1, 0], [0, 0], [1, 0], [X, 0], [0, 1]], dtype=float)
AFTER = np.array([[1, 1], [1, 1], [1, 0], [0, 0], [0, 1], [1, 0], [1, 0]], dtype=float)


def test_documents_are_sorted_by_effect_regressions_first():
    found = compare_grids(DOCUMENTS, REFERENCE, BEFORE, AFTER, BOOK)
    assert [(one.document_id, one.effect) for one in found.documents] == [
        ("d0", "broken"), ("d6", "broken"), ("d1", "fixed"), ("d5", "fixed"), ("d4", "changed"), ("d2", "wrong"),
        ("d3", "same"),
    ]  # fmt: skip
    assert found.n == 6
    both = found.documents[1].cells
    assert [(cell.item, cell.before, cell.after, cell.effect) for cell in both] == [
        ("a", False, True, "fixed"),
        ("b", True, False, "broken"),
    ]
    opened = next(one for one in found.documents if one.document_id == "d5").cells
    assert [(cell.item, cell.before, cell.after, cell.reference) for cell in opened] == [("a", None, True, True)]
    assert [(label.name, label.fixed, label.broken) for label in found.labels] == [("A", 2, 0), ("B", 1, 2)]


def test_scores_exclude_documents_without_a_verdict():
    found = compare_grids(DOCUMENTS, REFERENCE, BEFORE, AFTER, BOOK)
    # All scores use the five documents with a verdict in both runs, without d5.
    # F1 before: A has TP d0 d1, FP d2, FN d6, so 2/3; B has TP d6, FN d1 d2, so 1/2.
    assert found.before.value == pytest.approx((2 / 3 + 1 / 2) / 2)
    # F1 after: A has TP d0 d1 d6, FP d2, so 6/7; B has TP d1, FP d0, FN d2 d6, so 2/5.
    assert found.after.value == pytest.approx((6 / 7 + 2 / 5) / 2)
    assert found.change.value == pytest.approx(found.after.value - found.before.value)
    assert found.labels[0].change.value == pytest.approx(6 / 7 - 2 / 3)
    assert found.few
    assert found.left_out == 1


def test_sentence_states_the_result_of_the_comparison():
    same = compare_grids(DOCUMENTS, REFERENCE, BEFORE, BEFORE, BOOK)
    assert same.sentence == "Nothing changed."
    changed = compare_grids(DOCUMENTS, REFERENCE, BEFORE, AFTER, BOOK)
    assert changed.sentence == "No significant difference on any label."
    unknown = compare_grids(DOCUMENTS, REFERENCE * X, BEFORE, AFTER, BOOK)
    assert unknown.sentence == "No reference labels to compare with."
    assert unknown.after.value is None
    many = [np.tile(grid, (20, 1)) for grid in (REFERENCE[[0, 1]], BEFORE[[0, 1]] * 0, REFERENCE[[0, 1]])]
    clear = compare_grids([f"x{n}" for n in range(40)], *many, BOOK)
    assert clear.sentence == "Better on A and B."
    assert not clear.few
    pairs = compare_grids([f"x{n}" for n in range(40)], *many, BOOK, np.arange(40) // 2)
    assert pairs.sentence == "Better on A and B."
    few = compare_grids([f"x{n}" for n in range(40)], *many, BOOK, np.arange(40) // 10)
    assert few.sentence == "No significant difference on any label.", "4 groups are too few"
    assert [label.adjusted for label in few.labels] == [0.25, 0.25]  # 2 labels x 2 of 16 sign patterns


def test_choice_results_are_counted_under_the_true_label():
    book = BOOK.model_copy(update={"kind": "choice"})
    reference, before, after = (
        np.array([[v] for v in column], dtype=float) for column in ([0, 1, 1], [1, 1, 0], [0, 0, 1])
    )
    found = compare_grids(["d0", "d1", "d2"], reference, before, after, book)
    assert [one.effect for one in found.documents] == ["broken", "fixed", "fixed"]
    assert [(label.fixed, label.broken) for label in found.labels] == [(1, 0), (1, 1)]
    assert found.documents[0].cells[0].reference == "b"


def test_wrong_value_that_becomes_another_wrong_one_is_a_change():
    book = Codebook(kind="choice", labels=(*BOOK.labels, Label(name="C", id="c")))
    found = compare_grids(["d0", "d1"], *(np.array([[v], [1.0]]) for v in (0.0, 1.0, 2.0)), book)
    assert [(one.effect, [cell.effect for cell in one.cells]) for one in found.documents] == [
        ("changed", ["changed"]),
        ("same", []),
    ]
    assert found.sentence == "No significant difference on any label."
    rating = Codebook(kind="rating", labels=BOOK.labels[:1])
    near = compare_grids(["d0"], *(np.array([[v]]) for v in (3.5, 3.0, 4.0)), rating)
    assert near.documents[0].effect == "changed", "both are less than a point away"


def test_rating_is_right_if_it_equals_the_reference():
    book = Codebook(kind="rating", labels=BOOK.labels)
    reference = np.array([[1, 5], [3, X]], dtype=float)
    found = compare_grids(["d0", "d1"], reference, np.array([[1, 4], [X, 2]]), np.array([[1, 5], [3, 2]]), book)
    assert [one.effect for one in found.documents] == ["fixed", "fixed"]
    assert found.after.value == 1.0
    mean = np.array([[3.5, 3.5]])  # mean of two raters: less than a point away counts as right
    assert (
        compare_grids(["d0"], mean, np.array([[4.0, 5.0]]), np.array([[4.0, 4.0]]), book).documents[0].effect == "fixed"
    )
