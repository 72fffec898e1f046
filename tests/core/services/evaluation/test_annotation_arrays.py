"""Tests of the steps of a debate: several roles decide together by the voting rule of the run."""

from __future__ import annotations

import asyncio
import dataclasses
import random

import numpy as np
import pytest

from core.debate.context import DebateContext, parse_reply
from core.debate.protocols import find
from core.debate.turns import Reply
from core.documents import VERDICT, Document
from core.runs import RunSettings
from core.services.evaluation import annotation_arrays, calibration, debate_effect, evaluation
from core.store.annotations import decode_value
from tests.core.debate.canned_debates import CODEBOOKS, LABELS, decision_text, run_debate
from tests.core.services import sample_world
from tests.core.store.helpers import ROLE_MODEL, make_reply, make_turn, make_verdict

NAMES = [label.name for label in LABELS]


def store_random_run(project, protocol, kind, given, seed=1, count=40, gold=None):
    """Store a run with random replies, and the verdicts of its protocol on them.

    Two fifths of the replies are unreadable, and a third of the ratings lack dimensions, so that they are repeated.
    ``gold`` are the gold values of every document, none by default.
    """
    rng = random.Random(seed)
    codebook, spec = CODEBOOKS[kind], find(protocol, given)
    params = spec.parse_params(given)
    settings = RunSettings(
        protocol=protocol,
        codebook=codebook,
        role_models={role.name: ROLE_MODEL for role in spec.roles(params)},
        templates=spec.load_templates(params),
        params=params,
    )
    by_rater = {"gold": gold} if gold else {}
    documents = [Document(f"d{number}", {"text": "The staff were kind."}, gold=by_rater) for number in range(count)]
    project.store.documents.add(documents)
    run_id = project.store.runs.create(settings, [document.id for document in documents]).run_id

    def respond(request, _number):
        if request.form == "text" or rng.random() < 0.4:
            return "I cannot say."
        names = rng.sample(NAMES, rng.randrange(4)) if kind == "multilabel" else [rng.choice(NAMES)]
        rated = rng.sample(NAMES, rng.choice((1, len(NAMES), len(NAMES))))
        return decision_text(kind, *names, ratings={name: rng.randint(1, 5) for name in rated})

    async def store():
        replies, turns, verdicts = [], [], []
        for document in documents:
            read = []

            def keep(request, number, document=document, read=read):
                text = respond(request, number)
                reading = parse_reply(request, Reply(text), codebook, document).reading
                read.append((request, reading))
                return text

            verdict, _ = run_debate(spec, DebateContext(document, settings, {}), keep)
            for number, (request, reading) in enumerate(read):
                key = f"{document.id}/{number}"
                replies.append(make_reply(key, run_id=run_id))
                values = {item: reading.values.get(item) for item in codebook.items} if reading.readable else None
                turn = make_turn(run_id, document.id, number, request.role, key, values=values, reask=request.reask)
                reply = dataclasses.replace(turn.reply, reading=reading)
                turns.append(dataclasses.replace(turn, round=request.round, reply=reply))
            verdicts.append(make_verdict(run_id, document.id, verdict.values))
        await asyncio.gather(*map(project.replies.commit, replies))
        for turn in turns:
            project.sink.turn(turn)
        await asyncio.gather(*map(project.sink.verdict, verdicts))

    asyncio.run(store())
    return project.store.runs.get(run_id)


@pytest.mark.parametrize(
    ("protocol", "kind", "params"),
    [
        ("discussion", "multilabel", {"rounds": 0}),
        ("discussion", "choice", {"rounds": 0, "weights": "5, 1, 1"}),
        ("discussion", "choice", {"rounds": 0, "weights": "1, 1.5, 1, 1.2", "annotators": 4}),
        ("discussion", "rating", {"rounds": 0, "annotators": 4}),
        ("single", "multilabel", {"method": "self_consistency", "k": 4}),
        ("single", "choice", {"method": "vote", "k": 4}),
        ("single", "rating", {"method": "form", "k": 2}),
        ("panel", "multilabel", {"turns": 0}),
        ("panel", "choice", {"turns": 0}),
        ("panel", "rating", {"turns": 0}),
    ],
)
def test_roles_decide_by_the_voting_rule_of_the_run(project, protocol, kind, params):
    run = store_random_run(project, protocol, kind, params)
    session, codebook = sample_world.session_on(project), CODEBOOKS[kind]
    stage, *_ = annotation_arrays.stages(session, run)
    verdicts = project.store.annotations.grid(run.run_id, codebook, VERDICT)
    answered = np.any([~np.isnan(grid) for grid in stage.members.values()], axis=0)
    undecided = np.isnan(verdicts) & answered
    assert undecided.any() or (protocol, kind) == ("panel", "rating")
    assert (stage.predicted[undecided] == annotation_arrays.TIED).all()
    decided = np.where(stage.predicted == annotation_arrays.TIED, np.nan, stage.predicted)
    np.testing.assert_array_equal(decided, verdicts)


@pytest.mark.parametrize(
    ("protocol", "kind", "params"),
    [
        ("discussion", "choice", {"weights": "5, 1, 1"}),
        ("discussion", "multilabel", {"weights": "1, 1.5, 1, 1.2", "annotators": 4}),
        ("discussion", "rating", {"within": 0}),
    ],
)
def test_last_round_of_a_discussion_decides_as_the_run(project, protocol, kind, params):
    run = store_random_run(project, protocol, kind, params)
    stages = annotation_arrays.stages(sample_world.session_on(project), run)
    assert len(stages) == 3
    verdicts = project.store.annotations.grid(run.run_id, CODEBOOKS[kind], VERDICT)
    last = np.full(verdicts.shape, np.nan)
    for stage in stages:  # a document on which the annotators agreed is not discussed again
        answered = ~np.isnan(stage.predicted).all(axis=1, keepdims=True)
        last = np.where(answered, stage.predicted, last)
    np.testing.assert_array_equal(np.where(last == annotation_arrays.TIED, np.nan, last), verdicts)


@pytest.mark.parametrize("params", [{"bench": "sequence"}, {"bench": "parallel"}])
def test_judges_decide_as_the_run(project, params):
    run = store_random_run(project, "courtroom", "choice", params)
    stage = annotation_arrays.stages(sample_world.session_on(project), run)[-1]
    assert (stage.title, len(stage.members)) == ("Judges", 3)
    verdicts = project.store.annotations.grid(run.run_id, CODEBOOKS["choice"], VERDICT)
    decided = np.where(stage.predicted == annotation_arrays.TIED, np.nan, stage.predicted)
    np.testing.assert_array_equal(decided, verdicts)


def test_vote_of_samples_is_no_step_after_one_of_them(project):
    run = store_random_run(project, "single", "choice", {"method": "vote", "k": 5})
    session = sample_world.session_on(project)
    verdicts = project.store.annotations.grid(run.run_id, CODEBOOKS["choice"], VERDICT)
    (only,) = annotation_arrays.steps(run, annotation_arrays.stages(session, run), verdicts)
    np.testing.assert_array_equal(only.predicted, verdicts)
    assert debate_effect.debate_effect(session, run).flip_table is None


def test_sample_that_was_cut_and_repeated_has_one_vote(project):
    first, second = (label.id for label in CODEBOOKS["choice"].labels[:2])
    params = {"method": "vote", "k": 2}
    settings = RunSettings(
        protocol="single",
        codebook=CODEBOOKS["choice"],
        role_models={"annotator": ROLE_MODEL},
        templates={},
        params=params,
    )
    project.store.documents.add([Document("d0", {"text": "t"})])
    run_id = project.store.runs.create(settings, ["d0"]).run_id

    async def store():
        for number, (label, ending, reask) in enumerate(
            [(first, "length", 0), (first, "stop", 0), (second, "stop", 1)]
        ):
            await project.replies.commit(dataclasses.replace(make_reply(str(number)), finish_reason=ending))
            values = {"label": label}
            project.sink.turn(make_turn(run_id, "d0", number, "annotator", str(number), values=values, reask=reask))
        await project.sink.verdict(make_verdict(run_id, "d0", {}))

    asyncio.run(store())
    (stage,) = annotation_arrays.stages(sample_world.session_on(project), project.store.runs.get(run_id))
    assert [grid.tolist() for grid in stage.members.values()] == [[[0.0]], [[1.0]]]
    assert stage.predicted == annotation_arrays.TIED


def test_list_of_a_role_whose_samples_vote_is_their_vote(project):
    gold = {"label": CODEBOOKS["choice"].labels[0].id}
    run = store_random_run(project, "single", "choice", {"method": "vote", "k": 3}, gold=gold)
    session = sample_world.session_on(project)
    alone, verdict = (evaluation.evaluate(session, run, annotator=name) for name in ("annotator", VERDICT))
    assert 0 < alone.n < run.documents
    assert alone.scores == verdict.scores
    against_list = evaluation.evaluate(session, run, f"run:{run.run_id}/annotator").scores
    assert (against_list.n, against_list["accuracy"].value) == (alone.n, 1.0)
    bound = debate_effect.debate_effect(session, run).upper_bound
    assert bound.cells == alone.n
    assert bound.reached.value <= bound.at_first.value == bound.ever.value
    result = calibration.certainty(session, run)
    assert (result.voters, result.calibration is not None) == ("3 samples", True)


def test_weights_and_quorum_are_no_effect_of_the_debate(project):
    """Nobody changes an answer, so that no round changes the vote."""
    given = {"weights": "5, 1, 1", "rounds": 1}
    spec = find("discussion")
    params = spec.parse_params(given)
    codebook = CODEBOOKS["choice"]
    settings = RunSettings(
        protocol="discussion",
        codebook=codebook,
        role_models={role.name: ROLE_MODEL for role in spec.roles(params)},
        templates={},
        params=params,
    )
    right, wrong, _ = (label.id for label in codebook.labels)
    gold = {"gold": {"label": right}}
    project.store.documents.add(Document(id, {"text": "t"}, gold=gold) for id in ("weighted", "alone"))
    run_id = project.store.runs.create(settings, ["weighted", "alone"]).run_id
    answers = {"weighted": (right, wrong, wrong), "alone": (right, None, None)}

    async def store():
        for id, given in answers.items():
            for number in range(6):
                label = given[number % 3]
                role, key = f"annotator_{'abc'[number % 3]}", f"{id}/{number}"
                await project.replies.commit(make_reply(key, run_id=run_id))
                turn = make_turn(run_id, id, number, role, key, values=label and {"label": label})
                project.sink.turn(dataclasses.replace(turn, round=number // 3))
            verdict = {"label": right if id == "weighted" else None}
            await project.sink.verdict(make_verdict(run_id, id, verdict))

    asyncio.run(store())
    session = sample_world.session_on(project)
    effect = debate_effect.debate_effect(session, project.store.runs.get(run_id))
    assert [round.vote.value for round in effect.rounds] == [0.5, 0.5]  # the vote of one of three is not enough
    assert [share.value for share in effect.flip_table.shares] == [1, 1]
    first = annotation_arrays.stages(session, project.store.runs.get(run_id))[0].predicted[:, 0]
    assert decode_value(codebook, first[0]) == right
    assert first[1] == annotation_arrays.TIED


def test_stages_that_are_known_need_no_query_until_a_commit(project, monkeypatch):
    run = project.store.runs.get(sample_world.build(project))
    session = sample_world.session_on(project)
    first = annotation_arrays.stages(session, run)
    rows, queries = project._connection.rows, []
    monkeypatch.setattr(project._connection, "rows", lambda *query: queries.append(query) or rows(*query))
    assert annotation_arrays.stages(session, run) is first
    assert not queries
    project.store.documents.replace_all([Document("new", {"text": "New."})])
    assert annotation_arrays.stages(session, run) is not first
