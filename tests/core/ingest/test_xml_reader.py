"""Tests of reading XML as a table."""

from __future__ import annotations

import pytest

from core.documents import GOLD_RATER
from core.errors import InputError
from core.ingest.codebook_from_gold import codebook_from_gold
from core.ingest.document_builder import build_documents
from core.ingest.gold import GoldSource
from core.ingest.mapping_suggestions import suggest_mapping
from core.ingest.read import read_table
from core.ingest.table import ReadOptions, Table
from tests.each_row import each_row

SENTENCES = """<?xml version="1.0" encoding="UTF-8"?>
<sentences>
  <sentence id="a1">
    <text>They forgot us, &amp; the lamps are <b>ugly</b>.</text>
    <aspectTerms><aspectTerm term="lamps" polarity="negative" from="26" to="31"/></aspectTerms>
    <aspectCategories>
      <aspectCategory category="service" polarity="negative"/>
      <aspectCategory category="ambience" polarity="negative"/>
    </aspectCategories>
  </sentence>
  <sentence id="a2">
    <text>Cheap.</text>
    <aspectCategories><aspectCategory category="price" polarity="positive"/></aspectCategories>
  </sentence>
</sentences>"""
REVIEWS = """<?xml version="1.0"?><Reviews><Review rid="7"><sentences>
  <sentence id="7:0"><text>Good soup.</text>
    <Opinions><Opinion target="soup" category="FOOD#QUALITY" polarity="positive"/></Opinions></sentence>
  <sentence id="7:1"><text>We went home.</text></sentence>
</sentences></Review></Reviews>"""


def read(text: str | bytes, name: str = "data.xml", **options: str) -> Table:
    return read_table(text.encode() if isinstance(text, str) else text, name=name, options=ReadOptions(**options))


def test_sentences_with_categories_become_documents_with_gold() -> None:
    table = read(SENTENCES)
    assert table.notes == ("Each element 'sentence' is a row.",)
    mapping = suggest_mapping(table)
    assert (mapping.text, mapping.id, mapping.gold) == ("text", "id", (GoldSource("aspectCategories", "list"),))
    codebook = codebook_from_gold(table, mapping)
    first, second = build_documents(table, mapping, codebook).documents
    assert (first.id, first.text) == ("a1", "They forgot us, & the lamps are ugly.")
    names = {label.id: label.name for label in codebook.labels}
    present = [
        {names[item] for item, value in document.gold[GOLD_RATER].items() if value} for document in (first, second)
    ]
    assert present == [{"service", "ambience"}, {"price"}]


def test_attributes_of_elements_around_a_row_are_columns() -> None:
    table = read(REVIEWS, name="data")
    assert table.columns == ("Review.rid", "id", "text", "Opinions")
    opinion = {"target": "soup", "category": "FOOD#QUALITY", "polarity": "positive"}
    assert table.row(0) == {"Review.rid": "7", "id": "7:0", "text": "Good soup.", "Opinions": [opinion]}
    assert table.row(1)["Opinions"] is None


def test_feeds_and_rows_of_attributes() -> None:
    item = '<item><title>Bridge</title><guid isPermaLink="false">g{0}</guid><tag>a</tag><tag>b</tag></item>'
    feed = f'<rss xmlns:x="urn:x"><channel><title>News</title>{item.format(1)}{item.format(2)}</channel></rss>'
    row = {"guid.isPermaLink": "false", "title": "Bridge", "guid": "g2", "tag": ["a", "b"]}
    assert read(feed).row(1) == row
    posts = '<posts><row Id="1" Body="How?"/><row Id="2" Body="So."/></posts>'
    assert read(posts).row(1) == {"Id": "2", "Body": "So."}


@each_row(
    ("text", "texts"),
    [
        ('<d><doc id="1" label="a">One</doc><doc id="2">Two</doc></d>', ("One", "Two")),
        ("<d><doc>One <i>x</i> <i>y</i> <i>z</i></doc><doc><b>Two</b> w</doc></d>", ("One x y z", "Two w")),
        ("<author><documents><document>One</document><document>Two</document></documents></author>", ("One", "Two")),
        ("<d><head><title>Title</title></head><part><doc>One</doc></part><doc>Two</doc></d>", ("One", "Two")),
        ('<d><title>Title</title><row a="1" text="One"/><row a="2" text="Two"/></d>', ("One", "Two")),
    ],
)
def test_elements_with_a_text_of_their_own_are_rows(text: str, texts: tuple[str, str]) -> None:
    assert read(text).column("text") == texts


def test_only_element_with_a_text_in_it_is_a_row_beside_elements_of_attributes() -> None:
    opinions = '<o a="1" b="2"/><o a="3" b="4"/>'
    table = read(f"<d><s><text>Good soup.</text><opinions>{opinions}</opinions></s></d>")
    assert (table.column("text"), table.notes) == (("Good soup.",), ("Each element 's' is a row.",))


def test_rows_without_a_text_are_not_dropped() -> None:
    table = read('<d><doc id="1">One</doc><doc id="2"/><doc id="3">Three</doc></d>')
    assert table.column("text") == ("One", None, "Three")


def test_rows_in_an_element_with_a_stray_text_are_read() -> None:
    assert read("<d><p>x<s><t>One</t></s><s><t>Two</t></s></p></d>").column("t") == ("One", "Two")


def test_text_beside_an_attribute_or_element_of_that_name_is_a_column_of_its_own() -> None:
    assert read('<d><doc id="1">One</doc><doc id="2">Two</doc></d>').row(1) == {"id": "2", "text": "Two"}
    assert read('<d><doc text="x">One</doc><doc text="y">Two</doc></d>').row(1) == {"text": "y", "text_2": "Two"}


def test_elements_of_the_same_name_in_a_row_are_a_part_of_it() -> None:
    thread = '<post id="{0}"><text>Question {0}</text><post id="{0}a"><text>Answer</text></post></post>'
    table = read(f"<posts>{thread.format(1)}{thread.format(2)}</posts>")
    assert table.column("text") == ("Question 1", "Question 2")
    assert table.row(1)["post"] == {"id": "2a", "text": "Answer"}


def test_encoding_is_that_of_the_declaration_or_of_the_user() -> None:
    text = "<rows><row><text>Café</text></row></rows>"
    declared = f'<?xml version="1.0" encoding="iso-8859-1"?>{text}'.encode("latin-1")
    assert read(declared).row(0) == {"text": "Café"}
    assert read(text.encode("utf-16")).row(0) == {"text": "Café"}
    assert read(text.encode("latin-1"), encoding="latin-1").row(0) == {"text": "Café"}


@each_row(
    ("text", "problem"),
    [
        ("<rows><row><text>cut", "is not XML: "),
        ("<rows><row/></rows>", "has no elements that recur and hold texts"),
        ("not xml at all", "is not XML: syntax error"),
        ("<r><row><text>x</text>" + "<a>" * 5000 + "</a>" * 5000 + "</row></r>", "is nested too deeply"),
        (
            '<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"/>',
            "is not a table in text form but an Excel file in XML form",
        ),
        (
            "<!DOCTYPE r [<!ENTITY a 'aaaaaaaaaa'>"
            + "".join(f"<!ENTITY {b} '{f'&{a};' * 10}'>" for a, b in zip("abcdefghi", "bcdefghij", strict=True))
            + "]><r><row><text>&j;</text></row></r>",
            "limit on input amplification",
        ),
    ],
)
def test_other_text_is_an_input_error(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(text)
