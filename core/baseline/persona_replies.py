"""The built-in model creates personas from documents, and coordinates and summarises a panel."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from core.baseline.lexicon import BASELINE_NAME, WORDS, tokenise
from core.debate.persona_extraction import MERGER, PERSONA_WRITER, SCOUT, FoundDimension
from core.debate.turns import AttributedReply, Reply, Request
from core.formatting import format_count

_SOUGHT = re.compile(
    r"\b(?:want|need|expect|prefer|look for|look at|value|ask for|asked for|worry|insist|like|care|check|require|"
    r"choose|hope|depend|demand|appreciate|dislike|do not like|lose interest|reject)\w*\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?]+(?:[.!?]+[\"”’]?|\Z)")
_BREAK = re.compile(r"^[^\S\n]*#.*$|\n\s*\n", re.MULTILINE)
_MIN_CHARACTERS, _MAX_CHARACTERS = 25, 320


def write_reply(request: Request) -> str | None:
    """Return the reply in creating personas or in moderating a panel; None for other requests."""
    source, findings, group = (request.inputs.get(name) for name in ("source", "found", "group"))
    if request.role == SCOUT and isinstance(source, str):
        reply: dict[str, Any] = {"stakeholders": list(_stakeholders(source))}
    elif request.role == MERGER and isinstance(findings, tuple):
        reply = {"groups": list(_groups(findings))}
    elif request.role == PERSONA_WRITER and isinstance(group, str):
        number = sum(name.startswith(group) for name in request.inputs.get("taken", ()))
        reply = {
            "name": f"{group} {number + 1}",
            "demographics": f"One of the {group.lower()}. The word-list baseline adds no personal details.",
            "dimension": str(request.inputs.get("dimension", "")),
            **dict.fromkeys(("specialty", "traits", "relationships"), ""),
        }
    else:
        return _panel_reply(request)
    return orjson.dumps(reply).decode()


def _panel_reply(request: Request) -> str | None:
    """Return the first persona that may speak, to a coordinator; to an aggregator the figures and who disagrees."""
    waiting, averages = request.inputs.get("waiting"), request.inputs.get("averages")
    if request.role == "coordinator" and isinstance(waiting, Sequence) and waiting:
        return f"Next: {waiting[0]}"
    if request.role != "aggregator" or not isinstance(averages, Sequence):
        return None
    finals = [turn for turn in request.inputs.get("finals", ()) if isinstance(turn, AttributedReply)]
    dissenters = [turn.speaker for turn in finals if any(differ(turn.reply, other.reply) for other in finals)]
    agreement = "all of them end with the same decision."
    if dissenters:
        agreement = f"these end with a decision that differs from another: {', '.join(dict.fromkeys(dissenters))}."
    lines = (f"- {line}" for line in averages)
    return "\n".join([f"{BASELINE_NAME}, which only lists the results: {agreement}", *lines])


def differ(first: Reply, second: Reply) -> bool:
    """Return True if two replies give an item different values."""
    values = second.reading.values
    return any(values.get(item, value) != value for item, value in first.reading.values.items())


def _stakeholders(text: str) -> Iterator[dict[str, Any]]:
    """Yield the people who want something in the texts, the most frequent first, with their sentences."""
    sought: dict[str, list[str]] = defaultdict(list)
    mentions: Counter[str] = Counter()
    for sentence in (" ".join(part.split()) for block in _BREAK.split(text) for part in _SENTENCE.findall(block)):
        people = [word for word, _, _ in tokenise(sentence) if word in WORDS["people"]]
        if people and _MIN_CHARACTERS <= len(sentence) <= _MAX_CHARACTERS:
            mentions.update(set(people))
            if _SOUGHT.search(sentence):
                sought[people[0]].append(sentence)
    for who, sentences in sorted(sought.items(), key=lambda pair: -len(pair[1])):
        yield {
            "name": who.capitalize(),
            "characteristics": f"Named in {format_count(mentions[who], 'sentence')} of the document.",
            "dimensions": [{"dimension": sentence, "evidence": sentence} for sentence in sentences],
        }


def _groups(findings: Sequence[FoundDimension]) -> Iterator[dict[str, Any]]:
    """Yield groups of findings with the same name, without duplicate sentences."""
    groups: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, finding in enumerate(findings, 1):
        groups[finding.stakeholder][finding.dimension.casefold()].append(number)
    for name, dimensions in groups.items():
        merged = [{"dimension": findings[numbers[0] - 1].dimension, "from": numbers} for numbers in dimensions.values()]
        yield {"name": name, "characteristics": "", "dimensions": merged}
