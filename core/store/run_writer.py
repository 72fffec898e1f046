"""What a run leaves behind: turns, tries that failed, verdicts. The engine's sink."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from itertools import chain
from typing import Any, TypeAlias

from core.annotations import VERDICT, Annotation
from core.engine.ports import AttemptRow, TurnRow, VerdictRow
from core.runs import NOT_STOPPED, State, StopReason
from core.store.connection import Connection, Cursor
from core.store.rows import append, append_keyed, canonical, dump, incoming, table_of, text_hash, value_text
from core.store.runs import set_state
from core.store.writer import Writer

_TURN = (
    "run_id", "document_id", "turn", "key", "role", "retry", "role_model", "messages", "cached", "reading", "says",
    "evidence", "evidence_total", "evidence_supported", "superseded", "round", "replies_to", "item",
)  # fmt: skip
_ATTEMPT = (
    "run_id", "document_id", "role", "key", "kind", "message", "text", "prompt_tokens", "completion_tokens", "cost_usd",
    "seconds", "unix_time",
)  # fmt: skip
_VERDICT = ("run_id", "document_id", "status", "verdict", "says", "unix_time")
_ANNOTATION = ("run_id", "document_id", "annotator", "turn", "item", "value", "reason")
_TEXT = ("hash", "text")
_Place: TypeAlias = tuple[str, int, str]
"""A turn in its run: document, number, key of the reply."""
_UNFINISHED = """
    SELECT document_id, turn, key FROM turns ANTI JOIN verdicts USING (run_id, document_id)
    WHERE run_id = ? AND NOT superseded
"""


class RunWriter:
    """The Sink: turns, verdicts, failed tries and states of runs, in the order they come."""

    def __init__(self, connection: Connection, writer: Writer) -> None:
        self._connection = connection
        self._writer = writer
        self._texts = {name for (name,) in connection.rows("SELECT hash FROM texts")}
        self._there: dict[str, set[_Place]] = {}
        """By run, the turns of its unfinished debates that an earlier session wrote."""
        self._queued: defaultdict[str, defaultdict[str, list[Future[None]]]] = defaultdict(lambda: defaultdict(list))
        """By run and document, turns that may be on their way."""

    def turn(self, row: TurnRow) -> None:
        """Queue the turn. The same one heard again on a resume is left as it was."""
        if (row.document_id, row.turn, row.key) in self._there.get(row.run_id, ()):
            return
        for message in row.messages:
            if message["role"] == "system":
                self._keep(message["content"])
        self._queued[row.run_id][row.document_id].append(self._writer.insert(_insert_turns, [row]))

    async def verdict(self, row: VerdictRow) -> None:
        """Return once the verdict and the turns before it are on disk. A second one for the same document of the run
        is ignored."""
        turns = self._queued[row.run_id].pop(row.document_id, [])
        await asyncio.wrap_future(self._writer.insert(_insert_verdicts, [row]))
        for turn in turns:  # they were queued before it: they have ended
            turn.result()

    def attempt(self, row: AttemptRow) -> None:
        """Queue a failed try."""
        self._writer.insert(_insert_attempts, [row])

    async def state(self, run_id: str, state: State, reason: StopReason = NOT_STOPPED, seconds: float = 0.0) -> None:
        """Return once the run's state, and whatever was queued before, is on disk; ``seconds`` of work are added to
        the run's own."""
        queued: list[Future[None]] = list(chain.from_iterable(self._queued.pop(run_id, defaultdict(list)).values()))
        await asyncio.wrap_future(self._writer.call(set_state(run_id, state, reason, seconds)))
        self._there.pop(run_id, None)
        for turn in queued:
            turn.result()
        if state == "running":
            self._there[run_id] = set(await asyncio.to_thread(self._connection.rows, _UNFINISHED, [run_id]))

    def _keep(self, text: str) -> None:
        name = text_hash(text)
        if name not in self._texts:
            self._texts.add(name)
            self._writer.insert(_insert_texts, [(name, text)]).add_done_callback(
                lambda written: self._texts.discard(name) if written.exception() else None
            )


def _insert_texts(cursor: Cursor, texts: Sequence[tuple[str, str]], careful: bool) -> None:
    append_keyed(cursor, "texts", _TEXT, texts, careful)


def _insert_attempts(cursor: Cursor, attempts: Sequence[AttemptRow], _careful: bool) -> None:
    rows = [
        (
            row.run_id, row.document_id, row.role, row.key, row.kind, row.message, row.text, row.usage.prompt_tokens,
            row.usage.completion_tokens, row.cost_usd, row.seconds, row.at,
        )
        for row in attempts
    ]  # fmt: skip
    append(cursor, "attempts", _ATTEMPT, rows)


def _insert_turns(cursor: Cursor, turns: Sequence[TurnRow], careful: bool) -> None:
    """Add turns, with the annotations of those that are new or come back after being superseded."""
    by_place = {(turn.run_id, turn.document_id, turn.turn, turn.key): turn for turn in reversed(turns)}
    rows = [_turn_row(turn) for turn in by_place.values()]
    if careful:
        conflict = "(run_id, document_id, turn, key) DO UPDATE SET superseded = false WHERE turns.superseded"
        heard = [by_place[place] for place in _added(cursor, "turns", _TURN, rows, conflict, 4)]
    else:
        append(cursor, "turns", _TURN, rows)
        heard = list(by_place.values())
    _annotate(cursor, [(turn.run_id, turn.turn, row) for turn in heard for row in turn.annotations])


def _turn_row(turn: TurnRow) -> tuple[Any, ...]:
    messages = [
        {"role": "system", "text": text_hash(message["content"])} if message["role"] == "system" else message
        for message in turn.messages
    ]
    supported = sum(row.get("match") != "missing" for row in turn.evidence)
    return (
        turn.run_id, turn.document_id, turn.turn, turn.key, turn.role, turn.retry,
        dump(turn.role_model.model_dump(mode="json")), dump(messages), turn.cached, dump(turn.reading),
        _says(turn.annotations) if turn.annotations else None, dump(turn.evidence), len(turn.evidence), supported,
        False, turn.round, dump(turn.replies_to), turn.item,
    )  # fmt: skip


def _insert_verdicts(cursor: Cursor, verdicts: Sequence[VerdictRow], careful: bool) -> None:
    by_place = {(row.run_id, row.document_id): row for row in reversed(verdicts)}
    rows = [_verdict_row(row) for row in by_place.values()]
    if careful:
        ended = [by_place[place] for place in _added(cursor, "verdicts", _VERDICT, rows, "DO NOTHING", 2)]
    else:
        append(cursor, "verdicts", _VERDICT, rows)
        ended = list(by_place.values())
    _annotate(cursor, [(verdict.run_id, None, row) for verdict in ended for row in _decided(verdict)])


def _verdict_row(row: VerdictRow) -> tuple[Any, ...]:
    verdict = {
        "values": row.verdict.values,
        "reasons": row.verdict.reasons,
        "notes": row.verdict.notes,
        "error": row.verdict.error,
        "path": row.verdict.path,
    }
    return row.run_id, row.document_id, row.status, dump(verdict), _says(_decided(row)), row.at


def _decided(row: VerdictRow) -> tuple[Annotation, ...]:
    """The verdict's annotations; made from its values when the protocol left them out."""
    return row.annotations or tuple(
        Annotation(row.document_id, item, value, VERDICT, row.verdict.reasons.get(item, ""))
        for item, value in row.verdict.values.items()
    )


def _says(annotations: Iterable[Annotation]) -> str:
    return canonical({row.item: row.value for row in annotations if row.value is not None})


def _added(
    cursor: Cursor, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]], conflict: str, key: int
) -> list[tuple[Any, ...]]:
    """Add rows with care; the keys (their first ``key`` cells) of those that were added or changed."""
    names = ", ".join(columns)
    with incoming(cursor, table_of(columns, rows)):
        return cursor.execute(
            f"INSERT INTO {table} ({names}) SELECT {names} FROM incoming ON CONFLICT {conflict} "
            f"RETURNING {', '.join(columns[:key])}"
        ).fetchall()


def _annotate(cursor: Cursor, rows: Iterable[tuple[str, int | None, Annotation]]) -> None:
    append(
        cursor,
        "annotations",
        _ANNOTATION,
        [
            (run_id, row.document_id, row.annotator, turn, row.item, value_text(row.value), row.reason)
            for run_id, turn, row in rows
        ],
    )
