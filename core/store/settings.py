"""Named project settings as plain data, such as connections (never keys). Each change is an event."""

from __future__ import annotations

import time
from typing import Any

from core.store.database import Cursor
from core.store.events import NewEvent, record
from core.store.row_conversion import clean, dump, load
from core.store.write_queue import Repository


def put(cursor: Cursor, name: str, value: Any, actor: str) -> None:
    """Set ``name`` inside a transaction of the writer, and record it as an event; an equal value changes nothing."""
    rows = cursor.execute("SELECT value FROM settings WHERE name = ?", [name]).fetchall()
    before, after = (rows[0][0] if rows else None), dump(value)
    if before == after:
        return
    cursor.execute("INSERT OR REPLACE INTO settings VALUES (?, ?, ?)", [clean(name), after, time.time()])
    change = NewEvent("setting", item=name, before=None if before is None else load(before), after=value)
    record(cursor, actor, [change])


class Settings(Repository):
    """Settings of a project. Reads work in any thread; writes return after the commit."""

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a setting, or ``default`` if it was never set."""
        text = self._connection.value("SELECT value FROM settings WHERE name = ?", [name])
        return default if text is None else load(text)

    def set(self, name: str, value: Any, *, actor: str = "") -> None:
        """Set plain data under a name and record the change as an event."""
        self._writer.do(lambda cursor: put(cursor, name, value, actor))
