"""Change Streamlit (version 1.67): requests that arrive while a page runs, downloads, and which files it reads.

Streamlit ends a run wherever it uses the session state while a newer request waits, also within a callback. It has
noted the new value of the widget by then, so it does not call the callback again, and the input is lost.

Streamlit starts the run of a newer request while a callback goes on. If both change the same stored settings, the
change that is stored first is lost. Slow work of a callback holds up only the callbacks of its tab.

The request of a fragment names the page that the browser shows, but the server may have begun to open another page.
Streamlit then returns to the old page: the link has no effect, or the browser removes the elements of the new page.

On a busy machine, a run may have ended before its last elements are sent. A request of a fragment then makes Streamlit
drop these elements, or only the containers of the fragment. Without the containers the browser fails at what they
contain and shows an empty page.

If a callback raises an error, Streamlit neither calls the other callbacks nor draws the page, not even its sidebar.
Callbacks can therefore raise a MootError, which the page then shows at its top.

If a fragment and a dialog that it has opened wait to run, Streamlit runs only the fragment. The fragment does not draw
the dialog again, so the dialog ignores what was typed into it.

If a parallel fragment is stopped while its spinner waits to appear, the timer of the spinner prints a traceback.

A file that a click has generated is removed after the second run of any page, also of a fragment with a timer. On a
busy machine this can be earlier than the browser asks for the file.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.fragment import MemoryFragmentStorage, _FragmentLifetime
from streamlit.runtime.media_file_manager import MediaFileMetadata
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.exceptions import StopException
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType
from streamlit.runtime.scriptrunner_utils.script_run_context import RunLocation, ThreadState, get_script_run_ctx
from streamlit.runtime.state import SessionState

from app.state import callback_turn
from app.widgets.alerts import error_notice
from core.errors import MootError

_interrupt = ScriptRunner._maybe_handle_execution_control_request
_run_script = ScriptRunner._run_script
_add_request = ScriptRequests._request_rerun_locked
_start_runner = AppSession._create_scriptrunner
_is_drawn_by = MemoryFragmentStorage.has_ancestor_in
_clear_queue = ForwardMsgQueue.clear
_call_callbacks = SessionState.on_script_will_rerun
_run_callback = SessionState._run_callback_and_record_rerun
_mark_for_delete = MediaFileMetadata.mark_for_delete
_tab_turns: dict[int, threading.RLock] = {}
"""A lock for each tab, by the id of its state: held while its callbacks are called, also during slow work."""

DOWNLOAD_SECONDS = 60.0
"""Time in seconds that a generated file is kept after the first run of a page."""


def correct_streamlit() -> None:
    """Correct the faults that the module describes."""
    ScriptRunner._maybe_handle_execution_control_request = _interrupt_outside_callbacks  # type: ignore[method-assign]
    ScriptRunner._run_script = _run_fragments_on_current_page  # type: ignore[method-assign]
    ScriptRequests._request_rerun_locked = _add_request_for_waiting_page  # type: ignore[method-assign]
    AppSession._create_scriptrunner = _start_runner_after_events  # type: ignore[method-assign]
    MemoryFragmentStorage.has_ancestor_in = _is_drawn_by_unless_dialog  # type: ignore[method-assign]
    ForwardMsgQueue.clear = _clear_queue_for_full_run  # type: ignore[method-assign]
    SessionState.on_script_will_rerun = _call_callbacks_in_turn  # type: ignore[method-assign]
    SessionState._run_callback_and_record_rerun = _run_callback_with_notice  # type: ignore[method-assign]
    MediaFileMetadata.mark_for_delete = _mark_for_delete_later  # type: ignore[method-assign]


def ignore_foreign_files() -> None:
    """Read only Moot's own settings and components.

    Streamlit would search all installed packages for components, and obey files of the current folder: settings, and
    secrets that it adds to the environment.
    """
    settings = Path(__file__).with_name(".streamlit")
    config.get_config_files = lambda file_name: [str(settings / file_name)]
    manifest_scanner.scan_component_manifests = lambda *_, **__: []


def _interrupt_outside_callbacks(self: ScriptRunner) -> None:
    context = get_script_run_ctx(suppress_warning=True)
    if context is not None and ThreadState.get().run_location is RunLocation.CALLBACK:
        return
    try:
        _interrupt(self)
    except StopException:
        if isinstance(threading.current_thread(), threading.Timer):  # of a spinner
            raise SystemExit from None  # ends the thread without a traceback
        raise


def _call_callbacks_in_turn(self: SessionState, *states: Any, **options: Any) -> None:
    with _tab_turns.setdefault(id(self), threading.RLock()), callback_turn:
        _call_callbacks(self, *states, **options)


def _run_callback_with_notice(self: SessionState, votes: Any, run: Callable[[], None]) -> None:
    def run_with_notice() -> None:
        try:
            run()
        except MootError as error:
            error_notice(error)
            context = get_script_run_ctx(suppress_warning=True)
            if context is not None and context.fragment_ids_this_run:
                streamlit.rerun()  # the page draws the notice, not the fragment

    _run_callback(self, votes, run_with_notice)


def _run_fragments_on_current_page(self: ScriptRunner, rerun_data: RerunData) -> None:
    current = self._pages_manager.current_page_script_hash
    if rerun_data.fragment_id_queue and current:
        rerun_data = replace(rerun_data, page_script_hash=current)
    _run_script(self, rerun_data)


def _add_request_for_waiting_page(self: ScriptRequests, new_data: RerunData) -> bool:
    waiting = self._rerun_data
    is_fragment = bool(new_data.fragment_id or new_data.fragment_id_queue)
    if is_fragment and self._state == ScriptRequestType.RERUN and not waiting.fragment_id_queue:
        new_data = replace(
            new_data,
            page_script_hash=waiting.page_script_hash,
            page_name=waiting.page_name,
            query_string=waiting.query_string,
        )
    return _add_request(self, new_data)


def _start_runner_after_events(self: AppSession, initial_rerun_data: RerunData) -> None:
    ended = self._scriptrunner
    if ended is None:  # also if a full run replaces a run that goes on
        _start_runner(self, initial_rerun_data)
        return

    def start() -> None:
        if self._state == AppSessionState.SHUTDOWN_REQUESTED:
            return
        newer = self._scriptrunner
        if newer is None or newer is ended:
            _start_runner(self, initial_rerun_data)
        elif not newer.request_rerun(initial_rerun_data):
            _start_runner_after_events(self, initial_rerun_data)

    self._call_soon_on_event_loop(start)  # after the events of the run, which are waiting already


def _is_drawn_by_unless_dialog(self: MemoryFragmentStorage, fragment_id: str, candidate_ids: Container[str]) -> bool:
    if self._lifetime_by_id.get(fragment_id) is _FragmentLifetime.FULL_APP_SCOPED:  # a dialog
        return False
    return _is_drawn_by(self, fragment_id, candidate_ids)


def _clear_queue_for_full_run(
    self: ForwardMsgQueue, retain_lifecycle_msgs: bool = False, fragment_ids_this_run: list[str] | None = None
) -> None:
    if fragment_ids_this_run:
        self._delta_index_map = {}  # the elements of the new run follow its start
    else:
        _clear_queue(self, retain_lifecycle_msgs)


def _mark_for_delete_later(self: MediaFileMetadata) -> None:
    now = time.monotonic()
    if now - vars(self).setdefault("_unused_since", now) > DOWNLOAD_SECONDS:
        _mark_for_delete(self)
