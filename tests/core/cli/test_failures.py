"""Tests of all kinds of failure in a run: messages of the command line and stored records."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from core.documents import Document
from core.engine import retries
from core.errors import ProjectError, StorageFull
from core.llm import quotas
from core.runs import RunRow
from core.store.database import DatabaseConnection
from core.store.project import Project
from core.store.runs import Runs
from tests.core.cli.invoking import annotate, moot, rows, write
from tests.servers import disks
from tests.servers.disks import empty, fill, make_read_only
from tests.servers.faults import LASTING, STOPPING, answer
from tests.servers.scripted import (
    ECJ,
    Behaviour,
    Scripted,
    debating,
    event,
    last_message,
    piece,
    reply_with,
    role_of,
    sending,
    stream,
)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "_backoff", lambda _state: 0.0)
    monkeypatch.setattr(retries, "RATE_LIMIT_WAITS", (0.0,))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, *(f"Text {index}. The staff were kind." for index in range(10)))
    return tmp_path


def toy(url: str, *more: object) -> tuple[object, ...]:
    return ("--connection", f"toy={url}", "--model", "toy/m", *more)


@pytest.mark.parametrize("kind", LASTING)
def test_persistent_fault_pauses_the_run_and_names_a_remedy(folder: Path, kind: str) -> None:
    behave, remedy = LASTING[kind]
    silence = {"timed out": 0.1, "stalled": 0.5}.get(kind, 30)  # a busy machine takes time for the first byte
    with Scripted(debating(extractor=behave)) as server:
        result = annotate(folder, *toy(server.url, "--param", f"silence={silence}"), code=3)
    assert (result.json["status"], result.json["failed"]) == ("paused", 0)
    assert "documents in a row met the same error" in result.stderr
    assert remedy in result.stderr
    assert {row[0] for row in rows(folder, "SELECT kind FROM attempts")} == {kind}


@pytest.mark.parametrize(
    ("behave", "message"),
    [
        *STOPPING.values(),
        (answer(400, "API key not valid. Please pass a valid API key."), "Check the key"),
        (sending(event({"error": "Unexpected endpoint or method. (POST /chat/completions)"})), "ends in /v1"),
    ],
)
def test_failure_visible_in_one_request_costs_one_request(folder: Path, behave: Behaviour, message: str) -> None:
    with Scripted(behave) as server:
        result = annotate(folder, *toy(server.url), code=2)
    assert len(server.paths) == 1, server.paths
    assert message in result.stderr
    assert not (folder / "p.duckdb").exists()


def thinking_only(role: str) -> Behaviour:
    return debating(**{role: sending(event(piece(reasoning_content="hm")), event(piece(finish="length")))})


def test_output_limit_while_thinking_fails_a_critic_and_leaves_a_judge_unresolved(folder: Path) -> None:
    with Scripted(thinking_only("critic")) as server:
        result = annotate(folder, *toy(server.url, "--limit", "2"), code=1)
        assert {row[0] for row in rows(folder, "SELECT kind FROM attempts")} == {"length limit"}
        assert (result.json["failed"], result.json["status"]) == (2, "done")
        assert "asks again" not in result.stderr  # it would reach the same limit
        assert "--param=max_tokens=4096" in result.stderr
        server.behave = thinking_only("judge")
        result = annotate(folder, *toy(server.url, "--limit", "2"), project="q.duckdb")
    assert (result.json["unresolved"], result.json["failed"]) == (2, 0)
    # the probe detected reasoning, and the second attempt has twice the limit
    assert "For 2 of 2 documents, a reply reached the output limit of 16,384 tokens" in result.stderr


async def cut_below_4000(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    """Cut replies with a smaller limit about text 0; text 1 gets an unreadable reply."""
    if "Text 1" in str(body["messages"]):
        return await reply_with("Hm.")(request, body)
    is_cut = "Text 0" in last_message(body) and body["max_tokens"] < 4000
    text = "The aspects present in this review are: "
    return await (reply_with(text, "length") if is_cut else reply_with(f"{text}none"))(request, body)


SHORT = ("--protocol", "single", "--param", "max_tokens=1000")


def test_cut_replies_are_counted_by_document_after_a_retry(folder: Path) -> None:
    with Scripted(debating(extractor=cut_below_4000)) as server:
        first = annotate(folder, *toy(server.url, *SHORT, "--limit", "3"))
        again = annotate(folder, *toy(server.url, *SHORT, "--resume", "r0001", "--retry", "unresolved"))
    assert (first.json["calls"], again.json["calls"]) == (5, 7)
    for result in (first, again):
        assert "For 1 of 3 documents, a reply reached the output limit of 2,000 tokens" in result.stderr
        assert "--retry unresolved asks again" in result.stderr  # for the unreadable reply


def test_replaced_documents_that_failed_are_not_retried(folder: Path) -> None:
    with Scripted(debating(critic=answer(500, "Out of memory."))) as server:
        failed = annotate(folder, *toy(server.url, "--limit", "2"), code=1)
        assert "--resume r0001" in failed.stderr
        with Project(folder / "p.duckdb") as project:
            project.store.documents.replace_all([Document("new", {"text": "Another text."})])
        requests = len(server.requests)
        again = annotate(folder, *toy(server.url, "--limit", "2", "--resume", "r0001"), code=1)
        assert len(server.requests) == requests, "nothing is tested that is not needed"
    assert again.json["failed"] == 2
    assert "asks again" not in again.stderr


def test_cut_replies_are_rerun_with_a_larger_limit_and_not_retried(folder: Path) -> None:
    with Scripted(debating(extractor=cut_below_4000)) as server:
        result = annotate(folder, *toy(server.url, *SHORT, "--limit", "1"))
        assert "asks again" not in result.stderr
        (command,) = re.findall(r"pay for new replies: moot (.*) \(with", result.stderr)
        rerun = moot(*shlex.split(command), "--json")
    assert "--param=max_tokens=4000" in command
    assert (rerun.json["verdicts"], rerun.json["calls"]) == (1, 1)


def test_cost_of_replies_without_a_token_count_is_called_an_estimate(folder: Path) -> None:
    text = "The aspects present in this review are: none"
    unmetered = sending(event(piece(text)), event(piece(finish="stop")))
    options = ("--protocol", "single", "--limit", "2", "--price", "toy/m=10/40")
    with Scripted(debating(extractor=unmetered)) as server:
        result = annotate(folder, *toy(server.url, *options))
        assert result.json["estimated_calls"] == result.json["calls"] == 2
        assert "r0001 done: 2 of 2, about $0.00" in result.stderr
        assert "r0001: the server reported no tokens for 2 of 2 calls; the cost is estimated" in result.stderr
        server.behave = debating()
        again = annotate(folder, *toy(server.url, *options, "--param", "temperature=0.3"))
    assert again.json["estimated_calls"] == 0
    assert "about" not in again.stderr


def test_no_higher_limit_is_advised_than_the_context_allows_and_a_larger_context_is_used(folder: Path) -> None:
    context = 4096

    async def cut_below_3000(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if "messages" not in body:
            return web.json_response({"data": [{"id": "mock", "max_model_len": context}]})
        finish = "length" if body["max_tokens"] < 3000 else "stop"
        text = "Many things." if finish == "length" else "The aspects present in this review are: none"
        return await reply_with(text, finish)(request, body)

    options = ("--protocol", "single", "--limit", "1")
    with Scripted(cut_below_3000) as server:
        first = annotate(folder, *toy(server.url, *options))
        assert [body["max_tokens"] for body in server.requests[1:]] == [2048], "half of the context"
        assert "to raise the output limit" not in first.stderr
        assert "2,048 tokens are the highest output limit" in first.stderr
        context = 8192
        again = annotate(folder, *toy(server.url, *options))
    assert (first.json["unresolved"], again.json["verdicts"]) == (1, 1)


async def limited_context(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    """Refuse prompts of more than 1,200 tokens as vLLM does."""
    tokens = sum(len(message["content"]) for message in body["messages"]) // 4
    if tokens > 1200:
        message = f"This model's maximum context length is 1200 tokens. However, you requested {tokens} tokens."
        return web.json_response({"object": "error", "message": message, "code": 400}, status=400)
    return await debating()(request, body)


@pytest.mark.parametrize(
    ("on_long", "counts", "code"), [("fail", (9, 0, 1), 1), ("skip", (9, 1, 0), 0), ("cut", (10, 0, 0), 0)]
)
def test_too_long_document_is_failed_skipped_or_cut(
    tmp_path: Path, on_long: str, counts: tuple[int, int, int], code: int
) -> None:
    write(tmp_path, "The staff were kind. " * 400, *(f"Text {index}." for index in range(9)))

    with Scripted(limited_context) as server:
        result = annotate(tmp_path, *toy(server.url, "--param", f"on_long={on_long}"), code=code)
        again = annotate(tmp_path, *toy(server.url, "--resume", "r0001"), code=code)
    assert tuple(result.json[name] for name in ("verdicts", "unresolved", "failed")) == counts
    assert {**again.json, "seconds": 0, "cached_calls": 0} == {**result.json, "seconds": 0, "cached_calls": 0}
    if on_long == "cut":
        ((verdict,),) = rows(tmp_path, "SELECT verdict FROM verdicts WHERE document_id = 'd0'")
        assert "the text was cut to its first" in verdict


def test_failures_that_differ_only_in_numbers_are_reported_together(tmp_path: Path) -> None:
    write(tmp_path, *("The staff were kind. " * 400 * times for times in (1, 2, 3, 4)), "Text.")

    with Scripted(limited_context) as server:
        result = annotate(tmp_path, *toy(server.url), code=1)
    assert result.stderr.count(" failed: ") == 1
    assert "r0001: 4 failed: toy answered 400" in result.stderr


@pytest.mark.parametrize(
    ("param", "message"), [("on_long=shorten", "on_long"), ("silence=0", "silence"), ("schema=yes", "--param schema:")]
)
def test_invalid_parameter_is_refused(folder: Path, param: str, message: str) -> None:
    result = annotate(folder, "--param", param, code=2)
    assert message in result.stderr


def test_schemas_are_requested_with_schema_on(folder: Path) -> None:
    reply = '{"reasoning": "r", "labels": [{"label": "Service", "quotes": ["The staff were kind"]}]}'
    with Scripted(debating(extractor=reply, judge=reply)) as server:
        result = annotate(folder, *toy(server.url, "--param", "schema=on", "--limit", "3"))
    assert result.json["verdicts"] == 3
    assert all("response_format" in body for body in server.requests if "You are the critic" not in str(body))
    assert not any("response_format" in body for body in server.requests if "You are the critic" in str(body))
    assert "one JSON object" in last_message(server.requests[-1])


def test_custom_price_allows_cost_and_budget(folder: Path) -> None:
    with Scripted(debating()) as server:
        refused = annotate(folder, *toy(server.url, "--budget", "1"), code=2)
        assert "price of toy/m" in refused.stderr
        result = annotate(folder, *toy(server.url, "--price", "toy/m=1/10", "--budget", "1", "--limit", "1"))
        assert result.json["cost_usd"] == pytest.approx(3 * (11 * 1e-6 + 7 * 10e-6))
        wrong = annotate(folder, "--price", "toy/m=cheap", code=2)
    assert "not a price" in wrong.stderr


def stating(*, until: int = 1000) -> Behaviour:
    """Return the behaviour of ``debating`` with a cost of $0.00001 per token; none from the request ``until`` on."""
    count = 0

    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        nonlocal count
        if "messages" not in body:
            return web.json_response({"data": []}, status=404)
        count += 1
        usage = {"prompt_tokens": len(json.dumps(body["messages"])) // 2, "completion_tokens": 7}
        if count < until:
            usage["cost"] = sum(usage.values()) * 1e-5
        text = {"probe": "none", **ECJ}[role_of(body)]
        return await stream(request, event({"choices": piece(text, "stop")["choices"], "usage": usage}))

    return behave


def test_budget_is_kept_by_the_costs_that_the_server_states(folder: Path) -> None:
    with Scripted(stating()) as server:
        limited = toy(server.url, "--limit", "2", "--concurrency", "1", "--param", "max_tokens=20")
        paused = annotate(folder, *limited, "--budget", "0.04", code=3)
        assert "the rest of the budget of $0.04 may not cover another call" in paused.stderr
        assert 0 < paused.json["calls"] < 6
        assert 0 < paused.json["cost_usd"] <= 0.04
        resumed = annotate(folder, *limited, "--resume", "r0001", "--budget", "1").json
        assert (resumed["status"], resumed["calls"]) == ("done", 6)
        again = ("--project", folder / "p.duckdb", "--connection", f"toy={server.url}", "--budget", "1", "--json")
        assert moot("rerun", "r0001", *again).json["cached_calls"] == 6


def test_run_pauses_at_a_reply_without_the_cost_that_its_budget_needs(folder: Path) -> None:
    with Scripted(stating(until=4)) as server:
        paused = annotate(folder, *toy(server.url, "--limit", "2", "--concurrency", "1", "--budget", "10"), code=3)
    assert "the cost so far is unknown" in paused.stderr
    assert (paused.json["calls"], paused.json["cost_usd"]) == (3, None)


def test_attempt_that_is_cut_off_costs_at_most_what_the_server_states_for_replies(folder: Path) -> None:
    whole, cut = stating(), []

    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if "messages" in body and role_of(body) == "judge" and not cut:
            cut.append(True)
            return await stream(request, event(piece("Final")), drop=True)
        return await whole(request, body)

    with Scripted(behave) as server:
        result = annotate(folder, *toy(server.url, "--limit", "1", "--budget", "10")).json
        whole_usd = sum(len(json.dumps(body["messages"])) // 2 + 7 for body in server.requests[1:4]) * 1e-5
    assert (result["status"], result["calls"]) == ("done", 3)
    assert result["cost_usd"] > whole_usd


def test_price_of_no_model_of_the_run_is_reported(folder: Path) -> None:
    prices = ("--price", "toy/*=1/10", "--price", "toy/n=1/10", "--price", "builtin/lexical=1/1")
    with Scripted(debating()) as server:
        run = annotate(folder, *toy(server.url, *prices, "--limit", "1"))
    assert "the run has no model for --price toy/n and builtin/lexical" in run.stderr
    assert "toy/*" not in run.stderr


def test_run_with_spent_budget_resumes_with_a_larger_one(folder: Path) -> None:
    with Scripted(debating()) as server:
        priced = toy(server.url, "--price", "toy/m=1/1", "--limit", "2")
        spent = annotate(folder, *priced, "--budget", "0.0005", code=3)
        assert (spent.json["status"], spent.json["calls"]) == ("paused", 0)
        assert "the rest of the budget of $0.0005 may not cover another call. Resume with" in spent.stderr
        assert f"--price=toy/m=1/1 --connection=toy={server.url} --budget=0.01" in spent.stderr
        annotate(folder, *priced, "--resume", "r0001", code=3)
        unpriced = annotate(folder, *toy(server.url), "--resume", "r0001", code=2)
        assert "price of toy/m (extractor) is unknown, so the budget of this run cannot be enforced" in unpriced.stderr
        assert "Resume with --resume r0001 --price=toy/m=1/1" in spent.stderr
        result = annotate(folder, *priced, "--resume", "r0001", "--budget", "1").json
        assert (result["status"], result["verdicts"], result["calls"]) == ("done", 2, 6)
        assert result["cost_usd"] <= 1
        annotate(
            folder, *priced, "--resume", "r0001", "--budget", "0.0001"
        )  # accepted, as the finished run needs no calls
        annotate(folder, *toy(server.url, "--limit", "2"), "--seed", "5", "--budget", "1", code=2)


def test_budget_is_not_raised_if_the_preflight_fails(folder: Path) -> None:
    with Scripted(debating()) as server:
        priced = toy(server.url, "--price", "toy/m=1/1", "--limit", "2")
        annotate(folder, *priced, "--budget", "0.0005", code=3)
    refused = annotate(folder, *priced, "--resume", "r0001", "--budget", "1", code=2)
    assert "Check that the server is running" in refused.stderr
    assert rows(folder, "SELECT after FROM events WHERE kind = 'budget'") == []


def test_run_with_an_unknown_cost_takes_no_budget(folder: Path) -> None:
    with Scripted(debating()) as server:
        assert annotate(folder, *toy(server.url, "--limit", "1")).json["cost_usd"] is None
        budget = toy(server.url, "--limit", "2", "--price", "toy/m=1/1", "--budget", "1")
        refused = annotate(folder, *budget, "--resume", "r0001", "--extend", code=2)
        assert "The cost of this run so far is unknown" in refused.stderr
        result = annotate(folder, *budget).json
    assert (result["calls"], result["cached_calls"]) == (3, 3)
    assert result["cost_usd"] == pytest.approx(3 * 18e-6)


def test_every_call_passes_the_requests_per_minute_limiter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # ``test_quotas`` tests that a quota keeps its rate.
    limiters: list[CountingLimiter] = []

    class CountingLimiter(quotas.AsyncLimiter):
        def __init__(self, max_rate: float, time_period: float) -> None:
            super().__init__(max_rate, time_period)
            self.passed = 0
            limiters.append(self)

        async def acquire(self, amount: float = 1) -> None:
            await super().acquire(amount)
            self.passed += 1

    monkeypatch.setattr(quotas, "AsyncLimiter", CountingLimiter)
    with Scripted(debating()) as server:
        result = annotate(folder, *toy(server.url, "--param", "requests_per_minute=1200", "--limit", "5"))
    assert result.json["calls"] == 15
    assert [(limiter.max_rate, limiter.time_period, limiter.passed) for limiter in limiters] == [(120, 6, 15)]


def test_errors_of_a_few_failed_documents_are_reported(folder: Path) -> None:
    with Scripted(debating(judge=answer(400, "no such template"))) as server:
        result = annotate(folder, *toy(server.url, "--limit", "2"), code=1)
    assert "2 failed: toy answered 400 for m: no such template" in result.stderr
    assert f"--resume r0001 --connection=toy={server.url} asks again for the failed documents" in result.stderr


def test_reasons_of_unresolved_documents_are_reported(folder: Path) -> None:
    labels = "labels: [{name: Sea, keywords: [beach]}, {name: Town, keywords: [station]}]"
    (folder / "codebook.yaml").write_text(f"kind: choice\n{labels}\n", encoding="utf-8")
    texts = [{"id": "a", "text": "Near the beach."}, {"id": "b", "text": "Hm."}, {"id": "c", "text": "Well."}]
    (folder / "texts.jsonl").write_text("\n".join(map(json.dumps, texts)), encoding="utf-8")
    result = annotate(folder, "--protocol", "single")
    assert result.json["unresolved"] == 2
    ((verdict,),) = rows(folder, "SELECT DISTINCT verdict FROM verdicts WHERE status = 'unresolved'")
    assert f"r0001: 2 unresolved: {json.loads(verdict)['reasons']['label']}" in result.stderr
    assert "--retry unresolved" not in result.stderr, "a word list replies the same again"


@pytest.mark.parametrize("option", [("--budget", "nan"), ("--budget", "inf"), ("--seed", str(2**64))])
def test_invalid_number_is_refused(folder: Path, option: tuple[str, str]) -> None:
    assert option[1] in annotate(folder, *option, code=2).stderr
    assert not (folder / "p.duckdb").exists()


@pytest.mark.parametrize("ctrl_c", [KeyboardInterrupt(), RuntimeError("Query interrupted")], ids=["python", "duckdb"])
def test_interrupt_outside_of_a_run_is_not_reported_as_failure(
    folder: Path, monkeypatch: pytest.MonkeyPatch, ctrl_c: BaseException
) -> None:
    def interrupted(*_: object) -> None:
        raise ctrl_c

    monkeypatch.setattr("core.cli.annotate.plan_of", interrupted)
    assert "interrupted" in annotate(folder, code=3).stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on open files")
def test_limit_on_open_files_leaves_room_for_many_calls(folder: Path) -> None:
    import resource

    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))
    try:
        annotate(folder, "--limit", "1")
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(most, 65_536)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


def test_full_disk_at_the_last_checkpoint_keeps_the_report(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The run has finished and its rows are in the write-ahead log.
    close = DatabaseConnection.close

    def without_room(self: DatabaseConnection) -> None:
        close(self)
        raise StorageFull(f"The disk is full: {self.path} could not be written.")

    with monkeypatch.context() as patch:
        patch.setattr(DatabaseConnection, "close", without_room)
        result = annotate(folder, "--limit", "2")
    assert (result.json["verdicts"], result.json["status"]) == (2, "done")
    assert "The disk is full" in result.stderr
    assert annotate(folder, "--resume", "r0001").json["verdicts"] == 2


@pytest.mark.parametrize("attack", ["delete", "move", "replace"])
def test_project_file_removed_during_a_run_is_recovered(folder: Path, attack: str) -> None:
    project, spare = folder / "p.duckdb", folder / "spare.duckdb"
    debate = debating()

    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if len(server.requests) == 13:
            if attack == "delete":
                project.unlink()
            elif attack == "move":
                project.rename(spare)
            else:
                spare.write_bytes(b"another file")
                spare.replace(project)
        return await debate(request, body)

    with Scripted(behave) as server:
        result = annotate(folder, *toy(server.url, "--concurrency", "2"), code=3)
        assert "while it was open" in result.stderr
        copy = folder / "p-recovered.duckdb"
        assert str(copy) in result.stderr
        again = moot("runs", "--project", copy, "--json").json["runs"]
        assert again[0]["status"] == "paused"
        assert again[0]["verdicts"] >= 3
        calls = len(server.requests)
        resumed = annotate(folder, *toy(server.url), "--resume", again[0]["run_id"], project=copy.name)
    assert (resumed.json["status"], resumed.json["verdicts"]) == ("done", 10)
    assert len(server.requests) - calls <= 30 - 12 + 1  # stored replies are not requested again


def test_database_that_cannot_be_read_after_a_pause_keeps_the_report(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require = Runs.require

    def unreadable(self: Runs, run_id: str) -> RunRow:
        if (row := require(self, run_id)).state != "queued":
            raise ProjectError("The database has been invalidated.")
        return row

    monkeypatch.setattr(Runs, "require", unreadable)
    with Scripted(debating()) as server:
        result = annotate(folder, *toy(server.url), code=3)
    assert (result.json["run_id"], result.json["status"], result.json["documents"]) == ("r0001", "done", 10)
    assert result.json["calls"] == 30
    assert "has been invalidated" in result.stderr


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    try:
        with disks.small_disk(tmp_path) as place:
            yield place
    except disks.NoDisk as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("attack", [make_read_only, fill])
def test_disk_that_fails_during_a_run_pauses_it_and_loses_no_reply(
    disk: Path, attack: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(disk, *(f"Text {number}: the staff was friendly." for number in range(60)))
    debate = debating()

    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if len(server.requests) == 40:
            attack(disk)
        return await debate(request, body)

    with Scripted(behave) as server:
        result = annotate(disk, *toy(server.url, "--concurrency", "2", "--iterations", "2"), code=3)
        assert result.json["status"] == "paused"
        before = len(server.requests)
        folder, project = disk, "p.duckdb"
        if attack is fill:
            assert "The disk is full" in result.stderr
            empty(disk)
        else:
            assert "became read-only while it was open" in result.stderr
            assert str(tmp_path / "p-recovered.duckdb") in result.stderr
            assert (disk / "p.duckdb.replies").exists()
            folder, project = tmp_path, "p-recovered.duckdb"
            write(tmp_path, *(f"Text {number}: the staff was friendly." for number in range(60)))
        resumed = annotate(folder, *toy(server.url), "--resume", "r0001", project=project)
    assert (resumed.json["status"], resumed.json["verdicts"]) == ("done", 60)
    assert len(server.requests) - before <= 181 - 40 + 4  # stored replies are not requested again


def test_missing_folder_of_the_project_is_reported_before_any_call(folder: Path) -> None:
    with Scripted(reply_with("Present: none")) as server:
        result = annotate(folder, *toy(server.url), project="missing/p.duckdb", code=None)
    assert f"The folder {folder / 'missing'} does not exist." in result.stderr
    assert result.code != 0
    assert server.requests == []


def test_read_only_folder_of_the_project_is_reported_before_any_call(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Scripted(debating()) as server:
        priced = toy(server.url, "--price", "toy/m=1/10")
        annotate(folder, *priced, "--budget", "0.0001", code=3)
        server.requests.clear()
        monkeypatch.setattr("core.store.database.os.access", lambda path, _mode: path != folder)
        for more in (("--resume", "r0001", "--budget", "1"), ()):
            refused = annotate(folder, *priced, *more, code=2)
            assert f"{folder} cannot be written" in refused.stderr
        assert f"{folder} cannot be written" in annotate(folder, *priced, project="new.duckdb", code=2).stderr
    assert server.requests == []
