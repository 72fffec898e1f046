"""Sections of Compare: sentences, table of metrics, differences per label, and cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from app.widgets import charts, layout
from app.widgets.common import facts, line, sentences, table
from core.formatting import MISSING, format_number, format_p_value, format_percent, format_points, format_price
from core.runs import RunRow
from core.services.evaluation.compare import MIN_POSITIVES, Column, Comparison, Outcome, Pair
from core.services.runs.configuration import differences
from core.stats.metrics import main_metric, metrics
from core.stats.significance import McNemar

WORDS: dict[Outcome, str] = {
    "regressed": "Regressed",
    "mixed": "Both",
    "corrected": "Corrected",
    "wrong": "Still wrong",
    "right": "Still right",
}


def _unresolved(run: RunRow) -> float | None:
    """Return the share of a run's ended debates without a verdict, None before one has ended."""
    return (run.unresolved + run.failed) / run.ended if run.ended else None


OWN: dict[str, tuple[Callable[[Column], float | None], Callable[[float | None], str]]] = {
    "documents": (lambda column: column.scores.n, lambda value: f"{value or 0:,.0f}"),
    "unresolved, of the whole run": (lambda column: _unresolved(column.run), format_percent),
    "cost per document": (lambda column: column.cost["usd_per_document"], format_price),
    "tokens per document": (
        lambda column: column.cost["tokens_per_document"],
        lambda value: MISSING if value is None else f"{value:,.0f}",
    ),
    "seconds per document": (
        lambda column: column.cost["seconds_per_document"],
        lambda value: format_number(value, 2),
    ),
}
"""Rows of the table below the metrics: the value of a run, and the value as text."""


def summary(found: Comparison) -> None:
    """Show the differences between the runs as sentences."""
    lines = [pair.sentence for pair in found.pairs]
    lines += [f"{pair.second}: {pair.equivalence.sentence}" for pair in found.pairs if pair.equivalence is not None]
    if found.several is not None:
        lines.append(found.several.sentence())
    sentences(*lines)


def rows(found: Comparison) -> list[dict[str, Any]]:
    """Return the table: metrics as rows, runs as columns."""
    columns = {column.run.run_id: column for column in found.columns}
    kind = found.columns[0].scores.kind
    lines: list[dict[str, Any]] = [
        {"metric": metric.name, **{id: column.scores[metric.key].value for id, column in columns.items()}}
        for metric in metrics(kind)
        if any(column.scores[metric.key].value is not None for column in columns.values())
    ]
    return lines + [
        {"metric": name, **{id: value(column) for id, column in columns.items()}} for name, (value, _) in OWN.items()
    ]


def columns(found: Comparison) -> None:
    """Draw the table of metrics."""
    formats: dict[str, Callable[[float | None], str]] = {name: form for name, (_, form) in OWN.items()}
    formats |= {metric.name: metric.format for metric in metrics(found.columns[0].scores.kind)}
    with layout.panel("Scores", "on the same documents for every run", key="compare-columns"):
        shown = [
            [name[:1].upper() + name[1:], *(formats[name](row[column.run.run_id]) for column in found.columns)]
            for row in rows(found)
            for name in (row["metric"],)
        ]
        table(["Metric", *(column.run.title for column in found.columns)], shown)


def cost(found: Comparison, on: str) -> None:
    """Draw cost and quality; ``on`` describes the counted documents of each run."""
    unit = found.columns[0].unit
    sub = "green: no other run is as good at a lower cost"
    with layout.panel("Cost and quality", sub, counted=on, key="compare-cost"):
        charts.frontier(
            [
                {
                    "name": column.run.title,
                    "cost": column.cost[f"{unit}_per_document"],
                    "quality": column.scores.main.value,
                    "efficient": column.efficient,
                    "words": column.run.settings.protocol,
                }
                for column in found.columns
            ],
            key="compare-frontier",
            cost="$ per document" if unit == "usd" else "tokens per document",
            quality=main_metric(found.columns[0].scores.kind).name,
        )


def settings(runs: Sequence[RunRow]) -> None:
    """Draw the settings in which the runs differ."""
    with layout.panel("Settings that differ", key="compare-settings"):
        differs = differences(runs)
        facts([(heading, " → ".join(values)) for heading, values in differs.items()])
        if not differs:
            line("These runs have the same configuration.")


def labels(pair: Pair, kind: str, on: str, title: str) -> str:
    """Draw differences per label with intervals and return the clicked label; ``on`` describes the documents."""
    measure = "share within a point" if kind == "rating" else "F1"
    drawn = []
    for test in pair.labels:
        value, interval = test.difference.value, test.difference.interval
        if value is None:
            continue
        drawn.append(
            {
                "name": test.name,
                "value": value,
                "low": interval.low if interval else value,
                "high": interval.high if interval else value,
                "words": f"{format_points(value)}{'' if test.verdict in ('none', 'unknown') else ' *'}",
                "tone": {"better": "right", "worse": "wrong"}.get(test.verdict, ""),
            }
        )
    sub = f"difference in {measure}, 95% interval"
    with layout.panel(title, sub, note="click a label", counted=on, key="compare-labels"):
        if not drawn:
            st.caption("No label is present in the reference of the shared documents.")
            return ""
        picked = charts.forest(drawn, key=f"compare-forest-{pair.second}", unit=f"difference in {measure}")
        st.caption(
            "An asterisk and a colour: the interval excludes 0 and McNemar's test is significant after Holm's "
            f"correction over the labels. Labels with fewer than {MIN_POSITIVES} positives have neither."
        )
        return picked


def tests(pair: Pair) -> None:
    """Draw the significance tests of whole runs."""
    gained, lost = pair.documents.only_second, pair.documents.only_first
    found = [
        (
            "Shared documents with a reference",
            f"{pair.n:,}" + (f", {pair.excluded:,} left out" if pair.excluded else ""),
        ),
        ("Exact matches of one run only", f"{gained:,} gained, {lost:,} lost"),
        ("McNemar's test on documents", mcnemar_words(pair.documents)),
        (
            "Permutation test of the main score",
            format_p_value(pair.main.adjusted) if pair.main.p is not None else MISSING,
        ),
    ]
    if pair.documents.groups is not None:
        found.append(("Independent groups", f"{pair.documents.groups:,}"))
    if pair.equivalence is not None:
        found.append(("Equivalence", pair.equivalence.sentence))
    if pair.discordance.odds_ratio is not None:
        found.append(("Odds ratio, gained to lost documents", f"{pair.discordance.odds_ratio:.2f}"))
    over = [test.sentence().rstrip(".") for test in (pair.paired, pair.welch) if test is not None]
    found += [("Over iterations, in points", words) for words in over]
    if pair.size is not None:
        found.append(("Hedges' g over iterations", format_number(pair.size, 2)))
    with layout.panel("Significance", "", key="compare-tests"):
        facts(found)
        if pair.welch is not None:
            st.caption("Iterations of different runs are independent: if the t-tests differ, use Welch's.")
        else:
            st.caption("Runs with two or more iterations also have t-tests over iterations.")


def mcnemar_words(test: McNemar) -> str:
    """Return the result of McNemar's test as text."""
    if test.p is None:
        return "no document to compare"
    how = "exact" if test.exact else f"χ² = {test.statistic:.2f}"
    verdict = f"a significant {test.direction}" if test.significant() else "not significant"
    return f"{format_p_value(test.p)} ({how}): {verdict}"
