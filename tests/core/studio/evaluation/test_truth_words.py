"""What each truth is called: the names of people and runs stay as they are written."""

from __future__ import annotations

import pytest

from core.errors import UsageError
from core.studio.evaluation import truth_words
from core.studio.evaluation.truth_words import TruthWords


@pytest.mark.parametrize(
    ("truth", "words"),
    [
        ("gold", ("Gold", "gold", "gold says", "gold")),
        ("gold@Ann", ("Rater Ann", "rater Ann", "Rater Ann says", "gold by Ann")),
        ("author", ("Authors", "authors", "the authors say", "a label by its author")),
        ("reviewed", ("Reviewed", "review", "the review says", "a review")),
        ("reviewed@Ann", ("Reviewed by Ann", "review by Ann", "the review by Ann says", "a review by Ann")),
        ("run:r1", ("Run r1", "run r1", "Run r1 says", "a verdict of r1")),
        ("run:r1/critic", ("Run r1, critic", "run r1, critic", "Run r1, critic says", "a list of r1, critic")),
    ],
)
def test_each_place_has_its_words(truth, words):
    assert truth_words.of(truth) == TruthWords(*words)


def test_what_is_no_truth_has_no_words():
    with pytest.raises(UsageError, match="no truth 'guess'"):
        truth_words.of("guess")
