"""Test of the review of ratings in a browser: means between two steps, and digits as ratings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.codebook import Codebook, Label, Scale
from core.documents import Document
from core.store.project import Project
from tests.browser.studios import run_in_thread
from tests.core.store.helpers import make_settings, store_debate, store_debates

if TYPE_CHECKING:
    from tests.browser.studios import OpenStudio

pytestmark = pytest.mark.browser


def fill(path: Path) -> None:
    """Create two documents with a verdict between two steps on the first dimension."""
    book = Codebook(
        kind="rating", scale=Scale(min=1, max=5), labels=(Label(name="Wit", id="w"), Label(name="Tone", id="t"))
    )
    with Project(path) as project:
        project.store.documents.add(Document(f"d{n}", {"text": f"Joke {n}."}) for n in range(2))
        run = project.store.runs.create(make_settings(book, codebook_version=1), project.store.documents.ids())
        lists = {"extractor": {"w": 2, "t": 4}, "critic": None, "judge": {"w": 3, "t": 4}}
        ids = project.store.documents.ids()
        store_debates(store_debate(project, run.run_id, id, lists, {"w": 8 / 3, "t": 4}) for id in ids)


def test_mean_between_steps_is_shown_and_keys_rate_each_dimension(open_studio: OpenStudio, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    path = tmp_path / "jokes.duckdb"
    run_in_thread(fill, path)
    running, page = open_studio("--project", path, path="/review")
    wit = page.locator(".review-focus .form-row").first
    expect(wit).to_contain_text("mean 2.67, kept if you submit")
    assert wit.locator("button.near").all_inner_texts() == ["2", "3"]
    expect(wit.locator("[aria-pressed=true]")).to_have_count(0)
    first = page.locator(".middle .mono").inner_text()
    page.keyboard.press("5")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator(".middle .mono")).not_to_have_text(first)
    page.keyboard.press("3")  # the next document starts with the first dimension
    expect(wit.locator("[aria-pressed=true]")).to_have_text("3")
    page.keyboard.press("-")  # the tone: 4 in the verdict
    expect(page.locator(".save-state.saved")).to_be_visible()
    running.stop()
    with Project(path) as project:
        reviews = [(event.document_id, event.item, event.after) for event in project.store.events.all(kinds=["review"])]
        second = next(document for document in ("d0", "d1") if document != first)
        assert reviews[::-1] == [(first, "w", 5), (first, "t", 1), (second, "w", 3), (second, "t", 3)]
