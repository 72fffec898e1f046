"""Argilla: one record a line, and the settings of the data set that the records fit."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

from core.codebook import Codebook
from core.export.interchange import TEXT, Named, fields_of, named, scale_of
from core.export.jsontext import dumps
from core.export.rows import AnnotatorValues, ExportRow

QUESTION = "labels"
"""The question of a multilabel codebook; that of a choice is ``label``, a rating has one for each dimension."""

_PEOPLE = uuid.uuid5(uuid.NAMESPACE_URL, "moot:person")
_STATUSES = {"Submitted": "submitted", "Discarded": "discarded"}


def write_argilla(rows: Iterable[ExportRow], codebook: Codebook, file: BinaryIO) -> int:
    """Records with ``fields``, ``metadata``, ``suggestions`` (the verdict's) and ``responses`` (what persons decided).

    Argilla takes one suggestion a question: the verdict's, with the run as its agent. A person is a UUID made from the
    name, the same in every export; the names are in ``metadata.people``. A rating that is no whole number is rounded
    to the nearest, as Argilla knows no others. Returns how many records were written.
    """
    count = 0
    for row in rows:
        count += 1
        record = {
            "id": row.document.id,
            "fields": fields_of(row),
            "metadata": {
                "run": row.run_id,
                "protocol": row.protocol,
                "codebook_version": row.codebook_version,
                "status": row.status,
                "people": ", ".join(said.by for said in row.people),
            },
            "vectors": {},
            "suggestions": [
                {"question_name": name, "value": value, "score": None, "agent": f"{row.run_id}/{said.by}"}
                for said in row.machine[:1]
                for name, value in _answers(said, codebook)
            ],
            "responses": [
                {
                    "question_name": name,
                    "value": value,
                    "user_id": str(uuid.uuid5(_PEOPLE, said.by)),
                    "status": _STATUSES.get(said.status, "draft"),
                }
                for said in row.people
                for name, value in _answers(said, codebook)
            ],
        }
        file.write(dumps(record) + b"\n")
    return count


def dataset_settings(codebook: Codebook, fields: Sequence[str]) -> bytes:
    """Guidelines, fields and questions as JSON, in the layout of Argilla's own settings file."""
    if codebook.kind == "rating":
        scale = scale_of(codebook)
        questions = [
            _question(label.name, label.description, {"type": "rating", "options": _points(scale.min, scale.max)})
            for label in codebook.labels
        ]
    else:
        kind = "multi_label_selection" if codebook.kind == "multilabel" else "label_selection"
        options = [
            {"value": label.name, "text": label.name, "description": label.description or None}
            for label in codebook.labels
        ]
        name = QUESTION if codebook.kind == "multilabel" else "label"
        questions = [_question(name, codebook.guideline, {"type": kind, "options": options})]
    described = {
        "guidelines": codebook.guideline or None,
        "allow_extra_metadata": True,
        "fields": [
            {
                "name": name,
                "title": codebook.unit if name == TEXT else name,
                "required": name == TEXT,
                "settings": {"type": "text"},
            }
            for name in fields
        ],
        "questions": questions,
        "metadata": [],
        "vectors": [],
    }
    return dumps(described) + b"\n"


def _question(name: str, description: str, settings: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "title": name, "description": description or None, "required": True, "settings": settings}


def _points(least: int, most: int) -> list[dict[str, int]]:
    return [{"value": value} for value in range(least, most + 1)]


def _answers(said: AnnotatorValues, codebook: Codebook) -> list[tuple[str, Any]]:
    values: Named | None = named(said.values, codebook)
    match values:
        case list():
            return [(QUESTION, values)]
        case str():
            return [("label", values)]
        case dict():
            return [(name, round(value)) for name, value in values.items()]
        case None:
            return []
