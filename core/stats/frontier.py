"""Which of several systems no other beats in both cost and quality."""

from __future__ import annotations

from collections.abc import Sequence


def efficient(points: Sequence[tuple[float | None, float | None]]) -> tuple[bool, ...]:
    """For each (cost, quality) whether it is on the efficient front: no other costs less or the same and is better, or
    costs less and is as good. A point without a cost or a quality is not on it; of equal points all are."""

    def beaten(cost: float, quality: float) -> bool:
        return any(
            other_cost is not None
            and other is not None
            and other_cost <= cost
            and other >= quality
            and (other_cost < cost or other > quality)
            for other_cost, other in points
        )

    return tuple(cost is not None and quality is not None and not beaten(cost, quality) for cost, quality in points)
