"""Live board of a run's debates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from app.components import component
from app.widgets.palette import role_token
from core.codebook import Codebook

_LIVE_RUN = component("live_run")


def label_data(codebook: Codebook) -> list[dict[str, Any]]:
    """Return the id, name and colour of each label for the components."""
    return [{"id": label.id, "name": label.name, "colour": label.colour} for label in codebook.labels]


def role_data(roles: Iterable[str] | Mapping[str, str]) -> list[dict[str, str]]:
    """Return the roles in order for the components: id, colour and, if ``roles`` is a mapping, the display name."""
    names = roles if isinstance(roles, Mapping) else {}
    return [{"role": role, "name": names.get(role, ""), "colour": role_token(role)} for role in roles]


def live_run(
    run_id: str,
    codebook: Codebook,
    roles: Iterable[str] | Mapping[str, str],
    *,
    groups: Mapping[str, str] | None = None,
    state: str = "",
    budget: float | None = None,
    slots: int = 20,
    explained: bool = False,
    layout: str = "chain",
    key: str = "live-run",
    on_state: Callable[[], None] = lambda: None,
) -> str | None:
    """Draw the live run: counters, the debate in focus with its document, tiles, and finished debates.

    ``run_id`` is a name from ``app.context.live_name``. The data come from ``/moot/live`` and not from reruns. Pass
    the same ``key`` on every rerun. ``state`` is the run's state that the page shows. When the run leaves this
    state, ``on_state`` is called, the page is rerun to update its buttons, and the new state is returned for that
    rerun. Otherwise None is returned. ``slots`` is the number of tiles. ``groups`` maps roles to their groups.
    ``explained`` is True if the page itself shows why the run is not running. ``layout`` is that of the protocol.
    """
    result = _LIVE_RUN(
        key=key,
        data={
            "run": run_id,
            "labels": label_data(codebook),
            "roles": [{**row, "group": (groups or {}).get(row["role"], "")} for row in role_data(roles)],
            "kind": codebook.kind,
            "state": state,
            "budget": budget,
            "slots": slots,
            "explained": explained,
            "layout": layout,
        },
        on_state_change=on_state,
    )
    changed = result.get("state")
    return changed if isinstance(changed, str) else None
