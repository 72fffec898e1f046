"""Codebooks, tables and documents for the tests of the import."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from core.codebook import Codebook, parse_codebook
from core.ingest import document_builder
from core.ingest.codebook_from_gold import codebook_from_gold
from core.ingest.document_builder import BuiltDocuments
from core.ingest.mapping import ColumnMapping
from core.ingest.read import read_table
from core.ingest.table import Table

ASPECTS = parse_codebook({"labels": [{"name": "Price"}, {"name": "Staff, service"}, {"name": "Room"}]})
PRICE, STAFF, ROOM = (label.id for label in ASPECTS.labels)
SENTIMENT = parse_codebook(
    {"kind": "choice", "labels": [{"name": "good", "code": 1}, {"name": "bad", "code": 0}, {"name": "mixed"}]}
)
GOOD, BAD, MIXED = (label.id for label in SENTIMENT.labels)
FACETS = parse_codebook({"kind": "rating", "labels": [{"name": "fluency"}], "scale": {"min": 1, "max": 5}})
FLUENCY = FACETS.labels[0].id


def table(text: str, name: str = "data.csv") -> Table:
    return read_table(text.encode(), name=name)


def build_documents(
    table: Table, mapping: ColumnMapping, codebook: Codebook | None = None, **options: Any
) -> BuiltDocuments:
    """Build documents; without a codebook, with the one of the gold columns, and gold by the names of its labels."""
    if codebook is not None or not mapping.gold:
        return document_builder.build_documents(table, mapping, codebook, **options)
    made = codebook_from_gold(table, mapping)
    built = document_builder.build_documents(table, mapping, made, **options)
    named = [
        {
            rater: {
                made.label_names.get(item, item): made.label_names.get(value, value) for item, value in gold.items()
            }
            for rater, gold in document.gold.items()
        }
        for document in built.documents
    ]
    documents = (replace(document, gold=gold) for document, gold in zip(built.documents, named, strict=True))
    return replace(built, documents=tuple(documents))


def build(text: str, codebook: Codebook | None = None, name: str = "data.csv", **mapping: Any) -> BuiltDocuments:
    options = {key: mapping.pop(key) for key in ("duplicates", "empties") if key in mapping}
    return build_documents(table(text, name), ColumnMapping(text="text", **mapping), codebook, **options)
