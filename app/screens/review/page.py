"""Review page: one document at a time, a grid of documents, or the agreement between reviewers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import streamlit as st

from app import context
from app.components import component, reported
from app.screens.review import agreement, grid, progress
from app.state import ReviewState, bound, reset_widgets, state, with_default
from app.widgets import layout
from app.widgets.alerts import notice
from app.widgets.elements import facts, line, literal, segments
from app.widgets.labels import label_data, role_data
from app.widgets.run_picker import baseline_models, run_picker, runs_or_empty_page, selected_run
from core.codebook import Codebook
from core.formatting import format_percent, one_line
from core.runs import RunRow
from core.services import preferences
from core.services.lab import accepted_changes
from core.services.project_session import ProjectSession
from core.services.review import actions, queue
from core.services.review.agreement import Share, blind_report
from core.services.runs.configuration import role_titles
from core.stats.intervals import format_interval
from core.stats.sampling import MIN_EVEN

_FOCUS = component("review_focus")
SEARCH, LABEL, REASON, STATUS, LENGTH, OTHERS = FILTERS = tuple(
    f"review-{name}" for name in ("search", "label", "reason", "status", "length", "others")
)

DECISIONS_COUNT = (
    "Your decisions are stored under this name. Gold stays as it was imported, and Evaluate scores against either. "
    "Where one answer per label is needed, as in the Lab, your decision counts before gold: it was made later, with "
    "the definitions and the debate in view."
)
MAX_ID_CHARACTERS = 80
"""Longest id in the message about a document that the run lacks."""


def main() -> None:
    session = context.require_project()
    words = "Start a run. Its verdicts are listed here, and your decisions become the reviewed reference."
    runs = runs_or_empty_page(session, "Review", "Nothing to review yet", words, sign="rings")
    if not runs:
        return
    above = st.container()  # also without a notice, so that the page below stays when it goes
    requested = ReviewState.requested_document.pop()
    document_id = requested or state.review.start_document
    if document_id and not queue.review_rows(session, selected_run(runs), [document_id]):
        state.review.document = state.review.start_document = None
        words = "It does not exist, or its debate has not ended. Review starts at another document."
        with above:
            notice("warn", f"Document {one_line(document_id)[:MAX_ID_CHARACTERS]} is not in this run", words)
    elif requested is not None:
        state.review.document = state.review.start_document = requested
        if state.review.view == "Grid":
            reset_widgets(*FILTERS, grid.PAGE)
            st.session_state[SEARCH] = requested
        elif state.review.view == "Agreement":
            state.review.view = "Focus"
    _page(session, runs)


@st.fragment
def _page(session: ProjectSession, runs: list[RunRow]) -> None:
    run = selected_run(runs)
    actor = state.review.actor
    view = state.review.view or ReviewState.VIEWS[0]
    state.review.note_view(view)
    with layout.header("Review", baseline_models(run), key="review-head"):
        segments("View", ReviewState.VIEWS, key=with_default(ReviewState.view.key, view), persist_state="session")
        run_picker(runs)
        _reviewer(actor)
        _settings(session, run)
    layout.write_url(view=view)
    if view == "Agreement":
        agreement.agreement(session, run, actor)
        return
    queue_filter, counters = _filters(run.settings.codebook)
    if view == "Grid":
        grid.grid_view(session, run, actor, queue_filter, counters, show_all=_show_all)
    else:
        _focus(session, run, actor, queue_filter)
    layout.write_url(document=state.review.document)
    progress.draw(session, run, state.review.document, actor)


def _focus(session: ProjectSession, run: RunRow, actor: str, queue_filter: queue.QueueFilter) -> None:
    """Draw one document at a time, decided by keyboard. The component saves decisions by ``app.api.review``.

    The component reloads only if run, reviewer, filters, settings or the requested document change.
    """
    key, codebook = f"review-focus-{run.run_id}", run.settings.codebook

    def settled() -> None:
        """Store the document that was just left, so that its correction can be suggested as an example."""
        document = reported(key, "settled")
        if isinstance(document, str):
            state.review.corrected_documents = (document, *state.review.corrected_documents)

    def filter_changed() -> None:
        """Set the filter that the user chose instead of an empty queue."""
        chosen = reported(key, "filter")
        _show_all()
        if chosen == "decided":
            st.session_state[STATUS] = "Submitted"

    scales = {item: codebook.scale_of(item).model_dump() for item in codebook.items if codebook.kind == "rating"}
    result = _FOCUS(
        key=key,
        data={
            "run": context.live_name(session, run.run_id),
            "actor": actor,
            "labels": label_data(codebook),
            "roles": role_data(role_titles(run.settings)),
            "kind": codebook.kind,
            "scales": scales,
            "filters": asdict(queue_filter),
            "settings": asdict(queue.review_settings(session)),
            "tags": list(actions.ERROR_TAGS),
            "document": state.review.start_document,
            # room for the lines below it
            "height": f"calc(100vh - {256 if accepted_changes.accepted(session) else 204}px)",
        },
        on_document_change=lambda: None,
        on_blind_change=lambda: None,
        on_settled_change=settled,
        on_filter_change=filter_changed,
    )
    shown = result.get("document")
    if isinstance(shown, str):  # the component reports with a short delay
        state.review.document = shown
        if shown == state.review.start_document:
            state.review.start_document = None


def _filters(codebook: Codebook) -> tuple[queue.QueueFilter, st.delta_generator.DeltaGenerator]:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="review-filters"):
        search = st.text_input(
            "Search",
            placeholder="Search in text",
            icon=":material/search:",
            label_visibility="collapsed",
            key=SEARCH,
            width=190,
            **grid.FILTER,
        )
        label = _choice("All labels", codebook.label_names, LABEL, 136)
        reason = _choice("Any reason", queue.REASON_NAMES, REASON, 156)
        status = _choice("Any status", {status: status for status in actions.STATUSES}, STATUS, 126)
        length = _choice("Any length", {name: name for name in queue.LENGTHS}, LENGTH, 136)
        help = "Only documents that another reviewer has submitted."
        by_others = st.checkbox("Reviewed by others", key=OTHERS, help=help, **grid.FILTER)
        counters = st.container(width="stretch")
    queue_filter = queue.QueueFilter(search or "", label, reason, status, length, by_others)
    return queue_filter, counters


def _choice(nothing: str, words: Mapping[Any, Any], key: str, width: int) -> Any:
    return st.selectbox(
        nothing,
        list(words),
        index=None,
        placeholder=nothing,
        format_func=lambda id: words.get(id, id),
        label_visibility="collapsed",
        key=key,
        width=width,
        **grid.FILTER,
    )


def _show_all() -> None:
    reset_widgets(*FILTERS, grid.PAGE)
    state.review.start_document = None


# -- reviewer and settings


def _reviewer(actor: str) -> None:
    typed = preferences.load().reviewer if state.review.reviewer is None else state.review.reviewer
    name = literal(actor)
    # no help: it would stay above "Reviewed by others" when the pointer moves there
    popover = st.popover(name, icon=":material/person:", key="review-reviewer-open")
    with popover, st.container(width=380):
        st.text_input(
            "Reviewing as",
            key=with_default(ReviewState.reviewer.key, preferences.load().reviewer),
            placeholder=actions.default_reviewer(),
            on_change=state.review.keep_reviewer,
            persist_state="session",
            help="Each reviewer has a separate queue and separate decisions. A second reviewer enters another name.",
        )
        if not typed.strip():
            line(f"{actor} is your login name. Enter the name that exports and reports should show.")
        line(DECISIONS_COUNT, "q")


EVEN, BLIND = "review-even", "review-blind"


def _settings(session: ProjectSession, run: RunRow) -> None:
    def change(**changed: Any) -> None:
        """Change one setting of those that are stored now: another tab may have changed the other."""
        settings = replace(queue.review_settings(session), **changed)
        queue.save_review_settings(session, settings, actor=state.review.actor)

    with st.popover("Settings", icon=":material/tune:", key="review-settings"):
        settings = queue.review_settings(session)
        percent = round(settings.even * 100)
        st.slider(
            "Uniform random draws, %",
            round(MIN_EVEN * 100),
            100,
            percent,  # the browser opens the popover with this value and not with that of the key
            step=5,
            help="The queue draws documents at random. In this part of the draws every document has the same chance. "
            "The others favour documents with a review reason and rare labels. Estimates take both into account. With "
            "much less than 50%, intervals of other runs on these reviews are too narrow.",
            **bound(EVEN, percent, lambda percent: change(even=percent / 100)),
        )
        st.toggle(
            "Blind review",
            settings.blind,
            help="Hides the verdict until you have decided. Filters by label or reason leave out hidden documents. "
            "Other pages, such as Data and Run, and exported files still show verdicts and gold.",
            **bound(BLIND, settings.blind, lambda blind: change(blind=blind)),
        )
        _blind_report(session, run)


def _blind_report(session: ProjectSession, run: RunRow) -> None:
    report = blind_report(session, run)
    if not report.changed.n:
        st.caption("No blind decisions in this run yet.")
        return
    facts(
        [
            ("Changed after the reveal", _share_words(report.changed)),
            ("Agreement with the verdict, blind", _share_words(report.blind)),
            ("Agreement with the verdict, not blind", _share_words(report.shown)),
            ("Changes towards the verdict", f"{report.towards} of {report.changed.count}"),
        ]
    )


def _share_words(share: Share) -> str:
    estimate = share.share
    if estimate.value is None:
        return "none"
    interval = f" ({format_interval(estimate.interval, 'percent')})" if estimate.interval else ""
    return f"{format_percent(estimate.value)} of {share.n:,}{interval}"


main()
