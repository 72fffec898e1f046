"""Tests of a project file that is deleted or replaced during a run: the page reports this and saves a copy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.store.project import Project
from tests.browser.studios import settle, studio

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

DOCUMENTS = 30


def _delete(project: Path) -> None:
    """Delete the project and its accompanying files, as in a clean-up of the folder."""
    for path in project.parent.glob(f"{project.name}*"):
        path.unlink()


def _replace(project: Path) -> None:
    """Replace the project by another one, as a synchronised folder may do."""
    other = project.with_name("other.duckdb")
    Project.open(other).close()
    other.replace(project)


@pytest.mark.parametrize(
    ("change_file", "words"), [(_delete, "was deleted or moved"), (_replace, "was replaced by another file")]
)
def test_run_continues_in_the_copy_of_a_removed_project(
    browser: Browser, tmp_path: Path, change_file: Callable[[Path], None], words: str
) -> None:
    from playwright.sync_api import expect

    with studio(tmp_path) as running:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(60_000)
        page = context.new_page()
        page.goto(running.entrance)
        page.get_by_role("link", name="Run", exact=True).click()
        pilot = page.get_by_role("spinbutton", name="Pilot")
        pilot.fill(str(DOCUMENTS))
        pilot.press("Tab")
        page.get_by_role("button", name=f"Start with {DOCUMENTS}").click()
        page.get_by_role("button", name="Pause", exact=True).wait_for()
        progress = page.locator(".moot-run-status [role=progressbar]")
        expect(progress).not_to_have_attribute("aria-valuenow", "0", timeout=60_000)
        (project,) = tmp_path.rglob("*.duckdb")
        change_file(project)
        page.get_by_text(words).first.wait_for()
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
        context.close()
    with Project.open(copy) as kept:
        (run,) = kept.store.runs.all()
        assert run.verdicts + run.unresolved == DOCUMENTS
        assert len(kept.turn_store.keys()) == 3 * DOCUMENTS
        assert kept.store.documents.ids()
