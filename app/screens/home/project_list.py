"""The projects on Home: open, rename, duplicate, show, archive, delete and restore."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path

import streamlit as st

from app.state import state
from app.widgets.alerts import Tone, badge_html, error_notices
from app.widgets.common import line
from core.formatting import format_bytes, format_count, format_date, format_percent
from core.services import projects
from core.services.projects import DeletedProject, Recent
from core.services.workspace import Workspace

WIDTHS = (3, 0.9, 0.9, 1.6, 1.3, 0.9, 0.8, 0.5)
HEADS = (
    ("Project", ""), ("Documents", " num"), ("Reviewed", " num"), ("Last run", ""), ("Opened", ""), ("Size", " num"),
    ("", ""), ("", ""),
)  # fmt: skip
TONES: dict[str, Tone] = {
    "running": "run", "queued": "run", "done": "right", "paused": "unres", "stopped": "stale", "failed": "wrong",
}  # fmt: skip


def project_list(workspace: Workspace, shown: Path | None, open_project: Callable[[Path], None]) -> None:
    """Draw the recent projects, the latest first, the archived ones and the bin. ``shown`` is the tab's project."""
    for column, (head, kind) in zip(st.columns(WIDTHS, wrap=False), HEADS, strict=True):
        column.html(f'<div class="moot-th{kind}">{head}</div>')
    for number, row in enumerate(projects.recent(workspace)):
        with st.container(key=f"recent-{number}"):
            cells = st.columns(WIDTHS, vertical_alignment="center", wrap=False)
            cells[0].html(
                f'<div class="moot-cell" title="{escape(str(row.path), quote=True)}"><b>{escape(row.name)}</b></div>'
            )
            for cell, count in zip(cells[1:3], (row.documents, row.reviewed), strict=True):
                cell.html(f'<div class="moot-cell num">{"" if count is None else f"{count:,}"}</div>')
            cells[3].html(f'<div class="moot-cell">{_run_html(row)}</div>')
            cells[4].html(f'<div class="moot-cell">{format_date(row.opened_at) if row.opened_at else ""}</div>')
            cells[5].html(f'<div class="moot-cell num">{format_bytes(row.size)}</div>')
            if row.path == shown:
                cells[6].html('<div class="moot-cell">shown</div>')
            else:
                cells[6].button("Open", key=f"open-recent-{number}", on_click=open_project, args=(row.path,))
            with cells[7].popover(
                "",
                icon=":material/more_horiz:",
                type="tertiary",
                help=f"Manage {row.name}",
                key=f"manage-{number}-{state.data.project_actions}",
            ):
                _manage(workspace, row, shown, number)
    _archived(workspace)
    _bin(open_project)


def _run_html(row: Recent) -> str:
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


def _manage(workspace: Workspace, row: Recent, shown: Path | None, number: int) -> None:
    """Draw the actions on a project."""
    key = f"rename-{number}"

    def done(head: str, text: str = "") -> None:
        state.set_notice("ok", head, text)
        state.data.project_actions += 1

    def rename() -> None:
        with error_notices():
            path = projects.rename_project(workspace, row.path, st.session_state[key])
            if row.path == shown:
                state.select_project(path)
            done(f"{row.name} is now {path.stem}")

    def duplicate() -> None:
        with error_notices():
            path = projects.duplicate_project(workspace, row.path)
            done(f"{row.name} was copied", f"The copy is {path.stem}.")

    def reveal() -> None:
        with error_notices():
            projects.reveal_project(row.path)

    def archive() -> None:
        with error_notices():
            projects.set_archived(workspace, row.path, True)
            done(f"{row.name} was archived", "Restore it under Archived, below the projects.")

    def delete() -> None:
        with error_notices():
            projects.delete_project(workspace, row.path)
            done(f"{row.name} was moved to the bin", "Restore it under Bin, below the projects.")

    with st.form(f"{key}-form", border=False):
        st.text_input("Name", value=row.name, key=key)
        st.form_submit_button("Rename", on_click=rename)
    for label, icon, action in (
        ("Duplicate", "content_copy", duplicate), ("Show in folder", "folder_open", reveal),
        ("Archive", "archive", archive), ("Delete", "delete", delete),
    ):  # fmt: skip
        st.button(
            label, icon=f":material/{icon}:", key=f"{label.split()[0].lower()}-{number}", type="tertiary",
            on_click=action,
        )  # fmt: skip


def _archived(workspace: Workspace) -> None:
    rows = projects.archived()
    if not rows:
        return
    with st.expander(f"Archived ({len(rows)})"):
        for number, row in enumerate(rows):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.html(f'<div class="moot-cell"><b>{escape(row.name)}</b> {format_bytes(row.size)}</div>')
                st.space("stretch")
                st.button(
                    "Restore", key=f"unarchive-{number}", on_click=projects.set_archived,
                    args=(workspace, row.path, False),
                )  # fmt: skip


def _bin(open_project: Callable[[Path], None]) -> None:
    deleted = projects.deleted_projects()
    if not deleted:
        return

    def restore(one: DeletedProject) -> None:
        with error_notices():
            open_project(projects.restore_project(one))

    with st.expander(f"Bin ({len(deleted)})"):
        for number, one in enumerate(deleted):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.html(f'<div class="moot-cell"><b>{escape(one.name)}</b> {format_bytes(one.size)}</div>')
                st.space("stretch")
                st.button("Restore", key=f"restore-{number}", on_click=restore, args=(one,))
        with st.popover("Empty bin", icon=":material/delete_forever:"):
            line(f"{format_count(len(deleted), 'project')} will be deleted for good.")
            st.button("Delete for good", key="empty-bin", type="primary", on_click=projects.empty_bin)
