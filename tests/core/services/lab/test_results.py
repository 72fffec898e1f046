"""Tests of trial results, with effects counted by hand.

====  =====  ======  =====  =======================
doc   ref.   before  after  effect
====  =====  ======  =====  =======================
d0    A      A       A B    broken on B
d1    A B    A       A B    fixed on B
d2    B      A       A      as wrong as before
d3    (none) (none)  (none) same
d4    -      A       B      changed, no reference
d5    A      (open)  A      changed, undecided before
d6    A B    B       A      fixed on A, broken on B
====  =====  ======  =====  =======================
"""

from __future__ import annotations

import numpy as np
import pytest

from core.codebook import Codebook, Label
from core.services.lab.results import TrialResult, trial_result
from core.stats.comparison import Side, rule

BOOK = Codebook(labels=(Label(name="A", id="a"), Label(name="B", id="b")))
X = np.nan
REFERENCE = np.array([[1, 0], [1, 1], [0, 1], [0, 0], [X, X], [1, 0], [1, 1]], dtype=float)
BEFORE = np.array([[1, 0], [1, 0], [1, 0], [0, 0], [1, 0], [X, 0], [0, 1]], dtype=float)
AFTER = np.array([[1, 1], [1, 1], [1, 0], [0, 0], [0, 1], [1, 0], [1, 0]], dtype=float)


def result_of(reference, before, after, book=BOOK, groups=None) -> TrialResult:
    """Return the result of a trial on documents d0, d1 and so on."""
    documents = [f"d{n}" for n in range(len(reference))]
    return trial_result(documents, reference, Side("r1", "v1", before), Side("r2", "v2", after), book, groups)


def counts(result: TrialResult) -> list[tuple[str, int, int]]:
    """Return each label with its corrected and regressed documents."""
    return [(label.name, label.test.only_second, label.test.only_first) for label in result.comparison.labels]


def test_documents_are_sorted_by_effect_regressions_first():
    result = result_of(REFERENCE, BEFORE, AFTER)
    assert [(document.document_id, document.effect) for document in result.documents] == [
        ("d0", "regressed"),
        ("d6", "mixed"),
        ("d1", "corrected"),
        ("d4", "changed"),
        ("d5", "changed"),
        ("d2", "wrong"),
        ("d3", "same"),
    ]
    assert result.labelled == 6
    both = result.documents[1].cells
    assert [(cell.item, cell.before, cell.after, cell.effect) for cell in both] == [
        ("a", False, True, "corrected"),
        ("b", True, False, "regressed"),
    ]
    opened = next(document for document in result.documents if document.document_id == "d5").cells
    assert [(cell.item, cell.before, cell.after, cell.reference) for cell in opened] == [("a", None, True, True)]
    assert counts(result) == [("A", 1, 0), ("B", 1, 2)], "without the unresolved d5, as in the scores"
    assert (result.cells.corrected, result.cells.regressed) == (2, 2)


def test_scores_exclude_documents_without_a_verdict():
    result = result_of(REFERENCE, BEFORE, AFTER)
    # All scores use the five documents with a verdict in both runs, without d5.
    # F1 before: A has TP d0 d1, FP d2, FN d6, so 2/3; B has TP d6, FN d1 d2, so 1/2.
    assert result.before.value == pytest.approx((2 / 3 + 1 / 2) / 2)
    # F1 after: A has TP d0 d1 d6, FP d2, so 6/7; B has TP d1, FP d0, FN d2 d6, so 2/5.
    assert result.after.value == pytest.approx((6 / 7 + 2 / 5) / 2)
    pair = result.comparison
    assert pair.main.difference.value == pytest.approx(result.after.value - result.before.value)
    assert pair.labels[0].difference.value == pytest.approx(6 / 7 - 2 / 3)
    assert result.few
    assert (pair.scores.n, pair.scores.excluded) == (5, 1)


def test_sentence_states_the_result_of_the_comparison():
    same = result_of(REFERENCE, BEFORE, BEFORE)
    assert same.sentence == "Nothing changed."
    changed = result_of(REFERENCE, BEFORE, AFTER)
    assert changed.sentence.startswith("No significant difference between v2 and v1 on 5 of 6 shared documents: +")
    unknown = result_of(REFERENCE * X, BEFORE, AFTER)
    assert unknown.sentence.endswith("cannot be compared: no shared document has a reference and a verdict in both.")
    assert unknown.after.value is None
    many = [np.tile(grid, (20, 1)) for grid in (REFERENCE[[0, 1]], BEFORE[[0, 1]] * 0, REFERENCE[[0, 1]])]
    clear = result_of(*many)
    assert clear.sentence.startswith("v2 is better on 40 shared documents: +")
    assert [label.verdict for label in clear.comparison.labels] == ["better", "better"]
    assert not clear.few
    pairs = result_of(*many, groups=np.arange(40) // 2)
    assert pairs.comparison.main.verdict == "better"
    few = result_of(*many, groups=np.arange(40) // 10)
    assert few.comparison.main.verdict == "none", "4 groups are too few"
    assert [label.verdict for label in few.comparison.labels] == ["none", "none"]
    assert [label.adjusted for label in few.comparison.labels] == [0.25, 0.25]  # 2 labels x 2 of 16 sign patterns


def test_rare_label_has_no_verdict():
    reference = np.array([[n < 4, n % 2] for n in range(40)], dtype=float)
    before = np.hstack([np.ones((40, 1)), reference[:, 1:]])
    rare = result_of(reference, before, reference).comparison.labels[0]
    assert (rare.test.only_second, rare.adjusted < 0.001, rare.positives, rare.verdict) == (36, True, 4, "unknown")


def test_switch_of_a_choice_counts_for_both_labels():
    book = BOOK.model_copy(update={"kind": "choice"})
    reference, before, after = (
        np.array([[v] for v in column], dtype=float) for column in ([0, 1, 1], [1, 1, 0], [0, 0, 1])
    )
    result = result_of(reference, before, after, book)
    assert [document.effect for document in result.documents] == ["regressed", "corrected", "corrected"]
    # d0 misses A and takes B instead: in F1, both labels are worse.
    assert counts(result) == [("A", 2, 1), ("B", 2, 1)]
    assert (result.cells.corrected, result.cells.regressed) == (2, 1)
    assert result.documents[0].cells[0].reference == "b"


def test_wrong_value_that_becomes_another_wrong_one_is_a_change():
    book = Codebook(kind="choice", labels=(*BOOK.labels, Label(name="C", id="c")))
    result = result_of(*(np.array([[v], [1.0]]) for v in (0.0, 1.0, 2.0)), book)
    assert [(document.effect, [cell.effect for cell in document.cells]) for document in result.documents] == [
        ("changed", ["changed"]),
        ("same", []),
    ]
    rating = Codebook(kind="rating", labels=BOOK.labels[:1])
    near = result_of(*(np.array([[v]]) for v in (3.5, 3.0, 4.0)), rating)
    assert near.documents[0].effect == "changed", "both are less than a point away"


def test_rating_is_right_if_it_is_less_than_a_point_off():
    book = Codebook(kind="rating", labels=BOOK.labels)
    reference = np.array([[1, 5], [3, X]], dtype=float)
    result = result_of(reference, np.array([[1, 4], [X, 2]]), np.array([[1, 5], [3, 2]]), book)
    assert [document.effect for document in result.documents] == ["corrected", "changed"], "d1 was undecided before"
    mean = np.array([[3.5, 3.5]])  # mean of two raters: less than a point away counts as right
    assert result_of(mean, np.array([[4.0, 5.0]]), np.array([[4.0, 4.0]]), book).documents[0].effect == "corrected"


def test_main_score_of_ratings_is_the_mean_correlation():
    book = Codebook(kind="rating", labels=BOOK.labels)
    rng = np.random.default_rng(1)
    reference = rng.integers(1, 6, (60, 2)).astype(float)
    before = rng.integers(1, 6, (60, 2)).astype(float)
    result = result_of(reference, before, reference, book)
    assert (result.comparison.main.metric, result.after.value) == ("macro_spearman", 1.0)
    assert result.sentence.startswith("v2 is better on 60 shared documents: +")
    assert "mean Spearman correlation" in result.sentence
    same = [np.mean(np.abs(before[:, column] - reference[:, column]) < 1) for column in (0, 1)]
    differences = [label.difference.value for label in result.comparison.labels]
    assert differences == pytest.approx([1 - share for share in same])


def test_rule_names_the_test_of_the_main_score_where_it_is_shown():
    names = "McNemar's test after Holm's correction over the labels"
    assert f"for Macro F1 a permutation test, for a label {names}." in rule("multilabel", main="Macro F1")
    assert "permutation" not in rule("multilabel")
