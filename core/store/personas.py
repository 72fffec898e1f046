"""Versions of a project's personas, which never change once saved, and their source documents."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.debate.personas import PersonaSet, parse
from core.hashing import digest
from core.store.connection import Connection, Cursor
from core.store.conversion import clean, load
from core.store.events import NewEvent, record
from core.store.settings import put
from core.store.writer import Writer

DRAFT = "personas draft"
"""The setting that holds the draft."""


@dataclass(frozen=True, slots=True)
class PersonaSetVersion:
    """One saved version, numbered from 1."""

    version: int
    personas: PersonaSet
    note: str
    at: float
    actor: str


class Personas:
    """Persona sets of a project. Reads work in any thread; writes return after the commit."""

    def __init__(self, connection: Connection, writer: Writer) -> None:
        self._connection = connection
        self._writer = writer

    def save(self, cast: PersonaSet, *, note: str = "", actor: str = "") -> int:
        """Save the persona set as a new version, delete the draft and return the version number.

        A set that equals the latest version is not saved again; the latest number is returned.
        """
        body = cast.text

        def run(cursor: Cursor) -> int:
            cursor.execute("DELETE FROM settings WHERE name = ?", [DRAFT])
            latest = "SELECT version, hash FROM persona_versions ORDER BY version DESC LIMIT 1"
            version, last = next(iter(cursor.execute(latest).fetchall()), (0, ""))
            if last == digest(body):
                return int(version)
            cursor.execute(
                "INSERT INTO persona_versions VALUES (?, ?, ?, ?, ?, ?)",
                [version + 1, digest(body), clean(body), clean(note), time.time(), clean(actor)],
            )
            record(
                cursor, actor, [NewEvent("personas", before=version or None, after=version + 1, payload={"note": note})]
            )
            return int(version) + 1

        return self._writer.do(run)

    def latest(self) -> PersonaSetVersion | None:
        """Return the newest version, None before the first is saved."""
        return next(iter(self._read("ORDER BY version DESC LIMIT 1")), None)

    def get(self, version: int) -> PersonaSetVersion | None:
        """Return one version, or None."""
        return next(iter(self._read("WHERE version = ?", [version])), None)

    def history(self) -> list[PersonaSetVersion]:
        """Return all versions, newest first."""
        return self._read("ORDER BY version DESC")

    def save_draft(self, cast: PersonaSet) -> None:
        """Store an edited persona set until ``save`` or ``drop_draft``."""
        data = cast.model_dump(mode="json")
        self._writer.do(lambda cursor: put(cursor, DRAFT, data, actor="", event=False))

    def draft(self) -> PersonaSet | None:
        """Return the draft, None without one."""
        row = self._connection.row("SELECT value FROM settings WHERE name = ?", [DRAFT])
        return parse(load(row[0]), where="the draft") if row else None

    def drop_draft(self) -> None:
        """Delete the draft, if there is one."""
        self._writer.do(lambda cursor: cursor.execute("DELETE FROM settings WHERE name = ?", [DRAFT]) and None)

    def keep_sources(self, sources: Mapping[str, str]) -> None:
        """Store source documents by name; a document with an existing name is replaced."""
        rows = [(clean(name), clean(text), time.time()) for name, text in sources.items()]

        def run(cursor: Cursor) -> None:
            for row in rows:
                cursor.execute("INSERT OR REPLACE INTO persona_sources VALUES (?, ?, ?)", list(row))

        self._writer.do(run)

    def drop_source(self, name: str) -> None:
        """Delete a source document; personas made from it keep their quotations."""
        self._writer.do(lambda cursor: cursor.execute("DELETE FROM persona_sources WHERE name = ?", [name]) and None)

    def sources(self) -> dict[str, str]:
        """Return the source documents by name, in the order of their names."""
        return dict(self._connection.rows("SELECT name, text FROM persona_sources ORDER BY name"))

    def _read(self, tail: str, params: list[Any] | None = None) -> list[PersonaSetVersion]:
        rows = self._connection.rows(
            f"SELECT version, body, note, unix_time, actor FROM persona_versions {tail}", params or ()
        )
        return [
            PersonaSetVersion(version, parse(load(body), where=f"personas version {version}"), note, at, actor)
            for version, body, note, at, actor in rows
        ]
