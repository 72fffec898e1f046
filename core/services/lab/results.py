"""Effect of a change on paired runs: their comparison as on Compare, and the effect on each document. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from core.codebook import Codebook
from core.documents import Value
from core.stats.arrays import Codes, Numbers
from core.stats.comparison import Pair, Side, compare_annotators
from core.stats.flips import Tally
from core.stats.intervals import FEW_DOCUMENTS, Estimate
from core.stats.metric_intervals import Design
from core.store.annotations import decode_value

Effect: TypeAlias = Literal["regressed", "mixed", "corrected", "changed", "wrong", "same"]
EFFECT_ORDER: tuple[Effect, ...] = ("regressed", "mixed", "corrected", "changed", "wrong", "same")
"""Reading order. The first three are an ``Outcome``, as on Compare.

``changed`` has another value and is neither corrected nor regressed: as right or wrong as before, without a reference,
or without a complete verdict in one of the runs. ``wrong`` and ``same`` have the same values, with and without a wrong
one.
"""


@dataclass(frozen=True, slots=True)
class CellChange:
    """A label (or dimension, or the choice) of one document whose value changed; None is an unresolved value."""

    item: str
    before: Value | None
    after: Value | None
    reference: Value | None
    effect: Literal["corrected", "regressed", "changed"]


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """A document with those of its labels that changed."""

    document_id: str
    effect: Effect
    cells: tuple[CellChange, ...]
    excerpt: str = ""
    """Beginning of the text."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """Effect of a change on documents of two runs."""

    documents: tuple[DocumentResult, ...]
    before: Estimate
    """Main score of the run before the change."""
    after: Estimate
    comparison: Pair
    """The run after the change against the one before it."""

    @property
    def labelled(self) -> int:
        """Documents with a reference, scored or without a complete verdict in one of the runs."""
        return self.comparison.scores.n + self.comparison.scores.excluded

    @property
    def cells(self) -> Tally:
        """Corrected and regressed labels; a choice is one."""
        return self.comparison.flip_table.whole.total

    def count(self, effect: Effect) -> int:
        """Return the number of documents with this effect."""
        return sum(document.effect == effect for document in self.documents)

    @property
    def is_unchanged(self) -> bool:
        """True if no document has another value."""
        return not any(document.effect in EFFECT_ORDER[:4] for document in self.documents)

    @property
    def sentence(self) -> str:
        """One-line conclusion that claims no more than interval and test support."""
        if self.is_unchanged:
            return "Nothing changed."
        return self.comparison.sentence

    @property
    def few(self) -> bool:
        """True if there are too few scored documents for a reliable score."""
        return self.comparison.scores.n < FEW_DOCUMENTS


def trial_result(
    documents: Sequence[str],
    reference: Numbers,
    before: Side,
    after: Side,
    codebook: Codebook,
    groups: Codes | None = None,
) -> TrialResult:
    """Return the effect of a change on the same documents.

    Values are ``[document, item]`` for this codebook, NaN for a missing value. Documents with equal codes in
    ``groups``, ``[document]``, depend on each other.
    """
    compared = compare_annotators(codebook, reference, [before, after], Design(groups=groups))
    first, second = compared.scores
    (pair,) = compared.pairs
    old_values, new_values = before.verdicts, after.verdicts
    moved = ~((old_values == new_values) | (np.isnan(old_values) & np.isnan(new_values)))
    effects = np.select([*pair.changes[:2]], ["corrected", "regressed"], "changed").tolist()
    outcomes = pair.changes.outcomes
    unchanged = np.select([moved.any(axis=1), outcomes == "wrong"], ["changed", "wrong"], "same")
    document_effects = np.where(np.isin(outcomes, EFFECT_ORDER[:3]), outcomes, unchanged).tolist()
    document_results = []
    for row, document in enumerate(documents):
        cells = tuple(
            CellChange(
                item,
                decode_value(codebook, old_values[row, column]),
                decode_value(codebook, new_values[row, column]),
                decode_value(codebook, reference[row, column]),
                effects[row][column],
            )
            for column, item in enumerate(codebook.items)
            if moved[row, column]
        )
        document_results.append(DocumentResult(document, document_effects[row], cells))
    document_results.sort(key=lambda result: EFFECT_ORDER.index(result.effect))
    return TrialResult(tuple(document_results), first.main, second.main, pair)
