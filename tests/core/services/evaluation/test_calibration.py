"""Tests of the calibration of votes."""

from __future__ import annotations

import asyncio

import numpy as np

from core.services.evaluation import calibration
from tests.core.services import sample_world
from tests.core.services.evaluation.test_debate_effect import CHOICE, create_run, store_rounds


def test_votes_of_annotators_who_agreed_at_first_count_after_the_discussion(project):
    roles = ["annotator_a", "annotator_b", "annotator_c"]
    gold = {f"d{n}": {"label": "y"} for n in range(4)}
    run_id = create_run(project, "gone", CHOICE, roles, gold)

    async def debates():
        for document in gold:
            # d0 is discussed: two of three vote right after it. The others are unanimous and right at first.
            letters = [("yyn", 0)] if document == "d0" else [("yyy", 0)]
            letters += [("nyy", 1)] if document == "d0" else []
            turns = [
                (role, round, {"label": letter})
                for answers, round in letters
                for role, letter in zip(roles, answers, strict=True)
            ]
            await store_rounds(project, run_id, document, turns, {"label": "y"})

    asyncio.run(debates())
    session = sample_world.session_on(project)
    certainty = calibration.certainty(session, project.store.runs.get(run_id))
    assert certainty.voters == "3 annotators"
    assert certainty.calibration is not None
    assert [(bin_.n, round(bin_.certainty, 3)) for bin_ in certainty.calibration.bins] == [(1, 0.667), (3, 1.0)]
    assert certainty.counted is not None
    assert (certainty.counted.n, certainty.counted.left_out) == (4, {})


def test_fewer_than_three_votes_are_no_certainty():
    # Of the second cell two of three answers are missing: the lone one would have all votes.
    answers = [np.array([[1.0, 0.0]]), np.array([[1.0, np.nan]]), np.array([[0.0, np.nan]])]
    values, shares = calibration.votes(answers)
    assert values.tolist()[0][0] == 1
    assert shares.tolist()[0][0] == 2 / 3
    assert np.isnan(values[0, 1])
    assert np.isnan(shares[0, 1])
