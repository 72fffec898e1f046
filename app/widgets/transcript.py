"""Transcript of a stored debate, as in the middle column of the live board."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from app.components import component
from app.widgets.live_run import label_data, role_data
from core.codebook import Codebook
from core.services.live_run import StoredDebate, debate_events

_TRANSCRIPT = component("transcript")


def transcript(
    replay: StoredDebate,
    codebook: Codebook,
    roles: Iterable[str] | Mapping[str, str] = (),
    *,
    hidden: Collection[str] = (),
    framed: bool = True,
    height: int | None = None,
    key: str,
) -> None:
    """Draw a transcript: statements with highlighted quotes, label changes by each role, and the verdict.

    ``roles`` sets order, names and letters. Roles that are not in ``roles`` are shown, too. ``hidden`` roles are left
    out. The transcript scrolls within ``height`` pixels. Without ``height``, it has its full length.
    """
    document = replay.document
    _TRANSCRIPT(
        key=key,
        data={
            "document": {"id": document.id, "fields": dict(document.fields), "note": document.note},
            "events": debate_events(replay),
            "labels": label_data(codebook),
            "roles": role_data(roles),
            "kind": codebook.kind,
            "hidden": sorted(hidden),
            "framed": framed,
            "height": height,
        },
    )
