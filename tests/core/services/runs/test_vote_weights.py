"""Tests of vote weights from the accuracy of each model on reviewed documents."""

from __future__ import annotations

from math import log

import pytest

from core.errors import UsageError
from core.runs import RoleModel
from core.services.review import actions
from core.services.runs.vote_weights import from_reviews
from tests.core.services.evaluation.test_compare import session_with_runs
from tests.core.services.sessions import decide


def test_vote_weight_is_computed_from_the_share_of_correct_labels(project):
    # Only the extractor of the stored debates has lists: 16 of its 20 labels are right.
    gold = {f"d{n}": "a" for n in range(10)}
    session, runs = session_with_runs(project, gold, {f"d{n}": "ab" for n in range(4)})
    run = session.run(runs[0])
    model = run.settings.role_models["extractor"]
    jurors = {"annotator_a": model, "annotator_b": RoleModel(connection="other", model="unknown")}
    settings = run.settings.model_copy(update={"role_models": jurors})
    with pytest.raises(UsageError, match="labelled a reviewed document"):
        from_reviews(session, settings)
    decide(session, runs[0], {f"d{n}": {"b": False} if n < 4 else {} for n in range(10)}, actions.By("ada"))
    weight = f"{log(17 / 5):.3g}"
    assert from_reviews(session, settings) == f"{weight}, {weight}", "an unknown model has the mean weight"
