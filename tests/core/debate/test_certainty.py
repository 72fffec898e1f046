"""Tests of the certainty of a decision, computed from the log probabilities of its tokens."""

from __future__ import annotations

import math

import pytest

from core.codebook import Codebook, parse_codebook
from core.debate.context import parse_reply
from core.debate.turns import Reply, ReplyForm, Request
from core.documents import Document

STAY = parse_codebook({"kind": "multilabel", "labels": [{"name": name} for name in ("Food", "Service")]})
TONE = parse_codebook({"kind": "choice", "labels": [{"name": "Warm", "code": 1}, {"name": "Cold", "code": 2}]})
SUMMARY = parse_codebook({"kind": "rating", "labels": [{"name": "Fluency"}, {"name": "Effect"}]})
FORMS: dict[str, ReplyForm] = {"multilabel": "labels", "choice": "choice", "rating": "ratings"}


def certainty(codebook: Codebook, *tokens: tuple[str, float]) -> dict[str, float]:
    """Return the certainty by label name for a reply with these tokens and probabilities."""
    places, text = [], ""
    for token, probability in tokens:
        places.append((len(text), math.log(probability)))
        text += token
    request = Request("annotator", (), form=FORMS[codebook.kind])
    reply = parse_reply(request, Reply(text, token_logprobs=tuple(places)), codebook, Document("1", {"text": "x"}))
    names = {label.id: label.name for label in codebook.labels}
    return {names.get(item, item): value for item, value in reply.reading.certainty.items()}


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([("Label:", 0.5), (" Wa", 0.8), ("rm", 0.5), (".", 0.1)], 0.4),
        ([("Not Warm at first.", 0.2), ("\nLabel:", 0.5), (" Warm", 0.7), ("\nIt is Warm.", 0.1)], 0.7),
        ([('{"label": "', 1.0), ("Warm", 0.25), ('"}', 1.0)], 0.25),
        ([("Label: ", 1.0), ("1", 0.6)], 0.6),
        ([("Label: ", 1.0), ("1", 0.6), (".", 0.1)], 0.6),
        ([("Warm", 0.9), (" - because", 0.5)], 0.9),
        ([('{"reasoning": "Cold, then Warm.", ', 0.1), ('"label": "', 1.0), ("Warm", 0.25), ('"}', 1.0)], 0.25),
        ([('{"reasoning": "1 of 2.", ', 0.1), ('"label": ', 1.0), ("1", 0.5), ("}", 1.0)], 0.5),
        ([("Is it Warm?\n", 0.1), ("Warm", 0.3), (": yes\nCold: no", 1.0)], 0.3),
    ],
)
def test_certainty_of_a_choice_is_the_probability_of_its_label_tokens(
    tokens: list[tuple[str, float]], expected: float
) -> None:
    assert certainty(TONE, *tokens) == {"label": pytest.approx(expected)}


def test_answered_labels_have_a_certainty_and_unnamed_labels_have_none() -> None:
    lines = [("Food:", 1.0), (" yes", 0.75), ("\nService:", 1.0), (" no", 0.5)]
    assert certainty(STAY, *lines) == {"Food": pytest.approx(0.75), "Service": pytest.approx(0.5)}
    ballot = [('{"Food": ', 1.0), ("true", 0.75), (', "Service": ', 1.0), ("false", 0.5), ("}", 1.0)]
    assert certainty(STAY, *ballot) == {"Food": pytest.approx(0.75), "Service": pytest.approx(0.5)}
    assert certainty(STAY, ("Final Decision:", 1.0), (" Food", 0.3)) == {"Food": pytest.approx(0.3)}
    assert certainty(STAY, ("Final Decision: none", 0.3)) == {}


def test_reasons_before_a_decision_do_not_count() -> None:
    food = {"Food": pytest.approx(0.3)}
    labels = [('"labels": [{"label": "', 1.0), ("Food", 0.3), ('", "quotes": []}]}', 1.0)]
    assert certainty(STAY, ('{"reasoning": "Food is praised.", ', 0.1), *labels) == food
    by_name = [('"Food": ', 1.0), ("true", 0.3), (', "Service": ', 1.0), ("false", 0.3), ("}", 1.0)]
    both = {"Food": pytest.approx(0.3), "Service": pytest.approx(0.3)}
    assert certainty(STAY, ('{"why": "Food is \\"Food\\": good, no Service.", ', 0.1), *by_name) == both
    lines = [("Food:", 1.0), (" yes", 0.3), ("\nService:", 1.0), (" no", 0.3)]
    assert certainty(STAY, ("Thinking on Food.\n", 0.1), *lines) == both
    ratings = [('"ratings": {"Fluency": ', 1.0), ("4", 0.3), (', "Effect": ', 1.0), ("2", 0.3), ("}}", 1.0)]
    rated = {"Fluency": pytest.approx(0.3), "Effect": pytest.approx(0.3)}
    assert certainty(SUMMARY, ('{"reasoning": "Fluency: 4 errors.", ', 0.1), *ratings) == rated
    lines = [("Fluency: ", 1.0), ("4", 0.3), ("\nEffect: ", 1.0), ("2", 0.3)]
    assert certainty(SUMMARY, ("I think about Fluency.\n", 0.1), *lines) == rated


def test_word_of_a_label_in_the_announcement_is_not_the_decision() -> None:
    announced = [("The aspects present in this ", 1.0), ("food", 0.9), (" review are:", 1.0), (" #Food", 0.3)]
    assert certainty(STAY, *announced) == {"Food": pytest.approx(0.3)}
    label = [("The label of this ", 1.0), ("cold", 0.9), (" review is:", 1.0), (" Cold", 0.3)]
    assert certainty(TONE, *label) == {"label": pytest.approx(0.3)}


def test_certainty_of_a_rating_is_the_probability_of_its_number() -> None:
    lines = [("Final ratings:\nFluency: ", 1.0), ("4", 0.6), ("\nEffect: ", 1.0), ("2", 0.4)]
    assert certainty(SUMMARY, *lines) == {"Fluency": pytest.approx(0.6), "Effect": pytest.approx(0.4)}


def test_sign_of_a_rating_is_part_of_its_number() -> None:
    mood = parse_codebook({"kind": "rating", "scale": {"min": -2, "max": 2}, "labels": [{"name": "Mood"}]})
    assert certainty(mood, ("Mood: ", 1.0), ("-", 0.5), ("2", 0.6)) == {"Mood": pytest.approx(0.3)}
    assert certainty(mood, ('{"ratings": {"Mood":', 1.0), (" -2", 0.6), ("}}", 1.0)) == {"Mood": pytest.approx(0.6)}


def test_unreadable_replies_and_replies_without_probabilities_have_no_certainty() -> None:
    assert certainty(TONE, ("Warm or Cold", 0.5)) == {}
    request = Request("annotator", (), form="choice")
    assert parse_reply(request, Reply("Label: Warm"), TONE, Document("1", {"text": "x"})).reading.certainty == {}
