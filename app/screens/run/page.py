"""Run page: set up, start, watch and control runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from app import context
from app.pages import open_page, page_link
from app.screens.run import setup, status
from app.screens.run.setup import ask_first, long_documents
from app.screens.run.status import saved_strip
from app.state import state, with_value
from app.widgets import layout
from app.widgets.alerts import error_box, notice, probe_notice
from app.widgets.common import heading, saved
from app.widgets.empty_state import empty
from app.widgets.layout import header
from app.widgets.live_run import live_run
from core.debate import protocols
from core.errors import MootError, UsageError
from core.formatting import join_names
from core.runs import RunRow, RunSettings
from core.services import examples, templates
from core.services.evaluation import ambiguity
from core.services.runs import comparison, control, costs, planning, preview, prices, rerun
from core.services.runs.preview import preview_requests
from core.services.session import ProjectSession

NEW = "new"  # option of the run picker while a new run is set up


def run_selectbox(rows: list[RunRow], shown: str) -> None:
    """Draw the select box of the project's runs, latest first."""
    if not rows:
        return
    by_id = {row.run_id: row for row in reversed(rows)}
    options = [NEW, *by_id] if shown == NEW else list(by_id)

    def chosen() -> None:
        state.select_run(st.session_state["run-picker"])
        state.run.show_setup(False)

    if shown != NEW:
        layout.write_url(run=shown)
    st.selectbox(
        "Run",
        options,
        format_func=lambda id: "New run" if id == NEW else status.run_words(by_id[id]),
        key=with_value("run-picker", shown),
        on_change=chosen,
        label_visibility="collapsed",
        width=190,
    )


def shown_run(session: ProjectSession, rows: list[RunRow]) -> str:
    """Return the id of the shown run: the selected run, else the active run, else the latest run."""
    wanted = state.run_id
    if wanted is not None and any(row.run_id == wanted for row in rows):
        return wanted
    return next(iter(session.active_runs()), rows[-1].run_id)


def source_name(session: ProjectSession) -> str:
    """Return the name of the imported file or the number of files, empty for no file."""
    names = list(dict.fromkeys(made.file_name for made in session.store.documents.imports() if made.file_name))
    return names[0] if len(names) == 1 else f"{len(names)} files" if names else ""


# -- before a run


def setup_screen(session: ProjectSession, rows: list[RunRow]) -> None:
    """Draw the setup of a run: a summary, the settings and the start buttons."""
    with header("Run", "new run" if rows else "first run", key="setup-header"):
        saved(state.models.plan_saved_at)
        run_selectbox(rows, NEW)
        if rows:
            st.button("Back to runs", on_click=state.run.show_setup, args=(False,))
    count = session.store.documents.count()
    version = session.store.codebooks.latest()
    if count == 0:
        if empty("No documents yet", "A run needs documents: import a file with one text per row.", ("Open Data",),
                 sign="lines", key="no-documents"):  # fmt: skip
            open_page("data")
        return
    if version is None or not version.codebook.labels:
        if empty("No labels yet", "Add at least one label to the codebook.", ("Open Codebook",),
                 key="no-labels"):  # fmt: skip
            open_page("codebook")
        return
    plan = planning.load_plan(session)

    def save(changed: planning.Plan) -> None:
        planning.save_plan(session, changed)
        state.models.note_plan_saved()

    left, right = st.columns((1.75, 1), gap="medium")
    with right, st.container(border=True, key="settings"):
        heading("Settings")
        try:
            setup.settings(plan, version.codebook, count, save, ambiguity.prepasses(session))
        except MootError as error:
            error_box(error)
        setup.codebook_words(version.codebook, version.version)
        page_link("models", "Models")
        page_link("codebook", "Codebook")
        if plan.protocol == planning.PANEL:
            page_link("personas", "Personas")
    with left:
        try:
            ids = ambiguity.chosen(session, replace(plan, limit=None), session.store.documents.ids())
            settings = planning.build_settings(
                plan.for_protocol(),
                version.codebook,
                version.version,
                session.models,
                own=templates.promoted_templates(session),
            )
        except MootError as error:
            error_box(error)
            page_link("models", "Models")
            return
        count = len(ids)
        whole = costs.estimate_run(session, settings, count, iterations=plan.iterations)
        with st.container(border=True, key="ready"):
            few = min(plan.limit or setup.PILOT, count)
            pilot = costs.estimate_run(session, settings, few)
            pressed = setup.ready(plan, version.codebook, count, pilot, first=not rows)
            if pressed is not None and state.run.is_first_click():
                begin(session, [settings], lambda: start(session, settings, plan, ids[:pressed]))
            for probe in state.run.probes:
                probe_notice(probe, _who(protocols.roles_of(settings), probe.roles))
            if any(probe.stops for probe in state.run.probes):
                page_link("models", "No cost incurred. Fix it on the Models page.")
            st.button("Add to comparison", icon=":material/playlist_add:", key="compare-add",
                      on_click=add_to_comparison, args=(session, plan), type="tertiary",
                      help="Start several protocols or models on the same documents with one click")  # fmt: skip
        if comparison.load_plans(session):
            with st.container(border=True, key="comparison"):
                members = comparison.prepare(session, version.codebook, version.version, count)
                wanted = setup.comparison_panel(
                    members, few, lambda place: comparison.remove(session, place), lambda: comparison.clear(session)
                )
                if wanted is not None and state.run.is_first_click():
                    settled = [member.settings for member in members.members if member.settings is not None]
                    begin(session, settled, lambda: start_comparison(session, members, ids[:wanted]))
        warnings_slot = st.container()  # filled last: the first check of the labels takes a second
        with st.container(border=True, key="estimate"):
            setup.estimate_table(whole)
        with st.expander("Prompt of each role"):
            sample = session.store.documents.page(0, 1)[0]
            setup.prompts(preview_requests(settings, sample), sample.id)
        with warnings_slot:
            chosen = ids[: plan.limit] if plan.limit else ids
            setup.usable_warnings(
                [*planning.baseline_warnings(settings), *examples.example_warnings(session.store, settings, chosen)]
            )
            long_documents(
                settings, preview.context_overflows(settings, session.models, session.store.documents.longest)
            )


def begin(session: ProjectSession, settings: Sequence[RunSettings], go: Callable[[], None]) -> None:
    """Start runs. If the price of a model is unknown, ask for confirmation first."""
    unpriced = tuple(dict.fromkeys(spec for each in settings for spec in prices.unpriced_models(session.models, each)))
    if unpriced:
        ask_first(unpriced, go)
    else:
        go()


def add_to_comparison(session: ProjectSession, plan: planning.Plan) -> None:
    """Add the plan to the comparison."""
    try:
        comparison.add(session, plan)
    except UsageError as error:
        state.set_notice("warn", error.message, error.remedy)


def start_comparison(session: ProjectSession, members: comparison.Comparison, ids: Sequence[str]) -> None:
    """Test each model of all members. If no test stops the start, queue a run for each member."""
    with st.spinner("Testing each model …"):
        probes = [
            probe
            for member in members.members
            if member.settings is not None
            for probe in planning.probe_all(member.settings, session.models, session.engine)
        ]
    state.run.probes = tuple(probes)
    if any(probe.stops for probe in probes):
        st.rerun()
    made = comparison.start(session, members, ids)
    control.start_runs(session, made)
    state.run.show_setup(False)
    state.select_run(made[0].run_id)
    st.rerun()


def start(session: ProjectSession, settings: RunSettings, plan: planning.Plan, ids: Sequence[str]) -> None:
    """Test each model. If no test stops the start, create the runs and queue them."""
    with st.spinner("Testing each model …"):
        probes = planning.probe_all(settings, session.models, session.engine)
    state.run.probes = probes
    if any(probe.stops for probe in probes):
        st.rerun()
    made = planning.create_runs(session, settings, ids, iterations=plan.iterations)
    control.start_runs(session, made)
    state.run.show_setup(False)
    state.select_run(made[0].run_id)
    failed = [f"{probe.error.message} {probe.error.remedy}".strip() for probe in probes if probe.error is not None]
    odd = ", ".join(
        dict.fromkeys(probe.role_model.spec for probe in probes if probe.error is None and not probe.in_format)
    )
    if failed:
        state.set_notice("warn", "Started, although not every model answered", "\n".join(dict.fromkeys(failed)))
    elif odd:
        state.set_notice("warn", f"{odd} did not answer in the expected format", "The run was started anyway.")
    st.rerun()


def _who(known: Sequence[protocols.Role], roles: tuple[str, ...]) -> str:
    return join_names([role.title for role in known if role.name in roles])


# -- a run


def run_screen(session: ProjectSession, rows: list[RunRow], run_id: str) -> None:
    """Draw a run with its buttons and its live board."""
    now = control.run_overview(session, run_id)
    run = now.run

    def act(action: Callable[..., None], **options: bool) -> None:
        """Apply a control action to the run and report user errors."""
        try:
            action(session, run_id, **options)
        except UsageError as error:
            state.set_notice("error", error.message, error.remedy)

    def raise_to(dollars: float) -> None:
        try:
            control.raise_budget(session, run_id, dollars)
        except UsageError as error:
            state.set_notice("error", error.message, error.remedy)

    boxed = now.pending_state is None and (
        now.stop_code not in ("", "user") or (now.state == "failed" and now.error is not None)
    )
    word, tone = status.badge(now)
    with header(session.run_name(run_id), status.sub_line(now, source_name(session)), badge=word, tone=tone,
                dot=now.state == "running", key="run-header"):  # fmt: skip
        run_selectbox(rows, run_id)
        buttons(now, act, boxed=boxed)
        st.button("New run", icon=":material/add:", key="new-run", on_click=state.run.show_setup, args=(True,))
    if boxed:
        last, talking = session.store.finished_debates.last_reply(run_id)
        status.stop_notice(
            now, last, talking, resume=lambda: act(control.resume), stop=lambda: act(control.stop), raise_to=raise_to
        )
    if now.state not in ("running", "queued"):
        warning = preview.describe_truncation(run, session.store.finished_debates.truncated_replies(run_id))
        if warning:
            notice("warn", "Replies reached their output limit", warning)
    moving = next((other for other in session.active_runs() if session.state(other) == "running"), None)
    status.queue_strip(
        [row for row in control.queued_runs(session) if row.run_id != run_id],
        [row for row in control.runs_on_hold(session) if row.run_id != run_id]
        if now.state in ("done", "stopped")
        else [],
        resume_all=lambda: control.resume_runs_on_hold(session),
        remove=lambda other: control.remove_from_queue(session, other),
        moving=moving if moving != run_id else None,
        watch=state.select_run,
    )

    if now.state not in ("running", "queued"):
        saved_strip(run, costs.reused_replies(session, run_id), costs.adaptive_savings(session, run))

    def follow() -> None:
        """Show the next active run when the shown run is done."""
        others = [other for other in session.active_runs() if other != run_id]
        if others and session.state(run_id) == "done":
            state.select_run(others[0])

    live_run(
        context.live_name(session, run_id),
        run.settings.codebook,
        {role.name: role.title for role in protocols.roles_of(run.settings)},
        state=now.state,
        budget=run.budget_usd,
        slots=max(8, min(20, 2 * run.settings.concurrency)),
        explained=boxed,
        groups={role.name: role.group for role in protocols.roles_of(run.settings)},
        layout=protocols.of(run.settings).layout,
        key="live-run",
        on_state=follow,
    )


def set_up_rerun(run: RunRow) -> None:
    """Open the setup with the settings of this run."""
    planning.save_plan(context.require_project(), rerun.plan_from_run(run))
    state.run.show_setup(True)


def buttons(now: control.RunOverview, act: Callable[..., None], *, boxed: bool) -> None:
    """Draw the buttons that control a run, depending on its state."""
    run, state_now = now.run, now.state
    if state_now == "running":
        st.button(
            "Pause", icon=":material/pause:", key="pause", on_click=act, args=(control.pause,),
            disabled=now.pending_state is not None, help="Finish the calls in flight, then pause",
        )  # fmt: skip
        st.button(
            "Stop", icon=":material/stop:", key="stop", on_click=act, args=(control.stop,),
            disabled=now.pending_state == "stopped", help="Cancel the calls in flight; all replies so far are kept",
        )  # fmt: skip
    elif state_now == "queued":
        st.button("Remove from queue", key="unqueue", on_click=act, args=(control.stop,))
    elif not boxed and now.left and state_now in ("paused", "stopped", "failed"):
        st.button(
            "Resume", icon=":material/play_arrow:", type="primary", key="resume", on_click=act, args=(control.resume,)
        )
        if state_now == "paused":
            st.button("Stop here", key="stop-here", on_click=act, args=(control.stop,))
    if state_now not in ("running", "queued"):
        st.button(
            "Run again", icon=":material/redo:", key="again", on_click=set_up_rerun, args=(run,),
            help="Set up another run with these settings. Replies to unchanged requests are reused: if you change only "
            "the judge, only the judge is paid",
        )  # fmt: skip
        if run.failed:
            st.button(
                f"Retry {run.failed:,} failed", icon=":material/replay:", key="retry-failed", on_click=act,
                args=(control.resume,), kwargs={"retry_failed": True},
            )  # fmt: skip
        if run.unresolved:
            st.button(
                f"Retry {run.unresolved:,} unresolved", icon=":material/replay:", key="retry-unresolved",
                on_click=act, args=(control.resume,), kwargs={"retry_unresolved": True},
                help="Ask again for decisions that could not be read; the others are kept",
            )  # fmt: skip


here = context.require_project()
known = here.store.runs.all()
if state.run.setup_open or not known:
    setup_screen(here, known)
else:
    run_screen(here, known, shown_run(here, known))
