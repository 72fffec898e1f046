"""Accepted changes of labels that were suggested from reviewed documents, errors or the texts.

Whenever one is accepted, and when twice as many documents are reviewed, all of them are tried together in the
background: the codebook with them against the codebook without them, on labelled documents, by the built-in model,
which costs nothing. Some of these documents led to the changes, so that a loss counts as evidence and a gain does not.
They can be undone together. Other edits of the codebook, before or after a change, stay.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import NamedTuple

from pydantic import TypeAdapter

from core.codebook import Codebook, Label
from core.errors import MootError
from core.formatting import format_count
from core.services import document_samples
from core.services.classifier import count_reviewed
from core.services.codebooks import codebook as codebooks
from core.services.codebooks import prompt_diff
from core.services.lab import trials
from core.services.lab.trials import TrialResult
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit
from core.services.runs import planning
from core.store.lab import ACCEPTED_CHANGES
from core.store.rows import validated

NAMES = ("the codebook without the accepted changes", "the codebook with the accepted changes")
"""Names of both sides of the trial."""
SETTING = "accepted changes"
"""Project setting with the accepted changes, the number of their trial and the reviewed documents at that time."""
PARTS = ("description", "include", "exclude", "keywords")
MIN_REVIEWED = 10
"""Reviewed documents from which on changes that were accepted before are tried."""
MAX_DOCUMENTS = 500
"""Most documents of a trial: reviewed ones before those with only gold labels."""


@dataclass(frozen=True, slots=True)
class AcceptedChange:
    """A change of one part of a label: text that was added, removed or replaced; empty for none."""

    label_id: str
    part: str
    added: str
    removed: str

    def undo(self, label: Label) -> Label:
        """Return the label without the change; a description that was edited since stays."""
        current = getattr(label, self.part)
        if isinstance(current, str):
            return label.model_copy(update={self.part: self.removed}) if current == self.added else label
        remaining = [text for text in current if text != self.added]
        restored = [self.removed] if self.removed and self.removed not in remaining else []
        return label.model_copy(update={self.part: (*remaining, *restored)})


_CHANGES = TypeAdapter(tuple[AcceptedChange, ...])


class UndoneChanges(NamedTuple):
    """The number of changes that were undone, and the codebook version saved without them; None if none had them."""

    changes: int
    version: int | None


@dataclass(frozen=True, slots=True)
class AcceptedChanges:
    """Changes that are in the codebook.

    ``is_running`` is True while they are tried. ``result`` is the outcome on the labelled documents of the trial, None
    before it is known and without such documents. ``labelled`` counts all labelled documents of the project, also those
    that a trial leaves out.
    """

    changes: tuple[AcceptedChange, ...]
    labelled: int = 0
    is_running: bool = False
    result: TrialResult | None = None


def record(session: ProjectSession, before: Codebook, after: Codebook) -> None:
    """Note the changes by which ``after``, now the draft or the latest version, differs, and try all of them."""
    status = codebooks.codebook_status(session)
    books = (before, status.codebook, *((status.saved.codebook,) if status.saved is not None else ()))
    earlier = _stored(session)
    in_books = {change for book in books for change in _take_out(book, earlier)[1]}
    _store_and_try(session, [*(change for change in earlier if change in in_books), *_differences(before, after)])


def try_when_due(session: ProjectSession) -> None:
    """Try the accepted changes again if the reviewed documents have doubled since the last trial."""
    stored = session.store.settings.get(SETTING) or {}
    due = max(MIN_REVIEWED, 2 * stored.get("reviewed", 0))
    if stored.get("changes") and count_reviewed(session) >= due and _applied(session):
        _store_and_try(session, _stored(session))


def accepted(session: ProjectSession) -> AcceptedChanges | None:
    """Return the accepted changes with the outcome of their trial; None without any."""
    changes = _applied(session)
    if not changes:
        return None
    split = document_samples.holdout_split(session)
    number = session.store.settings.get(SETTING)["trial"]
    trial = trials.find_trial(session, ACCEPTED_CHANGES, number) if number is not None else None
    is_running = trial is not None and trials.is_trial_active(session, trial)
    result = _result(session, trial.number) if trial is not None and not is_running else None
    return AcceptedChanges(changes, split.development + split.held_out, is_running, result)


@cached_until_commit
def _result(session: ProjectSession, number: int) -> TrialResult | None:
    trial = trials.find_trial(session, ACCEPTED_CHANGES, number)
    result = trials.trial_result(session, trial) if trial is not None else None
    return result if result is not None and result.labelled else None


def undo(session: ProjectSession) -> UndoneChanges:
    """Take all accepted changes out of the codebook.

    Changes in the latest saved version are undone by a new version, those in the draft in the draft. Raises
    PromptError if a prompt cannot be rendered without them.
    """
    changes, count = _stored(session), len(_applied(session))
    status = codebooks.codebook_status(session)
    saved = status.saved.codebook if status.saved is not None else None
    version = None
    if saved is not None and (undone := without(saved, changes)) != saved:
        version = codebooks.save(session, undone, f"Undo {format_count(count, 'accepted change')}")
    if status.dirty:
        codebooks.save_draft(session, without(status.codebook, changes))
    keep(session)
    return UndoneChanges(count, version)


def keep(session: ProjectSession) -> None:
    """Keep the accepted changes in the codebook and forget that they were suggested."""
    session.store.settings.set(SETTING, {"changes": []})


def without(codebook: Codebook, changes: Iterable[AcceptedChange]) -> Codebook:
    """Return the codebook without changes; those of labels that are gone are ignored."""
    return _take_out(codebook, changes)[0]


def _take_out(codebook: Codebook, changes: Iterable[AcceptedChange]) -> tuple[Codebook, list[AcceptedChange]]:
    """Return the codebook without changes, the last one undone first, and those whose undo changed it."""
    labels = {label.id: label for label in codebook.labels}
    removed = []
    for change in reversed(tuple(changes)):
        label = labels.get(change.label_id)
        if label is not None and (undone := change.undo(label)) != label:
            labels[label.id] = undone
            removed.append(change)
    return codebook.model_copy(update={"labels": tuple(labels.values())}), removed


def _differences(before: Codebook, after: Codebook) -> Iterator[AcceptedChange]:
    """Yield the changes of labels from ``before`` to ``after``."""
    labels_before = {label.id: label for label in before.labels}
    for label, part in itertools.product(after.labels, PARTS):
        if label.id not in labels_before:
            continue
        old, new = getattr(labels_before[label.id], part), getattr(label, part)
        if not isinstance(old, str):
            yield from (AcceptedChange(label.id, part, text, "") for text in new if text not in old)
            yield from (AcceptedChange(label.id, part, "", text) for text in old if text not in new)
        elif old != new:
            yield AcceptedChange(label.id, part, new, old)


def _stored(session: ProjectSession) -> tuple[AcceptedChange, ...]:
    """Return the stored changes; none after a run with all those that are in the codebook, which has settled them."""
    stored = session.store.settings.get(SETTING) or {"changes": []}
    changes = validated(_CHANGES, stored["changes"], "the accepted changes")
    if not changes:
        return ()
    applied = set(_changes_in(codebooks.codebook_status(session).codebook, changes))
    is_settled = any(applied.issubset(_changes_in(run.settings.codebook, changes)) for run in session.all_runs())
    return () if applied and is_settled else changes


def _changes_in(codebook: Codebook, changes: Iterable[AcceptedChange]) -> tuple[AcceptedChange, ...]:
    """Return which changes a codebook has.

    Changes that replaced each other are one, and those that cancelled each other are none.
    """
    return tuple(_differences(without(codebook, changes), codebook))


def _applied(session: ProjectSession) -> tuple[AcceptedChange, ...]:
    """Return the stored changes that are in the codebook; the draft with a change may have been discarded."""
    return _changes_in(codebooks.codebook_status(session).codebook, _stored(session))


def _store_and_try(session: ProjectSession, changes: Sequence[AcceptedChange]) -> None:
    trial = _start_trial(session, changes)
    reviewed = count_reviewed(session)
    stored = {"changes": [asdict(change) for change in changes], "trial": trial, "reviewed": reviewed}
    session.store.settings.set(SETTING, stored)


def _start_trial(session: ProjectSession, changes: Iterable[AcceptedChange]) -> int | None:
    """Start the trial of changes and return its number; None without labelled documents or if it cannot start."""
    latest = trials.find_trial(session, ACCEPTED_CHANGES)
    if latest is not None and trials.is_trial_active(session, latest):
        trials.stop_trial(session, latest)  # of fewer changes
    used = {document for document, *_ in session.store.classifiers.codebook_examples()}
    labelled = [id for id in document_samples.labelled_ids(session, held_out=False) if id not in used]
    reviewed = {example.document_id for example in session.store.classifiers.training_examples()}
    sampled = sorted(labelled, key=reviewed.__contains__)[-MAX_DOCUMENTS:]
    after = codebooks.codebook_status(session).codebook
    protocol = prompt_diff.protocol_for(after, planning.Plan().protocol)
    if not sampled:
        return None
    with suppress(MootError):  # accepting must not fail; the page says that there is no trial
        settings = planning.build_settings(planning.Plan(protocol), after, 0, session.models)
        before = settings.model_copy(update={"codebook": without(after, changes).closed})
        change = trials.SettingsChange(ACCEPTED_CHANGES, before, settings, *NAMES)
        return trials.start_trial(
            session, change, document_samples.DocumentSample(dict.fromkeys(sampled, "random"), 0)
        ).number
    return None
