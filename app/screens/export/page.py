"""Export: a run's results in a file, and how to query the project itself."""

from __future__ import annotations

import streamlit as st

from app import context
from app.pages import open_page
from app.widgets import empty_state, layout
from app.widgets.run_picker import run_date, run_picker
from core.runs import RunRow
from core.services import bundle, export
from core.services.review import review
from core.services.session import ProjectSession

MIME = {
    ".csv": "text/csv", ".jsonl": "application/x-ndjson", ".parquet": "application/vnd.apache.parquet",
    ".zip": "application/zip",
}  # fmt: skip


def main() -> None:
    """Draw the screen."""
    session = context.current_project()
    runs = review.runs(session) if session is not None else []
    if session is None or not runs:
        layout.header("Export")
        if empty_state.empty(
            "Nothing to take away yet",
            "Labels, quotes, transcripts and your corrections can be taken away as soon as there is a run.",
            ["Open Run"],
            sign="lines",
            key="export-none",
        ):
            open_page("run")
        return
    with layout.header("Export", key="export-head"):
        run = run_picker(runs, key="export-run")
    left, right = st.columns([1, 1.9], gap="medium")
    with left:
        chosen = _format()
        _inside(session, run)
    with right:
        _preview(session, run, chosen)
    _bundle(session)
    _query(session)


def _format() -> str:
    known = {format.name: format for format in export.formats()}
    with layout.panel("Format", key="export-formats"):
        return st.radio(
            "Format",
            list(known),
            format_func=_name,
            captions=[format.description for format in known.values()],
            label_visibility="collapsed",
            key="export-format",
        )


def _name(format: str) -> str:
    return {
        "csv": "CSV", "jsonl": "JSONL", "parquet": "Parquet", "transcript": "Transcript (JSONL)",
        "label-studio": "Label Studio", "argilla": "Argilla", "prodigy": "Prodigy", "huggingface": "Hugging Face",
    }.get(format, format)  # fmt: skip


def _inside(session: ProjectSession, run: RunRow) -> None:
    held = export.contents(session, run.run_id)
    with layout.panel("What is inside", run_date(run), key="export-inside"):
        rows = [
            ("Documents", held.documents),
            ("with a verdict", held.with_verdict),
            ("unresolved", held.unresolved),
            ("failed", held.failed),
            ("not yet debated", held.waiting),
            ("touched by a person", held.reviewed),
            ("Turns of debate", held.turns),
        ]
        kept = [(name, count) for name, count in rows if count or name[0].isupper()]
        body = "".join(f"<tr><td>{name}</td><td>{count:,}</td></tr>" for name, count in kept)
        st.html(f'<table class="moot-facts">{body}</table>')
        st.caption(
            "A label's value is yours where you decided, else the verdict's; its source column says which. "
            "What could not be read stays empty."
        )


def _preview(session: ProjectSession, run: RunRow, chosen: str) -> None:
    import pandas as pd

    name = export.file_name(session, run.run_id, chosen)
    with layout.panel("Preview", name, key="export-preview") as head:
        with head:
            st.download_button(
                "Download",
                lambda: export.to_bytes(session, run.run_id, chosen),
                name,
                MIME.get("." + name.rpartition(".")[2], "application/octet-stream"),
                on_click="ignore",
                type="primary",
                icon=":material/download:",
                key="export-download",
            )
        shown = export.preview(session, run.run_id, chosen)
        if shown.columns:
            plain = (str, int, float, type(None))
            cells = [[cell if isinstance(cell, plain) else str(cell) for cell in row] for row in shown.rows]
            frame = pd.DataFrame(cells, columns=list(shown.columns))
            st.dataframe(frame, hide_index=True, key=f"export-table-{chosen}")
            st.caption(f"The first {len(shown.rows)} rows, {len(shown.columns)} columns.")
        else:
            st.code(shown.text or "No turn has been spoken yet.", language="json", height=460, wrap_lines=True)


def _bundle(session: ProjectSession) -> None:
    with layout.panel("The whole project in one file", key="export-bundle") as head:
        with head:
            st.download_button(
                "Download the bundle",
                lambda: bundle.to_bytes(session),
                f"{session.name}{bundle.SUFFIX}",
                "application/zip",
                on_click="ignore",
                icon=":material/archive:",
                key="export-bundle-download",
            )
        st.caption(
            "Data, codebook, prompts, settings, every turn and every decision, and all debates as web pages for people "
            "who have no Moot. Home makes a project of it again. No key is in it."
        )


def _query(session: ProjectSession) -> None:
    with layout.panel("Query the project with DuckDB", str(session.path), key="export-query"):
        st.caption(
            "The project is one DuckDB file. While Moot has it open nothing else can read it: close Moot first. "
            "annotated_review holds each review with its debate and labels, evaluation_review adds the gold."
        )
        st.code(export.recipe(session), language="python")


main()
