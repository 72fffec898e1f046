"""What a run did not pay for, in figures and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.runs import RunRow
from core.services.session import ProjectSession
from core.stats.intervals import Interval, ends, wilson
from core.store.savings import FromStore

__all__ = ["Adaptive", "FromStore", "adaptive", "from_store"]


@dataclass(frozen=True, slots=True)
class Adaptive:
    """What an adaptive run left out. ``calls_saved`` and ``cost_saved_usd`` are the debates left out times what one
    took where it was held. ``changed`` of ``audited`` verdicts were other than the short way would have made them, with
    a 95% interval (Wilson) for that share."""

    short: int
    audited: int
    full: int
    changed: int
    calls_saved: int | None
    cost_saved_usd: float | None
    interval: Interval | None

    @property
    def share(self) -> float:
        """Of the ended debates, those that were decided early."""
        ended = self.short + self.audited + self.full
        return self.short / ended if ended else 0.0

    def to_json(self) -> dict[str, Any]:
        """The figures for ``--json``."""
        return {
            "short": self.short,
            "audited": self.audited,
            "full": self.full,
            "share": round(self.share, 4),
            "calls_saved": self.calls_saved,
            "cost_saved_usd": self.cost_saved_usd,
            "audit_changed": self.changed,
            "audit_interval": ends(self.interval),
        }


def from_store(session: ProjectSession, run_id: str) -> FromStore:
    """The replies that were taken from the store."""
    return session.store.savings.from_store(run_id)


def adaptive(session: ProjectSession, run: RunRow) -> Adaptive | None:
    """What an adaptive run left out; None for a run that debates everything."""
    if not run.settings.params.get("adaptive"):
        return None
    found = session.store.savings.courses(run.run_id)
    return Adaptive(
        short=found.short,
        audited=found.audited,
        full=found.full,
        changed=found.changed,
        calls_saved=None if found.calls is None else round(found.short * found.calls),
        cost_saved_usd=None if found.cost_usd is None else found.short * found.cost_usd,
        interval=wilson(found.changed, found.audited),
    )
