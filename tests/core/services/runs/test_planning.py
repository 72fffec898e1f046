"""Tests of plans: comparisons of several plans, pace of the built-in model, warnings."""

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
from tests.core.services.sessions import decide, studio


@pytest.fixture
def session(tmp_path: Path) -> Iterator[ProjectSession]:
    with studio(tmp_path) as (_, opened):
        yield opened


def compare_plans(session: ProjectSession, *plans: planning.Plan) -> planning.PlannedComparison:
    for plan in plans:
        planning.add_to_comparison(session, plan)
    return planning.prepare_comparison(session, 4)


def test_comparison_members_are_kept_until_started(session: ProjectSession) -> None:
    shown = compare_plans(
        session, planning.Plan(), planning.Plan(protocol="discussion", params={"annotators": 2, "rounds": 1})
    )
    assert [member.title for member in shown.members] == ["Extractor, Critic, Judge", "Peer discussion"]
    assert shown.ready
    assert shown.calls == 4 * (3 + 2 * 2)
    assert shown.cost_usd == 0.0
    with pytest.raises(UsageError, match="already in the comparison"):
        planning.add_to_comparison(session, planning.Plan())
    planning.remove_from_comparison(session, 0)
    assert len(planning.compared_plans(session)) == 1
    with pytest.raises(UsageError, match="two members"):
        planning.create_compared_runs(session, planning.prepare_comparison(session, 4), ["d0"])


def test_identical_requests_of_two_members_are_sent_once(session: ProjectSession) -> None:
    # The plans differ only in extra rounds and share the first extraction and critique.
    shown = compare_plans(session, planning.Plan(), planning.Plan(params={"extra_rounds": 1}))
    assert shown.shared == 4 * 2
    assert shown.calls == 4 * (3 + 5 - 2)
    made = planning.create_compared_runs(session, shown, [f"d{n}" for n in range(4)])
    assert planning.compared_plans(session) == ()
    assert len({run.experiment_id for run in made}) == 2
    for run in made:
        assert session.start_or_resume(run.run_id).result(60).state == "done"
    second = session.store.runs.get(made[1].run_id)
    assert second is not None
    assert (second.calls, second.cached_calls) == (4 * 3, 4 * 2)


def test_member_that_cannot_run_gives_a_reason(session: ProjectSession) -> None:
    shown = compare_plans(
        session, planning.Plan(), planning.Plan(default_model=RoleModel(connection="gone", model="m"))
    )
    assert not shown.ready
    assert "connection 'gone' does not exist" in shown.members[1].problem
    with pytest.raises(UsageError, match="annotators cannot be 99"):
        planning.add_to_comparison(session, planning.Plan(protocol="discussion", params={"annotators": 99}))


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


def test_vote_weight_counts_only_documents_that_the_project_still_has(project):
    gold = {f"d{n}": "a" for n in range(10)}
    session, runs = session_with_runs(project, gold, {f"d{n}": "ab" for n in range(4)})
    decide(session, runs[0], {f"d{n}": {"b": False} if n < 4 else {} for n in range(10)}, actions.Attribution("ada"))
    project.store.documents.add([Document(f"d{n}", {"text": f"d{n}"}) for n in (20, 2, 9)], replace=True)
    settings = session.run(runs[0]).settings
    only = settings.model_copy(update={"role_models": {"annotator_a": settings.role_models["extractor"]}})
    assert reviewed_vote_weights(session, only) == f"{log(4 / 2):.3g}", "3 of the 4 labels of d2 and d9 are right"
