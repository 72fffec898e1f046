"""Tests of Review and Evaluate in a browser: edits are stored and survive reloads and page changes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import pytest
from playwright.sync_api import expect

from core.store.project import Project
from tests.browser.studios import expect_long_word_in_blocks, run_in_thread, settle, studio, visit
from tests.core.services import sample_world

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, WebSocketRoute

    from tests.browser.studios import OpenTab

ROOT = Path(__file__).parents[2]
GRID = "/review?view=Grid"
EMPTY = "/_stcore/health"
HIDDEN_WIDTH = "parts => parts.map((part) => part.scrollWidth - part.clientWidth)"
"""Address for a new tab that draws no page yet."""
HOSTILE = '<img src=x onerror="window.top.__owned=1"> ![x](http://evil.example/x.png) ::JSCODE::alert(1)::JSCODE::'

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def entrance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the studio on a small project and yield its address with the token."""
    home = tmp_path_factory.mktemp("studio")
    path = home / "small.duckdb"
    with Project(path) as project:
        run_in_thread(sample_world.build, project, {"d4": "w" * 50_000, "d6": HOSTILE})
    with studio(home, "--project", str(path)) as running:
        yield running.entrance


def open_grid(page: Page) -> None:
    visit(page, "Review")
    page.get_by_role("radio", name="Grid").click()
    wait_for_rows(page)


def wait_for_rows(page: Page) -> None:
    page.frame_locator("iframe").locator(".ag-row").first.wait_for()


def wait_for_saved(page: Page) -> None:
    page.locator(".moot-saved", has_text=re.compile(r"Saved \d\d:\d\d:\d\d")).wait_for()


def cell(page: Page, document: str, label: str) -> Locator:
    return page.frame_locator("iframe").locator(f'[row-id="{document}"] [col-id="v_{label}"]')


def expect_value(page: Page, document: str, label: str, what: str) -> None:
    """Wait until the cell shows the value: present, absent or ?."""
    box = cell(page, document, label)
    if what == "?":
        expect(box).to_have_text("?")
    else:
        expect(box.get_by_role("checkbox")).to_have_attribute("aria-checked", "true" if what == "present" else "false")


def expect_status(page: Page, document: str, what: str) -> None:
    expect(page.frame_locator("iframe").locator(f'[row-id="{document}"] [col-id="_status"]')).to_have_text(what)


def show_hostile_text(page: Page) -> None:
    """Open a document whose text is HTML and Markdown: it is shown and not executed."""
    text = page.frame_locator("iframe").locator('[row-id="d6"] [col-id="_text"]')
    text.click()
    page.get_by_text("onerror=").first.wait_for()
    assert "<img src=x" in text.inner_text()
    assert page.evaluate("window.__owned") is None


def show_long_word(page: Page) -> None:
    """Show the beginning of a long word in the grid, and all of it in blocks beside the grid."""
    text = page.frame_locator("iframe").locator('[row-id="d4"] [col-id="_text"]')
    text.click()
    expect_long_word_in_blocks(page)
    assert len(text.inner_text()) <= 240


def select_row(page: Page) -> None:
    """Select a row, which has a visible tick."""
    page.frame_locator("iframe").locator('[row-id="d3"] .ag-checkbox-input-wrapper').click()
    ticked = page.frame_locator("iframe").locator('[row-id="d3"] .ag-checked')
    fill, tick = ticked.evaluate(
        "(one) => [getComputedStyle(one), getComputedStyle(one, '::after')].map((style) => style.backgroundColor)"
    )
    assert fill != tick


def submit_rows_by_quick_keys(page: Page) -> None:
    """Submit and undo. Submitting moves to the next row at once, so keys without a pause reach the right rows."""
    rows = ("d0", "d1", "d2", "d3")
    before = {row: cell(page, row, "a").get_by_role("checkbox").get_attribute("aria-checked") for row in rows}
    page.frame_locator("iframe").locator('[row-id="d0"] [col-id="_text"]').click()
    for _ in rows:
        page.keyboard.press("1")
        page.keyboard.press("Enter")
    for row in rows:
        expect_status(page, row, "Submitted")
        expect_value(page, row, "a", "absent" if before[row] == "true" else "present")
    for _ in rows:  # each label and each submission is a separate action
        page.keyboard.press("Backspace")
        page.keyboard.press("Backspace")
    for row in rows:
        expect_value(page, row, "a", "present" if before[row] == "true" else "absent")


def set_labels_by_keyboard(page: Page) -> None:
    """Set the labels of a row by Space, arrow keys and digits, submit it and reopen it."""
    cell(page, "d2", "b").click()
    expect_value(page, "d2", "b", "absent")
    page.keyboard.press("Space")
    expect_value(page, "d2", "b", "present")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Space")
    expect_value(page, "d2", "a", "absent")
    page.keyboard.press("2")
    expect_value(page, "d2", "b", "absent")
    expect_status(page, "d2", "Draft")
    page.keyboard.press("Enter")
    expect_status(page, "d2", "Submitted")
    page.keyboard.press("Backspace")
    expect_status(page, "d2", "Draft")


def change_two_rows_within_a_second(page: Page) -> None:
    """Click labels of two rows: the rows that arrive after the first click leave the focus on the second row."""

    def value(row: str) -> str | None:
        return cell(page, row, "b").get_by_role("checkbox").get_attribute("aria-checked")

    before = {row: value(row) for row in ("d0", "d2")}
    cell(page, "d0", "a").click()
    page.wait_for_timeout(600)  # the page then asks for new rows
    cell(page, "d2", "a").click()
    settle(page)
    expect(page.locator(".st-key-review-detail")).to_contain_text("d2")
    page.keyboard.press("2")
    expect_value(page, "d2", "b", "absent" if before["d2"] == "true" else "present")
    assert value("d0") == before["d0"]
    page.keyboard.press("ArrowUp")
    expect(page.locator(".st-key-review-detail")).to_contain_text("d1")


def decide_unreadable_label(page: Page) -> None:
    """Set a label whose verdict could not be read."""
    expect_value(page, "d4", "a", "?")
    cell(page, "d4", "a").click()
    expect_value(page, "d4", "a", "present")
    expect_status(page, "d4", "Draft")


def click_quickly(page: Page) -> None:
    """Click four cells without a pause; the third click reverts the first."""
    for label in ("a", "b", "a"):
        cell(page, "d3", label).click(no_wait_after=True)
    cell(page, "d0", "b").click(no_wait_after=True)
    expect_value(page, "d3", "a", "absent")
    expect_value(page, "d3", "b", "present")
    expect_status(page, "d0", "Draft")
    wait_for_saved(page)
    settle(page)  # the last answers of the server do not change the cells
    expect_value(page, "d3", "a", "absent")
    expect_value(page, "d3", "b", "present")
    expect_value(page, "d0", "b", "present")


def undo_and_redo_after_reload(page: Page) -> None:
    """Edit a cell, reload the page, and undo and redo the edit."""
    expect_value(page, "d1", "a", "absent")
    cell(page, "d1", "a").click()
    expect_value(page, "d1", "a", "present")
    wait_for_saved(page)
    page.reload()
    wait_for_rows(page)
    expect_value(page, "d3", "b", "present")  # the quick clicks
    expect_value(page, "d0", "b", "present")
    expect_value(page, "d1", "a", "present")
    expect_status(page, "d1", "Draft")
    page.get_by_role("button", name="Undo").click()
    expect_value(page, "d1", "a", "absent")
    page.locator(".moot-saved", has_text="Undone: document d1").wait_for()
    expect_status(page, "d1", "Pending")
    page.get_by_role("button", name="Redo").click()
    expect_value(page, "d1", "a", "present")


def leave_right_after_edit(page: Page) -> None:
    """Edit a cell, open Evaluate at once and return. Gold is the only reference of Evaluate without reviews."""
    expect_value(page, "d7", "b", "?")
    cell(page, "d7", "b").click(no_wait_after=True)
    visit(page, "Evaluate")
    expect(page.locator(".moot-metrics")).to_contain_text("Macro F1")
    expect(page.get_by_test_id("stMain").get_by_text("Reviewed")).to_have_count(0)
    open_grid(page)
    expect_value(page, "d7", "b", "present")
    expect_value(page, "d1", "a", "present")  # after undo and redo


def evaluate_against_review(page: Page) -> None:
    """Submit a document without gold, and open it in Review from its cell of the confusion matrix."""
    cell(page, "d5", "a").click()  # the verdict says present
    expect_value(page, "d5", "a", "absent")
    page.keyboard.press("Enter")
    expect_status(page, "d5", "Submitted")
    visit(page, "Evaluate")
    page.get_by_test_id("stMain").get_by_text("Reviewed 1").click()
    alpha = page.locator(".confusion-matrix .matrix", has_text="Alpha")
    expect(alpha.get_by_role("button", name=re.compile("Alpha: review absent, verdict present"))).to_contain_text("1FP")
    beta = page.locator(".confusion-matrix .matrix", has_text="Beta")
    expect(beta.get_by_role("button", name=re.compile("Beta: review present, verdict present"))).to_contain_text("1TP")
    alpha.get_by_role("button", name=re.compile("Alpha: review absent, verdict present")).click()
    page.locator(".document-list tr", has_text="d5").click()
    page.get_by_role("button", name="Correct in Review").click()
    expect_value(page, "d5", "a", "absent")


def test_edits_in_the_grid_are_stored_and_change_evaluate(open_tab: OpenTab, entrance: str, tab: Page) -> None:
    requested: list[str] = []
    tab.on("request", note := lambda request: requested.append(request.url))
    page = open_tab(entrance, GRID, tab=tab)
    wait_for_rows(page)
    show_hostile_text(page)
    show_long_word(page)
    select_row(page)
    submit_rows_by_quick_keys(page)
    set_labels_by_keyboard(page)
    change_two_rows_within_a_second(page)
    decide_unreadable_label(page)
    click_quickly(page)
    undo_and_redo_after_reload(page)
    leave_right_after_edit(page)
    evaluate_against_review(page)
    assert not [url for url in requested if "evil.example" in url]
    assert page.evaluate("window.__owned") is None
    page.remove_listener("request", note)


def test_reload_and_back_keep_the_document(open_tab, entrance, tab):
    page = open_tab(entrance, "/review", tab=tab)
    shown = page.locator(".middle .mono").first
    shown.wait_for()
    first = shown.inner_text()
    page.keyboard.press("ArrowRight")
    expect(shown).not_to_have_text(first)
    second = shown.inner_text()
    page.wait_for_url(f"**document={second}**")
    page.reload()
    expect(shown).to_have_text(second)
    page.get_by_role("radio", name="Grid").click()
    expect(page.locator(".st-key-review-detail")).to_contain_text(second)
    page.frame_locator("iframe").locator(".ag-row").first.wait_for()
    # the other view keeps the document, and its keys work at once
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.get_by_role("radio", name="Focus").click()
    expect(page.locator(".review-focus")).to_be_focused()
    expect(shown).to_have_text(second)
    page.keyboard.press("ArrowLeft")
    expect(shown).to_have_text(first)
    page.wait_for_url(f"**document={first}**")
    visit(page, "Evaluate")
    page.locator(".moot-metrics").wait_for()
    debate = page.get_by_role("radio", name="Debate")
    debate.click()
    page.wait_for_url("**tab=debate**")
    page.go_back()
    expect(shown).to_have_text(first)
    page.go_forward()
    expect(debate).to_be_checked()
    page.go_back()
    expect(shown).to_have_text(first)
    page.get_by_role("radio", name="Grid").click()  # a view chosen after going back is kept too
    page.wait_for_url("**view=Grid**")
    expect(page.locator(".st-key-review-detail")).to_contain_text(first)

    # an unknown document in the address is reported, and opens the start of the queue
    page.goto(re.sub(r"(document|view)=[^&]*&?", "", page.url) + "&document=gone")
    expect(shown).not_to_have_text("gone")
    expect(page.locator(".moot-notice.warn")).to_contain_text("Document gone is not in this run")
    expect(page.locator(".queue-row.selected")).to_have_count(1)

    visit(page, "Evaluate")
    debate.click()
    page.wait_for_url("**tab=debate**")
    page.reload()
    expect(debate).to_be_checked()


def test_opening_the_settings_changes_none(open_tab, entrance, tab):
    page = open_tab(entrance, "/review", tab=tab)
    settings = page.get_by_test_id("stMain").get_by_role("button", name="Settings")
    blind, draws = page.get_by_role("switch", name="Blind review"), page.locator("input[type=range]")
    settings.click()
    page.get_by_text("Blind review", exact=True).click()
    expect(blind).to_be_checked()
    settle(page)
    page.reload()
    page.locator(".middle .mono").first.wait_for()
    page.get_by_role("radio", name="Agreement").click()  # one more run of the page before the settings are drawn
    settle(page)
    settings.click()
    settle(page)
    expect(draws).to_have_value("50")
    expect(blind).to_be_checked()
    page.get_by_text("Blind review", exact=True).click()
    expect(blind).not_to_be_checked()
    settle(page)


def test_grid_sends_nothing_while_its_page_is_left(open_tab, entrance):
    """Messages about the old page after the click would run on the new page and clear it."""
    from streamlit.proto.BackMsg_pb2 import BackMsg

    held: list[str | bytes] = []
    sent: list[str | bytes] = []
    lines: list[WebSocketRoute] = []
    delayed = False

    def relay(line: WebSocketRoute) -> None:
        server = line.connect_to_server()
        lines.append(line)
        line.on_message(lambda message: (sent.append(message), server.send(message)))
        server.on_message(lambda message: held.append(message) if delayed else line.send(message))

    page = open_tab(entrance, EMPTY)
    page.route_web_socket(re.compile("_stcore/stream"), relay)
    page.goto(urljoin(page.url, GRID))
    wait_for_rows(page)
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    before = cell(page, "d1", "a").get_by_role("checkbox").get_attribute("aria-checked")
    cell(page, "d1", "a").click()
    expect_value(page, "d1", "a", "absent" if before == "true" else "present")
    wait_for_saved(page)
    delayed = True  # delay the messages of the server about the new page
    sent.clear()
    visit(page, "Evaluate")
    page.wait_for_timeout(1500)  # longer than the grid's delay before its messages
    messages = [BackMsg.FromString(message).rerun_script for message in sent if isinstance(message, bytes)]
    leaving = next(n for n, message in enumerate(messages) if not message.fragment_id)  # earlier ones: old page
    assert messages[leaving + 1 :] == [], "no message follows the one that leaves the page"
    delayed = False
    for message in held:
        lines[-1].send(message)
    page.get_by_role("list").get_by_text("Macro F1", exact=True).wait_for()


def test_columns_of_many_reviewers_fit_beside_the_grid(open_tab, entrance, tab):
    page = open_tab(entrance, GRID, tab=tab)
    page.set_viewport_size({"width": 1440, "height": 900})
    wait_for_rows(page)
    table = page.locator(".inline .drawer-table")
    expect(table.locator("th", has_text="Verdict")).to_be_visible()
    table.evaluate(
        """node => node.querySelectorAll("tr").forEach((row) => {
          for (const name of ["anna.schmidt", "Annotator B", "Annotator C", "Annotator D"]) {
            const cell = row.lastElementChild.cloneNode(true);
            if (cell.tagName === "TH") cell.firstElementChild.textContent = name;
            row.append(cell);
          }
        })"""
    )
    assert table.evaluate_all(HIDDEN_WIDTH) == [0]
    name = table.locator("th span", has_text="Annotator B").bounding_box()
    assert name["height"] > name["width"]
    modes = table.locator("th").evaluate_all("cells => cells.map((cell) => getComputedStyle(cell).writingMode)")
    assert {*modes} == {"horizontal-tb"}, "WebKit draws a cell that stands upright upside down"


def test_small_window_shows_the_reasons_and_keeps_the_header_in_one_line(open_tab, entrance, tab):
    page = open_tab(entrance, "/review?document=d4", tab=tab)
    queue, reasons = page.locator(".review-focus .queue"), page.locator(".middle > .panel-head .badges")
    expect(page.locator(".middle .mono")).to_have_text("d4")
    expect_long_word_in_blocks(page)
    expect(queue).to_be_visible()
    expect(reasons).to_be_hidden()  # the queue shows them
    page.keyboard.press("g")
    expect(queue).to_be_hidden()
    expect(reasons).to_contain_text("unresolved")
    expect(reasons).to_be_visible()
    page.keyboard.press("g")
    page.set_viewport_size({"width": 900, "height": 800})
    expect(queue).to_be_hidden()
    expect(reasons).to_be_visible()
    page.set_viewport_size({"width": 1024, "height": 768})
    expect(queue).to_be_hidden()
    page.keyboard.press("q")
    expect(queue).to_be_visible()
    hidden = page.locator(":is(.columns, .queue, .form)").evaluate_all(HIDDEN_WIDTH)
    assert max(hidden) <= 0, "the window is wide enough for the queue, the document and the form"

    page.locator(".st-key-review-reviewer-open").get_by_role("button").click()
    box = page.get_by_role("textbox", name="Reviewing as")
    box.fill("Annotator Bergmann-Kowalska")
    box.press("Enter")
    expect(page.get_by_role("button", name="Annotator Bergmann-Kowalska")).to_be_visible()
    for width in (1280, 1024):
        page.set_viewport_size({"width": width, "height": 800})
        expect(page.locator(".st-key-review-head")).to_have_css("height", "36px")
        baseline = page.locator(".st-key-review-head .sub")
        expect(baseline).to_have_text("word-list baseline")
        assert baseline.evaluate("head => head.scrollWidth - head.clientWidth") <= 0
