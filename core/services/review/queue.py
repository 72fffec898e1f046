"""The queue of documents to review: which come, why, in what order, and what of the order was left to chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal, TypeAlias

from core.annotations import differs, majority_reference
from core.classifier.review_order import SamplingRecord, interleave
from core.codebook import Codebook
from core.documents import Value
from core.runs import RunRow
from core.services.codebooks import staleness
from core.services.review.review import SETTLED, STATUSES, Status, roles
from core.services.session import ProjectSession
from core.store.review_pages import Filter, Line, PageRow, Progress, Reason, Sort, Viewpoint

PAGE_SIZES = (25, 50, 100)
SETTING = "review"
"""The project's setting: ``share`` of random audits, and whether the verdict is hidden first (``blind``)."""
SHARE = 0.2

REASONS: Mapping[Reason, str] = {
    "failed": "failed",
    "unresolved": "unresolved",
    "gold": "differs from gold",
    "flagged": "flagged",
    "stale": "definition changed",
    "flipped": "critic flipped",
    "unsupported": "unsupported",
    "samples": "runs disagree",
    "near": "precedent differs",
    "disagree": "roles disagree",
    "classifier": "classifier unsure",
}
"""What each reason to look is called, the most urgent first."""

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
class Row:
    """A document in the grid. Values are by item; None where nothing could be read.

    ``values`` is what counts now (the person's where there is one, else the verdict's), ``verdict`` the run's own,
    ``gold`` the truth where it has a value; ``roles`` each role's last list, None for a role that gave none.
    ``edited`` are the items where the person's value differs from the verdict's, ``disputed`` those on which the
    roles' lists differ. ``draw`` says how the document comes next, None outside of the queue.
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
    certainty: float | None = None
    draw: SamplingRecord | None = None

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
class Listed:
    """A part of the queue as Focus lists it: lines, how each came to its place (None outside of the queue's own order),
    and how many there are in all."""

    lines: tuple[Line, ...]
    draws: Mapping[str, SamplingRecord]
    total: int


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """What to show: ``label`` is the id of a label that the verdict gives, ``search`` words in text or id, ``length`` a
    name in LENGTHS, ``by_others`` only what somebody else has submitted."""

    search: str = ""
    label: str | None = None
    reason: Reason | None = None
    status: Status | None = None
    length: str | None = None
    by_others: bool = False
    sort: Order = "position"
    number: int = 1
    size: int = 50

    @property
    def narrowed(self) -> bool:
        """Whether anything is filtered out: then nothing of the order is left to chance."""
        return bool(self.search.strip() or self.label or self.reason or self.status or self.length or self.by_others)


@dataclass(frozen=True, slots=True)
class ReviewSettings:
    """How a project is reviewed: the ``share`` of random audits (0 to 1), and whether the verdict is hidden first."""

    share: float = SHARE
    blind: bool = False


def manner(session: ProjectSession) -> ReviewSettings:
    """How this project is reviewed."""
    kept = session.store.settings.get(SETTING) or {}
    return ReviewSettings(float(kept.get("share", SHARE)), bool(kept.get("blind", False)))


def set_manner(session: ProjectSession, manner: ReviewSettings, *, actor: str = "") -> None:
    """Review in another manner from now on. ValueError for a share outside of 0 to 1."""
    if not 0 <= manner.share <= 1:
        raise ValueError(f"a share of {manner.share}")
    session.store.settings.set(SETTING, {"share": manner.share, "blind": manner.blind}, actor=actor)


def viewpoint(session: ProjectSession, run: RunRow, actor: str | None = None) -> Viewpoint:
    """Whose review of the run it is; what the reasons to look stand on is brought up to date."""
    session.store.cues.refresh(run.run_id, session.store.runs.with_codebook(run.settings.codebook))
    return Viewpoint(run.run_id, actor, staleness.outdated(session))


def listed(session: ProjectSession, run: RunRow, wanted: QueueFilter, *, actor: str) -> Listed:
    """``wanted.size`` lines from ``wanted.number`` on, for a person. The queue's own order holds what waits for the
    person, the most urgent first with random audits between; anything narrowed is in plain order."""
    view = viewpoint(session, run, actor)
    offset = (max(1, wanted.number) - 1) * wanted.size
    if wanted.sort == "queue" and not wanted.narrowed:
        draws, total = _draws(session, run, view, offset, wanted.size)
        ids = Filter(ids=tuple(draw.document_id for draw in draws))
        found = session.store.pages.lines(view, filter=ids, sort="given", limit=wanted.size)
        return Listed(found.rows, {draw.document_id: draw for draw in draws}, total)
    found = session.store.pages.lines(
        view, offset=offset, limit=wanted.size, search=wanted.search.strip() or None,
        filter=_filter(run.settings.codebook, wanted), sort=_sort(wanted),
    )  # fmt: skip
    return Listed(found.rows, {}, found.total)


def page(session: ProjectSession, run: RunRow, wanted: QueueFilter, *, actor: str | None = None) -> Page:
    """A page of the run's documents, filtered, sorted and counted in the file. A number past the last page gives the
    last one. With ``actor`` values and statuses are that person's own."""
    view = viewpoint(session, run, actor)
    number = max(1, wanted.number)
    rows, total = _rows(session, run, view, wanted)
    pages = max(1, -(-total // wanted.size))
    if number > pages:
        number = pages
        rows, total = _rows(session, run, view, replace(wanted, number=number))
    return Page(rows, total, number, pages)


def rows(
    session: ProjectSession, run: RunRow, document_ids: Sequence[str], *, actor: str | None = None
) -> tuple[Row, ...]:
    """Documents as the grid shows them, in the order of the run; those that it does not have are left out."""
    view = viewpoint(session, run, actor)
    found = session.store.pages.review(view, limit=len(document_ids), filter=Filter(ids=tuple(document_ids))).rows
    return tuple(_row(one, run.settings.codebook, tuple(roles(run))) for one in found)


def row(session: ProjectSession, run: RunRow, document_id: str, *, actor: str | None = None) -> Row | None:
    """One document as the grid shows it, None when the run does not have it."""
    return next(iter(rows(session, run, [document_id], actor=actor)), None)


def open_count(session: ProjectSession, run: RunRow, *, actor: str | None = None) -> int:
    """How many documents of the run wait for a person: Pending and Draft."""
    waiting = Filter(standings=tuple(status for status in STATUSES if status not in SETTLED))
    return session.store.pages.lines(Viewpoint(run.run_id, actor), limit=1, filter=waiting).total


def reason_counts(session: ProjectSession, run: RunRow, *, actor: str | None = None) -> dict[Reason, int]:
    """Documents of the run by reason to look, the most urgent first; a reason without any is left out."""
    counted = session.store.pages.reason_counts(viewpoint(session, run, actor))
    return {reason: counted[reason] for reason in REASONS if counted[reason]}


def progress(session: ProjectSession, run: RunRow, *, actor: str) -> Progress:
    """How far a person is."""
    return session.store.pages.progress(viewpoint(session, run, actor))


def drawn(document_id: str, told: Mapping[str, Any] | None) -> SamplingRecord | None:
    """What the browser tells of how a document came, as ``listed`` had told it; None for one picked by hand. ValueError
    for what no draw can be."""
    if told is None:
        return None
    probability, remaining = float(told["probability"]), int(told["remaining"])
    if told["how"] not in ("audit", "queue") or not 0 < probability <= 1 or remaining < 1:
        raise ValueError("draw")
    return SamplingRecord(document_id, told["how"], probability, remaining)


def _rows(session: ProjectSession, run: RunRow, view: Viewpoint, wanted: QueueFilter) -> tuple[tuple[Row, ...], int]:
    codebook, speakers = run.settings.codebook, tuple(roles(run))
    offset = (max(1, wanted.number) - 1) * wanted.size
    if wanted.sort == "queue" and not wanted.narrowed:
        draws, total = _draws(session, run, view, offset, wanted.size)
        ids = Filter(ids=tuple(draw.document_id for draw in draws))
        found = session.store.pages.review(view, filter=ids, sort="given", limit=wanted.size).rows
        drawn = {draw.document_id: draw for draw in draws}
        rows = (_row(one, codebook, speakers) for one in found)
        return tuple(replace(one, draw=drawn[one.document_id]) for one in rows), total
    page = session.store.pages.review(
        view, offset=offset, limit=wanted.size, search=wanted.search.strip() or None,
        filter=_filter(codebook, wanted), sort=_sort(wanted),
    )  # fmt: skip
    return tuple(_row(one, codebook, speakers) for one in page.rows), page.total


def _draws(
    session: ProjectSession, run: RunRow, view: Viewpoint, offset: int, size: int
) -> tuple[list[SamplingRecord], int]:
    """A part of the queue in its own order, and how many wait in all."""
    seed = f"{run.run_id}/{run.created_at}/{view.actor}"
    ranked, shuffled, total = session.store.pages.heads(view, offset + size, seed=seed)
    share = manner(session).share
    done = session.store.reviews.drawn(run.run_id, view.actor or "")
    order = interleave(ranked, shuffled, total, share=share, seed=seed, done=done)
    return list(islice(order, offset, offset + size)), total


def _filter(codebook: Codebook, wanted: QueueFilter) -> Filter:
    return Filter(
        reasons=(wanted.reason,) if wanted.reason else (),
        standings=(wanted.status,) if wanted.status else (),
        saying=_saying(codebook, wanted.label) if wanted.label else None,
        words=LENGTHS[wanted.length] if wanted.length else None,
        by_others=wanted.by_others,
    )


def _sort(wanted: QueueFilter) -> Sort:
    return "reasons" if wanted.sort == "queue" else wanted.sort


def _row(found: PageRow, codebook: Codebook, speakers: Sequence[str]) -> Row:
    dossier, line = found.dossier, found.line
    lists = {role: dossier.roles.get(role) for role in speakers}
    heard = [says for says in lists.values() if says is not None]
    return Row(
        document_id=dossier.document.id,
        position=dossier.document.position,
        text=dossier.document.text,
        values={item: dossier.value(item) for item in codebook.items},
        verdict={item: dossier.values.get(item) for item in codebook.items},
        gold=majority_reference(dossier.document.gold, codebook.items),
        roles=lists,
        edited=frozenset(item for item, review in dossier.reviews.items() if review.value != dossier.values.get(item)),
        disputed=frozenset(item for item in codebook.items if len({says.get(item) for says in heard}) > 1),
        quotes=line.quotes,
        supported=line.supported,
        reason=next((reason for reason in REASONS if reason in line.reasons), None),
        reasons=tuple(reason for reason in REASONS if reason in line.reasons),
        status=dossier.review_status,
        certainty=line.certainty,
    )


def _saying(codebook: Codebook, label_id: str) -> tuple[str, Value]:
    if codebook.kind == "choice":
        return codebook.items[0], label_id
    if codebook.kind == "rating":
        assert codebook.scale is not None
        return label_id, codebook.scale.max
    return label_id, True
