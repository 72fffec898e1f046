"""One door to all formats, which never leaves half a file behind."""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

from core.codebook import Codebook
from core.errors import ExportError, UsageError
from core.export.argilla import dataset_settings, write_argilla
from core.export.delimited import write_csv
from core.export.huggingface import DATA, readme, write_huggingface
from core.export.interchange import first_fields
from core.export.jsonl import write_jsonl, write_transcript
from core.export.label_studio import labelling_config, write_label_studio
from core.export.parquet import write_parquet
from core.export.prodigy import write_prodigy

Writer: TypeAlias = Callable[[Iterable[Any], Codebook, BinaryIO], int]
Companion: TypeAlias = Callable[[Codebook, Sequence[str]], bytes]
"""Makes a companion for a codebook and the names of the text fields."""

_EVERY = 500


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write results. ``takes`` says what of: ``rows`` (ExportRow) or ``turns`` (mappings).

    ``companions`` are small files that belong to the one with the results, by suffix ("out.xml" beside "out.json").
    With ``inside`` the result is a folder: that is where the results lie in it, and companions go by their own names.
    """

    name: str
    suffix: str
    takes: Literal["rows", "turns"]
    description: str
    write: Writer
    companions: Mapping[str, Companion] = field(default_factory=dict)
    inside: str = ""

    def places(self, path: Path) -> tuple[Path, dict[Path, Companion]]:
        """Where the results go when a person asks for ``path``, and what goes beside them."""
        if self.inside:
            return path / self.inside, {path / name: make for name, make in self.companions.items()}
        return path, {path.with_suffix(suffix): make for suffix, make in self.companions.items()}


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: ``count`` rows or turns, ``size`` bytes."""

    path: Path
    count: int
    size: int


FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        Format("csv", ".csv", "rows", "A table for spreadsheets: UTF-8 with BOM, formulas disarmed.", write_csv),
        Format("parquet", ".parquet", "rows", "A typed table for pandas, DuckDB and R.", write_parquet),
        Format("jsonl", ".jsonl", "rows", "One JSON object a document, labels nested.", write_jsonl),
        Format(
            "transcript", ".jsonl", "turns", "One JSON object a turn: prompts, replies, tokens, cost.", write_transcript
        ),
        Format(
            "label-studio",
            ".json",
            "rows",
            "Tasks with predictions and annotations, and the labelling configuration.",
            write_label_studio,
            {".xml": labelling_config},
        ),
        Format(
            "argilla",
            ".jsonl",
            "rows",
            "Records with suggestions and responses, and the settings of the data set.",
            write_argilla,
            {".settings.json": dataset_settings},
        ),
        Format("prodigy", ".jsonl", "rows", "Tasks of the choice view with answers and spans.", write_prodigy),
        Format(
            "huggingface",
            "",
            "rows",
            "A folder to upload: Parquet, and a card with the features.",
            write_huggingface,
            {"README.md": readme},
            DATA,
        ),
    )
}
"""All formats by name. Another writer is one more entry here."""


def find_format(name: str) -> Format:
    """The format of this name; UsageError lists all of them when there is none."""
    found = FORMATS.get(name.strip().lower())
    if found is None:
        near = difflib.get_close_matches(name.lower(), FORMATS, 1)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise UsageError(
            f"There is no export format '{name}'.", f"{hint}There are: {', '.join(FORMATS)}, bundle and classifier."
        )
    return found


def write(
    format: str,
    items: Iterable[Any],
    codebook: Codebook,
    path: Path,
    *,
    progress: Callable[[int], None] | None = None,
) -> Written:
    """Write rows (or turns, as the format takes them) to ``path``, replacing what was there only when all is written,
    and the format's companions beside it. A format that makes a folder makes it at ``path``.

    ``items`` is read once, in order, and never held. ``progress`` is called with the number done so far. UsageError for
    an unknown format and for a name that a companion has, ExportError when the disk is full or the place cannot be
    written; the old file is then as it was.
    """
    chosen = find_format(format)
    place, companions = chosen.places(path)
    if place in companions:
        raise UsageError(
            f"{place.name} would be the name of two files: {chosen.name} has one more beside the results.",
            f"End it in {chosen.suffix}.",
        )
    if chosen.inside:
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _explained(error, path) from error
    fields: Sequence[str] = ()
    if companions:
        fields, items = first_fields(items)
    with replacing(place) as file:
        count = chosen.write(_counted(items, progress), codebook, file)
    for beside, make in companions.items():
        with replacing(beside) as file:
            file.write(make(codebook, fields))
    return Written(path, count, place.stat().st_size)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of ``path`` when the block ends well and vanishes when it does not.

    It lies beside the target, so that taking its place is one step. An OSError in the block becomes an ExportError.
    """
    part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    if path.is_dir():
        raise ExportError(f"{path} is a folder.", "Give the name of a file in it.")
    try:
        with part.open("x+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise _explained(error, path) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _explained(error: OSError, path: Path) -> ExportError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return ExportError(f"The disk refused {path.name}: {error.strerror}.", "Free some space, or write elsewhere.")
    if error.errno == errno.ENOENT:
        return ExportError(f"There is no folder {path.parent}.", "Create it, or write elsewhere.")
    return ExportError(
        f"{path} cannot be written: {error.strerror or error}.", "Check its permissions, or write elsewhere."
    )


def _counted(items: Iterable[Any], progress: Callable[[int], None] | None) -> Iterator[Any]:
    done = 0
    for done, item in enumerate(items, 1):
        yield item
        if progress is not None and done % _EVERY == 0:
            progress(done)
    if progress is not None:
        progress(done)
