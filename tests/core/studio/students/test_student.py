"""The student in a project: taught in the background, stored, seated, exported, honest about what it was taught."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.codebook import Codebook, Label
from core.debate.events import RunStatus
from core.documents import Document
from core.errors import NoSuchModel, UsageError
from core.learning import student_file
from core.runs import BUILTIN, RunRow, Seat
from core.studio.desk import Desk
from core.studio.evaluation import certainty, evaluate
from core.studio.evaluation.counted import Counted
from core.studio.reviewing import review
from core.studio.running import runs
from core.studio.students import student
from core.studio.workspace import Workspace
from tests.core.studio.desks import until

HIDDEN = "cobwebs in every corner"  # dirt that no keyword names
BOOK = Codebook(
    name="Hotel <b>`x`</b>",
    unit="hotel review",
    labels=(Label(name="Cleanliness", keywords=("clean", "dirty")), Label(name="Service", keywords=("staff",))),
)
CLEAN, SERVICE = (label.id for label in BOOK.labels)
TEXTS = (HIDDEN, "the staff smiled at us", f"{HIDDEN} and rude staff", "we slept until noon")


def _truth(text: str) -> dict[str, bool]:
    return {CLEAN: "cobwebs" in text, SERVICE: "staff" in text}


@pytest.fixture
def workspace(tmp_path: Path):
    made = Workspace()
    yield made
    made.close()


@pytest.fixture
def desk(workspace: Workspace, tmp_path: Path) -> Desk:
    desk = workspace.open(tmp_path / "hotel.duckdb")
    texts = [f"{TEXTS[number % 4]}, night {number}" for number in range(60)]
    gold = {"gold": None}
    desk.store.documents.add(
        [
            Document(f"d{n:02}", {"text": text}, gold={name: _truth(text) for name in gold})
            for n, text in enumerate(texts)
        ]
    )
    desk.store.codebooks.save(BOOK)
    return desk


def _run(desk: Desk, model: str = "lexical", protocol: str = "single") -> RunRow:
    latest = desk.store.codebooks.latest()
    assert latest is not None
    plan = runs.Plan(protocol=protocol, everyone=Seat(connection=BUILTIN, model=model))
    settings = runs.settle(plan, latest.codebook, latest.version, desk.models)
    (made,) = runs.create(desk, settings, desk.store.documents.ids())
    _ended(desk, made)
    return made


def _ended(desk: Desk, made: RunRow) -> RunStatus:
    return desk.go(made.run_id).result(60)


def _review(desk: Desk, run: RunRow, ids: list[str]) -> None:
    for document in desk.store.documents.load(ids):
        for item, value in _truth(document.text).items():
            review.edit(desk, run.run_id, document.id, item, value)
    review.submit(desk, run.run_id, ids)
    until(lambda: not desk.tutor.busy, 60)
    assert desk.tutor.trouble == ""


def test_it_learns_in_the_background_and_says_how_sure_it_is(desk: Desk) -> None:
    run = _run(desk)
    assert student.standing(desk).missing == 5
    _review(desk, run, [f"d{n:02}" for n in range(4)])
    assert not student.standing(desk).ready
    _review(desk, run, [f"d{n:02}" for n in range(4, 24)])
    told = student.standing(desk)
    assert (told.ready, told.documents, told.tested, told.measure) == (True, 24, 24, "macro F1")
    # One label is all right, one all wrong: no resample tells how sure that is.
    assert (told.score.value, told.score.interval) == (0.5, None)
    sure = desk.store.learning.certainty("d40")
    assert set(sure) == {CLEAN, SERVICE}
    assert all(0 <= each <= 1 for each in sure.values())
    assert desk.store.learning.certainty("d00") == {}  # decided: nothing to be sure of
    before = told.hash
    _review(desk, run, ["d30"])
    assert student.standing(desk).hash != before


def test_it_annotates_the_rest_for_free_and_evaluate_compares_it(desk: Desk) -> None:
    run = _run(desk)
    _review(desk, run, [f"d{n:02}" for n in range(40)])
    made = student.annotate(desk)
    until(lambda: desk.state(made.run_id) == "done", 60)
    ended = desk.store.runs.get(made.run_id)
    assert ended is not None
    assert (ended.verdicts, ended.unresolved, ended.cost_usd) == (60, 0, 0.0)
    assert made.settings.seats["annotator"].model == f"student@{student.standing(desk).hash}"
    lexical = evaluate.report(desk, run.run_id)["labels"]["Cleanliness"]["f1"]
    taught = evaluate.report(desk, made.run_id)["labels"]["Cleanliness"]["f1"]
    assert taught > lexical


def test_a_resumed_run_asks_the_very_same_student(desk: Desk) -> None:
    """The hash of what it was taught is in the seat, so in every reply's key: another lesson is another student, and
    the one that a run has stays in the file."""
    run = _run(desk)
    _review(desk, run, [f"d{n:02}" for n in range(8)])
    first = student.annotate(desk)
    until(lambda: desk.state(first.run_id) == "done", 60)
    _review(desk, run, [f"d{n:02}" for n in range(8, 30)])
    assert _ended(desk, first).state == "done"  # resuming a finished run succeeds
    name = first.settings.seats["annotator"].model.partition("@")[2]
    assert desk.tutor.find(name) is not None
    second = student.annotate(desk)
    until(lambda: desk.state(second.run_id) == "done", 60)
    row = desk.store.runs.get(second.run_id)
    assert row is not None
    assert row.cached_calls == 0


def test_it_sits_in_a_debate(desk: Desk) -> None:
    run = _run(desk)
    _review(desk, run, [f"d{n:02}" for n in range(20)])
    made = _run(desk, model="student", protocol="ecj")
    row = desk.store.runs.get(made.run_id)
    assert row is not None
    assert (row.verdicts, row.unresolved) == (60, 0)
    turn = desk.store.transcripts.turns(made.run_id, "d40")[0]
    assert turn.reply.text.startswith("Student, no language model, taught on 20 reviewed documents")


def test_without_lessons_a_run_does_not_start(desk: Desk) -> None:
    latest = desk.store.codebooks.latest()
    assert latest is not None
    plan = runs.Plan(protocol="single", everyone=Seat(connection=BUILTIN, model="student"))
    settings = runs.settle(plan, latest.codebook, latest.version, desk.models)
    with pytest.raises(NoSuchModel, match="learned nothing"):
        runs.preflight(settings, desk.models, desk.engine)
    with pytest.raises(UsageError, match="learned nothing"):
        student.annotate(desk)


def test_the_file_and_its_card(desk: Desk, tmp_path: Path) -> None:
    run = _run(desk)
    _review(desk, run, [f"d{n:02}" for n in range(40)])
    path, card = student.save(desk, tmp_path / "out.skops")
    taught, facts = student_file.loads(path.read_bytes())
    assert facts["documents"] == 40
    said = taught.judge([f"{HIDDEN} again"], np.zeros((1, 2)))
    assert said.values.tolist() == [[1.0, 0.0]]
    told = card.read_text(encoding="utf-8")
    assert "40 documents with 80 decisions" in told
    assert "`Hotel <b>'x'</b>`" in told  # names stay text
    with pytest.raises(UsageError, match="card would be called"):
        student.save(desk, tmp_path / "out.md")


def test_neighbours_that_were_decided_otherwise_are_found(desk: Desk) -> None:
    run = _run(desk)
    _review(desk, run, [f"d{n:02}" for n in range(12)])
    found = desk.store.learning._connection.rows(
        "SELECT DISTINCT document_id FROM near_otherwise WHERE run_id = ? ORDER BY document_id", [run.run_id]
    )
    texts = {one.id: one.text for one in desk.store.documents.load([id for (id,) in found])}
    assert texts  # the lexical verdict says of cobwebs: not clean's business; people said otherwise
    assert all("cobwebs" in text for text in texts.values())


def test_its_certainty_is_tested_on_what_it_was_not_taught(desk: Desk) -> None:
    first = _run(desk)
    ids = desk.store.documents.ids()
    _review(desk, first, ids[:24])
    by_student = _run(desk, model="student")
    told = certainty.certainty(desk, by_student)
    assert told.kind == "student"
    assert told.counted == Counted(36, {"taught": 24})
    found = told.calibration
    assert found is not None
    # What the student noted of a waiting document is what it is asked for: cells of 36 documents, in two labels.
    assert (found.n, found.excluded) == (72, 48)
    noted = [desk.store.learning.certainty(id)[item] for id in ids[24:] for item in (CLEAN, SERVICE)]
    assert sum(one.n * one.certainty for one in found.bins) == pytest.approx(sum(noted))
    by_hand = [abs(one.certainty - (one.right.value or 0.0)) * one.n for one in found.bins]
    assert found.ece == pytest.approx(sum(by_hand) / 72)
    assert certainty.to_json(told)["of"] == "student"


def test_a_truth_that_taught_it_is_no_test_until_more_is_reviewed(desk: Desk) -> None:
    first = _run(desk)
    ids = desk.store.documents.ids()
    _review(desk, first, ids[:24])
    by_student = _run(desk, model="student")
    told = certainty.certainty(desk, by_student, "reviewed")
    assert told.calibration is None
    assert told.why_not.startswith("The student was taught every document that has this truth.")
    _review(desk, by_student, ids[24:30])
    again = certainty.certainty(desk, by_student, "reviewed")
    assert again.counted == Counted(6, {"taught": 24, "truthless": 30})


def test_without_a_student_or_votes_nobody_said_how_certain(desk: Desk) -> None:
    first = _run(desk)
    _review(desk, first, desk.store.documents.ids()[:24])
    assert certainty.certainty(desk, first).why_not.startswith("Nobody said how certain they are.")
