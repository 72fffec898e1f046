"""One line of label names in a reply."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from core.debate.reading.label_names import AND, CLOSERS, COMMENT, ENTRY_END, IGNORED, STOP, Names
from core.debate.reading.normalise import fold
from core.debate.reading.quotations import double_quoted, outermost
from core.debate.reading.yes_no import answer_in

_TAIL = re.compile(rf"(?P<close>{CLOSERS})(?:\s?(?P<comment>{COMMENT})|\s(?P<quote>[\"“«]))?", re.VERBOSE)
_NONE = re.compile(
    rf"""(?:none(?:\s(?:at\ all|present
            |of\s(?:the|these|those|them)\b(?!\s(?:others?|rest|remaining))(?:\s\w++){{0,5}}?))?
    |no\s(?:(?:relevant|listed|such|specific|given)\s)?(?:aspects?|labels?|categor(?:y|ies)|topics?|themes?|codes?)
        (?:\s(?:at\ all|apply|applies|(?:is|are|was|were)\s\w++|present))?){ENTRY_END}""",
    re.VERBOSE,
)
_CODE = re.compile(rf"[-+]?\d{{1,15}}(?:\.\d{{1,15}})?{ENTRY_END}", re.VERBOSE)
_LEADING = re.compile(r"(?:both|only|just|simply|namely)\s")
_CODE_LEADING = re.compile(r"(?:label|class|category|code|number|option|no\.)\s?")
_SEPARATOR = re.compile(rf"[,;|\n、،؛•·<]|/(?!or\b)|\s{AND}(?=\s)|{STOP}|\s\#", re.VERBOSE)
_COMMENTED = re.compile(COMMENT, re.VERBOSE)
_STOPPED = re.compile(STOP)
_JOINING = re.compile(rf"{AND}\s?", re.VERBOSE)
_DECORATION = re.compile(rf"</?[a-z]{{1,20}}>|[\s,;/|、،؛•·\\:=.<>(){{}}\[\]_—–→✓✔„{re.escape(IGNORED)}-]")
_TRIM = " \t\n\r,;:.!_-–—<>()[]{}\\„" + IGNORED

# What the words of an entry, or beside one, mean.
_EXCLUDED = re.compile(r"(?:but |and )?(?:not|no|nor|without|except(?: for)?|excluding)\b")
_HEDGED = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|potentially|arguably|partly|partially|likely|unclear|or|either|might|may"
    r"|could)\b|\?"
)
_PROSE = re.compile(r"(?:because|since|as|for|which|although|though|whereas|while|given|based on|due to|so|with|but)\b")
_FILLER = re.compile(r"(?:none of the (?:others?|rest|remaining\b.*)|nothing else|no others?)$")
_DENIAL = re.compile(r"[\s(\[:=>→–—*_-]*(?:no|absent|false|not present|not mentioned|none|0|✗|✘|❌)[\s)\].*_]*$")
_DOUBT = re.compile(
    r"[\s(\[:=>→–—*_-]*(?:not (?:(?:clearly|explicitly|really|directly|strongly|sufficiently|actually) )*(?:present"
    r"|mentioned|discussed|addressed|supported|referenced|stated|applicable|relevant|included)|absent|maybe|perhaps"
    r"|possibly|unclear|uncertain|doubtful|questionable)\b"
)
_REMARK = " ([:=>→–—*_-"
_AFFIRMED = re.compile(r"[\s(\[:=>→–—*_-]*(?:yes|true|present|mentioned|discussed|included|1)\b")

UNKNOWN_NAMES = 50
UNKNOWN_CHARACTERS = 200
"""How much of what is unknown a listing keeps: a reply that rambles must not swell the project file."""


@dataclass(slots=True)
class Listing:
    """What a list of names says.

    ``listed`` keeps the order; ``excluded`` are names that the list itself denies ("not Food", "Food: absent");
    ``doubted`` are those it hedges, with its words; ``unknown`` are entries that are no name, as written;
    ``comments`` are the words beside a listed name; ``none`` is set when it says so.
    """

    listed: dict[str, None] = field(default_factory=dict)
    excluded: set[str] = field(default_factory=set)
    doubted: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    comments: list[tuple[str, str]] = field(default_factory=list)
    none: bool = False

    def add(self, other: Listing) -> None:
        """Take over what another part of the same list says."""
        self.listed |= other.listed
        self.excluded |= other.excluded
        self.doubted |= other.doubted
        self.unknown |= other.unknown
        self.comments += other.comments
        self.none |= other.none

    @property
    def empty(self) -> bool:
        """Whether nothing at all was said."""
        return not (self.listed or self.excluded or self.doubted or self.unknown or self.none)

    @property
    def clean(self) -> bool:
        """Whether it is names of the codebook and nothing else."""
        return bool(self.listed) and not (self.unknown or self.doubted or self.excluded or self.none)


def read_list(names: Names, body: str, *, codes: bool = False, bullet: bool = False) -> Listing:
    """Read one line of names.

    Separators are comma, semicolon, slash, bar, "and", "&", and a blank before a hash or a quotation mark. What stands
    beside a name (in parentheses, after a colon or a dash) is a comment; in a ``bullet`` it goes to the line's end. A
    full stop ends the list. With ``codes`` a label's number stands for its name, and comments are left to the caller.
    An empty body gives an empty listing.
    """
    return _Lister(names, body, codes, bullet).read()


class _Lister:
    """Goes once through a line; every step moves on, so the time is proportional to its length."""

    def __init__(self, names: Names, body: str, codes: bool, bullet: bool) -> None:
        self.names, self.body, self.codes, self.bullet = names, body, codes, bullet
        self.folded = fold(body)
        self.text = self.folded.text
        self.over = _partners(self.text)
        self.out = Listing()

    def read(self) -> Listing:
        position = 0
        while position < len(self.text):
            entry = self._entry(position)
            if entry is not None:
                position = self._named(*entry)
            elif match := _NONE.match(self.text, position):
                self.out.none = True
                position = self._comment(match.end())[1]
            elif not self.out.empty and _STOPPED.match(self.text, position):
                break
            elif match := _DECORATION.match(self.text, position) or self._skipped(position):
                position = match.end()
            else:
                position = self._other(position)
        return self.out

    def _entry(self, position: int) -> tuple[str, int] | None:
        entry = self.names.entry(self.folded, position)
        if entry is None and self.codes and (match := _CODE.match(self.text, position)):
            item = self.names.find_code(float(match.group()))
            entry = None if item is None else (item, match.end())
        return entry

    def _skipped(self, position: int) -> re.Match[str] | None:
        """Match a word at ``position`` that only leads to an entry."""
        if match := _JOINING.match(self.text, position):
            return match
        for pattern in (_LEADING, _CODE_LEADING) if self.codes else (_LEADING,):
            if match := pattern.match(self.text, position):
                after = match.end()
                while after < len(self.text) and self.text[after] in IGNORED:
                    after += 1
                return match if self._entry(after) is not None else None
        return None

    def _named(self, item: str, end: int) -> int:
        comment, end = self._comment(end)
        answer = None if self.codes or _AFFIRMED.match(comment) else answer_in(comment.lstrip(_REMARK))
        if not self.codes and (answer == "no" or _DENIAL.match(comment)):
            self.out.excluded.add(item)
        elif answer == "open" or (not self.codes and _DOUBT.match(comment)):
            self.out.doubted[item] = f"listed with the remark {_cited(comment)}"
        else:
            self.out.listed[item] = None
        if comment:
            self.out.comments.append((item, comment))
        return end

    def _comment(self, end: int) -> tuple[str, int]:
        """Return the comment after an entry that ends at ``end``, and the position where the list continues."""
        start = stop = None
        while (tail := _TAIL.match(self.text, end)) and (tail["comment"] or tail["quote"]):
            mark = tail.end() - 1
            if tail["quote"] and (mark not in self.over or self._entry(mark + 1) is not None):
                break
            start = tail.end("close") if start is None else start
            if self.bullet:
                end = stop = len(self.text)
            else:
                # "Service (staff): friendly" has two comments.
                end = stop = self.over[mark] if mark in self.over else self._next(tail.end())
        return ("" if start is None else self.text[start:stop].strip()), end

    def _next(self, position: int, *, comments: bool = False) -> int:
        """Where the next separator (or comment) is that does not stand in quotes or brackets."""
        while position < len(self.text):
            if _SEPARATOR.match(self.text, position) or (comments and _COMMENTED.match(self.text, position)):
                break
            position = self.over.get(position, position + 1)
        return position

    def _other(self, position: int) -> int:
        """Read an entry that is not a name: by its meaning if that is plain, else as unknown."""
        end = max(self._next(position, comments=True), position + 1)
        words = self.text[position:end].strip()
        start, stop = self.folded.source(position, end)
        written = self.body[start:stop].strip(_TRIM)
        if not written or _FILLER.match(words):
            return end
        named = list(self.names.mentions(fold(written)))
        new = [mention for mention in named if mention.item not in self.out.listed]
        if named and _EXCLUDED.match(words):
            self.out.excluded.update(mention.item for mention in named)
        elif named and _HEDGED.search(words):
            self._doubt([mention.item for mention in new], written)
        elif _PROSE.match(words):
            # "as the guest liked the food" says nothing of Food, "but also Food" may.
            self._doubt([m.item for m in new if written[m.start : m.end] == self.names.written(m.item)], written)
        elif len(self.out.unknown) < UNKNOWN_NAMES:
            self.out.unknown[written[:UNKNOWN_CHARACTERS]] = None
        return self._comment(end)[1]

    def _doubt(self, items: list[str], written: str) -> None:
        reason = f"named only in {_cited(written)}"
        for item in items:
            self.out.doubted.setdefault(item, reason)


def _cited(text: str) -> str:
    text = " ".join(text[:UNKNOWN_CHARACTERS].split()).strip("()[]: ")
    return f'"{text[:60]}…"' if len(text) > 60 else f'"{text}"'


def _partners(text: str) -> dict[int, int]:
    """For each bracket and quotation mark that opens something, where that ends."""
    over = {span.start: span.end for span in outermost(double_quoted(text))}
    opened: list[int] = []
    for position, character in enumerate(text):
        if character in "([":
            opened.append(position)
        elif character in ")]" and opened:
            over[opened.pop()] = position + 1
    return over
