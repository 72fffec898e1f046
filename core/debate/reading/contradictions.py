"""Contradictions of a decision in the text that follows it.

A decision counts only if nothing after it takes it back, ascribes it to somebody else, or decides otherwise. The text
may go on about the labels in any other way: it may give reasons, quote, report what others say and reject that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

from core.codebook import Kind
from core.debate.reading.decision_markers import DENIED, ROLE, SENTENCE, MarkedReply, is_reporting
from core.debate.reading.label_names import Names
from core.debate.reading.labels_grammar import Statements, Unreadable, is_comment, residue, without_bullet
from core.debate.reading.tokens import ANSWERS, UNITS, Token, tokenise
from core.documents import Value

Decided: TypeAlias = Mapping[str, Value]

_WITHDRAWN = re.compile(
    # "I'm not sure.", "Hard to say.", "This is a guess."
    r"\bi(?:['’]m| am| was)(?: \w+)? (?:un(?:sure|certain)|not (?:sure|certain)|wrong|leaning)"
    r"|\bhard to (?:say|tell|decide)|\b(?:either way|toss-?up|(?:is|just|only) a (?:wild )?guess)"
    # "Scratch that.", "I take it back.", "I disagree with myself.", "That is wrong."
    r"|\b(?:scratch|strike|make) that|\bi (?:take (?:that )?back|withdraw|retract|forgot|disagree with myself)"
    r"|\bdisregard (?:this|that|the above|my)|\bthat(?:['’]s| is| was) (?:wrong|incorrect|not right)"
    r"|(?:^|[.!,;\n—-][^\S\n]*)(?:sorry|i meant?|oops|just kidding|or (?:is|are) (?:it|they))\b"
    r"|(?:^|[.!,;\n—-][^\S\n]*)not[^\w\n]*$"
    r"|(?:^|[.!\n—-][^\S\n]*)(?:wait|correction|on (?:second thoughts?|reflection)|actually|hmm"
    r"|(?:please )?ignore (?:this|that|the above|my))\b|^(?:edit|update|p\.? ?s)\b"
    # "That was the critic's list.", "is what the text tries to inject."
    r"|\b(?:this|that|these|those|the above) (?:is|are|was|were) (?:the )?(?:extractor|critic|opponent)['’]s"
    r" (?:answer|aspects?|choice|decision|labels?|list|proposal|ratings?|view)"
    r"|(?:^|\n)[^\S\n]*(?:is|was|are|were) (?:(?:only|just|exactly) )?(?:what|how|from|part of|quoted|taken|copied)\b"
    r"|\bwhich i (?:(?:will|must|do) )?(?:ignore|disregard|not follow)\b"
    # "If no aspect is present, end with:", "Choose all that apply.": a copy of the question
    r"|\bend with\b[^.\n]{0,40}:"
    r"|(?:^|[.!?(\[,;:\n—-][^\S\n]*)(?:please )?(?:choose|select|pick|tick|check|mark|circle)\b[^.\n]{0,40}"
    r"\b(?:apply|applies|fits?|one|all|any)\b",
    re.IGNORECASE,
)
"""Words that take a decision back, or show that it was none."""
_ANOTHERS_VIEW = re.compile(
    rf"\b(?:(?:in|to|from|is) {ROLE}['’]s (?:view|opinion|eyes|reading|labels?|list)"
    rf"|(?:for|from|per|says?|claims?|according to|is what|^(?:accepted|rejected|named|found|listed) by) {ROLE}(?!['’])"
    rf"|(?:says?|claims?|according to) the (?:author|guest|{UNITS}))",
    re.IGNORECASE,
)
"""Words that make a decision another role's: "Food, according to the critic"."""
_HEDGED = re.compile(
    r"[\s\W]*(?:but|though|although|however|were (?:it|the)\b|had (?:it|the)\b|only (?:on|at|for|in|when)\b|or\b"
    r"|maybe|perhaps|possibly|probably|arguably|likely"
    r"|i (?:think|guess|believe|suppose)|not (?:sure|certain|clear)|apparently|presumably|as far as"
    r"|is the [^.!?\n]{1,40} only (?:for|in|if|when)\b|(?:only )?if\b(?! anything| in doubt)|unless|assuming|borderline"
    r"|not?\W*$|which i (?:reject|doubt)"
    r"|(?:this|that|which)(?:['’]s| is| was) (?:wrong|incorrect|mistaken|not (?:right|correct)"
    r"|what the (?:extractor|critic))"
    r"|(?:the |its )?(?:definition|criteri\w+|conditions?) (?:\w+ )?not\b)|[^.!?\n]*\?"
)
"""Words right after the one label that hedge it: "Dovish, though Neutral is close", "Dovish - I think"."""
_OBJECTION = re.compile(
    r"\b(?:(?:objections?|criticisms?|concerns?|challenges?|reservations?) "
    r"|(?:critic|opponent)(?: \w+){0,4} (?:about|on)"
    r"|(?:critic|opponent)['’]s (?:point|argument|doubt|correction|remark|reasoning))"
)
"""Words that speak against a label if the sentence agrees: "I accept the critic's point about Food"."""
_PROPOSAL = re.compile(r"\bextractor(?: \w+){0,4} (?:about|on)\b")
"""Words that speak for a label if the sentence agrees: "The extractor is right about Food"."""
_ALTERNATIVE = re.compile(r"\W*alternative[^.:]*:")
_ONLY = re.compile(r"\W*only (?!because\b)", re.IGNORECASE)
"""The beginning of a sentence that restricts the decision: "Only Food is certain"."""
_SMALL = frozenset({"also", "too", "it", "this", "that", "i", "rather", "strike", "leave", "out", "say"})
"""Words that a sentence of nothing but names may contain: "Also A.", "Not B."."""
_COUNTERFACTUAL = (
    tuple(map(re.compile, (r"\bwould (?:have|be|apply|count|qualify)\b", r"\bif\b", r"\b(?:were|had)\b"))),
    tuple(map(re.compile, (r"\bhad (?:it|the|this)\b", r"\bwould have\b"))),
)
"""The words of a condition that is not met, in their order: "It would be Food if the cake were the hotel's"."""
_FOOTNOTE = re.compile(r"\s*(?:\*(?![\s*])(?!.*\S\*)|\\\*|[†‡¹²³])")
_STARRED = re.compile(r"[^\W_]\*(?![\w*])")
_STATED_NUMBER = re.compile(
    r"['’]?s? *(?:rating|score)? *(?:is|was|at|of|as|to(?: be)?|should be|deserves|merits|earns|:)"
    r"(?: (?:a|only|just))* *(-?\d{1,15}(?:\.\d{1,15})?)(?!\d)"
)
"""Words after a dimension that give its number: "I agree that Fluency is only 2"."""
_RERATED = re.compile(
    r"\b(?:(?:should|must|ought to) (?:not )?(?:be|have been)|reconsider\w*|revis\w+|changed? my|i now|deserves?)\b"
)
"""Words that give a dimension another rating: "Clarity should be lower"."""
_CHANGED = re.compile(
    r"\b(?:rais|lower|chang|revis|increas|reduc|mak|put|set|mov)\w* it (?:to|at|a) (?:an? )?\d", re.IGNORECASE
)
"""Words that give the only dimension another rating."""


def is_anothers(text: str) -> bool:
    """Return True if the first sentence of a decision ascribes it to another role."""
    return _ANOTHERS_VIEW.search(SENTENCE.split(text, maxsplit=1)[0]) is not None


def check_withdrawn(text: str) -> None:
    """Raise ``Unreadable`` if the words of a decision take it back or ascribe it to another role."""
    if _WITHDRAWN.search(text) or is_anothers(text):
        raise residue(text)


def check_following(text: str, decided: Decided, kind: Kind, names: Names) -> None:
    """Raise ``Unreadable`` if a sentence in the text after a decision contradicts it.

    ``decided`` are the labels that are present, with True, or the ratings.
    """
    for sentence in SENTENCE.split(text.lstrip(" ")):
        if _WITHDRAWN.search(sentence) or any(rule(sentence, decided, names) for rule in _RULES[kind]):
            raise residue(sentence)


def check_lines(
    marked: MarkedReply, start: int, end: int, decided: Decided, names: Names, *, undecided: Container[str]
) -> str:
    """Raise ``Unreadable`` if a line after a decision on several labels, from ``start`` to ``end``, decides otherwise.

    A footnote of the decision may only be a comment. Return the text after the decision, without the entries of a list
    of absent labels.
    """
    statements = Statements(names)
    parts, position = [], end
    starred = any(map(_is_starred, marked.text[start:end].split("\n")))
    for line in marked.statement_lines(end):
        footnote = _FOOTNOTE.match(line.text) or (starred and line.text.lstrip().startswith("*"))
        if footnote and not is_comment(line.text, names):
            raise residue(line.text)
        try:
            statements.read(line.text)
        except Unreadable:
            continue
        for item, values in statements.values.items():
            if None in values:
                is_contradicted = item in decided and item not in undecided
            else:
                is_contradicted = (True in values) != (item in decided)
            if is_contradicted:
                raise residue(line.text)
        is_absent = statements.line_values and all(values == {False} for values in statements.line_values.values())
        if statements.heading is False and is_absent:
            parts.append(marked.lines[position : line.start])
            position = line.end
    return "".join(parts) + marked.lines[position:]


def check_rating_lines(text: str, ratings: Decided, names: Names) -> None:
    """Raise ``Unreadable`` if a remark beside a rating agrees with another number."""
    for sentence in SENTENCE.split(text):
        if is_agreed(sentence.casefold()) and _states_other_number(sentence, ratings, names):
            raise residue(sentence)


def check_comment(text: str, names: Names) -> None:
    """Raise ``Unreadable`` if the words right after the one label of a decision hedge it."""
    text = " ".join(text.casefold().split())
    if _HEDGED.match(text) and not CONCEDED.match(names.masked(text)):
        raise residue(text)
    check_withdrawn(text)


def _is_starred(line: str) -> bool:
    """Return True if a word of the line has an asterisk that refers to a footnote and is not emphasis."""
    stripped = without_bullet(line)
    return stripped.count("*") % 2 == 1 and _STARRED.search(stripped) is not None


def _rates_again(sentence: str, _: Decided, names: Names) -> bool:
    """Return True if a sentence gives a dimension another rating: "Clarity should be lower", "I raise it to 4"."""
    if len(names.items) == 1 and _CHANGED.search(sentence):
        return True
    return _RERATED.search(sentence.casefold()) is not None and bool(names.mentions(sentence))


def _states_other_number(sentence: str, decided: Decided, names: Names) -> bool:
    """Return True if a sentence gives a dimension another number: "The critic is right that Fluency is 2"."""
    mentions = names.mentions(sentence)
    for mention, limit in zip(
        mentions, [*(following.start for following in mentions[1:]), len(sentence)], strict=False
    ):
        number = _STATED_NUMBER.match(sentence, mention.end, limit)
        if (
            number is not None
            and float(number[1]) != decided.get(mention.item, float(number[1]))
            and (is_agreed(sentence.casefold()) or not is_reporting(sentence[: mention.start].casefold()))
        ):
            return True
    return False


def _disagrees(sentence: str, decided: Decided, names: Names, *, is_choice: bool) -> bool:
    """Return True if a sentence speaks for a label outside the decision, or against one of the decision."""
    tokens = [token for token in tokenise(sentence, names) if token.kind != "bracket"]
    named_items = {token.item for token in tokens if token.kind == "name"}
    if not named_items:
        return False
    folded = sentence.casefold()
    if _is_counterfactual(folded):
        return False
    if _states_otherwise(tokens, decided) or (is_choice and _ALTERNATIVE.match(folded)):
        return True
    agreed = is_agreed(folded)
    objected = _OBJECTION.search(folded) and named_items & decided.keys()
    if agreed and (objected or (_PROPOSAL.search(folded) and named_items - decided.keys())):
        return True
    claims = claims_of(sentence, names, is_choice=is_choice)
    if _ONLY.match(folded) and named_items < decided.keys() and any(claim.stance == "for" for claim in claims):
        return True
    for claim in claims:
        if claim.reported and not agreed:
            continue
        if claim.stance != "for" and any(item in decided for item in claim.items):
            return True
        speaks_for = claim.stance != "against" and not claim.objected
        if speaks_for and any(item not in decided for item in claim.items):
            return True
    return False


def _is_counterfactual(sentence: str) -> bool:
    """Return True if a casefolded sentence has a condition that is not met, in time that is linear in its length."""
    for clause in sentence.split("."):
        for patterns in _COUNTERFACTUAL:
            position = 0
            for pattern in patterns:
                match = pattern.search(clause, position)
                if match is None:
                    break
                position = match.end()
            else:
                return True
    return False


def _states_otherwise(tokens: Sequence[Token], decided: Decided) -> bool:
    """Return True if a sentence of only names and small words ("Also A.", "Not B.") contradicts the decision."""
    if tokens[0].text in ("no", "nope") and tokens[1].kind in ("comma", "link"):
        tokens = tokens[2:]
    if any(token.kind == "why" or (token.kind == "word" and token.text not in _SMALL) for token in tokens):
        return False
    answers = {token.value for token in tokens if token.kind in ANSWERS}
    value = answers != {False}
    stated: set[tuple[str, bool]] = set()
    if tokens[0].text == "only" and {token.item for token in tokens if token.kind == "name"} < decided.keys():
        return True
    for token in tokens:
        if token.text in ("wrong", "incorrect"):
            stated = {(item, not present) for item, present in stated}
        elif token.kind in ("neg", "negation") or token.text in ("strike", "leave"):
            value = False
        elif token.text in ("but", "rather", "instead"):
            value = True
        elif token.kind == "name":
            stated.add((token.item, value))
    return len(answers) < 2 and any((item in decided) != value for item, value in stated)


_RULES: Mapping[Kind, tuple[Callable[[str, Decided, Names], bool], ...]] = {
    "multilabel": (partial(_disagrees, is_choice=False),),
    "choice": (partial(_disagrees, is_choice=True),),
    "rating": (_states_other_number, _rates_again),
}


Stance: TypeAlias = Literal["for", "against", "doubt"]

# In the patterns, § is a label, or several ones with one predicate.
_LOOK_BACK = 200
"""Most characters before a clause that are searched for words that report it."""
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
    r"|denied|lacks?|unsupported|unfounded|against|mistake|error"
    r"|(?:only|merely|just) (?:mention(?:ed|s)|nam(?:ed|es)|implied)(?: in passing)?|(?:mentioned|named) only"
    r"|in passing"
)
_FOR_LABEL = (
    r"there|here|too|as well|fits?|holds?|match(?:es)?|expressed|justified|certain|clear|sure|convinced|possible"
    r"|plausible|defensible|likely|find|see|argued|case(?= for)|confidence|right|correct|accurate|appropriate|suitable"
    r"|valid|convincing|count|labell?ed|coded|tagged|marked|flagged|selected|annotated"
)
_AGAINST_LABEL = (
    r"forget|wrong|incorrect|mistaken|fails|doubt(?:s|ed|ful)?|objects?|objections?|questions?|questionable|unlikely"
    r"|unconvincing|unsure|uncertain|unclear|debatable|borderline|arguable|stretch|judge?ment call|low|weak(?:ly)?"
    r"|second (?:best|choice|option)|(?:must|should|has to) go|too (?:strong|weak|much|far|vague)|take back|impossible"
    r"|unreasonable|hard|difficult|guess|less (?:sure|certain|confident|convinced|clear)"
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
    """Words that speak for a label and words that speak against it."""

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
_MODAL = _words(r"would|should|must|can|has to|had better|needs? to")
_NO_CLAIM = _words(
    r"considered|tempted|first|initial(?:ly)?|refers? to|means?|defined|needs?|requires?"
    r"|(?:extractor|critic|opponent|annotator)(?:['’]s)?|§ (?:is|are|was|were) (?:\w+ )?(?:about|part of)"
    r"|with (?:elements|a touch) of §"
)
"""Words of a consideration, a definition, a condition or another role."""
_WORD = re.compile(r"\w")
_REASON = re.compile(r"(?:because|since|as)\b")
_GROUP = re.compile(r"§(?:(?: ?[,/&] ?| |(?:(?<=[,/&] §),)? (?:and|or|nor|as well as) )(?:(?:the|an?) )?§)*")
"""Labels with one predicate: "Food, Service and the price"."""
_DENIED = re.compile(
    r"(?:\b(?:more|less) \S+ )?\b(?:rather than|than|instead of|as opposed to|not|without|beyond|(?<=§ )over)"
    r"(?: (?:an?|the|\w+ly))* §"
)
"""A label that only the words before it deny: "Food rather than Price"."""
_DESPITE = re.compile(r"\b(?:despite|in spite of|contrary to|unlike) [^§,]*,?")
_NOUN = r"(?:aspects?|labels?|categor(?:y|ies)|class(?:es)?|topics?|themes?|codes?)"
_ARTICLE = re.compile(
    rf"\b(?:the|its|their|his|her|this|that|these|those|an?|our|my)(?: (?!{_NOUN})\w+)? §(?! {_NOUN})"
)
_EXISTENCE = re.compile(
    rf"\b(?:there (?:is|are)|i|it|(?:the|this) (?:{UNITS}))(?:n['’]t| not)? (?:[\w'’]+ ){{0,3}}"
    r"(?:no|any|hardly any|barely any|little) (?:\w+ of )?§(?= ?$| (?:at all|(?:in|here)\b))"
)
"""A denial that a label occurs in the text: "There is no fear in it", "I can't detect any surprise"."""
_DENYING_NAME = re.compile(r"(?:not|never|neither|no)\b.* \w", re.IGNORECASE)
"""A name like "Not mentioned" in a longer phrase."""
_AGREED = re.compile(
    r"\b(?:right(?:ly)?|correct(?:ly)?|agree[ds]?|accept(?:ed|s)?|concede[ds]?|convince[ds]?|true|valid"
    r"|convincing|persuasive|justified|sustained|upheld|sid(?:e|ed|ing) with)\b"
    rf"|\boverrul\w+ {ROLE}:"
)
"""Words that adopt another role's view, or state one's own: "The critic is right that Food is absent"."""
_IF = re.compile(r"\b(?:if|unless|whether)\b")
_OWN_VIEW = re.compile(rf"\b{ROLE}['’]s $")
"""Before a label that another role chose, in a sentence of one's own: "The critic's Mixed is better"."""
_SEPARATOR = re.compile(
    r" ?(?:[;:—–]| - |, |\.\.+) ?"
    r"| (?=(?:but|though|although|yet|while|whereas|because|since|so|which|who)\b)"
    r"| (?=as (?:the|no|it|there|he|she|they|i|we)\b)"
)
_SECOND = re.compile(r" (?=(?:and|or) (?:(?! (?:and|or) )[^§])*§)")
"""Where a second predicate starts: "I kept Food and dropped Price"."""
_GOES_ON = re.compile(r"(?:but|though|although|yet|however|so)\b")
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
    words, groups = _grouped(sentence, names)
    claims: list[Claim] = []
    index = position = 0
    goes_on = conceded = False
    for clause in _clauses(words) if groups else ():
        position = words.index(clause, position)
        before = words[max(position - _LOOK_BACK, 0) : position]
        position += len(clause)
        clause_groups = groups[index : index + clause.count("§")]
        index += len(clause_groups)
        claims += [Claim(clause_groups.pop(at).items, "against") for at in _denied(clause)]
        items = tuple(item for group in clause_groups for item in group.items)
        if claims and (goes_on or _GOES_ON.match(clause)) and set(items) <= set(claims[-1].items):
            stance = _spoken(clause, _CHOICE if is_choice else _LABEL)
            objected = stance == "against" or claims[-1].stance == "doubt" or _NEGATION.search(clause) is not None
            claims[-1] = replace(claims[-1], stance=stance or claims[-1].stance, objected=objected)
        elif items:
            if conceded and is_choice:  # "Although there are hints of anger, sadness dominates"
                claims[-1] = replace(claims[-1], objected=True)
            stance = _stance(
                _DESPITE.sub("", _DENIED.sub("", clause)), written=clause_groups[0].written, is_choice=is_choice
            )
            claims.append(Claim(items, stance, _is_reported(before, clause)))
        aside = clause == "§" and words.startswith((",", ":", " - ", " – ", " — "), position)
        conceded = bool(items) and _CONCEDES.match(clause) is not None
        goes_on = aside or _CONCEDES.match(clause) is not None
    return [claim for claim in claims if claim.stance is not None]


def _grouped(sentence: str, names: Names) -> tuple[str, list[_LabelGroup]]:
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
            parts.append(sentence[token.start : end].casefold())
    words = " ".join(re.sub(r"[*_#`]", "", "".join([*parts, sentence[end:].casefold()])).split()).strip(" .!>-")
    if _CONCEDES.match(words):
        words = _MAIN_CLAUSE.sub("§ ; §", words, count=1)
    groups: list[_LabelGroup] = []
    first = 0
    for match in _GROUP.finditer(words):
        of_group = named[first : first + match.group().count("§")]
        groups.append(_LabelGroup(tuple(item for item, _ in of_group), of_group[0][1]))
        first += len(of_group)
    return _GROUP.sub("§", words), groups


def _denied(clause: str) -> list[int]:
    """Return the positions, from the last one on, of the labels that only the words before them deny."""
    positions: list[int] = []
    count = end = 0
    for match in _DENIED.finditer(clause):
        count += clause.count("§", end, match.end())
        end = match.end()
        positions.append(count - 1)
    return positions[::-1]


def _clauses(words: str) -> Iterator[str]:
    for part in _SEPARATOR.split(words):
        begin = 0
        for match in _SECOND.finditer(part):
            if "§" in part[begin : match.start()]:
                yield part[begin : match.start()]
                begin = match.end()
        yield part[begin:]


def _stance(clause: str, *, written: bool, is_choice: bool) -> Stance | None:
    """Return what a clause says of the labels in it, None if nothing."""
    if is_choice and CONCEDED.match(clause):
        return None
    if _EXISTENCE.search(clause) and _NEGATION.search(clause):
        return "against"
    world = _ARTICLE.search(clause) is not None
    reason = _REASON.match(clause) is not None
    stance = _spoken(clause, _CHOICE if is_choice and not reason else _WORLD if world and not is_choice else _LABEL)
    if stance is not None or reason or world or not written or not _WORD.search(clause) or _NO_CLAIM.search(clause):
        return stance
    if _NEGATION.search(clause):
        return "against"
    return "doubt" if _HEDGE.search(clause) or _MODAL.search(clause) else "for"


def _is_reported(before: str, clause: str) -> bool:
    """Return True if a clause, after the words ``before``, is what another role says or what is supposed."""
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
