"""Waiting times in a real browser: ``python -m tests.benchmarks.browser [--documents 100000]``.

From the press to what it changed on the screen, in milliseconds: the first look, and the median of those after it. On
the sample project for the Lab, on a project of that many documents (``tests.benchmarks.review``) for Review and
Evaluate. Needs Debian's chromium.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from core.services import models
from core.services.workspace import Workspace
from core.store.project import Project
from tests.benchmarks.review import fill
from tests.benchmarks.throughput import TOKENS, TPT, TTFT, prepare
from tests.browser.conftest import CHROMIUM, FLAGS
from tests.browser.studios import own_settings, studio
from tests.servers.running import mock_llm

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATIENCE = 120_000
SETTLING = 6000
"""Milliseconds that a person spends on the first page."""
EDITS = 7


@contextmanager
def browsing(folder: Path, *options: str) -> Iterator[Page]:
    """A page on a studio of its own."""
    from playwright.sync_api import sync_playwright

    with studio(folder, *options) as running, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        page = chromium.new_page(viewport={"width": 1600, "height": 1000})
        page.set_default_timeout(PATIENCE)
        page.goto(running.entrance)
        page.get_by_test_id("stSidebar").wait_for()
        page.wait_for_timeout(SETTLING)
        yield page
        chromium.close()


def visit(page: Page, name: str) -> None:
    """Click the name of a page in the sidebar."""
    page.get_by_test_id("stSidebar").get_by_role("link", name=name, exact=True).click()


def timed(name: str, bound: int, *acts: Callable[[], object]) -> None:
    """Do each once, and tell how long they took."""
    took = []
    for act in acts:
        began = time.perf_counter()
        act()
        took.append(1000 * (time.perf_counter() - began))
    print_times(name, bound, took)


def print_times(name: str, bound: int, took: Sequence[float]) -> None:
    """Print the first time in milliseconds and the median of the others."""
    first, later = took[0], statistics.median(took[1:] or took)
    print(f"{name:42}{first:7.0f} ms first {later:7.0f} ms then  {later / bound:5.2f} of the bound", flush=True)


def laboratory(page: Page) -> None:
    """From a word of a definition to what it did on twenty documents."""
    visit(page, "Lab")
    page.get_by_text("Nothing tried yet").wait_for()
    box = page.get_by_role("textbox", name="Description")

    def change(number: int) -> Callable[[], None]:
        def act() -> None:
            box.fill(f"What guests say about it, wording {number}.")
            box.press("Tab")
            page.locator(".st-key-lab-did").get_by_text(f"try {number}, draft against v1 on 20 documents").wait_for()

        return act

    timed("Lab: a word to its outcome, 20 documents", 2000, *map(change, range(1, EDITS + 1)))


WAITS = """
() => {
  const place = document.querySelector(".st-key-review-acts");
  let since = 0;
  window.waits = [];
  new MutationObserver(() => {
    const words = place.querySelector(".moot-saved").textContent;
    if (words === "Saving…") since = since || performance.now();
    else if (since && words.includes("Saved")) { window.waits.push(performance.now() - since); since = 0; }
  }).observe(place, { childList: true, subtree: true, characterData: true });
}
"""


def reviewing(page: Page) -> None:
    """Measure from the edit of a cell to its "Saved", in the page itself, because a simulated click takes time."""
    visit(page, "Review")
    page.get_by_role("radio", name="Grid").click()
    cells = page.frame_locator("iframe").locator('.ag-row [col-id^="v_"]')
    cells.first.wait_for()
    page.evaluate(WAITS)
    for number in range(EDITS):
        cells.nth(5 * number).click()
        page.wait_for_function("number => window.waits.length > number", arg=number)
    print_times("Review: an edit, saved", 300, page.evaluate("window.waits"))
    page.wait_for_timeout(2000)


def evaluating(page: Page) -> None:
    """From a press to the page it asks for: opened for the first time, each of its views for the first time and again,
    and opened anew after something was decided in between."""
    chart = page.locator("[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg").first

    def opened() -> None:
        visit(page, "Evaluate")
        chart.wait_for()

    def idle() -> None:
        page.wait_for_timeout(50)
        page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()

    def look(view: str) -> Callable[[], None]:
        def act() -> None:
            page.get_by_role("radio", name=view, exact=True).click(force=True)
            idle()

        return act

    timed("Evaluate: opened", 1000, opened)
    idle()
    for view in ("Debate", "Errors", "Stability", "Annotators and models", "Scores"):
        timed(f"Evaluate: {view}", 1000, look(view), look("Debate" if view == "Scores" else "Scores"), look(view))
    visit(page, "Review")
    cell = page.frame_locator("iframe").locator('.ag-row [col-id^="v_"]').first
    cell.wait_for()
    cell.click()
    idle()
    timed("Evaluate: opened after a decision", 1000, opened)


def running(folder: Path) -> None:
    """A run whose page is open, as a multiple of its ideal time. The browser and the mock server share the machine."""
    documents, slots = 1000, 64
    ideal = documents * 3 * (TTFT + TOKENS * TPT) / slots
    path = folder / "run.duckdb"
    with mock_llm(slots=slots, ttft=TTFT, tpt=TPT, tokens=TOKENS) as url:
        with settings_in(folder):
            workspace = Workspace()
            models.add(workspace, "mock", f"{url}/v1")
            run_id = prepare(workspace, path, documents, slots)[1]
            workspace.close()
        with browsing(folder, "--project", str(path)) as page:
            visit(page, "Run")
            page.get_by_role("button", name="Go on").click()
            page.get_by_role("button", name="Live").click()
            page.locator(".st-key-run-header").get_by_text("done", exact=True).wait_for()
        with Project.open(path) as project:
            took = project.store.runs.get(run_id).seconds
    print(f"Run: {documents} documents while its page is open: {took / ideal:.2f} x ideal (at most 1.25)", flush=True)


@contextmanager
def settings_in(folder: Path) -> Iterator[None]:
    """Connections of this process are those of a studio in the folder."""
    before = dict(os.environ)
    os.environ.update(own_settings(folder))
    yield
    os.environ.clear()
    os.environ.update(before)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--documents", type=int, default=100_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        running(folder)
        with browsing(folder) as page:
            laboratory(page)
        path = folder / "large.duckdb"
        with Project.open(path) as project:
            fill(project, asked.documents)
        with browsing(folder, "--project", str(path)) as page:
            reviewing(page)
            evaluating(page)


if __name__ == "__main__":
    main()
