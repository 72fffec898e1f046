"""Corrections pay off: what a person corrected becomes an example or a keyword of its label, as a new version of the
codebook. The document that lent its words is no test of what was taught with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from core import baseline
from core.baseline.scan import clause_at, clauses_of, window
from core.codebook import CHOICE_ITEM, Codebook, Label, normalise
from core.documents import Document, Value
from core.errors import CodebookError, UsageError
from core.runs import RunRow
from core.services.codebooks import codebook as codebooks
from core.services.codebooks import staleness
from core.services.codebooks.diff import LabelChange, compare
from core.services.session import ProjectSession
from core.store.document_records import DocumentRecord

Part: TypeAlias = Literal["include", "exclude", "keywords"]
PARTS: Mapping[Part, str] = {"include": "include example", "exclude": "exclude example", "keywords": "keyword"}
"""What of a label words can become, and what that is called."""
LONGEST: Mapping[Part, int] = {"include": 200, "exclude": 200, "keywords": 40}
"""Characters."""


@dataclass(frozen=True, slots=True)
class CodebookExample:
    """Words of a document that are to become part of a label."""

    document_id: str
    label_id: str
    part: Part
    text: str


@dataclass(frozen=True, slots=True)
class Effect:
    """What a lesson would do: the codebook ``after`` with what ``changes``, and the reviewed documents it touches.

    ``matching`` reviewed documents hold the words; ``stale`` ones were decided on this label under a definition that
    will be an older one; ``touched`` counts either.
    """

    after: Codebook
    changes: tuple[LabelChange, ...]
    version: int
    matching: int
    stale: int
    touched: int


def suggested(session: ProjectSession, run: RunRow, found: DocumentRecord) -> tuple[CodebookExample, ...]:
    """What the corrections of a document could teach, one lesson for each corrected label: a label that was missed gets
    an include example, one that was wrongly given an exclude example. The words are the quote that stood for the label,
    else the clause that speaks most for it; empty when there is nothing to point at (the person types them).

    Labels that the latest codebook does not have are passed over; ratings teach nothing in this way.
    """
    latest = _latest(session, run)
    lessons: list[CodebookExample] = []
    for item, review in found.reviews.items():
        said = found.values.get(item)
        if said is None or said == review.value:
            continue
        for label_id, part in _wrong(latest, item, said, review.value):
            lessons.append(CodebookExample(found.document.id, label_id, part, _words(latest, label_id, part, found)))
    return tuple(lessons)


def open_lessons(
    session: ProjectSession, run: RunRow, found: DocumentRecord
) -> list[tuple[CodebookExample, Effect | None]]:
    """What ``suggested`` suggests and was not taught from this document yet, with the effect of each; None where the
    words have to be chosen by the person."""
    taken = {
        (label, part)
        for document, label, part, *_ in session.store.classifiers.codebook_examples()
        if document == found.document.id
    }
    lessons: list[tuple[CodebookExample, Effect | None]] = []
    for lesson in suggested(session, run, found):
        if (lesson.label_id, lesson.part) in taken:
            continue
        try:
            lessons.append((lesson, effect(session, run, lesson)))
        except UsageError:  # no words, or known already
            lessons.append((lesson, None))
    return lessons


def effect(session: ProjectSession, run: RunRow, lesson: CodebookExample) -> Effect:
    """What a lesson would change and touch, before anything is kept.

    UsageError for words that are missing, too long or known already, CodebookError for a label that is gone.
    """
    saved = session.store.codebooks.latest()
    before = _latest(session, run)
    text = _checked(before, lesson)
    label = before.label(lesson.label_id)
    after = codebooks.change_label(before, lesson.label_id, **{lesson.part: (*getattr(label, lesson.part), text)})
    item = CHOICE_ITEM if before.kind == "choice" else lesson.label_id
    decided = [one for one in session.store.classifiers.training_examples() if one.item == item]
    needle = text.casefold()
    matching = {one.document_id for one in decided if needle in one.text.casefold()}
    stale = {one.document_id for one in decided}
    return Effect(
        after=after,
        changes=compare(before, after),
        version=saved.version + 1 if saved else 1,
        matching=len(matching),
        stale=len(stale),
        touched=len(matching | stale),
    )


def teach(session: ProjectSession, run: RunRow, lesson: CodebookExample, *, actor: str = "") -> int:
    """Keep a lesson: a new version of the codebook, whose number it gives, and the note that this document's words are
    in it. An unsaved draft of the codebook gets the words too, and stays. Raises as ``effect``."""
    draft = session.store.codebooks.draft()
    made = effect(session, run, lesson)
    text = _checked(_latest(session, run), lesson)
    note = (
        f'{PARTS[lesson.part]} of {made.after.label(lesson.label_id).name} from document {lesson.document_id}: "{text}"'
    )
    session.store.classifiers.add_codebook_example(
        lesson.document_id, lesson.label_id, lesson.part, text, made.version, actor=actor
    )
    version = session.store.codebooks.save(made.after, note=note, actor=actor)
    if isinstance(draft, dict):
        _into_draft(session, draft, lesson, text)
    session.trainer.schedule()
    return version


def used(session: ProjectSession) -> dict[str, tuple[str, ...]]:
    """The documents whose words are in the latest codebook, with the words."""
    latest = session.store.codebooks.latest()
    found: dict[str, tuple[str, ...]] = {}
    if latest is None:
        return found
    for document, label_id, part, text, _ in session.store.classifiers.codebook_examples():
        label = next((label for label in latest.codebook.labels if label.id == label_id), None)
        if label is not None and text in getattr(label, part):
            found[document] = (*found.get(document, ()), text)
    return found


def _latest(session: ProjectSession, run: RunRow) -> Codebook:
    """The codebook that words are added to: the latest that can tell what this run says."""
    return staleness.shown(session, run.settings.codebook)


def _wrong(codebook: Codebook, item: str, said: Value, true: Value) -> list[tuple[str, Part]]:
    """(label, part) for what was said and is not so: of a choice the label that was meant and the one that was not."""
    known = {label.id for label in codebook.labels}
    if codebook.kind == "multilabel":
        return [(item, "include" if true is True else "exclude")] if item in known else []
    if codebook.kind == "choice":
        pairs: list[tuple[Value, Part]] = [(true, "include"), (said, "exclude")]
        return [(str(label), part) for label, part in pairs if label in known]
    return []


def _words(codebook: Codebook, label_id: str, part: Part, found: DocumentRecord) -> str:
    """The words that most likely misled or were missed: a quote that somebody offered for the label and that is in the
    text, else the clause with a hit of the label's words, else nothing."""
    item = CHOICE_ITEM if codebook.kind == "choice" else label_id
    quotes = [quote for said in found.evidence.values() for quote in said if quote.supported and quote.item == item]
    if codebook.kind != "choice" and quotes:
        return _cut(quotes[0].quote, part)
    label = codebook.label(label_id)
    return _clause(codebook, label, found.document, part)


def _clause(codebook: Codebook, label: Label, document: Document, part: Part) -> str:
    text = document.text
    clauses = list(clauses_of(text))
    hits = baseline.hits(codebook, text).get(label.id, ())
    if hits:
        start, end = window(text, clauses[clause_at(clauses, hits[0][0])], *hits[0])
        return _cut(text[start:end], part)
    if len(clauses) == 1:
        return _cut(text, part)
    return ""


def _cut(text: str, part: Part) -> str:
    plain = " ".join(text.split())
    longest = LONGEST[part]
    return plain if len(plain) <= longest else plain[:longest].rsplit(" ", 1)[0]


def _checked(codebook: Codebook, lesson: CodebookExample) -> str:
    text = " ".join(lesson.text.split())
    label = next((label for label in codebook.labels if label.id == lesson.label_id), None)
    if label is None:
        raise CodebookError("That label is not in the codebook any more.", "Look at the Codebook page.")
    if not text:
        raise UsageError("There are no words to add.", "Take some from the text, or type them.")
    if len(text) > LONGEST[lesson.part]:
        what = PARTS[lesson.part]
        raise UsageError(
            f"These are {len(text)} characters; an {what} has {LONGEST[lesson.part]} at most.", "Shorten it."
        )
    if normalise(text) in {normalise(each) for each in getattr(label, lesson.part)}:
        raise UsageError(f"'{text}' is there already.", "Choose other words.")
    return text


def _into_draft(session: ProjectSession, draft: Mapping[str, object], lesson: CodebookExample, text: str) -> None:
    """Saving a version forgets the draft; it is put back with the words in it. A draft without the label stays as it
    was."""
    labels = draft.get("labels")
    changed = []
    for label in labels if isinstance(labels, list) else []:
        if isinstance(label, dict) and label.get("id") == lesson.label_id:
            label = {**label, lesson.part: [*(label.get(lesson.part) or ()), text]}
        changed.append(label)
    session.store.codebooks.save_draft({**draft, "labels": changed})
