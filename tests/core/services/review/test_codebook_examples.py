"""Tests of codebook examples from corrections; their documents are excluded from scores."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.codebook import CHOICE_ITEM, Codebook, Label
from core.documents import Document
from core.errors import CodebookError, UsageError
from core.runs import RunRow
from core.services.codebooks import codebook as codebooks
from core.services.document_samples import held_out_among
from core.services.project_session import ProjectSession
from core.services.review import accuracy_estimate, actions, codebook_examples
from core.services.review.codebook_examples import CodebookExample
from core.services.workspace import Workspace
from tests.core.services import sample_world
from tests.core.services.sessions import annotate

BOOK = Codebook(labels=(Label(name="Price", keywords=("fee",)), Label(name="Staff", keywords=("staff",))))
PRICE, STAFF = (label.id for label in BOOK.labels)
TEXTS = (
    "A city tax and a cleaning fee appear at checkout. Nothing else.",
    "They wanted a cleaning fee again.",
    "The staff sang.",
    "The gondolier sang, and we slept.",
)


@pytest.fixture
def session(workspace: Workspace, tmp_path: Path) -> ProjectSession:
    session = workspace.open(tmp_path / "p.duckdb")
    gold = {"gold": {PRICE: False, STAFF: True}}
    session.store.documents.add([Document(f"d{n}", {"text": text}, gold=gold) for n, text in enumerate(TEXTS)])
    session.store.codebooks.save(BOOK)
    return session


def _correct(session: ProjectSession, run: RunRow, document: str, item: str, value: bool) -> None:
    actions.edit(session, run.run_id, [document], item, value)
    actions.submit(session, run.run_id, [document])


def _suggested(session: ProjectSession, run: RunRow, document: str) -> tuple[CodebookExample, ...]:
    result = actions.load_record(session, run, document)
    assert result is not None
    return tuple(example for example, _ in codebook_examples.suggest_examples(session, run, result))


def test_correction_suggests_the_misleading_words(session: ProjectSession) -> None:
    run = annotate(session)
    assert _suggested(session, run, "d0") == ()
    _correct(session, run, "d0", PRICE, False)
    (example,) = _suggested(session, run, "d0")
    assert (example.label_id, example.part) == (PRICE, "exclude")
    assert "cleaning fee" in example.text
    _correct(session, run, "d3", STAFF, True)
    (missed,) = _suggested(session, run, "d3")
    assert (missed.label_id, missed.part) == (STAFF, "include")


def test_effect_of_an_example_is_known_before_it_is_added(session: ProjectSession) -> None:
    session.store.documents.add([Document("d5", {"text": TEXTS[1]})])
    run = annotate(session)
    actions.submit(session, run.run_id, ["d0", "d1", "d2", "d5"])
    assert held_out_among(session, ["d0", "d1", "d2", "d5"]) == {"d1"}
    example = CodebookExample("d0", PRICE, "exclude", "a  cleaning fee")
    result = codebook_examples.preview_example(session, run, example)
    assert (result.version, result.matching, result.stale) == (2, 3, 4)
    assert (result.net.corrected, result.net.regressed, result.net.documents) == (0, 1, 2)
    (change,) = result.changes
    assert (change.name, [field.field for field in change.fields]) == ("Price", ["exclude"])
    assert session.store.codebooks.latest().number == 1  # type: ignore[union-attr]
    assert codebook_examples.add_example(session, run, example, actor="ada") == 2
    latest = session.store.codebooks.latest()
    assert latest is not None
    assert latest.codebook.label(PRICE).exclude == ("a cleaning fee",)
    assert latest.note == 'exclude example of Price from document d0: "a cleaning fee"'
    assert session.store.events.all(kinds=["codebook"])[0].actor == "ada"


def test_example_with_a_negative_effect_is_not_offered(session: ProjectSession) -> None:
    session.store.documents.add([Document("d7", {"text": "The city tax and a cleaning fee at checkout were high."})])
    run = annotate(session)
    _correct(session, run, "d0", PRICE, False)
    result = actions.load_record(session, run, "d0")
    assert result is not None
    ((example, effect),) = codebook_examples.suggest_examples(session, run, result)
    assert effect is not None
    actions.submit(session, run.run_id, ["d7"])  # here the fee is a price
    assert codebook_examples.suggest_examples(session, run, result) == [(example, None)]


def test_example_extends_the_latest_codebook_after_a_label_was_deleted(session: ProjectSession) -> None:
    run = annotate(session)
    _correct(session, run, "d0", PRICE, False)
    _correct(session, run, "d3", STAFF, True)
    latest = codebooks.change_label(BOOK.model_copy(update={"labels": BOOK.labels[1:]}), STAFF, description="People.")
    session.store.codebooks.save(latest)
    assert _suggested(session, run, "d0") == ()
    with pytest.raises(CodebookError, match="no longer in the codebook"):
        codebook_examples.add_example(session, run, CodebookExample("d0", PRICE, "exclude", "a cleaning fee"))
    (missed,) = _suggested(session, run, "d3")
    codebook_examples.add_example(session, run, CodebookExample("d3", missed.label_id, "include", "gondolier"))
    saved = session.store.codebooks.latest()
    assert saved is not None
    assert saved.codebook == codebooks.extend_label(latest, STAFF, "include", "gondolier")


def test_quotes_of_a_choice_belong_to_the_label_that_their_role_chose(session: ProjectSession) -> None:
    choice = Codebook(kind="choice", labels=BOOK.labels)
    session.store.codebooks.save(choice)
    run = annotate(session)
    actions.edit(session, run.run_id, ["d0"], CHOICE_ITEM, STAFF)
    without_keywords = (Label(name="Price", id=PRICE), Label(name="Staff", id=STAFF))
    session.store.codebooks.save(Codebook(kind="choice", labels=without_keywords))
    words = {example.label_id: example.text for example in _suggested(session, run, "d0")}
    assert "cleaning fee" in words[PRICE]
    assert words[STAFF] == ""


def test_codebook_of_another_kind_gets_no_examples(session: ProjectSession) -> None:
    run = annotate(session)
    _correct(session, run, "d0", PRICE, False)
    session.store.codebooks.save(BOOK.model_copy(update={"kind": "choice"}))
    assert _suggested(session, run, "d0") == ()
    with pytest.raises(CodebookError, match="label type"):
        codebook_examples.add_example(session, run, CodebookExample("d0", PRICE, "exclude", "a cleaning fee"))


def test_documents_used_as_examples_are_excluded_from_scores(session: ProjectSession) -> None:
    # The run before the example is scored on all four documents, the run after it on three. A run with the restored
    # codebook, which lacks the example, is scored on all four again.
    before = annotate(session)
    actions.submit(session, before.run_id, ["d0", "d1"])
    codebook_examples.add_example(session, before, CodebookExample("d0", PRICE, "exclude", "a cleaning fee"))
    after = annotate(session)
    assert sample_world.report(session, before.run_id)["n"] == 4
    report = sample_world.report(session, after.run_id)
    assert (report["n"], report["excluded"]) == (3, 0)
    estimate = accuracy_estimate.estimate_accuracy(session, before)
    assert (estimate.documents, estimate.learned_from) == (4, 0)
    estimate = accuracy_estimate.estimate_accuracy(session, after)
    assert (estimate.documents, estimate.learned_from) == (3, 1)
    codebooks.restore(session, 1)
    assert sample_world.report(session, annotate(session).run_id)["n"] == 4


def test_example_is_added_to_an_unsaved_draft(session: ProjectSession) -> None:
    run = annotate(session)
    draft = codebooks.change_label(BOOK, STAFF, description="half written")
    codebooks.save_draft(session, draft)
    codebook_examples.add_example(session, run, CodebookExample("d0", PRICE, "keywords", "city tax"))
    shown = codebooks.codebook_status(session)
    assert shown.codebook.label(STAFF).description == "half written"
    assert shown.codebook.label(PRICE).keywords == ("fee", "city tax")
    assert shown.saved is not None
    assert shown.saved.codebook.label(STAFF).description == ""


def test_invalid_example_words_are_rejected(session: ProjectSession) -> None:
    run = annotate(session)
    with pytest.raises(UsageError, match="has no words"):
        codebook_examples.preview_example(session, run, CodebookExample("d0", PRICE, "exclude", "  "))
    with pytest.raises(UsageError, match="already in the label"):
        codebook_examples.preview_example(session, run, CodebookExample("d0", PRICE, "keywords", "Fee"))
    with pytest.raises(UsageError, match="40 at most"):
        codebook_examples.add_example(session, run, CodebookExample("d0", PRICE, "keywords", "x" * 41))
    with pytest.raises(CodebookError, match="no longer in the codebook"):
        codebook_examples.preview_example(session, run, CodebookExample("d0", "gone", "include", "words"))
    assert session.store.classifiers.codebook_examples() == []
