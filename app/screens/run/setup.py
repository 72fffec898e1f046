"""How the asks of a run reach the models: streamed calls, or files of requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

from app.screens.run.error_handling import handling
from app.screens.run.protocol_params import parameters
from app.widgets.alerts import notice, raw_text
from app.widgets.common import bound, heading, line, money, room_link
from app.widgets.labels import tags, tile_html
from core.codebook import Codebook
from core.debate import protocols
from core.debate.spec import Params, ProtocolSpec
from core.runs import BUILTIN, EngineSettings
from core.services.runs.estimates import Estimate
from core.services.runs.planning import Plan
from core.services.runs.preview import Sent

NAMES = {
    "live": "Live, streamed",
    "batch": "In batches, within a day",
    "ray": "On a Ray cluster",
}


def driver(plan: Plan, save: Callable[[Plan], None]) -> None:
    """The box that chooses, and a folder for files that are answered by hand; each change goes to ``save`` at once."""

    def change() -> None:
        save(replace(plan, engine=EngineSettings(name=st.session_state["run-engine"])))

    def change_folder() -> None:
        folder = st.session_state["run-batch-dir"].strip()
        save(replace(plan, engine=plan.engine.model_copy(update={"batch_dir": folder})))

    st.selectbox(
        "How to ask",
        list(NAMES),
        format_func=NAMES.__getitem__,
        key=bound("run-engine", plan.engine.name),
        on_change=change,
        help="Batches go through the provider's Batch API, which OpenAI sells at half its list price, a stage of all "
        "debates at a time. The studio may be closed meanwhile.",
    )
    if plan.engine.name == "batch":
        st.text_input(
            "Folder for files answered by hand",
            key=bound("run-batch-dir", plan.engine.batch_dir),
            on_change=change_folder,
            placeholder="none: the provider's Batch API",
            help="Requests are written there as JSONL; answer each file with vllm run-batch, say, and go on.",
        )


PILOT = 10


def ready(plan: Plan, codebook: Codebook, documents: int, pilot: Estimate, *, first: bool) -> int | None:
    """Say what is ready and what a pilot costs; the number of documents of the button that was pressed, else None."""
    few = min(plan.limit or PILOT, documents)
    role_models = "1 seat is" if len(pilot.roles) == 1 else f"{len(pilot.roles)} seats are"
    labels = "1 label" if len(codebook.labels) == 1 else f"{len(codebook.labels)} labels"
    st.html(
        f'<div class="moot-empty"><i class="rings"></i><b>{"Nobody has spoken yet" if first else "Another run"}</b>'
        f"<p>{documents:,} documents, {labels} and {role_models} ready. "
        f"{escape(_pilot_words(plan, pilot, few))}</p></div>"
    )
    pressed = None
    with st.container(horizontal=True, gap="small"):
        if few < documents and st.button(f"Start with {few:,}", type="primary", key="start-few"):
            pressed = few
        if st.button(f"Start all {documents:,}", type="secondary" if few < documents else "primary", key="start-all"):
            pressed = documents
    return pressed


def _pilot_words(plan: Plan, pilot: Estimate, few: int) -> str:
    builtin = any(role.role_model.connection == BUILTIN for role in pilot.roles)
    if pilot.cost_usd is None:
        return "What it costs is not known: a pilot tells how many tokens it takes."
    if pilot.cost_usd > 0:
        cost = money(pilot.cost_usd)
        about = cost if cost.startswith("under") else f"about {cost}"
        return f"A pilot of {few:,} costs {about} and tells what the rest will cost."
    if builtin and plan.pace > 0:
        return (
            f"It costs nothing. The built-in baseline speaks {plan.pace:g} words a second, so that you can follow; "
            "a pace of 0, set on Models, is instant."
        )
    return "It costs nothing."


def settings(
    plan: Plan, codebook: Codebook, documents: int, save: Callable[[Plan], None], prepasses: Sequence[str] = ()
) -> None:
    """The form of a run's settings; each change is given to ``save`` at once. Parameters chosen by hand go when the
    protocol changes. UsageError for a plan whose parameters do not fit, after the form is drawn."""

    def keep(field: str, empty: Any) -> None:
        value = st.session_state[f"run-{field}"]
        save(replace(plan, **{field: empty if value is None else value}))

    def number(column: Any, label: str, field: str, *, empty: Any, help: str, **bounds: Any) -> None:
        column.number_input(
            label,
            value=None,
            key=bound(f"run-{field}", getattr(plan, field)),
            on_change=keep,
            args=(field, empty),
            help=help,
            **bounds,
        )

    def change_protocol() -> None:
        save(replace(plan, protocol=st.session_state["run-protocol"], params={}))

    names = list(protocols.PROTOCOLS)
    st.selectbox(
        "Protocol",
        names,
        format_func=lambda name: protocols.find(name).title,
        key=bound("run-protocol", plan.protocol),
        on_change=change_protocol,
    )
    card = protocols.find(plan.protocol, plan.params)
    params = card.settled(plan.narrowed().params)
    line(_protocol_words(card, params, codebook), "q")
    parameters(plan, card, params, codebook, save)
    left, right = st.columns(2, wrap=False)
    number(
        left, "Pilot", "limit", empty=None, min_value=1, max_value=max(documents, 1), step=10,
        placeholder=str(PILOT), help="How many of the first documents the first button takes.",
    )  # fmt: skip
    number(
        right, "Iterations", "iterations", empty=1, min_value=1, max_value=1000, step=1,
        help="The same run several times, one after another, to see how stable the verdicts are.",
    )  # fmt: skip
    number(
        left, "Calls at once", "concurrency", empty=8, min_value=1, max_value=4096, step=1,
        help="Calls in flight. About twice as many debates are open.",
    )  # fmt: skip
    number(
        right, "Budget in $ per run", "budget_usd", empty=None, min_value=0.01, step=0.5, format="%.2f",
        placeholder="none", help="The run pauses before it would spend more. It can be raised then.",
    )  # fmt: skip
    if prepasses or plan.ambiguous:
        _ambiguous(plan, prepasses, save)
    number(left, "Seed", "seed", empty=0, min_value=0, step=1, help="Decides whatever a protocol leaves to chance.")
    driver(plan, save)
    handling(plan, save)


def _ambiguous(plan: Plan, prepasses: Sequence[str], save: Callable[[Plan], None]) -> None:
    """Whether only documents are taken that an earlier vote was not sure of."""
    known = [*prepasses, *([plan.ambiguous] if plan.ambiguous and plan.ambiguous not in prepasses else [])]

    def keep() -> None:
        save(replace(plan, ambiguous=st.session_state["run-ambiguous"], theta=st.session_state["run-theta"]))

    left, right = st.columns(2, wrap=False)
    left.selectbox(
        "Documents", ["", *known], format_func=lambda run: f"Ambiguous in {run}" if run else "All",
        key=bound("run-ambiguous", plan.ambiguous), on_change=keep,
        help="All, or those on which one model, asked several times, did not agree with itself.",
    )  # fmt: skip
    right.number_input(
        "Theta", min_value=0.0, max_value=1.0, step=0.1, key=bound("run-theta", plan.theta), on_change=keep,
        disabled=not plan.ambiguous,
        help="A document is ambiguous when its two most common answers lie at most this share of the asks apart.",
    )  # fmt: skip


def _protocol_words(card: ProtocolSpec, params: Params, codebook: Codebook) -> str:
    if codebook.kind not in card.kinds:
        return card.summary
    asks = card.total(params, codebook)
    calls = "1 call a document" if asks.most == 1 else f"{asks} calls a document: {card.breakdown}"
    return f"{card.summary} {calls}."


def estimate_table(estimate: Estimate) -> None:
    """Calls, tokens and dollars of each role, and what that stands on."""
    rows = [
        f'<tr><td><span class="who">{tile_html(role.role, role.title, small=True)}{escape(role.title)}</span></td>'
        f'<td class="l">{escape(role.role_model.spec)}</td><td>{role.calls:,}</td>'
        f"<td>{_tokens(role.prompt_tokens)}</td><td>{_tokens(role.completion_tokens)}</td>"
        f"<td>{escape(money(role.cost_usd))}</td></tr>"
        for role in estimate.roles
    ]
    if len(estimate.roles) > 1:
        rows.append(
            f'<tr class="total"><td>Together</td><td></td><td>{estimate.calls:,}</td>'
            f"<td>{_tokens(sum(role.prompt_tokens for role in estimate.roles))}</td>"
            f"<td>{_tokens(sum(role.completion_tokens for role in estimate.roles))}</td>"
            f"<td>{escape(money(estimate.cost_usd))}</td></tr>"
        )
    times = f", {estimate.iterations} times" if estimate.iterations > 1 else ""
    heading(f"All {estimate.documents:,} documents{times}")
    st.html(
        '<table class="moot-sum"><thead><tr><th>Role</th><th class="l">Model</th><th>Calls</th><th>Tokens in</th>'
        f"<th>Tokens out</th><th>Cost</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )
    line(f"{estimate.basis} A reply that cannot be read is asked for once more.", "q xs")


def _tokens(count: int) -> str:
    if count >= 1e6:
        return f"{count / 1e6:,.1f} M"
    return f"{count / 1e3:,.0f} k" if count >= 10_000 else f"{count:,}"


def codebook_words(codebook: Codebook, version: int) -> None:
    """What is looked for."""
    line(f"Codebook v{version}: {codebook.name}", "")
    tags(codebook.labels)


def prompts(shown: Sequence[Sent], document_id: str) -> None:
    """The exact messages that each role would get on a document."""
    line(f"Document {document_id}. What others have not said yet stands in brackets.", "q")
    for tab, sent in zip(st.tabs([sent.title for sent in shown]), shown, strict=True):
        with tab:
            for message in sent.messages:
                line(message.role, "q xs")
                raw_text(message.content)


def usable_warnings(found: Sequence[str]) -> None:
    """What a person should know before the start."""
    if found:
        head = "A label has no word to look for" if len(found) == 1 else f"{len(found)} things to know"
        notice("warn", head, "\n".join(found))
        room_link("codebook", "Codebook")
