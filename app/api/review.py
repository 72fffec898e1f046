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

from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from app.api.live_socket import FindRun
from core.documents import ReviewStatus
from core.errors import MootError, ProjectError
from core.runs import RunRow
from core.services.project_session import ProjectSession
from core.services.review import actions, browser_data, queue
from core.services.runs.configuration import role_titles

REVIEW = "/moot/review"
MAX_BODY_BYTES = 1_048_576
"""Maximum size of a request in bytes. A page sends up to 40 actions at once, with notes of up to 16,000 bytes."""
MAX_RETURNED_DOCUMENTS = 60
"""Maximum number of documents whose grid cells are returned at once."""

MALFORMED = (ValueError, TypeError, KeyError, OverflowError, RecursionError)
"""Errors of a message outside the protocol. Each is logged with its traceback, as it may be a fault of Moot's."""

STORING_SECONDS = 5.0
"""Longest wait for the actions that are being stored."""

Json: TypeAlias = dict[str, Any]

_FILTERS = TypeAdapter(queue.QueueFilter)
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
        except ClientDisconnect:
            return Response(status_code=400)  # The browser has left and does not read it.
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


async def _read(request: Request) -> Any:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BODY_BYTES:
            raise ValueError("too long")
    return json.loads(body)


def _answer(find: FindRun, message: Any) -> Json | None:
    """Return the answer to a message, None if its run is not open."""
    match message:
        case {"run": str(name), "actor": str(actor)}:
            session, run_id = find(name)
            actor = actions.Attribution(actor.strip()[:200]).actor
        case _:
            raise ValueError("run and actor")
    if message.get("query") == "view":
        return _view(session, message, actor) if session is not None else {"document": None}
    if session is None or not session.has_run(run_id):
        return None
    match message:
        case {"actions": [*messages]}:
            answers = [_apply_action(session, run_id, action, actor) for action in messages]
            return {"answers": answers, "read": time.time()}
        case {"query": "queue", "filters": filters}:
            wanted = _FILTERS.validate_python(filters)
            return browser_data.queue_rows(session, session.run(run_id), wanted, actor=actor)
    return _run_query(session, session.last_read_run(run_id), message, actor)


def _view(session: ProjectSession, message: Json, actor: str) -> Json:
    """Return the document for the drawer and the guideline. The page may show no run, or several."""
    match message:
        case {"document": str(document), "runs": [*ids]}:
            runs = [session.run(run_id) for run_id in ids if session.has_run(run_id)]
        case _:
            raise ValueError("view")
    shown = browser_data.document_view(session, runs, document, actor=actor)
    return {"document": shown, "guideline": browser_data.guideline(session, runs[0] if runs else None)}


def _run_query(session: ProjectSession, run: RunRow, message: Json, actor: str) -> Json:
    match message:
        case {"query": "progress"}:
            return browser_data.progress(session, run, actor=actor)
        case {"query": "guideline"}:
            return browser_data.guideline(session, run)
        case {"query": "cells", "documents": [*ids]}:
            codebook, roles, read = run.settings.codebook, role_titles(run.settings), time.time()
            rows = queue.review_rows(session, run, ids[:MAX_RETURNED_DOCUMENTS], actor=actor)
            return {"cells": [browser_data.grid_cells(row, codebook, roles, read) for row in rows]}
        case {"query": "document", "document": str(document)}:
            return {"document": browser_data.document(session, run, document, actor=actor)}
        case {"query": "transcript", "document": str(document)}:
            return browser_data.transcript(session, run, document, actor=actor)
        case {"query": "history", "document": str(document)}:
            return browser_data.history(session, run, document, actor=actor)
        case _:
            raise ValueError("query")


def _apply_action(session: ProjectSession, run_id: str, message: Any, actor: str) -> Json:
    """Apply one action and return the saved documents, or why it was refused."""
    try:
        saved = _act(session, run_id, message, actor)
    except ProjectError:  # a full disk, for example: the browser sends the action again
        raise
    except MootError as error:
        return {"problem": error.message, "remedy": error.remedy}
    except MALFORMED:
        _log.warning("An action in Review failed", exc_info=True)
        return {"problem": "The studio cannot perform this action.", "remedy": "Reload the page."}
    return {"saved": saved.words if saved else "", "touched": list(saved.documents) if saved else []}


def _act(session: ProjectSession, run_id: str, message: Any, actor: str) -> actions.SavedAction | None:
    match message:
        case {"id": str(id)}:
            seconds = message.get("seconds")
            by = actions.Attribution(actor, None if seconds is None else float(seconds), id[:80])
        case _:
            raise ValueError("id")
    match message:
        case {"action": "undo"}:
            return actions.undo(session, by, shown_run=run_id)
        case {"action": "redo"}:
            return actions.redo(session, by, shown_run=run_id)
        case {"action": "settings", "blind": bool(blind)}:
            queue.save_review_settings(session, replace(queue.review_settings(session), blind=blind), actor=by.actor)
            return None
        case {"action": "set", "document": str(document), "item": str(item), "value": value}:
            return actions.edit(session, run_id, [document], item, value, by)
        case {"action": "submit" | "discard" as name, "document": str(document)}:
            sampling = {document: queue.SAMPLING_RECORD.validate_python(message.get("sampling"))}
            status: ReviewStatus = "Submitted" if name == "submit" else "Discarded"
            return actions.set_status(session, run_id, [document], status, by, sampling=sampling)
        case {"action": "reopen", "document": str(document)}:
            return actions.set_status(session, run_id, [document], "Draft", by)
        case {"action": "reveal", "document": str(document)}:
            return actions.reveal(session, run_id, document, by)
        case {"action": "note" | "tags" | "flag" | "skip" as name, "document": str(document), "value": value}:
            return actions.mark(session, run_id, document, name, value, by)
        case _:
            raise ValueError("action")
