"""What Evaluate shows first, made while the person looks at the pages from which they go there."""

from __future__ import annotations

from app.views.evaluate import charts
from core.studio.desk import Desk
from core.studio.evaluation import evaluated


def prepare(desk: Desk) -> None:
    """Have the scores of the latest run and their chart made in the background. Comes back at once."""

    def make() -> None:
        found = evaluated.first(desk)
        if found is not None:
            charts.spec(found)

    desk.ahead.work(make)
