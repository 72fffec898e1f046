"""HTTP API of Review: the queue, documents and review actions.

``POST /moot/review`` takes one JSON object and returns one: ``{"run", "actor", "query": ...}`` or
``{"run", "actor", "actions": [...]}``. It needs no script run, so an action is committed and confirmed within
hundredths of a second. An action that is refused returns ``problem`` and ``remedy`` and does not block other actions.
Each action has an idempotency key (``id``). The browser repeats an action until the server answers.
"""

from __future__ import annotations

import json
import logging
import time
from concurrent.futures import Future, wait
from dataclasses import replace
from typing import Any, TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from app.api.live_socket import FindRun
from core.errors import MootError, ProjectError
from core.runs import RunRow
from core.services.project_session import ProjectSession
from core.services.review import actions, browser_data, queue
from core.services.runs.configuration import role_titles

REVIEW = "/moot/review"
MAX_BODY_BYTES = 262_144
"""Maximum size of a request in bytes."""
MAX_RETURNED_DOCUMENTS = 60
"""Maximum number of documents whose grid cells are returned at once."""

MALFORMED = (ValueError, TypeError, KeyError, OverflowError, RecursionError)
"""What a message outside the protocol raises. Each is logged with its traceback, as it may be a fault of Moot's."""

STORING_SECONDS = 5.0
"""Longest wait for the actions that are being stored."""

Json: TypeAlias = dict[str, Any]

_log = logging.getLogger("moot.app")
_storing: set[Future[None]] = set()
"""One future for each request with actions that is being performed."""


def wait_until_stored() -> None:
    """Wait until the received actions are stored, at most ``STORING_SECONDS``.

    Whoever presses Enter in Review and opens Evaluate at once expects to see the review there.
    """
    wait(list(_storing), STORING_SECONDS)


def routes(find: FindRun) -> list[BaseRoute]:
    """Return the route for ``st.App(routes=...)``."""

    async def answer(request: Request) -> Response:
        stored: Future[None] = Future()
        try:
            message = await _read(request)
            if "actions" in message:
                _storing.add(stored)
            content = await run_in_threadpool(_answer, find, message)
        except MALFORMED:
            _log.warning("A request to Review failed", exc_info=True)
            return PlainTextResponse("The studio does not understand this request.", 400)
        except MootError as error:  # a full disk, for example
            return PlainTextResponse(str(error), 503)
        finally:
            _storing.discard(stored)
            stored.set_result(None)
        if content is None:
            return PlainTextResponse("This run is not open.", 410)
        # Use json instead of orjson: json escapes lone surrogates.
        return Response(json.dumps(content, separators=(",", ":"), default=str), media_type="application/json")

    return [Route(REVIEW, answer, methods=["POST"])]


async def _read(request: Request) -> Json:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BODY_BYTES:
            raise ValueError("too long")
    return _object(json.loads(body))


def _answer(find: FindRun, message: Json) -> Json | None:
    """Return the answer to a message, None if its run is not open."""
    session, run_id = find(_text(message["run"]))
    actor = actions.Attribution(_text(message["actor"]).strip()[:200]).actor
    if message.get("query") == "view":
        return _view(session, message, actor) if session is not None else {"document": None}
    if session is None or not session.has_run(run_id):
        return None
    if "query" in message:
        if message["query"] == "queue":
            return browser_data.queue_rows(
                session, session.run(run_id), queue.QueueFilter(**message["filters"]), actor=actor
            )
        return _run_query(session, session.last_read_run(run_id), message, actor)
    answers = [_apply_action(session, run_id, action, actor) for action in message["actions"]]
    return {"answers": answers, "read": time.time()}


def _view(session: ProjectSession, message: Json, actor: str) -> Json:
    """Return the document for the drawer and the guideline. The page may show no run, or several."""
    runs = [session.run(run_id) for run_id in map(_text, message["runs"]) if session.has_run(run_id)]
    shown = browser_data.document_view(session, runs, _text(message["document"]), actor=actor)
    return {"document": shown, "guideline": browser_data.guideline(session, runs[0] if runs else None)}


def _run_query(session: ProjectSession, run: RunRow, message: Json, actor: str) -> Json:
    match message["query"]:
        case "progress":
            return browser_data.progress(session, run, actor=actor)
        case "document":
            return {"document": browser_data.document(session, run, _text(message["document"]), actor=actor)}
        case "cells":
            ids = [_text(id) for id in message["documents"][:MAX_RETURNED_DOCUMENTS]]
            codebook, roles, read = run.settings.codebook, role_titles(run.settings), time.time()
            rows = queue.review_rows(session, run, ids, actor=actor)
            return {"cells": [browser_data.grid_cells(row, codebook, roles, read) for row in rows]}
        case "transcript":
            return browser_data.transcript(session, run, _text(message["document"]), actor=actor)
        case "history":
            return browser_data.history(session, run, _text(message["document"]), actor=actor)
        case "guideline":
            return browser_data.guideline(session, run)
        case _:
            raise ValueError("query")


def _apply_action(session: ProjectSession, run_id: str, message: Any, actor: str) -> Json:
    """Apply one action and return the saved documents, or why it was refused."""
    try:
        seconds = _object(message).get("seconds")
        by = actions.Attribution(actor, None if seconds is None else float(seconds), _text(message["id"])[:80])
        saved = _act(session, run_id, message, by)
    except ProjectError:  # a full disk, for example: the browser sends the action again
        raise
    except MootError as error:
        return {"problem": error.message, "remedy": error.remedy}
    except MALFORMED:
        _log.warning("An action in Review failed", exc_info=True)
        return {"problem": "The studio cannot perform this action.", "remedy": "Reload the page."}
    return {"saved": saved.words if saved else "", "touched": list(saved.documents) if saved else []}


def _act(session: ProjectSession, run_id: str, message: Json, by: actions.Attribution) -> actions.SavedAction | None:
    action = message["action"]
    match action:
        case "undo":
            return actions.undo(session, by, shown_run=run_id)
        case "redo":
            return actions.redo(session, by, shown_run=run_id)
        case "settings":
            settings = replace(queue.review_settings(session), blind=bool(message["blind"]))
            queue.save_review_settings(session, settings, actor=by.actor)
            return None
    document = _text(message["document"])
    match action:
        case "set":
            item, value = _text(message["item"]), message["value"]
            return actions.edit(session, run_id, [document], item, value, by)
        case "submit":
            sampling = queue.parse_sampling_record(document, message.get("sampling"))
            return actions.submit(session, run_id, [document], by, sampling=sampling)
        case "discard":
            return actions.set_status(session, run_id, [document], "Discarded", by)
        case "reopen":
            return actions.set_status(session, run_id, [document], "Draft", by)
        case "reveal":
            return actions.reveal(session, run_id, document, by)
        case "note" | "tags" | "flag" | "skip":
            return actions.mark(session, run_id, document, action, message["value"], by)
        case _:
            raise ValueError("action")


def _object(value: Any) -> Json:
    if not isinstance(value, dict):
        raise TypeError("an object")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("text")
    return value
