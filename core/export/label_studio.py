"""Label Studio: an array of tasks, and the labeling configuration for these tasks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, BinaryIO, NamedTuple
from xml.etree import ElementTree as xml

from core.codebook import COLOUR_HEX, Codebook
from core.export.export_row import (
    TEXT,
    AnnotatorValues,
    ExportRow,
    SharedColumns,
    evidence_spans,
    label_names,
    named_ratings,
    text_fields,
    undecided_names,
)
from core.hashing import digest
from core.ingest.table import dump_json, unique_names

CHOICES, EVIDENCE = "aspect", "evidence"
"""Names of the controls for labels and for quotes, with ``_2`` if a text field has the same name."""


class _Controls(NamedTuple):
    """The names of the controls: unique, and different from the text fields, as Label Studio requires."""

    choices: str
    evidence: str
    ratings: Mapping[str, str]
    """By the name of the dimension."""


def _controls(codebook: Codebook, fields: Iterable[str]) -> _Controls:
    dimensions = codebook.names if codebook.kind == "rating" else ()
    choices, evidence, *ratings = unique_names([CHOICES, EVIDENCE, *dimensions], fields)
    return _Controls(choices, evidence, dict(zip(dimensions, ratings, strict=True)))


def _data_names(fields: Sequence[str]) -> dict[str, str]:
    """Return the name of each text field in ``data``: Label Studio's variables consist of ASCII word characters."""
    further = (re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "field" for name in fields[1:])
    return dict(zip(fields, (TEXT, *unique_names(further, [TEXT])), strict=True))


def write_label_studio(rows: Iterable[ExportRow], codebook: Codebook, columns: SharedColumns, file: BinaryIO) -> None:
    """Write tasks with ``data``, ``annotations`` (of reviewers) and ``predictions`` (verdict, every role, drafts).

    ``data.text`` is the first text field; further ones are named by ``_data_names``. Fields that a document lacks are
    empty, because Label Studio refuses tasks without them. The task id is the row number; the document id is in
    ``data.document_id``, because converters overwrite ``data.id`` with the task id. Annotations of submitted documents
    are marked as ground truth, those of discarded documents as cancelled. They have no ``completed_by``, because Label
    Studio refuses users that it does not know. It assigns all annotations to the user who imports them:
    ``meta.reviewers`` names the reviewers in the order of the annotations, ``meta.reviewer`` of a result its reviewer.
    ``meta.labels`` of a multilabel codebook has all labels, because exports of Label Studio name only the chosen ones.
    ``meta.undecided`` has the labels without a value in each annotation, if there are any. A prediction with such
    labels has no choices, because they would be taken as absent.
    """
    fields = columns.text_names
    names = _data_names(fields)
    controls = _controls(codebook, names.values())
    (id_name,) = unique_names(["document_id"], names.values())
    labels = {"labels": codebook.names} if codebook.kind == "multilabel" else {}
    file.write(b"[")
    for number, row in enumerate(rows, 1):
        texts = text_fields(row, columns)
        reviewers = [person for person in row.reviewers if not person.is_draft]
        drafts = [person for person in row.reviewers if person.is_draft]
        undecided = [undecided_names(person.values, codebook) for person in reviewers]
        meta = row.metadata | {"reviewers": [person.name for person in reviewers]} | labels
        task = {
            "id": number,
            "data": {**{names[field]: texts.get(field, "") for field in fields}, id_name: row.document.id},
            "meta": meta | ({"undecided": undecided} if any(undecided) else {}),
            "annotations": [
                _annotation(person, _result(person, row, codebook, controls), number * 1000 + nth)
                for nth, person in enumerate(reviewers, 1)
            ],
            "predictions": [_prediction(annotator, row, codebook, controls) for annotator in (*row.models, *drafts)],
        }
        file.write((b",\n" if number > 1 else b"\n") + dump_json(task))
    file.write(b"\n]\n")


def labelling_config(codebook: Codebook, fields: Sequence[str]) -> bytes:
    """Return the XML configuration: text fields, a control for every item, and one for the quotes."""
    names = _data_names(fields)
    controls = _controls(codebook, names.values())
    view = xml.Element("View")
    for field in fields[1:]:
        xml.SubElement(view, "Header", value=field)
        xml.SubElement(view, "Text", name=names[field], value=f"${names[field]}")
    xml.SubElement(view, "Text", name=TEXT, value=f"${TEXT}")
    if codebook.kind == "rating":
        for label in codebook.labels:
            scale = codebook.scale_of(label.id)
            xml.SubElement(view, "Header", value=label.name)
            number = {
                "name": controls.ratings[label.name],
                "toName": TEXT,
                "min": str(scale.min),
                "max": str(scale.max),
                "step": "1",
            }
            xml.SubElement(view, "Number", number)
    else:
        choice_mode = "multiple" if codebook.kind == "multilabel" else "single"
        choices = xml.SubElement(
            view, "Choices", name=controls.choices, toName=TEXT, choice=choice_mode, showInLine="true"
        )
        for label in codebook.labels:
            xml.SubElement(choices, "Choice", value=label.name, hint=label.description)
    marks = xml.SubElement(view, "Labels", name=controls.evidence, toName=TEXT)
    for label in codebook.labels:
        xml.SubElement(marks, "Label", value=label.name, background=COLOUR_HEX[label.colour - 1])
    xml.indent(view)
    return f"{xml.tostring(view, encoding='unicode')}\n".encode()


def _annotation(annotator: AnnotatorValues, result: list[dict[str, Any]], id: int) -> dict[str, Any]:
    at = None if annotator.at is None else datetime.fromtimestamp(annotator.at, UTC).isoformat(timespec="seconds")
    return {
        "id": id,
        "ground_truth": annotator.status == "Submitted",
        "was_cancelled": annotator.status == "Discarded",
        "lead_time": None,
        "created_at": at,
        "result": [part | {"meta": {"reviewer": annotator.name}} for part in result],
    }


def _prediction(annotator: AnnotatorValues, row: ExportRow, codebook: Codebook, controls: _Controls) -> dict[str, Any]:
    result = _result(annotator, row, codebook, controls)
    if undecided_names(annotator.values, codebook):
        result = [part for part in result if part["type"] != "choices"]
    return {"model_version": f"{row.run_id}/{annotator.name}", "score": None, "result": result}


def _result(
    annotator: AnnotatorValues, row: ExportRow, codebook: Codebook, controls: _Controls
) -> list[dict[str, Any]]:
    names, ratings = label_names(annotator.values, codebook), named_ratings(annotator.values, codebook)
    regions: list[tuple[str, str, dict[str, Any]]] = []
    if names is not None:
        regions.append((controls.choices, "choices", {"choices": names}))
    regions += [(controls.ratings[name], "number", {"number": value}) for name, value in ratings.items()]
    for span in evidence_spans(annotator, row, codebook):
        offsets = {key: span[key] for key in ("start", "end", "text")}
        regions.append((controls.evidence, "labels", {**offsets, "labels": [span["label"]]}))
    return [
        {
            "id": digest([row.run_id, row.document.id, annotator.name, index], size=5),
            "from_name": name,
            "to_name": TEXT,
            "type": kind,
            "value": value,
        }
        for index, (name, kind, value) in enumerate(regions)
    ]
