"""A run from its start to its end in a real browser: words arrive, and neither a page switch, F5, a pause nor a crash
loses one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.studios import Studio, studio

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

ROOTS = "[...document.querySelectorAll('*')].map(e => e.shadowRoot).filter(Boolean)"
ENDED = f"""() => {ROOTS}.map(r => r.querySelector('[role=progressbar]')).filter(Boolean)
    .map(e => +e.getAttribute('aria-valuenow'))[0] ?? -1"""
WORDS = (
    f"""() => {ROOTS}.flatMap(r => [...r.querySelectorAll('.turns .reply')]).map(e => e.textContent).join(' ').length"""
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    with studio(tmp_path_factory.mktemp("studio")) as made:
        yield made


@pytest.fixture
def page(browser: Browser, running: Studio) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    context.set_default_timeout(30_000)
    made = context.new_page()
    made.goto(running.entrance)
    made.get_by_role("link", name="Run", exact=True).click()
    yield made
    context.close()


def button(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def shows(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).wait_for()


def ended(page: Page) -> int:
    return int(page.evaluate(ENDED))


def test_run_survives_page_switch_reload_and_pause(page: Page, running: Studio) -> None:
    from playwright.sync_api import expect

    page.get_by_text("No verdicts yet").wait_for()
    pilot = page.get_by_role("spinbutton", name="Pilot")
    pilot.fill("30")
    pilot.press("Tab")
    button(page, "Start with 30")
    shows(page, "Pause")
    page.wait_for_function(f"() => ({WORDS})() > 40")
    page.wait_for_function(f"() => ({ENDED})() >= 1")

    page.get_by_role("link", name="Models", exact=True).click()  # the run goes on while nobody looks
    page.get_by_role("heading", name="Connections").wait_for()
    page.get_by_role("link", name="Run", exact=True).click()
    shows(page, "Pause")
    page.wait_for_function(f"() => ({WORDS})() > 40")

    page.reload()
    shows(page, "Pause")
    page.wait_for_function(f"() => ({WORDS})() > 40")

    button(page, "Pause")
    shows(page, "Resume")
    stood = ended(page)
    page.wait_for_timeout(700)
    assert ended(page) == stood  # nothing moves while it is paused

    other = page.context.new_page()  # a second tab knows it from the project
    other.goto(f"{running.address}/run")
    shows(other, "Resume")
    button(other, "Resume")
    shows(page, "Pause")  # and the first follows by itself
    other.close()

    page.get_by_text("All debates have finished.").wait_for(timeout=90_000)
    assert ended(page) == 30
    shows(page, "New run")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_have_count(0)


def test_crash_keeps_every_stored_reply(page: Page, running: Studio) -> None:
    page.get_by_role("link", name="Models", exact=True).click()
    pace = page.get_by_role("spinbutton", name="Pace (words per second)")
    pace.fill("40")  # after the first run, the built-in model is instant
    pace.press("Tab")
    page.locator(".moot-saved", has_text="Saved").first.wait_for()
    page.get_by_role("link", name="Run", exact=True).click()
    button(page, "New run")
    button(page, "Start all 96")
    shows(page, "Pause")
    page.wait_for_function(f"() => ({ENDED})() >= 1")
    running.kill()
    running.start()
    page.goto(running.entrance)
    page.get_by_role("link", name="Run", exact=True).click()
    page.get_by_text("was interrupted at").wait_for()
    stood = ended(page)
    button(page, "Resume")
    shows(page, "Pause")
    page.wait_for_function(f"() => ({ENDED})() > {max(stood, 0)}")
    button(page, "Stop")
    shows(page, "Resume")
