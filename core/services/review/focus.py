"""What the Focus view shows of a run, as plain data for the browser: lines of the queue, and one document with all that
bears on its decision. Where the verdict is hidden first, nothing of it leaves this module before it was revealed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeAlias

from core.annotations import majority_reference
from core.classifier.review_order import SamplingRecord
from core.runs import RunRow
from core.services.codebooks import staleness
from core.services.live_run import debate_events
from core.services.review import queue, quotes, review
from core.services.review.queue import REASONS, QueueFilter
from core.services.review.review import SETTLED
from core.services.session import ProjectSession
from core.store.document_records import DocumentRecord
from core.store.review_pages import Filter, Line

Json: TypeAlias = dict[str, Any]
TONES: Mapping[str, str] = {
    "failed": "wrong", "gold": "wrong", "unsupported": "wrong", "unresolved": "unres", "flipped": "unres",
    "stale": "stale", "near": "unres", "flagged": "run",
}  # fmt: skip
"""How badges are tinted; grey otherwise."""


def lines(session: ProjectSession, run: RunRow, wanted: QueueFilter, *, actor: str) -> Json:
    """A part of the queue: ``rows`` from ``wanted.number`` on, and how many there are in all."""
    found = queue.listed(session, run, wanted, actor=actor)
    blind = queue.manner(session).blind
    return {
        "rows": [_line(line, found.draws.get(line.document_id), blind) for line in found.lines],
        "total": found.total,
        "queue": bool(found.draws) or (wanted.sort == "queue" and not wanted.narrowed),
    }


def progress(session: ProjectSession, run: RunRow, *, actor: str) -> Json:
    """How far the person is."""
    return asdict(queue.progress(session, run, actor=actor))


def document(session: ProjectSession, run: RunRow, document_id: str, *, actor: str) -> Json | None:
    """One document with everything that bears on its decision; None when the run does not have it."""
    view = queue.viewpoint(session, run, actor)
    found = next(iter(session.store.pages.review(view, limit=1, filter=Filter(ids=(document_id,))).rows), None)
    if found is None:
        return None
    dossier, codebook = found.dossier, run.settings.codebook
    quiet = hidden(session, run, dossier, actor)
    own = dossier.reviews
    marks = session.store.reviews.marks(document_id)
    text = session.document(run.run_id, document_id)
    told: Json = {
        "id": document_id,
        "note": text.note if text else "",
        "fields": dict(dossier.document.fields),
        "status": dossier.review_status,
        "values": {item: own[item].value if item in own else None for item in codebook.items},
        "own": sorted(own),
        "stale": sorted(item for item, one in own.items() if (item, one.codebook_version) in set(view.outdated)),
        "hidden": quiet,
        "revealed": not quiet and session.store.reviews.seen(document_id, actor, run.run_id),
        "comment": marks.get("note") or "",
        "tags": marks.get("tags") or [],
        "flag": bool(marks.get("flag")),
        "skip": bool(marks.get("skip")),
        "history": len(session.store.reviews.history(document_id)),
        "ended": "hidden" if quiet else dossier.status or "open",
        "verdict": {}, "unread": {}, "roles": {}, "evidence": [], "gold": {}, "reasons": [], "error": "",
    }  # fmt: skip
    if quiet:
        return told
    return told | {
        "values": {item: dossier.value(item) for item in codebook.items},
        "verdict": dict(dossier.values),
        "unread": dict(dossier.unread),
        "roles": {role: dict(said) for role, said in dossier.roles.items()},
        "evidence": [{**asdict(quote), "role": role} for role, quote in quotes.by_role(dossier)],
        "gold": majority_reference(dossier.document.gold, codebook.items),
        "reasons": _badges(found.line),
        "error": dossier.error.message if dossier.error else "",
    }


def transcript(session: ProjectSession, run: RunRow, document_id: str, *, actor: str) -> Json:
    """The debate on a document as own components take it; no events while the verdict is hidden."""
    found = review.dossier(session, run, document_id, actor=actor)
    replay = session.replay(run.run_id, document_id)
    if found is None or replay is None or hidden(session, run, found, actor):
        return {"events": []}
    return {"events": debate_events(replay)}


def history(session: ProjectSession, run: RunRow, document_id: str) -> Json:
    """What people did to a document, newest first."""
    return {"entries": [asdict(entry) for entry in review.history(session, run, document_id)[:100]]}


def guideline(session: ProjectSession, run: RunRow) -> Json:
    """The definitions as they are now, with those that changed since the run marked."""
    codebook = staleness.shown(session, run.settings.codebook)
    then = {label.id: label.definition_hash for label in run.settings.codebook.labels}
    return {
        "text": codebook.guideline,
        "labels": [
            {
                "id": label.id,
                "description": label.description,
                "include": list(label.include),
                "exclude": list(label.exclude),
                "changed": label.id in then and label.definition_hash != then[label.id],
            }
            for label in codebook.labels
        ],
    }


def hidden(session: ProjectSession, run: RunRow, found: DocumentRecord, actor: str) -> bool:
    """Whether the person is to decide before the verdict is shown."""
    if not queue.manner(session).blind or found.review_status in SETTLED or found.status is None:
        return False
    return not session.store.reviews.seen(found.document.id, actor, run.run_id)


def _line(line: Line, draw: SamplingRecord | None, blind: bool) -> Json:
    quiet = blind and line.standing not in SETTLED
    return {
        "id": line.document_id,
        "opening": " ".join(line.opening.split()),
        "status": line.standing,
        "at": line.touched,
        "reasons": [] if quiet else _badges(line),
        "skip": line.skipped,
        "draw": None if draw is None else asdict(draw),
    }


def _badges(line: Line) -> list[Json]:
    return [
        {
            "reason": reason,
            "word": f"classifier {line.certainty:.2f}"
            if reason == "classifier" and line.certainty is not None
            else word,
            "tone": TONES.get(reason, ""),
        }
        for reason, word in REASONS.items()
        if reason in line.reasons
    ]
