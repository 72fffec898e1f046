"""A run's values as arrays, for statistics that counts alone do not give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from core.codebook import Codebook
from core.stats.arrays import Mask
from core.store.annotators import GOLD, AnnotationSource
from core.store.rows import dump
from core.store.store import Store

Reference: TypeAlias = str
"""The name of a ``core.store.annotators.AnnotationSource``: gold, gold@RATER, reviewed, reviewed@PERSON, run:ID,
run:ID/ROLE."""
Grid: TypeAlias = npt.NDArray[np.float64]
"""``[document, item]``, NaN for no value: 1 and 0 in a multilabel codebook, a label's index in a choice, a rating."""


@dataclass(frozen=True, slots=True, eq=False)
class Grids:
    """What the truth and each annotator of a run say, in the order of ``documents`` and of the codebook's items."""

    documents: tuple[str, ...]
    reference: Grid
    said: Mapping[str, Grid]

    def of(self, annotator: str) -> Grid:
        """An annotator's values; nothing but NaN for one that said nothing."""
        return self.said.get(annotator, np.full_like(self.reference, np.nan))


def load(
    store: Store, run_id: str, codebook: Codebook, annotators: Sequence[str], reference: Reference = GOLD
) -> Grids:
    """The documents of the run, their truth, and what was said by annotators: roles of the run or sources.

    The truth of several raters is what most of them say, nothing on a tie, and of ratings their mean. Documents that
    lent their words to the run's codebook have none.
    """
    documents = tuple(store.runs.document_ids(run_id))
    judged = one(store, run_id, codebook, reference, len(documents))
    judged[~tests(store, run_id, documents)] = np.nan
    said = {name: one(store, run_id, codebook, name, len(documents)) for name in annotators}
    return Grids(documents, judged, said)


def tests(store: Store, run_id: str, documents: Sequence[str]) -> Mask:
    """``[document]``: which are a test of the run, as they lent no words to its codebook."""
    guarded = set(store.evaluations.guarded(run_id))
    return np.array([document not in guarded for document in documents], dtype=np.bool_)


def one(store: Store, run_id: str, codebook: Codebook, annotator: str, documents: int) -> Grid:
    """What one annotator says of the run's ``documents`` documents."""
    grid = np.full((documents, len(codebook.items)), np.nan)
    table = store.evaluations.placed(run_id, annotator, codebook.items, values_of(codebook))
    rows, columns, values = (table[name] for name in ("row", "column", "value"))
    grid[rows, columns] = values
    return grid


def on_common(reference: Grid, said: Grid) -> tuple[Grid, Grid]:
    """Truth and values of one who may leave items open, as the scores want them that take complete lists: what only one
    of both has a value for is without truth. A document on which they have no item in common keeps its truth and has no
    value, so that it counts as left out."""
    both = ~np.isnan(reference) & ~np.isnan(said)
    some = both.any(axis=1, keepdims=True)
    return np.where(both | ~some, reference, np.nan), np.where(some, np.nan_to_num(said), np.nan)


def raters(store: Store, run_id: str, codebook: Codebook, documents: Sequence[str]) -> dict[str, Grid]:
    """What each rater of the gold says of the run's ``documents``, by name; nothing of those that are no test."""
    fit = tests(store, run_id, documents)[:, None]
    names = store.evaluations.raters()
    said = {name: one(store, run_id, codebook, str(AnnotationSource("gold", name)), len(documents)) for name in names}
    return {name: np.where(fit, grid, np.nan) for name, grid in said.items()}


def values_of(codebook: Codebook) -> list[str]:
    """The JSON texts of what an item can be, in the order of their codes; empty for ratings, which are numbers."""
    match codebook.kind:
        case "rating":
            return []
        case "multilabel":
            return ["false", "true"]
        case "choice":
            return [dump(label.id) for label in codebook.labels]


def median_of(said: Sequence[Grid], documents: Sequence[str], codebook: Codebook) -> Grid:
    """The median of those who gave a value, cell by cell; NaN where nobody did."""
    if not said:
        return np.full((len(documents), len(codebook.items)), np.nan)
    stack = np.stack(said)
    known = ~np.isnan(stack).all(axis=0)
    middle = np.full(stack.shape[1:], np.nan)
    middle[known] = np.nanmedian(stack[:, known], axis=0)
    return middle
