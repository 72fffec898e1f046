"""What was learned from people: students, how sure they are of each document, and what reads like what."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.documents import Value
from core.store.connection import Connection, Cursor
from core.store.rows import clean, dump, incoming, insert, load, table_of
from core.store.writer import Writer

STUDENT = "student"
"""The annotator under which certainties are kept."""
_CERTAINTY = ("annotator", "document_id", "item", "certainty")
_NEIGHBOUR = ("document_id", "precedent_id", "similarity")


@dataclass(frozen=True, slots=True)
class StoredClassifier:
    """A trained student as stored. ``facts`` is plain data on what it was taught, ``card`` says so in Markdown."""

    hash: str
    body: bytes
    facts: Mapping[str, Any]
    card: str
    at: float
    origin: str = ""
    """The file that it was brought in with, empty for one that was taught here."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A value that people settled for an item, with the document's text."""

    document_id: str
    text: str
    item: str
    value: Value
    actor: str


class ClassifierStore:
    """Reads from any thread; writes return once they are on disk."""

    def __init__(self, connection: Connection, writer: Writer) -> None:
        self._connection = connection
        self._writer = writer

    def decided(self) -> list[Decided]:
        """Everything that people settled, in position order of the documents and then by item."""
        rows = self._connection.rows(
            "SELECT document_id, text, item, value, actor FROM reviewed_labels JOIN documents ON id = document_id "
            "ORDER BY position, item"
        )
        return [Decided(id, text, item, load(value), actor) for id, text, item, value, actor in rows]

    def settled(self) -> int:
        """How many documents people have settled."""
        row = self._connection.row("SELECT count(DISTINCT document_id) FROM reviewed_labels")
        return int(row[0]) if row else 0

    def keep(self, student: StoredClassifier) -> None:
        """Keep a student, one taught here as the latest. Those taught before it go, but for the ones that a run has on
        a seat; those that were brought in stay."""

        def run(cursor: Cursor) -> None:
            cursor.execute(
                "DELETE FROM students WHERE hash = $hash OR ($origin = '' AND origin = '' AND NOT EXISTS "
                "(SELECT 1 FROM runs WHERE contains(settings, 'classifier@' || hash)))",
                {"hash": student.hash, "origin": student.origin},
            )
            cursor.execute(
                "INSERT INTO students VALUES (?, ?, ?, ?, ?, ?)",
                [
                    student.hash, student.body, dump(student.facts), clean(student.card), student.at,
                    clean(student.origin),
                ],
            )  # fmt: skip

        self._writer.do(run)

    def student(self, hash: str | None = None) -> StoredClassifier | None:
        """The student with this hash, or the latest that was taught here; None when there is none."""
        tail = "WHERE origin = '' ORDER BY unix_time DESC LIMIT 1" if hash is None else "WHERE hash = ?"
        row = self._connection.row(
            f"SELECT hash, body, facts, card, unix_time, origin FROM students {tail}", [] if hash is None else [hash]
        )
        return StoredClassifier(row[0], bytes(row[1]), load(row[2]), row[3], row[4], row[5]) if row else None

    def taught(self, hash: str) -> set[str]:
        """Documents that people had submitted by the time at which this student was made: it may know them. None for
        one that was brought in: it was taught elsewhere."""
        rows = self._connection.rows(
            """
            SELECT DISTINCT document_id FROM events WHERE kind = 'review_status' AND after = '"Submitted"'
            AND unix_time <= (SELECT unix_time FROM students WHERE hash = ? AND origin = '')
            """,
            [hash],
        )
        return {id for (id,) in rows}

    def facts(self) -> tuple[str, Mapping[str, Any]] | None:
        """Hash and facts, without its body, of the latest student that was taught here."""
        row = self._connection.row("SELECT hash, facts FROM students WHERE origin = '' ORDER BY unix_time DESC LIMIT 1")
        return (row[0], load(row[1])) if row else None

    def note(
        self,
        document_ids: Sequence[str],
        certainties: Sequence[tuple[str, str, float]],
        neighbours: Sequence[tuple[str, str, float]],
    ) -> None:
        """Put what is known of these documents in the place of what was: (document, item, certainty) of the student
        and (document, precedent, similarity). Meant for some hundreds at a time, so that other writers get through."""

        def run(cursor: Cursor) -> None:
            with incoming(cursor, table_of(("id",), [(id,) for id in document_ids])):
                among = "document_id IN (SELECT id FROM incoming)"
                cursor.execute(f"DELETE FROM certainties WHERE annotator = ? AND {among}", [STUDENT])
                cursor.execute(f"DELETE FROM neighbours WHERE {among}")
            insert(cursor, "certainties", _CERTAINTY, [(STUDENT, *row) for row in certainties])
            insert(cursor, "neighbours", _NEIGHBOUR, list(neighbours))

        if document_ids:
            self._writer.do(run)

    def certainty(self, document_id: str) -> dict[str, float]:
        """The student's certainty of its value for each item of a document; empty before it has read it."""
        rows = self._connection.rows(
            "SELECT item, certainty FROM certainties WHERE annotator = ? AND document_id = ?", [STUDENT, document_id]
        )
        return dict(rows)

    def chosen(self) -> list[tuple[str, bool]]:
        """Every submitted document with whether it was drawn at random (an audit), in the order in which they were
        submitted first. One that two people submitted counts as it came to the first."""
        rows = self._connection.rows(
            "SELECT document_id, arg_min(how, seq) = 'audit' FROM selections "
            "SEMI JOIN (SELECT document_id FROM current_status WHERE status = 'Submitted') USING (document_id) "
            "GROUP BY document_id ORDER BY min(seq)"
        )
        return [(document_id, bool(audit)) for document_id, audit in rows]

    def discarded(self) -> list[str]:
        """Documents that people have put aside."""
        rows = self._connection.rows("SELECT document_id FROM current_status WHERE status = 'Discarded'")
        return [document_id for (document_id,) in rows]

    def examples(self) -> list[tuple[str, str, str, str, int]]:
        """(document, label id, part, text, version) of all words that went from documents into the codebook."""
        rows = self._connection.rows(
            "SELECT document_id, label, part, text, codebook_version FROM examples ORDER BY unix_time, document_id"
        )
        return [(document, label, part, text, version) for document, label, part, text, version in rows]

    def take(self, document_id: str, label: str, part: str, text: str, version: int, *, actor: str) -> None:
        """Note that words of a document are in the codebook from this version on."""
        row = [clean(document_id), label, part, clean(text), version, time.time(), clean(actor)]
        sql = "INSERT INTO examples VALUES (?, ?, ?, ?, ?, ?, ?)"
        self._writer.do(lambda cursor: cursor.execute(sql, row) and None)
