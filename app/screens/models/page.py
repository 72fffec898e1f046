"""Models: the model of each role, and the connections to model servers."""

from __future__ import annotations

import streamlit as st

from app import context
from app.screens.models import connections, role_models
from app.state import bound, state
from app.widgets.elements import button, heading, line, saved, segments
from app.widgets.layout import header
from core.debate import protocols
from core.services import models
from core.services.codebooks import label_keywords
from core.services.project_session import ProjectSession
from core.services.runs import planning
from core.services.workspace import Workspace


def main() -> None:
    workspace, session = context.workspace(), context.require_project()
    plan = planning.load_plan(session)
    spec = protocols.find(plan.protocol, plan.params)
    roles = spec.roles(spec.parse_params(plan.for_protocol().params))
    entries = models.connection_entries(workspace)
    in_use = tuple(dict.fromkeys(plan.role_model(role.name).connection for role in roles))

    def save(change: planning.Change) -> None:
        planning.change_plan(session, change)
        state.note_saved("plan")

    def refresh() -> None:
        for name in in_use:
            models.forget_listing(workspace, name)
            state.models.set_test(name, None)

    with header("Models", "models per role, and connections to model servers"):
        saved(state.saved_at.get("plan"))
    with st.container(border=True, key="model-per-role"):
        with st.container(horizontal=True, vertical_alignment="center"):
            heading("Model per role")
            segments(
                "Protocol",
                {name: protocols.find(name).title for name in protocols.PROTOCOLS},
                width="content",
                **bound("models-protocol", plan.protocol, lambda name: save(lambda plan: plan.with_protocol(name))),
            )
        line(spec.summary, "q")
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            ceiling = connections.price_ceiling()
            st.space("stretch")
            role_models.presets(plan, save)
            button("Refresh models", "models-refresh", refresh, icon="refresh", help="List the servers' models again")
        role_models.table(workspace, plan, roles, entries, ceiling, save)
    advice = st.container()
    left, right = st.columns((2.1, 1), gap="medium")
    with left:
        with st.container(border=True, key="places"):
            heading("Connections")
            connections.connections(workspace, entries, plan)
        below, vectors = st.columns(2, border=True)
    with below:
        heading("Your prices")
        connections.own_prices(workspace, entries)
    with vectors:
        heading("Text vectors")
    with right:
        _side_cards(workspace, session, plan)
    # Last, because they score all runs and read texts.
    with advice:
        role_models.recommendations(session, plan, roles, save)
    with vectors:
        connections.vectors(workspace, label_keywords.advise_vectors(session))
    pending = tuple(name for name in in_use if models.listing(workspace, name, wait=0.0).pending)
    if pending:
        _wait_for_listings(workspace, pending)


def _side_cards(workspace: Workspace, session: ProjectSession, plan: planning.Plan) -> None:
    """Draw the cards beside the connections: a new one and the built-in model."""

    def set_pace(pace: int) -> None:
        planning.set_pace(session, float(pace))
        state.note_saved("plan")

    with st.container(border=True, key="add"):
        heading("Add a connection")
        line("Any server with the OpenAI chat API, or Ollama.", "q")
        connections.add_form(workspace)
    with st.container(border=True, key="builtin"):
        heading("Built-in model")
        line(
            "builtin/lexical is a word-list baseline, not a language model. It looks for the words of each label, "
            "is free and runs on this machine."
        )
        st.number_input(
            "Pace (words per second)",
            min_value=0,
            max_value=1000,
            step=10,
            help="Speed of the built-in model in the studio. 0 is instant, the default after your first run. "
            "A run that was paused continues at this speed.",
            **bound("pace", round(plan.pace), set_pace),
        )
        line("Instant." if plan.pace == 0 else "Slow enough to follow. 0 is instant.", "q xs")


@st.fragment(run_every=0.5)
def _wait_for_listings(workspace: Workspace, names: tuple[str, ...]) -> None:
    """Rerun the page when the slow servers have answered."""
    if not any(models.listing(workspace, name, wait=0.0).pending for name in names):
        st.rerun()


main()
