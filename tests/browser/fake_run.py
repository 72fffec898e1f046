"""A studio with simulated debates at a given pace, for tests of the frame and the live run.

    python tests/browser/fake_run.py [--port 8599] [--speed 1] [--documents 100] [--slots 20]

prints the address to open. The live run state and its events are real; only the engine and the store are simulated.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from core.codebook import Codebook, Label  # noqa: E402
from core.debate.events import Delta, RunStatus, TurnDone, TurnStarted, TurnWaiting, VerdictReached  # noqa: E402
from core.debate.turns import Reading, Reply, ReplyError, Turn, Usage, Verdict  # noqa: E402
from core.documents import Evidence  # noqa: E402
from core.runs import RoleModel  # noqa: E402
from core.services.live_state import DocumentText, LiveRunState, StoredDebate  # noqa: E402
from core.store.transcripts import FinishedDebate, FinishedPage  # noqa: E402

RUN = "run-14"
CODEBOOK = Codebook(
    name="Hotel aspects",
    labels=tuple(Label(name=name) for name in ("Cleanliness", "Service", "Price", "Location", "Food")),
)
ROLES = ("extractor", "critic", "judge")
MODELS = {
    role: RoleModel(connection="openai", model=model)
    for role, model in (("extractor", "gpt-4.1-mini"), ("critic", "claude-haiku-4-5"), ("judge", "gpt-4.1"))
}
HOSTILE = '<img src=x onerror="window.__owned=1"><script>window.__owned=1</script>'
LONG_WORD = "w" * 50_000

PIECES = {
    "Cleanliness": [
        "mould along the silicone and a hair in the tub",
        "the sheets smelled of bleach",
        "Fresh towels every day",
    ],
    "Service": [
        "the kindest people in the building",
        "we waited forty minutes for a key",
        "Reception blamed the engineer",
    ],
    "Price": ["nineteen euros for a croissant", "a resort fee nobody had mentioned", "cheaper than the hostel we left"],
    "Location": ["in the old town within five minutes", "a ten-minute taxi to anything", "the view over the harbour"],
    "Food": ["a lukewarm omelette", "the buffet closed at nine", "an excellent noodle bar next door"],
}
FILL = [
    "We stayed three nights in October.",
    "Our door was always closed softly.",
    "You hear the tram stop from bed.",
    "I would still come back, but with my own coffee.",
    "The lift failed twice — nobody minded.",
]


class Debate:
    """A made-up debate: a text and the replies of the roles."""

    def __init__(self, number: int) -> None:
        rng = random.Random(number)
        self.id = f"{number:04d}"
        names = rng.sample(list(PIECES), rng.randint(1, 4))
        self.quotes = {name: rng.choice(PIECES[name]) for name in names}
        sentences = [f"And then {quote}." for quote in self.quotes.values()] + rng.sample(FILL, 3)
        rng.shuffle(sentences)
        text = " ".join(sentences)
        if number % 7 == 3:
            text += " 🛏️ Ça va. " + HOSTILE + " " + LONG_WORD
        self.text = DocumentText(self.id, {"review": text}, f"booking-export.csv, row {number}")
        self.dropped = rng.choice(names) if len(names) > 1 and rng.random() < 0.5 else None
        self.unresolved = rng.random() < 0.06
        self.failed = rng.random() < 0.02
        self.limited = rng.random() < 0.1
        kept = [name for name in names if name != self.dropped]
        lines = [f'**{name}.** The guest writes "{quote}".' for name, quote in self.quotes.items()]
        critic = f"{len(kept)} of the {len(names)} hold."
        if self.dropped:
            critic += (
                f' **{self.dropped}** is weak: "{self.quotes[self.dropped]}" is said of something else, and the '
                "codebook excludes it."
            )
        if number % 7 == 3:
            critic += " " + HOSTILE
        judge = (
            "I start from what both accept. The critic is right to ask for words from the text, and the quotes "
            + ("do not all bear on the label they were offered for. " if self.dropped else "hold. ")
            + ("On balance both have a point." if self.unresolved else "")
        )
        line = _list(kept)
        self.script = [
            ("extractor", "\n".join([*lines, "The aspects present in this review are: " + _list(names)]), names),
            ("critic", critic + f"\nThe aspects present in this review are: {line}", kept),
            (
                "judge",
                judge + ("" if self.unresolved else f"\nFinal Decision: The present aspects are: {line}"),
                None if self.unresolved else kept,
            ),
        ]

    def turn(self, number: int, seconds: float = 1.5) -> Turn:
        role, text, names = self.script[number]
        quoted = [n for n in self.quotes if role != "judge" and (names is None or n in names)]
        evidence = tuple(self._quote(n) for n in quoted)
        if role == "extractor" and len(quoted) > 2:
            evidence += (Evidence(_id(quoted[0]), "overpriced for what it is", "review", -1, -1, "missing"),)
        values = None if names is None else {label.id: label.name in names for label in CODEBOOK.labels}
        reply = Reply(
            text,
            usage=Usage(600, len(text) // 4),
            cost_usd=len(text) * 2e-6,
            seconds=seconds,
            reading=Reading(values=values or {}, problem="no decision line" if names is None else ""),
            evidence=evidence,
        )
        return Turn(RUN, self.id, number, role, MODELS[role], form="labels", reply=reply, values=values)

    def _quote(self, name: str) -> Evidence:
        quote = self.quotes[name]
        start = self.text.fields["review"].find(quote)
        return Evidence(_id(name), quote, "review", start, start + len(quote), "exact")

    def stored(self) -> StoredDebate:
        return StoredDebate(self.text, tuple(self.turn(number) for number in range(3)), self.reached())

    def reached(self) -> VerdictReached:
        return VerdictReached(RUN, self.id, self.verdict())

    def verdict(self) -> Verdict:
        ids = [label.id for label in CODEBOOK.labels]
        if self.failed:
            error = ReplyError("server fault", "server fault: 503 from the server, five times")
            return Verdict(dict.fromkeys(ids), error=error)
        if self.unresolved:
            return Verdict(dict.fromkeys(ids), dict.fromkeys(ids, "no decision line, twice"))
        kept = self.script[2][2] or []
        return Verdict({label.id: label.name in kept for label in CODEBOOK.labels})


def _list(names: Sequence[str]) -> str:
    return ", ".join("#" + name for name in names)


def _id(name: str) -> str:
    label = CODEBOOK.find(name)
    assert label is not None
    return label.id


class FakeSession:
    """Simulated run of made-up debates, which is also the workspace of its project."""

    name = "hotel-aspects"
    path = Path("hotel-aspects.duckdb")

    def __init__(self, *, documents: int = 100, slots: int = 20, speed: float = 1.0, wordrate: float = 40.0) -> None:
        self.debates = [Debate(number) for number in range(401, 401 + documents)]
        self.by_id = {debate.id: debate for debate in self.debates}
        self.slots, self.speed, self.wordrate = slots, speed, wordrate
        self.board_ = LiveRunState(RUN)
        self.finished_: list[str] = []
        self.calls = 0
        self.cost = 0.0
        self.state: Any = "queued"
        self._guard = threading.Lock()
        self._queue = iter(self.debates)
        self._stop = threading.Event()
        self._resumed = threading.Event()
        self._resumed.set()
        self._started = time.monotonic()
        self._flight = 0

    # -- Workspace
    def sessions(self) -> Sequence[FakeSession]:
        return [self]

    def recent(self) -> Sequence[Path]:
        return [self.path, Path("fomc-minutes.duckdb"), Path("clinic-letters.duckdb")]

    def open(self, path: Path, *, create: bool = True) -> FakeSession:
        return self

    # -- Session
    def active_runs(self) -> Sequence[str]:
        return [RUN] if self.state == "running" else []

    def latest_run(self) -> str | None:
        return RUN

    def run_name(self, run_id: str) -> str:
        return "Run 14"

    def saved_at(self) -> float | None:
        return time.time()

    def live_run(self, run_id: str) -> LiveRunState | None:
        return self.board_ if run_id == RUN else None

    def document(self, document_id: str) -> DocumentText | None:
        debate = self.by_id.get(document_id)
        return debate.text if debate else None

    def replay(self, run_id: str, document_id: str) -> StoredDebate | None:
        debate = self.by_id.get(document_id)
        if debate is None or document_id not in self.finished_:
            return None
        return debate.stored()

    def finished(self, run_id: str, *, query: str, status: str, offset: int, limit: int) -> FinishedPage:
        rows = []
        for document_id in reversed(self.finished_):
            debate = self.by_id[document_id]
            verdict = debate.verdict()
            text = debate.text.fields["review"]
            if (not status or verdict.status == status) and query.casefold() in (document_id + text).casefold():
                rows.append(FinishedDebate(document_id, verdict.status, verdict.values, text[:120]))
        return FinishedPage(len(rows), tuple(rows[offset : offset + limit]))

    # -- Simulation
    def start(self) -> None:
        self.state = "running"
        for slot in range(self.slots):
            threading.Thread(target=self._run_slot, args=(slot,), daemon=True).start()
        threading.Thread(target=self._publish_regularly, daemon=True).start()

    def stop(self) -> None:
        self._stop.set()
        self._resumed.set()

    def pause(self, on: bool = True) -> None:
        self.state = "paused" if on else "running"
        self.publish_status()
        if on:
            self._resumed.clear()
        else:
            self._resumed.set()

    def _run_slot(self, slot: int) -> None:
        self._wait(slot * 0.45)
        while not self._stop.is_set():
            with self._guard:
                debate = next(self._queue, None)
                if debate is None:
                    break
                self._flight += 1
            self._run_debate(debate)
            with self._guard:
                self._flight -= 1
                self.finished_.append(debate.id)
            self.board_.publish(debate.reached())
        if len(self.finished_) == len(self.debates) and self.state == "running":
            self.state = "done"
            self.publish_status()

    def _run_debate(self, debate: Debate) -> None:
        rng = random.Random(debate.id)
        for turn, (role, text, _) in enumerate(debate.script):
            if debate.limited and turn == 0:
                self.board_.publish(TurnWaiting(RUN, debate.id, 0, "429 from the server", 4 / self.speed))
                self._wait(4)
            self.board_.publish(TurnStarted(Turn(RUN, debate.id, turn, role, MODELS[role])))
            started = time.monotonic()
            self._wait(0.6)
            at = 0
            for word in text.split(" "):
                piece = word if at == 0 else " " + word
                self.board_.publish(Delta(RUN, debate.id, turn, at, piece))
                at += len(piece)
                self._wait(rng.uniform(0.5, 1.5) / self.wordrate)
            done = debate.turn(turn, time.monotonic() - started)
            with self._guard:
                self.calls += 1
                self.cost += done.reply.cost_usd or 0
            self.board_.publish(TurnDone(done))

    def _wait(self, seconds: float) -> None:
        self._resumed.wait()
        self._stop.wait(seconds / self.speed)

    def _publish_regularly(self) -> None:
        while not self._stop.wait(0.4) and self.state != "done":
            if self.state == "running":
                self.publish_status()

    def publish_status(self) -> None:
        ended = len(self.finished_)
        kinds = [self.by_id[i].verdict().status for i in self.finished_]
        seconds = time.monotonic() - self._started
        rate = ended / seconds * 60
        left = len(self.debates) - ended
        self.board_.publish(
            RunStatus(
                RUN,
                self.state,
                len(self.debates),
                kinds.count("verdict"),
                kinds.count("unresolved"),
                kinds.count("failed"),
                self._flight,
                self.calls,
                18,
                self.calls * 600,
                self.calls * 120,
                self.cost,
                seconds,
                rate,
                left / rate * 60 if rate and ended > 2 else None,
            )
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8599)
    parser.add_argument("--speed", type=float, default=1.0)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--slots", type=int, default=20)
    parser.add_argument("--token", default="dev")
    chosen = parser.parse_args()

    import streamlit as st
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles

    import app
    from app import components, context
    from app.api import live_socket, middleware
    from app.api.access import Access
    from core.services import workspace

    session = FakeSession(documents=chosen.documents, slots=chosen.slots, speed=chosen.speed)
    access = Access(chosen.token)
    workspace.use(session)

    async def play(request: Request) -> PlainTextResponse:
        match request.path_params["what"]:
            case "start":
                session.start()
            case "pause":
                session.pause()
            case "resume":
                session.pause(False)
        return PlainTextResponse(session.state)

    folder = Path(app.__file__).parent
    sys.argv[:] = [str(folder / "main.py")]
    asgi = st.App(
        Path(__file__).with_name("fake_navigation.py"),
        routes=[
            *live_socket.routes(context.find_run),
            *components.routes(),
            Route("/play/{what}", play),
            # Streamlit serves files next to the script, which is not in app/
            Mount("/app/static", StaticFiles(directory=folder / "static")),
        ],
        middleware=[Middleware(middleware.Guard, access=access)],
    )
    session.start()
    print(f"http://127.0.0.1:{chosen.port}{access.entrance}", flush=True)
    asgi.run(config={"server.address": "127.0.0.1", "server.port": chosen.port, "server.headless": True})


if __name__ == "__main__":
    main()
