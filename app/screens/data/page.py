"""Data: read a file, preview it, import it; then the documents of the project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import streamlit as st

from app import context
from app.screens.data import column_mapping, overview
from app.state import DataState, bound, reset_widgets, run_slow, state
from app.widgets import file_import, layout
from app.widgets.alerts import error_box, error_boxes, error_notice, error_notices, notice
from app.widgets.elements import JOB_WAIT, button, download, field_name, job_progress, line, segments
from app.widgets.labels import tags
from app.widgets.layout import header, panel
from core.codebook import label_noun
from core.errors import MootError
from core.formatting import format_count, format_date, plural
from core.services import projects
from core.services.background_jobs import Job
from core.services.codebooks import codebook as codebooks
from core.services.data import gold_mapping, importing
from core.services.data.importing import ImportDraft, ImportPreview, PendingImport, SourceFile
from core.services.data.overview import LengthSummary, count_documents, gold_distribution, load_overview
from core.services.project_session import ProjectSession


def main() -> None:
    pending = context.pending_import()
    if pending is not None:
        if pending.job is not None:
            show_job(pending, pending.job)
        else:
            ImportPage(context.current_project(), pending).show()
        return
    layout.write_url(import_id=None)
    session = context.require_project()
    pending_import_notices(context.pending_imports().of_project(session.path))
    read(session, file_import.names_and_contents(file_import.dropped_files()))
    if state.data.gold_draft is not None:
        map_gold(session, state.data.gold_draft)
    elif not count_documents(session):
        first_import(session)
    else:
        project(session)


def file_form(session: ProjectSession) -> None:
    """Draw an uploader and a path field; files that can be read become the pending import."""
    files: list[SourceFile] = [*file_import.names_and_contents(file_import.chosen_files("data-file"))]
    with st.form("data-by-path", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        path = st.text_input("Or the path of a file", key="data-path", placeholder="/home/me/reviews.csv")
        submitted = st.form_submit_button("Read")
    if not files and submitted and path.strip():
        file = Path(path.strip().strip("\"'")).expanduser()  # file managers copy a path with quotation marks
        files = [(file.name, file)]
    read(session, files)


def read(session: ProjectSession, files: Sequence[SourceFile]) -> None:
    """Read files, if there are any, and show their preview or an error."""
    if files:
        file_import.read_files(files, session, "add")
        st.rerun()


def first_import(session: ProjectSession) -> None:
    header("Data", "no documents yet")
    left, right = st.columns((1.5, 1), gap="large")
    with left, st.container(key="start", gap="small"):
        st.html(
            '<div class="moot-strong">Import your texts<small>csv, tsv, txt, Excel, ods, jsonl, json, xml or parquet. '
            "The file stays on this machine, and nothing is imported before you have seen a preview.</small></div>"
        )
        file_form(session)
    with right:
        st.html(
            '<div class="moot-rows"><b>Next steps</b>'
            "<span>Check the detected encoding, delimiter, header and sheet; change them if needed.</span>"
            "<span>Choose the text column, and the columns with gold labels if there are any.</span>"
            "<span>Check the rejected rows: each is listed with its reason and can be downloaded.</span></div>"
        )


def project(session: ProjectSession) -> None:
    codebook = codebooks.editor_codebook(session)
    with header("Data", session.name):
        if st.button("Map gold columns", key="data-map-gold", icon=":material/rule:"):
            file_import.begin_gold_mapping(session)
            st.rerun()
        importer = st.popover("Import files", icon=":material/upload_file:", key="data-import-popover")
        with importer, st.container(width=460):
            file_form(session)
    overview.show(session, codebook)


def map_gold(session: ProjectSession, draft: ImportDraft) -> None:
    codebook = codebooks.editor_codebook(session)

    def keep(change: column_mapping.Change) -> None:
        state.data.gold_draft = change(state.data.gold_draft or draft)

    actions = header("Data", "map gold columns")
    actions.button("Cancel", on_click=DataState.gold_draft.reset, type="tertiary")
    try:
        preview = importing.preview_import(draft, codebook, None)
    except MootError as error:
        error_box(error)
        preview = None
    left, right = st.columns((1.55, 1), gap="medium")
    count = format_count(len(draft.table.columns) - 2, "column")
    with left, panel("Gold columns", f"{count} in the file", key="columns"):
        column_mapping.gold(draft, codebook, keep)
        if preview is not None:
            column_mapping.unknown_values(draft, preview.built, preview.codebook, keep)
        line(" ".join(draft.mapping.reasons[-1:]), "q xs")
    with right:
        words = "Only gold of the raters in this mapping is replaced, on documents whose row has these columns."
        notice("info", "Texts, runs and reviews stay", words)
        dropped: list[str] = []
        if other_raters := gold_mapping.other_raters(session, draft):
            dropped = st.multiselect(
                "Delete the gold of",
                other_raters,
                placeholder="no other rater",
                key="data-map-gold-drop",
                help="Gold of raters outside this mapping stays, unless you choose them here.",
            )
        if preview is not None:
            gold = gold_distribution(preview.gold_counts, preview.codebook)
            overview.distribution_charts(gold, LengthSummary(), preview.built.with_gold)
    has_change, has_gold = bool(draft.mapping.gold or dropped), load_overview(session, codebook).with_gold > 0
    replace_now = actions.button(
        "Replace the gold" if has_gold else "Add the gold",
        type="primary",
        key="data-map-gold-submit",
        disabled=preview is None or not has_change,
        help=None if has_change else "Choose gold columns, or a rater whose gold is deleted",
    )
    if replace_now and preview is not None:
        with error_boxes():
            replaced = gold_mapping.replace_gold(session, preview, dropped)
            DataState.gold_draft.reset()
            done = "replaced" if has_gold else "added"
            state.set_notice("ok", f"Gold {done}: {format_count(replaced, 'document')} with gold")
            st.rerun()


# -- preview of an import


ENCODINGS = (
    "utf-8", "cp1252", "utf-16", "cp1250", "cp1251", "cp1254", "cp850", "cp852", "cp857", "shift_jis", "gb18030",
    "big5", "euc-kr",
)  # fmt: skip
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "space"}
HEADERS = ("first line", "none")
MAX_NOTES = 20
"""Notes on the reading of a file that are shown; a file with unnamed columns may have thousands."""
DESTINATIONS = {"add": "Add", "replace": "Replace", "new": "New project"}


class ImportPage:
    """The preview of one pending import."""

    def __init__(self, session: ProjectSession | None, pending: PendingImport) -> None:
        if session is None and pending.draft.destination != "new":
            pending.draft = replace(pending.draft, destination="new")
        self.pending = pending
        self.draft: ImportDraft = pending.draft
        self.session = session
        new = self.draft.destination == "new"
        self.codebook = None if new or session is None else codebooks.editor_codebook(session)

    def keep(self, change: column_mapping.Change) -> None:
        """Change the stored draft, which may be newer than the one on the page."""
        self.pending.draft = change(self.pending.draft)

    def show(self) -> None:
        self.add_dropped_files()
        table = self.draft.table
        layout.write_url(import_id=self.pending.id)
        with header("Data", f"{self.draft.name}, not imported yet"):
            slot = st.container(horizontal=True, horizontal_alignment="right")
        preview, error = None, None
        with st.spinner("Building the preview", show_time=True):
            try:
                preview = self.pending.preview(self.codebook, self.session if self.draft.destination != "new" else None)
            except MootError as problem:
                error = problem
        with slot:
            st.button("Cancel", on_click=context.remove_pending_import, type="tertiary")
            kept = preview.built.kept if preview is not None else 0
            ready = preview is not None and kept > 0 and not preview.conflict
            new = kept - (preview.existing if preview is not None else 0)
            title = f"Import {new:,}" if new else "Add missing values" if kept else "Import"
            submitted = st.button(title, type="primary", disabled=not ready, key="data-import")
        if self.codebook is None:
            column_mapping.ask_for_raters(self.draft, self.keep)
        if error is not None:
            error_box(error)
        if submitted and preview is not None:
            with error_boxes():
                self.start(preview)
                st.rerun()
        left, right = st.columns((1.55, 1), gap="medium")
        with left:
            self.rows(preview)
            with panel("Columns", f"{len(table.columns)} in the file; all are kept for export", key="columns"):
                column_mapping.columns(self.draft, self.keep)
                column_mapping.gold(self.draft, self.codebook, self.keep)
                if preview is not None:
                    column_mapping.unknown_values(self.draft, preview.built, preview.codebook, self.keep)
                    self.new_codebook(preview)
                line(" ".join(self.draft.mapping.reasons), "q xs")
        with right:
            self.destination(preview)
            if preview is not None:
                gold = gold_distribution(preview.gold_counts, preview.codebook)
                overview.distribution_charts(gold, preview.words, preview.built.with_gold)
        if preview is not None and preview.built.documents:
            with panel("First documents", "as they will be imported", key="first-rows"):
                overview.document_table(preview.built.documents[:20], preview.codebook)

    def add_dropped_files(self) -> None:
        """Read the files again together with those that were dropped on the page."""
        more = file_import.names_and_contents(file_import.dropped_files())
        if not more:
            return
        state.data.clear_uploaders()
        with error_notices(), st.spinner("Reading"):
            reset_widgets(*DataState.GOLD_WIDGETS)
            self.keep(lambda draft: importing.read_again(draft, self.codebook, more))
        st.rerun()

    def rows(self, preview: ImportPreview | None) -> None:
        """Draw how the file was read, the rejected rows and the choices for duplicates and empty texts."""
        table = self.draft.table
        title = f"Rows read: {table.read:,}"
        if preview is not None:
            title += f", kept: {preview.built.kept:,}, rejected: {len(preview.built.rejected):,}"
            title += f", merged: {preview.built.merged:,}" if preview.built.merged else ""
        name = "txt" if table.name.lower().endswith(".txt") else table.format
        with panel(title, name, key="account") as head:
            if preview is not None and (rejected := preview.built.rejected):
                with head:
                    content = partial(importing.rejected_csv, rejected)
                    download("Download rejected rows", content, "rejected.csv")
                lines = "".join(f"<span>{escape(str(row))}</span>" for row in rejected[:4])
                more = f"<span>and {len(rejected) - 4:,} more</span>" if len(rejected) > 4 else ""
                st.html(f'<div class="moot-rows">{lines}{more}</div>')
            self.read_options()
            line(" ".join((table if preview is None else preview.built).notes[:MAX_NOTES]), "q xs")
            if preview is None:
                return
            self.row_options(preview.built.duplicate_texts, preview.built.empty_texts)
            if preview.conflict:
                words = "Restore the text in the file, replace all documents, or use another id column or project."
                notice("error", f"The project has or had {preview.conflict}", words)
            elif preview.existing:
                existing = f"{format_count(preview.existing, 'document')} {plural(preview.existing, 'is', 'are')}"
                words = "Existing documents stay as they are. Missing gold labels are added."
                notice("info", f"{existing} already in the project", words)
            if preview.other_ids:
                words = "They would be in the project twice. To avoid that, choose the id column of the earlier import."
                notice("info", importing.describe_other_ids(preview.other_ids), words)

    def read_options(self) -> None:
        """Draw encoding, delimiter, header and sheet: detected values that the user can change."""
        draft, table = self.draft, self.draft.table
        if not table.encoding and len(table.sheets) < 2:
            return
        cells = iter(st.columns(3))

        def reread(part: str, value: str) -> None:
            try:
                options = {part: value or None}
                run_slow(self.keep, lambda draft: importing.read_again(draft, self.codebook, **options))
            except MootError as error:
                remedy = f"{error.remedy} The preview still shows the previous settings."
                state.set_notice("error", error.message, remedy)

        def choice(part: str, options: Sequence[str], detected: str) -> None:
            value = getattr(draft.options, part)
            automatic = "Detect" if value else f"{DELIMITERS.get(detected, detected)} (detected)"
            next(cells).selectbox(
                part.capitalize(),
                ["", *dict.fromkeys([*options, *filter(None, [value])])],
                format_func=lambda option: DELIMITERS.get(option, option) or automatic,
                accept_new_options=part in ("encoding", "delimiter"),
                **bound(f"read-{part}", value or "", partial(reread, part)),
            )

        if table.encoding:
            choice("encoding", ENCODINGS, table.encoding)
        if table.format in ("csv", "tsv"):
            choice("delimiter", list(DELIMITERS), table.delimiter or "none")
            choice("header", HEADERS, table.header)
        if len(table.sheets) > 1:
            choice("sheet", table.sheets, table.sheet)

    def row_options(self, duplicates: int, empties: int) -> None:
        def choice(part: str, title: str, options: dict[str, str]) -> None:
            def change(value: Any) -> None:
                self.keep(lambda draft: replace(draft, **{part: value}))

            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.html(f'<div class="moot-cell">{escape(title)}</div>', width="stretch")
                segments(title, options, **bound(f"rows-{part}", getattr(self.draft, part), change))

        if duplicates:
            unites = any(source.kind == "list" for source in self.draft.mapping.gold)
            options = {"keep": "Keep all", "first": "Unite their labels" if unites else "Keep the first"}
            choice("duplicates", f"Duplicate texts: {duplicates:,}", options)
        if empties:
            choice("empties", f"Empty texts: {empties:,}", {"drop": "Reject", "keep": "Keep"})

    def new_codebook(self, preview: ImportPreview) -> None:
        """Draw the labels of a codebook that is made from the gold columns."""
        if not preview.new_codebook or preview.codebook is None:
            return
        codebook = preview.codebook
        raters = len({rater for document in preview.built.documents for rater in document.gold})
        shape = format_count(len(codebook.labels), label_noun(codebook.kind))
        shape += f" by {raters} raters" if raters > 1 else ""
        if scales := tuple(dict.fromkeys(map(str, codebook.scales))):
            shape += f", {'scale' if len(scales) == 1 else 'scales'} {', '.join(scales)}"
        title = "Dimensions" if codebook.kind == "rating" else "Labels"
        field_name(f"{title} from the gold columns", f"{shape}, as version 1 of the codebook")
        tags(codebook.labels)
        if preview.misspelt:
            words = (
                "After the import, delete these labels on Codebook, then map their names with Map gold columns on Data."
            )
            notice("warn", f"Perhaps misspelt: {preview.misspelt}", words)
        line(preview.keyword_note, "q xs")

    def destination(self, preview: ImportPreview | None) -> None:
        """Ask where to import the documents, if there is a choice."""
        session = self.session
        count = count_documents(session) if session is not None else 0
        if session is not None and not count and self.draft.destination == "add":
            return

        def change(destination: importing.Destination) -> None:
            reset_widgets(*DataState.GOLD_WIDGETS)
            self.keep(lambda draft: importing.change_destination(draft, destination, session))

        options = list(DESTINATIONS) if session is not None and count else ["add", "new"] if session else ["new"]
        caption = f"{session.name} has {format_count(count, 'document')}" if session is not None else ""
        with panel("Destination", caption, key="where"):
            titles = {option: DESTINATIONS[option] for option in options}
            segments("Destination", titles, **bound("data-destination", self.draft.destination, change))
            if self.draft.destination == "new":
                name = self.new_project
                st.text_input(
                    "Project name", **bound("data-new-project", name, partial(setattr, self.pending, "new_project"))
                )
            elif self.draft.destination == "replace" and session is not None:
                renamed = preview.new_ids if preview is not None else 0
                words = "Verdicts and reviews of documents that the new file lacks are hidden."
                if renamed:
                    words += f" {format_count(renamed, 'document')} {plural(renamed, 'gets', 'get')} a new id, such as "
                    words += "7 (2), because the id has runs or reviews of a different text."
                if renamed or session.latest_run():
                    notice("warn", "Runs and reviews stay", words)

    @property
    def new_project(self) -> str:
        """Name of the project to create, at first a free one after the file."""
        return self.pending.new_project or projects.free_name(self.draft.files[0][0])

    def start(self, preview: ImportPreview) -> None:
        """Start the import job. Raises UsageError for an impossible project name."""
        workspace, session = context.workspace(), self.session
        if self.draft.destination == "new" or session is None:
            name = projects.project_path(self.new_project).stem
            self.pending.job = importing.start_import(preview, lambda: projects.create_project(workspace, name))
        else:
            self.pending.job = importing.start_import(preview, lambda: session)
            session.jobs[self.pending.activity] = self.pending.job


def pending_import_notices(pending: Sequence[PendingImport]) -> None:
    """Draw a notice for each file that was read in this project and not imported, in this or another tab."""
    for pending_import in pending:
        status = "is being imported" if pending_import.job is not None else "is not imported yet"
        with st.container(horizontal=True, vertical_alignment="center", key=f"pending-{pending_import.id}"):
            notice("info", f"{pending_import.draft.name} {status}", f"Read {format_date(pending_import.read_at)}.")
            id, remove = pending_import.id, context.pending_imports().remove
            button("Continue", f"pending-open-{id}", context.select_pending_import, pending_import)
            if pending_import.job is None:
                button("Discard", f"pending-remove-{id}", remove, id, type="tertiary")


def show_job(pending: PendingImport, job: Job[Any]) -> None:
    """Draw the progress of an import that was started, or finish it."""
    if not job.wait(JOB_WAIT):
        layout.write_url(import_id=pending.id)
        header("Data", pending.activity)
        job_progress(job, "data-import")
        return
    pending.job = None  # also after an unexpected error, which would otherwise end each visit of the page
    if (importing_into := context.current_project()) is not None:
        importing_into.jobs.pop(pending.activity, None)
    try:
        session, stored = job.result()
    except MootError as error:
        error_notice(error)
        st.rerun()
    counts = stored.counts
    sentences = []
    if rejected := counts["rejected"]:
        sentences.append(f"{format_count(rejected, 'row')} rejected.")
    if repeated := counts["repeated"]:
        missing = "missing gold labels and columns were added"
        sentences.append(f"{format_count(repeated, 'document')} existed already; {missing}.")
    if renamed := counts.get("new_ids"):
        because = "because runs or reviews of a different text have the id"
        sentences.append(f"{format_count(renamed, 'document')} got a new id, {because}.")
    if conflicts := counts["gold_conflicts"]:
        differ = f"{format_count(conflicts, 'gold value')} {plural(conflicts, 'differs', 'differ')}"
        sentences.append(f"{differ} from the project's gold, which stays.")
    if conflicts := counts.get("column_conflicts"):
        have = f"{format_count(conflicts, 'document')} {plural(conflicts, 'has', 'have')}"
        sentences.append(f"{have} another group, order or column in the project, which stays.")
    context.remove_pending_import()
    state.select_project(session.path)
    imported = format_count(counts["documents"], "document")
    state.set_notice("ok", f"{imported} imported from {stored.file_name}", " ".join(sentences))
    st.rerun()


main()
