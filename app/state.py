"""What one browser tab remembers: the only module that names keys of ``st.session_state``, widgets of a page aside.

``state`` is the state of the tab that is being drawn, grouped by page: ``state.run_id``, ``state.review.document``.
Each attribute is a ``Value``. Read and assign it on ``state``. On its class (``ReviewState.view``) it offers the key
for a widget that holds the value, ``set`` for callbacks, ``pop`` for messages that are shown once, and ``reset``.

Streamlit's ``bind="query-params"`` is not used for what the address names. A bound widget whose value is assigned by
the script, and each page switch away from one, adds a second step to the browser's history (tried with 1.67), so that
the back button has to be pressed twice. ``widgets.layout.write_url`` replaces the current step instead.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, cast, overload

import streamlit as st

if TYPE_CHECKING:
    from app.pages import PageName
    from core.errors import MootError
    from core.services import personas
    from core.services.data.importing import ImportDraft
    from core.services.lab.rewrite import Proposal
    from core.services.models import Probe
    from core.services.review.codebook_examples import CodebookExample

T = TypeVar("T")

DOUBLE_CLICK_SECONDS = 2.0
"""Seconds within which a second press of a button that starts something counts as the first one's."""


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
        return self if instance is None else cast(T, st.session_state.get(self.key, self._default))

    def __set__(self, instance: object, value: T) -> None:
        self.set(value)

    def set(self, value: T) -> None:
        """Assign the value; for callbacks."""
        st.session_state[self.key] = value

    def pop(self) -> T:
        """Return the value and reset it."""
        return cast(T, st.session_state.pop(self.key, self._default))

    def reset(self) -> None:
        """Go back to the default; a widget that holds the value starts anew."""
        st.session_state.pop(self.key, None)


class DataState:
    """The Data page, and the file uploaders of all pages."""

    GOLD_WIDGETS: ClassVar[tuple[str, str]] = ("gold_kind", "gold_raters")
    """Widget keys of the column mapping: the kind of gold, and further raters by name. Reset with each new file."""

    pending_import: Value[str | None] = Value(None)
    """Id of the file that is read but not imported (``core.services.data.pending_imports``).

    Empty for none, None for the one that the address names."""
    gold_draft: Value[ImportDraft | None] = Value(None)
    """The stored documents while their gold columns are mapped again."""
    uploads: Value[int] = Value(0)
    """Number of finished uploads; part of the key of each uploader."""
    search: Value[str] = Value("")
    """Widget: the search text in the list of documents."""
    new_project: Value[str] = Value("")
    """Widget: the name of the project to create."""

    def uploader(self, name: str) -> str:
        """Return the key of a file uploader; it changes with ``clear_uploaders``."""
        return f"{name}-{self.uploads}"

    def clear_uploaders(self) -> None:
        """Empty all file uploaders."""
        self.uploads += 1


class CodebookState:
    """The Codebook page."""

    label: Value[str | None] = Value(None)
    """Id of the label that is edited."""
    rejected: Value[dict[str, tuple[Any, str]]] = Value({})
    """Widget key to (the input, the reason why it was rejected), until it is corrected."""
    draft_saved_at: Value[float | None] = Value(None)
    """Unix time at which this tab last saved a draft of the codebook or the personas."""
    document: Value[int] = Value(1)
    """Widget: position of the document that the prompts are shown for."""

    def select_label(self, label_id: str | None) -> None:
        """Edit another label; rejected inputs of the last one are dropped."""
        if label_id != self.label:
            CodebookState.rejected.reset()
        self.label = label_id

    def reject(self, key: str, value: Any, reason: str) -> None:
        """Keep the input of a widget with the reason why it is invalid."""
        self.rejected = {**self.rejected, key: (value, reason)}

    def accept(self, key: str) -> None:
        """Forget the rejected input of a widget."""
        self.rejected = {other: rejected for other, rejected in self.rejected.items() if other != key}

    def note_draft_saved(self) -> None:
        """Set the time of the last saved draft to now."""
        self.draft_saved_at = time.time()


class PersonasState:
    """The Personas page."""

    job: Value[personas.Job | None] = Value(None)
    """The generation of personas that is running or whose result was not shown yet."""
    persona: Value[str | None] = Value(None)
    """Name of the persona that is edited."""


class ModelsState:
    """The Models page."""

    tests: Value[dict[str, Any]] = Value({})
    """Connection name to the result of its last test."""
    plan_saved_at: Value[float | None] = Value(None)
    """Unix time at which this tab last saved the models or settings of the next run."""

    def set_test(self, connection: str, result: Any) -> None:
        """Keep the result of a connection test; None drops it."""
        others = {name: test for name, test in self.tests.items() if name != connection}
        self.tests = others if result is None else {**others, connection: result}

    def note_plan_saved(self) -> None:
        """Set the time of the last saved plan to now."""
        self.plan_saved_at = time.time()


class RunState:
    """The Run page."""

    setup_open: Value[bool] = Value(False)
    """True while a new run is set up although the project has runs."""
    probes: Value[tuple[Probe, ...]] = Value(())
    """Results of the last preflight, shown until the next one."""
    started_at: Value[float] = Value(-DOUBLE_CLICK_SECONDS)
    """Monotonic time at which this tab last started a run."""

    def show_setup(self, on: bool) -> None:
        """Open or close the setup of a new run; the results of the last preflight are dropped."""
        self.setup_open = on
        RunState.probes.reset()

    def is_first_click(self) -> bool:
        """Return whether this tab started no run within the last ``DOUBLE_CLICK_SECONDS``, and note the time."""
        now = time.monotonic()
        first = now - self.started_at >= DOUBLE_CLICK_SECONDS
        if first:
            self.started_at = now
        return first


class ReviewState:
    """The Review page."""

    VIEWS = ("Focus", "Grid", "People")

    reviewer: Value[str] = Value("")
    """Widget: the name under which review actions are recorded."""
    view: Value[str | None] = Value(None)
    """Widget: one of ``VIEWS``."""
    last_view: Value[str | None] = Value(None)
    """The view that was drawn last."""
    requested_document: Value[str | None] = Value(None)
    """The document that another page asked to open."""
    document: Value[str | None] = Value(None)
    """The document that is shown."""
    start_document: Value[str | None] = Value(None)
    """The document at which the view starts when it is next drawn."""
    selected: Value[tuple[str, ...]] = Value(())
    """Ids of the documents that are selected in the grid."""
    problem: Value[tuple[str, str] | None] = Value(None)
    """Message and remedy of a review action that failed, shown once."""
    saved: Value[str] = Value("")
    """The message of the last review action, such as "Saved 14:03:22"."""
    corrected_document: Value[str | None] = Value(None)
    """The document whose correction is offered as a codebook example; it stays when another document is shown."""
    example_saved: Value[str] = Value("")
    """The outcome of adding the last codebook example, shown once."""
    edited_example: Value[CodebookExample | None] = Value(None)
    """The codebook example whose words the user wants to edit before it is added; read once."""

    def actor(self, default: str) -> str:
        """Return the name under which review actions are recorded."""
        return self.reviewer.strip() or default

    def note_view(self, view: str) -> None:
        """Note the view that is drawn. Another view starts at the document that the last one showed."""
        if (self.last_view or view) != view:
            self.start_document = self.document
        self.last_view = view


class EvaluateState:
    """The Evaluate page; its reference and document are also those of Compare."""

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
    """The reference that verdicts are scored against."""
    cell: Value[tuple[str, str] | None] = Value(None)
    """(label id, tp, fp, fn or tn) of the confusion matrix cell whose documents are listed."""
    document: Value[str | None] = Value(None)
    """The listed document that is shown."""

    def select_cell(self, cell: tuple[str, str] | None) -> None:
        """List the documents of another cell, and show none of them."""
        self.cell = cell
        self.document = None


class CompareState:
    """The Compare page."""

    runs: Value[tuple[str, ...]] = Value(())
    """Ids of the compared runs, in order; empty until runs were chosen."""


class LabState:
    """The Lab page."""

    subject: Value[str] = Value("definitions")
    """What is edited: the slot of a template, or ``core.services.lab.trials.DEFINITIONS``."""
    protocol: Value[str | None] = Value(None)
    """Widget: the protocol whose prompts are edited."""
    run_protocol: Value[str | None] = Value(None)
    """The protocol of the run whose prompts were opened."""
    sample_size: Value[int | None] = Value(None)
    """Widget: number of documents that a change is tested on."""
    seed: Value[int] = Value(0)
    """Widget: the seed of the sample."""
    prompt_view: Value[str] = Value("edit")
    """Widget: edit, diff or rendered."""
    definitions_view: Value[str] = Value("edit")
    """Widget: edit, diff or suggestions."""
    trials: Value[dict[str, int]] = Value({})
    """Subject to the number of the trial that is shown; the latest one without an entry."""
    last_trial: Value[str] = Value("")
    """The change and sample size that this tab tested last."""
    document: Value[str | None] = Value(None)
    """The document whose two debates are shown."""
    preview_position: Value[int] = Value(1)
    """Widget: position of the document that the prompt is rendered for."""
    single_position: Value[int] = Value(1)
    """Widget: position of the document that a change is tested on alone."""
    note: Value[str] = Value("")
    """Widget: the note of the version that is saved next."""
    test_while_typing: Value[bool] = Value(True)
    """Widget: whether a change is tested as soon as typing stops."""
    label: Value[str | None] = Value(None)
    """Widget: id of the label whose definition is edited."""
    editor_version: Value[int] = Value(0)
    """Number of times the page replaced the text in the editor."""
    draft_saved_at: Value[float | None] = Value(None)
    """Unix time at which this tab last saved a draft of a prompt."""
    problem: Value[MootError | None] = Value(None)
    """Why the last change could not be tested."""
    errors_run: Value[str | None] = Value(None)
    """Widget: the run whose errors suggestions come from; None for the latest trial or run."""
    proposal: Value[Proposal | None] = Value(None)
    """The rewrite that a model proposed, until it is accepted or dismissed."""

    def select_subject(self, subject: str) -> None:
        """Edit another template, or the definitions."""
        if subject != self.subject:
            for value in (LabState.document, LabState.note, LabState.proposal, LabState.problem):
                value.reset()
        self.subject = subject

    def show_trial(self, subject: str, number: int) -> None:
        """Show a trial, and none of its documents."""
        if self.trials.get(subject) != number:
            self.trials = {**self.trials, subject: number}
            LabState.document.reset()

    def toggle_document(self, document_id: str | None) -> None:
        """Show the debates on a document, or hide them if they are shown."""
        self.document = None if document_id == self.document else document_id

    def is_new_trial(self, trial: str) -> bool:
        """Return whether a trial differs from the last one of this tab, and note it."""
        new = self.last_trial != trial
        self.last_trial = trial
        return new

    def replace_editor_text(self) -> None:
        """Have the editor show the text of the page instead of its own."""
        self.editor_version += 1

    def note_draft_saved(self) -> None:
        """Set the time of the last saved draft to now."""
        self.draft_saved_at = time.time()


class SessionState:
    """The state of the tab, by page."""

    data = DataState()
    codebook = CodebookState()
    personas = PersonasState()
    models = ModelsState()
    run = RunState()
    review = ReviewState()
    evaluate = EvaluateState()
    compare = CompareState()
    lab = LabState()

    project: Value[Path | None] = Value(None)
    """File of the project that the tab shows; None before one was chosen."""
    project_switcher: Value[Path | None] = Value(None)
    """Widget: the project switcher."""
    run_id: Value[str | None] = Value(None)
    """The run that the pages show; None means the latest."""
    notice: Value[tuple[Literal["error", "warn", "ok", "info"], str, str] | None] = Value(None)
    """(kind, head, text) of a message that the next rerun shows once."""
    page: Value[str] = Value("")
    """The page that was drawn last."""
    next_page: Value[PageName | None] = Value(None)
    """The page that a callback asked for: a callback cannot switch pages itself."""
    url_read: Value[bool] = Value(False)
    """True once the tab has read the address with which it was opened."""

    def select_project(self, path: Path) -> None:
        """Show another project and drop the state that belongs to the last one."""
        if path != self.project:
            kept = {SessionState.project_switcher.key, SessionState.notice.key, SessionState.url_read.key}
            for key in list(st.session_state):
                if key not in kept:
                    del st.session_state[key]
        self.project = path

    def select_run(self, run_id: str | None) -> None:
        """Show another run on all pages."""
        self.run_id = run_id

    def set_notice(self, kind: Literal["error", "warn", "ok", "info"], head: str, text: str = "") -> None:
        """Have the next rerun show a message once, at the top (after st.rerun or a page switch)."""
        self.notice = (kind, head, text)

    def enter_page(self, page: str) -> None:
        """Note the page that is drawn. Review starts at the document that it showed when it was left."""
        if page != self.page:
            self.page = page
            self.review.start_document = self.review.document

    def read_url(self, project: str) -> None:
        """Show what the address names, once per tab: in a new tab and after a reload.

        An address of another project than ``project`` is ignored.
        """
        if self.url_read:
            return
        self.url_read = True
        url = st.query_params
        if url.get("project", project) != project:
            return
        if "run" in url:
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


def with_value(key: str, value: Any) -> str:
    """Make the widget ``key`` show a stored value and return the key. Its ``on_change`` stores another one."""
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value
    return key


def with_default(key: str, value: Any) -> str:
    """Make the widget ``key`` start with a value, keep what the user chose since, and return the key."""
    if key not in st.session_state:
        st.session_state[key] = value
    return key


def reset_widgets(*keys: str) -> None:
    """Let widgets start anew."""
    for key in keys:
        st.session_state.pop(key, None)


state = SessionState()
"""The state of the tab that is being drawn."""
