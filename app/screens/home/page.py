"""Home: start with a file or a sample, recent projects, and the next steps of the open project."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, Literal

import streamlit as st

from app import context
from app.pages import PageName, open_page
from app.state import HomeState, run_slow, state
from app.widgets import file_import
from app.widgets.alerts import STATE_TONES, Tone, badge_html, error_notices
from app.widgets.elements import button, fold, heading, icon_popover, line, literal
from app.widgets.labels import tag_html, tags, tile_html
from app.widgets.layout import header, panel
from app.widgets.palette import role_token
from app.widgets.sidebar import open_step
from core.formatting import format_bytes, format_count, format_date, format_percent
from core.services import bundle, guided_path, projects
from core.services.author_labelling import files as author_files
from core.services.data import sample_projects
from core.services.data.overview import count_documents
from core.services.project_session import ProjectSession
from core.services.shipped_data import SAMPLES
from core.services.workspace import Workspace


def _open(opening: Callable[..., Path | ProjectSession], *args: Any, page: PageName | None = None) -> None:
    """Show the project that a function opens, and a page."""
    opened = run_slow(opening, *args)
    state.select_project(opened if isinstance(opened, Path) else opened.path)
    state.next_page = page


def start_with_files(session: ProjectSession | None) -> None:
    """Draw the uploader. Files that can be read lead to the Data page, and a bundle becomes a project."""
    with st.container(key="start", gap="small"):
        st.html(
            '<div class="moot-strong">Start with your files<small>csv, tsv, txt, Excel, ods, jsonl, json, xml or '
            "parquet, or a project bundle. The files stay on this machine, and nothing is imported before you have "
            "seen a preview.</small></div>"
        )
        files = [*file_import.chosen_files("home-file"), *file_import.dropped_files()]
        if not files:
            return
        if len(files) == 1 and files[0].name.lower().endswith(bundle.SUFFIX):
            with st.spinner("Creating the project"), error_notices():
                project = projects.project_from_bundle(context.workspace(), files[0], files[0].name)
                state.select_project(project.path)
                state.set_notice("ok", f"{project.path.stem} was created from {files[0].name}")
            state.data.clear_uploaders()
            st.rerun()
        fresh = session is None or bool(count_documents(session))  # do not add the files to a sample's documents
        read = file_import.names_and_contents(files)
        file_import.read_files(read, session, "new" if fresh else "add")
    open_page("data")


def main() -> None:
    session, workspace = context.current_project(), context.workspace()

    def create() -> None:
        _open(projects.create_project, workspace, state.home.new_project, page="data")

    rows = projects.recent(workspace)
    shipped = {sample.path.resolve() for sample in (*SAMPLES, author_files.SAMPLE)}
    has_own = any(row.path.resolve() not in shipped for row in rows)
    if has_own:  # a person who returns opens a project
        with header("Projects"):
            new_project(create)
        project_list(workspace, rows, session.path if session else None)
        st.space("small")
    with st.container(key="returning" if has_own else "welcome"):
        left, right = st.columns((1.62, 1), gap="medium" if has_own else "large")
        with left:
            if not has_own:
                headline()
            start_with_files(session)
            samples(workspace)
        with right:
            if not has_own:
                with panel("Example debate", note="a hotel review", key="example"):
                    example()
            if session is not None:
                next_steps(session)
        if not has_own:
            with st.container(horizontal=True, vertical_alignment="center", key="projects-head"):
                heading("Projects")
                st.space("stretch")
                new_project(create)
            project_list(workspace, rows, session.path if session else None)


def new_project(create: Callable[[], None]) -> None:
    with st.popover("New project", icon=":material/add:"), st.form("new-project", border=False):
        st.text_input("Name", key=HomeState.new_project.key, placeholder="clinic-letters")
        st.form_submit_button("Create", type="primary", on_click=state.once, args=("create", create))


def headline() -> None:
    st.html(
        '<h1 class="moot-h1">Let models debate the label,<br>then decide for yourself.</h1>'
        '<p class="moot-lead">Import texts and define the labels. An extractor proposes labels, a critic objects, '
        "and a judge decides, each with quotes from the text. You correct mistakes and measure accuracy.</p>"
    )


def example() -> None:
    """Draw a small debate of three turns with the marks used on all pages. All of it is fixed text."""

    def mark(words: str, number: int, *, disputed: bool = False, quote: bool = False) -> str:
        classes = f"moot-ev moot-l{number}{' dis' if disputed else ''}{' q' if quote else ''}"
        return f'<span class="{classes}">{words}{"" if quote else f"<sup>{number}</sup>"}</span>'

    def says(role: str, title: str, words: str) -> str:
        name = f'<span class="moot-rn moot-{role_token(role)}">{title}</span>'
        return f"{tile_html(role, title)}<div>{name} {words}</div>"

    fee = "forty euros for parking"
    st.html(
        f'<div class="moot-example"><div class="doc">{mark("The cleaner sang", 2)}, {mark("the toast was cold", 5)}, '
        f'and {mark(fee, 3, disputed=True)} nearly ruined it.</div><div class="mini">'
        + says("extractor", "Extractor", f"Price: {mark(fee, 3, disputed=True, quote=True)}. Also Service and Food.")
        + says("critic", "Critic", "Parking is a fee, not the room. Drop Price.")
        + says("judge", "Judge", f"Present are {tag_html('Service', 2)} {tag_html('Food', 5)}")
        + '</div><div class="foot">No key needed: the built-in model is a word-list baseline, not a '
        "language model. It looks for the keywords of each label.</div></div>"
    )


def samples(workspace: Workspace) -> None:
    """Draw the sample projects in rows of three; the last one is the chats of authors."""
    available = sample_projects.sample_cards()
    if not available:
        return
    heading("Or open a sample")
    cards = [(card, partial(_open, sample_projects.ensure_sample, workspace, card.sample.key)) for card in available]
    open_chats = partial(_open, author_files.ensure_sample_project, workspace, page="authors")
    cards.append((author_files.sample_card(), open_chats))
    for at in range(0, len(cards), 3):
        for column, (card, opened) in zip(st.columns(3), cards[at : at + 3], strict=False):
            with column:
                sample_card(card, opened)


def sample_card(card: sample_projects.SampleCard, opened: Callable[[], None]) -> None:
    with st.container(border=True, key=f"sample-{card.sample.key}", gap="small", height="stretch"):
        st.html(
            f'<div class="moot-card-name">{escape(card.sample.title)}<small>{escape(card.description)}</small></div>'
        )
        tags(card.codebook.labels)
        st.space("stretch")
        button("Open", f"open-{card.sample.key}", opened)


def next_steps(session: ProjectSession) -> None:
    """Draw the steps of the guided path for a project: their status, and a button for those that are open."""
    overview = guided_path.overview(session)
    with panel(f"Next steps in {session.name}", note=f"{overview.done} of {len(overview.steps)}", key="next"):
        for number, step in enumerate(overview.steps, 1):
            with st.container(horizontal=True, key=f"step-{step.name}", gap="small", vertical_alignment="center"):
                sign = "✓" if step.state == "done" else str(number)
                st.html(
                    f'<div class="moot-step {step.state}"><i>{sign}</i><div><b>{escape(step.title)}</b>'
                    f"{escape(step.words)}</div></div>",
                    width="stretch",
                )
                is_next = step.state == "now"
                kind: Literal["primary", "secondary"] = "primary" if is_next else "secondary"
                label = step.action if is_next else "Open"
                if step.state != "later" and st.button(label, key=f"go-{step.name}", type=kind):
                    open_step(step)


WIDTHS = (3, 0.9, 0.9, 1.6, 1.3, 0.9, 0.8, 0.5)
HEADS = (
    ("Project", ""), ("Documents", " num"), ("Reviewed", " num"), ("Last run", ""), ("Opened", ""), ("Size", " num"),
    ("", ""), ("", ""),
)  # fmt: skip
TONES: dict[str, Tone] = STATE_TONES | {"queued": "run", "stopped": "stale"}


def project_list(workspace: Workspace, rows: Sequence[projects.ListedProject], shown: Path | None) -> None:
    """Draw the recent projects, the latest first, the archived ones and the bin. ``shown`` is the tab's project."""
    with st.container(key="projects", gap="xsmall"):
        if rows:
            for column, (head, kind) in zip(st.columns(WIDTHS, wrap=False), HEADS, strict=True):
                column.html(f'<div class="moot-th{kind}">{head}</div>')
        names = projects.unique_names([row.path for row in rows])
        fold(list(enumerate(rows)), lambda numbered: _project(workspace, *numbered, names, shown))
    _archived(workspace)
    _bin(workspace)


def _project(
    workspace: Workspace, number: int, row: projects.ListedProject, names: Mapping[Path, str], shown: Path | None
) -> None:
    with st.container(key=f"recent-{number}"):
        cells = st.columns(WIDTHS, vertical_alignment="center", wrap=False)
        path = escape(str(row.path), quote=True)
        cells[0].html(f'<div class="moot-cell" title="{path}"><b>{escape(names[row.path])}</b></div>')
        counts = ("" if count is None else f"{count:,}" for count in (row.documents, row.reviewed))
        opened = format_date(row.opened_at) if row.opened_at else ""
        texts = (*counts, _run_html(row), opened, format_bytes(row.size))
        for cell, (_, kind), text in zip(cells[1:6], HEADS[1:6], texts, strict=True):
            cell.html(f'<div class="moot-cell{kind}">{text}</div>')
        if row.path == shown:
            cells[6].html('<div class="moot-cell">current</div>')
        else:
            opening = partial(_open, partial(workspace.open, create=False), row.path)
            cells[6].button("Open", key=f"open-recent-{number}", on_click=opening)
        key = f"manage-{number}-{state.home.project_actions}"
        with cells[7], icon_popover("more_horiz", f"Manage {literal(names[row.path])}", key):
            _manage(workspace, row, shown, number)


def _run_html(row: projects.ListedProject) -> str:
    if not row.open:
        return "not open"
    if row.last_run is None or row.last_state is None:
        return "no runs"
    run, words = row.last_run, str(row.last_state)
    if row.last_state == "running" and run.documents:
        words = f"running {format_percent(run.ended / run.documents)}"
    elif row.last_state == "paused" and run.stop_code == "budget":
        words = "paused: budget spent"
    return badge_html(words, TONES.get(row.last_state, ""), dot=row.last_state == "running")


def _manage(workspace: Workspace, row: projects.ListedProject, shown: Path | None, number: int) -> None:
    key = f"rename-{row.path}"

    def done(head: str, text: str = "") -> None:
        state.set_notice("ok", head, text)
        state.home.project_actions += 1

    def rename() -> None:
        path = run_slow(projects.rename_project, workspace, row.path, st.session_state[key])
        context.pending_imports().move(row.path, path)
        if row.path == shown:
            state.project = path  # the tab keeps its state, which is about the same project
        done(f"{row.name} is now {path.stem}")

    def duplicate() -> None:
        path = run_slow(projects.duplicate_project, workspace, row.path)
        done(f"{row.name} was copied", f"The copy is {path.stem}.")

    def archive() -> None:
        run_slow(projects.set_archived, workspace, row.path, archived=True)
        done(f"{row.name} was archived", "Restore it under Archived, below the projects.")

    def delete() -> None:
        deleted = run_slow(projects.delete_project, workspace, row.path)
        context.pending_imports().move(row.path, deleted.path)  # a new project may get the old path
        done(f"{row.name} was moved to the bin", "Restore it under Bin, below the projects.")

    with st.form(f"{key}-form", border=False):
        st.text_input("Name", value=row.name, key=key)
        st.form_submit_button("Rename", on_click=rename)
    for label, icon, action in (
        ("Duplicate", "content_copy", duplicate),
        ("Show in folder", "folder_open", partial(run_slow, projects.reveal_project, row.path)),
        ("Archive", "archive", archive),
        ("Delete", "delete", delete),
    ):
        button_key = f"{label.split()[0].lower()}-{number}"
        button(label, button_key, state.once, f"{label} {row.path}", action, icon=icon, type="tertiary")


def _archived(workspace: Workspace) -> None:
    rows = projects.archived()
    if not rows:
        return

    def restore(row: projects.ListedProject) -> None:
        projects.set_archived(workspace, row.path, archived=False)
        state.set_notice("ok", f"{row.name} is in the list again")

    with st.expander(f"Archived ({len(rows)})"):
        for number, row in enumerate(rows):
            _stored_row(row.name, row.size, f"unarchive-{number}", partial(restore, row))


def _bin(workspace: Workspace) -> None:
    deleted = projects.deleted_projects()
    if not deleted:
        return

    def restore(project: projects.DeletedProject) -> None:
        path = run_slow(projects.restore_project, workspace, project)
        restored = run_slow(workspace.open, path, create=False).path
        context.pending_imports().move(project.path, restored)
        state.select_project(restored)
        state.set_notice("ok", f"{project.name} was restored and is open")

    def empty_bin() -> None:
        run_slow(projects.empty_bin)
        state.set_notice("ok", "The bin is empty")

    with st.expander(f"Bin ({len(deleted)})"):
        for number, project in enumerate(deleted):
            _stored_row(project.name, project.size, f"restore-{number}", partial(restore, project))
        with st.popover("Empty bin", icon=":material/delete_forever:"):
            line(f"{format_count(len(deleted), 'project')} will be deleted for good.")
            button("Delete for good", "empty-bin", empty_bin, type="primary")


def _stored_row(name: str, size: int, key: str, restore: Callable[[], None]) -> None:
    """Draw a project that is archived or in the bin, with a button that restores it."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(f'<div class="moot-cell"><b>{escape(name)}</b> {format_bytes(size)}</div>')
        st.space("stretch")
        button("Restore", key, restore)


main()
