"""Alternative annotator test: whether a model may replace the people who labelled the documents of a run."""

from __future__ import annotations

import numpy as np

from core.runs import RunRow
from core.services.evaluation import coverage
from core.services.evaluation.annotation_arrays import Grid, group_codes, is_test_document, verdict_arrays
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit
from core.stats.alt_test import EPSILONS, MIN_PEOPLE, Alternative, alternative_test
from core.stats.arrays import Mask
from core.store.annotation_sources import GOLD, REVIEWED, AnnotationSource


@cached_until_commit
def may_replace(session: ProjectSession, run: RunRow, epsilon: float = EPSILONS["trained"]) -> Alternative:
    """Run the alternative annotator test on the verdicts of a run, with an allowance of ``epsilon`` (0 to 1).

    The annotators are the raters of the gold labels, or the reviewers if there are fewer than three raters and more
    reviewers than raters. With too few of both, the result contains the reason and no winning rate.
    """
    verdicts, people = _annotations(session, run)
    return alternative_test(
        verdicts,
        {name.partition("@")[2] or name: values for name, values in people.items()},
        epsilon=epsilon,
        kind=run.settings.codebook.kind,
        groups=group_codes(session, run),
    )


def _annotations(session: ProjectSession, run: RunRow) -> tuple[Grid, dict[str, Grid]]:
    """Return the verdicts, NaN on documents that the run has learned from, and each annotator's values by source."""
    sources = session.store.annotations.sources(run.run_id, run.settings.codebook)
    raters = [name for name in sources if name.startswith(f"{GOLD}@")]
    reviewers = [name for name in sources if name.startswith(f"{REVIEWED}@")]
    # A lone rater or reviewer has no entry of their own.
    names = raters if len(raters) >= MIN_PEOPLE or len(raters) >= len(reviewers) else reviewers
    if not names:
        names = [str(AnnotationSource(kind)) for kind in (GOLD, REVIEWED) if sources[kind]][:1]
    store, codebook, loaded = session.store, run.settings.codebook, verdict_arrays(session, run)
    is_counted = is_test_document(store, run.run_id, loaded.documents)[:, None]
    people = {name: store.annotations.grid(run.run_id, codebook, name) for name in names}
    return np.where(is_counted, loaded.verdicts, np.nan), people


def describe_coverage(session: ProjectSession, run: RunRow) -> str:
    """Describe the documents of the test: those with a verdict and labels from at least two annotators.

    Those of reviewers are not weighted.
    """
    verdicts, people = _annotations(session, run)
    predicted = ~np.isnan(verdicts).all(axis=1)
    labelled = [~np.isnan(values).all(axis=1) for values in people.values()]
    is_shared: Mask = np.sum(labelled, axis=0) >= 2 if labelled else np.zeros_like(predicted)
    kind = next(iter(people), GOLD).partition("@")[0]
    words = coverage.of_documents(session, run, kind, predicted & is_shared).describe(kind)
    if kind == REVIEWED:  # simulated: a model as good as people passes 13% of tests here, all on random documents
        words += "; unweighted: the queue prefers likely errors of the model, which then looks worse than it is"
    return words
