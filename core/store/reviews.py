"""Reviews: what a person decided about documents. Events, of which the current state is a fold, so that each can be
undone and none is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from core.documents import Value
from core.store.connection import Connection, Cursor
from core.store.events import COLUMNS, Event, NewEvent, event_of, record
from core.store.rows import clean, load, value_of
from core.store.writer import Writer

ReviewStatus: TypeAlias = Literal["Pending", "Draft", "Submitted", "Discarded"]
REVIEW = "review"
STATUS = "review_status"
MARK = "mark"
ADJUDICATION = "adjudication"
PENDING: ReviewStatus = "Pending"
MarkName: TypeAlias = Literal["note", "tags", "flag", "skip", "blind"]
"""What can be said of a document beside its values: words; a list of error tags; worth another look; put off; the
values that the person gave before the verdict was shown."""

_ACTS = f"kind IN ('{REVIEW}', '{STATUS}', '{MARK}', '{ADJUDICATION}')"
_STANDING = f"{_ACTS} AND actor = $actor"
_RECENT = 5000
"""Events that are looked through for an act that is told again."""


@dataclass(frozen=True, slots=True)
class ReviewChange:
    """One item's value ``before`` (as the person saw it) and ``after``; after None takes an earlier decision back."""

    item: str
    before: Value | None
    after: Value | None


@dataclass(frozen=True, slots=True)
class Mark:
    """Something said of a document beside its values, as plain data; ``after`` None takes it back."""

    name: MarkName
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided about one document: changed values, what else is said of it and, if given, where the
    document now stands. ``drawn`` tells how it came before the person (``how``, ``probability``, ``remaining``); it is
    kept with the status. ``adjudicated`` changes decide between people."""

    document_id: str
    changes: Sequence[ReviewChange] = ()
    status: ReviewStatus | None = None
    marks: Sequence[Mark] = ()
    drawn: Mapping[str, Any] | None = None
    adjudicated: bool = False


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
        seconds: float | None = None,
        once: str = "",
    ) -> list[Event]:
        """Record decisions as one act, which one undo takes back; the events with their time.

        ``run_id`` is the run whose verdicts the person saw, ``seconds`` the time spent. A status that the document has
        already for this person adds no event. An act that was recorded under the name ``once`` before is not recorded
        again: its events are returned.
        """

        def run(cursor: Cursor) -> list[Event]:
            if once and (known := _told_before(cursor, actor, once)):
                return known
            ids = [decision.document_id for decision in decisions if decision.status]
            standing = _statuses(cursor, actor, ids)
            deeds = []
            for decision in decisions:
                payload = {"seconds": seconds, "once": once}
                common: dict[str, Any] = {
                    "document_id": decision.document_id, "run_id": run_id, "codebook_version": codebook_version,
                    "payload": {name: value for name, value in payload.items() if value},
                }  # fmt: skip
                kind = ADJUDICATION if decision.adjudicated else REVIEW
                deeds += [
                    NewEvent(kind, item=change.item, before=change.before, after=change.after, **common)
                    for change in decision.changes
                ]
                deeds += [
                    NewEvent(MARK, item=mark.name, before=mark.before, after=mark.after, **common)
                    for mark in decision.marks
                ]
                before = standing.get(decision.document_id, PENDING)
                if decision.status not in (None, before):
                    common["payload"] |= decision.drawn or {}
                    deeds.append(NewEvent(STATUS, before=before, after=decision.status, **common))
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
        decision = Decision(document_id, (ReviewChange(item, before, after),))
        return self.record([decision], actor=actor, run_id=run_id, codebook_version=codebook_version)[0]

    def set_status(self, document_id: str, status: ReviewStatus, *, actor: str, run_id: str | None = None) -> None:
        """``record`` for a status alone."""
        self.record([Decision(document_id, status=status)], actor=actor, run_id=run_id)

    def undo(self, actor: str, *, once: str = "") -> list[Event]:
        """Take back this person's latest act that still stands; its events, none when there is nothing to undo."""
        return self._turn_back("undo", actor, once)

    def redo(self, actor: str, *, once: str = "") -> list[Event]:
        """Do again what this person undid last; none when nothing was undone, or something was decided since."""
        return self._turn_back("redo", actor, once)

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

    def drawn(self, run_id: str, actor: str) -> int:
        """How many documents of the run this person submitted as they came, not picked by hand."""
        row = self._connection.row(
            "SELECT count(*) FROM selections WHERE run_id = ? AND actor = ? AND how IN ('audit', 'queue')",
            [run_id, actor],
        )
        return int(row[0]) if row else 0

    def marks(self, document_id: str) -> dict[str, Any]:
        """What is said of a document beside its values, by the mark's name."""
        rows = self._connection.rows("SELECT item, value FROM current_marks WHERE document_id = ?", [document_id])
        return {name: load(value) for name, value in rows}

    def blind(self, run_id: str | None = None) -> list[tuple[str, str, dict[str, Value]]]:
        """(document, person, values by item) as first decided before the verdict was shown; undone ones are included,
        since what was seen cannot be unseen. Of one run, or of all."""
        rows = self._connection.rows(
            "SELECT document_id, actor, arg_min(after, seq) FROM events "
            f"WHERE kind = '{MARK}' AND item = 'blind' AND after IS NOT NULL AND ($run IS NULL OR run_id = $run) "
            "GROUP BY document_id, actor ORDER BY document_id, actor",
            {"run": run_id},
        )
        return [(document_id, actor, load(values)) for document_id, actor, values in rows]

    def seen(self, document_id: str, actor: str, run_id: str) -> bool:
        """Whether the verdict was revealed to this person after a blind decision."""
        return bool(
            self._connection.row(
                f"SELECT 1 FROM events WHERE kind = '{MARK}' AND item = 'blind' AND document_id = ? AND actor = ? "
                "AND run_id = ? LIMIT 1",
                [document_id, actor, run_id],
            )
        )

    def _turn_back(self, kind: Literal["undo", "redo"], actor: str, once: str) -> list[Event]:
        def run(cursor: Cursor) -> list[Event]:
            if once and (known := _told_before(cursor, actor, once)):
                return _act(cursor, known[0].target or 0)
            act = _last_standing(cursor, actor) if kind == "undo" else _last_undone(cursor, actor)
            if act is None:
                return []
            record(cursor, actor, [NewEvent(kind, target=act, payload={"once": once} if once else None)])
            return _act(cursor, act)

        return self._writer.do(run)


def _act(cursor: Cursor, act: int) -> list[Event]:
    rows = cursor.execute(f"SELECT {', '.join(COLUMNS)} FROM events WHERE act = ? ORDER BY seq", [act]).fetchall()
    return [event_of(row) for row in rows]


def _told_before(cursor: Cursor, actor: str, once: str) -> list[Event]:
    rows = cursor.execute(
        f"SELECT {', '.join(COLUMNS)} FROM events WHERE seq > (SELECT max(seq) FROM events) - {_RECENT} "
        "AND actor = ? AND json_extract_string(payload, '$.once') = ? ORDER BY seq",
        [clean(actor), once],
    ).fetchall()
    return [event_of(row) for row in rows]


def review_of(row: Sequence[object]) -> Review:
    """The review in a row of (item, value, actor, time, codebook version)."""
    item, value, actor, at, version = row
    return Review(item, value_of(value), actor, at, version)  # type: ignore[arg-type]


def _statuses(cursor: Cursor, actor: str, ids: list[str]) -> dict[str, str]:
    if not ids:
        return {}
    rows = cursor.execute(
        "SELECT document_id, status FROM person_status WHERE actor = ? AND document_id IN (SELECT unnest(?))",
        [clean(actor), ids],
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
