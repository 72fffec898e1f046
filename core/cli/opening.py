"""What commands work on: a workspace, or the desk of one project in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core.cli.console import say
from core.errors import StorageFull


@contextmanager
def open_workspace(connections: tuple[str, ...] = ()) -> Iterator[Any]:
    """A workspace with these connections, closed at the end. A disk without room for the project's checkpoint is told,
    and changes nothing else: what was acknowledged is in its log."""
    from core.services.pipeline import parse_pairs
    from core.services.workspace import Workspace

    places = parse_pairs(connections, "--connection")
    workspace = Workspace()
    try:
        for name, url in places.items():
            workspace.use_connection(name, url)
        yield workspace
    finally:
        try:
            workspace.close()
        except StorageFull as full:
            say(f"moot: {full}")


@contextmanager
def open_session(project: Path) -> Iterator[Any]:
    """The desk of a project that is there already."""
    with open_workspace() as workspace:
        yield workspace.open(project, create=False)
