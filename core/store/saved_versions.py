"""Versions of a project's codebook or personas, which never change once saved, and a draft."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

from core.store.connection import Cursor
from core.store.conversion import add_row, load
from core.store.events import NewEvent, record
from core.store.settings import put
from core.store.writer import Repository

V = TypeVar("V")


class Versions(Repository, Generic[V]):
    """Versions of one kind of content, numbered from 1. ``V`` is a version as it is returned."""

    table: ClassVar[str]
    kind: ClassVar[str]
    """Kind of the event that records a saved version."""
    draft_name: ClassVar[str]
    """The setting that holds the draft."""

    def latest(self) -> V | None:
        """Return the newest version, None before the first is saved."""
        return next(iter(self._read("ORDER BY version DESC LIMIT 1")), None)

    def get(self, version: int) -> V | None:
        """Return one version, or None."""
        return next(iter(self._read("WHERE version = ?", [version])), None)

    def history(self) -> list[V]:
        """Return all versions, newest first."""
        return self._read("ORDER BY version DESC")

    def drop_draft(self) -> None:
        """Delete the draft, if there is one."""
        self._writer.execute("DELETE FROM settings WHERE name = ?", [self.draft_name])

    def _save(self, body: str, hash: str, note: str, actor: str) -> int:
        """Save JSON text as a new version, delete the draft and return the version number.

        Content that equals the latest version is not saved again; the latest number is returned.
        """

        def run(cursor: Cursor) -> int:
            cursor.execute("DELETE FROM settings WHERE name = ?", [self.draft_name])
            latest = f"SELECT version, hash FROM {self.table} ORDER BY version DESC LIMIT 1"
            version, last = next(iter(cursor.execute(latest).fetchall()), (0, ""))
            if last == hash:
                return int(version)
            add_row(cursor, self.table, version + 1, hash, body, note, time.time(), actor)
            event = NewEvent(self.kind, before=version or None, after=version + 1, payload={"note": note})
            record(cursor, actor, [event])
            return int(version) + 1

        return self._writer.do(run)

    def save_draft(self, data: Any, *, actor: str = "") -> None:
        """Store unfinished plain data of an editor, until ``save`` or ``drop_draft``."""
        self._writer.do(lambda cursor: put(cursor, self.draft_name, data, actor=actor, event=False))

    def draft(self) -> Any:
        """Return the plain data of the draft, None without a draft."""
        text = self._connection.value("SELECT value FROM settings WHERE name = ?", [self.draft_name])
        return None if text is None else load(text)

    def _read(self, tail: str, params: Sequence[Any] = ()) -> list[V]:
        rows = self._connection.rows(f"SELECT version, body, note, unix_time, actor FROM {self.table} {tail}", params)
        return [self._version(version, load(body), note, at, actor) for version, body, note, at, actor in rows]

    @abstractmethod
    def _version(self, version: int, data: Any, note: str, at: float, actor: str) -> V:
        """Return a version from its plain data."""
