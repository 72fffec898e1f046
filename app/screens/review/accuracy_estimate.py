"""Accuracy estimate: one sentence below the review, and a dialog with details."""

from __future__ import annotations

from html import escape

import streamlit as st

from app.widgets.labels import swatch_html
from app.widgets.metrics import Metric, MetricNote, interval_words, metric_strip
from core.codebook import Kind
from core.formatting import format_count, format_interval, format_percent, format_signed
from core.services.classifier import ClassifierStatus
from core.services.review.accuracy_estimate import TARGET_WIDTH, AccuracyEstimate, LabelEstimate
from core.stats.intervals import Estimate


def sentence(found: AccuracyEstimate) -> str:
    """Return the accuracy estimate and the next step as one sentence in HTML."""
    if not found.documents:
        return "No document has a verdict for every label yet."
    if not found.known:
        return _not_yet(found)
    right, interval = found.right.value or 0.0, found.right.interval
    assert interval is not None
    correct = f"<b>{format_percent(right, 1)}</b> of labels are correct"
    if found.reviewed == found.documents:
        return f"All {found.documents:,} documents are reviewed: {correct}."
    span = format_interval(interval.low, interval.high, style="percent", digits=1, level=interval.level)
    return f"Estimated accuracy: {correct}, {span}. {_more(found)}"


def line(found: AccuracyEstimate) -> None:
    """Draw the sentence."""
    st.html(f'<div class="moot-remark" role="status">{sentence(found)}</div>')


def details(found: AccuracyEstimate, kind: Kind) -> None:
    """Draw the estimates over all documents, and those of each label by method."""
    metric_strip(_figures(found), key="proof-numbers")
    if not found.known:
        st.html(f'<div class="moot-remark">{sentence(found)}</div>')
        return
    what = "mean rating" if kind == "rating" else "share of documents"
    head = "".join(
        f"<th>{name}</th>"
        for name in ("", f"Verdicts, {what}", "Reviewed documents only", "Combined estimate", "", "F1")
        if name != "F1" or kind != "rating"
    )
    rows = "".join(_row(label, kind) for label in found.labels)
    st.html(f'<table class="moot-estimate"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>')
    st.html(
        '<div class="moot-remark q">The mark is the estimate for all documents, the strong bar its 95% interval '
        "by prediction-powered inference, the faint bar that of the reviewed documents only, and the circle the "
        "verdicts. Each document is weighted by its selection probability. Documents that you picked by hand count for "
        "themselves only.</div>"
    )


def classifier_status(found: ClassifierStatus) -> None:
    """Draw the status of the classifier."""
    if not found.ready:
        words = (
            "The first training is running."
            if found.is_training
            else f"Submit {format_count(found.missing, 'more document')} to train it."
            if found.missing
            else "Not trained yet."
        )
    else:
        score = "not available" if found.score.value is None else f"{found.score.value:.3f}"
        span = f", 95% interval {interval_words(found.score)}" if found.score.interval else ""
        words = (
            f"Trained on {found.documents:,} documents with codebook version {found.version}. Cross-validated "
            f"{escape(found.measure)} {score}{span}, on {found.tested:,} of them. "
            f"Reviewed documents are harder than most.{_gain(found)}"
            f"{' Training on your latest decisions.' if found.is_training else ''}"
        )
    error = f'<div class="moot-remark"><span class="bad">{escape(found.error)}</span></div>' if found.error else ""
    st.html(f'<div class="moot-remark">{words}</div>{error}')


def _gain(found: ClassifierStatus) -> str:
    """Return a sentence about the effect of more training documents, empty without an estimate."""
    interval = found.gain.interval
    if found.gain.value is None or interval is None:
        return ""
    if interval.low > 0:
        advice = "More review is likely to improve it."
    else:
        advice = "It is not certain that more review improves it."
    return (
        f" Training on all of these documents instead of half of them changes it by {format_signed(found.gain.value)} "
        f"({interval_words(found.gain, named=True)}). {advice}"
    )


def _figures(found: AccuracyEstimate) -> list[Metric]:
    drawn = format_count(found.drawn, "random draw")
    lent = [MetricNote("used as examples", f"{found.examples:,}", "unres")] if found.examples else []
    figures = [Metric("Labels correct", found.right, lines=(MetricNote(interval_words(found.right, named=True)),))]
    if found.f1.value is not None:
        figures.append(Metric("Macro F1", found.f1, lines=(MetricNote(interval_words(found.f1)),)))
    figures.append(
        Metric("Reviewed", text=f"{found.reviewed:,}", lines=(MetricNote(f"of {found.documents:,}, {drawn}"), *lent))
    )
    return figures


def _not_yet(found: AccuracyEstimate) -> str:
    if not found.missing:
        return "The reviewed documents give no interval for the accuracy yet. Review more of the queue."
    count = format_count(found.missing, "more document")
    return f"Review {count} of the queue in its order to estimate the accuracy on all {found.documents:,} documents."


def _more(found: AccuracyEstimate) -> str:
    points = f"±{TARGET_WIDTH * 50:g} points"
    more = found.more()
    return f"Review about {more:,} more for {points}." if more else f"That is {points} or better."


def _row(label: LabelEstimate, kind: Kind) -> str:
    f1 = "" if kind == "rating" else f"<td>{_words(label.f1, 0, 1, kind)}</td>"
    low, high = label.scale.min, label.scale.max
    return (
        f"<tr><td>{swatch_html(label.colour)}{escape(label.name)}</td>"
        f"<td>{_one(label.naive, low, high, kind)}</td>"
        f"<td>{_words(label.sampled, low, high, kind)}</td><td><b>{_words(label.powered, low, high, kind)}</b></td>"
        f"<td>{_bar(label)}</td>{f1}</tr>"
    )


def _bar(label: LabelEstimate) -> str:
    """Return the bar of both intervals and the verdicts as HTML, from 0 to 1 (ratings: along the scale)."""
    parts = [_span(label.sampled, "wide"), _span(label.powered, "")]
    if label.powered.value is not None:
        parts.append(f'<u style="left:{label.powered.value:.2%}"></u>')
    parts.append(f'<u class="naive" style="left:{label.naive:.2%}"></u>')
    return f'<div class="moot-bar" aria-hidden="true">{"".join(parts)}</div>'


def _span(estimate: Estimate, name: str) -> str:
    interval = estimate.interval
    if interval is None:
        return ""
    return f'<b class="{name}" style="left:{interval.low:.2%};width:{interval.high - interval.low:.2%}"></b>'


def _one(value: float, low: int, high: int, kind: Kind) -> str:
    return f"{low + value * (high - low):.2f}" if kind == "rating" else format_percent(value, 1)


def _words(estimate: Estimate, low: int, high: int, kind: Kind) -> str:
    if estimate.value is None:
        return "–"
    words = _one(estimate.value, low, high, kind)
    interval = estimate.interval
    if interval is None:
        return words
    if kind == "rating":
        span = format_interval(*(low + end * (high - low) for end in (interval.low, interval.high)), digits=2)
    else:
        span = format_interval(interval.low, interval.high, style="percent", digits=1)
    return f"{words} <small>{span}</small>"
