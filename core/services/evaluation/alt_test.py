"""May the model replace the people who labelled? The alternative annotator test on whoever labelled these documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from core.annotations import VERDICT
from core.runs import RunRow
from core.services.cache import cached_until_commit
from core.services.evaluation import arrays, coverage
from core.services.evaluation.coverage import Coverage
from core.services.session import ProjectSession
from core.stats.alt_test import EPSILONS, LEAST_PEOPLE, Alternative, People, alternative_test
from core.stats.arrays import Mask
from core.store.annotators import GOLD, REVIEWED, AnnotationSource

EPSILON_WORDS = (
    "ε is what the model may fall short of a person because it costs less: its authors advise 0.2 where the people are "
    "experts, 0.15 where they are trained annotators, and 0.1 for crowd workers."
)


@cached_until_commit
def may_replace(session: ProjectSession, run: RunRow, people: People = "trained") -> Alternative:
    """The test of the run's verdicts against the raters of the gold, or, when those are fewer than three, against those
    who reviewed. With fewer of both it says why there is none."""
    loaded, chosen = _loaded(session, run)
    return alternative_test(
        loaded.of(VERDICT),
        {_name(name): loaded.of(name) for name in chosen},
        epsilon=EPSILONS[people],
        measured=run.settings.codebook.kind == "rating",
    )


def _loaded(session: ProjectSession, run: RunRow) -> tuple[arrays.AnnotationArrays, list[str]]:
    """The verdicts and what each of the people says, and the names of their sources. A document that lent its words to
    the run's codebook is no test and has no verdict here."""
    sources = session.store.evaluations.sources(run.run_id)
    raters = [name for name in sources if name.startswith(f"{GOLD}@")]
    reviewers = [name for name in sources if name.startswith(f"{REVIEWED}@")]
    # A lone rater or reviewer has no entry of their own.
    chosen = raters if len(raters) >= LEAST_PEOPLE or len(raters) >= len(reviewers) else reviewers
    if not chosen:
        chosen = [str(AnnotationSource(kind)) for kind in (GOLD, REVIEWED) if sources[kind]][:1]
    loaded = arrays.load_arrays(session.store, run.run_id, run.settings.codebook, [VERDICT, *chosen])
    fit = arrays.test_documents(session.store, run.run_id, loaded.documents)[:, None]
    verdicts = {VERDICT: np.where(fit, loaded.of(VERDICT), np.nan)}
    return replace(loaded, annotations={**loaded.annotations, **verdicts}), chosen


def counted_by(session: ProjectSession, run: RunRow) -> Coverage:
    """The documents that the test can use: with a verdict, and labelled by two people or more."""
    loaded, chosen = _loaded(session, run)
    said = ~np.isnan(loaded.of(VERDICT)).all(axis=1)
    labelled = [~np.isnan(loaded.of(name)).all(axis=1) for name in chosen]
    several: Mask = np.sum(labelled, axis=0) >= 2 if labelled else np.zeros_like(said)
    return coverage.among(session, run, chosen[0].partition("@")[0] if chosen else GOLD, said & several)


def to_json(test: Alternative) -> dict[str, Any]:
    """The part ``replace_people`` of ``moot evaluate --json``."""
    return {
        "epsilon": test.epsilon,
        "winning_rate": test.winning_rate,
        "advantage_probability": test.advantage,
        "passed": test.passed if test.winning_rate is not None else None,
        "people": [
            {
                "person": one.person,
                "n": one.n,
                "model_wins": one.model_wins,
                "person_wins": one.person_wins,
                "p": one.p,
                "replaceable": one.replaceable,
            }
            for one in test.people
        ],
        "sentence": test.sentence,
    }


def _name(source: str) -> str:
    return source.partition("@")[2] or source
