"""What a kill -9 costs: the same run is killed at random moments and resumed, until it is done.

Counts completed calls that the server answered more than once (replies lost before they were on disk) and checks that
every document ends with one verdict.

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

from tests.servers.running import mock_llm

CODEBOOK = "{name: k, unit: review, labels: [{name: Service}, {name: Food}, {name: Location}]}"


def statistics(url: str) -> dict[str, Any]:
    """The server's own counters."""
    with urllib.request.urlopen(f"{url}/stats") as response:
        told: dict[str, Any] = json.load(response)
        return told


def main() -> None:
    """Kill, resume, count."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name, mock_llm(slots=16, ttft=0.05, tpt=0.002) as url:
        folder = Path(name)
        (folder / "book.yaml").write_text(CODEBOOK, encoding="utf-8")
        with (folder / "texts.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerows(
                [["text"], *([f"The staff and the breakfast, number {n}."] for n in range(options.documents))]
            )
        command = [
            sys.executable, "-c", "from core.cli import main; main()", "annotate", str(folder / "texts.csv"),
            "--text", "text", "--codebook", str(folder / "book.yaml"), "--project", str(folder / "p.duckdb"),
            "--connection", f"mock={url}/v1", "--model", "mock/mock", "--concurrency", "16", "--json",
        ]  # fmt: skip
        lost, kills, probes = [], 0, 0
        while True:
            before = statistics(url)["repeats"]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            probes += 1
            if kills < options.kills:
                time.sleep(1.5 + chance.random() * 1.5)
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)
                    kills += 1
            out, _ = process.communicate()
            lost.append(statistics(url)["repeats"] - before)
            if "--resume" not in command and (folder / "p.duckdb").exists():
                command += ["--resume", "r0001"]
            if process.returncode in (0, 1):
                break
        told = json.loads(out.strip().splitlines()[-1])
        stats = statistics(url)
        print(f"{kills} kills; verdicts {told['verdicts']} of {told['documents']}, status {told['status']}")
        print(f"server answered {stats['ok']} calls, the run counts {told['calls']}, probes {probes}")
        print(f"repeated after each start (probes repeat once each): {lost}")


if __name__ == "__main__":
    main()
