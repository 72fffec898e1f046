"""A file that was read and not imported yet: how it was read, what its columns are, what would become of each row."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from html import escape

import streamlit as st

from app import context
from app.screens.data import column_mapping
from app.screens.data import overview as view
from app.state import DataState, state, with_value
from app.widgets import layout
from app.widgets.alerts import error_box, notice
from app.widgets.labels import tags
from app.widgets.layout import header, panel
from core.errors import MootError
from core.services import projects
from core.services.codebooks import codebook as codebooks
from core.services.data import importing, overview
from core.services.data.import_job import Importing
from core.services.data.importing import Draft, ImportPreview
from core.services.data.pending_imports import PendingImport
from core.services.session import ProjectSession

ENCODINGS = ("utf-8", "cp1252", "utf-16", "cp1250", "cp1251", "shift_jis", "gb18030", "big5", "euc-kr")
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
AT_ONCE = 0.6
"""Seconds that the page waits for an import before it shows a progress bar."""
WHERE = {"add": "Add to it", "replace": "Replace its documents", "new": "New project"}


class Preview:
    """What would become of a file that was read and not imported yet."""

    def __init__(self, session: ProjectSession | None, draft: Draft) -> None:
        self.session = session
        self.draft = draft if session is not None else replace(draft, where="new")
        new = self.draft.where == "new" or session is None
        self.codebook = None if new or session is None else codebooks.known(session)

    def show(self) -> None:
        """Draw it."""
        table = self.draft.table
        keep_in_address()
        with header("Data", f"{self.draft.name}, not imported yet"):
            slot = st.container(horizontal=True, horizontal_alignment="right")
        found = self.tried()
        trial = found if isinstance(found, ImportPreview) else None
        with slot:
            st.button("Cancel", on_click=lambda: context.update_pending_import(None), type="tertiary")
            ready = trial is not None and trial.imported.kept > 0 and not trial.changed
            words = f"Import {trial.imported.kept:,}" if trial is not None and trial.imported.kept else "Import"
            wanted = st.button(words, type="primary", disabled=not ready, key="data-import")
        if isinstance(found, MootError):
            error_box(found)
        if wanted and trial is not None:
            try:
                self.begin()
            except MootError as error:
                error_box(error)
            else:
                st.rerun()
        left, right = st.columns((1.55, 1), gap="medium")
        with left:
            self.account(trial)
            with panel("Columns", f"{len(table.columns)} in the file", key="columns"):
                column_mapping.columns(self.draft, context.update_pending_import)
                column_mapping.gold(self.draft, self.codebook, context.update_pending_import)
                if trial is not None:
                    column_mapping.unknown_values(
                        self.draft, trial.imported, trial.codebook, context.update_pending_import
                    )
                    if trial.made and trial.codebook is not None:
                        st.html(
                            '<div class="moot-fieldname">These labels are made from the gold columns and become '
                            "version 1 of the codebook</div>"
                        )
                        tags(trial.codebook.labels)
                        if trial.words:
                            st.html(f'<div class="moot-why">{escape(trial.words)}</div>')
                column_mapping.reasons(self.draft.mapping.reasons)
        with right:
            self.destination()
            if trial is not None:
                charts(
                    overview.gold_bars(trial.profile, trial.codebook),
                    view.profile_bins(trial.profile),
                    f"{trial.imported.with_gold:,} documents with gold",
                    _length_words(trial),
                )
        if trial is not None and trial.imported.documents:
            with panel("First rows", "as they will be imported", key="first-rows"):
                view.document_table(trial.imported.documents[:20], trial.codebook, key="first-rows-table", height=300)

    def tried(self) -> ImportPreview | MootError:
        """What the import would bring, or why it cannot be."""
        draft, session = self.draft, self.session if self.draft.where == "add" else None
        count = session.store.documents.count() if session is not None else 0
        mark = (
            id(draft.table), draft.mapping, draft.duplicates, draft.empties, draft.where, count,
            self.codebook.hash if self.codebook else "",
        )  # fmt: skip
        known = state.data.preview_for(mark)
        if known is None:
            with st.spinner("Counting", show_time=True):
                try:
                    known = importing.trial(draft, self.codebook, session)
                except MootError as error:
                    known = error
            state.data.preview = (mark, known)
        return known  # type: ignore[no-any-return]

    def account(self, trial: ImportPreview | None) -> None:
        """How the file was read, and what became of every row."""
        table = self.draft.table
        imported = trial.imported if trial is not None else None
        head = f"Read {table.read:,}"
        if imported is not None:
            head += f", kept {imported.kept:,}, rejected {len(imported.rejected):,}"
        with panel(head, table.format, key="account") as right:
            if imported is not None and imported.rejected:
                with right:
                    st.download_button(
                        "Download rejected.csv",
                        partial(importing.rejected_csv, imported.rejected),
                        "rejected.csv",
                        "text/csv",
                        on_click="ignore",
                        icon=":material/download:",
                    )
            if imported is not None and imported.rejected:
                rows = "".join(f"<span>{escape(str(row))}</span>" for row in imported.rejected[:4])
                st.html(f'<div class="moot-rows">{rows}{_more(len(imported.rejected) - 4)}</div>')
            self.options()
            if table.notes:
                st.html(f'<div class="moot-why">{escape(" ".join(table.notes[:6]))}</div>')
            if imported is not None:
                self.choices(imported.duplicate_texts, imported.empty_texts)
            if trial is not None and trial.changed:
                notice(
                    "error",
                    f"The project already has a document '{trial.changed[0]}' with another text",
                    "Replace its documents, choose another column for the ids, or make a new project.",
                )
            elif trial is not None and trial.known:
                notice(
                    "info",
                    f"{trial.known:,} of these documents are in the project already",
                    "They stay as they are; gold that they lack is added.",
                )

    def options(self) -> None:
        """Encoding, delimiter and sheet, detected and overridable."""
        draft, table = self.draft, self.draft.table
        cells = iter(st.columns(3))

        def reread(part: str) -> None:
            try:
                chosen = {part: st.session_state[f"read-{part}"] or None}
                context.update_pending_import(importing.reread(draft, self.codebook, **chosen))
            except MootError as error:
                state.set_notice("error", error.message, f"{error.remedy} The file is shown as it was read before.")

        def choice(
            part: str, label: str, chosen: str | None, options: Sequence[str], names: Callable[[str], str], found: str
        ) -> None:
            shown = list(dict.fromkeys([*options, *([chosen] if chosen else [])]))
            next(cells).selectbox(
                label,
                ["", *shown],
                format_func=lambda one: names(one) if one else f"{names(found) or 'none'}, found",
                key=with_value(f"read-{part}", chosen or ""),
                on_change=reread,
                args=(part,),
                accept_new_options=part != "sheet",
            )

        if table.encoding:
            choice("encoding", "Encoding", draft.encoding, ENCODINGS, str, table.encoding)
        if table.format in ("csv", "tsv"):
            choice(
                "delimiter", "Delimiter", draft.delimiter, list(DELIMITERS), lambda one: DELIMITERS.get(one, one),
                table.delimiter,
            )  # fmt: skip
        if len(table.sheets) > 1:
            choice("sheet", "Sheet", draft.sheet, table.sheets, str, table.sheets[0])

    def choices(self, duplicates: int, empties: int) -> None:
        """What becomes of repeated and of empty texts; asked only where there are some."""

        def taken(part: str) -> None:
            context.update_pending_import(replace(self.draft, **{part: st.session_state[f"take-{part}"]}))

        def ask(part: str, words: str, titles: dict[str, str]) -> None:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.html(f'<div class="moot-cell">{escape(words)}</div>', width="stretch")
                st.segmented_control(
                    words, list(titles), format_func=titles.__getitem__, required=True, label_visibility="collapsed",
                    key=with_value(f"take-{part}", getattr(self.draft, part)), on_change=taken, args=(part,),
                )  # fmt: skip

        if duplicates:
            words = f"{duplicates:,} {'text repeats' if duplicates == 1 else 'texts repeat'} an earlier one"
            ask("duplicates", words, {"keep": "Keep all", "first": "Keep the first"})
        if empties:
            ask("empties", f"{empties:,} without a word", {"drop": "Reject", "keep": "Keep"})

    def destination(self) -> None:
        """Where the documents go."""
        session = self.session
        count = session.store.documents.count() if session is not None else 0
        if session is not None and not count and self.draft.where == "add":
            return

        def taken() -> None:
            column_mapping.begin_anew()
            where = st.session_state["data-where"]
            codebook = None if where == "new" or session is None else codebooks.known(session)
            mapping = importing.propose(self.draft.table, codebook)
            context.update_pending_import(replace(self.draft, where=where, mapping=mapping))

        options = list(WHERE) if session is not None and count else ["add", "new"] if session is not None else ["new"]
        with panel("Where to", f"{session.name} has {count:,} documents" if session is not None else "", key="where"):
            st.segmented_control(
                "Where to", options, format_func=WHERE.__getitem__, required=True, label_visibility="collapsed",
                key=with_value("data-where", self.draft.where), on_change=taken,
            )  # fmt: skip
            if self.draft.where == "new":
                if not state.data.new_project:
                    state.data.new_project = projects.free_name(self.draft.name)
                st.text_input("Its name", key=DataState.new_project.key)
            elif self.draft.where == "replace" and session is not None and session.latest_run():
                notice("warn", "Runs and reviews stay", "Those of documents that are no longer there are not shown.")

    def begin(self) -> None:
        """Start the import. Nothing was kept before this."""
        workspace, session, name = (
            context.workspace(),
            self.session,
            state.data.new_project,
        )
        if self.draft.where == "new" or session is None:
            name = projects.project_path(name).stem  # an impossible name is said before anything starts
            context.set_import_job(
                Importing(self.draft, self.codebook, lambda: projects.create_project(workspace, name))
            )
        else:
            here = session
            context.set_import_job(Importing(self.draft, self.codebook, lambda: here))


def waiting(intakes: Sequence[PendingImport]) -> None:
    """Files that were read here, perhaps in a tab that was closed, and that nobody has imported."""
    for one in intakes:
        when = time.strftime("%H:%M", time.localtime(one.read_at))
        what = "is being imported" if one.job is not None else "is not imported yet"
        with st.container(horizontal=True, vertical_alignment="center", key=f"waiting-{one.id}"):
            notice("info", f"{one.draft.name} was read at {when} and {what}")
            st.button("Go on with it", key=f"waiting-go-{one.id}", on_click=context.select_pending_import, args=(one,))
            if one.job is None:
                st.button(
                    "Forget it", key=f"waiting-drop-{one.id}", type="tertiary",
                    on_click=context.workspace().waiting.drop, args=(one.id,),
                )  # fmt: skip


def keep_in_address() -> None:
    """Have F5 come back to the file that is shown."""
    intake = context.pending_import()
    layout.write_url(intake=intake.id if intake is not None else None)


def under_way(job: Importing) -> None:
    """An import that runs, and what it came to."""
    if not job.wait(AT_ONCE):
        keep_in_address()
        header("Data", f"{job.draft.name} is being imported")
        follow(job)
        return
    try:
        session, made = job.result()
    except MootError as error:
        context.set_import_job(None)
        state.set_notice("error", error.message, error.remedy)
        st.rerun()
    counts = made.counts
    text = f"{_rows(counts['rejected'])} rejected." if counts["rejected"] else ""
    if counts["repeated"]:
        text += f" {counts['repeated']:,} were in the project already; gold that they lacked was added."
    if counts["otherwise"]:
        text += f" {counts['otherwise']:,} gold values differ from those of the project, which stay."
    context.update_pending_import(None)
    DataState.new_project.reset()
    state.select_project(session.path)
    state.set_notice("ok", f"{counts['documents']:,} documents imported from {made.file_name}", text.strip())
    st.rerun()


@st.fragment(run_every=0.5)
def follow(job: Importing) -> None:
    """The progress of an import; leaving the page does not stop it."""
    if job.wait(0.0):
        st.rerun()
    st.progress(min(1.0, job.share), job.what)


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def _more(count: int) -> str:
    return f"<span>and {count:,} more</span>" if count > 0 else ""


def _length_words(trial: ImportPreview) -> str:
    words = trial.profile.words
    return f"{words.minimum:,} to {words.maximum:,} words, half have at most {words.median:,.0f}"


def charts(
    bars: Sequence[overview.GoldBar], bins: Sequence[tuple[int, int, int]], gold_words: str, length_words: str
) -> None:
    """Gold and lengths, side by side or below each other."""
    if bars:
        with panel("Gold", gold_words, key="gold-panel"):
            view.gold_chart(bars, key="gold-chart")
    if bins:
        with panel("Length", length_words, key="length-panel"):
            view.length_chart(bins, key="length-chart")
