"""Bundles: one zip from which a project can be recreated, and which is readable without Moot.

``tables/`` has every table as Parquet; import reads only these and the manifest. Everything else is for people: the
codebook, the prompts and settings of each run, the reviews, the results, and the debates as web pages.
"""

from __future__ import annotations

import glob
import json
import os
import re
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import orjson

import core
from core.codebook import Codebook, dump_yaml
from core.debate import protocols
from core.debate.turns import Turn
from core.documents import Value
from core.errors import InputError
from core.export import replacing
from core.export.export_row import label_names, named_ratings
from core.export.html_template import html_template
from core.formatting import escape_markdown, format_count, format_rating
from core.ingest import child_process
from core.runs import RunRow
from core.services import export
from core.services.project_session import ProjectSession, check_output_path
from core.store import migrations
from core.store.bundle_tables import ROWS_AT_ONCE, restore
from core.store.database import translate_error
from core.store.document_records import DocumentRecord
from core.store.reviews import ADJUDICATION, MARK, REVIEW, STATUS

NAME = "bundle"
"""The name among the formats of ``moot export``."""

SUFFIX = ".zip"
PER_PAGE = 200
"""Debates on one web page: few enough for a browser to open it at once."""
MANIFEST = "manifest.json"
LAYOUT = "moot-bundle/1"
_PREFIX, _PARQUET = "tables/", ".parquet"
_NOT_IN_NAMES = re.compile(r"[^\w-]")
"""Characters of a foreign role name that would lead out of a folder."""
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError)

UNPACKED_RATIO = 20
"""Allowed size of the unpacked tables as a multiple of the bundle's size. Parquet is compressed: usually about 1."""
ROWS_RATIO = 1000
"""The same for their rows in memory: much of a project is repeated, such as prompts."""
MIN_LIMIT = 1 << 30


def write_bundle(session: ProjectSession, path: Path) -> Path:
    """Write the whole project to a zip at ``path``.

    Raises ExportError if the file cannot be written. Project files contain no API keys, so bundles contain none.
    """
    check_output_path(session.path, path)
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        runs = session.all_runs()
        counts = _tables(session, archive)
        manifest = {
            "layout": LAYOUT,
            "moot": core.__version__,
            "schema": migrations.newest(),
            "project": session.name,
            "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "tables": counts,
        }
        archive.writestr(MANIFEST, orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
        archive.writestr("README.md", _readme(session, runs))
        if (version := session.store.codebooks.latest()) is not None:
            archive.writestr("codebook.yaml", dump_yaml(version.codebook))
        with archive.open("reviews.jsonl", "w") as reviews:
            for event in reversed(session.store.events.all(kinds=[REVIEW, STATUS, MARK, ADJUDICATION, "undo", "redo"])):
                reviews.write(orjson.dumps(asdict(event), default=str) + b"\n")
        for run in runs:
            archive.writestr(f"settings/{run.run_id}.json", run.settings.model_dump_json(indent=2))
            for role, template in run.settings.templates.items():
                archive.writestr(f"prompts/{run.run_id}/{_NOT_IN_NAMES.sub('_', role)}.md", template.text)
            archive.writestr(f"results/{run.run_id}.parquet", export.export_bytes(session, run.run_id, "parquet"))
            _pages(session, run, archive)
        archive.writestr("debates/index.html", _index(session, runs))
    return path


def bundle_bytes(session: ProjectSession) -> bytes:
    """Return the bundle as bytes, for a download."""
    with tempfile.TemporaryDirectory(prefix="moot-bundle-") as folder:
        return write_bundle(session, Path(folder) / f"{session.name}{SUFFIX}").read_bytes()


def open_bundle(file: BinaryIO, path: Path) -> Path:
    """Create a project at ``path`` from a bundle, which a child process reads (``core.ingest.child_process``).

    Only the Parquet files of known tables are read. On failure nothing is left. Raises InputError for a file that is
    not a bundle, is damaged, meets a limit or unpacks to far more than its size; ProjectError if the path exists or
    the bundle was made by a newer Moot.
    """
    arguments = {"name": "The bundle", "path": str(path.absolute())}
    try:
        for _ in child_process.run("core.services.bundle:serve_bundle", file, arguments, writes=True):
            pass
    except BaseException:
        for part in path.parent.glob(f".{glob.escape(path.name)}.*.part*"):  # a child that was killed leaves it
            part.unlink(missing_ok=True)
        raise
    return path


def serve_bundle(file: BinaryIO, name: str, path: str) -> Iterator[str]:  # noqa: ARG001 - all readers have a name
    """Create a project from a bundle like ``restore_bundle`` and yield its path."""
    yield str(restore_bundle(file, Path(path)))


def restore_bundle(file: BinaryIO, path: Path) -> Path:
    """Create a project like ``open_bundle``, but in this process, without limits on memory and time."""
    try:
        with zipfile.ZipFile(file) as archive, ExitStack() as stack:
            manifest = json.loads(archive.read(MANIFEST))
            if manifest.get("layout") != LAYOUT:
                raise InputError("This version of Moot does not know the layout of this bundle.", "Update Moot.")
            size = file.seek(0, os.SEEK_END)
            unpacked, rows = _SizeLimit(size, UNPACKED_RATIO), _SizeLimit(size, ROWS_RATIO)
            tables = {str(name): _batches(archive, str(name), stack, unpacked, rows) for name in manifest["tables"]}
            restore(path, int(manifest["schema"]), tables.items())
    except (*_DAMAGE, KeyError, ValueError, TypeError, AttributeError, RuntimeError) as error:
        raise InputError(
            "This file is not a Moot bundle, or it is damaged.", "Export it again, or choose another file."
        ) from error
    except OSError as error:
        raise translate_error(error, path) from error
    return path


class _SizeLimit:
    """A limit on unpacked bytes, ``ratio`` times the bundle's size: a small archive can unpack to terabytes."""

    def __init__(self, size: int, ratio: int) -> None:
        self._limit = max(size * ratio, MIN_LIMIT)
        self._used = 0

    def add(self, count: int) -> None:
        """Add to the unpacked bytes. Raises InputError beyond the limit."""
        self._used += count
        if self._used > self._limit:
            raise InputError(
                f"The bundle unpacks to more than {self._limit >> 20:,} MB, which is too much for its size.",
                "It was edited, or another program made it.",
            )


def _tables(session: ProjectSession, archive: zipfile.ZipFile) -> dict[str, int]:
    import pyarrow.parquet as pq

    counts: dict[str, int] = {}
    with closing(session.store.dump.tables()) as tables:
        for name, batches in tables:
            counts[name] = 0
            with (
                archive.open(f"{_PREFIX}{name}{_PARQUET}", "w", force_zip64=True) as file,
                pq.ParquetWriter(file, batches.schema, compression="zstd") as writer,
            ):
                for batch in batches:
                    writer.write_batch(batch)
                    counts[name] += batch.num_rows
    return counts


def _batches(
    archive: zipfile.ZipFile, name: str, stack: ExitStack, unpacked_limit: _SizeLimit, rows_limit: _SizeLimit
) -> Iterator[Any]:
    """Yield the rows of a table.

    The file is unpacked to disk first, because Parquet is read from its end. Both the unpacked file and the rows count
    against a limit, because Parquet is compressed as well.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    unpacked = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
    with archive.open(f"{_PREFIX}{name}{_PARQUET}") as packed:
        while piece := packed.read(1 << 20):
            unpacked_limit.add(len(piece))
            unpacked.write(piece)
    unpacked.seek(0)
    try:
        for batch in pq.ParquetFile(unpacked).iter_batches(batch_size=ROWS_AT_ONCE):
            rows_limit.add(batch.nbytes + batch.num_rows)
            yield batch
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"The table '{name}' of the bundle cannot be read.", "Export it again.") from error


def _readme(session: ProjectSession, runs: list[RunRow]) -> str:
    lines = [
        f"# {escape_markdown(session.name)}",
        "",
        "A complete Moot project. `moot import THIS.zip --project FILE` creates a project from it.",
        "",
        "- `debates/index.html`: every debate, for a web browser.",
        "- `results/`: labels with quotes, one Parquet file per run. `reviews.jsonl`: every review action.",
        "- `codebook.yaml`, `prompts/`, `settings/`: the codebook, and prompts and settings of each run.",
        "- `tables/`: the project's tables as Parquet, from which import recreates the project.",
        "",
        *(
            f"- {run.run_id}: {protocols.short_title(run.settings)}, {format_count(run.documents, 'document')}, "
            f"{format_count(run.verdicts, 'verdict')}"
            for run in runs
        ),
    ]
    return "\n".join(lines) + "\n"


def _page_names(run: RunRow) -> list[str]:
    pages = max(1, -(-run.documents // PER_PAGE))
    return [f"{run.run_id}-{number}.html" for number in range(1, pages + 1)]


def _pages(session: ProjectSession, run: RunRow, archive: zipfile.ZipFile) -> None:
    names = _page_names(run)
    ids = iter(session.store.runs.document_ids(run.run_id))
    for number, name in enumerate(names, 1):
        shown = list(islice(ids, PER_PAGE))
        turns: dict[str, list[Turn]] = {}
        for turn in session.store.transcripts.of(run.run_id, shown):
            turns.setdefault(turn.document_id, []).append(turn)
        debates = [
            _debate(record, turns.get(record.document.id, []), run.settings.codebook)
            for record in session.store.document_records.load(run.run_id, shown)
        ]
        links = [("index.html", "All runs")]
        links += [(names[number - 2], "Previous")] if number > 1 else []
        links += [(names[number], "Next")] if number < len(names) else []
        archive.writestr(f"debates/{name}", debates_html(f"{run.run_id}, page {number}", links, debates))


def _index(session: ProjectSession, runs: list[RunRow]) -> bytes:
    links = [
        (name, f"{run.run_id}: {protocols.short_title(run.settings)}, page {number} of {len(names)}")
        for run in runs
        for names in [_page_names(run)]
        for number, name in enumerate(names, 1)
    ]
    return debates_html(session.name, links)


def debates_html(
    title: str, links: Sequence[tuple[str, str]], debates: Sequence[Mapping[str, Any]] | None = None
) -> bytes:
    """Return a page of debates with links (address, text) to the other pages, or their index without debates."""
    page = html_template(Path(__file__).with_name("debates.html"))
    return page.render(title=title, links=links, debates=debates or (), index=debates is None).encode(errors="replace")


def _debate(record: DocumentRecord, turns: list[Turn], codebook: Codebook) -> dict[str, Any]:
    """Return a debate for ``debates_html``; the labels of a reviewer only where they differ from the verdict."""
    decided: dict[str, Value | None] = dict(record.values)
    final = record.current_values(codebook.items)
    return {
        "document_id": record.document.id,
        "fields": record.document.fields,
        "turns": turns,
        "status": record.status or "open",
        "decided": _words(decided, codebook),
        "corrected": _words(final, codebook) if record.reviews and final != decided else (),
    }


def _words(values: dict[str, Value | None], codebook: Codebook) -> tuple[str, ...]:
    ratings = named_ratings(values, codebook).items()
    return (*(label_names(values, codebook) or ()), *(f"{name} {format_rating(value)}" for name, value in ratings))
