"""The Evaluate room for scripts: a run against the truth, in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.annotations import VERDICT
from core.errors import NoSuchRun, UsageError
from core.evaluation import choice, multilabel, rating
from core.evaluation.choice import ChoiceScores
from core.evaluation.counts import Counts
from core.evaluation.multilabel import LabelScores
from core.runs import RunRow
from core.store.annotators import source_of
from core.store.counts import ItemCounts, by_item
from core.studio import tables
from core.studio.desk import Desk
from core.studio.evaluation import common_cells, overlaps, raters
from core.studio.evaluation.grids import Truth
from core.studio.memo import remembered


def report(desk: Desk, run_id: str, truth: str = "gold", annotator: str = VERDICT) -> dict[str, Any]:
    """One run of ``moot evaluate --json`` (design, section 5). UsageError for an unknown run.

    Scores are None where they are undefined; a label without positives is left out of the macro mean. Gold by several
    raters adds what ``raters.against_each`` tells, ratings of documents with several fields their ``overlap``.
    """
    run = known(desk, run_id)
    return {
        "run_id": run_id,
        "protocol": run.settings.protocol,
        "roles": {role: seat.spec for role, seat in run.settings.seats.items()},
        **_scores(desk, run, checked(desk, truth), annotator),
        **(raters.against_each(desk, run, annotator) if truth == "gold" else {}),
        **({"overlap": found} if truth == "gold" and (found := overlaps.overlap(desk, run)) else {}),
    }


def as_csv(told: Mapping[str, Any]) -> str:
    """A report as a table for spreadsheets: a line for each label and each mean, shares as they are, nothing where a
    score is undefined. Where the report has ``intervals``, ``SCORE_low`` and ``SCORE_high`` tell them."""
    measures, spans = told.get("measures", {}), told.get("intervals", {})
    own = spans.get("labels", {})
    rows = [
        {"name": name, **scores, **measures.get(name, {}), **_ends(own.get(name, {}))}
        for name, scores in told["labels"].items()
    ]
    rows += [{"name": mean, **told[mean], **_ends(spans.get(mean, {}))} for mean in ("macro", "micro") if mean in told]
    return tables.as_csv(rows)


def _ends(spans: Mapping[str, Sequence[float] | None]) -> dict[str, float | None]:
    return {
        f"{score}_{end}": span[at] if span else None
        for score, span in spans.items()
        for at, end in enumerate(("low", "high"))
    }


def truths(desk: Desk, run_id: str) -> dict[Truth, int]:
    """What the run can be compared with, and of how many of its documents each speaks: always ``gold`` and
    ``reviewed``; the authors of the texts where they labelled; each rater and each person where there are several;
    other runs."""
    return remembered(desk, lambda: desk.store.evaluations.sources(run_id), "truths", run_id)


def checked(desk: Desk, truth: str) -> Truth:
    """The truth, when there is such a one. UsageError naming what there is otherwise."""
    source = source_of(truth)
    if source.kind == "gold" and source.who and source.who not in (raters := desk.store.evaluations.raters()):
        who = "The authors did not label" if source.by_author else f"No rater is called '{source.who}'"
        raise UsageError(f"{who}.", f"The gold is by: {', '.join(raters) or 'nobody'}.")
    if source.kind == "run":
        known(desk, source.who)
    return truth


def require_annotator(desk: Desk, rows: Sequence[RunRow], annotator: str) -> None:
    """UsageError for one whose values none of these runs has and that is no source either: a name mistyped would be
    scored as somebody who said nothing."""
    known_here = {VERDICT} | {name for row in rows for name in (*row.settings.seats, *speakers(desk, row))}
    if annotator in known_here or not rows:
        return
    try:
        source_of(annotator)
    except UsageError as error:
        raise UsageError(
            f"Nobody in these runs is called '{annotator}'.", f"There are: {', '.join(sorted(known_here))}."
        ) from error
    checked(desk, annotator)


def speakers(desk: Desk, run: RunRow) -> tuple[str, ...]:
    """The roles of a run that gave lists of their own, in the order in which they spoke."""
    heard = desk.store.evaluations.annotators(run.run_id)
    return tuple(name for name in heard if name != VERDICT)


def label_scores(desk: Desk, run: RunRow, annotator: str, truth: Truth) -> LabelScores:
    """An annotator's counts per label name, made in the file, and the scores that follow."""
    counted = desk.store.evaluations.counts(run.run_id, annotator, truth=truth)
    counts = by_label(run, by_item(counted.cells))
    return multilabel.evaluate(counts, n=counted.n, excluded=counted.excluded, exact=counted.exact)


def by_label(run: RunRow, found: Mapping[str, ItemCounts]) -> dict[str, Counts]:
    """Counts per label name, in the order of the run's codebook, from those per item; zeros for one without any."""
    items = ((label.name, found.get(label.id, ItemCounts())) for label in run.settings.codebook.labels)
    return {name: Counts(own.tp, own.fp, own.fn, own.tn) for name, own in items}


def _scores(desk: Desk, run: RunRow, truth: Truth, annotator: str) -> dict[str, Any]:
    codebook = run.settings.codebook
    if codebook.kind == "multilabel":
        return multilabel.to_json(label_scores(desk, run, annotator, truth))
    if codebook.kind == "choice":
        return choice.to_json(choice_scores(desk, run, annotator, truth))
    return rating.to_json(rating.evaluate(*common_cells.pair(desk, run, annotator, truth), codebook.names))


def choice_scores(desk: Desk, run: RunRow, annotator: str, truth: Truth) -> ChoiceScores:
    """An annotator's confusion matrix, made in the file, and the scores that follow. A value that is no label of the
    codebook is left out."""
    codebook = run.settings.codebook
    counted = desk.store.evaluations.counts(run.run_id, annotator, truth=truth)
    places = {label.id: place for place, label in enumerate(codebook.labels)}
    matrix = [[0] * len(places) for _ in places]
    strangers = 0
    for cell in counted.cells:
        true, said = places.get(str(cell.truth)), places.get(str(cell.value))
        if true is None or said is None:
            strangers += cell.count
        else:
            matrix[true][said] += cell.count
    return choice.from_confusion(matrix, codebook.names, excluded=counted.excluded + strangers)


def known(desk: Desk, run_id: str) -> RunRow:
    """The run of this id. UsageError when there is none."""
    run = desk.store.runs.get(run_id)
    if run is None:
        raise NoSuchRun(run_id)
    return run
