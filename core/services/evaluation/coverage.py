"""Which of a run's documents a chart counts, which it leaves out, and why: the same words under every chart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from core.annotations import VERDICT
from core.runs import RunRow
from core.services.cache import measured
from core.services.evaluation import looked, references
from core.services.evaluation.grids import Grids, Reference
from core.services.session import ProjectSession
from core.stats.arrays import Mask

Reason: TypeAlias = Literal[
    "unresolved", "failed", "waiting", "silent", "alone", "undrawn", "unasked", "taught", "truthless", "lent"
]
REASONS: Mapping[Reason, str] = {
    "unresolved": "unresolved",
    "failed": "failed",
    "waiting": "not debated yet",
    "silent": "without all the values compared",
    "alone": "in one run only",
    "undrawn": "not drawn",
    "unasked": "not asked about in the vote",
    "taught": "taught to the student",
    "truthless": "without {reference}",
    "lent": "used as examples",
}
"""In the order in which they are told; of two reasons the one further down holds (what has no truth is not missed)."""
_ORDER: tuple[Reason, ...] = tuple(REASONS)
_COUNTS = -1
"""Where a document counts; else the place of its reason in ``REASONS``."""
_Places: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many documents a chart is drawn from, and how many it leaves out by reason (reasons without any are absent).
    ``runs`` is over how many runs both are summed."""

    n: int
    left_out: Mapping[Reason, int]
    runs: int = 1


def of_run(session: ProjectSession, run: RunRow, reference: Reference = "gold") -> Coverage:
    """The documents that every score of the run stands on: with truth and a verdict with a value for every item."""

    def count() -> Coverage:
        said = looked.verdicts(session, run, reference).of(VERDICT)
        return _summed(_reasons(session, run, reference, np.any(~np.isnan(said), axis=1)))

    return measured(session, reference, count, "counted of run", run.run_id)


def among(
    session: ProjectSession,
    run: RunRow,
    reference: Reference,
    drawn: Mask,
    further: Mapping[Reason, Mask] | None = None,
) -> Coverage:
    """For a chart that is drawn from the documents where ``drawn`` (``[document]``) is True. ``further`` are reasons of
    its own for which it leaves others out."""
    places = _reasons(session, run, reference, drawn)
    for name, mask in (further or {}).items():
        places = np.maximum(places, np.where(mask, _ORDER.index(name), _COUNTS))
    return _summed(np.where(drawn, _COUNTS, places))


def on_item(session: ProjectSession, run: RunRow, item: str, reference: Reference = "gold") -> Coverage:
    """For a chart of one item (of a label, a dimension): both the truth and the verdict have a value there."""

    def count() -> Coverage:
        loaded, column = looked.verdicts(session, run, reference), run.settings.codebook.items.index(item)
        return among(session, run, reference, ~np.isnan(loaded.reference[:, column] + loaded.of(VERDICT)[:, column]))

    return measured(session, reference, count, "counted on item", run.run_id, item)


def of_debate(session: ProjectSession, run: RunRow, reference: Reference = "gold") -> Coverage:
    """For what the steps of a debate are compared by: the first step and the verdict gave every value."""

    def count() -> Coverage:
        found = looked.steps(session, run)
        ends = [looked.verdicts(session, run, reference).of(VERDICT), *(stage.said for stage in found[:1])]
        return _summed(_reasons(session, run, reference, np.all(~np.isnan(np.hstack(ends)), axis=1)))

    return measured(session, reference, count, "counted of debate", run.run_id)


def of_rounds(session: ProjectSession, run: RunRow, reference: Reference = "gold") -> Coverage:
    """For what is told of agents side by side: the truth and one of them gave a value."""

    def count() -> Coverage:
        gold = looked.verdicts(session, run, reference).reference
        several = [stage for stage in looked.steps(session, run) if len(stage.members) > 1]
        members = [grid for stage in several for grid in stage.members.values()]
        spoken = np.any([~np.isnan(gold) & ~np.isnan(grid) for grid in members], axis=(0, 2)) if members else None
        return among(session, run, reference, np.zeros(len(gold), dtype=np.bool_) if spoken is None else spoken)

    return measured(session, reference, count, "counted of rounds", run.run_id)


def shared(session: ProjectSession, runs: Sequence[RunRow], reference: Reference = "gold") -> Coverage:
    """For a chart over several runs: documents that all of them have, with truth and a full verdict in each. A document
    that is left out for one run is left out; of several reasons the last in ``REASONS`` holds."""
    worst: dict[str, int] = {}
    seen: Counter[str] = Counter()
    for run in runs:
        loaded = looked.verdicts(session, run, reference)
        places = _reasons(session, run, reference, np.all(~np.isnan(loaded.of(VERDICT)), axis=1))
        seen.update(loaded.documents)
        for document, place in zip(loaded.documents, places.tolist(), strict=True):
            worst[document] = max(place, worst.get(document, _COUNTS))
    alone = _ORDER.index("alone")
    return _summed(np.array([alone if seen[one] < len(runs) else place for one, place in worst.items()], dtype=int))


def again(session: ProjectSession, run: RunRow, later: RunRow, before: Grids, now: Grids) -> Coverage:
    """For what a later run on some of a run's documents says otherwise, ``before`` and ``now``: documents with a full
    verdict in both. No truth is asked for; what the later run did not draw is left out, and what either left open."""
    known = {document: row for row, document in enumerate(now.documents)}
    rows = np.array([known.get(document, _COUNTS) for document in before.documents], dtype=np.int64)
    drawn = rows >= 0
    places = np.where(drawn, _COUNTS, _ORDER.index("undrawn"))
    for of, loaded, own in ((run, before, np.flatnonzero(drawn)), (later, now, rows[drawn])):
        open_, ended = np.isnan(loaded.of(VERDICT)[own]).any(axis=1), looked.endings(session, of)[own]
        found = np.where(open_, _ORDER.index("silent"), _COUNTS)
        for name in ("unresolved", "failed", "waiting"):
            found[open_ & (ended == name)] = _ORDER.index(name)
        places[drawn] = np.maximum(places[drawn], found)
    return _summed(places)


def together(each: Sequence[Coverage]) -> Coverage:
    """For a chart that pools runs: a document counts as often as there are runs that hold it."""
    totals: Counter[Reason] = Counter()
    for one in each:
        totals.update(one.left_out)
    return Coverage(
        sum(one.n for one in each),
        {name: totals[name] for name in _ORDER if totals[name]},
        sum(one.runs for one in each),
    )


def beyond(found: Coverage, alone: int) -> Coverage:
    """For a chart over two runs that was counted in one of them: ``alone`` documents are in the other only."""
    totals: Counter[Reason] = Counter(found.left_out)
    totals["alone"] += alone
    return Coverage(found.n, {name: totals[name] for name in _ORDER if totals[name]}, found.runs)


def words(counted: Coverage, reference: Reference = "gold") -> str:
    """ "n = 120 documents; left out: 3 unresolved, 12 without gold"; the first half alone when nothing is left out."""
    over = f" in {counted.runs:,} runs" if counted.runs > 1 else ""
    said = f"n = {counted.n:,} document{'' if counted.n == 1 else 's'}{over}"
    missing = references.of(reference).missing
    out = [f"{count:,} {REASONS[name].format(reference=missing)}" for name, count in counted.left_out.items()]
    return f"{said}; left out: {', '.join(out)}" if out else said


def _reasons(session: ProjectSession, run: RunRow, reference: Reference, said: Mask) -> _Places:
    """For each document of the run the place of the reason for which it does not count, ``_COUNTS`` where it does:
    ``said`` is where all that is compared has a value."""
    ended = looked.endings(session, run)
    loaded = looked.verdicts(session, run, reference)
    places = np.where(said, _COUNTS, _ORDER.index("silent"))
    for name in ("unresolved", "failed", "waiting"):
        places[ended == name] = _ORDER.index(name)
    places[np.isnan(loaded.reference).all(axis=1)] = _ORDER.index("truthless")
    guarded = set(session.store.evaluations.guarded(run.run_id))
    if guarded:
        places[[row for row, document in enumerate(loaded.documents) if document in guarded]] = _ORDER.index("lent")
    return places


def _summed(places: _Places) -> Coverage:
    totals = np.bincount(places - _COUNTS, minlength=len(_ORDER) + 1).tolist()
    left_out = {name: count for name, count in zip(_ORDER, totals[1:], strict=True) if count}
    return Coverage(totals[0], left_out)
