#!/usr/bin/env python3
"""mockllm.py - a deterministic mock LLM server for measuring orchestrators.

One self-contained file; Python >= 3.9, standard library only (uvloop and
orjson are used when importable).  It speaks, streaming and not streaming:

  POST /v1/chat/completions   OpenAI chat completions (SSE, `usage`, [DONE])
  GET  /v1/models
  POST /api/chat              Ollama chat (NDJSON)     GET  /api/tags
  POST /api/show              Ollama model details     GET  /api/version
  GET  /stats                 counters (JSON)          POST /reset   zero them
  GET  /config                settings                 POST /config  change them
                              (a JSON object of flag names, e.g. {"p_429": 0.05})

Timing model.  A call takes one of `--slots` slots (FIFO queue when all are
taken) and holds it for exactly

    ttft + uncached_prompt_tokens / prefill_tps + tokens * tpt      seconds

(prefill_tps 0 = prefill is free).  Token k goes out at ttft + k*tpt on an
absolute schedule, so timer error does not accumulate; a non-streaming call
holds its slot just as long.  The shortest time for any client is
therefore calls * hold / slots.  `--jitter J` draws the number of tokens uniformly from
[1-J, 1+J] * tokens, seeded by the prompt, so that the same prompt always gets
the same answer and the same length.

Answers depend on the role that the system prompt names first ("judge", "critic",
otherwise extractor) and on keywords in the last user message, and are the
same for the same prompt.

Faults (independent probabilities per call, drawn from a seeded generator):
  --p-429        429 + Retry-After, at once, without taking a slot
  --p-500        500 after the time to first token
  --p-drop       connection dropped half-way through the answer
  --p-malformed  broken JSON (one broken SSE/NDJSON event, or a truncated body)
  --p-stall      the stream goes silent half-way and keeps its slot for stall_s
`--max-queue N` answers 429 when N calls already wait (real back-pressure).

/stats: calls, ok, faults by kind, cancelled (client went away), active /
waiting and their maxima, busy_s (slot-seconds used), span_s (first arrival to
last completion), utilisation = busy_s / (slots * span_s), tokens, calls per
role, distinct prompts and repeats (the same prompt answered again = wasted
work of the client), connections opened, late_ms (the delay of the server against
its own schedule: if its p99 approaches tpt, the server is the bottleneck and
the measurement is invalid), cpu_s of the server process.

  python mockllm.py --port 8099 --slots 64 --ttft 0.05 --tpt 0.005 --tokens 20
"""

import argparse
import asyncio
import collections
import hashlib
import json
import os
import random
import re
import resource
import signal
import sys
import time

try:
    import orjson

    loads = orjson.loads

    def dumps(o):
        return orjson.dumps(o)
except ImportError:  # pragma: no cover
    loads = json.loads

    def dumps(o):
        return json.dumps(o, separators=(",", ":")).encode()


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


# --------------------------------------------------------------------- answers
def text_of(content):
    """Return the text of a message, which is a string or OpenAI's list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return " ".join(p.get("text", "") for p in content if isinstance(p, dict))
    return ""


def make_answer(messages, digest):
    """Return (role, text) of the deterministic answer to these messages."""
    system = " ".join(text_of(m.get("content")) for m in messages if m.get("role") in ("system", "developer")).lower()
    users = [text_of(m.get("content")) for m in messages if m.get("role") == "user"]
    last = users[-1] if users else ""
    head = system or last[:200].lower()
    positions = {w: head.find(w) for w in ("annotator", "extractor", "critic", "judge") if w in head}
    role = min(positions, key=positions.get, default="extractor").replace("annotator", "extractor")
    low = last.lower()
    aspects = [a for a, keys in ASPECTS.items() if any(k in low for k in keys)] or ["Service"]
    if role == "extractor" and digest[0] < 77 and len(aspects) > 1:  # in 30% of cases, one label is missing
        aspects = aspects[:-1]
    tags = ", ".join("#" + a for a in aspects)
    if role == "extractor":
        text = f"The aspects present in this review are: {tags}"
    elif role == "critic":
        text = (
            f"I {'disagree' if digest[1] < 64 else 'agree'} with the extraction. "
            f"The aspects present in this review are: {tags}"
        )
    else:
        text = f"Final Decision: The present aspects are: {tags}"
    m = re.search(r"starting with the field `?\[\[ ## (\w+) ## \]\]", last)
    if m:  # DSPy's ChatAdapter
        text = f"[[ ## {m[1]} ## ]]\n{text}\n\n[[ ## completed ## ]]"
    return role, text


def pieces_of(text, n):
    size = len(text)
    return [text[i * size // n : (i + 1) * size // n] for i in range(n)]


# ----------------------------------------------------------------------- state
def odds(piece):
    """Return a token with a log probability that depends on its text alone."""
    return {
        "token": piece,
        "logprob": -(sum(piece.encode()) % 50) / 100,
        "bytes": list(piece.encode()),
        "top_logprobs": [],
    }


class Stats:
    def __init__(self):
        self.calls = self.ok = self.cancelled = self.connections = 0
        self.faults = collections.Counter()
        self.by_role = collections.Counter()
        self.by_api = collections.Counter()
        self.max_active = self.max_inflight = 0
        self.busy = self.wait = 0.0
        self.first = self.last = None
        self.prompt_tokens = self.completion_tokens = self.cached_tokens = 0
        self.seen = collections.Counter()
        self.late = []
        ru = resource.getrusage(resource.RUSAGE_SELF)
        self.cpu0 = ru.ru_utime + ru.ru_stime


class Server:
    def __init__(self, cfg):
        self.cfg = cfg
        self.rng = random.Random(cfg.seed)
        self.active = 0
        self.queue = collections.deque()
        self.prefixes = set()
        self.stats = Stats()
        self.loop = None

    # slots -------------------------------------------------------------
    def admit(self, job):
        st = self.stats
        if self.active < self.cfg.slots and not self.queue:
            self._start(job)
        else:
            self.queue.append(job)
        st.max_inflight = max(st.max_inflight, self.active + len(self.queue))

    def _start(self, job):
        self.active += 1
        self.stats.max_active = max(self.stats.max_active, self.active)
        job.start()

    def release(self, job):
        self.active -= 1
        self.stats.busy += time.perf_counter() - job.t_slot
        while self.queue and self.active < self.cfg.slots:
            nxt = self.queue.popleft()
            if not nxt.dead:
                self._start(nxt)

    # answers to GET /stats ----------------------------------------------
    def report(self):
        st, c = self.stats, self.cfg
        span = (st.last - st.first) if st.first and st.last else 0.0
        late = sorted(st.late)

        def pick(q):
            return round(1e3 * late[min(len(late) - 1, int(q * len(late)))], 2) if late else 0

        ru = resource.getrusage(resource.RUSAGE_SELF)
        answered = sum(st.seen.values())
        return {
            "pid": os.getpid(),
            "calls": st.calls,
            "ok": st.ok,
            "faults": dict(st.faults),
            "cancelled": st.cancelled,
            "by_role": dict(st.by_role),
            "by_api": dict(st.by_api),
            "active": self.active,
            "waiting": len(self.queue),
            "max_active": st.max_active,
            "max_inflight": st.max_inflight,
            "busy_s": round(st.busy, 3),
            "wait_s": round(st.wait, 3),
            "span_s": round(span, 3),
            "utilisation": round(st.busy / (c.slots * span), 4) if span else 0,
            "prompt_tokens": st.prompt_tokens,
            "cached_tokens": st.cached_tokens,
            "completion_tokens": st.completion_tokens,
            "distinct_prompts": len(st.seen),
            "repeats": answered - len(st.seen),
            "connections": st.connections,
            "late_ms": {"p50": pick(0.5), "p99": pick(0.99), "max": pick(1)},
            "cpu_s": round(ru.ru_utime + ru.ru_stime - st.cpu0, 3),
        }


# ------------------------------------------------------------------------- job
class Job:
    """One call: waits for a slot, then emits its tokens on a fixed schedule."""

    __slots__ = (
        "api",
        "conn",
        "created",
        "dead",
        "digest",
        "fault",
        "handle",
        "has_slot",
        "hold_first",
        "k",
        "model",
        "pieces",
        "post",
        "pre",
        "role",
        "srv",
        "stream",
        "t_arrive",
        "t_loop",
        "t_slot",
        "text",
        "tpt",
        "usage",
        "want_logprobs",
        "want_usage",
    )

    def __init__(self, srv, conn, api, body):
        self.srv, self.conn, self.api = srv, conn, api
        c, st = srv.cfg, srv.stats
        now = time.perf_counter()
        st.calls += 1
        st.by_api[api] += 1
        st.first = st.first or now
        self.t_arrive, self.dead, self.has_slot, self.handle, self.k = now, False, False, None, 0
        self.model = body.get("model", "mock")
        self.stream = bool(body.get("stream", api == "ollama"))
        self.want_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        self.want_logprobs = bool(body.get("logprobs"))
        messages = body.get("messages") or []
        raw = dumps(messages)
        self.digest = hashlib.blake2b(raw, digest_size=16).digest()
        self.role, self.text = make_answer(messages, self.digest)
        st.by_role[self.role] += 1
        n = c.tokens
        if c.jitter:
            u = int.from_bytes(self.digest[4:8], "big") / 2**32
            n = max(1, round(n * (1 + c.jitter * (2 * u - 1))))
        limit = (
            body.get("max_completion_tokens")
            or body.get("max_tokens")
            or (body.get("options") or {}).get("num_predict")
            or 0
        )
        if 0 < limit < n and c.honour_max_tokens:
            n = limit
        self.pieces = pieces_of(self.text, n)
        # Prompt tokens ~ characters / 4; a system prompt seen before counts as cached.
        prompt = max(1, len(raw) // 4)
        head = dumps(messages[0]) if messages and messages[0].get("role") != "user" else b""
        cached = 0
        if head:
            if head in srv.prefixes:
                cached = min(prompt, len(head) // 4)
            srv.prefixes.add(head)
        self.usage = (prompt, n, cached)
        self.tpt = c.tpt
        self.hold_first = c.ttft + ((prompt - cached) / c.prefill_tps if c.prefill_tps else 0.0)
        self.fault = self.draw()

    def draw(self):
        c, u = self.srv.cfg, self.srv.rng.random()
        for name in ("p_429", "p_500", "p_drop", "p_malformed", "p_stall"):
            p = getattr(c, name)
            if u < p:
                return name[2:]
            u -= p
        return None

    # sequence of a call ---------------------------------------------------
    def begin(self):
        c = self.srv.cfg
        if self.fault == "429" or (
            c.max_queue >= 0 and len(self.srv.queue) >= c.max_queue and self.srv.active >= c.slots
        ):
            self.srv.stats.faults["429"] += 1
            self.conn.reply(
                429,
                self.error("rate_limit_exceeded", "Rate limit reached"),
                extra=f"retry-after: {c.retry_after:g}\r\n",
            )
            self.finish(False)
            return
        self.srv.admit(self)

    def start(self):
        loop = self.srv.loop
        self.has_slot = True
        self.t_slot = time.perf_counter()
        self.srv.stats.wait += self.t_slot - self.t_arrive
        self.t_loop = loop.time()
        self.created = int(time.time())
        if self.fault == "500":
            self.handle = loop.call_at(self.t_loop + self.hold_first, self.fail500)
        elif self.stream:
            self.handle = loop.call_at(self.t_loop + self.hold_first, self.tick)
        else:
            share = 0.5 if self.fault == "drop" else 1.0
            self.handle = loop.call_at(self.t_loop + self.hold_first + share * len(self.pieces) * self.tpt, self.whole)

    def finish(self, ok):
        if self.dead:
            return
        self.dead = True
        st = self.srv.stats
        st.last = time.perf_counter()
        if ok:
            st.ok += 1
            st.seen[self.digest] += 1
            p, n, cached = self.usage
            st.prompt_tokens += p
            st.completion_tokens += n
            st.cached_tokens += cached
            due = self.hold_first + len(self.pieces) * self.tpt
            if len(st.late) < 1_000_000:
                st.late.append(st.last - self.t_slot - due)
        if self.has_slot:
            self.srv.release(self)
        self.conn.job_done()

    def client_gone(self):
        if self.dead:
            return
        self.dead = True
        if self.handle:
            self.handle.cancel()
        self.srv.stats.cancelled += 1
        self.srv.stats.last = time.perf_counter()
        if self.has_slot:
            self.srv.release(self)

    # outcomes -------------------------------------------------------------
    def error(self, code, message):
        if self.api == "ollama":
            return dumps({"error": message})
        return dumps({"error": {"message": message, "type": code, "param": None, "code": code}})

    def fail500(self):
        self.srv.stats.faults["500"] += 1
        self.conn.reply(500, self.error("server_error", "The server had an error"))
        self.finish(False)

    def drop(self):
        self.srv.stats.faults["drop"] += 1
        tr = self.conn.transport
        self.finish(False)
        if tr is not None:
            tr.abort()

    def whole(self):
        if self.fault == "drop":
            self.conn.write(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"id":')
            self.drop()
            return
        if self.api == "ollama":
            body = dumps(
                {
                    "model": self.model,
                    "created_at": iso(),
                    "done": True,
                    "done_reason": "stop",
                    "message": {"role": "assistant", "content": self.text},
                    **self.ollama_usage(),
                }
            )
        else:
            body = dumps(
                {
                    "id": "chatcmpl-" + self.digest.hex(),
                    "object": "chat.completion",
                    "created": self.created,
                    "model": self.model,
                    "choices": [
                        {
                            "index": 0,
                            "finish_reason": "stop",
                            "logprobs": {"content": [odds(self.text)]} if self.want_logprobs else None,
                            "message": {"role": "assistant", "content": self.text, "refusal": None},
                        }
                    ],
                    "usage": self.openai_usage(),
                }
            )
        if self.fault == "malformed":
            self.srv.stats.faults["malformed"] += 1
            self.conn.reply(200, body[: len(body) // 2])
            self.finish(False)
            return
        self.conn.reply(200, body)
        self.finish(True)

    def tick(self):
        """Send every token that is due, then wait for the next one."""
        conn, n = self.conn, len(self.pieces)
        if self.k == 0:
            self.open_stream()
        elapsed = self.srv.loop.time() - self.t_loop - self.hold_first + 1e-4
        due = min(n, int(elapsed / self.tpt) + 1) if self.tpt > 0 else n
        if self.fault in ("drop", "stall", "malformed") and due > n // 2:
            conn.write(b"".join(self.event(p) for p in self.pieces[self.k : n // 2]))
            if self.fault == "drop":
                self.drop()
                return
            if self.fault == "stall":
                self.srv.stats.faults["stall"] += 1
                self.k = n // 2
                self.handle = self.srv.loop.call_later(self.srv.cfg.stall_s, self.drop)
                return
            self.srv.stats.faults["malformed"] += 1
            bad = (
                b'data: {"id":"x","choices":[{"delta":{"content":"oops\n\n'
                if self.api == "openai"
                else b'{"model":"x","message":{"content":"oops\n'
            )
            conn.write(chunk(bad))
            conn.end_chunks()
            self.finish(False)
            return
        if due > self.k:
            conn.write(b"".join([self.event(p) for p in self.pieces[self.k : due]]))
            self.k = due
        nxt = self.t_loop + self.hold_first + self.k * self.tpt
        self.handle = self.srv.loop.call_at(nxt, self.tick if self.k < n else self.close_stream)

    def open_stream(self):
        ctype = b"text/event-stream" if self.api == "openai" else b"application/x-ndjson"
        self.conn.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: " + ctype + b"\r\ncache-control: no-cache\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        if self.api == "openai":
            base = dumps(
                {
                    "id": "chatcmpl-" + self.digest.hex(),
                    "object": "chat.completion.chunk",
                    "created": self.created,
                    "model": self.model,
                    "system_fingerprint": "fp_mock",
                }
            )
            self.pre = b"data: " + base[:-1] + b',"choices":[{"index":0,"delta":{"content":'
            self.post = b'},"logprobs":null,"finish_reason":null}]}\n\n'
            self.conn.write(
                chunk(
                    b"data: " + base[:-1] + b',"choices":[{"index":0,"delta":{"role":"assistant",'
                    b'"content":"","refusal":null},"logprobs":null,"finish_reason":null}]}\n\n'
                )
            )
        else:
            self.pre = (
                dumps({"model": self.model, "created_at": iso()})[:-1] + b',"message":{"role":"assistant","content":'
            )
            self.post = b'},"done":false}\n'

    def event(self, piece):
        post = self.post
        if self.want_logprobs and self.api == "openai":
            post = post.replace(b"null", dumps({"content": [odds(piece)]}), 1)
        return chunk(self.pre + dumps(piece) + post)

    def close_stream(self):
        if self.api == "openai":
            base = self.pre[: self.pre.index(b',"choices"')]
            out = chunk(base + b',"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}\n\n')
            if self.want_usage:
                out += chunk(base + b',"choices":[],"usage":' + dumps(self.openai_usage()) + b"}\n\n")
            out += chunk(b"data: [DONE]\n\n")
        else:
            out = chunk(
                dumps(
                    {
                        "model": self.model,
                        "created_at": iso(),
                        "done": True,
                        "done_reason": "stop",
                        "message": {"role": "assistant", "content": ""},
                        **self.ollama_usage(),
                    }
                )
                + b"\n"
            )
        self.conn.write(out)
        self.conn.end_chunks()
        self.finish(True)

    def openai_usage(self):
        p, n, cached = self.usage
        return {
            "prompt_tokens": p,
            "completion_tokens": n,
            "total_tokens": p + n,
            "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        }

    def ollama_usage(self):
        p, n, _ = self.usage

        def ns(s):
            return int(s * 1e9)

        gen = n * self.tpt
        return {
            "total_duration": ns(self.hold_first + gen),
            "load_duration": 0,
            "prompt_eval_count": p,
            "prompt_eval_duration": ns(self.hold_first),
            "eval_count": n,
            "eval_duration": ns(gen),
        }


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


def iso():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


# ------------------------------------------------------------------------ HTTP
REASON = {200: "OK", 400: "Bad Request", 404: "Not Found", 429: "Too Many Requests", 500: "Internal Server Error"}


class Conn(asyncio.Protocol):
    """A small HTTP/1.1 connection: keep-alive, content-length and chunked bodies."""

    def __init__(self, srv):
        self.srv, self.transport, self.buf, self.job = srv, None, bytearray(), None
        self.close_after = False

    def connection_made(self, transport):
        self.transport = transport
        self.srv.stats.connections += 1

    def connection_lost(self, exc):
        self.transport = None
        if self.job is not None:
            job, self.job = self.job, None
            job.client_gone()

    def data_received(self, data):
        self.buf += data
        if self.job is None:
            self.parse()

    def parse(self):
        while self.job is None and self.transport is not None:
            end = self.buf.find(b"\r\n\r\n")
            if end < 0:
                return
            lines = bytes(self.buf[:end]).decode("latin-1").split("\r\n")
            head = {}
            for line in lines[1:]:
                k, _, v = line.partition(":")
                head[k.strip().lower()] = v.strip()
            if head.get("expect", "").lower() == "100-continue":
                self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            at = end + 4
            if "chunked" in head.get("transfer-encoding", "").lower():
                body, at = self.dechunk(at)
                if body is None:
                    return
            else:
                size = int(head.get("content-length") or 0)
                if len(self.buf) < at + size:
                    return
                body, at = bytes(self.buf[at : at + size]), at + size
            del self.buf[:at]
            self.close_after = head.get("connection", "").lower() == "close"
            method, path = [*lines[0].split(" "), "", ""][:2]
            self.route(method, path.split("?")[0], body)

    def dechunk(self, at):
        out = bytearray()
        while True:
            eol = self.buf.find(b"\r\n", at)
            if eol < 0:
                return None, at
            size = int(bytes(self.buf[at:eol]).split(b";")[0], 16)
            if len(self.buf) < eol + 2 + size + 2:
                return None, at
            out += self.buf[eol + 2 : eol + 2 + size]
            at = eol + 2 + size + 2
            if size == 0:
                return bytes(out), at

    def route(self, method, path, body):
        srv, cfg = self.srv, self.srv.cfg
        if method == "POST" and path in ("/v1/chat/completions", "/chat/completions", "/api/chat"):
            try:
                doc = loads(body)
                messages = doc.get("messages")
                if not isinstance(messages, list):
                    raise ValueError("messages must be a list")
            except Exception as e:
                self.reply(400, dumps({"error": {"message": f"bad request: {e}", "code": "invalid"}}))
                return
            self.job = Job(srv, self, "ollama" if path == "/api/chat" else "openai", doc)
            self.job.begin()
        elif path in ("/v1/models", "/models"):
            self.reply(
                200,
                dumps(
                    {
                        "object": "list",
                        "data": [{"id": m, "object": "model", "created": 0, "owned_by": "mock"} for m in cfg.models],
                    }
                ),
            )
        elif path == "/api/tags":
            self.reply(
                200,
                dumps(
                    {
                        "models": [
                            {
                                "name": m,
                                "model": m,
                                "modified_at": iso(),
                                "size": 4_000_000_000,
                                "digest": "0" * 64,
                                "details": {
                                    "format": "gguf",
                                    "family": "mock",
                                    "families": ["mock"],
                                    "parameter_size": "7B",
                                    "quantization_level": "Q4_K_M",
                                },
                            }
                            for m in cfg.models
                        ]
                    }
                ),
            )
        elif path == "/api/show":
            self.reply(
                200,
                dumps(
                    {
                        "license": "",
                        "modelfile": "",
                        "parameters": "num_ctx 8192",
                        "template": "{{ .Prompt }}",
                        "details": {
                            "format": "gguf",
                            "family": "mock",
                            "parameter_size": "7B",
                            "quantization_level": "Q4_K_M",
                        },
                        "model_info": {"general.architecture": "mock", "mock.context_length": 8192},
                        "capabilities": ["completion"],
                    }
                ),
            )
        elif path == "/api/version":
            self.reply(200, dumps({"version": "0.0.0-mock"}))
        elif path == "/stats":
            self.reply(200, dumps(srv.report()))
        elif path == "/reset":
            srv.stats = Stats()
            srv.prefixes.clear()
            srv.rng = random.Random(cfg.seed)
            self.reply(200, b"{}")
        elif path == "/config":
            if method == "POST":
                for k, v in loads(body or b"{}").items():
                    if not hasattr(cfg, k):
                        self.reply(400, dumps({"error": f"no setting {k}"}))
                        return
                    setattr(cfg, k, v)
            self.reply(200, dumps(vars(cfg)))
        else:
            self.reply(404, dumps({"error": {"message": f"no route {method} {path}", "code": "404"}}))

    # writing --------------------------------------------------------------
    def write(self, data):
        if self.transport is not None:
            self.transport.write(data)

    def reply(self, status, body, extra=""):
        self.write(
            f"HTTP/1.1 {status} {REASON.get(status, 'X')}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n{extra}\r\n".encode()
            + body
        )
        if self.close_after and self.job is None and self.transport is not None:
            self.transport.close()

    def end_chunks(self):
        self.write(b"0\r\n\r\n")

    def job_done(self):
        self.job = None
        if self.transport is None:
            return
        if self.close_after:
            self.transport.close()
        elif self.buf:
            self.srv.loop.call_soon(self.parse)


# ------------------------------------------------------------------------ main
def arguments(argv=None):
    p = argparse.ArgumentParser(description="mock OpenAI/Ollama server with fixed delays, faults and counters")
    p.add_argument("--host", default="127.0.0.1")
    p.add_argument("--port", type=int, default=8099)
    p.add_argument("--slots", type=int, default=64, help="calls served at once; the others queue")
    p.add_argument("--ttft", type=float, default=0.050, help="seconds to the first token")
    p.add_argument("--tpt", type=float, default=0.005, help="seconds per token")
    p.add_argument("--tokens", type=int, default=20, help="tokens per answer")
    p.add_argument("--jitter", type=float, default=0.0, help="spread of the token count, 0..1")
    p.add_argument("--prefill-tps", type=float, default=0.0, help="uncached prompt tokens per second; 0 = free")
    p.add_argument("--honour-max-tokens", action="store_true", help="let max_tokens cut the answer short")
    p.add_argument("--p-429", type=float, default=0.0)
    p.add_argument("--p-500", type=float, default=0.0)
    p.add_argument("--p-drop", type=float, default=0.0)
    p.add_argument("--p-malformed", type=float, default=0.0)
    p.add_argument("--p-stall", type=float, default=0.0)
    p.add_argument("--stall-s", type=float, default=60.0)
    p.add_argument("--retry-after", type=float, default=1.0, help="seconds in the Retry-After header of a 429")
    p.add_argument("--max-queue", type=int, default=-1, help="429 when this many calls wait; -1 = never")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--models", nargs="*", default=["mock", "gpt-4o-mini"])
    return p.parse_args(argv)


async def serve(cfg):
    srv = Server(cfg)
    srv.loop = asyncio.get_running_loop()
    server = await srv.loop.create_server(lambda: Conn(srv), cfg.host, cfg.port, backlog=2048)
    print(
        f"mockllm on http://{cfg.host}:{cfg.port}  slots={cfg.slots} "
        f"hold={cfg.ttft + cfg.tokens * cfg.tpt:.3f}s loop={type(srv.loop).__module__}",
        flush=True,
    )
    stop = asyncio.Event()
    for sig in (signal.SIGINT, signal.SIGTERM):
        srv.loop.add_signal_handler(sig, stop.set)
    await stop.wait()
    server.close()


def main():
    cfg = arguments()
    try:
        import uvloop

        uvloop.install()
    except ImportError:
        pass
    asyncio.run(serve(cfg))


if __name__ == "__main__":
    sys.exit(main())
