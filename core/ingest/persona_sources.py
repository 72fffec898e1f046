"""Reader of texts from which personas are made: txt and Markdown unchanged, PDF page by page."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from core.documents import storable
from core.errors import InputError
from core.files import read_bytes
from core.ingest import child_process
from core.ingest.decode import detect_encoding

SUFFIXES = (".txt", ".md", ".pdf")
MAX_BYTES = 200_000_000
MAX_CHARACTERS = 2_000_000


def read_text_file(source: bytes | Path, name: str) -> str:
    """Return the text of a file, which a child process reads (``core.ingest.child_process``).

    InputError for other kinds of files, and if it cannot be read, meets a limit or has no words. A scanned PDF has no
    words, only pictures of them.
    """
    suffix = Path(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{name} is not a supported text file.", f"Use {', '.join(SUFFIXES)}.")
    if isinstance(source, Path):
        source = read_bytes(source, most=MAX_BYTES)
    return "".join(child_process.run("core.ingest.persona_sources:serve_text", source, {"name": name}))


def serve_text(stream: BinaryIO, name: str) -> Iterator[str]:
    """Yield the text of a file like ``read_text_file``, but in this process, without limits on memory and time."""
    source = stream.read()
    is_pdf = name.lower().endswith(".pdf")
    text = _pdf(source, name) if is_pdf else _plain(source, name)
    text = storable(text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    if not any(map(str.isalpha, text)):
        why = "It may be scanned: use one with text in it." if is_pdf else "Use another."
        raise InputError(f"{name} has no words.", why)
    yield text[:MAX_CHARACTERS]


def _plain(source: bytes, name: str) -> str:
    decoding = detect_encoding(io.BytesIO(source), None, name)
    return source.decode(decoding.encoding, decoding.errors)


def _pdf(source: bytes, name: str) -> str:
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(io.BytesIO(source))
        if reader.is_encrypted and not reader.decrypt(""):
            raise InputError(f"{name} is locked with a password.", "Save it without one.")
        return "\n\n".join(page.extract_text() for page in reader.pages)
    except InputError:
        raise
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError, NotImplementedError) as error:
        raise InputError(f"{name} cannot be read as a PDF ({error}).", "Save it again, or as text.") from error
