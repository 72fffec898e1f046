"""Known capabilities of models, stored beside the preferences: never in a project, and never a key."""

from __future__ import annotations

import contextlib
from typing import Any

import orjson

from core.llm.models import ModelLibrary
from core.services import preferences

FILE = "capabilities.json"


def recall(models: ModelLibrary) -> None:
    """Load capabilities that earlier processes found. An unreadable file counts as empty."""
    with contextlib.suppress(KeyError, TypeError, ValueError):
        models.capabilities.recall(_rows())


def keep(models: ModelLibrary) -> None:
    """Save the known capabilities, merged with those of other processes."""
    learned = models.capabilities.to_json()
    ours = {(row["base_url"], row["model"]) for row in learned}
    others = [row for row in _rows() if (row.get("base_url"), row.get("model")) not in ours]
    preferences.write(FILE, orjson.dumps([*others, *learned], option=orjson.OPT_INDENT_2))


def _rows() -> list[dict[str, Any]]:
    try:
        rows = orjson.loads((preferences.folder() / FILE).read_bytes())
    except (OSError, ValueError):
        return []
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
