"""Run ``moot`` in this process, which is fast and lets tests shorten waits."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from click.testing import CliRunner

from core.cli import main

CODEBOOK = """
name: Hotel aspects
unit: hotel review
labels:
  - {name: Service, keywords: [staff, friendly]}
  - {name: Food, keywords: [breakfast, dinner]}
  - {name: Location, keywords: [station, beach]}
"""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Result of a command: exit code, JSON on the last line of stdout, and both streams."""

    code: int
    json: dict[str, Any]
    stdout: str
    stderr: str


def moot(*arguments: object, code: int | None = 0) -> CommandResult:
    """Run a command and check its exit code; with None any exit code is accepted."""
    done = CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)
    assert code in (done.exit_code, None), done.stderr
    last = done.stdout.strip().rpartition("\n")[2]
    return CommandResult(done.exit_code, json.loads(last) if last.startswith("{") else {}, done.stdout, done.stderr)


def write(folder: Path, *texts: str) -> None:
    """Write documents d0, d1, ... and a codebook."""
    lines = [json.dumps({"id": f"d{index}", "text": text}) for index, text in enumerate(texts)]
    (folder / "texts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "codebook.yaml").write_text(CODEBOOK, encoding="utf-8")


def arguments(folder: Path, *more: object, project: str = "p.duckdb") -> list[object]:
    """Return the arguments of ``annotate`` for the files of ``write``."""
    return [
        "annotate",
        folder / "texts.jsonl",
        "--text",
        "text",
        "--id",
        "id",
        "--codebook",
        folder / "codebook.yaml",
        "--project",
        folder / project,
        "--json",
        *more,
    ]


def annotate(folder: Path, *more: object, project: str = "p.duckdb", code: int | None = 0) -> CommandResult:
    """Run ``annotate`` on the files of ``write``."""
    return moot(*arguments(folder, *more, project=project), code=code)


def rows(folder: Path, query: str, project: str = "p.duckdb") -> list[tuple[Any, ...]]:
    """Query the project file with DuckDB."""
    with duckdb.connect(str(folder / project), read_only=True) as connection:
        return connection.execute(query).fetchall()


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until a condition holds; fail after this many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"the condition was not true after {seconds} s"
        time.sleep(0.02)


def start(folder: Path, *more: object) -> subprocess.Popen[str]:
    """Start ``annotate`` on the files of ``write`` in a process. It writes stderr to the file ``errors``."""
    command = [sys.executable, "-c", "from core.cli import main; main()", *map(str, arguments(folder, *more))]
    with errors(folder).open("w") as file:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True)


def errors(folder: Path) -> Path:
    """Return the file to which the last started process writes stderr."""
    return folder / "errors.txt"


def interrupt_twice(
    folder: Path, chosen: tuple[object, ...], calls_in_flight: Callable[[], bool]
) -> tuple[int, Any, str]:
    """Interrupt a run twice while calls are in flight; return exit code, JSON and stderr."""
    process = start(folder, *chosen)
    until(calls_in_flight)
    process.send_signal(signal.SIGINT)
    until(lambda: "press Ctrl-C again" in errors(folder).read_text())
    assert process.poll() is None, "the first Ctrl-C waits for calls in flight"
    assert calls_in_flight()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    return process.returncode, json.loads(out.strip().splitlines()[-1]), errors(folder).read_text()
