"""Tests of the Home page."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from app import context
from core.services import bundle, preferences, projects
from core.services.data import sample_projects
from core.services.workspace import Workspace
from tests.app.studio import HOSTILE, button, can_other_tabs_act, html, open_page, until_shown
from tests.core.services.sessions import BOOK, annotate, fill


def test_first_visit_opens_a_sample(workspace: Workspace) -> None:
    at = open_page("home")
    shown = html(at)
    assert "Let models debate the label" in shown
    assert "96 reviews, 5 labels, several per text" in shown
    assert "word-list baseline" in shown
    at.button(key="open-hotel-aspects").click().run()
    shown = html(at)
    assert "Next steps in hotel-aspects" in shown
    assert "3 of 7" in shown
    assert "96 documents" in shown


def test_rating_codebook_counts_dimensions(workspace: Workspace) -> None:
    at = open_page("home")
    at.button(key="open-story-questions").click().run()
    assert "4 dimensions, v1" in html(at)


def test_step_opens_its_page(workspace: Workspace) -> None:
    projects.create_project(workspace, "empty")
    at = open_page("home")
    at.button(key="go-data").click().run()
    assert "Import your texts" in html(at)


def test_step_that_is_done_opens_its_page(workspace: Workspace) -> None:
    fill(projects.create_project(workspace, "started"))
    at = open_page("home")
    at.button(key="go-codebook").click().run()
    assert "Prompt preview" in html(at)


def test_step_that_needs_a_new_run_opens_its_setup(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "changed")
    fill(session)
    annotate(session)
    session.store.codebooks.save(BOOK.model_copy(update={"guideline": "More."}))
    at = open_page("home")
    assert "The codebook changed since the last run." in html(at)
    at.button(key="go-pilot").click().run()
    assert "Start all 4" in [button.label for button in at.button]


def test_uploaded_file_opens_the_data_page_in_a_new_project(workspace: Workspace) -> None:
    sample_projects.ensure_sample(workspace)
    at = open_page("home")
    at.file_uploader(key="home-file-0").set_value(
        [("my soups.csv", b"text,good\nhot soup,1\ncold soup,0\n", "text/csv")]
    ).run()
    shown = html(at)
    assert "my soups.csv, not imported yet" in shown
    assert "Rows read: 2, kept: 2, rejected: 0" in shown
    assert at.text_input(key="data-new-project").value == "my soups"
    button(at, "Import 2")
    until_shown(at, "2 documents imported from my soups.csv")
    assert sorted(session.name for session in workspace.sessions()) == ["hotel-aspects", "my soups"]
    assert workspace.sessions()[0].store.documents.count() == 96


def test_bundle_becomes_a_project_and_the_page_names_it(workspace: Workspace) -> None:
    path = sample_projects.ensure_sample(workspace)
    content = bundle.bundle_bytes(workspace.open(path))
    at = open_page("home")
    at.file_uploader(key="home-file-0").set_value([("hotel-aspects.zip", content, "application/zip")]).run()
    shown = html(at)
    assert "hotel-aspects 2 was created from hotel-aspects.zip" in shown
    assert "Next steps in hotel-aspects 2" in shown
    at.file_uploader(key="home-file-1").set_value([("other.zip", b"PK no", "application/zip")]).run()
    assert "was created from" not in html(at)
    assert "not a Moot bundle" in html(at)


def test_projects_with_the_same_name_are_listed_with_their_folders(workspace: Workspace, tmp_path: Path) -> None:
    for folder in ("mine", "theirs"):
        (tmp_path / folder).mkdir()
        workspace.open(tmp_path / folder / "speeches.duckdb")
    workspace.open(tmp_path / "mine" / "letters.duckdb")
    shown = html(open_page("home"))
    assert "<b>letters</b>" in shown
    assert "<b>speeches (mine)</b>" in shown
    assert "<b>speeches (theirs)</b>" in shown


def test_unreadable_file_is_explained_at_the_upload(workspace: Workspace) -> None:
    sample_projects.ensure_sample(workspace)
    at = open_page("home")
    at.file_uploader(key="home-file-0").set_value([("bad.csv", bytes(range(256)) * 20, "text/csv")]).run()
    assert "bad.csv is not text: it holds binary data." in html(at)
    assert "Let models debate" in html(at)


def test_new_project_and_invalid_names(workspace: Workspace) -> None:
    sample_projects.ensure_sample(workspace)
    at = open_page("home")
    at.text_input(key="home_new_project").set_value("a/b")
    button(at, "Create")
    assert "&#x27;a/b&#x27; is not a valid file name." in html(at)
    at.text_input(key="home_new_project").set_value("letters")
    button(at, "Create")
    shown = html(at)
    assert at.sidebar.selectbox[0].value.stem == "letters"
    assert "Next steps" in shown  # on the Data page


def test_double_clicks_create_and_copy_a_project_once(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.state.DOUBLE_CLICK_SECONDS", 1e9)  # longer than the machine has run, however slow it is
    at = open_page("home")
    at.text_input(key="home_new_project").set_value("letters")
    button(at, "Create")
    at.switch_page("screens/home/page.py").run()
    button(at, "Create")
    assert 'role="alert"' not in html(at)
    copied = projects.recent(workspace)[0].path
    for _ in range(2):
        number = next(number for number, row in enumerate(projects.recent(workspace)) if row.path == copied)
        at.button(key=f"duplicate-{number}").click().run()
    assert sorted(row.name for row in projects.recent(workspace)) == ["letters", "letters 2"]


def test_other_tabs_act_while_a_project_is_copied(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    others_act = []

    def copy(_: Workspace, path: Path) -> Path:
        others_act.append(can_other_tabs_act())
        return path

    monkeypatch.setattr(projects, "duplicate_project", copy)
    sample_projects.ensure_sample(workspace)
    open_page("home").button(key="duplicate-0").click().run()
    assert others_act == [True]


def test_recent_projects_are_listed(workspace: Workspace, tmp_path: Path) -> None:
    sample_projects.ensure_sample(workspace)
    broken = tmp_path / "<b>broken.duckdb"
    broken.write_bytes(b"no database at all " * 500)
    preferences.update(lambda saved: saved.with_recent(broken))
    at = open_page("home")
    shown = html(at)
    assert "not open" in shown
    assert "10 kB" in shown
    assert "<b><b>broken" not in shown
    at.button(key="open-recent-0").click().run()
    shown = html(at)
    assert 'role="alert"' in shown
    assert "Next steps in hotel-aspects" in shown


def test_hostile_names_are_escaped(workspace: Workspace) -> None:
    sample_projects.ensure_sample(workspace)
    session = workspace.sessions()[0]
    book = session.store.codebooks.latest()
    assert book is not None
    session.store.codebooks.save(book.codebook.model_copy(update={"name": HOSTILE}))
    assert "<img src=x" not in html(open_page("home"))
    assert "<img src=x" not in html(open_page("codebook"))


def test_a_project_is_renamed_deleted_and_restored(workspace: Workspace) -> None:
    projects.create_project(workspace, "letters")
    at = open_page("home")
    (field,) = [field for field in at.text_input if str(field.key).startswith("rename-")]
    field.set_value("notes")
    next(button for button in at.form_submit_button if button.label == "Rename").click().run()
    assert "letters is now notes" in html(at)
    assert at.sidebar.selectbox[0].value.stem == "notes"
    at.button(key="delete-0").click().run()
    assert "notes was moved to the bin" in html(at)
    assert "Last run" not in html(at), "headings of a table without rows"
    assert workspace.sessions() == ()
    at.button(key="restore-0").click().run()
    assert at.sidebar.selectbox[0].value.stem == "notes"
    at.button(key="archive-0").click().run()
    at.button(key="unarchive-0").click().run()
    assert [row.name for row in projects.recent(workspace)] == ["notes"]


def test_rename_keeps_the_state_of_the_tab_and_files_that_are_not_imported(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "letters")
    pending = context.pending_imports().add(Mock(), session.path)
    at = open_page("home")
    at.session_state["authors_author"] = "p1"
    (field,) = [field for field in at.text_input if str(field.key).startswith("rename-")]
    field.set_value("notes")
    next(button for button in at.form_submit_button if button.label == "Rename").click().run()
    assert "letters is now notes" in html(at)
    assert at.session_state["authors_author"] == "p1"
    (renamed,) = workspace.sessions()
    assert context.pending_imports().of_project(renamed.path) == (pending,)


def test_file_that_is_not_imported_stays_with_its_deleted_project(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "letters")
    pending = context.pending_imports().add(Mock(), session.path)
    open_page("home").button(key="delete-0").click().run()
    assert context.pending_imports().of_project(session.path) == (), "a new project may get this path"
    open_page("home").button(key="restore-0").click().run()
    (restored,) = workspace.sessions()
    assert context.pending_imports().of_project(restored.path) == (pending,)


def test_restoring_what_another_tab_has_deleted_for_good_says_so(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "gone")
    projects.delete_project(workspace, session.path)
    at = open_page("home")
    projects.empty_bin()
    assert "gone is not in the bin any more." in html(at.button(key="restore-0").click().run())


def test_the_row_after_a_deleted_project_offers_its_own_name(workspace: Workspace) -> None:
    for name in ("one", "two", "three"):
        projects.create_project(workspace, name)
    shown, deleted, next_one = (row.name for row in projects.recent(workspace))
    at = open_page("home")
    at.button(key="delete-1").click().run()
    assert f"{deleted} was moved to the bin" in html(at)
    names = [field.value for field in at.text_input if str(field.key).startswith("rename-")]
    assert names == [shown, next_one]


def test_long_list_of_projects_leaves_the_next_step_in_sight(workspace: Workspace) -> None:
    for number in range(7):
        projects.create_project(workspace, f"letters-{number}")
    at = open_page("home")
    (folded,) = (expander for expander in at.expander if expander.label == "More")
    assert {button.key for button in folded.button} >= {"open-recent-5", "open-recent-6"}


def test_own_projects_come_before_the_samples(workspace: Workspace) -> None:
    sample_projects.ensure_sample(workspace)
    shown = html(open_page("home"))
    assert shown.index("Or open a sample") < shown.index('<div class="moot-cell" title')
    projects.create_project(workspace, "letters")
    shown = html(open_page("home"))
    assert shown.index("letters</b>") < shown.index("Or open a sample")
    assert "Example debate" not in shown
