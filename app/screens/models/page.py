"""Models: the model of each role, and the connections to model servers."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from app import context
from app.screens.models import price_list
from app.screens.models.connections import add_form, connections
from app.screens.models.role_models import Offers, advice, presets, seating
from app.state import state, with_value
from app.widgets.common import heading, line, saved
from app.widgets.layout import header
from core.debate import protocols
from core.services import models
from core.services.evaluation import model_recommendations
from core.services.runs import planning

workspace, session = context.workspace(), context.require_project()
plan = planning.load_plan(session)
card = protocols.find(plan.protocol, plan.params)
roles = card.roles(card.parse_params(plan.for_protocol().params))
places = models.places(workspace)


def save(changed: planning.Plan) -> None:
    """Save the plan in the project."""
    planning.save_plan(session, changed)
    state.models.note_plan_saved()


def refresh() -> None:
    """List the models of all connections in use again."""
    for name in {plan.role_model(role.name).connection for role in roles}:
        models.forget_listing(name)


with header("Models", "models per role, and connections to model servers"):
    saved(state.models.plan_saved_at)

with st.container(border=True, key="role_models"):
    with st.container(horizontal=True, vertical_alignment="center"):
        heading("Model per role")
        st.segmented_control(
            "Protocol",
            list(protocols.PROTOCOLS),
            format_func=lambda name: protocols.find(name).title,
            key=with_value("models-protocol", plan.protocol),
            required=True,
            on_change=lambda: save(replace(plan, protocol=st.session_state["models-protocol"], params={})),
            label_visibility="collapsed",
            width="content",
        )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        line(card.summary, "q")
        st.space("stretch")
        highest = price_list.ceiling()
        presets(plan, models.model_presets(), save)
        st.button("Refresh", icon=":material/refresh:", on_click=refresh, help="Ask the servers for their models anew")
    seating(
        plan,
        roles,
        places,
        Offers(
            listing=lambda name: models.listing(workspace, name),
            affordable=lambda name, names: models.affordable_models(workspace, name, names, highest),
            price=lambda role_model: models.priced(workspace, role_model),
            first=lambda name: models.first_model(workspace, name),
            known=lambda role_model: models.known(workspace, role_model),
        ),
        save,
    )

advice(plan, model_recommendations.model_records(session), roles, save)

left, right = st.columns((2.1, 1), gap="medium")
with left, st.container(border=True, key="places"):
    heading("Connections")
    connections(workspace, places, plan)

with right:
    with st.container(border=True, key="builtin"):
        heading("The built-in model")
        line(
            "builtin/lexical is a word-list baseline, not a language model. It looks for the keywords of each label, "
            "its name and the words of its description, and replies in the form of a debate. It costs nothing, sends "
            "nothing anywhere and gives the same answer every time: a floor that a language model has to beat."
        )
        st.number_input(
            "Pace in words a second",
            min_value=0,
            max_value=1000,
            step=10,
            key=with_value("pace", round(plan.pace)),
            on_change=lambda: save(replace(plan, pace=float(st.session_state["pace"]))),
            help="Speed of the built-in model in the studio, so that you can follow a debate. 0 is instant.",
        )
        line("Instant." if plan.pace == 0 else "So that a debate can be followed. 0 is instant.", "q xs")
    with st.container(border=True, key="add"):
        heading("Add a connection")
        line("Any server with the OpenAI chat API, or Ollama.", "q")
        add_form(workspace)
    with st.container(border=True, key="prices"):
        heading("Prices of your own")
        price_list.own_prices(workspace, places)


@st.fragment(run_every=0.5)
def wait_for_lists(names: tuple[str, ...]) -> None:
    """Draw the page again once the servers that were slow have answered."""
    if not any(models.listing(workspace, name, wait=0.0).pending for name in names):
        st.rerun()


slow = tuple(
    name
    for name in dict.fromkeys(plan.role_model(role.name).connection for role in roles)
    if models.listing(workspace, name, wait=0.0).pending
)
if slow:
    wait_for_lists(slow)
