"""Runs: their frozen settings and examples, status, remaining documents and costs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from core.codebook import Codebook
from core.debate.turns import Usage
from core.documents import Value, storable
from core.engine.interfaces import Work
from core.errors import NoSuchRun, UsageError
from core.runs import Purpose, RunDetails, RunRow, RunSettings, State, StopReason
from core.store.annotation_sources import AllowedValues
from core.store.database import Cursor, DatabaseConnection, ReadRepository
from core.store.events import Event, record
from core.store.rows import add_row, dump, insert, load, scalar, validated, values_by_key
from core.store.write_queue import Repository, Writer

_SETTINGS, _DETAILS = TypeAdapter(RunSettings), TypeAdapter(RunDetails)
BUDGET = "budget"
"""Kind of the event that changes the budget of a run."""
DETAILS = "run"
"""Kind of the event that changes the details of a run."""

IS_LISTED = """purpose = 'run' AND run_id NOT IN (
    SELECT run_id FROM events WHERE kind = 'run' GROUP BY run_id
    HAVING json_extract_string(arg_max(after, seq), '$.status') = 'deleted'
)"""
"""SQL condition of runs that lists of runs show: neither deleted nor of the Lab."""

_QUEUED = {"state": "queued", "seconds": 0, "stop_code": "", "message": "", "retry": 0}
"""Columns of a run that has not started."""
_LATEST_CHANGE = "SELECT arg_max(after, seq) FROM events WHERE kind = ? AND run_id = ?"

_COUNTED = """
WITH asked AS (
    SELECT run_id, count(*) AS documents FROM run_documents
    WHERE $run IS NULL OR run_id = $run GROUP BY run_id
), ended AS (
    SELECT run_id, count(*) FILTER (status = 'verdict') AS verdicts,
           count(*) FILTER (status = 'unresolved') AS unresolved, count(*) FILTER (status = 'failed') AS failed
    FROM verdicts WHERE $run IS NULL OR run_id = $run GROUP BY run_id
), replied AS (
    SELECT run_id, count(*) AS turns, count(*) FILTER (cached) AS cached_calls
    FROM turns WHERE $run IS NULL OR run_id = $run GROUP BY run_id
), spent AS (
    -- The run that requested a reply pays for it once, even if several of its turns use the reply. Failed attempts that
    -- were billed count, too.
    SELECT run_id, sum(calls) AS calls, sum(prompt_tokens) AS prompt_tokens,
           sum(completion_tokens) AS completion_tokens, sum(cached_tokens) AS cached_tokens,
           count(*) FILTER (estimated AND cost_usd > 0) AS estimated_calls,
           bool_or(cost_usd IS NULL) AS has_unknown_price, sum(cost_usd) AS cost_usd
    FROM (SELECT run_id, if(finish_reason = 'vector', 0, 1) AS calls, prompt_tokens, completion_tokens, cached_tokens,
                 cost_usd, estimated FROM replies
          UNION ALL SELECT run_id, 0, prompt_tokens, completion_tokens, 0, cost_usd, false FROM attempts)
    WHERE $run IS NULL OR run_id = $run GROUP BY run_id
), changed AS (
    SELECT run_id, arg_max(after, seq) FILTER (kind = 'budget') AS budget,
           arg_max(after, seq) FILTER (kind = 'run') AS details
    FROM events WHERE kind IN ('budget', 'run') GROUP BY run_id
)
SELECT run_id, experiment_id, settings, state, created_at, finished_at, coalesce(documents, 0) AS documents,
       coalesce(verdicts, 0) AS verdicts, coalesce(unresolved, 0) AS unresolved, coalesce(failed, 0) AS failed,
       -- A process that died may have left replies without turns, which are written when the run resumes.
       greatest(coalesce(replied.turns, 0), coalesce(spent.calls, 0)) AS turns, coalesce(calls, 0) AS calls,
       coalesce(cached_calls, 0) AS cached_calls, coalesce(estimated_calls, 0) AS estimated_calls,
       coalesce(prompt_tokens, 0)::BIGINT AS prompt_tokens, coalesce(completion_tokens, 0)::BIGINT AS completion_tokens,
       coalesce(cached_tokens, 0)::BIGINT AS cached_tokens,
       CASE WHEN has_unknown_price THEN NULL ELSE coalesce(cost_usd, 0.0) END AS cost_usd,
       seconds, rejected, stop_code, message, purpose, budget AS budget_usd, details
FROM runs LEFT JOIN asked USING (run_id) LEFT JOIN ended USING (run_id) LEFT JOIN replied USING (run_id)
LEFT JOIN spent USING (run_id) LEFT JOIN changed USING (run_id)
"""


class Runs(Repository):
    """Runs of a project."""

    def __init__(self, connection: DatabaseConnection, writer: Writer) -> None:
        super().__init__(connection, writer)
        self._frozen: dict[str, RunSettings] = {}

    def create(
        self,
        settings: RunSettings,
        document_ids: Sequence[str],
        *,
        experiment_id: str | None = None,
        rejected: int = 0,
        purpose: Purpose = "run",
        details: RunDetails | None = None,
    ) -> RunRow:
        """Create a run in state ``queued`` on these documents in this order, each once, and return it.

        Its own experiment is named like the run. Raises UsageError without documents.
        """
        ids = list(dict.fromkeys(document_ids))
        if not ids:
            raise UsageError("A run needs at least one document.", "Add documents or choose others.")

        def write(cursor: Cursor) -> str:
            number = scalar(cursor, "SELECT coalesce(max(number), 0) + 1 FROM runs")
            run_id = f"r{number:04d}"
            row = {"number": number, "experiment_id": experiment_id or run_id, "rejected": rejected, "purpose": purpose}
            row |= {"settings": dump(settings.model_dump(mode="json")), "created_at": time.time()}
            add_row(cursor, "runs", run_id=run_id, **row, **_QUEUED)
            rows = [(run_id, id, position) for position, id in enumerate(ids)]
            insert(cursor, "run_documents", ("run_id", "document_id", "position"), rows)
            if details is not None:
                record(cursor, "", [Event(DETAILS, after=details.model_dump(mode="json"), run_id=run_id)])
            return run_id

        return self.require(self._writer.do(write))

    def get(self, run_id: str) -> RunRow | None:
        """Return a run with its counts, or None."""
        return next(iter(self._read(run_id)), None)

    def last_read(self, run_id: str) -> RunRow:
        """Return a run as it was read last, without counting: counts and state may be outdated. Raises NoSuchRun."""
        _, rows = self._last_read.get(run_id, (None, ()))
        return rows[0] if rows else self.require(run_id)

    def require(self, run_id: str) -> RunRow:
        """Return a run with its counts. Raises NoSuchRun, which names the latest runs, for an unknown one."""
        run = self.get(run_id)
        if run is None:
            names = ", ".join(row.run_id for row in self.all()[-5:]) or "none yet"
            raise NoSuchRun(run_id, f"The latest are: {names}.")
        return run

    def details(self, run_id: str) -> RunDetails:
        """Return what the user wrote about a run, without its counts, which are slower to read."""
        return _details(self._connection.value(_LATEST_CHANGE, [DETAILS, run_id]))

    def settings(self, run_id: str) -> RunSettings | None:
        """Return a run's frozen settings without its counts, which are slower to read; None for an unknown run."""
        if run_id in self._frozen:
            return self._frozen[run_id]
        text = self._connection.value("SELECT settings FROM runs WHERE run_id = ?", [run_id])
        return None if text is None else self._parse_settings(run_id, text)

    def _parse_settings(self, run_id: str, text: str) -> RunSettings:
        """Return the settings in their stored form, parsed once per run."""
        if run_id not in self._frozen:
            self._frozen[run_id] = validated(_SETTINGS, load(text), f"the settings of run {run_id}")
        return self._frozen[run_id]

    def with_codebook(self, codebook: Codebook) -> list[str]:
        """Return the ids of the listed runs with exactly this codebook, oldest first."""
        ids = self._connection.column(f"SELECT run_id FROM runs WHERE {IS_LISTED} ORDER BY number")
        settings_by_run = {run_id: self.settings(run_id) for run_id in ids}
        return [run_id for run_id, settings in settings_by_run.items() if settings and settings.codebook == codebook]

    def all(self) -> list[RunRow]:
        """Return all runs with their counts, oldest first, without deleted runs and runs of the Lab."""
        return self._read(None)

    def creation_times(self) -> dict[str, float]:
        """Return when each run was created, also deleted runs and runs of the Lab, in Unix seconds."""
        return dict(self._connection.rows("SELECT run_id, created_at FROM runs"))

    def count(self, experiment_id: str) -> int:
        """Return the number of listed runs of an experiment, without counting their documents."""
        query = f"SELECT count(*) FROM runs WHERE experiment_id = ? AND {IS_LISTED}"
        return int(self._connection.value(query, [experiment_id]))

    def last_iteration(self) -> int:
        """Return the highest number of an iteration, also of deleted runs, whose replies are kept; 0 without runs."""
        number = "json_extract_string(settings, '$.iteration')::BIGINT"
        return int(self._connection.value(f"SELECT coalesce(max({number}), 0) FROM runs"))

    def document_ids(self, run_id: str) -> list[str]:
        """Return the ids of the run's documents in its order; empty for an unknown run."""
        return self._connection.column(
            "SELECT document_id FROM run_documents WHERE run_id = ? ORDER BY position", [run_id]
        )

    def present_ids(self, run_id: str) -> list[str]:
        """Return those of ``document_ids`` that the project still has. Raises UsageError if it has none of them."""
        ids = self._connection.column(
            "SELECT document_id FROM run_documents SEMI JOIN documents ON id = document_id WHERE run_id = ? "
            "ORDER BY position",
            [run_id],
        )
        if not ids:
            raise UsageError(f"The documents of {run_id} were replaced.", "Start a new run on the present ones.")
        return ids

    def count_present(self) -> dict[str, int]:
        """Return how many documents of each run the project still has, without runs that have none of them left."""
        present = "SELECT run_id, count(*) FROM run_documents JOIN documents ON id = document_id GROUP BY run_id"
        return dict(self._connection.rows(present))

    def document_sets(self) -> dict[str, int]:
        """Return a number for each run with documents, which is the same for runs of the same documents."""
        sets = "SELECT run_id, bit_xor(hash(document_id)) FROM run_documents GROUP BY run_id"
        return dict(self._connection.rows(sets))

    def work(self, run_id: str, *, retry_unresolved: bool = False, retry_failed: bool = False) -> Work:
        """Return the remaining work of a run: its documents without a verdict row, in order.

        ``retry_unresolved`` and ``retry_failed`` first move the verdicts of those documents to ``superseded_verdicts``,
        so that the documents are debated again, and pause a run that was done or stopped. Of unresolved documents, only
        those that ``retryable`` counts are retried. Replaced documents keep their verdicts. A retry that was paused or
        stopped continues. Raises NoSuchRun for an unknown run.
        """
        statuses = ["unresolved"] * retry_unresolved + ["failed"] * retry_failed
        if statuses or self.paused_retries(run_id):
            self._writer.do(lambda cursor: _set_aside(cursor, run_id, statuses))
        run = self.require(run_id)
        unended = (
            "ANTI JOIN (SELECT document_id FROM verdicts WHERE run_id = $run) USING (document_id) WHERE run_id = $run"
        )
        todo = self._connection.column(
            f"SELECT document_id FROM run_documents {unended} ORDER BY position", {"run": run_id}
        )
        retry_rounds = self._connection.rows(
            f"SELECT document_id, count(*) FROM superseded_verdicts {unended} AND status = 'unresolved' "
            "GROUP BY document_id",
            {"run": run_id},
        )
        settings = run.settings.model_copy(update={"budget_usd": run.budget_usd})
        return Work(run.model_copy(update={"settings": settings}), tuple(todo), dict(retry_rounds))

    def retryable(self, run_id: str) -> dict[str, int]:
        """Return how many documents a retry debates again, by their status, without replaced ones.

        Of unresolved documents, those with a failed or unreadable reply count. A retry of the others would find the
        same replies, as of a tie of votes, or be cut by the same output limit.
        """
        query = f"SELECT status, count(*) FROM verdicts WHERE run_id = $run AND {_RETRYABLE} GROUP BY status"
        counts = dict(self._connection.rows(query, {"run": run_id}))
        return {"failed": counts.get("failed", 0), "unresolved": counts.get("unresolved", 0)}

    def paused_retries(self, run_id: str) -> int:
        """Return how many documents have their earlier verdicts until the run resumes, which continues their retry."""
        return int(self._connection.value(f"SELECT count(*) FROM verdicts WHERE {_PAUSED_RETRY}", {"run": run_id}))

    def extend(self, run_id: str, document_ids: Sequence[str], *, rejected: int = 0) -> None:
        """Add documents at the end of the run, except those that it has.

        A run that was done or stopped becomes ``paused`` if documents are added. ``rejected`` counts the rejected rows
        of the file: the run keeps the larger count. Raises NoSuchRun for an unknown run.
        """
        self.require(run_id)

        def write(cursor: Cursor) -> None:
            stored = cursor.execute(
                "SELECT document_id, position FROM run_documents WHERE run_id = ?", [run_id]
            ).fetchall()
            existing = {id for id, _ in stored}
            first = max((position for _, position in stored), default=-1) + 1
            new = [id for id in dict.fromkeys(document_ids) if id not in existing]
            rows = [(run_id, id, first + index) for index, id in enumerate(new)]
            insert(cursor, "run_documents", ("run_id", "document_id", "position"), rows)
            cursor.execute("UPDATE runs SET rejected = greatest(rejected, ?) WHERE run_id = ?", [rejected, run_id])
            if new:
                _reopen(cursor, run_id)

        self._writer.do(write)

    def raise_budget(self, run_id: str, budget_usd: float) -> None:
        """Change the run's budget from its next start on. Raises NoSuchRun for an unknown run."""
        frozen = self.require(run_id).settings.budget_usd

        def write(cursor: Cursor) -> None:
            earlier = _latest_change(cursor, BUDGET, run_id)
            before = frozen if earlier is None else load(earlier)
            record(cursor, "", [Event(BUDGET, before=before, after=budget_usd, run_id=run_id)])

        self._writer.do(write)

    def describe(self, changes: Mapping[str, RunDetails]) -> int:
        """Set the details of these runs as one act, and return its number; 0 if nothing changes. Raises NoSuchRun."""
        for run_id in changes:
            self.require(run_id)
        return self._writer.do(lambda cursor: _describe(cursor, changes))

    def undo_details(self, act: int) -> int:
        """Restore the details before an act, and return the new act. Raises UsageError if they changed after it."""

        def write(cursor: Cursor) -> int:
            rows = cursor.execute(
                "SELECT run_id, any_value(before) FILTER (act = $act), max(act) FROM events WHERE kind = $kind "
                "GROUP BY run_id HAVING bool_or(act = $act)",
                {"act": act, "kind": DETAILS},
            ).fetchall()
            if any(latest > act for _, _, latest in rows):
                raise UsageError("These runs were changed again after that.", "Change them on the Runs page.")
            return _describe(cursor, {run_id: _details(before) for run_id, before, _ in rows})

        return self._writer.do(write)

    def last_deletion(self) -> tuple[int, Sequence[str]] | None:
        """Return the number of the latest act whose runs are still deleted, and their ids; None without one."""
        rows = self._connection.rows(
            """SELECT deleted_in, list(run_id ORDER BY run_id) FROM (
                SELECT run_id, max(act) AS deleted_in FROM events WHERE kind = ? GROUP BY run_id
                HAVING json_extract_string(arg_max(after, seq), '$.status') = 'deleted'
            ) GROUP BY deleted_in ORDER BY deleted_in DESC LIMIT 1""",
            [DETAILS],
        )
        return rows[0] if rows else None

    def latest_id(self) -> str | None:
        """Return the id of the run created last, without deleted runs and runs of the Lab; None before the first."""
        latest: str | None = self._connection.value(
            f"SELECT run_id FROM runs WHERE {IS_LISTED} ORDER BY number DESC LIMIT 1"
        )
        return latest

    def recover(self) -> None:
        """Pause runs and sweeps that a dead process left running. Called once when the project is opened."""
        paused = "SET state = 'paused', message = 'interrupted'"

        def write(cursor: Cursor) -> None:
            cursor.execute(f"UPDATE runs {paused}, stop_code = 'interrupted' WHERE state IN ('queued', 'running')")
            cursor.execute(f"UPDATE sweeps {paused} WHERE state = 'running'")

        self._writer.do(write)

    def _read(self, run_id: str | None) -> list[RunRow]:
        """Return the run or, for None, the listed runs; they are read from the file once per commit."""

        def read() -> tuple[RunRow, ...]:
            committed_at, listed = self._last_read.get(None, (None, ()))
            if committed_at == self._writer.committed_at and (rows := [row for row in listed if row.run_id == run_id]):
                return tuple(rows)
            selected = IS_LISTED if run_id is None else "run_id = $run"
            rows = self._connection.records(f"{_COUNTED} WHERE {selected} ORDER BY number", {"run": run_id})
            return tuple(map(self._run_of, rows))

        return list(self._once_per_commit(run_id, read))

    def _run_of(self, stored: Mapping[str, Any]) -> RunRow:
        settings = self._parse_settings(stored["run_id"], stored["settings"])
        budget = stored["budget_usd"]
        converted = {
            "settings": settings,
            "budget_usd": settings.budget_usd if budget is None else load(budget),
            "details": _details(stored["details"]),
        }
        return RunRow(**{**stored, **converted})


class PrecedentPools(Repository):
    """Example pools of a project's runs."""

    def labels(self, codebook: Codebook) -> dict[str, dict[str, Value]]:
        """Return the known labels that the codebook allows by document, in the project's order: reviewed, else gold."""
        allowed = AllowedValues(codebook)
        rows = self._connection.rows(
            f"""SELECT document_id, item, value FROM ({allowed.known}) JOIN documents ON documents.id = document_id
            ORDER BY documents.position, item""",
            allowed.params,
        )
        return values_by_key(rows)

    def frozen(self, run_id: str) -> dict[str, dict[str, Value]] | None:
        """Return the pool of a run, None before it was frozen."""
        rows = self._connection.rows("SELECT document_id, labels FROM run_precedents WHERE run_id = ?", [run_id])
        return {document: load(labels) for document, labels in rows if document} if rows else None

    def freeze(self, run_id: str, pool: Mapping[str, Mapping[str, Value]]) -> None:
        """Store a run's pool, even an empty one. An existing pool is not changed."""

        def write(cursor: Cursor) -> None:
            if cursor.execute("SELECT 1 FROM run_precedents WHERE run_id = ? LIMIT 1", [run_id]).fetchall():
                return
            rows = [(run_id, document, dump(dict(labels))) for document, labels in pool.items()]
            insert(cursor, "run_precedents", ("run_id", "document_id", "labels"), rows or [(run_id, "", "{}")])

        self._writer.do(write)


def set_state(run_id: str, state: State, reason: StopReason, seconds: float) -> Any:
    """Return a function for the writer that sets the state of a run and adds ``seconds`` to its time."""

    def write(cursor: Cursor) -> None:
        finished = time.time() if state in ("done", "stopped", "failed") else None
        cursor.execute(
            "UPDATE runs SET state = ?, stop_code = ?, message = ?, finished_at = ?, seconds = seconds + ? "
            "WHERE run_id = ?",
            [state, reason.code, storable(reason.message), finished, seconds, run_id],
        )

    return write


_RETRYABLE = """document_id IN (SELECT id FROM documents) AND (status <> 'unresolved' OR document_id IN (
    SELECT document_id FROM turns JOIN replies USING (key)
    WHERE turns.run_id = $run AND NOT superseded AND form <> 'text' AND reading ->> '$.problem' <> ''
        AND finish_reason <> 'length'
    UNION ALL SELECT document_id FROM attempts ANTI JOIN replies USING (key)
    WHERE run_id = $run AND kind <> 'length limit'
))"""
"""SQL condition of verdicts that a retry may change (see ``Runs.retryable``)."""


_PAUSED_RETRY = """run_id = $run AND document_id IN (SELECT id FROM documents) AND (document_id, unix_time) IN (
    SELECT (document_id, unix_time) FROM superseded_verdicts WHERE run_id = $run
)"""
"""SQL condition of verdicts that were restored when the retry of their documents was paused or stopped."""


def _set_aside(cursor: Cursor, run_id: str, statuses: Sequence[str]) -> None:
    """Move verdicts with these statuses to ``superseded_verdicts``, so that their documents are debated again.

    Documents whose retry was paused or stopped are debated again, too: their restored verdicts are there already.
    Turns of all documents without a verdict are marked superseded. A turn that is replayed with the same reply becomes
    current again.
    """
    continued = cursor.execute(f"DELETE FROM verdicts WHERE {_PAUSED_RETRY} RETURNING 1", {"run": run_id}).fetchall()
    condition = f"run_id = $run AND list_contains($statuses::VARCHAR[], status) AND {_RETRYABLE}"
    params: Mapping[str, Any] = {"run": run_id, "statuses": list(statuses)}
    rows = cursor.execute(f"SELECT DISTINCT status FROM verdicts WHERE {condition}", params).fetchall()
    moved = {status for (status,) in rows}
    if not moved and not continued:
        return
    own = "run_id = $run AND document_id = verdicts.document_id"
    annotation = "{'annotator': annotator, 'turn': turn, 'item': item, 'value': value, 'reason': reason}"
    cursor.execute(
        f"""INSERT INTO superseded_verdicts
        SELECT *, (SELECT coalesce(to_json(list(turn || ' ' || key)), '[]')
            FROM turns WHERE {own} AND NOT superseded),
            (SELECT to_json(list({annotation})) FROM annotations WHERE {own} AND turn IS NOT NULL)
        FROM verdicts WHERE {condition}""",
        params,
    )
    cursor.execute(f"DELETE FROM verdicts WHERE {condition}", params)
    unended = "run_id = $run AND document_id NOT IN (SELECT document_id FROM verdicts WHERE run_id = $run)"
    cursor.execute(f"UPDATE turns SET superseded = true WHERE {unended}", {"run": run_id})
    cursor.execute(f"DELETE FROM annotations WHERE {unended}", {"run": run_id})
    is_retry = bool(continued) or "unresolved" in moved
    cursor.execute("UPDATE runs SET retry = retry + ? WHERE run_id = ?", [int(is_retry), run_id])
    _reopen(cursor, run_id)


def _reopen(cursor: Cursor, run_id: str) -> None:
    """Pause a run that was done or stopped, because it has documents to debate again."""
    cursor.execute(
        "UPDATE runs SET state = 'paused', stop_code = 'user', message = '', finished_at = NULL "
        "WHERE run_id = ? AND state IN ('done', 'stopped')",
        [run_id],
    )


def _latest_change(cursor: Cursor, kind: str, run_id: str) -> str | None:
    """Return the value after the latest event of this kind as JSON text, None without one."""
    text: str | None = cursor.execute(_LATEST_CHANGE, [kind, run_id]).fetchall()[0][0]
    return text


def _describe(cursor: Cursor, changes: Mapping[str, RunDetails]) -> int:
    before = {run_id: _details(_latest_change(cursor, DETAILS, run_id)) for run_id in changes}
    events = [
        Event(
            DETAILS, before=before[run_id].model_dump(mode="json"), after=details.model_dump(mode="json"), run_id=run_id
        )
        for run_id, details in changes.items()
        if details != before[run_id]
    ]
    return next((event.act for event in record(cursor, "", events)), 0)


def _details(text: str | None) -> RunDetails:
    return RunDetails() if text is None else validated(_DETAILS, load(text), "the name of a run")


@dataclass(frozen=True, slots=True)
class RoleCost:
    """Cost of the turns of a role in one round, retries included, whether or not this run paid for them.

    ``cost_usd`` is None if a reply has no price.
    """

    role: str
    round: int
    turns: int
    cost_usd: float | None
    prompt_tokens: int
    completion_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class FromStore:
    """Replies that a run used without paying for them; ``cost_usd`` is None if a price is unknown."""

    replies: int
    tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class DecisionPaths:
    """Number of debates of an adaptive run by path."""

    short: int
    """Debates that were decided early."""
    audited: int
    """Debates that were held nevertheless as a check."""
    full: int
    """Debates that had to be held."""
    changed: int
    """Audited debates whose verdict differs from the extractor's first values."""
    calls: float | None
    """Mean calls of a debate that was held, without the extractor's first turn; None without such a debate."""
    cost_usd: float | None
    """Mean cost of the same calls; also None if a price is unknown."""
    second_calls: int
    """Calls of the second extractor in all debates, which a run that is not adaptive does not make."""
    second_cost_usd: float | None
    """Cost of these calls, None if a price is unknown."""


_FROM_STORE = """
SELECT count(*), coalesce(sum(prompt_tokens + completion_tokens), 0)::BIGINT,
       CASE WHEN bool_or(cost_usd IS NULL) THEN NULL ELSE coalesce(sum(cost_usd), 0.0) END
FROM (
    SELECT replies.*, replies.run_id = turns.run_id
           AND row_number() OVER (PARTITION BY key ORDER BY document_id, turn) = 1 AS paid
    FROM turns JOIN replies USING (key) WHERE turns.run_id = $run
) WHERE NOT paid
"""

_DECISION_PATHS = """
WITH ended AS (
    SELECT document_id, values, json_extract_string(verdict, '$.path') AS path FROM verdicts WHERE run_id = $run
), opened AS (
    SELECT document_id, arg_min(values, turn) AS values FROM turns
    WHERE run_id = $run AND role = 'extractor' AND NOT superseded AND values IS NOT NULL GROUP BY document_id
), debated AS (
    SELECT document_id, count(*) AS calls, sum(cost_usd) AS cost, bool_or(cost_usd IS NULL) AS has_unknown_price
    FROM turns JOIN replies USING (key)
    WHERE turns.run_id = $run AND NOT superseded AND (role NOT LIKE 'extractor%' OR round > 0) GROUP BY document_id
), second AS (
    SELECT document_id, count(*) AS second_calls, sum(cost_usd) AS second_cost,
           bool_or(cost_usd IS NULL) AS second_has_unknown_price
    FROM turns JOIN replies USING (key)
    WHERE turns.run_id = $run AND NOT superseded AND role = 'extractor_b' GROUP BY document_id
)
SELECT count(*) FILTER (path = 'short'), count(*) FILTER (path = 'audited'), count(*) FILTER (path = 'full'),
       count(*) FILTER (path = 'audited' AND ended.values <> opened.values),
       avg(calls) FILTER (path IN ('audited', 'full')),
       CASE WHEN bool_or(has_unknown_price) THEN NULL ELSE avg(cost) FILTER (path IN ('audited', 'full')) END,
       coalesce(sum(second_calls) FILTER (path <> ''), 0)::BIGINT,
       CASE WHEN bool_or(second_has_unknown_price) THEN NULL
            ELSE coalesce(sum(second_cost) FILTER (path <> ''), 0.0) END
FROM ended LEFT JOIN opened USING (document_id) LEFT JOIN debated USING (document_id)
LEFT JOIN second USING (document_id)
"""


class RunCosts(ReadRepository):
    """Reader of the costs of runs."""

    def from_store(self, run_id: str) -> FromStore:
        """Return the replies that a run reused from the store; zeros for a run without replies."""
        return FromStore(*self._connection.rows(_FROM_STORE, {"run": run_id})[0])

    def decision_paths(self, run_id: str) -> DecisionPaths:
        """Return the number of debates of a run by path; zeros for a run that is not adaptive."""
        return DecisionPaths(*self._connection.rows(_DECISION_PATHS, {"run": run_id})[0])

    def spent(self, run_id: str, documents: Sequence[str] | None = None, *, superseded: bool = False) -> list[RoleCost]:
        """Return the cost of each role in each round on these documents, with ``superseded`` turns if set."""
        costs = self._connection.rows(
            """
            SELECT role, round, count(*), CASE WHEN bool_or(cost_usd IS NULL) THEN NULL ELSE sum(cost_usd) END,
                   sum(prompt_tokens)::BIGINT, sum(completion_tokens)::BIGINT, sum(seconds)
            FROM (SELECT document_id, role, round, key FROM turns
                  WHERE run_id = $run AND ($superseded OR NOT superseded)
                        AND ($documents IS NULL OR document_id IN (SELECT unnest($documents::VARCHAR[]))))
            JOIN replies USING (key)
            GROUP BY role, round ORDER BY role, round
            """,
            {"run": run_id, "superseded": superseded, "documents": None if documents is None else list(documents)},
        )
        return [RoleCost(*row) for row in costs]

    def usage(self, run_id: str) -> dict[str, tuple[int, Usage]]:
        """Return the number of turns and their average tokens by role of a run."""
        rows = self._connection.rows(
            "SELECT role, count(*), round(avg(prompt_tokens)), round(avg(completion_tokens)) "
            "FROM turns JOIN replies USING (key) WHERE turns.run_id = ? GROUP BY role",
            [run_id],
        )
        return {role: (int(turns), Usage(int(prompt), int(completion))) for role, turns, prompt, completion in rows}
