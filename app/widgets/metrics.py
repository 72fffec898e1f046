"""Key numbers with their intervals, side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from app.components import component
from core.stats.intervals import Estimate

_NUMBERS = component("metrics")


@dataclass(frozen=True, slots=True)
class MetricNote:
    """One line under a number; ``tone`` colours its strong part (right, wrong, unres)."""

    text: str
    strong: str = ""
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Metric:
    """A number: a share from 0 to 1 with its interval on a bar, or plain ``text`` without one."""

    name: str
    share: Estimate | None = None
    text: str | None = None
    lines: tuple[MetricNote, ...] = ()

    def data(self) -> dict[str, Any]:
        """What the component takes."""
        row: dict[str, Any] = {"name": self.name, "notes": [asdict(line) for line in self.lines]}
        if self.text is not None:
            return row | {"text": self.text}
        interval = self.share.interval if self.share else None
        return row | {
            "value": self.share.value if self.share else None,
            "low": interval.low if interval else None,
            "high": interval.high if interval else None,
        }


def numbers(figures: Iterable[Metric], *, key: str = "numbers") -> None:
    """Draw the strip of numbers."""
    _NUMBERS(key=key, data={"metrics": [figure.data() for figure in figures]})


def interval_words(share: Estimate | None, *, named: bool = False) -> str:
    """The interval as "0.864 to 0.907", empty when there is none."""
    if share is None or share.interval is None:
        return ""
    words = f"{share.interval.low:.3f} to {share.interval.high:.3f}"
    return f"{share.interval.level:.0%} interval {words}" if named else words
