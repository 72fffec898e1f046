"""The Evaluate room for the page: a multilabel or choice run against the truth, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from core.annotations import VERDICT
from core.codebook import CHOICE_ITEM, Codebook
from core.documents import Value
from core.errors import UsageError
from core.runs import RunRow
from core.services.cache import measured
from core.services.evaluation import evaluate, looked, stages
from core.services.evaluation.debate_effect import DebateEffect, noun, told_in_words, worth
from core.services.evaluation.grids import Grid, Reference
from core.services.session import ProjectSession
from core.stats import bootstrap, flips, intervals
from core.stats.arrays import Mask, one_hot
from core.stats.counts import Counts
from core.stats.flips import FlipTable, Trace
from core.stats.intervals import Estimate
from core.stats.multilabel import Averages, macro_average

CELLS: Mapping[str, tuple[bool, bool]] = {
    "tp": (True, True),
    "fn": (True, False),
    "fp": (False, True),
    "tn": (False, False),
}
"""A cell of a confusion matrix: what the truth is and what was said."""

Words: TypeAlias = tuple[tuple[str, bool], ...]
"""A sentence in pieces, each with whether it is to stand out."""


@dataclass(frozen=True, slots=True)
class LabelResult:
    """One label: its counts, and its scores with intervals as of ``bootstrap.scores``."""

    id: str
    name: str
    colour: int
    counts: Counts
    scores: bootstrap.Summary


@dataclass(frozen=True, slots=True)
class RoleResult:
    """One role's own lists against the truth, on the documents that have a verdict and a list of this role."""

    role: str
    title: str
    spec: str
    counts: Mapping[str, Counts]
    """by label name"""

    @property
    def macro(self) -> Averages:
        """The mean over labels."""
        return macro_average(self.counts.values())


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Documents of the run that do not count, and why."""

    without_reference: int
    unresolved: int
    """have truth, and a debate that no one could read to its end"""
    failed: int
    """have truth, and a provider error that outlasted the retries"""
    waiting: int
    """have truth, and no debate yet"""
    examples: int = 0
    """lent their words to the codebook of the run, so that they are no test of it"""

    @property
    def excluded(self) -> int:
        """Documents with truth and without a verdict."""
        return self.unresolved + self.failed + self.waiting


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A multilabel or choice run against the truth. Estimates are shares (0 to 1) with 95% intervals over documents."""

    run: RunRow
    reference: Reference
    n: int
    left_out: LeftOut
    macro: bootstrap.Summary
    micro: bootstrap.Summary
    accuracy: Estimate
    """share of right cells"""
    cells: int
    exact: Estimate
    """share of documents with every label right (Wilson)"""
    exact_count: int
    labels: tuple[LabelResult, ...]
    roles: tuple[RoleResult, ...]
    titles: Mapping[str, str]
    """what each role is called on the screen"""
    confusion: tuple[tuple[int, ...], ...]
    """of a choice ``[truth][chosen]`` in the order of the labels; empty for multilabel"""
    worth: DebateEffect
    """what the debate did for it"""
    told: Words
    """the ledger in a sentence; empty without one"""

    @property
    def flip_table(self) -> FlipTable | None:
        """Who changed what; None when nobody but the one annotator spoke."""
        return self.worth.flip_table

    @property
    def counts(self) -> dict[str, Counts]:
        """The counts by label name."""
        return {label.name: label.counts for label in self.labels}


@dataclass(frozen=True, slots=True)
class CellExample:
    """A document behind a cell of a matrix. ``lost_by`` is the role that lost it: the first one from which it stayed
    wrong; None where it ended right or the debate leaves no trace."""

    document_id: str
    text: str
    lost_by: str | None


def evaluation(session: ProjectSession, run_id: str, reference: Reference = "gold") -> Evaluation:
    """Everything that the page shows of a multilabel or choice run. UsageError for an unknown run or ratings."""
    run = evaluate.known(session, run_id)
    codebook = run.settings.codebook
    if codebook.kind == "rating":
        raise UsageError(f"{run_id} has a codebook of kind rating.", "Its scores are in the report.")
    roles = evaluate.speakers(session, run)
    values = looked.verdicts(session, run, reference)
    gold, said = (present(codebook, grid) for grid in (values.reference, values.of(VERDICT)))
    drawn = bootstrap.scores(gold, said, codebook.names)
    ended: Mask = np.equal(looked.endings(session, run), "verdict")
    counts = _counts(gold, said, ended, codebook.names)
    n, exact = _whole(gold, said, ended)
    lists = stages.last_lists(looked.steps(session, run))
    debate = measured(session, reference, lambda: worth(session, run, reference), "worth", run.run_id)
    titles = {**stages.role_titles(run), **debate.titles}
    return Evaluation(
        run=run,
        reference=reference,
        n=n,
        left_out=not_counted(session, run, reference),
        macro=drawn.macro,
        micro=drawn.micro,
        accuracy=drawn.accuracy,
        cells=sum(one.n for one in counts.values()),
        exact=Estimate(exact / n if n else None, intervals.wilson(exact, n)),
        exact_count=exact,
        labels=tuple(
            LabelResult(
                id=label.id,
                name=label.name,
                colour=label.colour,
                counts=counts[label.name],
                scores=drawn.labels[label.name],
            )
            for label in codebook.labels
        ),
        roles=tuple(
            RoleResult(
                role,
                titles.get(role, role),
                _spec(run, role),
                _counts(gold, present(codebook, lists[role]), ended, codebook.names),
            )
            for role in roles
            if role in lists
        ),
        titles=titles,
        confusion=evaluate.choice_scores(session, run, VERDICT, reference).confusion
        if codebook.kind == "choice"
        else (),
        worth=debate,
        told=sentence(debate, titles, noun(run)) if debate.flip_table is not None else (),
    )


def cases(
    session: ProjectSession,
    run_id: str,
    label_id: str,
    cell: str,
    *,
    reference: Reference = "gold",
    offset: int = 0,
    limit: int = 50,
) -> list[CellExample]:
    """The documents behind a cell of a matrix, in their order: of a label ``tp``, ``fn``, ``fp`` or ``tn``; of a choice
    ``cell`` is the id of the label that was chosen where the truth is ``label_id``."""
    page = (label_id, cell, offset, limit)
    return measured(session, reference, lambda: _cases(session, run_id, *page, reference), "cases", run_id, page)


def _cases(
    session: ProjectSession, run_id: str, label_id: str, cell: str, offset: int, limit: int, reference: Reference
) -> list[CellExample]:
    run = evaluate.known(session, run_id)
    codebook = run.settings.codebook
    item: str = label_id
    true: Value
    value: Value
    if codebook.kind == "choice":
        item, true, value = CHOICE_ITEM, label_id, cell
    else:
        true, value = CELLS[cell]
    found = session.store.evaluations.cell(run_id, item, true, value, reference=reference, offset=offset, limit=limit)
    lost: dict[str, str] = {}
    if true != value and found:
        values = looked.verdicts(session, run, reference)
        steps = stages.steps(run, looked.steps(session, run), values.of(VERDICT))
        if len(steps) > 1:
            coded = [(name, stages.as_codes(values.reference, said, measured=False)) for name, _, said in steps]
            way = flips.trace(stages.reference_codes(values.reference, measured=False), coded)
            lost = _lost(way, values.documents, codebook.items.index(item))
    return [CellExample(row.document_id, row.text, lost.get(row.document_id)) for row in found]


def meeting(
    session: ProjectSession, run: RunRow, dimension: str, reference: Reference = "gold"
) -> tuple[list[dict[str, str | int | float]], list[str]]:
    """How often each point of a scale was given where the truth, rounded, is each point: rows of (row, column, count,
    share of the row, words), and the points of the scale. Verdicts are rounded too."""
    codebook = run.settings.codebook
    scale = codebook.scale
    if scale is None:
        raise UsageError(f"{run.run_id} does not rate.", "Its matrix is that of its labels.")
    values = looked.verdicts(session, run, reference)
    column = codebook.items.index(dimension)
    true, said = values.reference[:, column], values.of(VERDICT)[:, column]
    known = ~np.isnan(true) & ~np.isnan(said)
    ones, others = (np.rint(side[known]).astype(np.int64).tolist() for side in (true, said))
    counts, totals = Counter(zip(ones, others, strict=True)), Counter(ones)
    points = range(scale.min, scale.max + 1)
    rows: list[dict[str, str | int | float]] = [
        {
            "row": str(one),
            "column": str(other),
            "count": counts[one, other],
            "share": counts[one, other] / totals[one] if totals[one] else 0.0,
            "words": f"{counts[one, other]:,}" if counts[one, other] else "",
        }
        for one in points
        for other in points
    ]
    return rows, [str(point) for point in points]


def sentence(debate: DebateEffect, titles: Mapping[str, str], noun: str = "label") -> Words:
    """The ledger in plain words, with the outcome to stand out, its price, and where most of a gain comes from."""
    flip_table = debate.flip_table
    if flip_table is None:
        return ()
    said = told_in_words(flip_table, titles, noun)
    head, colon, rest = said.partition(": ")
    outcome, bracket, tail = rest.partition(" (")
    words: list[tuple[str, bool]] = [(said, False)]
    if colon and bracket:
        words = [(f"{head}: ", False), (outcome, True), (f" ({tail}", False)]
    per_label = debate.prices["whole"].per_label
    if per_label:
        words.append((f" Each {noun} gained cost ${per_label:.4f}.", False))
    best = max(flip_table.steps, key=lambda step: step.total.net)
    if len(flip_table.steps) > 1 and best.total.net > 0 and flip_table.whole.total.net > 0:
        where = f"the {titles.get(best.role, best.role).lower()}"
        gains = sorted(((tally.net, name) for name, tally in best.labels.items() if tally.net > 0), reverse=True)[:2]
        on = f", on {' and '.join(name for _, name in gains)}" if len(best.labels) > 1 else ""
        words.append((f" Most of it is {where}{on}.", False))
    return tuple(words)


def _counts(gold: Grid, said: Grid, ended: Mask, names: Sequence[str]) -> dict[str, Counts]:
    """Counts by label name, as ``ConfusionCounts.counts`` makes them in the file: on documents with truth on which the
    debate has ended and this annotator said something, in cells that both have a value for."""
    known = ~np.isnan(gold) & ~np.isnan(said) & (ended & ~np.isnan(said).all(axis=1))[:, None]
    true, given = known & (gold == 1), known & (said == 1)
    tp, fp, fn = (one.sum(axis=0).tolist() for one in (true & given, given & ~true, true & ~given))
    cells = known.sum(axis=0).tolist()
    return {name: Counts(tp[at], fp[at], fn[at], cells[at] - tp[at] - fp[at] - fn[at]) for at, name in enumerate(names)}


def _whole(gold: Grid, said: Grid, ended: Mask) -> tuple[int, int]:
    """Documents with truth and a verdict, and on how many of them the verdict is right in all that the truth knows."""
    counted = ended & ~np.isnan(gold).all(axis=1)
    right = ((gold == said) | np.isnan(gold)).all(axis=1)
    return int(counted.sum()), int((counted & right).sum())


def present(codebook: Codebook, grid: Grid) -> Grid:
    """A column for each label, 1 present and 0 absent, also of a choice."""
    if codebook.kind != "choice":
        return grid
    chosen = np.where(np.isnan(grid[:, 0]), -1, grid[:, 0]).astype(np.int64)
    hot = one_hot(chosen, len(codebook.labels)).astype(np.float64)
    return np.where(hot < 0, np.nan, hot)


def _lost(way: Trace, documents: Sequence[str], column: int) -> dict[str, str]:
    return {
        document: way.roles[role]
        for document, role in zip(documents, way.lost_at[:, column].tolist(), strict=True)
        if role >= 0
    }


def not_counted(session: ProjectSession, run: RunRow, reference: Reference) -> LeftOut:
    """The documents of the run that no score counts, by reason."""
    ended = session.store.evaluations.endings(run.run_id, reference)
    examples = len(session.store.evaluations.guarded(run.run_id))
    return LeftOut(
        without_reference=run.documents - sum(ended.values()) - examples,
        unresolved=ended.get("unresolved", 0),
        failed=ended.get("failed", 0),
        waiting=ended.get("open", 0),
        examples=examples,
    )


def _spec(run: RunRow, role: str) -> str:
    role_model = run.settings.role_models.get(role)
    return role_model.spec if role_model is not None else ""
