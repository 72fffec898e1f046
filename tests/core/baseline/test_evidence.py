"""Tests of definitions as training data: a text without words of the codebook gets the labels near to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from core import baseline
from core.baseline.evidence import definition_probabilities, find_evidence
from core.baseline.lexicon import lexicon_of
from core.codebook import Codebook, Label
from core.debate.context import parse_reply
from core.debate.turns import Reply, Request
from core.documents import Document
from tests.each_row import each_row

MOODS = Codebook(
    kind="choice",
    labels=(
        Label(name="Joy", description="happy", include=("we laughed",)),
        Label(name="Grief", description="sad", keywords=("funeral",)),
    ),
)
GLAD, SAD = (label.id for label in MOODS.labels)
BOTH = MOODS.model_copy(update={"kind": "multilabel"})
HAPPY = frozenset({"joy", "joy: happy", "we laughed", "what a day"})
SORRY = frozenset({"grief", "grief: sad", "funeral"})


def embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """Return vectors of three directions: happy texts, sad texts, and all others."""
    kinds = [0 if text.lower() in HAPPY else 1 if text.lower() in SORRY else 2 for text in texts]
    return np.eye(3, dtype=np.float32)[kinds]


def debate(text: str, codebook: Codebook = MOODS, *, vectors: bool = True) -> list[Reply]:
    document, inputs = Document("1", {"text": text}), dict[str, Reply]()
    near = definition_probabilities(embed) if vectors else None
    for role, name in (("extractor", "extraction"), ("critic", "critique"), ("judge", "ruling")):
        request = Request(role, (), dict(inputs), form="choice" if codebook.kind == "choice" else "present")
        reply = Reply(baseline.write_reply(request, codebook, document, near))
        inputs[name] = parse_reply(request, reply, codebook, document)
    return list(inputs.values())


def test_probabilities_of_a_choice_add_up_to_one_and_favour_the_near_definition() -> None:
    joy, grief = definition_probabilities(embed)(MOODS, "what a day")
    assert joy + grief == pytest.approx(1.0)
    assert joy > 0.8


@each_row(("text", "chance"), [("Nothing of the kind.", 0.06), ("Clean.", 0.88)])
def test_prior_of_a_label_is_the_measured_share_of_texts_with_such_words(text: str, chance: float) -> None:
    book = Codebook(labels=(Label(name="Cleanliness", keywords=("clean",)), Label(name="Price", keywords=("fee",))))
    log_odds = baseline.example(book, text).prior[0]
    assert 1 / (1 + np.exp(-log_odds)) == pytest.approx(chance, abs=0.005)


def test_aspects_of_no_label_take_their_share_of_several_labels() -> None:
    joy, grief = definition_probabilities(embed)(BOTH, "The queue at the counter")
    assert joy + grief < 0.4


def test_choice_without_words_of_the_codebook_gets_the_nearest_definition() -> None:
    replies = debate("What a day")
    assert [reply.reading.values for reply in replies] == [{"label": GLAD}] * 3
    assert "- #Joy: by vectors, it has a probability of 0." in replies[0].text


def test_several_labels_are_present_if_near_enough() -> None:
    assert [reply.reading.selected for reply in debate("What a day", BOTH)] == [(GLAD,)] * 3
    assert [reply.reading.selected for reply in debate("The queue at the counter", BOTH)] == [()] * 3


@each_row(
    ("text", "chance", "is_present"),
    [
        ("The fee was high", 0.004, True),  # a listed word
        ("The fee was high", 0.002, False),
        ("Forty dollars", 0.015, True),  # a common word of prices, which nobody listed
        ("Forty dollars", 0.009, False),
        ("Is it cheap in town?", 0.3, False),  # in doubt
        ("Is it cheap in town?", 0.35, True),
        ("A fine day. Our room was warm", 0.65, False),  # no word of the label, and another label is carried
        ("A fine day. Our room was warm", 0.75, True),
    ],
)
def test_vectors_add_to_the_evidence_of_words(text: str, chance: float, is_present: bool) -> None:
    labels = (Label(name="Room", keywords=("room",)), Label(name="Price", keywords=("fee", "cheap")))
    codebook = Codebook(kind="multilabel", labels=labels)
    evidence = find_evidence(lexicon_of(codebook), text, lambda *_: (0.1, chance))
    assert (1 in evidence.present(range(2))) is is_present


def test_extractor_names_the_ground_of_a_label_without_words() -> None:
    extraction = debate("What a day", BOTH)[0].text
    assert "no word of the codebook occurs in this text" in extraction
    assert "- #Joy: by vectors, it has a probability of 0." in extraction


def test_words_of_a_choice_take_precedence_over_vectors() -> None:
    assert debate("A funeral. What a day")[2].reading.values == {"label": SAD}


@each_row(("text", "vectors"), [("What a day", False), ("  ", True)])
def test_choice_is_undecided_without_vectors_or_without_text(text: str, vectors: bool) -> None:
    replies = debate(text, vectors=vectors)
    assert not any(reply.reading.values for reply in replies)
    assert "These labels have no keywords: Joy." in replies[0].text


def test_texts_and_definitions_are_embedded_once() -> None:
    embedded: list[str] = []

    def counting_embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        embedded.extend(texts)
        return embed(texts)

    near = definition_probabilities(counting_embed)
    for text in ("one", "two", "one"):
        near(MOODS, text)
    assert {"Joy", "Joy: happy", "we laughed", "Grief", "Grief: sad", "funeral", "one", "two"} <= set(embedded)
    assert len(embedded) == len(set(embedded))
