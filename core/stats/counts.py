"""Counts of a yes-or-no label, and the scores derived from them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counts:
    """True positives, false positives, false negatives and true negatives of one label over documents.

    All scores are shares from 0 to 1, None where they are undefined. Raises ValueError for a negative count.
    """

    tp: int = 0
    """present in the gold and predicted"""
    fp: int = 0
    """absent in the gold, predicted"""
    fn: int = 0
    """present in the gold, not predicted"""
    tn: int = 0
    """absent in the gold and not predicted"""

    def __post_init__(self) -> None:
        if min(self.tp, self.fp, self.fn, self.tn) < 0:
            raise ValueError(f"a count cannot be negative: {self}")

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn, self.tn + other.tn)

    @property
    def n(self) -> int:
        """Number of compared cells."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def positives(self) -> int:
        """Number of cells present in the gold (the label's support)."""
        return self.tp + self.fn

    @property
    def predicted(self) -> int:
        """Number of cells predicted as present."""
        return self.tp + self.fp

    @property
    def wrong(self) -> int:
        """Number of wrong cells."""
        return self.fp + self.fn

    @property
    def accuracy(self) -> float | None:
        """Share of right cells, (tp + tn) / n; None if nothing was compared."""
        return (self.tp + self.tn) / self.n if self.n else None

    @property
    def precision(self) -> float | None:
        """Precision, tp / (tp + fp).

        If nothing was predicted: 0 with positives (scikit-learn's ``zero_division=0``, so that the macro mean and F1
        agree with it), None without positives.
        """
        if self.predicted:
            return self.tp / self.predicted
        return 0.0 if self.positives else None

    @property
    def recall(self) -> float | None:
        """Recall, tp / (tp + fn); None without positives."""
        return self.tp / self.positives if self.positives else None

    @property
    def f1(self) -> float | None:
        """F1, 2 tp / (2 tp + fp + fn), the harmonic mean of precision and recall; None without positives.

        (With false positives only, the formula would give 0. Without positives F1 is left undefined, and the label out
        of the macro mean.)
        """
        return 2 * self.tp / (2 * self.tp + self.wrong) if self.positives else None
