"""What a try will ask, before it does: each debate is walked through the turn store as far as its replies reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.debate import protocols
from core.documents import Document
from core.engine.debate import Debate, heard
from core.runs import RunSettings
from core.services import cache
from core.services.lab.samples import Sample
from core.services.lab.trials import PromptChange
from core.services.runs import estimates
from core.services.session import ProjectSession


@dataclass(frozen=True, slots=True)
class Forecast:
    """``calls`` to be paid at most when every reply can be read, ``reused`` turns that come from the store, and what
    the calls should cost: None without a known price."""

    calls: int
    reused: int
    cost_usd: float | None

    def __add__(self, other: Forecast) -> Forecast:
        costs = (self.cost_usd, other.cost_usd)
        cost = None if None in costs else sum(cost for cost in costs if cost is not None)
        return Forecast(self.calls + other.calls, self.reused + other.reused, cost)


def forecast(session: ProjectSession, change: PromptChange, sample: Sample) -> Forecast:
    """What trying the change on the sample asks. What the earlier side will have paid for counts for the later one: of
    that, only what its own templates, seats and definitions make different. Raises PromptError."""

    def look() -> Forecast:
        documents = session.store.documents.load(sample.ids, gold=False)
        before = walk(session, change.before, documents)
        after = walk(session, change.after, documents)
        return before + (_less(after, change) if before.calls else after)

    return cache.remembered(session, look, "forecast", change.mark, tuple(sample.ids))


def walk(session: ProjectSession, settings: RunSettings, documents: Sequence[Document]) -> Forecast:
    """What a run with these settings on these documents would find in the store, and what it would have to ask."""
    most = protocols.of(settings).total(settings.params, settings.codebook).most
    calls = reused = 0
    for document in documents:
        found, ended = _replayed(session, settings, document)
        reused += found
        calls += 0 if ended else max(1, most - found)
    whole = estimates.estimate(session, settings, 1)
    each = None if whole.cost_usd is None else whole.cost_usd / max(1, whole.calls)
    return Forecast(calls, reused, 0.0 if not calls else None if each is None else calls * each)


def _replayed(session: ProjectSession, settings: RunSettings, document: Document) -> tuple[int, bool]:
    """How many replies of a debate are in the store before the first that is not, and whether that is all of them."""
    debate = Debate(document, settings, session.models)
    found = 0
    try:
        while debate.verdict is None:
            stored = [session.project.turn_store.get(placed.key(0)) for placed in debate.waiting]
            found += sum(each is not None for each in stored)
            if None in stored:
                return found, False
            told = zip(debate.waiting, stored, strict=True)
            debate.hear([heard(each, placed, settings) for placed, each in told if each is not None])
    finally:
        debate.close()
    return found, True


def _less(after: Forecast, change: PromptChange) -> Forecast:
    """Of what the later side lacks, the roles that speak before the first changed one are paid for by the earlier."""
    roles = protocols.roles_of(change.after)
    changed = change.changed_texts
    first = next((place for place, role in enumerate(roles) if role.name in changed or role.family in changed), 0)
    if not first or change.before.codebook != change.after.codebook:
        return after
    share = first / len(roles)
    shared = round(after.calls * share)
    cost = None if after.cost_usd is None else after.cost_usd * (1 - share)
    return Forecast(after.calls - shared, after.reused + shared, cost)
