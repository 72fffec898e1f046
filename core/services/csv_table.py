"""Rows as a file for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from core.ingest.formulas import escape


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """UTF-8 csv with a byte order mark; columns in the order of their first appearance, nothing for None. Text that a
    spreadsheet would take for a formula is escaped."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\r\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: escape(value) if isinstance(value, str) else value for key, value in row.items()})
    return "\ufeff" + out.getvalue()
