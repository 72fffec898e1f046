"""Ratings in a reply: a number for each dimension of the codebook."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any

from core.codebook import Codebook
from core.debate.reading.contradictions import is_anothers
from core.debate.reading.decision_markers import MarkedReply, Marker, is_inside, is_reported
from core.debate.reading.json_blocks import entries
from core.debate.reading.label_names import IGNORED, Names
from core.debate.reading.normalise import Folded, fold
from core.debate.reading.tokens import NUMERALS
from core.debate.turns import Reading
from core.documents import Value

LEFT_OPEN = "left open by the agent"

_DECORATION = frozenset(" |-+•–—.)([]>_" + IGNORED)
_WRAPPED = rf"[\s_\[({re.escape(IGNORED)}]*+"
_BETWEEN = re.compile(rf"[\s_{re.escape(IGNORED)}]*+(?:\([^()]{{0,80}}\)\s?)?(?::|=|\||→|[-–—]\s){_WRAPPED}")
_OUT_OF = r"(?:/|out\sof|von|sur|de|di|из|满分)"
_NUMBER = re.compile(
    rf"(?P<number>[-+−]?\d{{1,15}}(?:\.\d{{1,15}})?)(?!\d|[.,:]\d|\s?(?:[-–—~→⇒+]|[-=]>)\s?\d|\s?[%?±]|\+|[a-z]|[-–]\s*$|\s(?:(?:to|or|and|vs\.?)\s)?\d"
    r"|\s?/\s?\d{1,15}\s?/|,\s?\d{1,15}\s?(?:$|[,;|)]))"
    rf"[\s_{re.escape(IGNORED)}]*+(?:{_OUT_OF}\s?(?P<top>\d{{1,15}}))?"
)
_NOTHING = re.compile(
    rf"(?:n/?a|none|null|undecided|unclear|not rated|unknown|[-–—?]++)[\s.{re.escape(IGNORED)}]*+(?:$|[,;|(])"
)
_OTHER = re.compile(rf"(?P<name>[^:=|,;\d]{{1,80}}?)\s?[:=|]{_WRAPPED}[-+−]?\d")
_NEXT = re.compile(r"[,;|]\s")
_BARE = re.compile(r"\s(?=\d{1,15}(?:\.\d{1,15})?\s?(?:/\s?\d{1,15})?\s?(?:\.?$|[,;|(]))")
"""Between a dimension and its number where both stand alone: "Fluency 2; Overall 3"."""
_REVISED = re.compile(
    r"\b(?:no|not|or|could|might|may|maybe|perhaps|possibly|probably|actually|rather|closer to|should|would|lean\w*"
    r"|make it|wait|correction|so|otherwise)\b(?:\W+[^\W\d]+){0,4}\W+\d"
)
"""Words after a rating that give another number."""
_LOOK_AHEAD = 1_000
"""Characters after a rating in which words about it are searched; without a limit, a long line takes quadratic time."""
_TAKEN_BACK = re.compile(
    r"[\s*_]*[,(–—-]?\s*(?:at (?:most|least|best|worst)|for now|roughly|approximately"
    r"|(?:and|&) (?:a|one) (?:half|quarter)|point \d|or (?:higher|lower|more|less|so|above|below)|is too\b"
    r"|(?:too (?:high|low|generous|strict|harsh|lenient)|wrong|incorrect)\W*$|(?:the )?(?:extractor|critic|opponent)\))"
)
"""Words after a rating that make it a limit, reject it or ascribe it to another role."""
_PLAIN = re.compile(
    r"[^:=|\n]{0,10}\|?[^:=|\n]{1,120}(?:[:=|]|\s[-–—])[\s*_`\"'(\[]*[-+−]?\d{1,15}(?:\.\d{1,15})?[\s*_`\"')\]]*"
    rf"(?:{_OUT_OF}\s?\d{{1,15}}[\s*_`\"')\]]*)?"
    r"(?:$|[|,;(–—].*|\s-\s.*|[.:](?:\s.*)?)"
)
_SCORE = re.compile(r"(?:(?:the|my|final) )*(?:rating|score|overall(?: rating| score)?)(?![^\W_])")
"""Words in place of the name of the only dimension."""
_POINT = re.compile(rf"\d{{1,15}}(?:\.\d{{1,15}})?\s?(?:{_OUT_OF}\s?\d{{1,15}})?[\s.{re.escape(IGNORED)}]*$")
"""A line that is the rating of the only dimension."""
_CELL = re.compile(r"\|\s*[-+−]?\d")
"""A number in a table; two of them in a row may be those of two roles."""
_WIDE = 10
"""Highest point from which on a number below 1 may be a fraction of the scale."""
_BOXED = re.compile(r"\$*\\boxed\s*\{\s*(?:\\text\s*\{)?([^{}\n]*)\}{1,2}\$*")
_NUMERAL = re.compile(rf"\b(?:{'|'.join(NUMERALS)})\b(?!-)", re.IGNORECASE)
_WRITTEN_OUT = re.compile(
    rf"(?:[:=|]|^)[\s*_]*+(?={_NUMERAL.pattern}[\s*_]*(?:$|[.,;|()/–—-]|out of|stars|points|because))", re.IGNORECASE
)
"""Before a rating in words: "Fluency: four out of five", "Four"."""
_STARS = re.compile(r"[★☆⭐]+ ?(?=\(\d)")
_ORDINAL = re.compile(r"\d{1,3}[.)]\s")


def ratings_of(
    page: MarkedReply, marker: Marker, codebook: Codebook, names: Names, open_items: Container[str]
) -> tuple[Reading, int, bool]:
    """Return the ratings on lines ``Dimension: number`` up to the next marker.

    With them the end of the last of these lines, and True if they are complete.
    """
    following = next(
        (m.start for m in page.markers if m.start >= marker.end and m.kind in ("final", "ratings")), len(page.text)
    )
    collected = _Collected(codebook, names, bare=True)
    last, ended = marker.end, False
    for start, end in page.spans(marker.end, following):
        before = len(collected.seen)
        collected.line(page.text[start:end])
        if len(collected.seen) > before:
            last, ended = end, end < len(page.text)
    rated = all(item in collected.seen or item in open_items for item in codebook.items)
    return collected.reading(), last, following < len(page.text) or (rated and ended)


def unmarked_ratings(page: MarkedReply, codebook: Codebook, names: Names) -> tuple[Reading, int]:
    """Return the ratings on lines ``Dimension: number`` of a whole reply, and the end of the last one (-1 if none).

    A line counts only if nothing but a remark follows its number; none counts if one of them is reported.
    """
    collected = _Collected(codebook, names)
    last = -1
    for start, end in page.spans():
        boxes = list(_BOXED.finditer(page.text, start, end)) if collected.sole else []
        boxed = boxes[-1] if boxes else None
        plain = _in_digits(boxed[1] if boxed else _BOXED.sub(r"\1", page.lines[start:end]))
        alone = (boxed or page.lines.strip() == page.lines[start:end].strip()) and _POINT.match(plain.strip())
        if (
            (alone or _PLAIN.fullmatch(plain))
            and len(_CELL.findall(plain)) < 2
            and collected.line(boxed[1] if boxed else page.text[start:end])
        ):
            start = boxed.start() if boxed else start
            if len(boxes) > 1:
                return Reading(), -1
            if is_reported(page, start) or is_inside(start, page.quoted):
                return Reading(), -1
            last = end
    return collected.reading(), last


def ratings_in(value: Any, codebook: Codebook, names: Names) -> Reading:
    """Return the ratings of a JSON reply: {dimension: number}, or a list of objects with a name and a ``rating``."""
    collected = _Collected(codebook, names)
    for name, given in entries(value) if isinstance(value, dict | list) else ():
        collected.json(name, None if given is True and isinstance(value, list) else given)
    return collected.reading()


class _Collected:
    def __init__(self, codebook: Codebook, names: Names, *, bare: bool = False) -> None:
        self.scale_of = codebook.scale_of
        self.sole = codebook.items[0] if len(codebook.items) == 1 else None
        self.names = names
        self.between = (_BETWEEN, _BARE) if bare else (_BETWEEN,)
        self.seen: dict[str, list[Value]] = {}
        self.reasons: dict[str, str] = {}
        self.unknown: dict[str, None] = {}
        """Names outside the codebook."""

    def line(self, text: str) -> bool:
        """Take what a line says, from its start on, as long as it is ratings; return True if any was taken."""
        text = _in_digits(_BOXED.sub(r"\1", text))
        folded = fold(text)
        before = sum(map(len, self.seen.values()))
        position = 0
        while following := self._entry(text, folded, position):
            position = following
        return before < sum(map(len, self.seen.values()))

    def _entry(self, text: str, folded: Folded, position: int) -> int:
        """Take the rating at a position of a line and return the start of the next one, 0 after the last."""
        if ordinal := _ORDINAL.match(folded.text, position):
            position = ordinal.end()
        entry = self.names.at(folded, position)
        while entry is None and position < len(folded.text) and folded.text[position] in _DECORATION:
            position += 1
            entry = self.names.at(folded, position)
        if entry is None and self.sole is not None:
            if _POINT.match(folded.text, position):
                self.said(self.sole, text, folded, position)
                return 0
            score = _SCORE.match(folded.text, position)
            entry = (self.sole, score.end()) if score else None
        found = (pattern.match(folded.text, entry[1]) for pattern in self.between) if entry else ()
        between = next(filter(None, found), None)
        if entry is None or between is None:
            if other := _OTHER.match(folded.text, position):
                start, end = folded.source(*other.span("name"))
                self.unknown.setdefault(text[start:end].strip(" *_#\"'"))
            return 0
        self.said(entry[0], text, folded, between.end())
        following = _NEXT.search(folded.text, between.end())
        return following.end() if following else 0

    def json(self, name: Any, said: Any) -> None:
        """Take what a JSON reply says of one dimension."""
        item = self.names.find(str(name))
        while isinstance(said, dict):
            said = next((said[key] for key in ("rating", "score", "value") if key in said), None)
        if item is None:
            self.unknown.setdefault(str(name)[:200])
        elif said is None:
            self.reasons[item] = LEFT_OPEN
        elif isinstance(said, int | float) and not isinstance(said, bool):
            self.rate(item, said)
        else:
            text = _in_digits(f": {str(said)[:200].strip()}")[2:]
            self.said(item, text, fold(text), 0)

    def said(self, item: str, text: str, folded: Folded, position: int) -> None:
        """Take the words after a dimension's name."""
        words = folded.text[position : position + 40].strip()
        number = _NUMBER.match(folded.text, position)
        end = number.end() + _LOOK_AHEAD if number else 0
        revised = _REVISED.search(folded.text, number.end(), end) if number else None
        if _NOTHING.match(folded.text, position) or not words:
            self.reasons.setdefault(item, LEFT_OPEN)
        elif number is None or _has_superscript(text, *folded.source(*number.span("number"))):
            self.reasons.setdefault(item, f'"{words}" is not a number')
        elif number["top"] and int(number["top"]) != (top := self.scale_of(item).max):
            self.reasons.setdefault(item, f'"{number.group().strip()}" is not on the scale to {top}')
        elif _TAKEN_BACK.match(folded.text, number.end()) or is_anothers(folded.text[number.end() : end]):
            self.reasons.setdefault(item, f'"{words}" does not state a rating plainly')
        elif revised and not any(True for _ in self.names.mentions(fold(folded.text[number.end() : revised.end()]))):
            self.reasons.setdefault(item, f'another number follows: "{revised.group().strip()}"')
        else:
            digits = number["number"].replace("−", "-")
            self.rate(item, float(digits) if "." in digits else int(digits))

    def rate(self, item: str, value: int | float) -> None:
        """Take a number, if it is on the scale."""
        scale = self.scale_of(item)
        if 0 < value < 1 and scale.max >= _WIDE:
            self.reasons[item] = f"{value} may be a fraction of the scale to {scale.max}"
        elif scale.min <= value <= scale.max:
            self.seen.setdefault(item, []).append(value)
        else:
            self.reasons[item] = f"{value} is outside {scale.min} to {scale.max}"

    def reading(self) -> Reading:
        values = {item: said[0] for item, said in self.seen.items() if len(set(said)) == 1}
        reasons = {item: reason for item, reason in self.reasons.items() if item not in values}
        twice = {item: f"rated {said[0]} and {said[1]}" for item, said in self.seen.items() if len(set(said)) > 1}
        return Reading(values, reasons | twice, tuple(self.unknown))


def _in_digits(line: str) -> str:
    """Return a line with the number words of its ratings as digits, and without stars before a number in brackets."""
    line = _STARS.sub("", line)
    first = _WRITTEN_OUT.search(line)
    if first is None:
        return line
    rest = _NUMERAL.sub(lambda word: str(NUMERALS.index(word.group().casefold())), line[first.end() :])
    return line[: first.end()] + rest


def _has_superscript(text: str, start: int, end: int) -> bool:
    """Remove footnote marks, which NFKC would turn into digits of the number."""
    return any(character.isdigit() and not character.isdecimal() for character in text[start:end])
