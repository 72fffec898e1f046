"""The grammar of a decision for one label: "X", "Label: X", "the label is X because ...", "not Y but X"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.debate.reading.contradictions import check_comment, check_following
from core.debate.reading.label_names import Names
from core.debate.reading.multi_label import UNLIKELY, Unreadable, quoted_names, residue, sole_answer
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
_SECOND_BEST = re.compile(
    r"\W*(?:\w+ly )?the (?:second|third|next|least|wrong|most (?!\w*(?:appropriate|fitting|suitable|accurate|plausible"
    r"|likely|convincing|natural|prominent|dominant|adequate|precise|salient|obvious|direct|central))"
    r"|[^.!?\n]{1,40}\b(?:extractor|critic|opponent)\b)",
    re.IGNORECASE,
)
"""Words after "X is" that do not choose X: "the second best label", "the label that the critic chose"."""
_FITS = re.compile(r"\W*(?:fits|matches|describes)(?: (?:it|this|the)(?: \w+)?)? (?:best|better)\b", re.IGNORECASE)
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
    rest = tokens[end:]
    if fitting := _FITS.match(text, tokens[end - 1].end):  # "X fits the text better than Y"
        rest = tuple(token for token in rest if token.start >= fitting.end())
    elif rest and rest[0].kind not in (*_BESIDE, "and", "or", "tag", *_NAMED):
        raise residue(text)
    if _is_denied(rest) or (rest and _goes_on(rest, text, names)):
        raise residue(text)
    name = names.written(item)
    neighbours = [token.text for token in every(rest[:3]) if token.text]
    if any(names.find(f"{word} {name}") or names.find(f"{name} {word}") for word in neighbours):
        raise residue(text)  # "Positive, very.", if there is a label "Very positive", too
    if others := [token.item for token in _listed(rest) if token.item != item]:
        raise Unreadable(f"more than one label: {quoted_names(map(names.written, [item, *others]))}")
    comment = text[rest[0].start :] if rest else ""
    check_comment(comment, names)
    check_following(comment, {item: True}, "choice", names)
    return item


def _first_choice(tokens: Sequence[Token]) -> tuple[str, int] | None:
    """Return the label that the tokens begin with and the position after it, None if they begin otherwise."""
    start = past(tokens, 0, set(), {"option", "choice", "letter"})
    start += _past_letter(tokens[start:])
    while start < len(tokens) and (tokens[start].kind in ("fill", "no") or tokens[start].text in _LEADING):
        if tokens[start].kind == "no" and (start + 1 >= len(tokens) or tokens[start + 1].kind != "code"):
            break
        start += 1
    if start >= len(tokens):
        return None
    if tokens[start].text in ("not", "neither") or tokens[start].kind in ("neg", "negation"):
        contrasted = _contrasted(tokens[start:])
        return None if contrasted is None else (contrasted[0], start + contrasted[1])
    if tokens[start].kind not in _NAMED:
        return None
    item, end = tokens[start].item, start + 1
    while end < len(tokens) and tokens[end].kind in _NAMED and tokens[end].item == item:
        end += 1
    return item, _past_contrast(tokens, end, item)


def _is_denied(rest: Sequence[Token]) -> bool:
    """Return True if the words after a label deny it: "Hawkish is wrong", "Hawkish: no"."""
    if len(rest) < 2 or rest[0].kind not in ("verb", "link"):
        return False
    is_remark = (  # "Hawkish: nothing else fits"
        rest[2:]
        and rest[0].kind == "link"
        and rest[1].text in ("no", "nothing", "neither")
        and rest[2].kind in ("word", "name", "fill")
    )
    denies = rest[1].kind in ("neg", "negation", "absent", "no", "hedge")
    return not is_remark and (denies or (rest[1].kind == "mark" and not rest[1].value))


def _past_letter(tokens: Sequence[Token]) -> int:
    """Return the position after the letter of an option: "(B) Neutral", "B. Neutral"."""
    first = tokens[0].inner if tokens and tokens[0].kind == "bracket" else tokens[:1]
    lettered = len(first) == 1 and first[0].kind == "word" and first[0].text in tuple("abcdefgh")
    return 1 + (tokens[1:2] != () and tokens[1].kind == "stop") if lettered else 0


def _goes_on(rest: Sequence[Token], line: str, names: Names) -> bool:
    """Return True if the words after a label belong to a sentence about it, or to one that only starts with its name.

    "Hawkish is too strong", "Hawkish (the critic's label) fails", "Hawkish (rejected)", "Hawkish: 7" and "Neither the
    extractor nor ..." do not choose a label. "Hawkish is the best label" does.
    """
    kind, said = rest[0].kind, rest[1].text if len(rest) > 1 and rest[1].kind == "word" else ""
    if kind == "bracket":
        words = line[rest[0].start : rest[0].end]
        hedged = rest[0].inner[:1] and rest[0].inner[0].kind == "hedge"  # "Positive (weakly)"
        return bool(said or hedged) or UNLIKELY.fullmatch(words) is not None or sole_answer(words[1:-1], names) is False
    return (
        rest[0].text == "the"
        or (rest[0].kind == "fill" and line[: rest[0].start].strip().casefold() == "no")  # "No label fits"
        or (said != "" and _begins_name(rest, line))
        or (kind == "verb" and said != "" and said not in _FITTING)
        or (kind == "verb" and _SECOND_BEST.match(line, rest[0].end) is not None)
        or (kind == "link" and said.replace(".", "", 1).isdecimal())
    )


def _begins_name(rest: Sequence[Token], line: str) -> bool:
    """Return True if another name follows a label: "Health and Safety", "Energy/Climate", "Law, Justice"."""
    if rest[0].kind == "comma" and rest[0].text != "/":
        words = [line[token.start] for token in rest[1:] if token.kind != "stop"]
        return all(map(str.isupper, words))
    return rest[0].kind in ("and", "comma")


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
