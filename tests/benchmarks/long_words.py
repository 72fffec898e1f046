"""Measure the delay of pages with documents of one long word: ``python -m tests.benchmarks.long_words``.

Prints the longest tasks of the browser's main thread in milliseconds for each view, including the loading of the page.
The aim is at most 200. The times are processor times, so other work on the machine does not count. A project without
long words shows the times of the pages themselves. Needs Debian's chromium.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.benchmarks.browser import browsing

ROOT = Path(__file__).parents[2]
WORDS = {"short": "clean", "100,000": "x" * 100_000, "kerned": "AV" * 50_000, "1,000,000": "w" * 1_000_000}
CATEGORIES = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"]
SETTLING = 4000
"""Milliseconds until a view is complete."""
VIEWS = {f"Review: {name}": f"/review?document={name}" for name in WORDS} | {
    "Review: grid": "/review?view=Grid",
    "Run": "/run",
    "Data": "/data",
    "Evaluate": "/evaluate",
    "Lab": "/lab",
}


def longest_tasks(trace: bytes) -> list[tuple[int, str]]:
    """Return the three longest tasks as (processor milliseconds, longest part)."""
    events = json.loads(trace)["traceEvents"]
    main = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    of_main = [event for event in events if (event["pid"], event["tid"]) in main and "tdur" in event]
    tasks = sorted((e for e in of_main if e["name"].endswith("RunTask")), key=lambda event: -event["tdur"])
    tasks_found = []
    for task in tasks[:3]:
        ends = task["ts"] + task["dur"]
        parts = [
            event
            for event in of_main
            if task["ts"] < event["ts"] < ends and not event["name"].endswith("RunTask") and event["tid"] == task["tid"]
        ]
        part = max(parts, key=lambda event: event["tdur"], default=None)
        name = "" if part is None else f"{part['name']} {part['tdur'] // 1000}"
        tasks_found.append((task["tdur"] // 1000, name))
    return tasks_found


def measure(folder: Path, words: dict[str, str], names: Iterable[str]) -> None:
    """Print the longest tasks of these views in a project with these documents."""
    folder.mkdir()
    table, project = folder / "words.csv", folder / "words.duckdb"
    table.write_text("\n".join(["id,text", *(f'"{id}",{text}' for id, text in words.items())]))
    codebook = ROOT / "sample_data" / "hotel_aspects.yaml"
    options = ["--id", "id", "--text", "text", "--codebook", str(codebook), "--project", str(project)]
    command = [sys.executable, "-c", "from core.cli import main; main()", "annotate", str(table), *options]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    with browsing(folder, "--project", str(project)) as page:
        root = page.url.split("?")[0].rstrip("/")
        chromium = page.context.browser
        assert chromium is not None
        for view in names:
            chromium.start_tracing(page=page, categories=CATEGORIES)
            page.goto(root + VIEWS[view])
            page.get_by_test_id("stSidebar").wait_for()
            page.wait_for_timeout(SETTLING)
            tasks = longest_tasks(chromium.stop_tracing())
            print(f"  {view:24}{', '.join(f'{each} ms ({part})' for each, part in tasks)}", flush=True)


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        print("short words only")
        measure(
            Path(name) / "short", {"short": "clean"}, [view for view in VIEWS if "," not in view and "kern" not in view]
        )
        print("with long words")
        measure(Path(name) / "long", WORDS, VIEWS)


if __name__ == "__main__":
    main()
