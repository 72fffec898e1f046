"""What the frame and the live board look at: a project's runs, documents and debates as the browser is shown them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal, cast

from core.debate.events import RunStatus, TurnDone, VerdictReached
from core.debate.turns import Verdict
from core.runs import RunRow, State
from core.services.live_run import DocumentText, FinishedPage, FinishedRow, Replay
from core.store.store import Store
from core.store.transcripts import Turn

Ending = Literal["verdict", "unresolved", "failed"]


def status_of(run: RunRow, state: State | None = None) -> RunStatus:
    """Where a stored run stands, as an event; with ``state`` as if it were in that one."""
    return RunStatus(
        run_id=run.run_id,
        state=state or run.state,
        documents=run.documents,
        verdicts=run.verdicts,
        unresolved=run.unresolved,
        failed=run.failed,
        in_flight=0,
        calls=run.calls,
        cached_calls=run.cached_calls,
        prompt_tokens=run.prompt_tokens,
        completion_tokens=run.completion_tokens,
        cost_usd=run.cost_usd,
        seconds=run.seconds,
        rate=0.0,
        eta_seconds=None,
        message="" if state else run.message,
        stop_code="" if state else run.stop_code,
        cached_tokens=run.cached_tokens,
    )


def document(store: Store, document_id: str) -> DocumentText | None:
    """A document's text and where it comes from; None when the project does not have it."""
    found = store.documents.get(document_id)
    if found is None:
        return None
    file_name, number = store.ended.origin(document_id) or ("", found.position + 1)
    return DocumentText(
        found.id, dict(found.fields), f"{file_name}, no. {number:,}" if file_name else f"no. {number:,}"
    )


def replay(store: Store, run_id: str, document_id: str) -> Replay | None:
    """The debate on a document as stored, None when nobody has spoken and there is no verdict."""
    turns = store.transcripts.turns(run_id, document_id)
    ended = store.transcripts.verdict(run_id, document_id)
    text = document(store, document_id)
    if text is None or not (turns or ended):
        return None
    verdict = None if ended is None else verdict_event(run_id, document_id, ended.verdict)
    owing = {turn.role for turn in turns if turn.retry}  # who owed a decision and was asked again for it
    return Replay(text, tuple(turn_event(run_id, turn, owing=turn.role in owing) for turn in turns), verdict)


def finished(store: Store, run_id: str, *, query: str, status: str, offset: int, limit: int) -> FinishedPage:
    """Debates of a run that have ended, newest first; ``query`` is looked for in ids and texts."""
    total, rows = store.ended.page(run_id, search=query, status=status, offset=offset, limit=limit)
    return FinishedPage(
        total,
        tuple(FinishedRow(row.document_id, cast(Ending, row.status), row.values, row.words) for row in rows),
    )


def turn_event(run_id: str, turn: Turn, *, owing: bool = False) -> TurnDone:
    """A stored turn as the event that told of it. That its list cannot be read is a problem only if it was ``owing``
    one."""
    reply, reading = turn.reply, turn.reading
    own = reading.readable and turn.says is not None  # a turn on a precedent says nothing of the document
    return TurnDone(
        run_id=run_id,
        document_id=turn.document_id,
        turn=turn.turn,
        role=turn.role,
        model=turn.role_model.model,
        text=reply.text,
        labels=reading.selected if own else None,
        evidence=tuple(asdict(quote) for quote in turn.evidence),
        prompt_tokens=reply.usage.prompt_tokens,
        completion_tokens=reply.usage.completion_tokens,
        cost_usd=reply.cost_usd,
        seconds=reply.seconds,
        cached=turn.cached,
        problem=reading.problem if owing else "",
        reasoning=reply.reasoning,
        round=turn.round,
        replies_to=turn.replies_to,
        item=turn.item,
        values=dict(reading.values) if own else None,
    )


def verdict_event(run_id: str, document_id: str, verdict: Verdict) -> VerdictReached:
    """A stored verdict as the event that told of it."""
    return VerdictReached(
        run_id=run_id,
        document_id=document_id,
        status=verdict.status,
        values=verdict.values,
        reasons=verdict.reasons,
        notes=verdict.notes,
        error=verdict.error.message if verdict.error else "",
    )
