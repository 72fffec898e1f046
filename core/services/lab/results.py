"""Effect of a change on paired runs: documents fixed, broken and unchanged, per label, with paired intervals. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from core.codebook import Codebook
from core.documents import Value
from core.formatting import join_names
from core.stats import metrics
from core.stats.intervals import Estimate
from core.stats.significance import holm, mcnemar

Grid: TypeAlias = npt.NDArray[np.float64]
Effect: TypeAlias = Literal["broken", "fixed", "changed", "wrong", "same"]
EFFECT_ORDER: tuple[Effect, ...] = ("broken", "fixed", "changed", "wrong", "same")
"""Reading order. ``changed`` has another value and no reference, ``wrong`` is as wrong as before."""
FEW_DOCUMENTS = 20
"""Number of labelled documents below which a score is unreliable."""


@dataclass(frozen=True, slots=True)
class CellChange:
    """A label (or dimension, or the choice) of one document whose value changed; None is an unresolved value."""

    item: str
    before: Value | None
    after: Value | None
    reference: Value | None
    effect: Effect


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """A document: broken if any of its labels was, else fixed if any was."""

    document_id: str
    effect: Effect
    cells: tuple[CellChange, ...]
    excerpt: str = ""
    """Beginning of the text."""


@dataclass(frozen=True, slots=True)
class LabelResult:
    """One label over all documents: fixed and broken cells, and the change in F1 from -1 to 1.

    For ratings, the change is that of the share of correct values.
    """

    name: str
    colour: int
    fixed: int
    broken: int
    change: Estimate
    adjusted: float | None
    """p of McNemar's test on the cells after Holm's correction over the labels"""

    @property
    def clear(self) -> bool:
        """True if the interval of the change excludes 0 and the adjusted test is significant."""
        return bool(self.change.clear) and self.adjusted is not None and self.adjusted < 0.05


@dataclass(frozen=True, slots=True)
class TrialResult:
    """Effect of a change on documents of two runs.

    ``n`` documents have a reference. Scores are macro F1, for ratings the share of correct values; None if undefined.
    """

    documents: tuple[DocumentResult, ...]
    labels: tuple[LabelResult, ...]
    n: int
    left_out: int
    """Documents without a verdict in one of the runs; no score counts them."""
    before: Estimate
    after: Estimate
    change: Estimate

    def count(self, effect: Effect) -> int:
        """Return the number of documents with this effect."""
        return sum(document.effect == effect for document in self.documents)

    @property
    def sentence(self) -> str:
        """One-line conclusion that claims no more than the intervals support."""
        if not any(document.effect in ("broken", "fixed", "changed") for document in self.documents):
            return "Nothing changed."
        if not self.n:
            return "No reference labels to compare with."
        clear = [label for label in self.labels if label.clear]
        better = [label.name for label in clear if (label.change.value or 0) > 0]
        worse = [label.name for label in clear if (label.change.value or 0) < 0]
        parts = [f"{word} on {join_names(names)}." for word, names in (("Better", better), ("Worse", worse)) if names]
        moved = [label for label in self.labels if label.fixed or label.broken]
        if len(clear) < len(moved) or not parts:
            parts.append("No significant difference on the other labels." if parts else "No significant difference.")
        return " ".join(parts)

    @property
    def few(self) -> bool:
        """True if there are too few labelled documents for a reliable score."""
        return self.n < FEW_DOCUMENTS


def compare_grids(
    documents: Sequence[str], reference: Grid, before: Grid, after: Grid, codebook: Codebook
) -> TrialResult:
    """Compare two runs on the same documents.

    Grids are ``[document, item]`` as ``grids`` makes them for this codebook, with NaN for a missing value.
    """
    known = ~np.isnan(reference)
    was, now = correct_cells(before, reference, codebook) & known, correct_cells(after, reference, codebook) & known
    moved = ~((before == after) | (np.isnan(before) & np.isnan(after)))
    found = []
    for row, document in enumerate(documents):
        cells = tuple(
            CellChange(
                item,
                _value(before[row, column], codebook),
                _value(after[row, column], codebook),
                _value(reference[row, column], codebook),
                _effect(bool(known[row, column]), bool(was[row, column]), bool(now[row, column])),
            )
            for column, item in enumerate(codebook.items)
            if moved[row, column]
        )
        effects = {cell.effect for cell in cells}
        still: Effect = "wrong" if (known[row] & ~now[row]).any() else "same"
        effect: Effect = next((each for each in EFFECT_ORDER[:3] if each in effects), still)
        found.append(DocumentResult(document, effect, cells))
    found.sort(key=lambda one: EFFECT_ORDER.index(one.effect))
    return _score_changes(tuple(found), reference, before, after, codebook, was & ~now, now & ~was)


def _score_changes(
    documents: tuple[DocumentResult, ...],
    reference: Grid,
    before: Grid,
    after: Grid,
    codebook: Codebook,
    broken: npt.NDArray[np.bool_],
    fixed: npt.NDArray[np.bool_],
) -> TrialResult:
    names = codebook.names
    n = int((~np.isnan(reference)).any(axis=1).sum())
    if codebook.kind == "rating":
        hit = [
            np.where(np.isnan(values), -1, correct_cells(values, reference, codebook)).astype(np.int64)
            for values in (before, after)
        ]
        sure = np.where(np.isnan(reference), -1, 1)
        change = metrics.difference("multilabel", sure, hit[0], hit[1], names)
        each = [metrics.score("multilabel", sure, predicted, names)["accuracy"] for predicted in hit]
        per = [label["recall"] for label in change.labels.values()]
        whole = change["accuracy"]
    else:
        change = metrics.difference(codebook.kind, reference, before, after, names)
        each = [metrics.score(codebook.kind, reference, predicted, names)["macro_f1"] for predicted in (before, after)]
        per = [label["f1"] for label in change.labels.values()]
        whole = change["macro_f1"]
    counts = [_per_label(flags, reference, codebook) for flags in (fixed, broken)]
    adjusted = holm([mcnemar(lost, gained, max(n, lost + gained)).p for gained, lost in zip(*counts, strict=True)])
    labels = tuple(
        LabelResult(label.name, label.colour, counts[0][place], counts[1][place], per[place], adjusted[place])
        for place, label in enumerate(codebook.labels)
    )
    return TrialResult(documents, labels, n, change.excluded, each[0], each[1], whole)


def correct_cells(values: Grid, reference: Grid, codebook: Codebook) -> npt.NDArray[np.bool_]:
    """Return which values are correct; a rating is if it is less than one point off (``core.annotations.differs``)."""
    right: npt.NDArray[np.bool_] = np.abs(values - reference) < 1 if codebook.kind == "rating" else values == reference
    return right


def _per_label(flags: npt.NDArray[np.bool_], reference: Grid, codebook: Codebook) -> list[int]:
    """Return the flagged cells per label; for a choice, per correct label."""
    if codebook.kind != "choice":
        return [int(count) for count in flags.sum(axis=0)]
    return [int((flags[:, 0] & (reference[:, 0] == place)).sum()) for place in range(len(codebook.labels))]


def _effect(known: bool, was: bool, now: bool) -> Effect:
    if not known:
        return "changed"
    if was != now:
        return "fixed" if now else "broken"
    return "wrong"


def _value(cell: np.float64, codebook: Codebook) -> Value | None:
    if np.isnan(cell):
        return None
    match codebook.kind:
        case "multilabel":
            return bool(cell)
        case "choice":
            return codebook.labels[int(cell)].id
        case "rating":
            return float(cell) if cell % 1 else int(cell)
