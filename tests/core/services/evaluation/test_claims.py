"""Tests of claims: only significant differences are called better, and intervals cover the true value.

The simulations are short; ``tests/benchmarks/coverage.py`` has longer ones.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.codebook import Codebook, Kind, Label
from core.stats import scoring
from core.stats.comparison import Side, compare_annotators
from core.stats.metric_intervals import Design
from tests.benchmarks import coverage
from tests.core.stats.samples import uniform_sample

ROOT = Path(__file__).resolve().parents[4]
NAMES = ("Alpha", "Beta", "Gamma")
CLAIM = re.compile(r"\bis (better|worse)\b")


def sentences(kind: Kind, gold: np.ndarray, one: np.ndarray, two: np.ndarray, design: Design):
    """Yield (sentence, p value, difference) for the main score and each label of a comparison of two runs."""
    book = Codebook(kind=kind, labels=tuple(Label(name=name) for name in NAMES))
    (pair,) = compare_annotators(book, gold, [Side("r1", "r1", one), Side("r2", "r2", two)], design).pairs
    yield pair.sentence, pair.main.p, pair.main.difference
    for label in pair.labels:
        yield label.sentence, label.adjusted, label.difference


@settings(max_examples=30, deadline=None)
@given(
    kind=st.sampled_from(["multilabel", "choice"]),
    seed=st.integers(0, 10**6),
    documents=st.integers(3, 80),
    better=st.floats(0, 0.5),
    design=st.sampled_from(["plain", "groups", "sample"]),
)
def test_nothing_is_called_better_without_a_significant_test(
    kind: Kind, seed: int, documents: int, better: float, design: str
) -> None:
    rng = np.random.default_rng(seed)
    shape = (documents, 1) if kind == "choice" else (documents, 3)
    top = 3 if kind == "choice" else 2
    gold = rng.integers(0, top, shape).astype(float)
    one, two = (
        np.where(rng.random(shape) < error, rng.integers(0, top, shape), gold).astype(float)
        for error in (0.5, 0.5 - better)
    )
    first = Design()
    if design == "groups":
        first = Design(groups=rng.integers(0, max(2, documents // 4), documents))
    elif design == "sample":
        order = rng.permutation(documents)[: documents // 2]
        first = Design(sample=uniform_sample(np.ones(len(order)), documents), order=order)
        gold = np.where(np.isin(np.arange(documents), order)[:, None], gold, np.nan)
    for sentence, p, difference in sentences(kind, gold, one, two, first):
        if CLAIM.search(sentence):
            assert p is not None
            assert p < 0.05
            assert difference.interval is not None
            assert 0 not in difference.interval


def test_claims_are_written_in_two_modules_only() -> None:
    # Sentences come from the comparison; those of a review plan use an interval that is valid at any time.
    written = re.compile(r"""f".*\bis \{?(better|worse|verdict)""")
    sentences_by_side = {
        str(path.relative_to(ROOT))
        for folder in ("core", "app")
        for path in (ROOT / folder).rglob("*.py")
        if written.search(path.read_text(encoding="utf-8"))
    }
    assert sentences_by_side == {"core/stats/comparison.py", "core/services/review/review_plan.py"}


def test_accuracy_from_reviewed_documents_estimates_that_of_all_documents() -> None:
    # Regression: with a queue that shows likely errors first, scores were off by 5 points or more, and their narrow
    # intervals never covered the true value.
    result = coverage.queue_draws(1000, 100, 8)
    for name in ("accuracy", "micro_f1", "macro_f1"):
        assert np.mean(result.covered[name]) >= 0.75, name
    rng = np.random.default_rng(0)
    reference, (given_labels,) = coverage.world(1000, rng)
    first = np.argsort(-(reference != given_labels).sum(axis=1), kind="stable")[:100]
    true_accuracy = float((reference == given_labels).mean())
    naive = scoring.score("multilabel", reference[first], given_labels[first], coverage.LABELS)
    assert naive["accuracy"].interval is not None
    assert true_accuracy not in naive["accuracy"].interval


def test_dependent_documents_keep_coverage_and_significance_level() -> None:
    # Regression: groups of eight documents gave 81% coverage and 16% false positives.
    result = coverage.grouped(30, 10)
    assert np.mean([np.mean(result.covered[name]) for name in ("accuracy", "micro_f1")]) >= 0.85
    called = coverage.verdicts(160, 20, groups=True)
    assert called["macro_f1"] <= 0.15


@pytest.mark.parametrize("documents", [60])
def test_rare_labels_are_not_called_better_by_chance(documents: int) -> None:
    # Regression: between two equally good annotators, 10% to 32% of rare labels were called better.
    called = coverage.verdicts(documents, 30, groups=False)
    assert called["F1 of 2%"] == 0
    assert max(called[name] for name in ("macro_f1", "F1 of 10%", "F1 of 30%")) <= 0.14
