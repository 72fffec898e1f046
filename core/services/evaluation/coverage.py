"""Coverage of scores and charts: the documents that count, and those excluded with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from core.codebook import label_noun
from core.documents import VERDICT, Reference
from core.formatting import format_count
from core.runs import RunRow
from core.services.evaluation import annotation_arrays
from core.services.evaluation.annotation_arrays import Grid, debate_statuses, paired_arrays, rows_in, verdict_arrays
from core.services.evaluation.reference import reference_names
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_scores
from core.stats.arrays import Codes, Mask
from core.store.annotations import is_own

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
    "no_label_reference": "without {reference} of this label",
    "no_dimension_reference": "without {reference} of this dimension",
    "no_reference": "without {reference}",
    "training_example": "used to train the classifier",
    "used_as_example": "used as examples",
    "removed": "not in the project any more",
}
"""In display order. If two reasons apply, the later one is given: without a reference, nothing is missed."""
WITHOUT_REFERENCE = (
    "no_label_reference",
    "no_dimension_reference",
    "no_reference",
    "training_example",
    "used_as_example",
    "removed",
)
"""Reasons of documents that nothing could be compared with, which are not counted as excluded."""
_ORDER = tuple(REASONS)
_COUNTS = -1
"""Code of a document that counts; others have the index of their reason in ``REASONS``."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The documents that a score or a chart is based on, and the others by the reason why they are left out."""

    n: int
    left_out: Mapping[Reason, int]
    """Reasons without a document are absent."""
    runs: int = 1
    """Number of runs with these numbers each, or, if ``pooled``, over which both are summed."""
    pooled: bool = False
    missing: str = ""
    """Words for a missing reference, if other than usual: documents of several raters may have no majority."""

    def describe(self, reference: Reference = "gold") -> str:
        """Return "n = 120 documents; excluded: 3 unresolved; not counted: 12 without gold", without empty parts.

        Over several runs that differ, the numbers are verdicts: "n = 697 verdicts of 11 runs".
        """
        if self.pooled:
            text = f"n = {format_count(self.n, 'verdict')} of {self.runs:,} runs"
        else:
            over = f" in each of {self.runs:,} runs" if self.runs > 1 else ""
            text = f"n = {format_count(self.n, 'document')}{over}"
        missing = self.missing or reference_names(reference).missing
        parts: dict[str, list[str]] = {"excluded": [], "not counted": []}
        for reason, count in self.left_out.items():
            part = "not counted" if reason in WITHOUT_REFERENCE else "excluded"
            parts[part].append(f"{count:,} {REASONS[reason].format(reference=missing)}")
        return "; ".join([text, *(f"{part}: {', '.join(counts)}" for part, counts in parts.items() if counts)])


@cached_scores
def of_run(session: ProjectSession, run: RunRow, reference: Reference = "gold", annotator: str = VERDICT) -> Coverage:
    """Return the coverage of the scores of an annotator of a run.

    A document counts if the reference and the annotator both have a value of at least one item. The status of a debate
    explains only missing values of this run, not those of a person or of another run.
    """
    _, predicted = paired_arrays(session, run, annotator, reference)
    is_counted = np.any(~np.isnan(predicted), axis=1)
    reasons = None if is_own(annotator) else {"incomplete": ~is_counted}
    return of_documents(session, run, reference, is_counted, reasons)


def of_documents(
    session: ProjectSession,
    run: RunRow,
    reference: Reference,
    is_counted: Mask,
    extra_reasons: Mapping[Reason, Mask] | None = None,
    unshared: int = 0,
    column: int | None = None,
) -> Coverage:
    """Return the coverage of a chart that uses the documents where ``is_counted`` (``[document]``) is True.

    A chart of a single label or dimension has the index of its item as ``column``. ``extra_reasons`` maps additional
    reasons to the documents that the chart excludes for them. ``unshared`` is the number of documents that only another
    run contains.
    """
    reasons = dict(extra_reasons or {})
    if column is not None:
        lacks_item = np.isnan(verdict_arrays(session, run, reference).reference[:, column])
        reasons[f"no_{label_noun(run.settings.codebook.kind)}_reference"] = lacks_item
    codes = _reason_codes(session, run, reference, is_counted, reasons)
    codes = np.append(codes, np.full(unshared, _ORDER.index("one_run_only")))
    return _count_codes(codes, _missing_reference(session, [run], reference))


@cached_scores
def on_item(session: ProjectSession, run: RunRow, item: str, reference: Reference = "gold") -> Coverage:
    """Return the coverage of a chart of one item: documents with a reference and a verdict on this item."""
    references, verdicts = paired_arrays(session, run, VERDICT, reference)
    column = run.settings.codebook.items.index(item)
    return of_documents(session, run, reference, ~np.isnan(references[:, column] + verdicts[:, column]), column=column)


@cached_scores
def of_debate(session: ProjectSession, run: RunRow, reference: Reference = "gold") -> Coverage:
    """Return the coverage of debate steps: documents with complete values in the first step and the verdict."""
    loaded = verdict_arrays(session, run, reference)
    first = [stage.predicted for stage in annotation_arrays.stages(session, run)[:1]]
    return of_documents(session, run, reference, _is_scored(loaded.reference, loaded.verdicts, *first))


@cached_scores
def of_rounds(session: ProjectSession, run: RunRow, reference: Reference = "gold") -> Coverage:
    """Return the coverage of several agents: documents with a reference and a value of at least one agent."""
    gold = verdict_arrays(session, run, reference).reference
    is_counted = np.zeros(len(gold), dtype=np.bool_)
    for stage in annotation_arrays.parallel_stages(session, run):
        for grid in stage.members.values():
            is_counted |= ~np.isnan(gold + grid).all(axis=1)
    return of_documents(session, run, reference, is_counted)


def of_shared(session: ProjectSession, runs: Sequence[RunRow], reference: Reference = "gold") -> Coverage:
    """Return the coverage of a chart over several runs.

    A document counts if all runs contain it, with a reference label and a complete verdict in each run. A document
    excluded for one run is excluded. If several reasons apply, the last one in ``REASONS`` is used.
    """
    import pandas as pd

    def codes(run: RunRow) -> pd.Series[int]:
        loaded = verdict_arrays(session, run, reference)
        is_scored = _is_scored(loaded.reference, loaded.verdicts)
        return pd.Series(_reason_codes(session, run, reference, is_scored), loaded.documents)

    by_run = pd.DataFrame({run.run_id: codes(run) for run in runs}).fillna(_ORDER.index("one_run_only"))
    return _count_codes(by_run.max(axis=1).to_numpy(np.int64), _missing_reference(session, runs, reference))


def of_rerun(session: ProjectSession, run: RunRow, later: RunRow) -> Coverage:
    """Return the coverage of the changes in a later run on some of a run's documents.

    A document counts if it has a complete verdict in both. No reference label is needed.
    """
    rows = rows_in(verdict_arrays(session, later).documents, verdict_arrays(session, run).documents)
    before, after = (
        _debate_codes(session, row, np.all(~np.isnan(verdict_arrays(session, row).verdicts), axis=1))
        for row in (run, later)
    )
    return _count_codes(np.where(rows < 0, _ORDER.index("not_sampled"), np.maximum(before, after[rows])))


def merge(coverages: Sequence[Coverage]) -> Coverage:
    """Return the coverage of a chart that pools runs.

    It is that of each run if all are the same, as with iterations. Otherwise, a document counts once for each run.
    """
    runs = sum(coverage.runs for coverage in coverages)
    numbers = {(coverage.n, coverage.pooled, tuple(coverage.left_out.items())) for coverage in coverages}
    if len(numbers) == 1 and not coverages[0].pooled:
        return replace(coverages[0], runs=runs)
    totals: Counter[Reason] = Counter()
    for coverage in coverages:
        totals.update(coverage.left_out)
    left_out = {reason: totals[reason] for reason in _ORDER if totals[reason]}
    missing = next((coverage.missing for coverage in coverages if coverage.missing), "")
    return Coverage(sum(coverage.n for coverage in coverages), left_out, runs, pooled=True, missing=missing)


def _is_scored(reference: Grid, *values: Grid) -> Mask:
    """Return a mask of the documents with a reference and complete values."""
    return np.asarray(~np.isnan(reference).all(axis=1) & ~np.isnan(np.hstack(values)).any(axis=1))


def _reason_codes(
    session: ProjectSession,
    run: RunRow,
    reference: Reference,
    is_counted: Mask,
    extra_reasons: Mapping[Reason, Mask] | None = None,
) -> Codes:
    """Return for each document the code of the last reason in ``REASONS`` that applies, ``_COUNTS`` if it counts."""
    loaded = verdict_arrays(session, run, reference)
    learned_from = {
        "training_example": session.store.classifiers.training_documents(run.run_id),
        "used_as_example": session.store.annotations.example_documents(run.run_id),
    }
    reasons = {
        "no_reference": np.isnan(loaded.reference).all(axis=1),
        **{reason: rows_in(documents, loaded.documents) >= 0 for reason, documents in learned_from.items()},
        **(extra_reasons or {}),
    }
    codes = _debate_codes(session, run, is_counted)
    for reason, mask in reasons.items():
        codes = np.where(mask, np.maximum(codes, _ORDER.index(reason)), codes)
    return np.where(is_counted, _COUNTS, codes)


def _debate_codes(session: ProjectSession, run: RunRow, is_complete: Mask) -> Codes:
    """Return for each document ``_COUNTS`` if it is complete, else the code of how its debate ended."""
    codes = np.where(is_complete, _COUNTS, _ORDER.index("incomplete"))
    ended = debate_statuses(session, run)
    for name in ("unresolved", "failed", "waiting", "removed"):
        codes[~is_complete & (ended == name)] = _ORDER.index(name)
    return codes


def _missing_reference(session: ProjectSession, runs: Sequence[RunRow], reference: Reference) -> str:
    """Return ``Coverage.missing``: the majority of several raters of labels may be tied."""
    may_tie = reference == "gold" and any(run.settings.codebook.kind != "rating" for run in runs)
    several = may_tie and len(session.store.annotations.raters([run.run_id for run in runs])) > 1
    return f"{reference_names(reference).missing} or with a tie" if several else ""


def _count_codes(codes: Codes, missing: str = "") -> Coverage:
    totals = np.bincount(codes - _COUNTS, minlength=len(_ORDER) + 1).tolist()
    left_out = {name: count for name, count in zip(_ORDER, totals[1:], strict=True) if count}
    return Coverage(totals[0], left_out, missing=missing)
