"""Measure waiting times in a browser: ``python -m tests.benchmarks.browser [--documents 100000]``.

Prints the milliseconds from a click to its effect on the screen: the first time, and the median of the others. The Lab
is measured on the sample project, Review and Evaluate on a project of that many documents (see
``tests.benchmarks.review``). Needs Debian's chromium.
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
from tests.browser.studios import own_settings, studio, visit
from tests.servers.running import mock_llm

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATIENCE = 120_000
SETTLING = 6000
"""Milliseconds on the first page before the measurements."""
EDITS = 7


@contextmanager
def browsing(folder: Path, *options: str) -> Iterator[Page]:
    """Start a studio and yield a page on it."""
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


def timed(name: str, bound: int, *acts: Callable[[], object]) -> None:
    """Do each action once, and print the times."""
    times = []
    for act in acts:
        start = time.perf_counter()
        act()
        times.append(1000 * (time.perf_counter() - start))
    print_times(name, bound, times)


def print_times(name: str, bound: int, times: Sequence[float]) -> None:
    """Print the first time in milliseconds and the median of the others."""
    first, later = times[0], statistics.median(times[1:] or times)
    print(f"{name:42}{first:7.0f} ms first {later:7.0f} ms then  {later / bound:5.2f} of the bound", flush=True)


def measure_lab(page: Page) -> None:
    """Measure from an edit of a definition to its result on 20 documents."""
    visit(page, "Lab")
    page.get_by_text("No tests yet").wait_for()
    box = page.get_by_role("textbox", name="Description")

    def change(number: int) -> Callable[[], None]:
        def act() -> None:
            box.fill(f"What guests say about it, wording {number}.")
            box.press("Tab")
            page.locator(".st-key-lab-did").get_by_text(f"test {number}, draft against v1 on 20 documents").wait_for()

        return act

    timed("Lab: an edit to its result, 20 documents", 2000, *map(change, range(1, EDITS + 1)))


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


def measure_review(page: Page) -> None:
    """Measure from "Saving" to "Saved" in the page itself, because a simulated click takes time."""
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


PAGES = ("Data", "Codebook", "Models", "Run", "Runs", "Review", "Evaluate", "Compare", "Lab", "Export")
CONTENT = {"Review": ".middle .mono", "Evaluate": "[data-testid=stVegaLiteChart] :is(canvas, svg)"}
"""What must be on a page besides its heading: a document, a chart."""
FROM_CLICK = """
(content) => {
  const heading = () => document.querySelector("[data-testid=stMainBlockContainer] h1")?.textContent;
  const has = (root) =>
    root.querySelector(content) || [...root.querySelectorAll("*")].some((el) => el.shadowRoot && has(el.shadowRoot));
  delete window.shown;
  const start = () => {
    const clicked = performance.now();
    const before = heading();
    const look = () => {
      if (heading() && heading() !== before && has(document)) window.shown = performance.now() - clicked;
      else requestAnimationFrame(look);
    };
    look();
  };
  document.addEventListener("click", start, { once: true, capture: true });
}
"""


def measure_pages(page: Page) -> None:
    """Measure from a click in the sidebar to the page's content, in the page itself: the first time, and again."""
    for name in PAGES:
        times = []
        for _ in range(2):
            page.evaluate(FROM_CLICK, CONTENT.get(name, "h1"))
            visit(page, name)
            page.wait_for_function("() => window.shown")
            times.append(page.evaluate("window.shown"))
            page.wait_for_timeout(SETTLING)
            visit(page, "Home")
            page.wait_for_timeout(SETTLING)
        print_times(f"{name}: opened", 1000, times)


def measure_evaluate(page: Page) -> None:
    """Measure the tabs of Evaluate for the first time and again, and opening it after a review decision."""
    chart = page.locator("[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg").first

    def opened() -> None:
        visit(page, "Evaluate")
        chart.wait_for()

    def idle() -> None:
        page.wait_for_timeout(50)
        page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()

    def open_tab(view: str) -> Callable[[], None]:
        def act() -> None:
            page.get_by_role("radio", name=view, exact=True).click(force=True)
            idle()

        return act

    opened()
    idle()
    for view in ("Debate", "Errors", "Stability", "Annotators and models", "Scores"):
        other = "Debate" if view == "Scores" else "Scores"
        timed(f"Evaluate: {view}", 1000, open_tab(view), open_tab(other), open_tab(view))
    visit(page, "Review")
    cell = page.frame_locator("iframe").locator('.ag-row [col-id^="v_"]').first
    cell.wait_for()
    cell.click()
    idle()
    timed("Evaluate: opened after a decision", 1000, opened)


def measure_run(folder: Path) -> None:
    """Measure a run with its page open relative to the ideal; browser and mock server share the machine."""
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
            page.get_by_role("button", name="Resume").click()
            page.get_by_role("button", name="Live").click()
            page.locator(".st-key-run-header").get_by_text("done", exact=True).wait_for()
        with Project(path) as project:
            seconds = project.store.runs.get(run_id).seconds
    print(f"Run: {documents} documents with its page open: {seconds / ideal:.2f} x ideal (at most 1.25)", flush=True)


@contextmanager
def settings_in(folder: Path) -> Iterator[None]:
    """Use the settings folders of a studio in this folder."""
    before = dict(os.environ)
    os.environ.update(own_settings(folder))
    yield
    os.environ.clear()
    os.environ.update(before)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--documents", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measure_run(folder)
        with browsing(folder) as page:
            measure_lab(page)
        path = folder / "large.duckdb"
        with Project(path) as project:
            fill(project, options.documents)
        with browsing(folder, "--project", str(path)) as page:
            measure_pages(page)
            measure_review(page)
            measure_evaluate(page)


if __name__ == "__main__":
    main()
