"""The review queue in the store: selection, order and reasons of documents. Filtering, counting and sorting are SQL.

Reasons that come from debates and gold are cached, because deriving those of large runs takes seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from core.codebook import Codebook
from core.documents import ReviewStatus, Value, storable
from core.store.annotation_sources import AllowedValues
from core.store.classifiers import CLASSIFIER
from core.store.database import Cursor, DatabaseConnection, ReadRepository
from core.store.documents import GOLD_CHECKSUM
from core.store.reviews import HIDDEN_VERDICTS, PENDING
from core.store.rows import dump, excerpt
from core.store.runs import Runs
from core.store.sampling_frames import SamplingFrame
from core.store.write_queue import Repository, Writer

DebateReason: TypeAlias = Literal["failed", "unresolved", "gold", "unsupported", "flipped", "disagree", "samples"]
DEBATE_REASONS: tuple[DebateReason, ...] = get_args(DebateReason)
"""Reasons in the order of their bits. Flipped: the verdict differs from the first values of the first role.

Disagree: the last values of roles differ. Samples: runs with the same codebook differ.
"""

RULES = 3
"""Number of the rules below. A higher one replaces the reasons that an earlier version of Moot derived."""

_TIMES = "sum((unix_time * 1000000)::BIGINT)"  # whole microseconds: the sum of fractions depends on its order
_VERDICT_TIMES = f"""
SELECT document_id, {_TIMES}::DOUBLE AS seen FROM verdicts
WHERE list_contains($siblings, run_id) AND document_id IN (SELECT document_id FROM run_documents WHERE run_id = $run)
GROUP BY document_id
"""
# The remaining rows of review_reasons are as recent as the verdicts. Not a left join: DuckDB 2.0.0 mixes up columns
# over one with an empty table. A role may decide one item in each turn.
_DERIVE = f"""
INSERT INTO review_reasons
WITH changed AS MATERIALIZED (
    FROM ({_VERDICT_TIMES}) ANTI JOIN (SELECT document_id FROM review_reasons WHERE run_id = $run) USING (document_id)
),
last_turns AS MATERIALIZED (
    SELECT document_id, role, min(turn) AS first_turn, bool_or(values IS NOT NULL) AS has_values,
           arg_max(evidence_total, turn + if(values IS NULL, 0, 1000000)) AS total,
           arg_max(evidence_supported, turn + if(values IS NULL, 0, 1000000)) AS supported
    FROM turns SEMI JOIN changed USING (document_id)
    WHERE run_id = $run AND NOT superseded GROUP BY document_id, role, item
),
roles AS MATERIALIZED (
    SELECT document_id, arg_min(role, first_turn) FILTER (has_values) AS first_role,
           sum(total)::INTEGER AS total, sum(supported)::INTEGER AS supported,
           sum(total - supported)::INTEGER AS lost
    FROM last_turns GROUP BY document_id
),
cells AS (
    SELECT document_id, item, annotator, arg_max(coalesce(value, ''), coalesce(turn, 0)) AS value,
           coalesce(arg_min(value, coalesce(turn, 0)), '') AS first_value
    FROM annotations SEMI JOIN changed USING (document_id)
    WHERE run_id = $run GROUP BY document_id, item, annotator
),
differing AS (
    SELECT document_id, bool_or(disagree) AS disagree, bool_or(differs(verdict, first)) AS flipped
    FROM (SELECT document_id, item, any_differ(if(annotator = 'verdict', NULL, value)) AS disagree,
                 any_value(value) FILTER (annotator = 'verdict') AS verdict,
                 any_value(first_value) FILTER (annotator = first_role) AS first
          FROM cells JOIN roles USING (document_id) GROUP BY document_id, item)
    GROUP BY document_id
),
wrong AS (
    SELECT DISTINCT document_id
    FROM (SELECT document_id, item, value FROM annotations SEMI JOIN changed USING (document_id)
          WHERE run_id = $run AND annotator = 'verdict') AS verdict
    JOIN ({{gold}}) AS truth USING (document_id, item)
    WHERE differs(verdict.value, truth.value)
),
judged AS MATERIALIZED (
    SELECT run_id, document_id, values FROM verdicts SEMI JOIN changed USING (document_id)
    WHERE list_contains($siblings, run_id) AND status = 'verdict'
),
split AS (  -- few documents have other texts of values; only their items are compared
    SELECT DISTINCT document_id FROM (
        SELECT document_id FROM annotations SEMI JOIN judged USING (run_id, document_id) SEMI JOIN (
            SELECT document_id FROM judged GROUP BY document_id HAVING min(hash(values)) <> max(hash(values))
        ) USING (document_id)
        WHERE annotator = 'verdict' GROUP BY document_id, item HAVING any_differ(value)
    )
),
decided AS (
    SELECT document_id, status FROM verdicts SEMI JOIN changed USING (document_id) WHERE run_id = $run
)
SELECT $run, document_id,
       if(status = 'failed', 1, 0) + if(status = 'unresolved', 2, 0) + if(wrong.document_id IS NULL, 0, 4)
       + if(lost > 0, 8, 0) + if(status = 'verdict' AND flipped, 16, 0) + if(disagree, 32, 0)
       + if(split.document_id IS NULL, 0, 64),
       coalesce(total, 0), coalesce(supported, 0), changed.seen
FROM changed LEFT JOIN decided USING (document_id) LEFT JOIN roles USING (document_id)
LEFT JOIN differing USING (document_id) LEFT JOIN wrong USING (document_id) LEFT JOIN split USING (document_id)
"""
_GONE = f"""
DELETE FROM review_reasons WHERE run_id = $run
    AND ($everything OR (document_id, seen) NOT IN (SELECT (document_id, seen) FROM ({_VERDICT_TIMES})))
"""


class ReviewReasons(Repository):
    """Cache of the reasons for review that come from debates and gold. ``refresh`` may be called from any thread."""

    def __init__(self, connection: DatabaseConnection, writer: Writer, runs: Runs) -> None:
        super().__init__(connection, writer)
        self._runs = runs

    def refresh(self, run_id: str, siblings: Sequence[str]) -> None:
        """Update the reasons of a run after new debates or gold. Cheap when nothing has changed.

        All documents are derived when gold or ``siblings`` (the runs with comparable verdicts) changed.
        """
        params = {"run": run_id, "siblings": sorted({run_id, *siblings})}
        gold = self._connection.row(f"SELECT count(*), {GOLD_CHECKSUM}::VARCHAR FROM gold")
        verdicts = self._connection.rows(
            f"SELECT run_id, count(*), {_TIMES} FROM verdicts WHERE list_contains($siblings, run_id) "
            "GROUP BY run_id ORDER BY run_id",
            {"siblings": params["siblings"]},
        )
        state = f"{RULES} {gold} {params['siblings']}", str(verdicts)
        stored = self._connection.row("SELECT basis, verdicts FROM review_reason_states WHERE run_id = ?", [run_id])
        if stored == state:
            return
        settings = self._runs.settings(run_id)
        allowed = AllowedValues(settings.codebook if settings else Codebook())
        derive = _DERIVE.format(gold=allowed.gold("document_id IN (SELECT document_id FROM changed)"))

        def write(cursor: Cursor) -> None:
            cursor.execute(_GONE, {**params, "everything": not stored or stored[0] != state[0]})
            cursor.execute(derive, {**params, **allowed.params})
            cursor.execute("INSERT OR REPLACE INTO review_reason_states VALUES (?, ?, ?)", [run_id, *state])

        self._writer.do(write)


Reason: TypeAlias = DebateReason | Literal["near", "classifier", "stale", "flagged"]
REASONS: tuple[Reason, ...] = (*DEBATE_REASONS, "near", "classifier", "stale", "flagged")
"""Reasons for review in the order of their bits. Near: a similar reviewed document has another value.

Classifier: it is unsure. Stale: a definition changed after the decision.
"""

_BITS: dict[Reason, int] = {reason: 1 << position for position, reason in enumerate(REASONS)}

UNSURE_CERTAINTY = 0.6
"""Certainty below which the classifier counts as unsure of an item."""

_WEIGHTS: dict[Reason, int] = {
    "failed": 128, "unresolved": 120, "gold": 40, "flagged": 36, "stale": 32, "flipped": 24, "unsupported": 20,
    "samples": 16, "near": 14, "disagree": 12, "classifier": 8,
}  # fmt: skip
"""The most urgent first."""
_URGENCY = " + ".join(f"if(reasons & {bit} > 0, {_WEIGHTS[reason]}, 0)" for reason, bit in _BITS.items())
URGENCY_ORDER = f"skipped, {_URGENCY} DESC, least_certain NULLS LAST, nth"
"""SQL of the order by urgency: skipped documents last, then by weight of the reasons, then by certainty.

That is the lower one of the classifier's certainty and the probability of the words of the run's last decision, or of
its last decisions on single items.
"""

Sort: TypeAlias = Literal["position", "reasons", "words", "reviewed", "certainty"]
"""``reasons``: most urgent first; ``words``: longest first; ``reviewed``: latest first; ``certainty``: lowest first."""

_ORDER: dict[Sort, str] = {
    "position": "nth",
    "reasons": URGENCY_ORDER,
    "words": "words DESC, nth",
    "reviewed": "changed_at DESC NULLS LAST, nth",
    "certainty": "least_certain NULLS LAST, nth",
}
LINES = f"""
base AS ({{base}}),
review_status AS ({{review_status}}),
marked AS (
    SELECT document_id, bool_or(item = 'flag') AS flagged, bool_or(item = 'skip') AS skipped
    FROM current_marks WHERE item IN ('flag', 'skip') GROUP BY document_id
),
lines AS (
    SELECT base.document_id, nth, words, text, coalesce(review_status.status, '{PENDING}') AS review_status,
           review_status.unix_time AS changed_at, {{quotes}} AS quotes, {{supported}} AS supported,
           {{certainty}} AS certainty, if({{hidden}}, NULL, least({{certainty}}, {{own}})) AS least_certain,
           coalesce(skipped, false) AS skipped, {{hidden}} AS hidden,
           if({{hidden}}, 0, {{from_debate}} | if({{near}}, {_BITS["near"]}, 0)
           | if({{certainty}} < {UNSURE_CERTAINTY}, {_BITS["classifier"]}, 0)
           | if({{outdated}} AND review_status.status = 'Submitted', {_BITS["stale"]}, 0)
           | if(flagged, {_BITS["flagged"]}, 0)) AS reasons
    FROM base JOIN documents ON documents.id = base.document_id
    LEFT JOIN review_status ON review_status.document_id = base.document_id
    LEFT JOIN marked ON marked.document_id = base.document_id
    {{joins}}
)
"""
_JOINS = {
    "from_debate": """
        SELECT document_id, reasons, quotes, supported FROM review_reasons
        WHERE run_id IS NOT DISTINCT FROM $run AND {among}""",
    "sure": f"""
        SELECT document_id, min(certainty) AS certainty FROM certainties WHERE annotator = '{CLASSIFIER}' AND {{among}}
        GROUP BY document_id""",
    "own": """
        SELECT document_id, min(certainty) AS certainty
        FROM (SELECT document_id,
                     list_min(map_values((arg_max(reading, turn) -> '$.certainty')::MAP(VARCHAR, DOUBLE))) AS certainty
              FROM turns
              WHERE run_id IS NOT DISTINCT FROM $run AND NOT superseded AND contains(reading, '"certainty":{{"')
                    AND {among}
              GROUP BY document_id, item)
        GROUP BY document_id""",
    "near": "SELECT DISTINCT document_id FROM differing_neighbours WHERE run_id = $run AND {among}",
    "outdated": """
        SELECT DISTINCT document_id FROM {decided}
        WHERE list_contains($outdated, item || '/' || codebook_version) AND {among}""",
    "hidden": f"SELECT DISTINCT document_id FROM ({HIDDEN_VERDICTS})",
}
"""Joins that ``lines`` needs in some cases. To plan one may take longer than to run it, so the others are left out."""
_JOINED = {
    "from_debate": ("from_debate", "coalesce(reasons, 0)", "0"),
    "quotes": ("from_debate", "coalesce(quotes, 0)", "0"),
    "supported": ("from_debate", "coalesce(supported, 0)", "0"),
    "certainty": ("sure", "sure.certainty", "NULL::DOUBLE"),
    "own": ("own", "own.certainty", "NULL::DOUBLE"),
    "near": ("near", "near.document_id IS NOT NULL", "false"),
    "outdated": ("outdated", "outdated.document_id IS NOT NULL", "false"),
    "hidden": ("hidden", "hidden.document_id IS NOT NULL", "false"),
}
"""Columns of a line that need a join: the join, the column, and its value without the join."""
_CHOOSE = """
WITH {lines}
SELECT {columns}, count(*) OVER () AS found
FROM lines WHERE {tests} ORDER BY {order} LIMIT $limit OFFSET $offset
"""
_VERDICT_VALUE = """document_id IN (SELECT document_id FROM annotations WHERE run_id = $run AND annotator = 'verdict'
                           AND item = $item AND value = $value)"""
TEXT_START = 240
"""Characters of a text in a line."""
_COLUMNS = (
    f"document_id, {excerpt(TEXT_START)}, review_status, changed_at, reasons, if(hidden, 0, quotes), "
    "if(hidden, 0, supported), if(hidden, NULL, certainty), skipped"
)


@dataclass(frozen=True, slots=True)
class Viewpoint:
    """The reviewer and the run that a page of documents depends on.

    ``run_id`` None means all documents without a debate. With ``actor`` statuses are that reviewer's own, else the
    current ones. ``outdated`` are (item, codebook version) pairs whose definition has changed since.
    """

    run_id: str | None
    actor: str | None = None
    outdated: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that must all hold; empty ones are ignored."""

    reasons: tuple[Reason, ...] = ()
    """A document has at least one of them."""
    review_statuses: tuple[str, ...] = ()
    verdict_value: tuple[str, Value] | None = None
    """An item, and its value in the verdict."""
    words: tuple[int, int] | None = None
    """The fewest and the most words of the text."""
    by_others: bool = False
    """True for documents that another reviewer submitted."""
    ids: tuple[str, ...] | None = None
    """The documents to choose from, None for all."""


@dataclass(frozen=True, slots=True)
class QueueLine:
    """One document of a queue. Reasons, quotes and certainty are left out while its verdict is hidden."""

    document_id: str
    text_start: str
    review_status: ReviewStatus
    changed_at: float | None
    """Unix time of the last change of the status."""
    reasons: tuple[Reason, ...]
    """The most urgent first."""
    quotes: int
    """Number of quotes that the roles offered."""
    supported: int
    """Number of quotes that are in the text."""
    certainty: float | None
    """The classifier's lowest certainty, None without one."""
    skipped: bool


@dataclass(frozen=True, slots=True)
class QueueLines:
    """Lines of one page, and the number of lines on all pages."""

    rows: tuple[QueueLine, ...]
    total: int


@dataclass(frozen=True, slots=True)
class ReviewProgress:
    """A reviewer's progress with a run, in documents."""

    documents: int
    decided: int
    """Submitted or discarded."""
    urgent: int | None
    """Not decided, with a reason for review. None while the verdict of any of them is hidden: it is a reason."""
    seconds: float | None
    """Median of the last fifty that were submitted, None before the first."""


class ReviewQueue(ReadRepository):
    """Reader of pages of documents to review. Call ``store.review_reasons.refresh`` first."""

    def lines(
        self,
        view: Viewpoint,
        *,
        offset: int = 0,
        limit: int = 50,
        search: str | None = None,
        filter: Filter = Filter(),
        sort: Sort | Literal["given"] = "position",
    ) -> QueueLines:
        """Return a page of lines.

        ``sort`` ``given`` keeps the order of ``filter.ids``; without ids the page is empty. An offset past the end
        gives no rows and the right total.
        """
        # Reasons of all documents take longer than a second query.
        later = filter.ids is None and not filter.reasons and sort in ("position", "words", "reviewed")
        sql, params = self._choice(view, filter, search, sort, reasons=not later)
        rows = self._connection.rows(sql, {**params, "limit": limit, "offset": offset})
        if not rows and offset:
            return QueueLines((), self.lines(view, limit=1, search=search, filter=filter).total)
        if later:
            shown = Filter(ids=tuple(row[0] for row in rows))
            lines = self.lines(view, filter=shown, sort="given", limit=limit).rows
        else:
            lines = tuple(map(_line, rows))
        return QueueLines(lines, rows[0][-1] if rows else 0)

    def draws(
        self, view: Viewpoint, frame: SamplingFrame, *, seed: str, offset: int, limit: int
    ) -> tuple[list[tuple[str, float, int]], int]:
        """Return (document, probability, remaining) of waiting documents in the order in which they are drawn.

        Waiting documents are Pending or Draft; skipped ones come last. The order is a race: each document has a time
        from an exponential distribution whose rate is its size in the frame, derived from ``seed`` and its id. That is
        drawing in proportion to size, one after another. ``probability`` is that of this document being the next among
        the ``remaining``. Also returns the number of waiting documents.
        """
        lines, params = self._lines(view, reasons=False)
        rows = self._connection.rows(
            f"""WITH {lines}, waiting AS (
                SELECT document_id, skipped, coalesce(size, 1e-9) AS size,
                       -ln((hash(document_id || '/' || $seed)::DOUBLE + 1) / 18446744073709551617) AS time
                FROM lines LEFT JOIN (SELECT document_id, size FROM sampling_sizes WHERE run_id = $frame_run
                                      AND frame = $frame) AS sizes USING (document_id)
                WHERE review_status IN ('Pending', 'Draft')
            ), ordered AS (
                SELECT document_id, size, row_number() OVER latest AS remaining, sum(size) OVER latest AS left_size
                FROM waiting WINDOW latest AS (ORDER BY skipped DESC, time / size DESC, document_id DESC ROWS
                                               UNBOUNDED PRECEDING)
            )
            SELECT document_id, least(1.0, size / left_size), remaining, max(remaining) OVER () FROM ordered
            ORDER BY remaining DESC LIMIT {int(limit)} OFFSET {int(offset)}""",
            {**params, "seed": seed, "frame": frame.frame, "frame_run": frame.run_id},
        )
        if not rows and offset:
            return [], self.draws(view, frame, seed=seed, offset=0, limit=1)[1]
        return [(id, probability, remaining) for id, probability, remaining, _ in rows], rows[0][3] if rows else 0

    def count(self, view: Viewpoint, review_statuses: Sequence[ReviewStatus]) -> int:
        """Return the number of documents with one of these review statuses."""
        lines, params = self._lines(view, reasons=False)
        counted = f"WITH {lines} SELECT count(*) FROM lines WHERE list_contains($review_statuses, review_status)"
        return int(self._connection.value(counted, {**params, "review_statuses": list(review_statuses)}))

    def with_reason(self, view: Viewpoint) -> frozenset[str]:
        """Return the documents that have a reason for review."""
        lines, params = self._lines(view)
        return frozenset(
            self._connection.column(f"WITH {lines} SELECT document_id FROM lines WHERE reasons > 0", params)
        )

    def progress(self, view: Viewpoint) -> ReviewProgress:
        """Return the reviewer's progress."""
        lines, params = self._lines(view, hidden=True)
        counted = self._connection.rows(
            f"""WITH {lines} SELECT count(*), count(*) FILTER (review_status IN ('Submitted', 'Discarded')),
                count(*) FILTER (reasons > 0 AND review_status IN ('Pending', 'Draft')),
                count(*) FILTER (hidden AND review_status IN ('Pending', 'Draft')) FROM lines""",
            params,
        )[0]
        pace = self._connection.value(
            "SELECT median(seconds) FROM (SELECT seconds FROM selections WHERE run_id IS NOT DISTINCT FROM $run "
            "AND ($actor IS NULL OR actor = $actor) AND seconds > 0 ORDER BY seq DESC LIMIT 50)",
            {"run": view.run_id, "actor": view.actor},
        )
        documents, decided, urgent, hidden = counted
        return ReviewProgress(documents, decided, None if hidden else urgent, pace)

    def _lines(
        self,
        view: Viewpoint,
        ids: Sequence[str] | None = None,
        sort: Sort | Literal["given"] = "position",
        *,
        reasons: bool = True,
        hidden: bool = False,
    ) -> tuple[str, dict[str, Any]]:
        """Return SQL up to ``lines`` with its parameters.

        Without ``reasons`` lines lack them, quotes and certainty; without ``hidden`` no line is hidden.
        """
        review_status, params = _review_status(view)
        has_neighbours, has_certainties = self._connection.rows(
            "SELECT EXISTS (FROM neighbours), EXISTS (FROM certainties)"
        )[0]
        needed = {
            "from_debate": reasons,
            "sure": reasons and has_certainties,
            "own": sort in ("reasons", "certainty"),
            "near": reasons and has_neighbours and view.run_id is not None,
            "outdated": reasons and bool(view.outdated),
            "hidden": hidden and view.actor is not None,
        }
        if needed["outdated"]:
            params["outdated"] = [f"{item}/{version}" for item, version in view.outdated]
        if ids is not None or sort == "given":
            params["ids"] = list(ids or ())
        among = "list_contains($ids, document_id)" if "ids" in params else "true"
        decided = "current_reviews" if view.actor is None else "(SELECT * FROM person_reviews WHERE actor = $actor)"
        joins = [
            f"LEFT JOIN ({_JOINS[name].format(among=among, decided=decided)}) AS {name} "
            f"ON {name}.document_id = base.document_id"
            for name, is_needed in needed.items()
            if is_needed
        ]
        sql = LINES.format(
            base=_base(view.run_id, among=ids is not None, given=sort == "given"),
            review_status=review_status,
            **{name: column if needed[join] else default for name, (join, column, default) in _JOINED.items()},
            joins=" ".join(joins),
        )
        return sql, params

    def _choice(
        self, view: Viewpoint, wanted: Filter, search: str | None, sort: Sort | Literal["given"], *, reasons: bool
    ) -> tuple[str, dict[str, Any]]:
        hidden = reasons or wanted.verdict_value is not None
        lines, params = self._lines(view, wanted.ids, sort, reasons=reasons, hidden=hidden)
        tests = ["true"]
        if search:
            tests.append("(contains(lower(text), $search) OR contains(lower(document_id), $search))")
            params["search"] = storable(search).lower()
        if wanted.review_statuses:
            tests.append("list_contains($review_statuses, review_status)")
            params["review_statuses"] = list(wanted.review_statuses)
        if wanted.reasons:
            tests.append(f"reasons & {sum(_BITS[reason] for reason in wanted.reasons)} > 0")
        if wanted.words is not None:
            tests.append("words BETWEEN $min_words AND $max_words")
            params["min_words"], params["max_words"] = wanted.words
        if wanted.by_others:
            tests.append(
                "document_id IN (SELECT document_id FROM person_status WHERE status = 'Submitted' AND actor <> $me)"
            )
            params["me"] = view.actor or ""
        if wanted.verdict_value is not None:
            tests.append(f"NOT hidden AND {_VERDICT_VALUE}")
            params["item"], params["value"] = wanted.verdict_value[0], dump(wanted.verdict_value[1])
        order = _ORDER["position" if sort == "given" else sort]
        return _CHOOSE.format(
            lines=lines, columns=_COLUMNS if reasons else "document_id", tests=" AND ".join(tests), order=order
        ), params


def _review_status(view: Viewpoint) -> tuple[str, dict[str, Any]]:
    if view.actor is None:
        return "SELECT document_id, status, unix_time FROM current_status", {"run": view.run_id}
    sql = "SELECT document_id, status, unix_time FROM person_status WHERE actor = $actor"
    return sql, {"run": view.run_id, "actor": view.actor}


def _base(run_id: str | None, *, among: bool = False, given: bool = False) -> str:
    """Return SQL for (document_id, nth): documents of the run or project, ``among`` ids, or the ``given`` ids."""
    if given:
        return "SELECT unnest($ids::VARCHAR[]) AS document_id, generate_subscripts($ids::VARCHAR[], 1) AS nth"
    source, id = ("documents", "id") if run_id is None else ("run_documents", "document_id")
    tests = ["$run::VARCHAR IS NULL" if run_id is None else "run_id = $run"]
    if among:
        tests.append(f"{id} IN (SELECT unnest($ids::VARCHAR[]))")
    return f"SELECT {id} AS document_id, position AS nth FROM {source} WHERE {' AND '.join(tests)}"


def _line(row: Sequence[Any]) -> QueueLine:
    id, text_start, review_status, changed_at, reasons, quotes, supported, certainty, skipped, _ = row
    named = tuple(reason for reason in _WEIGHTS if reasons & _BITS[reason])
    return QueueLine(id, text_start, review_status, changed_at, named, quotes, supported, certainty, skipped)
