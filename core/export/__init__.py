"""Results out: writers that stream rows of values to a file, and one door to all formats."""

from core.export.registry import FORMATS, Format, Written, find_format, replacing, write
from core.export.rows import ExportRow, Said

__all__ = ["FORMATS", "ExportRow", "Format", "Said", "Written", "find_format", "replacing", "write"]
