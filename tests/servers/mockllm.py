"""A mock of the streamed chat APIs of OpenAI and Ollama with fixed delays, faults and counters.

``python mockllm.py --port N``: a call takes one of ``--slots`` slots, in the order of arrival, and holds it for
``ttft + tokens * tpt`` seconds. Token k goes out at ``ttft + k * tpt`` on an absolute schedule, so the shortest time
for any client is ``calls * hold / slots``.

Answers depend on the role that the system prompt names first ("judge", "critic", otherwise extractor) and on words of
the last user message, and are the same for the same prompt. Faults are independent shares of the calls, the same ones
each time: ``p_429`` (at once, without a slot), ``p_500`` (after the time to the first token), ``p_drop`` (the
connection is dropped half-way), ``p_malformed`` (a broken event half-way) and ``p_stall`` (silent half-way, with its
slot, for ``stall_s`` seconds).

``GET /stats`` gives the process id, ``pid``, and counts calls: ``ok``, ``faults`` by kind, ``cancelled`` by the client,
``active``, by role and API, and ``repeats`` of an answered prompt. ``utilisation`` is the share of slot-seconds in use
between the first and the last call, ``late_ms`` the delay against the schedule: if its p99 approaches ``tpt``, the
server is the bottleneck.
``POST /reset`` sets the counters to zero, ``POST /config`` changes settings.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import random
import time
from collections import Counter
from typing import Any

import orjson
from aiohttp import web

ASPECTS = {
    "Service": ("staff", "service", "reception", "friendly", "rude"),
    "Cleanliness": ("clean", "dirty", "spotless", "dust", "stain"),
    "Location": ("location", "station", "centre", "beach", "walk"),
    "Rooms": ("room", "bed", "bathroom", "balcony", "shower"),
    "Food": ("breakfast", "restaurant", "food", "coffee", "dinner"),
    "Value": ("price", "value", "expensive", "cheap", "money"),
    "Noise": ("noise", "noisy", "quiet", "loud", "thin walls"),
    "Facilities": ("pool", "gym", "wifi", "parking", "lift"),
}
MODELS = ("mock", "gpt-4o-mini")
FAULTS = ("429", "500", "drop", "malformed", "stall")


def make_answer(messages: list[dict[str, str]], digest: bytes) -> tuple[str, str]:
    """Return role and text of the answer to these messages."""
    system = " ".join(message["content"] for message in messages if message["role"] == "system").lower()
    last = next((message["content"] for message in reversed(messages) if message["role"] == "user"), "").lower()
    head = system or last[:200]
    places = {role: head.find(role) for role in ("annotator", "extractor", "critic", "judge") if role in head}
    role = min(places, key=lambda name: places[name], default="extractor").replace("annotator", "extractor")
    aspects = [aspect for aspect, words in ASPECTS.items() if any(word in last for word in words)] or ["Service"]
    if role == "extractor" and digest[0] < 77 and len(aspects) > 1:  # in 30% of cases, one label is missing
        aspects = aspects[:-1]
    tags = ", ".join(f"#{aspect}" for aspect in aspects)
    if role == "judge":
        return role, f"Final Decision: The present aspects are: {tags}"
    opinion = f"I {'disagree' if digest[1] < 64 else 'agree'} with the extraction. " if role == "critic" else ""
    return role, f"{opinion}The aspects present in this review are: {tags}"


def odds(piece: str) -> dict[str, Any]:
    """Return a token with a log probability that depends on its text alone."""
    return {"token": piece, "logprob": -(sum(piece.encode()) % 50) / 100, "bytes": list(piece.encode())}


class Server:
    def __init__(self, config: argparse.Namespace) -> None:
        self.config = config
        self.slots = asyncio.Semaphore(config.slots)
        self.active = 0
        self.prefixes: set[bytes] = set()
        self.clear()

    def clear(self) -> None:
        self.chance = random.Random(1)
        self.counts: Counter[str] = Counter(calls=0, ok=0, cancelled=0)
        self.faults: Counter[str] = Counter()
        self.by_role: Counter[str] = Counter()
        self.by_api: Counter[str] = Counter()
        self.answered: Counter[bytes] = Counter()
        self.busy = self.first = self.last = 0.0
        self.late: list[float] = []
        self.prefixes.clear()

    def app(self) -> web.Application:
        app = web.Application(client_max_size=300_000_000)
        app.add_routes([
            web.post("/v1/chat/completions", self.chat),
            web.get("/v1/models", self.models),
            web.post("/api/chat", self.chat),
            web.get("/api/tags", self.tags),
            web.post("/api/show", self.show),
            web.get("/stats", self.stats),
            web.post("/reset", self.reset),
            web.post("/config", self.configure),
        ])  # fmt: skip
        return app

    async def models(self, _request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": name, "object": "model", "owned_by": "mock"} for name in MODELS]})

    async def tags(self, _request: web.Request) -> web.Response:
        details = {"size": 4_000_000_000, "details": {"family": "mock", "parameter_size": "7B"}}
        return web.json_response({"models": [{"name": name, "model": name, **details} for name in MODELS]})

    async def show(self, _request: web.Request) -> web.Response:
        return web.json_response({"model_info": {"mock.context_length": 8192}, "capabilities": ["completion"]})

    async def stats(self, _request: web.Request) -> web.Response:
        span, late = self.last - self.first, sorted(self.late)
        quantiles = {"p50": 0.5, "p99": 0.99, "max": 1.0}
        return web.json_response({
            "pid": os.getpid(),
            **self.counts,
            "faults": self.faults,
            "by_role": self.by_role,
            "by_api": self.by_api,
            "active": self.active,
            "repeats": self.answered.total() - len(self.answered),
            "utilisation": round(self.busy / (self.config.slots * span), 4) if span else 0,
            "late_ms": {
                name: round(1e3 * late[min(len(late) - 1, int(share * len(late)))], 2) if late else 0
                for name, share in quantiles.items()
            },
        })  # fmt: skip

    async def reset(self, _request: web.Request) -> web.Response:
        self.clear()
        return web.json_response({})

    async def configure(self, request: web.Request) -> web.Response:
        vars(self.config).update(await request.json())
        return web.json_response(vars(self.config))

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        call = Call(self, request, body)
        self.counts["calls"] += 1
        self.first = self.first or time.perf_counter()
        self.by_api[call.api] += 1
        self.by_role[call.role] += 1
        fault = self.draw_fault()
        if fault == "429":
            self.faults[fault] += 1
            return call.error(429, "Rate limit reached", **{"retry-after": str(self.config.retry_after)})
        try:
            async with self.slots:
                self.active += 1
                began = time.perf_counter()
                try:
                    return await call.answer(fault)
                finally:
                    self.active -= 1
                    self.busy += time.perf_counter() - began
        except (asyncio.CancelledError, ConnectionError):
            self.counts["cancelled"] += 1
            raise
        finally:
            self.last = time.perf_counter()

    def draw_fault(self) -> str:
        shares = [getattr(self.config, f"p_{fault}") for fault in FAULTS]
        return self.chance.choices(("", *FAULTS), (1 - sum(shares), *shares))[0]


class Call:
    def __init__(self, server: Server, request: web.Request, body: dict[str, Any]) -> None:
        self.server = server
        self.request = request
        self.api = "ollama" if request.path == "/api/chat" else "openai"
        self.model = body["model"]
        self.has_logprobs = bool(body.get("logprobs"))
        self.ttft, self.tpt = server.config.ttft, server.config.tpt
        raw = orjson.dumps(body["messages"])
        self.digest = hashlib.blake2b(raw, digest_size=16).digest()
        self.role, text = make_answer(body["messages"], self.digest)
        count = server.config.tokens
        self.pieces = [text[n * len(text) // count : (n + 1) * len(text) // count] for n in range(count)]
        # Prompt tokens ~ characters / 4; a system prompt that was sent before counts as cached.
        head = orjson.dumps(body["messages"][0]) if body["messages"][0]["role"] == "system" else b""
        self.prompt_tokens, self.cached_tokens = len(raw) // 4, len(head) // 4 if head in server.prefixes else 0
        server.prefixes.add(head)

    def error(self, status: int, message: str, **headers: str) -> web.Response:
        problem = message if self.api == "ollama" else {"message": message, "code": None}
        return web.json_response({"error": problem}, status=status, headers=headers)

    async def answer(self, fault: str) -> web.StreamResponse:
        server = self.server
        loop = asyncio.get_running_loop()
        start = loop.time() + self.ttft
        await asyncio.sleep(self.ttft)
        if fault == "500":
            server.faults[fault] += 1
            return self.error(500, "The server had an error")
        kind = "text/event-stream" if self.api == "openai" else "application/x-ndjson"
        response = web.StreamResponse(headers={"content-type": kind})
        await response.prepare(self.request)
        end = len(self.pieces) // 2 if fault else len(self.pieces)
        sent = 0
        while sent < end:
            due = end if self.tpt <= 0 else min(end, int((loop.time() - start + 1e-4) / self.tpt) + 1)
            await response.write(b"".join(map(self.event, self.pieces[sent:due])))
            sent = due
            await asyncio.sleep(start + sent * self.tpt - loop.time())
        if fault:
            server.faults[fault] += 1
            if fault == "malformed":
                await response.write(b'data: {"choices": [{"delta": {"content": "oops\n\n')
                return response
            if fault == "stall":
                await asyncio.sleep(server.config.stall_s)
            assert self.request.transport is not None
            self.request.transport.abort()
            return response
        await response.write_eof(self.last_events())
        server.counts["ok"] += 1
        server.answered[self.digest] += 1
        server.late.append(loop.time() - start - len(self.pieces) * self.tpt)
        return response

    def event(self, piece: str) -> bytes:
        if self.api == "ollama":
            return self.encode({"message": {"role": "assistant", "content": piece}, "done": False})
        logprobs = {"content": [odds(piece)]} if self.has_logprobs else None
        return self.encode({"choices": [{"index": 0, "delta": {"content": piece}, "logprobs": logprobs}]})

    def last_events(self) -> bytes:
        count = len(self.pieces)
        if self.api == "ollama":
            usage = {"prompt_eval_count": self.prompt_tokens, "eval_count": count}
            return self.encode({"message": {"content": ""}, "done": True, "done_reason": "stop", **usage})
        end = self.encode({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        usage = {"prompt_tokens": self.prompt_tokens, "completion_tokens": count}
        details = {"prompt_tokens_details": {"cached_tokens": self.cached_tokens}}
        return end + self.encode({"choices": [], "usage": {**usage, **details}}) + b"data: [DONE]\n\n"

    def encode(self, event: dict[str, Any]) -> bytes:
        data = orjson.dumps({"model": self.model, **event})
        return data + b"\n" if self.api == "ollama" else b"data: " + data + b"\n\n"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--ttft", type=float, default=0.05, help="seconds to the first token")
    parser.add_argument("--tpt", type=float, default=0.005, help="seconds per token")
    parser.add_argument("--tokens", type=int, default=20, help="tokens of an answer")
    for fault in FAULTS:
        parser.add_argument(f"--p-{fault}", type=float, default=0.0)
    parser.add_argument("--stall-s", type=float, default=60.0)
    parser.add_argument("--retry-after", type=float, default=1.0, help="seconds in the header of a 429")
    return parser.parse_args()


if __name__ == "__main__":
    options = arguments()
    web.run_app(
        Server(options).app(), host="127.0.0.1", port=options.port, print=None, backlog=2048, handler_cancellation=True
    )
