"""A project with some documents on a desk, for the tests of the rooms."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from core.codebook import Codebook, Label
from core.documents import Document
from core.runs import RunRow
from core.studio.desk import Desk
from core.studio.running import runs
from core.studio.workspace import Workspace

BOOK = Codebook(
    name="Hotel",
    unit="hotel review",
    labels=(
        Label(name="Cleanliness", keywords=("clean", "dirty")),
        Label(name="Service", keywords=("staff", "friendly")),
    ),
)
TEXTS = ("The room was clean.", "Friendly staff, dirty bath.", "We slept.", "Staff of the year.")


def fill(desk: Desk, *, documents: int = 4, book: Codebook = BOOK) -> None:
    """Put documents and a codebook into a project."""
    made = [Document(f"d{number}", {"text": TEXTS[number % len(TEXTS)]}) for number in range(documents)]
    desk.store.documents.add(made, file_name="reviews.csv")
    desk.store.codebooks.save(book)


@contextmanager
def studio(folder: Path, *, documents: int = 4) -> Iterator[tuple[Workspace, Desk]]:
    """A workspace with one filled project, closed for certain."""
    workspace = Workspace()
    try:
        desk = workspace.open(folder / "hotel.duckdb")
        fill(desk, documents=documents)
        yield workspace, desk
    finally:
        workspace.close()


def make(desk: Desk, plan: runs.Plan | None = None) -> list[RunRow]:
    """The runs of a plan, queued but not started."""
    wanted = plan or runs.Plan()
    version = desk.store.codebooks.latest()
    assert version is not None
    settings = runs.settle(wanted, version.codebook, version.version, desk.models)
    return runs.create(desk, settings, desk.store.documents.ids()[: wanted.limit], iterations=wanted.iterations)


def until(true: Callable[[], bool], seconds: float = 15.0) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)
