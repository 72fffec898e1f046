"""The grammar of a decision for one label: "X", "Label: X", "the label is X because ...", "not Y but X"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.debate.reading.decision_markers import SENTENCE, WITHDRAWN, disagrees, is_anothers
from core.debate.reading.label_names import Names
from core.debate.reading.multi_label import UNLIKELY, Unreadable, quoted_names, residue, sole_answer
from core.debate.reading.normalise import fold
from core.debate.reading.tokens import Token, every, past, tokenise

_NAMED = ("name", "code")
_LEADING = frozenset(
    {"label", "class", "category", "code", "number", "option", "a", "an", "therefore", "thus", "hence", "so", "best"}
)
_CONTRAST = re.compile(r"(?:(?:and|but) )?(?:not|nor)|rather than|instead of|as opposed to|over$")
_FITTING = frozenset(
    {"correct", "right", "accurate", "appropriate", "best", "better", "my", "most", "more", "well", "a"}
)
"""Words after "X is" that speak for X."""
_BESIDE = frozenset({"link", "why", "bracket", "quote", "stop", "semicolon", "comma", "struck", "verb", "fill", "mark"})

# Words after a decision that may take it back.
_HEDGED_AT_ONCE = re.compile(
    r"[\s\W]*(?:but|though|although|however|or\b|maybe|perhaps|possibly|probably|arguably|unclear|uncertain|leaning"
    r"|likely"
    r"|i (?:think|guess|believe|suppose)|not (?:sure|certain|clear)|wait|actually|[^\w\s]*\?"
    r"|(?:only )?if\b(?! anything| in doubt)|unless|assuming|supposing|provided|borderline|debatable|doubtful"
    r"|not?\W*$|which i (?:reject|doubt)"
    r"|(?:this|that|which)(?:['’]s| is| was) (?:wrong|incorrect|mistaken|not (?:right|correct)"
    r"|what the (?:extractor|critic))"
    r"|(?:the |its )?(?:definition|criteri\w+|conditions?) (?:\w+ )?not\b)"
)
_OTHERWISE = re.compile(
    r"\b(?:however|actually|wait|instead|correction|on (?:second thoughts?|reflection)|better|tilt|undertones?|slant"
    r"|more (?:accurate|appropriate)\w*|best|should|could|might|may|lean(?:s|ing)?|possibly|perhaps|equally"
    r"|alternativ\w*|reconsider\w*|revis\w+"
    r"|changed?|final(?:ly)?|therefore|correct|answer|label|re-?reading|overall)\b"
)
_IT_IS = re.compile(
    r"\b(?:(?:it|this|that)(?:['’]s| is| should be)"
    r"|i(?: would|['’]d)? (?:find|consider|call|deem|label|judge|classify) (?:it|this|that)(?: to be| as)?)"
    r" (?:an? )?[\W_]*$"
)
"""Words before another label that choose it: "But it is Dovish", "and I find it Dovish"."""
_REFUTED = re.compile(
    r"['\"”’*_)]*(?: (?:label|category|class|option|reading|answer))? (?:does not|doesn['’]t|cannot|fails|is rejected"
    r"|(?:is|would) not(?! (?:wrong|incorrect|excluded|impossible|unreasonable)))\b"
    r"|.*\b(?:which i (?:reject|do not accept)|does not (?:hold|convince)|is (?:not |un)convincing)\b",
    re.IGNORECASE,
)
"""Words after another label that reject it."""
_DENYING = re.compile(
    r"\b(?:not|neither|nor|never|no|without|rather than|instead of|lacks?|less|than|opposed to|cannot)\b|n['’]t\b"
)
_DENIAL = re.compile(r"(?:not|never|neither|no)\b.* \w", re.IGNORECASE)
"""A name like "Not mentioned" inside a longer phrase."""


def read_choice(text: str, names: Names, *, codes: bool) -> str | None:
    """Return the one label that a line decides for, or None if it does not start with a decision.

    Raises ``Unreadable`` if the words after the label name another one, or take it back.
    """
    first, _, after = text.partition("\n")
    tokens = tokenise(first, names, codes=codes)
    at = 0
    while at < len(tokens) and (tokens[at].kind in ("fill", "no") or tokens[at].text in _LEADING):
        if tokens[at].kind == "no" and (at + 1 >= len(tokens) or tokens[at + 1].kind != "code"):
            break
        at += 1
    if at < len(tokens) and (tokens[at].text in ("not", "neither") or tokens[at].kind in ("neg", "negation")):
        found = _contrasted(tokens[at:])
        if found is None:
            return None
        item, end = found
    elif at < len(tokens) and tokens[at].kind in _NAMED:
        item, end = tokens[at].item, at + 1
        while end < len(tokens) and tokens[end].kind in _NAMED and tokens[end].item == item:
            end += 1
        end = _past_contrast(tokens, end, item)
    else:
        return None
    rest = tokens[end:]
    if rest and rest[0].kind not in (*_BESIDE, "and", "or", "tag", *_NAMED):
        raise residue(first)
    denied = len(rest) > 1 and (
        rest[1].kind in ("neg", "negation", "absent", "no", "hedge") or (rest[1].kind == "mark" and not rest[1].value)
    )
    remark = (
        rest[2:]
        and rest[0].kind == "link"
        and rest[1].text in ("no", "nothing", "neither")
        and rest[2].kind in ("word", "name", "fill")
    )
    if denied and not remark and rest[0].kind in ("verb", "link"):
        raise residue(first)  # "Hawkish is wrong", "Hawkish: no"
    if rest and _goes_on(rest, first, names):
        raise residue(first)
    own = names.written(item)
    beside = [token.text for token in every(rest[:3]) if token.text]
    if any(names.find(f"{one} {own}") or names.find(f"{own} {one}") for one in beside):
        raise residue(first)  # "Positive, very.", if there is a label "Very positive", too
    if others := [token.item for token in _listed(rest) if token.item != item]:
        raise Unreadable(f"more than one label: {quoted_names(map(names.written, [item, *others]))}")
    start = rest[0].start if rest else len(first)
    check_explanation(first[start:] + "\n" + after, item, names)
    return item


def check_explanation(text: str, item: str, names: Names) -> None:
    """Raise ``Unreadable`` if the words after a decision hedge it, or speak for another label."""
    folded = re.sub(r"[^\S\n]+", " ", text.casefold())
    beside = folded.partition("\n")[0]
    asked = SENTENCE.split(beside)[0].rstrip().endswith("?")
    if asked or _HEDGED_AT_ONCE.match(beside) or is_anothers(beside) or WITHDRAWN.search(folded):
        raise residue(text)
    for sentence in SENTENCE.split(text):
        if disagrees(sentence, {item}, names):
            raise residue(sentence)
        mentioned = [
            mention
            for mention in names.mentions(fold(sentence))
            if mention.item != item and not _DENIAL.match(sentence, mention.start, mention.end + 2)
        ]
        if not mentioned:
            continue
        before = sentence[: mentioned[0].start].casefold()
        taken_back = _OTHERWISE.search(sentence.casefold()) or sentence.rstrip().endswith("?")
        refuted = len(mentioned) == 1 and _REFUTED.match(sentence, mentioned[0].end)
        if _IT_IS.search(before) or (taken_back and not refuted and not _DENYING.search(before)):
            raise residue(sentence)


def _goes_on(rest: Sequence[Token], line: str, names: Names) -> bool:
    """Return True if the words after a label belong to a sentence about it, or to one that only starts with its name.

    "Hawkish is too strong", "Hawkish (the critic's label) fails", "Hawkish (rejected)", "Hawkish: 7" and "Neither the
    extractor nor ..." do not choose a label. "Hawkish is the best label" does.
    """
    kind, said = rest[0].kind, rest[1].text if len(rest) > 1 and rest[1].kind == "word" else ""
    if kind == "bracket":
        words = line[rest[0].start : rest[0].end]
        return bool(said) or UNLIKELY.fullmatch(words) is not None or sole_answer(words[1:-1], names) is False
    return (
        rest[0].text == "the"
        or (rest[0].kind == "fill" and line[: rest[0].start].strip().casefold() == "no")  # "No label fits"
        or (kind == "verb" and said != "" and said not in _FITTING)
        or (kind == "link" and said.isdecimal())
    )


def _listed(tokens: Sequence[Token]) -> list[Token]:
    """Return the names that stand beside the chosen one as alternatives, before any comment starts."""
    found: list[Token] = []
    for token in tokens:
        if token.kind in _NAMED:
            found.append(token)
        elif token.kind == "bracket" and not (token.inner and token.inner[0].kind in ("neg", "negation")):
            found += [inner for inner in every(token.inner) if inner.kind in _NAMED]
        elif token.kind not in ("comma", "and", "or", "semicolon", "fill", "hedge", "bracket") and not (
            token.kind == "link" and token.text != ":" and not found
        ):
            break
    return found


def _past_contrast(tokens: Sequence[Token], at: int, item: str) -> int:
    """Return the position after "rather than Y" or ", not Y"."""
    start = past(tokens, at, {"comma", "and"})
    if start == len(tokens) or not _CONTRAST.match(tokens[start].text.strip(" ,")):
        return at
    end = past(tokens, start + 1, {"comma", "or", "and", "fill", "neg", *_NAMED}, {"a", "an"})
    others = [token.item for token in tokens[start + 1 : end] if token.kind in _NAMED]
    return at if item in others or not others else end


def _contrasted(tokens: Sequence[Token]) -> tuple[str, int] | None:
    """Return the label of "not Y but X" or "neither Y nor Z but X", and the position after it."""
    denied: list[str] = []
    for at, token in enumerate(tokens):
        if token.kind in _NAMED:
            denied.append(token.item)
        elif token.text in ("but", "so", "hence", "thus", "therefore") and denied:
            end = past(tokens, at + 1, {"fill"}, {"rather", "a", "an", "is", "instead"})
            if end < len(tokens) and tokens[end].kind in _NAMED and tokens[end].item not in denied:
                return tokens[end].item, end + 1
            return None
        elif token.kind not in ("neg", "negation", "comma", "or", "and", "fill") and token.text not in ("a", "an"):
            return None
    return None
