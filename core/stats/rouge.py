"""ROUGE-L: how much of a reference's word order a text keeps. A measure of overlap, for comparison with judgements."""

from __future__ import annotations

import re
import unicodedata

_TOKEN = re.compile(r"\w+")


def rouge_l(text: str, reference: str) -> float | None:
    """The F1 of the longest common subsequence of words, 0 to 1; None when either has no word.

    Precision is its length over the text's words, recall over the reference's (Lin 2004, ROUGE, section 3, with
    beta = 1). Words are compared without case; there is no stemming.
    """
    from rapidfuzz.distance import LCSseq

    said, wanted = tokens(text), tokens(reference)
    if not said or not wanted:
        return None
    return float(2 * LCSseq.similarity(said, wanted) / (len(said) + len(wanted)))


def tokens(text: str) -> list[str]:
    """The words of a text as they are compared."""
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())
