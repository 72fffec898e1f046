from __future__ import annotations

import pytest

from core.store.project import Project
from tests.core.studio import rooms_world


@pytest.fixture
def project(tmp_path):
    with Project.open(tmp_path / "small.duckdb") as project:
        yield project


@pytest.fixture
def run_id(project):
    return rooms_world.build(project)


@pytest.fixture
def desk(project, run_id):
    return rooms_world.desk_on(project)


@pytest.fixture
def run(desk, run_id):
    return desk.store.runs.get(run_id)
