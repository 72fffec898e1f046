"""Readings of ratings: announced, on lines ``Dimension: number``, in sentences, and JSON."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import replace
from typing import Any

from core.codebook import Codebook
from core.debate.reading.base_reader import CUT, ReplyReader, other_entries
from core.debate.reading.contradictions import NOT_GIVEN, check_following, check_rating_lines, is_anothers
from core.debate.reading.decision_markers import ROLE, SENTENCE_BREAK, Marker, is_inside, is_reported
from core.debate.reading.json_answers import is_earlier_key
from core.debate.reading.json_blocks import Block, entries, entry_name, lookup, nested
from core.debate.reading.label_names import IGNORED, Names, names_of, split_ordinals
from core.debate.reading.labels_grammar import NOT_IN_CODEBOOK, Unreadable, quoted_names
from core.debate.reading.normalise import Folded, fold, replace_ranges
from core.debate.reading.tokens import LEFT_OPEN, NUMERALS, UNITS
from core.debate.turns import Reading
from core.documents import Value, is_number

_DECORATION = frozenset(" |-+•–—.)([]>_" + IGNORED)
_WRAPPED = rf"[\s_\[({re.escape(IGNORED)}]*+"
_BETWEEN = re.compile(
    rf"[\s_{re.escape(IGNORED)}]*+(?:(?:rating|score)[\s_{re.escape(IGNORED)}]*+)?(?:(?:\([^()]{{0,80}}\)|\[\d[^\[\]]{{0,40}}\])\s?)?"
    rf"(?::|=|\||→|[-–—]\s){_WRAPPED}(?:[^\W\d]{{2,20}}\s(?=\(\d){_WRAPPED})?"
)
_OUT_OF = r"(?:/|out\sof(?:\sa\spossible)?|of|von|sur|de|di|из|满分)"
_SCALE = r"[(\[,]?\s?(?:on\s(?:a|the)\s)?(?:scale|range)\s?:?\s?(?:(?:of|from)\s)?[-−]?\d{1,15}\s?(?:[-–—]|to)"
"""Words before the upper end of the scale that a rating is on: "7 (scale 1-10)", "7 on a scale of 1 to 10"."""
_NUMBER = re.compile(
    rf"(?P<number>[-+−–]?\d{{1,15}}(?:\.\d{{1,15}})?)(?!\d|[.,:]\d|\sof\s(?:all|its|the)\b|\s?(?:[-–—~→⇒+]|[-=]>)\s?\d|\s?[%?±]|\+|[a-z]|\s(?:minus|plus)\s(?:\d|one\b|half\b)|[-–]\s*$|\s(?:(?:to|or|and|vs\.?)\s)?\d"
    r"|\s?/\s?\d{1,15}\s?/|,\s?\d{1,15}\s?(?:$|[,;|)]))"
    rf"[\s_{re.escape(IGNORED)}]*+(?:(?:{_OUT_OF}|{_SCALE})\s?(?P<top>\d{{1,15}}))?"
)
_MINUS = re.compile("[−–]")
_NEGATIVE = re.compile(r"[-−–]\d")
_NOTHING = re.compile(
    rf"(?:n/?a|none|null|undecided|unclear|not rated|unknown|[-–—?]++)[\s.{re.escape(IGNORED)}]*+(?:$|[,;|(])"
)
_OTHER = re.compile(rf"(?P<name>[^:=|,;\d]{{1,80}}?)\s?[:=|]{_WRAPPED}[-+−]?\d")
_NEXT = re.compile(r"[,;|]\s")
_BARE = re.compile(r"\s(?=\d{1,15}(?:\.\d{1,15})?\s?(?:/\s?\d{1,15})?\s?(?:\.?$|[,;|(]))")
"""Between a dimension and its number where both stand alone: "Fluency 2; Overall 3"."""
_SECOND = re.compile(
    r"(?P<words>\D{0,100}?)(?<![\d.,/\w-])(?P<number>\d{1,15}(?:\.\d{1,15})?)(?=\W*(?:$|[.,;!?)]"
    r"|(?:after|and|because|but|due|for|given|instead|or|out|points?|since|stars?|then|though|too)\b))"
    r"|(?<=\)), ?\d{1,15} ?\(|\b(?:extractor|critic|opponent)['’]s \d{1,15} (?:is|was) (?:better|fairer|closer|more)\b"
)
"""Another number alone after a rating: "4 (now 3)", "4, or rather 3", "4, lowered to 3 after a remark"."""
_PART = re.compile(r"[,;(–—]")
_OTHER_SCALE = re.compile(
    r"(?:\(\s?(?:scale:?\s)?(?:of\s|from\s)?[-−]?\d{1,3}\s?(?:[-–—]|to|bis)\s?"
    r"|(?:\(\s?|(?:ratings?|scores?)\s)\(?(?:out\sof|max(?:imum)?[.:]?(?:\sof)?|/)\s?"
    r"|\b(?:scale|range)\s(?:of\s|from\s)?[-−]?\d{1,3}\s?(?:[-–—]|to|bis)\s?)(?P<top>\d{1,15})(?=\s?(?:$|[):,;.|]))",
    re.IGNORECASE,
)
"""A scale in a heading, a column or beside a rating: "(1-10)", "(out of 10)", "Score /10", "on a scale of 1 to 10"."""
_TOP_KEYS = ("scale", "range", "max", "maximum", "max_score", "max_rating", "out_of", "scale_max")
_TOTAL = re.compile(r"total|^sum$")
_INTEGER = re.compile(r"\d{1,15}")
_WORD_BEFORE = re.compile(r"\w+\W*\Z")
_RATING_KEYS = re.compile(r"rating|score|value|final|revis|correct|adjust|new|updat")
_LOOK_AHEAD = 1_000
"""Characters after a rating in which words about it are searched, and the most of a sentence that consists of ratings.
Without a limit, a long line takes quadratic time."""
_TAKEN_BACK = re.compile(
    r"[\s*_]*[,(–—-]?\s*(?:at (?:most|least|best|worst)|for now|(?:un|not )sure|uncertain|though \d"
    r"|roughly|approximately"
    r"|(?:and|&) (?:a|one) (?:half|quarter)|point \d|or (?:higher|lower|more|less|so|above|below)|is too\b"
    r"|(?:too (?:high|low|generous|strict|harsh|lenient)|wrong|incorrect)\W*$|(?:the )?(?:extractor|critic|opponent)\))"
)
"""Words after a rating that make it a limit, reject it or ascribe it to another role."""
_PLAIN = re.compile(
    r"[^:=|\n]{0,10}\|?[^:=|\n]{1,120}(?:[:=|→]|\s[-–—])[\s*_`\"'(\[]*[-+−–]?\d{1,15}(?:\.\d{1,15})?[\s*_`\"')\]]*"
    rf"(?:{_OUT_OF}\s?\d{{1,15}}[\s*_`\"')\]]*)?(?:[分点점]|\s(?i:stars?|points?|punkte?)\b)?"
    r"(?:$|[|,;(–—].*|\s-\s.*|[.:](?:\s.*)?|(?<=\s\s\s)\S.*|\s(?:because|since|due\sto)\b.*)"
)
_SCORE = re.compile(r"(?:(?:the|my|final) )*(?:rating|score|overall(?: rating| score)?)(?![^\W_])")
"""Words in place of the name of the only dimension."""
_POINT = re.compile(
    rf"[-+−–]?\d{{1,15}}(?:\.\d{{1,15}})?\s?(?:{_OUT_OF}\s?\d{{1,15}}|(?:points?|stars?)\b)?[\s.{re.escape(IGNORED)}]*$"
)
"""A line that is the rating of the only dimension."""
_NUMBERED = re.compile(r"[\s*_`\"'(\[]*[-+−]?\d{1,15}(?:\.\d{1,15})?(?:\s?/\s?\d{1,15})?[\s*_`\"')\]]*")
_DECIDING_COLUMNS = (
    re.compile(r"\b(?:final|decision|decided|judge|verdict|consensus)\b", re.IGNORECASE),
    re.compile(rf"^(?!.*\b{ROLE}).*\b(?:ratings?|scores?)\b", re.IGNORECASE),
)
"""Titles of the column that has the ratings, the surest first."""
_COUNTS = re.compile(r"\b(?:errors?|mistakes?|count|number|weight|max(?:imum)?|confidence|mentions?)\b", re.IGNORECASE)
"""Titles of columns with other numbers."""
_NO_LATER = re.compile(
    rf"^(?!.*\bafter\b)(?:.*(?:{_COUNTS.pattern}"
    rf"|\b(?:{ROLE}|{UNITS}|mean|median|average|initial|previous|earlier|round 1)\b)"
    r"|[^a-z]*$|no\.?$)",
    re.IGNORECASE,
)
"""Titles of a column that has no later ratings than the one titled "Rating"."""
_MAX = re.compile(r"\W*max", re.IGNORECASE)
_WIDE_SCALE = 10
"""Highest point from which on a number below 1 may be a fraction of the scale."""
_BOXED = re.compile(r"\$*\\boxed\s*\{\s*(?:\\text\s*\{)?([^{}\n]*)\}{1,2}\$*")
_TAGGED = re.compile(r"<(?P<name>[^<>/\n]{1,80})>\s*+(?P<given>[^<>\n]{1,40})</(?P=name)>")
_NUMERAL = re.compile(rf"\b(?:{'|'.join(NUMERALS)})\b(?!-)", re.IGNORECASE)
_WRITTEN_OUT = re.compile(
    rf"(?:[:=|]|^)[\s*_]*+(?={_NUMERAL.pattern}[\s*_]*(?:$|[.,;|()/–—-]|out of|stars|points|because))", re.IGNORECASE
)
"""Before a rating in words: "Fluency: four out of five", "Four"."""
_REASON_FIRST = re.compile(
    r"^(?P<name>(?:\d{1,2}[.)] )?[^:\d\n]{1,80}:[*_]*)"
    rf"(?P<reason>\s(?!.*\b(?:{ROLE}|rat(?:ing|ed)|scored?\b|not\W*\())[^\d\n]{{1,400}}?(?<![ *_]))[ *_]*+"
    r"[(\[](?P<given>\d{1,15}(?:\.\d{1,15})?\s?/\s?\d{1,15})[)\]][\s.*_]*$",
    re.IGNORECASE,
)
"""A line with the rating after its reason: "Fluency: It reads well. (4/5)"."""
_STARS = re.compile(r"(?P<full>[★⭐]{0,20})(?P<empty>☆{0,20})(?<=[★☆⭐])(?: ?(?P<stated>(?=\(\d))|(?=\W{0,20}$))")
_ORDINAL = re.compile(r"\d{1,3}[.)]\s")

# Sentences in which § is a dimension: "I give § a 4 and § a 5", "a 4 for §", "§ is a 3 because ..."
_VERB = (
    r"(?:rated?|g[ia]ve|assign(?:ed)?|scored?|set|ke(?:ep|pt)|lower(?:ed)?|raised?|reduced?|increased?|changed?|award)"
)
_OWN = (
    rf"(?:i|we)(?:['’](?:d|ll|ve))?(?: (?:would|will|now|still|also|therefore|have))* {_VERB}(?: (?:it|(?:this|the)"
    r"(?: [a-z]+){1,2}?))?(?: (?:as|with))?"
)
_SUBJECT = r"(?:it|(?:this|the) (?!(?:extractor|critic|opponent|annotator|judge|author|other|human)\b)[a-z]+)"
_GETS = r"(?:gets|receives|deserves|merits|earns|scores)"
_LEAD = (
    r"(?:\d{1,3}[.)] )?(?:(?:overall|so|thus|therefore|finally|in sum|after [^§\d.:]{1,60}?),? )?"
    rf"(?:(?:{_OWN}|{_SUBJECT} {_GETS}|i agree with (?!neither|none|no )[^§:]{{1,40}}:"
    r"|(?:(?:my|the) )?(?:(?:final|overall) )?(?:ratings|scores)(?: (?:are|would be)(?: as follows)?)?(?: ?[:–—-])?) )?"
)
_RATED = rf"(?:(?:(?:is|was)(?: rated)?|{_GETS}|at|as|of)|(?:from \d{{1,15}} )?to|i(?:['’]d| would) say)"
_GIVEN = (
    r"(?P<given>[-+−–]?\d{1,15}(?:\.\d{1,15})?|n/?a\b|not rated\b)"
    r"(?:[)\]>]|(?: ?/ ?| out of )\d{1,15}| points?\b| stars?\b)*"
)
_AND = rf"(?: ?[,;|])? ?(?:(?:and|but|while) )?(?:{_VERB} )?"
_PAIR = re.compile(
    rf"{_AND}(?:(?:on|for|in) )?(?:(?:the |my )?(?:rating|score) (?:for|of|on) |the )?(?P<of>§+)"
    r"(?:['’]s)?(?: (?:rating|score))?"
    rf"(?: ?[:=,]| [-–—])?(?: {_RATED})?(?: an?)?(?: (?:rating|score) of)? ?(?:[(\[]|<(?=\d{{1,3}}>))?{_GIVEN}"
)
_REVERSED = re.compile(rf"{_AND}(?:an? )?{_GIVEN} (?:for|on|in|to) (?P<of>§+)")
_SOLE = re.compile(
    rf"[^\w§>]*(?:{_LEAD}(?P<own>(?:{_SUBJECT} {_GETS}"
    r"|(?:it|(?:my|the|this)(?: final| overall)? (?:rating|score)) is) )"
    rf"|(?P<rated>{_LEAD}))(?:an? )?(?:(?:solid|strong|clear|full|weak) )?(?:(?:rating|score) of )?{_GIVEN}"
)
"""The same of the only dimension, without its name."""
_END = re.compile(r"(?:(?:,? ?\(?(?:because|since|as|due to|given)\b| ?[:–—-] )[^§\d?]*)?[^\w§?]*")
_LEADS = re.compile(rf"[^\w§>]*{_LEAD}")
_TITLE = re.compile(r"[^\w§]*(?P<of>§+)[^\w§]*")
_BELOW = re.compile(rf"(?P<named>[^\w§]*(?:my |the |final )?(?:rating|score) ?[:=] ?)?{_GIVEN}(?(named).*|\W*)")
"""The line below a title that is a dimension: "Score: 4", "4"; below the reason, only "Score: 4"."""
_PROSE = re.compile(r"(?!#)(?>.*[.!?…])[\W_]*")
"""A line below such a title that is part of its reason: another title or a remark about something else ends it."""
_DIGIT = re.compile(r"\d")
_REPORT = re.compile(rf"\b{ROLE}[^.:\n]{{0,200}}\b(?:follows|following)[.:]", re.IGNORECASE)
"""A sentence after which another role's ratings follow."""
_OTHERS = re.compile(rf"\W*{ROLE}")
_WITHOUT_EMPHASIS = dict.fromkeys('*_`#"“”', "")


class RatingsReader(ReplyReader):
    """A reading of a decision on a codebook of ratings. Dimensions without a rating are undecided."""

    marker_kinds = ("final", "ratings")
    keys = ("final_ratings", "ratings", "scores")

    def _read_marker(self, marker: Marker) -> Reading | None:
        """Read the block after a marker, or else the ratings in the lines and sentences after it."""
        marked = self.marked
        if (block := self._block_at(marked.past_marker(marker.end, marker.limit))) is not None:
            return self._read_block(block)
        collected, table = _CollectedRatings(self.codebook), _Table(self.names)
        last, is_ended = marker.end, False
        for start, end in marked.spans(marker.end):
            before = len(collected.ratings)
            line = table.decided(marked.text[start:end])
            if not collected.line(line):
                for sentence in SENTENCE_BREAK.split(line[:_LOOK_AHEAD]):
                    collected.sentence(_Masked(sentence, self.names))
            if len(collected.ratings) > before:
                last, is_ended = end, end < len(marked.text)
        if self.cut and not (is_ended and all(item in collected.ratings or item in self.open for item in self.items)):
            raise Unreadable(CUT)
        ratings = collected.reading()
        self._check_ratings(ratings, marker.start, last)
        return self._ratings_reading(ratings)

    def _read_value(self, block: Block, value: Any) -> Reading:
        ratings = _ratings_in(block.data if value is None else value, self.codebook)
        self._check_other_ratings(block, ratings, value)
        self._check_ratings(ratings, block.end, block.end)
        return self._ratings_reading(ratings)

    def _read_answers_by_name(self, block: Block) -> Reading | None:
        stated = self._stated_by_name(block)
        if not stated and len(self.items) == 1:
            stated = {self.codebook.labels[0].name: lookup(block.data, "rating", "score")}
        numbers = block.data if isinstance(block.data, list) else stated
        ratings = _ratings_in(numbers, self.codebook)
        self._check_other_ratings(block, ratings, numbers)
        self.start = block.start
        return self._reading_if_all_rated(ratings, block.end)

    def _check_other_ratings(self, block: Block, ratings: Reading, decision: Any) -> None:
        """Raise ``Unreadable`` if other keys of an object state another scale or other ratings.

        {"max": 15} may be the scale of a total.
        """
        for data in nested(block.data):
            totals = [n for key, n in data.items() if _TOTAL.search(key.casefold()) and isinstance(n, int | float)]
            for key, value in data.items():
                is_of_total = bool(totals) and isinstance(value, int | float) and value >= max(totals)
                is_top = key.strip().casefold() in _TOP_KEYS and self.names.find(key) is None
                if is_top and not is_of_total and _is_other_top(value, self._tops):
                    raise Unreadable(f"it rates on another scale: {quoted_names([str(value)])}")
        for key, value in other_entries(block, decision):
            if isinstance(value, dict | list) and _RATING_KEYS.search(key.casefold()):
                others = _ratings_in(value, self.codebook).values
                if any(ratings.values.get(item, number) != number for item, number in others.items()):
                    raise Unreadable(f"another key contradicts its ratings: {quoted_names([key])}")

    @property
    def _tops(self) -> set[int]:
        """The highest points of the scales."""
        return {self.codebook.scale_of(item).max for item in self.items}

    def _read_unmarked(self) -> Reading | None:
        return self._read_rated_lines() or self._read_rated_sentences()

    def _read_rated_lines(self) -> Reading | None:
        """Return the ratings on lines ``Dimension: number``, which start at the first of them.

        A line counts only if nothing but a remark follows its number; none counts if one of them is reported. The
        number of the only dimension may stand alone on the first or the last line.
        """
        marked, collected, table = self.marked, _CollectedRatings(self.codebook), _Table(self.names)
        first, last = 0, -1
        reply_text = marked.lines.strip()
        first_and_last = (reply_text.partition("\n")[0].strip(), reply_text.rpartition("\n")[2].strip())
        for start, end in marked.spans():
            boxes = list(_BOXED.finditer(marked.text, start, end)) if collected.sole else []
            boxed = boxes[-1] if boxes else None
            line = boxed[1] if boxed else table.decided(marked.text[start:end])
            is_extract = line != marked.text[start:end]
            line_text = _in_digits(line if is_extract else _unwrapped(marked.lines[start:end]))
            alone = (boxed or marked.lines[start:end].strip() in first_and_last) and _POINT.match(line_text.strip())
            if (alone or _PLAIN.fullmatch(line_text)) and collected.line(line):
                start = boxed.start() if boxed else start
                if len(boxes) > 1 or is_reported(marked, start) or is_inside(start, marked.quoted):
                    return None
                first, last = first if last >= 0 else start, end
        return self._reading_of(collected, last, start=first)

    def _read_rated_sentences(self) -> Reading | None:
        """Return the ratings in the sentences of a reply, None if a sentence is unclear.

        Every sentence with a dimension and a number must consist of ratings ("I give Clarity a 4 and Tone a 5"), with a
        reason after them at most, unless it reports what others say.
        """
        marked, collected = self.marked, _CollectedRatings(self.codebook)
        if _REPORT.search(marked.lines):
            return None
        last = -1
        above = section = ""
        for begin, stop in marked.spans():
            start = begin
            is_prose = _PROSE.fullmatch(marked.lines, begin, stop)
            for sentence in SENTENCE_BREAK.split(marked.lines[begin:stop]):
                start = marked.lines.index(sentence, start)
                end = start + len(sentence)
                if len(sentence) > _LOOK_AHEAD:
                    return None
                masked = _Masked(marked.text[start:end], self.names)
                title = _TITLE.fullmatch(masked.text)
                has_ratings = collected.below(above, section, masked) or collected.sentence(masked)
                if (title or has_ratings) and (is_reported(marked, start) or is_inside(start, marked.quoted)):
                    return None
                if has_ratings:
                    last = end
                elif "§" in masked.text and _DIGIT.search(masked.text) and not _OTHERS.match(masked.text):
                    return None
                if sentence.strip():
                    above = masked.item(title.start("of")) if title else ""
                    if title or not (has_ratings or is_prose):
                        section = above
                start = end
        return self._reading_of(collected, last)

    def _reading_of(self, collected: _CollectedRatings, end: int, start: int = 0) -> Reading | None:
        is_cut = self.cut and end >= len(self.marked.text)
        return None if is_cut else self._reading_if_all_rated(replace(collected.reading(), start=start), end)

    def _reading_if_all_rated(self, ratings: Reading, end: int) -> Reading | None:
        if not ratings.values or self._missing({**ratings.values, **ratings.undecided}):
            return None
        self.start = ratings.start or self.start
        self._check_ratings(ratings, self.start, end)
        return self._ratings_reading(ratings)

    def _check_ratings(self, ratings: Reading, start: int, end: int) -> None:
        lines, heading = self.marked.lines, start
        while (heading := lines.rfind("\n", 0, len(lines[:heading].rstrip())) + 1) and lines.startswith("|", heading):
            pass  # a table, up to the line above its titles
        for match in _OTHER_SCALE.finditer(lines[heading:end]):
            before = _WORD_BEFORE.search(match.string, max(match.start() - 20, 0), match.start())
            if int(match["top"]) not in self._tops and not (before and NOT_GIVEN.search(before.group())):
                raise Unreadable(f"it rates on another scale: {quoted_names([match.group().strip()])}")
        check_rating_lines(self.marked.lines[start:end], ratings.values, self.names)
        check_following(self.marked.lines[end:], ratings.values, "rating", self.names)

    def _ratings_reading(self, ratings: Reading) -> Reading:
        unknown = ratings.unknown
        values = {item: ratings.values[item] for item in self.items if item in ratings.values and item not in self.open}
        if not values and self.open.keys() < set(self.items):
            reasons = [f"{self.names.written(item)}: {reason}" for item, reason in ratings.undecided.items()]
            outside = f"it names only {NOT_IN_CODEBOOK}: {quoted_names(unknown)}" if unknown else ""
            raise Unreadable(
                f"no dimension has a rating ({'; '.join(reasons[:5]) or outside or 'none is named'})", unknown
            )
        reasons_by_item = {**dict.fromkeys(self.items, "no rating given"), **ratings.undecided, **self.open}
        undecided = {item: reasons_by_item[item] for item in self.items if item not in values}
        missing = tuple(item for item, why in undecided.items() if item not in self.open and why != LEFT_OPEN)
        return Reading(values, undecided, unknown, missing=missing)


class _Masked:
    """A sentence without emphasis, in which § replaces every character of a dimension's name."""

    def __init__(self, source: str, names: Names) -> None:
        mentions = names.mentions(source)
        ranges = ((mention.start, mention.end) for mention in mentions)
        self.source = replace_ranges(source.replace("§", "?"), ranges, lambda name: "§" * len(name))
        self.folded = fold(self.source, _WITHOUT_EMPHASIS)
        self.text = self.folded.text
        self._items = {mention.start: mention.item for mention in mentions}

    def item(self, at: int) -> str:
        """Return the dimension whose name is at a position of ``text``."""
        return self._items[self.folded.starts[at]]


def _ratings_in(value: Any, codebook: Codebook) -> Reading:
    """Return the ratings of a JSON reply: {dimension: number}, or a list of objects with a name and a ``rating``."""
    collected = _CollectedRatings(codebook)
    pairs = entries(value) if isinstance(value, dict | list) else []
    if isinstance(value, dict) and is_number(entry_name(value)) and all(map(collected.names.find, value)):
        # a dimension has the name of a key: {"label": 4}
        pairs = list(value.items())
    for name, rating in pairs:
        collected.json(name, None if rating is True and isinstance(value, list) else rating)
    return collected.reading()


class _Table:
    """A table in which more than one column may have numbers: those of several roles, or of the dimensions."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._titles: list[str] = []

    def decided(self, line: str) -> str:
        """Return a row with the numbers that decide, as "Name | number"; any other line as it is.

        A row with several numbers and no decision leaves its dimension open.
        """
        if line.count("|") < 2:
            self._titles = []
            return line
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        numbers = [index for index, cell in enumerate(cells) if _NUMBERED.fullmatch(cell)]
        if not numbers:
            self._titles = self._titles or cells
            return line
        titles = dict(enumerate(self._titles[: len(cells)]))
        if all(self._names.find(titles.get(index, "")) for index in numbers):
            return ", ".join(f"{titles[index]}: {cells[index]}" for index in numbers)
        name = next((cell for cell in cells if self._names.find(cell.strip("*_` "))), cells[0])
        top = next((f"/{cells[index]}" for index in numbers if _MAX.match(titles.get(index, ""))), "")
        for title in _DECIDING_COLUMNS:
            deciding = [index for index in titles if index and title.search(titles[index])]
            if deciding:
                is_revised = not all(_NO_LATER.search(titles.get(index, "")) for index in {*numbers} - {*deciding})
                is_plain = len(deciding) == 1 and not (is_revised and title is _DECIDING_COLUMNS[-1])
                return f"{name} | {cells[deciding[0]] + top if is_plain else '?'}"
        is_rating = len(numbers) == 1 and not _COUNTS.search(titles.get(numbers[0], ""))
        return line if is_rating else f"{name} | ?"


class _CollectedRatings:
    def __init__(self, codebook: Codebook) -> None:
        self.scale_of = codebook.scale_of
        self.sole = codebook.items[0] if len(codebook.items) == 1 else None
        self.names = names_of(codebook)
        self.ratings: dict[str, list[Value]] = {}
        self.reasons: dict[str, str] = {}
        self.unknown: dict[str, None] = {}
        """Names outside the codebook."""

    def line(self, text: str) -> bool:
        """Take the ratings at the start of a line; return True if there are any."""
        text = split_ordinals(_in_digits(_unwrapped(text.replace("§", "?"))), self.names)
        folded = fold(text)
        before = sum(map(len, self.ratings.values()))
        position = 0
        while following := self._entry(text, folded, position):
            position = following
        return before < sum(map(len, self.ratings.values()))

    def _entry(self, text: str, folded: Folded, position: int) -> int:
        """Take the rating at a position of a line and return the start of the next one, 0 after the last."""
        if ordinal := _ORDINAL.match(folded.text, position):
            position = ordinal.end()
        name_match = self.names.at(folded, position)
        while (
            name_match is None
            and position < len(folded.text)
            and folded.text[position] in _DECORATION
            and not _NEGATIVE.match(folded.text, position)
        ):
            position += 1
            name_match = self.names.at(folded, position)
        if name_match is None and self.sole is not None:
            if _POINT.match(folded.text, position):
                self.read_words(self.sole, text, folded, position)
                return 0
            score = _SCORE.match(folded.text, position)
            name_match = (self.sole, score.end()) if score else None
        end = name_match[1] if name_match else len(folded.text)
        between = _BETWEEN.match(folded.text, end) or _BARE.match(folded.text, end)
        if name_match is None or between is None:
            if other := _OTHER.match(folded.text, position):
                start, end = folded.source(*other.span("name"))
                self.unknown.setdefault(text[start:end].strip(" *_#\"'"))
            return 0
        self.read_words(name_match[0], text, folded, between.end())
        following = _NEXT.search(folded.text, between.end())
        return following.end() if following else 0

    def sentence(self, masked: _Masked) -> bool:
        """Take the ratings of a sentence that consists of them; return False, and take nothing, for any other."""
        text = masked.text
        lead = _LEADS.match(text)
        position = lead.end() if lead else 0
        pairs: list[tuple[str, int]] = []
        while pair := _PAIR.match(text, position) or _REVERSED.match(text, position):
            item, given = masked.item(pair.start("of")), pair.start("given")
            is_signed = text[given - 1 : given] in ("-", "–", "—") and self.scale_of(item).min < 0
            pairs.append((item, given - is_signed))
            position = pair.end()
        if not pairs and self.sole and (alone := _SOLE.match(text)) and (alone["own"] or alone["rated"]):
            pairs, position = [(self.sole, alone.start("given"))], alone.end()
        if not pairs or _END.fullmatch(text, position) is None:
            return False
        for item, offset in pairs:
            self.read_words(item, masked.source, masked.folded, offset)
        return True

    def below(self, title: str, section: str, masked: _Masked) -> bool:
        """Take the rating in a line directly below a title, or with "Score:" in its section; else return False.

        ``title`` and ``section`` are the dimensions that these titles name, empty for none.
        """
        match = _BELOW.fullmatch(masked.text)
        item = title or (section if match and match["named"] else "")
        if match is None or not item:
            return False
        self.read_words(item, masked.source, masked.folded, match.start("given"))
        return True

    def json(self, name: Any, value: Any) -> None:
        """Take the rating of one dimension in a JSON reply."""
        item = self.names.find(str(name))
        while isinstance(value, dict):
            folded = {str(key).strip().casefold(): number for key, number in value.items()}
            given = [n for key, n in folded.items() if _RATING_KEYS.search(key) and not is_earlier_key(key)]
            tops = [folded[key] for key in _TOP_KEYS if key in folded]
            if item is not None and any(_is_other_top(top, {self.scale_of(item).max}) for top in tops):
                self.reasons[item] = "it is rated on another scale"
                return
            value = next((folded[key] for key in ("rating", "score", "value") if key in folded), None)
            if item is not None and any(isinstance(n, int | float) and n not in (value, *tops) for n in given):
                self.reasons[item] = "rated with two numbers"
                return
        if item is None:
            self.unknown.setdefault(str(name)[:200])
        elif value is None:
            self.reasons[item] = LEFT_OPEN
        elif is_number(value):
            self.rate(item, value)
        else:
            text = _in_digits(f": {str(value)[:200].strip()}")[2:]
            self.read_words(item, text, fold(text), 0)

    def read_words(self, item: str, text: str, folded: Folded, position: int) -> None:
        """Take the words after a dimension's name."""
        words = folded.text[position : position + 40].strip()
        number = _NUMBER.match(folded.text, position)
        end = number.end() + _LOOK_AHEAD if number else 0
        if _NOTHING.match(folded.text, position) or not words:
            self.reasons.setdefault(item, LEFT_OPEN)
        elif (
            number is None
            or (number["number"][0] == "+" and self.scale_of(item).min >= 0)
            or _has_superscript(text, *folded.source(*number.span("number")))
        ):
            self.reasons.setdefault(item, f'"{words}" is not a number')
        elif number["top"] and int(number["top"]) != (top := self.scale_of(item).max):
            self.reasons.setdefault(item, f'"{number.group().strip()}" is not on the scale to {top}')
        elif _TAKEN_BACK.match(folded.text, number.end()) or is_anothers(folded.text[number.end() : end]):
            self.reasons.setdefault(item, f'"{words}" does not state a rating plainly')
        elif revised := self._revised(item, folded.text, number, end):
            self.reasons.setdefault(item, f'another number follows: "{revised.group().strip()}"')
        else:
            digits = _MINUS.sub("-", number["number"])
            self.rate(item, float(digits) if "." in digits else int(digits))

    def _revised(self, item: str, text: str, number: re.Match[str], end: int) -> re.Match[str] | None:
        """Return the words that give another rating, before the next dimension; None if there are none."""
        scale = self.scale_of(item)
        for revised in _SECOND.finditer(text, number.end(), end):
            between = text[number.end() : revised.end()]
            if "§" in between or self.names.mentions(between):
                return None
            other = revised["number"]
            if other is None or (
                float(other) != float(_MINUS.sub("-", number["number"]))
                and scale.min <= float(other) <= scale.max
                and not NOT_GIVEN.search(_PART.split(revised["words"])[-1])
            ):
                return revised
        return None

    def rate(self, item: str, value: int | float) -> None:
        """Take a number, if it is on the scale."""
        scale = self.scale_of(item)
        if 0 < value < 1 and scale.max >= _WIDE_SCALE:
            self.reasons[item] = f"{value} may be a fraction of the scale to {scale.max}"
        elif scale.min <= value <= scale.max:
            self.ratings.setdefault(item, []).append(value)
        else:
            self.reasons[item] = f"{value} is outside {scale.min} to {scale.max}"

    def reading(self) -> Reading:
        values = {item: ratings[0] for item, ratings in self.ratings.items() if len(set(ratings)) == 1}
        reasons = {item: reason for item, reason in self.reasons.items() if item not in values}
        conflicts = {
            item: f"rated {ratings[0]} and {ratings[1]}"
            for item, ratings in self.ratings.items()
            if len(set(ratings)) > 1
        }
        return Reading(values, reasons | conflicts, tuple(self.unknown))


def _is_other_top(value: Any, tops: Container[int]) -> bool:
    """Return True if a JSON value states a scale whose highest point is none of ``tops``."""
    top = max(map(int, _INTEGER.findall(str(value))), default=None)
    return top is not None and top not in tops


def _unwrapped(line: str) -> str:
    """Return a line with "Fluency: 4" for an XML element, without the boxes of LaTeX, and with the reason last."""
    line = _TAGGED.sub(r"\g<name>: \g<given>", _BOXED.sub(r"\1", line))
    return _REASON_FIRST.sub(r"\g<name> \g<given> –\g<reason>", line)


def _in_digits(line: str) -> str:
    """Return a line with the stars and number words of its ratings as digits; stars before "(4" are left out."""
    line = _STARS.sub(_count_stars, line)
    first = _WRITTEN_OUT.search(line)
    if first is None:
        return line
    remainder = _NUMERAL.sub(lambda word: str(NUMERALS.index(word.group().casefold())), line[first.end() :])
    return line[: first.end()] + remainder


def _count_stars(stars: re.Match[str]) -> str:
    full, empty = len(stars["full"]), len(stars["empty"])
    if stars["stated"] is not None or not full:
        return "" if stars["stated"] is not None else stars.group()
    return f"{full}/{full + empty}" if empty else str(full)


def _has_superscript(text: str, start: int, end: int) -> bool:
    """Return True if a number has footnote marks, which NFKC would turn into digits of it."""
    return any(character.isdigit() and not character.isdecimal() for character in text[start:end])
