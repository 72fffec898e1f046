"""The model of each role: settings table, presets, and recommendations from the project's own runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any, get_args

import streamlit as st

from app.pages import page_link
from app.state import bound, run_slow, state
from app.widgets.alerts import error_notices
from app.widgets.elements import button, heading, icon_button, line, literal
from app.widgets.elements import table as text_table
from app.widgets.labels import role_html
from app.widgets.metric_tables import estimate_html
from core.debate.turns import Role
from core.formatting import format_token_price
from core.runs import Effort, RoleModel, Sampling
from core.services import models, preferences
from core.services.evaluation import annotation_arrays
from core.services.evaluation.model_recommendations import (
    ModelScores,
    apply_recommendations,
    comparable_runs,
    model_scores,
    recommend_models,
    roles_by_sentence,
)
from core.services.project_session import ProjectSession
from core.services.runs.planning import Change, Plan
from core.services.workspace import Workspace
from core.stats.metrics import metrics

Save = Callable[[Change], None]

WIDTHS = (1.4, 1.25, 1.7, 0.7, 0.7, 0.85, 1.05, 0.7, 1.75, 0.9)
HEADS = ("Role", "Connection", "Model", "Temp.", "Top p", "Max tokens", "Reasoning", "Seed", "Replies", "")
AUTO = "auto"
EFFORTS = (AUTO, *get_args(Effort))
REPLIES = {"off": "text", "auto": "text, then JSON", "on": "JSON"}
REPLIES_HELP = (
    "Text: replies are plain text and are streamed. JSON: deciding replies must follow a JSON schema, if the server "
    "supports it. Text, then JSON: the schema is used only when a reply could not be read."
)
SEED_SUPPORT = {True: "reproducible with a seed", False: "ignores the seed", None: ""}
REPLY_FORMAT = {True: "replies in the expected format", False: "did not reply in the expected format", None: ""}
SCHEMA_SUPPORT = {
    "none": "does not support JSON schemas",
    "full": "supports JSON schemas",
    "plain": "supports JSON schemas without length limits",
    "ignored": "ignores JSON schemas",
}


# -- settings table


def table(
    workspace: Workspace,
    plan: Plan,
    roles: Sequence[Role],
    entries: Sequence[models.ConnectionEntry],
    ceiling: float | None,
    save: Save,
) -> None:
    """Draw a row of settings for each role. Each change is passed to ``save`` as a function of the plan.

    Models above the price ``ceiling`` are not offered.
    """
    if not roles:
        line("The protocol file names the roles. Choose a file under Settings on Run.")
        page_link("run")
        return
    with st.container(key="role-models", gap="small"):
        for column, head in zip(st.columns(WIDTHS, wrap=False), HEADS, strict=True):
            column.html(f'<div class="moot-th">{head}</div>')
        notes = [_note(workspace, plan.role_model(role.name), entries) for role in roles]
        for role, note, next_note in zip(roles, notes, [*notes[1:], None], strict=True):
            _row(workspace, _RoleFields(plan, role, save), entries, ceiling, alone=len(roles) == 1)
            if note != next_note:  # once below the roles that it is about
                with st.container(key=f"role-note-{role.name}"):
                    st.html(f'<div class="moot-line q xs">{note}</div>')


@dataclass(frozen=True)
class _RoleFields:
    """The fields of a role in the settings table. Each change is passed to ``save`` as a function of the plan."""

    plan: Plan
    role: Role
    save: Save

    @property
    def role_model(self) -> RoleModel:
        return self.plan.role_model(self.role.name)

    def keep(self, change: Callable[[RoleModel], Mapping[str, Any]]) -> None:
        """Save the fields of the role's model that ``change`` returns for the stored model."""
        name = self.role.name

        def changed(plan: Plan) -> Plan:
            role_model = plan.role_model(name)
            return plan.with_role_model(name, role_model.model_copy(update=change(role_model)))

        self.save(changed)

    def use_for_all(self) -> None:
        """Give all roles the model and the sampling settings of this role."""
        self.save(lambda plan: plan.with_same_model(plan.role_model(self.role.name)))

    def options(self, part: str, label: str, value: Any, change: Callable[[Any], None]) -> dict[str, Any]:
        binding = bound(f"role-{self.role.name}-{part}", value, change)
        return {"label": f"{label} of the {self.role.title}", "label_visibility": "collapsed", **binding}

    def sampled(self, part: str, label: str, *, empty: Any = None) -> dict[str, Any]:
        """Return the arguments of a widget for a sampling setting; ``empty`` is shown for None."""

        def change(value: Any) -> None:
            changes = {part: None if value == empty else value}
            self.keep(lambda stored: {"sampling": Sampling.model_validate(stored.sampling.model_dump() | changes)})

        value = getattr(self.role_model.sampling, part)
        shown = empty if value is None else value
        return {**self.options(part, label, shown, change), "disabled": self.role_model.is_builtin}

    def number(
        self, column: Any, part: str, label: str, minimum: float, maximum: float | None, step: float, format: str
    ) -> None:
        column.number_input(
            min_value=minimum,
            max_value=maximum,
            value=None,
            step=step,
            format=format,
            placeholder=AUTO,
            **self.sampled(part, label),
        )


def _row(
    workspace: Workspace,
    fields: _RoleFields,
    entries: Sequence[models.ConnectionEntry],
    ceiling: float | None,
    *,
    alone: bool,
) -> None:
    role, role_model = fields.role, fields.role_model
    columns = st.columns(WIDTHS, vertical_alignment="center", wrap=False)
    columns[0].html(role_html(role.name, role.title))
    names = dict.fromkeys([entry.name for entry in entries] + [role_model.connection])

    def use_connection(name: str) -> None:
        model = run_slow(models.first_model, workspace, name)
        fields.keep(lambda _: {"connection": name, "model": model})

    columns[1].selectbox(
        options=list(names), **fields.options("connection", "Connection", role_model.connection, use_connection)
    )
    listed = models.listing(workspace, role_model.connection).names
    offered = models.affordable_models(workspace, role_model.connection, listed, ceiling)
    columns[2].selectbox(
        options=list(offered if role_model.model in offered else filter(None, (role_model.model, *offered))),
        index=None,
        placeholder="Model name",
        accept_new_options=not role_model.is_builtin,
        **fields.options(
            "model",
            "Model",
            role_model.model or None,
            lambda name: fields.keep(lambda _: {"model": (name or "").strip()}),
        ),
    )
    fields.number(columns[3], "temperature", "Temperature", 0.0, 2.0, 0.1, "%.2g")
    fields.number(columns[4], "top_p", "Top p", 0.01, 1.0, 0.05, "%.2g")
    fields.number(columns[5], "max_tokens", "Max tokens", 1, None, 64, "%d")
    columns[6].selectbox(options=EFFORTS, **fields.sampled("reasoning_effort", "Reasoning effort", empty=AUTO))
    fields.number(columns[7], "seed", "Seed", 0, None, 1, "%d")
    columns[8].selectbox(
        options=list(REPLIES),
        format_func=REPLIES.__getitem__,
        help=REPLIES_HELP,
        **fields.sampled("json_schema", "Replies"),
    )
    if not alone:
        with columns[9]:
            help = f"Use the model and sampling settings of {literal(role.title)} for all roles"
            button("Use for all", f"role-{role.name}-everywhere", fields.use_for_all, type="tertiary", help=help)


def _note(workspace: Workspace, role_model: RoleModel, entries: Sequence[models.ConnectionEntry]) -> str:
    """Return the line below a role as HTML: whether the connection lists the model, its price and capabilities."""
    entry = next((entry for entry in entries if entry.name == role_model.connection), None)
    if entry is None:
        return f'<span class="bad">Connection {escape(role_model.connection)} does not exist. Choose another.</span>'
    if entry.is_builtin:
        return "A word-list baseline, not a language model. Free; nothing leaves this machine."
    listed = models.listing(workspace, role_model.connection)
    if listed.pending:
        status = f"Listing the models of {escape(entry.base_url)} …"
    elif listed.error is not None:
        status = f'<span class="bad">{escape(listed.error.message)}</span> {escape(listed.error.remedy)}'
    elif not role_model.model:
        return '<span class="warn">Choose a model</span>'
    elif listed.names and role_model.model not in listed.names:
        status = f'<span class="warn">{escape(entry.name)} does not list this model</span>'
    else:
        status = f"Listed by {escape(entry.name)}"
    price = format_token_price(models.priced(workspace, role_model)) if role_model.model else ""
    detected = models.known_capabilities(workspace, role_model)
    return " · ".join(
        filter(None, [status, price, *map(escape, capabilities(detected) if detected is not None else ())])
    )


def capabilities(detected: models.ModelCapabilities) -> list[str]:
    words = [
        f"context {detected.context:,} tokens" if detected.context else "",
        "reasons" if detected.reasons else "",
        SEED_SUPPORT[detected.seed],
        SCHEMA_SUPPORT.get(detected.schema, ""),
        "gives log probabilities" if detected.logprobs else "",
        REPLY_FORMAT[detected.in_format],
        f"rejects {', '.join(detected.refusals)}" if detected.refused_params else "",
        f"at most {detected.max_output_tokens:,} tokens per reply" if detected.max_output_tokens else "",
        "does not accept system messages" if detected.no_system else "",
    ]
    return [word for word in words if word]


# -- presets


def presets(plan: Plan, save: Save) -> None:
    """Draw the popover with the saved presets and the form that saves another one."""

    def use(name: str, preset: preferences.RoleModels) -> None:
        save(partial(models.apply_preset, role_models=preset))
        specs = dict.fromkeys(role_model.spec for role_model in (preset.default_model, *preset.role_models.values()))
        state.set_notice("ok", f"Preset {name} is in use", ", ".join(specs))

    help = "Saved models and settings of all roles"
    with st.popover("Presets", icon=":material/bookmark:", key="presets", help=help):
        saved = models.model_presets()
        if not saved:
            line("No presets yet. A preset saves the model and settings of each role for all projects.", "q")
        for name, preset in saved.items():
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                help = f"Use the models of {literal(name)}"
                button(literal(name), f"preset-use-{name}", use, name, preset, help=help, width="stretch")
                icon_button("delete", f"Delete {literal(name)}", f"unpreset-{name}", models.delete_preset, name)
        with st.form("save-preset", border=False, clear_on_submit=True):
            name = st.text_input("Name", placeholder="cheap, local, final, …", key="preset-name", width=260)
            if st.form_submit_button("Save preset", type="primary"):
                with error_notices():
                    stored = models.save_preset(name, plan)
                    state.set_notice("ok", f"Saved as {stored}", "It is offered in all your projects.")
                st.rerun()


# -- recommendations


def recommendations(session: ProjectSession, plan: Plan, roles: Sequence[Role], save: Save) -> None:
    """Draw the scores of each model, the recommendations and the button that applies them.

    Draws nothing before the first run.
    """
    latest = next(iter(annotation_arrays.ranked_runs(session)), None)
    runs = comparable_runs(session, latest) if latest is not None else ()
    if not runs:
        return
    with st.container(border=True, key="recommendations"):
        heading("Recommendations from your runs")
        if results := model_scores(session, runs):
            _scores_table(session, results)
        recommended = recommend_models(session, runs, tuple(role.name for role in roles))
        lines = (
            f'<div class="moot-line"><b>{escape(titles)}:</b> {escape(sentence)}</div>'
            for sentence, titles in roles_by_sentence(recommended).items()
        )
        if recommended:
            st.html("".join(lines))
        useful = [recommendation for recommendation in recommended if recommendation.model is not None]
        if not useful:
            return
        apply = partial(apply_recommendations, recommendations=useful)
        changed = apply(plan)
        applied = all(plan.role_model(role.name).spec == changed.role_model(role.name).spec for role in roles)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            help = "Changes the models; the sampling settings stay"
            button("Use these models", "use-recommendations", save, apply, disabled=applied, help=help)
            line("These models are in use." if applied else "Based on the gold labels of your own texts.", "q xs")


def _scores_table(session: ProjectSession, results: Sequence[ModelScores]) -> None:
    keys = ("macro_recall", "macro_precision", "macro_f1")
    shown = [metric for metric in metrics("multilabel") if metric.key in keys]
    rows = [
        (
            result.spec,
            result.title,
            session.run_name(result.run_id),
            f"{result.scores.n:,}",
            *(estimate_html(result.scores[metric.key]) for metric in shown),
        )
        for result in results
    ]
    text_table(("Model", "Role", "Run", "Documents", *(metric.name for metric in shown)), rows, text=("Role", "Run"))
