"""A run against each rater of the gold, and against the median of them: what one truth for all would hide."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from core.evaluation import choice, multilabel, rating
from core.evaluation.agreement import krippendorff_alpha
from core.evaluation.arrays import codes
from core.runs import RunRow
from core.studio.desk import Desk
from core.studio.evaluation import common_cells, grids, looked


def against_each(desk: Desk, run: RunRow, annotator: str) -> dict[str, Any]:
    """What a report adds when the gold is by several raters; empty for one.

    ``raters`` holds the scores against each of them alone. For ratings there are also those against the ``median`` of
    the raters, and ``agreement``, Krippendorff's ordinal alpha among the raters per dimension (nominal per label for
    the other kinds): what the best annotator could be expected to reach. Documents that lent their words to the run's
    codebook are in none of these.
    """
    if len(desk.store.evaluations.raters()) < 2:
        return {}
    codebook = run.settings.codebook
    documents = looked.verdicts(desk, run).documents
    golds = grids.raters(desk.store, run.run_id, codebook, documents)
    if len(golds) < 2:
        return {}

    def scored(gold: grids.Grid) -> dict[str, Any]:
        return scores(run, *common_cells.against(desk, run, annotator, gold))

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
