"""The Evaluate room for scripts: a run against the truth, in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core import csv_text
from core.annotations import VERDICT
from core.errors import NoSuchRun, UsageError
from core.runs import RunRow
from core.services.cache import remembered
from core.services.evaluation import common_cells, overlaps, raters
from core.services.evaluation.grids import Reference
from core.services.session import ProjectSession
from core.stats import choice, multilabel, rating
from core.stats.choice import ChoiceScores
from core.stats.counts import Counts
from core.stats.multilabel import LabelScores
from core.store.annotators import source_of
from core.store.confusion import ItemCounts, by_item


def report(session: ProjectSession, run_id: str, reference: str = "gold", annotator: str = VERDICT) -> dict[str, Any]:
    """One run of ``moot evaluate --json`` (design, section 5). UsageError for an unknown run.

    Scores are None where they are undefined; a label without positives is left out of the macro mean. Gold by several
    raters adds what ``raters.against_each`` tells, ratings of documents with several fields their ``overlap``.
    """
    run = known(session, run_id)
    return {
        "run_id": run_id,
        "protocol": run.settings.protocol,
        "roles": {role: role_model.spec for role, role_model in run.settings.role_models.items()},
        **_scores(session, run, checked(session, reference), annotator),
        **(raters.against_each(session, run, annotator) if reference == "gold" else {}),
        **({"overlap": found} if reference == "gold" and (found := overlaps.overlap(session, run)) else {}),
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
    return csv_text.to_csv(rows)


def _ends(spans: Mapping[str, Sequence[float] | None]) -> dict[str, float | None]:
    return {
        f"{score}_{end}": span[at] if span else None
        for score, span in spans.items()
        for at, end in enumerate(("low", "high"))
    }


def references(session: ProjectSession, run_id: str) -> dict[Reference, int]:
    """What the run can be compared with, and of how many of its documents each speaks: always ``gold`` and
    ``reviewed``; the authors of the texts where they labelled; each rater and each person where there are several;
    other runs."""
    return remembered(session, lambda: session.store.evaluations.sources(run_id), "truths", run_id)


def checked(session: ProjectSession, reference: str) -> Reference:
    """The truth, when there is such a one. UsageError naming what there is otherwise."""
    source = source_of(reference)
    if source.kind == "gold" and source.who and source.who not in (raters := session.store.evaluations.raters()):
        who = "The authors did not label" if source.by_author else f"No rater is called '{source.who}'"
        raise UsageError(f"{who}.", f"The gold is by: {', '.join(raters) or 'nobody'}.")
    if source.kind == "run":
        known(session, source.who)
    return reference


def require_annotator(session: ProjectSession, rows: Sequence[RunRow], annotator: str) -> None:
    """UsageError for one whose values none of these runs has and that is no source either: a name mistyped would be
    scored as somebody who said nothing."""
    known_here = {VERDICT} | {name for row in rows for name in (*row.settings.role_models, *speakers(session, row))}
    if annotator in known_here or not rows:
        return
    try:
        source_of(annotator)
    except UsageError as error:
        raise UsageError(
            f"Nobody in these runs is called '{annotator}'.", f"There are: {', '.join(sorted(known_here))}."
        ) from error
    checked(session, annotator)


def speakers(session: ProjectSession, run: RunRow) -> tuple[str, ...]:
    """The roles of a run that gave lists of their own, in the order in which they spoke."""
    heard = session.store.evaluations.annotators(run.run_id)
    return tuple(name for name in heard if name != VERDICT)


def label_scores(session: ProjectSession, run: RunRow, annotator: str, reference: Reference) -> LabelScores:
    """An annotator's counts per label name, made in the file, and the scores that follow."""
    counted = session.store.evaluations.counts(run.run_id, annotator, reference=reference)
    counts = by_label(run, by_item(counted.cells))
    return multilabel.evaluate(counts, n=counted.n, excluded=counted.excluded, exact=counted.exact)


def by_label(run: RunRow, found: Mapping[str, ItemCounts]) -> dict[str, Counts]:
    """Counts per label name, in the order of the run's codebook, from those per item; zeros for one without any."""
    items = ((label.name, found.get(label.id, ItemCounts())) for label in run.settings.codebook.labels)
    return {name: Counts(own.tp, own.fp, own.fn, own.tn) for name, own in items}


def _scores(session: ProjectSession, run: RunRow, reference: Reference, annotator: str) -> dict[str, Any]:
    codebook = run.settings.codebook
    if codebook.kind == "multilabel":
        return multilabel.to_json(label_scores(session, run, annotator, reference))
    if codebook.kind == "choice":
        return choice.to_json(choice_scores(session, run, annotator, reference))
    return rating.to_json(rating.evaluate(*common_cells.pair(session, run, annotator, reference), codebook.names))


def choice_scores(session: ProjectSession, run: RunRow, annotator: str, reference: Reference) -> ChoiceScores:
    """An annotator's confusion matrix, made in the file, and the scores that follow. A value that is no label of the
    codebook is left out."""
    codebook = run.settings.codebook
    counted = session.store.evaluations.counts(run.run_id, annotator, reference=reference)
    places = {label.id: place for place, label in enumerate(codebook.labels)}
    matrix = [[0] * len(places) for _ in places]
    strangers = 0
    for cell in counted.cells:
        true, said = places.get(str(cell.reference)), places.get(str(cell.value))
        if true is None or said is None:
            strangers += cell.count
        else:
            matrix[true][said] += cell.count
    return choice.from_confusion(matrix, codebook.names, excluded=counted.excluded + strangers)


def known(session: ProjectSession, run_id: str) -> RunRow:
    """The run of this id. UsageError when there is none."""
    run = session.store.runs.get(run_id)
    if run is None:
        raise NoSuchRun(run_id)
    return run
