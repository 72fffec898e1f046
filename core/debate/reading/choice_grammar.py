"""The grammar of a decision for one label: "X", "Label: X", "the label is X because ...", "not Y but X"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.codebook import normalise
from core.debate.reading.contradictions import check_comment, check_following, is_mixture
from core.debate.reading.label_names import Names
from core.debate.reading.labels_grammar import UNLIKELY, Unreadable, quoted_names, residue, sole_answer
from core.debate.reading.tokens import LABEL_NOUN, LABEL_NOUNS, Token, every, past, tokenise

_NAMED = ("name", "code")
_LEADING = frozenset(
    {"label", "class", "category", "code", "number", "option", "a", "an", "therefore", "thus", "hence", "so", "best"}
)
_CONTRAST = re.compile(
    r"(?:(?:and|but) )?(?:not|nor)|(?:nicht|pas|non|não|niet|nie)$|rather than|instead of|as opposed to|over$"
)
_FITTING = frozenset(
    {"correct", "right", "accurate", "appropriate", "best", "better", "my", "most", "more", "well", "a"}
)
"""Words after "X is" that support X."""
_SECOND_BEST = re.compile(
    r"\W*(?:\w+ly )?the (?:second|third|next|least|wrong|most (?!\w*(?:appropriate|fitting|suitable|accurate|plausible"
    r"|likely|convincing|natural|prominent|dominant|adequate|precise|salient|obvious|direct|central))"
    r"|[^.!?\n]{1,40}\b(?:extractor|critic|opponent)\b)",
    re.IGNORECASE,
)
"""Words after "X is" that do not choose X: "the second best label", "the label that the critic chose"."""
_WORD = re.compile(r"\w+")
_FITS = re.compile(
    r"\W*(?:(?:fits|matches|describes)(?: (?:it|this|the)(?: \w+)?)? (?:best|better)\b|it is(?=[\s.!*_]*$))",
    re.IGNORECASE,
)
_BESIDE = frozenset({"link", "why", "bracket", "quote", "stop", "semicolon", "comma", "struck", "verb", "fill", "mark"})


def read_choice(text: str, names: Names, *, codes: bool) -> str | None:
    """Return the one label that a line decides for, or None if it does not start with a decision.

    Raises ``Unreadable`` if the words after the label name another one, or take it back.
    """
    word = text.strip(" .*_`")
    if " " not in word and (item := names.find(word)) is not None:
        return item  # "SciTech"
    tokens = tokenise(text, names, codes=codes)
    choice = _first_choice(tokens)
    if choice is None:
        return None
    item, end = choice
    following = tokens[end:]
    if fitting := _FITS.match(text, tokens[end - 1].end):  # "X fits the text better than Y", "X it is"
        following = tuple(token for token in following if token.start >= fitting.end())
    elif following and following[0].kind not in (*_BESIDE, "and", "or", "tag", *_NAMED):
        raise residue(text)
    name = names.written(item)
    noun = following[0].text if following else ""
    predicate = following[1:] if re.fullmatch(LABEL_NOUN, noun) else ()
    aside_end = next((at for at, token in enumerate(following) if at and token.kind == "comma"), len(following))
    if (
        any(_is_denied(words) or (words and _goes_on(words, text, names)) for words in (following, predicate))
        # "The Neutral label can be excluded."
        or (predicate and predicate[0].kind in ("word", "hedge") and predicate[0].text not in ("fits", "matches"))
        # "Hawkish, as the prosecutor claims, is not supported."
        or _is_denied(following[aside_end + 1 :])
        # "2 labels"
        or (tokens[end - 1].kind == "code" and noun in LABEL_NOUNS)
        # "Positive, very.", if there is a label "Very positive", too
        or any(names.find(f"{token.text} {name}") for token in every(following[:3]) if token.text)
        or _may_be_longer_name(text[tokens[end - 1].end :], name, names)
    ):
        raise residue(text)
    other_items = [token.item for token in _listed(following) if token.item != item]
    is_reason = following[:1] and following[0].kind in ("bracket", "link", "why") and is_mixture([item], names)
    if other_items and not (is_reason and len({*other_items}) > 1):
        raise Unreadable(f"more than one label: {quoted_names(map(names.written, [item, *other_items]))}")
    comment = text[following[0].start :] if following else ""
    check_comment(comment, names)
    check_following(comment, {item: True}, "choice", names)
    return item


def _may_be_longer_name(following: str, name: str, names: Names) -> bool:
    """Return True if the words after a name may complete a longer one: "Support, with some conditions"."""
    words = _WORD.findall(following.casefold())
    for longer in map(normalise, map(names.written, names.items)):
        missing = _WORD.findall(longer.removeprefix(f"{normalise(name)} "))
        is_longer = longer.startswith(f"{normalise(name)} ") and words[:1] == missing[:1]
        if is_longer and (len(words) < len(missing) or {*missing} <= {*words[: len(missing) + 1]}):
            return True
    return False


def _first_choice(tokens: Sequence[Token]) -> tuple[str, int] | None:
    """Return the label that the tokens begin with and the position after it, None if they begin otherwise."""
    start = past(tokens, 0, set(), {"option", "choice", "letter"})
    start += _past_letter(tokens[start:])
    while start < len(tokens) and (tokens[start].kind in ("fill", "struck") or tokens[start].text in _LEADING):
        start += 1
    if start >= len(tokens):
        return None
    if tokens[start].kind in ("neg", "negation"):
        contrasted = _contrasted(tokens[start:])
        return None if contrasted is None else (contrasted[0], start + contrasted[1])
    if tokens[start].kind not in _NAMED:
        return None
    item, end = tokens[start].item, start + 1
    while end < len(tokens) and tokens[end].kind in _NAMED and tokens[end].item == item:
        end += 1
    return item, _past_contrast(tokens, end, item)


def _is_denied(following: Sequence[Token]) -> bool:
    """Return True if the words after a label deny it: "Hawkish is wrong", "Hawkish: no"."""
    if len(following) < 2 or following[0].kind not in ("verb", "link"):
        return False
    if following[0].kind == "verb":
        following = following[past(following, 1, {"verb"}) - 1 :]  # "Hawkish ist es nicht"
    is_remark = (  # "Hawkish: nothing else fits"
        following[2:]
        and following[1].text in ("no", "nothing", "neither")
        and following[2].kind in ("word", "name", "fill")
    )
    denies = following[1].kind in ("neg", "negation", "absent", "no", "hedge")
    return not is_remark and (denies or (following[1].kind == "mark" and not following[1].value))


def _past_letter(tokens: Sequence[Token]) -> int:
    """Return the position after the letter of an option: "(B) Neutral", "B. Neutral"."""
    first = tokens[0].inner if tokens and tokens[0].kind == "bracket" else tokens[:1]
    lettered = len(first) == 1 and first[0].kind == "word" and first[0].text in tuple("abcdefgh")
    return 1 + (tokens[1:2] != () and tokens[1].kind == "stop") if lettered else 0


def _goes_on(following: Sequence[Token], line: str, names: Names) -> bool:
    """Return True if the words after a label belong to a sentence about it, or to one that only starts with its name.

    "Hawkish is too strong", "Hawkish (the critic's label) fails", "Hawkish (rejected)", "Hawkish: 7" and "Neither the
    extractor nor ..." do not choose a label. "Hawkish is the best label" does.
    """
    kind, next_word = following[0].kind, following[1].text if len(following) > 1 and following[1].kind == "word" else ""
    if kind == "bracket":
        words = line[following[0].start : following[0].end]
        hedged = following[0].inner[:1] and following[0].inner[0].kind == "hedge"  # "Positive (weakly)"
        return (
            bool(next_word or hedged)
            or UNLIKELY.fullmatch(words) is not None
            or sole_answer(words[1:-1], names) is False
        )
    return (
        following[0].text in ("the", "was", "were")  # "Neutral was my first thought"
        or (following[0].kind == "fill" and line[: following[0].start].strip().casefold() == "no")  # "No label fits"
        or (next_word != "" and _begins_name(following, line))
        or (kind == "verb" and next_word != "" and next_word not in _FITTING)
        or (kind == "verb" and _SECOND_BEST.match(line, following[0].end) is not None)
        or (kind == "link" and next_word.replace(".", "", 1).isdecimal())
    )


def _begins_name(following: Sequence[Token], line: str) -> bool:
    """Return True if another name follows a label: "Health and Safety", "Energy/Climate", "Law, Justice"."""
    if following[0].kind == "comma" and following[0].text != "/":
        words = [line[token.start] for token in following[1:] if token.kind != "stop"]
        return all(map(str.isupper, words))
    return following[0].kind in ("and", "comma")


def _listed(tokens: Sequence[Token]) -> list[Token]:
    """Return the names that stand beside the chosen one as alternatives, before any comment starts."""
    name_tokens: list[Token] = []
    for token in tokens:
        if token.kind in _NAMED:
            name_tokens.append(token)
        elif token.kind == "bracket" and not (token.inner and token.inner[0].kind in ("neg", "negation")):
            name_tokens += [inner for inner in every(token.inner) if inner.kind in _NAMED]
        elif token.kind not in ("comma", "and", "or", "semicolon", "fill", "hedge", "bracket") and not (
            token.kind == "link" and token.text != ":" and not name_tokens
        ):
            break
    return name_tokens


def _past_contrast(tokens: Sequence[Token], at: int, item: str) -> int:
    """Return the position after "rather than Y" or ", not Y"."""
    start = past(tokens, at, {"comma", "and"})
    if start == len(tokens) or not _CONTRAST.match(tokens[start].text.strip(" ,")):
        return at
    end = past(tokens, start + 1, {"comma", "or", "and", "fill", "neg", *_NAMED}, {"a", "an"})
    other_items = [token.item for token in tokens[start + 1 : end] if token.kind in _NAMED]
    return at if item in other_items or not other_items else end


def _contrasted(tokens: Sequence[Token]) -> tuple[str, int] | None:
    """Return the label of "not Y but X" or "neither Y nor Z but X", and the position after it."""
    is_denied = False
    for at, token in enumerate(tokens):
        if token.kind in _NAMED:
            is_denied = True
        elif token.text in ("but", "so", "hence", "thus", "therefore") and is_denied:
            end = past(tokens, at + 1, {"fill"}, {"rather", "a", "an", "is", "instead"})
            if end < len(tokens) and tokens[end].kind in _NAMED:
                return tokens[end].item, end + 1
            return None
        elif token.kind not in ("neg", "negation", "comma", "or", "and", "fill") and token.text not in ("a", "an"):
            return None
    return None
