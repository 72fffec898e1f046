"""What several parts of an evaluation look at: loaded once for as long as nothing is written to the project."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.annotations import VERDICT
from core.runs import RunRow
from core.studio.desk import Desk
from core.studio.evaluation import grids, stages
from core.studio.evaluation.grids import Grids, Truth
from core.studio.evaluation.stages import Stage
from core.studio.memo import kept, measured, remembered


def runs(desk: Desk) -> list[RunRow]:
    """All runs, oldest first."""
    return remembered(desk, desk.store.runs.all, "runs")


def verdicts(desk: Desk, run: RunRow, truth: Truth = "gold") -> Grids:
    """The truth and the run's verdicts. Nobody changes these arrays."""
    return measured(
        desk,
        truth,
        lambda: grids.load(desk.store, run.run_id, run.settings.codebook, [VERDICT], truth),
        "verdicts",
        run.run_id,
    )


def steps(desk: Desk, run: RunRow) -> tuple[Stage, ...]:
    """The steps of the run's debates. What is reviewed meanwhile does not change them."""
    stands = (run.state, run.turns, run.verdicts, run.unresolved, run.failed)
    return kept(desk, lambda: stages.stages(desk, run), "stages", run.run_id, basis=stands)


def endings(desk: Desk, run: RunRow) -> npt.NDArray[np.str_]:
    """What the debate on each document of the run ended in, as ``store.stages.ended`` has it."""
    return measured(desk, "gold", lambda: desk.store.stages.ended(run.run_id), "ended", run.run_id)
