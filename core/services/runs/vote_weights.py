"""Weights of votes in a discussion, from the accuracy of each model on reviewed documents."""

from __future__ import annotations

from math import log

import numpy as np

from core.errors import UsageError
from core.runs import RunSettings
from core.services.project_session import ProjectSession
from core.store.annotators import REVIEWED

_LEAST = 0.05
"""Smallest weight, of a model that is right no more often than by chance."""


def from_reviews(session: ProjectSession, settings: RunSettings) -> str:
    """Return the weights of the annotators of planned settings as text, such as "2.2, 0.85, 1.39".

    The weight is log(p / (1 - p)) for the share p of correct labels of the annotator's model on reviewed documents, in
    any run with the same labels and any role, with one right and one wrong label added. A model without reviewed
    documents has the mean weight of the others. UsageError if none of the models has any.
    """
    right, n = _counts(session, settings)
    known = {spec: log((right[spec] + 1) / (n[spec] - right[spec] + 1)) for spec in n if n[spec]}
    found = [known.get(model.spec) for model in settings.role_models.values()]
    weights = [max(_LEAST, weight) for weight in found if weight is not None]
    if not weights:
        raise UsageError(
            "None of these models has labelled a reviewed document.",
            "Review documents of a run with these models, or set the weights of votes to equal.",
        )
    mean = sum(weights) / len(weights)
    return ", ".join(f"{mean if weight is None else max(_LEAST, weight):.3g}" for weight in found)


def _counts(session: ProjectSession, settings: RunSettings) -> tuple[dict[str, int], dict[str, int]]:
    """Return the correct and all compared labels of each model on reviewed documents.

    Each document counts once. The queue prefers doubtful documents, but it does so for all models alike, and a weight
    only ranks the models.
    """
    right: dict[str, int] = {}
    n: dict[str, int] = {}
    store = session.store
    for run in store.runs.all():
        codebook = run.settings.codebook
        if (codebook.kind, codebook.items) != (settings.codebook.kind, settings.codebook.items):
            continue
        reviewed = store.annotations.grid(run.run_id, codebook, REVIEWED)
        examples = store.annotations.example_documents(run.run_id)
        ended = store.annotations.debate_statuses(run.run_id) == "verdict"
        counted = ended & ~np.isin(store.runs.document_ids(run.run_id), examples)
        for role in set(store.annotations.annotators(run.run_id)) & set(run.settings.role_models):
            spec, given = run.settings.role_models[role].spec, store.annotations.grid(run.run_id, codebook, role)
            known = counted[:, None] & ~np.isnan(given) & ~np.isnan(reviewed)
            right[spec] = right.get(spec, 0) + int((given == reviewed)[known].sum())
            n[spec] = n.get(spec, 0) + int(known.sum())
    return right, n
