"""Samples of reviewed documents for tests."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.stats.sampling import Sample


def uniform_sample(audits: npt.ArrayLike, population: int) -> Sample:
    """Return the sample in which the documents where ``audits`` is True were drawn uniformly from the undecided."""
    drawn = np.asarray(audits, dtype=np.bool_)
    return Sample(np.where(drawn, 1 / np.maximum(1, population - np.arange(len(drawn))), 0.0), population)
