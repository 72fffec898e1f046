"""A server with OpenAI's Files and Batches that answers like an annotator, with configurable faults.

``python batches.py --port N``: a batch ends at its second query. ``POST /config`` sets the faults: ``lose`` (share of
rows without an output line), ``fail`` (share of rows with a 500 in the error file), ``expire`` (share of rows that time
out), ``refuse`` (error message of the next batch, which is rejected), ``crash`` (the next batch is created but the
connection is closed without an answer), ``unlisted`` (so many requests for the list of batches break off), ``cut`` (so
many downloads break off, half of them in the middle of the file), ``hold`` (no batch ends), ``forget`` (404 for each
batch by its id), ``gone`` (404 for each download), ``unbroken`` (each download is one long line), ``end`` (status of a
batch that ends, cancelled or expired, with half of its rows), ``empty`` (True: every reply in a batch is empty),
``reject`` (messages by name of a parameter, with which rows that have it are refused), ``page`` (batches in one page of
their list), ``finish`` (True: each batch ends just before it is cancelled). ``POST /reset`` forgets all files, batches
and faults. ``GET /stats`` counts requests by custom_id.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from typing import Any

from aiohttp import web

WORDS = {"Service": "staff", "Food": "breakfast", "Location": "station"}


class Batches:
    def __init__(self) -> None:
        self.forget_all()

    def forget_all(self) -> None:
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.queries: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.config: dict[str, Any] = {}
        self.chance = random.Random(7)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=300_000_000)
        app.add_routes(
            [
                web.post("/v1/files", self.upload),
                web.get("/v1/files/{id}/content", self.content),
                web.post("/v1/batches", self.create),
                web.get("/v1/batches", self.listed),
                web.get("/v1/batches/{id}", self.retrieve),
                web.post("/v1/batches/{id}/cancel", self.cancel),
                web.post("/v1/chat/completions", self.chat),
                web.post("/config", self.configure),
                web.post("/reset", self.reset),
                web.get("/stats", self.stats),
            ]
        )
        return app

    async def upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        name = f"file-{len(self.files)}"
        self.files[name] = form["file"].file.read()  # type: ignore[union-attr]
        return web.json_response({"id": name, "object": "file", "purpose": str(form["purpose"])})

    async def content(self, request: web.Request) -> web.StreamResponse:
        if self.config.get("cut"):
            self.config["cut"] -= 1
            assert request.transport is not None
            if self.config["cut"] % 2:
                body = self.files[request.match_info["id"]]
                response = web.StreamResponse(headers={"content-length": str(len(body))})
                await response.prepare(request)
                await response.write(body[: len(body) // 2])
            request.transport.abort()
        if self.config.get("gone"):
            return web.json_response({"error": {"message": "No such File object"}}, status=404)
        return web.Response(
            body=b"x" * 100_000 if self.config.get("unbroken") else self.files[request.match_info["id"]]
        )

    async def create(self, request: web.Request) -> web.Response:
        request_body = await request.json()
        name = f"batch-{len(self.batches)}"
        lines = [json.loads(line) for line in self.files[request_body["input_file_id"]].splitlines() if line.strip()]
        self.batches[name] = {
            "id": name,
            "object": "batch",
            "endpoint": request_body["endpoint"],
            "completion_window": request_body["completion_window"],
            "created_at": 0,
            "input_file_id": request_body["input_file_id"],
            "metadata": request_body.get("metadata"),
            "status": "in_progress",
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
        }
        if problem := self.config.pop("refuse", None):
            self.batches[name] |= {"status": "failed", "errors": {"data": [{"code": "x", "message": problem}]}}
        if self.config.pop("crash", None):
            assert request.transport is not None
            request.transport.abort()
        return web.json_response(self.batches[name])

    async def listed(self, request: web.Request) -> web.Response:
        if self.config.get("unlisted"):
            self.config["unlisted"] -= 1
            assert request.transport is not None
            request.transport.abort()
        batches = [*self.batches.values()][::-1]
        names = [batch["id"] for batch in batches]
        start = names.index(request.query["after"]) + 1 if "after" in request.query else 0
        end = start + self.config.get("page", 100)
        return web.json_response({"object": "list", "data": batches[start:end], "has_more": end < len(batches)})

    async def retrieve(self, request: web.Request) -> web.Response:
        batch = self.batches[request.match_info["id"]]
        if self.config.get("forget"):
            return web.json_response({"error": {"message": "No batch found"}}, status=404)
        self.queries[batch["id"]] += 1
        if batch["status"] == "in_progress" and self.queries[batch["id"]] >= 2 and not self.config.get("hold"):
            self.finish(batch)
        return web.json_response(batch)

    async def cancel(self, request: web.Request) -> web.Response:
        batch = self.batches[request.match_info["id"]]
        if self.config.get("finish"):
            self.finish(batch)
            return web.json_response({"error": {"message": "The batch has ended."}}, status=400)
        batch["status"] = "cancelled"
        return web.json_response(batch)

    async def chat(self, request: web.Request) -> web.Response:
        return web.json_response(self.reply(await request.json()))

    async def configure(self, request: web.Request) -> web.Response:
        self.config |= await request.json()
        return web.json_response(self.config)

    async def reset(self, request: web.Request) -> web.Response:
        self.forget_all()
        return web.json_response({})

    async def stats(self, request: web.Request) -> web.Response:
        sizes = [batch["request_counts"]["total"] for batch in self.batches.values()]
        statuses = [batch["status"] for batch in self.batches.values()]
        return web.json_response({"sizes": sizes, "statuses": statuses, "answered": self.answered})

    def finish(self, batch: dict[str, Any]) -> None:
        requests = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines() if line.strip()]
        self.chance.shuffle(requests)  # OpenAI guarantees no order
        end = self.config.get("end", "completed")
        if end != "completed":
            del requests[len(requests) // 2 :]
        good, bad = [], []
        for request in requests:
            row: dict[str, Any] = {"id": "r", "custom_id": request["custom_id"], "response": None, "error": None}
            if self.chance.random() < self.config.get("lose", 0):
                continue
            if self.chance.random() < self.config.get("expire", 0):
                bad.append({**row, "error": {"code": "batch_expired", "message": "Out of time."}})
            elif self.chance.random() < self.config.get("fail", 0):
                bad.append({**row, "response": {"status_code": 500, "body": {"error": {"message": "Out of order."}}}})
            elif refused := [words for name, words in self.config.get("reject", {}).items() if name in request["body"]]:
                bad.append({**row, "response": {"status_code": 400, "body": {"error": {"message": refused[0]}}}})
            else:
                assert not request["body"].get("stream"), "requests in a file must not be streamed"
                self.answered[request["custom_id"]] += 1
                body = self.reply(request["body"])
                if self.config.get("empty"):
                    body["choices"][0]["message"]["content"] = ""
                good.append({**row, "response": {"status_code": 200, "body": body}})
        for name, rows in (("output_file_id", good), ("error_file_id", bad)):
            if rows:
                batch[name] = f"file-{len(self.files)}"
                self.files[batch[name]] = "\n".join(map(json.dumps, rows)).encode()
        batch["request_counts"] |= {"completed": len(good), "failed": len(bad)}
        batch["status"] = end

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        return answer(body)


def answer(body: dict[str, Any]) -> dict[str, Any]:
    """Return a chat completion with the labels whose words the last message contains."""
    last = body["messages"][-1]["content"]
    aspects = [f"#{name}" for name, word in WORDS.items() if word in last] or ["none"]
    text = f"The aspects present in this review are: {', '.join(aspects)}"
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 60}}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    web.run_app(Batches().app(), host="127.0.0.1", port=parser.parse_args().port, print=None)
