"""Test of the guided path: from a file to an accuracy estimate by following the next steps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.studios import press, visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.studios import OpenStudio

pytestmark = pytest.mark.browser
SIZE, PILOT = 6, 4


def ratings() -> str:
    """Return a CSV file with two dimensions, rated by five raters."""
    columns = [f"{name}_r{rater}" for name in ("Fluency", "Warmth") for rater in range(1, 6)]
    rows = [
        ",".join(
            [str(n), f"The {'warm' if n % 2 else 'cold'} reply number {n}.", *(str((n + k) % 5 + 1) for k in range(10))]
        )
        for n in range(SIZE)
    ]
    return "\n".join([",".join(["id", "reply", *columns]), *rows])


def review_all(page: Page, next_step: str) -> None:
    """Rate and submit documents until the sidebar names another step."""
    card = page.locator(".st-key-path")
    focus = page.locator(".review-focus")
    focus.get_by_text("Submit and continue").wait_for()
    for _ in range(SIZE):
        if next_step in card.inner_text():
            break
        document = focus.locator(".middle .mono")
        before = re.compile(f"^{re.escape(document.inner_text())}$")
        for _ in range(2):
            page.keyboard.press("3")
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        document.filter(has_not_text=before).or_(card.filter(has_text=next_step)).first.wait_for()
    expect(card).to_contain_text(next_step)


def test_a_new_user_reaches_an_accuracy_estimate(open_studio: OpenStudio, tmp_path: Path) -> None:
    preferences = tmp_path / "config" / "moot" / "preferences.json"
    preferences.parent.mkdir(parents=True)
    preferences.write_text('{"pace": 0}')  # the first run would be slow enough to read along
    _, page = open_studio()
    page.locator("input[type=file]").first.set_input_files(
        {"name": "mine.csv", "mimeType": "text/csv", "buffer": ratings().encode()}
    )
    expect(page.get_by_text("2 dimensions by 5 raters, scale 1 to 5").first).to_be_visible()
    press(page, f"Import {SIZE}")
    page.get_by_text(f"{SIZE} documents imported").wait_for()

    press(page, "Define labels")
    page.get_by_label("Guideline for all labels").fill("1 is not at all, 5 is very.")
    page.get_by_label("Guideline for all labels").press("Tab")
    press(page, "Save as v2")
    press(page, "Run a pilot")
    pilot = page.get_by_role("spinbutton", name="Pilot")
    pilot.fill(str(PILOT))
    pilot.press("Tab")
    press(page, f"Start with {PILOT}")
    press(page, f"Review {PILOT}")
    review_all(page, f"Run all {SIZE}")
    press(page, f"Run all {SIZE}")
    press(page, f"Start all {SIZE}")
    card = page.locator(".st-key-path")
    expect(card).to_contain_text(re.compile("Review|All steps done"))
    if "All steps done" not in card.inner_text():
        page.locator(".st-key-path-next button").click()
        verdict = page.locator(".review-focus .panel-head", has_text="Your verdict")
        expect(verdict).to_contain_text("Pending")  # not the document that was reviewed last
        review_all(page, "All steps done")
    else:
        visit(page, "Review")
    expect(page.get_by_text(re.compile("of ratings are correct"))).to_be_visible()
