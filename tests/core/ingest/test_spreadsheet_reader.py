"""Tests of the reader of workbooks."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace

import pytest

from core.errors import InputError, UsageError
from core.ingest import spreadsheet_reader
from core.ingest.codebook_from_gold import codebook_from_gold
from core.ingest.document_builder import build_documents
from core.ingest.mapping_suggestions import suggest_mapping
from core.ingest.read import read_table
from core.ingest.table import ReadOptions
from tests.core.ingest.conftest import zipped
from tests.each_row import each_row

Book = Callable[..., bytes]


def test_xlsx_values_line_numbers_and_blank_rows(xlsx: Book) -> None:
    data = xlsx({"Reviews": [[], ["id", " text ", None, "Price"], [1, "a\nb", None, True], [], [2.5, "=c", None, 0]]})
    shares: list[float] = []
    table = read_table(data, name="data.xlsx", progress=shares.append)
    assert table.columns == ("id", "text", "Price")  # a column without cells is left out
    assert table.row(0) == {"id": 1, "text": "a\nb", "Price": True}
    assert table.row(1) == {"id": 2.5, "text": "=c", "Price": 0}
    assert type(table.row(0)["id"]) is int
    assert table.line_numbers == (3, 5)
    assert (table.read, table.format, table.encoding, table.sheets) == (2, "xlsx", "", ("Reviews",))
    assert shares[-1] == 1.0


def test_empty_cells_of_a_workbook_are_none(xlsx: Book) -> None:
    table = read_table(xlsx({"S": [["text", "stars"], ["a", 4], ["b", None], ["c", ""]]}), name="data.xlsx")
    assert table.column("stars") == (4, None, None)


def test_title_rows_above_the_header_are_left_out(xlsx: Book) -> None:
    rows = [["Guest survey 2024"], [], [None, None, "labels"], ["id", "text", "food"], [1, "Great", 1], [2, "Dirty", 0]]
    table = read_table(xlsx({"S": rows}), name="data.xlsx")
    assert (table.columns, table.column("food"), table.line_numbers) == (("id", "text", "food"), (1, 0), (5, 6))
    assert table.notes == ("Above the header, and left out: Guest survey 2024; labels.",)
    assert read_table(xlsx({"S": rows}), name="data.xlsx", max_rows=1).column("food") == (1,)
    rows[:3] = [["Export_2024-05-01"], []]
    assert read_table(xlsx({"S": rows}), name="data.xlsx").columns == ("id", "text", "food")
    del rows[1]
    assert read_table(xlsx({"S": rows}), name="data.xlsx").columns[0] == "Export_2024-05-01"


def test_formulas_that_moot_escaped_in_csv_are_unescaped(xlsx: Book) -> None:
    rows = [["text", "'=n", "run_id", "review_status"], ["'@ann hello", 1, "r1", "Pending"]]
    table = read_table(xlsx({"a": rows}), name="a.xlsx")
    assert (table.columns[:2], table.row(0)["text"]) == (("text", "=n"), "@ann hello")
    other = read_table(xlsx({"a": [row[:2] for row in rows]}), name="a.xlsx")
    assert (other.columns, other.row(0)["text"]) == (("text", "'=n"), "'@ann hello")


def test_further_headers_of_qualtrics_are_left_out(xlsx: Book) -> None:
    ids = ['{"ImportId":"_recordId"}', '{"ImportId":"QID1"}']
    rows = [["ResponseId", "Q1"], ["Response ID", "What happened?"], ids, ["R_1", "The soup was cold"]]
    table = read_table(xlsx({"S": rows}), name="data.xlsx")
    assert (table.column("Q1"), table.line_numbers) == (("The soup was cold",), (4,))
    assert table.notes[0].startswith("Below the header, and left out: Response ID What happened?")


def test_repeated_header_is_rejected(xlsx: Book) -> None:
    header = ["id", "text"]
    table = read_table(xlsx({"S": [header, [1, "Great"], header, [2, "Dirty"]]}), name="data.xlsx")
    assert (table.column("id"), table.read, table.row_numbers) == ((1, 2), 3, (1, 3))
    assert list(map(str, table.rejected)) == ["row 3: it repeats the header"]


def test_sheet_of_a_title_alone_is_skipped(xlsx: Book) -> None:
    data = xlsx({"Read me": [["Reviews of 2024"]], "Data": [["text"], ["a"]]})
    assert read_table(data, name="data.xlsx").column("text") == ("a",)


def test_unnamed_column_with_cells_gets_a_name(xlsx: Book) -> None:
    table = read_table(xlsx({"S": [["text", None], ["a", "x"]]}), name="data.xlsx")
    assert table.columns == ("text", "column_2")


def test_first_sheet_with_cells_or_the_named_sheet_is_read(xlsx: Book) -> None:
    data = xlsx({"Empty": [], "One": [["text"], ["a"]], "Two": [["text"], ["b"]]})
    table = read_table(data, name="data.xlsx")
    assert table.column("text") == ("a",)
    assert table.notes == ("Sheet 'One' was read; the file has 3: Empty, One, Two.",)
    assert (table.sheet, table.sheets) == ("One", ("Empty", "One", "Two"))
    assert read_table(data, name="data.xlsx", options=ReadOptions(sheet="Two")).column("text") == ("b",)
    with pytest.raises(UsageError, match=r"no sheet 'Tow'\. Did you mean 'Two'\? It has: Empty, One, Two"):
        read_table(data, name="data.xlsx", options=ReadOptions(sheet="Tow"))
    with pytest.raises(InputError, match="is empty"):
        read_table(data, name="data.xlsx", options=ReadOptions(sheet="Empty"))


def test_formulas_without_a_stored_result_are_counted(xlsx: Book) -> None:
    data = xlsx({"A & B": [["text", "n", "m"], ["F1", "F2", 1], ["F3", "F4", 2], ["F5", "b", 3]]})
    formulas = {
        "F1": '<f>A9&amp;"x"</f><v></v>',
        "F2": "<f>C2</f><v>7</v>",
        "F3": '<f t="shared" si="0"/>',
        "F4": '<f>"a"&lt;C3</f><v/>',
    }
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    for name, formula in formulas.items():
        inline = f't="inlineStr"><is><t xml:space="preserve">{name}</t></is></c>'
        files[sheet] = files[sheet].replace(inline, f">{formula}</c>")
    empty_text = 't="inlineStr"><is><t xml:space="preserve">F5</t></is></c>', 't="str"><f>C9</f><v></v></c>'
    files[sheet] = files[sheet].replace(*empty_text)
    table = read_table(zipped(files), name="data.xlsx")
    assert (table.column("text"), table.column("n")) == ((None, None, None), (7, None, "b"))
    assert table.notes[0].startswith("The file has formulas without results (3); their cells are empty here.")


def test_cells_with_errors_are_missing_values_and_not_empty(xlsx: Book) -> None:
    rows = [["text", "Food", "Price"], ["One", 1, 0], ["Two", "E1", ""], ["E2", "", 1], ["E3", "E3", "E3"]]
    data = xlsx({"S": rows})
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    for name, error in {"E1": "#DIV/0!", "E2": "#GETTING_DATA", "E3": "#REF!"}.items():
        inline = f't="inlineStr"><is><t xml:space="preserve">{name}</t></is></c>'
        files[sheet] = files[sheet].replace(inline, f't="e"><f>X1</f><v>{error}</v></c>')
    table = read_table(zipped(files), name="data.xlsx")
    assert table.column("Food") == (1, "#DIV/0!", None, "#REF!")
    mapping = replace(suggest_mapping(table), value_map={"": False})
    built = build_documents(table, mapping, codebook_from_gold(table, mapping))
    assert [[*document.gold["gold"].values()] for document in built.documents] == [[True, False], [False]]
    assert [row.line for row in built.rejected] == [4, 5]


def test_labels_below_the_names_of_coders_are_columns_of_each(xlsx: Book) -> None:
    rows = [["id", "text", "Coder 1", None, "Coder 2", None], [None, None, "Food", "Room", "Food", "Room"]]
    table = read_table(xlsx({"S": [*rows, [1, "Cold soup", 1, 0, 1, 1], [2, "Bad bed", 0, 1, 0, 0]]}), name="data.xlsx")
    assert table.columns[2:] == ("Food_Coder 1", "Room_Coder 1", "Food_Coder 2", "Room_Coder 2")
    assert suggest_mapping(table).raters == ("Coder 1", "Coder 2")
    once = [["id", "text", "Topics", None], [None, None, "Food", "Room"], [1, "Cold soup", 1, 0]]
    assert read_table(xlsx({"S": once}), name="data.xlsx").columns == ("id", "text", "Food", "Room")


def test_notes_name_hidden_rows_and_numbers_that_excel_rounds(xlsx: Book) -> None:
    rows = [["id", "text"], [1234567890123456789, "One"], [7, "Two"], [8, "Three"]]
    data = xlsx({"S": rows})
    assert read_table(data, name="data.xlsx").notes == (
        "Excel rounds numbers to 15 digits, and 'id' has longer ones. As ids they must be text.",
    )
    with zipfile.ZipFile(io.BytesIO(xlsx({"S": [["id", "text"], *rows[2:]]}))) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    assert '<row r="2"' in files[sheet]
    files[sheet] = files[sheet].replace('<row r="2"', '<row hidden="1" r="2"')
    files[sheet] = files[sheet].replace("</sheetData>", '<row r="9" hidden="1"><c r="A9" s="1"/></row></sheetData>')
    table = read_table(zipped(files), name="data.xlsx")
    assert (table.column("id"), table.notes) == (
        (7, 8),
        ("The file has hidden rows (1), which are read like the others.",),
    )


def test_values_of_ods_files_are_read(ods: Book) -> None:
    table = read_table(ods([["text", "Price"], ["schön", "1"]]), name="data.ods")
    assert table.row(0) == {"text": "schön", "Price": "1"}
    assert table.format == "ods"
    with pytest.raises(InputError, match="an OpenDocument spreadsheet"):
        read_table(ods([["text"], ["a"]]), name="data.csv")


@each_row("value", ['"string" office:string-value=""', '"float" office:value="0"'])
def test_errors_in_ods_cells_are_missing_values(ods: Book, value: str) -> None:
    with zipfile.ZipFile(io.BytesIO(ods([["text", "n"], ["one", "ERROR"], ["two", "3"]]))) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    content = files["content.xml"].replace("<office:document-content", '<office:document-content xmlns:calcext="urn:c"')
    error = f'{value} calcext:value-type="error"><text:p>#DIV/0!</text:p>'
    content = content.replace('"string"><text:p>ERROR</text:p>', error)
    table = read_table(zipped({**files, "content.xml": content}), name="data.ods")
    assert table.column("n") == ("#N/A", "3")


def test_line_breaks_and_tabs_of_ods_cells_separate_words(ods: Book) -> None:
    with zipfile.ZipFile(io.BytesIO(ods([["text"], ["one BREAK two TAB three"]]))) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    tab = '<text:tab text:tab-ref="1"/>'
    content = files["content.xml"].replace(" BREAK ", "<text:line-break/>").replace(" TAB ", tab)
    table = read_table(zipped({**files, "content.xml": content}), name="data.ods")
    assert table.column("text") == ("one\ntwo\tthree",)


def test_unreadable_workbooks_are_rejected(xlsx: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    good = xlsx({"S": [["text"], ["a"]]})
    with pytest.raises(InputError, match="has a header but no rows"):
        read_table(xlsx({"S": [["text", "b"]]}), name="data.xlsx")
    for cut in range(4, len(good), 97):
        with pytest.raises(InputError):
            read_table(good[:cut], name="data.xlsx")
    with pytest.raises(InputError, match="workbook"):
        read_table(good.replace(b"<worksheet", b"<wurksheet"), name="data.xlsx")
    monkeypatch.setattr(spreadsheet_reader, "memory_limit", lambda: 4000)
    with pytest.raises(InputError, match="unpacks to"):
        read_table(good, name="data.xlsx")


def test_sheet_of_a_single_column_is_skipped_for_a_larger_table(xlsx: Book) -> None:
    notes, data = [["Survey of guests"], ["Contact: a@b.c"]], [["id", "text"], [1, "a"], [2, "b"]]
    assert read_table(xlsx({"Read me": notes, "Data": data}), name="data.xlsx").column("text") == ("a", "b")
    texts = [["text"], ["a"], ["b"], ["c"]]
    assert read_table(xlsx({"Texts": texts, "Codes": data}), name="data.xlsx").columns == ("text",)
