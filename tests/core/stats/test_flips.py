from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.stats import scoring
from core.stats.flips import Flip, FlipTable, Tally, flip_table, sentence, trace
from core.stats.intervals import Estimate, newcombe_paired
from tests.core.stats.samples import weighted_flip_table

LABELS = ["a", "b"]
#                 kept right / corrected   regressed / kept wrong   no list   no gold for b
REFERENCE = [[1, 1], [1, 0], [0, 1], [1, -1]]
EXTRACTOR = [[1, 0], [1, 1], [0, 0], [0, 1]]
CRITIC = [[1, 1], [0, 1], [-1, -1], [1, 0]]
JUDGE = [[1, 1], [0, 1], [0, 1], [0, 0]]
STEPS = [("extractor", EXTRACTOR), ("critic", CRITIC), ("judge", JUDGE)]


def test_flip_table_of_a_worked_example() -> None:
    table = flip_table(REFERENCE, STEPS, LABELS)
    assert (table.documents, table.excluded, table.cells) == (4, 0, 7)
    critic, judge = table.steps
    # The critic corrects (1, b) and (4, a), introduces an error on (2, a), and keeps (1, a) and (3, a), the latter
    # without a list; (2, b) and (3, b) stay wrong.
    assert critic.labels == {"a": Tally(1, 1, 2, 0), "b": Tally(1, 0, 0, 2)}
    assert critic.total == Tally(corrected=2, regressed=1, kept_right=2, kept_wrong=2)
    # The judge corrects (3, b) and introduces an error on (4, a).
    assert judge.total == Tally(corrected=1, regressed=1, kept_right=3, kept_wrong=2)
    assert table.whole.total == Tally(corrected=2, regressed=1, kept_right=2, kept_wrong=2)
    assert (table.whole.role, table.whole.against) == ("judge", "extractor")
    assert [share.value for share in table.shares] == pytest.approx([3 / 7, 4 / 7, 4 / 7])
    assert table.whole.gain.value == pytest.approx(1 / 7)


def test_final_errors_are_attributed_to_the_role_that_introduced_them() -> None:
    table = flip_table(REFERENCE, STEPS, LABELS)
    # (2, b) was wrong from the start, (2, a) since the critic, (4, a) was corrected by the critic and lost by the judge
    assert table.errors_by == {"extractor": 1, "critic": 1, "judge": 1}
    assert table.label_errors_by == {
        "a": {"extractor": 0, "critic": 1, "judge": 1},
        "b": {"extractor": 1, "critic": 0, "judge": 0},
    }
    path = trace(REFERENCE, STEPS)
    assert path.error_at.tolist() == [[-1, -1], [1, 0], [-1, -1], [2, -2]]


def test_debates_without_start_or_end_are_excluded() -> None:
    unresolved = [[1, 1], [0, -1], [0, 1], [0, 0]]
    table = flip_table(REFERENCE, [STEPS[0], STEPS[1], ("judge", unresolved)], LABELS)
    assert (table.documents, table.excluded, table.cells) == (3, 1, 5)
    silent = [[-1, -1], *EXTRACTOR[1:]]
    assert flip_table(REFERENCE, [("extractor", silent), *STEPS[1:]], LABELS).excluded == 1
    assert trace(REFERENCE, [("extractor", silent), *STEPS[1:]]).error_at[0].tolist() == [-2, -2]


def test_a_choice_from_one_wrong_label_to_another_stays_wrong() -> None:
    table = flip_table([[2], [0]], [("first", [[0], [0]]), ("second", [[1], [0]])], ["label"])
    assert table.whole.total == Tally(kept_right=1, kept_wrong=1)
    assert table.errors_by == {"first": 1, "second": 0}


def example() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return 240 documents of 5 labels with 139 corrected and 67 regressed cells."""
    reference = np.ones((240, 5), dtype=np.int8)
    before, after = reference.copy().ravel(), reference.copy().ravel()
    cells = np.random.default_rng(0).permutation(1200)
    before[cells[:139]] = 0
    after[cells[139:206]] = 0
    before[cells[206:300]] = after[cells[206:300]] = 0
    return reference, before.reshape(240, 5), after.reshape(240, 5)


def summary_of(table: FlipTable) -> str:
    return words_of(table.whole, than=f"the {table.whole.against} alone")


def words_of(change: Flip, **sides: str) -> str:
    return "".join(words for words, _ in sentence(change, **sides))


def test_sentence_of_a_gain_with_its_interval() -> None:
    reference, before, after = example()
    table = flip_table(reference, [("extractor", before), ("judge", after)], list("abcde"))
    assert table.whole.total == Tally(corrected=139, regressed=67, kept_right=900, kept_wrong=94)
    interval = table.whole.gain.interval
    assert interval is not None
    # 72/1200 = 6.0 points; for independent cells the standard error is sqrt(206/1200 - 0.06^2) / sqrt(1200) = 1.18.
    assert interval.low == pytest.approx(0.037, abs=0.004)
    assert interval.high == pytest.approx(0.083, abs=0.004)
    low, high = f"{100 * interval.low:.1f}", f"{100 * interval.high:.1f}"
    assert summary_of(table) == (
        "The debate corrected 139 labels and introduced 67 errors: 72 more correct than the extractor alone "
        f"(+6.0 points, 95% interval {low} to {high})."
    )
    backwards = flip_table(reference, [("extractor", after), ("judge", before)], list("abcde"))
    assert summary_of(backwards) == (
        "The debate corrected 67 labels and introduced 139 errors: 72 fewer correct than the extractor alone "
        f"(−6.0 points, 95% interval −{high} to −{low})."
    )


def change(corrected: int, regressed: int, kept: int) -> Flip:
    tally = Tally(corrected, regressed, kept)
    gain = Estimate(tally.net / tally.n if tally.n else None, None)
    return Flip("critic", "extractor", tally, {}, gain, {})


def test_sentences_of_small_changes() -> None:
    sides = {"than": "the extractor"}
    assert words_of(change(1, 0, 9), **sides) == (
        "The debate corrected 1 label and introduced 0 errors: 1 more correct than the extractor (+10.0 points)."
    )
    assert words_of(change(2, 2, 6), **sides) == (
        "The debate corrected 2 labels and introduced 2 errors: as many correct as the extractor (0.0 points)."
    )
    assert words_of(change(0, 0, 4), than="the extractor alone", noun="document") == (
        "The debate changed no document from wrong to correct or back: exactly as many correct as the extractor alone."
    )
    assert "cannot be compared" in words_of(change(0, 0, 0), **sides)


def test_outcome_of_weighted_documents_is_that_of_their_gain() -> None:
    whole = weighted_flip_table().whole
    assert whole.total == Tally(12, 4, 14, 0)
    assert whole.gain.value is not None
    assert whole.gain.value < 0
    assert whole.gained() == whole.gained("a") == pytest.approx(whole.gain.value * 30)
    words = words_of(whole, than="the extractor alone")
    assert words.startswith(
        "Among the reviewed documents, the debate corrected 12 labels and introduced 4 errors. "
        "Estimated for all documents: fewer correct than the extractor alone (−26.5 points"
    )


def test_note_on_weights_is_given_if_they_change_the_gain_of_any_step() -> None:
    table, unchanged = weighted_flip_table(), change(0, 0, 30)
    assert not replace(table, steps=(unchanged,), whole=unchanged).note
    assert replace(table, whole=unchanged).note.startswith("Counts are of reviewed documents.")


def test_one_cell_per_document_uses_newcombes_interval() -> None:
    reference = np.ones((50, 1))
    before = np.array([[0]] * 12 + [[1]] * 38)
    after = np.array([[1]] * 12 + [[0]] * 2 + [[1]] * 36)
    table = flip_table(reference, [("extractor", before), ("judge", after)], ["a"])
    assert table.whole.gain.interval == newcombe_paired(both=36, gained=12, lost=2, neither=0)
    assert table.whole.label_gains["a"] == table.whole.gain


def test_correlated_flips_within_a_document_widen_the_interval() -> None:
    reference = np.ones((100, 5))
    clustered, independent = np.ones((100, 5)), np.ones((100, 5))
    clustered[:6] = 0  # 30 cells in 6 documents
    independent[:30, 0] = 0  # 30 cells in 30 documents
    widths = []
    for before in (clustered, independent):
        interval = flip_table(
            reference, [("extractor", before), ("judge", reference)], list("abcde")
        ).whole.gain.interval
        assert interval is not None
        widths.append(interval.high - interval.low)
    assert widths[0] > 1.8 * widths[1]


def test_flip_table_without_documents() -> None:
    nothing = np.zeros((0, 2))
    table = flip_table(nothing, [("extractor", nothing), ("judge", nothing)], LABELS)
    assert (table.cells, table.whole.gain.value) == (0, None)
    assert table.shares == (Estimate(), Estimate())
    assert "cannot be compared" in summary_of(table)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="two or more"):
        flip_table(REFERENCE, STEPS[:1], LABELS)
    with pytest.raises(ValueError, match="different roles"):
        flip_table(REFERENCE, [STEPS[0], STEPS[0]], LABELS)
    with pytest.raises(ValueError, match="shapes differ"):
        flip_table(REFERENCE, [STEPS[0], ("judge", [[1]])], LABELS)


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(1, 10), st.integers(1, 4), st.integers(2, 5), st.floats(0, 0.4))
def test_flip_table_invariants(seed: int, documents: int, items: int, roles: int, missing: float) -> None:
    rng = np.random.default_rng(seed)

    def grid() -> np.ndarray:
        values = rng.integers(0, 2, (documents, items))
        return np.where(rng.random(values.shape) < missing, -1, values)

    reference, steps = grid(), [grid() for _ in range(roles)]
    labels = [f"l{index}" for index in range(items)]
    table = flip_table(reference, [(f"r{index}", values) for index, values in enumerate(steps)], labels)
    assert all(step.total.n == table.cells for step in (*table.steps, table.whole))
    assert sum(step.total.net for step in table.steps) == table.whole.total.net
    assert sum(tally.n for tally in table.whole.labels.values()) == table.cells
    # Each step starts from the result of the previous step.
    for before, after in zip(table.steps, table.steps[1:], strict=False):
        assert before.total.right_after == after.total.right_before
    wrong = table.cells - table.whole.total.right_after
    assert sum(table.errors_by.values()) == wrong
    assert {label: sum(lost.values()) for label, lost in table.label_errors_by.items()} == {
        label: tally.n - tally.right_after for label, tally in table.whole.labels.items()
    }
    # The last share equals the accuracy of the evaluation on the same documents.
    counted = (steps[0] >= 0).all(axis=1)
    scores = scoring.score("multilabel", reference[counted], steps[-1][counted], labels)
    assert scores.n == table.documents
    if table.cells:
        assert table.shares[-1].value == pytest.approx(1 - (scores["hamming_loss"].value or 0))


def test_outcome_of_a_document_is_that_of_all_its_labels() -> None:
    # One document for each outcome; the last one has no reference.
    reference = np.array([[1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [-1, -1]])
    before = np.array([[1, 0], [1, 0], [0, 0], [0, 1], [1, 1], [0, 0]])
    after = np.array([[0, 0], [0, 1], [1, 0], [0, 1], [1, 1], [1, 1]])
    changes = trace(reference, [("before", before), ("after", after)]).changes(0, 1)
    assert changes.outcomes.tolist() == ["regressed", "mixed", "corrected", "wrong", "right", "right"]
