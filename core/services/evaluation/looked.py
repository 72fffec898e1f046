"""What several parts of an evaluation look at: loaded once for as long as nothing is written to the project."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.annotations import VERDICT
from core.runs import RunRow
from core.services.cache import kept, measured, remembered
from core.services.evaluation import grids, stages
from core.services.evaluation.grids import Grids, Reference
from core.services.evaluation.stages import Stage
from core.services.session import ProjectSession


def runs(session: ProjectSession) -> list[RunRow]:
    """All runs, oldest first."""
    return remembered(session, session.store.runs.all, "runs")


def verdicts(session: ProjectSession, run: RunRow, reference: Reference = "gold") -> Grids:
    """The truth and the run's verdicts. Nobody changes these arrays."""
    return measured(
        session,
        reference,
        lambda: grids.load(session.store, run.run_id, run.settings.codebook, [VERDICT], reference),
        "verdicts",
        run.run_id,
    )


def steps(session: ProjectSession, run: RunRow) -> tuple[Stage, ...]:
    """The steps of the run's debates. What is reviewed meanwhile does not change them."""
    stands = (run.state, run.turns, run.verdicts, run.unresolved, run.failed)
    return kept(session, lambda: stages.stages(session, run), "stages", run.run_id, basis=stands)


def endings(session: ProjectSession, run: RunRow) -> npt.NDArray[np.str_]:
    """What the debate on each document of the run ended in, as ``store.stages.ended`` has it."""
    return measured(session, "gold", lambda: session.store.stages.ended(run.run_id), "ended", run.run_id)
