"""Tests of plans: pace of the built-in model, output limits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.codebook import Codebook, Label
from core.documents import Document
from core.llm.model_library import ModelLibrary
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
    assert run.settings.pace == planning.FIRST_PACE
    many = [Document(f"m{n}", {"text": "soup"}) for n in range(planning.MAX_FOLLOWED + 1)]
    session.store.documents.add(many)
    settings = planning.project_settings(session, plan)
    (long,) = planning.create_runs(session, settings, [document.id for document in many])
    assert long.settings.pace == 0.0, "nobody follows so many debates"
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


def test_model_of_a_family_is_that_of_each_role_without_its_own() -> None:
    first, second = (RoleModel(connection="openai", model=model) for model in ("gpt-4.1", "gpt-4.1-mini"))
    plan = planning.Plan(protocol="discussion", role_models={"annotator": first, "annotator_b": second})
    settings = planning.build_settings(plan, Codebook(labels=(Label(name="Food"),)), 1, ModelLibrary())
    models = {role: role_model.model for role, role_model in settings.role_models.items()}
    assert models.pop("annotator_b") == second.model
    assert len(models) > 1
    assert set(models.values()) == {first.model}
