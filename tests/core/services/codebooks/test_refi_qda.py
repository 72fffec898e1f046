"""Tests of REFI-QDA codebooks: files follow the schema of the standard, and codebooks survive a round trip."""

from __future__ import annotations

import re
from xml.etree import ElementTree as xml

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.codebook import Codebook, Label, parse_codebook
from core.errors import CodebookError
from core.services.codebooks.refi_qda import NAMESPACE, dump_qdc, parse_qdc
from tests.each_row import each_row

GUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
COLOUR = re.compile(r"#([A-Fa-f0-9]{6}|[A-Fa-f0-9]{3})")

# Contents of Codebook.xsd: children in order with minimum and maximum, required and optional attributes.
MANY = 10**6
SCHEMA: dict[str, tuple[list[tuple[str, int, int]], set[str], set[str]]] = {
    "CodeBook": ([("Codes", 1, 1), ("Sets", 0, 1)], set(), {"origin"}),
    "Codes": ([("Code", 1, MANY)], set(), set()),
    "Sets": ([("Set", 1, MANY)], set(), set()),
    "Code": ([("Description", 0, 1), ("Code", 0, MANY)], {"guid", "name", "isCodable"}, {"color"}),
    "Set": ([("Description", 0, 1), ("MemberCode", 0, MANY)], {"guid", "name"}, set()),
    "MemberCode": ([], {"guid"}, set()),
    "Description": ([], set(), set()),
}


def check_schema(element: xml.Element) -> None:
    name = element.tag.removeprefix(f"{{{NAMESPACE}}}")
    children, required, optional = SCHEMA[name]
    assert required <= set(element.attrib) <= required | optional
    tags = [child.tag.removeprefix(f"{{{NAMESPACE}}}") for child in element]
    assert tags == [tag for tag, _, _ in children for _ in range(tags.count(tag))]
    assert all(least <= tags.count(tag) <= most for tag, least, most in children)
    assert GUID.fullmatch(element.get("guid", "0" * 8 + "-0000" * 3 + "-" + "0" * 12))
    assert COLOUR.fullmatch(element.get("color", "#fff"))
    assert element.get("isCodable", "true") in ("true", "false")
    for child in element:
        check_schema(child)


HOTEL = parse_codebook(
    {
        "name": "Hotel <aspects>",
        "unit": "hotel review",
        "domain": "hospitality",
        "guideline": "Only the hotel itself.\nNot the town.",
        "labels": [
            {"name": "Cleanliness", "description": "How clean\nor dirty.", "include": ["stained: sheets"], "colour": 5},
            {"name": "Price & value", "exclude": ["parking", "a; b"], "keywords": ["cheap", "dear"]},
        ],
    }
)


def test_codebook_survives_the_round_trip() -> None:
    content = dump_qdc(HOTEL)
    check_schema(xml.fromstring(content))
    assert parse_qdc(content, source="x.qdc") == HOTEL


def test_two_labels_with_one_code_are_an_error() -> None:
    labels = (Label(name="A", code=1), Label(name="B", code=1))
    with pytest.raises(CodebookError, match="two labels have the same code: 1"):
        parse_qdc(dump_qdc(Codebook(kind="choice", labels=labels)), source="a.qdc")


def test_kind_codes_and_scales_survive_the_round_trip() -> None:
    codes = [0, 1.5, 1e-7, -2e20]
    coded = [{"name": f"label {code}", "code": code, "keywords": ["rates"]} for code in codes]
    choice = parse_codebook({"kind": "choice", "labels": coded})
    scales = [{"name": "effect", "scale": {"min": -1, "max": 1}}, {"name": "fluency", "scale": {"min": 0, "max": 2}}]
    rating = parse_codebook({"kind": "rating", "labels": scales})
    open_one = parse_codebook({"labels": [{"name": "mood", "open": "word"}]})
    without_unit = choice.model_copy(update={"unit": ""})
    semicolons = parse_codebook({"labels": [{"name": "code", "keywords": ["a;b", "c", "; d"]}]})
    for codebook in (choice, rating, open_one, without_unit, semicolons):
        assert parse_qdc(dump_qdc(codebook), source="x.qdc") == codebook


def test_lines_of_a_text_are_not_taken_for_fields() -> None:
    labels = [
        {"name": "Effect", "description": "Of the drug.\nScale: 1 to 5"},
        {"name": "Cost", "description": "Keywords: none here", "include": ["too\ndear"], "keywords": ["price"]},
    ]
    book = parse_codebook(
        {"kind": "choice", "unit": "one\nreview", "domain": "two\nlines", "guideline": "Domain: x", "labels": labels}
    )
    back = parse_qdc(dump_qdc(book), source="x.qdc")
    assert (back.kind, back.unit, back.domain, back.guideline) == ("choice", "one review", "two lines", "Domain: x")
    assert [label.description for label in back.labels] == [label["description"] for label in labels]
    assert (back.labels[1].include, back.labels[1].keywords) == (("too dear",), ("price",))


@pytest.mark.parametrize(("kind", "scaled"), [("", 1), ("Kind: multilabel", 2)])
def test_scale_in_a_description_is_text_unless_labels_are_rated(kind: str, scaled: int) -> None:
    texts = [*["Scale: 1 to 5"] * scaled, ""][:2]
    codes = "".join(
        f'<Code guid="{name}" name="{name}"><Description>{text}</Description></Code>'
        for name, text in zip("ab", texts, strict=True)
    )
    members = '<MemberCode guid="a"/><MemberCode guid="b"/>'
    sets = f'<Sets><Set guid="s" name="B"><Description>{kind}</Description>{members}</Set></Sets>'
    book = parse_qdc(f"<CodeBook><Codes>{codes}</Codes>{sets}</CodeBook>".encode(), source="x.qdc")
    assert book.kind == "multilabel"
    assert [label.description for label in book.labels] == texts


printable = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cn")), max_size=30)
anything = st.text(max_size=30)


@given(st.lists(printable, min_size=1, max_size=5), anything, anything)
def test_any_text_makes_a_valid_file_with_the_same_labels(names: list[str], description: str, guideline: str) -> None:
    labels = [{"name": name, "description": description, "include": [description]} for name in names]
    try:
        codebook = parse_codebook({"labels": labels, "guideline": guideline})
    except CodebookError:
        return
    content = dump_qdc(codebook)
    check_schema(xml.fromstring(content))
    assert parse_qdc(content, source="x.qdc").names == codebook.names


FOREIGN = """<?xml version="1.0" encoding="utf-8"?>
<CodeBook xmlns="urn:QDA-XML:codebook:1.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" origin="Other 24"
  xsi:schemaLocation="urn:QDA-XML:codebook:1.0 Codebook.xsd">
  <Codes>
    <Code guid="1FF58B12-6F6F-4B0C-8BE5-BBDC91F55294" name="Room" isCodable="false" color="#46AA00">
      <Description>Folder</Description>
      <Code guid="1FF58B12-6F6F-4B0C-8BE5-BBDC91F55295" name="Noise" isCodable="true">
        <Description>Note: loud.
Kind: of noise</Description>
      </Code>
      <Code guid="1FF58B12-6F6F-4B0C-8BE5-BBDC91F55296" name="Other" isCodable="true"/>
    </Code>
    <Code guid="1FF58B12-6F6F-4B0C-8BE5-BBDC91F55297" name="Staff" isCodable="true">
      <Code guid="1FF58B12-6F6F-4B0C-8BE5-BBDC91F55298" name="Other" isCodable="true"/>
    </Code>
  </Codes>
  <Sets><Set guid="1FF58B12-6F6F-4B0C-8BE5-BBDC91F55299" name="Group">
    <MemberCode guid="1FF58B12-6F6F-4B0C-8BE5-BBDC91F55295"/></Set></Sets>
</CodeBook>"""


def test_nested_codes_of_another_program_become_labels() -> None:
    codebook = parse_qdc(FOREIGN.encode(), source="x.qdc")
    assert codebook.names == ("Noise", "Room / Other", "Staff", "Staff / Other")
    assert codebook.labels[0].description == "Note: loud.\nKind: of noise"
    assert (codebook.kind, codebook.name) == ("multilabel", "Codebook")


def test_other_encodings_and_a_project_file_are_read() -> None:
    utf16 = FOREIGN.replace('encoding="utf-8"', 'encoding="utf-16"').encode("utf-16")
    project = (
        FOREIGN.replace("<CodeBook ", "<Project><CodeBook ").replace("</CodeBook>", "</CodeBook></Project>").encode()
    )
    for content in (utf16, project, b"\xef\xbb\xbf" + FOREIGN.encode()):
        assert len(parse_qdc(content, source="x.qdc").labels) == 4


@each_row(
    ("content", "message"),
    [
        (b"name: x", "is not XML"),
        (b"<Codes/>", "not a REFI-QDA codebook"),
        (b"<CodeBook><Codes/></CodeBook>", "no labels"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><CodeBook><Codes/></CodeBook>', "document type declaration"),
        (b'<CodeBook><Codes><Code name="none" guid="1"/></Codes></CodeBook>', "reserved"),
        (b"", "is not XML"),
    ],
)
def test_error_explains_why_a_file_cannot_be_used(content: bytes, message: str) -> None:
    with pytest.raises(CodebookError, match=message):
        parse_qdc(content, source="x.qdc")


def test_deeply_nested_codes_are_read() -> None:
    depth = 90
    nested = "<Code name='c' isCodable='false' guid='1'>" * depth + "<Code name='leaf' guid='2'/>" + "</Code>" * depth
    assert parse_qdc(f"<CodeBook><Codes>{nested}</Codes></CodeBook>".encode(), source="x").names == ("leaf",)


def test_codebook_without_labels_cannot_be_exported() -> None:
    with pytest.raises(CodebookError, match="no labels"):
        dump_qdc(Codebook())


CODE = '<Code guid="g" name="x" isCodable="true">'


@each_row("codes", [(CODE + "</Code>") * 50_000, CODE * 50_000 + "</Code>" * 50_000])
def test_huge_codebook_is_refused(codes):
    with pytest.raises(CodebookError, match="at most"):
        parse_qdc(f"<CodeBook><Codes>{codes}</Codes></CodeBook>".encode(), source="a.qdc")
