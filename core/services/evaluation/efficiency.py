"""Cost against quality: the unit of costs, and the runs on the efficient front."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal


def cost_unit(costs: Iterable[Mapping[str, float | None]]) -> Literal["usd", "tokens"]:
    """Return the unit to compare costs in: tokens if a price is unknown or nothing costs anything."""
    dollars = [cost["usd_per_document"] for cost in costs]
    return "usd" if None not in dollars and any(dollars) else "tokens"


def efficient(points: Sequence[tuple[float | None, float | None]]) -> tuple[bool, ...]:
    """Return for each (cost, quality) True if it is on the efficient front.

    A point is not on it if another costs the same or less and is better, or costs less and is as good. A point without
    a cost or a quality is not on it. All equal points are.
    """

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
