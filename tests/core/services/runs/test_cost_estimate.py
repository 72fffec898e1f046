"""Tests of cost estimates before a run starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from core.codebook import Label
from core.documents import Document
from core.llm.connections import parse_connection
from core.llm.prices import Price
from core.runs import EngineSettings, RoleModel, Sampling
from core.services.project_session import ProjectSession
from core.services.prompt_preview import preview_requests, prompt_tokens
from core.services.runs import cost_estimate, planning
from core.services.runs.cost_estimate import (
    REPLY_TOKENS,
    CostEstimate,
    context_overflows,
    estimate_run,
    stored_requests,
)
from tests.core.services.sessions import BOOK, TEXTS, queue_runs, studio
from tests.servers.running import mock_llm
from tests.servers.scripted import Scripted, reply_with

OPENAI = RoleModel(connection="openai", model="gpt-4.1-mini")


def estimate_plan(session: ProjectSession, plan: planning.Plan, documents: int = 4) -> CostEstimate:
    return estimate_run(
        session, planning.build_settings(plan, BOOK, 1, session.models), documents, iterations=plan.iterations
    )


def test_calls_are_documents_times_requests_times_iterations(session: ProjectSession) -> None:
    assert estimate_plan(session, planning.Plan(iterations=3), documents=10).calls == 90
    assert estimate_plan(session, planning.Plan(protocol="single"), documents=10).calls == 10


def test_builtin_model_is_free(session: ProjectSession) -> None:
    estimate = estimate_plan(session, planning.Plan())
    assert estimate.cost_usd == 0
    assert estimate.basis == "The built-in model costs nothing."


def test_cost_is_list_price_times_rendered_prompts(session: ProjectSession) -> None:
    estimate = estimate_plan(session, planning.Plan(default_model=OPENAI))
    extractor, critic, judge = estimate.roles
    assert extractor.completion_tokens == 4 * REPLY_TOKENS
    # Prompts of later roles contain the earlier replies.
    assert extractor.prompt_tokens + 4 * REPLY_TOKENS < critic.prompt_tokens + 2000
    assert judge.prompt_tokens > critic.prompt_tokens > 4 * REPLY_TOKENS
    assert estimate.cost_usd is not None
    # Prices of gpt-4.1-mini per million tokens: $0.40 input, $1.60 output.
    expected = sum(role.prompt_tokens * 0.40e-6 + role.completion_tokens * 1.60e-6 for role in estimate.roles)
    assert estimate.cost_usd == pytest.approx(expected, rel=1e-3)
    assert estimate.basis.startswith("List prices; tokens: prompts of 4 documents")


def test_estimated_prompts_are_as_long_as_those_of_the_debate(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = queue_runs(session)
    session.start_or_resume(run.run_id).result(30)
    usage = session.store.costs.usage(run.run_id)
    replies = fmean(tokens.completion_tokens for _, tokens in usage.values())
    monkeypatch.setattr(cost_estimate, "REPLY_TOKENS", round(replies))
    estimate = estimate_plan(session, planning.Plan(default_model=OPENAI), documents=100)
    for role in estimate.roles:
        assert role.prompt_tokens == pytest.approx(100 * usage[role.role][1].prompt_tokens, rel=0.05)


def test_prompts_of_later_rounds_contain_all_earlier_replies(session: ProjectSession) -> None:
    plan = planning.Plan(protocol="discussion", params={"rounds": 2}, default_model=OPENAI)
    settings = planning.build_settings(plan, BOOK, 1, session.models)
    first = prompt_tokens(preview_requests(settings, Document("d", {"text": TEXTS[1]}))[0].messages)
    for annotator in estimate_plan(session, plan).roles:
        # three annotators: none, three and six replies, in the mean three
        assert annotator.prompt_tokens / annotator.calls == pytest.approx(first + 3 * REPLY_TOKENS, rel=0.15)


def test_prompts_contain_the_wanted_examples(tmp_path: Path) -> None:
    with studio(tmp_path, documents=0) as (_, session):
        session.store.documents.add([Document(f"d{number}", {"text": "Good. " * 1_000}) for number in range(4)])
        without, with_examples = (
            estimate_plan(session, planning.Plan(protocol="single", params=params, default_model=OPENAI), documents=1)
            for params in ({}, {"method": "few_shot", "shots": 2})
        )
        examples = 2 * 2 * 1_500  # for two labels, tokens of 6,000 characters each
        assert with_examples.roles[0].prompt_tokens == pytest.approx(without.roles[0].prompt_tokens + examples, abs=300)


def test_batch_costs_half_unless_the_files_are_answered_outside(session: ProjectSession) -> None:
    plan = planning.Plan(default_model=OPENAI)
    live, batch, by_hand = (
        estimate_plan(session, replace(plan, engine=engine))
        for engine in (EngineSettings(), EngineSettings(name="batch"), EngineSettings(name="batch", batch_dir="files"))
    )
    assert live.cost_usd is not None
    assert batch.cost_usd == pytest.approx(live.cost_usd / 2)
    assert batch.basis.endswith("Batch prices are half of the list price.")
    assert (by_hand.cost_usd, by_hand.basis) == (live.cost_usd, live.basis)


def test_short_output_limit_bounds_the_assumed_reply(session: ProjectSession) -> None:
    role_model = RoleModel(connection="openai", model="gpt-4.1-mini", sampling=Sampling(max_tokens=50))
    assert estimate_plan(session, planning.Plan(default_model=role_model)).roles[0].completion_tokens == 4 * 50


def test_unknown_price_gives_no_estimate(session: ProjectSession) -> None:
    session.models.add(parse_connection("local", "http://127.0.0.1:9/v1"))
    estimate = estimate_plan(session, planning.Plan(default_model=RoleModel(connection="local", model="tiny")))
    assert estimate.cost_usd is None
    assert "Price unknown for local/tiny" in estimate.basis


def test_earlier_run_with_the_same_role_models_is_used_for_the_estimate(session: ProjectSession) -> None:
    (run,) = queue_runs(session)
    session.start_or_resume(run.run_id).result(30)
    turns = session.store.costs.usage(run.run_id)
    assert turns["judge"][0] == 4
    estimate = estimate_plan(session, planning.Plan(), documents=100)
    assert estimate.roles[2].completion_tokens == 100 * turns["judge"][1].completion_tokens


def test_estimate_says_that_stored_replies_of_billed_models_are_free(session: ProjectSession) -> None:
    stored = "Replies that are stored already are free"
    plan = planning.Plan(default_model=OPENAI).with_role_model("judge", planning.DEFAULT_ROLE_MODEL)
    session.store.runs.create(planning.build_settings(plan, BOOK, 1, session.models), ["d0"])
    assert stored not in estimate_plan(session, plan).basis, "the earlier run has no replies"
    (run,) = queue_runs(session)
    session.start_or_resume(run.run_id).result(30)
    assert stored not in estimate_plan(session, planning.Plan()).basis, "the built-in model is free"
    assert stored not in estimate_plan(session, planning.Plan(default_model=OPENAI)).basis, "of another model"
    session.models.prices.user_prices["builtin/lexical"] = Price(prompt=1, completion=1)
    assert stored in estimate_plan(session, plan).basis


def test_first_requests_with_a_stored_reply_are_counted(tmp_path: Path) -> None:
    with studio(tmp_path, documents=50) as (_, session), mock_llm(ttft=0, tpt=0, tokens=5) as url:
        session.models.add(parse_connection("local", f"{url}/v1"))
        plan = planning.Plan(default_model=RoleModel(connection="local", model="mock"), limit=4)
        ids = session.store.documents.ids()
        settings = planning.project_settings(session, plan)
        assert stored_requests(session, settings, ids) == ""
        (run,) = planning.create_runs(session, settings, ids[:4])
        session.start_or_resume(run.run_id).result(30)
        assert stored_requests(session, settings, ids[:5]) == "Replies to 5 of 5 first requests are stored already.", (
            "of equal texts"
        )
        session.store.documents.add([Document("new", {"text": "New."})])
        assert (
            stored_requests(session, settings, ["d0", "new"]) == "Replies to 1 of 2 first requests are stored already."
        )
        shown = stored_requests(session, settings, ids)
        assert shown == "Replies to 17 of 17 first requests are stored already (sample of 1 in 3 documents)."
        assert stored_requests(session, planning.project_settings(session, planning.Plan()), ids) == ""


def test_reply_that_a_smaller_limit_cut_is_not_counted_as_stored(session: ProjectSession) -> None:
    ids = session.store.documents.ids()[:1]
    with Scripted(reply_with("The aspects", "length")) as server:
        session.models.add(parse_connection("local", server.url))
        role_model = RoleModel(connection="local", model="m")
        settings = planning.project_settings(session, planning.Plan(protocol="single", default_model=role_model))
        small, large = (
            settings.model_copy(
                update={
                    "role_models": {
                        role: model.model_copy(update={"sampling": Sampling(default_limit=limit)})
                        for role, model in settings.role_models.items()
                    }
                }
            )
            for limit in (1000, 5000)
        )
        (run,) = planning.create_runs(session, small, ids)
        session.start_or_resume(run.run_id).result(30)
    assert stored_requests(session, small, ids) == "Replies to 1 of 1 first request are stored already."
    assert stored_requests(session, large, ids) == ""


def test_prompts_are_rendered_again_if_the_codebook_or_the_sampling_changed(session: ProjectSession) -> None:
    plan = planning.Plan(protocol="single")
    (run,) = queue_runs(session, plan)
    session.start_or_resume(run.run_id).result(30)
    turns = session.store.costs.usage(run.run_id)["annotator"][1]
    longer = BOOK.model_copy(
        update={"labels": tuple(Label(name=f"L{n}", description="Long. " * 200) for n in range(9))}
    )
    estimate = estimate_run(session, planning.build_settings(plan, longer, 2, session.models), 1)
    assert estimate.roles[0].prompt_tokens > turns.prompt_tokens + 2000
    assert estimate.roles[0].completion_tokens == turns.completion_tokens
    short = replace(
        plan, default_model=RoleModel(connection="builtin", model="lexical", sampling=Sampling(max_tokens=50))
    )
    assert estimate_plan(session, short, documents=1).roles[0].completion_tokens == 50


def test_changed_prompts_contain_earlier_replies_of_measured_length(session: ProjectSession) -> None:
    (run,) = queue_runs(session)
    session.start_or_resume(run.run_id).result(30)
    judge = session.store.costs.usage(run.run_id)["judge"][1].prompt_tokens
    named = BOOK.model_copy(update={"name": "another"})
    estimate = estimate_run(session, planning.build_settings(planning.Plan(), named, 2, session.models), 1)
    assert estimate.roles[2].prompt_tokens == pytest.approx(judge, rel=0.2)


def test_estimate_uses_the_mean_length_of_all_documents(tmp_path: Path) -> None:
    with studio(tmp_path, documents=0) as (_, session):
        short = [Document(f"s{number}", {"text": "Short."}) for number in range(60)]
        long = [Document(f"l{number}", {"text": "Long. " * 400}) for number in range(60)]
        session.store.documents.add([*short, *long])
        plan = planning.Plan(protocol="single", default_model=OPENAI)
        (annotator,) = estimate_plan(session, plan, documents=120).roles
        settings = planning.build_settings(plan, BOOK, 1, session.models)
        previews = [preview_requests(settings, document)[0] for document in (*short, *long)]
        exact = sum(prompt_tokens(preview.messages) for preview in previews)
        assert annotator.prompt_tokens == pytest.approx(exact, rel=0.01)


def test_measured_cost_is_scaled_to_the_document_length(session: ProjectSession) -> None:
    (run,) = queue_runs(session, planning.Plan(protocol="single"))
    session.start_or_resume(run.run_id).result(30)
    measured = session.store.costs.usage(run.run_id)["annotator"][1].prompt_tokens
    assert estimate_plan(session, planning.Plan(protocol="single"), documents=1).roles[0].prompt_tokens == measured
    estimates = [estimate_plan(session, planning.Plan(protocol=name)) for name in ("single", "ecj")]
    assert [estimate.is_measured for estimate in estimates] == [True, False]
    before = session.store.documents.mean_length()
    assert before == session.store.documents.mean_length(run.run_id) == sum(map(len, TEXTS)) / 4
    session.store.documents.add([Document("long", {"text": "x" * 10_000})])
    longer = session.store.documents.mean_length() - before
    estimate = estimate_plan(session, planning.Plan(protocol="single"), documents=1).roles[0].prompt_tokens
    assert estimate == measured + round(longer / 4)


def test_examples_count_among_the_tokens_of_the_longest_document(session: ProjectSession) -> None:
    connection = session.models.connection("openai")
    capabilities = session.models.capabilities.get(connection, OPENAI.model)
    capabilities.context, capabilities.at = 100, 1.0
    tokens = {}
    for shots in (1, 3):
        params = {"method": "few_shot", "shots": shots}
        plan = planning.Plan(protocol="single", default_model=OPENAI, params=params)
        settings = planning.project_settings(session, plan)
        documents = session.store.documents
        (overflow,) = context_overflows(settings, session.models, documents.longest, lambda: 4000.0)
        tokens[shots] = overflow.tokens
    labels = len(settings.codebook.labels)
    assert tokens[3] - tokens[1] > 2 * labels * 900, "two more examples of each label, of about 1,000 tokens"
