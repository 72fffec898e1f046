"""Tests of the console: waiting for a future with Ctrl+C, tables, the progress bar."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from core.cli import console, main
from core.debate.events import RunStatus, TurnWaiting
from core.errors import RateLimited
from tests.core.cli import invoking


class InterruptedFuture(Future[str]):
    """Future during whose first check Ctrl-C is pressed, while the waiting thread holds the future's lock."""

    def done(self) -> bool:
        with self._condition:
            if not super().done():
                signal.raise_signal(signal.SIGINT)
            return super().done()


def test_interrupt_while_the_future_is_checked_does_not_block_it():
    future, received = InterruptedFuture(), []

    def pause(times: int) -> None:
        received.append(times)
        if times == 1:
            ending = threading.Thread(target=future.set_result, args=("paused",))
            ending.start()
            ending.join(10)
            assert not ending.is_alive(), "the thread of the engine waits for the future's lock"

    assert console.wait_for(future, pause) == "paused"
    assert received == [1]


def test_interrupt_is_handled_although_the_future_completes():
    future, received = Future[str](), []
    threading.Timer(0.05, lambda: (signal.raise_signal(signal.SIGINT), future.set_result("done"))).start()
    assert console.wait_for(future, received.append) == "done"
    assert received == [1]


@pytest.mark.skipif(console.HANGUP is None, reason="needs a signal for a closed terminal")
@pytest.mark.parametrize(("handler", "expected"), [(signal.SIG_DFL, [1]), (signal.SIG_IGN, [])])
def test_closed_terminal_pauses_once_unless_it_is_ignored(handler, expected):
    future, received = Future[str](), []

    def hang_up() -> None:
        while signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # the signal would end the tests
            time.sleep(0.001)
        for _ in range(2):
            signal.raise_signal(signal.SIGHUP)
        future.set_result("done")

    before = signal.signal(signal.SIGHUP, handler)
    try:
        threading.Thread(target=hang_up, daemon=True).start()
        assert console.wait_for(future, received.append) == "done"
    finally:
        signal.signal(signal.SIGHUP, before)
    assert received == expected


def test_timeout_error_of_a_future_is_raised():
    future = Future[str]()
    future.set_exception(TimeoutError("of the future"))
    with pytest.raises(TimeoutError, match="of the future"):
        console.wait_for(future, lambda _: None)


def test_table_aligns_names_left_and_numbers_right(capsys):
    console.print_table(["label", "F1"], [["Price", "0.9"], ["Cleanliness", "0.55"]])
    assert click.unstyle(capsys.readouterr().out).splitlines() == [
        "label          F1",
        "Price         0.9",
        "Cleanliness  0.55",
    ]


@pytest.mark.parametrize(("columns", "blocks"), [(80, 1), (23, 2), (9, 3)])
def test_columns_beyond_the_width_of_the_terminal_follow_below(columns, blocks, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    console.print_table(
        ["label", "n", "precision", "recall"], [["Service", "12", "0.910", "0.870"], ["macro", "", "", "0.5"]]
    )
    shown = capsys.readouterr().out.split("\n\n")
    assert len(shown) == blocks
    assert [block.split()[0] for block in shown] == ["label"] * blocks
    assert [cell for block in shown for cell in block.splitlines()[1].split()[1:]] == ["12", "0.910", "0.870"]
    assert ("macro" in shown[0]) == (blocks == 1), "it has no value there"
    assert "macro" in shown[-1]
    assert max(len(line) for block in shown for line in block.splitlines()) <= max(columns, len("Service  precision"))


@pytest.mark.parametrize(("ended", "full"), [(0, 0), (50, 12), (100, 24)])
def test_progress_bar_shows_the_share_of_finished_documents(ended, full):
    status = RunStatus.model_construct(run_id="r0001", state="running", documents=100, verdicts=ended, cost_usd=None)
    bar = console.progress_bar(status)
    assert click.unstyle(bar) == "━" * full + "─" * (console.BAR_WIDTH - full)
    assert bar.startswith(click.style("━" * full, fg="green"))


def test_progress_that_is_not_on_a_terminal_is_printed_when_it_changes(monkeypatch, capsys):
    monkeypatch.setattr(console, "LINE_SECONDS", 0.0)
    lines = console.ProgressLines()
    for ended in (0, 0, 0, 1):
        lines(RunStatus.model_construct(run_id="r0001", state="running", documents=100, verdicts=ended, cost_usd=None))
    assert [line.split(",")[0] for line in capsys.readouterr().err.splitlines()] == [
        "r0001 running: 0 of 100",
        "r0001 running: 1 of 100",
    ]


def test_progress_says_that_a_call_waits_before_its_next_attempt(monkeypatch, capsys):
    monkeypatch.setattr(console, "LINE_SECONDS", 0.0)
    lines = console.ProgressLines()
    status = RunStatus.model_construct(run_id="r0001", state="running", documents=100, cost_usd=None)
    lines(status)
    lines(TurnWaiting("r0001", "d1", 0, RateLimited.kind, 60.0))
    lines(status)
    lines(status.model_copy(update={"state": "paused"}))
    assert [line.endswith("rate limited, retrying") for line in capsys.readouterr().err.splitlines()] == [
        False,
        True,
        False,
    ]


CODEBOOK = r"""
name: "Hotel \e]0;title\a"
unit: review
labels:
  - {name: "Ser\e[2Jvice\u202E", keywords: [staff]}
  - {name: "\x9b31mFood", keywords: [food]}
"""
"""Names that clear a terminal, change its title and colours, or turn the direction of writing."""


@pytest.mark.parametrize(("closed", "lines"), [("2>&-", 1), ("<&- >&- 2>&-", 0)])
def test_closed_standard_streams_are_replaced(tmp_path: Path, closed: str, lines: int) -> None:
    invoking.write(tmp_path, "The staff was friendly.")
    command = [sys.executable, "-m", "core.cli", *map(str, invoking.arguments(tmp_path))]
    done = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *command], capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, lines), done.stderr
    assert invoking.moot("runs", "--project", tmp_path / "p.duckdb", "--json").json["runs"][0]["verdicts"] == 1


def test_run_is_finished_if_nobody_reads_its_progress(tmp_path: Path) -> None:
    invoking.write(tmp_path, "The staff was friendly.")
    command = [sys.executable, "-m", "core.cli", *map(str, invoking.arguments(tmp_path))]
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as broken:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=broken, check=False)
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "done")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_run_is_finished_if_its_progress_cannot_be_written(tmp_path: Path) -> None:
    invoking.write(tmp_path, "The staff was friendly.")
    command = [sys.executable, "-m", "core.cli", *map(str, invoking.arguments(tmp_path))]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, check=False)
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "done")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_help_that_cannot_be_written_is_reported() -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "core.cli", "--help"]
        lost = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (lost.returncode, lost.stderr) == (2, "moot: The disk is full: the output could not be written.\n")


def test_project_in_a_removed_working_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert "No such file or directory" in invoking.moot("runs", "--project", "a.duckdb", code=2).stderr


def test_names_from_files_cannot_control_the_terminal(tmp_path):
    (tmp_path / "codebook.yaml").write_text(CODEBOOK)
    (tmp_path / "in.csv").write_text("te\x1b[2Jxt,gold\nthe staff,\x1b]8;;http://127.0.0.1\x07yes\nfood,1\n")
    project = ["--project", str(tmp_path / "p.duckdb")]
    annotate = ["annotate", str(tmp_path / "in.csv"), "--codebook", str(tmp_path / "codebook.yaml"), *project]
    text = ["--text", "te\x1b[2Jxt"]
    commands = (
        [*annotate, "--text", "missing"],
        [*annotate, *text, "--gold", "\x9b31mFood=gold", "--json"],
        ["runs", *project],
        ["evaluate", *project],
        ["evaluate", *project, "--json"],
        ["evaluate", *project, "--run", "\x1b[2J"],
        ["annotate", str(tmp_path / "\x1b[2J.csv"), "--text", "x"],
    )
    shown = [CliRunner().invoke(main, command, color=True).output for command in commands]
    for output in shown:
        assert not set(click.unstyle(output)) & set("\x1b\x07\x9b\u202e"), output
        assert "\x1b[2J" not in output
    assert "Ser[2Jvice" in shown[3]
    (run,) = json.loads(shown[4].splitlines()[-1])["runs"]
    assert list(run["labels"]) == ["Ser[2Jvice", "31mFood"], "labels are stored without control characters"


def test_progress_bar_has_no_colour_if_the_user_has_set_no_color(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    status = RunStatus.model_construct(documents=10, verdicts=5)
    assert console.progress_bar(status) == "━" * 12 + "─" * 12


def test_no_colour_is_written_if_the_user_has_set_no_color(monkeypatch):
    @click.command
    def command():
        console.print_table(["run"], [["r0001"]])
        console.print_error("There is no project.")

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert CliRunner().invoke(command, color=True).output.count("\x1b[0m") == 3
    monkeypatch.setenv("NO_COLOR", "1")
    assert CliRunner().invoke(command, color=True).output == "run\nr0001\nmoot: There is no project.\n"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8"])
def test_redirected_output_has_every_character_in_any_encoding(encoding, tmp_path):
    codebook = "name: Čistota\nkind: multilabel\nlabels: [{name: 朝食 é, keywords: [food]}]\n"
    (tmp_path / "codebook.yaml").write_text(codebook, encoding="utf-8")
    (tmp_path / "texts.csv").write_text("id,text\n1,The food was cold\n", encoding="utf-8")

    project = ("--project", str(tmp_path / "x.duckdb"))

    def evaluate(*options):
        command = ["evaluate", "--reference", "run:r0001", *options, *project]
        done = CliRunner(charset=encoding).invoke(main, command, catch_exceptions=False)
        assert done.exit_code == 0, done.stderr
        return done.stdout_bytes

    files = (tmp_path / "texts.csv", "--text", "text", "--codebook", tmp_path / "codebook.yaml")
    invoking.moot("annotate", *files, *project)
    table = evaluate()
    assert ("朝食 é" if encoding == "utf-8" else "\\u671d\\u98df é") in table.decode(encoding)
    if encoding != "utf-8":
        report = evaluate("--json")
        assert "朝食 é" in json.loads(report)["runs"][0]["labels"]


def test_traceback_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    error = ValueError("Input: \x1b[2J\x1b]0;title\x07")
    console.print_traceback(ValueError, error, None)
    assert capsys.readouterr().err.splitlines() == ["ValueError: Input: \ufffd[2J\ufffd]0;title\ufffd"]


@pytest.mark.parametrize(
    "command",
    [
        ("annotate", "", "--text", "text", "--codebook", "x.yaml"),
        ("doctor", "--project", ""),
        ("export", "--project", "p.duckdb", "--format", "huggingface", "--output", ""),
    ],
)
def test_empty_path_is_refused(command: tuple[str, ...]) -> None:
    assert "the path is empty" in invoking.moot(*command, code=2).stderr


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (("evaluate", "--project", "missing.duckdb"), "There is no project at"),
        (("runs", "--colour"), "No such option"),
        (("annotate", "texts.csv"), "Missing option '--text'."),
    ],
)
def test_error_is_also_an_object_with_json(
    command: tuple[str, ...], error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = invoking.moot(*command, "--json", code=2)
    assert refused.json.keys() == {"error"}
    assert error in refused.json["error"]
    assert error in refused.stderr
    assert invoking.moot(*command, code=2).stdout == ""
