"""Tests of the options of the command line for gold."""

from __future__ import annotations

from typing import Any

import pytest

from core.codebook import Codebook, Label, parse_codebook
from core.errors import UsageError
from core.ingest.gold import GoldSource
from core.ingest.gold_options import parse_gold_option, parse_value_option, same_name_gold
from core.ingest.mapping import ColumnMapping
from tests.core.ingest.helpers import ASPECTS, FACETS, SENTIMENT, build_documents, table
from tests.each_row import each_row


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
    assert refused.value.remedy.startswith("'cats' holds gold: use --gold label=cats.")
    with pytest.raises(UsageError) as refused:
        same_name_gold(table("text,Room_r1,Price_r1\na,1,0\nb,0,1\n"), ASPECTS)
    assert "'Room_r1' holds gold: use --gold Room=Room_r1@r1 --gold Price=Price_r1@r1." in refused.value.remedy
    raters = ",".join(f"Room_r{rater},Price_r{rater}" for rater in range(4))
    with pytest.raises(UsageError) as refused:
        same_name_gold(table(f"text,{raters}\na{',1,0' * 4}\nb{',0,1' * 4}\n"), ASPECTS)
    assert "--gold Price=Price_r2@r2 and so on." in refused.value.remedy, "there are more columns with gold"


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
