"""Extraction of personas from documents.

After stakeholder persona creation in Chen et al. 2025, *Multi-Agent-as-Judge* (MAJ-Eval, section 3.1, appendices A.7
and A.11). Stakeholders and their evaluation dimensions are found in documents with evidence and merged into groups;
each kept dimension becomes a persona with five attributes.

The extraction is a generator like a protocol: a scout reads every source piece by piece, a merger puts the stakeholders
into groups, an author writes a persona for each kept dimension.

Requests: p + m + d, with p pieces of sources, m = 1 if there is more than one stakeholder to merge, d kept dimensions;
one more for each unreadable reply, and for each persona whose name is taken.

Deviations: long sources are read in pieces. Each persona is written in a request of its own, which names all groups;
the prompt of appendix A.11 lists all perspectives at once. If a merger's reply is unreadable twice, the groups stay as
the scouts named them. Evidence is located in the source instead of being trusted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from core import prompts
from core.codebook import normalise
from core.debate.context import ask_with_retry
from core.debate.personas import MAX_PERSONAS, MAX_TEXT, Group, Persona, PersonaSet, Quote
from core.debate.quote_location import Haystack
from core.debate.reading.decision_markers import without_reasoning
from core.debate.reading.json_blocks import last_json, lookup
from core.debate.turns import Reply, Request, Step
from core.errors import UsageError
from core.formatting import one_line
from core.runs import Template

SCOUT, MERGER, PERSONA_WRITER = "scout", "merger", "author"
TEMPLATES = "personas"
"""The folder of the prompts."""

_NUMBER = re.compile(r"\s\d+$")
_WHOLE = re.compile(r"(?<![\w.-])\d{1,6}(?![\w.])")

MAX_PIECE_CHARACTERS = 12_000
"""Most characters of a source in one request to a scout."""
DEFAULT_GROUPS, DEFAULT_DIMENSIONS, UNLIMITED = 4, 3, 99
"""Default limits of the groups of a panel and of the personas in each, and a limit that no panel reaches."""


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A source document of personas."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class FoundDimension:
    """One evaluation dimension of a stakeholder or of a group of them, with the quotes that support it."""

    stakeholder: str
    characteristics: str
    dimension: str
    evidence: tuple[Quote, ...]


@dataclass(frozen=True, slots=True)
class PersonaExtraction:
    """The extracted persona set, all dimensions found on the way, and notes for the user."""

    persona_set: PersonaSet
    findings: tuple[FoundDimension, ...]
    notes: tuple[str, ...]


def extract_personas(
    sources: Sequence[SourceDocument],
    task: str,
    templates: Mapping[str, Template],
    *,
    groups: int = DEFAULT_GROUPS,
    dimensions: int = DEFAULT_DIMENSIONS,
) -> Step[PersonaExtraction | None]:
    """Extract personas for a task from sources, None if no answer on a source can be read.

    Raises UsageError if no stakeholder is found. The persona set has no task: prompts of a panel state the task and the
    labels of the run's codebook.
    """
    notes: list[str] = []
    pieces = [(source, text) for source in sources for text in split_source(source.text)]
    replies = yield from _ask_for_json(tuple(_scout(text, task, templates) for _, text in pieces), templates)
    findings: list[FoundDimension] = []
    for (source, _), reply in zip(pieces, replies, strict=True):
        stakeholders = _entries(reply, "stakeholders")
        if stakeholders is None:
            notes.append(f"A part of {source.name} had no readable answer.")
        findings += _parse_found(source, stakeholders or ())
    if pieces and len(notes) == len(pieces):
        return None
    if not findings:
        names = ", ".join(source.name for source in sources) or "nothing"
        raise UsageError(
            f"No stakeholder was found in {names}.",
            "Use documents that say what people want of such texts, or write the personas yourself.",
        )
    merged: list[FoundDimension] = []
    if len({normalise(finding.stakeholder) for finding in findings}) > 1:
        (reply,) = yield from _ask_for_json((_merger(findings, task, templates, groups, dimensions),), templates)
        merged = list(_parse_merged(reply, findings))
        if not merged:
            notes.append("The groups could not be merged and are as in the documents.")
    selected = _limited(merged or findings, groups, dimensions)
    if len(selected) > MAX_PERSONAS:
        notes.append(
            f"The first {MAX_PERSONAS} of {len(selected)} dimensions are used, the most that a panel can have."
        )
        selected = selected[:MAX_PERSONAS]
    personas = yield from _personas(selected, task, templates)
    persona_set = PersonaSet(groups=tuple(_grouped(selected, personas)))
    return PersonaExtraction(persona_set, tuple(findings), tuple(notes))


def split_source(text: str) -> Iterator[str]:
    """Split a text into pieces with words, cut between paragraphs if possible."""
    return filter(str.strip, _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    piece = ""
    for paragraph in text.split("\n\n"):
        while len(paragraph) > MAX_PIECE_CHARACTERS:
            cut = paragraph.rfind(" ", 0, MAX_PIECE_CHARACTERS)
            cut = cut if cut > 0 else MAX_PIECE_CHARACTERS
            if piece:
                yield piece
                piece = ""
            yield paragraph[:cut]
            paragraph = paragraph[cut:].lstrip()
        if piece and len(piece) + len(paragraph) + 2 > MAX_PIECE_CHARACTERS:
            yield piece
            piece = ""
        piece = f"{piece}\n\n{paragraph}" if piece else paragraph
    yield piece


def _ask_for_json(requests: tuple[Request, ...], templates: Mapping[str, Template]) -> Step[tuple[Reply, ...]]:
    """Return the replies in the order of the requests; one without JSON is asked for once more."""
    return (yield from ask_with_retry(requests, _missing_json, templates[prompts.REASK]))


def _missing_json(request: Request, reply: Reply) -> str:
    data = _persona_data(reply) if request.role == PERSONA_WRITER else _json(reply)
    return "there is no JSON of that shape in it" if reply.error is None and data is None else ""


def _scout(text: str, task: str, templates: Mapping[str, Template]) -> Request:
    values = {"assignment": prompts.delimit(task, "task"), "document": prompts.delimit(text)}
    return Request(SCOUT, prompts.render(templates[SCOUT], values), inputs={"source": text})


def _merger(
    findings: Sequence[FoundDimension], task: str, templates: Mapping[str, Template], groups: int, dimensions: int
) -> Request:
    listing = "\n".join(
        f"{number}. {finding.stakeholder}"
        + (f" ({finding.characteristics})" if finding.characteristics else "")
        + f": {finding.dimension}"
        for number, finding in enumerate(findings, 1)
    )
    values = {
        "assignment": prompts.delimit(task, "task"),
        "found": prompts.delimit(listing),
        "most_groups": 0 if (groups, dimensions) == (UNLIMITED, UNLIMITED) else groups,
        "most_dimensions": dimensions,
    }
    return Request(MERGER, prompts.render(templates[MERGER], values), inputs={"found": tuple(findings)})


def _persona_writer(
    finding: FoundDimension,
    groups: Sequence[str],
    task: str,
    used_names: Sequence[str],
    templates: Mapping[str, Template],
) -> Request:
    """Return the request for a persona. ``groups`` are all groups of the panel, to which the persona may relate."""
    values = {
        "assignment": prompts.delimit(task, "task"),
        "group": finding.stakeholder,
        "others": tuple(group for group in groups if group != finding.stakeholder),
        "characteristics": prompts.delimit(finding.characteristics) if finding.characteristics else "",
        "dimension": prompts.delimit(finding.dimension),
        "evidence": prompts.delimit("\n".join(quote.words for quote in finding.evidence)),
        "taken": tuple(used_names),
    }
    inputs = {"group": finding.stakeholder, "dimension": finding.dimension, "taken": tuple(used_names)}
    return Request(PERSONA_WRITER, prompts.render(templates[PERSONA_WRITER], values), inputs=inputs)


def _personas(
    findings: Sequence[FoundDimension], task: str, templates: Mapping[str, Template]
) -> Step[tuple[Persona, ...]]:
    """Request a persona for each dimension, with unique names; an unreadable persona has a plain name."""
    groups = tuple(dict.fromkeys(finding.stakeholder for finding in findings))
    first = yield from _ask_for_json(
        tuple(_persona_writer(finding, groups, task, (), templates) for finding in findings), templates
    )
    personas = [_persona(finding, reply) for finding, reply in zip(findings, first, strict=True)]
    duplicates = [
        n for n, persona in enumerate(personas) if normalise(persona.name) in {normalise(o.name) for o in personas[:n]}
    ]
    if duplicates:
        used_names = list(dict.fromkeys(persona.name for persona in personas))
        requests = tuple(_persona_writer(findings[n], groups, task, used_names, templates) for n in duplicates)
        for n, reply in zip(duplicates, (yield from _ask_for_json(requests, templates)), strict=True):
            personas[n] = _persona(findings[n], reply)
    return tuple(_with_unique_names(personas))


def _persona(finding: FoundDimension, reply: Reply) -> Persona:
    data = _persona_data(reply) or {}
    attributes = {name: _line(data.get(name)) for name in Persona.model_fields if name != "evidence"}
    attributes["name"] = attributes["name"][:80] or finding.stakeholder[:80]
    attributes["dimension"] = attributes["dimension"] or finding.dimension
    return Persona(**attributes, evidence=finding.evidence)


def _with_unique_names(personas: Iterable[Persona]) -> Iterator[Persona]:
    """Yield the personas with a number added to names that are taken."""
    seen: set[str] = set()
    for persona in personas:
        name, number = persona.name, 1
        while normalise(name) in seen or not normalise(name):
            number += 1
            name = f"{_NUMBER.sub('', persona.name)[:76]} {number}"
        seen.add(normalise(name))
        yield persona.model_copy(update={"name": name})


def _grouped(findings: Sequence[FoundDimension], personas: Sequence[Persona]) -> Iterator[Group]:
    """Yield the groups, whose findings follow one another."""
    for name, pairs in groupby(zip(findings, personas, strict=True), key=lambda pair: pair[0].stakeholder):
        first, *others = pairs
        members = tuple(persona for _, persona in (first, *others))
        yield Group(name=name, characteristics=first[0].characteristics, personas=members)


def _described(entries: Iterable[Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the name and the characteristics of each entry with each of its dimensions."""
    for entry in entries:
        dimensions = lookup(entry, "dimensions")
        if isinstance(entry, dict) and isinstance(dimensions, list):
            name, characteristics = _line(entry.get("name"))[:80], _line(entry.get("characteristics"))
            for raw in dimensions:
                yield name, characteristics, raw if isinstance(raw, dict) else {"dimension": raw}


def _parse_found(source: SourceDocument, entries: Iterable[Any]) -> Iterator[FoundDimension]:
    haystack = Haystack({source.name: source.text})
    for name, characteristics, raw in _described(entries):
        dimension, evidence = _line(raw.get("dimension")), raw.get("evidence")
        if not (normalise(name) and dimension):
            continue
        quotes: list[Quote] = []
        for words in evidence if isinstance(evidence, list) else [evidence]:
            if isinstance(words, str) and (words := words.strip()[:MAX_TEXT]):
                _, start, end, match = haystack.locate(words)
                quotes.append(Quote(words=words, source=source.name, start=start, end=end, match=match))
        yield FoundDimension(name, characteristics, dimension, tuple(quotes))


def _parse_merged(reply: Reply, findings: Sequence[FoundDimension]) -> Iterator[FoundDimension]:
    """Yield the dimensions that the merger keeps; unknown and repeated numbers are ignored."""
    used: set[int] = set()
    for name, characteristics, raw in _described(_entries(reply, "groups") or ()):
        numbers = raw.get("from")
        number_list = numbers if isinstance(numbers, list) else [numbers]
        written = dict.fromkeys(int(digits) for n in number_list for digits in _WHOLE.findall(str(n)))
        merged = [n for n in written if 0 < n <= len(findings) and n not in used]
        used.update(merged)
        if merged and normalise(name):
            first = findings[merged[0] - 1]
            quotes = tuple(quote for n in merged for quote in findings[n - 1].evidence)
            dimension = _line(raw.get("dimension")) or first.dimension
            yield FoundDimension(name, characteristics or first.characteristics, dimension, quotes)


def _limited(findings: Sequence[FoundDimension], groups: int, dimensions: int) -> list[FoundDimension]:
    """Limit the groups to those with most dimensions, and the dimensions of each group to the first ones.

    "Parents" and "parents" are one group, with the name that comes first.
    """
    by_group: dict[str, list[FoundDimension]] = {}
    for finding in findings:
        group = by_group.setdefault(normalise(finding.stakeholder), [])
        group.append(replace(finding, stakeholder=group[0].stakeholder) if group else finding)
    largest = sorted(by_group, key=lambda name: -min(len(by_group[name]), dimensions))[:groups]
    return [finding for name in by_group if name in largest for finding in by_group[name][:dimensions]]


def _entries(reply: Reply, key: str) -> list[Any] | None:
    """Return the list under ``key`` of a reply's JSON, the JSON itself if it is a list, None without JSON."""
    data = _json(reply)
    if isinstance(data, list):
        return data
    entries = lookup(data, key) if data is not None else None
    return entries if isinstance(entries, list) else None


def _json(reply: Reply) -> Any:
    """Return the last JSON value of a reply; an empty list if the reply is only that; None without JSON."""
    text = without_reasoning(reply.text)
    if text.strip().strip("`").removeprefix("json").strip() == "[]":
        return []
    return last_json(text)


def _persona_data(reply: Reply) -> dict[str, Any] | None:
    """Return the object in a reply, also if it is the only element of a list; None without one."""
    data = _json(reply)
    if isinstance(data, list) and len(data) == 1:
        (data,) = data
    return data if isinstance(data, dict) else None


def _line(value: Any) -> str:
    """Return a value as one line; the parts of a list or an object with commas between them."""
    match value:
        case list():
            value = ", ".join(str(part) for part in value if part)
        case dict():
            value = ", ".join(f"{key}: {part}" for key, part in value.items() if part)
    return one_line(str(value or ""))[:MAX_TEXT]
