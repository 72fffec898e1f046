"""Markers of decisions in a reply: marker lines and JSON, without those that are quoted, denied or supposed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise

from core.codebook import MAX_NAME, Codebook
from core.debate.reading.json_blocks import Block, find_json_blocks
from core.debate.reading.label_names import Names, names_of
from core.debate.reading.marker_patterns import MarkerKind, marker_patterns
from core.debate.reading.normalise import fold, replace_ranges
from core.debate.reading.quotation_marks import Span, double_quoted, outermost
from core.debate.reading.tokens import DOUBTFUL_WORDS, UNITS, is_elsewhere
from core.prompts import TAGS

_THOUGHTS = re.compile(
    r"\s*(?:[<◁](think(?:ing)?|thoughts?|reasoning|analysis|scratchpad)[>▷].*?(?:[<◁]/\1[>▷]|\Z)"
    r"|\[(thinking|thoughts?|reasoning|analysis|scratchpad)\].*?\[/\2\]|\[(think)\].*?(?:\[/\3\]|\Z)"
    r"|(?:<\|start\|>assistant)?<\|channel\|>(?:(?:.*<\|channel\|>)?final\b[^\n]{0,40}?<\|message\|>|.*))",
    re.IGNORECASE | re.DOTALL,
)
_ANALYSIS, _END_OF_ANALYSIS = "<analysis>", "</analysis>"
"""Tags around a whole reply: a model may copy the form in which other replies are shown."""
_END_OF_THOUGHT = re.compile(r"</think(?:ing)?>[^\S\n]*$", re.IGNORECASE | re.MULTILINE)
_OPEN_THOUGHT = re.compile(r"^[^\S\n]*[<\[◁]think(?:ing)?[>\]▷]", re.IGNORECASE | re.MULTILINE)
_END_OF_REPLY = re.compile(
    r"<(?:\|(?:im_end|eot_id|eom_id|end|return|endoftext|end_of_text)\|>|end_of_turn>|/s>(?=\s*\Z)|｜end▁of▁sentence｜>)"
    r"|\n(?i:#{1,3} ?(?:user|human|instructions?|input):?|(?:user|human):)[^\S\n]*(?=\n)"
)
"""Tokens that some servers leave in the text, and the next turn that small models invent after their own."""
_STRUCK_AT_END = re.compile(r"(?<=\S )<s>[^<\n]*</s>\s*\Z", re.IGNORECASE)
_FOREIGN = re.compile(rf"<(?P<tag>{'|'.join(TAGS)})\b[^<>\n]*>|~~[^~\n]+~~", re.IGNORECASE)
"""The beginning of a repeated part of the prompt, and struck text."""

LOOK_BACK = 200
"""Most characters before a place that are searched for words about it."""
_LOOK_AHEAD = 2_000
"""Most characters after a denial that are searched for its contrast."""
CONTENT = re.compile(r"[^\s*_`\"'“”‘’«»„:,.#>|\-\x00()\[\]{}]")
_TAG = re.compile(r"\s*</?[a-zA-Z_]{1,20}>\s*")
_FENCE = re.compile(r"\s*(?:```|~~~)")
SENTENCE_END = re.compile(r"[.!?][\"”’)»]* +")
_OWN_WORDS = re.compile(
    r"\b(?:i|we)(?:['’]d| would| will| must| can| therefore| also)* +(?:say|state|argue|suggest|conclude|claim|write)\b"
)
_SIDE = r"the (?:prosecut(?:or|ion)|defen[cs]e|defender)|(?:the )?analysis \d"
ROLE = rf"(?:(?:the |an )?(?:extractor|critic|opponent|annotator)|{_SIDE})\b"
_NAMED_ROLE = re.compile(rf"\b{ROLE}", re.IGNORECASE)
_REPORTED = re.compile(
    rf"\baccording to (?:{ROLE}|(?:the |an )?other\b)"
    r"|\bas (?:the |an )?(?:critic|extractor|annotator|opponent|other)\b.{0,30}?\b(?:puts?|says?|said|not(?:es|ed))\b"
    r"|\b(?:says?|said|saying|states?"
    r"|insists?|believes|thinks|maintains|mistaken"
    r"|stated|(?<!the )(?<!this )claims?|claimed|asks?|asked|tells?|told|writes?|wrote|written|reads?(?!ing)|demands?"
    r"|instructs?|instructed|according to|pretends?|suggests?|suggested|argues?|argued|concludes?|concluded|instead of"
    r"|rather than|wrong|incorrect|in case|examples?|e\.g\.)(?![^,;]*[,;])[^\n]{0,60}$"
    rf"|\b(?:for|in|to) {ROLE}(?:['’]s \w+)?,? *$|\b{ROLE}['’]s \w+ is(?: that)? *$"
    r"|\b(?:one|some|you) (?:might|may|could|would|can)\b[^,;]*$"
    r"|\b(?:at first (?:glance|sight)|on the surface|(?:read|taken) literally)\b,?[^,;]*$"
    r"|(?<!as )(?<!like )\bin (?:the )?(?:\w+ )?precedents?(?: \d)?,? *$"
    r"|\b(?:contains?|includes?|ends? with) (?:the|an?) (?:instruction|line|phrase|sentence|string|words)\b[^,;]*$"
)
_INSTRUCTED = re.compile(
    r"\W*(?:use|follow|(?:answer|reply|respond|write) (?:in|with|like|as)|(?:an )?example|the (?:\w+ )?form(?:at)? is"
    r"|your (?:draft|review)|analysis \d)\b.*:|.*\bfor example\b[^.]*:|.*\bend with\b[^.]*:"
)
"""A line above a decision that only shows its form, or a heading of the prompt."""
_SUPPOSED = re.compile(
    r"(?<!even )\bif\b(?! anything| in doubt)|\b(?:unless|whether|suppose|supposing|assum(?:e|es|ing)|were to)\b"
)
UNMET = re.compile(r"[^.\n]{0,120}(?<!even )\bif\b[^.\n]{0,120}\b(?:were|had)\b")
"""A condition that is not met."""
_UNSURE = re.compile(
    r"\b(?:maybe|perhaps)\b(?! surprising)"
    rf"|\b(?:{DOUBTFUL_WORDS}|(?:possible|conceivable|(?:could|may|might) be) that)\b[\W_]*(?:(?:the|following) )*$"
)
_UNQUOTED = re.compile(r"\n[^\S\n]*[^>\s]")
_CLAUSE = re.compile(r"[,:;]")
DENIED = re.compile(
    r"\b(?:not|never|no longer|nor|nothing|nobody|none|neither|(?:part|half|some) of|cannot"
    r"|(?<!no )doubt|doubtful|unlikely|false|untrue|disagree|deny|denies|reject|rejects|dispute|hardly|without)\b"
    r"|n['’]t\b"
    r"|\bno (?!doubt|question)\w+(?: that| to \w+(?: that)?)? *$"
)
_OTHERWISE = re.compile(
    r"\b(?:other|remaining|additional|further|absent|missing|rejected|excluded|possible|potential|what|which|how many"
    r"|these|those|each|every|any|no|not|non-?|(?:extractor|critic|opponent)(?:['’]s(?: \w+ *:)?)?|their|his|her)[ -]*$"
    r"|[不未没无非][^，。；：、,.;:\s]{0,10}$"
)
_ENTRY_END = re.compile(r"[\s*_`\"'”’»)\]}]*(?:$|[.,;:!?(–—<]|-\s|(?:because|since|as|but)\b)")
_CONTRAST = re.compile(r"\bbut\b", re.IGNORECASE)
_NOT_SO = re.compile(r" *+\b(?=(?:not|no longer|never|neither)\b)", re.IGNORECASE)

_BEGINNINGS = (
    "the aspects present in", "the labels present in", "the present aspects are", "the present labels are",
    "final decision", "final ratings", "the label is", "the labels are", "the aspects are", "undecided:",
)  # fmt: skip
_MIN_BEGINNING_CHARACTERS = 5
_MAX_BEGINNING_WORDS = 5
"""Most words of a torn marker after other words: "After the debate, my final deci"."""


@dataclass(frozen=True, slots=True)
class Marker:
    """The words that announce a decision, from ``start`` to ``end`` in the reply's text.

    ``plain`` if no colon follows, so that the sentence may be about something else. ``limit`` is the end of the line,
    or of the part of it that belongs to this marker.
    """

    kind: MarkerKind
    start: int
    end: int
    plain: bool
    limit: int


@dataclass(frozen=True, slots=True)
class ReplyLine:
    """A line of a reply, from ``start`` to ``end``."""

    start: int
    end: int
    text: str

    @property
    def blank(self) -> bool:
        """True if the line has no words: it is decoration or a tag."""
        return not CONTENT.search(self.text) or _TAG.fullmatch(self.text) is not None


@dataclass(frozen=True)
class MarkedReply:
    """A reply with its markers and JSON."""

    text: str
    """The reply without reasoning. All positions refer to it."""
    lines: str
    """The same text with JSON hidden, and emphasis and unusual white space as spaces; of the same length."""
    markers: tuple[Marker, ...]
    undecided: tuple[Marker, ...]
    blocks: tuple[Block, ...]
    quoted: tuple[Span, ...]
    """The outermost passages in double quotation marks, with struck text and repeated parts of the prompt."""
    torn: int
    """The start of a decision that the text's end cuts off, or -1."""
    codebook: Codebook

    @property
    def names(self) -> Names:
        """The names of the codebook's labels."""
        return names_of(self.codebook)

    @cached_property
    def weak(self) -> tuple[Marker, ...]:
        """Markers that count only without any other."""
        markers = _asserted_markers(self.lines, self.codebook, self.quoted, weak=True)
        recaps = [marker.end for marker in markers if marker.kind == "recap"]
        is_discussed = bool(recaps) and self._is_discussed(recaps[-1])
        counted = [
            replace(marker, kind="heading") if marker.kind == "recap" else marker
            for marker in markers
            if not (is_discussed and marker.kind == "recap") and not is_reported(self, marker.start)
        ]
        return _with_limits(counted)

    def _is_discussed(self, start: int) -> bool:
        """Return True if the text below the labels at ``start`` discusses labels or roles, or ends with the label."""
        lines = self.lines[start:].strip().split("\n")[1:]
        if self.codebook.kind == "choice":
            return self.names.find(lines[-1].strip(" ._") if lines else "") is not None
        below = "\n".join(line for line in lines if not _LISTED.match(line))
        return bool(self.names.mentions(below)) or _NAMED_ROLE.search(below) is not None

    def line_start(self, position: int) -> int:
        """Return the start of the line of a position."""
        return self.lines.rfind("\n", 0, position) + 1

    def line_end(self, position: int) -> int:
        """Return the end of the line around ``position``, without its line break."""
        end = self.lines.find("\n", position)
        return len(self.lines) if end < 0 else end

    def spans(self, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield start and end of the lines from ``start`` on, up to ``end``."""
        limit = len(self.lines) if end is None else end
        while start <= limit:
            stop = min(self.line_end(start), limit)
            yield start, stop
            start = stop + 1

    def statement_lines(self, start: int, end: int | None = None) -> Iterator[ReplyLine]:
        """Yield lines of the reply, without JSON, code fences and quotations that began on an earlier line."""
        for begin, stop in self.spans(start, end):
            quoted = is_inside(begin, self.quoted) and self.lines[begin - 1 : begin] == "\n"
            if not (quoted or "\x00" in self.lines[begin:stop] or _FENCE.match(self.text, begin, stop)):
                yield ReplyLine(begin, stop, self.text[begin:stop])

    def past_marker(self, start: int, limit: int) -> int:
        """Return ``start``, or the end of a second marker there: Final Decision: "The present aspects are: A"."""
        begin = limit - len(self.lines[start:limit].lstrip(" \"'“”„‘’«»_(["))
        for kind, pattern in marker_patterns("text"):
            if kind in ("aspects", "label") and (inner := pattern.match(self.lines, begin, limit)):
                return inner.end()
        return start


SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")
_WEAK = frozenset({"heading", "recap", "sentence", "list"})
_LISTED = re.compile(r"\s*(?:[-+•–]|\d{1,2}[.)])\s")
_SHOWN = r"formats?|templates?|placeholders?|for example|e\.g\.|for instance"
_FORM = re.compile(rf"\b(?:{_SHOWN}|codebook)\b")
"""Words before a decision that only shows its form, or repeats the question."""
_ANOTHERS = re.compile(
    r"\b(?:extractor|critic|opponent|(?:earlier|previous|other) judges?|judge \d|other (?:agent|annotator)"
    rf"|{_SIDE}|{_SHOWN})\b"
)
OWN_DECISION = (
    r"judge|judge?ment|final|verdict|decision|conclusion|answer|result|output|revised|corrected|updated|checked"
    r"|adjusted|korrigiert"
)
"""Words for a reply's own decision."""
OWN_PART = re.compile(rf"\b(?:{OWN_DECISION}|summary|my|i)\b")
"""Headings of a reply's own decision."""
_OWN_BASIS = re.compile(
    r"\bbased\b|\bmy (?:\w+ ){0,2}(?:decision|answer|verdict|conclusion|judge?ment)\b"
    r"|\b(?:at|by|on|to|from|with|given|considering) (?:\w+ )?what *$",
    re.IGNORECASE,
)
"""Words before a mention of the document that name it as the basis of a reply's own decision."""


def _last_word(unit: str) -> str:
    return unit.split()[-1] if unit.split() else "text"


@lru_cache(maxsize=32)
def next_document(unit: str) -> re.Pattern[str]:
    """Return the pattern of the beginning of another document: "Review 2", "Review: ...", "<document>"."""
    noun = rf"(?:{UNITS}|{re.escape(_last_word(unit))})"
    return re.compile(
        rf"^[ >#_-]*+(?:(?:the|next|new) ++)?(?:\w++ ++)?{noun}(?: #?\d| *+:)"
        rf"|\bfor the (?:second|third|next) {noun}\b|^[ >]*+<(?:document|context)\b",
        re.IGNORECASE | re.MULTILINE,
    )


@lru_cache(maxsize=32)
def _of_document(unit: str) -> re.Pattern[str]:
    """Return the pattern of words at the end of a text that ascribe what follows to the document."""
    noun = rf"(?:the|this) (?:\w+ )?(?:{UNITS}|{re.escape(_last_word(unit))})\b"
    foreign = r"(?:instruction|injection|command|request)s?"
    part = rf"(?:{foreign}|(?:line|sentence|phrase|string|word|passage|quot(?:e|ation))s?)"
    says = (
        r"(?:contain(?:s|ed)|includ(?:es|ed)|(?:end|start|clos|beg[ia]n)(?:s|es|ed)? with|quot(?:es|ed)|cit(?:es|ed)"
        r"|sa(?:ys?|id)|states?d?|reads?|asks?|asked|claims?|claimed|demands?|instructs?|writes|wrote)"
    )
    which = rf"(?: (?:that|this|the|an?|following|own|other|last|final|injected|hidden))*(?: {part})?"
    inside = rf"(?:in|of|from|inside|within|at the end of) {noun}"
    one = rf"(?:this|that|it|(?:the|this|that|an?|its|any) (?:\w+ )?{part}(?: {inside})?)"
    words = (
        rf"\b(?:{noun}(?: (?:itself|also|even|then|only|just|that))* {says}{which}|{foreign} (?:\w+ )?{inside}"
        rf"|(?P<ignored>ignor(?:e|ed|es|ing) {one}))[^\w.!?]*$"
    )
    return re.compile(words.replace(" ", " +"), re.IGNORECASE)


def is_of_document(marked: MarkedReply, start: int) -> bool:
    """Return True if the words before ``start``, on its line or above, ascribe what follows to the document."""
    begin = marked.line_start(start)
    if CONTENT.search(marked.lines, begin, start):
        return _is_ascribed(marked, max(begin, start - LOOK_BACK), start)
    above = [
        (first, end)
        for first, end in marked.spans(max(begin - LOOK_BACK, 0), begin)
        if CONTENT.search(marked.lines, first, end) and not _FENCE.match(marked.text, first, end)
    ]
    return bool(above) and _is_ascribed(marked, *above[-1])


def _is_ascribed(marked: MarkedReply, start: int, end: int) -> bool:
    """Return True if the text from ``start`` to ``end`` ascribes what follows to the document."""
    match = _of_document(marked.codebook.unit).search(marked.lines, start, end)
    if match is None:
        return False
    sentence = SENTENCE_END.split(marked.lines[start : match.start()])[-1]
    return match["ignored"] is not None or not _OWN_BASIS.search(sentence)


def is_reporting(before: str) -> bool:
    """Return True if casefolded words mark what follows as another role's or as supposed."""
    return any(sign.search(before) for sign in (_ANOTHERS, _REPORTED, _SUPPOSED))


def is_reported(marked: MarkedReply, start: int, *, denied: bool = True) -> bool:
    """Return True if the text before ``start`` marks what follows as another role's, as supposed or as ``denied``.

    That text is the words before ``start`` on its line, or the nearest line above that ends with a colon or is a
    heading, with further lines that end with a colon above it. A whole sentence before ``start`` is ignored ("The
    extractor missed B. Labels: A, B"), unless it is about the form of replies.
    """
    begin = marked.line_start(start)
    before = marked.lines[max(begin, start - LOOK_BACK) : start]
    if before and not SENTENCE_END.split(before)[-1]:
        return _FORM.search(before.casefold()) is not None
    before = before.strip()
    if not before:
        above = marked.lines[max(begin - LOOK_BACK, 0) : begin].rstrip().split("\n")
        before = above.pop()
        while before.endswith(":") and above and above[-1].rstrip().endswith(":"):  # "For example:\nFinal Ratings:"
            before = f"{above.pop().strip()} {before}"
        if not before.endswith(":") and not before.lstrip().startswith("#"):
            return False
    before = before.casefold().rstrip(" :")
    return is_reporting(before) or (denied and bool(DENIED.search(before) or _OTHERWISE.search(before)))


def without_reasoning(text: str) -> str:
    """Return ``text`` without the reasoning at its start.

    Reasoning is ``<think>`` blocks, closed or not, and the text before a closing tag on its own line, because some
    servers drop the opening tag. A tag ``<analysis>`` around a whole reply is removed, too.
    """
    stripped = text.strip()
    inner = stripped[len(_ANALYSIS) : -len(_END_OF_ANALYSIS)]
    is_wrapped = stripped[: len(_ANALYSIS)].lower() == _ANALYSIS and stripped.lower().endswith(_END_OF_ANALYSIS)
    if is_wrapped:
        # Padded, because callers derive positions from the length of the text that is left.
        return inner.ljust(len(text) - text.index(">") - 1)
    while match := _THOUGHTS.match(text):
        text = text[match.end() :]
    closing = _END_OF_THOUGHT.search(text) if "</" in text else None
    return text[closing.end() :] if closing else text


_PLAIN = str.maketrans(
    dict.fromkeys("\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", "\n")
    | dict.fromkeys("\t\r\x1f\xa0\u1680\u202f\u205f\u3000*`\u200e\u200f\ufeff", " ")
    | dict.fromkeys(map(chr, range(0x2000, 0x200C)), " ")
    | {"：": ":", "＃": "#"}
)
"""Line breaks as line ends; other white space, marks without width and emphasis as spaces."""


def answer_of(text: str) -> str:
    """Return a reply without reasoning and without what follows its end, padded with spaces at the end."""
    text = without_reasoning(text)
    if (end := _END_OF_REPLY.search(text)) and not _STRUCK_AT_END.search(text, max(end.start() - LOOK_BACK, 0)):
        text = text[: end.start()].ljust(len(text))
    if thought := _OPEN_THOUGHT.search(text, text.rfind("/think") + 1):  # never closed
        text = text[: thought.start()].ljust(len(text))
    return text


@lru_cache(maxsize=2)  # a reply is read for its decision and then for its quotations
def parse_markers(text: str, codebook: Codebook) -> MarkedReply:
    """Find everything in a reply that may be a decision. Never fails; takes time in proportion to the text.

    A line ``Undecided: ...`` leaves labels open, unless that is a label's name.
    """
    text = answer_of(text)
    blocks, unclosed = find_json_blocks(text)
    lines = re.sub(r"\r(?!\n)", "\n", text).translate(_PLAIN)
    json_ranges = ((block.start, block.end) for block in blocks)
    lines = replace_ranges(lines, json_ranges, lambda json: re.sub(r"[^\n]", "\x00", json))
    quoted = outermost((*double_quoted(lines), *_foreign_spans(lines)))
    markers = _asserted_markers(lines, codebook, quoted, weak=False)
    undecided = [] if names_of(codebook).find("Undecided") else [m for m in markers if m.kind == "undecided"]
    return MarkedReply(
        text=text,
        lines=lines,
        markers=_with_limits([marker for marker in markers if marker.kind != "undecided"]),
        undecided=_with_limits(undecided),
        blocks=tuple(block for block in blocks if not _is_quoted(block, lines, quoted)),
        quoted=quoted,
        torn=max(unclosed, _torn_marker(lines)),
        codebook=codebook,
    )


def _foreign_spans(lines: str) -> Iterator[Span]:
    """Yield struck text and repeated parts of the prompt: closed ones, and unclosed ones that begin a line.

    A tag inside a line is only a word about the prompt: "The text in <document> says".
    """
    folded, end = lines.casefold() if lines.isascii() else lines, 0
    for match in _FOREIGN.finditer(lines):
        if match.start() < end:
            continue
        tag = match["tag"]
        closing = folded.find(f"</{tag.casefold()}", match.end()) if tag else -1
        if tag is None:
            yield Span(*match.span())
        elif closing >= 0 or not lines[lines.rfind("\n", 0, match.start()) + 1 : match.start()].strip(" >"):
            end = closing + len(tag) + 2 if closing >= 0 else len(lines)
            yield Span(match.start(), end)


def _asserted_markers(lines: str, codebook: Codebook, quoted: Sequence[Span], *, weak: bool) -> list[Marker]:
    """Return the markers that count, in order and without overlaps, each with the end of its line as limit.

    A denied marker denies the statement that it announces: "I doubt the final decision is: The label is A".
    """
    markers: list[Marker] = []
    for kind, regex in marker_patterns(codebook.unit):
        for match in regex.finditer(lines) if (kind in _WEAK) == weak else ():
            plain = "colon" in regex.groupindex and match.lastgroup is None
            start = match.end() - len(match.group().lstrip(" >#"))
            limit = lines.find("\n", match.end())
            markers.append(Marker(kind, start, match.end(), plain, limit if limit >= 0 else len(lines)))
    markers.sort(key=lambda marker: (marker.start, -marker.end))
    asserted: list[Marker] = []
    last_end = denied_end = -1
    for marker in markers:
        if marker.start < last_end or is_inside(marker.start, quoted):
            continue
        last_end = marker.end
        is_announced_by_denied = 0 <= denied_end <= marker.start and not lines[denied_end : marker.start].strip(
            " \"'“_(["
        )
        if _is_asserted(lines, marker, names_of(codebook)) and not is_announced_by_denied:
            asserted.append(marker)
        else:
            denied_end = marker.end
    return asserted


def _with_limits(markers: Sequence[Marker]) -> tuple[Marker, ...]:
    """Return the markers, each limited by the next one."""
    limited = (replace(marker, limit=min(marker.limit, after.start)) for marker, after in pairwise(markers))
    return (*limited, *markers[-1:])


def _is_asserted(lines: str, marker: Marker, names: Names) -> bool:
    """Return True if the sentence asserts its content: not a report, a condition or a denial."""
    if marker.kind == "undecided":
        return True
    if marker.kind == "sentence" and _is_inside_name(lines, marker.end, names):
        return False  # "Arts, culture fits better", if "Arts, culture" is a label
    if marker.kind == "final" and _ANOTHERS.search(lines[marker.start : marker.end].casefold()):
        return False  # "Final Decision (Critic): ..."
    if "would" in lines[marker.start : marker.end] and UNMET.match(lines, marker.end):
        return False  # "I would go with A if the praise were sincere"
    if marker.kind in ("aspects", "label") and is_elsewhere(lines[marker.start : marker.end], names.unit):
        return False  # "The aspects present in the example are: ..."
    if marker.kind in ("aspects", "label", "revised", "sentence") and (denied := _NOT_SO.match(lines, marker.end)):
        line = lines[denied.end() : min(marker.limit, denied.end() + _LOOK_AHEAD)]
        if not _CONTRAST.search(line) and not _is_name(line, names):
            return False
    begin = max(lines.rfind("\n", 0, marker.start) + 1, marker.start - LOOK_BACK)
    before = lines[begin : marker.start]
    if before and before[-1] in "'‘" and before.strip(" '‘>-#_"):
        return False
    above = "" if before.strip(" *>#-") else lines[max(begin - LOOK_BACK, 0) : begin].rstrip().casefold()
    above = _OWN_WORDS.sub("", above.rpartition("\n")[2])
    if _INSTRUCTED.fullmatch(above) or (above.endswith(":") and _ANOTHERS.search(above) and _REPORTED.search(above)):
        return False
    if before.lstrip().startswith(">") and _UNQUOTED.search(lines, marker.end):
        return False  # a quotation, and the answer to it
    for sentence in SENTENCE_END.finditer(before):
        begin = marker.start - len(before) + sentence.end()
    before = _OWN_WORDS.sub("", lines[begin : marker.start].casefold())
    clause = _CLAUSE.split(before)[-1]
    return not (
        _REPORTED.search(before)
        or _SUPPOSED.search(before)
        or _UNSURE.search(before)
        or DENIED.search(clause)
        or _OTHERWISE.search(before)
    )


def _is_inside_name(lines: str, position: int, names: Names) -> bool:
    """Return True if a position is inside a label's name on its line."""
    begin = max(lines.rfind("\n", 0, position) + 1, position - LOOK_BACK)
    before = lines[begin : position + LOOK_BACK].partition("\n")[0]
    return any(mention.start < position - begin < mention.end for mention in names.mentions(before))


def _is_name(line: str, names: Names) -> bool:
    """Return True if a line starts with a whole label name: "Not mentioned", but not "not mentioned in the text"."""
    folded = fold(line[: MAX_NAME + LOOK_BACK])
    named = names.at(folded, 0)
    return named is not None and _ENTRY_END.match(folded.text, named[1]) is not None


def is_inside(position: int, spans: Sequence[Span]) -> bool:
    """Return True if a position is inside one of the spans (in order, disjoint); their first mark is outside."""
    index = bisect_right(spans, position, key=lambda span: span.start) - 1
    return index >= 0 and spans[index].start < position < spans[index].end


def _is_quoted(block: Block, lines: str, quoted: Sequence[Span]) -> bool:
    neighbours = lines[max(block.start - 1, 0) : block.start] + lines[block.end : block.end + 1]
    return is_inside(block.start, quoted) or neighbours in ("''", "‘’")


def _torn_marker(lines: str) -> int:
    """Return the position at which the last line breaks off in the words of a marker, or -1."""
    last = SENTENCE_END.split(lines[lines.rfind("\n") + 1 :][-LOOK_BACK:])[-1]
    words = " ".join(last.casefold().split()).lstrip(" >#_-\"'“«")
    spaces = [space.end() for space in re.finditer(" ", words)]
    endings = (words[start:] for start in (0, *spaces[-_MAX_BEGINNING_WORDS:]))
    torn = any(
        form.startswith(ending) or ending.startswith(form)
        for ending in endings
        if len(ending) >= _MIN_BEGINNING_CHARACTERS
        for form in _BEGINNINGS
    )
    return len(lines) - len(last) if torn else -1
