"""Effect of a change on paired runs: documents fixed, broken and unchanged, per label, with paired intervals. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from core.codebook import Codebook, Kind
from core.documents import Value
from core.formatting import join_names
from core.services.evaluation import run_data
from core.services.evaluation.run_data import Grid
from core.stats import scoring
from core.stats.arrays import Codes, Mask
from core.stats.debate_rounds import is_right
from core.stats.intervals import FEW_DOCUMENTS, Estimate
from core.stats.metric_intervals import Design
from core.stats.significance import ALPHA, holm, mcnemar_of
from core.store.annotations import decode_value

Effect: TypeAlias = Literal["broken", "fixed", "changed", "wrong", "same"]
EFFECT_ORDER: tuple[Effect, ...] = ("broken", "fixed", "changed", "wrong", "same")
"""Reading order. ``changed`` has another value, as right or wrong as before or without a reference.

``wrong`` and ``same`` have the same values, with and without a wrong one.
"""


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
        return bool(self.change.clear) and self.adjusted is not None and self.adjusted < ALPHA


@dataclass(frozen=True, slots=True)
class TrialResult:
    """Effect of a change on documents of two runs.

    ``n`` documents have a reference. Scores are macro F1, for ratings the share of correct values; None if undefined.
    """

    documents: tuple[DocumentResult, ...]
    labels: tuple[LabelResult, ...]
    n: int
    left_out: int
    """Labelled documents without a complete verdict in one of the runs; neither score counts them."""
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
            parts.append(f"No significant difference on {'the other labels' if parts else 'any label'}.")
        return " ".join(parts)

    @property
    def few(self) -> bool:
        """True if there are too few labelled documents for a reliable score."""
        return self.n < FEW_DOCUMENTS


def compare_grids(
    documents: Sequence[str],
    reference: Grid,
    before: Grid,
    after: Grid,
    codebook: Codebook,
    groups: Codes | None = None,
) -> TrialResult:
    """Compare two runs on the same documents.

    Grids are ``[document, item]`` as ``grids`` makes them for this codebook, with NaN for a missing value. Documents
    with equal codes in ``groups``, ``[document]``, depend on each other.
    """
    known = ~np.isnan(reference)
    was, now = (is_right(reference, own, measured=codebook.kind == "rating") for own in (before, after))
    moved = ~((before == after) | (np.isnan(before) & np.isnan(after)))
    found = []
    for row, document in enumerate(documents):
        cells = tuple(
            CellChange(
                item,
                decode_value(codebook, before[row, column]),
                decode_value(codebook, after[row, column]),
                decode_value(codebook, reference[row, column]),
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
    complete = ~(np.isnan(before) | np.isnan(after)).any(axis=1, keepdims=True)
    paired = [np.where(complete, own, np.nan) for own in (before, after)]
    kind, key, (true, *each) = comparable_codes(codebook, reference, *paired)
    design = Design(groups=groups)
    change = scoring.difference(kind, true, each[0], each[1], codebook.names, design=design)
    scores = [scoring.score(kind, true, own, codebook.names, design=design)[key] for own in each]
    labelled = known.any(axis=1)
    right = [_per_label(own, reference, codebook) for own in (was, now)]
    tests = [mcnemar_of(np.where(labelled, 1, -1), *pair, groups=groups) for pair in zip(*right, strict=True)]
    per_label = "recall" if codebook.kind == "rating" else "f1"
    labels = tuple(
        LabelResult(
            label.name, label.colour, test.only_second, test.only_first, change.labels[label.name][per_label], p
        )
        for label, test, p in zip(codebook.labels, tests, holm([test.p for test in tests]), strict=True)
    )
    return TrialResult(tuple(found), labels, int(labelled.sum()), change.excluded, scores[0], scores[1], change[key])


def comparable_codes(
    codebook: Codebook, reference: Grid, *annotations: Grid
) -> tuple[Kind, str, Sequence[npt.NDArray[Any]]]:
    """Return the kind and the key of the main score, and the reference and annotations to score.

    Ratings are scored as right or wrong, as if every dimension were a label that is present.
    """
    if codebook.kind == "rating":
        return "multilabel", "accuracy", run_data.coded(reference, *annotations, measured=True)
    return codebook.kind, "macro_f1", (reference, *annotations)


def _per_label(right: Mask, reference: Grid, codebook: Codebook) -> Codes:
    """Return 1 where the label is right, ``[label, document]``; for a choice, where it is also the correct one."""
    if codebook.kind == "choice":
        right = right & (reference == np.arange(len(codebook.labels)))
    return right.T.astype(np.int64)


def _effect(known: bool, was: bool, now: bool) -> Effect:
    if not known or was == now:
        return "changed"
    return "fixed" if now else "broken"
