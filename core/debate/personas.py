"""Personas of a panel: groups of personas, with the source quotes that support them.

After stakeholder persona creation in Chen et al. 2025, *Multi-Agent-as-Judge* (MAJ-Eval, section 3.1). The panel
protocol uses them; ``core.debate.persona_extraction`` extracts them from documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import from_json

from core import yaml_text
from core.codebook import normalise
from core.errors import UsageError
from core.formatting import CONTROL, format_problem, one_line

FAMILY = "persona"
"""Role family of the panel's personas: ``persona_1``, ``persona_2`` ..."""

MAX_PERSONAS = 99
"""Most personas of a panel, so that each has its own role."""
MAX_TEXT = 4_000
"""Most characters of an attribute or a quote. Each prompt contains the attributes of a persona."""

Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=80), AfterValidator(one_line)]
Text: TypeAlias = Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(lambda text: CONTROL.sub("", text))]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


class Quote(_Frozen):
    """A quote from a source that supports a dimension.

    ``start`` and ``end`` are offsets in the source's text, both -1 if the words are not there (``match`` ``missing``),
    which is shown as unsupported.
    """

    words: Text
    source: str = ""
    start: int = Field(-1, ge=-1)
    end: int = Field(-1, ge=-1)
    match: str = "missing"

    @property
    def supported(self) -> bool:
        """True if the words are in the source."""
        return self.match != "missing"


class Persona(_Frozen):
    """A persona with the five attributes of the paper.

    These are demographic information (with a name), evaluation dimension, domain specialty, psychological traits and
    social relationships.
    """

    name: Name
    demographics: Text = ""
    dimension: Text = ""
    specialty: Text = ""
    traits: Text = ""
    relationships: Text = ""
    evidence: tuple[Quote, ...] = ()


class Group(_Frozen):
    """A group of similar stakeholders, who debate among themselves."""

    name: Name
    characteristics: Text = ""
    personas: tuple[Persona, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Member:
    """A persona with the name of its role and its group."""

    role: str
    persona: Persona
    group: Group


class PersonaSet(_Frozen):
    """The personas of a panel. ``task`` is what they evaluate and for whom; names are unique after ``normalise``."""

    task: Text = ""
    groups: tuple[Group, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        for kind, names in (
            ("groups", [group.name for group in self.groups]),
            ("personas", [persona.name for group in self.groups for persona in group.personas]),
        ):
            seen: set[str] = set()
            for name in map(normalise, names):
                if not name or name in seen:
                    raise ValueError(f"two {kind} have the name '{name}'" if name else f"one of the {kind} has no name")
                seen.add(name)
        if len(self.members) > MAX_PERSONAS:
            raise ValueError(f"a panel has at most {MAX_PERSONAS} personas")
        return self

    @property
    def members(self) -> tuple[Member, ...]:
        """The personas in order, group by group, each with its role."""
        pairs = ((persona, group) for group in self.groups for persona in group.personas)
        return tuple(Member(f"{FAMILY}_{number}", *pair) for number, pair in enumerate(pairs, 1))

    @property
    def text(self) -> str:
        """The persona set as stored in a run's parameters: JSON that ``parse_persona_set`` reads."""
        return self.model_dump_json(exclude_defaults=True)

    def group_members(self, group: Group) -> tuple[Member, ...]:
        """Return the members of one group."""
        return tuple(member for member in self.members if member.group.name == group.name)


DEFAULT_PERSONAS = PersonaSet(
    groups=(
        Group(
            name="Readers",
            characteristics="Two readers without a personal interest.",
            personas=(
                Persona(
                    name="General public",
                    demographics="Somebody from the general public who comes across such texts.",
                    dimension="Usefulness to an ordinary reader: clear, concise and true to its subject.",
                ),
                Persona(
                    name="Critic",
                    demographics="A critic who looks at such texts for a living.",
                    dimension="Soundness on a second reading: errors, gaps and unsupported claims.",
                ),
            ),
        ),
    )
)
"""The default personas: two simple roles like those of ChatEval (Chan et al. 2023)."""


def parse(data: Any, *, source: str = "the personas") -> PersonaSet:
    """Parse a persona set from plain data. Raises UsageError naming the problem."""
    if not isinstance(data, Mapping):
        raise UsageError(f"{source}: expected task and groups.", "Write it like sample_data/panel/personas.yaml.")
    try:
        return PersonaSet.model_validate(data)
    except ValidationError as error:
        raise UsageError(f"{source}: {format_problem(error)}.", "Correct it and try again.") from error


def load_yaml(text: str, *, source: str = "the personas") -> PersonaSet:
    """Load a persona set from YAML or JSON. Raises UsageError for anything else."""
    return parse(yaml_text.parse(text, source, UsageError)[0], source=source)


def dump_yaml(persona_set: PersonaSet) -> str:
    """Return YAML that ``load_yaml`` reads back to an equal persona set."""
    return yaml_text.dump(persona_set.model_dump(mode="json", exclude_defaults=True))


@lru_cache(maxsize=32)
def parse_persona_set(text: str) -> PersonaSet:
    """Return the persona set in a run's parameters, ``DEFAULT_PERSONAS`` for empty text. Raises UsageError."""
    if not text.strip():
        return DEFAULT_PERSONAS
    try:
        data = from_json(text)  # JSON may contain characters that YAML refuses
    except ValueError:
        return load_yaml(text)
    return parse(data)
