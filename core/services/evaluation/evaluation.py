"""Scores of a run against a reference. The page, JSON, CSV, the printable report and Compare all read ``evaluate``.

The metrics are in ``core.stats.metrics.METRICS``; ``core.stats.scoring`` computes them and their intervals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np

from core.codebook import Codebook, label_noun, nearest_point
from core.documents import VERDICT, Reference
from core.errors import UsageError
from core.formatting import format_count, join_names
from core.runs import RunRow, total_cost
from core.services.evaluation import annotation_arrays, coverage, held_out, latent_truth
from core.services.evaluation.annotation_arrays import (
    Grid,
    is_test_document,
    load_reference,
    paired_arrays,
    paired_with,
    rows_in,
    sampling_design,
    stages,
    strict_design,
    verdict_arrays,
)
from core.services.evaluation.coverage import Coverage
from core.services.evaluation.json_data import json_data
from core.services.evaluation.reference import annotating_roles, check_reference, reference_names
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_scores, cached_until_commit
from core.stats import flips, metrics, scoring
from core.stats.agreement import krippendorff_alpha, rouge_l, with_interval
from core.stats.arrays import Mask, coded, counted_documents, known_median
from core.stats.intervals import Estimate, ends
from core.stats.metric_intervals import Design, ratio
from core.stats.scoring import LabelScores, Scores
from core.store.annotation_sources import LATENT, REVIEWED_OR_GOLD, RUN, AnnotationSource, source_of
from core.store.annotations import is_own

CELLS: Mapping[str, tuple[bool, bool]] = {
    "tp": (True, True),
    "fn": (True, False),
    "fp": (False, True),
    "tn": (False, False),
}
"""A cell of a confusion matrix of a label: the value of the reference and that of the annotator."""
MAX_NAMED_RATERS = 4
"""Raters up to which the basis of a score names them."""
OVERLAP_DOCUMENTS = 5_000
"""The number of documents, the first ones, that ``FieldOverlap`` looks at."""


@dataclass(frozen=True, slots=True)
class FieldOverlap:
    """ROUGE-L of the rated text with one of its other fields, and how it correlates with the reference."""

    n: int
    """Documents with words in both fields."""
    mean: Estimate
    """Mean F1."""
    labels: Mapping[str, LabelScores]
    """Scores of the overlap, read as a rating of each dimension: only the correlations have a meaning."""


@dataclass(frozen=True, slots=True)
class Basis:
    """Units behind the intervals of a score: independent documents, groups of them, or a sample of reviewed ones."""

    design: Literal["documents", "groups", "sample", "by_hand"]
    units: int
    """Independent documents, groups, random draws, or documents that represent no others."""
    population: int | None = None
    """Of a sample: the documents that it represents."""
    complete: bool = False
    """Of a sample: all these documents are reviewed, so the scores are exact."""
    discarded: int = 0
    """Of a sample: reviewed documents that were discarded. Scores are for those that would be kept."""
    warning: str = ""
    """Assumptions of the reference."""
    shaped_by: int = 0
    """Scored documents that are not held out and may have shaped the codebook or prompts of the run."""

    @classmethod
    def from_design(cls, design: Design, reference: Grid, scored: Mask, warning: str = "") -> Self:
        """Return the basis of a score; ``scored`` marks its documents."""
        if design.sample is None:
            kind: Literal["documents", "groups"] = "documents" if design.groups is None else "groups"
            return cls(kind, design.units(scored), warning=warning)
        if design.has_few_draws:
            return cls("by_hand", int(scored.sum()), design.sample.population)
        return cls(
            "sample",
            design.sample.drawn,
            design.sample.population,
            complete=design.sample.complete,
            discarded=int(np.isnan(reference[design.order]).all(axis=1).sum()),
        )

    @property
    def is_estimate(self) -> bool:
        """True if reviewed documents represent others: scores are weighted, counts and their shares are not."""
        return self.design == "sample" and not self.complete

    @property
    def sentence(self) -> str:
        """The basis in plain words; empty for independent documents."""
        match self.design:
            case "groups":
                return f"intervals over {format_count(self.units, 'independent group')}"
            case "sample" if self.complete:
                return "all are reviewed, so the scores are exact"
            case "sample":
                everything = format_count(self.population or 0, "document")
                everything += " without discarded ones" if self.discarded else ""
                return f"estimated for {everything} from {format_count(self.units, 'random draw')}"
            case "by_hand":
                return "not a random sample: no interval for the others"
            case _:
                return ""


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """One annotator of a run against one reference. Intervals are 95% over independent documents or groups."""

    run: RunRow
    reference: Reference
    annotator: str
    """``verdict``, a role of the run, or the name of a source."""
    scores: Scores
    """Every metric, over all labels and per label."""
    basis: Basis
    coverage: Coverage
    """The documents of the run that its scores are based on, and the others by the reason why they are left out."""
    strict: Mapping[str, Estimate]
    """Macro, micro and accuracy by metric key, with every excluded document counted as wrong.

    Empty for ratings and for people, who leave documents to others.

    A sample of reviewed documents represents all documents of the run here, also those without a verdict."""
    raters: Mapping[str, Scores] = field(default_factory=dict)
    """Gold by several raters: the scores against each of them; else empty."""
    median: Scores | None = None
    """Ratings by several raters: the scores against their median."""
    agreement: Mapping[str, Estimate] = field(default_factory=dict)
    """Krippendorff's alpha among the raters by label or dimension, ordinal for ratings, else nominal."""
    overlap: Mapping[str, FieldOverlap] = field(default_factory=dict)
    """Ratings of documents with several fields: ROUGE-L by field."""

    def describe_basis(self, other: Coverage | None = None) -> str:
        """Return the documents that the scores are based on and how they were selected, in words.

        ``other`` replaces the documents of the scores, for a chart of the run that uses others.
        """
        counted = other.describe(self.reference) if other is not None else self.describe_coverage()
        names = join_names([*self.raters]) if len(self.raters) <= MAX_NAMED_RATERS else f"{len(self.raters):,} raters"
        raters = f"gold is {self.describe_raters(names)}" if self.raters else ""
        basis = self.basis.sentence if self.n else ""
        words = (counted, raters, basis, self.basis.warning, held_out.caveat(self.basis.shaped_by))
        return "; ".join(filter(None, words))

    def describe_raters(self, names: str) -> str:
        """Return how the gold of several raters became one reference, in words: "the majority of 3 raters"."""
        if self.scores.kind == "rating":
            return f"the mean of {names}"
        return f"the value that {names} share, or the only one" if len(self.raters) == 2 else f"the majority of {names}"

    def describe_coverage(self) -> str:
        """Return the documents that the scores are based on, with the range over labels if these differ."""
        counted = self.coverage.describe(self.reference)
        numbers = {label.n for label in self.scores.labels.values()}
        if len(numbers) < 2:
            return counted
        noun = label_noun(self.run.settings.codebook.kind)
        return f"{counted}; n by {noun}: {min(numbers):,} to {max(numbers):,}"

    @property
    def missing(self) -> str:
        """Missing from a document without this reference, in words."""
        return self.coverage.missing or reference_names(self.reference).missing

    @property
    def row_shares(self) -> str:
        """Description of the shares in a confusion matrix."""
        return "shares of the row" + (" of reviewed documents, unweighted" if self.basis.is_estimate else "")

    @property
    def n(self) -> int:
        """Documents with a reference and a verdict."""
        return self.scores.n

    @property
    def excluded(self) -> int:
        """Documents with a reference and without a verdict."""
        return self.scores.excluded

    @property
    def strict_main(self) -> Estimate:
        """The main score with every excluded document counted as wrong; without a value for ratings."""
        return self.strict.get(metrics.MAIN[self.scores.kind], Estimate())

    @property
    def rank_score(self) -> Estimate:
        """Score by which runs are ranked: the strict one, so that a run that decides only easy documents does not lead.

        Of ratings, excluded documents count as documents with a correlation of 0; the score has no interval then.
        """
        score, coverage = self.scores.main, self.scores.coverage
        if self.scores.kind != "rating":
            return self.strict_main if self.strict_main.value is not None else score
        if not self.excluded or score.value is None or coverage is None:
            return score
        return Estimate(min(score.value, score.value * coverage))

    @property
    def first_scored(self) -> str:
        """Id of the first label that has a document to score; of the first label if none has."""
        labels = self.run.settings.codebook.labels
        return next((label.id for label in labels if self.scores.labels[label.name].n), labels[0].id)


@dataclass(frozen=True, slots=True)
class CellDocument:
    """A document in a cell of a confusion matrix.

    ``error_by`` is the role that introduced the error: the first one from which it stayed wrong. None where the verdict
    is right or the debate leaves no trace.
    """

    document_id: str
    text: str
    error_by: str | None


@cached_scores
def evaluate(
    session: ProjectSession,
    run: RunRow,
    reference: Reference = "gold",
    annotator: str = VERDICT,
) -> EvaluationReport:
    """Return the scores of an annotator of a run: its ``verdict``, a role, or like ``reference`` the name of a source.

    Cached until a score could change. Raises UsageError for an unknown reference.
    """
    codebook = run.settings.codebook
    check_reference(session, reference, [codebook])
    gold, predicted = paired_arrays(session, run, annotator, reference)
    loaded = verdict_arrays(session, run, reference)
    design = sampling_design(session, run, reference, loaded)
    all_scores = score(codebook, gold, predicted, design=design)
    scored, _ = counted_documents(~np.isnan(gold), ~np.isnan(predicted))
    is_scored_run = is_own(annotator) and source_of(reference).kind != RUN
    shaped = held_out.shaped_by(session, run, loaded.documents) if is_scored_run else np.zeros_like(scored)
    strict = {metric.key: all_scores[metric.key] for metric in scoring.strict_metrics(codebook.kind)}
    if not (is_own(annotator) or source_of(annotator).kind == RUN):
        strict = {}  # a document that a person did not label is not wrong
    elif all_scores.excluded:
        all_documents = strict_design(session, run, reference, loaded)
        strict = scoring.strict_scores(codebook.kind, gold, predicted, codebook.names, design=all_documents)
    return EvaluationReport(
        run=run,
        reference=reference,
        annotator=annotator,
        scores=all_scores,
        basis=replace(
            Basis.from_design(design, gold, scored, _warning(session, run, reference, scored)),
            shaped_by=int((scored & shaped).sum()),
        ),
        coverage=coverage.of_run(session, run, reference, annotator),
        strict=strict,
        **(_several_raters(session, run, annotator, design) if reference == "gold" else {}),
        overlap=_overlap(session, run, design) if reference == "gold" else {},
    )


def _warning(session: ProjectSession, run: RunRow, reference: Reference, scored: Mask) -> str:
    """Return the assumptions of a reference; ``scored`` marks the documents of the score."""
    if reference == LATENT:
        return latent_truth.warning(session, run.settings.codebook)
    if reference == REVIEWED_OR_GOLD:
        known = verdict_arrays(session, run, REVIEWED_OR_GOLD)
        unlabelled = np.isnan(known.reference).all(axis=1) & is_test_document(
            session.store, run.run_id, known.documents
        )
        without_gold = scored & np.isnan(verdict_arrays(session, run).reference).all(axis=1)
        if without_gold.any() and unlabelled.any():
            count = format_count(int(without_gold.sum()), "document")
            return f"{count} without gold; the review queue prefers errors, so scores may be too low"
    return ""


def score(
    codebook: Codebook,
    reference: Grid,
    annotations: Grid,
    *,
    intervals: bool = True,
    design: Design | None = None,
) -> Scores:
    """Return the scores of values ``[document, item]`` against a reference."""
    return scoring.score(codebook.kind, reference, annotations, codebook.names, intervals=intervals, design=design)


@cached_scores
def role_scores(session: ProjectSession, run: RunRow, reference: Reference = "gold") -> dict[str, Scores]:
    """Return the scores of each role's own lists, in the order of the debate. Cached until a score could change."""
    loaded = verdict_arrays(session, run, reference)
    design = sampling_design(session, run, reference, loaded)
    return {
        role: score(run.settings.codebook, *paired_with(session, run, role, loaded.reference), design=design)
        for role in annotating_roles(session, run)
    }


def to_json(report: EvaluationReport) -> dict[str, Any]:
    """Return one run of ``moot evaluate --json`` without further analyses. Scores are None where undefined."""
    settings, scores = report.run.settings, report.scores
    result = {
        "run_id": report.run.run_id,
        "protocol": settings.protocol,
        "reference": report.reference,
        "annotator": report.annotator,
        "roles": settings.specs,
        **scoring.to_json(scores),
        "left_out": dict(report.coverage.left_out),
        "basis": json_data(report.basis),
        "strict": metrics.nest_averages({key: estimate.value for key, estimate in report.strict.items()}, scores.kind),
        "strict_intervals": metrics.nest_averages(
            {key: ends(estimate.interval) for key, estimate in report.strict.items()}, scores.kind
        ),
    }
    if report.raters:
        result["raters"] = {name: scoring.to_json(rater_scores) for name, rater_scores in report.raters.items()}
        result["agreement"] = {name: estimate.value for name, estimate in report.agreement.items()}
        result["agreement_intervals"] = {name: ends(estimate.interval) for name, estimate in report.agreement.items()}
    if report.median is not None:
        result["median"] = scoring.to_json(report.median)
    if report.overlap:
        result["overlap"] = {name: _overlap_json(overlap) for name, overlap in report.overlap.items()}
    return result


def _overlap_json(overlap: FieldOverlap) -> dict[str, Any]:
    correlations = ("pearson", "spearman", "kendall")
    labels = {
        label: {
            "n": scores.n,
            **{name: scores[name].value for name in correlations},
            "intervals": {name: ends(scores[name].interval) for name in correlations},
        }
        for label, scores in overlap.labels.items()
    }
    return {"n": overlap.n, **overlap.mean.named_json("mean"), "labels": labels}


def _several_raters(session: ProjectSession, run: RunRow, annotator: str, design: Design) -> dict[str, Any]:
    """Return the fields of a report on gold by several raters of the run's documents; empty for one rater."""
    codebook, documents = run.settings.codebook, verdict_arrays(session, run).documents
    sources = {name: str(AnnotationSource("gold", name)) for name in session.store.annotations.raters()}
    loaded = {
        name: load_reference(session.store, run.run_id, codebook, documents, source) for name, source in sources.items()
    }
    golds = {name: gold for name, gold in loaded.items() if not np.isnan(gold).all()}
    if len(golds) < 2:
        return {}

    def against(gold: Grid) -> Scores:
        return score(codebook, *paired_with(session, run, annotator, gold), design=design)

    alpha = partial(krippendorff_alpha, level="ordinal" if codebook.kind == "rating" else "nominal")
    stack = np.stack(list(golds.values()), axis=-1)
    return {
        "raters": {name: against(gold) for name, gold in golds.items()},
        "agreement": {
            name: with_interval(alpha, answers, design.groups)
            for name, answers in zip(codebook.item_names, stack.swapaxes(0, 1), strict=True)
        },
        "median": against(known_median(stack, axis=-1)) if codebook.kind == "rating" else None,
    }


def _overlap(session: ProjectSession, run: RunRow, design: Design) -> dict[str, FieldOverlap]:
    """Return ROUGE-L of the text with every other field of a rating run's documents; else empty."""
    codebook = run.settings.codebook
    if codebook.kind != "rating":
        return {}
    ids = session.store.runs.document_ids(run.run_id)[:OVERLAP_DOCUMENTS]
    documents = session.store.documents.load(ids, gold=False)
    if not documents or len(documents[0].fields) < 2:
        return {}
    rows = rows_in(ids, [document.id for document in documents])  # documents may have been replaced since
    gold = verdict_arrays(session, run).reference[rows]
    field_design = Design(groups=design.groups[rows] if design.groups is not None else None)
    overlap_by_field = {}
    for name in list(documents[0].fields)[1:]:
        document_overlaps = [rouge_l(document.text, document.fields.get(name, "")) for document in documents]
        overlaps = np.array([np.nan if overlap is None else overlap for overlap in document_overlaps])
        defined = ~np.isnan(overlaps)
        overlap_by_field[name] = FieldOverlap(
            n=int(defined.sum()),
            mean=ratio(np.nan_to_num(overlaps), defined, field_design),
            labels=score(codebook, gold, np.tile(overlaps[:, None], len(codebook.names)), design=field_design).labels,
        )
    return overlap_by_field


@cached_scores
def cell_documents(
    session: ProjectSession,
    run: RunRow,
    label_id: str,
    cell: str,
    *,
    reference: Reference = "gold",
    offset: int = 0,
    limit: int = 50,
) -> list[CellDocument]:
    """Return the documents in a cell of a confusion matrix, in their order.

    ``cell`` is ``tp``, ``fn``, ``fp`` or ``tn`` of a label; of a choice it is the id of the label that was chosen where
    the reference is ``label_id``.
    """
    codebook = run.settings.codebook
    if codebook.kind == "choice":
        column, reference_value, value = 0, codebook.label_numbers[label_id], codebook.label_numbers[cell]
    else:
        column = codebook.items.index(label_id)
        reference_value, value = CELLS[cell]
    loaded = verdict_arrays(session, run, reference)
    references, verdicts = (grid[:, column] for grid in paired_arrays(session, run, VERDICT, reference))
    rows = np.flatnonzero((references == reference_value) & (verdicts == value))[offset : offset + limit]
    error_by: dict[str, str] = {}
    if reference_value != value and len(rows):
        steps = annotation_arrays.steps(run, stages(session, run), loaded.verdicts)
        if len(steps) > 1:
            gold, *step_codes = coded(loaded.reference, *(step.predicted for step in steps), kind=codebook.kind)
            trace = flips.trace(gold, list(zip([step.name for step in steps], step_codes, strict=True)))
            steps_of_error = zip(rows, trace.error_at[rows, column].tolist(), strict=True)
            error_by = {loaded.documents[row]: trace.roles[step] for row, step in steps_of_error if step >= 0}
    texts = session.store.documents.texts([loaded.documents[row] for row in rows])
    return [CellDocument(id, text, error_by.get(id)) for id, text in texts.items()]


def rating_confusion(
    session: ProjectSession, run: RunRow, dimension: str, reference: Reference = "gold"
) -> tuple[tuple[int, ...], ...]:
    """Return the confusion matrix ``[reference][verdict]`` of a dimension, both rounded to points of the scale.

    Raises UsageError for a run without ratings.
    """
    codebook = run.settings.codebook
    if codebook.kind != "rating":
        raise UsageError(f"{run.title} does not have ratings.", "Use the confusion matrix of its labels.")
    column = codebook.items.index(dimension)
    true, predicted = (values[:, column] for values in paired_arrays(session, run, VERDICT, reference))
    compared = ~np.isnan(true) & ~np.isnan(predicted)
    pairs = zip(true[compared].tolist(), predicted[compared].tolist(), strict=True)
    counts = Counter((nearest_point(rating), nearest_point(other)) for rating, other in pairs)
    points = codebook.scale_of(dimension).points
    return tuple(tuple(counts[rating, other] for other in points) for rating in points)


@cached_until_commit
def cost_of_run(session: ProjectSession, run: RunRow) -> dict[str, float | None]:
    """Return the cost of a run as if no reply had been reused, and dollars, tokens and seconds for each verdict.

    ``cost_usd`` and ``tokens`` are at full price, so that the order of runs does not change them; ``paid_usd`` is what
    this run paid. Dollars are None when a price is unknown, the costs for each verdict also when there is none.
    """
    n, reused = run.verdicts, session.store.costs.from_store(run.run_id)
    full = total_cost((run.cost_usd, reused.cost_usd))
    tokens = run.prompt_tokens + run.completion_tokens + reused.tokens
    return {
        "cost_usd": full,
        "paid_usd": run.cost_usd,
        "tokens": tokens,
        "usd_per_verdict": full / n if full is not None and n else None,
        "tokens_per_verdict": tokens / n if n else None,
        "seconds_per_verdict": run.seconds / n if n else None,
    }


def cost_unit(costs: Iterable[Mapping[str, float | None]]) -> Literal["usd", "tokens"]:
    """Return the unit to compare costs in: tokens if a price is unknown or nothing costs anything."""
    dollars = [cost["usd_per_verdict"] for cost in costs]
    return "usd" if None not in dollars and any(dollars) else "tokens"


def efficient(points: Sequence[tuple[float | None, float | None]]) -> tuple[bool, ...]:
    """Return for each (cost, quality) True if it is on the efficient front.

    A point is not on it if another costs the same or less and is better, or costs less and is as good. A point without
    a cost or a quality is not on it. All equal points are.
    """
    known = [(cost, quality) for cost, quality in points if cost is not None and quality is not None]
    front = {
        (cost, quality)
        for cost, quality in known
        if not any(less <= cost and more >= quality and (less, more) != (cost, quality) for less, more in known)
    }
    return tuple(point in front for point in points)
