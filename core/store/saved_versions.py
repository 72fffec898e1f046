"""Saved versions, which never change, and drafts: of a project's codebook, its personas and its prompt templates."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Generic, TypeVar

from core.codebook import Codebook, parse_codebook
from core.debate.personas import PersonaSet
from core.debate.personas import parse as parse_personas
from core.documents import storable
from core.errors import CodebookError, UsageError
from core.hashing import digest
from core.prompts import OWN
from core.runs import Template
from core.store.database import Cursor, DatabaseConnection
from core.store.events import Event, put_setting, record
from core.store.rows import add_row, dump, load, scalar
from core.store.write_queue import Repository, Writer

C = TypeVar("C")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class SavedVersion:
    """One saved version, numbered from 1."""

    number: int
    note: str
    at: float


class Versions(Repository, Generic[C, V]):
    """Versions of one kind of content ``C``, numbered from 1, and its draft. ``V`` is a version as it is returned."""

    table: ClassVar[str]
    kind: ClassVar[str]
    """Kind of the event that records a saved version."""
    draft_name: ClassVar[str]
    """The setting that holds the draft."""
    version_type: Callable[[int, str, float, C], V]

    def __init__(self, connection: DatabaseConnection, writer: Writer) -> None:
        super().__init__(connection, writer)
        self._contents: dict[str, C] = {}
        """Content of the versions read so far, by its JSON text."""

    def latest(self) -> V | None:
        """Return the newest version, None before the first is saved."""
        return next(iter(self._read("ORDER BY version DESC LIMIT 1")), None)

    def get(self, version: int) -> V | None:
        """Return one version, or None."""
        return next(iter(self._read("WHERE version = ?", version)), None)

    def history(self) -> list[V]:
        """Return all versions, newest first."""
        return self._read("ORDER BY version DESC")

    def save(self, content: C, *, note: str = "", actor: str = "", keep_draft: bool = False) -> int:
        """Save content as a new version unless it equals the latest, delete the draft and return the version number.

        ``keep_draft`` is for content that does not come from the editor of the draft.
        """
        body, hash = self._pack(content)

        def write(cursor: Cursor) -> int:
            if not keep_draft:
                self._delete_draft(cursor)
            version, last = self._latest_hash(cursor)
            if last == hash:
                return version
            row = {"hash": hash, "body": body, "note": note, "unix_time": time.time(), "actor": actor}
            add_row(cursor, self.table, version=version + 1, **row)
            event = Event(self.kind, before=version or None, after=version + 1, payload={"note": note})
            record(cursor, actor, [event])
            return version + 1

        return self._writer.do(write)

    def save_draft(self, content: C) -> None:
        """Store unsaved content of an editor as the draft; content that equals the latest version deletes the draft."""
        body, hash = self._pack(content)

        def write(cursor: Cursor) -> None:
            self._delete_draft(cursor)
            if self._latest_hash(cursor)[1] != hash:
                add_row(cursor, "settings", name=self.draft_name, value=body, unix_time=time.time())

        self._writer.do(write)

    def drop_draft(self) -> None:
        """Delete the draft, if there is one."""
        self._writer.do(self._delete_draft)

    def draft(self) -> C | None:
        """Return the draft; None without one, and for one that cannot be read, as of another version of Moot."""
        text = self._connection.value("SELECT value FROM settings WHERE name = ?", [self.draft_name])
        with suppress(CodebookError, UsageError):
            return None if text is None else self._parse(load(text), "the draft")
        return None

    def _delete_draft(self, cursor: Cursor) -> None:
        cursor.execute("DELETE FROM settings WHERE name = ?", [self.draft_name])

    def _latest_hash(self, cursor: Cursor) -> tuple[int, str]:
        """Return number and hash of the latest version; 0 and an empty hash before the first."""
        rows = cursor.execute(f"SELECT version, hash FROM {self.table} ORDER BY version DESC LIMIT 1").fetchall()
        return rows[0] if rows else (0, "")

    def _read(self, tail: str, *params: Any) -> list[V]:
        """Return the versions of a query; they are read from the file once per commit, and parsed once."""
        sql = f"SELECT version, body, note, unix_time FROM {self.table} {tail}"

        def read() -> tuple[V, ...]:
            return tuple(
                self.version_type(version, note, at, self._content(version, body))
                for version, body, note, at in self._connection.rows(sql, params)
            )

        return list(self._once_per_commit((tail, *params), read))

    def _content(self, version: int, body: str) -> C:
        if body not in self._contents:
            self._contents[body] = self._parse(load(body), f"{self.kind} version {version}")
        return self._contents[body]

    @abstractmethod
    def _pack(self, content: C) -> tuple[str, str]:
        """Return content as JSON text, and its hash."""

    @abstractmethod
    def _parse(self, data: Any, source: str) -> C:
        """Return content from its plain data."""


@dataclass(frozen=True, slots=True)
class CodebookVersion(SavedVersion):
    """One saved version of the codebook."""

    codebook: Codebook


class Codebooks(Versions[Codebook, CodebookVersion]):
    """Codebook versions of a project."""

    table, kind, draft_name = "codebook_versions", "codebook", "codebook draft"
    version_type = CodebookVersion

    def _pack(self, content: Codebook) -> tuple[str, str]:
        return dump(content.model_dump(mode="json")), content.hash

    def _parse(self, data: Any, source: str) -> Codebook:
        return parse_codebook(data, source=source, is_stored=True)


@dataclass(frozen=True, slots=True)
class PersonaSetVersion(SavedVersion):
    """One saved version of the personas."""

    personas: PersonaSet


class Personas(Versions[PersonaSet, PersonaSetVersion]):
    """Persona sets of a project."""

    table, kind, draft_name = "persona_versions", "personas", "personas draft"
    version_type = PersonaSetVersion

    def _pack(self, content: PersonaSet) -> tuple[str, str]:
        return content.text, digest(content.text)

    def _parse(self, data: Any, source: str) -> PersonaSet:
        return parse_personas(data, source=source)

    def keep_sources(self, sources: Mapping[str, str]) -> None:
        """Store source documents by name; a document with an existing name is replaced."""
        rows = [[storable(name), storable(text), time.time()] for name, text in sources.items()]

        def write(cursor: Cursor) -> None:
            for row in rows:
                cursor.execute("INSERT OR REPLACE INTO persona_sources VALUES (?, ?, ?)", row)

        self._writer.do(write)

    def drop_source(self, name: str) -> None:
        """Delete a source document; personas made from it keep their quotations."""
        self._writer.execute("DELETE FROM persona_sources WHERE name = ?", [name])

    def sources(self) -> dict[str, str]:
        """Return the source documents by name, in the order of their names."""
        return dict(self._connection.rows("SELECT name, text FROM persona_sources ORDER BY name"))


PROMOTED_SETTING = "promoted prompts"
"""Name of the setting that maps a slot to the version that new runs use; other slots use the shipped version."""
PROMPT = "prompt"
"""Kind of the event that records a saved version."""

_VERSION = "name, slot, number, parent, text, note"
_PROMOTED_VERSIONS = f"""SELECT {_VERSION} FROM prompt_versions
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

    parent: str
    text: str
    at: float


class Prompts(Repository):
    """Prompt versions of a project."""

    def save(self, slot: str, text: str, *, parent: str, after: int, note: str = "") -> PromptVersion:
        """Save a text as a version of a slot unless it was saved before, delete the draft and return the version.

        The new number follows the highest saved number and ``after``, the number of the newest shipped version.
        """

        def write(cursor: Cursor) -> PromptVersion:
            cursor.execute("DELETE FROM prompt_drafts WHERE slot = ?", [slot])
            same = f"SELECT {_VERSION} FROM prompt_versions WHERE slot = ? AND text = ?"
            if rows := cursor.execute(same, [slot, storable(text)]).fetchall():
                return PromptVersion(*rows[0])
            top = scalar(cursor, "SELECT coalesce(max(number), 0) FROM prompt_versions WHERE slot = ?", [slot])
            number = max(after, top) + 1
            name = f"{OWN}/{slot}.v{number}"
            version = PromptVersion(name, slot, number, parent, storable(text), storable(note))
            add_row(cursor, "prompt_versions", **asdict(version), unix_time=time.time(), actor="")
            record(cursor, "", [Event(PROMPT, item=slot, before=parent, after=name, payload={"note": note})])
            return version

        return self._writer.do(write)

    def versions(self, slot: str) -> list[PromptVersion]:
        """Return the saved versions of a slot, oldest first; those of all slots are read once per commit."""
        sql = f"SELECT {_VERSION} FROM prompt_versions ORDER BY number"
        rows = self._once_per_commit("", lambda: self._connection.rows(sql))
        return [PromptVersion(*row) for row in rows if row[1] == slot]

    def keep_draft(self, slot: str, text: str, *, parent: str) -> None:
        """Store an unfinished text until it is saved or dropped."""
        values = [slot, parent, storable(text), time.time()]
        self._writer.execute("INSERT OR REPLACE INTO prompt_drafts VALUES (?, ?, ?, ?)", values)

    def drop_draft(self, slot: str) -> None:
        """Delete the draft of a slot, if there is one."""
        self._writer.execute("DELETE FROM prompt_drafts WHERE slot = ?", [slot])

    def draft(self, slot: str) -> PromptDraft | None:
        """Return the draft of a slot, None without one."""
        row = self._connection.row("SELECT parent, text, unix_time FROM prompt_drafts WHERE slot = ?", [slot])
        return PromptDraft(*row) if row else None

    def promoted(self) -> dict[str, PromptVersion]:
        """Return the versions that new runs use instead of the shipped ones, by slot."""
        rows = self._connection.rows(_PROMOTED_VERSIONS, [PROMOTED_SETTING])
        return {row[1]: PromptVersion(*row) for row in rows}

    def promote(self, slot: str, name: str | None) -> None:
        """Make new runs use this version of a slot; None restores the shipped version. Recorded as an event."""

        def write(cursor: Cursor) -> None:
            rows = cursor.execute(_PROMOTED_VERSIONS, [PROMOTED_SETTING]).fetchall()
            names = {row[1]: row[0] for row in rows} | {slot: name}
            put_setting(cursor, PROMOTED_SETTING, {slot: name for slot, name in names.items() if name}, "")

        self._writer.do(write)
