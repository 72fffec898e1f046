"""Every page in both themes, checked by axe-core: contrast AA, names of controls, roles, alternative texts."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from app.pages import PAGES
from tests.browser.studios import ROOT, studio
from tests.core.cli.invoking import moot

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.browser

AXE = "axe-core@4.14.1"
OPTIONS: dict[str, Any] = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"],
    "resultTypes": ["violations"],
}


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core's script, from npm."""
    if shutil.which("npm") is None:
        pytest.skip("needs npm for axe-core")
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run(["npm", "pack", "--silent", AXE], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"npm cannot fetch {AXE}: {done.stderr.strip()[-300:]}")
    with tarfile.open(folder / done.stdout.split()[-1]) as packed:
        packed.extractall(folder, filter="data")
    return (folder / "package" / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def entrance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A studio whose project has two runs."""
    folder = tmp_path_factory.mktemp("accessibility")
    sample, project = ROOT / "sample_data", folder / "p.duckdb"
    for protocol in ("ecj", "single"):
        moot(
            "annotate", sample / "hotel_reviews.csv", "--text", "text", "--id", "id", "--gold-same-names",
            "--codebook", sample / "hotel_aspects.yaml", "--project", project, "--protocol", protocol,
        )  # fmt: skip
    with studio(folder, "--project", str(project)) as running:
        yield running.entrance


@pytest.fixture(scope="module", params=["light", "dark"])
def page(request: pytest.FixtureRequest, browser: Browser, entrance: str) -> Iterator[Page]:
    context: BrowserContext = browser.new_context(
        viewport={"width": 1280, "height": 800},
        color_scheme=request.param,
        reduced_motion="reduce",
        bypass_csp=True,  # axe-core is evaluated in the page
    )
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(entrance)
    page.get_by_text("Next steps").wait_for()
    yield page
    context.close()


def visit(page: Page, title: str) -> None:
    page.get_by_test_id("stSidebar").get_by_role("link", name=title, exact=True).click()
    page.wait_for_timeout(500)
    page.wait_for_function("() => !document.querySelector('[data-test-script-state=running]')")
    page.wait_for_timeout(1500)


@pytest.mark.parametrize("title", [page.title for page in PAGES.values()])
def test_page_has_no_violations(page: Page, axe: str, title: str) -> None:
    visit(page, title)
    page.evaluate(axe)
    found = page.evaluate("options => axe.run(document, options)", OPTIONS)["violations"]
    assert not found, "\n".join(
        f"{violation['id']}: {violation['help']}\n    {node['target']} {node['html'][:160]}\n    "
        + node["failureSummary"].replace("\n", " ")[:300]
        for violation in found
        for node in violation["nodes"][:4]
    )
