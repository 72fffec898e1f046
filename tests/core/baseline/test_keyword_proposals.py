"""Tests of keywords proposed from the texts of a project."""

from __future__ import annotations

import csv
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from core import baseline
from core.baseline.keyword_proposals import MIN_DOCUMENTS, KeywordProposal, propose_keywords
from core.codebook import Codebook, Label, load_yaml
from core.services.codebooks.label_keywords import with_keywords

SAMPLES = Path(__file__).parents[3] / "sample_data"
BOOK = Codebook(
    unit="note",
    labels=(
        Label(name="Birds", description="Sparrows, finches and their nests.", keywords=("feather",)),
        Label(name="Engines", keywords=("piston",)),
    ),
)
TEXTS = [
    *[f"A feather of the plumage, number {word}." for word in ("one", "two", "three", "four", "five")],
    *["The piston of the motor turned.", "The weather was grey.", "A finch sang.", "Two finches sang."],
    *["It rained."] * 10,
]


def words(proposals: tuple[KeywordProposal, ...]) -> list[str]:
    return [proposal.word for proposal in proposals]


def test_word_that_only_occurs_with_words_of_the_label_is_proposed() -> None:
    proposals = propose_keywords(BOOK, TEXTS)
    assert words(proposals) == ["plumage", "finches"]
    plumage, finches = proposals
    assert (plumage.source, plumage.documents, plumage.together) == ("texts", 5, 5)
    assert plumage.example == "A feather of the plumage, number one"
    assert (finches.source, finches.documents, finches.together) == ("definition", 2, 0)
    assert {proposal.label_id for proposal in proposals} == {BOOK.labels[0].id}


def test_proposed_word_of_a_german_text_is_spelled_as_there_and_no_function_word() -> None:
    book = Codebook(labels=(Label(name="Pro", keywords=("begrüßen",)), Label(name="Contra", keywords=("ablehnen",))))
    numbers = ("eins", "zwei", "drei", "vier", "fünf")
    texts = [f"Wir begrüßen die Übergänge für und über Zone {number}." for number in numbers]
    others = ["Es ist der Regen, nicht der Schnee."] * 9
    assert {*words(propose_keywords(book, [*texts, *others]))} == {"Übergänge", "Zone"}


def test_compound_with_a_keyword_is_proposed_in_texts_that_are_not_in_english() -> None:
    book = Codebook(labels=(Label(name="Tax", keywords=("Steuer",)), Label(name="Energy", keywords=("Kohle", "Wind"))))
    german = ["Wir sind nicht für die Mehrwertsteuer.", "Der Kohleausstieg und die Steuern sind da.", "Die Kohlesteuer"]
    proposals = propose_keywords(book, [text for text in german for _ in range(2)])
    assert [(proposal.word, proposal.source, proposal.documents) for proposal in proposals] == [
        ("Mehrwertsteuer", "compound", 2),
        ("Kohleausstieg", "compound", 2),
    ]
    assert propose_keywords(book, ["The windfall is not for us.", "A windfall is a gift."]) == ()


def test_word_that_only_ends_with_a_short_keyword_is_no_compound() -> None:
    book = Codebook(labels=(Label(name="Food", keywords=("Essen",)),))
    texts = ["Wir vergessen nicht das Interessen der Leute.", "Die Essenszeit ist nicht angemessen."] * 2
    assert words(propose_keywords(book, texts)) == ["Essenszeit"]


def test_word_that_also_occurs_elsewhere_is_not_proposed() -> None:
    assert "plumage" not in words(propose_keywords(BOOK, [*TEXTS, *["The plumage of a hat."] * 3]))


def test_word_of_one_clause_that_was_copied_is_not_proposed() -> None:
    assert "plumage" not in words(propose_keywords(BOOK, [TEXTS[0]] * 9 + TEXTS[6:]))


def test_word_of_a_single_document_is_not_proposed() -> None:
    assert words(propose_keywords(BOOK, [*TEXTS[:2], *TEXTS[5:8]])) == []


def test_existing_keyword_is_not_proposed() -> None:
    extended = with_keywords(BOOK, propose_keywords(BOOK, TEXTS))
    assert extended.labels[0].keywords == ("feather", "plumage", "finches")
    assert propose_keywords(extended, TEXTS) == ()


def test_proposals_do_not_lower_the_score_on_the_sample_hotels() -> None:
    book = load_yaml((SAMPLES / "hotel_aspects.yaml").read_text(encoding="utf-8"))
    with (SAMPLES / "hotel_reviews.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [row["text"] for row in rows]
    for keywords in (0, 6):
        labels = tuple(
            label.model_copy(update={"keywords": label.keywords[:keywords], "include": ()}) for label in book.labels
        )
        before = book.model_copy(update={"labels": labels})
        proposals = propose_keywords(before, texts)
        assert len(proposals) > 20
        after = with_keywords(before, proposals)
        correct = [
            sum((label.id in baseline.select(codebook, row["text"])) == (row[label.name] == "1") for row in rows)
            for codebook in (before, after)
            for label in book.labels
        ]
        assert sum(correct[len(book.labels) :]) >= sum(correct[: len(book.labels)])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=60) | st.sampled_from(TEXTS), max_size=12))
def test_proposed_words_occur_in_at_least_two_documents(texts: list[str]) -> None:
    proposals = propose_keywords(BOOK, texts)
    assert all(
        MIN_DOCUMENTS <= proposal.documents <= len(texts) and proposal.together <= proposal.documents
        for proposal in proposals
    )
    assert len({(proposal.label_id, proposal.word) for proposal in proposals}) == len(proposals)
