"""Claims of a sentence: which labels it states as present, absent or in doubt, and whether it only reports that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from core.debate.reading.decision_markers import DENIED, LOOK_BACK, ROLE, is_reporting
from core.debate.reading.label_names import Names
from core.debate.reading.tokens import LABEL_NOUN, UNITS, tokenise

Stance: TypeAlias = Literal["for", "against", "doubt"]

# In the patterns, § is a label, or several ones with one predicate.
_SAID = r"(?:says?|said|talks?|speaks?|writes?) (?:\w+ )?(?:about|of|on)(?= (?:the )?§)"
_FOR = (
    r"present|mention(?:s|ed|ing)?|discuss(?:es|ed)?|address(?:es|ed)?|cover(?:s|ed)?|includ(?:es?|ed|ing)|add(?:s|ed)?"
    r"|support(?:s|ed)?|stated|evidence|basis|appl(?:y|ies)|appears?|hinted|implied|list(?:ed)?|kept|keep|names?|named"
    r"|overlooked|missed|forgot(?:ten)?|belongs?|counts?|qualif(?:y|ies)|deserves?|relevant|applicable|meant|assigned"
    r"|(?:is|are|was) (?:\w+ )?about(?= (?:the )?§)"
    rf"|{_SAID}|same"
)
_AGAINST = (
    r"absent|missing|drop(?:s|ped|ping)?|remov(?:es?|ed|ing)|exclud(?:es?|ed|ing)|reject(?:s|ed|ing)?|omit(?:s|ted|ting)?"
    r"|withdr[ae]w|strike|scratch|le(?:ave|aves|aving|ft) (?:§ |it )?out|rul(?:e|es|ed) (?:§ )?out|dismiss(?:ed)?"
    r"|denied|negated|lacks?|unsupported|unfounded|against|mistake|error"
    r"|(?:only|merely|just) (?:mention(?:ed|s)|nam(?:ed|es)|implied)(?: in passing)?|(?:mentioned|named) only"
    r"|in passing"
)
_FOR_LABEL = (
    r"there|here|too|as well|fits?|holds?|match(?:es)?|expressed|justified|certain|clear|sure|convinced|possible"
    r"|plausible|defensible|likely|find|see|argued|case(?= for)|confidence|right|correct|accurate|appropriate|suitable"
    r"|valid|convincing|count|labell?ed|coded|tagged|marked|flagged|selected|annotated"
)
_AGAINST_LABEL = (
    r"forget|wrong(?:ly)?|incorrect|mistaken|fails|doubt(?:s|ed|ful)?|i (?:dispute|contest)|objects?|objections?"
    r"|(?<!the )(?<!this )(?<!our )(?<!research )(?<!review )questions?"
    r"|questionable|unlikely"
    r"|unconvincing|unsure|uncertain|unclear|debatable|borderline|arguable|stretch|judge?ment call|low|weak(?:ly)?"
    r"|second (?:best|choice|option)|close second|runner-up"
    r"|(?:must|should|has to) go|too (?:strong|weak|much|far|vague)|take back|impossible"
    r"|false positives?|(?:is|was|were|be) (?:a slip|an exaggeration|exaggerated)"
    r"|irrelevant|too (?:generous|harsh|broad|narrow|mild)|unreasonable|hard"
    r"|difficult|guess|less (?:sure|certain|confident|convinced|clear)"
)
_FOR_CHOICE = (
    r"better|best|safer|stronger|preferable|prefer|favou?r|choose|pick|go with|settle on|switch(?:ing)?|change|answer"
    r"|alternative|make it|tilt|undertones?|slant|lean(?:s|ing)?"
    r"|(?:is|are|was|be|\w+['’]s|remains|seems|looks|reads|sounds"
    r"|(?:find|call|makes?|label|consider|deem|judge) (?:it|this|that|the \w+))"
    r"(?: (?!not?\b|\w+n['’]t)[\w'’]+){0,4}"
    rf"(?= §(?: ?$| (?:in|on|to|as|because|though|overall|{UNITS}|article|label)\b))"
)


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'’])(?:{'|'.join(patterns)})(?![\w'’])")


class _Vocabulary(NamedTuple):
    """Words that support a label and words that reject it."""

    in_favour: re.Pattern[str]
    against: re.Pattern[str]


_WORLD = _Vocabulary(_words(_FOR), _words(_AGAINST))
_LABEL = _Vocabulary(_words(_FOR, _FOR_LABEL), _words(_AGAINST, _AGAINST_LABEL))
_CHOICE = _Vocabulary(_words(_FOR, _FOR_LABEL, _FOR_CHOICE), _words(_AGAINST, _AGAINST_LABEL))

_NEGATION = re.compile(
    r"\b(?:not(?! (?:only|just|merely|simply)\b.{0,100}\bbut\b)|\w+n['’]t|never|no|nothing|nobody|nowhere|none|neither"
    r"|cannot|disagree|(?<!^)without|hardly|barely|scarcely|little|few)(?![\w'’])"
)
_SAYS = _words(_SAID)
_HEDGE = _words(r"may|might|could|perhaps|maybe|possibly|probably|arguably|seems?")
_NO_CLAIM = _words(
    rf"considered|tempted|first(?! (?:{UNITS}|half|line|paragraph|part)\b)|initial(?:ly)?"
    r"|precedents?|disputed?|differences?|refers? to|means?|defined|needs?|requires?"
    r"|(?:extractor|critic|opponent|annotator)(?:['’]s)?|§ (?:is|are|was|were) (?:\w+ )?(?:about|part of)"
    r"|with (?:elements|a touch) of §"
)
"""Words of a consideration, a definition, a condition or another role."""
_WORD = re.compile(r"\w")
_REASON = re.compile(r"(?:because|since|as)\b")
_GROUP = re.compile(r"§(?:(?: ?[,/&] ?| |(?:(?<=[,/&] §),)? (?:and|or|nor|as well as) )(?:(?:the|an?) )?§)*")
"""Labels with one predicate: "Food, Service and the price"."""
_DENIED_LABEL = re.compile(
    r"(?:\b(?:more|less) \S+ )?\b(?:rather than|than|instead of|as opposed to|the opposite of"
    r"|not|without|beyond|(?<=§ )over)"
    r"(?: (?:an?|the|\w+ly))* §"
)
"""A label that only the words before it deny: "Food rather than Price"."""
_DESPITE = re.compile(r"\b(?:despite|in spite of|contrary to|unlike) [^§,]*,?")
_NOUN = rf"(?:{LABEL_NOUN}|class(?:es)?)"
_ARTICLE = re.compile(
    rf"\b(?:the|its|their|his|her|this|that|these|those|an?|our|my)(?: (?!{_NOUN})\w+)? §(?! {_NOUN})"
)
_EXISTENCE = re.compile(
    rf"\b(?:there (?:is|are)|i|it|(?:the|this) (?:{UNITS}))(?:n['’]t| not)? (?:[\w'’]+ ){{0,3}}"
    r"(?:no|any|hardly any|barely any|little) (?:\w+ of )?§(?= ?$| (?:at all|(?:in|here)\b))"
)
"""A denial that a label occurs in the text: "There is no fear in it", "I can't detect any surprise"."""
_RUNNER_UP = re.compile(
    r"\b(?:second(?:ary|[ -]best| most \w+)?|next[ -]best|other(?: possible)?"
    r"|(?:best|closest) (?:alternative|competing)) (?:answer|category|choice|intent|label|option|topic)"
    r" (?:is|was|would be|would have been) §$"
)
"""A label that is named as the next to choose: "The second-best label is Mixed"."""
_OF_PART = re.compile(
    rf"\b(?:(?:first|second|third|last|opening|closing)(?: (?:{UNITS}|half|line|paragraph|part|phrase))?"
    r"|(?:expression|phrase|word))"
    r" (?:is|looks|reads|seems|sounds)(?: \w+)? §$"
)
"""A label of a part of the document: "The first sentence is neutral"."""
_ATTRIBUTE = re.compile(
    rf"\b(?:an?|any|both|few|many|no|one|several|some|two) § (?!(?:{UNITS}|article|attitude|category|choice|class|label"
    r"|mood|opinion|sentiment|side|stance|tone|view|could|fits|might|seems|was|would)\b)[^\W\d_]{3,}"
)
"""A label's name as a word for something in the text: "one positive remark", "a high chance"."""
_CHOOSES = _words(
    r"better|best|accurate|appropriate|correct|right|fits?|deserves?|prefer|go (?:for|with)|agree|should|needs?"
)
"""Words that choose a label: "a neutral reading fits better"."""
_DENYING_NAME = re.compile(r"(?:not|never|neither|no)\b.* \w", re.IGNORECASE)
"""A name like "Not mentioned" in a longer phrase."""
_AGREED = re.compile(
    r"\b(?:right(?:ly)?|correct(?:ly)?|agree[ds]?|accept(?:ed|s)?|concede[ds]?|convince[ds]?|true|valid"
    r"|convincing|persuasive|justified|sustained|upheld|stands|holds|sid(?:e|ed|ing) with)\b"
    rf"|\boverrul\w+ {ROLE}:"
)
"""Words that adopt another role's view, or state one's own: "The critic is right that Food is absent"."""
_IF = re.compile(r"\b(?:if|unless|whether)\b")
_OWN_VIEW = re.compile(rf"\b{ROLE}['’]s $")
"""Before a label that another role chose, in a sentence of the role itself: "The critic's Mixed is better"."""
_SEPARATOR = re.compile(
    r" ?(?:[;:—–]| - |, |\.\.+) ?"
    r"| (?=(?:but|though|although|yet|while|whereas|because|since|so|which|who)\b)"
    r"| (?=as (?:the|no|it|there|he|she|they|i|we)\b)"
)
_SECOND = re.compile(r" (?=(?:and|or) (?:(?! (?:and|or) )[^§])*§)")
"""Where a second predicate starts: "I kept Food and dropped Price"."""
_GOES_ON = re.compile(r"(?:but|though|although|yet|however|so)\b")
_OF_OTHER = re.compile(r"(?:even )?(?:though|although) (?!.*\b(?:he|is|it|one|she|that|they|this|was)\b)")
"""A concession about something else than the label: "It is not about A, even though costs are mentioned"."""
_MAIN_CLAUSE = re.compile(r"§, §(?!,? (?:and|or)\b|, §)")
"""The end of a concession, before the label of the main clause: "Although there are hints of A, B prevails"."""
CONCEDED = re.compile(
    r"\W*(?:but|(?:even )?though|although|albeit|while|despite|in spite of)\b(?: there(?:['’]s| is| are)| with)?"
    r"(?: (?:also|an?|the|some|only|slight|faint|mild|minor|small|subtle|few))*"
    r" (?:hints?|traces?|touch(?:es)?|tinges?|elements?|undertones?|overtones?|shades?|whiff) of §"
    r"(?= ?(?:[.;!]|$)|,? (?:too|as well|at the end|(?:in|here)\b))"
)
"""The concession of a little of another label beside the one that fits best: "although there is a hint of Neutral"."""
_CONCEDES = re.compile(r"(?:even )?(?:while|although|though|whereas)\b|including\b")


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim about labels: a ``reported`` one is another role's or supposed, an ``objected`` one is objected to.

    The objection is in the next clause: "Price could be argued for, but the text gives no evidence".
    """

    items: tuple[str, ...]
    stance: Stance | None
    reported: bool = False
    objected: bool = False


@dataclass(frozen=True, slots=True)
class _LabelGroup:
    """Labels with one predicate; ``written`` if the first one is spelt as in the codebook."""

    items: tuple[str, ...]
    written: bool


def claims_of(sentence: str, names: Names, *, is_choice: bool) -> list[Claim]:
    """Return the claims of a sentence; with ``is_choice`` about the one label that fits best."""
    words, groups = grouped_labels(sentence, names)
    claims: list[Claim] = []
    index = position = 0
    goes_on = conceded = False
    for clause in _clauses(words) if groups else ():
        position = words.index(clause, position)
        before = words[max(position - LOOK_BACK, 0) : position]
        position += len(clause)
        clause_groups = groups[index : index + clause.count("§")]
        index += len(clause_groups)
        denied = [clause.count("§", 0, match.end()) - 1 for match in _DENIED_LABEL.finditer(clause)]
        claims += [Claim(clause_groups.pop(at).items, "against") for at in reversed(denied)]
        items = tuple(item for group in clause_groups for item in group.items)
        if claims and not items and _OF_OTHER.match(clause):
            goes_on = False
        elif claims and (goes_on or _GOES_ON.match(clause)) and set(items) <= set(claims[-1].items):
            stance = _spoken(clause, _CHOICE if is_choice else _LABEL)
            objected = stance == "against" or claims[-1].stance == "doubt" or _NEGATION.search(clause) is not None
            objected |= (
                conceded and is_choice and not (items or _CHOOSES.search(before))
            )  # "Although A is mentioned, the topic is a match"
            claims[-1] = replace(claims[-1], stance=stance or claims[-1].stance, objected=objected)
        elif items:
            if conceded and is_choice:  # "Although there are hints of anger, sadness dominates"
                claims[-1] = replace(claims[-1], objected=True)
            stance = _stance(
                _DESPITE.sub("", _DENIED_LABEL.sub("", clause)), written=clause_groups[0].written, is_choice=is_choice
            )
            claims.append(Claim(items, stance, _is_reported(before, clause)))
        aside = clause == "§" and words.startswith((",", ":", " - ", " – ", " — "), position)
        conceded = bool(items) and _CONCEDES.match(clause) is not None
        goes_on = aside or _CONCEDES.match(clause) is not None
    return [claim for claim in claims if claim.stance is not None]


def grouped_labels(sentence: str, names: Names) -> tuple[str, list[_LabelGroup]]:
    """Return a sentence in lower case with § for labels, without quotations and brackets, and the labels of each §."""
    stripped = sentence.strip()
    if stripped.startswith("(") and stripped.endswith(")"):
        sentence = stripped[1:-1]
    parts: list[str] = []
    named: list[tuple[str, bool]] = []
    end = 0
    for token in tokenise(sentence, names):
        parts.append(sentence[end : token.start].casefold().replace("§", " "))
        end = token.end
        written = token.kind == "name" and names.written(token.item) == sentence[token.start : end]
        if token.kind == "name" and (written or not _DENYING_NAME.match(sentence, token.start, token.end + 2)):
            named.append((token.item, written))
            parts.append("§")
        elif token.kind not in ("quote", "bracket", "struck"):
            parts.append(sentence[token.start : end].casefold().replace("§", " "))
    parts.append(sentence[end:].casefold().replace("§", " "))
    words = " ".join(re.sub(r"[*_#`]", "", "".join(parts)).split()).strip(" .!>-")
    if _CONCEDES.match(words):
        words = _MAIN_CLAUSE.sub("§ ; §", words, count=1)
    groups: list[_LabelGroup] = []
    first = 0
    for match in _GROUP.finditer(words):
        of_group = named[first : first + match.group().count("§")]
        groups.append(_LabelGroup(tuple(item for item, _ in of_group), of_group[0][1]))
        first += len(of_group)
    return _GROUP.sub("§", words), groups


def _clauses(words: str) -> Iterator[str]:
    for part in _SEPARATOR.split(words):
        begin = 0
        for match in _SECOND.finditer(part):
            if "§" in part[begin : match.start()]:
                yield part[begin : match.start()]
                begin = match.end()
        yield part[begin:]


def _stance(clause: str, *, written: bool, is_choice: bool) -> Stance | None:
    """Return the claims of a clause about the labels in it, None without any."""
    if is_choice and (
        CONCEDED.match(clause)
        or _RUNNER_UP.search(clause)
        or _OF_PART.search(clause)
        # the name only describes something in the text
        or (not written and _ATTRIBUTE.search(clause) and not _CHOOSES.search(clause))
    ):
        return None
    if _EXISTENCE.search(clause):
        return "against"
    world = _ARTICLE.search(clause) is not None
    reason = _REASON.match(clause) is not None
    stance = _spoken(clause, _CHOICE if is_choice and not reason else _WORLD if world else _LABEL)
    if stance is not None or reason or world or not written or not _WORD.search(clause) or _NO_CLAIM.search(clause):
        return stance
    if _NEGATION.search(clause):
        return "against"
    return "doubt" if _HEDGE.search(clause) else "for"


def _is_reported(before: str, clause: str) -> bool:
    """Return True if a clause, after the words ``before``, reports another role or a supposition."""
    name_position = clause.index("§")
    against = (pattern.search(clause) for pattern in (_LABEL.against, _NEGATION, _SAYS))
    begin = min([name_position, *(match.start() for match in against if match)])
    reporting = _OWN_VIEW.sub("", _DESPITE.sub("", before + clause[:begin]))
    return (is_reporting(reporting) or "even if" in reporting) and not is_agreed(before + clause[:name_position])


def is_agreed(words: str) -> bool:
    """Return True if casefolded words agree with somebody: "the critic is right that Food is absent"."""
    if _IF.search(words):
        return False
    return "rightly" in words or (_AGREED.search(words) is not None and DENIED.search(words) is None)


def _spoken(clause: str, vocabulary: _Vocabulary) -> Stance | None:
    against = len(vocabulary.against.findall(clause))
    in_favour = vocabulary.in_favour.search(vocabulary.against.sub("", clause))
    if not against and not in_favour:
        return None
    if (against + len(_NEGATION.findall(clause))) % 2:
        return "against"
    return "doubt" if _HEDGE.search(clause) else "for"
