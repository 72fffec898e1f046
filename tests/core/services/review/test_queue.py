"""Tests of what the grid and the filters show while the verdict is hidden from the reviewer."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from core.errors import UsageError
from core.services.review import actions, browser_data, queue
from core.services.review.agreement import blind_report
from core.services.review.queue import QueueFilter
from tests.core.services.sessions import decide

ANN = actions.Attribution("ann")


@pytest.fixture
def blind(session):
    queue.save_review_settings(session, queue.ReviewSettings(blind=True))


def found(session, run, actor="ann", **wanted):
    return [row.document_id for row in queue.review_page(session, run, QueueFilter(**wanted), actor=actor).rows]


@pytest.mark.usefixtures("blind")
def test_blind_grid_shows_own_values_only_until_the_document_is_submitted(session, run):
    actions.edit(session, run.run_id, ["d1"], "b", True, ANN)
    (row,) = queue.review_rows(session, run, ["d1"], actor="ann")
    assert row.values == {"a": None, "b": True}
    assert (row.gold, row.roles, row.reasons) == ({}, dict.fromkeys(row.roles), ())
    assert (row.quotes, row.certainty) == (0, None)
    assert not row.wrong | row.disputed | row.edited
    with pytest.raises(UsageError, match="no value yet for Alpha"):  # the hidden verdict is not confirmed unseen
        actions.submit(session, run.run_id, ["d1"], ANN)
    actions.edit(session, run.run_id, ["d1"], "a", True, ANN)
    actions.submit(session, run.run_id, ["d1"], ANN)
    (row,) = queue.review_rows(session, run, ["d1"], actor="ann")
    assert (row.gold, row.edited) == ({"a": True, "b": True}, {"a"})
    assert {"gold", "flipped"} <= set(row.reasons)


@pytest.mark.usefixtures("blind")
def test_filters_find_only_documents_whose_verdict_the_reviewer_may_see(session, run):
    assert found(session, run, label="a") == []
    assert [reason for reason in queue.REASON_NAMES if found(session, run, reason=reason)] == []
    assert len(found(session, run)) == 8
    decide(session, run.run_id, {"d2": {"a": False, "b": False}}, ANN)
    assert found(session, run, label="a") == ["d2"]
    assert found(session, run, reason="gold") == ["d2"]
    for item in ("a", "b"):
        actions.edit(session, run.run_id, ["d0"], item, True, ANN)
    actions.reveal(session, run.run_id, "d0", ANN)
    assert found(session, run, label="a") == ["d0", "d2"]


def test_order_and_counts_do_not_tell_of_hidden_reasons(session, run):
    by_position = found(session, run)
    progress = browser_data.progress(session, run, actor="ann")
    assert found(session, run, sort="reasons") != by_position
    assert progress["urgent"] > 0
    queue.save_review_settings(session, queue.ReviewSettings(blind=True))
    for sort in ("reasons", "certainty"):
        assert found(session, run, sort=sort) == by_position
    assert browser_data.progress(session, run, actor="ann") == progress | {"urgent": None}
    decide(session, run.run_id, {id: {"a": False, "b": False} for id in by_position}, ANN)
    assert browser_data.progress(session, run, actor="ann")["urgent"] == 0, "no verdict is hidden any more"


def test_filters_leave_out_second_readings(session, run):
    assert "d2" in found(session, run, label="a", actor="bob")
    decide(session, run.run_id, {"d2": {"a": False, "b": False}}, ANN)
    assert found(session, run, label="a", actor="bob") == ["d0", "d5"]
    assert "d2" not in found(session, run, reason="gold", actor="bob")
    assert "d2" in found(session, run, label="a", actor="ann")


@pytest.mark.usefixtures("blind")
def test_values_submitted_while_hidden_count_as_blind(session, run):
    decide(session, run.run_id, {"d1": {"a": False, "b": False}}, ANN)
    report = blind_report(session, run)
    assert (report.blind.count, report.blind.n, report.shown.n) == (1, 2, 0)


@pytest.mark.usefixtures("blind")
def test_hidden_document_lacks_the_verdict_in_history_and_notes(session, run):
    queue.save_review_settings(session, queue.ReviewSettings())
    bob = actions.Attribution("bob")
    actions.edit(session, run.run_id, ["d1"], "b", False, bob)
    actions.mark(session, run.run_id, "d1", "note", "Beta is present", bob)
    queue.save_review_settings(session, queue.ReviewSettings(blind=True))
    actions.edit(session, run.run_id, ["d1"], "b", False, ANN)
    shown = browser_data.document(session, run, "d1", actor="ann")
    assert (shown["hidden"], shown["comment"]) == (True, "")
    entries = browser_data.history(session, run, "d1", actor="ann")["entries"]
    assert [(entry["who"], entry["before"]) for entry in entries if entry["item"]] == [("ann", "undecided")]


def test_filter_on_any_field_narrows_the_queue_but_order_and_page_do_not():
    narrowing = {field.name for field in fields(QueueFilter) if replace(QueueFilter(), **{field.name: "x"}).narrowed}
    assert {field.name for field in fields(QueueFilter)} - narrowing == {"sort", "number", "size"}
    assert not QueueFilter(search="  ").narrowed
