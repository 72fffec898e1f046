"""All export formats, and the writing of files, which are either complete or unchanged."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

from core.codebook import Codebook
from core.errors import ExportError, UsageError
from core.export.argilla import dataset_settings, write_argilla
from core.export.csv_writer import write_csv
from core.export.export_row import SharedColumns
from core.export.huggingface import CARD_START, DATA, readme, write_huggingface
from core.export.jsonl import write_jsonl, write_transcript
from core.export.label_studio import labelling_config, write_label_studio
from core.export.parquet import write_parquet
from core.export.prodigy import write_prodigy
from core.export.readme import Summary, observed, table_readme
from core.files import atomic_write, is_disk_full
from core.formatting import did_you_mean

WriteRows: TypeAlias = Callable[[Iterable[Any], Codebook, SharedColumns, BinaryIO], None]
Companion: TypeAlias = Callable[[Codebook, Summary], bytes]
"""Returns the content of a companion file for a codebook and what the rows contained."""
_DEVICES = Path("/dev")


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One export format."""

    name: str
    title: str
    """The name on screen."""
    description: str
    write: WriteRows
    suffix: str
    media_type: str
    takes: Literal["rows", "turns"] = "rows"
    """The input of the writer: ``rows`` (ExportRow) or ``turns`` (mappings)."""
    companions: Mapping[str, Companion] = field(default_factory=dict)
    """Small files beside the results, by suffix: "out.xml" beside "out.json". In a folder, by their own names."""
    folder_path: str = ""
    """The path of the results if the format is a folder, else empty."""
    readme: Companion | None = None
    """A README beside a file that is also complete without it."""
    one_run: bool = False
    """True if the tool keeps one record for each document."""

    def places(self, path: Path) -> tuple[Path, dict[Path, Companion]]:
        """Return the path of the results for the path that the user gave, and the companions by path."""
        if self.folder_path:
            return path / self.folder_path, {path / name: make for name, make in self.companions.items()}
        beside = {**self.companions, **({README_SUFFIX: self.readme} if self.readme else {})}
        return path, {path.parent / f"{path.stem}{suffix}": make for suffix, make in beside.items()}


README_SUFFIX = ".README.md"
JSON_LINES = "application/x-ndjson"
PARQUET = "application/vnd.apache.parquet"

FORMATS: dict[str, ExportFormat] = {
    format.name: format
    for format in (
        ExportFormat(
            "csv", "CSV", "A table for spreadsheets: UTF-8 with BOM, formulas escaped.", write_csv, ".csv", "text/csv",
            readme=table_readme,
        ),
        ExportFormat(
            "parquet", "Parquet", "A typed table for pandas, DuckDB and R.", write_parquet, ".parquet", PARQUET,
            readme=table_readme,
        ),
        ExportFormat(
            "jsonl", "JSONL", "The columns of CSV as one JSON object per document, and nested labels.", write_jsonl,
            ".jsonl", JSON_LINES,
        ),
        ExportFormat(
            "transcript", "Transcript (JSONL)", "One JSON object per turn: prompts, replies, tokens, cost.",
            write_transcript, ".jsonl", JSON_LINES, takes="turns",
        ),
        ExportFormat(
            "label-studio", "Label Studio", "Tasks with predictions and annotations, and the labeling configuration.",
            write_label_studio, ".json", "application/json", one_run=True,
            companions={".xml": lambda codebook, summary: labelling_config(codebook, summary.columns.text_names)},
        ),
        ExportFormat(
            "argilla", "Argilla", "Records with suggestions and responses, and the dataset settings.",
            write_argilla, ".jsonl", JSON_LINES, one_run=True,
            companions={".settings.json": dataset_settings},
        ),
        ExportFormat(
            "prodigy", "Prodigy", "Tasks of the choice view with answers and spans.",
            write_prodigy, ".jsonl", JSON_LINES, one_run=True,
        ),
        ExportFormat(
            "huggingface", "Hugging Face", "A folder to upload: Parquet, and a dataset card with the features.",
            write_huggingface, "", PARQUET, companions={"README.md": readme}, folder_path=DATA,
        ),
    )
}  # fmt: skip
"""All formats by name. A new format is one module with a writer, and one entry here."""


def find_format(name: str) -> ExportFormat:
    """Return the format of this name. UsageError lists all formats if there is none."""
    export_format = FORMATS.get(name.strip().lower())
    if export_format is None:
        raise UsageError(
            f"Export format '{name}' does not exist.",
            f"{did_you_mean(name, FORMATS)}Formats: {', '.join(FORMATS)}, bundle, codebook and classifier.",
        )
    return export_format


def write(format: str, items: Iterable[Any], codebook: Codebook, columns: SharedColumns, path: Path) -> None:
    """Write rows (or turns, whichever the format takes) to ``path``, and the format's companions beside it.

    An existing file is replaced only after everything is written. A format that makes a folder makes it at ``path``.
    ``items`` is read once, in order, and never held in memory. Raises UsageError for an unknown format and for a path
    that is also a companion's. Raises ExportError if the disk is full, the path cannot be written, or a folder has a
    README.md of another origin; the old file is then unchanged.
    """
    export_format = find_format(format)
    target, companions = export_format.places(path)
    if target in companions:
        raise UsageError(
            f"{target.name} would be the name of two files: "
            f"{export_format.name} writes a second file beside the results.",
            f"Use a name that ends in {export_format.suffix}.",
        )
    if export_format.folder_path:
        for companion in companions:
            if companion.is_file() and not companion.read_bytes().startswith(CARD_START):
                raise ExportError(f"{companion} was not written by Moot.", "Export to another folder, or rename it.")
        try:
            path.mkdir(exist_ok=True)
            target.parent.mkdir(parents=True, exist_ok=True)
        except FileExistsError as error:
            problem, remedy = f"{error.filename} is a file.", f"{export_format.name} writes a folder: name another one."
            raise ExportError(problem, remedy) from error
        except OSError as error:
            raise _export_error(error, path) from error
    summary = Summary(columns)
    if companions:
        items = observed(items, summary, codebook)
    with replacing(target) as file:
        export_format.write(items, codebook, columns, file)
    for companion, make in companions.items():
        with replacing(companion) as file:
            file.write(make(codebook, summary))


def check_target(path: Path) -> None:
    """Raise ExportError for a path to which no export can be written.

    Its folder has to exist. Refused are also folders, files that are not ordinary, such as /dev/stdout (root would
    replace the device), and DuckDB databases, which may be projects.
    """
    if path.is_dir():
        raise ExportError(f"{path} is a folder.", "Give a file name in it.")
    if str(path) == "-" or path.absolute().parent == _DEVICES or (path.exists() and not path.is_file()):
        raise ExportError(f"{path} is not an ordinary file.", "Moot writes to files only: give the name of one.")
    try:
        path.absolute().parent.stat()
        if path.exists() and _is_database(path):
            raise ExportError(f"{path} is a DuckDB database.", "It may be a Moot project: write to another file.")
    except OSError as error:
        raise _export_error(error, path) from error


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that replaces ``path`` when the block succeeds and is removed when it fails.

    An OSError in the block becomes an ExportError. Raises the errors of ``check_target``.
    """
    check_target(path)
    try:
        with atomic_write(path) as file:
            yield file
    except OSError as error:
        raise _export_error(error, path) from error


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


def _export_error(error: OSError, path: Path) -> ExportError:
    if is_disk_full(error):
        return ExportError(
            f"The disk refused {path.name}: {error.strerror}.", "Free some space, or choose another path."
        )
    if error.errno == errno.ENOENT:
        return ExportError(f"Folder {path.parent} does not exist.", "Create it, or choose another path.")
    return ExportError(
        f"{path} cannot be written: {error.strerror or error}.",
        "Close it in other programs, check its permissions, or choose another path.",
    )
