"""Tests of the similarity of texts by words, character n-grams and embeddings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.classifier.text_similarity import MIN_SIMILARITY, TextSpace

TEXTS = [
    "The sheets were stained and the bath was dirty.",
    "Stained sheets again.",
    "The porter was charming.",
    "A charming porter carried the stained sheets away.",
]


def nearest(space: TextSpace, text: str) -> list[int]:
    return [int(number) for number in np.argsort(-space.similarities([text])[0], kind="stable")]


@pytest.mark.parametrize("analyzer", ["word", "char_wb"])
def test_texts_with_the_same_words_are_most_similar(analyzer: str) -> None:
    space = TextSpace(TEXTS, analyzer)  # type: ignore[arg-type]
    assert nearest(space, "Stained sheets.")[0] == 1
    assert nearest(space, "A porter.")[:2] in ([2, 3], [3, 2])
    assert space.similarities(TEXTS).diagonal() == pytest.approx(1.0)


def test_text_of_mostly_unknown_words_is_similar_to_none() -> None:
    unknown = "Stained glass windows filled every gothic cathedral along our pilgrimage route through Burgundy"
    assert TextSpace(TEXTS, "word").similarities([unknown]).max() < MIN_SIMILARITY


@pytest.mark.parametrize("analyzer", ["word", "char_wb"])
def test_rejects_space_without_texts(analyzer: str) -> None:
    with pytest.raises(ValueError, match="no texts"):
        TextSpace([], analyzer)  # type: ignore[arg-type]


@given(st.lists(st.text(max_size=30), min_size=1, max_size=6), st.text(max_size=30))
def test_any_texts_can_be_compared(texts: list[str], query: str) -> None:
    for analyzer in ("word", "char_wb"):
        result = TextSpace(texts, analyzer).similarities([query, ""])
        assert result.shape == (2, len(texts))
        assert ((result >= 0) & (result <= 1)).all()


@pytest.mark.minilm
def test_minilm_vectors_agree_with_the_model_card() -> None:
    # Expected values are published for this model; 0.7553 is the example of its model card.
    from core.llm import embeddings

    vectors = embeddings.embed_minilm(
        ["A man is eating food.", "A man is eating a piece of bread.", "The girl carries a baby."]
    )
    cosines = vectors @ vectors.T
    assert cosines[0, 1] == pytest.approx(0.7553, abs=5e-4)
    assert cosines[0, 2] < 0.1
    assert np.allclose(np.diag(cosines), 1, atol=1e-5)
    assert embeddings.embed_minilm([]).shape == (0, 384)
