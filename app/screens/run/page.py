"""Run page: set up, start, watch and control runs.

A run has a header with its controls, a stop notice, the queue, savings and the live board.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from app import context
from app.components import component
from app.screens.run import setup
from app.state import RunState, SessionState, bound, run_slow, state
from app.widgets import layout
from app.widgets.alerts import STATE_TONES, Tone, error_box, notice
from app.widgets.elements import button, choose, line, literal, saved
from app.widgets.labels import label_data, role_data
from app.widgets.run_picker import name_with_size
from core.debate import protocols
from core.errors import MootError
from core.formatting import format_clock, format_count, format_money, format_percent, plural
from core.runs import RunRow
from core.services import prompt_templates
from core.services.data.overview import source_name
from core.services.evaluation import ambiguity
from core.services.project_session import ProjectSession
from core.services.runs import control, cost_estimate, planning, rerun
from core.services.runs.configuration import name_iteration
from core.services.runs.control import RunOverview
from core.stats.intervals import format_interval

_LIVE_RUN = component("live_run")
PENDING = {"paused": "pausing", "stopped": "stopping"}


def main() -> None:
    """Draw the page: the setup of a new run, or the selected run."""
    session = context.require_project()
    active = set(session.active_runs())
    runs = [run for run in session.all_runs() if run.details.status != "archived" or run.run_id in active]
    if state.run.setup_open or not runs:
        with layout.header("Run", "new run" if runs else "first run"):
            saved(state.saved_at.get("plan"))
            _run_picker(runs, RunState.NEW)
            if runs:
                button("Back to runs", "run-back", state.run.show_setup, False)
        setup.draw(session, first=not runs)
    else:
        run_id = state.run_id
        if run_id not in {run.run_id for run in runs}:
            run_id = next(iter(session.active_runs()), runs[-1].run_id)
        _draw_run(session, run_id, lambda: _run_picker(runs, run_id))


def _run_picker(runs: Sequence[RunRow], shown: str) -> None:
    if not runs:
        return

    def select(run_id: str) -> None:
        state.run_id = run_id
        state.run.show_setup(False)

    layout.write_url(run=shown)
    titles = {RunState.NEW: "New run"} if shown == RunState.NEW else {}
    # without counts that would be out of date while a run is active
    titles |= {run.run_id: name_with_size(run) for run in reversed(runs)}
    choose(st.selectbox, "Run", titles, width=300, **bound("run-picker", shown, select))


# -- one run


def _draw_run(session: ProjectSession, run_id: str, run_picker: Callable[[], None]) -> None:
    """Draw a run with its buttons and its live board. If it has ended since the last time, show the next active run."""
    overview = control.run_overview(session, run_id)
    run, active = overview.run, overview.state in ("running", "queued")
    ended = overview.state == "done" and state.run.unfinished == run_id  # while this tab showed it
    state.run.unfinished = None if overview.state == "done" else run_id
    if ended:
        planning.note_run_watched(session, run)
        if others := [other for other in session.active_runs() if other != run_id]:
            state.run_id = others[0]
            st.rerun()

    explained = overview.pending_state is None and (
        overview.stop_code not in ("", "user") or (overview.state == "failed" and overview.error is not None)
    )
    word, tone = _badge(overview)
    with layout.header(
        "Run",
        _subtitle(overview, source_name(session)),
        badge=word,
        tone=tone,
        dot=overview.state == "running",
        key="run-header",
    ):
        run_picker()
        _buttons(session, overview, explained=explained)
        button("New run", "new-run", state.run.show_setup, True, icon="add")
    if explained:
        _stop_notice(session, overview)
    if overview.truncation:
        notice("warn", "Replies reached their output limit", overview.truncation)
    for sentence in overview.kept_addresses:
        notice("warn", "This run keeps its address", f"{sentence} A new run uses it, and pays for new replies.")
    _queue(session, overview)
    _board(session, overview, explained=explained)
    if not active:
        _savings(run, cost_estimate.reused_replies(session, run_id), cost_estimate.adaptive_savings(session, run))


def _board(session: ProjectSession, overview: RunOverview, *, explained: bool) -> None:
    """Draw the live board. ``explained`` is True if the page explains why the run is not running."""
    run = overview.run
    roles = {role.name: role for role in protocols.roles_of(run.settings)}
    titles = role_data({name: role.title for name, role in roles.items()})
    # The debates come from /moot/live and not from reruns. The component reports a state other than the page's.
    _LIVE_RUN(
        key="live-run",
        data={
            "run": context.live_name(session, run.run_id),
            "labels": label_data(run.settings.codebook),
            "roles": [{**row, "group": roles[row["role"]].group} for row in titles],
            "kind": run.settings.codebook.kind,
            "state": overview.state,
            "budget": run.budget_usd,
            "slots": max(8, min(20, 2 * run.settings.concurrency)),
            "explained": explained,
            "layout": protocols.for_settings(run.settings).layout,
        },
        on_state_change=lambda: None,
    )


def _badge(overview: RunOverview) -> tuple[str, Tone]:
    if overview.pending_state is not None:
        return PENDING.get(overview.pending_state, overview.pending_state), "unres"
    if overview.stop_code == "interrupted":
        return "interrupted", "unres"
    return overview.state, STATE_TONES.get(overview.state, "")


def _subtitle(overview: RunOverview, file_name: str) -> str:
    """Return the subtitle of a run, such as "reviews.csv, codebook v1, iteration 1 of 3"."""
    settings = overview.run.settings
    title = protocols.short_title(settings)
    source = file_name or "the documents"
    parts = [source if overview.run.details.name else f"{title} on {source}", f"codebook v{settings.codebook_version}"]
    if prompts := ", ".join(prompt_templates.own_prompts(settings).values()):
        parts.append(f"prompts: {prompts}")
    if overview.siblings > 1:
        parts.append(f"{name_iteration(settings)} of {overview.siblings}")
    return ", ".join(parts)


def _buttons(session: ProjectSession, overview: RunOverview, *, explained: bool) -> None:
    run, status = overview.run, overview.state

    pending = overview.pending_state
    of_run = (session, run.run_id)
    if status == "running":
        help = "Finish the calls in flight, then pause"
        button("Pause", "pause", control.pause, *of_run, icon="pause", help=help, disabled=pending is not None)
        help = "Cancel the calls in flight; all replies so far are kept"
        button("Stop", "stop", run_slow, control.stop, *of_run, icon="stop", help=help, disabled=pending == "stopped")
    elif status == "queued":
        button("Remove from queue", "unqueue", run_slow, control.stop, *of_run)
    elif not explained and overview.unfinished and status in ("paused", "stopped", "failed"):
        button("Resume", "resume", run_slow, control.resume, *of_run, icon="play_arrow", type="primary")
        if status == "paused":
            help = "Keep the results so far; the run can be resumed later"
            button("End run", "end-run", run_slow, control.stop, *of_run, help=help)
    if status in ("running", "queued"):
        return

    def set_up_rerun() -> None:
        plan = rerun.plan_from_run(run)
        planning.save_plan(session, ambiguity.with_documents_of(session, plan, run))
        state.run.show_setup(True)

    help = (
        "Set up another run with these settings. Replies to unchanged requests are reused: if you change only the "
        "judge, only the judge is paid."
    )
    button("Run again", "again", set_up_rerun, icon="redo", help=help)
    if failed := overview.retryable.get("failed"):
        retry = partial(run_slow, control.resume, *of_run, retry_failed=True)
        button(f"Retry {failed:,} failed", "retry-failed", retry, icon="replay")
    unresolved = overview.retryable.get("unresolved")
    if unresolved and not run.settings.is_builtin:  # a word list replies the same again
        retry = partial(run_slow, control.resume, *of_run, retry_unresolved=True)
        help = "Ask again for replies that failed or could not be read; the others are kept"
        button(f"Retry {unresolved:,} unresolved", "retry-unresolved", retry, icon="replay", help=help)


def _budget_notice(run: RunRow, unfinished: int, at: str) -> None:
    spent = run.cost_usd or 0.0
    expected = spent / run.ended * unfinished if run.ended else None
    cost = f" The other {unfinished:,} will cost about {format_money(expected)} at this rate." if expected else ""
    paused = f"Paused at {format_money(spent)} of {format_money(run.budget_usd)}"
    left = (run.budget_usd or 0.0) - spent
    rest = f"The remaining {format_money(left)} may not cover another call." if left > 0 else "The budget is spent."
    notice("warn", paused, f"{at} done. {rest}{cost}")


def _stop_notice(session: ProjectSession, overview: RunOverview) -> None:
    run = overview.run
    name, at = run.title, f"{run.documents - overview.unfinished:,} of {run.documents:,}"
    if overview.state == "failed" and isinstance(overview.error, MootError):
        error_box(overview.error)
    elif overview.state == "failed" and overview.error is not None:
        notice("error", f"{name} failed: internal error", f"{type(overview.error).__name__}: {overview.error}")
    else:
        match overview.stop_code:
            case "budget":
                _budget_notice(run, overview.unfinished, at)
                _budget(session, run)
                return
            case "interrupted":
                until = f" until {format_clock(overview.last_reply)}" if overview.last_reply else ""
                open_debates = overview.open_debates
                more = f" {format_count(open_debates, 'open debate')} will continue." if open_debates else ""
                text = f"All replies{until} are saved and will not be paid for again.{more}"
                notice("warn", f"{name} was interrupted at {at}", text)
            case "errors":
                text = f"{run.message}\nFix the problem and resume; no reply is paid for twice. "
                text += "The run keeps its models: to choose others, press Run again."
                notice("error", f"{name} is {overview.state} at {at}", text)
            case "batch":
                text = f"{run.message}. Resume to collect the finished replies."
                notice("info", f"{name} waits for its batch at {at}", text)
            case "on_hold":
                text = f"It was put on hold with {session.run_name(run.message)}. Resume to queue it again."
                notice("info", f"{name} is on hold", text)
    with st.container(horizontal=True, gap="small"):
        button("Resume", "box-resume", run_slow, control.resume, session, run.run_id, type="primary")
        if overview.state == "paused":
            button("End run", "box-stop", run_slow, control.stop, session, run.run_id)


def _budget(session: ProjectSession, run: RunRow) -> None:
    offer = control.suggest_budget(session, run)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        other = st.number_input(
            "New budget in dollars",
            min_value=0.01,
            value=offer,
            format="%.2f",
            width=150,
            label_visibility="collapsed",
            key=f"box-ceiling-{run.run_id}-{run.budget_usd}",
        )
        raise_budget = partial(run_slow, control.raise_budget, session, run.run_id, other)
        button(f"Raise to {format_money(other)}", "box-raise", raise_budget, type="primary")
        button("End run", "box-stop", run_slow, control.stop, session, run.run_id)


def _queue(session: ProjectSession, overview: RunOverview) -> None:
    """Draw the active run if another run is shown, the queued runs, and the runs on hold."""
    run_id = overview.run.run_id
    active = next((other for other in session.active_runs() if session.state(other) == "running"), run_id)
    queued = [row for row in control.queued_runs(session) if row.run_id != run_id]
    on_hold: Sequence[RunRow] = ()
    if overview.state in ("done", "stopped"):
        on_hold = [row for row in control.runs_on_hold(session) if row.run_id != run_id]
    if not queued and not on_hold and active == run_id:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="queue"):
        if active != run_id:
            line("Active:", "q", width="content")
            watch = literal(f"Watch {session.run_name(active)}")
            button(watch, "watch", SessionState.run_id.set, active, icon="visibility")
        if queued:
            line("Queue:", "q", width="content")
        for row in queued:
            options = {"icon_position": "right", "help": "Remove this run from the queue"}
            key, stop = f"unqueue-{row.run_id}", partial(run_slow, session.stop, row.run_id)
            button(literal(row.title), key, stop, icon="close", **options)
        if on_hold:
            names = ", ".join(row.title for row in on_hold)
            line(f"On hold: {names}", "q", width="content")
            resume = partial(run_slow, control.start_runs, session, on_hold)
            button("Resume all" if len(on_hold) > 1 else "Resume", "resume-on-hold", resume)


def _savings(run: RunRow, reused: cost_estimate.FromStore, adaptive: cost_estimate.AdaptiveSavings | None) -> None:
    """Draw one line for each kind of saving. Draws nothing if there are no savings."""
    lines = [_adaptive_savings(adaptive)] if adaptive is not None and adaptive.ended else []
    if reused.replies:
        cost = f", saving {format_money(reused.cost_usd)}" if reused.cost_usd else ""
        replies = plural(reused.replies, "reply was", "replies were")
        lines.append(f"<b>{reused.replies:,}</b> {replies} reused ({reused.tokens:,} tokens{cost}).")
    if run.cached_tokens and run.prompt_tokens:
        share = format_percent(run.cached_tokens / run.prompt_tokens)
        lines.append(f"<b>{share}</b> of the prompt tokens came from the servers' prompt caches.")
    if lines:
        st.html("".join(f'<div class="moot-line q">{words}</div>' for words in lines))


def _adaptive_savings(adaptive: cost_estimate.AdaptiveSavings) -> str:
    text = f"<b>{format_percent(adaptive.share)}</b> of the documents were decided early, without a full debate."
    saved, dollars = adaptive.calls_saved or 0, adaptive.cost_saved_usd or 0.0
    if saved > 0:
        cost = f", {format_money(dollars)}" if dollars > 0 else ""
        text += f" This saved about <b>{saved:,}</b> calls{cost}."
    elif saved < 0:
        text += f" The second extractor took about <b>{-saved:,}</b> calls more than this saved."
    if not adaptive.audited or adaptive.interval is None:
        return f"{text} No audits yet."
    interval = format_interval(adaptive.interval, "percent", named=True)
    return (
        f"{text} Of {adaptive.audited:,} audited by a full debate, <b>{adaptive.changed:,}</b> changed "
        f"({interval} of early decisions)."
    )


main()
