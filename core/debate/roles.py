"""Roles: the seats of a protocol, and the families that some of them come in."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MEMBER = re.compile(r"^(?P<family>.+)_(?:[a-z]|\d{1,3})$")


def family(role: str) -> str:
    """The family that a role belongs to: ``annotator`` of ``annotator_b``, ``judge`` of ``judge_2``; else itself.

    Members of a family speak from the same templates and can be seated with one word.
    """
    match = _MEMBER.match(role)
    return match["family"] if match else role


@dataclass(frozen=True, slots=True)
class Role:
    """A seat in a protocol. ``does`` says in a few words what its holder is there for, ``group`` with whom it sits."""

    name: str
    title: str
    does: str
    group: str = ""

    @property
    def family(self) -> str:
        """The role's family; its own name when it has none."""
        return family(self.name)
