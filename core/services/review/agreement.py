"""Agreement of reviewers and of gold raters, adjudication of disagreements, and the effect of seeing the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from core.codebook import Codebook
from core.documents import Value, differs
from core.errors import UsageError
from core.runs import RunRow
from core.services.evaluation.annotation_arrays import annotator_values, group_codes
from core.services.evaluation.latent_truth import MIN_ANNOTATORS, independent_runs
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_by_documents, cached_until_commit
from core.services.review import actions
from core.stats.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha, with_interval
from core.stats.arrays import Numbers
from core.stats.intervals import Estimate
from core.stats.latent_truth import dawid_skene
from core.stats.metric_intervals import Design, ratio
from core.store.annotation_sources import AnnotationSource, of_run
from core.store.annotations import decode_value
from core.store.reviews import Decision, ReviewChange, ReviewerValues


@dataclass(frozen=True, slots=True)
class ItemAgreement:
    """Agreement on one item over ``n`` documents that at least two reviewers decided independently.

    ``observed`` is the share of documents on which they agree (ratings: less than a point apart). ``kappa`` is Cohen's
    if two reviewers are compared, Fleiss' for more, undefined for ratings. ``alpha`` is Krippendorff's (ordinal for
    ratings). Each is None where it is undefined. The intervals treat the documents of one group as dependent.
    """

    item: str
    n: int
    observed: Estimate
    kappa: Estimate
    alpha: Estimate


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item of a document with the values by reviewer, and the adjudicated value with its author.

    The reviewers differ, or the adjudicated value differs from theirs because they changed it later.
    """

    document_id: str
    item: str
    values: Mapping[str, Value]
    decided: Value | None = None
    by: str = ""

    @property
    def is_open(self) -> bool:
        """True without an adjudicated value, and with one that no reviewer gives any more."""
        return self.decided not in self.values.values()


@dataclass(frozen=True, slots=True)
class RaterQuality:
    """Quality of an annotator by the latent truth of an item: answered documents, and recall by true value.

    ``recalls`` maps each value to the estimated share of the documents with that true value on which the annotator gave
    it; None if it cannot be estimated.
    """

    name: str
    documents: int
    recalls: Mapping[Value, float | None]


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """Agreement of the reviewers of a run, or of the gold raters of its documents."""

    reviewers: Mapping[str, int]
    """Submitted documents of each reviewer."""
    compared: Mapping[str, int]
    """Those of them that another reviewer also submitted."""
    documents: int
    """Documents that two or more reviewers submitted."""
    dependent: int
    """Those of them on which a reviewer changed labels while those of another one were visible."""
    items: tuple[ItemAgreement, ...]
    """The agreement on each item, without dependent documents."""
    disagreements: tuple[Disagreement, ...]
    """All disagreements, document by document in the order of the run."""

    @property
    def open(self) -> tuple[Disagreement, ...]:
        """Disagreements that are to be resolved."""
        return tuple(disagreement for disagreement in self.disagreements if disagreement.is_open)


@dataclass(frozen=True, slots=True)
class Share:
    """``count`` of ``n`` values, and their share with its 95% interval; None without values."""

    count: int
    n: int
    share: Estimate


@dataclass(frozen=True, slots=True)
class BlindReport:
    """Effect of seeing the verdict.

    ``changed`` is the share of blind values that were changed after the reveal, ``towards`` the number of changes
    towards the verdict. ``blind`` and ``shown`` are the shares of values that agree with the verdict when decided blind
    and when decided with the verdict visible; ratings agree if they are less than a point apart. They are of different
    documents; a gap between them suggests anchoring.
    """

    changed: Share
    towards: int
    blind: Share
    shown: Share


@cached_until_commit
def agreement_report(session: ProjectSession, run: RunRow) -> AgreementReport:
    """Return the agreement of the reviewers of a run."""
    codebook = run.settings.codebook
    annotations = [
        annotation
        for annotation in session.store.agreement.double(run.run_id, codebook.items)
        if codebook.allows(annotation.item, annotation.value)  # others are from before the kind or a scale changed
    ]
    adjudicated = session.store.agreement.adjudicated()
    by_cell: dict[tuple[str, str], dict[str, Value]] = {}
    for annotation in annotations:
        by_cell.setdefault((annotation.document_id, annotation.item), {})[annotation.actor] = annotation.value
    dependent = {annotation.document_id for annotation in annotations if not annotation.independent}
    independent = [annotation for annotation in annotations if annotation.document_id not in dependent]
    disagreements = []
    for (document, item), values in by_cell.items():
        decided, by = adjudicated.get((document, item), (None, ""))
        if _any_differ([*values.values(), *([] if decided is None else [decided])]):
            disagreements.append(Disagreement(document, item, values, decided, by))
    compared = Counter(
        actor for actor, _ in sorted({(annotation.actor, annotation.document_id) for annotation in annotations})
    )
    return AgreementReport(
        reviewers=session.store.agreement.submitted(run.run_id),
        compared=compared,
        documents=len({annotation.document_id for annotation in annotations}),
        dependent=len(dependent),
        items=_agreement_by_item(session, run, independent, len(compared)),
        disagreements=tuple(disagreements),
    )


@cached_by_documents
def rater_agreement(session: ProjectSession, run: RunRow) -> AgreementReport:
    """Return the agreement of the gold raters on the run's documents, like that of reviewers.

    It has no disagreements, because only those of reviewers are adjudicated.
    """
    codebook, ids = run.settings.codebook, session.store.runs.document_ids(run.run_id)
    names = session.store.annotations.raters([run.run_id])
    if len(names) < 2:
        return AgreementReport({}, {}, 0, 0, (), ())
    grids = [annotator_values(session, run, str(AnnotationSource("gold", name))) for name in names]
    labelled = np.array([~np.isnan(grid).all(axis=1) for grid in grids])  # [rater, document]
    shared = labelled.sum(axis=0) > 1
    annotations = [
        ReviewerValues(ids[row], codebook.items[column], name, value, independent=True)
        for name, grid in zip(names, grids, strict=True)
        for row, column in np.argwhere(shared[:, None] & ~np.isnan(grid))
        if (value := decode_value(codebook, grid[row, column])) is not None
    ]
    compared = {name: int(of_rater.sum()) for name, of_rater in zip(names, labelled & shared, strict=True)}
    compared = {name: count for name, count in compared.items() if count}
    return AgreementReport(
        reviewers=dict(zip(names, labelled.sum(axis=1).tolist(), strict=True)),
        compared=compared,
        documents=int(shared.sum()),
        dependent=0,
        items=_agreement_by_item(session, run, annotations, len(compared)),
        disagreements=(),
    )


def _agreement_by_item(
    session: ProjectSession, run: RunRow, annotations: Sequence[ReviewerValues], compared: int
) -> tuple[ItemAgreement, ...]:
    """Return the agreement on each item; ``compared`` is the number of people."""
    codebook, codes = run.settings.codebook, group_codes(session, run)
    groups = None if codes is None else dict(zip(session.store.runs.document_ids(run.run_id), codes, strict=True))
    return tuple(_item_agreement(item, annotations, codebook, groups, compared) for item in codebook.items)


def adjudicate(
    session: ProjectSession, run: RunRow, document_id: str, item: str, value: Value | None, *, actor: str = ""
) -> None:
    """Store the final value of a disagreement, which counts over all reviewers' values. None reopens it.

    Committed on return. UsageError for a value that the item cannot have, and for a document that is not in the project
    any more.
    """
    actions.check_value(run.settings.codebook, item, value)
    actions.require_documents(session, [document_id])
    before = session.store.agreement.adjudicated().get((document_id, item), (None, ""))[0]
    if before is None and value is None:
        raise UsageError("Nothing was decided here yet.", "Choose one of the values.")
    decision = Decision(document_id, (ReviewChange(item, before, value),), adjudicated=True)
    actions.record_decisions(session, run.run_id, [decision], actions.Attribution(actor))


@cached_until_commit
def blind_report(session: ProjectSession, run: RunRow, who: str = "") -> BlindReport:
    """Return how far the decisions of a reviewer, or of all, follow the verdict, blind and with it visible."""
    anchoring = session.store.agreement.anchoring(run.run_id, who)
    return BlindReport(
        changed=_share_of_units(anchoring.changed, anchoring.blind),
        towards=int(anchoring.towards.sum()),
        blind=_share_of_units(anchoring.blind_agreed, anchoring.blind),
        shown=_share_of_units(anchoring.shown_agreed, anchoring.shown),
    )


def _share_of_units(part: Numbers, total: Numbers) -> Share:
    """Return a share over units, ``[unit]``: the values of a document or of a group depend on each other."""
    return Share(int(part.sum()), int(total.sum()), ratio(part, total, Design()))


def _any_differ(values: Sequence[Value]) -> bool:
    return any(differs(*pair) for pair in combinations(set(values), 2))


def _item_agreement(
    item: str,
    annotations: Sequence[ReviewerValues],
    codebook: Codebook,
    groups: Mapping[str, int] | None,
    compared: int,
) -> ItemAgreement:
    selected = [annotation for annotation in annotations if annotation.item == item]
    ids = dict.fromkeys(annotation.document_id for annotation in selected)
    documents = {id: row for row, id in enumerate(ids)}
    reviewers = {actor: column for column, actor in enumerate(sorted({annotation.actor for annotation in selected}))}
    undefined = Estimate()
    if len(reviewers) < 2:
        return ItemAgreement(item, 0, undefined, undefined, undefined)
    table = np.full((len(documents), len(reviewers)), None, dtype=object)
    for annotation in selected:
        table[documents[annotation.document_id], reviewers[annotation.actor]] = annotation.value
    codes = None if groups is None else np.array([groups[document] for document in documents])
    given = [[value for value in row if value is not None] for row in table]
    shared = np.array([len(values) > 1 for values in given])
    equal = np.array([not _any_differ(values) for values in given if len(values) > 1])
    design = Design(groups=None if codes is None else codes[shared])
    observed = ratio(equal, np.ones(len(equal)), design)

    if codebook.kind == "rating":
        alpha = with_interval(partial(krippendorff_alpha, level="ordinal"), table.astype(np.float64), codes)
        return ItemAgreement(item, len(equal), observed, undefined, alpha)
    kappa = fleiss_kappa if compared > 2 else lambda answers, times: cohen_kappa(answers[:, 0], answers[:, 1], times)
    alpha, kappa_estimate = (with_interval(coefficient, table, codes) for coefficient in (krippendorff_alpha, kappa))
    return ItemAgreement(item, len(equal), observed, kappa_estimate, alpha)


def _annotators_by_title(session: ProjectSession, run: RunRow) -> dict[str, str]:
    """Return the independent runs, the gold raters and the reviewers of the run by their titles."""
    annotators = {f"run {id}": str(of_run(id)) for id in independent_runs(session, run.settings.codebook)}
    for name in session.store.annotations.raters():
        annotators["gold" if name == "gold" else f"gold by {name}"] = str(AnnotationSource("gold", name))
    for name in session.store.agreement.submitted(run.run_id):
        annotators[f"reviewed by {name}"] = str(AnnotationSource("reviewed", name))
    return annotators


def rater_quality(session: ProjectSession, run: RunRow, item: str) -> tuple[RaterQuality, ...]:
    """Return the annotators of an item on the run's documents against its latent truth.

    They are those of ``latent_truth.refresh``; annotators without a value on the item are left out. Empty for ratings,
    and with fewer than MIN_ANNOTATORS.
    """
    codebook = run.settings.codebook
    if codebook.kind == "rating":
        return ()
    column = codebook.items.index(item)
    columns = {
        title: annotator_values(session, run, source)[:, column]
        for title, source in _annotators_by_title(session, run).items()
    }
    columns = {title: values for title, values in columns.items() if not np.isnan(values).all()}
    if len(columns) < MIN_ANNOTATORS:
        return ()
    values: list[Value] = [False, True] if codebook.kind == "multilabel" else list(codebook.label_names)
    answers = np.nan_to_num(np.stack(list(columns.values()), axis=1), nan=-1).astype(np.int64)
    truth = dawid_skene(answers, len(values))
    return tuple(
        RaterQuality(
            title,
            int((answers[:, rater] >= 0).sum()),
            {
                value: None if np.isnan(recall) else float(recall)
                for value, recall in zip(values, np.diagonal(truth.confusion[rater]), strict=True)
            },
        )
        for rater, title in enumerate(columns)
    )
