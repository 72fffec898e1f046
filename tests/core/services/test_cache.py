"""The cache of computed results: recomputed only if their basis has changed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from core.services import cache
from core.services.cache import cached, cached_scores, cached_until_commit
from core.store.project import Project
from tests.core.store.helpers import make_documents


@pytest.fixture
def session(tmp_path):
    with Project.open(tmp_path / "p.duckdb") as project:
        project.store.documents.add(make_documents(2, {"d0": {"ann": {"a": True}}}))
        yield SimpleNamespace(store=project.store, saved_at=lambda: project.saved_at)


def counted(made):
    def make():
        made.append(len(made))
        return made[-1]

    return make


def test_review_invalidates_all_scores_except_those_against_gold(session):
    made = {"gold": counted([]), "reviewed": counted([]), "all": counted([])}

    @cached_scores
    def scores(_session, reference):
        return made[reference]()

    @cached_until_commit
    def whole(_session, name):
        return made[name]()

    def looks():
        return scores(session, "gold"), scores(session, "reviewed"), whole(session, "all")

    assert looks() == looks() == (0, 0, 0)
    session.store.reviews.record_review("d0", "a", True, False, actor="me")
    assert looks() == (0, 1, 1)
    session.store.documents.replace_gold({"d0": {"ann": {"a": False}}, "d1": {"ann": {"a": True}}})
    assert looks() == (1, 2, 2)
    session.store.documents.replace_gold({"d0": {"ann": {"a": True}}, "d1": {"ann": {"a": False}}})  # exchanged
    assert looks() == (2, 3, 3)


def test_concurrent_requests_compute_a_result_once(session):
    begun, gate, made = threading.Event(), threading.Event(), []

    def slow():
        begun.set()
        gate.wait(10)
        made.append(1)
        return "it"

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cached, session, slow, "slow")
        assert begun.wait(10)
        second = pool.submit(cached, session, slow, "slow")
        gate.set()
        assert (first.result(10), second.result(10), made) == ("it", "it", [1])


def test_failed_computation_is_repeated(session):
    with pytest.raises(ZeroDivisionError):
        cached(session, lambda: 1 // 0, "fails")
    assert cached(session, lambda: 2, "fails") == 2


def test_least_recently_used_entry_is_evicted(session, monkeypatch):
    monkeypatch.setattr(cache, "MAX_ENTRIES", 2)
    make = counted([])
    assert [cached(session, make, name) for name in ("a", "b", "a", "c", "a", "b")] == [0, 1, 0, 2, 0, 3]


def test_entry_is_replaced_if_its_basis_changed(session):
    make = counted([])
    assert [cached(session, make, "sum", basis=basis) for basis in (1, 1, 2, 2, 1)] == [0, 0, 1, 1, 2]
