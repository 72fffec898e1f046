"""Fixtures of the browser tests: Debian's chromium, controlled by playwright."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import pytest

from tests.browser.studios import Studio, studio

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    from tests.browser.studios import OpenStudio, OpenTab

FOLDER = Path(__file__).parent
CHROMIUM = Path("/usr/bin/chromium")
HEADLESS = Path("/usr/bin/chromium-headless-shell")
"""Chromium without its own windows and pages: a new tab takes two thirds of the processor time. Used if installed."""
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
SHARED = "--process-per-site"
"""Flag with which a new tab finds the scripts of the other tabs compiled."""
SLOW = 45_000
"""Milliseconds that a page may take on a busy machine. A wait for what never comes takes as long."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Try a failed browser test once more, because chromium and the studio share two cores with the other tests.

    The summary lists such a test under RERUN, with its first failure.
    """
    if not config.pluginmanager.hasplugin("rerunfailures"):
        return
    for item in items:
        if item.path.is_relative_to(FOLDER):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Start chromium for this package only, because playwright's event loop would disturb the other tests."""
    if not CHROMIUM.exists():
        pytest.skip(f"needs Debian's chromium at {CHROMIUM}")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with playwright.sync_playwright() as running:
        executable = HEADLESS if HEADLESS.exists() else CHROMIUM
        chromium = running.chromium.launch(executable_path=str(executable), args=[*FLAGS, SHARED])
        playwright.expect.set_options(timeout=SLOW)
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def profile(browser: Browser) -> Iterator[BrowserContext]:
    """Return a browser profile for all tests, because loading Streamlit without a cache takes seconds."""
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(SLOW)
    yield context
    context.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """Start a studio on the sample project for all tests of a module."""
    with studio(tmp_path_factory.mktemp("studio")) as running:
        yield running


@pytest.fixture(scope="package")
def tab(profile: BrowserContext) -> Iterator[Page]:
    """Return a tab for all tests, because a new tab takes about two seconds of processor time.

    It loads no modules before they are needed, which takes a fifth of the processor time of loading a page. A test that
    routes web sockets, adds scripts or closes its tab opens another one.
    """
    page = profile.new_page()
    page.add_init_script("window.requestIdleCallback = () => 0")  # which preload.js waits for
    yield page
    page.close()


@pytest.fixture
def open_tab(profile: BrowserContext) -> Iterator[OpenTab]:
    """Return a function that opens an address in a tab of this size, without cookies of earlier tests.

    The tab is a new one without ``tab``. With ``path``, the tab opens this page of the studio whose entrance is the
    address, without a visit to Home before.
    """

    def open_tab(address: str, path: str = "", width: int = 1280, height: int = 800, tab: Page | None = None) -> Page:
        if path:
            profile.request.get(address, max_redirects=0, max_retries=1)  # sets the cookie
        page = tab or profile.new_page()
        if page.url != "about:blank":
            page.evaluate("sessionStorage.clear()")  # as in a new tab
        page.set_viewport_size({"width": width, "height": height})
        page.goto(urljoin(address, path))
        return page

    profile.clear_cookies()
    kept = profile.pages
    yield open_tab
    for page in profile.pages:
        if page not in kept:
            page.close()


@pytest.fixture
def open_studio(open_tab: OpenTab, tab: Page, tmp_path: Path) -> Iterator[OpenStudio]:
    """Return a function that starts a studio with these options and opens it in the tab, or in a new one.

    The studio is stopped afterwards, and a new tab closed.
    """
    with contextlib.ExitStack() as stack:

        def open_studio(*options: object, new_tab: bool = False, **place: Any) -> tuple[Studio, Page]:
            running = stack.enter_context(studio(tmp_path, *map(str, options)))
            page = open_tab(running.entrance, tab=None if new_tab else tab, **place)
            if new_tab:
                stack.callback(page.close)
            return running, page

        yield open_studio


@pytest.fixture
def page(open_studio: OpenStudio) -> Page:
    """Open the start page of a new studio without projects."""
    return open_studio()[1]


_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Function, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the text of the page to the error of a failed test."""
    if call.excinfo and (profile := item.funcargs.get("profile")) is not None:
        with contextlib.suppress(Exception):
            page = item.funcargs.get("page") or profile.pages[-1]
            call.excinfo.value.add_note(f"Text of {page.url}:\n{page.inner_text('body')[:4000]}")
    report = yield
    item.stash[_FAILED] = report.failed
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Close the studio of the module after a failure, so that the second attempt begins with an untouched project."""
    if item.stash.get(_FAILED, False):
        item.session._setupstate.teardown_exact(None)
