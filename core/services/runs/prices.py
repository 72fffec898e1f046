"""What a person says of prices and limits, kept with the preferences and in force at once."""

from __future__ import annotations

from collections.abc import Iterable

from core.errors import UsageError
from core.llm.limits import Limits as Limits
from core.llm.limits import Price as Price
from core.llm.models import ModelLibrary
from core.llm.prices import ANY_MODEL
from core.runs import RoleModel, RunSettings
from core.services import preferences
from core.services.workspace import Workspace


def own_price(workspace: Workspace, role_model: RoleModel) -> Price | None:
    """The price that the person typed for a seat's model, or for all models of its connection."""
    place = workspace.models.connections.get(role_model.connection)
    return None if place is None else workspace.models.prices.own_price(place, role_model.model)


def own_prices(workspace: Workspace) -> dict[str, Price]:
    """All prices that the person typed, by ``connection/model``."""
    return dict(sorted(workspace.models.prices.own.items()))


def set_price(workspace: Workspace, connection: str, model: str, price: Price | None) -> None:
    """Keep a price for a model, or with ``*`` for all of a connection that have none of their own; None takes it back.
    UsageError without a model."""
    if not model.strip():
        raise UsageError("A price needs a model.", f"Name one, or {ANY_MODEL} for all of the connection's.")
    spec = f"{connection}/{model.strip()}"
    own = {other: known for other, known in workspace.models.prices.own.items() if other != spec}
    workspace.models.prices.own = own if price is None else {**own, spec: price}
    preferences.save(preferences.load().model_copy(update={"prices": workspace.models.prices.own}))


def connection_limits(workspace: Workspace, connection: str) -> Limits:
    """What a connection may be asked."""
    return workspace.models.own_limits.get(connection, Limits())


def set_connection_limits(workspace: Workspace, connection: str, limits: Limits) -> None:
    """Keep what a connection may be asked; runs that begin from now on keep to it."""
    own = {name: known for name, known in workspace.models.own_limits.items() if name != connection}
    workspace.models.own_limits = own if limits.empty else {**own, connection: limits}
    preferences.save(preferences.load().model_copy(update={"limits": workspace.models.own_limits}))


def price_ceiling() -> float | None:
    """Dollars for a million tokens of reply above which models are not offered; None offers all."""
    return preferences.load().ceiling


def set_price_ceiling(dollars: float | None) -> None:
    """Offer only models up to this price."""
    preferences.save(preferences.load().model_copy(update={"ceiling": dollars}))


def affordable_models(
    workspace: Workspace, connection: str, names: Iterable[str], ceiling: float | None
) -> tuple[str, ...]:
    """The models whose price for replies is known and not above the ceiling; all where there is none."""
    place = workspace.models.connections.get(connection)
    if ceiling is None or place is None:
        return tuple(names)
    priced = ((name, workspace.models.prices.rates(place, name)) for name in names)
    return tuple(name for name, rates in priced if rates is not None and rates[2] * 1e6 <= ceiling + 1e-9)


def unpriced_models(models: ModelLibrary, settings: RunSettings) -> tuple[str, ...]:
    """Models on a run's seats, elsewhere than on this machine, whose price nobody knows: a person should say yes
    first."""
    strangers = (
        role_model.spec
        for role_model in settings.role_models.values()
        if not models.place(role_model.connection).local and not models.priced(role_model)
    )
    return tuple(dict.fromkeys(strangers))
