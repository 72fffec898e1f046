"""The review queue: which documents, in what order, for which reason, and their selection probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import combinations
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter

from core.codebook import Codebook
from core.documents import ReviewStatus, Value, differs
from core.formatting import format_percent
from core.runs import RunRow
from core.services.codebooks import codebook as codebooks
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit
from core.services.review import review_plan, sampling_frames
from core.services.review.actions import RESOLVED, STATUSES
from core.services.runs.configuration import role_titles
from core.store.document_records import DocumentRecord
from core.store.review_queue import Filter, QueueLine, Reason, Sort, Viewpoint
from core.store.reviews import REVIEW_SETTINGS
from core.store.sampling_frames import SamplingRecord

PAGE_SIZES = (25, 50, 100)
DEFAULT_EVEN = 0.5

REASON_NAMES: Mapping[Reason, str] = {
    "failed": "failed",
    "unresolved": "unresolved",
    "gold": "differs from gold",
    "flagged": "flagged",
    "stale": "definition changed",
    "flipped": "changed in debate",
    "unsupported": "unsupported",
    "samples": "runs disagree",
    "near": "similar text differs",
    "disagree": "roles disagree",
    "classifier": "classifier unsure",
}
"""Name of each reason for review."""


def describe_reason(reason: Reason, certainty: float | None) -> str:
    """Return a reason for review as text, with the certainty (0 to 1) of an unsure classifier if it is known."""
    if reason == "classifier" and certainty is not None:
        return f"classifier {format_percent(certainty)} sure"
    return REASON_NAMES[reason]


SAMPLING_RECORD: TypeAdapter[SamplingRecord | None] = TypeAdapter(SamplingRecord | None)
"""Check of the sampling record that the browser sends back, None for a document picked by hand."""
Order: TypeAlias = Sort | Literal["queue"]
SORTS: Mapping[Order, str] = {
    "position": "file order",
    "queue": "review queue",
    "reasons": "most urgent",
    "words": "longest text",
    "reviewed": "last touched",
    "certainty": "classifier unsure",
}
LENGTHS: Mapping[str, tuple[int, int]] = {
    "up to 40 words": (0, 40),
    "41 to 150 words": (41, 150),
    "over 150 words": (151, 1_000_000_000),
}


@dataclass(frozen=True, slots=True)
class ReviewRow(QueueLine):
    """A line of the queue in the grid. Values are by item; None where nothing could be read."""

    text: str
    values: Mapping[str, Value | None]
    """The current values: the reviewer's, else the verdict's."""
    gold: Mapping[str, Value]
    """The reference where it has a value."""
    roles: Mapping[str, Mapping[str, Value] | None]
    """The last list of each role, None for a role without one."""
    edited: frozenset[str]
    """Items whose reviewed value differs from the verdict."""
    disputed: frozenset[str]
    """Items to which the roles give different values."""
    sampling: SamplingRecord | None = None
    """The sampling record on the first page of the queue; None elsewhere and for a skipped document."""

    @property
    def wrong(self) -> frozenset[str]:
        """Items whose value differs from gold."""
        return frozenset(
            item
            for item, true in self.gold.items()
            if (now := self.values.get(item)) is not None and differs(now, true)
        )


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """One page of the grid, and the number of documents on all pages."""

    rows: tuple[ReviewRow, ...]
    total: int
    number: int
    pages: int


@dataclass(frozen=True, slots=True)
class QueuePage:
    """Part of the queue for Focus: lines, their sampling records (none outside of queue order), and the total."""

    lines: tuple[QueueLine, ...]
    sampling: Mapping[str, SamplingRecord]
    total: int


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """Filters and order of the queue.

    ``label`` is the id of a label in the verdict, ``search`` words in text or id, ``length`` a name in LENGTHS,
    ``by_others`` limits to documents that another reviewer has submitted.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    search: str = ""
    label: str | None = None
    reason: Reason | None = None
    status: ReviewStatus | None = None
    length: str | None = None
    by_others: bool = False
    sort: Order = "position"
    number: Annotated[int, Field(ge=1)] = 1
    size: Annotated[int, Field(ge=1)] = 50

    @property
    def narrowed(self) -> bool:
        """True when a filter is set; the order is then not random."""
        unfiltered = QueueFilter(sort=self.sort, number=self.number, size=self.size)
        return replace(self, search=self.search.strip()) != unfiltered


@dataclass(frozen=True, slots=True)
class ReviewSettings:
    """Review settings of a project.

    ``even`` is the part of the draws that is spread evenly over all documents (MIN_EVEN to 1); the others favour
    documents that are likely to be wrong or rare. ``blind`` hides the verdict until the reviewer has decided.
    """

    even: float = DEFAULT_EVEN
    blind: bool = False


def review_settings(session: ProjectSession) -> ReviewSettings:
    """Return the review settings of the project."""
    return ReviewSettings(**(session.store.settings.get(REVIEW_SETTINGS) or {}))


def save_review_settings(session: ProjectSession, settings: ReviewSettings, *, actor: str = "") -> None:
    """Store review settings."""
    session.store.settings.set(REVIEW_SETTINGS, asdict(settings), actor=actor)


@cached_until_commit
def viewpoint(session: ProjectSession, run: RunRow, actor: str | None = None) -> Viewpoint:
    """Return whose review of the run it is, after refreshing the review reasons."""
    session.store.review_reasons.refresh(run.run_id, session.store.runs.with_codebook(run.settings.codebook))
    return Viewpoint(run.run_id, actor, codebooks.outdated(session))


def list_queue(session: ProjectSession, run: RunRow, filters: QueueFilter, *, actor: str | None) -> QueuePage:
    """Return ``filters.size`` lines from ``filters.number`` on for a reviewer.

    The queue order holds the documents that wait for the reviewer as they are drawn: those that are likely to be wrong
    or rare come sooner (``sampling_frames``). With a filter the order is plain.
    """
    view = viewpoint(session, run, actor)
    offset = (max(1, filters.number) - 1) * filters.size
    if filters.sort == "queue" and not filters.narrowed:
        sampling, total = _sample_queue(session, run, view, offset, filters.size)
        ids = Filter(ids=tuple(sampling))
        listed = session.store.review_queue.lines(view, filter=ids, sort="given", limit=filters.size)
        return QueuePage(listed.rows, sampling, total)
    listed = session.store.review_queue.lines(
        view,
        offset=offset,
        limit=filters.size,
        search=filters.search.strip() or None,
        filter=_filter(run.settings.codebook, filters),
        sort="reasons" if filters.sort == "queue" else filters.sort,
    )
    return QueuePage(listed.rows, {}, listed.total)


def review_page(session: ProjectSession, run: RunRow, filters: QueueFilter, *, actor: str | None = None) -> ReviewPage:
    """Return a page of the documents as ``actor`` sees them. A number past the last page gives the last one."""
    queue_page = list_queue(session, run, filters, actor=actor)
    pages = max(1, -(-queue_page.total // filters.size))
    if filters.number > pages:
        filters = replace(filters, number=pages)
        queue_page = list_queue(session, run, filters, actor=actor)
    number = max(1, filters.number)
    rows = _rows(session, run, queue_page.lines, actor)
    if number == 1:
        sampling = queue_page.sampling
        rows = tuple(row if row.skipped else replace(row, sampling=sampling.get(row.document_id)) for row in rows)
    return ReviewPage(rows, queue_page.total, number, pages)


def review_rows(
    session: ProjectSession, run: RunRow, document_ids: Sequence[str], *, actor: str | None = None
) -> tuple[ReviewRow, ...]:
    """Return documents as grid rows in the order of the run; documents outside of the run are left out."""
    view, documents = viewpoint(session, run, actor), Filter(ids=tuple(document_ids))
    listed = session.store.review_queue.lines(view, limit=len(document_ids), filter=documents)
    return _rows(session, run, listed.rows, actor)


def open_count(session: ProjectSession, run: RunRow, *, actor: str | None = None) -> int:
    """Return the number of documents that wait for a reviewer: Pending and Draft."""
    waiting = [status for status in STATUSES if status not in RESOLVED]
    return session.store.review_queue.count(Viewpoint(run.run_id, actor), waiting)


def _rows(session: ProjectSession, run: RunRow, lines: Sequence[QueueLine], actor: str | None) -> tuple[ReviewRow, ...]:
    """Return lines as grid rows, with the values that the reviewer sees."""
    by_id = {line.document_id: line for line in lines}
    records = session.store.document_records.load(run.run_id, list(by_id), actor=actor)
    codebook = run.settings.codebook
    speakers = tuple(role_titles(run.settings))
    return tuple(_row(record, by_id[record.document.id], codebook, speakers) for record in records)


def _sample_queue(
    session: ProjectSession, run: RunRow, view: Viewpoint, offset: int, size: int
) -> tuple[dict[str, SamplingRecord], int]:
    """Return the sampling records of a part of the queue by document, and the number of waiting documents."""
    planned = review_plan.current_plan(session, run)
    even = review_settings(session).even
    even = planned.even_part(even) if planned is not None else even
    frame = sampling_frames.current_frame(session, run, view, even, planned.focus if planned else None)
    seed = f"{run.run_id}/{run.created_at}/{view.actor}/{frame.frame}"
    draws, total = session.store.review_queue.draws(view, frame, seed=seed, offset=offset, limit=size)
    return {id: SamplingRecord(chance, remaining, frame.frame) for id, chance, remaining in draws}, total


def _filter(codebook: Codebook, filters: QueueFilter) -> Filter:
    return Filter(
        reasons=(filters.reason,) if filters.reason else (),
        review_statuses=(filters.status,) if filters.status else (),
        verdict_value=_label_filter(codebook, filters.label) if filters.label else None,
        words=LENGTHS[filters.length] if filters.length else None,
        by_others=filters.by_others,
    )


def _row(record: DocumentRecord, line: QueueLine, codebook: Codebook, speakers: Sequence[str]) -> ReviewRow:
    lists = {role: record.roles.get(role) for role in speakers}
    role_values = [values for values in lists.values() if values is not None]
    return ReviewRow(
        **{field.name: getattr(line, field.name) for field in fields(line)},
        text=record.document.text,
        values=record.current_values(codebook.items),
        gold=record.gold,
        roles=lists,
        edited=frozenset(
            item
            for item, review in record.reviews.items()
            if not record.hidden and review.value != record.values.get(item)
        ),
        disputed=frozenset(
            item
            for item in codebook.items
            if any(
                differs(*pair) for pair in combinations({values[item] for values in role_values if item in values}, 2)
            )
        ),
    )


def _label_filter(codebook: Codebook, label_id: str) -> tuple[str, Value]:
    if codebook.kind == "choice":
        return codebook.items[0], label_id
    if codebook.kind == "rating":
        return label_id, codebook.scale_of(label_id).max
    return label_id, True
