"""Tests of Review in a browser: by keyboard, in the grid, with a crash right after "Saved", and with two reviewers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from core.codebook import Codebook, Label
from core.documents import Document
from core.services.review.actions import MAX_NOTE
from core.store.project import Project
from tests.browser.studios import live_name, run_in_thread, settle, visit
from tests.core.store.helpers import make_settings, store_debate, store_debates

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.browser.studios import OpenStudio, Studio

    OpenFilled = Callable[..., tuple[Studio, Page]]

COUNT = 24
ITEMS = "abcde"
REACTION_MS = 600
"""Milliseconds after which Enter submits a document that a submission has shown."""

pytestmark = pytest.mark.browser


def fill(path: Path, count: int) -> None:
    """Create documents with finished debates whose labels are all absent."""
    book = Codebook(labels=tuple(Label(name=f"Label {item}", id=item) for item in ITEMS))
    absent = dict.fromkeys(ITEMS, False)
    with Project(path) as project:
        project.store.documents.add(Document(f"d{n:03}", {"text": f"What guest {n} wrote."}) for n in range(count))
        run = project.store.runs.create(make_settings(book, codebook_version=1), project.store.documents.ids())
        lists = {"extractor": absent, "judge": None}
        ids = project.store.documents.ids()
        store_debates(store_debate(project, run.run_id, id, lists, absent) for id in ids)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "reviewed.duckdb"


@pytest.fixture
def open_filled(open_studio: OpenStudio, path: Path) -> OpenFilled:
    """Return a function that starts a studio on a project with this many documents and opens Review."""

    def open_filled(count: int = COUNT, **place: Any) -> tuple[Studio, Page]:
        run_in_thread(fill, path, count)
        return open_studio("--project", path, path="/review", **place)

    return open_filled


def wait_for_form(page: Page) -> None:
    page.locator(".review-focus .form-row").first.wait_for()


def wait_for_done(page: Page, count: int, total: int = COUNT) -> None:
    page.locator(".keys", has_text=f"{count} of {total} decided").wait_for()


def test_reviews_by_keyboard_and_grid_survive_a_crash(open_filled: OpenFilled, path: Path) -> None:
    running, page = open_filled()
    wait_for_form(page)
    # Streamlit fades what is drawn again, here after each document; the form stays
    form = page.locator("[class*=st-key-review-focus-]")
    assert form.evaluate("(one) => { one.style.opacity = 0.33; return getComputedStyle(one).opacity; }") == "1"
    review_by_keyboard(page)
    page.reload()
    wait_for_form(page)
    wait_for_done(page, 4)
    click_cells(page)
    document = open_clicked_document(page)
    expect(page.locator(".review-focus")).to_be_focused()
    page.locator(".review-focus .form-row").first.wait_for()
    page.keyboard.press("2")
    page.locator(".save-state.saved").wait_for()
    running.kill()
    with Project(path) as project:
        store = project.store
        reviews = store.events.all(kinds=["review"])
        clicked = reviews[1:7]
        assert (reviews[0].document_id, reviews[0].item, reviews[0].before, reviews[0].after) == (
            document,
            "b",
            False,
            True,
        )
        assert len({(event.document_id, event.item) for event in clicked}) == 6
        assert all(event.after is not event.before for event in clicked)
        assert store.reviews.status_counts()["Submitted"] == 4
        assert len(store.events.all(kinds=["undo"])) == 2
        rows = project._connection.rows("SELECT how, count(*) FROM selections GROUP BY how")
        assert rows == [("drawn", 4)]
        spent = project._connection.rows("SELECT min(seconds) FROM selections")
        assert spent[0][0] > 0


def test_grid_in_queue_order_records_which_documents_were_drawn(open_filled: OpenFilled, path: Path) -> None:
    """The next document of the queue was drawn; one that the user picks further down was not."""
    running, page = open_filled(6)
    wait_for_form(page)
    page.get_by_role("radio", name="Grid").click()
    page.locator(".st-key-review-detail .drawer-text").wait_for()
    page.get_by_role("combobox", name="Order").click()
    page.get_by_role("option", name="review queue").click()
    settle(page)
    rows = page.frame_locator("iframe").locator(".ag-center-cols-container .ag-row")

    def cell(row: int) -> Locator:
        return page.frame_locator("iframe").locator(f'[row-index="{row}"] [col-id="v_a"]')

    def wait_for_rows(count: int) -> None:
        expect(rows).to_have_count(count)
        settle(page)

    cell(0).click()
    for key in ("2", "Enter", "Enter"):
        page.keyboard.press(key)
    wait_for_rows(4)  # the submitted documents have left the queue
    page.keyboard.press("Enter")
    wait_for_rows(3)
    page.keyboard.press("Backspace")
    wait_for_rows(4)
    cell(2).click()
    page.keyboard.press("Enter")
    wait_for_rows(3)
    cell(0).click()
    page.keyboard.press("Enter")
    wait_for_rows(2)
    page.get_by_role("button", name="Submit", exact=True).click()
    wait_for_rows(1)
    running.kill()
    with Project(path) as project:
        result = project._connection.rows("SELECT how FROM selections ORDER BY seq")
        assert [how for (how,) in result] == ["drawn", "drawn", "chosen", "drawn", "drawn"]


def test_view_that_is_hidden_or_loads_takes_only_keys_for_it(open_filled: OpenFilled, path: Path) -> None:
    running, page = open_filled()
    wait_for_form(page)
    hide_and_show(page, path)
    type_while_loading(page)
    running.kill()
    with Project(path) as project:
        events = project.store.events.all(kinds=["review", "mark", "review_status"])
        reviews = [event for event in events if event.kind == "review"]
        typed = [(event.item, event.after) for event in reviews if event.item == "b" or event.after]
        assert typed == [("b", True), ("b", False), ("b", True)], "the submission decides the other labels as absent"
        assert [(event.item, event.after) for event in events if event.kind == "mark"] == [("note", "a note")]
        assert events[0].after == "Submitted"


def hide_and_show(page: Page, path: Path) -> None:
    """Hide the view and show it again: it takes no keys while it is hidden, and loads again.

    Streamlit may hide the view that the user leaves instead of removing it.
    """
    document = page.locator(".middle .mono").inner_text()
    view = page.get_by_test_id("stElementContainer").filter(has=page.locator(".review-focus"))
    view.evaluate("view => { view.style.display = 'none'; }")
    page.get_by_role("radio", name="Focus").focus()
    page.keyboard.press("1")
    page.evaluate(EDIT, [live_name(path), document])
    view.evaluate("view => { view.style.display = ''; }")
    expect(page.locator(".review-focus")).to_be_focused()
    expect(page.locator(".middle .mono")).to_have_text(document)
    page.keyboard.press("2")  # the view shows the edit, so the key reverts it
    page.locator(".save-state.saved").wait_for()


def type_while_loading(page: Page) -> None:
    """Type a series of keys that begins while the document loads; the focused button takes none of them."""
    page.route("**/moot/review*", lambda _: None)  # no answer
    visit(page, "Review")
    page.locator(".review-focus .columns").wait_for()
    page.get_by_test_id("stMain").get_by_role("button", name="Settings").focus()
    page.keyboard.press("n")
    page.keyboard.type("a note")
    for key in ("Escape", "2", "Enter"):
        page.keyboard.press(key)
    page.unroute("**/moot/review*")
    wait_for_done(page, 1)
    page.locator(".save-state.saved").wait_for()


EDIT = """async ([run, document]) => {
  const actions = [{action: "set", id: "other:1", document, item: "b", value: true}];
  await fetch("/moot/review", {method: "POST", body: JSON.stringify({run, actor: "", actions})});
}"""
"""Set a label in another view."""


def test_no_key_is_lost_at_80_ms_per_key(open_filled: OpenFilled, path: Path) -> None:
    """Change a label of each document and submit it, without a pause, while a checkbox has the focus.

    After 20 documents, a new sampling frame changes the order of the queue.
    """
    count, digits = 30, [n % len(ITEMS) + 1 for n in range(25)]
    running, page = open_filled(count)
    wait_for_form(page)
    others = page.get_by_role("checkbox", name="Reviewed by others")
    box = page.get_by_text("Reviewed by others", exact=True)
    box.click()
    page.get_by_text("No documents to review").wait_for()
    box.click()
    page.locator(".review-focus .form-row").first.wait_for()
    others.focus()
    page.keyboard.type("".join(f"{digit}\n" for digit in digits[:19]), delay=80)
    wait_for_done(page, 19, count)
    with page.expect_response(lambda response: '"query":"queue"' in (response.request.post_data or "")):
        page.keyboard.type(f"{digits[19]}\n", delay=80)
    wait_for_done(page, 20, count)
    expect_order_of_new_frame(page, count - 20)
    others.focus()
    page.keyboard.type("".join(f"{digit}\n" for digit in digits[20:]), delay=80)
    wait_for_done(page, len(digits), count)
    page.locator(".save-state.saved").wait_for()
    running.kill()
    with Project(path) as project:
        events = project.store.events.all(kinds=["review", "review_status"])
        labels = [event for event in reversed(events) if event.kind == "review" and event.after is True]
        assert [event.item for event in labels] == [ITEMS[digit - 1] for digit in digits]
        assert len({event.document_id for event in labels}) == len(digits)
        submitted = [event.document_id for event in reversed(events) if event.after == "Submitted"]
        assert submitted == [event.document_id for event in labels]


def test_double_click_submits_only_the_document_that_was_read(open_filled: OpenFilled) -> None:
    _, page = open_filled()
    wait_for_form(page)
    shown = page.locator(".middle .mono")
    first = shown.inner_text()
    page.get_by_role("button", name="Submit and continue").dblclick()
    expect(shown).not_to_have_text(first)
    wait_for_done(page, 1)
    page.keyboard.type("1\n\n")  # a decision on this document, and Enter for the next one, which nobody has read
    wait_for_done(page, 2)
    page.keyboard.press("f")  # actions are performed in order, so a further submission would be counted by now
    page.get_by_role("button", name="Flag", pressed=True).wait_for()
    expect(page.locator(".queue-row.settled")).to_have_count(2)


def expect_order_of_new_frame(page: Page, waiting: int) -> None:
    """Compare the queue with the one after a reload."""
    settle(page)
    rows = page.locator(".queue-row:not(.settled) .id")
    shown = rows.all_inner_texts()
    count = page.locator(".queue .badge").first
    expect(count).to_have_text(f"{waiting} waiting")
    page.reload()
    wait_for_form(page)
    expect(count).to_have_text(f"{waiting} waiting")
    fresh = rows.all_inner_texts()
    assert len(shown) == waiting
    assert shown[0] in fresh, "the open document stays"
    assert shown[1:] == [text for text in fresh if text != shown[0]]


SLOW_DOCUMENTS = """const send = window.fetch;
window.fetch = async (address, options) => {
  if (String(options?.body).includes('"query":"document"')) await new Promise((resolve) => setTimeout(resolve, 400));
  return send(address, options);
};"""
SUBMITTED = """async ([run, wanted]) => {
  for (let attempt = 0; ; attempt++) {
    const body = JSON.stringify({run, actor: "", query: "progress"});
    const {decided} = await (await fetch("/moot/review", {method: "POST", body})).json();
    if (decided === wanted || attempt > 300) return decided;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}"""
"""Wait until so many documents are submitted. ``wait_for_function`` does not await the promise of its function."""


def test_keys_that_wait_for_a_document_are_kept_when_the_user_leaves(open_filled: OpenFilled, path: Path) -> None:
    """Close the tab and open another page while keys wait; the browser asks before the tab is closed."""
    running, page = open_filled(new_tab=True)
    page.add_init_script(SLOW_DOCUMENTS)
    page.reload()
    wait_for_form(page)
    page.keyboard.type("1\n" * 8)
    with page.expect_event("dialog") as asked:
        page.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"
    asked.value.dismiss()
    wait_for_done(page, 8)

    page.keyboard.type("1\n" * 8)
    visit(page, "Data")
    page.locator(".document-list").wait_for()
    assert page.evaluate(SUBMITTED, [live_name(path), 16]) == 16
    with page.expect_event("close"):  # no key waits
        page.close(run_before_unload=True)
    running.stop()
    with Project(path) as project:
        reviews = project.store.events.all(kinds=["review"])
        assert {event.item for event in reviews if event.after is True} == {"a"}
        assert len({event.document_id for event in reviews}) == 16


def test_a_second_reviewer_sees_nothing_of_the_first_before_submitting(open_filled: OpenFilled, path: Path) -> None:
    _, page = open_filled(1)
    wait_for_form(page)
    review_as(page, "ann")
    undecided = page.locator(".review-focus .form-row .switch.open")
    expect(page.locator(".review-focus .form-row .switch")).not_to_have_count(0)
    expect(undecided).to_have_count(0)  # the first reviewer sees the verdict
    page.keyboard.press("n")
    page.keyboard.type("a reason of ann")
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    wait_for_done(page, 1, 1)

    review_as(page, "bob")
    page.locator(".review-focus .form-row").first.wait_for()
    form = page.locator(".review-focus")
    expect(undecided).to_have_count(len(ITEMS))
    assert "ann" not in form.inner_text()
    with page.expect_response(lambda response: '"query":"history"' in (response.request.post_data or "")):
        page.keyboard.press("h")
    settle(page)
    assert "ann" not in form.inner_text()


def test_undone_note_stays_undone_and_earlier_actions_can_be_undone(open_filled: OpenFilled, path: Path) -> None:
    running, page = open_filled(2)
    wait_for_form(page)
    note = page.get_by_role("textbox", name="Note")
    present = page.locator(".review-focus .form-row").first.get_by_role("button", name="present")
    page.keyboard.press("1")
    expect(present).to_have_attribute("aria-pressed", "true")
    for text in ("first", " and second"):
        page.keyboard.press("n")
        page.keyboard.type(text)
        page.keyboard.press("Escape")
    for shown in ("first", ""):
        page.keyboard.press("u")
        expect(note).to_have_value(shown)
    page.keyboard.press("u")
    expect(present).to_have_attribute("aria-pressed", "false")
    expect(note).to_have_value("")
    message = page.locator(".save-state")
    message.evaluate("(one) => { one.textContent = 'Undone: document d000 of another run. '.repeat(3); }")
    assert message.evaluate("(one) => one.scrollWidth <= one.clientWidth")
    heading = page.get_by_role("heading", name="Your verdict")
    assert heading.evaluate("(one) => one.offsetHeight") < 30
    for shown in ("", "first", "first and second"):
        page.keyboard.press("y")
        expect(present).to_have_attribute("aria-pressed", "true")
        expect(note).to_have_value(shown)
    page.keyboard.press("u")
    expect(note).to_have_value("first")
    page.keyboard.press("n")
    page.keyboard.type(", typed")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    expect(note).to_have_value("")
    page.keyboard.press("ArrowLeft")
    expect(note).to_have_value("first, typed")
    undo_change(page)
    page.locator(".save-state.saved").wait_for()
    running.kill()
    with Project(path) as project:
        notes = [event.after for event in project.store.events.all(kinds=["mark"])]
        assert notes == ["first, typed", "first and second", "first"], "nothing is saved again"


def test_longer_counts_below_the_document_do_not_move_the_page(open_filled: OpenFilled) -> None:
    _, page = open_filled()
    wait_for_form(page)
    height = "(line) => line.getBoundingClientRect().height"
    line = page.locator(".keys")
    one_line = line.evaluate(height)
    counts = "(last) => { last.textContent = '192 waiting, 120 with a reason (about 16 min)'; }"
    line.locator(".push > span").last.evaluate(counts)
    assert line.evaluate(height) == one_line


def test_note_is_cut_at_the_longest_that_the_studio_stores(open_filled: OpenFilled, path: Path) -> None:
    running, page = open_filled(2)
    wait_for_form(page)
    page.keyboard.press("n")
    page.keyboard.insert_text("x" * (MAX_NOTE + 100))
    for key in ("Control+Enter", "Enter"):
        page.keyboard.press(key)
    wait_for_done(page, 1, 2)
    page.locator(".save-state.saved").wait_for()
    running.kill()
    with Project(path) as project:
        assert [event.after for event in project.store.events.all(kinds=["mark"])] == ["x" * MAX_NOTE]


def undo_change(page: Page) -> None:
    """Submit the document, add it to the codebook as an example, and undo this change, which is reported at once."""
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Add as include example").click()
    page.get_by_text("not tested: review").or_(page.get_by_text("Word-list baseline on")).first.wait_for()
    settle(page)
    page.get_by_role("button", name="Undo it").click()
    expect(page.get_by_text("1 change undone")).to_be_visible()


def review_as(page: Page, name: str) -> None:
    """Change the reviewer at the top of the page."""
    page.locator(".st-key-review-reviewer-open").get_by_role("button").click()
    box = page.get_by_role("textbox", name="Reviewing as")
    box.fill(name)
    box.press("Enter")
    settle(page)
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()


def review_by_keyboard(page: Page) -> None:
    """Submit 6 documents, every third with a changed label and the first with a note; undo the last two."""
    page.keyboard.press("n")
    page.keyboard.type("1 and s are words here, no keys")
    page.keyboard.press("Escape")
    for number in range(6):
        before = page.locator(".middle .mono").inner_text()
        expect(page.locator(".review-focus .form-row").first).to_be_visible()
        if number % 3 == 0:
            page.keyboard.press("1")
        page.wait_for_timeout(REACTION_MS)
        page.keyboard.press("Enter")
        page.locator(".middle .mono").filter(has_not_text=re.compile(f"^{before}$")).wait_for()
    wait_for_done(page, 6)
    for number in range(2):
        page.keyboard.press("u")
        wait_for_done(page, 5 - number)


def click_cells(page: Page) -> None:
    """Click the cells of two rows and three labels without waiting for answers."""
    page.get_by_role("radio", name="Grid").click()
    grid = page.frame_locator("iframe")
    grid.locator(".ag-row").first.wait_for()
    rows = grid.locator(".ag-row[row-id]").evaluate_all("rows => rows.map(row => row.getAttribute('row-id'))")[:2]
    for row in rows:
        for item in ITEMS[:3]:
            grid.locator(f'[row-id="{row}"] [col-id="v_{item}"]').click(no_wait_after=True)
    page.locator(".moot-saved", has_text=re.compile(r"Saved \d\d:\d\d:\d\d")).wait_for()
    expect(page.locator(".st-key-review-detail")).to_contain_text(rows[-1])  # the page follows the grid


def open_clicked_document(page: Page) -> str:
    """Click a row of the grid and at once Focus, which opens the document of the row. Return this document."""
    page.locator(".st-key-review-detail .drawer-text").wait_for()
    settle(page)
    row = page.frame_locator("iframe").locator(".ag-row[row-id]").nth(3)
    document = row.get_attribute("row-id")
    focus = page.get_by_role("radio", name="Focus").locator("..").bounding_box()
    assert document is not None
    assert focus is not None
    row.locator('[col-id="_id"]').click()
    page.mouse.move(focus["x"] + 10, focus["y"] + 10)
    page.mouse.down()
    page.wait_for_timeout(80)  # as long as a person presses a button, and shorter than the grid's delay
    page.mouse.up()
    expect(page.locator(".middle .mono")).to_have_text(document)
    return document
