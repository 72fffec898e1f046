"""Turning a correction into an example or keyword of its label, as a new version of the codebook.

The document whose words are used is then excluded from evaluations of runs with that codebook.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from core import baseline
from core.baseline.evidence import clauses_of, quote_around
from core.codebook import CHOICE_ITEM, Codebook, normalise
from core.documents import Value
from core.errors import CodebookError, UsageError
from core.runs import RunRow
from core.services.codebooks import codebook as codebooks
from core.services.codebooks.diff import LabelChange, compare
from core.services.codebooks.net_effect import NetEffect, net_effect, reviewed_labels
from core.services.document_samples import held_out_among
from core.services.lab import accepted_changes
from core.services.project_session import ProjectSession
from core.services.prompt_templates import require_usable_codebook
from core.services.review.actions import all_quotes
from core.store.document_records import DocumentRecord

Part: TypeAlias = Literal["include", "exclude", "keywords"]
PART_NAMES: Mapping[Part, str] = {"include": "include example", "exclude": "exclude example", "keywords": "keyword"}
"""Parts of a label that words can be added to, with their names."""
MAX_LENGTH: Mapping[Part, int] = {"include": 200, "exclude": 200, "keywords": 40}
"""Maximum characters by part."""
MAX_EVALUATED = 2_000
"""Reviewed documents on which the net effect of an example is measured."""


@dataclass(frozen=True, slots=True)
class CodebookExample:
    """Words of a document to add to a part of a label."""

    document_id: str
    label_id: str
    part: Part
    text: str


@dataclass(frozen=True, slots=True)
class ExampleEffect:
    """Effect of adding an example."""

    after: Codebook
    """The codebook with the example."""
    changes: tuple[LabelChange, ...]
    version: int
    matching: int
    """Reviewed documents that contain the words."""
    stale: int
    """Reviewed documents that were decided on this label under the definition before."""
    net: NetEffect
    """The effect on the built-in model's decisions on the reviewed documents, without the one that the words come from
    and the held-out ones, on which definitions are never tuned."""


def suggest_examples(
    session: ProjectSession, run: RunRow, record: DocumentRecord
) -> list[tuple[CodebookExample, ExampleEffect | None]]:
    """Return one example for each corrected label of a document that was not added from it yet, with its effect.

    A missed label gets an include example, a wrongly assigned one an exclude example. The words are the quote offered
    for the label, else the clause with the strongest keyword, else empty. Labels missing from the latest codebook and
    ratings give none. The effect is None where the reviewer has to choose the words: there are none, or they would do
    more harm than good.
    """
    latest = extended_codebook(session, run)
    if latest is None:
        return []
    added = session.store.classifiers.codebook_examples()
    suggestions: list[tuple[CodebookExample, ExampleEffect | None]] = []
    for label_id, part in _corrected_labels(latest, record):
        if (record.document.id, label_id, part) in added:
            continue
        example = CodebookExample(record.document.id, label_id, part, _example_text(latest, label_id, part, record))
        try:
            effect = preview_example(session, run, example)
            suggestions.append((example, effect if effect.net.pays else None))
        except UsageError:  # no words, or known already
            suggestions.append((example, None))
    return suggestions


def preview_example(session: ProjectSession, run: RunRow, example: CodebookExample) -> ExampleEffect:
    """Return the effect of adding an example, without storing anything.

    UsageError for words that are missing, too long or in the label already; CodebookError for a deleted label, or if
    the latest codebook has labels of another kind.
    """
    before = _require_codebook(session, run)
    text = _check_text(before, example)
    after = codebooks.extend_label(before, example.label_id, example.part, text)
    item = CHOICE_ITEM if before.kind == "choice" else example.label_id
    decided = [decision for decision in session.store.classifiers.training_examples() if decision.item == item]
    needle = text.casefold()
    matching = {decision.document_id for decision in decided if needle in decision.text.casefold()}
    stale = {decision.document_id for decision in decided}
    reviewed = reviewed_labels(session, before)
    left_out = {example.document_id, *held_out_among(session, list(reviewed))}
    labelled = [labels for id, labels in reviewed.items() if id not in left_out]
    return ExampleEffect(
        after=after,
        changes=compare(before, after),
        version=codebooks.codebook_status(session).next_version,
        matching=len(matching),
        stale=len(stale),
        net=net_effect(before, after, labelled[-MAX_EVALUATED:]),
    )


def add_example(session: ProjectSession, run: RunRow, example: CodebookExample, *, actor: str = "") -> int:
    """Store an example as a new version of the codebook and return its number.

    The document is recorded as the source of the words. An unsaved draft gets the words, too, and stays. Raises as
    ``preview_example``, and PromptError if a prompt cannot be rendered with the new definitions.
    """
    draft = session.store.codebooks.draft()
    before = _require_codebook(session, run)
    effect = preview_example(session, run, example)
    text = _check_text(before, example)
    require_usable_codebook(session, effect.after)
    if draft is not None and example.label_id in draft.label_names:
        draft = codebooks.extend_label(draft, example.label_id, example.part, text)
    label = effect.after.label(example.label_id).name
    note = f'{PART_NAMES[example.part]} of {label} from document {example.document_id}: "{text}"'
    session.store.classifiers.add_codebook_example(
        example.document_id, example.label_id, example.part, text, effect.version, actor=actor
    )
    version = session.store.codebooks.save(effect.after, note=note, actor=actor, keep_draft=True)
    if draft is not None:
        session.store.codebooks.save_draft(draft)
    session.trainer.schedule()
    accepted_changes.record(session, before, effect.after)
    return version


def extended_codebook(session: ProjectSession, run: RunRow) -> Codebook | None:
    """Return the codebook that examples are added to: the latest, None if its labels are of another kind.

    It may lack labels of the run. The run's own codebook would bring back what was deleted or changed since.
    """
    codebook = run.settings.codebook
    latest = codebooks.current(session) or codebook
    return latest if latest.kind == codebook.kind else None


def _require_codebook(session: ProjectSession, run: RunRow) -> Codebook:
    codebook = extended_codebook(session, run)
    if codebook is None:
        raise CodebookError("The label type of the codebook has changed since this run.", "Review a newer run.")
    return codebook


def _corrected_labels(codebook: Codebook, record: DocumentRecord) -> Iterator[tuple[str, Part]]:
    """Yield (label, part) for each label that a correction adds or removes."""
    for item, review in record.reviews.items():
        verdict, true = record.values.get(item), review.value
        pairs: list[tuple[Value, Part]] = []
        if verdict is None or verdict == true:
            continue
        if codebook.kind == "multilabel":
            pairs = [(item, "include" if true is True else "exclude")]
        elif codebook.kind == "choice":
            pairs = [(true, "include"), (verdict, "exclude")]
        yield from ((str(label), part) for label, part in pairs if label in codebook.label_names)


def _example_text(codebook: Codebook, label_id: str, part: Part, record: DocumentRecord) -> str:
    """Return the most relevant words: a supported quote for the label, else the clause with a keyword, else nothing."""
    quotes = (quote for quote in all_quotes(record) if quote.supported and quote.item == label_id)
    text = record.document.text
    if (quote := next(quotes, None)) is not None:
        text = quote.quote
    elif found := baseline.find_keywords(codebook.label(label_id).keywords, text):
        _, start, end = found[0]
        text = quote_around(text, start, end)
    elif len(clauses_of(text)) != 1:
        return ""
    plain = " ".join(text.split())
    longest = MAX_LENGTH[part]
    return plain if len(plain) <= longest else plain[:longest].rsplit(" ", 1)[0]


def _check_text(codebook: Codebook, example: CodebookExample) -> str:
    text = " ".join(example.text.split())
    if example.label_id not in codebook.label_names:
        raise CodebookError("The label is no longer in the codebook.", "Open the Codebook page.")
    if not text:
        raise UsageError("The example has no words.", "Copy some from the text, or type them.")
    if len(text) > MAX_LENGTH[example.part]:
        part_name = PART_NAMES[example.part]
        raise UsageError(
            f"These are {len(text)} characters; an {part_name} has {MAX_LENGTH[example.part]} at most.", "Shorten it."
        )
    if normalise(text) in map(normalise, getattr(codebook.label(example.label_id), example.part)):
        raise UsageError(f"'{text}' is already in the label.", "Choose other words.")
    return text
