"""Names with markup and injected scripts, on every page in a real browser."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from app.pages import PAGES
from core.runs import RunDetails
from core.services.workspace import Workspace
from tests.browser.studios import settle, visit
from tests.core.cli.invoking import moot

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.studios import OpenStudio

pytestmark = pytest.mark.browser

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

VIEWS = re.compile("^(View|Analysis|Settings|Edit)$")
"""Names of the controls that show another part of a page."""

CUT = "tables => tables.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerText)"


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
        for number in range(16):
            text = ("The staff were kind. ", "Breakfast was cold. ")[number % 2] + _name(f"text {number}")
            rows.writerow([_name(f"id {number}"), text, _name("context"), number // 2 % 2, _name("group")])
    path = folder / "<b data-owned>**owned**$x^2$:red[owned].duckdb"
    for limit in (12, 16):
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


def test_pages_show_names_as_text_and_block_injected_scripts(open_studio: OpenStudio, project: Path) -> None:
    running, page = open_studio("--project", project, path="/_stcore/health", height=1000)
    page.add_init_script(RECORD)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(running.address)
    for screen in PAGES.values():
        visit(page, screen.title)
        page.locator(".st-key-current-page", has_text=screen.title).wait_for()
        _look(page)
        views = page.get_by_test_id("stMain").get_by_role("radiogroup", name=VIEWS).get_by_role("radio")
        for number in range(views.count()):
            if not views.nth(number).is_checked():
                views.nth(number).click(force=True)
                _look(page)
    assert page.evaluate(INJECTED) == []
    assert len(page.evaluate("violations")) >= 6
    assert not [url for url in requests if url.startswith("http://o.test")]
    assert "Traceback" not in running.log, running.log


def _look(page: Page) -> None:
    settle(page)
    assert page.evaluate(FOUND) == []
    assert page.locator(".inline .drawer-table").evaluate_all(CUT) == []
    assert page.get_by_test_id("stException").count() == 0
    assert page.evaluate("violations") == [], "the page breaks its own content security policy"
