"""Tests of plans: pace of the built-in model, output limits, warnings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.codebook import Codebook, Kind, Label
from core.llm.models import ModelLibrary
from core.runs import RoleModel, Sampling
from core.services.project_session import ProjectSession
from core.services.runs import planning
from tests.core.services.sessions import studio


@pytest.fixture
def session(tmp_path: Path) -> Iterator[ProjectSession]:
    with studio(tmp_path) as (_, opened):
        yield opened


def test_builtin_model_has_no_pace_after_the_first_run(session: ProjectSession) -> None:
    plan = planning.load_plan(session)
    assert plan.pace == planning.FIRST_PACE
    (run,) = planning.create_runs(session, planning.project_settings(session, plan), ["d0"])
    planning.note_run_watched(session, run)
    assert planning.load_plan(session).pace == 0.0
    planning.set_pace(session, 25.0)
    planning.note_run_watched(session, run)
    assert planning.load_plan(session).pace == 25.0, "a chosen pace is kept"


@pytest.mark.parametrize(
    ("model", "sampling", "limit"),
    [
        ("gpt-4.1-mini", Sampling(), 2048),
        ("o4-mini", Sampling(), 8192),
        ("gpt-4.1-mini", Sampling(reasoning_effort="low"), 8192),
        ("o4-mini", Sampling(max_tokens=64), 64),
    ],
)
def test_output_limit_depends_on_the_role_and_on_reasoning(model: str, sampling: Sampling, limit: int) -> None:
    role_model = RoleModel(connection="openai", model=model, sampling=sampling)
    codebook = Codebook(labels=(Label(name="Food"),))
    settings = planning.build_settings(
        planning.Plan(protocol="ecj", default_model=role_model), codebook, 1, ModelLibrary()
    )
    assert {role_model.sampling.output_limit for role_model in settings.role_models.values()} == {limit}


@pytest.mark.parametrize(("temperature", "warned"), [(0.0, True), (0.7, False)])
def test_discussion_of_one_model_at_temperature_zero_warns(temperature: float, warned: bool) -> None:
    role_model = RoleModel(connection="openai", model="gpt-4.1-mini", sampling=Sampling(temperature=temperature))
    codebook = Codebook(labels=(Label(name="Food"),))
    settings = planning.build_settings(
        planning.Plan(protocol="discussion", default_model=role_model), codebook, 1, ModelLibrary()
    )
    assert any("nearly identical" in warning for warning in planning.settings_warnings(settings)) == warned


@pytest.mark.parametrize("kind", ["choice", "multilabel"])
@pytest.mark.parametrize("model", ["lexical", "lexical@tfidf"])
def test_built_in_model_warns_of_labels_without_keywords(model: str, kind: Kind) -> None:
    codebook = Codebook(kind=kind, labels=(Label(name="Qxz"), Label(name="Wvk")))
    role_model = RoleModel(connection="builtin", model=model)
    settings = planning.build_settings(
        planning.Plan(protocol="ecj", default_model=role_model), codebook, 1, ModelLibrary()
    )
    assert any("Qxz and Wvk have no keywords" in warning for warning in planning.settings_warnings(settings))


@pytest.mark.parametrize(
    ("model", "params", "named"),
    [
        ("builtin/lexical", {}, ""),
        ("builtin/lexical@ollama/nomic", {}, ""),
        ("builtin/lexical@openai/text-embedding-3-small", {}, "openai/text-embedding-3-small"),
        ("builtin/lexical", {"likeness": "openai/text-embedding-3-large"}, "openai/text-embedding-3-large"),
    ],
)
def test_vectors_that_are_not_priced_are_named(model: str, params: dict[str, object], named: str) -> None:
    plan = planning.Plan(protocol="courtroom", default_model=RoleModel.parse(model), params=params)
    models = ModelLibrary()
    settings = planning.build_settings(plan, Codebook(labels=(Label(name="Food"),)), 1, models)
    warnings = planning.vector_warnings(settings, models)
    assert [f"vectors of {named} may cost" in warning for warning in warnings] == [True] * bool(named)


def test_label_without_any_word_has_one_warning() -> None:
    codebook = Codebook(labels=(Label(name="Qxz"), Label(name="Other")))
    role_model = RoleModel(connection="builtin", model="lexical")
    settings = planning.build_settings(
        planning.Plan(protocol="ecj", default_model=role_model), codebook, 1, ModelLibrary()
    )
    without_words, without_keywords = planning.settings_warnings(settings)
    assert without_words.startswith("'Other' has no word")
    assert without_keywords.startswith("Qxz has no keywords")
