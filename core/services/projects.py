"""Projects: create, open, rename, duplicate, archive, delete, restore and list them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from core.errors import ProjectError, ProjectLocked, UsageError
from core.files import atomic_write
from core.runs import RunRow, State
from core.services import preferences
from core.services.data.sample_projects import ensure_sample, make_folder
from core.services.guided_path import last_run, reviewed_documents
from core.services.project_session import ProjectSession
from core.services.shipped_data import SUFFIX
from core.services.workspace import Workspace
from core.store.database import copy_files, data_files, translate_error
from core.store.project_lock import ProjectLock

NAME_LIMIT = 80
"""Limit of a name in bytes."""
REVEAL_SECONDS = 2.0
"""Seconds after which a program that still runs is taken to show the folder."""
ORIGIN = "origin.txt"
"""File in a folder of the bin with the path that the project had."""

_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ListedProject:
    """A project in the list of recent ones. Counts are known only while it is open: no file is opened to count."""

    path: Path
    size: int
    opened_at: float
    open: bool = False
    documents: int | None = None
    reviewed: int | None = None
    last_run: RunRow | None = None
    last_state: State | None = None

    @property
    def name(self) -> str:
        """Name of the project."""
        return self.path.stem


def open_last(workspace: Workspace) -> ProjectSession:
    """Open the most recent project that can be opened; the sample if there is none.

    Raises ProjectLocked if another Moot has that project open. Damaged files are skipped.
    """
    for path in workspace.recent():
        try:
            return workspace.open(path, create=False)
        except ProjectLocked:
            raise
        except ProjectError:
            continue
    return workspace.open(ensure_sample(workspace))


def project_path(name: str, folder: Path | None = None, *, but: Path | None = None) -> Path:
    """Return the path of a new project in a folder, by default the projects folder.

    Raises UsageError for an invalid name and for one that another file than ``but`` has.
    """
    name = unicodedata.normalize("NFC", " ".join(name.split())).removesuffix(SUFFIX).strip()
    if not name:
        raise UsageError("The project has no name.", "Enter a name.")
    if _UNSAFE.search(name) or name.startswith(".") or name.endswith(".") or _RESERVED.fullmatch(name):
        raise UsageError(f"'{name}' is not a valid file name.", 'Leave out / \\ : * ? " < > | and a dot at either end.')
    if len(name.encode()) > NAME_LIMIT:
        raise UsageError("The name of the project is too long.", "Choose a shorter one.")
    path = (folder or preferences.projects_folder()) / f"{name}{SUFFIX}"
    if any(other.name.casefold() == path.name.casefold() for other in _files(path.parent) if other != but):
        raise UsageError(f"Project '{name}' already exists.", "Open it, or choose another name.")
    return path


def create_project(workspace: Workspace, name: str) -> ProjectSession:
    """Create an empty project in the projects folder and open it. Raises UsageError and ProjectError."""
    path = project_path(name)
    make_folder()
    return workspace.open(path)


def project_from_bundle(workspace: Workspace, file: BinaryIO, file_name: str) -> ProjectSession:
    """Create a project from a bundle, named after its file, and open it. Raises InputError and ProjectError."""
    from core.services import bundle

    path = project_path(free_name(file_name))
    make_folder()
    return workspace.open(bundle.open_bundle(file, path))


def free_name(wanted: str, folder: Path | None = None) -> str:
    """Return a valid project name close to ``wanted`` (such as a file name) that is not taken in the folder."""
    stem = _UNSAFE.sub(" ", Path(wanted).stem)
    name = _shortened(" ".join(stem.split()).strip(". "), NAME_LIMIT) or "project"
    for number in range(1, 10_000):
        ending = "" if number == 1 else f" {number}"
        candidate = f"{_shortened(name, NAME_LIMIT - len(ending))}{ending}"
        try:
            return project_path(candidate, folder).stem
        except UsageError:
            continue
    return name  # pragma: no cover


def _shortened(name: str, limit: int) -> str:
    """Return a name of at most ``limit`` bytes, without a space or dot at its end."""
    return name.encode()[:limit].decode(errors="ignore").rstrip(". ")


# -- lists


def unique_names(paths: Sequence[Path]) -> dict[Path, str]:
    """Return unique names of projects: the file name, with the folder if several projects have the same name."""
    names = {}
    for path in paths:
        same = [other.parent for other in paths if other.stem == path.stem]
        folder = path.parent.name if [parent.name for parent in same].count(path.parent.name) == 1 else path.parent
        names[path] = path.stem if len(same) == 1 else f"{path.stem} ({folder})"
    return names


def recent(workspace: Workspace) -> tuple[ListedProject, ...]:
    """Return open and recently opened projects, the latest first, without archived ones."""
    sessions = {session.path: session for session in workspace.sessions()}
    return tuple(filter(None, (_recent(path, sessions) for path in dict.fromkeys([*workspace.recent(), *sessions]))))


def archived() -> tuple[ListedProject, ...]:
    """Return the archived projects that still exist, the one archived last first."""
    return tuple(filter(None, (_recent(Path(path), {}) for path in reversed(preferences.load().archived))))


def set_archived(workspace: Workspace, path: Path, *, archived: bool) -> None:
    """Archive a project, which closes it, or offer it again. Raises UsageError while it is in use."""
    with _closed(workspace, path) if archived else nullcontext():
        preferences.update(lambda saved: saved.with_archived(path, archived=archived))


def _recent(path: Path, sessions: Mapping[Path, ProjectSession]) -> ListedProject | None:
    if not path.is_file():
        return None
    size = sum(file.stat().st_size for file in data_files(path))
    opened_at = preferences.load().recent.get(str(path), 0.0)
    session = sessions.get(path)
    if session is None:
        return ListedProject(path, size, opened_at)
    last, state = last_run(session)
    documents = session.store.documents.count()
    return ListedProject(path, size, opened_at, True, documents, reviewed_documents(session), last, state)


# -- files


@dataclass(frozen=True, slots=True)
class DeletedProject:
    """A project in the bin: a folder with its files."""

    folder: Path
    origin: Path
    size: int

    @property
    def name(self) -> str:
        """Name of the project."""
        return self.origin.stem

    @property
    def path(self) -> Path:
        """Project file in the bin."""
        return self.folder / self.origin.name


def rename_project(workspace: Workspace, path: Path, name: str) -> Path:
    """Rename a project and return its new path. An open project is closed and opened again.

    Raises UsageError for an invalid or taken name and while a run or job is active, and ProjectLocked if another Moot
    has the project open.
    """
    target = project_path(name, path.parent, but=path)
    if target.name == path.name:  # Windows ignores case when it compares paths
        return path
    with _closed(workspace, path, reopen=target):
        _move(path, target)
        workspace.move_shared(path, target)
        preferences.update(lambda saved: saved.with_moved(path, target))
    return target


def duplicate_project(workspace: Workspace, path: Path) -> Path:
    """Copy a project beside it, under a free name, and return the path of the copy.

    Raises as ``rename_project``, and StorageFull.
    """
    with _closed(workspace, path, reopen=path):  # another tab copies it before or after, under another name
        target = project_path(free_name(path.name, path.parent), path.parent)
        copy_files(path, target)
        preferences.update(lambda saved: saved.with_recent(target).with_recent(path))
    return target


def delete_project(workspace: Workspace, path: Path) -> DeletedProject:
    """Move a project to the bin, from which it can be restored. Raises as ``rename_project``, and StorageFull."""
    folder = _bin() / uuid4().hex[:12]
    with _closed(workspace, path):
        try:
            folder.mkdir(parents=True)
            with atomic_write(folder / ORIGIN) as file:
                file.write(str(path).encode())
            _move(path, folder / path.name)
        except (OSError, ProjectError):
            with suppress(OSError):
                (folder / ORIGIN).unlink(missing_ok=True)
                folder.rmdir()
            raise
        workspace.move_shared(path, folder / path.name)
    preferences.update(lambda saved: saved.with_moved(path, None))
    return _deleted(folder)


def remove_project(workspace: Workspace, path: Path) -> None:
    """Delete the files of a project that was just created and holds nothing. Raises as ``rename_project``."""
    with _closed(workspace, path):
        for file in data_files(path):
            file.unlink()
    preferences.update(lambda saved: saved.with_moved(path, None))


def deleted_projects() -> tuple[DeletedProject, ...]:
    """Return the projects in the bin, the one deleted last first."""
    found = []
    for folder in _files(_bin()):
        with suppress(FileNotFoundError, NotADirectoryError):  # another tab restores it or empties the bin
            found.append((folder.stat().st_mtime, _deleted(folder)))
    return tuple(deleted for _, deleted in sorted(found, key=lambda dated: -dated[0]))


def restore_project(workspace: Workspace, deleted: DeletedProject) -> Path:
    """Move a project from the bin back to its folder, under a free name, and return its path.

    Raises ProjectError if it is not in the bin any more, and OSErrors as Moot's own.
    """
    origin = deleted.origin
    if not deleted.folder.exists():
        raise ProjectError(f"{deleted.name} is not in the bin any more.", "It was restored or deleted for good.")
    folder = origin.parent if origin.parent.is_dir() else preferences.projects_folder()
    target = project_path(free_name(origin.name, folder), folder)
    try:
        _move(deleted.path, target)
        shutil.rmtree(deleted.folder)
    except OSError as error:
        raise translate_error(error, target) from error
    workspace.move_shared(deleted.path, target)
    preferences.update(lambda saved: saved.with_recent(target))
    return target


def empty_bin() -> None:
    """Delete the projects in the bin for good. Raises OSErrors as Moot's own."""
    for deleted in deleted_projects():
        try:
            shutil.rmtree(deleted.folder)
        except FileNotFoundError:  # another tab does the same
            continue
        except OSError as error:
            raise translate_error(error, deleted.path) from error


def reveal_project(path: Path) -> None:
    """Show a project in the file manager. Raises UsageError if there is none."""
    commands = {"darwin": ["open", "-R", str(path)], "win32": f'explorer /select,"{path}"'}
    try:
        opened = subprocess.Popen(
            commands.get(sys.platform, ["xdg-open", str(path.parent)]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        code = opened.wait(REVEAL_SECONDS)
        shown = code == 0 or sys.platform == "win32"  # Explorer returns 1 although it opens the folder
    except OSError:
        shown = False
    except subprocess.TimeoutExpired:
        shown = True
    if not shown:
        raise UsageError("No file manager was found.", f"The project is {path}.")


@contextmanager
def _closed(workspace: Workspace, path: Path, *, reopen: Path | None = None) -> Iterator[None]:
    """Close a project, and keep it closed, while its files are moved or copied; then open ``reopen`` if it was open.

    After an error the project itself is opened again. Raises UsageError while a run or job is active, ProjectLocked if
    another Moot has the project open, and OSErrors as Moot's own.
    """
    with workspace.reserved(path) as session:
        if session is not None and (activity := session.activity):
            raise UsageError(f"{session.name} is in use: {activity}.", "Stop this first, or wait until it ends.")
        workspace.close_project(path)
        try:
            with ExitStack() as held:
                held.callback(ProjectLock(path).forget)
                yield
        except (OSError, ProjectError) as error:
            if session is not None:
                workspace.open(path, create=False)
            if isinstance(error, OSError):
                raise translate_error(error, path) from error
            raise
        if session is not None and reopen is not None:
            workspace.open(reopen, create=False)


def _move(path: Path, target: Path) -> None:
    """Move the files of a project. On another disk, they are deleted after all of them have been copied."""
    files = data_files(path)
    if path.stat().st_dev != target.parent.stat().st_dev:
        copy_files(path, target)
        for file in files:
            file.unlink()
    else:
        moves = [(file, target.with_name(target.name + file.name.removeprefix(path.name))) for file in files]
        try:
            for file, new in moves:
                file.rename(new)
        except OSError:
            for file, new in moves:
                if not file.exists():
                    new.rename(file)
            raise


def _bin() -> Path:
    return preferences.projects_folder() / ".bin"


def _deleted(folder: Path) -> DeletedProject:
    origin = Path((folder / ORIGIN).read_text(encoding="utf-8"))
    return DeletedProject(folder, origin, sum(file.stat().st_size for file in data_files(folder / origin.name)))


def _files(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
