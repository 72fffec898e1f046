"""Tests of the classifier's replies."""

from __future__ import annotations

from dataclasses import replace

from core.baseline.classifier_replies import ClassifierModel, ItemPrediction, write_reply
from core.codebook import Codebook, Label
from core.debate.reading.parse import read
from core.debate.turns import Request
from core.documents import Document
from tests.each_row import each_row

CHOICE = Codebook(kind="choice", labels=(Label(name="Sport", id="s"), Label(name="Politics", id="p")))
SEVERAL = Codebook(labels=(Label(name="Food", id="f"), Label(name="Room", id="r")))
DOCUMENT = Document("d", {"text": "The match was long."})
REQUEST = Request(role="judge", messages=())


def reply_to(codebook: Codebook, *predictions: ItemPrediction) -> str:
    model = ClassifierModel(20, lambda _codebook, _document: list(predictions))
    return write_reply(REQUEST, codebook, DOCUMENT, model)


def test_predicted_choice_is_the_decision() -> None:
    text = reply_to(CHOICE, ItemPrediction("label", "p", 0.9, ("match",)))
    assert read(text, CHOICE).values == {"label": "p"}


def test_quote_has_the_whole_word() -> None:
    document = Document("d", {"text": "The barista was slow. The bar was loud."})
    model = ClassifierModel(20, lambda _codebook, _document: [ItemPrediction("label", "p", 0.9, ("bar",))])
    assert '"The bar was loud"' in write_reply(REQUEST, CHOICE, document, model)


@each_row(
    ("word", "text", "quote"),
    [
        ("dish", "We left. The dishes were cold.", "The dishes were cold"),
        ("食物", "房间很大。这里的食物很好吃。", "这里的食物很好吃"),
        ("cleaning staff", "We left. The cleaning  staff was nice.", "The cleaning  staff was nice"),
    ],
)
def test_quote_has_other_forms_of_the_word(word: str, text: str, quote: str) -> None:
    model = ClassifierModel(20, lambda _codebook, _document: [ItemPrediction("label", "p", 0.9, (word,))])
    assert f': "{quote}"' in write_reply(REQUEST, CHOICE, Document("d", {"text": text}), model)


def test_reply_about_a_precedent_is_on_the_precedent() -> None:
    model = ClassifierModel(20, lambda _, document: [ItemPrediction("label", document.id, 0.9)])
    request = replace(REQUEST, role="clerk", document=Document("p", {"text": "The vote was close."}))
    assert read(write_reply(request, CHOICE, DOCUMENT, model), CHOICE).values == {"label": "p"}


@each_row("value", [None, "deleted"])
def test_choice_without_a_known_label_stays_undecided(value: str | None) -> None:
    text = reply_to(CHOICE, ItemPrediction("label", value, 0.9))
    assert "stays undecided" in text
    assert not read(text, CHOICE).values


def test_labels_without_a_prediction_are_undecided() -> None:
    reading = read(reply_to(SEVERAL, ItemPrediction("f", True, 0.9), ItemPrediction("r", None)), SEVERAL)
    assert reading.values == {"f": True}
    assert list(reading.undecided) == ["r"]
