"""Which column is what: the text, the context, the id, the gold."""

from __future__ import annotations

import difflib
from collections import abc
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from core.codebook import Codebook, normalise
from core.documents import GOLD_RATER, Value
from core.errors import UsageError
from core.ingest.table import Table

GoldKind: TypeAlias = Literal["label", "list", "choice"]


@dataclass(frozen=True, slots=True)
class GoldSource:
    """A column that holds gold by one rater.

    ``label``: a cell says whether one label is present (or, in a rating codebook, how it is rated); ``label`` names it,
    the column's own name when empty. ``list``: a cell lists the labels that are present, as JSON or separated by
    ``|``, ``;`` or ``,``; those it does not list are absent. ``choice``: a cell is the one label of the document.
    """

    column: str
    kind: GoldKind = "label"
    label: str = ""
    rater: str = GOLD_RATER

    @property
    def name(self) -> str:
        """The label's name for kind ``label``."""
        return self.label or self.column


@dataclass(frozen=True, slots=True)
class Mapping:
    """How the rows of a table become documents.

    ``id`` None takes row numbers, from 1. ``group`` is a column that says which rows belong together (a chat, an
    abstract) and ``order`` one of numbers that says in which order; a group's documents then follow each other.
    ``value_map`` says what gold cells outside the conventions mean (compared without case): True or False for present
    or absent, a number for a rating, a label's name for a choice or in a list, None for 'no gold'; in a list, False or
    None leaves a name out.
    """

    text: str
    context: tuple[str, ...] = ()
    id: str | None = None
    gold: tuple[GoldSource, ...] = ()
    value_map: abc.Mapping[str, Value | None] = field(default_factory=dict)
    group: str | None = None
    order: str | None = None
    reasons: tuple[str, ...] = field(default=(), compare=False)
    """Why a suggested mapping is what it is, a sentence each."""

    @property
    def raters(self) -> tuple[str, ...]:
        """The raters of the gold, in order."""
        return tuple(dict.fromkeys(source.rater for source in self.gold))


def require_column(table: Table, name: str, what: str) -> str:
    """``name`` if it is a column; UsageError with the nearest and all available ones if not. ``what`` says what for."""
    if name in table.columns:
        return name
    folded = {column.casefold(): column for column in table.columns}
    near = difflib.get_close_matches(name.strip().casefold(), folded, 1)
    hint = f"Did you mean '{folded[near[0]]}'? " if near else ""
    shown = ", ".join(table.columns[:50]) + (", ..." if len(table.columns) > 50 else "")
    raise UsageError(f"{table.name} has no column '{name}' for {what}.", f"{hint}It has: {shown}.")


def check_mapping(table: Table, mapping: Mapping, codebook: Codebook | None) -> None:
    """UsageError when a column is missing, gold does not suit the codebook, or two columns claim the same gold.

    Any gold is fine without a codebook.
    """
    if not mapping.text.strip():
        raise UsageError("No text column is chosen.", f"Choose one of: {', '.join(table.columns[:50])}.")
    require_column(table, mapping.text, "the text")
    for column in mapping.context:
        require_column(table, column, "the context")
    if len({mapping.text, *mapping.context}) != 1 + len(mapping.context):
        raise UsageError("A column is given twice as text or context.", "Name each once.")
    for name, what in ((mapping.id, "the id"), (mapping.group, "the group"), (mapping.order, "the order")):
        if name is not None:
            require_column(table, name, what)
    if mapping.order is not None and mapping.group is None:
        raise UsageError("An order column needs a group column.", "Say what the rows are in order within.")
    for source in mapping.gold:
        require_column(table, source.column, f"the gold of {source.name}")
        if codebook is not None:
            check_gold(source, codebook)
    _check_claims(mapping.gold)


def _check_claims(gold: tuple[GoldSource, ...]) -> None:
    claimed: dict[tuple[str, str], GoldSource] = {}
    for source in sorted(gold, key=lambda source: source.kind == "label"):  # a whole list claims every label
        label = normalise(source.name) if source.kind == "label" else ""
        for key in ((source.rater, label), (source.rater, "")):
            other = claimed.get(key)
            if other is not None and (other.kind != "label" or other.column != source.column):
                raise UsageError(
                    f"Columns '{other.column}' and '{source.column}' both hold the same gold by '{source.rater}'.",
                    "Tell the raters apart: LABEL=COLUMN@RATER.",
                )
        claimed[source.rater, label] = source


def check_gold(source: GoldSource, codebook: Codebook) -> None:
    """UsageError when a codebook of this kind cannot take the gold, or has no such label."""
    if (source.kind == "choice") != (codebook.kind == "choice") or (
        source.kind == "list" and codebook.kind == "rating"
    ):
        wanted = {
            "choice": "one column that holds the label of each document (label=COLUMN)",
            "rating": "a column of numbers for each dimension (DIMENSION=COLUMN)",
            "multilabel": "a column for each label (LABEL=COLUMN) or one that lists them (label=COLUMN)",
        }[codebook.kind]
        raise UsageError(
            f"Column '{source.column}' cannot be gold of kind '{source.kind}' for the codebook '{codebook.name}'.",
            f"A {codebook.kind} codebook takes {wanted}.",
        )
    if source.kind == "label":
        require_label(codebook, source.name)


def require_label(codebook: Codebook, name: str) -> str:
    """The codebook's own spelling of a label name; UsageError with the nearest and all labels if it has none."""
    label = codebook.find(name)
    if label is not None:
        return label.name
    folded = {normalise(each): each for each in codebook.names}
    near = difflib.get_close_matches(normalise(name), folded, 1)
    hint = f"Did you mean '{folded[near[0]]}'? " if near else ""
    raise UsageError(f"The codebook has no label '{name}'.", f"{hint}It has: {', '.join(codebook.names) or 'none'}.")
