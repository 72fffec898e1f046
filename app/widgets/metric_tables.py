"""Scores: metrics with their intervals side by side, and tables of all metrics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import streamlit as st
from markupsafe import Markup, escape

from app.widgets import elements, layout
from core.codebook import label_noun
from core.formatting import MISSING, format_number, format_percent, join_names
from core.stats.intervals import Estimate, Interval, format_interval
from core.stats.metric_intervals import MIN_CORRELATED_UNITS
from core.stats.metrics import Metric, metrics
from core.stats.scoring import Scores


@dataclass(frozen=True, slots=True)
class DisplayedMetric:
    """A metric: a share from 0 to 1 with its interval on a bar, or plain ``text`` without a bar.

    ``notes`` are lines below it, escaped unless they are Markup.
    """

    name: str
    share: Estimate = Estimate()
    text: str | None = None
    notes: tuple[str, ...] = ()


def metric_strip(metrics: Iterable[DisplayedMetric]) -> None:
    st.html(f'<div class="moot-metrics" role="list">{"".join(map(_metric_html, metrics))}</div>')


def _metric_html(metric: DisplayedMetric) -> str:
    value, bar = metric.text, ""
    if value is None:
        value = format_number(metric.share.value)
        bar = bar_html(interval_html(metric.share.interval), mark_html(metric.share.value))
    notes = "".join(f"<div>{escape(note)}</div>" for note in metric.notes)
    return f'<div role="listitem"><i>{escape(metric.name)}</i><strong>{escape(value)}</strong>{bar}{notes}</div>'


def strong(text: str, tone: str) -> Markup:
    """Return a text in bold, in the colour of a tone (right, wrong, unres), for the notes of a metric."""
    return Markup('<b class="{}">{}</b>').format(tone, text)


def bar_html(*parts: str) -> str:
    """Return a bar from 0 to 1 with intervals and marks as HTML."""
    return f'<div class="moot-bar" aria-hidden="true">{"".join(parts)}</div>'


def interval_html(interval: Interval | None, css: str = "") -> str:
    """Return an interval on a bar, empty for None. ``css`` is a further class."""
    if interval is None:
        return ""
    return f'<b class="{css}" style="left:{interval.low:.2%};width:{interval.high - interval.low:.2%}"></b>'


def mark_html(value: float | None, css: str = "") -> str:
    """Return the mark of a value on a bar, empty for None. ``css`` is a further class."""
    return "" if value is None else f'<u class="{css}" style="left:{value:.2%}"></u>'


def estimate_data(estimate: Estimate | None, value: str = "value", prefix: str = "") -> dict[str, float | None]:
    """Return an estimate for charts and components: its ``value``, and ``low`` and ``high``, which get the prefix.

    Each is None if undefined.
    """
    interval = estimate.interval if estimate else None
    return {
        value: estimate.value if estimate else None,
        f"{prefix}low": interval.low if interval else None,
        f"{prefix}high": interval.high if interval else None,
    }


def score_metric(metric: Metric, estimate: Estimate, note: str) -> DisplayedMetric:
    """Return a score as a metric: a share on a bar if the score has an interval, else text."""
    notes = tuple(filter(None, (note, format_interval(estimate.shown_interval, named=not note))))
    if metric.interval is None or metric.kinds == ("rating",):
        return DisplayedMetric(metric.name, text=format_number(estimate.value), notes=notes)
    return DisplayedMetric(metric.name, estimate, notes=(", ".join(notes),))


AGREEMENT = ("kappa", "ac1", "alpha")


def agreement(scores: Scores, reference: str, counted: str, *, key: str) -> None:
    """Draw the chance-corrected agreement of verdicts and reference with intervals, per label and over all labels.

    For several labels per document there is no value over all labels.
    """
    names, cells = scores.table(estimate_html, lambda metric: metric.key in AGREEMENT)
    rows = [[name, *row] for name, row in cells.items()]
    if overall := [metric.key for metric in metrics(scores.kind) if metric.key in AGREEMENT]:
        rows.append(["All labels", *(estimate_html(scores[name]) for name in overall)])
    with layout.panel("Agreement", f"of verdict and {reference}, corrected for chance", counted=counted, key=key):
        elements.table(["Label", *names], rows)
        for reason in undefined_agreement(scores, reference):
            elements.line(reason)


def undefined_agreement(scores: Scores, reference: str) -> list[str]:
    """Return the reasons why labels lack chance-corrected agreement; empty if none does."""
    undefined = [name for name, label in scores.labels.items() if any(label[key].value is None for key in AGREEMENT)]
    unknown = [name for name in undefined if not scores.labels[name].n]
    counts = {name: scores.counts[name] for name in undefined if name not in unknown}
    same = [
        name
        for name, label_counts in counts.items()
        if not label_counts.fp + label_counts.fn and not (label_counts.tp and label_counts.tn)
    ]
    few = f"fewer than {MIN_CORRELATED_UNITS} of the sampled documents have the label"
    reasons = (
        (unknown, f"undefined ({MISSING}), without {reference}"),
        (same, f"undefined ({MISSING}), because all verdicts and all of {reference} are the same"),
        ([name for name in counts if name not in same], f"not estimated ({MISSING}), because {few}"),
    )
    return [f"{join_names(names)}: {reason}." for names, reason in reasons if names]


def dimension_table(scores: Scores, units: int) -> None:
    """Draw all scores of each dimension of a rating, with intervals over so many independent documents or groups."""
    names, rows = scores.table(estimate_html)
    elements.table(["Dimension", *names], [[name, *cells] for name, cells in rows.items()])
    if min([units, *(of_dimension.n for of_dimension in scores.labels.values())]) < MIN_CORRELATED_UNITS:
        elements.line(f"Correlations of fewer than {MIN_CORRELATED_UNITS} documents or groups have no interval.", "q")


def score_tables(scores: Scores) -> None:
    """Draw all metrics, per label and over all labels, in an expander."""
    with st.expander("All metrics", key="evaluate-tables"):
        names, cells = scores.table(estimate_html)
        rows = [[name, f"{scores.labels[name].n:,}", *row] for name, row in cells.items()]
        elements.table([label_noun(scores.kind).capitalize(), "n", *names], rows, wide="All metrics by label")
        overall = [[metric.name, estimate_html(scores[metric.key])] for metric in metrics(scores.kind)]
        with st.container(width=420):
            elements.table(["Metric", "Value"], overall)


def estimate_html(estimate: Estimate, digits: int = 3) -> Markup:
    """Return a number with its interval, which stays on one line, as HTML."""
    return with_interval(format_number(estimate.value, digits), format_interval(estimate.shown_interval, digits=digits))


def share_html(estimate: Estimate, digits: int = 1) -> Markup:
    """Return a share in percent and its interval as HTML, as ``estimate_html``."""
    interval = format_interval(estimate.shown_interval, "percent", digits=digits)
    return with_interval(format_percent(estimate.value, digits), interval)


def with_interval(value: str, interval: str) -> Markup:
    """Return a value and its interval in brackets as HTML; the interval stays on one line and may be empty."""
    shown = escape(value)
    return shown + Markup(' <span class="moot-interval">({})</span>').format(interval) if interval else shown
