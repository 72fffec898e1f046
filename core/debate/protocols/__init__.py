"""The registry of protocols: name -> card, with the generator itself."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from core.debate.protocols import courtroom, custom, discussion, ecj, panel, single
from core.debate.spec import Asks, Param, Params, Preset, ProtocolSpec, Treatment
from core.debate.turns import Role, family
from core.errors import UsageError
from core.runs import RunSettings

__all__ = [
    "PROTOCOLS", "Asks", "Param", "Params", "Preset", "ProtocolCard", "Role", "Treatment", "family", "find", "of",
    "params_of", "roles_of",
]  # fmt: skip

PROTOCOLS: Mapping[str, ProtocolSpec] = MappingProxyType(
    {card.name: card for card in (ecj.CARD, single.CARD, discussion.CARD, courtroom.CARD, panel.CARD, custom.card())}
)


def find(name: str, params: Params = MappingProxyType({})) -> ProtocolSpec:
    """The protocol of this name; one of somebody's own is made from the description among ``params``. UsageError naming
    those there are, and for a description that is wrong."""
    if name == custom.NAME:
        return custom.card(str(params.get(custom.SCRIPT, "")))
    try:
        return PROTOCOLS[name]
    except KeyError:
        known = ", ".join(PROTOCOLS)
        raise UsageError(f"There is no protocol '{name}'.", f"Choose one of: {known}.") from None


def of(settings: RunSettings) -> ProtocolSpec:
    """The protocol of a run; UsageError when this version of Moot has none of that name."""
    return find(settings.protocol, settings.params)


def roles_of(settings: RunSettings) -> tuple[Role, ...]:
    """The roles of a run in speaking order, as its parameters make them. UsageError like ``of``."""
    return of(settings).roles(params_of(settings))


def params_of(settings: RunSettings) -> Params:
    """The parameters of a run, with the defaults of those that it was frozen without. UsageError like ``of``."""
    return {**of(settings).settled(), **settings.params}
