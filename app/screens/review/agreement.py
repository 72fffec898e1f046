"""Agreement view of Review: agreement between reviewers, and adjudication of disagreements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from itertools import groupby
from operator import attrgetter

import streamlit as st
from markupsafe import Markup

from app.components import component
from app.widgets import layout
from app.widgets.alerts import error_notices
from app.widgets.elements import line, literal, page_number, pagination, segments, table
from app.widgets.empty_state import empty
from app.widgets.labels import label_data, select_label
from core.codebook import Codebook
from core.documents import Value
from core.formatting import MISSING, format_count, format_percent, join_names
from core.runs import RunRow
from core.services.project_session import ProjectSession
from core.services.review import actions
from core.services.review import agreement as use
from core.stats.intervals import FEW_DOCUMENTS, Estimate, format_estimate, format_interval

_HIGHLIGHTED_TEXT = component("highlighted_text")
PAGE, SHOW = "review-agreement-page", "review-agreement-show"
SIZE = 10
"""Number of documents with disagreements on a page."""


def agreement(session: ProjectSession, run: RunRow, actor: str) -> None:
    """Draw the Agreement view."""
    found = use.agreement_report(session, run)
    _reviewers(session, run, found, actor)
    _latent(session, run)


def _reviewers(session: ProjectSession, run: RunRow, found: use.AgreementReport, actor: str) -> None:
    """Draw the agreement of the reviewers and their disagreements."""
    if found.documents == 0:
        others = ", ".join(f"{name} ({count:,})" for name, count in found.reviewers.items()) or "nobody yet"
        empty(
            "No document has two reviewers yet",
            f"Submitted so far by: {others}. A second reviewer enters another name under Settings. "
            "The filter “reviewed by others” shows what others have submitted.", sign="lines", key="agreement-none",
        )  # fmt: skip
        return
    codebook = run.settings.codebook
    _numbers(found, codebook)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        show = segments("Show", ("Open", "Resolved"), default="Open", key=SHOW)
        left = f"{len(found.open):,} of {len(found.disagreements):,} disagreements open."
        line(f"{left} Click a value to make it the final one. Until then, the last submitted review counts.")
    disagreements = found.open if show == "Open" else tuple(d for d in found.disagreements if d.decided is not None)
    if not disagreements:
        words = "Items on which reviewers disagree are listed here."
        empty("No disagreements", words, sign="check", key="agreement-done")
        return
    documents = [list(own) for _, own in groupby(disagreements, attrgetter("document_id"))]
    pages = -(-len(documents) // SIZE)
    number = page_number(pages, key=PAGE)
    for own in documents[(number - 1) * SIZE : number * SIZE]:
        _document(session, run, own, actor)
    pagination(pages, key=PAGE)


def _numbers(found: use.AgreementReport, codebook: Codebook) -> None:
    names = ", ".join(f"{name} ({count:,})" for name, count in found.reviewers.items())
    item = "Dimension" if codebook.kind == "rating" else "Label"
    kappa = "Cohen's kappa" if len(found.reviewers) == 2 else "Fleiss' kappa"
    rows = [
        [actions.item_name(codebook, one.item), f"{one.n:,}", _observed_html(one.observed),
         format_estimate(one.kappa, digits=2), format_estimate(one.alpha, digits=2)]
        for one in found.items
    ]  # fmt: skip
    sub = f"{format_count(found.documents, 'document')} with two or more reviewers: {names}"
    if found.dependent:
        sub += f". Left out of the table: {format_count(found.dependent, 'document')} on which a reviewer changed "
        sub += "labels after seeing those of another one"
    with layout.panel("Agreement", sub, key="agreement-agree"):
        table([item, "Documents", "Observed agreement", kappa, "Krippendorff's alpha"], rows)
        if few := [one.n for one in found.items if 0 < one.n < FEW_DOCUMENTS]:
            documents = format_count(min(few), "document")
            line(f"{documents}: too few for a reliable value. Have at least {FEW_DOCUMENTS} reviewed twice.")
        same = [actions.item_name(codebook, one.item) for one in found.items if one.n and one.alpha.value is None]
        if same:
            line(f"{join_names(same)}: undefined ({MISSING}), because all reviewers gave the same value everywhere.")
        if codebook.kind == "rating":
            line("Kappa is not computed for ratings; alpha is ordinal.")


def _latent(session: ProjectSession, run: RunRow) -> None:
    """Draw the annotators of an item against the latent truth; nothing without enough annotators."""
    codebook = run.settings.codebook
    if codebook.kind == "rating" or not use.rater_quality(session, run, codebook.items[0]):
        return
    with layout.panel("Annotators against the estimated truth", key="agreement-latent") as head:
        item = codebook.items[0]
        with head:
            if len(codebook.items) > 1:
                item = select_label(codebook, key="agreement-latent-item", label_visibility="collapsed", width=200)
        raters = use.rater_quality(session, run, item)
        values = list(raters[0].recalls) if raters else []
        rows = [
            [one.name, f"{one.documents:,}", *(format_percent(one.recalls[value]) for value in values)]
            for one in raters
        ]
        table(["Annotator", "documents", *(actions.value_name(codebook, value) for value in values)], rows)
        st.html(
            '<div class="moot-remark q">Estimated share of documents of each true value that the annotator recognised '
            "(Dawid and Skene). No reference is used: the truth is inferred from all answers, as if annotators erred "
            "independently. Models that share errors confirm each other and look better than they are. The shares have "
            "no interval, because the error of the inferred truth is unknown.</div>"
        )


def _observed_html(observed: Estimate) -> Markup:
    """Return observed agreement as a badge, green from 90% and amber from 70% on, with its interval."""
    if observed.value is None:
        return Markup(MISSING)
    tone = "right" if observed.value >= 0.9 else "unres" if observed.value >= 0.7 else "wrong"
    badge = Markup('<span class="moot-badge {}">{}</span>').format(tone, format_percent(observed.value))
    return badge + f" ({format_interval(observed.interval, 'percent')})"


def _document(session: ProjectSession, run: RunRow, own: Sequence[use.Disagreement], actor: str) -> None:
    """Draw a document once, and for each of its disagreements a button for each value with its reviewers."""
    codebook, document_id = run.settings.codebook, own[0].document_id
    with layout.panel(document_id, key=f"disagreement-{document_id}"):
        known = actions.load_record(session, run, document_id)
        if known is not None:
            disputed = {disagreement.item for disagreement in own}
            quotes = [asdict(quote) for quote in actions.all_quotes(known)
                      if codebook.kind == "choice" or quote.item in disputed]  # fmt: skip
            data = {"fields": dict(known.document.fields), "labels": label_data(codebook), "evidence": quotes}
            _HIGHLIGHTED_TEXT(key=f"disagreement-{document_id}-text", data=data)
        for disagreement in sorted(own, key=lambda one: codebook.items.index(one.item)):
            _choice(session, run, disagreement, actor)


def _choice(session: ProjectSession, run: RunRow, disagreement: use.Disagreement, actor: str) -> None:
    """Draw the values of a disagreement as buttons that make them final."""
    codebook = run.settings.codebook
    key = f"disagreement-{disagreement.document_id}-{disagreement.item}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=key):
        name = escape(actions.item_name(codebook, disagreement.item))
        if disagreement.decided is not None:
            decided = actions.value_name(codebook, disagreement.decided)
            name += f": {escape(decided)}, resolved by {escape(disagreement.by)}"
        st.html(f'<div class="moot-cell"><b>{name}</b></div>', width=180)

        def decide(value: Value | None) -> None:
            with error_notices():
                use.adjudicate(session, run, disagreement.document_id, disagreement.item, value, actor=actor)

        for value in dict.fromkeys(disagreement.values.values()):
            who = ", ".join(name for name, chosen in disagreement.values.items() if chosen == value)
            st.button(
                literal(f"{actions.value_name(codebook, value)} ({who})"), key=f"{key}-{value}",
                type="primary" if value == disagreement.decided else "secondary", on_click=decide, args=(value,),
            )  # fmt: skip
        if disagreement.decided is not None:
            st.button("Reopen", key=f"{key}-open", type="tertiary", on_click=decide, args=(None,))
