"""What the rooms need later is loaded while a person looks at the first one.

The libraries behind charts, statistics and the grid take two seconds of processor time to import. They are imported
where they are used, so that the command line and the first page do not pay for them; in the studio whoever first opens
Evaluate or the Lab would.
"""

from __future__ import annotations

import contextlib
import importlib
import threading

LATER = 1.5
"""Seconds for which the first page has the processor to itself."""
BETWEEN = 0.05
"""Seconds between two libraries, in which others come to their turn."""
HEAVY = (
    "pandas", "sklearn.feature_extraction.text", "scipy.stats", "altair", "jsonschema", "st_aggrid",
    "sklearn.linear_model", "sklearn.metrics",
)  # fmt: skip


def warm(stopped: threading.Event) -> None:
    """Begin in a thread of its own, which ends early when ``stopped`` is set. A library that cannot be imported will
    say so where it is used."""
    threading.Thread(target=_load, args=(stopped,), name="moot-warm", daemon=True).start()


def _load(stopped: threading.Event) -> None:
    if stopped.wait(LATER):
        return
    for name in HEAVY:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
        if stopped.wait(BETWEEN):
            return
