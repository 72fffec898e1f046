"""Nearest labelled documents of a text, by the words and word pairs, or character n-grams or embeddings, they share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from core.annotations import Precedent, Precedents
from core.documents import Value

ALIKE = 0.35
"""Minimum cosine similarity of similar texts: about a third of their rare words are in both."""
_FEATURES = 2**18


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Nearest labelled document by index, with the cosine similarity (0 to 1)."""

    place: int
    similarity: float


class Neighbourhood:
    """Labelled documents, indexed for comparison.

    Words that none of the documents contains count as rare, so a text of mostly unknown words is similar to none.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

        self._words = HashingVectorizer(
            n_features=_FEATURES, ngram_range=(1, 2), alternate_sign=False, norm=None, strip_accents="unicode"
        )
        self._rare = TfidfTransformer(sublinear_tf=True)
        self._known = self._rare.fit_transform(self._words.transform(texts)).T.tocsc() if len(texts) else None

    def nearest(self, texts: Sequence[str], *, least: float = ALIKE) -> list[Neighbour | None]:
        """Return the most similar labelled document of each text, None below ``least``. An equal text counts."""
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


Vectors: TypeAlias = npt.NDArray[np.float32]
"""Vectors ``[text, dimension]``, one row per text."""

Embed: TypeAlias = Callable[[Sequence[str]], Vectors]
"""Function from texts to vectors; rows need not be normalised."""


class Space(Protocol):
    """Vector space in which texts are compared, fitted on the texts that can be found."""

    def similarities(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return cosine similarities ``[text, fitted text]`` from -1 to 1; 0 for a text without features."""


class CharacterSpace:
    """Vector space of character 3- to 5-grams within words, weighted by TF-IDF: cosines from 0 to 1."""

    def __init__(self, texts: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self._vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True, dtype=np.float32)
        self._fitted: Any = self._vectorizer.fit_transform([text if text.strip() else "." for text in texts])

    def similarities(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return cosine similarities as described for ``Space``."""
        found: Any = self._vectorizer.transform(texts) @ self._fitted.T
        return np.asarray(found.toarray(), dtype=np.float64)


class EmbeddedSpace:
    """Vector space of the function ``embed``. Query texts are embedded once each."""

    def __init__(self, texts: Sequence[str], embed: Embed) -> None:
        self._embed = embed
        self._fitted = normalised(embed(texts))
        self._asked: dict[str, Vectors] = {}

    def similarities(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return cosine similarities as described for ``Space``."""
        new = list(dict.fromkeys(text for text in texts if text not in self._asked))
        if new:
            self._asked.update(zip(new, normalised(self._embed(new)), strict=True))
        found = np.stack([self._asked[text] for text in texts]) @ self._fitted.T
        return np.asarray(np.clip(found, -1.0, 1.0), dtype=np.float64)


class Index:
    """Index of labelled documents by similarity and value.

    Character n-grams are compared if ``embed`` is None. Equally similar documents keep their order, so the same index
    always gives the same result.
    """

    def __init__(self, labelled: Iterable[Precedent], embed: Embed | None = None) -> None:
        self.labelled = tuple(labelled)
        self._having: dict[tuple[str, Value], list[int]] = {}
        for number, one in enumerate(self.labelled):
            for item, value in one.values.items():
                self._having.setdefault((item, value), []).append(number)
        texts = [one.text for one in self.labelled]
        self._space: Space | None = None
        if texts:
            self._space = CharacterSpace(texts) if embed is None else EmbeddedSpace(texts, embed)

    def __len__(self) -> int:
        return len(self.labelled)

    @property
    def values(self) -> tuple[tuple[str, Value], ...]:
        """(item, value) pairs that occur, in order of appearance."""
        return tuple(self._having)

    def nearest(
        self, text: str, item: str, value: Value, k: int, exclude: Collection[str] = ()
    ) -> tuple[Precedent, ...]:
        """Return the ``k`` documents most similar to ``text`` in which ``item`` has this value, most similar first.

        ``exclude`` are ids that must not be found: the document itself, and the evaluated split. Fewer than ``k``
        documents are returned if no more exist, none for ``k`` below 1.
        """
        return self._best(self._row(text), item, value, k, exclude)

    def shown(self, text: str, k: int, exclude: Collection[str] = ()) -> Precedents:
        """Return the ``k`` nearest documents by (item, value) that occurs; pairs without a result are omitted."""
        row = self._row(text)
        found = {pair: self._best(row, *pair, k, exclude) for pair in self._having}
        return {pair: best for pair, best in found.items() if best}

    def similar(self, text: str, k: int, exclude: Collection[str] = ()) -> tuple[Precedent, ...]:
        """Return the ``k`` most similar documents, whatever their values."""
        return self._pick(self._row(text), range(len(self.labelled)), k, exclude)

    def _row(self, text: str) -> npt.NDArray[np.float64]:
        return self._space.similarities([text])[0] if self._space is not None else np.zeros(0)

    def _best(
        self, row: npt.NDArray[np.float64], item: str, value: Value, k: int, exclude: Collection[str]
    ) -> tuple[Precedent, ...]:
        return self._pick(row, self._having.get((item, value), ()), k, exclude)

    def _pick(
        self, row: npt.NDArray[np.float64], among: Sequence[int], k: int, exclude: Collection[str]
    ) -> tuple[Precedent, ...]:
        ranked = sorted(among, key=lambda number: (-row[number], number)) if k > 0 else []
        allowed = (self.labelled[number] for number in ranked if self.labelled[number].document_id not in exclude)
        return tuple(one for one, _ in zip(allowed, range(k), strict=False))


def labelled(
    texts: Mapping[str, str], values: Mapping[str, Mapping[str, Value]], exclude: Collection[str] = ()
) -> tuple[Precedent, ...]:
    """Return precedents for the documents with values, in the order of ``texts``; ``exclude`` are ids to leave out."""
    return tuple(Precedent(id, text, values[id]) for id, text in texts.items() if values.get(id) and id not in exclude)


def normalised(vectors: Vectors) -> Vectors:
    """Return vectors of length 1; a zero vector stays as it is."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)
