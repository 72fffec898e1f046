"""The model of each role: recommendations from the project's own runs, presets, and the settings table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st

from app.state import state, with_value
from app.widgets.common import heading, line
from app.widgets.labels import role_html
from core.debate.turns import Role
from core.errors import UsageError
from core.runs import BUILTIN, RoleModel, Sampling
from core.services import models
from core.services.evaluation import model_recommendations
from core.services.evaluation.model_recommendations import Criterion, ModelRecord, RoleRecommendation
from core.services.models import ConnectionEntry, Listing, ModelCapabilities
from core.services.preferences import RoleModels
from core.services.runs.planning import Plan

_DID: Mapping[Criterion, tuple[str, str]] = {
    "recall": ("missed least", "recall"),
    "precision": ("named least in vain", "precision"),
    "f1": ("did best in both", "F1"),
}


def advice(plan: Plan, known: Sequence[ModelRecord], roles: Sequence[Role], save: Callable[[Plan], None]) -> None:
    """Draw the scores of each model, the recommendation that follows and the button that applies it.

    Draws nothing without scores.
    """
    if not known:
        return
    with st.container(border=True, key="advice"):
        heading("What your runs have shown")
        st.html(_table(known))
        given = model_recommendations.recommend_models(known, roles)
        if not given:
            line(_why_none(known, roles), "q xs")
            return
        st.html("".join(f'<div class="moot-line">{_words(one)}</div>' for one in given))
        fits = all(plan.role_model(one.role.name).spec == one.record.spec for one in given)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.button(
                "Use these models",
                key="take-advice",
                disabled=fits,
                on_click=lambda: save(model_recommendations.apply_recommendations(plan, given)),
                help="Changes the models; the sampling settings stay",
            )
            line("They sit so already." if fits else "Advice from your own gold, on your own texts.", "q xs")


def _words(one: RoleRecommendation) -> str:
    did, name = _DID[one.metric]
    return (
        f"<b>{escape(one.role.title)}</b>: <code>{escape(one.record.spec)}</code> {did} "
        f"({name} {one.value:.2f} on {one.record.n:,} documents)"
    )


def _why_none(known: Sequence[ModelRecord], roles: Sequence[Role]) -> str:
    if len(roles) < 2:
        return "This role should have the best model."
    if len(known) < 2:
        return "One model has spoken first so far. Let another do so, on its own or as extractor, to compare them."
    return f"Advice needs two models with {model_recommendations.MIN_DOCUMENTS} documents with gold each."


def _table(known: Sequence[ModelRecord]) -> str:
    rows = "".join(
        f"<tr><td>{escape(record.spec)}</td><td>{record.runs}</td><td>{record.n:,}</td><td>{record.recall:.2f}</td>"
        f"<td>{record.precision:.2f}</td><td>{record.f1:.2f}</td></tr>"
        for record in known
    )
    heads = "<th>Model, speaking first</th><th>Runs</th><th>Documents</th><th>Recall</th><th>Precision</th><th>F1</th>"
    return f'<table class="moot-table"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def presets(plan: Plan, known: dict[str, RoleModels], save: Callable[[Plan], None]) -> None:
    """Draw the popover with the saved presets and the form that saves another one."""
    with st.popover(
        "Presets", icon=":material/bookmark:", key="presets", help="Saved models and settings of all roles"
    ):
        if not known:
            line("No presets yet. A preset saves the model and settings of each role for all projects.", "q")
        for name, kept in known.items():
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                if st.button(name, key=f"preset-{name}", help=f"Use the models of {name}", width="stretch"):
                    save(models.apply_preset(plan, kept))
                    state.set_notice("ok", f"Preset {name} is in use", _who(kept))
                    st.rerun()
                if st.button(
                    "", icon=":material/delete:", key=f"unpreset-{name}", help=f"Delete {name}", type="tertiary"
                ):
                    models.delete_preset(name)
                    st.rerun()
        with st.form("save-preset", border=False, clear_on_submit=True):
            name = st.text_input("Name", placeholder="cheap, local, final, …", key="preset-name", width=260)
            if st.form_submit_button("Save preset", type="primary"):
                try:
                    kept_as = models.save_preset(name, plan)
                except UsageError as error:
                    state.set_notice("error", error.message, error.remedy)
                else:
                    state.set_notice("ok", f"Saved as {kept_as}", "It is offered in all your projects.")
                st.rerun()


def _who(kept: RoleModels) -> str:
    specs = dict.fromkeys([kept.default_model.spec, *(role_model.spec for role_model in kept.role_models.values())])
    return ", ".join(specs)


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
    """Functions that the table calls: models of a connection, price limit, price, default model, capabilities."""

    listing: Callable[[str], Listing]
    affordable: Callable[[str, Sequence[str]], Sequence[str]]
    price: Callable[[RoleModel], tuple[float, float] | None]
    first: Callable[[str], str]
    known: Callable[[RoleModel], ModelCapabilities | None]


def seating(
    plan: Plan,
    roles: Sequence[Role],
    places: Sequence[ConnectionEntry],
    offers: Offers,
    save: Save,
) -> None:
    """Draw the table. Each change is passed to ``save`` as a new plan."""
    with st.container(key="role-models", gap="small"):
        for column, head in zip(st.columns(WIDTHS, wrap=False), HEADS, strict=True):
            column.html(f'<div class="moot-th">{head}</div>')
        for role in roles:
            _row(plan, role, places, offers, save, alone=len(roles) == 1)
            with st.container(key=f"role-note-{role.name}"):
                st.html(_note(plan.role_model(role.name), places, offers))


def _row(
    plan: Plan,
    role: Role,
    places: Sequence[ConnectionEntry],
    offers: Offers,
    save: Save,
    *,
    alone: bool,
) -> None:
    role_model = plan.role_model(role.name)
    sampling = role_model.sampling
    builtin = role_model.connection == BUILTIN

    def key(part: str) -> str:
        return f"seat-{role.name}-{part}"

    def changed(part: str) -> Any:
        return st.session_state[key(part)]

    def keep(new: RoleModel) -> None:
        save(plan.with_role_model(role.name, new))

    def moved() -> None:
        name = changed("connection")
        keep(role_model.model_copy(update={"connection": name, "model": offers.first(name)}))

    def named() -> None:
        keep(role_model.model_copy(update={"model": (changed("model") or "").strip()}))

    def sampled(part: str) -> None:
        values = sampling.model_dump() | {part: changed(part)}
        if values["reasoning_effort"] == AUTO:
            values["reasoning_effort"] = None
        if values["max_tokens"] is None:
            values["max_tokens"] = Sampling().max_tokens
        keep(role_model.model_copy(update={"sampling": Sampling.model_validate(values)}))

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
            key=with_value(key(part), value),
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
        names if role_model.connection in names else [role_model.connection, *names],
        key=with_value(key("connection"), role_model.connection),
        on_change=moved,
        label_visibility="collapsed",
    )
    listed = list(offers.affordable(role_model.connection, offers.listing(role_model.connection).names))
    columns[2].selectbox(
        f"Model of the {role.title}",
        listed if not role_model.model or role_model.model in listed else [role_model.model, *listed],
        key=with_value(key("model"), role_model.model or None),
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
        key=with_value(key("reasoning_effort"), sampling.reasoning_effort or AUTO),
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
        key=with_value(key("json_schema"), sampling.json_schema),
        on_change=sampled,
        args=("json_schema",),
        label_visibility="collapsed",
        disabled=builtin,
        help=REPLIES_HELP,
    )
    if not alone:
        columns[9].button(
            "All roles",
            key=key("everywhere"),
            help=f"Use the model and sampling settings of {role.title} for all roles",
            on_click=lambda: save(plan.with_same_model(role_model)),
            type="tertiary",
        )


def _note(role_model: RoleModel, places: Sequence[ConnectionEntry], offers: Offers) -> str:
    """Return the line below a role: connection status, whether the model is known there, price, capabilities."""
    place = next((place for place in places if place.name == role_model.connection), None)
    if place is None:
        gone = f"There is no connection {escape(role_model.connection)} any more. Choose another."
        return _line(f'<span class="bad">{gone}</span>')
    if place.name == BUILTIN:
        return _line("A word-list baseline, not a language model. Free; nothing leaves this machine.")
    listed = offers.listing(role_model.connection)
    parts = []
    if listed.pending:
        parts.append(f"Asking {escape(place.base_url)} for its models …")
    elif listed.error is not None:
        parts.append(f'<span class="bad">{escape(listed.error.message)}</span> {escape(listed.error.remedy)}')
    elif not role_model.model:
        parts.append('<span class="warn">Choose a model</span>')
    elif listed.names and role_model.model not in listed.names:
        parts.append(f'<span class="warn">{escape(place.name)} does not list this model</span>')
    else:
        parts.append(f"Listed by {escape(place.name)}")
    dollars = offers.price(role_model)
    if dollars is None:
        parts.append("price unknown" if role_model.model else "")
    else:
        parts.append(
            "free" if dollars == (0, 0) else f"${dollars[0]:,.2f} in, ${dollars[1]:,.2f} out per million tokens"
        )
    known = offers.known(role_model)
    parts += [escape(word) for word in learned(known)] if known is not None else []
    return _line(" · ".join(part for part in parts if part))


def learned(known: ModelCapabilities) -> list[str]:
    """Return the capabilities of a model in a few words each."""
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
