"""Repeated runs of one experiment: variation of a score, and the documents that cause it.

Models answer differently when called again, so a single run is weak evidence about a system. The ECJ paper repeats each
run five times and analyses the errors that occur in all five (Maada et al. 2025, ECJ-LLM, sections 5.1 and 5.4).
The difference rate of ambiguous documents is that of *Courtroom-LLM*, section 4.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from core.codebook import Kind
from core.documents import Value
from core.stats.arrays import Codes, Mask, check_shapes, is_right, ratings
from core.stats.intervals import Estimate, Interval, t_quantile
from core.stats.metric_intervals import RANGES, Design, Shape, ratio

Consistency: TypeAlias = Literal["right", "inconsistent", "wrong", "unresolved"]
CONSISTENCIES: tuple[Consistency, ...] = ("right", "inconsistent", "wrong", "unresolved")
"""Classes of documents: right in all iterations, in some, in none, or without a value in at least one.

``Stability.documents`` holds indices into this tuple.
"""


@dataclass(frozen=True, slots=True)
class Repeated:
    """Score over iterations, in its own unit."""

    n: int
    """Iterations with the score."""
    missing: int
    """Iterations where it is undefined."""
    mean: float | None
    """None when n is 0."""
    sd: float | None
    """Standard deviation of the sample (n - 1); None under two iterations."""
    interval: Interval | None
    """Interval of the mean within the range of the score, Student's t with n - 1 degrees of freedom; None under two
    iterations.

    Its width is 0 if all are equal, which shows that the runs repeat each other and not that the score is exact.
    """
    low: float | None
    high: float | None
    """The smallest and the largest."""


def repeated(scores: Sequence[float | None], shape: Shape = "signed") -> Repeated:
    """Return mean, standard deviation and interval of the scores of iterations, None or NaN for an undefined score.

    ``shape`` is that of the metric, whose range limits the interval.
    """
    values = ratings(np.array(scores, dtype=np.float64))
    defined = values[~np.isnan(values)]
    n, missing = len(defined), len(values) - len(defined)
    if not n:
        return Repeated(0, missing, None, None, None, None, None)
    mean, low, high = float(defined.mean()), float(defined.min()), float(defined.max())
    sd = interval = None
    if n > 1:
        sd = float(defined.std(ddof=1)) if high > low else 0.0
        half = t_quantile(n - 1) * sd / float(np.sqrt(n))
        lowest, highest = RANGES[shape]
        interval = Interval(max(lowest, mean - half), min(highest, mean + half))
    return Repeated(n, missing, mean, sd, interval, low, high)


@dataclass(frozen=True, slots=True, eq=False)
class Stability:
    """Stability of documents over iterations. A document is right in an iteration if all its gold labels are right."""

    iterations: int
    counts: Mapping[Consistency, int]
    """Documents with gold by class; with one iteration none can be inconsistent."""
    labels: Mapping[str, Mapping[Consistency, int]]
    """The same for the cells of each label."""
    documents: Codes
    """``[document]``: index into ``CONSISTENCIES``, -1 without gold."""
    cells: Codes
    """``[document, label]``: index into ``CONSISTENCIES``, -1 without gold."""
    inconsistent: Estimate
    """Share of the documents with gold that are inconsistent."""
    unanimous: Estimate
    """Share of cells (with gold or without) on which all iterations with a value agree; None for fewer than two
    iterations and without a cell that two of them have a value for
."""


def stability(
    reference: npt.ArrayLike,
    predicted: Sequence[npt.ArrayLike],
    labels: Sequence[str],
    *,
    kind: Kind = "multilabel",
    design: Design | None = None,
    groups: Codes | None = None,
) -> Stability:
    """Return the classes of documents and cells from values ``[document, label]``, NaN for none.

    Ratings are right less than a point off, and agree less than a point apart. ``design`` and ``groups`` as for
    ``debate_rounds.rounds``. Raises ValueError for shapes that differ.
    """
    gold = ratings(reference)
    grids = np.stack([ratings(grid) for grid in predicted])
    check_shapes(gold, grids[0])
    has_gold, has_value = ~np.isnan(gold), ~np.isnan(grids)
    right = is_right(gold, grids, kind=kind)
    cells = _consistency(right, np.all(has_value, axis=0), has_gold)
    # Labels without gold do not count for or against the document.
    all_right: Mask = np.all(right | ~has_gold, axis=2)
    is_complete: Mask = np.all(has_value | ~has_gold, axis=(0, 2))
    documents = _consistency(all_right, is_complete, np.any(has_gold, axis=1))
    comparable = has_value.sum(axis=0) >= 2
    lowest, highest = np.where(has_value, grids, np.inf).min(axis=0), np.where(has_value, grids, -np.inf).max(axis=0)
    is_unanimous = comparable & is_right(lowest, highest, kind=kind)
    return Stability(
        iterations=len(grids),
        counts=_counted(documents),
        labels={label: _counted(cells[:, column]) for column, label in enumerate(labels)},
        documents=documents,
        cells=cells,
        inconsistent=ratio(documents == 1, documents >= 0, design or Design()),
        unanimous=ratio(is_unanimous.sum(axis=1), comparable.sum(axis=1), Design(groups=groups)),
    )


def _consistency(right: Mask, complete: Mask, judged: Mask) -> Codes:
    places = np.where(right.all(axis=0), 0, np.where(right.any(axis=0), 1, 2))
    return np.where(judged, np.where(complete, places, 3), -1).astype(np.int64)


def _counted(codes: Codes) -> dict[Consistency, int]:
    return {name: int((codes == code).sum()) for code, name in enumerate(CONSISTENCIES)}


def difference_rate(answers: Sequence[Value], requests: int) -> float:
    """Return (count of the most common answer - count of the second one) / ``requests``, from 0 to 1.

    ``requests`` includes unreadable answers, which make a document more ambiguous. 0 if no answer could be read.
    """
    first, second = (*(count for _, count in Counter(answers).most_common(2)), 0, 0)[:2]
    return (first - second) / requests
