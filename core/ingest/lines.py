"""A text file line by line, in bounded memory however long its lines are."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import BinaryIO, Self, TypeAlias

from core.ingest.encoding import Decoding

ROW_LIMIT = 10_000_000
"""Characters that one row may have. A longer one is rejected; reading goes on behind it."""

Progress: TypeAlias = Callable[[float], None]

END = "\ufdd0end of file\ufdd1"
"""What ``Lines`` yields after the last line when asked to, so that a parser shows whether it waits for a quote."""


class RowTooLong(Exception):
    """The row has more characters than may be kept. The line that went over it has been read to its end."""


class Lines:
    """Physical lines with their ends (LF, CRLF or CR), NULs taken out and counted.

    ``begin`` starts a row: ``text`` is then what was read of it, and a row that grows over ``limit`` characters raises
    RowTooLong, after which iteration may go on. ``number`` is that of the line read last, from 1. A context manager:
    the stream stays open behind it.
    """

    def __init__(
        self, stream: BinaryIO, decoding: Decoding, *, size: int, limit: int, progress: Progress | None, mark_end: bool
    ) -> None:
        stream.seek(0)
        self._stream = stream
        self._text = io.TextIOWrapper(stream, decoding.encoding, decoding.errors, newline="")
        self._size = max(1, size)
        self._progress = progress
        self._replacing = decoding.errors == "replace"
        self._mark_end = mark_end
        self._pending: list[str] = []
        self._length = 0
        self._quotes = 0
        self.limit = limit
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
        """The next line starts a row."""
        self._pending.clear()
        self._length = 0

    @property
    def text(self) -> str:
        """What was read of this row, line ends included; only its start when it was too long."""
        return "".join(self._pending)

    def __next__(self) -> str:
        line = self._text.readline(self.limit + 1)
        if not line:
            if self.ended or not self._mark_end:
                raise StopIteration
            self.ended = True
            return END
        self.number += 1
        if self._progress is not None and not self.number & 0xFFF:
            self._progress(min(1.0, self._stream.tell() / self._size))
        if self.number == 1:
            line = line.removeprefix("\ufeff")
        if "\x00" in line:
            self.nuls += line.count("\x00")
            line = line.replace("\x00", "")
        if self._replacing and "\ufffd" in line:
            self.replaced += line.count("\ufffd")
        self._length += len(line)
        self._pending.append(line)
        if self._length > self.limit:
            self._finish_line(line)
            raise RowTooLong
        return line

    def skip_quoted(self) -> bool:
        """After RowTooLong in a file with quotes: read on until the row's open quote closes, on the parity of quotes.

        True when it closed (at once if none was open), False when the file ended first.
        """
        while self._quotes % 2:
            piece = self._text.readline(self.limit)
            if not piece:
                return False
            self._quotes += piece.count('"')
            self.number += piece.endswith(("\n", "\r"))
        return True

    def _finish_line(self, line: str) -> None:
        self._quotes = sum(part.count('"') for part in self._pending)
        piece = line
        while piece and not piece.endswith(("\n", "\r")):
            piece = self._text.readline(self.limit)
            self._quotes += piece.count('"')
            self._length += len(piece)
        self._pending[:] = [self.text[:20_000]]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was changed in the text."""
        notes = []
        if self.nuls:
            notes.append(f"NUL characters removed: {self.nuls:,}.")
        if self.replaced:
            notes.append(f"Characters that did not fit the encoding and became \ufffd: {self.replaced:,}.")
        return tuple(notes)
