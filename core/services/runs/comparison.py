"""Compare several protocols or role models on the same documents.

The members are plans, stored in the project until they are started. Each becomes a run. A request that several members
make is paid for once, because replies are stored by the hash of their request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from core.codebook import Codebook
from core.debate import protocols
from core.engine.debate import request_hash
from core.errors import MootError, UsageError
from core.runs import RunRow, RunSettings
from core.services import templates
from core.services.runs import planning
from core.services.runs.costs import Estimate, estimate_run
from core.services.runs.planning import Plan
from core.services.runs.preview import simulate_asks
from core.services.session import ProjectSession

MEMBERS_SETTING = "comparison"
"""Project setting that stores the plans of the comparison in preparation."""
MAX_MEMBERS = 12
SAMPLE_SIZE = 3
"""Number of documents whose requests are compared to estimate how many are shared."""


@dataclass(frozen=True, slots=True)
class Member:
    """One plan of a comparison: title, settings and estimate, or the ``problem`` that prevents it from running."""

    plan: Plan
    title: str
    settings: RunSettings | None
    estimate: Estimate | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All members on ``documents`` documents; about ``shared`` requests are common and paid for once."""

    members: tuple[Member, ...]
    documents: int
    shared: int

    @property
    def calls(self) -> int:
        """Maximum number of calls, counting each shared call once."""
        return sum(member.estimate.calls for member in self.members if member.estimate) - self.shared

    @property
    def cost_usd(self) -> float | None:
        """Maximum cost in dollars without sharing; None if a price is unknown."""
        costs = [member.estimate.cost_usd for member in self.members if member.estimate]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def ready(self) -> bool:
        """True if there are at least two members and all of them can run."""
        return len(self.members) > 1 and all(member.settings is not None for member in self.members)


def load_plans(session: ProjectSession) -> tuple[Plan, ...]:
    """Return the plans of the comparison in the order in which they were added, without those that cannot be read."""
    plans = []
    for data in session.store.settings.get(MEMBERS_SETTING) or []:
        try:
            plans.append(Plan.from_json(data))
        except (TypeError, ValueError, KeyError):
            continue
    return tuple(plans)


def add(session: ProjectSession, plan: Plan) -> None:
    """Add a plan to the comparison. Raises UsageError if it is already there or the comparison is full."""
    plans = load_plans(session)
    if plan.for_protocol().to_json() in [one.to_json() for one in plans]:
        raise UsageError("This protocol with these models is already in the comparison.", "Change a setting first.")
    if len(plans) >= MAX_MEMBERS:
        raise UsageError(
            f"A comparison has at most {MAX_MEMBERS} members.", "Start the comparison, or remove a member."
        )
    _save_plans(session, (*plans, plan.for_protocol()))


def remove(session: ProjectSession, place: int) -> None:
    """Remove the plan at this position, if there is one."""
    _save_plans(session, tuple(plan for index, plan in enumerate(load_plans(session)) if index != place))


def clear(session: ProjectSession) -> None:
    """Remove all plans."""
    _save_plans(session, ())


def prepare(session: ProjectSession, codebook: Codebook, version: int, documents: int) -> Comparison:
    """Return the comparison on this number of documents, with an estimate for each member and of the shared calls."""
    members = tuple(_prepare_member(session, plan, codebook, version, documents) for plan in load_plans(session))
    return Comparison(
        members, documents, _count_shared_calls(session, [one.settings for one in members if one.settings], documents)
    )


def start(session: ProjectSession, comparison: Comparison, document_ids: Sequence[str]) -> list[RunRow]:
    """Create and queue the runs of all members on these documents, then clear the comparison.

    Raises UsageError if the comparison is not ready.
    """
    if not comparison.ready:
        raise UsageError(
            "A comparison needs at least two members that can run.", "Fix or remove the members with problems."
        )
    made = []
    for member in comparison.members:
        if member.settings is not None:
            made += planning.create_runs(session, member.settings, document_ids, iterations=member.plan.iterations)
    clear(session)
    return made


def _prepare_member(session: ProjectSession, plan: Plan, codebook: Codebook, version: int, documents: int) -> Member:
    try:
        title = protocols.find(plan.protocol, plan.params).title
        settings = planning.build_settings(
            plan, codebook, version, session.models, own=templates.promoted_templates(session)
        )
        estimate = estimate_run(session, settings, documents, iterations=plan.iterations)
    except MootError as error:
        return Member(plan, plan.protocol, None, None, f"{error.message} {error.remedy}".strip())
    return Member(plan, title, settings, estimate)


def _count_shared_calls(session: ProjectSession, settings: Sequence[RunSettings], documents: int) -> int:
    """Return about how many calls are shared, counted on a few documents with placeholder replies."""
    sample = session.store.documents.page(0, SAMPLE_SIZE)
    if len(settings) < 2 or not sample:
        return 0
    repeated = 0
    for document in sample:
        seen: Counter[str] = Counter()
        for one in settings:
            own = Counter(
                request_hash(
                    one.role_models[ask.role],
                    ask,
                    session.models.salt(one.role_models[ask.role], ask, one),
                    one.iteration,
                )
                for ask in simulate_asks(one, document)
            )
            repeated += sum((own & seen).values())
            seen |= own
    return round(repeated / len(sample) * documents)


def _save_plans(session: ProjectSession, members: Sequence[Plan]) -> None:
    session.store.settings.set(MEMBERS_SETTING, [plan.to_json() for plan in members])
