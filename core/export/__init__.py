"""Results out: writers that stream rows of values to a file, and one door to all formats."""

from core.export.registry import FORMATS, Format, Written, find_format, replacing, write
from core.export.rows import AnnotatorValues, ExportRow

__all__ = ["FORMATS", "AnnotatorValues", "ExportRow", "Format", "Written", "find_format", "replacing", "write"]
