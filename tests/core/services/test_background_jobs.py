"""Tests of work in the background: the prefetcher runs the latest function and logs errors that no page shows."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future

import pytest

from core.errors import ProjectError, WorkStopped
from core.services.background_jobs import Job, Prefetcher, in_thread


def test_job_of_the_engine_is_stopped_and_says_so() -> None:
    job: Job[None] = Job(lambda _: Future(), "Waiting")
    assert job.can_stop
    job.stop()
    assert not job.can_stop
    with pytest.raises(WorkStopped):
        job.result()


def test_job_in_a_thread_goes_on_to_its_end() -> None:
    release = threading.Event()
    job = Job(lambda _: in_thread(lambda: release.wait(10), "test"), "Waiting")
    assert not job.can_stop
    job.stop()
    release.set()
    assert job.result()


def test_only_the_latest_waiting_task_runs() -> None:
    prefetcher, started, release, done = Prefetcher(), threading.Event(), threading.Event(), []
    prefetcher.submit_latest(lambda: (started.set(), release.wait(10), done.append("under way")))
    assert started.wait(10)
    prefetcher.submit_latest(lambda: done.append("replaced"))
    last = threading.Event()
    prefetcher.submit_latest(lambda: (done.append("latest"), last.set()))
    release.set()
    assert last.wait(10)
    prefetcher.close()
    assert done == ["under way", "latest"]


def test_closing_waits_for_the_active_task_and_drops_the_rest() -> None:
    prefetcher, started, release, done = Prefetcher(), threading.Event(), threading.Event(), []
    prefetcher.submit_latest(lambda: (started.set(), release.wait(10), done.append("under way")))
    assert started.wait(10)
    prefetcher.submit_latest(lambda: done.append("waited"))
    threading.Timer(0.05, release.set).start()
    prefetcher.close()
    assert done == ["under way"]
    prefetcher.submit_latest(lambda: done.append("too late"))
    prefetcher.close()
    assert done == ["under way"]


def test_failed_task_is_logged_and_later_tasks_run(caplog):
    prefetcher = Prefetcher()
    with caplog.at_level(logging.ERROR):
        prefetcher.submit_latest(lambda: 1 / 0)
        prefetcher.close()
    assert "prefetching failed" in caplog.text


def test_error_that_the_page_shows_is_not_logged(caplog):
    def read():
        raise ProjectError("p.duckdb is closed.", "Open the project again.")

    prefetcher = Prefetcher()
    with caplog.at_level(logging.DEBUG):
        prefetcher.submit_latest(read)
        prefetcher.close()
    assert caplog.text == ""
