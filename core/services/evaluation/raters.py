"""A run against each rater of the gold, and against the median of them: what one truth for all would hide."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from core.runs import RunRow
from core.services.evaluation import common_cells, grids, looked
from core.services.session import ProjectSession
from core.stats import choice, multilabel, rating
from core.stats.agreement import krippendorff_alpha
from core.stats.arrays import codes


def against_each(session: ProjectSession, run: RunRow, annotator: str) -> dict[str, Any]:
    """What a report adds when the gold is by several raters; empty for one.

    ``raters`` holds the scores against each of them alone. For ratings there are also those against the ``median`` of
    the raters, and ``agreement``, Krippendorff's ordinal alpha among the raters per dimension (nominal per label for
    the other kinds): what the best annotator could be expected to reach. Documents that lent their words to the run's
    codebook are in none of these.
    """
    if len(session.store.evaluations.raters()) < 2:
        return {}
    codebook = run.settings.codebook
    documents = looked.verdicts(session, run).documents
    golds = grids.raters(session.store, run.run_id, codebook, documents)
    if len(golds) < 2:
        return {}

    def scored(gold: grids.Grid) -> dict[str, Any]:
        return scores(run, *common_cells.against(session, run, annotator, gold))

    told: dict[str, Any] = {"raters": {name: scored(gold) for name, gold in golds.items()}}
    level: Literal["ordinal", "nominal"] = "ordinal" if codebook.kind == "rating" else "nominal"
    stack = np.stack(list(golds.values()), axis=-1)
    names = codebook.names if len(codebook.names) == stack.shape[1] else codebook.items
    told["agreement"] = {
        name: krippendorff_alpha(stack[:, column, :], level).value for column, name in enumerate(names)
    }
    if codebook.kind == "rating":
        told["median"] = scored(grids.median_of(list(golds.values()), documents, codebook))
    return told


def scores(run: RunRow, gold: grids.Grid, said: grids.Grid) -> dict[str, Any]:
    """What ``moot evaluate --json`` tells of values against a truth, both ``[document, item]``."""
    codebook = run.settings.codebook
    match codebook.kind:
        case "rating":
            return rating.to_json(rating.evaluate(gold, said, codebook.names))
        case "choice":
            return choice.to_json(choice.from_codes(codes(gold[:, 0]), codes(said[:, 0]), codebook.names))
        case "multilabel":
            return multilabel.to_json(multilabel.from_grids(gold, said, codebook.names))
