"""Test of the main path in a browser, without an API key: import, codebook, models, run, evaluation, review, export."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from app.widgets import palette
from tests.browser.studios import press, settle, visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.studios import OpenStudio

pytestmark = pytest.mark.browser

REVIEWS = """ref;review;Cleanliness;Service
a1;"The name was spotless; the staff were kind.";1;1
a2;"Dirty sheets; nobody at the desk cared.";1;1
a3;"We walked to the sea.";0;0
a4;"A rude porter.";0;1
a5;"Clean towels every day.";1;0
a6;only two fields
"""
ROOTS = "[...document.querySelectorAll('*')].map(e => e.shadowRoot).filter(Boolean)"
REPLY_LENGTH = (
    f"() => {ROOTS}.flatMap(r => [...r.querySelectorAll('.turns .reply')]).map(e => e.textContent).join(' ').length"
)


def import_previewed_file(page: Page) -> None:
    """Import the user's file, whose preview counts a rejected row."""
    page.locator("input[type=file]").first.set_input_files(
        {"name": "reviews.csv", "mimeType": "text/csv", "buffer": REVIEWS.encode("latin-1")}
    )
    page.get_by_text("Rows read: 6, kept: 5, rejected: 1").wait_for()
    text = page.locator(".moot-documents td").nth(1)
    assert text.evaluate("cell => getComputedStyle(cell).unicodeBidi") == "plaintext"  # also from right to left
    page.get_by_text("row 7: 2 fields, expected 4").wait_for()
    press(page, "Import 5")
    page.get_by_text("5 documents imported from reviews.csv").wait_for()


def describe_label(page: Page) -> None:
    """Describe one of the two labels that the gold columns became, and save a version."""
    visit(page, "Codebook")
    page.get_by_role("textbox", name="Description").fill("How clean or dirty the place is.")
    page.get_by_role("textbox", name="Description").press("Tab")
    page.get_by_text("Draft saved").wait_for()
    focused = page.locator("input:focus")
    press(page, "Label")
    expect(focused).to_have_value("New label")
    page.get_by_role("button", name="Delete the label").first.press("Enter")
    page.get_by_test_id("stPopoverBody").get_by_role("button", name="Delete the label").press("Enter")
    expect(focused).to_have_value("Cleanliness")
    page.get_by_role("button", name="Save as v2").press("Enter")
    expect(page.get_by_role("button", name="Save as v3")).to_be_disabled()
    expect(focused).to_have_value("Cleanliness")


def set_pace(page: Page) -> None:
    """Set the pace of the built-in model."""
    visit(page, "Models")
    pace = page.get_by_role("spinbutton", name="Pace (words per second)")
    pace.fill("20")
    pace.press("Tab")


def run_with_streamed_replies(page: Page) -> None:
    """Start a run whose replies grow word by word, and reload the page while it runs."""
    visit(page, "Run")
    press(page, "Start all 5")
    page.evaluate("window.lengths = new Set()")
    grows = f"() => window.lengths.add(({REPLY_LENGTH})()).size > 5"  # word by word
    page.wait_for_function(grows, polling=50)
    page.reload()
    page.get_by_text("All debates have finished.").wait_for(timeout=90_000)


def evaluate_against_gold(page: Page) -> None:
    """Open Evaluate: without reviews, gold is the reference."""
    visit(page, "Evaluate")
    page.get_by_role("list").get_by_text("Macro F1", exact=True).wait_for()


def download_flips(page: Page) -> None:
    """Download the flips as a standalone SVG and as a table."""
    settle(page)  # a run of the page cancels a download
    with page.expect_download() as download:
        page.locator(".st-key-evaluate-flips-svg button").first.click()
    picture = ElementTree.parse(download.value.path()).getroot()
    assert {"Extractor", "Critic", "Judge"} <= {"".join(node.itertext()) for node in picture.iter()}
    assert not any("var(" in value for node in picture.iter() for value in node.attrib.values())
    with page.expect_download() as download:
        page.locator(".st-key-evaluate-flips-csv button").first.click()
    steps = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8-sig"))))
    assert [(row["from"], row["to"]) for row in steps if not row["label"]] == [
        ("Extractor", "Critic"),
        ("Critic", "Judge"),
    ]


def follow_system_theme(page: Page) -> None:
    """Change the system theme; charts and their downloads follow."""
    dark = f'fill="{palette.palette(True)["bg"]}"'
    name = page.locator(".stVegaLiteChart text", has_text="Macro").first
    light = name.evaluate("node => getComputedStyle(node).fill")
    page.emulate_media(color_scheme="dark")
    expect(name).not_to_have_css("fill", light)
    # the download, which the studio draws, follows after a rerun
    for _ in range(20):
        settle(page)
        with page.expect_download() as download:
            page.locator(".st-key-evaluate-scores-svg button").first.click()
        if dark in Path(download.value.path()).read_text(encoding="utf-8"):
            break
    else:
        pytest.fail("the download kept the light theme")
    page.emulate_media(color_scheme="light")
    expect(name).to_have_css("fill", light)


def correct_and_submit(page: Page) -> None:
    """Correct a verdict in the grid and submit the document."""
    visit(page, "Review")
    page.get_by_role("radio", name="Grid").click()
    grid = page.frame_locator("iframe")
    first = grid.locator('[row-id="1"] [role=checkbox], [row-id="1"] input[type=checkbox]')
    first.first.wait_for()
    box = grid.locator('[row-id="1"] [col-id^="v_"]').first
    before = box.get_by_role("checkbox").get_attribute("aria-checked")
    box.click()
    expect(box.get_by_role("checkbox")).to_have_attribute("aria-checked", "false" if before == "true" else "true")
    page.locator(".moot-saved", has_text="Saved").wait_for()
    press(page, "Submit")
    expect(grid.locator('[row-id="1"] [col-id="_status"]')).to_have_text("Submitted")


def evaluate_against_review(page: Page) -> None:
    """Evaluate against the reviewed labels."""
    visit(page, "Evaluate")
    page.get_by_text("Reviewed 1", exact=True).click()
    page.get_by_text("rows: review", exact=False).first.wait_for()
    expect(page.get_by_text("0 of 1", exact=False).first).to_be_visible()  # no exact match, as one label was corrected


def export_labels(page: Page) -> None:
    """Download the labels, with the corrected document first."""
    visit(page, "Export")
    with page.expect_download() as download:
        press(page, "Download")
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8-sig"))))
    assert [row["ref"] for row in rows] == ["a1", "a2", "a3", "a4", "a5"]
    assert {row["run_id"] for row in rows} == {"r0001"}
    corrected = rows[0]
    assert corrected["reviewed_Cleanliness"]
    assert corrected["reviewed_Service"]
    assert (corrected["gold_Cleanliness"], corrected["gold_Service"]) == ("1", "1")


def test_main_path_from_file_to_export(open_studio: OpenStudio) -> None:
    _, page = open_studio(width=1600, height=1000)

    # the sample project is open and lists the next steps
    page.get_by_text("Next steps in hotel-aspects").wait_for()
    # with reduced motion: the list of a select box stayed open if its transition was cancelled, however short it was
    assert page.evaluate("getComputedStyle(document.body).transitionDuration") == "0s"
    import_previewed_file(page)
    describe_label(page)
    set_pace(page)
    run_with_streamed_replies(page)
    evaluate_against_gold(page)
    download_flips(page)
    follow_system_theme(page)
    correct_and_submit(page)
    evaluate_against_review(page)
    export_labels(page)
