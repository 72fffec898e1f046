"""Accepted lessons: changes to labels that were suggested from reviewed documents, errors or the texts.

Whenever one is accepted, and when twice as many documents are reviewed, all of them are tried together in the
background: the codebook with them against the codebook without them, on labelled documents, by the built-in model,
which costs nothing. They can be undone together. Other edits of the codebook, before or after a lesson, stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

from core.codebook import Codebook, Label
from core.errors import MootError
from core.formatting import format_count
from core.services import document_samples
from core.services.codebooks import codebook as codebooks
from core.services.codebooks import keyword_matches
from core.services.document_samples import Sample
from core.services.lab import trials
from core.services.lab.results import TrialResult
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit
from core.services.runs import planning

SUBJECT = "lessons"
"""Subject of a trial of lessons."""
SETTING = "accepted lessons"
"""Project setting with the accepted lessons, the number of their trial and the reviewed documents at that time."""
PARTS = ("description", "include", "exclude", "keywords")
MIN_REVIEWED = 10
"""Reviewed documents from which on lessons that were accepted before are tried."""
MAX_DOCUMENTS = 500
"""Most documents of a trial: reviewed ones before those with only gold labels."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A change of one part of a label: text that was added, removed or replaced; empty for none.

    ``overwritten`` are descriptions by earlier lessons, which this one replaced. The saved version may have one.
    """

    label_id: str
    part: str
    added: str
    removed: str
    overwritten: tuple[str, ...] = ()

    def is_in(self, label: Label) -> bool:
        """Return True if the label still is as the lesson made it."""
        current = getattr(label, self.part)
        if isinstance(current, str):
            return current == self.added
        return self.added in (*current, "") and self.removed not in current

    def undo(self, label: Label) -> Label:
        """Return the label without the lesson; a description that was edited since stays."""
        current = getattr(label, self.part)
        if isinstance(current, str):
            is_lesson = current in (self.added, *self.overwritten)
            return label.model_copy(update={self.part: self.removed}) if is_lesson else label
        kept = [text for text in current if text != self.added]
        restored = [self.removed] if self.removed and self.removed not in kept else []
        return label.model_copy(update={self.part: (*kept, *restored)})


class UndoneLessons(NamedTuple):
    """The number of lessons that were undone, and the codebook version saved without them; None if none had them."""

    lessons: int
    version: int | None


@dataclass(frozen=True, slots=True)
class AcceptedLessons:
    """Lessons that are in the codebook.

    ``is_running`` is True while they are tried. ``result`` is the outcome on the labelled documents of the trial, None
    before it is known and without such documents. ``labelled`` counts all labelled documents of the project, also those
    that a trial leaves out. ``measure`` names its score.
    """

    lessons: tuple[Lesson, ...]
    measure: str
    labelled: int = 0
    is_running: bool = False
    result: TrialResult | None = None


def record(session: ProjectSession, before: Codebook, after: Codebook) -> None:
    """Note the lessons by which ``after``, now the draft or the latest version, differs, and try all of them."""
    current = codebooks.codebook_status(session).codebook
    labels_before = {label.id: label for label in before.labels}
    new = [
        lesson
        for label in after.labels
        if label.id in labels_before
        for lesson in _differences(labels_before[label.id], label)
    ]
    earlier = [lesson for lesson in _stored(session) if _is_in(lesson, before) or _is_in(lesson, current)]
    _store_and_try(session, _merge(earlier, new))


def try_when_due(session: ProjectSession) -> None:
    """Try the accepted lessons again if the reviewed documents have doubled since the last trial."""
    stored = session.store.settings.get(SETTING) or {"lessons": []}
    due = max(MIN_REVIEWED, 2 * stored.get("reviewed", 0))
    if stored["lessons"] and session.store.classifiers.count_reviewed() >= due and (lessons := _applied(session)):
        _store_and_try(session, lessons)


def accepted(session: ProjectSession) -> AcceptedLessons | None:
    """Return the accepted lessons with the outcome of their trial; None without any."""
    lessons = _applied(session)
    if not lessons:
        return None
    kind = codebooks.codebook_status(session).codebook.kind
    measure = "share of correct values" if kind == "rating" else "macro F1"
    split = document_samples.holdout_split(session)
    lessons_without_result = AcceptedLessons(lessons, measure, split.development + split.held_out)
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
    return result if result is not None and result.n else None


def undo(session: ProjectSession) -> UndoneLessons:
    """Take all accepted lessons out of the codebook.

    Lessons in the latest saved version are undone by a new version, those in the draft in the draft. Raises
    PromptError if a prompt cannot be rendered without them.
    """
    lessons = _applied(session)
    status = codebooks.codebook_status(session)
    saved = status.saved.codebook if status.saved is not None else None
    version = None
    if saved is not None and (undone := without(saved, lessons)) != saved:
        version = codebooks.save(session, undone, f"Undo {format_count(len(lessons), 'accepted lesson')}")
        session.trainer.schedule()
    if status.dirty:
        codebooks.save_draft(session, without(status.codebook, lessons))
    keep(session)
    return UndoneLessons(len(lessons), version)


def keep(session: ProjectSession) -> None:
    """Keep the lessons in the codebook and forget that they were lessons."""
    session.store.settings.set(SETTING, {"lessons": []})


def without(codebook: Codebook, lessons: Iterable[Lesson]) -> Codebook:
    """Return the codebook without lessons, the last one undone first; labels that are gone are ignored."""
    labels = {label.id: label for label in codebook.labels}
    for lesson in reversed(tuple(lessons)):
        if lesson.label_id in labels:
            labels[lesson.label_id] = lesson.undo(labels[lesson.label_id])
    return codebook.model_copy(update={"labels": tuple(labels.values())})


def _differences(before: Label, after: Label) -> Iterator[Lesson]:
    for part in PARTS:
        old, new = getattr(before, part), getattr(after, part)
        if isinstance(old, str):
            if old != new:
                yield Lesson(after.id, part, new, old)
        else:
            yield from (Lesson(after.id, part, text, "") for text in new if text not in old)
            yield from (Lesson(after.id, part, "", text) for text in old if text not in new)


def _merge(earlier: Iterable[Lesson], new: Iterable[Lesson]) -> list[Lesson]:
    """Return all lessons, each new one in place of the one that it overwrites; those that cancel out are dropped.

    A merged lesson removed what was there before the earlier one, so that undo returns to it.
    """
    merged = list(earlier)
    for lesson in new:
        overwritten = [
            old for old in merged
            if (old.label_id, old.part, old.added) == (lesson.label_id, lesson.part, lesson.removed)
            and (lesson.part == "description" or old.removed == lesson.added)
        ]  # fmt: skip
        removed, replaced = lesson.removed, lesson.overwritten
        for old in overwritten:
            merged.remove(old)
            removed, replaced = old.removed, (*old.overwritten, old.added)
        if removed != lesson.added:
            merged.append(replace(lesson, removed=removed, overwritten=replaced))
    return merged


def _stored(session: ProjectSession) -> tuple[Lesson, ...]:
    stored = session.store.settings.get(SETTING) or {"lessons": []}
    return tuple(Lesson(**row | {"overwritten": tuple(row.get("overwritten", ()))}) for row in stored["lessons"])


def _applied(session: ProjectSession) -> tuple[Lesson, ...]:
    """Return the stored lessons that are in the codebook still: a draft with them may have been discarded."""
    stored = _stored(session)
    if not stored:
        return ()
    codebook = codebooks.codebook_status(session).codebook
    return tuple(lesson for lesson in stored if _is_in(lesson, codebook))


def _is_in(lesson: Lesson, codebook: Codebook) -> bool:
    return any(label.id == lesson.label_id and lesson.is_in(label) for label in codebook.labels)


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
    chosen = sorted(labelled, key=reviewed.__contains__)[-MAX_DOCUMENTS:]
    after = codebooks.codebook_status(session).codebook
    protocol = keyword_matches.protocol_for(after, planning.Plan().protocol)
    if not chosen:
        return None
    with suppress(MootError):  # accepting must not fail; the page says that there is no trial
        settings = planning.build_settings(planning.Plan(protocol), after, 0, session.models)
        before = settings.model_copy(update={"codebook": without(after, lessons).closed})
        change = trials.SettingsChange(SUBJECT, before, settings, "without the lessons", "with the lessons")
        return trials.start_trial(session, change, Sample(dict.fromkeys(chosen, "random"), 0)).trial
    return None
