"""Tests of the live run in a browser: no action loses or repeats text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from core.codebook import Codebook, Label
from core.documents import Document
from core.services.workspace import Workspace
from tests.browser.conftest import SLOW
from tests.browser.studios import Studio, expect_long_word_in_blocks, run_in_thread, studio, visit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import BrowserContext, Locator, Page, WebSocket

    from tests.browser.studios import OpenTab

pytestmark = pytest.mark.browser

LABELS = {"Cleanliness": "clean", "Service": "friendly", "Price": "cheap", "Location": "central", "Food": "breakfast"}
HOSTILE = "The clean <img src=x onerror=window.__owned=1><script>window.__owned=1</script> bath. " + "w" * 50_000


def create_project(path: Path) -> None:
    """Create a project whose run goes on for longer than the tests. Every seventh document is hostile."""
    workspace = Workspace()
    session = workspace.open(path)
    session.store.codebooks.save(Codebook(labels=tuple(Label(name=name, keywords=(LABELS[name],)) for name in LABELS)))
    session.store.documents.add(
        Document(
            f"{number:04d}",
            {
                "text": f"Room {number} was clean. Friendly staff! It was cheap and central, with breakfast. "
                + (HOSTILE if number % 7 == 3 else "")
            },
        )
        for number in range(401, 3401)
    )
    workspace.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, profile: BrowserContext) -> Iterator[Studio]:
    """Start a studio and the run of its project."""
    folder = tmp_path_factory.mktemp("studio")
    run_in_thread(create_project, folder / "live.duckdb")
    preferences = folder / "config" / "moot" / "preferences.json"
    preferences.parent.mkdir(parents=True)
    preferences.write_text('{"pace": 14}')  # words per second; without a chosen pace, such a long run is instant
    with studio(folder, "--project", str(folder / "live.duckdb")) as running:
        profile.request.get(running.entrance, max_redirects=0)  # sets the cookie
        page = profile.new_page()
        page.goto(f"{running.address}/run")
        page.get_by_role("button", name="Start all 3,000").click()
        page.locator(".tile .id").first.wait_for()
        page.close()
        yield running


@pytest.fixture
def page(open_tab: OpenTab, running: Studio, tab: Page) -> Page:
    page = open_tab(running.entrance, "/run", width=1600, height=1000, tab=tab)
    page.wait_for_selector(".tile .id")
    return page


ALL = """(selector) => [...document.querySelectorAll('*')].map(e => e.shadowRoot).filter(Boolean)
  .flatMap(root => [...root.querySelectorAll(selector)])"""
REPLY_TEXT = f"""({ALL})('.turns .reply').map(e => e.textContent.replace(/[*"“”]/g, '')).join('|')"""
"""The replies of the shown debate, without the characters that formatting removes."""


def focused_document(page: Page) -> Locator:
    return page.locator(".columns .panel-head .mono").first


def click_tile(tile: Locator) -> str:
    """Click a tile and return the id of its debate, in one step because the tiles of a live run change."""
    clicked = tile.evaluate("tile => { const id = tile.querySelector('.id').textContent; tile.click(); return id; }")
    return str(clicked)


def reply_text(page: Page) -> str:
    return str(page.evaluate(REPLY_TEXT))


def wait_until(page: Page, condition: Callable[[], bool]) -> None:
    """Wait until a condition on the messages of the page holds."""
    for _ in range(SLOW // 50):
        if condition():
            return
        page.wait_for_timeout(50)
    pytest.fail("the condition did not become true")


def assert_text_kept(page: Page, before: str) -> None:
    """Wait until the debate shows at least as much text as before, with the same beginning."""
    page.wait_for_function(f"size => {REPLY_TEXT}.length >= size", arg=len(before))
    size = min(30, len(before))
    assert reply_text(page)[:size] == before[:size]


def test_live_run_is_used_by_keyboard_and_mouse(page: Page) -> None:
    for part in ("stStatusWidget", "stAppDeployButton", "stMainMenu", "stDecoration"):
        expect(page.get_by_test_id(part)).not_to_be_visible()  # Streamlit's own menus
    leave_menu_of_roles(page)
    expect_diagram(page)
    change_debate(page)
    switch_theme(page)


def leave_menu_of_roles(page: Page) -> None:
    """Press Escape in the menu, which returns to its button."""
    roles = page.get_by_role("button", name="Roles", exact=True)
    roles.press("Enter")
    first = page.get_by_role("group", name="Roles shown").get_by_role("checkbox").first
    expect(first).to_be_focused()
    page.keyboard.press("Escape")
    expect(first).to_be_hidden()
    expect(roles).to_be_focused()


def expect_diagram(page: Page) -> None:
    """Compare the protocol diagram with the debate: it marks the speaking role. The head explains the letters."""
    expect(page.locator(".role-order")).to_have_text("EExtractorCCriticJJudge")
    wait_for_text(page)
    page.wait_for_selector(".diagram .diagram-node.active[title$=': speaking']")
    page.wait_for_selector(".verdict .badge")
    nodes = page.locator(".diagram .diagram-node")
    expect(nodes).to_have_count(3)
    for number, role in enumerate(("Extractor", "Critic", "Judge")):
        expect(nodes.nth(number)).to_have_attribute("title", role)
    expect(page.locator(".diagram .vote")).to_have_count(3)


def change_debate(page: Page) -> None:
    """Open other debates by their tiles and by arrow keys, and follow the run again."""
    page.wait_for_selector(".turns .reply")
    wanted = click_tile(page.locator(".tile:not(.selected)").nth(2))
    expect(focused_document(page)).to_have_text(wanted)
    page.locator(".live-run").focus()
    page.keyboard.press("ArrowLeft")
    expect(focused_document(page)).not_to_have_text(wanted)
    pinned = page.get_by_role("button", name=re.compile("Pinned"))
    expect(pinned).to_be_visible()
    page.keyboard.press("Space")
    expect(pinned).not_to_be_visible()


def switch_theme(page: Page) -> None:
    """Change the system theme; the live run follows."""
    for scheme, color in (("dark", "rgb(230, 233, 238)"), ("light", "rgb(26, 31, 40)")):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        expect(page.locator(".live-run")).to_have_css("color", color)


def wait_for_text(page: Page) -> None:
    """Open a debate that has just started, and pin it."""
    click_tile(page.locator(".tile", has=page.locator(".avatar.extractor")).last)
    page.wait_for_selector(".turn.active .reply:not(:empty)")


def wait_for_more_text(page: Page, before: str) -> None:
    """Wait for another word or the verdict; the next role may start with a delay."""
    page.wait_for_function(
        f"size => {REPLY_TEXT}.length > size || ({ALL})('.verdict:not(.hidden)').length > 0", arg=len(before)
    )


def test_text_grows_and_survives_another_page_and_a_reload(page: Page) -> None:
    wait_for_text(page)
    before = reply_text(page)
    wait_for_more_text(page, before)  # without interaction
    after = reply_text(page)
    assert after.replace("|", "").startswith(before.replace("|", "")[:40])
    shown, before = focused_document(page).inner_text(), reply_text(page)
    visit(page, "Export")
    page.get_by_role("heading", name="Preview").wait_for()
    expect(page.locator(".tile")).to_have_count(0)
    visit(page, "Run")
    expect(focused_document(page)).to_have_text(shown)
    assert_text_kept(page, before)
    page.reload()
    expect(focused_document(page)).to_have_text(shown)
    assert_text_kept(page, before)
    expect(page.get_by_role("button", name=f"Pinned {shown}", exact=True)).to_have_text("Pinned")


def test_second_tab_has_its_own_focus(open_tab: OpenTab, page: Page, running: Studio) -> None:
    wait_for_text(page)
    shown = focused_document(page).inner_text()
    other = open_tab(running.entrance, "/run", width=1600, height=1000)
    other.wait_for_selector(".turns .reply:not(:empty)")
    wanted = click_tile(other.locator(".tile:not(.selected)", has_not_text=shown).first)
    expect(focused_document(other)).to_have_text(wanted)
    assert wanted != shown
    expect(focused_document(page)).to_have_text(shown)
    wait_for_more_text(page, reply_text(page))


def test_reconnecting_repeats_no_text_and_needs_the_cookie(open_tab: OpenTab, running: Studio) -> None:
    page = open_tab(running.entrance, "/_stcore/health", width=1600, height=1000)  # draws no page yet
    sent: list[dict[str, Any]] = []
    wires: list[Any] = []
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))

    def relay(wire: Any) -> None:
        server = wire.connect_to_server()
        wires.append(wire)
        wire.on_message(lambda text: (sent.append(json.loads(text)), server.send(text)))
        server.on_message(lambda text: wire.send(text))

    page.route_web_socket(re.compile("/moot/live"), relay)
    page.goto(f"{running.address}/run")
    page.wait_for_selector(".tile .id")
    wait_for_text(page)
    wait_for_more_text(page, reply_text(page))
    first, known, connections = reply_text(page), len(sent), len(wires)
    wires[-1].close(code=1012)
    wait_for_more_text(page, first)
    wait_until(page, lambda: any(message["type"] == "watch" for message in sent[known:]))
    assert len(wires) > connections
    again = [message for message in sent if message["type"] == "watch"][-1]
    assert any(offset > 0 for _, offset in again["cursors"].values())
    text = reply_text(page)
    opening = first.split("|")[0][:24]
    assert text.count(opening) == 1
    page.wait_for_load_state("networkidle")
    assert [url for url in requested if not url.startswith((running.address, "data:", "blob:"))] == []

    page.context.clear_cookies()
    wires[-1].close(code=1006)
    page.get_by_text("This window has no access to the run.").wait_for()


def test_hostile_text_is_escaped_and_long_words_are_split(page: Page) -> None:
    requests: list[str] = []
    page.on("request", note := lambda request: requests.append(request.url))
    page.get_by_role("button", name=re.compile("Finished")).press("Enter")  # the button moves as its count grows
    page.get_by_label("Find a finished debate").fill("onerror")
    page.wait_for_function(
        """() => [...document.querySelectorAll('*')].map(e => e.shadowRoot).filter(Boolean)
              .map(r => [...r.querySelectorAll('.finished-row')]).filter(rows => rows.length)
              .some(rows => rows.every(row => row.textContent.match(/\\d{4}/)?.[0] % 7 === 3))"""
    )
    page.locator(".finished-row").first.click()
    page.locator(".document-scroll", has_text="<img src=x onerror=").wait_for()
    expect_long_word_in_blocks(page)
    page.locator(".turn", has_text="<script>").first.wait_for()
    assert page.locator(".live-run img").count() == 0
    assert page.locator(".live-run script").count() == 0
    assert page.evaluate("window.__owned") is None
    assert not [url for url in requests if url.endswith("/x")]
    page.remove_listener("request", note)


START_AND_END_REPLAY = f"""async (button) => {{
  button.click();
  const shown = {REPLY_TEXT};
  while (button.textContent !== 'End replay') await new Promise(requestAnimationFrame);
  button.click();
  return shown;
}}"""
"""Return the text at the start of the replay. In one step, because a replay ends by itself after some seconds."""


def test_click_on_a_finished_debate_survives_an_update_of_the_list(
    open_tab: OpenTab, running: Studio, tab: Page
) -> None:
    lists: list[list[str]] = []

    def note(frame: str | bytes) -> None:
        message = json.loads(frame)
        if message["type"] == "finished":
            lists.append([row["document_id"] for row in message["rows"]])

    def listen(socket: WebSocket) -> None:
        if "/moot/live" in socket.url:
            socket.on("framereceived", note)

    tab.on("websocket", listen)
    page = open_tab(running.entrance, "/run", width=1600, height=1000, tab=tab)
    page.get_by_role("button", name=re.compile("Finished [1-9]")).press("Enter")
    row = page.locator(".finished-row").first
    row.hover()
    page.mouse.down()
    document = row.locator(".id").inner_text()
    pressed = len(lists)
    wait_until(page, lambda: len(lists) > pressed + 1)  # the page has drawn the first of the two
    page.mouse.up()
    page.get_by_role("button", name=f"Pinned {document}").wait_for()
    assert focused_document(page).inner_text() == document
    wait_until(page, lambda: row.locator(".id").inner_text() == lists[-1][0])  # the list goes on after the click
    page.remove_listener("websocket", listen)


def test_finished_debate_can_be_replayed(page: Page) -> None:
    page.get_by_role("button", name=re.compile("Finished [1-9]")).press("Enter")
    head = page.locator(".panel-head").filter(has=page.get_by_role("heading", name="Finished"))
    expect(head.locator(".badge")).to_be_hidden()  # the button has the number
    page.locator(".finished-row").first.click()
    page.locator(".verdict:not(.hidden)").wait_for()
    text = reply_text(page)
    replay = page.get_by_role("button", name="Replay", exact=True)
    replay.wait_for()
    shown = replay.evaluate(START_AND_END_REPLAY)
    assert len(shown) < len(text) / 2
    page.locator(".verdict:not(.hidden)").wait_for()
    assert reply_text(page) == text
