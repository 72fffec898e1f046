"""Tests of the live run in a browser, with simulated debates: no action loses or repeats text."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SLOW
from tests.browser.studios import expect_long_word_in_blocks
from tests.servers.running import free_port, running

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page, WebSocket

    from tests.browser.studios import OpenTab

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def studio() -> Iterator[str]:
    """Start a simulated run on a free port and yield its address without a slash at the end."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    script = Path(__file__).with_name("fake_run.py")
    options = f"--port {port} --speed 0.6 --documents 3000 --slots 8"
    command = [sys.executable, str(script), *options.split()]
    with running(command, f"{address}/_stcore/health"):
        yield address


@pytest.fixture
def page(open_tab: OpenTab, studio: str, tab: Page) -> Page:
    page = open_tab(f"{studio}/moot/enter?token=dev", width=1600, height=1000, tab=tab)
    page.wait_for_selector(".tile .id")
    return page


@pytest.fixture
def new_page(open_tab: OpenTab, studio: str) -> Page:
    """Return a new tab that draws no page yet."""
    return open_tab(f"{studio}/moot/enter?token=dev", "/_stcore/health", width=1600, height=1000)


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
    page.get_by_role("link", name="Other").click()
    page.get_by_text("every small view once").wait_for()
    expect(page.locator(".tile")).to_have_count(0)
    page.get_by_role("link", name="Run").click()
    expect(focused_document(page)).to_have_text(shown)
    assert_text_kept(page, before)
    page.reload()
    expect(focused_document(page)).to_have_text(shown)
    assert_text_kept(page, before)
    expect(page.get_by_role("button", name=f"Pinned {shown}", exact=True)).to_have_text("Pinned")


def test_second_tab_has_its_own_focus(open_tab: OpenTab, page: Page, studio: str) -> None:
    wait_for_text(page)
    shown = focused_document(page).inner_text()
    other = open_tab(studio, width=1600, height=1000)
    other.wait_for_selector(".turns .reply:not(:empty)")
    wanted = click_tile(other.locator(".tile:not(.selected)", has_not_text=shown).first)
    expect(focused_document(other)).to_have_text(wanted)
    assert wanted != shown
    expect(focused_document(page)).to_have_text(shown)
    wait_for_more_text(page, reply_text(page))


def test_reconnecting_repeats_no_text_and_needs_the_cookie(new_page: Page, studio: str) -> None:
    page = new_page
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
    page.goto(studio)
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
    assert [url for url in requested if not url.startswith((studio, "data:", "blob:"))] == []

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
    page.get_by_role("link", name="Other").click()
    page.get_by_text("every small view once").wait_for()
    page.get_by_text("onerror=").first.wait_for()
    assert page.evaluate("window.__owned") is None
    page.remove_listener("request", note)


START_AND_END_REPLAY = f"""async (button) => {{
  button.click();
  const shown = {REPLY_TEXT};
  while (button.textContent !== 'End replay') await new Promise(requestAnimationFrame);
  button.click();
  return shown;
}}"""
"""Return the text at the start of the replay. In one step, because a replay ends by itself after some seconds."""


def test_click_on_a_finished_debate_survives_an_update_of_the_list(open_tab: OpenTab, studio: str, tab: Page) -> None:
    lists: list[list[str]] = []

    def note(frame: str | bytes) -> None:
        message = json.loads(frame)
        if message["type"] == "finished":
            lists.append([row["document_id"] for row in message["rows"]])

    def listen(socket: WebSocket) -> None:
        if "/moot/live" in socket.url:
            socket.on("framereceived", note)

    tab.on("websocket", listen)
    page = open_tab(f"{studio}/moot/enter?token=dev", width=1600, height=1000, tab=tab)
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
