"""One document with everything known of it in some runs, for the drawer that all pages share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from core.annotations import majority_reference
from core.documents import Value
from core.runs import RunRow
from core.services.live_run import debate_events
from core.services.review import focus, review
from core.services.runs.configuration import role_titles
from core.services.session import ProjectSession
from core.store.document_records import DocumentRecord

Json: TypeAlias = dict[str, Any]
MAX_EVENTS = 100
"""Number of latest events in the history."""


def document_view(session: ProjectSession, runs: Sequence[RunRow], document_id: str, *, actor: str) -> Json | None:
    """Return text, annotations, evidence, debates, history and notes of a document; None if it does not exist.

    ``annotations`` has a column per rater of gold, per reviewer, and per run; with one run also one per role.
    ``reference`` holds the current reviews, else the majority of the gold. While a review by ``actor`` is blind in
    one of the runs, ``hidden`` is True and only the text and what ``actor`` has decided are returned. Without a run
    there are no debates and no history.
    """
    text = session.document(document_id)
    if text is None:
        return None
    blind = _is_blind(session, runs, document_id, actor)
    people = session.store.reviews.values_by_reviewer(document_id)
    notes = session.store.reviews.notes_by_reviewer(document_id)
    if blind:
        people, notes = ({name: own for name, own in each.items() if name == actor} for each in (people, notes))
    events = review.history(session, runs[0], document_id, actor=actor if blind else None) if runs else ()
    shown: Json = {
        "id": document_id,
        "note": text.note,
        "fields": dict(text.fields),
        "hidden": blind,
        "annotations": [_column(name, "person", values) for name, values in people.items()],
        "reference": {},
        "evidence": [],
        "debates": [],
        "notes": [{"who": name, **marks} for name, marks in notes.items()],
        "history": [asdict(event) for event in events[:MAX_EVENTS]],
    }
    if blind:
        return shown
    records = [(run, record) for run in runs if (record := review.load_record(session, run, document_id))]
    plain = session.store.document_records.load(None, [document_id])[0]
    gold, decided = plain.document.gold, {item: one.value for item, one in plain.reviews.items()}
    quotes = {str(asdict(quote)): asdict(quote) for _, record in records for quote in review.all_quotes(record)}
    return shown | {
        "annotations": [*_gold_columns(gold), *shown["annotations"], *_run_columns(records)],
        "reference": majority_reference(gold, sorted({*decided, *(i for own in gold.values() for i in own)})) | decided,
        "evidence": list(quotes.values()),
        "debates": [_debate(session, run, record) for run, record in records],
    }


def _is_blind(session: ProjectSession, runs: Sequence[RunRow], document_id: str, actor: str) -> bool:
    """Return True while ``actor`` reviews the document without seeing the values of others."""
    records = ((run, review.load_record(session, run, document_id, actor=actor)) for run in runs)
    if any(record is not None and focus.hidden(session, run, record, actor) for run, record in records):
        return True
    return document_id in session.store.reviews.second_readings(actor, [document_id])


def _gold_columns(gold: Mapping[str, Mapping[str, Value]]) -> list[Json]:
    return [_column(f"Gold, {rater}" if len(gold) > 1 else "Gold", "gold", values) for rater, values in gold.items()]


def _run_columns(records: Sequence[tuple[RunRow, DocumentRecord]]) -> list[Json]:
    """Return the columns of the roles, with one run only, and of the verdicts."""
    roles: list[Json] = []
    if len(records) == 1:
        run, record = records[0]
        titles = role_titles(run.settings)
        roles = [_column(titles.get(role, role), "role", values) for role, values in record.roles.items()]
    ended = ((run, record) for run, record in records if record.status is not None)
    return [*roles, *(_column(run.title, "verdict", record.values, run=run.run_id) for run, record in ended)]


def _debate(session: ProjectSession, run: RunRow, record: DocumentRecord) -> Json:
    replay = session.replay(run.run_id, record.document.id)
    return {
        "run": run.run_id,
        "events": [] if replay is None else debate_events(replay),
        "active": record.status is None and run.state in ("running", "queued"),
    }


def _column(title: str, by: str, values: Any, *, run: str = "") -> Json:
    return {"title": title, "by": by, "run": run, "values": dict(values)}
