"""Preloading of slow libraries."""

from __future__ import annotations

import subprocess
import sys

SLOW = "altair", "pandas", "sklearn.linear_model"
ASK = f"""
import sys
from app import preload
assert not any(name in sys.modules for name in {SLOW!r}), "nothing slow comes with the import"
preload.load()
assert all(name in sys.modules for name in {SLOW!r})
"""


def test_slow_libraries_are_loaded_on_request_only() -> None:
    subprocess.run([sys.executable, "-c", ASK], check=True, timeout=60)
