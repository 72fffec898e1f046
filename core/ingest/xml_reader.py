"""XML reader: the elements that recur and hold texts become rows, as in the files of SemEval and MAMS and in feeds."""

from __future__ import annotations

from collections import Counter
from typing import Any
from xml.etree.ElementTree import Element, ParseError, XMLParser, parse

from core.errors import InputError
from core.ingest.json_reader import table_of_objects
from core.ingest.table import SAVE_AS_TABLE, Table, TableSource, unique_names


def read_xml(source: TableSource) -> Table:
    """Return a row for each record (``_records``), with its attributes and the texts in it as columns.

    Elements with the same name in an element become a list, others an object. Attributes of the elements around a
    record are columns, too (``Review.rid``). Namespaces are left out. InputError for text that is not XML, and for XML
    without records.
    """
    source.stream.seek(0)
    try:
        root = parse(source.stream, XMLParser(encoding=source.encoding)).getroot()
        source.progress(0.5)
        records = _records(root)[: source.max_rows]
        rows = [(number, around | _object(record), "", "") for number, (record, around) in enumerate(records, 1)]
    except (ParseError, LookupError, ValueError) as error:
        raise InputError(f"{source.name} is not XML: {error}.", "Get the file again, or save it as csv.") from error
    except RecursionError:
        raise InputError(f"{source.name} is nested too deeply.", SAVE_AS_TABLE) from None
    if not rows:
        raise InputError(f"{source.name} has no elements that recur and hold texts.", SAVE_AS_TABLE)
    note = f"Each element '{_name(records[0][0])}' is a row."
    return table_of_objects(rows, name=source.name, format="xml", encoding="", notes=lambda: (note,))


def _records(root: Element) -> list[tuple[Element, dict[str, Any]]]:
    """Return the elements of the most frequent name, the outer one if two are, with the attributes around each.

    Only elements count in which an element has a text; if none recurs, those with a text of their own, else those with
    several attributes. Elements of the same name without a text are records, too. Elements in a text are its markup and
    do not count; those inside a record are a part of it.
    """
    parents = {child: parent for parent in root.iter() for child in parent}
    inner = [element for element in root.iter() if element is not root]
    texts = set(filter(_has_text, inner))
    markup: set[Element] = set()
    for element in inner:
        if element in markup or element in texts:
            markup.update(element)
    with_text = [element for element in inner if element in texts and element not in markup]
    around_text = [element for element in inner if element not in texts and not texts.isdisjoint(element)]
    with_attributes = [element for element in inner if len(element.attrib) > 1 and not around_text]
    candidates = (around_text, with_text, with_attributes)
    counts = [Counter(element.tag for element in elements).most_common(1)[0] for elements in candidates if elements]
    if not counts:
        return []
    tag = next((tag for tag, count in counts if count > 1), counts[0][0])
    records, covered = [], set()
    for element in inner:
        if parents[element] in covered:
            covered.add(element)
        elif element.tag == tag:
            covered.add(element)
            records.append((element, _around(element, root, parents)))
    return records


def _around(element: Element, root: Element, parents: dict[Element, Element]) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    while (element := parents[element]) is not root:
        attributes |= {f"{_name(element)}.{key}": value for key, value in _attributes(element).items()}
    return attributes


def _object(element: Element) -> dict[str, Any]:
    """Return the attributes of an element, its ``text`` if it has one, and the values of the elements in it by name."""
    values: dict[str, list[Any]] = {}
    attributes: dict[str, Any] = _attributes(element)
    for child in element:
        values.setdefault(_name(child), []).append(_value(child))
        if child.attrib and _has_text(child):
            attributes |= {f"{_name(child)}.{key}": value for key, value in _attributes(child).items()}
    if text := _text(element):
        attributes[unique_names(["text"], attributes | values)[0]] = text
    return attributes | {name: children[0] if len(children) == 1 else children for name, children in values.items()}


def _value(element: Element) -> Any:
    """Return the text of an element, with that of the markup in it; else what it holds as a list or an object."""
    if text := _text(element):
        return text
    names = {child.tag for child in element}
    if len(names) == 1 and not element.attrib:
        return [_value(child) for child in element]
    return _object(element) or None


def _text(element: Element) -> str:
    """Return the text of an element with that of the elements in it, empty if there is only space around them."""
    return "".join(element.itertext()).strip() if _has_text(element) else ""


def _has_text(element: Element) -> bool:
    return any((text or "").strip() for text in (element.text, *(child.tail for child in element)))


def _attributes(element: Element) -> dict[str, Any]:
    return {key.rpartition("}")[2]: value for key, value in element.attrib.items()}


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]
