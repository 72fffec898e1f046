"""The seating table: who sits on which role of the protocol, and how they sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st

from app.views.roles import role_html
from app.views.rooms import bound
from core.debate.protocols import Role
from core.runs import BUILTIN, Sampling, Seat
from core.studio.models import Known, Listing, Place
from core.studio.running.runs import Plan

WIDTHS = (1.4, 1.25, 2.1, 0.7, 0.7, 0.85, 1.05, 0.7, 1.15, 1.0)
HEADS = ("Role", "Connection", "Model", "Temp.", "Top p", "Max tokens", "Reasoning", "Seed", "Replies", "")
AUTO = "auto"
EFFORTS = (AUTO, "minimal", "low", "medium", "high")
REPLIES = {"off": "text", "auto": "retry JSON", "on": "JSON"}
REPLIES_HELP = (
    "Text is read live, as the prompts ask for it. JSON holds replies that must decide to a schema, where the server "
    "has one. In between, only the second try after a reply that could not be read."
)

Save = Callable[[Plan], None]


@dataclass(frozen=True, slots=True)
class Offers:
    """What the table asks for: a connection's models, those within the price ceiling, dollars a million tokens of a
    seat, the model to propose when a seat is moved to a connection, and what was learned of a seat's model."""

    listing: Callable[[str], Listing]
    affordable: Callable[[str, Sequence[str]], Sequence[str]]
    price: Callable[[Seat], tuple[float, float] | None]
    first: Callable[[str], str]
    known: Callable[[Seat], Known | None]


def seating(
    plan: Plan,
    roles: Sequence[Role],
    places: Sequence[Place],
    offers: Offers,
    save: Save,
) -> None:
    """Draw the table; each change is given to ``save`` as a new plan at once."""
    with st.container(key="seating", gap="small"):
        for column, head in zip(st.columns(WIDTHS, wrap=False), HEADS, strict=True):
            column.html(f'<div class="moot-th">{head}</div>')
        for role in roles:
            _row(plan, role, places, offers, save, alone=len(roles) == 1)
            with st.container(key=f"seatnote-{role.name}"):
                st.html(_note(plan.seat(role.name), places, offers))


def _row(
    plan: Plan,
    role: Role,
    places: Sequence[Place],
    offers: Offers,
    save: Save,
    *,
    alone: bool,
) -> None:
    seat = plan.seat(role.name)
    sampling = seat.sampling
    builtin = seat.connection == BUILTIN

    def key(part: str) -> str:
        return f"seat-{role.name}-{part}"

    def changed(part: str) -> Any:
        return st.session_state[key(part)]

    def keep(new: Seat) -> None:
        save(plan.with_seat(role.name, new))

    def moved() -> None:
        name = changed("connection")
        keep(seat.model_copy(update={"connection": name, "model": offers.first(name)}))

    def named() -> None:
        keep(seat.model_copy(update={"model": (changed("model") or "").strip()}))

    def sampled(part: str) -> None:
        values = sampling.model_dump() | {part: changed(part)}
        if values["reasoning_effort"] == AUTO:
            values["reasoning_effort"] = None
        if values["max_tokens"] is None:
            values["max_tokens"] = Sampling().max_tokens
        keep(seat.model_copy(update={"sampling": Sampling.model_validate(values)}))

    def number(column: Any, label: str, part: str, least: float, most: float | None, step: float, form: str) -> None:
        value = getattr(sampling, part)
        column.number_input(
            f"{label} of the {role.title}",
            min_value=least if isinstance(step, float) else int(least),
            max_value=most,
            value=None,
            step=step,
            format=form,
            placeholder="auto",
            key=bound(key(part), value),
            on_change=sampled,
            args=(part,),
            label_visibility="collapsed",
            disabled=builtin,
        )

    columns = st.columns(WIDTHS, vertical_alignment="center", wrap=False)
    columns[0].html(role_html(role.name, role.title))
    names = [place.name for place in places]
    columns[1].selectbox(
        f"Connection of the {role.title}",
        names if seat.connection in names else [seat.connection, *names],
        key=bound(key("connection"), seat.connection),
        on_change=moved,
        label_visibility="collapsed",
    )
    listed = list(offers.affordable(seat.connection, offers.listing(seat.connection).names))
    columns[2].selectbox(
        f"Model of the {role.title}",
        listed if not seat.model or seat.model in listed else [seat.model, *listed],
        key=bound(key("model"), seat.model or None),
        index=None,
        placeholder="Choose or type a model",
        accept_new_options=not builtin,
        on_change=named,
        label_visibility="collapsed",
    )
    number(columns[3], "Temperature", "temperature", 0.0, 2.0, 0.1, "%.2g")
    number(columns[4], "Top p", "top_p", 0.01, 1.0, 0.05, "%.2g")
    number(columns[5], "Max tokens", "max_tokens", 1, None, 64, "%d")
    columns[6].selectbox(
        f"Reasoning effort of the {role.title}",
        EFFORTS,
        key=bound(key("reasoning_effort"), sampling.reasoning_effort or AUTO),
        on_change=sampled,
        args=("reasoning_effort",),
        label_visibility="collapsed",
        disabled=builtin,
    )
    number(columns[7], "Seed", "seed", 0, None, 1, "%d")
    columns[8].selectbox(
        f"Replies of the {role.title}",
        list(REPLIES),
        format_func=REPLIES.__getitem__,
        key=bound(key("json_schema"), sampling.json_schema),
        on_change=sampled,
        args=("json_schema",),
        label_visibility="collapsed",
        disabled=builtin,
        help=REPLIES_HELP,
    )
    if not alone:
        columns[9].button(
            "Everywhere",
            key=key("everywhere"),
            help=f"Same model everywhere: put the {role.title}'s model and sampling on every role",
            on_click=lambda: save(plan.everywhere(seat)),
            type="tertiary",
        )


def _note(seat: Seat, places: Sequence[Place], offers: Offers) -> str:
    """One line under a seat: whether its connection answers, whether the model is known there, what it costs, and what
    was learned of it."""
    place = next((place for place in places if place.name == seat.connection), None)
    if place is None:
        gone = f"There is no connection {escape(seat.connection)} any more. Choose another."
        return _line(f'<span class="bad">{gone}</span>')
    if place.name == BUILTIN:
        return _line("A word-list baseline, no language model. Free, nothing leaves this machine.")
    listed = offers.listing(seat.connection)
    parts = []
    if listed.pending:
        parts.append(f"Asking {escape(place.base_url)} for its models …")
    elif listed.error is not None:
        parts.append(f'<span class="bad">{escape(listed.error.message)}</span> {escape(listed.error.remedy)}')
    elif not seat.model:
        parts.append('<span class="warn">Choose a model</span>')
    elif listed.names and seat.model not in listed.names:
        parts.append(f'<span class="warn">{escape(place.name)} does not list this model</span>')
    else:
        parts.append(f"Listed by {escape(place.name)}")
    dollars = offers.price(seat)
    if dollars is None:
        parts.append("price unknown" if seat.model else "")
    else:
        parts.append(
            "free" if dollars == (0, 0) else f"${dollars[0]:,.2f} in, ${dollars[1]:,.2f} out per million tokens"
        )
    known = offers.known(seat)
    parts += [escape(word) for word in learned(known)] if known is not None else []
    return _line(" · ".join(part for part in parts if part))


def learned(known: Known) -> list[str]:
    """What was learned of a model, in a few words each."""
    schema = {"full": "takes a schema", "plain": "takes a schema without lengths", "ignored": "ignores a schema"}
    told = [
        f"context {known.context:,} tokens" if known.context else "",
        "reasons" if known.reasons else "",
        {True: "keeps a seed", False: "keeps no seed", None: ""}[known.seed],
        "takes no schema" if known.schema == "none" else schema.get(known.schema, ""),
        "gives log probabilities" if known.logprobs else "",
        "answers in the expected format" if known.in_format else "",
        "did not answer in the expected format" if known.in_format is False else "",
        f"refuses {', '.join(sorted(known.dropped))}" if known.dropped else "",
        f"at most {known.most_tokens:,} tokens of reply" if known.most_tokens else "",
        "takes no system message" if known.no_system else "",
    ]
    return [word for word in told if word]


def _line(html: str) -> str:
    return f'<div class="moot-line q xs">{html}</div>'
