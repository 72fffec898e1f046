"""The Evaluate room: a run against the truth, in numbers for scripts and as a value for the page."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from core.annotations import VERDICT
from core.codebook import Codebook
from core.debate import protocols
from core.errors import UsageError
from core.evaluation import bootstrap, choice, flips, intervals, multilabel, rating
from core.evaluation.arrays import codes
from core.evaluation.counts import Counts
from core.evaluation.flips import Ledger, Trace
from core.evaluation.intervals import Estimate
from core.evaluation.multilabel import LabelScores
from core.ingest.formulas import escape
from core.runs import RunRow
from core.store.annotators import source_of
from core.store.pages import Filter, Viewpoint
from core.studio import grids, raters
from core.studio.desk import Desk
from core.studio.grids import Truth

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
    """One label: its counts, and its scores with intervals (Wilson's; for F1 the bootstrap's)."""

    id: str
    name: str
    colour: int
    counts: Counts
    precision: Estimate
    recall: Estimate
    f1: Estimate


@dataclass(frozen=True, slots=True)
class RoleResult:
    """One role's own lists against the truth, on the documents that have a verdict and a list of this role."""

    role: str
    title: str
    spec: str
    scores: LabelScores


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Documents of the run that do not count, and why."""

    without_truth: int
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
    """A multilabel run against the truth. Estimates are shares from 0 to 1 with 95% intervals over documents."""

    run: RunRow
    truth: Truth
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
    ledger: Ledger | None
    """None when nobody but the one annotator spoke"""
    told: Words
    """the ledger in a sentence; empty without one"""

    @property
    def counts(self) -> dict[str, Counts]:
        """The counts by label name."""
        return {label.name: label.counts for label in self.labels}


@dataclass(frozen=True, slots=True)
class Case:
    """A document behind a cell of a matrix. ``lost_by`` is the role that lost it: the first one from which it stayed
    wrong; None where it ended right or the debate leaves no trace."""

    document_id: str
    text: str
    lost_by: str | None


def report(desk: Desk, run_id: str, truth: str = "gold", annotator: str = VERDICT) -> dict[str, Any]:
    """One run of ``moot evaluate --json`` (design, section 5). UsageError for an unknown run.

    Scores are None where they are undefined; a label without positives is left out of the macro mean. Gold by several
    raters adds what ``raters.against_each`` tells.
    """
    run = _known(desk, run_id)
    return {
        "run_id": run_id,
        "protocol": run.settings.protocol,
        "roles": {role: seat.spec for role, seat in run.settings.seats.items()},
        **_scores(desk, run, checked(desk, truth), annotator),
        **(raters.against_each(desk, run, annotator) if truth == "gold" else {}),
    }


def as_csv(told: Mapping[str, Any]) -> str:
    """A report as a table for spreadsheets: a line for each label and each mean, shares as they are, nothing where a
    score is undefined."""
    columns = ["name", *dict.fromkeys(key for scores in told["labels"].values() for key in scores)]
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\r\n")
    writer.writeheader()
    for name, scores in told["labels"].items():
        writer.writerow({"name": escape(name), **scores})
    for mean in ("macro", "micro"):
        if mean in told:
            writer.writerow({"name": mean, **told[mean]})
    return "\ufeff" + out.getvalue()


def truths(desk: Desk, run_id: str) -> dict[Truth, int]:
    """What the run can be compared with, and of how many of its documents each speaks: always ``gold`` and
    ``reviewed``; each rater and each person where there are several; other runs."""
    return desk.store.evaluations.sources(run_id)


def truth_words(truth: Truth) -> str:
    """What a truth is called on the screen."""
    source = source_of(truth)
    match source.kind:
        case "gold":
            return f"Rater {source.who}" if source.who else "Gold"
        case "reviewed":
            return f"Reviewed by {source.who}" if source.who else "Reviewed"
        case "run":
            return f"Run {source.who}" + ("" if source.role == VERDICT else f", {source.role}")


def checked(desk: Desk, truth: str) -> Truth:
    """The truth, when there is such a one. UsageError naming what there is otherwise."""
    source = source_of(truth)
    if source.kind == "gold" and source.who and source.who not in (raters := desk.store.evaluations.raters()):
        raise UsageError(f"No rater is called '{source.who}'.", f"The gold is by: {', '.join(raters) or 'nobody'}.")
    if source.kind == "run":
        _known(desk, source.who)
    return truth


def evaluation(desk: Desk, run_id: str, truth: Truth = "gold") -> Evaluation:
    """Everything that the page shows of a multilabel run. UsageError for an unknown run or another kind."""
    run = _known(desk, run_id)
    codebook = run.settings.codebook
    if codebook.kind != "multilabel":
        raise UsageError(f"{run_id} has a codebook of kind {codebook.kind}.", "Its scores are in the report.")
    names = codebook.names
    roles = speakers(desk, run)
    values = grids.load(desk.store, run_id, codebook, [*roles, VERDICT], truth)
    verdict = label_scores(desk, run, VERDICT, truth)
    drawn = bootstrap.scores(values.truth, values.of(VERDICT), names)
    exact = round((multilabel.from_grids(values.truth, values.of(VERDICT), names).subset_accuracy or 0.0) * verdict.n)
    steps = _steps(run, roles, values)
    ledger = flips.ledger(values.truth, steps, names) if len(steps) > 1 else None
    titles = _titles(run)
    return Evaluation(
        run=run,
        truth=truth,
        n=verdict.n,
        left_out=_left_out(desk, run, values, verdict.excluded),
        macro=drawn.macro,
        micro=drawn.micro,
        accuracy=drawn.accuracy,
        cells=sum(one.n for one in verdict.labels.values()),
        exact=Estimate(exact / verdict.n if verdict.n else None, intervals.wilson(exact, verdict.n)),
        exact_count=exact,
        labels=tuple(
            LabelResult(
                id=label.id,
                name=label.name,
                colour=label.colour,
                counts=(own := verdict.labels[label.name]),
                precision=Estimate(own.precision, intervals.precision_interval(own) if own.positives else None),
                recall=Estimate(own.recall, intervals.recall_interval(own)),
                f1=drawn.labels[label.name].f1,
            )
            for label in codebook.labels
        ),
        roles=tuple(
            RoleResult(role, titles.get(role, role), _spec(run, role), label_scores(desk, run, role, truth))
            for role in roles
        ),
        titles=titles,
        ledger=ledger,
        told=sentence(ledger, titles) if ledger is not None else (),
    )


def cases(
    desk: Desk,
    run_id: str,
    label_id: str,
    cell: str,
    *,
    truth: Truth = "gold",
    offset: int = 0,
    limit: int = 50,
) -> list[Case]:
    """The documents behind a cell (``tp``, ``fn``, ``fp``, ``tn``) of a label's matrix, in their order."""
    run = _known(desk, run_id)
    true, value = CELLS[cell]
    found = desk.store.evaluations.cell(run_id, label_id, true, value, truth=truth, offset=offset, limit=limit)
    roles = speakers(desk, run)
    lost: dict[str, str] = {}
    if cell in ("fn", "fp") and found and roles:
        values = grids.load(desk.store, run_id, run.settings.codebook, [*roles, VERDICT], truth)
        steps = _steps(run, roles, values)
        if len(steps) > 1:
            lost = _lost(flips.trace(values.truth, steps), values.documents, run.settings.codebook, label_id)
    return [Case(row.document_id, row.text, lost.get(row.document_id)) for row in found]


def sentence(ledger: Ledger, titles: Mapping[str, str]) -> Words:
    """The ledger in plain words, with the outcome to stand out, and where most of a gain comes from."""
    said = ledger.sentence
    head, colon, rest = said.partition(": ")
    outcome, bracket, tail = rest.partition(" (")
    words: list[tuple[str, bool]] = [(said, False)]
    if colon and bracket:
        words = [(f"{head}: ", False), (outcome, True), (f" ({tail}", False)]
    best = max(ledger.steps, key=lambda step: step.total.net)
    if len(ledger.steps) > 1 and best.total.net > 0 and ledger.whole.total.net > 0:
        gains = sorted(((tally.net, name) for name, tally in best.labels.items() if tally.net > 0), reverse=True)[:2]
        where = " and ".join(name for _, name in gains)
        words.append((f" Most of it is the {titles.get(best.role, best.role).lower()}, on {where}.", False))
    return tuple(words)


def speakers(desk: Desk, run: RunRow) -> tuple[str, ...]:
    """The roles of a run that gave lists of their own, in the order in which they spoke."""
    heard = desk.store.evaluations.annotators(run.run_id)
    return tuple(name for name in heard if name != VERDICT)


def label_scores(desk: Desk, run: RunRow, annotator: str, truth: Truth) -> LabelScores:
    """An annotator's counts per label name, made in the file, and the scores that follow."""
    counted = desk.store.evaluations.counts(run.run_id, annotator, truth=truth)
    by_item = counted.multilabel()
    counts = {}
    for label in run.settings.codebook.labels:
        own = by_item.get(label.id)
        counts[label.name] = Counts(own.tp, own.fp, own.fn, own.tn) if own else Counts()
    return multilabel.evaluate(counts, n=counted.n, excluded=counted.excluded)


def _scores(desk: Desk, run: RunRow, truth: Truth, annotator: str) -> dict[str, Any]:
    codebook = run.settings.codebook
    if codebook.kind == "multilabel":
        return multilabel.to_json(label_scores(desk, run, annotator, truth))
    if codebook.kind == "choice":
        return _choice(desk, run.run_id, codebook, annotator, truth)
    values = grids.load(desk.store, run.run_id, codebook, [annotator], truth)
    return rating.to_json(rating.evaluate(values.truth, values.of(annotator), codebook.names))


def _choice(desk: Desk, run_id: str, codebook: Codebook, annotator: str, truth: Truth) -> dict[str, Any]:
    counted = desk.store.evaluations.counts(run_id, annotator, truth=truth)
    places = {label.id: place for place, label in enumerate(codebook.labels)}
    matrix = [[0] * len(places) for _ in places]
    strangers = 0
    for cell in counted.cells:
        true, said = places.get(str(cell.truth)), places.get(str(cell.value))
        if true is None or said is None:
            strangers += cell.count
        else:
            matrix[true][said] += cell.count
    return choice.to_json(choice.from_confusion(matrix, codebook.names, excluded=counted.excluded + strangers))


def _steps(run: RunRow, roles: Sequence[str], values: grids.Grids) -> list[tuple[str, Any]]:
    """Whose values follow each other in a debate: the roles' own lists, and last what the debate ended in under the
    name of the role that decides."""
    try:
        decides = protocols.of(run.settings).decides(run.settings.params)
    except UsageError:
        decides = roles[-1] if roles else VERDICT
    own = [(role, codes(values.of(role))) for role in roles if role != decides]
    return [*own, (decides, codes(values.of(VERDICT)))]


def _lost(way: Trace, documents: Sequence[str], codebook: Codebook, label_id: str) -> dict[str, str]:
    column = codebook.items.index(label_id)
    return {
        document: way.roles[role]
        for document, role in zip(documents, way.lost_at[:, column].tolist(), strict=True)
        if role >= 0
    }


def _left_out(desk: Desk, run: RunRow, values: grids.Grids, excluded: int) -> LeftOut:
    known = (values.truth == values.truth).any(axis=1)  # NaN is unlike itself
    ended = (values.of(VERDICT) == values.of(VERDICT)).all(axis=1)
    without = int((~known).sum())
    if not excluded:
        return LeftOut(without, 0, 0, 0)
    ids = tuple(values.documents[place] for place in (known & ~ended).nonzero()[0])

    def among(status: Literal["unresolved", "failed"]) -> int:
        return desk.store.pages.lines(Viewpoint(run.run_id), limit=1, filter=Filter(statuses=(status,), ids=ids)).total

    unresolved, failed = among("unresolved"), among("failed")
    return LeftOut(without, unresolved, failed, max(0, excluded - unresolved - failed))


def _titles(run: RunRow) -> dict[str, str]:
    """Names of the roles as the protocol's card has them; as they are for a protocol that is gone."""
    try:
        known = {role.name: role.title for role in protocols.roles_of(run.settings)}
    except UsageError:
        known = {}
    return {role: known.get(role, role.capitalize()) for role in run.settings.seats} | known | {VERDICT: "Verdict"}


def _spec(run: RunRow, role: str) -> str:
    seat = run.settings.seats.get(role)
    return seat.spec if seat is not None else ""


def _known(desk: Desk, run_id: str) -> RunRow:
    run = desk.store.runs.get(run_id)
    if run is None:
        raise UsageError(f"There is no run '{run_id}' in this project.", "Choose one that the Run page lists.")
    return run
