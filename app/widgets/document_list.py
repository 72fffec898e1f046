"""Lists of documents, which open in the page's drawer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.components import component
from app.widgets.labels import role_data

_DOCUMENT_LIST = component("document_list")


def document_list(
    rows: Sequence[Mapping[str, Any]],
    *,
    title: str,
    note: str,
    heading: str = "",
    roles: Mapping[str, str] = {},
    listing: str = "",
    key: str,
) -> None:
    """Draw a list of documents, which open in the page's ``document_drawer``.

    Each row is ``{id, excerpt, role, note, corrected, regressed}``; only ``id`` and ``excerpt`` are required. ``role``
    or ``note`` is shown in a column with this ``heading``. ``corrected`` and ``regressed`` are label names.
    ``listing`` is the name of the list in the drawer (default: ``title``).
    """
    _DOCUMENT_LIST(
        key=key,
        data={
            "rows": [dict(row) for row in rows],
            "title": title,
            "note": note,
            "heading": heading,
            "roles": role_data(roles),
            "listing": listing or title,
        },
    )


def excerpt(text: str) -> str:
    """Return the beginning of a text on one line, for a list."""
    return " ".join(text[:300].split())[:200]
