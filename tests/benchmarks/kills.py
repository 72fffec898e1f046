"""The cost of kill -9: the same run is killed at random moments and resumed until it is done.

Counts at each kill the calls that the server had answered and that were not on disk yet, checks that nothing else is
ever asked again and that every document ends with one verdict, and takes the time in which the killed file opens.
What the server answers while the system takes the dead process apart (some 15 ms until its connections are closed) is
counted on its own: nobody was there to hear it.

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
    """The server's own counters."""
    with urllib.request.urlopen(f"{url}/stats") as response:
        told: dict[str, Any] = json.load(response)
        return told


def prepare(folder: Path, url: str, documents: int) -> list[str]:
    """The files of a run, and the command that makes it."""
    (folder / "book.yaml").write_text(CODEBOOK, encoding="utf-8")
    with (folder / "texts.csv").open("w", newline="", encoding="utf-8") as file:
        rows = [[f"The staff and the breakfast, number {number}."] for number in range(documents)]
        csv.writer(file).writerows([["text"], *rows])
    return [
        sys.executable, "-c", "from core.cli import main; main()", "annotate", str(folder / "texts.csv"),
        "--text", "text", "--codebook", str(folder / "book.yaml"), "--project", str(folder / "p.duckdb"),
        "--connection", f"mock={url}/v1", "--model", "mock/mock", "--concurrency", "16", "--json",
    ]  # fmt: skip


def kill_after(process: subprocess.Popen[str], url: str, calls: int, pause: float) -> int | None:
    """Kill the process once the server has answered so many calls more, and give how many it had answered in all just
    before; None when the process ended by itself."""
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
    """Kill, resume, count."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    each = options.documents * 3 // (options.kills + 2)
    with tempfile.TemporaryDirectory() as name, mock_llm(slots=16, ttft=0.05, tpt=0.002) as url:
        folder = Path(name)
        command = prepare(folder, url, options.documents)
        lost: list[int] = []
        unheard: list[int] = []
        opened: list[float] = []
        told: dict[str, Any] = {}
        while not told:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            answered = None
            if len(opened) < options.kills:
                answered = kill_after(process, url, 1 + chance.randrange(1, 2 * each), chance.random() * 0.05)
            if answered is not None:
                began = time.monotonic()
                with Project(folder / "p.duckdb") as project:
                    opened.append(time.monotonic() - began)
                    runs = project.store.runs.all()
                    kept = len(project.turn_store.keys())
                gone = statistics(url)["ok"] - len(opened) - sum(lost) - sum(unheard) - kept
                unheard.append(min(gone, statistics(url)["ok"] - answered))
                lost.append(gone - unheard[-1])
                if runs:
                    assert (runs[0].state, runs[0].message) == ("paused", "interrupted"), runs[0]
            assert process.stdout is not None
            out = process.stdout.read()
            process.wait()
            if process.returncode in (0, 1):
                told = json.loads(out.strip().splitlines()[-1])
            elif "--resume" not in command and (folder / "p.duckdb").exists():
                command += ["--resume", "r0001"]
        seen = statistics(url)
        starts = len(opened) + 1
        print(f"{len(opened)} kills; {told['verdicts']} verdicts on {told['documents']} documents, {told['status']}")
        print(f"answered but not on disk at each kill (at most 8, aim 2): {lost}")
        print(f"answered while the dead process was taken apart: {unheard}")
        others = seen["repeats"] - sum(lost) - sum(unheard) - (starts - 1)  # each probe but the first repeats
        print(f"the run counts {told['calls']} calls; {others} others were asked again")
        print(f"the killed file opens in at most {max(opened, default=0):.2f} s (at most 1)")


if __name__ == "__main__":
    main()
