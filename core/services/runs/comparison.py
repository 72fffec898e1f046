"""A comparison: several protocols and seatings on the same documents, in one act.

Its members are plans, kept in the project until they are started. Each becomes a run of its own; what two of them ask
alike (the same extraction, an annotator's first answer) is paid for once, as the turn store keys it by the request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from core.codebook import Codebook
from core.debate import protocols
from core.engine.keys import request_hash
from core.errors import MootError, UsageError
from core.runs import RunRow, RunSettings
from core.services import templates
from core.services.runs import planning
from core.services.runs.costs import Estimate, estimate_run
from core.services.runs.planning import Plan
from core.services.runs.preview import simulate_asks
from core.services.session import ProjectSession

MEMBERS_SETTING = "comparison"
"""The project setting that keeps the plans of the comparison that is being put together."""
MAX_MEMBERS = 12
SAMPLE_SIZE = 3
"""Documents whose asks are compared to tell what is shared."""


@dataclass(frozen=True, slots=True)
class Member:
    """One plan of a comparison: what it is called, its frozen settings and estimate, or why it cannot run."""

    plan: Plan
    title: str
    settings: RunSettings | None
    estimate: Estimate | None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All members on ``documents`` documents. About ``shared`` calls are asked alike by more than one of them and paid
    for once."""

    members: tuple[Member, ...]
    documents: int
    shared: int

    @property
    def calls(self) -> int:
        """Calls at most, each shared one once."""
        return sum(member.estimate.calls for member in self.members if member.estimate) - self.shared

    @property
    def cost_usd(self) -> float | None:
        """Dollars at most, as if nothing were shared; None when a price is unknown."""
        costs = [member.estimate.cost_usd for member in self.members if member.estimate]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def ready(self) -> bool:
        """Whether there are at least two members and all of them can run."""
        return len(self.members) > 1 and all(member.settings is not None for member in self.members)


def load_plans(session: ProjectSession) -> tuple[Plan, ...]:
    """The plans that were put into the comparison, in that order; those of another version that no longer fit are left
    out."""
    kept = []
    for data in session.store.settings.get(MEMBERS_SETTING) or []:
        try:
            kept.append(Plan.from_json(data))
        except (TypeError, ValueError, KeyError):
            continue
    return tuple(kept)


def add(session: ProjectSession, plan: Plan) -> None:
    """Put a plan into the comparison. UsageError when it is there already or there are too many."""
    known = load_plans(session)
    if plan.narrowed().to_json() in [one.to_json() for one in known]:
        raise UsageError("This protocol with these seats is in the comparison already.", "Change something first.")
    if len(known) >= MAX_MEMBERS:
        raise UsageError(f"A comparison has at most {MAX_MEMBERS} members.", "Start these, or take one out.")
    _save_plans(session, (*known, plan.narrowed()))


def remove(session: ProjectSession, place: int) -> None:
    """Take the plan at this place out; nothing happens where there is none."""
    _save_plans(session, tuple(plan for index, plan in enumerate(load_plans(session)) if index != place))


def clear(session: ProjectSession) -> None:
    """Take all plans out."""
    _save_plans(session, ())


def prepare(session: ProjectSession, codebook: Codebook, version: int, documents: int) -> Comparison:
    """The comparison on so many documents, with an estimate of each member and of what they share."""
    members = tuple(_prepare_member(session, plan, codebook, version, documents) for plan in load_plans(session))
    return Comparison(
        members, documents, _count_shared_calls(session, [one.settings for one in members if one.settings], documents)
    )


def start(session: ProjectSession, comparison: Comparison, document_ids: Sequence[str]) -> list[RunRow]:
    """Make a run of each member (and each of its iterations) on these documents and queue them; the comparison is empty
    then. UsageError for one that is not ready."""
    if not comparison.ready:
        raise UsageError("A comparison needs two members or more that can all run.", "Mend or take out what cannot.")
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
        told = estimate_run(session, settings, documents, iterations=plan.iterations)
    except MootError as error:
        return Member(plan, plan.protocol, None, None, f"{error.message} {error.remedy}".strip())
    return Member(plan, title, settings, told)


def _count_shared_calls(session: ProjectSession, settings: Sequence[RunSettings], documents: int) -> int:
    """About how many calls are asked alike: counted on some documents with stand-ins for the replies."""
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
