"""Plan of a review: the claim to support, its precision, the number of reviews needed, and the progress so far."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil, sqrt
from statistics import median_high
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from core.codebook import Codebook, Kind, label_noun
from core.errors import UsageError
from core.formatting import format_count, format_number, format_percent, format_points
from core.runs import RunRow
from core.services.evaluation import annotation_arrays
from core.services.evaluation.annotation_arrays import Grid, ReviewedSample
from core.services.evaluation.evaluation import score
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit, cached_while
from core.services.review import sampling_frames
from core.stats import scoring, sequential_tests
from core.stats.arrays import Mask, Numbers, is_right
from core.stats.intervals import Estimate, Interval, format_interval
from core.stats.metric_intervals import Design
from core.stats.sampling import WeightedSample, kept_mean
from core.store.annotation_sources import of_run
from core.store.review_queue import Viewpoint
from core.store.rows import changed_outside, validated

Claim: TypeAlias = Literal["share", "correct", "f1", "better", "error"]
CLAIMS: Mapping[Claim, str] = {
    "share": "Share of documents with a label",
    "correct": "Share of {values} that are correct",
    "f1": "F1 of a label",
    "better": "One run is better than another",
    "error": "Error of accepted verdicts",
}
"""Title of each claim; ``{values}`` stands for ``values_noun``."""
LEVELS: tuple[str, ...] = (
    "all verdicts",
    "verdicts with at most one {label} on which a role differs",
    "verdicts on which all roles agree",
)
"""Certainty of a verdict, the lowest level first; ``{label}`` stands for ``label_noun``.

A threshold accepts the verdicts of its level and above. The levels depend on the debate alone, as a test needs: what is
learned in the review does not change them."""
MAX_REVIEWS = 2_000
"""Most reviews that are simulated."""
_SIMULATED_STUDIES = 15  # their median counts
_DOUBT_FACTOR = 4.0  # times as many errors where a role differs
_STEPS = (25, 50, 75, 100, 150, 200, 300, 400, 600, 800, 1200, 1600, MAX_REVIEWS)


@dataclass(frozen=True, slots=True)
class ReviewPlan:
    """The claim that a review should support, and its precision."""

    claim: Claim
    label: str
    """The id of the label of a claim on a share or on F1, else empty."""
    points: float
    """Half the width of the interval, as a share.

    For accepted verdicts the bound of their error instead, and against another run the difference in correct labels
    that should be found.
    """
    expected: float
    """The share of wrong labels (for accepted verdicts: of those) that the number of reviews was planned for."""
    reviews: int = 0
    other: str = ""
    """The id of the run that is compared, empty for none."""

    @property
    def focus(self) -> str | None:
        """The label that documents are drawn for, the run that they are compared with, or None for all labels."""
        return str(of_run(self.other)) if self.other else self.label or None

    def even_part(self, usual: float) -> float:
        """Return the share of the draws that is spread evenly: ``usual``, unless the claim needs another.

        A comparison needs few even draws, but without them, the scores of both runs would miss the errors they share.
        """
        return 1.0 if self.claim == "error" else usual


_PLAN = TypeAdapter(ReviewPlan)
_TITLE = "the plan of a review"


@dataclass(frozen=True, slots=True)
class PlanStatus:
    """State of a plan."""

    plan: ReviewPlan
    drawn: int
    """Documents that count: for F1 and accepted verdicts at most the planned number, against another run those drawn
    for this comparison."""
    population: int
    """Documents with a verdict."""
    estimate: Estimate
    """Estimate of the claim."""
    enough: bool
    """True if the reviews are enough for the claim."""
    complete: bool
    """True if the whole population is reviewed."""
    accepted: int | None = None
    """For a claim on accepted verdicts: the lowest accepted level, None for none."""
    accepted_documents: int = 0
    """How many of the tested documents are accepted."""
    tested: int = 0
    """All documents but those that were reviewed otherwise before, which no random draw could select."""
    names: tuple[str, str] = ("", "")
    """The names of the run and of the one that it is compared with."""
    discarded: int = 0
    """Documents that were discarded. Others would be discarded, too: estimates are for those that would be kept. The
    difference from another run is one over all documents, and is 0 on discarded ones."""


@dataclass(frozen=True, slots=True, eq=False)
class _SimulationInput:
    """Documents with a complete verdict: their signals, and the values of the verdict by column."""

    signals: sampling_frames.Signals
    values: Grid

    @property
    def levels(self) -> Grid:
        """Certainty of each verdict as a place in LEVELS, ``[document]``."""
        return np.asarray(np.clip(2.0 - self.signals.differs.sum(axis=1), 0.0, 2.0))


def current_plan(session: ProjectSession, run: RunRow) -> ReviewPlan | None:
    """Return the plan of a run, None without one. Raises ProjectError for one that does not fit the codebook."""
    stored, codebook = session.store.settings.get(_setting(run)), run.settings.codebook
    if not stored:
        return None
    plan = validated(_PLAN, stored, _TITLE)
    labels = {label.id for label in codebook.labels} if codebook.kind != "rating" else set()
    if plan.label not in (labels if plan.claim in ("share", "f1") else {""}):
        raise changed_outside(_TITLE)
    return plan


def reviewed_before(session: ProjectSession, run: RunRow) -> int:
    """Return how many documents of the run were reviewed before its plan was made."""
    return session.store.sampling_frames.decided_before(_setting(run), run.run_id)


def save_plan(session: ProjectSession, run: RunRow, plan: ReviewPlan | None, *, actor: str = "") -> None:
    """Store the plan of a run, or end it (None). The queue draws for it from now on."""
    session.store.settings.set(_setting(run), asdict(plan) if plan else None, actor=actor)


def plan_reviews(session: ProjectSession, run: RunRow, plan: ReviewPlan, even: float) -> int | None:
    """Return how many reviews the claim takes, from simulated reviews of the run's own verdicts.

    In each simulated study the verdicts are wrong as often as expected, four times as often where a role differs as
    elsewhere (at most half), and documents are drawn as the queue draws them. The median of the studies counts. None if
    more than MAX_REVIEWS reviews (or all documents) are needed. UsageError for a run without verdicts, and if the
    expected error is not below the bound, or the runs do not differ enough.
    """
    codebook = run.settings.codebook
    if plan.claim == "better":
        return _plan_comparison(session, run, plan, even)
    inputs = _simulation_input(session, run)
    count = len(inputs.values)
    if not count:
        raise UsageError(f"{run.title} has no verdict yet.", "Wait for its first verdicts.")
    if plan.claim == "error":
        if plan.expected >= plan.points:
            raise UsageError("The expected error is not below the bound.", "Raise the bound or expect fewer errors.")
        among = float((inputs.levels == 2).mean())
        needed = sequential_tests.reviews_for_bound(plan.expected, plan.points)
        reviews = ceil(needed / among) if needed and among else None
        return reviews if reviews is not None and reviews <= count else None
    sizes = sampling_frames.draw_sizes(codebook, inputs.signals, even, plan.focus)
    reviews = median_high(
        _simulate(codebook, inputs, plan, sizes / sizes.sum(), seed) for seed in range(_SIMULATED_STUDIES)
    )
    return reviews if reviews <= min(count, MAX_REVIEWS) else None


@cached_until_commit
def plan_status(session: ProjectSession, run: RunRow, plan: ReviewPlan) -> PlanStatus:
    """Return the estimate of the claim from the documents reviewed so far, and whether they are enough.

    Shares and the difference from another run have an always-valid interval, so that reviewing may stop at any time.
    The difference is estimated from the documents that were drawn for it, and other reviewed documents count as known.
    F1 and accepted verdicts are looked at once, after the planned number of reviews: later ones do not change the
    result, unless all documents are reviewed.
    """
    codebook = run.settings.codebook
    others = [sampling_frames.aligned_verdicts(session, run, session.run(plan.other))] if plan.claim == "better" else []
    loaded = annotation_arrays.reviewed_sample(session, run, *others)
    sample, rows, population = loaded.sample, loaded.order, int(loaded.population.sum())
    status = PlanStatus(
        plan, sample.drawn, population, Estimate(), enough=False, complete=sample.complete, discarded=loaded.discarded
    )
    if not len(rows):
        return status
    match plan.claim:
        case "share" | "correct":
            reference, verdicts = loaded.reference, loaded.verdicts
            y, f, over_all = _linear(codebook, plan, reference[rows], verdicts[rows], verdicts[loaded.population])
            return _estimated_mean(status, sample, np.where(loaded.is_kept, y, np.nan), f, over_all)
        case "better":
            status = replace(status, names=(run.title, session.run(plan.other).title))
            drawn_for = session.store.sampling_frames.drawn_for(run.run_id, plan.focus or "")
            return _estimated_difference(status, codebook.kind, loaded, others[0], drawn_for)
        case "f1":
            return _estimated_f1(status, codebook, loaded)
        case "error":
            return _accepted(codebook, loaded, _simulation_input(session, run, complete_only=False).levels, status)


def _estimated_difference(
    status: PlanStatus, kind: Kind, loaded: ReviewedSample, other_verdicts: Grid, drawn_for: Container[str]
) -> PlanStatus:
    """Return the status of a claim on two runs, from the documents that were ``drawn_for`` their comparison."""
    if not loaded.is_kept.any():
        return status
    rows, reference = loaded.order, loaded.reference[loaded.order]
    right, also = (is_right(reference, verdicts[rows], kind=kind) for verdicts in (loaded.verdicts, other_verdicts))
    gains = np.asarray((right.astype(np.float64) - also).mean(axis=1))  # shares of correct labels, -1 to 1
    gains = np.where(loaded.is_kept, gains, 0.0)  # few draws show how many others would be discarded
    is_counted = np.array([loaded.documents[row] in drawn_for for row in rows], dtype=np.bool_)
    sample = WeightedSample(np.where(is_counted, loaded.sample.probabilities, 0.0), status.population)
    status = replace(status, drawn=sample.drawn)
    lost, typical = _lost_gains((loaded.verdicts != other_verdicts) & loaded.population[:, None])
    return _estimated_mean(
        status, sample, gains, np.zeros(len(rows)), 0.0, low=-1.0, error_sizes=lost[rows], typical_error=typical
    )


def _estimated_f1(status: PlanStatus, codebook: Codebook, loaded: ReviewedSample) -> PlanStatus:
    """Return the status of a claim on F1, from the planned number of reviews, or from all documents."""
    plan, sample, reference, design = status.plan, loaded.sample, loaded.reference, loaded.design
    if sample.drawn < plan.reviews and not sample.complete:
        return status
    if sample.drawn > plan.reviews and not sample.complete:
        is_planned = np.cumsum(sample.draws) - sample.draws < plan.reviews
        rows = loaded.order[is_planned]
        reference = np.full(loaded.reference.shape, np.nan)
        reference[rows] = loaded.reference[rows]
        sample = WeightedSample(sample.probabilities[is_planned], sample.population)
        design = replace(design, sample=sample, order=rows)
        status = replace(status, drawn=sample.drawn)
    estimate = score(codebook, reference, loaded.verdicts, design=design).labels[codebook.label(plan.label).name]["f1"]
    return replace(status, estimate=estimate, enough=estimate.interval is not None)


def _estimated_mean(
    status: PlanStatus,
    sample: WeightedSample,
    y: Grid,
    f: Grid,
    over_all: float,
    *,
    low: float = 0.0,
    error_sizes: Numbers | float = 1.0,
    typical_error: float = 1.0,
) -> PlanStatus:
    """Return the status of a claim on a mean (arguments as in ``confidence_sequence``); unchanged without interval."""
    plan = status.plan
    intervals = sequential_tests.confidence_sequence(
        sample,
        y,
        f,
        over_all,
        planned=plan.reviews or 100,
        low=low,
        error_sizes=error_sizes,
        typical_error=typical_error,
    )
    if not intervals:
        return status
    ends = intervals[-1]
    value, _ = kept_mean(sample, y, f, over_all)
    estimate = Estimate(min(1.0, max(low, value)), ends)
    if plan.claim == "better":
        is_small = -plan.points < ends.low <= ends.high < plan.points
        enough = bool(estimate.clear) or is_small
    else:
        enough = ends.high - ends.low <= 2 * plan.points
    return replace(status, estimate=estimate, enough=enough)


def _accepted(codebook: Codebook, loaded: ReviewedSample, levels: Grid, status: PlanStatus) -> PlanStatus:
    """Return the status of a claim on accepted verdicts, tested on the first planned equal-probability draws.

    Discarded documents do not count. If all documents are reviewed, their errors are known and nothing is tested.
    """
    plan, sample, rows = status.plan, loaded.sample, loaded.order
    even = loaded.is_kept
    if not sample.complete:
        even = even & sample.is_even
        even &= np.cumsum(even) <= plan.reviews
    right = is_right(loaded.reference[rows], loaded.verdicts[rows], kind=codebook.kind)
    wrong: Mask = np.any(~right, axis=1)
    status = replace(status, drawn=int(even.sum()))
    if not status.drawn or (status.drawn < plan.reviews and not sample.complete):
        return status
    if sample.complete:  # the errors are known
        sure = [even & (levels[rows] >= level) for level in range(len(LEVELS))]
        accepted: Sequence[float] = [
            level for level, mask in enumerate(sure) if mask.any() and wrong[mask].mean() <= plan.points
        ]
    else:
        accepted = sequential_tests.accept_thresholds(levels[rows][even], wrong[even], (0, 1, 2), plan.points)
    if not accepted:
        return replace(status, enough=True)
    lowest = int(min(accepted))
    among = even & (levels[rows] >= lowest)
    tested = loaded.population.copy()
    tested[rows[~loaded.is_kept]] = False
    last = np.flatnonzero(even)[-1]
    tested[rows[:last][~even[:last]]] = False
    documents = int(((levels >= lowest) & tested).sum())
    estimate = Estimate(float(wrong[among].mean()), Interval(0.0, plan.points))
    return replace(
        status, estimate=estimate, enough=True, accepted=lowest, accepted_documents=documents, tested=int(tested.sum())
    )


def values_noun(kind: Kind) -> str:
    """Return the name of the values that a claim counts: "ratings" or "labels"."""
    return "ratings" if kind == "rating" else "labels"


def describe_claim(codebook: Codebook, plan: ReviewPlan) -> str:
    """Return the planned claim in words, such as "share of Price within 5 points"."""
    points = f"{plan.points * 100:g}"
    match plan.claim:
        case "share":
            return f"share of {codebook.label(plan.label).name} within {points} points"
        case "correct":
            return f"share of correct {values_noun(codebook.kind)} within {points} points"
        case "f1":
            return f"F1 of {codebook.label(plan.label).name} within {plan.points:.2f}"
        case "better":
            values = values_noun(codebook.kind)
            return f"whether this run or {plan.other} has more correct {values}, if by {points} points or more"
        case "error":
            return f"at most {points}% of accepted verdicts are wrong"


def describe_result(codebook: Codebook, status: PlanStatus) -> str:
    """Return what can be claimed now as a sentence; empty while there is no interval.

    It names neither interval nor confidence once all documents are reviewed: the result is then exact.
    """
    plan, estimate = status.plan, status.estimate
    if plan.claim == "error":
        return _describe_accepted(codebook, status) if status.enough else ""
    if estimate.value is None or estimate.interval is None:
        return ""
    if plan.claim == "better":
        return _describe_difference(codebook, status, estimate.value, estimate.interval)
    name = codebook.label(plan.label).name if plan.label else ""
    everything = format_count(status.population - (status.discarded if status.complete else 0), "document")
    if status.discarded and not status.complete:
        everything += " without discarded ones"
    share = format_percent(estimate.value, 1)
    match plan.claim:
        case "share":
            claim = f"{share} of the {everything} are about {name}"
        case "correct":
            claim = f"{share} of the {values_noun(codebook.kind)} of {everything} are correct"
        case _:
            claim = f"F1 of {name} is {format_number(estimate.value, 2)} over {everything}"
    if status.complete:
        return f"{claim}."
    style: Literal["number", "percent"] = "number" if plan.claim == "f1" else "percent"
    span = format_interval(estimate.interval, style, digits=2 if plan.claim == "f1" else 1, named=True)
    return f"{claim} ({span})."


def _describe_accepted(codebook: Codebook, status: PlanStatus) -> str:
    """Return which verdicts can be accepted once the reviews are enough."""
    bound = format_percent(status.plan.points)
    if status.accepted is None:
        return f"No verdicts can be accepted with an error of at most {bound}."
    level = LEVELS[status.accepted].format(label=label_noun(codebook.kind))
    confidence = "" if status.complete else " (95% confidence)"
    not_discarded = status.population - status.discarded
    if status.tested == not_discarded:
        accepted = f"{format_count(status.accepted_documents, 'document')} of {not_discarded:,}"
    else:
        tested = format_count(status.tested, "document")
        accepted = f"{status.accepted_documents:,} of the {tested} that were not reviewed otherwise"
    return f"At most {bound} of {level} are wrong{confidence}: {accepted} can be accepted."


def _describe_difference(codebook: Codebook, status: PlanStatus, difference: float, interval: Interval) -> str:
    """Return which of two runs is better, with their difference shown above 0."""
    best, other = status.names
    if difference <= 0:
        best, other = other, best
        interval = replace(interval, low=-interval.high, high=-interval.low)
    by = f"{format_points(abs(difference))} points of correct {values_noun(codebook.kind)}"
    by += "" if status.complete else f", {format_interval(interval, 'points', named=True)}"
    by += "; discarded documents count as equal" if status.discarded else ""
    if status.estimate.clear:
        return f"{best} is better than {other}: {by}."
    return f"No significant difference between {best} and {other}: {by}."


def _setting(run: RunRow) -> str:
    return f"review plan {run.run_id}"


def _plan_comparison(session: ProjectSession, run: RunRow, plan: ReviewPlan, even: float) -> int | None:
    """Return how many reviews distinguish two runs if one has ``points`` more correct labels: where they differ."""
    verdicts = annotation_arrays.verdict_arrays(session, run).verdicts
    other_verdicts = sampling_frames.aligned_verdicts(session, run, session.run(plan.other))
    both = ~np.isnan(verdicts).any(axis=1) & ~np.isnan(other_verdicts).any(axis=1)
    differs = verdicts[both] != other_verdicts[both]
    if not len(differs):
        raise UsageError("The runs have no document in common.", "Choose another run.")
    max_difference = float(differs.mean())
    if plan.points > max_difference:
        raise UsageError(
            f"The runs differ on {format_percent(max_difference, 1)} of the {values_noun(run.settings.codebook.kind)}, "
            f"so neither can be better by {format_percent(plan.points)}.",
            "Choose a smaller difference.",
        )
    sizes = sampling_frames.comparison_sizes(differs, even)
    lost, typical = _lost_gains(differs)
    needs = []
    for seed in range(_SIMULATED_STUDIES):
        rng = np.random.default_rng(seed)
        right = rng.random(differs.shape) < 0.5 + 0.5 * plan.points / max_difference
        gained = np.where(differs, np.where(right, 1.0, -1.0), 0.0).mean(axis=1)
        order, sample = _draw(sizes, rng)
        intervals = sequential_tests.confidence_sequence(
            sample,
            gained[order],
            np.zeros(len(order)),
            0.0,
            planned=100,
            low=-1.0,
            error_sizes=lost[order],
            typical_error=typical,
        )
        numbered = enumerate(intervals, sequential_tests.FIRST_DRAWS)
        needs.append(next((reviews for reviews, interval in numbered if interval.low > 0), len(differs)))
    needed = median_high(needs)
    return needed if needed <= MAX_REVIEWS else None


def _lost_gains(differs: Mask) -> tuple[Numbers, float]:
    """Return how much each document loses if the other run is right, ``[document]``, and their root mean square.

    The mean is over the documents on which the runs differ (``differs``, ``[document, label]``), 0 if there is none.
    """
    lost = 2 * differs.mean(axis=1)
    return lost, sqrt(float((lost[lost > 0] ** 2).mean())) if lost.any() else 0.0


def _draw(sizes: Numbers, rng: np.random.Generator) -> tuple[NDArray[np.intp], WeightedSample]:
    """Return the documents of a simulated review in the order of their draws, in proportion to sizes, as a sample."""
    count = len(sizes)
    order = np.argsort(rng.exponential(size=count) / sizes)[: min(count - 1, MAX_REVIEWS)]
    return order, WeightedSample.of_draws(order, [sizes] * len(order), count)


@cached_while(lambda session, run, **_: (run.documents, run.verdicts, run.turns, *session.store.documents.state()))
def _simulation_input(session: ProjectSession, run: RunRow, *, complete_only: bool = True) -> _SimulationInput:
    """Return the verdicts and the signals of the run."""
    session.store.review_reasons.refresh(run.run_id, session.store.runs.with_codebook(run.settings.codebook))
    signals = sampling_frames.signals(session, run, Viewpoint(run.run_id))
    verdicts = annotation_arrays.verdict_arrays(session, run).verdicts
    rows = ~np.isnan(verdicts).any(axis=1) if complete_only else np.ones(len(verdicts), dtype=np.bool_)
    selected = sampling_frames.Signals(signals.labels[rows], signals.differs[rows], signals.reason[rows])
    return _SimulationInput(selected, verdicts[rows])


def _linear(
    codebook: Codebook, plan: ReviewPlan, reference: Grid, verdicts: Grid, everything: Grid
) -> tuple[Grid, Grid, float]:
    """Return the reviewed values, their predictions, and the mean prediction over all documents, for a share."""
    if plan.claim == "share":
        column = codebook.label_numbers[plan.label]
        y, f, all_f = (
            annotation_arrays.given_labels(codebook, values)[:, column].astype(np.float64)
            for values in (reference, verdicts, everything)
        )
        return y, f, float(all_f.mean())
    y = is_right(reference, verdicts, kind=codebook.kind).mean(axis=1)
    return y, np.ones(len(y)), 1.0  # the queue prefers errors, so their weights vary less than those of all documents


def _simulate(codebook: Codebook, inputs: _SimulationInput, plan: ReviewPlan, sizes: Grid, seed: int) -> int:
    """Return the number of reviews after which one simulated study is precise enough, all documents if none is."""
    rng = np.random.default_rng(seed)
    count = len(inputs.values)
    truth = _simulate_truth(codebook, inputs, plan, rng)
    order, sample = _draw(sizes, rng)
    if plan.claim != "f1":
        y, f, over_all = _linear(codebook, plan, truth[order], inputs.values[order], inputs.values)
        intervals = sequential_tests.confidence_sequence(sample, y, f, over_all, planned=100)
        numbered = enumerate(intervals, sequential_tests.FIRST_DRAWS)
        return next((reviews for reviews, ends in numbered if ends.high - ends.low <= 2 * plan.points), count)
    name = codebook.label(plan.label).name
    variables = np.column_stack([np.ones(count), inputs.signals.labels]).astype(np.float64)
    for reviews in _STEPS:
        rows = order[:reviews]
        reference = np.full(truth.shape, np.nan)
        reference[rows] = truth[rows]
        design = Design(
            sample=WeightedSample.of_draws(rows, [sizes] * len(rows), count), order=rows, auxiliary=variables
        )
        scores = scoring.score(codebook.kind, reference, inputs.values, codebook.names, design=design)
        interval = scores.labels[name]["f1"].interval
        if interval is not None and interval.high - interval.low <= 2 * plan.points:
            return min(reviews, count)
        if reviews >= count:
            break
    return count


def _simulate_truth(codebook: Codebook, inputs: _SimulationInput, plan: ReviewPlan, rng: np.random.Generator) -> Grid:
    """Return a possible truth: verdicts with errors.

    For a claim on correct values, the expected share of all values is wrong. For a claim on one label, that share of
    the documents with the label is, and the share of each label stays about as it is.
    """
    values = inputs.values
    doubtful = float(inputs.signals.differs.mean())
    in_doubt = min(0.5, _DOUBT_FACTOR * plan.expected / (1 + (_DOUBT_FACTOR - 1) * doubtful))
    elsewhere = (plan.expected - doubtful * in_doubt) / max(1 - doubtful, 1e-9)
    rate = np.where(inputs.signals.differs, in_doubt, elsewhere)
    if plan.claim == "correct":
        return np.where(rng.random(values.shape) < rate, values + 1, values)  # any other value would do
    if codebook.kind == "choice":
        return np.where(rng.random(values.shape) < rate, rng.permutation(values), values)
    share = values.mean(axis=0)
    odds = np.minimum(1.0, share / np.maximum(1 - share, 1e-9))
    wrong = rng.random(values.shape) < rate * np.where(values == 1, 1.0, odds)
    return np.where(wrong, 1 - values, values)
