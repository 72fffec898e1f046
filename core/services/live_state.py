"""Live state of a run, folded from its events, in the form of the browser. Without asyncio, browser and store.

The engine's thread calls ``publish``. Connections call ``snapshot`` once and ``changes`` about twenty times a second,
each with a ``ClientCursor`` that notes what the client has received. A client gets the difference between two states
and not the events in between, so there is no queue, and a slow client costs nothing.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from core.debate.events import Delta, Event, RunStatus, TurnDone, TurnStarted, TurnWaiting, VerdictReached
from core.debate.turns import Turn, Verdict
from core.llm.streaming import CHARACTERS_PER_TOKEN
from core.runs import RunRow, State

KEPT_FINISHED = 200
"""Finished debates in memory; older ones are read from the store."""
SHOWN_FINISHED = 40
"""Finished debates in a snapshot, so that the tiles are not empty after the last debate has ended."""
SHOWN_OPEN = 20
"""Open debates of a paused run that are read from the store, as many as the page has tiles."""
NOTHING = -1
"""Revision of a client that has received nothing."""
TAIL = 90
"""Characters of a running turn that a tile shows."""

Json: TypeAlias = dict[str, Any]
TextCursor: TypeAlias = tuple[int, int]
"""(attempt, offset): how much of a turn's text a client has. A new attempt, or a new debate, starts the text again."""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document's text on the live page. ``note`` is its source, such as "reviews.csv, no. 427"."""

    id: str
    fields: Mapping[str, str]
    note: str = ""


@dataclass(frozen=True, slots=True)
class StoredDebate:
    """A stored debate, with its turns in order."""

    document: DocumentText
    turns: tuple[Turn, ...] = ()
    verdict: VerdictReached | None = None


@dataclass(slots=True)
class ClientCursor:
    """The state that one client has received; created by the client, updated by ``LiveRunState``.

    ``focus`` is the debate that the client shows in full. ``cursors`` note how much of its turns the client has.
    ``tiles_revision`` and ``focus_revision`` are the revisions up to which tiles and the debate in focus were sent.
    """

    focus: str | None = None
    cursors: dict[int, TextCursor] = field(default_factory=dict)
    tiles_revision: int = NOTHING
    focus_revision: int = NOTHING


@dataclass(slots=True)
class _LiveTurn:
    """A turn in progress or done. ``turn`` is None while only its text is known."""

    number: int
    turn: Turn | None = None
    is_done: bool = False
    text: str = ""
    attempt: int = 0
    reasoning: str = ""
    started_at: float = 0.0
    waiting: str = ""
    waiting_until: float = 0.0
    retries: bool = False
    """True if another attempt follows the wait."""
    revision: int = 0

    @property
    def role(self) -> str:
        return self.turn.role if self.turn else ""

    @property
    def wait_reason(self) -> str:
        # A short wait is over before it is shown, so the words alone say that another attempt follows.
        return f"{self.waiting}, retrying" if self.waiting and self.retries else self.waiting

    def fields(self, now: float) -> Json:
        """Return the turn for the browser, without its text."""
        turn = self.turn
        fields: Json = {
            "turn": self.number,
            "role": self.role,
            "model": turn.role_model.name if turn else "",
            "cached": turn.cached if turn else False,
            "round": turn.round if turn else 0,
            "replies_to": list(turn.replies_to) if turn else [],
            "item": turn.item if turn else "",
            "attempt": self.attempt,
            "done": self.is_done,
        }
        if turn is not None and self.is_done:
            reply = turn.reply
            fields |= {
                "labels": None if turn.labels is None else list(turn.labels),
                "values": turn.decided,
                "unknown": list(reply.reading.unknown),
                "certainty": dict(reply.reading.certainty),
                "evidence": [asdict(quote) for quote in turn.evidence],
                "prompt_tokens": reply.usage.prompt_tokens,
                "completion_tokens": reply.usage.completion_tokens,
                "cost_usd": reply.cost_usd,
                "seconds": reply.seconds,
                "problem": turn.problem,
                "reasoning": reply.reasoning,
            }
        else:
            fields |= {
                "tokens": -(-len(self.text) // CHARACTERS_PER_TOKEN),
                "elapsed": round(now - self.started_at, 2) if self.started_at else 0.0,
                "reasoning_characters": len(self.reasoning),
                "reasoning_tail": self.reasoning[-TAIL:],
                "waiting": self.wait_reason,
                "wait": round(max(0.0, self.waiting_until - now), 1) if self.waiting else 0.0,
            }
        return fields

    def apply(self, event: TurnStarted | Delta | TurnWaiting | TurnDone, now: float) -> None:
        """Fold an event into the turn."""
        match event:
            case TurnStarted():
                self.turn, self.waiting, self.started_at = event.turn, "", now
                if not event.turn.cached:
                    self.is_done = False
            case TurnWaiting():
                self.waiting, self.retries = event.reason, event.seconds > 0
                self.waiting_until = now + event.seconds
            case TurnDone():
                self.turn, self.waiting, self.is_done = event.turn, "", True
                if not event.turn.reply.text.startswith(self.text):
                    self.attempt += 1
                self.text, self.reasoning = event.turn.reply.text, ""
            case Delta(reasoning=True):
                self.waiting = ""
                self.reasoning = self.reasoning[: event.offset] + event.text
            case Delta():
                if self.is_done:
                    return  # a late delta of a finished turn
                self.waiting = ""
                self.started_at = self.started_at or now
                current = self.text[event.offset : event.offset + len(event.text)]
                if current == event.text and current:
                    return
                if event.offset < len(self.text):
                    self.attempt += 1
                self.text = self.text[: event.offset] + event.text


@dataclass(slots=True)
class _LiveDebate:
    id: str
    started: int = 0
    """Revision of its first event, from which its turns count their attempts: an earlier debate has lower ones."""
    turns: dict[int, _LiveTurn] = field(default_factory=dict)
    reached: VerdictReached | None = None
    revision: int = 0
    verdict_revision: int = 0

    def turn(self, number: int) -> _LiveTurn:
        return self.turns.setdefault(number, _LiveTurn(number, attempt=self.started))

    @property
    def ordered(self) -> list[_LiveTurn]:
        return [self.turns[number] for number in sorted(self.turns)]


class LiveRunState:
    """The debates of one run in memory: all in flight and the last that ended. Safe to use from any thread."""

    def __init__(self, run_id: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.run_id = run_id
        self.token = uuid.uuid4().hex[:12]
        """Id of this instance; cursors of another instance are not valid."""
        self._clock = clock
        self._lock = threading.Lock()
        self._revision = 0
        self._status: RunStatus | None = None
        self._status_revision = 0
        self._flight: dict[str, _LiveDebate] = {}
        self._finished: dict[str, _LiveDebate] = {}
        self._length: dict[str, tuple[int, int]] = {}  # role -> (replies, characters), for the progress of a turn
        self._expected: dict[str, int] = {}  # role -> most turns seen in one debate

    # -- for the engine

    def publish(self, event: Event) -> None:
        """Fold an event into the state. Cheap; never blocks on a client."""
        with self._lock:
            self._revision += 1
            match event:
                case RunStatus():
                    if self._over:
                        self._flight.clear()
                    self._status, self._status_revision = event, self._revision
                    if self._at_rest:
                        self._rest(event.state)
                case VerdictReached():
                    self._end(event)
                case Delta() | TurnWaiting() if self._at_rest:
                    pass  # from a call that was cancelled
                case TurnStarted() | TurnDone():
                    debate = self._apply(event, event.turn.document_id, event.turn.turn)
                    if isinstance(event, TurnDone):
                        self._learn_length(debate, event.turn)
                case _:
                    self._apply(event, event.document_id, event.turn)

    def _apply(self, event: TurnStarted | Delta | TurnWaiting | TurnDone, document_id: str, number: int) -> _LiveDebate:
        debate = self._flight.get(document_id)
        if debate is None:
            self._finished.pop(document_id, None)  # debated again
            debate = self._flight[document_id] = _LiveDebate(document_id, self._revision)
        turn = debate.turn(number)
        debate.revision = turn.revision = self._revision
        turn.apply(event, self._clock())
        return debate

    @property
    def _over(self) -> bool:
        return self._status is not None and self._status.state in ("done", "stopped", "failed")

    @property
    def _at_rest(self) -> bool:
        return self._status is not None and self._status.state not in ("queued", "running")

    def _rest(self, reason: str) -> None:
        """Note in all debates in flight that no role is replying."""
        for debate in self._flight.values():
            debate.revision = self._revision
            for turn in debate.turns.values():
                if not turn.is_done:
                    turn.waiting, turn.retries = turn.waiting or reason, False
                    turn.waiting_until, turn.revision = 0.0, self._revision

    def _end(self, event: VerdictReached) -> None:
        debate = self._flight.pop(event.document_id, None) or self._finished.pop(event.document_id, None)
        debate = debate or _LiveDebate(event.document_id)
        debate.reached, debate.revision, debate.verdict_revision = event, self._revision, self._revision
        self._finished[event.document_id] = debate
        while len(self._finished) > KEPT_FINISHED:
            del self._finished[next(iter(self._finished))]

    def _learn_length(self, debate: _LiveDebate, turn: Turn) -> None:
        replies, characters = self._length.get(turn.role, (0, 0))
        self._length[turn.role] = (replies + 1, characters + len(turn.reply.text))
        done = sum(other.role == turn.role for other in debate.turns.values())
        self._expected[turn.role] = max(done, self._expected.get(turn.role, 1))

    # -- for the clients

    @property
    def status(self) -> RunStatus | None:
        """The last status, None before the first."""
        with self._lock:
            return self._status

    def has_ended(self, document_id: str) -> bool:
        """Return True if the debate on this document has ended and is in memory, with all of its turns."""
        with self._lock:
            return document_id in self._finished

    def snapshot(self, cursor: ClientCursor) -> list[Json]:
        """Return everything that a client needs. Text that the client has, by its cursors, is not sent again."""
        cursor.tiles_revision = cursor.focus_revision = NOTHING
        return self.changes(cursor)

    def changes(self, cursor: ClientCursor, *, tiles: bool = True) -> list[Json]:
        """Return what changed since the last call; with ``tiles`` False only changes of the debate in focus."""
        with self._lock:
            if self._revision == cursor.focus_revision and (not tiles or self._revision == cursor.tiles_revision):
                return []
            now = self._clock()
            events: list[Json] = []
            if tiles:
                events += self._changed_tiles(cursor.tiles_revision, now)
                cursor.tiles_revision = self._revision
            events += self._focus_events(cursor, now)
            cursor.focus_revision = self._revision
            return events

    def _changed_tiles(self, since: int, now: float) -> Iterator[Json]:
        """Yield the status of the run and the tiles of debates that changed after a revision."""
        if self._status is not None and self._status_revision > since:
            yield {"kind": "run_status", **self._status.model_dump(exclude={"settings", "details"})}
        finished = list(self._finished.values())
        recent = finished[-SHOWN_FINISHED:] if since == NOTHING else finished
        shown = recent if self._over else [*recent, *self._flight.values()]
        yield from (self._tile(debate, now) for debate in shown if debate.revision > since)

    def _focus_events(self, cursor: ClientCursor, now: float) -> Iterator[Json]:
        """Yield what the client lacks of the debate in focus."""
        focus = cursor.focus or ""
        debate = self._flight.get(focus) or self._finished.get(focus)
        if debate is None:
            return
        # The client may show an earlier debate, also one from before a lost connection. Turns that were read from the
        # store have attempt 0.
        is_earlier = any(0 < attempt < debate.started for attempt, _ in cursor.cursors.values())
        if is_earlier or NOTHING < cursor.focus_revision < debate.started:
            cursor.cursors.clear()
            yield {"kind": "restart", "document_id": focus}
        yield from _debate_events(debate, cursor.cursors, now, cursor.focus_revision)

    def _tile(self, debate: _LiveDebate, now: float) -> Json:
        turns = debate.ordered
        progress: dict[str, float] = {}
        for turn in turns:
            if turn.role:
                progress[turn.role] = progress.get(turn.role, 0.0) + self._progress(turn)
        last = turns[-1] if turns else None
        tile: Json = {
            "kind": "tile",
            "document_id": debate.id,
            "progress": {role: round(min(1.0, n / self._expected.get(role, 1)), 3) for role, n in progress.items()},
            "labels": _current_labels(turns),
            "role": last.role if last else "",
            "tail": "",
            "waiting": "",
            "wait": 0.0,
        }
        if debate.reached is not None:
            verdict = debate.reached.verdict
            tile |= {"status": verdict.status, "values": dict(verdict.values), "reason": _reason(verdict)}
        elif last is not None:
            text = next((turn.text or turn.reasoning for turn in reversed(turns) if turn.text or turn.reasoning), "")
            tile["tail"] = " ".join(text[-TAIL * 2 :].split())[-TAIL:]
            if last.waiting:
                tile |= {"waiting": last.wait_reason, "wait": round(max(0.0, last.waiting_until - now), 1)}
            elif self._status is not None and self._at_rest:
                tile["waiting"] = self._status.state
        return tile

    def _progress(self, turn: _LiveTurn) -> float:
        if turn.is_done:
            return 1.0
        replies, characters = self._length.get(turn.role, (0, 0))
        usual = characters / replies if replies else 700.0
        return min(0.95, len(turn.text) / max(usual, 1.0))


def _current_labels(turns: Iterable[_LiveTurn]) -> list[str]:
    """Return the ids of the labels that the last decisions assign, where a turn decides on all labels or on one."""
    assigned: dict[str, None] = {}
    for live_turn in turns:
        turn = live_turn.turn
        if turn is None or not live_turn.is_done or turn.labels is None:
            continue
        if turn.item:
            assigned.pop(turn.item, None)
        else:
            assigned.clear()
        assigned |= dict.fromkeys(turn.labels)
    return list(assigned)


def status_of(run: RunRow, state: State | None = None) -> RunStatus:
    """Return the status of a stored run as an event, with another state if one is given."""
    status = RunStatus(**dict(run))
    return status if state is None else status.model_copy(update={"state": state, "message": "", "stop_code": ""})


def verdict_event(reached: VerdictReached) -> Json:
    """Return a verdict for the browser."""
    verdict = reached.verdict
    return {
        "kind": "verdict",
        "document_id": reached.document_id,
        "status": verdict.status,
        "values": dict(verdict.values),
        "reasons": dict(verdict.reasons),
        "notes": list(verdict.notes),
        "error": verdict.error.message if verdict.error else "",
    }


def debate_events(debate: StoredDebate, known_turns: Container[int] = ()) -> list[Json]:
    """Return a stored debate for the browser, in the form of a snapshot, without the turns of ``known_turns``."""
    live = _LiveDebate(debate.document.id, reached=debate.verdict, verdict_revision=1)
    for turn in debate.turns:
        if turn.turn in known_turns:
            continue
        live_turn = live.turn(turn.turn)
        live_turn.apply(TurnDone(turn), 0.0)
        live_turn.attempt, live_turn.revision = 0, 1
    return list(_debate_events(live, {}, 0.0, 0))


def _reason(verdict: Verdict) -> str:
    if verdict.error is not None:
        return verdict.error.message
    return next(iter(verdict.reasons.values()), "") if verdict.status == "unresolved" else ""


def _debate_events(debate: _LiveDebate, cursors: dict[int, TextCursor], now: float, since: int) -> Iterable[Json]:
    """Yield the debate's changes for a client with these cursors, and advance the cursors."""
    for turn in debate.ordered:
        if turn.revision <= since:
            continue
        attempt, offset = cursors.get(turn.number, (turn.attempt, 0))
        if attempt != turn.attempt or offset > len(turn.text):
            offset = 0
        yield {
            "kind": "turn",
            "document_id": debate.id,
            **turn.fields(now),
            "offset": offset,
            "text": turn.text[offset:],
            "end": len(turn.text),
        }
        cursors[turn.number] = (turn.attempt, len(turn.text))
    if debate.reached is not None and debate.verdict_revision > since:
        yield verdict_event(debate.reached)
