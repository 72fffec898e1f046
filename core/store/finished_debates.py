"""Finished debates for the list on the live page, and summaries of what a run's replies cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from core.debate.turns import Usage
from core.documents import Value
from core.store.connection import Reader
from core.store.conversion import clean
from core.store.transcripts import verdict_of

TEXT_START = 140
"""Characters of a document's text in the list."""

_FOUND = """
FROM verdicts JOIN documents ON id = document_id
WHERE run_id = $run AND ($status = '' OR status = $status)
  AND ($search = '' OR contains(lower(text), $search) OR contains(lower(id), $search))
"""


@dataclass(frozen=True, slots=True)
class FinishedDebate:
    """A finished debate in a list. ``text_start`` is the beginning of the document."""

    document_id: str
    status: str
    values: Mapping[str, Value | None]
    text_start: str


@dataclass(frozen=True, slots=True)
class FinishedPage:
    """A page of finished debates, newest first, and the total number that match."""

    total: int
    rows: tuple[FinishedDebate, ...]


class FinishedDebates(Reader):
    """Reader of finished debates, for any thread."""

    def page(
        self, run_id: str, *, search: str = "", status: str = "", offset: int = 0, limit: int = 50
    ) -> FinishedPage:
        """Return one page of the run's finished debates, newest first.

        ``search`` is searched for in ids and texts; an empty ``status`` matches all.
        """
        params = {"run": run_id, "status": status, "search": clean(search).lower()}
        total = self._connection.value(f"SELECT count(*) {_FOUND}", params)
        rows = self._connection.rows(
            f"SELECT document_id, status, verdict, left(text, {TEXT_START}) {_FOUND} "
            "ORDER BY unix_time DESC, position DESC LIMIT $limit OFFSET $offset",
            {**params, "limit": limit, "offset": offset},
        )
        finished = (
            FinishedDebate(id, status, verdict_of(verdict).values, start) for id, status, verdict, start in rows
        )
        return FinishedPage(int(total), tuple(finished))

    def origin(self, document_id: str) -> tuple[str, int] | None:
        """Return the file of a document (may be empty) and its number in the project, from 1."""
        row = self._connection.row(
            "SELECT coalesce(file_name, ''), position + 1 FROM documents LEFT JOIN imports ON imports.id = import_id "
            "WHERE documents.id = ?",
            [document_id],
        )
        return (str(row[0]), int(row[1])) if row else None

    def last_reply(self, run_id: str) -> tuple[float | None, int]:
        """Return the time of the run's last reply (Unix seconds), and how many of its debates have only begun."""
        ((last, begun),) = self._connection.rows(
            "SELECT max(unix_time), count(DISTINCT document_id) FILTER (document_id NOT IN "
            "(SELECT document_id FROM verdicts WHERE run_id = $run)) "
            "FROM turns JOIN replies USING (key) WHERE turns.run_id = $run AND NOT superseded",
            {"run": run_id},
        )
        return last, int(begun)

    def spent(self, run_id: str) -> dict[str, tuple[int, int, float | None]]:
        """Return turns, tokens and dollars by role of a run; dollars are None if a price is unknown.

        A reply from the store counts with its original cost.
        """
        rows = self._connection.rows(
            "SELECT role, count(*), sum(prompt_tokens + completion_tokens), "
            "CASE WHEN count(cost_usd) = count(*) THEN sum(cost_usd) END "
            "FROM turns JOIN replies USING (key) WHERE turns.run_id = ? GROUP BY role",
            [run_id],
        )
        return {role: (int(turns), int(tokens), cost) for role, turns, tokens, cost in rows}

    def errors(self, run_id: str, most: int = 3) -> list[tuple[str, int]]:
        """Return the commonest error messages of a run's failed documents with their counts.

        Only the 100 commonest verdicts are read.
        """
        rows = self._connection.rows(
            "SELECT verdict, count(*) FROM verdicts WHERE run_id = ? AND status = 'failed' "
            "GROUP BY verdict ORDER BY count(*) DESC LIMIT 100",
            [run_id],
        )
        counted: Counter[str] = Counter()
        for verdict, count in rows:
            error = verdict_of(verdict).error
            counted[error.message if error else ""] += count
        return counted.most_common(most)

    def truncated_replies(self, run_id: str) -> int:
        """Return how many replies of a run were cut by their output limit."""
        sql = "SELECT count(*) FROM replies WHERE run_id = ? AND finish_reason = 'length'"
        return int(self._connection.value(sql, [run_id]))

    def usage(self, run_id: str) -> dict[str, tuple[int, Usage]]:
        """Return the number of turns and their average tokens by role of a run."""
        rows = self._connection.rows(
            "SELECT role, count(*), round(avg(prompt_tokens)), round(avg(completion_tokens)) "
            "FROM turns JOIN replies USING (key) WHERE turns.run_id = ? GROUP BY role",
            [run_id],
        )
        return {role: (int(turns), Usage(int(prompt), int(completion))) for role, turns, prompt, completion in rows}
