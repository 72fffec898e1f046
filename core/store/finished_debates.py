"""Debates that have ended, for the board's list, and where a document comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from core.debate.turns import Usage
from core.documents import Value
from core.store.connection import Connection
from core.store.rows import clean
from core.store.transcripts import verdict_of

WORDS = 140
"""Characters of a document's text that a line of the list may need."""

_FOUND = """
FROM verdicts JOIN documents ON id = document_id
WHERE run_id = $run AND ($status = '' OR status = $status)
  AND ($search = '' OR contains(lower(text), $search) OR contains(lower(id), $search))
"""


@dataclass(frozen=True, slots=True)
class EndedDebate:
    """How the debate on one document ended. ``words`` are the first of its text."""

    document_id: str
    status: str
    values: Mapping[str, Value | None]
    words: str


class EndedDebates:
    """Reads from any thread."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def page(
        self, run_id: str, *, search: str = "", status: str = "", offset: int = 0, limit: int = 50
    ) -> tuple[int, list[EndedDebate]]:
        """How many debates of the run ended and fit, and one page of them, newest first.

        ``search`` is looked for in ids and texts, ``status`` may be empty for all.
        """
        params = {"run": run_id, "status": status, "search": clean(search).lower()}
        counted = self._connection.row(f"SELECT count(*) {_FOUND}", params)
        rows = self._connection.rows(
            f"SELECT document_id, status, verdict, left(text, {WORDS}) {_FOUND} "
            "ORDER BY unix_time DESC, position DESC LIMIT $limit OFFSET $offset",
            {**params, "limit": limit, "offset": offset},
        )
        ended = [EndedDebate(id, status, verdict_of(verdict).values, words) for id, status, verdict, words in rows]
        return (int(counted[0]) if counted else 0), ended

    def origin(self, document_id: str) -> tuple[str, int] | None:
        """The file that a document came from (may be empty) and its number in the project, counted from 1."""
        row = self._connection.row(
            "SELECT coalesce(file_name, ''), position + 1 FROM documents LEFT JOIN imports ON imports.id = import_id "
            "WHERE documents.id = ?",
            [document_id],
        )
        return (str(row[0]), int(row[1])) if row else None

    def last_reply(self, run_id: str) -> tuple[float | None, int]:
        """When the run's last reply ended (unix seconds), and on how many of its documents somebody spoke although
        there is no verdict yet."""
        row = self._connection.row(
            "SELECT max(unix_time), count(DISTINCT document_id) FILTER (document_id NOT IN "
            "(SELECT document_id FROM verdicts WHERE run_id = $run)) "
            "FROM turns JOIN replies USING (key) WHERE turns.run_id = $run AND NOT superseded",
            {"run": run_id},
        )
        return (row[0], int(row[1])) if row else (None, 0)

    def spent(self, run_id: str) -> dict[str, tuple[int, int, float | None]]:
        """For each role of a run: turns, tokens in and out, dollars (None when a price is unknown). A reply that came
        from the store counts as what it once cost."""
        rows = self._connection.rows(
            "SELECT role, count(*), sum(prompt_tokens + completion_tokens), "
            "CASE WHEN count(cost_usd) = count(*) THEN sum(cost_usd) END "
            "FROM turns JOIN replies USING (key) WHERE turns.run_id = ? GROUP BY role",
            [run_id],
        )
        return {role: (int(turns), int(tokens), cost) for role, turns, tokens, cost in rows}

    def faults(self, run_id: str, most: int = 3) -> list[tuple[str, int]]:
        """What the failed documents of a run failed on, in the server's words, and how many did, the commonest first.
        Looked at are the 100 commonest ends."""
        rows = self._connection.rows(
            "SELECT verdict, count(*) FROM verdicts WHERE run_id = ? AND status = 'failed' "
            "GROUP BY verdict ORDER BY count(*) DESC LIMIT 100",
            [run_id],
        )
        counted: Counter[str] = Counter()
        for verdict, count in rows:
            fault = verdict_of(verdict).error
            counted[fault.message if fault else ""] += count
        return counted.most_common(most)

    def at_their_limit(self, run_id: str) -> int:
        """How many replies that a run paid for were cut by their output limit."""
        row = self._connection.row("SELECT count(*) FROM replies WHERE run_id = ? AND finish = 'length'", [run_id])
        return int(row[0]) if row else 0

    def usage(self, run_id: str) -> dict[str, tuple[int, Usage]]:
        """For each role of a run: how many turns it has had, and the average tokens of one."""
        rows = self._connection.rows(
            "SELECT role, count(*), round(avg(prompt_tokens)), round(avg(completion_tokens)) "
            "FROM turns JOIN replies USING (key) WHERE turns.run_id = ? GROUP BY role",
            [run_id],
        )
        return {role: (int(turns), Usage(int(prompt), int(said))) for role, turns, prompt, said in rows}
