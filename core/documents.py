"""Documents: the texts that are labelled, with their source columns and gold labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Value: TypeAlias = bool | int | float | str
"""The value of an annotation: present or absent, a rating, or a label's id."""

GOLD_RATER = "gold"
"""The rater's name for gold columns without a rater."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Document:
    """One row of the user's file.

    ``fields`` holds the text fields by name in prompt order, the first is the one that evidence points into; ``source``
    the columns as they came; ``gold`` maps a rater to values by item (a label id); a missing item was not labelled.
    ``group`` is the group that the document belongs to (a chat, an abstract), empty without one, and ``order`` its
    place in the group.
    """

    id: str
    fields: Mapping[str, str]
    position: int = 0
    source: Mapping[str, Any] = field(default_factory=dict)
    gold: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    group: str = ""
    order: float | None = None

    @property
    def text(self) -> str:
        """The first field, empty without fields."""
        return next(iter(self.fields.values()), "")

    @property
    def full_text(self) -> str:
        """All fields, each under its name if there are several."""
        if len(self.fields) == 1:
            return self.text
        return "\n".join(f"{name}: {text}" for name, text in self.fields.items())


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row of a file that was rejected. ``line`` is its first line in the file, ``raw`` its text (clipped)."""

    line: int
    reason: str
    raw: str = ""

    def __str__(self) -> str:
        return f"row {self.line}: {self.reason}"


def storable(text: str) -> str:
    """Return ``text`` without NUL characters and with U+FFFD for lone surrogates; the store refuses both."""
    if text.isascii():  # the usual case, several times as fast
        return text.replace("\x00", "")
    return _LONE_SURROGATE.sub("\ufffd", text).replace("\x00", "")
