"""What takes seconds to load is loaded while the first page is read, so that no later click waits for it.

In the page's own thread, at its end: libraries that are loaded from two threads at once can meet half made.
"""

from __future__ import annotations

from importlib import import_module

LIBRARIES = ("pandas", "altair", "scipy.stats", "sklearn.feature_extraction.text", "sklearn.linear_model")


def load() -> None:
    """Load what charts, metrics and the student stand on. Takes some two seconds the first time in a process, and
    nothing after that."""
    for name in LIBRARIES:
        import_module(name)
