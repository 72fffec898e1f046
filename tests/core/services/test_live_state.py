"""Tests of the live state of a run: built from events, sent to clients as differences."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from core.debate.events import Delta, RunStatus, TurnDone, TurnStarted, TurnWaiting, VerdictReached
from core.debate.turns import Reading, Reply, ReplyForm, Turn, Usage, Verdict
from core.documents import Evidence, Value
from core.runs import RoleModel
from core.services.live_state import (
    KEPT_FINISHED,
    TAIL,
    ClientCursor,
    DocumentText,
    LiveRunState,
    StoredDebate,
    debate_events,
)
from tests.each_row import each_row

RUN = "r1"
MODEL = RoleModel(connection="x", model="m")


def delta(text: str, offset: int, document: str = "d1", turn: int = 0, *, reasoning: bool = False) -> Delta:
    return Delta(RUN, document, turn, offset, text, reasoning)


def started(document: str = "d1", turn: int = 0, role: str = "extractor") -> TurnStarted:
    return TurnStarted(Turn(RUN, document, turn, role, MODEL))


def finished(
    text: str, document: str = "d1", turn: int = 0, role: str = "extractor", labels: Sequence[str] | None = ("a",)
) -> Turn:
    values = None if labels is None else dict.fromkeys(labels, True)
    reply = Reply(text, usage=Usage(1, 2), cost_usd=0.1, seconds=1.0, reading=Reading(values=values or {}))
    return Turn(RUN, document, turn, role, MODEL, form="labels", reply=reply, values=values)


def done(text: str, document: str = "d1") -> TurnDone:
    return TurnDone(finished(text, document))


def verdict(document: str = "d1") -> VerdictReached:
    return VerdictReached(RUN, document, Verdict({"a": True, "b": False}))


def status(state: Any = "running") -> RunStatus:
    return RunStatus.model_construct(run_id=RUN, state=state, documents=10, verdicts=1, in_flight=2, calls=3)


class Reader:
    """A client that assembles the text of each turn by the protocol and fails on a gap."""

    def __init__(self, live: LiveRunState, focus: str | None = "d1") -> None:
        self.live, self.view = live, ClientCursor(focus)
        self.text: dict[int, str] = {}
        self.tries: dict[int, int] = {}
        self.seen: list[str] = []
        self.take(live.snapshot(self.view))

    def look(self, *, tiles: bool = True) -> list[dict[str, Any]]:
        events = self.live.changes(self.view, tiles=tiles)
        self.take(events)
        return events

    def take(self, events: list[dict[str, Any]]) -> None:
        for event in events:
            self.seen.append(event["kind"])
            if event["kind"] != "turn":
                continue
            turn = event["turn"]
            if event["offset"] == 0:
                self.text[turn] = ""
            assert len(self.text[turn]) == event["offset"]
            self.text[turn] += event["text"]
            assert len(self.text[turn]) == event["end"]


def test_deltas_between_two_reads_are_merged() -> None:
    live = LiveRunState(RUN)
    reader = Reader(live)
    live.publish(started())
    for at, word in enumerate(["ab", "cd", "ef"]):
        live.publish(delta(word, 2 * at))
    turns = [event for event in reader.look() if event["kind"] == "turn"]
    assert [turn["text"] for turn in turns] == ["abcdef"]
    live.publish(delta("gh", 6))
    assert [event["text"] for event in reader.look() if event["kind"] == "turn"] == ["gh"]
    assert reader.look() == []


def test_tokens_so_far_are_estimated_from_the_length_of_the_text() -> None:
    live = LiveRunState(RUN)
    reader = Reader(live)
    live.publish(started())
    live.publish(delta("x" * 401, 0))  # what a fast model writes in a twentieth of a second
    (turn,) = [event for event in reader.look() if event["kind"] == "turn"]
    assert turn["tokens"] == 101


def test_delta_at_offset_zero_restarts_the_text() -> None:
    live = LiveRunState(RUN)
    reader = Reader(live)
    live.publish(started())
    live.publish(delta("first try, cut", 0))
    reader.look()
    live.publish(delta("second", 0))
    reader.look()
    assert reader.text[0] == "second"


def test_repeated_delta_is_ignored() -> None:
    live = LiveRunState(RUN)
    live.publish(delta("same", 0))
    live.publish(delta("same", 0))
    assert Reader(live).text[0] == "same"


def test_finished_turn_replaces_its_text_and_late_deltas_are_ignored() -> None:
    live = LiveRunState(RUN)
    reader = Reader(live)
    live.publish(started())
    live.publish(delta("what was stremed", 0))
    reader.look()
    live.publish(done("what was streamed"))
    live.publish(delta("!", 17))
    reader.look()
    assert reader.text[0] == "what was streamed"


def test_reconnecting_client_gets_only_missing_text() -> None:
    live = LiveRunState(RUN)
    reader = Reader(live)
    live.publish(started())
    live.publish(delta("known ", 0))
    reader.look()
    live.publish(delta("new", 6))
    again = ClientCursor("d1", dict(reader.view.cursors))
    (turn,) = [event for event in live.snapshot(again) if event["kind"] == "turn"]
    assert (turn["offset"], turn["text"]) == (6, "new")


def test_cursor_of_an_earlier_attempt_gets_the_whole_text() -> None:
    live = LiveRunState(RUN)
    live.publish(delta("first try", 0))
    old = {0: (0, 9)}
    live.publish(delta("second try, longer", 0))
    (turn,) = [event for event in live.snapshot(ClientCursor("d1", old)) if event["kind"] == "turn"]
    assert (turn["offset"], turn["text"]) == (0, "second try, longer")


def test_cursor_beyond_the_end_gets_the_whole_text() -> None:
    live = LiveRunState(RUN)
    live.publish(delta("short", 0))
    (turn,) = [event for event in live.snapshot(ClientCursor("d1", {0: (0, 99)})) if event["kind"] == "turn"]
    assert turn["offset"] == 0


def test_debates_out_of_focus_send_only_the_end_of_their_text() -> None:
    live = LiveRunState(RUN)
    reader = Reader(live, "d1")
    live.publish(started("d2"))
    live.publish(delta("x" * 5000, 0, "d2"))
    events = reader.look()
    assert [event["kind"] for event in events] == ["tile"]
    assert len(events[0]["tail"]) == TAIL


def test_only_the_focused_debate_is_sent_between_tile_updates() -> None:
    live = LiveRunState(RUN)
    reader = Reader(live, "d1")
    live.publish(delta("a", 0, "d1"))
    live.publish(delta("b", 0, "d2"))
    assert [event["kind"] for event in reader.look(tiles=False)] == ["restart", "turn"]
    assert sorted(event["document_id"] for event in reader.look() if event["kind"] == "tile") == ["d1", "d2"]


def test_document_that_is_debated_again_starts_empty_at_the_client() -> None:
    live = LiveRunState(RUN)
    live.publish(started())
    reader = Reader(live)
    for event in (
        done("I cannot say."),
        started(turn=1, role="judge"),
        TurnDone(finished("Nor can I.", turn=1)),
        verdict(),
    ):
        live.publish(event)
    reader.look()
    cursors = dict(reader.view.cursors)
    live.publish(started())
    live.publish(done("After all, the aspect a is present."))
    assert [event["kind"] for event in reader.look()] == ["tile", "restart", "turn"]
    assert reader.text[0] == "After all, the aspect a is present."
    after_lost_connection = ClientCursor("d1", cursors)
    (_, restart, turn) = live.snapshot(after_lost_connection)
    assert restart == {"kind": "restart", "document_id": "d1"}, "else the client keeps the second turn and the verdict"
    assert (turn["offset"], turn["text"]) == (0, "After all, the aspect a is present.")
    live.publish(started(turn=1, role="judge"))
    assert [event["kind"] for event in live.changes(after_lost_connection)] == ["tile", "turn"]


def test_reasoning_is_counted_and_not_part_of_the_text() -> None:
    live = LiveRunState(RUN)
    live.publish(started())
    live.publish(delta("hm, ", 0, reasoning=True))
    live.publish(delta("well", 4, reasoning=True))
    (turn,) = [event for event in live.snapshot(ClientCursor("d1")) if event["kind"] == "turn"]
    assert (turn["text"], turn["reasoning_characters"], turn["reasoning_tail"]) == ("", 8, "hm, well")


def test_only_an_error_before_another_attempt_says_that_it_is_retried() -> None:
    live = LiveRunState(RUN)
    live.publish(started())
    live.publish(TurnWaiting(RUN, "d1", 0, "server fault", 0.02))
    assert [event["waiting"] for event in live.snapshot(ClientCursor("d1"))] == ["server fault, retrying"] * 2
    live.publish(TurnWaiting(RUN, "d1", 0, "server fault", 0.0))
    assert [event["waiting"] for event in live.snapshot(ClientCursor("d1"))] == ["server fault"] * 2
    live.publish(TurnWaiting(RUN, "d1", 0, "server fault", 4.0))
    live.publish(status("paused"))
    shown = [event for event in live.snapshot(ClientCursor("d1")) if event["kind"] in ("turn", "tile")]
    assert [(event["waiting"], event["wait"]) for event in shown] == [("server fault", 0.0)] * 2


def test_waiting_shows_the_time_left_until_the_next_delta() -> None:
    now = [100.0]
    live = LiveRunState(RUN, clock=lambda: now[0])
    live.publish(TurnWaiting(RUN, "d1", 0, "429 from the server", 4.0))
    now[0] += 1.5
    (tile,) = live.snapshot(ClientCursor())
    assert (tile["waiting"], tile["wait"]) == ("429 from the server, retrying", 2.5)
    live.publish(delta("go", 0))
    (tile,) = live.snapshot(ClientCursor())
    assert tile["waiting"] == ""


def test_verdict_moves_the_debate_to_the_finished_debates() -> None:
    live = LiveRunState(RUN)
    reader = Reader(live)
    live.publish(started())
    live.publish(done("text"))
    live.publish(verdict())
    events = reader.look()
    tile = next(event for event in events if event["kind"] == "tile")
    assert (tile["status"], tile["values"]) == ("verdict", {"a": True, "b": False})
    assert events[-1]["kind"] == "verdict"
    assert live.has_ended("d1")


def test_finished_debates_are_bounded() -> None:
    live = LiveRunState(RUN)
    for number in range(KEPT_FINISHED + 50):
        live.publish(verdict(f"d{number}"))
    assert not live.has_ended("d49")
    assert live.has_ended("d50")
    tiles = [event for event in live.snapshot(ClientCursor()) if event["kind"] == "tile"]
    assert len(tiles) <= KEPT_FINISHED


def test_retried_document_is_active_again() -> None:
    live = LiveRunState(RUN)
    live.publish(done("old"))
    live.publish(verdict())
    live.publish(started())
    tile = next(event for event in live.snapshot(ClientCursor()) if event["kind"] == "tile")
    assert "status" not in tile


def test_finished_run_has_no_active_debates() -> None:
    live = LiveRunState(RUN)
    live.publish(started("d1"))
    live.publish(status("stopped"))
    assert [event["kind"] for event in live.snapshot(ClientCursor())] == ["run_status"]


@pytest.mark.parametrize("state", ["paused", "stopped"])
def test_no_role_is_replying_in_a_run_at_rest(state: str) -> None:
    live = LiveRunState(RUN)
    reader = Reader(live)
    live.publish(done("text"))
    live.publish(started(turn=1, role="critic"))
    live.publish(status(state))
    live.publish(delta("late", 0, turn=1))
    turns = [event for event in reader.look() if event["kind"] == "turn"]
    assert [(turn["done"], turn.get("waiting"), turn["text"]) for turn in turns] == [
        (True, None, "text"),
        (False, state, ""),
    ]


def test_debate_of_a_paused_run_waits_until_it_is_resumed() -> None:
    live = LiveRunState(RUN)
    live.publish(done("text"))
    live.publish(status("paused"))
    assert [event["waiting"] for event in live.snapshot(ClientCursor()) if event["kind"] == "tile"] == ["paused"]
    live.publish(status("running"))
    assert [event["waiting"] for event in live.snapshot(ClientCursor()) if event["kind"] == "tile"] == [""]


def test_progress_measures_a_running_turn_against_the_usual_length() -> None:
    live = LiveRunState(RUN)
    live.publish(done("x" * 100, "d1"))
    live.publish(verdict("d1"))
    live.publish(started("d2"))
    live.publish(delta("x" * 50, 0, "d2"))
    tile = next(e for e in live.snapshot(ClientCursor()) if e["kind"] == "tile" and e["document_id"] == "d2")
    assert tile["progress"] == {"extractor": 0.5}


def test_stored_debate_gives_the_same_events_as_a_live_one() -> None:
    replay = StoredDebate(
        DocumentText("d1", {"text": "t"}),
        (finished("one"), finished("two", turn=1, role="critic", labels=None)),
        verdict(),
    )
    events = debate_events(replay)
    assert [event["kind"] for event in events] == ["turn", "turn", "verdict"]
    assert [event["text"] for event in events[:2]] == ["one", "two"]
    assert events[1]["labels"] is None


@each_row(
    ("form", "values", "labels"),
    [
        ("labels", {"a": True, "b": False, "c": None}, ["a"]),
        ("labels", {"a": False}, []),
        ("choice", {"label": "b"}, ["b"]),
        ("choice", {"label": None}, None),
        ("ratings", {"a": None}, None),
        ("text", {"a": 3}, None),
        ("text", None, None),
    ],
)
def test_turn_has_the_labels_that_its_reply_assigns(
    form: ReplyForm, values: dict[str, Value | None] | None, labels: list[str] | None
) -> None:
    decided = {item: value for item, value in (values or {}).items() if value is not None}
    reply = Reply("x", reading=Reading(decided), evidence=(Evidence("label", "good", "text", 0, 4, "exact"),))
    turn = Turn(RUN, "d1", 0, "extractor", MODEL, form=form, reply=reply, values=values)
    (event,) = debate_events(StoredDebate(DocumentText("d1", {"text": "good"}), (turn,)))
    assert event["labels"] == labels
    assert [quote["item"] for quote in event["evidence"]] == [decided.get("label", "label")]


def test_deltas_from_another_thread_arrive_complete_and_in_order() -> None:
    live = LiveRunState(RUN)
    reader = Reader(live)
    words = [f"w{number} " for number in range(1000)]

    def publish() -> None:
        at = 0
        for word in words:
            live.publish(delta(word, at))
            at += len(word)

    publisher = threading.Thread(target=publish)
    publisher.start()
    while publisher.is_alive():
        reader.look(tiles=False)
    publisher.join()
    reader.look()
    assert reader.text[0] == "".join(words)


def test_tile_has_the_last_decision_on_each_label() -> None:
    live = LiveRunState(RUN)

    def labels_after(turn: int, item: str, labels: Sequence[str] | None) -> list[str]:
        live.publish(TurnDone(replace(finished("x", turn=turn, labels=labels), item=item)))
        return next(event["labels"] for event in live.snapshot(ClientCursor()) if event["kind"] == "tile")

    assert labels_after(0, "", ["a", "c"]) == ["a", "c"]
    assert labels_after(1, "b", ["b"]) == ["a", "c", "b"]
    assert labels_after(2, "a", []) == ["c", "b"]
    assert labels_after(3, "", None) == ["c", "b"]
    assert labels_after(4, "", ["a"]) == ["a"]
