"""Measure the throughput of a run relative to the ideal: N documents x 3 chained streamed calls on the mock server.

The ideal is ``calls x hold / slots``. The same calls are also sent with aiohttp alone, which shows the limit of the
machine and the mock, and with the openai package's AsyncOpenAI; both without debates, parsing or a store. Compare only
ratios within one round, because machines and their load differ.

    python -m tests.benchmarks.throughput [--documents 1000] [--slots 64] [--rounds 1] [--watch] [--faults]
    python -m tests.benchmarks.throughput --builtin [--documents 1000] [--rounds 1]

``--watch`` follows the run over the studio's live route in the same process, as an open Run page does. ``--builtin``
compares processor time: a run of the built-in model on variants of the sample hotels, as a multiple of a bare loop that
only writes the three replies about each document. From 1,000 documents on, worker processes debate.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path

import aiohttp
import orjson

from core import baseline
from core.codebook import Codebook, Label, load_yaml
from core.debate.turns import Reading, Reply, Request
from core.documents import Document
from core.engine.preflight import probe_role_models
from core.files import shipped_folder
from core.llm.connections import parse_connection
from core.runs import RoleModel
from core.services.project_session import ProjectSession
from core.services.runs import planning
from core.services.workspace import Workspace
from tests.servers.running import free_port, mock_llm

TTFT, TPT, TOKENS = 0.050, 0.005, 20
LABELS = ("Service", "Cleanliness", "Location", "Rooms", "Food", "Value", "Noise", "Facilities")
Call = Callable[[str], Awaitable[None]]

WATCHER = """
import asyncio, sys, aiohttp
async def main(port, run):
    address = f"http://127.0.0.1:{port}"
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(f"{address}/moot/live", max_msg_size=0) as socket:
            await socket.send_json({"type": "watch", "run": run, "document": None, "cursors": {}})
            received = 0
            async for message in socket:
                received += 1
                print(received, flush=True)
asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
"""


def cpu() -> float:
    """Return the processor seconds of this process and of its children that have ended."""
    both = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in both)


def measured(work: Callable[[], object], ideal: float, name: str) -> float:
    """Do the work and print its time relative to the ideal; return the ratio."""
    began, before = time.monotonic(), cpu()
    summary = work()
    ratio = (time.monotonic() - began) / ideal
    print(f"  {name}: {ratio:.2f} x ideal, {cpu() - before:.1f} cpu s{f'; {summary}' if summary else ''}", flush=True)
    return ratio


async def chains(call: Call, documents: int, slots: int) -> None:
    """Send three calls per document, one after another, with ``slots`` calls at once."""
    gate = asyncio.Semaphore(slots)
    queue = iter(range(documents))

    async def worker() -> None:
        for index in queue:
            for stage in range(3):
                async with gate:
                    await call(f"{stage} document {index} " * 100)

    await asyncio.gather(*(worker() for _ in range(slots * 2)))


async def over_aiohttp(url: str, documents: int, slots: int) -> None:
    """Send the calls with aiohttp."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def call(content: str) -> None:
            body = {"model": "mock", "stream": True, "messages": [{"role": "user", "content": content}]}
            async with session.post(f"{url}/v1/chat/completions", data=orjson.dumps(body)) as response:
                async for line in response.content:
                    if line.startswith(b"data: {"):
                        orjson.loads(line[6:])

        await chains(call, documents, slots)


async def over_openai(url: str, documents: int, slots: int) -> None:
    """Send the calls with the openai package."""
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none") as client:  # pragma: allowlist secret

        async def call(content: str) -> None:
            stream = await client.chat.completions.create(
                model="mock", messages=[{"role": "user", "content": content}], stream=True
            )
            async for _chunk in stream:
                pass

        await chains(call, documents, slots)


@contextmanager
def watcher(session: ProjectSession, run_id: str) -> Iterator[None]:
    """Serve the live route in this process, and follow the run from another process."""
    import uvicorn
    from starlette.applications import Starlette

    from app.api import live_socket

    port = free_port()
    app = Starlette(routes=live_socket.routes(lambda name: (session, name)))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    follower = subprocess.Popen([sys.executable, "-c", WATCHER, str(port), run_id], stdout=subprocess.PIPE, text=True)
    assert follower.stdout is not None
    follower.stdout.readline()
    try:
        yield
    finally:
        follower.terminate()
        received = follower.communicate()[0].split()
        print(f"  the watcher received {received[-1] if received else 0} messages")
        server.should_exit = True
        thread.join()


def prepare(workspace: Workspace, path: Path, documents: int, slots: int) -> tuple[ProjectSession, str]:
    """Return the session and the id of a new run of ECJ debates on the connection "mock"."""
    session = workspace.open(path)
    texts = (
        Document(str(i), {"text": f"Text {i}: the staff and the room and the food. " * 8}, i) for i in range(documents)
    )
    session.store.documents.add(texts)
    codebook = Codebook(unit="review", labels=tuple(Label(name=name) for name in LABELS))
    plan = planning.Plan(default_model=RoleModel(connection="mock", model="mock"), concurrency=slots)
    settings = planning.build_settings(plan, codebook, 1, workspace.models)
    row = planning.create_runs(session, settings, session.store.documents.ids())[0]
    workspace.engine.submit(probe_role_models(settings, workspace.models)).result()
    return session, row.run_id


def moot(url: str, documents: int, slots: int, folder: Path, ideal: float, *, watch: bool) -> float:
    """Run ECJ debates with the same number of calls, and store every reply; return the ratio to the ideal."""
    workspace = Workspace()
    workspace.models.add(parse_connection("mock", f"{url}/v1"))
    session, run_id = prepare(workspace, folder / "benchmark.duckdb", documents, slots)

    def work() -> str:
        status = session.start_or_resume(run_id).result()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return f"{status.verdicts} verdicts, {status.failed} failed, {status.calls} calls, {peak:.0f} MB at most"

    if watch:
        with watcher(session, run_id):
            ratio = measured(work, ideal, "moot, watched")
    else:
        ratio = measured(work, ideal, "moot")
    workspace.close()
    return ratio


def hotels(documents: int) -> list[Document]:
    """Return sample hotel reviews in the order of the file, repeated with a number that makes each text unique."""
    with (shipped_folder("sample_data") / "hotel_reviews.csv").open(encoding="utf-8", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    return [
        Document(str(i), {"text": f"Stay {i}. {text}"}, i) for i, text in enumerate(islice(cycle(texts), documents))
    ]


def bare_baseline(codebook: Codebook, documents: list[Document]) -> None:
    """Write extractor's, critic's and judge's reply about each document.

    Each sees the decision of the role before it. Without prompts, reading and a store.
    """
    for document in documents:
        inputs: dict[str, Reply] = {}
        named = baseline.select(codebook, document.text)
        reading = Reading({item: item in named for item in codebook.items})
        for role, name in (("extractor", "extraction"), ("critic", "critique"), ("judge", "ruling")):
            text = baseline.write_reply(Request(role, (), dict(inputs), form="labels"), codebook, document)
            inputs[name] = Reply(text, reading=reading)


def builtin(documents: int, folder: Path) -> None:
    """Compare a run of the built-in model with the bare loop."""
    codebook = load_yaml((shipped_folder("sample_data") / "hotel_aspects.yaml").read_text(encoding="utf-8"))
    texts = hotels(documents)
    workspace = Workspace()
    session = workspace.open(folder / "builtin.duckdb")
    session.store.documents.add(texts)
    settings = planning.build_settings(planning.Plan(), codebook, 1, workspace.models)
    row = planning.create_runs(session, settings, session.store.documents.ids())[0]
    before, began = cpu(), time.monotonic()
    session.start_or_resume(row.run_id).result()
    run, seconds = cpu() - before, time.monotonic() - began
    workspace.close()
    before = cpu()
    bare_baseline(codebook, texts)
    bare = cpu() - before
    print(
        f"  built-in model: {run / bare:.1f} times the processor time of the bare loop; {documents / run:.0f} and "
        f"{documents / bare:.0f} documents per processor second; {documents / seconds:.0f} documents per second",
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--faults", action="store_true", help="3%% 429, 2%% 500, 2%% drops, 1%% malformed")
    parser.add_argument("--builtin", action="store_true", help="the built-in model instead of the mock server")
    options = parser.parse_args()
    if options.builtin:
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory() as folder:
                builtin(options.documents, Path(folder))
        return
    flags: dict[str, object] = {"slots": options.slots, "ttft": TTFT, "tpt": TPT, "tokens": TOKENS}
    ideal = options.documents * 3 * (TTFT + TOKENS * TPT) / options.slots
    faults = {"p-429": 0.03, "p-500": 0.02, "p-drop": 0.02, "p-malformed": 0.01, "retry-after": 0.2}
    for number in range(options.rounds):
        print(f"round {number + 1}, ideal {ideal:.2f} s", flush=True)
        # Moot is first, because peak memory is measured for the whole process
        with mock_llm(**flags, **(faults if options.faults else {})) as url, tempfile.TemporaryDirectory() as folder:
            of_moot = moot(url, options.documents, options.slots, Path(folder), ideal, watch=options.watch)
            with urllib.request.urlopen(f"{url}/stats") as response:
                stats = json.load(response)
        print("  server:", {name: stats[name] for name in ("calls", "ok", "faults", "utilisation", "late_ms")})
        if not options.faults:
            size = (options.documents, options.slots)
            with mock_llm(**flags) as url:
                measured(lambda url=url, size=size: asyncio.run(over_aiohttp(url, *size)), ideal, "bare aiohttp")
            with mock_llm(**flags) as url:
                bare = measured(
                    lambda url=url, size=size: asyncio.run(over_openai(url, *size)), ideal, "bare AsyncOpenAI"
                )
            print(f"  moot takes {of_moot / bare:.2f} of bare AsyncOpenAI's time")


if __name__ == "__main__":
    main()
