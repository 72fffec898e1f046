"""Every page in both themes, checked by axe-core (contrast AA, names, roles, alternative texts), and by keyboard."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from app.pages import PAGES
from tests.browser.studios import ROOT, settle, studio
from tests.core.cli.invoking import moot

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.browser

AXE = "axe-core@4.14.1"
OPTIONS: dict[str, Any] = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"],
    "resultTypes": ["violations"],
}
STILL = "*, *::before, *::after { transition: none !important; animation: none !important; }"

LAST = {
    "Data": ".document-list tr[data-id]",
    "Review": ".review-focus .form-row",
    "Runs": ".leaderboard tbody tr",
}
"""What a page that loads its content itself shows last, by title."""

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
  const look = (node) => {
    const near = [...chain(node).slice(0, 5), ...node.children, ...(node.parentElement?.children ?? []),
                  ...(node.closest('label')?.querySelectorAll('*') ?? [])];
    return near.map((each) => {
      const style = getComputedStyle(each);
      return [style.outlineStyle, style.outlineWidth, style.outlineColor, style.boxShadow, style.borderColor,
              style.borderBottomColor, style.backgroundColor, style.color, style.textDecorationLine].join();
    }).join('|');
  };
  const name = (node) => `${node.tagName.toLowerCase()} "${(node.getAttribute('aria-label') || node.innerText
    || node.getAttribute('name') || node.className || '').toString().trim().slice(0, 60)}"`;
  const controls = () => walk(document).filter((node) =>
    node.matches('a[href], button, input, select, textarea, summary, [tabindex], [contenteditable=true]')
    && !node.matches(':disabled') && node.tabIndex >= 0 && node.tagName !== 'IFRAME' && visible(node));
  const frame = () => new Promise(requestAnimationFrame);
  const atRest = new Map();
  const seen = new Map();
  const order = [];
  let inner = 0;
  const step = async () => {
    const now = active();
    if (!now || now === document.body) return true;  // between the last control and the first
    if (seen.has(now)) {
      inner = now === order.at(-1) ? inner + 1 : 1000;
      return inner < 100;  // Tab may go on inside of a control, as in a table of cells
    }
    inner = 0;
    const marked = () => look(now) !== atRest.get(now) || now.tagName === 'CANVAS';  // a canvas draws its own mark
    for (let wait = 0; wait < 3 && atRest.has(now) && !marked(); wait += 1) await frame();
    seen.set(now, !atRest.has(now) || marked());
    order.push(now);
    return true;
  };
  const area = (node) => chain(node).some((each) => each.dataset?.testid === 'stSidebar') ? 'sidebar'
    : chain(node).some((each) => each.dataset?.testid === 'stMain') ? 'main' : 'frame';
  window.focusWalk = {
    start: () => {  // before the first control: where an element was focused and removed, Tab goes on
      const first = document.createElement('span');
      first.tabIndex = -1;
      document.body.prepend(first);
      first.focus();
      first.remove();
      for (const node of controls()) atRest.set(node, look(node));
      return atRest.size;
    },
    step,
    result: () => {
      step();
      const left = controls();
      // arrow keys move inside of these
      const group = (node) => node.type === 'radio' ? node.name
        : node.closest('[role=toolbar], [role=radiogroup], [role=tablist], [role=grid], [role=listbox]');
      const groups = new Set([...seen.keys()].map(group).filter(Boolean));
      return {
        unreached: left.filter((node) => !seen.has(node) && !groups.has(group(node))).map(name),
        unmarked: [...seen].filter(([node, marked]) => !marked && node.isConnected).map(([node]) => name(node)),
        positive: left.filter((node) => node.tabIndex > 0).map(name),
        areas: order.map(area).filter((each, at, all) => each !== all[at - 1]),
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


@pytest.fixture(scope="module")
def page(browser: Browser, entrance: str) -> Iterator[Page]:
    context: BrowserContext = browser.new_context(
        viewport={"width": 1280, "height": 800},
        reduced_motion="reduce",
        bypass_csp=True,  # axe-core is evaluated in the page
    )
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(entrance)
    page.get_by_text("Next steps").wait_for()
    page.add_style_tag(content=STILL)
    yield page
    context.close()


@pytest.fixture(scope="module", params=[page.title for page in PAGES.values()])
def screen(request: pytest.FixtureRequest, page: Page) -> Page:
    """Each page, complete."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.get_by_test_id("stSidebar").get_by_role("link", name=request.param, exact=True).click()
    page.locator(".st-key-current-page", has_text=request.param).wait_for()
    if request.param in LAST:
        page.locator(LAST[request.param]).first.wait_for()
    settle(page)
    return page


def test_page_has_no_violations_in_either_theme(screen: Page, axe: str) -> None:
    screen.evaluate(axe)
    for scheme in ("light", "dark"):
        screen.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        for _ in range(6):  # a change of theme draws the page anew, and what is not yet drawn is pale
            settle(screen)
            found = screen.evaluate("options => axe.run(document, options)", OPTIONS)["violations"]
            if not found:
                break
            screen.wait_for_timeout(500)
        assert not found, f"{scheme}\n" + "\n".join(
            f"{violation['id']}: {violation['help']}\n    {node['target']} {node['html'][:160]}\n    "
            + node["failureSummary"].replace("\n", " ")[:300]
            for violation in found
            for node in violation["nodes"][:4]
        )


def test_tab_reaches_every_control_in_order_and_shows_where_it_is(screen: Page) -> None:
    screen.evaluate(FOCUS)
    count = screen.evaluate("focusWalk.start()")
    assert count > 10
    for _ in range(2 * count + 100):
        screen.keyboard.press("Tab")
        if not screen.evaluate("focusWalk.step()"):
            break
    else:
        pytest.fail("the focus never returns to the start of the page")
    found = screen.evaluate("focusWalk.result()")
    assert not {key: values for key, values in found.items() if key != "areas" and values}
    assert found["areas"] == ["frame", "sidebar", "main"], "a link to skip the sidebar, the sidebar, the page"
