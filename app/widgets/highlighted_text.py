"""Text of a document with its evidence highlighted in the colours of the labels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from app.components import component
from app.widgets.live_board import label_data
from core.annotations import Evidence
from core.codebook import Codebook

_HIGHLIGHTED_TEXT = component("highlighted_text")


def evidence_rows(evidence: Iterable[Evidence | Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return evidence as plain rows. Stored rows are returned unchanged."""
    return [asdict(row) if isinstance(row, Evidence) else dict(row) for row in evidence]


def highlighted_text(
    fields: Mapping[str, str],
    codebook: Codebook,
    evidence: Iterable[Evidence | Mapping[str, Any]] = (),
    *,
    disputed: Collection[str] = (),
    height: int | None = None,
    small: bool = False,
    missing: bool = True,
    key: str,
) -> None:
    """Draw a document's fields with ``evidence`` highlighted, underlined and numbered by label.

    Labels in ``disputed`` get a dashed underline. Quotes that are not in the text are listed struck through below the
    text, unless ``missing`` is False. The text scrolls within ``height`` pixels. Without ``height``, the full text is
    shown.
    """
    _HIGHLIGHTED_TEXT(
        key=key,
        data={
            "fields": dict(fields),
            "labels": label_data(codebook),
            "evidence": evidence_rows(evidence),
            "disputed": sorted(disputed),
            "height": height,
            "small": small,
            "missing": missing,
        },
    )
