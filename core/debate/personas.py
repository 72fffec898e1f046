"""Personas: who sits on a panel, in which group, and which words of which source they stand for.

After stakeholder persona creation in Chen et al., *Multi-Agent-as-Judge* (MAJ-Eval, section 3.1): stakeholders and what
they look for are found in documents with evidence, merged into groups, and each dimension that is kept becomes a
persona with five attributes. Values only; ``stakeholders`` makes them, the panel protocol seats them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from core import yamltext
from core.codebook import normalise
from core.errors import UsageError

FAMILY = "persona"
"""The family of the panel's personas among the roles: ``persona_1``, ``persona_2`` ..."""

MOST = 99
"""Most personas of a panel, so that each has a role of its own."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


class Quote(_Frozen):
    """Words of a source that a dimension rests on. ``start`` and ``end`` are offsets in the source's text, both -1 when
    the words are not there (``match`` ``missing``), which is shown as unsupported."""

    words: str
    source: str = ""
    start: int = -1
    end: int = -1
    match: str = "missing"

    @property
    def supported(self) -> bool:
        """Whether the words are in the source."""
        return self.match != "missing"


class Persona(_Frozen):
    """One member of a group, with the five attributes of the paper: demographic information (with a name), evaluative
    dimension, domain specialty, psychological traits, social relationships."""

    name: str = Field(min_length=1, max_length=80)
    demographics: str = ""
    dimension: str = ""
    specialty: str = ""
    traits: str = ""
    relationships: str = ""
    evidence: tuple[Quote, ...] = ()


class Group(_Frozen):
    """Stakeholders of one sort, who debate among themselves."""

    name: str = Field(min_length=1, max_length=80)
    characteristics: str = ""
    personas: tuple[Persona, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Member:
    """A persona on its seat: the name of its role, and its group."""

    role: str
    persona: Persona
    group: Group


class PersonaSet(_Frozen):
    """Everybody on a panel. ``task`` says what they judge and for whom; names are unique after ``normalise``."""

    task: str = ""
    groups: tuple[Group, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        for what, names in (
            ("groups", [group.name for group in self.groups]),
            ("personas", [persona.name for group in self.groups for persona in group.personas]),
        ):
            seen: set[str] = set()
            for name in map(normalise, names):
                if not name or name in seen:
                    raise ValueError(f"two {what} have the name '{name}'" if name else f"one of the {what} has no name")
                seen.add(name)
        if len(self.members) > MOST:
            raise ValueError(f"a panel has at most {MOST} personas")
        return self

    @property
    def members(self) -> tuple[Member, ...]:
        """The personas in order, group by group, each with its role."""
        return tuple(self._numbered())

    @property
    def text(self) -> str:
        """The cast as it is kept in a run's parameters: JSON that ``read`` reads."""
        return self.model_dump_json(exclude_defaults=True)

    def of(self, group: Group) -> tuple[Member, ...]:
        """The members of one group."""
        return tuple(member for member in self.members if member.group.name == group.name)

    def _numbered(self) -> Iterator[Member]:
        number = 0
        for group in self.groups:
            for persona in group.personas:
                number += 1
                yield Member(f"{FAMILY}_{number}", persona, group)


PAIR = PersonaSet(
    groups=(
        Group(
            name="Readers",
            characteristics="Two readers without a stake of their own.",
            personas=(
                Persona(
                    name="General public",
                    demographics="Somebody from the general public who comes across such texts.",
                    dimension="Whether it serves an ordinary reader: clear, to the point, true to what it is about.",
                ),
                Persona(
                    name="Critic",
                    demographics="A critic who looks at such texts for a living.",
                    dimension="Whether it stands up to a second look: errors, gaps and claims that nothing carries.",
                ),
            ),
        ),
    )
)
"""Who sits on a panel for which nobody was chosen: two simple roles like those of ChatEval (Chan et al. 2023)."""


def parse(data: Any, *, where: str = "the personas") -> PersonaSet:
    """A cast from plain data. UsageError naming what is wrong."""
    if not isinstance(data, Mapping):
        raise UsageError(f"{where}: expected task and groups.", "See the sample personas for the layout.")
    try:
        return PersonaSet.model_validate(data)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = " > ".join(str(step) for step in problem["loc"])
        message = problem["msg"].removeprefix("Value error, ")
        raise UsageError(f"{where}: {f'{place}: ' if place else ''}{message}.", "Mend it and try again.") from error


def load_yaml(text: str, *, where: str = "the personas") -> PersonaSet:
    """A cast from YAML or JSON. UsageError for anything else."""
    return parse(yamltext.parse(text, where, UsageError)[0], where=where)


def dump_yaml(cast: PersonaSet) -> str:
    """YAML that ``load_yaml`` reads back to an equal cast."""
    data = cast.model_dump(mode="json", exclude_defaults=True)
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)


@lru_cache(maxsize=32)
def read(text: str) -> PersonaSet:
    """The cast in a run's parameters; ``PAIR`` for empty text. UsageError for text that holds none."""
    return load_yaml(text) if text.strip() else PAIR
