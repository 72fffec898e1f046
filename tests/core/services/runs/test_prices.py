"""Prices and limits that a person types, presets of seats, and advice from runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.debate.turns import Role
from core.errors import UsageError
from core.runs import RoleModel
from core.services import models, preferences
from core.services.evaluation import model_recommendations
from core.services.evaluation.model_recommendations import ModelRecord
from core.services.models import Limits, Price, priced
from core.services.runs import planning
from core.services.runs.costs import estimate_run
from core.services.session import ProjectSession
from core.services.workspace import Workspace
from core.stats.counts import Counts
from tests.core.services.sessions import BOOK, make, studio

FAR = RoleModel(connection="openrouter", model="somebody/new-one")


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Workspace, ProjectSession]]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with studio(tmp_path) as both:
        yield both


def test_an_own_price_is_in_force_at_once_kept_and_taken_back(opened: tuple[Workspace, ProjectSession]) -> None:
    workspace, session = opened
    settings = planning.build_settings(planning.Plan(default_model=FAR), BOOK, 1, session.models)
    assert planning.unpriced_models(session.models, settings) == (FAR.spec,)
    assert estimate_run(session, settings, 10).cost_usd is None
    models.set_price(workspace, "openrouter", "somebody/new-one", Price(prompt=1.0, completion=4.0))
    assert planning.unpriced_models(session.models, settings) == ()
    told = estimate_run(session, settings, 10)
    assert told.basis.startswith("Your own prices; tokens: prompts of 4 documents")
    assert told.cost_usd == pytest.approx(sum(r.prompt_tokens * 1e-6 + r.completion_tokens * 4e-6 for r in told.roles))
    assert (
        planning.build_settings(planning.Plan(default_model=FAR, budget_usd=1.0), BOOK, 1, session.models).budget_usd
        == 1.0
    )
    again = Workspace()
    assert priced(again, FAR) == pytest.approx((1.0, 4.0))
    again.close()
    models.set_price(workspace, "openrouter", "somebody/new-one", None)
    assert models.own_prices(workspace) == {}
    assert preferences.load().prices == {}


def test_a_star_prices_all_models_that_have_none_of_their_own(opened: tuple[Workspace, ProjectSession]) -> None:
    workspace, _ = opened
    models.set_price(workspace, "vllm", "*", Price(prompt=0.1, completion=0.2))
    models.set_price(workspace, "vllm", "big", Price(prompt=1, completion=2))
    assert priced(workspace, RoleModel(connection="vllm", model="small")) == pytest.approx((0.1, 0.2))
    assert priced(workspace, RoleModel(connection="vllm", model="big")) == pytest.approx((1, 2))
    with pytest.raises(UsageError, match="needs a model"):
        models.set_price(workspace, "vllm", " ", Price(prompt=1, completion=2))


@pytest.mark.parametrize("text", ["", "1", "a/b", "1/-2", "1/2/3/4", "nan/1", "inf/1"])
def test_what_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a price"):
        Price.parse(text)


def test_prices_are_read_as_people_write_them() -> None:
    assert Price.parse("0.40/1.60") == Price(prompt=0.4, completion=1.6)
    assert Price.parse("3/0.3/15").per_token == pytest.approx((3e-6, 0.3e-6, 15e-6))


def test_models_above_the_ceiling_or_without_a_price_are_not_offered(opened: tuple[Workspace, ProjectSession]) -> None:
    workspace, _ = opened
    names = ("gpt-4.1", "gpt-4.1-mini", "gpt-unheard-of")  # $8.00, $1.60 and nobody knows for a million tokens of reply
    assert models.affordable_models(workspace, "openai", names, None) == names
    assert models.affordable_models(workspace, "openai", names, 1.6) == ("gpt-4.1-mini",)
    assert models.affordable_models(workspace, "ollama", ("llama3.2",), 0.0) == ("llama3.2",)
    models.set_price_ceiling(1.6)
    assert models.price_ceiling() == 1.6


def test_limits_are_kept_and_the_tighter_holds(opened: tuple[Workspace, ProjectSession]) -> None:
    workspace, session = opened
    models.set_connection_limits(workspace, "openai", Limits(requests_per_minute=100, at_once=4))
    role_model = RoleModel(connection="openai", model="gpt-4.1")
    assert session.models.limits(role_model).at_once == 4
    both = session.models.limits(role_model).and_also(60, 9000)
    assert (both.requests_per_minute, both.tokens_per_minute, both.at_once) == (60, 9000, 4)
    models.set_connection_limits(workspace, "openai", Limits())
    assert preferences.load().limits == {}


def test_presets_keep_who_sits_where_and_nothing_else(opened: tuple[Workspace, ProjectSession]) -> None:
    plan = planning.Plan(seed=3).with_role_model("judge", FAR)
    assert models.save_preset("  my  cheap one ", plan) == "my cheap one"
    (name,) = models.model_presets()
    back = models.apply_preset(planning.Plan(seed=9), models.model_presets()[name])
    assert (back.role_model("judge"), back.seed) == (FAR, 9)
    models.delete_preset(name)
    assert models.model_presets() == {}
    with pytest.raises(UsageError, match="needs a name"):
        models.save_preset(" ", plan)


ROLES = (Role("extractor", "Extractor", ""), Role("critic", "Critic", ""), Role("judge", "Judge", ""))


def record(name: str, tp: int, fp: int, fn: int, n: int = 50) -> ModelRecord:
    role_model = RoleModel(connection="local", model=name)
    return ModelRecord(role_model.spec, role_model, 1, n, Counts(tp, fp, fn, 100))


def test_who_misses_little_extracts_who_is_sure_objects_and_who_is_both_judges() -> None:
    wide, sure, both = (
        record("wide", tp=90, fp=60, fn=10), record("sure", tp=60, fp=3, fn=40), record("both", tp=85, fp=10, fn=15),
    )  # fmt: skip
    given = model_recommendations.recommend_models((wide, sure, both), ROLES)
    assert [(one.role.name, one.record.spec, one.metric) for one in given] == [
        ("extractor", "local/wide", "recall"),
        ("critic", "local/sure", "precision"),
        ("judge", "local/both", "f1"),
    ]
    assert given[0].value == pytest.approx(0.9)
    plan = model_recommendations.apply_recommendations(planning.Plan(), given)
    assert [plan.role_model(role.name).model for role in ROLES] == ["wide", "sure", "both"]


def test_one_model_or_few_documents_give_no_advice() -> None:
    assert model_recommendations.recommend_models((record("a", 1, 1, 1),), ROLES) == ()
    assert (
        model_recommendations.recommend_models(
            (record("a", 1, 1, 1), record("b", 2, 1, 1, n=model_recommendations.MIN_DOCUMENTS - 1)), ROLES
        )
        == ()
    )
    assert model_recommendations.recommend_models((record("a", 1, 1, 1), record("b", 2, 1, 1)), ROLES[:1]) == ()


def test_records_come_from_the_first_speakers_of_real_runs(opened: tuple[Workspace, ProjectSession]) -> None:
    _, session = opened
    cleanliness, service = (label.id for label in BOOK.labels)
    true = [{cleanliness: number < 2, service: number != 2} for number in range(4)]
    session.store.documents.replace_gold({f"d{number}": {"gold": values} for number, values in enumerate(true)})
    for protocol in ("ecj", "single"):
        (run,) = make(session, planning.Plan(protocol=protocol))
        session.start_or_resume(run.run_id).result(30)
    (found,) = model_recommendations.model_records(session)
    assert (found.spec, found.runs) == ("builtin/lexical", 2)
    assert found.n == 2 * 4
    # found: clean in d0 and d1, service in d1 and d3; missed: the service that gold sees in d0
    assert (found.recall, found.precision) == (0.8, 1.0)
