"""Test of dropping files on Home and Data with real drag events."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.studios import settle

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def write(folder: Path, name: str, *rows: str) -> Path:
    path = folder / name
    path.write_text("\n".join(["id,text,Food", *rows]), encoding="utf-8")
    return path


def drop(page: Page, *files: Path) -> None:
    """Drop files on the lower left of the page, far from every uploader."""
    settle(page)
    browser = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(file) for file in files], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        if kind == "drop":
            expect(page.locator("body")).to_have_class("moot-dropping")
        browser.send("Input.dispatchDragEvent", {"type": kind, "x": 260, "y": 760, "data": data})
    expect(page.locator("body")).not_to_have_class("moot-dropping")


def test_files_are_dropped_anywhere_on_home_and_data_and_errors_are_in_sight(page: Page, tmp_path: Path) -> None:
    ann = write(tmp_path, "ann.csv", "1,The soup was warm.,1", "2,The room was cold.,0")
    bo = write(tmp_path, "bo.csv", "1,The soup was warm.,0", "3,The tea was fine.,1")
    more = write(tmp_path, "more.csv", "9,The cake was dry.,1")
    page.get_by_text("Start with your files").wait_for()
    drop_empty_file(page, tmp_path)
    drop(page, ann, bo)
    expect(page.get_by_text("ann.csv and bo.csv, not imported yet")).to_be_visible()
    expect(page.get_by_text("merged: 1")).to_be_visible()
    drop(page, more)  # onto the preview
    expect(page.get_by_text("ann.csv, bo.csv and more.csv, not imported yet")).to_be_visible()
    page.get_by_role("button", name="Import 4", exact=True).click()
    expect(page.get_by_text("4 documents imported")).to_be_visible()
    drop(page, write(tmp_path, "later.csv", "10,The jam was sweet.,1"))  # onto the list of documents
    expect(page.get_by_text("later.csv, not imported yet")).to_be_visible()


def drop_empty_file(page: Page, folder: Path) -> None:
    """Drop a file whose error is far above in the scrolled page: the page scrolls to the error."""
    (folder / "empty.csv").touch()
    page.set_viewport_size({"width": 700, "height": 780})  # the samples are below each other
    settle(page)
    page.get_by_test_id("stMain").evaluate("element => element.scrollTo(0, element.scrollHeight)")
    drop(page, folder / "empty.csv")
    expect(page.get_by_text("empty.csv is empty.")).to_be_in_viewport()
    page.set_viewport_size({"width": 1280, "height": 800})
