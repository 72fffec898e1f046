"""Tests of gold values."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from core.codebook import Codebook, Label, normalise, parse_codebook
from core.documents import GOLD_RATER
from core.errors import UsageError
from core.ingest.codebook_from_gold import codebook_from_gold
from core.ingest.gold import MISSING, NO_ANSWER, GoldSource, LabelIndex, cell_reader, has_vectors, parse_rating
from core.ingest.gold_options import parse_value_option
from core.ingest.mapping import ColumnMapping
from core.ingest.mapping_suggestions import suggest_mapping
from tests.core.ingest.helpers import (
    ASPECTS,
    BAD,
    FACETS,
    FLUENCY,
    GOOD,
    MIXED,
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
    result, unknown_names = cell_reader(GoldSource("t", "list"), codebook, {}, [cell])(cell)
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


@each_row(
    ("cells", "present"),
    [
        (["1", "true", "YES", " y ", "Present", "1.0", "True", "Checked", "t", "price", True, 1.0], True),
        (["0", "false", "No", "n", "ABSENT", "0.0", "Unchecked", "f", "FALSO", False, 0], False),
        ([None, ""], None),
    ],
)
def test_gold_values_for_presence_and_absence(cells: list[Any], present: bool | None) -> None:
    rows = json.dumps([{"text": f"text {number}", "Price": cell} for number, cell in enumerate(cells)])
    result = build(rows, ASPECTS, name="d.json", gold=(GoldSource("Price"),))
    gold = {} if present is None else {GOLD_RATER: {PRICE: present}}
    assert [document.gold for document in result.documents] == [gold] * len(cells)
    assert result.with_gold == (len(cells) if gold else 0)


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


@each_row(
    ("cells", "values", "unknown"),
    [
        (("False", "True", "False"), (False, True, False), ()),
        (("False", "1", ""), (False, True, None), ()),
        (("False", "", "False"), (None, None, None), ("False",)),
    ],
)
def test_column_of_a_label_named_like_an_absence_is_read_or_reported(
    cells: tuple[str, ...], values: tuple[bool | None, ...], unknown: tuple[str, ...]
) -> None:
    # One-hot columns of fact-checked claims are named "True" and "False"; survey tools write the name of the option.
    codebook = Codebook(labels=(Label(name="False"),))
    rows = "".join(f"claim {number},{cell}\n" for number, cell in enumerate(cells))
    built = build(f"text,False\n{rows}", codebook, gold=(GoldSource("False"),))
    assert tuple(document.gold.get(GOLD_RATER, {}).get(codebook.items[0]) for document in built.documents) == values
    assert tuple(gold.value for gold in built.unknown_gold if gold.value) == unknown


def test_lists_of_0_and_1_name_no_labels() -> None:
    codes = parse_codebook({"labels": [{"name": "Food", "code": 0}, {"name": "Price", "code": 1}, {"name": "Staff"}]})
    for vector in ("[0, 1, 1]", "[false, true, true]", "['0', '1', '1']", "0,1,1", "0;1;1", "1,0"):
        for codebook in (codes, None):
            with pytest.raises(UsageError, match="is read as lists of 0 and 1, which do not name labels"):
                build(f'text,labels\nx,"{vector}"\ny,"{vector}"\nz,\n', codebook, gold=(GoldSource("labels", "list"),))
    assert has_vectors([[0, 1], [], [1, 0]]), "an empty list is a missing vector"
    assert not has_vectors([[0], [1], 1, 0, []])
    built = build('text,labels\nx,"[0, 1]"\ny,[1]\n', codes, gold=(GoldSource("labels", "list"),))
    assert [[*document.gold["gold"].values()] for document in built.documents] == [
        [True, True, False],
        [False, True, False],
    ]


def test_decimal_comma_is_present_or_absent() -> None:
    data = 'text,Food,Price\nsoup,"1,0","0,0"\ntea,"0,0","0,0"\n'
    built = build(data, parse_codebook({"labels": [{"name": "Food"}]}), gold=(GoldSource("Food"),))
    assert [[*document.gold["gold"].values()] for document in built.documents] == [[True], [False]]
    assert not built.unknown_gold


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


@each_row("name", sorted(MISSING - {NO_ANSWER}))
def test_rejected_labels_of_prodigy_are_not_a_label_of_any_name(name: str) -> None:
    labels = parse_codebook({"labels": [{"name": name}, {"name": "Food"}]})
    tasks = [{"text": "a", "accept": ["Food"], "answer": "accept"}, {"text": "b", "accept": [], "answer": "ignore"}]
    data = table("\n".join(map(json.dumps, tasks)), "tasks.jsonl")
    built = build_documents(data, ColumnMapping("text", gold=(GoldSource("accept", "list"),)), labels)
    assert [bool(document.gold) for document in built.documents] == [True, False]
    assert normalise(NO_ANSWER) == ""  # the name of a label must not be empty


def test_numbers_that_r_writes_with_an_exponent_are_ratings() -> None:
    """write.csv of R 4.2.2 writes 0.0001 as 1e-04, write_csv2 of readr 2.1.4 writes 1.5 as 1,500e+00."""
    assert [parse_rating(cell) for cell in ("1e-04", 5e-05, "1e+05", "1,500e+00")] == [0.0001, 0.00005, 100_000, 1.5]
    assert [parse_rating(cell) for cell in ("1,500", "4e", "4e5", "1e+400")] == [None] * 4


def test_long_cells_are_read_as_ratings_in_linear_time() -> None:
    def read_cells(size: int) -> None:
        assert parse_rating("4" + " " * size + "x") is None
        assert parse_rating("(4" + " " * size + "): good") == 4
        assert parse_rating("9" * size) is None

    check_linear_time(read_cells, 16_000)


def test_gold_ratings() -> None:
    data = 'text,fluency\na,4\nb,4.5\nc,2: somewhat\nd,6\ne,good\nf,\ng,"4,5"\nh,3 - so so\ni,5 (very)\n'
    data += 'j,"1,234"\nk,1 - 5\nl,3:15\nm,3:15:00\nn,1=18-24 years\n'
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
        None,
        None,
        1,
    ]
    unknown = ["6", "good", "1,234", "1 - 5", "3:15", "3:15:00"]
    assert [value.value for value in result.unknown_gold] == unknown


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


def test_list_of_none_means_that_every_label_is_absent() -> None:
    result = build('[{"text": "a", "labels": ["none"]}]', ASPECTS, "a.json", gold=(GoldSource("labels", "list"),))
    assert (result.unknown_gold, set(result.documents[0].gold[GOLD_RATER].values())) == ((), {False})


def test_gold_outside_the_scale_of_its_dimension_is_ignored() -> None:
    codebook = {"kind": "rating", "labels": [{"name": "a", "scale": {"min": 0, "max": 2}}, {"name": "b"}]}
    data = table("text,a,b\nsome words,4,4\n")
    built = build_documents(
        data, ColumnMapping(text="text", gold=(GoldSource("a"), GoldSource("b"))), parse_codebook(codebook)
    )
    assert [(unknown.columns, unknown.value) for unknown in built.unknown_gold] == [(("a",), "4")]
