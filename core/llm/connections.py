"""Connections: the addresses of models, their keys and limits."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import BaseModel, Field

from core.errors import UsageError
from core.runs import BUILTIN

Dialect: TypeAlias = Literal["builtin", "openai", "ollama"]
OLLAMA_PORT = 11434
KEYRING_SERVICE = "moot"
_ENDPOINT = re.compile(r"/*(/(chat/completions|completions|models|embeddings|responses))?/*$")
"""End of a pasted address that is not a part of the base URL."""
_OLLAMA_ENDPOINT = re.compile(r"/api(/\w+)?$")
_CLOUD_MODEL = re.compile(r"[:-]cloud$")
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")


class Connection(BaseModel, frozen=True, extra="forbid"):
    """A named server. ``base_url`` has no trailing slash; ``dialect`` is its API."""

    name: str
    base_url: str
    dialect: Dialect = "openai"

    @property
    def is_builtin(self) -> bool:
        """True for the built-in models' connection, which is not a server."""
        return self.dialect == "builtin"

    @property
    def local(self) -> bool:
        """True if the server is on this machine."""
        return not self.base_url or (urlsplit(self.base_url).hostname or "") in _THIS_MACHINE

    def is_cloud(self, model: str) -> bool:
        """Return True for a model that Ollama sends to its cloud, by its name."""
        return self.dialect == "ollama" and _CLOUD_MODEL.search(model) is not None

    @property
    def origin(self) -> str:
        """Scheme, host and port of the address. A key belongs to one origin."""
        parts = urlsplit(self.base_url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}"

    def at(self, base_url: str) -> Connection:
        """Return the connection at the address of an older run, which may be of another API."""
        if base_url == self.base_url or self.is_builtin:
            return self
        parts = urlsplit(base_url)
        dialect = "openai" if parts.path.endswith("/v1") else "ollama" if parts.port == OLLAMA_PORT else self.dialect
        return self.model_copy(update={"base_url": base_url, "dialect": dialect})

    @property
    def environment_variables(self) -> tuple[str, ...]:
        """Names of the environment variables for the key, in order.

        The provider's customary variable is only for the provider's own address.
        """
        variable = f"MOOT_{re.sub(r'[^A-Z0-9]', '_', self.name.upper())}_API_KEY"
        provider = next((preset for preset in PRESETS if preset.name == self.name), None)
        if provider is None or provider.origin != self.origin or self.name not in _CUSTOMARY:
            return (variable,)
        return variable, _CUSTOMARY[self.name]

    @property
    def set_variable(self) -> str | None:
        """Name of the environment variable that holds the key, None if there is none."""
        return next((name for name in self.environment_variables if os.environ.get(name, "").strip()), None)

    @property
    def key_remedy(self) -> str:
        """Instruction to provide a key."""
        return f"Set {self.environment_variables[-1]} or type a key on the Models page."


_THIS_MACHINE = frozenset({"127.0.0.1", "localhost", "::1", "0.0.0.0"})
_CUSTOMARY: Mapping[str, str] = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "xai": "XAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
}

PRESETS: tuple[Connection, ...] = (
    Connection(name=BUILTIN, base_url="", dialect="builtin"),
    Connection(name="openai", base_url="https://api.openai.com/v1"),
    Connection(name="ollama", base_url="http://127.0.0.1:11434", dialect="ollama"),
    Connection(name="llamacpp", base_url="http://127.0.0.1:8080/v1"),
    Connection(name="lmstudio", base_url="http://127.0.0.1:1234/v1"),
    Connection(name="vllm", base_url="http://127.0.0.1:8000/v1"),
    Connection(name="anthropic", base_url="https://api.anthropic.com/v1"),
    Connection(name="gemini", base_url="https://generativelanguage.googleapis.com/v1beta/openai"),
    Connection(name="xai", base_url="https://api.x.ai/v1"),
    Connection(name="openrouter", base_url="https://openrouter.ai/api/v1"),
)


def parse_connection(name: str, url: str, dialect: Dialect | None = None) -> Connection:
    """Return a connection from a name and an address that a person entered.

    Without a dialect, the name ``ollama`` or Ollama's port selects Ollama's API, unless the path ends in ``/v1``. Any
    other address is OpenAI-compatible. Raises UsageError for an invalid name or address.
    """
    if not _NAME.match(name):
        raise UsageError(
            f"'{name}' is not a valid connection name.", "Use letters, digits, dots, dashes and underscores."
        )
    if name == BUILTIN:
        raise UsageError(f"'{BUILTIN}' is the built-in model's own name.", "Choose another.")
    url = _ENDPOINT.sub("", url.strip())
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UsageError(f"'{url}' is not an address.", "Write it like http://127.0.0.1:8081/v1.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"'{url}' is not an address.", "Write it like http://127.0.0.1:8081/v1.")
    if parts.username or parts.password:
        raise UsageError(f"{name}: an address must not contain a key.", "Set it in the environment.")
    if parts.query or parts.fragment:
        raise UsageError(
            f"{name}: an address ends before '{'?' if parts.query else '#'}'.",
            "Set a key in the environment; Azure's own address without a version ends in /openai/v1.",
        )
    if dialect is None:
        native = (name == "ollama" or port == OLLAMA_PORT) and not parts.path.endswith("/v1")
        dialect = "ollama" if native else "openai"
    if dialect == "ollama":
        url = _OLLAMA_ENDPOINT.sub("", url)
    return Connection(name=name, base_url=url, dialect=dialect)


def check_key(connection: Connection, others: Iterable[Connection]) -> None:
    """Raise UsageError if the key for a connection in the environment is that of another server.

    The names of ``others`` may have the same variable, because it has no case, dots and dashes.
    """
    variable = connection.set_variable
    for other in others:
        if variable in other.environment_variables and _has_other_key(other, connection):
            raise UsageError(
                f"{variable} is the key for {other.base_url}, so {connection.name} cannot have another address.",
                "Choose another name for the new address. Case, dots, dashes and underscores make no difference.",
            )


def other_spelling(connection: Connection, others: Iterable[Connection]) -> Connection | None:
    """Return a connection to another server whose name has the same variable as this one's, None without one."""
    variable = connection.environment_variables[0]
    spelled = (other for other in others if other.name != connection.name)
    same = (other for other in spelled if other.environment_variables[0] == variable)
    return next((other for other in same if _has_other_key(other, connection)), None)


def _has_other_key(other: Connection, connection: Connection) -> bool:
    """Return True if the key for one connection is not for the other.

    A preset on this machine is only a default: the key of its name may be for another address.
    """
    return other.origin != connection.origin and not (other.local and other in PRESETS)


def find_key(connection: Connection) -> str | None:
    """Return the key for a connection from the environment, else from the system keyring, else None.

    The key is stored nowhere else. White space in a key comes from pasting and is removed, because it cannot be sent.
    """
    for variable in connection.environment_variables:
        if value := "".join(os.environ.get(variable, "").split()):
            return value
    import keyring
    from keyring.errors import KeyringError

    try:
        stored = keyring.get_password(KEYRING_SERVICE, f"{connection.name} {connection.origin}")
    except (KeyringError, RuntimeError, OSError):
        return None
    return "".join((stored or "").split()) or None


def key_headers(key: str | None) -> dict[str, str]:
    """Return the HTTP headers that send a key; empty without one."""
    return {"authorization": f"Bearer {key}"} if key else {}


def remember_key(connection: Connection, key: str) -> None:
    """Store a key for this connection and origin in the system keyring. Raises UsageError if the machine has none."""
    import keyring
    from keyring.errors import KeyringError

    try:
        keyring.set_password(KEYRING_SERVICE, f"{connection.name} {connection.origin}", key.strip())
    except (KeyringError, RuntimeError) as error:
        raise no_keyring(connection) from error


def has_keyring() -> bool:
    """Return False if the only keyring of this machine is one that stores nothing."""
    import keyring

    return keyring.get_keyring().priority > 0


def no_keyring(connection: Connection) -> UsageError:
    """Return the error for a machine without a keyring."""
    variable = connection.environment_variables[-1]
    return UsageError(
        "This machine has no keyring that Moot can use.", f"Set {variable} in the environment and start Moot again."
    )


class Limits(BaseModel, frozen=True, extra="forbid"):
    """Rate limits of a connection. None: limited only by the run's own concurrency."""

    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    """Prompt and reply tokens together."""
    at_once: int | None = Field(default=None, ge=1)
    """Number of calls in flight."""

    def combined_with(self, other: Limits) -> Limits:
        """Return these limits combined with others: the lower of each."""
        return Limits(**{name: lowest(limit, getattr(other, name)) for name, limit in self})

    def divided(self, parts: int) -> Limits:
        """Return the share of each of so many workers, at least 1 of each limit."""
        return Limits(**{name: max(1, limit // parts) for name, limit in self if limit is not None})

    @property
    def empty(self) -> bool:
        """True if there are no limits."""
        return self == Limits()


def lowest(*limits: int | None) -> int | None:
    """Return the lowest limit, None if there is none."""
    return min((limit for limit in limits if limit is not None), default=None)
