"""How long an argument is, and an argument cut to a length. Pure."""

from __future__ import annotations

import re

WORDS_A_SENTENCE = 60
"""Words that a sentence may have before it counts as another one: a limit of sentences must hold without full stops."""

_END = re.compile(r"(?<=[.!?…。！？])[\"'”’»)\]]*\s+|\n+")
_ABBREVIATED = re.compile(r"(?:\b(?i:e\.g|i\.e|etc|cf|vs|approx|mr|mrs|ms|dr|prof|st)\.|\b[A-Z]\.)$")


def sentences(text: str) -> list[str]:
    """The sentences of a text: they end at a full stop, a question or exclamation mark followed by white space, or at a
    line's end, not after a common abbreviation or initial. Empty text has none."""
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        piece = text[start : end.start()]
        if "\n" not in end.group() and _ABBREVIATED.search(piece):
            continue
        found.append(text[start : end.end()].strip())
        start = end.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if any(character.isalnum() for character in sentence)]


def fits(text: str, most: int) -> bool:
    """Whether a text has at most ``most`` sentences, and no more words than so many sentences may have."""
    return len(sentences(text)) <= most and len(text.split()) <= most * WORDS_A_SENTENCE


def cut(text: str, most: int) -> str:
    """The first ``most`` sentences of a text, and of those no more words than they may have."""
    words = " ".join(sentences(text)[:most]).split()
    return " ".join(words[: most * WORDS_A_SENTENCE])
