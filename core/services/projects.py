"""Projects: create, open, rename, duplicate, archive, delete and restore, list them, and summarise the next steps."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias
from uuid import uuid4

from core.codebook import Label
from core.debate import protocols
from core.errors import ProjectError, ProjectGone, ProjectLocked, UsageError
from core.formatting import format_count
from core.runs import BUILTIN, RoleModel, RunRow, State
from core.services import bundle, cache, preferences
from core.services.data.sample_projects import ensure_sample, make_folder
from core.services.runs import planning
from core.services.sample_data import SUFFIX
from core.services.session import PROJECT_SUFFIXES, ProjectSession
from core.services.workspace import Workspace
from core.store.codebooks import CodebookVersion
from core.store.lock import Ownership

NAME_LIMIT = 80
ORIGIN = "origin.txt"
"""File in a folder of the bin with the path that the project had."""

StepState: TypeAlias = Literal["done", "now", "later"]
StepPage = Literal["data", "codebook", "models", "run", "review"]
REVIEWS = 25
"""Reviewed documents for a first estimate of the accuracy."""

_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Recent:
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


@dataclass(frozen=True, slots=True)
class Step:
    """One of the steps of a project, in order.

    ``words`` describe its status. ``action`` is the command of a button, and ``hint`` says what to press on the page.
    """

    name: str
    page: StepPage
    title: str
    state: StepState
    words: str
    action: str
    hint: str


@dataclass(frozen=True, slots=True)
class Overview:
    """Contents of a project and its next steps."""

    name: str
    documents: int
    labels: tuple[Label, ...]
    draft: bool
    last_run: RunRow | None
    last_state: State | None
    steps: tuple[Step, ...]

    @property
    def done(self) -> int:
        """Number of steps that are done."""
        return sum(step.state == "done" for step in self.steps)

    @property
    def next(self) -> Step | None:
        """The first step that is not done, None if all are."""
        return next((step for step in self.steps if step.state == "now"), None)


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


def open_project(workspace: Workspace, path: Path) -> ProjectSession:
    """Open an existing project. UsageError if the file does not exist, ProjectError for other problems."""
    path = path.expanduser()
    if not path.is_file():
        raise UsageError(f"File {path} does not exist.", "Check the path, or create a new project.")
    return workspace.open(path, create=False)


def project_path(name: str, folder: Path | None = None) -> Path:
    """Return the path of a new project in a folder, by default the projects folder.

    Raises UsageError for an invalid name and for one that is taken.
    """
    name = unicodedata.normalize("NFC", " ".join(name.split())).removesuffix(SUFFIX).strip()
    if not name:
        raise UsageError("The project has no name.", "Enter a name.")
    if _UNSAFE.search(name) or name.startswith(".") or name.endswith(".") or _RESERVED.fullmatch(name):
        raise UsageError(f"'{name}' is not a valid file name.", 'Leave out / \\ : * ? " < > | and a dot at either end.')
    if len(name.encode()) > NAME_LIMIT:
        raise UsageError(f"The name is longer than {NAME_LIMIT} characters.", "Choose a shorter one.")
    path = (folder or preferences.projects_folder()) / f"{name}{SUFFIX}"
    if any(other.name.casefold() == path.name.casefold() for other in _files(path.parent)):
        raise UsageError(f"Project '{name}' already exists.", "Open it, or choose another name.")
    return path


def create_project(workspace: Workspace, name: str) -> ProjectSession:
    """Create an empty project in the projects folder and open it. Raises UsageError and ProjectError."""
    path = project_path(name)
    make_folder()
    return workspace.open(path)


def project_from_bundle(workspace: Workspace, file: BinaryIO, file_name: str) -> ProjectSession:
    """Create a project from a bundle, named after its file, and open it. Raises InputError and ProjectError."""
    path = project_path(free_name(file_name))
    make_folder()
    return workspace.open(bundle.open_bundle(file, path))


def free_name(wanted: str, folder: Path | None = None) -> str:
    """Return a valid project name close to ``wanted`` (such as a file name) that is not taken in the folder."""
    stem = _UNSAFE.sub(" ", Path(wanted).stem)
    name = " ".join(stem.split()).strip(". ")[: NAME_LIMIT // 4] or "project"
    for number in range(1, 10_000):
        candidate = name if number == 1 else f"{name} {number}"
        try:
            return project_path(candidate, folder).stem
        except UsageError:
            continue
    return name  # pragma: no cover


# -- lists


def recent(workspace: Workspace) -> tuple[Recent, ...]:
    """Return open and recently opened projects, the latest first, without archived ones."""
    sessions = {session.path: session for session in workspace.sessions()}
    return tuple(filter(None, (_recent(path, sessions) for path in dict.fromkeys([*workspace.recent(), *sessions]))))


def archived() -> tuple[Recent, ...]:
    """Return the archived projects that still exist, the one archived last first."""
    return tuple(filter(None, (_recent(Path(path), {}) for path in reversed(preferences.load().archived))))


def set_archived(workspace: Workspace, path: Path, archived: bool) -> None:
    """Archive a project, which closes it, or offer it again. Raises UsageError while one of its runs is active."""
    if archived:
        _release(workspace, path)
    preferences.save(preferences.load().with_archived(path, archived))


def _recent(path: Path, sessions: Mapping[Path, ProjectSession]) -> Recent | None:
    if not path.is_file():
        return None
    size = sum(file.stat().st_size for file in _files_of(path))
    opened_at = preferences.load().recent.get(str(path), 0.0)
    session = sessions.get(path)
    if session is None:
        return Recent(path, size, opened_at)
    last, state = _last(session)
    documents, reviewed = session.store.documents.count(), _reviewed(session)
    return Recent(path, size, opened_at, True, documents, reviewed, last, state)


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


def rename_project(workspace: Workspace, path: Path, name: str) -> Path:
    """Rename a project and return its new path. An open project is closed and opened again.

    Raises UsageError for an invalid or taken name and while a run is active, and ProjectLocked if another Moot has the
    project open.
    """
    target = project_path(name, path.parent)
    was_open = _release(workspace, path)
    _move(path, target)
    preferences.save(preferences.load().with_moved(path, target))
    if was_open:
        workspace.open(target, create=False)
    return target


def duplicate_project(workspace: Workspace, path: Path) -> Path:
    """Copy a project beside it, under a free name, and return the path of the copy. Raises as ``rename_project``."""
    target = project_path(free_name(path.name, path.parent), path.parent)
    was_open = _release(workspace, path)
    for file in _files_of(path):
        shutil.copy2(file, target.with_name(target.name + file.name.removeprefix(path.name)))
    preferences.save(preferences.load().with_recent(target).with_recent(path))
    if was_open:
        workspace.open(path, create=False)
    return target


def rescue_project(workspace: Workspace, session: ProjectSession) -> Path:
    """Save a copy of an open project whose file is gone, open the copy instead, and return its path."""
    with suppress(ProjectGone):
        workspace.close_project(session.path)
    copy = session.project.copy
    if copy is None:
        raise ProjectError(f"No copy of {session.name} could be saved.", "Free some space and try again.")
    return workspace.open(copy, create=False).path


def delete_project(workspace: Workspace, path: Path) -> DeletedProject:
    """Move a project to the bin, from which it can be restored. Raises as ``rename_project``."""
    _release(workspace, path)
    folder = _bin() / uuid4().hex[:12]
    folder.mkdir(parents=True)
    (folder / ORIGIN).write_text(str(path), encoding="utf-8")
    _move(path, folder / path.name)
    preferences.save(preferences.load().with_moved(path, None))
    return _deleted(folder)


def deleted_projects() -> tuple[DeletedProject, ...]:
    """Return the projects in the bin, the one deleted last first."""
    folders = [folder for folder in _files(_bin()) if (folder / ORIGIN).is_file()]
    return tuple(map(_deleted, sorted(folders, key=lambda folder: -folder.stat().st_mtime)))


def restore_project(deleted: DeletedProject) -> Path:
    """Move a project from the bin back to its folder, under a free name, and return its path."""
    origin = deleted.origin
    folder = origin.parent if origin.parent.is_dir() else preferences.projects_folder()
    target = project_path(free_name(origin.name, folder), folder)
    _move(deleted.folder / origin.name, target)
    shutil.rmtree(deleted.folder)
    preferences.save(preferences.load().with_recent(target))
    return target


def empty_bin() -> None:
    """Delete the projects in the bin for good."""
    for deleted in deleted_projects():
        shutil.rmtree(deleted.folder)


def reveal_project(path: Path) -> None:
    """Show a project in the file manager. Raises UsageError if there is none."""
    commands = {"darwin": ["open", "-R", str(path)], "win32": ["explorer", f"/select,{path}"]}
    try:
        subprocess.Popen(
            commands.get(sys.platform, ["xdg-open", str(path.parent)]),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError as error:
        raise UsageError("No file manager was found.", f"The project is {path}.") from error


def _release(workspace: Workspace, path: Path) -> bool:
    """Close a project, so that its files can be moved, and return True if it was open.

    Raises UsageError while a run is active, and ProjectLocked if another Moot has the project open.
    """
    session = next((session for session in workspace.sessions() if session.path == path), None)
    if session is None:
        Ownership(path).forget()
        return False
    if session.active_runs():
        raise UsageError(f"A run of {session.name} is active.", "Stop the run first.")
    workspace.close_project(path)
    return True


def _files_of(path: Path) -> list[Path]:
    """Return the existing files of a closed project, without those of its lock."""
    files = [path.with_name(path.name + suffix) for suffix in PROJECT_SUFFIXES if not suffix.startswith(".lock")]
    return [file for file in files if file.exists()]


def _move(path: Path, target: Path) -> None:
    for file in _files_of(path):
        shutil.move(file, target.with_name(target.name + file.name.removeprefix(path.name)))
    for suffix in PROJECT_SUFFIXES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _bin() -> Path:
    return preferences.projects_folder() / ".bin"


def _deleted(folder: Path) -> DeletedProject:
    origin = Path((folder / ORIGIN).read_text(encoding="utf-8"))
    return DeletedProject(folder, origin, sum(file.stat().st_size for file in _files_of(folder / origin.name)))


# -- next steps


@cache.cached_until_commit
def overview(session: ProjectSession) -> Overview:
    """Return the contents of the project, and its steps from the file to the accuracy of the whole run."""
    store = session.store
    documents = store.documents.count()
    rejected = sum(int(one.counts.get("rejected", 0)) for one in store.documents.imports())
    version = store.codebooks.latest()
    draft = store.codebooks.draft() is not None
    labels = version.codebook.labels if version else ()
    plan = planning.load_plan(session)
    spec = protocols.find(plan.protocol, plan.params)
    roles = spec.roles(spec.parse_params(plan.for_protocol().params))
    role_models = [plan.role_model(role.name) for role in roles]
    last, state = _last(session)
    reviewed = _reviewed(session)
    ended = [run for run in session.runs() if run.state == "done" and run.verdicts]
    tried = max((run.documents for run in ended), default=0)
    wanted = min(REVIEWS, tried)
    whole = next((run for run in reversed(ended) if run.documents >= documents), None)
    running = state in ("running", "queued", "paused")
    pilot = min(plan.limit or planning.PILOT, documents)
    all_documents = format_count(documents, "document")
    enough = 0 < wanted <= reviewed
    missing = _missing_reviews(session, whole) if whole is not None and enough else wanted
    return Overview(
        session.name, documents, labels, draft, last, state,
        _steps(
            ("data", "data", "Data", documents > 0, _data_words(documents, rejected), "Import texts",
             "Choose a file, check its columns, then press Import."),
            ("codebook", "codebook", "Codebook", bool(labels), _codebook_words(version, draft=draft), "Define labels",
             "Name and describe each label, then press Save."),
            ("models", "models", "Models", all(one.model for one in role_models), _role_model_words(role_models),
             "Choose models", "Choose a model for each role."),
            _pilot_step(last, state, version, pilot, done=bool(tried)),
            ("review", "review", "Review", enough, _review_words(last, reviewed), f"Review {wanted:,}",
             f"Correct what is wrong and submit each document. {max(0, wanted - reviewed):,} left."),
            ("whole", "run", "Whole run", whole is not None,
             _run_words(whole, "done") if whole else "After the review of the pilot.", f"Run all {documents:,}",
             "Wait until all debates have ended." if running else f"Press New run, then Start all {all_documents}."),
            ("accuracy", "review", "Accuracy", whole is not None and enough and not missing,
             "Accuracy estimate of all documents." if whole and enough and not missing else
             "How many labels are correct, with an interval.", f"Review {missing:,} more" if whole else "Review more",
             f"Submit documents in the order of the queue. About {missing:,} more give an estimate for all documents."),
        ),
    )  # fmt: skip


def _pilot_step(
    last: RunRow | None, state: State | None, version: CodebookVersion | None, size: int, *, done: bool
) -> tuple[str, StepPage, str, bool, str, str, str]:
    """Return the pilot's step. After a run without any verdict, the definitions come first."""
    saved = version.version if version else 0
    if not done and last is not None and state == "done" and last.settings.codebook_version == saved:
        words = f"No verdict for any of {format_count(last.documents, 'document')}: all are unresolved or failed."
        hint = "Add keywords to each label and press Save, or choose a language model on Models and run a pilot again."
        return ("pilot", "codebook", "Pilot", False, words, "Improve definitions", hint)
    hint = f"Press Start with {size:,}: a small run shows whether definitions and models work."
    if state in ("running", "queued"):
        hint = "Wait until all debates have ended."
    return ("pilot", "run", "Pilot", done, _run_words(last, state), "Run a pilot", hint)


def _missing_reviews(session: ProjectSession, run: RunRow) -> int:
    """Return about how many reviews in queue order are missing for an accuracy estimate of a run, 0 if it is known."""
    from core.services.review.accuracy_estimate import estimate_accuracy

    def compute() -> int:
        found = estimate_accuracy(session, run)
        if found.known or found.reviewed >= found.documents:
            return 0
        return max(1, min(REVIEWS - found.drawn, found.documents - found.reviewed))

    return cache.cached(session, compute, "missing reviews", run.run_id, basis=cache.review_revision(session))


def _steps(*rows: tuple[str, StepPage, str, bool, str, str, str]) -> tuple[Step, ...]:
    """Return the steps; the first one that is not done is due now."""
    steps = []
    due = False
    for name, page, title, done, words, action, hint in rows:
        state: StepState = "done" if done else "later" if due else "now"
        due = due or not done
        steps.append(Step(name, page, title, state, words, action, hint))
    return tuple(steps)


def _data_words(documents: int, rejected: int) -> str:
    if not documents:
        return "Import a file of texts."
    out = f", {format_count(rejected, 'row')} rejected" if rejected else ""
    return f"{format_count(documents, 'document')}{out}"


def _codebook_words(version: CodebookVersion | None, *, draft: bool) -> str:
    if version is not None and version.codebook.labels:
        noun = "dimension" if version.codebook.kind == "rating" else "label"
        count = format_count(len(version.codebook.labels), noun)
        return f"{count}, v{version.version}{', and a draft' if draft else ''}"
    return "A draft that is not saved." if draft else "Define what to look for."


def _role_model_words(role_models: Sequence[RoleModel]) -> str:
    if not all(role_model.model for role_model in role_models):
        return "A role has no model."
    specs = {role_model.spec for role_model in role_models}
    models = next(iter(specs)) if len(specs) == 1 else format_count(len(specs), "model")
    who = f"{format_count(len(role_models), 'role')}, {models}"
    return f"{who} (word-list baseline)" if specs == {f"{BUILTIN}/lexical"} else who


def _run_words(run: RunRow | None, state: State | None) -> str:
    if run is None:
        return "No run yet."
    ended = run.verdicts + run.unresolved + run.failed
    if state == "done":
        left = f", {run.unresolved:,} unresolved" if run.unresolved else ""
        left += f", {run.failed:,} failed" if run.failed else ""
        return f"{format_count(ended, 'document')} debated{left}"
    return f"{ended:,} of {run.documents:,} debated, {state}"


def _review_words(run: RunRow | None, reviewed: int) -> str:
    if reviewed:
        return f"{format_count(reviewed, 'document')} reviewed"
    return "Correct the verdicts and measure their accuracy." if run else "Available after the first run."


def _last(session: ProjectSession) -> tuple[RunRow | None, State | None]:
    run_id = session.latest_run()
    run = session.store.runs.get(run_id) if run_id else None
    return (run, session.state(run.run_id)) if run else (None, None)


def _reviewed(session: ProjectSession) -> int:
    counts = session.store.reviews.status_counts()
    return counts.get("Submitted", 0) + counts.get("Discarded", 0)


def _files(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
