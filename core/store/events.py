"""Events: every action of a person, appended and never overwritten. Current state is a fold over the events.

Each change of a setting (named plain data, never keys) is an event, and so is all author labelling.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from core.author_labelling.questions import ENTRY, Answer, Entry, Submission
from core.documents import Document, Value, storable
from core.store.annotation_sources import AUTHOR
from core.store.database import Cursor, ReadRepository
from core.store.documents import insert_documents
from core.store.rows import (
    columns_of,
    dump,
    incoming,
    insert,
    load,
    load_dict,
    scalar,
    validated,
    value_of,
    value_text,
)
from core.store.write_queue import Repository

_COLUMNS = (
    "kind", "before", "after", "payload", "item", "document_id", "run_id", "codebook_version", "target", "seq", "act",
    "unix_time", "actor",
)  # fmt: skip
"""Columns in the order of the fields of ``Event``."""

_about = attrgetter("item", "document_id", "run_id", "codebook_version", "target")
SELECT_EVENTS = f"SELECT {', '.join(_COLUMNS)} FROM events"


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its kind, the value before and after, and what it is about.

    Events of one ``act`` were recorded together and are undone together. ``record`` sets number, act and time, and the
    actor if the event has none.
    """

    kind: str
    before: Any = None
    """Plain data, such as an item's value, a status or a setting; also ``after``."""
    after: Any = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    item: str | None = None
    document_id: str | None = None
    run_id: str | None = None
    codebook_version: int | None = None
    target: int | None = None
    """The act that an ``undo`` or ``redo`` refers to."""
    seq: int = 0
    act: int = 0
    at: float = 0.0
    actor: str = ""


def record(cursor: Cursor, actor: str, events: Sequence[Event]) -> list[Event]:
    """Append events as one act inside a transaction of the writer, and return them with time and number."""
    if not events:
        return []
    seqs = cursor.execute("SELECT nextval('event_seq') FROM range(?)", [len(events)]).fetchall()
    act, at = seqs[0][0], time.time()
    rows = []
    for (seq,), event in zip(seqs, events, strict=True):
        content = event.kind, value_text(event.before), value_text(event.after), dump(event.payload)
        rows.append((*content, *_about(event), seq, act, at, storable(event.actor or actor)))
    insert(cursor, "events", _COLUMNS, rows)
    return [event_of(row) for row in rows]


def event_of(row: Sequence[Any]) -> Event:
    """Return the event in a row of ``_COLUMNS``."""
    kind, before, after, payload, *others = row
    return Event(kind, value_of(before), value_of(after), load_dict(payload), *others)


class Events(ReadRepository):
    """Read access to the events."""

    def all(self, *, kinds: Sequence[str] | None = None, limit: int | None = None) -> list[Event]:
        """Return events of these kinds (all when None), newest first, at most ``limit``."""
        rows = self._connection.rows(
            f"{SELECT_EVENTS} WHERE ($kinds IS NULL OR list_contains($kinds, kind)) ORDER BY seq DESC LIMIT $limit",
            {"kinds": kinds and list(kinds), "limit": limit},
        )
        return [event_of(row) for row in rows]


def put_setting(cursor: Cursor, name: str, value: Any, actor: str) -> None:
    """Set ``name`` inside a transaction of the writer, and record it as an event; an equal value changes nothing."""
    rows = cursor.execute("SELECT value FROM settings WHERE name = ?", [name]).fetchall()
    before = rows[0][0] if rows else None
    after = dump(value)
    if before == after:
        return
    cursor.execute("INSERT OR REPLACE INTO settings VALUES (?, ?, ?)", [storable(name), after, time.time()])
    change = Event("setting", item=name, before=None if before is None else load(before), after=value)
    record(cursor, actor, [change])


class Settings(Repository):
    """Settings of a project."""

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a setting, or ``default`` if it was never set; all are read once per commit."""
        texts = self._once_per_commit("", lambda: dict(self._connection.rows("SELECT name, value FROM settings")))
        text = texts.get(name)
        return default if text is None else load(text)

    def set(self, name: str, value: Any, *, actor: str = "") -> None:
        """Set plain data under a name and record the change as an event."""
        self._writer.do(lambda cursor: put_setting(cursor, name, value, actor))


PREFIX = "author_"
"""Kinds of event of this log are ``author_`` and the kind of the entry."""


class AuthorLog(Repository):
    """Append-only log of author labelling."""

    def entries(self) -> list[Entry]:
        """Return all entries, oldest first."""
        rows = self._connection.rows(f"{SELECT_EVENTS} WHERE starts_with(kind, '{PREFIX}') ORDER BY seq")
        return [validated(ENTRY, event_of(row).payload, "an entry of author labelling") for row in rows]

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
        self._writer.do(lambda cursor: _append(cursor, entries, documents, gold or {}))

    def answer(self, answer: Answer, gold: Mapping[tuple[str, str], Value]) -> bool:
        """Append an answer like ``append``; False, and nothing stored, if the annotator had answered the question."""

        def write(cursor: Cursor) -> bool:
            earlier = scalar(
                cursor,
                "SELECT count(*) FROM events WHERE kind = ? AND json_extract_string(payload, '$.question_id') = ? "
                "AND json_extract_string(payload, '$.group') = ? AND json_extract_string(payload, '$.by') = ?",
                [f"{PREFIX}{answer.kind}", answer.question_id, answer.group, answer.by],
            )
            if not earlier:
                _append(cursor, [answer], (), gold)
            return not earlier

        return self._writer.do(write)


def _append(
    cursor: Cursor, entries: Sequence[Entry], documents: Sequence[Document], gold: Mapping[tuple[str, str], Value]
) -> None:
    insert_documents(cursor, documents)
    record(cursor, "", [_event(entry) for entry in entries])  # one statement: many small ones take minutes
    if not gold:
        return
    rows = [(document_id, AUTHOR, item, value_text(value)) for (document_id, item), value in gold.items()]
    with incoming(cursor, columns_of(("document_id", "rater", "item", "value"), rows)):
        cursor.execute(
            "DELETE FROM gold USING incoming AS new WHERE gold.document_id = new.document_id "
            "AND gold.rater = new.rater AND gold.item = new.item"
        )
        cursor.execute("INSERT INTO gold BY NAME SELECT * FROM incoming")


def _event(entry: Entry) -> Event:
    document = getattr(entry, "document_id", None)
    item = None
    if isinstance(entry, Answer):
        document, _, item = entry.question_id.rpartition("/")
    return Event(
        f"{PREFIX}{entry.kind}",
        item=item,
        document_id=document,
        codebook_version=entry.codebook_version if isinstance(entry, Submission) else None,
        payload=ENTRY.dump_python(entry, mode="json"),
        actor=entry.by if isinstance(entry, Answer) else entry.author,
    )
