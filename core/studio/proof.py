"""What the review proves: how right a run's verdicts are on all of its documents, and how common each label is."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from core.annotations import VERDICT
from core.codebook import Codebook
from core.evaluation import sampling
from core.evaluation.intervals import Estimate
from core.evaluation.sampling import Sample
from core.runs import RunRow
from core.store.annotators import REVIEWED
from core.studio import grids, queue
from core.studio.desk import Desk

WIDTH = 0.06
"""Of the interval that the page aims at: 3 points to either side."""

_Numbers: TypeAlias = npt.NDArray[np.float64]
_Stamp: TypeAlias = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class LabelProof:
    """One label over all documents. ``naive`` is the share (of a rating: the mean) that the verdicts say, ``sampled``
    what the reviewed documents alone say, ``powered`` what both say together (prediction-powered inference)."""

    id: str
    name: str
    colour: int
    right: Estimate
    f1: Estimate
    naive: float
    sampled: Estimate
    powered: Estimate


@dataclass(frozen=True, slots=True)
class Proof:
    """Estimates for ``documents``, those of the run that have a verdict, were not discarded, and lent no words to its
    codebook (``guarded``). ``reviewed`` of them were submitted, ``audits`` of these drawn at random.

    ``right`` is the share of labels on which verdict and person agree, ``f1`` the macro F1 (without a value for
    ratings). ``low`` and ``high`` are the ends of what ``naive``, ``sampled`` and ``powered`` are told in.
    """

    documents: int
    reviewed: int
    audits: int
    guarded: int
    share: float
    right: Estimate
    f1: Estimate
    labels: tuple[LabelProof, ...]
    sample: Sample | None
    low: float = 0.0
    high: float = 1.0

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return self.right.interval is not None

    @property
    def missing(self) -> int:
        """How many more audits a first interval takes."""
        return max(0, sampling.LEAST - self.audits)

    def more(self, width: float = WIDTH) -> int | None:
        """About how many further documents to review for an interval of ``right`` of this width, when the share of
        audits stays as it is; None while nothing can be said, or when nothing is left to chance."""
        audits = sampling.more(self.sample, width, self.right) if self.sample is not None else None
        if audits is None or (audits and self.share <= 0):
            return None
        left = self.documents - self.reviewed
        return min(left, ceil(audits / self.share)) if audits else 0


_kept: WeakKeyDictionary[Desk, dict[str, tuple[_Stamp, Proof]]] = WeakKeyDictionary()


def proof(desk: Desk, run: RunRow) -> Proof:
    """What is proven of a run now. Remembered until something is decided or a verdict comes."""
    stamp = (desk.store.events.last(), run.verdicts, str(queue.manner(desk).share))
    kept = _kept.setdefault(desk, {}).get(run.run_id)
    if kept is not None and kept[0] == stamp:
        return kept[1]
    found = _prove(desk, run)
    _kept[desk][run.run_id] = (stamp, found)
    return found


def _prove(desk: Desk, run: RunRow) -> Proof:
    codebook = run.settings.codebook
    share = queue.manner(desk).share
    values = grids.load(desk.store, run.run_id, codebook, [VERDICT], REVIEWED)
    guarded, discarded = set(desk.store.evaluations.guarded(run.run_id)), set(desk.store.learning.discarded())
    verdicts = values.of(VERDICT)
    place = {
        document: row
        for row, document in enumerate(values.documents)
        if document not in guarded and document not in discarded and not np.isnan(verdicts[row]).any()
    }
    whole = (values.truth == values.truth).all(axis=1)  # NaN is unlike itself
    reviewed = [
        (place[document], audit)
        for document, audit in desk.store.learning.chosen()
        if document in place and whole[place[document]]
    ]
    rows = np.array([row for row, _ in reviewed], dtype=np.int64)
    sample = Sample(np.array([audit for _, audit in reviewed], dtype=np.bool_), len(place))
    everything = _spread(codebook, verdicts[list(place.values())])
    truth, said = _spread(codebook, values.truth[rows]), _spread(codebook, verdicts[rows])
    labels = tuple(
        _label(codebook, column, sample, truth[:, column], said[:, column], float(everything[:, column].mean()))
        for column in range(len(codebook.labels))
        if len(place)
    )
    scale = codebook.scale
    return Proof(
        documents=len(place),
        reviewed=len(reviewed),
        audits=sample.drawn,
        guarded=len(guarded),
        share=share,
        right=sampling.share(sample, _right(values.truth[rows], verdicts[rows])),
        f1=_macro(codebook, sample, truth, said),
        labels=labels,
        sample=sample,
        low=float(scale.min) if scale else 0.0,
        high=float(scale.max) if scale else 1.0,
    )


def _label(codebook: Codebook, column: int, sample: Sample, y: _Numbers, f: _Numbers, naive: float) -> LabelProof:
    label = codebook.labels[column]
    step = 0.5 / (codebook.scale.max - codebook.scale.min) if codebook.scale else 0.5
    return LabelProof(
        id=label.id,
        name=label.name,
        colour=label.colour,
        right=sampling.share(sample, np.abs(y - f) < step),
        f1=Estimate(None, None) if codebook.kind == "rating" else sampling.ratio(sample, *_f1(y, f)),
        naive=naive,
        sampled=sampling.share(sample, y),
        powered=sampling.powered(sample, y, f, naive),
    )


def _f1(y: _Numbers, f: _Numbers) -> tuple[_Numbers, _Numbers]:
    """2 tp and 2 tp + fp + fn, document by document."""
    return 2 * y * f, y + f


def _macro(codebook: Codebook, sample: Sample, truth: _Numbers, said: _Numbers) -> Estimate:
    """Over the labels that the reviewed documents have, like the macro F1 of Evaluate."""
    if codebook.kind == "rating":
        return Estimate(None, None)
    present = [column for column in range(truth.shape[1]) if truth[:, column].any()]
    return sampling.average(sample, [_f1(truth[:, column], said[:, column]) for column in present])


def _right(truth: _Numbers, said: _Numbers) -> _Numbers:
    """The share of items on which both agree, document by document; ratings agree when they differ by less than half a
    step."""
    close = np.abs(truth - said) < 0.5
    return np.asarray(close.mean(axis=1) if len(close) else np.zeros(0), dtype=np.float64)


def _spread(codebook: Codebook, values: _Numbers) -> _Numbers:
    """``[document, label]`` from 0 to 1: a choice as one column a label, ratings with their scale from 0 to 1."""
    if codebook.kind == "choice":
        chosen = values[:, :1] == np.arange(len(codebook.labels))[None, :]
        return np.asarray(chosen, dtype=np.float64)
    if codebook.scale is not None:
        low, high = codebook.scale.min, codebook.scale.max
        return np.asarray((values - low) / (high - low), dtype=np.float64)
    return values
