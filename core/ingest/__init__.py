"""Import of files: decode -> table -> mapping -> documents, with an account of every row.

``read_table`` (read.py) reads csv, tsv, txt, xlsx, xls, ods, jsonl, json, xml and parquet. ``suggest_mapping``
(mapping_suggestions.py) suggests which column is which; the rules for gold are in gold_suggestions.py.
``build_documents`` (document_builder.py) builds the documents, and gold.py reads their gold cells.
``codebook_from_gold`` proposes a codebook. No row is dropped silently: ``Table.rejected`` and
``BuiltDocuments.rejected`` have line, reason and raw text of each rejected row.

This package imports nothing here: a child process that reads a file must start fast (``child_process.py``).
"""
