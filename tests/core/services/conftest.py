from __future__ import annotations

import pytest

from core.services.workspace import Workspace
from core.store.project import Project
from tests.core.services import sample_world
from tests.core.services.sessions import copy_project


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Return the project file of the sample world and the id of its run."""
    path = tmp_path_factory.mktemp("sample_world") / "small.duckdb"
    with Project(path) as project:
        run_id = sample_world.build(project)
    return path, run_id


@pytest.fixture
def project(tmp_path, request):
    """Yield a new project, or a copy of the sample world if the test uses its run."""
    path = tmp_path / "small.duckdb"
    if "run_id" in request.fixturenames:
        copy_project(request.getfixturevalue("built")[0], path)
    with Project(path) as project:
        yield project


@pytest.fixture
def workspace():
    """Yield a workspace and close it afterwards."""
    workspace = Workspace()
    yield workspace
    workspace.close()


@pytest.fixture
def run_id(project, built):
    return built[1]


@pytest.fixture
def session(project, run_id):
    return sample_world.session_on(project)


@pytest.fixture
def run(session, run_id):
    return session.store.runs.get(run_id)
