"""The metric and the export format of ``docs/development.md``, made from its code."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

from core.export import registry
from core.stats import metrics

PAGE = Path(__file__).resolve().parent.parent / "docs" / "development.md"


def specificity() -> tuple[metrics.Metric, ...]:
    """Return the documented metric and its means over labels, as the registry of metrics does."""
    return metrics._registry(_entry("def _specificity", "Metric(", metrics))


def pairs() -> registry.ExportFormat:
    """Return the documented export format."""
    return _entry("def write_pairs", "ExportFormat(", registry)


def _entry(function: str, call: str, module: ModuleType) -> Any:
    """Return the documented entry of a registry and run the code of its function; both see the module's names."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    code = "\n".join(block for block in blocks if function in block or block.startswith(call))
    definitions, entry = re.split(rf"^(?={re.escape(call)})", code, flags=re.MULTILINE)
    names = dict(vars(module))
    exec(definitions, names)
    return eval(entry, names)
