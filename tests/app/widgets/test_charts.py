"""Tests of the charts and their axes."""

from __future__ import annotations

import json
import re

import pytest


def test_chart_is_downloadable_as_svg():
    """Test the output of the SVG button with the installed converter."""
    alt = pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    import pandas as pd

    from app.widgets import charts, palette

    chart = alt.Chart(pd.DataFrame({"share": [0.5]})).mark_bar().encode(x="share:Q")
    spec = charts.styled(chart, 100)
    for dark in (True, False):
        drawn = charts.svg(spec, dark)
        assert drawn.startswith("<svg")
        assert palette.palette(dark)["bg"] in drawn  # light text on a white background would be illegible
        assert palette.palette(dark)["tx2"] in drawn
        assert "light-dark" not in drawn  # programs that show SVG do not support this CSS


SPAN = {"name": "A", "value": 0.1, "low": 0.0, "high": 0.2, "words": "0.1"}


CHARTS = {
    "forest": ([{**SPAN, "tone": "right"}], {"title": "T", "unit": "u"}),
    "lines": (
        [
            {"step": "1", "series": "vote", "value": 0.5, "low": 0.4, "high": 0.6},
            {"step": "1", "series": "all agree", "value": 0.7, "low": None, "high": None},
        ],
        {"series": {"vote": "bar", "all agree": "unres"}},
    ),
    "learning_curve": (
        [
            {"documents": 0, "score": 0.6, "low": 0.5, "high": 0.7},
            {"documents": 9, "score": 1.0, "low": None, "high": None},
        ],
        {"measure": "macro F1"},
    ),
    "reliability": ([{"certainty": 0.9, "right": 0.8, "low": 0.7, "high": 0.9, "n": 3}], {"certainty": "c"}),
    "bars": ([{**SPAN, "colour": "bar"}], {"title": "T", "unit": "u", "select": True}),
    "frontier": (
        [
            {
                "name": name,
                "cost": 1.0,
                "quality": 0.5,
                "low": low,
                "high": 0.6,
                "efficient": True,
                "group": 1,
                "words": "w",
            }
            for name, low in (("r1", 0.4), ("r2", None))
        ],
        {"unit": "usd", "quality": "q"},
    ),
    "scatter": (
        [
            {
                "name": name,
                "role": "judge",
                "title": "Judge",
                "run": "r1",
                "n": 3,
                **{
                    f"{score}{end}": value
                    for score in ("precision", "recall")
                    for end, value in (("", 0.5), ("_low", low), ("_high", 0.7))
                },
            }
            for name, low in (("a", 0.4), ("b", None))
        ],
        {},
    ),
    "consistency_bars": ([{"name": "A", "consistency": "right", "count": 2}], {}),
    "heat": (
        [{"row": "1", "column": "1", "count": 2, "share": 1.0, "words": "2"}],
        {"title": "T", "names": ["1"], "x_title": "x", "y_title": "y"},
    ),
}


SPECIFIED = {"lines", "learning_curve", "reliability", "scatter", "consistency_bars"}
"""Charts that only one page draws: their functions return the specification."""


def specification(monkeypatch, name, rows, options):
    """Return the specification of a chart."""
    from app.widgets import charts

    if name in SPECIFIED:
        return getattr(charts, name)(rows, **options)
    drawn = []
    monkeypatch.setattr(charts, "draw", lambda spec, rows, **_: drawn.append(spec) or {})
    getattr(charts, name)(rows, key="k", **options)
    return drawn[0]


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_can_be_drawn(monkeypatch, name):
    """Compile each chart with Vega-Lite, because an invalid chart is an empty area on the page."""
    pytest.importorskip("vl_convert")
    from app.widgets import charts

    assert charts.svg(specification(monkeypatch, name, *CHARTS[name]), True).startswith("<svg")


def test_axis_of_differences_ends_at_100_points(monkeypatch):
    row = {**SPAN, "value": 90.0, "high": 100.0, "tone": "right"}
    spec = json.dumps(specification(monkeypatch, "forest", [row], {"title": "T", "unit": "u"}))
    assert set(re.findall(r'"domain": (\[[^\]"]*\])', spec)) == {"[-100.0, 100.0]"}


@pytest.mark.parametrize("name", ["bars", "scatter", "lines"])
def test_axis_of_shares_ends_at_100_percent(monkeypatch, name):
    rows, options = CHARTS[name]
    shares = ("value", "high", "precision", "recall", "precision_high", "recall_high")
    perfect = [{**row, **{key: 1.0 for key in shares if key in row}} for row in rows]
    spec = json.dumps(specification(monkeypatch, name, perfect, options))
    ends = [float(end) for end in re.findall(r'"domain": \[[^\]"]*?, ([\d.]+)\]', spec)]
    assert set(ends) == {1.0}


def test_labels_of_nearby_points_do_not_overlap_in_the_chart(monkeypatch):
    """Four runs have nearly the same cost and quality; each name has its own height or side in the chart."""
    pytest.importorskip("vl_convert")
    from app.widgets import charts

    drawn = []
    monkeypatch.setattr(charts, "draw", lambda spec, rows, **_: drawn.append(charts.svg(spec, False)) or {})
    rows = [
        {
            "name": f"r000{n}",
            "cost": 1.0 + n / 1000,
            "quality": 0.5 + n / 1000,
            "low": None,
            "high": None,
            "efficient": False,
            "group": 1,
            "words": "w",
        }
        for n in range(4)
    ]
    charts.frontier(rows, key="k", unit="usd", quality="q")
    marks = re.findall(r'<text [^>]*text-anchor="(\w+)"[^>]*translate\(([^)]*)\)[^>]*>r000\d<', drawn[0])
    assert len(set(marks)) == 4
    assert all(float(place.partition(",")[0]) > 560 for _, place in marks), "short names leave their room to the plot"
    assert "full cost per verdict, $" in drawn[0]


def test_labels_of_an_axis_do_not_touch_in_a_narrow_panel(monkeypatch):
    spec = specification(monkeypatch, "bars", *CHARTS["bars"])
    assert spec["config"]["axis"]["labelSeparation"] >= 4  # pixels; Vega's default is 0


def test_consistency_has_the_right_share_beside_its_bars():
    from app.widgets import charts

    rows = [{"name": "A", "consistency": status, "count": count} for status, count in (("right", 3), ("wrong", 1))]
    assert {"name": "A", "words": "75% right"} in [
        row for data in charts.consistency_bars(rows)["datasets"].values() for row in data
    ]


def test_names_of_equal_points_share_a_line_to_them():
    from app.widgets import charts

    (row, _), options = CHARTS["scatter"]
    rows = [{**row, "name": name, "recall": recall} for name, recall in (("a", 0.5), ("b", 0.5), ("c", 0.6))]
    lines = [data for data in charts.scatter(rows, **options)["datasets"].values() if "last" in data[0]]
    assert [(len(data), data[1]["first"] > data[1]["last"]) for data in lines] == [(2, True)]


def test_names_of_columns_are_slanted_in_a_narrow_matrix_only(monkeypatch):
    rows, options = CHARTS["heat"]
    spec = json.dumps(specification(monkeypatch, "heat", rows, {**options, "names": ["A name", "Another"]}))
    assert '"labelAngle": {"expr": "width < 104.0 ? -40 : 0"}' in spec
    assert '"labelAlign": {"expr": "width < 104.0 ? \'left\' : \'center\'"}' in spec


def test_confusion_matrix_shows_counts_and_shares_and_marks_the_diagonal(monkeypatch):
    pytest.importorskip("vl_convert")
    from app.widgets import charts

    drawn = []
    monkeypatch.setattr(charts, "draw", lambda spec, rows, **_: drawn.append((rows, charts.svg(spec, False))) or {})
    charts.confusion_heatmap([[3, 1], [0, 4]], ["a", "b"], "gold", key="k", title="T")
    rows, picture = drawn[0]
    assert [row["words"] for row in rows] == ["3\n75%", "1\n25%", "", "4\n100%"]
    assert [row["marked"] for row in rows] == [True, False, False, True]
    assert ">75%<" in picture


def test_confusion_matrix_of_many_labels_shows_the_most_frequent_ones(monkeypatch):
    from app.widgets import charts

    notes, drawn = [], []
    monkeypatch.setattr(charts, "heat", lambda rows, names, **_: drawn.extend((rows, names)) or ("", ""))
    monkeypatch.setattr(charts.st, "caption", notes.append)
    count = charts.MAX_CONFUSED + 2
    matrix = [[0] * count for _ in range(count)]
    for position in range(2, count):
        matrix[position][position] = 1
    matrix[0][2] = 3
    matrix[2][1] = 1
    charts.confusion_heatmap(matrix, [f"l{n}" for n in range(count)], "gold", key="k", title="T")
    rows, names = drawn
    assert (len(names), len(rows)) == (charts.MAX_CONFUSED, charts.MAX_CONFUSED**2)
    assert names[:3] == ["l0", "l2", "l3"]
    assert notes == [f"The {charts.MAX_CONFUSED} most frequent of {count} are shown."]
    shares = {(row["row"], row["column"]): row["share"] for row in rows}
    assert (shares["l0", "l2"], shares["l2", "l2"]) == (1.0, 0.5), "of the whole row, also if a column is left out"


def test_chart_names_omit_shared_parts() -> None:
    from app.widgets import charts

    def shown(*names: str) -> list[str]:
        return [row["name"] for row in charts._short_names([{"name": name} for name in names])]

    assert shown("ECJ, lexical, seed 7", "Single, lexical") == ["ECJ, seed 7", "Single"]
    assert shown("ECJ, lexical", "Single, lexical (2)") == ["ECJ", "Single (2)"]
    assert shown("ECJ, lexical") == ["ECJ, lexical"]
    assert shown("ECJ, lexical (2)", "ECJ, lexical, seed 7") == ["ECJ (2)", "ECJ, seed 7"]


def test_axes_of_recall_and_precision_are_limited_to_the_points():
    from app.widgets import charts

    def domain(*recalls: float | None) -> tuple[float, float]:
        return charts._axis_domain([{"recall": recall} for recall in recalls], "recall")

    assert domain(0.8, None, 0.9) == pytest.approx((0.75, 0.95))
    assert domain(0.0, 1.0) == (0.0, 1.0)
    assert domain(-0.9, 0.5) == (-1.0, pytest.approx(0.85))  # correlations


def test_panel_groups_chart_can_be_drawn():
    pytest.importorskip("vl_convert")
    from app.screens.evaluate import debate_effect
    from app.widgets import charts
    from core.services.evaluation.coverage import Coverage
    from core.services.evaluation.panel_ablation import GroupScores, Styles
    from core.stats.intervals import Estimate, Interval

    known, unknown = Estimate(-0.25, Interval(-0.5, 0.125)), Estimate()
    styles = Styles(
        {"full": "r1", "simple": "r2"},
        Coverage(3, {}),
        (
            GroupScores("full", "Readers", {"alpha": unknown}, {"alpha": known}),
            GroupScores("simple", "Readers", {"alpha": known}, {"alpha": unknown}),
        ),
        {"Readers": {"alpha": known}},
        "said",
    )
    rows = [debate_effect._row(part, styles, "alpha") for part in styles.parts]
    assert [row["words"] for row in rows] == ["– → −0.25 (−0.50 to 0.12)", "−0.25 → –"]
    assert [row["gain"] for row in rows] == [-0.25, None]
    assert "Readers" in charts.svg(debate_effect._lanes(rows, "alpha"), False)


def test_names_in_the_flow_of_flips_are_broken_where_there_is_no_room_for_them():
    from app.screens.evaluate import flips
    from app.widgets import charts
    from core.stats.flips import flip_table

    name = "General public, round 2"
    for count, is_broken in ((2, False), (5, True)):
        roles = [str(number) for number in range(count)]
        result = flip_table([[1]], [(role, [[1]]) for role in roles], ["Price"])
        picture = charts.svg(flips._flow(result, dict.fromkeys(roles, name), 200), dark=False)
        assert (f">{name}<" in picture) is not is_broken
        assert (">round 2<" in picture) is is_broken


def test_texts_in_the_flow_of_flips_are_short_where_there_is_no_room_for_them():
    from app.screens.evaluate import flips
    from app.widgets import charts
    from core.stats.flips import flip_table

    for count, is_short in ((3, False), (9, True)):
        roles = [str(number) for number in range(count)]
        answers = [[[1], [1], [0], [0]], *[[[1], [0], [1], [1]]] * (count - 1)]
        result = flip_table([[1]] * 4, list(zip(roles, answers, strict=True)), ["Price"])
        picture = charts.svg(flips._flow(result, {}, 200), dark=False)
        for text in (">50.0% correct<", "15.0% to 85.0%", ">2 corrected<", ">1 regressed<", ">no changes<"):
            assert (text in picture) is not is_short, text
        for text in (">50.0%<", ">+2<", ">−1<"):
            assert (text in picture) is is_short, text


def test_texts_on_the_flow_of_flips_do_not_touch():
    from app.screens.evaluate import flips
    from core.stats.flips import flip_table

    before = [[1]] * 60 + [[0]] * 40
    after = [[1]] * 54 + [[0]] * 6 + [[1]] * 30 + [[0]] * 10  # 24 pixels below the first text, which is 24 above it
    result = flip_table([[1]] * 100, [("a", before), ("b", after)], ["Price"])
    _, texts = flips._flows(result, 1.0)
    high, low = (text["y"] for text in texts)
    assert low - high >= flips.LINE


def _chart_page() -> None:
    from app.widgets import charts

    charts.bars(
        [{"name": "A", "value": 0.1, "low": 0.0, "high": 0.2, "words": "", "colour": "bar"}],
        key="a b",
        title="",
        unit="u",
    )


def test_a_chart_has_its_height_before_it_is_drawn():
    from streamlit.testing.v1 import AppTest

    bodies = [
        element.proto.body for element in AppTest.from_function(_chart_page, default_timeout=20).run().get("html")
    ]
    assert re.search(r"has\(\+ \* > \.st-key-plotfoot-a-b\) \{ min-height: \d+px; \}", bodies[-1])
