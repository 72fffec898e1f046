"""Fixtures that build workbooks, since no dependency can write them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

import pytest

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>'

Sheets = Mapping[str, Sequence[Sequence[Any]]]


def make_xlsx(sheets: Sheets) -> bytes:
    """Return a workbook; None leaves out a cell, and an empty row leaves out the row."""
    numbers = range(1, len(sheets) + 1)
    names = "".join(f'<sheet name="{escape(n)}" sheetId="{i}" r:id="rId{i}"/>' for i, n in enumerate(sheets, 1))
    links = "".join(
        f'<Relationship Id="rId{i}" Type="{_REL}/worksheet" Target="worksheets/sheet{i}.xml"/>' for i in numbers
    )
    files = {
        "[Content_Types].xml": f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/></Types>',
        "_rels/.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_REL}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'{_HEAD}<workbook xmlns="{_MAIN}" xmlns:r="{_REL}"><sheets>{names}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">{links}</Relationships>',
    }
    for i, rows in enumerate(sheets.values(), 1):
        body = "".join(
            f'<row r="{r}">{"".join(_cell(f"{chr(65 + c)}{r}", v) for c, v in enumerate(row))}</row>'
            for r, row in enumerate(rows, 1)
            if row
        )
        sheet = f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>{body}</sheetData></worksheet>'
        files[f"xl/worksheets/sheet{i}.xml"] = sheet
    return zipped(files)


def _cell(cell_type: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{cell_type}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{cell_type}"><v>{value}</v></c>'
    return f'<c r="{cell_type}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'


def make_ods(rows: Sequence[Sequence[str]]) -> bytes:
    """Return an OpenDocument spreadsheet of texts."""
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    lines = ("".join(cell.format(escape(value)) for value in row) for row in rows)
    return zip_ods("".join(f"<table:table-row>{line}</table:table-row>" for line in lines))


def zip_ods(rows: str, declaration: str = "") -> bytes:
    """Return an OpenDocument spreadsheet of these elements."""
    office = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = " ".join(f'xmlns:{name}="{office}:{name}:1.0"' for name in ("office", "table", "text"))
    content = (
        f"{_HEAD}{declaration}<office:document-content {spaces}><office:body><office:spreadsheet>"
        f'<table:table table:name="Sheet1">{rows}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        f'{_HEAD}<manifest:manifest xmlns:manifest="{office}:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/></manifest:manifest>'
    )
    return zipped({"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": manifest})


def zipped(files: Mapping[str, str]) -> bytes:
    """Return an archive of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


@pytest.fixture
def xlsx() -> Callable[[Sheets], bytes]:
    return make_xlsx


@pytest.fixture
def ods() -> Callable[[Sequence[Sequence[str]]], bytes]:
    return make_ods
