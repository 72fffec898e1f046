"""The Export room: a run's results with what people decided, to a file in one of the formats of ``core.export``."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from core.annotations import VERDICT, Evidence
from core.debate.turns import Turn
from core.errors import NoSuchRun
from core.export import FORMATS, AnnotatorValues, ExportRow, Format, find_format, write
from core.runs import RunRow
from core.services.session import ProjectSession, check_output_path
from core.store.document_records import DocumentRecord

REVIEW = "review"
"""The source of a value that a person gave."""
AT_ONCE = 200
"""Debates that are read at a time."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The beginning of a file: a table (parquet, csv) or the lines themselves."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Contents:
    """What an export of a run holds, in numbers. ``reviewed`` are documents of which a person decided a label."""

    documents: int
    with_verdict: int
    unresolved: int
    failed: int
    waiting: int
    reviewed: int
    turns: int


def formats() -> tuple[Format, ...]:
    """All formats, in the order in which they are offered."""
    return tuple(FORMATS.values())


def export(
    session: ProjectSession, run_id: str, format: str, path: Path, *, progress: Callable[[int], None] | None = None
) -> Path:
    """Write a run to ``path`` and return it. The final value of a label is the person's where there is one, else the
    verdict's, and its source says which.

    UsageError for an unknown run or format; ExportError when the file cannot be written, which leaves the old one.
    """
    run = _known(session, run_id)
    with closing(_items(session, run, find_format(format))) as items:
        check_output_path(session.path, path)
        return write(format, items, run.settings.codebook, path, progress=progress).path


def to_bytes(session: ProjectSession, run_id: str, format: str) -> bytes:
    """What ``export`` writes as bytes, for a download: the file, or a zip of all files when there are several."""
    chosen = find_format(format)
    with tempfile.TemporaryDirectory(prefix="moot-export-") as folder:
        path = export(session, run_id, format, Path(folder) / f"{session.name}-{run_id}{chosen.suffix}")
        return zipped(Path(folder)) if chosen.companions else path.read_bytes()


def zipped(folder: Path) -> bytes:
    """All files of a folder in one zip, under their paths in it."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    return packed.getvalue()


def file_name(session: ProjectSession, run_id: str, format: str) -> str:
    """What a download is called."""
    chosen = find_format(format)
    middle = "" if chosen.name in ("csv", "jsonl", "parquet") else f"-{chosen.name}"
    return f"{session.name}-{run_id}{middle}{'.zip' if chosen.companions else chosen.suffix}"


def preview(session: ProjectSession, run_id: str, format: str, rows: int = 5) -> Preview:
    """What the file begins with: written by the format's own writer from the first documents (or turns)."""
    run = _known(session, run_id)
    chosen = find_format(format)
    file = io.BytesIO()
    with closing(_items(session, run, chosen, batch=rows)) as items:
        chosen.write(islice(items, rows), run.settings.codebook, file)
    match chosen.name:
        case "csv":
            return _table_of_csv(file.getvalue().decode("utf-8-sig"))
        case "parquet" | "huggingface":
            return _table_of_parquet(file)
        case _:
            lines = _objects(file.getvalue())[:2]
            return Preview(text="\n\n".join(json.dumps(line, indent=2, ensure_ascii=False) for line in lines))


def recipe(session: ProjectSession) -> str:
    """How to read the project file with DuckDB, as Python to copy."""
    return "\n".join(
        [
            "import duckdb",
            "",
            f"project = duckdb.connect({str(session.path)!r}, read_only=True)",
            'project.sql("SELECT run_id, id, review, conversation, verdict, aspect FROM annotated_review LIMIT 5")',
            'project.sql("SELECT id, aspect, true_aspect FROM evaluation_review WHERE aspect <> true_aspect")',
        ]
    )


def contents(session: ProjectSession, run_id: str) -> Contents:
    """How much of what an export of the run holds."""
    run = _known(session, run_id)
    ended = run.verdicts + run.unresolved + run.failed
    return Contents(
        documents=run.documents,
        with_verdict=run.verdicts,
        unresolved=run.unresolved,
        failed=run.failed,
        waiting=run.documents - ended,
        reviewed=_reviewed(session, run),
        turns=run.turns,
    )


def _reviewed(session: ProjectSession, run: RunRow) -> int:
    from core.store.review_pages import Filter, Viewpoint

    touched = Filter(standings=("Draft", "Submitted", "Discarded"))
    return session.store.pages.lines(Viewpoint(run.run_id), limit=1, filter=touched).total


def _items(session: ProjectSession, run: RunRow, format: Format, *, batch: int = 1000) -> Generator[Any, None, None]:
    if format.takes == "turns":
        yield from _turns(session, run, min(batch, AT_ONCE))
    else:
        yield from _rows(session, run, batch)


def _rows(session: ProjectSession, run: RunRow, batch: int) -> Generator[ExportRow, None, None]:
    role_models = {role: role_model.spec for role, role_model in run.settings.role_models.items()}
    stream = session.store.dossiers.stream(run.run_id, batch=batch)
    try:
        for dossiers in stream:
            for dossier in dossiers:
                yield _row(dossier, run, role_models)
    finally:
        stream.close()  # type: ignore[attr-defined] # a generator; an open one would hold its cursor


def _row(dossier: DocumentRecord, run: RunRow, role_models: dict[str, str]) -> ExportRow:
    items = run.settings.codebook.items
    decided = [item for item in items if item in dossier.reviews]
    return ExportRow(
        document=dossier.document,
        run_id=run.run_id,
        protocol=run.settings.protocol,
        codebook_version=run.settings.codebook_version,
        status=dossier.status or "open",
        values={item: dossier.value(item) for item in items} if dossier.status or decided else {},
        sources=dict.fromkeys(dossier.values, VERDICT) | dict.fromkeys(decided, REVIEW),
        evidence=_evidence(dossier),
        roles=role_models,
        reasons={item: reason for item, reason in dossier.unread.items() if item not in dossier.reviews},
        machine=_machine(dossier),
        people=_people(dossier, items),
    )


def _machine(dossier: DocumentRecord) -> tuple[AnnotatorValues, ...]:
    if dossier.status is None:
        return ()
    roles = (AnnotatorValues(role, says, dossier.evidence.get(role, ())) for role, says in dossier.roles.items())
    return (AnnotatorValues(VERDICT, dossier.values, _evidence(dossier)), *roles)


def _people(dossier: DocumentRecord, items: Sequence[str]) -> tuple[AnnotatorValues, ...]:
    """Each person with the labels that are theirs, on top of the verdict that they left as it was: a submitted document
    is one on which all of it counts as theirs."""
    last = {review.actor: review.at for review in sorted(dossier.reviews.values(), key=lambda review: review.at)}
    return tuple(
        AnnotatorValues(
            actor,
            {item: dossier.value(item) for item in items},
            at=at,
            status=dossier.review_status,
        )
        for actor, at in last.items()
    )


def _evidence(dossier: DocumentRecord) -> tuple[Evidence, ...]:
    """Every role's quotes, each once."""
    return tuple(dict.fromkeys(quote for quotes in dossier.evidence.values() for quote in quotes))


def _turns(session: ProjectSession, run: RunRow, batch: int) -> Generator[dict[str, Any], None, None]:
    ids = iter(session.store.runs.document_ids(run.run_id))
    while chunk := list(islice(ids, batch)):
        for turn in session.store.transcripts.of(run.run_id, chunk):
            yield _line(turn, run.run_id)


def _line(turn: Turn, run_id: str) -> dict[str, Any]:
    reply, usage = turn.reply, turn.reply.usage
    return {
        "run": run_id,
        "document": turn.document_id,
        "turn": turn.turn,
        "role": turn.role,
        "model": turn.role_model.spec,
        "messages": [{"role": message.role, "content": message.content} for message in turn.messages],
        "text": reply.text,
        "reasoning": reply.reasoning,
        "reading": {
            "values": dict(reply.reading.values),
            "undecided": dict(reply.reading.undecided),
            "unknown": list(reply.reading.unknown),
            "problem": reply.reading.problem,
        },
        "evidence": [
            {
                "item": quote.item,
                "quote": quote.quote,
                "field": quote.field,
                "start": quote.start,
                "end": quote.end,
                "match": quote.match,
            }
            for quote in reply.evidence
        ],
        "tokens": {"prompt": usage.prompt_tokens, "completion": usage.completion_tokens},
        "cost": reply.cost_usd,
        "seconds": reply.seconds,
        "cached": turn.cached,
        "retry": turn.retry,
    }


def _objects(written: bytes) -> list[Any]:
    """The objects of a file of lines, or of one array."""
    if written.startswith(b"["):
        array: list[Any] = json.loads(written)
        return array
    return [json.loads(line) for line in written.splitlines()]


def _table_of_csv(text: str) -> Preview:
    import csv

    head, *rows = list(csv.reader(io.StringIO(text, newline=""))) or [[]]
    return Preview(tuple(head), tuple(tuple(row) for row in rows))


def _table_of_parquet(file: io.BytesIO) -> Preview:
    import pyarrow.parquet as pq

    file.seek(0)
    table = pq.read_table(file)
    return Preview(tuple(table.column_names), tuple(tuple(row.values()) for row in table.to_pylist()))


def _known(session: ProjectSession, run_id: str) -> RunRow:
    run = session.store.runs.get(run_id)
    if run is None:
        raise NoSuchRun(run_id)
    return run
