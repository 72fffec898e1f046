"""A bundle: one zip that reproduces a project and shows it to people who have no Moot.

``tables/`` holds every table as Parquet, which is what import reads; everything else is there to be read by people:
the codebook, the prompts and settings of each run, the reviews, the results, and the debates as web pages.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import orjson

import core
from core.codebook import Codebook, dump_yaml
from core.debate.turns import Turn
from core.documents import Value
from core.errors import InputError
from core.export import debates, replacing
from core.export.interchange import named
from core.runs import RunRow
from core.services import export
from core.services.session import ProjectSession, check_output_path
from core.store.document_records import DocumentRecord
from core.store.dump import ROWS_AT_ONCE, restore
from core.store.reviews import ADJUDICATION, MARK, REVIEW, STATUS

NAME = "bundle"
"""What it is called among the formats of ``moot export``."""

SUFFIX = ".zip"
MANIFEST = "manifest.json"
LAYOUT = "moot-bundle/1"
_PREFIX, _PARQUET = "tables/", ".parquet"
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError)

UNPACKED_RATIO = 20
"""How many times its size a bundle's tables may have as files: they are packed already, so that it is about 1."""
ROWS_RATIO = 1000
"""The same for their rows: much of a project is said many times over, such as prompts."""
LEAST_ROOM = 1 << 30
MOST_MANIFEST = 1 << 20

Told = Callable[[str], None]


def write_bundle(session: ProjectSession, path: Path, *, told: Told = lambda _step: None) -> Path:
    """Write the whole project to a zip at ``path``. ``told`` hears of each step. ExportError when it cannot be written.

    Keys are in no project file, so none is in the bundle.
    """
    check_output_path(session.path, path)
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        runs = session.store.runs.all()
        told("tables")
        counts = _tables(session, archive)
        manifest = {
            "layout": LAYOUT,
            "moot": core.__version__,
            "schema": session.store.dump.schema,
            "project": session.name,
            "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "tables": counts,
        }
        archive.writestr(MANIFEST, orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
        archive.writestr("README.md", _readme(session, runs))
        if (version := session.store.codebooks.latest()) is not None:
            archive.writestr("codebook.yaml", dump_yaml(version.codebook))
        _reviews(session, archive)
        for run in runs:
            told(run.run_id)
            _settings(run, archive)
            _results(session, run, archive)
            _pages(session, run, archive)
        archive.writestr("debates/index.html", _index(session, runs))
    return path


def to_bytes(session: ProjectSession) -> bytes:
    """The bundle as bytes, for a download."""
    with tempfile.TemporaryDirectory(prefix="moot-bundle-") as folder:
        return write_bundle(session, Path(folder) / f"{session.name}{SUFFIX}").read_bytes()


def open_bundle(file: BinaryIO, path: Path) -> Path:
    """Make a new project at ``path`` from a bundle.

    InputError for a file that is no bundle, is damaged, or holds far more than its size lets expect, ProjectError when
    there is a project there already or the bundle was made by a newer Moot. Parquet is all that is read of it, and only
    what belongs to a project. When it fails, nothing is left.
    """
    try:
        with zipfile.ZipFile(file) as archive, ExitStack() as stack:
            manifest = json.loads(_manifest(archive))
            if manifest.get("layout") != LAYOUT:
                raise InputError("This bundle has a layout that this Moot does not know.", "Update Moot.")
            size = file.seek(0, os.SEEK_END)
            unpacked = _Room(size, UNPACKED_RATIO, tempfile.gettempdir())
            rows = _Room(size, ROWS_RATIO, path.parent)
            tables = {str(name): _batches(archive, str(name), stack, unpacked, rows) for name in manifest["tables"]}
            restore(path, int(manifest["schema"]), tables)
    except (*_DAMAGE, KeyError, ValueError, TypeError, AttributeError, RuntimeError) as error:
        raise InputError(
            "This is not a bundle that Moot wrote, or it is damaged.", "Export it again, or choose another file."
        ) from error
    return path


class _Room:
    """Bytes that a bundle of this size may still come to at a place: ``ratio`` times the size, no less than
    ``LEAST_ROOM``, and no more than is free there. A small archive can hide terabytes."""

    def __init__(self, size: int, ratio: int, place: Path | str) -> None:
        self._may = max(size * ratio, LEAST_ROOM)
        self._free = self._may
        self._taken = 0
        with suppress(OSError):  # a folder that is not there is told of by who makes the project
            self._free = shutil.disk_usage(place).free

    def take(self, count: int) -> None:
        """Count these in; InputError when they are too many."""
        self._taken += count
        if self._taken > self._may:
            raise InputError(
                f"The bundle unpacks to more than {self._may >> 20:,} MB, which no bundle of its size does.",
                "It was not made by Moot, or edited.",
            )
        if self._taken > self._free:
            raise InputError(
                f"The bundle unpacks to more than the {self._free >> 20:,} MB that are free on the disk.",
                "Make room, or choose another folder.",
            )


def _manifest(archive: zipfile.ZipFile) -> bytes:
    with archive.open(MANIFEST) as file:
        manifest = file.read(MOST_MANIFEST + 1)
    if len(manifest) > MOST_MANIFEST:
        raise InputError("The bundle's manifest is too long to be one.", "It was not made by Moot, or edited.")
    return manifest


def _tables(session: ProjectSession, archive: zipfile.ZipFile) -> dict[str, int]:
    import pyarrow.parquet as pq

    counts: dict[str, int] = {}
    with closing(session.store.dump.tables()) as tables:  # type: ignore[type-var]
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
    archive: zipfile.ZipFile, name: str, stack: ExitStack, unpacked_room: _Room, rows_room: _Room
) -> Iterator[Any]:
    """The rows of a table. Unpacked to disk first, as Parquet is read from its end; Parquet packs, too, so both what
    comes out of the zip and what comes out of that is counted."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    unpacked = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
    with archive.open(f"{_PREFIX}{name}{_PARQUET}") as packed:
        while piece := packed.read(1 << 20):
            unpacked_room.take(len(piece))
            unpacked.write(piece)
    unpacked.seek(0)
    try:
        for batch in pq.ParquetFile(unpacked).iter_batches(batch_size=ROWS_AT_ONCE):
            rows_room.take(batch.nbytes + batch.num_rows)
            yield batch
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"The table '{name}' of the bundle cannot be read.", "Export it again.") from error


def _readme(session: ProjectSession, runs: list[RunRow]) -> str:
    lines = [
        f"# {session.name}",
        "",
        "A project of Moot, whole. `moot import THIS.zip --project FILE` makes a project of it again.",
        "",
        "- `debates/index.html`: every debate, to be read in a browser.",
        "- `results/`: labels with quotes, one Parquet file a run. `reviews.jsonl`: every decision of a person.",
        "- `codebook.yaml`, `prompts/`, `settings/`: what was asked, of whom, and how.",
        "- `tables/`: the project's tables as Parquet, which is what import reads.",
        "",
        *(
            f"- {run.run_id}: {run.settings.protocol}, {run.documents} documents, {run.verdicts} verdicts"
            for run in runs
        ),
    ]
    return "\n".join(lines) + "\n"


def _reviews(session: ProjectSession, archive: zipfile.ZipFile) -> None:
    with archive.open("reviews.jsonl", "w") as file:
        for event in reversed(session.store.events.all(kinds=[REVIEW, STATUS, MARK, ADJUDICATION, "undo", "redo"])):
            line = {
                "seq": event.seq, "act": event.act, "at": event.at, "actor": event.actor, "kind": event.kind,
                "document": event.document_id, "run": event.run_id, "codebook_version": event.codebook_version,
                "item": event.item, "before": event.before, "after": event.after, "target": event.target,
            }  # fmt: skip
            file.write(orjson.dumps(line, default=str) + b"\n")


def _settings(run: RunRow, archive: zipfile.ZipFile) -> None:
    archive.writestr(f"settings/{run.run_id}.json", run.settings.model_dump_json(indent=2))
    for role, template in run.settings.templates.items():
        archive.writestr(f"prompts/{run.run_id}/{role}.md", template.text)


def _results(session: ProjectSession, run: RunRow, archive: zipfile.ZipFile) -> None:
    with tempfile.TemporaryDirectory(prefix="moot-bundle-") as folder:
        place = export.export(session, run.run_id, "parquet", Path(folder) / f"{run.run_id}.parquet")
        archive.write(place, f"results/{run.run_id}.parquet")


def _page_names(run: RunRow) -> list[str]:
    pages = max(1, -(-run.documents // debates.PER_PAGE))
    return [f"{run.run_id}-{number}.html" for number in range(1, pages + 1)]


def _pages(session: ProjectSession, run: RunRow, archive: zipfile.ZipFile) -> None:
    names = _page_names(run)
    ids = iter(session.store.runs.document_ids(run.run_id))
    for number, name in enumerate(names, 1):
        shown = list(islice(ids, debates.PER_PAGE))
        turns: dict[str, list[Turn]] = {}
        for turn in session.store.transcripts.of(run.run_id, shown):
            turns.setdefault(turn.document_id, []).append(turn)
        made = [
            _debate(dossier, turns.get(dossier.document.id, []), run.settings.codebook)
            for dossier in session.store.dossiers.load(run.run_id, shown)
        ]
        links = [("index.html", "All runs")]
        links += [(names[number - 2], "Before")] if number > 1 else []
        links += [(names[number], "Next")] if number < len(names) else []
        archive.writestr(f"debates/{name}", debates.page(f"{run.run_id}, page {number}", made, links=links))


def _index(session: ProjectSession, runs: list[RunRow]) -> bytes:
    links = [
        (name, f"{run.run_id}: {run.settings.protocol}, page {number} of {len(names)}")
        for run in runs
        for names in [_page_names(run)]
        for number, name in enumerate(names, 1)
    ]
    return debates.index(session.name, ["Every debate of this project, with what it came to."], links)


def _debate(dossier: DocumentRecord, turns: list[Turn], codebook: Codebook) -> debates.Debate:
    decided: dict[str, Value | None] = dict(dossier.values)
    final = {item: dossier.value(item) for item in codebook.items}
    return debates.Debate(
        document_id=dossier.document.id,
        fields=tuple(dossier.document.fields.items()),
        turns=[debates.Spoken(turn.role, turn.role_model.spec, turn.reply.text) for turn in turns],
        status=dossier.status or "open",
        decided=_words(decided, codebook),
        corrected=_words(final, codebook) if dossier.reviews and final != decided else (),
    )


def _words(values: dict[str, Value | None], codebook: Codebook) -> tuple[str, ...]:
    match named(values, codebook):
        case list() as names:
            return tuple(names)
        case str() as name:
            return (name,)
        case dict() as ratings:
            return tuple(f"{name} {value:g}" for name, value in ratings.items())
        case _:
            return ()
