"""Parsing of a reply's text into a reading: the decision, or why it is unreadable. Pure; never raises.

A decision counts only if every token of it is accounted for and nothing after it says otherwise. This module chooses
the decision: the last one that is announced, or else one that the reply states without announcing it. The docstring of
the package lists all steps.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from functools import cached_property
from typing import Any

from core.codebook import CHOICE_ITEM, Codebook, Kind
from core.debate.reading.contradictions import (
    check_comment,
    check_following,
    check_lines,
    check_rating_lines,
    check_withdrawn,
    is_anothers,
)
from core.debate.reading.decision_markers import (
    CONTENT,
    Line,
    MarkedReply,
    Marker,
    is_inside,
    is_reported,
    next_document,
    parse_markers,
    without_reasoning,
)
from core.debate.reading.json_answers import (
    ABSENT,
    CHOSEN,
    PRESENT,
    UNDECIDED,
    answer_of,
    by_name,
    is_claim,
    label_named,
)
from core.debate.reading.json_blocks import Block, entries, entry_name, lookup
from core.debate.reading.label_names import names_of, split_ordinals
from core.debate.reading.multi_label import (
    BULLET,
    Statements,
    Unreadable,
    is_comment,
    quoted_names,
    residue,
    sole_answer,
    unknown_names,
    without_bullet,
)
from core.debate.reading.normalise import fold
from core.debate.reading.ratings import (
    LEFT_OPEN,
    ratings_in,
    ratings_in_sentences,
    ratings_of,
    unmarked_ratings,
)
from core.debate.reading.single_label import read_choice
from core.debate.reading.tokens import tokenise
from core.debate.turns import Reading
from core.documents import storable

EMPTY = "the reply is empty"
NO_DECISION = "no decision line"
CUT = "cut by the output limit before the decision was complete"
NO_CHOICE = "the decision does not choose one label"
UNKNOWN_NAMES, UNKNOWN_CHARACTERS = 50, 200
"""Most names outside the codebook that a reading keeps, and most characters of each."""

_KEYS: Mapping[Kind, tuple[str, ...]] = {
    "multilabel": ("labels", "aspects"),
    "choice": ("label", "aspect", "labels", "aspects"),
    "rating": ("ratings",),
}
_REMARK = re.compile(r"(?<![.!?])[.!]\s+(?=[^\W\d_a-z])")
"""The end of a decision before another sentence on its line."""
_LOOK_BACK = 200
_HOWEVER = re.compile(r"(?:^|[.!;]) *(?:however|but),? *$", re.IGNORECASE)
_EARLIER = re.compile(r"\b(?:initial|original|earlier|first|previous)", re.IGNORECASE)
_MOST_ANNOUNCED = 50
"""Announcements on one line. A model that repeats itself makes more; each is read to the end of its line."""
_CITATION = re.compile(r"[ \t]*>[ \t>]*")
_EMPTY_LIST = re.compile(r"[\s*_`]*(?:\[\s*\]|\{\s*\}|∅)[\s*_`.]*$")
_PLURAL = re.compile(r"\b(?:present|aspects|labels|categories|topics|themes|codes)\b", re.IGNORECASE)
_NOT_APPLICABLE = re.compile(
    r"[\s*_`\"'(\[#]*+(?:n/?a|not applicable)[\s*_`\"')\].]*(?:$|[.,;:(–—]|-\s|(?:because|since|as)\b)",
    re.IGNORECASE,
)
"""Words for no label where the labels are to be listed; beside one label they leave it open."""
_NO_TEXT = re.compile(
    r"\b(?:cannot|can['’]t|unable|missing|empty|unreadable|not (?:provided|given|available|accessible|visible))\b",
    re.IGNORECASE,
)
"""Words that give another reason for "N/A" than that no label is present."""


def read(text: str, codebook: Codebook, *, finish_reason: str = "stop") -> Reading:
    """Read the decision of a reply, in any form that this project asks for, completely or not at all.

    The last announced decision wins; quoted, denied, supposed and reported ones do not count. With ``finish_reason``
    equal to ``length`` a decision counts only if its line is ended or its JSON closed, and no earlier decision counts
    instead. Without an announced decision, a reply counts if it answers for every label, consists of names, or starts
    or ends with the one label of a choice. A reading that does not count has a ``problem`` and no values. Empty text,
    and text that is only reasoning, has a problem like any other.
    """
    marked = parse_markers(text, codebook)
    cut = finish_reason == "length"
    if not marked.text.strip():
        return Reading(problem=CUT if text.strip() and cut else EMPTY)
    reader = _Reader(marked, codebook, cut=cut)
    try:
        reading = reader.read_announced() or reader.read_unannounced()
    except Unreadable as error:
        return Reading(unknown=_storable(error.unknown), problem=error.problem)
    if reading is not None:
        start = len(text) - len(marked.text) + reader.start
        return Reading(reading.values, reading.undecided, reading.unknown, start=start)
    return reader.read_undecided() or Reading(problem=CUT if cut else NO_DECISION)


def mentions(text: str, codebook: Codebook) -> frozenset[str]:
    """Return the ids of the labels whose name occurs in ``text`` as whole words, in any context.

    A name inside a longer one does not count. Reasoning at the start of the text is left out.
    """
    return frozenset(mention.item for mention in names_of(codebook).mentions(without_reasoning(text)))


class _Reader:
    """One reading of one reply. Every method raises ``Unreadable`` for a decision that does not count."""

    def __init__(self, marked: MarkedReply, codebook: Codebook, *, cut: bool) -> None:
        self.marked, self.kind, self.codebook, self.cut = marked, codebook.kind, codebook, cut
        self.names = names_of(codebook)
        self.items = codebook.items
        self.start = 0
        self.open = self._find_left_open()

    def read_announced(self) -> Reading | None:
        """Return the reading of the last announced decision, None if there is none."""
        kinds = ("final", "ratings") if self.kind == "rating" else ("aspects", "label", "revised", "final")
        keys = _KEYS[self.kind]
        candidates: list[Marker | Block] = [marker for marker in self.marked.markers if marker.kind in kinds]
        candidates += [block for block in self.marked.blocks if block.error or lookup(block.data, *keys) is not None]
        candidates.sort(key=lambda candidate: candidate.start)
        if self.cut and self.marked.torn > (candidates[-1].start if candidates else -1):
            raise Unreadable(CUT)
        if candidates and self._is_cited(candidates[-1]) and not all(map(self._is_cited, candidates)):
            raise Unreadable("the last decision is in a block quotation")
        another = next_document(self.codebook.unit)
        if candidates and another.search(self.marked.lines, candidates[0].start + 1, candidates[-1].start):
            raise Unreadable("it decides on more than one document")
        if len(candidates) > 1 and not self.cut and self._is_restated_otherwise(*candidates[-2:]):
            raise Unreadable("it announces different decisions, one directly after the other")
        if candidates and self._is_contradicting(candidates):
            raise Unreadable("it announces different decisions without saying which one is its own")
        for candidate in reversed(candidates):
            self.start = candidate.start
            if isinstance(candidate, Block):
                return self._read_block(candidate)
            if (reading := self._read_marker(candidate)) is not None:
                return reading
        return None

    def _is_restated_otherwise(self, first: Marker | Block, last: Marker | Block) -> bool:
        """Return True if the line after a decision announces other labels in the same words, as in a list of them."""
        if self.kind == "rating" or not (isinstance(first, Marker) and isinstance(last, Marker)):
            return False
        text, lines = self.marked.text, self.marked.lines
        between = lines[first.limit : last.start]
        words = [lines[marker.start : marker.end].strip().casefold() for marker in (first, last)]
        if words[0] != words[1] or CONTENT.search(between) or between.count("\n") != 1:
            return False
        named = [set(self._mentioned(text[marker.end : marker.limit])) for marker in (first, last)]
        return named[0] != named[1] and bool(named[0]) and bool(named[1])

    def _is_contradicting(self, candidates: Sequence[Marker | Block]) -> bool:
        """Return True if the last decision of a choice corrects another one before it on its line.

        "The label is A. The right label would be B.", "A. However, the correct label is B."
        """
        lines, last = self.marked.lines, candidates[-1]
        if self.kind != "choice" or not isinstance(last, Marker):
            return False
        begin = lines.rfind("\n", 0, last.start) + 1
        before = lines[max(begin, last.start - _LOOK_BACK) : last.start]
        however = _HOWEVER.search(before)
        label = set(self._mentioned(self.marked.text[last.end : last.limit]))
        if however and self.names.find(before[: however.start()].strip(" .!")) not in (None, *label):
            return True
        first = candidates[-2] if len(candidates) > 1 else None
        if not isinstance(first, Marker) or first.start < begin:
            return False
        if not however and "would be" not in lines[last.start : last.end]:
            return False
        said = self.marked.text[first.end : first.limit]
        earlier = set(self._mentioned(said))
        if is_anothers(said) or _EARLIER.search(lines, first.start, first.end):
            return False
        return bool(label and earlier) and label != earlier

    def _is_cited(self, candidate: Marker | Block) -> bool:
        """Return True if a decision is in a block quotation that is not itself announced: "Final Decision:\\n> ..."."""
        begin = self.marked.lines.rfind("\n", 0, candidate.start) + 1
        if not self.marked.lines[begin : begin + 8].lstrip(" ").startswith(">"):
            return False
        before = bisect_left(self.marked.markers, begin, key=lambda marker: marker.limit)
        return before == 0 or bool(self.marked.lines[self.marked.markers[before - 1].end : begin].strip())

    def read_unannounced(self) -> Reading | None:
        """Return the reading of a decision without a marker, None if there is none."""
        blocks = [block for block in self.marked.blocks if not is_reported(self.marked, block.start)]
        for block in reversed(blocks):
            self.start = block.start
            if (reading := self._read_answers_by_name(block)) is not None:
                return reading
        self.start = 0
        if self.kind == "rating":
            for find in (unmarked_ratings, ratings_in_sentences):
                rated, end = find(self.marked, self.codebook, self.names)
                if (
                    end >= 0
                    and not (self.cut and end >= len(self.marked.text))
                    and (reading := self._reading_if_all_rated(rated, end))
                ):
                    return reading
            return None
        return self._read_unmarked_choice() if self.kind == "choice" else self._read_unmarked_labels()

    def read_undecided(self) -> Reading | None:
        """Return the reading of a reply that leaves everything open and decides nothing else."""
        if self.open and (self.kind == "choice" or self.open.keys() >= set(self.items)):
            return Reading(undecided=dict.fromkeys(self.items, LEFT_OPEN))
        return None

    def _find_left_open(self) -> dict[str, str]:
        """Return the labels named on the last ``Undecided:`` lines, with the reason."""
        left_open: dict[str, str] = {}
        marker_below: Marker | None = None
        for marker in reversed(self.marked.undecided):
            line_end = self.marked.line_end(marker.end)
            if marker_below is not None and self.marked.lines[line_end : marker_below.start].strip(" \n>#-+•*_"):
                break
            left_open |= dict.fromkeys(self._mentioned(self.marked.text[marker.end : marker.limit]), LEFT_OPEN)
            marker_below = marker
        return left_open

    @cached_property
    def _first_mention(self) -> int:
        mentions = self.names.mentions(self.marked.text)
        return mentions[0].start if mentions else len(self.marked.text)

    def _mentioned(self, text: str) -> list[str]:
        return [mention.item for mention in self.names.mentions(text)]

    def _missing(self, decided: Iterable[str]) -> list[str]:
        known = {*decided, *self.open}
        return [label.name for label in self.codebook.labels if label.id not in known]

    # Decisions on several labels

    def _read_marker(self, marker: Marker) -> Reading | None:
        """Return the reading of what a marker announces, or None if the sentence is not a decision."""
        start = self.marked.past_marker(marker.end, marker.limit)
        if (block := self._block_at(start)) is not None and self.kind != "choice":
            if block.error or self.kind == "rating":
                return self._read_block(block)
            return self._read_answers_by_name(block)
        if self.kind == "rating":
            ratings, end, complete = ratings_of(self.marked, marker, self.codebook, self.names, self.open)
            if self.cut and not complete:
                raise Unreadable(CUT)
            self._check_ratings(ratings, marker.end, end)
            return self._ratings_reading(ratings)
        if self.kind == "choice":
            return self._read_marked_choice(marker, start)
        return self._read_marked_labels(marker, start)

    def _block_at(self, start: int) -> Block | None:
        """Return the JSON that follows a position directly, None if other words do."""
        for block in self.marked.blocks:
            words_between = self.marked.text[start : block.start]
            if block.start >= start and not CONTENT.search(words_between.replace("json", "")):
                return block
        return None

    def _read_marked_labels(self, marker: Marker, start: int) -> Reading | None:
        text = self.marked.text
        labels_meant = marker.kind == "aspects" or start > marker.end
        statements = Statements(self.names, all_meant=labels_meant and self._first_mention >= marker.start)
        try:
            list_meant = labels_meant or _PLURAL.search(text, marker.start, start) is not None
            end = self._read_lines(statements, start, marker.limit, list_meant=list_meant)
        except Unreadable as error:
            if marker.plain and not statements.values and not _names_outside(text[marker.end : marker.limit], error):
                return None  # "The aspects present in this review are well supported" is prose
            if self.cut and self.marked.line_end(marker.limit) >= len(text):
                raise Unreadable(CUT) from error
            raise
        if self.cut and (end is None or end >= len(text) or statements.unfinished):
            raise Unreadable(CUT)
        end = len(text) if end is None else end
        check_withdrawn(self.marked.lines[start:end])
        reading = self._labels_reading(statements, end)
        self.start = start  # the marker may have the word of a label
        return reading

    def _read_lines(self, statements: Statements, start: int, limit: int, *, list_meant: bool) -> int | None:
        """Read the lines that a marker announces; return where they end, None if they may go on after the text.

        They are the rest of the marker's line, continued while it ends with a comma, or else the list below it. With
        ``list_meant`` the marker asks for a list of labels, so that "N/A" is none.
        """
        next_marker = min((m.start for m in self.marked.markers if m.start >= limit), default=len(self.marked.text))
        first_line = split_ordinals(self.marked.text[start:limit], self.names)
        if _EMPTY_LIST.match(first_line) or (list_meant and self._is_not_applicable(first_line)):
            statements.none = True
            return limit
        is_whole_line = limit >= self.marked.line_end(start)
        if CONTENT.search(first_line):
            end = limit
            try:
                stated = statements.read(_unwrapped(first_line))
            except Unreadable:
                remark = None if self.cut else _REMARK.search(first_line)
                if remark is None or not statements.read(first_line[: remark.start()]):
                    raise
                return start + remark.end()
            for line in self.marked.statement_lines(self.marked.line_end(limit) + 1, next_marker):
                if not statements.unfinished or line.blank:
                    break
                stated, end = statements.read(line.text), line.end
            if not stated:
                raise self._unreadable_words(first_line)
            if not is_whole_line or not statements.headed or statements.heading == "unknown":
                return end
            limit = self.marked.line_end(limit)
        elif not is_whole_line:
            return limit
        return self._read_list_below(statements, limit + 1, next_marker)

    def _is_not_applicable(self, words: str) -> bool:
        """Return True if words are "N/A", with a comment at most, and no label has such a name."""
        found = _NOT_APPLICABLE.match(words)
        if found is None or self._mentioned(words) or any(map(self.names.find, ("not applicable", "n/a", "na"))):
            return False
        comment = words[found.end() :]
        return not _NO_TEXT.search(comment) and is_comment(comment, self.names, implicit=False)

    def _read_list_below(self, statements: Statements, start: int, next_marker: int) -> int | None:
        """Read the list from ``start`` on, at most up to the next marker; return as ``_read_lines``."""
        begun, bullets, depth, end = bool(statements.values), False, 0, start
        for line in self.marked.statement_lines(start, next_marker):
            if line.blank:
                if begun and not bullets and not statements.headed:
                    return line.end
                continue
            text = _CITATION.sub("", line.text)
            bullet = BULLET.match(text)
            indent = len(bullet["indent"] if bullet else re.match(r"[ \t]*", text)[0])  # type: ignore[index]
            if begun and bullets and indent > depth:
                continue  # explains the bullet above
            is_table_row = text.count("|") > 1
            try:
                stated = statements.read(_unwrapped(text))
            except Unreadable:
                if begun and not bullet and self._label_at_start(text) is None:
                    return line.start
                raise
            if stated:
                if bullet and not begun:
                    bullets, depth = True, indent
                begun, end = True, line.end
            elif bullet or not (begun or is_table_row or text.rstrip(" *_").endswith(":")):
                foreign = self._unreadable_words(without_bullet(text))
                if not begun or foreign.unknown:
                    raise foreign
                return line.start
            elif begun and not is_table_row:
                return line.start
        may_go_on = begun and (bullets or statements.headed or end >= len(self.marked.text))
        return end if next_marker < len(self.marked.text) or (begun and not may_go_on) else None

    def _label_at_start(self, text: str) -> str | None:
        """Return the label with whose name a line starts."""
        named = self.names.at(fold(text.lstrip(" \t>*_#`\"'“")), 0)
        return named[0] if named else None

    def _unreadable_words(self, words: str) -> Unreadable:
        """Return the exception for words that state nothing about any label."""
        return residue(words, unknown_names(tokenise(words, self.names), words))

    def _labels_reading(self, statements: Statements, end: int) -> Reading:
        """Return the reading of statements on labels: those not named are absent if any is present, or none is.

        The text from ``end`` on may not state anything else.
        """
        decided = {item: True for item, values in statements.values.items() if values == {True}}
        check_lines(self.marked, self.start, end, decided, self.names, undecided=self.open)
        check_following(self.marked.lines[end:], decided, self.kind, self.names)
        if statements.contradicted:
            raise Unreadable(f"the decision says different things about {self._quoted(statements.contradicted)}")
        values = {item: next(iter(given)) for item, given in statements.values.items()}
        present = [item for item, value in values.items() if value]
        if statements.none and present:
            raise Unreadable(f"the decision says none and also names {self._quoted(present)}")
        if not present and not statements.none and self._missing(values):
            raise Unreadable("the decision names no label that is present and does not say none")
        reasons = dict.fromkeys((item for item, value in values.items() if value is None), LEFT_OPEN) | self.open
        return Reading(
            values={item: bool(values.get(item)) for item in self.items if item not in reasons},
            undecided={item: reasons[item] for item in self.items if item in reasons},
        )

    def _quoted(self, items: Iterable[str]) -> str:
        return quoted_names(self.names.written(item) for item in items)

    def _read_unmarked_labels(self) -> Reading | None:
        headings = [m for m in self.marked.weak if m.kind == "heading" and not is_reported(self.marked, m.start)]
        if len(headings) == 1 and (reading := self._read_marked_labels(headings[0], headings[0].end)) is not None:
            return reading
        statements = Statements(self.names)
        prose = leftover = end = 0
        is_first_line = False  # the only statement is the first line
        earlier: Set[str] = set()
        unknown: dict[str, None] = {}
        for line in self.marked.statement_lines(0):
            if line.blank:
                continue
            text = _unwrapped(line.text)
            had_answers = bool(statements.explicit)
            try:
                stated = statements.read(text)
            except Unreadable:
                leftover += sole_answer(text, self.names) != "none" or bool(self._mentioned(text))
                continue
            if not stated:
                prose += 1
                name, _, answer = without_bullet(text).partition(":")
                if had_answers and 0 < len(name.split()) < 5 and isinstance(sole_answer(answer, self.names), bool):
                    unknown.setdefault(name.strip(" *_#"))
                continue
            if is_reported(self.marked, line.start, denied=False) or is_anothers(line.text):
                return None
            if not had_answers and statements.explicit:  # what came before the first answer is reasoning
                earlier, statements.values = statements.values.keys(), statements.line_values
            title = line.text.lstrip().startswith(("#", "*", "_")) and len(statements.values) == 1
            is_first_line = not (prose or leftover or end or title)
            leftover += statements.blank
            end = line.end
        if not (statements.values or statements.none):
            return self._read_sole_list()
        if self.cut and end >= len(self.marked.text):
            return None
        if unknown and len(statements.explicit) > 1:
            raise _outside_codebook(unknown)
        missing = self._missing(statements.values)
        leftover += len(earlier - statements.values.keys())
        if bool(statements.explicit) and statements.explicit >= statements.values.keys():
            values_by_item = list(statements.values.values())
            is_complete = statements.contrasted or (statements.headed and {True} in values_by_item)
            if missing and (statements.answered or {False} in values_by_item) and not is_complete:
                raise Unreadable(f"it answers label by label, but not for {quoted_names(missing)}")
            return None if missing and leftover else self._labels_reading(statements, end)
        is_list_before_text = is_first_line and re.match(r"[^\S\n]*\n[^\S\n]*\n", self.marked.lines[end:])
        if self.cut or ((prose or leftover) and not is_list_before_text):
            return None
        return self._labels_reading(statements, end)

    def _read_sole_list(self) -> Reading | None:
        """Return the reading of a reply that names labels only in one sentence like "The text mentions A and B"."""
        lists = [m for m in self.marked.weak if m.kind == "list" and not is_reported(self.marked, m.start)]
        if len(lists) != 1:
            return None
        reading = None
        with suppress(Unreadable):
            reading = self._read_marked_labels(lists[0], lists[0].end)
        mentioned = self._mentioned(self.marked.text)
        return reading if reading is not None and all(reading.values.get(item) is True for item in mentioned) else None

    # Decisions for one label

    def _read_marked_choice(self, marker: Marker, start: int) -> Reading | None:
        text, limit = self.marked.text, marker.limit
        if text.startswith("\\boxed", marker.start):
            limit = min(x for x in (text.find("}", start), limit) if x >= 0)
        elif not CONTENT.search(self.marked.lines, start, limit):
            if limit < self.marked.line_end(start):
                return None
            line = next((line for line in self.marked.statement_lines(limit + 1) if not line.blank), None)
            if line is None:
                raise Unreadable(CUT if self.cut else NO_CHOICE)
            start, limit = line.end - len(without_bullet(_CITATION.sub("", line.text))), line.end
        if self.cut and limit >= len(text):
            raise Unreadable(CUT)
        item = read_choice(_unwrapped(text[start:limit]), self.names, codes=True)
        if item is not None:
            self.start = start
            return self._choice_reading(item, end=limit)
        if _is_question(text[start:limit]) or (marker.plain and marker.kind != "label"):
            return None
        words = text[start:limit].strip(" *_#\"'`.,;:()[]\n")
        if self._mentioned(words):
            raise residue(words)
        if re.match(r"(?:none|no label)\b|$", words, re.I):
            raise Unreadable(NO_CHOICE)
        raise self._unreadable_words(words)

    def _choice_reading(self, *items: str, end: int) -> Reading:
        """Return the reading of the one item chosen; the text from ``end`` on may not speak for another."""
        if len(items) != 1:
            raise Unreadable(f"the decision names more than one label: {self._quoted(items)}" if items else NO_CHOICE)
        check_comment(self.marked.lines[end : self.marked.line_end(end)], self.names)
        check_following(self.marked.lines[end:], {items[0]: True}, self.kind, self.names)
        if items[0] in self.open:
            return Reading(undecided={CHOICE_ITEM: LEFT_OPEN})
        return Reading(values={CHOICE_ITEM: items[0]})

    def _read_unmarked_choice(self) -> Reading | None:
        """Return the label of answers label by label, or else that of a line."""
        lines = [line for line in self.marked.statement_lines(0) if not line.blank]
        statements = Statements(self.names)
        for line in lines:
            with suppress(Unreadable):
                if statements.read(line.text) and is_reported(self.marked, line.start):
                    return None
        if (
            statements.explicit
            and len(self.codebook.labels) > 1
            and not (self._missing(statements.explicit) or statements.contradicted)
        ):
            present = (item for item, values in statements.values.items() if values == {True})
            return self._choice_reading(*present, end=self.marked.text.rfind("\n") + 1)
        return self._read_choice_of_line(lines)

    def _read_choice_of_line(self, lines: Sequence[Line]) -> Reading | None:
        """Return the label of the first or the last line, or of a heading; several labels are an error."""
        announcements = [m for m in self.marked.weak if m.kind != "list" and not is_reported(self.marked, m.start)]
        headings = [marker for marker in announcements if marker.kind == "heading"]
        chosen: dict[str, None] = {}
        others: dict[str, None] = {}
        end = 0
        for number, line in enumerate(lines):
            if self.cut and line.end >= len(self.marked.text):
                continue
            citation = _CITATION.match(line.text)
            if citation and not any(lines[number - 1].start <= heading.start < line.start for heading in headings):
                continue
            markers = announcements if number in (0, len(lines) - 1) else headings
            markers_inside = [marker for marker in markers if line.start <= marker.start < line.end]
            starts = [(marker.end, marker.kind == "heading") for marker in markers_inside]
            if len(starts) > _MOST_ANNOUNCED:
                raise Unreadable("it announces a decision again and again on one line")
            words = without_bullet(line.text[citation.end() :] if citation else line.text)
            tokens = tokenise(words, self.names)
            starts_with_name = len(tokens) > 1 and tokens[0].kind == "name"
            is_prose = starts_with_name and (tokens[1].kind == "word" or tokens[1].text == "the")
            # "Both A and B are plausible, but B is the better fit": what comes before "but" is a concession
            is_concession = any(
                "but " in self.marked.lines[max(m.start - 5, line.start) : m.end].casefold() for m in markers_inside
            )
            is_name = self.names.find(words.strip(" .*_`\"'()[]#>-")) is not None
            is_alone = is_name or (number == 0 and not is_prose and not is_concession)
            if is_alone and not (is_reported(self.marked, line.start) or is_inside(line.start, self.marked.quoted)):
                starts.insert(0, (line.end - len(words) if words.strip() else line.start, True))
            elif not starts and starts_with_name and tokens[1].kind == "link":
                others.setdefault(tokens[0].item)  # "- Hawkish: never"
            for begin, codes in starts:
                text = self.marked.text[begin : line.end]
                item = read_choice(_unwrapped(text), self.names, codes=codes)
                if item is not None:
                    if _is_question(text):
                        return None
                    self.start = self.start if chosen else begin
                    chosen[item], end = None, end or line.end
                    break
        return self._choice_reading(*(chosen | others), end=end) if chosen else None

    # JSON

    def _read_block(self, block: Block) -> Reading:
        """Return the reading of an object with a decision's key, or of announced ratings."""
        if block.error:
            raise Unreadable(CUT if self.cut else f"the JSON cannot be read ({block.error})")
        self._check_comments(block, implicit=True)
        value = lookup(block.data, *_KEYS[self.kind])
        if self.kind == "rating":
            rated = ratings_in(block.data if value is None else value, self.codebook, self.names)
            self._check_ratings(rated, block.end, block.end)
            return self._ratings_reading(rated)
        if self.kind == "choice":
            others = (lookup(block.data, key) for key in (*_KEYS["choice"], *CHOSEN))
            if len({label_named(entry_name(other), self.names) for other in others} - {None}) > 1:
                raise Unreadable(NO_CHOICE)
            return self._read_json_choice(value if isinstance(value, list) else [value], block.end)
        return self._read_json_labels(value, lookup(block.data, *ABSENT), block.end)

    def _read_answers_by_name(self, block: Block) -> Reading | None:
        """Return the reading of an object {name: answer}, or with names under another key than ``labels``."""
        self._check_comments(block, implicit=False)
        data = by_name(block.data, self.names)
        known = {key: value for key, value in data.items() if self.names.find(key) is not None}
        if self.kind == "rating":
            if not known and len(self.items) == 1:
                known = {self.codebook.labels[0].name: lookup(block.data, "rating", "score")}
            numbers = block.data if isinstance(block.data, list) else known
            if not numbers:
                return None
            return self._reading_if_all_rated(ratings_in(numbers, self.codebook, self.names), block.end)
        if known:
            answers = {self.names.find(key) or "": answer_of(value, self.names) for key, value in known.items()}
            if not any(isinstance(answer, bool) for answer in answers.values()):
                return None
            if claims := [key for key in data if key not in known and is_claim(data[key], self.names)]:
                raise _outside_codebook(claims)
            if self.kind == "choice":
                chosen = [item for item, answer in answers.items() if answer is True]
                if len(chosen) != 1 or "none" in answers.values():
                    raise Unreadable(NO_CHOICE)
                return self._choice_reading(*chosen, end=block.end)
            if missing := self._missing(answers):
                raise Unreadable(f"it answers label by label, but not for {quoted_names(missing)}")
            return self._read_json_labels(known, None, block.end)
        if self.kind == "choice":
            value = lookup(block.data, *CHOSEN)
            return self._read_json_choice([value], block.end) if label_named(value, self.names) is not None else None
        listed = lookup(block.data, *PRESENT, *CHOSEN)
        if isinstance(listed, dict):
            listed = lookup(listed, *PRESENT)
        if isinstance(listed, str):
            if stated := self._stated_in(listed):
                return self._read_json_labels(stated, lookup(block.data, *ABSENT), block.end)
            listed = re.split(r"\s*[,;]\s*", listed.strip())
        if not isinstance(listed, list) or any(not isinstance(e, str) or self.names.find(e) is None for e in listed):
            return None
        return self._read_json_labels(listed, lookup(block.data, *ABSENT), block.end)

    def _stated_in(self, value: str) -> list[str]:
        """Return the names of the labels that a JSON value announces: "The present aspects are: A, B"."""
        reader = _Reader(parse_markers(value, self.codebook), self.codebook, cut=False)
        reading = reader.read_announced()
        return [] if reading is None else [self.names.written(item) for item in reading.present]

    def _check_comments(self, block: Block, *, implicit: bool) -> None:
        """Check the comments of an object, and note the labels that it leaves open."""
        if block.comments and not is_comment(block.comments, self.names, implicit=implicit):
            raise residue(block.comments)
        keys = (key for key in UNDECIDED if self.names.find(key) is None)
        for name, given in entries(lookup(block.data, *keys)):
            reason = given.get("reason") if isinstance(given, dict) else given
            reason = reason if isinstance(reason, str) and reason else LEFT_OPEN
            self.open |= dict.fromkeys(self._mentioned(str(name)), reason)

    def _read_json_choice(self, values: list[Any], end: int) -> Reading:
        named = [entry_name(value) for value in values]
        if unknown := [str(value if name is None else name) for value, name in zip(values, named, strict=True)
                       if label_named(name, self.names) is None]:  # fmt: skip
            raise residue(unknown[0], unknown)
        return self._choice_reading(
            *dict.fromkeys(item for name in named if (item := label_named(name, self.names))), end=end
        )

    def _read_json_labels(self, listed: Any, absent: Any, end: int) -> Reading:
        statements, foreign_names, none = Statements(self.names), [], False
        sides = [(side, *entry) for side, value in ((True, listed), (False, absent)) for entry in entries(value)]
        for side, name, answer_data in sides:
            answer = answer_of(answer_data, self.names)
            if answer == "none":
                raise residue(str(name))
            item = self.names.find(name) if isinstance(name, str) else None
            name_statements = Statements(self.names)
            if item is not None:
                name_statements.values = {item: {True}}
            else:
                try:
                    is_read = (
                        isinstance(name, str)
                        and name_statements.read(name)
                        and not (name_statements.none and name_statements.values)
                    )
                except Unreadable:
                    is_read = False
                if not is_read:
                    foreign_names.append(str(name))
            none = none or name_statements.none
            for item_named, values in name_statements.values.items():
                stated = {None if None in (answer, value) else (value == answer) == side for value in values}
                statements.values.setdefault(item_named, set()).update(stated)
        if foreign_names:
            raise residue(foreign_names[0], foreign_names)
        any_present = any(True in values for values in statements.values.values())
        statements.none = none or not any_present  # an empty list is an answer
        return self._labels_reading(statements, end)

    # Ratings

    def _reading_if_all_rated(self, rated: Reading, end: int) -> Reading | None:
        if not rated.values or self._missing({**rated.values, **rated.undecided}):
            return None
        self._check_ratings(rated, self.start, end)
        return self._ratings_reading(rated)

    def _check_ratings(self, rated: Reading, start: int, end: int) -> None:
        check_rating_lines(self.marked.lines[start:end], rated.values, self.names)
        check_following(self.marked.lines[end:], rated.values, self.kind, self.names)

    def _ratings_reading(self, rated: Reading) -> Reading:
        unknown = _storable(rated.unknown)
        values = {item: rated.values[item] for item in self.items if item in rated.values and item not in self.open}
        if not values and self.open.keys() < set(self.items):
            reasons = [f"{self.names.written(item)}: {reason}" for item, reason in rated.undecided.items()]
            outside = f"it names only what is not in the codebook: {quoted_names(unknown)}" if unknown else ""
            raise Unreadable(
                f"no dimension has a rating ({'; '.join(reasons[:5]) or outside or 'none is named'})", unknown
            )
        reasons_by_item = {**dict.fromkeys(self.items, "no rating given"), **rated.undecided, **self.open}
        return Reading(values, {item: reasons_by_item[item] for item in self.items if item not in values}, unknown)


def _unwrapped(text: str) -> str:
    """Return a body without a quotation mark, bracket or emphasis around the whole of it."""
    bare = text.strip().strip("*_`").strip()
    inner = bare.rstrip(".")
    for opening, closing in ('""', "“”", "«»", "„“", "()", "{}"):
        around = len(bare) > 1 and bare[0] == opening and inner[-1:] == closing
        if around and bare.count(closing) == (2 if opening == closing else 1):
            return inner[1:-1]
    return text


def _names_outside(text: str, failure: Unreadable) -> bool:
    """Return True if words after a plain marker are names outside the codebook and not the rest of a sentence."""
    return text.lstrip(" *`_").startswith("#") or (
        bool(failure.unknown) and all(name[:1].isupper() for name in failure.unknown)
    )


def _is_question(text: str) -> bool:
    return text.rstrip(" *_\"”'").endswith("?")


def _outside_codebook(names: Iterable[str]) -> Unreadable:
    names = tuple(names)
    return Unreadable(f"it answers for what is not in the codebook: {quoted_names(names)}", names)


def _storable(names: Iterable[str]) -> tuple[str, ...]:
    """Return names without lone surrogates, which JSON can contain and the store refuses."""
    return tuple(dict.fromkeys(storable(name[:UNKNOWN_CHARACTERS]) for name in names))[:UNKNOWN_NAMES]
