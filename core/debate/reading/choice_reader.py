"""Readings of a decision for one label: announced, as the first or last line, label by label, and JSON."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from operator import attrgetter
from typing import Any

from core.codebook import CHOICE_ITEM
from core.debate.reading.base_reader import CITATION, CUT, ReplyReader, unwrapped
from core.debate.reading.choice_grammar import read_choice
from core.debate.reading.contradictions import check_comment, check_following, is_anothers
from core.debate.reading.decision_markers import CONTENT, LOOK_BACK, Marker, ReplyLine, is_inside, is_reported
from core.debate.reading.json_answers import CHOSEN, label_named
from core.debate.reading.json_blocks import Block, entry_name, lookup
from core.debate.reading.labels_grammar import Statements, Unreadable, residue, without_bullet
from core.debate.reading.tokens import LEFT_OPEN, NO_ANSWER, tokenise
from core.debate.turns import Reading

NO_CHOICE = "the decision does not choose one label"
_START = attrgetter("start")
_HOWEVER = re.compile(r"(?:^|[.!;]) *(?:however|but),? *$", re.IGNORECASE)
_PLACE = re.compile(r"(?:^|[\s(])(\d{1,2})\s?[.):][\s*_`\"']*\Z")
"""The number of an option before its name."""
_ENTRY_END = re.compile(r"[^\S\n]*+[*_`\"')\]]*+[^\S\n]*+(?:\Z|[\n.,;:(|–—]|- )")
"""The end of an entry in a list of options: "2. Low", but not "2. Low urgency"."""
_MAX_ANNOUNCED = 50
"""Announcements on one line. A model that repeats itself makes more; each is read to the end of its line."""


class ChoiceReader(ReplyReader):
    """A reading of a decision on a codebook with one label per document."""

    marker_kinds = ("aspects", "label", "revised", "final")
    keys = ("label", "aspect", "labels", "aspects")

    def read_undecided(self) -> Reading | None:
        """Return the reading of a reply that leaves the label open and chooses none."""
        words = (
            self.marked.text[marker.end : marker.limit].strip(" .*_").casefold() for marker in self.marked.undecided
        )
        is_open = self.open or any(word not in ("", "no", "none", "nothing") for word in words)
        return Reading(undecided={CHOICE_ITEM: LEFT_OPEN}) if is_open else None

    def _check_candidates(self, candidates: Sequence[Marker | Block]) -> None:
        super()._check_candidates(candidates)
        if candidates and self._is_contradicting(candidates):
            raise Unreadable("it announces different decisions without saying which one is its own")

    def _is_contradicting(self, candidates: Sequence[Marker | Block]) -> bool:
        """Return True if the last decision corrects another one before it on its line.

        "The label is A. The right label would be B.", "A. However, the correct label is B."
        """
        lines, last = self.marked.lines, candidates[-1]
        if not isinstance(last, Marker):
            return False
        begin = self.marked.line_start(last.start)
        before = lines[max(begin, last.start - LOOK_BACK) : last.start]
        however = _HOWEVER.search(before)
        label = set(self._mentioned(self.marked.text[last.end : last.limit]))
        if however and self.names.find(before[: however.start()].strip(" .!")) not in (None, *label):
            return True
        first = candidates[-2] if len(candidates) > 1 else None
        if not isinstance(first, Marker) or first.start < begin:
            return False
        if not however and "would be" not in lines[last.start : last.end]:
            return False
        statement = self.marked.text[first.end : first.limit]
        earlier = set(self._mentioned(statement))
        return bool(earlier) and label != earlier and not is_anothers(statement)

    def _read_marker(self, marker: Marker) -> Reading | None:
        text, limit = self.marked.text, marker.limit
        start = self.marked.past_marker(marker.end, limit)
        if text.startswith("\\boxed", marker.start):
            limit = min(x for x in (text.find("}", start), limit) if x >= 0)
        elif not CONTENT.search(self.marked.lines, start, limit):
            if limit < self.marked.line_end(start):
                return None
            line = next((line for line in self.marked.statement_lines(limit + 1) if not line.blank), None)
            if line is None:
                raise Unreadable(CUT if self.cut else NO_CHOICE)
            start, limit = line.end - len(without_bullet(CITATION.sub("", line.text))), line.end
        if self.cut and limit >= len(text):
            raise Unreadable(CUT)
        item = read_choice(unwrapped(text[start:limit]), self.names, codes=self._has_codes)
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

    @cached_property
    def _has_codes(self) -> bool:
        """False if the reply numbers the labels otherwise than the codebook: "1. A", where 1 is the code of B."""
        text = self.marked.text
        entries, options, renumbered = set[str](), set[str](), set[str]()
        for mention in self.names.mentions(text):
            if place := _PLACE.search(text, max(mention.start - LOOK_BACK, 0), mention.start):
                options.add(mention.item)
                if _ENTRY_END.match(text, mention.end):
                    entries.add(mention.item)
                if self.names.find_code(float(place[1])) != mention.item:
                    renumbered.add(mention.item)
        # "1. Low urgency" is the number of an option only in a list of all labels
        return renumbered.isdisjoint(options if len(options) == len(self.codebook.labels) else entries)

    def _read_value(self, block: Block, value: Any) -> Reading:
        alternatives = (lookup(block.data, key) for key in (*self.keys, *CHOSEN, "name", "label_name", "correct_label"))
        if len({label_named(entry_name(other), self.names) for other in alternatives} - {None}) > 1:
            raise Unreadable(NO_CHOICE)
        return self._read_json_choice(value, block)

    def _read_answers_by_name(self, block: Block) -> Reading | None:
        if stated := self._stated_by_name(block):
            answers = self._answers(block, stated)
            if not answers:
                return None
            chosen_items = [item for item, answer in answers.items() if answer is True]
            if len(chosen_items) != 1 or NO_ANSWER in answers.values():
                raise Unreadable(NO_CHOICE)
            self._check_other_keys(block, stated, {*chosen_items})
            return self._choice_reading(*chosen_items, end=block.end)
        value = lookup(block.data, *CHOSEN)
        return self._read_json_choice(value, block) if label_named(value, self.names) is not None else None

    def _read_unmarked(self) -> Reading | None:
        """Return the label of answers label by label, or else that of a line."""
        lines = [line for line in self.marked.statement_lines(0) if not line.blank]
        statements = Statements(self.names)
        start = end = 0
        for line in lines:
            had_answers = bool(statements.explicit)
            with suppress(Unreadable):
                if statements.read(line.text):
                    start = start if had_answers else line.start
                    end = line.end
                    if is_reported(self.marked, line.start):
                        return None
        if statements.explicit and not (self._missing(statements.explicit) or statements.contradicted):
            present = (item for item, values in statements.values.items() if values == {True})
            reading = self._choice_reading(*present, end=end)
            self.start = start
            return reading
        return self._read_choice_of_line(lines)

    def _read_choice_of_line(self, lines: Sequence[ReplyLine]) -> Reading | None:
        """Return the label of the first or the last line, or of a heading; several labels are an error."""
        announcements = [marker for marker in self.marked.weak if marker.kind != "list"]
        headings = [marker for marker in announcements if marker.kind == "heading"]
        chosen_items: dict[str, None] = {}
        other_items: dict[str, None] = {}
        end = 0
        for number, line in enumerate(lines):
            citation = CITATION.match(line.text)
            is_only_cited = citation and not _between(headings, lines[number - 1].start, line.start)
            if is_only_cited or (self.cut and line.end >= len(self.marked.text)):
                continue
            markers = _between(announcements if number in (0, len(lines) - 1) else headings, line.start, line.end)
            if len(markers) > _MAX_ANNOUNCED:
                raise Unreadable("it announces a decision again and again on one line")
            starts = [(marker.end, marker.kind == "heading") for marker in markers]
            words = without_bullet(line.text[citation.end() :] if citation else line.text)
            tokens = tokenise(words, self.names)
            if [token.kind for token in tokens[:2]] == ["mark", "name"] and tokens[0].value:  # "✅ Dovish"
                words, tokens = words[tokens[1].start :], tokenise(words[tokens[1].start :], self.names)
            kinds = [token.kind for token in tokens[:2]]
            # "Both A and B are plausible, but B is the better fit": what comes before "but" is a concession
            is_concession = any(
                "but " in self.marked.lines[max(m.start - 5, line.start) : m.end].casefold() for m in markers
            )
            is_name = self.names.find(words.strip(" .*_`\"'()[]#>-")) is not None
            is_alone = is_name or (number == 0 and kinds != ["name", "word"] and not is_concession)
            if is_alone and not (is_reported(self.marked, line.start) or is_inside(line.start, self.marked.quoted)):
                starts.insert(0, (line.end - len(words) if words.strip() else line.start, True))
            elif not starts and kinds == ["name", "link"]:
                other_items.setdefault(tokens[0].item)  # "- Hawkish: never"
            for begin, codes in starts:
                text = self.marked.text[begin : line.end]
                item = read_choice(unwrapped(text), self.names, codes=codes and self._has_codes)
                if item is not None:
                    if _is_question(text):
                        return None
                    self.start = self.start if chosen_items else begin
                    chosen_items[item], end = None, end or line.end
                    break
        return self._choice_reading(*(chosen_items | other_items), end=end) if chosen_items else None

    def _read_json_choice(self, decision: Any, block: Block) -> Reading:
        values = decision if isinstance(decision, list) else [decision]
        entry_names = [entry_name(value) for value in values]
        if unknown := [
            str(value if name is None else name)
            for value, name in zip(values, entry_names, strict=True)
            if label_named(name, self.names) is None
        ]:
            raise residue(unknown[0], unknown)
        items = dict.fromkeys(item for name in entry_names if (item := label_named(name, self.names)))
        self._check_other_keys(block, decision, {*items})
        return self._choice_reading(*items, end=block.end)

    def _choice_reading(self, *items: str, end: int) -> Reading:
        """Return the reading of the one item chosen; the text from ``end`` on may not support another."""
        if len(items) != 1:
            raise Unreadable(f"the decision names more than one label: {self._quoted(items)}" if items else NO_CHOICE)
        check_comment(self.marked.lines[end : self.marked.line_end(end)], self.names)
        check_following(self.marked.lines[end:], {items[0]: True}, "choice", self.names)
        self._check_later_lists(end, {*items})
        if items[0] in self.open:
            return Reading(undecided={CHOICE_ITEM: LEFT_OPEN})
        return Reading(values={CHOICE_ITEM: items[0]})


def _between(markers: Sequence[Marker], start: int, end: int) -> Sequence[Marker]:
    """Return the markers in a range. The markers are in order."""
    return markers[bisect_left(markers, start, key=_START) : bisect_left(markers, end, key=_START)]


def _is_question(text: str) -> bool:
    return text.rstrip(" *_\"”'").endswith("?")
