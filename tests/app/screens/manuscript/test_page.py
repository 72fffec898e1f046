"""Tests of the page For your paper: regressions that the paper reports."""

from __future__ import annotations

import re

import pytest

from core.codebook import Codebook, Label, load_yaml
from core.documents import Document
from core.services.evaluation.corrected_regression import saved_formulas
from core.services.project_session import ProjectSession
from core.services.review import actions, queue
from tests.app.studio import draw_screen, html, open_page
from tests.core.services.sessions import annotate

RATED = Codebook(kind="rating", labels=(Label(name="Fluency", id="f"),))
BOOK = load_yaml("{labels: [{name: Clean, keywords: [clean]}]}")
ADA = actions.Attribution("ada")


def test_regression_is_added_to_the_paper_and_removed(session: ProjectSession) -> None:
    session.store.documents.add(Document(f"d{n}", {"text": f"{('clean', 'cold')[n % 2]} {n}"}) for n in range(80))
    session.store.codebooks.save(BOOK)
    run = annotate(session)
    listed = queue.list_queue(session, run, queue.QueueFilter(sort="queue", size=50), actor="ada")
    actions.submit(session, run.run_id, list(listed.sampling), ADA, sampling=listed.sampling)
    at = open_page("manuscript")
    at.button(key="manuscript-regression").click().run()
    at.button(key="regression-add").click().run()
    (formula,) = saved_formulas(session, run)
    assert formula.outcome == "Clean"
    at.button(key="manuscript-regression").click().run()
    assert at.button(key="regression-add").disabled
    at.button(key=f"regression-remove-{formula} {formula.family}").click().run()
    assert not saved_formulas(session, run)
    assert not at.exception


def test_wide_table_of_scores_can_be_scrolled(session: ProjectSession) -> None:
    session.store.documents.add(Document(f"d{n}", {"text": "t"}, gold={"gold": {"f": n}}) for n in range(1, 4))
    session.store.codebooks.save(RATED)
    annotate(session)
    tables = re.findall(
        r'<div class="moot-scroll" ([^>]*)><table.*?</table></div>', html(open_page("manuscript")), re.DOTALL
    )
    wide = [table for table in tables if table]
    assert len(tables) > len(wide) == 1
    assert 'tabindex="0" role="region" aria-label="Scores of each dimension' in wide[0]


def test_files_name_the_reference(session: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    gold = {"ann": {"f": 1}, "bo": {"f": 2}}
    session.store.documents.add(Document(f"d{n}", {"text": "t"}, gold={"gold": {"f": n}} | gold) for n in range(1, 4))
    session.store.codebooks.save(RATED)
    run = annotate(session)
    names: list[str] = []
    monkeypatch.setattr("app.widgets.elements.download", lambda _title, _content, name, **_: names.append(name))
    shown = html(open_page("manuscript"))
    assert f"{run.run_id}-gold-manuscript.md" in names
    draw_screen(session, "manuscript", evaluate_reference="gold@ann")
    assert f"{run.run_id}-gold-ann-manuscript.md" in names
    assert f"{run.title}, reference: gold" in shown
