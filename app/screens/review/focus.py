"""Focus view of Review: one document at a time, decided by keyboard. The component uses ``app.api.review``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from app.components import component
from app.widgets.live_run import label_data, role_data
from core.codebook import Codebook
from core.services.review.queue import QueueFilter, ReviewSettings
from core.services.review.review import ERROR_TAGS

_FOCUS = component("review_focus")


def focus(
    run: str,
    codebook: Codebook,
    roles: Mapping[str, str],
    wanted: QueueFilter,
    settings: ReviewSettings,
    *,
    actor: str,
    asked: str | None = None,
    height: str = "calc(100vh - 150px)",
    on_settled: Callable[[], None] = lambda: None,
    on_document: Callable[[], None] = lambda: None,
    key: str = "focus",
) -> str | None:
    """Draw the queue, the document in focus and its form, and return the id of the shown document.

    The returned id follows the component with a short delay. None before the component has reported a document. ``run``
    is a name from ``app.context.live_name``. ``wanted`` filters the queue, which has its own order. The component
    reloads only if run, reviewer, filters, settings or ``asked`` change. It saves decisions through its own route and
    calls ``on_settled`` afterwards. ``height`` is a CSS length.
    """
    filters: dict[str, Any] = asdict(wanted)
    for own in ("sort", "number", "size"):
        del filters[own]
    scales = {item: codebook.scale_of(item).model_dump() for item in codebook.items if codebook.kind == "rating"}
    result = _FOCUS(
        key=key,
        data={
            "run": run,
            "actor": actor,
            "labels": label_data(codebook),
            "roles": role_data(roles),
            "kind": codebook.kind,
            "scales": scales,
            "filters": filters,
            "settings": asdict(settings),
            "tags": list(ERROR_TAGS),
            "document": asked,
            "height": height,
        },
        on_document_change=on_document,
        on_blind_change=lambda: None,
        on_settled_change=on_settled,
    )
    shown = result.get("document")
    return shown if isinstance(shown, str) else None
