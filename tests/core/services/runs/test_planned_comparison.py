"""Tests of comparisons of several plans."""

from __future__ import annotations

import pytest

from core.documents import Document
from core.errors import PromptError, UsageError
from core.runs import RoleModel
from core.services.project_session import ProjectSession
from core.services.runs import planned_comparison, planning


def compare_plans(session: ProjectSession, *plans: planning.Plan) -> planned_comparison.PlannedComparison:
    for plan in plans:
        planned_comparison.add(session, plan)
    return planned_comparison.prepare(session, 4)


def test_comparison_members_are_kept_until_started(session: ProjectSession) -> None:
    shown = compare_plans(
        session, planning.Plan(), planning.Plan(protocol="discussion", params={"annotators": 2, "rounds": 1})
    )
    assert [member.title for member in shown.members] == ["Extractor, Critic, Judge (ECJ)", "Peer discussion"]
    assert shown.ready
    assert shown.calls == 4 * (3 + 2 * 2)
    assert shown.cost_usd == 0.0
    with pytest.raises(UsageError, match="already in the comparison"):
        planned_comparison.add(session, planning.Plan())
    for _ in range(2):  # a second click on the same button
        planned_comparison.remove(session, shown.members[0].plan)
    assert planned_comparison.load_plans(session) == (shown.members[1].plan,)
    with pytest.raises(UsageError, match="two members"):
        planned_comparison.create_runs(session, planned_comparison.prepare(session, 4), ["d0"])


def test_runs_of_a_comparison_have_the_prepass_that_selected_their_documents(session: ProjectSession) -> None:
    compare_plans(session, planning.Plan(ambiguous="r0001"), planning.Plan(protocol="discussion"))
    for last in (planning.Plan(), planning.Plan(ambiguous="r0002", theta=0.2)):
        planning.save_plan(session, last)
        shown = planned_comparison.prepare(session, 4)
        assert [member.plan for member in shown.members] == list(planned_comparison.load_plans(session))
        for member in shown.members:
            assert member.settings is not None
            assert member.settings.prepass.ambiguous == last.ambiguous


def test_identical_requests_of_two_members_are_sent_once(session: ProjectSession) -> None:
    # The plans differ only in extra rounds and share the first extraction and critique.
    shown = compare_plans(session, planning.Plan(), planning.Plan(params={"extra_rounds": 1}))
    assert shown.shared == 4 * 2
    assert shown.calls == 4 * (3 + 5 - 2)
    runs = planned_comparison.create_runs(session, shown, [f"d{n}" for n in range(4)])
    assert planned_comparison.load_plans(session) == ()
    assert len({run.experiment_id for run in runs}) == 2
    for run in runs:
        assert session.start_or_resume(run.run_id).result(60).state == "done"
    second = session.store.runs.get(runs[1].run_id)
    assert second is not None
    assert (second.calls, second.cached_calls) == (4 * 3, 4 * 2)


def test_cost_of_a_comparison_counts_shared_calls_once(session: ProjectSession) -> None:
    judges = [RoleModel(connection="openai", model=name) for name in ("gpt-4.1-mini", "gpt-4.1", "gpt-4.1-nano")]
    plans = [planning.Plan(default_model=judges[0]).with_role_model("judge", judge) for judge in judges]
    shown = compare_plans(session, *plans)
    assert (shown.calls, shown.shared) == (4 * (3 + 1 + 1), 4 * 2 * 2)
    costs = [[role.cost_usd for role in member.estimate.roles] for member in shown.members if member.estimate]
    (extractor, critic, first), (*_, second), (*_, third) = costs
    assert shown.cost_usd == pytest.approx(extractor + critic + first + second + third)


def test_calls_after_a_different_reply_are_not_shared(session: ProjectSession) -> None:
    # The judge's prompts look equal while placeholders stand for the replies of an extractor and a critic.
    for changed, shared in (("extractor", 0), ("critic", 1), ("judge", 2)):
        planned_comparison.clear(session)
        shown = compare_plans(session, planning.Plan(), planning.Plan(prompts={changed: "## user\n{{ document }}"}))
        assert shown.shared == 4 * shared, changed


def test_calls_are_shared_in_each_iteration_that_two_members_have(session: ProjectSession) -> None:
    shown = compare_plans(session, planning.Plan(iterations=3), planning.Plan(params={"extra_rounds": 1}, iterations=2))
    assert shown.shared == 4 * 2 * 2
    assert shown.calls == 4 * (3 * 3 + 2 * 5 - 2 * 2)
    runs = planned_comparison.create_runs(session, shown, [f"d{n}" for n in range(4)])
    assert all(session.start_or_resume(run.run_id).result(60).state == "done" for run in runs)
    assert sum(session.run(run.run_id).cached_calls for run in runs) == shown.shared


def test_no_run_is_created_if_a_prompt_of_one_member_fails(session: ProjectSession) -> None:
    fails = "## user\n{% if 'A new text' in document %}{{ unknown }}{% endif %}{{ document }}"
    shown = compare_plans(session, planning.Plan(), planning.Plan(prompts={"judge": fails}))
    session.store.documents.add([Document("new", {"text": "A new text."})])
    with pytest.raises(PromptError, match="unknown"):
        planned_comparison.create_runs(session, shown, ["d0", "new"])
    assert session.all_runs() == []
    assert len(planned_comparison.load_plans(session)) == 2


def test_no_run_is_created_if_the_budget_of_one_member_cannot_be_kept(session: ProjectSession) -> None:
    unpriced = RoleModel(connection="llamacpp", model="m")
    shown = compare_plans(session, planning.Plan(), planning.Plan(budget_usd=1.0).with_same_model(unpriced))
    with pytest.raises(UsageError, match="price of llamacpp/m"):
        planned_comparison.create_runs(session, shown, ["d0"])
    assert session.store.runs.all() == []


def test_member_that_cannot_run_gives_a_reason(session: ProjectSession) -> None:
    shown = compare_plans(
        session, planning.Plan(), planning.Plan(default_model=RoleModel(connection="gone", model="m"))
    )
    assert not shown.ready
    assert "connection 'gone' does not exist" in shown.members[1].problem
    with pytest.raises(UsageError, match="annotators cannot be 99"):
        planned_comparison.add(session, planning.Plan(protocol="discussion", params={"annotators": 99}))
