"""Codebooks in the REFI-QDA format (``.qdc``), which ATLAS.ti, MAXQDA, NVivo and other programs exchange.

Source: REFI-QDA standard 1.5 (2019), section 5, Codebook.xsd. A code has a GUID, a name, a colour, a description and
codes below it; a set groups codes. The format has no element for examples, keywords, scales or the kind of codebook.
They are written as lines ``Key: value`` at the end of a description, which other programs show and ``parse_qdc`` reads.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from xml.etree import ElementTree as xml

from core.codebook import COLOUR_HEX, Codebook, Label, Scale, normalise, parse_codebook
from core.errors import CodebookError

SUFFIX = ".qdc"
MAX_DEPTH = 100
NAMESPACE = "urn:QDA-XML:codebook:1.0"

LISTS = ("include", "exclude")
"""Fields of a label with a line for each entry."""

_ANY = re.compile(".+")
_LABEL_KEYS = {
    "include": _ANY,
    "exclude": _ANY,
    "keywords": _ANY,
    "keyword": _ANY,
    "code": re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?"),
    "scale": re.compile(r"-?\d+ to -?\d+"),
    "open": re.compile("options|word"),
}
_CODEBOOK_KEYS = {"kind": re.compile("multilabel|choice|rating"), "unit": re.compile(".*"), "domain": _ANY}
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


def dump_qdc(codebook: Codebook) -> bytes:
    """Return the codebook as a .qdc file. CodebookError without labels, because the format needs a code.

    Each label is a code. A set with the codebook's name holds all codes; its description is the guideline.
    """
    codebook.require_labels()
    root = xml.Element("CodeBook", xmlns=NAMESPACE, origin="Moot")
    codes, sets = xml.SubElement(root, "Codes"), xml.SubElement(root, "Sets")
    code_set = xml.SubElement(sets, "Set", guid=_guid(codebook.name), name=_text(codebook.name))
    _describe(code_set, codebook.guideline, _codebook_lines(codebook), _CODEBOOK_KEYS)
    for label in codebook.labels:
        attributes = {"guid": _guid(label.id), "name": _text(label.name), "isCodable": "true"}
        code = xml.SubElement(codes, "Code", attributes, color=COLOUR_HEX[label.colour - 1])
        _describe(code, label.description, _label_lines(label, codebook), _LABEL_KEYS)
        xml.SubElement(code_set, "MemberCode", guid=attributes["guid"])
    xml.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{xml.tostring(root, encoding="unicode")}\n'.encode()


def parse_qdc(content: bytes, *, source: str) -> Codebook:
    """Parse a .qdc file. CodebookError if it is not one or has no codes.

    Codes that cannot be assigned (``isCodable="false"``) are folders and become no label. A code whose name occurs more
    than once gets the names of the codes above it. The set that holds every label gives name and guideline.
    """
    root = _parse(content, source)
    codes = [code for parent in root.findall(_TAG.format("Codes")) for code in _codes(parent)]
    data: dict[str, Any] = {}
    members = {code.get("guid", "") for code, _ in codes}
    for code_set in root.findall(f"{_TAG.format('Sets')}/{_TAG.format('Set')}"):
        if members <= {member.get("guid") for member in code_set}:
            data |= {"name": code_set.get("name", ""), **_described(code_set, "guideline", _CODEBOOK_KEYS)}
            break
    if "kind" not in data and all("scale" in _described(code, "description", _LABEL_KEYS) for code, _ in codes):
        data["kind"] = "rating"
    is_rating = data.get("kind") == "rating"  # else a line "Scale: 1 to 5" is part of a description
    keys = {key: value for key, value in _LABEL_KEYS.items() if key != "scale" or is_rating}
    names = [normalise(path[-1]) for _, path in codes]
    counts = Counter(names)
    labels = [
        {
            "name": " / ".join(path) if counts[name] > 1 else path[-1],
            "colour": _colour(code.get("color", "")),
            **_described(code, "description", keys),
        }
        for name, (code, path) in zip(names, codes, strict=True)
    ]
    return parse_codebook({**data, "labels": labels}, source=source).require_labels()


_TAG = "{{*}}{0}"  # of any namespace: programs write different versions of it


def _guid(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"moot:{name}")).upper()


def _text(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def _codebook_lines(codebook: Codebook) -> Iterator[str]:
    yield f"Kind: {codebook.kind}"
    yield f"Unit: {codebook.unit}"
    if codebook.domain:
        yield f"Domain: {codebook.domain}"


def _label_lines(label: Label, codebook: Codebook) -> Iterator[str]:
    yield from (f"{name.capitalize()}: {line}" for name in LISTS for line in getattr(label, name))
    if any(";" in keyword for keyword in label.keywords):
        yield from (f"Keyword: {keyword}" for keyword in label.keywords)
    elif label.keywords:
        yield f"Keywords: {'; '.join(label.keywords)}"
    if label.code is not None:
        yield f"Code: {label.code}"
    if codebook.kind == "rating":
        scale = codebook.scale_of(label.id)
        yield f"Scale: {scale.min} to {scale.max}"
    if label.open:
        yield f"Open: {label.open}"


def _describe(element: xml.Element, text: str, lines: Iterator[str], keys: Mapping[str, re.Pattern[str]]) -> None:
    """Write a description: the text, then the lines with keys. A blank line ends a text that looks like such a line."""
    parts = [text] if text else []
    if text and _entry(text.splitlines()[-1], keys):
        parts.append("\n")
    parts += [" ".join(line.splitlines()) for line in lines]
    if parts:
        xml.SubElement(element, "Description").text = _text("\n".join(parts))


def _entry(line: str, keys: Mapping[str, re.Pattern[str]]) -> tuple[str, str] | None:
    """Return key and value of a line ``Key: value`` with one of the keys, else None."""
    key, _, value = (part.strip() for part in line.partition(":"))
    key = key.casefold()
    if key not in keys or not keys[key].fullmatch(value):
        return None
    return None if key == "scale" and _scale(value) is None else (key, value)


def _scale(text: str) -> Scale | None:
    """Return the scale "1 to 5", None if a codebook cannot have it."""
    low, _, high = text.partition(" to ")
    with suppress(ValueError):
        return Scale(min=int(low), max=int(high))
    return None


def _described(element: xml.Element, name: str, keys: Mapping[str, re.Pattern[str]]) -> Mapping[str, Any]:
    """Return a description as fields of a label or a codebook: its last lines with known keys, the rest as ``name``."""
    lines = (element.findtext(_TAG.format("Description")) or "").splitlines()
    fields: dict[str, Any] = {}
    while lines:
        if (entry := _entry(lines[-1], keys)) is None:
            break
        key, value = entry
        lines.pop()
        if key in LISTS:
            fields[key] = [value, *fields.get(key, [])]
        elif key in ("keywords", "keyword"):
            words = value.split(";") if key == "keywords" else [value]
            fields["keywords"] = [*words, *fields.get("keywords", [])]
        elif key == "scale":
            fields[key] = _scale(value)
        else:
            fields[key] = value
    return {name: "\n".join(lines).strip(), **fields}


def _colour(color: str) -> int:
    """Return the number of a label colour, 0 (the next one) for other colours."""
    return COLOUR_HEX.index(color.casefold()) + 1 if color.casefold() in COLOUR_HEX else 0


def _codes(parent: xml.Element, above: tuple[str, ...] = ()) -> Iterator[tuple[xml.Element, tuple[str, ...]]]:
    """Yield the codes in an element that can be assigned, in the order of the file, with their names from the top."""
    if len(above) > MAX_DEPTH:
        raise CodebookError(f"Codes of a codebook are at most {MAX_DEPTH} in each other.", "Shorten it.")
    for code in parent.findall(_TAG.format("Code")):
        path = (*above, " ".join(code.get("name", "").split()))
        if code.get("isCodable", "true") in ("true", "1"):
            yield code, path
        yield from _codes(code, path)


class _Builder(xml.TreeBuilder):
    """Builder of a tree that refuses document type declarations: entities may expand without limit."""

    def doctype(self, *_declared: object) -> None:
        raise CodebookError("A REFI-QDA codebook has no document type declaration.", "Export the file again.")


def _parse(content: bytes, source: str) -> xml.Element:
    try:
        root = xml.fromstring(content, xml.XMLParser(target=_Builder()))
    except (xml.ParseError, ValueError, LookupError) as error:
        raise CodebookError(f"{source} is not XML: {error}.", "Export the codebook as .qdc again.") from error
    book = root if root.tag.endswith("CodeBook") else root.find(_TAG.format("CodeBook"))
    if book is None:
        raise CodebookError(f"{source} is not a REFI-QDA codebook.", "Export the codebook as .qdc, not the project.")
    return book
