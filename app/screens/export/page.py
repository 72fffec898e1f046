"""Export: a run's results as a file, the project as a bundle, and how to query the project file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st
from markupsafe import Markup

from app import context
from app.state import state
from app.widgets import layout
from app.widgets.elements import download, facts, line, literal, table
from app.widgets.run_picker import baseline_models, run_date, run_picker, runs_or_empty_page, selected_run
from core.codebook import are_comparable
from core.documents import ReviewStatus
from core.formatting import format_count, join_names
from core.runs import RunRow
from core.services import bundle, export
from core.services.project_session import ProjectSession

REVIEWS: tuple[tuple[ReviewStatus, str], ...] = (
    ("Submitted", "Reviewed"),
    ("Draft", "Review not submitted"),
    ("Discarded", "Discarded in review"),
)


def main() -> None:
    session = context.require_project()
    words = "Start a run first. Then you can export labels, quotes, transcripts and your corrections."
    runs = runs_or_empty_page(session, "Export", "Nothing to export yet", words, sign="lines")
    if not runs:
        return
    models = baseline_models(selected_run(runs))
    with layout.header("Export", models):
        run = run_picker(runs)
    left, right = st.columns([1, 1.9], gap="medium")
    with left:
        format = _format()
        others = [] if format.one_run else _others(run, runs)
        _contents(session, run, others)
    with right:
        _preview(session, run, format, others)
    _bundle(session)
    _query(session)


def _format() -> export.ExportFormat:
    with layout.panel("Format", key="export-formats"):
        name = st.radio(
            "Format",
            list(export.FORMATS),
            format_func=lambda name: export.FORMATS[name].title,
            captions=[format.description for format in export.FORMATS.values()],
            label_visibility="collapsed",
            key="export-format",
        )
        return export.FORMATS[name]


def _others(run: RunRow, runs: list[RunRow]) -> list[str]:
    titles = {
        other.run_id: other.title
        for other in runs
        if other.run_id != run.run_id and are_comparable(other.settings.codebook, run.settings.codebook)
    }
    if not titles:
        return []
    return st.multiselect(
        "More runs in the same file",
        list(titles),
        format_func=titles.__getitem__,
        placeholder="None",
        help="Their rows are appended; the column run_id names the run of each row.",
        key=f"export-others-{run.run_id}",
    )


def _contents(session: ProjectSession, run: RunRow, others: list[str]) -> None:
    runs = [session.run(run_id) for run_id in (run.run_id, *others)]
    with layout.panel("Contents", "" if others else run_date(run), key="export-contents"):
        documents = sum(run.documents for run in runs)
        rows = [
            (f"Rows of {len(runs)} runs" if others else "Documents", documents),
            ("Only in transcripts, as they were replaced", sum(export.count_replaced(session, run) for run in runs)),
            ("With a verdict", sum(run.verdicts for run in runs)),
            ("Unresolved", sum(run.unresolved for run in runs)),
            ("Failed", sum(run.failed for run in runs)),
            ("Not debated yet", documents - sum(run.ended for run in runs)),
            *((name, sum(export.count_reviews(session, run, status) for run in runs)) for status, name in REVIEWS),
            ("Debate turns", sum(run.turns for run in runs)),
        ]
        facts([(name, f"{count:,}") for name, count in rows if count])
        st.caption(
            "Tables have separate columns for gold, verdicts, reviews and the decisions of each role. A label without "
            "a value is empty."
        )


def _preview(session: ProjectSession, run: RunRow, format: export.ExportFormat, others: list[str]) -> None:
    format_name = format.name
    name = export.file_name(session, run.run_id, format_name)
    with layout.panel("Preview", name, key="export-preview") as head:
        with head:
            if format.readme is not None:
                readme = partial(export.readme, session, run.run_id, format_name, other_runs=others)
                download(
                    "README",
                    readme,
                    f"{Path(name).stem}.README.md",
                    type="tertiary",
                    icon="description",
                    help="Origin of the labels, and the meaning of each column",
                    key="export-readme",
                )
            content = partial(export.export_bytes, session, run.run_id, format_name, other_runs=others)
            download("Download", content, name, type="primary", key="export-download")
        actor = state.review.actor
        shown = export.preview(session, run.run_id, format_name, other_runs=others, actor=actor)
        is_hiding = any(export.hidden_verdicts(session, run_id, actor) for run_id in (run.run_id, *others))
        if is_hiding:
            line("Documents whose verdict Review hides from you are left out here. The file has all of them.")
        if isinstance(shown, str):
            st.code(
                shown or ("No turns yet." if format.takes == "turns" and not is_hiding else "No preview."),
                language=None,
                height=460,
                wrap_lines=True,
            )
        else:
            rows = [[_cell(cell) for cell in row] for row in shown.itertuples(index=False)]
            table(list(shown.columns), rows, text=list(shown.columns), wide="Preview of the file")
            st.caption(
                f"{'First ' if len(shown) else ''}{format_count(len(shown), 'row')}{' of the runs' if others else ''}, "
                f"{format_count(len(shown.columns), 'column')}."
            )
            if format.readme is not None:
                facts(export.column_meanings(session, run.run_id, other_runs=others), text=True)
        if files := export.zipped_files(session, run.run_id, format_name):
            st.caption(f"The download is a zip with {literal(join_names(files))}.")


def _cell(cell: Any) -> Markup:
    """Return a cell of the preview. A long text is cut on the page, and the pointer shows the whole."""
    text = "" if cell is None or cell != cell else str(cell)
    return Markup('<span title="{}">{}</span>').format(text, text)


def _bundle(session: ProjectSession) -> None:
    with layout.panel("Project bundle", key="export-bundle") as head:
        with head:
            content, name = partial(bundle.bundle_bytes, session), f"{session.name}{bundle.SUFFIX}"
            download("Download bundle", content, name, icon="archive", key="export-bundle-download")
        st.caption(
            "One zip with data, codebook, prompts, settings, turns and reviews, and the debates as web pages; no API "
            "keys. Open it on Home to create a project from it."
        )


def _query(session: ProjectSession) -> None:
    with layout.panel("Query with DuckDB", str(session.path), key="export-query"):
        st.caption(
            "Close Moot first: only one program can open the project at a time. The view annotated_review has each "
            "document with its debate and labels; evaluation_review adds the gold."
        )
        st.code(export.duckdb_example(session), language=None, wrap_lines=True)


main()
