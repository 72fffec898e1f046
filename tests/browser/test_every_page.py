"""Tests of every page of a project whose names are all markup: everything that a file or another person can name.

axe-core (WCAG 2.1 AA) in both themes, the keyboard, names shown as text, and injected scripts.
"""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from app.pages import PAGES
from core.runs import RunDetails
from core.services.workspace import Workspace
from tests.browser.studios import Studio, settle, studio, visit
from tests.core.cli.invoking import moot

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

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

CHOICES = re.compile("^(View|Analysis|Settings|Edit)$")
"""Names of the controls that show another view of a page."""
VIEWS = {
    "Codebook": {"Files"},
    "Review": {"Grid", "Agreement"},
    "Evaluate": {"Debate", "Errors", "Stability"},
    "Lab": {"Extractor"},
}
"""Texts of the controls whose views are tested with axe-core too, by page title."""

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
    const marked = () => now.checkVisibility({opacityProperty: true})
      && (styleOf(now) !== unfocused.get(now) || now.tagName === 'CANVAS');  // a canvas draws its mark
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


FOUND = """() => {
  const found = [];
  const walk = (root) => {
    for (const node of root.querySelectorAll('*')) {
      const isStyled = ['STRONG', 'SPAN'].includes(node.tagName) && node.innerHTML === 'owned';
      const isRead = node.dataset?.owned || isStyled || node.innerHTML === 'skull' || node.classList.contains('katex');
      const leads = (node.getAttribute('src') || node.getAttribute('href') || '').startsWith('http://o.test');
      if (isRead || leads) found.push(node.parentElement.outerHTML.slice(0, 300));
      if (node.shadowRoot) walk(node.shadowRoot);
      if (node.tagName === 'IFRAME' && node.contentDocument) walk(node.contentDocument);
    }
  };
  walk(document);
  return found;
}"""

RECORD = (
    "window.violations = []; addEventListener('securitypolicyviolation', (event) => "
    "violations.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}`))"
)
INJECTED = """() => {
  window.owned = [];
  const place = document.createElement('div');
  place.innerHTML = '<img src=x onerror="owned.push(1)"><a href="javascript:owned.push(2)">x</a>' +
    '<iframe srcdoc="<script>parent.owned.push(3)</script>"></iframe><svg onload="owned.push(4)"></svg>';
  document.body.append(place);
  place.querySelector('a').click();
  for (const [name, value] of [['textContent', 'owned.push(5)'], ['src', 'data:text/javascript,owned.push(6)'],
                               ['src', 'http://127.0.0.1:9/x.js']]) {
    const script = document.createElement('script');
    script[name] = value;
    document.body.append(script);
  }
  const late = document.createElement('button');
  late.onclick = () => setTimeout('owned.push(7)');
  late.click();
  const began = Date.now();
  return new Promise((resolve) => {
    const check = () => {  // the browser reports violations with a delay
      const waited = Date.now() - began;
      if (waited < 300 || (violations.length < 6 && waited < 10000)) return setTimeout(check, 50);
      place.remove();
      resolve(window.owned);
    };
    check();
  });
}"""


CUT = "tables => tables.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerText)"


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


def _name(of: str) -> str:
    links = "[x](http://o.test)![x](http://o.test/x.png)"
    return f'<b data-owned="1">{of}</b>**owned**:red[owned]:material/skull:{links}$x^2$'


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a project with two runs on a file and a codebook whose names are all markup."""
    folder = tmp_path_factory.mktemp("hostile")
    labels = [_name("Service"), _name("Food")]
    codebook = {
        "name": _name("codebook"),
        "unit": _name("review"),
        "guideline": _name("guideline"),
        "labels": [
            {"name": name, "description": name, "keywords": [word, name]}
            for name, word in zip(labels, ("staff", "breakfast"), strict=True)
        ],
    }
    (folder / "codebook.yaml").write_text(yaml.safe_dump(codebook))
    columns = [_name(name) for name in ("id", "text", "context", "gold", "group")]
    with (folder / "documents.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        for number in range(32):
            text = ("The staff were kind. ", "Breakfast was cold. ")[number % 2] + _name(f"text {number}")
            rows.writerow([_name(f"id {number}"), text, _name("context"), number // 2 % 2, _name("group")])
    path = folder / "<b data-owned>**owned**$x^2$:red[owned].duckdb"
    for limit in (16, 24):
        moot(
            "annotate",
            folder / "documents.csv",
            "--codebook",
            folder / "codebook.yaml",
            "--project",
            path,
            "--id",
            columns[0],
            "--text",
            columns[1],
            "--context",
            columns[2],
            "--group",
            columns[4],
            *(f"--gold={label}={columns[3]}@{_name(rater)}" for label in labels for rater in ("Ann", "Bob")),
            "--limit",
            limit,
        )
    workspace = Workspace()
    session = workspace.open(path)
    details = RunDetails(name=_name("run"), note=_name("note"), tags=(_name("tag"),))
    session.store.runs.describe({run.run_id: details for run in session.all_runs()})
    workspace.close()
    return path


@pytest.fixture(scope="module")
def running(project: Path) -> Iterator[Studio]:
    with studio(project.parent, "--project", str(project)) as running:
        yield running


@pytest.fixture(scope="module")
def requests() -> list[str]:
    """Return the addresses that the page requests."""
    return []


@pytest.fixture(scope="module")
def page(profile: BrowserContext, running: Studio, axe: str, requests: list[str]) -> Iterator[Page]:
    page = profile.new_page()
    page.add_init_script(RECORD)
    page.on("request", lambda request: requests.append(request.url))
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(running.entrance)
    page.get_by_text("Next steps").wait_for()
    page.add_style_tag(content=NO_ANIMATION)
    page.evaluate(axe)
    yield page
    page.close()


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
    expect_text(screen)


def expect_text(screen: Page) -> None:
    """Look for names that the page reads as markup, and for violations of its own content security policy."""
    assert screen.evaluate(FOUND) == []
    assert screen.locator(".inline .drawer-table").evaluate_all(CUT) == []
    assert screen.get_by_test_id("stException").count() == 0
    assert screen.evaluate("violations") == []


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


def test_list_of_documents_keeps_its_height_free_until_it_is_drawn(profile: BrowserContext, running: Studio) -> None:
    page = profile.new_page()
    page.route("**/document_list.js", lambda route: route.abort())
    page.goto(running.entrance)
    open_page(page, "Data")
    page.locator(".st-key-data-table").wait_for(state="attached")
    box = page.locator(".st-key-data-table").bounding_box()
    page.close()
    assert box is not None
    assert box["height"] == 480


def test_next_line_of_a_quote_does_not_cover_its_underline(page: Page) -> None:
    open_page(page, "Review")
    page.get_by_test_id("stMain").get_by_text("Focus", exact=True).click()  # an earlier test may have left another view
    page.locator(LAST["Review"]).first.wait_for()
    overlaps = page.locator(".evidence").evaluate_all(
        """all => all.flatMap((one) => {
            const lines = [...one.getClientRects()];
            return lines.slice(1).map(({ top }, number) => lines[number].bottom - top);
        })"""
    )
    assert overlaps, "no quote has two lines"
    assert max(overlaps) < 0.5


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


def test_other_views_of_a_page_have_no_violations(screen: Page, request: pytest.FixtureRequest) -> None:
    main = screen.get_by_test_id("stMain")
    title = request.node.callspec.params["screen"]
    left = set(VIEWS.get(title, ()))
    choices = main.get_by_role("radiogroup", name=CHOICES).get_by_role("radio")
    for number in range(choices.count()):
        if not choices.nth(number).is_checked():
            choices.nth(number).click(force=True)
            settle(screen)
            shown = choices.nth(number).inner_text()
            if shown in left:
                left.remove(shown)
                check_themes(screen)
            expect_text(screen)
    for view in left:
        main.get_by_text(view, exact=True).first.click()
        check_themes(screen)
        expect_text(screen)
    if title == "Data":
        screen.locator(LAST["Data"]).first.click()
        screen.locator(".document-drawer").wait_for()
        check_themes(screen)
        expect_text(screen)


def test_injected_scripts_are_blocked(page: Page, running: Studio, requests: list[str]) -> None:
    assert page.evaluate(INJECTED) == []
    assert len(page.evaluate("violations")) >= 6
    assert not [url for url in requests if url.startswith("http://o.test")]
    assert "Traceback" not in running.log, running.log
