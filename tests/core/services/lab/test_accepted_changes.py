"""Tests of accepted changes: one trial of all of them in the background, and one undo for all."""

from __future__ import annotations

from typing import Any

from core.documents import Document
from core.services import document_samples
from core.services.codebooks import codebook as codebooks
from core.services.lab import accepted_changes, suggestions, trials
from core.services.project_session import ProjectSession
from core.services.review import actions, codebook_examples
from core.services.review.codebook_examples import CodebookExample
from core.services.runs import planning
from core.store.lab import ACCEPTED_CHANGES
from tests.core.services.sessions import BOOK, annotate, queue_runs, studio, until

CLEAN, SERVICE = (label.id for label in BOOK.labels)


def add_documents(session: ProjectSession, text: str, service: bool, count: int, name: str) -> None:
    """Add documents with this gold value of Service; Cleanliness is absent from all."""
    gold = {"gold": {SERVICE: service, CLEAN: False}}
    session.store.documents.add([Document(f"{name}{n}", {"text": f"{text}, {n}."}, gold=gold) for n in range(count)])


def accept(session: ProjectSession, label: str, **parts: Any) -> None:
    """Accept new parts of a label, in the same way as the Codebook page."""
    before = codebooks.codebook_status(session).codebook
    after = codebooks.change_label(before, label, **parts)
    codebooks.save_draft(session, after)
    accepted_changes.record(session, before, after)


def accept_keyword(session: ProjectSession, label: str, word: str) -> None:
    accept(session, label, keywords=(*codebooks.codebook_status(session).codebook.label(label).keywords, word))


def wait_for_trial(session: ProjectSession) -> accepted_changes.AcceptedChanges:
    """Wait for the trial of the accepted changes and return them."""
    until(lambda: (accepted := accepted_changes.accepted(session)) is not None and not accepted.is_running)
    result = accepted_changes.accepted(session)
    assert result is not None
    return result


def test_accepted_changes_are_tried_together_against_known_labels(tmp_path):
    with studio(tmp_path, documents=0) as (_, session):
        add_documents(session, "A gondolier sang", True, 9, "p")
        add_documents(session, "Gondolier and stout on tap", False, 5, "s")
        assert accepted_changes.accepted(session) is None
        accept_keyword(session, SERVICE, "gondolier")
        shown = document_samples.labelled_ids(session, held_out=False)
        corrected, regressed = (sum(id.startswith(name) for id in shown) for name in "ps")
        (label,) = [label for label in wait_for_trial(session).result.comparison.labels if label.name == "Service"]
        assert (label.test.only_second, label.test.only_first) == (corrected, regressed)
        assert wait_for_trial(session).result.labelled == len(shown)
        assert wait_for_trial(session).labelled == 14, "held-out documents are counted, too"
        accept_keyword(session, CLEAN, "tap")  # a harmful change, visible in the trial of both
        result = wait_for_trial(session)
        assert len(result.changes) == 2
        changes = {label.name: label.test for label in result.result.comparison.labels}
        assert {name: (test.only_second, test.only_first) for name, test in changes.items()} == {
            "Service": (corrected, regressed),
            "Cleanliness": (0, regressed),
        }
        assert suggestions.latest_scored_run(session) is None, "suggestions do not use the trial of accepted changes"


def test_undo_removes_all_accepted_changes_and_keeps_other_changes(tmp_path):
    with studio(tmp_path, documents=0) as (_, session):
        add_documents(session, "A gondolier sang", True, 6, "p")
        accept_keyword(session, SERVICE, "gondolier")
        codebooks.save(session, codebooks.codebook_status(session).codebook)  # version 2, saved by the user
        book = codebooks.codebook_status(session).codebook
        codebooks.save_draft(session, codebooks.change_label(book, CLEAN, description="Typed by hand."))
        accept_keyword(session, CLEAN, "spotless")
        assert accepted_changes.undo(session) == (2, 3)
        latest = session.store.codebooks.latest()
        assert latest.number == 3
        assert latest.codebook.labels == BOOK.labels
        now = codebooks.codebook_status(session)
        assert now.codebook.label(CLEAN).description == "Typed by hand."
        assert now.codebook.label(CLEAN).keywords == BOOK.labels[0].keywords
        assert accepted_changes.accepted(session) is None


def test_removed_keyword_and_new_definition_are_undone(tmp_path):
    with studio(tmp_path) as (_, session):
        accept(session, SERVICE, keywords=("friendly",), description="How staff treat guests.")
        assert len(wait_for_trial(session).changes) == 2
        assert wait_for_trial(session).result is None, "no document has labels"
        accepted_changes.undo(session)
        service = codebooks.codebook_status(session).codebook.label(SERVICE)
        assert (service.description, set(service.keywords)) == ("", {"staff", "friendly"})


def test_accepted_changes_that_replace_earlier_ones_are_undone_to_the_start(tmp_path):
    with studio(tmp_path) as (_, session):
        start = codebooks.change_label(codebooks.codebook_status(session).codebook, SERVICE, description="A.")
        codebooks.save_draft(session, start)
        words = start.label(SERVICE).keywords
        accept(session, SERVICE, description="B.", keywords=(*words, "waiter"))
        accept(session, SERVICE, description="C.", keywords=words)  # the keyword is removed again
        assert [(change.removed, change.added) for change in accepted_changes.accepted(session).changes] == [
            ("A.", "C.")
        ]
        assert accepted_changes.undo(session) == (1, None)
        assert codebooks.codebook_status(session).codebook.labels == start.labels


def test_undo_reaches_a_saved_change_that_a_change_in_the_draft_replaced(tmp_path):
    with studio(tmp_path) as (_, session):
        start = codebooks.change_label(codebooks.codebook_status(session).codebook, SERVICE, description="A.")
        codebooks.save(session, start)
        accept(session, SERVICE, description="B.")
        codebooks.save(session, codebooks.codebook_status(session).codebook)
        accept(session, SERVICE, description="C.")
        assert accepted_changes.undo(session).changes == 1
        status = codebooks.codebook_status(session)
        assert (status.saved.codebook.label(SERVICE).description, status.dirty) == ("A.", False)


def test_undo_removes_a_saved_change_that_was_reversed_in_the_draft(tmp_path):
    with studio(tmp_path) as (_, session):
        start = codebooks.codebook_status(session).codebook
        words = start.label(SERVICE).keywords
        accept(session, SERVICE, description="B.", keywords=(*words, "waiter", "porter"))
        book = codebooks.codebook_status(session).codebook
        codebooks.save(session, book)
        codebooks.save_draft(session, codebooks.change_label(book, SERVICE, keywords=(*words, "waiter")))  # by hand
        accept(session, SERVICE, description=start.label(SERVICE).description, keywords=words)
        accept_keyword(session, CLEAN, "spotless")
        assert accepted_changes.undo(session) == (1, 3)
        status = codebooks.codebook_status(session)
        assert status.saved.codebook.labels == start.labels
        assert not status.dirty


def test_reversed_change_is_one_again_when_the_draft_is_discarded(tmp_path):
    with studio(tmp_path) as (_, session):
        start = codebooks.codebook_status(session).codebook
        accept(session, SERVICE, description="B.")
        codebooks.save(session, codebooks.codebook_status(session).codebook)
        accept(session, SERVICE, description=start.label(SERVICE).description)
        assert accepted_changes.accepted(session) is None
        codebooks.discard(session)
        assert accepted_changes.undo(session).changes == 1
        assert codebooks.codebook_status(session).codebook.labels == start.labels


def test_accepted_changes_that_cancel_each_other_are_none(tmp_path):
    with studio(tmp_path) as (_, session):
        start = codebooks.codebook_status(session).codebook.label(SERVICE)
        accept(session, SERVICE, description="B.", keywords=())
        accept(session, SERVICE, description=start.description, keywords=start.keywords)
        assert accepted_changes.accepted(session) is None


def test_keyword_that_was_accepted_removed_and_accepted_again_is_one_change(tmp_path):
    with studio(tmp_path) as (_, session):
        start = codebooks.codebook_status(session).codebook
        words = start.label(SERVICE).keywords
        for keywords in ((*words, "waiter"), words, (*words, "waiter")):
            accept(session, SERVICE, keywords=keywords)
        assert accepted_changes.undo(session) == (1, None)
        assert codebooks.codebook_status(session).codebook.label(SERVICE).keywords == words


def test_discarding_the_draft_removes_its_accepted_changes(tmp_path):
    with studio(tmp_path) as (_, session):
        accept_keyword(session, SERVICE, "gondolier")
        codebooks.discard(session)
        assert accepted_changes.accepted(session) is None
        accept_keyword(session, SERVICE, "waiter")
        accepted_changes.keep(session)
        assert accepted_changes.accepted(session) is None
        assert "waiter" in codebooks.codebook_status(session).codebook.label(SERVICE).keywords


def test_review_examples_and_lab_suggestions_are_accepted_changes(tmp_path):
    with studio(tmp_path, documents=0) as (_, session):
        add_documents(session, "A gondolier sang", True, 7, "p")
        add_documents(session, "We slept", False, 7, "n")
        (run,) = queue_runs(session, planning.Plan())
        session.start_or_resume(run.run_id).result(30)
        actions.edit(session, run.run_id, ["p0"], SERVICE, True)
        actions.submit(session, run.run_id, ["p0"])
        codebook_examples.add_example(session, run, CodebookExample("p0", SERVICE, "include", "A gondolier sang"))
        assert len(accepted_changes.accepted(session).changes) == 1
        suggestions.accept(session, suggestions.suggest_changes(session, run.run_id)[0])
        result = wait_for_trial(session)
        assert len(result.changes) == 2
        assert result.result.cells.corrected > 0
        trial = session.store.lab.trials(ACCEPTED_CHANGES)[-1]
        assert "p0" not in trial.sample["strata"], "the document of an example is not in the sample"
        assert not document_samples.held_out_among(session, list(trial.sample["strata"]))
        accepted_changes.undo(session)
        assert codebooks.codebook_status(session).codebook.labels == BOOK.labels
        assert not trials.is_trial_active(session, trial)


def test_accepted_changes_of_the_draft_stay_when_an_example_is_saved(tmp_path):
    with studio(tmp_path) as (_, session):
        (run,) = queue_runs(session, planning.Plan())
        session.start_or_resume(run.run_id).result(30)
        first = session.store.documents.ids()[0]
        actions.submit(session, run.run_id, [first])
        accept_keyword(session, SERVICE, "gondolier")
        text = session.store.documents.texts([first])[first]
        codebook_examples.add_example(session, run, CodebookExample(first, SERVICE, "include", text))
        assert {change.added for change in accepted_changes.accepted(session).changes} == {"gondolier", text}


def test_changes_accepted_before_the_review_are_tried_after_it(tmp_path):
    with studio(tmp_path, documents=0) as (_, session):
        session.store.documents.add([Document(f"p{n}", {"text": f"A gondolier sang, {n}."}) for n in range(12)])
        (run,) = queue_runs(session, planning.Plan())
        session.start_or_resume(run.run_id).result(30)
        accept_keyword(session, SERVICE, "gondolier")
        ids = [f"p{n}" for n in range(12)]
        for id in ids:
            actions.edit(session, run.run_id, [id], SERVICE, True)
        actions.submit(session, run.run_id, ids[: accepted_changes.MIN_REVIEWED - 1])
        accepted_changes.try_when_due(session)
        assert wait_for_trial(session).result is None
        actions.submit(session, run.run_id, ids)
        accepted_changes.try_when_due(session)
        result = wait_for_trial(session)
        assert result.result.labelled == len(document_samples.labelled_ids(session, held_out=False))
        assert result.result.cells.corrected == result.result.labelled


def test_accepted_changes_are_tried_on_documents_with_gold_too_when_a_few_are_reviewed(tmp_path):
    with studio(tmp_path, documents=0) as (_, session):
        add_documents(session, "A gondolier sang", True, 20, "p")
        (run,) = queue_runs(session, planning.Plan())
        session.start_or_resume(run.run_id).result(30)
        actions.submit(session, run.run_id, ["p0", "p1"])
        accept_keyword(session, SERVICE, "gondolier")
        assert (
            wait_for_trial(session).result.labelled == len(document_samples.labelled_ids(session, held_out=False)) > 2
        )


def test_run_of_a_saved_version_settles_its_accepted_changes(tmp_path):
    with studio(tmp_path) as (_, session):
        accept_keyword(session, SERVICE, "gondolier")
        annotate(session)
        assert accepted_changes.accepted(session), "the run has the version without the draft"
        codebooks.save(session, codebooks.codebook_status(session).codebook)
        assert accepted_changes.accepted(session)
        annotate(session)
        assert accepted_changes.accepted(session) is None
        accept_keyword(session, CLEAN, "tap")
        assert [change.added for change in accepted_changes.accepted(session).changes] == ["tap"]
