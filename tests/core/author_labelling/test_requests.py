"""Tests of reading the replies of models that prepare questions for authors."""

from __future__ import annotations

import pytest

from core.author_labelling.questions import Feature, Question, Submission
from core.author_labelling.requests import annotate, load_templates, predict, reply_in_chat, write_questions
from core.debate.turns import Reply
from tests.each_row import each_row
from tests.linear_time import check_linear_time

FEATURE = Feature("urgent", "Urgent", values={"Yes": True, "No": False})
TEXT = Submission("1", "ada", 0.0, "I have to hand it in tomorrow.")


@each_row(
    ("given", "certainty"),
    [
        ("80", 0.8),
        ("0.8", 0.8),
        ("1.0", 1),
        ("1", 0.01),
        ("100", 1),
        ("null", 0.5),
        ('"85"', 0.85),
        ('"85 %"', 0.85),
        ('"0.85"', 0.85),
        ('"high"', 0.5),
        (f'"{"9" * 5000}"', 0.5),
    ],
)
def test_certainty_is_a_percentage_or_a_share(given: str, certainty: float) -> None:
    assert predicted_certainty(given) == pytest.approx(certainty)


def predicted_certainty(given: str) -> float:
    steps = predict(TEXT, (FEATURE,), {}, load_templates())
    next(steps)
    with pytest.raises(StopIteration) as end:
        steps.send((Reply(f'{{"value": "Yes", "certainty": {given}}}'),))
    return float(end.value.value["urgent"].certainty)


def test_white_space_in_a_certainty_takes_linear_time() -> None:
    check_linear_time(lambda size: predicted_certainty(f'"1{" " * size}x"'), 32_000)


@each_row(("given", "value"), [("2", "2"), ("2.0", "2"), ('"2"', "2"), ("2.5", None), ("3", None)])
def test_predicted_point_of_a_scale_may_be_a_number(given: str, value: str | None) -> None:
    steps = predict(TEXT, (Feature("wit", "Wit", values={"0": 0, "1": 1, "2": 2}),), {}, load_templates())
    next(steps)
    reply = Reply(f'{{"value": {given}, "certainty": 80}}')
    with pytest.raises(StopIteration) as end:
        steps.send((reply,))
    assert end.value.value["wit"].value == value


@each_row(("options", "listed"), [(("calm", "proud"), "1. calm\n2. proud"), (("1", "0"), "- 1\n- 0")])
def test_annotator_sees_numbers_only_before_options_in_words(options: tuple[str, ...], listed: str) -> None:
    question = Question("1/mood", "1", "mood", "How do you feel?", options)
    (request,) = next(annotate(TEXT, question, load_templates()))
    assert listed in request.messages[1].content
    lines = [f"The label is {answer}" for answer in ("12" if options[0] == "calm" else "10")]
    assert request.messages[1].content.endswith("\n".join(["nothing else:", *lines])), "no option is an example"
    assert request.answer_only


def test_question_for_a_free_word_is_not_answered_with_a_click() -> None:
    mood = Feature("mood", "Mood", open="word")
    for feature, answer in ((mood, "to be answered with one word."), (FEATURE, "to be answered with one click.")):
        (writer,) = next(write_questions(TEXT, (feature,), {}, {}, load_templates()))
        assert answer in writer.messages[0].content


def test_options_that_are_no_text_are_asked_for_once_more() -> None:
    mood = Feature("mood", "Mood", open="options")
    steps = write_questions(TEXT, (mood,), {}, {}, load_templates())
    next(steps)
    steps.send((Reply('{"question": "How?", "options": [{"text": "calm"}, {"text": "proud"}]}'),))
    with pytest.raises(StopIteration) as end:
        steps.send((Reply('{"question": "How?", "options": ["calm", "proud"]}'),))
    (question,) = end.value.value
    assert set(question.options) == {"calm", "proud"}
    steps = write_questions(TEXT, (FEATURE,), {}, {}, load_templates())  # its options are fixed
    next(steps)
    with pytest.raises(StopIteration) as end:
        steps.send((Reply('{"question": "Urgent?", "options": [{"text": "Yes"}]}'),))
    assert set(end.value.value[0].options) == {"Yes", "No"}


def test_chat_reply_without_text_is_asked_for_once_more() -> None:
    steps = reply_in_chat(TEXT, (), load_templates())
    next(steps)
    steps.send((Reply("<think>They are in a hurry.</think>"),))
    with pytest.raises(StopIteration) as end:
        steps.send((Reply("Start with the summary."),))
    assert end.value.value.text == "Start with the summary."


def test_points_of_a_scale_are_explained() -> None:
    wit = Feature("wit", "Wit", values={"0": 0, "1": 1, "2": 2})
    (predictor,) = next(predict(TEXT, (wit,), {}, load_templates()))
    assert "The possible answers, from the lowest to the highest: 0; 1; 2." in predictor.messages[0].content
    (writer,) = next(write_questions(TEXT, (wit,), {}, {}, load_templates()))
    assert "what the lowest and the highest point mean" in writer.messages[0].content
    (yes_or_no,) = next(write_questions(TEXT, (FEATURE,), {}, {}, load_templates()))
    assert "lowest" not in yes_or_no.messages[0].content
