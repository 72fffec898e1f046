"""ROUGE-L of the rated text with each of its other fields, against the same gold as a run: what overlap alone tells."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.runs import RunRow
from core.services.evaluation import grids
from core.services.session import ProjectSession
from core.stats import rating
from core.stats.rouge import rouge_l

MOST = 5_000
"""Documents that are looked at, the first ones."""


def overlap(session: ProjectSession, run: RunRow) -> dict[str, Any]:
    """``{FIELD: {n, mean, labels: {DIMENSION: {n, pearson, spearman, kendall}}}}`` for every further text field of a
    rating run's documents; empty for documents of one field and for other kinds of label.

    ``n`` documents have words in both fields, ``mean`` is their mean F1; a dimension counts those with gold, too.
    """
    codebook = run.settings.codebook
    ids = session.store.runs.document_ids(run.run_id)[:MOST]
    first = session.store.documents.load(ids[:1], gold=False)
    if codebook.kind != "rating" or not first or len(first[0].fields) < 2:
        return {}
    documents = session.store.documents.load(ids, gold=False)
    reference = grids.load(session.store, run.run_id, codebook, ()).reference[: len(documents)]
    told: dict[str, Any] = {}
    for field in list(first[0].fields)[1:]:
        scores = np.array([_score(one.text, one.fields.get(field, "")) for one in documents])
        known = ~np.isnan(scores)
        told[field] = {
            "n": int(known.sum()),
            "mean": float(scores[known].mean()) if known.any() else None,
            "labels": {
                name: _correlated(scores, reference[:, column]) for column, name in enumerate(codebook.names)
            },
        }  # fmt: skip
    return told


def _score(text: str, reference: str) -> float:
    score = rouge_l(text, reference)
    return np.nan if score is None else score


def _correlated(scores: grids.Grid, reference: grids.Grid) -> dict[str, Any]:
    both = ~np.isnan(scores) & ~np.isnan(reference)
    one, other = scores[both], reference[both]
    return {
        "n": int(both.sum()),
        "pearson": rating.pearson(one, other),
        "spearman": rating.spearman(one, other) if len(one) > 1 else None,
        "kendall": rating.kendall(one, other),
    }
