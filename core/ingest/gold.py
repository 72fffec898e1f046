"""Gold columns and their cells: present or absent, a rating, a label, a list of labels, empty, or not understood."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_lowercase
from typing import Any, Literal, TypeAlias

from core.codebook import CHOICE_ITEM, Codebook, Label, normalise
from core.documents import GOLD_RATER, Value, as_rating
from core.ingest.table import EXCEL_ERRORS, as_text

GoldKind: TypeAlias = Literal["label", "list", "choice"]


@dataclass(frozen=True, slots=True)
class GoldSource:
    """A column with gold by one rater.

    ``label``: a cell is the presence of one label (or its rating, in a rating codebook); ``label`` is its name, empty
    for the column's name. ``list``: a cell lists the labels that are present, as JSON or separated by ``|``, ``;`` or
    ``,``; all others are absent. ``choice``: a cell is the one label of the document, or a list with only this label.
    """

    column: str
    kind: GoldKind = "label"
    label: str = ""
    rater: str = GOLD_RATER

    @property
    def name(self) -> str:
        """The name of the label for kind ``label``."""
        return self.label or self.column


CellReading: TypeAlias = tuple[Mapping[str, Value], tuple[str, ...]]
"""The values of a cell by item, and the parts of it that are not understood."""

CellReader: TypeAlias = Callable[[Any], CellReading]
ValueMap: TypeAlias = Mapping[str, Value | None]

BINARY: dict[str, bool] = {
    **dict.fromkeys(("1", "1.0", "1,0", "true", "yes", "y", "present"), True),
    **dict.fromkeys(("0", "0.0", "0,0", "false", "no", "n", "absent"), False),
    **dict.fromkeys(("ja", "oui", "sí", "si", "sì", "sim", "да", "是", "tak", "evet", "はい"), True),
    **dict.fromkeys(("nein", "non", "nee", "não", "нет", "否", "nie", "hayır", "いいえ", "nej", "nei"), False),
    **dict.fromkeys(("t", "wahr", "vrai", "verdadero", "vero", "verdadeiro", "waar", "prawda"), True),
    **dict.fromkeys(("f", "falsch", "faux", "falso", "onwaar", "fałsz"), False),
    **dict.fromkeys(("✓", "✔", "☑", "checked", "selected", "on"), True),
    **dict.fromkeys(("✗", "✘", "☐", "unchecked", "not selected", "off"), False),
}
"""The conventions of a binary gold cell, casefolded. An x is not among them: it may mean either."""

NO_ANSWER = "#"
"""Cell of a label that was not accepted in Prodigy. A label cannot have this name (``normalise``)."""

MISSING = frozenset((NO_ANSWER, "na", "n/a", "<na>", "nan", "null", "\\n", ".")).union(
    (f".{letter}" for letter in ascii_lowercase), map(str.casefold, EXCEL_ERRORS)
)
"""Casefolded cells without a value, as R, pandas, databases, Excel and Stata write them. A label may have such a name.

Unlike an empty cell, they never mean that a label is absent.
"""

NAME_KEYS = ("label", "labels", "category", "aspect", "name")
"""Keys of the label name in an object in a list of gold: the first one present counts."""
SCORE_KEYS = ("score", "confidence", "probability")
"""Keys of the probability of a label in such an object."""

PEOPLE = (
    r"(?:annotator|anno|ann|coder|expert|judge|rater|reader|reviewer|worker|(?:[ck]odierer|beurteiler|bewerter)(?:in)?)"
)
"""Names of those who label, also in German."""
USER = "user(?:name)?"
"""A rater where rows have ids; else perhaps somebody who wrote or shared the text."""
RATER = re.compile(
    rf"_?(?:{PEOPLE}|assessor|labell?er|tagger|turker|{USER})s?(?:[ _.-]?(?:id|name|no|nr|number))?"
    r"|(?:annotated|coded)_by",
    re.IGNORECASE,
)
"""Names of columns and keys that hold the person who labelled."""

NOT_ACCEPTED = "_not_accepted"
"""End of the names of columns with what users of Prodigy rejected or ignored."""

NO_GOLD: CellReading = ({}, ())
_RATED = re.compile(
    r"\(?\s*([+-]?[0-9]{1,15}(?:\.[0-9]+|,(?![0-9]{3}(?![0-9e]))[0-9]+)?(?:e[+-][0-9]{2})?)(?:\s*+\))?+"
    r"(?:\s*+(?:=|:(?!\d\d(?::\d\d)?\s*\Z)).*|\s++[-–—]\s+[^\W\d].*|\s++\([^\W\d].*\))?",
    re.DOTALL | re.IGNORECASE,
)
_ADJACENT = re.compile(r"(?<=')\s+(?=')")
"""Space between the texts of an array that numpy printed: ``['Food' 'Price']``."""
_LITERAL_LIMIT = 20_000
_PRESENT = 0.5
"""Least share or probability of a name in an object from which on the name is listed."""


def normalise_cell(cell: Any) -> str:
    """Return a cell for comparison: as text, trimmed, casefolded."""
    return as_text(cell).strip().casefold()


def parse_binary(cell: Any) -> bool | None:
    """Return True or False by the conventions of ``BINARY``, None for everything else and for empty cells."""
    return BINARY.get(normalise_cell(cell))


def binary_or_text(cell: Any) -> bool | str:
    """Return True or False by the conventions of ``BINARY``, and the normalised text of any other cell."""
    text = normalise_cell(cell)
    return BINARY.get(text, text)


def has_only_crosses(cells: Iterable[Any]) -> bool:
    """Return True for a column of crosses: each cell that is not empty is an x."""
    return {normalise_cell(cell) for cell in cells} - {""} == {"x"}


def has_only_own_name(name: str, cells: Iterable[Any]) -> bool:
    """Return True for an option of a survey: each cell that is not blank is the name of the column."""
    filled = [cell for cell in cells if not is_blank(cell)]
    return bool(filled) and all(normalise(as_text(cell)) == normalise(name) for cell in filled)


def plain_number(cell: Any) -> float | None:
    """Return the number in a cell, None for any other text."""
    try:
        number = float(as_text(cell))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def parse_rating(cell: Any) -> int | float | None:
    """Return the number of a cell such as ``4``, ``4.5``, ``4,5``, ``1e-04``, ``(+1): positive``, ``2 - no``, or None.

    A comma with three digits behind it is read as nothing: it may separate thousands. So is ``3:15``, a time.
    """
    if isinstance(cell, bool):
        return None
    match = _RATED.fullmatch(as_text(cell).strip())
    if match is None:
        return None
    return as_rating(float(match[1].replace(",", ".")))


def is_blank(cell: Any) -> bool:
    """Return True for an empty cell and for the words of ``MISSING``."""
    return not isinstance(cell, list) and normalise_cell(cell) in _BLANK


_BLANK = MISSING | {""}


def is_dash(cell: Any) -> bool:
    """Return True for a dash, which among the names of a choice means that there is no label, as in SNLI."""
    return as_text(cell).strip() in ("-", "–", "—")


def words_of(name: str) -> str:
    """Return a name for comparison in which hyphens and underscores between words are spaces."""
    return re.sub(r"(?<=[^\W_])[_-]+(?=[^\W_])", " ", normalise(name))


class LabelIndex:
    """A cached look-up of labels by name or numeric code. ``waiting_time`` is "Waiting time"; similar names are not."""

    def __init__(self, codebook: Codebook) -> None:
        self.labels = codebook.labels
        self._by_name = codebook.find
        by_words: dict[str, list[Label]] = {}
        for label in codebook.labels:
            by_words.setdefault(words_of(label.name), []).append(label)
        self.by_words = {words: labels[0] for words, labels in by_words.items() if len(labels) == 1}
        self._codes = {float(label.code): label for label in codebook.labels if label.code is not None}
        self._seen: dict[str, Label | None] = {}
        self.max_commas = max((label.name.count(",") for label in codebook.labels), default=0)

    def find(self, text: str) -> Label | None:
        """Return the label with this name (after ``normalise``), otherwise with this code, otherwise None.

        Hyphens and underscores count as spaces where only one label has the same words.
        """
        if text not in self._seen:
            self._seen[text] = self._by_name(text) or self._by_code(text) or self.find_name(text)
        return self._seen[text]

    def find_name(self, text: str) -> Label | None:
        """Return the label with this name or with the same words, otherwise None. Codes are not names."""
        return self._by_name(text) or self.by_words.get(words_of(text))

    def sources(self, columns: Iterable[str]) -> list[GoldSource]:
        """Return for each label the column spelled like it, else of the same name (``normalise``) or the same words.

        Of several such columns the first counts. Labels without a column are left out.
        """
        candidates: dict[str, list[str]] = {}
        for column in columns:
            if label := self.find_name(column):
                candidates.setdefault(label.name, []).append(column)

        def closest(name: str) -> str:
            return min(candidates[name], key=lambda column: (column != name, normalise(column) != normalise(name)))

        return [
            GoldSource(closest(label.name), "label", label.name) for label in self.labels if label.name in candidates
        ]

    def _by_code(self, text: str) -> Label | None:
        try:
            return self._codes.get(float(text)) if self._codes else None
        except ValueError:
            return None


def split_list(cell: Any, index: LabelIndex | None = None) -> tuple[str, ...]:
    """Return the names in a list cell: a list, JSON, a Python literal, or parts between ``|``, ``;``, ``,`` or lines.

    An entry may be a name, a span of the text (``[5, 10, "Food"]``), or an object that has the name under one of
    ``NAME_KEYS``. Repeated names count once. An object with a number from 0 to 1 under one of ``SCORE_KEYS`` that is
    below 0.5 is left out, as classifiers score every label.

    A cell may also be an object: of shares or true and false (``{"Food": 0.9, "Price": 0}``), which lists the names
    with 0.5 or more, or of a single list (``{"choices": [...]}``).

    With ``index``, label names with a comma stay together, longest first, and ``#``, ``/``, ``+`` or ``&`` separates
    names if all parts are labels. Empty for an empty cell or list and for ``none``.
    """
    if isinstance(cell, dict):
        return _names_in_object(cell)
    if isinstance(cell, list | tuple):
        return tuple(dict.fromkeys(text for text in (_entry_name(entry).strip() for entry in cell) if text))
    text = as_text(cell).strip()
    if not text or normalise(text) == "none":
        return ()
    if (literal := _literal(text)) is not None:
        return split_list(literal)
    if index is not None and index.find(text) is not None:
        return (text,)
    return tuple(part.strip() for part in _parts(text, index) if part.strip())


def _names_in_object(cell: dict[str, Any]) -> tuple[str, ...]:
    """Return the names in an object of a single list or of shares; the text of any other object."""
    values = list(cell.values())
    if len(values) == 1 and isinstance(values[0], list):
        return split_list(values[0])
    if all(isinstance(value, int | float) and 0 <= value <= 1 for value in values):
        return tuple(name.strip() for name, value in cell.items() if value >= _PRESENT)
    return (as_text(cell),)


def _parts(text: str, index: LabelIndex | None) -> list[str]:
    """Return the parts of a text between separators, as ``split_list`` describes them."""
    for separator in ("|", ";"):
        if separator in text:
            return text.split(separator)
    parts = text.replace("\n", ",").split(",")
    if index is None:
        return parts
    if len(parts) == 1:
        by_signs = ([*filter(None, text.split(sign))] for sign in "#/+&")
        parts = next((names for names in by_signs if len(names) > 1 and all(map(index.find, names))), parts)
    return _rejoin(parts, index) if index.max_commas else parts


def split_lists(cells: Sequence[Any], signs: str = "#/+&", sure: str = "") -> list[tuple[str, ...]]:
    """Return the names in each list cell of a column.

    If no cell has a separator, one of ``signs`` separates names if in at least half of the cells with it all of them
    are cells of their own. Of names around a sign in ``sure``, one such cell is enough.
    """
    name_lists = [split_list(cell) for cell in cells]
    if any(len(names) > 1 for names in name_lists):
        return name_lists
    single_names = {normalise(name) for names in name_lists for name in names}
    for sign in signs:
        parted = ([part.strip() for name in names for part in name.split(sign)] for names in name_lists)
        split = [tuple(filter(None, parts)) for parts in parted]
        separated = [parts for parts in split if len(parts) > 1]
        fits = any if sign in sure else all
        known = sum(fits(normalise(part) in single_names for part in parts) for parts in separated)
        if separated and known >= 0.5 * len(separated):
            return split
    return name_lists


def has_vectors(cells: Iterable[Any]) -> bool:
    """Return True for a column of multi-hot vectors such as ``[0, 1, 1, 0]`` or ``0,1,1,0``, which name no labels.

    They are lists of 0 and 1 of the same length, at least 2. Empty lists do not count.
    """
    lengths = set()
    for cell in cells:
        if is_blank(cell):
            continue
        listed = cell if isinstance(cell, list) else _literal(as_text(cell).strip())
        vector = [*map(normalise_cell, split_list(cell) if listed is None else listed)]
        if not set(vector) <= {"0", "1", "true", "false"}:
            return False
        lengths.add(len(vector))
    lengths.discard(0)
    return len(lengths) == 1 and min(lengths) > 1


def choice_name(cell: Any) -> str:
    """Return the name in a cell with one label: its text, or the only name of a list (``["Food"]``)."""
    text = as_text(cell).strip()
    names = split_list(cell) if isinstance(cell, list) or text.startswith("[") else (text,)
    return text if len(names) > 1 else next(iter(names), "")


def _entry_name(entry: Any) -> str:
    """Return the name in an entry of a list, empty if its score marks the label as absent."""
    if isinstance(entry, dict):
        if "value" in entry or any(isinstance(value, bool) for value in entry.values()) or rater_key(entry):
            return as_text(entry)  # it may say that the label is absent, or be one opinion of several
        scores = [entry[key] for key in SCORE_KEYS if isinstance(entry.get(key), int | float)]
        if any(0 <= score < _PRESENT for score in scores):
            return ""
        named = next((entry[key] for key in NAME_KEYS if entry.get(key)), entry)
        return as_text(named[0] if isinstance(named, list) and len(named) == 1 else named)
    if isinstance(entry, list | tuple) and len(entry) == 3 and all(isinstance(edge, int) for edge in entry[:2]):
        return as_text(entry[2])
    return as_text(entry)


def rater_key(entry: Mapping[str, Any]) -> str | None:
    """Return the key of the person who labelled in an object of a list, None if there is none."""
    return next(filter(RATER.fullmatch, entry), None)


def _literal(text: str) -> list[Any] | dict[str, Any] | None:
    if text[:1] not in ("[", "(", "{") or len(text) > _LITERAL_LIMIT:
        return None
    for parse, written in ((json.loads, text), (ast.literal_eval, _ADJACENT.sub(", ", text))):
        try:
            value = parse(written)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
        if isinstance(value, dict) and all(isinstance(name, str) for name in value):
            return value
        if isinstance(value, list | tuple):
            return list(value)
        if isinstance(value, set | frozenset):
            return sorted(value, key=str)
    return None


def _rejoin(parts: list[str], index: LabelIndex) -> list[str]:
    result: list[str] = []
    start = 0
    while start < len(parts):
        longest = min(len(parts), start + 1 + index.max_commas)
        stop = next((end for end in range(longest, start + 1, -1) if index.find(",".join(parts[start:end]))), start + 1)
        result.append(",".join(parts[start:stop]))
        start = stop
    return result


def cell_reader(source: GoldSource, codebook: Codebook, value_map: ValueMap, cells: Iterable[Any]) -> CellReader:
    """Return a cached function that reads one of the ``cells`` of ``source``, which must suit the codebook.

    An empty cell has no gold, unless ``value_map`` says for the empty text that a label, or in a list every label, is
    absent. ``check_mapping`` checks that the source suits the codebook.
    """
    mapped = {normalise_cell(text): value for text, value in value_map.items()}
    index = LabelIndex(codebook)
    read: CellReader
    if source.kind == "choice":
        read = _choice(index, mapped)
    elif source.kind == "list":
        read = _list(index, mapped)
    else:
        label = index.find(source.name)
        assert label is not None, f"check_mapping let '{source.name}' pass"
        read = _rating(codebook, mapped, label) if codebook.kind == "rating" else _binary(mapped, label, cells)
    cached = lru_cache(maxsize=None, typed=True)(read)
    return lambda cell: read(cell) if isinstance(cell, list | dict) else cached(cell)


def _binary(mapped: ValueMap, label: Label, cells: Iterable[Any]) -> CellReader:
    own_name = normalise(label.name)  # survey tools write the option that was chosen
    # a column with only "No" and empty cells may have the chosen option "No", or its absence
    is_doubtful = BINARY.get(own_name) is False and has_only_own_name(label.name, cells)
    by_value: dict[Value | None, CellReading] = {
        True: ({label.id: True}, ()),
        False: ({label.id: False}, ()),
        None: NO_GOLD,
    }

    def read(cell: Any) -> CellReading:
        text = normalise_cell(cell)
        if text in mapped:
            value = mapped[text]
        elif text in _BLANK:
            return NO_GOLD
        elif normalise(text) == own_name and (is_doubtful or text not in BINARY):
            value = text if is_doubtful else True
        else:
            value = binary_or_text(text)
        return by_value.get(value, ({}, (as_text(cell).strip(),)))

    return read


def _rating(codebook: Codebook, mapped: ValueMap, label: Label) -> CellReader:
    scale = codebook.scale_of(label.id)

    def read(cell: Any) -> CellReading:
        text = normalise_cell(cell)
        if mapped[text] is None if text in mapped else text in _BLANK:
            return NO_GOLD
        number = parse_rating(mapped.get(text, cell))
        if number is None or not scale.min <= number <= scale.max:
            return {}, (as_text(cell).strip(),)
        return {label.id: number}, ()

    return read


def _choice(index: LabelIndex, mapped: ValueMap) -> CellReader:
    def read(cell: Any) -> CellReading:
        text = choice_name(cell)
        value = mapped.get(text.casefold(), text)
        if not text or value is None or value is False:
            return NO_GOLD
        label = index.find(as_text(value))
        if label is None:
            return NO_GOLD if is_blank(text) or is_dash(text) else ({}, (text,))
        return {CHOICE_ITEM: label.id}, ()

    return read


def _list(index: LabelIndex, mapped: ValueMap) -> CellReader:
    def has_meaning(blank: str) -> bool:
        return blank in mapped or index.find(blank) is not None if blank else mapped.get("") is False

    def read(cell: Any) -> CellReading:
        if is_blank(cell) and not has_meaning(normalise_cell(cell)):
            return NO_GOLD
        listed: set[str] = set()
        unknown: list[str] = []
        names = split_list(cell, index)
        for name in names if [*map(normalise, names)] != ["none"] else ():
            value = mapped.get(name.casefold(), name)
            label = index.find(as_text(value)) if value is not None else None
            if label is not None:
                listed.add(label.id)
            elif value is not None and value is not False:
                unknown.append(name)
        # An unknown name may mean any label: then labels that are not listed may still be present.
        items = (label.id for label in index.labels)
        return {item: item in listed for item in items if item in listed or not unknown}, tuple(unknown)

    return read


_HALF = re.compile(r"-?\d+,[05]0?")
"""A number with half a point or none behind a decimal comma."""


def guess_kind(cells: Sequence[Any]) -> Literal["binary", "rating", "list", "names", "empty"]:
    """Return the kind of gold that nine in ten of the cells look like."""
    filled = [cell for cell in cells if not is_blank(cell)]
    if not filled:
        return "empty"
    need = 0.9 * len(filled)
    if sum(parse_binary(cell) is not None for cell in filled) >= need or has_only_crosses(filled):
        return "binary"
    with_comma = [as_text(cell).strip() for cell in filled if "," in as_text(cell)]
    # "1,3" is more likely two codes than a decimal, except among half points
    has_halves = len(set(with_comma)) > 1 and all(map(_HALF.fullmatch, with_comma))
    if sum(parse_rating(cell) is not None and (has_halves or "," not in as_text(cell)) for cell in filled) >= need:
        return "rating"
    lists = sum(isinstance(cell, list) or as_text(cell).strip()[:1] == "[" for cell in filled)
    separated = sum(len(names) > 1 for names in split_lists(filled, "#"))  # doccano; "A/B" may be one label
    return "list" if lists >= need or separated >= 0.2 * len(filled) else "names"
