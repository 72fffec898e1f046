"""How long documents of one word keep a page from answering: ``python -m tests.benchmarks.long_words``.

Prints, for each view, the longest tasks of the browser's main thread in milliseconds (those over 50, as the browser
reports them), loading of the page included. The aim is at most 200. Needs Debian's chromium.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.browser import browsing

ROOT = Path(__file__).parents[2]
WORDS = {"short": "clean", "100,000": "x" * 100_000, "kerned": "AV" * 50_000, "1,000,000": "w" * 1_000_000}
WATCH = """() => {
  window.long = [];
  const note = (list) => list.getEntries().forEach((entry) => window.long.push(Math.round(entry.duration)));
  new PerformanceObserver(note).observe({ type: 'longtask', buffered: true });
}"""
VIEWS = {f"Review: {name}": f"/review?document={name}" for name in WORDS} | {
    "Review: grid": "/review?view=Grid",
    "Run": "/run",
    "Data": "/data",
}


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, project = folder / "words.csv", folder / "words.duckdb"
        table.write_text("\n".join(["id,text", *(f'"{id}",{text}' for id, text in WORDS.items())]))
        codebook = ROOT / "sample_data" / "hotel_aspects.yaml"
        options = ["--id", "id", "--text", "text", "--codebook", str(codebook), "--project", str(project)]
        command = [sys.executable, "-c", "from core.cli import main; main()", "annotate", str(table), *options]
        subprocess.run(command, check=True, cwd=ROOT)
        with browsing(folder, "--project", str(project)) as page:
            page.context.add_init_script(f"({WATCH})()")
            root = page.url.split("?")[0].rstrip("/")
            for view, path in VIEWS.items():
                page.goto(root + path)
                page.get_by_test_id("stSidebar").wait_for()
                page.wait_for_timeout(4000)
                longest = sorted(page.evaluate("window.long"), reverse=True)[:3]
                print(f"{view:24}{', '.join(f'{each} ms' for each in longest)}", flush=True)


if __name__ == "__main__":
    main()
