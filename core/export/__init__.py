"""Export of results: one module per format, and the registry of all formats (``registry``)."""

from core.export.export_row import AnnotatorValues, ExportRow
from core.export.registry import FORMATS, ExportFormat, check_target, find_format, replacing, write

__all__ = [
    "FORMATS",
    "AnnotatorValues",
    "ExportFormat",
    "ExportRow",
    "check_target",
    "find_format",
    "replacing",
    "write",
]
