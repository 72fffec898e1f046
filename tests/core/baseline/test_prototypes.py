"""Tests of definitions as prototypes: a text without words of the codebook gets the label with the nearest one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from core import baseline
from core.baseline.prototypes import prototype_similarities
from core.codebook import Codebook, Label
from core.debate.context import parse_reply
from core.debate.turns import Reply, Request
from core.documents import Document

MOODS = Codebook(
    kind="choice",
    labels=(
        Label(name="Joy", description="happy", include=("we laughed",)),
        Label(name="Grief", description="sad", keywords=("funeral",)),
    ),
)
GLAD, SAD = (label.id for label in MOODS.labels)
HAPPY = frozenset({"joy: happy", "we laughed", "what a day"})


def embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    return np.array([[3.0, 1.0] if text.lower() in HAPPY else [0.0, 2.0] for text in texts], np.float32)


def debate(text: str, codebook: Codebook = MOODS, *, vectors: bool = True) -> list[Reply]:
    document, inputs = Document("1", {"text": text}), dict[str, Reply]()
    similarities = prototype_similarities(embed) if vectors else None
    for role, name in (("extractor", "extraction"), ("critic", "critique"), ("judge", "ruling")):
        request = Request(role, (), dict(inputs), form="choice")
        reply = Reply(baseline.write_reply(request, codebook, document, similarities))
        inputs[name] = parse_reply(request, reply, codebook, document)
    return list(inputs.values())


def test_prototype_is_the_mean_vector_of_the_definition() -> None:
    similarities = prototype_similarities(embed)(MOODS, "what a day")
    assert similarities == pytest.approx((1.0, 1 / np.sqrt(10)))  # cosine of (3, 1) with (3, 1) and with (0, 1)


def test_text_without_words_of_the_codebook_gets_the_nearest_definition() -> None:
    replies = debate("What a day")
    assert [reply.reading.values for reply in replies] == [{"label": GLAD}] * 3
    assert "The definition of #Joy is nearest, by vectors: 1.00, before Grief with 0.32." in replies[0].text


def test_words_take_precedence_over_vectors() -> None:
    assert debate("A funeral. What a day")[2].reading.values == {"label": SAD}


@pytest.mark.parametrize(("text", "vectors"), [("What a day", False), ("  ", True)])
def test_choice_is_undecided_without_vectors_or_without_text(text: str, vectors: bool) -> None:
    replies = debate(text, vectors=vectors)
    assert not any(reply.reading.values for reply in replies)
    assert "These labels have no keywords: Joy." in replies[0].text


def test_texts_and_definitions_are_embedded_once() -> None:
    embedded: list[str] = []

    def counting_embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        embedded.extend(texts)
        return embed(texts)

    similarities = prototype_similarities(counting_embed)
    for text in ("one", "two", "one"):
        similarities(MOODS, text)
    assert sorted(embedded) == sorted([*("Joy: happy", "we laughed", "Grief: sad", "funeral"), "one", "two"])
