"""Reasons for review derived from debates and gold, cached because large runs take seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

from core.store.database import Cursor
from core.store.documents import GOLD_MARK
from core.store.write_queue import Repository

DebateReason: TypeAlias = Literal["failed", "unresolved", "gold", "unsupported", "flipped", "disagree", "samples"]
DEBATE_REASONS: tuple[DebateReason, ...] = get_args(DebateReason)
"""Reasons in the order of their bits.

No verdict (failed, unresolved); verdict differs from gold; unsupported quotes; verdict differs from the first role;
roles differ; runs with the same codebook differ.
"""

# A rating differs from gold by a point or more (core.annotations.differs).
_DERIVE = """
INSERT INTO review_reasons
WITH changed AS MATERIALIZED ({changed}),
spoken AS MATERIALIZED (
    SELECT document_id, role, min(turn) AS first_turn,
           arg_max(hash(values), turn) FILTER (values IS NOT NULL) AS values,
           arg_max(evidence_total, turn + if(values IS NULL, 0, 1000000)) AS total,
           arg_max(evidence_supported, turn + if(values IS NULL, 0, 1000000)) AS supported
    FROM turns SEMI JOIN changed USING (document_id)
    WHERE run_id = $run AND NOT superseded GROUP BY document_id, role
),
heard AS (
    SELECT document_id, min(values) <> max(values) AS disagree, arg_min(values, first_turn) AS first_values,
           sum(total)::INTEGER AS total, sum(supported)::INTEGER AS supported,
           sum(total - supported)::INTEGER AS lost
    FROM spoken GROUP BY document_id
),
wrong AS (
    SELECT DISTINCT document_id
    FROM (SELECT document_id, item, value FROM annotations SEMI JOIN changed USING (document_id)
          WHERE run_id = $run AND annotator = 'verdict') AS said
    JOIN gold_labels AS truth USING (document_id, item)
    WHERE coalesce(abs(try_cast(said.value AS DOUBLE) - try_cast(truth.value AS DOUBLE)) >= 1,
                   said.value <> truth.value)
),
split AS (
    SELECT document_id FROM verdicts SEMI JOIN changed USING (document_id)
    WHERE list_contains($siblings, run_id) AND status = 'verdict'
    GROUP BY document_id HAVING min(hash(values)) <> max(hash(values))
),
decided AS (
    SELECT document_id, status, hash(values) AS values FROM verdicts SEMI JOIN changed USING (document_id)
    WHERE run_id = $run
)
SELECT $run, document_id,
       if(status = 'failed', 1, 0) + if(status = 'unresolved', 2, 0) + if(wrong.document_id IS NULL, 0, 4)
       + if(lost > 0, 8, 0) + if(status = 'verdict' AND values <> first_values, 16, 0) + if(disagree, 32, 0)
       + if(split.document_id IS NULL, 0, 64),
       coalesce(total, 0), coalesce(supported, 0), changed.seen
FROM changed LEFT JOIN decided USING (document_id) LEFT JOIN heard USING (document_id)
LEFT JOIN wrong USING (document_id) LEFT JOIN split USING (document_id)
"""
_SEEN = """
SELECT document_id, sum(unix_time) AS seen FROM verdicts
WHERE list_contains($siblings, run_id) AND document_id IN (SELECT document_id FROM run_documents WHERE run_id = $run)
GROUP BY document_id
"""
# The remaining rows of review_reasons are as recent as the verdicts. Not a left join: DuckDB 2.0.0 mixes up columns
# over one with an empty table.
_CHANGED = (
    f"SELECT document_id, seen FROM ({_SEEN}) ANTI JOIN (SELECT document_id FROM review_reasons WHERE run_id = $run) "
    "USING (document_id)"
)
_GONE = f"""
DELETE FROM review_reasons WHERE run_id = $run AND document_id NOT IN
    (SELECT document_id FROM ({_SEEN}) AS now WHERE now.seen = review_reasons.seen AND now.document_id =
    review_reasons.document_id)
"""


class ReviewReasons(Repository):
    """Cache of the reasons for review that come from debates and gold. ``refresh`` may be called from any thread."""

    def refresh(self, run_id: str, siblings: Sequence[str]) -> None:
        """Update the reasons of a run after new debates or gold. Cheap when nothing has changed.

        Only documents with a new verdict are derived, or all of them when gold or ``siblings`` changed. ``siblings``
        are the runs with comparable verdicts, including this one.
        """
        params = {"run": run_id, "siblings": sorted({run_id, *siblings})}
        basis, verdicts = self._state(params)
        kept = self._connection.row("SELECT basis, verdicts FROM review_reason_states WHERE run_id = ?", [run_id])
        if kept != (basis, verdicts):
            self._writer.do(
                lambda cursor: _derive(cursor, params, basis, verdicts, everything=not kept or kept[0] != basis)
            )

    def _state(self, params: dict[str, Any]) -> tuple[str, str]:
        gold = self._connection.rows(f"SELECT count(*), {GOLD_MARK}::VARCHAR FROM gold")[0]
        verdicts = self._connection.rows(
            "SELECT run_id, count(*), sum(unix_time) FROM verdicts WHERE list_contains($siblings, run_id) "
            "GROUP BY run_id ORDER BY run_id",
            {"siblings": params["siblings"]},
        )
        return f"{gold} {params['siblings']}", str(verdicts)


def _derive(cursor: Cursor, params: dict[str, Any], basis: str, verdicts: str, *, everything: bool) -> None:
    run = {"run": params["run"]}
    if everything:
        cursor.execute("DELETE FROM review_reasons WHERE run_id = $run", run)
    else:
        cursor.execute(_GONE, params)
    cursor.execute(_DERIVE.format(changed=_CHANGED), params)
    cursor.execute("INSERT OR REPLACE INTO review_reason_states VALUES ($run, $basis, $verdicts)",
                   {**run, "basis": basis, "verdicts": verdicts})  # fmt: skip
