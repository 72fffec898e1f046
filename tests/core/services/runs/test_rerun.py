"""Tests of a run as the base of a rerun: found from the plan, and used as the new plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.errors import UsageError
from core.llm.connections import Connection
from core.runs import RoleModel
from core.services.few_shot_examples import example_pool
from core.services.project_session import ProjectSession
from core.services.runs import planning, rerun
from core.services.runs.planning import DEFAULT_ROLE_MODEL
from tests.core.services.sessions import BOOK, annotate, decide, queue_runs
from tests.core.store.helpers import set_gold


def test_base_of_a_rerun_is_the_latest_run_of_the_plan(session: ProjectSession) -> None:
    plan = planning.Plan(params={"extra_rounds": 1})
    assert rerun.base_run(session, plan) is None
    queue_runs(session, planning.Plan())
    (run,) = queue_runs(session, plan)
    queue_runs(session, planning.Plan(protocol="single"))
    result = rerun.base_run(session, plan)
    assert result is not None
    assert result.run_id == run.run_id


def test_base_of_a_rerun_depends_on_the_model(session: ProjectSession) -> None:
    queue_runs(session)
    other = RoleModel(connection="openai", model="gpt-4.1-mini")
    assert rerun.base_run(session, planning.Plan().with_role_model("critic", other)) is None


def test_base_of_a_rerun_has_the_vectors_that_the_plan_would_get(session: ProjectSession) -> None:
    session.store.codebooks.save(BOOK.model_copy(update={"kind": "choice"}))
    plan, runs = planning.Plan(protocol="single"), {}
    for vectors in ("", "tfidf"):
        session.models.embedder_spec = vectors
        (runs[vectors],) = queue_runs(session, plan)
    for vectors, run in runs.items():
        session.models.embedder_spec = vectors
        base = rerun.base_run(session, plan)
        assert base is not None
        assert base.run_id == run.run_id


def test_base_of_a_rerun_may_have_the_numbers_of_reviewed_weights(session: ProjectSession) -> None:
    plan = planning.Plan(protocol="discussion", params={"weights": "reviewed"})
    runs = {}
    for weights in ("reviewed: 0.5, 1, 2", "0.5, 1, 2", "equal"):
        (runs[weights],) = queue_runs(session, replace(plan, params={"weights": weights}))
    runs["reviewed"] = runs["reviewed: 0.5, 1, 2"]
    for weights, run in runs.items():
        base = rerun.base_run(session, replace(plan, params={"weights": weights}))
        assert base is not None
        assert base.run_id == run.run_id


def test_models_and_parameters_of_a_run_are_used_from_now_on(session: ProjectSession) -> None:
    (run,) = queue_runs(session, planning.Plan(params={"extra_rounds": 1}, seed=7))
    planning.save_plan(session, planning.Plan(protocol="single", limit=2))
    assert rerun.use_run(session, run) == 0
    plan = planning.load_plan(session)
    assert plan.limit == 2
    assert (plan.protocol, plan.params["extra_rounds"], plan.seed) == ("ecj", 1, 7)
    result = rerun.base_run(session, plan)
    assert result is not None
    assert result.run_id == run.run_id


def test_a_model_for_a_family_of_roles_is_that_of_each_role_in_a_rerun(session: ProjectSession) -> None:
    (run,) = queue_runs(session, planning.Plan(protocol="discussion"))
    kept = {"prompts": {}, "concurrency": None, "budget_usd": None, "engine": run.settings.engine}
    given = {
        "annotator": RoleModel(connection="ollama", model="m"),
        "annotator_b": RoleModel(connection="ollama", model="n"),
    }
    role_models = rerun.changed_settings(session, run, role_models=given, **kept).role_models
    assert [role_models[role].model for role in ("annotator_a", "annotator_b")] == ["m", "n"]
    with pytest.raises(UsageError, match="discussion has no role 'judge'"):
        rerun.changed_settings(session, run, role_models={"judge": given["annotator"]}, **kept)


def test_weights_from_reviews_are_computed_again_for_another_model(session: ProjectSession) -> None:
    run = annotate(session)
    decide(session, run.run_id, {"d0": {}})
    session.models.add(Connection(name="toy", base_url="http://127.0.0.1:9/v1"))
    unknown = RoleModel.parse("toy/m")
    kept = {"prompts": {}, "concurrency": None, "budget_usd": None, "engine": run.settings.engine}
    plan = planning.Plan(protocol="discussion", default_model=unknown, role_models={"annotator_a": DEFAULT_ROLE_MODEL})
    for weights, again in (("reviewed: 3.43, 3.43, 0.05", "reviewed"), ("3.43, 3.43, 0.05", "3.43, 3.43, 0.05")):
        (before,) = queue_runs(session, replace(plan, params={"weights": weights}))
        same = rerun.changed_settings(session, before, role_models={}, **kept)
        assert same.params["weights"] == weights
        other = rerun.changed_settings(session, before, role_models={"annotator_b": DEFAULT_ROLE_MODEL}, **kept)
        unpinned = other.model_copy(update={"params": {**other.params, "weights": again}})
        planned = planning.pin_settings(session, unpinned)
        assert other.params["weights"] == planned.params["weights"]
        assert rerun.plan_from_run(before).params["weights"] == again
    (before,) = queue_runs(session, replace(plan, params={"weights": "reviewed: 3.43, 3.43, 0.05"}))
    with pytest.raises(UsageError, match="labelled a reviewed document"):
        rerun.changed_settings(session, before, role_models={"annotator_a": unknown}, **kept)


def test_rerun_keeps_the_current_budget_and_the_documents(session: ProjectSession) -> None:
    (run,) = queue_runs(session, planning.Plan(budget_usd=0.5, limit=3))
    session.store.runs.raise_budget(run.run_id, 2.0)
    run = session.store.runs.require(run.run_id)
    kept = {"role_models": {}, "prompts": {}, "concurrency": None, "engine": run.settings.engine}
    budgets = [rerun.changed_settings(session, run, **kept, budget_usd=budget).budget_usd for budget in (None, 1.0)]
    assert budgets == [2.0, 1.0]
    again = rerun.create_rerun(session, run, rerun.changed_settings(session, run, **kept, budget_usd=None))
    assert session.store.runs.document_ids(again.run_id) == session.store.runs.document_ids(run.run_id)
    assert again.documents == 3
    assert again.settings.codebook == run.settings.codebook


def test_rerun_leaves_out_documents_that_others_replaced(session: ProjectSession) -> None:
    (run,) = queue_runs(session, planning.Plan(limit=3))
    documents = session.store.documents.load(session.store.documents.ids())
    session.store.documents.replace_all(documents[1:])
    again = rerun.create_rerun(session, run, run.settings)
    assert session.store.runs.document_ids(again.run_id) == ["d1", "d2"]
    session.store.documents.replace_all(documents[3:])
    with pytest.raises(UsageError, match="were replaced"):
        rerun.create_rerun(session, run, run.settings)


def test_rerun_shows_the_examples_of_the_run(session: ProjectSession) -> None:
    clean, service = (label.id for label in BOOK.labels)
    (run,) = queue_runs(session, planning.Plan(protocol="single", params={"method": "few_shot", "shots": 2}, limit=3))
    set_gold(session.store, {"d3": {"gold": {clean: False, service: True}}})
    pool = example_pool(session.store, run)
    assert pool == {"d3": {clean: False, service: True}}
    set_gold(session.store, {f"d{n}": {"gold": {clean: True, service: True}} for n in range(4)})
    again = rerun.create_rerun(session, run, run.settings, limit=1)
    assert example_pool(session.store, again) == pool, "neither new gold nor documents that are left out change it"
