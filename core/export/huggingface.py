"""Hugging Face: Parquet beside a README whose front matter says what the columns are."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

import yaml

from core.codebook import Codebook
from core.export.interchange import Named, fields_of, first_fields, named
from core.export.parquet import BATCH
from core.export.rows import ExportRow, free_names, items_of
from core.ingest.table import clean_value

DATA = "data/train.parquet"
"""Where the rows lie in the folder."""


def write_huggingface(rows: Iterable[ExportRow], codebook: Codebook, file: BinaryIO) -> int:
    """Columns ``id``, the text fields, ``status``, the labels, and ``unresolved``: names of the items without a value.

    Several labels are ``labels``, a list of class numbers; a choice is ``label``, a class number or null; a rating has
    a column of numbers for each dimension. The text fields are those of the first row. Returns how many rows were
    written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields, rows = first_fields(rows)
    plan = _Columns(codebook, fields)
    schema = pa.schema(plan.types())
    names = items_of(codebook)
    numbers = {label.name: number for number, label in enumerate(codebook.labels)}
    count = 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while chunk := list(itertools.islice(rows, BATCH)):
            columns: list[list[Any]] = [
                [row.document.id for row in chunk],
                *([fields_of(row).get(name, "") for row in chunk] for name in fields),
                [row.status for row in chunk],
                *_labels([named(row.values, codebook) for row in chunk], codebook, numbers),
                [[name for item, name in names if row.values.get(item) is None] for row in chunk],
            ]
            cells = [[clean_value(cell) for cell in column] for column in columns]
            arrays = [pa.array(column, field.type) for column, field in zip(cells, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            count += len(chunk)
    return count


def readme(codebook: Codebook, fields: Sequence[str]) -> bytes:
    """The data set's card: front matter for the loader, and the definitions for people."""
    front = {
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": DATA}]}],
        "dataset_info": {"features": _Columns(codebook, fields).features()},
        "task_categories": ["text-classification"],
    }
    lines = [
        "---",
        yaml.safe_dump(front, sort_keys=False, allow_unicode=True).rstrip(),
        "---",
        "",
        f"# {codebook.name}",
    ]
    lines += ["", f"One row is one {codebook.unit}. Labels come from debates of language models, corrected by people."]
    if codebook.guideline:
        lines += ["", codebook.guideline]
    lines += ["", "| label | meaning |", "| --- | --- |"]
    lines += [f"| {_cell(label.name)} | {_cell(label.description)} |" for label in codebook.labels]
    return ("\n".join(lines) + "\n").encode()


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())


class _Columns:
    """The columns of a data set under this codebook; a result that is called like a text field gets ``_2``."""

    def __init__(self, codebook: Codebook, fields: Sequence[str]) -> None:
        self._codebook = codebook
        match codebook.kind:
            case "multilabel":
                results = ["labels"]
            case "choice":
                results = ["label"]
            case "rating":
                results = [label.name for label in codebook.labels]
        self._id, self._status, self._unresolved, *self._results = free_names(
            ["id", "status", "unresolved", *results], fields
        )
        self._fields = fields

    def types(self) -> list[tuple[str, Any]]:
        """Names and Arrow types, in order."""
        import pyarrow as pa

        text = pa.string()
        kind = {"multilabel": pa.list_(pa.int64()), "choice": pa.int64(), "rating": pa.float64()}[self._codebook.kind]
        texts = [(name, text) for name in (self._id, *self._fields, self._status)]
        return [*texts, *((name, kind) for name in self._results), (self._unresolved, pa.list_(text))]

    def features(self) -> list[dict[str, Any]]:
        """The same as the front matter of a data set's card has it."""
        classes = {"class_label": {"names": {str(n): label.name for n, label in enumerate(self._codebook.labels)}}}
        kinds: dict[str, dict[str, Any]] = {
            "multilabel": {"sequence": classes},
            "choice": {"dtype": classes},
            "rating": {"dtype": "float64"},
        }
        texts = [{"name": name, "dtype": "string"} for name in (self._id, *self._fields, self._status)]
        results = [{"name": name, **kinds[self._codebook.kind]} for name in self._results]
        return [*texts, *results, {"name": self._unresolved, "sequence": "string"}]


def _labels(said: list[Named | None], codebook: Codebook, numbers: dict[str, int]) -> list[list[Any]]:
    if codebook.kind == "rating":
        return [[one.get(label.name) if isinstance(one, dict) else None for one in said] for label in codebook.labels]
    if codebook.kind == "choice":
        return [[numbers[one] if isinstance(one, str) else None for one in said]]
    return [[[numbers[name] for name in one] if isinstance(one, list) else None for one in said]]
