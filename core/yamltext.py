"""YAML that somebody wrote, as plain data. It may come from a stranger: a page of text must not become gigabytes."""

from __future__ import annotations

import math
from itertools import chain
from typing import Any

import yaml

from core.errors import MootError

MOST_NODES = 200_000
"""Values that a text may stand for, each alias counted as often as it is used."""

_MALFORMED = (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What PyYAML raises for text that is no YAML, and for values that are not of the type that a tag (``!!int``) says."""


def parse(text: str, where: str, fault: type[MootError]) -> tuple[Any, yaml.Node | None]:
    """The data of a text (YAML or JSON) and the node it was made of, which knows the lines; None twice for empty text.

    ``fault`` is raised, with the line where it is known, for what is not YAML and for aliases that stand for too much
    or for themselves.
    """
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
        raise fault(f"{where}{at}: this is not YAML.", "Check the indentation and quotes there.") from error
    raise fault(f"{where}: its aliases (*name) stand for more than {MOST_NODES:,} values.", "Write them out.")


def _size(node: yaml.Node, known: dict[int, float]) -> float:
    """Values that a node stands for; infinite for one that holds itself."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in known:
        known[id(node)] = math.inf
        pairs = isinstance(node, yaml.MappingNode)
        inner = chain.from_iterable(node.value) if pairs else node.value
        known[id(node)] = 1 + sum(_size(part, known) for part in inner)
    return known[id(node)]
