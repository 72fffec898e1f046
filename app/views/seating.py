"""The seating table: who sits on which role of the protocol, and how they sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import streamlit as st

from app.views.roles import role_html
from app.views.rooms import bound
from core.debate.protocols import Role
from core.runs import BUILTIN, Sampling, Seat
from core.studio.models import Listing, Place
from core.studio.runs import Plan

WIDTHS = (1.45, 1.3, 2.25, 0.75, 0.7, 0.9, 1.1, 0.75, 1.0)
HEADS = ("Role", "Connection", "Model", "Temp.", "Top p", "Max tokens", "Reasoning", "Seed", "")
AUTO = "auto"
EFFORTS = (AUTO, "minimal", "low", "medium", "high")

Save = Callable[[Plan], None]
Offer = Callable[[str], Listing]


def seating(
    plan: Plan,
    roles: Sequence[Role],
    places: Sequence[Place],
    offer: Offer,
    price: Callable[[Seat], tuple[float, float] | None],
    first: Callable[[str], str],
    save: Save,
) -> None:
    """Draw the table; each change is given to ``save`` as a new plan at once.

    ``offer`` lists a connection's models, ``price`` gives dollars a million tokens, ``first`` the model to propose when
    a seat is moved to another connection.
    """
    with st.container(key="seating", gap="small"):
        for column, head in zip(st.columns(WIDTHS, wrap=False), HEADS, strict=True):
            column.html(f'<div class="moot-th">{head}</div>')
        for role in roles:
            _row(plan, role, places, offer, first, save, alone=len(roles) == 1)
            with st.container(key=f"seatnote-{role.name}"):
                st.html(_note(plan.seat(role.name), places, offer, price))


def _row(
    plan: Plan,
    role: Role,
    places: Sequence[Place],
    offer: Offer,
    first: Callable[[str], str],
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
        keep(seat.model_copy(update={"connection": name, "model": first(name)}))

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
    listed = list(offer(seat.connection).names)
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
    if not alone:
        columns[8].button(
            "Everywhere",
            key=key("everywhere"),
            help=f"Same model everywhere: put the {role.title}'s model and sampling on every role",
            on_click=lambda: save(plan.everywhere(seat)),
            type="tertiary",
        )


def _note(
    seat: Seat, places: Sequence[Place], offer: Offer, price: Callable[[Seat], tuple[float, float] | None]
) -> str:
    """One line under a seat: whether its connection answers, whether the model is known there, what it costs."""
    place = next((place for place in places if place.name == seat.connection), None)
    if place is None:
        gone = f"There is no connection {escape(seat.connection)} any more. Choose another."
        return _line(f'<span class="bad">{gone}</span>')
    if place.name == BUILTIN:
        return _line("A word-list baseline, no language model. Free, nothing leaves this machine.")
    listed = offer(seat.connection)
    parts = []
    if listed.pending:
        parts.append(f"Asking {escape(place.base_url)} for its models …")
    elif listed.error is not None:
        parts.append(f'<span class="bad">{escape(listed.error.message)}</span> {escape(listed.error.remedy)}')
    elif not seat.model:
        parts.append('<span class="warn">Choose a model.</span>')
    elif listed.names and seat.model not in listed.names:
        parts.append(f'<span class="warn">{escape(place.name)} does not list this model.</span>')
    else:
        parts.append(f"Listed by {escape(place.name)}")
    dollars = price(seat)
    if dollars is None:
        parts.append("price unknown" if seat.model else "")
    else:
        parts.append(
            "free" if dollars == (0, 0) else f"${dollars[0]:,.2f} in, ${dollars[1]:,.2f} out per million tokens"
        )
    return _line(" · ".join(part for part in parts if part))


def _line(html: str) -> str:
    return f'<div class="moot-line q xs">{html}</div>'
