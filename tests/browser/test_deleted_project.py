"""Test of a project file that is deleted during a run: the page reports this and saves a copy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from core.store.project import Project
from tests.browser.studios import settle

if TYPE_CHECKING:
    from tests.browser.studios import OpenStudio

pytestmark = pytest.mark.browser

DOCUMENTS = 12


def test_run_continues_in_the_copy_of_a_removed_project(open_studio: OpenStudio, tmp_path: Path) -> None:
    running, page = open_studio()
    page.get_by_role("link", name="Run", exact=True).click()
    pilot = page.get_by_role("spinbutton", name="Pilot")
    pilot.fill(str(DOCUMENTS))
    pilot.press("Tab")
    page.get_by_role("button", name=f"Start with {DOCUMENTS}").click()
    page.get_by_role("button", name="Pause", exact=True).wait_for()
    progress = page.locator(".moot-run-status [role=progressbar]")
    expect(progress).not_to_have_attribute("aria-valuenow", "0")
    (project,) = tmp_path.rglob("*.duckdb")
    for path in project.parent.glob(f"{project.name}*"):  # as in a clean-up of the folder
        path.unlink()
    page.get_by_text("was deleted or moved").first.wait_for()
    settle(page)
    button = page.get_by_role("button", name="Save a copy and continue with it")
    expect(button).to_have_count(1)
    expect(page.get_by_role("button", name="Resume", exact=True)).to_have_count(1)
    finished = int(progress.get_attribute("aria-valuenow") or 0)
    assert 0 < finished < DOCUMENTS
    button.click()
    saved = page.get_by_text("The project was saved as")
    saved.wait_for()
    copy = Path(saved.inner_text().split("saved as ")[1].strip())
    assert copy == project.with_name(f"{project.stem}-recovered.duckdb")
    expect(button).to_have_count(0)
    page.get_by_role("button", name="Resume", exact=True).first.click()
    page.get_by_text("All debates have finished.").wait_for()
    expect(progress).to_have_attribute("aria-valuenow", str(DOCUMENTS))
    page.get_by_role("button", name="New run", exact=True).wait_for()
    expect(page.get_by_role("button", name="Pause", exact=True)).to_have_count(0)
    running.stop()
    with Project(copy) as kept:
        (run,) = kept.store.runs.all()
        assert run.verdicts + run.unresolved == DOCUMENTS
        assert len(kept.replies._keys) == 3 * DOCUMENTS
        assert kept.store.documents.ids()
