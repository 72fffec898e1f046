"""Accuracy estimate of the review: one sentence, and the table of all labels."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import streamlit as st
from markupsafe import Markup

from app.widgets.elements import remark
from app.widgets.labels import swatch_html
from app.widgets.metric_tables import DisplayedMetric, bar_html, interval_html, mark_html, metric_strip, strong
from core.codebook import Kind
from core.formatting import MISSING, format_count, format_number, format_percent
from core.services.review import review_plan
from core.services.review.accuracy_estimate import TARGET_WIDTH, AccuracyEstimate, LabelEstimate
from core.stats.intervals import Estimate, format_interval


def accuracy_sentence(estimate: AccuracyEstimate, kind: Kind) -> str:
    """Return the accuracy estimate and the next step as one sentence, with Markup."""
    if not estimate.present:
        return "The documents of this run were replaced. Start a run on the new ones."
    if not estimate.documents and estimate.learned_from:
        return "All documents with a verdict were used as examples or for training. Review others."
    if not estimate.documents:
        return "No document has a verdict for every label yet."
    if estimate.discarded == estimate.documents:
        return "All documents with a verdict are discarded."
    correct = Markup("<b>{}</b> of {} are correct").format(
        format_percent(estimate.right.value, 1), review_plan.values_noun(kind)
    )
    shaped = f" {estimate.caveat}." if estimate.caveat else ""
    if estimate.complete:
        words = Markup("All {:,} documents with a verdict are reviewed: {}.{}")
        return words.format(estimate.documents, correct, shaped)
    left_out = ""
    if estimate.undecided:
        left_out = f" Not counted: {format_count(estimate.undecided, 'document')} without a decision on every label."
    if not estimate.has_interval and not estimate.missing:
        return "The reviewed documents give no interval for the accuracy yet. Review more of the queue." + left_out
    if not estimate.has_interval:
        count = format_count(estimate.missing, "more document")
        return (
            f"Submit {count} in the order of the queue for a first estimate of the accuracy on all "
            f"{estimate.documents:,} documents with a verdict.{left_out}"
        )
    span = format_interval(estimate.right.interval, "percent", digits=1, named=True)
    width = f"{TARGET_WIDTH * 100:g} points"
    more = estimate.needed_reviews()
    next_step = f"Review about {more:,} more for a width of {width}." if more else f"Its width is at most {width}."
    return Markup("Estimated accuracy: {}, {}.{} {}{}").format(correct, span, shaped, next_step, left_out)


def accuracy_details(estimate: AccuracyEstimate, kind: Kind) -> None:
    """Draw the estimates over all documents, and those of each label by method."""
    metric_strip(_metrics(estimate, kind))
    if not estimate.has_interval:
        remark(accuracy_sentence(estimate, kind))
        return
    measure = "mean rating" if kind == "rating" else "share of documents"
    heads = ["", f"Verdicts, {measure}", "Reviewed documents only", "Combined estimate", ""]
    head = "".join(f"<th>{name}</th>" for name in (heads if kind == "rating" else [*heads, "F1"]))
    rows = "".join(_estimate_row(label, kind) for label in estimate.labels)
    st.html(f'<table class="moot-estimate"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>')
    if estimate.complete:
        remark("All documents with a verdict are reviewed, so the estimates are exact.", "q")
        return
    remark(
        "The mark is the estimate for all documents, the strong bar its 95% interval by prediction-powered inference, "
        "the faint bar that of the reviewed documents only, and the circle the verdicts. Each document is weighted by "
        "its selection probability. Documents that you picked by hand count for themselves only.",
        "q",
    )


def _metrics(estimate: AccuracyEstimate, kind: Kind) -> list[DisplayedMetric]:
    drawn = format_count(estimate.drawn, "random draw")
    reviewed = [f"of {estimate.documents:,}, {drawn}"]
    if estimate.discarded:
        reviewed.append(f"{estimate.discarded:,} discarded: the estimates are for the documents that you would keep")
    if estimate.learned_from:
        reviewed.append(strong(f"{estimate.learned_from:,}", "unres") + " used as examples or for training")
    if estimate.caveat:
        reviewed.append(estimate.caveat)
    right, f1 = format_interval(estimate.right.interval, named=True), format_interval(estimate.f1.interval)
    if estimate.complete:
        right = f1 = "exact"
    return [
        DisplayedMetric(f"{review_plan.values_noun(kind).capitalize()} correct", estimate.right, notes=(right,)),
        *([DisplayedMetric("Macro F1", estimate.f1, notes=(f1,))] if estimate.f1.value is not None else []),
        DisplayedMetric("Reviewed", text=f"{estimate.reviewed:,}", notes=tuple(reviewed)),
    ]


def _estimate_row(label: LabelEstimate, kind: Kind) -> str:
    def text(value: float) -> str:
        low, high = label.scale.min, label.scale.max
        return format_number(low + value * (high - low), 2) if kind == "rating" else format_percent(value, 1)

    bar = bar_html(  # from 0 to 1; along the scale for ratings
        interval_html(label.sampled.interval, "wide"),
        interval_html(label.powered.interval),
        mark_html(label.powered.value),
        mark_html(label.naive, "naive"),
    )
    return (
        f"<tr><td>{swatch_html(label.colour)}{escape(label.name)}</td><td>{text(label.naive)}</td>"
        f"<td>{_estimate_html(label.sampled, text)}</td><td><b>{_estimate_html(label.powered, text)}</b></td>"
        f"<td>{bar}</td>{'' if kind == 'rating' else f'<td>{_estimate_html(label.f1, format_number)}</td>'}</tr>"
    )


def _estimate_html(estimate: Estimate, text: Callable[[float], str]) -> str:
    """Return a value and its interval; without the interval if that has no width."""
    interval = estimate.interval
    if estimate.value is None:
        return MISSING
    if interval is None or interval.low == interval.high:
        return text(estimate.value)
    return f"{text(estimate.value)} <small>{text(interval.low)} to {text(interval.high)}</small>"
