"""Tests of prices, limits, presets and probed capabilities on Models, and of preflight and failures on Run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from streamlit.testing.v1 import AppTest

from core.engine import retries
from core.llm import streaming
from core.llm.model_info import ModelCard
from core.runs import RoleModel
from core.services import models, preferences
from core.services.project_session import ProjectSession
from core.services.runs import planned_comparison, planning
from core.services.workspace import Workspace
from tests.app.studio import can_other_tabs_act, html, open_page
from tests.core.services.sessions import queue_runs
from tests.servers import ollama
from tests.servers.faults import LASTING, OF_THE_DOCUMENT, STOPPING, answer
from tests.servers.scripted import Scripted, debating, event, piece, sending

FAR = RoleModel(connection="far", model="m")
KEY = "sk-secret-Zx81kq0Pw7"


def submit(at: AppTest, label: str) -> AppTest:
    return next(button for button in at.form_submit_button if button.label == label).click().run()


def test_price_is_entered_used_and_removed(workspace: Workspace, session: ProjectSession) -> None:
    models.add(workspace, "far", "https://models.example/v1")
    planning.save_plan(session, planning.Plan().with_same_model(FAR))
    at = open_page("models")
    assert "price unknown" in html(at)
    at.selectbox(key="price-connection").select("far")
    at.text_input(key="price-model").set_value("m")
    at.number_input(key="price-in").set_value(0.5)
    at.number_input(key="price-out").set_value(2.0)
    submit(at, "Save price")
    assert "$0.50 in, $2.00 out per million tokens" in html(at)
    assert preferences.load().prices["far/m"].completion == 2.0
    assert "far/m has a price" in html(at)
    at.button(key="icon-unprice-far/m").click().run()
    assert "price unknown" in html(at)
    assert "far/m has a price" not in html(at)
    assert "The price of far/m was deleted" in html(at)
    at.text_input(key="price-model").set_value("m")
    at.number_input(key="price-in").set_value(0.5)
    submit(at, "Save price")
    assert "A price has two numbers" in html(at)
    assert (at.text_input(key="price-model").value, at.number_input(key="price-in").value) == ("m", 0.5)


def test_setup_says_how_far_a_small_budget_goes(workspace: Workspace, session: ProjectSession) -> None:
    models.add(workspace, "far", "https://models.example/v1")
    models.set_price(workspace, "far", "*", models.Price(prompt=1, completion=1))
    plan = planning.Plan(budget_usd=1000.0).with_same_model(FAR)
    planning.save_plan(session, plan)
    assert "The budget is below the estimate" not in html(open_page("run"))
    planning.save_plan(session, replace(plan, budget_usd=0.0001))
    assert "It covers no document. Then the run pauses." in html(open_page("run"))


def test_models_above_the_ceiling_are_not_offered(session: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = models.ModelListing((ModelCard("gpt-4.1"), ModelCard("gpt-4.1-mini")))
    monkeypatch.setattr(models, "listing", lambda *_args, **_options: offered)
    planning.save_plan(session, planning.Plan().with_same_model(RoleModel(connection="openai", model="")))
    at = open_page("models")
    assert at.selectbox(key="role-judge-model").options == ["gpt-4.1", "gpt-4.1-mini"]
    at.number_input(key="price-ceiling").set_value(2.0).run()
    assert at.selectbox(key="role-judge-model").options == ["gpt-4.1-mini"]


def test_limits_are_entered_shown_and_applied(workspace: Workspace, session: ProjectSession) -> None:
    at = open_page("models")
    at.number_input(key="limit-openai-requests_per_minute").set_value(500)
    at.number_input(key="limit-openai-at_once").set_value(4)
    at.form("limitsform-openai").form_submit_button[0].click().run()
    assert "At most 500 requests per minute, 4 calls at once" in html(at)
    assert session.models.quota(RoleModel(connection="openai", model="x")).limits.at_once == 4


def test_presets_are_saved_applied_and_deleted(session: ProjectSession) -> None:
    plan = planning.Plan().with_role_model("judge", RoleModel(connection="openai", model="gpt-4.1"))
    planning.save_plan(session, plan)
    at = open_page("models")
    at.text_input(key="preset-name").set_value("final")
    submit(at, "Save preset")
    assert "final" in models.model_presets()
    planning.save_plan(session, planning.Plan())
    at = open_page("models")
    at.button(key="preset-use-final").click().run()
    assert planning.load_plan(session).role_model("judge").spec == "openai/gpt-4.1"
    at.button(key="icon-unpreset-final").click().run()
    assert models.model_presets() == {}


def test_probed_capabilities_are_shown_below_the_role_model(workspace: Workspace, session: ProjectSession) -> None:
    with Scripted(ollama.answer) as server:
        models.add(workspace, "ollama", server.url.removesuffix("/v1"))
        thinker = RoleModel(connection="ollama", model=ollama.THINKER)
        planning.save_plan(session, planning.Plan().with_same_model(thinker))
        at = open_page("models")
        at.button(key="test-ollama").click().run()
        assert "context 8,192 tokens" in html(at)
        at.button(key="examine-ollama").click().run()
        shown = html(at)
        assert "supports JSON schemas" in shown
        assert "reproducible with a seed" in shown
        assert (
            len([body for body in server.requests if body["model"] == thinker.model]) == 6
        )  # one test call, five probe calls
        at.selectbox(key="role-judge-json_schema").select("on").run()
        assert planning.load_plan(session).role_model("judge").sampling.json_schema == "on"
        again = open_page("run")
        again.selectbox(key="handling-on_long").select("cut").run()
        again.number_input(key="handling-silence").set_value(600.0).run()
        kept = planning.load_plan(session).handling
        assert (kept.on_long, kept.silence) == ("cut", 600.0)


def test_each_failure_is_shown_with_its_remedy_and_without_the_key(
    workspace: Workspace, session: ProjectSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MOOT_FAR_API_KEY", KEY)
    monkeypatch.setattr(retries, "_backoff", lambda _state: 0.0)
    monkeypatch.setattr(streaming, "IDLE_SECONDS", 0.2)

    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if request.path == "/v1/models":
            return web.json_response({"data": [{"id": "m"}]})
        return await current(request, body)

    planning.save_plan(session, planning.Plan().with_same_model(FAR))
    current = answer(500)
    with Scripted(behave) as server:
        models.add(workspace, "far", server.url)
        at = open_page("models")
        for kind, (failing, remedy) in {**STOPPING, **OF_THE_DOCUMENT, **LASTING}.items():
            current = failing
            at.button(key="test-far").click().run()
            shown = html(at)
            assert f"far/m: {kind}" in shown
            assert remedy in shown
            assert KEY[:12] not in shown + repr(at.session_state)
    workspace.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "preferences.json" for path in files)
    assert not [path for path in files if KEY[:12].encode() in path.read_bytes()]


def test_run_page_counts_replies_cut_by_the_output_limit(workspace: Workspace, session: ProjectSession) -> None:
    cut = sending(event(piece(reasoning_content="hm")), event(piece(finish="length")))
    with Scripted(debating(judge=cut)) as server:
        models.add(workspace, "far", server.url)
        (run,) = queue_runs(session, planning.Plan(limit=1).with_same_model(FAR))
        session.start_or_resume(run.run_id).result(30)
    shown = html(open_page("run"))
    assert "Replies reached their output limit" in shown
    assert "For 1 of 1 document, a reply reached the output limit of " in shown


def test_unknown_price_asks_for_confirmation(
    workspace: Workspace, session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.state.DOUBLE_CLICK_SECONDS", 0.0)  # the second click counts as a separate one
    models.add(workspace, "far", "https://models.invalid/v1")
    planning.save_plan(session, planning.Plan().with_same_model(FAR))
    at = open_page("run")
    at.button(key="start-all").click().run()
    assert "The price of far/m is unknown" in html(at)
    assert session.store.runs.all() == []
    assert at.button(key="start-unpriced").label == "Start anyway"
    models.set_price(workspace, "far", "*", models.Price(prompt=1, completion=1))
    at.button(key="start-all").click().run()  # with a price, the preflight call is sent at once and fails
    assert "unreachable" in html(at)


def test_run_with_a_budget_starts_if_the_server_states_its_costs(workspace: Workspace, session: ProjectSession) -> None:
    planning.save_plan(session, planning.Plan(limit=1, budget_usd=10.0).with_same_model(FAR))
    usage = {"prompt_tokens": 60, "completion_tokens": 7}
    for costs, started in (({}, 0), ({"cost": 0.001}, 1)):
        last = {**piece("none", "stop"), "usage": {**usage, **costs}}
        with Scripted(sending(event(last))) as server:
            models.add(workspace, "far", server.url)
            at = open_page("run")
            at.button(key="start-few").click().run()
            assert ("The price of far/m (extractor) is unknown" in html(at)) == (not started)
            assert len(session.store.runs.all()) == started
            for run in session.store.runs.all():
                session.start_or_resume(run.run_id).result(30)


def test_comparison_with_an_unknown_price_asks_for_confirmation(workspace: Workspace, session: ProjectSession) -> None:
    models.add(workspace, "far", "https://models.invalid/v1")
    planned_comparison.add(session, planning.Plan())
    planned_comparison.add(session, planning.Plan().with_same_model(FAR))
    at = open_page("run")
    at.button(key="compare-all").click().run()
    assert "The price of far/m is unknown" in html(at)
    assert session.store.runs.all() == []
    assert at.button(key="start-unpriced").label == "Start anyway"


def test_other_tabs_act_while_a_slow_server_lists_its_models(
    session: ProjectSession, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    others_act = []

    def first_model(_: Workspace, name: str) -> str:
        others_act.append(can_other_tabs_act())
        return f"model of {name}"

    monkeypatch.setattr(models, "first_model", first_model)
    at = open_page("models")
    at.selectbox(key="role-judge-connection").select("openai").run()
    assert planning.load_plan(session).role_model("judge").spec == "openai/model of openai"
    assert others_act == [True]
