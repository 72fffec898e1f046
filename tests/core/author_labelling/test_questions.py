"""Tests of features, questions with shuffled options, abstentions, and the loss of a predicted value."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.author_labelling.questions import (
    ABSTENTIONS,
    ENTRY,
    NO,
    YES,
    Answer,
    ConversationMessage,
    Feature,
    FeaturePrediction,
    Question,
    Submission,
    features_of,
    loss,
    make_question,
    value_of,
    word_distance,
)
from core.codebook import Codebook, Label, Scale
from core.debate.reading.parse import read

FEELING = Feature("f", "Feeling", open="options")


def question(*options: str, predicted: str | None = None) -> Question:
    return Question("d/f", "d", "f", "How do you feel?", options, predicted)


def answer(choice: str | None = None, **given_: object) -> Answer:
    return Answer("d/f", "ada", 1.0, choice=choice, **given_)  # type: ignore[arg-type]


def test_each_label_is_a_feature_and_a_choice_is_one_feature() -> None:
    several = Codebook(labels=(Label(name="Urgent"), Label(name="Feeling", open="options", include=("calm",))))
    urgent, feeling = features_of(several)
    assert dict(urgent.values) == {"Yes": True, "No": False}
    assert (feeling.open, feeling.suggestions, dict(feeling.values)) == ("options", ("calm",), {})
    choice_book = Codebook(name="Mood", kind="choice", labels=(Label(name="Good", id="g"), Label(name="Bad", id="b")))
    (mood,) = features_of(choice_book)
    assert (mood.item, mood.name, dict(mood.values)) == ("label", "Mood", {"Good": "g", "Bad": "b"})
    rated = Codebook(kind="rating", labels=(Label(name="Wit", scale=Scale(min=1, max=3)), Label(name="Tone")))
    assert [tuple(feature.values) for feature in features_of(rated)] == [("1", "2", "3"), ("1", "2", "3", "4", "5")]


def test_open_labels_are_excluded_from_runs_and_do_not_change_older_hashes() -> None:
    codebook = Codebook(labels=(Label(name="Urgent"), Label(name="Feeling", open="word")))
    assert codebook.closed.names == ("Urgent",)
    assert codebook.hash != Codebook(labels=(Label(name="Urgent"), Label(name="Feeling"))).hash
    with pytest.raises(ValueError, match="open labels"):
        Codebook(kind="choice", labels=(Label(name="A", open="word"),))


def test_predicted_value_is_among_at_most_four_shuffled_options() -> None:
    candidates = ["calm", "Angry ", "calm", "proud", "bored", "tired"]
    question = make_question("d1", FEELING, "How  do you feel?", candidates, FeaturePrediction("curious", 0.4))
    assert question.text == "How do you feel?"
    assert set(question.options) == {"curious", "calm", "Angry", "proud"}
    orders = {make_question(f"d{n}", FEELING, "?", candidates, FeaturePrediction("curious")).options for n in range(12)}
    assert len(orders) > 1, "the order differs between questions"
    assert question == make_question("d1", FEELING, "How do you feel?", candidates, FeaturePrediction("curious", 0.4))


def test_points_of_a_scale_keep_their_order_and_have_no_further_numbers() -> None:
    (wit,) = features_of(Codebook(kind="rating", labels=(Label(name="Wit", scale=Scale(min=0, max=4)),)))
    made = [make_question(f"d{n}", wit, "How witty?", [], FeaturePrediction("3", 0.5)) for n in range(6)]
    assert {question.options for question in made} == {("0", "1", "2", "3", "4")}
    assert not made[0].is_numbered
    codebook = made[0].codebook
    names = [codebook.label(str(read(f"The label is {n}", codebook).values["label"])).name for n in range(5)]
    assert names == ["0", "1", "2", "3", "4"], "the answer is the point, not its position"


def test_options_in_words_are_named_by_their_position() -> None:
    made = make_question("d1", FEELING, "?", ["calm", "proud"], FeaturePrediction("curious", 0.4))
    assert made.is_numbered
    codebook = made.codebook
    assert codebook.label(str(read("The label is 2", codebook).values["label"])).name == made.options[1]


def test_question_without_two_options_asks_for_a_word() -> None:
    assert make_question("d", FEELING, "?", [], FeaturePrediction("calm")).options == ()
    assert make_question("d", Feature("w", "Word", open="word"), "?", ["a", "b"], FeaturePrediction("a")).options == ()


@example(["calm"], "„")
@given(st.lists(st.text(max_size=8), max_size=8), st.one_of(st.none(), st.text(max_size=8)))
def test_options_are_different_and_can_be_annotated(candidates: list[str], predicted: str | None) -> None:
    question = make_question("d", FEELING, "?", candidates, FeaturePrediction(predicted))
    assert len(question.options) <= 4
    assert len(question.options) != 1
    assert not question.options or len(question.codebook.labels) == len(question.options)


def test_loss_is_match_for_options_and_distance_for_words() -> None:
    posed = question("Calm", "Proud", predicted="calm")
    assert loss(posed, answer("Calm")) == 0
    assert loss(posed, answer("Proud")) == 1
    assert loss(question("Calm", "Proud"), answer("Calm")) == 1, "a missing prediction counts as wrong"
    assert loss(question(predicted="happy"), answer("happy")) == pytest.approx(0)
    near, far = (loss(question(predicted="happy"), answer(word)) for word in ("happier", "tired"))
    assert near is not None
    assert far is not None
    assert 0 < near < far == 1


def test_abstained_and_declined_questions_have_no_loss_and_no_value() -> None:
    posed = question("Yes", "No", predicted="Yes")
    closed = Feature("f", "Urgent", values={"Yes": True, "No": False})
    for given_ in (answer(abstention="not sure"), answer(abstention="none of these"), answer(declined=True)):
        assert loss(posed, given_) is None
        assert value_of(closed, given_) is None
    assert value_of(closed, answer("no")) is False


def test_word_distance_matches_hand_counts() -> None:
    # Grams of " ab ": " a" "ab" "b " " ab" "ab "; of " ac ": " a" "ac" "c " " ac" "ac ". They share one of five.
    assert word_distance("ab", "ac") == pytest.approx(0.8)
    assert word_distance("", "x") == 1


def test_context_is_the_last_five_messages_with_cut_replies() -> None:
    before = [ConversationMessage("author", f"m{n}") for n in range(6)] + [ConversationMessage("assistant", "x" * 400)]
    shown = Submission("d", "ada", 1.0, "y" * 400, before=tuple(before)).shown
    assert len(shown) == 5
    assert shown[-1].text == "y" * 400, "the author's own words are never cut"
    assert shown[-2].text == "x" * 300 + "..."


def test_entries_survive_a_round_trip() -> None:
    entry = Submission(
        "d",
        "ada",
        1.0,
        "A text.",
        before=(ConversationMessage("author", "Hi"),),
        predictions={"f": FeaturePrediction("calm", 0.5)},
        questions=(question("a", "b"),),
    )
    assert ENTRY.validate_json(ENTRY.dump_json(entry)) == entry
    assert ENTRY.validate_python(ENTRY.dump_python(answer("a"), mode="json")) == answer("a")


def test_none_of_these_is_offered_only_where_answers_are_listed() -> None:
    assert question().abstentions == question(YES, NO).abstentions == ("not sure",)
    assert question("calm", "proud").abstentions == ABSTENTIONS
