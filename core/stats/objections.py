"""Objections of a critic: their number, their precision and recall, and the share that the verdict follows.

A critic objects to a cell (document, item) if its own list differs from the previous claim. (The ECJ paper gives the
critic this task and does not measure it: Maada et al., ECJ-LLM, section 3.4.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.stats.arrays import codes
from core.stats.intervals import Estimate, wilson


@dataclass(frozen=True, slots=True)
class Objections:
    """Counts of cells with gold and a value from claim, critic and verdict."""

    cells: int
    raised: int
    """the critic contradicts the claim"""
    justified: int
    """raised, and the claim was wrong"""
    followed: int
    """raised, and the verdict equals the critic's value"""
    followed_rightly: int
    """justified and followed: errors that the critic corrected"""
    followed_wrongly: int
    """followed although the claim was right: errors that the critic introduced"""
    ignored_rightly: int
    """raised without justification and not followed"""
    missed: int
    """wrong claims without an objection"""

    @property
    def precision(self) -> Estimate:
        """Share of objections that were justified, with Wilson's interval; None without objections."""
        return _share(self.justified, self.raised)

    @property
    def recall(self) -> Estimate:
        """Share of wrong claims that the critic objected to; None if no claim was wrong."""
        return _share(self.justified, self.justified + self.missed)

    @property
    def heard(self) -> Estimate:
        """Share of objections that the verdict followed."""
        return _share(self.followed, self.raised)


def objections(
    reference: npt.ArrayLike, claim: npt.ArrayLike, critic: npt.ArrayLike, verdict: npt.ArrayLike
) -> Objections:
    """Return the counts from codes ``[document, item]``, -1 for no value. Raises ValueError for shapes that differ."""
    gold, claimed, said, ended = (codes(values) for values in (reference, claim, critic, verdict))
    if not gold.shape == claimed.shape == said.shape == ended.shape:
        raise ValueError("shapes differ")
    counted = np.minimum(np.minimum(gold, claimed), np.minimum(said, ended)) >= 0
    raised = counted & (said != claimed)
    wrong = counted & (claimed != gold)
    followed = raised & (ended == said)
    return Objections(
        cells=int(counted.sum()),
        raised=int(raised.sum()),
        justified=int((raised & wrong).sum()),
        followed=int(followed.sum()),
        followed_rightly=int((followed & wrong & (said == gold)).sum()),
        followed_wrongly=int((followed & ~wrong).sum()),
        ignored_rightly=int((raised & ~wrong & ~followed).sum()),
        missed=int((wrong & ~raised).sum()),
    )


def _share(part: int, whole: int) -> Estimate:
    return Estimate(part / whole if whole else None, wilson(part, whole))
