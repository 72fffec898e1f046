"""Take the screenshots of the documentation: ``python -m tests.browser.screenshots [FOLDER]``."""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from tests.browser.conftest import CHROMIUM, FLAGS
from tests.browser.studios import ROOT, settle, studio, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FOLDER = ROOT / "docs" / "images"


def take_all(browser: Browser, folder: Path) -> list[str]:
    """Walk through the main steps on the sample project; return the names of the screenshots in order."""
    names: list[str] = []
    folder.mkdir(parents=True, exist_ok=True)

    def take(page: Page, name: str) -> None:
        page.mouse.move(0, 0)
        page.get_by_test_id("stMain").evaluate("element => element.scrollTo(0, 0)")
        if name != "run":
            settle(page)
        page.wait_for_function("() => !document.querySelector('[data-stale=true]')")
        page.wait_for_timeout(1200)  # charts and fonts have no event for the end of drawing
        with Image.open(io.BytesIO(page.screenshot(animations="disabled"))) as picture:
            few_colours(picture.convert("RGB")).save(folder / f"{name}.png", optimize=True)
        names.append(f"{name}.png")

    with tempfile.TemporaryDirectory() as temporary, studio(Path(temporary)) as running:
        context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme="light")
        context.set_default_timeout(60_000)
        page = context.new_page()
        page.goto(running.entrance)
        page.get_by_text("Next steps in hotel-aspects").wait_for()
        take(page, "home")
        visit(page, "Data")
        page.get_by_text("hotel_reviews.csv").first.wait_for()
        take(page, "data")
        visit(page, "Codebook")
        page.get_by_role("textbox", name="Description").wait_for()
        take(page, "codebook")
        visit(page, "Models")
        pace = page.get_by_role("spinbutton", name="Pace (words per second)")
        pace.fill("40")
        pace.press("Tab")
        take(page, "models")
        visit(page, "Run")
        page.get_by_role("button", name="Start all 96", exact=True).click()
        page.get_by_text("speaking").first.wait_for()
        page.wait_for_timeout(9_000)  # until some debates have finished and others are active
        page.locator(".turn.active[aria-label=Critic]").wait_for()
        take(page, "run")
        page.get_by_text("All debates have finished.", exact=True).wait_for(timeout=600_000)
        visit(page, "Review")
        page.locator(".review-focus .form-row").first.wait_for()
        take(page, "review")
        visit(page, "Evaluate")
        page.get_by_text("Macro F1").first.wait_for()
        page.locator(".stVegaLiteChart").first.wait_for()
        take(page, "evaluate")
        visit(page, "Lab")
        page.get_by_test_id("stMain").get_by_text("Lab").first.wait_for()
        take(page, "lab")
        visit(page, "Export")
        page.get_by_role("button", name="Download", exact=True).wait_for()
        take(page, "export")
        context.close()
    return names


def few_colours(picture: Image.Image) -> Image.Image:
    """Return the picture in its 256 most frequent colours: a third of the size, with exact surface colours."""
    counts = sorted(picture.getcolors(1 << 24) or [], reverse=True)
    palette = Image.new("P", (1, 1))
    palette.putpalette([channel for _, colour in counts[:256] for channel in colour])  # type: ignore[union-attr]
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


def main(folder: Path) -> None:
    """Take the screenshots into a folder."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        print(*take_all(chromium, folder))
        chromium.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
