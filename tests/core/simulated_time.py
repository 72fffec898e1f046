"""An event loop whose clock is simulated."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class SimulatedTimeLoop(asyncio.SelectorEventLoop):
    """Event loop with a simulated clock that advances only to the next scheduled call.

    Waiting takes no time, and times are exact on slow machines.
    """

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_SimulatedTimeSelector(self))

    def time(self) -> float:
        return self.now


class _SimulatedTimeSelector(selectors.SelectSelector):
    def __init__(self, loop: SimulatedTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._loop.now += timeout or 0.0
        return super().select(0)


def run_in_simulated_time(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=SimulatedTimeLoop) as runner:
        return runner.run(work)
