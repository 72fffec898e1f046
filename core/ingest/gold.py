"""What a gold cell says: present, absent, a rating, a label, nothing, or something nobody can know."""

from __future__ import annotations

import ast
import json
import re
from collections import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from core.codebook import CHOICE_ITEM, Codebook, Label, normalise
from core.documents import GOLD_RATER, Value
from core.ingest.table import as_text

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


CellReading: TypeAlias = tuple[abc.Mapping[str, Value], tuple[str, ...]]
"""What a cell says of which item, and what in it could not be understood."""

CellReader: TypeAlias = Callable[[Any], CellReading]
Key: TypeAlias = Callable[[Label], str]
ValueMap: TypeAlias = abc.Mapping[str, Value | None]

BINARY: dict[str, bool] = {
    "1": True, "true": True, "yes": True, "y": True, "present": True, "1.0": True,
    "0": False, "false": False, "no": False, "n": False, "absent": False, "0.0": False,
}  # fmt: skip
"""The conventions of a binary gold cell, casefolded."""

NAME_KEYS = ("label", "labels", "category", "aspect", "name")
"""Where an object in a list of gold names its label: the first of these that it has."""

NO_GOLD: CellReading = ({}, ())
_RATED = re.compile(r"\(?\s*([+-]?[0-9]+(?:\.[0-9]+)?)\s*\)?\s*(?:[:=].*)?", re.DOTALL)
_LITERAL_LIMIT = 20_000


def normalise_cell(cell: Any) -> str:
    """A cell as it is compared: text, trimmed, casefolded."""
    return as_text(cell).strip().casefold()


def parse_binary(cell: Any) -> bool | None:
    """True or False by the conventions (see ``BINARY``), None for everything else, empty cells included."""
    return BINARY.get(normalise_cell(cell))


def parse_rating(cell: Any) -> int | float | None:
    """The number of a cell such as ``4``, ``4.5``, ``(+1): positive`` or ``2: yes``; None when it does not start so."""
    if isinstance(cell, bool):
        return None
    match = _RATED.fullmatch(as_text(cell).strip())
    if match is None:
        return None
    number = float(match[1])
    return int(number) if number.is_integer() else number


class LabelIndex:
    """Finds labels by name or numeric code, fast. A name that is not there stays unknown, however near."""

    def __init__(self, codebook: Codebook) -> None:
        self.labels = codebook.labels
        self._names = {normalise(label.name): label for label in codebook.labels}
        self._codes = {float(label.code): label for label in codebook.labels if label.code is not None}
        self._seen: dict[str, Label | None] = {}
        self.most_commas = max((label.name.count(",") for label in codebook.labels), default=0)

    def find(self, text: str) -> Label | None:
        """The label of this name (after ``normalise``) or, failing that, of this code."""
        if text not in self._seen:
            self._seen[text] = self._names.get(normalise(text)) or self._by_code(text)
        return self._seen[text]

    def _by_code(self, text: str) -> Label | None:
        try:
            return self._codes.get(float(text)) if self._codes else None
        except ValueError:
            return None


def split_list(cell: Any, index: LabelIndex | None = None) -> tuple[str, ...]:
    """The names in a list cell: a list, JSON, a list as Python prints it, or parts between ``|``, ``;`` or ``,``.

    An entry may be a name, a span of the text (``[5, 10, "Food"]``) or an object that has the name under one of
    ``NAME_KEYS``, as annotation tools write them; a name that comes again is one. ``index`` keeps label names that hold
    a comma together, longest first. Empty for an empty cell or list and for ``none``.
    """
    if isinstance(cell, list | tuple):
        return tuple(dict.fromkeys(text for text in (_entry_name(each).strip() for each in cell) if text))
    text = as_text(cell).strip()
    if not text or normalise(text) == "none":
        return ()
    if text[0] in "[({" and len(text) <= _LITERAL_LIMIT:
        literal = _literal(text)
        if literal is not None:
            return split_list(literal)
    if index is not None and index.find(text) is not None:
        return (text,)
    separator = "|" if "|" in text else ";" if ";" in text else ","
    parts = text.split(separator)
    if separator == "," and index is not None and index.most_commas:
        parts = _rejoin(parts, index)
    return tuple(part.strip() for part in parts if part.strip())


def _entry_name(entry: Any) -> str:
    if isinstance(entry, dict):
        if "value" in entry or any(isinstance(said, bool) for said in entry.values()):
            return as_text(entry)  # it may say that the label is absent
        named = next((entry[key] for key in NAME_KEYS if entry.get(key)), entry)
        return as_text(named[0] if isinstance(named, list) and len(named) == 1 else named)
    if isinstance(entry, list | tuple) and len(entry) == 3 and all(isinstance(edge, int) for edge in entry[:2]):
        return as_text(entry[2])
    return as_text(entry)


def _literal(text: str) -> list[Any] | None:
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
        if isinstance(value, list | tuple):
            return list(value)
        if isinstance(value, set | frozenset):
            return sorted(value, key=str)
    return None


def _rejoin(parts: list[str], index: LabelIndex) -> list[str]:
    result: list[str] = []
    start = 0
    while start < len(parts):
        longest = min(len(parts), start + 1 + index.most_commas)
        stop = next((end for end in range(longest, start + 1, -1) if index.find(",".join(parts[start:end]))), start + 1)
        result.append(",".join(parts[start:stop]))
        start = stop
    return result


def cell_reader(source: GoldSource, codebook: Codebook, value_map: ValueMap, key: Key) -> CellReader:
    """A function from a cell of ``source`` to what it says, remembering what it has read.

    ``key`` gives the item's key for a label (its id, or its name as long as there is no codebook to have ids). The
    source must suit the codebook (``check_mapping``).
    """
    meant = {normalise_cell(text): value for text, value in value_map.items()}
    index = LabelIndex(codebook)
    read: CellReader
    if source.kind == "choice":
        read = _choice(index, meant, key)
    elif source.kind == "list":
        read = _list(index, meant, key)
    else:
        label = index.find(source.name)
        assert label is not None, f"check_mapping let '{source.name}' pass"
        read = _rating(codebook, meant, key(label)) if codebook.kind == "rating" else _binary(meant, key(label))
    seen: dict[tuple[type, Any], CellReading] = {}

    def remembering(cell: Any) -> CellReading:
        if cell is None or cell == "":
            return NO_GOLD
        if isinstance(cell, list | dict):
            return read(cell)
        known = (cell.__class__, cell)
        said = seen.get(known)
        if said is None:
            said = seen[known] = read(cell)
        return said

    return remembering


def _binary(meant: ValueMap, item: str) -> CellReader:
    said: dict[Value | None, CellReading] = {True: ({item: True}, ()), False: ({item: False}, ()), None: NO_GOLD}

    def read(cell: Any) -> CellReading:
        text = normalise_cell(cell)
        if not text:
            return NO_GOLD
        value = meant[text] if text in meant else BINARY.get(text, text)
        return said.get(value, ({}, (as_text(cell).strip(),)))

    return read


def _rating(codebook: Codebook, meant: ValueMap, item: str) -> CellReader:
    scale = codebook.scale

    def read(cell: Any) -> CellReading:
        text = normalise_cell(cell)
        if not text or (text in meant and meant[text] is None):
            return NO_GOLD
        number = parse_rating(meant.get(text, cell))
        if number is None or (scale is not None and not scale.min <= number <= scale.max):
            return {}, (as_text(cell).strip(),)
        return {item: number}, ()

    return read


def _choice(index: LabelIndex, meant: ValueMap, key: Key) -> CellReader:
    def read(cell: Any) -> CellReading:
        text = as_text(cell).strip()
        value = meant.get(text.casefold(), text)
        if not text or value is None or value is False:
            return NO_GOLD
        label = index.find(as_text(value))
        return ({CHOICE_ITEM: key(label)}, ()) if label is not None else ({}, (text,))

    return read


def _list(index: LabelIndex, meant: ValueMap, key: Key) -> CellReader:
    def read(cell: Any) -> CellReading:
        if not isinstance(cell, list) and not as_text(cell).strip():
            return NO_GOLD
        found: set[str] = set()
        unknown: list[str] = []
        for name in split_list(cell, index):
            value = meant.get(name.casefold(), name)
            label = index.find(as_text(value)) if value is not None else None
            if label is not None:
                found.add(key(label))
            elif value is not None and value is not False:
                unknown.append(name)
        # A name nobody knows may stand for any label: then what is not listed is not known to be absent.
        items = (key(label) for label in index.labels)
        return {item: item in found for item in items if item in found or not unknown}, tuple(unknown)

    return read


def guess_kind(cells: abc.Sequence[Any]) -> Literal["binary", "rating", "list", "names", "empty"]:
    """What sort of gold a column may hold, from cells that are not all empty: what nine in ten of them are."""
    filled = [cell for cell in cells if cell is not None and (isinstance(cell, list) or as_text(cell).strip())]
    if not filled:
        return "empty"
    need = 0.9 * len(filled)
    if sum(parse_binary(cell) is not None for cell in filled) >= need:
        return "binary"
    if sum(parse_rating(cell) is not None for cell in filled) >= need:
        return "rating"
    lists = sum(isinstance(cell, list) or as_text(cell).strip()[:1] == "[" for cell in filled)
    separated = sum(len(split_list(cell)) > 1 for cell in filled)
    return "list" if lists >= need or separated >= 0.2 * len(filled) else "names"
