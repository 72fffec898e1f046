"""What Evaluate shows is worked out once, also when it was worked out before anybody asked."""

from __future__ import annotations

import pytest

from core.services.evaluation import evaluated, looked, scoring
from core.store.project import Project
from tests.core.services import sample_world


@pytest.fixture
def session(tmp_path):
    with Project.open(tmp_path / "p.duckdb") as project:
        sample_world.build(project, {})
        session = sample_world.session_on(project)
        session.active_runs = tuple
        yield session


def test_what_was_worked_out_ahead_is_not_worked_out_again(session, monkeypatch):
    found = evaluated.first(session)
    run = looked.runs(session)[-1]
    assert found is not None
    assert found.run.run_id == run.run_id
    evaluated.rest(session, run, "gold")
    monkeypatch.setattr(scoring, "evaluation", lambda *_: pytest.fail("a second time"))
    assert evaluated.evaluation(session, run, "gold").run.run_id == run.run_id


def test_nothing_is_worked_out_ahead_while_a_run_moves(session, monkeypatch):
    monkeypatch.setattr(scoring, "evaluation", lambda *_: pytest.fail("a run moves"))
    session.active_runs = lambda: ("r0001",)
    assert evaluated.first(session) is None
    evaluated.rest(session, looked.runs(session)[-1], "gold")


@pytest.mark.parametrize(
    ("wanted", "usual"), [("reviewed", "reviewed"), ("gold", "reviewed"), ("person@ann", "reviewed")]
)
def test_the_usual_reference_is_one_that_speaks_of_documents(wanted, usual):
    assert evaluated.usual({"gold": 0, "reviewed": 3}, wanted) == usual


def test_without_any_reference_gold_is_usual():
    assert evaluated.usual({"gold": 0, "reviewed": 0}, "reviewed") == "gold"
