"""State of one browser tab.

Only this module names keys of ``st.session_state``, apart from the widgets of a page. ``state`` is the state of the tab
that is being drawn, grouped by page: ``state.run_id``, ``state.review.document``. Each attribute is a ``Value``. Read
and assign it on ``state``. Its class attribute (``ReviewState.view``) has the key for a widget that holds the value,
``set`` for callbacks, ``pop`` for messages that are shown once, and ``reset``.

Streamlit's ``bind="query-params"`` is not used for the query parameters of the address. With a bound widget, assigning
its value in the script or switching to another page adds a second entry to the browser history (tested with 1.67). The
user would then have to press the back button twice. ``widgets.layout.write_url`` replaces the current entry instead.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, ParamSpec, TypeAlias, TypeVar, cast, overload

import streamlit as st

from core.errors import MootError

if TYPE_CHECKING:
    from app.pages import PageName
    from core.codebook import Codebook
    from core.debate.personas import PersonaSet
    from core.runs import RunRow
    from core.services.data.importing import ImportDraft
    from core.services.lab.trials import Trial
    from core.services.models import Probe
    from core.services.review.codebook_examples import CodebookExample

NoticeKind: TypeAlias = Literal["error", "warn", "ok", "info"]
"""Kind of a message box."""
Saved: TypeAlias = Literal["codebook", "personas", "plan", "authors"]
"""Inputs that a tab saves without a button: drafts, the plan of the next run, and everything on the Authors page."""

P = ParamSpec("P")
T = TypeVar("T")

callback_turn = threading.RLock()
"""Held while callbacks are called, by all tabs: they store what the user chose, often in the same project."""

DOUBLE_CLICK_SECONDS = 2.0
"""Seconds within which a second click on the same button is ignored."""

NOTICE_SECONDS = 4.0
"""Seconds for which further runs of a page show its notice again, because a run may follow at once."""


class Value(Generic[T]):
    """One entry of ``st.session_state`` as a typed attribute. The default must not be mutated."""

    def __init__(self, default: T) -> None:
        self.key = ""
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        page = owner.__name__.removesuffix("State").lower()
        self.key = name if page == "session" else f"{page}_{name}"

    @overload
    def __get__(self, instance: None, owner: type) -> Value[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Value[T] | T:
        return self if instance is None else self.get()

    def __set__(self, instance: object, value: T) -> None:
        self.set(value)

    def get(self) -> T:
        """Return the value, also of an instance that is not an attribute of a class."""
        return cast(T, st.session_state.get(self.key, self._default))

    def set(self, value: T) -> None:
        """Assign the value, in callbacks."""
        st.session_state[self.key] = value

    def pop(self) -> T:
        """Return the value and reset it to the default."""
        return cast(T, st.session_state.pop(self.key, self._default))

    def reset(self) -> None:
        """Reset the value to the default. A widget that holds the value is reset, too."""
        st.session_state.pop(self.key, None)


class TabDraft(Generic[T]):
    """A draft in the editor of a tab, while other tabs may change the stored one.

    The tab keeps its own draft from a change in another tab until the user chooses.
    """

    def __init__(self) -> None:
        self._seen: Value[T | None] = Value(None)
        self._own: Value[T | None] = Value(None)

    def __set_name__(self, owner: type, name: str) -> None:
        self._seen.__set_name__(owner, f"seen_{name}")
        self._own.__set_name__(owner, f"own_{name}")

    def own(self, stored: T) -> T | None:
        """Return the draft of this tab if another tab has changed the stored one since, otherwise None."""
        own = self._own.get()
        own = self._seen.get() if own is None else own
        return None if own == stored else own

    def show(self, stored: T) -> T | None:
        """Return ``own`` and remember that the page shows it, or the stored draft."""
        own = self.own(stored)
        self._own.set(own)
        if own is None:
            self._seen.set(stored)
        return own

    def edit(self, own: T) -> None:
        """Replace the draft of this tab, but not the stored one."""
        self._own.set(own)

    def note_stored(self, stored: T) -> None:
        """Remember the draft that this tab has stored."""
        self._seen.set(stored)

    def expect_change(self) -> None:
        """Show the stored draft next, because this tab changes it or has opened the page again."""
        self._seen.reset()

    def choose(self) -> None:
        """Drop the draft of this tab, because the user has chosen one."""
        self._own.reset()
        self._seen.reset()


class HomeState:
    new_project: Value[str] = Value("")
    """Widget: name of the project to create."""
    project_actions: Value[int] = Value(0)
    """Number of actions on projects, which is part of the key of their menus, so that an action closes its menu."""


class DataState:
    """State of the Data page and of the file uploaders on all pages."""

    GOLD_WIDGETS: ClassVar[tuple[str, str]] = ("gold_kind", "gold_raters")
    """Widget keys of the column mapping: gold type and further raters. They are reset for each new file."""

    pending_import: Value[str | None] = Value(None)
    """Id of the pending import (``core.services.data.importing``).

    Empty for none. None for the pending import that the address names.
    """
    gold_draft: Value[ImportDraft | None] = Value(None)
    """Stored documents while the user maps their gold columns again, else None."""
    uploads: Value[int] = Value(0)
    """Number of finished uploads, which is part of each uploader's key."""

    def uploader(self, name: str) -> str:
        """Return the key of a file uploader, which changes with ``clear_uploaders``."""
        return f"{name}-{self.uploads}"

    def clear_uploaders(self) -> None:
        self.uploads += 1


class CodebookState:
    label: Value[str | None] = Value(None)
    """Id of the edited label."""
    rejected: Value[dict[str, tuple[Any, str]]] = Value({})
    """Rejected inputs that are not corrected yet: widget key to (input, reason)."""
    document: Value[int] = Value(1)
    """Widget: position of the document in the prompt preview."""
    note: Value[str] = Value("")
    """Widget: note for the next saved version."""
    unmatched: Value[tuple[str, tuple[str, ...], tuple[str, ...]] | None] = Value(None)
    """Keywords without a match that the user removed last: label id, all its keywords before, and the removed ones."""
    draft: TabDraft[Codebook] = TabDraft()

    def select_label(self, label_id: str | None) -> None:
        """Select the label to edit. Rejected inputs of the previous label are dropped."""
        if label_id != self.label:
            CodebookState.rejected.reset()
        self.label = label_id

    def reject(self, key: str, value: Any, reason: str) -> None:
        """Store the rejected input of a widget and the reason."""
        self.rejected = {**self.rejected, key: (value, reason)}

    def accept(self, key: str) -> None:
        """Remove the rejected input of a widget."""
        self.rejected = {other: rejected for other, rejected in self.rejected.items() if other != key}

    def forget_inputs(self) -> None:
        """Drop rejected inputs, removed keywords and notes, because another codebook replaces the edited one."""
        codebook, lab = CodebookState, LabState
        values: tuple[Value[Any], ...] = (codebook.rejected, codebook.unmatched, codebook.note, lab.note, lab.problem)
        for value in values:
            value.reset()


class PersonasState:
    persona: Value[str | None] = Value(None)
    """Name of the edited persona."""
    shows_missing: Value[bool] = Value(False)
    """True after a save that was refused because a persona is incomplete."""
    draft: TabDraft[PersonaSet] = TabDraft()
    note: Value[str] = Value("")
    """Widget: note for the next saved version."""


class ModelsState:
    tests: Value[dict[str, Any]] = Value({})
    """Last test results by connection name."""

    def set_test(self, connection: str, result: Any) -> None:
        """Store the result of a connection test. None removes the stored result."""
        others = {name: test for name, test in self.tests.items() if name != connection}
        self.tests = others if result is None else {**others, connection: result}


class RunState:
    NEW: ClassVar[str] = "new"
    """The run in the address, and in the run picker, while a new run is set up."""

    setup_open: Value[bool] = Value(False)
    """True while the user sets up a new run although the project has runs."""
    advanced_open: Value[bool] = Value(False)
    """True once an advanced setting of a new run differed from its default."""
    unfinished: Value[str | None] = Value(None)
    """Run that this tab showed last, if it was not done then."""
    probes: Value[tuple[Probe, ...]] = Value(())
    """Results of the last preflight, shown until the next preflight or until the user opens another page."""

    def show_setup(self, shown: bool) -> None:
        """Open or close the setup of a new run. Results of the last preflight are dropped."""
        self.setup_open = shown
        RunState.probes.reset()


class ReviewState:
    VIEWS = ("Focus", "Grid", "Agreement")

    reviewer: Value[str | None] = Value(None)
    """Widget: name under which review actions are recorded. None: the name entered last, also in another tab."""
    view: Value[str | None] = Value(None)
    """Widget: one of ``VIEWS``."""
    last_view: Value[str | None] = Value(None)
    """View that was drawn last."""
    requested_document: Value[str | None] = Value(None)
    """Document that another page asked to open."""
    document: Value[str | None] = Value(None)
    """Document that is shown."""
    start_document: Value[str | None] = Value(None)
    """Document at which the view starts when it is drawn next."""
    rows: Value[tuple[str, ...]] = Value(())
    """Documents of the grid when it was drawn last."""
    saved: Value[str] = Value("")
    """Message of the last review action, such as "Saved 14:03:22"."""
    corrected_documents: Value[tuple[str, ...]] = Value(())
    """Documents whose correction may be suggested as a codebook example while another is shown, the latest first."""
    example_saved: Value[str] = Value("")
    """Result of adding the last codebook example, shown once."""
    edited_example: Value[CodebookExample | None] = Value(None)
    """Codebook example that the user edits before adding it, read once."""

    @property
    def actor(self) -> str:
        """Name under which review actions are recorded."""
        from core.services import preferences
        from core.services.review.actions import Attribution

        name = preferences.load().reviewer if self.reviewer is None else self.reviewer
        return Attribution(name.strip()).actor

    def keep_reviewer(self) -> None:
        """Save the entered name, so that a reload of the tab does not record actions under another name."""
        from core.services import preferences

        preferences.change(reviewer=(self.reviewer or "").strip())

    def note_view(self, view: str) -> None:
        """Store the view that is drawn. A new view starts at the document of the previous view."""
        if (self.last_view or view) != view:
            self.start_document = self.document
        self.last_view = view


class EvaluateState:
    """State of the Evaluate page. Compare uses the same reference."""

    TABS: ClassVar[Mapping[str, str]] = {
        "scores": "Scores",
        "debate": "Debate",
        "errors": "Errors",
        "stability": "Stability",
        "models": "Annotators and models",
    }

    tab: Value[str] = Value("scores")
    """Widget: one of ``TABS``."""
    reference: Value[str] = Value("gold")
    """Reference that verdicts are scored against."""
    cell: Value[tuple[str, str] | None] = Value(None)
    """Selected cell of the confusion matrix: (label id, tp, fp, fn or tn).

    For single choice: (reference label id, verdict label id).
    """


class CompareState:
    runs: Value[tuple[str, ...]] = Value(())
    """Ids of the compared runs, in order. Empty until the user selects runs."""


class RunsState:
    selected: Value[tuple[str, ...]] = Value(())
    """Ids of the selected runs, in the order of selection."""
    applied: Value[int] = Value(0)
    """Number of the last change of the table that was applied."""
    undo: Value[tuple[str, int] | None] = Value(None)
    """Description and number of the act that the Undo button reverts."""


class LabState:
    subject: Value[str] = Value("definitions")
    """Edited subject: the slot of a template, or ``core.services.lab.trials.DEFINITIONS``."""
    protocol: Value[str | None] = Value(None)
    """Protocol whose prompts are edited: the chosen one, or that of the run whose prompts were opened."""
    sample_size: Value[int] = Value(20)
    """Number of documents in the test sample."""
    trials: Value[dict[str, int]] = Value({})
    """Number of the shown trial by subject. Without an entry, the latest trial is shown."""
    last_trial: Value[str] = Value("")
    """Change and sample size that this tab tested last."""
    requested_document: Value[str | None] = Value(None)
    """Document that another page asked to test."""
    single_position: Value[int] = Value(1)
    """Widget: position of the document in "Test one document"."""
    note: Value[str] = Value("")
    """Widget: note for the next saved version."""
    label: Value[str | None] = Value(None)
    """Id of the label whose definition is edited."""
    editor_version: Value[int] = Value(0)
    """Number of times the page replaced the text of the editor."""
    seen_text: Value[tuple[str, str] | None] = Value(None)
    """Slot, and its text that the page showed or stored last. None before it shows one."""
    own_texts: Value[dict[str, str]] = Value({})
    """Texts of this tab, by slot, while the user has to choose between them and the draft of another tab."""
    problem: Value[MootError | None] = Value(None)
    """Error of the last change that could not be tested, else None."""
    errors_run: Value[str | None] = Value(None)
    """Widget: run whose errors are the source of suggestions. None for the latest trial or run."""

    def select_subject(self, subject: str) -> None:
        """Select the template or the definitions to edit."""
        if subject != self.subject:
            for value in (LabState.note, LabState.problem):
                value.reset()
        self.subject = subject

    def show_trial(self, trial: Trial) -> None:
        self.trials = {**self.trials, trial.subject: trial.number}

    def is_new_trial(self, trial: str) -> bool:
        """Return True if a trial differs from the last trial of this tab, and store the trial."""
        new = self.last_trial != trial
        self.last_trial = trial
        return new

    def open_run(self, run: RunRow) -> None:
        """Show the prompts of a run, which are in the editor now, and its errors."""
        self.replace_editor_text()
        self.errors_run = run.run_id
        self.protocol = run.settings.protocol

    def replace_editor_text(self) -> None:
        """Replace the text of the editor by the text of the page."""
        self.editor_version += 1
        LabState.seen_text.reset()


class AuthorsState:
    VIEWS = ("Write", "Answer for others", "Results", "Settings")

    view: Value[str] = Value("Write")
    """Widget: one of ``VIEWS``."""
    author: Value[str] = Value("")
    """Name or code under which this tab writes, empty before the consent."""
    rejected_catalogue: Value[tuple[str, str] | None] = Value(None)
    """Catalogue of suggestions that could not be saved, and the reason."""
    shown_at: Value[dict[str, float]] = Value({})
    """Unix time at which each question was first shown in this tab."""

    def note_shown(self, question: str) -> float:
        """Return the time at which a question was first shown, which is now if it was not."""
        if question not in self.shown_at:
            self.shown_at = {**self.shown_at, question: time.time()}
        return self.shown_at[question]


class SessionState:
    """State of the tab, grouped by page."""

    home = HomeState()
    data = DataState()
    codebook = CodebookState()
    personas = PersonasState()
    models = ModelsState()
    run = RunState()
    review = ReviewState()
    evaluate = EvaluateState()
    compare = CompareState()
    runs = RunsState()
    lab = LabState()
    authors = AuthorsState()

    project: Value[Path | None] = Value(None)
    """File of the project that the tab shows. None before the user selects a project."""
    project_switcher: Value[Path | None] = Value(None)
    """Widget: the project switcher."""
    run_id: Value[str | None] = Value(None)
    """Run that the pages show. None for the latest run."""
    notice: Value[tuple[NoticeKind, str, str] | None] = Value(None)
    """(kind, head, text) of the message at the top of the page."""
    notice_number: Value[int] = Value(0)
    """Number of the notice in this tab."""
    notice_drawn: Value[tuple[str, float] | None] = Value(None)
    """Page and monotonic time of the first complete run that drew the notice. None before."""
    page: Value[str] = Value("")
    """Page that was drawn last."""
    next_page: Value[PageName | None] = Value(None)
    """Page that a callback asked for, because callbacks cannot switch pages."""
    url_read: Value[bool] = Value(False)
    """True after the tab has read its address."""
    last_action: Value[tuple[str, float]] = Value(("", -math.inf))
    """Action that this tab did last with ``once``, and the monotonic time of its end."""

    saved_at: Value[Mapping[Saved, float]] = Value({})
    """Unix times at which this tab last saved."""

    def note_saved(self, what: Saved) -> None:
        self.saved_at = {**self.saved_at, what: time.time()}

    def select_project(self, path: Path) -> None:
        """Show a project and drop the state of the previous project."""
        if path != self.project:
            kept_keys = {
                SessionState.project_switcher.key,
                SessionState.notice.key,
                SessionState.notice_number.key,
                SessionState.notice_drawn.key,
                SessionState.url_read.key,
                SessionState.last_action.key,
                HomeState.project_actions.key,
            }
            for key in list(st.session_state):
                if key not in kept_keys:
                    del st.session_state[key]
        self.project = path

    def once(self, action: str, work: Callable[[], object]) -> None:
        """Call ``work`` unless the same action ended within the last ``DOUBLE_CLICK_SECONDS``.

        The second click of a double click would do it again. After a MootError the action may be repeated at once.
        """
        last, ended_at = self.last_action
        if action == last and time.monotonic() - ended_at < DOUBLE_CLICK_SECONDS:
            return
        self.last_action = (action, time.monotonic())
        try:
            work()
        except MootError:
            action = ""
            raise
        finally:  # a click during the work ends it with an exception of Streamlit
            self.last_action = (action, time.monotonic())

    def set_notice(self, kind: NoticeKind, head: str, text: str = "") -> None:
        """Set a message that the next complete run of a page shows at the top.

        Runs of this page within ``NOTICE_SECONDS`` show it again. Use this before ``st.rerun`` or a page switch.
        """
        self.notice = (kind, head, text)
        self.notice_number += 1
        SessionState.notice_drawn.reset()

    def current_notice(self, page: str) -> tuple[NoticeKind, str, str] | None:
        """Return the message that a run of this page shows. An earlier message is dropped."""
        if self.notice_drawn is not None:
            drawn_on, drawn_at = self.notice_drawn
            if page != drawn_on or time.monotonic() - drawn_at >= NOTICE_SECONDS:
                SessionState.notice.reset()
                SessionState.notice_drawn.reset()
        return self.notice

    def note_notice_drawn(self, page: str) -> None:
        """Store that a complete run of this page drew the notice."""
        if self.notice is not None and self.notice_drawn is None:
            self.notice_drawn = (page, time.monotonic())

    def enter_page(self, page: str) -> None:
        """Store the page that is drawn.

        Review resumes at the document that it showed last. Results of a preflight are dropped: on Models, the user may
        have fixed what failed. The codebook, personas and prompts are shown as stored.
        """
        if page != self.page:
            self.page = page
            RunState.probes.reset()
            CodebookState.draft.expect_change()
            PersonasState.draft.expect_change()
            LabState.seen_text.reset()
            self.review.start_document = self.review.document

    def read_url(self, project: str) -> None:
        """Read the state from the address, once per tab: in a new tab and after a reload.

        The address of a project other than ``project`` is ignored.
        """
        if self.url_read:
            return
        self.url_read = True
        url = st.query_params
        if url.get("project", project) != project:
            return
        if url.get("run") == RunState.NEW:
            self.run.setup_open = True
        elif "run" in url:
            self.run_id = url["run"]
        if "document" in url:
            self.review.document = url["document"]
        if "runs" in url:
            self.compare.runs = tuple(url["runs"].split(","))
        if "reference" in url:
            self.evaluate.reference = url["reference"]
        if url.get("view") in ReviewState.VIEWS:
            self.review.view = url["view"]
        if url.get("tab") in EvaluateState.TABS:
            self.evaluate.tab = url["tab"]
        if "prompt" in url:
            self.lab.subject = url["prompt"]


def run_slow(work: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Call a slow function in a callback, while callbacks of other tabs may run.

    The function must not change a setting that it has read before, because another tab may change it meanwhile.
    """
    callback_turn.release()
    try:
        return work(*args, **options)
    finally:
        callback_turn.acquire()


def with_value(key: str, value: Any) -> str:
    """Set the widget ``key`` to a stored value and return the key.

    The widget's ``on_change`` must store a changed value.
    """
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value
    return key


def bound(key: str, value: Any, save: Callable[[Any], None]) -> dict[str, Any]:
    """Return the arguments that bind a widget to a stored value. ``save`` is called with each value that is chosen."""

    def changed() -> None:
        if key in st.session_state:  # Streamlit reports a change of a widget that an interrupted run did not draw
            save(st.session_state[key])

    return {"key": with_value(key, value), "on_change": changed}


def with_default(key: str, value: Any) -> str:
    """Set the initial value of the widget ``key`` and return the key. A value that the user chose is kept."""
    if key not in st.session_state:
        st.session_state[key] = value
    return key


def reset_widgets(*keys: str) -> None:
    """Reset widgets to their initial values."""
    for key in keys:
        st.session_state.pop(key, None)


state = SessionState()
"""State of the tab that is being drawn."""
