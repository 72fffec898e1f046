"""Error analysis: the documents on which a label is wrong, how consistently, and what they have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from core.codebook import Label
from core.documents import VERDICT, Reference
from core.errors import UsageError
from core.runs import RunRow
from core.services.document_samples import fixed_sample
from core.services.evaluation import annotation_arrays, coverage, repeated_runs
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit
from core.stats.arrays import Codes, Mask, is_right
from core.stats.error_analysis import Band, Cue, by_number, cues

ErrorSide: TypeAlias = Literal["false_negative", "false_positive"]
SIDES: Mapping[str, Mapping[ErrorSide, str]] = {
    "multilabel": {
        "false_negative": "present in the reference, not predicted",
        "false_positive": "predicted, absent in the reference",
    },
    "choice": {
        "false_negative": "this label in the reference, another one predicted",
        "false_positive": "this label predicted, another one in the reference",
    },
    "rating": {"false_negative": "rated a point or more too low", "false_positive": "rated a point or more too high"},
}
MAX_TEXTS = 1500
"""Maximum texts of each kind searched for cue words: a random sample with a fixed seed."""


@dataclass(frozen=True, slots=True)
class SideErrors:
    """One kind of error of a label."""

    side: ErrorSide
    wrong: int
    consistent: int
    """Documents with this error in every iteration."""
    debated: int
    """Documents with this error that every iteration has debated."""
    cues: tuple[Cue, ...]


@dataclass(frozen=True, slots=True)
class LabelErrors:
    """Errors of a label. ``consistent`` counts over ``iterations`` runs; with one run every error is consistent."""

    label_id: str
    name: str
    judged: int
    iterations: int
    sides: tuple[SideErrors, ...]
    by_length: tuple[Band, ...]
    """Error rate by number of words of the text."""
    by_labels: tuple[Band, ...]
    """Error rate by number of reference labels; empty unless multilabel."""
    tags: Mapping[str, int]
    """Error tag given by reviewers -> number of wrong documents."""
    counted: coverage.Coverage
    """Documents with a reference and a value of this label, and the excluded ones."""

    @property
    def wrong(self) -> int:
        """Number of documents on which the label is wrong."""
        return sum(side.wrong for side in self.sides)


@dataclass(frozen=True, slots=True)
class Mistake:
    """A document on which a label is wrong."""

    document_id: str
    text: str
    side: ErrorSide
    times: int
    """Iterations in which the label is wrong."""
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Outcomes:
    """A label over the run's documents: which have a reference and a value, and the error in each iteration."""

    documents: tuple[str, ...]
    column: int
    """Index of the label's item in ``reference``."""
    reference: annotation_arrays.Grid
    judged: Mask
    positive: Mask
    """Documents with the label in the reference; none for ratings."""
    sides: Mapping[ErrorSide, Mask]
    times: Mapping[ErrorSide, Codes]
    iterations: int
    waiting: Mask
    """Documents that an iteration has not debated yet."""


@cached_until_commit
def of_label(session: ProjectSession, run: RunRow, label_id: str, reference: Reference = "gold") -> LabelErrors:
    """Return the errors of one label. Raises UsageError if the label does not exist."""
    codebook = run.settings.codebook
    outcomes = _outcomes(session, run, label_id, reference)
    wrong = outcomes.sides["false_negative"] | outcomes.sides["false_positive"]
    lengths = session.store.annotations.words(run.run_id)
    is_multilabel = codebook.kind == "multilabel"
    present = np.nansum(outcomes.reference, axis=1)
    loaded = annotation_arrays.verdict_arrays(session, run, reference)
    design = annotation_arrays.sampling_design(session, run, reference, loaded)
    wrong_documents = {outcomes.documents[row] for row in np.flatnonzero(wrong)}
    tagged = session.store.annotations.tags(run.run_id)
    tags = Counter(tag for document, tag in tagged if document in wrong_documents)
    return LabelErrors(
        label_id=label_id,
        name=codebook.label(label_id).name,
        judged=int(outcomes.judged.sum()),
        iterations=outcomes.iterations,
        sides=tuple(
            SideErrors(
                side,
                int(mask.sum()),
                int((outcomes.times[side] == outcomes.iterations).sum()),
                int((mask & ~outcomes.waiting).sum()),
                _cues(session, outcomes, side),
            )
            for side, mask in outcomes.sides.items()
        ),
        by_length=by_number(lengths, wrong, outcomes.judged, design),
        by_labels=by_number(present, wrong, outcomes.judged, design) if is_multilabel else (),
        tags=dict(tags.most_common()),
        counted=coverage.of_documents(session, run, reference, outcomes.judged, column=outcomes.column),
    )


@cached_until_commit
def label_with_most_errors(session: ProjectSession, run: RunRow, reference: Reference = "gold") -> str:
    """Return the id of the label with the most errors. Without errors, the id of the first label with a document."""

    def errors(label: Label) -> tuple[int, bool]:
        outcomes = _outcomes(session, run, label.id, reference)
        return sum(int(mask.sum()) for mask in outcomes.sides.values()), bool(outcomes.judged.any())

    return max(run.settings.codebook.labels, key=errors).id


def documents(
    session: ProjectSession,
    run: RunRow,
    label_id: str,
    reference: Reference = "gold",
    *,
    side: ErrorSide | None = None,
    consistent: bool = False,
    word: str = "",
    limit: int = 50,
) -> tuple[tuple[Mistake, ...], int]:
    """Return the first documents with errors in a label, most frequent errors first, and their total number.

    ``side`` limits them to one kind of error, ``consistent`` to errors in every iteration, ``word`` to texts that
    contain a cue word.
    """
    outcomes = _outcomes(session, run, label_id, reference)
    tagged: dict[str, tuple[str, ...]] = {}
    for document, name in session.store.annotations.tags(run.run_id):
        tagged[document] = (*tagged.get(document, ()), name)
    mistakes = [
        Mistake(id := outcomes.documents[row], "", name, int(outcomes.times[name][row]), tagged.get(id, ()))
        for name, mask in outcomes.sides.items()
        if side in (None, name)
        for row in np.flatnonzero(mask)
        if not consistent or outcomes.times[name][row] == outcomes.iterations
    ]
    if word:
        holding = set(session.store.annotations.holding([mistake.document_id for mistake in mistakes], word))
        mistakes = [mistake for mistake in mistakes if mistake.document_id in holding]
    row_of = {document: row for row, document in enumerate(outcomes.documents)}
    mistakes.sort(key=lambda mistake: (-mistake.times, row_of[mistake.document_id]))
    page = mistakes[:limit]
    texts = session.store.documents.texts([mistake.document_id for mistake in page])
    return tuple(replace(mistake, text=texts.get(mistake.document_id, "")) for mistake in page), len(mistakes)


def _outcomes(session: ProjectSession, run: RunRow, label_id: str, reference: Reference) -> _Outcomes:
    codebook = run.settings.codebook
    label_index = codebook.label_numbers.get(label_id)
    if label_index is None:
        raise UsageError(f"The codebook of {run.title} has no label '{label_id}'.", "Choose one of its own.")
    column = 0 if codebook.kind == "choice" else label_index
    rows = [run, *(row for row in repeated_runs.siblings(session, run) if row.run_id != run.run_id)]
    scored = [_scored(session, row, reference) for row in rows]
    gold, predicted = scored[0].reference, [arrays.verdicts_on(scored[0].documents) for arrays in scored]
    true = gold[:, column]
    present = {"multilabel": 1.0, "choice": float(label_index), "rating": np.nan}[codebook.kind]
    by_iteration = [_sides(true, grid[:, column], present) for grid in predicted]
    waiting = repeated_runs.waiting_documents(session, rows)
    return _Outcomes(
        documents=scored[0].documents,
        column=column,
        reference=gold,
        judged=~np.isnan(true) & ~np.isnan(predicted[0][:, column]),
        positive=true == present,
        sides=by_iteration[0],
        times={
            side: np.sum([sides[side] for sides in by_iteration], axis=0, dtype=np.int64) for side in by_iteration[0]
        },
        iterations=len(by_iteration),
        waiting=np.array([document in waiting for document in scored[0].documents], dtype=np.bool_),
    )


def _scored(session: ProjectSession, run: RunRow, reference: Reference) -> annotation_arrays.AnnotationArrays:
    """Return the reference and the verdicts of a run, these only on the cells that are scored."""
    true, predicted = annotation_arrays.paired_arrays(session, run, VERDICT, reference)
    loaded = annotation_arrays.verdict_arrays(session, run, reference)
    return replace(loaded, verdicts=np.where(np.isnan(true), np.nan, predicted))


def _sides(true: annotation_arrays.Grid, predicted: annotation_arrays.Grid, present: float) -> dict[ErrorSide, Mask]:
    """Return the errors by side. ``present`` is the value of the label, NaN for ratings."""
    compared = ~np.isnan(true) & ~np.isnan(predicted)
    if np.isnan(present):
        wrong = compared & ~is_right(true, predicted, kind="rating")
        return {"false_negative": wrong & (predicted < true), "false_positive": wrong & (predicted > true)}
    return {
        "false_negative": compared & (true == present) & (predicted != present),
        "false_positive": compared & (true != present) & (predicted == present),
    }


def _cues(session: ProjectSession, outcomes: _Outcomes, side: ErrorSide) -> tuple[Cue, ...]:
    wrong = outcomes.sides["false_negative"] | outcomes.sides["false_positive"]
    hits = outcomes.judged & ~wrong
    same_class = hits & (outcomes.positive if side == "false_negative" else ~outcomes.positive)
    compared = same_class if same_class.any() else hits  # ratings are neither positive nor negative
    return cues(_texts(session, outcomes, outcomes.sides[side]), _texts(session, outcomes, compared))


def _texts(session: ProjectSession, outcomes: _Outcomes, mask: Mask) -> list[str]:
    ids = fixed_sample([outcomes.documents[row] for row in np.flatnonzero(mask)], MAX_TEXTS)
    return list(session.store.documents.texts(ids).values())
