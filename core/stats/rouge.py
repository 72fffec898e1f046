"""ROUGE-L: overlap of a text with the word order of a reference, for comparison with judgements."""

from __future__ import annotations

import re
import unicodedata

_TOKEN = re.compile(r"\w+")


def rouge_l(text: str, reference: str) -> float | None:
    """Return the F1 of the longest common subsequence of words, 0 to 1; None if either text has no words.

    Precision is its length over the text's words, recall over the reference's (Lin 2004, ROUGE, section 3, with
    beta = 1). Words are compared without case and without stemming.
    """
    from rapidfuzz.distance import LCSseq

    said, wanted = tokens(text), tokens(reference)
    if not said or not wanted:
        return None
    return float(2 * LCSseq.similarity(said, wanted) / (len(said) + len(wanted)))


def tokens(text: str) -> list[str]:
    """Return the words of a text in the form in which they are compared."""
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())
