"""Decisions without a marker: answers label by label, and replies that are only label names.

They count only if the reply contains no marked decision and all of them agree. A set of answers must answer for every
label of the codebook and nothing else, and no label twice in different ways. A bare list consists of names of the
codebook and no other word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from core.debate.reading.blocks import BULLET, CROSSED
from core.debate.reading.json_blocks import Block, lookup
from core.debate.reading.label_names import Names
from core.debate.reading.lists import Listing, read_list
from core.debate.reading.markers import MarkedReply, is_inside, is_reported
from core.debate.reading.normalise import fold
from core.debate.reading.yes_no import Answer, answer_in, answer_of

_SEPARATOR = re.compile(r"\s*(?::|=|->|→|—|–|\s-)\s*")
_RULE = re.compile(r"[\s|:+=-]*")
_SIGNS = " \t*_`#>"
_HEADING = re.compile(
    r"\W*(?:(?:is|was) )?(?:it )?(?:(?:finally )?present|presence|decision|verdict|final|answer|value|status|applies"
    r"|applicable|mentioned|discussed|included?|label|yes ?/ ?no|rating|score|points?|grade)\b(?!.*\b(?:not|absent)\b)"
)
_NUMBER = re.compile(
    r"[\s*_`\"'(\[]*[-+−]?\d{1,15}(?:\.\d{1,15})?[\s*_`\"')\]]*"
    r"(?:(?:/|out of)\s?\d{1,15}[\s*_`\"')\]]*)?(?:$|[,;(–—].*|\s-\s.*|[.:](?:\s.*)?$)"
)
_LEAD = re.compile(
    r"\W*(?:aspects?|labels?|categor(?:y|ies)|codes?|class(?:ification)?|answer|prediction|choice)"
    r"[*_\s]*[:=][*_\s]*",
    re.IGNORECASE,
)
_LONGEST_NAME = 120
_LONGEST_BARE = 2000
_WRAPPERS = 3
_CORRECTED = re.compile(
    r"\b(?:however|actually|on (?:second thoughts?|reflection)|correction|wait|instead|re-?reading|reconsider\w*"
    r"|revis\w+|changed? my)\b",
    re.IGNORECASE,
)
_FENCE = re.compile(r"\s*(?:```|~~~).*")
_CHOSEN = (
    "answer", "choice", "category", "class", "classification", "prediction", "decision", "verdict", "code",
    "final_decision", "final_answer", "final_label", "predicted_label",
)  # fmt: skip
_PRESENT = (
    "present", "present_labels", "present_aspects", "labels_present", "aspects_present", "final_labels",
    "final_aspects", *_CHOSEN,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StatedAnswer:
    """One answer: a label's name as written, its item if the codebook has it, and the words of the answer.

    ``end`` is the end of the answer in the reply's text.
    """

    name: str
    item: str | None
    words: str
    end: int


def find_answers(page: MarkedReply, names: Names, start: int = 0) -> list[StatedAnswer]:
    """Return all yes/no answers from ``start`` on: on lines ``Name: yes``, in check boxes and in tables.

    Empty if the meaning of a table's column is unclear, or if an answer is reported, supposed or denied.
    """
    return _find_answers(page, names, lambda words: answer_in(words) is not None, start)


def find_numbers(page: MarkedReply, names: Names) -> list[StatedAnswer]:
    """Return the same for numbers: ``Name: 4``."""
    return _find_answers(page, names, lambda words: bool(_NUMBER.fullmatch(words)))


def listing_of_answers(said: Iterable[tuple[str, str | None, Answer | None]]) -> Listing:
    """Return answers (name, item, answer) as a listing; open and contradictory items are doubted."""
    out = Listing()
    for name, item, answer in said:
        if item is None:
            out.unknown[name[:200]] = None
        elif answer == "yes":
            out.listed[item] = None
        elif answer == "no":
            out.excluded.add(item)
        else:
            out.doubted[item] = "left open by the agent" if answer else "neither yes nor no is said of it"
    out.none = not out.listed
    return out


def json_answers(block: Block, names: Names) -> list[tuple[str, str | None, Answer | None]]:
    """Return the entries of an object {name: answer}; empty for any other object.

    A key that is not a label's name is a note and left out ("reasoning"), unless its value is a yes or a no.
    """
    data = _by_name(block, names)
    named = [(key, names.find(key), answer_of(value)) for key, value in data.items()]
    kept = [entry for entry in named if entry[1] is not None or _claims(data[entry[0]])]
    return kept if any(answer in ("yes", "no") for _, _, answer in kept) else []


def json_numbers(block: Block, names: Names) -> Any:
    """Return the entries of an object {dimension: number} whose keys are names of the codebook, or a list of objects.

    Empty for anything else.
    """
    if isinstance(block.data, list):
        return block.data
    return {key: value for key, value in _by_name(block, names).items() if names.find(key) is not None}


def json_names(block: Block, names: Names, *, codes: bool) -> Listing | None:
    """Return the names in an object that has them under another key than ``labels``; None if not all are known.

    For a choice (``codes``) this is {"answer": "Food"}, for labels {"present": ["Food"]}.
    """
    value = lookup(block.data, *(_CHOSEN if codes else _PRESENT))
    if codes and isinstance(value, str | int | float) and not isinstance(value, bool):
        item = names.find(str(value)) or _coded(value, names)
        return Listing(listed={item: None}) if item is not None else None
    if codes or not isinstance(value, list):
        return None
    items = [names.find(entry) if isinstance(entry, str) else None for entry in value]
    found = {item: None for item in items if item is not None}
    return Listing(listed=found, none=not items) if None not in items else None


def bare_list(page: MarkedReply, names: Names, *, codes: bool) -> Listing | None:
    """Return the listing of a reply that is only names ("Food, Price", "none"); None for every other reply.

    Names may also be on the last line, the only one of its kind: ``Label: Food`` (or Answer, Aspects, ...).
    """
    lines, led, position = [], [], 0
    for line in page.text.split("\n"):
        start, position = position, position + len(line) + 1
        if not line.strip() or _FENCE.fullmatch(line):
            continue
        lines.append(line)
        if lead := _LEAD.match(line):
            meant = not is_inside(start, page.quoted) and not is_reported(page, start)
            led.append((line, line[lead.end() :] if meant else ""))
    if led and (len(led) > 1 or led[0][0] != lines[-1]):
        return None
    said = [led[0][1]] if led else lines
    if sum(map(len, said)) > _LONGEST_BARE:
        return None
    out = Listing()
    for line in said:
        bullet = BULLET.match(line)
        if bullet and bullet["box"]:
            return None
        exact = names.find(line)
        out.add(Listing(listed={exact: None}) if exact is not None else read_list(names, line, codes=codes))
    alone = not (out.unknown or out.doubted or out.excluded or out.comments)
    return out if alone and out.none != bool(out.listed) else None


def is_corrected(page: MarkedReply, names: Names, end: int) -> bool:
    """Return True if the text after an answer at ``end`` corrects a label: "On reflection, Food ..."."""
    after = page.lines[end:]
    return bool(_CORRECTED.search(after)) and next(iter(names.mentions(fold(after))), None) is not None


def _by_name(block: Block, names: Names) -> dict[str, Any]:
    """Return the object of a block whose keys are names of the codebook, also inside a wrapper, or {}."""
    data = block.data
    for _ in range(_WRAPPERS):
        if not isinstance(data, dict):
            break
        if any(names.find(key) is not None for key in data):
            return data
        inner = [value for value in data.values() if isinstance(value, dict)]
        data = inner[0] if len(inner) == 1 else None
    return {}


def _coded(value: str | int | float, names: Names) -> str | None:
    try:
        return names.find_code(float(value))
    except (ValueError, OverflowError):
        return None


def _claims(value: Any) -> bool:
    """Return True if the value of an unknown name is a yes or a no. A number may be anything: "confidence": 1."""
    return (isinstance(value, bool) or not isinstance(value, int | float)) and answer_of(value) in ("yes", "no")


def _find_answers(
    page: MarkedReply, names: Names, is_answer: Callable[[str], bool], start: int = 0
) -> list[StatedAnswer]:
    found: list[StatedAnswer] = []
    table = _Table(names, is_answer)
    quoted, position = iter(page.quoted), start
    quote = next(quoted, None)
    for line in page.lines[start:].split("\n"):
        begin, position = position, position + len(line) + 1
        while quote is not None and quote.end <= begin:
            quote = next(quoted, None)
        if quote is not None and quote.start < begin:
            continue  # the line stands in a quotation that began before it
        if "|" in line:
            said = list(table.row(line, begin + len(line)))
            if table.unclear:
                return []
        else:
            table = _Table(names, is_answer)
            said = list(_on_line(line, begin + len(line), names, is_answer))
        if said and is_reported(page, begin):
            return []
        found += said
    return found


def _on_line(written: str, end: int, names: Names, is_answer: Callable[[str], bool]) -> Iterator[StatedAnswer]:
    bullet = BULLET.match(written)
    rest = written[bullet.end() :] if bullet else written
    if bullet and bullet["box"] and is_answer("yes"):
        item, name = _named(rest, names), rest.strip(_SIGNS)
        if item is None and (part := _SEPARATOR.search(rest)):
            item = _named(rest[: part.start()], names)
        yield StatedAnswer(name, item, "no" if bullet["box"] in CROSSED else "yes", end)
        return
    whole = _pair(rest, names, is_answer)
    parts = [_pair(part, names, is_answer) for part in re.split(r"[,;]\s", rest)] if "," in rest or ";" in rest else []
    if parts and all(part is not None for part in parts):
        yield from (StatedAnswer(*part, end) for part in parts if part is not None)
    elif whole is not None:
        yield StatedAnswer(*whole, end)


def _pair(text: str, names: Names, is_answer: Callable[[str], bool]) -> tuple[str, str | None, str] | None:
    """Return name, item and words of ``Name: answer``, or None.

    A name may contain a colon itself: the first separator that fits counts.
    """
    unknown = None
    for separator in _SEPARATOR.finditer(text, 0, _LONGEST_NAME):
        name, words = text[: separator.start()], text[separator.end() :].rstrip()
        if name.strip(_SIGNS) and is_answer(words):
            if (item := _named(name, names)) is not None:
                return name.strip(_SIGNS), item, words
            unknown = unknown or (name.strip(_SIGNS), None, words)
    return unknown


def _named(text: str, names: Names) -> str | None:
    text = text.strip()
    return names.find(text) or names.find(text.strip(_SIGNS + "-•+.:()[]"))


class _Table:
    """The rows of one Markdown table, in order."""

    def __init__(self, names: Names, is_answer: Callable[[str], bool]) -> None:
        self.names, self.is_answer = names, is_answer
        self.heading: list[str] = []
        self.column = -1
        self.unclear = False

    def row(self, written: str, end: int) -> Iterator[StatedAnswer]:
        """Yield the answer of a row: the first cell that is a name, and the cell that is an answer.

        ``unclear`` is set if several cells are answers, if they are in another column than before, or if that column's
        heading does not fit answers.
        """
        if _RULE.fullmatch(written):
            return
        cells = [cell.strip() for cell in written.strip().strip("|").split("|")]
        at = next((index for index, cell in enumerate(cells) if _named(cell, self.names) is not None), None)
        first = 0 if at is None else at
        answers = [index for index, cell in enumerate(cells) if index > first and self.is_answer(cell)]
        if at is None and not self.heading and self.column < 0:
            self.heading = cells
            return
        if not answers:
            return
        column = answers[0]
        headed = self.heading[column].casefold() if column < len(self.heading) else ""
        strange = bool(self.heading) and not _HEADING.match(headed)
        if len(answers) > 1 or strange or self.column not in (-1, column):
            self.unclear = True
            return
        self.column = column
        yield StatedAnswer(cells[first].strip(_SIGNS), _named(cells[first], self.names), cells[column], end)
