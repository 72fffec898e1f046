"""Tests of worker processes: the same debates as the live engine, pauses, and the end of a worker."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from core.debate import protocols
from core.debate.events import Event, RunStatus, VerdictReached
from core.debate.turns import Turn
from core.documents import Document
from core.engine import worker_pool_engine
from core.engine.interfaces import Dependencies
from core.engine.live_engine import LiveEngine
from core.engine.worker_pool_engine import WorkerPoolEngine, debate_document, is_faster
from core.llm.model_library import ModelLibrary
from core.runs import BUILTIN, LEXICAL_MODEL, ErrorHandling, RoleModel, RunSettings, StopReason
from tests.core.engine.fakes import World, settings
from tests.each_row import each_row

BUILTIN_MODEL = RoleModel(connection=BUILTIN, model=LEXICAL_MODEL)
COUNT = 3 * worker_pool_engine.BLOCK


def builtin_settings(
    protocol: str = "ecj", given: Mapping[str, object] | None = None, **changes: object
) -> RunSettings:
    params = protocols.find(protocol).parse_params(given or {})
    roles = [role.name for role in protocols.find(protocol).roles(params)]
    return settings(protocol, params=params, role_models=dict.fromkeys(roles, BUILTIN_MODEL), **changes)


class Hotels(World):
    """Two of three documents have the same text. Their debates fill the pipe of a worker."""

    async def load(self, ids):
        texts = ("The staff were kind. " * 200, "It costs too much: the price of the room was absurd.")
        numbers = [int(id[1:]) for id in ids]
        return [
            Document(f"d{n}", {"text": texts[0] if n % 3 else f"Stay {n}. {texts[1]} {texts[0]}"}, n) for n in numbers
        ]


def execute(
    engine: type[LiveEngine | WorkerPoolEngine],
    world: World,
    on_event: Callable[[LiveEngine | WorkerPoolEngine, Event], None] = lambda _engine, _event: None,
) -> RunStatus:
    """Run 96 documents; ``on_event`` gets each event."""

    async def run() -> RunStatus:
        run_engine = engine(
            world.work(builtin_settings(), COUNT),
            Dependencies(world.load, ModelLibrary(), world, world, lambda event: on_event(run_engine, event)),
        )
        return await run_engine.run()

    return asyncio.run(run())


def untimed(turn: Turn) -> Turn:
    return replace(turn, reply=replace(turn.reply, seconds=0.0, unix_time=0.0))


@pytest.fixture
def _one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)


@each_row(
    ("protocol", "given"),
    [
        *((name, {}) for name in protocols.PROTOCOLS if name != "custom"),
        ("single", {"method": "self_refine"}),
        ("ecj", {"extra_rounds": 1}),
        ("courtroom", {"preset": "parallel-5"}),
    ],
)
def test_a_worker_debates_like_the_live_engine(protocol: str, given: dict[str, object]) -> None:
    run_settings, world, models = builtin_settings(protocol, given), Hotels(), ModelLibrary()

    async def compare() -> None:
        live = LiveEngine(world.work(run_settings, 2), Dependencies(world.load, models, world, world, lambda _: None))
        await live.run()
        for document in await world.load(["d0", "d1"]):
            turns, verdict = await debate_document(document, {}, "r1", run_settings, models)
            assert verdict.status in ("verdict", "unresolved")
            assert verdict == world.verdicts[document.id].verdict
            done = [
                pending.finished("r1", reply, run_settings.codebook.items, cached=False) for pending, reply in turns
            ]
            stored = [turn for turn in world.turns if turn.document_id == document.id]
            assert list(map(untimed, done)) == list(map(untimed, stored))

    asyncio.run(compare())


def test_worker_processes_store_what_the_live_engine_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    live, pool = Hotels(), Hotels()
    expected, status = execute(LiveEngine, live), execute(WorkerPoolEngine, pool)
    assert (status.state, status.verdicts, status.calls) == ("done", COUNT, expected.calls)
    assert (status.cached_calls, status.prompt_tokens) == (expected.cached_calls, expected.prompt_tokens)
    assert status.cached_calls > 0  # equal texts share their replies
    by_place = [{(turn.document_id, turn.turn): untimed(turn) for turn in world.turns} for world in (live, pool)]
    assert by_place[0] == by_place[1]
    assert {id: result.verdict for id, result in live.verdicts.items()} == {
        id: result.verdict for id, result in pool.verdicts.items()
    }
    assert live.replies.keys() == pool.replies.keys()


@pytest.mark.usefixtures("_one_worker")
def test_paused_run_leaves_unread_debates_and_resumes_from_its_stored_replies() -> None:
    class Slow(Hotels):
        async def commit(self, reply):
            if not self.replies:
                await asyncio.sleep(1)  # until the worker's other debates fill the buffers of this process
            await super().commit(reply)

    world = Slow()

    def pause(engine: LiveEngine | WorkerPoolEngine, event: Event) -> None:
        if isinstance(event, VerdictReached):
            engine.pause(StopReason("user", "now"))

    paused = execute(WorkerPoolEngine, world, pause)
    assert (paused.state, paused.message) == ("paused", "now")
    assert 0 < paused.verdicts < COUNT
    del world.verdicts["d0"]  # as if its verdict had not been written
    resumed = execute(WorkerPoolEngine, world)
    assert (resumed.state, resumed.verdicts) == ("done", COUNT)
    assert len(world.verdicts) == COUNT
    assert sum(not turn.cached for turn in world.turns) == len(world.replies)  # none was paid for twice


@pytest.mark.usefixtures("_one_worker")
def test_run_pauses_when_a_worker_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    start = asyncio.create_subprocess_exec

    async def note(*args, **kwargs):
        started.append(await start(*args, **kwargs))
        return started[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", note)

    def kill(_engine: LiveEngine | WorkerPoolEngine, event: Event) -> None:
        if isinstance(event, RunStatus) and started and started[-1].returncode is None:
            started[-1].kill()

    world = Hotels()
    status = execute(WorkerPoolEngine, world, kill)
    assert status.state == "paused"
    assert "a worker process ended" in status.message
    assert status.in_flight == 0
    assert [state for state, _ in world.states] == ["running", "paused"]


@pytest.mark.parametrize("sent", ["nothing", "a part of a block", "blocks"])
def test_worker_ends_silently_with_its_parent(sent: str) -> None:
    block = [
        (document, {}) for document in asyncio.run(Hotels().load([f"d{n}" for n in range(worker_pool_engine.BLOCK)]))
    ]
    message = pickle.dumps(block, pickle.HIGHEST_PROTOCOL)
    begin = b"" if sent == "nothing" else pickle.dumps(("r1", builtin_settings()), pickle.HIGHEST_PROTOCOL)
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "-m", "core.engine.worker_pool_engine"],
        input=begin + {"nothing": b"", "a part of a block": message[:-100], "blocks": message}[sent],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_short_limited_and_other_runs_stay_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    world, enough = World(), worker_pool_engine.MIN_DOCUMENTS
    assert is_faster(world.work(builtin_settings(), enough))
    assert not is_faster(world.work(builtin_settings(), enough - 1))
    assert not is_faster(world.work(builtin_settings(), enough, retry_rounds={"d0": 1}))
    assert not is_faster(world.work(builtin_settings(pace=40), enough))
    assert not is_faster(world.work(builtin_settings(handling=ErrorHandling(requests_per_minute=60)), enough))
    assert not is_faster(world.work(settings(), enough))
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert not is_faster(world.work(builtin_settings(), enough))
