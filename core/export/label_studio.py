"""Label Studio: an array of tasks, and the labelling configuration that they fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO
from xml.etree import ElementTree as xml

from core.codebook import COLOURS, Codebook
from core.export.interchange import TEXT, fields_of, first_fields, named, scale_of, spans_of
from core.export.jsontext import dumps
from core.export.rows import AnnotatorValues, ExportRow, free_names
from core.hashing import digest

CHOICES, EVIDENCE = "aspect", "evidence"
"""Names of the controls: the labels, and the quoted words; with ``_2`` where a text field is called so."""

_HUES = ("#1f7a63", "#c8489a", "#9a5b13", "#2f5fd0", "#7a8f00", "#b3261e", "#7b4fd6", "#8a6d5c")


@dataclass(frozen=True, slots=True)
class _Controls:
    """The names of the controls, all different and none that of a text field, as Label Studio asks for."""

    choices: str
    evidence: str
    ratings: Mapping[str, str]
    """by the name of the dimension"""

    @classmethod
    def of(cls, codebook: Codebook, fields: Iterable[str]) -> _Controls:
        dimensions = [label.name for label in codebook.labels] if codebook.kind == "rating" else []
        choices, evidence, *own = free_names([CHOICES, EVIDENCE, *dimensions], fields)
        return cls(choices, evidence, dict(zip(dimensions, own, strict=True)))


def write_label_studio(rows: Iterable[ExportRow], codebook: Codebook, file: BinaryIO) -> int:
    """Tasks with ``data``, ``annotations`` (what persons decided) and ``predictions`` (the verdict and every role).

    ``data.text`` is the first text field, further ones keep their names. A task is numbered by its row; its document's
    id is in ``data.id``. An annotation of a submitted document is marked as ground truth, one of a discarded document
    as cancelled. ``completed_by`` numbers the persons from 1 in the order in which they appear, as Label Studio knows
    its users by number; their names are in ``meta``. Returns how many tasks were written.
    """
    people: dict[str, int] = {}
    count = 0
    fields, rows = first_fields(rows)
    controls = _Controls.of(codebook, fields)
    file.write(b"[")
    for count, row in enumerate(rows, 1):
        for said in row.people:
            people.setdefault(said.by, len(people) + 1)
        task = {
            "id": count,
            "data": {**fields_of(row), "id": row.document.id},
            "meta": {"run": row.run_id, "status": row.status, "people": dict(people)},
            "annotations": [
                _annotation(said, _result(said, row, codebook, controls), count, people[said.by]) for said in row.people
            ],
            "predictions": [
                {
                    "model_version": f"{row.run_id}/{said.by}",
                    "score": None,
                    "result": _result(said, row, codebook, controls),
                }
                for said in row.machine
            ],
        }
        file.write((b",\n" if count > 1 else b"\n") + dumps(task))
    file.write(b"\n]\n")
    return count


def labelling_config(codebook: Codebook, fields: Sequence[str]) -> bytes:
    """The XML configuration: the text fields, a control for every item, and one for the quoted words."""
    controls = _Controls.of(codebook, fields)
    view = xml.Element("View")
    for field in fields[1:]:
        xml.SubElement(view, "Header", value=field)
        xml.SubElement(view, "Text", name=field, value=f"${field}")
    xml.SubElement(view, "Text", name=TEXT, value=f"${TEXT}")
    if codebook.kind == "rating":
        scale = scale_of(codebook)
        for label in codebook.labels:
            xml.SubElement(view, "Header", value=label.name)
            xml.SubElement(
                view,
                "Number",
                name=controls.ratings[label.name],
                toName=TEXT,
                min=str(scale.min),
                max=str(scale.max),
                step="1",
            )
    else:
        several = "multiple" if codebook.kind == "multilabel" else "single"
        choices = xml.SubElement(view, "Choices", name=controls.choices, toName=TEXT, choice=several, showInLine="true")
        for label in codebook.labels:
            xml.SubElement(choices, "Choice", value=label.name, hint=label.description)
    marks = xml.SubElement(view, "Labels", name=controls.evidence, toName=TEXT)
    for label in codebook.labels:
        xml.SubElement(marks, "Label", value=label.name, background=_HUES[(label.colour - 1) % COLOURS])
    xml.indent(view)
    return f"{xml.tostring(view, encoding='unicode')}\n".encode()


def _annotation(said: AnnotatorValues, result: list[dict[str, Any]], number: int, person: int) -> dict[str, Any]:
    from datetime import UTC, datetime

    return {
        "id": number * 1000 + person,
        "completed_by": person,
        "ground_truth": said.status == "Submitted",
        "was_cancelled": said.status == "Discarded",
        "lead_time": None,
        "created_at": None if said.at is None else datetime.fromtimestamp(said.at, UTC).isoformat(timespec="seconds"),
        "result": result,
    }


def _result(said: AnnotatorValues, row: ExportRow, codebook: Codebook, controls: _Controls) -> list[dict[str, Any]]:
    values = named(said.values, codebook)
    regions: list[tuple[str, str, dict[str, Any]]] = []
    match values:
        case list():
            regions.append((controls.choices, "choices", {"choices": values}))
        case str():
            regions.append((controls.choices, "choices", {"choices": [values]}))
        case dict():
            regions += [(controls.ratings[name], "number", {"number": value}) for name, value in values.items()]
    for span in spans_of(said, row, codebook):
        place = {key: span[key] for key in ("start", "end", "text")}
        regions.append((controls.evidence, "labels", {**place, "labels": [span["label"]]}))
    return [
        {
            "id": digest([row.run_id, row.document.id, said.by, place], size=5),
            "from_name": name,
            "to_name": TEXT,
            "type": kind,
            "value": value,
        }
        for place, (name, kind, value) in enumerate(regions)
    ]
