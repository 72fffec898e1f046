"""Persona extraction by the built-in model: sentences in which somebody wants something, quoted as they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from core.baseline.word_forms import PEOPLE
from core.debate.persona_extraction import AUTHOR, MERGER, SCOUT, FoundDimension
from core.debate.turns import Request

_SOUGHT = re.compile(
    r"\b(?:want|need|expect|prefer|look for|look at|value|ask for|asked for|worry|insist|like|care|check|require|"
    r"choose|hope|depend|demand|appreciate|dislike|do not like|lose interest|reject)\w*\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?]+(?:[.!?]+[\"”’]?|\Z)")
_HEADING = re.compile(r"^[^\S\n]*#.*$", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z]+")
_LEAST, _LONGEST = 25, 320


def write_reply(request: Request) -> str | None:
    """Return the reply of a scout, a merger or an author; None for other requests."""
    source, found, group = (request.inputs.get(name) for name in ("source", "found", "group"))
    if request.role == SCOUT and isinstance(source, str):
        reply: dict[str, Any] = {"stakeholders": list(_stakeholders(source))}
    elif request.role == MERGER and isinstance(found, tuple):
        reply = {"groups": list(_groups(found))}
    elif request.role == AUTHOR and isinstance(group, str):
        reply = _persona(group, str(request.inputs.get("dimension", "")), request.inputs.get("taken", ()))
    else:
        return None
    return orjson.dumps(reply).decode()


def _stakeholders(text: str) -> Iterator[dict[str, Any]]:
    """Yield the people who are said to want something, the most frequent first, with their sentences."""
    sought: dict[str, list[str]] = {}
    named: Counter[str] = Counter()
    paragraphs = re.split(r"\n\s*\n", _HEADING.sub("", text))
    parts = (" ".join(part.split()) for paragraph in paragraphs for part in _SENTENCE.findall(paragraph))
    for sentence in (each for each in parts if _LEAST <= len(each) <= _LONGEST):
        people = [word for word in map(str.lower, _WORD.findall(sentence)) if word in PEOPLE]
        named.update(set(people))
        if people and _SOUGHT.search(sentence):
            sought.setdefault(people[0], []).append(sentence)
    for who, sentences in sorted(sought.items(), key=lambda pair: -len(pair[1])):
        times = named[who]
        yield {
            "name": who.capitalize(),
            "characteristics": f"Named in {times} sentence{'' if times == 1 else 's'} of the document.",
            "dimensions": [{"dimension": sentence, "evidence": sentence} for sentence in sentences],
        }


def _groups(found: Sequence[FoundDimension]) -> Iterator[dict[str, Any]]:
    """Yield groups of findings with the same name, without duplicate sentences."""
    groups: dict[str, dict[str, list[int]]] = {}
    for number, one in enumerate(found, 1):
        groups.setdefault(one.stakeholder, {}).setdefault(one.dimension.casefold(), []).append(number)
    for name, dimensions in groups.items():
        merged = [{"dimension": found[numbers[0] - 1].dimension, "from": numbers} for numbers in dimensions.values()]
        yield {"name": name, "characteristics": "", "dimensions": merged}


def _persona(group: str, dimension: str, taken: Sequence[str]) -> dict[str, str]:
    irregular = {"children": "Child", "families": "Family", "staff": "Member of staff"}
    folded = group.casefold()
    regular = group[:-1] if folded.endswith("s") and not folded.endswith("ss") else group
    name = irregular.get(folded, regular)
    number = sum(each.startswith(name) for each in taken)
    return {
        "name": f"{name} {number + 1}" if number else name,
        "demographics": f"One of the {group.lower()}. The word-list baseline adds no personal details.",
        "dimension": dimension,
        **dict.fromkeys(("specialty", "traits", "relationships"), ""),
    }
