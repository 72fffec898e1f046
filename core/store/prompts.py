"""The project's own versions of prompt templates, which never change once saved, and their drafts."""

from __future__ import annotations

import time
from dataclasses import dataclass

from core.prompts import OWN
from core.runs import Template
from core.store.connection import Cursor
from core.store.conversion import add_row, clean
from core.store.events import NewEvent, record
from core.store.settings import put
from core.store.writer import Repository

PROMOTED = "promoted prompts"
"""Name of the setting that maps a slot to the version that new runs use; other slots use the shipped version."""
PROMPT = "prompt"
"""Kind of the event that records a saved version."""

_VERSION = "name, slot, number, parent, text, note, unix_time, actor"
_PROMOTED = f"""SELECT {_VERSION} FROM prompt_versions
WHERE name IN (SELECT unnest(json_extract_string(value, '$.*')) FROM settings WHERE name = ?)"""


@dataclass(frozen=True, slots=True)
class Version:
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

    def save(self, slot: str, text: str, *, parent: str, after: int, note: str = "", actor: str = "") -> Version:
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

    def versions(self, slot: str | None = None) -> list[Version]:
        """Return the saved versions of a slot (of all slots if None), oldest first."""
        rows = self._connection.rows(
            f"SELECT {_VERSION} FROM prompt_versions WHERE $slot IS NULL OR slot = $slot ORDER BY slot, number",
            {"slot": slot},
        )
        return [Version(*row) for row in rows]

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

    def promoted(self) -> dict[str, Version]:
        """Return the versions that new runs use instead of the shipped ones, by slot."""
        rows = self._connection.rows(_PROMOTED, [PROMOTED])
        return {row[1]: Version(*row) for row in rows}

    def promote(self, slot: str, name: str | None, *, actor: str = "") -> None:
        """Make new runs use this version of a slot; None restores the shipped version. Recorded as an event."""

        def run(cursor: Cursor) -> None:
            now = {row[1]: row[0] for row in cursor.execute(_PROMOTED, [PROMOTED]).fetchall() if row[1] != slot}
            put(cursor, PROMOTED, now | ({slot: name} if name else {}), actor=actor, event=True)

        self._writer.do(run)
