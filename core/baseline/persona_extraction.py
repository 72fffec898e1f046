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
_HEADING = re.compile(r"^\s*#+.*$", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z]+")
_LEAST, _LONGEST = 25, 320


def write_reply(request: Request) -> str | None:
    """Return the reply of a scout, a merger or an author; None for other requests."""
    source, found, group = (request.inputs.get(name) for name in ("source", "found", "group"))
    if request.role == SCOUT and isinstance(source, str):
        return _json({"stakeholders": list(_stakeholders(source))})
    if request.role == MERGER and isinstance(found, tuple):
        return _json({"groups": list(_groups(found))})
    if request.role == AUTHOR and isinstance(group, str):
        return _json(_persona(group, str(request.inputs.get("dimension", "")), request.inputs.get("taken", ())))
    return None


def _stakeholders(text: str) -> Iterator[dict[str, Any]]:
    """Yield the people who are said to want something, the most frequent first, with their sentences."""
    sought: dict[str, list[str]] = {}
    named: Counter[str] = Counter()
    for sentence in _sentences(text):
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


def _sentences(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", _HEADING.sub("", text)):
        for match in _SENTENCE.finditer(paragraph):
            sentence = " ".join(match.group().split())
            if _LEAST <= len(sentence) <= _LONGEST:
                yield sentence


def _groups(found: Sequence[FoundDimension]) -> Iterator[dict[str, Any]]:
    """Yield groups of findings with the same name, without duplicate sentences."""
    groups: dict[str, dict[str, list[int]]] = {}
    for number, one in enumerate(found, 1):
        groups.setdefault(one.stakeholder, {}).setdefault(one.dimension.casefold(), []).append(number)
    for name, dimensions in groups.items():
        yield {
            "name": name,
            "characteristics": "",
            "dimensions": [
                {"dimension": found[numbers[0] - 1].dimension, "from": numbers} for numbers in dimensions.values()
            ],
        }


def _persona(group: str, dimension: str, taken: Sequence[str]) -> dict[str, str]:
    singular = _singular(group)
    number = sum(name.startswith(singular) for name in taken)
    return {
        "name": f"{singular} {number + 1}" if number else singular,
        "demographics": f"One of the {group.lower()}. The word-list baseline adds no personal details.",
        "dimension": dimension,
        "specialty": "",
        "traits": "",
        "relationships": "",
    }


def _singular(group: str) -> str:
    irregular = {"children": "Child", "families": "Family", "staff": "Member of staff"}
    folded = group.casefold()
    return irregular.get(folded) or (group[:-1] if folded.endswith("s") and not folded.endswith("ss") else group)


def _json(data: Any) -> str:
    return orjson.dumps(data).decode()
