"""Decode text files: detect the encoding (UTF-8 if possible), then read line by line in bounded memory."""

from __future__ import annotations

import codecs
import io
import os
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Self

from core.errors import InputError, UsageError
from core.ingest.table import TableSource

CHUNK = 1 << 20
SAMPLE = 32_768

_BOMS = (  # UTF-32 first: its little-endian mark starts with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SIGNS = frozenset("‘’“”„‚«»‹›–—…•·€£¥¢©®™°§¿¡ºª²½¼¾×÷´¨¦¬†‡‰\xa0\xad")
_WESTERN = _SIGNS | frozenset("äöüßÄÖÜéèêëÉÈÊËáàâãåÁÀÂÃÅíìîïÍÌÎÏóòôõøÓÒÔÕØúùûÚÙÛñÑçÇæÆœŒýÿ±µ¶")
_TURKISH = _SIGNS | frozenset("çğıöşüâîûÇĞİÖŞÜÂÎÛ")
_POLISH = _SIGNS | frozenset("ąćęłńóśźżĄĆĘŁŃÓŚŹŻ")
_CZECH = _SIGNS | frozenset("áäčďéěíĺľňóôŕřšťúůýžÁÄČĎÉĚÍĹĽŇÓÔŔŘŠŤÚŮÝŽ")
_DANUBE = _SIGNS | frozenset("áéíóöőúüűÁÉÍÓÖŐÚÜŰăâîşţĂÂÎŞŢčćđšžČĆĐŠŽ")
_LATIN = (  # tried in this order: charset-normalizer takes short Spanish or German texts for cp1250, with ň for ñ
    ("cp1252", _WESTERN),
    ("mac_roman", _WESTERN),
    ("cp1254", _TURKISH),
    ("cp1250", _POLISH),
    ("iso8859_2", _POLISH),
    ("cp1250", _CZECH),
    ("iso8859_2", _CZECH),
    ("cp1250", _DANUBE),
    ("iso8859_2", _DANUBE),
)
_DOS_LATIN = (
    ("cp850", _WESTERN),
    ("cp852", _POLISH),
    ("cp852", _CZECH),
    ("cp852", _DANUBE),
    ("cp857", _TURKISH),
)
_INSIDE = re.compile(r"(?<=[a-z])[^\x00-\x7f\xa0\xad’‘“”…–—•·](?=[a-z])")
"""A character inside a word of small letters, unless it may separate words. In a wrong encoding, many are signs or
capital letters."""
_DOS = re.compile(rb"(?<=[a-z])[\xa1-\xa4\xc6]|\x87[\xc6\xe4]|(?<=[a-zA-Z])(?:[\x81\x82\x84]|\x94(?=[a-z]))")
"""Letters of DOS (ü é ä ö í ó ú ñ ã çã çõ) inside a word. In other Latin encodings, these bytes are capital letters, or
signs before a word (ö: after it)."""
_HUNGARIAN = _SIGNS | frozenset("áéíóöőúüű")
_LONG_VOWEL = re.compile("ű|ő(?!e)")
"""Letters of Hungarian that are û and õ in cp1252. Portuguese has õ only before e; Estonian and French have no á."""
_POLISH_L = re.compile("(?<=[a-z])ł(?=[aiouyó])")
"""A letter of Polish. Its byte in cp852 is ê in cp850, rarely before these vowels, and à in MacRoman, at word ends."""
_LETTERS = frozenset().union(*(letters for _, letters in _LATIN))
_JIS = b"\x1b$B"
"""Escape sequence before Japanese characters in ISO-2022-JP, which has only bytes of ASCII."""
_RUNS = re.compile(r"[À-ÖØ-öø-ſ]{3,}")
_OTHERS = [
    "cp1250", "cp1251", "koi8_r", "cp866", "cp1253", "cp1255", "cp1256", "cp1257", "cp874", "cp932", "euc_jp",
    "gb18030", "big5", "cp949", "euc_kr",
]  # fmt: skip


def _handler(encoding: str) -> str:
    """Register an error handler of UTF-8 that reads other bytes in ``encoding``; return its name."""

    def read(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeDecodeError)
        return error.object[error.start : error.end].decode(encoding, "replace"), error.end

    codecs.register_error(f"moot.{encoding}", read)
    return f"moot.{encoding}"


_HANDLERS = {encoding: _handler(encoding) for encoding in ("cp1252", "cp1254", "cp1250", "iso8859_2")}


@dataclass(frozen=True, slots=True)
class Decoding:
    """The encoding of a file.

    ``errors`` is ``replace`` if some bytes fit no encoding, and ``moot.cp1252`` (or another Latin encoding) if bytes
    that are not UTF-8 are read in that encoding. ``note`` describes a guess or a file in two encodings, if it is one.
    """

    encoding: str
    errors: str = "strict"
    note: str = ""


def detect_utf16_or_32(head: bytes) -> str | None:
    """Return the encoding if a byte-order mark or the pattern of NULs shows UTF-16 or UTF-32, else None.

    Text in UTF-16 without a mark has NULs almost only at odd (little-endian) or even offsets, if most of it is
    ASCII.
    """
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            return encoding if encoding != "utf-8-sig" else None
    even, odd = head[0::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    if half >= 2 and max(even, odd) > 0.4 * half and min(even, odd) < 0.05 * half:
        return "utf-16-le" if odd > even else "utf-16-be"
    return None


def detect_encoding(stream: BinaryIO, requested: str | None, name: str) -> Decoding:
    """Detect how to decode ``stream``, which is read once and left at its start.

    A ``requested`` encoding is used and must fit: UsageError if Python does not know it, InputError if a byte does not
    fit. Otherwise, in this order: a byte-order mark, UTF-16 by its NULs, ISO-2022-JP by its escape sequences, UTF-8 if
    every byte fits, UTF-8 with a few damaged characters if most fit, the encodings of Latin letters, and what
    charset-normalizer finds. The last two are guesses. If some lines are in UTF-8 and others in a Latin encoding, each
    byte is read in the one that it fits, with a note.
    """
    stream.seek(0)
    head = stream.read(CHUNK)
    if requested is not None:
        return _check_encoding(stream, requested, name, head)
    encoding = detect_utf16_or_32(head) or ("utf-8-sig" if head.startswith(codecs.BOM_UTF8) else "utf-8")
    misfit = _first_misfit(stream, encoding)
    if misfit is None:
        is_jis = _JIS in head and _first_misfit(stream, "iso2022_jp_ext") is None
        return Decoding("iso2022_jp_ext" if is_jis else encoding)
    utf8, misfits, share = _lines_by_fit(stream)
    if encoding != "utf-8" or _mostly_utf8(misfits):
        return Decoding(encoding, "replace")
    legacy = _legacy(misfits)
    if legacy in _HANDLERS and _is_utf8_on_purpose(utf8):
        return Decoding("utf-8", _HANDLERS[legacy], f"Two encodings: {share} are not UTF-8 and were read as {legacy}.")
    if legacy == "cp1252" and _first_misfit(stream, "cp1252") is not None:
        legacy = "latin-1"
    fits = legacy == "latin-1" or _first_misfit(stream, legacy) is None
    guess = f"The encoding {legacy} is a guess: choose another one if letters are wrong."
    return Decoding(legacy, "strict" if fits else "replace", guess)


def _check_encoding(stream: BinaryIO, requested: str, name: str, head: bytes) -> Decoding:
    """Return the decoding in the encoding that the user chose. Raises as ``detect_encoding``."""
    try:
        encoding = codecs.lookup(requested).name
        "".encode(encoding)  # LookupError for rot13 and others that are no encodings of text
    except (LookupError, ValueError) as error:
        raise UsageError(f"'{requested}' is not a known encoding.", "Try utf-8, utf-16, cp1252 or latin-1.") from error
    if encoding == "utf-8" and head.startswith(codecs.BOM_UTF8):
        encoding = "utf-8-sig"
    misfit = _first_misfit(stream, encoding)
    if misfit is not None:
        raise InputError(
            f"{name} is not {requested}: byte {misfit:,} does not fit.",
            "Leave the encoding to be detected, or give another.",
        )
    return Decoding(encoding)


def _first_misfit(stream: BinaryIO, encoding: str) -> int | None:
    """Return the offset (of the chunk's error) of the first byte that does not fit the encoding, None if all fit."""
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    stream.seek(0)
    offset = 0
    try:
        while chunk := stream.read(CHUNK):
            decoder.decode(chunk)
            offset += len(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        return offset + error.start
    except UnicodeError:  # UTF-16 without a mark where one is needed
        return offset
    finally:
        stream.seek(0)
    return None


def _lines_by_fit(stream: BinaryIO) -> tuple[bytes, bytes, str]:
    """Return up to ``SAMPLE`` bytes of lines beyond ASCII that are UTF-8, the same of the others, and their share."""
    counts: Counter[bool] = Counter()
    samples = {True: b"", False: b""}
    while line := stream.readline(CHUNK):
        if line.isascii():
            continue
        try:
            line.decode()
            is_utf8 = True
        except UnicodeDecodeError:
            is_utf8 = False
        counts[is_utf8] += 1
        samples[is_utf8] += line[: SAMPLE - len(samples[is_utf8])]
    stream.seek(0)
    share = f"{counts[False]:,} of {counts.total():,} lines with letters beyond ASCII"
    return samples[True], samples[False], share


def _is_utf8_on_purpose(sample: bytes) -> bool:
    """Return False for lines of a Latin encoding that are UTF-8 by chance.

    Two of its bytes can be (the end of "Spaß…"), but then hardly mean a Latin letter.
    """
    characters = [character for character in sample.decode("utf-8", "ignore") if not character.isascii()]
    likely = sum(character in _LETTERS or character > "\u0800" for character in characters)
    return likely > len(characters) / 2


def _mostly_utf8(misfits: bytes) -> bool:
    """Return True for lines of damaged UTF-8, False for another encoding, which hardly ever is valid UTF-8."""
    text = misfits.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    valid = sum(not character.isascii() for character in text) - broken
    return valid > broken


def _legacy(sample: bytes) -> str:
    text = sample.decode("cp852", "replace")
    if _POLISH_L.search(text) and _fits(text, _POLISH):
        return "cp852"
    dos = [encoding for encoding, is_small in _fitting(sample, _DOS_LATIN) if is_small]
    if len(_DOS.findall(sample)) > 0.3 * sum(byte > 127 for byte in sample):
        return next(iter(dos), "cp850")
    text = sample.decode("cp1250", "replace").lower()
    if "á" in text and _LONG_VOWEL.search(text) and _fits(text, _HUNGARIAN):
        return "cp1250"
    latin = dict(_fitting(sample, _LATIN))
    if likely := [*(encoding for encoding, is_small in latin.items() if is_small is not False), *dos, *latin]:
        return likely[0]
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=_OTHERS, enable_fallback=False).best()
    return best.encoding if best is not None else "cp1252"


def _fitting(sample: bytes, encodings: Sequence[tuple[str, frozenset[str]]]) -> Iterator[tuple[str, bool | None]]:
    """Yield the encodings whose letters fit, and whether the letters inside words are small; None if there are none."""
    for encoding, letters in encodings:
        text = sample.decode(encoding, "replace")
        if _fits(text, letters):
            inside = _INSIDE.findall(text)
            small = sum(letter != letter.upper() for letter in inside)
            yield encoding, small >= 0.95 * len(inside) if inside else None


def _fits(text: str, letters: frozenset[str]) -> bool:
    """Return True if nearly all non-ASCII characters are in ``letters``, rarely three in a row as in other scripts."""
    foreign = [character for character in text if not character.isascii()]
    usual = sum(map(letters.__contains__, foreign))
    in_runs = sum(map(len, _RUNS.findall(text)))
    return usual >= 0.95 * len(foreign) and in_runs <= 0.3 * len(foreign)


END = "\ufdd0end of file\ufdd1"
"""The line that ``LineReader`` can add at the end of a file. A parser with an open quotation mark swallows it."""


class LineReader:
    """Physical lines with their ends (LF, CRLF or CR); NULs are removed and counted.

    ``number`` is the number of the last line, from 1. With ``mark_end``, ``END`` is the last line, ``begin`` starts a
    row, and ``text`` is the text read since then. As a context manager it leaves the stream open.
    """

    def __init__(self, source: TableSource, decoding: Decoding, *, mark_end: bool) -> None:
        self._source = source
        self._size = max(1, source.stream.seek(0, os.SEEK_END))
        source.stream.seek(0)
        self._text = io.TextIOWrapper(source.stream, decoding.encoding, decoding.errors, newline="")
        self._replacing = decoding.errors == "replace"
        self._notes = (decoding.note,) if decoding.note else ()
        self._mark_end = mark_end
        self._pending: list[str] = []
        self._unread: deque[str] = deque()
        self.number = 0
        self.nuls = 0
        self.replaced = 0
        self.ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._text.detach()

    def __iter__(self) -> Self:
        return self

    def begin(self) -> None:
        """Start a row with the next line."""
        self._pending.clear()

    def unread(self, lines: Sequence[str]) -> None:
        """Let the last lines be read once more."""
        self._unread.extendleft(reversed(lines))
        self.number -= len(lines)
        if self._replacing:
            self.replaced -= sum(line.count("\ufffd") for line in lines)

    @property
    def text(self) -> str:
        """The text read of this row, with line ends."""
        return "".join(self._pending)

    def __next__(self) -> str:
        line = self._unread.popleft() if self._unread else self._text.readline()
        if not line:
            if self.ended or not self._mark_end:
                raise StopIteration
            self.ended = True
            return END
        self.number += 1
        if not self.number & 0xFFF:
            self._source.progress(min(1.0, self._source.stream.tell() / self._size))
        if self.number == 1:
            line = line.removeprefix("\ufeff")
        if "\x00" in line:
            self.nuls += line.count("\x00")
            line = line.replace("\x00", "")
        if self._replacing and "\ufffd" in line:
            self.replaced += line.count("\ufffd")
        if self._mark_end:
            self._pending.append(line)
        return line

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on changes to the text."""
        notes = [*self._notes]
        if self.nuls:
            notes.append(f"NUL characters removed: {self.nuls:,}.")
        if self.replaced:
            notes.append(f"Characters that did not fit the encoding and became \ufffd: {self.replaced:,}.")
        return tuple(notes)
