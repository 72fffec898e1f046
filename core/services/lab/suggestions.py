"""Suggest codebook changes from errors: cue words as keywords, and contrasting documents as examples.

Suggestions use only the development split. The user accepts or dismisses each one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from core.annotations import VERDICT
from core.classifier.keyword_mining import cues, sentence_with
from core.codebook import Codebook, Label, normalise
from core.hashing import digest
from core.services.codebooks import codebook as codebooks
from core.services.evaluation import arrays
from core.services.lab import samples
from core.services.session import ProjectSession

Part: TypeAlias = Literal["keywords", "include", "exclude", "less"]
"""Field that a suggestion changes: a list of the label, or (``less``) a keyword to remove."""
DISMISSED_SETTING = "lab dismissed"
"""Project setting that stores dismissed suggestions."""
MAX_DOCUMENTS = 2_000
"""Maximum number of documents to analyse."""
PER_PART = 2
MAX_SUGGESTIONS = 12


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One change to a label's definition.

    ``why`` gives the evidence. ``document_id`` is the source of an example, empty for a keyword. ``documents`` are the
    errors behind it.
    """

    label_id: str
    part: Part
    text: str
    why: str
    document_id: str
    documents: tuple[str, ...]

    @property
    def name(self) -> str:
        """Key that is equal for equal changes."""
        return digest([self.label_id, self.part, normalise(self.text)], size=6)


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Documents with the same kind of outcome for a label."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]


def suggest_changes(session: ProjectSession, run_id: str | None = None) -> tuple[Suggestion, ...]:
    """Return changes that the errors of a run suggest for the codebook draft, best supported first.

    The run defaults to ``latest_scored_run``.

    Empty without errors, for ratings, and where everything was taken or left already.
    """
    now = codebooks.standing(session).codebook
    dismissed = set(session.store.settings.get(DISMISSED_SETTING, []))
    common = tuple(f"{now.unit} {now.domain}".lower().split())  # they tell no document from another
    found = [
        one
        for label, sides in label_errors(session, now, run_id)
        for one in _label_suggestions(label, sides, common)
        if one.name not in dismissed and not _already_applied(now, one)
    ]
    return tuple(sorted(found, key=lambda one: -len(one.documents))[:MAX_SUGGESTIONS])


def accept(session: ProjectSession, suggestion: Suggestion, *, actor: str = "") -> None:
    """Apply a suggestion to the draft.

    A document whose text becomes an example no longer counts in evaluations of runs with that codebook. Raises
    CodebookError, or KeyError if the label cannot take the suggestion any more.
    """
    book = codebooks.standing(session).codebook
    label = book.label(suggestion.label_id)
    if suggestion.part == "less":
        words = tuple(word for word in label.keywords if normalise(word) != normalise(suggestion.text))
        changed = codebooks.change_label(book, label.id, keywords=words)
    else:
        words = (*getattr(label, suggestion.part), suggestion.text)
        changed = codebooks.change_label(book, label.id, **{suggestion.part: words})
    codebooks.keep(session, changed)
    if suggestion.document_id:
        version = codebooks.standing(session).next_version
        text = getattr(changed.label(label.id), suggestion.part)[-1]
        session.store.classifiers.add_codebook_example(
            suggestion.document_id, label.id, suggestion.part, text, version, actor=actor
        )


def dismiss(session: ProjectSession, suggestion: Suggestion) -> None:
    """Do not offer a suggestion again."""
    dismissed = session.store.settings.get(DISMISSED_SETTING, [])
    session.store.settings.set(DISMISSED_SETTING, [*dismissed, suggestion.name])


def _already_applied(book: Codebook, one: Suggestion) -> bool:
    label = book.label(one.label_id)
    known = {normalise(word) for word in getattr(label, "keywords" if one.part == "less" else one.part)}
    return (normalise(one.text) in known) != (one.part == "less")


def label_errors(
    session: ProjectSession, now: Codebook, run_id: str | None = None
) -> Iterator[tuple[Label, dict[str, ErrorGroup]]]:
    """Yield each label with the documents of a run by outcome: fn, fp, tp, tn.

    The run defaults to ``latest_scored_run``.
    """
    run_id = run_id or latest_scored_run(session)
    if run_id is None or now.kind == "rating":
        return
    gold = arrays.load_arrays(session.store, run_id, now, (VERDICT,))
    reviewed = arrays.load_arrays(session.store, run_id, now, (), "reviewed").reference
    reference, verdicts = np.where(np.isnan(reviewed), gold.reference, reviewed), gold.of(VERDICT)
    split = samples.holdout_split(session)
    rows = [row for row, id in enumerate(gold.documents) if not split.is_held_out(id)][:MAX_DOCUMENTS]
    documents = session.store.documents.load([gold.documents[row] for row in rows], gold=False)
    texts = [document.text for document in documents]
    ids = [document.id for document in documents]
    for place, label in enumerate(now.labels):
        if now.kind == "choice":
            right, given = reference[rows, 0] == place, verdicts[rows, 0] == place
            known = ~np.isnan(reference[rows, 0]) & ~np.isnan(verdicts[rows, 0])
        else:
            right, given = reference[rows, place] == 1, verdicts[rows, place] == 1
            known = ~np.isnan(reference[rows, place]) & ~np.isnan(verdicts[rows, place])
        kinds = {"fn": right & ~given, "fp": ~right & given, "tp": right & given, "tn": ~right & ~given}
        yield (
            label,
            {
                name: ErrorGroup(
                    tuple(ids[row] for row in (mask & known).nonzero()[0]),
                    tuple(texts[row] for row in (mask & known).nonzero()[0]),
                )
                for name, mask in kinds.items()
            },
        )


def latest_scored_run(session: ProjectSession) -> str | None:
    """Return the latest run with verdicts, in the Lab (with several documents) or not; None if there is none."""
    tried = [
        trial.after_run
        for trial in session.store.lab.trials()
        if len(trial.sample["strata"]) > 1 and not trial.held_out
    ]
    runs = [row.run_id for row in session.store.runs.all() if row.verdicts]
    return max([*tried, *runs], key=lambda run_id: (len(run_id), run_id), default=None)  # r9999, r10000


def _label_suggestions(label: Label, sides: dict[str, ErrorGroup], common: Sequence[str]) -> Iterator[Suggestion]:
    missed, wrong = sides["fn"], sides["fp"]
    known = {normalise(word) for word in label.keywords}
    offered = 0
    for cue in cues(missed.texts, sides["tn"].texts, ignore=common):
        if offered < PER_PART and not any(word in known for word in (cue.words, *cue.words.split())):
            offered += 1
            error_ids = tuple(missed.ids[row] for row in cue.documents)
            why = f"occurs in {len(error_ids)} of {len(missed.ids)} false negatives and in {cue.others} true negatives"
            yield Suggestion(label.id, "keywords", cue.words, why, "", error_ids)
    for cue in cues(wrong.texts, sides["tp"].texts, ignore=common):
        error_ids = tuple(wrong.ids[row] for row in cue.documents)
        why = f"occurs in {len(error_ids)} of {len(wrong.ids)} false positives"
        hit = next((word for word in label.keywords if normalise(word) == cue.words), None)
        if hit is not None:
            yield Suggestion(label.id, "less", hit, f"{why} and in {cue.others} true positives", "", error_ids)
    yield from _contrasts(label, missed, sides["tn"], "include")
    yield from _contrasts(label, wrong, sides["tp"], "exclude")


def _contrasts(label: Label, erring: ErrorGroup, correct: ErrorGroup, part: Part) -> Iterator[Suggestion]:
    """Yield sentences of misclassified documents, each with the most similar correctly labelled document."""
    if not erring.ids:
        return
    shared = cues(erring.texts, correct.texts, most=1) if correct.ids else ()
    order = [*(shared[0].documents if shared else ()), *range(len(erring.ids))]
    for row in list(dict.fromkeys(order))[:PER_PART]:
        text = erring.texts[row]
        sentence = sentence_with(text, shared[0].words) if shared and row in shared[0].documents else ""
        sentence = sentence or next((part for part in _sentences(text) if len(part) > 12), "")
        if sentence:
            near = _nearest(text, correct)
            error = "is a false negative" if part == "include" else "is a false positive"
            similar = f"; {near} is similar, labelled correctly" if near else ""
            yield Suggestion(
                label.id, part, sentence, f"{erring.ids[row]} {error}{similar}", erring.ids[row], (erring.ids[row],)
            )


def _nearest(text: str, among: ErrorGroup) -> str:
    if not among.ids:
        return ""
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        vectors = TfidfVectorizer(stop_words="english").fit_transform([text, *among.texts])
    except ValueError:  # nothing but stop words
        return ""
    similarity = (vectors[1:] @ vectors[0].T).toarray().ravel()
    best = int(similarity.argmax())
    return among.ids[best] if similarity[best] > 0 else ""


def _sentences(text: str) -> Sequence[str]:
    return [" ".join(part.split()) for part in text.replace("!", ".").replace("?", ".").split(".")]
