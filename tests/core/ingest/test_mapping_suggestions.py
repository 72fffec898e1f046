"""Tests of the suggested column mapping."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from core.codebook import Codebook, Label, Scale, load_yaml, parse_codebook
from core.documents import GOLD_RATER
from core.errors import UsageError
from core.ingest.codebook_from_gold import codebook_from_gold
from core.ingest.gold import GoldSource
from core.ingest.gold_options import same_name_gold
from core.ingest.mapping_suggestions import suggest_mapping
from core.ingest.read import read_table
from core.ingest.table import REVIEW_DETAILS, Table, join_tables
from tests.core.ingest.helpers import ASPECTS, BAD, GOOD, SENTIMENT, build, build_documents, table
from tests.each_row import each_row


def test_users_who_labelled_rows_with_ids_are_raters() -> None:
    mapping = suggest_mapping(table("id,user,text,Food\n1,3,Cold soup,1\n1,4,Cold soup,0\n2,3,Tea,0\n2,4,Tea,0\n"))
    assert (mapping.id, mapping.rater) == ("id", "user")


LONG = "id,text,category,polarity\n" + "".join(
    f"{n},Text {n},{category},good\n" for n in range(6) for category in ["Food", "Room#Size"][: 1 + n % 2]
)


def test_csv_of_label_studio_has_the_ids_of_its_tasks() -> None:
    mapping = suggest_mapping(table("annotation_id,annotator,id,label,text\n101,1,7,a,Cold soup\n102,1,8,b,Warm tea\n"))
    assert mapping.id == "id"


def test_column_without_a_name_is_gold_if_no_other_column_is() -> None:
    rows = "".join(f"{'ham' if number % 2 else 'spam'}\tCall me in {number} minutes, please\n" for number in range(6))
    nameless = table(rows, "sms.tsv")
    assert (nameless.columns, suggest_mapping(nameless).gold) == (
        ("column_1", "column_2"),
        (GoldSource("column_1", "choice"),),
    )
    named = table("," + "text,label\n" + "".join(f"x{n % 2},Cold soup {n},y{n % 2}\n" for n in range(6)))
    assert suggest_mapping(named).gold == (GoldSource("label", "choice"),)
    indexed = table(",text\n" + "".join(f"{n},Cold soup {n}\n" for n in range(6)))
    assert suggest_mapping(indexed).gold == ()


def test_classes_of_lighttag_are_gold() -> None:
    rows = [
        {
            "content": f"Cold soup {n}",
            "classifications": [{"classname": "ab"[n % 2], "annotated_by": [{"annotator": "x"}]}],
        }
        for n in range(4)
    ]
    read = read_table(json.dumps({"schema": {}, "annotations_and_examples": rows}).encode(), name="lighttag.json")
    assert suggest_mapping(read).gold == (GoldSource("classifications.classname_r1", "choice"),)


def test_decimals_with_a_comma_are_suggested_as_present_or_absent() -> None:
    mapping = suggest_mapping(table('text,Food,Price\nCold soup,"1,0","0,0"\nTea,"0,0","1,0"\n'))
    assert mapping.gold == (GoldSource("Food"), GoldSource("Price"))


def test_rows_with_one_label_each_are_suggested_as_one_document() -> None:
    mapping = suggest_mapping(data := table(LONG))
    assert (mapping.id, mapping.gold) == ("id", (GoldSource("category", "list"),))
    assert mapping.reasons[1] == "Rows with the same 'id' are one document, with the labels of all rows."
    result = build_documents(data, mapping)
    assert [document.gold[GOLD_RATER]["Room#Size"] for document in result.documents] == [False, True] * 3
    assert all(document.gold[GOLD_RATER]["Food"] for document in result.documents)
    assert (result.read, result.kept, result.merged, result.rejected) == (9, 6, 3, ())
    assert [document.source["category"] for document in result.documents] == ["Food", "Food|Room#Size"] * 3
    assert suggest_mapping(table(LONG.replace("Room#Size", "Food"))).id is None  # the same label twice
    assert suggest_mapping(data, SENTIMENT).id is None


@each_row(
    "content",
    [
        "product_id,reviewer,text,Food\n1,ann,Cold soup,1\n1,bo,Hot soup,1\n2,ann,Tea,0\n2,bo,Milk,1\n",
        "doc_id,annotator,text,Food\n1,ann,Cold soup,1\n2,ann,Tea,0\n3,bo,Milk,1\n",
        "doc_id,annotator,text,Food\n1,ann,Cold soup,1\n1,ann,Cold soup,1\n2,bo,Milk,1\n2,bo,Milk,1\n",
        "user,text,Food\nann,Cold soup,1\nbo,Cold soup,1\nann,Milk,0\nbo,Milk,0\n",
    ],
)
def test_rater_column_is_suggested_only_for_rows_of_one_document(content: str) -> None:
    assert suggest_mapping(table(content)).rater is None


def test_accepted_options_of_prodigy_are_gold_and_not_the_spans_beside_them() -> None:
    spans = [{"start": 0, "end": 4, "label": label} for label in ("Price", "Room")]
    tasks = [
        {"text": f"text {n}", "accept": ["Price"], "answer": answer, "spans": spans, "meta": {"review_flag": n == 1}}
        for n, answer in enumerate(["accept", "accept", "accept", "reject"])
    ]
    tasks[-1]["accept"] = ["Price", "Room"]
    data = table("\n".join(map(json.dumps, tasks)), "tasks.jsonl")
    assert suggest_mapping(data, ASPECTS).gold == (GoldSource("accept", "list"),)
    assert suggest_mapping(data).gold == (), "a single label was accepted"


def test_points_of_prodigy_are_gold_and_not_the_spans_beside_them() -> None:
    options = [{"id": f"Price:{point}"} for point in (1, 2)]
    spans = [{"start": 0, "end": 4, "label": label} for label in ("Price", "Room")]
    rows = [
        {"text": f"text {n}", "options": options, "accept": [f"Price:{n % 2 + 1}"], "answer": "accept", "spans": spans}
        for n in range(6)
    ]
    assert {source.column for source in suggest_mapping(table(json.dumps(rows), "tasks.json")).gold} <= {"Price"}


@each_row("kind", ["choice", "rating"])
def test_responses_of_argilla_are_gold_and_not_the_suggestions_of_a_model(kind: str) -> None:
    labels = [f"No. {n}" for n in range(15)] if kind == "rating" else ["1", "2"]
    names = labels if kind == "rating" else ["label"]
    codebook = parse_codebook({"kind": kind, "labels": [{"name": name} for name in labels]})
    records = [
        {
            "fields": {"text": f"text {n}"},
            "suggestions": {name: {"value": str(n % 2 + 1), "agent": "r0001/verdict"} for name in names},
            "responses": {name: [{"value": str(2 - n % 2), "user_id": person} for person in "ab"] for name in names},
        }
        for n in range(6)
    ]
    gold = suggest_mapping(table(json.dumps(records), "records.json"), codebook).gold
    assert {source.column for source in gold} == {f"{name}_r{person}" for name in names for person in (1, 2)}


@each_row("kind", ["multilabel", "choice"])
def test_responses_in_lists_of_argilla_are_gold_by_user_without_the_discarded(kind: str) -> None:
    first = ["Food", "Price", "Price"]
    answers = first if kind == "choice" else [[answer] for answer in first]
    rows = [
        {
            "text": f"Text number {row}",
            "topic.suggestion": answers[0],
            "topic.responses": [answer, answers[row - 1]],
            "topic.responses.users": ["u1", "u2"],
            "topic.responses.status": ["submitted", "submitted" if row else "discarded"],
        }
        for row, answer in enumerate(answers)
    ]
    rows.append({"text": "Not answered", "topic.responses": None})
    data = read_table(json.dumps(rows).encode(), name="records.json")
    for codebook in (parse_codebook({"kind": kind, "labels": [{"name": name} for name in ("Food", "Price")]}), None):
        gold = suggest_mapping(data, codebook).gold
        gold_kind = "choice" if kind == "choice" else "list"
        assert gold == tuple(GoldSource(f"topic_{user}", gold_kind, rater=user) for user in ("r1", "r2"))
    assert data.column("topic_r1") == (*answers, None)
    assert data.column("topic_r2") == (None, answers[0], answers[1], None)


def test_labels_by_a_single_person_in_lists_are_suggested() -> None:
    rows = [{"text": f"Text {row}", "votes": [{"annotator": "anna", "label": "ab"[row % 2]}]} for row in range(6)]
    votes = read_table(json.dumps(rows).encode(), name="votes.json")
    assert suggest_mapping(votes).gold == (GoldSource("votes.label_r1", "choice"),)


def test_column_with_one_value_is_not_suggested_as_gold() -> None:
    exported = table("text,category,codebook_version\nabc,good,1\ndef,bad,1\nghi,good,1\njkl,bad,1\n")
    assert suggest_mapping(exported).gold == (GoldSource("category", "choice"),)
    spelt_twice = table("text,released\nabc,1\ndef,1.0\nghi,yes\n")
    assert suggest_mapping(spelt_twice).gold == ()
    labels = table("text,version,Food,Rare\nabc,1,1,0\ndef,1,0,0\nghi,1,1,0\n")
    assert suggest_mapping(labels).gold == (GoldSource("Food"), GoldSource("Rare"))
    raters = table("text,version,Food_r1,Food_r2,Room_r1,Room_r2\nabc,1,1,1,0,1\ndef,1,0,1,1,1\n")
    assert len(suggest_mapping(raters).gold) == 4, "a rater who always says yes is a rater"


def test_column_of_several_labels_is_preferred_to_one_with_the_same_in_every_row() -> None:
    codes = [{"name": "Good", "code": 1}, {"name": "Bad", "code": 2}]
    book = parse_codebook({"kind": "choice", "labels": codes})
    rows = "abc,1,Good,2\ndef,1,Good,1\nghi,1,Good,2\n"
    assert suggest_mapping(table("text,version,class,verdict\n" + rows), book).gold == (
        GoldSource("verdict", "choice"),
    )
    rated = table("text,version,x_r1,x_r2\nabc,1,1,2\ndef,1,1,1\nghi,1,1,2\n")
    assert {source.column for source in suggest_mapping(rated, book).gold} == {"x_r1", "x_r2"}
    without = table("text,version,class\n" + rows.replace(",2\n", "\n").replace(",1\n", "\n"))
    assert suggest_mapping(without, book).gold == (GoldSource("class", "choice"),)
    assert suggest_mapping(table("text,version\nabc,1\ndef,1\n"), book).gold == ()


def test_label_in_every_row_is_proposed_last_and_named() -> None:
    rows = "".join(f"Some words {n},1,1,{n % 2}\n" for n in range(6))
    for name in ("schema_version", "annotator", "annotator_id", "fold", "page", "n"):
        mapping = suggest_mapping(table(f"text,Food,{name},Price\n{rows}"))
        assert mapping.gold == (GoldSource("Price"), GoldSource("Food")), name
    assert mapping.reasons[-1] == "Gold for 2 labels: columns of 1 and 0, or yes and no. 'Food' is 1 in every row."


def test_columns_of_marks_are_not_described_as_yes_and_no() -> None:
    rows = "".join(f"Some words {n},{'x' * (n % 2)},{'x' * (n % 3 == 0)}\n" for n in range(6))
    mapping = suggest_mapping(table(f"text,Food,Price\n{rows}"))
    assert mapping.gold == (GoldSource("Food"), GoldSource("Price"))
    assert mapping.reasons[-1] == "Gold for 2 labels: columns of marks and empty cells."


@each_row("names", [("yes", "no"), ("1", "2"), ("0", "3")])
@each_row("with_codebook", [True, False])
def test_export_of_a_choice_stays_a_choice_whatever_its_labels(names: tuple[str, str], with_codebook: bool) -> None:
    header = "text,label,document_id,gold_label,pred_label,reviewed_label,run_id,review_status\n"
    rows = "".join(f"Some words {n},,d{n},{names[n % 2]},{names[n % 3 % 2]},,r1,Pending\n" for n in range(6))
    book = parse_codebook({"kind": "choice", "labels": [{"name": name} for name in names]})
    mapping = suggest_mapping(table(header + rows), book if with_codebook else None)
    assert mapping.gold == (GoldSource("gold_label", "choice"),)
    ratings = parse_codebook({"kind": "rating", "scale": {"min": 1, "max": 5}, "labels": [{"name": "label"}]})
    assert suggest_mapping(table(header + rows), ratings).gold == (GoldSource("gold_label", "label", "label"),)


def test_mapping_suggested_with_a_codebook() -> None:
    data = table("nr,title,review,price,Room\n" + "".join(f"{n},T,A long text about {n},{n % 2},1\n" for n in range(9)))
    mapping = suggest_mapping(data, ASPECTS)
    assert (mapping.text, mapping.id, mapping.context) == ("review", "nr", ())
    assert mapping.gold == (GoldSource("price", "label", "Price"), GoldSource("Room", "label", "Room"))
    assert mapping.reasons == (
        "'review' is the text: 19 characters on average, and its name fits.",
        "'nr' is the id: filled and unique in all 9 rows.",
        "Gold for 2 of 3 labels: columns with their names.",
    )
    assert build_documents(data, mapping, ASPECTS).with_gold == 9


def test_dates_and_json_are_not_suggested_as_text() -> None:
    row = "2024-03-01T10:00:00Z,3/1/2024 9:00 GMT+1,\"{'choices': ['Price', 'Room']}\",Dirty\n"
    assert suggest_mapping(table(f"created,Timestamp,tags,words\n{row}")).text == "words"


def test_objects_are_suggested_as_neither_ids_nor_labels() -> None:
    rows = [
        {
            "row": {"id": f"r{n}", "words": f"Some words {n}"},
            "options": [{"id": "A", "text": "food"}, {"id": str(n % 2), "text": "room"}],
            "votes": [n % 3, 5],
            "accept": ["A"] if n % 2 else ["A", "B"],
        }
        for n in range(8)
    ]
    mapping = suggest_mapping(table(json.dumps(rows), "tasks.json"))
    assert (mapping.text, mapping.id, mapping.gold) == ("row.words", "row.id", (GoldSource("accept", "list"),))


def test_parse_trees_are_no_texts_and_labels_of_annotators_no_gold() -> None:
    rows = [
        {
            "annotator_labels": [["x", "y"][n % 2], "x"],
            "gold_label": ["x", "y"][n % 2],
            "sentence1": f"Some words {n}",
            "sentence1_parse": f"(ROOT (S Some words {n}))",
            "sentence1_binary_parse": f"( Some ( words {n} ) )",
        }
        for n in range(6)
    ]
    mapping = suggest_mapping(table(json.dumps(rows), "nli.json"))
    assert (mapping.text, mapping.gold) == ("sentence1", (GoldSource("gold_label", "choice"),))


def test_labels_of_several_people_in_a_list_are_suggested_by_rater() -> None:
    names, several = ["hate", "none", "rude"], [["hate"], ["rude", "none"], []]
    for labels, kind in ((names, "choice"), (several, "list")):
        rows = [
            {"text": f"Some words {n}", "votes": [{"label": labels[(n + k) % 3], "user": k} for k in (1, 2)]}
            for n in range(6)
        ]
        raters = tuple(GoldSource(f"votes.label_r{person}", kind, rater=f"r{person}") for person in (1, 2))
        assert suggest_mapping(table(json.dumps(rows), "posts.json")).gold == raters


def test_lists_of_0_and_1_are_not_suggested_as_lists_of_labels() -> None:
    rows: list[dict[str, Any]] = [{"text": f"Text number {row}", "labels": [row % 2, 1, 0]} for row in range(20)]
    vectors = read_table(json.dumps(rows).encode(), name="vectors.json")
    codes = parse_codebook({"labels": [{"name": name, "code": code} for code, name in enumerate("abc")]})
    for codebook in (codes, None):
        suggested = suggest_mapping(vectors, codebook)
        assert suggested.gold == ()
        assert suggested.reasons[2].endswith(" 'labels' is read as lists of 0 and 1, which do not name labels.")
    for names in (["label"], ["coder_anna", "coder_ben"]):
        rows = [{"text": f"Text number {row}"} | {name: [1, 0] for name in names} for row in range(3)]
        assert suggest_mapping(table(json.dumps(rows), "a.json")).gold == (), "nor as a choice or by raters"


def test_lists_of_none_are_suggested_as_gold_beside_lists_of_labels() -> None:
    # "none" is how Argilla says that a document has no label
    answers = ((["Price"], ["none"]), (["none"], ["none"]), (["none"], None), (["Room", "Price"], None))
    rows = [
        {"text": f"Some words {n}", "labels_r1": first, "labels_r2": second, "notes": "none"}
        for n, (first, second) in enumerate(answers)
    ]
    data = table(json.dumps(rows), "records.json")
    raters = tuple(GoldSource(f"labels_r{person}", "list", rater=f"r{person}") for person in (1, 2))
    mapping = suggest_mapping(data, ASPECTS)
    assert mapping.gold == raters
    gold = build_documents(data, mapping, ASPECTS).documents[0].gold
    assert [list(gold[rater].values()) for rater in ("r1", "r2")] == [[True, False, False], [False] * 3]


def test_export_of_moot_suggests_gold_and_reviews_without_the_verdicts() -> None:
    about = ",r1,ecj,1,verdict,Submitted\n"
    columns = "text,Food,document_id,gold_Food,pred_Food,reviewed_Food,judge_Food,evidence_Food"
    rows = "".join(f"Some words {n},{n % 2},d{n},{n % 2},1,{n % 3 % 2},{n % 2},{about}" for n in range(6))
    header = f"{columns},run_id,protocol,codebook_version,status,review_status\n"
    mapping = suggest_mapping(table(header + rows.replace(",,", ",[],")))
    gold = (GoldSource("gold_Food", "label", "Food"), GoldSource("reviewed_Food", "label", "Food", "reviewed"))
    assert (mapping.id, mapping.gold) == ("document_id", gold)
    of_two_runs = table(header + (rows + rows.replace(",r1,", ",r2,")).replace(",,", ",[],"))
    mapping = suggest_mapping(of_two_runs)
    assert (mapping.id, mapping.gold) == ("document_id", gold)
    assert len(build_documents(of_two_runs, mapping).documents) == 6
    choice = suggest_mapping(
        table((header + rows).replace("_Food", "_label").replace(",,", ",[],").replace(",1", ",x"))
    )
    assert choice.gold[1] == GoldSource("reviewed_label", "choice", rater="reviewed")
    unreviewed = re.sub(r"(?m)^(.*),\d,(\d),\d,(\d),,", r"\1,,\2,,\3,,", rows)
    mapping = suggest_mapping(table(header + unreviewed))
    assert mapping.gold == (GoldSource("Food"),)  # of the file, not of the run
    face = [
        {
            "text": f"Some words {n}",
            "run_id": "r1",
            "review_status": "Draft",
            "labels": ["x", "y"][n % 2 :],
            "reviewed": ["x", "y"][: n % 2],
            "codebook_version": 1,
        }
        for n in range(6)
    ]
    assert suggest_mapping(table(json.dumps(face), "train.json")).gold == ()


@each_row(("name", "values"), [("label", "xy"), ("Food", "10")])
def test_export_of_an_imported_export_suggests_the_gold_of_the_later_run(name: str, values: str) -> None:
    run = f"document_id,gold_{name},pred_{name},reviewed_{name},run_id,review_status"
    again = ",".join(f"{column}_2" for column in run.split(","))
    rows = "".join(
        f"Some words {n},d{n},{first},{value},{first},r1,Draft,d{n},{value},{first},,r2,Draft\n"
        for n, (first, value) in enumerate(zip(values[0] * 6, values * 3, strict=True))
    )
    data = table(f"text,{run},{again}\n{rows}")
    mapping = suggest_mapping(data)
    kind, label = ("choice", "") if name == "label" else ("label", name)
    assert mapping.gold == (
        GoldSource(f"gold_{name}_2", kind, label),
        GoldSource(f"reviewed_{name}", kind, label, "reviewed"),
    )
    assert len(build_documents(data, mapping).documents) == 6


def test_notes_and_reviewers_in_an_export_of_moot_are_neither_text_nor_rater() -> None:
    header = "post,document_id,gold_Food,pred_Food,reviewed_Food,run_id,review_status,review_note,reviewers\n"
    rows = "".join(
        f"{'Soup ' * (n + 1)},d{n},1,{n % 2},1,{run},Submitted,A long explanation of the decision on {n},{who}\n"
        for n in range(10)
        for run, who in (("r1", "ann"), ("r2", "ben"))
    )
    mapping = suggest_mapping(table(header + rows))
    assert (mapping.text, mapping.id, mapping.rater) == ("post", "document_id", None)


@each_row("order", [sorted, lambda names: [*names[1:], names[0]]])
def test_export_of_moot_with_moved_columns_keeps_its_text(order: Callable[[list[str]], list[str]]) -> None:
    names = "text,document_id,gold_label,pred_label,reviewed_label,clerk_label,evidence_label,run_id,review_status"
    rows = [
        dict(zip(names.split(","), (f"Some words {n}", f"d{n}", *"xyyx", "[]", "r1", "Submitted"), strict=True))
        for n in range(6)
    ]
    moved = [{name: row[name] for name in order(names.split(","))} for row in rows]
    mapping = suggest_mapping(table(json.dumps(moved), "run.json"))
    assert (mapping.text, mapping.id) == ("text", "document_id")
    assert [source.column for source in mapping.gold] == ["gold_label", "reviewed_label"] or order is sorted


def test_hugging_face_export_of_moot_with_its_text_at_the_end_keeps_its_text() -> None:
    names = ("id", "run_id", "status", "review_status", "label", "reviewed", "unresolved", *REVIEW_DETAILS, "text")
    cells = ("r1", "verdict", "Pending", 1, [], [], None, False, [], [])
    rows = [dict(zip(names, (f"d{n}", *cells, f"Some words {n}"), strict=True)) for n in range(6)]
    mapping = suggest_mapping(table(json.dumps(rows), "train.json"))
    assert (mapping.text, mapping.id, mapping.gold) == ("text", "id", ())


@each_row(
    ("name", "cells", "kind"),
    [
        ("label", ["Food, drinks", "Room; view", "Sport"], "choice"),
        ("label", ["food; room", "food", "room; view", "view"], "list"),
        ("label", ["food#room", "food", "room#view", "room", "view"], "list"),
        ("label", ["Room #1", "Room #2", "Room", "Hall"], "choice"),
        ("label", ["Sales", "Sales/Marketing", "Food & drinks", "C", "C++"], "choice"),
        ("label", ["A", "B", "A/B"], "choice"),
        ("topics", ["food", "room"], "list"),
    ],
)
def test_separators_in_a_column_of_labels(name: str, cells: list[str], kind: Any) -> None:
    rows = "".join(f'Some words {n},"{cells[n % len(cells)]}"\n' for n in range(12))
    assert suggest_mapping(table(f"text,{name}\n{rows}")).gold == (GoldSource(name, kind),)


def test_lists_of_many_labels_in_few_rows_are_suggested() -> None:
    rows = [{"text": f"Some words {n}", "topics": [f"t{k}" for k in range(n % 2, 12)]} for n in range(20)]
    assert suggest_mapping(table(json.dumps(rows), "a.json")).gold == (GoldSource("topics", "list"),)
    answers = [{"text": row["text"], "accept": row["topics"], "answer": "reject"} for row in rows]
    assert suggest_mapping(table(json.dumps(answers), "a.json")).gold == ()


def test_lists_of_tokens_are_texts() -> None:
    tokens = ["The", "soup", "was", "cold", "today"]
    rows = [{"post_id": f"{n}_gab", "tokens": [*tokens, str(n)], "tags": ["x", "y"][n % 2 :]} for n in range(6)]
    mapping = suggest_mapping(data := table(json.dumps(rows), "posts.json"))
    assert (mapping.text, mapping.id) == ("tokens", "post_id")
    assert build_documents(data, mapping).documents[0].text == "The soup was cold today 0"
    short = [{"text": "ok", "tags": ["the first of some tags", f"another tag {n}"]} for n in range(6)]
    assert suggest_mapping(table(json.dumps(short), "posts.json")).text == "text"
    lines = build('[{"text": ["Hello there.", "Good morning!"]}]', name="chat.json")
    assert lines.documents[0].text == "Hello there.\nGood morning!"


@each_row(("speaker", "message"), [("role", "content"), ("from", "value"), ("speaker", "text")])
def test_chats_are_texts_with_a_line_for_each_message(speaker: str, message: str) -> None:
    chats = [[{speaker: "user", message: f"Joke {n}?"}, {speaker: "bot", message: None}] for n in range(6)]
    rows = [{"id": n, "chat": chat, "label": ["fun", "rude"][n % 2]} for n, chat in enumerate(chats)]
    mapping = suggest_mapping(data := table(json.dumps(rows), "chats.json"))
    assert (mapping.text, mapping.gold) == ("chat", (GoldSource("label", "choice"),))
    assert build_documents(data, mapping).documents[1].text == "user: Joke 1?\nbot: "


@each_row("name", ["Code", "Thème", "Kategorie", "topic.tema", "тема", "类别"])
def test_names_of_columns_with_one_label(name: str) -> None:
    rows = "".join(f"Some words {n},{'xy'[n % 2]}\n" for n in range(6))
    assert suggest_mapping(table(f"text,{name}\n{rows}")).gold == (GoldSource(name, "choice"),)
    assert suggest_mapping(table(f"text,zip code\n{rows}")).gold == ()


@each_row(
    "name",
    ["ResponseId", "ID", "#id", "meta.id", "Nr.", "N°", "编号", "doc", "docID", "doc_id", "tweetid", "UID", "PMID"],
)
def test_names_of_ids(name: str) -> None:
    assert suggest_mapping(table(f"{name},text\na7,Great food\na8,Dirty\n")).id == name


@each_row("name", ["PAID", "covid", "docs", "topic"])
def test_names_that_are_not_of_ids(name: str) -> None:
    assert suggest_mapping(table(f"{name},text\n1,Great food\n0,Dirty\n")).id is None


@each_row("name", ["respondent", "Participant", "case", "subject", "patient_code", "response_code", "student"])
def test_unique_codes_of_persons_or_cases_are_ids(name: str) -> None:
    mapping = suggest_mapping(table(f"{name},comment\nR001,Great food\nR002,Dirty rooms\n"))
    assert mapping.id == name
    assert mapping.reasons[1] == f"'{name}' is the id: filled and unique in all 2 rows."
    assert suggest_mapping(table(f"nr,{name},comment\n1,R001,Great food\n2,R002,Dirty rooms\n")).id == "nr"


def test_persons_in_several_rows_and_subjects_of_emails_are_not_ids() -> None:
    assert suggest_mapping(table("respondent,comment\nR001,Great food\nR001,Dirty rooms\n")).id is None
    assert (
        suggest_mapping(table("subject,body\nYour order,Great food it was\nA question,Dirty rooms here\n")).id is None
    )


def test_text_that_is_named_doc_is_not_the_id() -> None:
    mapping = suggest_mapping(table("doc,stars\nGreat food,5\nDirty,1\n"))
    assert (mapping.text, mapping.id) == ("doc", None)


def test_columns_with_missing_values_or_their_own_name_are_suggested_as_gold() -> None:
    data = table("text,Price,Room\nabc,1,NA\ndef,NA,Room\nghi,0,\n")
    assert [source.column for source in suggest_mapping(data).gold] == ["Price", "Room"]
    assert [source.label for source in suggest_mapping(data, ASPECTS).gold] == ["Price", "Room"]


def test_suggested_gold_of_raters_lists_and_choices() -> None:
    raters = table("text,Price_A1,Price_A2,Room_A1,Room_A2,Room_size\nabc,1,0,1,0,1\n")
    assert {source.rater for source in suggest_mapping(raters, ASPECTS).gold} == {"A1", "A2"}
    assert suggest_mapping(table("text,gold\nabc,good\ndef,1\n"), SENTIMENT).gold == (GoldSource("gold", "choice"),)
    assert suggest_mapping(table("text,a\nabc,Price|Room\ndef,Room\n"), ASPECTS).gold == (GoldSource("a", "list"),)
    assert suggest_mapping(table("text,a\nabc,7\n"), SENTIMENT).gold == ()


def test_choices_of_several_raters_are_suggested_together() -> None:
    data = table("text,stance_r1,stance_r2,topic_r1\nabc,good,bad,x\ndef,1,mixed,y\nghi,good,good,x\n")
    mapping = suggest_mapping(data, SENTIMENT)
    raters = tuple(GoldSource(f"stance_{rater}", "choice", rater=rater) for rater in ("r1", "r2"))
    assert (mapping.gold, mapping.reasons[-1]) == (
        raters,
        "'stance_r1' and 'stance_r2' are gold: 100% of the values are labels.",
    )
    assert build_documents(data, mapping, SENTIMENT).documents[0].gold == {"r1": {"label": GOOD}, "r2": {"label": BAD}}
    assert suggest_mapping(data).gold == raters
    assert suggest_mapping(table("text,year_1,year_2\nabc,good,bad\n"), SENTIMENT).gold == (
        GoldSource("year_1", "choice"),
    )


def test_mapping_suggested_without_a_codebook() -> None:
    binary = table("id,text,city,a,b\n" + "".join(f"{n // 2},Some words {n},Rome,{n % 2},yes\n" for n in range(40)))
    mapping = suggest_mapping(binary)
    assert (mapping.id, mapping.gold) == (None, (GoldSource("a"), GoldSource("b")))
    refused = "'id' is named like an id, but its cell in row"
    assert mapping.reasons[1] == f"{refused} 3 repeats '0': row numbers are the ids."
    empty = suggest_mapping(table("id,text\n1,Some words\n,More words\n1,Other words\n"))
    assert (empty.id, empty.reasons[1]) == (None, f"{refused} 3 is empty: row numbers are the ids.")
    assert suggest_mapping(table("text,tags\nabc,x|y\ndef,y\n")).gold == (GoldSource("tags", "list"),)
    assert suggest_mapping(table("text,label\nabc,x\ndef,y\nghi,x\njkl,y\nmno,x\n")).gold == (
        GoldSource("label", "choice"),
    )
    assert suggest_mapping(table("text,city\nabc,x\ndef,y\n")).gold == ()


@each_row(("style", "kind"), [("single", "choice"), ("multiple", "multilabel")])
def test_kind_of_an_export_of_prodigy_is_that_of_its_choice(style: str, kind: str) -> None:
    tasks = [
        {"text": f"words {n} in it", "accept": [("good", "bad", "so-so")[n % 3]], "config": {"choice_style": style}}
        for n in range(12)
    ]
    data = read_table("\n".join(map(json.dumps, tasks)).encode(), name="answers.jsonl")
    mapping = suggest_mapping(data)
    assert [source.column for source in mapping.gold] == ["accept"]
    codebook = codebook_from_gold(data, mapping)
    assert (codebook.kind, set(codebook.names)) == (kind, {"good", "bad", "so-so"})
    gold = build_documents(data, mapping, codebook).documents[1].gold[GOLD_RATER]
    bad = next(label.id for label in codebook.labels if label.name == "bad")
    assert gold == ({"label": bad} if kind == "choice" else {label.id: label.id == bad for label in codebook.labels})


def rated_lists(first: str, second: str, names: tuple[str, str, str] = ("Food", "Price", "Staff")) -> Table:
    cells = ("Food; Price", "Staff", "Price; Staff", "Food")
    others = (names[0], f"{names[1]}; {names[2]}", names[2], f"{names[0]}; {names[2]}")
    rows = "".join(f"{n} words in a text,{cells[n % 4]},{others[n % 4]}\n" for n in range(20))
    return table(f"text,{first},{second}\n{rows}")


def test_lists_in_columns_named_like_raters_are_suggested() -> None:
    data = rated_lists("coder_anna", "coder_Ben")
    mapping = suggest_mapping(data)
    assert mapping.gold == tuple(GoldSource(name, "list", rater=name) for name in ("coder_anna", "coder_Ben"))
    assert mapping.reasons[-1] == "'coder_anna' and 'coder_Ben' are gold: lists of the same labels by 2 raters."
    assert set(build_documents(data, mapping).documents[0].gold) == {"coder_anna", "coder_Ben"}
    codebook = Codebook(labels=tuple(Label(name=name) for name in ("Food", "Price", "Staff")))
    assert suggest_mapping(data, codebook).gold == mapping.gold
    gold = suggest_mapping(rated_lists("gold_anna", "gold_ben"), codebook).gold
    assert gold == tuple(GoldSource(name, "list", rater=name) for name in ("gold_anna", "gold_ben"))
    choice = codebook.model_copy(update={"kind": "choice"})
    single = table("text,coder_anna,coder_Ben\n" + "".join(f"{n} words in a text,Food,Price\n" for n in range(20)))
    assert suggest_mapping(single, choice).gold == tuple(replace(source, kind="choice") for source in mapping.gold)
    assert [source.column for source in suggest_mapping(rated_lists("labels", "coder_Ben"), codebook).gold] == [
        "labels"
    ]
    assert suggest_mapping(rated_lists("liked", "disliked")).gold == ()
    assert suggest_mapping(rated_lists("coder_anna", "comment")).gold == ()
    other_names = rated_lists("reader_likes", "reader_dislikes", ("Noise", "Dust", "Staff"))
    assert suggest_mapping(other_names).gold == ()


@each_row(
    ("columns", "with_codebook", "without"),
    [
        ("stance_mueller,stance_schmidt", *["stance_mueller,stance_schmidt"] * 2),
        ("Anna stance,Ben stance", *["Anna stance,Ben stance"] * 2),
        ("stance_robert,stance_roberta", *["stance_robert,stance_roberta"] * 2),
        ("stance_bert,stance_distilbert", "stance_bert", ""),
        ("stance_mueller,stance_gpt4", "stance_mueller", ""),  # labels of a model
        ("stance_raw,stance_clean", "stance_raw", ""),  # two versions of the same labels
        ("stance_v1,stance_v2", "stance_v1", ""),
        ("stance_vader,stance_textblob", "stance_vader", ""),
        ("stance_title,stance_body", "stance_title", ""),
        ("stance_de,stance_EN", "stance_de", ""),  # the same labels in two languages
        ("stance_de,stance_al", *["stance_de,stance_al"] * 2),  # initials
        ("mood_mueller,mood_schmidt", "mood_mueller", ""),  # not called like labels
        ("stance_mueller,note_schmidt", "stance_mueller", ""),
    ],
)
def test_choices_in_columns_named_like_a_label_and_a_person_are_suggested(
    columns: str, with_codebook: str, without: str
) -> None:
    labels = ("good", "bad", "mixed")
    differing = {n: labels[(n + 1) % 3] for n in range(0, 60, 5)} | dict.fromkeys((7, 8, 9), "")
    rows = [f"A text with the number {n},{labels[n % 3]},{differing.get(n, labels[n % 3])}" for n in range(60)]
    data = table("\n".join((f"text,{columns}", *rows)))
    for codebook, expected in ((SENTIMENT, with_codebook), (None, without)):
        gold = suggest_mapping(data, codebook).gold
        assert ",".join(source.column for source in gold) == expected
        assert all(source.rater == (source.column if len(gold) > 1 else GOLD_RATER) for source in gold)


@each_row("others", ["", ",x_label,y_label"])
def test_names_of_numbered_raters_do_not_depend_on_other_columns(others: str) -> None:
    rows = [f"A text with the number {n}" + f",{('good', 'bad', 'mixed')[n % 3]}" * 4 for n in range(60)]
    data = table("\n".join(("text,coder1_label,coder2_label" + (others or ",note,remark"), *rows)))
    raters = [source.rater for source in suggest_mapping(data).gold]
    assert raters == ["coder1", "coder2"]


def test_choices_about_two_questions_are_not_by_two_people() -> None:
    labels = ("good", "bad", "mixed", "good")
    rows = [f"A text with the number {n},{labels[n % 3]},{labels[n % 4]}" for n in range(60)]
    data = table("\n".join(("text,sentiment_food,sentiment_room", *rows)))
    assert suggest_mapping(data).gold == ()
    assert suggest_mapping(data, SENTIMENT).gold == (GoldSource("sentiment_food", "choice"),)


@each_row("values", [("pos", "neg"), ("1", "0")])
def test_labels_in_columns_named_like_numbered_raters_are_suggested(values: tuple[str, str]) -> None:
    rows = "".join(f"{n} words in a text,{values[n % 2]},{values[n % 3 > 1]}\n" for n in range(12))
    for names in ("coder1,coder2", "Rater A,Rater B"):
        first, second = names.split(",")
        gold = (GoldSource(first, "choice", rater=first), GoldSource(second, "choice", rater=second))
        assert suggest_mapping(table(f"text,{names}\n{rows}")).gold == gold
    for names in ("gold_food,gold_room", "reader_likes,reader_buys"):
        assert suggest_mapping(table(f"text,{names}\n{rows}")).raters in ((), (GOLD_RATER,))


def test_final_label_is_suggested_rather_than_those_of_the_raters() -> None:
    votes = [("pos", "neg", "neg"), ("neg", "neg", "neg"), ("pos", "pos", "pos")] * 4
    rows = "".join(f"{n} words in a text,{','.join(row)},{'xy'[n % 2]}\n" for n, row in enumerate(votes))
    data = table(f"text,coder1,coder2,label,topic\n{rows}")
    assert suggest_mapping(data).gold == (GoldSource("label", "choice"),)
    data = table(f"text,coder1,coder2,note,topic\n{rows}")
    assert suggest_mapping(data).raters == ("coder1", "coder2")


def test_lists_of_one_label_each_are_suggested_as_a_choice() -> None:
    def read(*last: str, count: int = 20) -> Table:
        rows = [{"id": n, "text": f"Cold soup {n}", "label": [["bad"], ["good"]][n % 2]} for n in range(count)]
        rows[-1]["label"] = [*last]
        return read_table("\n".join(map(json.dumps, rows)).encode(), name="doccano.jsonl")

    assert suggest_mapping(read("good")).gold == (GoldSource("label", "choice"),)
    for several in (read("good", "bad"), read(), read("good", count=19)):
        assert suggest_mapping(several).gold == (GoldSource("label", "list"),)


def test_codes_of_questions_are_not_raters() -> None:
    names = "A1_SQ001,A1_SQ002,A2_SQ001,A2_SQ002"
    data = table(f"text,{names}\n" + "".join(f"{n} words in a text,{n % 2},0,1,{n % 2}\n" for n in range(6)))
    assert suggest_mapping(data).raters == (GOLD_RATER,)


def test_rare_class_2_beside_0_and_1_is_not_overlooked() -> None:
    rows = [f"{n} words in a text,{2 if n in (4, 25) else n % 2}" for n in range(40)]
    assert suggest_mapping(table("\n".join(("text,label", *rows)))).gold == (GoldSource("label", "choice"),)
    both = (f"{row},{n % 3 // 2}" for n, row in enumerate(rows))
    assert suggest_mapping(table("\n".join(("text,Food,Room", *both)))).gold == (GoldSource("Food"), GoldSource("Room"))


@each_row(
    "names",
    [
        "A1 Food,A1 Room,A2 Food,A2 Room",
        "coder1_Food,coder1_Room,coder2_Food,coder2_Room",
        "Kodierer1_Food,Kodierer1_Room,Kodierer2_Food,Kodierer2_Room",
    ],
)
def test_columns_named_like_a_rater_and_a_label_are_suggested(names: str) -> None:
    data = table(f"text,{names}\n" + "".join(f"{n} words in a text,{n % 2},{n % 3},1,{n % 2}\n" for n in range(6)))
    codebook = Codebook(kind="rating", scale=Scale(min=0, max=2), labels=(Label(name="Food"), Label(name="Room")))
    for mapping in (suggest_mapping(data), suggest_mapping(data, codebook)):
        columns = names.split(",")
        raters = columns[0].removesuffix("Food")[:-1], columns[2].removesuffix("Food")[:-1]
        assert [(source.column, source.label, source.rater) for source in mapping.gold] == [
            (column, label, rater)
            for column, (rater, label) in zip(columns, [(r, n) for r in raters for n in ("Food", "Room")], strict=True)
        ]


@each_row("rater", ["coder", "Kodierer", "Codiererin", "Beurteiler", "Bewerter-ID"])
def test_column_of_raters_is_found_by_its_name(rater: str) -> None:
    rows = "".join(f"{n},Text number {n},{name},Food\n" for n in range(4) for name in ("Anna", "Ben"))
    mapping = suggest_mapping(table(f"id,text,{rater},category\n{rows}"))
    assert (mapping.id, mapping.rater) == ("id", rater)


def test_texts_and_rows_of_raters_in_another_file_are_suggested() -> None:
    texts = table("post_id,message\n" + "".join(f"p{n},Cold soup {n}\n" for n in range(3)), "posts.csv")
    pairs = [(n, rater) for n in range(3) for rater in (7, 8, 9)]
    rows = "".join(f"{rater},p{n},{n % 2},{rater % 2}\n" for n, rater in pairs)
    labels = table(f"user_id,post_id,Food,Room\n{rows}", "labels.csv")
    joined = join_tables([texts, labels])
    mapping = suggest_mapping(joined)
    assert (mapping.text, mapping.id, mapping.rater) == ("message", "post_id", "user_id")
    built = build_documents(joined, mapping)
    assert (built.kept, built.merged, {*built.documents[0].gold}) == (3, 9, {"7", "8", "9"})
    once = table("user_id,post_id,Food\n7,p0,1\n8,p1,0\n9,p2,1\n", "labels.csv")
    assert suggest_mapping(join_tables([texts, once])).rater is None


def test_names_are_suggested_instead_of_the_numbers_beside_them() -> None:
    rows = "".join(f"{n} words in a text,{n % 2},{['bad', 'good'][n % 2]}\n" for n in range(8))
    assert suggest_mapping(table(f"text,label,label_text\n{rows}")).gold == (GoldSource("label_text", "choice"),)
    assert suggest_mapping(table(f"text,category_id,category_name\n{rows}")).gold == (
        GoldSource("category_name", "choice"),
    )
    quotes = "".join(f"{n} words in a text,{n % 2},{'ab'[n % 3 > 1]} quote\n" for n in range(8))
    assert suggest_mapping(table(f"text,Food,Food_text\n{quotes}")).gold == (GoldSource("Food"),)


@each_row(
    ("columns", "labels", "raters"),
    [
        ("good food_A1,good food_A2,bar_A1,bar_A2", "good food,good food,bar,bar", "A1,A2,A1,A2"),
        ("a_coder 1,a_coder 2,b_coder 1,b_coder 2", "a,a,b,b", "coder 1,coder 2,coder 1,coder 2"),
        ("a_rater_x,b_rater_x,a_rater_y,b_rater_y", "a,b,a,b", "rater_x,rater_x,rater_y,rater_y"),
        ("food_1,food_2,bar_1", "", ""),  # not every rater has every label
        ("food_price,food_taste,bar_price,bar_taste", "", ""),  # not names of raters
        ("q_1,q_2,q_3", "", ""),  # only one label
        ("food_A1,bar_A1", "", ""),  # only one rater
        ("food_A1,food_A2,bar_A1,bar_A2,vegan", "", ""),  # one column has no rater
    ],
)
def test_suggested_raters_without_a_codebook(columns: str, labels: str, raters: str) -> None:
    names = columns.split(",")
    rows = (",".join(str((n + row) % 2) for n in range(len(names))) for row in range(2))
    mapping = suggest_mapping(table("\n".join([f"text,{columns}", *(f"abc,{row}" for row in rows)]) + "\n"))
    assert ",".join(source.column for source in mapping.gold) == columns
    assert ",".join(source.name for source in mapping.gold) == (labels or columns)
    assert ",".join(source.rater for source in mapping.gold) == (raters or ",".join([GOLD_RATER] * len(names)))
    assert ("by 2 raters" in mapping.reasons[2]) is bool(raters)


def test_ratings_without_raters_are_suggested_if_several_columns_share_a_scale() -> None:
    columns = {
        "Coherence": ["4", "5", "3", "2"],
        "Fluency": ["5", "4.67", "5", "3"],
        "words": ["12", "9", "40", "31"],
        "votes": ["0", "1", "3", "2"],
    }
    rows = [
        f"A summary that is number {n} of its kind,{','.join(row)}"
        for n, row in enumerate(zip(*columns.values(), strict=True))
    ]
    mapping = suggest_mapping(table("\n".join([f"summary,{','.join(columns)}", *rows])))
    assert [source.column for source in mapping.gold] == ["Coherence", "Fluency"]
    assert mapping.reasons[2] == "Ratings of 2 dimensions: columns of numbers on the same scale."
    alone = table("\n".join(["summary,age", *(f"A summary that is number {n},{n}" for n in range(2, 8))]))
    assert suggest_mapping(alone).gold == ()


def test_half_points_with_a_decimal_comma_are_ratings_and_lists_of_codes_are_not() -> None:
    rows = ["4;3,5", "4,5;3", "3;5", "2,5;2", "5;4"]
    header = "id;text;Quality;Price\n"
    data = header + "".join(f"{n};Text number {n};{row}\n" for n, row in enumerate(rows))
    mapping = suggest_mapping(read_table(data.encode(), name="r.csv"))
    assert mapping.gold == ()
    data = data.replace(";5;4\n", ";5;4,5\n")
    mapping = suggest_mapping(read_table(data.encode(), name="r.csv"))
    assert mapping.gold == (GoldSource("Quality"), GoldSource("Price"))
    codes = header + "".join(f"{n};Text number {n};{row}\n" for n, row in enumerate(["1;1,3", "1,2;2", "3;2,5"] * 2))
    assert GoldSource("Quality") not in suggest_mapping(read_table(codes.encode(), name="r.csv")).gold


@each_row(("columns", "kind"), [("topics;aspects", "list"), ("quality;price", "label")])
def test_codes_in_columns_named_like_lists_are_no_half_points(columns: str, kind: str) -> None:
    rows = ["1,5;2,5", "2,5;1,5", "5;5", "3,5;1"] * 5
    data = f"text;{columns}\n" + "".join(f"A text with the number {n};{row}\n" for n, row in enumerate(rows))
    gold = suggest_mapping(read_table(data.encode(), name="r.csv")).gold
    assert {source.kind for source in gold} == {kind}


def test_ratings_of_several_dimensions_by_several_raters_are_suggested() -> None:
    columns = [f"{name}_r{rater}" for name in ("Overall", "Fluency", "Empathy") for rater in range(1, 6)]
    rows = "".join(f"a long text {n},{','.join(str((n * 7 + k) % 5 + 1) for k in range(15))},{n}\n" for n in range(20))
    data = table(f"text,{','.join(columns)},turns\n{rows}")
    mapping = suggest_mapping(data)
    assert [source.column for source in mapping.gold] == columns
    assert mapping.raters == ("r1", "r2", "r3", "r4", "r5")
    assert mapping.reasons[2].startswith("Ratings of 3 dimensions by 5 raters")
    codebook = codebook_from_gold(data, mapping)
    assert (codebook.kind, codebook.names) == ("rating", ("Overall", "Fluency", "Empathy"))
    assert codebook.scale == Scale(min=1, max=5)
    assert build_documents(data, mapping, codebook).with_gold == 20


def test_ratings_are_suggested_despite_cells_that_are_not_numbers() -> None:
    cells = ["2: yes", "1: partly", "N/A: nothing to rate", "0: no"]
    rows = "".join(f"a long text {n},{cells[n % 4]},{cells[(n + 1) % 4]}\n" for n in range(20))
    data = table(f"text,clarity_A0,clarity_A1\n{rows}")
    mapping = suggest_mapping(data)
    assert [(source.label, source.rater) for source in mapping.gold] == [("clarity", "A0"), ("clarity", "A1")]
    assert codebook_from_gold(data, mapping).scale == Scale(min=0, max=2)


def test_columns_of_0_and_1_are_preferred_to_a_list() -> None:
    rows = "".join(f"Some words {n},t{n % 33}|t{n * 7 % 33},{n % 2},{n % 3 == 0:d}\n" for n in range(80))
    assert suggest_mapping(table("text,tags,Food,Price\n" + rows)).gold == (GoldSource("Food"), GoldSource("Price"))


def test_missing_text_column_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"data\.csv has no text column\. It has: id, n"):
        suggest_mapping(table("id,n\n1,2\n2,3.5\n"))


def test_columns_with_the_words_of_a_label_are_its_gold() -> None:
    book = load_yaml("labels: [{name: Waiting time}, {name: Value-for-money}, {name: a b}, {name: a-b}]")
    read = table("text,Waiting_time,value for money,a_b,a-b\nLate again,1,0,1,0\nCheap and quick,0,1,1,0\n")
    # "a_b" has the words of two labels.
    expected = [("Waiting_time", "Waiting time"), ("value for money", "Value-for-money"), ("a-b", "a-b")]
    assert [(source.column, source.label) for source in same_name_gold(read, book)] == expected
    assert [(source.column, source.label) for source in suggest_mapping(read, book).gold] == expected
    by_raters = table("text,Waiting_time_A1,Waiting_time_A2\nLate again,1,0\nCheap and quick,0,1\n")
    suggested = suggest_mapping(by_raters, book.narrowed(book.labels[0].id)).gold
    assert [(source.label, source.rater) for source in suggested] == [("Waiting time", "A1"), ("Waiting time", "A2")]


@each_row(
    ("columns", "expected"),
    [
        ("Waiting-Time,waiting time,Food", [("Food", "Food"), ("waiting time", "Waiting time")]),
        ("FOOD QUALITY,food_quality,Food quality,food,Food", [("Food quality", "Food quality"), ("Food", "Food")]),
        ("Food_quality,food-quality", [("Food_quality", "Food quality")]),
    ],
)
def test_column_named_most_like_a_label_is_its_gold(columns: str, expected: list[tuple[str, str]]) -> None:
    book = load_yaml("labels: [{name: Food quality}, {name: Food}, {name: Waiting time}]")
    rows = "".join(f"{text}{f',{mark}' * len(columns.split(','))}\n" for text, mark in [("So good", 1), ("Hm", 0)])
    data = table(f"text,{columns}\n{rows}")
    assert [(source.column, source.label) for source in same_name_gold(data, book)] == expected
    suggested = {(source.column, source.label) for source in suggest_mapping(data, book).gold}
    assert suggested == set(expected)


@each_row(
    ("columns", "with_codebook", "without"),
    [
        ("Room_pred,Price_pred", [], ["Room_pred", "Price_pred"]),
        ("Room_pred,Price_pred,Room,Price", ["Price", "Room"], ["Room", "Price"]),
        ("Room model,Price model,Room,Price", ["Price", "Room"], ["Room", "Price"]),
        ("Room,Price,Price model,Pool", ["Price", "Room"], ["Room", "Price", "Price model", "Pool"]),
        ("Roomy,Price,Room_pred,Pool", ["Price"], ["Roomy", "Price", "Room_pred", "Pool"]),
        ("Room_gold,Price_gold,Room_pred,Price_pred", ["Price_gold", "Room_gold"], ["Room_gold", "Price_gold"]),
        (
            "Room_A1,Price_A1,Room_A2,Price_A2,Room_pred,Price_pred",
            *[["Price_A1", "Price_A2", "Room_A1", "Room_A2"]] * 2,
        ),
    ],
)
def test_predictions_are_no_rater(columns: str, with_codebook: list[str], without: list[str]) -> None:
    rows = [f"A text with the number {n}" + f",{n % 2},{n // 2 % 2}" * (columns.count(",") // 2 + 1) for n in range(8)]
    data = table("\n".join((f"text,{columns}", *rows)))
    assert sorted(source.column for source in suggest_mapping(data, ASPECTS).gold) == with_codebook
    gold = suggest_mapping(data).gold
    assert sorted(source.column for source in gold) == sorted(without)
    assert "pred" not in {source.rater for source in gold}


@each_row("columns", ["prediction,label", "pred_label,true_label", "gpt4_label,label"])
def test_labels_of_a_model_are_no_gold_beside_those_of_people(columns: str) -> None:
    data = f"text,{columns}\n" + "".join(
        f"a text of many words {n},{('good', 'bad')[n % 2]},{('bad', 'good')[n % 3 % 2]}\n" for n in range(9)
    )
    gold = (GoldSource(columns.split(",")[1], "choice"),)
    assert suggest_mapping(table(data), SENTIMENT).gold == gold
    assert suggest_mapping(table(data)).gold == gold


def test_more_columns_of_0_and_1_than_a_codebook_has_labels_are_no_gold() -> None:
    def gold(count: int) -> tuple[GoldSource, ...]:
        header = ",".join(["text", "label", *(f"w{n}" for n in range(count))])
        rows = [",".join([f"Cold soup {row}", "ab"[row % 2], *("01"[row % 2],) * count]) for row in range(4)]
        return suggest_mapping(table("\n".join([header, *rows]))).gold

    assert len(gold(1000)) == 1000
    assert gold(1001) == (GoldSource("label", "choice"),)
