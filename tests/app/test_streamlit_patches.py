"""Tests of the changes to Streamlit: requests that arrive while a page runs, and downloads."""

from __future__ import annotations

import asyncio
import builtins
import threading
import time
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import streamlit
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime import Runtime
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.media_file_manager import MediaFileManager, MediaFileMetadata
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.script_data import ScriptData
from streamlit.runtime.scriptrunner import RerunData, script_runner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner, ScriptRunnerEvent
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests, ScriptRequestType
from streamlit.runtime.state import SafeSessionState, SessionState
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.local_script_runner import LocalScriptRunner
from streamlit.util import calc_hash

from app import streamlit_patches
from app.state import run_slow

PAGES = """
import builtins
import streamlit as st
from app.state import state
from core.errors import StorageFull

def fail():
    raise StorageFull("The disk is full.", "Free some space.")

def one():
    st.text_input("Name", key="name", on_change=lambda: builtins.moot_test.changed(st.session_state))
    st.text(str(state.notice))

def two():
    builtins.moot_test.opened()
    st.write("Second page")

current = st.navigation([st.Page(one, url_path="one", default=True), st.Page(two, url_path="two")], position="hidden")

@st.fragment
def clock():
    st.checkbox("Seconds", on_change=fail)

with st.sidebar:
    clock()
current.run()
"""
ONE, TWO = calc_hash("one"), calc_hash("two")


class Tab:
    """A browser tab that sends requests to the pages above, also while a page or a callback runs."""

    def __init__(self, script: Path) -> None:
        self.script = str(script)
        self.session_state = SafeSessionState(SessionState(), lambda: None)
        self.fragments = MemoryFragmentStorage()
        self.pages = PagesManager(self.script)
        self.saved: list[str] = []
        self.late: RerunData | None = None
        self.runner = self.send(RerunData(page_script_hash=ONE))

    def send(self, request: RerunData) -> LocalScriptRunner:
        """Run the pages for a request in a new thread, as after a finished run, and wait for its end."""
        self.runner = LocalScriptRunner(self.script, self.session_state, self.pages, fragment_storage=self.fragments)
        self.runner._requests = ScriptRequests()  # the runner of AppTest begins with a request of its own
        self.runner.request_rerun(request)
        self.runner.start()
        self.runner.join()
        return self.runner

    def fragment(self) -> str:
        """Return the id of the fragment in the sidebar."""
        (fragment,) = self.fragments._fragments
        return str(fragment)

    def opened(self) -> None:
        """Send the late request while the second page runs."""
        if self.late is not None:
            self.runner.request_rerun(self.late)
            self.late = None

    def changed(self, state: SafeSessionState) -> None:
        """Save the typed text in a callback, during which the user opens another page."""
        self.runner.request_stop()
        self.saved.append(state["name"])


@pytest.fixture
def corrected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Correct Streamlit for this test."""
    for owner, name in (
        (ScriptRunner, "_maybe_handle_execution_control_request"),
        (ScriptRunner, "_run_script"),
        (ScriptRequests, "_request_rerun_locked"),
        (AppSession, "_create_scriptrunner"),
        (MemoryFragmentStorage, "has_ancestor_in"),
        (ForwardMsgQueue, "clear"),
        (SessionState, "on_script_will_rerun"),
        (SessionState, "_run_callback_and_record_rerun"),
        (MediaFileMetadata, "mark_for_delete"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))  # restored afterwards
    monkeypatch.setattr(Runtime, "_instance", MagicMock(spec=Runtime))
    streamlit_patches.correct_streamlit()


@pytest.fixture
def tab(corrected: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tab:
    script = tmp_path / "pages.py"
    script.write_text(PAGES)
    tab = Tab(script)
    monkeypatch.setattr(builtins, "moot_test", tab, raising=False)
    return tab


def test_callbacks_of_a_newer_request_wait_for_those_that_run(corrected: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both would change the same stored settings, and the change that is stored first would be lost."""
    stored: list[str] = []

    def call_callbacks(_: SessionState, **__: object) -> None:
        before = list(stored)
        time.sleep(0.1)
        stored[:] = [*before, "changed"]

    monkeypatch.setattr(SessionState, "_call_callbacks", call_callbacks)
    requests = [threading.Thread(target=SessionState().on_script_will_rerun, args=(WidgetStates(),)) for _ in range(2)]
    for request in requests:
        request.start()
    for request in requests:
        request.join()
    assert stored == ["changed", "changed"]


def test_slow_work_of_a_callback_holds_up_its_own_tab_only(corrected: None, monkeypatch: pytest.MonkeyPatch) -> None:
    slow_tab, other_tab = SessionState(), SessionState()
    has_begun, may_end, calls = threading.Event(), threading.Event(), []

    def work() -> None:
        has_begun.set()
        may_end.wait(10)

    def call_callbacks(tab: SessionState, **_: object) -> None:
        if tab is slow_tab and not has_begun.is_set():
            run_slow(work)
            calls.append("slow")
        else:
            calls.append("other tab" if tab is other_tab else "same tab")

    monkeypatch.setattr(SessionState, "_call_callbacks", call_callbacks)
    requests = [
        threading.Thread(target=tab.on_script_will_rerun, args=(WidgetStates(),))
        for tab in (slow_tab, slow_tab, other_tab)
    ]
    requests[0].start()
    assert has_begun.wait(10)
    requests[1].start()
    requests[2].start()
    requests[2].join(5)
    may_end.set()
    for request in requests:
        request.join()
    assert calls == ["other tab", "slow", "same tab"]


def started_pages(runner: LocalScriptRunner) -> list[str]:
    return [
        data["page_script_hash"]
        for event, data in zip(runner.events, runner.event_data, strict=True)
        if event == ScriptRunnerEvent.SCRIPT_STARTED
    ]


def test_page_is_drawn_and_other_callbacks_are_called_after_an_error_of_a_callback(corrected: None) -> None:
    def page() -> None:
        import streamlit as st

        from app.state import state
        from core.errors import StorageFull

        def save() -> None:
            raise StorageFull("The disk is full.", "Free some space.")

        st.text_input("Name", on_change=save)
        st.button("Save", on_click=state.run.show_setup, args=(True,))
        st.text(f"{state.notice} {state.run.setup_open}")

    tab = AppTest.from_function(page).run()
    tab.text_input[0].set_value("x")
    tab.button[0].click().run()
    assert tab.text[0].value == "('error', 'The disk is full.', 'Free some space.') True"


def elements(tab: Tab, kind: str) -> list[Any]:
    """Return the elements of a kind that the last run has sent."""
    sent = (msg.delta.new_element for msg in tab.runner.forward_msgs())
    return [getattr(element, kind) for element in sent if element.WhichOneof("type") == kind]


def test_page_shows_the_error_of_a_callback_in_a_fragment(tab: Tab) -> None:
    (box,) = elements(tab, "checkbox")
    states = WidgetStates()
    states.widgets.add(id=box.id, bool_value=True)
    tab.send(RerunData(page_script_hash=ONE, fragment_id=tab.fragment(), widget_states=states))
    assert [text.body for text in elements(tab, "text")] == ["('error', 'The disk is full.', 'Free some space.')"]


def test_timer_of_a_left_page_does_not_take_the_tab_back_to_that_page(tab: Tab) -> None:
    tab.late = RerunData(page_script_hash=ONE, fragment_id=tab.fragment(), is_auto_rerun=True)
    assert started_pages(tab.send(RerunData(page_script_hash=TWO))) == [TWO, TWO]


def test_timer_of_a_left_page_after_the_new_page_was_drawn_does_not_replace_it(tab: Tab) -> None:
    tab.send(RerunData(page_script_hash=TWO))
    late = RerunData(page_script_hash=ONE, fragment_id=tab.fragment(), is_auto_rerun=True)
    assert started_pages(tab.send(late)) == [TWO]


def test_value_of_a_fragment_joins_the_waiting_request_without_changing_its_page(tab: Tab) -> None:
    requests = ScriptRequests()
    requests.request_rerun(RerunData(page_script_hash=TWO, query_string="project=b"))
    requests.request_rerun(RerunData(page_script_hash=ONE, query_string="project=a", fragment_id=tab.fragment()))
    request = requests.on_scriptrunner_ready()
    assert request.type == ScriptRequestType.RERUN
    assert (request.rerun_data.page_script_hash, request.rerun_data.query_string) == (TWO, "project=b")
    assert request.rerun_data.fragment_id_queue == []


def test_callback_saves_the_typed_text_although_the_user_opens_another_page_meanwhile(tab: Tab) -> None:
    (element,) = elements(tab, "text_input")
    states = WidgetStates()
    states.widgets.add(id=element.id, string_value="typed")
    tab.send(RerunData(page_script_hash=ONE, widget_states=states))
    assert tab.saved == ["typed"]


SENTENCES = """
import streamlit as st

@st.fragment
def clock():
    st.write("Time")

clock()
st.write("Last sentence")
"""


def test_fragment_request_at_the_end_of_a_run_drops_none_of_its_elements(
    corrected: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "sentences.py"
    script.write_text(SENTENCES)
    monkeypatch.setattr(PagesManager, "uses_pages_directory", None)
    shown: list[str] = []

    async def run() -> None:
        data = ScriptData(str(script), is_hello=False)
        session = AppSession(data, MagicMock(), ScriptCache(), lambda: None, {})
        session._browser_queue.enqueue = lambda msg: shown.append(msg.delta.new_element.markdown.body)  # type: ignore[method-assign]
        session.request_rerun(ClientState())
        runner = session._scriptrunner
        assert runner is not None
        assert runner._script_thread is not None
        runner._script_thread.join(20)  # the server is busy meanwhile, so nothing is sent yet
        (fragment,) = session._fragment_storage._fragments  # type: ignore[attr-defined]
        session.request_rerun(ClientState(fragment_id=fragment))
        async with asyncio.timeout(20):
            while "Time" not in shown or session._scriptrunner is not None:
                await asyncio.sleep(0.01)

    asyncio.run(run())
    assert "Last sentence" in shown


DIALOG = """
import streamlit as st

@st.dialog("Plan")
def plan():
    st.write(f"Margin {st.number_input('Margin', value=5)}")

@st.fragment
def page():
    if st.session_state.pop("opening", True):
        plan()

st.session_state.setdefault("opening", True)
page()
"""


def test_dialog_takes_a_number_although_the_fragment_that_opened_it_runs_again(corrected: None, tmp_path: Path) -> None:
    script = tmp_path / "dialog.py"
    script.write_text(DIALOG)
    tab = Tab(script)
    parent_of = tab.fragments._parent_by_id
    (dialog,) = (fragment for fragment, parent in parent_of.items() if parent is not None)
    (number,) = (
        msg.delta.new_element.number_input
        for msg in tab.runner.forward_msgs()
        if msg.delta.new_element.WhichOneof("type") == "number_input"
    )
    tab.session_state["opening"] = False
    states = WidgetStates()
    states.widgets.add(id=number.id, int_value=18)
    queue = [parent_of[dialog], dialog]
    drawn = tab.send(RerunData(page_script_hash=ONE, widget_states=states, fragment_id_queue=queue)).forward_msgs()
    assert "Margin 18" in [msg.delta.new_element.markdown.body for msg in drawn]


def test_start_of_a_fragment_run_drops_nothing_that_waits_to_be_sent(corrected: None) -> None:
    """The element of the inner fragment needs the container of the outer one, and the browser waits for the end."""
    queue = ForwardMsgQueue()
    container, text, end, redrawn = messages = [ForwardMsg() for _ in range(4)]
    container.delta.add_block.allow_empty = True
    container.delta.fragment_id = "page"
    container.metadata.delta_path.extend([0, 0])
    for drawn in (text, redrawn):
        drawn.delta.new_element.text.body = "12:00"
        drawn.delta.fragment_id = "clock"
        drawn.metadata.delta_path.extend([0, 0, 0])
    end.script_finished = ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY
    end.metadata.run.fragment_ids.append("page")
    for msg in (container, text, end):
        queue.enqueue(msg)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["page"])
    queue.enqueue(redrawn)
    assert [id(msg) for msg in queue.flush()] == [id(msg) for msg in messages]
    assert end.script_finished == ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY


def test_timer_of_a_spinner_in_a_stopped_run_ends_without_a_traceback(
    corrected: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    stopped = MagicMock(parallel_coordinator=MagicMock(should_stop=MagicMock(return_value=True)))
    monkeypatch.setattr(script_runner, "get_script_run_ctx", lambda **_: stopped)
    runner = MagicMock(_is_in_script_thread=MagicMock(return_value=False))
    sent: list[bool] = []

    def show() -> None:
        ScriptRunner._maybe_handle_execution_control_request(runner)
        sent.append(True)

    printed = []
    for thread in (threading.Timer(0, show), threading.Thread(target=show)):
        thread.start()
        thread.join()
        printed.append("StopException" in capsys.readouterr().err)
    assert printed == [False, True]
    assert sent == []


def test_generated_download_outlives_two_runs_and_is_removed_after_a_minute(
    corrected: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = MagicMock(return_value=5.0)
    monkeypatch.setattr(time, "monotonic", clock)
    storage = MemoryMediaFileStorage("/media")
    files = MediaFileManager(storage)
    name = Path(files.execute_deferred(files.add_deferred(lambda: "id,text", "text/csv", "1.0"))).name
    for _ in range(3):
        files.remove_orphaned_files()
    assert storage.get_file(name).content == b"id,text"
    clock.return_value = 66.0
    for _ in range(2):
        files.remove_orphaned_files()
    with pytest.raises(MediaFileStorageError):
        storage.get_file(name)


def test_corrections_are_written_for_the_installed_streamlit() -> None:
    assert streamlit.__version__.startswith("1.67."), "read app/streamlit_patches.py with the new version"
