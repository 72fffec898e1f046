"""Helper that reads a table in this process, as a child process per table is slow."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from core.ingest import read
from core.ingest.table import Table


def read_table(source: bytes | Path, *, name: str, **options: Any) -> Table:
    """Return the table in these bytes; a path is read as in the studio."""
    if isinstance(source, Path):
        return read.read_table(source, name=name, **options)
    return read.parse_table(io.BytesIO(source), name=name, **options)
