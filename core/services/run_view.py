"""Stored runs, documents and debates in the form of the live page."""

from __future__ import annotations

from dataclasses import fields, replace

from core.debate.events import RunStatus
from core.runs import RunRow, State
from core.services.live_run import DocumentText, StoredDebate
from core.store.finished_debates import FinishedDebate as FinishedDebate
from core.store.finished_debates import FinishedPage as FinishedPage
from core.store.store import Store


def status_of(run: RunRow, state: State | None = None) -> RunStatus:
    """Return the status of a stored run as an event, with another state if one is given."""
    shared = {one.name: getattr(run, one.name) for one in fields(RunStatus) if one.name in RunRow.model_fields}
    status = RunStatus(**shared, in_flight=0, rate=0.0, eta_seconds=None)
    return status if state is None else replace(status, state=state, message="", stop_code="")


def document(store: Store, document_id: str) -> DocumentText | None:
    """Return a document's text and its source, None if the project does not have it."""
    found = store.documents.get(document_id)
    if found is None:
        return None
    file_name, number = store.finished_debates.origin(document_id) or ("", found.position + 1)
    return DocumentText(
        found.id, dict(found.fields), f"{file_name}, no. {number:,}" if file_name else f"no. {number:,}"
    )


def replay(store: Store, run_id: str, document_id: str) -> StoredDebate | None:
    """Return the stored debate on a document, None if it has neither turns nor a verdict."""
    turns = tuple(store.transcripts.turns(run_id, document_id))
    verdict = store.transcripts.verdict(run_id, document_id)
    text = document(store, document_id)
    return None if text is None or not (turns or verdict) else StoredDebate(text, turns, verdict)
