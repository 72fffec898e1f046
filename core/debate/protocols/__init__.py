"""The registry of protocols: name -> roles, number of asks, and the generator itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from core.codebook import Kind
from core.debate.case import Protocol
from core.debate.protocols import ecj, single
from core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Role:
    """A seat in a protocol. ``does`` says in a few words what its holder is there for."""

    name: str
    title: str
    does: str


@dataclass(frozen=True, slots=True)
class ProtocolCard:
    """What the rooms need to know of a protocol. ``asks`` is the number of asks on a document, all replies readable.

    ``decides`` is the role whose list becomes the verdict.
    """

    name: str
    title: str
    summary: str
    roles: tuple[Role, ...]
    decides: str
    asks: int
    kinds: tuple[Kind, ...]
    source: str
    debate: Protocol

    @property
    def role_names(self) -> tuple[str, ...]:
        """Names of the roles in speaking order."""
        return tuple(role.name for role in self.roles)


_CARDS = (
    ProtocolCard(
        name="ecj",
        title="Extractor, Critic, Judge",
        summary="One claims with quotes, one objects, one decides among what they named.",
        roles=(
            Role("extractor", "Extractor", "names labels and quotes the words that speak for them"),
            Role("critic", "Critic", "argues against, or agrees where there is no ground"),
            Role("judge", "Judge", "weighs both and decides"),
        ),
        decides="judge",
        asks=3,
        kinds=("multilabel",),
        source="Maada et al., ECJ-LLM",
        debate=ecj.debate,
    ),
    ProtocolCard(
        name="single",
        title="Single annotator",
        summary="One model, one answer: the baseline that a debate has to beat.",
        roles=(Role("annotator", "Annotator", "names the labels"),),
        decides="annotator",
        asks=1,
        kinds=("multilabel",),
        source="Maada et al., ECJ-LLM, section 5.1.1",
        debate=single.debate,
    ),
)

PROTOCOLS: Mapping[str, ProtocolCard] = MappingProxyType({card.name: card for card in _CARDS})


def find(name: str) -> ProtocolCard:
    """The protocol of this name; UsageError naming those there are."""
    try:
        return PROTOCOLS[name]
    except KeyError:
        known = ", ".join(PROTOCOLS)
        raise UsageError(f"There is no protocol '{name}'.", f"Choose one of: {known}.") from None
