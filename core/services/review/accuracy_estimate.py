"""Estimates of a run's accuracy and label prevalence over all documents, from the reviewed ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from core.annotations import VERDICT
from core.codebook import Codebook
from core.runs import RunRow
from core.services import cache
from core.services.classifier_training import decision_matrix
from core.services.evaluation import arrays
from core.services.evaluation.scores import score
from core.services.review import queue
from core.services.session import ProjectSession
from core.stats import sampling
from core.stats.estimation import Design
from core.stats.intervals import Estimate
from core.stats.metrics import Scores
from core.stats.sampling import Sample

TARGET_WIDTH = 0.06
"""Target width of the accuracy interval: 3 points to either side."""

_Numbers: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LabelEstimate:
    """Estimates of one label over all documents.

    ``naive`` is the share (for ratings: the mean) according to the verdicts, ``sampled`` according to the reviewed
    documents alone, ``powered`` according to both (prediction-powered inference).
    """

    id: str
    name: str
    colour: int
    right: Estimate
    f1: Estimate
    naive: float
    sampled: Estimate
    powered: Estimate


@dataclass(frozen=True, slots=True)
class AccuracyEstimate:
    """Estimates for ``documents``: those with a verdict, not discarded, not used as examples.

    ``guarded`` counts the documents used as examples. ``reviewed`` documents were submitted, ``audits`` of these drawn
    at random. ``right`` is the share of labels on which verdict and reviewer agree. ``f1`` is the macro F1 (no value
    for ratings). ``low`` and ``high`` are the ends of the scale of ``naive``, ``sampled`` and ``powered``.
    """

    documents: int
    reviewed: int
    audits: int
    guarded: int
    share: float
    right: Estimate
    f1: Estimate
    labels: tuple[LabelEstimate, ...]
    sample: Sample | None
    low: float = 0.0
    high: float = 1.0

    @property
    def known(self) -> bool:
        """True when there is an interval."""
        return self.right.interval is not None

    @property
    def missing(self) -> int:
        """Number of further audits that a first interval needs."""
        return max(0, sampling.LEAST - self.audits)

    def more(self, width: float = TARGET_WIDTH) -> int | None:
        """Return about how many further documents to review until the interval of ``right`` has this width.

        Assumes the current share of audits. None while nothing is known, or without random audits.
        """
        audits = sampling.more(self.sample, width, self.right) if self.sample is not None else None
        if audits is None or (audits and self.share <= 0):
            return None
        left = self.documents - self.reviewed
        return min(left, ceil(audits / self.share)) if audits else 0


@dataclass(frozen=True, slots=True, eq=False)
class _Verdicts:
    """A run's complete verdicts as ``[document, item]``, cached because they are many and change rarely."""

    rows: Mapping[str, int]
    values: _Numbers


def estimate_accuracy(session: ProjectSession, run: RunRow) -> AccuracyEstimate:
    """Return the current estimates of a run."""
    codebook, share = run.settings.codebook, queue.review_settings(session).share
    verdicts = _verdicts(session, run)
    guarded, discarded = session.store.evaluations.guarded(run.run_id), session.store.classifiers.discarded_documents()
    away = {verdicts.rows[document] for document in (*guarded, *discarded) if document in verdicts.rows}
    rows, audits, reference = _reviewed(session, codebook, verdicts, away)
    here = np.setdiff1d(np.arange(len(verdicts.values)), np.array(sorted(away), dtype=np.int64))
    sample = Sample.of_audits(audits, len(here))
    everything = _expand(codebook, verdicts.values[here])
    y, f = _expand(codebook, reference), _expand(codebook, verdicts.values[rows])
    right = _share_correct(reference, verdicts.values[rows])
    design = Design(sample=sample, order=np.arange(len(rows)))
    scores = None
    if codebook.kind != "rating" and not design.by_hand:
        scores = score(codebook, reference, verdicts.values[rows], design=design)
    labels = tuple(
        _label_estimate(
            codebook, column, sample, y[:, column], f[:, column], float(everything[:, column].mean()), scores
        )
        for column in range(len(codebook.labels))
        if len(here)
    )
    scale = codebook.scale
    return AccuracyEstimate(
        documents=len(here),
        reviewed=len(rows),
        audits=sample.drawn,
        guarded=len(guarded),
        share=share,
        right=scores["accuracy"] if scores else sampling.share(sample, right),
        f1=scores["macro_f1"] if scores else Estimate(None, None),
        labels=labels,
        sample=sample,
        low=float(scale.min) if scale else 0.0,
        high=float(scale.max) if scale else 1.0,
    )


def _verdicts(session: ProjectSession, run: RunRow) -> _Verdicts:
    """Return the documents with a complete verdict and its values; cached until another verdict is stored."""

    def look() -> _Verdicts:
        documents = session.store.runs.document_ids(run.run_id)
        values = arrays.load_annotator(session.store, run.run_id, run.settings.codebook, VERDICT, len(documents))
        whole = np.flatnonzero((values == values).all(axis=1))  # NaN is unlike itself
        return _Verdicts({documents[place]: row for row, place in enumerate(whole)}, values[whole])

    return cache.cached(session, look, "verdicts", run.run_id, basis=(run.documents, run.verdicts, run.turns))


def _reviewed(
    session: ProjectSession, codebook: Codebook, verdicts: _Verdicts, away: set[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], _Numbers]:
    """Return the submitted documents with a verdict, in order of submission.

    Gives their rows, whether each was an audit, and the reviewed values. Documents without a decision on some item are
    left out.
    """
    chosen = [
        (document, verdicts.rows[document], audit)
        for document, audit in session.store.classifiers.submitted_documents()
        if document in verdicts.rows and verdicts.rows[document] not in away
    ]
    reference = decision_matrix(
        codebook, session.store.classifiers.training_examples(), [document for document, _, _ in chosen]
    )
    whole = (reference == reference).all(axis=1)
    rows = np.array([row for _, row, _ in chosen], dtype=np.int64)
    audits = np.array([audit for _, _, audit in chosen], dtype=np.bool_)
    return rows[whole], audits[whole], reference[whole]


def _label_estimate(
    codebook: Codebook, column: int, sample: Sample, y: _Numbers, f: _Numbers, naive: float, scores: Scores | None
) -> LabelEstimate:
    label = codebook.labels[column]
    step = 0.5 / (codebook.scale.max - codebook.scale.min) if codebook.scale else 0.5
    return LabelEstimate(
        id=label.id,
        name=label.name,
        colour=label.colour,
        right=scores.labels[label.name]["accuracy"] if scores else sampling.share(sample, np.abs(y - f) < step),
        f1=scores.labels[label.name]["f1"] if scores else Estimate(None, None),
        naive=naive,
        sampled=sampling.share(sample, y),
        powered=sampling.powered(sample, y, f, naive),
    )


def _share_correct(reference: _Numbers, said: _Numbers) -> _Numbers:
    """Return the share of items with equal values for each document; ratings agree within half a step."""
    close = np.abs(reference - said) < 0.5
    return np.asarray(close.mean(axis=1) if len(close) else np.zeros(0), dtype=np.float64)


def _expand(codebook: Codebook, values: _Numbers) -> _Numbers:
    """Return ``[document, label]`` from 0 to 1: one column per label for a choice, ratings scaled to 0 to 1."""
    if codebook.kind == "choice":
        chosen = values[:, :1] == np.arange(len(codebook.labels))[None, :]
        return np.asarray(chosen, dtype=np.float64)
    if codebook.scale is not None:
        low, high = codebook.scale.min, codebook.scale.max
        return np.asarray((values - low) / (high - low), dtype=np.float64)
    return values
