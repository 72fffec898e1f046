"""Agreement view of Review: agreement between reviewers, and adjudication of disagreements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from itertools import groupby
from operator import attrgetter
from typing import Literal

import streamlit as st
from markupsafe import Markup

from app.components import component
from app.widgets import layout
from app.widgets.elements import button, line, literal, page_number, pagination, segments, table
from app.widgets.labels import label_data, select_label
from core.codebook import Codebook
from core.documents import Value
from core.formatting import MISSING, format_count, format_percent, join_names
from core.runs import RunRow
from core.services.evaluation import latent_truth
from core.services.project_session import ProjectSession
from core.services.review import actions
from core.services.review.agreement import (
    AgreementReport,
    Disagreement,
    adjudicate,
    agreement_report,
    rater_agreement,
    rater_quality,
)
from core.stats.intervals import FEW_DOCUMENTS, Estimate, format_estimate, format_interval

_HIGHLIGHTED_TEXT = component("highlighted_text")
PAGE, SHOW = "review-agreement-page", "review-agreement-show"
SIZE = 10
"""Number of documents with disagreements on a page."""


def agreement(session: ProjectSession, run: RunRow, actor: str) -> None:
    report = agreement_report(session, run)
    _reviewers(session, run, report, actor)
    raters = rater_agreement(session, run)
    if raters.documents:
        _numbers(raters, run.settings.codebook, "rater")
    _latent(session, run)


def _reviewers(session: ProjectSession, run: RunRow, report: AgreementReport, actor: str) -> None:
    if report.documents == 0:
        submitters = ", ".join(f"{name} ({count:,})" for name, count in report.reviewers.items()) or "nobody yet"
        layout.empty(
            "No document has two reviewers yet",
            f"Submitted so far by: {submitters}. A second reviewer enters another name at the top of the page. "
            "The filter “Reviewed by others” shows what others have submitted.",
            sign="lines",
            key="agreement-none",
        )
        return
    codebook = run.settings.codebook
    _numbers(report, codebook, "reviewer")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        show = segments("Show", ("Open", "Resolved"), default="Open", key=SHOW)
        progress = f"{len(report.open):,} of {len(report.disagreements):,} disagreements open."
        line(f"{progress} Click a value to make it the final one. Until then, the last submitted review counts.")
    disagreements = [d for d in report.disagreements if d.is_open == (show == "Open")]
    if not disagreements:
        words = "Items on which reviewers disagree are listed here."
        layout.empty(f"No {show.lower()} disagreements", words, sign="check", key="agreement-done")
        return
    by_document = [list(group) for _, group in groupby(disagreements, attrgetter("document_id"))]
    pages = -(-len(by_document) // SIZE)
    number = page_number(pages, key=PAGE)
    for document_disagreements in by_document[(number - 1) * SIZE : number * SIZE]:
        _document(session, run, document_disagreements, actor)
    pagination(pages, key=PAGE)


def _numbers(report: AgreementReport, codebook: Codebook, who: Literal["reviewer", "rater"]) -> None:
    names = ", ".join(f"{name} ({count:,})" for name, count in report.compared.items())
    item = "Dimension" if codebook.kind == "rating" else "Label"
    kappa = "Cohen's kappa" if len(report.compared) == 2 else "Fleiss' kappa"
    rows = [
        [
            "All labels" if codebook.kind == "choice" else codebook.item_title(agreement.item),
            f"{agreement.n:,}",
            _observed_html(agreement.observed),
            format_estimate(agreement.kappa, digits=2),
            format_estimate(agreement.alpha, digits=2),
        ]
        for agreement in report.items
    ]
    subtitle = f"{format_count(report.documents, 'document')} with two or more {who}s: {names}"
    if report.dependent:
        dependent = format_count(report.dependent, "document")
        subtitle += f". Left out of the table: {dependent} on which a reviewer changed "
        subtitle += "labels after seeing those of another one"
    title = "Agreement" if who == "reviewer" else "Agreement of the raters in the gold"
    with layout.panel(title, subtitle, key=f"agreement-{who}s"):
        table([item, "Documents", "Observed agreement", kappa, "Krippendorff's alpha"], rows)
        if few := [agreement.n for agreement in report.items if 0 < agreement.n < FEW_DOCUMENTS]:
            documents = format_count(min(few), "document")
            line(f"{documents}: too few for a reliable value. Have at least {FEW_DOCUMENTS} labelled twice.")
        undefined = [
            codebook.item_title(agreement.item)
            for agreement in report.items
            if agreement.n and agreement.alpha.value is None
        ]
        if undefined:
            line(f"{join_names(undefined)}: undefined ({MISSING}), because all {who}s gave the same value everywhere.")
        if codebook.kind == "rating":
            line("Kappa is not computed for ratings; alpha is ordinal.")


def _latent(session: ProjectSession, run: RunRow) -> None:
    """Draw the annotators of an item against the latent truth; without enough annotators what is missing."""
    codebook = run.settings.codebook
    if not rater_quality(session, run, codebook.items[0]):
        line(latent_truth.missing(session, codebook))
        return
    help = (
        "Estimated share of documents of each true value that the annotator recognised (Dawid and Skene). No reference "
        "is used. Of runs that share a model, the latest finished one counts. The shares have no interval, because the "
        "error of the inferred truth is unknown."
    )
    with layout.panel("Annotators against the estimated truth", help=help, key="agreement-latent") as head:
        item = codebook.items[0]
        with head:
            if len(codebook.items) > 1:
                item = select_label(codebook, key="agreement-latent-item", label_visibility="collapsed", width=200)
        raters = rater_quality(session, run, item)
        values = list(raters[0].recalls) if raters else []
        rows = [
            [rater.name, f"{rater.documents:,}", *(format_percent(rater.recalls[value]) for value in values)]
            for rater in raters
        ]
        table(["Annotator", "Documents", *(codebook.value_name(value) for value in values)], rows)
        line(
            "The truth is inferred from all answers, as if annotators erred independently. Annotators that share "
            "errors confirm each other and look better than they are."
        )


def _observed_html(observed: Estimate) -> Markup:
    """Return observed agreement as a badge, green from 90% and amber from 70% on, with its interval."""
    if observed.value is None:
        return Markup(MISSING)
    tone = "right" if observed.value >= 0.9 else "unres" if observed.value >= 0.7 else "wrong"
    badge = Markup('<span class="moot-badge {}">{}</span>').format(tone, format_percent(observed.value))
    return badge + (f" ({format_interval(observed.interval, 'percent')})" if observed.interval else "")


def _document(session: ProjectSession, run: RunRow, disagreements: Sequence[Disagreement], actor: str) -> None:
    """Draw a document once, and for each of its disagreements a button for each value with its reviewers."""
    codebook, document_id = run.settings.codebook, disagreements[0].document_id
    with layout.panel(document_id, key=f"disagreement-{document_id}"):
        record = actions.load_record(session, run, document_id)
        if record is not None:
            disputed = {disagreement.item for disagreement in disagreements}
            quotes = [
                asdict(quote)
                for quote in actions.all_quotes(record)
                if codebook.kind == "choice" or quote.item in disputed
            ]
            data = {"fields": dict(record.document.fields), "labels": label_data(codebook), "evidence": quotes}
            _HIGHLIGHTED_TEXT(key=f"disagreement-{document_id}-text", data=data)
        for disagreement in sorted(disagreements, key=lambda disagreement: codebook.items.index(disagreement.item)):
            _choice(session, run, disagreement, actor)


def _choice(session: ProjectSession, run: RunRow, disagreement: Disagreement, actor: str) -> None:
    """Draw the values of a disagreement as buttons that make them final."""
    codebook = run.settings.codebook
    key = f"disagreement-{disagreement.document_id}-{disagreement.item}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=key):
        name = escape(codebook.item_title(disagreement.item))
        if disagreement.decided is not None:
            decided = codebook.value_name(disagreement.decided)
            name += f": {escape(decided)}, resolved by {escape(disagreement.by)}"
        st.html(f'<div class="moot-cell"><b>{name}</b></div>', width=180)

        def decide(value: Value | None) -> None:
            adjudicate(session, run, disagreement.document_id, disagreement.item, value, actor=actor)

        for value in dict.fromkeys(disagreement.values.values()):
            who = ", ".join(name for name, chosen in disagreement.values.items() if chosen == value)
            kind = "primary" if value == disagreement.decided else "secondary"
            button(literal(f"{codebook.value_name(value)} ({who})"), f"{key}-{value}", decide, value, type=kind)
        if disagreement.decided is not None:
            button("Reopen", f"{key}-open", decide, None, type="tertiary")
