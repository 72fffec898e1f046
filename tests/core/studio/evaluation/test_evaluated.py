"""What Evaluate shows is worked out once, also when it was worked out before anybody asked."""

from __future__ import annotations

import pytest

from core.store.project import Project
from core.studio.evaluation import evaluated, looked, scoring
from tests.core.studio import rooms_world


@pytest.fixture
def desk(tmp_path):
    with Project.open(tmp_path / "p.duckdb") as project:
        rooms_world.build(project, {})
        desk = rooms_world.desk_on(project)
        desk.under_way = tuple
        yield desk


def test_what_was_worked_out_ahead_is_not_worked_out_again(desk, monkeypatch):
    found = evaluated.first(desk)
    run = looked.runs(desk)[-1]
    assert found is not None
    assert found.run.run_id == run.run_id
    evaluated.rest(desk, run, "gold")
    monkeypatch.setattr(scoring, "evaluation", lambda *_: pytest.fail("a second time"))
    assert evaluated.evaluation(desk, run, "gold").run.run_id == run.run_id


def test_nothing_is_worked_out_ahead_while_a_run_moves(desk, monkeypatch):
    monkeypatch.setattr(scoring, "evaluation", lambda *_: pytest.fail("a run moves"))
    desk.under_way = lambda: ("r0001",)
    assert evaluated.first(desk) is None
    evaluated.rest(desk, looked.runs(desk)[-1], "gold")


@pytest.mark.parametrize(
    ("wanted", "usual"), [("reviewed", "reviewed"), ("gold", "reviewed"), ("person@ann", "reviewed")]
)
def test_the_usual_truth_is_one_that_speaks_of_documents(wanted, usual):
    assert evaluated.usual({"gold": 0, "reviewed": 3}, wanted) == usual


def test_without_any_truth_gold_is_usual():
    assert evaluated.usual({"gold": 0, "reviewed": 0}, "reviewed") == "gold"
