"""Soak test: a long run under faults, with the Run page open in chromium and a simulated reviewer.

``Soak`` starts the studio and follows one run to its end. Steps at given shares of the debates kill or suspend the
studio, change its clock, or break its server or disk. ``check`` then compares the project on disk with the confirmed
actions and expected results.
"""

from __future__ import annotations

import asyncio
import contextlib
import csv
import json
import os
import random
import re
import shutil
import signal
import statistics
import struct
import subprocess
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import duckdb
import orjson

from core.codebook import Codebook, Label
from core.documents import Document
from core.runs import ErrorHandling, RoleModel
from core.services import models
from core.services.runs import planning
from core.services.workspace import Workspace
from core.store.project import Project
from tests.benchmarks.browser import settings_in
from tests.browser.studios import ROOT, Studio, live_name

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LABELS = ("Service", "Cleanliness", "Location", "Rooms", "Food", "Value", "Noise", "Facilities")
RUN = "r0001"
REVIEWER = "Soak"
CONCURRENCY = 64
PATIENCE = 300_000
"""Longest wait for the page in milliseconds, on a busy machine."""
STUCK_SECONDS = 300
"""Longest time without a finished debate."""
MAX_SLOPE = 7.0
"""Highest growth of the studio's memory in MB per 1,000 debates, beyond that of the project file, whose blocks DuckDB
keeps in memory. Scores and lists in memory grow with the project."""
MAX_HEAP_SLOPE = 1.0
"""Highest growth of the page's heap in MB per 1,000 debates."""
SETTLING_SECONDS = 20
"""Longest time until the watcher receives the state of a resumed run."""
COMPILER = shutil.which("cc")
EXPECTED_LINE = re.compile(
    r"moot: |  You can now view your Streamlit app|  URL: |.*The fragment with id \w+ does not exist anymore"
)
"""Lines of the terminal output that are not errors. Streamlit's fragments end when the user leaves a page."""
DEBATES_PER_DECISION = 20


class Unexpected(AssertionError):
    """The soak test cannot continue."""


@dataclass
class Report:
    """Measurements and problems of a soak test."""

    debates: int = 0
    seconds: float = 0.0
    lost_at_kills: list[int] = field(default_factory=list)
    lost_at_faults: int = 0
    """Most calls in flight when a disk could not store replies."""
    opened_seconds: list[float] = field(default_factory=list)
    memory: list[tuple[int, int, float, float]] = field(default_factory=list)
    """Samples (process, finished debates, resident memory of the studio, size of the project file), sizes in MB."""
    heap: list[tuple[int, float]] = field(default_factory=list)
    """Samples (finished debates, heap in MB after a collection) of the Run page."""
    decisions: int = 0
    refused: int = 0
    """Review actions that the studio refused at first with an error."""
    attempts: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    repeated: int = 0
    unseen: int = 0
    """Finished debates that the live route never sent."""
    problems: list[str] = field(default_factory=list)

    def memory_slope(self) -> float | None:
        """Return the growth of the last process beyond that of the project file, in MB per 1,000 debates.

        The first third of its samples is left out. None if the process was too short.
        """
        return self._memory_slope(lambda size, file: size - file)

    def _memory_slope(self, measure: Callable[[float, float], float]) -> float | None:
        last = self.memory[-1][0] if self.memory else 0
        points = [(ended, measure(size, file)) for process, ended, size, file in self.memory if process == last]
        return _slope(points[len(points) // 3 :])

    def heap_slope(self) -> float | None:
        """Return the growth of the page in MB per 1,000 debates after the first third, None if too short."""
        return _slope(self.heap[len(self.heap) // 3 :])

    def lines(self) -> list[str]:
        """Return the report as text."""
        sizes = [size for _, _, size, _ in self.memory]
        slope, heap = self.memory_slope(), self.heap_slope()
        overall = self._memory_slope(lambda size, _file: size)
        faults = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self.attempts.items())) or "none"
        return [
            f"{self.debates:,} debates in {self.seconds:,.0f} s, {self.calls:,} calls; failed attempts: {faults}",
            f"answered and not on disk at each kill: {self.lost_at_kills}; repeated in all: {self.repeated}",
            f"the killed file opened in at most {max(self.opened_seconds, default=0):.2f} s",
            f"review actions confirmed: {self.decisions:,}; refused at first and repeated: {self.refused:,}",
            f"finished debates that the live route never sent: {self.unseen}",
            f"memory of the studio: {min(sizes, default=0):.0f} to {max(sizes, default=0):.0f} MB"
            + (
                ""
                if slope is None or overall is None
                else f", {overall:+.2f} MB per 1,000 debates in the last process, {slope:+.2f} beyond the project file"
            ),
            f"heap of the page: {min((size for _, size in self.heap), default=0):.1f} to "
            f"{max((size for _, size in self.heap), default=0):.1f} MB"
            + ("" if heap is None else f", {heap:+.2f} MB per 1,000 debates"),
            *(f"PROBLEM: {problem}" for problem in self.problems),
        ]


def _slope(points: Sequence[tuple[int, float]]) -> float | None:
    if len(points) < 5 or points[-1][0] - points[0][0] < 1000:
        return None
    return 1000 * statistics.linear_regression(*zip(*points, strict=True)).slope


class Soak:
    """A studio with one run of ECJ debates on a server, watched and reviewed.

    ``place`` is the folder of the project, ``url`` the base URL that the studio uses, ``server`` the address of the
    mock server's counters. ``environment`` is added to the studio's.
    """

    def __init__(
        self,
        folder: Path,
        browser: Browser,
        *,
        debates: int,
        url: str,
        server: str,
        place: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.report = Report(debates)
        self.debates = debates
        self.project = (place or folder) / "soak.duckdb"
        self._server = server
        self._clock = folder / "clock"
        self._started = time.monotonic()
        self._processes = 0
        self._sampled = 0.0
        home = folder / "home"
        home.mkdir()
        prepare(folder, self.project, debates, url)
        environment_of_run = {"HOME": str(home), **_own_clock(folder, self._clock), **(environment or {})}
        self.studio = Studio(folder, "--project", str(self.project), environment=environment_of_run)
        self._companions = Companions(self.studio, lambda: live_name(self.project))
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(PATIENCE)
        self.page: Page = context.new_page()
        self.page.on("pageerror", lambda error: self.report.problems.append(f"error in the page: {error}"))
        self.page.on("crash", lambda: self.report.problems.append("the page crashed"))

    # -- Run

    def run(self, *steps: tuple[float, Callable[[Soak], object]]) -> Report:
        """Follow the run to its end with each step at its share of the debates; check it and return the report."""
        try:
            self.start()
            for share, step in steps:
                self.until(round(share * self.debates))
                self._print(getattr(step, "func", step).__name__.replace("_", " "))
                step(self)
            self.until(self.debates)
            self._check_page()
            self._companions.stop()
        finally:
            self._companions.stop()
            self.page.context.close()
            self.studio.stop()
        self.check()
        self.report.seconds = time.monotonic() - self._started
        return self.report

    def start(self) -> None:
        """Start the studio, open the Run page and resume the run."""
        self.studio.start()
        self._processes += 1
        self.resume()
        self._companions.start()

    def resume(self) -> None:
        """Open the Run page with the printed address, and click Resume."""
        self.page.goto(self.studio.entrance)
        self.page.get_by_role("link", name="Run", exact=True).click()
        self.page.get_by_role("button", name="Resume", exact=True).first.click()
        self._wait_for_run()

    def _wait_for_run(self) -> None:
        """Wait until the page shows the run as active or finished."""
        active = self.page.get_by_role("button", name="Pause", exact=True)
        active.or_(self.page.get_by_text("All debates have finished.")).first.wait_for()

    def until(self, ended: int) -> None:
        """Wait until this many debates have finished. Raises Unexpected if the run pauses or stalls."""
        best, moved = -1, time.monotonic()
        running = moved
        while (now := self._companions.ended) < ended:
            self._sample()
            status = self._companions.status
            if status.get("state") not in ("paused", "failed", "stopped"):
                running = time.monotonic()
            elif time.monotonic() - running > SETTLING_SECONDS:
                raise Unexpected(f"the run is {status['state']}: {status['message']}\n{self.studio.log[-3000:]}")
            if now > best:
                best, moved = now, time.monotonic()
            if time.monotonic() - moved > STUCK_SECONDS:
                raise Unexpected(f"nothing finished for {STUCK_SECONDS} s: {status}\n{self.studio.log[-3000:]}")
            self.page.wait_for_timeout(100)

    def check_runs(self) -> None:
        """Raise Unexpected if the run has ended or is paused, so that a fault would not meet any call."""
        if (state := self._companions.status["state"]) != "running":
            raise Unexpected(f"the run is {state} before the fault")

    def may_lose_calls(self) -> None:
        """Accept the loss of the replies to the calls in flight."""
        self.report.lost_at_faults += CONCURRENCY

    def until_paused(self, words: str) -> None:
        """Wait until the page shows that the run is paused, with these words as the reason."""
        self.page.get_by_text(words).first.wait_for(timeout=PATIENCE)
        self.page.get_by_role("button", name="Resume", exact=True).first.wait_for()

    # -- Steps

    def kill(self) -> None:
        """Kill the studio, count the answered calls that were not stored, and start the studio again."""
        self.studio.kill()
        time.sleep(1)  # until the server has noticed the closed connections
        began = time.monotonic()
        with Project(self.project) as project:
            self.report.opened_seconds.append(time.monotonic() - began)
            kept = len(project.replies._keys)
        lost = self.statistics()["ok"] - kept - sum(self.report.lost_at_kills)
        self.report.lost_at_kills.append(lost)
        if lost > 2 * CONCURRENCY:
            self.report.problems.append(f"{lost} answered calls were not on disk after a kill")
        self.studio.start()
        self._processes += 1
        self.resume()

    def stop_and_continue(self, seconds: float = 20.0) -> None:
        """Suspend the studio, as a sleeping laptop does, and continue it."""
        os.kill(self.studio.pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(self.studio.pid, signal.SIGCONT)

    def stop_server(self, seconds: float = 10.0) -> None:
        """Suspend the model server for some seconds."""
        pid = self.statistics()["pid"]
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)

    def set_clock(self, hours: int) -> None:
        """Shift the studio's wall clock by this many hours from now, and check the shift."""
        with self._clock.open("r+b") as file:
            file.write(struct.pack("l", hours * 3600))
        if not COMPILER:
            self._print("no C compiler: the clock is not changed")
            return
        self.page.wait_for_timeout(2500)
        offset = (self._companions.clock() - time.time()) / 3600
        if abs(offset - hours) > 0.1:
            self.report.problems.append(f"the clock of the studio is off by {offset:.1f} h, not by {hours} h")

    def look_around(self) -> None:
        """Visit other pages and return to the Run page."""
        for name in ("Review", "Evaluate", "Data", "Run"):
            self.page.get_by_role("link", name=name, exact=True).click()
            self.page.locator(".st-key-current-page", has_text=name).wait_for()
            self.page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
        self.page.reload()
        self._wait_for_run()

    def continue_with_copy(self, words: str) -> None:
        """Wait until the page reports the faulty file, save a copy with its button, and resume the run in the copy."""
        self.page.get_by_text(words).first.wait_for(timeout=PATIENCE)
        self.page.get_by_role("button", name="Save a copy and continue with it").click()
        saved = self.page.get_by_text("The project was saved as")
        saved.wait_for(timeout=PATIENCE)
        self.project = Path(saved.inner_text().split("saved as ")[1].strip())
        # A snapshot has the last finished debates only, so the watcher connects before more finish.
        self._companions.reconnect()
        self.resume()

    # -- Measurements

    def statistics(self) -> dict[str, Any]:
        """Return the counters of the server."""
        with urllib.request.urlopen(f"{self._server}/stats") as response:
            counters: dict[str, Any] = json.load(response)
            return counters

    def _sample(self) -> None:
        if time.monotonic() < self._sampled + 2:
            return
        ended = self._companions.ended
        size = _resident(self.studio.pid)
        self.report.memory.append((self._processes, ended, size, self.project.stat().st_size / 1e6))
        step = max(1, self.debates // 20)
        if not self.report.heap or ended // step > self.report.heap[-1][0] // step:
            client = self.page.context.new_cdp_session(self.page)
            client.send("HeapProfiler.collectGarbage")
            heap = self.page.evaluate("performance.memory.usedJSHeapSize") / 1e6
            client.detach()
            self.report.heap.append((ended, heap))
            self._print(f"studio {size:.0f} MB, page {heap:.1f} MB, {len(self._companions.confirmed):,} actions saved")
        self._sampled = time.monotonic()

    def _print(self, text: str) -> None:
        print(f"{time.monotonic() - self._started:6.0f} s  {self._companions.ended:6,} debates  {text}", flush=True)

    # -- Checks

    def _check_page(self) -> None:
        """Check that the page shows all debates as finished."""
        self.page.get_by_text("All debates have finished.").wait_for()
        done = self.page.locator(f".moot-run-status [role=progressbar][aria-valuenow='{self.debates}']")
        done.wait_for()
        self.report.unseen = self.debates - len(self._companions.seen)

    def check(self) -> None:
        """Check the closed project, the report and the log."""
        report, counters = self.report, self.statistics()
        confirmed = self._companions.confirmed
        report.decisions, report.refused = len(confirmed), self._companions.refused
        report.calls, report.repeated = counters["calls"], counters["repeats"]
        with contextlib.closing(duckdb.connect(str(self.project), read_only=True)) as database:

            def one(sql: str) -> Any:
                return database.execute(sql).fetchall()[0][0]

            def expect(what: str, value: object, wanted: object) -> None:
                if value != wanted:
                    report.problems.append(f"{what}: {value}, not {wanted}")

            report.attempts = dict(database.execute("SELECT kind, count(*) FROM attempts GROUP BY kind").fetchall())
            expect("state of the run", one("SELECT state FROM runs"), "done")
            expect("seconds of the run are positive", one("SELECT seconds > 0 FROM runs"), True)
            expect("verdicts", one("SELECT count(*) FROM verdicts"), self.debates)
            expect(
                "documents without a verdict",
                one("SELECT count(*) FROM run_documents ANTI JOIN verdicts USING (run_id, document_id)"),
                0,
            )
            expect("failed debates", one("SELECT count(*) FROM verdicts WHERE status = 'failed'"), 0)
            expect(
                "debates with missing or repeated turns",
                one(
                    "SELECT count(*) FROM (SELECT document_id FROM turns WHERE NOT superseded GROUP BY document_id "
                    "HAVING count(*) <> max(turn) + 1 OR count(DISTINCT turn) <> count(*) OR count(*) < 3)"
                ),
                0,
            )
            expect("debates without turns", one("SELECT count(*) FROM verdicts ANTI JOIN turns USING (document_id)"), 0)
            expect("turns without a stored reply", one("SELECT count(*) FROM turns ANTI JOIN replies USING (key)"), 0)
            expect("stored replies without a turn", one("SELECT count(*) FROM replies ANTI JOIN turns USING (key)"), 0)
            once = Counter(
                key
                for (key,) in database.execute("SELECT json_extract_string(payload, '$.once') FROM events").fetchall()
            )
            missing = [key for key in confirmed if not once[key]]
            expect("confirmed review actions that are not in the project", len(missing), 0)
            values = {
                (document, item): json.loads(value)
                for document, item, value in database.execute(
                    "SELECT document_id, item, value FROM person_reviews"
                ).fetchall()
            }
            wrong = [key for key, value in self._companions.decided.items() if values.get(key) != value]
            expect("decisions with another value", len(wrong), 0)
            stored = one("SELECT count(*) FROM replies")
        if (slope := report.memory_slope()) is not None and slope > MAX_SLOPE:
            report.problems.append(f"the studio grows by {slope:.1f} MB per 1,000 debates")
        if (slope := report.heap_slope()) is not None and slope > MAX_HEAP_SLOPE:
            report.problems.append(f"the page grows by {slope:.1f} MB per 1,000 debates")
        late = sum(report.attempts.get(kind, 0) for kind in ("stalled", "timed out", "cut stream", "cancelled"))
        most = sum(report.lost_at_kills) + report.lost_at_faults + late
        if report.repeated > most:
            report.problems.append(f"{report.repeated} calls were repeated, but at most {most} were lost")
        if counters["ok"] - stored > most:
            report.problems.append(f"{counters['ok'] - stored} answers are not stored, but at most {most} were lost")
        if report.unseen > CONCURRENCY * (len(report.lost_at_kills) + 1):
            report.problems.append(f"the live route never sent {report.unseen} finished debates")
        leftovers = [path.name for path in self.project.parent.glob(f"{self.project.name}.*")]
        if unknown := [name for name in leftovers if not name.endswith(".lock")]:
            report.problems.append(f"files left behind: {unknown}")
        report.problems += [f"log: {line}" for line in _unexpected(self.studio.log)[:20]]
        report.problems += self._companions.problems[:20]


def _unexpected(log: str) -> list[str]:
    lines = (line for line in log.splitlines() if line.strip())
    return [line for line in lines if not EXPECTED_LINE.match(line)]


def _resident(pid: int) -> float:
    """Return the memory of a process in MB."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def _own_clock(folder: Path, file: Path) -> dict[str, str]:
    """Return environment variables that shift the clock by the file (``clock.c``); none without a compiler."""
    file.write_bytes(struct.pack("l", 0))
    if not COMPILER:
        return {}
    library = folder / "clock.so"
    source = Path(__file__).with_name("clock.c")
    subprocess.run([COMPILER, "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    return {"LD_PRELOAD": str(library), "SOAK_CLOCK": str(file)}


def prepare(folder: Path, project: Path, debates: int, url: str) -> None:
    """Create the project with its documents and a queued run, and the connection to the server."""
    with (ROOT / "sample_data" / "hotel_reviews.csv").open(encoding="utf-8", newline="") as file:
        rows = [row["text"] for row in csv.DictReader(file)]
    texts = (Document(f"d{n:05}", {"text": f"{rows[n % len(rows)]} (Stay {n}.)"}, n) for n in range(debates))
    with settings_in(folder):
        workspace = Workspace()
        models.add(workspace, "mock", url)
        session = workspace.open(project)
        session.store.documents.add(texts)
        codebook = Codebook(unit="hotel review", labels=tuple(Label(name=name) for name in LABELS))
        plan = planning.Plan(
            default_model=RoleModel(connection="mock", model="mock"),
            concurrency=CONCURRENCY,
            handling=ErrorHandling(silence=30),
        )
        settings = planning.build_settings(plan, codebook, 1, workspace.models)
        (row,) = planning.create_runs(session, settings, session.store.documents.ids())
        assert row.run_id == RUN
        workspace.close()


class Companions:
    """Simulated users in addition to the page: a watcher of the live route, and a reviewer.

    They run in a separate thread, log in again after a restart, and repeat a review action until it is answered, as the
    Review page does.
    """

    def __init__(self, studio: Studio, run: Callable[[], str]) -> None:
        self.status: dict[str, Any] = {}
        self.seen: set[str] = set()
        """Documents that the live route has reported as finished."""
        self.confirmed: set[str] = set()
        """Keys of the review actions that the studio confirmed as saved."""
        self.decided: dict[tuple[str, str], Any] = {}
        """Confirmed values by document and item."""
        self.refused = 0
        self.problems: list[str] = []
        self._studio = studio
        self._run_name = run
        """Returns the name of the run of the open project, which moves from a full disk."""
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._waiting: deque[str] = deque(maxlen=200)
        self._random = random.Random(1)
        self._loop = asyncio.new_event_loop()
        self._tasks: list[asyncio.Task[None]] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def ended(self) -> int:
        """Number of finished debates in the last status of the studio."""
        return sum(self.status.get(name, 0) for name in ("verdicts", "unresolved", "failed"))

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def reconnect(self) -> None:
        """Close the connection, and wait until the watcher has received the run of the open project."""
        self.status = {}
        if (socket := self._socket) is not None:
            asyncio.run_coroutine_threadsafe(socket.close(), self._loop).result()
        deadline = time.monotonic() + SETTLING_SECONDS
        while not self.status:
            if time.monotonic() > deadline:
                raise Unexpected("the live route does not send the run of the open project")
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop the thread, if it runs."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in self._tasks])
            self._thread.join()

    def clock(self) -> float:
        """Return the studio's wall clock in Unix seconds."""
        try:
            urllib.request.urlopen(self._studio.address)
        except urllib.error.HTTPError as refusal:
            return parsedate_to_datetime(refusal.headers["date"]).timestamp()
        raise Unexpected("the studio accepted a request without a token")

    def _run(self) -> None:
        async def work() -> None:
            self._tasks = [
                asyncio.create_task(self._repeat(self._watch)),
                asyncio.create_task(self._repeat(self._review)),
            ]
            await asyncio.gather(*self._tasks, return_exceptions=True)

        self._loop.run_until_complete(work())
        self._loop.close()

    async def _repeat(self, work: Callable[[aiohttp.ClientSession], Any]) -> None:
        """Log in and do the work; repeat this after each restart of the studio."""
        while True:
            jar = aiohttp.CookieJar(unsafe=True)
            headers = {"Origin": self._studio.address}
            try:
                async with aiohttp.ClientSession(cookie_jar=jar, headers=headers) as session:
                    await session.get(self._studio.entrance, allow_redirects=False)
                    await work(session)
            except (aiohttp.ClientError, OSError):
                pass
            except asyncio.CancelledError:
                return
            except Exception as error:
                self.problems.append(f"{work.__name__}: {error!r}")
            await asyncio.sleep(0.3)

    async def _watch(self, session: aiohttp.ClientSession) -> None:
        async with session.ws_connect(f"{self._studio.address}/moot/live", max_msg_size=0) as socket:
            self._socket = socket
            await socket.send_json({"type": "watch", "run": self._run_name(), "focus": None, "cursors": {}})
            async for message in socket:
                for event in orjson.loads(message.data).get("events", ()):
                    if event["kind"] == "run_status":
                        self.status = event
                    elif event["kind"] == "tile" and event.get("status") and event["document_id"] not in self.seen:
                        self.seen.add(event["document_id"])
                        self._waiting.append(event["document_id"])

    async def _review(self, session: aiohttp.ClientSession) -> None:
        number = 0
        while True:
            if not self._waiting or number * DEBATES_PER_DECISION > self.ended:
                await asyncio.sleep(0.2)
                continue
            document = self._waiting.pop()
            if number % 20 == 0:
                await self._ask(session, query="queue", filters={})
            shown = (await self._ask(session, query="document", document=document)).get("document")
            if not shown or not shown["values"]:
                continue  # the verdict is not on disk yet, or the run is not open for a moment
            item = self._random.choice(sorted(shown["values"]))
            value = not shown["values"][item]
            await self._act(session, action="set", document=document, item=item, value=value)
            self.decided[document, item] = value
            await self._act(session, action="submit", document=document)
            number += 1

    async def _act(self, session: aiohttp.ClientSession, **action: Any) -> None:
        """Repeat an action until the studio confirms it as saved."""
        key = uuid.uuid4().hex
        while key not in self.confirmed:
            try:
                answer = await self._ask(session, actions=[{**action, "id": key, "seconds": 2.0}])
            except (aiohttp.ClientError, OSError):
                await asyncio.sleep(0.3)
                with contextlib.suppress(aiohttp.ClientError, OSError):
                    await session.get(self._studio.entrance, allow_redirects=False)
                continue
            (saved,) = answer.get("answers", [{"problem": "gone"}])
            if "problem" in saved:
                self.refused += 1
                await asyncio.sleep(0.5)
            else:
                self.confirmed.add(key)

    async def _ask(self, session: aiohttp.ClientSession, **message: Any) -> dict[str, Any]:
        body = {"run": self._run_name(), "actor": REVIEWER, **message}
        async with session.post(f"{self._studio.address}/moot/review", json=body) as response:
            response.raise_for_status()
            answer: dict[str, Any] = await response.json()
            return answer
