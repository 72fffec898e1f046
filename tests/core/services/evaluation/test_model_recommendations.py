"""Tests of model recommendations on runs with known verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest

from core.documents import Document
from core.runs import CANARY, RoleModel, RunRow
from core.services.evaluation import model_recommendations
from core.services.evaluation.model_recommendations import (
    apply_recommendations,
    comparable_runs,
    model_scores,
    recommend_models,
    roles_by_sentence,
)
from core.services.evaluation.report import role_models
from core.services.runs.planning import Plan
from core.store.project import Project
from tests.core.services import sample_world
from tests.core.services.sample_world import both
from tests.core.store.helpers import make_settings, store_debate, store_debates

ROLES = ("extractor", "critic", "judge")
GOLD = {f"d{number:02}": ("a", "ab", "b", "")[number % 4] for number in range(40)}
GOOD, POOR = "local/good", "local/poor"
MakeRun = Callable[..., RunRow]


@pytest.fixture
def world(project: Project) -> tuple[Any, MakeRun]:
    """Return a project with gold and a function that adds an ECJ run with ``wrong`` wrong documents."""
    project.store.documents.add(
        Document(id, {"text": id}, gold={"gold": both(present)}) for id, present in GOLD.items()
    )

    def make_run(wrong: int, models: Mapping[str, str], *, canary_of: str = "", **changes: Any) -> RunRow:
        role_models = {role: RoleModel.parse(models.get(role, GOOD)) for role in ROLES}
        settings = make_settings(sample_world.CODEBOOK).model_copy(update={"role_models": role_models, **changes})
        documents = list(GOLD)[: 4 if canary_of else None]
        run = project.store.runs.create(
            settings, documents, experiment_id=f"{CANARY}{canary_of}" if canary_of else None
        )

        verdicts = {
            id: both("" if GOLD[id] else "ab") if position < wrong else both(GOLD[id])
            for position, id in enumerate(documents)
        }
        store_debates(
            store_debate(project, run.run_id, id, {"extractor": both("ab"), "critic": verdict}, verdict)
            for id, verdict in verdicts.items()
        )
        return project.store.runs.require(run.run_id)

    return sample_world.session_on(project), make_run


def test_model_that_is_better_in_one_role_is_recommended_for_that_role(world: tuple[Any, MakeRun]) -> None:
    session, make_run = world
    make_run(20, {"critic": POOR})
    better = make_run(2, {})
    by_title = {
        recommendation.title: recommendation
        for recommendation in recommend_models(session, comparable_runs(session, better), ROLES)
    }
    critic = by_title["Critic"]
    assert critic.model is not None
    assert critic.sentence == (
        f"{GOOD}: significantly better than {POOR} on 40 shared documents, with everything else equal."
    )
    assert by_title["Judge"].sentence.startswith("No two runs differ only in this model.")
    assert by_title["All roles"].model is None
    assert list(roles_by_sentence(list(by_title.values())).values()) == ["Extractor, Judge, All roles", "Critic"]
    assert roles_by_sentence([by_title["Judge"]] * 2) == {by_title["Judge"].sentence: "All roles"}
    assert roles_by_sentence([by_title["Judge"]]) == {by_title["Judge"].sentence: "Judge"}
    printed = orjson.loads(orjson.dumps(role_models(session, comparable_runs(session, better))["recommendations"]))
    assert [(row["title"], row["model"]) for row in printed if row["model"]] == [("Critic", GOOD)]
    plan = apply_recommendations(Plan(), by_title.values())
    assert plan.role_model("critic").spec == GOOD
    assert plan.role_model("judge").spec == Plan().role_model("judge").spec


def test_model_that_is_better_in_all_roles_is_recommended_for_all_roles(world: tuple[Any, MakeRun]) -> None:
    session, make_run = world
    make_run(20, dict.fromkeys(ROLES, POOR))
    better = make_run(2, {})
    result = recommend_models(session, comparable_runs(session, better), ROLES)
    assert [recommendation.title for recommendation in result if recommendation.model is not None] == ["All roles"]
    assert {apply_recommendations(Plan(), result).role_model(role).spec for role in ROLES} == {GOOD}


def test_roles_have_the_titles_of_the_latest_run(world: tuple[Any, MakeRun], monkeypatch: pytest.MonkeyPatch) -> None:
    """A panel's personas are named by the user."""
    session, make_run = world
    runs = comparable_runs(session, make_run(2, {}))
    monkeypatch.setattr(model_recommendations, "role_titles", lambda _: dict(zip(ROLES, "ABC", strict=True)))
    assert [found.title for found in recommend_models(session, runs, ROLES)] == ["A", "B", "C", "All roles"]


def test_small_difference_gives_no_recommendation(world: tuple[Any, MakeRun]) -> None:
    session, make_run = world
    make_run(3, {"critic": POOR})
    better = make_run(2, {})
    critic = recommend_models(session, comparable_runs(session, better), ROLES)[1]
    assert critic.sentence == f"No significant difference between {GOOD} and {POOR} on 40 shared documents."


@pytest.mark.parametrize("changes", [{"seed": 7}, {"params": {"extra_rounds": 2}}])
def test_runs_with_other_differences_are_not_compared(world: tuple[Any, MakeRun], changes: dict[str, Any]) -> None:
    session, make_run = world
    make_run(20, {"critic": POOR}, **changes)
    better = make_run(2, {})
    critic = recommend_models(session, comparable_runs(session, better), ROLES)[1]
    assert (critic.model, critic.sentence[:26]) == (None, "No two runs differ only in")


@pytest.mark.parametrize("pool", [{}, {"d98": {"a": True}}])
def test_runs_with_other_examples_are_not_compared(world: tuple[Any, MakeRun], pool: Mapping[str, Any]) -> None:
    session, make_run = world
    weak, strong = make_run(20, {"critic": POOR}), make_run(2, {})
    session.store.precedents.freeze(strong.run_id, {"d98": {"a": True}, "d99": {"a": True, "b": False}})
    session.store.precedents.freeze(weak.run_id, pool)
    assert recommend_models(session, (weak, strong), ROLES)[1].model is None
    same = make_run(20, {"critic": POOR}).run_id
    session.store.precedents.freeze(same, {"d99": {"b": False, "a": True}, "d98": {"a": True}})
    assert recommend_models(session, (session.run(same), strong), ROLES)[1].model is not None


def test_settings_that_do_not_affect_verdicts_may_differ(world: tuple[Any, MakeRun]) -> None:
    session, make_run = world
    make_run(20, {"critic": POOR}, concurrency=2, codebook_version=3, pace=5.0)
    better = make_run(2, {})
    assert recommend_models(session, comparable_runs(session, better), ROLES)[1].model is not None


def test_canary_run_does_not_replace_the_run_that_it_repeats(world: tuple[Any, MakeRun]) -> None:
    session, make_run = world
    full_run = make_run(0, {})
    canary = make_run(0, {}, canary_of=full_run.run_id, iteration=1)
    for run in (full_run, canary):
        result = model_scores(session, comparable_runs(session, run))
        assert {(score.run_id, score.scores.n) for score in result} == {(full_run.run_id, 40)}


def test_lists_of_a_role_are_scored_in_the_latest_run_of_a_model(world: tuple[Any, MakeRun]) -> None:
    session, make_run = world
    first = make_run(0, {"critic": POOR})
    last = make_run(0, {})
    by_role = {(score.spec, score.role): score for score in model_scores(session, comparable_runs(session, last))}
    extractor = by_role[GOOD, "extractor"]
    # 40 documents; the extractor always names both labels, and half of them are present.
    assert (extractor.title, extractor.run_id, extractor.scores.n) == ("Extractor", last.run_id, 40)
    assert extractor.scores["macro_recall"].value == 1
    precision = extractor.scores["macro_precision"]
    assert precision.value == 0.5
    assert precision.interval is not None
    assert precision.interval.low < 0.5 < precision.interval.high
    assert (by_role[POOR, "critic"].run_id, by_role[POOR, "critic"].scores.main.value) == (first.run_id, 1)
