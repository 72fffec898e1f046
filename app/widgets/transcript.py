"""The transcript of a debate that has been held: the board's middle column, standing still."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from app.components import component
from app.widgets.live_run import label_data, role_data
from core.codebook import Codebook
from core.services.live_run import Replay, debate_events

_TRANSCRIPT = component("transcript")


def transcript(
    replay: Replay,
    codebook: Codebook,
    roles: Iterable[str] | Mapping[str, str] = (),
    *,
    hidden: Collection[str] = (),
    framed: bool = True,
    height: int | None = None,
    key: str,
) -> None:
    """Show who said what, with quotes marked, what each role named, kept, added or dropped, and the verdict.

    ``roles`` fixes order, names and letters; roles that speak without being in it are shown all the same. ``hidden``
    roles are left out. It scrolls within ``height`` pixels; without, it is as long as it is.
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
