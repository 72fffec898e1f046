"""Coverage of scores and charts: the documents that count, and those excluded with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from core.annotations import VERDICT, Reference
from core.formatting import format_count
from core.runs import RunRow
from core.services.evaluation import run_data
from core.services.evaluation.reference import reference_names
from core.services.evaluation.run_data import AnnotationArrays
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_scores
from core.stats.arrays import Mask

Reason: TypeAlias = str
"""Key of ``REASONS``."""
REASONS: Mapping[Reason, str] = {
    "unresolved": "unresolved",
    "failed": "failed",
    "waiting": "not debated yet",
    "incomplete": "without all the values compared",
    "one_run_only": "in one run only",
    "not_sampled": "not sampled",
    "not_voted_on": "not in the vote",
    "training_example": "used to train the classifier",
    "no_reference": "without {reference}",
    "used_as_example": "used as examples",
}
"""In display order. If two reasons apply, the later one is given: without a reference, nothing is missed."""
_ORDER = tuple(REASONS)
_COUNTS = -1
"""Code of a document that counts; others have the index of their reason in ``REASONS``."""
_Places: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Coverage:
    """The documents that a score or a chart is based on, and the others by the reason why they are left out."""

    n: int
    left_out: Mapping[Reason, int]
    """reasons without a document are absent"""
    runs: int = 1
    """number of runs with these numbers each, or, if ``pooled``, over which both are summed"""
    pooled: bool = False

    def count(self, *reasons: Reason) -> int:
        """Return how many documents are left out for one of these reasons."""
        return sum(self.left_out.get(reason, 0) for reason in reasons)

    def describe(self, reference: Reference = "gold") -> str:
        """Return "n = 120 documents; left out: 3 unresolved, 12 without gold"; the first half if nothing is left out.

        Over several runs that differ, the numbers are verdicts: "n = 697 verdicts of 11 runs".
        """
        if self.pooled:
            text = f"n = {format_count(self.n, 'verdict')} of {self.runs:,} runs"
        else:
            over = f" in each of {self.runs:,} runs" if self.runs > 1 else ""
            text = f"n = {format_count(self.n, 'document')}{over}"
        missing = reference_names(reference).missing
        out = [f"{count:,} {REASONS[name].format(reference=missing)}" for name, count in self.left_out.items()]
        return f"{text}; left out: {', '.join(out)}" if out else text


@cached_scores
def of_run(session: ProjectSession, run: RunRow, reference: Reference = "gold", annotator: str = VERDICT) -> Coverage:
    """Return the coverage of the scores of an annotator of a run.

    A document counts if the reference and the annotator both have a value of at least one item.
    """
    _, predicted = run_data.paired_arrays(session, run, annotator, reference)
    return of_documents(session, run, reference, np.any(~np.isnan(predicted), axis=1))


def of_documents(
    session: ProjectSession,
    run: RunRow,
    reference: Reference,
    drawn: Mask,
    further: Mapping[Reason, Mask] | None = None,
    unshared: int = 0,
) -> Coverage:
    """Return the coverage of a chart that uses the documents where ``drawn`` (``[document]``) is True.

    ``further`` maps additional reasons to the documents that the chart excludes for them. ``unshared`` is the number of
    documents that only another run contains.
    """
    places = _reasons(session, run, reference, drawn)
    for name, mask in (further or {}).items():
        places = np.maximum(places, np.where(mask, _ORDER.index(name), _COUNTS))
    alone = np.full(unshared, _ORDER.index("one_run_only"))
    return _summed(np.concatenate([np.where(drawn, _COUNTS, places), alone]))


@cached_scores
def on_item(session: ProjectSession, run: RunRow, item: str, reference: Reference = "gold") -> Coverage:
    """Return the coverage of a chart of one item: documents with a reference and a verdict on this item."""
    loaded, column = run_data.verdict_arrays(session, run, reference), run.settings.codebook.items.index(item)
    return of_documents(session, run, reference, ~np.isnan(loaded.reference[:, column] + loaded.verdicts[:, column]))


@cached_scores
def of_debate(session: ProjectSession, run: RunRow, reference: Reference = "gold") -> Coverage:
    """Return the coverage of debate steps: documents with complete values in the first step and the verdict."""
    found = run_data.stages(session, run)
    ends = [run_data.verdict_arrays(session, run, reference).verdicts, *(stage.predicted for stage in found[:1])]
    return _summed(_reasons(session, run, reference, np.all(~np.isnan(np.hstack(ends)), axis=1)))


@cached_scores
def of_rounds(session: ProjectSession, run: RunRow, reference: Reference = "gold") -> Coverage:
    """Return the coverage of several agents: documents with a reference and a value of at least one agent."""
    gold = run_data.verdict_arrays(session, run, reference).reference
    several = [stage for stage in run_data.stages(session, run) if len(stage.members) > 1]
    members = [grid for stage in several for grid in stage.members.values()]
    spoken = np.any([~np.isnan(gold) & ~np.isnan(grid) for grid in members], axis=(0, 2)) if members else None
    return of_documents(session, run, reference, np.zeros(len(gold), dtype=np.bool_) if spoken is None else spoken)


def of_shared(session: ProjectSession, runs: Sequence[RunRow], reference: Reference = "gold") -> Coverage:
    """Return the coverage of a chart over several runs.

    A document counts if all runs contain it, with a reference label and a complete verdict in each run. A document
    excluded for one run is excluded. If several reasons apply, the last one in ``REASONS`` is used.
    """
    worst: dict[str, int] = {}
    seen: Counter[str] = Counter()
    for run in runs:
        loaded = run_data.verdict_arrays(session, run, reference)
        places = _reasons(session, run, reference, np.all(~np.isnan(loaded.verdicts), axis=1))
        seen.update(loaded.documents)
        for document, place in zip(loaded.documents, places.tolist(), strict=True):
            worst[document] = max(place, worst.get(document, _COUNTS))
    alone = _ORDER.index("one_run_only")
    return _summed(np.array([alone if seen[one] < len(runs) else place for one, place in worst.items()], dtype=int))


def of_rerun(
    session: ProjectSession, run: RunRow, later: RunRow, before: AnnotationArrays, now: AnnotationArrays
) -> Coverage:
    """Return the coverage of the changes in a later run on some of a run's documents.

    ``before`` and ``now`` are the annotations of both runs. A document counts if it has a complete verdict in both. No
    reference label is needed. Documents outside the later run are excluded, and documents without a complete verdict.
    """
    rows = run_data.rows_in(now.documents, before.documents)
    drawn = rows >= 0
    places = np.where(drawn, _COUNTS, _ORDER.index("not_sampled"))
    for of, loaded, own in ((run, before, np.flatnonzero(drawn)), (later, now, rows[drawn])):
        open_, ended = np.isnan(loaded.verdicts[own]).any(axis=1), run_data.debate_statuses(session, of)[own]
        found = np.where(open_, _ORDER.index("incomplete"), _COUNTS)
        for name in ("unresolved", "failed", "waiting"):
            found[open_ & (ended == name)] = _ORDER.index(name)
        places[drawn] = np.maximum(places[drawn], found)
    return _summed(places)


def merge(each: Sequence[Coverage]) -> Coverage:
    """Return the coverage of a chart that pools runs.

    It is that of each run if all are the same, as with iterations. Otherwise, a document counts once for each run.
    """
    runs = sum(one.runs for one in each)
    if len({(one.n, one.pooled, tuple(one.left_out.items())) for one in each}) == 1 and not each[0].pooled:
        return Coverage(each[0].n, each[0].left_out, runs)
    totals: Counter[Reason] = Counter()
    for one in each:
        totals.update(one.left_out)
    return Coverage(
        sum(one.n for one in each), {name: totals[name] for name in _ORDER if totals[name]}, runs, pooled=True
    )


def _reasons(session: ProjectSession, run: RunRow, reference: Reference, predicted: Mask) -> _Places:
    """Return for each document the position of the reason for its exclusion, ``_COUNTS`` if it counts.

    ``predicted`` is True where all compared values are present.
    """
    ended = run_data.debate_statuses(session, run)
    loaded = run_data.verdict_arrays(session, run, reference)
    places = np.where(predicted, _COUNTS, _ORDER.index("incomplete"))
    for name in ("unresolved", "failed", "waiting"):
        places[ended == name] = _ORDER.index(name)
    places[np.isnan(loaded.reference).all(axis=1)] = _ORDER.index("no_reference")
    places[~run_data.test_documents(session.store, run.run_id, loaded.documents)] = _ORDER.index("used_as_example")
    return places


def _summed(places: _Places) -> Coverage:
    totals = np.bincount(places - _COUNTS, minlength=len(_ORDER) + 1).tolist()
    left_out = {name: count for name, count in zip(_ORDER, totals[1:], strict=True) if count}
    return Coverage(totals[0], left_out)
