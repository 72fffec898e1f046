"""What is declared of a protocol: its roles, parameters, presets, number of asks, and the kinds of label it does.

The setup form, the seating table, the estimates, ``--param`` and the board are all drawn from a card; nothing about a
protocol is said a second time elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from core import prompts
from core.annotations import VERDICT
from core.codebook import Codebook, Kind
from core.debate.context import Protocol
from core.debate.turns import Role, family
from core.errors import UsageError
from core.runs import Template

__all__ = ["Asks", "Form", "Param", "Params", "Preset", "ProtocolSpec", "Role", "Treatment", "exactly", "family"]

ParamValue: TypeAlias = bool | int | float | str
Params: TypeAlias = Mapping[str, Any]
"""Parsed parameters of a protocol: a value for every one that it declares."""

Form: TypeAlias = Literal["chain", "round", "court", "panels"]
"""What a debate looks like: one after another, around a table, before a court, in groups."""

PRESET = "preset"
"""The parameter that every protocol with presets takes besides its own."""

_TRUE, _FALSE = ("true", "yes", "1", "on"), ("false", "no", "0", "off")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Asks:
    """How many asks, all replies readable: from ``least`` (the debate ends as early as it can) to ``most``."""

    least: int
    most: int

    def __add__(self, other: Asks) -> Asks:
        return Asks(self.least + other.least, self.most + other.most)

    def __str__(self) -> str:
        return f"{self.most}" if self.least == self.most else f"{self.least} to {self.most}"


def exactly(count: int) -> Asks:
    """The same number whatever is said."""
    return Asks(count, count)


@dataclass(frozen=True, slots=True)
class Treatment:
    """How a protocol does one kind of label: what a consensus is about, how it votes, and what a tie becomes."""

    unit: str
    vote: str
    tie: str


PER_LABEL = Treatment(
    "all labels together: identical lists", "the majority, label by label", "that label is unresolved"
)
PER_CHOICE = Treatment("the chosen label", "the label that more chose than any other", "unresolved")
PER_DIMENSION = Treatment(
    "each dimension: ratings within a set distance", "the median, dimension by dimension", "the mean of the middle two"
)


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter: its type is that of ``default``. ``choices`` map a value to what it is called; ``matters`` says
    whether it does anything given the others (a form hides it otherwise)."""

    name: str
    title: str
    default: ParamValue
    help: str
    choices: Mapping[str, str] = field(default_factory=dict)
    least: float | None = None
    most: float | None = None
    matters: Callable[[Params], bool] = lambda _params: True
    hidden: bool = False
    """Whether a form leaves it out, as something else on the page sets it."""

    def read(self, value: object, where: str) -> ParamValue:
        """``value``, which may be text, as this parameter's type. UsageError naming what there is."""
        text = str(value).strip()
        if isinstance(self.default, bool):
            if text.lower() not in (*_TRUE, *_FALSE):
                raise UsageError(f"{where}: {self.name} is yes or no, not '{text}'.", f"Write {self.name}=yes or =no.")
            return text.lower() in _TRUE
        if self.choices:
            if text not in self.choices:
                known = ", ".join(self.choices)
                raise UsageError(f"{where}: {self.name} cannot be '{text}'.", f"Choose one of: {known}.")
            return text
        if isinstance(self.default, str):
            return text
        try:
            number = int(text) if isinstance(self.default, int) else float(text)
        except ValueError:
            what = "a whole number" if isinstance(self.default, int) else "a number"
            raise UsageError(f"{where}: {self.name} is {what}, not '{text}'.", f"{self.span}.") from None
        below = self.least is not None and not number >= self.least
        if below or (self.most is not None and not number <= self.most):
            raise UsageError(f"{where}: {self.name} cannot be {text}.", f"{self.span}.")
        return number

    @property
    def span(self) -> str:
        """What it can be, in words."""
        if self.choices:
            return f"One of: {', '.join(self.choices)}"
        if isinstance(self.default, bool):
            return "Yes or no"
        if self.least is not None and self.most is not None:
            return f"From {self.least:g} to {self.most:g}"
        return f"At least {self.least:g}" if self.least is not None else "Any"


@dataclass(frozen=True, slots=True)
class Preset:
    """Parameters and temperatures under a name. ``temperature`` maps a family of roles (or ``""`` for all) to the
    temperature of its seats, where a seat does not set its own."""

    title: str
    params: Mapping[str, ParamValue] = field(default_factory=dict)
    temperature: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProtocolSpec:
    """What the rooms, the command line and the engine need to know of a protocol.

    ``asks`` gives for each role the number of asks on a document, all replies readable, and ``breakdown`` says in
    words what they are made of. ``decides`` names the role whose list becomes the verdict, or ``VERDICT`` when no
    single one's does.
    ``kinds`` says how each kind of label is done; of the others ``refuses`` says why not. ``check`` gives what is wrong
    with parameters for a codebook, in words, or nothing. ``temperature`` is the protocol's own temperature by family,
    below a preset's and a seat's. ``shots`` is the number of precedents wanted for each label.
    """

    name: str
    title: str
    summary: str
    source: str
    form: Form
    roles: Callable[[Params], tuple[Role, ...]]
    asks: Callable[[Params, Codebook], Mapping[str, Asks]]
    breakdown: str
    kinds: Mapping[Kind, Treatment]
    debate: Protocol
    params: tuple[Param, ...] = ()
    presets: Mapping[str, Preset] = field(default_factory=dict)
    refuses: Mapping[Kind, str] = field(default_factory=dict)
    decides: Callable[[Params], str] = lambda _params: VERDICT
    check: Callable[[Params, Codebook], str] = lambda _params, _codebook: ""
    temperature: Callable[[Params], Mapping[str, float]] = lambda _params: _NOTHING
    shots: Callable[[Params], int] = lambda _params: 0
    templates: Callable[[], Mapping[str, Template]] | None = None

    def settled(self, given: Mapping[str, object] = _NOTHING) -> dict[str, Any]:
        """Every declared parameter with its value: as given, else the preset's, else the default.

        ``given`` may hold text (``KEY=VALUE``) or parsed values. UsageError for an unknown parameter or preset and for
        a value that does not fit, naming what there is.
        """
        known = {param.name: param for param in self.params}
        strangers = [name for name in given if name not in known and not (name == PRESET and self.presets)]
        if strangers:
            names = [*known, *([PRESET] if self.presets else [])]
            raise UsageError(
                f"{self.name} has no parameter '{strangers[0]}'.",
                f"Its parameters are: {', '.join(names)}." if names else "It has none.",
            )
        preset = self._preset(given)
        values: dict[str, Any] = {name: param.default for name, param in known.items()}
        if preset is not None:
            values |= {PRESET: str(given[PRESET]).strip(), **preset.params}
        return values | {name: known[name].read(value, self.name) for name, value in given.items() if name != PRESET}

    def total(self, params: Params, codebook: Codebook) -> Asks:
        """The number of asks on one document, over all roles."""
        return sum(self.asks(params, codebook).values(), Asks(0, 0))

    def temperatures(self, params: Params) -> Mapping[str, float]:
        """The temperature of each role whose seat does not set one; a role that is left out has none."""
        preset = self.presets.get(params.get(PRESET, ""))
        wanted = preset.temperature if preset and preset.temperature else self.temperature(params)
        found = {role.name: wanted.get(role.family, wanted.get("")) for role in self.roles(params)}
        return {role: temperature for role, temperature in found.items() if temperature is not None}

    def texts(self) -> dict[str, Template]:
        """The templates that a run of it is frozen with, by name, the shared ones included. PromptError."""
        return dict(self.templates()) if self.templates is not None else prompts.shipped(self.name)

    def _preset(self, given: Mapping[str, object]) -> Preset | None:
        name = str(given.get(PRESET, "")).strip()
        if not name:
            return None
        if name not in self.presets:
            raise UsageError(f"{self.name} has no preset '{name}'.", f"Its presets are: {', '.join(self.presets)}.")
        return self.presets[name]
