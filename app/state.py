"""Every session_state key, typed. Screens read and write through these functions and use no key of their own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import streamlit as st

T = TypeVar("T")

SWITCHER = "project_switcher"
"""Widget: the project switcher."""
PROJECT = "project"
"""Path of the project that this tab looks at."""
RUN = "run_id"
"""The run that the Run, Review and Evaluate screens look at."""
DOCUMENT = "document_id"
"""The document that another screen asked Review to open."""
NOTICE = "notice"
"""(kind, head, text) to show once on the next rerun."""
SETUP = "run_setup"
"""Whether the Run screen shows the setup of a new run although there are runs."""
PROBES = "probes"
"""What the last preflight found, shown until the next one."""
STARTED = "started_at"
"""When this tab last started a run, so that a double click starts one."""
DOUBLE_CLICK_SECONDS = 2.0
"""How long a second press of a button that starts something counts as the first one's."""
TESTED = "tested"
"""Connection name -> what its last test on the Models screen told."""
PLAN_SAVED = "plan_saved_at"
"""When this tab last saved seats or settings of the next run."""


def _get(key: str, default: T) -> T:
    return cast(T, st.session_state.get(key, default))


def project() -> Path | None:
    """File of the project that this tab looks at; None before one was chosen."""
    return _get(PROJECT, cast("Path | None", None))


def look_at_project(path: Path) -> None:
    """Turn this tab to another project and forget what belonged to the one before."""
    if path != project():
        for key in list(st.session_state):
            if key not in (SWITCHER, NOTICE, ADDRESS):
                del st.session_state[key]
    st.session_state[PROJECT] = path


def run_id() -> str | None:
    """The run that the screens look at; None means the latest."""
    return _get(RUN, cast("str | None", None))


def look_at_run(run: str | None) -> None:
    """Make ``run`` the one that the screens look at."""
    st.session_state[RUN] = run


def document_id() -> str | None:
    """The document that another screen asked to open. Asking forgets it."""
    return cast("str | None", st.session_state.pop(DOCUMENT, None))


def open_document(document: str) -> None:
    """Ask the Review screen to open this document when it is next drawn."""
    st.session_state[DOCUMENT] = document


def say_next(kind: str, head: str, text: str = "") -> None:
    """Have a notice shown once at the top of the next rerun (after st.rerun or a page switch)."""
    st.session_state[NOTICE] = (kind, head, text)


def said() -> tuple[str, str, str] | None:
    """The notice that waits to be shown, and forget it."""
    return cast("tuple[str, str, str] | None", st.session_state.pop(NOTICE, None))


ADDRESS = "address"
"""Whether this tab has followed the address that it began with."""
ROOM = "room"
"""The screen that was drawn last."""


def follow_address(project: str) -> None:
    """In a new tab, or after F5, look at the run, the document and the truth that the address names, where it is one of
    the project that is shown."""
    if ADDRESS in st.session_state:
        return
    st.session_state[ADDRESS] = True
    named = st.query_params
    if named.get("project", project) != project:
        return
    if "run" in named:
        look_at_run(named["run"])
    if "document" in named:
        focus_on(named["document"])
    if "runs" in named:
        compare(named["runs"].split(","))
    if "reference" in named:
        compare_with(named["reference"])
    if named.get("view") in VIEWS:
        look_through(named["view"])
    if named.get("part") in PARTS:
        st.session_state[PART] = named["part"]


def enter(room: str) -> None:
    """Note which screen is drawn. One that was left and is entered again begins where it was left."""
    if _get(ROOM, "") != room:
        st.session_state[ROOM] = room
        begin_at(focus())


# -- Review and Evaluate

REFERENCE = "reference"
"""What Evaluate compares with: gold or reviewed."""
PART = "evaluate_part"
"""Widget: which part of an evaluation is shown."""
PARTS = {
    "scores": "Scores",
    "debate": "Debate",
    "errors": "Errors",
    "stability": "Stability",
    "who": "People and seats",
}
"""The parts of an evaluation, as they are called on the screen."""
COMPARED = "compared_runs"
"""Ids of the runs that Compare shows, in order."""
CELL = "evaluate_cell"
"""(label id, tp, fp, fn or tn) whose documents Evaluate lists."""
CASE = "evaluate_document"
"""The document that Evaluate shows below the matrices."""
REVIEWER = "reviewer"
"""Widget: the name under which acts of review are recorded."""
FOCUS = "review_focus"
"""The document that Review shows below the grid."""
OPENED = "review_opened"
"""The document that Review was asked to open; the grid begins at it."""
TICKED = "review_ticked"
"""Ids of the documents ticked in the grid."""
VIEW = "review_view"
"""Widget: whether Review shows Focus, Grid or People."""
VIEWS = ("Focus", "Grid", "People")
"""The views of Review."""
VIEWED = "review_viewed"
"""The view that Review showed last."""
PROBLEM = "review_problem"
"""(message, remedy) of an act of review that could not be done."""
SAVED = "review_saved"
"""What the last act of review says of itself ("Saved 14:03:22")."""


def actor(default: str) -> str:
    """Under which name acts of review are recorded."""
    return _get(REVIEWER, "").strip() or default


def reference() -> str:
    """What Evaluate compares with; gold until something else was chosen."""
    return _get(REFERENCE, "gold")


def compare_with(reference: str) -> None:
    """Have Evaluate compare with ``gold`` or ``reviewed``."""
    st.session_state[REFERENCE] = reference


def compared() -> tuple[str, ...]:
    """The runs that Compare shows; empty until some were chosen."""
    return _get(COMPARED, cast("tuple[str, ...]", ()))


def compare(runs: Sequence[str]) -> None:
    """Have Compare show these runs."""
    st.session_state[COMPARED] = tuple(runs)


def cell() -> tuple[str, str] | None:
    """The cell whose documents Evaluate lists."""
    return _get(CELL, cast("tuple[str, str] | None", None))


def pick_cell(cell: tuple[str, str] | None) -> None:
    """List the documents of another cell; none of them is shown yet."""
    st.session_state[CELL] = cell
    st.session_state[CASE] = None


def case() -> str | None:
    """The document that Evaluate shows."""
    return _get(CASE, cast("str | None", None))


def pick_case(document: str | None) -> None:
    """Show a document on Evaluate."""
    st.session_state[CASE] = document


def focus() -> str | None:
    """The document that Review shows below the grid."""
    return _get(FOCUS, cast("str | None", None))


def focus_on(document: str | None) -> None:
    """Show a document below the grid."""
    st.session_state[FOCUS] = document


def opened() -> str | None:
    """The document that the grid begins at."""
    return _get(OPENED, cast("str | None", None))


def begin_at(document: str | None) -> None:
    """Have the grid begin at a document."""
    st.session_state[OPENED] = document


def ticked() -> tuple[str, ...]:
    """The documents that are ticked in the grid."""
    return _get(TICKED, cast("tuple[str, ...]", ()))


def tick(documents: tuple[str, ...]) -> None:
    """Remember what is ticked in the grid."""
    st.session_state[TICKED] = documents


def look_through(view: str) -> None:
    """Have Review show Focus, Grid or People."""
    st.session_state[VIEW] = view


def last_saved() -> str:
    """What the last act of review said of itself, empty before the first."""
    return _get(SAVED, "")


def note_saved(words: str) -> None:
    """Remember what an act of review said of itself."""
    st.session_state[SAVED] = words


def view_shown(view: str) -> None:
    """Note which view Review shows. Another one begins at the document that the last one was at."""
    if _get(VIEWED, view) != view:
        begin_at(focus())
    st.session_state[VIEWED] = view


def setting_up() -> bool:
    """Whether the Run screen is to show the setup of a new run."""
    return _get(SETUP, False)


def set_up(on: bool) -> None:
    """Open or leave the setup of a new run; what a preflight told is forgotten."""
    st.session_state[SETUP] = on
    keep_probes(())


def probes() -> tuple[Any, ...]:
    """What the last preflight found (``core.engine.preflight.Probe``)."""
    return _get(PROBES, ())


def keep_probes(found: tuple[Any, ...]) -> None:
    """Keep what a preflight found."""
    st.session_state[PROBES] = found


def first_click() -> bool:
    """Whether this tab started nothing within the last ``DOUBLE_CLICK_SECONDS``; notes that it does now."""
    now = time.monotonic()
    first = now - _get(STARTED, -DOUBLE_CLICK_SECONDS) >= DOUBLE_CLICK_SECONDS
    if first:
        st.session_state[STARTED] = now
    return first


def tested() -> dict[str, Any]:
    """What the tests of connections told, by name."""
    return cast("dict[str, Any]", st.session_state.setdefault(TESTED, {}))


def plan_saved_at() -> float | None:
    """When this tab last saved seats or settings (unix seconds)."""
    return _get(PLAN_SAVED, cast("float | None", None))


def note_plan_saved() -> None:
    """Note that seats or settings were saved now."""
    st.session_state[PLAN_SAVED] = time.time()


def forget(*keys: str) -> None:
    """Put widgets back to how they began."""
    for key in keys:
        st.session_state.pop(key, None)


def note_problem(message: str, remedy: str) -> None:
    """Have Review say what could not be done."""
    st.session_state[PROBLEM] = (message, remedy)


def review_problem() -> tuple[str, str] | None:
    """What could not be done on Review, and forget it."""
    return cast("tuple[str, str] | None", st.session_state.pop(PROBLEM, None))


CORRECTED = "review_corrected"
"""The document whose correction was offered to be taught last."""
TAUGHT = "review_taught"
"""What came of the last correction that was to be taught, to be said once."""
LESSON = "review_lesson"
"""The words of a correction that a person wants to change before they are kept."""


def change_words(lesson: Any) -> None:
    """Have Review open a correction's words (``core.services.review.codebook_examples.CodebookExample``)."""
    st.session_state[LESSON] = lesson


def words_to_change() -> Any:
    """The correction whose words are to be changed, None without one. Asking forgets it."""
    return st.session_state.pop(LESSON, None)


def corrected() -> str | None:
    """The document whose correction was offered last: it stays on offer when the person goes on."""
    return _get(CORRECTED, cast("str | None", None))


def note_corrected(document: str | None) -> None:
    """Remember whose correction is on offer."""
    st.session_state[CORRECTED] = document


def note_taught(words: str) -> None:
    """Have Review say what came of teaching a correction."""
    st.session_state[TAUGHT] = words


def taught() -> str:
    """What came of it, and forget it; empty when there is nothing to say."""
    return cast(str, st.session_state.pop(TAUGHT, ""))
