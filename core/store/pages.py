"""Pages of the review grid: which documents, in what order, and why a person should look at them. All rows are
filtered, counted and sorted in the file; only one page leaves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from core.documents import Value
from core.store.connection import Connection
from core.store.dossiers import Dossier, Dossiers
from core.store.reviews import PENDING
from core.store.rows import clean, dump

Reason: TypeAlias = Literal["unresolved", "failed", "disagree", "flipped", "unsupported", "gold"]
REASONS: tuple[Reason, ...] = ("failed", "unresolved", "gold", "unsupported", "disagree", "flipped")
"""Why to look: no verdict; verdict differs from gold; quotes that are not in the text; the roles' own lists differ; the
verdict differs from the first role's list."""

Sort: TypeAlias = Literal["position", "reasons", "words", "reviewed"]
"""``reasons``: most reasons first; ``words``: longest first; ``reviewed``: touched last first."""

_ORDER: dict[Sort, str] = {
    "position": "nth",
    "reasons": "length(reasons) DESC NULLS LAST, nth",
    "words": "words DESC, nth",
    "reviewed": "current_status.unix_time DESC NULLS LAST, nth",
}
# A rating differs from gold by a point or more (core.annotations.differs).
_FACTS = """
heard AS (
    SELECT document_id, count(DISTINCT says) > 1 AS disagree, arg_min(says, first_turn) AS first_says,
           sum(evidence_total)::INTEGER AS total, sum(evidence_supported)::INTEGER AS supported
    FROM last_words WHERE run_id = $run {narrowed} GROUP BY document_id
),
wrong AS (
    SELECT DISTINCT document_id, true AS yes
    FROM (SELECT * FROM annotations WHERE run_id = $run AND annotator = 'verdict' {narrowed}) AS said
    JOIN (SELECT * FROM gold_labels WHERE true {narrowed}) AS truth USING (document_id, item)
    WHERE CASE WHEN try_cast(said.value AS DOUBLE) IS NULL THEN said.value <> truth.value
               ELSE abs(said.value::DOUBLE - truth.value::DOUBLE) >= 1 END
),
facts AS (
    SELECT document_id, coalesce(total, 0) AS total, coalesce(supported, 0) AS supported,
           list_filter([
               if(status IN ('failed', 'unresolved'), status, NULL), if(yes, 'gold', NULL),
               if(supported < total, 'unsupported', NULL), if(disagree, 'disagree', NULL),
               if(status = 'verdict' AND says <> first_says, 'flipped', NULL)
           ], lambda reason: reason IS NOT NULL) AS reasons
    FROM (SELECT document_id, status, says FROM verdicts WHERE run_id = $run {narrowed})
    FULL JOIN heard USING (document_id) LEFT JOIN wrong USING (document_id)
)
"""
_CHOOSE = """
WITH base AS ({base}) {facts}
SELECT base.document_id, count(*) OVER () AS found
FROM base JOIN documents ON documents.id = base.document_id
LEFT JOIN verdicts ON verdicts.run_id = $run AND verdicts.document_id = base.document_id
LEFT JOIN current_status ON current_status.document_id = base.document_id
{joined}
WHERE ($search IS NULL OR contains(lower(text), $search) OR contains(lower(base.document_id), $search))
  AND ($standings IS NULL OR list_contains($standings, coalesce(current_status.status, $pending)))
  AND ($statuses IS NULL OR list_contains($statuses, coalesce(verdicts.status, 'open')))
  {wanted}
ORDER BY {order} LIMIT $limit OFFSET $offset
"""
_JOINED = "LEFT JOIN facts ON facts.document_id = base.document_id"
_SAYING = """
  AND base.document_id IN (SELECT document_id FROM annotations WHERE run_id = $run AND annotator = 'verdict'
                           AND item = $item AND value = $value)
"""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which documents: any of ``reasons``, any of the review ``standings``, any of the verdict ``statuses`` (``open``
    for none yet), those whose verdict gives ``saying[0]`` the value ``saying[1]``. Empty means all of these, and so
    does None for ``ids``, the documents to choose among. What is given must hold together."""

    reasons: tuple[Reason, ...] = ()
    standings: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    saying: tuple[str, Value] | None = None
    ids: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PageRow:
    """One line of the grid, with how many quotes its roles offered and how many of them are in the text."""

    dossier: Dossier
    reasons: tuple[Reason, ...]
    evidence_total: int
    evidence_supported: int


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of one page, and how many there are on all pages."""

    rows: tuple[PageRow, ...]
    total: int


class Pages:
    """Reads from any thread."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._dossiers = Dossiers(connection)

    def review(
        self,
        run_id: str | None,
        *,
        offset: int = 0,
        limit: int = 50,
        search: str | None = None,
        filter: Filter | None = None,
        sort: Sort | Literal["given"] = "position",
    ) -> Page:
        """A page of the run's documents (of all documents without a run).

        ``sort`` ``given`` keeps the order of ``filter.ids``, a queue made elsewhere; without one the page is empty. An
        offset past the end gives no rows and the right total all the same.
        """
        wanted = filter or Filter()
        rows = self._connection.rows(*_choice(run_id, wanted, search, sort, offset, limit))
        if not rows and offset:
            return Page((), self.review(run_id, limit=1, search=search, filter=filter).total)
        ids = [id for id, _ in rows]
        facts = self._facts(run_id, ids)
        return Page(
            tuple(
                PageRow(dossier, *facts.get(dossier.document.id, ((), 0, 0)))
                for dossier in self._dossiers.load(run_id, ids)
            ),
            rows[0][1] if rows else 0,
        )

    def reason_counts(self, run_id: str) -> dict[Reason, int]:
        """Documents of the run by reason to look; a document counts under each of its own."""
        facts = _FACTS.format(narrowed="")
        counted = dict(
            self._connection.rows(
                f"WITH {facts} SELECT unnest(reasons) AS reason, count(*) FROM facts GROUP BY reason", {"run": run_id}
            )
        )
        return {reason: counted.get(reason, 0) for reason in REASONS}

    def _facts(self, run_id: str | None, ids: Sequence[str]) -> dict[str, tuple[tuple[Reason, ...], int, int]]:
        if not ids:
            return {}
        names = {f"id{number}": id for number, id in enumerate(ids)}
        narrowed = f"AND document_id IN ({', '.join(f'${name}' for name in names)})"
        rows = self._connection.rows(
            f"WITH {_FACTS.format(narrowed=narrowed)} SELECT document_id, reasons, total, supported FROM facts",
            {"run": run_id, **names},
        )
        return {id: (_ordered(reasons), total, supported) for id, reasons, total, supported in rows}


def _choice(
    run_id: str | None, wanted: Filter, search: str | None, sort: Sort | Literal["given"], offset: int, limit: int
) -> tuple[str, dict[str, Any]]:
    """SQL and parameters that choose the ids of a page. What looks at every debate is joined only where needed."""
    heavy = bool(wanted.reasons) or sort == "reasons"
    params: dict[str, Any] = {
        "run": run_id,
        "pending": PENDING,
        "search": clean(search).lower() if search else None,
        "standings": list(wanted.standings) or None,
        "statuses": list(wanted.statuses) or None,
        "limit": limit,
        "offset": offset,
    }
    tests = []
    if wanted.reasons:
        tests.append("AND list_has_any(reasons, $reasons)")
        params["reasons"] = list(wanted.reasons)
    if wanted.saying is not None:
        tests.append(_SAYING)
        params["item"], params["value"] = wanted.saying[0], dump(wanted.saying[1])
    if wanted.ids is not None or sort == "given":
        params["ids"] = list(wanted.ids or ())
    sql = _CHOOSE.format(
        base=_base(run_id, wanted.ids is not None, given=sort == "given"),
        facts=f", {_FACTS.format(narrowed='')}" if heavy else "",
        joined=_JOINED if heavy else "",
        wanted=" ".join(tests),
        order=_ORDER["position" if sort == "given" else sort],
    )
    return sql, params


def _base(run_id: str | None, among: bool, *, given: bool) -> str:
    """SQL for (document_id, nth): the documents to choose from and the order they have by nature."""
    if given:
        return "SELECT unnest($ids::VARCHAR[]) AS document_id, generate_subscripts($ids::VARCHAR[], 1) AS nth"
    source, id = ("documents", "id") if run_id is None else ("run_documents", "document_id")
    tests = ["true"]
    if run_id is not None:
        tests.append("run_id = $run")
    if among:
        tests.append(f"{id} IN (SELECT unnest($ids::VARCHAR[]))")
    return f"SELECT {id} AS document_id, position AS nth FROM {source} WHERE {' AND '.join(tests)}"


def _ordered(reasons: Sequence[str]) -> tuple[Reason, ...]:
    return tuple(reason for reason in REASONS if reason in reasons)
