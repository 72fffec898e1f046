"""Test a change with two runs on the same documents, one before and one after it.

Only changed requests are paid for; replies to all others come from the store. A forecast gives the cost beforehand.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np

from core.codebook import Codebook
from core.debate import protocols
from core.documents import Document, Precedents, Value
from core.engine.pending_turns import Debate, find_reply
from core.errors import CodebookError, NothingChanged, PromptError, UsageError
from core.hashing import digest
from core.runs import EngineSettings, RunRow, RunSettings, total_cost
from core.services import few_shot_examples, prompt_templates, result_cache
from core.services.codebooks import codebook as codebooks
from core.services.codebooks import label_keywords
from core.services.document_samples import DocumentSample
from core.services.evaluation import annotation_arrays
from core.services.project_session import ProjectSession
from core.services.prompt_preview import requests_with_history
from core.services.runs import planning
from core.services.runs.cost_estimate import estimate_run
from core.stats.arrays import Codes, Numbers
from core.stats.comparison import Pair, Side, compare_annotators
from core.stats.flips import Tally
from core.stats.intervals import Estimate
from core.stats.metric_intervals import Design
from core.store.annotation_sources import REVIEWED_OR_GOLD
from core.store.annotations import decode_value
from core.store.lab import Trial as Trial

Effect: TypeAlias = Literal["regressed", "mixed", "corrected", "changed", "wrong", "same"]
EFFECT_ORDER: tuple[Effect, ...] = get_args(Effect)
"""Reading order. The first three are an ``Outcome``, as on Compare.

``changed`` has another value and is neither corrected nor regressed: as right or wrong as before, without a reference,
or without a complete verdict in one of the runs. ``wrong`` and ``same`` have the same values, with and without a wrong
one.
"""


@dataclass(frozen=True, slots=True)
class CellChange:
    """A label (or dimension, or the choice) of one document whose value changed; None is an unresolved value."""

    item: str
    before: Value | None
    after: Value | None
    effect: Literal["corrected", "regressed", "changed"]


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """A document with those of its labels that changed."""

    document_id: str
    effect: Effect
    cells: tuple[CellChange, ...]
    excerpt: str = ""
    """Beginning of the text."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """Effect of a change on documents of two runs."""

    documents: tuple[DocumentResult, ...]
    before: Estimate
    """Main score of the run before the change."""
    after: Estimate
    comparison: Pair
    """The run after the change against the one before it."""

    @property
    def labelled(self) -> int:
        """Documents with a reference, scored or without a complete verdict in one of the runs."""
        return self.comparison.scores.n + self.comparison.scores.excluded

    @property
    def cells(self) -> Tally:
        """Corrected and regressed labels; a choice is one."""
        return self.comparison.flip.total

    def count(self, effect: Effect) -> int:
        """Return the number of documents with this effect."""
        return sum(document.effect == effect for document in self.documents)

    @property
    def is_unchanged(self) -> bool:
        """True if no document has another value."""
        return not any(document.effect in EFFECT_ORDER[:4] for document in self.documents)

    @property
    def sentence(self) -> str:
        """One-line conclusion that claims no more than interval and test support."""
        if self.is_unchanged:
            return "Nothing changed."
        return self.comparison.sentence


def effect_of_change(
    documents: Sequence[str],
    reference: Numbers,
    before: Side,
    after: Side,
    codebook: Codebook,
    groups: Codes | None = None,
) -> TrialResult:
    """Return the effect of a change on the same documents.

    Values are ``[document, item]`` for this codebook, NaN for a missing value. Documents with equal codes in
    ``groups``, ``[document]``, depend on each other.
    """
    compared = compare_annotators(codebook, reference, [before, after], Design(groups=groups))
    first, second = compared.scores
    (pair,) = compared.pairs
    old_values, new_values = before.verdicts, after.verdicts
    moved = ~((old_values == new_values) | (np.isnan(old_values) & np.isnan(new_values)))
    effects = np.select([*pair.changes[:2]], ["corrected", "regressed"], "changed").tolist()
    outcomes = pair.changes.outcomes
    unchanged = np.select([moved.any(axis=1), outcomes == "wrong"], ["changed", "wrong"], "same")
    document_effects = np.where(np.isin(outcomes, EFFECT_ORDER[:3]), outcomes, unchanged).tolist()
    document_results = []
    for row, document in enumerate(documents):
        cells = tuple(
            CellChange(
                item,
                decode_value(codebook, old_values[row, column]),
                decode_value(codebook, new_values[row, column]),
                effects[row][column],
            )
            for column, item in enumerate(codebook.items)
            if moved[row, column]
        )
        document_results.append(DocumentResult(document, document_effects[row], cells))
    document_results.sort(key=lambda result: EFFECT_ORDER.index(result.effect))
    return TrialResult(tuple(document_results), first.main, second.main, pair)


DEFINITIONS = "definitions"
"""Subject of a trial that changes the codebook; other subjects are template slots."""

EXCERPT = 200
"""Characters of the beginning of a document."""

TrialState: TypeAlias = Literal["running", "done", "stopped", "failed", "paused"]


@dataclass(frozen=True)
class SettingsChange:
    """A change to test: the settings ``before`` and ``after`` it, with a name for each side."""

    subject: str
    before: RunSettings
    after: RunSettings
    before_name: str
    after_name: str

    @cached_property
    def request_hashes(self) -> tuple[str, str]:
        """Hashes of the requests before and after the change."""
        return _hash_requests(self.before), _hash_requests(self.after)

    @property
    def unchanged(self) -> bool:
        """True if both sides send the same requests."""
        before, after = self.request_hashes
        return before == after


@dataclass(frozen=True, slots=True)
class TrialStatus:
    """A trial with the current state of its two runs."""

    trial: Trial
    before: RunRow
    after: RunRow
    state: TrialState
    new_runs: tuple[RunRow, ...]
    """The runs that no earlier trial had made."""
    error: BaseException | None = None

    @property
    def calls(self) -> int:
        """Calls that this trial paid for; none in runs of earlier trials."""
        return sum(run.calls for run in self.new_runs)

    @property
    def reused(self) -> int:
        """Replies of these runs that came from the store."""
        return sum(run.cached_calls for run in self.new_runs)

    @property
    def cost_usd(self) -> float | None:
        """Cost of this trial in dollars, None if a price is unknown."""
        return total_cost(run.cost_usd for run in self.new_runs)


def base_settings(session: ProjectSession, plan: planning.Plan | None = None) -> RunSettings:
    """Return ``planning.project_settings`` of a live plan (default: the last) without pace, budget and pre-pass."""
    plan = plan or planning.load_plan(session)
    plan = replace(plan, engine=EngineSettings(), pace=0.0, budget_usd=None, ambiguous="")
    return planning.project_settings(session, plan)


def prompt_change(
    session: ProjectSession,
    slot: prompt_templates.Slot,
    plan: planning.Plan | None = None,
    *,
    against: prompt_templates.PromptVersion | None = None,
) -> SettingsChange:
    """Return the change from another version of a slot to its draft.

    The other version defaults to the one that the draft was started from. Raises PromptError for an unusable draft.
    """
    settings = base_settings(session, plan)
    now = prompt_templates.template_status(session, slot)
    if not now.usable:
        problem = next(problem for problem in now.problems if problem.severity == "error")
        raise PromptError(f"{slot.title}: {problem.message}.", "Fix it first.", line=problem.line)
    old = against or now.base
    return SettingsChange(
        slot.name,
        prompt_templates.with_template(settings, slot.key, old.template),
        prompt_templates.with_template(settings, slot.key, now.template),
        old.label,
        "draft" if now.changed else now.base.label,
    )


def definition_change(session: ProjectSession, plan: planning.Plan | None = None) -> SettingsChange:
    """Return the change from the latest saved codebook to its draft. Raises CodebookError without a saved one."""
    settings = base_settings(session, plan)
    now = codebooks.codebook_status(session)
    draft = now.codebook.closed.require_labels()
    after = settings.model_copy(
        update={"codebook": draft, "codebook_version": 0 if now.dirty else settings.codebook_version}
    )
    if draft.kind != settings.codebook.kind:
        raise CodebookError(
            "Codebooks of different kinds cannot be compared.", "Save the codebook and start a run with it."
        )
    return SettingsChange(
        DEFINITIONS,
        settings,
        after,
        f"v{settings.codebook_version}",
        "draft" if now.dirty else f"v{now.next_version - 1}",
    )


def draft_change(session: ProjectSession, slot: prompt_templates.Slot | None, plan: planning.Plan) -> SettingsChange:
    """Return the change that the Lab tests: ``prompt_change`` of a slot, ``definition_change`` for None."""
    return definition_change(session, plan) if slot is None else prompt_change(session, slot, plan)


def held_out_change(session: ProjectSession, slot: prompt_templates.Slot | None, plan: planning.Plan) -> SettingsChange:
    """Return the change that is scored on the held-out split: that of the draft, as ``draft_change``.

    Without a draft of a prompt, the version in the editor is compared with its parent. Raises PromptError, and
    UsageError for the shipped version, which has no parent.
    """
    if slot is None or (now := prompt_templates.template_status(session, slot)).changed:
        return draft_change(session, slot, plan)
    versions = prompt_templates.versions(session, slot)
    parent = next((version for version in versions if version.name == now.base.parent), None)
    if parent is None:
        raise UsageError("The shipped template has no earlier version to compare with.", "Edit it first.")
    return prompt_change(session, slot, plan, against=parent)


def start_trial(session: ProjectSession, change: SettingsChange, sample: DocumentSample, *, pace: float = 0.0) -> Trial:
    """Start both runs, or return the same trial made earlier.

    ``pace`` is the built-in model's speed. Raises NothingChanged if there is nothing to test, and PromptError for a
    template that cannot be rendered on some of the documents.
    """
    if change.unchanged:
        raise NothingChanged("Nothing has changed.", "Edit something first.")
    documents = prompt_templates.sample_documents(session, sample.ids)
    for settings in (change.before, change.after):
        prompt_templates.check_templates(settings, documents)
    earlier_trials = _trials_on(session, sample)
    before, after = _find_runs(session, change, earlier_trials)
    before = before or _create_run(session, change.before, sample, pace)
    after = after or _create_run(session, change.after, sample, pace)
    few_shot_examples.copy_pool(session.store, before, after)  # labels may have changed since an earlier trial
    few_shot_examples.copy_pool(session.store, after, before)
    same = (
        trial
        for trial in reversed(earlier_trials)
        if (trial.subject, trial.before_run, trial.after_run) == (change.subject, before, after) and not trial.held_out
    )
    trial = None if sample.held_out else next(same, None)
    if trial is None:
        trial = _record_trial(session, change, sample, before, after)
    for run_id in (before, after):
        row = session.run(run_id)
        if row.state != "done" or row.failed:
            session.start_or_resume(run_id, retry_failed=True)
    return trial


def _create_run(session: ProjectSession, settings: RunSettings, sample: DocumentSample, pace: float) -> str:
    return session.store.runs.create(settings.model_copy(update={"pace": pace}), sample.ids, purpose="lab").run_id


def _record_trial(
    session: ProjectSession, change: SettingsChange, sample: DocumentSample, before_run: str, after_run: str
) -> Trial:
    before_asks, after_asks = change.request_hashes
    trial = Trial(
        number=0,
        at=time.time(),
        subject=change.subject,
        before=change.before_name,
        after=change.after_name,
        before_run=before_run,
        after_run=after_run,
        before_asks=before_asks,
        after_asks=after_asks,
        sample=asdict(sample) | {"texts": session.store.documents.digest(sample.ids)},
        held_out=sample.held_out,
    )
    return session.store.lab.record(trial)


def _find_runs(
    session: ProjectSession, change: SettingsChange, earlier_trials: Sequence[Trial]
) -> tuple[str | None, str | None]:
    """Return the latest runs that send the requests before and after a change, with the same examples; None without."""
    runs = [
        run
        for trial in reversed(earlier_trials)
        for run in ((trial.after_run, trial.after_asks), (trial.before_run, trial.before_asks))
    ]
    before_asks, after_asks = change.request_hashes
    before = next((run_id for run_id, asks in runs if asks == before_asks), None)
    pool = None if before is None else session.store.precedents.frozen(before)
    for run_id, asks in runs:
        if asks == after_asks and (pool is None or session.store.precedents.frozen(run_id) in (None, pool)):
            return before, run_id
    return before, None


def _trials_on(session: ProjectSession, sample: DocumentSample) -> list[Trial]:
    """Return the trials on the same documents with the same texts and context."""
    texts = session.store.documents.digest(sample.ids)
    return [
        trial for trial in session.store.lab.trials(texts=texts) if list(trial.sample["strata"]) == list(sample.ids)
    ]


def _hash_requests(settings: RunSettings) -> str:
    """Return a hash of the requests of a run; names, versions, budget, pace and pre-pass do not count."""
    excluded = {"codebook_version", "budget_usd", "pace", "prepass", "concurrency", "templates"}
    plain = settings.model_dump(mode="json", exclude=excluded)
    return digest(plain | {"templates": {key: template.text for key, template in settings.templates.items()}})


def find_trial(session: ProjectSession, subject: str, number: int | None = None) -> Trial | None:
    """Return the trial of a subject with this number, else its latest trial; None before the first."""
    return session.store.lab.find_trial(subject, number)


def is_trial_active(session: ProjectSession, trial: Trial) -> bool:
    """Return True while one of the trial's runs is active."""
    return session.is_active(trial.before_run) or session.is_active(trial.after_run)


def trial_status(session: ProjectSession, trial: Trial) -> TrialStatus:
    """Return the current state of a trial."""
    is_active = is_trial_active(session, trial)  # first: a run that ends meanwhile has not its last state below
    before, after = _trial_runs(session, trial)
    error = session.last_error(after.run_id) or session.last_error(before.run_id)
    worst: tuple[TrialState, ...] = ("failed", "stopped", "paused")
    states = {before.state, after.state}
    otherwise: TrialState = "done" if states == {"done"} else "stopped"  # a run could not be started
    state = next((state for state in worst if state in states), otherwise)
    if is_active:
        state = "running"
    earlier_runs = session.store.lab.earlier_runs(trial.number)
    new_runs = tuple(run for run in (before, after) if run.run_id not in earlier_runs)
    return TrialStatus(trial, before, after, state, new_runs, error)


def wait_for_trial(session: ProjectSession, trial: Trial, seconds: float) -> bool:
    """Wait for both runs at most this many seconds, and return True if they have ended."""
    return session.wait_for_runs((trial.before_run, trial.after_run), seconds)


def _trial_runs(session: ProjectSession, trial: Trial) -> tuple[RunRow, RunRow]:
    return session.run(trial.before_run), session.run(trial.after_run)


def was_tried(session: ProjectSession, change: SettingsChange, sample: DocumentSample) -> bool:
    """Return True if the same change was already tested on the sample."""
    return any(
        (trial.subject, trial.before_asks, trial.after_asks) == (change.subject, *change.request_hashes)
        for trial in _trials_on(session, sample)
    )


def stop_trial(session: ProjectSession, trial: Trial) -> None:
    """Stop both runs; paid replies are kept and reused by the next trial."""
    for run_id in (trial.before_run, trial.after_run):
        session.stop(run_id)


def trial_result(session: ProjectSession, trial: Trial) -> TrialResult:
    """Return the effect on documents that ended in both runs. Those that either learned from have no reference."""
    before, after = _trial_runs(session, trial)
    codebook = compared_labels(before.settings.codebook, after.settings.codebook)
    was, now = (
        annotation_arrays.load_arrays(session.store, run.run_id, codebook, REVIEWED_OR_GOLD) for run in (before, after)
    )
    ended = session.store.lab.ended(before.run_id) & session.store.lab.ended(after.run_id)
    rows = [row for row, id in enumerate(was.documents) if id in ended]
    ids = [was.documents[row] for row in rows]
    reference = np.where(np.isnan(was.reference), np.nan, now.reference)[rows]
    if codebook.kind == "choice":  # a removed label is not in question any more
        reference = np.where(reference < len(after.settings.codebook.labels), reference, np.nan)
    groups = annotation_arrays.group_codes(session, after)
    groups = None if groups is None else groups[rows]
    result = effect_of_change(
        ids,
        reference,
        Side(before.run_id, trial.before, was.verdicts[rows]),
        Side(after.run_id, trial.after, now.verdicts[rows]),
        codebook,
        groups,
    )
    texts = session.store.documents.texts([document.document_id for document in result.documents])
    excerpts = {id: " ".join(text[: 2 * EXCERPT].split())[:EXCERPT] for id, text in texts.items()}
    documents = tuple(
        replace(document, excerpt=excerpts.get(document.document_id, "")) for document in result.documents
    )
    return replace(result, documents=documents)


def compared_labels(before: Codebook, after: Codebook) -> Codebook:
    """Return the later codebook with only the labels that the earlier one has, too.

    A choice has the labels of both, because a label that only one of them has is a decision, not a missing value.
    """
    earlier_ids = {label.id for label in before.labels}
    labels = tuple(label for label in after.labels if label.id in earlier_ids)
    if after.kind == "choice":
        shared_ids = {label.id for label in labels}
        labels = (*after.labels, *(label for label in before.labels if label.id not in shared_ids))
    return after.model_copy(update={"labels": labels})


def unused_edit(before: RunSettings, after: RunSettings) -> str:
    """Return why the word-list baseline does not use an edit of descriptions alone; empty if it does."""
    if set(after.specs.values()) != {planning.DEFAULT_ROLE_MODEL.spec}:
        return ""
    old, new = before.codebook, after.codebook
    if old == new or len(old.labels) != len(new.labels):
        return ""
    restored = tuple(
        label.model_copy(update={"description": earlier.description}) if label_keywords.has_full_list(label) else label
        for earlier, label in zip(old.labels, new.labels, strict=True)
    )
    return label_keywords.UNUSED_DESCRIPTION if new.model_copy(update={"labels": restored}) == old else ""


@dataclass(frozen=True, slots=True)
class CostForecast:
    """Forecast of a trial.

    ``calls`` is the maximum of paid calls if every reply is readable, ``reused`` counts replies from the store, and
    ``cost_usd`` is None without a known price.
    """

    calls: int
    reused: int
    cost_usd: float | None

    def __add__(self, other: CostForecast) -> CostForecast:
        cost = total_cost((self.cost_usd, other.cost_usd))
        return CostForecast(self.calls + other.calls, self.reused + other.reused, cost)


def forecast_trial(session: ProjectSession, change: SettingsChange, sample: DocumentSample) -> CostForecast:
    """Return the calls and cost of testing the change on the sample.

    Requests that both sides share are counted once, for the side that runs first. Raises PromptError.
    """

    def look() -> CostForecast:
        earlier_trials = _trials_on(session, sample)
        runs = _find_runs(session, change, earlier_trials)
        before = forecast_run(session, change.before, sample.ids, runs)
        shared = _shared_requests(session, change, sample.ids) if before.calls else None
        return before + forecast_run(session, change.after, sample.ids, runs[::-1], shared=shared)

    return result_cache.cached(
        session, look, "forecast", change.request_hashes, tuple(sample.ids), basis=session.saved_at()
    )


def forecast_run(
    session: ProjectSession,
    settings: RunSettings,
    document_ids: Sequence[str],
    earlier: Iterable[str | None],
    *,
    shared: Counter[str] | None = None,
) -> CostForecast:
    """Return which replies of a run on documents are stored, and how many are missing.

    The first of ``earlier`` runs that shows examples gives them to this one. Another run stores the replies to
    ``shared`` requests of each debate before, by role.
    """
    runs = [run_id for run_id in earlier if run_id is not None]
    find_examples = few_shot_examples.forecast_library(
        session.store, session.models, session.load_documents, settings, document_ids, runs
    )
    counts = protocols.for_settings(settings).request_counts(settings.params, settings.codebook)
    max_requests = Counter({role: count.maximum for role, count in counts.items()})
    missing = Counter[str]()
    reused = 0
    documents = session.store.documents.load(document_ids, gold=False)

    async def replay_all() -> list[tuple[Counter[str], str]]:
        return [await _replay(session, settings, document, await find_examples(document)) for document in documents]

    for stored, next_role in session.engine.submit(replay_all()).result():
        if next_role:
            stored |= shared or Counter()
            missing += max_requests - stored or Counter([next_role])
        reused += stored.total()
    if not missing:
        return CostForecast(0, reused, 0.0)
    role_estimates = {role.role: role for role in estimate_run(session, settings, 1).roles}
    costs = []
    for role, calls in missing.items():
        estimate = role_estimates[role]
        costs.append(None if estimate.cost_usd is None else calls * estimate.cost_usd / max(1, estimate.calls))
    return CostForecast(missing.total(), reused, total_cost(costs))


async def _replay(
    session: ProjectSession, settings: RunSettings, document: Document, examples: Precedents
) -> tuple[Counter[str], str]:
    """Return the stored replies of a debate by role, and the role of the first missing reply, empty without one."""
    debate = Debate(document, settings, session.models, examples)
    count = Counter[str]()
    try:
        while debate.verdict is None:
            replies = []
            for pending in debate.pending:
                _, reply = await find_reply(session.project.replies.fetch, pending, settings, {})
                replies.append(reply)
                count[pending.request.role] += reply is not pending.equal
            if None in replies:
                return count, debate.pending[replies.index(None)].request.role
            debate.send([reply for reply in replies if reply is not None])
    finally:
        debate.close()
    return count, ""


def _shared_requests(session: ProjectSession, change: SettingsChange, document_ids: Sequence[str]) -> Counter[str]:
    """Return the requests of a debate that are the same on both sides, by role: those before a changed one."""
    document = session.store.documents.load(document_ids, gold=False)[0]
    before, after = (
        list(requests_with_history(session.models, settings, document)) for settings in (change.before, change.after)
    )
    hashes = {hash for _, hash in before}
    return Counter(request.role for request, hash in after if hash in hashes)
