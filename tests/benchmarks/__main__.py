"""All benchmarks, one after another: ``python -m tests.benchmarks`` (ten minutes on two quiet cores)."""

from __future__ import annotations

import subprocess
import sys

BENCHMARKS = (
    ("throughput", "--rounds", "2"),
    ("throughput", "--watch"),
    ("throughput", "--faults", "--documents", "300"),
    ("kills",),
    ("scale",),
    ("review",),
    ("browser",),
)


def main() -> None:
    """Run each in a process of its own, so that none counts the memory of another."""
    failed = False
    for name, *options in BENCHMARKS:
        print(f"== {name} {' '.join(options)}", flush=True)
        command = [sys.executable, "-m", f"tests.benchmarks.{name}", *options]
        failed |= subprocess.run(command, check=False).returncode != 0
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
