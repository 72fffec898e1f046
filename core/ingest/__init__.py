"""Files in: file -> table -> documents, with every row accounted for.

``read_table`` reads csv, tsv, xlsx, xls, ods, jsonl, json and parquet; ``suggest_mapping`` guesses what each column is;
``build_documents`` makes the documents. Rows that cannot be used are never dropped silently: ``Table.rejected`` and
``BuiltDocuments.rejected`` say where, why and what stood there, and ``rejected_csv`` writes them down.
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
