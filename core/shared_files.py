"""Read and replace files that another thread or program may have open.

Windows refuses both for a moment, for example while a virus scanner reads the file.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

PAUSES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
"""Seconds before each further attempt."""

_lock = threading.Lock()


def read_bytes(path: Path) -> bytes:
    """Return the content of a file. Raises OSError."""
    return _patiently(path.read_bytes)


def replace(source: Path, target: Path) -> None:
    """Rename a file, also over an existing one. Raises OSError."""
    _patiently(lambda: os.replace(source, target))


def _patiently(action: Callable[[], T]) -> T:
    for pause in PAUSES:
        try:
            with _lock:
                return action()
        except PermissionError as error:
            if not hasattr(error, "winerror"):  # another system than Windows, on which waiting changes nothing
                raise
            time.sleep(pause)
    return action()
