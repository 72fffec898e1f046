"""Estimates for all documents from reviewed ones that were drawn with known probabilities.

Documents are drawn one after another. Before draw t, the values of the documents decided so far are known, and those of
the others are not. The next document i is drawn from the undecided with a known probability q_t(i), which may depend on
everything that was learned so far. Then

    z_t = (sum of z over the decided + z_i / q_t(i)) / N

is an estimate of the mean of z over all N documents. It is unbiased whatever the queue selected and learned, because
its error given the past is zero on average. The mean of these over all draws is unbiased as well. Errors given the past
do not correlate, so their spread gives the variance (Des Raj 1956, J. Am. Stat. Assoc. 51; for probabilities that a
model adapts: Farquhar, Gal and Rainforth 2021, *On statistical bias in active learning*, section 3, R_PURE). In other
words, each reviewed document has a weight from its selection probability. A document without a known probability, such
as one that a person picked, counts as decided and represents itself. With equal probabilities it is the mean of a
random sample with its finite population correction.

The review queue draws with probabilities in proportion to *sizes* (``draw_sizes``), which put documents first whose
verdict is likely to be wrong or to count much. It orders the documents by ``-ln(u) / size`` with u uniform, which is
the same as drawing one after another (successive sampling: Rosen 1972, Ann. Math. Stat. 43). Sizes are fixed for a
*frame* of draws, and recorded before it. When much was learned, a new frame follows for the documents that are left,
with sizes that may depend on all values seen. Documents that a reviewer skipped are treated as not drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Self

import numpy as np
import numpy.typing as npt

from core.stats.arrays import TINY, Mask, Numbers
from core.stats.intervals import Estimate

MIN_DRAWS = 5
"""Minimum number of random draws for an interval."""
MIN_EVEN = 0.1
"""Minimum part of the draws that is spread evenly over all documents: nobody knows in advance where errors are."""
_DOUBT_SHARE = 1 / 3  # of the uneven part, the part of documents with a reason for doubt
_RARITY_POWER = 0.2  # a label with a 16th of the documents has 16 ** _RARITY_POWER times the part per document set


def draw_sizes(predicted: npt.ArrayLike, doubted: npt.ArrayLike, even: float) -> Numbers:
    """Return the size of each document in a draw with probabilities in proportion to size, ``[document]``, sum 1.

    ``predicted`` is ``[document, label]``: True where the verdict has the label. ``doubted`` is ``[document, reason]``:
    True where the reason for doubt holds. The part ``even`` (at least MIN_EVEN, at most 1) is spread evenly. A third of
    the rest goes to the documents in doubt and two thirds to those with a label, so that few positives do not escape;
    rarer labels and reasons get more per document. ValueError for another part or without documents.
    """
    if not MIN_EVEN <= even <= 1:
        raise ValueError(f"an even part of {even}, not {MIN_EVEN} to 1")
    columns = [np.asarray(side, dtype=np.float64) for side in (doubted, predicted)]
    if not len(columns[0]):
        raise ValueError("no documents")
    sizes = np.full(len(columns[0]), even / len(columns[0]))
    parts = [(1 - even) * part for part in (_DOUBT_SHARE, 1 - _DOUBT_SHARE)]
    for part, side in zip(parts, columns, strict=True):
        counts = side.sum(axis=0)
        used = counts > 0
        if not used.any():
            sizes += part / len(sizes)
            continue
        shares = counts[used] ** -_RARITY_POWER
        sizes += part * (side[:, used] / counts[used]) @ (shares / shares.sum())
    return sizes


@dataclass(frozen=True, slots=True, eq=False)
class WeightedSample:
    """Reviewed documents in the order of their decisions.

    ``probabilities`` is ``[document]``: the chance with which each was selected as the next one, given the documents
    that were undecided then; 0 for a document without a known chance, such as one that a person picked. ``population``
    is the number of all documents. ValueError if more documents are reviewed than exist.
    """

    probabilities: Numbers
    population: int

    def __post_init__(self) -> None:
        if len(self.probabilities) > self.population:
            raise ValueError(f"{len(self.probabilities)} reviewed of {self.population}")

    @classmethod
    def of_draws(cls, order: npt.ArrayLike, sizes: Sequence[Numbers | None], population: int) -> Self:
        """Return the sample of documents that were drawn in proportion to size from the undecided ones.

        ``order`` holds the document (0 to population - 1) of each decision, and ``sizes`` the sizes of all documents
        in its draw (decisions of one frame share the array), None for a document without a known probability.
        """
        rows = np.asarray(order, dtype=np.int64)
        probabilities = np.zeros(len(rows))
        for frame in {id(array): array for array in sizes if array is not None}.values():
            drawn = np.array([array is frame for array in sizes], dtype=np.bool_)
            row_sizes = frame[rows]
            remaining = frame.sum() - (np.cumsum(row_sizes) - row_sizes)
            probabilities[drawn] = np.minimum(1.0, row_sizes[drawn] / np.maximum(remaining[drawn], row_sizes[drawn]))
        return cls(probabilities, population)

    @property
    def draws(self) -> Mask:
        """Documents with a known probability, ``[document]``."""
        return self.probabilities > 0

    @property
    def is_even(self) -> Mask:
        """Documents that were drawn with the same probability as every other undecided one, ``[document]``."""
        undecided = self.population - np.arange(len(self.probabilities))
        return np.asarray(np.abs(self.probabilities * undecided - 1) < 1e-6)

    @property
    def drawn(self) -> int:
        """Number of random draws."""
        return int(self.draws.sum())

    def estimates(self, z: npt.ArrayLike) -> Numbers:
        """Return each draw's estimate of the mean of ``z`` (``[document, ...]``) over all documents, ``[draw, ...]``.

        If all documents are reviewed, every estimate is the exact mean.
        """
        values = np.asarray(z, dtype=np.float64)
        if self.complete:
            return np.repeat(values.mean(axis=0, keepdims=True), max(MIN_DRAWS, self.drawn), axis=0)
        before = np.cumsum(values, axis=0) - values
        shape = (-1,) + (1,) * (values.ndim - 1)
        weighted = values[self.draws] / self.probabilities[self.draws].reshape(shape)
        estimates: Numbers = (before[self.draws] + weighted) / self.population
        return estimates

    @property
    def complete(self) -> bool:
        """True if all documents are reviewed and there is at least one."""
        return 0 < len(self.probabilities) == self.population

    @property
    def weights(self) -> Numbers:
        """Weights ``[document]``: the number of documents that each represents. They sum to about the population."""
        if self.complete:
            return np.ones(self.population)
        after = self.drawn - np.cumsum(self.draws)
        inverse = np.divide(1.0, self.probabilities, out=np.zeros(len(self.draws)), where=self.draws)
        return np.asarray((after + inverse) / max(1, self.drawn), dtype=np.float64)

    @property
    def share_per_draw(self) -> float:
        """Mean share of all documents that a draw represents."""
        return float((1 / self.probabilities[self.draws]).mean()) / self.population if self.drawn else 0.0


def kept_mean(
    sample: WeightedSample, reference: Numbers, predicted: npt.ArrayLike = 0.0, over_all: float = 0.0
) -> tuple[float, float]:
    """Return the mean of ``reference`` over the documents that would be kept, and their share of all documents.

    A discarded document has the reference NaN. The number of kept ones is estimated, too, which makes the mean a ratio
    (the estimator of a domain: Särndal, Swensson and Wretman, Model Assisted Survey Sampling, 1992, chapter 10).
    ``predicted`` values of the reviewed documents, with their mean ``over_all`` documents, reduce the error. The sample
    must have draws or be complete.
    """
    kept = max(TINY, float(kept_shares(sample, reference).mean()))
    errors = sample.estimates(np.where(np.isnan(reference), 0.0, reference) - predicted)
    return (over_all + float(errors.mean())) / kept, kept


def kept_shares(sample: WeightedSample, reference: Numbers) -> Numbers:
    """Return each draw's estimate of the share of documents that would be kept, ``[draw]``; 1 if none is discarded."""
    is_kept = ~np.isnan(reference)
    shares = sample.estimates(is_kept)
    return np.ones_like(shares) if is_kept.all() else shares


def draws_needed(sample: WeightedSample, width: float, now: Estimate) -> int | None:
    """Return about how many more draws give an interval of this width (high end minus low end).

    This assumes that further draws resemble the present ones. 0 if the interval is that narrow already. None without
    an interval now.
    """
    if now.interval is None:
        return None
    current_width = now.interval.high - now.interval.low
    if current_width <= width:
        return 0
    unreviewed = sample.population - len(sample.probabilities)
    drawn = sample.drawn
    spread = 1 / drawn - 1 / (drawn + unreviewed)  # the variance falls as 1/n - 1/N, to nothing when all are reviewed
    wanted = spread * (width / current_width) ** 2 + 1 / (drawn + unreviewed)
    return min(unreviewed, ceil(1 / wanted) - drawn)
