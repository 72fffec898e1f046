"""Registry of protocols by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from core.codebook import Kind
from core.debate.protocol_spec import Params, ProtocolSpec
from core.debate.protocols import courtroom, custom, discussion, ecj, panel, single
from core.debate.turns import Role
from core.documents import VERDICT
from core.errors import UsageError
from core.runs import RunSettings

PROTOCOLS: Mapping[str, ProtocolSpec] = MappingProxyType(
    {spec.name: spec for spec in (ecj.SPEC, single.SPEC, discussion.SPEC, courtroom.SPEC, panel.SPEC, custom.spec())}
)


def find(name: str, params: Params = MappingProxyType({})) -> ProtocolSpec:
    """Return the protocol of this name; a custom protocol is built from the description among ``params``.

    Raises UsageError, naming the known protocols, for an unknown name, and for a description with mistakes.
    """
    if name == custom.NAME:
        return custom.spec(str(params.get(custom.SCRIPT, "")))
    try:
        return PROTOCOLS[name]
    except KeyError:
        names = ", ".join(known for known in PROTOCOLS if known != custom.NAME)
        raise UsageError(f"Unknown protocol '{name}'.", f"Choose one of: {names}, or a protocol file (YAML).") from None


def supporting(kind: Kind) -> list[str]:
    """Return the names of the protocols that support this kind of codebook."""
    return [name for name, spec in PROTOCOLS.items() if kind in spec.kinds]


def for_settings(settings: RunSettings) -> ProtocolSpec:
    """Return the protocol of a run. Raises UsageError if this version of Moot does not have it."""
    return find(settings.protocol, settings.params)


def known(settings: RunSettings) -> ProtocolSpec | None:
    """Return the protocol of a run, None if this version of Moot does not have it or cannot read its parameters."""
    try:
        roles_of(settings)
        return for_settings(settings)
    except UsageError:
        return None


def short_title(settings: RunSettings) -> str:
    """Return the short title of a run's protocol: "ECJ", "Discussion"; its name if this version does not have it."""
    spec = known(settings)
    return spec.short_title if spec else settings.protocol


def roles_of(settings: RunSettings) -> tuple[Role, ...]:
    """Return the roles of a run in speaking order, for its parameters. Raises UsageError like ``for_settings``."""
    return for_settings(settings).roles(params_of(settings))


def shots(settings: RunSettings) -> int:
    """Return the number of examples that a run's prompts show. Raises UsageError like ``for_settings``."""
    return for_settings(settings).shots(settings.params)


def samples_vote(settings: RunSettings) -> bool:
    """Return True if the verdicts of a run are the votes of several samples of its only role."""
    spec = known(settings)
    return spec is not None and len(settings.role_models) == 1 and spec.deciding_role(params_of(settings)) == VERDICT


def params_of(settings: RunSettings) -> Params:
    """Return the parameters of a run, with defaults for missing ones. Raises UsageError like ``for_settings``."""
    return {**for_settings(settings).parse_params(), **settings.params}
