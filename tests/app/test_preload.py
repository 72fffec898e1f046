"""What the studio loads ahead is there, and is what later pages would wait for."""

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


def test_the_slow_libraries_are_loaded_when_asked_and_not_before() -> None:
    subprocess.run([sys.executable, "-c", ASK], check=True, timeout=60)
