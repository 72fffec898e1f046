"""Tests of replies in JSON whose other keys confirm, wrap or contradict the decision."""

from __future__ import annotations

import json

from tests.core.debate.reading.decisions import book, decision
from tests.each_row import each_row

REVIEW = book("multilabel", "review", "Food", "Service", "Price", "Ambience")
ANSWERS = {"Food": True, "Service": False, "Price": True, "Ambience": False}


@each_row(
    ("beside", "expected"),
    [
        ({"codes": []}, "Food, Price"),
        ({"sentiment": "positive"}, "Food, Price"),
        ({"category": "restaurant"}, "Food, Price"),
        ({"tags": ["dinner"]}, "Food, Price"),
        ({"verdict": "done"}, "Food, Price"),
        ({"tags": ["Food"]}, "Food"),
        ({"answer": "none"}, "refused"),
    ],
)
def test_key_without_a_label_beside_a_wrapper_is_not_the_decision(beside: dict[str, object], expected: str) -> None:
    assert decision(json.dumps({**beside, "result": ANSWERS}), REVIEW) == expected


@each_row(
    ("answer", "expected"),
    [
        ({"present": [{"label": "Food", "quote": "the soup"}, {"label": "Price", "quote": "cheap"}]}, "Food, Price"),
        ({"present": [{"name": "Food", "evidence": "soup"}], "absent": [{"name": "Price", "reason": "-"}]}, "Food"),
        ({"present": [{"label": "Food"}, {"label": "Cheese"}]}, "refused"),
        ({"present": [{"label": "Food", "confidence": 0.1}]}, "refused"),
        ({"present": [{"label": "Food"}], "absent": ["Food"]}, "refused"),
        ({"final_decision": [{"label": "Food", "reason": "the soup"}]}, "Food"),
        ({"sentiment": [{"aspect": "Food", "sentiment": "good"}]}, "refused"),
    ],
)
def test_present_labels_may_be_objects_with_evidence(answer: dict[str, object], expected: str) -> None:
    assert decision(json.dumps(answer), REVIEW) == expected


@each_row(
    ("answers", "expected"),
    [
        ({"Not relevant": True, "Correct": False, "Final": False}, "Not relevant"),
        ({"Not relevant": False, "Correct": True, "Final": True}, "Correct, Final"),
        ({"Not relevant": True, "Correct": True, "Final": True}, "Not relevant, Correct, Final"),
    ],
)
def test_label_with_the_name_of_a_heading_contradicts_nothing(answers: dict[str, bool], expected: str) -> None:
    names = ("Not relevant", "Correct", "Final")
    assert decision(json.dumps(answers), book("multilabel", "review", *names)) == expected
    if len(expected.split(", ")) == 1:
        assert decision(json.dumps(answers), book("choice", "review", *names)) == expected


@each_row(
    ("later", "expected"),
    [
        ({"Food": True, "Price": True}, "refused"),
        ({"Food": "yes", "Price": "yes"}, "refused"),
        ({"Price": 1}, "refused"),
        ({"Food": True}, "Food"),
        ({"Food": ["the soup"], "Price": ["cheap"]}, "Food"),
        ({"Food": True, "Price": False}, "Food"),
    ],
)
def test_later_json_says_yes_to_labels_of_the_decision_only(later: dict[str, object], expected: str) -> None:
    assert decision(f"Final Decision: The present aspects are: Food\n\n{json.dumps(later)}", REVIEW) == expected


@each_row(
    ("reply", "expected"),
    [
        ({"missing": {"labels": ["Food"]}}, "refused"),
        ({"false_positives": {"labels": ["Food"]}}, "refused"),
        ({"unsupported": {"labels": ["Food"]}}, "refused"),
        ({"format": {"labels": ["Food"]}}, "refused"),
        ({"injected": {"labels": ["Food"]}}, "refused"),
        ({"absent": ANSWERS}, "refused"),
        ({"present": ["Service"], "false_positives": {"Food": "only hinted"}}, "Service"),
        ({"present": ["Service"], "false_positives": {"Service": "only hinted"}}, "refused"),
        ({"result": {"labels": ["Food"]}, "missing": {"labels": ["Price"]}}, "refused"),
        ({"result": {"labels": ["Food"]}, "rejected": {"labels": ["Price"]}}, "Food"),
    ],
)
def test_object_of_absent_or_further_labels_is_not_the_decision(reply: dict[str, object], expected: str) -> None:
    assert decision(json.dumps(reply), REVIEW) == expected


@each_row(("rejected", "expected"), [("Positive", "Neutral"), ("Neutral", "refused")])
def test_rejected_label_in_an_object_may_not_be_the_chosen_one(rejected: str, expected: str) -> None:
    reply = {"answer": "Neutral", "rejected": {"label": rejected}}
    assert decision(json.dumps(reply), book("choice", "review", "Positive", "Neutral")) == expected


@each_row(
    "key",
    [
        "refined_labels",
        "amended",
        "modified",
        "consensus",
        "recommended",
        "agreed",
        "merged",
        "complete_list",
        "revision",
        "corrections",
        "outcome",
        "ruling",
        "after_debate",
        "changed_to",
    ],
)
def test_key_of_a_better_decision_contradicts_another_one(key: str) -> None:
    assert decision(json.dumps({"labels": ["Food"], key: ["Food", "Price"]}), REVIEW) == "refused"
    assert decision(json.dumps({"labels": ["Food"], key: ["Food"]}), REVIEW) == "Food"


@each_row(
    ("note", "expected"),
    [
        ({"relevance": 0.0}, "refused"),
        ({"relevance": "low"}, "refused"),
        ({"presence_score": 0.0}, "refused"),
        ({"support_score": 0}, "refused"),
        ({"probability_of_presence": 0.02}, "refused"),
        ({"evidence_strength": 0.1}, "refused"),
        ({"issue": "not mentioned"}, "refused"),
        ({"type": "absent"}, "refused"),
        ({"confidence": 0.1}, "refused"),
        ({"confidence_score": 0.2}, "refused"),
        ({"label_probability": 0.2}, "refused"),
        ({"likelihood": "low"}, "refused"),
        ({"score": 0.1}, "refused"),
        ({"critique": "incorrect"}, "refused"),
        ({"quote": "not mentioned"}, "refused"),
        ({"quote": "No mention of food."}, "refused"),
        ({"quotes": ["No evidence found in the review."]}, "refused"),
        ({"reason": "No mention of the kitchen."}, "refused"),
        ({"quotes": ["No mention of cost"]}, "refused"),
        ({"quotes": ["No evidence of this aspect"]}, "refused"),
        ({"quotes": ["No mention of the price at all"]}, "refused"),
        ({"quotes": ["No quote supports this label"]}, "refused"),
        ({"quotes": ["No mention of the price in the review"]}, "refused"),
        ({"relevance": 0.9}, "Price"),
        ({"type": "implicit"}, "Price"),
        ({"objection": "none"}, "Price"),
        ({"problem": "not cheap"}, "Price"),
        ({"relevance": 0.4}, "Price"),
        ({"sentiment_score": -0.8}, "Price"),
        ({"severity_score": 0.2}, "Price"),
        ({"similarity_score": 0.3}, "Price"),
        ({"support_count": 0}, "Price"),
        ({"uncertainty": 0.05}, "Price"),
        ({"counterargument": "none"}, "Price"),
        ({"issues": "none"}, "Price"),
        ({"concerns": "n/a"}, "Price"),
        ({"quote": "no mention of the price on the menu"}, "Price"),
        ({"quotes": ["no mention of the price on the menu"]}, "Price"),
        ({"quote": "no support from staff"}, "Price"),
        ({"quote": "not mentioned on the menu"}, "Price"),
        ({"quotes": ["No mention of the price on the menu"]}, "Price"),
    ],
)
def test_note_beside_a_label_may_doubt_it(note: dict[str, object], expected: str) -> None:
    assert decision(json.dumps({"labels": [{"label": "Price", **note}]}), REVIEW) == expected
