"""Versions of a project's personas, a draft, and their source documents."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.debate.personas import PersonaSet, parse
from core.hashing import digest
from core.store.connection import Cursor
from core.store.conversion import clean
from core.store.saved_versions import Versions


@dataclass(frozen=True, slots=True)
class PersonaSetVersion:
    """One saved version, numbered from 1."""

    version: int
    personas: PersonaSet
    note: str
    at: float
    actor: str


class Personas(Versions[PersonaSetVersion]):
    """Persona sets of a project."""

    table, kind, draft_name = "persona_versions", "personas", "personas draft"

    def save(self, cast: PersonaSet, *, note: str = "", actor: str = "") -> int:
        """Save the persona set as a new version, delete the draft and return the version number.

        A set that equals the latest version is not saved again; the latest number is returned.
        """
        return self._save(cast.text, digest(cast.text), note, actor)

    def save_draft(self, data: PersonaSet, *, actor: str = "") -> None:
        """Store an edited persona set until ``save`` or ``drop_draft``."""
        super().save_draft(data.model_dump(mode="json"), actor=actor)

    def draft(self) -> PersonaSet | None:
        """Return the draft, None without one."""
        data = super().draft()
        return None if data is None else parse(data, where="the draft")

    def keep_sources(self, sources: Mapping[str, str]) -> None:
        """Store source documents by name; a document with an existing name is replaced."""
        rows = [[clean(name), clean(text), time.time()] for name, text in sources.items()]

        def run(cursor: Cursor) -> None:
            for row in rows:
                cursor.execute("INSERT OR REPLACE INTO persona_sources VALUES (?, ?, ?)", row)

        self._writer.do(run)

    def drop_source(self, name: str) -> None:
        """Delete a source document; personas made from it keep their quotations."""
        self._writer.execute("DELETE FROM persona_sources WHERE name = ?", [name])

    def sources(self) -> dict[str, str]:
        """Return the source documents by name, in the order of their names."""
        return dict(self._connection.rows("SELECT name, text FROM persona_sources ORDER BY name"))

    def _version(self, version: int, data: Any, note: str, at: float, actor: str) -> PersonaSetVersion:
        return PersonaSetVersion(version, parse(data, where=f"personas version {version}"), note, at, actor)
