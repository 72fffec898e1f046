"""Estimates of a run's accuracy and label prevalence over all documents, from the reviewed ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.codebook import Codebook, Scale
from core.runs import RunRow
from core.services.evaluation import annotation_arrays, held_out
from core.services.evaluation.annotation_arrays import ReviewedSample, is_test_document
from core.services.evaluation.evaluation import score
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit
from core.stats import sampling
from core.stats.arrays import Mask, Numbers, is_right
from core.stats.intervals import Estimate
from core.stats.metric_intervals import Design, prediction_powered, ratio

TARGET_WIDTH = 0.06
"""Target width of the accuracy interval: 3 points to either side."""


@dataclass(frozen=True, slots=True)
class LabelEstimate:
    """Estimates of one label over all documents.

    ``naive`` is the share (for ratings: the mean) according to the verdicts, ``sampled`` according to the reviewed
    documents alone, ``powered`` according to both (prediction-powered inference).
    """

    name: str
    colour: int
    f1: Estimate
    naive: float
    sampled: Estimate
    powered: Estimate
    scale: Scale


@dataclass(frozen=True, slots=True)
class AccuracyEstimate:
    """Estimates for the documents with a verdict that the run has not learned from."""

    documents: int
    """Number of these documents."""
    present: int
    """Documents of the run that others have not replaced, also those without a verdict."""
    reviewed: int
    """Those that were submitted or discarded."""
    drawn: int
    """Reviewed documents that the queue selected with a known probability."""
    discarded: int
    """Discarded documents. Others would be discarded, too: the estimates are for those that would be kept."""
    learned_from: int
    """Documents used as examples or to train the run's classifier."""
    right: Estimate
    """Share of labels on which verdict and reviewer agree; ratings agree if they are less than a point apart.

    No value with too few random draws for an interval."""
    f1: Estimate
    """Macro F1; no value for ratings."""
    labels: tuple[LabelEstimate, ...]
    sample: sampling.WeightedSample
    undecided: int = 0
    """Documents with a verdict and decisions on some labels only, as before a label was added. Not ``reviewed``."""
    shaped_by: int = 0
    """Reviewed documents that are not held out and may have shaped the codebook or prompts of the run."""

    @property
    def complete(self) -> bool:
        """True when all documents are reviewed, so that the estimates are exact."""
        return 0 < self.documents <= self.reviewed

    @property
    def caveat(self) -> str:
        """The words on ``shaped_by``; empty for 0."""
        return held_out.caveat(self.shaped_by)

    @property
    def has_interval(self) -> bool:
        """True when there is an interval."""
        return self.right.interval is not None

    @property
    def missing(self) -> int:
        """Number of further draws that a first interval needs."""
        return max(0, sampling.MIN_DRAWS - self.drawn)

    def needed_reviews(self, width: float = TARGET_WIDTH) -> int | None:
        """Return about how many more documents give ``right`` an interval of this width, None while that is unknown."""
        return sampling.draws_needed(self.sample, width, self.right)


@cached_until_commit
def estimate_accuracy(session: ProjectSession, run: RunRow) -> AccuracyEstimate:
    """Return the current estimates of a run. They are those of ``evaluate`` against the reviewed documents."""
    codebook = run.settings.codebook
    loaded = annotation_arrays.reviewed_sample(session, run)
    sample, rows, verdicts = loaded.sample, loaded.order, loaded.verdicts
    everything = _expand(codebook, verdicts[loaded.population])
    y, f = _expand(codebook, loaded.reference[rows]), _expand(codebook, verdicts[rows])
    y = np.where(loaded.is_kept[:, None], y, np.nan)
    scores = None
    if codebook.kind != "rating" and not loaded.design.has_few_draws:
        scores = score(codebook, loaded.reference, verdicts, design=loaded.design)
    labels, alone = [], Design(sample=sample, order=np.arange(len(rows)))
    for column, label in enumerate(codebook.labels if len(everything) else ()):
        reviewed = y[:, column]
        naive = float(everything[:, column].mean())
        labels.append(
            LabelEstimate(
                name=label.name,
                colour=label.colour,
                f1=scores.labels[label.name]["f1"] if scores else Estimate(),
                naive=naive,
                sampled=ratio(np.nan_to_num(reviewed), ~np.isnan(reviewed), alone) if alone.is_weighted else Estimate(),
                powered=prediction_powered(sample, reviewed, f[:, column], naive),
                scale=codebook.scale_of(label.id) if codebook.kind == "rating" else Scale(min=0, max=1),
            )
        )
    right = Estimate()
    if scores is not None:
        right = scores["accuracy"]
    elif not loaded.design.has_few_draws:  # the share of ``evaluate``, without its correlations, which take long
        right = _mean(loaded, is_right(loaded.reference, verdicts, kind=codebook.kind))
    is_decided = ~np.isnan(loaded.reference)
    undecided = is_decided.any(axis=1) & ~is_decided.all(axis=1) & loaded.population
    is_present = annotation_arrays.debate_statuses(session, run) != "removed"
    return AccuracyEstimate(
        documents=len(everything),
        present=int(is_present.sum()),
        reviewed=len(rows),
        drawn=sample.drawn,
        discarded=loaded.discarded,
        learned_from=int((is_present & ~is_test_document(session.store, run.run_id, loaded.documents)).sum()),
        right=right,
        f1=scores["macro_f1"] if scores else Estimate(),
        labels=tuple(labels),
        sample=sample,
        undecided=int(undecided.sum()),
        shaped_by=int(held_out.shaped_by(session, run, loaded.documents)[rows[loaded.is_kept]].sum()),
    )


def _mean(loaded: ReviewedSample, cells: Mask) -> Estimate:
    """Return the weighted mean of ``cells`` (``[document, cell]``) of the reviewed documents."""
    kept = loaded.order[loaded.is_kept]
    totals, counts = np.zeros((2, len(loaded.documents)))
    totals[kept], counts[kept] = cells[kept].sum(axis=1), cells.shape[1]
    return ratio(totals, counts, loaded.design)


def _expand(codebook: Codebook, values: Numbers) -> Numbers:
    """Return ``[document, label]`` from 0 to 1: one column per label for a choice, ratings scaled to 0 to 1."""
    if codebook.kind == "rating":
        lowest, highest = np.array([(scale.min, scale.max) for scale in codebook.scales], dtype=np.float64).T
        return np.asarray((values - lowest) / (highest - lowest))
    return annotation_arrays.given_labels(codebook, values).astype(np.float64)
