"""The steps of reading a reply that all kinds of codebook share: which decision counts, and what is left open."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

from core.debate.reading.contradictions import is_mixture
from core.debate.reading.decision_markers import (
    CONTENT,
    DENIED,
    OWN_PART,
    SENTENCE_BREAK,
    MarkedReply,
    Marker,
    is_inside,
    is_reported,
    is_reporting,
    next_document,
)
from core.debate.reading.headings import NEARLY, REJECTING, VERDICT, has, is_aside, is_deciding, is_own, is_quoted
from core.debate.reading.json_answers import (
    DECIDING_KEYS,
    UNDECIDED,
    answer_of,
    by_name,
    is_claim,
    is_earlier_key,
    own_part,
)
from core.debate.reading.json_blocks import Block, entries, entry_name, lookup, nested
from core.debate.reading.labels_grammar import (
    NOT_IN_CODEBOOK,
    Unreadable,
    is_comment,
    quoted_names,
    residue,
    sole_answer,
    unknown_names,
    without_bullet,
)
from core.debate.reading.marker_patterns import MarkerKind
from core.debate.reading.tokens import LEFT_OPEN, UNITS, MaybeAnswer, tokenise
from core.debate.turns import Reading

CUT = "cut by the output limit before the decision was complete"
_KEY = re.compile(r'"([^"\\\n]{1,200})"\s{0,20}:')
_HEADED = re.compile(
    r"[^\w\n]*(?P<heading>\w(?:[^:=→\n\"'“‘„«»]|(?<=\w)'){0,60}?)[\s*_]*(?:[:=→]|->|\s[-–—]\s)(?P<body>.*)", re.DOTALL
)
"""A heading with what follows it: "Verdict: A"."""
_NAMES_ONLY = frozenset({"name", "code", "none", "comma", "and", "semicolon", "fill", "stop"})
_NUMBER = re.compile(r"\d{1,15}")
_NOTHING = frozenset({"none"})
"""Labels of a decision that announces none."""
_LOOK_AHEAD = 500
_LATER_BLOCKS = 5
"""Most JSON values after a decision that are compared with it."""
CITATION = re.compile(r"[ \t]*>[ \t>]*")


@lru_cache(maxsize=32)
def _remark(unit: str) -> re.Pattern[str]:
    """Return the pattern of a remark on the document or a part of it: "the sentiment is", "the label of part 2 is"."""
    noun = rf"(?:{UNITS}|{re.escape(unit.casefold())})\b"
    document = rf"(?:this|that)\b|the(?: (?:entire|given|whole))? {noun}"
    seen = r"(?:present|mentioned|identified|discussed|covered|addressed)"
    return re.compile(
        r"the (?!present )(?!(?:\w+ )*?(?:final|correct|right|predicted|appropriate|fitting|suitable|accurate) )"
        rf"(?:\w+ )*?(?:(?:decision|sentiment|stance|vote|(?:aspects?|themes?|topics?)(?! (?:\w+ )*?{seen}))\b"
        rf"|\w+ (?:in|of|for) (?!{document}))"
        rf"|(?:the|this) (?!{re.escape(unit.casefold())})(?:clause|excerpt|passage|segment|sentence)\b"
    )


class ReplyReader(ABC):
    """One reading of one reply. Every method raises ``Unreadable`` for a decision that does not count."""

    marker_kinds: ClassVar[tuple[MarkerKind, ...]]
    """The markers that announce a decision on this kind of codebook."""
    keys: ClassVar[tuple[str, ...]]
    """The keys of a decision in JSON."""

    def __init__(self, marked: MarkedReply, *, cut: bool) -> None:
        self.marked, self.codebook, self.names, self.cut = marked, marked.codebook, marked.names, cut
        self.blocks = [replace(block, data=own_part(block.data, self.names)) for block in marked.blocks]
        self.items = self.codebook.items
        self.start = 0
        self.open = self._find_left_open()

    def read_announced(self) -> Reading | None:
        """Return the reading of the last announced decision, None if there is none."""
        candidates: list[Marker | Block] = [
            marker for marker in self.marked.markers if marker.kind in self.marker_kinds
        ]
        candidates += [block for block in self.blocks if block.error or lookup(block.data, *self.keys) is not None]
        candidates = self._without_remarks(sorted(candidates, key=lambda candidate: candidate.start))
        if self.cut and self._torn() > (candidates[-1].start if candidates else -1):
            raise Unreadable(CUT)
        another = next_document(self.codebook.unit)
        if candidates and another.search(self.marked.lines, candidates[0].start + 1, candidates[-1].start):
            raise Unreadable("it decides on more than one document")
        self._check_candidates(candidates)
        for candidate in reversed(candidates):
            self.start = candidate.start
            if isinstance(candidate, Block):
                reading: Reading | None = self._read_block(candidate)
            else:
                reading = self._read_marker(candidate)
            if reading is not None:
                self._check_later_blocks(reading, candidates[-1])
                return reading
        return None

    def read_unannounced(self) -> Reading | None:
        """Return the reading of a decision without a marker, None if there is none."""
        blocks = [block for block in self.blocks if not is_reported(self.marked, block.start)]
        for block in reversed(blocks):
            self.start = block.start
            if (reading := self._read_answers_by_name(block)) is not None:
                self.start = self._decision_start(block)
                return reading
        self.start = 0
        return self._read_unmarked()

    def read_undecided(self) -> Reading | None:
        """Return the reading of a reply that leaves everything open and decides nothing else."""
        if self.open.keys() >= set(self.items):
            return Reading(undecided=dict.fromkeys(self.items, LEFT_OPEN))
        return None

    @abstractmethod
    def _read_marker(self, marker: Marker) -> Reading | None:
        """Return the reading of what a marker announces, or None if the sentence is not a decision."""

    @abstractmethod
    def _read_value(self, block: Block, value: Any) -> Reading:
        """Return the reading of the value of a decision's key in an object; None for announced ratings by name."""

    @abstractmethod
    def _read_answers_by_name(self, block: Block) -> Reading | None:
        """Return the reading of an object {name: answer}, or with names under another key than ``labels``."""

    @abstractmethod
    def _read_unmarked(self) -> Reading | None:
        """Return the reading of a reply that states its decision without announcing it, None if it states none."""

    def _read_block(self, block: Block) -> Reading:
        """Return the reading of an object with a decision's key, or of announced ratings."""
        if block.error:
            raise Unreadable(CUT if self.cut else f"the JSON cannot be read ({block.error})")
        self._check_comments(block, implicit=True)
        reading = self._read_value(block, lookup(block.data, *self.keys))
        self.start = self._decision_start(block)
        return reading

    def _decision_start(self, block: Block) -> int:
        """Return the position of the first key of an object that decides, which may have reasons before it."""
        keys = DECIDING_KEYS.union(self.keys)
        for key in _KEY.finditer(self.marked.text, block.start, block.end):
            if key[1].strip().casefold() in keys or self.names.find(key[1]) is not None:
                return key.start()
        return block.start

    def _stated_by_name(self, block: Block) -> dict[str, Any]:
        """Return what an object {name: answer} states, by the names of labels in it."""
        self._check_comments(block, implicit=False)
        data = by_name(block.data, self.names)
        return {key: value for key, value in data.items() if self.names.find(key) is not None}

    def _answers(self, block: Block, stated: dict[str, Any]) -> dict[str, MaybeAnswer]:
        """Return the answer for each label that an object states; empty if nothing in it is a yes or a no."""
        answers = {self.names.find(key) or "": answer_of(value, self.names) for key, value in stated.items()}
        if not any(isinstance(answer, bool) for answer in answers.values()):
            return {}
        data = by_name(block.data, self.names)
        if claims := [key for key in data if key not in stated and is_claim(data[key], self.names)]:
            raise outside_codebook(claims)
        return answers

    def _check_comments(self, block: Block, *, implicit: bool) -> None:
        """Check the comments of an object, and note the labels that it leaves open."""
        if block.comments and not is_comment(block.comments, self.names, implicit=implicit):
            raise residue(block.comments)
        keys = (key for key in UNDECIDED if self.names.find(key) is None)
        for name, value in entries(lookup(block.data, *keys)):
            reason = value.get("reason") if isinstance(value, dict) else value
            reason = reason if isinstance(reason, str) and reason else LEFT_OPEN
            self.open |= dict.fromkeys(self._mentioned(str(name)), reason)

    def _check_other_keys(self, block: Block, decision: Any, chosen: Set[str]) -> None:
        """Raise ``Unreadable`` if another key of an object contradicts its ``decision``.

        Such keys are {"labels": ["A"], "added": ["B"]}, {"label": "A", "revised_label": "B"} and {"is_correct": false}.
        Labels under a key that claims nothing may be absent, of another role, or of a part of the document.
        """
        for key, value in other_entries(block, decision):
            named, item = self._named_by(key, value), self.names.find(key)
            if value is False:
                is_contradiction = item in chosen if item else has(key, VERDICT)
            elif value is True and item in chosen:
                is_contradiction = False  # "Not relevant" may be the name of a label
            else:
                is_contradiction = bool(named) and self._contradicts(key, named, chosen)
            if is_contradiction:
                raise Unreadable(f"another key contradicts its decision: {quoted_names([key])}")

    def _contradicts(self, heading: str, named: Set[str], chosen: Set[str]) -> bool:
        """Return True if the labels under a heading or key contradict the decision, which may mix some of them."""
        may_name_others = self.codebook.kind == "choice" and (
            has(heading, NEARLY) or (is_mixture(chosen, self.names) and not is_deciding(heading))
        )
        if may_name_others or is_aside(heading):
            return False
        if has(heading, REJECTING):
            return not named.isdisjoint(chosen)
        return not named <= chosen or (named != chosen and is_deciding(heading))

    def _named_by(self, key: str, value: Any) -> set[str]:
        """Return the labels that a key of an object names: {key: ["A"]}, {key: "A"}, {"A": true}."""
        if value is True:
            return {item for item in [self.names.find(key)] if item}
        listed = value if isinstance(value, list) else [value]
        named = [entry_name(entry) for entry in listed if answer_of(entry, self.names) is not False]
        return {item for name in named if isinstance(name, str) and (item := self.names.find(name))}

    def _block_at(self, start: int) -> Block | None:
        """Return the JSON that follows a position directly, None if other words do."""
        for block in self.blocks:
            words_between = self.marked.text[start : block.start]
            if block.start >= start and not CONTENT.search(words_between.replace("json", "")):
                return block
        return None

    def _torn(self) -> int:
        """Return the start of a decision that the text's end cuts off, or -1: "Answer: Food, Serv"."""
        start = self.marked.torn
        for marker in self.marked.weak[-1:]:
            begun = self.marked.text[marker.end :].strip(" *_#\"'").casefold()
            ends = (begun, begun.rpartition(" ")[2].strip("([\"'"))  # "Answer: the Neg"
            is_name = any(label.name.casefold().startswith(ends) for label in self.codebook.labels)
            if is_name and marker.limit == len(self.marked.lines):
                start = max(start, marker.start)
        return start

    def _without_remarks(self, candidates: Sequence[Marker | Block]) -> list[Marker | Block]:
        """Return the candidates without sentences about the document that follow a decision.

        "The sentiment in the first line is A" explains the decision; without one before it, it may be the decision.
        """
        remark = _remark(self.codebook.unit)
        remarks = {
            candidate.start
            for candidate in candidates
            if isinstance(candidate, Marker)
            and candidate.kind in ("aspects", "label")
            and remark.match(" ".join(self.marked.lines[candidate.start : candidate.end].casefold().split()))
        }
        if not remarks:
            return [*candidates]
        begin = len(self.marked.lines) - len(self.marked.lines.lstrip(" \n>#-"))
        first_line = self.marked.text[begin : self.marked.line_end(begin)]
        decisions = [candidate.start for candidate in candidates if candidate.start not in remarks]
        decisions += [marker.start for marker in self.marked.weak if marker.kind == "heading"]
        decisions += [begin] if self.names.find(first_line.strip(" .*_`#")) is not None else []
        decided = min(decisions, default=len(self.marked.lines))
        return [candidate for candidate in candidates if candidate.start <= decided or candidate.start not in remarks]

    def _check_candidates(self, candidates: Sequence[Marker | Block]) -> None:
        """Raise ``Unreadable`` if the last decision differs from an earlier one and may not be the reply's own.

        An injected decision may be the last one: "Final Decision: A\\n\\nThe guest wants this: Final Decision: B".
        """
        announced: list[tuple[int, int, frozenset[str]]] = []
        unclear: list[int] = []
        start = -1
        stops = [*(following.start for following in candidates[1:]), len(self.marked.text)]
        for candidate, stop in zip(candidates, stops, strict=False):
            start = candidate.start if start < 0 else start
            end = candidate.end  # what follows on its line may be the speaker of the next one
            if isinstance(candidate, Marker) and candidate.limit != stop:
                end = candidate.limit
            if named := self._announced(candidate, stop):
                announced.append((start, end, named))
                start = -1
            elif CONTENT.search(self.marked.lines, candidate.end, stop):
                unclear.append(start)
                start = -1
        if not announced:
            return
        last, _, labels = announced[-1]
        is_changed = any(named != labels for _, _, named in announced)
        is_unclear = any(start < last for start in unclear) and is_quoted(self.marked, last)
        if is_unclear or (is_changed and not is_own(self.marked, last, announced[-2][1])):
            raise Unreadable("it announces different decisions, the last one after the words of somebody else")
        is_restated = is_changed and announced[-2][2] != labels and self._is_restated(*candidates[-2:])
        if is_restated and not self.cut:
            raise Unreadable("it announces different decisions, one directly after the other")

    def _announced(self, candidate: Marker | Block, stop: int) -> frozenset[str]:
        """Return the labels, or the numbers, that a decision announces, up to the next one at ``stop``; or "none"."""
        if isinstance(candidate, Block):
            value = lookup(candidate.data, *self.keys)
            return frozenset(str(self.names.find(str(name)) or name) for name, _ in entries(value)) or _NOTHING
        body = self.marked.text[candidate.end : candidate.limit]
        if not CONTENT.search(body) and candidate.limit < stop:
            body = self.marked.text[candidate.limit : stop][:_LOOK_AHEAD]
        numbers = _NUMBER.findall(body) if self.codebook.kind == "rating" else ()
        announced = frozenset((*self._mentioned(body), *numbers))
        is_nothing = not announced and any(token.kind == "none" for token in tokenise(body, self.names))
        return _NOTHING if is_nothing else announced

    def _check_later_blocks(self, reading: Reading, last: Marker | Block) -> None:
        """Raise ``Unreadable`` if JSON without a decision's key, after the announced decision, answers otherwise."""
        start = self.start
        for block in self.blocks[-_LATER_BLOCKS:]:
            is_later = block.start > last.start and not is_reported(self.marked, block.start)
            if is_later and self._answers_otherwise(block, reading):
                raise Unreadable("it announces different decisions")
        self.start = start

    def _answers_otherwise(self, block: Block, reading: Reading) -> bool:
        """Return True if JSON answers otherwise than a reading, or affirms a label that is not in it."""
        with suppress(Unreadable):  # refused if it has evidence for only some labels
            later = self._read_answers_by_name(block)
            return later is not None and dict(later.values) != dict(reading.values)
        chosen = {item if value is True else value for item, value in reading.values.items() if value is not False}
        stated = by_name(block.data, self.names)
        return any(
            (value == 1 or (isinstance(value, str) and sole_answer(value, self.names) is True))
            and self.names.find(name) not in (None, *chosen)
            for name, value in stated.items()
        )

    def _check_later_lists(self, end: int, chosen: Set[str]) -> None:
        """Raise ``Unreadable`` if a heading after a decision announces others: "The label is A.\\n\\nVerdict: B".

        Headings of absent labels, of other roles and of parts of the document do not announce a decision.
        """
        for heading, named in self._later_lists(end):
            folded = heading.casefold()
            is_others = is_reporting(folded) or DENIED.search(folded) or folded in UNDECIDED or self.names.find(heading)
            if not is_others and self._contradicts(heading, named, chosen):
                raise residue(f"{heading}: {', '.join(map(self.names.written, sorted(named))) or 'none'}")

    def _later_lists(self, end: int) -> list[tuple[str, set[str]]]:
        """Return the headings from ``end`` on that have nothing but labels behind or below them, with these labels."""
        lists: dict[tuple[int, str], set[str]] = {}
        number, heading = 0, ""
        for begin, stop in self.marked.spans(end):
            if is_inside(begin + 1, self.marked.quoted):
                continue
            for sentence in filter(CONTENT.search, SENTENCE_BREAK.split(self.marked.lines[begin:stop])):
                headed = _HEADED.fullmatch(sentence)
                if headed is not None:
                    number, heading = number + 1, headed["heading"]
                body = without_bullet(headed["body"] if headed else sentence)
                if not (heading and CONTENT.search(body)):
                    continue
                tokens = tokenise(body, self.names, codes=OWN_PART.search(heading.casefold()) is not None)
                if {token.kind for token in tokens} <= _NAMES_ONLY:
                    lists.setdefault((number, heading), set()).update(token.item for token in tokens if token.item)
                else:
                    heading = ""
        return [(heading, named) for (_, heading), named in lists.items()]

    def _is_restated(self, first: Marker | Block, last: Marker | Block) -> bool:
        """Return True if the line after a decision announces another one in the same words, as in a list of them."""
        if not (isinstance(first, Marker) and isinstance(last, Marker)):
            return False
        lines = self.marked.lines
        between = lines[first.limit : last.start]
        words = [lines[marker.start : marker.end].strip().casefold() for marker in (first, last)]
        return words[0] == words[1] and not CONTENT.search(between) and between.count("\n") == 1

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

    def _mentioned(self, text: str) -> list[str]:
        return [mention.item for mention in self.names.mentions(text)]

    def _missing(self, decided: Iterable[str]) -> list[str]:
        covered = {*decided, *self.open}
        return [label.name for label in self.codebook.labels if label.id not in covered]

    def _unreadable_words(self, words: str) -> Unreadable:
        """Return the exception for words that state nothing about any label."""
        return residue(words, unknown_names(tokenise(words, self.names), words))

    def _quoted(self, items: Iterable[str]) -> str:
        return quoted_names(self.names.written(item) for item in items)


def other_entries(block: Block, decision: Any) -> Iterator[tuple[str, Any]]:
    """Yield the keys beside and around the ``decision`` in an object that may contradict it, with their values."""
    for data in nested(block.data):
        yield from ((key, value) for key, value in data.items() if value is not decision and not is_earlier_key(key))
        if any(value is decision for value in data.values()):
            break


def outside_codebook(names: Iterable[str]) -> Unreadable:
    """Return the exception for answers on names that are not in the codebook."""
    names = tuple(names)
    return Unreadable(f"it answers for {NOT_IN_CODEBOOK}: {quoted_names(names)}", names)


def unwrapped(text: str) -> str:
    """Return a body without a quotation mark, bracket or emphasis around the whole of it."""
    stripped = text.strip().strip("*_`").strip()
    inner = stripped.rstrip(".")
    for opening, closing in ('""', "''", "“”", "‘’", "«»", "„“", "()", "[]", "{}"):
        is_wrapped = len(inner) > 2 and stripped[0] == opening and inner[-1] == closing
        if is_wrapped and stripped.count(closing) == (2 if opening == closing else 1):
            return inner[1:-1]
    return text
