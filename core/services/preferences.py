"""User preferences across projects: recent projects, connections with limits, prices, model presets. Never a key."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import platformdirs
from filelock import FileLock
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from core.files import atomic_write, read_shared, replace_shared
from core.llm.connections import Connection, Limits
from core.llm.prices import Price
from core.runs import RoleModel

if TYPE_CHECKING:
    from core.llm.model_library import ModelLibrary

logger = logging.getLogger(__name__)

MAX_RECENT_PROJECTS = 12
FILE = "preferences.json"
UNREADABLE = f"{FILE}.unreadable"
"""Name of a file that could not be read completely, after it was replaced."""
LOCK = f"{FILE}.lock"
LOCK_SECONDS = 5.0
"""Time after which a lock that another process holds is ignored."""


class RoleModels(BaseModel):
    """Saved model preset: ``default_model`` is used for every role without its own model."""

    model_config = ConfigDict(frozen=True)

    default_model: RoleModel
    role_models: dict[str, RoleModel] = Field(default_factory=dict)


class Preferences(BaseModel):
    """Preferences of the user. Frozen: change them with ``update``."""

    model_config = ConfigDict(frozen=True)

    recent: dict[str, float] = Field(default_factory=dict)
    """Path of a project to the Unix time at which it was last opened, the latest first."""
    archived: tuple[str, ...] = ()
    """Paths of projects that are not offered."""
    connections: tuple[Connection, ...] = Field(default=())
    limits: dict[str, Limits] = Field(default_factory=dict)
    """Connection name to its limits."""
    prices: dict[str, Price] = Field(default_factory=dict)
    """``connection/model`` to its price, or ``connection/*`` for all models of a connection."""
    ceiling: float | None = Field(default=None, ge=0)
    """Price limit in dollars per million completion tokens; models above it are not offered."""
    pace: float | None = Field(default=None, ge=0)
    """Words per second of the built-in model in the studio; None until the user chose a pace or watched a run."""
    vectors: str | None = None
    """Vectors of texts: ``minilm``, ``connection/model``, empty for none; None for MiniLM if it is installed."""
    presets: dict[str, RoleModels] = Field(default_factory=dict)
    reviewer: str = ""
    """Name under which review actions are recorded; empty for the name of the system's user."""

    def with_recent(self, path: Path) -> Preferences:
        """Return a copy with this project first, at most ``MAX_RECENT_PROJECTS`` projects in all."""
        others = {other: at for other, at in self.recent.items() if other != str(path)}
        recent = {str(path): time.time(), **others}
        newest = self.model_copy(update={"recent": dict(list(recent.items())[:MAX_RECENT_PROJECTS])})
        return newest.with_archived(path, archived=False)

    def with_archived(self, path: Path, *, archived: bool) -> Preferences:
        """Return a copy in which a project is archived or not."""
        others = tuple(other for other in self.archived if other != str(path))
        return self.model_copy(update={"archived": (*others, str(path)) if archived else others})

    def with_connections(self, connections: Iterable[Connection]) -> Preferences:
        """Return a copy with other connections of the user."""
        return self.model_copy(update={"connections": tuple(connections)})

    def with_moved(self, path: Path, target: Path | None) -> Preferences:
        """Return a copy in which a project has another path, or (None) is not listed.

        What is known of an earlier file at the new path is forgotten.
        """
        recent = {
            str(target) if other == str(path) else other: at
            for other, at in self.recent.items()
            if other != str(target) and (other != str(path) or target is not None)
        }
        archived = tuple(other for other in self.archived if other not in (str(path), str(target)))
        return self.model_copy(update={"recent": recent, "archived": archived})


def projects_folder() -> Path:
    """Return the default folder of projects."""
    return platformdirs.user_data_path("moot", appauthor=False)


def load() -> Preferences:
    """Return the saved preferences without entries that cannot be read, such as those of a newer Moot."""
    return _read()[0]


def update(change: Callable[[Preferences], Preferences]) -> None:
    """Save what ``change`` makes of the saved preferences; changes by other tabs and processes are kept.

    An unwritable folder is ignored: preferences are a convenience. A file that cannot be read completely is renamed
    before it is replaced.
    """
    with _locked():
        saved, complete = _read()
        if not complete:
            with contextlib.suppress(OSError):
                replace_shared(folder() / FILE, folder() / UNREADABLE)
                logger.warning("Part of %s cannot be read. It is kept as %s.", folder() / FILE, UNREADABLE)
        write(FILE, change(saved).model_dump_json(indent=1).encode())


def change(**fields: Any) -> None:
    """Save the preferences with other values in some fields."""
    update(lambda saved: saved.model_copy(update=fields))


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """Let one thread of one process at a time change files in the preferences folder."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, NotImplementedError):  # an unwritable folder, or one without locks
            folder().mkdir(parents=True, exist_ok=True)
            stack.enter_context(FileLock(folder() / LOCK, timeout=LOCK_SECONDS))
        yield


def _read() -> tuple[Preferences, bool]:
    """Return the readable preferences, and False if the file has others or cannot be read."""
    try:
        content = read_shared(folder() / FILE)
        return Preferences.model_validate_json(content), True
    except FileNotFoundError:
        return Preferences(), True
    except OSError:
        return Preferences(), False
    except ValidationError as error:
        return _readable_part(content, {problem["loc"][:2] for problem in error.errors()}), False


def _readable_part(content: bytes, unreadable: Set[tuple[int | str, ...]]) -> Preferences:
    """Return preferences without the unreadable fields and entries: (field,), (field, name) or (field, index)."""
    if () in unreadable:  # not JSON, or not an object
        return Preferences()
    data = from_json(content)
    for field, *entry in sorted(unreadable, reverse=True):  # the last index first
        if entry:
            del data[field][entry[0]]
        else:
            del data[field]
    return Preferences.model_validate(data)


def write(name: str, content: bytes) -> None:
    """Write a file into the preferences folder atomically; an unwritable folder is ignored."""
    with contextlib.suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True)
        with atomic_write(folder() / name, private=True) as file:
            file.write(content)


def folder() -> Path:
    """Return the folder of the preferences."""
    return platformdirs.user_config_path("moot", appauthor=False)


CAPABILITIES_FILE = "capabilities.json"


def recall_capabilities(models: ModelLibrary) -> None:
    """Load the capabilities that the last process found. An unreadable file counts as empty."""
    with contextlib.suppress(OSError, KeyError, TypeError, ValueError):
        models.capabilities.recall(orjson.loads(read_shared(folder() / CAPABILITIES_FILE)))


def keep_capabilities(models: ModelLibrary) -> None:
    """Save the known capabilities."""
    write(CAPABILITIES_FILE, orjson.dumps(models.capabilities.to_json(), option=orjson.OPT_INDENT_2))
