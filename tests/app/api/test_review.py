"""Tests of the review route: access, stored actions, and repeated actions."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient

from app.api import middleware, review
from app.api.access import Access
from core.errors import StorageFull
from core.services.review import actions, browser_data, queue
from core.services.workspace import Workspace
from core.store.project import Project
from tests.core.services import sample_world

BASE = "http://127.0.0.1:8501"
RUN = "r0001"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("acts") / "small.duckdb"
    with Project(path) as project:
        sample_world.build(project)
    return path


@pytest.fixture
def session(tmp_path, file):
    path = tmp_path / "small.duckdb"
    path.write_bytes(file.read_bytes())
    workspace = Workspace()
    yield workspace.open(path)
    workspace.close()


@pytest.fixture
def project(session):
    return session.project


@pytest.fixture
def client(session):
    access = Access("secret")
    routes = review.routes(lambda name: (session, name) if name == RUN else (None, name))
    guard = Middleware(middleware.Guard, access=access)
    with TestClient(Starlette(routes=routes, middleware=[guard]), base_url=BASE) as client:
        client.headers["origin"] = BASE
        client.cookies["moot_session_8501"] = access.cookie
        yield client


def post(client, **message):
    answer = client.post(review.REVIEW, json={"run": RUN, "actor": "ann", **message})
    assert answer.status_code == 200, answer.text
    return answer.json()


def ask(client, query, **more):
    return post(client, query=query, **more)


_count = iter(range(1_000_000))


def act(client, name, document="", **more):
    return post(client, actions=[{"action": name, "document": document, "id": f"t:{next(_count)}", **more}])["answers"][
        0
    ]


def events(project):
    return [event for event in project.store.events.all() if event.kind in ("review", "review_status", "mark")]


@pytest.mark.parametrize(
    "change",
    [
        {"cookie": "moot_session_8501=forged"},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:8502"},
        {"origin": ""},
        {"host": "evil.example"},
    ],
)
def test_requests_from_other_pages_are_refused(client, change):
    client.headers.update(change)
    answer = client.post(review.REVIEW, json={"run": RUN, "actor": "ann", "query": "progress"})
    assert answer.status_code in (403, 421)


@pytest.mark.parametrize(
    "body",
    [
        "no json",
        "[]",
        "{}",
        json.dumps({"run": RUN, "actor": 3, "query": "progress"}),
        json.dumps({"run": RUN, "actor": "a", "query": "secrets"}),
        *(
            json.dumps({"run": RUN, "actor": "a", "query": "queue", "filters": {name: value}})
            for name, value in (("colour", "red"), ("sort", "colour"), ("reason", 3), ("number", 0), ("size", -1))
        ),
        json.dumps({"run": RUN, "actor": "a", "actions": 3}),
        json.dumps({"run": RUN, "actor": "a", "query": "document", "document": "x" * 1_100_000}),
        "[" * 50_000,
    ],
)
def test_invalid_request_is_refused(client, project, body):
    assert client.post(review.REVIEW, content=body).status_code == 400
    assert events(project) == []


def test_most_actions_of_one_request_may_have_the_longest_notes(client):
    """MAX_ACTIONS of review_client.js is 40."""
    notes = [
        {"action": "note", "document": "d1", "id": str(number), "value": "\U0001f600" * actions.MAX_NOTE}
        for number in range(40)
    ]
    body = json.dumps({"run": RUN, "actor": "ann", "actions": notes}, ensure_ascii=False)
    answer = client.post(review.REVIEW, content=body.encode())
    assert all(saved["saved"] for saved in answer.json()["answers"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"action": "set", "id": "x"},
        {"action": "explode", "document": "d1", "id": "x"},
        {"action": "submit", "document": "d1", "id": "x", "seconds": "soon"},
        {"action": "submit", "document": "d1", "id": 3},
        "submit",
    ],
)
def test_malformed_action_does_not_block_the_others(client, project, caplog, wrong):
    good = [{"action": "flag", "document": document, "id": document, "value": True} for document in ("d1", "d2")]
    answers = post(client, actions=[good[0], wrong, good[1]])["answers"]
    assert [bool(answer.get("saved")) for answer in answers] == [True, False, True]
    assert answers[1]["problem"] == "The studio cannot perform this action."
    assert [event.document_id for event in events(project)] == ["d2", "d1"]
    assert "Traceback" in caplog.text, "it may be a fault of the studio"


def test_edit_is_stored_before_the_answer(client, project):
    answer = act(client, "set", "d1", item="a", value=True, seconds=3.5)
    assert answer["saved"].startswith("Saved ")
    value, status = sorted(events(project), key=lambda event: event.seq)
    assert (value.item, value.before, value.after, value.actor) == ("a", False, True, "ann")
    assert value.payload["seconds"] == 3.5
    assert (status.before, status.after) == ("Pending", "Draft")
    assert answer["touched"] == ["d1"]
    (row,) = ask(client, "cells", documents=["d1", "no such"])["cells"]
    assert (row["v_a"], row["_status"], "e" in row["m_a"]) == ("1", "Draft", True)


def test_page_waits_until_the_received_actions_are_stored(client, project, monkeypatch):
    received, may_store, edit = Event(), Event(), actions.edit

    def edit_later(*args):
        received.set()
        assert may_store.wait(10)
        return edit(*args)

    def draw_page():
        review.wait_until_stored()
        return [event.kind for event in events(project)]

    monkeypatch.setattr(actions, "edit", edit_later)
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(act, client, "set", "d1", item="a", value=True)
        assert received.wait(10)
        page = pool.submit(draw_page)
        assert not events(project)
        may_store.set()
        assert sorted(page.result(10)) == ["review", "review_status"]
        assert answer.result(10)["saved"]
    assert draw_page()  # returns at once when no action is being stored


def test_repeated_action_is_applied_once(client, project):
    change = {"action": "set", "document": "d1", "item": "a", "value": True, "id": "life:1"}
    assert post(client, actions=[change])["answers"][0]["saved"]
    assert post(client, actions=[change])["answers"][0]["saved"]
    assert len(project.store.events.all(kinds=["review"])) == 1
    back = {"action": "undo", "id": "life:2"}
    first, second = post(client, actions=[back])["answers"][0], post(client, actions=[back])["answers"][0]
    assert first["touched"] == second["touched"] == ["d1"]
    assert len(project.store.events.all(kinds=["undo"])) == 1


def test_fifty_actions_in_one_request_are_stored_in_order(client, project):
    actions = [
        {"action": "set", "document": f"d{n % 4}", "item": "a", "value": n % 2 == 0, "id": f"b:{n}"} for n in range(50)
    ]
    post(client, actions=actions)
    result = project.store.events.all(kinds=["review"])[::-1]
    assert [(event.document_id, event.after) for event in result] == [(t["document"], t["value"]) for t in actions]


def test_refused_action_gives_a_reason_and_does_not_stop_others(client, project):
    actions = [
        {"action": "submit", "document": "d4", "id": "c:1"},
        {"action": "set", "document": "d4", "item": "a", "value": 7, "id": "c:2"},
        {"action": "flag", "document": "d4", "value": True, "id": "c:3"},
    ]
    refused, wrong, done = post(client, actions=actions)["answers"]
    assert "d4 has no value yet for Alpha" in refused["problem"]
    assert "cannot have the value" in wrong["problem"]
    assert done["touched"] == ["d4"]
    assert [event.kind for event in events(project)] == ["mark"]


def test_decision_stores_how_the_document_was_sampled(client, project):
    draw = {"how": "drawn", "probability": 0.025, "remaining": 8, "frame": 1, "document_id": "d0"}
    act(client, "submit", "d0", sampling=draw, seconds=12)
    act(client, "submit", "d1")
    rows = project.store.reviews._connection.rows(
        "SELECT document_id, how, probability, remaining, frame, seconds FROM selections ORDER BY document_id"
    )
    assert rows == [("d0", "drawn", 0.025, 8, 1, 12.0), ("d1", "chosen", None, None, None, None)]
    act(client, "discard", "d3", sampling=draw)
    selections = [(each.document_id, each.how, each.discarded) for each in project.store.sampling_frames.selections()]
    assert selections == [("d0", "drawn", False), ("d1", "chosen", False), ("d3", "drawn", True)]
    for wrong in ({"how": "luck"}, {"probability": 0}, {"probability": 2}, {"remaining": 0}):
        assert "problem" in act(client, "submit", "d2", sampling=draw | wrong)


def test_blind_hides_the_verdict_until_every_label_is_decided(client, session, project):
    act(client, "settings", blind=True)
    hidden = ask(client, "document", document="d1")["document"]
    assert hidden["hidden"] is True
    assert (hidden["verdict"], hidden["roles"], hidden["evidence"], hidden["gold"]) == ({}, {}, [], {})
    assert hidden["values"] == {"a": None, "b": None}
    assert ask(client, "transcript", document="d1") == {"events": []}
    assert all(row["reasons"] == [] for row in ask(client, "queue", filters={"sort": "queue"})["rows"])
    act(client, "set", "d1", item="a", value=True)
    assert "Not decided yet: Beta" in act(client, "reveal", "d1")["problem"]
    act(client, "set", "d1", item="b", value=False)
    assert act(client, "reveal", "d1")["touched"] == ["d1"]
    shown = ask(client, "document", document="d1")["document"]
    assert shown["hidden"] is False
    assert shown["verdict"] == {"a": False, "b": True}
    assert shown["values"] == {"a": True, "b": False}
    assert ask(client, "transcript", document="d1")["events"]
    assert queue.review_settings(session).blind is True


def test_notes_tags_and_skips_are_stored(client, project):
    act(client, "note", "d1", value="a fee is no price")
    act(client, "tags", "d1", value=["edge case", "subjective"])
    assert "Unknown tag" in act(client, "tags", "d1", value=["boring"])["problem"]
    assert "longer than" in act(client, "note", "d1", value="x" * 5000)["problem"]
    shown = ask(client, "document", document="d1")["document"]
    assert (shown["comment"], shown["tags"]) == ("a fee is no price", ["edge case", "subjective"])
    first = ask(client, "queue", filters={"sort": "queue"})["rows"][0]["id"]
    act(client, "skip", first, value=True)
    last = ask(client, "queue", filters={"sort": "queue"})["rows"][-1]
    assert (last["id"], last["skipped"]) == (first, True)
    assert act(client, "undo")["saved"] == f"Undone: document {first}"
    assert ask(client, "queue", filters={"sort": "queue"})["rows"][0]["id"] == first


def test_every_reviewer_has_their_own_queue_and_decisions(client):
    act(client, "set", "d1", item="a", value=True)
    act(client, "submit", "d1")
    mine = ask(client, "document", document="d1")["document"]
    assert (mine["status"], mine["values"]["a"]) == ("Submitted", True)
    answer = client.post(review.REVIEW, json={"run": RUN, "actor": "bob", "query": "document", "document": "d1"})
    theirs = answer.json()["document"]
    assert (theirs["status"], theirs["values"]["a"]) == ("Pending", None)
    wanted = {"sort": "queue", "by_others": True}
    again = client.post(review.REVIEW, json={"run": RUN, "actor": "bob", "query": "queue", "filters": wanted}).json()
    assert [row["id"] for row in again["rows"]] == ["d1"]


def test_second_reviewer_sees_nothing_of_the_first_before_submitting(client):
    """Verdict, gold, reasons, notes, flags and history are hidden from Bob in Focus and Grid."""

    def bob(**message):
        return client.post(review.REVIEW, json={"run": RUN, "actor": "bob", **message}).json()

    def do(action, **fields):
        (answer,) = bob(actions=[{"action": action, "document": "d1", "id": f"{action}{fields}", **fields}])["answers"]
        return answer

    act(client, "set", "d1", item="a", value=True)
    act(client, "note", "d1", value="a fee is no price")
    act(client, "flag", "d1", value=True)
    act(client, "submit", "d1")
    seen = bob(query="document", document="d1")["document"]
    assert (seen["hidden"], seen["second_reading"], seen["values"]) == (True, True, {"a": None, "b": None})
    assert (seen["comment"], seen["flagged"], seen["gold"]) == ("", False, {})
    assert (seen["verdict"], seen["roles"], seen["evidence"], seen["reasons"]) == ({}, {}, [], [])
    assert bob(query="history", document="d1") == {"entries": [], "total": 0}
    assert bob(query="transcript", document="d1") == {"events": []}
    (row,) = bob(query="queue", filters={"sort": "queue", "by_others": True})["rows"]
    assert row["reasons"] == []
    (cells,) = bob(query="cells", documents=["d1"])["cells"]
    assert [cells[name] for name in ("v_a", "v_b", "gold", "_reason", "_quotes")] == ["?", "?", "", "", ""]
    assert {cells[name] for name in cells if name.startswith("r_")} == {"?"}
    assert "no value yet for Alpha, Beta" in do("submit")["problem"]
    do("note", value="bob's own")
    do("set", item="a", value=False)
    do("set", item="b", value=True)
    assert bob(query="document", document="d1")["document"]["hidden"] is True
    assert do("submit")["touched"] == ["d1"]
    seen = bob(query="document", document="d1")["document"]
    assert (seen["hidden"], seen["verdict"], seen["comment"]) == (False, {"a": False, "b": True}, "bob's own")
    assert {entry["who"] for entry in bob(query="history", document="d1")["entries"]} == {"ann", "bob"}
    assert ask(client, "document", document="d1")["document"]["comment"] == "a fee is no price"


def test_run_that_is_not_open_is_reported(client):
    head = {"run": "r9@x", "actor": "ann"}
    for message in ({"query": "progress"}, {"actions": [{"action": "undo", "id": "t:x"}]}):
        answer = client.post(review.REVIEW, json={**head, **message})
        assert (answer.status_code, answer.text) == (410, "This run is not open.")
    answer = client.post(review.REVIEW, json={**head, "query": "view", "document": "d1", "runs": []})
    assert answer.json() == {"document": None}


def test_history_progress_and_guideline_are_returned(client):
    act(client, "set", "d1", item="a", value=True, seconds=4)
    act(client, "submit", "d1", seconds=9)
    entries = ask(client, "history", document="d1")["entries"]
    assert [(entry["item"], entry["after"]) for entry in entries][-1] == ("Alpha", "present")
    done = ask(client, "progress")
    assert (done["documents"], done["decided"], done["seconds"]) == (8, 1, 9.0)
    assert [label["id"] for label in ask(client, "guideline")["labels"]] == ["a", "b"]


def test_the_drawer_gets_the_document_and_the_guideline(client):
    answer = ask(client, "view", document="d1", runs=[RUN])
    assert [column["by"] for column in answer["document"]["annotations"]] == ["gold", "role", "role", "verdict"]
    assert [label["id"] for label in answer["guideline"]["labels"]] == ["a", "b"]
    assert ask(client, "view", document="d99", runs=[RUN])["document"] is None


def test_action_on_a_full_disk_is_not_refused_so_that_it_is_sent_again(client, project, monkeypatch):
    def refuse(*_args, **_options):
        raise StorageFull("The disk is full.", "Free some space.")

    message = {"run": RUN, "actor": "ann", "actions": [{"action": "submit", "id": "a:1", "document": "d0"}]}
    with monkeypatch.context() as full:
        full.setattr(actions, "submit", refuse)
        answer = client.post(review.REVIEW, json=message)
        assert (answer.status_code, answer.text) == (503, "The disk is full. Free some space.")
    assert client.post(review.REVIEW, json=message).json()["answers"][0]["saved"]


def test_query_on_a_full_disk_is_answered_with_a_message(client, monkeypatch):
    def refuse(*_args, **_options):
        raise StorageFull("The disk is full.", "Free some space.")

    monkeypatch.setattr(browser_data, "queue_rows", refuse)
    answer = client.post(review.REVIEW, json={"run": RUN, "actor": "ann", "query": "queue", "filters": {}})
    assert (answer.status_code, answer.text) == (503, "The disk is full. Free some space.")


def test_connection_that_is_lost_while_it_sends_is_no_error_of_the_studio():
    parts = iter([{"type": "http.request", "body": b'{"run"', "more_body": True}, {"type": "http.disconnect"}])
    sent = []

    async def receive():
        return next(parts)

    async def send(message):
        sent.append(message["type"])

    app = Starlette(routes=review.routes(lambda name: (None, name)))
    scope = {"type": "http", "method": "POST", "path": review.REVIEW, "headers": [], "query_string": b""}
    asyncio.run(app(scope, receive, send))
    assert sent == ["http.response.start", "http.response.body"]
