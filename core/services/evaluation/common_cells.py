"""The cells that a truth and an annotator have in common: what every score stands on that is not made in the file."""

from __future__ import annotations

import numpy as np

from core.annotations import VERDICT
from core.runs import RunRow
from core.services.evaluation import grids, looked
from core.services.evaluation.grids import Grid, Reference
from core.services.session import ProjectSession
from core.store.confusion import is_own


def pair(session: ProjectSession, run: RunRow, annotator: str, reference: Reference) -> tuple[Grid, Grid]:
    """The truth and an annotator's values on the very cells that ``store.evaluations.counts`` counts."""
    return against(session, run, annotator, looked.verdicts(session, run, reference).reference)


def against(session: ProjectSession, run: RunRow, annotator: str, reference: Grid) -> tuple[Grid, Grid]:
    """Likewise for a truth at hand. Verdicts are whole; of anybody else count the items that truth and annotator both
    give a value, of a role of the run only where there is a verdict."""
    if annotator == VERDICT:
        return reference, looked.verdicts(session, run).of(VERDICT)
    said = grids.one(session.store, run.run_id, run.settings.codebook, annotator, len(reference))
    if is_own(annotator):
        said = np.where(np.equal(looked.endings(session, run), "verdict")[:, None], said, np.nan)
    return grids.on_common(reference, said)
