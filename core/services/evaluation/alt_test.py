"""Alternative annotator test: whether a model may replace the people who labelled the documents of a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.annotations import VERDICT
from core.runs import RunRow
from core.services.cache import cached_until_commit
from core.services.evaluation import coverage, run_data
from core.services.evaluation.coverage import Coverage
from core.services.session import ProjectSession
from core.stats.alt_test import EPSILONS, LEAST_PEOPLE, Alternative, alternative_test
from core.stats.arrays import Mask
from core.store.annotators import GOLD, REVIEWED, AnnotationSource

EPSILON_WORDS = (
    "ε is how far the model may fall below a person because it costs less: its authors advise 0.2 where the people are "
    "experts, 0.15 where they are trained annotators, and 0.1 for crowd workers."
)


@cached_until_commit
def may_replace(session: ProjectSession, run: RunRow, epsilon: float = EPSILONS["trained"]) -> Alternative:
    """Run the alternative annotator test on the verdicts of a run, with an allowance of ``epsilon`` (0 to 1).

    The annotators are the raters of the gold labels, or the reviewers if there are fewer than three raters and more
    reviewers than raters. With too few of both, the result contains the reason and no winning rate.
    """
    loaded, chosen = _loaded(session, run)
    return alternative_test(
        loaded.of(VERDICT),
        {_name(name): loaded.of(name) for name in chosen},
        epsilon=epsilon,
        measured=run.settings.codebook.kind == "rating",
        groups=run_data.group_codes(session, run),
    )


def _loaded(session: ProjectSession, run: RunRow) -> tuple[run_data.AnnotationArrays, list[str]]:
    """Return the annotation arrays of the verdicts and the annotators, and the annotators' source names.

    A document used as an example in the run's codebook has no verdict here (NaN).
    """
    sources = session.store.evaluations.sources(run.run_id)
    raters = [name for name in sources if name.startswith(f"{GOLD}@")]
    reviewers = [name for name in sources if name.startswith(f"{REVIEWED}@")]
    # A lone rater or reviewer has no entry of their own.
    chosen = raters if len(raters) >= LEAST_PEOPLE or len(raters) >= len(reviewers) else reviewers
    if not chosen:
        chosen = [str(AnnotationSource(kind)) for kind in (GOLD, REVIEWED) if sources[kind]][:1]
    loaded = run_data.load_arrays(session.store, run.run_id, run.settings.codebook, [VERDICT, *chosen])
    fit = run_data.test_documents(session.store, run.run_id, loaded.documents)[:, None]
    verdicts = {VERDICT: np.where(fit, loaded.of(VERDICT), np.nan)}
    return replace(loaded, annotations={**loaded.annotations, **verdicts}), chosen


def counted_by(session: ProjectSession, run: RunRow) -> Coverage:
    """Return the coverage of the test: documents with a verdict and labels from at least two annotators."""
    loaded, chosen = _loaded(session, run)
    predicted = ~np.isnan(loaded.of(VERDICT)).all(axis=1)
    labelled = [~np.isnan(loaded.of(name)).all(axis=1) for name in chosen]
    several: Mask = np.sum(labelled, axis=0) >= 2 if labelled else np.zeros_like(predicted)
    return coverage.among(session, run, chosen[0].partition("@")[0] if chosen else GOLD, predicted & several)


def _name(source: str) -> str:
    return source.partition("@")[2] or source
