"""Tests of the summaries of ambiguous and normal documents."""

from __future__ import annotations

import pytest

from app.screens.evaluate.stability import part_words


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"documents": 1, "share": 0.25, "scores": {"accuracy": 0.5, "macro": {"f1": None}}},
         "1 document (25%): accuracy 0.50"),
        ({"documents": 12, "share": 0.75, "scores": {"accuracy": 0.5, "macro": {"f1": 0.456}}},
         "12 documents (75%): accuracy 0.50, macro F1 0.46"),
        ({"documents": 3, "share": 1.0, "scores": {"macro": {"spearman": 0.8, "mae": 0.31}}},
         "3 documents (100%): Spearman 0.80, mean absolute error 0.31"),
        ({"documents": 12, "share": 0.75, "scores": {"n": 12, "accuracy": 0.5}}, "12 documents (75%): accuracy 0.50"),
        ({"documents": 12, "share": 0.75, "scores": {"n": 9, "accuracy": 0.5}},
         "12 documents (75%), 9 of them scored: accuracy 0.50"),
        ({"documents": 0, "share": None, "scores": None}, "0 documents"),
    ],
)  # fmt: skip
def test_summary_has_the_count_the_share_and_known_scores(part: dict[str, object], words: str) -> None:
    assert part_words(part) == words
