"""Mock of the parts of Ollama's API that other mocks lack: thinking, show, ps, and model sizes and families."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from tests.servers.scripted import role_of, stream

LINES = {
    "probe": "The aspects present in this text are: #Weather",
    "extractor": "The aspects present in this review are: #Service",
    "critic": "I agree. The aspects present in this review are: #Service",
    "judge": "Final Decision: The present aspects are: Service",
}
THINKER, PLAIN = "thinker:8b", "plain:1b"


async def _chat(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    if body["model"] not in (THINKER, PLAIN):
        return web.json_response({"error": f"model '{body['model']}' not found"}, status=404)
    think = body.get("think")
    if think is not None and body["model"] == PLAIN:
        return web.json_response({"error": f'"{PLAIN}" does not support thinking'}, status=400)
    if isinstance(think, str):
        return web.json_response({"error": f'think value "{think}" is not supported for this model'}, status=400)
    events: list[dict[str, Any]] = []
    if body["model"] == THINKER and think is not False:
        events += [{"message": {"role": "assistant", "content": "", "thinking": word}} for word in ("Let me ", "see.")]
    text = LINES[role_of(body)]
    if "format" in body:
        text = json.dumps({"reasoning": "so", "labels": [{"label": "Service", "quotes": []}]})
    events.append({"message": {"role": "assistant", "content": text}})
    events.append(
        {"message": {"content": ""}, "done": True, "done_reason": "stop", "prompt_eval_count": 90, "eval_count": 12}
    )
    return await stream(request, *[json.dumps({"done": False, **event}).encode() + b"\n" for event in events])


async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    """Answer any request of the API."""
    details = {"family": "llama", "parameter_size": "8.0B", "quantization_level": "Q4_K_M"}
    models = [
        {"name": name, "model": name, "size": size, "details": details}
        for name, size in ((THINKER, 4_900_000_000), (PLAIN, 800_000_000))
    ]
    match request.path:
        case "/api/chat":
            return await _chat(request, body)
        case "/api/tags":
            return web.json_response({"models": models})
        case "/api/ps":
            return web.json_response({"models": [{**models[0], "size_vram": 4_900_000_000, "context_length": 8192}]})
        case "/api/show":
            able = ["completion", "thinking"] if body["model"] == THINKER else ["completion"]
            info = {"general.architecture": "llama", "llama.context_length": 8192 if able[1:] else 2048}
            return web.json_response({"details": details, "model_info": info, "capabilities": able})
    return web.Response(status=404)
