"""Reading a table in this process, without the cost of a child process for each of many small tables."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from core.ingest import read
from core.ingest.table import Table


def read_table(source: bytes | Path, *, name: str, **options: Any) -> Table:
    """The table in these bytes; a path is read as the studio reads it."""
    if isinstance(source, Path):
        return read.read_table(source, name=name, **options)
    return read.parse_table(io.BytesIO(source), name=name, **options)
