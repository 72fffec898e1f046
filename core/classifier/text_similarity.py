"""Similarity of texts: cosines of their words, of their character n-grams, or of embeddings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

MIN_SIMILARITY = 0.35
"""Minimum cosine similarity of similar texts by words: about a third of their rare words are in both."""
_FEATURES = 2**18

Vectors: TypeAlias = npt.NDArray[np.float32]
"""Vectors ``[text, dimension]``, one row per text."""

Embed: TypeAlias = Callable[[Sequence[str]], Vectors]
"""Function from texts to vectors; rows need not be normalised."""


class TextSpace:
    """Vector space of words and word pairs, or of character 3- to 5-grams within words, weighted by TF-IDF.

    Cosines are from 0 to 1. Features that no fitted text has count as rare, so a text of mostly unknown words is
    similar to none. Raises ValueError without texts.
    """

    def __init__(self, texts: Sequence[str], analyzer: Literal["word", "char_wb"] = "char_wb") -> None:
        from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
        from sklearn.pipeline import make_pipeline

        if not texts:  # scikit-learn raises StopIteration, which never leaves a thread of asyncio
            raise ValueError("there are no texts to fit")
        ngrams = (1, 2) if analyzer == "word" else (3, 5)
        self._vectorizer: Any = make_pipeline(
            HashingVectorizer(
                n_features=_FEATURES,
                analyzer=analyzer,
                ngram_range=ngrams,
                alternate_sign=False,
                norm=None,
                strip_accents="unicode",
            ),
            TfidfTransformer(sublinear_tf=True),
        )
        self._fitted: Any = self._vectorizer.fit_transform(texts)

    def similarities(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return cosine similarities ``[text, fitted text]``; 0 for a text without features."""
        products: Any = self._vectorizer.transform(texts) @ self._fitted.T
        return np.asarray(products.toarray().clip(0.0, 1.0), dtype=np.float64)


def normalised(vectors: Vectors) -> Vectors:
    """Return vectors of length 1; a zero vector stays as it is."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)
