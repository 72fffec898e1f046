"""The route on which Review asks and tells: parts of the queue, a document, and every act of a person on it.

No script is run again in between, so that an act is on disk, and said to be, within a few hundredths of a second.
``POST /moot/review`` takes one JSON object, ``{"run", "actor", "ask": ...}`` or ``{"run", "actor", "acts": [...]}``,
and gives one back. The locks are those of the live route (``app.live``): Host, Origin, and the cookie or the ticket of
the page. An act that a person can mend is answered by ``problem`` and ``remedy`` and hinders no other. Each carries a
name (``once``) under which it is recorded; the browser tells it again until it hears an answer.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from app.live import REVIEW, Access
from app.views.review.grid_rows import cells_of
from core.errors import MootError
from core.runs import RunRow
from core.studio.desk import Desk
from core.studio.reviewing import focus, queue, review
from core.studio.reviewing.queue import Wanted

LONGEST = 262_144
"""Bytes of a request."""
SHOWN = 60
"""Documents whose cells of the grid are answered at once."""

Json: TypeAlias = dict[str, Any]
Find: TypeAlias = Callable[[str], tuple[Desk | None, str]]
"""The open project and the id of a run, from the name under which the browser knows it."""


def routes(find: Find, access: Access) -> list[BaseRoute]:
    """The own route, for ``st.App(routes=...)``."""

    async def answer(request: Request) -> Response:
        refusal = access.refusal(request.headers, request.cookies, request.query_params.get("ticket", ""))
        if refusal:
            return PlainTextResponse(f"Refused: {refusal}.", 403)
        try:
            message = await _read(request)
            told = await run_in_threadpool(_answer, find, message)
        except (ValueError, TypeError, KeyError, RecursionError):
            return PlainTextResponse("Not a message of this protocol.", 400)
        # json and not orjson: it escapes lone surrogates.
        return Response(json.dumps(told, separators=(",", ":"), default=str), media_type="application/json")

    return [Route(REVIEW, answer, methods=["POST"])]


async def _read(request: Request) -> Json:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LONGEST:
            raise ValueError("too long")
    message = json.loads(body)
    if not isinstance(message, dict):
        raise TypeError("an object")
    return message


def _answer(find: Find, message: Json) -> Json:
    desk, run_id = find(_text(message["run"]))
    actor = _text(message["actor"]).strip()[:200] or review.reviewer()
    if desk is None or desk.store.runs.settings(run_id) is None:
        return {"gone": True}
    if "ask" in message:
        return _asked(desk, desk.store.runs.known(run_id), message, actor)
    return {"answers": [_done(desk, run_id, act, actor) for act in message["acts"]], "read": time.time()}


def _cells(desk: Desk, run: RunRow, ids: list[str], actor: str) -> list[Json]:
    speakers, read = review.roles(run), time.time()
    return [cells_of(row, run.settings.codebook, speakers, read) for row in queue.rows(desk, run, ids, actor=actor)]


def _asked(desk: Desk, run: RunRow, message: Json, actor: str) -> Json:
    match message["ask"]:
        case "lines":
            return focus.lines(desk, run, Wanted(**message["wanted"]), actor=actor)
        case "progress":
            return focus.progress(desk, run, actor=actor)
        case "document":
            return {"document": focus.document(desk, run, _text(message["document"]), actor=actor)}
        case "cells":
            ids = [_text(id) for id in message["documents"][:SHOWN]]
            return {"cells": _cells(desk, run, ids, actor)}
        case "transcript":
            return focus.transcript(desk, run, _text(message["document"]), actor=actor)
        case "history":
            return focus.history(desk, run, _text(message["document"]))
        case "guideline":
            return focus.guideline(desk, run)
        case _:
            raise ValueError("ask")


def _done(desk: Desk, run_id: str, message: Json, actor: str) -> Json:
    """Do it; what was saved and which documents it touched, or why it could not be done."""
    seconds = message.get("seconds")
    telling = review.Telling(None if seconds is None else float(seconds), _text(message["once"])[:80])
    try:
        saved = _act(desk, run_id, message, actor, telling)
    except MootError as error:
        return {"problem": error.message, "remedy": error.remedy}
    return {"saved": saved.words if saved else "", "touched": list(saved.documents) if saved else []}


def _act(desk: Desk, run_id: str, message: Json, actor: str, telling: review.Telling) -> review.Saved | None:
    act = message["act"]
    if act == "undo":
        return review.undo(desk, actor=actor, telling=telling)
    if act == "redo":
        return review.redo(desk, actor=actor, telling=telling)
    if act == "manner":
        kept = queue.manner(desk)
        queue.set_manner(desk, queue.Manner(kept.share, bool(message["blind"])), actor=actor)
        return None
    document = _text(message["document"])
    match act:
        case "set":
            item, value = _text(message["item"]), message["value"]
            return review.edit(desk, run_id, document, item, value, actor=actor, telling=telling)
        case "submit":
            drawn = queue.drawn(document, message.get("draw"))
            return review.submit(desk, run_id, [document], actor=actor, telling=telling, draw=drawn)
        case "discard":
            return review.set_status(desk, run_id, [document], "Discarded", actor=actor, telling=telling)
        case "reopen":
            return review.set_status(desk, run_id, [document], "Draft", actor=actor, telling=telling)
        case "reveal":
            return review.reveal(desk, run_id, document, actor=actor, telling=telling)
        case "note" | "tags" | "flag" | "skip":
            return review.mark(desk, run_id, document, act, message["value"], actor=actor, telling=telling)
        case _:
            raise ValueError("act")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("text")
    return value
