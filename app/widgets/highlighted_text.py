"""A document with its evidence marked in the colours of the labels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from app.components import component
from app.widgets.live_run import label_data
from core.annotations import Evidence
from core.codebook import Codebook

_MARKED = component("highlighted_text")


def evidence_rows(evidence: Iterable[Evidence | Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Evidence as plain rows; stored rows pass as they are."""
    return [asdict(row) if isinstance(row, Evidence) else dict(row) for row in evidence]


def marked_text(
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
    """Show a document's fields in serif with ``evidence`` tinted, underlined and numbered by label.

    Labels in ``disputed`` get a dashed underline. Words that are not in the text are listed struck through below it
    (unless ``missing`` is False). The text scrolls within ``height`` pixels; without, it is as long as it is.
    """
    _MARKED(
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
