"""Words that are typical of documents with errors: a label was missed, or assigned wrongly. Pure.

A word counts once per document. Its weight is a z-value: the log-odds ratio of its occurrence in documents with the
error to its occurrence in documents where the label was rightly absent (or rightly assigned), divided by its standard
error. One half is added to each count (Haldane 1956, Annals of Human Genetics 20). Words below ``LEAST_Z``, or in fewer
than ``LEAST_DOCUMENTS`` documents with the error, are left out. If a phrase and one of its words occur in the same
documents, the phrase is kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import log, sqrt

LEAST_Z = 1.645
"""Minimum z-value: 5% of words without a relation to the errors exceed it by chance."""
LEAST_DOCUMENTS = 2
LONGEST_SENTENCE = 160

_WORD = r"(?u)\b[^\W\d_]{3,}\b"
_HALVES = frozenset(
    "ain aren couldn didn doesn don hadn hasn haven isn mustn needn shan shouldn wasn weren won wouldn".split()  # noqa: SIM905
)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


@dataclass(frozen=True, slots=True)
class Cue:
    """Word or two-word phrase: indices of the documents with the error that contain it, and the number of others."""

    words: str
    documents: tuple[int, ...]
    others: int
    z: float


def cues(
    errors: Sequence[str], others: Sequence[str], *, most: int = 8, ignore: Collection[str] = ()
) -> tuple[Cue, ...]:
    """Return words that separate documents with errors from others, strongest first; empty with too few errors.

    Words in ``ignore``, function words and parts of contractions are left out.
    """
    if len(errors) < LEAST_DOCUMENTS:
        return ()
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

    passed_over = sorted(ENGLISH_STOP_WORDS | _HALVES | set(ignore))
    counter = CountVectorizer(ngram_range=(1, 2), binary=True, stop_words=passed_over, token_pattern=_WORD)
    try:
        counted = counter.fit_transform([*errors, *others]).tocsc()
    except ValueError:  # nothing but stop words
        return ()
    found: list[Cue] = []
    for column, words in enumerate(counter.get_feature_names_out()):
        rows = counted.indices[counted.indptr[column] : counted.indptr[column + 1]]
        here = tuple(sorted(int(row) for row in rows if row < len(errors)))
        if len(here) < LEAST_DOCUMENTS:
            continue
        there = len(rows) - len(here)
        z = log_odds_z(len(here), len(errors), there, len(others))
        if z >= LEAST_Z:
            found.append(Cue(str(words), here, there, z))
    found.sort(key=lambda cue: (-cue.z, -len(cue.words), cue.words))
    kept: list[Cue] = []
    for cue in found:
        if not any(cue.documents == other.documents and _overlap(cue.words, other.words) for other in kept):
            kept.append(cue)
    return tuple(kept[:most])


def sentence_with(text: str, words: str) -> str:
    """Return the first sentence of a text that contains the words, empty without one; long sentences are shortened."""
    pattern = re.compile(r"\W+".join(map(re.escape, words.split())), re.IGNORECASE)
    for match in _SENTENCE.finditer(text):
        sentence = " ".join(match[0].split())
        if hit := pattern.search(sentence):
            if len(sentence) <= LONGEST_SENTENCE:
                return sentence
            start = max(0, hit.start() - LONGEST_SENTENCE // 2)
            cut = sentence[start : start + LONGEST_SENTENCE]
            return cut.partition(" ")[2].rpartition(" ")[0] if start else cut.rpartition(" ")[0]
    return ""


def log_odds_z(here: int, errors: int, there: int, others: int) -> float:
    """Return the z-value of the log-odds ratio of ``here`` in ``errors`` to ``there`` in ``others``, as above."""
    a, b, c, d = here + 0.5, errors - here + 0.5, there + 0.5, others - there + 0.5
    return log(a * d / (b * c)) / sqrt(1 / a + 1 / b + 1 / c + 1 / d)


def _overlap(one: str, other: str) -> bool:
    return set(one.split()) <= set(other.split()) or set(other.split()) <= set(one.split())
