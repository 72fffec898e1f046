"""The user's own prices and limits for models, stored in the preferences and effective at once."""

from __future__ import annotations

from collections.abc import Iterable

from core.errors import UsageError
from core.llm.connections import Limits as Limits
from core.llm.connections import Price as Price
from core.llm.models import ModelLibrary
from core.llm.prices import ANY_MODEL
from core.runs import RoleModel, RunSettings
from core.services import preferences
from core.services.workspace import Workspace


def own_price(workspace: Workspace, role_model: RoleModel) -> Price | None:
    """Return the user's own price for a model or for all models of its connection."""
    place = workspace.models.connections.get(role_model.connection)
    return None if place is None else workspace.models.prices.own_price(place, role_model.model)


def own_prices(workspace: Workspace) -> dict[str, Price]:
    """Return all of the user's own prices by ``connection/model``."""
    return dict(sorted(workspace.models.prices.own.items()))


def set_price(workspace: Workspace, connection: str, model: str, price: Price | None) -> None:
    """Store a price for a model; ``*`` sets it for all models of a connection, None removes it.

    Raises UsageError without a model.
    """
    if not model.strip():
        raise UsageError("A price needs a model.", f"Enter a name, or {ANY_MODEL} for all models of the connection.")
    spec = f"{connection}/{model.strip()}"
    own = {other: known for other, known in workspace.models.prices.own.items() if other != spec}
    workspace.models.prices.own = own if price is None else {**own, spec: price}
    preferences.save(preferences.load().model_copy(update={"prices": workspace.models.prices.own}))


def connection_limits(workspace: Workspace, connection: str) -> Limits:
    """Return the rate limits of a connection."""
    return workspace.models.own_limits.get(connection, Limits())


def set_connection_limits(workspace: Workspace, connection: str, limits: Limits) -> None:
    """Store the rate limits of a connection for runs that start from now on."""
    own = {name: known for name, known in workspace.models.own_limits.items() if name != connection}
    workspace.models.own_limits = own if limits.empty else {**own, connection: limits}
    preferences.save(preferences.load().model_copy(update={"limits": workspace.models.own_limits}))


def price_ceiling() -> float | None:
    """Return the maximum price of offered models in dollars per million reply tokens; None offers all models."""
    return preferences.load().ceiling


def set_price_ceiling(dollars: float | None) -> None:
    """Offer only models up to this price."""
    preferences.save(preferences.load().model_copy(update={"ceiling": dollars}))


def affordable_models(
    workspace: Workspace, connection: str, names: Iterable[str], ceiling: float | None
) -> tuple[str, ...]:
    """Return the models with a known reply price up to the ceiling; all models without a ceiling."""
    place = workspace.models.connections.get(connection)
    if ceiling is None or place is None:
        return tuple(names)
    priced = ((name, workspace.models.prices.rates(place, name)) for name in names)
    return tuple(name for name, rates in priced if rates is not None and rates[2] * 1e6 <= ceiling + 1e-9)


def unpriced_models(models: ModelLibrary, settings: RunSettings) -> tuple[str, ...]:
    """Return the remote models of a run without a known price: the user has to confirm before it starts."""
    unpriced = (
        role_model.spec
        for role_model in settings.role_models.values()
        if not models.place(role_model.connection).local and not models.priced(role_model)
    )
    return tuple(dict.fromkeys(unpriced))
