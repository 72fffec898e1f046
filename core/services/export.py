"""Export a run's results, with the decisions of reviewers, in one of the formats of ``core.export``."""

from __future__ import annotations

import io
import json
import math
import tempfile
import zipfile
from collections.abc import Generator, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.codebook import incomparability
from core.debate.turns import Turn
from core.documents import VERDICT, ReviewStatus
from core.errors import UsageError
from core.export import FORMATS as FORMATS
from core.export import AnnotatorValues, ExportRow, find_format, registry, write
from core.export import ExportFormat as ExportFormat
from core.export.export_row import QUOTE_KEYS, REVIEW, SharedColumns
from core.export.readme import Summary, describe_columns, observed
from core.runs import RunRow
from core.services.project_session import ProjectSession, check_output_path
from core.services.result_cache import cached_until_commit
from core.services.review.actions import RESOLVED
from core.services.runs.configuration import role_titles
from core.store.document_records import DocumentRecord
from core.store.review_queue import Viewpoint

if TYPE_CHECKING:
    import pandas as pd

BATCH = 200
"""Debates that are read at once."""


def export(session: ProjectSession, run_id: str, format: str, path: Path, *, other_runs: Sequence[str] = ()) -> Path:
    """Write a run to ``path`` and return the path. The rows of the runs ``other_runs`` follow in the same file.

    Raises UsageError for an unknown run or format, for runs with different labels and for a format that takes one run,
    and ExportError if the file cannot be written; an existing file is then unchanged.
    """
    runs, file_format = _runs(session, run_id, other_runs), find_format(format)
    if file_format.one_run and len(runs) > 1:
        raise UsageError(f"The format {file_format.title} takes one run.", "Export these runs one by one.")
    with closing(_items(session, runs, file_format)) as items:
        check_output_path(session.path, path)
        write(format, items, runs[0].settings.codebook, _columns(session, runs), path)
    return path


def export_bytes(session: ProjectSession, run_id: str, format: str, *, other_runs: Sequence[str] = ()) -> bytes:
    """Return the output of ``export`` as bytes: the file, or a zip if it consists of several files."""
    file_format = find_format(format)
    with tempfile.TemporaryDirectory(prefix="moot-export-") as folder:
        path = Path(folder) / f"{session.name}-{run_id}{file_format.suffix}"
        export(session, run_id, format, path, other_runs=other_runs)
        return zip_folder(Path(folder)) if file_format.companions else path.read_bytes()


def readme(session: ProjectSession, run_id: str, format: str, *, other_runs: Sequence[str] = ()) -> bytes:
    """Return the README of an export, or b"" if its format has none."""
    file_format = find_format(format)
    if file_format.readme is None:
        return b""
    runs = _runs(session, run_id, other_runs)
    summary = Summary(_columns(session, runs))
    codebook = runs[0].settings.codebook
    with closing(_items(session, runs, file_format)) as items:
        for _ in observed(items, summary, codebook):
            pass
    return file_format.readme(codebook, summary)


def column_meanings(session: ProjectSession, run_id: str, *, other_runs: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return the result columns of a table and what they mean, ``NAME`` standing for a label."""
    runs = _runs(session, run_id, other_runs)
    raters = session.store.annotations.raters([run.run_id for run in runs])
    return describe_columns(runs[0].settings.codebook, _role_names(runs), len(raters))


def _role_names(runs: Sequence[RunRow]) -> tuple[str, ...]:
    """Return the roles of all runs, in speaking order."""
    return tuple(dict.fromkeys(role for run in runs for role in role_titles(run.settings)))


def _columns(session: ProjectSession, runs: Sequence[RunRow]) -> SharedColumns:
    source, fields = session.store.documents.column_names([run.run_id for run in runs])
    return SharedColumns(_role_names(runs), source, fields)


def _runs(session: ProjectSession, run_id: str, other_runs: Sequence[str]) -> list[RunRow]:
    """Return the exported runs. UsageError if they cannot be compared."""
    runs = [session.run(id) for id in dict.fromkeys([run_id, *other_runs])]
    first = runs[0].settings.codebook
    for run in runs[1:]:
        if different := incomparability(run.settings.codebook, first):
            raise UsageError(
                f"Run {run.run_id} and run {runs[0].run_id} have {different}.", "Export these runs one by one."
            )
    return runs


def zip_folder(folder: Path) -> bytes:
    """Return all files of a folder as a zip."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    return packed.getvalue()


def file_name(session: ProjectSession, run_id: str, format: str) -> str:
    """Return the file name of a download."""
    file_format = find_format(format)
    middle = "" if file_format.suffix == f".{file_format.name}" else f"-{file_format.name}"
    return f"{session.name}-{run_id}{middle}{'.zip' if file_format.companions else file_format.suffix}"


def zipped_files(session: ProjectSession, run_id: str, format: str) -> list[str]:
    """Return the names of the files in the zip that is downloaded, none if the download is a single file."""
    file_format = find_format(format)
    if not file_format.companions:
        return []
    path, companions = file_format.places(Path(f"{session.name}-{run_id}{file_format.suffix}"))
    return [file_format.folder_path or path.name, *(path.name for path in companions)]


@cached_until_commit
def preview(
    session: ProjectSession,
    run_id: str,
    format: str,
    rows: int = 5,
    *,
    other_runs: Sequence[str] = (),
    actor: str | None = None,
) -> pd.DataFrame | str:
    """Return the first documents (or turns) of each run as the format's own writer writes them: a table, or text.

    Documents whose verdict is hidden from the reviewer ``actor`` are left out. Of JSON, the text is the first two
    objects. Empty for a media type that cannot be shown.
    """
    import pandas as pd
    import pyarrow.parquet as pq

    runs = _runs(session, run_id, other_runs)
    file_format = find_format(format)
    per_run = math.ceil(rows / len(runs))
    first: list[Any] = []
    for run in runs:
        hidden = hidden_verdicts(session, run.run_id, actor) if actor is not None else frozenset()
        if run.documents > len(hidden):
            with closing(_items(session, [run], file_format, batch=per_run, without=hidden)) as items:
                first += islice(items, per_run)
    file = io.BytesIO()
    file_format.write(first, runs[0].settings.codebook, _columns(session, runs), file)
    file.seek(0)
    match file_format.media_type:
        case "text/csv":
            return pd.read_csv(file, dtype=str, keep_default_na=False, encoding="utf-8-sig")
        case registry.PARQUET:
            table = pq.read_table(file)
            return pd.DataFrame(table.to_pylist(), columns=table.column_names)
        case "application/json" | registry.JSON_LINES as kind:
            written = file.getvalue()
            objects = json.loads(written) if kind == "application/json" else map(json.loads, written.splitlines())
            return "\n\n".join(json.dumps(item, indent=2, ensure_ascii=False) for item in islice(objects, 2))
        case text:
            return file.getvalue().decode() if text.startswith("text/") else ""


@cached_until_commit
def hidden_verdicts(session: ProjectSession, run_id: str, actor: str) -> frozenset[str]:
    """Return the documents of a run whose verdict is hidden from a reviewer."""
    return session.store.reviews.hidden(actor, run_id)


def duckdb_example(session: ProjectSession) -> str:
    """Return Python code that queries the project file with DuckDB."""
    return "\n".join(
        [
            "import duckdb",
            "",
            f"project = duckdb.connect({str(session.path)!r}, read_only=True)",
            'project.sql("SELECT run_id, id, review, conversation, verdict, aspect FROM annotated_review LIMIT 5")',
            'project.sql("SELECT id, aspect, true_aspect FROM evaluation_review WHERE aspect <> true_aspect")',
        ]
    )


@cached_until_commit
def count_reviews(session: ProjectSession, run: RunRow, status: ReviewStatus) -> int:
    """Return the number of documents of a run whose review has this status."""
    return session.store.review_queue.count(Viewpoint(run.run_id), (status,))


@cached_until_commit
def count_replaced(session: ProjectSession, run: RunRow) -> int:
    """Return the number of documents of a run that others have replaced: only transcripts contain them."""
    return run.documents - session.store.runs.count_present().get(run.run_id, 0)


def _items(
    session: ProjectSession,
    runs: Sequence[RunRow],
    format: ExportFormat,
    *,
    batch: int = 1000,
    without: Set[str] = frozenset(),
) -> Generator[Any, None, None]:
    """Yield the rows or turns of the runs, without those of the documents ``without``."""
    for run in runs:
        if format.takes == "turns":
            yield from _turns(session, run, min(batch, BATCH), without)
        else:
            yield from _rows(session, run, batch, without)


def _rows(session: ProjectSession, run: RunRow, batch: int, without: Set[str]) -> Generator[ExportRow, None, None]:
    reviews = session.store.reviews
    # an open generator would hold its cursor
    with closing(session.store.document_records.stream(run.run_id, batch=batch)) as stream:
        for streamed in stream:
            records = [record for record in streamed if record.document.id not in without]
            ids = [record.document.id for record in records]
            notes, flagged = reviews.notes_by_reviewer(ids), reviews.flagged(ids)
            for id, record in zip(ids, records, strict=True):
                yield _row(record, run, notes.get(id, {}), is_flagged=id in flagged)


def _row(record: DocumentRecord, run: RunRow, marks: Mapping[str, Mapping[str, Any]], *, is_flagged: bool) -> ExportRow:
    """Return the row of a document. ``marks`` has the note and tags of each reviewer who has written some."""
    notes = {actor: of_actor["note"] for actor, of_actor in marks.items() if "note" in of_actor}
    signed = [f"{actor}: {note}" for actor, note in notes.items()] if len(notes) > 1 else notes.values()
    items = run.settings.codebook.items
    decided = [item for item in items if item in record.reviews]
    return ExportRow(
        document=record.document,
        gold=record.gold,
        run_id=run.run_id,
        protocol=run.settings.protocol,
        run_name=run.details.name,
        codebook_version=run.settings.codebook_version,
        status=record.status or "open",
        review_status=record.review_status,
        review_note="\n".join(signed).strip(),
        review_flag=is_flagged,
        review_error_types=tuple(dict.fromkeys(tag for of_actor in marks.values() for tag in of_actor.get("tags", ()))),
        values=record.current_values(items) if record.status or decided else {},
        sources=dict.fromkeys(record.values, VERDICT) | dict.fromkeys(decided, REVIEW),
        evidence=record.evidence,
        roles=run.settings.specs,
        reasons={item: reason for item, reason in record.unresolved.items() if item not in record.reviews},
        models=_models(record),
        reviewers=_reviewers(record, items),
    )


def _models(record: DocumentRecord) -> tuple[AnnotatorValues, ...]:
    """Return the verdict with the quotes of all roles, and the list of each role."""
    if record.status is None:
        return ()
    roles = (AnnotatorValues(role, values, record.evidence.get(role, ())) for role, values in record.roles.items())
    quotes = tuple(dict.fromkeys(quote for of_role in record.evidence.values() for quote in of_role))
    return (AnnotatorValues(VERDICT, record.values, quotes), *roles)


def _reviewers(record: DocumentRecord, items: Sequence[str]) -> tuple[AnnotatorValues, ...]:
    """Return the values of each reviewer: their own decisions, and the verdict for labels that they left as they were.

    People who only resolved disagreements left the current values as they were. A draft leaves no label as it is.
    """
    reviewers = []
    for actor, review in record.people.items():
        status = review.status or record.review_status
        left = record.values if review.status else record.current_values(items)
        values = {**dict.fromkeys(items), **(left if status in RESOLVED else {}), **review.values}
        reviewers.append(AnnotatorValues(actor, {item: values[item] for item in items}, at=review.at, status=status))
    return tuple(reviewers)


def _turns(
    session: ProjectSession, run: RunRow, batch: int, without: Set[str]
) -> Generator[dict[str, Any], None, None]:
    ids = (id for id in session.store.runs.document_ids(run.run_id) if id not in without)
    while chunk := list(islice(ids, batch)):
        for turn in session.store.transcripts.of(run.run_id, chunk):
            yield _turn_record(turn, run)


def _turn_record(turn: Turn, run: RunRow) -> dict[str, Any]:
    """Return a turn with the names of the labels: their ids mean nothing outside the project."""
    reply, usage, names = turn.reply, turn.reply.usage, run.settings.codebook.label_names
    reading = {part.name: getattr(reply.reading, part.name) for part in fields(reply.reading)}
    for key in ("values", "undecided", "certainty"):
        reading[key] = {names.get(item, item): names.get(value, value) for item, value in reading[key].items()}
    reading["missing"] = [names.get(item, item) for item in reading["missing"]]
    evidence = [{key: getattr(quote, key) for key in ("item", *QUOTE_KEYS)} for quote in reply.evidence]
    return {
        "run": run.run_id,
        "document": turn.document_id,
        "turn": turn.turn,
        "role": turn.role,
        "model": turn.role_model.spec,
        "messages": [{"role": message.role, "content": message.content} for message in turn.messages],
        "text": reply.text,
        "reasoning": reply.reasoning,
        "reading": reading,
        "evidence": [quote | {"item": names.get(quote["item"], quote["item"])} for quote in evidence],
        "tokens": {"prompt": usage.prompt_tokens, "completion": usage.completion_tokens},
        "cost": reply.cost_usd,
        "seconds": reply.seconds,
        "cached": turn.cached,
        "retry": turn.reask,
    }
