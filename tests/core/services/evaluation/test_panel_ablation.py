"""Tests of full personas compared with simple roles: six documents rated by two groups of two, counted by hand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from core.codebook import Label
from core.debate import protocols
from core.debate.personas import Group, PersonaSet
from core.documents import Document
from core.runs import LONG_MAX_TOKENS, RoleModel, Sampling, Template
from core.services.evaluation import coverage, debate_effect, panel_ablation
from core.services.evaluation.report import full_report
from core.services.review import actions
from core.stats import panels
from core.stats.intervals import Estimate, Interval
from tests.core.services import sample_world
from tests.core.services.evaluation.rated_panel import BACKWARDS, BOOK, FORWARDS, GOLD, PERSONAS, panel
from tests.core.store.helpers import ROLE_MODEL


@pytest.fixture
def world(project):
    project.store.documents.add(
        Document(id, {"text": "t"}, gold={"gold": {"c": value}} if value else {}) for id, value in GOLD.items()
    )
    return SimpleNamespace(project=project, session=sample_world.session_on(project))


def part(ablation, style, group):
    return next(part for part in ablation.parts if (part.style, part.group) == (style, group))


def test_groups_before_and_after_the_debate_in_both_styles(world):
    full = panel(world.project, "full", FORWARDS)
    simple = panel(world.project, "simple", BACKWARDS)
    ablation = panel_ablation.styles(world.session, world.session.store.runs.get(full), "c")
    assert ablation is not None
    assert ablation.runs == {"full": full, "simple": simple}
    readers = part(ablation, "full", "Readers")
    # Ann and Ben reverse their ratings; Cid and Dee keep their first ratings.
    assert (readers.before["spearman"].value, readers.after["spearman"].value) == (-1.0, pytest.approx(1.0))
    assert part(ablation, "full", "Editors").after["kendall"].value == pytest.approx(-1.0)
    assert part(ablation, "simple", "Readers").after["pearson"].value == pytest.approx(-1.0)
    assert readers.after["alpha"].value == pytest.approx(1.0)
    # Two of four rate forwards and two backwards, so their mean is 3 on every document.
    assert part(ablation, "full", "All groups").after["spearman"].value is None
    assert ablation.gains["Readers"]["spearman"].value == pytest.approx(2.0)
    assert ablation.gains["Readers"]["spearman"].interval is None, "perfect correlations show no possible error"
    assert ablation.sentence.endswith("no result, because the ratings or the reference do not vary.")
    assert ablation.counted.describe() == "n = 5 documents; not counted: 1 without gold"
    styles = full_report(world.session, world.session.store.runs.get(full))["panel_styles"]["Clarity"]
    assert styles["parts"][0]["group"] == "Readers"


def test_mean_of_all_groups_is_the_mean_of_the_groups_as_in_the_verdict(world):
    pair, other = PERSONAS.groups
    unequal = PersonaSet(groups=(pair, Group(name="Editors", personas=other.personas[:1])))
    # Ann and Ben end forwards, Cid stays backwards: one group against the other, so the panel's mean is always 3.
    run = world.session.store.runs.get(panel(world.project, "full", FORWARDS, personas=unequal))
    ablation = panel_ablation.styles(world.session, run, "c")
    assert ablation is not None
    assert part(ablation, "full", "All groups").after["spearman"].value is None
    debate = debate_effect.debate_effect(world.session, run)
    assert debate.panels["persona"]["Clarity"].after["spearman"].value is None


def test_canary_run_is_not_the_run_of_the_other_style(world):
    run = world.session.store.runs.get(panel(world.project, "full", FORWARDS))
    simple = panel(world.project, "simple", BACKWARDS)
    panel(world.project, "simple", BACKWARDS, documents=("d1", "d2"), experiment_id=f"canary:{simple}")
    assert panel_ablation.other_style(world.session, run).run_id == simple


def test_groups_of_documents_are_the_independent_units(world):
    world.project.store.documents.add(
        Document(f"g{n}", {"text": "t"}, gold={"gold": {"c": n % 5 + 1}}, group="one chat") for n in range(6)
    )
    run = panel(world.project, "full", FORWARDS, documents=[f"g{n}" for n in range(6)])
    result = part(panel_ablation.styles(world.session, world.session.store.runs.get(run), "c"), "full", "Readers")
    assert result.before["spearman"].value is not None
    assert result.before["spearman"].interval is None, "one group is one independent case"


def test_reviewed_documents_give_no_interval(world):
    run = world.session.store.runs.get(panel(world.project, "full", FORWARDS))
    panel(world.project, "simple", BACKWARDS)
    actions.edit(world.session, run.run_id, ["d5"], "c", 4, actions.Attribution("ada"))
    actions.submit(world.session, run.run_id, list(GOLD), actions.Attribution("ada"))
    result = panel_ablation.styles(world.session, run, "c", "reviewed")
    assert result.counted.n == 6
    assert part(result, "full", "Readers").after["spearman"].value is not None
    assert {estimate.interval for gain in result.gains.values() for estimate in gain.values()} == {None}
    assert {
        estimate.interval for part in result.parts for estimate in (*part.before.values(), *part.after.values())
    } == {None}


def test_last_rating_of_each_persona_counts_after_the_debate(world):
    # Only Ann and Ben rate again; the first ratings of the editors still count.
    run = world.session.store.runs.get(panel(world.project, "full", FORWARDS))
    styles = debate_effect.debate_effect(world.session, run).panels["persona"]["Clarity"]
    assert styles.before["spearman"].value == -1.0
    assert styles.after["spearman"].value is None  # two forwards, two backwards
    assert styles.after["alpha"].value is not None
    assert styles.after["alpha"].value < 0


def test_single_style_names_the_missing_run(world):
    run = panel(world.project, "full", FORWARDS)
    ablation = panel_ablation.styles(world.session, world.session.store.runs.get(run), "c")
    assert ablation is not None
    assert list(ablation.runs) == ["full"]
    assert ablation.gains == {}
    assert "--param style=simple" in ablation.sentence
    assert len(ablation.parts) == 3


def test_only_runs_with_the_same_personas_and_documents_are_compared(world):
    run = world.session.store.runs.get(panel(world.project, "full", FORWARDS))
    others = PersonaSet(
        groups=(Group(name="Others", personas=PERSONAS.groups[0].personas + PERSONAS.groups[1].personas),)
    )
    panel(world.project, "simple", BACKWARDS, personas=others)
    assert panel_ablation.other_style(world.session, run) is None
    few = panel(world.project, "simple", BACKWARDS, documents=("d1", "d2"))
    result = panel_ablation.other_style(world.session, run)
    assert result is not None
    assert result.run_id == few
    ablation = panel_ablation.styles(world.session, run, "c")
    assert ablation is not None
    assert ablation.counted == coverage.Coverage(2, {"one_run_only": 3, "no_reference": 1})
    # From the smaller run too, documents of the larger run only are left out.
    again = panel_ablation.styles(world.session, result, "c")
    assert again is not None
    assert (again.counted, again.gains) == (coverage.Coverage(2, {"one_run_only": 4}), ablation.gains)


@pytest.mark.parametrize(
    "changes",
    [
        {"params": {"personas": PERSONAS.text, "style": "simple", "turns": 0}},
        {"params": {"personas": PERSONAS.model_copy(update={"task": "Buy a car."}).text, "style": "simple"}},
        {"templates": {"persona": Template(name="persona (changed)", text="Be strict.")}},
        {"role_models": dict.fromkeys([member.role for member in PERSONAS.members], RoleModel.parse("mock/other"))},
    ],
    ids=["turns", "task", "prompt", "model"],
)
def test_only_runs_that_differ_in_style_alone_are_compared(world, changes):
    run = world.session.store.runs.get(panel(world.project, "full", FORWARDS))
    panel(world.project, "simple", BACKWARDS, **changes)
    assert panel_ablation.other_style(world.session, run) is None
    seeded = RoleModel.parse(ROLE_MODEL.spec, sampling=Sampling(seed=7, default_limit=LONG_MAX_TOKENS))
    role_models = {member.role: seeded for member in PERSONAS.members}
    same = panel(world.project, "simple", BACKWARDS, seed=7, role_models=role_models)
    assert panel_ablation.other_style(world.session, run).run_id == same


def test_styles_of_the_papers_presets_are_compared(world):
    params = {
        name: protocols.find("panel").parse_params({"preset": name, "personas": PERSONAS.text})
        for name in ("paper", "simple")
    }
    simple = panel(world.project, "simple", BACKWARDS, params=params["simple"])
    full = panel(world.project, "full", FORWARDS, params=params["paper"] | {"groups": 2, "dimensions": 1})
    assert panel_ablation.other_style(world.session, world.session.store.runs.get(full)).run_id == simple


def test_run_without_a_rating_panel_has_no_groups(session, run):
    assert panel_ablation.style_of(run) is None
    assert panel_ablation.styles(session, run, "a") is None
    assert panel_ablation.all_styles(session, run) is None
    assert session.all_runs()


@pytest.mark.parametrize(("dimensions", "outcome"), [(1, ": better, +0.30"), (2, ": no significant difference, +0.30")])
def test_better_personas_need_a_test_that_counts_the_dimensions(world, monkeypatch, dimensions, outcome):
    # Of five documents, p is 0.046, and 0.092 after the correction for two dimensions.
    gain = Estimate(0.3, Interval(0.01, 0.59))
    monkeypatch.setattr(panels, "gains", lambda *_, **__: dict.fromkeys(panels.MEASURES, gain))
    labels = (*BOOK.labels, Label(name="Style", id="s"))[:dimensions]
    book = BOOK.model_copy(update={"labels": labels})
    run, _ = (panel(world.project, style, FORWARDS, codebook=book) for style in ("full", "simple"))
    sentence = panel_ablation.styles(world.session, world.session.store.runs.get(run), "c").sentence
    assert outcome in sentence
    assert ("The test is not significant (p = 0.092, corrected)." in sentence) == (dimensions == 2)
