"""What is worked out ahead: one thing at a time, of what waits only the latest, nothing after the end."""

from __future__ import annotations

import logging
import threading

from core.services.prefetch import Prefetcher


def test_only_the_latest_waiting_task_runs():
    ahead, begun, gate, done = Prefetcher(), threading.Event(), threading.Event(), []
    ahead.submit_latest(lambda: (begun.set(), gate.wait(10), done.append("under way")))
    assert begun.wait(10)
    ahead.submit_latest(lambda: done.append("overtaken"))
    last = threading.Event()
    ahead.submit_latest(lambda: (done.append("latest"), last.set()))
    gate.set()
    assert last.wait(10)
    ahead.close()
    assert done == ["under way", "latest"]


def test_closing_waits_for_the_active_task_and_drops_the_rest():
    ahead, begun, gate, done = Prefetcher(), threading.Event(), threading.Event(), []
    ahead.submit_latest(lambda: (begun.set(), gate.wait(10), done.append("under way")))
    assert begun.wait(10)
    ahead.submit_latest(lambda: done.append("waited"))
    threading.Timer(0.05, gate.set).start()
    ahead.close()
    assert done == ["under way"]
    ahead.submit_latest(lambda: done.append("too late"))
    ahead.close()
    assert done == ["under way"]


def test_failed_task_is_logged_and_later_tasks_run(caplog):
    ahead = Prefetcher()
    with caplog.at_level(logging.ERROR):
        ahead.submit_latest(lambda: 1 / 0)
        ahead.close()
    assert "prefetching failed" in caplog.text
