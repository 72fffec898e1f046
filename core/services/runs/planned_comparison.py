"""Plan several runs on the same documents: the plans of a comparison, their costs and the calls that they share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pydantic import ValidationError

from core.debate import protocols
from core.errors import MootError, UsageError
from core.runs import RunRow, RunSettings, total_cost
from core.services import prompt_templates
from core.services.project_session import ProjectSession
from core.services.prompt_preview import requests_with_history
from core.services.runs import planning
from core.services.runs.cost_estimate import CostEstimate, estimate_run
from core.services.runs.planning import PLAN, Plan, load_plan, project_settings

MEMBERS_SETTING = "comparison"
"""Project setting that stores the plans of the comparison in preparation."""
MAX_MEMBERS = 12
SHARED_SAMPLE = 3
"""Number of documents whose requests are compared to estimate how many are shared."""


@dataclass(frozen=True, slots=True)
class ComparedPlan:
    """One plan of a comparison: title, settings and estimate, or the ``problem`` that prevents it from running."""

    plan: Plan
    title: str
    settings: RunSettings | None
    estimate: CostEstimate | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class PlannedComparison:
    """All members on ``documents`` documents.

    ``repeated`` is about how many calls an earlier member pays for, by number of the member and role.
    """

    members: tuple[ComparedPlan, ...]
    documents: int
    repeated: Mapping[tuple[int, str], int]

    @property
    def shared(self) -> int:
        """Number of calls that an earlier member pays for."""
        return sum(self.repeated.values())

    @property
    def calls(self) -> int:
        """Maximum number of calls, counting each shared call once."""
        return sum(member.estimate.calls for member in self.members if member.estimate) - self.shared

    @property
    def cost_usd(self) -> float | None:
        """Maximum cost in dollars, counting each shared call once; None if a price is unknown."""
        return total_cost(
            None
            if role.cost_usd is None
            else role.cost_usd * (1 - self.repeated.get((number, role.role), 0) / max(1, role.calls))
            for number, member in enumerate(self.members)
            if member.estimate
            for role in member.estimate.roles
        )

    @property
    def ready(self) -> bool:
        """True if there are at least two members and all of them can run."""
        return len(self.members) > 1 and all(member.settings is not None for member in self.members)


def load_plans(session: ProjectSession) -> tuple[Plan, ...]:
    """Return the plans of the comparison in the order in which they were added, without those that cannot be read."""
    plans = []
    for data in session.store.settings.get(MEMBERS_SETTING) or []:
        with suppress(ValidationError):
            plans.append(PLAN.validate_python(data))
    return tuple(plans)


def add(session: ProjectSession, plan: Plan) -> None:
    """Add a plan to the comparison. Raises UsageError if it is already there or the comparison is full."""
    plans = load_plans(session)
    if plan.for_protocol() in plans:
        raise UsageError("This protocol with these models is already in the comparison.", "Change a setting first.")
    if len(plans) >= MAX_MEMBERS:
        raise UsageError(
            f"A comparison has at most {MAX_MEMBERS} members.", "Start the comparison, or remove a member."
        )
    _save_plans(session, (*plans, plan.for_protocol()))


def remove(session: ProjectSession, removed: Plan) -> None:
    """Remove a plan, if it is still there."""
    _save_plans(session, tuple(plan for plan in load_plans(session) if plan != removed))


def clear(session: ProjectSession) -> None:
    """Remove all plans."""
    _save_plans(session, ())


def prepare(session: ProjectSession, documents: int) -> PlannedComparison:
    """Return the comparison on so many documents that the last plan selects, with costs and shared calls."""
    last = load_plan(session)
    members = tuple(_prepare_member(session, plan, last, documents) for plan in load_plans(session))
    return PlannedComparison(members, documents, _count_repeated_calls(session, members, documents))


def create_runs(session: ProjectSession, comparison: PlannedComparison, document_ids: Sequence[str]) -> list[RunRow]:
    """Create and queue the runs of all members on these documents, then clear the comparison.

    Raises UsageError if the comparison is not ready and for a budget with an unpriced model, and PromptError for a
    template that cannot be rendered on some of the documents; no run is then created.
    """
    if not comparison.ready:
        raise UsageError(
            "A comparison needs at least two members that can run.", "Fix or remove the members with problems."
        )
    able = [(member.settings, member.plan.iterations) for member in comparison.members if member.settings is not None]
    documents = prompt_templates.sample_documents(session, document_ids)
    for settings, _ in able:
        planning.check_prices(settings, session.models)
        prompt_templates.check_templates(settings, documents)
    runs = []
    for settings, iterations in able:
        runs += planning.create_runs(session, settings, document_ids, iterations=iterations)
    clear(session)
    return runs


def _prepare_member(session: ProjectSession, plan: Plan, last: Plan, documents: int) -> ComparedPlan:
    try:
        title = protocols.find(plan.protocol, plan.params).title
        settings = project_settings(session, replace(plan, ambiguous=last.ambiguous, theta=last.theta))
        estimate = estimate_run(session, settings, documents, iterations=plan.iterations)
        return ComparedPlan(plan, title, settings, estimate)
    except MootError as error:
        return ComparedPlan(plan, plan.protocol, None, None, str(error))


def _count_repeated_calls(
    session: ProjectSession, members: Sequence[ComparedPlan], documents: int
) -> dict[tuple[int, str], int]:
    """Return about how many calls of each member and role an earlier member pays for in the same iteration.

    They are counted on a few documents with placeholder replies.
    """
    sample = session.store.documents.page(0, SHARED_SAMPLE)
    repeated: Counter[tuple[int, str]] = Counter()
    for document in sample:
        seen: defaultdict[int, Counter[str]] = defaultdict(Counter)  # by iteration
        for number, member in enumerate(members):
            if member.settings is not None:
                requests = list(requests_with_history(session.models, member.settings, document))
                roles = {hash: request.role for request, hash in requests}
                hashes = Counter(hash for _, hash in requests)
                for iteration in range(member.plan.iterations):
                    for hash, count in (hashes & seen[iteration]).items():
                        repeated[number, roles[hash]] += count
                    seen[iteration] |= hashes
    return {key: round(count / len(sample) * documents) for key, count in repeated.items()}


def _save_plans(session: ProjectSession, plans: Sequence[Plan]) -> None:
    session.store.settings.set(MEMBERS_SETTING, [PLAN.dump_python(plan, mode="json") for plan in plans])
