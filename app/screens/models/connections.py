"""Connections: limits, keys, tests and the form that adds one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

import streamlit as st

from app.screens.models.role_models import learned
from app.state import state
from app.widgets.alerts import badge_html, error_box, notice, probe_notice
from app.widgets.common import line
from core.errors import MootError, UsageError
from core.formatting import format_bytes, format_count
from core.runs import BUILTIN, RoleModel
from core.services import models
from core.services.models import ConnectionEntry, Limits, Listing, Probe
from core.services.runs.planning import Plan
from core.services.workspace import Workspace

FIELDS = (
    ("requests_per_minute", "Requests a minute"),
    ("tokens_per_minute", "Tokens a minute"),
    ("at_once", "Calls at once"),
)


def limits(workspace: Workspace, place: ConnectionEntry) -> None:
    """Draw the form for the limits of a connection."""
    holds = models.connection_limits(workspace, place.name)
    with st.form(f"limitsform-{place.name}", border=False):
        typed = {
            field: st.number_input(
                label, min_value=1, value=getattr(holds, field), step=1, placeholder="no limit",
                key=f"limit-{place.name}-{field}", width=220,
            )
            for field, label in FIELDS
        }  # fmt: skip
        if st.form_submit_button("Keep the limits", type="primary"):
            models.set_connection_limits(workspace, place.name, Limits(**typed))
            st.rerun()
    line(
        "Runs that begin from now on keep to them. When a server says too many, Moot asks less at once by itself.",
        "q xs",
    )


def limit_words(workspace: Workspace, place: ConnectionEntry) -> str:
    """Return the limits of a connection on one line; empty without any."""
    holds = models.connection_limits(workspace, place.name)
    parts = [
        f"{holds.requests_per_minute:,} requests a minute" if holds.requests_per_minute else "",
        f"{holds.tokens_per_minute:,} tokens a minute" if holds.tokens_per_minute else "",
        f"{holds.at_once} at once" if holds.at_once else "",
    ]
    return ", ".join(part for part in parts if part)


DIALECTS = {"openai": "OpenAI-compatible", "ollama": "Ollama"}
MOST_LISTED = 400


@dataclass(frozen=True, slots=True)
class Tested:
    """Result of a connection test: its models, and the reply of one of them."""

    listed: Listing
    model: str | None = None
    probe: Probe | None = None


def connections(workspace: Workspace, places: Sequence[ConnectionEntry], plan: Plan) -> None:
    """Draw all connections but the built-in, each with its tests and its key."""
    first = True
    for place in places:
        if place.name != BUILTIN:
            with st.container(key="connection-first" if first else f"connection-{place.name}", gap="small"):
                _connection(workspace, place, plan)
            first = False


def _connection(workspace: Workspace, place: ConnectionEntry, plan: Plan) -> None:
    about, key, buttons = st.columns((2.4, 1.9, 2.6), vertical_alignment="center", wrap=False)
    badges = badge_html(DIALECTS.get(place.dialect, place.dialect)) + (badge_html("yours", "run") if place.own else "")
    held = limit_words(workspace, place)
    about.html(
        f'<div class="moot-connection"><b>{escape(place.name)}{badges}</b>'
        f'<span class="moot-mono">{escape(place.base_url)}</span>'
        + (f'<span class="moot-line q xs">At most {escape(held)}</span>' if held else "")
        + "</div>"
    )
    key.html(f'<div class="moot-line">{_key_words(place)}</div>')
    with buttons.container(horizontal=True, horizontal_alignment="right", gap="xsmall"):
        if st.button("Test", key=f"test-{place.name}", help="List its models and ask one of them for one line"):
            _test(workspace, place, plan)
        with st.popover("Key", key=f"key-{place.name}", help="Type a key once; it goes into the system keyring"):
            _type_key(workspace, place)
        with st.popover("Limits", key=f"limits-{place.name}", help="Requests and tokens a minute, calls at once"):
            limits(workspace, place)
        if place.own and st.button(
            "", icon=":material/delete:", key=f"remove-{place.name}", type="tertiary", help=f"Remove {place.name}"
        ):
            models.remove(workspace, place.name)
            state.models.set_test(place.name, None)
            st.rerun()
    told = state.models.tests.get(place.name)
    if told is not None:
        _told(workspace, place, told)


def _key_words(place: ConnectionEntry) -> str:
    match place.key:
        case "environment":
            return f'<span class="good">Key from</span> <code>{escape(place.key_name)}</code>'
        case "keyring":
            return '<span class="good">Key in the system keyring</span>'
        case "needless":
            return '<span class="q">On this machine, needs no key as a rule</span>'
        case "none":
            where = f" in <code>{escape(place.key_name)}</code>" if place.key_name else " for this address"
            return f'<span class="warn">No key</span>{where}'


def _type_key(workspace: Workspace, place: ConnectionEntry) -> None:
    with st.form(f"keyform-{place.name}", border=False, clear_on_submit=True):
        typed = st.text_input(f"Key for {place.name}", type="password", autocomplete="off", width=320)
        st.html(
            '<div class="moot-line q xs">It is kept in the system keyring, sent to this address alone and shown '
            "nowhere.</div>"
        )
        if st.form_submit_button("Keep the key", type="primary"):
            try:
                models.remember_key(workspace, place.name, typed)
            except UsageError as error:
                error_box(error)
            else:
                state.set_notice("ok", f"The key for {place.name} is in the keyring", "Test it to see it work.")
                st.rerun()


def _test(workspace: Workspace, place: ConnectionEntry, plan: Plan) -> None:
    with st.spinner(f"Asking {place.name} …"):
        listed = models.fresh_listing(workspace, place.name)
        model = models.test_model(workspace, place.name, plan, listed)
        probe = _probe(workspace, place, model) if model and listed.error is None else None
    state.models.set_test(place.name, Tested(listed, model, probe))


def _probe(workspace: Workspace, place: ConnectionEntry, model: str, *, thoroughly: bool = False) -> Probe | None:
    role_model = RoleModel(connection=place.name, model=model)
    try:
        return (models.examine if thoroughly else models.test)(workspace, role_model)
    except MootError as error:
        error_box(error)
        return None


def _told(workspace: Workspace, place: ConnectionEntry, told: Tested) -> None:
    listed = told.listed
    if listed.error is not None:
        error_box(listed.error)
    elif not listed.cards:
        notice(
            "warn",
            f"{place.name} answers, but lists no model",
            "Load a model there, or type its name in the table of roles.",
        )
    if told.probe is not None:
        probe_notice(told.probe)
        known = models.known(workspace, told.probe.role_model)
        if known is not None and (words := learned(known)):
            st.html(
                f'<div class="moot-line q">{escape(told.probe.role_model.model)}: {escape(", ".join(words))}.</div>'
            )
    elif listed.cards:
        counted = format_count(len(listed.cards), "model")
        notice("ok", f"{place.name} answers and lists {counted}", "Choose one to ask it for one line.")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        names = list(listed.names)
        if told.model and told.model not in names:
            names.insert(0, told.model)
        chosen = st.selectbox(
            f"Model at {place.name}",
            names,
            index=names.index(told.model) if told.model else None,
            placeholder="Choose or type a model",
            accept_new_options=True,
            key=f"testmodel-{place.name}",
            label_visibility="collapsed",
            width=230,
        )
        if st.button("Test model", key=f"ask-{place.name}", disabled=not chosen) and chosen:
            with st.spinner(f"Asking {chosen} …"):
                probe = _probe(workspace, place, chosen)
            state.models.set_test(place.name, Tested(listed, chosen, probe))
            st.rerun()
        if (
            st.button(
                "Detect capabilities",
                key=f"examine-{place.name}",
                disabled=not chosen,
                help="Five tiny requests: format, seed, log probabilities, a JSON schema, reasoning, context",
            )
            and chosen
        ):
            with st.spinner(f"Examining {chosen} …"):
                probe = _probe(workspace, place, chosen, thoroughly=True)
            state.models.set_test(place.name, Tested(listed, chosen, probe))
            st.rerun()
        if st.button("Close", key=f"close-{place.name}", type="tertiary"):
            state.models.set_test(place.name, None)
            st.rerun()
    if len(listed.cards) > 1 or any(card.family or card.size_bytes for card in listed.cards):
        _table(place, listed)


def _table(place: ConnectionEntry, listed: Listing) -> None:
    import pandas as pd

    cards = listed.cards[:MOST_LISTED]
    columns: dict[str, list[str]] = {"Model": [card.name for card in cards]}
    if any(card.size_bytes or card.family or card.parameters for card in cards):
        columns["Size"] = [format_bytes(card.size_bytes) if card.size_bytes else "" for card in cards]
        columns["Family"] = [card.family for card in cards]
        columns["Parameters"] = [card.parameters for card in cards]
        columns["In memory"] = ["yes" if card.loaded else "" for card in cards]
    height: int | Literal["auto"] = "auto" if len(cards) <= 6 else 250
    st.dataframe(pd.DataFrame(columns), hide_index=True, height=height, key=f"models-{place.name}")


def add_form(workspace: Workspace) -> None:
    """Draw the form that adds a connection; an invalid input stays in the fields."""
    name_key, url_key = "add-name", "add-url"

    def add() -> None:
        name = st.session_state[name_key].strip()
        try:
            models.add(workspace, name, st.session_state[url_key])
        except UsageError as error:
            state.set_notice("error", error.message, error.remedy)
        else:
            state.set_notice("ok", f"{name} was added", "Test it, then choose it for a role.")
            st.session_state[name_key] = st.session_state[url_key] = ""

    with st.form("add-connection", border=False):
        st.text_input("Name", placeholder="local", key=name_key)
        st.text_input("Address", placeholder="http://127.0.0.1:8081/v1", key=url_key)
        st.form_submit_button("Add", type="primary", on_click=add)
