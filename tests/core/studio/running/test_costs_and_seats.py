"""Prices and limits that a person types, presets of seats, and advice from runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.debate.roles import Role
from core.errors import UsageError
from core.evaluation.counts import Counts
from core.runs import Seat
from core.studio import preferences
from core.studio.desk import Desk
from core.studio.models import priced
from core.studio.running import costs, runs, seats
from core.studio.running.costs import Limits, Price
from core.studio.running.estimates import estimate
from core.studio.running.seats import Record
from core.studio.workspace import Workspace
from tests.core.studio.desks import BOOK, make, studio

FAR = Seat(connection="openrouter", model="somebody/new-one")


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Workspace, Desk]]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with studio(tmp_path) as both:
        yield both


def test_an_own_price_is_in_force_at_once_kept_and_taken_back(opened: tuple[Workspace, Desk]) -> None:
    workspace, desk = opened
    settings = runs.settle(runs.Plan(everyone=FAR), BOOK, 1, desk.models)
    assert costs.unpriced(desk.models, settings) == (FAR.spec,)
    assert estimate(desk, settings, 10).cost_usd is None
    costs.set_price(workspace, "openrouter", "somebody/new-one", Price(prompt=1.0, completion=4.0))
    assert costs.unpriced(desk.models, settings) == ()
    told = estimate(desk, settings, 10)
    assert told.basis.startswith("Your own prices; tokens: the prompts of 4 documents")
    assert told.cost_usd == pytest.approx(sum(r.prompt_tokens * 1e-6 + r.completion_tokens * 4e-6 for r in told.roles))
    assert runs.settle(runs.Plan(everyone=FAR, budget_usd=1.0), BOOK, 1, desk.models).budget_usd == 1.0
    again = Workspace()
    assert priced(again, FAR) == pytest.approx((1.0, 4.0))
    again.close()
    costs.set_price(workspace, "openrouter", "somebody/new-one", None)
    assert costs.own_price(workspace, FAR) is None
    assert preferences.load().prices == {}


def test_a_star_prices_all_models_that_have_none_of_their_own(opened: tuple[Workspace, Desk]) -> None:
    workspace, _ = opened
    costs.set_price(workspace, "vllm", "*", Price(prompt=0.1, completion=0.2))
    costs.set_price(workspace, "vllm", "big", Price(prompt=1, completion=2))
    assert priced(workspace, Seat(connection="vllm", model="small")) == pytest.approx((0.1, 0.2))
    assert priced(workspace, Seat(connection="vllm", model="big")) == pytest.approx((1, 2))
    with pytest.raises(UsageError, match="needs a model"):
        costs.set_price(workspace, "vllm", " ", Price(prompt=1, completion=2))


@pytest.mark.parametrize("text", ["", "1", "a/b", "1/-2", "1/2/3/4", "nan/1", "inf/1"])
def test_what_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a price"):
        Price.parse(text)


def test_prices_are_read_as_people_write_them() -> None:
    assert Price.parse("0.40/1.60") == Price(prompt=0.4, completion=1.6)
    assert Price.parse("3/0.3/15").per_token == pytest.approx((3e-6, 0.3e-6, 15e-6))


def test_models_above_the_ceiling_or_without_a_price_are_not_offered(opened: tuple[Workspace, Desk]) -> None:
    workspace, _ = opened
    names = ("gpt-4.1", "gpt-4.1-mini", "gpt-unheard-of")  # $8.00, $1.60 and nobody knows for a million tokens of reply
    assert costs.affordable(workspace, "openai", names, None) == names
    assert costs.affordable(workspace, "openai", names, 1.6) == ("gpt-4.1-mini",)
    assert costs.affordable(workspace, "ollama", ("llama3.2",), 0.0) == ("llama3.2",)
    costs.set_ceiling(1.6)
    assert costs.ceiling() == 1.6


def test_limits_are_kept_and_the_tighter_holds(opened: tuple[Workspace, Desk]) -> None:
    workspace, desk = opened
    costs.set_limits(workspace, "openai", Limits(requests_per_minute=100, at_once=4))
    seat = Seat(connection="openai", model="gpt-4.1")
    assert desk.models.limits(seat).at_once == 4
    both = desk.models.limits(seat).and_also(60, 9000)
    assert (both.requests_per_minute, both.tokens_per_minute, both.at_once) == (60, 9000, 4)
    costs.set_limits(workspace, "openai", Limits())
    assert preferences.load().limits == {}


def test_presets_keep_who_sits_where_and_nothing_else(opened: tuple[Workspace, Desk]) -> None:
    plan = runs.Plan(seed=3).with_seat("judge", FAR)
    assert seats.save_preset("  my  cheap one ", plan) == "my cheap one"
    (name,) = seats.presets()
    back = seats.with_preset(runs.Plan(seed=9), seats.presets()[name])
    assert (back.seat("judge"), back.seed) == (FAR, 9)
    seats.delete_preset(name)
    assert seats.presets() == {}
    with pytest.raises(UsageError, match="needs a name"):
        seats.save_preset(" ", plan)


ROLES = (Role("extractor", "Extractor", ""), Role("critic", "Critic", ""), Role("judge", "Judge", ""))


def record(name: str, tp: int, fp: int, fn: int, n: int = 50) -> Record:
    seat = Seat(connection="local", model=name)
    return Record(seat.spec, seat, 1, n, Counts(tp, fp, fn, 100))


def test_who_misses_little_extracts_who_is_sure_objects_and_who_is_both_judges() -> None:
    wide, sure, both = (
        record("wide", tp=90, fp=60, fn=10), record("sure", tp=60, fp=3, fn=40), record("both", tp=85, fp=10, fn=15),
    )  # fmt: skip
    given = seats.advice((wide, sure, both), ROLES)
    assert [(one.role.name, one.record.spec, one.wants) for one in given] == [
        ("extractor", "local/wide", "recall"),
        ("critic", "local/sure", "precision"),
        ("judge", "local/both", "f1"),
    ]
    assert given[0].value == pytest.approx(0.9)
    plan = seats.advised(runs.Plan(), given)
    assert [plan.seat(role.name).model for role in ROLES] == ["wide", "sure", "both"]


def test_one_model_or_few_documents_give_no_advice() -> None:
    assert seats.advice((record("a", 1, 1, 1),), ROLES) == ()
    assert seats.advice((record("a", 1, 1, 1), record("b", 2, 1, 1, n=seats.LEAST_DOCUMENTS - 1)), ROLES) == ()
    assert seats.advice((record("a", 1, 1, 1), record("b", 2, 1, 1)), ROLES[:1]) == ()


def test_records_come_from_the_first_speakers_of_real_runs(opened: tuple[Workspace, Desk]) -> None:
    _, desk = opened
    cleanliness, service = (label.id for label in BOOK.labels)
    true = [{cleanliness: number < 2, service: number != 2} for number in range(4)]
    desk.store.documents.replace_gold({f"d{number}": {"gold": values} for number, values in enumerate(true)})
    for protocol in ("ecj", "single"):
        (run,) = make(desk, runs.Plan(protocol=protocol))
        desk.go(run.run_id).result(30)
    (found,) = seats.records(desk)
    assert (found.spec, found.runs) == ("builtin/lexical", 2)
    assert found.n == 2 * 4
    # found: clean in d0 and d1, service in d1 and d3; missed: the service that gold sees in d0
    assert (found.recall, found.precision) == (0.8, 1.0)
