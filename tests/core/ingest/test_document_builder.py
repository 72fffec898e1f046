"""Tests of documents from a table and a column mapping."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.codebook import Codebook, Label
from core.documents import GOLD_RATER
from core.errors import UsageError
from core.ingest.codebook_from_gold import codebook_from_gold
from core.ingest.document_builder import HERE
from core.ingest.gold import GoldSource
from core.ingest.mapping import ColumnMapping
from core.ingest.mapping_suggestions import suggest_mapping
from core.ingest.table import Table, join_tables, rejected_csv
from tests.core.ingest.helpers import (
    ASPECTS,
    BAD,
    FACETS,
    GOOD,
    PRICE,
    ROOM,
    SENTIMENT,
    STAFF,
    build,
    build_documents,
    table,
)
from tests.each_row import each_row
from tests.linear_time import check_linear_time


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


def test_note_tells_row_numbers_in_messages_from_those_of_ids() -> None:
    note = (
        "Messages give the number of a row's first line in the file, or of its row in the sheet. "
        "Ids count only the rows with data."
    )
    built = build("id,text\na,x\nb,\nc,y\n")
    assert ([document.id for document in built.documents], [row.line for row in built.rejected]) == (["1", "3"], [3])
    assert built.notes == (note,)
    assert build("id,text\na,x\nb,\n", id="id").notes == ()
    assert build("id,text\na,x\n").notes == ()


def test_note_says_that_messages_number_rows_by_lines_if_there_are_messages_and_rows_of_several_lines() -> None:
    built = build('id,text\n1,"Nice\nroom"\n2,Bad\n3,\n', id="id")
    assert [str(row) for row in built.rejected] == ["row 5: no text in column 'text'"]
    assert built.notes == ("Messages give the number of a row's first line in the file, or of its row in the sheet.",)
    assert build('id,text\n1,"Nice\nroom"\n2,Bad\n', id="id").notes == ()


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


def test_texts_that_differ_in_a_file_of_another_rater_are_rejected() -> None:
    data = files(
        ann="id,text,Food|1,good soup,1|2,tea,0|3,it's milk,1|4,jam,0",
        bo="id,text,Food|1,good  soup ,0|2,tea,0|3,it’s milk,0|4,jam,1",
    )
    result = build_documents(data, ColumnMapping(text="text", id="id", gold=(GoldSource("Food"),)))
    assert [document.id for document in result.documents] == ["1", "2", "3", "4"]
    assert result.documents[0].gold == {"ann": {"Food": True}, "bo": {"Food": False}}
    assert [str(row) for row in result.rejected] == [
        "row 4: bo.csv: the id '3' is already used by row 4 of ann.csv, with another text"
    ]


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


def test_files_of_the_same_texts_without_ids_are_raters() -> None:
    data = files(ann="text,Food|soup,1|ok,0|ok,1", bo="text,Food|ok,0|soup ,0|ok,0")
    result = build_documents(data, ColumnMapping("text", gold=(GoldSource("Food"),)))
    assert [(document.id, document.text, document.gold) for document in result.documents] == [
        ("1", "soup", {"ann": {"Food": True}, "bo": {"Food": False}}),
        ("2", "ok", {"ann": {"Food": False}, "bo": {"Food": False}}),
        ("3", "ok", {"ann": {"Food": True}, "bo": {"Food": False}}),
    ]
    assert (result.read, result.kept, result.merged) == (6, 3, 3)
    waves = files(first="text,Food|soup,1|ok,0", second="text,Food|ok,1|tea,0")
    result = build_documents(waves, ColumnMapping("text", gold=(GoldSource("Food"),)))
    assert (result.kept, result.merged) == (4, 0)


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


def test_rows_of_many_raters_of_one_text_are_merged_in_linear_time() -> None:
    def merge(size: int) -> None:
        rows = "".join(f"Cold soup,w{number},{number % 2}\n" for number in range(size))
        mapping = ColumnMapping("text", rater="annotator", gold=(GoldSource("Food"),))
        assert len(build_documents(table(f"text,annotator,Food\n{rows}"), mapping).documents[0].gold) == size

    check_linear_time(merge, 8_000)


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


def test_repeated_texts_add_their_labels_to_the_first() -> None:
    data = "text,labels\na,Price\nb,Room\na,Room\n"
    gold = (GoldSource("labels", "list"),)
    assert build(data, ASPECTS, gold=gold).kept == 3
    first = build(data, ASPECTS, gold=gold, duplicates="first")
    assert first.documents[0].gold[GOLD_RATER] == {PRICE: True, STAFF: False, ROOM: True}
    assert (first.kept, first.merged, first.duplicate_texts, first.rejected) == (2, 1, 1, ())


def test_unknown_name_in_a_united_row_leaves_no_label_absent() -> None:
    data = "id,text,labels\n1,a,Price\n1,a,Other\n2,b,Other\n2,b,Price\n3,c,none\n3,c,Other\n4,d,Price\n4,d,Room\n"
    built = build(data, ASPECTS, id="id", gold=(GoldSource("labels", "list"),))
    known = {PRICE: True, STAFF: False, ROOM: True}
    assert [dict(document.gold) for document in built.documents] == [
        {GOLD_RATER: {PRICE: True}},
        {GOLD_RATER: {PRICE: True}},
        {},
        {GOLD_RATER: known},
    ]
    assert (built.with_gold, built.merged) == (3, 4)


def test_united_labels_with_a_comma_stay_whole_in_the_source() -> None:
    codebook = Codebook(kind="multilabel", labels=(Label(name="Food, drink"), Label(name="Price")))
    gold = (GoldSource("labels", "list"),)
    built = build('id,text,labels\n1,a,"Food, drink"\n1,a,Price\n', codebook, id="id", gold=gold)
    assert [document.source["labels"] for document in built.documents] == ["Food, drink|Price"]


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


def test_first_value_of_a_named_rater_counts_in_rows_of_several_raters() -> None:
    data = "id,text,who,Price,Final\n1,a,ann,1,0\n1,a,ben,0,1\n2,b,ann,1,1\n2,b,ben,1,1\n"
    built = build(
        data, ASPECTS, id="id", rater="who", gold=(GoldSource("Price"), GoldSource("Final", "label", "Price", "eve"))
    )
    assert [document.gold for document in built.documents] == [
        {"ann": {PRICE: True}, "ben": {PRICE: False}, "eve": {PRICE: False}},
        {"ann": {PRICE: True}, "ben": {PRICE: True}, "eve": {PRICE: True}},
    ]
    (note,) = built.notes
    assert note.startswith("1 gold value of a column with a rater differs")


def test_rows_without_text_give_neither_labels_nor_doubt_about_ids() -> None:
    data = table("id,text,topic\n1,abc,x\n2,def,y\n3,ghi,x\n,,\n,,4\n")
    mapping = suggest_mapping(data)
    assert (mapping.id, mapping.gold) == ("id", (GoldSource("topic", "choice"),))
    assert codebook_from_gold(data, mapping).names == ("x", "y")


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


@each_row(
    ("first", "second", "groups"),
    [
        (
            "chat,turn,text|1,1,a|1,2,b",
            "chat,turn,text|1,2,d|1,1,c|,1,e",
            ["x.csv:1", "x.csv:1", "y.csv:1", "y.csv:1", ""],
        ),
        ("chat,text|1,a|1,b", "chat,text|1,c|1,d|,e", ["x.csv:1", "x.csv:1", "y.csv:1", "y.csv:1", ""]),
        ("chat,turn,text|1,1,a|1,2,b", "chat,turn,text|1,3,c|1,4,d|,1,e", ["1", "1", "1", "1", ""]),
        ("id,chat,turn,text|7,1,1,a|8,1,2,b", "id,chat,turn,text|7,1,1,a|8,1,2,b|9,1,3,c", ["1", "1", "1"]),
    ],
)
def test_groups_of_different_files_are_apart_if_they_share_places(first: str, second: str, groups: list[str]) -> None:
    data = files(x=first, y=second)
    id, order = (name if name in data.columns else None for name in ("id", "turn"))
    built = build_documents(data, ColumnMapping("text", id=id, group="chat", order=order, neighbours=1))
    assert [document.group for document in built.documents] == groups
    assert [document.fields["text"] for document in built.documents] == list("abcde")[: len(groups)]
    assert (built.documents[1].fields["neighbours"] == f"a\n{HERE}") is groups[0].startswith("x")


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


def test_text_in_parts_is_joined() -> None:
    parts = [{"text": ["See ", {"type": "link", "text": "https://x.y"}, ", late"]}, {"text": "plain"}]
    assert [document.text for document in build(json.dumps(parts), name="chat.json").documents] == [
        "See https://x.y, late",
        "plain",
    ]
