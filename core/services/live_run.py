"""What the live board shows of a run, folded from its events. Pure: no asyncio, no browser, no store.

The engine's thread calls ``publish``; connections call ``snapshot`` once and ``changes`` some twenty times a second,
each with a ``ClientCursor`` of its own that notes what it has been given. A reader is told the difference between two
states and not the events in between, so a slow one costs nothing: there is no queue that could grow.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from core.debate.events import Delta, Event, RunStatus, TurnDone, TurnStarted, TurnWaiting, VerdictReached, to_json

KEPT_FINISHED = 200
"""Finished debates that stay in memory; older ones come from the store."""
SHOWN_FINISHED = 40
"""Finished debates that a snapshot brings along, so that a wall is not empty after the last one has ended."""
TAIL = 90
"""Characters of a running turn that a wall tile needs."""

Json: TypeAlias = dict[str, Any]
Cursor: TypeAlias = tuple[int, int]
"""(try, offset): how much of a turn's text a reader has. A new try starts the text again."""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document as the board shows it. ``note`` says where it comes from ("reviews.csv, row 427")."""

    id: str
    fields: Mapping[str, str]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """A debate as the store tells it, in the order it was held."""

    document: DocumentText
    turns: tuple[TurnDone, ...] = ()
    verdict: VerdictReached | None = None


@dataclass(frozen=True, slots=True)
class FinishedRow:
    """One line in the list of finished debates. ``values`` as in ``VerdictReached``; ``words`` are the text's first."""

    id: str
    status: Literal["verdict", "unresolved", "failed"]
    values: Mapping[str, Any]
    words: str = ""


@dataclass(frozen=True, slots=True)
class FinishedPage:
    """A page of finished debates, newest first, and how many there are in all."""

    total: int
    rows: tuple[FinishedRow, ...]


@dataclass(slots=True)
class ClientCursor:
    """What one reader has been given. Made by the reader, kept up to date by the board.

    ``focus`` is the debate that it wants in full; ``cursors`` say how much of that debate's turns it holds.
    """

    focus: str | None = None
    cursors: dict[int, Cursor] = field(default_factory=dict)
    wall: int = 0
    """Revision up to which tiles and counters were sent."""
    seen: int = 0
    """Revision up to which the debate in focus was sent."""


@dataclass(slots=True)
class _Turn:
    number: int
    role: str = ""
    model: str = ""
    cached: bool = False
    round: int = 0
    replies_to: tuple[str, ...] = ()
    item: str = ""
    text: str = ""
    tries: int = 0
    pieces: int = 0
    thinking: str = ""
    started: float = 0.0
    waiting: str = ""
    until: float = 0.0
    done: TurnDone | None = None
    rev: int = 0

    def head(self, now: float) -> Json:
        """Everything but the text."""
        done = self.done
        head: Json = {
            "turn": self.number,
            "role": self.role,
            "model": self.model,
            "cached": self.cached,
            "round": self.round,
            "replies_to": list(self.replies_to),
            "item": self.item,
            "try": self.tries,
            "done": done is not None,
        }
        if done is not None:
            head |= {
                "labels": None if done.labels is None else list(done.labels),
                "values": None if done.values is None else dict(done.values),
                "evidence": [dict(row) for row in done.evidence],
                "prompt_tokens": done.prompt_tokens,
                "completion_tokens": done.completion_tokens,
                "cost": done.cost_usd,
                "seconds": done.seconds,
                "problem": done.problem,
                "reasoning": done.reasoning,
            }
        else:
            head |= {
                "tokens": self.pieces,
                "elapsed": round(now - self.started, 2) if self.started else 0.0,
                "thinking": len(self.thinking),
                "thought": self.thinking[-TAIL:],
                "waiting": self.waiting,
                "wait": round(max(0.0, self.until - now), 1) if self.waiting else 0.0,
            }
        return head


@dataclass(slots=True)
class _Debate:
    id: str
    turns: dict[int, _Turn] = field(default_factory=dict)
    verdict: VerdictReached | None = None
    rev: int = 0
    verdict_rev: int = 0

    def turn(self, number: int) -> _Turn:
        return self.turns.setdefault(number, _Turn(number))

    @property
    def ordered(self) -> list[_Turn]:
        return [self.turns[number] for number in sorted(self.turns)]


class LiveRunState:
    """The debates of one run: all that are in flight and the last that ended. Safe to use from any thread."""

    def __init__(self, run_id: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.run_id = run_id
        self.token = uuid.uuid4().hex[:12]
        """Names this board's life; cursors from another life are not valid here."""
        self._clock = clock
        self._lock = threading.Lock()
        self._rev = 0
        self._status: RunStatus | None = None
        self._status_rev = 0
        self._flight: dict[str, _Debate] = {}
        self._finished: dict[str, _Debate] = {}
        self._length: dict[str, tuple[int, int]] = {}  # role -> (replies, characters), for the progress of a turn
        self._expected: dict[str, int] = {}  # role -> most turns seen in one debate

    # -- the engine's side

    def publish(self, event: Event) -> None:
        """Take an event in. Cheap, never blocks on a reader."""
        with self._lock:
            self._rev += 1
            match event:
                case RunStatus():
                    self._status, self._status_rev = event, self._rev
                    if self._over:
                        self._flight.clear()
                case VerdictReached():
                    self._end(event)
                case Delta() | TurnWaiting() if self._over:
                    pass  # the last words of a call that was cut
                case _:
                    debate = self._open(event.document_id)
                    debate.rev = self._rev
                    turn = debate.turn(event.turn)
                    turn.rev = self._rev
                    _fold(turn, event, self._clock())
                    if isinstance(event, TurnDone):
                        self._learn(debate, event)

    @property
    def _over(self) -> bool:
        return self._status is not None and self._status.state in ("done", "stopped", "failed")

    def _open(self, document_id: str) -> _Debate:
        debate = self._flight.get(document_id)
        if debate is None:
            self._finished.pop(document_id, None)  # asked again
            debate = self._flight[document_id] = _Debate(document_id)
        return debate

    def _end(self, event: VerdictReached) -> None:
        debate = self._flight.pop(event.document_id, None) or self._finished.pop(event.document_id, None)
        debate = debate or _Debate(event.document_id)
        debate.verdict, debate.rev, debate.verdict_rev = event, self._rev, self._rev
        self._finished[event.document_id] = debate
        while len(self._finished) > KEPT_FINISHED:
            del self._finished[next(iter(self._finished))]

    def _learn(self, debate: _Debate, event: TurnDone) -> None:
        replies, characters = self._length.get(event.role, (0, 0))
        self._length[event.role] = (replies + 1, characters + len(event.text))
        spoken = sum(turn.role == event.role for turn in debate.turns.values())
        self._expected[event.role] = max(spoken, self._expected.get(event.role, 1))

    # -- the readers' side

    @property
    def status(self) -> RunStatus | None:
        """The last status, or None before the first."""
        with self._lock:
            return self._status

    def holds(self, document_id: str) -> bool:
        """Whether the debate on this document is in memory, in flight or lately ended."""
        with self._lock:
            return document_id in self._flight or document_id in self._finished

    def snapshot(self, view: ClientCursor) -> list[Json]:
        """All that a reader needs to draw the board. ``view.cursors`` are honoured: known text is not sent again."""
        with self._lock:
            now = self._clock()
            view.wall = view.seen = self._rev
            events: list[Json] = [] if self._status is None else [to_json(self._status)]
            recent = list(self._finished.values())[-SHOWN_FINISHED:]
            events += [self._tile(debate, now) for debate in [*recent, *self._flight.values()]]
            return events + self._focus(view, now, since=-1)

    def changes(self, view: ClientCursor, *, wall: bool = True) -> list[Json]:
        """What has changed since this view was last served; with ``wall`` False only in the debate in focus."""
        with self._lock:
            if self._rev == view.seen and (not wall or self._rev == view.wall):
                return []
            now = self._clock()
            events: list[Json] = []
            if wall:
                if self._status is not None and self._status_rev > view.wall:
                    events.append(to_json(self._status))
                for debates in (self._finished, self._flight):
                    events += [self._tile(debate, now) for debate in debates.values() if debate.rev > view.wall]
                view.wall = self._rev
            events += self._focus(view, now, since=view.seen)
            view.seen = self._rev
            return events

    def _focus(self, view: ClientCursor, now: float, *, since: int) -> list[Json]:
        if view.focus is None:
            return []
        debate = self._flight.get(view.focus) or self._finished.get(view.focus)
        return [] if debate is None else list(_told(debate, view.cursors, now, since))

    def _tile(self, debate: _Debate, now: float) -> Json:
        turns = debate.ordered
        spoken: dict[str, float] = {}
        for turn in turns:
            if turn.role:
                spoken[turn.role] = spoken.get(turn.role, 0.0) + self._part(turn)
        last = turns[-1] if turns else None
        labels = next((t.done.labels for t in reversed(turns) if t.done and t.done.labels is not None), ())
        tile: Json = {
            "kind": "tile",
            "document_id": debate.id,
            "progress": {role: round(min(1.0, n / self._expected.get(role, 1)), 3) for role, n in spoken.items()},
            "labels": list(labels or ()),
            "role": last.role if last else "",
            "tail": "",
            "waiting": "",
            "wait": 0.0,
        }
        if debate.verdict is not None:
            tile |= {
                "status": debate.verdict.status,
                "values": dict(debate.verdict.values),
                "reason": _reason(debate.verdict),
            }
        elif last is not None:
            words = next((turn.text or turn.thinking for turn in reversed(turns) if turn.text or turn.thinking), "")
            tile["tail"] = " ".join(words[-TAIL * 2 :].split())[-TAIL:]
            if last.waiting:
                tile |= {"waiting": last.waiting, "wait": round(max(0.0, last.until - now), 1)}
        return tile

    def _part(self, turn: _Turn) -> float:
        if turn.done is not None:
            return 1.0
        replies, characters = self._length.get(turn.role, (0, 0))
        usual = characters / replies if replies else 700.0
        return min(0.95, len(turn.text) / max(usual, 1.0))


def _fold(turn: _Turn, event: TurnStarted | Delta | TurnWaiting | TurnDone, now: float) -> None:
    match event:
        case TurnStarted():
            turn.role, turn.model, turn.cached, turn.waiting = event.role, event.model, event.cached, ""
            turn.round, turn.replies_to, turn.item = event.round, event.replies_to, event.item
            turn.started = now
            if not event.cached:
                turn.done = None
        case TurnWaiting():
            turn.waiting, turn.until = event.reason, now + event.seconds
        case TurnDone():
            turn.role, turn.model, turn.cached, turn.waiting = event.role, event.model, event.cached, ""
            turn.round, turn.replies_to, turn.item = event.round, event.replies_to, event.item
            turn.done = event
            if not event.text.startswith(turn.text):
                turn.tries += 1
            turn.text = event.text
            turn.thinking = ""
        case Delta(reasoning=True):
            turn.waiting = ""
            turn.thinking = turn.thinking[: event.offset] + event.text
        case Delta():
            if turn.done is not None:
                return  # a late piece of a turn that has ended says nothing new
            turn.waiting = ""
            turn.started = turn.started or now
            known = turn.text[event.offset : event.offset + len(event.text)]
            if known == event.text and known:
                return
            if event.offset < len(turn.text):
                turn.tries += 1
                turn.pieces = 0
            turn.text = turn.text[: event.offset] + event.text
            turn.pieces += 1


def _reason(verdict: VerdictReached) -> str:
    if verdict.error:
        return verdict.error
    return next(iter(verdict.reasons.values()), "") if verdict.status == "unresolved" else ""


def _told(debate: _Debate, cursors: dict[int, Cursor], now: float, since: int) -> Iterable[Json]:
    """The debate for a reader that holds ``cursors``, and move those on."""
    for turn in debate.ordered:
        if turn.rev <= since:
            continue
        tries, offset = cursors.get(turn.number, (turn.tries, 0))
        if tries != turn.tries or offset > len(turn.text):
            offset = 0
        yield {
            "kind": "turn",
            "document_id": debate.id,
            **turn.head(now),
            "offset": offset,
            "text": turn.text[offset:],
            "end": len(turn.text),
        }
        cursors[turn.number] = (turn.tries, len(turn.text))
    if debate.verdict is not None and debate.verdict_rev > since:
        yield to_json(debate.verdict)


def told_from_store(replay: Replay, cursors: dict[int, Cursor] | None = None) -> list[Json]:
    """A stored debate in the words of a snapshot, for debates that the board holds no longer."""
    debate = _Debate(replay.document.id)
    events: Sequence[Event] = [*replay.turns, *([replay.verdict] if replay.verdict else [])]
    for event in events:
        if isinstance(event, TurnDone):
            turn = debate.turn(event.turn)
            turn.rev = 1
            _fold(turn, event, 0.0)
            turn.tries = 0
        elif isinstance(event, VerdictReached):
            debate.verdict, debate.verdict_rev = event, 1
    return list(_told(debate, cursors if cursors is not None else {}, 0.0, 0))
