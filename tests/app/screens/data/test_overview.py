"""Tests of the gold chart: one bar per label for any number of raters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.screens.data import overview
from app.widgets import charts
from core.services.data.overview import GoldCount


def bars(raters: int, labels: int = 2) -> list[GoldCount]:
    return [
        GoldCount(f"L{label}", label % 8 + 1, f"r{rater}", "", 10 * (rater + 1), 100)
        for label in range(labels)
        for rater in range(raters)
    ]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list:
    calls: list = []
    monkeypatch.setattr(charts, "draw", lambda spec, rows, **_: calls.append((spec, rows)))
    return calls


def test_gold_chart_has_one_row_per_label(drawn):
    for raters in (1, 2, 9):
        overview.gold_chart(bars(raters))
    assert len({spec["height"] for spec, _ in drawn}) == 1
    assert [len(rows) for _, rows in drawn] == [2, 4, 18], "the CSV has one row per rater"
    assert [len(spec["layer"]) for spec, _ in drawn] == [2, 3, 3], "each rater has marks"


def test_bar_is_the_mean_share_of_the_raters():
    rows = [{"name": "L0", "share": share} for share in (0.1, 0.2, 0.6)] + [{"name": "L1", "share": 0.9}]
    mean = overview.rater_mean("L0", rows)
    assert mean["end"] == pytest.approx(0.3)
    assert mean["words"] == "30%, 10% to 60%"
    assert overview.rater_mean("L1", rows)["words"] == "90%"
    rows = [{"name": "L2", "share": 0.0}] * 2
    assert overview.rater_mean("L2", rows)["words"] == "0%", "raters who agree have no range"


def test_many_labels_get_narrower_rows(drawn):
    overview.gold_chart(bars(1, labels=40))
    assert drawn[0][0]["height"] < 40 * 20


def test_chart_shows_the_most_frequent_of_very_many_labels(drawn):
    many = [replace(bar, count=number, total=100) for number, bar in enumerate(bars(1, labels=100))]
    overview.gold_chart(many)
    ((spec, rows),) = drawn
    assert len(rows) == 100, "the CSV has all labels"
    assert spec["height"] < 40 * 20
    assert spec["layer"][0]["encoding"]["y"]["sort"][0] == "L60"
