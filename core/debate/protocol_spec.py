"""The declaration of a protocol: roles, parameters, presets, number of requests, and supported kinds of label.

The setup form, the table of role models, the estimates, ``--param`` and the live page all read this declaration, so
that no fact about a protocol is stated twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

from core import prompts
from core.codebook import Codebook, Kind
from core.debate.context import Protocol
from core.debate.turns import Role
from core.debate.votes import MajorityVote, VotingRule
from core.documents import VERDICT
from core.errors import UsageError
from core.formatting import did_you_mean
from core.runs import GENERAL_PARAMS, Template

ParamValue: TypeAlias = bool | int | float | str
Params: TypeAlias = Mapping[str, Any]
"""Parsed parameters of a protocol: a value for every declared parameter."""

Layout: TypeAlias = Literal["chain", "round", "court", "panels"]
"""Layout of a debate on the live page: a chain of roles, a round table, a court, or groups."""

PRESET = "preset"
"""The parameter that every protocol with presets has in addition to its own."""

_TRUE, _FALSE = ("true", "yes", "1", "on"), ("false", "no", "0", "off")
_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RequestCount:
    """The number of requests if all replies are readable, from ``minimum`` (shortest debate) to ``maximum``."""

    minimum: int
    maximum: int

    def __add__(self, other: RequestCount) -> RequestCount:
        return RequestCount(self.minimum + other.minimum, self.maximum + other.maximum)

    def __str__(self) -> str:
        return f"{self.maximum}" if self.minimum == self.maximum else f"{self.minimum} to {self.maximum}"


def exactly(count: int) -> RequestCount:
    """Return a count that does not depend on the replies."""
    return RequestCount(count, count)


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """Rule by which a protocol decides one kind of label.

    ``vote`` is the voting rule, ``tie`` the result of a tie, in words. Without a vote one role decides; without a tie
    none can arise.
    """

    vote: str = ""
    tie: str = ""


VOTE_RULES: Mapping[Kind, DecisionRule] = {
    "multilabel": DecisionRule("the majority, label by label", "that label is unresolved"),
    "choice": DecisionRule("the label that more chose than any other", "unresolved"),
    "rating": DecisionRule("the median, dimension by dimension", "the mean of the middle two"),
}
"""Rules of protocols in which several roles vote. More than half of them must decide an item."""
ONE_ROLE_RULES: Mapping[Kind, DecisionRule] = dict.fromkeys(VOTE_RULES, DecisionRule())
"""Rules of protocols in which one role decides."""


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a protocol; its type is that of ``default``."""

    name: str
    title: str
    default: ParamValue
    help: str
    choices: Mapping[str, str] = field(default_factory=dict)
    """The title of each value, if there are only some."""
    minimum: float | None = None
    maximum: float | None = None
    kinds: tuple[Kind, ...] = get_args(Kind)
    """The kinds of codebook on which it has an effect."""
    is_relevant: Callable[[Params], bool] = lambda _params: True
    """Returns False if it has no effect given the other parameters."""
    hidden: bool = False
    """True if the form leaves the parameter out because another control of the page sets it."""

    def read(self, value: object, owner: str) -> ParamValue:
        """Return ``value``, which may be text, converted to this parameter's type.

        Raises UsageError, naming the allowed values, for a value that does not fit.
        """
        text = str(value).strip()
        if isinstance(self.default, bool):
            if text.lower() not in (*_TRUE, *_FALSE):
                raise UsageError(f"{owner}: {self.name} is yes or no, not '{text}'.", f"Write {self.name}=yes or =no.")
            return text.lower() in _TRUE
        if self.choices:
            if text not in self.choices:
                choices = ", ".join(self.choices)
                raise UsageError(f"{owner}: {self.name} cannot be '{text}'.", f"Choose one of: {choices}.")
            return text
        if isinstance(self.default, str):
            return text
        try:
            number = int(text) if isinstance(self.default, int) else float(text)
        except ValueError:
            kind = "a whole number" if isinstance(self.default, int) else "a number"
            raise UsageError(f"{owner}: {self.name} is {kind}, not '{text}'.", f"{self.allowed_values}.") from None
        too_low = self.minimum is not None and not number >= self.minimum
        if too_low or (self.maximum is not None and not number <= self.maximum):
            raise UsageError(f"{owner}: {self.name} cannot be {text}.", f"{self.allowed_values}.")
        return number

    def format(self, value: object) -> str:
        """Return a value in words."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        return self.choices.get(str(value), f"{value:g}" if isinstance(value, float) else str(value))

    def has_effect(self, params: Params, kind: Kind) -> bool:
        """Return True if the parameter has an effect on a codebook of this kind, given all parameters."""
        return kind in self.kinds and self.is_relevant(params)

    @property
    def allowed_values(self) -> str:
        """The allowed values, in words."""
        if self.choices:
            return f"One of: {', '.join(self.choices)}"
        if isinstance(self.default, bool):
            return "Yes or no"
        if self.minimum is not None and self.maximum is not None:
            return f"From {self.minimum:g} to {self.maximum:g}"
        return f"At least {self.minimum:g}" if self.minimum is not None else "Any"


PERSONAS = "personas"
"""Parameter that holds the personas, of every protocol that debates with personas."""

WEIGHTS, EQUAL, FROM_REVIEWS = "weights", "equal", "reviewed"
"""Parameter that holds the weights of votes, and its values for votes without weights and for weights from reviews.

The latter become ``reviewed: 2.2, 0.85, 1.39`` in a planned run.
"""

SIMILARITY_PARAM = "likeness"
"""Parameter that selects how texts are compared."""


def similarity_param(is_relevant: Callable[[Params], bool]) -> Param:
    """Return the parameter that chooses how the texts of precedents are compared."""
    return Param(
        SIMILARITY_PARAM,
        "Similarity",
        "tfidf",
        "How texts are compared: tfidf (character n-grams), minilm, or connection/model of an endpoint for embeddings.",
        is_relevant=is_relevant,
    )


@dataclass(frozen=True, slots=True)
class Preset:
    """Parameters and temperatures under one name.

    ``temperature`` maps a family of roles (or ``""`` for all) to a temperature for roles whose model sets none.
    ``templates`` is the folder of a template set, empty for Moot's own.
    """

    title: str
    params: Mapping[str, ParamValue] = field(default_factory=dict)
    temperature: Mapping[str, float] = field(default_factory=dict)
    templates: str = ""


@dataclass(frozen=True, slots=True)
class ProtocolSpec:
    """Everything that pages, command line and engine need to know about a protocol."""

    name: str
    title: str
    short_title: str
    """The beginning of the names of runs."""
    summary: str
    source: str
    layout: Layout
    roles: Callable[[Params], tuple[Role, ...]]
    request_counts: Callable[[Params, Codebook], Mapping[str, RequestCount]]
    """Returns the requests per document of each role if all replies are readable."""
    kinds: Mapping[Kind, DecisionRule]
    """The decision rule of each supported kind of label."""
    debate: Protocol
    params: tuple[Param, ...] = ()
    presets: Mapping[str, Preset] = field(default_factory=dict)
    unsupported: Mapping[Kind, str] = field(default_factory=dict)
    """The reason why each of the other kinds is not supported."""
    deciding_role: Callable[[Params], str] = lambda _params: VERDICT
    """Returns the role whose list becomes the verdict, or ``VERDICT`` if no single role decides."""
    check: Callable[[Params, Codebook], str] = lambda _params, _codebook: ""
    """Returns the problem with parameters for a codebook in words, or an empty string."""
    temperature: Callable[[Params], Mapping[str, float]] = lambda _params: _EMPTY
    """Returns the protocol's own temperatures by family. A preset and a role's model override them."""
    output_limits: Mapping[str, int] = field(default_factory=dict)
    """Output limits in tokens by family. Other roles have the default."""
    shots: Callable[[Params], int] = lambda _params: 0
    """Returns the number of precedents wanted for each label."""
    vote: Callable[[Params, Kind], VotingRule] = lambda _params, _kind: MajorityVote()
    """Returns the rule by which the roles of one family decide together."""
    enforced: Mapping[Kind, str] = field(default_factory=dict)
    """By kind, a sentence on what code changes in replies or does without them, for the methods of a paper."""
    templates: Callable[[], Mapping[str, Template]] | None = None

    @property
    def uses_personas(self) -> bool:
        """True if personas debate."""
        return any(param.name == PERSONAS for param in self.params)

    @property
    def param_names(self) -> tuple[str, ...]:
        """Names of all parameters; ``preset`` is the last one if the protocol has presets."""
        return (*(param.name for param in self.params), *((PRESET,) if self.presets else ()))

    def parse_params(self, settings: Mapping[str, object] = _EMPTY) -> dict[str, Any]:
        """Return every declared parameter with its value: the given one, else the preset's, else the default.

        ``settings`` may hold text (``KEY=VALUE``) or parsed values. Raises UsageError, naming the allowed names or
        values, for an unknown parameter or preset and for a value that does not fit.
        """
        declared = {param.name: param for param in self.params}
        unknown = [name for name in settings if name not in self.param_names]
        if unknown:
            names, general = self.param_names, GENERAL_PARAMS
            raise UsageError(
                f"{self.name} has no parameter '{unknown[0]}'.",
                f"{did_you_mean(unknown[0], (*names, *general))}Its parameters are: {', '.join(names)}; and those of "
                f"every protocol: {', '.join(general)}.",
            )
        values: dict[str, Any] = {name: param.default for name, param in declared.items()}
        if preset := str(settings.get(PRESET, "")).strip():
            if preset not in self.presets:
                presets = ", ".join(self.presets)
                raise UsageError(f"{self.name} has no preset '{preset}'.", f"Its presets are: {presets}.")
            values |= {PRESET: preset, **self.presets[preset].params}
        return values | {
            name: declared[name].read(value, self.name) for name, value in settings.items() if name != PRESET
        }

    def require_fitting(self, params: Params, codebook: Codebook) -> None:
        """Raise UsageError if parameters do not fit a codebook."""
        if problem := self.check(params, codebook):
            raise UsageError(f"{self.name}: {problem}.", "Change the parameter or the codebook.")

    def describe_vote(self, params: Params, kind: Kind) -> str:
        """Return voting rule and ties for a kind of label in words; empty if one role decides."""
        rule = self.kinds.get(kind)
        if rule is None or not rule.vote or self.deciding_role(params) != VERDICT:
            return ""
        if kind == "rating" and self.vote(params, kind) == MajorityVote("mean"):
            return "Vote: the mean, dimension by dimension."
        tie = f" Tie: {rule.tie}." if rule.tie else ""
        is_weighted = kind != "rating" and params.get(WEIGHTS, EQUAL) != EQUAL
        return f"Vote: {rule.vote}{', with weighted votes' if is_weighted else ''}.{tie}"

    def total_requests(self, params: Params, codebook: Codebook) -> RequestCount:
        """Return the number of requests per document over all roles."""
        return sum(self.request_counts(params, codebook).values(), RequestCount(0, 0))

    def temperatures(self, params: Params) -> Mapping[str, float]:
        """Return the temperature of each role whose model sets none; roles without any temperature are left out."""
        preset = self.presets.get(params.get(PRESET, ""))
        wanted = preset.temperature if preset and preset.temperature else self.temperature(params)
        temperatures = {role.name: wanted.get(role.family, wanted.get("")) for role in self.roles(params)}
        return {role: temperature for role, temperature in temperatures.items() if temperature is not None}

    def load_templates(self, params: Params = _EMPTY) -> dict[str, Template]:
        """Return the templates, by name, that a run with these parameters is frozen with. Raises PromptError.

        The shared templates are included. A preset may have its own template set.
        """
        if self.templates is not None:
            return dict(self.templates())
        preset = self.presets.get(str(params.get(PRESET, "")))
        return prompts.shipped_templates(self.name, preset.templates if preset else "")
