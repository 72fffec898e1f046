"""Tests of a run on Ray with a process that only waits in place of the Ray job."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from aiohttp import web

from core.codebook import Codebook, Label
from core.debate.turns import Reply, Usage
from core.documents import Document, Precedents
from core.engine import ray_engine, retries
from core.engine.base_engine import LOADED_AT_ONCE
from core.engine.event_loop import start_python
from core.engine.interfaces import Dependencies, EmbedTexts
from core.engine.live_engine import LiveEngine
from core.engine.pending_turns import Debate, find_reply
from core.engine.ray_engine import RayEngine
from core.engine.ray_worker import DebateWorker, FolderReplyStore, append_replies
from core.errors import UsageError
from core.llm.connections import Connection, Limits, parse_connection
from core.llm.model_library import ModelLibrary
from core.runs import EngineSettings, RoleModel, StopReason
from core.services.runs import planning
from tests.core.engine.fakes import World, find_service, settings
from tests.servers.running import free_port
from tests.servers.scripted import Scripted, reply_with


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def engine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RayEngine:
    """An engine whose job waits for a minute."""
    monkeypatch.setattr(ray_engine, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(ray_engine, "require_ray", lambda _settings: None)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)

    async def start_job(*_arguments: str, env: object, **options: object) -> asyncio.subprocess.Process:
        return await start_python("-c", "import time; time.sleep(60)", **options)

    monkeypatch.setattr(ray_engine, "start_python", start_job)
    dependencies = Dependencies(world.load, world, world, world, world.events.append)
    work = world.work(settings(engine=EngineSettings(name="ray")))
    models = ModelLibrary([])
    models.own_limits["fake"] = Limits(requests_per_minute=60)
    return RayEngine(work, dependencies, models, tmp_path)


def test_reply_that_two_workers_paid_for_is_billed_for_both(world: World, engine: RayEngine) -> None:
    paid = Reply("text", usage=Usage(prompt_tokens=3), cost_usd=0.5, unix_time=1.0, key="k", run_id=engine.run_id)
    engine._make_folders("replies", "attempts")
    later = [replace(paid, unix_time=time, key=key) for time, key in ((2.0, "k"), (3.0, "other"), (4.0, "k"))]
    append_replies(engine._folder / "replies" / "a.jsonl", paid, *later[:2])
    asyncio.run(engine._merge_calls())
    append_replies(engine._folder / "replies" / "b.jsonl", later[2])
    append_replies(engine._folder / "replies" / "project.jsonl", paid)
    asyncio.run(engine._merge_calls())
    assert world.replies == {"k": paid, "other": later[1]}
    assert [(attempt.key, attempt.cost_usd, attempt.unix_time) for attempt in world.attempts] == [
        ("k", 0.5, 2.0),
        ("k", 0.5, 4.0),
    ]
    totals = engine.totals.so_far
    assert (totals.calls, totals.prompt_tokens, totals.cost_usd) == (2, 12, 2.0)
    again = RayEngine(world.work(engine.settings), engine.dependencies, ModelLibrary([]), engine._folder.parent)
    again._todo.clear()
    asyncio.run(again.run())
    assert len(world.attempts) == 2


async def load_two_texts(ids: Sequence[str]) -> list[Document]:
    """Return documents of which every second one has the same text."""
    return [Document(id, {"text": f"Text {int(id[1:]) % 2}. The staff were kind."}) for id in ids]


def test_job_has_what_the_driver_knows_of_its_servers(engine: RayEngine) -> None:
    known = engine._capabilities.get(Connection(name="fake", base_url="http://fake/v1"), "m")
    known.context, known.at = 4096, time.time()
    engine._prices.passed_on.add(("http://fake/v1", "m"))
    asyncio.run(engine._prepare([]))
    job = orjson.loads((engine._folder / "job.json").read_bytes())
    assert job["limits"]["fake"]["requests_per_minute"] == 60
    (capabilities,) = job["capabilities"]
    assert (capabilities["base_url"], capabilities["model"], capabilities["context"]) == ("http://fake/v1", "m", 4096)
    assert job["passed_on"] == [["http://fake/v1", "m"]]


def test_folder_with_the_name_of_a_run_is_kept(engine: RayEngine, tmp_path: Path) -> None:
    kept = tmp_path / engine.run_id / "in" / "thesis.txt"
    kept.parent.mkdir(parents=True)
    kept.touch()
    engine._todo.clear()
    asyncio.run(engine.run())
    assert kept.exists()
    assert not engine._folder.exists()


def test_only_the_user_can_access_the_folder_of_a_job(engine: RayEngine, tmp_path: Path) -> None:
    folder = engine._folder = tmp_path / "shared" / "r0001"
    engine._make_folders("", "replies")
    asyncio.run(engine._prepare([]))
    for path in (folder, folder / "in", folder / "job.json"):
        assert path.stat().st_mode & 0o077 == 0


def test_vectors_of_workers_cost_tokens_and_are_no_calls(engine: RayEngine) -> None:
    paid = Reply(usage=Usage(prompt_tokens=3), cost_usd=0.5, run_id=engine.run_id)
    replies = replace(paid, key="reply"), replace(paid, key="vector", finish_reason="vector")
    engine._make_folders("replies", "attempts")
    append_replies(engine._folder / "replies" / "worker.jsonl", *replies)
    asyncio.run(engine._merge_calls())
    totals = engine.totals.so_far
    assert (totals.calls, totals.prompt_tokens, totals.cost_usd) == (1, 6, 1.0)


def test_equal_requests_of_documents_are_written_out_once(engine: RayEngine, tmp_path: Path) -> None:
    engine.dependencies = replace(engine.dependencies, load_documents=load_two_texts)
    engine._make_folders("replies", "attempts")
    assert asyncio.run(engine._prepare(["d0", "d1", "d2", "d3"])) == ({"d0", "d1"}, ["d2", "d3"])
    assert pq.read_table(engine._folder / "in").column("id").to_pylist() == ["d0", "d1"]


def test_documents_with_an_equal_text_are_concluded_after_the_job(
    world: World, engine: RayEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.dependencies = replace(engine.dependencies, load_documents=load_two_texts)
    engine._todo.append("d3")
    engine.totals.so_far = engine.totals.so_far.model_copy(update={"documents": 4})
    jobs: list[list[str]] = []

    async def start_job() -> asyncio.subprocess.Process:
        """Debate the documents as a worker does."""
        jobs.append(pq.read_table(engine._folder / "in").column("id").to_pylist())
        other = World()
        run_settings = engine.settings.model_copy(update={"engine": EngineSettings()})
        work = replace(other.work(run_settings), todo=tuple(jobs[-1]))
        dependencies = Dependencies(load_two_texts, other, other, other, other.events.append)
        await LiveEngine(work, dependencies).run()
        replies = [replace(reply, run_id=engine.run_id) for reply in other.replies.values()]
        append_replies(engine._folder / "replies" / "worker.jsonl", *replies)
        rows = [
            {"id": id, "status": "verdict", "error": "", "message": "", "capabilities": "[]"} for id in other.verdicts
        ]
        pq.write_table(pa.Table.from_pylist(rows), engine._folder / "out" / "1.parquet")
        return await start_python("-c", "", stderr=asyncio.subprocess.PIPE)

    monkeypatch.setattr(engine, "_start", start_job)
    status = asyncio.run(engine.run())
    assert jobs == [["d0", "d1"]]
    assert (status.state, status.verdicts, status.calls, status.cached_calls) == ("done", 4, 6, 6)


def test_workers_have_the_unreadable_replies_that_a_retry_passes_over(world: World, engine: RayEngine) -> None:
    world.script = lambda request, *rest: "mumble" if request.role == "judge" else find_service(request, *rest)
    asyncio.run(world.run(world.work(settings(), count=1)).run())
    world.verdicts.clear()
    engine.retry_rounds = {"d0": 1}
    engine._make_folders("replies", "attempts")
    assert asyncio.run(engine._prepare(["d0"])) == ({"d0"}, [])
    worker = FolderReplyStore(engine._folder / "replies")
    worker.refresh()
    pending = Debate(Document("d0", {"text": "Text of d0. The staff were kind."}), settings(), world)
    for _ in range(3):
        found = [
            asyncio.run(find_reply(store.fetch, pending.pending[0], settings(), engine.retry_rounds))
            for store in (world, worker)
        ]
        assert found[0] == found[1]
        pending.send([found[0][1] or Reply()])


def linked(path: Path) -> None:
    path.symlink_to(path.with_name("elsewhere"), target_is_directory=True)


def another_users(path: Path) -> None:
    path.mkdir()
    os.chown(path, 12345, -1)


NEEDS_ROOT = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")


@pytest.mark.parametrize(
    ("name", "attack"),
    [
        *((name, linked) for name in (".", "replies", "attempts", "in", "out")),
        *(pytest.param(name, another_users, marks=NEEDS_ROOT) for name in (".", "replies", "attempts")),
    ],
)
def test_folder_of_another_user_is_refused(
    engine: RayEngine, tmp_path: Path, name: str, attack: Callable[[Path], None]
) -> None:
    # Another user could create it in a shared ray_dir, read the texts and add replies.
    (tmp_path / "elsewhere").mkdir()
    engine._folder = tmp_path / "r0001"
    if name != ".":
        (engine._folder / "elsewhere").mkdir(parents=True)
    attack(engine._folder / name if name != "." else engine._folder)
    with pytest.raises(UsageError, match=r"is not a folder|belongs to another user"):
        asyncio.run(engine.run())
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_file_of_results_is_read_once_it_is_complete(engine: RayEngine) -> None:
    engine._make_folders("out", "replies", "attempts")
    path = engine._folder / "out" / "1.parquet"
    row = {"id": "d0", "status": "failed", "error": "refused", "message": "Refused.", "capabilities": "[]"}
    pq.write_table(pa.Table.from_pylist([row]), path)
    complete = path.read_bytes()
    unfinished = {"d0", "d1"}
    for part in (b"", complete[:-1]):
        path.write_bytes(part)
        asyncio.run(engine._merge(unfinished))
    assert unfinished == {"d0", "d1"}
    path.write_bytes(complete)
    asyncio.run(engine._merge(unfinished))
    assert unfinished == {"d1"}


@pytest.mark.parametrize("end", ["pause", "stop"])
def test_ended_run_has_the_requested_state(world: World, engine: RayEngine, end: str) -> None:
    reason = StopReason("user", "ended by you")

    async def go() -> None:
        running = asyncio.create_task(engine.run())
        while engine.totals.in_flight == 0:
            await asyncio.sleep(0.01)
        getattr(engine, end)(reason)
        await running

    asyncio.run(go())
    assert world.states[-1] == ({"pause": "paused", "stop": "stopped"}[end], reason)


def test_server_without_vectors_pauses_the_run(
    world: World, engine: RayEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "MAX_WAIT", 0.0)
    models = ModelLibrary([parse_connection("gone", f"http://127.0.0.1:{free_port()}/v1")])
    engine.caller.models = models

    async def find_examples(document: Document, embed: EmbedTexts) -> Precedents:
        await embed(models.resolve(RoleModel.parse("gone/tiny")), [document.text])
        return {}

    engine.dependencies = replace(engine.dependencies, find_examples=find_examples)
    engine._todo.extend(f"d{number}" for number in range(3, LOADED_AT_ONCE + 10))
    asyncio.run(engine.run())
    (state, reason) = world.states[-1]
    assert (state, reason.code) == ("paused", "errors")
    assert reason.message.startswith("5 documents in a row met the same error: gone")


def test_replies_that_a_limit_known_to_workers_cut_are_used(
    world: World, engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if body["max_tokens"] > 256:
            return web.json_response({"error": {"message": "max_tokens must be at most 256"}}, status=400)
        return await reply_with("The aspects", "length")(request, body)

    async def start_job() -> asyncio.subprocess.Process:
        documents = pq.read_table(limited._folder / "in").to_pydict()
        rows = await asyncio.to_thread(DebateWorker(str(limited._folder)), documents)
        pq.write_table(pa.table(rows), limited._folder / "out" / "1.parquet")
        return await start_python("-c", "", stderr=asyncio.subprocess.PIPE)

    with Scripted(behave) as server:
        models = ModelLibrary([Connection(name="m", base_url=server.url)])
        plan = planning.Plan(protocol="single", default_model=RoleModel.parse("m/llama"))
        run_settings = planning.build_settings(plan, Codebook(labels=(Label(name="Food"),)), 1, models)
        limited = RayEngine(world.work(run_settings), replace(engine.dependencies, models=models), models, tmp_path)
        monkeypatch.setattr(limited, "_start", start_job)
        status = asyncio.run(limited.run())
    assert (status.state, status.message, status.unresolved, status.calls) == ("done", "", 3, 3)


def test_polling_leaves_no_tasks_behind(engine: RayEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    polls: list[int] = []
    merge = engine._merge

    async def count_tasks(unfinished: set[str]) -> None:
        await merge(unfinished)
        polls.append(len(asyncio.all_tasks()))
        if len(polls) == 10:
            engine.pause(StopReason("user", "paused by you"))

    monkeypatch.setattr(engine, "_merge", count_tasks)
    asyncio.run(engine.run())
    assert polls[9] == polls[0]
