"""The Review room: what a person sees of a run in the grid, and what a person decides. Every act is an event that is on
disk before it is spoken of."""

from __future__ import annotations

import getpass
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from core.annotations import agreed, differs
from core.codebook import Codebook
from core.debate import protocols
from core.documents import Value
from core.errors import UsageError
from core.runs import RunRow
from core.store.dossiers import Dossier
from core.store.events import Event
from core.store.pages import Filter, PageRow, Reason, Sort
from core.store.reviews import REVIEW, STATUS, Change, Decision, ReviewStatus
from core.studio.desk import Desk

Status: TypeAlias = ReviewStatus
STATUSES: tuple[Status, ...] = ("Pending", "Draft", "Submitted", "Discarded")
PAGE_SIZES = (25, 50, 100)
SETTLED: tuple[Status, ...] = ("Submitted", "Discarded")

REASONS: Mapping[Reason, str] = {
    "failed": "failed",
    "unresolved": "unresolved",
    "gold": "differs from gold",
    "unsupported": "unsupported",
    "disagree": "roles disagree",
    "flipped": "flipped",
}
"""What each reason to look is called, the most urgent first."""

SORTS: Mapping[Sort, str] = {
    "position": "file order",
    "reasons": "most reasons",
    "words": "longest text",
    "reviewed": "last touched",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A document in the grid. Values are by item; None where nothing could be read.

    ``values`` is what counts now (the person's where there is one, else the verdict's), ``verdict`` the run's own,
    ``gold`` the truth where it has a value; ``roles`` each role's last list, None for a role that gave none.
    ``edited`` are the items where the person's value differs from the verdict's, ``disputed`` those on which the
    roles' lists differ.
    """

    document_id: str
    position: int
    text: str
    values: Mapping[str, Value | None]
    verdict: Mapping[str, Value | None]
    gold: Mapping[str, Value]
    roles: Mapping[str, Mapping[str, Value] | None]
    edited: frozenset[str]
    disputed: frozenset[str]
    quotes: int
    supported: int
    reason: Reason | None
    reasons: tuple[Reason, ...]
    status: Status

    @property
    def wrong(self) -> frozenset[str]:
        """Items whose value differs from gold."""
        return frozenset(
            item
            for item, true in self.gold.items()
            if (now := self.values.get(item)) is not None and differs(now, true)
        )


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the grid, and how many documents the filters leave on all pages."""

    rows: tuple[Row, ...]
    total: int
    number: int
    pages: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to show: ``label`` is the id of a label that the verdict gives, ``search`` words in text or id."""

    search: str = ""
    label: str | None = None
    reason: Reason | None = None
    status: Status | None = None
    sort: Sort = "position"
    number: int = 1
    size: int = 50


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a document's history. ``item`` is a label's name, empty for a status; ``undone`` when taken back."""

    at: float
    who: str
    item: str
    before: str
    after: str
    undone: bool


@dataclass(frozen=True, slots=True)
class Saved:
    """What was committed, and when (Unix seconds)."""

    at: float
    documents: tuple[str, ...]

    @property
    def words(self) -> str:
        """``Saved 14:03:22``."""
        return time.strftime("Saved %H:%M:%S", time.localtime(self.at))


def reviewer() -> str:
    """Who reviews when nobody says: the name of this account."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # pragma: no cover - an account without a name
        return "reviewer"


def runs(desk: Desk) -> list[RunRow]:
    """The runs to choose from: finished ones first, each the latest first."""
    rows = desk.store.runs.all()[::-1]
    return sorted(rows, key=lambda row: row.state != "done")


def roles(run: RunRow) -> dict[str, str]:
    """The run's roles in speaking order with what each is called."""
    try:
        return {role.name: role.title for role in protocols.roles_of(run.settings)}
    except UsageError:
        return {role: role.capitalize() for role in run.settings.seats}


def page(desk: Desk, run: RunRow, wanted: Wanted) -> Page:
    """A page of the run's documents, filtered, sorted and counted in the file. A number past the last page gives the
    last one."""
    chosen = Filter(
        reasons=(wanted.reason,) if wanted.reason else (),
        standings=(wanted.status,) if wanted.status else (),
        saying=_saying(run.settings.codebook, wanted.label) if wanted.label else None,
    )

    def at(number: int) -> tuple[tuple[PageRow, ...], int]:
        found = desk.store.pages.review(
            run.run_id,
            offset=(number - 1) * wanted.size,
            limit=wanted.size,
            search=wanted.search.strip() or None,
            filter=chosen,
            sort=wanted.sort,
        )
        return found.rows, found.total

    number = max(1, wanted.number)
    rows, total = at(number)
    pages = max(1, -(-total // wanted.size))
    if number > pages:
        number = pages
        rows, total = at(number)
    speakers = tuple(roles(run))
    return Page(tuple(_row(row, run.settings.codebook, speakers) for row in rows), total, number, pages)


def row(desk: Desk, run: RunRow, document_id: str) -> Row | None:
    """One document as the grid shows it, None when the run does not have it."""
    found = desk.store.pages.review(run.run_id, limit=1, filter=Filter(ids=(document_id,))).rows
    return _row(found[0], run.settings.codebook, tuple(roles(run))) if found else None


def dossier(desk: Desk, run: RunRow, document_id: str) -> Dossier | None:
    """Everything known of one document in the run: text, evidence, who said what."""
    return next(iter(desk.store.dossiers.load(run.run_id, [document_id])), None)


def open_count(desk: Desk, run: RunRow) -> int:
    """How many documents of the run wait for a person: Pending and Draft."""
    waiting = Filter(standings=tuple(status for status in STATUSES if status not in SETTLED))
    return desk.store.pages.review(run.run_id, limit=1, filter=waiting).total


def edit(
    desk: Desk, run_id: str, document_id: str, item: str, value: Value | None, *, actor: str | None = None
) -> Saved:
    """Decide one item of one document; None takes the person's value back. On disk when this returns.

    A Pending document becomes a Draft; others stay where they are. UsageError for a value that the item cannot have.
    """
    return edit_many(desk, run_id, [document_id], item, value, actor=actor)


def edit_many(
    desk: Desk, run_id: str, document_ids: Sequence[str], item: str, value: Value | None, *, actor: str | None = None
) -> Saved:
    """``edit`` on many documents as one act, which one undo takes back."""
    run = _known(desk, run_id)
    _check(run.settings.codebook, item, value)
    decisions = []
    for found in desk.store.dossiers.load(run_id, list(document_ids)):
        before = found.value(item)
        status: Status | None = "Draft" if found.review_status == "Pending" else None
        decisions.append(Decision(found.document.id, (Change(item, before, value),), status))
    return _record(desk, run, decisions, actor)


def submit(desk: Desk, run_id: str, document_ids: Sequence[str], *, actor: str | None = None) -> Saved:
    """Mark documents as Submitted, as one act. Labels that the person left as they were are confirmed by it, so that
    they count as truth like those that were changed.

    UsageError naming a document with a label that has no value yet: nothing is submitted then.
    """
    run = _known(desk, run_id)
    codebook = run.settings.codebook
    decisions = []
    for found in desk.store.dossiers.load(run_id, list(document_ids)):
        open_items = [item for item in codebook.items if found.value(item) is None]
        if open_items:
            names = ", ".join(item_name(codebook, item) for item in open_items)
            raise UsageError(
                f"Document {found.document.id} has no value yet for {names}.", "Decide what shows a ?, then submit."
            )
        confirmed = [
            Change(item, value, value)
            for item in codebook.items
            if item not in found.reviews and (value := found.value(item)) is not None
        ]
        decisions.append(Decision(found.document.id, confirmed, "Submitted"))
    return _record(desk, run, decisions, actor)


def set_status(
    desk: Desk, run_id: str, document_ids: Sequence[str], status: Status, *, actor: str | None = None
) -> Saved:
    """Put documents back to Pending or Draft, or discard them, as one act. To submit, use ``submit``."""
    if status == "Submitted":
        return submit(desk, run_id, document_ids, actor=actor)
    run = _known(desk, run_id)
    return _record(desk, run, [Decision(id, status=status) for id in document_ids], actor)


def undo(desk: Desk, *, actor: str | None = None) -> Saved | None:
    """Take back this person's last act; None when there is none."""
    return _saved(desk.store.reviews.undo(actor or reviewer()))


def redo(desk: Desk, *, actor: str | None = None) -> Saved | None:
    """Do again what was undone last; None when there is nothing, or something was decided since."""
    return _saved(desk.store.reviews.redo(actor or reviewer()))


def history(desk: Desk, run: RunRow, document_id: str) -> list[Entry]:
    """What people did to a document, newest first: one line for each value and status, undone ones marked."""
    codebook = run.settings.codebook
    events = desk.store.reviews.history(document_id)
    standing: dict[int, bool] = {}
    for event in events:
        if event.kind in ("undo", "redo") and event.target is not None:
            standing[event.target] = event.kind == "redo"
    return [
        _entry(event, codebook, undone=not standing.get(event.act, True))
        for event in reversed(events)
        if event.kind in (REVIEW, STATUS)
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


def _row(found: PageRow, codebook: Codebook, speakers: Sequence[str]) -> Row:
    dossier = found.dossier
    lists = {role: dossier.roles.get(role) for role in speakers}
    heard = [says for says in lists.values() if says is not None]
    return Row(
        document_id=dossier.document.id,
        position=dossier.document.position,
        text=dossier.document.text,
        values={item: dossier.value(item) for item in codebook.items},
        verdict={item: dossier.values.get(item) for item in codebook.items},
        gold=agreed(dossier.document.gold, codebook.items),
        roles=lists,
        edited=frozenset(item for item, review in dossier.reviews.items() if review.value != dossier.values.get(item)),
        disputed=frozenset(item for item in codebook.items if len({says.get(item) for says in heard}) > 1),
        quotes=found.evidence_total,
        supported=found.evidence_supported,
        reason=next((reason for reason in REASONS if reason in found.reasons), None),
        reasons=found.reasons,
        status=dossier.review_status,
    )


def _saying(codebook: Codebook, label_id: str) -> tuple[str, Value]:
    if codebook.kind == "choice":
        return codebook.items[0], label_id
    if codebook.kind == "rating":
        assert codebook.scale is not None
        return label_id, codebook.scale.max
    return label_id, True


def _check(codebook: Codebook, item: str, value: Value | None) -> None:
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


def _record(desk: Desk, run: RunRow, decisions: Sequence[Decision], actor: str | None) -> Saved:
    events = desk.store.reviews.record(
        decisions,
        actor=actor or reviewer(),
        run_id=run.run_id,
        codebook_version=run.settings.codebook_version or None,
    )
    return _saved(events) or Saved(time.time(), ())


def _saved(events: Sequence[Event]) -> Saved | None:
    if not events:
        return None
    documents = dict.fromkeys(event.document_id for event in events if event.document_id)
    return Saved(time.time(), tuple(documents))


def _entry(event: Event, codebook: Codebook, *, undone: bool) -> Entry:
    if event.kind == STATUS:
        return Entry(event.at, event.actor, "", str(event.before or ""), str(event.after or ""), undone)
    return Entry(
        at=event.at,
        who=event.actor,
        item=item_name(codebook, event.item or ""),
        before=value_word(codebook, event.before),
        after=value_word(codebook, event.after),
        undone=undone,
    )


def _known(desk: Desk, run_id: str) -> RunRow:
    run = desk.store.runs.get(run_id)
    if run is None:
        raise UsageError(f"There is no run '{run_id}' in this project.", "Choose one that the Run page lists.")
    return run
