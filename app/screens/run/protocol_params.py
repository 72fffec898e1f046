"""Form of the parameters that a protocol declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from app.state import state, with_value
from app.widgets.common import line
from core import resources
from core.codebook import Codebook
from core.debate.protocols import custom
from core.debate.spec import PRESET, Param, Params, ProtocolSpec
from core.errors import MootError
from core.services.runs import planning
from core.services.runs.planning import Plan

OWN = ""
"""Option of the preset box for no preset."""


def parameters(
    plan: Plan, card: ProtocolSpec, params: Params, codebook: Codebook, save: Callable[[Plan], None]
) -> None:
    """Draw a widget for each relevant parameter, and the presets.

    Each change calls ``save`` with a new plan. ``params`` are the parsed parameters. Selecting a preset replaces
    parameters that the user set.
    """
    if card.name == custom.NAME:
        _file(plan, save)
        return
    if not card.params and not card.presets:
        return

    def key(name: str) -> str:
        return f"param-{card.name}-{name}"

    def chosen() -> None:
        name = st.session_state[key(PRESET)]
        save(replace(plan, params={PRESET: name} if name else {}))

    def changed(param: Param) -> None:
        value: Any = st.session_state[key(param.name)]
        save(replace(plan, params={**plan.params, param.name: param.default if value is None else value}))

    with st.container(key="protocol-params", gap="small"):
        if card.presets:
            st.selectbox(
                "Preset",
                [OWN, *card.presets],
                format_func=lambda name: card.presets[name].title if name else "Custom",
                key=with_value(key(PRESET), plan.params.get(PRESET, OWN)),
                on_change=chosen,
                help="Rounds, repetitions and temperatures as published. A role's own temperature takes precedence.",
            )
        shown = [param for param in card.params if not param.hidden and param.is_relevant(params)]
        for start in range(0, len(shown), 2):
            for column, param in zip(st.columns(2, wrap=False), shown[start : start + 2], strict=False):
                _widget(column, param, params[param.name], key(param.name), changed)
    treatment = card.kinds.get(codebook.kind)
    if treatment is not None:
        line(f"Vote: {treatment.vote}. Tie: {treatment.tie}.", "q xs")
    if params:
        temperatures = sorted(set(card.temperatures(params).values()))
        if temperatures:
            line(f"Temperature {', '.join(f'{one:g}' for one in temperatures)} for roles without their own.", "q xs")


def _file(plan: Plan, save: Callable[[Plan], None]) -> None:
    """Draw the upload of a custom protocol (YAML). The plan and the run store its text."""

    def taken() -> None:
        given = st.session_state["protocol-file"]
        if given is None:
            return
        try:
            _, params = planning.parse_protocol(given.getvalue().decode("utf-8-sig", "replace"), given.name)
        except MootError as error:
            state.set_notice("error", error.message, error.remedy)
        else:
            save(replace(plan, params=params))

    st.file_uploader("Protocol file", type=["yaml", "yml"], key="protocol-file", on_change=taken)
    if not plan.params.get(custom.SCRIPT):
        line("Defines roles, prompts, speaking order, shared context and the deciding role.", "q")
    st.download_button(
        "Download an example",
        (resources.folder("sample_data") / "protocols" / "second_reading.yaml").read_bytes(),
        file_name="second_reading.yaml",
        mime="application/yaml",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
    )


def _widget(column: Any, param: Param, value: Any, key: str, changed: Callable[[Param], None]) -> None:
    options: dict[str, Any] = {
        "key": with_value(key, value),
        "on_change": changed,
        "args": (param,),
        "help": param.help,
    }
    if isinstance(param.default, bool):
        column.toggle(param.title, **options)
    elif param.choices:
        column.selectbox(param.title, list(param.choices), format_func=param.choices.__getitem__, **options)
    elif isinstance(param.default, str):
        column.text_input(param.title, **options)
    else:
        number = type(param.default)
        column.number_input(
            param.title,
            value=None,
            min_value=None if param.minimum is None else number(param.minimum),
            max_value=None if param.maximum is None else number(param.maximum),
            step=number(1) if number is int else 0.05,
            **options,
        )
