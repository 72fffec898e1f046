"""Hugging Face: Parquet beside a dataset card (README.md) whose front matter describes the columns."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO, Literal

import yaml

from core.codebook import Codebook
from core.export.export_row import (
    REVIEW,
    ExportRow,
    NamedValues,
    SharedColumns,
    named_values,
    text_fields,
)
from core.export.parquet import BATCH
from core.export.readme import Summary, origin
from core.formatting import escape_markdown
from core.ingest.table import REVIEW_DETAILS, clean_value, unique_names

DATA = "data/train.parquet"
"""The path of the rows in the folder."""


def write_huggingface(rows: Iterable[ExportRow], codebook: Codebook, columns: SharedColumns, file: BinaryIO) -> None:
    """Write ``id``, the text fields, the run, the statuses, the labels, ``reviewed`` and ``unresolved``.

    ``reviewed`` has the names of the items that a person decided, ``unresolved`` those of the items without a value.
    The last columns are ``REVIEW_DETAILS``.

    Multilabel: ``labels``, a list of class numbers. Choice: ``label``, a class number or null. Rating: a column of
    numbers per dimension.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields, rows = columns.text_names, iter(rows)
    result = {"multilabel": pa.list_(pa.int64()), "choice": pa.int64(), "rating": pa.float64()}[codebook.kind]
    types = {"text": pa.string(), "result": result, "names": pa.list_(pa.string()), "mark": pa.bool_()}
    columns_of_file = _columns(codebook, fields)
    features = json.dumps({"info": {"features": _features(columns_of_file, codebook)}})
    schema = pa.schema(
        [(name, types[kind]) for name, kind in columns_of_file], metadata={"huggingface": features.encode()}
    )
    names = list(zip(codebook.items, codebook.item_names, strict=True))
    numbers = {label.name: number for number, label in enumerate(codebook.labels)}
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while chunk := list(itertools.islice(rows, BATCH)):
            data: list[list[Any]] = [
                [row.document.id for row in chunk],
                *([text_fields(row, columns).get(name, "") for row in chunk] for name in fields),
                [row.run_id for row in chunk],
                [row.status for row in chunk],
                [row.review_status for row in chunk],
                *_labels([named_values(row.values, codebook) for row in chunk], codebook, numbers),
                [[name for item, name in names if row.sources.get(item) == REVIEW] for row in chunk],
                [[name for item, name in names if row.values.get(item) is None] for row in chunk],
                *([row.review_details[name] for row in chunk] for name in REVIEW_DETAILS),
            ]
            cells = [[clean_value(cell) for cell in column] for column in data]
            arrays = [pa.array(column, field.type) for column, field in zip(cells, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def readme(codebook: Codebook, summary: Summary) -> bytes:
    """Return the dataset card: front matter for the loader, the origin of the labels, and their definitions."""
    classes = {"class_label": {"names": {str(n): label.name for n, label in enumerate(codebook.labels)}}}
    results: dict[str, dict[str, Any]] = {
        "multilabel": {"sequence": classes},
        "choice": {"dtype": classes},
        "rating": {"dtype": "float64"},
    }
    kinds: dict[str, dict[str, Any]] = {
        "text": {"dtype": "string"},
        "result": results[codebook.kind],
        "names": {"sequence": "string"},
        "mark": {"dtype": "bool"},
    }
    columns = _columns(codebook, summary.columns.text_names)
    front = {
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": DATA}]}],
        "dataset_info": {"features": [{"name": name, **kinds[kind]} for name, kind in columns]},
        "task_categories": ["text-classification"],
    }
    lines = [
        "---",
        yaml.safe_dump(front, sort_keys=False, allow_unicode=True).rstrip(),
        "---",
        "",
        f"# {escape_markdown(codebook.name)}",
    ]
    lines += ["", f"One row is one {escape_markdown(codebook.unit)}.", "", *origin(summary, codebook)]
    if summary.reviewed:
        lines += ["", "A label is a person's decision where `reviewed` names it, otherwise the verdict of the run."]
    if codebook.guideline:
        lines += ["", "\n\n".join(map(escape_markdown, codebook.guideline.split("\n\n")))]
    lines += ["", "| label | meaning |", "| --- | --- |"]
    lines += [f"| {escape_markdown(label.name)} | {escape_markdown(label.description)} |" for label in codebook.labels]
    return ("\n".join(lines) + "\n").encode()


def _columns(codebook: Codebook, fields: Sequence[str]) -> list[tuple[str, Literal["text", "result", "names", "mark"]]]:
    """Return name and kind of each column; a result with the name of a text field gets ``_2``."""
    results = {"multilabel": ("labels",), "choice": ("label",), "rating": codebook.names}[codebook.kind]
    id, run, status, review, reviewed, unresolved, note, flag, errors, people, *named = unique_names(
        ["id", "run_id", "status", "review_status", "reviewed", "unresolved", *REVIEW_DETAILS, *results], fields
    )
    return [
        *((name, "text") for name in (id, *fields, run, status, review)),
        *((name, "result") for name in named),
        *((name, "names") for name in (reviewed, unresolved)),
        (note, "text"),
        (flag, "mark"),
        *((name, "names") for name in (errors, people)),
    ]


def _features(columns: Sequence[tuple[str, str]], codebook: Codebook) -> dict[str, Any]:
    """Return the features as ``datasets`` writes them into Parquet files, for readers of the file without the card."""
    text = {"dtype": "string", "_type": "Value"}
    classes = {"names": list(codebook.names), "_type": "ClassLabel"}
    result: dict[str, dict[str, Any]] = {
        "multilabel": {"feature": classes, "_type": "Sequence"},
        "choice": classes,
        "rating": {"dtype": "float64", "_type": "Value"},
    }
    kinds = {
        "text": text,
        "result": result[codebook.kind],
        "names": {"feature": text, "_type": "Sequence"},
        "mark": {"dtype": "bool", "_type": "Value"},
    }
    return {name: kinds[kind] for name, kind in columns}


def _labels(values: list[NamedValues | None], codebook: Codebook, numbers: dict[str, int]) -> list[list[Any]]:
    """Return the columns of the labels; ``values`` has those of each row, ``numbers`` the classes by name."""
    if codebook.kind == "rating":
        ratings = [row if isinstance(row, dict) else {} for row in values]
        return [[row.get(label.name) for row in ratings] for label in codebook.labels]
    if codebook.kind == "choice":
        return [[numbers[row] if isinstance(row, str) else None for row in values]]
    return [[[numbers[name] for name in row] if isinstance(row, list) else None for row in values]]
