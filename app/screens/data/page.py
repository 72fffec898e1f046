"""Data: read a file, preview it, import it; then the documents of the project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from app import context
from app.screens.data import column_mapping, overview
from app.screens.data.import_preview import ImportPage, pending_import_notices, show_job
from app.state import DataState, state
from app.widgets import file_import, layout
from app.widgets.alerts import error_box, notice
from app.widgets.layout import header, panel
from core.errors import MootError
from core.formatting import format_count
from core.services.codebooks import codebook as codebooks
from core.services.data import importing
from core.services.data.importing import ImportDraft, SourceFile
from core.services.data.overview import LengthSummary, count_documents, gold_counts
from core.services.session import ProjectSession


def main() -> None:
    """Draw the page."""
    pending = context.pending_import()
    if pending is not None and pending.job is not None:
        show_job(pending)
        return
    if pending is not None:
        ImportPage(context.current_project(), pending).show()
        return
    layout.write_url(import_id=None)
    session = context.require_project()
    pending_import_notices(context.pending_imports().of_project(session.path))
    read(session, [(file.name, file.getvalue()) for file in file_import.dropped_files()])
    if state.data.gold_draft is not None:
        map_gold(session, state.data.gold_draft)
    elif not count_documents(session):
        first_import(session)
    else:
        project(session)


def file_form(session: ProjectSession) -> None:
    """Draw an uploader and a path field; files that can be read become the pending import."""
    files: list[SourceFile] = [(file.name, file.getvalue()) for file in file_import.chosen_files("data-file")]
    with st.form("data-by-path", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        path = st.text_input("Or the path of a file", key="data-path", placeholder="/home/me/reviews.csv")
        submitted = st.form_submit_button("Read")
    if not files and submitted and path.strip():
        file = Path(path.strip()).expanduser()
        files = [(file.name, file)]
    read(session, files)


def read(session: ProjectSession, files: Sequence[SourceFile]) -> None:
    """Read files, if there are any, and show their preview; show an error below the form."""
    if files and file_import.read_files(files, session, "add"):
        st.rerun()


def first_import(session: ProjectSession) -> None:
    """Draw the page of a project without documents."""
    header("Data", "no documents yet")
    left, right = st.columns((1.5, 1), gap="large")
    with left, st.container(key="start", gap="small"):
        st.html(
            '<div class="moot-strong">Import your texts<small>csv, tsv, xlsx, jsonl, json or parquet. The file stays '
            "on this machine, and nothing is imported before you have seen a preview.</small></div>"
        )
        file_form(session)
    with right:
        st.html(
            '<div class="moot-rows"><b>Next steps</b>'
            "<span>Check the detected encoding, delimiter and sheet; change them if needed.</span>"
            "<span>Choose the text column, and the columns with gold labels if there are any.</span>"
            "<span>Check the rejected rows: each is listed with its reason and can be downloaded.</span></div>"
        )


def project(session: ProjectSession) -> None:
    """Draw the documents of the project."""
    codebook = codebooks.editor_codebook(session)
    count = count_documents(session)
    with header("Data", f"{format_count(count, 'document')} in {session.name}"):
        if st.button("Map gold columns", key="data-map-gold", icon=":material/rule:"):
            with st.spinner("Reading the documents"):
                state.data.gold_draft = importing.draft_from_project(session, codebook)
            column_mapping.reset()
            st.rerun()
        importer = st.popover("Import files", icon=":material/upload_file:", key="data-import-popover")
        with importer, st.container(width=460):
            file_form(session)
    overview.show(session, codebook)


def map_gold(session: ProjectSession, draft: ImportDraft) -> None:
    """Draw the mapping of gold columns for documents that are stored already."""
    codebook = codebooks.editor_codebook(session)

    with header("Data", "map gold columns"):
        st.button("Cancel", on_click=DataState.gold_draft.reset, type="tertiary")
        submitted = st.button("Replace the gold", type="primary", key="data-map-gold-submit")
    try:
        preview = importing.preview_import(draft, codebook)
    except MootError as error:
        error_box(error)
        preview = None
    left, right = st.columns((1.55, 1), gap="medium")
    with (
        left,
        panel("Gold columns", f"{format_count(len(draft.table.columns) - 2, 'column')} in the file", key="columns"),
    ):
        column_mapping.gold(draft, codebook, DataState.gold_draft.set)
        if preview is not None:
            column_mapping.unknown_values(draft, preview.built, preview.codebook, DataState.gold_draft.set)
        column_mapping.reasons(draft.mapping.reasons[-1:])
    with right:
        notice("info", "Texts, runs and reviews stay", "Only the gold labels are replaced, for all documents.")
        if preview is not None:
            gold = gold_counts(preview.profile, preview.codebook)
            overview.distribution_charts(gold, LengthSummary(), preview.built.with_gold)
    if submitted and preview is not None:
        count = importing.replace_gold(session, preview)
        DataState.gold_draft.reset()
        state.set_notice("ok", f"Gold replaced: {format_count(count, 'document')} with gold")
        st.rerun()


main()
