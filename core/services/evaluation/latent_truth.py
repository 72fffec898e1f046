"""Latent truth as a reference: the labels that raters, reviewers and runs imply together (Dawid and Skene)."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.codebook import Codebook
from core.formatting import join_names
from core.runs import builtin_name
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit, cached_while
from core.stats.latent_truth import dawid_skene
from core.store.annotation_sources import LATENT as LATENT

MIN_ANNOTATORS = 3
"""Independent annotators of an item that an estimate of its latent truth needs."""
_MIN_ANSWERS = 2
_MIN_PROBABILITY = 0.5


def independent_runs(session: ProjectSession, codebook: Codebook) -> list[str]:
    """Return the finished runs with a label of the codebook whose verdicts count as annotators, oldest first.

    Of runs that share a model the one with the most documents counts, of several the latest: the others would make its
    errors again. A model is known by its name, and vectors or training do not make a built-in model another one.
    Canaries and runs of the Lab do not count.
    """
    labels = {label.id for label in codebook.labels}
    runs = session.all_runs()
    found: set[str] = set()
    used: set[str] = set()
    for run in sorted(runs, key=lambda run: run.documents)[::-1]:
        book = run.settings.codebook
        models = {
            builtin_name(model.model)[0] if model.is_builtin else model.model
            for model in run.settings.role_models.values()
        }
        fits = book.kind == codebook.kind and not labels.isdisjoint(label.id for label in book.labels)
        if fits and run.state == "done" and run.verdicts and not run.is_canary and used.isdisjoint(models):
            found.add(run.run_id)
            used |= models
    return [run.run_id for run in runs if run.run_id in found]


@cached_while(lambda session, **_: session.store.annotations.basis(LATENT))
def refresh(session: ProjectSession, codebook: Codebook) -> tuple[str, ...]:
    """Estimate and store the latent labels of a codebook, and return the annotators. Cheap if no answer has changed.

    Annotators are the gold raters, the reviewers, and the verdicts of the ``independent_runs``. A document has a latent
    label where two of them answered, and one value is more probable than all others together. Ratings and items with
    fewer than MIN_ANNOTATORS have none. Values that the codebook does not allow do not count.
    """
    if codebook.kind == "rating":
        return ()
    import pandas as pd

    runs = independent_runs(session, codebook)
    answers: Any = session.store.latent_labels.answers(runs, codebook).to_pandas(strings_to_categorical=True)
    labels: list[tuple[str, str, str]] = []
    used: set[str] = set()
    for item, of_item in answers.groupby("item", observed=True):
        annotators = set(of_item["annotator"])
        codes, values = pd.factorize(of_item["value"])
        if len(annotators) < MIN_ANNOTATORS:
            continue
        table = of_item.assign(code=codes).pivot(index="document_id", columns="annotator", values="code").fillna(-1)
        patterns, pattern, counts = np.unique(table.to_numpy(np.int64), axis=0, return_inverse=True, return_counts=True)
        probabilities = dawid_skene(patterns, len(values), counts=counts).probabilities
        answered = (patterns >= 0).sum(axis=1)
        is_certain = (probabilities.max(axis=1) > _MIN_PROBABILITY) & (answered >= _MIN_ANSWERS)
        best = np.asarray(values, dtype=object)[probabilities.argmax(axis=1)]
        best[~is_certain] = None
        estimates = zip(table.index, best[pattern.reshape(-1)], strict=True)
        labels += [(document, item, value) for document, value in estimates if value is not None]
        used |= annotators
    session.store.latent_labels.replace(codebook, labels)
    return tuple(sorted(used))


def warning(session: ProjectSession, codebook: Codebook) -> str:
    """Return whose answers the latent truth of a codebook rests on and what it assumes, or what it needs."""
    names = refresh(session, codebook)
    if not names:
        return missing(session, codebook) or "The truth of ratings is not estimated."
    return (
        f"The truth is estimated from {join_names(names)} (Dawid and Skene, 1979), as if they erred independently. "
        "Annotators that share errors confirm each other and look better than they are. So does a run that is one of "
        "them or shares a model with one."
    )


@cached_until_commit
def missing(session: ProjectSession, codebook: Codebook) -> str:
    """Return what an estimate of the latent truth needs, and what the project has of it; empty for ratings."""
    if codebook.kind == "rating":
        return ""
    names = session.store.latent_labels.annotators(independent_runs(session, codebook), codebook)
    return (
        f"An estimated truth needs the labels of {MIN_ANNOTATORS} independent annotators on the same documents "
        "(raters, reviewers, and finished runs without a common model); "
        f"this project has {join_names(names) or 'none'}."
    )
