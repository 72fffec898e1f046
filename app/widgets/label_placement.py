"""Placement of the names of a chart's points without overlap. Pure functions, in pixels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

CHARACTER = 6.4
"""Average width of a character of Inter at 11.5 px, in pixels."""
LINE = 14.0
RADIUS = 6.0
GAP = 10.0
TOGETHER = 45.0
"""Maximum distance in pixels of points with the same name that share one label."""
RINGS = 9
"""Maximum number of lines between a name and its point, above or below."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Position of a name: ``dx`` to the right of its point, ``dy`` below it, aligned by ``align``."""

    dx: float
    dy: float
    align: Literal["left", "right", "center"]

    @property
    def stem(self) -> bool:
        """True if the name is so far from its point that a line should connect them."""
        return abs(self.dy) > 1.5 * LINE


class _Box(NamedTuple):
    left: float
    right: float
    top: float
    bottom: float

    def shared(self, other: _Box) -> float:
        """Return the area that both boxes cover."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return across * down if across > 0 and down > 0 else 0.0


def beside(
    points: Sequence[tuple[float, float]],
    words: Sequence[str],
    *,
    height: float,
    others: Sequence[tuple[float, float]] = (),
    widths: Sequence[float] = (250, 720),
) -> list[Spot]:
    """Return a position for the name of each point.

    It is the first free position in the order of preference, else the position with the least overlap. ``points`` are
    shares (0 to 1) of the plot from its left and its top. ``others`` are points without names. The page determines the
    width of the plot, so a position must be free in the narrowest and in the widest of ``widths``. Between these
    widths, points only move apart.
    """
    dots = [[_dot(x * width, y * height) for x, y in [*points, *others]] for width in widths]
    placed: list[list[_Box]] = [[] for _ in widths]
    spots = []
    for place, ((x, y), text) in enumerate(zip(points, words, strict=True)):
        long = CHARACTER * len(text) + 2
        tried: list[tuple[float, Spot, list[_Box]]] = []
        for spot in _candidates():
            boxes = [_box(spot, x * width, y * height, long) for width in widths]
            covered = sum(
                sum(box.shared(other) for other in [*placed[at], *dots[at][:place], *dots[at][place + 1 :]])
                + _outside(box, widths[at], height)
                for at, box in enumerate(boxes)
            )
            tried.append((covered, spot, boxes))
            if covered == 0:
                break
        _, best, boxes = min(tried, key=lambda one: one[0])  # the first of equal positions
        spots.append(best)
        for at, box in enumerate(boxes):
            placed[at].append(box)
    return spots


def once(
    points: Sequence[tuple[float, float]], words: Sequence[str], *, height: float, width: float = 720
) -> list[int]:
    """Return the indices of the points to name. Nearby points with the same name are named once."""
    named: list[int] = []
    for place, ((x, y), text) in enumerate(zip(points, words, strict=True)):
        near = (
            math.hypot((x - points[other][0]) * width, (y - points[other][1]) * height)
            for other in range(place)
            if words[other] == text
        )
        if min(near, default=math.inf) > TOGETHER:
            named.append(place)
    return named


def _candidates() -> Iterator[Spot]:
    yield Spot(GAP, 0, "left")
    yield Spot(-GAP, 0, "right")
    yield Spot(0, -LINE, "center")
    yield Spot(0, LINE, "center")
    for ring in range(1, RINGS + 1):
        for dy in (-ring * LINE, ring * LINE):
            yield Spot(GAP, dy, "left")
            yield Spot(-GAP, dy, "right")


def _dot(x: float, y: float) -> _Box:
    return _Box(x - RADIUS, x + RADIUS, y - RADIUS, y + RADIUS)


def _box(spot: Spot, x: float, y: float, long: float) -> _Box:
    left = x + spot.dx - {"left": 0.0, "right": long, "center": long / 2}[spot.align]
    return _Box(left, left + long, y + spot.dy - LINE / 2, y + spot.dy + LINE / 2)


def _outside(box: _Box, width: float, height: float) -> float:
    """Return the area of a box outside the plot, where names are cut off."""
    inside = max(0.0, min(box.right, width) - max(box.left, 0)) * max(0.0, min(box.bottom, height) - max(box.top, 0))
    return (box.right - box.left) * (box.bottom - box.top) - inside
