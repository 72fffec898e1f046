"""Tests of the column mapping, gold values and documents."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.codebook import Codebook, Label, Scale, load_yaml, parse_codebook
from core.documents import GOLD_RATER
from core.errors import UsageError
from core.ingest import document_builder
from core.ingest.document_builder import BuiltDocuments, codebook_from_gold
from core.ingest.gold import GoldSource, LabelIndex, cell_reader, parse_rating
from core.ingest.gold_options import parse_gold_option, parse_value_option, same_name_gold
from core.ingest.mapping import ColumnMapping
from core.ingest.mapping_suggestions import suggest_mapping
from core.ingest.read import read_table
from core.ingest.table import REVIEW_DETAILS, Table, join_tables, rejected_csv
from tests.each_row import each_row

ASPECTS = parse_codebook({"labels": [{"name": "Price"}, {"name": "Staff, service"}, {"name": "Room"}]})
PRICE, STAFF, ROOM = (label.id for label in ASPECTS.labels)
SENTIMENT = parse_codebook(
    {"kind": "choice", "labels": [{"name": "good", "code": 1}, {"name": "bad", "code": 0}, {"name": "mixed"}]}
)
GOOD, BAD, MIXED = (label.id for label in SENTIMENT.labels)
FACETS = parse_codebook({"kind": "rating", "labels": [{"name": "fluency"}], "scale": {"min": 1, "max": 5}})
FLUENCY = FACETS.labels[0].id


def table(text: str, name: str = "data.csv") -> Table:
    return read_table(text.encode(), name=name)


def build_documents(
    table: Table, mapping: ColumnMapping, codebook: Codebook | None = None, **options: Any
) -> BuiltDocuments:
    """Build documents; without a codebook, with the one of the gold columns, and gold by the names of its labels."""
    if codebook is not None or not mapping.gold:
        return document_builder.build_documents(table, mapping, codebook, **options)
    made = codebook_from_gold(table, mapping)
    built = document_builder.build_documents(table, mapping, made, **options)
    named = [
        {
            rater: {
                made.label_names.get(item, item): made.label_names.get(value, value) for item, value in gold.items()
            }
            for rater, gold in document.gold.items()
        }
        for document in built.documents
    ]
    documents = (replace(document, gold=gold) for document, gold in zip(built.documents, named, strict=True))
    return replace(built, documents=tuple(documents))


def build(text: str, codebook: Codebook | None = None, name: str = "data.csv", **mapping: Any) -> BuiltDocuments:
    options = {key: mapping.pop(key) for key in ("duplicates", "empties") if key in mapping}
    return build_documents(table(text, name), ColumnMapping(text="text", **mapping), codebook, **options)


@each_row(
    ("cell", "values", "unknown"),
    [
        ("[[0, 4, 'Food'], [6, 9, 'Price']]", ("Food", "Price"), False),
        ('[{"start": 0, "end": 4, "label": "Food"}, {"start": 9, "end": 12, "label": "Food"}]', ("Food",), False),
        ("[{'category': 'Food', 'polarity': 'negative'}]", ("Food",), False),
        ('[{"text": "soup", "labels": ["Food"]}]', ("Food",), False),
        ('[{"label": "Food", "present": false}]', ('{"label":"Food","present":false}',), True),
        ('[{"label": "Food", "score": 0.02}, {"label": "Price", "score": 0.97}]', ("Price",), False),
        ('[{"label": "Food", "confidence": 0.4}, {"label": "Price", "score": 0}]', (), False),
        ('[{"label": "Food", "score": 4}, {"label": "Price"}]', ("Food", "Price"), False),
        ('[{"term": "Food"}]', ('{"term":"Food"}',), True),
        ('[{"label": "Food", "annotator": 1}]', ('{"label":"Food","annotator":1}',), True),
        ('{"Food": 0.9, "Price": 0.1}', ("Food",), False),
        ('{"Food": false, "Price": true}', ("Price",), False),
        ('{"choices": ["Food", "Price"]}', ("Food", "Price"), False),
        ("{}", (), False),
        ('{"Food": 4, "Price": 2}', ('{"Food":4,"Price":2}',), True),
    ],
)
def test_gold_lists_can_contain_spans_and_objects(cell: str, values: tuple[str, ...], unknown: bool) -> None:
    # Annotation tools write such cells; values that could mean absence are reported and not guessed.
    codebook = Codebook(labels=(Label(name="Food"), Label(name="Price")))
    result, unknown_names = cell_reader(GoldSource("t", "list"), codebook, {})(cell)
    assert unknown_names == (values if unknown else ())
    present = tuple(codebook.label_names[item] for item, present in result.items() if present)
    assert present == (() if unknown else values)


@each_row(
    ("cell", "label"),
    [("waiting_time", "Waiting time"), ("Waiting-Time", "Waiting time"), ("-1", None), ("follow up", None)],
)
def test_hyphens_and_underscores_count_as_spaces(cell: str, label: str | None) -> None:
    names = ("Waiting time", "1", "follow-up", "follow_up")
    result = LabelIndex(Codebook(labels=tuple(Label(name=name, id=name) for name in names))).find(cell)
    assert (result and result.name) == label


def test_documents_have_text_context_source_and_position() -> None:
    data = "id,title,text,stars\n a1 ,Nice,  Good room ,5\na2,Bad,Awful,\n"
    result = build(data, id="id", context=("title",))
    first, second = result.documents
    assert first.id == "a1"
    assert list(first.fields.items()) == [("text", "  Good room "), ("title", "Nice")]
    assert first.text == "  Good room "
    assert dict(first.source) == {"id": " a1 ", "title": "Nice", "text": "  Good room ", "stars": "5"}
    assert (first.position, second.position) == (0, 1)
    assert (result.read, result.kept, result.rejected, result.with_gold) == (2, 2, (), 0)


def test_row_numbers_count_rejected_rows() -> None:
    result = build("text,x\na,1\nb\nc,1\n")
    assert [document.id for document in result.documents] == ["1", "3"]


def test_later_row_with_a_repeated_or_empty_id_is_rejected() -> None:
    result = build("id,text\n7,a\n 7,b\n,c\n8,d\n", id="id")
    assert [document.text for document in result.documents] == ["a", "d"]
    assert [str(row) for row in result.rejected] == [
        "row 3: the id '7' is already used by row 2, with another text",
        "row 4: no id in column 'id'",
    ]
    assert result.rejected[0].raw == " 7,b"
    assert result.read == result.kept + len(result.rejected) == 4


def files(**content: str) -> Table:
    return join_tables([table(text.replace("|", "\n"), name=f"{name}.csv") for name, text in content.items()])


def test_files_become_one_table_with_a_column_of_file_names() -> None:
    joined = files(a="text,x|one,1|two", b="text,file|three,f|four,g")
    assert (joined.name, joined.columns, joined.file_column) == (
        "a.csv and b.csv",
        ("text", "x", "file", "file_2"),
        "file_2",
    )
    assert joined.column("file_2") == ("a.csv", "b.csv", "b.csv")
    assert (joined.column("x"), joined.column("file")) == (("1", None, None), (None, "f", "g"))
    assert (joined.read, joined.row_numbers, joined.line_numbers) == (4, (1, 3, 4), (2, 2, 3))
    assert [str(row) for row in joined.rejected] == ["row 3: a.csv: 1 field, expected 2"]
    assert joined.notes == ("a.csv has no column file.", "b.csv has no column x.")
    assert len({*files(a="text|one", b="text|two").column("file")}) == 2
    same = join_tables([table("text\none\n", name="a.csv")] * 2)
    assert same.column("file") == ("a.csv", "a.csv_2")


def test_file_name_is_added_to_ids_that_differ_in_text_between_files() -> None:
    data = files(a="id,text|1,one|2,two", b="id,text|1,three|2,two|1,four")
    mapping = suggest_mapping(data)
    assert mapping.id is None  # b.csv repeats the id 1
    result = build_documents(data, replace(mapping, id="id"))
    assert [document.id for document in result.documents] == ["a.csv:1", "a.csv:2", "b.csv:1", "b.csv:2"]
    assert [str(row) for row in result.rejected] == [
        "row 4: b.csv: the id 'b.csv:1' is already used by row 2 of b.csv, with another text"
    ]
    assert suggest_mapping(files(a="id,text|1,one", b="id,text|1,three")).id == "id"
    by_number = build_documents(data, mapping)
    assert [document.id for document in by_number.documents] == ["1", "2", "3", "4", "5"]


def test_files_with_the_same_documents_are_merged_as_raters() -> None:
    data = files(ann="id,text,Food|1,soup,1|2,tea,0", bo="id,text,Food|2,tea,1|1,soup,1|3,milk,0|3,milk,1")
    mapping = ColumnMapping(text="text", id="id", gold=(GoldSource("Food"),))
    result = build_documents(data, mapping)
    gold = {document.id: document.gold for document in result.documents}
    assert gold["1"] == {"ann": {"Food": True}, "bo": {"Food": True}}
    assert gold["2"] == {"ann": {"Food": False}, "bo": {"Food": True}}
    assert gold["3"] == {"bo": {"Food": False}}
    assert (result.read, result.kept, result.merged, len(result.rejected), result.with_gold) == (6, 3, 2, 1, 3)


@each_row("order", [("labels", "texts"), ("texts", "labels")])
def test_file_of_labels_belongs_to_the_texts_of_another_file(order: tuple[str, str]) -> None:
    contents = {"texts": "id,text|1,soup|2,tea|4,milk", "labels": "id,label|2,x|1,y|3,z"}
    data = files(**{name: contents[name] for name in order})
    mapping = suggest_mapping(data)
    codebook = codebook_from_gold(data, mapping)
    result = build_documents(data, mapping, codebook)
    gold = {document.id: document.gold.get(GOLD_RATER, {}).get("label") for document in result.documents}
    assert gold == {"1": codebook.find("y").id, "2": codebook.find("x").id, "4": None}  # type: ignore[union-attr]
    assert (result.read, result.kept, result.merged) == (6, 3, 2)
    assert [str(row) for row in result.rejected] == ["row 4: labels.csv: no text in column 'text'"]


def test_several_files_of_labels_are_raters() -> None:
    data = files(texts="id,text|1,soup|2,tea", ann="id,Food|1,1|2,0", bo="id,Food|1,0|1,1")
    result = build_documents(data, ColumnMapping("text", id="id", gold=(GoldSource("Food"),)))
    assert [document.gold for document in result.documents] == [
        {"ann": {"Food": True}, "bo": {"Food": False}},
        {"ann": {"Food": False}},
    ]
    assert [str(row) for row in result.rejected] == ["row 3: bo.csv: the id '1' is repeated in bo.csv"]
    own = files(a="id,text,Food|1,soup,1|2,tea,0", b="id,Food|1,0")
    result = build_documents(own, ColumnMapping("text", id="id", gold=(GoldSource("Food"),)))
    assert result.documents[0].gold == {"a": {"Food": True}, "b": {"Food": False}}
    blank = files(a="id,text,Food|1,soup,1", b="id,text,Food|2,tea,1|1,,0")
    result = build_documents(blank, ColumnMapping("text", id="id", gold=(GoldSource("Food"),)))
    assert [document.gold for document in result.documents] == [{GOLD_RATER: {"Food": True}}] * 2


def test_users_who_labelled_rows_with_ids_are_raters() -> None:
    mapping = suggest_mapping(table("id,user,text,Food\n1,3,Cold soup,1\n1,4,Cold soup,0\n2,3,Tea,0\n2,4,Tea,0\n"))
    assert (mapping.id, mapping.rater) == ("id", "user")


RATED = """doc_id,annotator,text,Food,Price
1,ann,Cold soup,1,1
1,bo,Cold soup,1,0
2,ann,Kind waiter,0,0
2,bo,Kind waiter,1,0
3,bo,Twelve euros,0,1
3,ann,Twelve euros,0,1
"""


@each_row("id", ["doc_id", None])
def test_rows_of_one_document_are_the_gold_of_several_raters(id: str | None) -> None:
    data = table(RATED if id else RATED.replace("doc_id", "weight"))
    mapping = suggest_mapping(data)
    assert (mapping.id, mapping.rater) == (id, "annotator")
    assert "annotator" in mapping.reasons[1]
    assert [source.column for source in mapping.gold] == ["Food", "Price"]
    result = build_documents(data, mapping)
    assert [document.text for document in result.documents] == ["Cold soup", "Kind waiter", "Twelve euros"]
    food = [{rater: values["Food"] for rater, values in document.gold.items()} for document in result.documents]
    assert food == [{"ann": True, "bo": True}, {"ann": False, "bo": True}, {"bo": False, "ann": False}]
    assert (result.read, result.kept, result.merged, result.rejected) == (6, 3, 3, ())


def test_rejected_assignment_of_mechanical_turk_gives_no_gold() -> None:
    data = "HITId,WorkerId,AssignmentStatus,Input.text,Answer.label\n"
    data += "h1,w1,Approved,Cold soup,good\nh1,w2,Rejected,Cold soup,bad\n"
    data += "h2,w1,Rejected,Warm,good\nh2,w2,Submitted,Warm,bad\n"
    mapping = suggest_mapping(table(data), SENTIMENT)
    assert (mapping.id, mapping.rater) == ("HITId", "WorkerId")
    result = build_documents(table(data), mapping, SENTIMENT)
    assert [document.gold for document in result.documents] == [{"w1": {"label": GOOD}}, {"w2": {"label": BAD}}]
    assert "No gold was read from 2 rejected assignments (Mechanical Turk)." in result.notes


def test_row_with_another_text_or_the_same_rater_is_rejected() -> None:
    data = table(RATED + "3,ann,Twelve euros,1,1\n1,cy,Hot soup,1,1\n2,,Kind waiter,0,1\n")
    mapping = ColumnMapping("text", id="doc_id", rater="annotator", gold=(GoldSource("Food"), GoldSource("Price")))
    result = build_documents(data, mapping)
    assert [str(row) for row in result.rejected] == [
        "row 8: the id '3' is already used by row 6, also by rater 'ann'",
        "row 9: the id '1' is already used by row 2, with another text",
    ]
    assert result.documents[1].gold.keys() == {"ann", "bo", GOLD_RATER}
    without_rater = build_documents(data, replace(mapping, rater=None))
    assert "choose a rater column" in str(without_rater.rejected[0])


LONG = "id,text,category,polarity\n" + "".join(
    f"{n},Text {n},{category},good\n" for n in range(6) for category in ["Food", "Room#Size"][: 1 + n % 2]
)


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


def test_repeated_texts_add_their_labels_to_the_first() -> None:
    data = "text,labels\na,Price\nb,Room\na,Room\n"
    gold = (GoldSource("labels", "list"),)
    assert build(data, ASPECTS, gold=gold).kept == 3
    first = build(data, ASPECTS, gold=gold, duplicates="first")
    assert first.documents[0].gold[GOLD_RATER] == {PRICE: True, STAFF: False, ROOM: True}
    assert (first.kept, first.merged, first.duplicate_texts, first.rejected) == (2, 1, 1, ())


def test_rows_with_gold_for_other_labels_are_united_unless_they_contradict() -> None:
    data = "id,text,Price,Room\n1,a,1,\n1,a,,0\n2,b,1,\n2,b,0,1\n3,c,1,\n3,c,1,\n"
    gold = (GoldSource("Price"), GoldSource("Room"))
    by_id = build(data, ASPECTS, id="id", gold=gold)
    assert [document.gold[GOLD_RATER] for document in by_id.documents] == [
        {PRICE: True, ROOM: False},
        {PRICE: True},
        {PRICE: True},
    ]
    assert (by_id.merged, [row.line for row in by_id.rejected]) == (1, [5, 7])
    by_text = build(data, ASPECTS, gold=gold, duplicates="first")
    assert (by_text.kept, by_text.merged, [row.line for row in by_text.rejected]) == (3, 1, [5, 7])


def test_rows_without_text_give_neither_labels_nor_doubt_about_ids() -> None:
    data = table("id,text,topic\n1,abc,x\n2,def,y\n3,ghi,x\n,,\n,,4\n")
    mapping = suggest_mapping(data)
    assert (mapping.id, mapping.gold) == ("id", (GoldSource("topic", "choice"),))
    assert codebook_from_gold(data, mapping).names == ("x", "y")


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


@each_row("text", ["NA", " NaN ", "NULL", "#N/A", "[deleted]", "[removed]"])
def test_text_that_stands_for_a_missing_one_is_no_text(text: str) -> None:
    result = build(f"text\nSoup\n{text}\nna\n")
    assert [document.text for document in result.documents] == ["Soup", "na"]
    assert [str(row) for row in result.rejected] == [f"row 3: no text in column 'text', only {text.strip()}"]
    assert result.empty_texts == 1


@each_row("names", [("labels.csv", "labels.csv_2"), ("a.csv", "a.tsv")])
def test_files_whose_names_differ_only_in_the_suffix_are_different_raters(names: tuple[str, str]) -> None:
    contents = ("id,text,price\n1,abc,1\n", "id,text,price\n1,abc,0\n")
    joined = join_tables([table(text, name) for text, name in zip(contents, names, strict=True)])
    built = build_documents(joined, ColumnMapping("text", id="id", gold=(GoldSource("price"),)))
    (price,) = built.documents[0].gold[names[0]]
    assert built.documents[0].gold == {names[0]: {price: True}, names[1]: {price: False}}


def test_ids_of_other_types_become_text() -> None:
    result = build(
        '{"id": 1.0, "text": "a"}\n{"id": 2, "text": "b"}\n{"id": true, "text": "c"}', name="d.jsonl", id="id"
    )
    assert [document.id for document in result.documents] == ["1", "2", "true"]


def test_empty_texts_are_dropped_or_kept() -> None:
    data = 'text,x\na,1\n,2\n" \t",3\n'
    dropped = build(data)
    assert [str(row) for row in dropped.rejected] == [
        "row 3: no text in column 'text'",
        "row 4: no text in column 'text'",
    ]
    built = build(data, empties="keep")
    assert (dropped.kept, built.kept, dropped.empty_texts, built.empty_texts) == (1, 3, 2, 2)
    assert (built.duplicate_texts, built.rejected) == (0, ())


def test_repeated_texts_are_kept_by_default() -> None:
    data = "text,title\na,x\nb,x\na,x\na,y\n"
    assert (build(data).kept, build(data).duplicate_texts) == (4, 2)
    first = build(data, duplicates="first")
    assert (first.kept, first.duplicate_texts) == (2, 2)
    assert str(first.rejected[0]) == "row 4: the same text as row 2"
    assert build(data, duplicates="first", context=("title",)).kept == 3


def test_rejected_rows_of_the_file_and_of_the_mapping_are_listed_by_line() -> None:
    result = build("id,text\n1,a\n1,b\nragged\n2,\n3,c\n", id="id")
    assert [row.line for row in result.rejected] == [3, 4, 5]
    assert result.read == 5


@each_row("cell", ["1", "true", "YES", " y ", "Present", "1.0", "True", "Checked", "t", "price"])
def test_gold_values_for_presence(cell: str) -> None:
    gold = (GoldSource("Price"),)
    assert build(f"text,Price\na,{cell}\n", ASPECTS, gold=gold).documents[0].gold == {GOLD_RATER: {PRICE: True}}


@each_row("cell", ["0", "false", "No", "n", "ABSENT", "0.0", "Unchecked", "f", "FALSO"])
def test_gold_values_for_absence(cell: str) -> None:
    gold = (GoldSource("Price"),)
    assert build(f"text,Price\na,{cell}\n", ASPECTS, gold=gold).documents[0].gold == {GOLD_RATER: {PRICE: False}}


def test_booleans_and_numbers_are_gold_values() -> None:
    data = '[{"text":"a","Price":true},{"text":"b","Price":0},{"text":"c","Price":1.0},{"text":"d","Price":null}]'
    result = build(data, ASPECTS, name="d.json", gold=(GoldSource("Price"),))
    assert [document.gold for document in result.documents] == [
        {GOLD_RATER: {PRICE: True}},
        {GOLD_RATER: {PRICE: False}},
        {GOLD_RATER: {PRICE: True}},
        {},
    ]
    assert result.with_gold == 3


def test_unknown_gold_values_are_reported_and_can_be_mapped() -> None:
    data = "text,Price,Room\na,1,0\nb,maybe,1\nc,,\nd,maybe,?\n"
    gold = (GoldSource("Price"), GoldSource("Room"))
    result = build(data, ASPECTS, gold=gold)
    assert [dict(document.gold.get(GOLD_RATER, {})) for document in result.documents] == [
        {PRICE: True, ROOM: False},
        {ROOM: True},
        {},
        {},
    ]
    assert result.rejected == ()
    assert list(map(str, result.unknown_gold)) == [
        "row 3: 'maybe' in Price is not a gold value (2 times)",
        "row 4: an empty cell in 2 columns may mean absent (2 times)",  # the answer holds for both
        "row 5: '?' in Room is not a gold value",
    ]
    assert result.notes == tuple(map(str, result.unknown_gold))
    mapped = build(data, ASPECTS, gold=gold, value_map={"Maybe": True, "?": None, "": None})
    assert mapped.unknown_gold == ()
    assert mapped.documents[3].gold == {GOLD_RATER: {PRICE: True}}


def test_crosses_and_empty_cells_are_reported_once_and_can_be_mapped() -> None:
    data = "text,Price,Room\na,x,\nb,,X\nc,,\n"
    gold = (GoldSource("Price"), GoldSource("Room"))
    assert list(map(str, build(data, ASPECTS, gold=gold).unknown_gold)) == [
        "row 2: an empty cell in 2 columns may mean absent (4 times)",
        "row 2: 'x' in 2 columns is not a gold value (2 times)",
    ]
    mapped = build(data, ASPECTS, gold=gold, value_map=parse_value_option(["x=present", "=absent"], ASPECTS))
    assert [document.gold[GOLD_RATER] for document in mapped.documents] == [
        {PRICE: True, ROOM: False},
        {PRICE: False, ROOM: True},
        {PRICE: False, ROOM: False},
    ]
    assert mapped.unknown_gold == ()


@each_row("others", ["0", "none", "[]"])
def test_empty_cells_are_not_asked_about_if_other_cells_say_absent(others: str) -> None:
    kind, present = ("label", "1") if others == "0" else ("list", "Price")
    data = f"text,gold\na,{present}\nb,\nc,{others}\n"
    result = build(data, ASPECTS, gold=(GoldSource("gold", kind, "Price" if kind == "label" else ""),))
    assert result.unknown_gold == ()
    assert result.documents[1].gold == {}


def test_empty_list_can_mean_that_every_label_is_absent() -> None:
    gold = (GoldSource("labels", "list"),)
    assert [unknown.value for unknown in build("text,labels\na,Price\nb,\n", ASPECTS, gold=gold).unknown_gold] == [""]
    mapped = build("text,labels\na,Price\nb,\n", ASPECTS, gold=gold, value_map={"": False})
    assert not any(mapped.documents[1].gold[GOLD_RATER].values())


def test_gold_of_several_raters() -> None:
    gold = (GoldSource("p1", label="Price", rater="ann"), GoldSource("p2", label="price", rater="bob"))
    result = build("text,p1,p2\na,1,0\nb,,1\n", ASPECTS, gold=gold)
    assert result.documents[0].gold == {"ann": {PRICE: True}, "bob": {PRICE: False}}
    assert result.documents[1].gold == {"bob": {PRICE: True}}


@each_row(
    ("cell", "present"),
    [
        ("Price|Room", {PRICE, ROOM}),
        ("price ; ROOM", {PRICE, ROOM}),
        ("Room, Staff, service", {ROOM, STAFF}),  # the longest name is matched first, with its comma
        ("Staff, service", {STAFF}),
        ('["Price", "Staff, service"]', {PRICE, STAFF}),
        ("['Price']", {PRICE}),
        ("#Price, #Room", {PRICE, ROOM}),
        ("Price\nRoom", {PRICE, ROOM}),
        ("Price#Room", {PRICE, ROOM}),
        ("['Price' 'Staff, service']", {PRICE, STAFF}),
        ("[]", set()),
        ("none", set()),
    ],
)
def test_gold_from_a_list_column(cell: str, present: set[str]) -> None:
    quoted = cell.replace('"', '""')
    result = build(f'text,labels\na,"{quoted}"\n', ASPECTS, gold=(GoldSource("labels", "list"),))
    assert result.documents[0].gold == {GOLD_RATER: {item: item in present for item in (PRICE, STAFF, ROOM)}}


@each_row("cell", ["NA", "n/a", "NaN", "<NA>", "NULL", "\\N", ".", ".a", "#N/A"])
def test_words_for_no_value_are_no_gold(cell: str) -> None:
    for codebook, gold in (
        (ASPECTS, GoldSource("gold", "label", "Price")),
        (ASPECTS, GoldSource("gold", "list")),
        (SENTIMENT, GoldSource("gold", "choice")),
        (FACETS, GoldSource("gold", "label", "fluency")),
    ):
        result = build(f"text,gold\na,{cell}\n", codebook, gold=(gold,), value_map={"": False})
        assert (result.documents[0].gold, result.unknown_gold) == ({}, ())
    named = parse_codebook({"kind": "choice", "labels": [{"name": "N/A"}, {"name": "good"}]})
    assert build("text,gold\na,n/a\n", named, gold=(GoldSource("gold", "choice"),)).with_gold == 1
    choices = table(f"text,label\na,good\nb,bad\nc,{cell}\n")
    outcome = codebook_from_gold(choices, ColumnMapping("text", gold=(GoldSource("label", "choice"),)))
    assert outcome.names == ("bad", "good")


def test_list_with_an_unknown_name_leaves_other_labels_undecided() -> None:
    data = "text,labels\na,Price|Prize\nb,\n"
    gold = (GoldSource("labels", "list"),)
    result = build(data, ASPECTS, gold=gold)
    assert [document.gold for document in result.documents] == [{GOLD_RATER: {PRICE: True}}, {}]
    assert str(result.unknown_gold[0]) == "row 2: 'Prize' in labels is not a gold value"
    ignored = build(data, ASPECTS, gold=gold, value_map={"prize": False})
    assert ignored.documents[0].gold == {GOLD_RATER: {PRICE: True, STAFF: False, ROOM: False}}


def test_gold_from_json_lists() -> None:
    result = build(
        '{"text":"a","labels":["Room"]}\n{"text":"b","labels":[]}\n{"text":"c"}',
        ASPECTS,
        "d.jsonl",
        gold=(GoldSource("labels", "list"),),
    )
    none = {PRICE: False, STAFF: False, ROOM: False}
    assert [document.gold for document in result.documents] == [
        {GOLD_RATER: none | {ROOM: True}},
        {GOLD_RATER: none},
        {},
    ]


def test_choice_by_name_or_code() -> None:
    result = build(
        "text,label\na,Good\nb,0\nc,1.0\nd,mixed\ne,bda\nf,\n", SENTIMENT, gold=(GoldSource("label", "choice"),)
    )
    values = [document.gold.get(GOLD_RATER, {}).get("label") for document in result.documents]
    assert values == [GOOD, BAD, GOOD, MIXED, None, None]
    assert str(result.unknown_gold[0]) == "row 6: 'bda' in label is not a gold value"


def test_dash_among_names_of_a_choice_is_no_label() -> None:
    text = "text,gold\na,good\nb,-\nc,bad\nd,good\n"
    gold = (GoldSource("gold", "choice"),)
    assert [label.name for label in codebook_from_gold(table(text), ColumnMapping("text", gold=gold)).labels] == [
        "good",
        "bad",
    ]
    result = build(text, SENTIMENT, gold=gold)
    assert ([len(document.gold) for document in result.documents], result.unknown_gold) == ([1, 0, 1, 1], ())
    signs = codebook_from_gold(table("text,gold\na,+\nb,-\n"), ColumnMapping("text", gold=gold))
    assert [label.name for label in signs.labels] == ["+", "-"]


def test_choice_as_a_list_of_one_label() -> None:
    data = 'text,label\na,"[""good""]"\nb,[\'Bad\']\nc,[]\nd,"[""good"", ""bad""]"\ne,mixed\n'
    result = build(data, SENTIMENT, gold=(GoldSource("label", "choice"),))
    values = [document.gold.get(GOLD_RATER, {}).get("label") for document in result.documents]
    assert values == [GOOD, BAD, None, None, MIXED]
    assert [unknown.value for unknown in result.unknown_gold] == ['["good", "bad"]']
    assert suggest_mapping(table(data[:40]), SENTIMENT).gold == (GoldSource("label", "choice"),)


def test_rejected_labels_of_prodigy_are_neither_present_nor_absent() -> None:
    tasks = [("Price", "accept"), ("Room", "reject"), ("Room", "ignore")]
    lines = "\n".join(
        json.dumps({"text": f"text {number}", "accept": [label], "answer": answer})
        for number, (label, answer) in enumerate(tasks)
    )
    data = table(lines, "tasks.jsonl")
    mapping = suggest_mapping(data, ASPECTS)
    assert mapping.gold == (GoldSource("accept", "list"),)
    built = build_documents(data, replace(mapping, value_map={"": False}), ASPECTS)
    assert [bool(document.gold) for document in built.documents] == [True, False, False]
    assert build_documents(data, mapping, ASPECTS).unknown_gold == ()


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


def test_long_cells_are_read_as_ratings_in_linear_time() -> None:
    start = time.process_time()
    assert parse_rating("4" + " " * 30_000 + "x") is None
    assert parse_rating("(4" + " " * 30_000 + "): good") == 4
    assert parse_rating("9" * 30_000) is None
    assert time.process_time() - start < 2  # a quadratic search takes 15 seconds


def test_gold_ratings() -> None:
    data = 'text,fluency\na,4\nb,4.5\nc,2: somewhat\nd,6\ne,good\nf,\ng,"4,5"\nh,3 - so so\ni,5 (very)\n'
    data += 'j,"1,234"\nk,1 - 5\n'
    result = build(data, FACETS, gold=(GoldSource("fluency"),))
    assert [document.gold.get(GOLD_RATER, {}).get(FLUENCY) for document in result.documents] == [
        4,
        4.5,
        2,
        None,
        None,
        None,
        4.5,
        3,
        5,
        None,
        None,
    ]
    assert [unknown.value for unknown in result.unknown_gold] == ["6", "good", "1,234", "1 - 5"]


def test_value_map_turns_words_into_ratings_and_names() -> None:
    data = "text,a,b\nt1,High,n/a\nt2,low,High\nt3,so-so,3\n"
    gold = (GoldSource("a", "label", "Clarity"), GoldSource("b", "label", "Clarity", "second"))
    codebook = Codebook(kind="rating", labels=(Label(name="Clarity", id="c"),))
    mapped = build(data, codebook, gold=gold, value_map={"high": 5, "low": 1, "n/a": None, "so-so": 9})
    values = [{rater: values["c"] for rater, values in document.gold.items()} for document in mapped.documents]
    assert values == [{"gold": 5}, {"gold": 1, "second": 5}, {"second": 3}]
    assert [(unknown.columns, unknown.value) for unknown in mapped.unknown_gold] == [(("a",), "so-so")], (
        "9 is outside the scale"
    )
    choice = Codebook(kind="choice", labels=(Label(name="Yes", id="y", code=1), Label(name="No", id="n", code=0)))
    mapped_choice = build(
        "text,g\nt1,aye\nt2,nay\nt3,1\nt4,?\n",
        choice,
        gold=(GoldSource("g", "choice"),),
        value_map={"aye": "Yes", "nay": 0, "?": None},
    )
    assert [document.gold.get("gold", {}).get("label") for document in mapped_choice.documents] == ["y", "n", "y", None]
    assert not mapped_choice.unknown_gold


def test_documents_of_a_group_are_kept_together_in_order() -> None:
    data = "id,text,chat,turn\n1,b,x,2\n2,alone,,7\n3,c,y,1\n4,a,x,1.5\n5,z,x,late\n"
    documents = build(data, None, id="id", group="chat", order="turn").documents
    assert [(document.id, document.group, document.order, document.position) for document in documents] == [
        ("4", "x", 1.5, 0),
        ("1", "x", 2.0, 1),
        ("5", "x", None, 2),
        ("2", "", None, 3),
        ("3", "y", 1.0, 4),
    ]
    with pytest.raises(UsageError, match="needs a group"):
        build(data, None, order="turn")
    turns = ("2024-05-01T10:00Z", "2024-05-01 09:30", "2024-04-30", "01/05/2024", "")
    dated = "id,text,chat,turn\n" + "".join(f"{n},some words,x,{turn}\n" for n, turn in enumerate(turns))
    built = build(dated, None, id="id", group="chat", order="turn")
    assert [document.id for document in built.documents] == ["2", "1", "0", "3", "4"]
    assert built.notes == (
        "1 cell of 'turn' is neither a number nor an ISO date, such as '01/05/2024': these rows come last in their "
        "group.",
    )


def test_documents_show_their_neighbours_in_the_group() -> None:
    data = "id,text,abstract,n\n1,aim,x,1\n2,method,x,2\n3,finding,x,3\n4,other,x,4\n5,alone,,\n6,aim too,y,1\n"
    documents = build(data, None, id="id", group="abstract", order="n", neighbours=1).documents
    assert [document.fields.get("neighbours") for document in documents] == [
        "[the text to label]\nmethod",
        "aim\n[the text to label]\nfinding",
        "method\n[the text to label]\nother",
        "finding\n[the text to label]",
        None,
        None,
    ]
    assert [document.text for document in documents] == ["aim", "method", "finding", "other", "alone", "aim too"]
    assert "neighbours" not in build(data, None, id="id", group="abstract", order="n").documents[1].fields
    renamed = data.replace("abstract", "neighbours")
    first, *_ = build(renamed, context=("neighbours",), group="neighbours", order="n", neighbours=1).documents
    assert first.fields == {"text": "aim", "neighbours": "x", "neighbours_2": "[the text to label]\nmethod"}
    with pytest.raises(UsageError, match="need a group"):
        build(data, None, neighbours=1)


@each_row(
    ("text", "kind", "expected"),
    [
        ("not so good=2", "rating", ("not so good", 2)),
        ("N/A: a=b=none", "rating", ("N/A: a=b", None)),
        ("aye=present", "multilabel", ("aye", True)),
        ("aye=clean", "multilabel", ("aye", "Clean")),
        ("up=7", "choice", ("up", "Clean")),
        ("=no", "multilabel", ("", False)),
        ("=none", "multilabel", ("", None)),
    ],
)
def test_gold_value_options_are_parsed(text: str, kind: Any, expected: Any) -> None:
    codebook = Codebook(kind=kind, labels=(Label(name="Clean", code=7),))
    assert parse_value_option([text], codebook) == dict([expected])


@each_row(
    ("text", "kind"),
    [("nothing", "rating"), ("a=9", "rating"), ("=1", "rating"), ("=1", "multilabel"), ("a=dirty", "choice")],
)
def test_invalid_gold_value_options_are_rejected(text: str, kind: Any) -> None:
    with pytest.raises(UsageError):
        parse_value_option([text], Codebook(kind=kind, labels=(Label(name="Clean", code=7),)))


@each_row(
    ("mapping", "codebook", "problem"),
    [
        (
            ColumnMapping(text="txt"),
            None,
            r"no column 'txt' for the text\. Did you mean 'text'\? It has: text, Price, label",
        ),
        (ColumnMapping(text=""), None, "No text column is chosen. Choose one of: text"),
        (ColumnMapping(text="text", id="key"), None, "no column 'key' for the id"),
        (ColumnMapping(text="text", context=("title",)), None, "no column 'title' for the context"),
        (ColumnMapping(text="text", context=("text",)), None, "given twice"),
        (ColumnMapping(text="text", gold=(GoldSource("Prize"),)), ASPECTS, "no column 'Prize' for the gold"),
        (
            ColumnMapping(text="text", gold=(GoldSource("Price", label="Rom"),)),
            ASPECTS,
            "no label 'Rom'. Did you mean 'Room'",
        ),
        (ColumnMapping(text="text", gold=(GoldSource("label", "choice"),)), ASPECTS, "cannot be gold of kind 'choice'"),
        (ColumnMapping(text="text", gold=(GoldSource("label", "list"),)), SENTIMENT, "cannot be gold of kind 'list'"),
        (ColumnMapping(text="text", gold=(GoldSource("label", "list"),)), FACETS, "cannot be gold of kind 'list'"),
        (ColumnMapping(text="text", gold=(GoldSource("Price"),)), SENTIMENT, "cannot be gold of kind 'label'"),
        (
            ColumnMapping(text="text", gold=(GoldSource("Price"), GoldSource("label", label="price"))),
            ASPECTS,
            "both hold the same gold",
        ),
        (ColumnMapping(text="text", gold=(GoldSource("Price"), GoldSource("label", "list"))), ASPECTS, "the same gold"),
    ],
)
def test_invalid_mappings_are_rejected(mapping: ColumnMapping, codebook: Codebook | None, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        build_documents(table("text,Price,label\na,1,x\n"), mapping, codebook)


def test_gold_columns_are_matched_by_label_name() -> None:
    data = table('text,ROOM,"staff,  service",Room,other\na,1,1,0,1\n')
    assert same_name_gold(data, ASPECTS) == (
        GoldSource("staff, service", "label", "Staff, service"),
        GoldSource("Room", "label", "Room"),
    )
    assert same_name_gold(table("text,Label\na,good\n"), SENTIMENT) == (GoldSource("Label", "choice"),)
    for codebook in (ASPECTS, SENTIMENT):
        with pytest.raises(UsageError, match=r"No column of data\.csv is named like a label"):
            same_name_gold(table("text,other\na,1\n"), codebook)
    with pytest.raises(UsageError) as refused:
        same_name_gold(table('text,cats\na,"{""Room"": 1, ""Staff, service"": 0}"\n'), ASPECTS)
    assert refused.value.remedy.startswith("'cats' holds labels: use --gold label=cats.")


def test_gold_option_of_a_label_that_begins_with_an_equals_sign() -> None:
    codebook = parse_codebook({"labels": [{"name": "=a"}]})
    result = parse_gold_option(["=a==a"], table("text,=a\nabc,1\n"), codebook)
    assert result == (GoldSource("=a", "label", "=a"),)


def test_gold_options_are_parsed() -> None:
    data = table("text,p,a@b,x=y\na,1,1,1\n")
    aspects = parse_codebook({"labels": [{"name": "Price"}, {"name": "a=b"}]})
    assert parse_gold_option(["price=p", "Price=p@ann", "Price=a@b", "a=b=p", "Price=x=y@bob"], data, aspects) == (
        GoldSource("p", "label", "Price"),
        GoldSource("p", "label", "Price", "ann"),
        GoldSource("a@b", "label", "Price"),
        GoldSource("p", "label", "a=b"),
        GoldSource("x=y", "label", "Price", "bob"),
    )
    assert parse_gold_option(["label=p"], data, aspects) == (GoldSource("p", "list"),)
    assert parse_gold_option(["label=p@ann"], data, SENTIMENT) == (GoldSource("p", "choice", rater="ann"),)


@each_row(
    ("option", "codebook", "problem"),
    [
        ("Price", ASPECTS, "is not a gold column. Write LABEL=COLUMN"),
        ("=p", ASPECTS, "is not a gold column"),
        ("Price=", ASPECTS, "is not a gold column"),
        ("Price=q", ASPECTS, r"no column 'q' for the gold of Price.*It has: text, p\..*--no-header"),
        ("Price=p@", ASPECTS, "names no rater"),
        ("Prize=p", ASPECTS, "no label 'Prize'. Did you mean 'Price'"),
        ("good=p", SENTIMENT, "A choice codebook takes one column"),
        ("label=p", FACETS, "A rating codebook takes a column of numbers"),
    ],
)
def test_invalid_gold_options_are_rejected(option: str, codebook: Codebook, problem: str) -> None:
    data = table("text,p\na,1\n")
    with pytest.raises(UsageError, match=problem):
        build_documents(data, ColumnMapping("text", gold=parse_gold_option([option], data, codebook)), codebook)


def test_codebook_from_label_columns() -> None:
    data = table("text,Price,Room\na,1,0\nb,,yes\n")
    codebook = codebook_from_gold(
        data, ColumnMapping(text="text", gold=(GoldSource("Price"), GoldSource("Room", label="Rooms")))
    )
    assert (codebook.kind, codebook.names) == ("multilabel", ("Price", "Rooms"))


def test_scale_of_a_codebook_from_ratings_covers_all_ratings() -> None:
    data = table("text,a,b\nx,1,2: yes\ny,(-1): no,4\n")
    codebook = codebook_from_gold(data, ColumnMapping(text="text", gold=(GoldSource("a"), GoldSource("b"))))
    assert (codebook.kind, codebook.scale and codebook.scale.model_dump()) == ("rating", {"min": -1, "max": 4})


def test_scales_of_dimensions_are_inferred_with_unused_ends() -> None:
    data = table("text,fluent,relevant,effect,overall,style,tone\n" + "x,1,0,-1,2,1,3\ny,2,2,1,5,4,2\n" * 10)
    columns = ("fluent", "relevant", "effect", "overall", "style", "tone")
    codebook = codebook_from_gold(data, ColumnMapping(text="text", gold=tuple(map(GoldSource, columns))))
    scales = [codebook.scale_of(label.id) for label in codebook.labels]
    # fluent has no 0, but relevant also ends at 2; style has no 5; no other dimension has the length of tone.
    assert [(scale.min, scale.max) for scale in scales] == [(0, 2), (0, 2), (-1, 1), (1, 5), (1, 5), (1, 3)]


def test_codebook_from_lists_and_choices() -> None:
    lists = codebook_from_gold(
        table("text,t\na,x|y\nb,Y|none\nc,y\n"), ColumnMapping("text", gold=(GoldSource("t", "list"),))
    )
    assert (lists.kind, lists.names) == ("multilabel", ("y", "x"))  # sorted by frequency
    choice = codebook_from_gold(
        table("text,t\na,10\nb,2\nc,2\n"), ColumnMapping("text", gold=(GoldSource("t", "choice"),))
    )
    assert [(label.name, label.code) for label in choice.labels] == [("2", 2), ("10", 10)]  # sorted by number


def test_signs_separate_listed_labels_if_a_part_is_a_label() -> None:
    def names(*cells: str) -> tuple[str, ...]:
        mapping = ColumnMapping("text", gold=(GoldSource("labels", "list"),))
        rows = "".join(f"text,{cell}\n" for cell in cells)
        return codebook_from_gold(table(f"text,labels\n{rows}"), mapping).names

    assert names("food", "food#staff", "staff#room") == ("food", "staff", "room")
    assert names("food#quality", "food#price") == ("food#price", "food#quality")
    assert names("R&D|a/b", "a") == ("a", "a/b", "R&D")  # the labels have a separator


def test_none_is_a_label_of_a_choice() -> None:
    data, gold = "text,stance\na,NONE\nb,FAVOR\nc,NONE\n", (GoldSource("stance", "choice"),)
    codebook = codebook_from_gold(table(data), ColumnMapping("text", gold=gold))
    assert codebook.names == ("NONE", "FAVOR")
    none, favor = (label.id for label in codebook.labels)
    labels = [document.gold[GOLD_RATER]["label"] for document in build(data, codebook, gold=gold).documents]
    assert labels == [none, favor, none]
    assert parse_value_option(["neither=none"], codebook) == {"neither": "NONE"}


def test_codebook_from_unsuitable_gold_is_refused() -> None:
    many = "text,t\n" + "".join(f"a{n},v{n}\n" for n in range(300))
    with pytest.raises(UsageError, match="more than 200 different values"):
        codebook_from_gold(table(many), ColumnMapping("text", gold=(GoldSource("t", "choice"),)))
    with pytest.raises(UsageError, match="No gold column"):
        codebook_from_gold(table(many), ColumnMapping("text"))
    mixed = ColumnMapping("text", gold=(GoldSource("t", "choice"), GoldSource("t", rater="ann")))
    with pytest.raises(UsageError, match="different kinds"):
        codebook_from_gold(table(many), mixed)


def test_rejected_rows_as_csv() -> None:
    result = build('id,text\n1,a\n=1+1\n"2,""x"', id="id")
    lines = rejected_csv(result.rejected).decode("utf-8-sig").splitlines()
    assert lines[0] == "line,reason,raw"
    assert lines[1] == '3,"1 field, expected 2",\'=1+1'
    assert rejected_csv(()) == b"\xef\xbb\xbfline,reason,raw\r\n"


rows = st.lists(st.tuples(st.sampled_from(["1", "2", "3", ""]), st.sampled_from(["a", "b", " ", ""])), min_size=1)


@given(rows, st.sampled_from(["keep", "first"]), st.sampled_from(["keep", "drop"]))
def test_every_row_is_a_document_or_rejected(rows: list[tuple[str, str]], duplicates: Any, empties: Any) -> None:
    data = "id,text\n" + "".join(f"{id},{text}\n" for id, text in rows)
    result = build(data, id="id", duplicates=duplicates, empties=empties)
    ids = [document.id for document in result.documents]
    assert len(set(ids)) == len(ids)
    assert result.read == len(rows) == result.kept + len(result.rejected)
    assert sorted({row.line for row in result.rejected}) == [row.line for row in result.rejected]


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


def test_text_in_parts_is_joined() -> None:
    parts = [{"text": ["See ", {"type": "link", "text": "https://x.y"}, ", late"]}, {"text": "plain"}]
    assert [document.text for document in build(json.dumps(parts), name="chat.json").documents] == [
        "See https://x.y, late",
        "plain",
    ]


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
    lines = [
        {
            "text": f"Some words {n}",
            "document_id": f"d{n}",
            "run_id": "r1",
            "review_status": "Submitted",
            "labels": {"Food": {"value": True, "source": ["verdict", "review"][n % 2], "evidence": []}},
        }
        for n in range(6)
    ]
    reviewed = GoldSource("reviewed_Food", "label", "Food", "reviewed")
    assert suggest_mapping(data := table(json.dumps(lines), "run.json")).gold == (reviewed,)
    assert data.column("reviewed_Food") == (None, True) * 3
    other = parse_codebook({"labels": [{"name": "Room"}]})
    assert suggest_mapping(data, parse_codebook({"labels": [{"name": "Food"}]})).gold == (reviewed,)
    assert suggest_mapping(data, other).gold == ()
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


def test_list_of_none_means_that_every_label_is_absent() -> None:
    result = build('[{"text": "a", "labels": ["none"]}]', ASPECTS, "a.json", gold=(GoldSource("labels", "list"),))
    assert (result.unknown_gold, set(result.documents[0].gold[GOLD_RATER].values())) == ((), {False})


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


@each_row("name", ["ResponseId", "ID", "#id", "meta.id", "Nr.", "N°", "编号"])
def test_names_of_ids(name: str) -> None:
    assert suggest_mapping(table(f"{name},text\na7,Great food\na8,Dirty\n")).id == name
    assert suggest_mapping(table("PAID,text\n1,Great food\n0,Dirty\n")).id is None


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


def test_dimension_gets_the_half_of_the_scale_that_it_uses() -> None:
    # The FED data have such scales: overall 0 to 4, interesting 0 to 2, understandable 0 or 1.
    rows = "".join(f"a long text {n},{n % 5},{n % 3},{n % 2}\n" for n in range(20))
    data = table(f"text,overall,interesting,understandable\n{rows}")
    gold = tuple(GoldSource(name) for name in ("overall", "interesting", "understandable"))
    codebook = codebook_from_gold(data, ColumnMapping(text="text", gold=gold))
    assert [str(scale) for scale in codebook.scales] == ["0 to 4", "0 to 2", "0 to 1"]


def test_dimension_without_negative_ratings_has_no_negative_points() -> None:
    # The MSLR data have such scales: the direction of an effect from -1 to 1, its strength from 0 to 3.
    cells = {"-1": "(-1): negative", "0": "0: none", "1": "(+1): positive"}
    rows = "".join(f"a long text {n},{cells[str(n % 3 - 1)]},{n % 4}\n" for n in range(24))
    data = table(f"text,effect,strength\n{rows}")
    mapping = ColumnMapping(text="text", gold=(GoldSource("effect"), GoldSource("strength")))
    codebook = codebook_from_gold(data, mapping)
    assert [str(scale) for scale in codebook.scales] == ["−1 to 1", "0 to 3"]
    assert build_documents(data, mapping, codebook).with_gold == 24
    few = table("text,effect,strength\n" + "".join(rows.splitlines(keepends=True)[:12]))
    assert not codebook_from_gold(few, mapping).mixes_scales, "12 ratings are too few to detect the scale"


def test_gold_outside_the_scale_of_its_dimension_is_ignored() -> None:
    codebook = {"kind": "rating", "labels": [{"name": "a", "scale": {"min": 0, "max": 2}}, {"name": "b"}]}
    data = table("text,a,b\nsome words,4,4\n")
    built = build_documents(
        data, ColumnMapping(text="text", gold=(GoldSource("a"), GoldSource("b"))), parse_codebook(codebook)
    )
    assert [(unknown.columns, unknown.value) for unknown in built.unknown_gold] == [(("a",), "4")]


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


@each_row(("second", "codes"), [("2", [1, 2]), ("1.0", [None, None])])
def test_numbers_as_labels_are_codes_unless_two_are_equal(second: str, codes: list[int | None]) -> None:
    mapping = ColumnMapping(text="text", gold=(GoldSource("gold", "choice"),))
    codebook = codebook_from_gold(table(f"text,gold\na,1\nb,{second}\n"), mapping)
    assert [label.code for label in codebook.labels] == codes


def test_columns_with_the_words_of_a_label_are_its_gold() -> None:
    book = load_yaml("labels: [{name: Waiting time}, {name: Value-for-money}, {name: a b}, {name: a-b}]")
    read = table("text,Waiting_time,value for money,a_b,a-b\nLate again,1,0,1,0\nCheap and quick,0,1,1,0\n")
    # "a_b" has the words of two labels.
    expected = [("Waiting_time", "Waiting time"), ("value for money", "Value-for-money"), ("a-b", "a-b")]
    assert [(source.column, source.label) for source in same_name_gold(read, book)] == expected
    assert [(source.column, source.label) for source in suggest_mapping(read, book).gold] == expected
    by_raters = table("text,Waiting_time_A1,Waiting_time_A2\nLate again,1,0\nCheap and quick,0,1\n")
    suggested = suggest_mapping(by_raters, book.only(book.labels[0].id)).gold
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
