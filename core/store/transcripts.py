"""Stored debates: their turns and verdicts, and the list of finished ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import TypeAdapter

from core.debate.events import VerdictReached
from core.debate.turns import Reading, Turn, Verdict
from core.documents import Evidence, Value, storable
from core.prompts import Message
from core.runs import RoleModel
from core.store.database import ReadRepository
from core.store.reply_cache import REPLY, reply_from_row
from core.store.rows import excerpt, load, validated

_FIELDS = ("run_id", "document_id", "turn", "role", "form", "round", "item", "cached")
"""Columns that are fields of ``Turn`` as they are."""
_COLUMNS = (*_FIELDS, "retry", "role_model", "messages", "replies_to", "reading", "values", "evidence")
_READING = TypeAdapter(Reading)
_EVIDENCE = TypeAdapter(tuple[Evidence, ...])
_VERDICT = TypeAdapter(Verdict)
_ROLE_MODEL = TypeAdapter(RoleModel)


_NUMBER = "[0-9]+"
TEXT_START = 140
"""Characters of a document's text in the list."""

_MATCHING = """
FROM verdicts LEFT JOIN documents ON id = document_id
WHERE run_id = $run AND ($status = '' OR status = $status)
  AND ($search = '' OR contains(lower(text), $search) OR contains(lower(document_id), $search))
"""


@dataclass(frozen=True, slots=True)
class FinishedDebate:
    """A finished debate in a list. ``text_start`` is empty if the project no longer has the document."""

    document_id: str
    status: str
    values: Mapping[str, Value | None]
    text_start: str


@dataclass(frozen=True, slots=True)
class FinishedPage:
    """A page of finished debates, newest first, and the total number that match."""

    total: int
    rows: tuple[FinishedDebate, ...]


@dataclass(frozen=True, slots=True)
class CutReplies:
    """Replies of a run that their output limit cut also in the last attempt, counted by document.

    ``failed`` of these documents failed because of it, and ``unresolved`` have no decision because it was cut.
    ``limits`` are the output limits in tokens that cut them, ascending, without unknown ones; ``roles`` are the roles
    that gave them.
    """

    documents: int
    failed: int
    unresolved: int
    limits: tuple[int, ...]
    roles: tuple[str, ...]


class Transcripts(ReadRepository):
    """Reader of stored debates."""

    def of(self, run_id: str, document_ids: Sequence[str]) -> list[Turn]:
        """Return the turns of the latest debates on these documents, in the order of documents and turns."""
        if not document_ids:
            return []
        marks = ", ".join("?" * len(document_ids))
        names = ", ".join(f"turns.{name}" for name in _COLUMNS)
        rows = self._connection.rows(
            f"SELECT {names}, {', '.join(f'replies.{name}' for name in REPLY)} "
            "FROM turns JOIN replies USING (key) JOIN run_documents "
            "ON run_documents.run_id = turns.run_id AND run_documents.document_id = turns.document_id "
            f"WHERE turns.run_id = ? AND turns.document_id IN ({marks}) AND NOT superseded "
            "ORDER BY position, turn",
            [run_id, *document_ids],
        )
        messages = _COLUMNS.index("messages")
        hashes = {part["text"] for row in rows for part in load(row[messages]) if "text" in part}
        stored = "SELECT hash, text FROM texts WHERE hash IN (SELECT unnest(?))"
        texts = dict(self._connection.rows(stored, [sorted(hashes)]))
        return [_turn(row, texts) for row in rows]

    def open_turns(self, run_id: str, limit: int) -> list[Turn]:
        """Return the turns of the first ``limit`` debates of a run that have turns and no verdict."""
        ids = self._connection.column(
            "SELECT document_id FROM run_documents SEMI JOIN "
            "(FROM turns WHERE run_id = $run AND NOT superseded) USING (document_id) ANTI JOIN "
            "(FROM verdicts WHERE run_id = $run) USING (document_id) "
            "WHERE run_id = $run ORDER BY position LIMIT $limit",
            {"run": run_id, "limit": limit},
        )
        return self.of(run_id, ids)

    def verdict(self, run_id: str, document_id: str) -> VerdictReached | None:
        """Return the verdict on a document, None before the debate has ended."""
        row = self._connection.row(
            "SELECT verdict, unix_time FROM verdicts WHERE run_id = ? AND document_id = ?", [run_id, document_id]
        )
        return VerdictReached(run_id, document_id, verdict_of(row[0]), row[1]) if row else None

    def served_models(self, run_id: str) -> dict[str, frozenset[str]]:
        """Return the servers' names of the models of a run by role; roles without a reported name are left out."""
        rows = self._connection.rows(
            "SELECT role, list(DISTINCT served_model) FROM turns JOIN replies USING (key) "
            "WHERE turns.run_id = ? AND NOT superseded AND served_model <> '' GROUP BY role ORDER BY min(turn), role",
            [run_id],
        )
        return {role: frozenset(names) for role, names in rows}

    def refused_params(self, run_id: str) -> dict[str, frozenset[str]]:
        """Return the parameters of requests that servers refused in a run, by role; roles without any are left out."""
        rows = self._connection.rows(
            "SELECT role, list(DISTINCT refused_params) FROM turns JOIN replies USING (key) "
            "WHERE turns.run_id = ? AND NOT superseded AND refused_params <> '[]' GROUP BY role ORDER BY role",
            [run_id],
        )
        return {role: frozenset[str]().union(*map(load, lists)) for role, lists in rows}

    def page(
        self, run_id: str, *, search: str = "", status: str = "", offset: int = 0, limit: int = 50
    ) -> FinishedPage:
        """Return one page of the run's finished debates, newest first.

        ``search`` is searched for in ids and texts; an empty ``status`` matches all.
        """
        params = {"run": run_id, "status": status, "search": storable(search).lower()}
        total = self._connection.value(f"SELECT count(*) {_MATCHING}", params)
        rows = self._connection.rows(
            f"SELECT document_id, status, verdict, coalesce({excerpt(TEXT_START)}, '') {_MATCHING} "
            "ORDER BY unix_time DESC, position DESC LIMIT $limit OFFSET $offset",
            {**params, "limit": limit, "offset": offset},
        )
        finished = (
            FinishedDebate(id, status, verdict_of(verdict).values, start) for id, status, verdict, start in rows
        )
        return FinishedPage(int(total), tuple(finished))

    def last_reply(self, run_id: str) -> tuple[float | None, int]:
        """Return the time of the run's last reply (Unix seconds), and how many of its debates have only begun."""
        ((last, begun),) = self._connection.rows(
            "SELECT max(unix_time), count(DISTINCT document_id) FILTER (document_id NOT IN "
            "(SELECT document_id FROM verdicts WHERE run_id = $run)) "
            "FROM turns JOIN replies USING (key) WHERE turns.run_id = $run AND NOT superseded",
            {"run": run_id},
        )
        return last, int(begun)

    def causes(self, run_id: str, status: Literal["failed", "unresolved"]) -> list[tuple[str, int]]:
        """Return the three commonest error messages, or reasons, of a run's documents of this status with their counts.

        Messages that differ only in their numbers, such as the tokens of a prompt, count as one. Only the 100 commonest
        verdicts are read. A document counts once for each of its reasons.
        """
        rows = self._connection.rows(
            "SELECT min(verdict), count(*) FROM verdicts WHERE run_id = ? AND status = ? "
            f"GROUP BY regexp_replace(verdict, '{_NUMBER}', '', 'g') ORDER BY count(*) DESC LIMIT 100",
            [run_id, status],
        )
        messages: dict[str, str] = {}
        counted: Counter[str] = Counter()
        for text, count in rows:
            verdict = verdict_of(text)
            reasons = (
                verdict.reasons.values() if status == "unresolved" else [verdict.error.message if verdict.error else ""]
            )
            causes = {re.sub(_NUMBER, "", message): message for message in reasons}
            messages = causes | messages
            counted.update(dict.fromkeys(causes, count))
        return [(messages[cause], count) for cause, count in counted.most_common(3)]

    def cut_replies(self, run_id: str) -> CutReplies:
        """Return the number of documents of a run with a reply that its output limit cut in the last attempt."""
        ((documents, failed, unresolved, limits, roles),) = self._connection.rows(_CUT_REPLIES, {"run": run_id})
        return CutReplies(documents, failed, unresolved, tuple(sorted(limits or ())), tuple(sorted(roles or ())))


_CUT_REPLIES = """
WITH asked AS (FROM turns WHERE run_id = $run AND NOT superseded),
cut AS (SELECT asked.*, output_limit FROM asked JOIN replies USING (key) WHERE finish_reason = 'length')
SELECT count(DISTINCT document_id), count(DISTINCT document_id) FILTER (verdict ->> '$.error.kind' = 'length limit'),
    count(DISTINCT document_id) FILTER (status = 'unresolved' AND form <> 'text' AND reading ->> '$.problem' <> ''),
    list(DISTINCT output_limit) FILTER (output_limit > 0), list(DISTINCT role)
FROM cut LEFT JOIN verdicts USING (run_id, document_id) WHERE NOT EXISTS (
    FROM asked WHERE asked.retry > cut.retry AND asked.document_id = cut.document_id AND asked.role = cut.role
    AND asked.round = cut.round AND asked.item = cut.item
)
"""


def verdict_of(text: str) -> Verdict:
    """Return the verdict in a JSON text."""
    return validated(_VERDICT, load(text), "a verdict")


def _turn(row: Sequence[Any], texts: Mapping[str, str]) -> Turn:
    count = len(_COLUMNS)
    fields = dict(zip(_COLUMNS, row[:count], strict=True))
    what = f"turn {fields['turn']} of {fields['document_id']} in run {fields['run_id']}"
    reading = validated(_READING, load(fields.pop("reading")), what)
    evidence = validated(_EVIDENCE, load(fields.pop("evidence")), what)
    values = fields.pop("values")
    return Turn(
        **{name: fields[name] for name in _FIELDS},
        reask=fields["retry"],
        role_model=validated(_ROLE_MODEL, load(fields["role_model"]), what),
        messages=tuple(_message(part, texts) for part in load(fields["messages"])),
        replies_to=tuple(load(fields["replies_to"])),
        reply=replace(reply_from_row(row[count:]), reading=reading, evidence=evidence),
        values=None if values is None else {**dict.fromkeys(reading.undecided), **load(values)},
    )


def _message(part: Mapping[str, Any], texts: Mapping[str, str]) -> Message:
    return Message(part["role"], texts[part["text"]] if "text" in part else part["content"])
