"""Frames of the review queue: the sizes in proportion to which the documents of a run are drawn.

Every document can come up. The ones with a reason for doubt and those with a label come sooner, the rarer the sooner
(``core.stats.sampling.draw_sizes``). A frame is stored before its draws, so that their probabilities are known whatever
is learned later. A new frame, for the documents that still wait, follows when much has been reviewed since. It uses the
reasons of that time, such as the certainty of the classifier.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.annotations import VERDICT
from core.runs import RunRow
from core.services.evaluation import arrays
from core.services.session import ProjectSession
from core.stats import sampling
from core.store.review_pages import Viewpoint
from core.store.sampling_frames import SamplingFrame

_GROWTH = 1.5
"""Factor by which the reviewed documents grow within a frame, beside ``_FIRST``."""
_FIRST = 20
_VERDICTS = 1.25
"""Factor by which the verdicts of a run in progress grow within a frame."""


def current_frame(session: ProjectSession, run: RunRow, view: Viewpoint, even: float) -> SamplingFrame:
    """Return the frame that the next documents are drawn from. Makes a new one when the latest is out of date.

    ``even`` is the part of the draws that is spread evenly over all documents.
    """
    latest = session.store.sampling_frames.latest(run.run_id)
    now = {
        "even": even,
        "documents": run.documents,
        "verdicts": run.verdicts,
        "reviewed": session.store.reviews.status_counts().get("Submitted", 0),
    }
    if latest is not None and not _outdated(latest, now, running=run.state == "running"):
        return latest
    documents = session.store.runs.document_ids(run.run_id)
    sizes = draw_sizes(session, run, view, even)
    return session.store.sampling_frames.add(run.run_id, latest, now, list(zip(documents, sizes.tolist(), strict=True)))


def draw_sizes(session: ProjectSession, run: RunRow, view: Viewpoint, even: float) -> npt.NDArray[np.float64]:
    """Return the sizes of the run's documents from what is known now, ``[document]``."""
    codebook = run.settings.codebook
    documents = session.store.runs.document_ids(run.run_id)
    columns = {
        name: arrays.load_annotator(session.store, run.run_id, codebook, name, len(documents))
        for name in session.store.evaluations.annotators(run.run_id)
    }
    verdicts = columns.get(VERDICT, np.full((len(documents), len(codebook.items)), np.nan))
    roles = [own for name, own in columns.items() if name != VERDICT]
    apart = np.zeros(verdicts.shape, dtype=np.bool_)
    for own in roles:  # a role that gave no value does not differ
        apart |= (own != verdicts) & ~np.isnan(own) & ~np.isnan(verdicts)
    reasons = session.store.review_pages.with_reason(view)
    doubtful = np.array([[document in reasons] for document in documents], dtype=np.bool_).reshape(-1, 1)
    return sampling.draw_sizes(arrays.given_labels(codebook, verdicts), np.hstack([apart, doubtful]), even)


def _outdated(latest: SamplingFrame, now: dict[str, float], *, running: bool) -> bool:
    then = latest.basis
    if then["even"] != now["even"] or then["documents"] != now["documents"]:
        return True
    if now["reviewed"] >= _GROWTH * float(then["reviewed"]) + _FIRST:
        return True
    grown = now["verdicts"] >= _VERDICTS * float(then["verdicts"]) + 1
    return grown if running else then["verdicts"] != now["verdicts"]
