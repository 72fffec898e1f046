"""Reviews: what a person decided about documents. Events, of which the current state is a fold, so that each can be
undone and none is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from core.documents import Value
from core.store.connection import Connection, Cursor
from core.store.events import COLUMNS, Deed, Event, event_of, record
from core.store.rows import value_of
from core.store.writer import Writer

ReviewStatus: TypeAlias = Literal["Pending", "Draft", "Submitted", "Discarded"]
REVIEW = "review"
STATUS = "review_status"
PENDING: ReviewStatus = "Pending"

_STANDING = f"kind IN ('{REVIEW}', '{STATUS}') AND actor = $actor"


@dataclass(frozen=True, slots=True)
class Change:
    """One item's value ``before`` (as the person saw it) and ``after``; after None takes an earlier decision back."""

    item: str
    before: Value | None
    after: Value | None


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided about one document: changed values and, if given, where the document now stands."""

    document_id: str
    changes: Sequence[Change] = ()
    status: ReviewStatus | None = None


@dataclass(frozen=True, slots=True)
class Review:
    """The current decision on an item. ``codebook_version`` is the one it was made under, None when there was none;
    ``at`` is in Unix seconds."""

    item: str
    value: Value
    actor: str
    at: float
    codebook_version: int | None


class Reviews:
    """Reads from any thread; writes return once they are on disk."""

    def __init__(self, connection: Connection, writer: Writer) -> None:
        self._connection = connection
        self._writer = writer

    def record(
        self,
        decisions: Sequence[Decision],
        *,
        actor: str,
        run_id: str | None = None,
        codebook_version: int | None = None,
    ) -> list[Event]:
        """Record decisions as one act, which one undo takes back; the events with their time.

        ``run_id`` is the run whose verdicts the person saw. A status that the document has already adds no event.
        """

        def run(cursor: Cursor) -> list[Event]:
            standing = _statuses(cursor, [decision.document_id for decision in decisions if decision.status])
            deeds = []
            for decision in decisions:
                where = {
                    "document_id": decision.document_id, "run_id": run_id, "codebook_version": codebook_version,
                }  # fmt: skip
                deeds += [
                    Deed(REVIEW, item=change.item, before=change.before, after=change.after, **where)  # type: ignore[arg-type]
                    for change in decision.changes
                ]
                before = standing.get(decision.document_id, PENDING)
                if decision.status not in (None, before):
                    deeds.append(Deed(STATUS, before=before, after=decision.status, **where))  # type: ignore[arg-type]
            return record(cursor, actor, deeds)

        return self._writer.do(run)

    def record_review(
        self,
        document_id: str,
        item: str,
        before: Value | None,
        after: Value | None,
        *,
        actor: str,
        run_id: str | None = None,
        codebook_version: int | None = None,
    ) -> Event:
        """``record`` for one cell."""
        decision = Decision(document_id, (Change(item, before, after),))
        return self.record([decision], actor=actor, run_id=run_id, codebook_version=codebook_version)[0]

    def set_status(self, document_id: str, status: ReviewStatus, *, actor: str, run_id: str | None = None) -> None:
        """``record`` for a status alone."""
        self.record([Decision(document_id, status=status)], actor=actor, run_id=run_id)

    def undo(self, actor: str) -> list[Event]:
        """Take back this person's latest act that still stands; its events, none when there is nothing to undo."""
        return self._turn_back("undo", actor)

    def redo(self, actor: str) -> list[Event]:
        """Do again what this person undid last; none when nothing was undone, or something was decided since."""
        return self._turn_back("redo", actor)

    def current(self, document_id: str) -> dict[str, Review]:
        """The current decisions on a document by item."""
        rows = self._connection.rows(
            "SELECT item, value, actor, unix_time, codebook_version FROM current_reviews WHERE document_id = ? "
            "ORDER BY item",
            [document_id],
        )
        return {row[0]: review_of(row) for row in rows}

    def status(self, document_id: str) -> ReviewStatus:
        """Where the document stands; Pending when nobody touched it."""
        row = self._connection.row("SELECT status FROM current_status WHERE document_id = ?", [document_id])
        return row[0] if row else PENDING

    def status_counts(self) -> dict[str, int]:
        """Documents of the project by status; a status without any is left out."""
        rows = self._connection.rows(
            "SELECT coalesce(status, $pending) AS standing, count(*) FROM documents LEFT JOIN current_status "
            "ON document_id = id GROUP BY standing ORDER BY standing",
            {"pending": PENDING},
        )
        return dict(rows)

    def history(self, document_id: str, item: str | None = None) -> list[Event]:
        """Everything people did to a document (or to one cell of it), oldest first, undone acts and undos included."""
        rows = self._connection.rows(
            f"WITH own AS (SELECT * FROM events WHERE document_id = $document AND ($item IS NULL OR item = $item)) "
            f"SELECT {', '.join(COLUMNS)} FROM own UNION ALL BY NAME "
            f"SELECT {', '.join(COLUMNS)} FROM events WHERE target IN (SELECT act FROM own) ORDER BY seq",
            {"document": document_id, "item": item},
        )
        return [event_of(row) for row in rows]

    def _turn_back(self, kind: Literal["undo", "redo"], actor: str) -> list[Event]:
        def run(cursor: Cursor) -> list[Event]:
            act = _last_standing(cursor, actor) if kind == "undo" else _last_undone(cursor, actor)
            if act is None:
                return []
            rows = cursor.execute(
                f"SELECT {', '.join(COLUMNS)} FROM events WHERE act = ? ORDER BY seq", [act]
            ).fetchall()
            record(cursor, actor, [Deed(kind, target=act)])
            return [event_of(row) for row in rows]

        return self._writer.do(run)


def review_of(row: Sequence[object]) -> Review:
    """The review in a row of (item, value, actor, time, codebook version)."""
    item, value, actor, at, version = row
    return Review(item, value_of(value), actor, at, version)  # type: ignore[arg-type]


def _statuses(cursor: Cursor, ids: list[str]) -> dict[str, str]:
    if not ids:
        return {}
    rows = cursor.execute(
        "SELECT document_id, status FROM current_status WHERE document_id IN (SELECT unnest(?))", [ids]
    ).fetchall()
    return dict(rows)


def _last_standing(cursor: Cursor, actor: str) -> int | None:
    rows = cursor.execute(
        f"SELECT max(act) FROM events WHERE {_STANDING} AND act NOT IN (SELECT act FROM undone_acts)", {"actor": actor}
    ).fetchall()
    return rows[0][0] if rows else None


def _last_undone(cursor: Cursor, actor: str) -> int | None:
    """The act undone last, unless this person decided something after undoing it."""
    rows = cursor.execute(
        "SELECT target FROM events WHERE kind = 'undo' AND actor = $actor AND target IN (SELECT act FROM undone_acts) "
        f"AND seq > (SELECT coalesce(max(seq), 0) FROM events WHERE {_STANDING}) ORDER BY seq DESC LIMIT 1",
        {"actor": actor},
    ).fetchall()
    return rows[0][0] if rows else None
