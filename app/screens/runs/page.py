"""Runs page: all runs in one table with their configuration, scores and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import streamlit as st
from markupsafe import Markup

from app import context
from app.components import component, reported
from app.pages import open_page
from app.screens.runs import table
from app.state import bound, run_slow, state
from app.widgets import charts, layout
from app.widgets.alerts import error_notices
from app.widgets.elements import button, facts, line, segments
from app.widgets.metric_tables import estimate_data
from app.widgets.run_picker import reference_picker, run_date, run_differences
from core.codebook import label_key
from core.documents import Reference
from core.formatting import format_count, join_names
from core.runs import RunDetails, RunRow
from core.services.evaluation import run_comparison
from core.services.evaluation.run_comparison import LeaderboardRow, leaderboard, leaderboard_references
from core.services.project_session import ProjectSession
from core.services.runs import control, rerun

_LEADERBOARD = component("leaderboard")


def main() -> None:
    session = context.require_project()
    runs = [run for run in session.all_runs() if not run.is_canary]  # as in the table
    if not runs:
        words = "A run is one debate setting on a set of documents. Start one, then compare it here with others."
        layout.empty_page("Runs", "No runs yet", words, sign="bars")
        _undo_bar(session)
        return
    present = [run for run in runs if run.details.status != "archived"]
    experiments = len({run.experiment_id for run in present})
    counts = f"{format_count(len(present), 'run')}, {format_count(experiments, 'experiment')}"
    if len(present) < len(runs):
        counts += f", {len(runs) - len(present):,} archived"
    with layout.header("Runs", counts):
        reference = reference_picker(leaderboard_references(session))
        if st.button("New run", icon=":material/add:", key="runs-new"):
            state.run.show_setup(True)
            open_page("run")
    rows = leaderboard(session, reference)
    shown = _table(session, rows)
    selected = [row for id in state.runs.selected for row in shown if row.run.run_id == id]
    ordered = sorted(selected, key=lambda row: not row.run.details.pinned)  # the others are compared with the first
    _actions(session, ordered)
    if not ordered:
        _frontier(shown)
        return
    left, right = st.columns([1.1, 1], gap="small")
    with left:
        _frontier(shown)
    with right:
        _details(session, ordered, reference)


def _table(session: ProjectSession, rows: Sequence[LeaderboardRow]) -> list[LeaderboardRow]:
    """Draw filter, columns and table, and return the runs that are shown."""
    archived = sum(row.run.details.status == "archived" for row in rows)
    few = ", runs of less than half the documents last" if "n" in _usual_figures(rows) else ""
    order = f"by {_rank_score(rows)}{few}; highlighted: differs from most runs"
    with layout.panel("All runs", order, key="runs-panel") as head:
        with head:
            words = st.text_input(
                "Filter",
                placeholder="Filter by name, tag or setting",
                label_visibility="collapsed",
                key="runs_filter",
                persist_state="session",
                width=240,
            )
            extents = {"differences": "Only differences", "all": "All settings"}
            extent = segments("Settings", extents, default="differences", key="runs_extent", persist_state="session")
            with st.popover("Columns", icon=":material/view_column:"):
                figures = st.pills(
                    "Figures",
                    list(table.FIGURES),
                    selection_mode="multi",
                    default=_usual_figures(rows),
                    format_func=lambda figure: table.FIGURES[figure][0],
                    key="runs_figures",
                    persist_state="session",
                )
                show = f"Show archived runs ({archived})"
                with_archived = bool(archived) and st.toggle(show, key="runs_show_archived", persist_state="session")
        shown = [row for row in rows if with_archived or row.run.details.status != "archived"]
        shown = [row for row in shown if _matches(row, words.lower().split())]
        if not shown:
            line("No run matches the filter." if words else "All runs are archived: show them under Columns.")
            return shown
        columns = table.headings(shown, all_of_them=extent == "all")
        key = f"runs-table-{session.path}"  # another project may have runs with the same ids
        _LEADERBOARD(
            key=key,
            data=table.table_data(shown, columns, figures) | {"selected": state.runs.selected},
            on_selected_change=lambda: _selected(key),
            on_open_change=lambda: _opened(key),
            on_changes_change=lambda: _changed(session, key),
        )
    return shown


def _usual_figures(rows: Sequence[LeaderboardRow]) -> list[str]:
    """Return the figures that are shown by default, without those that add nothing for these runs."""
    usual = list(table.DEFAULT_FIGURES)
    if not any(row.report is not None and row.report.excluded for row in rows):
        usual.remove("strict")  # it equals the score
    if len({row.report.n for row in rows if row.report is not None}) < 2:
        usual.remove("n")
    return usual


def _matches(row: LeaderboardRow, words: Sequence[str]) -> bool:
    details = row.run.details
    text = " ".join([row.run.title, row.run.run_id, *details.tags, details.note, *row.configuration.values()]).lower()
    return all(word in text for word in words)


def _selected(key: str) -> None:
    if (selected := reported(key, "selected")) is not None:
        state.runs.selected = tuple(map(str, selected))


def _opened(key: str) -> None:
    if run_id := reported(key, "open"):
        state.run_id = str(run_id)
        state.next_page = "evaluate"


def _changed(session: ProjectSession, key: str) -> None:
    """Apply the changes of names and pins that the table has sent since the last time."""
    for change in reported(key, "changes") or ():
        if change["number"] <= state.runs.applied:
            continue
        changed = {name: change[name] for name in ("name", "pinned") if name in change}
        run_id = str(change["id"])
        with error_notices():
            _change(session, {run_id: session.run(run_id).details.model_copy(update=changed)})
        state.runs.applied = int(change["number"])


def _change(session: ProjectSession, changes: Mapping[str, RunDetails], done: str = "") -> None:
    """Change the details of runs. ``done`` describes the change for Undo.

    Undo of an earlier change stays without it, and if nothing changes: a second click deletes what is deleted already.
    """
    act = control.change_details(session, changes)
    if done and act:
        state.runs.undo = (done, act)


def _actions(session: ProjectSession, selected: Sequence[LeaderboardRow]) -> None:
    """Draw the actions on the selected runs, and undo of the last deletion."""
    runs = [row.run for row in selected]
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="runs-actions"):
        if not runs:
            line("Select runs to open or compare them. J and K move, X selects, Enter opens, R renames, P pins.")
        else:
            line(Markup("<b>{} selected</b>").format(len(runs)), width="content")
            comparable = _comparable(runs)
            most = run_comparison.MAX_COMPARED
            help = f"Two to {most} runs with the same labels, against the pinned or the first selected one"
            disabled = not 2 <= len(runs) <= most or not comparable
            button("Compare", "runs-compare", _compare, runs, type="primary", disabled=disabled, help=help)
            run = runs[0]
            disabled = len(runs) != 1
            button("Open in Evaluate", "runs-evaluate", _open, run, "evaluate", disabled=disabled)
            button("Open in Review", "runs-review", _open, run, "review", disabled=disabled)
            help = "Test changes with the models, parameters and prompts of this run"
            button("Open in Lab", "runs-lab", _open_in_lab, session, run, disabled=disabled, help=help)
            if all(run.details.status == "archived" for run in runs):
                button("Restore", "runs-archive", _set_status, session, runs, "", type="tertiary")
            else:
                help = "Archived runs are hidden on all other pages. Nothing is deleted."
                button("Archive", "runs-archive", _set_status, session, runs, "archived", type="tertiary", help=help)
            button("Delete", "runs-delete", run_slow, _set_status, session, runs, "deleted", type="tertiary")
        _undo_bar(session)


def _comparable(runs: Sequence[RunRow]) -> bool:
    return len({label_key(run.settings.codebook) for run in runs}) == 1


def _undo_bar(session: ProjectSession) -> None:
    """Draw Undo for the last action of this tab, else for the last deletion, which may be from an earlier session."""
    undo = state.runs.undo
    if undo is None and (deletion := control.last_deletion(session)) is not None:
        act, titles = deletion
        undo = f"{join_names(titles, 2)} deleted.", act
    if undo is not None:
        done, act = undo
        line(done, width="content")
        button("Undo", "runs-undo", state.once, f"undo {act}", partial(_undo, session, act), icon="undo")


def _undo(session: ProjectSession, act: int) -> None:
    control.undo_details(session, act)
    state.runs.undo = None  # after an error, Undo stays


def _set_status(session: ProjectSession, runs: Sequence[RunRow], status: str) -> None:
    changes = {run.run_id: run.details.model_copy(update={"status": status}) for run in runs}
    verb = {"deleted": "deleted", "archived": "archived", "": "restored"}[status]
    _change(session, changes, f"{format_count(len(runs), 'run')} {verb}.")
    if status == "deleted" and (problems := control.kept_batches(session, changes)):
        state.set_notice("warn", " ".join(problems), "Cancel them in the account of the provider.")


def _compare(runs: Sequence[RunRow]) -> None:
    state.compare.runs = tuple(run.run_id for run in runs)
    st.session_state.pop("compare-runs", None)
    state.next_page = "compare"


def _open(run: RunRow, page: Literal["evaluate", "review"]) -> None:
    state.run_id = run.run_id
    state.next_page = page


def _open_in_lab(session: ProjectSession, run: RunRow) -> None:
    """Open the Lab with the models, parameters and prompts of a run."""
    rerun.use_run(session, run)
    state.lab.open_run(run)
    state.next_page = "lab"


def _rank_score(rows: Sequence[LeaderboardRow]) -> str:
    """Return what the score is called by which runs are ranked and compared with their costs."""
    is_strict = any(row.report is not None and (row.report.strict or row.report.excluded) for row in rows)
    return "strict score" if is_strict else "score"


def _frontier(rows: Sequence[LeaderboardRow]) -> None:
    scored = [row for row in rows if row.main is not None]
    with layout.panel(
        "Quality and cost",
        f"green: no other run of the same documents has as high a {_rank_score(rows)} at a lower cost",
        help=charts.FULL_COST,
        key="runs-cost",
    ):
        if not scored:
            line(
                "No run has a score: no document has both a verdict and a reference label. Decide unresolved documents "
                "in Review, or map gold columns on Data."
            )
            return
        unit = scored[0].unit
        points = [
            {
                "name": row.run.title,
                "cost": row.cost[f"{unit}_per_verdict"],
                **estimate_data(row.rank_score, "quality"),
                "efficient": row.efficient,
                "group": row.group,
                "words": ", ".join(filter(None, (row.configuration[heading] for heading in table.ALWAYS))),
            }
            for row in scored
        ]
        quality, score = table.metric_names(scored), _rank_score(rows)
        quality = quality if score == "score" else f"{quality}, {score}"
        charts.frontier(points, key="runs-frontier", unit=unit, quality=quality)


def _details(session: ProjectSession, selected: Sequence[LeaderboardRow], reference: Reference) -> None:
    runs = [row.run for row in selected]
    if len(runs) == 1:
        _one_run(session, selected[0])
    else:
        others = runs[1].title if len(runs) == 2 else format_count(len(runs) - 1, "run")
        with layout.panel(f"{others} against {runs[0].title}", key="runs-details"):
            if _comparable(runs) and all(run.verdicts for run in runs):
                for pair in run_comparison.comparison(
                    session, [run.run_id for run in runs[: run_comparison.MAX_COMPARED]], reference
                ).pairs:
                    line(pair.sentence)
            results = [table.results(row) for row in selected]
            run_differences(runs, [(name, " → ".join(result[name] for result in results)) for name in results[0]])


def _one_run(session: ProjectSession, row: LeaderboardRow) -> None:
    run, details = row.run, row.run.details

    def change(**changed: Any) -> None:
        """Change one detail of those that are stored now: another tab may have changed the others."""
        _change(session, {run.run_id: session.run(run.run_id).details.model_copy(update=changed)})

    with layout.panel(run.title, f"{run.run_id}, {run_date(run)}", key="runs-details"):
        parts = table.parts_that_differ(row.configuration)
        facts([*table.results(row).items(), *((heading, row.configuration[heading]) for heading in parts)])
        st.multiselect(
            "Tags",
            sorted({tag for run in session.all_runs() for tag in run.details.tags}),
            accept_new_options=True,
            placeholder="Add a tag",
            **bound(f"runs-tags-{run.run_id}", list(details.tags), lambda tags: change(tags=tuple(tags))),
        )
        st.text_area(
            "Note",
            max_chars=4000,
            height=80,
            **bound(f"runs-note-{run.run_id}", details.note, lambda note: change(note=note)),
        )


main()
