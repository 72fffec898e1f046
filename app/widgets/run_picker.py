"""Selection of the run that a page shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import streamlit as st

from app.state import state
from app.widgets import layout
from app.widgets.elements import choose, facts, line, literal, segments
from core.documents import Reference
from core.formatting import format_count, format_date
from core.runs import RunRow
from core.services.evaluation import annotation_arrays, latent_truth
from core.services.evaluation.reference import default_reference, reference_names
from core.services.project_session import ProjectSession
from core.services.runs.configuration import differences, model_names

MAX_SIDE_BY_SIDE = 3  # references; more are in a list


def run_words(run: RunRow) -> str:
    """Return the name and size of a run, once, and its progress and state unless it is done."""
    if run.state != "done":
        return f"{run.title}, {run.ended:,} of {run.documents:,}, {run.state}"
    return name_with_size(run)


def name_with_size(run: RunRow) -> str:
    """Return the name of a run with its number of documents, unless the name has this number already."""
    size = format_count(run.documents, "document")
    return run.title if size in run.title.split(", ") else f"{run.title}, {size}"


def baseline_models(run: RunRow) -> str:
    """Return the models of a run that uses the built-in model, else an empty text.

    Each page with output of the run shows them, because the user may have named the run.
    """
    models = run.settings.role_models.values()
    return ", ".join(model_names(models)) if any(model.is_builtin for model in models) else ""


def run_date(run: RunRow) -> str:
    """Return the time at which a run finished, or its state."""
    if run.finished_at is None:
        return run.state
    return f"finished {format_date(run.finished_at)}"


def run_differences(runs: Sequence[RunRow], results: Iterable[tuple[str, str]] = ()) -> None:
    """Draw the settings in which runs differ, and below them further rows."""
    differs = differences(runs)
    facts([*((heading, " → ".join(values)) for heading, values in differs.items()), *results])
    if not differs:
        line("These runs have the same configuration.")


def runs_or_empty_page(session: ProjectSession, title: str, head: str, text: str, *, sign: layout.Sign) -> list[RunRow]:
    """Return the runs of the project, best first; without any, draw an empty page."""
    runs = annotation_arrays.ranked_runs(session)
    if not runs:
        layout.empty_page(title, head, text, sign=sign)
    return runs


def selected_run(runs: Sequence[RunRow]) -> RunRow:
    """Return the run that the page's ``run_picker`` shows, before it is drawn, else that of the tab.

    ``runs`` must not be empty.
    """
    by_id = {run.run_id: run for run in runs}
    run_id = st.session_state.get(f"{state.page}-run") or state.run_id
    return by_id[run_id] if run_id in by_id else runs[0]


def run_picker(runs: Sequence[RunRow]) -> RunRow:
    """Draw a select box of the runs and return the selected run. ``runs`` must not be empty.

    The first run is selected unless the tab shows another run.
    """
    by_id = {run.run_id: run for run in runs}
    titles = {id: run_words(run) for id, run in by_id.items()}
    index = list(by_id).index(selected_run(runs).run_id)
    run_id = choose(st.selectbox, "Run", titles, index=index, key=f"{state.page}-run", width=360)
    state.run_id = run_id
    layout.write_url(run=run_id)
    return by_id[run_id]


def reference_picker(references: Mapping[Reference, int]) -> Reference:
    """Draw a selector of references with their numbers of documents, and return the selected one.

    Nothing is drawn if no other reference has a document. The pages share the selection.
    """
    default = default_reference(references, state.evaluate.reference)
    names = list(references)
    if not any(count for name, count in references.items() if name != default):
        return default

    key = f"{state.page}-reference"
    titles = {name: f"{reference_names(name).title} {count:,}" for name, count in references.items()}
    if len(names) <= MAX_SIDE_BY_SIDE:
        titles = {name: literal(title) for name, title in titles.items()}
        reference = segments("Reference", titles, default=default, key=key)
    else:
        titles = {name: f"against {title}" for name, title in titles.items()}
        index = names.index(default)
        reference = choose(st.selectbox, "Reference", titles, index=index, width=230, key=f"{key}-list")
    state.evaluate.reference = reference
    layout.write_url(reference=reference)
    return reference


def latent_truth_note(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    """Draw what the latent truth rests on, if it is the reference."""
    if reference == latent_truth.LATENT:
        line(latent_truth.warning(session, run.settings.codebook))
