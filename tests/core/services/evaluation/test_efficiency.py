"""Tests of the efficient front of costs and quality."""

from __future__ import annotations

from core.services.evaluation.efficiency import efficient


def test_efficient_front_excludes_dominated_runs() -> None:
    points = [(1.0, 0.5), (2.0, 0.8), (2.0, 0.7), (3.0, 0.8), (None, 0.9), (0.5, None), (1.0, 0.5)]
    assert efficient(points) == (True, True, False, False, False, False, True)
    assert efficient([]) == ()
