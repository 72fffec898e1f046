"""Saved versions, which never change, and drafts: of a project's codebook, its personas and its prompt templates."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from core.codebook import Codebook, parse_codebook
from core.debate.personas import PersonaSet
from core.debate.personas import parse as parse_personas
from core.hashing import digest
from core.prompts import OWN
from core.runs import Template
from core.store.connection import Cursor
from core.store.conversion import add_row, clean, dump, load
from core.store.events import NewEvent, record
from core.store.settings import put
from core.store.writer import Repository

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class SavedVersion:
    """One saved version, numbered from 1."""

    version: int
    note: str
    at: float
    actor: str


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


@dataclass(frozen=True, slots=True)
class CodebookVersion(SavedVersion):
    """One saved version of the codebook."""

    codebook: Codebook


class Codebooks(Versions[CodebookVersion]):
    """Codebook versions of a project."""

    table, kind, draft_name = "codebook_versions", "codebook", "codebook draft"

    def save(self, codebook: Codebook, *, note: str = "", actor: str = "") -> int:
        """Save the codebook as a new version, delete the draft and return the version number.

        A codebook that equals the latest version is not saved again; the latest number is returned.
        """
        return self._save(dump(codebook.model_dump(mode="json")), codebook.hash, note, actor)

    def _version(self, version: int, data: Any, note: str, at: float, actor: str) -> CodebookVersion:
        return CodebookVersion(version, note, at, actor, parse_codebook(data, where=f"codebook version {version}"))


@dataclass(frozen=True, slots=True)
class PersonaSetVersion(SavedVersion):
    """One saved version of the personas."""

    personas: PersonaSet


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
        return None if data is None else parse_personas(data, where="the draft")

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
        return PersonaSetVersion(version, note, at, actor, parse_personas(data, where=f"personas version {version}"))


PROMOTED = "promoted prompts"
"""Name of the setting that maps a slot to the version that new runs use; other slots use the shipped version."""
PROMPT = "prompt"
"""Kind of the event that records a saved version."""

_VERSION = "name, slot, number, parent, text, note, unix_time, actor"
_PROMOTED = f"""SELECT {_VERSION} FROM prompt_versions
WHERE name IN (SELECT unnest(json_extract_string(value, '$.*')) FROM settings WHERE name = ?)"""


@dataclass(frozen=True, slots=True)
class PromptVersion:
    """A version of the template in ``slot`` ('ecj/judge'), under the name that it has in the settings of a run.

    ``parent`` is the name of the version that it was made from, empty for a shipped version.
    """

    name: str
    slot: str
    number: int
    parent: str
    text: str
    note: str = ""
    at: float = 0.0
    actor: str = ""

    @property
    def shipped(self) -> bool:
        """True for the version that comes with Moot."""
        return not self.parent

    @property
    def label(self) -> str:
        """Display name: "v2", or "v1 shipped"."""
        return f"v{self.number}{' shipped' if self.shipped else ''}"

    @property
    def template(self) -> Template:
        """Template as a run freezes it."""
        return Template(name=self.name, text=self.text)


@dataclass(frozen=True, slots=True)
class PromptDraft:
    """An unfinished text in a slot, based on the version ``parent``."""

    slot: str
    parent: str
    text: str
    at: float


class Prompts(Repository):
    """Prompt versions of a project. Reads work in any thread; writes return after the commit."""

    def save(self, slot: str, text: str, *, parent: str, after: int, note: str = "", actor: str = "") -> PromptVersion:
        """Save a text as a new version of a slot, delete the slot's draft and return the version.

        The new number follows the highest saved number and ``after``, the number of the newest shipped version. A text
        that was saved before is not saved again; the existing version is returned.
        """

        def run(cursor: Cursor) -> str:
            cursor.execute("DELETE FROM prompt_drafts WHERE slot = ?", [slot])
            same = cursor.execute("SELECT name FROM prompt_versions WHERE slot = ? AND text = ?", [slot, clean(text)])
            if rows := same.fetchall():
                return str(rows[0][0])
            top = cursor.execute("SELECT coalesce(max(number), 0) FROM prompt_versions WHERE slot = ?", [slot])
            number = max(after, int(top.fetchall()[0][0])) + 1
            name = f"{OWN}/{slot}.v{number}"
            add_row(cursor, "prompt_versions", name, slot, number, parent, text, note, time.time(), actor)
            record(cursor, actor, [NewEvent(PROMPT, item=slot, before=parent, after=name, payload={"note": note})])
            return name

        name = self._writer.do(run)
        return next(each for each in self.versions(slot) if each.name == name)

    def versions(self, slot: str | None = None) -> list[PromptVersion]:
        """Return the saved versions of a slot (of all slots if None), oldest first."""
        rows = self._connection.rows(
            f"SELECT {_VERSION} FROM prompt_versions WHERE $slot IS NULL OR slot = $slot ORDER BY slot, number",
            {"slot": slot},
        )
        return [PromptVersion(*row) for row in rows]

    def keep_draft(self, slot: str, text: str, *, parent: str) -> None:
        """Store an unfinished text until it is saved or dropped."""
        values = [slot, parent, clean(text), time.time()]
        self._writer.execute("INSERT OR REPLACE INTO prompt_drafts VALUES (?, ?, ?, ?)", values)

    def drop_draft(self, slot: str) -> None:
        """Delete the draft of a slot, if there is one."""
        self._writer.execute("DELETE FROM prompt_drafts WHERE slot = ?", [slot])

    def drafts(self) -> dict[str, PromptDraft]:
        """Return the drafts by slot."""
        rows = self._connection.rows("SELECT slot, parent, text, unix_time FROM prompt_drafts ORDER BY slot")
        return {row[0]: PromptDraft(*row) for row in rows}

    def promoted(self) -> dict[str, PromptVersion]:
        """Return the versions that new runs use instead of the shipped ones, by slot."""
        rows = self._connection.rows(_PROMOTED, [PROMOTED])
        return {row[1]: PromptVersion(*row) for row in rows}

    def promote(self, slot: str, name: str | None, *, actor: str = "") -> None:
        """Make new runs use this version of a slot; None restores the shipped version. Recorded as an event."""

        def run(cursor: Cursor) -> None:
            now = {row[1]: row[0] for row in cursor.execute(_PROMOTED, [PROMOTED]).fetchall() if row[1] != slot}
            put(cursor, PROMOTED, now | ({slot: name} if name else {}), actor=actor, event=True)

        self._writer.do(run)
