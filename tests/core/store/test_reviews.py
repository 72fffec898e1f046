"""Tests of reviews stored as events: current values, undo and redo, history."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.codebook import Codebook, Label
from core.store.project import Project
from core.store.reviews import Decision, Review, ReviewChange
from core.store.rows import load
from core.store.sampling_frames import SamplingRecord
from tests.core.store.helpers import make_documents, make_settings, record_review, set_status, store_debate


@pytest.fixture
def reviews(project):
    project.store.documents.add(make_documents(3))
    return project.store.reviews


def current(reviews, document_id):
    sql = "SELECT item, value, actor, unix_time, codebook_version FROM current_reviews WHERE document_id = ?"
    rows = reviews._connection.rows(sql, [document_id])
    return {item: Review(item, load(value), *rest) for item, value, *rest in rows}


def values(reviews, document_id):
    return {item: review.value for item, review in current(reviews, document_id).items()}


def status(reviews, document_id):
    return reviews._connection.value("SELECT status FROM current_status WHERE document_id = ?", [document_id])


def test_last_decision_on_a_label_counts(reviews):
    event = record_review(reviews, "d0", "a", True, False, actor="me", run_id="r0001", codebook_version=2)
    assert (event.kind, event.document_id, event.item, event.before, event.after) == ("review", "d0", "a", True, False)
    assert (event.actor, event.run_id, event.codebook_version) == ("me", "r0001", 2)
    assert abs(event.at - time.time()) < 60
    record_review(reviews, "d0", "b", None, 4, actor="me")
    record_review(reviews, "d0", "label", None, "abcd", actor="me")
    record_review(reviews, "d0", "a", False, True, actor="you", codebook_version=3)
    assert values(reviews, "d0") == {"a": True, "b": 4, "label": "abcd"}
    review = current(reviews, "d0")["a"]
    assert (review.actor, review.codebook_version) == ("you", 3)
    assert values(reviews, "d1") == {}


def test_repeated_action_returns_all_of_its_events(project, monkeypatch):
    monkeypatch.setattr("core.store.reviews._RECENT_EVENTS", 2)
    decisions = [Decision(f"d{number}", status="Submitted") for number in range(5)]
    events = project.store.reviews.record(decisions, actor="ann", action_id="1")
    assert project.store.reviews.record(decisions, actor="ann", action_id="1") == events
    assert len(project.store.events.all()) == len(events) == 5


def test_decision_can_be_cleared(reviews):
    record_review(reviews, "d0", "a", None, True, actor="me")
    record_review(reviews, "d0", "a", True, None, actor="me")
    assert values(reviews, "d0") == {}
    reviews.undo("me")
    assert values(reviews, "d0") == {"a": True}


def test_statuses_start_pending_and_are_counted(reviews):
    assert status(reviews, "d0") is None
    assert reviews.status_counts() == {"Pending": 3}
    set_status(reviews, "d0", "Draft", actor="me")
    set_status(reviews, "d0", "Submitted", actor="me")
    set_status(reviews, "d0", "Submitted", actor="me")
    set_status(reviews, "d1", "Discarded", actor="me")
    assert status(reviews, "d0") == "Submitted"
    assert reviews.status_counts() == {"Discarded": 1, "Pending": 1, "Submitted": 1}
    assert [(event.before, event.after) for event in reviews.history("d0")] == [
        ("Pending", "Draft"),
        ("Draft", "Submitted"),
    ]


def test_changes_of_one_action_are_undone_and_redone_together(reviews):
    decisions = [
        Decision("d0", (ReviewChange("a", True, False), ReviewChange("b", None, True)), "Submitted"),
        Decision("d1", (ReviewChange("a", False, True),), "Submitted"),
        Decision("d2"),
    ]
    recorded = reviews.record(decisions, actor="me")
    assert len({event.act for event in recorded}) == 1
    assert len(recorded) == 5
    assert reviews.undo("me") == recorded
    assert (values(reviews, "d0"), values(reviews, "d1"), status(reviews, "d0")) == ({}, {}, None)
    assert reviews.redo("me") == recorded
    assert (values(reviews, "d0"), status(reviews, "d1")) == ({"a": False, "b": True}, "Submitted")


def test_selection_of_a_document_is_stored_with_its_status_only(reviews):
    change, selection = ReviewChange("a", True, False), SamplingRecord(probability=0.5, remaining=3, frame=1)
    recorded = reviews.record(
        [Decision("d0", (change,), "Submitted", (ReviewChange("flag", None, True),), selection)],
        actor="me",
        seconds=2.0,
    )
    assert {event.kind: event.payload for event in recorded} == {
        "review": {"seconds": 2.0},
        "mark": {"seconds": 2.0},
        "review_status": {"seconds": 2.0} | asdict(selection),
    }


def test_undo_and_redo_step_through_the_history(reviews):
    for value in (1, 2, 3):
        record_review(reviews, "d0", "a", value - 1, value, actor="me")
    assert [event.after for event in reviews.undo("me")] == [3]
    assert [event.after for event in reviews.undo("me")] == [2]
    assert values(reviews, "d0") == {"a": 1}
    assert [event.after for event in reviews.redo("me")] == [2]
    assert [event.after for event in reviews.redo("me")] == [3]
    assert reviews.redo("me") == []
    for _ in range(3):
        reviews.undo("me")
    assert reviews.undo("me") == []
    assert values(reviews, "d0") == {}


def test_new_decision_clears_the_redo_history(reviews):
    record_review(reviews, "d0", "a", None, 1, actor="me")
    reviews.undo("me")
    record_review(reviews, "d0", "b", None, 2, actor="me")
    assert reviews.redo("me") == []
    assert values(reviews, "d0") == {"b": 2}


def test_undo_affects_only_own_actions(reviews):
    record_review(reviews, "d0", "a", None, 1, actor="me")
    record_review(reviews, "d0", "b", None, 2, actor="you")
    assert [event.item for event in reviews.undo("me")] == ["a"]
    assert reviews.undo("me") == []
    assert values(reviews, "d0") == {"b": 2}


def test_history_keeps_undone_actions(reviews):
    first = record_review(reviews, "d0", "a", None, True, actor="me")
    record_review(reviews, "d1", "a", None, True, actor="me")
    reviews.undo("me")
    reviews.undo("me")
    reviews.redo("me")
    record_review(reviews, "d0", "b", None, False, actor="me")
    history = reviews.history("d0")
    assert [event.kind for event in history] == ["review", "undo", "redo", "review"]
    assert [event.target for event in history] == [None, first.act, first.act, None]
    assert [event.kind for event in reviews.history("d2")] == []


class Model:
    """Reference implementation of undo and redo with two lists of changes."""

    def __init__(self):
        self.done: list[tuple] = []
        self.undone: list[tuple] = []

    def change(self, cell, value):
        self.done.append((cell, value))
        self.undone.clear()

    def undo(self):
        if self.done:
            self.undone.append(self.done.pop())

    def redo(self):
        if self.undone:
            self.done.append(self.undone.pop())

    @property
    def state(self):
        return {cell: value for cell, value in dict(self.done).items() if value is not None}


STEPS = st.lists(
    st.one_of(
        st.just("undo"),
        st.just("redo"),
        st.tuples(st.sampled_from(["d0", "d1"]), st.sampled_from("ab"), st.sampled_from([True, False, None])),
    ),
    max_size=12,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_current_values_agree_with_a_reference_implementation(shared, steps):
    project, numbers = shared
    actor, model = f"p{next(numbers)}", Model()
    for step in steps:
        if step == "undo":
            project.store.reviews.undo(actor)
            model.undo()
        elif step == "redo":
            project.store.reviews.redo(actor)
            model.redo()
        else:
            document_id, item, value = step
            record_review(project.store.reviews, f"{actor}/{document_id}", item, None, value, actor=actor)
            model.change((f"{actor}/{document_id}", item), value)
    stored = {
        (document_id, item): value
        for document_id in (f"{actor}/d0", f"{actor}/d1")
        for item, value in values(project.store.reviews, document_id).items()
    }
    assert stored == model.state


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with Project(tmp_path_factory.mktemp("fold") / "p.duckdb") as project:
        yield project, iter(range(1_000_000))


def test_blind_decisions_are_counted_for_ids_with_special_characters(project, reviews):
    codebook = Codebook(
        labels=tuple(Label(name=f"L{number}", id=id) for number, id in enumerate(('a"b.c', "x/y~z", "*")))
    )
    run_id = project.store.runs.create(make_settings(codebook), ["d0"]).run_id
    values = dict.fromkeys(codebook.items, True)
    asyncio.run(store_debate(project, run_id, "d0", {"judge": None}, values))
    changes = tuple(ReviewChange(item, None, True) for item in codebook.items)
    reviews.record([Decision("d0", changes, marks=(ReviewChange("blind", None, values),))], actor="ann", run_id=run_id)
    reviews.record([Decision("d0", status="Submitted")], actor="ann", run_id=run_id)
    result = project.store.agreement.anchoring(run_id)
    assert (result.blind.tolist(), result.blind_agreed.tolist(), result.changed.tolist()) == ([3], [3], [0])
