"""Run ``moot`` in this process, which is fast and lets tests shorten waits."""

from __future__ import annotations

import json
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
    done = CliRunner().invoke(main, [str(one) for one in arguments], catch_exceptions=False)
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
        "annotate", folder / "texts.jsonl", "--text", "text", "--id", "id", "--codebook", folder / "codebook.yaml",
        "--project", folder / project, "--json", *more,
    ]  # fmt: skip


def annotate(folder: Path, *more: object, project: str = "p.duckdb", code: int | None = 0) -> CommandResult:
    """Run ``annotate`` on the files of ``write``."""
    return moot(*arguments(folder, *more, project=project), code=code)


def rows(folder: Path, query: str, project: str = "p.duckdb") -> list[tuple[Any, ...]]:
    """Query the project file with DuckDB."""
    with duckdb.connect(str(folder / project), read_only=True) as connection:
        return connection.execute(query).fetchall()
