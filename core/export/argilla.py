"""Argilla: one record per line, and the dataset settings for these records."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

from core.codebook import Codebook
from core.export.rows import (
    TEXT,
    AnnotatorValues,
    ExportRow,
    NamedValues,
    dump_json,
    named_values,
    text_fields,
)

QUESTION = "labels"
"""The question of a multilabel codebook. A choice has the question ``label``, a rating one per dimension."""

_PEOPLE = uuid.uuid5(uuid.NAMESPACE_URL, "moot:person")
_STATUSES = {"Submitted": "submitted", "Discarded": "discarded"}


def write_argilla(rows: Iterable[ExportRow], codebook: Codebook, file: BinaryIO) -> int:
    """Write records with ``fields``, ``metadata``, ``suggestions`` (of the verdict) and ``responses`` (of reviewers).

    Argilla accepts one suggestion per question: the verdict's, with the run as its agent. A reviewer is a UUID made
    from the name, the same in every export; the names are in ``metadata.people``. Ratings are rounded to whole numbers,
    because Argilla has no others. Returns the number of records.
    """
    count = 0
    for row in rows:
        count += 1
        record = {
            "id": row.document.id,
            "fields": text_fields(row),
            "metadata": {
                "run": row.run_id,
                "protocol": row.protocol,
                "codebook_version": row.codebook_version,
                "status": row.status,
                "people": ", ".join(annotator.name for annotator in row.reviewers),
            },
            "vectors": {},
            "suggestions": [
                {"question_name": name, "value": value, "score": None, "agent": f"{row.run_id}/{annotator.name}"}
                for annotator in row.models[:1]
                for name, value in _answers(annotator, codebook)
            ],
            "responses": [
                {
                    "question_name": name,
                    "value": value,
                    "user_id": str(uuid.uuid5(_PEOPLE, annotator.name)),
                    "status": _STATUSES.get(annotator.status, "draft"),
                }
                for annotator in row.reviewers
                for name, value in _answers(annotator, codebook)
            ],
        }
        file.write(dump_json(record) + b"\n")
    return count


def dataset_settings(codebook: Codebook, fields: Sequence[str]) -> bytes:
    """Return guidelines, fields and questions as JSON, in the layout of Argilla's settings file."""
    if codebook.kind == "rating":
        scales = [(label, codebook.scale_of(label.id)) for label in codebook.labels]
        questions = [
            _question(label.name, label.description, {"type": "rating", "options": _points(scale.min, scale.max)})
            for label, scale in scales
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
    return dump_json(described) + b"\n"


def _question(name: str, description: str, settings: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "title": name, "description": description or None, "required": True, "settings": settings}


def _points(least: int, most: int) -> list[dict[str, int]]:
    return [{"value": value} for value in range(least, most + 1)]


def _answers(annotator: AnnotatorValues, codebook: Codebook) -> list[tuple[str, Any]]:
    values: NamedValues | None = named_values(annotator.values, codebook)
    match values:
        case list():
            return [(QUESTION, values)]
        case str():
            return [("label", values)]
        case dict():
            return [(name, round(value)) for name, value in values.items()]
        case None:
            return []
