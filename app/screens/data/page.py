"""Data: bring a file, see what is in it, import it; and what is in the project."""

from __future__ import annotations

import time
from functools import partial
from html import escape
from pathlib import Path

import streamlit as st

from app import context
from app.pages import open_page
from app.screens.data import column_mapping
from app.screens.data import overview as view
from app.screens.data.import_preview import Preview, charts, under_way, waiting
from app.screens.home import sections
from app.state import DataState, reset_widgets, state
from app.widgets import layout, plots
from app.widgets.alerts import error_box, notice
from app.widgets.empty_state import empty
from app.widgets.highlighted_text import marked_text
from app.widgets.layout import header, panel
from core.codebook import Codebook
from core.errors import MootError
from core.services.cache import remembered
from core.services.codebooks import codebook as codebooks
from core.services.data import importing, overview
from core.services.data.importing import Draft
from core.services.session import ProjectSession

TYPES = sorted({suffix.removeprefix(".") for suffix in importing.SUFFIXES})
PAGE = 50
PATH, TABLE, TURN = "data-path", "data-table", "data-page"


def main() -> None:
    """Draw the screen."""
    sections.styles()
    session = context.current_project()
    intake = context.pending_import()
    if intake is not None and intake.job is not None:
        under_way(intake.job)
        return
    if intake is not None:
        Preview(session, intake.draft).show()
        return
    layout.write_url(intake=None)
    if session is not None:
        waiting(context.workspace().waiting.of(session.path))
    if session is not None and state.data.gold_draft is not None:
        remapping(session, state.data.gold_draft)
    elif session is not None and not session.store.documents.count():
        first_file(session)
    elif session is not None:
        project(session)
    else:
        header("Data")
        if empty("No project is open", "Open or make one on Home.", ["Go to Home"], sign="lines", key="data"):
            open_page("home")


# -- a file comes in


def bring(session: ProjectSession) -> None:
    """An uploader and a path; what can be read becomes the intake."""
    upload = st.file_uploader("A file", type=TYPES, key=state.data.uploader("data-file"), label_visibility="collapsed")
    with st.form("data-by-path", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        path = st.text_input("or a file by its path", key=PATH, placeholder="/home/me/reviews.csv")
        wanted = st.form_submit_button("Read")
    if upload is not None:
        read(session, upload.getvalue(), upload.name)
    elif wanted and path.strip():
        file = Path(path.strip()).expanduser()
        read(session, file, file.name)


def read(session: ProjectSession, source: bytes | Path, name: str) -> None:
    """Read a file; an error is shown where the file was given."""
    codebook = codebooks.known(session)
    bar = st.progress(0.0, "Reading")
    try:
        draft = importing.read(source, name, codebook, progress=sections.told(bar))
    except MootError as error:
        bar.empty()
        error_box(error)
        return
    column_mapping.begin_anew()
    context.add_pending_import(draft)
    state.data.clear_uploaders()
    st.rerun()


def first_file(session: ProjectSession) -> None:
    """The project has no documents."""
    header("Data", "no documents yet")
    left, right = st.columns((1.5, 1), gap="large")
    with left, st.container(key="start", gap="small"):
        st.html(
            '<div class="moot-strong">Bring your texts<small>csv, tsv, xlsx, jsonl, json or parquet. They stay on '
            "this machine, and nothing is imported before you have seen what is in the file.</small></div>"
        )
        bring(session)
    with right:
        st.html(
            '<div class="moot-rows"><b>What happens next</b>'
            "<span>Encoding, delimiter and sheet are found and shown; you can overrule them.</span>"
            "<span>You say which column is the text, and which hold gold labels, if there are any.</span>"
            "<span>Every row is accounted for: rows that cannot be used are listed with the reason and kept in a "
            "file.</span></div>"
        )


def project(session: ProjectSession) -> None:
    """What is in the project."""
    codebook = codebooks.known(session)
    there = overview.overview(session, codebook)
    rejected = sum(one.rejected for one in there.chapters)
    with header("Data", f"{there.documents:,} documents in {session.name}"):
        if st.button("Map gold columns", key="data-remap", icon=":material/rule:"):
            with st.spinner("Reading the documents"):
                state.data.gold_draft = importing.gold_draft(session, codebook)
            column_mapping.begin_anew()
            st.rerun()
        bringing = st.popover("Import a file", icon=":material/upload_file:", key="data-bring", type="primary")
        with bringing, st.container(width=460):
            bring(session)
    raters = f"{len(there.raters)} raters" if len(there.raters) > 1 else ""
    view.figures(
        [
            (f"{there.documents:,}", "documents", ""),
            (f"{there.with_gold:,}", f"with gold{f' by {raters}' if raters else ''}", ""),
            (f"{rejected:,}", "rows rejected", "bad" if rejected else ""),
            (f"{len(there.chapters):,}", "import" if len(there.chapters) == 1 else "imports", ""),
        ]
    )
    left, right = st.columns((1.9, 1), gap="medium")
    with left:
        with panel("Documents", key="documents") as head:
            with head:
                search = st.text_input(
                    "Search", key=DataState.search.key, placeholder="Search text and id", icon=":material/search:",
                    label_visibility="collapsed", width=260, on_change=reset_widgets, args=(TURN,),
                )  # fmt: skip
            table(session, codebook, search)
        together(session, codebook)
    with right:
        bins = [(start, start + there.width, count) for start, count in there.lengths]
        charts(there.bars, bins, f"{there.with_gold:,} documents with gold", "words of a text")
        languages(session)
        if not there.bars:
            notice("info", "No gold labels", "With some, Evaluate can say how good a run is.")
    imports(session, there.chapters)


def together(session: ProjectSession, codebook: Codebook | None) -> None:
    """Which labels go together in the gold."""
    pairs = (
        remembered(session, lambda: overview.together(session, codebook), "together") if codebook is not None else ()
    )
    if pairs:
        with panel("Labels together", "share of the row's documents that have the column's label too", key="together"):
            names = list(dict.fromkeys(pair.label for pair in pairs))
            rows = [
                {
                    "row": pair.label,
                    "column": pair.other,
                    "count": pair.count,
                    "share": pair.share,
                    "words": f"{pair.share:.0%}" if pair.label != pair.other else f"{pair.count:,}",
                }
                for pair in pairs
            ]
            plots.heat(rows, names, names, key="data-together", x_title="", y_title="", slanted=True)


def languages(session: ProjectSession) -> None:
    """In which languages the texts are."""
    tongues = remembered(session, lambda: overview.languages(session), "languages")
    if len(tongues) > 1:
        with panel("Languages", f"guessed from {sum(tongues.values()):,} texts", key="languages"):
            whole = sum(tongues.values())
            bars = [
                {"name": name, "value": count / whole, "words": f"{count:,}", "colour": "bar"}
                for name, count in tongues.items()
            ]
            plots.bars(bars, key="data-languages", unit="share of texts")


def table(session: ProjectSession, codebook: Codebook | None, search: str) -> None:
    """A page of the documents, and the one that is selected in full."""
    turn = int(st.session_state.get(TURN, 1))
    total, documents = overview.page(session, search=search, offset=PAGE * (turn - 1), limit=PAGE)
    if total and not documents:  # there are fewer pages than before
        reset_widgets(TURN)
        st.rerun()
    if not total:
        st.html('<div class="moot-line q">No document holds these words.</div>')
        return
    place = view.document_table(documents, codebook, key=f"{TABLE}-{turn}-{search}", selectable=True, height=560)
    with st.container(horizontal=True, vertical_alignment="center"):
        first = PAGE * (turn - 1) + 1
        words = f"{first:,} to {first + len(documents) - 1:,} of {total:,}"
        st.html(f'<div class="moot-line q">{words}</div>', width="content")
        st.space("stretch")
        if total > PAGE:
            st.pagination(-(-total // PAGE), key=TURN, width=320)
    if place is not None and place < len(documents):
        document = documents[place]
        words = ", ".join(overview.gold_words(document, codebook))
        st.html(f'<div class="moot-fieldname">{escape(document.id)}<small>{escape(words)}</small></div>')
        marked_text(document.fields, codebook or Codebook(), height=320, key="data-document")
    else:
        st.html('<div class="moot-why">Tick a row to read its text.</div>')


def imports(session: ProjectSession, chapters: tuple[overview.Chapter, ...]) -> None:
    """Every import, with its rejected rows to take away."""
    with panel("Imports", key="imports"):
        for one in chapters:
            with st.container(horizontal=True, vertical_alignment="center", key=f"import-{one.id}"):
                again = f", {one.repeated:,} there already" if one.repeated else ""
                out = f", {one.rejected:,} rejected" if one.rejected else ""
                when = time.strftime("%d %b %Y %H:%M", time.localtime(one.at)).lstrip("0")
                why = f"<br>{escape('; '.join(one.reasons))}" if one.reasons else ""
                st.html(
                    f'<div class="moot-line"><b>{escape(one.file_name) or "unnamed"}</b> {when}, '
                    f"{one.added:,} documents{again}{out}<span class=q>{why}</span></div>",
                    width="stretch",
                )
                if one.rejected:
                    st.download_button(
                        "rejected.csv",
                        partial(overview.rejected_of_import, session, one.id),
                        f"rejected-{one.id}.csv",
                        "text/csv",
                        key=f"data-rejected-{one.id}",
                        on_click="ignore",
                        icon=":material/download:",
                    )


def remapping(session: ProjectSession, draft: Draft) -> None:
    """The gold of documents that are in the project, mapped anew from the columns they came with."""
    codebook = codebooks.known(session)
    with header("Data", "which columns hold gold labels"):
        st.button("Cancel", on_click=DataState.gold_draft.set, args=(None,), type="tertiary")
        wanted = st.button("Replace the gold", type="primary", key="data-remap-done")
    try:
        found = importing.trial(draft, codebook)
    except MootError as error:
        error_box(error)
        found = None
    left, right = st.columns((1.55, 1), gap="medium")
    with left, panel("Gold columns", f"{len(draft.table.columns) - 2} columns of the file", key="columns"):
        column_mapping.gold(draft, codebook, DataState.gold_draft.set)
        if found is not None:
            column_mapping.unknown_values(draft, found.imported, found.codebook, DataState.gold_draft.set)
        column_mapping.reasons(draft.mapping.reasons[-1:])
    with right:
        notice("info", "Texts, runs and reviews stay", "Only what counts as gold is replaced, for all documents.")
        if found is not None:
            words = f"{found.imported.with_gold:,} documents with gold"
            charts(overview.gold_bars(found.profile, found.codebook), (), words, "")
    if wanted and found is not None:
        count = importing.remap_gold(session, draft, codebook)
        state.data.gold_draft = None
        state.set_notice("ok", f"{count:,} documents have gold now")
        st.rerun()


main()
