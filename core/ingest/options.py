"""Gold as a command line names it, and a codebook made from gold columns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from core.codebook import RESERVED_NAMES, Codebook, normalise, parse_codebook
from core.documents import GOLD_RATER, Value
from core.errors import UsageError
from core.ingest.gold import LabelIndex, binary, looks_like, rating, split_list
from core.ingest.mapping import GoldSource, Mapping, check_gold, check_mapping, require_column, require_label
from core.ingest.table import Table, as_text

MAX_LABELS = 200
"""A column with more distinct values than this holds no labels."""

_WHOLE = ("label", "labels")
_FORM = "Write LABEL=COLUMN or LABEL=COLUMN@RATER; label=COLUMN for one column that holds or lists the labels."


def parse_gold_option(texts: Sequence[str], table: Table, codebook: Codebook | None) -> tuple[GoldSource, ...]:
    """The values of ``--gold``: ``LABEL=COLUMN[@RATER]``, or ``label=COLUMN`` for the label or list of labels.

    Names that hold ``=`` or ``@`` work as long as they are those of a label and of a column. Without a codebook every
    LABEL is taken as it is. UsageError names what is not there, with the nearest that is.
    """
    return tuple(_parse(text, table, codebook) for text in texts)


def _parse(text: str, table: Table, codebook: Codebook | None) -> GoldSource:
    cuts = [place for place, character in enumerate(text) if character == "="]
    if not cuts or not text[: cuts[0]].strip() or not text[cuts[0] + 1 :].strip():
        raise UsageError(f"'{text}' is no gold column.", _FORM)
    cut = next((cut for cut in cuts if _known(text[:cut], codebook)), cuts[0])
    name, column = text[:cut].strip(), text[cut + 1 :].strip()
    rater = GOLD_RATER
    if column not in table.columns and "@" in column:
        column, _, rater = (part.strip() for part in column.rpartition("@"))
        if not rater:
            raise UsageError(f"'{text}' names no rater after the @.", _FORM)
    require_column(table, column, f"the gold of {name}")
    whole = normalise(name) in _WHOLE
    if codebook is None:
        if not whole:
            return GoldSource(column, "label", name, rater)
        is_list = looks_like(table.column(column)[:1000]) == "list"
        return GoldSource(column, "list" if is_list else "choice", rater=rater)
    if codebook.kind != "multilabel" and whole and codebook.find(name) is None:
        source = GoldSource(column, "choice", rater=rater)
    elif whole and codebook.find(name) is None:
        source = GoldSource(column, "list", rater=rater)
    elif codebook.kind == "choice":
        source = GoldSource(column, "choice" if whole else "label", "" if whole else name, rater)
    else:
        source = GoldSource(column, "label", require_label(codebook, name), rater)
    check_gold(source, codebook)
    return source


def parse_value_option(texts: Sequence[str], codebook: Codebook) -> dict[str, Value | None]:
    """The values of ``--gold-value``: ``TEXT=VALUE``, cut at the last ``=``, as a map of what gold cells mean.

    VALUE is ``none`` (no gold), and by the codebook's kind ``present`` or ``absent`` (a label's name in a list), a
    number on the scale, or a label's name or code. UsageError for anything else.
    """
    return dict(_value(text, codebook) for text in texts)


def _value(text: str, codebook: Codebook) -> tuple[str, Value | None]:
    cell, equals, meant = (part.strip() for part in text.rpartition("="))
    if not equals or not cell or not meant:
        raise UsageError(f"'{text}' is no gold value.", "Write TEXT=VALUE, for example --gold-value 'rather good=4'.")
    if normalise(meant) == "none":
        return cell, None
    if codebook.kind == "rating":
        number, scale = rating(meant), codebook.scale
        if number is None or (scale is not None and not scale.min <= number <= scale.max):
            span = f" from {scale.min} to {scale.max}" if scale is not None else ""
            raise UsageError(f"--gold-value '{text}': '{meant}' is no rating.", f"Give a number{span}, or none.")
        return cell, number
    if codebook.kind == "multilabel" and (present := binary(meant)) is not None:
        return cell, present
    label = LabelIndex(codebook).find(meant)
    if label is None:
        return cell, require_label(codebook, meant)
    return cell, label.name


def _known(name: str, codebook: Codebook | None) -> bool:
    return codebook is None or normalise(name) in _WHOLE or codebook.find(name) is not None


def mapping_same_names(table: Table, codebook: Codebook) -> tuple[GoldSource, ...]:
    """The gold of ``--gold-same-names``: for every label the column whose name is the same after ``normalise``.

    A choice takes the column called ``label``. Of several such columns the one spelled exactly like the label wins,
    else the first. UsageError when there is none at all; labels without a column have no gold.
    """
    columns: dict[str, str] = {}
    for column in table.columns:
        columns.setdefault(normalise(column), column)
    if codebook.kind == "choice":
        found = next((columns[name] for name in _WHOLE if name in columns), None)
        sources = [GoldSource(found, "choice")] if found else []
    else:
        pairs = [(name, name if name in table.columns else columns.get(normalise(name))) for name in codebook.names]
        sources = [GoldSource(column, "label", name) for name, column in pairs if column is not None]
    if not sources:
        wanted = "label" if codebook.kind == "choice" else ", ".join(codebook.names[:20])
        raise UsageError(
            f"No column of {table.name} is called like a label ({wanted}).",
            f"Name the columns one by one with --gold LABEL=COLUMN. It has: {', '.join(table.columns[:50])}.",
        )
    return tuple(sources)


def codebook_from_gold(table: Table, mapping: Mapping, *, name: str = "From the gold columns") -> Codebook:
    """A codebook whose labels are those of the gold: the label columns, or the values of a list or label column.

    Columns of numbers beyond 0 and 1 make it a rating codebook with the scale they span. Values are ordered by number
    if all are numbers, else by how often they occur; ``none`` is no label. UsageError without gold columns, for
    columns of different kinds, and for a column with more than ``MAX_LABELS`` values.
    """
    check_mapping(table, mapping, None)
    kinds = {source.kind for source in mapping.gold}
    if not kinds:
        raise UsageError("No gold column is chosen.", "Choose the columns that hold gold labels, or write a codebook.")
    if len(kinds) > 1:
        raise UsageError("The gold columns are of different kinds.", "Choose label columns, or one column of labels.")
    (kind,) = kinds
    data: dict[str, Any] = {"name": name}
    if kind == "label":
        names = {normalise(source.name): source.name for source in reversed(mapping.gold)}
        data["labels"] = [{"name": each} for each in reversed(names.values())]
        scale = _scale([cell for source in mapping.gold for cell in table.column(source.column)])
        data |= {"kind": "rating", "scale": scale} if scale else {"kind": "multilabel"}
    else:
        data["kind"] = "choice" if kind == "choice" else "multilabel"
        data["labels"] = _labels(table, mapping)
    return parse_codebook(data, where=f"the gold columns of {table.name}")


def _scale(cells: Sequence[Any]) -> dict[str, int] | None:
    """The scale that the numbers span; None when they are but 0 and 1, or a tenth of the cells are no numbers."""
    filled = [cell for cell in cells if as_text(cell).strip()]
    numbers = [number for cell in filled if (number := rating(cell)) is not None]
    if len(numbers) < 0.9 * len(filled) or set(numbers) <= {0, 1}:
        return None
    low, high = math.floor(min(numbers)), math.ceil(max(numbers))
    return {"min": low, "max": max(high, low + 1)}


def _labels(table: Table, mapping: Mapping) -> list[dict[str, Any]]:
    counts: Counter[str] = Counter()
    spelling: dict[str, str] = {}
    for source in mapping.gold:
        for cell in table.column(source.column):
            names = split_list(cell) if source.kind == "list" else (as_text(cell).strip(),)
            for name in names:
                folded = normalise(name)
                if folded and folded not in RESERVED_NAMES:
                    counts[folded] += 1
                    spelling.setdefault(folded, name)
        if len(counts) > MAX_LABELS:
            raise UsageError(
                f"Column '{source.column}' has more than {MAX_LABELS} different values.", "Choose a column of labels."
            )
    codes = {folded: number for folded in counts if (number := rating(folded)) is not None and _plain(folded)}
    if counts and len(codes) == len(counts):
        return [{"name": spelling[each], "code": codes[each]} for each in sorted(counts, key=codes.__getitem__)]
    return [{"name": spelling[each]} for each in sorted(counts, key=lambda each: (-counts[each], each))]


def _plain(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
