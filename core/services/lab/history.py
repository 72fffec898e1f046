"""The versions of a prompt or a codebook as a tree: how each did, on what, for how much, and which runs cite it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.annotations import VERDICT
from core.runs import RunRow
from core.services import cache, templates
from core.services.codebooks import codebook as codebooks
from core.services.evaluation import grids
from core.services.lab.results import correct_cells, encode_grid
from core.services.lab.trials import DEFINITIONS
from core.services.session import ProjectSession
from core.stats.bootstrap import scores
from core.stats.intervals import Estimate
from core.store.lab import Trial, codebook_mark, text_mark

NO_SCORE = Estimate(None, None)


@dataclass(frozen=True, slots=True)
class RunScore:
    """How a run did against what people settled and, before that, gold: macro F1 (of ratings, the share that is right)
    on ``n`` documents."""

    value: Estimate
    n: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version. ``depth`` is its distance from the root, ``runs`` are those that used it, newest first, the lab's left
    out; ``score_run`` is its latest on the development side and ``held_out`` its latest look, None before the first."""

    name: str
    label: str
    parent: str
    depth: int
    note: str
    at: float
    text: str
    default: bool
    draft: bool
    runs: tuple[str, ...]
    score: RunScore | None
    held_out: RunScore | None

    @property
    def gap(self) -> float | None:
        """How much better it does where one could look than where one could not; None before both are known."""
        if self.score is None or self.held_out is None:
            return None
        seen, unseen = self.score.value.value, self.held_out.value.value
        return None if seen is None or unseen is None else seen - unseen


def template_history(session: ProjectSession, slot: templates.Slot, protocol: str) -> tuple[VersionRow, ...]:
    """The versions of a prompt, the draft last, children after their parents."""
    now = templates.template_status(session, slot, protocol)
    rows = [
        VersionRow(
            version.name, version.label, version.parent, 0, version.note, version.at, version.text,
            version.name == now.default.name, False, (), None, None,
        )
        for version in templates.versions(session, slot, protocol)
    ]  # fmt: skip
    if now.changed:
        rows.append(
            VersionRow(
                "draft", "draft", now.base.name, 0, "", now.drafted_at or 0.0, now.text, False, True, (), None, None
            )
        )
    return _with_runs(session, slot.slot, slot.key, rows, {row.name: text_mark(row.text) for row in rows})


def codebook_history(session: ProjectSession) -> tuple[VersionRow, ...]:
    """The versions of the codebook, each made from the one before, the draft last."""
    versions = list(reversed(codebooks.history(session)))
    rows, marks = [], {}
    for number, version in enumerate(versions):
        name = f"v{version.version}"
        parent = f"v{versions[number - 1].version}" if number else ""
        rows.append(
            VersionRow(
                name, name, parent, 0, version.note, version.at, "", version is versions[-1], False, (), None, None
            )
        )
        marks[name] = codebook_mark(version.codebook)
    now = codebooks.standing(session)
    if now.dirty and versions:
        rows.append(VersionRow("draft", "draft", rows[-1].name, 0, "", 0.0, "", False, True, (), None, None))
        marks["draft"] = codebook_mark(now.codebook)
    return _with_runs(session, DEFINITIONS, "", rows, marks)


def _with_runs(
    session: ProjectSession, subject: str, key: str, rows: Sequence[VersionRow], marks: Mapping[str, str]
) -> tuple[VersionRow, ...]:
    used: dict[str, list[tuple[str, str]]] = {}
    for run_id, purpose, mark in session.store.lab.uses(key):
        used.setdefault(mark, []).append((run_id, purpose))
    own = session.store.lab.trials(subject)  # those of other subjects differ in more than this
    trials = {run_id: trial for trial in own for run_id in (trial.before_run, trial.after_run)}
    depths = _depths(rows)
    filled = []
    for row in rows:
        mine = used.get(marks[row.name], [])
        filled.append(
            replace(
                row,
                depth=depths[row.name],
                runs=tuple(run_id for run_id, purpose in mine if purpose == "run"),
                score=_latest_score(session, mine, trials, held_out=False),
                held_out=_latest_score(session, mine, trials, held_out=True),
            )
        )
    return tuple(filled)


def _depths(rows: Sequence[VersionRow]) -> dict[str, int]:
    """How far each row is from one without a known parent; a child of the newest version before it stays in line."""
    depths: dict[str, int] = {}
    children: dict[str, int] = {}
    for row in rows:
        elder = children.get(row.parent, 0)
        depths[row.name] = depths.get(row.parent, 0) + (1 if elder else 0)
        children[row.parent] = elder + 1
    return depths


def _latest_score(
    session: ProjectSession, used: Sequence[tuple[str, str]], trials: Mapping[str, Trial], *, held_out: bool
) -> RunScore | None:
    for run_id, purpose in used:
        trial = trials.get(run_id)
        if purpose == "lab" and trial is not None and trial.held_out == held_out and not session.is_active(run_id):
            if trial.sample["strata"] and len(trial.sample["strata"]) == 1:
                continue  # a single document is no score
            row = session.store.runs.get(run_id)
            if row is not None and row.state == "done":
                return score_run(session, row)
    return None


def score_run(session: ProjectSession, run: RunRow) -> RunScore:
    """How a run that is done did; kept until gold is another or somebody does something."""
    scored: dict[tuple[str, int], RunScore] = cache.kept(
        session, dict, "scores of versions", basis=cache.known(session)
    )
    name = (run.run_id, run.verdicts)
    if name not in scored:
        scored[name] = _compute_score(session, run)
    return scored[name]


def _compute_score(session: ProjectSession, run: RunRow) -> RunScore:
    codebook = run.settings.codebook
    gold = grids.load(session.store, run.run_id, codebook, (VERDICT,))
    reviewed = grids.load(session.store, run.run_id, codebook, (), "reviewed").reference
    reference = np.where(np.isnan(reviewed), gold.reference, reviewed)
    said = gold.of(VERDICT)
    n = int((~np.isnan(reference)).any(axis=1).sum())
    if not n:
        return RunScore(NO_SCORE, 0, run.cost_usd)
    if codebook.kind == "rating":
        hit = np.where(np.isnan(said), -1, correct_cells(said, reference, codebook)).astype(np.int64)
        value = scores(np.where(np.isnan(reference), -1, 1), hit, codebook.names).accuracy
    else:
        value = scores(encode_grid(reference, codebook), encode_grid(said, codebook), codebook.names).macro.f1
    return RunScore(value, n, run.cost_usd)
