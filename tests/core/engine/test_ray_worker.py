"""Test of a Ray worker, which also works without Ray."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from core.codebook import Codebook, Label
from core.debate.turns import Reply, Usage
from core.documents import Document, Precedent
from core.engine import retries
from core.engine.interfaces import FailedAttempt
from core.engine.ray_worker import (
    ATTEMPTS,
    DebateWorker,
    FolderReplyStore,
    ReplyLogReader,
    _WorkerSink,
    append_replies,
    decode_case,
    encode_case,
    take_attempts,
)
from core.llm.connections import Connection, Limits
from core.llm.model_library import ModelLibrary
from core.llm.prices import Price
from core.runs import ErrorHandling, RoleModel, RunSettings, Sampling
from core.services.runs import planning
from tests.core.engine.fakes import settings as fake_settings
from tests.servers.running import mock_llm
from tests.servers.scripted import Scripted, reply_with


def write_job(folder: Path, settings: RunSettings, **values: object) -> None:
    """Write the description of a job, whose other values are empty by default."""
    job = {
        "run_id": "r0001",
        "settings": settings.model_dump(mode="json"),
        "retry_rounds": {},
        "connections": [],
        "limits": {},
        "prices": {},
        "passed_on": [],
        "capabilities": [],
        "workers": 1,
    }
    (folder / "job.json").write_bytes(orjson.dumps(job | values))


def test_worker_writes_replies_and_failed_attempts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "MIN_WAIT", 0.0)
    plan = planning.Plan(protocol="ecj", default_model=RoleModel(connection="m", model="mock"))
    for name in ("replies", ATTEMPTS):
        (tmp_path / name).mkdir()
    with mock_llm(ttft=0, tpt=0.001, tokens=5, p_drop=0.4) as url:
        connection = Connection(name="m", base_url=f"{url}/v1")
        settings = planning.build_settings(plan, Codebook(labels=(Label(name="Food"),)), 1, ModelLibrary([connection]))
        prices = {"m/mock": Price(prompt=1, completion=1).model_dump(mode="json")}
        write_job(tmp_path, settings, connections=[connection.model_dump(mode="json")], prices=prices)
        ids = [f"d{number}" for number in range(10)]
        cases = [encode_case(Document(id, {"text": f"Text of {id}."}, number), {}) for number, id in enumerate(ids)]
        block = {"id": ids, "case": cases}
        result = DebateWorker(str(tmp_path))(block)
    assert set(result["status"]) <= {"verdict", "unresolved", "failed"}
    assert len(list(ReplyLogReader(tmp_path / "replies").new_replies())) >= 10
    attempts = take_attempts(tmp_path / ATTEMPTS)
    assert {attempt.run_id for attempt in attempts} == {"r0001"}
    assert {attempt.document_id for attempt in attempts} <= set(ids)
    assert sum(attempt.cost_usd or 0.0 for attempt in attempts) > 0, "the provider billed them"


def test_worker_knows_the_models_that_the_driver_and_its_earlier_blocks_met(tmp_path: Path) -> None:
    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if "seed" in body:
            return web.json_response({"error": {"message": "seed is not supported"}}, status=400)
        return await reply_with("The aspects present in this review are: #Food")(request, body)

    for name in ("replies", ATTEMPTS):
        (tmp_path / name).mkdir()
    with Scripted(behave) as server:
        connection = Connection(name="m", base_url=server.url)
        driver = ModelLibrary([connection])
        model = RoleModel.parse("m/llama", sampling=Sampling(seed=7))
        plan = planning.Plan(protocol="single", default_model=model)
        settings = planning.build_settings(plan, Codebook(labels=(Label(name="Food"),)), 1, driver)
        known = driver.capabilities.get(connection, "llama")
        known.context, known.at = 1024, time.time()
        driver.prices.passed_on.add((server.url, "llama"))
        write_job(
            tmp_path,
            settings,
            connections=[connection.model_dump(mode="json")],
            passed_on=list(driver.prices.passed_on),
            capabilities=driver.capabilities.to_json(),
        )
        worker = DebateWorker(str(tmp_path))
        for id in ("d0", "d1"):
            worker({"id": [id], "case": [encode_case(Document(id, {"text": f"Text of {id}."}), {})]})
    assert [("seed" in request, request["max_tokens"]) for request in server.requests] == [
        (True, 512),
        (False, 512),
        (False, 512),
    ]
    assert worker._prices.passed_on == {(server.url, "llama")}


def test_each_worker_keeps_its_share_of_the_limits(tmp_path: Path) -> None:
    (tmp_path / "replies").mkdir()
    run_settings = fake_settings(concurrency=10, handling=ErrorHandling(requests_per_minute=100, silence=7))
    limits = {"fake": Limits(tokens_per_minute=1000, at_once=2).model_dump(mode="json")}
    write_job(tmp_path, run_settings, limits=limits, workers=4)
    worker = DebateWorker(str(tmp_path))
    assert worker._run.settings.concurrency == 3
    assert worker._run.settings.handling == ErrorHandling(requests_per_minute=25, silence=7)
    assert worker._limits == {"fake": Limits(tokens_per_minute=250, at_once=1)}


REPLY = Reply(
    "text",
    usage=Usage(1, 2),
    cost_usd=0.5,
    seconds=1.0,
    unix_time=2.0,
    refused_params=("seed",),
    key="k",
    run_id="r0001",
)


def test_reader_yields_each_line_once_and_leaves_an_incomplete_line(tmp_path: Path) -> None:
    reader = ReplyLogReader(tmp_path)
    append_replies(tmp_path / "a.jsonl", REPLY)
    (tmp_path / "b.jsonl").write_text('{"key": "half', encoding="utf-8")
    assert list(reader.new_replies()) == [REPLY]
    assert list(reader.new_replies()) == []


def test_reader_skips_lines_that_were_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "project.jsonl"
    path.write_text('{"key": "half', encoding="utf-8")
    append_replies(path, REPLY, REPLY)
    assert list(ReplyLogReader(tmp_path).new_replies()) == [REPLY, REPLY]


def test_reply_of_one_worker_is_found_by_another(tmp_path: Path) -> None:
    first, other = FolderReplyStore(tmp_path), FolderReplyStore(tmp_path)
    asyncio.run(first.commit(REPLY))
    assert not other.contains("k")
    other.refresh()
    assert asyncio.run(other.fetch("k")) == REPLY


def test_failed_attempt_is_taken_once(tmp_path: Path) -> None:
    attempt = FailedAttempt("r0001", "d1", "judge", "k", "cut", "It ended.", Usage(1, 2), 0.5, "half \ud83d", 1.0, 2.0)
    _WorkerSink(tmp_path).attempt(attempt)
    (tmp_path / "half.part").write_text('{"run_id"', encoding="utf-8")
    assert take_attempts(tmp_path) == [attempt]
    assert take_attempts(tmp_path) == []


def test_document_and_examples_round_trip_without_gold() -> None:
    shown = {("item", True): (Precedent("d1", "words", {"item": True}),), ("label", "x"): ()}
    document = Document("d2", {"text": "more words"}, 7)
    gold = {"ann": {"item": True}}
    assert decode_case(encode_case(replace(document, gold=gold), shown)) == (document, shown)
