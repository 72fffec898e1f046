"""Annotations of a run as arrays: the input of every statistic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from core.annotations import VERDICT, Reference
from core.codebook import Codebook
from core.errors import NoSuchRun
from core.runs import RunRow
from core.services.cache import cached, cached_scores, cached_until_commit
from core.services.session import ProjectSession
from core.stats.arrays import Mask
from core.stats.estimation import Design
from core.stats.sampling import Sample
from core.store.annotators import GOLD, REVIEWED, AnnotationSource, source_of
from core.store.confusion import is_own
from core.store.rows import dump
from core.store.sampling_frames import Selection
from core.store.store import Store

Grid: TypeAlias = npt.NDArray[np.float64]
"""``[document, item]``, NaN for no value: 1 and 0 in a multilabel codebook, a label's index in a choice, a rating."""


@dataclass(frozen=True, slots=True, eq=False)
class AnnotationArrays:
    """The reference and the annotators of a run, in the order of ``documents`` and of the codebook's items."""

    documents: tuple[str, ...]
    reference: Grid
    annotations: Mapping[str, Grid]

    def of(self, annotator: str) -> Grid:
        """Return an annotator's values; only NaN for an annotator without any."""
        return self.annotations.get(annotator, np.full_like(self.reference, np.nan))


@cached_until_commit
def all_runs(session: ProjectSession) -> list[RunRow]:
    """Return all runs, oldest first."""
    return session.store.runs.all()


def get_run(session: ProjectSession, run_id: str) -> RunRow:
    """Return the run with this id. Raises NoSuchRun (a UsageError) if it does not exist."""
    run = session.store.runs.get(run_id)
    if run is None:
        raise NoSuchRun(run_id)
    return run


def load_arrays(
    store: Store, run_id: str, codebook: Codebook, annotators: Sequence[str], reference: Reference = GOLD
) -> AnnotationArrays:
    """Load the documents of a run, their reference, and the values of annotators: roles of the run or sources.

    The reference of several raters is their majority (no value on a tie), for ratings their mean. Documents that are
    used as examples in the run's codebook have no reference.
    """
    documents = tuple(store.runs.document_ids(run_id))
    judged = load_annotator(store, run_id, codebook, str(source_of(reference)), len(documents))
    judged[~test_documents(store, run_id, documents)] = np.nan
    predicted = {name: load_annotator(store, run_id, codebook, name, len(documents)) for name in annotators}
    return AnnotationArrays(documents, judged, predicted)


def test_documents(store: Store, run_id: str, documents: Sequence[str]) -> Mask:
    """Return a mask ``[document]``: True unless the document is used as an example in the run's codebook."""
    examples = set(store.evaluations.example_documents(run_id))
    return np.array([document not in examples for document in documents], dtype=np.bool_)


def load_annotator(store: Store, run_id: str, codebook: Codebook, annotator: str, documents: int) -> Grid:
    """Load one annotator's values on the run's ``documents`` documents."""
    grid = np.full((documents, len(codebook.items)), np.nan)
    table = store.evaluations.placed(run_id, annotator, codebook.items, item_values(codebook))
    rows, columns, values = (table[name] for name in ("row", "column", "value"))
    grid[rows, columns] = values
    return grid


def rater_arrays(store: Store, run_id: str, codebook: Codebook, documents: Sequence[str]) -> dict[str, Grid]:
    """Load the gold of each rater on the run's ``documents``, by name; NaN on documents used as examples."""
    fit = test_documents(store, run_id, documents)[:, None]
    return {
        name: np.where(
            fit,
            load_annotator(store, run_id, codebook, str(AnnotationSource("gold", name)), len(documents)),
            np.nan,
        )
        for name in store.evaluations.raters()
    }


def item_values(codebook: Codebook) -> list[str]:
    """Return the JSON texts of an item's possible values in the order of their codes; empty for ratings (numbers)."""
    match codebook.kind:
        case "rating":
            return []
        case "multilabel":
            return ["false", "true"]
        case "choice":
            return [dump(label.id) for label in codebook.labels]


def median(grids: Sequence[Grid], documents: Sequence[str], codebook: Codebook) -> Grid:
    """Return the median of the given values, cell by cell; NaN where none is given."""
    if not grids:
        return np.full((len(documents), len(codebook.items)), np.nan)
    stack = np.stack(grids)
    known = ~np.isnan(stack).all(axis=0)
    middle = np.full(stack.shape[1:], np.nan)
    middle[known] = np.nanmedian(stack[:, known], axis=0)
    return middle


@cached_scores
def verdict_arrays(session: ProjectSession, run: RunRow, reference: Reference = "gold") -> AnnotationArrays:
    """Return the reference and the verdicts of a run. Cached: do not change these arrays."""
    return load_arrays(session.store, run.run_id, run.settings.codebook, [VERDICT], reference)


@cached_until_commit
def group_codes(session: ProjectSession, run: RunRow) -> npt.NDArray[np.int64] | None:
    """Return the group of each document of the run as a code, None if no two documents are in one group.

    A document without a group is a group of its own.
    """
    known: dict[str, int] = {}
    groups = session.store.evaluations.groups(run.run_id)
    codes = [known.setdefault(group or f"\0{row}", len(known)) for row, group in enumerate(groups)]
    return np.array(codes, dtype=np.int64) if len(known) < len(codes) else None


def given_labels(codebook: Codebook, verdicts: Grid) -> Mask:
    """Return ``[document, label]``: True where the verdict gives the label; no column for ratings."""
    match codebook.kind:
        case "multilabel":
            return np.asarray(verdicts == 1)
        case "choice":
            return np.asarray(verdicts[:, :1] == np.arange(len(codebook.labels))[None, :])
        case "rating":
            return np.zeros((len(verdicts), 0), dtype=np.bool_)


def frame_sizes(session: ProjectSession, run_id: str, frame: int) -> dict[str, float]:
    """Return the sizes of a frame of the review queue by document. Cached, as a frame never changes."""
    return cached(session, lambda: session.store.sampling_frames.sizes(run_id, frame), "frame sizes", run_id, frame)


def sampling_design(
    session: ProjectSession,
    run: RunRow,
    reference: Reference,
    documents: Sequence[str],
    judged: Grid,
    verdicts: Sequence[Grid],
) -> Design:
    """Return how the documents of a score were selected, and which of them depend on each other.

    ``judged`` are the values of the reference and ``verdicts`` those of the compared runs. Reviewed documents represent
    all documents with a complete verdict in each of them; those that the review queue drew carry their probabilities.
    Other references represent a larger population of independent documents or groups.
    """
    places = {document: row for row, document in enumerate(documents)}
    if source_of(reference).kind != REVIEWED:
        groups = group_codes(session, run)
        if groups is None:
            return Design()
        of_run = dict(zip(session.store.runs.document_ids(run.run_id), groups.tolist(), strict=True))
        return Design(groups=np.array([of_run[document] for document in documents], dtype=np.int64))
    examples = session.store.evaluations.example_documents(run.run_id)
    left_out = {*examples, *session.store.classifiers.discarded_documents()}
    able = np.array([document not in left_out for document in documents], dtype=np.bool_)
    able &= np.all([~np.isnan(one).any(axis=1) for one in verdicts], axis=0)
    population = [document for document, one in zip(documents, able.tolist(), strict=True) if one]
    submitted = session.store.sampling_frames.selections()
    whole = able & ~np.isnan(judged).any(axis=1)  # a codebook with further items leaves gaps
    chosen = [one for one in submitted if one.document_id in places and whole[places[one.document_id]]]
    sizes: dict[tuple[str, int], Grid | None] = {}

    def known_sizes(one: Selection) -> Grid | None:
        """Return the sizes of a draw over the population, None where they are unknown."""
        if one.how == "audit":
            return sizes.setdefault(("", 0), np.ones(len(population)))
        if one.how != "drawn" or one.run_id is None or one.frame is None:
            return None
        if (key := (one.run_id, one.frame)) not in sizes:
            frame = frame_sizes(session, *key)
            whole = all(document in frame for document in population)
            sizes[key] = np.array([frame[document] for document in population]) if whole else None
        return sizes[key]

    order = np.array([places[one.document_id] for one in chosen], dtype=np.int64)
    sample = Sample.of_draws((np.cumsum(able) - 1)[order], [known_sizes(one) for one in chosen], len(population))
    codebook = run.settings.codebook
    variables = [one if codebook.kind == "rating" else given_labels(codebook, one) for one in verdicts]
    known = np.where(able[:, None], np.hstack([np.ones((len(documents), 1)), *variables]), 0.0)
    return Design(sample=sample, order=order, known=known)


@cached_scores
def debate_statuses(session: ProjectSession, run: RunRow) -> npt.NDArray[np.str_]:
    """Return how the debate on each document of the run ended, as ``store.stages.ended``."""
    return session.store.stages.ended(run.run_id)


def paired_arrays(session: ProjectSession, run: RunRow, annotator: str, reference: Reference) -> tuple[Grid, Grid]:
    """Return the reference and an annotator's values on exactly the cells that are scored (see ``paired_with``)."""
    return paired_with(session, run, annotator, verdict_arrays(session, run, reference).reference)


def paired_with(session: ProjectSession, run: RunRow, annotator: str, reference: Grid) -> tuple[Grid, Grid]:
    """Return ``reference`` and an annotator's values, ready for metrics that take complete verdicts.

    Only items that both give a value count, for annotators of the run only where the debate has a verdict. A document
    on which they have no item in common keeps its reference and has no value, so that it is excluded.
    """
    if annotator == VERDICT:
        predicted = verdict_arrays(session, run).of(VERDICT)
    else:
        predicted = load_annotator(session.store, run.run_id, run.settings.codebook, annotator, len(reference))
    if is_own(annotator):
        predicted = np.where(np.equal(debate_statuses(session, run), "verdict")[:, None], predicted, np.nan)
    both = ~np.isnan(reference) & ~np.isnan(predicted)
    some = both.any(axis=1, keepdims=True)
    return np.where(both | ~some, reference, np.nan), np.where(some, np.nan_to_num(predicted), np.nan)
