"""Tests of the effect of each debate step, counted by hand; each stored reply costs half a dollar."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from core.codebook import Codebook, Label
from core.debate.context import DebateContext
from core.debate.protocols import PROTOCOLS
from core.documents import Document
from core.services.evaluation import annotation_arrays, coverage, debate_effect, evaluation
from core.services.evaluation.report import full_report
from core.services.review import actions
from core.services.runs.planning import Plan
from core.stats import flips
from core.stats.debate_rounds import Bound
from core.stats.flips import Tally
from core.stats.intervals import Estimate
from tests.core.debate.canned_debates import CODEBOOKS, context_of, decision_text, run_debate
from tests.core.services import sample_world
from tests.core.services.sample_world import CHOICE, create_run
from tests.core.services.sessions import queue_runs, studio
from tests.core.stats.samples import weighted_flip_table
from tests.core.store.helpers import (
    make_settings,
    store_debate,
    store_debates,
    store_rounds,
)


def test_flip_table_has_a_step_for_each_role(session, run):
    result = annotation_arrays.stages(session, run)
    assert [(stage.name, stage.title, list(stage.members)) for stage in result] == [
        ("extractor", "Extractor", ["extractor"]),
        ("critic", "Critic", ["critic"]),
    ]
    effect = debate_effect.debate_effect(session, run)
    flip_table = effect.flip_table
    assert flip_table is not None
    # Correct labels of 8: extractor 4, critic 5, verdict 6. The judge gave no list of its own.
    assert [share.value for share in flip_table.shares] == [4 / 8, 5 / 8, 6 / 8]
    assert flip_table.roles[:2] == ("extractor", "critic")
    # With gold, d0 to d4 were debated in three turns each at half a dollar; d6 failed before its first turn.
    assert effect.prices["critic"].cost_usd == 2.5
    assert effect.prices["critic"].per_label == 2.5  # net 1
    assert effect.prices["whole"].cost_usd == 5.0
    assert effect.prices["whole"].per_label == 2.5  # net 2
    assert effect.critic is not None
    # The critic objects to d0 B, d1 A, d2 B; the objection on d1 is wrong, and all three are followed. It misses d2 A.
    assert (effect.critic.raised, effect.critic.justified, effect.critic.followed) == (3, 2, 3)
    assert (effect.critic.followed_rightly, effect.critic.followed_wrongly, effect.critic.missed) == (2, 1, 1)
    # Only the extractor answers in the first step. Only the verdict has d3 B right, and no step has d2 A right.
    bound = effect.upper_bound
    assert [share.value for share in (bound.at_first, bound.ever, bound.reached)] == [4 / 8, 6 / 8, 6 / 8]
    assert bound.gap.value == -2 / 8


def test_flip_table_has_a_step_for_each_discussion_round(project):
    gold = {"d0": {"label": "y"}, "d1": {"label": "y"}, "d2": {"label": "n"}}
    roles = ["annotator_a", "annotator_b", "annotator_c"]
    run_id = create_run(project, "gone", CHOICE, roles, gold)

    def answers(letters, round):
        return [(role, round, {"label": letter}) for role, letter in zip(roles, letters, strict=True)]

    async def debates():
        # d0: two of three right, unanimous after one round. d1: one right, changed to wrong. d2: unanimous at first.
        await store_rounds(project, run_id, "d0", answers("yyn", 0) + answers("yyy", 1), {"label": "y"})
        await store_rounds(project, run_id, "d1", answers("ynn", 0) + answers("nnn", 1), {"label": "n"})
        await store_rounds(project, run_id, "d2", answers("nnn", 0), {"label": "n"})

    asyncio.run(debates())
    session = sample_world.session_on(project)
    run = project.store.runs.get(run_id)
    effect = debate_effect.debate_effect(session, run)
    first, second = effect.rounds
    assert (first.name, second.name) == ("Annotators, round 1", "Annotators, round 2")
    assert (first.documents, first.unanimous.value, first.vote.value) == (3, 1 / 3, 2 / 3)
    # d2 was not discussed again and keeps its answers, so the vote is as accurate as the verdict.
    assert (second.asked, second.documents) == (2, 3)
    assert (second.unanimous.value, second.vote.value, first.upper_bound.value) == (1.0, 2 / 3, 1.0)
    assert [(agent.to_right, agent.to_wrong) for agent in second.agents] == [(0, 1), (0, 0), (1, 0)]
    bound = effect.upper_bound
    assert (bound.at_first.value, bound.reached.value, bound.gap.value) == (1.0, 2 / 3, pytest.approx(1 / 3))
    # The vote of the first round and the verdict are equally right: nothing was corrected.
    assert effect.flip_table is not None
    assert effect.flip_table.cells == 3, "a document counts once, under its true label"
    assert effect.flip_table.roles == ("annotator 1", "annotator 2")
    assert effect.flip_table.whole.total.net == 0
    assert effect.prices["whole"].per_label is None
    assert debate_effect.noun(run) == "document"
    report = full_report(session, session.run(run_id))
    assert report["debate"]["rounds"][0]["agents"][0]["agent"] == "annotator_a"
    assert report["debate"]["upper_bound"]["at_first"]["value"] == 1.0
    assert report["accuracy"] == 2 / 3


@pytest.mark.parametrize("kind", ["multilabel", "choice"])
def test_flip_table_includes_documents_on_which_two_extractors_differ(project, kind):
    # Both extractors are right on d0 and d1, which are not debated. On d2 to d4 only the second one is right; the judge
    # corrects d2 and d3.
    book = CODEBOOKS[kind]
    answers = {f"d{n}": ("Service",) * 4 if n < 2 else ("Price", "Service", "Service", "Service") for n in range(4)}
    answers["d4"] = ("Price", "Service", "Service", "Price")

    def values_of(name):
        if kind == "choice":
            return {"label": book.find(name).id}
        return {label.id: label.name == name for label in book.labels}

    text = "The staff were kind, the price fair."
    settings = context_of(PROTOCOLS["ecj"], kind, adaptive=True, second=True, audit=0).settings
    project.store.documents.add(
        Document(id, {"text": "The staff were kind, the price fair."}, gold={"gold": values_of("Service")})
        for id in answers
    )
    run_id = project.store.runs.create(settings, list(answers)).run_id
    quotes = {"Service": "staff were kind", "Price": "the price fair"}

    async def debates():
        for document, names in answers.items():
            by_role = dict(zip(("extractor", "extractor_b", "critic", "judge"), names, strict=True))
            context = DebateContext(Document(document, {"text": text}), settings)
            verdict, requests = run_debate(
                PROTOCOLS["ecj"],
                context,
                lambda request, _, by_role=by_role: (
                    f'- {by_role[request.role]}: "{quotes[by_role[request.role]]}"\n'
                    + decision_text(kind, by_role[request.role])
                ),
            )
            turns = [(request.role, request.round, values_of(by_role[request.role])) for request in requests]
            await store_rounds(project, run_id, document, turns, verdict.values)

    asyncio.run(debates())
    session = sample_world.session_on(project)
    run = project.store.runs.get(run_id)
    effect = debate_effect.debate_effect(session, run)
    flip_table = effect.flip_table
    assert flip_table is not None
    assert flip_table.roles == ("extractor", "critic", "judge", "verdict")
    assert (flip_table.documents, flip_table.excluded) == (5, 0)
    cells = 2 if kind == "multilabel" else 1  # Service and Price of each corrected document
    assert flip_table.whole.total.corrected == 2 * cells
    assert f"{2 * cells} more correct than the extractor alone (" in effect.sentence
    assert effect.critic is not None
    assert (effect.critic.raised, effect.critic.justified) == (3 * cells, 3 * cells)
    assert coverage.of_debate(session, run).n == 5
    (both,) = effect.rounds
    assert [agent.accuracy.value for agent in both.agents] == [pytest.approx(1 - 3 * cells / len(book.items) / 5), 1.0]


def test_tied_first_vote_is_a_wrong_one(project):
    # The annotators differ on d0 and d1 at first, and agree on the right label of d0 and on the wrong one of d1.
    gold = {"d0": {"label": "y"}, "d1": {"label": "y"}, "d2": {"label": "y"}}
    roles = ["annotator_a", "annotator_b"]
    run_id = create_run(project, "gone", CHOICE, roles, gold)

    async def debates():
        for document, rounds in {"d0": ("yn", "yy"), "d1": ("yn", "nn"), "d2": ("yy",)}.items():
            turns = [
                (role, number, {"label": letter})
                for number, letters in enumerate(rounds)
                for role, letter in zip(roles, letters, strict=True)
            ]
            await store_rounds(project, run_id, document, turns, {"label": rounds[-1][0]})

    asyncio.run(debates())
    session = sample_world.session_on(project)
    run = project.store.runs.get(run_id)
    effect = debate_effect.debate_effect(session, run)
    assert effect.flip_table is not None
    assert (effect.flip_table.documents, effect.flip_table.excluded) == (3, 0)
    assert effect.flip_table.whole.total == Tally(corrected=1, regressed=0, kept_right=1, kept_wrong=1)
    assert [share.value for share in effect.flip_table.shares] == [effect.rounds[0].vote.value, 2 / 3]
    assert coverage.of_debate(session, run).n == 3
    (wrong,) = evaluation.cell_documents(session, run, "y", "n")
    assert (wrong.document_id, wrong.error_by) == ("d1", "annotator 1")


def test_rounds_are_in_order_if_debates_differ_in_length(project):
    roles = ["annotator_a", "annotator_b", "annotator_c"]
    run_id = create_run(project, "gone", CHOICE, roles, {"d0": {"label": "y"}, "d1": {"label": "y"}})
    letter = {"label": "y"}

    async def debates():
        speakers = [(role, round, letter) for round in range(2) for role in roles]
        await store_rounds(project, run_id, "d0", speakers, letter)
        await store_rounds(project, run_id, "d1", [("annotator_a", 0, letter), ("annotator_a", 2, letter)], letter)

    asyncio.run(debates())
    session = sample_world.session_on(project)
    assert [stage.round for stage in annotation_arrays.stages(session, project.store.runs.get(run_id))] == [0, 1, 2]


def test_panel_scores_before_and_after_the_debate(project):
    codebook = Codebook(kind="rating", labels=(Label(name="Clarity", id="c"),))
    gold = {f"d{n}": {"c": n} for n in range(1, 5)}
    roles = ["teacher_1", "teacher_2"]
    run_id = create_run(project, "gone", codebook, roles, gold)

    async def debates():
        for n in range(1, 5):
            before = [(role, 0, {"c": rating}) for role, rating in zip(roles, (5 - n, n), strict=True)]
            after = [(role, 1, {"c": n}) for role in roles]
            await store_rounds(project, run_id, f"d{n}", before + after, {"c": n})

    asyncio.run(debates())
    session = sample_world.session_on(project)
    effect = debate_effect.debate_effect(session, project.store.runs.get(run_id))
    clarity = effect.panels["teacher"]["Clarity"]
    assert clarity.after["spearman"].value == pytest.approx(1)
    assert clarity.before["spearman"].value is None  # the mean of 5 - n and n is always the same
    assert clarity.after["alpha"].value == pytest.approx(1)
    assert clarity.before["alpha"].value is not None
    assert clarity.before["alpha"].value < 0
    assert effect.flip_table is not None
    assert effect.flip_table.shares[-1].value == 1.0
    assert full_report(session, session.run(run_id))["debate"]["panels"]["teacher"]["Clarity"]["after"]["spearman"][
        "value"
    ] == (pytest.approx(1))


@pytest.mark.parametrize(("verdict", "warns"), [(2.5, True), (2, False)])
def test_effect_of_ratings_says_that_means_are_right_more_often(project, verdict, warns):
    codebook = Codebook(kind="rating", labels=(Label(name="Clarity", id="c"),))
    run_id = create_run(project, "panel", codebook, ["teacher_1", "teacher_2"], {"d0": {"c": 3}})
    answers = [(role, 0, {"c": 2}) for role in ("teacher_1", "teacher_2")]
    answers += [("teacher_1", 1, {"c": 2}), ("teacher_2", 1, {"c": 2 * verdict - 2})]
    asyncio.run(store_rounds(project, run_id, "d0", answers, {"c": verdict}))
    effect = debate_effect.debate_effect(sample_world.session_on(project), project.store.runs.get(run_id))
    assert effect.sentence is not None
    assert ("Verdicts are means, and a mean is less than a point off more often" in effect.sentence) is warns


def test_roles_after_the_deciding_one_are_not_steps(tmp_path):
    prompt = '{prompt: "## system\\n{{ definitions }} {{ decision }}\\n## user\\n{{ document }}"}'
    roles = "".join(f"  {role}: {prompt}\n" for role in ("one", "two", "three"))
    script = f"name: Talk\nroles:\n{roles}order: [one, two, three]\ndecides: two\n"
    with studio(tmp_path) as (_, session):
        (run,) = queue_runs(session, Plan(protocol="custom", params={"script": script}))
        session.start_or_resume(run.run_id).result(60)
        effect = debate_effect.debate_effect(session, session.run(run.run_id))
    assert effect.flip_table is not None
    assert effect.flip_table.roles == ("one", "two")


def test_run_without_turns_has_no_flip_table(project):
    run_id = create_run(project, "ecj", sample_world.CODEBOOK, ["extractor", "critic", "judge"], {"d0": {"a": True}})
    session = sample_world.session_on(project)
    effect = debate_effect.debate_effect(session, project.store.runs.get(run_id))
    assert (effect.flip_table, effect.critic, effect.rounds) == (None, None, ())
    assert effect.upper_bound.reached.value is None
    report = full_report(session, session.run(run_id), errors=True)
    assert report["debate"]["flip_table"] is None
    assert report["iterations"] is None
    assert report["left_out"] == {"waiting": 1}
    assert report["errors"]["Alpha"]["wrong"] == 0
    assert "at least three people" in report["alternative_test"]["why_not"]


@pytest.mark.parametrize(
    ("corrected", "words"),
    [
        ((4, 3, 3, 3), "The largest step is that of the critic: +10.0 of +32.5 points."),
        ((7, 3, 3), "Most of the gain comes from the critic."),
        ((-7, 9), "By step: critic −17.5 and judge +22.5 points."),
    ],
)
def test_gain_is_attributed_to_steps_as_far_as_none_loses(corrected, words):
    steps = [("extractor", (np.arange(40) < 10).astype(float)[:, None])]
    for number, name in zip(10 + np.cumsum(corrected), ("critic", "judge", "critic 2", "judge 2"), strict=False):
        steps.append((name, (np.arange(40) < number).astype(float)[:, None]))
    effect = debate_effect.DebateEffect(
        flip_table=flips.flip_table(np.ones((40, 1)), steps, ["A"]),
        on_all=None,
        noun="label",
        titles={},
        prices={"whole": debate_effect.StepCost(None, 0, 0, 0)},
        critic=None,
        rounds=(),
        upper_bound=Bound(0, *[Estimate()] * 4),
        panels={},
    )
    assert "".join(text for text, _ in debate_effect.summary(effect)).endswith(words)


def test_labels_gained_have_a_price_only_if_their_weights_make_a_gain():
    flip_table = weighted_flip_table()
    assert flip_table.whole.total.net > 0
    price = debate_effect._prices(flip_table, (), [])["whole"]
    assert price.net < 0
    assert (price.per_label, price.tokens_per_label) == (None, None)


def test_gain_on_all_documents_counts_missing_values_as_wrong(session, run):
    effect = debate_effect.debate_effect(session, run)
    # Correct labels of d0, d1, d2, d3, d4, d6: extractor 1 2 0 1 2 0, verdict 2 1 1 2 0 0.
    assert effect.on_all is not None
    assert (effect.on_all.total.n, effect.on_all.total.right_before, effect.on_all.total.right_after) == (12, 6, 6)
    assert effect.flip_table is not None
    assert effect.flip_table.whole.total.net == 2  # on the documents with a complete verdict
    text = "".join(part for part, _ in debate_effect.summary(effect))
    assert "On all 12 labels, with missing ones counted as wrong: 0.0 points, 95% interval" in text


def test_gain_on_all_reviewed_documents_counts_missing_values_as_wrong(project):
    # The extractor is right on all twenty documents, the verdict on ten; the other ten are unresolved.
    gold = {f"d{n:02}": {"a": True} for n in range(20)}
    project.store.documents.add(Document(id, {"text": id}) for id in gold)
    settings = make_settings(Codebook(labels=(Label(name="Alpha", id="a"),)))
    run_id = project.store.runs.create(settings, list(gold)).run_id
    store_debates(
        store_debate(project, run_id, id, {"extractor": {"a": True}, "judge": None}, {"a": True if n < 10 else None})
        for n, id in enumerate(gold)
    )
    session, ada = sample_world.session_on(project), actions.Attribution("ada")
    actions.edit(session, run_id, list(gold), "a", True, ada)
    actions.submit(session, run_id, list(gold), ada)
    effect = debate_effect.debate_effect(session, session.run(run_id), "reviewed")
    assert effect.on_all is not None
    assert (effect.on_all.total.n, effect.on_all.total.net) == (20, -10)
    assert effect.on_all.gain.value == -0.5
