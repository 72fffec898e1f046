"""Measure the loss by kill -9: a run is killed at random moments and resumed until it is done.

Counts the answered calls that were not on disk at each kill, checks that no other call is repeated and that every
document has one verdict, and measures the time to open the killed file. Calls that the server answers after the kill,
until the system has closed the connections (some 15 ms), are counted separately.

    python -m tests.benchmarks.kills [--kills 20] [--documents 300]
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from core.store.project import Project
from tests.servers.running import mock_llm

CODEBOOK = "{name: k, unit: review, labels: [{name: Service}, {name: Food}, {name: Location}]}"


def statistics(url: str) -> dict[str, Any]:
    """Return the counters of the server."""
    with urllib.request.urlopen(f"{url}/stats") as response:
        counters: dict[str, Any] = json.load(response)
        return counters


def prepare(folder: Path, url: str, documents: int) -> list[str]:
    """Write the files of a run and return its command."""
    (folder / "book.yaml").write_text(CODEBOOK, encoding="utf-8")
    with (folder / "texts.csv").open("w", newline="", encoding="utf-8") as file:
        rows = [[f"The staff and the breakfast, number {number}."] for number in range(documents)]
        csv.writer(file).writerows([["text"], *rows])
    return [
        sys.executable,
        "-c",
        "from core.cli import main; main()",
        "annotate",
        str(folder / "texts.csv"),
        "--text",
        "text",
        "--codebook",
        str(folder / "book.yaml"),
        "--project",
        str(folder / "p.duckdb"),
        "--connection",
        f"mock={url}/v1",
        "--model",
        "mock/mock",
        "--concurrency",
        "16",
        "--json",
    ]


def kill_after(process: subprocess.Popen[str], url: str, calls: int, pause: float) -> int | None:
    """Kill the process after this many more answered calls; return the number of all answered calls just before.

    None if the process ended by itself.
    """
    goal = statistics(url)["ok"] + calls
    while process.poll() is None:
        if statistics(url)["ok"] >= goal:
            time.sleep(pause)
            answered: int = statistics(url)["ok"]
            process.send_signal(signal.SIGKILL)
            return answered if process.wait() == -signal.SIGKILL else None
        time.sleep(0.005)
    return None


def main() -> None:
    """Kill and resume the run, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    per_kill = options.documents * 3 // (options.kills + 2)
    with tempfile.TemporaryDirectory() as name, mock_llm(slots=16, ttft=0.05, tpt=0.002) as url:
        folder = Path(name)
        command = prepare(folder, url, options.documents)
        lost: list[int] = []
        after_kill: list[int] = []
        opened: list[float] = []
        result: dict[str, Any] = {}
        while not result:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            answered = None
            if len(opened) < options.kills:
                answered = kill_after(process, url, 1 + chance.randrange(1, 2 * per_kill), chance.random() * 0.05)
            if answered is not None:
                began = time.monotonic()
                with Project(folder / "p.duckdb") as project:
                    opened.append(time.monotonic() - began)
                    runs = project.store.runs.all()
                    kept = len(project.replies._keys)
                gone = statistics(url)["ok"] - len(opened) - sum(lost) - sum(after_kill) - kept
                after_kill.append(min(gone, statistics(url)["ok"] - answered))
                lost.append(gone - after_kill[-1])
                if runs:
                    assert (runs[0].state, runs[0].message) == ("paused", "interrupted"), runs[0]
            assert process.stdout is not None
            out = process.stdout.read()
            process.wait()
            if process.returncode in (0, 1):
                result = json.loads(out.strip().splitlines()[-1])
            elif "--resume" not in command and (folder / "p.duckdb").exists():
                command += ["--resume", "r0001"]
        seen = statistics(url)
        starts = len(opened) + 1
        print(
            f"{len(opened)} kills; {result['verdicts']} verdicts on {result['documents']} documents, {result['status']}"
        )
        print(f"answered but not on disk at each kill (at most 8, aim 2): {lost}")
        print(f"answered between the kill and the closed connections: {after_kill}")
        # Each preflight call but the first is a repetition.
        others = seen["repeats"] - sum(lost) - sum(after_kill) - (starts - 1)
        print(f"the run counts {result['calls']} calls; {others} others were repeated")
        print(f"the killed file opens in at most {max(opened, default=0):.2f} s (at most 1)")


if __name__ == "__main__":
    main()
