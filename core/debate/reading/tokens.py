"""Tokens of a decision: label names first, then the few words that a decision consists of.

Everything that is neither a name nor one of these words is a ``word``. ``core.debate.reading.labels_grammar`` decides
where words may stand: in a comment, but not in a list of labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from core.debate.reading.label_names import Names
from core.debate.reading.normalise import Folded, fold
from core.debate.reading.quotation_marks import double_quoted, outermost, single_quoted

Answer: TypeAlias = bool | None
"""Present, absent, or left undecided by the agent."""
NO_ANSWER: Final = "no answer"
"""Stands for words that are not an answer. (None is an answer: the label is left open.)"""
MaybeAnswer: TypeAlias = Answer | Literal["no answer"]
LEFT_OPEN = "left undecided"
"""Reason of an item that the agent calls undecided."""
NEGATION_KINDS = frozenset({"neg", "no", "absent", "none", "negation"})
"""Kinds of tokens that deny a label."""

_KEPT = (
    r"present|mentioned|discussed|addressed|included?|includes|keep|kept|accept(?:ed)?|relevant|applicable"
    r"|applies|apply|found|covered|supported|stated|confirmed|identified|detected|selected|chosen"
)
LABEL_NOUN = r"(?:aspects?|labels?|categor(?:y|ies)|topics?|themes?|codes?)"
"""Pattern of a noun for labels, singular or plural."""
LABEL_NOUNS = ("aspects", "labels", "categories", "topics", "themes", "codes")
"""These nouns in the plural."""
LABEL_NOUN_PLURAL = rf"(?:{'|'.join(LABEL_NOUNS)})"
"""Pattern of one of these plurals."""
UNITS = "text|sentence|statement|document|passage|review|clause|segment|comment|post|tweet|excerpt|unit"
_QUALIFIED = (  # "Food at least", "Food with reservations"
    r"at (?:first (?:glance|sight)|(?:the very )?(?:least|most|best)|a (?:stretch|push|guess))"
    r"|in part|in a (?:sense|way)"
    r"|by (?:implication|inference)|so far|for (?:now|example|instance)"
    r"|as far as \w+ can \w+|as an? (?:maximum|minimum|guess|example)"
    r"|only (?:mentioned )?in passing|(?<!mentioned )in passing"
    r"|with (?:\w+ )?(?:reservations?|doubts?|hesitation|caveats?)"
    r"|with (?:very )?(?:low|little|limited) confidence"
)
DOUBTFUL_WORDS = (
    "(?:supposed|alleged|potential|arguab|possib|conceivab|probab|seeming|apparent|presumab|questionab|doubtful|unlike"
    "|bare|scarce|hard|rare|false|wrong|mistaken|erroneous|incorrect|near|previous|former|initial|original)ly"
    "|almost|maybe|perhaps"
)
"""Adverbs that make a statement doubtful, wrong or past."""


def is_elsewhere(between: str, unit: str) -> bool:
    """Return True if the words between a heading and its list make it another list.

    It is then not that of the labels present in the text. The words of the codebook's ``unit`` do not count: "in this
    tweet (not a retweet)".
    """
    own, others = _elsewhere(unit)
    return others.search(own.sub("", between)) is not None


@lru_cache(maxsize=32)
def _elsewhere(unit: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of the document as the prompt names it, and of words that make a list another one.

    These words do not count if they are the last one of ``unit`` ("prompt").
    """
    noun = (unit.casefold().split() or [""])[-1].removesuffix("s") or "text"
    own = r"\s+".join(map(re.escape, unit.split()))
    return re.compile(rf"\b(?:this|the) {own}(?!\w)", re.IGNORECASE), re.compile(
        rf"\b(?:by|in|of|from|for|per) (?:(?:the|an?|any) )?(?!{re.escape(noun)}s?\b)(?:extractor|critic|opponent"
        r"|annotator|draft|examples?|guidelines?|codebook|definitions?|prompt|instructions?|others?\b|another|all"
        rf"|both(?! (?:{UNITS}|{re.escape(noun)})s?\b))"
        r"|\b(?:of interest|in (?:dispute|question|doubt)|under (?:discussion|consideration)"
        r"|to (?:check|choose|consider)|above|below|seems?|appears?|said|claimed|cannot|not|never|no longer)\b|n['’]t\b"
        rf"|\b(?:{DOUBTFUL_WORDS}|(?:most|main|part(?:ial)?|like)ly)\b",
        re.IGNORECASE,
    )


NUMERALS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NOT = r"(?:not|never|no longer|isn['’]t|aren['’]t|wasn['’]t|weren['’]t) (?:(?:(?!only\b)\w+ly|at all|to be) )?"
# Patterns for folded text (lower case, single spaces), in the order in which they are tried. Languages: English,
# German, French, Spanish, Italian, Portuguese, Dutch, Polish, Russian, Chinese, Japanese.
_VOCABULARY = {
    "closed": r"none of the (?:others?|rest|remaining(?: \w+)?)|nothing (?:else|but)|no others?"
    rf"|no (?:other|further|additional) {LABEL_NOUN}",
    "rest": rf"(?:all )?(?:of )?the (?:rest|others?\b(?: {LABEL_NOUN})?|remaining(?: \w+)?)"
    rf"|everything else|all others?|other {LABEL_NOUN_PLURAL}",
    "all": rf"all(?: of)?(?: (?:the|these|those|them))?(?: (?:{'|'.join(NUMERALS[2:])}|\d{{1,2}}))?"
    rf"(?: of them)?(?: (?:listed|given|above))?(?: {LABEL_NOUN_PLURAL})?"
    r"(?=\W*(?:$|[.;!])| (?:are|apply)\b)",
    "none": rf"(?:the|this) (?:\w+ )?(?:{UNITS}) (?:does not|doesn['’]t)"
    r" (?:mention|discuss|address|cover|contain) any (?:of the )?(?:(?:listed|given) )?"
    rf"{LABEL_NOUN_PLURAL}(?=\W*$)|(?<!\w )(?<!\w, )nothing(?=\W*$)"
    r"|none(?: (?:at all|present|of (?:the|these|those|them)"
    rf"(?: (?:listed|given|above|other|two|three|four|five|six|{LABEL_NOUN}))*+))?"
    rf"|(?:there (?:is|are) )?no (?:(?:relevant|listed|such|specific|given|present) )?{LABEL_NOUN}"
    r"(?: (?:at all|apply|applies|(?:is|are|was|were) (?:present|mentioned|discussed"
    r"|applicable|found)|present))?|keine?r?|aucune?|ningun[oa]|ninguno|nessun[oa]|nenhum[a]?|geen|brak|无|沒有|没有|なし|нет",
    "absent": rf"{_NOT}(?:{_KEPT})|(?:(?<= are )|(?<= is ))not(?= ?(?:[.;!]|$))"
    r"|(?:does|do|did)(?: not|n['’]t)(?: (?:apply|appear|occur|count|qualify|belong)(?: here)?"
    r"|(?= ?(?:[.;!]|$)))|absent|missing|excluded?"
    r"|no (?:mention|evidence)(?: (?:of|for) (?:it|this))?(?! \w)"
    r"|reject(?:ed|s)?|ruled out|denie[ds]|overruled"
    r"|drop(?:ped)?|remov(?:e|ed)|omit(?:ted)?|irrelevant|inapplicable|discard(?:ed)?|dismiss(?:ed)?|unmentioned"
    r"|unsupported|unfounded"
    r"|nicht (?:vorhanden|erwähnt|enthalten|zutreffend)|abwesend|fehlend|fehlt|fehlen|absente?s?"
    r"|non (?:présente?s?|mentionnée?s?)|ausentes?|no (?:presentes?|mencionad[oa]s?)|assent[ei]"
    r"|non (?:present[ei]|menzionat[oiae])|niet (?:aanwezig|genoemd|vermeld)|afwezig|não (?:presentes?"
    r"|mencionad[oa]s?)"
    r"|nieobecn\w+|отсутству\w+|不存在|未提及|未提到|未涉及|没有提[到及]|没有涉及|言及なし|存在しない",
    "present": rf"the only (?:one|aspect|label|topic|theme|code|category)(?: (?:that )?(?:{_KEPT}))?(?=\W*$)"
    rf"|(?:(?:explicitly|clearly|directly) )?(?:{_KEPT})"
    r"|vorhanden|erwähnt|enthalten|zutreffend|présente?s?|mentionnée?s?|presentes?|mencionad[oa]s?"
    r"|present[ei]|menzionat[oiae]|aanwezig|genoemd|obecn\w+|присутству\w+|存在|提[及到]|涉及|あり",
    "open": r"undecided|unclear|unsure|uncertain|unknown|null|n/?a|\?{1,3}",
    "neg": r"(?:and|but|,)? ?(?:except(?: for)?|excepting|excluding|without|leaving out|dropping|removing"
    r"|rejecting|omitting|apart from|other than|minus"
    r"|rather than|instead of|as opposed to)|(?:(?:and|but) )?(?:not|nor)"
    r"|aber nicht|mais pas|pero no|ma non|mas não|maar niet",
    "yes": r"yes|y(?! \w)|true|1(?!\.\d)|ja|oui|sí|sì|sim|tak|是|有|はい|да",
    "no": r"no|n(?! \w)|false|0(?!\.\d)|nein|non|não|nee|nie|否|いいえ|не",
    "hedge": rf"(?:{_QUALIFIED})(?=\W*(?:$|[.,;!]))"
    r"|maybe|perhaps|possibly|probably|potentially|arguably|part(?:ly|ially)|(?:un)?likely|borderline"
    r"|impli(?:ed|citly|cit)|indirect(?:ly)?|questionable|doubtful|might|may|could|should|would|but|however|although|though|yet"
    r"|unless|if|rather|sorry|i mean|oops|kind of|sort of|slightly|a (?:bit|little)|to (?:some|a \w+) (?:extent|degree)"
    r"|almost|nearly|weak(?:ly)?|somewhat|instead|actually|wait|debatable|vielleicht|peut-être|quizás?|forse|talvez"
    r"|(?:un|nicht )sicher|wahrscheinlich|möglicherweise|incertaine?|pas sûre?|peu probable|probable(?:ment)?"
    r"|inciert[oa]|incert[oa]|probabilmente|probablemente|provavelmente|onzeker|waarschijnlijk|misschien|возможно|вероятно|不确定|可能"
    r"|aber|fraglich|zweifelhaft|unklar|kaum|douteu(?:x|se)s?|implicites?|dudos[oa]s?|implícit[oa]s?|dubbi[oa]"
    r"|duvidos[oa]s?",
    "negation": r"the (?:critic|opponent) (?:is|was) (?:right|correct)|nothing|nobody|nowhere|never|neither|hardly"
    r"|barely|scarcely|lacks?|lacking|fails?|disputed|contested|(?:wrong|incorrect)(?:ly)?|mistakenly|erroneously"
    r"|cannot|[^\W_]+n['’]t|nicht|kein\w*|ne|pas|sin|senza|niet|sem|sans|ohne|ni|不|没|未",
    "or": r"or|either|oder|ou|oppure",
    "and": r"and|as well as|plus|also|und|et|e|en|y|и|と",
    "why": r"because|since|as|for|which|whereas|while|given|despite"
    r"|in spite of|based on|due to|thanks to|with|in|from|by|at|through|so|that",
    "verb": r"(?:is|are|was|were|be|being|ist|sind|est|sont|es|son|è|sono|são|zijn)"
    r"(?: (?:all|both|each|also|clearly))?",
    "fill": r"です|overall|nur|seulement|uniquement|solo|sólo|solamente|soltanto|alleen|tylko|только"
    rf"|the|both|only|just|simply|namely|{LABEL_NOUN}|final|finally"
    r"|following|follows|clearly|explicitly|definitely|plainly|certainly|indeed|obviously|undoubtedly"
    r"|all (?:two|three|four|five) of",
}
YES_SIGNS, NO_SIGNS = "✓✔✅☑👍", "✗✘✖✕❌❎☐👎🚫⛔"
_LEXER = re.compile(
    r"(?P<tag></?[a-z]{1,20}>)"
    rf"|(?P<yes_mark>[{YES_SIGNS}]|\[[x✓✔]\]|\(x\))|(?P<no_mark>[{NO_SIGNS}]|\[\ ?\]|\(\ \))"
    r"|(?P<stop>(?:!{2,20}+|[.!])(?=[\"'”’»“*_`)\]}]*+(?:\s|$|<|\\))|(?<!,)(?<!,\s)\.{2,}|[。！])"
    r"|(?P<semicolon>[;؛\n])|(?P<comma>[,/|、،•·和与及](?!or\b))|(?P<link>:|=>?|->|→|⇒|—|–|(?<=\s)-+(?=\s|$))|(?P<amp>&(?=\s)|(?<=\s)\+(?=\s[\w#]))"
    r"|(?<=[^\W_])(?P<tail>['’_-][^\W_]+)"
    + "".join(f"|(?P<{kind}>(?:{pattern})(?![^\\W_]|['’-][^\\W_]))" for kind, pattern in _VOCABULARY.items())
    + r"|(?P<question>\?|\.{2,})|(?P<word>[^\W_]+(?:['’.][^\W_]+)*|[<>%^+=&!¬~↑↓€£]|\$(?=\d))",
    re.DOTALL,
)
_ALIASES = {"amp": "and", "tail": "word", "yes_mark": "mark", "no_mark": "mark"}
_NUMBER = re.compile(r"[-+−]?\d{1,15}(?:\.\d{1,15})?(?![^\W_]|[.,]\d)")
_ATTACHED = re.compile(r"[^\W_]|[-+−±–—]")
"""A character before a number that makes it no code: a letter, a digit or a sign."""
_STRUCK = re.compile(
    r"(?:~~|<(?P<tag>s|del|strike)>)(?P<inner>(?:[^~<]|<(?!/?(?:s|del|strike)>))*+)(?(tag)</(?P=tag)>|~~)"
)
_OTHERS = re.compile(rf"other {LABEL_NOUN_PLURAL}\b")
"""Words for all labels that are not named, also if a label is called "Other"."""
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_SEPARATOR = re.compile(r" ?(?:[,;/|、]|and\b) ?")
_LISTED = frozenset({"name", "comma", "and", "semicolon", "fill", "code"})

ANSWERS = frozenset({"yes", "no", "present", "absent", "open", "mark"})
_TRUE, _FALSE = frozenset({"yes", "present"}), frozenset({"no", "absent"})


class _Enclosure(NamedTuple):
    """A quotation, a bracket or a struck passage up to ``end``, with the range between its marks."""

    kind: Literal["quote", "bracket", "struck"]
    inner_start: int
    inner_end: int
    end: int


@dataclass(frozen=True, slots=True)
class Token:
    """A token, from ``start`` to ``end`` in the line.

    ``item`` is the label of a ``name`` or ``code``. ``inner`` are the tokens in a ``bracket``, a ``quote`` or a
    ``struck`` passage.
    """

    kind: str
    start: int
    end: int
    text: str = ""
    item: str = ""
    inner: tuple[Token, ...] = ()

    @property
    def value(self) -> Answer:
        """The value of a token whose kind is in ``ANSWERS``."""
        if self.kind == "mark":
            return self.text in YES_SIGNS or self.text[1:2] in tuple("x✓✔")
        return True if self.kind in _TRUE else False if self.kind in _FALSE else None


def tokenise(text: str, names: Names, *, codes: bool = False) -> tuple[Token, ...]:
    """Return the tokens of one line. With ``codes`` a number that is a label's code is a token, too.

    A quotation or bracket that contains only label names is replaced by them. The time is proportional to the length.
    """
    folded = fold(text)
    return tuple(_scan(folded, 0, len(folded.text), names, codes, _groups(folded.text)))


def past(tokens: Sequence[Token], at: int, kinds: Set[str], words: Set[str] = frozenset()) -> int:
    """Return the first position from ``at`` on whose token is neither of these kinds nor one of these words."""
    ahead = (i for i in range(at, len(tokens)) if tokens[i].kind not in kinds and tokens[i].text not in words)
    return next(ahead, len(tokens))


def every(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield tokens with those inside brackets and struck passages."""
    for token in tokens:
        yield token
        if token.kind in ("bracket", "struck"):
            yield from every(token.inner)


def _groups(text: str) -> dict[int, _Enclosure]:
    """Return the quotations, brackets and struck passages of a text, by their starts."""
    quoted = outermost(double_quoted(text))
    groups = {
        span.start: _Enclosure("quote", span.start + 1, span.end - 1, span.end)
        for span in (*quoted, *single_quoted(text, quoted))
    }
    opened: list[int] = []
    for position, character in enumerate(text):
        if character in _CLOSING:
            opened.append(position)
        elif character in ")]}" and opened and _CLOSING[text[opened[-1]]] == character:
            start = opened.pop()
            groups[start] = _Enclosure("bracket", start + 1, position, position + 1)
    for match in _STRUCK.finditer(text):
        groups[match.start()] = _Enclosure("struck", *match.span("inner"), match.end())
    return groups


def _scan(
    folded: Folded, start: int, end: int, names: Names, codes: bool, groups: dict[int, _Enclosure], depth: int = 0
) -> Iterator[Token]:
    """Yield the tokens from ``start`` to ``end``; ``depth`` is the number of groups around them, at most 3."""
    text, position = folded.text, start
    after_name = -1  # the position after the last name and a space
    listed = False  # a name comes before, or a name and separators
    while position < end:
        if text[position] == " ":
            position += 1
            continue
        named = names.at(folded, position)
        if named and (others := _OTHERS.match(text, position, end)) and named[1] < others.end():
            named = None
        if named and named[1] <= end:
            yield Token("name", *folded.source(position, named[1]), item=named[0])
            position, listed = named[1], True
            after_name = position + (text[position : position + 1] == " ")
            continue
        if codes and (code := _code_at(text, position, end, names)) is not None:
            item, code_end = code
            yield Token("code", *folded.source(position, code_end), item=item)
            position = code_end
            continue
        if text[position] == "<" and (named := names.at(folded, position + 1)) and text.startswith(">", named[1], end):
            yield Token("name", *folded.source(position + 1, named[1]), item=named[0])
            position, listed = named[1] + 1, True
            continue
        match = _LEXER.match(text, position, end)
        signed = match is not None and match.lastgroup in ("yes_mark", "no_mark")
        group = None if signed or depth == 3 else groups.get(position)
        if group is not None and (named := names.at(folded, position + 1)) and named[1] > group.end:
            position += 1  # the name contains the quotation: "Lost" parcel
        elif group is not None and group.end <= end:
            inner = tuple(_scan(folded, group.inner_start, group.inner_end, names, codes, groups, depth + 1))
            if text[position] == "(":
                separator = _SEPARATOR.match(text, group.end, end)
                is_beside_name = listed or (separator is not None and names.at(folded, separator.end()) is not None)
            else:
                is_beside_name = group.kind == "bracket" and after_name == position
            if _lists_labels(group, inner, is_beside_name=is_beside_name):
                yield from inner
            else:
                yield Token(group.kind, *folded.source(position, group.end), inner=inner)
            position, listed = group.end, False
        elif match is None:
            position += 1  # decoration
        else:
            kind = match.lastgroup or ""
            listed = listed and kind in _LISTED
            if kind != "tag":
                yield Token(_ALIASES.get(kind, kind), *folded.source(position, match.end()), match.group())
            position = match.end()


def _code_at(text: str, position: int, end: int, names: Names) -> tuple[str, int] | None:
    """Return the label whose code is the number at a position, and the end of the number."""
    number = _NUMBER.match(text, position, end)
    if number is None or _ATTACHED.match(text[position - 1 : position]):
        return None
    item = names.find_code(float(number.group().replace("−", "-")))
    return None if item is None else (item, number.end())


def _lists_labels(group: _Enclosure, inner: Sequence[Token], *, is_beside_name: bool) -> bool:
    """Return True if a group only lists labels, so that its tokens replace it.

    Names beside other names may be a comment on these: "Service (Room Service)", "Service; (Room Service)".
    """
    kinds = {token.kind for token in inner}
    if group.kind == "struck" or not kinds <= _LISTED:
        return False
    return ("name" in kinds and not is_beside_name) or kinds - {"fill"} == {"code"}
