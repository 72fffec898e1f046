"""Tests of Dawid and Skene's latent truth against figures of crowd-kit 1.4.2 and simulations."""

from __future__ import annotations

import numpy as np
import pytest

from core.stats.latent_truth import dawid_skene

ANSWERS = """
110. 10.1 0.00 .000 1000 0000 0010 1101 0001 1110
101. 00.0 00.1 00.0 001. 00.0 .110 0001 0.00 1101
1001 0.00 1111 .... 0000 000. 0..1 01.0 1101 00..
1110 1000 0000 1010 1111 0001 0.11 00.0 0010 1101
"""
"""Answers of four raters on 40 units; a dot is a missing answer, and one unit has no answers."""
PROBABILITIES = [
    0.961098,
    0.491497,
    0.0,
    0.023219,
    0.125267,
    0.0,
    0.0,
    0.982338,
    0.0,
    0.963624,
    0.417466,
    0.0,
    0.0,
    0.0,
    0.0,
    0.0,
    0.81472,
    0.0,
    0.0,
    0.982338,
    0.410536,
    0.0,
    0.992298,
    0.0,
    0.0,
    0.0,
    0.0,
    0.982338,
    0.0,
    0.963624,
    0.125267,
    0.0,
    0.249095,
    0.992298,
    0.0,
    0.0,
    0.0,
    0.0,
    0.982338,
]
"""Probabilities of value 1: DawidSkene(n_iter=200, tol=1e-12).fit(...).probas_, without the unit without answers."""
SENSITIVITY = (1.0, 0.839228, 0.491721, 0.676135)
SPECIFICITY = (0.834010, 0.938645, 0.705400, 0.699655)


def test_probabilities_agree_with_crowd_kit() -> None:
    answers = np.array([[-1 if letter == "." else int(letter) for letter in row] for row in ANSWERS.split()])
    result = dawid_skene(answers, 2)
    known = ~np.isnan(result.probabilities[:, 1])
    assert known.sum() == 39
    assert result.probabilities[known, 1] == pytest.approx(PROBABILITIES, abs=2e-4)
    assert result.shares[1] == pytest.approx(0.293830, abs=1e-4)
    assert result.confusion[:, 1, 1] == pytest.approx(SENSITIVITY, abs=2e-4)
    assert result.confusion[:, 0, 0] == pytest.approx(SPECIFICITY, abs=2e-4)


def test_truth_is_recovered_from_independent_raters_only() -> None:
    # Five raters are right on 80% of 2,000 units. If three raters share their errors, the model overestimates them.
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 2000)
    right = rng.random((2000, 5)) < 0.8
    other = (truth[:, None] + rng.integers(1, 3, (2000, 5))) % 3
    answers = np.where(right, truth[:, None], other)
    result = dawid_skene(answers, 3)
    assert np.abs(np.einsum("rtt->rt", result.confusion) - 0.8).max() < 0.06
    assert (result.probabilities.argmax(axis=1) == truth).mean() > 0.9
    answers[:, 1:3] = answers[:, :1]
    shared = np.einsum("rtt->rt", dawid_skene(answers, 3).confusion)
    assert shared[:3].min() > 0.95


def test_value_that_nobody_gave_has_no_confusion() -> None:
    result = dawid_skene(np.array([[0, 0, 0], [0, 0, -1]]), 2)
    assert np.isnan(result.confusion[:, 1]).all(), "no answer has the value 1"
