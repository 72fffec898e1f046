"""Import of files: decode -> table -> mapping -> documents, with an account of every row.

``read_table`` (read.py) reads csv, tsv, xlsx, xls, ods, jsonl, json and parquet. ``suggest_mapping`` (mapping.py)
suggests which column is which. ``build_documents`` (document_builder.py) builds the documents, and gold.py reads their
gold cells. No row is dropped silently: ``Table.rejected`` and ``BuiltDocuments.rejected`` have line, reason and raw
text of each rejected row.
"""

from core.ingest.document_builder import BuiltDocuments, UnknownGold, build_documents, codebook_from_gold
from core.ingest.gold import GoldSource
from core.ingest.mapping import (
    Mapping,
    mapping_same_names,
    parse_gold_option,
    parse_value_option,
    suggest_mapping,
)
from core.ingest.profiling import Profile, profile_documents
from core.ingest.read import SUFFIXES, read_table
from core.ingest.table import Rejected, Table, rejected_csv

__all__ = [
    "SUFFIXES",
    "BuiltDocuments",
    "GoldSource",
    "Mapping",
    "Profile",
    "Rejected",
    "Table",
    "UnknownGold",
    "build_documents",
    "codebook_from_gold",
    "mapping_same_names",
    "parse_gold_option",
    "parse_value_option",
    "profile_documents",
    "read_table",
    "rejected_csv",
    "suggest_mapping",
]
