"""Connections: keys, limits, tests, the form that adds one, and prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st
from markupsafe import Markup

from app.screens.models.role_models import capabilities
from app.state import bound, run_slow, state
from app.widgets.alerts import badge_html, error_box, error_boxes, notice, probe_notice
from app.widgets.elements import button, icon_button, icon_popover, line, literal, table
from core.errors import MootError, UsageError
from core.formatting import format_bytes, format_count, format_token_price, join_names
from core.runs import RoleModel
from core.services import models, preferences
from core.services.codebooks.label_keywords import VectorsAdvice
from core.services.models import ConnectionEntry, Limits, ModelListing, Price, Probe
from core.services.runs.planning import Plan
from core.services.workspace import Workspace

LIMITS = {
    "requests_per_minute": "Requests per minute",
    "tokens_per_minute": "Tokens per minute",
    "at_once": "Calls at once",
}
MAX_LISTED = 400


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """Result of a connection test: its models, and the reply of one of them."""

    listed: ModelListing
    model: str | None = None
    probe: Probe | None = None


def connections(workspace: Workspace, entries: Sequence[ConnectionEntry], plan: Plan) -> None:
    """Draw all connections but the built-in, each with its test, key and limits."""
    for number, entry in enumerate(entry for entry in entries if not entry.is_builtin):
        with st.container(key=f"connection-{entry.name}" if number else "connection-first", gap="small"):
            _connection(workspace, entry, plan)


def _connection(workspace: Workspace, entry: ConnectionEntry, plan: Plan) -> None:
    name = entry.name
    about, key, buttons = st.columns((2.4, 2.0, 2.5), vertical_alignment="center", wrap=False)
    badges = (badge_html("Ollama") if entry.dialect == "ollama" else "") + (
        badge_html("yours", "run") if entry.is_own else ""
    )
    limits = models.connection_limits(workspace, name)
    values = {title.lower(): getattr(limits, part) for part, title in LIMITS.items()}
    shown = ", ".join(f"{value:,} {title}" for title, value in values.items() if value)
    at_most = f'<span class="moot-line q xs">At most {shown}</span>' if shown else ""
    about.html(
        f'<div class="moot-connection"><b>{escape(name)}{badges}</b>'
        f'<span class="moot-mono">{escape(entry.base_url)}</span>{at_most}</div>'
    )
    key.html(f'<div class="moot-line">{_key_html(entry)}</div>')
    with buttons.container(horizontal=True, horizontal_alignment="right", gap="xsmall"):
        if st.button("Test", key=f"test-{name}", help="List the models and send a short request to one of them"):
            with st.spinner(f"Testing {name} …"):
                listed = models.fresh_listing(workspace, name)
                model = models.model_to_try(workspace, name, plan, listed)
                probe = _probe(models.try_model, workspace, name, model) if model and listed.error is None else None
            state.models.set_test(name, ConnectionTest(listed, model, probe))
        with st.popover("Key", key=f"key-{name}", help="Enter a key once; it is stored in the system keyring"):
            _key_form(workspace, entry)
        with st.popover("Limits", key=f"limits-{name}", help="Requests and tokens per minute, calls at once"):
            _limits_form(workspace, name, limits)
        if entry.is_own:
            _remove_button(workspace, name)
    if (test := state.models.tests.get(name)) is not None:
        _test_result(workspace, name, test)


def _remove_button(workspace: Workspace, name: str) -> None:
    key, title = f"remove-{name}", f"Remove {name}"
    if not (batches := models.open_batches(workspace, name)):
        icon_button("delete", title, key, _remove, workspace, name)
        return

    def cancel_and_remove() -> None:
        run_slow(models.cancel_batches, workspace, name)
        _remove(workspace, name)

    with icon_popover("delete", title, key):
        line(f"Open at {name}: {join_names(batches)}. The server answers and bills them unless they are cancelled.")
        button("Stop the runs, cancel their batches and remove", f"{key}-cancel", cancel_and_remove, type="primary")
        button("Remove only", f"{key}-only", _remove, workspace, name)


def _remove(workspace: Workspace, name: str) -> None:
    models.remove(workspace, name)
    state.models.set_test(name, None)


def _key_html(entry: ConnectionEntry) -> str:
    match entry.key:
        case "environment":
            return f'<span class="good">Key from</span> <code>{escape(entry.key_name)}</code>'
        case "keyring":
            return '<span class="good">Key in the system keyring</span>'
        case "not needed":
            return '<span class="q">Usually needs no key</span>'
        case "none":
            return f'<span class="warn">No key</span> in <code>{escape(entry.key_name)}</code>'


def _key_form(workspace: Workspace, entry: ConnectionEntry) -> None:
    if (problem := models.why_no_key_can_be_stored(workspace, entry.name)) is not None:
        error_box(problem)
        return
    with st.form(f"keyform-{entry.name}", border=False, clear_on_submit=True):
        key = st.text_input(f"Key for {entry.name}", type="password", autocomplete="off", width=320)
        line("Stored in the system keyring, sent only to this address, and never shown.", "q xs")
        if st.form_submit_button("Save key", type="primary"):
            with error_boxes():
                models.remember_key(workspace, entry.name, key)
                state.models.set_test(entry.name, None)  # it may have failed without the key
                state.set_notice("ok", f"The key for {entry.name} is saved", "Test the connection.")
                st.rerun()


def _limits_form(workspace: Workspace, name: str, limits: Limits) -> None:
    with st.form(f"limitsform-{name}", border=False):
        values = {
            part: st.number_input(
                title,
                min_value=1,
                value=getattr(limits, part),
                step=1,
                placeholder="no limit",
                key=f"limit-{name}-{part}",
                width=220,
            )
            for part, title in LIMITS.items()
        }
        if st.form_submit_button("Save limits", type="primary"):
            models.set_connection_limits(workspace, name, Limits(**values))
            st.rerun()
    line("For runs that start from now on. If a server rejects calls as too many, fewer are sent at once.", "q xs")


def add_form(workspace: Workspace) -> None:
    """Draw the form that adds a connection; an invalid input stays in the fields."""

    def add() -> None:
        name, url = (st.session_state[key].strip() for key in ("add-name", "add-url"))
        if not (name or url):  # a double click sends the emptied form again
            return
        models.add(workspace, name, url)
        state.set_notice("ok", f"{name} was added", "Test it, then choose it for a role.")
        st.session_state["add-name"] = st.session_state["add-url"] = ""

    with st.form("add-connection", border=False):
        st.text_input("Name", placeholder="local", key="add-name")
        st.text_input("Address", placeholder="http://127.0.0.1:8081/v1", key="add-url")
        st.form_submit_button("Add", on_click=add)


def vectors(workspace: Workspace, advice: VectorsAdvice) -> None:
    """Draw the choice of the vectors that the built-in model and the classifier use, and a test of them.

    MiniLM is offered where ``advice`` has a reason for vectors.
    """
    vectors_spec, installed = workspace.models.embedder_spec, models.minilm_installed()
    line("The built-in model and the classifier can compare texts by vectors.")
    st.text_input(
        "Model",
        placeholder="none; for example ollama/nomic-embed-text",
        help="minilm, or connection/model for the embeddings endpoint of a connection; empty for none",
        **bound("text-vectors", vectors_spec, lambda spec: run_slow(workspace.use_vectors, spec.strip())),
    )
    if not advice.needed and not vectors_spec:
        line("Vectors would change little for this codebook.", "q")
    elif not vectors_spec:
        line(f"Vectors would help here. {' '.join(advice.needed)}")
    if installed and vectors_spec != models.MINILM:
        button("Use MiniLM", "use-minilm", run_slow, workspace.use_vectors, models.MINILM)
    if advice.foreign:
        line("MiniLM knows English only: choose a multilingual model of a connection.", "q")
    elif advice.needed and not installed:
        line("MiniLM is not installed. It takes 90 MB and then works offline. Install it with:", "q")
        st.code("moot install-minilm", language=None)
    if vectors_spec and st.button("Test vectors", key="vectors-test"):
        with error_boxes(), st.spinner("Computing a vector …"):
            width, seconds = models.try_vectors(workspace)
            notice("ok", f"{vectors_spec} works", f"{width:,} numbers in {seconds:.1f} s.")


# -- tests


def _probe(test: Callable[[Workspace, RoleModel], Probe], workspace: Workspace, name: str, model: str) -> Probe | None:
    """Return what ``test`` finds out about a model; None after an error, which is shown."""
    try:
        return test(workspace, RoleModel(connection=name, model=model))
    except MootError as error:
        error_box(error)
        return None


def _test_result(workspace: Workspace, name: str, test: ConnectionTest) -> None:
    listed = test.listed
    if listed.error is not None:
        error_box(listed.error)
    elif not listed.cards:
        notice("warn", f"{name} answers, but lists no model", "Load a model there, or type its name for a role.")
    if test.probe is not None:
        probe_notice(test.probe)
        detected = models.known_capabilities(workspace, test.probe.role_model)
        if detected is not None and (words := capabilities(detected)):
            line(f"{test.probe.role_model.model}: {', '.join(words)}.", "q")
    elif listed.cards:
        count = format_count(len(listed.cards), "model")
        notice("ok", f"{name} answers and lists {count}", "Choose a model to test it.")
    _model_test(workspace, name, test)
    if len(listed.cards) > 1 or any(card.family or card.size_bytes for card in listed.cards):
        _model_table(name, listed)


def _model_test(workspace: Workspace, name: str, test: ConnectionTest) -> None:
    """Draw the choice of a model, and the buttons that test it."""
    listed = test.listed
    names = list(listed.names if test.model in listed.names else filter(None, (test.model, *listed.names)))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        model = st.selectbox(
            f"Model at {name}",
            names,
            index=names.index(test.model) if test.model else None,
            placeholder="Choose or type a model",
            accept_new_options=True,
            key=f"testmodel-{name}",
            label_visibility="collapsed",
            width=230,
        )
        simple = st.button("Test model", key=f"ask-{name}", disabled=not model)
        help = "Five tiny requests: format, seed, log probabilities, a JSON schema, reasoning, context"
        full = st.button("Detect capabilities", key=f"examine-{name}", disabled=not model, help=help)
        if (simple or full) and model:
            with st.spinner(f"Testing {literal(model)} …"):
                probe = _probe(models.probe_capabilities if full else models.try_model, workspace, name, model)
            state.models.set_test(name, ConnectionTest(listed, model, probe))
            st.rerun()
        button("Close", f"close-{name}", state.models.set_test, name, None, type="tertiary")


def _model_table(name: str, listed: ModelListing) -> None:
    cards = listed.cards[:MAX_LISTED]
    heads, rows = ["Model"], [[card.name] for card in cards]
    if any(card.size_bytes or card.family or card.parameters for card in cards):
        heads += ["Size", "Family", "Parameters", "In memory"]
        for row, card in zip(rows, cards, strict=True):
            size = format_bytes(card.size_bytes) if card.size_bytes else ""
            row += [size, card.family, card.parameters, "yes" if card.loaded else ""]
    with st.container(height="content" if len(cards) <= 6 else 250, key=f"models-{name}"):
        table(heads, rows, text=heads[2:], wide=f"Models at {name}")


# -- prices


def price_ceiling() -> float | None:
    """Draw the field for the price limit and return the limit."""
    ceiling = preferences.load().ceiling
    line("Price limit ($ per million output tokens)", "q xs", width="content")
    st.number_input(
        "Price limit in dollars per million output tokens",
        min_value=0.0,
        value=None,
        step=1.0,
        format="%.2f",
        placeholder="none",
        label_visibility="collapsed",
        width=135,
        help="Offer only models up to this price. Models without a known price are left out, too.",
        **bound("price-ceiling", ceiling, lambda dollars: preferences.change(ceiling=dollars)),
    )
    return ceiling


def own_prices(workspace: Workspace, entries: Sequence[ConnectionEntry]) -> None:
    """Draw the user's own prices, each with a delete button, and the form that adds one.

    An incomplete input stays in the fields.
    """

    def delete(connection: str, model: str) -> None:
        models.set_price(workspace, connection, model, None)
        state.set_notice("ok", f"The price of {connection}/{model} was deleted")

    for spec, price in models.own_prices(workspace).items():
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            words = format_token_price((price.prompt, price.completion))
            line(Markup("<code>{}</code><br>{}").format(spec, words))
            connection, _, model = spec.partition("/")
            icon_button("delete", f"Delete the price of {literal(spec)}", f"unprice-{spec}", delete, connection, model)

    def save() -> None:
        fields = st.session_state
        name, model = fields["price-connection"], fields["price-model"]
        prompt, completion = fields["price-in"], fields["price-out"]
        if prompt is None or completion is None:
            raise UsageError("A price has two numbers.", "Enter dollars per million input and output tokens.")
        models.set_price(workspace, name, model, Price(prompt=prompt, completion=completion))
        state.set_notice("ok", f"{name}/{model.strip()} has a price", "Estimates and budgets use it.")
        fields["price-model"], fields["price-in"], fields["price-out"] = "", None, None

    with st.form("add-price", border=False):
        names = [entry.name for entry in entries if not entry.is_builtin]
        st.selectbox("Connection", names, key="price-connection")
        st.text_input("Model", placeholder="name, or * for all models of the connection", key="price-model")
        left, right = st.columns(2, wrap=False)
        options: dict[str, Any] = {"min_value": 0.0, "value": None, "format": "%.4g", "step": 0.1}
        left.number_input("Input, $", key="price-in", placeholder="0.40", **options)
        right.number_input("Output, $", key="price-out", placeholder="1.60", **options)
        st.form_submit_button("Save price", on_click=save)
    line("Per million tokens. Your prices take precedence over list prices.", "q xs")
