"""Status of a run: title, badge, stop notice, queue and savings."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from html import escape

import streamlit as st

from app.widgets.alerts import Tone, error_box, notice
from core.debate import protocols
from core.errors import MootError
from core.formatting import format_count, format_money, plural
from core.runs import RunRow, State
from core.services import templates
from core.services.runs.control import RunOverview, suggest_budget
from core.services.runs.costs import AdaptiveSavings, FromStore

TONES: dict[State, Tone] = {
    "queued": "", "running": "run", "paused": "unres", "done": "right", "stopped": "unres", "failed": "wrong",
}  # fmt: skip
PENDING = {"paused": "pausing", "stopped": "stopping"}

Act = Callable[[], None]


def badge(overview: RunOverview) -> tuple[str, Tone]:
    """Return the text and the tone of the status badge."""
    if overview.pending_state is not None:
        return PENDING.get(overview.pending_state, overview.pending_state), "unres"
    if overview.stop_code == "interrupted":
        return "interrupted", "unres"
    return overview.state, TONES[overview.state]


def sub_line(overview: RunOverview, file_name: str) -> str:
    """Return the subtitle of a run, such as "ECJ on reviews.csv, codebook v1, iteration 1 of 3"."""
    settings = overview.run.settings
    card = protocols.of(settings)
    title = card.name.upper() if len(card.name) <= 4 else card.title
    parts = [f"{title} on {file_name or 'the documents'}", f"codebook v{settings.codebook_version}"]
    own = templates.cited_versions(settings)
    if own:
        parts.append(f"custom prompts: {', '.join(own)}")
    if overview.siblings > 1:
        parts.append(f"iteration {settings.iteration + 1} of {overview.siblings}")
    return ", ".join(parts)


def stop_notice(
    overview: RunOverview,
    last_reply: float | None,
    open_debates: int,
    *,
    resume: Act,
    stop: Act,
    raise_to: Callable[[float], None],
) -> bool:
    """Draw the reason why the run is not running, with the possible actions.

    Returns True if a notice was drawn. A run that the user paused has no notice, because the board shows the pause.
    """
    run = overview.run
    name = f"Run {run.run_id}"
    if overview.error is not None and overview.state == "failed":
        if isinstance(overview.error, MootError):
            error_box(overview.error)
        else:
            notice("error", f"{name} failed: internal error", f"{type(overview.error).__name__}: {overview.error}")
        _choices(resume, None)
        return True
    at = f"{overview.ended:,} of {run.documents:,}"
    match overview.stop_code:
        case "interrupted":
            until = time.strftime(" until %H:%M:%S", time.localtime(last_reply)) if last_reply else ""
            more = f" {format_count(open_debates, 'open debate')} will continue." if open_debates else ""
            notice(
                "warn",
                f"{name} was interrupted at {at}",
                f"All replies{until} are saved and will not be paid for again.{more}",
            )
        case "budget":
            budget, spent = run.budget_usd or 0.0, run.cost_usd or 0.0
            rest = spent / overview.ended * overview.left if overview.ended else None
            cost = f" The other {overview.left:,} will cost about {format_money(rest)} at this rate." if rest else ""
            notice("warn", f"Paused at ${spent:,.2f} of ${budget:,.2f}", f"{at} done.{cost}")
            _raise(run, raise_to, stop)
            return True
        case "errors":
            notice(
                "error",
                f"{name} is {overview.state} at {at}",
                f"{run.message}\nFix the problem and resume; no reply is paid for twice.",
            )
        case "batch":
            notice(
                "info", f"{name} waits for its batch at {at}", f"{run.message}. Resume to collect the finished replies."
            )
        case "on_hold":
            notice("info", f"{name} is on hold", f"It was {run.message}. Resume to queue it again.")
        case _:
            return False
    _choices(resume, stop if overview.state == "paused" else None)
    return True


def _choices(resume: Act, stop: Act | None) -> None:
    with st.container(horizontal=True, gap="small"):
        st.button("Resume", type="primary", key="box-resume", on_click=resume)
        if stop is not None:
            st.button("Stop", key="box-stop", on_click=stop)


def _raise(run: RunRow, raise_to: Callable[[float], None], stop: Act) -> None:
    offer = suggest_budget(run)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.button(f"Raise to ${offer:,.2f}", type="primary", key="box-raise", on_click=raise_to, args=(offer,))
        other = st.number_input(
            "New budget in dollars", min_value=0.01, value=offer, format="%.2f", width=150,
            label_visibility="collapsed", key=f"box-ceiling-{run.run_id}-{run.budget_usd}",
        )  # fmt: skip
        if other != offer:
            st.button(f"Raise to ${other:,.2f}", key="box-raise-other", on_click=raise_to, args=(other,))
        st.button("Stop", key="box-stop", on_click=stop)


def queue_strip(
    rows: Sequence[RunRow],
    held: Sequence[RunRow],
    *,
    remove: Callable[[str], None],
    resume_all: Act,
    moving: str | None,
    watch: Callable[[str], None],
) -> None:
    """Draw the active run (``moving``) if another run is shown, the queued runs, and the runs on hold."""
    if not rows and not held and moving is None:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="queue"):
        if moving is not None:
            st.html('<div class="moot-line q">Active:</div>', width="content")
            st.button(f"Watch {moving}", icon=":material/visibility:", key="watch", on_click=watch, args=(moving,))
        if rows:
            st.html('<div class="moot-line q">Queue:</div>', width="content")
        for row in rows:
            iteration = row.settings.iteration + 1
            st.button(
                f"{row.run_id}, iteration {iteration}" if iteration > 1 else f"{row.run_id}, {row.settings.protocol}",
                icon=":material/close:",
                icon_position="right",
                key=f"unqueue-{row.run_id}",
                help=f"Remove run {row.run_id} from the queue",
                on_click=remove,
                args=(row.run_id,),
            )
        if held:
            names = ", ".join(row.run_id for row in held)
            st.html(f'<div class="moot-line q">On hold: {escape(names)}</div>', width="content")
            st.button("Resume all" if len(held) > 1 else "Resume", key="resume-on-hold", on_click=resume_all)


def run_words(run: RunRow) -> str:
    """Return a run's option in the picker, without counts that would be out of date while the run is active."""
    return f"{run.run_id}, {run.settings.protocol}, {run.documents:,}"


def saved_strip(run: RunRow, store: FromStore, adaptive: AdaptiveSavings | None) -> None:
    """Draw one line for each kind of saving. Draws nothing if there are no savings."""
    lines = [line for line in (_adaptive(adaptive), _from_store(store), _cached(run)) if line]
    if lines:
        st.html("".join(f'<div class="moot-line q">{line}</div>' for line in lines))


def _from_store(store: FromStore) -> str:
    if not store.replies:
        return ""
    worth = f", saving {escape(format_money(store.cost_usd))}" if store.cost_usd else ""
    return (
        f"<b>{store.replies:,}</b> {plural(store.replies, 'reply was', 'replies were')} reused "
        f"({store.tokens:,} tokens{worth})."
    )


def _cached(run: RunRow) -> str:
    if not run.cached_tokens or not run.prompt_tokens:
        return ""
    share = run.cached_tokens / run.prompt_tokens
    return f"<b>{share:.0%}</b> of the prompt tokens came from the servers' prompt caches."


def _adaptive(left_out: AdaptiveSavings | None) -> str:
    if left_out is None or not (left_out.short + left_out.audited + left_out.full):
        return ""
    spared = f" This saved about <b>{left_out.calls_saved:,}</b> calls" if left_out.calls_saved else ""
    if spared and left_out.cost_saved_usd:
        spared += f", {escape(format_money(left_out.cost_saved_usd))}"
    lost = " No audits yet."
    if left_out.audited and left_out.interval is not None:
        low, high = left_out.interval.low, left_out.interval.high
        lost = (
            f" Of {left_out.audited:,} audited by a full debate, <b>{left_out.changed:,}</b> changed "
            f"(95% interval {low:.0%} to {high:.0%} of early decisions)."
        )
    head = f"<b>{left_out.share:.0%}</b> of the documents were decided early, without a full debate."
    return f"{head}{spared}{'.' if spared else ''}{lost}"
