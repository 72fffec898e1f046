"""Codebook: labels with definitions, in the user's words."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from itertools import chain, count, zip_longest
from typing import Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from core import yaml_text
from core.documents import Value
from core.errors import CodebookError, UsageError
from core.formatting import did_you_mean, format_rating, problem_message
from core.hashing import digest

Kind: TypeAlias = Literal["multilabel", "choice", "rating"]


def label_noun(kind: Kind) -> str:
    """Return the name of a label on screen: "dimension" for ratings, else "label"."""
    return "dimension" if kind == "rating" else "label"


OpenForm: TypeAlias = Literal["", "options", "word"]
"""Form in which the author of a text answers an open label.

``options``: one of several options made for the text. ``word``: one free word. Empty for a label with fixed values.
"""
MAX_LABELS = 1_000
MAX_NAME = 500
"""Most characters of a new label's name. Whole questions of a survey fit; stored names may be longer."""
MAX_STEPS = 1_001
"""Most values of a rating scale: 0 to 1,000."""
CHOICE_ITEM = "label"
"""The only item of a choice codebook; its value is a label id."""

COLOUR_HEX = ("#1c806c", "#cf559f", "#955800", "#1b4e86", "#7c9a10", "#a50f1a", "#8468d6", "#b08775")
"""Label colours for other programs: the tokens l1 to l8 of the light theme."""

COLOURS = len(COLOUR_HEX)
"""Number of label colours; ``Label.colour`` is 1 to COLOURS."""

_STRIPPED = re.compile(r"[#*\"'`“”„‘’«»]")
_DOUBLE_QUOTE = re.compile(r"[\"“”„«»]")
_HIDDEN = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]"
)
"""Characters that are not visible, or that reverse the text after them. A joiner is kept: emoji and scripts need it."""


def normalise(name: str) -> str:
    """Return a label name for comparison: NFKC, casefolded, without hash, asterisk, quotes and hidden characters."""
    text = _STRIPPED.sub("", _HIDDEN.sub("", unicodedata.normalize("NFKC", name)))
    return _one_line(text).casefold()


def is_reserved(name: str, kind: Kind) -> bool:
    """Return True for "none", which means that a document has no label. A label of a choice may be named so."""
    return kind != "choice" and normalise(name) == "none"


def _one_line(text: str) -> str:
    return " ".join(text.split())


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    @model_validator(mode="before")
    @classmethod
    def _without_empty_fields(cls, data: Any) -> Any:
        """Leave out fields without a value, such as ``description:`` in YAML."""
        return {key: value for key, value in data.items() if value is not None} if isinstance(data, Mapping) else data


class Scale(_Frozen):
    """Ordinal scale of a rating codebook, both ends included."""

    min: int = 1
    max: int = 5

    @property
    def points(self) -> range:
        """The points of the scale, from the lowest."""
        return range(self.min, self.max + 1)

    def __str__(self) -> str:
        """Return the ends in words: "1 to 5"."""
        return f"{format_rating(self.min)} to {format_rating(self.max)}"

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min >= self.max:
            raise ValueError("the scale's min must be below its max")
        if self.max - self.min >= MAX_STEPS:
            raise ValueError(f"the scale has more than {MAX_STEPS} steps")
        return self


def nearest_point(rating: float) -> int:
    """Return the point of a scale nearest to a rating between two points; a half is rounded up."""
    return math.floor(rating + 0.5)


class Label(_Frozen):
    """One label (in a rating codebook: one dimension) with the definitions for prompts and the built-in model."""

    name: str
    description: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    colour: int = Field(default=0, ge=0, le=COLOURS)
    code: int | float | None = None
    open: OpenForm = ""
    scale: Scale | None = None
    id: str = ""

    @field_validator("name")
    @classmethod
    def _usable_name(cls, name: str) -> str:
        name = _one_line(_HIDDEN.sub("", name))
        name = _DOUBLE_QUOTE.sub("'", name)  # a double one would open a quotation wherever it is named
        if not normalise(name):
            raise ValueError("a label needs a name")
        return name

    @field_validator("include", "exclude", "keywords")
    @classmethod
    def _no_blanks(cls, lines: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line for line in map(_one_line, lines) if line))


class Codebook(_Frozen):
    """A codebook. Label names are unique after ``normalise``; label ids are stable across versions.

    ``scale`` is the scale of all dimensions of a rating, or covers their different scales; ``scales`` has that of each.
    """

    name: str = "Codebook"
    kind: Kind = "multilabel"
    unit: str = "text"
    domain: str = ""
    guideline: str = ""
    labels: tuple[Label, ...] = ()
    scale: Scale | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if len(self.labels) > MAX_LABELS:
            raise ValueError(f"{len(self.labels):,} labels; at most {MAX_LABELS:,} fit into a prompt")
        seen: dict[str, str] = {}
        for label in self.labels:
            name = normalise(label.name)
            if name in seen:
                raise ValueError(f"two labels have the same name: '{seen[name]}' and '{label.name}'; rename one")
            seen[name] = label.name
            if is_reserved(name, self.kind):
                raise ValueError(f"'{label.name}' is reserved for documents without labels; choose another name")
        if self.kind != "rating" and (self.scale is not None or any(label.scale for label in self.labels)):
            raise ValueError("a scale belongs to kind rating")
        if self.kind != "multilabel" and any(label.open for label in self.labels):
            raise ValueError("open labels belong to kind multilabel")
        used_ids = {label.id for label in self.labels if label.id}
        if len(used_ids) != sum(bool(label.id) for label in self.labels):
            raise ValueError("two labels have the same id")
        object.__setattr__(self, "labels", tuple(_with_ids(self.labels, used_ids)))
        if self.kind == "rating":
            self._set_scales()
        return self

    def _set_scales(self) -> None:
        """Give every dimension its own scale unless all have the same; ``scale`` then covers all of them."""
        common = self.scale or Scale()
        scales = [label.scale or common for label in self.labels] or [common]
        widest = Scale(min=min(scale.min for scale in scales), max=max(scale.max for scale in scales))
        labels = (
            label.model_copy(update={"scale": scale if len(set(scales)) > 1 else None})
            for label, scale in zip(self.labels, scales, strict=False)
        )
        object.__setattr__(self, "labels", tuple(labels))
        object.__setattr__(self, "scale", widest)

    def allows(self, item: str, value: object) -> bool:
        """Return True if an item can have a value; codebooks of another kind or with another scale differ in that."""
        if item not in self.items:
            return False
        if self.kind == "choice":
            return value in self.label_names
        if self.kind == "multilabel" or isinstance(value, bool):
            return self.kind == "multilabel" and isinstance(value, bool)
        scale = self.scale_of(item)
        return isinstance(value, int | float) and scale.min <= value <= scale.max

    def scale_of(self, item: str) -> Scale:
        """Return the scale of a dimension: its own, else that of the codebook."""
        scale = next((label.scale for label in self.labels if label.id == item), None)
        return scale or self.scale or Scale()

    @property
    def scales(self) -> tuple[Scale, ...]:
        """The scale of each dimension in order; empty unless the codebook rates."""
        return tuple(self.scale_of(label.id) for label in self.labels) if self.kind == "rating" else ()

    @cached_property
    def definition_hashes(self) -> dict[str, str]:
        """Hash of the words that define each label, by its id; of ratings with the scale."""
        hashes = {}
        for label, scale in zip_longest(self.labels, self.scales):
            words = [label.name, label.description, list(label.include), list(label.exclude), sorted(label.keywords)]
            hashes[label.id] = digest(words, size=8) + (f" {scale}" if scale else "")
        return hashes

    @property
    def mixes_scales(self) -> bool:
        """True if the dimensions have different scales."""
        return any(label.scale for label in self.labels)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Codebook) and self.hash == other.hash)

    def __hash__(self) -> int:
        return hash(self.hash)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy, with the fields in ``update`` replaced."""
        copied = super().model_copy(update=update, deep=deep)
        for cached in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[cached]
        return copied

    @cached_property
    def hash(self) -> str:
        """Hash of the whole content, including the order of labels."""
        data = self.model_dump(mode="json")
        for label in data["labels"]:
            if not label["open"]:  # keeps the hashes of codebooks from before labels could be open
                del label["open"]
            if label["scale"] is None:  # likewise from before dimensions had scales
                del label["scale"]
        return digest(data)

    @property
    def closed(self) -> Codebook:
        """This codebook without open labels, which only the authors of texts are asked about."""
        labels = tuple(label for label in self.labels if not label.open)
        return self if labels == self.labels else self.model_copy(update={"labels": labels})

    @cached_property
    def items(self) -> tuple[str, ...]:
        """Items that annotations have values for: every label's id, or ``CHOICE_ITEM`` alone for a choice."""
        return (CHOICE_ITEM,) if self.kind == "choice" else tuple(label.id for label in self.labels)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Label names in order."""
        return tuple(label.name for label in self.labels)

    @cached_property
    def label_names(self) -> Mapping[Any, str]:
        """Label names by id, in order; ``label_names.get(value, value)`` names the value of a choice."""
        return {label.id: label.name for label in self.labels}

    @cached_property
    def label_numbers(self) -> Mapping[Any, int]:
        """The numbers of the labels by id, in order from 0: the codes of the values of a choice."""
        return {label.id: number for number, label in enumerate(self.labels)}

    @cached_property
    def item_names(self) -> tuple[str, ...]:
        """The names of the items: those of the labels, or ``CHOICE_ITEM`` alone for a choice."""
        return self.items if self.kind == "choice" else self.names

    def item_title(self, item: str) -> str:
        """Return the name of an item in sentences: its label's name, or ``Label`` for the one item of a choice."""
        return self.label_names.get(item, "Label" if self.kind == "choice" else item)

    def value_name(self, value: Value | None) -> str:
        """Return a value as text: present, absent, a rating, a label's name, or undecided."""
        match value:
            case None:
                return "undecided"
            case bool():
                return "present" if value else "absent"
            case str():
                return self.label_names.get(value, value)
            case _:
                return format_rating(value)

    def label(self, label_id: str) -> Label:
        """Return the label with this id. Raises KeyError."""
        for label in self.labels:
            if label.id == label_id:
                return label
        raise KeyError(label_id)

    def find(self, name: str) -> Label | None:
        """Return the label with this name after ``normalise``, or None; similar names do not match."""
        return self._by_name.get(normalise(name))

    @cached_property
    def _by_name(self) -> Mapping[str, Label]:
        return {normalise(label.name): label for label in reversed(self.labels)}

    def require(self, name: str) -> Label:
        """Return the label with this name. UsageError suggests the nearest label if there is none."""
        label = self.find(name)
        if label is None:
            names = ", ".join(self.names) or "none"
            raise UsageError(
                f"The codebook has no label '{name}'.", f"{did_you_mean(name, self.names, normalise)}It has: {names}."
            )
        return label

    def narrowed(self, label_id: str) -> Codebook:
        """Return this codebook with one label (or dimension) alone. Raises KeyError."""
        return _narrowed(self, label_id)

    def part(self, only: str, excluded: str) -> Codebook:
        """Return one label alone, else all but one; the whole codebook for two empty ids. Raises KeyError."""
        if only or not excluded:
            return self.narrowed(only) if only else self
        return self.model_copy(update={"labels": tuple(label for label in self.labels if label.id != excluded)})

    def require_labels(self) -> Self:
        """Return this codebook. Raises CodebookError if it has no labels."""
        if not self.labels:
            raise CodebookError(
                f"The codebook '{self.name}' has no labels.", "Add at least one with a name and a description."
            )
        return self


@lru_cache(maxsize=1024)  # debates about single labels ask for the same part for every document
def _narrowed(codebook: Codebook, label_id: str) -> Codebook:
    return codebook.model_copy(update={"labels": (codebook.label(label_id),)})


def _with_ids(labels: Iterable[Label], used_ids: set[str]) -> Iterable[Label]:
    for index, label in enumerate(labels):
        update: dict[str, Any] = {}
        if not label.id:
            update["id"] = _new_id(label.name, used_ids)
            used_ids.add(update["id"])
        if not label.colour:
            update["colour"] = index % COLOURS + 1
        yield label.model_copy(update=update) if update else label


def id_from_name(name: str) -> str:
    """Return the id that a label gets from its name, unless another label has the id."""
    return digest(normalise(name), size=4)


def _new_id(name: str, used_ids: set[str]) -> str:
    others = (digest([normalise(name), salt], size=4) for salt in count(1))
    return next(id for id in chain([id_from_name(name)], others) if id not in used_ids)


def label_key(codebook: Codebook) -> tuple[str, ...]:
    """Return kind, labels and scales: only runs with the same ones can be compared. Their order may differ."""
    return (codebook.kind, *sorted(map(str, zip_longest(codebook.label_names, codebook.scales))))


def are_comparable(first: Codebook, second: Codebook) -> bool:
    """Return True if runs of two codebooks can be compared."""
    return label_key(first) == label_key(second)


def incomparability(first: Codebook, second: Codebook) -> str:
    """Return why runs of two codebooks cannot be compared: "different labels"; empty if they can."""
    if are_comparable(first, second):
        return ""
    ids, other_ids = ({label.id for label in codebook.labels} for codebook in (first, second))
    return "different scales" if (first.kind, ids) == (second.kind, other_ids) else "different labels"


def parse_codebook(
    data: Mapping[str, Any],
    *,
    source: str = "the codebook",
    is_stored: bool = False,
    lines: Mapping[yaml_text.Location, int] | None = None,
) -> Codebook:
    """Parse a codebook from plain data (YAML, JSON, a form).

    Raises CodebookError naming every wrong field, with its line if ``lines`` has it, and unless the codebook
    ``is_stored`` for a name that is too long and for a code of several labels.
    """
    try:
        codebook = Codebook.model_validate(data)
    except ValidationError as error:
        raise CodebookError(
            f"{source}: {_error_text(error, data, lines or {})}.", "Correct it and try again."
        ) from error
    if is_stored:
        return codebook
    for number, name in enumerate(codebook.names, 1):
        if problem := name_problem(name):
            raise CodebookError(f"{source}: label {number}: {problem}.", "Correct it and try again.")
    codes = [label.code for label in codebook.labels if label.code is not None]
    if repeated := {code for code in codes if codes.count(code) > 1}:
        raise CodebookError(f"{source}: two labels have the same code: {min(repeated)}.", "Change one of them.")
    return codebook


def name_problem(name: str) -> str:
    """Return what is wrong with the length of a new label's name, empty if nothing is."""
    if len(name) <= MAX_NAME:
        return ""
    return f"the name has {len(name):,} characters; at most {MAX_NAME} fit into a prompt"


_TEXT_KEYS = ("name", "unit", "domain", "guideline", "description", "include", "exclude", "keywords")


def load_yaml(text: str, *, source: str = "the codebook") -> Codebook:
    """Load a codebook from YAML (or JSON). Raises CodebookError for anything but a mapping of known fields."""
    data, root = yaml_text.parse(text, source, CodebookError, _TEXT_KEYS)
    if not isinstance(data, dict):
        found = "nothing" if data is None else "a list" if isinstance(data, list) else "a single value"
        raise CodebookError(
            f"{source}: expected name, kind, unit and labels, found {found}.",
            "See the sample codebook for the layout.",
        )
    return parse_codebook(data, source=source, lines=yaml_text.line_numbers(root))


def dump_yaml(codebook: Codebook) -> str:
    """Return YAML that ``load_yaml`` reads back to an equal codebook; defaults are omitted, ids are kept."""
    data = codebook.model_dump(mode="json", exclude_defaults=True)
    data = {"name": codebook.name, "kind": codebook.kind, "unit": codebook.unit, **data}
    return yaml_text.dump(data)


def _error_text(error: ValidationError, data: Mapping[str, Any], lines: Mapping[yaml_text.Location, int]) -> str:
    """Return all problems, each with its line if that is known."""
    parts = []
    for problem in error.errors(include_url=False):
        path, message = problem["loc"], problem_message(problem)
        location = [str(step + 1 if isinstance(step, int) else step) for step in path]
        if location[-1:] in (["int"], ["float"]):  # a code may be either
            del location[-1]
            message = "expected a number"
        elif location[-1:] == ["scale"] and problem["type"] == "model_type":
            message = "expected fields, such as {min: 1, max: 5}"
        if len(path) > 1 and path[0] == "labels" and isinstance(path[1], int):
            location[:2] = [_label_name(data, path[1])]
        places = (path[:end] for end in range(len(path), 0, -1))
        line = next((f"line {lines[place]}" for place in places if place in lines), "")
        parts.append(": ".join(filter(None, (line, " > ".join(location), message))))
    return "; ".join(dict.fromkeys(parts))


def _label_name(data: Mapping[str, Any], index: int) -> str:
    label = data["labels"][index]
    name = label.get("name") if isinstance(label, Mapping) else None
    return f"label {index + 1}" if name is None else f"label '{str(name)[:80]}'"
