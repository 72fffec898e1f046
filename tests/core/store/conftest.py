from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.store import connection
from core.store.project import Project


@pytest.fixture(autouse=True)
def _applied_schema(_copied_projects, monkeypatch):
    """Create projects as Moot does."""
    monkeypatch.setattr(connection, "_connect", _copied_projects)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "project.duckdb"


@pytest.fixture
def project(path) -> Iterator[Project]:
    with Project.open(path) as opened:
        yield opened
