"""Tests of the formats of other annotation tools: reviews and predictions are kept separate and complete."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as xml

import pyarrow.parquet as pq
import pytest
import yaml

from core.codebook import Codebook, parse_codebook
from core.documents import Document, Evidence
from core.errors import ExportError, UsageError
from core.export import AnnotatorValues, ExportRow, write
from core.export.argilla import dataset_settings, write_argilla
from core.export.export_row import SharedColumns
from core.export.label_studio import labelling_config, write_label_studio
from core.export.prodigy import write_prodigy
from core.export.readme import Summary
from core.ingest.read import read_table
from tests.each_row import each_row

ASPECTS = parse_codebook({"unit": "review", "labels": [{"name": "Price", "description": "a < b"}, {"name": "Room"}]})
PRICE, ROOM = (label.id for label in ASPECTS.labels)
STANCE = parse_codebook({"kind": "choice", "labels": [{"name": "good"}, {"name": "bad"}]})
FACETS = parse_codebook({"kind": "rating", "labels": [{"name": "fluency"}], "scale": {"min": 1, "max": 3}})
TEXT = "is cheap </Text> <b>"


def row(**changes: Any) -> ExportRow:
    quotes = (
        Evidence(PRICE, "cheap", "review", 3, 8, "exact"),
        Evidence(PRICE, "dear", "review", -1, -1, "missing"),
        Evidence(ROOM, "a hall", "context", 0, 6, "exact"),
    )
    no_labels: dict[str, Any] = {
        "document": Document("d=1", {"review": TEXT, "context": "a hall"}),
        "run_id": "r1",
        "protocol": "ecj",
        "codebook_version": 3,
        "status": "verdict",
        "values": {PRICE: True, ROOM: True},
        "models": (
            AnnotatorValues("verdict", {PRICE: True, ROOM: False}, quotes),
            AnnotatorValues("extractor", {PRICE: True, ROOM: True}, quotes[:1]),
        ),
        "reviewers": (AnnotatorValues("ann", {PRICE: True, ROOM: True}, at=1_700_000_000.0, status="Submitted"),),
    }
    return ExportRow(**no_labels | changes)


UNRESOLVED = {"values": {PRICE: True, ROOM: None}, "reviewers": (), "status": "unresolved"}


def columns_of(rows: list[ExportRow]) -> SharedColumns:
    return SharedColumns(fields=tuple(dict.fromkeys(name for row in rows for name in [*row.document.fields][1:])))


def lines(writer: Any, rows: list[ExportRow], codebook: Codebook = ASPECTS) -> list[dict[str, Any]]:
    out = io.BytesIO()
    writer(rows, codebook, columns_of(rows), out)
    text = out.getvalue().decode()
    return json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]


def test_label_studio_separates_predictions_and_annotations() -> None:
    first, second = lines(write_label_studio, [row(), row(reviewers=())])
    # A converter of Label Studio overwrites data.id with the number of the task.
    assert first["data"] == {"text": TEXT, "context": "a hall", "document_id": "d=1"}
    verdict, extractor = first["predictions"]
    assert [verdict["model_version"], extractor["model_version"]] == ["r1/verdict", "r1/extractor"]
    choices, span = verdict["result"]
    assert (choices["from_name"], choices["to_name"], choices["type"]) == ("aspect", "text", "choices")
    assert choices["value"] == {"choices": ["Price"]}
    # Quotes that are missing or from another field have no span in the first field.
    assert span["value"] == {"start": 3, "end": 8, "text": "cheap", "labels": ["Price"]}
    assert (span["from_name"], span["type"]) == ("evidence", "labels")
    (decided,) = first["annotations"]
    assert decided["result"][0]["value"] == {"choices": ["Price", "Room"]}
    assert (first["meta"]["reviewers"], decided["ground_truth"], decided["was_cancelled"]) == (["ann"], True, False)
    assert first["meta"]["labels"] == ["Price", "Room"]
    assert "completed_by" not in decided  # Label Studio refuses unknown users
    assert decided["created_at"] == "2023-11-14T22:13:20+00:00"
    assert second["annotations"] == []
    assert lines(write_label_studio, []) == []


def test_label_studio_configuration_has_the_names_used_in_tasks() -> None:
    view = xml.fromstring(labelling_config(ASPECTS, ("text", "context")))
    assert [element.get("value") for element in view.iter("Text")] == ["$context", "$text"]
    assert [(element.get("name"), element.get("choice")) for element in view.iter("Choices")] == [
        ("aspect", "multiple")
    ]
    assert [element.get("value") for element in view.iter("Label")] == ["Price", "Room"]
    rating = xml.fromstring(labelling_config(FACETS, ("text",)))
    assert [(element.get("name"), element.get("max")) for element in rating.iter("Number")] == [("fluency", "3")]


def test_label_studio_control_names_differ_from_text_fields() -> None:
    # The document already has a field "evidence", so the control for quotes gets another name.
    document = Document("d1", {"claim": TEXT, "evidence": "a hall", "fluency": "x"})
    quotes = (Evidence(PRICE, "cheap", "claim", 3, 8, "exact"),)
    verdict = AnnotatorValues("verdict", {PRICE: True, ROOM: False}, quotes)
    (task,) = lines(write_label_studio, [row(document=document, models=(verdict,))])
    assert [part["from_name"] for part in task["predictions"][0]["result"]] == ["aspect", "evidence_2"]
    fields = ("text", "evidence", "fluency")
    for codebook, expected in ((ASPECTS, {"aspect", "evidence_2"}), (FACETS, {"fluency_2", "evidence_2"})):
        view = xml.fromstring(labelling_config(codebook, fields))
        assert {element.get("name") for element in view if element.get("toName")} == expected
        names = [element.get("name") for element in view if element.get("name")]
        assert len(set(names)) == len(names)


def test_label_studio_variables_are_word_characters() -> None:
    fields = {"review": TEXT, "Hotel name": "Rex", "Hotel-name": "Regina", "名前": "レックス", "text": "b"}
    (task,) = lines(write_label_studio, [row(document=Document("d1", fields))])
    texts = {"text": TEXT, "Hotel_name": "Rex", "Hotel_name_2": "Regina", "field": "レックス", "text_2": "b"}
    assert task["data"] == {**texts, "document_id": "d1"}
    view = xml.fromstring(labelling_config(ASPECTS, ("text", "Hotel name", "Hotel-name", "名前", "text_2")))
    assert [element.get("value") for element in view.iter("Header")] == ["Hotel name", "Hotel-name", "名前", "text_2"]
    assert {element.get("value") for element in view.iter("Text")} == {f"${name}" for name in texts}


def test_text_fields_have_unique_names() -> None:
    (task,) = lines(write_prodigy, [row(document=Document("d1", {"review": "a", "text": "b", "text_2": "c"}))])
    assert {name: task[name] for name in ("text", "text_2", "text_3")} == {"text": "a", "text_2": "c", "text_3": "b"}


@each_row("writer", [write_argilla, write_prodigy])
def test_text_field_that_was_added_during_the_export_keeps_its_name(writer: Any) -> None:
    file = io.BytesIO()
    writer([row(document=Document("d1", {"review": "a", "title": "b"}))], ASPECTS, SharedColumns(), file)
    assert '"title":"b"' in file.getvalue().decode().replace(" ", "")


def test_labels_without_a_value_are_not_exported_as_absent() -> None:
    partial = {PRICE: True, ROOM: None}
    verdict, ann = AnnotatorValues("verdict", partial), AnnotatorValues("ann", partial, at=1.0, status="Submitted")
    half = row(values=partial, models=(verdict,), reviewers=(ann,))
    (task,) = lines(write_label_studio, [half])
    assert task["predictions"][0]["result"] == []
    assert task["annotations"][0]["result"][0]["value"] == {"choices": ["Price"]}
    assert task["meta"]["undecided"] == [["Room"]]
    (record,) = lines(write_argilla, [half])
    assert record["suggestions"] == []
    assert [(response["value"], response["status"]) for response in record["responses"]] == [(["Price"], "draft")]


def test_quotes_of_a_choice_belong_to_the_chosen_label() -> None:
    # Offsets count code points: the family emoji has five, and the accent of "cafe" is a separate one.
    text = "👩‍👩‍👧 at the cafe\u0301\r\nis cheap"
    start = text.index("cafe")
    assert (start, text[start : start + 5]) == (13, "cafe\u0301")
    quotes = (Evidence("label", text[start : start + 5], "review", start, start + 5, "exact"),)
    verdict = AnnotatorValues("verdict", {"label": STANCE.labels[1].id}, quotes)
    chosen = row(document=Document("d1", {"review": text}), values=verdict.values, models=(verdict,), reviewers=())
    span = lines(write_label_studio, [chosen], STANCE)[0]["predictions"][0]["result"][1]["value"]
    assert span == {"start": 13, "end": 18, "text": "cafe\u0301", "labels": ["bad"]}
    assert lines(write_prodigy, [chosen], STANCE)[0]["spans"] == [{"start": 13, "end": 18, "label": "bad"}]
    silent = row(models=(AnnotatorValues("verdict", {"label": None}, quotes),), reviewers=())
    assert lines(write_label_studio, [silent], STANCE)[0]["predictions"][0]["result"] == []


def test_argilla_suggests_the_verdict_and_keeps_responses() -> None:
    (record,) = lines(write_argilla, [row()])
    assert record["fields"] == {"text": TEXT, "context": "a hall"}
    assert record["suggestions"] == [
        {"question_name": "labels", "value": ["Price"], "score": None, "agent": "r1/verdict"}
    ]
    (response,) = record["responses"]
    assert (response["value"], response["status"]) == (["Price", "Room"], "submitted")
    assert response["user_id"] == lines(write_argilla, [row()])[0]["responses"][0]["user_id"]


def test_argilla_export_meets_the_limits_of_its_server() -> None:
    # The server of Argilla 2.8.0 refuses an empty multi-label answer, a rating outside 0 to 10, a question named like
    # a field, a submitted response without an answer to each question, and long descriptions.
    absent = {PRICE: False, ROOM: False}
    no_labels = {"values": absent, "models": (AnnotatorValues("verdict", absent),), "reviewers": ()}
    (record,) = lines(write_argilla, [row(**no_labels)])
    assert record["suggestions"][0]["value"] == ["none"]
    (unknown,) = lines(write_argilla, [row(**no_labels | {"models": (AnnotatorValues("verdict", {PRICE: False}),)})])
    assert unknown["suggestions"] == []

    dimensions = [{"name": "effect", "scale": {"min": -1, "max": 1}}, {"name": "text", "description": "x" * 2000}]
    rating = parse_codebook({"kind": "rating", "labels": dimensions})
    effect, text = (label.id for label in rating.labels)
    partial = AnnotatorValues("ann", {effect: -1, text: None}, status="Submitted")
    complete = AnnotatorValues("bo", {effect: 1, text: 4.4}, status="Submitted")
    (record,) = lines(write_argilla, [row(models=(), reviewers=(partial, complete))], rating)
    answers = [(response["question_name"], response["value"], response["status"]) for response in record["responses"]]
    assert answers == [("effect", "-1", "draft"), ("effect", "1", "submitted"), ("text_2", 4, "submitted")]
    first, second = json.loads(dataset_settings(rating, Summary(SharedColumns())))["questions"]
    assert first["settings"]["type"] == "label_selection"
    assert [option["value"] for option in first["settings"]["options"]] == ["-1", "0", "1"]
    assert (second["name"], second["title"], len(str(second["description"]))) == ("text_2", "text", 1000)
    assert second["settings"] == {"type": "rating", "options": [{"value": point} for point in range(1, 6)]}


def test_prodigy_answer_depends_on_the_review_status() -> None:
    settled, open_one, thrown_out = lines(
        write_prodigy,
        [row(), row(**UNRESOLVED), row(reviewers=(AnnotatorValues("bo", {PRICE: True}, status="Discarded"),))],
    )
    assert (settled["accept"], settled["answer"], settled["_annotator_id"]) == (["Price", "Room"], "accept", "ann")
    assert (open_one["accept"], open_one["answer"], open_one["_annotator_id"]) == (["Price"], "ignore", "r1")
    assert thrown_out["answer"] == "reject"
    assert (settled["config"], settled["_timestamp"]) == ({"choice_style": "multiple"}, 1_700_000_000)
    assert "_timestamp" not in open_one
    assert settled["spans"] == [{"start": 3, "end": 8, "label": "Price"}]
    assert settled["_input_hash"] == open_one["_input_hash"]
    assert -(2**31) <= settled["_task_hash"] < 2**31


def test_presence_is_not_exported_as_a_rating() -> None:
    fluency = FACETS.labels[0].id
    present = AnnotatorValues("ann", {fluency: True}, at=1.0, status="Submitted")
    (record,) = lines(write_argilla, [row(models=(), reviewers=(present,))], FACETS)
    assert not record["responses"]


def test_choices_and_ratings_are_exported_for_each_tool() -> None:
    bad = STANCE.labels[1].id
    chosen = row(values={"label": bad}, models=(AnnotatorValues("verdict", {"label": bad}),), reviewers=())
    assert lines(write_label_studio, [chosen], STANCE)[0]["predictions"][0]["result"][0]["value"] == {
        "choices": ["bad"]
    }
    assert lines(write_argilla, [chosen], STANCE)[0]["suggestions"][0]["value"] == "bad"
    assert lines(write_prodigy, [chosen], STANCE)[0]["accept"] == ["bad"]
    fluency = FACETS.labels[0].id
    rated = row(values={fluency: 2}, models=(AnnotatorValues("verdict", {fluency: 2}),), reviewers=())
    assert lines(write_label_studio, [rated], FACETS)[0]["predictions"][0]["result"][0]["value"] == {"number": 2}
    assert lines(write_argilla, [rated], FACETS)[0]["suggestions"][0] == {
        "question_name": "fluency",
        "value": 2,
        "score": None,
        "agent": "r1/verdict",
    }
    task = lines(write_prodigy, [rated], FACETS)[0]
    assert task["accept"] == ["fluency:2"]
    assert [option["id"] for option in task["options"]] == ["fluency:1", "fluency:2", "fluency:3"]
    half = row(values={fluency: 2.5}, models=(AnnotatorValues("verdict", {fluency: 2.5}),), reviewers=())
    assert lines(write_prodigy, [half], FACETS)[0]["accept"] == ["fluency:3"], "a half is rounded up"
    assert lines(write_argilla, [half], FACETS)[0]["suggestions"][0]["value"] == 3


@pytest.mark.parametrize(
    ("codebook", "values", "column", "expected"),
    [
        (ASPECTS, {PRICE: True, ROOM: None}, "labels", [0]),
        (STANCE, {"label": STANCE.labels[1].id}, "label", 1),
        (FACETS, {FACETS.labels[0].id: 2}, "fluency", 2.0),
    ],
)
def test_huggingface_export_is_a_folder_with_a_dataset_card(
    tmp_path: Path, codebook: Codebook, values: dict[str, Any], column: str, expected: Any
) -> None:
    folder = tmp_path / "set"
    reviewed = row(values=values, sources=dict.fromkeys(values, "review"))
    write("huggingface", [reviewed, row(values={})], codebook, columns_of([row()]), folder)
    table = pq.read_table(folder / "data" / "train.parquet")
    assert table.column("text").to_pylist() == [TEXT, TEXT]
    assert table.column("context").to_pylist() == ["a hall", "a hall"]
    assert table.column(column).to_pylist() == [expected, None]
    assert table.column("run_id").to_pylist() == ["r1", "r1"]
    assert [len(names or ()) for names in table.column("reviewed").to_pylist()] == [len(values), 0]
    assert table.column("unresolved").to_pylist()[0] == (["Room"] if codebook is ASPECTS else [])
    front = yaml.safe_load((folder / "README.md").read_text("utf-8").split("---")[1])
    features = front["dataset_info"]["features"]
    assert [feature["name"] for feature in features] == table.column_names
    assert front["configs"][0]["data_files"] == [{"split": "train", "path": "data/train.parquet"}]
    if codebook is STANCE:
        assert features[6]["dtype"] == {"class_label": {"names": {"0": "good", "1": "bad"}}}
    read = read_table(folder / "data" / "train.parquet", name="train.parquet")  # the file alone has the names too
    assert read.column(column) == ({"labels": ["Price"], "label": "bad"}.get(column, expected), None)


def test_companion_files_are_written_next_to_the_results(tmp_path: Path) -> None:
    write("label-studio", [row()], ASPECTS, columns_of([row()]), tmp_path / "tasks.json")
    assert xml.parse(tmp_path / "tasks.xml").getroot().tag == "View"
    write("argilla", [row()], ASPECTS, columns_of([row()]), tmp_path / "records.jsonl")
    described = json.loads((tmp_path / "records.settings.json").read_text("utf-8"))
    assert [field["name"] for field in described["fields"]] == ["text", "context"]
    assert [option["value"] for option in described["questions"][0]["settings"]["options"]] == ["Price", "Room", "none"]
    assert described["users"] == [
        {"username": "ann", "id": lines(write_argilla, [row()])[0]["responses"][0]["user_id"]}
    ]


def test_companion_file_never_overwrites_the_results(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two files"):
        write("label-studio", [row()], ASPECTS, columns_of([row()]), tmp_path / "tasks.xml")
    assert not (tmp_path / "tasks.xml").exists()


def test_folder_export_replaces_only_a_readme_that_moot_wrote(tmp_path: Path) -> None:
    for codebook in (ASPECTS, STANCE):
        write("huggingface", [row(values={})], codebook, columns_of([row()]), tmp_path / "set")
    (tmp_path / "README.md").write_text("# My project", "utf-8")
    with pytest.raises(ExportError, match=r"README\.md was not written by Moot"):
        write("huggingface", [row()], ASPECTS, columns_of([row()]), tmp_path)
    assert (tmp_path / "README.md").read_text("utf-8") == "# My project"
    assert not (tmp_path / "data").exists()


def test_folder_export_does_not_replace_a_file(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine", "utf-8")
    for path in (tmp_path / "data", tmp_path):  # a file in the place of the folder, and in that of one in it
        with pytest.raises(ExportError, match="data is a file"):
            write("huggingface", [row()], ASPECTS, columns_of([row()]), path)
    assert (tmp_path / "data").read_text("utf-8") == "mine"
