"""What a debate leaves behind, as rows for the sink and events for the screen. Pure; times are handed in."""

from __future__ import annotations

from dataclasses import asdict

from core.annotations import VERDICT, Annotation
from core.codebook import Codebook
from core.debate.events import TurnDone, VerdictReached
from core.debate.turns import Reply, Verdict
from core.documents import Document, storable
from core.engine.debate import Placed
from core.engine.ports import StoredReply, TurnRow, VerdictRow
from core.llm.reply import ModelReply


def stored_reply(key: str, reply: ModelReply, *, seconds: float, at: float, run_id: str) -> StoredReply:
    """A model's reply as the store keeps it; its text as it will be read back, so that a replay renders the same."""
    return StoredReply(
        key=key,
        text=storable(reply.text),
        reasoning=storable(reply.reasoning),
        finish=reply.finish,
        usage=reply.usage,
        cost_usd=reply.cost_usd,
        seconds=seconds,
        at=at,
        dropped=reply.dropped,
        run_id=run_id,
        served=reply.served,
    )


def turn_row(
    run_id: str, placed: Placed, reply: Reply, stored: StoredReply, codebook: Codebook, *, cached: bool
) -> TurnRow:
    """The row of a turn, with what the role's own list says of each item."""
    reading, ask = reply.reading, placed.ask
    whole = (ask.item,) if ask.item else codebook.items
    items = whole if reading.readable and not ask.is_auxiliary else ()
    return TurnRow(
        run_id=run_id,
        document_id=placed.document.id,
        turn=placed.turn,
        role=ask.role,
        retry=ask.retry,
        key=stored.key,
        role_model=placed.role_model,
        messages=tuple({"role": message.role, "content": message.content} for message in ask.messages),
        cached=cached,
        reading={
            "values": dict(reading.values),
            "undecided": dict(reading.undecided),
            "unknown": list(reading.unknown),
            "problem": reading.problem,
        },
        evidence=tuple(asdict(found) for found in reply.evidence),
        annotations=tuple(
            Annotation(placed.document.id, item, reading.values.get(item), ask.role, reading.undecided.get(item, ""))
            for item in items
        ),
        round=ask.round,
        replies_to=ask.replies_to,
        item=ask.item,
    )


def turn_done(run_id: str, placed: Placed, reply: Reply, stored: StoredReply, *, cached: bool) -> TurnDone:
    """The event of a turn that has ended."""
    reading, ask = reply.reading, placed.ask
    own = reading.readable and not ask.is_auxiliary
    return TurnDone(
        run_id=run_id,
        document_id=placed.document.id,
        turn=placed.turn,
        role=placed.ask.role,
        model=placed.role_model.model,
        text=reply.text,
        labels=reading.selected if own else None,
        evidence=tuple(asdict(found) for found in reply.evidence),
        prompt_tokens=reply.usage.prompt_tokens,
        completion_tokens=reply.usage.completion_tokens,
        cost_usd=stored.cost_usd,
        seconds=stored.seconds,
        cached=cached,
        problem=reading.problem if ask.form != "text" else "",
        reasoning=reply.reasoning,
        round=ask.round,
        replies_to=ask.replies_to,
        item=ask.item,
        values=dict(reading.values) if own else None,
    )


def verdict_row(run_id: str, document: Document, verdict: Verdict, *, at: float) -> VerdictRow:
    """The row of a verdict, with an annotation for each item."""
    return VerdictRow(
        run_id=run_id,
        document_id=document.id,
        status=verdict.status,
        verdict=verdict,
        at=at,
        annotations=tuple(
            Annotation(document.id, item, value, VERDICT, verdict.reasons.get(item, ""))
            for item, value in verdict.values.items()
        ),
    )


def verdict_reached(row: VerdictRow) -> VerdictReached:
    """The event of a debate that has ended."""
    verdict = row.verdict
    return VerdictReached(
        run_id=row.run_id,
        document_id=row.document_id,
        status=verdict.status,
        values=verdict.values,
        reasons=verdict.reasons,
        notes=verdict.notes,
        error=verdict.error.message if verdict.error else "",
    )
