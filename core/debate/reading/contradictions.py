"""Contradictions of a decision in the text that follows it.

A decision counts only if nothing after it takes it back, ascribes it to somebody else, or decides otherwise. The text
may go on about the labels in any other way: it may give reasons, quote, report what others say and reject that.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from core.codebook import Kind
from core.debate.reading.claims import CONCEDED, claims_of, grouped_labels, is_agreed
from core.debate.reading.decision_markers import LOOK_BACK, ROLE, SENTENCE_BREAK, UNMET, MarkedReply, is_reporting
from core.debate.reading.label_names import Names
from core.debate.reading.labels_grammar import Statements, Unreadable, is_comment, residue, without_bullet
from core.debate.reading.normalise import replace_ranges
from core.debate.reading.quotation_marks import double_quoted, outermost
from core.debate.reading.tokens import ANSWERS, LABEL_NOUN, NUMERALS, UNITS, Token, tokenise
from core.documents import Value

Decided: TypeAlias = Mapping[str, Value]

_WITHDRAWN = re.compile(
    # "I'm not sure.", "Hard to say.", "This is a guess."
    r"\bi(?:['’]m| am| was)(?: \w+)? (?:un(?:sure|certain)|not (?:sure|certain)|wrong|leaning)"
    r"|\bhard to (?:say|tell|decide)"
    r"|\b(?:(?<!leaning )(?<!lean )either way|toss-?up|(?:is|just|only) a (?:wild )?guess)"
    # "Scratch that.", "I take it back.", "I disagree with myself.", "That is wrong."
    r"|\b(?:scratch|strike|make) that"
    r"|\bi (?:take (?:that )?back|(?:withdraw|retract)(?= (?:all|both|it|my|th\w+)\b|\W*$)|forgot|disagree with myself)"
    r"|\bdisregard (?:this|that|the above|my)|\bthat(?:['’]s| is| was) (?:wrong|incorrect)"
    r"|\bth(?:at|is)(?:['’]s| is| was) not (?:the )?(?:right|correct)"
    r"|(?:^|[.!,;\n—-][^\S\n]*)(?:sorry(?! for (?:the|my) (?:long|late|delay|length))|i meant?|oops|just kidding"
    r"|or (?:is|are) (?:it|they))\b"
    r"|(?:^|[.!,;\n—-][^\S\n]*)not[^\w\n]*$"
    r"|(?:^|[.!\n—-][^\S\n]*)(?:wait|correction|on (?:second thoughts?|reflection)|actually|hmm"
    r"|(?:please )?ignore (?:this|that|the above|my))\b|^(?:edit|update|p\.? ?s)\b"
    # "That was the critic's list.", "is what the text tries to inject."
    r"|\b(?:this|that|these|those|the above) (?:is|are|was|were) (?:the )?(?:extractor|critic|opponent)['’]s"
    r" (?:answer|aspects?|choice|decision|labels?|list|proposal|ratings?|view)"
    r"|(?:^|\n)[^\S\n]*(?:is|was|are|were) (?:(?:only|just|exactly) )?(?:what|how|from|part of|quoted|taken|copied)\b"
    r"|\bwhich i (?:(?:will|must|do) )?(?:ignore|disregard|not follow)\b"
    # "This label is wrong.", "This is a mistake.", "Ignore the label above.", "I cannot decide."
    r"|\b(?:this|that|my) (?:label|answer|decision|choice|list) (?:is|was|seems|may|might|could)\b[^.!?\n]{0,60}?"
    r"\b(?:wrong|incorrect|uncertain|unsure|doubtful|questionable|tentative|mistake|slip|guess|error|stretch|placeholder"
    r"|bad|poor|weak|not|too (?!\w+ (?:for|to)\b))\b"
    r"|(?:^|however, )(?:this|that) (?:is|was) (?:a (?:mistake|slip)|an error|uncertain|wrong|incorrect)\W*$"
    r"|^(?:please )?(?:ignore|disregard)(?: the (?:label|answer|decision|list|ratings?)\b(?! of\b)|\W*$)"
    r"|\bi (?:cannot|can['’]t|could(?: not|n['’]t)|am (?:not able|unable) to) (?:decide\b(?! (?:whether|if|how)\b)"
    r"|choose(?: (?:(?:an?|the) (?:\w+ )?(?:label|answer)|this|any|one|between|here)\b|\W*$|[.,;!]))"
    r"|\bmy confidence is (?:(?!not\b)\w+ )?low\b(?! (?:only|(?:for|in|on) (?!this\b|the \w+\W*$|my\b))\b)"
    r"|^this would be my \w+ if\b"
    # the same in other languages
    r"|\bich bin (?:mir )?(?:\w+ )?(?:nicht sicher|unsicher)|\b(?:das|dies) (?:\w+ )?ist falsch"
    r"|\bje ne suis pas (?:sûre?|certaine?)"
    r"|\bc['’]est faux|\bno estoy segur[oa]|\bnon sono sicur[oa]|\bnão tenho certeza|\bik ben niet zeker|\bне уверен"
    r"|不(?:太)?确定|不對|不对|わからない|分からない"
    r"|^(?:nein|korrektur|correction ?:|corrección|correzione|correção|更正|改为|訂正)(?!\w)"
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
    r"|maybe|perhaps|possibly|probably|arguably|likely|wenn auch|obwohl|bien que|aunque|embora|hoewel"
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
    r"|(?:critic|opponent)(?: (?!agrees?\b)\w+){0,4} (?:about|on)"
    r"|(?:critic|opponent)['’]s (?:point|argument|doubt|correction|remark|reasoning))"
)
"""Words that speak against a label if the sentence agrees: "I accept the critic's point about Food"."""
_PROPOSAL = re.compile(r"\bextractor(?: \w+){0,4} (?:about|on)\b")
"""Words that support a label if the sentence agrees: "The extractor is right about Food"."""
_ALTERNATIVE = re.compile(r"\W*alternative(?! considered)[^.:]*:")
_RESTRICTED = re.compile(
    r"\W*(?:[^§]{0,40}[:,] ?)?(?:(?:so|thus|therefore|hence),? )?"
    r"(?:(?:only|just|nothing but|nur|lediglich|seulement|uniquement|s[oó]lo|solamente|soltanto|alleen|tylko|только"
    r"|只有|仅) ?(?P<named>§(?:[§ ,&]|and|und|et|y|e|en|和|、)*)|§(?:[§ ,&]|and)* (?:only|alone))\W*"
)
"""A sentence that keeps only some labels: "Just Food.", "In the end: Food only.", "Nur Lage."."""
_HOW_MANY = rf"(?:\d|{'|'.join(NUMERALS)})"
_REST_PRESENT = re.compile(
    rf"\b(?:all (?:the )?others?|(?:all |the )(?:rest|(?:other|remaining)(?: {_HOW_MANY})? (?:{LABEL_NOUN}|ones?"
    rf"|options|criteria|{_HOW_MANY}))|everything else)"
    r"(?: (?:also|all))? (?:is|are|applies|apply)(?: (?:also|all|too))?"
    r"(?: (?:present|mentioned|discussed|relevant|there|met))?(?:,? (?:too|as well))?\W*$"
)
"""A sentence that adds all other labels: "Everything else is present, too."."""
_ABROAD_NEGATED = re.compile(
    r"\b(?:nicht|kein\w*|nie|ne|n['’]\w+|pas|aucun\w*|jamais|no se|nunca|tampoco"
    r"|nichts|rien|nada|niente|non|não|niet|geen|не|нет)(?![\w'’-])"
    r"|[没沒未无]|不(?!但|仅|只)|ない|ません|なし"
)
_ABROAD_DROPPED = re.compile(
    r"\b(?<!zu unrecht )(?<!à tort )(?:entf[aä]ll|streich|gestrichen|verw[eioa]rf|abgelehn"
    r"|retir|écart|rejet|quit[oa]|descart|rechaz|tolg|scart)\w*|\b(?:falsch|faux)\b"
    r"|\b(?:nehme|ziehe)\b.{0,80}\bzurück\b"
    r"|\b(?:nicht|kein\w*|pas(?: de)?|aucun\w*|ni|non|não|niet|geen|не) §"
    r"|§ (?:(?:ist|eher|es|doch) )*(?:nicht|niet)$"
    r"|(?:没有?|沒有?|未|无|不)被?(?: ?§|[是属算说选]|在文|谈[到及]|包括|关于"
    r"|相关|适合|提(?:[及到]| ?§)|存在|涉及|包含|适用|出现|讨论|正确|成立)"
    r"|§ ?[はが]?(?:(?:では|じゃ)?(?:ない|ありません)|なし)|(?:言及|存在|該当|含ま|当ては)[^§]{0,8}(?:ない|ません)"
)
"""Words that deny a label by themselves: "Ich streiche A", "Kein A"."""
_ABROAD_MENTIONED = re.compile(
    r"\b(?:erwähn|vorhanden|genannt|zutreff|trifft|vorkomm|angesprochen|besprochen|gezählt|thema|aussage|rede|bezug|enthalten"
    r"|beleg|pass(?:t|en)\b|gehör|relevan|gegeben|behandel|zähl|rolle|gemeint|darunter|vergeben|angebracht|angemessen|aufgenommen"
    r"|berücksichtigt|diskutiert|erkennbar|ersichtlich|hinweis|bestätig|wähl"
    r"|(?:dabei|richtig|korrekt)$|im text\b|gilt\b|steht\b|stimmt\b"
    r"|dans le texte|indiqu|discut|appliqu|convient|garde\b|voorkom|komt\b.{0,80}\bvoor$|no texto|nel testo"
    r"|pertinen|traité|reten|compte|apparaî|concern|justifi|inclu|cité"
    r"|mentionn|présente?s?\b|abord|évoqu|parl|question|figur|mencion|menzion|presente|habla|aparec|aplic|trata|cita"
    r"|fala|genoemd|vermeld|aanwezig|sprake|упомин|присутств)|\b(?:kommt|liegt)\b.{0,80}\bvor$"
)
"""Words that deny a label beside a negation: "Der Preis wird nicht erwähnt"; "war nicht freundlich" does not."""
_ABROAD_DOUBTED = re.compile(
    r"\b(?:fraglich|zweifelhaft|unsicher|unklar|vielleicht|douteu(?:x|se)|incertaine?|peut-être"
    r"|dudos[oa]|quizás?|dubbi[oa]|forse|duvidos[oa]|talvez|misschien|возможно"
    r"|(?:eher|doch|lieber|plutôt|piuttosto|liever)(?= §))(?![\w'’-])|可能|应该|改为|更正|かもしれ"
)
_ABROAD_ADDED = re.compile(
    r"\b(?:außerdem|zudem|auch|aussi|además|también|anche|também|ook|также)(?![\w'’-])|还有|另外|也是"
)
"""Words of other languages that negate something, doubt a label, or add one."""
_ABROAD_OF_ROLE = re.compile(
    r"\b(?:extra[ck]t|criti[cq]|crític|kriti[ck])\w* [^§]{0,80}§,? (?:aber|jedoch|mais|pero)\b"
)
"""Another role's label and an objection to it: "Der Kritiker nennt A, aber ...", in words with § for labels."""
_MIXTURE = re.compile(r"\b(?:mixed|mixture|both|ambivalent|ambiguous|part(?:ly|ially))\b", re.IGNORECASE)
_ONE_OF_MIXTURE = re.compile(
    r"§ or §|\b(?:outweigh\w*|choose|pick|go with|settle on|prefer(?:s|red)?|favou?rs?|switch(?:ing)?|better)\b"
)
"""Words that support one of the labels that a mixture consists of."""
_TITLED = re.compile(r"\W*§(?: \w+)?:")
_NO = re.compile(r"no\b(?! doubt)", re.IGNORECASE)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_PART = re.compile(r"[:;—–，、：；。]|, ")
_ONLY = re.compile(r"\W*only (?!because\b)", re.IGNORECASE)
"""The beginning of a sentence that restricts the decision: "Only Food is certain"."""
_SMALL = frozenset({"also", "i'd", "i’d", "too", "it", "this", "that", "i", "rather", "out", "say"})
"""Words that a sentence of nothing but names may contain: "Also A.", "Not B."."""
_COUNTERFACTUAL = re.compile(
    rf"\bwould (?:have|be|apply|choose|count|go|pick|qualify)\b{UNMET.pattern}"
    r"|\bhad (?:it|the|this)\b[^.\n]{0,120}\bwould have\b"
)
"""A condition that is not met: "It would be Food if the cake were the hotel's"."""
_FOOTNOTE = re.compile(r"\s*(?:\*(?![\s*])(?!.*\S\*)|\\\*|[†‡¹²³])")
_STARRED = re.compile(r"[^\W_]\*(?![\w*])")
_STATED_NUMBER = re.compile(
    r"['’]?s? *+(?:(?:rating|score) *+)?(?:is|was|at|of|as|to(?: be)?|should be|deserves|merits|earns|:)"
    r"(?: (?:a|only|just))* *(?P<number>-?\d{1,15}(?:\.\d{1,15})?)(?!\d| of (?:all|its|the)\b)"
)
"""Words after a dimension that give its number: "I agree that Fluency is only 2"."""
NOT_GIVEN = re.compile(
    rf"\b(?:not|no(?![,:])|nor|from|than|instead|of|over|above|below|initial\w*|original\w*|first|before|previous\w*|earlier|was"
    rf"|considered|tempted|both|confiden\w*|certain\w*|weight|lines?|pages?|sentences?|paragraphs?|sections?|parts?|rules?"
    rf"|steps?|points?|questions?|articles?|figures?|tables?|chapters?|phases?|war|errors?|mistakes?"
    rf"|(?<!in )all(?! in)|for an?|nicht|statt|von|{ROLE})\b",
    re.IGNORECASE,
)
"""Words before a number that does not replace the rating: "4 (not 5)", "4 (down from 5)", "4 (critic: 3)"."""
_LATER_NUMBER = re.compile(
    r"(?P<words>\W+(?:[^\W\d_][^\W\d_'’]*\W+){0,5}?)(?P<number>\d{1,15}(?:\.\d{1,15})?)"
    r"(?=\s*(?:$|[.,;)!]|(?:and|but|because|after|for|since|now|instead|rather|sein|geben)\b))"
)
"""A number alone behind a dimension: "Clarity drops to 3 after the objection"."""
_NUMBER_FOR = re.compile(
    r"(?P<words>(?:\bnot (?:even )?)?\w*)\W+(?P<number>\d{1,15}(?:\.\d{1,15})?)"
    r" (?:for|on|in|für|pour|para)(?: the)? \Z",
    re.IGNORECASE,
)
_WOULD = re.compile(r" (?:(?:would|could|might)(?! be (?:fair|better|more|right))|(?:is|was|seems) too)\b")
"""Words after "A 5 for Clarity" that make it another number than the rating."""
_CONDITION = re.compile(r"\b(?:if|with)\b")
_RERATED = re.compile(
    r"(?:\bi would |(?<!would ))\b(?:should be \d|(?:lower|higher|weaker|stronger)(?! than (?:the )?§)|lowering"
    r"|points? (?:less|more|off)|rais(?:e|ing)|reduc(?:e|ing)|increas(?:e|ing)|subtract(?:ing)?|deduct(?:ing)?"
    r"|revis(?:e|ed|ing|ion)|reconsider\w*|chang(?:e|ing)|changed my|goes (?:up|down)"
    r"|deserves? (?:\w+ )?(?:better|less|more|worse)|too (?:high|low|generous|strict|harsh|lenient))\b"
)
"""Words that give a dimension another rating: "Clarity should be lower", "Subtract one point from Clarity".

"I subtracted one point for the typos" explains the rating that was given.
"""
_EXPLAINED = re.compile(r"\b(?:because|since|as|due|for(?! (?:the )?§)|after|would|if)\b")
_OF_ROLE = re.compile(rf"\b(?:{ROLE}['’]s|[^\W\d_]+(?:['’]s|s['’])(?= \d)) ")
_RATED_BY = re.compile(r"\b(?!(?:I|We)\b)[A-Z][^\W\d_]+ (?:(?:all|also|both) )?(?:rate[sd]|gave|gives|scored) ")
_DIGITS = re.compile(r"\d{1,15}(?:\.\d{1,15})?")
_NOT_NOW = re.compile(
    r"\b(?:considered|tempted|initial\w*|original\w*|first|previous\w*|earlier|before)\b"
    r"|^\W*(?:in order )?to (?:bring|get|improve|lift|raise)\b"
)
_ALL_RATINGS = re.compile(r"\b(?:all|each|every|both)\b|\b(?:the|my) (?:ratings|scores)\b")
_CHANGED_IT = re.compile(
    r"\b(?:rais|lower|chang|revis|increas|reduc|mak|put|set|mov)\w* it (?:to|at|a) (?:an? )?(\d{1,15}(?:\.\d{1,15})?)",
    re.IGNORECASE,
)
"""Words that give the only dimension another rating."""


def is_anothers(text: str) -> bool:
    """Return True if the first sentence of a decision ascribes it to another role."""
    return _ANOTHERS_VIEW.search(SENTENCE_BREAK.split(text, maxsplit=1)[0]) is not None


def check_withdrawn(text: str) -> None:
    """Raise ``Unreadable`` if the words of a decision take it back or ascribe it to another role."""
    if _WITHDRAWN.search(_without_quotations(text)) or is_anothers(text):
        raise residue(text)


def check_following(text: str, decided: Decided, kind: Kind, names: Names) -> None:
    """Raise ``Unreadable`` if a sentence in the text after a decision contradicts it.

    ``decided`` are the labels that are present, with True, or the ratings.
    """
    text = text.lstrip(" ")
    if withdrawn := next(filter(_WITHDRAWN.search, SENTENCE_BREAK.split(_without_quotations(text))), None):
        raise residue(withdrawn)
    sentences = SENTENCE_BREAK.split(text)
    for sentence, following in zip(sentences, [*sentences[1:], ""], strict=True):
        if sentence.endswith("?") and _NO.match(following):
            claims = claims_of(sentence, names, is_choice=kind == "choice")
            if any((claim.stance == "for") == any(item in decided for item in claim.items) for claim in claims):
                raise residue(sentence)
            continue  # "Is Food present? No, the guest only names the table."
        if kind == "rating":
            is_contradiction = _states_other_number(sentence, decided, names) or _rates_again(sentence, decided, names)
        else:
            is_contradiction = _disagrees(sentence, decided, names, is_choice=kind == "choice")
        if is_contradiction:
            raise residue(sentence)


def _without_quotations(text: str) -> str:
    return replace_ranges(text, outermost(double_quoted(text)), lambda _: "_")


def check_lines(marked: MarkedReply, start: int, end: int, decided: Decided, *, undecided: Container[str]) -> str:
    """Raise ``Unreadable`` if a line after a decision on several labels, from ``start`` to ``end``, decides otherwise.

    A footnote of the decision may only be a comment. Return the text after the decision, without the entries of a list
    of absent labels.
    """
    names = marked.names
    statements = Statements(names)
    left_out: list[tuple[int, int]] = []
    starred = any(map(_is_starred, marked.text[start:end].split("\n")))
    for line in marked.statement_lines(end):
        footnote = _FOOTNOTE.match(line.text) or (starred and line.text.lstrip().startswith("*"))
        if footnote and not is_comment(line.text, names):
            raise residue(line.text)
        claims = claims_of(line.text, names, is_choice=False)
        if claims and all(claim.stance == "against" for claim in claims):
            continue  # "- A: the quotation was judged too vague to count"
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
        is_left_open = any(line.start <= marker.start < line.end for marker in marked.undecided)
        if is_left_open or (statements.heading is False and is_absent):
            left_out.append((line.start, line.end))
    return replace_ranges(marked.lines, left_out, lambda _: "")[end:]


def _is_starred(line: str) -> bool:
    """Return True if a word of the line has an asterisk that refers to a footnote and is not emphasis."""
    stripped = without_bullet(line)
    return stripped.count("*") % 2 == 1 and _STARRED.search(stripped) is not None


def check_rating_lines(text: str, ratings: Decided, names: Names) -> None:
    """Raise ``Unreadable`` if a remark beside a rating agrees with another number."""
    for sentence in SENTENCE_BREAK.split(text):
        if is_agreed(sentence.casefold()) and _states_other_number(sentence, ratings, names):
            raise residue(sentence)


def check_comment(text: str, names: Names) -> None:
    """Raise ``Unreadable`` if the words right after the one label of a decision hedge it."""
    text = " ".join(text.casefold().split())
    if _HEDGED.match(text) and not CONCEDED.match(names.masked(text)):
        raise residue(text)
    check_withdrawn(text)


def _rates_again(sentence: str, decided: Decided, names: Names) -> bool:
    """Return True if a sentence gives a dimension another rating: "Clarity should be lower", "I raise it to 4"."""
    changes = _CHANGED_IT.finditer(sentence) if len(names.items) == 1 else ()
    if any(float(changed[1]) not in decided.values() for changed in changes):
        return True
    masked = names.masked(sentence)
    rerated = _RERATED.search(masked) if "§" in masked or _ALL_RATINGS.search(masked) else None
    if rerated is None or _EXPLAINED.search(masked, rerated.end()):
        return False
    numbers = _DIGITS.findall(masked)
    named = [decided.get(mention.item) for mention in names.mentions(sentence)]
    if numbers and float(numbers[-1]) in named and "too" not in rerated.group():
        return False  # "I have reconsidered Clarity and keep 3."
    is_of_role = _OF_ROLE.search(sentence.casefold()) or is_reporting(masked[: rerated.start()])
    return not is_of_role or is_agreed(masked)


def _states_other_number(sentence: str, decided: Decided, names: Names) -> bool:
    """Return True if a sentence gives a dimension another number: "The critic is right that Fluency is 2"."""
    folded = sentence.casefold()
    agreed = is_agreed(folded) or "better" in folded
    has_condition = _CONDITION.search(folded) is not None
    mentions = names.mentions(sentence)
    starts = [0, *(mention.end for mention in mentions)]
    ends = [*(following.start for following in mentions[1:]), len(sentence)]
    for mention, start, end in zip(mentions, starts, ends, strict=False):
        numbers = (
            _STATED_NUMBER.match(sentence, mention.end, end),
            _LATER_NUMBER.match(sentence, mention.end, end),
            _NUMBER_FOR.search(sentence, max(start, mention.start - LOOK_BACK), mention.start),
        )
        for number in filter(None, numbers):
            given = float(number["number"])
            words = number.groupdict().get("words") or ""
            if NOT_GIVEN.search(words) or given == decided.get(mention.item, given):
                continue
            if (has_condition or number.end() <= mention.start) and _WOULD.match(folded, mention.end):
                continue
            if _RATED_BY.search(sentence, max(mention.start - LOOK_BACK, 0), mention.start) and not agreed:
                continue
            before = folded[max(mention.start - LOOK_BACK, 0) : mention.start]
            if agreed or not (is_reporting(before) or _NOT_NOW.search(before) or _OF_ROLE.search(before)):
                return True
    return False


def _disagrees(sentence: str, decided: Decided, names: Names, *, is_choice: bool) -> bool:
    """Return True if a sentence supports a label outside the decision, or rejects one of the decision."""
    sentence = _spaced(sentence, names)
    tokens = tokenise(sentence, names)
    named_items = {token.item for token in tokens if token.kind == "name"}
    if not named_items:
        return not is_choice and _REST_PRESENT.search(sentence.casefold()) is not None
    folded = sentence.casefold()
    if _COUNTERFACTUAL.search(folded):
        return False
    abroad = _disagrees_abroad(sentence, decided, names)
    if abroad is not None:
        return abroad
    if named_items < decided.keys() and _RESTRICTED.fullmatch(names.masked(sentence)):
        return True
    is_part = (
        is_choice
        and _TITLED.match(names.masked(sentence)) is not None
        and is_mixture(decided, names)
        and not any(token.kind in ANSWERS for token in tokens)
    )
    if (_states_otherwise(tokens, decided) and not is_part) or (is_choice and _ALTERNATIVE.match(folded)):
        return True
    agreed = is_agreed(folded)
    objected = named_items & decided.keys() and any(
        _OBJECTION.search(part) and is_agreed(part) for part in folded.split(";")
    )
    if objected or (agreed and _PROPOSAL.search(folded) and named_items - decided.keys()):
        return True
    claims = claims_of(sentence, names, is_choice=is_choice)
    if _ONLY.match(folded) and named_items < decided.keys() and any(claim.stance == "for" for claim in claims):
        return True
    own_claims = [claim for claim in claims if agreed or not claim.reported]
    if any(claim.stance != "for" and not decided.keys().isdisjoint(claim.items) for claim in own_claims):
        return True
    is_denied = any(claim.stance == "against" for claim in own_claims)
    proposed = (claim.items for claim in own_claims if claim.stance != "against" and not claim.objected)
    others = set(chain.from_iterable(proposed)) - decided.keys()
    is_of_mixture = is_part or (
        is_choice and not is_denied and len(named_items - decided.keys()) > 1 and is_mixture(decided, names)
    )
    return bool(others) and not (is_of_mixture and not _ONE_OF_MIXTURE.search(names.masked(sentence)))


def is_mixture(items: Iterable[str], names: Names) -> bool:
    """Return True for a label such as "Mixed", whose reasons name the labels that it mixes."""
    return any(_MIXTURE.search(names.written(item)) for item in items)


def _disagrees_abroad(sentence: str, decided: Decided, names: Names) -> bool | None:
    """Return True if a sentence in another language denies a label of the decision, or doubts or adds one.

    Return False if it denies another label, and None if it holds none of these words.
    """
    words, groups = grouped_labels(sentence, names)
    items = [group.items for group in groups]
    negated: set[str] = set()
    stated: set[str] = set()
    for part in _PART.split(words):
        named = {item for _ in range(part.count("§")) for item in items.pop(0)}
        is_negated = _ABROAD_NEGATED.search(part) is not None
        is_denied = _ABROAD_DROPPED.search(part) or (is_negated and _ABROAD_MENTIONED.search(part))
        if is_denied and named & decided.keys():
            return True
        (negated if is_denied or is_negated else stated).update(named)
    if stated and stated.isdisjoint(decided) and _ABROAD_OF_ROLE.search(words):
        return False
    if _ABROAD_DOUBTED.search(words) or (stated - decided.keys() and _ABROAD_ADDED.search(words)):
        return True
    return False if negated else None


def _spaced(sentence: str, names: Names) -> str:
    """Return a sentence with spaces around the names of a script without spaces."""
    unspaced = sorted(filter(_UNSPACED.search, map(names.written, names.items)), key=len, reverse=True)
    return re.sub("|".join(map(re.escape, unspaced)), r" \g<0> ", sentence) if unspaced else sentence


def _states_otherwise(tokens: Sequence[Token], decided: Decided) -> bool:
    """Return True if a sentence of only names and small words ("Also A.", "Not B.") contradicts the decision."""
    if tokens[0].text in ("no", "nope") and tokens[1].kind in ("comma", "link"):
        tokens = tokens[2:]
    if any(token.kind == "why" or (token.kind == "word" and token.text not in _SMALL) for token in tokens):
        return False
    answers = {token.value for token in tokens if token.kind in ANSWERS}
    value = answers != {False}
    stated: set[tuple[str, bool]] = set()
    for token in tokens:
        is_last = token is tokens[-1] or (token is tokens[-2] and tokens[-1].kind == "stop")
        if token.text in ("wrong", "incorrect") or (token.kind == "negation" and is_last):
            stated = {(item, not present) for item, present in stated}
        elif token.kind in ("neg", "negation"):
            value = False
        elif token.text in ("but", "rather", "instead"):
            value = True
        elif token.kind == "name":
            stated.add((token.item, value))
    return len(answers) < 2 and any((item in decided) != value for item, value in stated)
