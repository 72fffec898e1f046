"""Export of results: one module per format, and the registry of all formats (``registry``)."""

from core.export.export_row import AnnotatorValues, ExportRow
from core.export.registry import FORMATS, Format, find_format, replacing, write

__all__ = ["FORMATS", "AnnotatorValues", "ExportRow", "Format", "find_format", "replacing", "write"]
