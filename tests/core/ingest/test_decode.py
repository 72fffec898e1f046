"""Tests of encodings and of files whose content differs from their suffix."""

from __future__ import annotations

import bz2
import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import InputError, UsageError
from core.ingest.read import read_table
from core.ingest.table import ReadOptions, Table
from tests.each_row import each_row

GERMAN = "id;text\n1;Das Zimmer war schön, die Küche roch übel.\n2;Größe: ärgerlich klein\n"
SPANISH = "id;text\n1;La habitación era pequeña pero el señor muy amable. ¿Volvería? ¡Sí!\n"
FRENCH = "id;text\n1;L’hôtel était bien situé, à deux pas du métro – déçu par le café à 5 €.\n"
POLISH = "id;text\n1;Pokój był czysty, śniadanie bardzo dobre, łazienka mała i źle sprzątana\n"
CZECH = "id;text\n1;Pokoj byl čistý, ale snídaně špatná a žádné příjemné chování. Můžeme říct dost.\n"
TURKISH = "id;text\n1;Oda çok temizdi, kahvaltı güzeldi, çalışanlar nazikti ama gürültü vardı.\n"
PORTUGUESE = "id;text\n1;As refeições não eram boas, as instalações são antigas, mas a localização é ótima\n"
HUNGARIAN = "id;text\n1;A szálloda gyönyörű volt, a személyzet kedves és segítőkész, de a reggeli drága\n"
ESTONIAN = "id;text\n1;Hotell oli väga hea, söök külm, kõik võõrad sõbralikud\n"
GREEK = "id;text\n1;Το δωμάτιο ήταν καθαρό και το πρωινό πολύ καλό\n"
RUSSIAN = "id;text\n1;Номер был чистый, завтрак хороший, персонал вежливый\n"
RUSSIAN_ROWS = f"{RUSSIAN}2;Завтрак разнообразный, но цены высокие\n3;Расположение удобное, рядом метро\n"
THAI = "id,text\n1,ห้องพักสะอาดมาก พนักงานบริการดี\n2,อาหารเช้ามีให้เลือกเยอะแต่ราคาแพง\n"
JAPANESE = "id,text\n1,部屋はとても清潔で、朝食も美味しかったです。スタッフも親切でした。\n"


def read(data: bytes, name: str = "data.csv", encoding: str | None = None) -> Table:
    return read_table(data, name=name, options=ReadOptions(encoding=encoding))


@each_row(
    ("text", "encoding", "shown"),
    [
        (GERMAN, "utf-8", "utf-8"),
        (GERMAN, "utf-8-sig", "utf-8-sig"),
        (GERMAN, "utf-16", "utf-16"),
        (GERMAN, "utf-16-le", "utf-16-le"),
        (GERMAN, "utf-16-be", "utf-16-be"),
        (GERMAN, "utf-32", "utf-32"),
        (JAPANESE, "utf-16", "utf-16"),
        (GERMAN, "latin-1", "cp1252"),
        ("id;text\n1;schön\n", "latin-1", "cp1252"),
        (SPANISH, "cp1252", "cp1252"),
        (FRENCH, "cp1252", "cp1252"),
        (POLISH, "cp1250", "cp1250"),
        (POLISH, "iso8859-2", "iso8859_2"),
        (CZECH, "cp1250", "cp1250"),
        (CZECH, "iso8859-2", "iso8859_2"),
        (TURKISH, "cp1254", "cp1254"),
        (PORTUGUESE, "latin-1", "cp1252"),
        (PORTUGUESE, "cp850", "cp850"),
        ("id;text\n1;botões e padrões práticos\n", "latin-1", "cp1252"),
        ("id;text\n1;Le café d’août était goûté\n", "cp1252", "cp1252"),
        (ESTONIAN, "cp1252", "cp1252"),
        (HUNGARIAN, "cp1250", "cp1250"),
        (HUNGARIAN.upper().replace("ID;TEXT", "id;text"), "iso8859-2", "cp1250"),
        (GREEK, "cp1253", "cp1253"),
        (RUSSIAN, "cp1251", "cp1251"),
        (RUSSIAN, "koi8-r", "koi8_r"),
        (RUSSIAN_ROWS, "cp866", "cp866"),
        (THAI, "cp874", "cp874"),
        (JAPANESE, "shift_jis", "cp932"),
        (JAPANESE, "euc-jp", "euc_jp"),
        (JAPANESE, "iso2022_jp", "iso2022_jp_ext"),
        (GERMAN, "mac_roman", "mac_roman"),
        (GERMAN, "cp850", "cp850"),
        (GERMAN, "cp437", "cp850"),
        (SPANISH, "cp850", "cp850"),
        (FRENCH, "mac_roman", "mac_roman"),
        ("id;text\n1;It’s a long day—longer than I thought\xa0… isn’t it\n", "cp1252", "cp1252"),
        (CZECH, "cp852", "cp852"),
        ("id;text\n1;Obsługa była miła, ale śniadanie zimne i źle podane\n", "cp852", "cp852"),
        ("id;text\n1;Zupa była zimna\n", "cp852", "cp852"),
        (TURKISH, "cp857", "cp857"),
        ("id;text\n1;Soba je čista, žao nam je što smo otišli\n", "cp852", "cp852"),
        ("id;text\n1;Osoblje ljubazno, doručak odličan, šteta\n2;Išli smo već sljedeći dan\n", "cp1250", "cp1250"),
        ("id;text\n1;Camera era liniştită\n", "cp1250", "cp1250"),
        ("id;text\n1;Værelset var rent, sengen hård\n", "mac_roman", "mac_roman"),
        ("id;text\n1;Værelset var rent, sengen hård\n", "cp850", "cp850"),
    ],
)
def test_encoding_is_found_and_shown(text: str, encoding: str, shown: str) -> None:
    table = read(text.encode(encoding))
    assert table.encoding == shown
    assert table.column("text")[0] == text.splitlines()[1][2:]
    assert table.columns == ("id", "text")


def test_latin_1_with_semicolons_and_crlf_is_read(tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    path.write_bytes(GERMAN.replace("\n", "\r\n").encode("latin-1"))
    table = read_table(path, name=path.name)
    assert (table.encoding, table.delimiter, len(table)) == ("cp1252", ";", 2)


def test_late_byte_changes_the_encoding() -> None:
    data = b"id,text\n" + b"1,plain\n" * 150_000 + "2,schön\n".encode("latin-1")
    table = read(data)
    assert (table.encoding, table.column("text")[-1]) == ("cp1252", "schön")


def test_control_bytes_of_latin_1_are_not_cp1252() -> None:
    data = "text;x\nschön\x81;1\nÄrger über Größe;2\nMüßiggang;3\nblöd;4\nÖl für süße Äpfel;5\nÜbermäßig schön;6\n"
    assert read(data.encode("latin-1")).encoding == "latin-1"


def test_damaged_utf_8_is_read_as_utf_8_with_a_note() -> None:
    data = GERMAN.encode()
    table = read(data[:-3] + b"\xff" + data[-3:])
    assert table.encoding == "utf-8"
    assert table.column("text")[0].endswith("übel.")
    assert table.notes == ("Characters that did not fit the encoding and became \ufffd: 1.",)


@each_row(("text", "encoding"), [(GERMAN, "cp1252"), (FRENCH, "cp1252"), (POLISH, "cp1250"), (CZECH, "iso8859_2")])
@each_row("other", [1, 5, 9])
@each_row("name", ["data.csv", "data.jsonl", "data.json"])
def test_two_encodings_in_one_file_are_both_read_and_noted(text: str, encoding: str, other: int, name: str) -> None:
    line = text.splitlines()[1][2:]
    lines = [line.encode()] * (10 - other) + [line.encode(encoding)] * other
    if name == "data.csv":
        data = b"text\n" + b"".join(b'"%s"\n' % line for line in lines)
    else:
        objects = [b'{"text": "%s"}' % line for line in lines]
        data = b"\n".join(objects) if name.endswith("l") else b"[%s]" % b",\n".join(objects)
    table = read(data, name)
    assert set(table.column("text")) == {line}
    assert table.notes == (
        f"Two encodings: {other} of 10 lines with letters beyond ASCII are not UTF-8 and were read as {encoding}.",
    )


@each_row("line", ["Das war ein Spaß…", "CAFÉ\xa0!", "«ESPAÑ»", "ÄRGER IN KÖLN”"])
def test_bytes_that_are_utf_8_by_chance_do_not_make_two_encodings(line: str) -> None:
    table = read("".join(["text\n", *(f'"{line}"\n"größere Küche: schön"\n' for _ in range(9))]).encode("cp1252"))
    guess = "The encoding cp1252 is a guess: choose another one if letters are wrong."
    assert (table.encoding, table.notes, table.column("text")[0]) == ("cp1252", (guess,), line)


def test_given_encoding_is_used() -> None:
    assert read(GERMAN.encode("cp437"), encoding="cp437").column("text")[1] == "Größe: ärgerlich klein"
    japanese = "id,text\n" + "".join(f"{n},部屋はとてもきれいで朝食もおいしかったです\n" for n in range(50))
    assert read(japanese.encode("utf-16-le"), encoding="utf-16-le").column("text")[1].startswith("部屋")
    with pytest.raises(InputError, match="holds binary data"):
        read(bytes(range(256)) * 4, encoding="latin-1")
    assert read(b"\xef\xbb\xbfid,text\n1,a\n", encoding="utf-8").columns == ("id", "text")
    with pytest.raises(InputError, match="is not utf-8: byte 28"):
        read(GERMAN.encode("latin-1"), encoding="utf-8")
    for wrong in ("klingon", "rot13", "hex"):
        with pytest.raises(UsageError, match="not a known encoding"):
            read(b"id,text\n1,a\n", encoding=wrong)


def _zip(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (bytes(range(256)) * 20, "is not text: it holds binary data"),
        (b"\x00\x01\x02\x03" * 100, "binary data"),
        (b"\x89PNG\r\n\x1a\n" + b"\x00" * 50, "a picture"),
        (b"%PDF-1.7\n", "a PDF"),
        (gzip.compress(b"id,text\n1,a\n", mtime=0), "an archive"),
        (bz2.compress(b"id,text\n1,a\n"), "an archive"),
        (bz2.compress(b""), "an archive"),
        (b"PAR1" + b"\x00" * 40, "a Parquet file"),
        (b"PK\x03\x04 cut", "a damaged zip"),
        (_zip("xl/workbook.xml"), "an Excel file"),
        (_zip("word/document.xml"), "a Word document"),
        (_zip("a.txt"), "an archive"),
        (_zip("project.qde", "sources/a.txt"), "a project of a program for qualitative analysis"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600, "an old Excel file"),
        (b"<!DOCTYPE html><html><body>Log in", "a web page"),
        (b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00]", "pickle, which is never loaded"),
        (b"12345678DUCK" + b"\x00" * 30, "a DuckDB database"),
    ],
)
def test_binary_file_with_a_text_suffix_is_named(data: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(data)
    with pytest.raises(InputError, match=problem) as caught:
        read_table(path, name=path.name)
    assert str(caught.value).startswith(("data.csv is not text", "data.csv is not a table in text form but"))
    assert caught.value.remedy


def test_excel_file_named_csv_is_rejected(xlsx: Callable[..., bytes]) -> None:
    data = xlsx({"S": [["text"], ["a"]]})
    with pytest.raises(InputError, match=r"is not a table in text form but an Excel file\. Rename it to end in \.xlsx"):
        read(data)
    assert read(data, "data").format == "xlsx"  # without a suffix the content decides


def test_text_with_the_suffix_of_a_binary_file_is_rejected() -> None:
    with pytest.raises(InputError, match=r"data\.parquet is not a Parquet file"):
        read(b"id,text\n1,a\n", "data.parquet")
    with pytest.raises(InputError, match=r"data\.xls is not a workbook"):
        read(b"\x00\x01\x02\x03" * 30, "data.xls")


@each_row("name", ["data.xlsx", "data.xls"])
@each_row("encoding", ["cp1252", "utf-16"])
def test_text_that_is_called_a_workbook_is_read(name: str, encoding: str) -> None:
    assert read("id\ttext\n1\tTrès bon\n".encode(encoding), name).column("text") == ("Très bon",)


@each_row(
    ("data", "problem"),
    [
        (b'\xef\xbb\xbf<?xml version="1.0"?>\n<sentences></sentences>', "an XML file"),
        (
            b"#FORMAT=WebAnno TSV 3.3\n\n#Text=Cold soup\n1-1\t0-4\tCold\t_\n",
            "a file with annotations of words or passages",
        ),
        (b'{"%TYPES": {}, "%FEATURE_STRUCTURES": []}', "a file with annotations of words or passages"),
        (
            b'<?xml version="1.0" encoding="UTF-8"?>\n<xmi:XMI xmlns:xmi="x"/>',
            "a file with annotations of words or passages",
        ),
        (b"-DOCSTART- -X- -X- O\n\nCold JJ B-NP O\n", "a file with annotations of words or passages"),
        (b"# sent_id = 1\n# text = Cold soup\n1\tCold\tcold\n", "a file with annotations of words or passages"),
        (b"Cold -X- _ O\nsoup -X- _ B-Food\n", "a file with annotations of words or passages"),
        (b"The\tO\r\ncold\tO\r\nsoup\tB-Food\r\n", "a file with annotations of words or passages"),
        (b"T1\tFood 5 9\tsoup\nE1\tFood:T1\n", "a file with annotations of words or passages"),
        (b"TY  - JOUR\nTI  - Title\nER  - \n", "a list of references"),
        (b"@article{a1,\n  title={Title}\n}\n", "a list of references"),
        (b"$FL2@(#) IBM SPSS STATISTICS", "an SPSS file"),
        (b"<stata_dta><header>", "a Stata file"),
    ],
)
def test_files_without_a_table_are_rejected_by_kind(data: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=f"is not a table in text form but {problem}"):
        read(data)


def test_yaml_file_is_rejected_with_a_remedy() -> None:
    with pytest.raises(InputError, match="is not a table but a YAML file") as caught:
        read(b"labels: [{name: Food}]\n", "book.yml")
    assert caught.value.remedy == "Import a codebook on Codebook. Save the table as csv, xlsx, jsonl or parquet."


@each_row(
    "data",
    [
        "@anna {hi},x\nb,y\n",
        "# text = reviews\nid,text\n1,a\n",
        "name\tblood type\nAnna\tO\nBen\tO\nCem\tO\n",
        "id,text,DUCKS\n1,a,2\n",
        "PAR1,text\n1,a\n",
        "BZh\nHello\n",
        "GIF8,$FL2\n1,a\n",
        "$FL2,text\n1,a\n",
    ],
)
def test_tables_that_begin_like_other_files_are_read(data: str) -> None:
    assert len(read(data.encode())) >= 1


def test_missing_file_and_folder_are_rejected(tmp_path: Path) -> None:
    for path in (tmp_path / "gone.csv", tmp_path):
        with pytest.raises(InputError, match=f"{path} cannot be read: .+ Check the path"):
            read_table(path, name=path.name)
    (tmp_path / "empty.csv").touch()
    with pytest.raises(InputError, match=r"empty\.csv is empty"):
        read_table(tmp_path / "empty.csv", name="empty.csv")
