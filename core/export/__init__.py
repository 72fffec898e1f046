"""Export of results: one module per format, and the registry of all formats (``registry``)."""

from core.export.registry import FORMATS, Format, Written, find_format, replacing, write
from core.export.rows import AnnotatorValues, ExportRow

__all__ = ["FORMATS", "AnnotatorValues", "ExportRow", "Format", "Written", "find_format", "replacing", "write"]
