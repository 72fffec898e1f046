"""Tests of remarks around a decision: ordinary ones leave it readable, and those that contradict it do not."""

from __future__ import annotations

import pytest

from core.debate.reading.parse import read
from tests.core.debate.reading.test_reply_corpus import book, decision

SUMMARY = book("rating", "summary", "Coherence", "Fluency", "Relevance", scale={"min": 1, "max": 5})
REVIEW = book("multilabel", "review", "Food", "Service", "Price", "Ambience")
SENTIMENT = book("choice", "review", "Positive", "Negative", "Neutral", "Mixed")
TICKET = book("choice", "ticket", "Low", "Medium", "High", codes=(1, 2, 3))


@pytest.mark.parametrize(
    ("remark", "expected"),
    [
        ("4 - omits Article 50.", 4),
        ("4 - omits World War 2.", 4),
        ("4 - should mention Article 5.", 4),
        ("4 - published in 2019", 4),
        ("4 (mentions 2019, 2020)", 4),
        ("4 (1: no date, 2: no name)", 4),
        ("4, errors: 2", 4),
        ("4 - covers all 3", 4),
        ("4 - no errors in all 5 sentences", 4),
        ("4 (average: 4.0)", 4),
        ("4 (now 4.0)", 4),
        ("4 - could use 2 more examples", 4),
        ("4 - would be 5 if it named the date", 4),
        ("4 (not 5)", 4),
        ("4 (lowered from 5)", 4),
        ("4 (now 3)", None),
        ("4, down to 3 for the typos", None),
        ("4, lowered to 3 after the remark", None),
        ("4; after discussion: 3", None),
        ("4, no, 3", None),
        ("4, or rather 3", None),
        ("4, I would say 3", None),
        ("4 (could also be a 5)", None),
    ],
)
def test_number_in_a_remark_replaces_the_rating_only_after_words_of_change(remark: str, expected: int | None) -> None:
    values = read(f"Final Ratings:\nCoherence: 3\nFluency: 5\nRelevance: {remark}", SUMMARY).values
    assert [*values.values()] == [3, 5] + ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Extracted aspects: Food, Price", "Food, Price"),
        ("Extracted aspects:\n- Food\n- Price", "Food, Price"),
        ("Detected aspects: Food, Price\n\nThe guest praises the pasta.", "Food, Price"),
        ("The guest praises the pasta.\n\nIdentified aspects: Food, Price", "Food, Price"),
        ("### Response:\nFood, Price", "Food, Price"),
        ("My list: Food, Price", "Food, Price"),
        ("Extracted aspects: Food, Price\n\nThe critic is right that Price is general praise.", "refused"),
        ("Extracted aspects: Food, Price\nThe critic objects to Price. I agree with the critic.", "refused"),
        ("Extracted aspects: Food, Price\n\nI agree with the critic.", "refused"),
        ("Please give me the review. The list: Food, Service, Price, Ambience", "refused"),
        ("List: Food, Service, Price, Ambience\nThe review praises the pasta.", "refused"),
    ],
)
def test_recap_is_a_decision_only_if_nothing_below_discusses_it(text: str, expected: str) -> None:
    assert decision(text, REVIEW) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Priority: High (from the ticket)\nLow", "Low"),
        ("Priority: High", "High"),
        ("Priority: High\n\nReason: medium impact, high urgency", "High"),
        ("The printer is down.\n\nSeverity level: Low", "Low"),
    ],
)
def test_label_of_a_recap_gives_way_to_one_below(text: str, expected: str) -> None:
    assert decision(text, TICKET) == expected
