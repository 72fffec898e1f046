"""Tests of Home in a browser: messages about the projects at the bottom of the page, and the links in the sidebar."""

from __future__ import annotations

import io
import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from PIL import Image
from playwright.sync_api import expect

from app.pages import PAGES
from tests.browser.studios import settle

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.studios import OpenTab, Studio

pytestmark = pytest.mark.browser


@pytest.fixture
def page(open_tab: OpenTab, running: Studio, tab: Page) -> Page:
    return open_tab(running.entrance, tab=tab)


def manage(page: Page, row: int, action: str) -> None:
    page.get_by_role("button", name=re.compile("^Manage hotel-aspects")).nth(row).click()
    page.get_by_role("button", name=action).click()


def test_only_the_page_scrolls_and_links_do_not_overlap(page: Page) -> None:
    expect(page.get_by_role("button", name=re.compile("^Manage hotel-aspects"))).to_be_visible()
    heights = page.get_by_test_id("stAppViewContainer").evaluate("frame => [frame.scrollHeight, frame.clientHeight]")
    assert heights[0] == heights[1], "hidden elements of the page enlarge the frame"
    links = page.locator(".st-key-navigation a")
    expect(links).to_have_count(len(PAGES))
    boxes = links.evaluate_all("links => links.map((link) => link.getBoundingClientRect())")
    gaps = [below["top"] - above["bottom"] for above, below in pairwise(boxes)]
    assert min(gaps) >= 0, "the colour of the current page is behind the name of the next one"


def test_logo_is_light_on_dark_even_if_the_browser_draws_images_for_a_light_page(page: Page) -> None:
    logo = page.get_by_test_id("stSidebarLogo")
    logo.evaluate("""logo => {
      const [head, data] = logo.src.split(",");
      logo.src = `${head},${btoa(atob(data).replace("@media", "@none"))}`;
    }""")
    brightness = {}
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.wait_for_function(
            "dark => matchMedia('(prefers-color-scheme: dark)').matches == dark", arg=theme == "dark"
        )
        settle(page)
        with Image.open(io.BytesIO(logo.screenshot())) as picture:
            brightness[theme] = picture.convert("L").getextrema()
    page.emulate_media(color_scheme="light")
    assert brightness["light"][0] < 60
    assert brightness["dark"][1] > 200


def test_messages_about_projects_are_in_sight_below_the_fold(page: Page) -> None:
    manage(page, 0, "Duplicate")
    expect(page.get_by_text("hotel-aspects was copied")).to_be_in_viewport()
    page.set_viewport_size({"width": 1024, "height": 800})
    open_button = page.locator(".st-key-projects").get_by_role("button", name="Open", exact=True)
    shown = open_button.get_by_test_id("stMarkdownContainer")
    assert shown.evaluate("label => label.scrollWidth <= label.clientWidth"), "the label of the button is cut"
    manage(page, 1, "Delete")
    expect(page.get_by_text("was moved to the bin")).to_be_in_viewport()
    page.get_by_text("Bin (1)").click()
    bin = page.get_by_test_id("stExpander").locator("details")
    assert bin.evaluate("bin => bin.scrollHeight == bin.clientHeight"), "moves buttons while they are clicked"
    page.get_by_role("button", name="Empty bin").click()
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_text("The bin is empty")).to_be_in_viewport()
