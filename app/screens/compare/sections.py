"""Runs side by side: what differs in words, in columns, per label, and for what cost."""

from __future__ import annotations

from html import escape
from typing import Any

import streamlit as st

from app.screens.evaluate.debate_effect import facts
from app.widgets import layout, plots
from core.services.evaluation.compare import Comparison, Pair
from core.services.evaluation.run_diff import Outcome
from core.stats.significance import McNemar

WORDS: dict[Outcome, str] = {
    "broken": "Broken",
    "mixed": "Mixed",
    "fixed": "Fixed",
    "wrong": "Still wrong",
    "right": "Still right",
}
NAMES = {
    "macro_f1": "Macro F1",
    "macro_precision": "Macro precision",
    "macro_recall": "Macro recall",
    "micro_f1": "Micro F1",
    "weighted_f1": "Weighted F1",
    "accuracy": "Accuracy",
    "subset_accuracy": "All labels right",
    "hamming_loss": "Hamming loss",
    "mcc": "Matthews",
    "kappa": "Cohen's kappa",
    "macro_spearman": "Mean Spearman",
    "macro_kendall": "Mean Kendall",
    "macro_mae": "Mean absolute error",
    "macro_alpha": "Mean alpha",
}


def sentences(found: Comparison) -> None:
    """What differs, in plain words."""
    said = [pair.sentence for pair in found.pairs]
    if found.several is not None:
        said.append(found.several.sentence())
    st.html(f'<div class="moot-told">{"".join(f"<span>{escape(words)}</span>" for words in said)}</div>')


def rows(found: Comparison) -> list[dict[str, Any]]:
    """Measures as rows, runs as columns."""
    names = [name for name in NAMES if any(column.scores.get(name) is not None for column in found.columns)]
    table: list[dict[str, Any]] = [
        {"measure": NAMES[name], **{column.run.run_id: column.scores.get(name) for column in found.columns}}
        for name in names
    ]
    further: dict[str, dict[str, float | None]] = {
        "documents": {column.run.run_id: float(column.n) for column in found.columns},
        "left out": {column.run.run_id: float(column.excluded) for column in found.columns},
        "$ a verdict": {column.run.run_id: column.usd_per_verdict for column in found.columns},
        "tokens a verdict": {column.run.run_id: column.tokens_per_verdict for column in found.columns},
        "seconds a verdict": {column.run.run_id: column.seconds_per_verdict for column in found.columns},
    }
    table += [{"measure": words, **values} for words, values in further.items()]
    return table


def columns(found: Comparison) -> None:
    """The table of measures, with what the first of the others differs by."""
    import pandas as pd

    with layout.panel("Side by side", "each run on its own documents with truth", key="compare-columns"):
        shown = [
            {"measure": row["measure"], **{id: _figure(row["measure"], row[id]) for id in row if id != "measure"}}
            for row in rows(found)
        ]
        st.dataframe(
            pd.DataFrame(shown),
            hide_index=True,
            key="compare-table",
            height="content",
            column_config={
                id: st.column_config.TextColumn(id, alignment="right") for id in shown[0] if id != "measure"
            },
        )


def cost(found: Comparison, on: str) -> None:
    """Cost against quality; ``on`` says how many documents each run has."""
    unit = found.columns[0].unit
    measure = "mean Spearman" if "macro_spearman" in found.columns[0].scores else "macro F1"
    sub = "green: no other is as good for less"
    with layout.panel("Cost against quality", sub, counted=on, key="compare-cost"):
        plots.frontier(
            [
                {
                    "name": column.run.run_id,
                    "cost": column.usd_per_verdict if unit == "usd" else column.tokens_per_verdict,
                    "quality": column.main,
                    "efficient": column.efficient,
                    "words": column.run.settings.protocol,
                }
                for column in found.columns
            ],
            key="compare-frontier",
            cost="$ a verdict" if unit == "usd" else "tokens a verdict",
            quality=measure,
        )


def labels(pair: Pair, kind: str, on: str) -> str:
    """Differences per label with their intervals; gives the label that was clicked; ``on`` counts documents."""
    measure = "share within a point" if kind == "rating" else "F1"
    drawn = []
    for test in pair.labels:
        value, interval = test.f1.value, test.f1.interval
        if value is None:
            continue
        tone = "" if not test.f1.clear else "right" if value > 0 else "wrong"
        drawn.append(
            {
                "name": test.name,
                "value": value,
                "low": interval.low if interval else value,
                "high": interval.high if interval else value,
                "words": f"{_points(value)}{_stars(test.adjusted)}",
                "tone": tone,
            }
        )
    title = f"{pair.second} against {pair.first}"
    sub = f"difference in {measure}, 95% interval"
    with layout.panel(title, sub, note="click a label", counted=on, key="compare-labels"):
        if not drawn:
            st.caption("No label is present in the truth of the shared documents.")
            return ""
        picked = plots.forest(drawn, key=f"compare-forest-{pair.second}", unit=f"difference in {measure}", select=True)
        st.caption("An asterisk: p under 0.05 by McNemar's test, after Holm's correction over the labels.")
        return picked


def tests(pair: Pair) -> None:
    """What the tests say of the whole runs."""
    gained, lost = pair.documents.only_second, pair.documents.only_first
    found = [
        ("Shared documents with truth", f"{pair.n:,}" + (f", {pair.excluded:,} left out" if pair.excluded else "")),
        ("Wholly right with one alone", f"{gained:,} gained, {lost:,} lost"),
        ("McNemar's test on documents", mcnemar_words(pair.documents)),
    ]
    if pair.discordance.odds_ratio is not None:
        found.append(("Gained for each one lost", f"{pair.discordance.odds_ratio:.2f}"))
    over = [test.sentence().rstrip(".") for test in (pair.paired, pair.welch) if test is not None]
    found += [("Over iterations, in points", words) for words in over]
    if pair.size is not None:
        found.append(("Hedges' g over iterations", f"{pair.size:.2f}"))
    with layout.panel("How sure", "", key="compare-tests"):
        facts(found)
        if pair.welch is not None:
            st.caption("Nothing ties an iteration to one of another run: where the t-tests differ, trust Welch's.")
        else:
            st.caption("With two or more iterations of each, t-tests over them are shown too.")


def mcnemar_words(test: McNemar) -> str:
    """The test in words."""
    if test.p is None:
        return "no document to compare"
    p = "p < 0.001" if test.p < 0.001 else f"p = {test.p:.3f}"
    how = "exact" if test.exact else f"χ² = {test.statistic:.2f}"
    verdict = f"a significant {test.direction}" if test.significant() else "not significant"
    return f"{p} ({how}): {verdict}"


def _figure(measure: str, value: float | None) -> str:
    if value is None:
        return "–"
    if measure in ("documents", "left out", "tokens a verdict"):
        return f"{value:,.0f}"
    if measure == "$ a verdict":
        return f"{value:.4f}" if value else "free"
    return f"{value:.2f}" if measure == "seconds a verdict" else f"{value:.3f}"


def _points(value: float) -> str:
    shown = f"{100 * abs(value):.1f}"
    return shown if float(shown) == 0 else f"{'+' if value > 0 else '−'}{shown}"


def _stars(p: float | None) -> str:
    return " *" if p is not None and p < 0.05 else ""
