"""Contradictions of a decision in the text that follows it.

A decision counts only if nothing after it takes it back, ascribes it to somebody else, or decides otherwise. The text
may go on about the labels in any other way: it may give reasons, quote, report what others say and reject that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from typing import TypeAlias

from core.codebook import Kind
from core.debate.reading.decision_markers import DENIED, ROLE, SENTENCE, MarkedReply, is_reporting
from core.debate.reading.label_names import Names
from core.debate.reading.multi_label import Statements, Unreadable, is_comment, residue, without_bullet
from core.debate.reading.normalise import fold
from core.debate.reading.tokens import ANSWERS, UNITS, Token, tokenise
from core.documents import Value

Decided: TypeAlias = Mapping[str, Value]

_LOOK_AROUND = 200
"""Most characters beside a label's name that are searched for words about it."""

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
    # "That was the critic's list.", "These numbers are an example.", "is what the text tries to inject."
    r"|\b(?:this|that|these|those|the above) (?:is|are|was|were) (?:the )?(?:extractor|critic|opponent)['’]s"
    r" (?:answer|aspects?|choice|decision|labels?|list|proposal|ratings?|view)"
    r"|\bthese numbers are an example"
    r"|(?:^|\n)[^\S\n]*(?:is|was|are|were) (?:(?:only|just|exactly) )?(?:what|how|from|part of|quoted|taken|copied)\b"
    # "Choose all that apply.": a copy of the question
    r"|(?:^|[.!?(\[,;:\n—-][^\S\n]*)(?:please )?(?:choose|select|pick|tick|check|mark|circle)\b[^.\n]{0,40}"
    r"\b(?:apply|applies|fits?|one|all|any)\b",
    re.IGNORECASE,
)
"""Words that take a decision back, or show that it was none."""
_ANOTHERS_VIEW = re.compile(
    rf"\b(?:(?:in|to|from|is) {ROLE}['’]s (?:view|opinion|eyes|reading|label)"
    rf"|(?:for|from|per|says?|claims?|according to|is what) {ROLE}(?!['’])"
    rf"|(?:says?|claims?|according to) the (?:author|guest|{UNITS}))",
    re.IGNORECASE,
)
"""Words that make a decision another role's: "Food, according to the critic"."""
_HEDGED = re.compile(
    r"[\s\W]*(?:but|though|although|however|or\b|maybe|perhaps|possibly|probably|arguably|unclear|uncertain|leaning"
    r"|likely|i (?:think|guess|believe|suppose)|not (?:sure|certain|clear)|wait|actually"
    r"|apparently|presumably|seemingly|allegedly|as far as|[^\w\s]*\?"
    r"|(?:only )?if\b(?! anything| in doubt)|unless|assuming|supposing|provided|borderline|debatable|doubtful"
    r"|not?\W*$|which i (?:reject|doubt)"
    r"|(?:this|that|which)(?:['’]s| is| was) (?:wrong|incorrect|mistaken|not (?:right|correct)"
    r"|what the (?:extractor|critic))"
    r"|(?:the |its )?(?:definition|criteri\w+|conditions?) (?:\w+ )?not\b)|[^.!?\n]*\?"
)
"""Words right after the one label that hedge it: "Dovish, though Neutral is close", "Dovish - I think"."""
_CORRECTING = re.compile(
    r"\b(?:however|actually|on (?:second thoughts?|reflection)|correction|wait|instead|re-?reading|reconsider\w*"
    r"|revis\w+|changed? my|should (?:not |also )?(?:be|have been)"
    r"|(?:could|might|may) (?:also|be (?:present|mentioned|included|relevant|implied))"
    r"|also (?:present|mentioned|applies|included)|remove|add|drop|excluding|except|rather"
    r"|scratch|deserves?|i now)\b"
)
"""Words that correct what a decision says of the labels in their sentence: "Price should be removed"."""
_RECONSIDERING = re.compile(
    r"\b(?:better|safer|stronger|preferable|tilt|undertones?|slant|more (?:accurate|appropriate)\w*|best|should|could"
    r"|might|may|lean(?:s|ing)?|possibly|perhaps|equally|alternativ\w*|changed?|final(?:ly)?|therefore|correct|answer|label|overall)\b"
    r"|\?\s*$"
)
"""Words that may choose another label than the one decided: "Neutral fits better"."""
_CHOSEN_NOW = re.compile(
    r"\b(?:(?:it|this|that)(?:['’]s| is| should be)"
    r"|i(?: would|['’]d)? (?:find|consider|call|deem|label|judge|classify) (?:it|this|that)(?: to be| as)?"
    r"|(?:i(?: would|['’]d)?(?: now)? (?:prefer|favou?r|go with|choose|pick|settle on))|^\W*go with"
    r"|make it|(?:switch(?:ing)?|chang(?:e|ing) \w+|move) to|\bis (?:right|correct) (?:about|on))"
    r" (?:an? )?[\W_]*$"
)
"""Words before another label that choose it: "But it is Dovish", "and I find it Dovish"."""
_REFUTED = re.compile(
    r"['\"”’*_)]*(?: (?:label|category|class|option|reading|answer))? (?:does not|doesn['’]t|cannot|fails|is rejected"
    r"|(?:is|would) not(?! (?:wrong|incorrect|excluded|impossible|unreasonable)))\b"
    r"|.*\b(?:which i (?:reject|do not accept)|does not (?:hold|convince)|is (?:not |un)convincing)\b",
)
"""Words after another label that reject it: "Neutral does not fit"."""
_DENYING = re.compile(
    r"\b(?:not|neither|nor|never|no|without|rather than|instead of|lacks?|less|than|opposed to|cannot)\b|n['’]t\b"
)
"""Words before another label that reject it."""
_DENYING_NAME = re.compile(r"(?:not|never|neither|no)\b.* \w")
"""A name like "Not mentioned" inside a longer phrase."""
_AGREED = re.compile(
    r"\b(?:right(?:ly)?|correct(?:ly)?|agree[ds]?|accept(?:ed|s)?|concede[ds]?|convince[ds]?|true|valid"
    r"|convincing|persuasive|justified|sustained|upheld)\b"
)
"""Words that adopt another role's view: "The critic is right that Food is absent"."""
_OBJECTION = re.compile(
    r"\b(?:objections?|criticisms?|concerns?|challenges?|reservations?"
    r"|(?:critic|opponent)(?: \w+){0,4} (?:about|on)"
    r"|(?:critic|opponent)['’]s (?:point|argument|doubt|correction|remark|reasoning)s?)\b"
)
"""Words that speak against a decided label if the sentence agrees: "I accept the critic's point about Food"."""
_AGAINST = re.compile(
    r"\W{0,3}(?: (?:label|category|class|option|reading|answer|aspect))?"
    r" (?:(?:does|do|did|would)(?: not|n['’]t) (?:apply|fit|hold|count|qualify|match)"
    r"|(?:is|was|are|were)(?: not|n['’]t)(?: (?:really|actually|even|truly|quite))*"
    rf" (?:there|here|present|mentioned|discussed|expressed|supported|justified|in (?:it|this|the (?:{UNITS})))\b"
    r"|(?:has no|lacks)(?: \w+)? (?:support|evidence|basis|quotes?)|out(?: *[.!,;]|$)"
    r"|(?:is|was)(?: not|n['’]t)(?: *[.!;]|$)|(?:should|must) go\b|low confidence"
    r"|is (?:a stretch|a judge?ment call|low|arguable|debatable|borderline)(?: *[.!,;]|$)"
    r"|is (?:rejected|doubtful|unlikely|questionable|(?:only )?weak(?:ly supported)?)(?: *[.!,;]|$))"
)
"""Words after a decided label that speak against it: "Food does not apply"."""
_DOUBTS = re.compile(
    # "I have doubts about Food", "I might be wrong about Food"
    r"(?:\b(?:(?<!no )doubts?|wrong|unsure|uncertain|not(?: \w+ly)? (?:sure|certain|convinced)) (?:about|on|over|of)"
    # "perhaps Food", "Remove Food", "The critic rightly rejects Food"
    r"|\b(?:perhaps|maybe|remove|drop|strike|withdraw|forget|leave out)"
    r"|\brightly (?:rejects|removes|drops|doubts|questions|objects to)"
    # "hardly any Food", "no evidence for Food", "The text says nothing about Food", "I can't find Food"
    r"|\b(?:(?:hardly|barely|scarcely) any|little(?: that is)?|no (?:\w+ )?(?:evidence|support|basis) (?:for|of))"
    rf"|(?:\b(?:guest|author|{UNITS}) says )?\bnothing (?:about|on)"
    r"|(?:\bnot|n['’]t|\bnever|\bno longer) (?:think|believe|mention|discuss|address)"
    r"|\b(?:can ?not|could not|can['’]t|couldn['’]t) (?:find|see)"
    r")(?: the)?\W{1,3}$"
)
"""Words before a decided label that doubt it: "I have doubts about Food"."""
_FOR = re.compile(
    r"\W{0,3}(?:, too\b| too[.!]?$| as well\b"
    r"| (?:is|was|are|seems|applies|fits|counts)(?:,? (?:also|too|as well|equally))+\b"
    r"| (?:is|was|may be|could be|might be|seems)(?: (?:also|still|equally))* (?:possible|plausible|defensible|present"
    r"|mentioned|hinted at|implied|overlooked|missed|forgotten|not (?:absent|excluded|ruled out)|likely[.!]?$)"
    r"| (?:cannot|can['’]t|can not) be (?:ruled out|excluded|dismissed|denied))"
)
"""Words after another label that speak for it: "Price, too", "Price cannot be ruled out"."""
_ADDS = re.compile(
    r"(?:\b(?:not|n['’]t) (?:exclude|rule out)|\bi (?:have )?(?:overlooked|missed|forgot)|\bi(?:['’]d| would) also \w+"
    r"|\bi should (?:also )?have (?:also )?\w+|\balso (?:\w+ )?(?:evidence|support) (?:for|of)"
    r"|\bsame (?:goes|is true|holds) for|n['’]t forget"
    r"|^\W*the (?:\w+ )?(?:guest|author|writer|reviewer|speaker)(?: \w+ly)? (?:mentions|discusses|talks about)"
    r"|\bextractor is right (?:about|on)|\bagree with the extractor (?:about|on)"
    r"|\brightly (?:adds|names|says|includes|points (?:out|to))(?: that)?"
    r"|^\W*(?:no|nope)\s*[,:;–—-])\W{0,3}$"
)
"""Words before another label that add it: "I overlooked Price"."""
_ONLY = re.compile(
    r"\W*only (?:(?!because\b)[^.,;]){1,80}?(?: (?:is|are) (?:certain|clear|sure|present|mentioned|supported)\b"
    r"| (?:really |clearly |actually )?appl(?:y|ies)\b)"
)
"""A sentence that restricts the decision: "Only Food is certain"."""
_SMALL = frozenset({"also", "too", "it", "this", "that", "i", "rather", "strike", "leave", "out"})
"""Words that a sentence of nothing but names may contain: "Also A.", "Not B."."""
_FOOTNOTE = re.compile(r"\s*(?:\*(?![\s*])(?!.*\*\s*$)|\\\*|[†‡¹²³])")
_STARRED = re.compile(r"[^\W_]\*(?![\w*])")
_STATED_NUMBER = re.compile(
    r"['’]?s? *(?:rating|score)? *(?:is|was|at|of|as|to(?: be)?|should be|deserves|merits|earns|:)"
    r"(?: (?:a|only|just))* *(-?\d{1,15}(?:\.\d{1,15})?)(?!\d)"
)
"""Words after a dimension that give its number: "I agree that Fluency is only 2"."""


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
    for sentence in SENTENCE.split(text):
        if _WITHDRAWN.search(sentence) or any(rule(sentence, decided, names) for rule in _RULES[kind]):
            raise residue(sentence)


def check_lines(
    page: MarkedReply, start: int, end: int, decided: Decided, names: Names, *, undecided: Container[str]
) -> None:
    """Raise ``Unreadable`` if a line after a decision on several labels, from ``start`` to ``end``, decides otherwise.

    A footnote of the decision may only be a comment.
    """
    after = Statements(names)
    starred = any(map(_is_starred, page.text[start:end].split("\n")))
    for line in page.statement_lines(end):
        footnote = _FOOTNOTE.match(line.text) or (starred and line.text.lstrip().startswith("*"))
        if footnote and not is_comment(line.text, names):
            raise residue(line.text)
        try:
            after.read(line.text)
        except Unreadable:
            continue
        for item, values in after.values.items():
            doubted = item in decided and item not in undecided
            if doubted if None in values else (True in values) != (item in decided):
                raise residue(line.text)


def check_rating_lines(text: str, ratings: Decided, names: Names) -> None:
    """Raise ``Unreadable`` if a remark beside a rating agrees with another number."""
    for sentence in SENTENCE.split(text):
        if _is_agreed(sentence) and _states_other_number(sentence, ratings, names):
            raise residue(sentence)


def check_comment(text: str) -> None:
    """Raise ``Unreadable`` if the words right after the one label of a decision hedge it."""
    text = " ".join(text.casefold().split())
    if _HEDGED.match(text):
        raise residue(text)
    check_withdrawn(text)


def _is_starred(line: str) -> bool:
    """Return True if a word of the line has an asterisk that refers to a footnote and is not emphasis."""
    bare = without_bullet(line)
    return bare.count("*") % 2 == 1 and _STARRED.search(bare) is not None


def _is_agreed(sentence: str) -> bool:
    """Return True if a sentence agrees with somebody: "the critic is right that Food is absent"."""
    folded = sentence.casefold()
    return "rightly" in folded or (_AGREED.search(folded) is not None and DENIED.search(folded) is None)


def _corrects(sentence: str, _: Decided, names: Names) -> bool:
    """Return True if a sentence corrects a decision on any label: "Price should be removed"."""
    return bool(_CORRECTING.search(sentence.casefold())) and any(True for _ in names.mentions(fold(sentence)))


def _states_other_number(sentence: str, decided: Decided, names: Names) -> bool:
    """Return True if a sentence gives a dimension another number: "The critic is right that Fluency is 2"."""
    named = list(names.mentions(fold(sentence)))
    for mention, after in zip(named, [*(each.start for each in named[1:]), len(sentence)], strict=False):
        given = _STATED_NUMBER.match(sentence, mention.end, after)
        if (
            given is not None
            and float(given[1]) != decided.get(mention.item, float(given[1]))
            and (_is_agreed(sentence) or not is_reporting(sentence[: mention.start].casefold()))
        ):
            return True
    return False


def _chooses_other(sentence: str, decided: Decided, names: Names) -> bool:
    """Return True if a sentence may choose another label than the one decided: "Neutral fits better"."""
    folded = sentence.casefold()
    others = [
        mention
        for mention in names.mentions(fold(sentence))
        if mention.item not in decided and not _DENYING_NAME.match(folded, mention.start, mention.end + 2)
    ]
    if not others:
        return False
    before = folded[: others[0].start]
    if _CHOSEN_NOW.search(before):
        return True
    refuted = _DENYING.search(before) or (len(others) == 1 and _REFUTED.match(folded, others[0].end))
    return not refuted and bool(_CORRECTING.search(folded) or _RECONSIDERING.search(folded))


def _disagrees(sentence: str, decided: Decided, names: Names) -> bool:
    """Return True if a sentence speaks for a label outside the decision, or against one of the decision."""
    tokens = [token for token in tokenise(sentence, names) if token.kind != "bracket"]
    named = {token.item for token in tokens if token.kind == "name"}
    restricted = named and named < decided.keys() and _ONLY.match(sentence.casefold())
    if restricted or _states_otherwise(tokens, decided):
        return True
    agreed = _is_agreed(sentence)
    if agreed and named & decided.keys() and _OBJECTION.search(sentence.casefold()):
        return True
    for at, token in enumerate(tokens):
        if token.kind != "name":
            continue
        before = sentence[max(token.start - _LOOK_AROUND, 0) : token.start].casefold()
        after = sentence[token.end : token.end + _LOOK_AROUND].casefold()
        predicate = tuple(following.kind for following in tokens[at + 1 : at + 3])
        if token.item in decided:
            denied = predicate in (("verb", "absent"), ("verb", "hedge"))
            doubted = _DOUBTS.search(before)
            contrary = denied or bool(_AGAINST.match(after) or doubted)
            before = before[: doubted.start()] if doubted else before
        else:
            spoken_for = predicate == ("verb", "present") or _FOR.match(after) is not None
            contrary = _ADDS.search(before) is not None or (spoken_for and not DENIED.search(before))
        if contrary and (agreed or _is_agreed(before) or not is_reporting(before)):
            return True
    return False


def _states_otherwise(tokens: Sequence[Token], decided: Decided) -> bool:
    """Return True if a sentence of only names and small words ("Also A.", "Not B.") contradicts the decision."""
    named = any(token.kind == "name" for token in tokens)
    if not named or any(token.kind == "why" or (token.kind == "word" and token.text not in _SMALL) for token in tokens):
        return False
    answers = {token.value for token in tokens if token.kind in ANSWERS}
    value, stated = answers != {False}, set()
    if tokens[0].text == "only" and {token.item for token in tokens if token.kind == "name"} < decided.keys():
        return True
    for token in tokens:
        if token.kind in ("neg", "negation") or token.text in ("strike", "leave"):
            value = False
        elif token.text in ("but", "rather", "instead"):
            value = True
        elif token.kind == "name":
            stated.add((token.item, value))
    return len(answers) < 2 and any((item in decided) != value for item, value in stated)


_RULES: Mapping[Kind, tuple[Callable[[str, Decided, Names], bool], ...]] = {
    "multilabel": (_corrects, _disagrees),
    "choice": (_disagrees, _chooses_other),
    "rating": (_corrects, _states_other_number),
}
