"""Accepted lessons: changes to labels that were suggested from reviewed documents, errors or the texts.

Whenever one is accepted, and when twice as many documents are reviewed, all of them are tried together in the
background: the codebook with them against the codebook without them, on labelled documents, by the built-in model,
which costs nothing. They can be undone together. Other edits of the codebook, before or after a lesson, stay.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from typing import NamedTuple

from core.codebook import Codebook, Label
from core.errors import MootError
from core.formatting import format_count
from core.services import document_samples
from core.services.codebooks import codebook as codebooks
from core.services.codebooks import prompt_preview
from core.services.lab import trials
from core.services.lab.results import TrialResult
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit
from core.services.runs import planning

SUBJECT = "lessons"
"""Subject of a trial of lessons."""
NAMES = ("the codebook without the lessons", "the codebook with the lessons")
"""Names of both sides of the trial."""
SETTING = "accepted lessons"
"""Project setting with the accepted lessons, the number of their trial and the reviewed documents at that time."""
PARTS = ("description", "include", "exclude", "keywords")
MIN_REVIEWED = 10
"""Reviewed documents from which on lessons that were accepted before are tried."""
MAX_DOCUMENTS = 500
"""Most documents of a trial: reviewed ones before those with only gold labels."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A change of one part of a label: text that was added, removed or replaced; empty for none."""

    label_id: str
    part: str
    added: str
    removed: str

    def undo(self, label: Label) -> Label:
        """Return the label without the lesson; a description that was edited since stays."""
        current = getattr(label, self.part)
        if isinstance(current, str):
            return label.model_copy(update={self.part: self.removed}) if current == self.added else label
        remaining = [text for text in current if text != self.added]
        restored = [self.removed] if self.removed and self.removed not in remaining else []
        return label.model_copy(update={self.part: (*remaining, *restored)})


class UndoneLessons(NamedTuple):
    """The number of lessons that were undone, and the codebook version saved without them; None if none had them."""

    lessons: int
    version: int | None


@dataclass(frozen=True, slots=True)
class AcceptedLessons:
    """Lessons that are in the codebook.

    ``is_running`` is True while they are tried. ``result`` is the outcome on the labelled documents of the trial, None
    before it is known and without such documents. ``labelled`` counts all labelled documents of the project, also those
    that a trial leaves out.
    """

    lessons: tuple[Lesson, ...]
    labelled: int = 0
    is_running: bool = False
    result: TrialResult | None = None


def record(session: ProjectSession, before: Codebook, after: Codebook) -> None:
    """Note the lessons by which ``after``, now the draft or the latest version, differs, and try all of them."""
    status = codebooks.codebook_status(session)
    books = (before, status.codebook, *((status.saved.codebook,) if status.saved is not None else ()))
    earlier = _stored(session)
    in_books = {lesson for book in books for lesson in _take_out(book, earlier)[1]}
    _store_and_try(session, [*(lesson for lesson in earlier if lesson in in_books), *_differences(before, after)])


def try_when_due(session: ProjectSession) -> None:
    """Try the accepted lessons again if the reviewed documents have doubled since the last trial."""
    stored = session.store.settings.get(SETTING) or {"lessons": []}
    due = max(MIN_REVIEWED, 2 * stored.get("reviewed", 0))
    if stored["lessons"] and session.store.classifiers.count_reviewed() >= due and _applied(session):
        _store_and_try(session, _stored(session))


def accepted(session: ProjectSession) -> AcceptedLessons | None:
    """Return the accepted lessons with the outcome of their trial; None without any."""
    lessons = _applied(session)
    if not lessons:
        return None
    split = document_samples.holdout_split(session)
    lessons_without_result = AcceptedLessons(lessons, split.development + split.held_out)
    number = session.store.settings.get(SETTING)["trial"]
    trial = trials.find_trial(session, SUBJECT, number) if number is not None else None
    if trial is None:
        return lessons_without_result
    if trials.is_trial_active(session, trial):
        return replace(lessons_without_result, is_running=True)
    return replace(lessons_without_result, result=_result(session, trial.trial))


@cached_until_commit
def _result(session: ProjectSession, number: int) -> TrialResult | None:
    trial = trials.find_trial(session, SUBJECT, number)
    result = trials.trial_result(session, trial) if trial is not None else None
    return result if result is not None and result.labelled else None


def undo(session: ProjectSession) -> UndoneLessons:
    """Take all accepted lessons out of the codebook.

    Lessons in the latest saved version are undone by a new version, those in the draft in the draft. Raises
    PromptError if a prompt cannot be rendered without them.
    """
    lessons, count = _stored(session), len(_applied(session))
    status = codebooks.codebook_status(session)
    saved = status.saved.codebook if status.saved is not None else None
    version = None
    if saved is not None and (undone := without(saved, lessons)) != saved:
        version = codebooks.save(session, undone, f"Undo {format_count(count, 'accepted lesson')}")
        session.trainer.schedule()
    if status.dirty:
        codebooks.save_draft(session, without(status.codebook, lessons))
    keep(session)
    return UndoneLessons(count, version)


def keep(session: ProjectSession) -> None:
    """Keep the lessons in the codebook and forget that they were lessons."""
    session.store.settings.set(SETTING, {"lessons": []})


def without(codebook: Codebook, lessons: Iterable[Lesson]) -> Codebook:
    """Return the codebook without lessons; those of labels that are gone are ignored."""
    return _take_out(codebook, lessons)[0]


def _take_out(codebook: Codebook, lessons: Iterable[Lesson]) -> tuple[Codebook, list[Lesson]]:
    """Return the codebook without lessons, the last one undone first, and those whose undo changed it."""
    labels = {label.id: label for label in codebook.labels}
    removed = []
    for lesson in reversed(tuple(lessons)):
        label = labels.get(lesson.label_id)
        if label is not None and (undone := lesson.undo(label)) != label:
            labels[label.id] = undone
            removed.append(lesson)
    return codebook.model_copy(update={"labels": tuple(labels.values())}), removed


def _differences(before: Codebook, after: Codebook) -> Iterator[Lesson]:
    """Yield the lessons that change labels from ``before`` to ``after``."""
    labels_before = {label.id: label for label in before.labels}
    for label, part in itertools.product(after.labels, PARTS):
        if label.id not in labels_before:
            continue
        old, new = getattr(labels_before[label.id], part), getattr(label, part)
        if not isinstance(old, str):
            yield from (Lesson(label.id, part, text, "") for text in new if text not in old)
            yield from (Lesson(label.id, part, "", text) for text in old if text not in new)
        elif old != new:
            yield Lesson(label.id, part, new, old)


def _stored(session: ProjectSession) -> tuple[Lesson, ...]:
    stored = session.store.settings.get(SETTING) or {"lessons": []}
    return tuple(Lesson(**{part.name: row[part.name] for part in fields(Lesson)}) for row in stored["lessons"])


def _applied(session: ProjectSession) -> tuple[Lesson, ...]:
    """Return the changes of the codebook by stored lessons; the draft with a lesson may have been discarded.

    Lessons that replaced each other are one change, and those that cancelled each other are none.
    """
    codebook = codebooks.codebook_status(session).codebook
    return tuple(_differences(without(codebook, _stored(session)), codebook))


def _store_and_try(session: ProjectSession, lessons: Sequence[Lesson]) -> None:
    trial = _start_trial(session, lessons)
    reviewed = session.store.classifiers.count_reviewed()
    stored = {"lessons": [asdict(lesson) for lesson in lessons], "trial": trial, "reviewed": reviewed}
    session.store.settings.set(SETTING, stored)


def _start_trial(session: ProjectSession, lessons: Iterable[Lesson]) -> int | None:
    """Start the trial of lessons and return its number; None without labelled documents or if it cannot start."""
    latest = trials.find_trial(session, SUBJECT)
    if latest is not None and trials.is_trial_active(session, latest):
        trials.stop_trial(session, latest)  # of fewer lessons
    used = {document for document, *_ in session.store.classifiers.codebook_examples()}
    labelled = [id for id in document_samples.labelled_ids(session, held_out=False) if id not in used]
    reviewed = {example.document_id for example in session.store.classifiers.training_examples()}
    sampled = sorted(labelled, key=reviewed.__contains__)[-MAX_DOCUMENTS:]
    after = codebooks.codebook_status(session).codebook
    protocol = prompt_preview.protocol_for(after, planning.Plan().protocol)
    if not sampled:
        return None
    with suppress(MootError):  # accepting must not fail; the page says that there is no trial
        settings = planning.build_settings(planning.Plan(protocol), after, 0, session.models)
        before = settings.model_copy(update={"codebook": without(after, lessons).closed})
        change = trials.SettingsChange(SUBJECT, before, settings, *NAMES)
        return trials.start_trial(
            session, change, document_samples.DocumentSample(dict.fromkeys(sampled, "random"), 0)
        ).trial
    return None
