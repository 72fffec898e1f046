"""The grammar of a decision on several labels: what lines of text state about each label, or the words left over.

A line is read completely or not at all. It consists of label names with separators, answers ("Food: yes"), headings
("Present: A, B", "Reject #A", a check mark), predicates ("A and B are absent"), denials ("but not A", "~~A~~") and
"none". A comment beside a name counts as read if it names no label, and takes nothing back. The rest is residue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import groupby, pairwise, takewhile
from typing import Literal, NoReturn, TypeAlias

from core.debate.reading.label_names import Names, split_ordinals
from core.debate.reading.tokens import (
    ANSWERS,
    LABEL_NOUNS,
    NEGATION_KINDS,
    NO_ANSWER,
    NO_SIGNS,
    NUMERALS,
    YES_SIGNS,
    Answer,
    MaybeAnswer,
    Token,
    every,
    is_elsewhere,
    past,
    tokenise,
)
from core.documents import storable

_HEDGES = frozenset({"hedge", "or", "question"})
_CONTRADICTIONS = NEGATION_KINDS | {"open", "mark", "closed", "rest"}
"""Kinds of tokens that contradict a yes without words."""
_BREAKS = frozenset({"comma", "semicolon"})
_BETWEEN = _BREAKS | {"and", "fill"}
_STARTERS = frozenset({"name", "struck", "mark", "neg", "rest", "closed", "none", "present", "absent"})
_HEADING_TOKENS = frozenset({"why", "fill", "word", "bracket", "verb"})
"""Tokens allowed between the word of a heading and its colon."""
_ASKED = frozenset({"verb", "fill", "word", "present", "why"})
"""Tokens allowed beside the name in a question about a label."""
_WHILE = frozenset({"while", "whereas", "but"})
_SINGULAR = frozenset({"is", "was", "ist", "est", "es", "è"})
_PLURAL = frozenset({"apply", "do not apply", "don't apply", "don’t apply"})
_OPINION_WORDS = frozenset({"positive", "negative", "neutral", "mixed", "low", "medium", "moderate", "high"})
"""Words that beside a name are an opinion or a degree, and as its only answer may mean present or absent."""
_VERDICTS = frozenset({"agree", "disagree", "agreed", "disagreed", "in", "out"})
_EXCEPT = re.compile(r"(?:and|but|,)? ?(?:except|excluding|leaving|apart|other|minus)")
_STRONG = re.compile(rf"{_EXCEPT.pattern}|(?:and|but|,)? ?without")
_BOX = rf"\[[ xX✓✔]?\]|\([ xX]\)|[{YES_SIGNS}{NO_SIGNS}]"
BULLET = re.compile(
    rf"(?P<indent>(?:[^\S\n]|>)*+)(?:(?P<mark>[-+*–—](?=\s)|[•‣◦·]"
    rf"|(?:\*\*|__)?\d{{1,3}}[.)](?!\d)|\(\d{{1,3}}\)|#{{1,6}}(?=\s))\s*|(?={_BOX}))"
)
_END = Token("", 0, 0)
_NEUTRAL_COLUMN = re.compile(
    r"\W*(?:decision|verdict|final|answer|value|status|presence|label|yes ?/ ?no|y/n|(?:is|was) it|applies"
    r"|in (?:the )?text|fits?|match(?:es)?|chosen|selected)\b"
)
_NOTE_COLUMN = re.compile(r"\W*(?:reason|evidence|quot|explanation|comment|note|justification|rationale|why)")
_TITLE = re.compile(r"\s*(?:#{1,6}\s|[*_]{2})")
_ROLE = re.compile(r"\W*(?:the )?(?:extractor|critic|opponent|annotator(?: \w)?)\W*", re.IGNORECASE)
UNLIKELY = re.compile(
    r"\W*(?:(?:confidence|probability)\W*)?(?:(?:[0-4]?\d|50)(?:\.\d+)? ?%|0?\.[0-4]\d*)"
    r"\W*(?:(?:confident|confidence|sure)\W*)?"
)
_TICK = re.compile(r"\s*[xX×•]\s*")
_MAX_RESIDUE_CHARACTERS, _MAX_NAME_WORDS = 400, 5
"""Most characters of a residue that are kept, and most words of an unknown name."""


_Column: TypeAlias = Answer | Literal["neutral", "note", "other"]
"""A column of a table: answers of one kind, answers of any kind, notes, or answers of others."""


NOT_IN_CODEBOOK = "what is not in the codebook"
"""Words for unknown names in a problem; ``parse_reply`` replaces them where the names are labels of the project."""


class Unreadable(Exception):
    """A decision that does not count. ``unknown`` are the words in it that look like names of labels."""

    def __init__(self, problem: str, unknown: Iterable[str] = ()) -> None:
        super().__init__(problem)
        self.problem, self.unknown = problem, tuple(unknown)


def residue(words: str, unknown: Iterable[str] = ()) -> Unreadable:
    """Return the exception for words of a decision that have no place in it."""
    if unknown := tuple(unknown):
        return Unreadable(f"the decision names {NOT_IN_CODEBOOK}: {quoted_names(unknown)}", unknown)
    words = " ".join(words[:_MAX_RESIDUE_CHARACTERS].split())
    return Unreadable(f"the decision does not say plainly what it means: {quoted_names([words])}")


def quoted_names(names: Iterable[str]) -> str:
    """Return the first five names in quotation marks, and the number of the others."""
    quoted = [f'"{storable(" ".join(name.split())[:80])}"' for name in dict.fromkeys(names)]
    return ", ".join(quoted[:5]) + (f" and {len(quoted) - 5} more" if len(quoted) > 5 else "")


class Statements:
    """Statements of consecutive lines about the labels of a codebook.

    ``values`` are the values stated of each label, ``line_values`` those of the last line. ``explicit`` are the labels
    with an answer, a heading or a predicate; ``none`` is set by "none", ``blank`` by "Name:" with nothing after it.
    ``contrasted`` is True if all is stated in one sentence like "Food is present, while Price is not". A heading
    without names applies to the lines below it. ``all_meant`` allows "all of them" for the codebook's labels.
    """

    def __init__(self, names: Names, *, all_meant: bool = False) -> None:
        self.names = names
        self.all_meant = all_meant
        self.values: dict[str, set[Answer]] = {}
        self.line_values: dict[str, set[Answer]] = {}
        self.explicit: set[str] = set()
        self.none = self.headed = self.answered = self.unfinished = self.blank = self.contrasted = False
        self.heading: Answer | Literal["default", "unknown"] = "default"
        self._signs: set[str] = set()
        self._columns: list[_Column] | None = None

    def read(self, line: str) -> bool:
        """Read one line. Return False for a line without any statement. Raises ``Unreadable``; nothing is read then."""
        before = set(self.explicit), self.none, self.heading
        self.line_values = {}
        try:
            is_statement = self._row(line) if self._in_table(line) else self._line(line)
        except Unreadable:
            self.explicit, self.none, self.heading = before
            raise
        for item, values in self.line_values.items():
            self.values.setdefault(item, set()).update(values)
        return is_statement

    @property
    def contradicted(self) -> list[str]:
        """Labels with more than one value."""
        return [item for item, values in self.values.items() if len(values) > 1]

    def _in_table(self, line: str) -> bool:
        bars = line.count("|")
        return bars > 1 or (
            bars == 1 and (self._columns is not None or not _has_label_names(tokenise(line, self.names)))
        )

    def state(self, item: str, value: Answer, *, explicit: bool = True) -> None:
        """Note that a line states this value for a label; ``explicit`` if the label is named with it."""
        self.line_values.setdefault(item, set()).add(value)
        if explicit:
            self.explicit.add(item)

    def _line(self, line: str) -> bool:
        self._columns = None
        line = split_ordinals(line, self.names)
        bullet, content = BULLET.match(line), without_bullet(line)
        tokens = _question_as_answer(tokenise(content, self.names))
        if bullet and bullet["mark"] in ("+", "-") and any(token.kind == "name" for token in tokens):
            self._signs.add(bullet["mark"])
            if len(self._signs) > 1:
                raise residue(line)  # as in a diff: plus and minus may mean present and absent
        if [token.kind for token in tokens[-2:]] == ["name", "stop"] and tokens[-1].text.startswith(".."):
            raise residue(line)  # "Food, Service..."
        stated = inline = False
        stops = groupby(tokens, key=lambda token: token.kind == "stop")
        sentences = [list(sentence) for stop, sentence in stops if not stop]
        clauses = [clause for sentence in sentences for clause in _clauses(sentence)]
        self.contrasted = not self.values and len(clauses) > len(sentences) == 1
        for sentence in clauses:
            if inline:
                self.heading = "unknown"  # "Absent: A. B" leaves it unclear whether B is absent, too.
            leading_answers: set[Answer] = set()
            if [token.kind for token in sentence[:3]] in (["yes", "comma", "name"], ["no", "comma", "name"]):
                leading_answers, sentence = {sentence[0].value}, sentence[2:]  # "No, Food is not mentioned."
            titled = _TITLE.match(line) is not None
            reader = _Sentence(self, sentence, content, bullet=bullet is not None, titled=titled)
            if reader.states_something():
                if stated and {sentence[0].text, sentence[-1].text} & {"only", "just", "alone"}:
                    raise residue(line)  # "Food, Service. Just Food."
                if sentence[-1].kind in ANSWERS and len(sentence) == 1 and not titled:
                    if stated and all(values == {sentence[0].value} for values in self.line_values.values()):
                        continue  # "Food: absent. Not mentioned."
                    raise residue(line)  # "Not mentioned." may be about a label named above
                reader.read()
                if leading_answers and any(values != leading_answers for values in self.line_values.values()):
                    raise residue(line)
                stated, inline = True, inline or reader.inline_heading
        is_heading = _TITLE.match(line) is not None or line.rstrip(" *_").endswith(":")
        if inline or (self.headed and tokens and not stated and is_heading):
            self.heading = "unknown"  # "Considered:" ends the list below "Present:"
        self.unfinished = stated and tokens[-1].kind in ("comma", "and")
        return stated

    def _row(self, line: str) -> bool:
        """Read a row of a table: a name with its answer or with ticks, or lists in columns for present and absent."""
        cells = [(text, tokenise(text, self.names)) for text in line.strip().strip("|").split("|")]
        name_column = next((index for index, (_, cell) in enumerate(cells) if _only_names(cell)), None)
        if self._columns is None and name_column is None:
            self._columns = [_column(text, cell) for text, cell in cells]
            return False
        neutral: list[_Column] = ["neutral"] * len(cells)
        columns = [*(self._columns or []), *neutral][: len(cells)]
        row = [(column, text, cell) for column, (text, cell) in zip(columns, cells, strict=True)]
        if all(isinstance(column, bool) for column in columns):  # names in columns for present and absent
            for column, _, cell in row:
                if cell and not _only_names(cell) and {token.kind for token in cell} != {"none"}:
                    raise residue(line)
                for token in cell:
                    if token.kind == "name":
                        self.state(token.item, column is True)
            return True
        if name_column is None:
            if _row_answers(line, row)[0]:
                raise residue(line, [cells[0][0].strip(" *_#")])
            return False
        named, after = cells[name_column][1], row[name_column + 1 :]
        subject = named[0].item
        answers, notes = _row_answers(line, row, name_column + 1, subject)
        if not notes and {column for column, _, _ in after} == {"note"} and len(named) == 1:
            if not all(_is_evidence(cell, subject) for _, _, cell in after):
                raise residue(line)
            self.state(subject, True, explicit=False)
            return True
        if len(set(answers)) != 1 or len(answers) > max(1, columns.count(True) + columns.count(False)):
            raise residue(line)
        if notes - ({False, None} if answers[0] is False else {answers[0]}):
            raise residue(line)
        for token in named:
            if token.kind == "name":
                self.state(token.item, answers[0])
        return True


def _row_answers(
    line: str, row: Sequence[tuple[_Column, str, Sequence[Token]]], start: int = 0, subject: str = ""
) -> tuple[list[Answer], set[Answer]]:
    """Return the answers about ``subject`` in the cells of a row from ``start`` on, and those in columns of notes."""
    answers: list[Answer] = []
    notes: set[Answer] = set()
    has_present = any(column is True for column, _, _ in row)
    for column, text, cell in row[start:]:
        answer = True if isinstance(column, bool) and _TICK.fullmatch(text) else _sole_answer(cell)
        if answer == NO_ANSWER:
            if subject and _takes_back(cell, subject, implicit=False):
                raise residue(line)
        elif column == "note":
            notes.add(answer if isinstance(answer, bool) else None)
        elif column == "other" or (column is False and not has_present):
            raise residue(line)  # another role's answers, or "Absent: no"
        elif isinstance(column, bool) and answer is not None:
            answers.append(column == answer)
        else:
            answers.append(answer if isinstance(answer, bool) else None)
    return answers, notes


class _Sentence:
    """One sentence of a line, read once from left to right."""

    def __init__(self, out: Statements, tokens: Sequence[Token], text: str, *, bullet: bool, titled: bool) -> None:
        self.out = out
        self.tokens = tokens
        self.text = text
        self.bullet = bullet
        self.titled = titled
        self.single = _is_single(tokens)
        self.pending: list[str] = []
        self.only = any(token.text.startswith(("only", "the only")) for token in (tokens[0], tokens[-1]))
        self.answered = self.prefixed = self.inline_heading = self.after_rest = False
        self.position = 0

    def states_something(self) -> bool:
        """Return True if the sentence names a label, denies all of them, or is a heading for the lines below."""
        if _has_label_names(self.tokens) or self.is_doubt():
            return True
        first = [token for token in self.tokens if token.kind not in ("fill", "and", "verb")]
        if not first or first[0].kind in ("all", "none", "rest", "struck"):
            return bool(first)
        return first[0].kind in ANSWERS and all(token.kind in ("link", "bracket", "none") for token in first[1:])

    def is_doubt(self) -> bool:
        """Return True if the sentence is a heading such as "Doubtful" or "Possibly present"."""
        kinds = [token.kind for token in self.tokens]
        return kinds[0] == "hedge" and (self.titled or kinds[-1] == "link") and {*kinds[1:]} <= {"present", "link"}

    def read(self) -> None:
        tokens = self.tokens
        if self.is_doubt():
            self.out.heading, self.out.headed = None, True
            return
        while self.position < len(tokens):
            token = self._token()
            match token.kind:
                case "name":
                    if self.position and self._runs_on(token):
                        self._fail()
                    self.pending.append(token.item)
                    self.position += 1
                    self._after_name()
                case "mark" if self._kind(1) in ANSWERS and self._token(1).value == token.value:
                    self.position += 1  # "✅ Present: A"
                case "no" | "neg" if token.kind == "neg" or self._kind(1) in ("name", "fill"):
                    self._denial(token)
                case "yes" | "no" | "present" | "absent" | "open" | "mark":
                    self._answer_or_heading(token)
                case "struck":
                    self._struck(token)
                case "rest":
                    self._flush()
                    self.after_rest = True
                    self.position += 1
                case "all":
                    self._all(token)
                case "none":
                    self._none()
                case "semicolon":
                    self._flush()
                    self.position += 1
                case "comma" | "and" | "fill" | "closed" | "quote":
                    self.position += 1
                case "bracket" if not _has_label_names(token.inner):
                    self.position += 1
                case "link" | "verb" if self.after_rest or self._kind(1) in ANSWERS:
                    self.position += 1
                    if token.kind == "verb" and self.pending:
                        self._answer(token)
                case _:
                    self._fail()
        self._flush()
        if self.after_rest:
            self._fail()

    def _runs_on(self, token: Token) -> bool:
        """Return True if only a space is between this name and the one before: "Food Service" is another name."""
        before = self.tokens[self.position - 1]
        return before.kind == "name" and not self.text[before.end : token.start].strip()

    def _token(self, ahead: int = 0) -> Token:
        """Return a token from the position on, one without a kind after the last."""
        at = self.position + ahead
        return self.tokens[at] if at < len(self.tokens) else _END

    def _kind(self, ahead: int = 0) -> str:
        return self._token(ahead).kind

    @property
    def _is_absent(self) -> bool:
        """True if a name alone means absent: a comment may then deny, but not affirm: "Food (no meal is mentioned)"."""
        return self.out.heading is False

    def _fail(self) -> NoReturn:
        raise residue(self.text, unknown_names(self.tokens, self.text))

    def _after_name(self) -> None:
        """Read what belongs to the name before: an answer, a comment, both, or nothing."""
        subject = self.pending[-1]
        while (token := self._token()).kind:
            following = self._kind(1)
            if token.kind in ("bracket", "quote"):
                self._remark(token, subject)
            elif token.kind in ("link", "verb") and following in ANSWERS:
                self.position += 1
                self._answer(token)
            elif token.kind == "link" and following == "none":
                self.position += 2
                self._resolve(False, plural=False)
                self._comment(subject, implicit=False)
            elif token.kind == "link" and following in ("", "quote", "closed", *_BREAKS):
                self.out.blank = self.out.blank or not following
                self.position += 1
            elif token.kind == "link" and following == "and" and self._kind(2) == "closed":
                self.position += 2
            elif token.kind in ("link", "why"):
                self._comment(subject, implicit=not self._is_absent, absent=self._is_absent)
            elif token.kind == "comma" and following == "why":
                self.position += 1
            elif token.kind in ("word", "verb", "fill") and self.tokens[self.position - 1].kind == "quote":
                self._comment(subject, implicit=True)
            elif token.kind in ANSWERS and not self._heads() and not (token.kind == "no" and following == "name"):
                self._answer()
            else:
                return

    def _heads(self) -> bool:
        """Return True if the answer word here starts a new list: "Present: A Absent: B", "✓ A ✗ B"."""
        return self._kind(1) == "link" or (self.prefixed and self._kind() == "mark")

    def _remark(self, token: Token, subject: str) -> None:
        self.position += 1
        if token.kind == "quote" or [inner.kind for inner in token.inner[:3]] == ["absent", "link", "none"]:
            return  # "Food, Price (absent: none)"
        value = _sole_answer(token.inner)
        shade = len(token.inner) == 1 and token.inner[0].text in _OPINION_WORDS
        words = self.text[token.start : token.end]
        if _ROLE.fullmatch(words) or UNLIKELY.fullmatch(words):
            self._fail()  # "Food (critic)", "Food (40%)"
        if not any(map(str.isalnum, words)) and value == NO_ANSWER:
            self._fail()  # "Food (+), Price (-)" may be present and absent, or praise and criticism
        if value != NO_ANSWER:
            if subject not in self.pending or (value and self._is_absent):
                self._fail()  # two answers: "Food (no, yes)", "Absent: Food (mentioned)"
            self.pending.remove(subject)
            self.out.state(subject, value)
        elif denied := self._denied(token):
            for item in denied:
                self.out.state(item, False)
        elif (
            (not shade and _takes_back(token.inner, subject, implicit=not self._is_absent))
            or (self._is_absent and _affirms(token.inner))
            # "Food (quality)", if there is a label "Food quality", too
            or self.out.names.find(f"{self.out.names.written(subject)} {words[1:-1].strip()}")
        ):
            self._fail()

    def _denied(self, bracket: Token) -> list[str]:
        """Return the labels that a bracket marks as absent, if it contains no more: "(Price is not mentioned)"."""
        inner = Statements(self.out.names)
        with suppress(Unreadable):
            inner.read(self.text[bracket.start + 1 : bracket.end - 1])
        return list(inner.values) if all(values == {False} for values in inner.values.values()) else []

    def _answer(self, link: Token = _END) -> None:
        """Read an answer after ``link`` and its comment. After a plural verb it is about all names before it."""
        token = self._token()
        subject = self.pending[-1] if self.pending else ""
        self.position += 1
        plural = link.text.split()[0] not in _SINGULAR if link.kind == "verb" else token.text in _PLURAL
        self._resolve(token.value, plural=plural)
        kind, words = self._kind(), self.text[self._token().start : self._token().end]
        if (
            kind not in ("", "link", "why", "bracket", "quote", "and", "neg", "name", "closed", *_BREAKS)
            or (kind == "comma" and self._kind(1) in ("yes", "no"))  # "yes/no"
            or (kind == "link" and self._kind(1) in ANSWERS and self._token(1).value != token.value)  # "no → yes"
            or (kind == "bracket" and token.value and UNLIKELY.fullmatch(words))  # "yes (20%)"
            or (kind == "comma" and token.text.isdigit() and self._token(1).text[:1].isdigit())  # "1/5"
        ):
            self._fail()
        self._comment(subject, implicit=False)

    def _resolve(self, value: Answer, *, plural: bool) -> None:
        if (
            not self.pending
            or (len(self.pending) > 1 and not plural)
            or (self.after_rest and value is not False)
            or (self._is_absent and value)  # "Absent: Food: mentioned"
            or (self.only and value is not True)  # "Only Food is absent"
        ):
            self._fail()
        for item in self.pending:
            self.out.state(item, value, explicit=not self.only)
        self.out.answered = self.out.answered or not (self.only or len(self.pending) > 1)
        self.pending, self.answered, self.after_rest = [], True, False

    def _comment(self, subject: str, *, implicit: bool, absent: bool = False) -> None:
        """Skip a comment. It may not name another label or take the answer back.

        Beside an ``implicit`` yes it may not deny, beside a name below "Absent:" (``absent``) it may not affirm.
        """
        start = self.position
        kind = self._kind()
        if not kind or (kind in _BREAKS and self._next_is_entry(start)) or kind in ("and", "neg", "name", "closed"):
            return
        end = start
        while end < len(self.tokens):
            whole_line = (self.single or (self.bullet and implicit)) and self.tokens[end].kind != "semicolon"
            is_break = not whole_line and self.tokens[end].kind in _BREAKS
            if is_break and self._next_is_entry(end):
                break
            end = max(end + 1, past(self.tokens, end, _BETWEEN) if is_break else 0)
        comment = self.tokens[start:end]
        if _takes_back(comment, subject, implicit=implicit) or (absent and _affirms(comment)):
            self._fail()
        self.position = end

    def _next_is_entry(self, at: int) -> bool:
        begin = past(self.tokens, at, _BETWEEN)
        return begin < len(self.tokens) and self.tokens[begin].kind in _STARTERS

    def _answer_or_heading(self, token: Token) -> None:
        """Read a heading ("Absent: A"), or the predicate after "the rest"."""
        if self.after_rest:
            if token.value is not False:
                self._fail()
            self.position += 1
            if self.pending:
                self._resolve(False, plural=True)
            self.after_rest = False
            self._comment("", implicit=False)
            return
        if self.pending and not self.prefixed and self.tokens[self.position - 1].kind in ("name", "and"):
            self._fail()
        self._flush()
        self.position += 1
        index = past(self.tokens, self.position, _HEADING_TOKENS)
        linked = index < len(self.tokens) and self.tokens[index].kind == "link"  # "Present in this review: A"
        if linked and is_elsewhere(self.text[token.end : self.tokens[index].start], self.out.names.unit):
            self._fail()  # "Mentioned by the critic: A"
        self.position = index if linked else self.position
        self.position = past(self.tokens, self.position, {"link", "verb", "fill"})
        inline = self._kind() in ("name", "none", "struck", "rest", "closed", "quote")
        if (self._kind() and not inline) or (token.kind in ("yes", "no", "open") and not linked):
            self._fail()
        self.inline_heading |= inline
        self.out.heading = token.value
        self.out.headed = True
        self.prefixed = token.kind == "mark"

    def _denial(self, token: Token) -> None:
        self._flush()
        self.position += 1
        denied_items: list[str] = []
        joined: set[str] = set()
        while (current := self._token()).kind:
            if current.kind == "name":
                denied_items.append(current.item)
            elif current.kind in ("comma", "and", "or", "neg"):
                joined.add(current.text.split()[-1] if current.kind == "neg" else current.kind)
            elif current.kind == "bracket" and not _takes_back(current.inner, "", implicit=True):
                pass
            elif current.kind != "fill":
                break
            self.position += 1
        contrasted = self._token().text == "but" and self._kind(1) in ("name", "fill")
        if self._kind() not in ("", "semicolon", "why", "link") and not contrasted:
            self._fail()
        unclear = len(denied_items) > 1 and not _STRONG.match(token.text) and not joined & {"or", "nor", "not"}
        if not denied_items or unclear:
            self._fail()
        if contrasted:
            self.position += 1  # "not Food, not Price, but Service"
        else:
            self._comment(denied_items[-1], implicit=False)
        for item in denied_items:
            self.out.state(item, False)

    def _struck(self, token: Token) -> None:
        kinds = {inner.kind for inner in token.inner}
        if not kinds <= {"name", "comma", "and", "fill", "bracket", "link", "quote"}:
            self._fail()
        for inner in token.inner:
            if inner.kind == "name":
                self.out.state(inner.item, False)
        self.position += 1
        if self._kind() == "link":
            self._comment("", implicit=False)  # "~~Food~~ - only the taxi driver ate"

    def _all(self, token: Token) -> None:
        """Read "all three", if the codebook has three labels, or "all of them", if they can only be its labels."""
        count = next((word for word in token.text.split() if word in NUMERALS or word.isdigit()), "")
        items = self.out.names.items
        counted = count in (str(len(items)), *NUMERALS[len(items) : len(items) + 1])
        following = [later.kind for later in self.tokens[self.position + 1 :]]
        stands_alone = self.position == 0 and following in ([], ["present"], ["verb", "present"], ["verb", "absent"])
        is_whole = following[-1:] == ["present"] and token.text.endswith(LABEL_NOUNS)  # "All aspects are present."
        if not stands_alone or not (counted or ((self.out.all_meant or is_whole) and not count)):
            self._fail()
        for item in items:
            self.out.state(item, following[-1:] != ["absent"])
        self.position = len(self.tokens)

    def _none(self) -> None:
        self._flush()
        self.position += 1
        if self._kind() == "verb" and self._kind(1) == "present":
            self.position += 2  # "none of the aspects are present"
        elif self._kind() == "present":
            self.position += 1  # "none of them apply"
        elif self._kind() in ("verb", "name") or self._kind() in ANSWERS:
            self._fail()
        if self.out.heading in ("default", True):
            self.out.none = True
        elif self.out.heading == "unknown":
            self._fail()
        if self._kind() in ("and", "or") or (self._kind() == "comma" and self._kind(1) in ("word", "or")):
            self._fail()  # "none and Pool"
        if self._kind() == "bracket" and (denied := self._denied(self._token())):
            for item in denied:
                self.out.state(item, False)
            self.position += 1
        # The comment may deny ("none, not a single one") and ends at a semicolon: "none; Pool" lists another label.
        start = self.position
        while self._kind() not in ("", "semicolon") and not (
            self._kind() in ("name", "present", "absent", "mark")
            and self.tokens[self.position - 1].kind in (*_BREAKS, "and")
        ):
            self.position += 1
        if _takes_back(self.tokens[start : self.position], "", implicit=False):
            self._fail()

    def _flush(self) -> None:
        """Give the pending names the value of the heading; "A, B: absent" leaves A unclear."""
        if not self.pending:
            return
        heading = self.out.heading
        if self.answered or heading == "unknown":
            self._fail()
        for item in self.pending:
            if heading == "default":
                self.out.state(item, True, explicit=False)
            else:
                self.out.state(item, heading)
        self.pending = []


def without_bullet(line: str) -> str:
    """Return a line without its bullet, number or heading mark."""
    bullet = BULLET.match(line)
    return line[bullet.end() :] if bullet else line


def unknown_names(tokens: Iterable[Token], text: str) -> list[str]:
    """Return the entries of a list that are no names of the codebook, as written, without their comments."""
    names: list[str] = []
    for _, group in groupby(tokens, key=lambda token: token.kind in (*_BREAKS, "and", "stop")):
        words = list(takewhile(lambda token: token.kind not in ("link", "bracket", "quote", "why", "verb"), group))
        kinds = {token.kind for token in words}
        if "word" in kinds and len(words) <= _MAX_NAME_WORDS and not _HEDGES & kinds:
            names.append(text[words[0].start : words[-1].end].strip(" *_#\"'`"))
    return names


def is_comment(text: str, names: Names, *, implicit: bool = True) -> bool:
    """Return True if a text names no label and hedges nothing; beside an ``implicit`` yes, it may not deny either."""
    return not _takes_back(tokenise(text, names), "", implicit=implicit)


def _takes_back(tokens: Sequence[Token], subject: str, *, implicit: bool) -> bool:
    words = [token.text for token in tokens if token.kind != "link"]
    if implicit and tokens and (not words or (len(words) == 1 and _is_unclear(words[0]))):
        return True  # "Food: -", "Food: 4", "Food: negative", "Food: T", "Food: disagree"
    dangerous = _HEDGES | _CONTRADICTIONS if implicit else _HEDGES
    return any(
        token.kind in dangerous or (token.kind in ("name", "struck") and token.item != subject)
        for token in every(tokens)
    )


def _is_unclear(word: str) -> bool:
    """Return True if a word may be a yes or a no as the only answer for a label."""
    return word in _OPINION_WORDS or word in _VERDICTS or word[:1].isdigit() or (len(word) == 1 and word.isascii())


def _affirms(tokens: Sequence[Token]) -> bool:
    """Return True if a comment below "Absent:" states the opposite: "mentioned", "wrongly excluded"."""
    words = [token for token in every(tokens) if token.kind != "verb" and token.text != "the"]
    is_denied = any(
        token.kind in NEGATION_KINDS
        or (token.text == "only" and following.kind == "word" and following.text[-2:] != "ly")
        for token, following in pairwise([*words, _END])
    )  # "only the staff are mentioned"
    return (
        (not is_denied and any(token.kind == "present" for token in words))
        or any(word.kind == "absent" and before.kind in NEGATION_KINDS - {"absent"} for before, word in pairwise(words))
        or any(word.kind == "neg" and _EXCEPT.match(word.text) for word in words)
    )


def _sole_answer(tokens: Sequence[Token]) -> MaybeAnswer:
    """Return the answer that tokens consist of, with an optional comment; ``NO_ANSWER`` for other tokens."""
    relevant = [token for token in tokens if token.kind != "fill"]
    if len(relevant) > 2 and relevant[1].kind == "comma" and relevant[2].kind in ANSWERS:
        return NO_ANSWER  # "yes/no"
    if not relevant or relevant[0].kind not in ANSWERS:
        return NO_ANSWER
    if len(relevant) > 1 and (
        relevant[1].kind not in ("link", "why", "bracket", "quote", "comma", "stop", "semicolon")
        or _takes_back(relevant[1:], "", implicit=False)
    ):
        return NO_ANSWER
    return relevant[0].value


def sole_answer(text: str, names: Names) -> MaybeAnswer:
    """Return the answer that a text consists of, with an optional comment; ``NO_ANSWER`` for other text."""
    return _sole_answer(tokenise(text, names))


def _only_names(cell: Sequence[Token]) -> bool:
    kinds = {token.kind for token in cell}
    return "name" in kinds and kinds <= {"name", "comma", "and", "semicolon"}


def _is_evidence(cell: Sequence[Token], subject: str) -> bool:
    """Return True if a note gives words for a label, and not "none" or a doubt."""
    return any(token.kind in ("word", "quote") for token in cell) and not _takes_back(cell, subject, implicit=True)


def _column(text: str, cell: Sequence[Token]) -> _Column:
    answer = next((token.value for token in cell if token.kind in ("present", "absent")), None)
    if answer is not None and not any(token.kind in ("word", "neg") for token in cell):
        return answer
    text = text.casefold()
    return "neutral" if _NEUTRAL_COLUMN.match(text) else "note" if _NOTE_COLUMN.match(text) else "other"


def _has_label_names(tokens: Iterable[Token]) -> bool:
    return any(token.kind == "name" for token in every(tokens))


def _clauses(sentence: list[Token]) -> list[list[Token]]:
    """Return the two clauses of "Food is present, while Price is not", or the sentence itself."""
    for at in range(2, len(sentence) - 1):
        end = at - (sentence[at - 1].kind == "comma")
        if (
            sentence[at].text in _WHILE
            and sentence[at + 1].kind in ("name", "fill")
            and (sentence[end - 1].kind in ANSWERS or _is_denied_list(sentence[:end], sentence[at + 1 :]))
            and all(any(token.kind == "name" for token in part) for part in (sentence[:end], sentence[at + 1 :]))
        ):
            return [sentence[:end], sentence[at + 1 :]]
    return [sentence]


def _is_denied_list(listed: Sequence[Token], others: Sequence[Token]) -> bool:
    """Return True if names only are followed by others that are absent: "Food, whereas Price is not mentioned"."""
    return {token.kind for token in listed} <= {"name", *_BETWEEN} and others[-1].kind == "absent"


def _question_as_answer(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens of a question about one label and its answer as those of "Label: answer".

    "Is Food present? Yes, ..." and "Food? Yes." are such questions. Other lines are returned as they are.
    """
    mark = next((at for at, token in enumerate(tokens) if token.text == "?"), len(tokens))
    question, answer = tokens[:mark], tokens[mark + 1 :]
    kinds = {token.kind for token in question} - {"name"}
    name_tokens = [token for token in question if token.kind == "name"]
    if len(name_tokens) != 1 or not answer or answer[0].kind not in ("yes", "no") or not kinds <= _ASKED:
        return tokens
    return (name_tokens[0], Token("link", tokens[mark].start, tokens[mark].end, ":"), *answer)


def _is_single(sentence: Sequence[Token]) -> bool:
    """Return True if a sentence is about the one label that it starts with."""
    named_items = {token.item for token in every(sentence) if token.kind == "name"}
    first = next((token.kind for token in sentence if token.kind not in ("fill", "mark")), "")
    return len(named_items) == 1 and first == "name"
