"""Short soak test: ``python -m pytest -m soak``. ``python -m tests.soak`` runs the full one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.conftest import CHROMIUM, FLAGS
from tests.soak.scenarios import SCENARIOS

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_is_lost(tmp_path: Path, name: str) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        # With "full", fewer debates fit into space that the project file has after the second fault; with "work", they
        # end before the third.
        report = SCENARIOS[name](tmp_path, chromium, 800 if name in ("full", "work") else 200)
        chromium.close()
    assert report.problems == []
