"""Test of a run on a local Ray cluster of two nodes: a killed worker neither loses nor repeats a reply.

pip install -e ".[test,ray]" && python -m pytest -m cluster tests/cluster
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.engine.ray_worker import DebateWorker
from tests.core.cli.invoking import annotate, rows, write
from tests.servers.running import mock_llm, stats

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("default")]
DOCUMENTS = 100
TITLE = f"MapWorker(MapBatches({DebateWorker.__name__}))".encode()


@pytest.fixture
def cluster() -> Iterator[str]:
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    yield str(cluster.address)
    cluster.shutdown()


def worker_processes() -> list[int]:
    """Return the ids of the worker processes that run debates. Ray names them after their class."""
    addresses = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and TITLE in (entry / "cmdline").read_bytes():
                addresses.append(int(entry.name))
    return addresses


def test_killed_worker_loses_and_repeats_no_reply(tmp_path: Path, cluster: str) -> None:
    write(tmp_path, *(f"Text {index}: the staff were friendly." for index in range(DOCUMENTS)))
    killed: list[int] = []

    def kill_one(url: str) -> None:
        while stats(url)["ok"] < DOCUMENTS:  # a third of all calls
            time.sleep(0.05)
        victim = worker_processes()[0]
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)

    with mock_llm(slots=8, ttft=0.1, tpt=0.01, tokens=10) as url:
        killer = threading.Thread(target=kill_one, args=(url,), daemon=True)
        killer.start()
        result = annotate(
            tmp_path,
            "--connection",
            f"m={url}/v1",
            "--model",
            "m/mock",
            "--engine",
            "ray",
            "--concurrency",
            8,
            "--param",
            f"ray_address={cluster}",
            "--param",
            "ray_workers=2",
        ).json
        killer.join(5)
        counts = stats(url)
    assert killed, "no worker was killed during the run"
    assert (result["status"], result["verdicts"], result["documents"]) == ("done", DOCUMENTS, DOCUMENTS)
    assert result["calls"] == 3 * DOCUMENTS
    assert rows(tmp_path, "SELECT count(*), count(DISTINCT document_id) FROM verdicts") == [(DOCUMENTS, DOCUMENTS)]
    assert counts["repeats"] <= 8, "more calls were repeated than the worker had in flight"
    again = annotate(tmp_path, "--connection", f"m={url}/v1", "--model", "m/mock", "--resume", "r0001").json
    assert again["calls"] == 3 * DOCUMENTS


def test_cost_of_a_run_includes_failed_attempts_of_its_workers(tmp_path: Path, cluster: str) -> None:
    write(tmp_path, *(f"Text {index}: the staff were friendly." for index in range(20)))
    with mock_llm(slots=8, ttft=0, tpt=0.001, tokens=10, p_drop=0.2) as url:
        result = annotate(
            tmp_path,
            "--connection",
            f"m={url}/v1",
            "--model",
            "m/mock",
            "--price",
            "m/mock=1/1",
            "--engine",
            "ray",
            "--param",
            f"ray_address={cluster}",
            "--param",
            "ray_workers=2",
            code=None,
        ).json
    ((attempts, lost),) = rows(tmp_path, "SELECT count(*), sum(cost_usd) FROM attempts")
    ((paid,),) = rows(tmp_path, "SELECT sum(cost_usd) FROM replies WHERE run_id = 'r0001'")
    assert attempts > 0
    assert lost > 0
    assert result["cost_usd"] == pytest.approx(paid + lost)
