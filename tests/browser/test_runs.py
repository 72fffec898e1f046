"""Tests of the Runs page by keyboard, and of the document drawer, in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from core.runs import RunDetails
from core.store.project import Project
from tests.browser.studios import ROOT, Studio, run_in_thread, studio
from tests.core.cli.invoking import moot

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.studios import OpenTab

pytestmark = pytest.mark.browser
SAMPLES = ROOT / "sample_data"
LONG_NAME = "Courtroom, a model of many words at temperature 0.5, 200 documents"


def annotate(project: Path, *options: object) -> None:
    """Run a debate on sample reviews in a project."""
    moot(
        "annotate",
        SAMPLES / "hotel_reviews.csv",
        "--id",
        "id",
        "--text",
        "text",
        "--gold-same-names",
        "--codebook",
        SAMPLES / "hotel_aspects.yaml",
        "--project",
        project,
        *options,
    )


def rename(path: Path) -> None:
    """Give the first run of a project a long name."""
    with Project(path) as project:
        project.store.runs.describe({"r0001": RunDetails(name=LONG_NAME)})


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """Start a studio on a project with three runs."""
    folder = tmp_path_factory.mktemp("runs")
    project = folder / "hotel.duckdb"
    for options in ([], ["--param", "extra_rounds=1"], ["--protocol", "single"]):
        annotate(project, "--limit", 10, *options)
    run_in_thread(rename, project)
    preferences = folder / "config" / "moot" / "preferences.json"
    preferences.parent.mkdir(parents=True)
    preferences.write_text('{"pace": 0}')  # the first run would be slow enough to read along
    with studio(folder, "--project", str(project)) as running:
        yield running


@pytest.fixture
def page(open_tab: OpenTab, running: Studio, tab: Page) -> Page:
    page = open_tab(running.entrance, "/runs", tab=tab)
    page.locator(".leaderboard tbody tr").first.wait_for()
    return page


def test_long_name_of_a_run_leaves_room_for_its_state(open_tab: OpenTab, running: Studio, tab: Page) -> None:
    page = open_tab(running.entrance, "/run?run=r0001", tab=tab)
    expect(page.locator(".st-key-run-header input").first).to_have_value(re.compile(LONG_NAME))
    head = page.locator(".st-key-run-header .moot-head")
    expect(head.get_by_role("heading")).to_have_text("Run")  # the name is in the picker beside it
    state = head.locator(".moot-badge")
    expect(state).to_have_text("done")
    lines, badge = head.bounding_box(), state.bounding_box()
    assert lines is not None
    assert badge is not None
    assert badge["y"] + badge["height"] <= lines["y"] + lines["height"], "a second line is hidden"


def test_runs_are_renamed_filtered_sorted_and_opened(page: Page) -> None:
    use_keys(page)
    filter_and_archive(page)
    sort_by_name(page)
    show_all_settings(page)
    open_in_evaluate(page)
    page.get_by_role("link", name="Runs", exact=True).click()
    open_in_compare(page)
    page.get_by_role("link", name="Runs", exact=True).click()
    expect_kept_selection(page)


def use_keys(page: Page) -> None:
    """Move, select, rename and pin by keyboard. Name and pin survive a reload."""
    page.locator(".leaderboard tbody tr").first.focus()
    page.keyboard.press("x")
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.get_by_text("2 selected")).to_be_visible()
    expect(page.get_by_role("button", name="Compare", exact=True)).to_be_enabled()

    page.keyboard.press("r")
    renamed = page.get_by_label("New name of")
    expect(renamed).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("Second best")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Second best", exact=True)).to_be_visible()
    page.keyboard.press("p")
    expect(page.locator(".leaderboard tbody tr").first).to_contain_text("Second best")

    page.reload()
    expect(page.locator(".leaderboard tbody tr").first).to_contain_text("Second best")


def filter_and_archive(page: Page) -> None:
    """Filter, archive and undo: the ticks match the selection. Then deselect."""
    row = page.locator(".leaderboard tbody tr").first
    row.focus()
    page.keyboard.press("x")
    page.get_by_text("1 selected").wait_for()
    words = page.get_by_label("Filter")
    for text, shown in (("no such run", "No run matches the filter."), ("", "1 selected")):
        words.fill(text)
        words.press("Enter")
        page.get_by_text(shown).wait_for()
    expect(row.get_by_role("checkbox")).to_be_checked()

    page.get_by_role("button", name="Archive", exact=True).click()
    page.get_by_text("1 run archived.").wait_for()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("1 run archived.")).not_to_be_visible()
    expect(page.locator(".leaderboard tbody tr")).to_have_count(3)
    expect(page.locator(".leaderboard input:checked")).to_have_count(1)
    expect(page.get_by_text("1 selected")).to_be_visible()
    row.focus()
    page.keyboard.press("x")
    expect(page.get_by_text("1 selected")).not_to_be_visible()


def sort_by_name(page: Page) -> None:
    """Click a heading; pinned runs stay at the top."""
    names = page.locator(".leaderboard tbody .name button")
    page.get_by_role("button", name="Name").click()
    expect(page.locator(".leaderboard").get_by_role("columnheader", name="Name")).to_have_attribute(
        "aria-sort", "ascending"
    )
    shown = names.all_inner_texts()
    pinned = page.locator(".leaderboard button.pin.on").count()
    assert shown[pinned:] == sorted(shown[pinned:], key=str.lower)


def show_all_settings(page: Page) -> None:
    """Show all settings, which fit in a narrow window."""
    page.get_by_text("All settings", exact=True).click()
    page.get_by_role("columnheader", name="Engine").wait_for()
    widths = page.locator(".leaderboard").evaluate("table => [table.scrollWidth, table.clientWidth]")
    assert widths[0] == widths[1]


def open_in_evaluate(page: Page) -> None:
    """Open a run in Evaluate by Enter."""
    second = page.locator(".leaderboard tbody tr").nth(1)
    name = second.locator(".name button").inner_text()
    second.focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Evaluate").wait_for()
    expect(page.locator(".st-key-evaluate-run").get_by_role("combobox")).to_have_value(re.compile(re.escape(name)))


def open_in_compare(page: Page) -> None:
    """Open two runs in Compare, which shows them in the order of selection."""
    rows = page.locator(".leaderboard tbody tr")
    names = [rows.nth(number).locator(".name button").inner_text() for number in (2, 1)]
    for number, selected in ((2, "1 selected"), (1, "2 selected")):
        rows.nth(number).focus()
        page.keyboard.press("x")
        expect(page.get_by_text(selected)).to_be_visible()
    page.get_by_role("button", name="Compare", exact=True).click()
    page.get_by_role("heading", name="Compare", exact=True).wait_for()
    expect(page.get_by_role("heading", name=f"{names[1]} against {names[0]}")).to_be_visible()


def expect_kept_selection(page: Page) -> None:
    """Deselect a run that was selected before another page was open."""
    page.get_by_text("2 selected").wait_for()
    page.locator(".leaderboard tbody tr").nth(2).focus()
    page.keyboard.press("x")
    page.get_by_text("1 selected").wait_for()


def test_document_opens_beside_its_list_and_is_kept_in_the_address(
    open_tab: OpenTab, running: Studio, tab: Page
) -> None:
    page = open_tab(running.entrance, "/data", tab=tab)
    rows = page.locator(".document-list tr[data-id]")
    rows.nth(1).click()
    drawer = page.locator(".document-drawer")
    expect(drawer).to_contain_text("2 of 50 in this page of all documents")
    beside, shown = page.locator(".document-list").bounding_box(), drawer.bounding_box()
    assert beside is not None
    assert shown is not None
    assert beside["x"] + beside["width"] <= shown["x"]  # the drawer does not cover its list
    page.keyboard.press("ArrowDown")
    expect(drawer).to_contain_text("3 of 50")
    expect(page.locator(".document-list tr.selected")).to_have_attribute("data-id", "h003")

    page.reload()
    expect(drawer).to_contain_text("3 of 50")
    drawer.get_by_role("button", name="Notes").click()
    drawer.get_by_label("Your note").fill("Read this again.")
    page.keyboard.press("ArrowDown")  # the key moves the cursor in the note, not the document
    drawer.get_by_role("button", name="Save note").click()
    expect(drawer.get_by_role("button", name="Notes 1")).to_be_visible()

    page.keyboard.press("Escape")
    expect(drawer).not_to_be_visible()
    assert "document=" not in page.url


def test_run_of_another_tab_appears_without_a_click(page: Page, running: Studio) -> None:
    rows = page.locator(".leaderboard tbody tr")
    expect(rows).to_have_count(3)
    other = page.context.new_page()
    other.goto(f"{running.address}/run?run=new")
    other.get_by_role("button", name=re.compile("^Start all")).click()
    expect(rows).to_have_count(4)
    expect(rows.filter(has_text=re.compile(r"0\.\d{3}"))).to_have_count(4)  # the new run has ended and has scores
    expect(page.locator(".moot-run-status")).to_contain_text("done")
