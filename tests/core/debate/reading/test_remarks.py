"""Tests of remarks around a decision: ordinary ones leave it readable, and those that contradict it do not."""

from __future__ import annotations

import pytest

from core.codebook import Codebook, Label, Scale
from core.debate.reading.parse import read

SUMMARY = Codebook(
    kind="rating",
    unit="summary",
    labels=tuple(Label(name=name, id=name) for name in ("Coherence", "Fluency", "Relevance")),
    scale=Scale(min=1, max=5),
)


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
    assert values == {"Coherence": 3, "Fluency": 5} | ({} if expected is None else {"Relevance": expected})
