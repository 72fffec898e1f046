"""Tests of the accessibility of every page: axe-core (WCAG 2.1 AA) in both themes, and the keyboard."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from app.pages import PAGES
from tests.browser.studios import ROOT, settle, studio, visit
from tests.core.cli.invoking import moot

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.browser

AXE = "axe-core@4.14.1"
OPTIONS: dict[str, Any] = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"],
    "resultTypes": ["violations"],
}
COLOURS: dict[str, Any] = OPTIONS | {"runOnly": ["color-contrast", "link-in-text-block"]}
"""Options with the rules whose result depends on the theme."""
VIOLATIONS = """async (options) => {
  const end = Date.now() + 5000;
  for (;;) {
    const {violations} = await axe.run(document, options);
    if (!violations.length || Date.now() > end) return violations;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}"""
"""Return the violations after at most five seconds. A theme change redraws the page; elements that are not redrawn yet
fail the contrast test."""
NO_ANIMATION = "*, *::before, *::after { transition: none !important; animation: none !important; }"

LAST = {
    "Data": ".document-list tr[data-id]",
    "Review": ".review-focus .form-row",
    "Runs": ".leaderboard tbody tr",
}
"""Selectors of the last content that loads, by page title."""

VIEWS = [
    ("Data", "h001"),
    ("Codebook", "Files"),
    ("Review", "Grid"),
    ("Review", "Agreement"),
    ("Evaluate", "Debate"),
    ("Evaluate", "Errors"),
    ("Evaluate", "Stability"),
    ("Lab", "Extractor"),
]
"""Titles of pages and texts of the controls that open another view of them: a tab, a menu, a document."""

FOCUS = """() => {
  const visible = (node) => node.checkVisibility({visibilityProperty: true}) && node.getClientRects().length > 0;
  const inside = (node) => node.shadowRoot ?? (node.tagName === 'IFRAME' ? node.contentDocument : null);
  const walk = (root) => [...root.querySelectorAll('*')].flatMap(
    (node) => inside(node) ? [node, ...walk(inside(node))] : [node]);
  const active = (root = document) => {
    const found = root.activeElement;
    return found && inside(found)?.activeElement ? active(inside(found)) : found;
  };
  const above = (node) => node.parentElement ?? node.getRootNode().host ?? null;
  const chain = (node) => node ? [node, ...chain(above(node))] : [];
  const styleOf = (node) => {
    const near = [...chain(node).slice(0, 5), ...node.children, ...(node.parentElement?.children ?? []),
                  ...(node.closest('label')?.querySelectorAll('*') ?? [])];
    return near.map((each) => {
      const own = getComputedStyle(each);
      return [own.outlineStyle, own.outlineWidth, own.outlineColor, own.boxShadow, own.borderColor,
              own.borderBottomColor, own.backgroundColor, own.color, own.textDecorationLine].join();
    }).join('|');
  };
  const name = (node) => `${node.tagName.toLowerCase()} "${(node.getAttribute('aria-label') || node.innerText
    || node.getAttribute('name') || node.className || '').toString().trim().slice(0, 60)}"`;
  const controls = () => walk(document).filter((node) =>
    node.matches('a[href], button, input, select, textarea, summary, [tabindex], [contenteditable=true]')
    && !node.matches(':disabled') && node.tabIndex >= 0 && node.tagName !== 'IFRAME' && visible(node));
  const frame = () => new Promise(requestAnimationFrame);
  const unfocused = new Map();
  const seen = new Map();
  const order = [];
  let inner = 0;
  const step = async () => {
    const now = active();
    if (!now || now === document.body) return true;  // the focus is between the last control and the first
    if (seen.has(now)) {
      inner = now === order.at(-1) ? inner + 1 : 1000;
      return inner < 100;  // Tab may move within a control, as in a table of cells
    }
    inner = 0;
    const marked = () => styleOf(now) !== unfocused.get(now) || now.tagName === 'CANVAS';  // a canvas draws its mark
    for (let wait = 0; wait < 3 && unfocused.has(now) && !marked(); wait += 1) await frame();
    seen.set(now, !unfocused.has(now) || marked());
    order.push(now);
    return true;
  };
  const area = (node) => chain(node).some((each) => each.dataset?.testid === 'stSidebar') ? 'sidebar'
    : chain(node).some((each) => each.dataset?.testid === 'stMain') ? 'main' : 'frame';
  window.focusWalk = {
    start: () => {  // Tab continues where a focused element was removed: before the first control
      const first = document.createElement('span');
      first.tabIndex = -1;
      document.body.prepend(first);
      first.focus();
      first.remove();
      for (const node of controls()) unfocused.set(node, styleOf(node));
      return unfocused.size;
    },
    step,
    result: () => {
      step();
      const left = controls();
      // arrow keys move within these groups
      const group = (node) => node.type === 'radio' ? node.name
        : node.closest('[role=toolbar], [role=radiogroup], [role=tablist], [role=grid], [role=listbox]');
      const groups = new Set([...seen.keys()].map(group).filter(Boolean));
      return {
        unreached: left.filter((node) => !seen.has(node) && !groups.has(group(node))).map(name),
        unmarked: [...seen].filter(([node, marked]) => !marked && node.isConnected).map(([node]) => name(node)),
        positive: left.filter((node) => node.tabIndex > 0).map(name),
        areas: order.map(area).filter((each, at, all) => each !== all[at - 1]),
        redrawn: [...unfocused.keys()].some((node) => !node.isConnected),
        mouse_only: walk(document).filter((node) => visible(node) && getComputedStyle(node).cursor === 'pointer'
          && getComputedStyle(above(node) ?? node).cursor !== 'pointer'
          && !chain(node).some((each) => each.matches('label, a, button, summary, input, [tabindex]'))
          && !node.querySelector('a, button, input, [tabindex]')).map(name),
      };
    },
  };
}"""


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the script of axe-core from npm."""
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
    """Start a studio on a project with two runs and yield its address."""
    folder = tmp_path_factory.mktemp("accessibility")
    sample, project = ROOT / "sample_data", folder / "p.duckdb"
    for protocol in ("ecj", "single"):
        moot(
            "annotate",
            sample / "hotel_reviews.csv",
            "--text",
            "text",
            "--id",
            "id",
            "--gold-same-names",
            "--codebook",
            sample / "hotel_aspects.yaml",
            "--project",
            project,
            "--protocol",
            protocol,
            "--limit",
            24,
        )
    with studio(folder, "--project", str(project)) as running:
        yield running.entrance


@pytest.fixture(scope="module")
def page(browser: Browser, entrance: str, axe: str) -> Iterator[Page]:
    context: BrowserContext = browser.new_context(
        viewport={"width": 1280, "height": 800},
        reduced_motion="reduce",
        bypass_csp=True,  # axe-core is evaluated in the page
    )
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(entrance)
    page.get_by_text("Next steps").wait_for()
    page.add_style_tag(content=NO_ANIMATION)
    page.evaluate(axe)
    yield page
    context.close()


@pytest.fixture(scope="module", params=[page.title for page in PAGES.values()])
def screen(request: pytest.FixtureRequest, page: Page) -> Page:
    """Open each page and wait for its last content."""
    open_page(page, request.param)
    if request.param in LAST:
        page.locator(LAST[request.param]).first.wait_for()
    return page


def open_page(page: Page, title: str) -> None:
    visit(page, title)
    page.locator(".st-key-current-page", has_text=title).wait_for()


def test_page_has_no_violations_in_either_theme(screen: Page) -> None:
    check_themes(screen)


def check_themes(screen: Page) -> None:
    """Check the shown theme, then the other one, which the next page keeps: each change redraws the page."""
    dark = screen.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    for scheme, options in (("dark" if dark else "light", OPTIONS), ("light" if dark else "dark", COLOURS)):
        screen.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        settle(screen)
        report = screen.evaluate(VIOLATIONS, options)
        assert not report, f"{scheme}\n" + "\n".join(
            f"{violation['id']}: {violation['help']}\n    {node['target']} {node['html'][:160]}\n    "
            + node["failureSummary"].replace("\n", " ")[:300]
            for violation in report
            for node in violation["nodes"][:4]
        )


def test_list_that_scrolls_cuts_its_last_row(page: Page) -> None:
    """Show that the list goes on also where the system hides scroll bars."""
    open_page(page, "Data")
    page.locator(LAST["Data"]).first.wait_for()
    parts = page.locator(".document-list").evaluate(
        """list => {
            const end = list.getBoundingClientRect().bottom;
            const rows = [...list.querySelectorAll('tr[data-id]')].map((row) => row.getBoundingClientRect());
            const cut = rows.filter(({ top, bottom }) => top < end && end < bottom);
            return cut.map(({ top, height }) => (end - top) / height);
        }"""
    )
    assert len(parts) == 1
    assert 0.3 < parts[0] < 0.7


def test_tab_reaches_every_control_in_order_with_a_visible_focus(screen: Page) -> None:
    for _ in range(3):  # on a busy machine the page redraws late for the theme of the last test, and controls move
        result = walk_through_controls(screen)
        redrawn, areas = result.pop("redrawn"), result.pop("areas")
        if not redrawn or not any(result.values()):
            break
    assert not {key: values for key, values in result.items() if values}
    assert areas == ["frame", "sidebar", "main"], "the order is: link to skip the sidebar, sidebar, page"


def walk_through_controls(screen: Page) -> dict[str, Any]:
    """Press Tab until the focus returns to the start of the page, and return what was found on the way."""
    settle(screen)
    screen.evaluate(FOCUS)
    count = screen.evaluate("focusWalk.start()")
    assert count > 10
    for _ in range(2 * count + 100):
        screen.keyboard.press("Tab")
        if not screen.evaluate("focusWalk.step()"):
            break
    else:
        pytest.fail("the focus never returns to the start of the page")
    return dict(screen.evaluate("focusWalk.result()"))


@pytest.mark.parametrize(("title", "view"), VIEWS)
def test_view_of_a_page_has_no_violations_in_either_theme(page: Page, title: str, view: str) -> None:
    open_page(page, title)
    settle(page)
    page.get_by_test_id("stMain").get_by_text(view, exact=True).first.click()
    check_themes(page)
