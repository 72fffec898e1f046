"""Projects: create, open, list recent ones, and summarise the next steps."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

from core.codebook import Label
from core.debate import protocols
from core.errors import ProjectError, ProjectLocked, UsageError
from core.formatting import format_count
from core.runs import BUILTIN, RoleModel, RunRow, State
from core.services import bundle, preferences
from core.services.data.sample_projects import ensure_sample, make_folder
from core.services.runs import planning
from core.services.samples import SUFFIX
from core.services.session import ProjectSession
from core.services.workspace import Workspace
from core.store.codebooks import CodebookVersion

NAME_LIMIT = 80

StepState: TypeAlias = Literal["done", "now", "later"]
StepPage = Literal["data", "codebook", "models", "run", "review"]

_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Recent:
    """A project in the list of recent ones. Counts are known only while it is open: no file is opened to count."""

    path: Path
    size: int
    changed_at: float
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
    """One of the five steps of a project, in order; ``words`` describe its status."""

    page: StepPage
    title: str
    state: StepState
    words: str


@dataclass(frozen=True, slots=True)
class Overview:
    """Contents of a project and its next steps."""

    name: str
    documents: int
    rejected: int
    version: int | None
    draft: bool
    labels: tuple[Label, ...]
    protocol: str
    role_models: tuple[tuple[str, str], ...]
    """(role, connection/model), in speaking order."""
    runs: int
    last_run: RunRow | None
    last_state: State | None
    reviewed: int
    steps: tuple[Step, ...]

    @property
    def done(self) -> int:
        """Number of steps that are done."""
        return sum(step.state == "done" for step in self.steps)


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


def project_path(name: str) -> Path:
    """Return the path of a new project in the projects folder.

    Raises UsageError for an invalid name and for one that is taken.
    """
    name = unicodedata.normalize("NFC", " ".join(name.split())).removesuffix(SUFFIX).strip()
    if not name:
        raise UsageError("The project has no name.", "Enter a name.")
    if _UNSAFE.search(name) or name.startswith(".") or name.endswith(".") or _RESERVED.fullmatch(name):
        raise UsageError(f"'{name}' is not a valid file name.", 'Leave out / \\ : * ? " < > | and a dot at either end.')
    if len(name.encode()) > NAME_LIMIT:
        raise UsageError(f"The name is longer than {NAME_LIMIT} characters.", "Choose a shorter one.")
    path = preferences.projects_folder() / f"{name}{SUFFIX}"
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


def free_name(wanted: str) -> str:
    """Return a valid project name close to ``wanted`` (such as a file name) that is not taken."""
    stem = _UNSAFE.sub(" ", Path(wanted).stem)
    name = " ".join(stem.split()).strip(". ")[: NAME_LIMIT // 4] or "project"
    for number in range(1, 10_000):
        candidate = name if number == 1 else f"{name} {number}"
        try:
            return project_path(candidate).stem
        except UsageError:
            continue
    return name  # pragma: no cover


def recent(workspace: Workspace) -> tuple[Recent, ...]:
    """Return open and recently opened projects, the latest first."""
    sessions = {session.path: session for session in workspace.sessions()}
    rows = []
    for path in dict.fromkeys([*workspace.recent(), *sessions]):
        try:
            stat = path.stat()
        except OSError:
            continue
        session = sessions.get(path)
        rows.append(
            _known(session, stat.st_size, stat.st_mtime) if session else Recent(path, stat.st_size, stat.st_mtime)
        )
    return tuple(rows)


def _known(session: ProjectSession, size: int, changed_at: float) -> Recent:
    last, state = _last(session)
    return Recent(
        session.path, size, changed_at, open=True,
        documents=session.store.documents.count(), reviewed=_reviewed(session),
        last_run=last, last_state=state,
    )  # fmt: skip


def overview(session: ProjectSession) -> Overview:
    """Return the contents of the project and its five steps with their status."""
    store = session.store
    documents = store.documents.count()
    rejected = sum(int(one.counts.get("rejected", 0)) for one in store.documents.imports())
    version = store.codebooks.latest()
    draft = store.codebooks.draft() is not None
    labels = version.codebook.labels if version else ()
    plan = planning.load_plan(session)
    card = protocols.find(plan.protocol, plan.params)
    roles = [role.name for role in card.roles(card.parse_params(plan.for_protocol().params))]
    last, state = _last(session)
    reviewed = _reviewed(session)
    return Overview(
        name=session.name,
        documents=documents,
        rejected=rejected,
        version=version.version if version else None,
        draft=draft,
        labels=labels,
        protocol=plan.protocol,
        role_models=tuple((role, plan.role_model(role).spec) for role in roles),
        runs=len(store.runs.all()),
        last_run=last,
        last_state=state,
        reviewed=reviewed,
        steps=_steps(
            (
                ("data", "Data", documents > 0, _data_words(documents, rejected)),
                (
                    "codebook",
                    "Codebook",
                    bool(labels),
                    _codebook_words(version, draft=draft),
                ),
                (
                    "models",
                    "Models",
                    all(plan.role_model(role).model for role in roles),
                    _role_model_words([plan.role_model(role) for role in roles]),
                ),
                ("run", "Run", last is not None and state == "done", _run_words(last, state)),
                ("review", "Review", documents > 0 and reviewed >= documents, _review_words(last, reviewed)),
            )
        ),
    )


def _steps(rows: tuple[tuple[StepPage, str, bool, str], ...]) -> tuple[Step, ...]:
    """Return the steps; the first one that is not done is due now."""
    steps = []
    due = False
    for page, title, done, words in rows:
        state: StepState = "done" if done else "later" if due else "now"
        due = due or not done
        steps.append(Step(page, title, state, words))
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
