"""Test of a review plan in a browser: set a plan, review until it is met, and report the claim in a paper."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import pytest

from core.codebook import Codebook, Label
from core.documents import Document
from core.services.runs import planning
from core.services.workspace import Workspace
from tests.browser.studios import live_name, run_in_thread, visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.studios import OpenStudio

pytestmark = pytest.mark.browser
COUNT = 240
FIRST = 17
"""Reviews that need no page: a claim takes at least 20."""


def fill(path: Path) -> None:
    """Create 240 documents and a finished run; every third document contains a keyword of Price."""
    workspace = Workspace()
    book = Codebook(labels=(Label(name="Price", keywords=("price",)), Label(name="Staff", keywords=("staff",))))
    session = workspace.open(path)
    texts = ["the price was high", "the staff sang", "a quiet room"]
    session.store.documents.add([Document(f"d{n:03}", {"text": f"{texts[n % 3]} {n}"}) for n in range(COUNT)])
    version = session.store.codebooks.save(book)
    settings = planning.build_settings(planning.Plan(protocol="single"), book, version, session.models)
    (run,) = planning.create_runs(session, settings, session.store.documents.ids())
    session.start_or_resume(run.run_id).result(120)
    workspace.close()


def screenshot(page: Page, name: str) -> None:
    """Save a screenshot if ``MOOT_PICTURES`` names a folder."""
    if folder := os.environ.get("MOOT_PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png")


def test_a_plan_ends_with_enough_reviews_and_a_claim_for_a_paper(open_studio: OpenStudio, tmp_path: Path) -> None:
    path = tmp_path / "claim.duckdb"
    run_in_thread(fill, path)
    _, page = open_studio("--project", path, path="/review")
    page.locator(".review-focus .form-row").first.wait_for()
    page.get_by_role("button", name="Plan", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.locator("[data-needed]").wait_for()
    within = dialog.get_by_label("Margin of error, points")
    before = int(dialog.locator("[data-needed]").get_attribute("data-needed") or 0)
    within.fill("18")
    within.press("Tab")
    dialog.locator(f"[data-needed]:not([data-needed='{before}'])").wait_for()
    needed = int(dialog.locator("[data-needed]").get_attribute("data-needed") or 0)
    assert 20 <= needed < before <= COUNT, "a wider interval takes fewer reviews"
    screenshot(page, "plan-dialog")
    dialog.get_by_role("button", name="Start this plan").click()
    line = page.locator("[data-plan]")
    line.get_by_text("share of Price within 18 points").wait_for()
    submit_next(page, live_name(path), FIRST)
    reviewed = review_until_enough(page)
    assert 20 <= reviewed < COUNT
    claim = line.inner_text().removeprefix("Enough reviews. ")
    assert "240 documents are about Price (95% interval" in claim
    screenshot(page, "plan-enough")
    visit(page, "For your paper")
    page.get_by_text("Before the review, the claim was fixed: share of Price within 18 points").wait_for()
    page.get_by_text(claim).wait_for()
    screenshot(page, "paper")
    with page.expect_download() as download:
        page.get_by_role("button", name="Design file").click()
    text = Path(download.value.path()).read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == COUNT
    drawn = [row for row in rows if row["selected"] == "drawn"]
    assert len(drawn) == reviewed
    assert sum(float(row["weight"]) for row in drawn) == pytest.approx(COUNT)
    with page.expect_download() as download:
        page.get_by_role("button", name="Markdown").click()
    paper = Path(download.value.path()).read_text(encoding="utf-8")
    assert claim in paper
    assert f"[view]({urljoin(page.url, '/evaluate')}?run=" in paper


SUBMIT_NEXT = """async ([run, count]) => {
  const send = async (message) => {
    const body = JSON.stringify({run, actor: "", ...message});
    return (await fetch("/moot/review", {method: "POST", body})).json();
  };
  const {rows} = await send({query: "queue", filters: {sort: "queue", size: count}});
  const actions = rows.map(({id, sampling}) => ({action: "submit", id, document: id, sampling}));
  await send({actions});
}"""


def submit_next(page: Page, run: str, count: int) -> None:
    """Submit the first documents of the queue as in another tab, and open Review again."""
    page.evaluate(SUBMIT_NEXT, [run, count])
    page.goto(urljoin(page.url, "/review"))


def review_until_enough(page: Page) -> int:
    """Submit documents in the order of the queue until the page shows "Enough reviews"; return the reviewed ones."""
    line = page.locator("[data-plan]")
    for count in range(FIRST, COUNT):
        line.filter(has_text=f"{count} reviewed").or_(line.filter(has_text="Enough reviews")).wait_for()
        if "Enough reviews" in line.inner_text():
            return count
        shown = page.locator(".middle .mono").inner_text()
        page.wait_for_timeout(600)  # an earlier click may be the second one of a double click
        page.get_by_role("button", name="Submit and continue").click()
        page.locator(".middle .mono").filter(has_not_text=shown).wait_for()
    return COUNT
