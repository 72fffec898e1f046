"""Tests of the models service: lists of models, keys, connection tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from core.codebook import Codebook, Label
from core.errors import Unreachable, UsageError
from core.llm.connections import Connection, parse_connection
from core.llm.model_info import ModelCard
from core.runs import RoleModel
from core.services import models, preferences
from core.services.models import Price, _Lists
from core.services.runs import planning
from core.services.workspace import Workspace
from tests.core.services.sessions import BOOK, queue_runs, studio
from tests.servers.running import free_port, mock_llm
from tests.servers.scripted import Scripted

LOCAL = parse_connection("local", "http://127.0.0.1:9/v1")


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    workspace = Workspace()
    yield workspace
    workspace.close()


def test_slow_server_does_not_block_the_page() -> None:
    answer = threading.Event()

    def fetch(connection: Connection) -> tuple[ModelCard, ...]:
        answer.wait(10)
        return (ModelCard("one"),)

    lists = _Lists(fetch)
    assert lists.get(LOCAL, 0.01).pending
    answer.set()
    assert lists.get(LOCAL, 10).names == ("one",)


def test_model_list_is_cached_until_cleared() -> None:
    requested: list[str] = []

    def fetch(connection: Connection) -> tuple[ModelCard, ...]:
        requested.append(connection.name)
        return ()

    lists = _Lists(fetch)
    lists.get(LOCAL, 10)
    lists.get(LOCAL, 10)
    assert len(requested) == 1
    lists.forget("local")
    lists.get(LOCAL, 10)
    lists.get(LOCAL.model_copy(update={"base_url": "http://127.0.0.1:10/v1"}), 10)  # another address has its own list
    assert len(requested) == 3


def test_any_listing_failure_becomes_a_named_error() -> None:
    def unreachable(connection: Connection) -> tuple[ModelCard, ...]:
        raise Unreachable("Nobody there.", "Start it.")

    def unexpected(connection: Connection) -> tuple[ModelCard, ...]:
        raise RuntimeError("odd")

    assert isinstance(_Lists(unreachable).get(LOCAL, 10).error, Unreachable)
    assert "odd" in str(_Lists(unexpected).get(LOCAL, 10).error)


def test_connections_show_the_source_of_their_key(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_MINE_API_KEY", "s3cret")
    models.add(workspace, "mine", "https://models.example/v1")
    by_name = {connection.name: connection for connection in models.connection_entries(workspace)}
    assert next(iter(by_name)) == "builtin"
    mine, openai, ollama = by_name["mine"], by_name["openai"], by_name["ollama"]
    assert (mine.key, mine.key_name, mine.is_own) == ("environment", "MOOT_MINE_API_KEY", True)
    assert (openai.key, openai.key_name, openai.is_own) == ("none", "OPENAI_API_KEY", False)
    assert ollama.key == "not needed"
    assert "s3cret" not in repr(by_name)
    models.remove(workspace, "mine")
    assert "mine" not in {connection.name for connection in models.connection_entries(workspace)}


def test_connection_of_an_active_run_is_neither_changed_nor_removed(tmp_path: Path) -> None:
    with studio(tmp_path) as (workspace, session):
        models.add(workspace, "mine", "http://127.0.0.1:9/v1")
        (watched,) = queue_runs(session, planning.Plan(pace=1.0, concurrency=1))
        (queued,) = queue_runs(session, planning.Plan(default_model=RoleModel(connection="mine", model="m")))
        for run in (watched, queued):
            session.start_or_resume(run.run_id)
        with pytest.raises(UsageError, match="A run of hotel uses mine"):
            models.remove(workspace, "mine")
        with pytest.raises(UsageError, match="A run of hotel uses mine"):
            models.add(workspace, "mine", "http://127.0.0.1:10/v1")
        models.add(workspace, "mine", "http://127.0.0.1:9/v1")
        assert workspace.models.connections["mine"].base_url == "http://127.0.0.1:9/v1"
        session.pause(queued.run_id)
        models.remove(workspace, "mine")
        assert "mine" not in workspace.models.connections


def test_prices_and_limits_are_removed_with_their_connection(workspace: Workspace) -> None:
    other = Price(prompt=3.0, completion=4.0)
    models.set_price(workspace, "mine2", "*", other)
    models.add(workspace, "mine", "https://models.example/v1")
    for model in ("*", "org/big"):
        models.set_price(workspace, "mine", model, Price(prompt=1.0, completion=2.0))
    models.set_connection_limits(workspace, "mine", models.Limits(at_once=1))
    models.remove(workspace, "mine")
    assert models.own_prices(workspace) == preferences.load().prices == {"mine2/*": other}
    assert models.connection_limits(workspace, "mine").empty
    assert preferences.load().limits == {}


def test_key_in_the_keyring_belongs_to_one_address(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = "https://models.example/v1", "https://other.example/v1"
    monkeypatch.setattr(models, "find_key", lambda connection: "s3cret" if connection.base_url == first else None)

    def key() -> str:
        return next(entry.key for entry in models.connection_entries(workspace) if entry.name == "mine")

    keys = []
    for address in (first, second, first):
        models.add(workspace, "mine", address)
        keys.append(key())
    assert keys == ["keyring", "none", "keyring"]


def test_address_of_a_connection_with_a_key_cannot_change(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOOT_MINE_API_KEY", "s3cret")
    models.add(workspace, "mine", "https://models.example/v1")
    models.add(workspace, "mine", "https://models.example/v2")
    with pytest.raises(UsageError, match=r"MOOT_MINE_API_KEY is the key for https://models\.example/v2"):
        models.add(workspace, "mine", "https://evil.example/v1")
    models.add(workspace, "openai", "https://evil.example/v1")
    assert (
        next(connection for connection in models.connection_entries(workspace) if connection.name == "openai").key
        == "none"
    )
    models.remove(workspace, "mine")
    models.remove(workspace, "openai")
    monkeypatch.setenv("MOOT_OPENAI_API_KEY", "s3cret")
    with pytest.raises(UsageError, match=r"MOOT_OPENAI_API_KEY is the key for https://api\.openai\.com/v1"):
        models.add(workspace, "openai", "https://evil.example/v1")


def test_name_in_another_spelling_gets_no_key_of_another_server(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOOT_MY_SERVER_API_KEY", "s3cret")
    models.add(workspace, "my-server", "https://models.example/v1")
    with pytest.raises(UsageError, match=r"MOOT_MY_SERVER_API_KEY is the key for https://models\.example/v1"):
        models.add(workspace, "my.server", "https://evil.example/v1")
    with pytest.raises(UsageError, match="MOOT_MY_SERVER_API_KEY"):
        workspace.use_connection("my.server", "https://evil.example/v1")
    models.add(workspace, "My_Server", "https://models.example/v2")
    monkeypatch.delenv("MOOT_MY_SERVER_API_KEY")
    with pytest.raises(UsageError, match=r"my\.server and my-server, with another address, would have the same key"):
        models.add(workspace, "my.server", "https://evil.example/v1")
    workspace.use_connection("my.server", "https://evil.example/v1")  # for this process, which has no key


def test_spellings_that_an_older_version_saved_do_not_share_a_key(caplog: pytest.LogCaptureFixture) -> None:
    addresses = {"my-server": "https://models.example/v1", "my.server": "https://evil.example/v1"}
    saved = [parse_connection(name, url) for name, url in addresses.items()]
    preferences.update(lambda before: before.with_connections(saved))
    workspace = Workspace()
    try:
        assert addresses.keys() & workspace.models.connections.keys() == {"my-server"}
    finally:
        workspace.close()
    assert "my.server is left out, because it would get the key of my-server." in caplog.text


def test_key_of_a_preset_on_this_machine_may_be_for_another_address(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOOT_VLLM_API_KEY", "s3cret")
    models.add(workspace, "vllm", "https://gpu.example/v1")
    with pytest.raises(UsageError, match=r"MOOT_VLLM_API_KEY is the key for https://gpu\.example/v1"):
        models.add(workspace, "vllm", "https://evil.example/v1")
    with pytest.raises(UsageError, match="MOOT_VLLM_API_KEY"):
        models.add(workspace, "vLLM", "https://evil.example/v1")


def test_connection_of_the_command_line_may_replace_the_address_of_its_name(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOOT_MINE_API_KEY", "s3cret")
    for address in ("https://models.example/v1", "https://other.example/v1"):
        workspace.use_connection("mine", address)
        assert workspace.models.connection("mine").base_url == address


def test_error_without_a_keyring_names_the_environment_variable(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="Set OPENAI_API_KEY in the environment"):
        models.remember_key(workspace, "openai", "s3cret")
    with pytest.raises(UsageError, match="No key was entered"):
        models.remember_key(workspace, "openai", "  ")


def test_connection_cannot_be_named_like_the_builtin_model(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="built-in"):
        models.add(workspace, "builtin", "http://127.0.0.1:9/v1")


def test_models_of_a_server_are_listed_and_tested(workspace: Workspace) -> None:
    with mock_llm() as url:
        models.add(workspace, "local", f"{url}/v1")
        listed = models.fresh_listing(workspace, "local")
        assert "mock" in listed.names
        assert models.first_model(workspace, "local") in listed.names
        assert models.model_to_try(workspace, "local", planning.Plan(), listed) == listed.names[0]
        vacant = planning.Plan().with_role_model("judge", RoleModel(connection="local", model=""))
        assert models.model_to_try(workspace, "local", vacant, listed) == listed.names[0]
        resolve = planning.Plan().with_role_model("judge", RoleModel(connection="local", model="mock"))
        assert models.model_to_try(workspace, "local", resolve, listed) == "mock"
        assert models.try_model(workspace, RoleModel(connection="local", model="mock")).error is None


@pytest.mark.parametrize("cloud", ["deepseek-v3.1:671b-cloud", "glm-4.6:cloud"])
def test_cloud_model_of_ollama_has_no_price_and_is_not_a_default(workspace: Workspace, cloud: str) -> None:
    async def behave(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        names = [cloud, "llama3.2:latest"] if request.path == "/api/tags" else []
        return web.json_response({"models": [{"model": name} for name in names]})

    with Scripted(behave) as server:
        workspace.models.add(Connection(name="ollama", base_url=server.url.removesuffix("/v1"), dialect="ollama"))
        listed = models.fresh_listing(workspace, "ollama")
        assert listed.names == (cloud, "llama3.2:latest")
        assert models.connection_report(workspace, "ollama", probe=True)["probe"]["model"] == "llama3.2:latest"
        assert models.first_model(workspace, "ollama") == "llama3.2:latest"
        assert models.model_to_try(workspace, "ollama", planning.Plan(), listed) == "llama3.2:latest"
    remote, local = (RoleModel(connection="ollama", model=name) for name in listed.names)
    assert (models.priced(workspace, remote), models.priced(workspace, local)) == (None, (0.0, 0.0))
    plan = planning.Plan(protocol="single", default_model=remote)
    settings = planning.build_settings(plan, BOOK, 1, workspace.models)
    assert planning.unpriced_models(workspace.models, settings) == (remote.spec,)


def test_role_without_a_model_does_not_start_a_run(workspace: Workspace) -> None:
    models.add(workspace, "local", "http://127.0.0.1:9/v1")
    vacant = planning.Plan().with_role_model("judge", RoleModel(connection="local", model=""))
    with pytest.raises(UsageError, match="No model is assigned to judge") as error:
        planning.build_settings(vacant, Codebook(labels=(Label(name="Food", keywords=("soup",)),)), 1, workspace.models)
    assert "'local'" in error.value.remedy


def test_unreachable_server_is_reported(workspace: Workspace) -> None:
    models.add(workspace, "local", f"http://127.0.0.1:{free_port()}/v1")
    listed = models.fresh_listing(workspace, "local")
    assert isinstance(listed.error, Unreachable)
    assert listed.error.remedy
    assert models.model_to_try(workspace, "local", planning.Plan(), listed) is None


def test_prices_are_per_million_tokens(workspace: Workspace) -> None:
    assert models.priced(workspace, RoleModel(connection="builtin", model="lexical")) == (0.0, 0.0)
    price = models.priced(workspace, RoleModel(connection="openai", model="gpt-4.1-mini"))
    assert price is not None
    assert price == pytest.approx((0.4, 1.6))
    assert models.priced(workspace, RoleModel(connection="llamacpp", model="x")) is None
    assert models.priced(workspace, RoleModel(connection="gone", model="x")) is None


def test_plan_keeps_the_role_models_of_other_protocols(tmp_path: Path) -> None:
    judge = RoleModel(connection="openai", model="gpt-4.1-mini")
    plan = planning.Plan(protocol="single").with_role_model("judge", judge)
    assert plan.for_protocol().role_models == {}
    assert plan.role_model("judge") == judge
    same = plan.with_same_model(judge)
    assert (same.default_model, same.role_models) == (judge, {})
