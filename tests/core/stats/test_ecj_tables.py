"""Tests that recompute tables 9, 10, 11 and 4 of Maada et al., ECJ-LLM, from their own counts.

``data/ecj_runs_as_printed.csv`` contains tables 9 (single model), 10 (ECJ, one model in all roles) and 11 (ECJ, mixed
models) as printed. The columns FP and FN of the paper are exchanged in all rows: 143 of its 350 documents are positive,
and TP plus the column FP is 143 in every row. Its shares are truncated after two digits.
"""

from __future__ import annotations

import csv
from dataclasses import astuple, dataclass
from pathlib import Path

import pytest

from core.stats.metrics import Counts
from core.stats.significance import paired_t, welch_t
from tests.core.stats.samples import scores_of
from tests.each_row import each_row

POSITIVES, DOCUMENTS = 143, 350
SCORES = ("accuracy", "precision", "recall", "f1")
Row = tuple[int, int, str, str]
"""Table, iteration, the extractor (or single model), and "critic/judge"."""

# Misprints that follow from other cells of the row: the printed and the correct value.
ERRATA: dict[Row, dict[str, tuple[str, float]]] = {
    (9, 4, "gpt-4.1-nano", "/"): {"col_fn": ("193", 190), "tn": ("14", 17)},
    (9, 5, "gpt-4.1-nano", "/"): {"col_fn": ("193", 190), "tn": ("14", 17)},
    (9, 3, "o4-mini", "/"): {"precision": ("94.32", 93.83), "recall": ("93.01", 95.80), "f1": ("93.62", 94.80)},
    (9, 5, "o3-mini", "/"): {"recall": ("99.6", 98.6)},
    (10, 5, "gpt-4o-mini", "gpt-4o-mini/gpt-4o-mini"): {"col_fn": ("17", 14)},
    (10, 2, "gpt-3.5-turbo", "gpt-3.5-turbo/gpt-3.5-turbo"): {"accuracy": ("7485", 74.85), "f1": ("76.81", 76.21)},
    (11, 3, "o3-mini", "gpt-4.1-mini/gpt-4.1"): {"tp": ("1345", 135)},
    (11, 4, "gpt-3.5-turbo", "gpt-4.1-mini/gpt-4.1"): {"f1": ("94.377", 94.77)},
}
# Counts and shares of this row contradict each other; the correct values are unknown.
UNRESOLVED: Row = (9, 5, "gpt-4.1-mini", "/")

MODELS = ("gpt-4.1", "o4-mini", "gpt-3.5-turbo", "gpt-4o-mini", "o3-mini", "gpt-4.1-mini", "gpt-4.1-nano")  # table 4
T_PRINTED = (48.03, 3.45, 25.55, 40.68, 97.37, 17.96, 11.84)
T_CORRECTED = (48.03, 3.61, 29.76, 40.68, 96.99, 18.28, 11.85)
LOSSES = {"o4-mini", "gpt-4.1-mini"}


@dataclass(frozen=True)
class Printed:
    key: Row
    cells: dict[str, str]

    def corrected(self) -> dict[str, float]:
        cells = {name: float(text) for name, text in self.cells.items()}
        for name, (printed, correct) in ERRATA.get(self.key, {}).items():
            assert self.cells[name] == printed, f"{self.key} {name} is printed as {self.cells[name]}"
            cells[name] = correct
        return cells

    def counts(self) -> Counts:
        cells = self.corrected()
        return Counts(tp=int(cells["tp"]), fp=int(cells["col_fn"]), fn=int(cells["col_fp"]), tn=int(cells["tn"]))

    def scores(self) -> dict[str, float]:
        return {name: scores_of(self.counts())[name].value or 0.0 for name in SCORES}


def _read() -> list[Printed]:
    with (Path(__file__).parent / "data" / "ecj_runs_as_printed.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [
        Printed(
            (int(row["table"]), int(row["iteration"]), row["extractor"], f"{row['critic']}/{row['judge']}"),
            {name: row[name] for name in (*SCORES, "tp", "col_fp", "col_fn", "tn")},
        )
        for row in rows
    ]


ROWS = _read()


@each_row("row", ROWS)
def test_every_corrected_row_agrees_with_its_counts(row: Printed) -> None:
    counts = row.counts()
    assert (sum(astuple(counts)), counts.positives) == (DOCUMENTS, POSITIVES)
    cells, scores = row.corrected(), row.scores()
    # Most shares are truncated, a few rounded up.
    wrong = [name for name in SCORES if not -0.011 <= 100 * scores[name] - cells[name] < 0.03]
    assert wrong == (["precision", "f1"] if row.key == UNRESOLVED else [])


@each_row("row", [row for row in ROWS if row.key in ERRATA])
def test_rows_with_errata_are_inconsistent_as_printed(row: Printed) -> None:
    # The printed counts contradict either the shares of the row or the 143 positives of 350 documents.
    cells = {name: float(text) for name, text in row.cells.items()}
    counts = Counts(int(cells["tp"]), int(cells["col_fn"]), int(cells["col_fp"]), int(cells["tn"]))
    scores = scores_of(counts)
    off = [name for name in SCORES if not -0.011 <= 100 * (scores[name].value or 0.0) - cells[name] < 0.03]
    assert off or (sum(astuple(counts)), counts.positives) != (DOCUMENTS, POSITIVES)


def test_printed_false_positive_column_contains_false_negatives() -> None:
    assert all(
        int(row.cells["tp"]) + int(row.cells["col_fp"]) == POSITIVES for row in ROWS if "1345" not in row.cells["tp"]
    )


def _f1(table: int, model: str, *, corrected: bool) -> list[float]:
    rows = sorted((row for row in ROWS if row.key[0] == table and row.key[2] == model), key=lambda row: row.key[1])
    return [100 * row.scores()["f1"] if corrected else float(row.cells["f1"]) for row in rows]


@each_row(("model", "t"), list(zip(MODELS, T_PRINTED, strict=True)))
def test_table_4_from_the_printed_f1(model: str, t: float) -> None:
    test = paired_t(_f1(9, model, corrected=False), _f1(10, model, corrected=False))
    assert abs(test.t or 0) == pytest.approx(t, abs=0.006)
    assert test.direction == ("loss" if model in LOSSES else "gain")


@each_row(("model", "t"), list(zip(MODELS, T_CORRECTED, strict=True)))
def test_table_4_from_corrected_counts(model: str, t: float) -> None:
    single, debate = _f1(9, model, corrected=True), _f1(10, model, corrected=True)
    test = paired_t(single, debate)
    assert abs(test.t or 0) == pytest.approx(t, abs=0.006)
    assert (test.p or 1.0) < 0.05
    # Iterations of different systems are not paired, so Welch's test applies too; its result is the same.
    welch = welch_t(single, debate)
    assert (welch.p or 1.0) < 0.05
    assert welch.direction == test.direction == ("loss" if model in LOSSES else "gain")


MEANS: dict[tuple[int, str, str], tuple[float | None, ...]] = {
    # Correct values of the misprinted means of tables 3 and 5: accuracy, precision, recall, F1.
    (10, "gpt-4o-mini", "gpt-4o-mini/gpt-4o-mini"): (91.77, None, None, None),
    (10, "gpt-3.5-turbo", "gpt-3.5-turbo/gpt-3.5-turbo"): (72.74, 60.31, 97.76, 74.70),
    # Table 5, rows 1 to 4: the column "accuracy" contains the precision.
    (11, "gpt-3.5-turbo", "gpt-4.1-mini/gpt-4.1"): (95.60, None, None, None),
    (11, "gpt-4.1-mini", "gpt-3.5-turbo/gpt-4.1"): (83.43, None, None, None),
    (11, "o3-mini", "gpt-4.1-mini/gpt-4.1"): (94.57, None, None, None),
    (11, "gpt-4.1-mini", "o3-mini/gpt-4.1"): (86.46, None, None, None),
}


@each_row("which", MEANS)
def test_misprinted_means_of_tables_3_and_5(which: tuple[int, str, str]) -> None:
    rows = [row.scores() for row in ROWS if (row.key[0], *row.key[2:]) == which]
    assert len(rows) == 5
    for name, mean in zip(SCORES, MEANS[which], strict=True):
        if mean is not None:
            assert 100 * sum(row[name] for row in rows) / 5 == pytest.approx(mean, abs=0.15)


def test_recall_depends_on_the_critic_and_not_on_the_extractor() -> None:
    # As in table 5 of the paper, critics of high recall keep 98% and critics of high precision 94% to 97%.
    recall: dict[str, list[float]] = {}
    for row in ROWS:
        if row.key[0] == 11:
            recall.setdefault(row.key[3].split("/")[0], []).append(100 * row.scores()["recall"])
    means = {critic: sum(values) / len(values) for critic, values in recall.items()}
    assert means["gpt-3.5-turbo"] > 97.5
    assert means["o3-mini"] > 97
    assert 94 < means["gpt-4.1-mini"] < 97
