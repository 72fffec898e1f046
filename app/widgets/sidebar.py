"""The sidebar of every page (project switcher, navigation, next step, run status), the styles, and script errors."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from app import context
from app.components import APP, colour_classes, component, module_address, read, tokens
from app.pages import open_page
from app.state import SessionState, run_slow, state
from app.widgets import layout
from app.widgets.alerts import error_box, error_boxes, notice
from app.widgets.elements import button
from core.errors import MootError, ProjectError
from core.formatting import format_clock, format_cost, format_eta, one_line
from core.services import guided_path
from core.services.project_session import ProjectSession
from core.services.projects import unique_names

if TYPE_CHECKING:
    from streamlit.navigation.page import StreamlitPage

    from core.debate.events import RunStatus

_log = logging.getLogger("moot.app")
MOVING = ("running", "queued")
MAX_NAME = 80
"""Characters of the name of a missing project that are shown."""


def styles() -> None:
    """Add the design tokens, the style sheets and the logo."""
    static = APP / "static"
    sheets = (read(static / name) for name in ("streamlit.css", "app.css"))
    css = "\n".join([tokens(), colour_classes("moot-"), *sheets])
    st.html(f"<style>{css}</style>")
    # The SVG adapts to the theme itself: a script would notice a switch only at the next rerun.
    st.logo(str(static / "logo-wordmark.svg"), size="large", icon_image=str(static / "logo-icon.svg"))


def project_switcher(page: str) -> ProjectSession | None:
    """Draw the project switcher at the top of the sidebar and return its open project, or None.

    The address is read here once per tab, because it may name this project or another one.
    """
    try:
        workspace = context.workspace()
    except RuntimeError:
        return None
    open_now = {session.path: session for session in workspace.sessions()}
    recent = workspace.recent()
    paths = list(dict.fromkeys([*open_now, *recent]))
    is_new_tab = not state.url_read
    requested = st.query_params.get("project", "") if is_new_tab else ""
    if not paths:
        if requested:
            _report_unknown(requested, "Open or create a project on Home.")
            state.url_read = True
        return None
    names = unique_names(paths)  # the browser returns the name, so names must be unique
    wanted = state.project
    if wanted not in paths:  # new tab or reload
        last_used = next((path for path in recent if path in open_now), next(iter(open_now), paths[0]))
        wanted = _select_project(names, requested, last_used)
    state.read_url(names[wanted])
    layout.write_url(page, project=names[wanted])
    state.project_switcher = wanted  # the tab's project is authoritative; the box only shows and changes it
    st.selectbox(
        "Project",
        paths,
        format_func=names.__getitem__,
        label_visibility="collapsed",
        key=SessionState.project_switcher.key,
        on_change=_switch_project,
    )
    try:
        session = open_now.get(wanted) or workspace.open(wanted, create=False)
    except ProjectError as error:
        error_box(error)
        return None
    if is_new_tab:
        _check_run(session)
    return session


def _select_project(names: Mapping[Path, str], requested: str, last_used: Path) -> Path:
    """Select the project that the address requests. If it does not exist, select the last used one and set a notice.

    An address from before another project had the same name is that of the first of them, with a notice.
    """
    alike = [path for path in names if path.stem == requested]
    named = next((path for path, name in names.items() if name == requested), next(iter(alike), None))
    before = state.project
    has_new_notice = state.notice is not None and state.notice_drawn is None  # this tab has just removed it itself
    if before is not None and not has_new_notice:
        requested = before.stem
    selected = named or last_used
    state.select_project(selected)
    if named in alike and len(alike) > 1:
        words = f"The project {names[selected]} is shown. To see another one, choose it in the sidebar."
        state.set_notice("warn", f"{len(alike):,} projects are called {requested}", words)
    elif requested and named is None:
        _report_unknown(requested, f"The project {names[selected]} is shown instead.")
    return selected


def _check_run(session: ProjectSession) -> None:
    """Show a warning if the run in the address does not exist, or is archived and so not on any page."""
    run_id = state.run_id
    if run_id is None or run_id in session.active_runs():
        return
    run = next((run for run in session.all_runs() if run.run_id == run_id), None)
    if run is None:
        state.set_notice("warn", f"Run {run_id} does not exist in this project", "The latest run is shown instead.")
    elif run.details.status == "archived":
        words = (
            "The latest run is shown instead. To see this one, restore it on Runs, where Columns shows archived runs."
        )
        state.set_notice("warn", f"{run.title} is archived", words)
    else:
        return
    state.run_id = None


def _report_unknown(requested: str, remedy: str) -> None:
    words = "It may have been renamed, moved, archived or deleted."
    state.set_notice("warn", f"Project {one_line(requested)[:MAX_NAME]} was not found", f"{words} {remedy}")


def file_problem(session: ProjectSession) -> None:
    """Draw an error with a button that saves a copy, if nothing can be saved in the project file any more."""
    problem = session.file_problem
    if problem is None:
        return
    error_box(problem)
    if st.button("Save a copy and continue with it", key="save-copy", type="primary"):
        with error_boxes():
            copy = context.workspace().rescue(session).path
            context.pending_imports().move(session.path, copy)
            state.select_project(copy)
            state.set_notice("ok", f"The project was saved as {copy}", "Resume its runs on the Run page.")
            st.rerun()


def _switch_project() -> None:
    """Show the selected project in this tab and in tabs that are opened later."""
    path = state.project_switcher
    if not isinstance(path, Path):  # a tab that outlived its studio sends the name of a project that the new one lacks
        return
    with suppress(ProjectError):  # the next script run opens the project again and shows the error
        run_slow(context.workspace().open, path, create=False)
    state.select_project(path)


def navigation(pages: Mapping[str, Sequence[StreamlitPage]], here: StreamlitPage) -> None:
    """Draw the links to all pages under their section headings. ``here`` is the current page."""
    with st.container(key="navigation", gap=None):
        for section, links in pages.items():
            if section and links:
                st.html(f'<div class="moot-section">{escape(section)}</div>')
            for page in links:
                # A page link does not mark the current page, so the key of its container does.
                with st.container(key="current-page" if page == here else f"page-{page.url_path or 'home'}", gap=None):
                    st.page_link(page, width="stretch")
        with st.container(key="unseen-preload"):
            _PRELOAD(key="preload", data=_preloaded_modules())
    # Rerun the page when the theme is switched, because charts are downloaded in the colours on screen.
    with st.container(key="unseen-observer"):
        _PAGE_OBSERVER(key="observer", data=here.url_path, on_switched_change=lambda: None)


def project_status(session: ProjectSession, page: str) -> guided_path.Overview:
    """Draw the steps of the project and its current run, and again every few seconds. Return the steps.

    Another tab may start a run. The work of some pages goes on without a rerun of the page.
    """
    overview, run = guided_path.overview(session), _run_and_activity(_current_run(session))
    st.fragment(_draw_status, run_every=1.0 if run[1] else POLL_SECONDS)(session, page, overview, run)
    return overview


def _draw_status(session: ProjectSession, page: str, overview: guided_path.Overview, run: tuple[str, bool]) -> None:
    """Draw both in one fragment: each fragment that runs again costs as much as both."""
    with st.container(key="path", gap="small"):
        _draw_step(session, page, overview)
    with st.container(key="run-status"):
        _draw_run_status(session, page, run)


def _current_run(session: ProjectSession) -> RunStatus | None:
    run = next(iter(session.active_runs()), None) or session.latest_run()
    board = session.live_run(run) if run is not None else None
    return board.status if board is not None else None


def _run_and_activity(status: RunStatus | None) -> tuple[str, bool]:
    """Return the id of a run, empty without a run, and True if it is running or queued."""
    return ("", False) if status is None else (status.run_id, status.state in MOVING)


def _draw_run_status(session: ProjectSession, page: str, drawn: tuple[str, bool]) -> None:
    """Draw the run. The page Runs is drawn again if another run was started, or a run has ended, since ``drawn``."""
    try:
        status = _current_run(session)
        name = "" if status is None else session.run_name(status.run_id)
    except MootError as error:  # the project was closed in another tab
        error_box(error)
        return
    if page == "runs" and drawn != _run_and_activity(status):
        st.rerun()
    if status is None:
        return
    progress: str = status.state
    if status.state == "running" and status.eta_seconds is not None:
        progress = format_eta(status.eta_seconds)
    share = 100 * status.ended / status.documents if status.documents else 0
    saved_at = session.saved_at()
    saved = f"Saved {format_clock(saved_at)}" if saved_at else ""
    cost = format_cost(status.cost_usd, status.estimated_calls)
    st.html(
        f'<div class="moot-run-status"><div><b title="{escape(name)}">{escape(name)}</b>'
        f"<span>{escape(progress)}</span></div>"
        f'<div class="bar" role="progressbar" aria-valuenow="{status.ended}" aria-valuemax="{status.documents}" '
        f'aria-label="Documents debated"><i style="width:{share:.1f}%"></i></div>'
        f"<div><span>{status.ended:,} of {status.documents:,}</span><span>{cost}</span></div>"
        f'<div class="saved">{saved and "✓ " + saved}</div></div>'
    )


def script_error(error: Exception) -> None:
    """Draw the error that ended a page or fragment; log it unless the user can act on it.

    The text of an unexpected error is not shown, because it may contain a key or a document.
    """
    if isinstance(error, MootError):  # a project that is closed while a page reads it, for example
        error_box(error)
        return
    _log.exception("a page failed", exc_info=error)
    head = f"This page stopped because of an internal error ({type(error).__name__})."
    words = "Your earlier changes are saved. Open another page or reload; the terminal shows the details."
    with st.container(key="internal-error"):  # visible, regardless of the length of the page
        notice("error", head, words)


_PAGE_OBSERVER = component("page_observer")
_PRELOAD = component("preload")


_PRELOADED = (
    "ArrowVegaLiteChart", "ButtonGroup", "DownloadButton", "TextInput", "Checkbox", "TextArea",
    "Multiselect", "NumberInput", "Radio", "Slider",
)  # fmt: skip
"""Streamlit's modules of the elements that pages show first, in the order in which the browser loads them while idle
(names of 1.67)."""
_PRELOADED_COMPONENTS = (
    "document_drawer", "review_focus", "live_run", "leaderboard", "label_list", "document_list", "confusion_matrix",
)  # fmt: skip


@cache
def _preloaded_modules() -> list[str]:
    """Return the paths of scripts that pages need: Streamlit's, without those that are missing, and Moot's."""
    static = Path(st.__file__).parent / "static"
    scripts = [path for name in _PRELOADED for path in static.glob(f"static/js/{name}.*.js")]
    return [*(path.relative_to(static).as_posix() for path in scripts), *map(module_address, _PRELOADED_COMPONENTS)]


POLL_SECONDS = 2.0
"""Seconds between two looks at what other tabs and the engine have done."""
STEP_PAGES = ("run", "review")
"""Pages whose work goes on without a rerun of the page."""


def _draw_step(session: ProjectSession, page: str, drawn: guided_path.Overview) -> None:
    """Draw the card. If the next step or its button has changed since the page was drawn, draw the page again."""
    if page == "data" and (pending := context.pending_import()) is not None:
        hint = "Check the columns and the preview, then press Import."
        if pending.job is not None:
            hint = "Wait until the documents are imported. You may leave the page."
        st.html(_path_html("Next: import", "", "", hint))
        return
    overview = drawn
    if page in STEP_PAGES:
        with suppress(MootError):  # the project was closed in another tab, which the run status says
            overview = guided_path.overview(session)
    step = overview.next
    has_moved = (step and step.name) != (drawn.next and drawn.next.name)
    if has_moved or _next_label(step, page) != _next_label(drawn.next, page):
        st.rerun()
    marks = "".join(f'<i class="{step.state}" title="{escape(step.title)}"></i>' for step in overview.steps)
    head, words = _next_words(overview, page)
    st.html(_path_html(head, f"{overview.done} of {len(overview.steps)}", marks, words))
    if step is not None and step.page != page:
        _step_button(step, step.action, "path-next", stretch=True)


def _next_words(overview: guided_path.Overview, page: str) -> tuple[str, str]:
    """Return the heading and the text of the card of the next step."""
    step = overview.next
    if step is None:
        return "All steps done", "Compare runs, improve definitions, or export the results."
    if step.page != page:  # the button says which
        return "Next step", step.words
    words = step.hint
    if step.new_run and overview.last_state and not state.run.setup_open:
        words = f"Press New run, then {words[0].lower()}{words[1:]}"
    return f"Next: {step.action.lower()}", words


def _path_html(head: str, count: str, marks: str, words: str) -> str:
    return (
        f'<div class="moot-path"><div><b>{escape(head)}</b><span>{count}</span></div>{marks and f"<p>{marks}</p>"}'
        f"<small>{escape(words)}</small></div>"
    )


def next_step(overview: guided_path.Overview, page: str) -> None:
    """Draw the button for the next step at the end of a page, unless the step is done on this page."""
    step = overview.next
    if step is not None and (label := _next_label(step, page)):
        with st.container(horizontal=True, horizontal_alignment="right", key="page-end"):
            _step_button(step, label, "next-step")


def _next_label(step: guided_path.PathStep | None, page: str) -> str:
    """Return the label of the button at the end of a page, empty without a button."""
    return f"Next: {step.action.lower()}" if step is not None and step.page != page else ""


def _step_button(step: guided_path.PathStep, label: str, key: str, *, stretch: bool = False) -> None:
    width = "stretch" if stretch else "content"
    if button(label, key, icon="arrow_forward", icon_position="right", type="primary", width=width):
        open_step(step)


def open_step(step: guided_path.PathStep) -> None:
    """Open the page of a step, with the setup of a new run if that is the next step, or the label that it is about.

    Review starts at the first document that waits, because the one that it showed last may be decided.
    """
    state.run.show_setup(step.new_run and step.state == "now")
    state.review.document = None
    if step.label_id is not None:
        state.codebook.select_label(step.label_id)
    open_page(step.page)
