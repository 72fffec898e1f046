"""Tests of the selector: scores, updates from answers and reactions, and a simulation of uncertainty sampling."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from core.author_labelling import requests
from core.author_labelling.questions import (
    Answer,
    Feature,
    FeaturePrediction,
    Impression,
    Question,
    Reaction,
    Submission,
)
from core.author_labelling.selection import (
    KEYWORDS,
    SELECTOR,
    AnsweredText,
    Score,
    Selector,
    keywords,
    most_uncertain,
    replay,
)

SURE, UNSURE = FeaturePrediction("Yes", 0.9), FeaturePrediction("Yes", 0.5)


def test_scores_match_hand_counts() -> None:
    score = Selector().score("a", SURE)
    assert score.relevance == pytest.approx(0.9)
    assert score.uncertainty == pytest.approx(0.524979)  # 1 / (1 + exp(-0.1))
    assert Selector().score("a", FeaturePrediction("No", 0.9)).relevance == 0, "an absent label is not relevant"
    assert Selector().score("a", FeaturePrediction()).uncertainty == pytest.approx(0.731059)


def test_most_uncertain_of_the_most_relevant_features_are_selected() -> None:
    predictions = {
        "a": FeaturePrediction("Yes", 0.9),
        "b": FeaturePrediction("Yes", 0.6),
        "c": FeaturePrediction("No", 0.5),
    }
    chosen = Selector().select(predictions, 2)
    assert [score.item for score in chosen] == ["a", "b"]
    assert most_uncertain(chosen, 1) == ("b",)
    assert most_uncertain([Score(str(n), 0, n) for n in range(1, 9)], 9) == ("8", "7", "6", "5"), "the maximum is 4"


def test_answer_changes_the_uncertainty_of_its_own_feature_only() -> None:
    start = Selector()
    right, wrong = start.learn_uncertainty("a", SURE, 0), start.learn_uncertainty("a", SURE, 1)
    assert right.score("a", SURE).uncertainty < start.score("a", SURE).uncertainty < wrong.score("a", SURE).uncertainty
    assert right.score("b", SURE) == start.score("b", SURE)
    assert right.score("a", SURE).relevance == start.score("a", SURE).relevance


def test_uncertainty_approaches_the_share_of_wrong_predictions_and_stays_above_zero() -> None:
    selector = Selector()
    for n in range(400):
        selector = selector.learn_uncertainty("a", UNSURE, float(n % 4 == 0))
    assert selector.score("a", UNSURE).uncertainty == pytest.approx(0.25, abs=0.15)
    for _ in range(400):
        selector = selector.learn_uncertainty("a", UNSURE, 0)
    assert 0 < selector.score("a", UNSURE).uncertainty < 0.02


def test_reaction_changes_the_relevance_of_matched_features_only() -> None:
    start = Selector()
    clicked = start.learn_relevance({"a": SURE, "b": SURE}, ["a"], True)
    assert clicked.score("a", SURE).relevance > start.score("a", SURE).relevance
    assert clicked.score("a", SURE).uncertainty == start.score("a", SURE).uncertainty
    assert clicked.score("b", SURE) == start.score("b", SURE)
    assert start.learn_relevance({"a": SURE}, ["a"], False).score("a", SURE).relevance < 0.9
    assert start.learn_relevance({"a": SURE}, [], True) == start


def submission(n: int, *, predicted: str = "Yes") -> Submission:
    question = Question(f"d{n}/a", f"d{n}", "a", "Is it so?", ("Yes", "No"), predicted)
    return Submission(f"d{n}", "ada", float(n), f"Text {n}.", predictions={"a": UNSURE}, questions=(question,))


def test_abstentions_are_counted_and_have_no_value() -> None:
    log = [
        submission(1),
        Answer("d1/a", "ada", 1.0, abstention="not sure"),
        submission(2),
        Answer("d2/a", "ada", 2.0, declined=True),
        submission(3),
        Answer("d3/a", "ada", 3.0, choice="No"),
    ]
    learned = replay(log)
    assert [example.value for example in learned.examples["a"]] == ["No"]
    assert [effect.loss for effect in learned.effects.values()] == [None, None, 1.0]
    assert learned.effects["d1/a"].before == learned.effects["d1/a"].after
    assert learned.answered == 1


def test_keywords_separate_the_answers_of_a_feature() -> None:
    yes = ("which kettle shall I buy", "buy or rent a boat", "shall we buy it")
    texts = {"Yes": yes, "no": ("hi", "why is it dark"), "No": ("it rained again", "a dream of rain")}
    examples = [AnsweredText(text, value) for value, texts_of_value in texts.items() for text in texts_of_value]
    assert keywords(examples)["Yes"][0] == "buy"
    feature = Feature("a", "Purchase", values={"Yes": True, "No": False})
    step = requests.predict(
        Submission("d", "ada", 0.0, "A boat."), [feature], {"a": examples}, requests.load_templates()
    )
    (request,) = next(step)
    assert "- Yes: buy" in request.messages[-1].content
    assert keywords([example for example in examples if example.value == "Yes"]) == {}, (
        "keywords need examples of another value"
    )
    assert keywords([]) == {}


def test_only_the_first_answer_of_the_author_is_used_for_training() -> None:
    log = [
        submission(1),
        Answer("d1/a", "bo", 1.0, group="people", choice="No"),
        Answer("d1/a", "ada", 2, choice="Yes"),
    ]
    later = [Answer("d1/a", "ada", 3.0, choice="No"), Answer("x", "ada", 3.0, choice="No")]
    assert [effect.answer for effect in replay([*log, *later]).effects.values()] == [log[2]]


def test_reactions_change_relevance_but_not_predictors_or_uncertainty() -> None:
    shown = Impression("d1", "ada", 1.5, "Tent", SELECTOR, ("a",))
    plain, click = replay([submission(1), shown]), replay([submission(1), shown, Reaction("d1", "ada", 2.0)])
    ignored = replay([submission(1), shown, submission(2)])
    refused = replay([submission(1), shown, Reaction("d1", "ada", 2.0, helpful=False)])
    relevance = [ranker.selector.score("a", UNSURE).relevance for ranker in (plain, click, ignored, refused)]
    assert relevance[1] > relevance[0] > relevance[2] == relevance[3]
    assert click.examples == plain.examples
    assert click.selector.score("a", UNSURE).uncertainty == plain.selector.score("a", UNSURE).uncertainty
    later = [submission(1), shown, submission(2), Impression("d2", "ada", 3.0, "Boat", SELECTOR, ("a",))]
    late_reaction = Reaction("d1", "ada", 4.0)  # the later recommendation still waits for its own
    unclicked, clicked = replay([*later, late_reaction]), replay([*later, late_reaction, submission(3)])
    assert clicked.selector.score("a", UNSURE).relevance < unclicked.selector.score("a", UNSURE).relevance
    baseline = Impression("d1", "ada", 1.5, "Tent", KEYWORDS)
    assert replay([submission(1), baseline, Reaction("d1", "ada", 2.0)]).selector == Selector()


# -- simulation of twelve labels, three of which are expressed by another word than their keyword

LABELS = ("tent", "boots", "stove", "rope", "map", "lamp", "knife", "mat", "bag", "skis", "canoe", "bike")
MISLEADING = {"skis": "snow", "canoe": "river", "bike": "hill"}
"""Words that express a label instead of its keyword; the predictor has to learn them."""


def text_and_values(rng: random.Random) -> tuple[frozenset[str], dict[str, bool]]:
    words = frozenset(word for word in (*LABELS, *MISLEADING.values()) if rng.random() < 0.5)
    return words, {label: MISLEADING.get(label, label) in words for label in LABELS}


class WordPredictor:
    """Perceptron over words that starts with the keyword of its label and learns from its own answers only."""

    def __init__(self, label: str) -> None:
        self.weights = {label: 2.0, "": -1.0}

    def __call__(self, words: frozenset[str]) -> FeaturePrediction:
        score = sum(self.weights.get(word, 0.0) for word in ("", *words))
        return FeaturePrediction("Yes" if score > 0 else "No", 1 - 0.5 / (1 + abs(score)))

    def learn(self, words: frozenset[str], present: bool) -> None:
        if (self(words).value == "Yes") != present:
            for word in ("", *words):
                self.weights[word] = self.weights.get(word, 0.0) + (0.5 if present else -0.5)


Strategy = Callable[[Sequence[Score], random.Random], Sequence[str]]


def error_curve(choose: Strategy, seed: int, texts: int = 120) -> list[float]:
    """Return the error rate on 200 other texts after every twentieth text, with two questions per text."""
    rng = random.Random(seed)
    unseen = [text_and_values(rng) for _ in range(200)]
    predictors = {label: WordPredictor(label) for label in LABELS}
    selector, errors = Selector(), []
    for n in range(texts):
        words, values = text_and_values(rng)
        predictions = {label: predictor(words) for label, predictor in predictors.items()}
        for label in choose(selector.select(predictions, len(LABELS)), rng):
            wrong = (predictions[label].value == "Yes") != values[label]
            selector = selector.learn_uncertainty(label, predictions[label], float(wrong))
            predictors[label].learn(words, values[label])
        if n % 20 == 19:
            missed = [
                (predictors[label](words).value == "Yes") != known[label] for words, known in unseen for label in LABELS
            ]
            errors.append(sum(missed) / len(missed))
    return errors


def test_uncertainty_sampling_reduces_the_error_faster_than_random_sampling() -> None:
    def mean(choose: Strategy) -> list[float]:
        return [sum(step) / 10 for step in zip(*(error_curve(choose, seed) for seed in range(10)), strict=True)]

    by_uncertainty = mean(lambda scores, _rng: most_uncertain(scores, 2))
    at_random = mean(lambda scores, rng: rng.sample([score.item for score in scores], 2))
    assert all(first < other for first, other in zip(by_uncertainty, at_random, strict=True)), (
        by_uncertainty,
        at_random,
    )
    assert by_uncertainty[1] < at_random[2], "the same error is reached twenty texts earlier"
