"""Run setup: settings, engine, error handling, estimate, prompts, warnings and comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

from app.pages import open_page, page_link
from app.screens.run.protocol_params import parameters
from app.state import with_value
from app.widgets.alerts import notice, raw_text
from app.widgets.common import heading, line
from app.widgets.labels import tags, tile_html
from core.codebook import Codebook
from core.debate import protocols
from core.debate.spec import Params, ProtocolSpec
from core.formatting import format_count, format_price, format_tokens
from core.runs import BUILTIN, EngineSettings, RunSettings
from core.services.runs.comparison import Comparison, Member
from core.services.runs.costs import Estimate
from core.services.runs.planning import Plan
from core.services.runs.preview import ContextOverflow, RequestPreview

NAMES = {
    "live": "Live, streamed",
    "batch": "Batch, within a day",
    "ray": "Ray cluster",
}


def driver(plan: Plan, save: Callable[[Plan], None]) -> None:
    """Draw the choice of the engine, and the folder for request files. Each change calls ``save``."""

    def change() -> None:
        save(replace(plan, engine=EngineSettings(name=st.session_state["run-engine"])))

    def change_folder() -> None:
        folder = st.session_state["run-batch-dir"].strip()
        save(replace(plan, engine=plan.engine.model_copy(update={"batch_dir": folder})))

    st.selectbox(
        "Engine",
        list(NAMES),
        format_func=NAMES.__getitem__,
        key=with_value("run-engine", plan.engine.name),
        on_change=change,
        help="Batch sends each stage of all debates through the provider's Batch API, at OpenAI for half the list "
        "price. You can close the studio meanwhile.",
    )
    if plan.engine.name == "batch":
        st.text_input(
            "Folder for request files",
            key=with_value("run-batch-dir", plan.engine.batch_dir),
            on_change=change_folder,
            placeholder="none: the provider's Batch API",
            help="Write requests there as JSONL. Answer each file, for example with vllm run-batch, then resume.",
        )


PILOT = 10


def ready(plan: Plan, codebook: Codebook, documents: int, pilot: Estimate, *, first: bool) -> int | None:
    """Draw the summary, the pilot's cost and the start buttons.

    Returns the number of documents of the button that was pressed, else None.
    """
    few = min(plan.limit or PILOT, documents)
    ready_for = f"{format_count(documents, 'document')}, {format_count(len(codebook.labels), 'label')} and "
    ready_for += format_count(len(pilot.roles), "role")
    st.html(
        f'<div class="moot-empty"><i class="rings"></i><b>{"No verdicts yet" if first else "New run"}</b>'
        f"<p>Ready: {ready_for}. "
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
        return "Price unknown. A pilot measures how many tokens the run needs."
    if pilot.cost_usd > 0:
        cost = format_price(pilot.cost_usd)
        about = cost if cost.startswith("under") else f"about {cost}"
        return f"A pilot of {format_count(few, 'document')} costs {about} and gives a better estimate for the rest."
    if builtin and plan.pace > 0:
        return (
            f"No cost. The built-in baseline writes {plan.pace:g} words per second so that you can follow. For full "
            "speed, set its pace to 0 on the Models page."
        )
    return "No cost."


def settings(
    plan: Plan, codebook: Codebook, documents: int, save: Callable[[Plan], None], prepasses: Sequence[str] = ()
) -> None:
    """Draw the form of the run settings. Each change calls ``save``.

    Changing the protocol drops the parameters that the user set. Raises UsageError, after drawing the form, if the
    parameters of the plan are invalid.
    """

    def keep(field: str, empty: Any) -> None:
        value = st.session_state[f"run-{field}"]
        save(replace(plan, **{field: empty if value is None else value}))

    def number(column: Any, label: str, field: str, *, empty: Any, help: str, **bounds: Any) -> None:
        column.number_input(
            label,
            value=None,
            key=with_value(f"run-{field}", getattr(plan, field)),
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
        key=with_value("run-protocol", plan.protocol),
        on_change=change_protocol,
    )
    card = protocols.find(plan.protocol, plan.params)
    params = card.parse_params(plan.for_protocol().params)
    line(_protocol_words(card, params, codebook), "q")
    parameters(plan, card, params, codebook, save)
    left, right = st.columns(2, wrap=False)
    number(
        left, "Pilot", "limit", empty=None, min_value=1, max_value=max(documents, 1), step=10,
        placeholder=str(PILOT), help="Number of documents for a first small run.",
    )  # fmt: skip
    number(
        right, "Iterations", "iterations", empty=1, min_value=1, max_value=1000, step=1,
        help="Repeat the run to measure how stable the verdicts are.",
    )  # fmt: skip
    number(
        left, "Calls at once", "concurrency", empty=8, min_value=1, max_value=4096, step=1,
        help="Maximum number of calls in flight. About twice as many debates are open.",
    )  # fmt: skip
    number(
        right, "Budget per run ($)", "budget_usd", empty=None, min_value=0.01, step=0.5, format="%.2f",
        placeholder="none", help="The run pauses before it would exceed the budget. You can then raise it.",
    )  # fmt: skip
    if prepasses or plan.ambiguous:
        _ambiguous(plan, prepasses, save)
    number(left, "Seed", "seed", empty=0, min_value=0, step=1, help="Seed of all random choices of the protocol.")
    driver(plan, save)
    handling(plan, save)


def _ambiguous(plan: Plan, prepasses: Sequence[str], save: Callable[[Plan], None]) -> None:
    """Draw the choice between all documents and those that were ambiguous in a prepass run."""
    known = [*prepasses, *([plan.ambiguous] if plan.ambiguous and plan.ambiguous not in prepasses else [])]

    def keep() -> None:
        save(replace(plan, ambiguous=st.session_state["run-ambiguous"], theta=st.session_state["run-theta"]))

    left, right = st.columns(2, wrap=False)
    left.selectbox(
        "Documents", ["", *known], format_func=lambda run: f"Ambiguous in {run}" if run else "All",
        key=with_value("run-ambiguous", plan.ambiguous), on_change=keep,
        help="All documents, or only those with inconsistent answers of one model in a prepass run.",
    )  # fmt: skip
    right.number_input(
        "Ambiguity threshold", min_value=0.0, max_value=1.0, step=0.1,
        key=with_value("run-theta", plan.theta), on_change=keep,
        disabled=not plan.ambiguous,
        help="A document is ambiguous if the shares of its two most common answers differ by at most this much.",
    )  # fmt: skip


def _protocol_words(card: ProtocolSpec, params: Params, codebook: Codebook) -> str:
    if codebook.kind not in card.kinds:
        return card.summary
    asks = card.total_requests(params, codebook)
    calls = "1 call per document" if asks.maximum == 1 else f"{asks} calls per document: {card.breakdown}"
    return f"{card.summary} {calls}."


def estimate_table(estimate: Estimate) -> None:
    """Draw calls, tokens and cost of each role, and the basis of the estimate."""
    rows = [
        f'<tr><td><span class="who">{tile_html(role.role, role.title, small=True)}{escape(role.title)}</span></td>'
        f'<td class="l">{escape(role.role_model.spec)}</td><td>{role.calls:,}</td>'
        f"<td>{format_tokens(role.prompt_tokens)}</td><td>{format_tokens(role.completion_tokens)}</td>"
        f"<td>{escape(format_price(role.cost_usd))}</td></tr>"
        for role in estimate.roles
    ]
    if len(estimate.roles) > 1:
        rows.append(
            f'<tr class="total"><td>Total</td><td></td><td>{estimate.calls:,}</td>'
            f"<td>{format_tokens(sum(role.prompt_tokens for role in estimate.roles))}</td>"
            f"<td>{format_tokens(sum(role.completion_tokens for role in estimate.roles))}</td>"
            f"<td>{escape(format_price(estimate.cost_usd))}</td></tr>"
        )
    times = f", {estimate.iterations} times" if estimate.iterations > 1 else ""
    heading(f"Estimate for all {format_count(estimate.documents, 'document')}{times}")
    st.html(
        '<table class="moot-table"><thead><tr><th>Role</th><th class="l">Model</th><th>Calls</th><th>Tokens in</th>'
        f"<th>Tokens out</th><th>Cost</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )
    line(f"{estimate.basis} Unreadable replies are asked for once more.", "q xs")


def codebook_words(codebook: Codebook, version: int) -> None:
    """Draw the version, name and labels of the codebook."""
    line(f"Codebook v{version}: {codebook.name}", "")
    tags(codebook.labels)


def prompts(shown: Sequence[RequestPreview], document_id: str) -> None:
    """Draw the exact messages that each role gets for a document."""
    line(f"Document {document_id}. Brackets mark replies of other roles.", "q")
    for tab, sent in zip(st.tabs([sent.title for sent in shown]), shown, strict=True):
        with tab:
            for message in sent.messages:
                line(message.role, "q xs")
                raw_text(message.content)


def usable_warnings(found: Sequence[str]) -> None:
    """Draw the warnings before the start, if there are any."""
    if found:
        head = format_count(len(found), "warning")
        notice("warn", head, "\n".join(found))
        page_link("codebook", "Codebook")


def comparison_panel(
    shown: Comparison, few: int, remove: Callable[[int], None], clear: Callable[[], None]
) -> int | None:
    """Draw the members of the comparison and its buttons.

    Returns the number of documents of the button that was pressed, else None.
    """
    heading(f"Comparison of {len(shown.members)}" if len(shown.members) > 1 else "Comparison")
    for place, member in enumerate(shown.members):
        words, cost, button = st.columns((5, 2, 0.8), vertical_alignment="center", wrap=False)
        words.html(_words(member))
        cost.html(f'<div class="moot-line num">{escape(_cost(member))}</div>')
        button.button(
            "", icon=":material/close:", key=f"out-{place}", help=f"Remove {member.title}", on_click=remove,
            args=(place,), type="tertiary",
        )  # fmt: skip
    if len(shown.members) < 2:
        line("Change the protocol, a parameter or a model and add that, too. A comparison needs two or more.", "q")
        return None
    shared = f", about {shown.shared:,} of them shared and paid once" if shown.shared else ""
    documents = format_count(shown.documents, "document")
    line(
        f"{documents}: at most {shown.calls:,} calls{shared}; {format_price(shown.cost_usd)}.",
        "q",
    )
    pressed = None
    with st.container(horizontal=True, gap="small"):
        ready = shown.ready
        if few < shown.documents and st.button(
            f"Compare on {few:,}", key="compare-few", type="primary", disabled=not ready
        ):
            pressed = few
        if st.button(f"Compare on all {shown.documents:,}", key="compare-all", disabled=not ready):
            pressed = shown.documents
        st.button("Clear", key="compare-clear", on_click=clear, type="tertiary")
    return pressed


def _words(member: Member) -> str:
    plan = member.plan
    if member.problem:
        return f'<div class="moot-line bad">{escape(member.title)}: {escape(member.problem)}</div>'
    chosen = [f"{name} {value}" for name, value in plan.params.items() if name != "script"]
    role_models = (
        list(dict.fromkeys(role_model.spec for role_model in member.settings.role_models.values()))
        if member.settings
        else []
    )
    times = [f"{plan.iterations} times"] if plan.iterations > 1 else []
    details = ", ".join([*chosen, *times, " and ".join(role_models)])
    return f'<div class="moot-line"><b>{escape(member.title)}</b> <span class="q">{escape(details)}</span></div>'


def _cost(member: Member) -> str:
    if member.estimate is None or member.settings is None:
        return ""
    asks = protocols.of(member.settings).total_requests(member.settings.params, member.settings.codebook)
    return f"{asks} per document, {format_price(member.estimate.cost_usd)}"


ON_LONG = {"fail": "Fail", "cut": "Truncate", "skip": "Skip, label by hand"}


def handling(plan: Plan, save: Callable[[Plan], None]) -> None:
    """Draw the error handling. Draws nothing if all roles use the built-in model.

    The built-in model accepts any length and never times out.
    """
    if all(
        role_model.connection == BUILTIN
        for role_model in (plan.default_model, *plan.for_protocol().role_models.values())
    ):
        return

    def keep(field: str) -> None:
        value: Any = st.session_state[f"handling-{field}"]
        save(replace(plan, handling=plan.handling.model_copy(update={field: value})))

    left, right = st.columns(2, wrap=False)
    left.selectbox(
        "Documents that are too long",
        list(ON_LONG),
        format_func=ON_LONG.__getitem__,
        key=with_value("handling-on_long", plan.handling.on_long),
        on_change=keep,
        args=("on_long",),
        help="For documents that exceed a model's context. A truncated document keeps its beginning, and its verdict "
        "is marked.",
    )
    right.number_input(
        "Timeout (s)",
        min_value=1.0,
        max_value=86_400.0,
        value=None,
        step=30.0,
        format="%.0f",
        placeholder="180",
        key=with_value("handling-silence", plan.handling.silence),
        on_change=keep,
        args=("silence",),
        help="Maximum seconds without data from the server, before and during a reply. Large models may need more.",
    )


def long_documents(settings: RunSettings, found: Sequence[ContextOverflow]) -> None:
    """Draw a warning for roles whose context the longest document may exceed."""
    if found:
        notice("warn", "Some documents may not fit", "\n".join(one.sentence(settings) for one in found))


@st.dialog("Price unknown")
def ask_first(specs: Sequence[str], start: Callable[[], None]) -> None:
    """Ask for confirmation if the price of a model is unknown, and call ``start`` after it."""
    names = ", ".join(specs)
    line(f"The price of {names} is unknown, so the cost cannot be estimated or limited.", "")
    line("You can enter a price on the Models page, under Your prices.", "q")
    with st.container(horizontal=True, gap="small"):
        if st.button("Start anyway", type="primary", key="start-unpriced"):
            start()
        if st.button("Enter a price", key="type-price"):
            open_page("models")
        if st.button("Cancel", key="cancel-unpriced", type="tertiary"):
            st.rerun()
