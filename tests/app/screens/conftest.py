"""Fixtures of the tests of all pages: a workspace, and a new project in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.services import projects
from core.services.project_session import ProjectSession
from core.services.workspace import Workspace
from core.store.project import Project
from tests.app.studio import studio


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    with studio(tmp_path, monkeypatch) as workspace:
        yield workspace


@pytest.fixture
def session(workspace: Workspace) -> ProjectSession:
    return projects.create_project(workspace, "p")


@pytest.fixture
def project(session: ProjectSession) -> Project:
    return session.project
