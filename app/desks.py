"""The project that this tab looks at, as the screens use it."""

from __future__ import annotations

from typing import cast

from app import state, wiring
from core.errors import ProjectError
from core.studio.desk import Desk
from core.studio.workspace import Workspace


def looked_at() -> Desk | None:
    """The open project on the switcher; None while there is none."""
    try:
        desks = wiring.workspace().desks()
    except RuntimeError:
        return None
    wanted = state.project()
    found = next((desk for desk in desks if desk.path == wanted), None)
    return cast("Desk | None", found)


def workspace() -> Workspace:
    """The running workspace."""
    return cast(Workspace, wiring.workspace())


def here() -> Desk:
    """The open project on the switcher. ProjectError, shown in place of the screen, while there is none."""
    desk = looked_at()
    if desk is None:
        raise ProjectError("No project is open.", "Open or make one on Home.")
    return desk
