"""What a person decides about documents: values, statuses, notes, and taking any of it back. Every act is an event that
is on disk before it is spoken of. Which documents come, and what is shown of them, is in ``queue`` and ``focus``."""

from __future__ import annotations

import getpass
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from core.classifier.review_order import SamplingRecord
from core.codebook import Codebook
from core.debate import protocols
from core.documents import Value
from core.errors import NoSuchRun, UsageError
from core.runs import RunRow, RunSettings
from core.services.codebooks import staleness
from core.services.evaluation import drift, looked
from core.services.session import ProjectSession
from core.store.document_records import DocumentRecord
from core.store.events import Event
from core.store.reviews import ADJUDICATION, MARK, REVIEW, STATUS, Decision, Mark, MarkName, ReviewChange, ReviewStatus

Status: TypeAlias = ReviewStatus
STATUSES: tuple[Status, ...] = ("Pending", "Draft", "Submitted", "Discarded")
SETTLED: tuple[Status, ...] = ("Submitted", "Discarded")
ERROR_TAGS = ("ambiguous text", "guideline gap", "model error", "edge case", "subjective")
"""Why a verdict was wrong, or a document hard."""
LONGEST_NOTE = 4000
"""Characters."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a document's history. ``item`` is a label's name or what else was touched (note, tags, ...), empty
    for a status; ``undone`` when taken back. ``version`` is that of the codebook it was decided under, ``seconds`` the
    time spent, each None when unknown."""

    at: float
    who: str
    item: str
    before: str
    after: str
    undone: bool
    version: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """What was committed, and when (Unix seconds)."""

    at: float
    documents: tuple[str, ...]

    @property
    def words(self) -> str:
        """``Saved 14:03:22``."""
        return time.strftime("Saved %H:%M:%S", time.localtime(self.at))


@dataclass(frozen=True, slots=True)
class Telling:
    """What is known of how an act was done: the ``seconds`` spent, and ``once``, the name under which it was told. An
    act that is told again under the same name is not done again."""

    seconds: float | None = None
    once: str = ""


def reviewer() -> str:
    """Who reviews when nobody says: the name of this account."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # pragma: no cover - an account without a name
        return "reviewer"


def runs(session: ProjectSession) -> list[RunRow]:
    """The runs to choose from: finished ones first, runs of canaries (``drift``) behind them, each the latest first."""
    latest_first = reversed(looked.runs(session))
    return sorted(latest_first, key=lambda row: (row.state != "done", drift.is_canary(row)))


def roles(run: RunRow) -> dict[str, str]:
    """The run's roles in speaking order with what each is called."""
    try:
        return {role.name: role.title for role in protocols.roles_of(run.settings)}
    except UsageError:
        return {role: role.capitalize() for role in run.settings.role_models}


def dossier(
    session: ProjectSession, run: RunRow, document_id: str, *, actor: str | None = None
) -> DocumentRecord | None:
    """Everything known of one document in the run: text, evidence, who said what; decisions are those of ``actor``, or
    those that count."""
    return next(iter(session.store.dossiers.load(run.run_id, [document_id], actor=actor)), None)


def edit(
    session: ProjectSession,
    run_id: str,
    document_id: str,
    item: str,
    value: Value | None,
    *,
    actor: str | None = None,
    telling: Telling | None = None,
) -> Saved:
    """Decide one item of one document; None takes the person's value back. On disk when this returns.

    A Pending document becomes a Draft; others stay where they are. UsageError for a value that the item cannot have.
    """
    return edit_many(session, run_id, [document_id], item, value, actor=actor, telling=telling)


def edit_many(
    session: ProjectSession,
    run_id: str,
    document_ids: Sequence[str],
    item: str,
    value: Value | None,
    *,
    actor: str | None = None,
    telling: Telling | None = None,
) -> Saved:
    """``edit`` on many documents as one act, which one undo takes back."""
    codebook = _settings(session, run_id).codebook
    check(codebook, item, value)
    who = actor or reviewer()
    decisions = []
    for found in session.store.dossiers.load(run_id, list(document_ids), actor=who):
        change = ReviewChange(item, found.value(item), value)
        decisions.append(Decision(found.document.id, (change,), _draft(found)))
    return _record(session, run_id, decisions, who, telling)


def submit(
    session: ProjectSession,
    run_id: str,
    document_ids: Sequence[str],
    *,
    actor: str | None = None,
    telling: Telling | None = None,
    draw: SamplingRecord | None = None,
) -> Saved:
    """Mark documents as Submitted, as one act. Labels that the person left as they were are confirmed by it, so that
    they count as truth like those that were changed, and so are those decided under a definition that has changed
    since. ``draw`` says how the document came before the person; without one it was picked by hand.

    UsageError naming a document with a label that has no value yet: nothing is submitted then.
    """
    codebook = _settings(session, run_id).codebook
    who = actor or reviewer()
    outdated = set(staleness.outdated(session))
    decisions = []
    for found in session.store.dossiers.load(run_id, list(document_ids), actor=who):
        open_items = [item for item in codebook.items if found.value(item) is None]
        if open_items:
            names = ", ".join(item_name(codebook, item) for item in open_items)
            raise UsageError(
                f"Document {found.document.id} has no value yet for {names}.", "Decide what shows a ?, then submit."
            )
        confirmed = [
            ReviewChange(item, value, value)
            for item in codebook.items
            if (value := found.value(item)) is not None
            and (
                (review := found.reviews.get(item)) is None
                or (review.codebook_version is not None and (item, review.codebook_version) in outdated)
            )
        ]
        drawn = draw if draw is not None and draw.document_id == found.document.id else None
        how = asdict(drawn) if drawn else {"how": "chosen", "probability": None, "remaining": None}
        how.pop("document_id", None)
        decisions.append(Decision(found.document.id, confirmed, "Submitted", drawn=how))
    return _record(session, run_id, decisions, who, telling)


def reveal(
    session: ProjectSession, run_id: str, document_id: str, *, actor: str | None = None, telling: Telling | None = None
) -> Saved:
    """Keep what the person decided without knowing the verdict, before it is shown: from then on the two can be told
    apart. UsageError when a label has no value of the person's own yet."""
    codebook = _settings(session, run_id).codebook
    who = actor or reviewer()
    own = next((found.reviews for found in session.store.dossiers.load(run_id, [document_id], actor=who)), {})
    missing = [item_name(codebook, item) for item in codebook.items if item not in own]
    if missing:
        raise UsageError(f"Not decided yet: {', '.join(missing)}.", "Decide each label, then the verdict is shown.")
    values = {item: own[item].value for item in codebook.items}
    return mark(session, run_id, document_id, "blind", values, actor=who, telling=telling)


def mark(
    session: ProjectSession,
    run_id: str,
    document_id: str,
    name: MarkName,
    value: Any,
    *,
    actor: str | None = None,
    telling: Telling | None = None,
) -> Saved:
    """Say something of a document beside its values: a ``note`` (text), ``tags`` (some of ERROR_TAGS), ``flag`` or
    ``skip`` (true). None or nothing takes it back. UsageError for a tag that is none, or a note that is too long."""
    if name == "tags" and not set(value or ()) <= set(ERROR_TAGS):
        raise UsageError(f"There is no such tag among {value!r}.", f"Choose among {', '.join(ERROR_TAGS)}.")
    if name == "note" and len(str(value or "")) > LONGEST_NOTE:
        raise UsageError(f"The note has more than {LONGEST_NOTE:,} characters.", "Shorten it.")
    before = session.store.reviews.marks(document_id).get(name)
    decision = Decision(document_id, marks=(Mark(name, before, value or None),))
    return _record(session, run_id, [decision], actor or reviewer(), telling)


def set_status(
    session: ProjectSession,
    run_id: str,
    document_ids: Sequence[str],
    status: Status,
    *,
    actor: str | None = None,
    telling: Telling | None = None,
) -> Saved:
    """Put documents back to Pending or Draft, or discard them, as one act. To submit, use ``submit``."""
    if status == "Submitted":
        return submit(session, run_id, document_ids, actor=actor, telling=telling)
    _settings(session, run_id)
    decisions = [Decision(id, status=status) for id in document_ids]
    return _record(session, run_id, decisions, actor or reviewer(), telling)


def undo(session: ProjectSession, *, actor: str | None = None, telling: Telling | None = None) -> Saved | None:
    """Take back this person's last act; None when there is none."""
    return _saved(session.store.reviews.undo(actor or reviewer(), once=telling.once if telling else ""))


def redo(session: ProjectSession, *, actor: str | None = None, telling: Telling | None = None) -> Saved | None:
    """Do again what was undone last; None when there is nothing, or something was decided since."""
    return _saved(session.store.reviews.redo(actor or reviewer(), once=telling.once if telling else ""))


def history(session: ProjectSession, run: RunRow, document_id: str) -> list[Entry]:
    """What people did to a document, newest first: one line for each value, mark and status, undone ones marked."""
    codebook = run.settings.codebook
    events = session.store.reviews.history(document_id)
    standing: dict[int, bool] = {}
    for event in events:
        if event.kind in ("undo", "redo") and event.target is not None:
            standing[event.target] = event.kind == "redo"
    return [
        _entry(event, codebook, undone=not standing.get(event.act, True))
        for event in reversed(events)
        if event.kind in (REVIEW, STATUS, MARK, ADJUDICATION)
    ]


def item_name(codebook: Codebook, item: str) -> str:
    """What an item is called: its label's name; ``Label`` for the one item of a choice."""
    try:
        return codebook.label(item).name
    except KeyError:
        return "Label" if codebook.kind == "choice" else item


def value_word(codebook: Codebook, value: Value | None) -> str:
    """A value in a word: present, absent, a rating, a label's name, or undecided."""
    match value:
        case None:
            return "undecided"
        case True:
            return "present"
        case False:
            return "absent"
        case str():
            return item_name(codebook, value)
        case _:
            return f"{value:g}"


def check(codebook: Codebook, item: str, value: Value | None) -> None:
    """Whether an item can have a value; None always. UsageError when it cannot."""
    if item not in codebook.items:
        raise UsageError(f"The codebook of this run has no item '{item}'.", "Open the run's own grid.")
    if value is None:
        return
    fits: dict[Literal["multilabel", "choice", "rating"], bool] = {
        "multilabel": isinstance(value, bool),
        "choice": isinstance(value, str) and any(label.id == value for label in codebook.labels),
        "rating": isinstance(value, int | float)
        and not isinstance(value, bool)
        and codebook.scale is not None
        and codebook.scale.min <= value <= codebook.scale.max,
    }
    if not fits[codebook.kind]:
        raise UsageError(f"{item_name(codebook, item)} cannot have the value {value!r}.", "Choose one that it offers.")


def _draft(found: DocumentRecord) -> Status | None:
    return "Draft" if found.review_status == "Pending" else None


def _record(
    session: ProjectSession, run_id: str, decisions: Sequence[Decision], actor: str, telling: Telling | None
) -> Saved:
    telling = telling or Telling()
    events = session.store.reviews.record(
        decisions,
        actor=actor,
        run_id=run_id,
        codebook_version=staleness.version_seen(session, _settings(session, run_id)) or None,
        seconds=telling.seconds,
        once=telling.once,
    )
    session.trainer.schedule()
    return _saved(events) or Saved(time.time(), ())


def _saved(events: Sequence[Event]) -> Saved | None:
    if not events:
        return None
    documents = dict.fromkeys(event.document_id for event in events if event.document_id)
    return Saved(time.time(), tuple(documents))


def _entry(event: Event, codebook: Codebook, *, undone: bool) -> Entry:
    item, before, after = "", str(event.before or ""), str(event.after or "")
    if event.kind == MARK:
        item, before, after = str(event.item), _mark_word(event.before), _mark_word(event.after)
        if event.item == "blind":
            item, before, after = "decided blind", "", ""
    elif event.kind != STATUS:
        item = item_name(codebook, event.item or "") + (" adjudicated" if event.kind == ADJUDICATION else "")
        before, after = value_word(codebook, event.before), value_word(codebook, event.after)
    seconds = event.payload.get("seconds")
    return Entry(event.at, event.actor, item, before, after, undone, event.codebook_version, seconds)


def _mark_word(value: Any) -> str:
    match value:
        case None:
            return "none"
        case True:
            return "set"
        case list():
            return ", ".join(map(str, value))
        case _:
            return str(value)


def _settings(session: ProjectSession, run_id: str) -> RunSettings:
    settings = session.store.runs.settings(run_id)
    if settings is None:
        raise NoSuchRun(run_id)
    return settings
