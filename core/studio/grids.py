"""A run's values as arrays, for statistics that counts alone do not give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.codebook import Codebook
from core.store.rows import dump
from core.store.store import Store

Truth: TypeAlias = Literal["gold", "reviewed"]
Grid: TypeAlias = npt.NDArray[np.float64]
"""``[document, item]``, NaN for no value: 1 and 0 in a multilabel codebook, a label's index in a choice, a rating."""


@dataclass(frozen=True, slots=True, eq=False)
class Grids:
    """What the truth and each annotator of a run say, in the order of ``documents`` and of the codebook's items."""

    documents: tuple[str, ...]
    truth: Grid
    said: Mapping[str, Grid]

    def of(self, annotator: str) -> Grid:
        """An annotator's values; nothing but NaN for one that said nothing."""
        return self.said.get(annotator, np.full_like(self.truth, np.nan))


def load(store: Store, run_id: str, codebook: Codebook, annotators: Sequence[str], truth: Truth = "gold") -> Grids:
    """The documents of the run, their truth, and what was said.

    The truth of several raters is what most of them say, nothing on a tie, and of ratings their mean.
    """
    documents = tuple(store.runs.document_ids(run_id))
    table = store.evaluations.values(run_id)
    said = {
        name: grid_of(table.filter(pc.equal(table["annotator"], pa.scalar(name))), documents, codebook)
        for name in annotators
    }
    source = store.evaluations.gold_values() if truth == "gold" else store.evaluations.reviewed_values()
    if codebook.kind == "rating":
        return Grids(
            documents, mean_of(list(_by_annotator(source, documents, codebook).values()), documents, codebook), said
        )
    return Grids(documents, grid_of(_agreed(source), documents, codebook), said)


def raters(store: Store, documents: Sequence[str], codebook: Codebook) -> dict[str, Grid]:
    """What each rater of the gold says of these documents, by name."""
    return _by_annotator(store.evaluations.gold_values(), documents, codebook)


def mean_of(said: Sequence[Grid], documents: Sequence[str], codebook: Codebook) -> Grid:
    """The mean of those who gave a value, cell by cell; NaN where nobody did."""
    return _middle(np.nanmean, said, documents, codebook)


def median_of(said: Sequence[Grid], documents: Sequence[str], codebook: Codebook) -> Grid:
    """The median of those who gave a value, cell by cell; NaN where nobody did."""
    return _middle(np.nanmedian, said, documents, codebook)


def _middle(reduce: Callable[..., Any], said: Sequence[Grid], documents: Sequence[str], codebook: Codebook) -> Grid:
    if not said:
        return np.full((len(documents), len(codebook.items)), np.nan)
    stack = np.stack(said)
    known = ~np.isnan(stack).all(axis=0)
    middle = np.full(stack.shape[1:], np.nan)
    middle[known] = reduce(stack[:, known], axis=0)
    return middle


def _by_annotator(table: pa.Table, documents: Sequence[str], codebook: Codebook) -> dict[str, Grid]:
    names = sorted(map(str, pc.unique(table["annotator"]).to_pylist()))
    return {
        name: grid_of(table.filter(pc.equal(table["annotator"], pa.scalar(name))), documents, codebook)
        for name in names
    }


def grid_of(table: pa.Table, documents: Sequence[str], codebook: Codebook) -> Grid:
    """Rows of (document_id, item, value as JSON text) as a grid; documents, items and labels not asked for are
    passed over."""
    grid = np.full((len(documents), len(codebook.items)), np.nan)
    if not table.num_rows:
        return grid
    rows = _places(table["document_id"], documents)
    columns = _places(table["item"], codebook.items)
    if codebook.kind == "rating":
        values = pc.cast(table["value"], pa.float64()).to_numpy()
    else:
        known = ["false", "true"] if codebook.kind == "multilabel" else [dump(label.id) for label in codebook.labels]
        values = _places(table["value"], known).astype(np.float64)
        values[values < 0] = np.nan
    used = (rows >= 0) & (columns >= 0)
    grid[rows[used], columns[used]] = values[used]
    return grid


def _places(column: Any, among: Sequence[str]) -> npt.NDArray[np.int64]:
    """The index of each cell in ``among``, -1 where it is not there."""
    found = pc.fill_null(pc.index_in(column, value_set=pa.array(list(among), pa.string())), -1)
    places: npt.NDArray[np.int64] = found.to_numpy().astype(np.int64)
    return places


def _agreed(table: pa.Table) -> pa.Table:
    """One value for each document and item: the only one, or what most raters say."""
    if pc.count_distinct(table["annotator"]).as_py() < 2:
        return table
    votes: dict[tuple[str, str], Counter[str]] = {}
    for document, item, value in zip(
        *(table[name].to_pylist() for name in ("document_id", "item", "value")), strict=True
    ):
        votes.setdefault((document, item), Counter())[value] += 1
    rows = []
    for (document, item), counted in votes.items():
        first, *rest = counted.most_common(2)
        if not rest or first[1] > rest[0][1]:
            rows.append({"document_id": document, "item": item, "value": first[0]})
    schema = pa.schema([(name, pa.string()) for name in ("document_id", "item", "value")])
    return pa.Table.from_pylist(rows, schema=schema)
