"""Which decided documents a text reads like: nearest neighbours by the words and pairs of words they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ALIKE = 0.35
"""Cosine similarity from which two texts count as alike: they share about a third of what is rare in both."""
_FEATURES = 2**18


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A decided document by its place, and the cosine similarity (0 to 1)."""

    place: int
    similarity: float


class Neighbourhood:
    """Decided documents, ready to be compared with others. Words that none of them has count as rare, so that a text
    of which little is known is like none of them."""

    def __init__(self, texts: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

        self._words = HashingVectorizer(
            n_features=_FEATURES, ngram_range=(1, 2), alternate_sign=False, norm=None, strip_accents="unicode"
        )
        self._rare = TfidfTransformer(sublinear_tf=True)
        self._known = self._rare.fit_transform(self._words.transform(texts)).T.tocsc() if len(texts) else None

    def nearest(self, texts: Sequence[str], *, least: float = ALIKE) -> list[Neighbour | None]:
        """For each text the decided document most like it, None where none is ``least`` alike. The same text counts."""
        if self._known is None or not len(texts):
            return [None] * len(texts)
        alike = (self._rare.transform(self._words.transform(texts)) @ self._known).tocsr()
        found: list[Neighbour | None] = []
        for row in range(len(texts)):
            first, last = alike.indptr[row], alike.indptr[row + 1]
            best = int(alike.data[first:last].argmax()) + first if last > first else -1
            close = best >= 0 and alike.data[best] >= least
            found.append(Neighbour(int(alike.indices[best]), float(min(1.0, alike.data[best]))) if close else None)
        return found
