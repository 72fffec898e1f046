"""Fixtures of the browser tests: Debian's chromium, controlled by playwright."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.studios import studio

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Start chromium for this package only, because playwright's event loop would disturb the other tests."""
    if not CHROMIUM.exists():
        pytest.skip(f"needs Debian's chromium at {CHROMIUM}")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """Open the start page of a new studio without projects."""
    from playwright.sync_api import expect

    with studio(tmp_path) as running:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(90_000)
        expect.set_options(timeout=90_000)
        made = context.new_page()
        made.goto(running.entrance)
        yield made
        context.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the text of the page to the report of a failed test."""
    report = yield
    page = item.funcargs.get("page")
    if report.failed and page is not None:
        with contextlib.suppress(Exception):
            report.sections.append(("text of the page", f"{page.url}\n{page.inner_text('body')[:4000]}"))
    return report
