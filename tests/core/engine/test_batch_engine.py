"""Tests of batch runs: no request is sent twice after faults of the server, the network or the process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core import errors
from core.debate.events import RunStatus
from core.debate.turns import Reply, Request
from core.engine import batch_engine, retries
from core.engine.interfaces import BatchJob, Dependencies
from core.llm import batch_servers, streaming
from core.llm.batch_servers import FolderBatches, OpenAIBatches, read_row
from core.llm.connections import parse_connection
from core.llm.model_library import ModelLibrary
from core.runs import EngineSettings, RoleModel, StopReason
from tests.core.cli.invoking import CommandResult, annotate, rows, write
from tests.core.engine.fakes import ROLE_MODEL, World, settings
from tests.servers.batches import answer
from tests.servers.running import batch_server, configure, reset, stats


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_engine, "MIN_POLL", 0.01)
    monkeypatch.setattr(batch_engine, "MAX_POLL", 0.05)


@pytest.fixture(scope="module")
def running_server() -> Iterator[str]:
    with batch_server() as url:
        yield url


@pytest.fixture
def server(running_server: str) -> str:
    reset(running_server)
    return running_server


def run(folder: Path, url: str, *more: object, engine: str = "batch", code: int | None = 0) -> CommandResult:
    url = ("--connection", f"s={url}/v1", "--model", "s/m", "--engine", engine)
    return annotate(folder, *url, *more, code=code)


def resume_until_done(folder: Path, url: str, *more: object, run_id: str = "r0001") -> CommandResult:
    """Resume a run that waits for no batch until it is done."""
    for _ in range(9):
        result = run(folder, url, *more, "--resume", run_id, code=None)
        if result.code == 0:
            break
    return result


def texts(count: int) -> list[str]:
    return [f"Text {index}: the staff were kind, the breakfast good." for index in range(count)]


def test_each_stage_is_one_batch_and_replies_are_shared_with_live_runs(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(9))
    result = run(tmp_path, server).json
    assert (result["status"], result["verdicts"], result["calls"], result["cached_calls"]) == ("done", 9, 27, 0)
    assert (result["prompt_tokens"], result["cached_tokens"]) == (2700, 1620)
    assert stats(server)["sizes"] == [9, 9, 9]
    live = run(tmp_path, server, engine="live").json
    assert (live["calls"], live["cached_calls"], live["verdicts"]) == (0, 27, 9)
    assert rows(tmp_path, "SELECT count(*) FROM turns") == [(54,)]
    assert rows(tmp_path, "SELECT DISTINCT output_limit FROM replies") == [(2048,)]


def test_failed_expired_and_missing_rows_are_resent_and_answered_rows_are_not(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(40))
    configure(server, lose=0.15, fail=0.15, expire=0.15)
    result = run(tmp_path, server, code=None).json
    seen = stats(server)
    assert result["verdicts"] + result["failed"] == 40
    assert result["verdicts"] >= 25, "each request has three attempts"
    assert max(seen["answered"].values()) == 1
    assert result["calls"] == len(seen["answered"])
    kinds = {kind for (kind,) in rows(tmp_path, "SELECT DISTINCT kind FROM attempts")}
    assert kinds == {"server fault", "timed out"}
    configure(server, lose=0, fail=0, expire=0)
    again = run(tmp_path, server, "--resume", "r0001").json
    assert (again["status"], again["verdicts"], again["failed"]) == ("done", 40, 0)
    assert max(stats(server)["answered"].values()) == 1


def test_failed_request_is_recorded_for_every_document_with_the_text(tmp_path: Path, server: str) -> None:
    write(tmp_path, "Same.", "Same.", "Another.")
    configure(server, fail=1.0)
    result = run(tmp_path, server, "--protocol", "single", code=1).json
    assert result["failed"] == 3
    found = rows(tmp_path, "SELECT document_id, count(*) FROM attempts GROUP BY ALL")
    assert sorted(found) == [("d0", 3), ("d1", 3), ("d2", 3)]


def test_refused_parameters_are_left_out_as_in_a_live_run(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(6))
    refusals = {
        "response_format": "'response_format' of type 'json_schema' is not supported with this model.",
        "temperature": "Unsupported value: 'temperature' does not support 0.2 with this model.",
        "max_tokens": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
    }
    configure(server, reject=refusals)
    options = ("--protocol", "single", "--param", "schema=on", "--param", "temperature=0.2")
    result = run(tmp_path, server, *options).json
    assert (result["verdicts"], result["failed"], result["calls"]) == (6, 0, 6)
    assert stats(server)["sizes"] == [6, 6, 6, 6]
    assert rows(tmp_path, "SELECT DISTINCT refused_params FROM replies") == [('["response_format","temperature"]',)]


def test_request_whose_system_message_is_always_refused_fails(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(2))
    configure(server, reject={"messages": "The model does not support system messages."})
    result = run(tmp_path, server, "--protocol", "single", code=None).json
    assert (result["verdicts"], result["failed"]) == (0, 2)
    assert stats(server)["sizes"] == [2, 2]


def test_batch_whose_creation_was_not_acknowledged_is_found(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(3))
    configure(server, crash=True)
    assert run(tmp_path, server).json["verdicts"] == 3
    assert stats(server)["sizes"] == [3, 3, 3]


def test_submission_is_repeated_at_a_server_without_a_list_of_batches(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = OpenAIBatches.submit
    faults: list[errors.ModelError] = [errors.ServerFault("busy")]

    async def submit_later(self: OpenAIBatches, path: Path, name: str) -> str:
        if faults:
            raise faults.pop()
        return await submit(self, path, name)

    async def find(self: OpenAIBatches, name: str) -> str | None:
        raise errors.NoSuchModel("no such path")

    monkeypatch.setattr(OpenAIBatches, "submit", submit_later)
    monkeypatch.setattr(OpenAIBatches, "find", find)
    monkeypatch.setattr(retries, "MIN_WAIT", 0.01)
    write(tmp_path, *texts(3))
    assert run(tmp_path, server).json["verdicts"] == 3


@pytest.mark.parametrize("unlisted", [1, 3])
def test_batch_that_could_not_be_searched_for_is_not_submitted_twice(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch, unlisted: int
) -> None:
    monkeypatch.setattr(batch_servers, "RETRIES", 0)
    monkeypatch.setattr(retries, "MIN_WAIT", 0.01)
    write(tmp_path, *texts(3))
    configure(server, crash=True, unlisted=unlisted)
    result = run(tmp_path, server, code=None)
    if unlisted == batch_engine.MAX_ATTEMPTS:
        assert result.json["status"] == "paused"
        result = run(tmp_path, server, "--resume", "r0001")
    assert result.json["verdicts"] == 3
    assert stats(server)["sizes"] == [3, 3, 3]


@asynccontextmanager
async def submitted_batches(folder: Path, server: str, count: int) -> AsyncIterator[tuple[OpenAIBatches, list[str]]]:
    """Yield a client and the ids of so many batches, named by their number; a page of their list has two."""
    line = {"custom_id": "k", "method": "POST", "url": batch_servers.URL, "body": {}}
    path = folder / "requests.jsonl"
    path.write_text(json.dumps(line))
    configure(server, page=2)
    batches = OpenAIBatches(parse_connection("s", f"{server}/v1"), None)
    try:
        yield batches, [await batches.submit(path, str(number)) for number in range(count)]
    finally:
        await batches.close()


def test_batch_is_found_among_many_later_ones(tmp_path: Path, server: str) -> None:
    async def find() -> None:
        async with submitted_batches(tmp_path, server, 5) as (batches, created):
            assert [await batches.find(str(number)) for number in range(6)] == [*created, None]

    asyncio.run(find())


@pytest.mark.parametrize(
    ("limit", "value", "expected"), [("MAX_LISTED", 2, errors.MalformedStream), ("SECONDS", 0.0, errors.TimedOut)]
)
def test_search_for_a_batch_in_a_list_without_end_fails(
    tmp_path: Path,
    server: str,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    value: float,
    expected: type[errors.ModelError],
) -> None:
    async def find() -> None:
        async with submitted_batches(tmp_path, server, 3) as (batches, _):
            monkeypatch.setattr(batch_servers, limit, value)
            with pytest.raises(expected):
                await batches.find("other")

    asyncio.run(find())


def test_download_that_breaks_off_is_repeated(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(3))
    configure(server, cut=4)
    result = run(tmp_path, server).json
    assert (result["status"], result["verdicts"], result["calls"]) == ("done", 3, 9)
    assert max(stats(server)["answered"].values()) == 1


def test_download_that_always_breaks_off_pauses_the_run(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(3))
    configure(server, cut=1_000)
    assert run(tmp_path, server, code=3).json["status"] == "paused"
    configure(server, cut=0)
    result = run(tmp_path, server, "--resume", "r0001").json
    assert (result["status"], result["verdicts"]) == ("done", 3)
    assert max(stats(server)["answered"].values()) == 1


def test_resume_collects_a_batch_that_was_left_running(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(4))
    configure(server, hold=True)
    waiting = run(tmp_path, server, "--param", "batch_wait=0", code=3)
    assert waiting.json["status"] == "paused"
    assert "0 of 4 requests of a batch are answered" in waiting.stderr
    for _ in range(2):
        assert run(tmp_path, server, "--resume", "r0001", code=3).json["calls"] == 0
    assert stats(server)["sizes"] == [4], "resuming does not send the batch again"
    other = run(tmp_path, server, "--param", "batch_wait=0", code=3).json
    assert other["run_id"] == "r0002"
    assert stats(server)["sizes"] == [4], "another run with the same requests does not send them again"
    configure(server, hold=False)
    assert resume_until_done(tmp_path, server).json["verdicts"] == 4
    assert stats(server)["sizes"] == [4, 4, 4]
    other = resume_until_done(tmp_path, server, run_id="r0002").json
    assert (other["verdicts"], other["calls"], other["cached_calls"]) == (4, 0, 12)


def test_billed_failures_that_another_run_collects_are_costs_of_their_run(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(4))
    configure(server, hold=True, empty=True)
    options = ("--protocol", "single", "--param", "batch_wait=0")
    run(tmp_path, server, *options, code=3)
    run(tmp_path, server, *options, "--limit", "2", code=3)
    assert stats(server)["sizes"] == [4]
    configure(server, hold=False)
    for _ in range(9):
        run(tmp_path, server, "--resume", "r0002", code=None)
        if rows(tmp_path, "SELECT outcome FROM batches WHERE run_id = 'r0001'") == [("collected",)]:
            break
    attempts = "SELECT run_id, count(*), min(prompt_tokens) > 0 FROM attempts GROUP BY run_id ORDER BY run_id"
    assert rows(tmp_path, attempts)[0] == ("r0001", 4, True)


@pytest.mark.parametrize(
    ("fault", "message", "sizes"),
    [
        ({"refuse": "model m is not for batches"}, "model m is not for batches", [4, 4, 4, 4]),
        ({"end": "cancelled"}, "the batch batch-0 was cancelled at s", [4, 4, 4, 2]),
        ({"forget": True}, "s does not know the batch batch-0. Is the key that of another project?", [4, 4, 4]),
        ({"gone": True}, "s no longer has the replies of the batch batch-0. Resuming pays for them", [4, 4, 4, 4]),
    ],
)
def test_lost_batch_pauses_the_run_until_it_resumes(
    tmp_path: Path, server: str, fault: dict[str, object], message: str, sizes: list[int]
) -> None:
    write(tmp_path, *texts(4))
    configure(server, **fault)
    assert message in run(tmp_path, server, code=3).stderr
    assert stats(server)["sizes"] == [4], "nothing is sent again unasked"
    configure(server, end="completed", forget=False, gone=False)
    assert run(tmp_path, server, "--resume", "r0001").json["verdicts"] == 4
    assert stats(server)["sizes"] == sizes


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("forget", [True, False])
def test_open_batch_of_a_removed_connection_does_not_hinder_another_run(
    tmp_path: Path, server: str, host: str, forget: bool
) -> None:
    write(tmp_path, *texts(3))
    configure(server, hold=True, forget=forget)
    run(tmp_path, server, "--param", "batch_wait=0", code=3)
    configure(server, hold=False, forget=False)
    url = server.replace("127.0.0.1", host)
    result = annotate(tmp_path, "--connection", f"t={url}/v1", "--model", "t/m", "--engine", "batch")
    assert result.json["verdicts"] == 3
    if url == server:  # the same address has another name, so the open batch is collected
        assert stats(server)["sizes"] == [3, 3, 3]


def test_missing_rows_are_not_explained_by_a_slow_start(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(6))
    configure(server, lose=1)
    result = run(tmp_path, server, code=3)
    assert "m at s sent no row for it in r0001-" in result.stderr
    assert "silence" not in result.stderr


def test_batch_of_empty_replies_is_paid_for_once_and_pauses_the_run(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(6))
    configure(server, empty=True)
    result = run(tmp_path, server, "--price", "s/m=1/1", code=3)
    assert stats(server)["sizes"] == [6]
    assert (
        "all 6 requests of the batch batch-0 were billed and failed: m at s replied without any text" in result.stderr
    )
    assert "Resuming pays for them again" in result.stderr
    assert result.json["cost_usd"] == pytest.approx(6 * 110 * 0.5e-6)
    configure(server, empty=False)
    assert run(tmp_path, server, "--resume", "r0001", "--price", "s/m=1/1").json["verdicts"] == 6


def reply_to(request: Request, choice: dict[str, Any], usage: dict[str, int], context: int | None = None) -> Reply:
    """Return the reply in a row with this choice to a request of 40 characters."""
    library = ModelLibrary([parse_connection("s", "http://127.0.0.1:9/v1")])
    role_model = library.resolve(RoleModel(connection="s", model="m"))
    library.capabilities.get(library.connection("s"), "m").context = context
    row = {"response": {"status_code": 200, "body": {"choices": [choice], "usage": usage}}}
    return batch_servers.BatchLibrary(library).reply(role_model, row, settings(), request, 40)


def test_row_that_reached_its_limit_again_without_text_is_an_error_as_in_a_live_run() -> None:
    cut = {"message": {"content": "", "reasoning_content": "hm"}, "finish_reason": "length"}
    usage = {"prompt_tokens": 10, "completion_tokens": 2048}
    assert reply_to(Request("critic", ()), cut, usage).finish_reason == "length"
    with pytest.raises(errors.LengthLimit, match="2048 tokens") as caught:
        reply_to(Request("critic", (), reask=1, limit_factor=2), cut, usage)
    assert caught.value.billed == (10, 2048, 0)


def test_row_whose_prompt_lost_its_beginning_is_an_error_as_in_a_live_run() -> None:
    whole, usage = {"message": {"content": "fine"}}, {"prompt_tokens": 7168, "completion_tokens": 4}
    assert reply_to(Request("critic", ()), whole, usage).text == "fine"
    with pytest.raises(errors.ContextTooLong, match="read only the end") as caught:
        reply_to(Request("critic", ()), whole, usage, context=8192)
    assert caught.value.billed == (7168, 4, 0)


def test_few_empty_replies_are_requested_again(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(2))
    configure(server, empty=True)
    run(tmp_path, server, code=None)
    assert stats(server)["sizes"] == [2, 2, 2]


def test_empty_replies_are_billed_once_if_a_download_breaks_off(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    download, breaks = OpenAIBatches.rows, [True, True]

    async def break_off(batches: OpenAIBatches, output: str) -> AsyncIterator[bytes]:
        async for row in download(batches, output):
            yield row
            if breaks:
                breaks.pop()
                raise errors.ServerFault("The download broke off.")

    monkeypatch.setattr(OpenAIBatches, "rows", break_off)
    monkeypatch.setattr(batch_engine, "COMMITTED_AT_ONCE", 1)
    write(tmp_path, *texts(2))
    configure(server, empty=True)
    result = run(tmp_path, server, "--price", "s/m=1/1", code=None)
    assert stats(server)["sizes"] == [2, 2, 2]
    assert not breaks
    assert result.json["cost_usd"] == pytest.approx(3 * 2 * 110 * 0.5e-6)


def test_run_pauses_if_a_download_has_no_line_breaks(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "MAX_LINE", 50_000)
    write(tmp_path, *texts(2))
    configure(server, unbroken=True)
    result = run(tmp_path, server, code=3)
    assert "a line of more than 50,000 bytes" in result.stderr


def test_answer_of_a_batch_server_has_a_limit(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_servers, "MAX_ANSWER_BYTES", 50)
    write(tmp_path, *texts(2))
    result = run(tmp_path, server, code=3)
    assert "the response has more than 50 bytes" in result.stderr


def test_enqueued_token_limit_splits_batches_and_sends_them_one_by_one(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(8))
    configure(server, refuse="Enqueued token limit reached for m")
    assert run(tmp_path, server).json["verdicts"] == 8
    seen = stats(server)
    assert seen["sizes"][:3] == [8, 4, 4]
    assert seen["statuses"][1:] == ["completed"] * (len(seen["sizes"]) - 1)


def test_replies_release_the_budget_that_their_requests_reserved(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(6))
    limits = ("--price", "s/m=1/1", "--param", "max_tokens=1000", "--budget", "0.003")  # two requests at a time
    result = run(tmp_path, server, *limits).json
    assert (result["status"], result["verdicts"], result["calls"]) == ("done", 6, 18)
    sizes = stats(server)["sizes"]
    assert (max(sizes), sum(sizes)) == (2, 18)


def test_resumed_run_keeps_the_budget_that_its_open_batches_reserved(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(6))
    configure(server, hold=True)
    price = ("--price", "s/m=1/1")
    limits = (*price, "--param", "max_tokens=1000", "--budget", "0.003", "--param", "batch_wait=0")
    assert run(tmp_path, server, *limits, code=3).json["status"] == "paused"
    for _ in range(2):
        run(tmp_path, server, *price, "--resume", "r0001", code=3)
    assert stats(server)["sizes"] == [2], "two requests may cost the whole budget"


def test_replies_that_another_run_pays_are_no_cost_of_the_run_that_collects_them(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(3))
    configure(server, hold=True)
    more = ("--price", "s/m=1/1", "--protocol", "single", "--param", "batch_wait=0")
    run(tmp_path, server, *more, code=3)
    run(tmp_path, server, *more, "--budget", "0.01", code=3)
    configure(server, hold=False)
    result = resume_until_done(tmp_path, server, *more[:2], run_id="r0002")
    assert (result.json["calls"], result.json["cached_calls"], result.json["cost_usd"]) == (0, 3, 0)
    assert "r0002 done: 3 of 3, 3 of 3 replies reused, $0.00" in result.stderr
    assert stats(server)["sizes"] == [3]


def test_server_without_batch_api_pauses_and_names_alternatives(tmp_path: Path) -> None:
    from tests.servers.running import mock_llm

    write(tmp_path, *texts(2))
    with mock_llm(ttft=0, tpt=0) as url:
        result = run(tmp_path, url, code=3)
    assert "--engine live" in result.stderr
    assert "batch_dir" in result.stderr


def test_manual_batch_files_are_written_and_read_stage_by_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FolderBatches, "SETTLED", 0.0)
    write(tmp_path, *texts(5))
    folder = tmp_path / "files"
    url = "http://127.0.0.1:9"  # no server; no request is sent
    result = run(tmp_path, url, "--param", f"batch_dir={folder}", code=3)
    assert "vllm run-batch -i" in result.stderr
    for stage in range(3):
        written = [path for path in folder.glob("*.jsonl") if ".output" not in path.name]
        (source,) = [path for path in written if not path.with_suffix(".output.jsonl").exists()]
        requests = [json.loads(line) for line in source.read_text().splitlines()]
        assert len(requests) == 5
        assert {request["url"] for request in requests} == {"/v1/chat/completions"}
        assert "stream" not in requests[0]["body"]
        replies = [
            {"custom_id": request["custom_id"], "response": {"body": answer(request["body"])}, "error": None}
            for request in reversed(requests)
        ]
        lines = [*map(json.dumps, replies), "not json", json.dumps({"custom_id": "a stranger"})]
        source.with_suffix(".output.jsonl").write_text("\n".join(lines))
        result = run(tmp_path, url, "--resume", "r0001", code=0 if stage == 2 else 3)
    assert (result.json["verdicts"], result.json["calls"]) == (5, 15)
    assert not list(folder.glob("*.part"))


def test_manual_rows_may_be_repeated_reordered_and_reformatted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A request that failed and then succeeded is answered, the first of two answers is used, and nothing is sent again.
    monkeypatch.setattr(FolderBatches, "SETTLED", 0.0)
    write(tmp_path, *texts(4))
    folder = tmp_path / "files"
    more = ("--protocol", "single")
    run(tmp_path, "http://127.0.0.1:9", "--param", f"batch_dir={folder}", *more, code=3)
    (source,) = folder.glob("*.jsonl")
    requests = [json.loads(line) for line in source.read_text().splitlines()]
    replies = {
        request["custom_id"]: {
            "custom_id": request["custom_id"],
            "response": {"status_code": 200, "body": answer(request["body"])},
        }
        for request in requests
    }
    keys = list(replies)
    half = json.dumps(replies[keys[2]]).replace('"content": "', '"content": "\\ud83d ')  # half of a surrogate pair
    failed = {"custom_id": keys[0], "response": {"status_code": 500, "body": {"error": {"message": "no"}}}}
    other = json.loads(json.dumps(replies[keys[1]]))
    other["response"]["body"]["choices"][0]["message"]["content"] = "The aspects present in this text are: none"
    first = [json.dumps(failed), json.dumps(replies[keys[1]]), half, json.dumps(other)]
    source.with_suffix(".errors.jsonl").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(first).encode())
    last = [json.dumps(replies[keys[3]]), json.dumps(replies[keys[0]]), json.dumps(failed)]
    source.with_suffix(".output.jsonl").write_text("\n".join(last))
    result = run(tmp_path, "http://127.0.0.1:9", "--resume", "r0001").json
    assert (result["status"], result["verdicts"], result["calls"]) == ("done", 4, 4)
    assert rows(tmp_path, "SELECT count(*) FROM attempts") == [(0,)]
    assert len([path for path in folder.glob("*.jsonl") if path.suffixes == [".jsonl"]]) == 1
    texts_of = [text for (text,) in rows(tmp_path, "SELECT text FROM replies")]
    assert not any("none" in text for text in texts_of)


class Hand:
    """A run of six documents whose requests are answered by hand."""

    def __init__(self, folder: Path) -> None:
        write(folder, *texts(6))
        self.folder = folder
        self.files = folder / "files"
        self.batch = ("--protocol", "single", "--param", f"batch_dir={self.files}")
        run(folder, "http://127.0.0.1:9", *self.batch, code=3)
        (self.source,) = self.files.glob("*.jsonl")
        requests = map(json.loads, self.source.read_text().splitlines())
        self.replies = [
            json.dumps({"custom_id": request["custom_id"], "response": {"body": answer(request["body"])}})
            for request in requests
        ]

    def put(self, lines: list[str], suffix: str = ".output.jsonl") -> Path:
        path = self.source.with_suffix(suffix)
        path.write_text("\n".join(lines) + "\n")
        return path

    def resume(self, run_id: str = "r0001") -> CommandResult:
        return run(self.folder, "http://127.0.0.1:9", "--resume", run_id, code=None)


def test_file_without_replies_to_the_batch_is_named_and_the_batch_stays_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FolderBatches, "SETTLED", 0.0)
    hand = Hand(tmp_path)
    strangers = [reply.replace('"custom_id": "', '"custom_id": "x') for reply in hand.replies]
    for wrong in (strangers, hand.source.read_text().splitlines(), ["id,text"], [f"[{', '.join(hand.replies)}]"]):
        path = hand.put(wrong)
        result = hand.resume()
        assert (result.code, result.json["verdicts"]) == (3, 0)
        assert f"6 requests of a batch are in {hand.source}; {path.name} has no reply to them" in result.stderr
    hand.put(hand.replies)
    assert hand.resume().json["verdicts"] == 6
    assert len(list(hand.files.iterdir())) == 2


def test_copy_of_a_half_written_file_does_not_end_the_batch(tmp_path: Path) -> None:
    hand = Hand(tmp_path)
    for suffix in (".output.jsonl", ".copy.jsonl"):
        hand.put(hand.replies[:3], suffix)
    result = hand.resume()
    assert result.json["verdicts"] == 0
    assert f"6 requests of a batch are in {hand.source}, 3 are answered" in result.stderr
    hand.put(hand.replies)
    assert hand.resume().json["verdicts"] == 6


def test_late_replies_in_the_file_of_an_earlier_batch_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A slow program pauses for longer than a file takes to settle, and the missing requests are written again.
    monkeypatch.setattr(FolderBatches, "SETTLED", 0.0)
    hand = Hand(tmp_path)
    hand.put(hand.replies[:2])
    assert "4 requests of a batch are in" in hand.resume().stderr
    hand.put(hand.replies[:3])
    monkeypatch.setattr(FolderBatches, "SETTLED", 60.0)
    assert "4 requests of a batch are in" in (waiting := hand.resume()).stderr
    assert ", 1 is answered" in waiting.stderr
    hand.put(hand.replies)
    result = hand.resume().json
    assert (result["status"], result["verdicts"], result["calls"]) == ("done", 6, 6)


def test_replies_in_a_file_with_another_name_are_used(tmp_path: Path) -> None:
    hand = Hand(tmp_path)
    (hand.files / "answers.jsonl").write_text("\n".join(hand.replies))
    assert hand.resume().json["verdicts"] == 6


def test_run_names_its_own_file_and_not_one_of_another_run(tmp_path: Path) -> None:
    hand = Hand(tmp_path)
    other = run(tmp_path, "http://127.0.0.1:9", *hand.batch, "--param", "temperature=0.3", code=3)
    assert f"6 requests of a batch are in {hand.files / 'r0002-'}" in other.stderr
    for run_id in ("r0001", "r0002"):
        assert f"6 requests of a batch are in {hand.files / run_id}-" in hand.resume(run_id).stderr


def test_command_for_the_file_of_a_batch_has_the_whole_path_of_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path, *texts(1))
    result = run(tmp_path, "http://127.0.0.1:9", "--protocol", "single", "--param", "batch_dir=~/files", code=3)
    assert f"vllm run-batch -i {tmp_path}/files/" in result.stderr


def test_run_leaves_the_file_of_a_run_with_another_folder_open(tmp_path: Path) -> None:
    hand = Hand(tmp_path)
    run(tmp_path, "http://127.0.0.1:9", *hand.batch[:3], f"batch_dir={tmp_path / 'others'}", code=3)
    hand.put(hand.replies)
    assert hand.resume().json["verdicts"] == 6


def test_run_waits_for_the_file_of_a_run_that_names_its_folder_by_another_path(tmp_path: Path) -> None:
    hand = Hand(tmp_path)
    link = tmp_path / "link"
    link.symlink_to(hand.files)
    other = run(tmp_path, "http://127.0.0.1:9", *hand.batch[:3], f"batch_dir={link}", code=3)
    assert hand.source.name in other.stderr
    assert list(hand.files.iterdir()) == [hand.source]


def test_run_with_a_folder_leaves_a_batch_at_the_server_open(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(3))
    configure(server, hold=True)
    run(tmp_path, server, "--protocol", "single", "--param", "batch_wait=0", code=3)
    folder = run(tmp_path, server, "--protocol", "single", "--param", f"batch_dir={tmp_path / 'files'}", code=3)
    assert "3 requests of a batch are in" in folder.stderr
    assert "does not know the batch" not in run(tmp_path, server, "--resume", "r0001", code=3).stderr
    configure(server, hold=False)
    assert resume_until_done(tmp_path, server).json["calls"] == 3
    assert stats(server)["sizes"] == [3]


def test_unchanged_files_are_read_once_and_changed_ones_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[bytes] = []

    def read(line: bytes) -> tuple[str, Mapping[str, Any]] | None:
        lines.append(line)
        return read_row(line)

    monkeypatch.setattr(batch_servers, "read_row", read)
    for name in ("mark", "mark.output"):
        (tmp_path / f"{name}.jsonl").write_text('{"custom_id": "a", "response": {}}\n')
    folder = FolderBatches(tmp_path)

    def look() -> tuple[int, int]:
        answered = asyncio.run(folder.status("mark.jsonl", "ab")).answered
        return answered, len(lines)

    assert [look(), look()] == [(1, 1), (1, 1)]
    (tmp_path / "mark.output.jsonl").write_text('{"custom_id": "a", "response": {}}\n{"custom_id": "b", "error": {}}\n')
    assert look() == (2, 3)


def test_batch_of_a_project_file_leaves_the_folder_neither_for_its_input_nor_for_its_output(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.jsonl").write_text('{"custom_id": "a", "response": {}}\n')
    (tmp_path / "files").mkdir()
    folder = FolderBatches(tmp_path / "files")
    state = asyncio.run(folder.status("../elsewhere.jsonl", "a"))
    assert (state.ended, state.answered) == (True, 0)

    async def rows() -> None:
        async for _ in folder.rows(str(tmp_path / "elsewhere.jsonl")):
            pass

    with pytest.raises(FileNotFoundError):
        asyncio.run(rows())


def test_folder_that_cannot_be_written_pauses_the_run(tmp_path: Path) -> None:
    write(tmp_path, *texts(1))
    (tmp_path / "files").write_text("a file")
    paused = run(tmp_path, "http://127.0.0.1:9", "--param", f"batch_dir={tmp_path / 'files'}", code=3)
    assert paused.json["status"] == "paused"
    assert str(tmp_path / "files") in paused.stderr


def test_error_rows_of_vllm_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FolderBatches, "SETTLED", 0.0)
    write(tmp_path, *texts(3))
    folder = tmp_path / "files"
    url = "http://127.0.0.1:9"
    paused = run(tmp_path, url, "--protocol", "single", "--param", f"batch_dir={folder}", code=3)
    (source,) = folder.glob("*.jsonl")
    assert f"-o {source.with_suffix('.output.jsonl')} --model m" in paused.stderr
    missing, long, broken = (json.loads(line)["custom_id"] for line in source.read_text().splitlines())

    def row(key: str, status: int, message: str, kind: str, param: str | None) -> str:
        error = {"error": {"message": message, "type": kind, "param": param, "code": status}}
        response = {"status_code": status, "request_id": "vllm-batch-b02245318e55fa33", "body": None}
        return json.dumps({"id": "vllm-87b8625abf3a4adb", "custom_id": key, "response": response, "error": error})

    context = (
        "This model's maximum context length is 512 tokens. However, your prompt contains at least 513 input tokens, "
        "which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. "
        "(parameter=input_tokens, value=513)"
    )
    failed = [
        row(missing, 404, "The model `m` does not exist. Valid aliases: <path>", "NotFoundError", "model"),
        row(long, 400, context, "BadRequestError", "input_tokens"),
        row(broken, 500, "EngineCore encountered an issue.", "InternalServerError", None),
    ]
    source.with_suffix(".output.jsonl").write_text("\n".join(failed) + "\n")
    result = run(tmp_path, url, "--resume", "r0001", code=3)
    repeated = "the server fault as it is, the long one with a lower output limit"
    assert "2 requests of a batch are in" in result.stderr, repeated
    assert "An earlier reply failed: s answered 500 for m: EngineCore encountered an issue." in result.stderr
    kinds = rows(tmp_path, "SELECT kind FROM attempts ORDER BY kind")
    assert kinds == [("context too long",), ("no such model",), ("server fault",)]


def test_builtin_model_is_called_directly_in_a_batch_run(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(3))
    result = run(tmp_path, server, "--role", "extractor=builtin/lexical", "--role", "critic=builtin/lexical").json
    assert (result["verdicts"], result["calls"]) == (3, 9)
    assert stats(server)["sizes"] == [3]


def test_pause_ends_the_calls_of_models_without_a_batch_api() -> None:
    world = World(delay=0.05)
    batch_settings = settings(engine=EngineSettings(name="batch"), concurrency=2)
    dependencies = Dependencies(world.load, world, world, world, world.events.append)

    async def nothing(*_: object) -> tuple[BatchJob, ...]:
        return ()

    async def paused() -> RunStatus:
        batches, jobs = (
            SimpleNamespace(batchable=lambda _model: False, close=nothing),
            SimpleNamespace(open_jobs=nothing),
        )
        engine = batch_engine.BatchEngine(world.work(batch_settings, count=12), dependencies, batches, jobs)  # type: ignore[arg-type]
        asyncio.get_running_loop().call_later(0.12, engine.pause, StopReason("user", "enough"))
        return await engine.run()

    assert asyncio.run(paused()).state == "paused"
    assert world.cancelled == 0
    assert len(world.replies) == len(world.requested) < 12


@pytest.mark.parametrize(("waiting", "reachable"), [(True, True), (False, True), (True, False)])
def test_stop_cancels_the_batches_of_the_run_also_while_it_starts(waiting: bool, reachable: bool) -> None:
    world = World()
    work = world.work(settings("single", engine=EngineSettings(name="batch")), count=1)
    cancelled: list[str] = []

    async def open_jobs(_folder: str) -> tuple[BatchJob, ...]:
        return tuple(
            BatchJob(f"{run_id}-1", run_id, ROLE_MODEL, ("k",), remote_id=f"batch of {run_id}")
            for run_id in ("r1", "r2")
        )

    async def cancel(batch: str) -> None:
        if not reachable:
            raise errors.Unreachable("s is not reachable.", "")
        cancelled.append(batch)

    async def server(*_: object) -> SimpleNamespace:
        return SimpleNamespace(cancel=cancel)

    async def close() -> None:
        pass

    async def stopped() -> RunStatus:
        batches = SimpleNamespace(server=server, close=close, batchable=lambda _model: True)
        dependencies = Dependencies(world.load, world, world, world, world.events.append)
        engine = batch_engine.BatchEngine(work, dependencies, batches, SimpleNamespace(open_jobs=open_jobs))  # type: ignore[arg-type]

        async def stop(*_: object, **__: object) -> None:
            engine.stop(StopReason("user", "enough"))
            await asyncio.sleep(0)

        if waiting:
            engine._submit_stage = stop  # type: ignore[method-assign]
        else:
            await stop()
        return await engine.run()

    status = asyncio.run(stopped())
    assert status.state == "stopped"
    assert cancelled == ["batch of r1"] * reachable
    assert ("1 batch at " in status.message) is not reachable


def test_call_that_a_batch_leaves_no_budget_for_is_deferred(tmp_path: Path) -> None:
    world = World(price=0.01)
    batch_settings = settings("single", engine=EngineSettings(name="batch"), budget_usd=1.0)
    dependencies = Dependencies(world.load, world, world, world, world.events.append)
    batches = SimpleNamespace(batchable=lambda _model: False)

    async def submit() -> list[tuple[object, list[str], int]]:
        engine = batch_engine.BatchEngine(world.work(batch_settings, count=1), dependencies, batches, SimpleNamespace())  # type: ignore[arg-type]
        outcomes = []
        for held in (0.995, 0.0):
            engine.budget.held = held
            await engine._submit_stage(["d0"], tmp_path)
            outcomes.append((engine.pending_state, list(engine._deferred), len(world.verdicts)))
        engine.budget.spent = 0.995
        await engine._submit_stage(["d1"], tmp_path)
        return [*outcomes, (engine.pending_state, list(engine._deferred), len(world.verdicts))]

    assert asyncio.run(submit()) == [(None, ["d0"], 0), (None, [], 1), ("paused", [], 1)]


def test_parameter_of_another_engine_is_rejected(tmp_path: Path) -> None:
    write(tmp_path, "Text.")
    result = annotate(tmp_path, "--param", "batch_wait=3", code=2)
    assert "--engine" in result.stderr


def test_batch_that_a_live_run_made_needless_is_cancelled_and_what_it_billed_is_counted(
    tmp_path: Path, server: str
) -> None:
    write(tmp_path, *texts(4))
    options = ("--protocol", "single", "--price", "s/m=1/1")
    configure(server, hold=True)
    run(tmp_path, server, *options, "--param", "batch_wait=0", code=3)
    live = run(tmp_path, server, *options, engine="live")
    assert "(r0001) is paused with open batches at s. Resume it first" in live.stderr
    assert live.json["calls"] == 4
    done = run(tmp_path, server, *options, "--resume", "r0001").json
    assert (done["status"], done["verdicts"], done["calls"], done["cost_usd"]) == ("done", 4, 0, 0)
    assert stats(server)["statuses"] == ["cancelled"]
    assert rows(tmp_path, "SELECT outcome FROM batches") == [("collected",)]


def test_replies_of_a_needless_batch_that_has_ended_are_costs_of_its_run(tmp_path: Path, server: str) -> None:
    write(tmp_path, *texts(4))
    options = ("--protocol", "single", "--price", "s/m=1/1")
    configure(server, hold=True)
    run(tmp_path, server, *options, "--param", "batch_wait=0", code=3)
    live = run(tmp_path, server, *options, engine="live").json
    configure(server, hold=False, finish=True)
    done = run(tmp_path, server, *options, "--resume", "r0001").json
    assert (done["calls"], done["cached_calls"], done["prompt_tokens"]) == (0, 4, live["prompt_tokens"])
    assert done["cost_usd"] == pytest.approx(live["cost_usd"] / 2), "a batch costs half"
    assert rows(tmp_path, "SELECT DISTINCT run_id, kind FROM attempts") == [("r0001", "paid twice")]
