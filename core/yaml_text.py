"""YAML: safe parsing of texts from users, in which a page must not become gigabytes, and writing."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Any, TypeAlias

import yaml

from core.errors import MootError

MAX_CHARACTERS = 2_000_000
"""Limit of the length of a text: libyaml reads about half a million characters a second."""
MAX_NODES = 200_000
"""Limit of values in a text; each alias counts as often as it is used."""
MAX_DIGITS = 1000
"""Limit of the length of a number: the time to compute ``1:1:1...`` (base 60) grows with the square of its length."""

MAX_LEVELS = 6
"""Levels down to which lines are known."""
Location: TypeAlias = tuple[str | int, ...]
"""Keys and positions that lead to a value."""

_LOADER: type[yaml.SafeLoader | yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Loader of libyaml, which takes a sixth of the time, or that of Python in a PyYAML without libyaml."""
_MALFORMED = (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""Exceptions of PyYAML for malformed text, and for values that do not match their tag (``!!int``)."""

_COLON = "Put a text with a colon in quotes, or check the indentation."
_REMEDIES = {
    "mapping values are not allowed in this context": _COLON,
    "mapping values are not allowed here": _COLON,
    "found character that cannot start any token": "Indent with spaces, not with tabs. Put a text that "
    "begins with @, ` or % in quotes.",
    "found a tab character that violates indentation": "Indent with spaces, not with tabs.",
    "found character '\\t' that cannot start any token": "Indent with spaces, not with tabs.",
}
"""Remedies for frequent problems, by the messages of libyaml and PyYAML."""
_TEXT = "tag:yaml.org,2002:str"
_NUMBERS = frozenset({"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"})
_TYPED = frozenset(f"tag:yaml.org,2002:{name}" for name in ("bool", "int", "float", "timestamp"))


def parse(
    text: str, source: str, error_type: type[MootError], text_keys: Collection[str] = ()
) -> tuple[Any, yaml.Node | None]:
    """Return the data of a text (YAML or JSON) and its root node, which knows the lines; None twice for empty text.

    Values under ``text_keys``, at any depth, are text as it is written: YAML reads ``no`` as False and ``007`` as 7.

    Raises ``error_type``, with the line if known, for text that is too long or not YAML, for a repeated key, and for
    aliases that expand to too many values or to themselves.
    """
    if len(text) > MAX_CHARACTERS:
        raise error_type(f"{source} has more than {MAX_CHARACTERS:,} characters.", "Shorten it.")
    try:
        loader = _LOADER(text)
        node = loader.get_single_node()
        if node is None:
            return None, None
        if _size(node, {}) > MAX_NODES:
            problem = f"{source} has more than {MAX_NODES:,} values; aliases (*name) count as often as they are used."
            raise error_type(problem, "Shorten it.")
        for mapping in (part for part in _walk(node) if isinstance(part, yaml.MappingNode)):
            if repeated := _repeated_key(mapping):
                line, key = repeated.start_mark.line + 1, repeated.value
                raise error_type(f"{source}, line {line}: the key '{key}' is repeated.", "Keep one of them.")
            for part in chain.from_iterable(_walk(value) for key, value in mapping.value if key.value in text_keys):
                part.tag = _TEXT if part.tag in _TYPED else part.tag
        return loader.construct_document(node), node
    except _MALFORMED as error:
        mark = getattr(error, "problem_mark", None)
        at = f", line {mark.line + 1}" if mark else ""
        remedy = _REMEDIES.get(getattr(error, "problem", ""), "Check the indentation and quotes there.")
        raise error_type(f"{source}{at}: this is not YAML.", remedy) from error


class _Dumper(yaml.SafeDumper):
    """Writer that escapes U+0085, which the reader takes for the end of a line."""


_Dumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar(_TEXT, text, style='"' if "\x85" in text else None)
)


def dump(data: Any) -> str:
    """Return plain data as YAML, with the keys of mappings in their order."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def line_numbers(root: yaml.Node | None) -> dict[Location, int]:
    """Return the line of every key and list entry of a YAML document."""
    lines: dict[Location, int] = {}

    def visit(location: Location, node: yaml.Node) -> None:
        if location in lines or len(location) > MAX_LEVELS:
            return
        lines[location] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                visit((*location, str(key.value)), value)
                lines[(*location, str(key.value))] = key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                visit((*location, index), value)

    if root is not None:
        visit((), root)
    return lines


def _size(node: yaml.Node, sizes: dict[int, float]) -> float:
    """Return the number of values in a node, infinite for a node that contains itself.

    Raises MarkedYAMLError for a number that is too long.
    """
    if isinstance(node, yaml.ScalarNode):
        if node.tag in _NUMBERS and len(node.value) > MAX_DIGITS:
            raise yaml.MarkedYAMLError(problem="the number is too long", problem_mark=node.start_mark)
        return 1
    if id(node) not in sizes:
        sizes[id(node)] = math.inf
        sizes[id(node)] = 1 + sum(_size(part, sizes) for part in _parts(node))
    return sizes[id(node)]


def _parts(node: yaml.Node) -> Iterable[yaml.Node]:
    """Return the nodes in a node: keys and values of a mapping, items of a list, none of a scalar."""
    if isinstance(node, yaml.ScalarNode):
        return ()
    parts: Iterable[yaml.Node] = chain.from_iterable(node.value) if isinstance(node, yaml.MappingNode) else node.value
    return parts


def _walk(root: yaml.Node) -> Iterator[yaml.Node]:
    """Yield a node and all nodes in it, in the order of the text."""
    nodes = [root]
    while nodes:
        node = nodes.pop()
        yield node
        nodes.extend(reversed([*_parts(node)]))


def _repeated_key(mapping: yaml.MappingNode) -> yaml.ScalarNode | None:
    """Return the first key that a mapping has twice. PyYAML would silently keep its last value."""
    seen: set[str] = set()
    for key, _ in mapping.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in seen:
                return key
            seen.add(key.value)
    return None
