"""Tests of a process that is killed during a run: every acknowledged reply is stored."""

from __future__ import annotations

import subprocess
import sys

import pytest

from core.store.project import Project
from tests.core.store.helpers import run_values

WRITE_SCRIPT = """
import asyncio, sys
from core.store.project import Project
from tests.core.store.helpers import make_reply, make_settings, make_turn

async def main(project, run_id):
    async def one(lane):
        for number in range(100_000):
            key = f"{lane}-{number}"
            await project.replies.commit(make_reply(key, text="words " * 200))
            project.sink.turn(make_turn(run_id, key, 0, "extractor", key, values={"x": True}))
            print(key, flush=True)
    await project.sink.state(run_id, "running")
    await asyncio.gather(*(one(lane) for lane in range(8)))

project = Project(sys.argv[1])
run = project.store.runs.create(make_settings(), ["d0", "d1"])
asyncio.run(main(project, run.run_id))
"""


@pytest.mark.parametrize("lines", [3, 900])
def test_acknowledged_replies_survive_kill_9(path, lines):
    writing = subprocess.Popen([sys.executable, "-c", WRITE_SCRIPT, str(path)], stdout=subprocess.PIPE, text=True)
    acknowledged = [writing.stdout.readline().strip() for _ in range(lines)]
    writing.kill()
    acknowledged += [line.strip() for line in writing.stdout if line.endswith("\n")]
    writing.stdout.close()
    writing.wait(60)
    assert len(acknowledged) >= lines
    with Project(path) as project:
        assert all(project.replies.contains(key) for key in acknowledged)
        assert all(project.replies.get(key).text == "words " * 200 for key in acknowledged)
        run = project.store.runs.get("r0001")
        assert run.turns >= len(acknowledged)
        assert (run.state, run.message) == ("paused", "interrupted")
        assert [turn.values for turn in project.store.transcripts.of("r0001", ["d0"])] == []
        stored = project._connection.row("SELECT count(*) FROM turns")[0]
        assert len(run_values(project, "r0001")) == stored, "every turn has its values"
