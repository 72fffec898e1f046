"""Tests of plans: pace of the built-in model, output limits."""

from __future__ import annotations

import asyncio
from math import log

import pytest

from core.codebook import Codebook, Label
from core.debate.protocols import find
from core.documents import Document
from core.errors import CodebookError, UsageError
from core.llm.model_library import ModelLibrary
from core.runs import RoleModel, Sampling
from core.services.project_session import ProjectSession
from core.services.review import actions
from core.services.runs import planning, rerun
from core.services.runs.planning import reviewed_vote_weights
from tests.core.services.sample_world import CODEBOOK, session_on, session_with_runs
from tests.core.services.sessions import decide
from tests.core.store.helpers import ROLE_MODEL, make_settings, store_debate, store_debates, store_rounds


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
        ("gpt-4.1-mini", Sampling(reasoning_effort="none"), 2048),
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


def test_run_has_the_limit_of_a_model_that_was_found_to_reason_after_its_settings_were_built(
    session: ProjectSession,
) -> None:
    role_model = RoleModel(connection="openai", model="m")
    settings = planning.project_settings(session, planning.Plan(protocol="single", default_model=role_model))
    (before,) = planning.create_runs(session, settings, ["d0"])
    session.models.capabilities.get(session.models.connection("openai"), "m").reasons = True  # as a probe learns it
    (run,) = planning.create_runs(session, settings, ["d0"])
    again = rerun.create_rerun(session, before, settings)
    limits = [row.settings.role_models["annotator"].sampling.output_limit for row in (before, run, again)]
    assert limits == [2048, 8192, 8192]


def test_model_of_a_family_is_that_of_each_role_without_its_own() -> None:
    first, second = (RoleModel(connection="openai", model=model) for model in ("gpt-4.1", "gpt-4.1-mini"))
    plan = planning.Plan(protocol="discussion", role_models={"annotator": first, "annotator_b": second})
    settings = planning.build_settings(plan, Codebook(labels=(Label(name="Food"),)), 1, ModelLibrary())
    models = {role: role_model.model for role, role_model in settings.role_models.items()}
    assert models.pop("annotator_b") == second.model
    assert len(models) > 1
    assert set(models.values()) == {first.model}


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
    answers = {id: {"label": "p" if n < 6 else "q"} for n, id in enumerate(documents)}
    store_debates(
        store_debate(project, run.run_id, id, {"extractor": label, "critic": None, "judge": label}, label)
        for id, label in answers.items()
    )
    session = session_on(project)
    decide(session, run.run_id, {id: {"label": "p"} for id in documents}, actions.Attribution("ada"))
    only = run.settings.model_copy(update={"role_models": {"annotator_a": run.settings.role_models["extractor"]}})
    # 6 of 8 are right; with one right and three wrong ones added, p is 7/12, and chance would be 1/4.
    assert reviewed_vote_weights(session, only) == f"{log(7 / 12 * 3 / (5 / 12)):.3g}"
    fewer = codebook.model_copy(update={"labels": codebook.labels[:2]})
    with pytest.raises(UsageError, match="labelled a reviewed document"):
        reviewed_vote_weights(session, only.model_copy(update={"codebook": fewer}))


def test_vote_weight_of_samples_is_that_of_their_vote(project):
    gold, wrong = {"a": True, "b": False}, {"a": False, "b": True}
    documents = ["d0", "d1"]
    project.store.documents.add(Document(id, {"text": id}) for id in documents)
    settings = make_settings(CODEBOOK).model_copy(
        update={
            "protocol": "single",
            "params": find("single").parse_params({"method": "vote", "k": 3}),
            "role_models": {"annotator": ROLE_MODEL},
        }
    )
    run = project.store.runs.create(settings, documents)
    turns = [("annotator", 0, values) for values in (gold, gold, wrong)]

    async def debates():
        for id in documents:
            await store_rounds(project, run.run_id, id, turns, gold)

    asyncio.run(debates())
    session = session_on(project)
    decide(session, run.run_id, dict.fromkeys(documents, gold), actions.Attribution("ada"))
    assert reviewed_vote_weights(session, settings) == f"{log(5):.3g}", "all four labels are right"


def test_vote_weight_counts_only_documents_that_the_project_still_has(project):
    gold = {f"d{n}": "a" for n in range(10)}
    session, runs = session_with_runs(project, gold, {f"d{n}": "ab" for n in range(4)})
    decide(session, runs[0], {f"d{n}": {"b": False} if n < 4 else {} for n in range(10)}, actions.Attribution("ada"))
    project.store.documents.replace_all([Document(f"d{n}", {"text": f"d{n}"}) for n in (20, 2, 9)])
    settings = session.run(runs[0]).settings
    only = settings.model_copy(update={"role_models": {"annotator_a": settings.role_models["extractor"]}})
    assert reviewed_vote_weights(session, only) == f"{log(4 / 2):.3g}", "3 of the 4 labels of d2 and d9 are right"


def test_vote_weight_of_a_choice_with_one_label_is_finite(project):
    codebook = Codebook(kind="choice", labels=(Label(name="p", id="p"),))
    documents = ["d0", "d1"]
    project.store.documents.add(Document(id, {"text": id}) for id in documents)
    run = project.store.runs.create(make_settings(codebook), documents)
    label = {"label": "p"}
    store_debates(
        store_debate(project, run.run_id, id, {"extractor": label, "critic": None, "judge": label}, label)
        for id in documents
    )
    session = session_on(project)
    decide(session, run.run_id, dict.fromkeys(documents, label), actions.Attribution("ada"))
    only = run.settings.model_copy(update={"role_models": {"annotator_a": run.settings.role_models["extractor"]}})
    assert reviewed_vote_weights(session, only) == f"{log(3):.3g}"


def test_refused_kind_of_codebook_is_told_with_the_titles_of_protocols(session: ProjectSession) -> None:
    plan, book = planning.Plan(protocol="courtroom"), Codebook(kind="rating", labels=(Label(name="Wit"),))
    with pytest.raises(CodebookError, match="Courtroom does not support codebooks of kind rating") as refusal:
        planning.build_settings(plan, book, 1, session.models)
    titles = "Extractor, Critic, Judge (ECJ); Single annotator; Peer discussion; Panel of personas"
    assert refusal.value.remedy.startswith(f"Choose one of: {titles}")
