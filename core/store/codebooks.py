"""Versions of the codebook, which never change once saved, and a draft."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from core.codebook import Codebook, parse_codebook
from core.store.connection import Connection, Cursor
from core.store.conversion import clean, dump, load
from core.store.events import NewEvent, record
from core.store.settings import put
from core.store.writer import Writer

DRAFT = "codebook draft"
"""The setting that holds the draft."""


@dataclass(frozen=True, slots=True)
class CodebookVersion:
    """One saved version, numbered from 1."""

    version: int
    codebook: Codebook
    note: str
    at: float
    actor: str


class Codebooks:
    """Codebook versions of a project. Reads work in any thread; writes return after the commit."""

    def __init__(self, connection: Connection, writer: Writer) -> None:
        self._connection = connection
        self._writer = writer

    def save(self, codebook: Codebook, *, note: str = "", actor: str = "") -> int:
        """Save the codebook as a new version, delete the draft and return the version number.

        A codebook that equals the latest version is not saved again; the latest number is returned.
        """

        def run(cursor: Cursor) -> int:
            cursor.execute("DELETE FROM settings WHERE name = ?", [DRAFT])
            latest = "SELECT version, hash FROM codebook_versions ORDER BY version DESC LIMIT 1"
            version, last = next(iter(cursor.execute(latest).fetchall()), (0, ""))
            if last == codebook.hash:
                return int(version)
            cursor.execute(
                "INSERT INTO codebook_versions VALUES (?, ?, ?, ?, ?, ?)",
                [version + 1, codebook.hash, dump(codebook.model_dump(mode="json")), clean(note), time.time(),
                 clean(actor)],
            )  # fmt: skip
            record(
                cursor,
                actor,
                [NewEvent("codebook", before=version or None, after=version + 1, payload={"note": note})],
            )
            return int(version) + 1

        return self._writer.do(run)

    def latest(self) -> CodebookVersion | None:
        """Return the newest version, None before the first is saved."""
        return self._find("ORDER BY version DESC LIMIT 1")

    def get(self, version: int) -> CodebookVersion | None:
        """Return one version, or None."""
        return self._find("WHERE version = ?", [version])

    def history(self) -> list[CodebookVersion]:
        """Return all versions, newest first."""
        return self._read("ORDER BY version DESC")

    def save_draft(self, data: Any, *, actor: str = "") -> None:
        """Store unfinished plain data of the codebook editor, until ``save`` or ``drop_draft``."""
        self._writer.do(lambda cursor: put(cursor, DRAFT, data, actor=actor, event=False))

    def draft(self) -> Any:
        """Return the plain data of the draft, None without a draft."""
        row = self._connection.row("SELECT value FROM settings WHERE name = ?", [DRAFT])
        return load(row[0]) if row else None

    def drop_draft(self) -> None:
        """Delete the draft, if there is one."""
        self._writer.do(lambda cursor: cursor.execute("DELETE FROM settings WHERE name = ?", [DRAFT]) and None)

    def _find(self, tail: str, params: list[Any] | None = None) -> CodebookVersion | None:
        return next(iter(self._read(tail, params)), None)

    def _read(self, tail: str, params: list[Any] | None = None) -> list[CodebookVersion]:
        rows = self._connection.rows(
            f"SELECT version, body, note, unix_time, actor FROM codebook_versions {tail}", params or ()
        )
        return [
            CodebookVersion(version, parse_codebook(load(body), where=f"codebook version {version}"), note, at, actor)
            for version, body, note, at, actor in rows
        ]
