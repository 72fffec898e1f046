"""Tests of the retrieval of examples by value and similarity, with exclusions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.annotations import Precedent
from core.classifier.similarity import Index, labelled

TEXTS = {
    "a": "The sheets were stained and the bath was dirty.",
    "b": "Stained sheets again.",
    "c": "The porter was charming.",
    "d": "A charming porter carried the stained sheets away.",
}
VALUES = {
    "a": {"clean": True, "staff": False},
    "b": {"clean": True, "staff": False},
    "c": {"clean": False, "staff": True},
    "d": {"clean": True, "staff": True},
}


def index() -> Index:
    return Index(labelled(TEXTS, VALUES))


def ids(found: Sequence[Precedent]) -> list[str]:
    return [one.document_id for one in found]


def test_most_similar_documents_with_the_value_come_first() -> None:
    assert ids(index().nearest("Stained sheets.", "clean", True, 3)) == ["b", "a", "d"]
    assert ids(index().nearest("Stained sheets.", "clean", False, 2)) == ["c"], "only one document has this value"
    assert ids(index().nearest("A porter.", "staff", True, 1)) == ["c"]


def test_excluded_documents_are_never_found() -> None:
    assert ids(index().nearest(TEXTS["b"], "clean", True, 3, exclude={"b", "d"})) == ["a"]
    assert ids(index().similar(TEXTS["b"], 9, exclude={"b"})) == ["a", "d", "c"]
    assert ids(labelled(TEXTS, VALUES, exclude={"a"})) == ["b", "c", "d"]


def test_search_without_candidates_is_empty() -> None:
    assert index().nearest("x", "clean", True, 0) == ()
    assert index().nearest("x", "price", True, 3) == ()
    assert Index(()).nearest("x", "clean", True, 3) == Index(()).similar("x", 3) == ()
    assert len(Index(())) == 0


def test_examples_are_found_for_each_item_and_value() -> None:
    shown = index().shown("The porter was charming.", 1, exclude={"c"})
    assert {pair: ids(found) for pair, found in shown.items()} == {
        ("clean", True): ["d"], ("staff", False): ["a"], ("staff", True): ["d"],
    }  # fmt: skip


def test_embeddings_are_requested_once_per_text() -> None:
    embedded: list[str] = []

    def embed(texts: Sequence[str]) -> np.ndarray:
        embedded.extend(texts)
        return np.array([[len(text), 10.0] for text in texts], np.float32)

    found = Index((Precedent("long", "x" * 90, {"v": 1}), Precedent("short", "x", {"v": 1})), embed)
    assert ids(found.nearest("xx", "v", 1, 2)) == ["short", "long"]
    assert ids(found.nearest("xx", "v", 1, 1)) == ["short"]
    assert embedded.count("xx") == 1


@given(st.lists(st.text(max_size=30), min_size=1, max_size=6), st.text(max_size=30), st.integers(-1, 8))
def test_any_texts_can_be_compared(texts: list[str], query: str, k: int) -> None:
    similar = Index(Precedent(str(n), text, {"v": n % 2}) for n, text in enumerate(texts))
    found = similar.nearest(query, "v", 0, k)
    assert len(found) == min(max(k, 0), (len(texts) + 1) // 2)
    assert found == similar.nearest(query, "v", 0, k)


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
