"""Safe parsing of YAML from users: a page of text must not become gigabytes."""

from __future__ import annotations

import math
from itertools import chain
from typing import Any

import yaml

from core.errors import MootError

MOST_CHARACTERS = 2_000_000
"""Limit of the length of a text: PyYAML reads some hundred thousand characters a second."""
MOST_NODES = 200_000
"""Limit of values in a text; each alias counts as often as it is used."""

_MALFORMED = (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""Exceptions of PyYAML for malformed text, and for values that do not match their tag (``!!int``)."""


def parse(text: str, where: str, error_type: type[MootError]) -> tuple[Any, yaml.Node | None]:
    """Return the data of a text (YAML or JSON) and its root node, which knows the lines; None twice for empty text.

    Raises ``error_type``, with the line if known, for text that is too long or not YAML, and for aliases that expand to
    too many values or to themselves.
    """
    if len(text) > MOST_CHARACTERS:
        raise error_type(f"{where} has more than {MOST_CHARACTERS:,} characters.", "Shorten it.")
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return None, None
        size = _size(node, {})
        if size <= MOST_NODES:
            return loader.construct_document(node), node
    except _MALFORMED as error:
        mark = getattr(error, "problem_mark", None)
        at = f", line {mark.line + 1}" if mark else ""
        raise error_type(f"{where}{at}: this is not YAML.", "Check the indentation and quotes there.") from error
    raise error_type(f"{where}: its aliases (*name) expand to more than {MOST_NODES:,} values.", "Write them out.")


def _size(node: yaml.Node, known: dict[int, float]) -> float:
    """Return the number of values in a node, infinite for a node that contains itself."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in known:
        known[id(node)] = math.inf
        pairs = isinstance(node, yaml.MappingNode)
        inner = chain.from_iterable(node.value) if pairs else node.value
        known[id(node)] = 1 + sum(_size(part, known) for part in inner)
    return known[id(node)]
