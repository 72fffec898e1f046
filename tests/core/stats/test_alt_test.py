from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from core.codebook import Kind
from core.stats.alt_test import alternative_test
from tests.each_row import each_row


def people(rng: np.random.Generator, n: int, noise: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    reference = rng.integers(0, 2, (n, 1)).astype(float)
    return reference, {name: np.where(rng.random((n, 1)) < noise, 1 - reference, reference) for name in "ABC"}


def test_accurate_model_passes_and_guessing_model_fails() -> None:
    rng = np.random.default_rng(0)
    reference, annotations = people(rng, 200, 0.2)
    good = alternative_test(reference, annotations)
    assert good.passed
    assert good.winning_rate == 1
    assert good.sentence.startswith("The model may replace the annotators: it passes the test against 3 of 3 people")
    bad = alternative_test(rng.integers(0, 2, (200, 1)), annotations)
    assert not bad.passed
    assert bad.winning_rate == 0
    assert "should not replace" in bad.sentence


def test_wins_match_hand_counts() -> None:
    # A is compared with B and C. d0: all give 1. d1: the model agrees with B and C, A does not. d2: the reverse.
    annotations = {"A": [[1], [0], [1]], "B": [[1], [1], [1]], "C": [[1], [1], [1]]}
    result = alternative_test([[1], [1], [0]], annotations)
    left = result.people[0]
    assert (left.n, left.model_wins.value, left.person_wins.value) == (3, pytest.approx(2 / 3), pytest.approx(2 / 3))


def test_p_agrees_with_scipy() -> None:
    rng = np.random.default_rng(3)
    reference, annotations = people(rng, 80, 0.25)
    model = np.where(rng.random(reference.shape) < 0.25, 1 - reference, reference)
    result = alternative_test(model, annotations, epsilon=0.1)
    others = [annotations["B"], annotations["C"]]
    by_model = np.mean([model == other for other in others], axis=0).ravel()
    by_person = np.mean([annotations["A"] == other for other in others], axis=0).ravel()
    lead = (by_person >= by_model).astype(float) - (by_model >= by_person)
    assert result.people[0].p == pytest.approx(stats.ttest_1samp(lead, 0.1, alternative="less").pvalue)


def test_copies_of_documents_in_groups_add_no_evidence() -> None:
    rng = np.random.default_rng(3)
    reference, annotations = people(rng, 60, 0.25)
    model = np.where(rng.random(reference.shape) < 0.3, 1 - reference, reference)
    once = alternative_test(model, annotations)
    copies = {name: np.repeat(values, 4, axis=0) for name, values in annotations.items()}
    groups = np.repeat(np.arange(60), 4)
    grouped = alternative_test(np.repeat(model, 4, axis=0), copies, groups=groups)
    assert [one.p for one in grouped.people] == pytest.approx([one.p for one in once.people])
    assert [person.n for person in grouped.people] == [240] * 3
    assert alternative_test(np.repeat(model, 4, axis=0), copies).people[0].p < once.people[0].p


def test_ratings_agree_by_distance() -> None:
    annotations = {"A": [[1.0], [5.0]], "B": [[3.0], [3.0]], "C": [[3.0], [3.0]]}
    near = alternative_test([[2.0], [4.0]], annotations, kind="rating").people[0]
    assert (near.model_wins.value, near.person_wins.value) == (1.0, 0.0)
    assert near.p == pytest.approx(1 / 4)  # the smallest p value of two documents


def test_few_documents_without_a_difference_do_not_pass() -> None:
    alike = {"A": np.ones((2, 1)), "B": np.ones((2, 1)), "C": np.ones((2, 1))}
    few = alternative_test(np.ones((2, 1)), alike)
    assert [person.p for person in few.people] == [
        pytest.approx(1 / 4)
    ] * 3  # without a difference, 1 of 2 x 2 sign patterns
    assert not few.passed
    many = alternative_test(np.ones((40, 1)), {name: np.ones((40, 1)) for name in alike})
    assert many.passed


def test_sentence_does_not_count_people_without_a_test() -> None:
    nothing = np.full((40, 1), np.nan)
    result = alternative_test(np.ones((40, 1)), {**dict.fromkeys("ABC", np.ones((40, 1))), "D": nothing})
    assert result.winning_rate == 1
    assert "against 3 of 3 people" in result.sentence


def test_sentence_states_why_there_is_no_test() -> None:
    few = alternative_test([[1]], {"A": [[1]], "B": [[1]]})
    assert few.winning_rate is None
    assert "at least three people who labelled the same documents; here two people did" in few.sentence
    nan = [[np.nan], [np.nan]]
    apart = alternative_test([[1], [1]], {"A": [[1], [np.nan]], "B": nan, "C": nan})
    assert "nothing can be tested" in apart.sentence


def test_false_discovery_correction_agrees_with_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    rng = np.random.default_rng(1)
    for _ in range(20):
        reference, annotations = people(rng, 40, 0.25)
        model = np.where(rng.random(reference.shape) < 0.25, 1 - reference, reference)
        tested = alternative_test(model, annotations, epsilon=0.1).people
        expected = multipletests([person.p for person in tested], 0.05, "fdr_by")[0]
        assert [person.replaceable for person in tested] == list(expected)


def authors_test(model: np.ndarray, people: dict[str, np.ndarray], epsilon: float, kind: Kind) -> tuple[float, float]:
    """Return winning rate and advantage by the definitions of the paper, computed per document."""
    wins, p_values = [], []
    for name, grid in people.items():
        others = [grid for other, grid in people.items() if other != name]
        model_ahead, person_ahead = [], []
        for row in range(len(model)):
            if np.isnan(grid[row]) or not any(~np.isnan(grid[row]) for grid in others):
                continue
            rest = [grid[row] for grid in others if not np.isnan(grid[row])]
            if kind == "rating":
                scores = [
                    -np.sqrt(np.mean([(value - rating) ** 2 for rating in rest])) for value in (model[row], grid[row])
                ]
            else:
                scores = [np.mean([value == rating for rating in rest]) for value in (model[row], grid[row])]
            model_ahead.append(scores[0] >= scores[1])
            person_ahead.append(scores[1] >= scores[0])
        lead = np.array(person_ahead, dtype=float) - np.array(model_ahead)
        p_values.append(float(stats.ttest_1samp(lead, epsilon, alternative="less").pvalue))
        wins.append(np.mean(model_ahead))
    rejected = stats.false_discovery_control(p_values, method="by") <= 0.05
    return float(rejected.mean()), float(np.mean(wins))


@each_row("kind", ["multilabel", "rating"])
@each_row("seed", range(6))
def test_alternative_test_agrees_with_the_authors_definition(kind: Kind, seed: int) -> None:
    # Four people label 60 documents; a tenth of their labels is missing.
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, 60).astype(float)

    def noisy(scale: float) -> np.ndarray:
        return np.clip(np.rint(truth + scale * rng.standard_normal(60)), 1, 5)

    model = noisy(0.8)
    people = {name: np.where(rng.random(60) < 0.1, np.nan, noisy(1.0)) for name in "ABCD"}
    result = alternative_test(
        model[:, None], {name: grid[:, None] for name, grid in people.items()}, epsilon=0.15, kind=kind
    )
    rate, advantage = authors_test(model, people, 0.15, kind)
    assert (result.winning_rate, result.advantage.value) == (pytest.approx(rate), pytest.approx(advantage))


def test_model_and_person_are_compared_on_the_same_items() -> None:
    # A labels only the first item, on which the model and A both agree with B and C. The model differs from B and C on
    # the second item, which does not count against A's missing value.
    annotations = {
        "A": [[1, np.nan], [1, np.nan]],
        "B": [[1, 0], [1, 0]],
        "C": [[1, 0], [1, 0]],
    }
    result = alternative_test([[1, 1], [1, 1]], annotations)
    left = {person.person: person for person in result.people}
    assert (left["A"].n, left["A"].model_wins.value, left["A"].person_wins.value) == (2, 1.0, 1.0)
    assert (left["B"].n, left["B"].model_wins.value, left["B"].person_wins.value) == (2, 0.0, 1.0)


@each_row("documents", [10, 40])
def test_equal_annotators_are_not_better_by_nothing(documents: int) -> None:
    # Everybody agrees on every document. The lead is exactly the allowance of 0, so nothing can be shown.
    same = np.ones((documents, 1))
    found = alternative_test(same, dict.fromkeys("ABC", same), epsilon=0)
    assert [person.p for person in found.people] == [1, 1, 1]
    assert not found.passed
