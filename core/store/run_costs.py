"""Costs of a run: by role and round, and those that it avoided by stored replies and early decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.debate.turns import Usage
from core.store.annotators import select, source_of
from core.store.database import Reader


@dataclass(frozen=True, slots=True)
class Spent:
    """Cost of the turns of a role in one round, retries included.

    Replies count whether or not this run paid for them, so the sum is the cost of another run. ``cost_usd`` is None if
    a reply has no price.
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
    """Replies that a run used without paying for them.

    ``cost_usd`` is their original cost in dollars, None if a price is unknown.
    """

    replies: int
    tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class DecisionPaths:
    """Number of debates of an adaptive run by path.

    ``short`` debates were decided early, ``audited`` ones were held nevertheless as a check, ``full`` ones because they
    had to be. ``changed`` audited debates have a verdict that differs from the extractor's first values. ``calls`` and
    ``cost_usd`` are averages per debate that was held in full (audited or full), without the extractor's turns. Both
    are None without such a debate; ``cost_usd`` is also None if a price is unknown.
    """

    short: int
    audited: int
    full: int
    changed: int
    calls: float | None
    cost_usd: float | None


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
    SELECT document_id, count(*) AS calls, sum(cost_usd) AS cost, bool_or(cost_usd IS NULL) AS priceless
    FROM turns JOIN replies USING (key)
    WHERE turns.run_id = $run AND NOT superseded AND role NOT LIKE 'extractor%' GROUP BY document_id
)
SELECT count(*) FILTER (path = 'short'), count(*) FILTER (path = 'audited'), count(*) FILTER (path = 'full'),
       count(*) FILTER (path = 'audited' AND ended.values <> opened.values),
       avg(calls) FILTER (path IN ('audited', 'full')),
       CASE WHEN bool_or(priceless) THEN NULL ELSE avg(cost) FILTER (path IN ('audited', 'full')) END
FROM ended LEFT JOIN opened USING (document_id) LEFT JOIN debated USING (document_id)
"""


class RunCosts(Reader):
    """Reader of the costs of runs, for any thread."""

    def from_store(self, run_id: str) -> FromStore:
        """Return the replies that a run reused from the store; zeros for a run without replies."""
        replies, tokens, cost = self._connection.rows(_FROM_STORE, {"run": run_id})[0]
        return FromStore(int(replies), int(tokens), cost)

    def decision_paths(self, run_id: str) -> DecisionPaths:
        """Return the number of debates of a run by path; zeros for a run that is not adaptive."""
        return DecisionPaths(*self._connection.rows(_DECISION_PATHS, {"run": run_id})[0])

    def spent(self, run_id: str, reference: str | None = None, *, superseded: bool = False) -> list[Spent]:
        """Return the cost of each role in each round, with ``superseded`` also of turns of earlier debates.

        With ``reference`` only documents that have this reference count.
        """
        params: dict[str, Any] = {"run": run_id, "superseded": superseded}
        only = ""
        if reference is not None:
            rows, more = select(self._connection, source_of(reference))
            only, params = f"SEMI JOIN (SELECT document_id FROM ({rows})) USING (document_id)", params | more
        found = self._connection.rows(
            f"""
            SELECT role, round, count(*), CASE WHEN bool_or(cost_usd IS NULL) THEN NULL ELSE sum(cost_usd) END,
                   sum(prompt_tokens)::BIGINT, sum(completion_tokens)::BIGINT, sum(seconds)
            FROM (SELECT document_id, role, round, key FROM turns
                  WHERE run_id = $run AND ($superseded OR NOT superseded)) {only}
            JOIN replies USING (key)
            GROUP BY role, round ORDER BY role, round
            """,
            params,
        )
        return [Spent(*row) for row in found]

    def usage(self, run_id: str) -> dict[str, tuple[int, Usage]]:
        """Return the number of turns and their average tokens by role of a run."""
        rows = self._connection.rows(
            "SELECT role, count(*), round(avg(prompt_tokens)), round(avg(completion_tokens)) "
            "FROM turns JOIN replies USING (key) WHERE turns.run_id = ? GROUP BY role",
            [run_id],
        )
        return {role: (int(turns), Usage(int(prompt), int(completion))) for role, turns, prompt, completion in rows}
