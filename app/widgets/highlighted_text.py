"""Text of a document with its evidence highlighted in the colours of the labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict

from app.components import component
from app.widgets.live_board import label_data
from core.annotations import Evidence
from core.codebook import Codebook

_HIGHLIGHTED_TEXT = component("highlighted_text")


def highlighted_text(
    fields: Mapping[str, str],
    codebook: Codebook,
    evidence: Iterable[Evidence],
    *,
    height: int,
    key: str,
) -> None:
    """Draw a document's fields with ``evidence`` highlighted, underlined and numbered by label.

    Quotes that are not in the text are listed struck through below the text. The text scrolls within ``height`` pixels.
    """
    _HIGHLIGHTED_TEXT(
        key=key,
        data={
            "fields": dict(fields),
            "labels": label_data(codebook),
            "evidence": [asdict(row) for row in evidence],
            "height": height,
        },
    )
