"""What Moot remembers for a person across projects: recent projects and connections. Never a key."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.llm.connections import Connection

RECENT = 12


class Preferences(BaseModel):
    """Frozen: change by ``model_copy`` and ``save``."""

    model_config = ConfigDict(frozen=True)

    recent: tuple[str, ...] = ()
    connections: tuple[Connection, ...] = Field(default=())

    def with_recent(self, path: Path) -> Preferences:
        """This project first, at most ``RECENT`` in all."""
        others = tuple(other for other in self.recent if other != str(path))
        return self.model_copy(update={"recent": (str(path), *others)[:RECENT]})

    def with_connection(self, place: Connection) -> Preferences:
        """This connection added, or in the place of the one of its name."""
        others = tuple(other for other in self.connections if other.name != place.name)
        return self.model_copy(update={"connections": (*others, place)})

    def without_connection(self, name: str) -> Preferences:
        """The connection of this name taken out."""
        return self.model_copy(update={"connections": tuple(other for other in self.connections if other.name != name)})


def projects_folder() -> Path:
    """Where projects go when nobody says where."""
    return platformdirs.user_data_path("moot", appauthor=False)


def load() -> Preferences:
    """What was saved last; defaults when nothing was or it cannot be read."""
    try:
        return Preferences.model_validate_json(_file().read_bytes())
    except (OSError, ValidationError):
        return Preferences()


def save(preferences: Preferences) -> None:
    """Keep these. A folder that cannot be written is no reason to fail: they are a convenience."""
    with contextlib.suppress(OSError):
        _file().parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=_file().parent, prefix=".preferences-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(preferences.model_dump_json(indent=1))
        os.replace(name, _file())


def _file() -> Path:
    return platformdirs.user_config_path("moot", appauthor=False) / "preferences.json"
