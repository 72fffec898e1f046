"""Writer of runs for the engine: turns, failed attempts, verdicts and states, and the jobs of batches."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from core.debate.events import VerdictReached
from core.debate.turns import Turn
from core.documents import VERDICT, storable
from core.engine.interfaces import BatchJob, FailedAttempt
from core.errors import ProjectGone
from core.hashing import canonical
from core.runs import NOT_STOPPED, RoleModel, State, StopReason
from core.store.database import Cursor, DatabaseConnection
from core.store.rows import (
    add_row,
    dump,
    insert,
    insert_keyed,
    load,
    text_hash,
    value_text,
)
from core.store.runs import set_state
from core.store.transcripts import verdict_of
from core.store.write_queue import Repository, Writer

_TURN = (
    "run_id", "document_id", "turn", "key", "role", "form", "retry", "role_model", "messages", "cached", "reading",
    "values", "evidence", "evidence_total", "evidence_supported", "superseded", "round", "replies_to", "item",
)  # fmt: skip
_ATTEMPT = (
    "run_id", "document_id", "role", "key", "kind", "message", "text", "usage.prompt_tokens", "usage.completion_tokens",
    "cost_usd", "seconds", "unix_time",
)  # fmt: skip
"""Attributes of ``FailedAttempt``; the columns have their last names."""
_VERDICT = ("run_id", "document_id", "status", "verdict", "values", "unix_time")
_ANNOTATION = ("run_id", "document_id", "annotator", "turn", "item", "value", "reason")
_TEXT = ("hash", "text")
K = TypeVar("K", bound=tuple[Any, ...])
_TurnKey: TypeAlias = tuple[str, int, str]
"""A turn in its run: document, number, key of the reply."""
_UNFINISHED = """
    SELECT document_id, turn, key, superseded FROM turns ANTI JOIN verdicts USING (run_id, document_id)
    WHERE run_id = ?
"""
_UNUSED = "SELECT key FROM replies ANTI JOIN turns USING (run_id, key) WHERE run_id = ? AND finish_reason <> 'vector'"
"""Keys of replies that the run paid for when its process died before their turns were written."""


class RunWriter(Repository):
    """The ``RunSink`` of the engine: writes turns, verdicts, failed attempts and states of runs in order."""

    def __init__(self, connection: DatabaseConnection, writer: Writer) -> None:
        super().__init__(connection, writer)
        stored: Future[None] = Future()
        stored.set_result(None)
        self._texts = dict.fromkeys(connection.column("SELECT hash FROM texts"), stored)
        self._existing: dict[str, dict[_TurnKey, bool]] = {}
        """By run, the turns of unfinished debates that an earlier session wrote; True if they are superseded."""
        self._unused: dict[str, set[str]] = {}
        """By run, keys of replies that an earlier session paid for and whose turns are not written yet."""
        self._queued: defaultdict[str, defaultdict[str, list[Future[None]]]] = defaultdict(lambda: defaultdict(list))
        """By run and document, turns and their system prompts that may not be written yet."""

    def turn(self, turn: Turn) -> bool:
        """Queue a turn, as in ``RunSink``. A turn that is replayed on a resume is left unchanged."""
        queued = self._queued[turn.run_id][turn.document_id]
        queued.extend(self._keep_text(message.content) for message in turn.messages if message.role == "system")
        key = turn.reply.key
        superseded = self._existing.get(turn.run_id, {}).get((turn.document_id, turn.turn, key))
        if superseded is False:
            return False
        unused = self._unused.get(turn.run_id, set())
        if key in unused:
            unused.discard(key)
            turn = replace(turn, cached=False)
        queued.append(self._writer.insert(_insert_turns, [turn]))
        return turn.cached and superseded is None

    async def verdict(self, reached: VerdictReached) -> VerdictReached:
        if (error := reached.verdict.error) is not None:
            restore = partial(
                _restore_verdicts, run_id=reached.run_id, document_id=reached.document_id, failure=error.message
            )
            if restored := await asyncio.wrap_future(self._writer.call(restore)):
                return restored[0]
        queued = self._queued[reached.run_id].pop(reached.document_id, [])
        await asyncio.wrap_future(self._writer.insert(_insert_verdicts, [(reached, queued)]))
        return reached

    def attempt(self, attempt: FailedAttempt) -> None:
        self._writer.insert(_insert_attempts, [attempt], keep=True)

    def add_seconds(self, run_id: str, seconds: float) -> None:
        self._writer.call(
            lambda cursor: cursor.execute("UPDATE runs SET seconds = seconds + ? WHERE run_id = ?", [seconds, run_id])
        )

    async def state(
        self, run_id: str, state: State, reason: StopReason = NOT_STOPPED, seconds: float = 0.0
    ) -> Sequence[VerdictReached]:
        def write(cursor: Cursor) -> Sequence[VerdictReached]:
            set_state(run_id, state, reason, seconds)(cursor)
            return _restore_verdicts(cursor, run_id) if state in ("paused", "stopped", "failed") else ()

        queued: list[Future[None]] = list(chain.from_iterable(self._queued.pop(run_id, defaultdict(list)).values()))
        restored = await asyncio.wrap_future(self._writer.call(write))
        for earlier in (self._existing, self._unused):
            earlier.pop(run_id, None)
        for turn in queued:
            turn.result()
        if state == "running":
            turns = await asyncio.to_thread(self._connection.rows, _UNFINISHED, [run_id])
            self._existing[run_id] = {(document, turn, key): superseded for document, turn, key, superseded in turns}
            self._unused[run_id] = set(await asyncio.to_thread(self._connection.column, _UNUSED, [run_id]))
        return restored

    def recover(self) -> None:
        """Restore the verdicts before retries that a dead process left. Called once when the project is opened."""
        self._writer.do(partial(_restore_verdicts, run_id=None))

    def _keep_text(self, text: str) -> Future[None]:
        """Write a text unless it is stored or queued. Return a future that is done once it is on disk."""
        name = text_hash(text)
        written = self._texts.get(name)
        if written is None:
            written = self._texts[name] = self._writer.insert(_insert_texts, [(name, text)])
            written.add_done_callback(lambda done: self._texts.pop(name) if done.exception() else None)
        return written


def _insert_texts(cursor: Cursor, texts: Sequence[tuple[str, str]], keys_may_exist: bool) -> None:
    insert_keyed(cursor, "texts", _TEXT, texts, keys_may_exist)


def _insert_attempts(cursor: Cursor, attempts: Sequence[FailedAttempt], _keys_may_exist: bool) -> None:
    columns = [name.rpartition(".")[2] for name in _ATTEMPT]
    insert(cursor, "attempts", columns, [attrgetter(*_ATTEMPT)(attempt) for attempt in attempts])


def _insert_turns(cursor: Cursor, turns: Sequence[Turn], keys_may_exist: bool) -> None:
    """Add turns, with the annotations of those that are new or come back after being superseded."""
    by_key = {(turn.run_id, turn.document_id, turn.turn, turn.reply.key): turn for turn in reversed(turns)}
    rows = {key: _turn_row(turn) for key, turn in by_key.items()}
    conflict = "(run_id, document_id, turn, key) DO UPDATE SET superseded = false WHERE turns.superseded"
    added = [by_key[key] for key in _added(cursor, "turns", _TURN, rows, conflict, keys_may_exist)]
    insert(
        cursor,
        "annotations",
        _ANNOTATION,
        [
            (turn.run_id, turn.document_id, turn.role, turn.turn, item, value_text(value), undecided.get(item, ""))
            for turn in added
            for undecided in [turn.reply.reading.undecided]
            for item, value in (turn.values or {}).items()
        ],
    )


@lru_cache(maxsize=64)  # a run has few
def _role_model_text(role_model: RoleModel) -> str:
    return dump(role_model.model_dump(mode="json"))


def _turn_row(turn: Turn) -> tuple[Any, ...]:
    reply = turn.reply
    messages = [
        {"role": message.role, "text": text_hash(message.content)} if message.role == "system" else message
        for message in turn.messages
    ]
    return (
        turn.run_id,
        turn.document_id,
        turn.turn,
        reply.key,
        turn.role,
        turn.form,
        turn.reask,
        _role_model_text(turn.role_model),
        dump(messages),
        turn.cached,
        dump(reply.reading),
        None if turn.values is None else canonical(turn.decided).decode(),
        dump(reply.evidence),
        len(reply.evidence),
        sum(quote.supported for quote in reply.evidence),
        False,
        turn.round,
        dump(turn.replies_to),
        turn.item,
    )


def _insert_verdicts(
    cursor: Cursor, verdicts: Sequence[tuple[VerdictReached, Sequence[Future[None]]]], keys_may_exist: bool
) -> None:
    """Add verdicts, each with what was queued for its debate. Raises the error of what could not be written."""
    for written in chain.from_iterable(queued for _, queued in verdicts):
        error = written.exception() if written.done() else None  # one that is not done is in the same transaction
        if error is not None and not isinstance(error, ProjectGone):  # which is reported after the commit
            raise error
    by_key = {(row.run_id, row.document_id): row for row, _ in reversed(verdicts)}
    rows = {key: _verdict_row(row) for key, row in by_key.items()}
    ended = [by_key[key] for key in _added(cursor, "verdicts", _VERDICT, rows, "DO NOTHING", keys_may_exist)]
    insert(
        cursor,
        "annotations",
        _ANNOTATION,
        [
            (row.run_id, row.document_id, VERDICT, None, item, value_text(value), row.verdict.reasons.get(item, ""))
            for row in ended
            for item, value in row.verdict.values.items()
        ],
    )


_EARLIER = """
    SELECT run_id, document_id, verdict, unix_time, turns, coalesce(annotations, '[]') AS annotations
    FROM superseded_verdicts ANTI JOIN verdicts USING (run_id, document_id)
    WHERE ($run IS NULL OR run_id = $run) AND ($document IS NULL OR document_id = $document)
        AND status = 'unresolved' AND turns IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY run_id, document_id ORDER BY unix_time DESC) = 1
"""
"""The latest unresolved verdicts of documents that are being retried, and what belongs to them."""


def _restore_verdicts(
    cursor: Cursor, run_id: str | None, document_id: str | None = None, failure: str = ""
) -> list[VerdictReached]:
    """Restore and return the unresolved verdicts before a retry, with their turns and annotations.

    They are those of a document, of a run or (None) of all runs, without documents that have a verdict again. If the
    retry failed, ``failure`` is the new reason. Otherwise it was paused: the verdicts stay in ``superseded_verdicts``,
    too, so that it continues when the run resumes.
    """
    params = {"run": run_id, "document": document_id}
    earlier = cursor.execute(_EARLIER, params).fetchall()
    if not earlier:
        return []
    cursor.execute(
        f"""UPDATE turns SET superseded = NOT list_contains(from_json(earlier.turns, '["VARCHAR"]'), turn || ' ' || key)
        FROM ({_EARLIER}) AS earlier
        WHERE turns.run_id = earlier.run_id AND turns.document_id = earlier.document_id""",
        params,
    )
    cursor.execute(
        f"DELETE FROM annotations USING ({_EARLIER}) AS earlier "
        "WHERE annotations.run_id = earlier.run_id AND annotations.document_id = earlier.document_id",
        params,
    )
    of_turns = [
        {"run_id": run, "document_id": document, **row}
        for run, document, _, _, _, annotations in earlier
        for row in load(annotations)
    ]
    insert(cursor, "annotations", _ANNOTATION, [tuple(row[name] for name in _ANNOTATION) for row in of_turns])
    restored = [
        VerdictReached(run, document, verdict_of(text), unix_time) for run, document, text, unix_time, _, _ in earlier
    ]
    if failure:
        cursor.executemany(
            "DELETE FROM superseded_verdicts WHERE run_id = ? AND document_id = ? AND unix_time = ?",
            [(reached.run_id, reached.document_id, reached.unix_time) for reached in restored],
        )
        restored = [_retry_failed(reached, failure) for reached in restored]
    _insert_verdicts(cursor, [(reached, ()) for reached in restored], keys_may_exist=True)
    return restored


def _retry_failed(reached: VerdictReached, failure: str) -> VerdictReached:
    undecided = [item for item, value in reached.verdict.values.items() if value is None]
    reasons = dict.fromkeys(undecided, f"The retry failed: {failure}")
    return replace(reached, verdict=replace(reached.verdict, reasons=reasons), unix_time=time.time())


def _verdict_row(reached: VerdictReached) -> tuple[Any, ...]:
    verdict = reached.verdict
    decided = canonical({item: value for item, value in verdict.values.items() if value is not None}).decode()
    return reached.run_id, reached.document_id, verdict.status, dump(verdict), decided, reached.unix_time


def _added(
    cursor: Cursor,
    table: str,
    columns: Sequence[str],
    rows: Mapping[K, tuple[Any, ...]],
    conflict: str,
    keys_may_exist: bool,
) -> list[K]:
    """Add rows by their first cells, the key; return the keys of those added or changed. See ``Insert``."""
    if not keys_may_exist:
        insert(cursor, table, columns, rows.values())
        return list(rows)
    key = ", ".join(columns[: len(next(iter(rows)))])
    return insert(cursor, table, columns, rows.values(), f"ON CONFLICT {conflict} RETURNING {key}")


class BatchJobStore(Repository):
    """The ``BatchJobs`` of the engine. No method blocks its loop."""

    async def open_jobs(self, folder: str) -> Sequence[BatchJob]:
        return await asyncio.to_thread(self._open_jobs, folder)

    def _open_jobs(self, folder: str) -> Sequence[BatchJob]:
        rows = self._connection.rows(
            "SELECT name, run_id, connection, model, base_url, remote_id, list(key), settings ->> '$.engine.batch_dir' "
            "FROM batches JOIN batch_requests USING (name) JOIN runs USING (run_id) "
            "WHERE outcome IS NULL GROUP BY ALL ORDER BY min(unix_time)"
        )
        place = _place(folder)
        return [
            BatchJob(name, run_id, RoleModel(connection=connection, model=model, base_url=url), tuple(keys), remote_id)
            for name, run_id, connection, model, url, remote_id, keys, other in rows
            if _place(other) == place
        ]

    def count_paused(self, connection: str) -> dict[str, int]:
        """Return the number of open batches at a connection by run, of paused runs."""
        query = """
            SELECT run_id, count(*) FROM batches JOIN runs USING (run_id)
            WHERE outcome IS NULL AND connection = ? AND state = 'paused' GROUP BY run_id ORDER BY run_id
        """
        return dict(self._connection.rows(query, [connection]))

    async def begin(self, job: BatchJob) -> None:
        def write(cursor: Cursor) -> None:
            model = job.role_model.model_dump(include={"connection", "model", "base_url"})
            row = {"name": job.name, "run_id": job.run_id, **model, "remote_id": "", "unix_time": time.time()}
            add_row(cursor, "batches", **row)
            insert(cursor, "batch_requests", ("name", "key"), [(job.name, key) for key in job.keys])

        await asyncio.wrap_future(self._writer.call(write))

    async def submitted(self, name: str, remote_id: str) -> None:
        await self._set("UPDATE batches SET remote_id = ? WHERE name = ?", [storable(remote_id), name])

    async def close_job(self, name: str, outcome: str) -> None:
        await self._set("UPDATE batches SET outcome = ? WHERE name = ?", [storable(outcome), name])

    async def _set(self, sql: str, params: list[str]) -> None:
        await asyncio.wrap_future(self._writer.call(lambda cursor: cursor.execute(sql, params)))


def _place(folder: str) -> Path | None:
    """Return the folder that a ``batch_dir`` names, None for the Batch API of a server."""
    return Path(folder).expanduser().resolve() if folder else None
