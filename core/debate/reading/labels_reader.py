"""Readings of decisions on several labels: announced lists, lists below a marker, answers label by label, and JSON."""

from __future__ import annotations

import re
from collections.abc import Set
from contextlib import suppress
from functools import cached_property
from typing import Any

from core.debate.reading.base_reader import CITATION, CUT, ReplyReader, outside_codebook, unwrapped
from core.debate.reading.contradictions import check_following, check_lines, check_withdrawn, is_anothers
from core.debate.reading.decision_markers import CONTENT, Marker, is_reported, parse_markers
from core.debate.reading.json_answers import ABSENT, CHOSEN, PRESENT, answer_of
from core.debate.reading.json_blocks import Block, entries, entry_name, lookup
from core.debate.reading.label_names import split_ordinals
from core.debate.reading.labels_grammar import (
    BULLET,
    Statements,
    Unreadable,
    is_comment,
    quoted_names,
    residue,
    sole_answer,
    without_bullet,
)
from core.debate.reading.normalise import fold
from core.debate.reading.tokens import ANSWERS, LABEL_NOUN, LABEL_NOUN_PLURAL, LEFT_OPEN, NO_ANSWER, NUMERALS, tokenise
from core.debate.turns import Reading

_REMARK = re.compile(r"(?<![.!?])[.!]\s+(?=[^\W\d_a-z])")
"""The end of a decision before another sentence on its line."""
_EMPTY_LIST = re.compile(r"[\s*_`]*(?:\[\s*\]|\{\s*\}|∅)[\s*_`.]*$")
_COUNTED = re.compile(rf"[\s*_]*({'|'.join(NUMERALS[1:])}) {LABEL_NOUN}\s*:", re.IGNORECASE)
_PLURAL = re.compile(rf"\b(?:present|{LABEL_NOUN_PLURAL})\b", re.IGNORECASE)
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


class LabelsReader(ReplyReader):
    """A reading of a decision on a multilabel codebook."""

    marker_kinds = ("aspects", "label", "revised", "final")
    keys = ("labels", "aspects")

    def _read_marker(self, marker: Marker) -> Reading | None:
        start = self.marked.past_marker(marker.end, marker.limit)
        if (block := self._block_at(start)) is not None:
            return self._read_answers_by_name(block)
        return self._read_marked_labels(marker, start)

    def _read_value(self, block: Block, value: Any) -> Reading:
        return self._read_json_labels(value, lookup(block.data, *ABSENT), block)

    def _read_answers_by_name(self, block: Block) -> Reading | None:
        if named_answers := self._stated_by_name(block):
            answers = self._answers(block, named_answers)
            if not answers:
                return None
            if missing := self._missing(answers):
                raise Unreadable(f"it answers label by label, but not for {quoted_names(missing)}")
            return self._read_json_labels(named_answers, None, block)
        present = lookup(block.data, *PRESENT, *CHOSEN)
        if self._is_answer(present):
            return self._read_json_labels({self.codebook.labels[0].name: present}, None, block)
        if isinstance(present, dict):
            present = lookup(present, *PRESENT)
        if isinstance(present, str):
            present = self._stated_in(present) or re.split(r"\s*[,;]\s*", present.strip())
        if isinstance(present, list) and [*map(str.casefold, map(str, present))] == ["none"]:
            present = []
        if not isinstance(present, list):
            return None
        may_be_objects = present is lookup(block.data, *PRESENT, "final_decision", "final_answer")
        listed = map(entry_name, present) if may_be_objects else present
        if any(not isinstance(name, str) or self.names.find(name) is None for name in listed):
            return None
        return self._read_json_labels(present, lookup(block.data, *ABSENT), block)

    def _read_unmarked(self) -> Reading | None:
        headings = [marker for marker in self.marked.weak if marker.kind == "heading" and not self._is_name(marker)]
        if len(headings) == 1 and (reading := self._read_marked_labels(headings[0], headings[0].end)) is not None:
            return reading
        answer = self.marked.text.strip().removeprefix("```json").strip("`").strip()
        if answer == "[]" or (self._is_answer(answer) and len(tokenise(answer.rstrip("."), self.names)) == 1):
            statements = Statements(self.names)
            end = len(self.marked.text)
            self._read_lines(statements, self.marked.text.index(answer), end, list_meant=True)
            return None if self.cut else self._labels_reading(statements, end)
        return self._read_statements()

    def _read_statements(self) -> Reading | None:
        """Return the reading of the statements of a reply's lines, None if a line only reports those of others."""
        statements = Statements(self.names)
        # names with an answer that are not in the codebook; lines with no label or answer; others that are not read
        unknown: dict[str, None] = {}
        has_prose = unread = is_first = False
        start = end = 0
        earlier: Set[str] = set()
        for line in self.marked.statement_lines(0):
            if line.blank:
                continue
            text = unwrapped(line.text)
            had_answers = bool(statements.explicit)
            try:
                stated = statements.read(text)
            except Unreadable:
                unread |= sole_answer(text, self.names) != NO_ANSWER or bool(self._mentioned(text))
                continue
            if not stated:
                has_prose = True
                name, _, answer = without_bullet(text).partition(":")
                if had_answers and 0 < len(name.split()) < 5 and isinstance(sole_answer(answer, self.names), bool):
                    unknown.setdefault(name.strip(" *_#"))
                continue
            if is_reported(self.marked, line.start, denied=False) or is_anothers(line.text):
                return None
            if not had_answers and statements.explicit:  # what came before the first answer is reasoning
                earlier, statements.values = statements.values.keys(), statements.line_values
                start = line.start
            elif not end:
                start = line.start
            title = line.text.lstrip().startswith(("#", "*", "_")) and len(statements.values) == 1
            is_first = not (has_prose or unread or end or title)
            unread |= statements.blank
            end = line.end
        unread |= not earlier <= statements.values.keys()
        if not (statements.values or statements.none):
            return self._read_sole_list()
        if self.cut and end >= len(self.marked.text):
            return None
        if unknown and len(statements.explicit) > 1:
            raise outside_codebook(unknown)
        missing = self._missing(statements.values)
        if statements.explicit and statements.explicit >= statements.values.keys():
            values_by_item = list(statements.values.values())
            is_complete = statements.contrasted or (statements.headed and {True} in values_by_item)
            if missing and (statements.answered or {False} in values_by_item) and not is_complete:
                raise Unreadable(f"it answers label by label, but not for {quoted_names(missing)}")
            if missing and unread:
                return None
        else:
            is_list_before_text = is_first and re.match(r"[^\S\n]*\n[^\S\n]*\n", self.marked.lines[end:])
            # "Fever: resolved" beside "Pain: absent", or in a list of remarks on every label, may be a yes or a no
            is_survey = not is_first and (bool(statements.explicit) or not missing)
            if self.cut or is_survey or ((has_prose or unread) and not is_list_before_text):
                return None
        reading = self._labels_reading(statements, end)
        self.start = start
        return reading

    @cached_property
    def _first_mention(self) -> int:
        mentions = self.names.mentions(self.marked.text)
        return mentions[0].start if mentions else len(self.marked.text)

    def _read_sole_list(self) -> Reading | None:
        """Return the reading of a reply that names labels only in one sentence like "The text mentions A and B"."""
        lists = [marker for marker in self.marked.weak if marker.kind == "list"]
        if len(lists) != 1:
            return None
        reading = None
        with suppress(Unreadable):
            reading = self._read_marked_labels(lists[0], lists[0].end)
        mentioned = self._mentioned(self.marked.text)
        return reading if reading is not None and all(reading.values.get(item) is True for item in mentioned) else None

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
        counted = _COUNTED.match(first_line)
        if counted and len({*self._mentioned(first_line)}) == NUMERALS.index(counted[1].casefold()):
            start += counted.end()  # "Two aspects: A, B"
            first_line = first_line[counted.end() :]
        if self._is_answer(first_line):
            first_line = f"{self.codebook.labels[0].name}: {first_line.strip(' *_')}"
        if _EMPTY_LIST.match(first_line) or (list_meant and self._is_not_applicable(first_line)):
            statements.none = True
            return limit
        is_whole_line = limit >= self.marked.line_end(start)
        if CONTENT.search(first_line):
            end = limit
            try:
                stated = statements.read(unwrapped(first_line))
            except Unreadable:
                remark = None if self.cut else _REMARK.search(first_line)
                if remark is None or not statements.read(first_line[: remark.start()]):
                    raise
                return limit - len(first_line) + remark.end()
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

    def _is_answer(self, value: Any) -> bool:
        """Return True if a value is a yes or a no and the codebook has one label, which needs no name then."""
        answer = sole_answer(value, self.names) if isinstance(value, str) else value
        tokens = tokenise(value, self.names) if isinstance(value, str) else ()
        is_plain = all(token.value == answer for token in tokens if token.kind in ANSWERS)
        return len(self.items) == 1 and isinstance(answer, bool) and is_plain

    def _is_not_applicable(self, words: str) -> bool:
        """Return True if words are "N/A", with a comment at most, and no label has such a name."""
        match = _NOT_APPLICABLE.match(words)
        if match is None or self._mentioned(words) or any(map(self.names.find, ("not applicable", "n/a", "na"))):
            return False
        comment = words[match.end() :]
        return not _NO_TEXT.search(comment) and is_comment(comment, self.names, implicit=False)

    def _is_name(self, heading: Marker) -> bool:
        """Return True if a heading is a label's name, as in "Results: yes"."""
        words = without_bullet(self.marked.lines[heading.start : heading.end])
        return self.names.find(words.rstrip(" :_=>→-–—")) is not None

    def _read_list_below(self, statements: Statements, start: int, next_marker: int) -> int | None:
        """Read the list from ``start`` on, at most up to the next marker; return as ``_read_lines``."""
        begun, bullets, depth, end = bool(statements.values), False, 0, start
        for line in self.marked.statement_lines(start, next_marker):
            if line.blank:
                if begun and not bullets and not statements.headed:
                    return line.end
                continue
            text = CITATION.sub("", line.text)
            bullet = BULLET.match(text)
            indent = len(bullet["indent"]) if bullet else len(text) - len(text.lstrip(" \t"))
            if begun and bullets and indent > depth:
                continue  # explains the bullet above
            is_table_row = text.count("|") > 1
            try:
                stated = statements.read(unwrapped(text))
            except Unreadable:
                if begun and not bullet and self.names.at(fold(text.lstrip(" \t>*_#`\"'“")), 0) is None:
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

    def _labels_reading(self, statements: Statements, end: int) -> Reading:
        """Return the reading of statements on labels: those not named are absent if any is present, or none is.

        The text from ``end`` on may not state anything else.
        """
        decided = {item: True for item, values in statements.values.items() if values == {True}}
        following = check_lines(self.marked, self.start, end, decided, undecided=self.open)
        check_following(following, decided, "multilabel", self.names)
        if statements.contradicted:
            raise Unreadable(f"the decision says different things about {self._quoted(statements.contradicted)}")
        values = {item: next(iter(item_values)) for item, item_values in statements.values.items()}
        present = [item for item, value in values.items() if value]
        if statements.none and present:
            raise Unreadable(f"the decision says none and also names {self._quoted(present)}")
        if not present and not statements.none and self._missing(values):
            raise Unreadable("the decision names no label that is present and does not say none")
        self._check_later_lists(end, {*present})
        reasons = dict.fromkeys((item for item, value in values.items() if value is None), LEFT_OPEN) | self.open
        return Reading(
            values={item: bool(values.get(item)) for item in self.items if item not in reasons},
            undecided={item: reasons[item] for item in self.items if item in reasons},
        )

    def _stated_in(self, value: str) -> list[str]:
        """Return the names of the labels that a JSON value announces: "The present aspects are: A, B"."""
        reader = LabelsReader(parse_markers(value, self.codebook), cut=False)
        reading = reader.read_announced()
        return [] if reading is None else [self.names.written(item) for item in reading.present]

    def _read_json_labels(self, present: Any, absent: Any, block: Block) -> Reading:
        statements, foreign_names, none = Statements(self.names), [], False
        sides = [(side, *entry) for side, value in ((True, present), (False, absent)) for entry in entries(value)]
        for side, name, answer_data in sides:
            answer = answer_of(answer_data, self.names)
            if answer == NO_ANSWER and isinstance(name, str):
                raise residue(name)
            name_statements = Statements(self.names)
            if item := self.names.find(str(name)):
                name_statements.state(item, True)
            else:
                is_read = False
                with suppress(Unreadable):
                    is_read = isinstance(name, str) and name_statements.read(name)
                if not is_read:
                    foreign_names.append(str(name))
            none = none or name_statements.none
            for item_named, values in name_statements.line_values.items():
                stated = {None if None in (answer, value) else (value == answer) == side for value in values}
                statements.values.setdefault(item_named, set()).update(stated)
        if foreign_names:
            raise residue(foreign_names[0], foreign_names)
        any_present = any(True in values for values in statements.values.values())
        statements.none = none or not any_present  # an empty list is an answer
        reading = self._labels_reading(statements, block.end)
        self._check_other_keys(block, present, {*reading.present})
        return reading


def _names_outside(text: str, failure: Unreadable) -> bool:
    """Return True if words after a plain marker are names outside the codebook and not the rest of a sentence."""
    return text.lstrip(" *`_").startswith("#") or (
        bool(failure.unknown) and all(name[:1].isupper() for name in failure.unknown)
    )
