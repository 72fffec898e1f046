from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from core.stats.alt_test import _yekutieli, alternative_test


def people(rng: np.random.Generator, n: int, noise: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    reference = rng.integers(0, 2, (n, 1)).astype(float)
    return reference, {name: np.where(rng.random((n, 1)) < noise, 1 - reference, reference) for name in "ABC"}


def test_a_model_that_is_right_may_replace_and_one_that_guesses_may_not() -> None:
    rng = np.random.default_rng(0)
    reference, said = people(rng, 200, 0.2)
    good = alternative_test(reference, said)
    assert good.passed
    assert good.winning_rate == 1
    assert good.sentence.startswith("The model may stand in for the annotators: it holds its own against 3 of 3 people")
    bad = alternative_test(rng.integers(0, 2, (200, 1)), said)
    assert not bad.passed
    assert bad.winning_rate == 0
    assert "should not replace" in bad.sentence


def test_wins_by_hand() -> None:
    # Others of A are B and C. d0: all say 1. d1: the model says as B and C, A does not. d2: the reverse.
    said = {"A": [[1], [0], [1]], "B": [[1], [1], [1]], "C": [[1], [1], [1]]}
    found = alternative_test([[1], [1], [0]], said)
    left = found.people[0]
    assert (left.n, left.model_wins, left.person_wins) == (3, pytest.approx(2 / 3), pytest.approx(2 / 3))


def test_p_as_scipy() -> None:
    rng = np.random.default_rng(3)
    reference, said = people(rng, 80, 0.25)
    model = np.where(rng.random(reference.shape) < 0.25, 1 - reference, reference)
    found = alternative_test(model, said, epsilon=0.1)
    others = [said["B"], said["C"]]
    by_model = np.mean([model == other for other in others], axis=0).ravel()
    by_person = np.mean([said["A"] == other for other in others], axis=0).ravel()
    lead = (by_person >= by_model).astype(float) - (by_model >= by_person)
    assert found.people[0].p == pytest.approx(stats.ttest_1samp(lead, 0.1, alternative="less").pvalue)


def test_ratings_agree_by_distance() -> None:
    said = {"A": [[1.0], [5.0]], "B": [[3.0], [3.0]], "C": [[3.0], [3.0]]}
    near = alternative_test([[2.0], [4.0]], said, measured=True).people[0]
    assert (near.model_wins, near.person_wins) == (1.0, 0.0)
    assert near.p == pytest.approx(1 / 4)  # the same lead on both documents: the surest that two can be


def test_a_few_documents_without_a_difference_prove_nothing() -> None:
    alike = {"A": np.ones((2, 1)), "B": np.ones((2, 1)), "C": np.ones((2, 1))}
    few = alternative_test(np.ones((2, 1)), alike)
    assert [one.p for one in few.people] == [pytest.approx(1 / 4)] * 3  # no lead in either: 1 of 2 x 2 signs
    assert not few.passed
    many = alternative_test(np.ones((40, 1)), {name: np.ones((40, 1)) for name in alike})
    assert many.passed


def test_who_could_not_be_tested_is_not_among_those_it_is_told_of() -> None:
    nothing = np.full((40, 1), np.nan)
    found = alternative_test(np.ones((40, 1)), {**dict.fromkeys("ABC", np.ones((40, 1))), "D": nothing})
    assert found.winning_rate == 1
    assert "against 3 of 3 people" in found.sentence


def test_why_there_is_no_test() -> None:
    few = alternative_test([[1]], {"A": [[1]], "B": [[1]]})
    assert few.winning_rate is None
    assert "at least three people who labelled the same documents; here two people did" in few.sentence
    nan = [[np.nan], [np.nan]]
    apart = alternative_test([[1], [1]], {"A": [[1], [np.nan]], "B": nan, "C": nan})
    assert "nothing can be tested" in apart.sentence


def test_false_discoveries_as_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    rng = np.random.default_rng(1)
    for _ in range(20):
        p = rng.random(6) ** 4
        assert _yekutieli(list(p), 0.05) == list(multipletests(p, 0.05, "fdr_by")[0])


def test_model_and_person_are_measured_on_the_same_items() -> None:
    # A labels the first item alone, on which model and A both say what B and C say. On the second the model differs
    # from B and C: against A, who left it open, that is nothing.
    said = {
        "A": [[1, np.nan], [1, np.nan]],
        "B": [[1, 0], [1, 0]],
        "C": [[1, 0], [1, 0]],
    }
    found = alternative_test([[1, 1], [1, 1]], said)
    left = {one.person: one for one in found.people}
    assert (left["A"].n, left["A"].model_wins, left["A"].person_wins) == (2, 1.0, 1.0)
    assert (left["B"].n, left["B"].model_wins, left["B"].person_wins) == (2, 0.0, 1.0)
