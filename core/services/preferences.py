"""What Moot remembers for a person across projects: recent projects, connections with their limits, prices, and who
sits where. Never a key."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.llm.connections import Connection
from core.llm.limits import Limits, Price
from core.runs import RoleModel

RECENT = 12
FILE = "preferences.json"


class RoleModels(BaseModel):
    """Saved model preset: ``default_model`` is used for every role without its own model."""

    model_config = ConfigDict(frozen=True)

    default_model: RoleModel
    role_models: dict[str, RoleModel] = Field(default_factory=dict)


class Preferences(BaseModel):
    """Frozen: change by ``model_copy`` and ``save``."""

    model_config = ConfigDict(frozen=True)

    recent: tuple[str, ...] = ()
    connections: tuple[Connection, ...] = Field(default=())
    limits: dict[str, Limits] = Field(default_factory=dict)
    """By the name of the connection."""
    prices: dict[str, Price] = Field(default_factory=dict)
    """By ``connection/model``, or ``connection/*`` for all of its models."""
    ceiling: float | None = Field(default=None, ge=0)
    """Dollars for a million tokens of reply above which models are not offered."""
    presets: dict[str, RoleModels] = Field(default_factory=dict)

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
        return Preferences.model_validate_json((folder() / FILE).read_bytes())
    except (OSError, ValidationError):
        return Preferences()


def save(preferences: Preferences) -> None:
    """Keep these. A folder that cannot be written is no reason to fail: they are a convenience."""
    write(FILE, preferences.model_dump_json(indent=1).encode())


def write(name: str, content: bytes) -> None:
    """Put a file into the folder of preferences, whole or not at all; nothing when it cannot be written."""
    with contextlib.suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder(), prefix=f".{name}-")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, folder() / name)


def folder() -> Path:
    """Where preferences are kept."""
    return platformdirs.user_config_path("moot", appauthor=False)
