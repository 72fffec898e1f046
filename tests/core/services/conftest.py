from __future__ import annotations

import pytest

from core.store.project import Project
from tests.core.services import sample_world


@pytest.fixture
def project(tmp_path):
    with Project.open(tmp_path / "small.duckdb") as project:
        yield project


@pytest.fixture
def run_id(project):
    return sample_world.build(project)


@pytest.fixture
def session(project, run_id):
    return sample_world.session_on(project)


@pytest.fixture
def run(session, run_id):
    return session.store.runs.get(run_id)
