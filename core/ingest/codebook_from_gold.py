"""Propose a codebook from gold columns."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from core.codebook import Codebook, Kind, is_reserved, normalise, parse_codebook
from core.errors import UsageError
from core.ingest.gold import GoldSource, choice_name, is_blank, is_dash, parse_rating, plain_number, split_lists
from core.ingest.mapping import ColumnMapping, check_mapping
from core.ingest.table import Table, has_text

MAX_LABELS = 200
"""A column with more distinct values than this holds no labels."""
_ENDS_WITH_HASH = re.compile(r"\w#")
"""A # as in C#, not that of a hashtag."""
_MIN_SCALE_RATINGS = 20
"""Ratings of a dimension from which its scale is read."""


def codebook_from_gold(table: Table, mapping: ColumnMapping, *, name: str = "From the gold columns") -> Codebook:
    """Return a codebook with the labels of the gold: the label columns, or the values of a list or label column.

    Columns of numbers beyond 0 and 1 make it a rating codebook with the scales they span. Values are ordered by number
    if all are numbers, else by how often they occur; ``none`` is a label of a choice only. UsageError without gold
    columns, for columns of different kinds, for a column with more than ``MAX_LABELS`` values, and for C beside C#.
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
        cells: dict[str, list[Any]] = {}
        for source in mapping.gold:
            cells.setdefault(normalise(source.name), []).extend(_gold_cells(table, mapping, source))
        names = {normalise(source.name): source.name for source in reversed(mapping.gold)}
        scales = _scales(cells)
        data["kind"] = "rating" if scales else "multilabel"
        data["labels"] = [{"name": names[key], "scale": scales.get(key)} for key in reversed(names)]
    else:
        data["kind"] = "choice" if kind == "choice" else "multilabel"
        data["labels"] = _labels(table, mapping, data["kind"])
    return parse_codebook(data, source=f"the gold columns of {table.name}")


def _scales(columns: Mapping[str, Sequence[Any]]) -> dict[str, dict[str, int]]:
    """Return the scale that the numbers of each dimension span; none for only 0 and 1, or if half are not numbers.

    A dimension with fewer than ``_MIN_SCALE_RATINGS`` numbers has the span of all. Raters rarely use the ends of a
    scale. So a scale begins at 1 if its numbers begin above, and at 0 if one of another dimension with the same end
    does. A scale of at least five points ends with the highest number of the dimensions that begin at the same number,
    if it lacks only that one.
    """
    filled = {name: [cell for cell in cells if not is_blank(cell)] for name, cells in columns.items()}
    ratings = {
        name: [number for cell in cells if (number := parse_rating(cell)) is not None] for name, cells in filled.items()
    }
    all_numbers = [number for numbers in ratings.values() for number in numbers]
    if len(all_numbers) < 0.5 * sum(map(len, filled.values())) or set(all_numbers) <= {0, 1}:
        return {}
    spans = {
        name: _span(numbers if len(numbers) >= _MIN_SCALE_RATINGS else all_numbers) for name, numbers in ratings.items()
    }
    scales = {}
    for name, (first, high) in spans.items():
        low = 0 if first == 1 and (0, high) in spans.values() else first
        highest = max(other_high for other_low, other_high in spans.values() if other_low == low)
        high = highest if highest == high + 1 and highest - low >= 4 else high
        scales[name] = {"min": low, "max": max(high, low + 1)}
    return scales


def _span(numbers: Sequence[float]) -> tuple[int, int]:
    return min(1, math.floor(min(numbers))), math.ceil(max(numbers))


def _gold_cells(table: Table, mapping: ColumnMapping, source: GoldSource) -> list[Any]:
    """Return the cells of a gold column in rows with a text. Others, such as a line of sums, are not documents.

    Of several files, one may have the texts and another the gold.
    """
    pairs = zip(table.column(source.column), table.column(mapping.text), strict=True)
    return [cell for cell, text in pairs if has_text(text) or table.file_column]


def _labels(table: Table, mapping: ColumnMapping, kind: Kind) -> list[dict[str, Any]]:
    spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for source in mapping.gold:
        cells = _gold_cells(table, mapping, source)
        # in lists of doccano, separated by #, some labels occur only beside others
        name_lists = split_lists(cells, sure="#") if source.kind == "list" else [(choice_name(cell),) for cell in cells]
        for name in chain.from_iterable(name_lists):
            folded = normalise(name)
            if folded and not is_reserved(folded, kind) and not is_blank(name):
                spellings[folded][name] += 1
        if len(spellings) > MAX_LABELS:
            raise UsageError(
                f"Column '{source.column}' has more than {MAX_LABELS} different values.", "Choose a column of labels."
            )
    for names in spellings.values():
        if len(by_sign := {bool(_ENDS_WITH_HASH.search(name)): name for name in names}) > 1:
            raise UsageError(
                f"The labels '{by_sign[False]}' and '{by_sign[True]}' would be the same, because names ignore #.",
                "Rename one of them in the file.",
            )
    spelling = {folded: names.most_common(1)[0][0] for folded, names in spellings.items()}
    counts = {folded: names.total() for folded, names in spellings.items()}
    if kind == "choice" and "+" not in counts:
        counts = {folded: count for folded, count in counts.items() if not is_dash(folded)}
    codes = {
        folded: number
        for folded in counts
        if (number := parse_rating(folded)) is not None and plain_number(folded) is not None
    }
    if counts and len(set(codes.values())) == len(counts):
        return [{"name": spelling[folded], "code": codes[folded]} for folded in sorted(counts, key=codes.__getitem__)]
    return [{"name": spelling[folded]} for folded in sorted(counts, key=lambda folded: (-counts[folded], folded))]
