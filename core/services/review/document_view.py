"""One document with everything known of it in some runs, for the drawer that all pages share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from core.annotations import majority_reference
from core.runs import RunRow
from core.services import run_view
from core.services.live_run import debate_events
from core.services.review import focus, review
from core.services.session import ProjectSession

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
    text = run_view.document(session.store, document_id)
    if text is None:
        return None
    reviews = session.store.reviews
    records = [(run, record) for run in runs if (record := review.load_record(session, run, document_id, actor=actor))]
    quiet = any(focus.hidden(session, run, record, actor) for run, record in records)
    if not quiet:  # the values of others and the current reviews
        records = [(run, record) for run in runs if (record := review.load_record(session, run, document_id))]
    plain = session.store.document_records.load(None, [document_id])[0]
    people = reviews.values_by_reviewer(document_id)
    notes = reviews.notes_by_reviewer(document_id)
    if quiet or document_id in reviews.second_readings(actor, [document_id]):
        quiet = True
        people, notes = ({name: own for name, own in each.items() if name == actor} for each in (people, notes))
    shown: Json = {
        "id": document_id,
        "note": text.note,
        "fields": dict(text.fields),
        "hidden": quiet,
        "annotations": [_column(name, "person", values) for name, values in people.items()],
        "reference": {},
        "evidence": [],
        "debates": [],
        "notes": [{"who": name, **marks} for name, marks in notes.items()],
        "history": [
            asdict(entry)
            for entry in (
                review.history(session, runs[0], document_id, actor=actor if quiet else None)[:MAX_EVENTS]
                if runs
                else ()
            )
        ],
    }
    if quiet:
        return shown
    gold, decided = plain.document.gold, {item: one.value for item, one in plain.reviews.items()}
    items = {item for values in (*gold.values(), decided) for item in values}
    shown["reference"] = majority_reference(gold, sorted(items)) | decided
    several = len(gold) > 1
    columns = [_column(f"Gold, {rater}" if several else "Gold", "gold", values) for rater, values in gold.items()]
    columns += shown["annotations"]
    if len(records) == 1:
        run, record = records[0]
        titles = review.role_titles(run)
        columns += [_column(titles.get(role, role), "role", values) for role, values in record.roles.items()]
    columns += [
        _column(run.title, "verdict", record.values, run=run.run_id)
        for run, record in records
        if record.status is not None
    ]
    quotes = {str(asdict(quote)): asdict(quote) for _, record in records for quote in review.all_quotes(record)}
    shown |= {"annotations": columns, "evidence": list(quotes.values())}
    for run, record in records:
        replay = session.replay(run.run_id, document_id)
        shown["debates"].append(
            {
                "run": run.run_id,
                "events": [] if replay is None else debate_events(replay),
                "active": record.status is None and run.state in ("running", "queued"),
            }
        )
    return shown


def _column(title: str, by: str, values: Any, *, run: str = "") -> Json:
    return {"title": title, "by": by, "run": run, "values": dict(values)}
