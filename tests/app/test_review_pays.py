"""What stands below the review: the sentence of what it proves, a correction kept in one click, the student."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app.views.review import proof as view
from core.codebook import Codebook, Label
from core.documents import Document
from core.evaluation.intervals import Estimate, Interval
from core.studio.desk import Desk
from core.studio.reviewing import review
from core.studio.reviewing.proof import Proof
from core.studio.running import runs
from tests.app.screens_studio import HOSTILE, html, studio

BOOK = Codebook(labels=(Label(name="Price <b>", keywords=("fee",)), Label(name="Staff", keywords=("staff",))))
PRICE = BOOK.labels[0].id
NONE = Estimate(None, None)


def _proof(**fields: object) -> Proof:
    known: dict[str, object] = {
        "documents": 400, "reviewed": 0, "audits": 0, "guarded": 0, "share": 0.2, "right": NONE, "f1": NONE,
        "labels": (), "sample": None,
    }  # fmt: skip
    return Proof(**(known | fields))  # type: ignore[arg-type]


def test_the_sentence_says_what_to_do_next() -> None:
    assert "No verdict" in view.sentence(_proof(documents=0))
    assert "Review 5 more random audits, about 25 documents of the queue," in view.sentence(_proof())
    assert "Review 1 more random audit, about 5" in view.sentence(_proof(audits=4))
    assert "turn random audits on" in view.sentence(_proof(share=0.0))
    known = Estimate(0.918, Interval(0.874, 0.95))
    said = view.sentence(_proof(reviewed=60, audits=12, right=known))
    assert "<b>91.8%</b> of labels, 95% interval 87.4 to 95.0" in said
    assert "All 400 documents are reviewed" in view.sentence(_proof(reviewed=400, right=known))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with studio(tmp_path, monkeypatch) as workspace:
        desk = workspace.open(tmp_path / "p.duckdb")
        texts = [f"A fee again, {HOSTILE}", *(f"The staff sang {n}" for n in range(8))]
        desk.store.documents.add([Document(f"d{n}", {"text": text}) for n, text in enumerate(texts)])
        version = desk.store.codebooks.save(BOOK)
        settings = runs.settle(runs.Plan(protocol="single"), BOOK, version, desk.models)
        (made,) = runs.create(desk, settings, desk.store.documents.ids())
        desk.go(made.run_id).result(60)
        yield desk


def _page() -> None:
    from app import review_pays, wiring
    from core.studio.reviewing import review

    (desk,) = wiring.workspace().desks()
    review_pays.pays(desk, review.runs(desk)[0], "d0", "ada")  # type: ignore[arg-type]


def test_a_correction_is_kept_in_one_click(desk: Desk) -> None:
    run = review.runs(desk)[0]
    at = AppTest.from_function(_page, default_timeout=60).run()
    assert "Make it count" not in html(at)
    review.edit(desk, run.run_id, "d0", PRICE, False, actor="ada")
    at.run()
    assert "Price &lt;b&gt;" in html(at)
    assert "<img" not in html(at)
    next(button for button in at.button if button.label == "Add as exclude example").click().run()
    assert not at.exception
    latest = desk.store.codebooks.latest()
    assert latest is not None
    assert (latest.version, latest.actor) == (2, "ada")
    assert latest.codebook.label(PRICE).exclude[0].startswith("A fee again")
    assert "Kept as version 2 of the codebook" in html(at)
    at.run()
    assert "Make it count" not in html(at)  # nothing more to teach here


def test_what_it_proves_and_the_student(desk: Desk) -> None:
    run = review.runs(desk)[0]
    at = AppTest.from_function(_page, default_timeout=60).run()
    next(button for button in at.button if button.label == "What it proves").click().run()
    assert "Submit 5 more documents and it begins to learn." in html(at)
    review.submit(desk, run.run_id, [f"d{n}" for n in range(9)], actor="ada")
    desk.tutor.wait(60)
    at.run()
    next(button for button in at.button if button.label == "What it proves").click().run()
    shown = html(at)
    assert "Taught on 9 documents under codebook v1" in shown
    assert "Both together" in shown
    assert "Price &lt;b&gt;" in shown


def _elsewhere() -> None:
    from app import review_pays, wiring

    review_pays.student_from_elsewhere(wiring.workspace().desks()[0])  # type: ignore[arg-type]


def test_a_file_that_is_no_student_is_refused_where_it_was_given(desk: Desk) -> None:
    at = AppTest.from_function(_elsewhere, default_timeout=60).run()
    at.file_uploader(key="student-file-in").set_value(("odd.skops", b"nothing", "application/zip")).run()
    assert "odd.skops is not a student." in html(at)
    assert desk.store.learning.student() is None
