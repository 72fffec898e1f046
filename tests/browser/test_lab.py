"""Tests of the Lab in a browser: changing, testing and promoting definitions, and refused prompts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.studios import visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.studios import OpenTab, Studio

pytestmark = pytest.mark.browser


@pytest.fixture
def page(open_tab: OpenTab, running: Studio, tab: Page) -> Page:
    page = open_tab(running.entrance, "/lab", width=1600, height=1000, tab=tab)
    page.get_by_text("No tests yet").wait_for()
    return page


def wait_for_result(page: Page, text: str) -> None:
    """Wait until the result of the trial is shown with this text."""
    page.locator(".st-key-lab-did").get_by_text(text).wait_for()
    page.locator(".trial-results .summary").wait_for()


def drag_label(page: Page, source: int, target: int) -> None:
    """Drag the label at this place of the list to another place."""
    boxes = [grip.bounding_box() for grip in page.locator(".label-list .grip").all()]
    middles = [box["y"] + box["height"] / 2 for box in boxes if box]
    x = boxes[0]["x"] + 5
    page.mouse.move(x, middles[source])
    page.mouse.down()
    page.mouse.move(x, middles[target], steps=12)
    page.mouse.up()


def expect_one_row_of_buttons(page: Page) -> None:
    """Check that the buttons of the header stay in one row on a laptop, whatever the name of the base."""
    page.set_viewport_size({"width": 1280, "height": 800})
    head = page.locator(".st-key-lab-head")
    before = head.bounding_box()
    name = head.get_by_text("Base: ").first
    name.evaluate("(name) => { name.textContent += ', temperature 0 and extra rounds'; }")
    assert head.bounding_box() == before
    page.set_viewport_size({"width": 1600, "height": 1000})


def test_codebook_opened_after_the_lab_shows_the_same_definition(page: Page) -> None:
    from playwright.sync_api import expect

    description = page.get_by_role("textbox", name="Description")
    expect(description).not_to_be_empty()
    shown = description.input_value()
    visit(page, "Codebook")
    page.get_by_role("textbox", name="Codebook name").wait_for()
    expect(description).to_have_value(shown)


def test_label_picked_in_a_narrow_window_is_scrolled_to(page: Page) -> None:
    from playwright.sync_api import expect

    visit(page, "Codebook")
    page.set_viewport_size({"width": 640, "height": 800})
    editor = page.locator(".st-key-editor")
    expect(editor).not_to_be_in_viewport()
    page.locator(".pick", has_text="Service").click()
    heading = editor.get_by_role("heading", name="Service")
    heading.wait_for()
    page.locator(".pick[aria-current=true]", has_text="Service").wait_for()
    expect(heading).to_be_in_viewport()
    page.set_viewport_size({"width": 1600, "height": 1000})


def test_label_is_dragged_past_several_others_and_back(page: Page) -> None:
    from playwright.sync_api import expect

    visit(page, "Codebook")
    names = page.locator(".label-list .pick .ellipsis")
    expect(names).to_have_text(["Cleanliness", "Service", "Price", "Location", "Food"])
    drag_label(page, 0, 3)
    expect(names).to_have_text(["Service", "Price", "Location", "Cleanliness", "Food"])
    page.get_by_text("v2 draft").wait_for()
    drag_label(page, 3, 0)
    expect(names).to_have_text(["Cleanliness", "Service", "Price", "Location", "Food"])
    expect(page.get_by_text("v2 draft")).not_to_be_visible()


def test_invalid_or_looping_prompts_are_refused(page: Page) -> None:
    from playwright.sync_api import expect

    page.get_by_role("radio", name="Judge").click(force=True)
    editor = page.get_by_label("Judge prompt")
    editor.click()
    editor.press("Control+End")
    page.keyboard.type("\n{{ nobody }}")
    page.get_by_text("the variable 'nobody' does not exist").first.wait_for()
    expect(page.locator(".template-editor .coloured .error")).to_have_text("{{ nobody }}")
    for _ in range(len("{{ nobody }}")):
        page.keyboard.press("Backspace")
    page.keyboard.type("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}")
    page.get_by_text("exceeded the time or memory limit").first.wait_for()
    page.get_by_role("button", name="Discard").click()
    page.get_by_role("button", name="Reset to shipped").click()
    page.get_by_text("v1 shipped", exact=True).first.wait_for()


def test_definition_is_changed_tested_saved_and_used_in_a_run(page: Page) -> None:
    from playwright.sync_api import expect

    # without its keywords, the definition breaks some of the twenty documents; the test starts by itself
    description = page.get_by_role("textbox", name="Description")
    expect(description).not_to_be_empty()  # as it is for a moment after the page is drawn
    previous = description.input_value()
    page.get_by_role("radio", name="Location", exact=True).click(force=True)
    expect(description).not_to_have_value(previous)  # the field of the previous label
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    description.fill("The room.")
    description.press("Tab")
    wait_for_result(page, "Test no. 1: draft against v1 on 20 documents")
    clear = page.get_by_role("button", name="Clear all").first
    clear.click()
    page.get_by_text("v1 against the draft, 2 changes").wait_for()
    wait_for_result(page, "Test no. 2: draft against v1 on 20 documents")
    expect(page.locator(".trial-results .summary")).to_contain_text(re.compile(r"Macro F1 0\.\d+ .* before, "))
    expect(page.locator(".trial-results .documents h3.regressed")).to_be_visible()
    note, documents = (page.locator(f".trial-results {name}").bounding_box() for name in (".note", ".documents"))
    assert note["width"] > 0.95 * documents["width"], "the conclusion is a sentence"
    assert int(page.locator(".trial-results .summary .number").first.text_content() or 0) > 0
    expect_one_row_of_buttons(page)
    first = page.locator(".trial-results .document-row").first
    first.click()
    page.get_by_role("heading", name="Before: v1").wait_for()
    expect(page.locator(".document-drawer .turn")).to_have_count(6)  # three turns in each of the two debates
    page.keyboard.press("Escape")
    expect(page.locator(".document-drawer")).not_to_be_visible()

    # the draft is not lost by a click on an earlier version
    expect(page.get_by_role("button", name="Edit: v1")).to_be_disabled()

    # saving does not require a score of the held-out split
    page.get_by_text("not scored yet").wait_for()
    page.get_by_role("textbox", name="Note for v2").fill("fewer words")
    page.get_by_role("textbox", name="Note for v2").press("Tab")
    page.get_by_test_id("stMain").get_by_role("button", name="Save as v2", exact=True).click()
    page.get_by_text("Saved as v2").wait_for()
    expect(page.get_by_role("button", name="Restore: v1")).to_be_enabled()

    # the next run uses the saved version
    visit(page, "Run")
    pilot = page.get_by_role("spinbutton", name="Pilot")
    pilot.fill("3")
    pilot.press("Tab")
    page.get_by_role("button", name="Start with 3", exact=True).click()
    page.get_by_text("All debates have finished").wait_for()
    page.get_by_text("hotel_reviews.csv, codebook v2").wait_for()

    # the versions, with the runs that used them, have room on a laptop
    page.set_viewport_size({"width": 1280, "height": 800})
    visit(page, "Lab")
    table = page.locator(".version-history")
    for cell, words in (("td:nth-child(4)", "price unknown"), ("td.runs", "ECJ, a model, codebook v2, 200 documents")):
        table.locator(cell).first.evaluate(f"(cell) => {{ cell.textContent = '{words}'; }}")
    assert table.evaluate("(table) => table.scrollWidth - table.clientWidth") <= 0
