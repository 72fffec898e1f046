"""Diagnosis of an installation and a project: versions, permissions, disk, connections and integrity."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import core
from core.errors import ModelError, MootError, Unreachable
from core.formatting import format_bytes, format_count, join_names
from core.llm.model_info import list_models
from core.services import models, preferences
from core.services.workspace import Workspace
from core.store.project_lock import PROJECT_SUFFIXES

PACKAGES = (
    "streamlit", "duckdb", "pandas", "pyarrow", "openai", "ollama", "altair", "scikit-learn", "streamlit-aggrid",
)  # fmt: skip
MIN_FREE_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Check:
    """A checked fact: ``result`` without a full stop, ``remedy`` empty if nothing is wrong."""

    name: str
    result: str
    remedy: str = ""


def diagnose(workspace: Workspace, project: Path | None) -> Iterator[Check]:
    """Yield the checks, those of the project last. Connections are asked for their models, which costs nothing."""
    yield Check("Moot", f"{core.__version__} on Python {platform.python_version()}, {platform.system()}")
    yield _packages()
    folders = [folder for folder in (preferences.folder(), preferences.projects_folder()) if folder.exists()]
    files = [path for folder in folders for path in folder.iterdir() if path.is_file()]
    yield _permissions("Permissions of settings and projects", [*folders, *files])
    yield _disk(project.absolute().parent if project is not None else preferences.projects_folder())
    for name in models.likely_connections(workspace):
        yield _connection(workspace, name)
    if project is not None:
        paths = [project.with_name(project.name + suffix) for suffix in PROJECT_SUFFIXES]
        yield _permissions("Permissions of the project", [path for path in paths if path.exists()])
        yield _integrity(workspace, project)


def _packages() -> Check:
    installed, missing = [], []
    for name in PACKAGES:
        try:
            installed.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    remedy = f"Install what is missing: {', '.join(missing)}." if missing else ""
    return Check("Packages", ", ".join(installed), remedy)


def _permissions(name: str, paths: list[Path]) -> Check:
    open_ = [path for path in paths if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077]
    if not open_:
        return Check(name, "for you alone")
    folders = sum(path.is_dir() for path in open_)
    counts = [(folders, "folder"), (len(open_) - folders, "file")]
    reached = join_names([format_count(count, noun) for count, noun in counts if count])
    commands = shlex.join(str(path) for path in open_[:10])
    return Check(name, f"other users can reach {reached}", f"Run: chmod go= {commands}")


def _disk(folder: Path) -> Check:
    existing = next((parent for parent in (folder, *folder.parents) if parent.exists()), None)
    if existing is None:  # a drive of Windows that is not connected
        return Check("Disk", f"{folder.anchor} does not exist", "Connect the drive, or choose another folder.")
    free = shutil.disk_usage(existing).free
    remedy = "" if free >= MIN_FREE_BYTES else "Free some space: a full disk pauses every run."
    return Check("Disk", f"{format_bytes(free)} free at {existing}", remedy)


def _connection(workspace: Workspace, name: str) -> Check:
    connection = workspace.models.connection(name)
    try:
        cards = list_models(connection)
    except ModelError as error:
        is_stopped = connection.local and type(error) is Unreachable  # not a fault
        return Check(f"Connection {name}", error.message.removesuffix("."), "" if is_stopped else error.remedy)
    return Check(f"Connection {name}", f"answers, {format_count(len(cards), 'model')}")


def _integrity(workspace: Workspace, project: Path) -> Check:
    """Open the project, which checks its schema, and read every table to its end."""
    try:
        tables = workspace.open(project, create=False).store.dump.tables()
        rows = [sum(batch.num_rows for batch in batches) for _, batches in tables]
    except MootError as error:
        return Check("Project", error.message.removesuffix("."), error.remedy)
    return Check("Project", f"{format_count(len(rows), 'table')}, {format_count(sum(rows), 'row')}, all readable")
