"""The guided path: the steps of a project from its file to the accuracy of the whole run."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from core import baseline
from core.codebook import Codebook, label_noun
from core.debate import protocols
from core.formatting import format_count, join_names
from core.runs import LEXICAL_MODEL, RoleModel, RunRow, State
from core.services import prompt_templates
from core.services.codebooks.codebook import codebook_status
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit, cached_while, review_revision
from core.services.review import review_plan
from core.services.review.accuracy_estimate import estimate_accuracy
from core.services.runs import planning

StepState: TypeAlias = Literal["done", "now", "later"]
StepPage: TypeAlias = Literal["data", "codebook", "models", "run", "review"]
REVIEWS = 25
"""Reviewed documents for a first estimate of the accuracy."""
MAX_NAMED = 3
"""Maximum number of labels that a hint names."""
_WATCH = ("Watch run", "Wait until all debates have ended.")
UNFINISHED = {
    "running": _WATCH,
    "queued": _WATCH,
    "paused": ("Resume run", "Resume the run to debate the remaining documents."),
}
"""Action and hint of a step on Run while the last run has this state."""


@dataclass(frozen=True, slots=True)
class PathStep:
    """One of the steps of a project, in order."""

    name: str
    page: StepPage
    title: str
    state: StepState
    words: str
    """The status in words."""
    action: str
    """The command of a button."""
    hint: str
    """Instruction to show on the page."""
    new_run: bool = False
    """True if the button opens the setup of a new run, in which the hint applies."""
    label_id: str | None = None
    """The label that the Codebook page opens."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The steps of a project, and the state of its last run, None without a run."""

    last_state: State | None
    steps: tuple[PathStep, ...]

    @property
    def done(self) -> int:
        """Number of steps that are done."""
        return sum(step.state == "done" for step in self.steps)

    @property
    def next(self) -> PathStep | None:
        """The first step that is not done, None if all are."""
        return next((step for step in self.steps if step.state == "now"), None)


@cached_until_commit
def overview(session: ProjectSession) -> Overview:
    """Return the steps of the project. The first one that is not done is marked as the next one."""
    last, state = last_run(session)
    steps = list(_steps(session, _load_runs(session, last, state)))
    index = next((index for index, step in enumerate(steps) if step.state != "done"), None)
    if index is not None:
        steps[index] = replace(steps[index], state="now")
    return Overview(state, tuple(steps))


@dataclass(frozen=True, slots=True)
class _Runs:
    """The runs of a project with so many documents. Documents that others have replaced do not count."""

    documents: int
    sizes: Mapping[str, int]
    """Number of each run's documents by its id."""
    last: RunRow | None
    """The active run, else the latest one, with its state. None without one, or if all its documents were replaced."""
    state: State | None
    ended: Sequence[RunRow]
    """The finished and stopped runs with verdicts, oldest first."""

    def has_all_documents(self, run: RunRow) -> bool:
        return self.sizes.get(run.run_id, 0) >= self.documents

    @property
    def full(self) -> RunRow | None:
        """The latest finished run on all documents."""
        return next((run for run in reversed(self.ended) if run.state == "done" and self.has_all_documents(run)), None)

    @property
    def to_review(self) -> Sequence[RunRow]:
        """The pilots, without any all ended runs: the step Accuracy asks for reviews of a full run."""
        return [run for run in self.ended if run.state != "done" or not self.has_all_documents(run)] or self.ended


def _load_runs(session: ProjectSession, last: RunRow | None, state: State | None) -> _Runs:
    sizes = _sizes(session)
    if last is not None and not sizes.get(last.run_id) and state not in UNFINISHED:
        last = state = None
    ended = [
        run
        for run in session.all_runs()
        if run.state in ("done", "stopped") and run.verdicts and not run.is_canary and sizes.get(run.run_id)
    ]
    return _Runs(session.store.documents.count(), sizes, last, state, ended)


def _steps(session: ProjectSession, runs: _Runs) -> Iterator[PathStep]:
    role_models = _role_models(session)
    uses_words = any(role_model.is_builtin and role_model.model == LEXICAL_MODEL for role_model in role_models)
    reviewed = reviewed_documents(session)
    wanted, left = _wanted_reviews(session, runs, reviewed)
    enough = wanted > 0 and not left
    full_run = runs.full
    missing = _missing_reviews(session, full_run) if full_run is not None and enough else left or wanted
    changed = _changes(session, full_run, "whole run")
    yield _data(session, runs.documents)
    yield _codebook(session, runs, uses_words=uses_words)
    yield _models(role_models)
    yield _pilot(session, runs, reviewed, enough=enough)
    action = f"Review {left or wanted:,}{' more' if left and reviewed else ''}"
    hint = "Correct what is wrong and submit each document."
    yield PathStep("review", "review", "Review", _state(enough), _review_words(runs.last, reviewed), action, hint)
    yield _whole_run(runs, changed, reviewed=enough, is_outdated=bool(changed) and (not reviewed or not missing))
    yield _accuracy(full_run, missing, enough=enough)


def _wanted_reviews(session: ProjectSession, runs: _Runs, reviewed: int) -> tuple[int, int]:
    """Return the number of reviews for a first estimate, 0 if nothing can be reviewed, and how many are left.

    If a run has a review plan, the plan decides how many are left.
    """
    reviewable = (
        runs.sizes[run.run_id] if run.state == "done" else min(runs.sizes[run.run_id], run.ended)
        for run in runs.to_review
    )
    wanted = min(REVIEWS, max(reviewable, default=0))
    planned = _planned(session, runs.to_review)
    return wanted, max(0, wanted - reviewed) if planned is None else _missing_reviews(session, planned)


def _planned(session: ProjectSession, runs: Sequence[RunRow]) -> RunRow | None:
    """Return the latest run with a review plan, None without one.

    Archived runs are left out, as Review does not list them, and runs of other definitions than the latest one.
    """
    listed = [run for run in runs if run.details.status != "archived"]
    for run in reversed(listed):
        same = _definitions(run.settings.codebook, False) == _definitions(listed[-1].settings.codebook, False)
        if same and review_plan.current_plan(session, run):
            return run
    return None


def _sizes(session: ProjectSession) -> dict[str, int]:
    """Return the number of each run's documents by its id, without documents that others have replaced."""
    if any(import_.counts.get("replaced") for import_ in session.store.documents.imports()):
        return session.store.runs.count_present()
    return {run.run_id: run.documents for run in session.all_runs()}


def _state(done: bool) -> StepState:
    return "done" if done else "later"


def _data(session: ProjectSession, documents: int) -> PathStep:
    rejected = 0
    for import_ in session.store.documents.imports():
        rejected = int(import_.counts.get("rejected", 0)) + (0 if import_.counts.get("replaced") else rejected)
    words = "Import a file of texts."
    if documents:
        words = format_count(documents, "document")
        words += f", {format_count(rejected, 'row')} rejected" if rejected else ""
    hint = "Choose a file, check its columns, then press Import."
    return PathStep("data", "data", "Data", _state(documents > 0), words, "Import texts", hint)


def _codebook(session: ProjectSession, runs: _Runs, *, uses_words: bool) -> PathStep:
    """Return the codebook's step; ``uses_words`` is True if the built-in model will search for keywords.

    It is done if there is no draft and each label has more than a name. The guideline may define all ratings. A name is
    enough for a label of the last run with verdicts: they show whether it needs a definition.
    """
    status = codebook_status(session)
    book, saved = status.codebook, status.saved
    bare = [
        label for label in book.labels if not (label.description or label.include or label.exclude or label.keywords)
    ]
    if book.kind == "rating" and book.guideline:
        bare = []
    is_draft = session.store.codebooks.draft() is not None
    words = "A draft that is not saved." if is_draft else "Define what to look for."
    if saved is not None and saved.codebook.labels:
        count = format_count(len(saved.codebook.labels), label_noun(saved.codebook.kind))
        words = f"{count}, v{saved.number}{', and a draft that is not saved' if is_draft else ''}"
        without = sum(not label.keywords for label in saved.codebook.labels)
        if bare:
            words += f"; {len(bare):,} without a definition"
        elif uses_words and without and saved.codebook.kind != "rating":
            words += f"; {without:,} without keywords"
    save = f"Save as v{status.next_version}"
    hint = f"Press {save} to use the changes in runs."
    if bare or not book.labels:
        hint = f"Give each label a description, examples or keywords, then press {save}."
    action = "Check the draft" if is_draft and book.labels else "Define labels"
    tried = runs.ended[-1].settings.codebook.label_names if runs.ended else {}
    state = _state(bool(book.labels) and not is_draft and all(label.id in tried for label in bare))
    first = bare[0].id if bare else None
    return PathStep("codebook", "codebook", "Codebook", state, words, action, hint, label_id=first)


def _role_models(session: ProjectSession) -> list[RoleModel]:
    """Return the models of the roles of the next run."""
    plan = planning.load_plan(session)
    spec = protocols.find(plan.protocol, plan.params)
    return [plan.role_model(role.name) for role in spec.roles(spec.parse_params(plan.for_protocol().params))]


def _models(role_models: Sequence[RoleModel]) -> PathStep:
    complete = all(role_model.model for role_model in role_models)
    words = "A role has no model."
    if complete:
        specs = {role_model.spec for role_model in role_models}
        models = role_models[0].name if len(specs) == 1 else format_count(len(specs), "model")
        words = f"{format_count(len(role_models), 'role')}, {models}"
    hint = "Choose a model for each role."
    return PathStep("models", "models", "Models", _state(complete), words, "Choose models", hint)


def _changes(session: ProjectSession, run: RunRow | None, name: str = "run", *, with_examples: bool = True) -> str:
    """Return which definitions and prompts of new runs differ from those of a run; empty if none or without a run.

    Without ``with_examples``, further examples of a label are not a change.
    """
    if run is None:
        return ""
    version = session.store.codebooks.latest()
    parts = []
    if (
        version is not None
        and version.number != run.settings.codebook_version
        and _definitions(version.codebook, with_examples) != _definitions(run.settings.codebook, with_examples)
    ):
        parts.append("codebook")
    if prompt_templates.have_changed(session, run.settings):
        parts.append("prompts")
    return f"The {' and the '.join(parts)} changed since the last {name}." if parts else ""


def _definitions(codebook: Codebook, with_examples: bool) -> Codebook:
    if with_examples:
        return codebook.closed
    labels = [label.model_copy(update={"include": (), "exclude": ()}) for label in codebook.closed.labels]
    return codebook.closed.model_copy(update={"labels": tuple(labels)})


def _pilot(session: ProjectSession, runs: _Runs, reviewed: int, *, enough: bool) -> PathStep:
    """Return the pilot's step. The first of the ``ended`` runs, which all have verdicts, completes it.

    After a change of definitions or prompts, another run is due; Compare shows its difference from the earlier one.
    During its review, examples are no such change, because corrections become examples. After the review, the run on
    all documents comes next. After a run without any verdict, the failed documents or the definitions come first.
    """
    version = session.store.codebooks.latest()
    saved = version.number if version else 0
    last, state, ended = runs.last, runs.state, runs.ended
    latest = ended[-1] if ended else last
    changed = _changes(session, latest)
    is_due = not enough and bool(_changes(session, latest, with_examples=not reviewed))
    if ended and not is_due:
        words = changed or _run_words(ended[0], ended[0].state)
        return PathStep("pilot", "run", "Pilot", "done", words, "Run a pilot", "", new_run=True)
    if last is not None and state == "done" and last.failed == last.documents:
        words = f"All debates failed ({format_count(last.documents, 'document')})."
        failed = session.store.runs.retryable(last.run_id)["failed"]
        hint = f"Press Retry {failed:,} failed. If they fail again, press Test at the connection on Models."
        return PathStep("pilot", "run", "Pilot", "later", words, "Retry failed", hint)
    if last is not None and state == "done" and not last.verdicts and last.settings.codebook_version == saved:
        return _pilot_without_verdict(last)
    if state in UNFINISHED:
        return PathStep("pilot", "run", "Pilot", "later", _run_words(last, state), *UNFINISHED[state])
    size = planning.load_plan(session).limit or planning.PILOT
    button = f"Start with {size:,}" if size < runs.documents else f"Start all {runs.documents:,}"
    words = changed or _run_words(last, state)
    if ended:
        action = f"Run with v{saved}" if ended[-1].settings.codebook_version != saved else "Run again"
        hint = f"Press {button}. Compare then shows what the change did."
    else:
        action = "Run a pilot"
        hint = f"Press {button}: a small run shows whether definitions and models work."
    return PathStep("pilot", "run", "Pilot", "later", words, action, hint, new_run=True)


def _pilot_without_verdict(run: RunRow) -> PathStep:
    """Return the pilot's step after a run whose definitions gave no verdict."""
    words = f"No verdict for any of {format_count(run.documents, 'document')}: all are unresolved or failed."
    unknown = baseline.labels_without_words(run.settings.codebook)
    bare = join_names([label.name for label in unknown]) if 0 < len(unknown) <= MAX_NAMED else "each label"
    first = unknown[0].id if unknown else None
    hint = f"Add keywords to {bare} and press Save, or choose a language model on Models and run a pilot again."
    return PathStep("pilot", "codebook", "Pilot", "later", words, "Improve definitions", hint, label_id=first)


def _whole_run(runs: _Runs, changed: str, *, reviewed: bool, is_outdated: bool) -> PathStep:
    """Return the step of the run on all documents. It continues the last run if that is such a run.

    ``changed`` names what changed since the full run. ``is_outdated`` is True if another run is due because of it: not
    during the review of that run.
    """
    full_run, last, state = runs.full, runs.last, runs.state
    words = "Debate the other documents." if reviewed else "After the review of the pilot."
    words = changed or (_run_words(full_run, "done") if full_run else words)
    done = full_run is not None and not is_outdated
    unfinished = UNFINISHED.get("paused" if state == "stopped" else state or "")
    if not done and last is not None and runs.has_all_documents(last) and unfinished is not None:
        return PathStep("whole", "run", "Whole run", "later", _run_words(last, state), *unfinished)
    hint = f"Press Start all {format_count(runs.documents, 'document')}."
    action = f"Run all {runs.documents:,}"
    return PathStep("whole", "run", "Whole run", _state(done), words, action, hint, new_run=True)


def _accuracy(full_run: RunRow | None, missing: int, *, enough: bool) -> PathStep:
    done = full_run is not None and enough and not missing
    words = "Accuracy estimate of all documents." if done else "How many labels are correct, with an interval."
    action = f"Review about {missing:,} more" if full_run else "Review more"
    population = f"all documents of {full_run.title}" if full_run else "all documents"
    hint = f"Submit about {missing:,} more documents in the order of the queue. The estimate is for {population}."
    return PathStep("accuracy", "review", "Accuracy", _state(done), words, action, hint)


def _basis_of_reviews(session: ProjectSession, run: RunRow) -> Hashable:
    """Return a value that changes with reviews, and with debates of the run and of the run that its plan compares."""
    plan = review_plan.current_plan(session, run)
    runs = [run, session.run(plan.other)] if plan is not None and plan.other else [run]
    return review_revision(session), *((each.verdicts, each.unresolved, each.failed) for each in runs)


@cached_while(_basis_of_reviews)
def _missing_reviews(session: ProjectSession, run: RunRow) -> int:
    """Return about how many reviews in queue order are missing for the plan of a run, 0 if they are enough.

    Without a plan, for the accuracy estimate and the width of its interval that the Review page asks for.
    """
    if (plan := review_plan.current_plan(session, run)) is not None:
        status = review_plan.plan_status(session, run, plan)
        if status.enough or status.complete:
            return 0
        return max(1, min(plan.reviews, status.population) - status.drawn)
    estimate = estimate_accuracy(session, run)
    if estimate.reviewed >= estimate.documents:
        return 0
    if (needed := estimate.needed_reviews()) is not None:
        return needed
    return max(1, min(estimate.missing or 1, estimate.documents - estimate.reviewed))


def _run_words(run: RunRow | None, state: State | None) -> str:
    if run is None:
        return "No run of these documents yet."
    if state != "done":
        return f"{run.ended:,} of {run.documents:,} debated, {state}"
    unfinished = f", {run.unresolved:,} unresolved" if run.unresolved else ""
    unfinished += f", {run.failed:,} failed" if run.failed else ""
    return f"{format_count(run.ended, 'document')} debated{unfinished}"


def _review_words(run: RunRow | None, reviewed: int) -> str:
    if reviewed:
        return f"{format_count(reviewed, 'document')} reviewed"
    return "Correct the verdicts and measure their accuracy." if run else "Available after a run."


def last_run(session: ProjectSession) -> tuple[RunRow | None, State | None]:
    """Return the active run, else the latest one, and its state; None without a run."""
    run_id = next(iter(session.active_runs()), None) or session.latest_run()
    run = session.store.runs.get(run_id) if run_id else None
    return (run, session.state(run.run_id)) if run else (None, None)


def reviewed_documents(session: ProjectSession) -> int:
    """Return the number of submitted and discarded documents."""
    counts = session.store.reviews.status_counts()
    return counts.get("Submitted", 0) + counts.get("Discarded", 0)
