"""Tests of prices and limits of models, and of presets of role models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.debate.turns import Usage
from core.errors import UsageError
from core.llm.connections import Connection
from core.llm.prices import list_price, provider_of
from core.runs import RoleModel
from core.services import models, preferences
from core.services.models import Limits, Price, priced
from core.services.project_session import ProjectSession
from core.services.runs import planning
from core.services.runs.cost_estimate import estimate_run
from core.services.workspace import Workspace
from tests.core.services.sessions import BOOK, studio

FAR = RoleModel(connection="openrouter", model="somebody/new-one")


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Workspace, ProjectSession]]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with studio(tmp_path) as both:
        yield both


def test_custom_price_applies_at_once_and_can_be_removed(opened: tuple[Workspace, ProjectSession]) -> None:
    workspace, session = opened
    settings = planning.build_settings(planning.Plan(default_model=FAR), BOOK, 1, session.models)
    assert planning.unpriced_models(session.models, settings) == (FAR.spec,)
    assert estimate_run(session, settings, 10).cost_usd is None
    models.set_price(workspace, "openrouter", "somebody/new-one", Price(prompt=1.0, completion=4.0))
    assert planning.unpriced_models(session.models, settings) == ()
    estimate = estimate_run(session, settings, 10)
    assert estimate.basis.startswith("Your own prices; tokens: prompts of 4 documents")
    assert estimate.cost_usd == pytest.approx(
        sum(r.prompt_tokens * 1e-6 + r.completion_tokens * 4e-6 for r in estimate.roles)
    )
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


def test_star_price_applies_to_models_without_their_own_price(opened: tuple[Workspace, ProjectSession]) -> None:
    workspace, _ = opened
    models.set_price(workspace, "vllm", "*", Price(prompt=0.1, completion=0.2))
    models.set_price(workspace, "vllm", "big", Price(prompt=1, completion=2))
    assert priced(workspace, RoleModel(connection="vllm", model="small")) == pytest.approx((0.1, 0.2))
    assert priced(workspace, RoleModel(connection="vllm", model="big")) == pytest.approx((1, 2))
    with pytest.raises(UsageError, match="needs a model"):
        models.set_price(workspace, "vllm", " ", Price(prompt=1, completion=2))


@pytest.mark.parametrize("text", ["", "1", "a/b", "1/-2", "1/2/3/4", "nan/1", "inf/1"])
def test_invalid_price_is_rejected(text: str) -> None:
    with pytest.raises(UsageError, match="not a price"):
        Price.parse(text)


def test_published_prices_are_only_for_the_host_of_the_provider() -> None:
    known = ("https://api.openai.com/v1", "https://API.OpenAI.com:443/v1")
    other = ("https://api.openai.com.example.net/v1", "https://example.net/v1//api.openai.com", "")
    providers = [provider_of(Connection(name="c", base_url=url)) for url in (*known, *other)]
    assert providers == ["openai", "openai", None, None, None]


def test_price_formats_are_parsed() -> None:
    assert Price.parse("0.40/1.60") == Price(prompt=0.4, completion=1.6)
    assert Price.parse("3/0.3/15") == Price(prompt=3, cached=0.3, completion=15)


def test_prompt_tokens_that_the_server_stores_in_its_cache_have_their_own_price() -> None:
    usage = Usage(prompt_tokens=1_000_000, cached_tokens=200_000, written_tokens=400_000)
    assert Price(prompt=1, cached=0.1, written=1.25, completion=9).cost(usage) == pytest.approx(0.4 + 0.02 + 0.5)
    assert Price(prompt=1, cached=0.1, completion=9).cost(usage) == pytest.approx(0.8 + 0.02)
    published = list_price(Connection(name="openai", base_url="https://api.openai.com/v1"), "gpt-5.6")
    assert published is not None
    assert published.written == pytest.approx(1.25 * published.prompt)


def test_models_above_the_ceiling_or_without_a_price_are_not_offered(opened: tuple[Workspace, ProjectSession]) -> None:
    workspace, _ = opened
    names = ("gpt-4.1", "gpt-4.1-mini", "gpt-unheard-of")  # $8.00, $1.60 and unknown per million output tokens
    assert models.affordable_models(workspace, "openai", names, None) == names
    assert models.affordable_models(workspace, "openai", names, 1.6) == ("gpt-4.1-mini",)
    assert models.affordable_models(workspace, "ollama", ("llama3.2",), 0.0) == ("llama3.2",)


def test_limits_are_stored_and_the_tighter_one_applies(opened: tuple[Workspace, ProjectSession]) -> None:
    workspace, session = opened
    models.set_connection_limits(workspace, "openai", Limits(requests_per_minute=100, at_once=4))
    role_model = RoleModel(connection="openai", model="gpt-4.1")
    assert session.models.quota(role_model).limits.at_once == 4
    both = session.models.quota(role_model).limits.combined_with(Limits(requests_per_minute=60, tokens_per_minute=9000))
    assert (both.requests_per_minute, both.tokens_per_minute, both.at_once) == (60, 9000, 4)
    models.set_connection_limits(workspace, "openai", Limits())
    assert preferences.load().limits == {}


def test_presets_store_role_models_only(opened: tuple[Workspace, ProjectSession]) -> None:
    plan = planning.Plan(seed=3).with_role_model("judge", FAR)
    assert models.save_preset("  my  cheap one ", plan) == "my cheap one"
    (name,) = models.model_presets()
    back = models.apply_preset(planning.Plan(seed=9), models.model_presets()[name])
    assert (back.role_model("judge"), back.seed) == (FAR, 9)
    models.delete_preset(name)
    assert models.model_presets() == {}
    with pytest.raises(UsageError, match="needs a name"):
        models.save_preset(" ", plan)
