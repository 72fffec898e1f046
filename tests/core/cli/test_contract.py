"""Tests of the command-line contract with files, a server, signals and a second process."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.services import preferences
from tests.core.cli.invoking import CODEBOOK, CommandResult, moot
from tests.servers.running import free_port, mock_llm, stats

TEXTS = [
    "The staff were friendly.",
    "Breakfast was cold, dinner too.",
    "By the station, and the staff knew it.",
    "Fine.",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "codebook.yaml").write_text(CODEBOOK, encoding="utf-8")
    write_reviews(tmp_path / "reviews.csv", 4)
    return tmp_path


def write_reviews(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "Service", "Food", "Location"])
        for index in range(count):
            text = TEXTS[index % 4]
            gold = ["staff" in text, "Breakfast" in text, "station" in text]
            writer.writerow([f"h{index}", f"{text} ({index})", *(int(value) for value in gold)])


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-c", "from core.cli import main; main()", *map(str, arguments)]


def arguments(folder: Path, *more: object) -> list[object]:
    return [
        "annotate",
        folder / "reviews.csv",
        "--text",
        "text",
        "--id",
        "id",
        "--codebook",
        folder / "codebook.yaml",
        "--project",
        folder / "p.duckdb",
        "--json",
        *more,
    ]


def annotate(folder: Path, *more: object, code: int = 0) -> CommandResult:
    return moot(*arguments(folder, *more), code=code)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with mock_llm(slots=8, ttft=0.01, tpt=0.0005) as url:
        yield url


def test_demo_scores_higher_than_predicting_every_label() -> None:
    summary = moot("demo", "--json").json
    assert summary["verdicts"] == summary["documents"] == 96
    assert summary["cost_usd"] == 0.0
    with (Path(__file__).parents[3] / "sample_data" / "hotel_reviews.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    shares = [sum(int(row[name]) for row in rows) / len(rows) for name in summary["evaluation"]["labels"]]
    all_labels = sum(2 * share / (1 + share) for share in shares) / len(shares)  # precision = share, recall = 1
    assert summary["evaluation"]["macro"]["f1"] > all_labels + 0.1
    assert not any(path.endswith("demo.duckdb") for path in preferences.load().recent), "its project is deleted"


def test_annotate_evaluate_runs_and_export_work_together(folder: Path) -> None:
    summary = annotate(folder, "--gold-same-names").json
    assert {key: summary[key] for key in ("run_id", "documents", "verdicts", "unresolved", "failed", "status")} == {
        "run_id": "r0001",
        "documents": 4,
        "verdicts": 4,
        "unresolved": 0,
        "failed": 0,
        "status": "done",
    }
    assert (summary["calls"], summary["cached_calls"], summary["rejected"]) == (12, 0, 0)
    report = moot("evaluate", "--project", folder / "p.duckdb", "--json").json["runs"][0]
    assert (report["n"], report["excluded"], report["protocol"]) == (4, 0, "ecj")
    assert report["roles"] == dict.fromkeys(("extractor", "critic", "judge"), "builtin/lexical")
    assert report["labels"]["Service"]["tp"] == 2
    shown = moot("evaluate", "--project", folder / "p.duckdb").stdout
    assert "r0001 ECJ: n 4, excluded 0, coverage 1.000" in shown
    known = moot("evaluate", "--project", folder / "p.duckdb", "--reference", "reviewed+gold", "--json").json["runs"][0]
    assert known["macro"] == report["macro"], "nothing is reviewed"
    f1, (low, high) = report["labels"]["Service"]["f1"], report["intervals"]["labels"]["Service"]["f1"]
    assert f"{f1:.3f} ({low:.3f} to {high:.3f})" in next(line for line in shown.splitlines() if line.startswith("Serv"))
    assert set(report["labels"]["Food"]) == {
        "n",
        "tp",
        "fp",
        "fn",
        "tn",
        "accuracy",
        "precision",
        "recall",
        "f1",
    }
    listed = moot("runs", "--project", folder / "p.duckdb", "--json").json["runs"]
    assert [(row["run_id"], row["turns"], row["verdicts"]) for row in listed] == [("r0001", 12, 4)]
    for form in ("csv", "jsonl", "parquet", "transcript"):
        moot("export", "--project", folder / "p.duckdb", "--format", form, "--output", folder / f"out.{form}")
        assert (folder / f"out.{form}").stat().st_size > 100
    turns = [json.loads(line) for line in (folder / "out.transcript").read_text(encoding="utf-8").splitlines()]
    assert {quote["item"] for turn in turns for quote in turn["evidence"]} == {"Service", "Food", "Location"}
    for _ in ("new", "replaced"):
        moot("export", "--project", folder / "p.duckdb", "--format", "huggingface", "--output", folder / "set")
    assert (folder / "set" / "README.md").is_file()


def test_evaluates_a_run_once_that_is_named_twice(folder: Path) -> None:
    annotate(folder, "--gold-same-names")
    reports = moot("evaluate", "--project", folder / "p.duckdb", "--run", "r0001", "--run", "r0001", "--json").json
    assert [report["run_id"] for report in reports["runs"]] == ["r0001"]


def test_compare_prints_scores_of_each_run_on_the_common_documents(folder: Path) -> None:
    annotate(folder, "--gold-same-names")
    annotate(folder, "--gold-same-names", "--protocol", "single", "--limit", "3")
    command = ("compare", "--project", folder / "p.duckdb", "r0001", "r0002")
    columns, shown = moot(*command, "--json").json["columns"], moot(*command).stdout.splitlines()
    assert [column["n"] for column in columns] == [3, 3]
    assert shown[1].split("  ")[-2:] == ["full cost", "full tokens"], "a run that reused replies paid less"
    for column, name in zip(columns, ("r0001 ECJ ", "r0002 Single "), strict=True):
        (line,) = (line for line in shown if line.startswith(name))
        low, high = column["intervals"]["macro_f1"]
        assert f"{column['macro_f1']:.3f} ({low:.3f} to {high:.3f})" in line
        assert "$0.00" in line


def test_repeated_run_makes_no_paid_calls(folder: Path, server: str) -> None:
    chosen = ("--connection", f"mock={server}/v1", "--model", "mock/mock")
    before = stats(server)["calls"]
    first = annotate(folder, *chosen).json
    calls = stats(server)["calls"]
    assert calls - before == first["calls"] + 1  # one probe, which is not part of the run
    assert first["cost_usd"] is None
    second = annotate(folder, *chosen).json
    assert (second["run_id"], second["calls"], second["cached_calls"]) == ("r0002", 0, first["calls"])
    assert stats(server)["calls"] == calls + 1


def test_killed_run_resumes_without_repeated_calls(folder: Path) -> None:
    write_reviews(folder / "reviews.csv", 60)
    with mock_llm(slots=4, ttft=0.03, tpt=0.001) as url:
        chosen = ("--connection", f"mock={url}/v1", "--model", "mock/mock", "--concurrency", "4")
        process = subprocess.Popen(
            command(*arguments(folder, *chosen)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while stats(url)["ok"] < 60:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        rows = moot("runs", "--project", folder / "p.duckdb", "--json").json["runs"]
        assert rows[0]["status"] == "paused"
        summary = annotate(folder, *chosen, "--resume", "r0001").json
        assert (summary["status"], summary["verdicts"]) == ("done", 60)
        counted = stats(url)
        # At most four calls in flight and one group of unwritten replies are lost.
        assert counted["ok"] - 2 <= summary["calls"] + 8
        again = annotate(folder, *chosen, "--resume", "r0001").json
        assert again["calls"] == summary["calls"]
        assert stats(url)["calls"] == counted["calls"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--model", "nowhere/x"), "connection 'nowhere' does not exist"),
        (("--model", "builtin"), "not a model"),
        (("--protocol", "duel"), "courtroom, panel, or a protocol file (YAML)."),
        (("--role", "jury=builtin/lexical"), "no role 'jury'"),
        (("--param", "max_tokens=many"), "max_tokens"),
        (("--param", "colour=red"), "colour"),
        (("--gold", "Comfort=x"), "Comfort"),
    ],
)
def test_bad_usage_is_reported_and_leaves_no_project(folder: Path, more: tuple[str, ...], message: str) -> None:
    assert message in annotate(folder, *more, code=2).stderr
    assert not (folder / "p.duckdb").exists()


def test_unreachable_server_stops_the_run_before_it_starts(folder: Path) -> None:
    done = annotate(folder, "--connection", f"mock=http://127.0.0.1:{free_port()}/v1", "--model", "mock/m", code=2)
    assert "cannot be reached" in done.stderr
    assert "the server is running" in done.stderr
    assert not (folder / "p.duckdb").exists()


def test_project_open_in_another_process_is_reported_with_its_owner(folder: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from core.services.workspace import Workspace;"
        "w = Workspace(url='http://127.0.0.1:8777'); w.open(Path(sys.argv[1])); print('open', flush=True);"
        "sys.stdin.read(); w.close()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(folder / "p.duckdb")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == "open"
    done = moot("runs", "--project", folder / "p.duckdb", code=2)
    assert f"http://127.0.0.1:8777 (pid {holder.pid})" in done.stderr
    holder.communicate("")
    moot("runs", "--project", folder / "p.duckdb")
