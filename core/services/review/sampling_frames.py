"""Frames of the review queue: the sizes in proportion to which the documents of a run are drawn.

Every document can come up. The ones with a reason for doubt and those with a label come sooner, the rarer the sooner
(``core.stats.sampling.draw_sizes``). A frame is stored before its draws, so that their probabilities are known whatever
is learned later. A new frame, for the documents that still wait, follows when much has been reviewed since. It uses the
reasons of that time, such as the certainty of the classifier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from core.codebook import Codebook
from core.documents import VERDICT
from core.runs import RunRow
from core.services.evaluation.annotation_arrays import Grid, given_labels, is_test_document, verdict_arrays
from core.services.project_session import ProjectSession
from core.stats import sampling
from core.stats.arrays import Mask, Numbers, differ, in_order_of
from core.store.review_queue import Viewpoint
from core.store.sampling_frames import SamplingFrame

REVIEW_GROWTH = 1.5
"""Factor by which the reviewed documents grow within a frame, beside ``EXTRA_REVIEWS``."""
EXTRA_REVIEWS = 20
_VERDICT_GROWTH = 1.25
"""Factor by which the verdicts of a run in progress grow within a frame."""


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """Properties of the run's documents that are known before the review.

    ``labels`` is ``[document, label]``: True where the verdict gives the label (no column for ratings). ``differs`` is
    ``[document, item]``: True where a role differs from the verdict. ``reason`` is ``[document]``: True with a reason
    for review.
    """

    labels: Mask
    differs: Mask
    reason: Mask


def current_frame(
    session: ProjectSession, run: RunRow, view: Viewpoint, even: float, focus: str | None = None
) -> SamplingFrame:
    """Return the frame that the next documents are drawn from. Makes a new one when the latest is out of date.

    ``even`` is the part of the draws that is spread evenly over all documents. ``focus`` is the id of the label that
    they are for, ``run:ID`` for a comparison with another run, None for all labels.
    """
    latest = session.store.sampling_frames.latest(run.run_id)
    now: dict[str, Any] = {
        "even": even,
        "focus": focus,
        "documents": run.documents,
        "verdicts": run.verdicts,
        "reviewed": session.store.reviews.status_counts().get("Submitted", 0),
    }
    if latest is not None and not _outdated(latest, now, running=run.state == "running"):
        return latest
    if focus is not None and focus.startswith("run:"):
        verdicts = verdict_arrays(session, run).verdicts
        other_verdicts = aligned_verdicts(session, run, session.run(focus.removeprefix("run:")))
        # Ratings less than a point apart count, too: one may be right where the other is wrong.
        sizes = comparison_sizes(np.abs(verdicts - other_verdicts) > 0, even)
    else:
        sizes = draw_sizes(run.settings.codebook, signals(session, run, view), even, focus)
    documents = session.store.runs.document_ids(run.run_id)
    return session.store.sampling_frames.add(run.run_id, latest, now, list(zip(documents, sizes.tolist(), strict=True)))


def signals(session: ProjectSession, run: RunRow, view: Viewpoint) -> Signals:
    """Return what is known of the run's documents now."""
    codebook = run.settings.codebook
    documents = session.store.runs.document_ids(run.run_id)
    columns = {
        name: session.store.annotations.grid(run.run_id, codebook, name)
        for name in session.store.annotations.annotators(run.run_id)
    }
    verdicts = columns.get(VERDICT, np.full((len(documents), len(codebook.items)), np.nan))
    differs = np.zeros(verdicts.shape, dtype=np.bool_)
    for name, values in columns.items():  # a role that gave no value does not differ
        if name != VERDICT:
            differs |= differ(values, verdicts, kind=codebook.kind)
    reasons = session.store.review_queue.with_reason(view)
    return Signals(
        given_labels(codebook, verdicts),
        differs,
        np.array([document in reasons for document in documents], dtype=np.bool_),
    )


def draw_sizes(codebook: Codebook, signals: Signals, even: float, focus: str | None) -> Numbers:
    """Return the sizes of the documents, ``[document]``, for all labels or for the one with the id ``focus``."""
    labels, differs = signals.labels, signals.differs
    if focus is not None:
        column = codebook.label_numbers[focus]
        labels = labels[:, [column]] if labels.shape[1] else labels
        differs = differs if codebook.kind == "choice" else differs[:, [column]]
    return sampling.draw_sizes(labels, np.column_stack([differs, signals.reason]), even)


def aligned_verdicts(session: ProjectSession, run: RunRow, other: RunRow) -> Grid:
    """Return another run's verdicts on the documents of this one; NaN without one and for those it learned from."""
    documents = verdict_arrays(session, run).documents
    verdicts = verdict_arrays(session, other).verdicts_on(documents)
    is_counted = is_test_document(session.store, other.run_id, documents)[:, None]
    in_order = in_order_of(run.settings.codebook, other.settings.codebook, verdicts)
    return np.where(is_counted, in_order, np.nan)


def comparison_sizes(differs: Mask, even: float) -> Numbers:
    """Return the sizes for a comparison of two runs, ``[document]``, sum 1.

    ``differs`` is ``[document, label]``: True where the runs differ. Documents are drawn in proportion to their number
    of such labels, except for the part ``even`` of the draws: so each draw can change the difference by the same amount
    (probability proportional to size: Hansen and Hurwitz 1943, Ann. Math. Stat. 14).
    """
    counts = differs.sum(axis=1).astype(np.float64)
    uneven = (1 - even) * counts / counts.sum() if counts.any() else (1 - even) / len(counts)
    return np.asarray(even / len(counts) + uneven)


def _outdated(latest: SamplingFrame, now: dict[str, Any], *, running: bool) -> bool:
    then = latest.basis
    if any(then.get(name) != now[name] for name in ("even", "focus", "documents")):
        return True
    if now["reviewed"] >= REVIEW_GROWTH * float(then["reviewed"]) + EXTRA_REVIEWS:
        return True
    grown: bool = now["verdicts"] >= _VERDICT_GROWTH * float(then["verdicts"]) + 1
    return grown if running else bool(then["verdicts"] != now["verdicts"])
