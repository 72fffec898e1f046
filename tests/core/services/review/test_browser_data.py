"""Tests of the document view: its contents, and the parts hidden from a second reviewer before submission."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest

from core.services.project_session import ProjectSession
from core.services.review import actions
from core.services.review.browser_data import document_view
from core.store.project import Project
from tests.core.services import sample_world


@pytest.fixture
def session(tmp_path):
    with Project(tmp_path / "small.duckdb") as project:
        run_id = sample_world.build(project)
        small = SimpleNamespace(store=project.store, run_id=run_id, trainer=SimpleNamespace(schedule=lambda: None))
        small.document, small.replay = partial(ProjectSession.document, small), partial(ProjectSession.replay, small)
        yield small


def view(session, document, actor="ann", runs=None):
    runs = [session.store.runs.get(session.run_id)] if runs is None else runs
    return document_view(session, runs, document, actor=actor)


def columns(shown):
    return {column["title"]: column["values"] for column in shown["annotations"]}


def test_shows_gold_roles_and_verdict_with_evidence_and_debate(session):
    shown = view(session, "d1")
    run = session.store.runs.get(session.run_id)
    assert columns(shown) == {
        "Gold": sample_world.both("ab"),
        "Extractor": sample_world.both("ab"),
        "Critic": sample_world.both("b"),
        run.title: sample_world.both("b"),
    }
    assert shown["reference"] == sample_world.both("ab")
    assert [debate["active"] for debate in shown["debates"]] == [False]
    assert shown["debates"][0]["events"][-1]["kind"] == "verdict"
    assert {quote["match"] for quote in shown["evidence"]} == {"exact", "missing"}


def test_reviews_replace_gold_as_reference(session):
    actions.edit(session, session.run_id, ["d1"], "a", False, actions.Attribution("ann"))
    actions.mark(session, session.run_id, "d1", "note", "because", actions.Attribution("ann"))
    shown = view(session, "d1")
    assert columns(shown)["ann"] == {"a": False}
    assert shown["reference"] == sample_world.both("b")
    assert shown["notes"] == [{"who": "ann", "note": "because"}]
    assert len(shown["history"]) == 3  # the value, the note, and the status Draft


def test_other_reviews_are_hidden_until_the_second_reviewer_submits(session):
    actions.edit(session, session.run_id, ["d1"], "a", False, actions.Attribution("ann"))
    actions.mark(session, session.run_id, "d1", "note", "because", actions.Attribution("ann"))
    actions.submit(session, session.run_id, ["d1"], actions.Attribution("ann"))
    hidden = view(session, "d1", actor="bob")
    assert hidden["hidden"]
    assert hidden["fields"]["text"] == "text number 1"
    for part in ("annotations", "reference", "evidence", "debates", "notes", "history"):
        assert not hidden[part]
    assert view(session, "d1", actor="bob", runs=[])["annotations"] == []  # the same on pages without a run

    for item in ("a", "b"):
        actions.edit(session, session.run_id, ["d1"], item, True, actions.Attribution("bob"))
    assert columns(view(session, "d1", actor="bob")) == {"bob": sample_world.both("ab")}
    actions.submit(session, session.run_id, ["d1"], actions.Attribution("bob"))
    shown = view(session, "d1", actor="bob")
    assert not shown["hidden"]
    assert {"ann", "bob", "Gold"} <= set(columns(shown))


def test_view_without_a_run_has_text_and_gold_only(session):
    shown = view(session, "d1", runs=[])
    assert columns(shown) == {"Gold": sample_world.both("ab")}
    assert (shown["debates"], shown["history"], shown["hidden"]) == ([], [], False)


def test_view_of_two_runs_has_one_column_each_and_no_roles(session):
    run = session.store.runs.get(session.run_id)
    shown = view(session, "d1", runs=[run, run])
    assert [column["by"] for column in shown["annotations"]] == ["gold", "verdict", "verdict"]
    assert len(shown["debates"]) == 2


def test_unknown_document_has_no_view(session):
    assert view(session, "d99") is None
