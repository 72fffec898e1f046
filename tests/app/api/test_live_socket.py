"""Tests of the live route: its events, and reconnecting with cursors."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient, WebSocketTestSession
from starlette.websockets import WebSocketDisconnect

from app.api import live_socket
from app.api.middleware import POLICY_VIOLATION
from core.debate.events import Delta, RunStatus, TurnStarted, VerdictReached
from core.debate.turns import Reply, Turn, Verdict
from core.errors import ProjectError
from core.runs import RoleModel
from core.services.live_state import DocumentText, LiveRunState, StoredDebate
from core.store.transcripts import FinishedDebate, FinishedPage

RUN = "r1"
MODEL = RoleModel(connection="x", model="m")
BASE = "http://127.0.0.1:8501"
HOSTILE = "<img src=x onerror=alert(1)>"


class Source:
    """A run with one active debate and one in the store."""

    def __init__(self) -> None:
        self.state = LiveRunState(RUN)

    def live_run(self, run_id: str) -> LiveRunState | None:
        return self.state if run_id == RUN else None

    def document(self, document_id: str) -> DocumentText | None:
        return DocumentText(document_id, {"text": HOSTILE}, "row 1")

    def replay(self, run_id: str, document_id: str) -> StoredDebate | None:
        if document_id != "old":
            return None
        turn = Turn(RUN, "old", 0, "judge", MODEL, reply=Reply("stored words"))
        return StoredDebate(DocumentText("old", {"text": "old text"}), (turn,), VerdictReached(RUN, "old", Verdict({})))

    def finished(self, run_id: str, *, query: str, status: str, offset: int, limit: int) -> FinishedPage:
        return FinishedPage(1, (FinishedDebate("old", "verdict", {"a": True}, f"{query}/{status}/{offset}/{limit}"),))


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def client(source: Source) -> Iterator[TestClient]:
    with TestClient(Starlette(routes=live_socket.routes(lambda name: (source, name))), base_url=BASE) as opened:
        yield opened


def connect(client: TestClient) -> WebSocketTestSession:
    return client.websocket_connect(live_socket.LIVE)


def watch(socket: WebSocketTestSession, focus: str | None = "d1", **more: Any) -> dict[str, Any]:
    socket.send_json({"type": "watch", "run": RUN, "focus": focus, **more})
    return receive(socket, "snapshot")


def receive(socket: WebSocketTestSession, kind: str) -> dict[str, Any]:
    while True:
        message: dict[str, Any] = socket.receive_json()
        if message["type"] == kind:
            return message


def turns(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in message["events"] if event["kind"] == "turn"]


def test_snapshot_is_followed_by_batches(client: TestClient, source: Source) -> None:
    source.state.publish(RunStatus.model_construct(run_id=RUN, state="running", documents=9, in_flight=1))
    source.state.publish(TurnStarted(Turn(RUN, "d1", 0, "extractor", MODEL)))
    source.state.publish(Delta(RUN, "d1", 0, 0, "Hello"))
    with connect(client) as socket:
        snapshot = watch(socket)
        assert {event["kind"] for event in snapshot["events"]} == {"run_status", "tile", "turn"}
        assert snapshot["document"] == {"id": "d1", "fields": {"text": HOSTILE}, "note": "row 1"}
        assert turns(snapshot)[0]["text"] == "Hello"
        source.state.publish(Delta(RUN, "d1", 0, 5, " world"))
        batch = receive(socket, "batch")
        assert [(turn["offset"], turn["text"]) for turn in turns(batch)] == [(5, " world")]


def test_reconnecting_with_cursors_sends_only_missing_text(client: TestClient, source: Source) -> None:
    source.state.publish(Delta(RUN, "d1", 0, 0, "Hello"))
    with connect(client) as socket:
        snapshot = watch(socket)
        cursors = {"0": [turns(snapshot)[0]["attempt"], 5]}
    source.state.publish(Delta(RUN, "d1", 0, 5, " world"))
    with connect(client) as socket:
        (turn,) = turns(watch(socket, instance=snapshot["instance"], cursors=cursors))
        assert (turn["offset"], turn["text"]) == (5, " world")
    with connect(client) as socket:
        (turn,) = turns(watch(socket, instance="another", cursors=cursors))
        assert (turn["offset"], turn["text"]) == (0, "Hello world")


def test_debate_of_many_turns_reconnects_with_its_cursors(client: TestClient, source: Source) -> None:
    for number in range(5000):
        source.state.publish(Delta(RUN, "d1", number, 0, "Hello"))
    with connect(client) as socket:
        snapshot = watch(socket)
    cursors = {str(turn["turn"]): [turn["attempt"], 5] for turn in turns(snapshot)}
    with connect(client) as socket:
        shown = turns(watch(socket, instance=snapshot["instance"], cursors=cursors))
        assert (len(shown), {turn["text"] for turn in shown}) == (5000, {""})


def test_debate_no_longer_in_memory_is_read_from_the_store(client: TestClient) -> None:
    with connect(client) as socket:
        snapshot = watch(socket, "old")
        assert snapshot["document"]["fields"] == {"text": "old text"}
        assert turns(snapshot)[0]["text"] == "stored words"
        assert snapshot["events"][-1]["kind"] == "verdict"


def test_stored_turns_complete_a_debate_that_is_replayed_in_part(client: TestClient, source: Source) -> None:
    source.state.publish(TurnStarted(Turn(RUN, "old", 1, "critic", MODEL)))
    source.state.publish(Delta(RUN, "old", 1, 0, "Hello"))
    with connect(client) as socket:
        shown = {turn["turn"]: turn["text"] for turn in turns(watch(socket, "old"))}
        assert shown == {0: "stored words", 1: "Hello"}


def test_finished_debates_are_requested_by_page(client: TestClient) -> None:
    with connect(client) as socket:
        watch(socket, None)
        socket.send_json({"type": "finished", "query": "tub", "status": "verdict", "offset": 50})
        page = receive(socket, "finished")
        assert page["total"] == 1
        assert page["rows"][0]["text_start"] == "tub/verdict/50/50"
        socket.send_json({"type": "finished", "offset": 10**30})
        assert receive(socket, "finished")["offset"] == live_socket.MAX_OFFSET


def test_unknown_run_is_reported_as_gone(client: TestClient) -> None:
    with connect(client) as socket:
        socket.send_json({"type": "watch", "run": "nobody", "focus": None})
        assert socket.receive_json() == {"type": "gone"}


def test_run_of_a_closed_project_is_reported_as_gone_until_it_is_opened_again(
    client: TestClient, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_socket, "LOOK_AGAIN", 1)
    monkeypatch.setattr(live_socket, "IDLE", 0.01)
    state = source.state
    with connect(client) as socket:
        watch(socket)
        monkeypatch.setattr(source, "live_run", lambda _run: None)
        assert socket.receive_json() == {"type": "gone"}
        monkeypatch.setattr(source, "live_run", lambda _run: state)
        assert socket.receive_json()["type"] == "snapshot"


def test_lone_surrogates_do_not_break_the_connection(client: TestClient, source: Source) -> None:
    source.state.publish(Delta(RUN, "d1", 0, 0, "half a pair \ud83d"))
    with connect(client) as socket:
        assert turns(watch(socket))[0]["text"] == "half a pair \ud83d"


@pytest.mark.parametrize(
    "message",
    [
        "no json",
        "[]",
        '{"type": "watch"}',
        '{"type": "watch", "run": 1}',
        '{"type": "watch", "run": "r1", "focus": {}}',
        '{"type": "watch", "run": "r1", "focus": "d1", "cursors": [1]}',
        '{"type": "watch", "run": "r1", "focus": "d1", "cursors": {"x": [0, 1]}}',
        '{"type": "watch", "run": "r1", "focus": "d1", "cursors": {"0": 1}}',
        '{"type": "watch", "run": "r1", "focus": "d1", "cursors": {"0": [0, 1e999]}}',
        '{"type": "finished", "offset": "many"}',
        '{"type": "finished", "offset": 1e999}',
        json.dumps({"type": "finished", "query": "x" * live_socket.MAX_MESSAGE_CHARACTERS}),
        "[" * 50_000,
    ],
)
def test_invalid_message_closes_the_socket(client: TestClient, message: str) -> None:
    with connect(client) as socket:
        socket.send_text(message)
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_text()
        assert closed.value.code == POLICY_VIOLATION


def test_binary_message_closes_the_socket(client: TestClient) -> None:
    with connect(client) as socket:
        socket.send_bytes(b"{}")
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_text()
        assert closed.value.code == POLICY_VIOLATION


def test_closing_the_project_while_it_is_read_ends_the_connection(
    client: TestClient, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_read = threading.Event()

    def read(*_: str) -> None:
        is_read.set()
        raise ProjectError("p.duckdb is closed.", "Open the project again.")

    monkeypatch.setattr(source, "document", read)
    with connect(client) as socket:
        socket.send_json({"type": "watch", "run": RUN, "focus": "d1"})
        assert is_read.wait(30)
        socket.exit_stack.close()  # raises the error of the route, if it has one
