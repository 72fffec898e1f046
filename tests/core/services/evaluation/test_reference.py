"""Tests of the names of references: names of people and runs are kept unchanged."""

from __future__ import annotations

import pytest

from core.errors import UsageError
from core.services.evaluation.reference import ReferenceNames, default_reference, reference_names


@pytest.mark.parametrize(
    ("reference", "names"),
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
def test_each_reference_has_names(reference, names):
    assert reference_names(reference) == ReferenceNames(*names)


def test_unknown_reference_is_rejected():
    with pytest.raises(UsageError, match="no reference 'guess'"):
        reference_names("guess")


@pytest.mark.parametrize(
    ("wanted", "expected"), [("reviewed", "reviewed"), ("gold", "reviewed"), ("person@ann", "reviewed")]
)
def test_default_reference_covers_documents(wanted, expected):
    assert default_reference({"gold": 0, "reviewed": 3}, wanted) == expected


def test_gold_is_default_without_any_reference():
    assert default_reference({"gold": 0, "reviewed": 0}, "reviewed") == "gold"
