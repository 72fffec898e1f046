"""What was said in a debate, as stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.annotations import Evidence
from core.debate.turns import Reading, ReplyError, Usage, Verdict
from core.documents import Value
from core.engine.ports import AttemptRow, StoredReply, VerdictRow
from core.prompts.messages import Message
from core.runs import RoleModel
from core.store.connection import Connection
from core.store.replies import REPLY, reply_of
from core.store.rows import load

_TURN = (
    "document_id",
    "turn",
    "role",
    "retry",
    "role_model",
    "messages",
    "cached",
    "reading",
    "says",
    "evidence",
    "superseded",
    "round",
    "replies_to",
    "item",
)


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn with the reply that was heard. ``says`` is the role's own list, None when it gave none; ``cached`` when it
    was not paid for by this run; ``superseded`` when the document was asked again later."""

    document_id: str
    turn: int
    role: str
    retry: int
    role_model: RoleModel
    messages: tuple[Message, ...]
    cached: bool
    reading: Reading
    says: Mapping[str, Value] | None
    evidence: tuple[Evidence, ...]
    superseded: bool
    reply: StoredReply
    round: int = 0
    replies_to: tuple[str, ...] = ()
    item: str = ""


class Transcripts:
    """Reads from any thread."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def turns(self, run_id: str, document_id: str, *, superseded: bool = False) -> list[Turn]:
        """The debate on one document in order; with ``superseded`` also what was said before it was asked again."""
        return self.of(run_id, [document_id], superseded=superseded)

    def of(self, run_id: str, document_ids: Sequence[str], *, superseded: bool = False) -> list[Turn]:
        """The debates on these documents, in the run's order of documents and then of turns."""
        if not document_ids:
            return []
        marks = ", ".join("?" * len(document_ids))
        names = ", ".join(f"turns.{name}" for name in _TURN)
        rows = self._connection.rows(
            f"SELECT {names}, {', '.join(f'replies.{name}' for name in REPLY)} "
            "FROM turns JOIN replies USING (key) JOIN run_documents "
            "ON run_documents.run_id = turns.run_id AND run_documents.document_id = turns.document_id "
            f"WHERE turns.run_id = ? AND turns.document_id IN ({marks}) AND (? OR NOT superseded) "
            "ORDER BY position, superseded DESC, turn",
            [run_id, *document_ids, superseded],
        )
        hashes = {part["text"] for row in rows for part in load(row[5]) if "text" in part}
        texts = self._texts(hashes)
        return [_turn(row, texts) for row in rows]

    def verdict(self, run_id: str, document_id: str) -> VerdictRow | None:
        """How the debate ended, None while it has not."""
        row = self._connection.row(
            "SELECT status, verdict, unix_time FROM verdicts WHERE run_id = ? AND document_id = ?",
            [run_id, document_id],
        )
        return VerdictRow(run_id, document_id, row[0], verdict_of(row[1]), row[2]) if row else None

    def served(self, run_id: str) -> dict[str, frozenset[str]]:
        """What servers called the models that answered in a run, by role; a role of which none said so is left out."""
        rows = self._connection.rows(
            "SELECT role, list(DISTINCT served) FROM turns JOIN replies USING (key) "
            "WHERE turns.run_id = ? AND NOT superseded AND served <> '' GROUP BY role ORDER BY min(turn), role",
            [run_id],
        )
        return {role: frozenset(names) for role, names in rows}

    def attempts(self, run_id: str, document_id: str | None = None) -> list[AttemptRow]:
        """Tries of a run (on one document) that failed, oldest first."""
        rows = self._connection.rows(
            "SELECT run_id, document_id, role, key, kind, message, text, prompt_tokens, completion_tokens, cost_usd, "
            "seconds, unix_time FROM attempts "
            "WHERE run_id = $run AND ($document IS NULL OR document_id = $document) ORDER BY unix_time",
            {"run": run_id, "document": document_id},
        )
        return [
            AttemptRow(run, document, role, key, kind, message, text, Usage(prompt, completion), cost, seconds, at)
            for run, document, role, key, kind, message, text, prompt, completion, cost, seconds, at in rows
        ]

    def _texts(self, hashes: set[str]) -> dict[str, str]:
        if not hashes:
            return {}
        marks = ", ".join("?" * len(hashes))
        return dict(self._connection.rows(f"SELECT hash, text FROM texts WHERE hash IN ({marks})", sorted(hashes)))


def verdict_of(text: str) -> Verdict:
    """The verdict whose JSON text this is."""
    data = load(text)
    fault = ReplyError(**data["error"]) if data["error"] else None
    return Verdict(data["values"], data["reasons"], tuple(data["notes"]), fault, data.get("path", ""))


def _turn(row: Sequence[Any], texts: Mapping[str, str]) -> Turn:
    (
        document_id, turn, role, retry, role_model, messages, cached, reading, says, evidence, superseded,
        round, replies_to,
        item,
    ) = row[: len(_TURN)]  # fmt: skip
    return Turn(
        document_id=document_id,
        turn=turn,
        role=role,
        retry=retry,
        role_model=RoleModel.model_validate(load(role_model)),
        messages=tuple(_message(part, texts) for part in load(messages)),
        cached=cached,
        reading=_reading(load(reading)),
        says=None if says is None else load(says),
        evidence=tuple(Evidence(**quote) for quote in load(evidence)),
        superseded=superseded,
        reply=reply_of(row[len(_TURN) :]),
        round=round,
        replies_to=tuple(load(replies_to)),
        item=item,
    )


def _message(part: Mapping[str, Any], texts: Mapping[str, str]) -> Message:
    return Message(part["role"], texts[part["text"]] if "text" in part else part["content"])


def _reading(data: Mapping[str, Any]) -> Reading:
    return Reading(
        values=data.get("values", {}),
        undecided=data.get("undecided", {}),
        unknown=tuple(data.get("unknown", ())),
        problem=data.get("problem", ""),
    )
