from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.store.project import Project


@pytest.fixture
def path(tmp_path):
    return tmp_path / "project.duckdb"


@pytest.fixture
def project(path) -> Iterator[Project]:
    with Project(path) as opened:
        yield opened
