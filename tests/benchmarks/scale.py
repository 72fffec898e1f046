"""Measure a project of 100,000 documents: import, opening, remaining work, memory, and scores of a million annotations.

python -m tests.benchmarks.scale [--documents 100000] [--run-seconds 20]
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from core.codebook import Codebook, Label
from core.ingest.mapping import ColumnMapping
from core.llm.connections import parse_connection
from core.runs import RoleModel
from core.services import import_with_runs
from core.services.data.importing import ImportOptions, preview_file
from core.services.evaluation.evaluation import evaluate as evaluate_run
from core.services.runs import planning
from core.services.workspace import Workspace
from core.store.project import Project
from core.store.rows import insert
from tests.core.services.sample_world import session_on
from tests.servers.running import mock_llm

LABELS = ("Service", "Cleanliness", "Location", "Rooms", "Food", "Value", "Noise", "Facilities")
SAMPLE = 20_000
"""Documents per call of scikit-learn."""


@contextmanager
def timed(what: str, target: float | None = None) -> Iterator[None]:
    """Print the seconds of a block, and its bound."""
    began = time.monotonic()
    yield
    goal = f" (at most {target:g})" if target else ""
    print(f"{what}: {time.monotonic() - began:.2f} s{goal}", flush=True)


def resident() -> float:
    """Return the memory of this process in megabytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


class Peak(threading.Thread):
    """Thread that records the highest memory of this process."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0.0
        self._over = threading.Event()

    def run(self) -> None:
        """Measure four times per second."""
        while not self._over.wait(0.25):
            self.most = max(self.most, resident())

    def stop(self) -> float:
        """Return the highest memory in megabytes."""
        self._over.set()
        self.join()
        return self.most


def write_texts(path: Path, count: int) -> None:
    """Write a CSV file of reviews with gold."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", *LABELS])
        for number in range(count):
            text = f"Review {number}: the staff were kind and the room was clean, but the street is loud at night. " * 3
            writer.writerow([f"doc-{number}", text, *(number >> bit & 1 for bit in range(len(LABELS)))])


def import_texts(folder: Path, count: int) -> None:
    """Import the file and create a run, as ``moot annotate`` does."""
    write_texts(folder / "texts.csv", count)
    codebook = Codebook(unit="review", labels=tuple(Label(name=name) for name in LABELS))
    workspace = Workspace()
    source = ImportOptions((folder / "texts.csv",), ColumnMapping("text", id="id"), gold_same_names=True)
    with timed(f"import of {count:,} documents", 15):
        session = workspace.open(folder / "scale.duckdb")
        preview = preview_file(source, codebook, session)
        workspace.models.add(parse_connection("mock", "http://127.0.0.1:1/v1"))
        plan = planning.Plan(default_model=RoleModel(connection="mock", model="mock"), concurrency=64)
        import_with_runs.create_runs(session, preview, codebook, plan)
    workspace.close()


def run_a_while(folder: Path, url: str, seconds: float) -> None:
    """Open the project, run for some seconds, and pause."""
    workspace = Workspace()
    with timed("open the project", 2):
        session = workspace.open(folder / "scale.duckdb")
    workspace.models.add(parse_connection("mock", f"{url}/v1"))
    with timed("list the remaining documents", 2):
        session.store.runs.work("r0001")
    settings = session.store.runs.get("r0001")
    assert settings is not None
    role_model = RoleModel(connection="mock", model="mock", base_url=f"{url}/v1")
    moved = settings.settings.model_copy(
        update={"role_models": dict.fromkeys(settings.settings.role_models, role_model)}
    )
    with timed("create another run of all documents"):
        run_id = session.store.runs.create(moved, session.store.documents.ids()).run_id
    peak = Peak()
    peak.start()
    active = session.start_or_resume(run_id)
    time.sleep(seconds)
    session.pause(run_id)
    status = active.result()
    print(f"memory while running: {peak.stop():.0f} MB (at most 1000); {status.verdicts:,} verdicts in {seconds:g} s")
    with timed("list its remaining documents", 2):
        session.store.runs.work(run_id)
    with timed("close"):
        workspace.close()


def evaluate(folder: Path, count: int) -> None:
    """Score a million values of verdicts against gold, and check the counts with scikit-learn."""
    chance = np.random.default_rng(1)
    with Project(folder / "scale.duckdb") as project:
        run = project.store.runs.get("r0001")
        assert run is not None
        items = run.settings.codebook.items
        ids = project.store.documents.ids()
        values = chance.random((count, len(items))) < 0.3
        writer = project.store.runs._writer
        rows = [
            ("r0001", ids[row], "verdict", None, item, "true" if values[row, column] else "false", "")
            for row in range(count)
            for column, item in enumerate(items)
        ]
        columns = ("run_id", "document_id", "annotator", "turn", "item", "value", "reason")
        writer.do(lambda cursor: insert(cursor, "annotations", columns, rows))
        verdicts = [("r0001", id, "verdict", "{}", "{}", 0.0) for id in ids]
        columns = ("run_id", "document_id", "status", "verdict", "says", "unix_time")
        writer.do(lambda cursor: insert(cursor, "verdicts", columns, verdicts))
        session = session_on(project)
        project.store.annotations.grid("r0001", run.settings.codebook, "gold")  # the first call reads the file
        with timed(f"score {count * len(items):,} annotations against gold", 1):
            scores = evaluate_run(session, run).scores
        check(dict(zip(items, scores.counts.values(), strict=True)), items, values, count)


def check(counts: object, items: tuple[str, ...], values: np.ndarray, count: int) -> None:
    """Compare the counts with those of scikit-learn."""
    from sklearn.metrics import multilabel_confusion_matrix

    reference = np.array([[number >> bit & 1 for bit in range(len(items))] for number in range(count)], dtype=bool)
    matrix = sum(
        multilabel_confusion_matrix(reference[start : start + SAMPLE], values[start : start + SAMPLE])
        for start in range(0, count, SAMPLE)
    )
    for index, item in enumerate(items):
        (tn, fp), (fn, tp) = matrix[index]
        total = counts[item]  # type: ignore[index]
        assert (total.tp, total.fp, total.fn, total.tn) == (tp, fp, fn, tn), item
    print("equal to scikit-learn's")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--run-seconds", type=float, default=20.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, mock_llm(slots=64, ttft=0.05, tpt=0.005, tokens=20) as url:
        folder = Path(name)
        import_texts(folder, options.documents)
        run_a_while(folder, url, options.run_seconds)
        evaluate(folder, options.documents)


if __name__ == "__main__":
    main()
