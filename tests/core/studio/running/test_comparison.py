"""A comparison: plans put together, estimated with what they share, started at once, shared turns paid once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import UsageError
from core.runs import Seat
from core.studio.desk import Desk
from core.studio.running import comparison, runs
from tests.core.studio.desks import BOOK, studio


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with studio(tmp_path) as (_, opened):
        yield opened


def put(desk: Desk, *plans: runs.Plan) -> comparison.Comparison:
    for plan in plans:
        comparison.add(desk, plan)
    return comparison.prepared(desk, BOOK, 1, 4)


def test_members_are_kept_until_they_are_started(desk: Desk) -> None:
    shown = put(desk, runs.Plan(), runs.Plan(protocol="discussion", params={"annotators": 2, "rounds": 1}))
    assert [member.title for member in shown.members] == ["Extractor, Critic, Judge", "Peer discussion"]
    assert shown.ready
    assert shown.calls == 4 * (3 + 2 * 2)
    assert shown.cost_usd == 0.0
    with pytest.raises(UsageError, match="in the comparison already"):
        comparison.add(desk, runs.Plan())
    comparison.remove(desk, 0)
    assert len(comparison.plans(desk)) == 1
    with pytest.raises(UsageError, match="two members"):
        comparison.start(desk, comparison.prepared(desk, BOOK, 1, 4), ["d0"])


def test_what_two_ask_alike_is_paid_once(desk: Desk) -> None:
    """Two that differ only in their extra rounds share the first extraction and critique."""
    shown = put(desk, runs.Plan(), runs.Plan(params={"extra_rounds": 1}))
    assert shown.shared == 4 * 2
    assert shown.calls == 4 * (3 + 5 - 2)
    made = comparison.start(desk, shown, [f"d{n}" for n in range(4)])
    assert comparison.plans(desk) == ()
    assert len({run.experiment_id for run in made}) == 2
    for run in made:
        assert desk.go(run.run_id).result(60).state == "done"
    second = desk.store.runs.get(made[1].run_id)
    assert second is not None
    assert (second.calls, second.cached_calls) == (4 * 3, 4 * 2)


def test_a_member_that_cannot_run_says_why(desk: Desk) -> None:
    shown = put(desk, runs.Plan(), runs.Plan(everyone=Seat(connection="gone", model="m")))
    assert not shown.ready
    assert "no connection 'gone'" in shown.members[1].trouble
    with pytest.raises(UsageError, match="annotators cannot be 99"):
        comparison.add(desk, runs.Plan(protocol="discussion", params={"annotators": 99}))
