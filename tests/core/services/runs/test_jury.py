"""Weights of votes from the accuracy of each model on reviewed documents."""

from __future__ import annotations

from math import log

import pytest

from core.errors import UsageError
from core.runs import RoleModel
from core.services.evaluation.arrays import get_run
from core.services.runs.jury import vote_weights
from tests.core.services.evaluation.test_compare import compared
from tests.core.services.sessions import decide


def test_a_model_that_errs_more_has_less_weight(project):
    """The judge of the helper has no list, so the extractor's model has all 20 labels: 16 are right."""
    gold = {f"d{n}": "a" for n in range(10)}
    session, runs = compared(project, gold, {f"d{n}": "ab" for n in range(4)})
    run = get_run(session, runs[0])
    ask = run.settings.role_models["extractor"]
    jurors = {"annotator_a": ask, "annotator_b": RoleModel(connection="other", model="unknown")}
    settings = run.settings.model_copy(update={"role_models": jurors})
    with pytest.raises(UsageError, match="labelled a reviewed document"):
        vote_weights(session, settings)
    decide(session, runs[0], {f"d{n}": {"b": False} if n < 4 else {} for n in range(10)}, actor="ada")
    weight = f"{log(17 / 5):.3g}"
    assert vote_weights(session, settings) == f"{weight}, {weight}", "an unknown model has the mean weight"
