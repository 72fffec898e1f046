"""Weigh the votes of annotators by how often their models are right on reviewed documents."""

from __future__ import annotations

from itertools import compress
from math import log

import numpy as np

from core.debate import protocols
from core.documents import VERDICT
from core.errors import UsageError
from core.runs import RunSettings
from core.services.project_session import ProjectSession
from core.store.annotation_sources import REVIEWED
from core.store.annotations import Grid

MIN_WEIGHT = 0.05
"""Smallest weight, of a model that is right no more often than by chance."""


def reviewed_vote_weights(session: ProjectSession, settings: RunSettings) -> str:
    """Return the weights of the annotators of planned settings as text, such as "2.2, 0.85, 1.39".

    The weight is log(p (k - 1) / (1 - p)) for the share p of correct labels of the annotator's model on reviewed
    documents, in any run with the same labels and any role. A choice has k labels and equally likely errors; other
    labels are present or absent (k = 2), with the weights of Nitzan and Paroush (1982). One right label and k - 1 wrong
    ones are added, so that a model without evidence has the weight 0. A model without reviewed documents has the mean
    weight of the others. UsageError if none of the models has any.
    """
    right, n = _count_correct(session, settings)
    errors = max(1, len(settings.codebook.labels) - 1) if settings.codebook.kind == "choice" else 1
    by_model = {spec: log((right[spec] + 1) * errors / (n[spec] - right[spec] + errors)) for spec in n if n[spec]}
    raw_weights = [by_model.get(model.spec) for model in settings.role_models.values()]
    weights = [max(MIN_WEIGHT, weight) for weight in raw_weights if weight is not None]
    if not weights:
        raise UsageError(
            "None of these models has labelled a reviewed document.",
            "Review documents of a run with these models, or set the weights of votes to equal.",
        )
    mean = sum(weights) / len(weights)
    return ", ".join(f"{mean if weight is None else max(MIN_WEIGHT, weight):.3g}" for weight in raw_weights)


def _count_correct(session: ProjectSession, settings: RunSettings) -> tuple[dict[str, int], dict[str, int]]:
    """Return the correct and all compared labels of each model on reviewed documents.

    A label of a document counts once per model: as the latest run with a value has it, of its first role with that
    model. The queue prefers doubtful documents, but it does so for all models alike, and a weight only ranks the
    models.
    """
    store = session.store
    rows = {document: row for row, document in enumerate(store.documents.ids())}
    correct: dict[str, Grid] = {}
    wanted = settings.codebook
    for run in store.runs.all():
        codebook = run.settings.codebook
        if codebook.kind != wanted.kind or codebook.items != wanted.items:
            continue
        if codebook.label_names.keys() != wanted.label_names.keys():  # the items of a choice do not name them
            continue
        documents = store.runs.document_ids(run.run_id)
        learned_from = list(store.learned_from(run.run_id))
        ended = store.annotations.debate_statuses(run.run_id) == "verdict"
        counted = ended & ~np.isin(documents, learned_from)
        row_indices = [rows[document] for document in compress(documents, counted)]
        reviewed = store.annotations.grid(run.run_id, codebook, REVIEWED)[counted]
        roles = [role for role in store.annotations.annotators(run.run_id) if role in run.settings.role_models]
        for role in reversed(roles):  # values of the first role replace those of the others
            spec = run.settings.role_models[role].spec
            annotator = VERDICT if protocols.samples_vote(run.settings) else role
            values = store.annotations.grid(run.run_id, codebook, annotator)[counted]
            comparable = ~np.isnan(values) & ~np.isnan(reviewed)
            is_correct = correct.setdefault(spec, np.full((len(rows), len(codebook.items)), np.nan))
            is_correct[row_indices] = np.where(comparable, values == reviewed, is_correct[row_indices])
    right = {spec: int(np.nansum(is_correct)) for spec, is_correct in correct.items()}
    return right, {spec: int((~np.isnan(is_correct)).sum()) for spec, is_correct in correct.items()}
