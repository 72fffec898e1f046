"""What a run did not have to pay for: replies that were in the store, and debates that were decided early."""

from __future__ import annotations

from dataclasses import dataclass

from core.store.connection import Connection


@dataclass(frozen=True, slots=True)
class FromStore:
    """Replies that a run heard without paying for them. ``cost_usd`` is what they cost when they were paid for, None
    when a price was unknown."""

    replies: int
    tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class DecisionPaths:
    """How far the debates of an adaptive run went. ``changed`` are those of the audited whose verdict differs from what
    the extractor said first. ``calls`` and ``cost_usd`` are what one debate took beyond its opening, on average over
    those that were held in full (None: none was, or a price is unknown)."""

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


class Savings:
    """Reads from any thread."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def from_store(self, run_id: str) -> FromStore:
        """What the turn store saved a run; zeros for one that has heard nothing."""
        replies, tokens, cost = self._connection.rows(_FROM_STORE, {"run": run_id})[0]
        return FromStore(int(replies), int(tokens), cost)

    def courses(self, run_id: str) -> DecisionPaths:
        """How far the debates of a run went; zeros for one that is not adaptive."""
        return DecisionPaths(*self._connection.rows(_DECISION_PATHS, {"run": run_id})[0])
