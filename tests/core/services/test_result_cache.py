"""Tests of the cache of computed results: when a result is computed again."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from core.services import guided_path, result_cache
from core.services.result_cache import cached, cached_scores, cached_until_commit
from core.store.project import Project
from core.store.review_queue import Viewpoint
from tests.core.store.helpers import make_documents, record_review, set_gold


@pytest.fixture
def session(tmp_path):
    with Project(tmp_path / "p.duckdb") as project:
        project.store.documents.add(make_documents(2, {"d0": {"ann": {"a": True}}}))
        yield SimpleNamespace(store=project.store, saved_at=lambda: project.saved_at)


def counting(calls):
    """Return a function that returns how often it was called before."""

    def compute():
        calls.append(len(calls))
        return calls[-1]

    return compute


def test_review_invalidates_all_scores_except_those_against_gold(session):
    counters = {"gold": counting([]), "reviewed": counting([]), "all": counting([])}

    @cached_scores
    def scores(_session, reference):
        return counters[reference]()

    @cached_until_commit
    def overview(_session, name):
        return counters[name]()

    def computed():
        return scores(session, "gold"), scores(session, "reviewed"), overview(session, "all")

    assert computed() == computed() == (0, 0, 0)
    record_review(session.store.reviews, "d0", "a", True, False, actor="me")
    assert computed() == (0, 1, 1)
    set_gold(session.store, {"d0": {"ann": {"a": False}}, "d1": {"ann": {"a": True}}})
    assert computed() == (1, 2, 2)
    set_gold(session.store, {"d0": {"ann": {"a": True}}, "d1": {"ann": {"a": False}}})  # the same counts, exchanged
    assert computed() == (2, 3, 3)


def test_concurrent_requests_compute_a_result_once(session):
    started, release, computed = threading.Event(), threading.Event(), []

    def slow():
        started.set()
        release.wait(10)
        computed.append(1)
        return "it"

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cached, session, slow, "slow")
        assert started.wait(10)
        second = pool.submit(cached, session, slow, "slow")
        release.set()
        assert (first.result(10), second.result(10), computed) == ("it", "it", [1])


def test_oldest_results_make_room_for_arrays(session, monkeypatch):
    monkeypatch.setattr(result_cache, "MAX_BYTES", 1000)
    calls = []
    for name in "abab":
        cached(session, lambda: {"arrays": (calls.append(1), np.zeros(50))}, name)
    assert len(calls) == 2
    cached(session, lambda: np.zeros(50), "c")
    cached(session, lambda: calls.append(1), "b")
    assert len(calls) == 2
    cached(session, lambda: calls.append(1), "a")
    assert len(calls) == 3


def test_failed_computation_is_repeated(session):
    with pytest.raises(ZeroDivisionError):
        cached(session, lambda: 1 // 0, "fails")
    assert cached(session, lambda: 2, "fails") == 2


def test_least_recently_used_entry_is_evicted(session, monkeypatch):
    monkeypatch.setattr(result_cache, "MAX_ENTRIES", 2)
    compute = counting([])
    assert [cached(session, compute, name) for name in ("a", "b", "a", "c", "a", "b")] == [0, 1, 0, 2, 0, 3]


def test_entry_is_replaced_if_its_basis_changed(session):
    compute = counting([])
    assert [cached(session, compute, "sum", basis=basis) for basis in (1, 1, 2, 2, 1)] == [0, 0, 1, 1, 2]


def test_call_that_arrives_while_a_later_basis_is_computed_waits_for_it(session):
    started = {basis: threading.Event() for basis in (1, 2)}
    release = {basis: threading.Event() for basis in (1, 2)}
    computed = []

    def slow(basis):
        computed.append(basis)
        started[basis].set()
        assert release[basis].wait(10)
        return basis

    with ThreadPoolExecutor(3) as pool:
        results = [pool.submit(cached, session, lambda: slow(1), "slow", basis=1)]
        assert started[1].wait(10)
        results.append(pool.submit(cached, session, lambda: slow(2), "slow", basis=2))
        time.sleep(0.1)
        release[1].set()
        assert started[2].wait(10)
        results.append(pool.submit(cached, session, lambda: slow(2), "slow", basis=2))
        time.sleep(0.1)
        release[2].set()
        assert [result.result(10) for result in results] == [1, 2, 2]
    assert computed == [1, 2]
    assert cached(session, lambda: 3, "slow", basis=2) == 2


def test_arguments_that_belong_to_one_run_have_their_own_results(session):
    @cached_until_commit
    def actor(_session, view):
        return view.actor

    assert [actor(session, Viewpoint("r0001", name)) for name in ("ann", "bo")] == ["ann", "bo"]


def test_results_of_a_closed_project_are_dropped(workspace, tmp_path):
    path = tmp_path / "closed.duckdb"
    store = workspace.open(path).store
    assert guided_path.overview(workspace.open(path)).steps
    stores, store = len(result_cache._projects), weakref.ref(store)
    workspace.close_project(path)
    gc.collect()
    assert store() is None
    assert len(result_cache._projects) == stores - 1
