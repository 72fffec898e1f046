"""Argilla: one record per line, and the dataset settings for these records.

The rules that are not obvious were read off the client and the server (both 2.8.0), which refuse everything else:
fields and questions have different names; a multi-label answer is not empty; a selection has at least two options; a
rating is a whole number from 0 to 10; a submitted response answers every question; descriptions have a limited length.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from core.codebook import Codebook, Label, nearest_point
from core.export.export_row import (
    TEXT,
    AnnotatorValues,
    ExportRow,
    SharedColumns,
    label_names,
    named_ratings,
    text_fields,
    write_lines,
)
from core.export.readme import Summary
from core.ingest.table import dump_json, unique_names

NO_LABEL = "none"
"""The option of a multilabel codebook for a document without labels. Label names cannot be ``none``."""

MAX_DESCRIPTION, MAX_GUIDELINES = 1_000, 10_000
RATINGS = range(11)

_PEOPLE = uuid.uuid5(uuid.NAMESPACE_URL, "moot:person")
_STATUSES = {"Submitted": "submitted", "Discarded": "discarded"}


@dataclass(frozen=True, slots=True)
class _Question:
    """A question of the dataset: about one dimension of a rating, otherwise about the document."""

    name: str
    dimension: Label | None
    scale: range

    @property
    def is_rating(self) -> bool:
        """True if Argilla has ratings for the scale. Other scales become selections of numbers."""
        return bool(self.scale) and set(self.scale) <= set(RATINGS)


def _questions(codebook: Codebook, fields: Iterable[str]) -> list[_Question]:
    if codebook.kind != "rating":
        (name,) = unique_names(["labels" if codebook.kind == "multilabel" else "label"], fields)
        return [_Question(name, None, range(0))]
    named = zip(unique_names(codebook.names, fields), codebook.labels, codebook.scales, strict=True)
    return [_Question(name, label, scale.points) for name, label, scale in named]


def write_argilla(rows: Iterable[ExportRow], codebook: Codebook, columns: SharedColumns, file: BinaryIO) -> None:
    """Write records with ``fields``, ``metadata``, ``suggestions`` (of the verdict) and ``responses`` (of reviewers).

    Argilla accepts one suggestion per question: the verdict's, with the run as its agent. A document without any label
    is answered with ``none``. The ids of reviewers are those in the settings. Ratings are rounded to whole numbers,
    because Argilla has no others.
    """
    questions = _questions(codebook, columns.text_names)
    write_lines((_record(row, codebook, columns, questions) for row in rows), file)


def _record(
    row: ExportRow, codebook: Codebook, columns: SharedColumns, questions: Sequence[_Question]
) -> dict[str, Any]:
    return {
        "id": row.document.id,
        "fields": text_fields(row, columns),
        "metadata": row.metadata,
        "vectors": {},
        "suggestions": [
            {"question_name": name, "value": value, "score": None, "agent": f"{row.run_id}/{annotator.name}"}
            for annotator in row.models[:1]
            for name, value in _answers(annotator, codebook, questions)
        ],
        "responses": [
            response for annotator in row.reviewers for response in _responses(annotator, codebook, questions)
        ],
    }


def dataset_settings(codebook: Codebook, summary: Summary) -> bytes:
    """Return guidelines, fields and questions as JSON, in the layout of Argilla's settings file.

    ``users`` are the reviewers. Argilla ignores this key, and accepts responses only of users that it has.
    """
    described = {
        "guidelines": codebook.guideline[:MAX_GUIDELINES] or None,
        "allow_extra_metadata": True,
        "fields": [
            {
                "name": name,
                "title": codebook.unit if name == TEXT else name,
                "required": name == TEXT,
                "settings": {"type": "text"},
            }
            for name in summary.columns.text_names
        ],
        "questions": [_described(question, codebook) for question in _questions(codebook, summary.columns.text_names)],
        "metadata": [],
        "vectors": [],
        "users": [{"username": name, "id": _user_id(name)} for name in sorted(summary.reviewers)],
    }
    return dump_json(described) + b"\n"


def _described(question: _Question, codebook: Codebook) -> dict[str, Any]:
    title, description = question.name, ""
    if question.dimension is not None:
        title, description = question.dimension.name, question.dimension.description
        kind = "rating" if question.is_rating else "label_selection"
        options = [{"value": point} if question.is_rating else _option(str(point)) for point in question.scale]
    else:
        kind = "multi_label_selection" if codebook.kind == "multilabel" else "label_selection"
        options = [_option(label.name, label.description) for label in codebook.labels]
        options += [_option(NO_LABEL, "None of the labels")] if codebook.kind == "multilabel" else []
    return {
        "name": question.name,
        "title": title,
        "description": description[:MAX_DESCRIPTION] or None,
        "required": True,
        "settings": {"type": kind, "options": options},
    }


def _option(name: str, description: str = "") -> dict[str, Any]:
    return {"value": name, "text": name, "description": description[:MAX_DESCRIPTION] or None}


def _responses(annotator: AnnotatorValues, codebook: Codebook, questions: Sequence[_Question]) -> list[dict[str, Any]]:
    answers = _answers(annotator, codebook, questions)
    status = _STATUSES.get(annotator.status, "draft")
    if status == "submitted" and len(answers) < len(questions):
        status = "draft"
    return [
        {"question_name": name, "value": value, "user_id": _user_id(annotator.name), "status": status}
        for name, value in answers
    ]


def _answers(
    annotator: AnnotatorValues, codebook: Codebook, questions: Sequence[_Question]
) -> list[tuple[str, str | int | list[str]]]:
    if codebook.kind == "rating":
        ratings = named_ratings(annotator.values, codebook)
        rated = [
            (question, nearest_point(ratings[question.dimension.name]))
            for question in questions
            if question.dimension and question.dimension.name in ratings
        ]
        return [(question.name, value if question.is_rating else str(value)) for question, value in rated]
    names = label_names(annotator.values, codebook)
    if codebook.kind == "choice":
        return [(questions[0].name, names[0])] if names else []
    is_complete = all(annotator.values.get(item) is not None for item in codebook.items)
    return [(questions[0].name, names or [NO_LABEL])] if names or is_complete else []


def _user_id(name: str) -> str:
    """Return the id of a reviewer, the same in every export."""
    return str(uuid.uuid5(_PEOPLE, name))
