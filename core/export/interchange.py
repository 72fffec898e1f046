"""What the layouts of other annotation tools share: who says what of a document, in the names a reader knows."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from core.codebook import CHOICE_ITEM, Codebook, Scale
from core.documents import Value
from core.export.rows import AnnotatorValues, ExportRow

TEXT = "text"
"""The key of the first text field in every layout, whatever the file called it: the spans point into it."""

Named: TypeAlias = "list[str] | str | dict[str, int | float]"
"""Names of the labels that are present, the name of the one label, or a rating by the dimension's name."""


def fields_of(row: ExportRow) -> dict[str, str]:
    """The text fields by name, the first one as ``text``; a further field of that name gets ``text_2``."""
    first, *further = row.document.fields.items() or [(TEXT, "")]
    return {TEXT: first[1]} | {f"{TEXT}_2" if name == TEXT else name: text for name, text in further}


def first_fields(rows: Iterable[ExportRow]) -> tuple[tuple[str, ...], Iterator[ExportRow]]:
    """The names of the text fields of the first row (``text`` if there is no row), and all rows."""
    iterator = iter(rows)
    first = next(iterator, None)
    if first is None:
        return (TEXT,), iter(())
    return tuple(fields_of(first)), itertools.chain([first], iterator)


def named(values: Mapping[str, Value | None], codebook: Codebook) -> Named | None:
    """Values by item in words; None when nothing of it is known.

    For several labels the names of those that are present: what is unresolved is not among them. A rating leaves out
    the dimensions without a value. Labels that the codebook has lost are left out.
    """
    names = {label.id: label.name for label in codebook.labels}
    match codebook.kind:
        case "choice":
            chosen = values.get(CHOICE_ITEM)
            return names.get(chosen) if isinstance(chosen, str) else None
        case "rating":
            rated = {name: values.get(item) for item, name in names.items()}
            numbers = {
                name: value
                for name, value in rated.items()
                if isinstance(value, int | float) and not isinstance(value, bool)
            }
            return numbers or None
        case "multilabel":
            known = [item for item in names if values.get(item) is not None]
            return [names[item] for item in known if values[item] is True] if known else None


def spans_of(said: AnnotatorValues, row: ExportRow, codebook: Codebook) -> list[dict[str, object]]:
    """The quotes that stand in the first text field: ``{start, end, text, label}``, each place and label once.

    Offsets are characters (code points, as Python, Label Studio and Prodigy count them), the end exclusive. The quotes
    of a choice speak for the label that was chosen. Quotes that are not in the text or stand in another field are left
    out.
    """
    names = {label.id: label.name for label in codebook.labels}
    chosen = said.values.get(CHOICE_ITEM)
    if isinstance(chosen, str) and chosen in names:
        names[CHOICE_ITEM] = names[chosen]
    first = next(iter(row.document.fields), "")
    text = row.document.text
    found = dict.fromkeys(
        (each.start, each.end, names[each.item])
        for each in said.evidence
        if each.supported and each.field == first and each.item in names
    )
    return [{"start": start, "end": end, "text": text[start:end], "label": label} for start, end, label in found]


def scale_of(codebook: Codebook) -> Scale:
    """The scale of a rating codebook."""
    return codebook.scale or Scale()
