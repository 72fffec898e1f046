"""Read the command-line options that name gold columns and the meaning of their cells."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from core.codebook import Codebook, normalise
from core.documents import GOLD_RATER, Value
from core.errors import UsageError
from core.ingest.gold import GoldSource, LabelIndex, parse_binary, parse_rating
from core.ingest.gold_suggestions import suggest_gold
from core.ingest.mapping import require_column
from core.ingest.table import Table

_ALL_LABELS = ("label", "labels")
_GOLD_SYNTAX = "Write LABEL=COLUMN or LABEL=COLUMN@RATER; label=COLUMN for one column that holds or lists the labels."


def parse_gold_option(texts: Sequence[str], table: Table, codebook: Codebook) -> tuple[GoldSource, ...]:
    """Parse the values of ``--gold``: ``LABEL=COLUMN[@RATER]``, or ``label=COLUMN`` for the label or list of labels.

    Names may contain ``=`` or ``@`` if a label and a column have these names. UsageError names the unknown label or
    column and the most similar one. Whether the gold suits the codebook is checked with the mapping.
    """
    return tuple(_parse_gold_text(text, table, codebook) for text in texts)


def _parse_gold_text(text: str, table: Table, codebook: Codebook) -> GoldSource:
    sides = [(text[:at].strip(), text[at + 1 :].strip()) for at, character in enumerate(text) if character == "="]
    sides = [(name, column) for name, column in sides if name]
    if not sides or not sides[0][1]:
        raise UsageError(f"'{text}' is not a gold column.", _GOLD_SYNTAX)
    known = (pair for pair in sides if normalise(pair[0]) in _ALL_LABELS or codebook.find(pair[0]))
    name, column = next(known, sides[0])
    rater = GOLD_RATER
    if column not in table.columns and "@" in column:
        column, _, rater = (part.strip() for part in column.rpartition("@"))
        if not rater:
            raise UsageError(f"'{text}' names no rater after the @.", _GOLD_SYNTAX)
    require_column(table, column, f"the gold of {name}")
    if normalise(name) in _ALL_LABELS and (codebook.kind == "choice" or codebook.find(name) is None):
        return GoldSource(column, "list" if codebook.kind == "multilabel" else "choice", rater=rater)
    return GoldSource(column, "label", name if codebook.kind == "choice" else codebook.require(name).name, rater)


def parse_value_option(texts: Sequence[str], codebook: Codebook) -> dict[str, Value | None]:
    """Parse the values of ``--gold-value``: ``TEXT=VALUE``, split at the last ``=``, as a value map.

    VALUE is ``none`` (no gold, unless that is a label's name), and by the codebook's kind ``present`` or ``absent`` (a
    label's name in a list), a number on the scale, or a label's name or code. Without TEXT, empty cells are meant:
    those of a multilabel codebook can be absent or have no gold. UsageError for anything else.
    """
    return dict(_parse_value(text, codebook) for text in texts)


def _parse_value(text: str, codebook: Codebook) -> tuple[str, Value | None]:
    cell, sign, meaning = (part.strip() for part in text.rpartition("="))
    is_empty_cell = (
        not cell and codebook.kind == "multilabel" and (normalise(meaning) == "none" or parse_binary(meaning) is False)
    )
    if not sign or not meaning or not (cell or is_empty_cell):
        raise UsageError(
            f"'{text}' is not a gold value.", "Write TEXT=VALUE, for example --gold-value 'rather good=4'."
        )
    if normalise(meaning) == "none" and codebook.find(meaning) is None:
        return cell, None
    if codebook.kind == "rating":
        number = parse_rating(meaning)
        if number is None or not any(scale.min <= number <= scale.max for scale in codebook.scales):
            spans = " or ".join(dict.fromkeys(f"from {scale}" for scale in codebook.scales))
            raise UsageError(f"--gold-value '{text}': '{meaning}' is not a rating.", f"Give a number {spans}, or none.")
        return cell, number
    if codebook.kind == "multilabel" and (present := parse_binary(meaning)) is not None:
        return cell, present
    return cell, (LabelIndex(codebook).find(meaning) or codebook.require(meaning)).name


def _gold_option(source: GoldSource) -> str:
    """Return the value of ``--gold`` that names a column, quoted for a shell."""
    name = source.name if source.kind == "label" else "label"
    rater = f"@{source.rater}" if source.rater != GOLD_RATER else ""
    return shlex.quote(f"{name}={source.column}{rater}")


def same_name_gold(table: Table, codebook: Codebook) -> tuple[GoldSource, ...]:
    """Return the gold of ``--gold-same-names``: for every label the column of the same name after ``normalise``.

    Hyphens and underscores count as spaces where only one label has the same words. A choice takes the column called
    ``label``. Of several such columns the one spelled most like the label wins, else the first. UsageError when there
    is none at all; labels without a column have no gold.
    """
    if codebook.kind == "choice":
        columns = {normalise(column): column for column in reversed(table.columns)}
        label_column = next((columns[name] for name in _ALL_LABELS if name in columns), None)
        sources = [GoldSource(label_column, "choice")] if label_column else []
    else:
        sources = LabelIndex(codebook).sources(table.columns)
    if not sources and codebook.kind == "choice" and any(codebook.find(column) for column in table.columns):
        raise UsageError(
            f"{table.name} has a column for each label, and a choice takes one column that names the label.",
            "Add such a column, or use a codebook of the kind multilabel.",
        )
    if not sources:
        expected = "label" if codebook.kind == "choice" else ", ".join(codebook.names[:20])
        holding, _ = suggest_gold(dict(zip(table.columns, table.data, strict=True)), codebook)
        options = [f"--gold {_gold_option(source)}" for source in holding]
        more = " and so on" if len(options) > 6 else ""
        remedy = f"'{holding[0].column}' holds gold: use {' '.join(options[:6])}{more}. " if holding else ""
        raise UsageError(
            f"No column of {table.name} is named like a label ({expected}).",
            f"{remedy}Name the columns one by one with --gold LABEL=COLUMN. It has: {', '.join(table.columns[:50])}.",
        )
    return tuple(sources)
