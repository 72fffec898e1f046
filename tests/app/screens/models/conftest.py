"""Fixtures of the tests of Models."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.services.project_session import ProjectSession
from core.services.workspace import Workspace
from tests.core.services.sessions import fill


@pytest.fixture
def session(workspace: Workspace, tmp_path: Path) -> ProjectSession:
    workspace.models.embedder_spec = ""  # also where MiniLM is installed
    session = workspace.open(tmp_path / "hotel.duckdb")
    fill(session)
    return session
