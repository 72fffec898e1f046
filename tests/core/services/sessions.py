"""Helpers for tests of services: a session of a project with documents and a codebook."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from core.codebook import Codebook, Label
from core.documents import Document, Value
from core.runs import EngineSettings, RoleModel, RunRow
from core.services.project_session import ProjectSession
from core.services.review import actions
from core.services.runs import planning
from core.services.workspace import Workspace
from tests.servers.running import stats

BOOK = Codebook(
    name="Hotel",
    unit="hotel review",
    labels=(
        Label(name="Cleanliness", keywords=("clean", "dirty")),
        Label(name="Service", keywords=("staff", "friendly")),
    ),
)
TEXTS = ("The room was clean.", "Friendly staff, dirty bath.", "We slept.", "Staff of the year.")


def fill(session: ProjectSession, *, documents: int = 4, book: Codebook = BOOK) -> None:
    """Add documents and a codebook to a project."""
    added = [Document(f"d{number}", {"text": TEXTS[number % len(TEXTS)]}) for number in range(documents)]
    session.store.documents.add(added, file_name="reviews.csv")
    session.store.codebooks.save(book)


@contextmanager
def studio(folder: Path, *, documents: int = 4) -> Iterator[tuple[Workspace, ProjectSession]]:
    """Yield a workspace with one filled project and close it afterwards."""
    workspace = Workspace()
    try:
        session = workspace.open(folder / "hotel.duckdb")
        fill(session, documents=documents)
        yield workspace, session
    finally:
        workspace.close()


def copy_project(source: Path, target: Path) -> None:
    """Copy a closed project with its time of change, by which ``tests/conftest.py`` knows it."""
    for suffix in ("", ".replies"):
        if (path := source.with_name(source.name + suffix)).exists():
            shutil.copy2(path, target.with_name(target.name + suffix))


def queue_runs(session: ProjectSession, plan: planning.Plan | None = None) -> list[RunRow]:
    """Create the runs of a plan without starting them."""
    plan = plan or planning.Plan()
    version = session.store.codebooks.latest()
    assert version is not None
    settings = planning.build_settings(plan, version.codebook, version.number, session.models)
    return planning.create_runs(
        session, settings, session.store.documents.ids()[: plan.limit], iterations=plan.iterations
    )


def pause_with_open_batch(session: ProjectSession, server: str) -> RunRow:
    """Run the documents as a batch at the connection ``mine``, and return the run, paused while the server holds it."""
    model = RoleModel(connection="mine", model="m")
    plan = planning.Plan(protocol="single", default_model=model, engine=EngineSettings(name="batch"))
    (run,) = queue_runs(session, plan)
    future = session.start_or_resume(run.run_id)
    until(lambda: stats(server)["statuses"] == ["in_progress"])
    session.pause(run.run_id)
    future.result(30)
    return run


def annotate(session: ProjectSession, protocol: str = "single") -> RunRow:
    """Run a protocol with the built-in model and the latest codebook on all documents, and return the finished run."""
    (run,) = queue_runs(session, planning.Plan(protocol=protocol))
    session.start_or_resume(run.run_id).result(60)
    return session.run(run.run_id)


def decide(
    session: ProjectSession,
    run_id: str,
    decisions: Mapping[str, Mapping[str, Value]],
    by: actions.Attribution = actions.DEFAULT_REVIEWER,
) -> None:
    """Set all values and submit the documents, with one action per value, which is faster than one per document."""
    documents_by_value: dict[tuple[str, Value], list[str]] = {}
    for document_id, values in decisions.items():
        for item, value in values.items():
            documents_by_value.setdefault((item, value), []).append(document_id)
    for (item, value), documents in documents_by_value.items():
        actions.edit(session, run_id, documents, item, value, by)
    actions.submit(session, run_id, list(decisions), by)


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until the condition is true; fail after this many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"the condition was not true after {seconds} s"
        time.sleep(0.02)
