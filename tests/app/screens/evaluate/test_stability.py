"""Tests of the summaries of ambiguous and normal documents."""

from __future__ import annotations

import re

import pytest

from app.screens.evaluate.stability import agreement_rows, part_cells
from core.codebook import Kind
from core.services.evaluation.ambiguity import DocumentSubset
from core.stats.debate_rounds import rounds
from core.stats.metrics import main_metric, metrics
from core.stats.scoring import score


@pytest.mark.parametrize(
    ("kind", "reference", "predicted", "cells"),
    [
        ("choice", [0, 0, 1, 1], [0, 1, 1, -1], ["4", "25%", "3", "0.667 (0.208 to 0.939)"]),
        ("rating", [[1], [2], [3], [4]], [[1], [2], [3], [4]], ["4", "25%", "4", "1.000"]),
        ("choice", [-1, -1, -1, -1], [0, 1, 1, -1], ["4", "25%", "0", "–"]),
    ],
)
def test_part_has_the_count_the_share_and_its_scores_with_intervals(
    kind: Kind, reference: list[int], predicted: list[int], cells: list[str]
) -> None:
    labels = ["A", "B"] if kind == "choice" else ["A"]
    part = DocumentSubset(4, 0.25, score(kind, reference, predicted, labels), ())
    shown = next(metric for metric in metrics(kind) if metric.key in ("accuracy", "macro_spearman"))
    assert [re.sub("<[^>]+>", "", cell) for cell in part_cells(part, [shown])] == cells


def test_part_without_documents_has_no_scores() -> None:
    assert part_cells(DocumentSubset(0, None, None, ()), [main_metric("choice")]) == ["0", "–", "0", "–"]


def test_agreement_of_judges_is_shown_by_part() -> None:
    def part(second: int):
        judges = {"judge_1": [[1], [1]], "judge_2": [[1], [second]]}
        return rounds([[1], [1]], [("Judges", judges)], vote=lambda grids: grids["judge_1"])

    rows = list(agreement_rows([part(0), part(1)], {"judge_1": "Judge 1"}))
    shown = [[re.sub("<[^>]+>", "", cell) for cell in row] for row in rows]
    assert [row[:2] for row in shown] == [["Judges", "with the majority"], ["Judges", "Judge 1 and judge_2"]]
    assert [[cell.split()[0] for cell in row[2:]] for row in shown] == [["75.0%", "100.0%"], ["50.0%", "100.0%"]]
