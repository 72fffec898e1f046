"""The cells that a truth and an annotator have in common: what every score stands on that is not made in the file."""

from __future__ import annotations

import numpy as np

from core.annotations import VERDICT
from core.runs import RunRow
from core.store.counts import is_own
from core.studio.desk import Desk
from core.studio.evaluation import grids, looked
from core.studio.evaluation.grids import Grid, Truth


def pair(desk: Desk, run: RunRow, annotator: str, truth: Truth) -> tuple[Grid, Grid]:
    """The truth and an annotator's values on the very cells that ``store.evaluations.counts`` counts."""
    return against(desk, run, annotator, looked.verdicts(desk, run, truth).truth)


def against(desk: Desk, run: RunRow, annotator: str, truth: Grid) -> tuple[Grid, Grid]:
    """Likewise for a truth at hand. Verdicts are whole; of anybody else count the items that truth and annotator both
    give a value, of a role of the run only where there is a verdict."""
    if annotator == VERDICT:
        return truth, looked.verdicts(desk, run).of(VERDICT)
    said = grids.one(desk.store, run.run_id, run.settings.codebook, annotator, len(truth))
    if is_own(annotator):
        said = np.where(np.equal(looked.endings(desk, run), "verdict")[:, None], said, np.nan)
    return grids.on_common(truth, said)
