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


def description(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Description")


def open_page(page: Page, name: str) -> None:
    """Open a page by a click that presses and releases at once, as by a tap."""
    page.get_by_test_id("stSidebar").get_by_role("link", name=name, exact=True).click()


def expect_data(page: Page) -> None:
    """Wait until the page Data is shown."""
    page.get_by_text("hotel_reviews.csv").first.wait_for()


def close_with_unsent_text(page: Page) -> None:
    """Close the tab, which asks first and then saves the text."""
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


def follow_link_with_unsent_text(page: Page) -> None:
    """Open another page right after typing; every field keeps its text."""
    description(page).press_sequentially("Typed later. ")
    open_page(page, "Data")
    expect_data(page)
    open_page(page, "Codebook")
    expect(description(page)).to_have_value(re.compile(r"Typed later\."))
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value("Cleanliness")
    expect(page.get_by_role("textbox", name="Codebook name")).not_to_be_empty()


def go_back_with_unsent_text(page: Page) -> None:
    """Go back to the page before this one while text is being typed."""
    description(page).press_sequentially("Typed before. ")
    page.evaluate("history.back()")
    expect_data(page)
    open_page(page, "Codebook")
    expect(description(page)).to_have_value(re.compile(r"Typed before\."))


def test_unsent_text_is_kept_when_the_user_leaves_the_page(open_tab: OpenTab, running: Studio, tab: Page) -> None:
    page = open_tab(running.entrance, "/codebook", tab=tab)
    description(page).wait_for()
    settle(page)
    close_with_unsent_text(page)
    follow_link_with_unsent_text(page)
    go_back_with_unsent_text(page)
