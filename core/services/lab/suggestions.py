"""What errors suggest for a definition: cue words as keywords, and pairs of documents that read alike and are not, as
examples. Mined from the development side alone; each is taken or left by a person."""

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
from core.services.evaluation import grids
from core.services.lab import samples
from core.services.session import ProjectSession

Part: TypeAlias = Literal["keywords", "include", "exclude", "less"]
"""Where a suggestion goes: into a list of the label, or (``less``) out of its keywords."""
DISMISSED_SETTING = "lab dismissed"
"""The setting with what a person did not want to see again."""
MAX_DOCUMENTS = 2_000
"""Documents that are read at most."""
PER_PART = 2
MAX_SUGGESTIONS = 12


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One change to a label's words. ``why`` says what speaks for it; ``document_id`` is the document that lends an
    example its words, empty for a keyword; ``documents`` are the errors behind it."""

    label_id: str
    part: Part
    text: str
    why: str
    document_id: str
    documents: tuple[str, ...]

    @property
    def name(self) -> str:
        """Equal for equal changes."""
        return digest([self.label_id, self.part, normalise(self.text)], size=6)


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """The documents in which a label was rightly or wrongly given or withheld."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]


def suggest_changes(session: ProjectSession, run_id: str | None = None) -> tuple[Suggestion, ...]:
    """Return changes that the errors of a run suggest for the codebook draft, best supported first.

    The run defaults to ``latest_scored_run``.

    Empty without errors, for ratings, and where everything was taken or left already.
    """
    now = codebooks.standing(session).codebook
    left = set(session.store.settings.get(DISMISSED_SETTING, []))
    common = tuple(f"{now.unit} {now.domain}".lower().split())  # they tell no document from another
    found = [
        one
        for label, sides in label_errors(session, now, run_id)
        for one in _label_suggestions(label, sides, common)
        if one.name not in left and not _already_applied(now, one)
    ]
    return tuple(sorted(found, key=lambda one: -len(one.documents))[:MAX_SUGGESTIONS])


def accept(session: ProjectSession, suggestion: Suggestion, *, actor: str = "") -> None:
    """Put a suggestion into the draft; a document that lends its words is no test of runs with them from then on.

    CodebookError, KeyError when the label cannot take it (any more).
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
        session.store.learning.take(suggestion.document_id, label.id, suggestion.part, text, version, actor=actor)


def dismiss(session: ProjectSession, suggestion: Suggestion) -> None:
    """Do not offer this again."""
    left = session.store.settings.get(DISMISSED_SETTING, [])
    session.store.settings.set(DISMISSED_SETTING, [*left, suggestion.name])


def _already_applied(book: Codebook, one: Suggestion) -> bool:
    label = book.label(one.label_id)
    known = {normalise(word) for word in getattr(label, "keywords" if one.part == "less" else one.part)}
    return (normalise(one.text) in known) != (one.part == "less")


def label_errors(
    session: ProjectSession, now: Codebook, run_id: str | None = None
) -> Iterator[tuple[Label, dict[str, ErrorGroup]]]:
    """Each label with the documents of a run (as ``latest_scored_run`` when None) by outcome: fn, fp, tp, tn."""
    run_id = run_id or latest_scored_run(session)
    if run_id is None or now.kind == "rating":
        return
    gold = grids.load(session.store, run_id, now, (VERDICT,))
    reviewed = grids.load(session.store, run_id, now, (), "reviewed").reference
    reference, said = np.where(np.isnan(reviewed), gold.reference, reviewed), gold.of(VERDICT)
    split = samples.holdout_split(session)
    rows = [row for row, id in enumerate(gold.documents) if not split.holds(id)][:MAX_DOCUMENTS]
    documents = session.store.documents.load([gold.documents[row] for row in rows], gold=False)
    texts = [document.text for document in documents]
    ids = [document.id for document in documents]
    for place, label in enumerate(now.labels):
        if now.kind == "choice":
            right, given = reference[rows, 0] == place, said[rows, 0] == place
            known = ~np.isnan(reference[rows, 0]) & ~np.isnan(said[rows, 0])
        else:
            right, given = reference[rows, place] == 1, said[rows, place] == 1
            known = ~np.isnan(reference[rows, place]) & ~np.isnan(said[rows, place])
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
    """The run whose errors are looked at unless another is chosen: the latest, in the lab or not, with verdicts (in the
    lab: on several documents)."""
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
            behind = tuple(missed.ids[row] for row in cue.documents)
            why = (
                f"stands in {len(behind)} of {len(missed.ids)} documents that missed it, and in {cue.others} without it"
            )
            yield Suggestion(label.id, "keywords", cue.words, why, "", behind)
    for cue in cues(wrong.texts, sides["tp"].texts, ignore=common):
        behind = tuple(wrong.ids[row] for row in cue.documents)
        why = f"stands in {len(behind)} of {len(wrong.ids)} documents that wrongly got it"
        hit = next((word for word in label.keywords if normalise(word) == cue.words), None)
        if hit is not None:
            yield Suggestion(label.id, "less", hit, f"{why}, and in {cue.others} that rightly did", "", behind)
    yield from _contrasts(label, missed, sides["tn"], "include")
    yield from _contrasts(label, wrong, sides["tp"], "exclude")


def _contrasts(label: Label, erring: ErrorGroup, like: ErrorGroup, part: Part) -> Iterator[Suggestion]:
    """Sentences of erring documents, each with the document that reads most like it and was rightly done otherwise."""
    if not erring.ids:
        return
    told = cues(erring.texts, like.texts, most=1) if like.ids else ()
    order = [*(told[0].documents if told else ()), *range(len(erring.ids))]
    for row in list(dict.fromkeys(order))[:PER_PART]:
        text = erring.texts[row]
        sentence = sentence_with(text, told[0].words) if told and row in told[0].documents else ""
        sentence = sentence or next((part for part in _sentences(text) if len(part) > 12), "")
        if sentence:
            near = _nearest(text, like)
            error = "missed it" if part == "include" else "wrongly got it"
            beside = f"; {near} reads like it and was done right" if near else ""
            yield Suggestion(
                label.id, part, sentence, f"{erring.ids[row]} {error}{beside}", erring.ids[row], (erring.ids[row],)
            )


def _nearest(text: str, among: ErrorGroup) -> str:
    if not among.ids:
        return ""
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        told = TfidfVectorizer(stop_words="english").fit_transform([text, *among.texts])
    except ValueError:  # nothing but stop words
        return ""
    alike = (told[1:] @ told[0].T).toarray().ravel()
    best = int(alike.argmax())
    return among.ids[best] if alike[best] > 0 else ""


def _sentences(text: str) -> Sequence[str]:
    return [" ".join(part.split()) for part in text.replace("!", ".").replace("?", ".").split(".")]
