"""Records of documents in a run: text, verdict, roles, evidence and reviews, for the grid and for exports."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb

from core.debate.protocols import samples_vote
from core.debate.turns import ReplyError
from core.documents import Document, Evidence, ReviewStatus, Value
from core.runs import RunSettings
from core.store.annotation_sources import AllowedValues
from core.store.database import DatabaseConnection, ReadRepository, translate_error
from core.store.documents import document_of
from core.store.reviews import PENDING, Review, hidden_verdicts
from core.store.rows import load, scalar, value_of, values_by_key
from core.store.runs import Runs

DOCUMENTS_PER_QUERY = 10_000
"""Documents per query of a stream, which bounds memory."""

_RECORDS = """
WITH base AS ({base}),
decided AS (SELECT document_id, status, verdict FROM verdicts WHERE run_id = $run {narrowed}),
reviewed AS (
    SELECT document_id,
           list({{'item': item, 'value': value, 'actor': actor, 'at': unix_time, 'codebook_version': codebook_version}}
                ORDER BY item) AS reviews
    FROM {review_rows} WHERE true {narrowed} GROUP BY document_id
),
review_status AS (
    SELECT document_id, any_value(status) AS review_status FROM {statuses} {narrowed} GROUP BY document_id
)
SELECT id, position, field, text, context, source, group_name, group_order,
       status, verdict, reviews, review_status, {columns}
FROM documents JOIN base ON base.document_id = id
LEFT JOIN decided USING (document_id) LEFT JOIN reviewed USING (document_id) LEFT JOIN review_status USING (document_id)
{joins}
ORDER BY position
"""
_JOINS = {
    "people": """
        SELECT document_id, list([actor, item, value, unix_time::VARCHAR, status] ORDER BY seq) AS people
        FROM (
            SELECT document_id, actor, item, value, status, coalesce(decision.unix_time, person.unix_time) AS unix_time,
                   coalesce(decision.seq, person.seq) AS seq
            FROM (SELECT * FROM person_reviews WHERE value IS NOT NULL {narrowed}
                  QUALIFY row_number() OVER (PARTITION BY document_id, actor, item ORDER BY kind DESC) = 1) AS decision
            FULL JOIN (SELECT * FROM person_status WHERE true {narrowed}) AS person USING (document_id, actor)
            WHERE item IS NOT NULL OR status = 'Discarded'
        )
        GROUP BY document_id""",
    "by_rater": """
        SELECT document_id, list([rater, item, value] ORDER BY rater, item) AS by_rater
        FROM gold WHERE {allowed.test} {narrowed} GROUP BY document_id""",
    "gold": """
        SELECT document_id, list([item, value] ORDER BY item) AS gold
        FROM ({gold}) GROUP BY document_id""",
    "roles": """
        SELECT document_id,
               list({{'role': role, 'values': last.values, 'evidence': last.evidence}} ORDER BY last.turn) AS roles
        FROM (
            SELECT document_id, role, arg_max({{'turn': turn, 'values': values, 'evidence': evidence}},
                                              turn + if(values IS NULL, 0, 1000000)) AS last
            FROM turns WHERE run_id = $run AND NOT superseded {narrowed} GROUP BY document_id, role, item
        )
        GROUP BY document_id""",
}
"""Joins that some records need. Planning one takes longer than running it for a document: the others are left out."""
_ALL = {
    "review_rows": "current_reviews",
    "statuses": "current_status WHERE true",
}
_OWN = {
    "review_rows": "(SELECT * FROM person_reviews WHERE actor = $actor AND kind = 'review' AND value IS NOT NULL)",
    "statuses": "person_status WHERE actor = $actor",
}


def _query(base: str, narrowed: str, allowed: AllowedValues, *, own_only: bool, debate: bool) -> str:
    joined = [*([] if own_only else ["people"]), *(["by_rater", "gold", "roles"] if debate else [])]
    parts = {"narrowed": narrowed, "allowed": allowed, "gold": allowed.gold(f"true {narrowed}")}
    return _RECORDS.format(
        base=base,
        narrowed=narrowed,
        columns=", ".join(name if name in joined else f"NULL AS {name}" for name in _JOINS),
        joins="\n".join(
            f"LEFT JOIN ({_JOINS[name].format(**parts)}) AS {name}_of USING (document_id)" for name in joined
        ),
        **(_OWN if own_only else _ALL),
    )


@dataclass(frozen=True, slots=True)
class PersonReview:
    """The latest decisions of one person on a document, at least one, with the Unix time of the last.

    A decision that the codebook of the run does not allow is None. ``status`` is None for a person who only resolved
    disagreements of others.
    """

    values: Mapping[str, Value | None]
    at: float
    status: ReviewStatus | None


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document with the results of a run and its reviews.

    Reviews and gold that the codebook of the run does not allow are left out, so that the item is open.
    """

    document: Document
    status: str | None
    """The status of the verdict, None without one."""
    values: Mapping[str, Value | None]
    """The value of every item of the verdict, None where it could not be read."""
    unresolved: Mapping[str, str]
    """The reason why an item has no value, by item."""
    error: ReplyError | None
    roles: Mapping[str, Mapping[str, Value]]
    """The last values of each role, of a role whose samples vote their vote; a role without any is missing."""
    evidence: Mapping[str, tuple[Evidence, ...]]
    """The quotes that each role offered with its last values."""
    reviews: Mapping[str, Review]
    review_status: ReviewStatus
    people: Mapping[str, PersonReview] = field(default_factory=dict)
    """Each person's own decisions, in the order of the last ones, also of one who only discarded the document.

    A review of an item precedes an adjudicated value of the same person. Empty in the records for one reviewer.
    """
    gold: Mapping[str, Value] = field(default_factory=dict)
    """The gold of each item: of several raters the majority, for ratings the mean."""
    hidden: bool = False
    """True if verdict, roles, evidence and gold are left out (see ``HIDDEN_VERDICTS``)."""
    second_reading: bool = False
    """True if they are hidden because another reviewer submitted the document first."""

    def value(self, item: str) -> Value | None:
        """Return the current value: the reviewer's, else the verdict's."""
        review = self.reviews.get(item)
        return self.values.get(item) if review is None else review.value

    def current_values(self, items: Iterable[str]) -> dict[str, Value | None]:
        """Return the current value of each item."""
        return {item: self.value(item) for item in items}


class DocumentRecords(ReadRepository):
    """Reader of document records."""

    def __init__(self, connection: DatabaseConnection, runs: Runs) -> None:
        super().__init__(connection)
        self._runs = runs

    def load(
        self, run_id: str | None, ids: Sequence[str], *, actor: str | None = None, debate: bool = True
    ) -> list[DocumentRecord]:
        """Return records of these documents in the given order without unknown ids; meant for one page.

        Without a run they hold reviews and gold. With ``actor`` reviews and status are that reviewer's own, and
        what is hidden from that reviewer is left out; without ``actor`` they are the current ones. Without ``debate``
        roles, evidence and gold are left out.
        """
        if not ids:
            return []
        names = {f"id{number}": id for number, id in enumerate(ids)}
        marks = ", ".join(f"${name}" for name in names)
        settings = None if run_id is None else self._runs.settings(run_id)
        codebook = None if settings is None else settings.codebook
        sql = _query(
            f"SELECT id AS document_id FROM documents WHERE id IN ({marks})",
            f"AND document_id IN ({marks})",
            AllowedValues(codebook),
            own_only=actor is not None,
            debate=debate,
        )
        params = {"run": run_id, **names, **({} if actor is None else {"actor": actor})}
        params |= AllowedValues(codebook).params if debate else {}
        rows = {row[0]: row for row in self._connection.rows(sql, params)}
        records = [_record_of(rows[id], settings) for id in ids if id in rows]
        if actor is None:
            return records
        hidden = hidden_verdicts(self._connection, run_id, actor, ids)
        return [
            _without_verdict(record, second_reading=hidden[record.document.id])
            if record.document.id in hidden
            else record
            for record in records
        ]

    def stream(self, run_id: str, *, batch: int = 1000) -> Generator[list[DocumentRecord], None, None]:
        """Yield records of the run in position order, up to ``batch`` at once."""
        base = (
            "SELECT id AS document_id FROM documents WHERE position >= $first AND position < $first + $count "
            "AND id IN (SELECT document_id FROM run_documents WHERE run_id = $run)"
        )
        settings = self._runs.settings(run_id)
        allowed = AllowedValues(None if settings is None else settings.codebook)
        sql = _query(base, "AND document_id IN (SELECT document_id FROM base)", allowed, own_only=False, debate=True)
        cursor = self._connection.cursor()
        try:
            cursor.execute("BEGIN")
            end = scalar(cursor, "SELECT coalesce(max(position), -1) + 1 FROM documents")
            for first in range(0, end, DOCUMENTS_PER_QUERY):
                cursor.execute(sql, {"run": run_id, "first": first, "count": DOCUMENTS_PER_QUERY, **allowed.params})
                while rows := cursor.fetchmany(batch):
                    yield [_record_of(row, settings) for row in rows]
        except duckdb.Error as error:
            raise translate_error(error, self._connection.path) from error
        finally:
            cursor.close()


def _record_of(row: Sequence[Any], settings: RunSettings | None) -> DocumentRecord:
    codebook = None if settings is None else settings.codebook
    *document, status, verdict, review_rows, review_status, people, by_rater, gold, roles = row
    stored = load(verdict) if verdict else {"values": {}, "reasons": {}, "error": None}

    def is_allowed(item: str, value: Value | None) -> bool:
        return codebook is None or codebook.allows(item, value)

    reviews = {row["item"]: Review(**row | {"value": load(row["value"])}) for row in review_rows or ()}
    role_values, evidence = _last_of_roles(roles or ())
    if settings is not None and samples_vote(settings):
        role_values = dict.fromkeys(role_values, stored["values"]) if verdict else {}
    people_reviews = {}
    for actor, person in _people(people or ()).items():
        allowed = {item: value if is_allowed(item, value) else None for item, value in person.values.items()}
        people_reviews[actor] = replace(person, values=allowed)
    return DocumentRecord(
        document=document_of(document, values_by_key(by_rater or ())),
        status=status,
        values=stored["values"],
        unresolved=stored["reasons"],
        error=ReplyError(**stored["error"]) if stored["error"] else None,
        roles=role_values,
        evidence=evidence,
        reviews={item: review for item, review in reviews.items() if is_allowed(item, review.value)},
        review_status=review_status or PENDING,
        people=people_reviews,
        gold={item: load(value) for item, value in gold or ()},
    )


def _last_of_roles(
    rows: Iterable[Mapping[str, Any]],
) -> tuple[dict[str, dict[str, Value]], dict[str, tuple[Evidence, ...]]]:
    """Return the last values and the evidence of each role, which has several rows if each turn decides one item."""
    values: dict[str, dict[str, Value]] = {}
    evidence: dict[str, tuple[Evidence, ...]] = {}
    for row in rows:
        role = row["role"]
        if row["values"] is not None:
            values[role] = {**values.get(role, {}), **load(row["values"])}
        evidence[role] = (*evidence.get(role, ()), *(Evidence(**quote) for quote in load(row["evidence"])))
    return values, evidence


def _without_verdict(record: DocumentRecord, *, second_reading: bool) -> DocumentRecord:
    return replace(
        record,
        document=replace(record.document, gold={}),
        gold={},
        values={},
        unresolved={},
        error=None,
        roles={},
        evidence={},
        hidden=True,
        second_reading=second_reading,
    )


def _people(decisions: Sequence[Sequence[Any]]) -> dict[str, PersonReview]:
    """Return the people of (actor, item, value, time, status) rows in the order of the decisions."""
    people: dict[str, PersonReview] = {}
    for actor, item, value, at, status in decisions:
        earlier = people.pop(actor, None)
        decided = {} if item is None else {item: value_of(value)}  # a discarded document needs no decision
        people[actor] = PersonReview({**(earlier.values if earlier else {}), **decided}, float(at), status)
    return people
