"""Tests of the reader of txt, md and pdf files, which are sources of personas."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import InputError
from core.ingest.persona_sources import read_text_file


def pdf(text: str) -> bytes:
    """Return a PDF with one page: a header, five objects and their table."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % len(out)
    return out + b"xref\n0 6\n0000000000 65535 f \n" + table + end


def test_persona_sources_are_read_verbatim_and_pdfs_as_text(tmp_path: Path) -> None:
    assert read_text_file("Müde\r\nEltern.".encode("cp1252"), "a.txt") == "Müde\nEltern."
    assert read_text_file("# Parents\n\nwant \ud800 rest".encode("utf-8", "surrogatepass"), "a.md").startswith(
        "# Parents"
    )
    assert read_text_file(pdf("Parents want short questions."), "a.PDF") == "Parents want short questions."
    path = tmp_path / "notes.txt"
    path.write_text("Words.", encoding="utf-8")
    assert read_text_file(path, path.name) == "Words."


@pytest.mark.parametrize(
    ("content", "name", "problem"),
    [
        (b"x", "a.docx", "not a supported text file"),
        (b" \n 12", "a.txt", "has no words"),
        (pdf(""), "scan.pdf", "It may be scanned"),
        (b"%PDF-1.4 broken", "a.pdf", "cannot be read as a PDF"),
        (Path("/no/such.txt"), "such.txt", "cannot be read"),
    ],
)
def test_unreadable_persona_sources_are_rejected(content: bytes | Path, name: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_text_file(content, name)
