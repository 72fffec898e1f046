"""Argilla: one record per line, and the dataset settings for these records.

The rules that are not obvious were read off the client and the server (both 2.8.0), which refuse everything else:
fields and questions have different names; a multi-label answer is not empty; a selection has at least two options; a
rating is a whole number from 0 to 10; a submitted response answers every question; descriptions have a limited length.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

from core.codebook import Codebook, Scale, nearest_point
from core.export.export_row import (
    TEXT,
    AnnotatorValues,
    ExportRow,
    SharedColumns,
    label_names,
    named_ratings,
    text_fields,
    undecided_names,
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


def _question_names(codebook: Codebook, fields: Iterable[str]) -> list[str]:
    """Return the name of the question about the labels, or that of each dimension."""
    wanted = {"multilabel": ["labels"], "choice": ["label"], "rating": codebook.names}
    return unique_names(wanted[codebook.kind], fields)


def _has_ratings(scale: Scale) -> bool:
    """Return True if Argilla has ratings for the scale. Other scales become selections of numbers."""
    return scale.min in RATINGS and scale.max in RATINGS


def write_argilla(rows: Iterable[ExportRow], codebook: Codebook, columns: SharedColumns, file: BinaryIO) -> None:
    """Write records with ``fields``, ``metadata``, ``suggestions`` (of the verdict) and ``responses`` (of reviewers).

    Argilla accepts one suggestion per question: the verdict's, with the run as its agent. A document without any label
    is answered with ``none``. As a list of labels states that all others are absent, a verdict with unresolved labels
    is not a suggestion, and a response with undecided labels is a draft. The ids of reviewers are in the settings.
    Ratings are rounded to whole numbers, because Argilla has no others.
    """
    questions = _question_names(codebook, columns.text_names)
    write_lines((_record(row, codebook, columns, questions) for row in rows), file)


def _record(row: ExportRow, codebook: Codebook, columns: SharedColumns, questions: Sequence[str]) -> dict[str, Any]:
    return {
        "id": row.document.id,
        "fields": text_fields(row, columns),
        "metadata": row.metadata,
        "vectors": {},
        "suggestions": [
            {"question_name": name, "value": value, "score": None, "agent": f"{row.run_id}/{annotator.name}"}
            for annotator in row.models[:1]
            if not undecided_names(annotator.values, codebook)
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
        "questions": _questions(codebook, _question_names(codebook, summary.columns.text_names)),
        "metadata": [],
        "vectors": [],
        "users": [{"username": name, "id": _user_id(name)} for name in sorted(summary.reviewers)],
    }
    return dump_json(described) + b"\n"


def _questions(codebook: Codebook, names: Sequence[str]) -> list[dict[str, Any]]:
    if codebook.kind == "rating":
        return [
            _question(name, label.name, label.description, "rating", [{"value": point} for point in scale.points])
            if _has_ratings(scale)
            else _question(name, label.name, label.description, "label_selection", [*map(_option, scale.points)])
            for name, label, scale in zip(names, codebook.labels, codebook.scales, strict=True)
        ]
    options = [_option(label.name, label.description) for label in codebook.labels]
    if codebook.kind == "choice":
        return [_question(names[0], names[0], "", "label_selection", options)]
    options.append(_option(NO_LABEL, "None of the labels"))
    return [_question(names[0], names[0], "", "multi_label_selection", options)]


def _question(name: str, title: str, description: str, kind: str, options: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": name,
        "title": title,
        "description": description[:MAX_DESCRIPTION] or None,
        "required": True,
        "settings": {"type": kind, "options": options},
    }


def _option(value: str | int, description: str = "") -> dict[str, Any]:
    return {"value": str(value), "text": str(value), "description": description[:MAX_DESCRIPTION] or None}


def _responses(annotator: AnnotatorValues, codebook: Codebook, questions: Sequence[str]) -> list[dict[str, Any]]:
    answers = _answers(annotator, codebook, questions)
    status = _STATUSES.get(annotator.status, "draft")
    is_partial = len(answers) < len(questions) or undecided_names(annotator.values, codebook)
    if status == "submitted" and is_partial:
        status = "draft"
    return [
        {"question_name": name, "value": value, "user_id": _user_id(annotator.name), "status": status}
        for name, value in answers
    ]


def _answers(
    annotator: AnnotatorValues, codebook: Codebook, questions: Sequence[str]
) -> list[tuple[str, str | int | list[str]]]:
    if codebook.kind == "rating":
        points = {label: nearest_point(rating) for label, rating in named_ratings(annotator.values, codebook).items()}
        return [
            (name, points[label] if _has_ratings(scale) else str(points[label]))
            for name, label, scale in zip(questions, codebook.names, codebook.scales, strict=True)
            if label in points
        ]
    names = label_names(annotator.values, codebook)
    if codebook.kind == "choice":
        return [(questions[0], names[0])] if names else []
    return [(questions[0], names or [NO_LABEL])] if names or not undecided_names(annotator.values, codebook) else []


def _user_id(name: str) -> str:
    """Return the id of a reviewer, the same in every export."""
    return str(uuid.uuid5(_PEOPLE, name))
