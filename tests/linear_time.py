"""A check that the time of a function grows linearly with the size of its input."""

from __future__ import annotations

import time
from collections.abc import Callable

MAX_RATIO = 20
"""Largest ratio of the times for an input and for an eighth of it: 8 if time is linear, 64 if it is quadratic."""
ATTEMPTS = 5


def check_linear_time(run: Callable[[int], object], size: int) -> None:
    """Check that ``run``, which gets the size of its input, takes linear CPU time up to this size.

    The ratio of two times is about the same on every machine. The shortest of up to ``ATTEMPTS`` times counts.
    """
    run(size // 16)  # fills caches
    short = long = float("inf")
    for _ in range(ATTEMPTS):
        short = min(short, _cpu_seconds(run, size // 8))
        long = min(long, _cpu_seconds(run, size))
        if long <= MAX_RATIO * short:
            return
    raise AssertionError(f"size {size} takes {long:.3f} s, an eighth of it {short:.3f} s")


def _cpu_seconds(run: Callable[[int], object], size: int) -> float:
    start = time.thread_time()
    run(size)
    return time.thread_time() - start
