"""Groups of a panel before and after their debate, and full personas compared with simple roles.

The ablation of Chen et al. 2025 (*Multi-Agent-as-Judge*, MAJ-Eval, appendix A.3): the same stakeholders with all their
attributes, and with one line that names them. Each style has its own run; the runs are compared on their shared
documents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from core.debate import personas, protocols
from core.debate.protocol_spec import PERSONAS, PRESET
from core.documents import Reference
from core.errors import MootError
from core.formatting import format_p_value, format_signed
from core.runs import DEFAULT_MAX_TOKENS, RunRow, RunSettings
from core.services.document_samples import fixed_sample
from core.services.evaluation import annotation_arrays, coverage
from core.services.personas import LIMITS
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_scores
from core.stats import panels
from core.stats.arrays import Mask, Numbers
from core.stats.comparison import verdict_on
from core.stats.intervals import Estimate, format_interval
from core.stats.scoring import interval_p
from core.store.annotation_sources import REVIEWED, source_of

Style: TypeAlias = Literal["full", "simple"]
STYLES: Mapping[Style, str] = {"full": "personas", "simple": "simple roles"}
ALL_GROUPS = "All groups"
NAMES = {"spearman": "Spearman", "kendall": "Kendall", "pearson": "Pearson", "alpha": "Krippendorff's alpha"}


@dataclass(frozen=True, slots=True)
class GroupScores:
    """One group under one style on one dimension; each measure before and after the debate."""

    style: Style
    group: str
    before: Mapping[str, Estimate]
    after: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Styles:
    """A dimension's scores, group by group and for all, of one run or of one of each style."""

    runs: Mapping[Style, str]
    counted: coverage.Coverage
    parts: tuple[GroupScores, ...]
    gains: Mapping[str, Mapping[str, Estimate]]
    """Group -> measure -> personas minus simple roles after the debate; empty with one style."""
    sentence: str
    """The outcome in plain words, or what to do where there is one style only."""


def style_of(run: RunRow) -> Style | None:
    """Return the style of a panel's personas (full or simple); None for a run that is not a panel of ratings."""
    if PERSONAS not in run.settings.params or run.settings.codebook.kind != "rating":
        return None
    return "simple" if run.settings.params.get("style") == "simple" else "full"


def other_style(session: ProjectSession, run: RunRow) -> RunRow | None:
    """Return the run of the other style for the comparison, None if there is none.

    It is the latest run with at least one document in common that differs in nothing else: codebook, personas, other
    parameters, prompts and models are the same. Canary runs are left out.
    """
    style, document_ids = style_of(run), set(session.store.runs.document_ids(run.run_id))
    candidates = [
        row
        for row in session.all_runs()
        if row.verdicts
        and not row.is_canary
        and style_of(row) not in (None, style)
        and _without_style(row.settings) == _without_style(run.settings)
        and not document_ids.isdisjoint(session.store.runs.document_ids(row.run_id))
    ]
    return max(candidates, key=lambda row: row.run_id, default=None)


def _without_style(settings: RunSettings) -> tuple[object, ...]:
    """Return all that has an effect on a run's verdicts, except the style of its personas and chance.

    The name of a preset and the limits for creating personas have none. Default output limits are left out as well:
    they may have grown between the runs.
    """
    without = {"style", PRESET, *LIMITS}
    params = {name: value for name, value in protocols.params_of(settings).items() if name not in without}
    prompts = {key: template.text for key, template in settings.templates.items()}
    ignored = {"seed": None, "default_limit": DEFAULT_MAX_TOKENS}
    models = {
        role: (model.base_url, model.spec, model.sampling.model_copy(update=ignored))
        for role, model in settings.role_models.items()
    }
    return settings.codebook.hash, params, prompts, models


@cached_scores
def styles(session: ProjectSession, run: RunRow, dimension: str, reference: Reference = "gold") -> Styles | None:
    """Return the groups of a panel run on a dimension (its id), with the run of the other style if there is one.

    Documents are independent, or groups of them. Scores against reviewed labels describe the reviewed
    documents alone and have no interval. None if the run is not a panel of ratings.
    """
    own_style = style_of(run)
    if own_style is None:
        return None
    other = other_style(session, run)
    by_style = {style_of(each): each for each in (other, run) if each is not None}
    runs = {style: by_style[style] for style in STYLES if style in by_style}
    column = run.settings.codebook.items.index(dimension)
    loaded = annotation_arrays.verdict_arrays(session, run, reference)
    shared_rows = _shared_rows(session, loaded.documents, list(runs.values()), reference, column)
    documents, gold = [loaded.documents[row] for row in shared_rows], loaded.reference[shared_rows, column]
    is_reviewed = source_of(reference).kind == REVIEWED
    codes = annotation_arrays.group_codes(session, run)
    codes = None if codes is None else codes[shared_rows]
    ratings = {style: _group_ratings(session, each, documents, column) for style, each in runs.items()}
    teams = {ALL_GROUPS: [*members_of(run).values()]}

    def measured(
        measure: Callable[..., dict[str, Estimate]], group: str, *sides: Sequence[Numbers]
    ) -> dict[str, Estimate]:
        """Return measures; without intervals for reviewed documents, which are not a random sample."""
        estimates = measure(gold, *sides, codes, teams=teams.get(group, ()))
        return {name: Estimate(each.value) for name, each in estimates.items()} if is_reviewed else estimates

    parts = [
        GroupScores(style, group, measured(panels.scores, group, before), measured(panels.scores, group, after))
        for style, by_group in ratings.items()
        for group, (before, after) in by_group.items()
    ]
    gains: dict[str, Mapping[str, Estimate]] = {}
    sentence = _missing(own_style, run.title)
    if other is not None:
        for group, (_, full) in ratings["full"].items():
            _, simple = ratings["simple"][group]
            gains[group] = measured(panels.gains, group, simple, full)
        titles = {style: each.title for style, each in runs.items()}
        codebook, gain = run.settings.codebook, gains[ALL_GROUPS]["spearman"]
        units = len(shared_rows) if codes is None else len(np.unique(codes))
        p = interval_p(gain, max(1, units - 2))
        adjusted = None if p is None else min(1.0, p * len(codebook.labels))
        sentence = _sentence(titles, codebook.label_names[dimension], gain, adjusted, is_reviewed=is_reviewed)
    is_shared = np.zeros(run.documents, dtype=np.bool_)
    is_shared[shared_rows] = True
    return Styles(
        runs={style: each.run_id for style, each in runs.items()},
        counted=_counted(session, run, other, reference, is_shared),
        parts=tuple(parts),
        gains=gains,
        sentence=sentence,
    )


def all_styles(session: ProjectSession, run: RunRow, reference: Reference = "gold") -> dict[str, Styles] | None:
    """Return ``styles`` of each dimension by name; None if the run is not a panel of ratings."""
    by_dimension = {label.name: styles(session, run, label.id, reference) for label in run.settings.codebook.labels}
    return {name: comparison for name, comparison in by_dimension.items() if comparison is not None} or None


def _shared_rows(
    session: ProjectSession, documents: Sequence[str], runs: Sequence[RunRow], reference: Reference, column: int
) -> list[int]:
    """Return at most ``panels.MAX_DOCUMENTS`` rows of documents with a reference value and a verdict in every run."""
    usable: Mask = np.ones(len(documents), dtype=np.bool_)
    for run in runs:
        loaded = annotation_arrays.verdict_arrays(session, run, reference)
        rows = annotation_arrays.rows_in(loaded.documents, documents)
        usable &= (rows >= 0) & ~np.isnan(loaded.reference[rows, column] + loaded.verdicts[rows, column])
    return fixed_sample(np.flatnonzero(usable).tolist(), panels.MAX_DOCUMENTS)


def _counted(
    session: ProjectSession, run: RunRow, other: RunRow | None, reference: Reference, is_shared: Mask
) -> coverage.Coverage:
    """Return the coverage over the documents of both runs; documents of only one run are excluded."""
    document_ids, other_ids = (session.store.runs.document_ids(row.run_id) for row in (run, other or run))
    is_unshared = annotation_arrays.rows_in(other_ids, document_ids) < 0
    outside = len(other_ids) - int((~is_unshared).sum())
    return coverage.of_documents(session, run, reference, is_shared, {"one_run_only": is_unshared}, outside)


def _group_ratings(
    session: ProjectSession, run: RunRow, documents: Sequence[str], column: int
) -> dict[str, tuple[list[Numbers], list[Numbers]]]:
    """Return the first and the last ratings of each group, ``[document]`` of each member, and those of everybody."""
    rows = annotation_arrays.rows_in(annotation_arrays.verdict_arrays(session, run).documents, documents)
    steps = [stage for stage in annotation_arrays.stages(session, run) if stage.family == personas.FAMILY]
    first = {role: grid for stage in steps if stage.round == 0 for role, grid in stage.members.items()}
    last = annotation_arrays.last_lists(steps)
    members = members_of(run)

    def ratings_of(grids: Mapping[str, annotation_arrays.Grid], roles: Sequence[str]) -> list[Numbers]:
        missing = np.full(len(rows), np.nan)
        return [grids[role][rows, column] if role in grids else missing for role in roles]

    by_group = {group: [role for role in members if members[role] == group] for group in members.values()}
    groups = {**(by_group if len(by_group) > 1 else {}), ALL_GROUPS: list(members)}
    return {name: (ratings_of(first, roles), ratings_of(last, roles)) for name, roles in groups.items()}


def members_of(run: RunRow) -> dict[str, str]:
    """Return the group of each persona by role; empty without personas, or if the protocol can no longer be read."""
    try:
        persona_set = personas.parse_persona_set(str(run.settings.params[PERSONAS]))
    except (MootError, KeyError):
        return {}
    return {member.role: member.group.name for member in persona_set.members}


def _sentence(
    runs: Mapping[Style, str], label: str, gain: Estimate, adjusted: float | None, *, is_reviewed: bool
) -> str:
    """Return the outcome in words. ``adjusted`` is p after Bonferroni's correction over the dimensions."""
    subject = f"Full personas ({runs['full']}) against simple roles ({runs['simple']}) on {label}"
    if gain.value is None:
        return f"{subject}: no result, because the ratings or the reference do not vary."
    difference = f"{format_signed(gain.value, 2)} in Spearman's correlation after the debate"
    if is_reviewed:
        return f"{subject}: {difference} on the reviewed documents; no interval, as these are not a random sample."
    if gain.interval is None:
        return f"{subject}: {difference}; too few documents for an interval."
    span = format_interval(gain.interval, digits=2, named=True)
    if verdict_on(gain, adjusted) == "none":
        words = f"{subject}: no significant difference, {difference}, {span}."
        return f"{words} The test is not significant ({format_p_value(adjusted)}, corrected)." if gain.clear else words
    return f"{subject}: {'better' if gain.value > 0 else 'worse'}, {difference}, {span}."


def _missing(style: Style, run_title: str) -> str:
    other: Style = "simple" if style == "full" else "full"
    title = {"full": "Full personas", "simple": "Simple roles"}[other]
    return (
        f"The personas of {run_title} speak as {STYLES[style]}. Run the same panel on the same documents, with the "
        f"same models, prompts and parameters, but with “Persona style” set to “{title}” (--param style={other}) to "
        "compare both here."
    )
