"""Trying a change: two runs on the same documents, with what stood before and with what came after. Only what changed
is asked again, as everything else is in the turn store already."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from core.annotations import VERDICT
from core.codebook import Codebook
from core.debate import protocols
from core.documents import Document
from core.engine.debate import Debate, heard
from core.errors import CodebookError, NothingChanged, PromptError, UsageError
from core.hashing import digest
from core.runs import RunRow, RunSettings
from core.services import cache, templates
from core.services.codebooks import codebook as codebooks
from core.services.evaluation import grids
from core.services.lab import results
from core.services.lab.results import TrialResult
from core.services.lab.samples import Sample
from core.services.runs import planning
from core.services.runs.costs import estimate_run
from core.services.session import ProjectSession
from core.store.lab import Trial as Trial

# the screens have it from here

DEFINITIONS = "definitions"
"""The subject of a trial that changes the codebook; of the others it is a template's slot."""

TrialState: TypeAlias = Literal["running", "done", "stopped", "failed", "paused"]


@dataclass(frozen=True, slots=True)
class PromptChange:
    """What is to be tried: the settings that stood ``before`` and those ``after`` it, and what each is called."""

    subject: str
    before: RunSettings
    after: RunSettings
    before_name: str
    after_name: str

    @property
    def nothing(self) -> bool:
        """Whether both ask the very same."""
        return _ask_hash(self.before) == _ask_hash(self.after)

    @property
    def mark(self) -> str:
        """Equal for changes that ask the same."""
        return _ask_hash(self.before) + _ask_hash(self.after)

    @property
    def changed_texts(self) -> tuple[str, ...]:
        """Names of the templates, among those of the run, that differ."""
        before, after = self.before.templates, self.after.templates
        return tuple(key for key in after if key not in before or before[key].text != after[key].text)


@dataclass(frozen=True, slots=True)
class TrialStatus:
    """A trial with its two runs as they stand."""

    trial: Trial
    before: RunRow
    after: RunRow
    state: TrialState
    again: bool
    """Whether the earlier run had been made by another trial before."""
    error: BaseException | None = None

    @property
    def sample(self) -> Sample:
        """The documents it is made on."""
        return Sample.from_json(self.trial.sample)

    @property
    def ended(self) -> int:
        """Documents of the later run whose debate has ended."""
        return self.after.verdicts + self.after.unresolved + self.after.failed

    @property
    def calls(self) -> int:
        """Calls that this trial paid for."""
        return sum(run.calls for run in self._own)

    @property
    def reused(self) -> int:
        """Turns of this trial's runs that came from the store."""
        return sum(run.cached_calls for run in self._own)

    @property
    def cost_usd(self) -> float | None:
        """Dollars that this trial paid, None when a price is unknown."""
        costs = [run.cost_usd for run in self._own]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def _own(self) -> tuple[RunRow, ...]:
        return (self.after,) if self.again else (self.before, self.after)


def base_settings(session: ProjectSession, plan: planning.Plan | None = None) -> RunSettings:
    """The settings that new runs of this project have: its last plan, the codebook saved last, its default prompts.

    CodebookError before a codebook is saved; else as ``runs.settle``.
    """
    saved = session.store.codebooks.latest()
    if saved is None:
        raise CodebookError("No codebook is saved yet.", "Save one on the Codebook page first.")
    plan = replace((plan or planning.load_plan(session)).for_protocol(), pace=0.0, budget_usd=None)
    return planning.build_settings(
        plan, saved.codebook, saved.version, session.models, own=templates.promoted_templates(session)
    )


def prompt_change(
    session: ProjectSession,
    slot: templates.Slot,
    plan: planning.Plan | None = None,
    *,
    against: templates.Version | None = None,
) -> PromptChange:
    """The draft of a slot against another version of it (against what the draft was begun from when None).

    PromptError for a draft that cannot be used.
    """
    settings = base_settings(session, plan)
    now = templates.template_status(session, slot, settings.protocol)
    if not now.usable:
        problem = next(each for each in now.problems if each.weight == "error")
        raise PromptError(f"{slot.title}: {problem.message}.", "Mend it first.", line=problem.line)
    old = against or now.base
    return PromptChange(
        slot.slot,
        templates.with_template(settings, slot.key, old.template),
        templates.with_template(settings, slot.key, now.template),
        old.label,
        "draft" if now.changed else now.base.label,
    )


def latest_change(session: ProjectSession, slot: templates.Slot, plan: planning.Plan | None = None) -> PromptChange:
    """The draft of a slot against what it was begun from; without a draft, the version in the editor against the one it
    was made from. PromptError, and UsageError for the shipped one, which was made from none."""
    settings = base_settings(session, plan)
    now = templates.template_status(session, slot, settings.protocol)
    if now.changed:
        return prompt_change(session, slot, plan)
    known = {version.name: version for version in templates.versions(session, slot, settings.protocol)}
    parent = known.get(now.base.parent)
    if parent is None:
        raise UsageError("The shipped template has nothing to be compared with.", "Edit it first.")
    return prompt_change(session, slot, plan, against=parent)


def definition_change(session: ProjectSession, plan: planning.Plan | None = None) -> PromptChange:
    """The codebook's draft against the version saved last. CodebookError before one is saved."""
    settings = base_settings(session, plan)
    now = codebooks.standing(session)
    draft = now.codebook.require_labels()
    after = settings.model_copy(
        update={"codebook": draft, "codebook_version": 0 if now.dirty else settings.codebook_version}
    )
    if draft.kind != settings.codebook.kind:
        raise CodebookError("Another kind of label cannot be compared.", "Save the codebook and make a run of its own.")
    return PromptChange(
        DEFINITIONS,
        settings,
        after,
        f"v{settings.codebook_version}",
        "draft" if now.dirty else f"v{now.next_version - 1}",
    )


def start_trial(
    session: ProjectSession, change: PromptChange, sample: Sample, *, budget_usd: float | None = None, pace: float = 0.0
) -> Trial:
    """Start both runs, or give the trial that was the same before. ``budget_usd`` bounds each of the two, ``pace`` is
    that of the built-in model.

    NothingChanged when there is nothing to try, UsageError for a budget on a model without a price.
    """
    if change.nothing:
        raise NothingChanged("Nothing was changed.", "Edit something first.")
    known = [trial for trial in session.store.lab.trials() if list(trial.sample["strata"]) == list(sample.ids)]
    asks = _ask_hash(change.before), _ask_hash(change.after)
    before, after = (
        _find_or_create_run(
            session, settings.model_copy(update={"budget_usd": budget_usd, "pace": pace}), asked, sample, known
        )
        for settings, asked in zip((change.before, change.after), asks, strict=True)
    )
    same = (
        trial
        for trial in reversed(known)
        if (trial.subject, trial.before_run, trial.after_run) == (change.subject, before, after) and not trial.held_out
    )
    trial = None if sample.held_out else next(same, None)
    if trial is None:
        trial = session.store.lab.record(
            change.subject, change.before_name, change.after_name, before, after, sample.to_json(),
            before_asks=asks[0], after_asks=asks[1], held_out=sample.held_out,
        )  # fmt: skip
    for run_id in (before, after):
        row = session.store.runs.get(run_id)
        if row is not None and (row.state != "done" or row.failed):
            session.start_or_resume(run_id, retry_failed=True)
    return trial


def _find_or_create_run(
    session: ProjectSession, settings: RunSettings, asks: str, sample: Sample, known: Sequence[Trial]
) -> str:
    """A run of the lab that asks this on these documents: one that there is already, or a new one."""
    for trial in reversed(known):
        for run_id, asked in ((trial.after_run, trial.after_asks), (trial.before_run, trial.before_asks)):
            if asked == asks:
                return run_id
    if settings.budget_usd is not None:
        for role, role_model in settings.role_models.items():
            if not session.models.priced(role_model):
                raise UsageError(
                    f"The price of {role_model.spec} ({role}) is not known, so a budget cannot be kept.",
                    "Try without one.",
                )
    return session.store.runs.create(settings, sample.ids, purpose="lab").run_id


def _ask_hash(settings: RunSettings) -> str:
    """Equal for runs that ask the same: names, versions, budget and pace do not count."""
    apart = {"codebook_version", "budget_usd", "pace", "concurrency", "templates"}
    plain = settings.model_dump(mode="json", exclude=apart)
    return digest(plain | {"templates": {key: each.text for key, each in settings.templates.items()}})


def is_trial_active(session: ProjectSession, trial: Trial) -> bool:
    """Whether one of its runs is under way."""
    return session.is_active(trial.before_run) or session.is_active(trial.after_run)


def trial_status(session: ProjectSession, trial: Trial) -> TrialStatus:
    """A trial as it stands now."""
    before, after = _trial_runs(session, trial)
    error = session.last_error(after.run_id) or session.last_error(before.run_id)
    worst: tuple[TrialState, ...] = ("failed", "stopped", "paused")
    state: TrialState = next((each for each in worst if each in (before.state, after.state)), "done")
    if is_trial_active(session, trial):
        state = "running"
    earlier = (one for one in session.store.lab.trials() if one.trial < trial.trial)
    again = any(trial.before_run in (one.before_run, one.after_run) for one in earlier)
    return TrialStatus(trial, before, after, state, again, error)


def wait_for_trial(session: ProjectSession, trial: Trial, seconds: float) -> bool:
    """Wait for both runs, at most some seconds; whether they have ended."""
    until = time.monotonic() + seconds
    while is_trial_active(session, trial):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def _trial_runs(session: ProjectSession, trial: Trial) -> tuple[RunRow, RunRow]:
    rows = [session.store.runs.get(run_id) for run_id in (trial.before_run, trial.after_run)]
    if rows[0] is None or rows[1] is None:
        raise UsageError(f"The runs of trial {trial.trial} are gone.", "Try again.")
    return rows[0], rows[1]


def was_tried(session: ProjectSession, change: PromptChange, sample: Sample) -> bool:
    """Whether just this was tried on the sample already."""
    asks = (_ask_hash(change.before), _ask_hash(change.after))
    return any(
        (trial.before_asks, trial.after_asks) == asks and list(trial.sample["strata"]) == list(sample.ids)
        for trial in session.store.lab.trials(change.subject)
    )


def stop_trial(session: ProjectSession, trial: Trial) -> None:
    """Stop both runs; what was paid for is kept and found again by the next try."""
    for run_id in (trial.before_run, trial.after_run):
        session.stop(run_id)


def trial_result(session: ProjectSession, trial: Trial) -> TrialResult:
    """What the change did to the documents that have ended in both runs."""
    before, after = _trial_runs(session, trial)
    codebook = shared_labels(before.settings.codebook, after.settings.codebook)
    loaded = [grids.load(session.store, row.run_id, codebook, (VERDICT,)) for row in (before, after)]
    reviewed = grids.load(session.store, after.run_id, codebook, (), "reviewed").reference
    reference = np.where(np.isnan(reviewed), loaded[1].reference, reviewed)
    heard = [session.store.lab.ended(row.run_id) for row in (before, after)]
    rows = [row for row, id in enumerate(loaded[0].documents) if id in heard[0] and id in heard[1]]
    return results.compare_grids(
        [loaded[0].documents[row] for row in rows],
        reference[rows],
        loaded[0].of(VERDICT)[rows],
        loaded[1].of(VERDICT)[rows],
        codebook,
    )


def shared_labels(before: Codebook, after: Codebook) -> Codebook:
    """The later codebook with only the labels that the earlier one has too."""
    known = {label.id for label in before.labels}
    return after.model_copy(update={"labels": tuple(label for label in after.labels if label.id in known)})


@dataclass(frozen=True, slots=True)
class CostForecast:
    """``calls`` to be paid at most when every reply can be read, ``reused`` turns that come from the store, and what
    the calls should cost: None without a known price."""

    calls: int
    reused: int
    cost_usd: float | None

    def __add__(self, other: CostForecast) -> CostForecast:
        costs = (self.cost_usd, other.cost_usd)
        cost = None if None in costs else sum(cost for cost in costs if cost is not None)
        return CostForecast(self.calls + other.calls, self.reused + other.reused, cost)


def forecast_trial(session: ProjectSession, change: PromptChange, sample: Sample) -> CostForecast:
    """What trying the change on the sample asks. What the earlier side will have paid for counts for the later one: of
    that, only what its own templates, seats and definitions make different. Raises PromptError."""

    def look() -> CostForecast:
        documents = session.store.documents.load(sample.ids, gold=False)
        before = forecast_run(session, change.before, documents)
        after = forecast_run(session, change.after, documents)
        return before + (_without_shared(after, change) if before.calls else after)

    return cache.remembered(session, look, "forecast", change.mark, tuple(sample.ids))


def forecast_run(session: ProjectSession, settings: RunSettings, documents: Sequence[Document]) -> CostForecast:
    """What a run with these settings on these documents would find in the store, and what it would have to ask."""
    most = protocols.of(settings).total(settings.params, settings.codebook).most
    calls = reused = 0
    for document in documents:
        found, ended = _replayed(session, settings, document)
        reused += found
        calls += 0 if ended else max(1, most - found)
    whole = estimate_run(session, settings, 1)
    each = None if whole.cost_usd is None else whole.cost_usd / max(1, whole.calls)
    return CostForecast(calls, reused, 0.0 if not calls else None if each is None else calls * each)


def _replayed(session: ProjectSession, settings: RunSettings, document: Document) -> tuple[int, bool]:
    """How many replies of a debate are in the store before the first that is not, and whether that is all of them."""
    debate = Debate(document, settings, session.models)
    found = 0
    try:
        while debate.verdict is None:
            stored = [session.project.turn_store.get(placed.key(0)) for placed in debate.waiting]
            found += sum(each is not None for each in stored)
            if None in stored:
                return found, False
            told = zip(debate.waiting, stored, strict=True)
            debate.hear([heard(each, placed, settings) for placed, each in told if each is not None])
    finally:
        debate.close()
    return found, True


def _without_shared(after: CostForecast, change: PromptChange) -> CostForecast:
    """Of what the later side lacks, the roles that speak before the first changed one are paid for by the earlier."""
    roles = protocols.roles_of(change.after)
    changed = change.changed_texts
    first = next((place for place, role in enumerate(roles) if role.name in changed or role.family in changed), 0)
    if not first or change.before.codebook != change.after.codebook:
        return after
    share = first / len(roles)
    shared = round(after.calls * share)
    cost = None if after.cost_usd is None else after.cost_usd * (1 - share)
    return CostForecast(after.calls - shared, after.reused + shared, cost)
