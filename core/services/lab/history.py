"""Versions of a prompt or codebook as a tree, with scores, cost and the runs that used them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from core.codebook import Codebook, Kind
from core.services import prompt_templates
from core.services.codebooks import codebook as codebooks
from core.services.evaluation.evaluation import EvaluationReport, evaluate
from core.services.lab.trials import DEFINITIONS
from core.services.project_session import ProjectSession
from core.stats.metrics import main_metric
from core.store.annotation_sources import REVIEWED_OR_GOLD
from core.store.lab import Trial
from core.store.rows import dump


def metric_names(reports: Iterable[EvaluationReport | None], kind: Kind) -> str:
    """Return the names of the main scores. Without a report, return that of ``kind``; a draft may have another kind."""
    kinds = [report.scores.kind for report in reports if report is not None] or [kind]
    return " or ".join(dict.fromkeys(main_metric(score_kind).name for score_kind in kinds))


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version in the tree."""

    name: str
    label: str
    parent: str
    note: str = ""
    is_default: bool = False
    is_draft: bool = False
    depth: int = 0
    """The distance from the root."""
    runs: tuple[str, ...] = ()
    """The runs that used it, newest first, without those of the Lab."""
    report: EvaluationReport | None = None
    """Its latest evaluation on the development split against reviews, or gold where there is no review; None before the
    first."""
    held_out: EvaluationReport | None = None
    """The same on the held-out split."""


def template_history(session: ProjectSession, slot: prompt_templates.Slot) -> tuple[VersionRow, ...]:
    """Return the versions of a prompt, children after their parents and the draft last."""
    status = prompt_templates.template_status(session, slot)
    versions = prompt_templates.versions(session, slot)
    rows = {
        VersionRow(
            version.name, version.label, version.parent, version.note, version.name == status.default.name
        ): version.text
        for version in versions
    }
    if status.changed:
        rows[VersionRow("draft", "draft", status.base.name, is_draft=True)] = status.text
    return _with_runs(session, slot.name, slot.key, rows)


def codebook_history(session: ProjectSession) -> tuple[VersionRow, ...]:
    """Return the versions of the codebook, each made from the one before, and the draft last."""
    versions = list(reversed(codebooks.history(session)))
    names = [f"v{version.number}" for version in versions]
    rows = {
        VersionRow(name, name, parent, version.note, version is versions[-1]): _json(version.codebook.closed)
        for name, parent, version in zip(names, ["", *names], versions, strict=False)
    }
    status = codebooks.codebook_status(session)
    if status.dirty and versions:
        rows[VersionRow("draft", "draft", names[-1], is_draft=True)] = _json(status.codebook.closed)
    return _with_runs(session, DEFINITIONS, "", rows)


def _json(codebook: Codebook) -> str:
    return dump(codebook.model_dump(mode="json"))


def _with_runs(
    session: ProjectSession, subject: str, key: str, rows: Mapping[VersionRow, str]
) -> tuple[VersionRow, ...]:
    """Return the rows, given with their texts in ``Lab.uses``, with their depths, runs and scores."""
    used = defaultdict[str, list[tuple[str, str]]](list)
    for run_id, purpose, text in session.store.lab.uses(key):
        used[text].append((run_id, purpose))
    subject_trials = session.store.lab.trials(subject)  # those of other subjects differ in more than this
    trials = {run_id: trial for trial in subject_trials for run_id in (trial.before_run, trial.after_run)}
    depths = _depths(rows)
    return tuple(
        replace(
            row,
            depth=depths[row.name],
            runs=tuple(run_id for run_id, purpose in used[text] if purpose == "run"),
            report=_latest_report(session, used[text], trials, held_out=False),
            held_out=_latest_report(session, used[text], trials, held_out=True),
        )
        for row, text in rows.items()
    )


def _depths(rows: Iterable[VersionRow]) -> dict[str, int]:
    """Return the depth of each row; the first child of a version stays at its parent's depth."""
    depths: dict[str, int] = {}
    parents: set[str] = set()
    for row in rows:
        depths[row.name] = depths.get(row.parent, 0) + (row.parent in parents)
        parents.add(row.parent)
    return depths


def _latest_report(
    session: ProjectSession, used: Sequence[tuple[str, str]], trials: Mapping[str, Trial], *, held_out: bool
) -> EvaluationReport | None:
    for run_id, purpose in used:
        trial = trials.get(run_id)
        if purpose != "lab" or trial is None or trial.held_out != held_out or session.is_active(run_id):
            continue
        if len(trial.sample["strata"]) > 1 and (row := session.run(run_id)).state == "done":
            return evaluate(session, row, REVIEWED_OR_GOLD)
    return None
