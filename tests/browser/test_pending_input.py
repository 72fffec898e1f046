"""Tests of text that was typed but not yet sent when the user leaves the page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.studios import settle

if TYPE_CHECKING:
    from playwright.sync_api import Dialog, Locator, Page

    from tests.browser.studios import OpenTab, Studio

pytestmark = pytest.mark.browser


@pytest.fixture
def page(open_tab: OpenTab, running: Studio, tab: Page) -> Page:
    page = open_tab(running.entrance, "/codebook", tab=tab)
    description(page).wait_for()
    settle(page)
    return page


def description(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Description")


def test_tab_with_unsent_text_asks_before_it_closes_and_saves_the_text(page: Page) -> None:
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.once("dialog", stay)
    description(page).press_sequentially("Typed last. ")
    page.close(run_before_unload=True)
    page.get_by_text("Draft saved").wait_for()
    assert asked == ["beforeunload"]
    page.reload()  # nothing is unsent now, so the browser does not ask
    expect(description(page)).to_have_value(re.compile(r"Typed last\."))
    assert asked == ["beforeunload"]


def test_link_opens_its_page_right_after_typing_and_every_field_keeps_its_text(page: Page) -> None:
    links = page.get_by_test_id("stSidebar")
    description(page).press_sequentially("Typed later. ")
    links.get_by_role("link", name="Data", exact=True).click()  # pressed and released at once, as by a tap
    page.get_by_text("hotel_reviews.csv").first.wait_for()
    links.get_by_role("link", name="Codebook", exact=True).click()
    expect(description(page)).to_have_value(re.compile(r"Typed later\."))
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value("Cleanliness")
    expect(page.get_by_role("textbox", name="Codebook name")).not_to_be_empty()


def test_back_leaves_a_page_with_the_text_that_is_being_typed(page: Page) -> None:
    links = page.get_by_test_id("stSidebar")
    links.get_by_role("link", name="Data", exact=True).click()
    page.get_by_text("hotel_reviews.csv").first.wait_for()
    links.get_by_role("link", name="Codebook", exact=True).click()
    description(page).press_sequentially("Typed before. ")
    page.evaluate("history.back()")
    page.get_by_text("hotel_reviews.csv").first.wait_for()
    links.get_by_role("link", name="Codebook", exact=True).click()
    expect(description(page)).to_have_value(re.compile(r"Typed before\."))
