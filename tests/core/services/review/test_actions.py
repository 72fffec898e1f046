from __future__ import annotations

import asyncio
import re

import pytest

from core.codebook import Codebook, Label
from core.errors import UsageError
from core.runs import NOT_STOPPED
from core.services.codebooks import codebook as codebooks
from core.services.evaluation import annotation_arrays
from core.services.review import actions, browser_data, queue
from core.services.review.queue import QueueFilter
from core.store.project import Project
from core.store.runs import set_state
from tests.core.services import sample_world
from tests.core.services.sessions import BOOK, annotate, decide, studio
from tests.core.store.helpers import store_debate


def rows(session, run, **wanted):
    return {row.document_id: row for row in queue.review_page(session, run, QueueFilter(**wanted)).rows}


def test_row_shows_values_of_every_annotator(session, run):
    result = rows(session, run)
    d1 = result["d1"]
    assert d1.values == {"a": False, "b": True}
    assert d1.gold == {"a": True, "b": True}
    assert d1.wrong == {"a"}
    assert d1.roles == {"extractor": {"a": True, "b": True}, "critic": {"a": False, "b": True}, "judge": None}
    assert d1.disputed == {"a"}
    assert (d1.supported, d1.quotes) == (1, 2)
    assert (d1.edited, d1.review_status) == (frozenset(), "Pending")
    assert d1.reasons == ("gold", "flipped", "unsupported", "disagree")
    assert d1.reasons[0] == "gold"


def test_item_that_a_role_leaves_open_is_not_disputed(project, session, run):
    lists = {"extractor": {"a": None, "b": True}, "critic": {"a": True, "b": False}}
    asyncio.run(store_debate(project, run.run_id, "d7", lists, {"a": True, "b": True}))
    assert rows(session, run)["d7"].disputed == {"b"}


def test_unreadable_label_has_no_value(session, run):
    result = rows(session, run)
    assert result["d4"].values == {"a": None, "b": False}
    assert result["d4"].wrong == frozenset()  # neither right nor wrong
    assert result["d4"].reasons[0] == "unresolved"
    assert result["d6"].reasons[0] == "failed"
    assert result["d7"].values == {"a": None, "b": None}


def test_filters_search_and_order(session, run):
    assert list(rows(session, run, reason="unresolved")) == ["d4"]
    assert list(rows(session, run, label="a")) == ["d0", "d2", "d5"]
    assert list(rows(session, run, search="NUMBER 3")) == ["d3"]
    assert list(rows(session, run, status="Draft")) == []
    actions.edit(session, run.run_id, ["d3"], "a", True)
    assert list(rows(session, run, status="Draft")) == ["d3"]
    assert next(iter(rows(session, run, sort="reviewed"))) == "d3"
    assert queue.open_count(session, run) == 8


def test_pages(session, run):
    page = queue.review_page(session, run, QueueFilter(size=3, number=3))
    assert [row.document_id for row in page.rows] == ["d6", "d7"]
    assert (page.total, page.number, page.pages) == (8, 3, 3)
    beyond = queue.review_page(session, run, QueueFilter(size=3, number=9))
    assert (beyond.number, [row.document_id for row in beyond.rows]) == (3, ["d6", "d7"])
    nothing = queue.review_page(session, run, QueueFilter(search="no such words", number=4))
    assert (nothing.rows, nothing.total, nothing.number, nothing.pages) == ((), 0, 1, 1)


def test_edit_is_stored_before_it_is_returned(tmp_path):
    path = tmp_path / "kept.duckdb"
    with Project(path) as project:
        run_id = sample_world.build(project)
        saved = actions.edit(sample_world.session_on(project), run_id, ["d1"], "a", True, actions.Attribution("ann"))
    assert re.fullmatch(r"Saved \d\d:\d\d:\d\d", saved.words)
    assert saved.documents == ("d1",)
    with Project(path) as project:
        session = sample_world.session_on(project)
        row = queue.review_rows(session, session.store.runs.get(run_id), ["d1"])[0]
    assert row.values == {"a": True, "b": True}
    assert (row.edited, row.wrong, row.review_status) == ({"a"}, frozenset(), "Draft")


def test_confirming_the_verdict_is_not_an_edit(session, run):
    actions.edit(session, run.run_id, ["d1"], "a", True)
    actions.edit(session, run.run_id, ["d1"], "a", False)
    row = queue.review_rows(session, run, ["d1"])[0]
    assert (row.values["a"], row.edited) == (False, frozenset())


def test_undo_and_redo(session, run):
    assert actions.undo(session) is None
    actions.edit(session, run.run_id, ["d1"], "a", True)
    actions.edit(session, run.run_id, ["d0"], "b", True)
    actions.undo(session)
    assert queue.review_rows(session, run, ["d0"])[0].values["b"] is False
    assert queue.review_rows(session, run, ["d1"])[0].values["a"] is True
    undone = actions.undo(session)
    assert (undone.documents, undone.words) == (("d1",), f"Undone: document d1 of Run {run.run_id}")
    row = queue.review_rows(session, run, ["d1"])[0]
    assert (row.values["a"], row.review_status) == (False, "Pending")  # value and status were one act
    actions.redo(session)
    assert actions.redo(session).words == f"Redone: document d0 of Run {run.run_id}"
    assert queue.review_rows(session, run, ["d0"])[0].values["b"] is True
    assert actions.redo(session) is None
    actions.set_status(session, run.run_id, ["d0", "d1"], "Discarded")
    assert actions.undo(session).words == f"Undone: 2 documents of Run {run.run_id}"
    assert actions.redo(session, shown_run="another run").words == f"Redone: 2 documents of Run {run.run_id}"
    assert actions.undo(session, shown_run=run.run_id).words == "Undone: 2 documents"


def test_undo_keeps_changes_of_other_people(session, run):
    actions.edit(session, run.run_id, ["d1"], "a", True, actions.Attribution("ann"))
    actions.edit(session, run.run_id, ["d2"], "a", False, actions.Attribution("bob"))
    actions.undo(session, actions.Attribution("ann"))
    assert queue.review_rows(session, run, ["d1"])[0].values["a"] is False
    assert queue.review_rows(session, run, ["d2"])[0].values["a"] is False


def test_bulk_edit_is_one_action(session, run):
    actions.edit(session, run.run_id, ["d0", "d3", "d7"], "b", True)
    assert [row.values["b"] for row in rows(session, run).values()].count(True) == 6
    actions.undo(session)
    assert [row.values["b"] for row in rows(session, run).values()].count(True) == 3


def test_submitting_confirms_unchanged_labels(session, run):
    actions.edit(session, run.run_id, ["d0"], "b", True, actions.Attribution("ann"))
    actions.submit(session, run.run_id, ["d0"], actions.Attribution("ann"))
    row = queue.review_rows(session, run, ["d0"])[0]
    assert (row.review_status, row.edited) == ("Submitted", {"b"})
    settled = session.project._connection.rows("SELECT item, value, actor FROM reviewed_labels")
    assert set(settled) == {("a", "true", "ann"), ("b", "true", "ann")}
    assert queue.open_count(session, run) == 7


def test_document_with_undecided_labels_is_not_submitted(session, run):
    with pytest.raises(UsageError, match="d4 has no value yet for Alpha"):
        actions.submit(session, run.run_id, ["d0", "d4"])
    assert queue.review_rows(session, run, ["d0"])[0].review_status == "Pending"
    actions.edit(session, run.run_id, ["d4"], "a", True)
    actions.submit(session, run.run_id, ["d0", "d4"])
    assert queue.review_rows(session, run, ["d4"])[0].review_status == "Submitted"


def test_values_of_another_kind_are_open_and_not_confirmed(tmp_path):
    first, second = BOOK.items
    with studio(tmp_path, documents=1) as (_, session):
        decide(session, annotate(session).run_id, {"d0": {first: True, second: False}})
        codebooks.save(session, codebooks.change(BOOK, kind="rating"))
        run = annotate(session)
        record = actions.load_record(session, run, "d0")
        assert (dict(record.reviews), record.value(first)) == ({}, record.values[first])
        assert record.people[actions.default_reviewer()].values == {first: None, second: None}
        assert browser_data.document_view(session, [run], "d0", actor=actions.default_reviewer())["reference"] == {}
        actions.submit(session, run.run_id, ["d0"])
        assert {review.value for review in actions.load_record(session, run, "d0").reviews.values()} == {3, 1}


def test_deleted_label_of_a_choice_is_not_confirmed(tmp_path):
    choice = codebooks.change(BOOK, kind="choice")
    kept, deleted = (label.id for label in choice.labels)
    with studio(tmp_path, documents=3) as (_, session):
        codebooks.save(session, choice)
        decide(session, annotate(session).run_id, {"d0": {"label": deleted}, "d2": {"label": deleted}})
        codebooks.save(session, codebooks.delete_label(choice, deleted))
        run = annotate(session)
        actions.submit(session, run.run_id, ["d0"])
        assert actions.load_record(session, run, "d0").reviews["label"].value == kept
        with pytest.raises(UsageError, match="no value yet"):
            actions.submit(session, run.run_id, ["d2"])


def test_discarding_and_reopening(session, run):
    actions.set_status(session, run.run_id, ["d0", "d1"], "Discarded")
    assert queue.open_count(session, run) == 6
    actions.set_status(session, run.run_id, ["d0"], "Draft")
    assert queue.review_rows(session, run, ["d0"])[0].review_status == "Draft"


def test_history_names_person_and_change(session, run):
    actions.edit(session, run.run_id, ["d1"], "a", True, actions.Attribution("ann"))
    actions.submit(session, run.run_id, ["d1"], actions.Attribution("bob"))
    actions.undo(session, actions.Attribution("bob"))
    entries = actions.history(session, run, "d1")
    told = [(entry.who, entry.item, entry.before, entry.after, entry.undone) for entry in entries]
    assert told == [
        ("bob", "", "Pending", "Submitted", True),
        ("bob", "Beta", "present", "present", True),
        ("bob", "Alpha", "absent", "absent", True),
        ("ann", "", "Pending", "Draft", False),
        ("ann", "Alpha", "absent", "present", False),
    ]


def test_history_names_labels_that_the_run_lacks(session, run):
    old = Codebook(kind="choice", labels=(Label(id="x1", name="Gone"), Label(id="x2", name="Kept")))
    session.store.codebooks.save(old)
    earlier = session.store.runs.create(run.settings.model_copy(update={"codebook": old}), ["d1"])
    actions.edit(session, earlier.run_id, ["d1"], "label", "x1")
    (_, decision) = actions.history(session, run, "d1")
    assert decision.after == "Gone"


def test_refuses_values_that_an_item_cannot_have(session, run):
    with pytest.raises(UsageError, match="Alpha cannot have the value 3"):
        actions.edit(session, run.run_id, ["d0"], "a", 3)
    with pytest.raises(UsageError, match="does not have the item 'zz'"):
        actions.edit(session, run.run_id, ["d0"], "zz", True)
    with pytest.raises(UsageError, match="Run 'r9' does not exist"):
        actions.edit(session, "r9", ["d0"], "a", True)


@pytest.mark.parametrize(
    "action",
    [
        lambda session, run_id, id: actions.edit(session, run_id, ["d0", id], "a", True),
        lambda session, run_id, id: actions.submit(session, run_id, [id]),
        lambda session, run_id, id: actions.set_status(session, run_id, [id], "Discarded"),
        lambda session, run_id, id: actions.mark(session, run_id, id, "flag", True),
    ],
    ids=["edit", "submit", "status", "mark"],
)
def test_action_on_a_document_that_was_replaced_is_refused(session, run, action):
    with pytest.raises(UsageError, match="The project no longer contains gone"):
        action(session, run.run_id, "gone")
    assert session.store.events.all(kinds=["review", "review_status", "mark"]) == []


def test_finished_runs_come_first(session, run):
    session.store.runs.create(run.settings, ["d0"])
    session.store.runs._writer.do(set_state(run.run_id, "done", NOT_STOPPED, 1.0))
    assert [row.run_id for row in annotation_arrays.ranked_runs(session)] == [run.run_id, "r0002"]
