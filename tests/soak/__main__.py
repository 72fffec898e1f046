"""Run the soak test: ``python -m tests.soak [--debates 20000] [--scenario NAME]``. Prints a report; fails on problems.

Needs Debian's chromium, a C compiler to change the clock, and root for the scenarios ``full`` and ``read-only``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.browser.conftest import CHROMIUM, FLAGS
from tests.soak.scenarios import SCENARIOS


def main() -> int:
    """Run the scenarios and print their reports; return 1 if one has a problem."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--debates", type=int, default=20_000, help="debates of work; the others run a tenth")
    parser.add_argument("--scenario", choices=[*SCENARIOS, "all"], default="all")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    names = list(SCENARIOS) if options.scenario == "all" else [options.scenario]
    problems = 0
    for name in names:
        debates = options.debates if name == "work" else max(100, options.debates // 10)
        print(f"{name}: {debates:,} debates", flush=True)
        with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
            chromium = playwright.chromium.launch(
                executable_path=str(CHROMIUM), args=[*FLAGS, "--enable-precise-memory-info"]
            )
            report = SCENARIOS[name](Path(folder), chromium, debates)
            chromium.close()
        print("\n".join(f"  {line}" for line in report.lines()), flush=True)
        problems += len(report.problems)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
