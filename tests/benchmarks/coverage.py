"""Measure coverage and width of the intervals of Evaluate and Compare, and false positives of their tests.

``python -m tests.benchmarks.coverage [REPEATS]`` prints one table per design, at a nominal level of 95%:

- independent documents, with labels present in 2% to 50% of them;
- groups of eight dependent documents;
- reviewed documents from a queue that picks errors, with random audits, and from Moot's queue, which samples;
- regressions on labels of an annotator that errs more in some documents than in others, corrected by reviews;
- always-valid intervals of a share, checked after each review until they are narrow enough;
- acceptance of verdicts of which at most 10% are wrong;
- significant differences between two equally good annotators.

The true value of a metric is its value on a large population that follows the same rules.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np

from core.services.review.queue import DEFAULT_EVEN
from core.services.review.sampling_frames import comparison_sizes
from core.stats import sampling, scoring, sequential_tests
from core.stats.comparison import MIN_POSITIVES, verdict_on
from core.stats.corrected_regression import Family, Rows, regression
from core.stats.intervals import Estimate
from core.stats.metric_intervals import Design, prediction_powered
from core.stats.sampling import WeightedSample
from core.stats.significance import holm, mcnemar_of
from tests.core.stats.samples import uniform_sample

PREVALENCE = (0.02, 0.1, 0.3, 0.5)
LABELS = tuple(f"{share:.0%}" for share in PREVALENCE)
OVERALL = ("macro_f1", "micro_f1", "macro_recall", "accuracy", "subset_accuracy")
PER_LABEL = ("precision", "recall", "f1", "kappa")
GROUP = 8
Grid = np.ndarray


def world(
    documents: int, rng: np.random.Generator, *, groups: bool = False, annotators: int = 1
) -> tuple[Grid, list[Grid]]:
    """Return a reference and annotators with 15% false negatives and few false positives.

    With ``groups``, eight documents in a row share most of the random effects on their labels and errors.
    """

    def chance() -> Grid:
        noise = rng.standard_normal((documents, len(PREVALENCE)))
        if groups:
            shared = np.repeat(rng.standard_normal((-(-documents // GROUP), len(PREVALENCE))), GROUP, axis=0)[
                :documents
            ]
            noise = np.sqrt(0.7) * shared + np.sqrt(0.3) * noise
        return noise

    from scipy.stats import norm

    present = norm.cdf(chance()) < np.array(PREVALENCE)
    answers = []
    for _ in range(annotators):
        missed, added = norm.cdf(chance()) < 0.15, norm.cdf(chance()) < 0.15 * np.array(PREVALENCE)
        answers.append(np.where(present, ~missed, added).astype(np.int8))
    return present.astype(np.int8), answers


def truth(*, groups: bool) -> dict[str, float]:
    """Return the values of the metrics on a large population."""
    reference, (answers,) = world(400_000, np.random.default_rng(99), groups=groups)
    return values(scoring.score("multilabel", reference, answers, LABELS, intervals=False))


def values(scores: scoring.Scores) -> dict[str, float]:
    """Return the tabulated values by name."""
    return {name: estimate.value or 0.0 for name, estimate in tabulated(scores)}


def tabulated(scores: scoring.Scores) -> Iterator[tuple[str, Estimate]]:
    """Yield the tabulated metrics with their names."""
    for key in OVERALL:
        yield key, scores[key]
    for name, label in scores.labels.items():
        for key in PER_LABEL:
            yield f"{key} of {name}", label[key]


class Table:
    """Counts of intervals that cover the true value, and widths of intervals, by name."""

    def __init__(self) -> None:
        self.covered: dict[str, list[bool]] = defaultdict(list)
        self.widths: dict[str, list[float]] = defaultdict(list)
        self.missing: dict[str, int] = defaultdict(int)

    def add(self, scores: scoring.Scores, true: Mapping[str, float]) -> None:
        """Count the intervals of one study."""
        for name, estimate in tabulated(scores):
            self.count(name, estimate, true[name])

    def count(self, name: str, estimate: Estimate, true: float) -> None:
        """Count one interval."""
        interval = estimate.interval
        if interval is None:
            self.missing[name] += 1
            return
        self.covered[name].append(true in interval)
        self.widths[name].append(interval.high - interval.low)

    def show(self, title: str) -> None:
        """Print the table."""
        print(f"\n{title}\n{'metric':<22}{'coverage':>9}{'width':>8}{'no interval':>13}")
        for name, covered in self.covered.items():
            print(f"{name:<22}{np.mean(covered):>9.1%}{np.mean(self.widths[name]):>8.3f}{self.missing[name]:>13}")


def independent(documents: int, repeats: int) -> Table:
    """Return the coverage over independent documents."""
    table, true = Table(), truth(groups=False)
    for seed in range(repeats):
        reference, (answers,) = world(documents, np.random.default_rng(seed))
        table.add(scoring.score("multilabel", reference, answers, LABELS), true)
    return table


def grouped(groups: int, repeats: int) -> Table:
    """Return the coverage over groups of dependent documents."""
    table, true = Table(), truth(groups=True)
    codes = np.repeat(np.arange(groups), GROUP)
    for seed in range(repeats):
        reference, (answers,) = world(groups * GROUP, np.random.default_rng(seed), groups=True)
        table.add(scoring.score("multilabel", reference, answers, LABELS, design=Design(groups=codes)), true)
    return table


def reviews(reference: Grid, answers: Grid, design: Design, table: Table) -> None:
    """Count the intervals from reviewed documents, including those of the shares of the labels."""
    assert design.sample is not None
    true = values(scoring.score("multilabel", reference, answers, LABELS, intervals=False))
    order = design.order
    known = np.full(reference.shape, -1, dtype=np.int8)
    known[order] = reference[order]
    table.add(scoring.score("multilabel", known, answers, LABELS, design=design), true)
    for column, label in enumerate(LABELS):
        result = prediction_powered(
            design.sample, reference[order, column], answers[order, column], float(answers[:, column].mean())
        )
        table.count(f"share of {label}", result, float(reference[:, column].mean()))


def queue_draws(documents: int, reviewed: int, repeats: int, *, even: float = DEFAULT_EVEN) -> Table:
    """Return the coverage over documents that Moot's review queue samples.

    Roles disagree on 60% of the wrong cells and on 2% of the others. A new frame of the queue follows after 20 and 50
    and 95 reviews; it also includes documents with a label on which an error was found.
    """
    table = Table()
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        reference, (answers,) = world(documents, rng)
        doubted = rng.random(reference.shape) < np.where(reference != answers, 0.6, 0.02)
        order: list[int] = []
        sizes: list[Grid | None] = []
        for stop in [number for number in (20, 50, 95) if number < reviewed] + [reviewed]:
            wrong = (reference[order] != answers[order]).any(axis=0)
            frame = sampling.draw_sizes(answers, np.hstack([doubted, answers[:, wrong].astype(bool)]), even)
            times = rng.exponential(size=documents) / frame
            times[order] = np.inf
            drawn = np.argsort(times)[: stop - len(order)].tolist()
            order, sizes = [*order, *drawn], [*sizes, *[frame] * len(drawn)]
        sample = WeightedSample.of_draws(order, sizes, documents)
        variables = np.column_stack([np.ones(documents), answers]).astype(np.float64)
        reviews(reference, answers, Design(sample=sample, order=np.array(order), auxiliary=variables), table)
    return table


def stopping(documents: int, repeats: int, points: float) -> None:
    """Print always-valid intervals of the share of each label while reviewing until they are narrow enough.

    ``always``: studies in which every interval from the first to the 500th draw covers the true value; ``at the end``:
    studies in which the first interval within ``points`` does; then the median number of reviews until that interval.
    """
    print(f"\nReviews until a share is within {points:.2f}\n{'label':<10}{'always':>9}{'at the end':>12}{'reviews':>9}")
    for column, label in enumerate(LABELS):
        always, ended, reviews_needed = [], [], []
        for seed in range(repeats):
            rng = np.random.default_rng(seed)
            reference, (answers,) = world(documents, rng)
            doubted = rng.random(reference.shape) < np.where(reference != answers, 0.6, 0.02)
            sizes = sampling.draw_sizes(answers[:, [column]], doubted[:, [column]], DEFAULT_EVEN)
            order = np.argsort(rng.exponential(size=documents) / sizes)[:500]
            y, f = reference[order, column].astype(float), answers[order, column].astype(float)
            sample = WeightedSample.of_draws(order, [sizes] * len(order), documents)
            result = sequential_tests.confidence_sequence(sample, y, f, float(answers[:, column].mean()), planned=100)
            holds = [reference[:, column].mean() in interval for interval in result]
            stop = next(
                (n for n, interval in enumerate(result) if interval.high - interval.low <= 2 * points), len(result) - 1
            )
            always.append(all(holds))
            ended.append(holds[stop])
            reviews_needed.append(stop + sequential_tests.FIRST_DRAWS)
        print(f"{label:<10}{np.mean(always):>9.1%}{np.mean(ended):>12.1%}{np.median(reviews_needed):>9.0f}")


def regressions(documents: int, reviewed: int, repeats: int, *, groups: bool) -> None:
    """Print the coverage of slopes on a numeric predictor, for corrected regressions and for the verdicts alone.

    The annotator misses a label more often where the number is low, and adds it more often where the number is high.
    """
    from scipy.stats import norm

    title = f"{reviewed} of {documents:,} reviewed{f', groups of {GROUP}' if groups else ''}"
    print(f"\nSlope of a label, {title}\n{'regression':<22}{'coverage':>9}{'width':>8}{'verdicts alone':>16}")
    codes = np.repeat(np.arange(-(-documents // GROUP)), GROUP)[:documents] if groups else None
    families: dict[Family, float] = {"linear": 0.0, "logistic": 0.6}
    spread = np.linspace(-8, 8, 20_001)
    chance = 1 / (1 + np.exp(0.7 - 0.6 * spread))
    families["linear"] = float((chance * spread * norm.pdf(spread)).sum() / norm.pdf(spread).sum())
    for family, true in families.items():
        covered, widths, naive = [], [], []
        for seed in range(repeats):
            rng = np.random.default_rng(seed)

            def normal(rng: np.random.Generator = rng) -> Grid:
                noise = rng.standard_normal(documents)
                if codes is None:
                    return noise
                return np.sqrt(0.5) * rng.standard_normal(codes.max() + 1)[codes] + np.sqrt(0.5) * noise

            x = normal()
            human = (norm.cdf(normal()) < 1 / (1 + np.exp(0.7 - 0.6 * x))).astype(float)
            missed = rng.random(documents) < np.where(x > 0, 0.05, 0.25)
            added = rng.random(documents) < np.where(x > 0, 0.2, 0.03)
            model = np.where(human == 1, ~missed, added).astype(float)
            doubted = rng.random(documents) < np.where(human != model, 0.6, 0.02)
            sizes = sampling.draw_sizes(model[:, None] == 1, doubted[:, None], DEFAULT_EVEN)
            order = np.argsort(rng.exponential(size=documents) / sizes)[:reviewed]
            rows = [Rows(label, np.column_stack([np.ones(documents), x])) for label in (model, human, 1 - model)]
            sample = WeightedSample.of_draws(order, [sizes] * reviewed, documents)
            fitted = regression(family, rows[0], rows[1].take(order), rows[2], order, sample, groups=codes)
            slope = fitted.coefficients[1]
            for list_, interval in ((covered, slope.estimate.interval), (naive, slope.naive.interval)):
                list_.append(interval is not None and true in interval)
            widths.append(slope.estimate.interval.high - slope.estimate.interval.low if slope.estimate.interval else 0)
        print(f"{family:<22}{np.mean(covered):>9.1%}{np.mean(widths):>8.3f}{np.mean(naive):>16.1%}")


def comparisons(documents: int, repeats: int) -> None:
    """Print always-valid intervals of the difference in correct labels of two runs of several labels.

    The runs differ on one label of each tenth document, or on one label of most documents and on all of every twentieth
    one; the share of the differing labels on which the second run is right varies, and is turned round on documents
    that differ on all of them.
    """
    print(f"\nReviews until a run is better, {documents:,} documents")
    print(f"{'labels':<8}{'differ':<8}{'right':<8}{'always':>9}{'better':>9}{'reviews':>9}")
    for labels, share, on_all in ((5, 0.1, 0.0), (10, 0.9, 0.05)):
        for right in (0.5, 0.6, 0.75, 0.9, 0.98):
            always, better = [], []
            for seed in range(repeats):
                rng = np.random.default_rng(seed)
                is_on_all = rng.random((documents, 1)) < on_all
                differs = (rng.random((documents, 1)) < share) & (is_on_all | (np.arange(labels) == 0))
                wins = rng.random((documents, 1)) < np.where(is_on_all, 1 - right, right)
                gained = (differs * np.where(wins, 1.0, -1.0)).mean(axis=1)
                lost = 2 * differs.mean(axis=1)
                sizes = comparison_sizes(differs, DEFAULT_EVEN)
                order = np.argsort(rng.exponential(size=documents) / sizes)[:400]
                result = sequential_tests.confidence_sequence(
                    WeightedSample.of_draws(order, [sizes] * len(order), documents),
                    gained[order],
                    np.zeros(len(order)),
                    0.0,
                    planned=100,
                    low=-1.0,
                    error_sizes=lost[order],
                    typical_error=float(np.sqrt((lost[lost > 0] ** 2).mean())),
                )
                always.append(all(gained.mean() in interval for interval in result))
                numbered = enumerate(result, sequential_tests.FIRST_DRAWS)
                better.append(next((n for n, interval in numbered if interval.low > 0 or interval.high < 0), None))
            known = [one for one in better if one is not None]
            median = f"{np.median(known):>9.0f}" if known else f"{'-':>9}"
            print(f"{labels:<8}{share:<8.0%}{right:<8.0%}{np.mean(always):>9.1%}{len(known) / repeats:>9.1%}{median}")


def promises(repeats: int) -> None:
    """Print how often verdicts are accepted at a bound of 10% after the planned reviews, by their true error."""
    print("\nVerdicts accepted at a bound of 10% (the reviews are planned for an error of 5%)")
    reviewed = sequential_tests.reviews_for_bound(0.05, 0.1) or 0
    rng = np.random.default_rng(0)
    for error in (0.05, 0.08, 0.1001, 0.12):
        wrong = rng.random((10 * repeats, reviewed)) < error
        share = np.mean([bool(sequential_tests.accept_thresholds(np.ones(reviewed), row, (1,), 0.1)) for row in wrong])
        print(f"true error {error:<8.4f}{share:>7.1%} of studies with {reviewed} reviews")


def audited(documents: int, reviewed: int, repeats: int, *, audits: float) -> Table:
    """Return the coverage over reviewed documents that a queue picked for errors, except for random audits."""
    table = Table()
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        reference, (answers,) = world(documents, rng)
        wrong = (reference != answers).sum(axis=1)
        queue = iter(np.argsort(-(wrong + 1.2 * rng.random(documents))).tolist())
        chance = iter(rng.permutation(documents).tolist())
        taken: dict[int, bool] = {}
        while len(taken) < reviewed:
            audit = bool(rng.random() < audits)
            taken[next(row for row in (chance if audit else queue) if row not in taken)] = audit
        sample = uniform_sample(list(taken.values()), documents)
        reviews(reference, answers, Design(sample=sample, order=np.array(list(taken))), table)
    return table


def verdicts(documents: int, repeats: int, *, groups: bool, alike: float = 0.0) -> dict[str, float]:
    """Return how often two equally good annotators differ significantly, by label and in the main score.

    ``alike`` is the share of documents with the same labels from both.
    """
    called: dict[str, int] = defaultdict(int)
    codes = np.repeat(np.arange(-(-documents // GROUP)), GROUP)[:documents] if groups else None
    for seed in range(repeats):
        reference, (first, second) = world(documents, np.random.default_rng(seed), groups=groups, annotators=2)
        second = np.where(np.random.default_rng(seed + 10**6).random((documents, 1)) < alike, first, second)
        result = scoring.difference("multilabel", reference, first, second, LABELS, design=Design(groups=codes))
        p = scoring.randomization_test("multilabel", reference, first, second, LABELS, groups=codes)
        called["macro_f1"] += verdict_on(result.main, p) in ("better", "worse")
        called["macro_f1, interval alone"] += bool(result.main.clear)
        tests = [mcnemar_of(reference[:, k], first[:, k], second[:, k], groups=codes).p for k in range(len(LABELS))]
        for column, (name, p_label) in enumerate(zip(LABELS, holm(tests), strict=True)):
            enough = reference[:, column].sum() >= MIN_POSITIVES
            change = result.labels[name]["f1"]
            called[f"F1 of {name}"] += verdict_on(change, p_label, enough=bool(enough)) in ("better", "worse")
            called[f"F1 of {name}, interval alone"] += bool(change.clear)
    return {name: count / repeats for name, count in called.items()}


def main(repeats: int) -> None:
    """Print all tables."""
    for documents in (40, 200, 1000):
        independent(documents, repeats).show(f"{documents} independent documents")
    for groups in (30, 100):
        grouped(groups, repeats).show(f"{groups} groups of {GROUP} documents")
    for share in (0.2, 1.0):
        audited(2000, 150, repeats, audits=share).show(f"150 of 2,000 reviewed, {share:.0%} random audits")
    queue_draws(2000, 150, repeats).show("150 of 2,000 reviewed, drawn by the review queue")
    queue_draws(2000, 50, repeats).show("50 of 2,000 reviewed, drawn by the review queue")
    for reviewed, groups in ((150, False), (50, False), (150, True)):
        regressions(2000, reviewed, repeats, groups=groups)
    stopping(2000, repeats, 0.05)
    comparisons(2000, repeats)
    promises(repeats)
    for documents, groups, alike in ((60, False, 0.0), (300, False, 0.0), (300, False, 0.9), (320, True, 0.0)):
        kind = f"{documents // GROUP} groups of {GROUP}" if groups else f"{documents} independent"
        print(f"\nEqually good annotators called different, {kind} documents, {alike:.0%} answered alike")
        for name, share in verdicts(documents, repeats, groups=groups, alike=alike).items():
            print(f"{name:<28}{share:>7.1%}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
