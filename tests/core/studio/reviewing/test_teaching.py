"""A correction becomes an example or a keyword; the document that lent it is no test any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.codebook import Codebook, Label
from core.documents import Document
from core.errors import CodebookError, UsageError
from core.runs import RunRow
from core.studio.codebooks import codebook as codebooks
from core.studio.desk import Desk
from core.studio.evaluation import evaluate
from core.studio.reviewing import proof, review, teaching
from core.studio.reviewing.teaching import Lesson
from core.studio.running import runs
from core.studio.workspace import Workspace

BOOK = Codebook(labels=(Label(name="Price", keywords=("fee",)), Label(name="Staff", keywords=("staff",))))
PRICE, STAFF = (label.id for label in BOOK.labels)
TEXTS = (
    "A city tax and a cleaning fee appear at checkout. Nothing else.",
    "They wanted a cleaning fee again.",
    "The staff sang.",
    "The night porter sang, and we slept.",
)


@pytest.fixture
def workspace(tmp_path: Path):
    made = Workspace()
    yield made
    made.close()


@pytest.fixture
def desk(workspace: Workspace, tmp_path: Path) -> Desk:
    desk = workspace.open(tmp_path / "p.duckdb")
    gold = {"gold": {PRICE: False, STAFF: True}}
    desk.store.documents.add([Document(f"d{n}", {"text": text}, gold=gold) for n, text in enumerate(TEXTS)])
    desk.store.codebooks.save(BOOK)
    return desk


def _run(desk: Desk) -> RunRow:
    latest = desk.store.codebooks.latest()
    assert latest is not None
    settings = runs.settle(runs.Plan(protocol="single"), latest.codebook, latest.version, desk.models)
    (made,) = runs.create(desk, settings, desk.store.documents.ids())
    desk.go(made.run_id).result(60)
    row = desk.store.runs.get(made.run_id)
    assert row is not None
    return row


def _correct(desk: Desk, run: RunRow, document: str, item: str, value: bool) -> None:
    review.edit(desk, run.run_id, document, item, value)
    review.submit(desk, run.run_id, [document])


def _suggested(desk: Desk, run: RunRow, document: str) -> tuple[Lesson, ...]:
    found = review.dossier(desk, run, document)
    assert found is not None
    return teaching.suggested(desk, run, found)


def test_a_correction_suggests_the_words_that_misled(desk: Desk) -> None:
    run = _run(desk)
    assert _suggested(desk, run, "d0") == ()
    _correct(desk, run, "d0", PRICE, False)
    (lesson,) = _suggested(desk, run, "d0")
    assert (lesson.label_id, lesson.part) == (PRICE, "exclude")
    assert "cleaning fee" in lesson.text
    _correct(desk, run, "d3", STAFF, True)
    (missed,) = _suggested(desk, run, "d3")
    assert (missed.label_id, missed.part) == (STAFF, "include")


def test_the_effect_is_known_before_and_one_click_keeps_it(desk: Desk) -> None:
    run = _run(desk)
    for document in ("d0", "d1", "d2"):
        review.submit(desk, run.run_id, [document])
    lesson = Lesson("d0", PRICE, "exclude", "a  cleaning fee")
    found = teaching.effect(desk, run, lesson)
    assert (found.version, found.matching, found.stale, found.touched) == (2, 2, 3, 3)
    (change,) = found.changes
    assert (change.name, [field.field for field in change.fields]) == ("Price", ["does not count"])
    assert desk.store.codebooks.latest().version == 1  # type: ignore[union-attr]
    assert teaching.teach(desk, run, lesson, actor="ada") == 2
    latest = desk.store.codebooks.latest()
    assert latest is not None
    assert latest.codebook.label(PRICE).exclude == ("a cleaning fee",)
    assert latest.note == 'exclude example of Price from document d0: "a cleaning fee"'
    assert latest.actor == "ada"
    assert teaching.used(desk) == {"d0": ("a cleaning fee",)}


def test_what_was_taught_with_is_no_test(desk: Desk) -> None:
    """The run before knows nothing of the example and is tested on all four; the run after is tested on three. A
    version without the example is tested on all again."""
    before = _run(desk)
    review.submit(desk, before.run_id, ["d0", "d1"])
    teaching.teach(desk, before, Lesson("d0", PRICE, "exclude", "a cleaning fee"))
    after = _run(desk)
    assert evaluate.report(desk, before.run_id)["n"] == 4
    told = evaluate.report(desk, after.run_id)
    assert (told["n"], told["excluded"]) == (3, 0)
    assert (proof.proof(desk, before).documents, proof.proof(desk, before).guarded) == (4, 0)
    assert (proof.proof(desk, after).documents, proof.proof(desk, after).guarded) == (3, 1)
    codebooks.restore(desk, 1)
    assert evaluate.report(desk, _run(desk).run_id)["n"] == 4
    assert teaching.used(desk) == {}


def test_an_unsaved_draft_gets_the_words_and_stays(desk: Desk) -> None:
    run = _run(desk)
    draft = codebooks.change_label(BOOK, STAFF, description="half written")
    codebooks.keep(desk, draft)
    teaching.teach(desk, run, Lesson("d0", PRICE, "keywords", "city tax"))
    shown = codebooks.standing(desk)
    assert shown.codebook.label(STAFF).description == "half written"
    assert shown.codebook.label(PRICE).keywords == ("fee", "city tax")
    assert shown.saved is not None
    assert shown.saved.codebook.label(STAFF).description == ""


def test_words_that_cannot_be_added(desk: Desk) -> None:
    run = _run(desk)
    with pytest.raises(UsageError, match="no words"):
        teaching.effect(desk, run, Lesson("d0", PRICE, "exclude", "  "))
    with pytest.raises(UsageError, match="there already"):
        teaching.effect(desk, run, Lesson("d0", PRICE, "keywords", "Fee"))
    with pytest.raises(UsageError, match="40 at most"):
        teaching.teach(desk, run, Lesson("d0", PRICE, "keywords", "x" * 41))
    with pytest.raises(CodebookError, match="not in the codebook"):
        teaching.effect(desk, run, Lesson("d0", "gone", "include", "words"))
    assert desk.store.learning.examples() == []
