"""Tests of the Run page with the built-in model, with Streamlit's AppTest."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import replace
from unittest.mock import Mock

import pytest
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx
from streamlit.testing.v1 import AppTest

from app import context
from app.screens.run import setup
from app.state import state
from app.widgets.elements import literal
from core.codebook import Codebook, Label
from core.debate.events import VerdictReached
from core.debate.turns import ReplyError, Verdict
from core.llm.connections import parse_connection
from core.runs import NOT_STOPPED, RoleModel, RunDetails, RunRow, StopCode, StopReason
from core.services import workspace as workspaces
from core.services.codebooks import codebook as codebooks
from core.services.data import importing
from core.services.project_session import ProjectSession
from core.services.runs import control, cost_estimate, planning
from core.store.runs import set_state
from tests.app.studio import button, html, open_page
from tests.core.services.sessions import BOOK, TEXTS, fill, queue_runs, until
from tests.core.store.helpers import make_reply
from tests.servers.scripted import Scripted, reply_with

HOSTILE = "<img src=x onerror=alert(1)> ![x](http://evil.example/x.png)"


def labels(at: AppTest) -> list[str]:
    return [button.label for button in at.button]


def put_paused(session: ProjectSession, run_id: str, reason: StopCode, words: str) -> None:
    session.project._writer.do(set_state(run_id, "paused", StopReason(reason, words), 1.0))  # type: ignore[union-attr]


def annotate_with(session: ProjectSession, server: Scripted) -> RunRow:
    """Return a finished run of a single annotator with the model of a server."""
    session.models.add(parse_connection("lab", server.url))
    plan = planning.Plan(protocol="single").with_role_model("annotator", RoleModel.parse("lab/m"))
    (run,) = queue_runs(session, plan)
    session.start_or_resume(run.run_id).result(30)
    return run


def test_run_page_without_documents_has_only_the_next_step(session: ProjectSession) -> None:
    at = open_page("run")
    assert "No documents yet" in html(at)
    assert [label for label in labels(at) if "mport" in label or "Open" in label] == [
        "Next: import texts",
        "Import texts",
    ]


def test_run_page_without_labels_has_only_the_next_step(session: ProjectSession) -> None:
    fill(session, book=Codebook())
    at = open_page("run")
    assert "No labels yet" in html(at)
    assert [label for label in labels(at) if "abels" in label or "Open" in label] == [
        "Next: define labels",
        "Define labels",
    ]


def test_run_page_before_the_first_run(session: ProjectSession) -> None:
    fill(session, documents=12)
    shown = html(at := open_page("run"))
    assert "No verdicts yet" in shown
    assert "Ready: 12 documents, 2 labels and 3 roles." in shown
    assert "Free. The built-in model writes 40 words per second" in shown
    assert "Start with 10" in labels(at)
    assert "Start all 12" in labels(at)
    assert "<td><b>36</b></td>" in shown  # 12 documents times 3 calls


def test_estimate_of_a_single_run_says_which_requests_are_stored(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(session)
    monkeypatch.setattr(cost_estimate, "stored_requests", lambda *_: "stored already")
    assert "stored already" in html(open_page("run"))
    planning.save_plan(session, planning.Plan(iterations=2))  # only the first iteration has the keys of the settings
    assert "stored already" not in html(open_page("run"))


@pytest.mark.parametrize("cost", [0.5, None])
def test_pilot_is_not_said_to_measure_what_was_measured(cost: float | None) -> None:
    roles = (cost_estimate.RoleEstimate("a", "A", RoleModel(connection="openai", model="m"), 1, 1, 1, cost),)
    shown = [
        setup._pilot_cost(planning.Plan(), cost_estimate.CostEstimate(1, 1, roles, "", is_measured), 10, 160)
        for is_measured in (False, True)
    ]
    assert "measures how many tokens" in shown[0] or "better estimate" in shown[0]
    assert shown[1] in {"Price unknown.", "A pilot of 10 documents costs about $0.50."}


def test_protocol_file_that_an_interrupted_run_did_not_draw_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    uploader, save = Mock(), Mock()
    monkeypatch.setattr("streamlit.file_uploader", uploader)
    setup._protocol_file(planning.Plan(), save)
    uploader.call_args.kwargs["on_change"]()
    assert not save.called


def test_run_on_hold_names_the_run_that_it_waits_for(session: ProjectSession) -> None:
    fill(session)
    first, second = queue_runs(session, planning.Plan(iterations=2))
    session.store.runs.describe({first.run_id: RunDetails(name="First try")})
    put_paused(session, second.run_id, "on_hold", first.run_id)
    at = open_page("run")
    at.session_state["run_id"] = second.run_id
    assert "It was put on hold with First try." in html(at.run())


def test_advanced_settings_are_folded_until_one_is_set(session: ProjectSession) -> None:
    fill(session)

    def is_open() -> bool:
        folded = next(block for block in at.run().expander if block.label == "Advanced settings")
        assert [field.label for field in folded.number_input] == ["Calls at once", "Seed"]
        return folded.proto.expanded

    at = open_page("run")
    assert not is_open()
    planning.change_plan(session, lambda plan: replace(plan, seed=7))
    assert is_open(), "a setting that is in effect is visible"
    planning.change_plan(session, lambda plan: replace(plan, seed=0))
    assert is_open(), "an edit of the only changed setting would close it"


def test_label_without_words_gets_a_warning_without_a_link(session: ProjectSession) -> None:
    fill(session, book=Codebook(labels=(*BOOK.labels, Label(name="It"))))
    at = open_page("run")
    assert "has no word that the word-list baseline could look for" in html(at)
    assert [link.proto.label for link in at.main.get("page_link")] == ["Models", "Codebook"]  # of the settings


def test_unsaved_codebook_gets_a_warning(session: ProjectSession) -> None:
    fill(session)
    assert "not saved" not in html(open_page("run"))
    session.store.codebooks.save_draft(codebooks.change_label(BOOK, BOOK.labels[0].id, description="Better."))
    assert "The codebook has changes that are not saved. This run uses version 1." in html(open_page("run"))


def test_settings_are_saved_in_the_project_at_once(session: ProjectSession) -> None:
    fill(session, documents=12)
    at = open_page("run")
    at.number_input(key="run-concurrency").set_value(3).run()
    at.number_input(key="run-limit").set_value(5).run()
    at.selectbox(key="run-protocol").set_value("single").run()
    assert "Start with 5" in labels(at)
    assert "Saved" in html(at)
    plan = planning.load_plan(session)
    assert (plan.concurrency, plan.limit, plan.protocol) == (3, 5, "single")
    at.number_input(key="run-limit").set_value(None).run()
    assert planning.load_plan(session).limit is None


def test_stored_settings_outside_the_limits_of_a_field_are_shown(session: ProjectSession) -> None:
    fill(session, documents=4)
    session.store.settings.set(
        planning.PLAN_SETTING, {"limit": 50, "budget_usd": 0.005, "iterations": 2000, "seed": -1}
    )
    at = open_page("run")
    shown = [at.number_input(key=f"run-{name}") for name in ("limit", "budget_usd", "iterations", "seed")]
    assert [field.value for field in shown] == [50, 0.005, 2000, -1]
    assert [(field.min <= field.value, field.max is None or field.max >= field.value) for field in shown] == [
        (True, True)
    ] * 4
    assert shown[1].proto.format == "%g"  # not 0.01


def test_ambiguous_documents_name_the_prepass_as_stability_does(session: ProjectSession) -> None:
    fill(session)
    session.store.settings.set(planning.PLAN_SETTING, {"ambiguous": "r0002"})
    documents = next(box for box in open_page("run").selectbox if box.key == "run-ambiguous")
    assert documents.options == ["All", "Ambiguous in Run r0002"]


def test_settings_changed_before_the_page_is_drawn_again_are_all_saved(session: ProjectSession) -> None:
    fill(session, documents=12)
    at = open_page("run")
    at.selectbox(key="run-protocol").set_value("single")
    at.number_input(key="run-concurrency").set_value(3)
    at.number_input(key="run-limit").set_value(5).run()
    plan = planning.load_plan(session)
    assert (plan.protocol, plan.concurrency, plan.limit) == ("single", 3, 5)
    at.selectbox(key="run-protocol").set_value("panel").run()
    at.selectbox(key="run-protocol").set_value("single")
    at.number_input(key="param-panel-turns").set_value(3).run()
    assert (planning.load_plan(session).protocol, planning.load_plan(session).params) == ("single", {})


def test_run_is_started_watched_and_finished(session: ProjectSession) -> None:
    fill(session, documents=12)
    planning.save_plan(session, planning.Plan(pace=0.0))
    at = open_page("run")
    at.button(key="start-few").click().run()
    drawn, ids = session.store.runs.document_ids("r0001"), session.store.documents.ids()
    assert drawn == sorted(drawn, key=ids.index)
    assert drawn != ids[: planning.PILOT], "a pilot on the first rows of a sorted file would show one label"
    assert "ECJ, word-list baseline" in html(at)
    until(lambda: session.state("r0001") == "done", 30)
    at.run()
    shown = html(at)
    assert "moot-badge right" in shown
    assert "reviews.csv, codebook v1" in shown
    assert len(session.store.runs.all()) == 1
    assert "Pause" not in labels(at)
    assert "New run" in labels(at)


def test_hint_names_the_button_of_the_setup_only_outside_of_it(session: ProjectSession) -> None:
    fill(session)
    (run,) = queue_runs(session, planning.Plan())
    session.stop(run.run_id)
    at = open_page("run")
    assert "Press New run, then press Start all 4:" in html(at)
    at.button(key="new-run").click().run()
    assert "Press Start all 4:" in html(at)


def test_end_of_a_watched_run_is_noticed_by_any_rerun(session: ProjectSession) -> None:
    fill(session)
    (first,) = queue_runs(session, planning.Plan(pace=1000.0))
    put_paused(session, first.run_id, "user", "paused")
    at = open_page("run")
    assert "paused" in html(at)
    at.session_state["run_id"] = first.run_id
    session.start_or_resume(first.run_id).result(30)
    _, second = queue_runs(session, planning.Plan(pace=1.0, iterations=2))  # whose replies are not stored yet
    session.start_or_resume(second.run_id)
    at.run()  # by the next step in the sidebar, for example, before the live board has reported the end
    assert planning.load_plan(session).pace == 0
    assert at.session_state["run_id"] == second.run_id


def test_protocol_parameters_are_shown_as_a_form(session: ProjectSession) -> None:
    fill(session, documents=12)
    at = open_page("run")
    at.selectbox(key="run-protocol").set_value("discussion").run()
    assert "3 to 9 calls per document." in html(at)
    at.number_input(key="param-discussion-annotators").set_value(2).run()
    assert planning.load_plan(session).params == {"annotators": 2}
    assert "2 to 6 calls per document" in html(at)
    at.selectbox(key="param-discussion-preset").set_value("paper").run()
    assert planning.load_plan(session).params == {"preset": "paper"}
    at.selectbox(key="run-protocol").set_value("ecj").run()
    assert "3 calls per document: Extractor 1, Critic 1, Judge 1." in html(at)
    at.selectbox(key="run-protocol").set_value("custom").run()
    assert "it needs a description" in html(at)


def test_comparison_is_assembled_and_started(session: ProjectSession) -> None:
    fill(session, documents=12)
    at = open_page("run")
    at.button(key="compare-add").click().run()
    at.selectbox(key="run-protocol").set_value("single").run()
    at.button(key="compare-add").click().run()
    assert "Comparison of 2" in html(at)
    assert "12 documents: at most 48 calls; free. Unreadable replies are asked for once more." in html(at)
    at.button(key="compare-few").click().run()
    assert [(run.settings.protocol, run.documents) for run in session.store.runs.all()] == [("ecj", 10), ("single", 10)]


def test_a_double_click_starts_one_run(session: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.state.DOUBLE_CLICK_SECONDS", 1e9)  # longer than the machine has run, however slow it is
    fill(session, documents=12)
    at = open_page("run")
    at.button(key="start-all").click().run()
    at.button(key="new-run").click().run()
    at.button(key="start-all").click().run()
    assert len(session.store.runs.all()) == 1


def test_a_click_during_a_long_preflight_starts_no_second_run(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.state.DOUBLE_CLICK_SECONDS", 1e9)
    fill(session, documents=12)

    def probe_all(*_: object) -> tuple[()]:
        state.last_action = ("start", -2e9)  # as if the first click were long ago
        return ()

    monkeypatch.setattr(planning, "probe_all", probe_all)
    at = open_page("run")
    at.button(key="start-all").click().run()
    at.button(key="new-run").click().run()
    at.button(key="start-all").click().run()
    assert len(session.store.runs.all()) == 1


def test_result_of_a_preflight_ends_with_its_model_or_another_page(session: ProjectSession) -> None:
    fill(session)
    unreachable = planning.Plan().with_same_model(RoleModel(connection="llamacpp", model="x"))
    planning.save_plan(session, unreachable)
    at = open_page("run")
    at.button(key="start-all").click().run()
    assert "cannot be reached" in html(at)
    planning.save_plan(session, planning.Plan())
    assert "cannot be reached" not in html(at.run()), "the run has other models"
    planning.save_plan(session, unreachable)
    assert "cannot be reached" in html(at.run())
    at.switch_page("screens/models/page.py").run()
    assert "cannot be reached" not in html(at.switch_page("screens/run/page.py").run()), "it may be fixed"


def test_setting_changed_during_the_preflight_does_not_lose_the_start(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.state.DOUBLE_CLICK_SECONDS", 0.0)  # the preflight of a slow server takes longer
    fill(session)
    (earlier,) = queue_runs(session, planning.Plan())
    session.stop(earlier.run_id)

    def probe_all(*_: object) -> tuple[()]:
        context = get_script_run_ctx()
        assert context is not None
        assert context.script_requests is not None
        context.script_requests.request_rerun(RerunData())  # as the browser does
        return ()

    at = open_page("run")
    at.button(key="new-run").click().run()
    monkeypatch.setattr(planning, "probe_all", probe_all)
    at.button(key="start-all").click().run()
    at.run()
    assert [run.run_id for run in session.all_runs()] == [earlier.run_id, "r0002"]
    assert at.session_state["run_id"] == "r0002"
    assert "Back to runs" not in labels(at)  # of the setup


def test_failed_preflight_starts_no_run(session: ProjectSession) -> None:
    fill(session)
    planning.save_plan(
        session, planning.Plan().with_role_model("critic", RoleModel(connection="llamacpp", model="none"))
    )
    at = open_page("run")
    at.button(key="start-all").click().run()
    shown = html(at)
    assert "Critic: unreachable" in shown
    assert "Extractor and Judge is ready" not in shown
    assert "are ready" in shown
    assert session.store.runs.all() == []


def test_run_is_paused_and_resumed_from_a_second_tab(session: ProjectSession) -> None:
    fill(session, documents=12)
    planning.save_plan(session, planning.Plan(pace=25.0, concurrency=2))
    at = open_page("run")
    at.button(key="start-all").click().run()
    until(lambda: session.state("r0001") == "running")
    at.run()
    at.button(key="pause").click().run()
    assert "pausing" in html(at) or "paused" in html(at)
    until(lambda: session.state("r0001") == "paused")
    other = open_page("run")  # a second tab reads the state from the project
    assert "Resume" in labels(other)
    other.button(key="resume").click().run()
    until(lambda: session.state("r0001") == "running")
    at.run()
    assert "Pause" in labels(at)
    at.button(key="stop").click().run()
    until(lambda: session.state("r0001") == "stopped")
    at.run()
    assert "Resume" in labels(at)


def test_queue_is_shown_and_runs_can_be_removed(session: ProjectSession) -> None:
    fill(session, documents=12)
    planning.save_plan(session, planning.Plan(pace=5.0, concurrency=1, iterations=3))
    at = open_page("run")
    at.button(key="start-all").click().run()
    until(lambda: session.state("r0001") == "running")
    at.run()
    assert "iteration 1 of 3" in html(at)
    assert literal("ECJ, word-list baseline, iteration 2") in labels(at)
    at.button(key="unqueue-r0002").click().run()
    assert [row.run_id for row in control.queued_runs(session)] == ["r0003"]
    at.selectbox(key="run-picker").select("r0003").run()
    assert "Remove from queue" in labels(at)
    assert r"Watch ECJ\, word\-list baseline" in labels(at)
    at.button(key="watch").click().run()
    assert "ECJ, word-list baseline" in html(at)


def test_interrupted_run_can_be_resumed(session: ProjectSession) -> None:
    fill(session)
    (run,) = queue_runs(session)
    put_paused(session, run.run_id, "interrupted", "interrupted")
    at = open_page("run")
    assert "ECJ, word-list baseline was interrupted at 0 of 4" in html(at)
    at.button(key="box-resume").click().run()
    until(lambda: session.state(run.run_id) == "done", 30)


def test_run_continues_in_the_copy_of_a_removed_project(session: ProjectSession) -> None:
    fill(session, documents=12)
    planning.save_plan(session, planning.Plan(pace=100.0, concurrency=2))
    at = open_page("run")
    at.button(key="start-all").click().run()
    until(lambda: session.run("r0001").verdicts > 0)
    for path in session.path.parent.glob(f"{session.path.name}*"):  # as in a clean-up of the folder
        path.unlink()
    until(lambda: session.state("r0001") == "paused")
    shown = html(at.run())
    assert "was deleted or moved" in shown
    assert 0 < finished(shown) < 12
    assert (labels(at).count("Save a copy and continue with it"), labels(at).count("Resume")) == (1, 1)
    draft = importing.read_files([("a.csv", b"text\none two\n")])
    pending = context.pending_imports().add(draft, session.path)
    copy = session.path.with_name("p-recovered.duckdb")
    assert f"The project was saved as {copy}" in html(at.button(key="save-copy").click().run())
    assert "Save a copy and continue with it" not in labels(at)
    assert pending.project == copy
    button(at, "Resume")
    recovered = workspaces.current().open(copy, create=False)
    until(lambda: recovered.state("r0001") == "done")
    assert finished(html(at.run())) == 12
    assert "New run" in labels(at)
    assert "Pause" not in labels(at)
    run = recovered.run("r0001")
    assert run.verdicts + run.unresolved == 12
    assert len(recovered.project.replies._keys) == 3 * len(TEXTS)
    assert len(recovered.store.documents.ids()) == 12


def finished(shown: str) -> int:
    """Return the number of finished documents in the sidebar."""
    match = re.search(r'role="progressbar" aria-valuenow="(\d+)"', shown)
    assert match is not None
    return int(match[1])


def test_nothing_remains_of_a_budget_that_is_spent(session: ProjectSession) -> None:
    fill(session)
    (run,) = queue_runs(session, planning.Plan(budget_usd=0.4))
    asyncio.run(session.project.replies.commit(make_reply("k", cost=0.5, run_id=run.run_id)))
    put_paused(session, run.run_id, "budget", "the budget of $0.40 is spent")
    shown = html(open_page("run"))
    assert "Paused at $0.50 of $0.40" in shown
    assert "The budget is spent." in shown


def test_spent_budget_is_raised(session: ProjectSession) -> None:
    fill(session)
    (run,) = queue_runs(session, planning.Plan(budget_usd=3.0))
    put_paused(session, run.run_id, "budget", "the budget of $3 is spent")
    at = open_page("run")
    assert "Paused at $0.00 of $3.00" in html(at)
    assert "The remaining $3.00 may not cover another call." in html(at)
    assert "Raise to $6.00" in labels(at)
    at.button(key="box-raise").click().run()
    until(lambda: session.state(run.run_id) == "done", 30)
    row = session.store.runs.get(run.run_id)
    assert row is not None
    assert row.budget_usd == 6.0


def test_stop_message_is_shown_as_text(session: ProjectSession) -> None:
    fill(session)
    (run,) = queue_runs(session)
    put_paused(session, run.run_id, "errors", f"5 documents in a row met the same error: {HOSTILE}")
    at = open_page("run")
    shown = html(at)
    assert "&lt;img src=x" in shown
    assert "<img" not in shown
    assert "to choose others, press Run again." in shown
    assert any(button.label == "Run again" for button in at.button)


def test_retry_asks_for_unresolved_documents_again(session: ProjectSession) -> None:
    fill(session)
    with Scripted(reply_with("I cannot decide.")) as server:
        run = annotate_with(session, server)
        requests = len(server.requests)
        at = open_page("run")
        assert "Retry 4 unresolved" in labels(at)
        at.button(key="retry-unresolved").click().run()
        until(lambda: session.state(run.run_id) == "done" and len(server.requests) == 2 * requests, 30)


def test_paused_retry_can_be_resumed(session: ProjectSession) -> None:
    fill(session)
    with Scripted(reply_with("I cannot decide.")) as server:
        run = annotate_with(session, server)
        session.store.runs.work(run.run_id, retry_unresolved=True)
        session.engine.submit(session.project.sink.state(run.run_id, "paused", StopReason("user", ""))).result()
        at = open_page("run")
        assert session.run(run.run_id).unresolved == 4
        server.behave = reply_with("The aspects present in this review are: none")
        at.button(key="resume").click().run()
        until(lambda: session.run(run.run_id).verdicts == 4, 30)


def test_retry_counts_failed_documents_that_the_project_still_has(session: ProjectSession) -> None:
    fill(session)
    (run,) = queue_runs(session)
    documents = session.store.documents.load(session.store.documents.ids())
    verdict = Verdict(dict.fromkeys(run.settings.codebook.items), error=ReplyError("stalled", "silence"))
    for document in documents:
        reached = VerdictReached(run.run_id, document.id, verdict, time.time())
        session.engine.submit(session.project.sink.verdict(reached)).result()
    session.project._writer.do(set_state(run.run_id, "done", NOT_STOPPED, 1.0))
    assert "Retry 4 failed" in labels(open_page("run"))
    session.store.documents.replace_all(documents[:1])
    assert "Retry 1 failed" in labels(open_page("run"))
    session.store.documents.replace_all([replace(documents[0], id="new")])
    assert not any("failed" in label for label in labels(open_page("run")))


def test_word_list_is_not_asked_for_unresolved_documents_again(session: ProjectSession) -> None:
    fill(session, book=Codebook(labels=(*BOOK.labels, Label(name="It"))))
    (run,) = queue_runs(session)
    assert session.start_or_resume(run.run_id).result(30).unresolved == 4
    assert "Run again" in labels(at := open_page("run"))
    assert not any("unresolved" in label for label in labels(at))


def test_rerun_of_a_pilot_keeps_its_size(session: ProjectSession) -> None:
    fill(session, documents=14)
    (pilot,) = queue_runs(session, planning.Plan(limit=12))
    session.start_or_resume(pilot.run_id).result()
    at = open_page("run")
    at.button(key="again").click().run()
    assert "Start with 12" in labels(at)


def test_calls_that_a_second_extractor_adds_are_not_shown_as_savings(session: ProjectSession) -> None:
    fill(session, documents=6)
    (run,) = queue_runs(session, planning.Plan(params={"adaptive": True, "second": True, "audit": 0.9}))
    session.start_or_resume(run.run_id).result()
    saved = cost_estimate.adaptive_savings(session, run)
    assert saved is not None
    assert saved.calls_saved is not None
    assert saved.calls_saved < 0
    shown = html(open_page("run"))
    assert f"The second extractor took about <b>{-saved.calls_saved}</b> calls more than this saved." in shown
    assert "This saved" not in shown


def test_savings_are_shown_and_rerun_opens_the_setup(session: ProjectSession) -> None:
    fill(session, documents=6)
    for row in (
        *queue_runs(session),
        *queue_runs(session),
        *queue_runs(session, planning.Plan(params={"adaptive": True, "audit": 0.5})),
    ):
        session.start_or_resume(row.run_id).result()
    shown = html(at := open_page("run"))
    assert "of the documents were decided early, without a full debate." in shown
    assert "This saved about" in shown
    assert "replies were reused" in shown
    at.button(key="again").click().run()
    assert "and 3 roles." in html(at)
    assert planning.load_plan(session).params["adaptive"] is True
