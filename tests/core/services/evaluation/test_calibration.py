"""Tests of the calibration of votes."""

from __future__ import annotations

import asyncio
import random

import numpy as np
import pytest

from core.debate.protocols import find
from core.debate.protocols.panel import GroupMean
from core.debate.votes import MajorityVote
from core.documents import Document
from core.runs import RunSettings
from core.services.evaluation import calibration, evaluation
from tests.core.services import sample_world
from tests.core.services.sample_world import CHOICE, create_run
from tests.core.store.helpers import ROLE_MODEL, store_rounds


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
    codebook = sample_world.CODEBOOK
    shares = calibration.vote_shares(MajorityVote(), answers, np.array([[1.0, 0.0]]), codebook)
    assert shares.tolist()[0][0] == 2 / 3
    assert np.isnan(shares[0, 1])


def create_random_run(project, protocol, params, iteration=0):
    """Store a run in which three roles answer at random, with the verdicts of its rule, and gold for every document."""
    rng = random.Random(7 + iteration)
    rule = find(protocol).vote(params, "choice")
    roles = ["annotator_a", "annotator_b", "annotator_c"]
    documents = [f"d{n}" for n in range(30)]
    if not iteration:
        project.store.documents.add(
            Document(id, {"text": "t"}, gold={"gold": {"label": rng.choice("yn")}}) for id in documents
        )
    settings = RunSettings(
        protocol=protocol,
        codebook=CHOICE,
        role_models=dict.fromkeys(roles, ROLE_MODEL),
        templates={},
        params=params,
        iteration=iteration,
    )
    run_id = project.store.runs.create(settings, documents, experiment_id="e").run_id

    async def debates():
        for document in documents:
            letters = [rng.choice("yyn") for _ in roles]
            turns = [(role, 0, {"label": letter}) for role, letter in zip(roles, letters, strict=True)]
            await store_rounds(project, run_id, document, turns, {"label": rule.decide(letters, CHOICE)[0]})

    asyncio.run(debates())
    return run_id


@pytest.mark.parametrize("iterations", [1, 3])
@pytest.mark.parametrize("weights", ["", "5, 1, 1"])
def test_bins_have_the_accuracy_of_the_run_together(project, weights, iterations):
    params = find("discussion").parse_params({"weights": weights} if weights else {})
    run_id, *_ = [create_random_run(project, "discussion", params, number) for number in range(iterations)]
    session = sample_world.session_on(project)
    run = session.run(run_id)
    certainty = calibration.certainty(session, run)
    assert certainty.calibration is not None
    bins = certainty.calibration.bins
    accuracy = evaluation.evaluate(session, run).scores["accuracy"].value
    assert sum(bin_.n for bin_ in bins) == 30
    assert sum(bin_.n * bin_.right.value for bin_ in bins) / 30 == pytest.approx(accuracy)
    if iterations == 1:
        decisive = {5 / 7, 6 / 7, 1.0} if weights else {2 / 3, 1.0}
        assert {round(bin_.certainty, 9) for bin_ in bins} <= {round(share, 9) for share in decisive}


def test_certainty_of_a_panel_is_the_mean_over_its_groups():
    rule = GroupMean(("a", "a", "b"))
    assert rule.share([True, False, False], False) == 3 / 4
    assert rule.share([True, False, None], False) == 1 / 2
