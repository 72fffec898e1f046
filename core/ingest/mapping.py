"""The column mapping: text, context, id, group and gold columns, and whether a table and a codebook allow it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.codebook import Codebook, Kind, normalise
from core.documents import Value
from core.errors import UsageError
from core.formatting import did_you_mean
from core.ingest.gold import GoldKind, GoldSource, has_vectors
from core.ingest.table import DETECTED, ReadOptions, Table

GOLD_KINDS: Mapping[Kind, tuple[GoldKind, ...]] = {
    "multilabel": ("label", "list"),
    "choice": ("choice",),
    "rating": ("label",),
}
"""Kinds of gold that suit each kind of codebook."""


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """Mapping of the rows of a table to documents, by the names of columns."""

    text: str
    context: tuple[str, ...] = ()
    id: str | None = None
    """None for row numbers, from 1."""
    gold: tuple[GoldSource, ...] = ()
    rater: str | None = None
    """Names who labelled each row. Several rows may then be about one document."""
    value_map: Mapping[str, Value | None] = field(default_factory=dict)
    """Meanings of gold cells outside the conventions, compared without case.

    True or False for present or absent, a number for a rating, a label's name for a choice or in a list, None for no
    gold. In a list, False or None leaves a name out.
    """
    group: str | None = None
    """Groups rows, such as the messages of a chat. The documents of a group are then consecutive."""
    order: str | None = None
    """Numbers or dates that order the rows of a group."""
    neighbours: int = 0
    """Documents before and after in the group that each document shows as a further field."""
    reasons: tuple[str, ...] = field(default=(), compare=False)
    """The reasons of a suggested mapping, a sentence each."""

    @property
    def raters(self) -> tuple[str, ...]:
        """The raters of the gold, in order."""
        return tuple(dict.fromkeys(source.rater for source in self.gold))


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Input files and how to read them, as given on the command line.

    ``columns`` is the mapping without gold, which depends on the table and the codebook.
    """

    paths: tuple[Path, ...]
    columns: ColumnMapping
    gold: tuple[str, ...] = ()
    gold_same_names: bool = False
    gold_values: tuple[str, ...] = ()
    reading: ReadOptions = DETECTED
    limit: int | None = None
    """Number of documents that are needed; more rows are read only if some are rejected."""


def require_column(table: Table, name: str, purpose: str) -> None:
    """Raise UsageError, with the nearest and the available columns, if a table lacks a column for a purpose."""
    if name in table.columns:
        return
    column_list = ", ".join(table.columns[:50]) + (", ..." if len(table.columns) > 50 else "")
    similar = did_you_mean(name, table.columns)
    may_lack_header = table.format in ("csv", "tsv") and table.header == "first line" and not similar
    no_header = " If its first line is not a header, add --no-header." if may_lack_header else ""
    raise UsageError(
        f"{table.name} has no column '{name}' for {purpose}.", f"{similar}It has: {column_list}.{no_header}"
    )


def check_mapping(table: Table, mapping: ColumnMapping, codebook: Codebook | None) -> None:
    """Raise UsageError if a column is missing, gold does not suit the codebook, or two columns claim the same gold.

    Multi-hot vectors (``has_vectors``) are not gold. Any other gold is accepted without a codebook.
    """
    if not mapping.text.strip():
        raise UsageError("No text column is chosen.", f"Choose one of: {', '.join(table.columns[:50])}.")
    require_column(table, mapping.text, "the text")
    for column in mapping.context:
        require_column(table, column, "the context")
    if len({mapping.text, *mapping.context}) != 1 + len(mapping.context):
        raise UsageError("A column is given twice as text or context.", "Name each once.")
    optional = {"id": mapping.id, "rater": mapping.rater, "group": mapping.group, "order": mapping.order}
    for purpose, name in optional.items():
        if name is not None:
            require_column(table, name, f"the {purpose}")
    if mapping.order is not None and mapping.group is None:
        raise UsageError("An order column needs a group column.", "Choose the group column as well.")
    if mapping.neighbours and mapping.group is None:
        raise UsageError("Neighbours need a group column.", "Choose the column that groups the rows.")
    for source in mapping.gold:
        require_column(table, source.column, f"the gold of {source.name}")
        if source.kind == "list" and has_vectors(table.column(source.column)):
            raise UsageError(
                f"Column '{source.column}' is read as lists of 0 and 1, which do not name labels.",
                "Write the names of the labels into the lists, or give each label a column of 1 and 0.",
            )
        if codebook is not None:
            _check_gold(source, codebook)
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
                    "Name the raters: LABEL=COLUMN@RATER.",
                )
        claimed[source.rater, label] = source


def _check_gold(source: GoldSource, codebook: Codebook) -> None:
    """Raise UsageError if a codebook of this kind does not support the gold, or has no such label."""
    if source.kind not in GOLD_KINDS[codebook.kind]:
        requirement = {
            "choice": "one column that holds the label of each document (label=COLUMN)",
            "rating": "a column of numbers for each dimension (DIMENSION=COLUMN)",
            "multilabel": "a column for each label (LABEL=COLUMN) or one that lists them (label=COLUMN)",
        }[codebook.kind]
        raise UsageError(
            f"Column '{source.column}' cannot be gold of kind '{source.kind}' for the codebook '{codebook.name}'.",
            f"A {codebook.kind} codebook takes {requirement}.",
        )
    if source.kind == "label":
        codebook.require(source.name)
