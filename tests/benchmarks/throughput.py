"""How close to the ideal a run gets: N documents x 3 chained streamed calls on the mock server.

The ideal is ``calls x hold / slots``. Bare aiohttp does the same calls without debates, parsing or a store: it is what
this machine and the mock can do at all.

    python -m tests.benchmarks.throughput [--documents 1000] [--slots 64] [--faults]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import tempfile
import time
import urllib.request
from pathlib import Path

import aiohttp
import orjson

from core.codebook import Codebook, Label
from core.documents import Document
from core.llm.connections import connection
from core.runs import Seat
from core.studio import runs
from core.studio.workspace import Workspace
from tests.servers.running import mock_llm

TTFT, TPT, TOKENS = 0.050, 0.005, 20
LABELS = ("Service", "Cleanliness", "Location", "Rooms", "Food", "Value", "Noise", "Facilities")


def cpu() -> float:
    """Processor seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def bare(url: str, documents: int, slots: int) -> None:
    """The same calls over aiohttp alone."""
    gate = asyncio.Semaphore(slots)

    async def call(session: aiohttp.ClientSession, content: str) -> None:
        body = {"model": "mock", "stream": True, "messages": [{"role": "user", "content": content}]}
        async with gate, session.post(f"{url}/v1/chat/completions", data=orjson.dumps(body)) as response:
            async for line in response.content:
                if line.startswith(b"data: {"):
                    orjson.loads(line[6:])

    async def chain(session: aiohttp.ClientSession, index: int) -> None:
        for stage in range(3):
            await call(session, f"{stage} document {index} " * 100)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        queue = iter(range(documents))

        async def worker() -> None:
            for index in queue:
                await chain(session, index)

        await asyncio.gather(*(worker() for _ in range(slots * 2)))


def moot(url: str, documents: int, slots: int, folder: Path) -> dict[str, object]:
    """The same number of calls as ECJ debates, every reply committed."""
    workspace = Workspace()
    workspace.models.add(connection("mock", f"{url}/v1"))
    desk = workspace.open(folder / "benchmark.duckdb")
    texts = (
        Document(str(i), {"text": f"Text {i}: the staff and the room and the food. " * 8}, i) for i in range(documents)
    )
    desk.store.documents.add(texts)
    codebook = Codebook(unit="review", labels=tuple(Label(name=name) for name in LABELS))
    plan = runs.Plan(everyone=Seat(connection="mock", model="mock"), concurrency=slots)
    settings = runs.settle(plan, codebook, 1, workspace.models)
    row = runs.create(desk, settings, desk.store.documents.ids())[0]
    began, before = time.monotonic(), cpu()
    status = desk.go(row.run_id).result()
    seconds, used = time.monotonic() - began, cpu() - before
    workspace.close()
    return {
        "seconds": seconds,
        "cpu": used,
        "verdicts": status.verdicts,
        "failed": status.failed,
        "calls": status.calls,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--faults", action="store_true", help="3%% 429, 2%% 500, 2%% drops, 1%% malformed")
    options = parser.parse_args()
    flags: dict[str, object] = {"slots": options.slots, "ttft": TTFT, "tpt": TPT, "tokens": TOKENS}
    ideal = options.documents * 3 * (TTFT + TOKENS * TPT) / options.slots
    with mock_llm(**flags) as url:
        began, before = time.monotonic(), cpu()
        asyncio.run(bare(url, options.documents, options.slots))
        seconds, used = time.monotonic() - began, cpu() - before
        print(f"ideal {ideal:.2f} s; bare aiohttp {seconds / ideal:.2f} x ideal, {used:.1f} cpu s")
    if options.faults:
        flags |= {"p-429": 0.03, "p-500": 0.02, "p-drop": 0.02, "p-malformed": 0.01, "retry-after": 0.2}
    with mock_llm(**flags) as url, tempfile.TemporaryDirectory() as folder:
        told = moot(url, options.documents, options.slots, Path(folder))
        with urllib.request.urlopen(f"{url}/stats") as response:
            stats = json.load(response)
        ratio = float(str(told["seconds"])) / ideal
        print(f"moot {ratio:.2f} x ideal, {told['cpu']:.1f} cpu s; {told}")
        print({name: stats[name] for name in ("calls", "ok", "faults", "max_active", "utilisation") if name in stats})


if __name__ == "__main__":
    main()
