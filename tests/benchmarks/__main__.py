"""Run all benchmarks: ``python -m tests.benchmarks`` (ten minutes on two idle cores)."""

from __future__ import annotations

import subprocess
import sys

BENCHMARKS = (
    ("throughput", "--rounds", "2"),
    ("throughput", "--watch"),
    ("throughput", "--faults", "--documents", "300"),
    ("throughput", "--builtin", "--rounds", "3"),
    ("kills",),
    ("scale",),
    ("review",),
    ("browser",),
)


def main() -> None:
    """Run each benchmark in a separate process, because peak memory is measured per process."""
    failed = False
    for name, *options in BENCHMARKS:
        print(f"== {name} {' '.join(options)}", flush=True)
        command = [sys.executable, "-m", f"tests.benchmarks.{name}", *options]
        failed |= subprocess.run(command, check=False).returncode != 0
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
