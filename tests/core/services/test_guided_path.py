"""Tests of the guided path: the steps of a project and the next step."""

from __future__ import annotations

import asyncio

import pytest

from core.codebook import Codebook, Label
from core.debate import protocols
from core.debate.turns import ReplyError
from core.documents import Document, Rejected
from core.runs import CANARY, NOT_STOPPED, RoleModel, RunDetails, StopReason
from core.services import guided_path, projects
from core.services.codebooks import codebook as codebooks
from core.services.evaluation.annotation_arrays import ranked_runs
from core.services.project_session import ProjectSession
from core.services.review import actions, queue, review_plan
from core.services.review.accuracy_estimate import estimate_accuracy
from core.services.runs import planning
from core.services.workspace import Workspace
from core.store.runs import set_state
from tests.core.services import sample_world
from tests.core.services.sessions import annotate, decide
from tests.core.store.helpers import make_settings, store_debate


@pytest.fixture(autouse=True)
def _defined_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    book = sample_world.CODEBOOK
    labels = tuple(label.model_copy(update={"description": label.name.lower()}) for label in book.labels)
    monkeypatch.setattr(sample_world, "CODEBOOK", book.model_copy(update={"labels": labels}))


def next_of(session: ProjectSession) -> guided_path.PathStep:
    step = guided_path.overview(session).next
    assert step is not None
    return step


def test_next_step_of_a_project(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "empty")
    first = guided_path.overview(session)
    assert [step.state for step in first.steps] == ["now", "later", "done", "later", "later", "later", "later"]
    assert (next_of(session).page, next_of(session).action) == ("data", "Import texts")

    session.store.documents.add([Document("a", {"text": "x"})])
    session.store.codebooks.save_draft(Codebook(name="begun"))
    assert guided_path.overview(session).steps[1].words == "A draft that is not saved."
    session.store.codebooks.save(Codebook(labels=(Label(name="Food", description="Meals."),)))
    then = guided_path.overview(session)
    assert [step.state for step in then.steps] == ["done", "done", "done", "now", "later", "later", "later"]
    assert [step.words for step in then.steps][:3] == [
        "1 document",
        "1 label, v1; 1 without keywords",
        "3 roles, word-list baseline",
    ]
    assert then.done == 3
    planning.save_plan(session, planning.Plan().with_role_model("critic", RoleModel(connection="ollama", model="")))
    step = guided_path.overview(session).steps[2]
    assert (step.state, step.words) == ("now", "A role has no model.")
    session.store.codebooks.save(Codebook(labels=(Label(name="Food", keywords=("meal",)),)))
    assert guided_path.overview(session).steps[1].words == "1 label, v2"


def test_codebook_step_waits_for_definitions_and_for_the_draft(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "names")
    session.store.documents.add([Document("a", {"text": "x"})])
    food, service = Label(name="Food", keywords=("meal",)), Label(name="Service")
    session.store.codebooks.save(Codebook(labels=(food, service)))
    step = next_of(session)
    assert (step.name, step.action) == ("codebook", "Define labels")
    assert step.words == "2 labels, v1; 1 without a definition"
    assert step.hint == "Give each label a description, examples or keywords, then press Save as v2."
    assert step.label_id == codebooks.codebook_status(session).codebook.labels[1].id
    defined = Codebook(labels=(food, service.model_copy(update={"include": ("The waiter smiled.",)})))
    session.store.codebooks.save_draft(defined)
    step = next_of(session)
    assert (step.name, step.action, step.hint) == (
        "codebook",
        "Check the draft",
        "Press Save as v2 to use the changes in runs.",
    )
    session.store.codebooks.save(defined)
    assert next_of(session).name == "pilot"


def test_names_are_enough_for_labels_of_a_run_with_verdicts(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "bare")
    run_id = sample_world.build(session.project)
    names = Codebook(labels=(Label(name="Alpha", id="a"), Label(name="Beta", id="b")))
    session.store.codebooks.save(names)
    assert next_of(session).action == "Define labels"
    finish(session, run_id)
    assert next_of(session).name == "review"
    assert guided_path.overview(session).steps[1].words == "2 labels, v1; 2 without a definition"
    session.store.codebooks.save(names.model_copy(update={"labels": (*names.labels, Label(name="New"))}))
    assert next_of(session).action == "Define labels"


def test_guideline_defines_the_dimensions_of_a_rating(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "ratings")
    session.store.documents.add([Document("a", {"text": "x"})])
    book = Codebook(kind="rating", labels=(Label(name="Warmth"), Label(name="Fluency")))
    session.store.codebooks.save(book)
    assert next_of(session).action == "Define labels"
    session.store.codebooks.save(book.model_copy(update={"guideline": "1 is not at all, 5 is very."}))
    assert next_of(session).name == "pilot"


def finish(session: ProjectSession, run_id: str) -> None:
    session.store.runs._writer.do(set_state(run_id, "done", NOT_STOPPED, 1.0))


def test_steps_follow_runs_and_reviews_to_the_accuracy_estimate(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "path")
    run_id = sample_world.build(session.project)
    session.store.codebooks.save(sample_world.CODEBOOK)
    assert next_of(session).action == "Watch run"
    session.store.runs._writer.do(set_state(run_id, "paused", StopReason("user", "paused by you"), 1.0))
    step = next_of(session)
    assert (step.action, step.hint) == ("Resume run", "Resume the run to debate the remaining documents.")
    finish(session, run_id)
    step = next_of(session)
    assert (step.name, step.action) == ("review", "Review 8")
    review_all(session, run_id)
    assert guided_path.overview(session).next is None  # the run covers all documents, and all are reviewed


def test_review_steps_follow_the_plan_of_the_run(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "planned")
    run_id = sample_world.build(session.project)
    session.store.codebooks.save(sample_world.CODEBOOK)
    finish(session, run_id)
    run, label = session.run(run_id), sample_world.CODEBOOK.labels[0]
    review_plan.save_plan(session, run, review_plan.ReviewPlan("share", label.id, 0.01, 0.1, reviews=5))
    assert next_of(session).action == "Review 5"
    review_plan.save_plan(session, run, None)
    assert next_of(session).action == "Review 8"
    review_plan.save_plan(session, run, review_plan.ReviewPlan("share", label.id, 0.01, 0.1, reviews=5))
    review_all(session, run_id)
    assert guided_path.overview(session).next is None


def test_plan_of_an_outdated_or_archived_run_asks_for_no_reviews(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "replanned")
    first = sample_world.build(session.project)
    session.store.codebooks.save(sample_world.CODEBOOK)
    finish(session, first)
    label, *others = sample_world.CODEBOOK.labels
    review_plan.save_plan(session, session.run(first), review_plan.ReviewPlan("share", label.id, 0.01, 0.1, reviews=5))

    def run_again(codebook: Codebook) -> None:
        ids, number = session.store.documents.ids(), session.store.codebooks.save(codebook)
        run_id = session.store.runs.create(make_settings(codebook, codebook_version=number), ids).run_id
        asyncio.run(store_debate(session.project, run_id, "d0", {}, {"a": True, "b": True}))
        finish(session, run_id)

    run_again(sample_world.CODEBOOK)
    assert next_of(session).action == "Review 5"
    session.store.runs.describe({first: RunDetails(status="archived")})
    assert next_of(session).action == "Review 8"
    session.store.runs.describe({first: RunDetails()})
    changed = label.model_copy(update={"description": "another definition"})
    run_again(sample_world.CODEBOOK.model_copy(update={"labels": (changed, *others)}))
    assert next_of(session).action == "Review 8"


def review_all(session: ProjectSession, run_id: str) -> None:
    decide(session, run_id, {id: {"a": True, "b": True} for id in session.store.documents.ids()})


def test_changed_codebook_needs_another_run(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "changed")
    run_id = sample_world.build(session.project)
    session.store.codebooks.save(sample_world.CODEBOOK)
    finish(session, run_id)
    assert next_of(session).name == "review"
    session.store.codebooks.save(sample_world.CODEBOOK.model_copy(update={"guideline": "More."}))
    step = next_of(session)
    assert (step.name, step.action, step.new_run) == ("pilot", "Run with v2", True)
    assert step.words == "The codebook changed since the last run."
    assert step.hint == "Press Start all 8. Compare then shows what the change did."
    planning.save_plan(session, planning.Plan(limit=3))
    assert next_of(session).hint.startswith("Press Start with 3.")
    actions.submit(session, run_id, ["d0"])
    assert (next_of(session).name, next_of(session).words) == (step.name, step.words)
    label = sample_world.CODEBOOK.labels[0]
    session.store.codebooks.save(codebooks.extend_label(sample_world.CODEBOOK, label.id, "include", "an example"))
    steps = {step.name: step for step in guided_path.overview(session).steps}
    assert [steps[name].state for name in ("pilot", "review", "whole")] == ["done", "now", "done"]
    assert steps["pilot"].words == "The codebook changed since the last run."
    assert steps["whole"].words == "The codebook changed since the last whole run."
    review_all(session, run_id)
    step = next_of(session)
    assert (step.name, step.action) == ("whole", "Run all 8")
    assert step.words == "The codebook changed since the last whole run."
    session.store.codebooks.save(sample_world.CODEBOOK)  # back to the definitions of the run
    assert guided_path.overview(session).next is None


def test_changed_prompts_need_another_run(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "prompts")
    session.store.documents.add([Document("a", {"text": "x"})])
    number = session.store.codebooks.save(sample_world.CODEBOOK)
    shipped = protocols.find("ecj").load_templates()
    settings = make_settings(sample_world.CODEBOOK, codebook_version=number).model_copy(update={"templates": shipped})

    def run() -> None:
        run = session.store.runs.create(settings, ["a"])
        asyncio.run(store_debate(session.project, run.run_id, "a", {}, dict.fromkeys(sample_world.CODEBOOK.items, 1)))
        finish(session, run.run_id)

    run()
    assert next_of(session).name == "review"
    edited = session.store.prompts.save("ecj/judge", "## user\n{{ document }}", parent="ecj/judge.v1", after=1)
    session.store.prompts.promote("ecj/judge", edited.name)
    assert (next_of(session).name, next_of(session).words) == ("pilot", "The prompts changed since the last run.")
    assert next_of(session).action == "Run again"
    settings = settings.model_copy(update={"templates": {**shipped, "judge": edited.template}})
    run()
    assert next_of(session).name == "review"
    session.store.prompts.promote("ecj/judge", None)
    assert next_of(session).words == "The prompts changed since the last run."


def test_running_pilot_is_not_reported_as_the_whole_run(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "pilot")
    sample_world.build(session.project)
    session.store.codebooks.save(sample_world.CODEBOOK)

    def words(name: str) -> str:
        return next(step.words for step in guided_path.overview(session).steps if step.name == name)

    assert words("pilot") == words("whole") == "7 of 8 debated, queued"
    session.store.documents.add([Document("more", {"text": "x"})])
    assert (words("pilot"), words("whole")) == ("7 of 8 debated, queued", "After the review of the pilot.")


def test_stopped_run_is_reviewed_and_then_resumed(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "stopped")
    run_id = sample_world.build(session.project)
    session.store.codebooks.save(sample_world.CODEBOOK)
    session.store.documents.add([Document("more", {"text": "x"})])
    session.store.runs._writer.do(set_state(run_id, "stopped", StopReason("user", "stopped by you"), 1.0))
    step = next_of(session)
    assert (step.name, step.action) == ("review", "Review 7")  # as many as have ended
    for number in range(8):
        actions.edit(session, run_id, [f"d{number}"], "a", True)
        actions.edit(session, run_id, [f"d{number}"], "b", True)
        actions.submit(session, run_id, [f"d{number}"])
        if number == 3:
            assert next_of(session).action == "Review 3 more"
    next_step = next_of(session)
    assert (next_step.name, next_step.hint, next_step.new_run) == ("whole", "Press Start all 9 documents.", True)
    assert next_step.words == "Debate the other documents."
    every = session.store.runs.create(session.run(run_id).settings, session.store.documents.ids())
    session.store.runs._writer.do(set_state(every.run_id, "stopped", StopReason("user", "stopped by you"), 1.0))
    next_step = next_of(session)
    pilot = next(step for step in guided_path.overview(session).steps if step.name == "pilot")
    assert pilot.words == "7 of 8 debated, stopped"  # not those of the last run
    assert (next_step.action, next_step.words, next_step.new_run) == ("Resume run", "0 of 9 debated, stopped", False)


def test_reviewed_pilot_stays_reviewed_after_the_run_on_all_documents(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "whole")
    pilot_id = sample_world.build(session.project)
    number = session.store.codebooks.save(sample_world.CODEBOOK)
    finish(session, pilot_id)
    session.store.documents.add([Document(f"more {n}", {"text": "x"}) for n in range(32)])
    for document_id in session.store.runs.document_ids(pilot_id):
        for item in ("a", "b"):
            actions.edit(session, pilot_id, [document_id], item, True)
        actions.submit(session, pilot_id, [document_id])
    settings = make_settings(sample_world.CODEBOOK, codebook_version=number)
    run = session.store.runs.create(settings, session.store.documents.ids())
    asyncio.run(store_debate(session.project, run.run_id, "more 0", {}, {"a": True, "b": True}))
    finish(session, run.run_id)
    found = guided_path.overview(session).steps
    steps = {step.name: step.state for step in found}
    assert (steps["review"], steps["whole"], steps["accuracy"]) == ("done", "done", "now")
    assert found[-1].hint.endswith(f"for all documents of {run.title}."), "the estimate of the pilot exists"


def test_next_step_of_a_pilot_whose_debates_all_failed_is_to_retry(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "failed")
    session.store.documents.add([Document("a", {"text": "x"})])
    number = session.store.codebooks.save(sample_world.CODEBOOK)
    run = session.store.runs.create(make_settings(sample_world.CODEBOOK, codebook_version=number), ["a"])
    asyncio.run(store_debate(session.project, run.run_id, "a", {}, {}, error=ReplyError("server fault", "500")))
    finish(session, run.run_id)
    step = next_of(session)
    assert (step.page, step.action) == ("run", "Retry failed")
    assert step.hint.startswith("Press Retry 1 failed.")


def test_retried_documents_need_reviews_for_the_accuracy(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "retried")
    ids = [f"d{number:02}" for number in range(60)]
    session.store.documents.add([Document(id, {"text": id}) for id in ids])
    number = session.store.codebooks.save(sample_world.CODEBOOK)
    run_id = session.store.runs.create(make_settings(sample_world.CODEBOOK, codebook_version=number), ids).run_id
    for id in ids[:30]:
        asyncio.run(store_debate(session.project, run_id, id, {}, {"a": True, "b": True}))
    for id in ids[30:]:
        asyncio.run(store_debate(session.project, run_id, id, {}, {}, error=ReplyError("server fault", "500")))
    finish(session, run_id)
    decide(session, run_id, {id: {"a": True, "b": True} for id in ids[:30]})
    assert guided_path.overview(session).next is None, "each document with a verdict is reviewed"
    session.store.runs.work(run_id, retry_failed=True)
    for id in ids[30:]:
        asyncio.run(store_debate(session.project, run_id, id, {}, {"a": True, "b": True}))
    finish(session, run_id)
    assert next_of(session).name == "accuracy"


def test_accuracy_is_done_when_its_interval_has_the_target_width(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "wide")
    ids = [f"d{number:03}" for number in range(100)]
    session.store.documents.add([Document(id, {"text": id}) for id in ids])
    number = session.store.codebooks.save(sample_world.CODEBOOK)
    run_id = session.store.runs.create(make_settings(sample_world.CODEBOOK, codebook_version=number), ids).run_id
    for id in ids:
        asyncio.run(store_debate(session.project, run_id, id, {}, {"a": True, "b": True}))
    finish(session, run_id)
    drawn = queue.list_queue(
        session, session.run(run_id), queue.QueueFilter(sort="queue", size=30), actor="ada"
    ).sampling
    ada = actions.Attribution("ada")
    actions.edit(session, run_id, list(drawn)[:10], "b", False, ada)
    actions.submit(session, run_id, list(drawn), ada, sampling=drawn)
    needed = estimate_accuracy(session, session.run(run_id)).needed_reviews()
    assert needed, "the Review page asks for more"
    step = next_of(session)
    assert (step.name, step.action) == ("accuracy", f"Review about {needed} more")
    decide(session, run_id, {id: {"a": True, "b": True} for id in ids})
    assert guided_path.overview(session).next is None


def test_plan_asks_for_reviews_again_after_the_other_run_went_on(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "compared")
    ids = [f"d{number:02}" for number in range(40)]
    session.store.documents.add([Document(id, {"text": id}) for id in ids])
    number = session.store.codebooks.save(sample_world.CODEBOOK)
    settings = make_settings(sample_world.CODEBOOK, codebook_version=number)
    first, second = (session.store.runs.create(settings, ids).run_id for _ in range(2))

    def debate(run_id: str, ids: list[str], *, b: bool) -> None:
        for id in ids:
            asyncio.run(store_debate(session.project, run_id, id, {}, {"a": True, "b": b}))

    debate(first, ids, b=True)
    finish(session, first)
    debate(second, ids[:10], b=False)
    plan = review_plan.ReviewPlan("better", "", 0.05, 0.1, other=second, reviews=30)
    review_plan.save_plan(session, session.run(first), plan)
    decide(session, first, {id: {"a": True, "b": True} for id in ids[:10]})
    assert guided_path.overview(session).steps[4].state == "done", "each document with two verdicts is reviewed"
    debate(second, ids[10:], b=False)
    assert guided_path.overview(session).steps[4].state == "now"


def test_next_step_of_a_pilot_without_verdicts_is_the_codebook(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "empty")
    session.store.documents.add([Document("a", {"text": "x"})])
    number = session.store.codebooks.save(sample_world.CODEBOOK)
    run = session.store.runs.create(make_settings(sample_world.CODEBOOK, codebook_version=number), ["a"])
    finish(session, run.run_id)
    step = next_of(session)
    assert (step.page, step.action) == ("codebook", "Improve definitions")
    assert step.hint.startswith("Add keywords to each label and press Save")
    changed = sample_world.CODEBOOK.model_copy(update={"guideline": "More."})
    session.store.codebooks.save(changed)
    step = next_of(session)
    assert (step.action, step.new_run) == ("Run a pilot", True)  # the page shows the last run otherwise
    assert step.words == "The codebook changed since the last run."
    assert step.hint.startswith("Press Start all 1:")


def test_label_without_words_is_named_after_a_pilot_without_verdicts(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "bare")
    session.store.documents.add([Document("a", {"text": "x"})])
    book = Codebook(labels=(Label(name="Food", keywords=("soup",)), Label(name="Miscellaneous")))
    number = session.store.codebooks.save(book)
    finish(session, session.store.runs.create(make_settings(book, codebook_version=number), ["a"]).run_id)
    step = guided_path.overview(session).steps[3]
    assert step.hint.startswith("Add keywords to Miscellaneous and press Save")
    assert step.label_id == book.labels[1].id


def test_rejected_rows_of_replaced_files_are_not_counted(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "replaced")
    document, rejected = Document("a", {"text": "x"}), [Rejected(2, "no text", "")]
    session.store.documents.add([document], rejected=rejected * 3)
    session.store.documents.replace_all([document], rejected=rejected)
    session.store.documents.add([Document("b", {"text": "y"})], rejected=rejected)
    step = next(step for step in guided_path.overview(session).steps if step.page == "data")
    assert step.words == "2 documents, 2 rows rejected"


def test_canary_run_is_neither_a_pilot_nor_the_run_on_all_documents(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "canary")
    session.store.documents.add([Document("a", {"text": "x"})])
    number = session.store.codebooks.save(sample_world.CODEBOOK)
    settings = make_settings(sample_world.CODEBOOK, codebook_version=number)
    for experiment, state in ((f"{CANARY}r0000", "later"), (None, "done")):
        run = session.store.runs.create(settings, ["a"], experiment_id=experiment)
        asyncio.run(store_debate(session.project, run.run_id, "a", {}, dict.fromkeys(sample_world.CODEBOOK.items, 1)))
        finish(session, run.run_id)
        assert {step.name: step.state for step in guided_path.overview(session).steps}["whole"] == state


def test_runs_count_only_documents_that_others_have_not_replaced(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "replaced")
    session.store.documents.add([Document(id, {"text": f"clean {id}"}) for id in "abcd"])
    session.store.codebooks.save(Codebook(labels=(Label(name="Clean", keywords=("clean",)),)))
    run = annotate(session)
    decide(session, run.run_id, {id: {} for id in "ab"})

    def steps() -> dict[str, tuple[str, str]]:
        return {step.name: (step.state, step.action) for step in guided_path.overview(session).steps}

    assert steps()["review"] == ("now", "Review 2 more")
    session.store.documents.replace_all([Document(id, {"text": f"clean {id}"}) for id in "bcxyz"])
    assert steps()["review"] == ("now", "Review 1 more"), "of b and c"
    assert steps()["whole"] == ("later", "Run all 5")
    decide(session, run.run_id, {"c": {}})
    assert (next_of(session).name, next_of(session).words) == ("whole", "Debate the other documents.")
    session.store.documents.replace_all([Document(id, {"text": f"clean {id}"}) for id in "xyz"])
    assert steps()["pilot"] == ("now", "Run a pilot")
    assert next_of(session).words == "No run of these documents yet."
    (review,) = [step for step in guided_path.overview(session).steps if step.name == "review"]
    assert review.words == "Available after a run."


def test_first_of_the_active_runs_is_the_last_run(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    session = projects.create_project(workspace, "queue")
    session.store.documents.add([Document("a", {"text": "x"})])
    first, second = (session.store.runs.create(make_settings(sample_world.CODEBOOK), ["a"]) for _ in range(2))
    session.store.runs._writer.do(set_state(first.run_id, "running", NOT_STOPPED, 1.0))
    monkeypatch.setattr(session, "active_runs", lambda: (first.run_id, second.run_id))
    last, _ = guided_path.last_run(session)
    assert last is not None
    assert last.run_id == first.run_id
    assert [run.run_id for run in ranked_runs(session)] == [first.run_id, second.run_id], "which has verdicts first"
