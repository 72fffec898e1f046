"""Data of Review for the browser: the queue, the grid, one document with all that its decision needs, and the drawer.

With blind review, nothing of the verdict leaves this module before the reveal. A second reading is always blind: until
it is submitted, nothing of the verdict or of other reviewers leaves this module.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, TypeAlias

from core.codebook import Codebook
from core.documents import Value
from core.runs import RunRow
from core.services.codebooks import codebook as codebooks
from core.services.live_state import debate_events
from core.services.project_session import ProjectSession, document_source
from core.services.review import actions, queue
from core.services.runs.configuration import role_titles
from core.store.document_records import DocumentRecord
from core.store.review_queue import Filter, QueueLine
from core.store.sampling_frames import SamplingRecord

Json: TypeAlias = dict[str, Any]
MAX_EVENTS = 100
"""Number of latest events in a history."""
WORDS = 240
"""Maximum number of characters of a text in a grid row."""
TONES: Mapping[str, str] = {
    "failed": "wrong", "gold": "wrong", "unsupported": "wrong", "unresolved": "unres", "flipped": "unres",
    "stale": "stale", "near": "unres", "flagged": "run",
}  # fmt: skip
"""Tint of each reason's badge; grey by default."""


def queue_rows(session: ProjectSession, run: RunRow, filters: queue.QueueFilter, *, actor: str) -> Json:
    """Return part of the queue: ``rows`` from ``filters.number`` on, and the total."""
    queue_page = queue.list_queue(session, run, filters, actor=actor)
    return {
        "rows": [_row(line, queue_page.sampling.get(line.document_id)) for line in queue_page.lines],
        "total": queue_page.total,
        "queue_order": bool(queue_page.sampling) or (filters.sort == "queue" and not filters.narrowed),
    }


def progress(session: ProjectSession, run: RunRow, *, actor: str) -> Json:
    """Return the reviewer's progress."""
    return asdict(session.store.review_queue.progress(queue.viewpoint(session, run, actor)))


def document(session: ProjectSession, run: RunRow, document_id: str, *, actor: str) -> Json | None:
    """Return one document with everything needed to decide it; None if the run does not have it."""
    view = queue.viewpoint(session, run, actor)
    line = next(iter(session.store.review_queue.lines(view, limit=1, filter=Filter(ids=(document_id,))).rows), None)
    record = actions.load_record(session, run, document_id, actor=actor) if line is not None else None
    if line is None or record is None:
        return None
    codebook = run.settings.codebook
    own_reviews = record.reviews
    marks = session.store.reviews.marks(document_id, actor=actor, hidden=record.hidden)
    return {
        "id": document_id,
        "note": document_source(session.store, record.document),
        "fields": dict(record.document.fields),
        "status": record.review_status,
        "values": record.current_values(codebook.items),
        "edited": sorted(own_reviews),
        "outdated": sorted(
            item for item, review in own_reviews.items() if (item, review.codebook_version) in set(view.outdated)
        ),
        "hidden": record.hidden,
        "second_reading": record.second_reading,
        "comment": marks.get("note") or "",
        "tags": marks.get("tags") or [],
        "flagged": bool(marks.get("flag")),
        "skipped": bool(marks.get("skip")),
        "ended": "hidden" if record.hidden else record.status or "open",
        "verdict": dict(record.values),
        "unresolved": dict(record.unresolved),
        "roles": {role: dict(values) for role, values in record.roles.items()},
        "evidence": [{**asdict(quote), "role": role} for role, quote in actions.quotes_by_role(record)],
        "gold": dict(record.gold),
        "reasons": _badges(line),
        "error": record.error.message if record.error else "",
    }


def transcript(session: ProjectSession, run: RunRow, document_id: str, *, actor: str) -> Json:
    """Return the debate on a document for the transcript component; no events while the verdict is hidden."""
    record = actions.load_record(session, run, document_id, actor=actor)
    replay = session.replay(run.run_id, document_id)
    if record is None or replay is None or record.hidden:
        return {"events": []}
    return {"events": debate_events(replay)}


def history(session: ProjectSession, run: RunRow, document_id: str, *, actor: str) -> Json:
    """Return the actions on a document, newest first; only those of the reviewer while the verdict is hidden."""
    record = actions.load_record(session, run, document_id, actor=actor)
    visible = actor if record is not None and record.hidden else None
    events = actions.history(session, run, document_id, actor=visible)
    return {"entries": [asdict(event) for event in events[:MAX_EVENTS]], "total": len(events)}


def guideline(session: ProjectSession, run: RunRow | None) -> Json:
    """Return the current definitions; those that changed since the run, if there is one, are marked."""
    if run is None:
        codebook = codebooks.current(session) or Codebook()
        hashes_of_run = {}
    else:
        codebook = codebooks.shown(session, run.settings.codebook)
        hashes_of_run = run.settings.codebook.definition_hashes
    hashes = codebook.definition_hashes
    return {
        "text": codebook.guideline,
        "labels": [
            {
                **label.model_dump(include={"id", "description", "include", "exclude"}, mode="json"),
                "changed": hashes_of_run.get(label.id, hashes[label.id]) != hashes[label.id],
            }
            for label in codebook.labels
        ],
    }


def _row(line: QueueLine, sampling: SamplingRecord | None) -> Json:
    return {
        "id": line.document_id,
        "text_start": " ".join(line.text_start.split()),
        "status": line.review_status,
        "changed_at": line.changed_at,
        "reasons": _badges(line),
        "skipped": line.skipped,
        "sampling": None if sampling is None else asdict(sampling),
    }


def _badges(line: QueueLine) -> list[Json]:
    return [
        {"reason": reason, "text": queue.describe_reason(reason, line.certainty), "tone": TONES.get(reason, "")}
        for reason in line.reasons
    ]


def document_view(session: ProjectSession, runs: Sequence[RunRow], document_id: str, *, actor: str) -> Json | None:
    """Return text, annotations, evidence, debates, history and notes of a document; None if it does not exist.

    ``annotations`` has a column per rater of gold, per reviewer, and per run; with one run also one per role.
    ``reference`` holds the current reviews, else the majority of the gold, without values that the codebook of the
    first run does not allow. While a review by ``actor`` is blind in one of the runs, ``hidden`` is True and only the
    text and what ``actor`` has decided are returned. Without a run there are no debates and no history.
    """
    text = session.document(document_id)
    if text is None:
        return None
    blind = _is_blind(session, runs, document_id, actor)
    people = session.store.reviews.values_by_reviewer(document_id)
    notes = session.store.reviews.notes_by_reviewer([document_id]).get(document_id, {})
    if blind:
        people, notes = (
            {name: values for name, values in by_reviewer.items() if name == actor} for by_reviewer in (people, notes)
        )
    events = actions.history(session, runs[0], document_id, actor=actor if blind else None) if runs else ()
    shown: Json = {
        "id": document_id,
        "note": text.note,
        "fields": dict(text.fields),
        "hidden": blind,
        "annotations": [_value_column(name, "person", values) for name, values in people.items()],
        "reference": {},
        "evidence": [],
        "debates": [],
        "notes": [{"who": name, **marks} for name, marks in notes.items()],
        "history": [asdict(event) for event in events[:MAX_EVENTS]],
    }
    if blind:
        return shown
    records = [(run, record) for run in runs if (record := actions.load_record(session, run, document_id))]
    first = records[0][1] if records else session.store.document_records.load(None, [document_id])[0]
    gold, decided = first.document.gold, {item: review.value for item, review in first.reviews.items()}
    quotes = {str(asdict(quote)): asdict(quote) for _, record in records for quote in actions.all_quotes(record)}
    return shown | {
        "annotations": [
            *(_value_column(f"Gold, {rater}" if len(gold) > 1 else "Gold", "gold", gold[rater]) for rater in gold),
            *shown["annotations"],
            *_run_columns(records),
        ],
        "reference": {**first.gold, **decided},
        "evidence": list(quotes.values()),
        "debates": [_debate_json(session, run, record) for run, record in records],
    }


def _is_blind(session: ProjectSession, runs: Sequence[RunRow], document_id: str, actor: str) -> bool:
    """Return True while ``actor`` reviews the document without seeing the values of others."""
    load = partial(session.store.document_records.load, ids=[document_id], actor=actor, debate=False)
    return any(record.hidden for run_id in [None, *(run.run_id for run in runs)] for record in load(run_id))


def _run_columns(records: Sequence[tuple[RunRow, DocumentRecord]]) -> list[Json]:
    """Return the columns of the roles, with one run only, and of the verdicts."""
    roles: list[Json] = []
    if len(records) == 1:
        run, record = records[0]
        titles = role_titles(run.settings)
        roles = [_value_column(titles.get(role, role), "role", values) for role, values in record.roles.items()]
    verdicts = [
        _value_column(run.title, "verdict", record.values, run=run.run_id) | {"failed": record.status == "failed"}
        for run, record in records
        if record.status is not None
    ]
    return [*roles, *verdicts]


def _debate_json(session: ProjectSession, run: RunRow, record: DocumentRecord) -> Json:
    replay = session.replay(run.run_id, record.document.id)
    return {
        "run": run.run_id,
        "events": [] if replay is None else debate_events(replay),
        "active": record.status is None and run.state in ("running", "queued"),
    }


def _value_column(title: str, by: str, values: Any, *, run: str = "") -> Json:
    return {"title": title, "by": by, "run": run, "values": dict(values)}


def grid_cells(row: queue.ReviewRow, codebook: Codebook, roles: Mapping[str, str], read: float) -> Json:
    """Return the grid cells of one document.

    ``v_ITEM`` is the value of an item, ``m_ITEM`` its marks, and ``r_ROLE`` the labels of a role. ``read`` is the time
    of reading in Unix seconds. ``_sampling`` is the JSON of the sampling record of a row of the queue.
    """
    most_urgent = next(iter(row.reasons), None)
    cells: Json = {
        "_id": row.document_id,
        "_text": " ".join(row.text[: 2 * WORDS].split())[:WORDS],
        "_quotes": f"{row.supported} of {row.quotes}" if row.quotes else "",
        "_reason": queue.describe_reason(most_urgent, row.certainty) if most_urgent else "",
        "_tone": TONES.get(most_urgent or "", ""),
        "_why": ", ".join(queue.REASON_NAMES[reason] for reason in row.reasons),
        "_status": row.review_status,
        "_revision": "",
        "_read_at": read,
        "gold": _squares(row.gold, codebook) if row.gold else "",
    }
    for role in roles:
        values = row.roles.get(role)
        cells[f"r_{role}"] = "?" if values is None else _squares(values, codebook)
    for item in codebook.items:
        marks = "g" * (item in row.wrong) + "d" * (item in row.disputed) + "e" * (item in row.edited)
        cells[f"v_{item}"] = _value_text(row.values.get(item))
        cells[f"m_{item}"] = marks
    if row.sampling is not None:
        cells["_sampling"] = json.dumps(asdict(row.sampling))  # as text, because pandas would round the probability
    return cells


def speakers(rows: Sequence[queue.ReviewRow], roles: Mapping[str, str]) -> dict[str, str]:
    """Return the roles with a value in at least one row, or all roles if there are none."""
    speaking = {role for row in rows for role, values in row.roles.items() if values}
    return {role: title for role, title in roles.items() if not speaking or role in speaking}


def _value_text(value: Value | None, missing: str = "?") -> str:
    match value:
        case None:
            return missing
        case bool():
            return "1" if value else "0"
        case float():
            return f"{value:.2f}".rstrip("0").rstrip(".")  # a mean of several ratings
        case _:
            return str(value)


def _squares(values: Mapping[str, Value | None], codebook: Codebook) -> str:
    """Return the values of a document as compact text.

    Multiple labels have one character per label: 1 present, 0 absent, ? missing. Choices and ratings are text after
    ``=``.
    """
    if codebook.kind == "choice":
        return f"={codebook.label_names.get(values.get(codebook.items[0]), '?')}"
    if codebook.kind == "rating":
        return "=" + " ".join(_value_text(values.get(item), "·") for item in codebook.items)
    return "".join(_value_text(values.get(item)) for item in codebook.items)
