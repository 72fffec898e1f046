"""Tests of a run in a browser: page changes, a second tab, pauses and crashes lose no reply."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.studios import Studio, press, studio

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.studios import OpenTab

pytestmark = pytest.mark.browser

ROOTS = "[...document.querySelectorAll('*')].map(e => e.shadowRoot).filter(Boolean)"
FINISHED = f"""() => {ROOTS}.map(r => r.querySelector('[role=progressbar]')).filter(Boolean)
    .map(e => +e.getAttribute('aria-valuenow'))[0] ?? -1"""
REPLY_LENGTH = (
    f"""() => {ROOTS}.flatMap(r => [...r.querySelectorAll('.turns .reply')]).map(e => e.textContent).join(' ').length"""
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    folder = tmp_path_factory.mktemp("studio")
    preferences = folder / "config" / "moot" / "preferences.json"
    preferences.parent.mkdir(parents=True)
    preferences.write_text('{"pace": 40}')  # without a chosen pace, a run after the first is instant
    with studio(folder) as running:
        yield running


@pytest.fixture
def page(open_tab: OpenTab, running: Studio, tab: Page) -> Page:
    """Open the setup of a new run, whether or not the project has runs."""
    return open_tab(running.entrance, "/run?run=new", width=1600, height=1000, tab=tab)


def wait_for_button(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).wait_for()


def finished_count(page: Page) -> int:
    return int(page.evaluate(FINISHED))


def start(page: Page) -> None:
    """Start a run on all documents, which takes a minute at this pace, and wait for the first verdict."""
    page.get_by_role("button", name=re.compile("^Start all ")).click()
    wait_for_button(page, "Pause")
    page.wait_for_function(f"() => ({FINISHED})() >= 1", polling=100)


def wait_for_text(page: Page) -> None:
    page.wait_for_function(f"() => ({REPLY_LENGTH})() > 40", polling=100)


def stop(page: Page) -> None:
    press(page, "Stop")
    wait_for_button(page, "Resume")


def test_run_survives_page_switch_second_tab_and_pause(page: Page, running: Studio) -> None:
    start(page)
    wait_for_text(page)

    page.get_by_role("link", name="Models", exact=True).click()  # the run continues while another page is open
    page.get_by_role("heading", name="Connections").wait_for()
    page.get_by_role("link", name="Run", exact=True).click()
    wait_for_button(page, "Pause")
    wait_for_text(page)

    other = page.context.new_page()  # a second tab reads the state from the project, as after a reload
    other.goto(f"{running.address}/run")
    wait_for_button(other, "Pause")
    wait_for_text(other)

    press(page, "Pause")
    wait_for_button(page, "Resume")
    before = finished_count(page)
    wait_for_button(other, "Resume")
    assert finished_count(page) == before  # no debate has finished since the pause
    press(other, "Resume")
    wait_for_button(page, "Pause")  # the first tab follows without a reload
    other.close()
    page.wait_for_function(f"() => ({FINISHED})() > {before}", polling=100)  # else there is no tile after the stop
    stop(page)
    page.get_by_role("heading", name="Latest debates").wait_for()  # of the tiles, none of which is in progress


def test_crash_keeps_every_stored_reply(page: Page, running: Studio) -> None:
    start(page)
    running.kill()
    running.start()
    page.context.request.get(running.entrance, max_redirects=0)  # sets the cookie
    page.goto(f"{running.address}/run")
    page.get_by_text("was interrupted at").wait_for()
    before = finished_count(page)
    press(page, "Resume")
    wait_for_button(page, "Pause")
    page.wait_for_function(f"() => ({FINISHED})() > {max(before, 0)}", polling=100)
    stop(page)
