"""Hugging Face: Parquet beside a dataset card (README.md) whose front matter describes the columns."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO

import yaml

from core.codebook import Codebook
from core.export.export_row import (
    REVIEW,
    ExportRow,
    SharedColumns,
    label_names,
    named_ratings,
    text_fields,
)
from core.export.parquet import BATCH
from core.export.readme import Summary, origin
from core.formatting import escape_markdown
from core.ingest.table import REVIEW_DETAILS, clean_value, unique_names

DATA = "data/train.parquet"
"""The path of the rows in the folder."""
_CONFIGS = [{"config_name": "default", "data_files": [{"split": "train", "path": DATA}]}]
CARD_START = f"---\n{yaml.safe_dump({'configs': _CONFIGS}, sort_keys=False)}".encode()
"""The first lines of each dataset card, by which a card of an earlier export is known."""


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
    features = _features(codebook, fields)
    schema = pa.schema(
        [(name, _arrow_type(feature)) for name, feature in features.items()],
        metadata={"huggingface": json.dumps({"info": {"features": features}}).encode()},
    )
    names = list(zip(codebook.items, codebook.item_names, strict=True))
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while chunk := list(itertools.islice(rows, BATCH)):
            data: list[list[Any]] = [
                [row.document.id for row in chunk],
                *([text_fields(row, columns).get(name, "") for row in chunk] for name in fields),
                [row.run_id for row in chunk],
                [row.status for row in chunk],
                [row.review_status for row in chunk],
                *_labels(chunk, codebook),
                [[name for item, name in names if row.sources.get(item) == REVIEW] for row in chunk],
                [[name for item, name in names if row.values.get(item) is None] for row in chunk],
                *([row.review_details[name] for row in chunk] for name in REVIEW_DETAILS),
            ]
            cells = [[clean_value(cell) for cell in column] for column in data]
            arrays = [pa.array(column, field.type) for column, field in zip(cells, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def readme(codebook: Codebook, summary: Summary) -> bytes:
    """Return the dataset card: front matter for the loader, the origin of the labels, and their definitions."""
    features = _features(codebook, summary.columns.text_names)
    front = {
        "configs": _CONFIGS,
        "dataset_info": {"features": [{"name": name, **_in_card(features[name])} for name in features]},
        "task_categories": ["text-classification"],
    }
    lines = [
        "---",
        yaml.safe_dump(front, sort_keys=False, allow_unicode=True).rstrip(),
        "---",
        "",
        f"# {escape_markdown(codebook.name)}",
    ]
    unit = escape_markdown(codebook.unit) + (" in one run" if len(summary.runs) > 1 else "")
    lines += ["", f"One row is one {unit}.", "", *origin(summary, codebook)]
    if summary.reviewed:
        lines += ["", "A label is a person's decision where `reviewed` names it, otherwise the verdict of the run."]
    if codebook.guideline:
        lines += ["", "\n\n".join(map(escape_markdown, codebook.guideline.split("\n\n")))]
    lines += ["", "| label | meaning |", "| --- | --- |"]
    lines += [f"| {escape_markdown(label.name)} | {escape_markdown(label.description)} |" for label in codebook.labels]
    return ("\n".join(lines) + "\n").encode()


def _features(codebook: Codebook, fields: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the feature of each column, as ``datasets`` writes them into Parquet files, for readers without the card.

    A result with the name of a text field gets ``_2``.
    """
    text, number, mark = ({"dtype": name, "_type": "Value"} for name in ("string", "float64", "bool"))
    names = {"feature": text, "_type": "Sequence"}
    classes = {"names": list(codebook.names), "_type": "ClassLabel"}
    results: dict[str, dict[str, Any]] = {
        "multilabel": {"labels": {"feature": classes, "_type": "Sequence"}},
        "choice": {"label": classes},
        "rating": dict.fromkeys(codebook.names, number),
    }
    about = {"id": text, "run_id": text, "status": text, "review_status": text, "reviewed": names, "unresolved": names}
    about |= zip(REVIEW_DETAILS, (text, mark, names, names), strict=True)
    result = results[codebook.kind]
    unique = unique_names([*about, *result], fields)
    id, run, status, review_status, *last = zip(unique, about.values(), strict=False)
    named_results = zip(unique[len(about) :], result.values(), strict=True)
    return dict([id, *((name, text) for name in fields), run, status, review_status, *named_results, *last])


def _arrow_type(feature: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    match feature:
        case {"feature": inner}:
            return pa.list_(_arrow_type(inner))
        case {"names": _}:
            return pa.int64()
    return pa.type_for_alias(feature["dtype"])


def _in_card(feature: Mapping[str, Any]) -> dict[str, Any]:
    """Return a feature in the form of a dataset card."""
    match feature:
        case {"feature": inner}:
            return {"sequence": _in_card(inner)["dtype"]}
        case {"names": names}:
            return {"dtype": {"class_label": {"names": {str(number): name for number, name in enumerate(names)}}}}
    return {"dtype": feature["dtype"]}


def _labels(rows: Sequence[ExportRow], codebook: Codebook) -> list[list[Any]]:
    """Return the columns of the labels."""
    if codebook.kind == "rating":
        ratings = [named_ratings(row.values, codebook) for row in rows]
        return [[of_row.get(name) for of_row in ratings] for name in codebook.names]
    names = [label_names(row.values, codebook) for row in rows]
    numbers = [None if of_row is None else [*map(codebook.names.index, of_row)] for of_row in names]
    return [numbers if codebook.kind == "multilabel" else [of_row and of_row[0] for of_row in numbers]]
