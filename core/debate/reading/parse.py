"""Parsing of a reply's text into a reading: the decision, or why it is unreadable. Pure; never raises.

A decision counts only if every token of it is accounted for. The reading of a reply has three steps. ``markers`` and
``json_blocks`` find where a decision is announced. ``statements`` and ``choices`` are the grammars of the announced
words, and ``ratings`` that of numbers. What a grammar leaves over becomes the problem of the reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from core.codebook import CHOICE_ITEM, Codebook
from core.debate.reading.choices import check_explanation, read_choice
from core.debate.reading.json_blocks import Block, entry_name, lookup
from core.debate.reading.label_names import names_of
from core.debate.reading.markers import (
    Kind,
    MarkedReply,
    Marker,
    is_inside,
    is_reported,
    parse_markers,
    without_reasoning,
)
from core.debate.reading.normalise import fold
from core.debate.reading.ratings import LEFT_OPEN, ratings_in, ratings_of, unmarked_ratings
from core.debate.reading.statements import (
    BULLET,
    Residue,
    Statements,
    is_comment,
    sole_answer,
    unknown_names,
)
from core.debate.reading.tokens import Value, tokenise
from core.debate.turns import Reading, ReplyForm
from core.documents import storable

EMPTY = "the reply is empty"
NO_DECISION = "no decision line"
CUT = "cut by the output limit before the decision was complete"
UNKNOWN_NAMES, UNKNOWN_CHARACTERS = 50, 200
"""How many names outside the codebook a reading keeps, and how much of each."""

_FORMS: Mapping[str, ReplyForm] = {"multilabel": "labels", "choice": "choice", "rating": "ratings"}
_KINDS: Mapping[ReplyForm, frozenset[Kind]] = {
    "labels": frozenset({"aspects", "label", "final"}),
    "choice": frozenset({"aspects", "label", "final"}),
    "ratings": frozenset({"final", "ratings"}),
}
_KEYS: Mapping[ReplyForm, tuple[str, ...]] = {
    "labels": ("labels", "aspects"),
    "choice": ("label", "aspect", "labels", "aspects"),
    "ratings": ("ratings",),
}
_CHOSEN = (
    "answer", "choice", "category", "class", "classification", "prediction", "decision", "verdict", "code", "stance",
    "sentiment", "final_decision", "final_answer", "final_label", "predicted_label",
)  # fmt: skip
_PRESENT = ("present", "present_labels", "present_aspects", "labels_present", "aspects_present", "included", "selected",
            "final_labels", "final_aspects")  # fmt: skip
_ABSENT = ("absent", "absent_labels", "absent_aspects", "not_present", "excluded", "rejected")
_NOTES = frozenset(
    {"label", "name", "aspect", "dimension", "quote", "quotes", "evidence", "reason", "reasons", "reasoning", "why",
     "explanation", "rationale", "justification", "confidence", "score", "comment", "note", "notes", "sentiment"}
)  # fmt: skip
_ANSWER_KEYS = ("present", "answer", "value", "decision", "verdict", "status", "applies", "applicable", "mentioned",
                "included", "selected")  # fmt: skip

_FENCE = re.compile(r"\s*(?:```|~~~)")
_CONTENT = re.compile(r"[^\s*_`\"'“”‘’«»„:,.#>|\-\x00()\[\]{}]")
_CORRECTED = re.compile(
    r"\b(?:however|actually|on (?:second thoughts?|reflection)|correction|wait|instead|re-?reading|reconsider\w*"
    r"|revis\w+"
    r"|changed? my|should (?:not |also )?(?:be|have been)|also (?:present|mentioned|applies|included)|remove|drop"
    r"|excluding"
    r"|except|rather)\b",
    re.IGNORECASE,
)
_WITHDRAWN = re.compile(
    r"(?:^|[.!\n]\s*)(?:wait|scratch that|correction)\b|\bthat(?:['’]s| is| was) (?:wrong|incorrect|not right)"
    r"|\bi was wrong|\bi(?:['’]m| am) (?:not |un)(?:sure|certain)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")

Candidate: TypeAlias = Marker | Block


def read(text: str, form: ReplyForm, codebook: Codebook, *, finish_reason: str = "stop") -> Reading:
    """Read the decision of a reply, in any form that this project asks for, completely or not at all.

    The last announced decision wins; quoted, denied, supposed and reported ones do not count. With ``finish_reason``
    equal to ``length`` a decision counts only if its line is ended or its JSON closed, and no earlier decision counts
    instead. If a decision is required and none is announced, a reply counts that answers for every label, consists of
    names, or starts or ends with the one label of a choice. A reading that does not count has a ``problem`` and no
    values. For ``text`` only announced decisions of the codebook's own kind are searched, and the problem may be
    ignored. Empty text, and text that is only reasoning, has a problem like any other.
    """
    decision_form = _FORMS[codebook.kind] if form == "text" else form
    page = parse_markers(text, codebook)
    if not page.text.strip():
        return Reading(problem=CUT if text.strip() and finish_reason == "length" else EMPTY)
    return _Reader(page, decision_form, codebook, cut=finish_reason == "length", asked=form != "text").read()


def mentions(text: str, codebook: Codebook) -> frozenset[str]:
    """Return the ids of the labels whose name occurs in ``text`` as whole words, in any context.

    A name inside a longer one does not count. Reasoning at the start of the text is left out.
    """
    return frozenset(mention.item for mention in names_of(codebook).mentions(fold(without_reasoning(text))))


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    text: str

    @property
    def blank(self) -> bool:
        return not _CONTENT.search(self.text)


class _Reader:
    """One reading of one reply."""

    def __init__(self, page: MarkedReply, form: ReplyForm, codebook: Codebook, *, cut: bool, asked: bool) -> None:
        self.page, self.form, self.codebook, self.cut, self.asked = page, form, codebook, cut, asked
        self.names = names_of(codebook)
        self.items = (CHOICE_ITEM,) if form == "choice" else tuple(label.id for label in codebook.labels)
        self.unknown: dict[str, None] = {}
        self.open = self._left_open()

    def read(self) -> Reading:
        candidates = self._candidates()
        last = candidates[-1].start if candidates else -1
        if self.cut and self.page.torn > last:
            return self._problem(CUT)
        try:
            for candidate in reversed(candidates):
                reading = self._block(candidate) if isinstance(candidate, Block) else self._marker(candidate)
                if reading is not None:
                    return reading
            if self.asked and (unmarked := self._unmarked()) is not None:
                return unmarked
        except Residue as residue:
            return self._left_over(residue)
        if self.open and (self.form == "choice" or set(self.items) <= self.open.keys()):
            return Reading(undecided=dict.fromkeys(self.items, LEFT_OPEN), unknown=_storable(self.unknown))
        return self._problem(CUT if self.cut else NO_DECISION)

    def _candidates(self) -> list[Candidate]:
        kinds, keys = _KINDS[self.form], _KEYS[self.form]
        found: list[Candidate] = [marker for marker in self.page.markers if marker.kind in kinds]
        found += [block for block in self.page.blocks if block.error or lookup(block.data, *keys) is not None]
        return sorted(found, key=lambda candidate: candidate.start)

    def _problem(self, problem: str) -> Reading:
        return Reading(unknown=() if problem == CUT else _storable(self.unknown), problem=problem)

    def _left_over(self, residue: Residue) -> Reading:
        if residue.unknown:
            self.unknown |= dict.fromkeys(name[:UNKNOWN_CHARACTERS] for name in residue.unknown)
            return self._problem(f"the decision names what is not in the codebook: {_quoted(self.unknown)}")
        return self._problem(f"the decision does not say plainly what it means: {_quoted([residue.words])}")

    def _left_open(self) -> dict[str, str]:
        """Return the labels named on the last ``Undecided:`` lines, with the reason."""
        found: dict[str, str] = {}
        below: Marker | None = None
        for marker in reversed(self.page.undecided):
            if below is not None and self.page.lines[self.page.line_end(marker.end) : below.start].strip(" \n>#-+•*_"):
                break
            line = self.page.text[marker.end : marker.limit]
            found |= {mention.item: LEFT_OPEN for mention in self.names.mentions(fold(line))}
            below = marker
        return found

    def _lines(self, start: int, end: int | None = None) -> Iterator[_Line]:
        """Yield lines of the reply, without JSON and those inside a quotation that began on an earlier line."""
        limit = len(self.page.lines) if end is None else end
        while start <= limit:
            stop = min(self.page.line_end(start), limit)
            quoted = is_inside(start, self.page.quoted) and self.page.lines[start - 1 : start] == "\n"
            if not quoted and "\x00" not in self.page.lines[start:stop]:
                yield _Line(start, stop, self.page.text[start:stop])
            start = stop + 1

    # Decisions that a marker announces

    def _marker(self, marker: Marker) -> Reading | None:
        """Return the reading of what a marker announces, or None if the sentence is not a decision."""
        if self.form == "ratings":
            ratings, complete = ratings_of(self.page, marker, self.codebook, self.names, self.open)
            return self._problem(CUT) if self.cut and not complete else self._rated(ratings)
        start = self.page.past_marker(marker.end, marker.limit)
        if self.form == "choice":
            return self._marked_choice(marker, start)
        return self._marked_labels(marker, start)

    def _marked_labels(self, marker: Marker, start: int) -> Reading | None:
        for block in self.page.blocks:
            if block.start >= start and not _CONTENT.search(self.page.text[start : block.start].replace("json", "")):
                return self._unmarked_block(block) if not block.error else self._block(block)
        out = Statements(self.names)
        try:
            end = self._body(out, start, marker.limit)
        except Residue as residue:
            if marker.plain and not out.values and not _claims(self.page.text[marker.end : marker.limit], residue):
                return None  # "The aspects present in this review are well supported" is prose
            if self.cut and self.page.line_end(marker.limit) >= len(self.page.text):
                return self._problem(CUT)
            raise
        if self.cut and (end is None or end >= len(self.page.text) or out.unfinished):
            return self._problem(CUT)
        if _WITHDRAWN.search(self.page.lines, start):
            raise Residue(self.page.text[start:])
        self._check_after(out, len(self.page.text) if end is None else end)
        return self._stated(out)

    def _body(self, out: Statements, start: int, limit: int) -> int | None:
        """Read the lines that a marker announces; return where they end, None if they may go on after the text.

        They are the rest of the marker's line, continued while it ends with a comma, or else the list below it.
        """
        following = min((m.start for m in self.page.markers if m.start >= limit), default=len(self.page.text))
        first = self.page.text[start:limit]
        if _CONTENT.search(first):
            end = limit
            stated = out.read(_unwrapped(first))
            for line in self._lines(self.page.line_end(limit) + 1, following):
                if not out.unfinished or line.blank:
                    break
                stated, end = out.read(line.text), line.end
            if not stated:
                raise self._foreign(first)
            if limit < self.page.line_end(start) or not out.headed or out.heading == "unknown":
                return end
            start = self.page.line_end(limit) + 1
        elif limit < self.page.line_end(start):
            return limit
        else:
            start = limit + 1
        begun, bullets, depth, end = bool(out.values), False, 0, start
        for line in self._lines(start, following):
            if _FENCE.match(line.text):
                continue
            if line.blank:
                if begun and not bullets and not out.headed:
                    return line.end
                continue
            bullet = BULLET.match(line.text)
            indent = len(bullet["indent"]) if bullet else len(line.text) - len(line.text.lstrip(" \t>"))
            if begun and bullets and indent > depth:
                continue  # explains the bullet above
            try:
                stated = out.read(_unwrapped(line.text))
            except Residue:
                if begun and not bullet and not _leads(line.text, self.names):
                    return line.start
                raise
            if not stated:
                if bullet or (not begun and not line.text.rstrip(" *_").endswith(":") and line.text.count("|") < 2):
                    foreign = self._foreign(line.text[bullet.end() if bullet else 0 :])
                    if begun and not foreign.unknown:
                        return line.start
                    raise foreign
                if begun and line.text.count("|") < 2:
                    return line.start
                continue
            if bullet and not begun:
                bullets, depth = True, indent
            begun, end = True, line.end
        if following < len(self.page.text):
            return end
        return end if begun and not bullets and end < len(self.page.text) and not out.headed else None

    def _foreign(self, words: str) -> Residue:
        """Return the residue of words that state nothing about any label."""
        return Residue(words, unknown_names(tokenise(words, self.names), words))

    def _check_after(self, out: Statements, position: int) -> None:
        """Raise ``Residue`` if the text after a decision states something else."""
        decided = {item for item, values in out.values.items() if values == {True}}
        after = Statements(self.names)
        for line in self._lines(position):
            try:
                after.read(line.text)
            except Residue:
                pass
            else:
                for item, values in after.values.items():
                    if (True in values) != (item in decided) and None not in values:
                        raise Residue(line.text)
        self._check_corrected(position)

    def _check_corrected(self, position: int) -> None:
        text = self.page.lines[position:]
        if _WITHDRAWN.search(text):
            raise Residue(text)
        for sentence in _SENTENCE.split(text):
            if _CORRECTED.search(sentence) and next(iter(self.names.mentions(fold(sentence))), None) is not None:
                raise Residue(sentence)

    def _stated(self, out: Statements) -> Reading:
        """Return the reading of statements on labels: those not named are absent if any is present, or none is."""
        if out.contradicted:
            named = [self.names.written(item) for item in out.contradicted]
            return self._problem(f"the decision says different things about {_quoted(named)}")
        values = {item: next(iter(given)) for item, given in out.values.items()}
        present = [item for item, value in values.items() if value]
        if out.none and present:
            named = [self.names.written(item) for item in present]
            return self._problem(f"the decision says none and also names {_quoted(named)}")
        if not present and not out.none and set(self.items) - values.keys() - self.open.keys():
            return self._problem("the decision names no label that is present and does not say none")
        reasons = dict.fromkeys((item for item, value in values.items() if value is None), LEFT_OPEN) | self.open
        return Reading(
            values={item: bool(values.get(item)) for item in self.items if item not in reasons},
            undecided={item: reasons[item] for item in self.items if item in reasons},
            unknown=_storable(self.unknown),
        )

    def _marked_choice(self, marker: Marker, start: int) -> Reading | None:
        text = self.page.text
        below = start
        limit = marker.limit
        if marker.kind == "label" and text[marker.start :].startswith("\\boxed"):
            limit = min(x for x in (text.find("}", start), limit) if x >= 0)
        elif not _CONTENT.search(self.page.lines, start, limit):
            if limit < self.page.line_end(start):
                return None
            line = next((one for one in self._lines(limit + 1) if not one.blank and not _FENCE.match(one.text)), None)
            if line is None:
                return self._problem(CUT if self.cut else "the decision does not choose one label")
            below, limit = line.start, line.end
            if bullet := BULLET.match(line.text):
                below += bullet.end()
        if self.cut and limit >= len(text):
            return self._problem(CUT)
        line_end = self.page.line_end(limit)
        rest = text[limit:] if limit < line_end else text[line_end:]
        item = read_choice(_unwrapped(text[below:limit]) + "\n" + rest.lstrip("}$ "), self.names, codes=True)
        if item is not None:
            return self._chosen(item)
        if _asks(text[below:limit]) or (marker.plain and marker.kind != "label"):
            return None
        words = text[below:limit].strip(" *_#\"'`.,;:()[]\n")
        if any(True for _ in self.names.mentions(fold(words))):
            raise Residue(words)
        if not words or re.match(r"(?:none|no label)\b", words, re.IGNORECASE):
            return self._problem("the decision does not choose one label")
        raise self._foreign(words)

    def _chosen(self, item: str) -> Reading:
        if item in self.open:
            return Reading(undecided={CHOICE_ITEM: LEFT_OPEN}, unknown=_storable(self.unknown))
        return Reading(values={CHOICE_ITEM: item}, unknown=_storable(self.unknown))

    # Decisions that nothing announces

    def _unmarked(self) -> Reading | None:
        """Return the reading of a decision without a marker, or None if there is none."""
        blocks = [block for block in self.page.blocks if not is_reported(self.page, block.start)]
        for block in reversed(blocks):
            if (reading := self._unmarked_block(block)) is not None:
                return reading
        if self.form == "ratings":
            rated, end = unmarked_ratings(self.page, self.codebook, self.names)
            if end < 0 or (self.cut and end >= len(self.page.text)):
                return None
            return self._all_rated(rated, end)
        return self._unmarked_choice() if self.form == "choice" else self._unmarked_labels()

    def _unmarked_labels(self) -> Reading | None:
        leads = [m for m in self.page.weak if m.kind == "heading" and not is_reported(self.page, m.start)]
        if len(leads) == 1 and (reading := self._marked_labels(leads[0], leads[0].end)) is not None:
            return reading
        out = Statements(self.names)
        prose = leftover = 0
        unknown: dict[str, None] = {}
        end = 0
        for line in self._lines(0):
            if line.blank or _FENCE.match(line.text):
                continue
            text = _unwrapped(line.text)
            explicit = bool(out.explicit)
            try:
                stated = out.read(text)
            except Residue:
                answers = sole_answer(text, self.names) != "none"
                leftover += answers or next(iter(self.names.mentions(fold(text))), None) is not None
                continue
            if stated and is_reported(self.page, line.start, denied=False):
                return None
            if not explicit and out.explicit:  # what came before the first answer is reasoning
                out.values = out.line_values
            if stated:
                end = line.end
                continue
            prose += 1
            name, _, answer = text[bullet.end() if (bullet := BULLET.match(text)) else 0 :].partition(":")
            if 0 < len(name.split()) < 5 and out.explicit and isinstance(sole_answer(answer, self.names), bool):
                unknown.setdefault(name.strip(" *_#"))
        if not (out.values or out.none) or (self.cut and end >= len(self.page.text)):
            return None
        if unknown and len(out.explicit) > 1:
            self.unknown |= unknown
            return self._problem(f"it answers for what is not in the codebook: {_quoted(unknown)}")
        explicit = out.explicit.issuperset(out.values) and bool(out.explicit)
        missing = [name for item, name in self._written() if item not in out.values and item not in self.open]
        if explicit and missing and (out.answered or {False} in out.values.values()):
            return self._problem(f"it answers label by label, but not for {_quoted(missing)}")
        if (explicit and not (missing and leftover)) or (not (prose or leftover or self.cut)):
            self._check_corrected(end)
            return self._stated(out)
        return None

    def _unmarked_choice(self) -> Reading | None:
        """Return the label of the first or the last line, of a heading, or of answers label by label."""
        lines = [line for line in self._lines(0) if not line.blank and not _FENCE.match(line.text)]
        out = Statements(self.names)
        for line in lines:
            try:
                if out.read(line.text) and is_reported(self.page, line.start):
                    return None
            except Residue:
                pass
        named = {label.id for label in self.codebook.labels}
        if out.explicit >= named and not out.contradicted and len(named) > 1:
            chosen = [item for item, values in out.values.items() if values == {True}]
            if len(chosen) != 1:
                return self._problem("the decision does not choose one label")
            self._check_corrected(self.page.text.rfind("\n"))
            return self._chosen(chosen[0])
        if not lines:
            return None
        found: dict[str, None] = {}
        others: set[str] = set()
        end = 0
        leads = [marker for marker in self.page.weak if not is_reported(self.page, marker.start)]
        for number, line in enumerate(lines):
            edge = number in (0, len(lines) - 1)
            if self.cut and line.end >= len(self.page.text):
                continue
            starts = [
                (m.end, m.kind == "heading")
                for m in leads
                if line.start <= m.start < line.end and (m.kind == "heading" or edge)
            ]
            if (number == 0 or self._is_alone(line.text)) and not (
                is_reported(self.page, line.start) or is_inside(line.start, self.page.quoted)
            ):
                bullet = BULLET.match(line.text)
                starts.insert(
                    0, (line.start + (bullet.end() if bullet and line.text[bullet.end() :].strip() else 0), True)
                )
            elif not starts and (other := self._entry(line.text)) is not None:
                others.add(other)
            for begin, codes in starts:
                text = self.page.text[begin : line.end]
                item = read_choice(_unwrapped(text), self.names, codes=codes)
                if item is not None and _asks(text):
                    return None
                if item is not None:
                    found[item], end = None, end or line.end
                    break
        if found and others - found.keys():
            found |= dict.fromkeys(sorted(others))
        if len(found) > 1:
            named_twice = [self.names.written(item) for item in found]
            return self._problem(f"the decision names more than one label: {_quoted(named_twice)}")
        if not found:
            return None
        item = next(iter(found))
        check_explanation(self.page.text[end:], item, self.names)
        return self._chosen(item)

    def _entry(self, text: str) -> str | None:
        """Return the label that a line is about: "- Hawkish: never"."""
        bullet = BULLET.match(text)
        tokens = tokenise(text[bullet.end() if bullet else 0 :], self.names)
        headed = len(tokens) > 1 and tokens[0].kind == "name" and tokens[1].kind == "link"
        return tokens[0].item if headed else None

    def _is_alone(self, text: str) -> bool:
        """Return True if a line consists of one label and nothing else."""
        return self.names.find(text.strip(" .*_`\"'()[]#>-")) is not None

    # JSON

    def _block(self, block: Block) -> Reading:
        if block.error:
            return self._problem(CUT if self.cut else f"the JSON cannot be read ({block.error})")
        undecided = lookup(block.data, "undecided")
        if undecided is not None:
            self.open = self._json_open(undecided)
        value = lookup(block.data, *_KEYS[self.form])
        if self.form == "ratings":
            return self._rated(ratings_in(value, self.codebook, self.names))
        if self.form == "choice":
            return self._json_choice(value, block)
        return self._json_labels({True: value, False: lookup(block.data, *_ABSENT)}, block)

    def _unmarked_block(self, block: Block) -> Reading | None:
        """Return the reading of an object {name: answer}, or with names under another key than ``labels``."""
        data = self._by_name(block)
        if self.form == "ratings":
            numbers = (
                block.data if isinstance(block.data, list) else {k: v for k, v in data.items() if self.names.find(k)}
            )
            return self._all_rated(ratings_in(numbers, self.codebook, self.names), block.end) if numbers else None
        if data:
            answers = {key: _answer(value, self.names) for key, value in data.items()}
            known = {key: answers[key] for key in data if self.names.find(key) is not None}
            claims = [key for key in data if key not in known and _is_claim(data[key], self.names)]
            if not any(isinstance(answer, bool) for answer in known.values()):
                return None
            self._check_corrected(block.end)
            if claims:
                self.unknown |= dict.fromkeys(claims)
                return self._problem(f"it answers for what is not in the codebook: {_quoted(claims)}")
            if self.form == "choice":
                chosen = [self.names.find(key) for key, answer in known.items() if answer is True]
                if len(chosen) != 1 or chosen[0] is None or "none" in known.values():
                    return self._problem("the decision does not choose one label")
                return self._chosen(chosen[0])
            told = {self.names.find(key) for key in known} | self.open.keys()
            if missing := [name for item, name in self._written() if item not in told]:
                return self._problem(f"it answers label by label, but not for {_quoted(missing)}")
            return self._json_labels({True: known}, block)
        if self.form == "choice":
            value = lookup(block.data, *_CHOSEN)
            if isinstance(value, str | int | float) and not isinstance(value, bool) and self._named(value) is not None:
                return self._json_choice(value, block)
            return None
        listed, absent = lookup(block.data, *_PRESENT, *_CHOSEN), lookup(block.data, *_ABSENT)
        if not isinstance(listed, list) or any(not isinstance(entry, str) for entry in listed):
            return None
        if any(self.names.find(entry) is None for entry in listed):
            return None
        return self._json_labels({True: listed, False: absent}, block)

    def _json_choice(self, value: Any, block: Block) -> Reading:
        entries = value if isinstance(value, list) else [value]
        items = [self._named(entry_name(entry)) for entry in entries]
        found = {item for item in items if item is not None}
        unknown = [
            str(entry_name(entry) if entry_name(entry) is not None else entry)
            for entry, item in zip(entries, items, strict=True)
            if item is None
        ]
        if unknown:
            self.unknown |= dict.fromkeys(name[:UNKNOWN_CHARACTERS] for name in unknown)
            return self._problem(f"the decision names what is not in the codebook: {_quoted(self.unknown)}")
        if len(found) != 1:
            written = [self.names.written(item) for item in found]
            return self._problem(
                f"the decision names more than one label: {_quoted(written)}"
                if found
                else "the decision does not choose one label"
            )
        chosen = found.pop()
        check_explanation(self.page.text[block.end :], chosen, self.names)
        return self._chosen(chosen)

    def _json_labels(self, sides: Mapping[bool, Any], block: Block) -> Reading:
        out, foreign = Statements(self.names), []
        for side, value in sides.items():
            if value is None and side is False:
                continue
            for entry, answer in _pairs(value, self.names):
                if answer == "none":
                    raise Residue(str(entry))
                stated = None if answer is None else side == answer
                name = entry_name(entry)
                item = self.names.find(name) if isinstance(name, str) else None
                if item is not None:
                    out.values.setdefault(item, set()).add(stated)
                elif isinstance(name, str):
                    part = Statements(self.names)
                    try:
                        whole = part.read(name) and not (part.none and part.values)
                    except Residue:
                        whole = False
                    if not whole:
                        foreign.append(name)
                    for each, values in part.values.items():
                        out.values.setdefault(each, set()).update({stated if v else not stated for v in values})
                else:
                    foreign.append(str(name if name is not None else entry))
        if foreign:
            raise Residue(foreign[0], foreign)
        if True not in {value for values in out.values.values() for value in values}:
            out.none = True  # an empty list is an answer
        self._check_after(out, block.end)
        return self._stated(out)

    def _json_open(self, value: Any) -> dict[str, str]:
        entries = (
            list(value.items())
            if isinstance(value, dict) and entry_name(value) is None
            else [
                (entry, entry.get("reason") if isinstance(entry, dict) else None)
                for entry in (value if isinstance(value, list) else [value])
            ]
        )
        found: dict[str, str] = {}
        for entry, reason in entries:
            for mention in self.names.mentions(fold(str(entry_name(entry)))):
                found[mention.item] = reason if isinstance(reason, str) and reason else LEFT_OPEN
        return found

    def _named(self, name: str | int | float | None) -> str | None:
        if name is None:
            return None
        if (item := self.names.find(str(name))) is not None or self.form != "choice":
            return item
        try:
            return self.names.find_code(float(name))
        except (ValueError, OverflowError):
            pass
        try:
            return read_choice(str(name), self.names, codes=True)
        except Residue:
            return None

    def _by_name(self, block: Block) -> dict[str, Any]:
        """Return the object of a block whose keys are names of the codebook, also inside a wrapper, or {}."""
        data = block.data
        for _ in range(3):
            if not isinstance(data, dict):
                break
            if any(self.names.find(key) is not None for key in data):
                return data
            inner = [value for value in data.values() if isinstance(value, dict)]
            data = inner[0] if len(inner) == 1 else None
        return {}

    def _written(self) -> Iterator[tuple[str, str]]:
        return ((label.id, label.name) for label in self.codebook.labels)

    # Ratings

    def _all_rated(self, rated: Reading, end: int) -> Reading | None:
        told = rated.values.keys() | rated.undecided.keys() | self.open.keys()
        if not rated.values or any(item not in told for item in self.items):
            return None
        self._check_corrected(end)
        return self._rated(rated)

    def _rated(self, rated: Reading) -> Reading:
        reasons = {**rated.undecided, **self.open}
        values = {item: rated.values[item] for item in self.items if item in rated.values and item not in self.open}
        missing = {item: "no rating given" for item in self.items if item not in values and item not in reasons}
        unknown = _storable((*self.unknown, *rated.unknown))
        if not values and any(item not in self.open for item in self.items):
            given = "; ".join(
                f"{self.names.written(item)}: {reason}" for item, reason in list(rated.undecided.items())[:5]
            )
            outside = f"it names only what is not in the codebook: {_quoted(rated.unknown)}" if rated.unknown else ""
            return Reading(
                unknown=unknown, problem=f"no dimension has a rating ({given or outside or 'none is named'})"
            )
        reasons |= missing
        return Reading(values, {item: reasons[item] for item in self.items if item in reasons}, unknown)


def _unwrapped(text: str) -> str:
    """Return a body without a quotation mark, bracket or emphasis around the whole of it."""
    bare = text.strip().strip("*_`").strip()
    for opening, closing in ('""', "“”", "«»", "„“", "()", "{}"):
        if (
            len(bare) > 1
            and bare[0] == opening
            and bare.rstrip(".")[-1] == closing
            and bare.count(closing) == (2 if opening == closing else 1)
        ):
            return bare.rstrip(".")[1:-1]
    return text


def _claims(text: str, residue: Residue) -> bool:
    """Return True if words after a plain marker are names outside the codebook and not the rest of a sentence."""
    words = text.lstrip(" *`_")
    return words.startswith("#") or (bool(residue.unknown) and all(name[:1].isupper() for name in residue.unknown))


def _leads(text: str, names: Any) -> bool:
    """Return True if a line starts with a label's name."""
    folded = fold(text.lstrip(" \t>*_#`\"'“"))
    return names.at(folded, 0) is not None


def _asks(text: str) -> bool:
    return text.rstrip(" *_\"”'").endswith("?")


def _answer(value: Any, names: Any) -> Value | str:
    """Return the answer of a JSON value; "none" for anything that is not an answer.

    An answer is a boolean, 1 or 0, words such as yes, null for open, evidence, or an object with one of these under
    ``present``, ``answer`` and the like.
    """
    if isinstance(value, dict):
        given = {_answer(entry, names) for key, entry in value.items() if key.strip().casefold() in _ANSWER_KEYS}
        others = [
            key
            for key, entry in value.items()
            if key.strip().casefold() not in (*_ANSWER_KEYS, *_NOTES) and isinstance(entry, bool)
        ]
        if others or len(given) > 1:
            return "none"
        return given.pop() if given else ("none" if not value else True)
    if value is None:
        return None
    if isinstance(value, bool | int | float):
        return bool(value) if value in (0, 1) else "none"
    if isinstance(value, list):
        return (
            True
            if value and all(isinstance(entry, str) and sole_answer(entry, names) == "none" for entry in value)
            else "none"
        )
    if not isinstance(value, str) or not value.strip():
        return "none"
    answer = sole_answer(value, names)
    if answer != "none":
        return answer
    return is_comment(value, names) or "none"


def _is_claim(value: Any, names: Any) -> bool:
    """Return True if the value of an unknown name is a yes or a no. A number may be anything: "confidence": 1."""
    return isinstance(value, bool) or (isinstance(value, str) and isinstance(sole_answer(value, names), bool))


def _pairs(value: Any, names: Any) -> Iterable[tuple[Any, Value | str]]:
    """Return (entry, answer) for a JSON list, an object {name: answer} or a bare name."""
    if isinstance(value, dict) and entry_name(value) is None:
        return [(name, _answer(given, names)) for name, given in value.items()]
    entries = value if isinstance(value, list) else [value]
    return [(entry, _answer(entry, names) if isinstance(entry, dict) else True) for entry in entries]


def _quoted(names: Iterable[str]) -> str:
    shown = [f'"{storable(" ".join(name.split())[:80])}"' for name in names]
    return ", ".join(shown[:5]) + (f" and {len(shown) - 5} more" if len(shown) > 5 else "")


def _storable(names: Iterable[str]) -> tuple[str, ...]:
    """Return names without lone surrogates, which JSON can contain and the store refuses."""
    return tuple(dict.fromkeys(storable(name) for name in names))[:UNKNOWN_NAMES]
