"""Tests of the reader of csv and tsv files."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.errors import InputError, UsageError
from core.ingest.csv_reader import has_stray_quote, keep_stray_quotes
from core.ingest.read import parse_table, read_table
from core.ingest.table import Table, TableSource
from tests.each_row import each_row


def read(data: bytes | str, name: str = "data.csv", **options: object) -> Table:
    return parse_table(TableSource(io.BytesIO(data.encode() if isinstance(data, str) else data), name, **options))


def rejections(table: Table) -> list[str]:
    return [str(row) for row in table.rejected]


def test_plain_csv_is_read() -> None:
    table = read("id,text\n1,Nice room\n2,Bad food\n")
    assert table.columns == ("id", "text")
    assert table.column("text") == ("Nice room", "Bad food")
    assert table.line_numbers == (2, 3)
    assert table.row_numbers == (1, 2)
    assert (table.format, table.encoding, table.delimiter, table.read, len(table)) == ("csv", "utf-8", ",", 2, 2)
    with pytest.raises(KeyError):
        table.column("nope")


@each_row("end", ["\n", "\r\n", "\r"])
@each_row("last", [True, False])
def test_any_line_end_is_accepted(end: str, last: bool) -> None:
    table = read(end.join(["id,text", "1,a", "2,b"]) + end * last)
    assert table.column("text") == ("a", "b")
    assert table.line_numbers == (2, 3)


@each_row("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_found_respecting_quotes(delimiter: str) -> None:
    rows = [["id", "text", "score"], ["1", "one, two; three | four\tfive", "1,5"], ["2", 'a "quoted" word', "2,5"]]
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    table = read(out.getvalue())
    assert table.delimiter == delimiter
    assert [list(table.row(i).values()) for i in range(2)] == rows[1:]


def test_semicolons_separate_decimal_commas() -> None:
    table = read("id;text;x\n1;Hallo, Welt;1,5\n2;Nun, ja, gut;2,5\n")
    assert (table.delimiter, table.column("x")) == (";", ("1,5", "2,5"))


def test_given_delimiter_is_used() -> None:
    assert read("a;b,c\n1;2,3\n", delimiter=";").columns == ("a", "b,c")
    assert read("a\tb\n1\t2\n", delimiter="tab").columns == ("a", "b")
    with pytest.raises(UsageError, match="cannot separate"):
        read("a,b\n1,2\n", delimiter="::")


@each_row("header", ["text", '"What did you like, if anything?"', "What did you like, if anything?", "text\n"])
def test_single_column_without_delimiter_is_read(header: str) -> None:
    table = read(f'{header}\n"Great, really; great"\n\nfine\nplain, unquoted\nmore\nand more\n')
    assert table.delimiter == ""
    assert len(table.columns) == 1
    assert table.data[0] == ("Great, really; great", "fine", "plain, unquoted", "more", "and more")


def test_tsv_prefers_the_tab() -> None:
    assert read("a,b\tc\n1,2\t3\n", "data.tsv").columns == ("a,b", "c")


def test_sep_line_of_excel_sets_the_delimiter() -> None:
    table = read("sep=;\r\nid;text\r\n1;a\r\n")
    assert (table.columns, table.line_numbers) == (("id", "text"), (3,))


def test_space_before_quotes_is_ignored() -> None:
    table = read('id, text\n1, "a, b"\n2, "c, d"\n')
    assert table.columns == ("id", "text")
    assert table.column("text") == ("a, b", "c, d")


def test_quotes_escaped_by_a_backslash_are_read() -> None:
    rows = 'id,text\n1,"He said \\"hi\\" there"\n2,"C:\\temp\\"\n3,"a, \\"b\\"\nc"\n4,"\\"x\\""\n'
    table = read(rows.replace('"C:\\temp\\"', "C:\\temp\\"))
    assert table.column("text") == ('He said "hi" there', "C:\\temp\\", 'a, "b"\nc', '"x"')
    plain = read('id,text\n1,"C:\\dir\\"\n2,"a ""b"" c"\n')  # a backslash at the end of a field escapes nothing
    assert plain.column("text") == ("C:\\dir\\", 'a "b" c')


def test_quotes_and_backslashes_that_are_first_escaped_late_are_read() -> None:
    texts = [*("Great food, again",) * 4000, 'He said "nice", then left', "C:\\temp\\", 'a\\"b"', "\\\\server\\x"]
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, doublequote=False, escapechar="\\")
    writer.writerows([["id", "text"], *enumerate(texts)])
    assert read(out.getvalue()).column("text") == tuple(texts)
    single = 'id,text\n1,"C:\\temp"\n' + '2,"Great, food"\n' * 5000 + '3,"a \\"b\\" \\\\c"\n'
    assert read(single).column("text")[:1] + read(single).column("text")[-1:] == ("C:\\temp", 'a "b" \\\\c')


def test_rows_of_a_file_with_line_breaks_are_numbered_by_their_first_lines() -> None:
    table = read('id,text\n1,"Nice\nroom"\n\n2,Bad,food\n')
    assert (table.line_numbers, rejections(table)) == ((2,), ["row 5: 3 fields, expected 2"])


def test_further_headers_of_qualtrics_are_left_out() -> None:
    header = "ResponseId,Q1\nResponse ID,What happened?\n"
    table = read(header + '"{""ImportId"":""_recordId""}","{""ImportId"":""QID1""}"\nR_1,The soup was cold\n')
    assert (table.columns, table.column("Q1"), table.line_numbers) == (
        ("ResponseId", "Q1"),
        ("The soup was cold",),
        (4,),
    )
    (note,) = table.notes
    assert note.startswith("Below the header, and left out: Response ID What happened?; ")
    assert read(header).read == 1


def test_options_of_a_question_below_the_header_name_its_columns() -> None:
    header = "Respondent ID,What did you like?,,Tell us more\n"
    table = read(f"{header},Food,Service,Open-Ended Response\n7,Food,,Good soup\n")
    assert table.columns == ("Respondent ID", "Food", "Service", "Tell us more")
    assert (table.column("Tell us more"), table.line_numbers) == (("Good soup",), (3,))
    assert table.notes == ("Below the header, and left out: Food Service Open-Ended Response.",)
    assert len(read("id,text,\n1,Great,x\n")) == len(read(",text\n0,Great\n")) == 1  # rows, not options
    assert read("Food,text,label,\n,The soup was cold again,bad,x\n1,Great,good,\n").read == 2


@each_row("second", ["id,text,food", "\ufeffid,text,food", '\ufeff"id","text","food"'])
def test_header_that_is_repeated_in_joined_files_is_rejected(second: str) -> None:
    table = read(f"\ufeffid,text,food\n1,Great,1\n{second}\n2,Dirty,0\n")
    assert (table.column("id"), table.line_numbers) == (("1", "2"), (2, 4))
    assert rejections(table) == ["row 3: it repeats the header"]


def test_fields_that_all_rows_have_beyond_the_header_are_columns() -> None:
    at_end = read("id,text\n1,Great,\n2,Dirty,\n")
    assert (at_end.columns, at_end.column("text")) == (("id", "text", "column_3"), ("Great", "Dirty"))
    row_names = read('"id"\t"text"\n"1"\t"a7"\t"Great"\n"2"\t"a8"\t"Dirty"\n')
    assert (row_names.columns, row_names.column("id")) == (("column_1", "id", "text"), ("a7", "a8"))
    assert rejections(read("id,text\n1,Great\n2,Dirty, but cheap\n")) == ["row 3: 3 fields, expected 2"]


@each_row("text", ["Great", 'A ""great"" room'])
def test_backslash_before_the_end_of_a_field_between_spaces_is_kept(text: str) -> None:
    """R's write.table writes a backslash as it is."""
    table = read(f'"text" "path" "food"\n"{text}" "C:\\dir\\" 0\n"Cold\\" "D:" NA\n')
    assert table.column("text") == (text.replace('""', '"'), "Cold\\")
    assert (table.column("path"), table.column("food")) == (("C:\\dir\\", "D:"), ("0", "NA"))


@each_row("delimiter", [",", ";", "\t", " "])
def test_names_of_rows_that_r_writes_without_a_name_are_a_column(delimiter: str) -> None:
    """The file is that of write.table(d, sep = ...) of R 4.2.2, which leaves the header one field short."""
    rows = [
        ['"id"', '"text"', '"food"'],
        ['"1"', '"007"', r'"\"Great\", they said"', "1"],
        ['"3"', '"008"', '"Dirty"', "NA"],
    ]
    table = read("".join(f"{delimiter.join(row)}\n" for row in rows))
    assert table.columns == ("column_1", "id", "text", "food")
    assert (table.column("id"), table.column("text")) == (("007", "008"), ('"Great", they said', "Dirty"))
    for header in ("id,text", '"id","text"'):
        assert read(f"{header}\n1,Great, but dear\n2,Dirty, but cheap\n").rejected, "a comma of a text, not a name"


@each_row("header", ["id,text", "id,text,food"])
def test_comments_above_the_header_are_left_out(header: str) -> None:
    table = read(f"# made by tool 1.2\n# on a Monday\n{header}\n1,#great{',1' * header.count('food')}\n")
    assert (table.columns, table.column("text")) == (tuple(header.split(",")), ("#great",))
    assert table.notes[0] == "Above the header, and left out: # made by tool 1.2; # on a Monday."


@each_row("data", ["#id,text\n1,Great\n", "#great\n#dirty\n#cheap\n", "#,text,food\n1,Great,1\n"])
def test_header_that_begins_with_a_hash_stays_the_header(data: str) -> None:
    assert read(data).columns == tuple(data.splitlines()[0].split(","))


def test_quotes_and_line_breaks_inside_are_kept_and_lines_counted() -> None:
    table = read('id,text\n1,"a ""b""\r\nc\rd"\n\n   \n2,"x"y\n')
    assert table.column("text") == ('a "b"\r\nc\rd', '"x"y')
    assert table.line_numbers == (2, 7)  # the first row covers lines 2 to 4 and is followed by two blank lines
    assert table.read == 2


def test_ragged_rows_are_rejected_with_line_and_counts() -> None:
    table = read("a,b,c,d,e\n1,2,3,4,5\n1,2,3\n1\n1,2,3,4,5,6\n6,7,8,9,10\n")
    assert rejections(table) == [
        "row 3: 3 fields, expected 5",
        "row 4: 1 field, expected 5",
        "row 5: 6 fields, expected 5",
    ]
    assert table.rejected[0].raw == "1,2,3"
    assert (table.read, len(table), table.row_numbers) == (5, 2, (1, 5))


def test_row_of_empty_fields_is_kept_and_blank_line_skipped() -> None:
    table = read("a,b\n,\n\n1,2\n")
    assert (table.read, table.column("a")) == (2, ("", "1"))
    assert read('text\n""\n\n  \nx\n').column("text") == ("", "x")


@each_row(
    ("field", "text"),
    [
        ('"Great" food', '"Great" food'),
        ('"Great, really" food', '"Great, really" food'),
        ('"Great" and "cheap"', '"Great" and "cheap"'),
        ('"He said "hi" to me"', 'He said "hi" to me'),
        ('"It was ""so"" so, and a 5" disk"', 'It was "so" so, and a 5" disk'),
        ('a 5" disk', 'a 5" disk'),
        ('He "said" so', 'He "said" so'),
        ('"a ""b"" c"', 'a "b" c'),
        ('"one\ntwo ""x"" y"', 'one\ntwo "x" y'),
        ('"plain" ', "plain "),
        ('""', ""),
    ],
)
def test_stray_quotes_are_kept(field: str, text: str) -> None:
    table = read(f'id,text,n\n1,{field},2\n"3",{field},"4"\n')
    assert table.data == (("1", "3"), (text, text), ("2", "4"))


@each_row(
    ("lines", "header"),
    [
        ('3,"Shares fell sharply on Monday."\n2,"The match ended in rain."\n3,"Oil is dearer than ever."\n', "none"),
        ('"0","77","@me that is a bummer"\n"4","78","so happy"\n"0","79","no"\n', "none"),
        ("The soup was cold again,Food\nThe bill was wrong,Price\nBad fish,Food\n", "none"),
        ("What did you like here?,Food\nsoup,yes\nWhat did you like here?,Food\ntea,no\n", "first line"),  # joined
        ("What did you like here?,Food\nsoup,Food\ntea,\nfish,Food\n", "first line"),  # an option of a survey
        ("1,What did you like here?\n1,a\n,b\n1,c\n", "first line"),  # an option of a survey, named 1
        ("year,What did you like here?\n2019,a\n2020,b\n", "first line"),
        ("0,1\n0,soup\n1,tea\n0,milk\n", "first line"),  # as pandas numbers columns
    ],
)
def test_first_line_that_is_data_is_not_a_header(lines: str, header: str) -> None:
    table = read(lines)
    assert table.header == header
    assert (table.read == lines.count("\n")) is (header == "none")


@each_row(
    "texts",
    [
        ['"Great place', "good", '"Bad place', "fine"],
        ['"Great place', "good", 'so "nice" really', "fine"],
        ['"Great place', "good", 'the end"', "fine"],
        ['"Great" place', "good", '"quoted"', '5" pipe'],
        ['"', "good", '5" pipe'],
    ],
)
def test_quotes_of_a_table_without_quoting_are_kept(texts: list[str]) -> None:
    rows = [(str(n), text, "pos") for n, text in enumerate(texts)]
    table = read("id\ttext\tlabel\n" + "".join("\t".join(row) + "\n" for row in rows), "tweets.tsv")
    assert tuple(zip(*table.data, strict=True)) == tuple(rows)
    assert table.notes == ("Cells are not in quotes: all quotes are part of the texts.",)
    assert read("".join(f"{text}\t1\n" for text in ("text", *texts[:2], 'so "so"')), "tweets.tsv").read == 3


@each_row(
    "texts",
    [
        ['"Great place', "good", '"Bad place', "fine"],
        ['"Great place', "good", 'so "nice" really', "fine"],
        ['"Great" place', "good", '"quoted"', '5" pipe'],
        ['"', "good", '5" pipe'],
        ["good", '"Great place', "fine"],
    ],
)
def test_quotes_of_a_list_without_quoting_are_kept(texts: list[str]) -> None:
    table = read("The first line of the list.\n" + "\n".join(texts), "texts.txt")
    assert (table.column("text")[1:], table.header) == (tuple(texts), "none")
    assert table.notes == ("Cells are not in quotes: all quotes are part of the texts.",)


@each_row("quoting", [csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
def test_list_of_quoted_texts_over_several_lines_is_read_back(quoting: int) -> None:
    texts = ["The first one, in a line.", "Great food.\nThe room was clean.", "Bad food.\n\nRude staff,\nno towels."]
    out = io.StringIO(newline="")
    csv.writer(out, quoting=quoting, lineterminator="\n").writerows([text] for text in texts)
    assert read(out.getvalue(), "texts.txt").column("text") == tuple(texts)


@each_row(
    "rows",
    [
        [['"Great" place', "1"], ["a\nb\tc", "2"]],
        [["a\n\tb\n\tc", "1"]],
        [["x", "\n|\t\t"]],
        [["x", 'a\n\t\t"b"']],
        [["a\tb", "c\n\td"], ["e\tf", "g"]],
    ],
)
def test_table_with_quoted_cells_over_several_lines_is_read_back(rows: list[list[str]]) -> None:
    for table in (
        [["text", "label"], *rows],
        [["id", "text", "label"], *([str(n), *row] for n, row in enumerate(rows))],
    ):
        out = io.StringIO(newline="")
        csv.writer(out, delimiter="\t", lineterminator="\n").writerows(table)
        assert read(out.getvalue(), "texts.tsv").data == tuple(zip(*table[1:], strict=True))


@given(st.lists(st.text(st.sampled_from('ab ",;\n'), max_size=12), min_size=1, max_size=4))
def test_well_written_quotes_are_never_changed(cells: list[str]) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL).writerow(cells)
    (row,) = csv.reader(io.StringIO(out.getvalue(), newline=""))
    assert keep_stray_quotes(row, out.getvalue(), ",") == cells


@given(st.lists(st.text("ab ", max_size=5) | st.just('"a" b'), min_size=1, max_size=4))
def test_row_with_a_stray_quote_is_noticed(fields: list[str]) -> None:
    assert has_stray_quote(",".join(fields) + "\r\n", ",") is ('"a" b' in fields)


def test_unclosed_quote_ends_with_the_file() -> None:
    table = read('id,text\n1,fine\n2,"never closed\n3,swallowed\n4,too\n')
    assert table.column("id") == ("1", "2")
    assert table.column("text") == ("fine", "never closed\n3,swallowed\n4,too")
    assert (table.read, rejections(table)) == (2, [])
    (note,) = table.notes
    assert note.startswith("Row 3: the quote opened in field 2 is never closed")
    assert "(line 5)" in note


@each_row("line_end", ["\n", "\r\n"])
def test_rows_that_an_unclosed_quote_took_in_are_kept(line_end: str) -> None:
    lines = ("id,text,gold", '0,"fine",0', '1,"never closed,1', "2,plain,0", '3,"quoted, too",1', '4,"last",0', "")
    table = read(line_end.join(lines))
    assert table.column("text") == ("fine", "plain", "quoted, too", "last")
    assert (table.line_numbers, rejections(table)) == ((2, 4, 5, 6), ["row 3: a quote that is never closed"])
    own = read('id,text,gold\n0,"He said:\n"Great" food",1\n1,"a ""b""\nc, d, e",0\n')
    assert own.column("text") == ('He said:\n"Great" food', 'a "b"\nc, d, e')
    assert read('text,id,gold\n"a\nb",7,1\n').column("text") == ("a\nb",)
    table = read(line_end.join(("text,label", '"never closed,1', "plain,0", '"quoted",1', "last,0", "")))
    assert table.column("text") == ("plain", "quoted", "last")
    assert (table.line_numbers, rejections(table)) == ((3, 4, 5), ["row 2: a quote that is never closed"])
    sentences = read(line_end.join(("text,label", '"Good,', '"great" and 5" wide",1', "last,0", "")))
    assert (len(sentences), rejections(sentences)) == (2, [])
    quotation = read(line_end.join(("id,text", "1,plain", '2,"She wrote:', 'well,"fine""', "3,more", "")))
    assert (len(quotation), rejections(quotation)) == (3, [])
    doubled = read(line_end.join(("id,text", '1,"open', '2,"she said ""no"""', "3,ok", "")))
    assert doubled.column("text") == ('she said "no"', "ok")


def test_row_that_leaves_a_quote_open_before_its_last_cell_is_rejected() -> None:
    lines = ["id;text;label", '0;"a";x', '1;"Great place;x', "2;plain;y", '3;"Bad place;x', "4;plain;y", '5;"c";x', ""]
    table = read("\n".join(lines))
    assert table.column("id") == ("0", "2", "4", "5")
    assert rejections(table) == ["row 3: a quote that is never closed", "row 5: a quote that is never closed"]


def test_rows_that_an_unclosed_quote_took_in_are_read_like_others() -> None:
    head = "id,text,label\n0,fine,1\n"
    table = read(f'{head}1,"never closed,1\nid,text,label\n2,"Great" food here,0\n3,\ufffd,0\n')
    assert table.column("text") == ("fine", '"Great" food here', "\ufffd")
    assert rejections(table) == ["row 3: a quote that is never closed", "row 4: it repeats the header"]
    assert read(f'{head}1,"never closed,1\n2,plain,0\n3,"quoted",0\n', max_rows=3).read == 3
    table = read(f'{head}1,pos,"never closed text\n2,neg,"b b\nmore of b"\n3,pos,fine\n')
    assert table.column("label") == ("1", "b b\nmore of b", "fine")
    assert (table.line_numbers, rejections(table)) == ((2, 4, 6), ["row 3: a quote that is never closed"])


@each_row(
    ("columns", "row", "cell"),
    [
        (
            "id,text,label",
            '1,"Great hotel.\nTom, "the Boss" wrote this",pos',
            'Great hotel.\nTom, "the Boss" wrote this',
        ),
        ("id,text,label", '1,"Great, hotel.\nTom, "the Boss" wrote",pos', 'Great, hotel.\nTom, "the Boss" wrote'),
        ("id,text,label", '1,"A, hotel.\nTom,"it is" again",pos', '"A, hotel.\nTom,"it is" again"'),
        ("id,label,text", '1,pos,"Great.\nTom, a 5" wide" "', '"Great.\nTom, a 5" wide" "'),
        ("id,label,text", '1,pos,"I like tea,\nmilk,x,"', "I like tea,\nmilk,x,"),
        ("id,text", '1,"Great.\nIt is, a 5" wide one"', 'Great.\nIt is, a 5" wide one'),
    ],
)
def test_cells_of_several_lines_with_quotes_stay_cells(columns: str, row: str, cell: str) -> None:
    fine = ",fine" * columns.count(",")
    table = read(f"{columns}\n0{fine}\n{row}\n2{fine}\n")
    assert (table.column("text"), rejections(table)) == (("fine", cell, "fine"), [])


def test_unclosed_quote_that_swallows_fields_is_rejected_as_too_short() -> None:
    table = read('id,text,gold\n1,fine,0\n2,"never closed,1\n3,swallowed,1\n')
    assert table.column("id") == ("1",)
    assert rejections(table) == ["row 3: 2 fields, expected 3, with a quote that is never closed"]
    assert table.rejected[0].raw == '2,"never closed,1\n3,swallowed,1'
    assert "never closed" in table.notes[0]


def test_line_of_100_mb_is_read(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    with path.open("w") as file:
        file.write("id,text\n1,before\n2,")
        for _ in range(100):
            file.write("x" * 1_000_000)
        file.write("\n3,behind\n")
    table = read_table(path, name=path.name)
    assert [*map(len, table.column("text"))] == [6, 100_000_000, 6]
    path.write_bytes(b"x" * 100_000_000)
    with pytest.raises(InputError, match=r"long\.csv has a header \(x.*100,000,000 characters\)\) but no rows"):
        read_table(path, name=path.name)
    path.unlink()


def test_nul_characters_are_removed_and_counted() -> None:
    table = read("id,text\n1,a\x00b\x00\n")
    assert table.column("text") == ("ab",)
    assert table.notes == ("NUL characters removed: 2.",)


def test_headers_are_trimmed_named_and_made_unique() -> None:
    table = read('\ufeff id , text ,,text,"line\nbreak",text_2\n1,2,3,4,5,6\n')
    assert table.columns == ("id", "text", "column_3", "text_3", "line break", "text_2")
    assert table.notes == (
        "Column 3 has no name: it is called 'column_3'.",
        "The column name 'text' is repeated: column 4 is called 'text_3'.",
    )


def test_escaped_formulas_are_restored() -> None:
    table = read("text,'=x\n'=1+1,'-a\n''=1,'tis\n-5,+1\n")
    assert table.columns == ("text", "=x")
    assert table.column("text") == ("=1+1", "'=1", "-5")
    assert table.column("=x") == ("-a", "'tis", "+1")
    assert table.notes[0].startswith("Cells with escaped formulas")
    assert table.notes[0].endswith(": 3.")


@each_row(
    ("data", "problem"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("\ufeff", "is empty"),
        ("\x00\x00\x00\x00\x00\x00\x00\x00", "nothing but NUL"),
        ("id,text\n", r"a header \(id, text\) but no rows"),
        ("id,text", "but no rows"),
        ("id,text\n\n  \n", "but no rows"),
        ('"id,text\n1,2\n', "never closed"),
        ((",".join(map(str, range(5000))) + "\n") * 2, "5,000 columns"),
    ],
)
def test_files_without_a_table_are_rejected(data: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(data)


def test_progress_rises_to_one() -> None:
    shares: list[float] = []
    read("id,text\n" + "1,some text\n" * 20_000, progress=shares.append)
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


cells = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\t\r\n\x1c\x85"), max_size=20)
tables = st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1))


@given(rows=tables, delimiter=st.sampled_from([",", ";", "\t", "|"]))
@example(rows=[["'=1"], ["''-"], ["\r"]], delimiter=",")
@example(rows=[["\r0"]], delimiter="\t")
def test_csv_written_by_python_is_read_back(rows: list[list[str]], delimiter: str) -> None:
    from core.csv_text import escape_formula

    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerow([f"c{n}" for n in range(len(rows[0]))])
    writer.writerows([escape_formula(cell) for cell in row] for row in rows)
    table = read(out.getvalue(), delimiter=delimiter)
    assert [list(row) for row in zip(*table.data, strict=True)] == rows
    assert table.read == len(table) == len(rows)


@given(st.text("ab,;\"'\n\r\t|= ", max_size=60))
def test_every_row_of_any_text_is_read_or_rejected(text: str) -> None:
    try:
        table = read("x,y\n" + text, delimiter=",")
    except InputError:
        assert not text.strip()
    else:
        assert table.read == len(table) + len(table.rejected)


def test_unclosed_quote_over_most_of_the_file_stops_the_import() -> None:
    text = 'id,text\n1,fine\n2,"never closed\n' + "3,swallowed\n" * 50
    with pytest.raises(InputError, match=r"Row 3: the quote opened in field 2.*most of the file.*Close the quote"):
        read(text)
    assert len(read("id,text\n" + "1,fine\n" * 60 + '2,"never closed\n' + "3,swallowed\n" * 50)) == 61


@each_row(
    "text",
    [
        "Guest survey 2024\n\nid,text,food\n1,Great food,1\n2,Dirty,0\n",
        "Guest survey 2024,,\n,,\nid,text,food\n1,Great food,1\n2,Dirty,0\n",
        "Export_2024,,\n,,\nid,text,food\n1,Great food,1\n2,Dirty,0\n",
        "sep=;\nGuest survey 2024;;\nid;text;food\n1;Great food;1\n2;Dirty;0\n",
    ],
)
def test_title_above_the_header_is_left_out(text):
    table = read_table(text.encode(), name="t.csv")
    assert (table.columns, table.column("text")) == (("id", "text", "food"), ("Great food", "Dirty"))
    title = text.removeprefix("sep=;\n").splitlines()[0].rstrip(",;")
    assert table.notes == (f"Above the header, and left out: {title}.",)
    assert table.line_numbers[0] == text[: text.index("Great")].count("\n") + 1


def test_many_lines_with_blank_lines_between_are_read() -> None:
    lines = tuple(f"It was noisy in room {number}." for number in range(1_200))
    assert read("\n\n".join(lines), "texts.txt").columns == ("text",)
    assert read("\n\n".join(lines), "texts.txt").column("text") == lines


@each_row(
    ("text", "columns"),
    [
        ("text,,\na,b,c\nd,e,f\n", ("text", "column_2", "column_3")),
        ("comment\n\nClean, cozy\nNice, warm\n", ("comment",)),
        ("id,text,\n1,Great,x\n", ("id", "text", "column_3")),
        ("id,,\n1,Great food,1\n", ("id", "column_2", "column_3")),
        ("comment\n\nClean, cozy, big\nNice, warm, small\n", ("comment",)),
    ],
)
def test_short_header_stays_the_header(text, columns):
    assert read_table(text.encode(), name="t.csv").columns == columns


def test_file_without_a_header_is_noted():
    note = "The first row looks like data. If it is, add a row with the names of the columns above it."
    assert note in read_table(b"1,Great food here and there,x\n2,Dirty,y\n", name="t.csv").notes
    assert read_table(b"id,What did you like most?,2024\n2,Dirty,y\n", name="t.csv").notes == (note,)
    assert read_table(b"id,What did you like most?,year\n2,Dirty,y\n", name="t.csv").notes == ()


PROSE = "We sat at the bar, and waited.\nThe food, was good.\nNo, thanks.\n"


def test_first_line_of_a_txt_that_reads_like_a_text_is_a_row() -> None:
    table = read(PROSE, "notes.txt")
    assert (table.columns, table.header, table.delimiter) == (("text",), "none", "")
    assert table.column("text") == tuple(PROSE.splitlines())
    assert table.line_numbers == (1, 2, 3)


def test_only_some_cells_of_a_table_with_tabs_are_quoted() -> None:
    rows = "".join(f'{n}\tThe room {n} had a 5" screen\tRoom\n' for n in range(5))
    quoted = '9\t"The soup, ""cold"", was bad"\tFood\n10\t"Two lines\nof a text"\tFood\n'
    table = read(f"id\ttext\tlabel\n{rows}{quoted}", "a.tsv")
    assert table.column("text")[4:] == (
        'The room 4 had a 5" screen',
        'The soup, "cold", was bad',
        "Two lines\nof a text",
    )
    assert not table.rejected
    open_quote = '11\t"Nice place\tRoom\n12\tHe said "no" again\tRoom\n'
    table = read(f"id\ttext\tlabel\n{rows}{quoted.splitlines()[0]}\n{open_quote}", "a.tsv")
    assert table.column("text")[5:] == ('"The soup, ""cold"", was bad"', '"Nice place', 'He said "no" again')


def test_quoted_fields_between_spaces_are_columns() -> None:
    table = read('"text" "label"\n"1" "It was cold, sadly." "a"\n"2" "Good" 7\n', "from_r.txt")
    assert (table.columns, table.delimiter) == (("column_1", "text", "label"), " ")
    assert table.column("text") == ("It was cold, sadly.", "Good")
    few = read('id text label\n1 "It was ""cold"", sadly." a\n2 Good 7\n', "from_readr.txt")
    assert (few.columns, few.column("text")) == (("id", "text", "label"), ('It was "cold", sadly.', "Good"))
    speech = read('She said "no"\nHe said "yes"\nThey said "maybe"\n', "a.txt")
    assert len(speech.columns) == 1
    quotation = read('"Good" "very good" they said\n"Bad" "very bad" they said\n', "a.txt")
    assert len(quotation.columns) == 1


@each_row("name", ["train.txt", "cooking.train"])
def test_labels_of_fasttext_are_a_column(name: str) -> None:
    table = read("__label__pos __label__food Good, but late.\n__label__neg Cold, sadly\n", name)
    assert (table.columns, table.header) == (("labels", "text"), "none")
    assert table.column("labels") == ("pos|food", "neg")
    assert table.column("text") == ("Good, but late.", "Cold, sadly")


@each_row("first", ["review", "What they liked", "id,text"])
def test_first_line_of_a_txt_that_names_columns_is_the_header(first: str) -> None:
    table = read(f"{first}\n1,The food was good.\n2,The soup was cold.\n", "notes.txt")
    assert (table.header, len(table)) == ("first line", 2)


def test_header_is_a_choice() -> None:
    table = read("We waited at the bar.\nThe food was good.\n", "notes.txt", header="first line")
    assert (table.columns, len(table)) == (("We waited at the bar.",), 1)
    assert table.notes == ("The first line is the name of the column.",)
    table = read("1;Good\n2;Bad\n", header="none")
    assert (table.columns, table.column("column_2"), table.header) == (
        ("column_1", "column_2"),
        ("Good", "Bad"),
        "none",
    )


def test_line_with_the_delimiter_is_no_row_of_a_file_without_a_header() -> None:
    table = read("sep=;\n1;Good\n2;Bad\n", header="none")
    assert (table.column("column_2"), table.line_numbers, table.read) == (("Good", "Bad"), (2, 3), 2)
