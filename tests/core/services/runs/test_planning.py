"""Tests of plans: pace of the built-in model, output limits, warnings."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from pathlib import Path

import pytest

from core.codebook import Codebook, Kind, Label
from core.documents import Document
from core.errors import UsageError
from core.llm.models import ModelLibrary
from core.runs import RoleModel, Sampling
from core.services.project_session import ProjectSession
from core.services.review import actions
from core.services.runs import planning
from core.services.runs.planning import reviewed_vote_weights
from tests.core.services.evaluation.test_compare import session_with_runs
from tests.core.services.sample_world import session_on
from tests.core.services.sessions import decide, studio
from tests.core.store.helpers import make_settings, store_debate, store_debates


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
    assert {one.sampling.output_limit for one in settings.role_models.values()} == {limit}


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


def test_label_without_any_word_has_one_warning() -> None:
    codebook = Codebook(labels=(Label(name="Qxz"), Label(name="Other")))
    role_model = RoleModel(connection="builtin", model="lexical")
    settings = planning.build_settings(
        planning.Plan(protocol="ecj", default_model=role_model), codebook, 1, ModelLibrary()
    )
    without_words, without_keywords = planning.settings_warnings(settings)
    assert without_words.startswith("'Other' has no word")
    assert without_keywords.startswith("Qxz has no keywords")


def test_vote_weight_is_computed_from_the_share_of_correct_labels(project):
    # Only the extractor of the stored debates has lists: 16 of its 20 labels are right.
    gold = {f"d{n}": "a" for n in range(10)}
    session, runs = session_with_runs(project, gold, {f"d{n}": "ab" for n in range(4)})
    run = session.run(runs[0])
    model = run.settings.role_models["extractor"]
    jurors = {"annotator_a": model, "annotator_b": RoleModel(connection="other", model="unknown")}
    settings = run.settings.model_copy(update={"role_models": jurors})
    with pytest.raises(UsageError, match="labelled a reviewed document"):
        reviewed_vote_weights(session, settings)
    decide(session, runs[0], {f"d{n}": {"b": False} if n < 4 else {} for n in range(10)}, actions.Attribution("ada"))
    weight = f"{log(17 / 5):.3g}"
    assert reviewed_vote_weights(session, settings) == f"{weight}, {weight}", "an unknown model has the mean weight"


def test_vote_weight_counts_a_label_once_as_the_latest_run_has_it(project):
    gold = {f"d{n}": "a" for n in range(10)}
    session, runs = session_with_runs(project, gold, {f"d{n}": "ab" for n in range(4)}, {"d0": "ab"})
    decide(session, runs[0], {f"d{n}": {"b": False} if n < 4 else {} for n in range(10)}, actions.Attribution("ada"))
    settings = session.run(runs[0]).settings
    only = settings.model_copy(update={"role_models": {"annotator_a": settings.role_models["extractor"]}})
    assert reviewed_vote_weights(session, only) == f"{log(20 / 2):.3g}", "19 of 20 labels are right in the second run"


def test_vote_weight_of_a_choice_counts_the_labels_that_an_error_may_name(project):
    codebook = Codebook(kind="choice", labels=tuple(Label(name=name, id=name) for name in "pqrs"))
    documents = [f"d{n}" for n in range(8)]
    project.store.documents.add(Document(id, {"text": id}) for id in documents)
    run = project.store.runs.create(make_settings(codebook), documents)
    given = {id: {"label": "p" if n < 6 else "q"} for n, id in enumerate(documents)}
    store_debates(
        store_debate(project, run.run_id, id, {"extractor": label, "critic": None, "judge": label}, label)
        for id, label in given.items()
    )
    session = session_on(project)
    decide(session, run.run_id, {id: {"label": "p"} for id in documents}, actions.Attribution("ada"))
    only = run.settings.model_copy(update={"role_models": {"annotator_a": run.settings.role_models["extractor"]}})
    # 6 of 8 are right; with one right and three wrong ones added, p is 7/12, and chance would be 1/4.
    assert reviewed_vote_weights(session, only) == f"{log(7 / 12 * 3 / (5 / 12)):.3g}"


def test_vote_weight_counts_only_documents_that_the_project_still_has(project):
    gold = {f"d{n}": "a" for n in range(10)}
    session, runs = session_with_runs(project, gold, {f"d{n}": "ab" for n in range(4)})
    decide(session, runs[0], {f"d{n}": {"b": False} if n < 4 else {} for n in range(10)}, actions.Attribution("ada"))
    project.store.documents.add([Document(f"d{n}", {"text": f"d{n}"}) for n in (20, 2, 9)], replace=True)
    settings = session.run(runs[0]).settings
    only = settings.model_copy(update={"role_models": {"annotator_a": settings.role_models["extractor"]}})
    assert reviewed_vote_weights(session, only) == f"{log(4 / 2):.3g}", "3 of the 4 labels of d2 and d9 are right"
