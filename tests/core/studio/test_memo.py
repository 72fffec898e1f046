"""What was worked out lately: made again when what it rests upon has changed, and only then."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from core.store.project import Project
from core.studio import memo
from core.studio.memo import kept, measured, remembered
from tests.core.store.helpers import make_documents


@pytest.fixture
def desk(tmp_path):
    with Project.open(tmp_path / "p.duckdb") as project:
        project.store.documents.add(make_documents(2, {"d0": {"ann": {"a": True}}}))
        yield SimpleNamespace(store=project.store, saved_at=lambda: project.saved_at)


def counted(made):
    def make():
        made.append(len(made))
        return made[-1]

    return make


def test_a_decision_leaves_what_is_scored_against_gold_and_nothing_else(desk):
    gold, reviewed, all_ = counted([]), counted([]), counted([])

    def looks():
        return (
            measured(desk, "gold", gold, "x"),
            measured(desk, "reviewed", reviewed, "x"),
            remembered(desk, all_, "x", "all"),
        )

    assert looks() == looks() == (0, 0, 0)
    desk.store.reviews.record_review("d0", "a", True, False, actor="me")
    assert looks() == (0, 1, 1)
    desk.store.documents.replace_gold({"d0": {"ann": {"a": False}}})
    assert looks() == (1, 2, 2)


def test_what_was_looked_at_longest_ago_is_forgotten(desk, monkeypatch):
    monkeypatch.setattr(memo, "KEPT", 2)
    make = counted([])
    assert [kept(desk, make, name) for name in ("a", "b", "a", "c", "a", "b")] == [0, 1, 0, 2, 0, 3]
