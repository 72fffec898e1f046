"""Tests of prefetching for Evaluate: computed once, and not while a run is active."""

from __future__ import annotations

import pytest

from core.documents import Document
from core.services.evaluation import evaluation, prefetch
from core.store.project import Project
from tests.core.services import sample_world
from tests.core.services.evaluation.rated_panel import FORWARDS, GOLD, panel


@pytest.fixture
def session(tmp_path):
    with Project(tmp_path / "p.duckdb") as project:
        sample_world.build(project, {})
        session = sample_world.session_on(project)
        session.active_runs = tuple
        yield session


def test_prefetched_scores_are_not_computed_again(session, monkeypatch):
    run = session.all_runs()[-1]
    prefetch.prefetch_scores(session, run)
    prefetch.prefetch_tabs(session, run, "gold")
    monkeypatch.setattr(evaluation, "score", lambda *_, **__: pytest.fail("scores were computed again"))
    assert evaluation.evaluate(session, run, "gold").run.run_id == run.run_id


def test_scores_that_ratings_do_not_show_are_not_prefetched(tmp_path, monkeypatch):
    with Project(tmp_path / "p.duckdb") as project:
        texts = (Document(id, {"text": id}, gold={"gold": {"c": value or 3}}) for id, value in GOLD.items())
        project.store.documents.add(texts)
        session, run = sample_world.session_on(project), project.store.runs.get(panel(project, "full", FORWARDS))
        monkeypatch.setattr(evaluation, "role_scores", lambda *_: pytest.fail("ratings show no scores of roles"))
        prefetch.prefetch_scores(session, run)


def test_nothing_is_prefetched_while_a_run_is_active(session, monkeypatch):
    monkeypatch.setattr(evaluation, "score", lambda *_, **__: pytest.fail("scores were computed during a run"))
    session.active_runs = lambda: ("r0001",)
    prefetch.prefetch_tabs(session, session.all_runs()[-1], "gold")
