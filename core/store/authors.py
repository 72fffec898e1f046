"""The log of author labelling: entries as events, with the documents and gold labels that they create."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from core.authors.questions import ENTRY, Answer, Entry, Submission
from core.documents import Document, Value
from core.store.annotators import AUTHOR
from core.store.database import Cursor
from core.store.documents import insert_documents
from core.store.events import SELECT_EVENTS, NewEvent, event_of, record
from core.store.row_conversion import add_row, clean, value_text
from core.store.write_queue import Repository

PREFIX = "author_"
"""Kinds of event of this log are ``author_`` and the kind of the entry."""


class AuthorLog(Repository):
    """Append-only log of author labelling. Reads work in any thread; writes return after the commit."""

    def entries(self) -> list[Entry]:
        """Return all entries, oldest first."""
        rows = self._connection.rows(f"{SELECT_EVENTS} WHERE starts_with(kind, '{PREFIX}') ORDER BY seq")
        return [ENTRY.validate_python(event_of(row).payload) for row in rows]

    def append(
        self,
        entries: Sequence[Entry],
        *,
        documents: Sequence[Document] = (),
        gold: Mapping[tuple[str, str], Value] | None = None,
    ) -> None:
        """Append entries in one transaction, with new documents and the author's labels by (document id, item).

        A label replaces the author's earlier one for the item. An existing document stays as it is.
        """

        def run(cursor: Cursor) -> None:
            insert_documents(cursor, documents)
            for actor, own in groupby(entries, _actor):
                record(cursor, actor, [_event(entry) for entry in own])
            for (document_id, item), value in (gold or {}).items():
                cursor.execute(
                    "DELETE FROM gold WHERE document_id = ? AND rater = ? AND item = ?", [document_id, AUTHOR, item]
                )
                add_row(cursor, "gold", document_id, AUTHOR, item, value_text(value))

        self._writer.do(run)


def _actor(entry: Entry) -> str:
    return clean(entry.by if isinstance(entry, Answer) else entry.author)


def _event(entry: Entry) -> NewEvent:
    document = getattr(entry, "document_id", None)
    item = None
    if isinstance(entry, Answer):
        document, _, item = entry.question_id.rpartition("/")
    return NewEvent(
        f"{PREFIX}{entry.kind}",
        item=item,
        document_id=document,
        codebook_version=entry.codebook_version if isinstance(entry, Submission) else None,
        payload=ENTRY.dump_python(entry, mode="json"),
    )
