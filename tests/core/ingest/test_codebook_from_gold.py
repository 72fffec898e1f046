"""Tests of a codebook from gold columns."""

from __future__ import annotations

import pytest

from core.documents import GOLD_RATER
from core.errors import UsageError
from core.ingest.codebook_from_gold import codebook_from_gold
from core.ingest.gold import GoldSource
from core.ingest.gold_options import parse_value_option
from core.ingest.mapping import ColumnMapping
from tests.core.ingest.helpers import build, build_documents, table
from tests.each_row import each_row


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
    spelt = codebook_from_gold(
        table("text,t\na,wirtschaft \nb,Wirtschaft\nc,Wirtschaft\n"),
        ColumnMapping("text", gold=(GoldSource("t", "choice"),)),
    )
    assert spelt.names == ("Wirtschaft",)  # the most frequent spelling


def test_signs_separate_listed_labels_if_a_part_is_a_label() -> None:
    def names(*cells: str) -> tuple[str, ...]:
        mapping = ColumnMapping("text", gold=(GoldSource("labels", "list"),))
        rows = "".join(f"text,{cell}\n" for cell in cells)
        return codebook_from_gold(table(f"text,labels\n{rows}"), mapping).names

    assert names("food", "food#staff", "staff#room") == ("food", "staff", "room")
    assert names("bill", "login", "urgent#bill", "login#urgent") == ("bill", "login", "urgent"), "never alone"
    assert names("#food", "#room", "#food#room") == ("food", "room")
    assert names("C", "C++", "D", "C/D+") == ("C", "C++", "C/D+", "D")
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
    for kind in ("choice", "list"):
        with pytest.raises(UsageError, match="The labels 'C' and 'C#' would be the same"):
            codebook_from_gold(table("text,t\na,C\nb,C#\n"), ColumnMapping("text", gold=(GoldSource("t", kind),)))
    hashtags = ColumnMapping("text", gold=(GoldSource("t", "choice"),))
    assert len(codebook_from_gold(table("text,t\na,Food\nb,#Food\n"), hashtags).labels) == 1
    mixed = ColumnMapping("text", gold=(GoldSource("t", "choice"), GoldSource("t", rater="ann")))
    with pytest.raises(UsageError, match="different kinds"):
        codebook_from_gold(table(many), mixed)


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


@each_row(("second", "codes"), [("2", [1, 2]), ("1.0", [None, None])])
def test_numbers_as_labels_are_codes_unless_two_are_equal(second: str, codes: list[int | None]) -> None:
    mapping = ColumnMapping(text="text", gold=(GoldSource("gold", "choice"),))
    codebook = codebook_from_gold(table(f"text,gold\na,1\nb,{second}\n"), mapping)
    assert [label.code for label in codebook.labels] == codes
