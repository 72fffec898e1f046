from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.services.project_session import ProjectSession
from tests.core.services.sessions import studio


@pytest.fixture
def session(tmp_path: Path) -> Iterator[ProjectSession]:
    """Yield a session of a project with four documents and a codebook."""
    with studio(tmp_path) as (_, opened):
        yield opened
