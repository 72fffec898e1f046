"""Tests of reading the replies of models that prepare questions for authors."""

from __future__ import annotations

import pytest

from core.authors.questions import Feature, Submission
from core.authors.requests import load_templates, predict
from core.debate.turns import Reply

FEATURE = Feature("urgent", "Urgent", values={"Yes": True, "No": False})
TEXT = Submission("1", "ada", 0.0, "I have to hand it in tomorrow.")


@pytest.mark.parametrize(
    ("given", "certainty"), [("80", 0.8), ("0.8", 0.8), ("1.0", 1), ("1", 0.01), ("100", 1), ("null", 0.5)]
)
def test_certainty_is_a_percentage_or_a_share(given: str, certainty: float) -> None:
    steps = predict(TEXT, (FEATURE,), {}, load_templates())
    next(steps)
    with pytest.raises(StopIteration) as end:
        steps.send((Reply(f'{{"value": "Yes", "certainty": {given}}}'),))
    assert end.value.value["urgent"].certainty == pytest.approx(certainty)
