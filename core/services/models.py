"""Model connections: listing, testing, keys, prices and capabilities."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar

from core.engine.preflight import Probe as Probe
from core.errors import ModelError, UsageError
from core.formatting import format_bytes, format_count, format_token_price
from core.llm import connections, embeddings
from core.llm.capabilities import ModelCapabilities as ModelCapabilities
from core.llm.connections import Connection, find_key
from core.llm.connections import Limits as Limits
from core.llm.embeddings import MINILM as MINILM
from core.llm.model_info import ModelCard, list_models
from core.llm.prices import ANY_MODEL
from core.llm.prices import Price as Price
from core.llm.probe import BOOK
from core.runs import RoleModel, RunSettings
from core.services import preferences
from core.services.background_jobs import in_thread
from core.services.runs import control, planning
from core.services.workspace import Workspace

LISTED_SECONDS = 60.0
"""Seconds for which a list of models, and the source of a key, stay cached."""

Stored = TypeVar("Stored")
KeyFrom: TypeAlias = Literal["environment", "keyring", "none", "not needed"]


class ConnectionEntry(Connection, frozen=True):
    """A connection as shown on the Models page.

    ``key_name`` is the environment variable of the key. A connection with ``is_own`` can be removed.
    """

    is_own: bool
    key: KeyFrom
    key_name: str


@dataclass(frozen=True, slots=True)
class ModelListing:
    """Last known models of a connection; ``pending`` while it has not answered."""

    cards: tuple[ModelCard, ...] = ()
    error: ModelError | None = None
    pending: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(card.name for card in self.cards)


def try_model(workspace: Workspace, role_model: RoleModel) -> Probe:
    """Test a model with one tiny request, without using what is cached about it; errors are in the result."""
    return _tested(workspace, role_model)[0]


def probe_capabilities(workspace: Workspace, role_model: RoleModel) -> Probe:
    """Test a model like ``try_model`` and, if it answers, find out its capabilities with four more tiny requests."""
    probe, settings = _tested(workspace, role_model)
    if probe.error is None:
        workspace.engine.submit(workspace.models.probe_capabilities(probe.role_model, settings)).result()
        preferences.keep_capabilities(workspace.models)
    return probe


def _tested(workspace: Workspace, role_model: RoleModel) -> tuple[Probe, RunSettings]:
    plan = planning.Plan(protocol="single", default_model=role_model)
    settings = planning.build_settings(plan, BOOK, 0, workspace.models)
    workspace.models.capabilities.forget(workspace.models.connection(role_model.connection), role_model.model)
    return planning.probe_all(settings, workspace.models, workspace.engine)[0], settings


def minilm_installed() -> bool:
    """Return True if MiniLM can be chosen for vectors."""
    return embeddings.available()


def install_minilm() -> int:
    """Install MiniLM, compute a vector with it and return its length. Raises UsageError."""
    embeddings.install_minilm()
    return int(embeddings.embed_minilm(["A short sentence."]).shape[1])


def try_vectors(workspace: Workspace) -> tuple[int, float]:
    """Return the length of a vector and the seconds that it took, with the vectors in use.

    Blocks. UsageError without vectors, ModelError if the server does not send any.
    """
    embed = embeddings.embedder(workspace.models.embedder_spec, workspace.models.connections)
    if embed is None:
        raise UsageError("No vectors are in use.", "Choose MiniLM or the model of a connection.")
    began = time.monotonic()
    return len(embed(["A short sentence."])[0]), time.monotonic() - began


def known_capabilities(workspace: Workspace, role_model: RoleModel) -> ModelCapabilities | None:
    """Return the known capabilities of a role's model, None if it never answered."""
    connection = workspace.models.connections.get(role_model.connection)
    if connection is None or not role_model.model:
        return None
    return workspace.models.capabilities.seen(connection, role_model.model)


def connection_report(workspace: Workspace, name: str, *, probe: bool = False) -> dict[str, Any]:
    """Return a connection as ``moot models --json`` reports it: its models, or the error that it answers with.

    With ``probe`` the report includes a test of the first model that is not a cloud model of Ollama.
    """
    connection = workspace.models.connection(name)
    report: dict[str, Any] = {"connection": name, "base_url": connection.base_url, "error": None, "models": []}
    try:
        cards = [card for card in list_models(connection) if card.name]
    except ModelError as error:
        return report | {"error": str(error), "kind": error.kind}
    role_models = [RoleModel(connection=name, model=card.name) for card in cards]
    report["models"] = [
        {**asdict(card), "usd_per_million": priced(workspace, role_model)}
        for card, role_model in zip(cards, role_models, strict=True)
    ]
    tested = next((model for model in role_models if not connection.is_cloud(model.model)), None)
    if probe and tested is not None:
        result = probe_capabilities(workspace, tested)
        report["probe"] = {
            "model": tested.model,
            "error": str(result.error) if result.error else None,
            "in_format": result.in_format,
            "seconds": round(result.seconds, 3),
            "dropped": list(result.refused_params),
            "capabilities": _capabilities(known_capabilities(workspace, tested)),
        }
    return report


def describe_model(model: Mapping[str, Any]) -> str:
    """Return the details of a model in a report on one line; empty without any."""
    details = [
        format_bytes(model["size_bytes"]) if model["size_bytes"] else "",
        model["family"],
        model["parameters"],
        "in memory" if model["loaded"] else "",
        format_token_price(model["usd_per_million"]) if model["usd_per_million"] else "",
    ]
    return f"  ({', '.join(filter(None, details))})" if any(details) else ""


def describe_probe(probe: Mapping[str, Any]) -> str:
    """Return the result of a probe in a report on one line."""
    if probe["error"]:
        return f"{probe['model']}: {probe['error']}"
    capabilities = probe["capabilities"] or {}
    parts = [
        "replies in the expected format" if probe["in_format"] else "replies, but not in the expected format",
        f"context {capabilities['context']:,} tokens" if capabilities.get("context") else "",
        f"schema {capabilities['schema']}" if capabilities.get("schema") else "",
        {True: "reproducible with a seed", False: "ignores the seed", None: ""}[capabilities.get("seed")],
        *({True: name, False: f"no {name}", None: ""}[capabilities.get(name)] for name in ("logprobs", "reasoning")),
        f"rejects {', '.join(capabilities['refuses'])}" if capabilities.get("refuses") else "",
    ]
    return f"{probe['model']}: {', '.join(filter(None, parts))}"


def _capabilities(capabilities: ModelCapabilities | None) -> dict[str, Any] | None:
    if capabilities is None:
        return None
    return {
        "context": capabilities.context,
        "temperature": "temperature" not in capabilities.refused_params,
        "seed": capabilities.seed,
        "schema": capabilities.schema or None,
        "logprobs": capabilities.logprobs,
        "reasoning": capabilities.reasons,
        "refuses": sorted(capabilities.refused_params),
    }


def likely_connections(workspace: Workspace) -> list[str]:
    """Return the connections that may answer: the built-in, the user's own, local ones, and those with a key."""
    own_names = {connection.name for connection in preferences.load().connections}
    return [
        connection.name
        for connection in workspace.models.connections.values()
        if connection.is_builtin
        or connection.dialect == "ollama"
        or connection.name in own_names
        or find_key(connection) is not None
    ]


# -- what the page shows


def connection_entries(workspace: Workspace) -> tuple[ConnectionEntry, ...]:
    """Return all connections for the Models page: the built-in, the user's own, then the presets."""
    own_names = {connection.name for connection in preferences.load().connections}
    all_connections = workspace.models.connections.values()
    shown = [_entry(workspace, connection, connection.name in own_names) for connection in all_connections]
    return tuple(sorted(shown, key=lambda connection: (not connection.is_builtin, not connection.is_own)))


def listing(workspace: Workspace, name: str, *, wait: float = 0.8) -> ModelListing:
    """Return the models of a connection, requested in the background and cached for a minute.

    Waits at most ``wait`` seconds.
    """
    connection = workspace.models.connections.get(name)
    if connection is None:
        return ModelListing()
    if connection.is_builtin:
        return ModelListing(list_models(connection))
    return workspace.shared(_Lists).get(connection, wait)


def fresh_listing(workspace: Workspace, name: str) -> ModelListing:
    """Request the models of a connection and wait for them."""
    forget_listing(workspace, name)
    return listing(workspace, name, wait=60.0)


def forget_listing(workspace: Workspace, name: str) -> None:
    """Drop the cached models of a connection."""
    workspace.shared(_Lists).forget(name)


def model_to_try(workspace: Workspace, name: str, plan: planning.Plan, listed: ModelListing) -> str | None:
    """Return the model that a test of a connection uses: one that has a role, else the first free one.

    None where the user should choose.
    """
    for role_model in (*plan.role_models.values(), plan.default_model):
        if role_model.connection == name and role_model.model:
            return role_model.model
    connection = workspace.models.connection(name)
    return next((model for model in listed.names if connection.local and not connection.is_cloud(model)), None)


def first_model(workspace: Workspace, name: str) -> str:
    """Return the default model of a connection, the first one listed; empty if unknown.

    A cloud model of Ollama is not a default: its texts leave this machine.
    """
    names, connection = listing(workspace, name, wait=3.0).names, workspace.models.connections.get(name)
    return next((model for model in names if connection is not None and not connection.is_cloud(model)), "")


def add(workspace: Workspace, name: str, url: str) -> None:
    """Add or replace a connection of the user.

    Raises UsageError for an invalid name or address, for another address of a connection that an active run uses, and
    for one of a connection whose key is in the environment: the key was given for the first address. Names that differ
    only in case, dots, dashes and underscores have the same key, so they cannot have different servers.
    """
    connection = connections.parse_connection(name.strip(), url)
    earlier = workspace.models.connections.get(connection.name)
    others = workspace.models.connections.values()
    connections.check_key(connection, others)
    if (other := connections.other_spelling(connection, others)) is not None:
        raise UsageError(
            f"{connection.name} and {other.name}, with another address, would have the same key.",
            "Choose another name for the new address. Case, dots, dashes and underscores make no difference.",
        )
    if earlier is not None and earlier != connection:
        _require_unused(workspace, connection.name, "change the connection")
    preferences.update(
        lambda saved: saved.with_connections({other.name: other for other in (*saved.connections, connection)}.values())
    )
    workspace.models.add(connection)
    forget_listing(workspace, name.strip())


def remove(workspace: Workspace, name: str) -> None:
    """Remove a connection of the user with its prices and limits; a preset with that name is restored.

    Raises UsageError while an active run uses the connection.
    """
    _require_unused(workspace, name, "remove the connection")
    for spec in own_prices(workspace):
        if spec.startswith(f"{name}/"):
            set_price(workspace, name, spec.removeprefix(f"{name}/"), None)
    set_connection_limits(workspace, name, Limits())
    preferences.update(lambda saved: saved.with_connections(other for other in saved.connections if other.name != name))
    preset = next((preset for preset in connections.PRESETS if preset.name == name), None)
    if preset is not None:
        workspace.models.add(preset)
    else:
        workspace.models.remove(name)
    forget_listing(workspace, name)


def open_batches(workspace: Workspace, name: str) -> list[str]:
    """Return the open batches at a connection in words, for each paused run of the open projects that has any."""
    return [
        f"{format_count(count, 'batch', 'batches')} of {session.run_name(run_id)} in {session.name}"
        for session in workspace.sessions()
        for run_id, count in session.project.jobs.count_paused(name).items()
    ]


def cancel_batches(workspace: Workspace, name: str) -> None:
    """Stop the paused runs of the open projects that have open batches at a connection, which cancels the batches.

    Raises UsageError if the server does not cancel them. The runs are stopped all the same.
    """
    problems = []
    for session in workspace.sessions():
        stopped = [*session.project.jobs.count_paused(name)]
        session.stop(*stopped)
        problems += control.kept_batches(session, stopped)
    if problems:
        raise UsageError(" ".join(problems), "Cancel them in the account of the provider.")


def _require_unused(workspace: Workspace, name: str, action: str) -> None:
    for session in workspace.sessions():
        for run_id in session.open_runs():
            if name in {model.connection for model in session.run(run_id).settings.role_models.values()}:
                raise UsageError(f"A run of {session.name} uses {name}.", f"Pause the run, then {action}.")


def why_no_key_can_be_stored(workspace: Workspace, name: str) -> UsageError | None:
    """Return the error that ``remember_key`` would raise on a machine without a keyring, else None."""
    return None if connections.has_keyring() else connections.no_keyring(workspace.models.connection(name))


def remember_key(workspace: Workspace, name: str, key: str) -> None:
    """Store a key in the system keyring. UsageError for an empty key, and on a machine without a keyring."""
    connection = workspace.models.connection(name)
    if not key.strip():
        raise UsageError(f"No key was entered for {name}.", "Paste it into the field.")
    connections.remember_key(connection, key)
    if find_key(connection) is None:
        raise connections.no_keyring(connection)
    workspace.models.forget_keys()
    workspace.shared(_Keyring).clear()
    forget_listing(workspace, name)


def priced(workspace: Workspace, role_model: RoleModel) -> tuple[float, float] | None:
    """Return dollars per million tokens (prompt, completion) of a role's model, None if the price is unknown."""
    connection = workspace.models.connections.get(role_model.connection)
    if connection is None or not role_model.model:
        return None
    price = workspace.models.prices.price(connection, role_model.model)
    return None if price is None else (price.prompt, price.completion)


def _entry(workspace: Workspace, connection: Connection, is_own: bool) -> ConnectionEntry:
    name = connection.environment_variables[-1]
    source: KeyFrom = "none"
    if connection.is_builtin:
        source = "not needed"
    elif (key_variable := connection.set_variable) is not None:
        source, name = "environment", key_variable
    elif workspace.shared(_Keyring).has_key(connection):
        source = "keyring"
    elif connection.local:
        source = "not needed"
    return ConnectionEntry(**connection.model_dump(), is_own=is_own, key=source, key_name=name)


class _Lists:
    """Model lists, requested in threads of their own so that a slow server delays no page."""

    def __init__(self, ask: Callable[[Connection], tuple[ModelCard, ...]] = list_models) -> None:
        self._ask = ask
        self._guard = threading.Lock()
        self._listings: dict[str, tuple[Connection, float, Future[ModelListing]]] = {}

    def get(self, connection: Connection, wait: float) -> ModelListing:
        with self._guard:
            cached = self._listings.get(connection.name)
            if cached is None or cached[0] != connection or time.monotonic() - cached[1] > LISTED_SECONDS:
                answer = in_thread(lambda: self._list(connection), "moot-listing")
                self._listings[connection.name] = (connection, time.monotonic(), answer)
            else:
                answer = cached[2]
        try:
            return answer.result(wait)
        except TimeoutError:
            return ModelListing(pending=True)

    def forget(self, name: str) -> None:
        with self._guard:
            self._listings.pop(name, None)

    def _list(self, connection: Connection) -> ModelListing:
        try:
            return ModelListing(self._ask(connection))
        except ModelError as error:
            return ModelListing(error=error)
        except Exception as error:  # whatever a server makes a client library raise must not leave the page waiting
            return ModelListing(error=ModelError(f"{connection.name}: {error}."))


class _Keyring(dict[Connection, tuple[float, bool]]):
    """Time and result of the last look into the system keyring, which may be slow, for each connection."""

    def has_key(self, connection: Connection) -> bool:
        looked_at, has_key = self.get(connection, (-LISTED_SECONDS, False))
        if time.monotonic() - looked_at > LISTED_SECONDS:
            has_key = find_key(connection) is not None
            self[connection] = (time.monotonic(), has_key)
        return has_key


def own_prices(workspace: Workspace) -> dict[str, Price]:
    """Return all of the user's own prices by ``connection/model``."""
    return dict(sorted(workspace.models.prices.user_prices.items()))


def set_price(workspace: Workspace, connection: str, model: str, price: Price | None) -> None:
    """Store a price for a model; ``*`` sets it for all models of a connection, None removes it.

    Raises UsageError without a model.
    """
    if not model.strip():
        raise UsageError("A price needs a model.", f"Enter a name, or {ANY_MODEL} for all models of the connection.")
    spec = f"{connection}/{model.strip()}"
    prices = workspace.models.prices
    prices.user_prices = _with_entry(prices.user_prices, spec, price)
    preferences.update(lambda saved: saved.model_copy(update={"prices": _with_entry(saved.prices, spec, price)}))


def connection_limits(workspace: Workspace, connection: str) -> Limits:
    """Return the rate limits of a connection."""
    return workspace.models.own_limits.get(connection, Limits())


def set_connection_limits(workspace: Workspace, connection: str, limits: Limits) -> None:
    """Store the rate limits of a connection for runs that start from now on."""
    kept = None if limits.empty else limits
    workspace.models.own_limits = _with_entry(workspace.models.own_limits, connection, kept)
    preferences.update(lambda saved: saved.model_copy(update={"limits": _with_entry(saved.limits, connection, kept)}))


def _with_entry(entries: Mapping[str, Stored], name: str, value: Stored | None) -> dict[str, Stored]:
    """Return entries in which a name has this value, or (None) is missing."""
    others = {other: stored for other, stored in entries.items() if other != name}
    return others if value is None else {**others, name: value}


def affordable_models(
    workspace: Workspace, connection: str, names: Iterable[str], ceiling: float | None
) -> tuple[str, ...]:
    """Return the models with a known reply price up to the ceiling; all models without a ceiling."""
    server = workspace.models.connections.get(connection)
    if ceiling is None or server is None:
        return tuple(names)
    priced = ((name, workspace.models.prices.price(server, name)) for name in names)
    return tuple(name for name, price in priced if price is not None and price.completion <= ceiling + 1e-9)


def model_presets() -> dict[str, preferences.RoleModels]:
    """Return the saved model presets by name, in alphabetical order."""
    return dict(sorted(preferences.load().presets.items()))


def save_preset(name: str, plan: planning.Plan) -> str:
    """Save the plan's role models under a name, replacing a preset with that name, and return the cleaned name.

    Raises UsageError without a name.
    """
    name = " ".join(name.split())[:60]
    if not name:
        raise UsageError("A preset needs a name.", "Enter one, for example: cheap, local or final.")
    role_models = preferences.RoleModels(default_model=plan.default_model, role_models=dict(plan.role_models))
    preferences.update(
        lambda saved: saved.model_copy(update={"presets": _with_entry(saved.presets, name, role_models)})
    )
    return name


def delete_preset(name: str) -> None:
    """Delete a preset."""
    preferences.update(lambda saved: saved.model_copy(update={"presets": _with_entry(saved.presets, name, None)}))


def apply_preset(plan: planning.Plan, role_models: preferences.RoleModels) -> planning.Plan:
    """Return the plan with the role models of a preset."""
    return replace(plan, default_model=role_models.default_model, role_models=dict(role_models.role_models))
