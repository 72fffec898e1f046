"""The ambiguity pre-pass: repeated answers of one model, runs on ambiguous documents, and separate scores for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.documents import VERDICT, Reference
from core.errors import UsageError
from core.runs import RunRow, RunSettings
from core.services.document_samples import fixed_sample
from core.services.evaluation import annotation_arrays, coverage
from core.services.evaluation.evaluation import score
from core.services.project_session import ProjectSession
from core.services.runs.planning import Plan
from core.stats import scoring
from core.stats.arrays import Mask
from core.stats.debate_rounds import Round, rounds
from core.stats.repeated_runs import difference_rate

VOTE_METHODS = ("vote", "self_consistency")


@dataclass(frozen=True, slots=True)
class DocumentSubset:
    """The ambiguous or the normal documents of a run."""

    documents: int
    share: float | None
    """Share of the run's documents in the pre-pass, None if there are none."""
    scores: scoring.Scores | None
    """Over those with a reference and a verdict; None without documents."""
    rounds: tuple[Round, ...]
    """Steps in which several agents answered."""


def is_prepass(settings: RunSettings) -> bool:
    """Return True if a run measures ambiguity, because it asked one model several times."""
    params = settings.params
    return params.get("method") in VOTE_METHODS and int(params.get("k") or 1) > 1


def prepasses(session: ProjectSession) -> list[str]:
    """Return the run ids of the finished pre-passes of the project, latest first, without canary runs."""
    return [
        row.run_id
        for row in reversed(session.all_runs())
        if row.state == "done" and not row.is_canary and is_prepass(row.settings)
    ]


def difference_rates(session: ProjectSession, run_id: str) -> dict[str, float]:
    """Return the difference rate of each document in a pre-pass: the lowest of its items.

    A document is ambiguous if the rate is at most the threshold theta. Raises UsageError for any other run.
    """
    run = session.run(run_id)
    if not is_prepass(run.settings):
        raise UsageError(
            f"{run_id} has no votes: it does not ask one model several times.",
            "Start a run with votes: --protocol single --param method=vote.",
        )
    requests = int(run.settings.params["k"])
    samples = session.store.annotations.sample_values(run_id, run.settings.codebook)[:requests]
    documents = session.store.runs.document_ids(run_id)
    statuses = session.store.annotations.debate_statuses(run_id)
    return {
        document: min(difference_rate(cell[~np.isnan(cell)].tolist(), requests) for cell in samples[:, row].T)
        for row, (document, status) in enumerate(zip(documents, statuses, strict=True))
        if status in ("verdict", "unresolved")
    }


def select_documents(session: ProjectSession, plan: Plan, document_ids: Sequence[str] | None = None) -> list[str]:
    """Return the ids of the documents that a run of the plan uses, by default out of all documents of the project.

    If the plan is limited to documents that a pre-pass found ambiguous, only these are kept, in the given order. Then
    the first ``limit`` documents are taken. Raises UsageError if the run is not a pre-pass, or if no document is
    ambiguous.
    """
    ids = session.store.documents.ids() if document_ids is None else list(document_ids)
    if plan.ambiguous:
        ids = _ambiguous_ids(ids, difference_rates(session, plan.ambiguous), plan.theta)
        if not ids:
            raise UsageError(
                f"No document is ambiguous by '{session.run_name(plan.ambiguous)}' at threshold {plan.theta:g}.",
                "Raise the ambiguity threshold (theta), or run on all documents.",
            )
    return ids[: plan.limit]


def _ambiguous_ids(ids: Sequence[str], rates: Mapping[str, float], theta: float) -> list[str]:
    return [document for document in ids if document in rates and rates[document] <= theta]


def with_documents_of(session: ProjectSession, plan: Plan, run: RunRow) -> Plan:
    """Return the plan with the pre-pass and the limit that select the documents of a run.

    A pilot, and a run on the first of the documents that had been imported before, is limited to their number.
    """
    prepass = run.settings.prepass
    used, ids = session.store.runs.document_ids(run.run_id), session.store.documents.ids()
    if prepass.ambiguous:
        ids = _ambiguous_ids(ids, difference_rates(session, prepass.ambiguous), prepass.theta)
    is_limited = len(used) < len(ids)
    if not prepass.ambiguous and used in (ids[: len(used)], fixed_sample(ids, len(used))):
        imported = session.store.documents.count_imported(run.created_at)  # 0 if all were replaced since
        is_limited = len(used) < (imported or len(ids))
    plan = replace(plan, ambiguous=prepass.ambiguous, theta=prepass.theta)
    return replace(plan, limit=len(used) if is_limited else None)


def scores_by_ambiguity(
    session: ProjectSession,
    run_id: str,
    prepass_id: str,
    theta: float,
    annotator: str = VERDICT,
    reference: Reference = "gold",
) -> dict[str, DocumentSubset]:
    """Return the scores of a run, and the agreement of its agents, on ``ambiguous`` and on ``normal`` documents.

    Source: *Courtroom-LLM*, section 4.2 and figures 6 and 7.
    Raises NoSuchRun for an unknown run, and UsageError if ``prepass_id`` is not a pre-pass.
    """
    run = session.run(run_id)
    rates = difference_rates(session, prepass_id)
    loaded = annotation_arrays.verdict_arrays(session, run, reference)
    judged, predicted = annotation_arrays.paired_arrays(session, run, annotator, reference)
    design = annotation_arrays.sampling_design(session, run, reference, loaded)
    rate = np.array([rates.get(document, np.nan) for document in loaded.documents], dtype=np.float64)
    voted = ~np.isnan(rate)
    codebook, groups = run.settings.codebook, annotation_arrays.group_codes(session, run)
    steps = annotation_arrays.parallel_stages(session, run)

    def part(rows: Mask) -> DocumentSubset:
        count = int(rows.sum())

        def values(grid: annotation_arrays.Grid) -> annotation_arrays.Grid:
            """Return a grid without the other documents, which keep their place in the design."""
            return np.where(rows[:, None], grid, np.nan)

        return DocumentSubset(
            count,
            count / int(voted.sum()) if voted.any() else None,
            score(codebook, values(judged), predicted, design=design) if count else None,
            rounds(
                values(loaded.reference),
                [(stage.title, {role: values(grid) for role, grid in stage.members.items()}) for stage in steps],
                vote=annotation_arrays.family_vote(run),
                kind=codebook.kind,
                design=design,
                groups=groups,
            ),
        )

    return {"ambiguous": part(rate <= theta), "normal": part(rate > theta)}


def coverage_by_ambiguity(
    session: ProjectSession, run: RunRow, prepass_id: str, reference: Reference = "gold"
) -> coverage.Coverage:
    """Return the coverage of the scores of both parts, with the reasons for excluded documents."""
    rates = difference_rates(session, prepass_id)
    loaded = annotation_arrays.verdict_arrays(session, run, reference)
    in_prepass = np.array([document in rates for document in loaded.documents], dtype=np.bool_)
    scored = in_prepass & ~np.isnan(loaded.reference).all(axis=1) & ~np.isnan(loaded.verdicts).any(axis=1)
    return coverage.of_documents(session, run, reference, scored, {"not_voted_on": ~in_prepass})


def to_json(parts: Mapping[str, DocumentSubset]) -> dict[str, dict[str, Any]]:
    """Return the parts as JSON data."""
    return {
        name: {
            "documents": part.documents,
            "share": part.share,
            "scores": scoring.to_json(part.scores) if part.scores is not None else None,
            "agreement": [
                {
                    "step": round_.name,
                    **round_.with_majority.named_json("with_majority"),
                    "consecutive": [
                        {"agents": [first, second], **share.named_json("share")}
                        for first, second, share in round_.consecutive
                    ],
                }
                for round_ in part.rounds
            ],
        }
        for name, part in parts.items()
    }
