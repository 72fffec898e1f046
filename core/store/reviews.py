"""Reviews: the decisions of people about documents, stored as events, and the agreement of reviewers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from core.documents import ReviewStatus, Value
from core.store.database import Cursor, DatabaseConnection, ReadRepository
from core.store.events import SELECT_EVENTS, Event, event_of, record
from core.store.rows import load, values_by_key
from core.store.sampling_frames import SamplingRecord
from core.store.write_queue import Repository

REVIEW = "review"
STATUS = "review_status"
MARK = "mark"
ADJUDICATION = "adjudication"
PENDING: ReviewStatus = "Pending"
SUBMITTED: ReviewStatus = "Submitted"
IS_SUBMISSION = f"kind = '{STATUS}' AND after = '\"{SUBMITTED}\"'"
"""SQL condition of events in which a reviewer submits a document."""
MarkName: TypeAlias = Literal["note", "tags", "flag", "skip", "blind"]
"""Parts of a review beside the values: note, error tags, flag, skip, and the values given before the verdict was shown.
"""

_ACTIONS = f"kind IN ('{REVIEW}', '{STATUS}', '{MARK}', '{ADJUDICATION}')"
_OWN_ACTIONS = f"{_ACTIONS} AND actor = $actor"
_LAST_ACTION = f"""
SELECT act FROM events WHERE {_OWN_ACTIONS} AND act NOT IN (SELECT act FROM undone_acts) ORDER BY act DESC LIMIT 1
"""
_LAST_UNDONE = f"""
SELECT target FROM events WHERE kind = 'undo' AND actor = $actor AND target IN (SELECT act FROM undone_acts)
    AND seq > (SELECT coalesce(max(seq), 0) FROM events WHERE {_OWN_ACTIONS}) ORDER BY seq DESC LIMIT 1
"""
"""SQL of the action that the reviewer undid last, unless the reviewer decided something afterwards."""
_STATUSES = """
SELECT document_id, status FROM person_status WHERE actor = ? AND document_id IN (SELECT unnest(?::VARCHAR[]))
"""
_RECENT_EVENTS = 5000
"""Number of latest events that are searched for an idempotency key."""


@dataclass(frozen=True, slots=True)
class ReviewChange:
    """The value of one item, or a mark by its name, ``before`` (as the reviewer saw it) and ``after``.

    None withdraws an earlier decision or mark.
    """

    item: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Decision:
    """A reviewer's decision about one document: changed values, marks and, if given, the new status.

    ``sampling`` records how a submitted or discarded document was drawn, None if the reviewer chose it. ``adjudicated``
    changes resolve a disagreement between reviewers.
    """

    document_id: str
    changes: Sequence[ReviewChange] = ()
    status: ReviewStatus | None = None
    marks: Sequence[ReviewChange] = ()
    sampling: SamplingRecord | None = None
    adjudicated: bool = False


@dataclass(frozen=True, slots=True)
class Review:
    """The current decision on an item.

    ``codebook_version`` is the version it was made under, None without one. ``at`` is in Unix seconds.
    """

    item: str
    value: Value
    actor: str
    at: float
    codebook_version: int | None


class Reviews(Repository):
    """Reviews of a project."""

    def record(
        self,
        decisions: Sequence[Decision],
        *,
        actor: str,
        run_id: str | None = None,
        codebook_version: int | None = None,
        seconds: float | None = None,
        action_id: str = "",
    ) -> list[Event]:
        """Record decisions as one action, which one undo reverts, and return its events.

        ``run_id`` is the run whose verdicts the reviewer saw, ``seconds`` the time spent. An action whose idempotency
        key ``action_id`` was recorded before is not recorded again: its events are returned.
        """

        payload = {name: value for name, value in {"seconds": seconds, "once": action_id}.items() if value}

        def events_of(decision: Decision, before: str) -> Iterator[Event]:
            event = partial(Event, document_id=decision.document_id, run_id=run_id, codebook_version=codebook_version)
            decided = ADJUDICATION if decision.adjudicated else REVIEW
            for kind, changes in ((decided, decision.changes), (MARK, decision.marks)):
                for change in changes:
                    yield event(kind, change.before, change.after, item=change.item, payload=payload)
            if decision.status not in (None, before):
                selection: dict[str, Any] = {}
                if decision.status in ("Submitted", "Discarded"):
                    selection = asdict(decision.sampling) if decision.sampling else {"how": "chosen"}
                yield event(STATUS, before, decision.status, payload=payload | selection)

        def write(cursor: Cursor) -> list[Event]:
            if action_id and (recorded := _recorded_before(cursor, actor, action_id)):
                return recorded
            statuses = dict(cursor.execute(_STATUSES, [actor, [each.document_id for each in decisions]]).fetchall())
            events = [
                event
                for decision in decisions
                for event in events_of(decision, statuses.get(decision.document_id, PENDING))
            ]
            return record(cursor, actor, events)

        return self._writer.do(write)

    def undo(self, actor: str, *, action_id: str = "") -> list[Event]:
        """Undo this reviewer's latest action and return its events; none if there is nothing to undo."""
        return self._undo_or_redo("undo", actor, action_id)

    def redo(self, actor: str, *, action_id: str = "") -> list[Event]:
        """Redo the action that this reviewer undid last; none when there is none, or after a later decision."""
        return self._undo_or_redo("redo", actor, action_id)

    def status_counts(self) -> dict[str, int]:
        """Return documents of the project by status; a status without any is left out."""
        rows = self._connection.rows(
            "SELECT coalesce(status, $pending) AS status, count(*) FROM documents LEFT JOIN current_status "
            "ON document_id = id GROUP BY ALL ORDER BY status",
            {"pending": PENDING},
        )
        return dict(rows)

    def history(self, document_id: str) -> list[Event]:
        """Return all events of a document, oldest first, with undone actions and undos."""
        rows = self._connection.rows(
            f"{SELECT_EVENTS} WHERE document_id = $document "
            "OR target IN (SELECT act FROM events WHERE document_id = $document) ORDER BY seq",
            {"document": document_id},
        )
        return [event_of(row) for row in rows]

    def marks(self, document_id: str, *, actor: str | None = None, hidden: bool = False) -> dict[str, Any]:
        """Return the current marks of a document by name.

        With ``actor`` note and tags are that reviewer's own, if any; all are while the verdict is ``hidden``.
        """
        rows = self._connection.rows(
            "SELECT item, arg_max({'value': after}, seq), arg_max({'value': after}, seq) FILTER (actor = $actor) "
            f"FROM events WHERE kind = '{MARK}' AND document_id = $document "
            "AND act NOT IN (SELECT act FROM undone_acts) GROUP BY item",
            {"document": document_id, "actor": actor},
        )
        marks = {
            name: by_actor if hidden or (by_actor and name in ("note", "tags")) else last
            for name, last, by_actor in rows
        }
        return {name: load(mark["value"]) for name, mark in marks.items() if mark and mark["value"] is not None}

    def reviewers(self) -> list[str]:
        """Return the names of all who reviewed, also of those who undid it, in alphabetical order."""
        return self._connection.column(f"SELECT DISTINCT actor FROM events WHERE {_ACTIONS} ORDER BY actor")

    def values_by_reviewer(self, document_id: str) -> dict[str, dict[str, Value]]:
        """Return the current values of each reviewer by item, adjudicated ones only if the adjudicator has no other."""
        return values_by_key(
            self._connection.rows(
                "SELECT actor, item, value FROM person_reviews WHERE document_id = ? AND value IS NOT NULL "
                "ORDER BY actor, kind, item",
                [document_id],
            )
        )

    def notes_by_reviewer(self, document_ids: Sequence[str]) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the current ``note`` and ``tags`` by document and reviewer, of those who have written some."""
        rows = self._connection.rows(
            "SELECT document_id, actor, item, arg_max_null(after, seq) FROM events "
            f"WHERE kind = '{MARK}' AND item IN ('note', 'tags') AND document_id IN (SELECT unnest(?)) "
            "AND act NOT IN (SELECT act FROM undone_acts) GROUP BY document_id, actor, item "
            "ORDER BY document_id, actor, item",
            [list(document_ids)],
        )
        notes: dict[str, dict[str, dict[str, Any]]] = {}
        for document_id, actor, item, mark in rows:
            if mark is not None and (value := load(mark)):
                notes.setdefault(document_id, {}).setdefault(actor, {})[item] = value
        return notes

    def flagged(self, document_ids: Sequence[str]) -> frozenset[str]:
        """Return those of these documents that are flagged."""
        sql = "SELECT document_id FROM current_marks WHERE item = 'flag' AND document_id IN (SELECT unnest(?))"
        return frozenset(self._connection.column(sql, [list(document_ids)]))

    def hidden(self, actor: str, run_id: str, document_ids: Sequence[str] | None = None) -> frozenset[str]:
        """Return the documents of a run, or those of these, whose verdict is hidden from this reviewer."""
        return frozenset(hidden_verdicts(self._connection, run_id, actor, document_ids))

    def _undo_or_redo(self, kind: Literal["undo", "redo"], actor: str, action_id: str) -> list[Event]:
        def write(cursor: Cursor) -> list[Event]:
            if action_id and (recorded := _recorded_before(cursor, actor, action_id)):
                return _act(cursor, recorded[0].target or 0)
            rows = cursor.execute(_LAST_ACTION if kind == "undo" else _LAST_UNDONE, {"actor": actor}).fetchall()
            if not rows:
                return []
            ((act,),) = rows
            record(cursor, actor, [Event(kind, target=act, payload={"once": action_id} if action_id else {})])
            return _act(cursor, act)

        return self._writer.do(write)


def _events(cursor: Cursor, condition: str, params: Sequence[Any]) -> list[Event]:
    rows = cursor.execute(f"{SELECT_EVENTS} WHERE {condition} ORDER BY seq", params).fetchall()
    return [event_of(row) for row in rows]


def _act(cursor: Cursor, act: int) -> list[Event]:
    return _events(cursor, "act = ?", [act])


def _recorded_before(cursor: Cursor, actor: str, action_id: str) -> list[Event]:
    recent = f"seq > (SELECT max(seq) FROM events) - {_RECENT_EVENTS}"
    key = "json_extract_string(payload, '$.once') = ?"
    acts = f"SELECT act FROM events WHERE {recent} AND actor = ? AND {key}"  # an act may have more events than these
    return _events(cursor, f"act IN ({acts})", [actor, action_id])


REVIEW_SETTINGS = "review"
"""Name of the project setting with the even part of the draws (``even``) and blind review (``blind``)."""

HIDDEN_VERDICTS = f"""
SELECT document_id, true AS is_second FROM person_status
WHERE status = '{SUBMITTED}' AND actor <> $actor AND {{among}} AND document_id NOT IN
    (SELECT document_id FROM events WHERE {IS_SUBMISSION} AND actor = $actor AND {{among}})
UNION ALL
SELECT document_id, false FROM verdicts
WHERE run_id = $run AND {{among}}
AND (SELECT (value -> 'blind')::BOOLEAN FROM settings WHERE name = '{REVIEW_SETTINGS}')
AND document_id NOT IN
    (SELECT document_id FROM person_status
     WHERE actor = $actor AND status IN ('{SUBMITTED}', 'Discarded') AND {{among}})
AND document_id NOT IN (SELECT document_id FROM events
    WHERE kind = '{MARK}' AND item = 'blind' AND actor = $actor AND run_id = $run AND {{among}})
"""
"""SQL of the documents whose verdict is hidden from ``$actor`` in ``$run``.

A second reading is a document that another reviewer has submitted and ``$actor`` has never submitted. Until then,
nothing of the verdict, gold or other reviewers may be shown. With blind review, the same holds until ``$actor`` has
decided every item.
"""


def hidden_verdicts(
    connection: DatabaseConnection, run_id: str | None, actor: str, document_ids: Sequence[str] | None = None
) -> dict[str, bool]:
    """Return documents (None for those of the run) whose verdict is hidden from ``actor``.

    True for a second reading, False for a blind one.
    """
    params: dict[str, Any] = {"actor": actor, "run": run_id}
    among = "document_id IN (SELECT document_id FROM run_documents WHERE run_id = $run)"
    if document_ids is not None:
        among, params["ids"] = "list_contains($ids, document_id)", list(document_ids)
    hidden = HIDDEN_VERDICTS.format(among=among)
    return dict(connection.rows(f"SELECT document_id, bool_or(is_second) FROM ({hidden}) GROUP BY document_id", params))


Numbers: TypeAlias = npt.NDArray[np.float64]

_OWN = """
WITH own AS (
    SELECT document_id, actor FROM person_status
    WHERE status = 'Submitted' AND document_id IN (SELECT document_id FROM run_documents WHERE run_id = $run)
        AND document_id IN (SELECT id FROM documents)
), several AS (SELECT document_id FROM own GROUP BY document_id HAVING count(*) > 1)
"""
# Reviewers see each other's labels once both have submitted. A label changed after that is not independent.
_DEPENDENT = f"""
first AS (
    SELECT document_id, actor, min(seq) AS seq FROM events WHERE {IS_SUBMISSION} GROUP BY document_id, actor
), visible AS (
    SELECT own.document_id, own.actor, greatest(own.seq, min(other.seq)) AS seq
    FROM first AS own JOIN first AS other ON other.document_id = own.document_id AND other.actor <> own.actor
    GROUP BY own.document_id, own.actor, own.seq
), dependent AS (
    SELECT DISTINCT document_id, actor FROM events JOIN visible USING (document_id, actor)
    WHERE kind = 'review' AND after IS DISTINCT FROM before AND events.seq > visible.seq
)
"""
_DISTANCE = "abs(try_cast({0} AS DOUBLE) - try_cast(verdict AS DOUBLE))"  # NULL unless both are ratings
_BLIND = f"""
WITH before AS (
    SELECT document_id, actor, arg_min(after, seq) AS given FROM events
    WHERE kind = 'mark' AND item = 'blind' AND after IS NOT NULL AND run_id = $run GROUP BY document_id, actor
), current AS (
    SELECT document_id, actor, item, value FROM person_reviews
    SEMI JOIN (SELECT document_id, actor FROM person_status WHERE status = 'Submitted') USING (document_id, actor)
    WHERE kind = 'review' AND value IS NOT NULL AND run_id = $run AND $who IN ('', actor)
), beside AS (
    SELECT CASE group_name WHEN '' THEN 'd' || current.document_id ELSE 'g' || group_name END AS unit,
           current.value AS now, verdict.value AS verdict,
           -- A JSON pointer: an id from somebody's own codebook may hold quotes and dots.
           json_extract(before.given, '/' || replace(replace(current.item, '~', '~0'), '/', '~1'))::VARCHAR AS blind
    FROM current JOIN (SELECT document_id, item, value FROM annotations
                    WHERE run_id = $run AND annotator = 'verdict' AND value IS NOT NULL) AS verdict
        ON verdict.document_id = current.document_id AND verdict.item = current.item
    JOIN documents ON documents.id = current.document_id
    LEFT JOIN before ON before.document_id = current.document_id AND before.actor = current.actor
)
SELECT count(*) FILTER (blind IS NOT NULL), count(*) FILTER (NOT differs(blind, verdict)),
       count(*) FILTER (now <> blind),
       count(*) FILTER (now <> blind
                        AND coalesce({_DISTANCE.format("now")} < {_DISTANCE.format("blind")}, now = verdict)),
       count(*) FILTER (blind IS NULL), count(*) FILTER (blind IS NULL AND NOT differs(now, verdict))
FROM beside GROUP BY unit ORDER BY unit
"""


@dataclass(frozen=True, slots=True)
class ReviewerValues:
    """The value of a reviewer on an item, ``independent`` unless changed while another's labels were visible."""

    document_id: str
    item: str
    actor: str
    value: Value
    independent: bool


@dataclass(frozen=True, slots=True, eq=False)
class Anchoring:
    """Counts of submitted values on items with a verdict, each by document or group of documents, ``[unit]``."""

    blind: Numbers
    """Values given before the reveal."""
    blind_agreed: Numbers
    """Those of them that agree with the verdict; ratings do if they are less than a point apart."""
    changed: Numbers
    """Those of them that were changed afterwards."""
    towards: Numbers
    """Those of them that were changed to the verdict; of ratings, nearer to it."""
    shown: Numbers
    """Values given with the verdict visible."""
    shown_agreed: Numbers
    """Those of them that agree with the verdict."""


class ReviewerAgreement(ReadRepository):
    """Reader of the values of several reviewers."""

    def submitted(self, run_id: str) -> dict[str, int]:
        """Return the number of submitted documents of the run by reviewer."""
        rows = self._connection.rows(
            f"{_OWN} SELECT actor, count(*) FROM own GROUP BY actor ORDER BY actor", {"run": run_id}
        )
        return dict(rows)

    def double(self, run_id: str, items: Sequence[str]) -> list[ReviewerValues]:
        """Return each reviewer's values on documents that at least two have submitted, in the order of the run."""
        rows = self._connection.rows(
            f"""{_OWN}, {_DEPENDENT} SELECT document_id, item, actor, value,
                (document_id, actor) NOT IN (SELECT (document_id, actor) FROM dependent) FROM person_reviews
            SEMI JOIN own USING (document_id, actor) SEMI JOIN several USING (document_id)
            JOIN (SELECT document_id, position FROM run_documents WHERE run_id = $run) USING (document_id)
            WHERE kind = 'review' AND value IS NOT NULL AND list_contains($items, item)
            ORDER BY position, item, actor""",
            {"run": run_id, "items": list(items)},
        )
        return [
            ReviewerValues(document, item, actor, load(value), independent)
            for document, item, actor, value, independent in rows
        ]

    def adjudicated(self) -> dict[tuple[str, str], tuple[Value, str]]:
        """Return the adjudicated value and its author by (document, item)."""
        rows = self._connection.rows(
            "SELECT document_id, item, arg_max_null(value, seq) AS last, arg_max(actor, seq) FROM person_reviews "
            "WHERE kind = 'adjudication' GROUP BY document_id, item HAVING last IS NOT NULL"
        )
        return {(document, item): (load(value), actor) for document, item, value, actor in rows}

    def anchoring(self, run_id: str, who: str = "") -> Anchoring:
        """Return how far the decisions of a reviewer, or of all, follow the verdict, blind and with it visible."""
        rows = self._connection.rows(_BLIND, {"run": run_id, "who": who})
        return Anchoring(*np.array(rows, dtype=np.float64).reshape(len(rows), len(fields(Anchoring))).T)
