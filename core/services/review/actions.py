"""Review actions: values, statuses, notes, undo. Each action is committed as an event before it is reported."""

from __future__ import annotations

import getpass
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from core.codebook import Codebook
from core.debate.turns import quotes_of_choice
from core.documents import Evidence, ReviewStatus, Value, storable
from core.errors import NoSuchRun, UsageError
from core.formatting import format_clock, format_count, join_names
from core.runs import RunRow, RunSettings
from core.services.codebooks import codebook as codebooks
from core.services.project_session import ProjectSession
from core.store.document_records import DocumentRecord
from core.store.events import Event
from core.store.reviews import ADJUDICATION, MARK, REVIEW, STATUS, Decision, MarkName, ReviewChange
from core.store.sampling_frames import SamplingRecord

STATUSES: tuple[ReviewStatus, ...] = ("Pending", "Draft", "Submitted", "Discarded")
RESOLVED: tuple[ReviewStatus, ...] = ("Submitted", "Discarded")
ERROR_TAGS = ("ambiguous text", "guideline gap", "model error", "edge case", "subjective")
"""Reasons for a wrong verdict or a hard document."""
MAX_NOTE = 4000
"""Maximum characters of a note."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One line of a document's history."""

    at: float
    who: str
    item: str
    """A label's name or another part of the review (note, tags, ...), empty for a status."""
    before: str
    after: str
    undone: bool
    """True after an undo."""
    version: int | None = None
    """The version of the codebook that it was decided under, None if unknown."""
    seconds: float | None = None
    """The time spent, None if unknown."""


@dataclass(frozen=True, slots=True)
class SavedAction:
    """A committed action: its time (Unix seconds), its documents, and what it undid or redid."""

    at: float
    documents: tuple[str, ...]
    reverted: str = ""

    @property
    def words(self) -> str:
        """The message ``Saved 14:03:22``, or what was undone or redone."""
        return self.reverted or f"Saved {format_clock(self.at)}"


def default_reviewer() -> str:
    """Return the name of this account, the default reviewer."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # pragma: no cover - an account without a name
        return "reviewer"


@dataclass(frozen=True, slots=True)
class Attribution:
    """Reviewer of an action, with the ``seconds`` spent; an empty ``name`` is the default reviewer.

    ``action_id`` is an idempotency key: an action with a key that was recorded before is not recorded again.
    """

    name: str = ""
    seconds: float | None = None
    action_id: str = ""

    @property
    def actor(self) -> str:
        """Name under which the action is recorded."""
        return storable(self.name) or default_reviewer()


DEFAULT_REVIEWER = Attribution()
"""The default reviewer."""


def load_record(
    session: ProjectSession, run: RunRow, document_id: str, *, actor: str | None = None
) -> DocumentRecord | None:
    """Return everything known of one document in the run, with the decisions of ``actor`` or the current ones."""
    return next(iter(session.store.document_records.load(run.run_id, [document_id], actor=actor)), None)


def edit(
    session: ProjectSession,
    run_id: str,
    document_ids: Sequence[str],
    item: str,
    value: Value | None,
    by: Attribution = DEFAULT_REVIEWER,
) -> SavedAction:
    """Set one item of documents as one action, which one undo reverts; None withdraws the reviewer's values.

    Committed on return. A Pending document becomes a Draft; others keep their status. UsageError for a value that the
    item cannot have, and for a document that is not in the project any more.
    """
    codebook = _run_settings(session, run_id).codebook
    check_value(codebook, item, value)
    require_documents(session, document_ids)
    decisions = []
    for record in session.store.document_records.load(run_id, list(document_ids), actor=by.actor, debate=False):
        change = ReviewChange(item, record.value(item), value)
        status: ReviewStatus | None = "Draft" if record.review_status == "Pending" else None
        decisions.append(Decision(record.document.id, (change,), status))
    return record_decisions(session, run_id, decisions, by)


def submit(
    session: ProjectSession,
    run_id: str,
    document_ids: Sequence[str],
    by: Attribution = DEFAULT_REVIEWER,
    *,
    sampling: Mapping[str, SamplingRecord | None] = MappingProxyType({}),
) -> SavedAction:
    """Mark documents as Submitted, as one action.

    Labels that the reviewer left unchanged are confirmed, and so are those decided under a definition that has changed
    since. They then count as reference like changed ones. ``sampling`` records how documents were selected, by id;
    others were chosen by hand. Values given while the verdict is hidden are also stored as blind decisions.

    UsageError when a label of some document has no value; nothing is submitted then.
    """
    codebook = _run_settings(session, run_id).codebook
    require_documents(session, document_ids)
    outdated = set(codebooks.outdated(session))
    decisions = []
    for record in session.store.document_records.load(run_id, list(document_ids), actor=by.actor, debate=False):
        open_items = [item for item in codebook.items if record.value(item) is None]
        if open_items:
            names = ", ".join(codebook.item_title(item) for item in open_items)
            raise UsageError(
                f"Document {record.document.id} has no value yet for {names}.",
                "Decide each value marked ?, then submit.",
            )
        confirmed = [
            ReviewChange(item, value, value)
            for item in codebook.items
            if (value := record.value(item)) is not None
            and (
                (review := record.reviews.get(item)) is None
                or (review.codebook_version is not None and (item, review.codebook_version) in outdated)
            )
        ]
        blind = record.current_values(codebook.items) if record.hidden else None
        marks = (ReviewChange("blind", None, blind),) if blind else ()
        decisions.append(Decision(record.document.id, confirmed, "Submitted", marks, sampling.get(record.document.id)))
    return record_decisions(session, run_id, decisions, by)


def reveal(session: ProjectSession, run_id: str, document_id: str, by: Attribution = DEFAULT_REVIEWER) -> SavedAction:
    """Store the blind decisions before the verdict is shown. UsageError for a label that the reviewer left open."""
    codebook = _run_settings(session, run_id).codebook
    records = session.store.document_records.load(run_id, [document_id], actor=by.actor, debate=False)
    reviews = next((record.reviews for record in records), {})
    missing = [codebook.item_title(item) for item in codebook.items if item not in reviews]
    if missing:
        raise UsageError(f"Not decided yet: {', '.join(missing)}.", "Decide each label to see the verdict.")
    values = {item: reviews[item].value for item in codebook.items}
    return mark(session, run_id, document_id, "blind", values, by)


def mark(
    session: ProjectSession,
    run_id: str,
    document_id: str,
    name: MarkName,
    value: Any,
    by: Attribution = DEFAULT_REVIEWER,
) -> SavedAction:
    """Set a ``note`` (text), ``tags`` (some of ERROR_TAGS), ``flag`` or ``skip`` (true) of a document.

    None withdraws it.

    UsageError for an unknown tag or a note that is too long.
    """
    if name == "tags" and not set(value or ()) <= set(ERROR_TAGS):
        raise UsageError(f"Unknown tag in {value!r}.", f"Choose among {', '.join(ERROR_TAGS)}.")
    if name == "note" and len(str(value or "")) > MAX_NOTE:
        raise UsageError(f"The note is longer than {MAX_NOTE:,} characters.", "Shorten it.")
    require_documents(session, [document_id])
    reviews = session.store.reviews
    is_hidden = bool(reviews.hidden(by.actor, run_id, [document_id]))
    before = reviews.marks(document_id, actor=by.actor, hidden=is_hidden).get(name)
    decision = Decision(document_id, marks=(ReviewChange(name, before, value or None),))
    return record_decisions(session, run_id, [decision], by)


def set_status(
    session: ProjectSession,
    run_id: str,
    document_ids: Sequence[str],
    status: ReviewStatus,
    by: Attribution = DEFAULT_REVIEWER,
    *,
    sampling: Mapping[str, SamplingRecord | None] = MappingProxyType({}),
) -> SavedAction:
    """Set documents to Pending, Draft or Discarded as one action; ``Submitted`` calls ``submit``.

    ``sampling`` records how submitted or discarded documents were selected, as for ``submit``.
    """
    if status == "Submitted":
        return submit(session, run_id, document_ids, by, sampling=sampling)
    require_documents(session, document_ids)
    decisions = [Decision(id, status=status, sampling=sampling.get(id)) for id in document_ids]
    return record_decisions(session, run_id, decisions, by)


def undo(
    session: ProjectSession, by: Attribution = DEFAULT_REVIEWER, *, shown_run: str | None = None
) -> SavedAction | None:
    """Undo this reviewer's last action; None when there is none. Its message names the run unless it is shown."""
    return _reverted(session, "Undone", session.store.reviews.undo(by.actor, action_id=by.action_id), shown_run)


def redo(
    session: ProjectSession, by: Attribution = DEFAULT_REVIEWER, *, shown_run: str | None = None
) -> SavedAction | None:
    """Redo the action undone last; None when there is none, or after a later decision."""
    return _reverted(session, "Redone", session.store.reviews.redo(by.actor, action_id=by.action_id), shown_run)


def history(session: ProjectSession, run: RunRow, document_id: str, *, actor: str | None = None) -> list[HistoryEntry]:
    """Return the actions on a document, or those of ``actor`` on it, newest first: each value, mark and status."""
    codebook = run.settings.codebook
    versions = session.store.codebooks.history()
    names = {label.id: label.name for version in reversed(versions) for label in version.codebook.labels}
    names |= codebook.label_names  # labels that the run lacks keep the name of their latest version
    events = session.store.reviews.history(document_id)
    in_effect: dict[int, bool] = {}
    for event in events:
        if event.kind in ("undo", "redo") and event.target is not None:
            in_effect[event.target] = event.kind == "redo"
    return [
        _history_entry(event, codebook, names, undone=not in_effect.get(event.act, True))
        for event in reversed(events)
        if event.kind in (REVIEW, STATUS, MARK, ADJUDICATION) and actor in (None, event.actor)
    ]


def check_value(codebook: Codebook, item: str, value: Value | None) -> None:
    """Raise UsageError when an item cannot have a value; None is always valid."""
    if item not in codebook.items:
        raise UsageError(f"The codebook of this run does not have the item '{item}'.", "Open the run's own grid.")
    if value is not None and not codebook.allows(item, value):
        raise UsageError(f"{codebook.item_title(item)} cannot have the value {value!r}.", "Choose one of its values.")


def require_documents(session: ProjectSession, document_ids: Sequence[str]) -> None:
    """Raise UsageError if documents are not in the project any more, for example after others replaced them."""
    if missing := session.store.documents.missing(document_ids):
        raise UsageError(f"The project no longer contains {join_names(missing[:3])}.", "Reload the page.")


def record_decisions(
    session: ProjectSession, run_id: str, decisions: Sequence[Decision], by: Attribution
) -> SavedAction:
    """Store checked decisions as one action."""
    events = session.store.reviews.record(
        decisions,
        actor=by.actor,
        run_id=run_id,
        codebook_version=codebooks.version_seen(session, _run_settings(session, run_id)) or None,
        seconds=by.seconds,
        action_id=by.action_id,
    )
    session.trainer.schedule()
    return SavedAction(time.time(), _documents(events))


def _reverted(session: ProjectSession, verb: str, events: Sequence[Event], shown_run: str | None) -> SavedAction | None:
    """Return an action that was undone or redone. Its message names the document, and the run if it is another one."""
    session.trainer.schedule()
    if not events:
        return None
    documents = _documents(events)
    changed = f"document {documents[0]}" if len(documents) == 1 else format_count(len(documents), "document")
    run_id = events[0].run_id
    place = f" of {session.run_name(run_id)}" if run_id and run_id != shown_run else ""
    return SavedAction(time.time(), documents, f"{verb}: {changed}{place}")


def _documents(events: Sequence[Event]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(event.document_id for event in events if event.document_id))


def _history_entry(event: Event, codebook: Codebook, names: Mapping[str, str], *, undone: bool) -> HistoryEntry:
    def value_name(value: Any) -> str:
        return names.get(value, value) if isinstance(value, str) else codebook.value_name(value)

    item, before, after = "", str(event.before or ""), str(event.after or "")
    if event.kind == MARK:
        item, before, after = str(event.item), _mark_name(event.before), _mark_name(event.after)
        if event.item == "blind":
            item, before, after = "decided blind", "", ""
    elif event.kind != STATUS:
        item = names.get(event.item or "") or codebook.item_title(event.item or "")
        item += " adjudicated" if event.kind == ADJUDICATION else ""
        before, after = value_name(event.before), value_name(event.after)
    seconds = event.payload.get("seconds")
    return HistoryEntry(event.at, event.actor, item, before, after, undone, event.codebook_version, seconds)


def _mark_name(value: Any) -> str:
    match value:
        case None:
            return "none"
        case True:
            return "set"
        case list():
            return ", ".join(map(str, value))
        case _:
            return str(value)


def _run_settings(session: ProjectSession, run_id: str) -> RunSettings:
    settings = session.store.runs.settings(run_id)
    if settings is None:
        raise NoSuchRun(run_id)
    return settings


def quotes_by_role(record: DocumentRecord) -> tuple[tuple[str, Evidence], ...]:
    """Return the quotes of a document with the role that gave each.

    For a single choice, ``item`` of a quote becomes the id of the label that its role chose, unless the role chose
    none.
    """
    return tuple(
        (role, quote)
        for role, quotes in record.evidence.items()
        for quote in quotes_of_choice(quotes, record.roles.get(role, {}))
    )


def all_quotes(record: DocumentRecord) -> tuple[Evidence, ...]:
    """Return the quotes of all roles."""
    return tuple(quote for _, quote in quotes_by_role(record))
