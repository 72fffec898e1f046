"""The live debate board."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from app import context
from app.components import component
from core.codebook import Codebook

_BOARD = component("live_run")


def label_data(codebook: Codebook) -> list[dict[str, Any]]:
    """Return the labels for the components: id, name, colour."""
    return [{"id": label.id, "name": label.name, "colour": label.colour} for label in codebook.labels]


def role_data(roles: Iterable[str] | Mapping[str, str]) -> list[dict[str, str]]:
    """Return the roles in their order; a mapping gives each its display name."""
    if isinstance(roles, Mapping):
        return [{"role": role, "name": name} for role, name in roles.items()]
    return [{"role": role} for role in roles]


def board(
    run_id: str,
    codebook: Codebook,
    roles: Iterable[str] | Mapping[str, str],
    *,
    groups: Mapping[str, str] | None = None,
    state: str = "",
    budget: float | None = None,
    slots: int = 20,
    told: bool = False,
    form: str = "chain",
    key: str = "board",
    on_state: Callable[[], None] = lambda: None,
) -> str | None:
    """Show the run's debates as they are held: counters, document, debate, wall, and the finished ones.

    ``run_id`` is the name that ``app.context.live_name`` gives. The board is fed by ``/moot/live`` and not by reruns;
    pass the same ``key`` on every rerun. ``state`` is the run's state as the page shows it: when the run leaves it,
    the page is rerun (``on_state`` first) so that its buttons follow, and the new state is returned for that rerun.
    ``slots`` is the number of tiles on the wall, ``groups`` says with whom a role sits; with ``told`` the page itself
    says why the run stands still. ``form`` is the protocol's (its card has it): how the debate is drawn above what is
    said.
    """
    result = _BOARD(
        key=key,
        data={
            "run": run_id,
            "labels": label_data(codebook),
            "roles": [{**row, "group": (groups or {}).get(row["role"], "")} for row in role_data(roles)],
            "kind": codebook.kind,
            "state": state,
            "budget": budget,
            "slots": slots,
            "told": told,
            "form": form,
            "ticket": context.access().ticket,
        },
        on_state_change=on_state,
    )
    changed = result.get("state")
    return changed if isinstance(changed, str) else None
