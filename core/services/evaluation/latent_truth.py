"""Latent truth as a reference: the labels that raters, reviewers and runs imply together (Dawid and Skene)."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.formatting import join_names
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_while
from core.stats.latent_truth import dawid_skene
from core.store.annotation_sources import LATENT as LATENT

MIN_ANNOTATORS = 3
"""Annotators of an item that an estimate of its latent truth needs."""
_MIN_ANSWERS = 2
_MIN_PROBABILITY = 0.5


@cached_while(lambda session: session.store.annotations.basis(LATENT))
def refresh(session: ProjectSession) -> tuple[str, ...]:
    """Estimate and store the latent labels, and return the annotators. Cheap when no answer has changed.

    Annotators are the gold raters, the reviewers, and the verdicts of each run except canaries and the Lab. A document
    has a latent label where two of them answered, and one value is more probable than all others together. Ratings and
    items with fewer than MIN_ANNOTATORS have none.
    """
    runs = [run.run_id for run in session.all_runs() if not run.is_canary]
    answers = session.store.latent_labels.answers(runs)
    columns: dict[str, Any] = {
        name: answers.column(name).dictionary_encode().combine_chunks() for name in answers.column_names
    }
    codes = {name: column.indices.to_numpy() for name, column in columns.items()}
    values = columns["value"].dictionary.to_pylist()
    labels: list[tuple[str, str, str]] = []
    used: set[str] = set()
    documents, annotators = (columns[name].dictionary.to_pylist() for name in ("document_id", "annotator"))
    for item_code, item in enumerate(columns["item"].dictionary.to_pylist()):
        of_item = codes["item"] == item_code
        raters, rater = np.unique(codes["annotator"][of_item], return_inverse=True)
        value_codes, value = np.unique(codes["value"][of_item], return_inverse=True)
        is_rating = any(not values[code].startswith(("true", "false", '"')) for code in value_codes)  # a JSON number
        if len(raters) < MIN_ANNOTATORS or is_rating:
            continue
        rows, row = np.unique(codes["document_id"][of_item], return_inverse=True)
        table = np.full((len(rows), len(raters)), -1, dtype=np.int64)
        table[row, rater] = value
        patterns, pattern, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
        truth = dawid_skene(patterns, len(value_codes), counts=counts)
        best = truth.probabilities.argmax(axis=1)
        is_certain = (truth.probabilities.max(axis=1) > _MIN_PROBABILITY) & (
            (patterns >= 0).sum(axis=1) >= _MIN_ANSWERS
        )
        for document, number in zip(rows.tolist(), pattern.reshape(-1).tolist(), strict=True):
            if is_certain[number]:
                labels.append((documents[document], item, values[value_codes[best[number]]]))
        used.update(annotators[code] for code in raters.tolist())
    session.store.latent_labels.replace(labels)
    return tuple(sorted(used))


def warning(session: ProjectSession) -> str:
    """Return whose answers the latent truth rests on and what it assumes, or what it needs."""
    names = refresh(session)
    if not names:
        return f"A latent truth needs the labels of {MIN_ANNOTATORS} raters, reviewers or runs. Ratings have none."
    return (
        f"The truth is estimated from {join_names(names)} (Dawid and Skene, 1979), as if they erred independently. "
        "Models that share errors confirm each other and look better than they are, and the evaluated run is one of "
        "them."
    )
