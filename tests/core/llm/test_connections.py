"""Tests of connections: a key is sent only to the origin for which it was set."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import keyring
import keyring.backend
import pytest

from core.debate.turns import Usage
from core.llm.connections import PRESETS, Connection, find_key, parse_connection, remember_key
from core.llm.model_library import ModelLibrary
from core.runs import RoleModel
from tests.each_row import each_row

KEY = "sk-secret"
PROVIDERS = [preset for preset in PRESETS if len(preset.environment_variables) == 2]


class MemoryKeyring(keyring.backend.KeyringBackend):
    """Keyring in memory."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password


@pytest.fixture
def memory() -> Iterator[MemoryKeyring]:
    before = keyring.get_keyring()
    memory_keyring = MemoryKeyring()
    keyring.set_keyring(memory_keyring)
    yield memory_keyring
    keyring.set_keyring(before)


@each_row(
    ("old", "new", "dialect"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:8000/v1", "ollama"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:11434", "openai"),
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434", "openai"),
        ("http://127.0.0.1:9000", "http://127.0.0.1:11434", "ollama"),
        ("https://models.example/openai", "http://127.0.0.1:8000/v1", "openai"),
    ],
)
def test_run_keeps_the_api_of_its_address(old: str, new: str, dialect: str) -> None:
    role_model = RoleModel(connection="lab", model="m", base_url=old)
    connection = ModelLibrary([parse_connection("lab", new)]).connection_of(role_model)
    assert (connection.base_url, connection.dialect) == (old, dialect)


@pytest.mark.parametrize("preset", PROVIDERS, ids=lambda preset: preset.name)
def test_customary_key_of_a_provider_is_sent_to_the_provider_only(
    preset: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    moot_variable, customary = preset.environment_variables
    monkeypatch.setenv(customary, KEY)
    assert find_key(preset) == KEY
    host = preset.base_url.removeprefix("https://")
    for address in (
        "http://127.0.0.1:9/v1",
        f"http://{host}",
        f"https://evil.example/{host}",
        preset.base_url.replace("https://", "https://evil."),
        f"{preset.origin.removesuffix(':443')}:8443/v1",
    ):
        edited = parse_connection(preset.name, address)
        assert find_key(edited) is None
        assert moot_variable in edited.key_remedy


def test_own_variable_of_a_connection_is_for_the_address_that_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_OPENAI_API_KEY", KEY)
    assert find_key(parse_connection("openai", "http://127.0.0.1:9/v1")) == KEY


def test_key_of_a_custom_connection_comes_from_its_own_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_LOCAL_API_KEY", KEY)
    assert find_key(parse_connection("local", "http://127.0.0.1:9/v1")) == KEY
    assert find_key(parse_connection("other", "http://127.0.0.1:9/v1")) is None


def test_key_in_the_keyring_belongs_to_one_origin(memory: MemoryKeyring) -> None:
    remember_key(parse_connection("mine", "https://models.example/v1"), KEY)
    assert find_key(parse_connection("mine", "https://models.example:443/v1/other")) == KEY
    for address in ("http://models.example/v1", "https://models.example:444/v1", "https://evil.example/v1"):
        assert find_key(parse_connection("mine", address)) is None
    assert find_key(parse_connection("yours", "https://models.example/v1")) is None


@each_row(
    ("address", "base_url"),
    [
        ("http://127.0.0.1:11434/api", "http://127.0.0.1:11434"),
        ("http://127.0.0.1:11434/api/chat", "http://127.0.0.1:11434"),
        ("http://127.0.0.1:11434/api/generate/", "http://127.0.0.1:11434"),
        ("http://127.0.0.1:11434/v1/chat/completions", "http://127.0.0.1:11434/v1"),
        ("http://models.example/api", "http://models.example/api"),
        ("http://0.0.0.0:8000/v1//", "http://0.0.0.0:8000/v1"),
    ],
)
def test_end_of_a_pasted_address_that_names_an_endpoint_is_removed(address: str, base_url: str) -> None:
    connection = parse_connection("mine", address)
    assert connection.base_url == base_url
    assert connection.local == ("example" not in address)


def test_run_that_keeps_an_address_keeps_its_price() -> None:
    models = ModelLibrary([Connection(name="mine", base_url="https://api.openai.com/v1")])
    role_model = models.resolve(RoleModel.parse("mine/gpt-4.1-mini"))
    cost = models.cost(role_model, Usage(prompt_tokens=1_000_000))
    assert cost
    models.add(Connection(name="mine", base_url="http://127.0.0.1:11434", dialect="ollama"))
    assert models.cost(role_model, Usage(prompt_tokens=1_000_000)) == cost


def test_model_at_an_address_that_a_run_keeps_is_known_to_reason() -> None:
    models = ModelLibrary([Connection(name="mine", base_url="http://127.0.0.1:1/v1")])
    role_model = models.resolve(RoleModel.parse("mine/m"))
    models.capabilities.get(models.connection("mine"), "m").reasons = True
    models.add(Connection(name="mine", base_url="http://127.0.0.1:2/v1"))
    assert models.reasons(role_model)


def test_builtin_models_need_no_look_into_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.llm.model_library.find_key", lambda connection: f"a key of {connection.name}")
    models = ModelLibrary()
    assert asyncio.run(models.key(models.connection("builtin"))) is None
    assert asyncio.run(models.key(models.connection("openai"))) == "a key of openai"
