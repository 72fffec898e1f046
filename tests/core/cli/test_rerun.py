"""Tests of resumed, repeated and extended runs: only necessary calls are made."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from core.cli import console
from core.documents import Document
from tests.core.cli.invoking import annotate, errors, interrupt_twice, moot, rows, start, until, write
from tests.servers.faults import LASTING
from tests.servers.running import configure, hang_after_probe, mock_llm, stats
from tests.servers.scripted import Scripted, reply_with

TEXTS = ("The staff were friendly.", "The breakfast was good.", "Near the station.")


def rerun(folder: Path, *more: object, code: int = 0) -> dict[str, Any]:
    return moot("rerun", "r0001", "--project", folder / "p.duckdb", "--json", *more, code=code).json


def prompt(folder: Path, role: str) -> Path:
    """Write the shipped template of a role with an additional sentence."""
    from core.prompts import shipped_templates

    path = folder / f"{role}.md"
    path.write_text(f"{shipped_templates('ecj')[role].text}\nTake your time.\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(("role", "paid"), [("judge", 3), ("critic", 6), ("extractor", 9)])
def test_changed_prompt_repeats_only_dependent_calls(tmp_path: Path, role: str, paid: int) -> None:
    write(tmp_path, *TEXTS)
    assert annotate(tmp_path).json["calls"] == 9
    result = rerun(tmp_path, "--prompt", f"{role}={prompt(tmp_path, role)}")
    # The built-in model ignores prompts, so later roles get the same replies and requests as before.
    assert result["run_id"] == "r0002"
    assert (result["calls"] + result["cached_calls"], result["verdicts"]) == (9, 3)
    assert result["calls"] <= paid
    assert result["calls"] >= 3
    verdicts = rows(tmp_path, "SELECT count(*) FROM verdicts WHERE run_id = 'r0001'")
    assert verdicts == [(3,)], "the first run is unchanged"


def test_annotate_uses_prompts_from_files(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS)
    assert annotate(tmp_path, "--prompt", f"judge={prompt(tmp_path, 'judge')}").json["verdicts"] == 3
    shown = rows(
        tmp_path, "SELECT count(*) FROM turns WHERE role = 'judge' AND messages::VARCHAR LIKE '%Take your time.%'"
    )
    assert shown == [(3,)]
    assert (
        "ecj has no prompt 'nobody'" in annotate(tmp_path, "--prompt", f"nobody={tmp_path / 'judge.md'}", code=2).stderr
    )


def test_unchanged_rerun_is_free_and_invalid_changes_are_refused(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS)
    annotate(tmp_path)
    assert rerun(tmp_path, "--limit", 2)["cached_calls"] == 6
    for more in (
        ["--role", "pope=builtin/lexical"],
        ["--prompt", f"pope={prompt(tmp_path, 'judge')}"],
        ["--prompt", "judge=/nowhere.md"],
        ["--param", "extra=1"],
        ["--param", "temperature=0.5"],
    ):
        rerun(tmp_path, *more, code=2)
    for text in ("no part of a template", "## user\n{{ extraction }} {{ nobody_knows }}", "## user\n{% if %}"):
        (tmp_path / "judge.md").write_text(text, encoding="utf-8")
        rerun(tmp_path, "--prompt", f"judge={tmp_path / 'judge.md'}", code=2)
    assert rows(tmp_path, "SELECT count(*) FROM runs") == [(2,)], "invalid changes create no run"


def test_changed_model_of_a_rerun_has_the_seed_of_the_run_and_the_defaults_of_the_protocol(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS)
    annotate(tmp_path, "--protocol", "single", "--param", "method=vote", "--param", "k=3", "--seed", "3")
    rerun(tmp_path, "--role", "annotator=builtin/lexical")
    first, second = (json.loads(text) for (text,) in rows(tmp_path, "SELECT settings FROM runs ORDER BY number"))
    assert first["role_models"]["annotator"]["sampling"]["temperature"] is not None
    assert first["role_models"]["annotator"]["sampling"]["seed"] == 3
    assert second["role_models"] == first["role_models"]


def test_budget_of_a_rerun_needs_prices(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS)
    with mock_llm() as url:
        annotate(tmp_path, "--connection", f"mock={url}/v1", "--model", "mock/m")
        options = ("--project", tmp_path / "p.duckdb", "--connection", f"mock={url}/v1", "--budget", "1")
        refused = moot("rerun", "r0001", *options, code=2)
        assert "The price of mock/m (extractor) is unknown, so a budget cannot be enforced." in refused.stderr
        assert rows(tmp_path, "SELECT run_id FROM runs") == [("r0001",)]
        moot("rerun", "r0001", *options, "--price", "mock/m=1/1")
    assert rows(tmp_path, "SELECT run_id FROM runs ORDER BY run_id") == [("r0001",), ("r0002",)]


def test_run_can_be_extended_to_new_documents(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS[:2])
    annotate(tmp_path)
    write(tmp_path, *TEXTS)
    result = annotate(tmp_path, "--resume", "r0001", "--extend").json
    assert (result["documents"], result["verdicts"], result["calls"], result["status"]) == (3, 3, 9, "done")
    again = annotate(tmp_path, "--resume", "r0001", "--extend").json
    assert (again["documents"], again["calls"]) == (3, 9)
    assert "--resume" in annotate(tmp_path, "--extend", code=2).json["error"]


def test_refused_extension_leaves_the_run_and_the_documents_unchanged(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS[:2])
    with mock_llm() as url:
        connection = ("--connection", f"mock={url}/v1")
        annotate(tmp_path, *connection, "--model", "mock/m")
    write(tmp_path, *TEXTS)
    for given, problem in ((), "uses the unknown connection 'mock'"), (connection, "cannot be reached"):
        assert problem in annotate(tmp_path, *given, "--resume", "r0001", "--extend", code=2).stderr
        (run,) = moot("runs", "--project", tmp_path / "p.duckdb", "--json").json["runs"]
        assert (run["status"], run["documents"]) == ("done", 2)
        assert rows(tmp_path, "SELECT count(*) FROM documents") == [(2,)]


def test_extending_one_iteration_names_the_others(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS[:2])
    annotate(tmp_path, "--iterations", 3)
    write(tmp_path, *TEXTS)
    first = annotate(tmp_path, "--iterations", 3, "--resume", "r0001", "--extend").stderr
    assert "r0002 and r0003, of the same experiment, do not have all these documents" in first
    assert "--resume r0002 --extend, --resume r0003 --extend" in first
    second = annotate(tmp_path, "--resume", "r0002", "--extend").stderr
    assert "r0003, of the same experiment, does not have all these documents" in second
    assert "same experiment" not in annotate(tmp_path, "--resume", "r0003", "--extend").stderr


def test_extending_reports_rejected_rows_and_other_gold(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS)
    for s, broken in ((True, ""), (False, "\n{")):
        lines = [json.dumps({"id": f"d{n}", "text": text, "s": s}) for n, text in enumerate(TEXTS)]
        (tmp_path / "texts.jsonl").write_text("\n".join(lines) + broken, encoding="utf-8")
        more = ("--resume", "r0001", "--extend") if broken else ()
        told = annotate(tmp_path, "--gold", "Service=s", *more).stderr
    assert f"read {len(TEXTS) + 1}, kept {len(TEXTS)}, rejected 1" in told
    assert f"{len(TEXTS)} gold values differ from the gold in p.duckdb, which stays" in told
    assert annotate(tmp_path, "--resume", "r0001").json["rejected"] == 1
    assert annotate(tmp_path, "--resume", "r0001", "--extend").json["rejected"] == 1, "a row is counted once"
    write(tmp_path, *TEXTS)
    assert annotate(tmp_path, "--resume", "r0001", "--extend").json["rejected"] == 1


def test_documents_with_new_ids_are_annotated_and_added_to_a_run(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS[:2])
    annotate(tmp_path)
    with console.open_workspace() as workspace:
        documents = workspace.open(tmp_path / "p.duckdb", create=False).store.documents
        documents.replace_all([Document("d0", {"text": "The beach was near."})])
        assert documents.ids() == ["d0 (2)"]
    write(tmp_path, "The beach was near.")
    assert annotate(tmp_path, "--resume", "r0001", "--extend").json["documents"] == 3
    assert annotate(tmp_path).json["documents"] == 1
    assert rows(tmp_path, "SELECT run_id, document_id FROM run_documents WHERE document_id LIKE '%(2)' ORDER BY 1") == [
        ("r0001", "d0 (2)"),
        ("r0002", "d0 (2)"),
    ]


def test_unresolved_documents_are_retried_only_on_request(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS)
    with Scripted(reply_with("I cannot decide.")) as server:
        model = ("--protocol", "single", "--connection", f"lab={server.url}", "--model", "lab/m")
        result = annotate(tmp_path, *model).json
        assert (result["unresolved"], result["status"]) == (3, "done")
        resume = (*model[2:4], "--resume", "r0001")
        assert annotate(tmp_path, *resume).json["calls"] == result["calls"]
        again = annotate(tmp_path, *resume, "--retry", "unresolved").json
        assert (again["unresolved"], again["documents"], again["calls"]) == (3, 3, 2 * result["calls"])
    assert rows(tmp_path, "SELECT count(*) FROM superseded_verdicts") == [(3,)]
    annotate(tmp_path, "--retry", "failed", code=2)


def test_labels_before_a_paused_retry_are_kept_and_the_retry_continues(tmp_path: Path) -> None:
    write(tmp_path, *(f"Text {index}." for index in range(5)))
    with Scripted(reply_with("I cannot decide.")) as server:
        model = ("--protocol", "single", "--connection", f"lab={server.url}", "--model", "lab/m")
        assert annotate(tmp_path, *model).json["unresolved"] == 5
        resume = (*model[2:4], "--resume", "r0001")
        server.behave, _ = LASTING["quota spent"]
        paused = annotate(tmp_path, *resume, "--retry", "unresolved", code=3).json
        assert (paused["status"], paused["unresolved"]) == ("paused", 5)
        server.behave = reply_with("The aspects present in this review are: none")
        result = annotate(tmp_path, *resume).json
    assert (result["status"], result["verdicts"], result["unresolved"]) == ("done", 5, 0)


def test_tie_without_a_failed_vote_is_retried_with_this_vote_alone(tmp_path: Path) -> None:
    write(tmp_path, "The staff were friendly.")
    (tmp_path / "codebook.yaml").write_text("{name: x, kind: choice, unit: text, labels: [{name: A}, {name: B}]}")
    labels = {"a": "A", "b": "B"}

    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if body["model"] not in labels:
            return web.json_response({"error": {"message": "content policy"}}, status=400)
        return await reply_with(f"Final decision: {labels[body['model']]}")(request, body)

    roles = [word for name in "abc" for word in ("--role", f"annotator_{name}=lab/{name}")]
    with Scripted(behave) as server:
        connection = ("--connection", f"lab={server.url}")
        protocol = ("--protocol", "discussion", "--param", "annotators=3", "--param", "rounds=0")
        tied = annotate(tmp_path, *connection, *protocol, *roles)
        assert (tied.json["unresolved"], tied.json["calls"]) == (1, 2)
        assert "--retry unresolved asks again" in tied.stderr
        labels["c"] = "A"
        decided = annotate(tmp_path, *connection, "--resume", "r0001", "--retry", "unresolved").json
    assert (decided["verdicts"], decided["unresolved"], decided["calls"]) == (1, 0, 3)


def test_first_ctrl_c_pauses_second_stops_and_no_call_is_repeated(tmp_path: Path) -> None:
    write(tmp_path, *(f"Text {index}. The staff were friendly." for index in range(12)))
    with mock_llm(slots=4, ttft=0.2, tpt=0.05, tokens=10) as url:
        place = ("--connection", f"m={url}/v1", "--model", "m/mock")
        process = start(tmp_path, *place, "--concurrency", 4)
        until(lambda: stats(url)["calls"] >= 4)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        result, err = json.loads(out), errors(tmp_path).read_text()
        assert (process.returncode, result["status"]) == (3, "paused"), err
        assert "--resume r0001" in err
        seen = stats(url)
        assert seen["cancelled"] == 0
        assert result["calls"] == seen["ok"] - 1, "calls in flight are completed; one call is the probe"

        resumed = (*place, "--concurrency", 4, "--resume", "r0001")
        code, result, err = interrupt_twice(tmp_path, resumed, hang_after_probe(url, slots=4))
        assert (code, result["status"], result["failed"]) == (3, "stopped", 0), err
        until(lambda: stats(url)["active"] == 0)  # the server's slots are free
        assert stats(url)["cancelled"] == 4

        configure(url, ttft=0.01, tpt=0)
        result = annotate(tmp_path, *place, "--resume", "r0001").json
        assert (result["verdicts"], result["calls"]) == (12, 36)
        assert stats(url)["repeats"] == 2, "only the probe is repeated, twice"


def test_resume_ignores_other_settings_and_reports_its_own(tmp_path: Path) -> None:
    write(tmp_path, "The staff were kind.")
    first = annotate(tmp_path, "--seed", "3")
    (tmp_path / "codebook.yaml").unlink()
    (tmp_path / "texts.jsonl").unlink()
    resumed = annotate(tmp_path, "--resume", "r0001", "--role", "judge=builtin/classifier", "--protocol", "single")
    assert "r0001 resumes with its own settings (ECJ, builtin/lexical) and its 1 document;" in resumed.stderr
    assert resumed.json == first.json | {"seconds": resumed.json["seconds"]}


def test_export_of_the_whole_project_ignores_a_run(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS)
    annotate(tmp_path)
    project = ("--project", tmp_path / "p.duckdb")
    export = ("export", *project, "--format", "codebook", "--output", tmp_path / "codebook.qdc")
    assert "--run is ignored: the format codebook is of the whole project" in moot(*export, "--run", "r0001").stderr
    assert "ignored" not in moot(*export).stderr


def test_empty_run_is_not_the_latest_and_not_a_new_one(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS)
    annotate(tmp_path)
    project = ("--project", tmp_path / "p.duckdb")
    assert "Run '' does not exist" in annotate(tmp_path, "--resume", "", code=2).stderr
    for command in (("evaluate", "--run", ""), ("rerun", "")):
        assert "Run '' does not exist" in moot(*command, *project, code=2).stderr
    assert rows(tmp_path, "SELECT count(*) FROM runs") == [(1,)]


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("labels.txt", "neither .csv nor .jsonl"),
        ("missing/labels.csv", "missing does not exist"),
    ],
)
def test_file_that_cannot_be_written_is_refused_before_anything_else(tmp_path: Path, output: str, problem: str) -> None:
    project = tmp_path / "chats.duckdb"
    refused = moot("authors", "--project", project, "--sample", "--export", tmp_path / output, code=2)
    assert problem in refused.stderr
    assert not project.exists()


def test_run_keeps_its_address_and_says_how_to_use_another(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS[:2])
    with mock_llm() as old, mock_llm() as new:
        use = ("--connection", f"m={old}/v1", "--role", "judge=m/mock")
        annotate(tmp_path, *use, "--limit", 1)
        assert "keeps the address" not in annotate(tmp_path, *use, "--resume", "r0001", "--extend", "--limit", 1).stderr
        other = ("--connection", f"m={new}/v1")
        resumed = annotate(tmp_path, *other, "--role", "judge=m/mock", "--resume", "r0001", "--extend")
        assert f"This run keeps the address {old}/v1 of 'm'" in resumed.stderr
        assert f"{new}/v1 is not used" in resumed.stderr
        command = f"moot rerun r0001 --project {tmp_path}/p.duckdb --connection m={new}/v1 --role judge=m/mock"
        assert command in resumed.stderr
        finished = annotate(tmp_path, *other, "--resume", "r0001")
        assert "keeps the address" not in finished.stderr, "nothing is requested"
        again = moot("rerun", "r0001", "--project", tmp_path / "p.duckdb", *other, "--role", "critic=builtin/lexical")
        assert f"This run keeps the address {old}/v1 of 'm'" in again.stderr
        assert stats(new)["calls"] == 0
        taken = moot(*command.split()[1:], "--json")
        assert "keeps the address" not in taken.stderr
        assert stats(new)["calls"] == 3, "the test of the model and two documents"


def test_rerun_changes_single_parameters_of_the_engine(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS)
    batch = ("--engine", "batch", "--param", f"batch_dir={tmp_path / 'files'}")
    annotate(tmp_path, *batch)
    rerun(tmp_path, "--param", "batch_wait=5")
    (settings,) = rows(tmp_path, "SELECT settings FROM runs WHERE run_id = 'r0002'")
    engine = json.loads(settings[0])["engine"]
    assert (engine["batch_dir"], engine["batch_wait"]) == (str(tmp_path / "files"), 5)


def test_errors_are_reported_per_label(tmp_path: Path) -> None:
    write(tmp_path)
    lines = [json.dumps({"id": f"d{n}", "text": text, "s": n != 0}) for n, text in enumerate(TEXTS)]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    annotate(tmp_path, "--gold", "Service=s")
    result = moot("evaluate", "--project", tmp_path / "p.duckdb", "--errors").stdout
    assert re.search(r"Service +3 of 3 wrong: 2 false negatives.*, 1 false positive", result), (
        "Service is a word of the first text only"
    )


def test_unknown_annotator_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, "The staff were kind.")
    annotate(tmp_path)
    result = moot("evaluate", "--project", tmp_path / "p.duckdb", "--annotator", "extarctor", code=2)
    assert "There are: critic, extractor, judge, verdict" in result.stderr
    for source in ("extractor", "gold", "run:r0001/judge"):
        moot("evaluate", "--project", tmp_path / "p.duckdb", "--annotator", source, "--json")
