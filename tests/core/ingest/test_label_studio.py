"""Tests of the import of JSON exports of Label Studio (1.23)."""

from __future__ import annotations

import json
from typing import Any

from core.ingest.codebook_from_gold import codebook_from_gold
from core.ingest.mapping_suggestions import suggest_mapping
from core.ingest.read import read_table
from tests.each_row import each_row


def task(number: int, *annotations: dict[str, Any]) -> dict[str, Any]:
    data = {"text": f"The room was cold on day {number}, and nobody came.", "document_id": f"h{number:03}"}
    return {
        "id": number,
        "annotations": list(annotations),
        "drafts": [],
        "predictions": [1],
        "data": data,
        "meta": {},
        "created_at": "2026-11-23T08:55:27.610833Z",
        "inner_id": number,
        "total_annotations": len(annotations),
        "cancelled_annotations": 0,
        "project": 1,
        "updated_by": 1,
    }


def choice_annotation(*choices: str, person: int = 1, cancelled: bool = False) -> dict[str, Any]:
    spans = {"start": 4, "end": 8, "text": "room", "labels": ["Price"]}
    result = [
        {"from_name": "aspect", "to_name": "text", "type": "choices", "value": {"choices": list(choices)}},
        {"from_name": "evidence", "to_name": "text", "type": "labels", "value": spans},
    ]
    return {"completed_by": person, "was_cancelled": cancelled, "result": result if choices else []}


def rating_annotation(value: int, person: int) -> dict[str, Any]:
    result = {"from_name": "Fluency", "to_name": "text", "type": "number", "value": {"number": value}}
    return {"completed_by": {"id": person, "email": "a@example.org"}, "result": [result]}


def read(*tasks: dict[str, Any]):
    return read_table(json.dumps(tasks).encode(), name="export.json")


def test_choices_that_only_predictions_have_are_absent():
    suggested = {"model_version": "m", "result": choice_annotation("Staff", "Food")["result"]}
    tasks = [task(1, choice_annotation("Price", "Food")) | {"predictions": [suggested]}, task(2, choice_annotation())]
    table = read(*tasks)
    assert table.columns == ("text", "document_id", "id", "Price", "Food", "Staff")
    assert table.data[3:] == ((1, 0), (1, 0), (0, 0))


def test_labels_of_tasks_of_moot_that_nobody_chose_are_absent():
    tasks = [task(1, choice_annotation("Price", "Food")), task(2, choice_annotation("Food")), task(3)]
    labels = ["Food", "Noise", "Price"]
    table = read(*(one | {"meta": {"run": "r0001", "labels": labels}} for one in tasks))
    assert {name: table.column(name) for name in labels} == {
        "Food": (1, 1, None),
        "Noise": (0, 0, None),
        "Price": (1, 0, None),
    }
    other = read(*(one | {"meta": {"labels": labels[1:]}} for one in tasks))
    assert "Noise" not in other.columns, "the labels are not those of the control"


def test_undecided_labels_of_tasks_of_moot_have_no_value():
    labels = ["Food", "Noise", "Price"]
    meta = {"labels": labels, "reviewers": ["ann"], "undecided": [["Noise", "Price"]]}
    table = read(*(task(number, choice_annotation(label)) | {"meta": meta} for number, label in enumerate(labels)))
    assert [table.column(name) for name in labels] == [(1, 0, 0), (None, 1, None), (None, None, 1)]


def test_multiple_choices_become_columns_of_one_and_zero():
    table = read(
        task(1, choice_annotation("Price", "Food")),
        task(2, choice_annotation()),
        task(3),
        task(4, choice_annotation("Food", cancelled=True)),
    )
    assert table.columns == ("text", "document_id", "id", "Price", "Food")
    assert table.data[3:] == ((1, 0, None, None), (1, 0, None, None))
    mapping = suggest_mapping(table)
    assert (mapping.text, mapping.id) == ("text", "document_id")
    codebook = codebook_from_gold(table, mapping)
    assert codebook is not None
    assert (codebook.kind, codebook.names) == ("multilabel", ("Price", "Food"))


def test_choices_that_controls_have_in_common_are_different_columns():
    def ratings(food: list[str], price: list[str]) -> dict[str, Any]:
        values = {"food": food, "price": price}
        return {"result": [{"from_name": c, "type": "choices", "value": {"choices": v}} for c, v in values.items()]}

    table = read(task(1, ratings(["good", "cheap"], ["good"])), task(2, ratings(["good"], ["bad", "good"])))
    assert table.columns[3:] == ("food_good", "cheap", "price_good", "bad")
    assert table.data[3:] == ((1, 1), (1, 0), (1, 1), (0, 1))


def test_answers_about_a_span_do_not_replace_the_answer_about_the_text():
    annotation = choice_annotation("Price")
    span = {"start": 4, "end": 8, "text": "room", "choices": ["Food"]}
    annotation["result"].append({"from_name": "aspect", "type": "choices", "value": span})
    table = read(task(1, annotation), task(2, choice_annotation("Food")))
    assert (table.columns[3:], table.data[3]) == (("aspect",), ("Price", "Food"))


def test_single_choices_become_one_label_column():
    table = read(task(1, choice_annotation("Price")), task(2, choice_annotation("Food")))
    assert table.columns == ("text", "document_id", "id", "aspect")
    assert table.data[3] == ("Price", "Food")


def test_blank_answer_to_a_single_choice_is_no_value():
    table = read(task(1, choice_annotation("Price")), task(2, choice_annotation()), task(3, choice_annotation("Food")))
    assert (table.columns[3:], table.data[3]) == (("aspect",), ("Price", None, "Food"))


def test_control_that_an_annotation_leaves_out_beside_others_has_no_value():
    def answers(**chosen: list[str]) -> dict[str, Any]:
        return {"result": [{"from_name": c, "type": "choices", "value": {"choices": v}} for c, v in chosen.items()]}

    table = read(
        task(1, answers(relevant=["yes"], aspects=["Food", "Price"])),
        task(2, answers(relevant=["no"])),
        task(3, answers()),
    )
    assert table.columns[3:] == ("Food", "Price", "relevant")
    assert table.data[3:] == ((1, None, 0), (1, None, 0), ("yes", "no", None))


def test_second_annotation_by_a_person_and_other_types_of_answers_are_noted():
    taxonomy = {"from_name": "t", "type": "taxonomy", "value": {"taxonomy": [["Food", "Soup"]]}}
    first, second = choice_annotation("Price"), choice_annotation("Food")
    first["result"].append(taxonomy)
    table = read(task(1, first, second), task(2, choice_annotation("Price", cancelled=True)))
    assert (table.columns[2:], table.row(0)["aspect"]) == (("id", "aspect"), "Food")
    assert table.notes[1:] == (
        "Of several annotations of a task by the same person, the last counts (1).",
        "Left out, because these types of answers are not read: taxonomy (1).",
    )


def test_tasks_have_their_ids_unless_their_data_has_some():
    tasks = [{"id": 7, "data": {"text": "a"}, "annotations": []}, {"id": 9, "data": {"text": "b"}, "annotations": []}]
    assert read(*tasks).column("id") == (7, 9)
    tasks[1]["data"]["id"] = "x"
    assert read(*tasks).column("id") == (None, "x")


def test_tasks_may_have_a_line_each():
    tasks = [task(1, choice_annotation("Price")), task(2, choice_annotation("Food"))]
    table = read_table("\n".join(map(json.dumps, tasks)).encode(), name="export.jsonl")
    assert (table.columns, table.data, table.notes) == ((one := read(*tasks)).columns, one.data, one.notes)


def test_annotations_become_one_column_per_person():
    table = read(task(1, rating_annotation(4, 7), rating_annotation(5, 9)), task(2, rating_annotation(2, 7)))
    assert table.columns == ("text", "document_id", "id", "Fluency_r7", "Fluency_r9")
    mapping = suggest_mapping(table)
    assert {source.rater for source in mapping.gold} == {"r7", "r9"}


def test_reviewers_of_an_export_of_moot_keep_their_own_columns() -> None:
    def exported(number: int, **ratings: int) -> dict[str, Any]:
        annotations = [{**rating_annotation(value, 1), "completed_by": None} for value in ratings.values()]
        return task(number, *annotations) | {"meta": {"reviewers": [*ratings]}}

    table = read(exported(1, ann=4, ben=5), exported(2, ben=3), exported(3, ben=1, ann=2))
    assert table.columns[3:] == ("Fluency_r1", "Fluency_r2")
    assert table.data[3:] == ((4, None, 2), (5, 3, 1))


def test_reviewers_are_not_mixed_after_an_import_into_label_studio() -> None:
    def reviewed(value: int, name: str) -> dict[str, Any]:
        annotation = rating_annotation(value, 1)  # Label Studio sets the user who imports
        return annotation | {"result": [part | {"meta": {"reviewer": name}} for part in annotation["result"]]}

    both, own = [reviewed(4, "ann"), reviewed(5, "ben")], rating_annotation(3, 1)
    table = read(*(task(1, *both) | {"meta": {"reviewers": ["ann", "ben"]}}, task(2, reviewed(2, "ben"), own)))
    assert dict(zip(table.columns[3:], table.data[3:], strict=True)) == {
        "Fluency_r2": (4, None),
        "Fluency_r3": (5, 2),
        "Fluency_r1": (None, 3),
    }


def test_elements_that_are_not_tasks_are_rejected():
    table = read_table(json.dumps([None, task(1, choice_annotation("Price")), 3]).encode(), name="export.json")
    assert (len(table), len(table.rejected)) == (1, 2)
    assert table.column("aspect") == ("Price",)


def test_an_annotation_does_not_replace_the_text() -> None:
    foreign = {"from_name": "text", "type": "choices", "value": {"choices": ["Replaced"]}}
    table = read(task(1, {"result": [foreign]}), task(2, {"result": [foreign]}))
    assert table.columns == ("text", "document_id", "id", "text_annotated")
    assert table.data[3] == ("Replaced", "Replaced")
    assert all("was cold" in text for text in table.data[0])


CHOICES = {"from_name": "a", "type": "choices"}


@each_row(
    "result",
    [
        "words",
        5,
        {"a": 1},
        [None, "a", 5],
        [{**CHOICES, "value": {"choices": [{"b": 1}, ["c"]]}}],
        [{**CHOICES, "value": {"choices": {"b": 1}}}],
        [{**CHOICES, "value": {"choices": None}}],
        [{**CHOICES, "value": 3}],
    ],
)
def test_malformed_annotations_do_not_stop_the_import(result: Any) -> None:
    table = read(task(1, {"result": result}), task(2, choice_annotation("Room")))
    assert len(table) == 2
    assert not table.rejected
