"""The versions of a prompt or of the definitions as a tree with scores, cost, notes and runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from app.components import component, reported
from core.codebook import Kind
from core.services.lab.history import VersionRow

_VERSION_HISTORY = component("version_history")


def version_history(
    rows: Sequence[VersionRow],
    *,
    kind: Kind,
    opened: str,
    key: str,
    run_name: Callable[[str], str],
    on_open: Callable[[str], None],
    on_promote: Callable[[str], None],
) -> None:
    """Draw the versions; ``opened`` is the version in the editor, ``run_name`` returns the name of a run.

    The callbacks get the name of the chosen version.
    """

    def act(trigger: str, action: Callable[[str], None]) -> None:
        if name := reported(key, trigger):
            action(str(name))

    _VERSION_HISTORY(
        key=key,
        data={
            "rows": [_version(row, opened, run_name) for row in rows],
            "metric": "Share correct" if kind == "rating" else "Macro F1",
        },
        on_open_change=lambda: act("open", on_open),
        on_promote_change=lambda: act("promote", on_promote),
    )


def _version(row: VersionRow, opened: str, run_name: Callable[[str], str]) -> dict[str, Any]:
    score, more = row.score, len(row.runs) - 2
    return {
        **asdict(row),
        "is_open": row.name == opened,
        "runs": "; ".join(map(run_name, row.runs[:2])) + (f" and {more} more" if more > 0 else ""),
        "score": score.value.value if score else None,
        "n": score.n if score else None,
        "cost": score.cost_usd if score else None,
        "held_out": row.held_out.value.value if row.held_out else None,
    }
