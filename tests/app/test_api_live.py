"""The live route: who gets in, what is told, and that a reader who comes back gets only what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient, WebSocketTestSession
from starlette.websockets import WebSocketDisconnect

from app.api import live, security
from core.debate.events import Delta, RunStatus, TurnStarted, VerdictReached
from core.debate.turns import Reply, Turn, Verdict
from core.runs import RoleModel
from core.services.live_run import DocumentText, LiveRunState, Replay
from core.services.run_view import FinishedDebate, FinishedPage

RUN = "r1"
MODEL = RoleModel(connection="x", model="m")
BASE = "http://127.0.0.1:8501"
HOSTILE = "<img src=x onerror=alert(1)>"


class Source:
    """A run with one debate in flight and one in the store."""

    def __init__(self) -> None:
        self.state = LiveRunState(RUN)

    def live_run(self, run_id: str) -> LiveRunState | None:
        return self.state if run_id == RUN else None

    def document(self, run_id: str, document_id: str) -> DocumentText | None:
        return DocumentText(document_id, {"text": HOSTILE}, "row 1")

    def replay(self, run_id: str, document_id: str) -> Replay | None:
        if document_id != "old":
            return None
        turn = Turn(RUN, "old", 0, "judge", MODEL, reply=Reply("stored words"))
        return Replay(DocumentText("old", {"text": "old text"}), (turn,), VerdictReached(RUN, "old", Verdict({})))

    def finished(self, run_id: str, *, query: str, status: str, offset: int, limit: int) -> FinishedPage:
        return FinishedPage(1, (FinishedDebate("old", "verdict", {"a": True}, f"{query}/{status}/{offset}/{limit}"),))


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def access() -> security.Access:
    return security.Access("secret")


@pytest.fixture
def client(source: Source, access: security.Access) -> Iterator[TestClient]:
    async def page(_request: Any) -> PlainTextResponse:
        return PlainTextResponse("page")

    routes = [*security.routes(access), *live.routes(lambda name: (source, name), access), Route("/", page)]
    with TestClient(Starlette(routes=routes, middleware=[Middleware(security.Guard)]), base_url=BASE) as client:
        yield client


@pytest.fixture
def inside(client: TestClient, access: security.Access) -> TestClient:
    assert client.get(access.entrance).text == "page"
    return client


def connect(client: TestClient, origin: str | None = BASE, **headers: str) -> WebSocketTestSession:
    if origin is not None:
        headers["origin"] = origin
    # The test client's own scheme for sockets; the host is what counts.
    return client.websocket_connect(f"ws://127.0.0.1:8501{live.LIVE}", headers=headers)


def watch(socket: WebSocketTestSession, focus: str | None = "d1", **more: Any) -> dict[str, Any]:
    socket.send_json({"type": "watch", "run": RUN, "focus": focus, **more})
    return hear(socket, "snapshot")


def hear(socket: WebSocketTestSession, kind: str) -> dict[str, Any]:
    while True:
        message: dict[str, Any] = socket.receive_json()
        if message["type"] == kind:
            return message


def turns(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in message["events"] if event["kind"] == "turn"]


# -- who gets in


def test_the_token_becomes_a_cookie_that_scripts_cannot_read(client: TestClient, access: security.Access) -> None:
    answer = client.get(access.entrance, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("moot_token_8501=secret;")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert answer.headers["cache-control"] == "no-store"


def test_a_wrong_token_gives_no_cookie(client: TestClient) -> None:
    answer = client.get(f"{security.ENTER}?token=guess")
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_without_a_cookie_the_socket_closes_and_says_why(client: TestClient) -> None:
    with connect(client) as socket, pytest.raises(WebSocketDisconnect) as closed:
        socket.receive_text()
    assert closed.value.code == 4401


def test_a_page_that_was_served_here_shows_its_ticket_instead(client: TestClient, access: security.Access) -> None:
    address = f"ws://127.0.0.1:8501{live.LIVE}?ticket="
    with client.websocket_connect(address + access.ticket, headers={"origin": BASE}) as socket:
        assert watch(socket)["type"] == "snapshot"
    assert access.token not in access.ticket
    with client.websocket_connect(address + "forged", headers={"origin": BASE}) as socket:
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_text()
        assert closed.value.code == 4401


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "http://127.0.0.1:8502", "http://127.0.0.1.evil.example:8501", ""]
)
def test_another_origin_is_refused_even_with_the_cookie(inside: TestClient, origin: str | None) -> None:
    with pytest.raises(WebSocketDisconnect), connect(inside, origin):
        pass


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8501", "127.0.0.1.evil.example", ""])
def test_another_host_is_refused_everywhere(inside: TestClient, host: str) -> None:
    assert inside.get("/", headers={"host": host}).status_code == 421
    with pytest.raises(WebSocketDisconnect), connect(inside, f"http://{host}", host=host):
        pass


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:1", "localhost:8501", "LOCALHOST", "[::1]:8501"])
def test_hosts_of_this_machine(host: str) -> None:
    assert security.is_local(host)


def test_pages_may_load_nothing_from_elsewhere(client: TestClient) -> None:
    headers = client.get("/").headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "SAMEORIGIN"
    assert headers["referrer-policy"] == "no-referrer"


# -- what is told


def test_first_a_snapshot_then_batches(inside: TestClient, source: Source) -> None:
    source.state.publish(RunStatus(RUN, "running", 9, 0, 0, 0, 1, 0, 0, 0, 0, 0.0, 0.0, 0.0, None))
    source.state.publish(TurnStarted(Turn(RUN, "d1", 0, "extractor", MODEL)))
    source.state.publish(Delta(RUN, "d1", 0, 0, "Hello"))
    with connect(inside) as socket:
        snapshot = watch(socket)
        assert {event["kind"] for event in snapshot["events"]} == {"run_status", "tile", "turn"}
        assert snapshot["document"] == {"id": "d1", "fields": {"text": HOSTILE}, "note": "row 1"}
        assert turns(snapshot)[0]["text"] == "Hello"
        source.state.publish(Delta(RUN, "d1", 0, 5, " world"))
        batch = hear(socket, "batch")
        assert [(turn["offset"], turn["text"]) for turn in turns(batch)] == [(5, " world")]


def test_a_reader_that_comes_back_with_cursors_gets_only_the_rest(inside: TestClient, source: Source) -> None:
    source.state.publish(Delta(RUN, "d1", 0, 0, "Hello"))
    with connect(inside) as socket:
        instance = watch(socket)["instance"]
    source.state.publish(Delta(RUN, "d1", 0, 5, " world"))
    with connect(inside) as socket:
        (turn,) = turns(watch(socket, instance=instance, cursors={"d1/0": [0, 5]}))
        assert (turn["offset"], turn["text"]) == (5, " world")
    with connect(inside) as socket:
        (turn,) = turns(watch(socket, instance="another", cursors={"d1/0": [0, 5]}))
        assert (turn["offset"], turn["text"]) == (0, "Hello world")


def test_a_debate_that_the_board_no_longer_holds_comes_from_the_store(inside: TestClient) -> None:
    with connect(inside) as socket:
        snapshot = watch(socket, "old")
        assert snapshot["document"]["fields"] == {"text": "old text"}
        assert turns(snapshot)[0]["text"] == "stored words"
        assert snapshot["events"][-1]["kind"] == "verdict"


def test_finished_debates_are_asked_for_by_page(inside: TestClient) -> None:
    with connect(inside) as socket:
        watch(socket, None)
        socket.send_json({"type": "finished", "query": "tub", "status": "verdict", "offset": 50})
        page = hear(socket, "finished")
        assert page["total"] == 1
        assert page["rows"][0]["text_start"] == "tub/verdict/50/50"


def test_an_unknown_run_is_said_to_be_gone(inside: TestClient) -> None:
    with connect(inside) as socket:
        socket.send_json({"type": "watch", "run": "nobody", "focus": None})
        assert socket.receive_json() == {"type": "gone", "run": "nobody"}


def test_words_that_are_no_unicode_do_not_break_the_wire(inside: TestClient, source: Source) -> None:
    source.state.publish(Delta(RUN, "d1", 0, 0, "half a pair \ud83d"))
    with connect(inside) as socket:
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
        '{"type": "watch", "run": "r1", "focus": "d1", "cursors": {"d1/x": 1}}',
        '{"type": "finished", "offset": "many"}',
        json.dumps({"type": "finished", "query": "x" * 70_000}),
        "[" * 50_000,
    ],
)
def test_what_is_not_the_protocol_closes_the_socket(inside: TestClient, message: str) -> None:
    with connect(inside) as socket:
        socket.send_text(message)
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_text()
        assert closed.value.code == security.POLICY_VIOLATION
