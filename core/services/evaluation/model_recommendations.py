"""Recommend a model for each role from the project's own runs.

A model is recommended where runs differ in nothing but the model of a role and it scores significantly better than
every other one. The ECJ paper advises models of high recall for the extractor, of high precision for the critic, and
accurate ones for the judge (Maada et al., section 5.1.4); in its own table 5 recall follows the critic. So the advice
is not applied here: it only shows which models are worth a run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.codebook import are_comparable
from core.documents import Reference
from core.errors import UsageError
from core.formatting import format_count, join_names
from core.hashing import digest
from core.runs import RoleModel, RunRow
from core.services.evaluation.evaluation import evaluate
from core.services.evaluation.reference import annotating_roles
from core.services.evaluation.run_comparison import comparison
from core.services.project_session import ProjectSession
from core.services.prompt_templates import title_of
from core.services.result_cache import cached_scores, cached_until_commit
from core.services.runs.configuration import role_titles
from core.services.runs.planning import Plan
from core.stats.scoring import Scores

MAX_RUNS = 40
"""Number of the latest runs that are looked at."""

_IRRELEVANT: dict[str, Any] = {
    "codebook_version": True,
    "engine": True,
    "concurrency": True,
    "budget_usd": True,
    "pace": True,
    "prepass": True,
    "handling": {"silence", "deadline", "requests_per_minute", "tokens_per_minute"},
}
"""Settings that do not change a verdict."""


ALL_ROLES = "All roles"


@dataclass(frozen=True, slots=True)
class ModelScores:
    """Scores of the lists that a model gave in a role, in the latest run in which they can be scored."""

    spec: str
    role: str
    title: str
    """The role in words."""
    run_id: str
    scores: Scores


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The best model for some roles. ``model`` is None if no model is significantly better; ``reason`` explains why."""

    roles: tuple[str, ...]
    model: RoleModel | None
    reason: str
    title: str = ALL_ROLES
    """The role in words."""

    @property
    def sentence(self) -> str:
        """The recommendation or why there is none."""
        return f"{self.model.spec}: {self.reason}" if self.model is not None else self.reason


def comparable_runs(session: ProjectSession, run: RunRow, runs: Sequence[RunRow] | None = None) -> tuple[RunRow, ...]:
    """Return the latest runs with verdicts and the same kind and labels as ``run``, oldest first.

    They are chosen from ``runs``, by default from all runs of the project. Canary runs are left out: they repeat a run
    on a few documents.
    """
    candidates = session.all_runs() if runs is None else runs
    rows = [
        row
        for row in candidates
        if row.verdicts and not row.is_canary and are_comparable(row.settings.codebook, run.settings.codebook)
    ]
    return tuple(rows[-MAX_RUNS:])


@cached_scores
def model_scores(
    session: ProjectSession, runs: tuple[RunRow, ...], reference: Reference = "gold"
) -> tuple[ModelScores, ...]:
    """Return the macro scores of each model in each role, the latest run first.

    Only multilabel runs have them. Runs are not pooled, because their prompts and documents may differ.
    """
    results: dict[tuple[str, str], ModelScores] = {}
    for run in reversed(runs):
        if run.settings.codebook.kind == "multilabel":
            titles = role_titles(run.settings)
            for role in annotating_roles(session, run):
                spec = run.settings.role_models[role].spec
                if (spec, role) not in results and (scores := evaluate(session, run, reference, role).scores).n:
                    results[spec, role] = ModelScores(spec, role, titles[role], run.run_id, scores)
    return tuple(results.values())


@cached_until_commit
def recommend_models(
    session: ProjectSession, runs: tuple[RunRow, ...], roles: tuple[str, ...], reference: Reference = "gold"
) -> tuple[Recommendation, ...]:
    """Return a recommendation for each role, and for all of them together if there are several.

    ``runs`` label the same things; those of other protocols are ignored.
    """
    same_roles = [run for run in runs if set(roles) == set(run.settings.role_models)]
    titles = role_titles(same_roles[-1].settings) if same_roles else {}
    single = [
        replace(_recommend(session, same_roles, (role,), reference), title=titles.get(role, title_of(role)))
        for role in roles
    ]
    together = [_recommend(session, same_roles, roles, reference)] if len(roles) > 1 else []
    return (*single, *together)


def roles_by_sentence(recommendations: Sequence[Recommendation]) -> dict[str, str]:
    """Return each sentence with its roles in words, because several roles often have the same one."""
    titles: dict[str, list[str]] = {}
    for recommendation in recommendations:
        titles.setdefault(recommendation.sentence, []).append(recommendation.title)
    if len(titles) == 1 and len(recommendations) > 1:
        return dict.fromkeys(titles, ALL_ROLES)
    return {sentence: ", ".join(names) for sentence, names in titles.items()}


def apply_recommendations(plan: Plan, recommendations: Iterable[Recommendation]) -> Plan:
    """Return the plan with the recommended models of single roles, else those of all roles; sampling is kept."""
    for recommendation in sorted(recommendations, key=lambda recommendation: -len(recommendation.roles)):
        if (model := recommendation.model) is not None:
            update = {"connection": model.connection, "model": model.model}
            for role in recommendation.roles:
                plan = plan.with_role_model(role, plan.role_model(role).model_copy(update=update))
    return plan


def _recommend(
    session: ProjectSession, runs: Sequence[RunRow], roles: tuple[str, ...], reference: Reference
) -> Recommendation:
    """Compare the group of runs that tried the most models for these roles, the latest of several such groups."""

    def model_of(run: RunRow) -> RoleModel:
        return run.settings.role_models[roles[0]]

    groups: dict[str, dict[str, RunRow]] = defaultdict(dict)
    for run in runs:
        if len({run.settings.role_models[role].spec for role in roles}) == 1:
            groups[_everything_else(session, run, roles)][model_of(run).spec] = run
    run_by_model = max(reversed(groups.values()), key=len, default={})
    if len(run_by_model) < 2:
        return Recommendation(
            roles, None, "No two runs differ only in this model. Rerun with another model to compare."
        )
    try:
        compared = comparison(session, [run.run_id for run in run_by_model.values()], reference)
        scored = [column for column in compared.columns if column.scores.main.value is not None]
        if len(scored) < 2:
            return Recommendation(roles, None, "The shared documents cannot be scored: label some of them.")
        scored.sort(key=lambda column: -(column.scores.main.value or 0.0))
        best, *other_runs = [column.run for column in scored]
        pairs = comparison(session, [best.run_id, *(run.run_id for run in other_runs)], reference).pairs
    except UsageError as error:
        return Recommendation(roles, None, str(error))
    model = model_of(best)
    unclear = [model_of(run).spec for run, pair in zip(other_runs, pairs, strict=True) if pair.main.verdict != "worse"]
    documents = format_count(pairs[0].scores.n, "shared document")
    if unclear:
        names = join_names([model.spec, *unclear])
        return Recommendation(roles, None, f"No significant difference between {names} on {documents}.")
    beaten = ", ".join(model_of(run).spec for run in other_runs)
    return Recommendation(
        roles, model, f"significantly better than {beaten} on {documents}, with everything else equal."
    )


def _everything_else(session: ProjectSession, run: RunRow, roles: Iterable[str]) -> str:
    """Return a hash of all that determines verdicts, except for which model the roles have.

    This is the settings, and the pool of few-shot examples, which grows with the gold and the reviews of the project.
    """
    settings = run.settings.model_dump(mode="json", exclude=_IRRELEVANT)
    settings["examples"] = session.store.precedents.frozen(run.run_id)
    for role in roles:
        settings["role_models"][role] = settings["role_models"][role]["sampling"]
        del settings["role_models"][role]["default_limit"]
    return digest(settings)
