"""Two runs on the same documents: which is better, by how much, and how sure that is."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.annotations import VERDICT
from core.errors import UsageError
from core.evaluation.bootstrap import difference
from core.evaluation.intervals import Estimate
from core.evaluation.significance import mcnemar_of
from core.runs import RunRow
from core.studio import evaluate, grids
from core.studio.annotate import known_run
from core.studio.desk import Desk


def compare(desk: Desk, first: str, second: str) -> dict[str, Any]:
    """What ``moot compare --json`` reports of two multilabel runs; differences are second minus first.

    ``shared`` documents have a full verdict in both runs, ``same`` of them the same one. With gold: each run's own
    report, the differences in F1 with a 95% bootstrap interval over the ``n`` shared documents that have gold, and
    McNemar's test on label cells. Raises UsageError for unknown runs, and for runs whose labels differ.
    """
    one, two = known_run(desk, first), known_run(desk, second)
    codebook = one.settings.codebook
    if codebook.items != two.settings.codebook.items or codebook.kind != "multilabel":
        raise UsageError(f"{first} and {second} do not label the same things.", "Choose runs of one codebook.")
    documents, grid_one, grid_two, truth = _aligned(desk, one, two)
    whole = ~np.isnan(grid_one).any(axis=1) & ~np.isnan(grid_two).any(axis=1)
    same = (grid_one[whole] == grid_two[whole]).all(axis=1)
    told: dict[str, Any] = {
        "runs": [first, second],
        "documents": len(documents),
        "shared": int(whole.sum()),
        "same": int(same.sum()),
        "reports": [evaluate.report(desk, first), evaluate.report(desk, second)],
    }
    if np.isnan(truth).all():
        return told | {"n": 0, "sentence": _without_gold(told)}
    truth, grid_one, grid_two = (_coded(grid) for grid in (truth, grid_one, grid_two))
    found = difference(truth, grid_one, grid_two, codebook.names)
    test = mcnemar_of(truth, grid_one, grid_two)
    return told | {
        "n": found.n,
        "macro_f1": _estimate(found.macro.f1),
        "micro_f1": _estimate(found.micro.f1),
        "accuracy": _estimate(found.accuracy),
        "labels": {name: _estimate(summary.f1) for name, summary in found.labels.items()},
        "mcnemar": {"only_first": test.only_first, "only_second": test.only_second, "p": test.p, "exact": test.exact},
        "sentence": _sentence(first, second, found.n, found.macro.f1),
    }


def _aligned(desk: Desk, one: RunRow, two: RunRow) -> tuple[list[str], grids.Grid, grids.Grid, grids.Grid]:
    """The documents of both runs, what each run says of them, and the gold, row by row."""
    codebook = one.settings.codebook
    loaded = (
        grids.load(desk.store, one.run_id, codebook, (VERDICT,)),
        grids.load(desk.store, two.run_id, codebook, (VERDICT,)),
    )
    place = {document: row for row, document in enumerate(loaded[1].documents)}
    rows = [(row, place[document]) for row, document in enumerate(loaded[0].documents) if document in place]
    if not rows:
        raise UsageError(f"{one.run_id} and {two.run_id} have no document in common.", "Choose other runs.")
    left, right = (list(side) for side in zip(*rows, strict=True))
    documents = [loaded[0].documents[row] for row in left]
    return documents, loaded[0].of(VERDICT)[left], loaded[1].of(VERDICT)[right], loaded[0].truth[left]


def _coded(grid: grids.Grid) -> Any:
    return np.where(np.isnan(grid), -1, grid).astype(int)


def _estimate(estimate: Estimate) -> dict[str, Any]:
    interval = estimate.interval
    return {"difference": estimate.value, "interval": [interval.low, interval.high] if interval else None}


def _sentence(first: str, second: str, n: int, macro: Estimate) -> str:
    if macro.value is None:
        return f"{first} and {second} cannot be compared: no label is present in the gold of the {n} shared documents."
    points = f"{abs(macro.value) * 100:.1f} points of macro F1"
    interval = macro.interval
    span = f" (95% interval {interval.low * 100:+.1f} to {interval.high * 100:+.1f})" if interval else ""
    if not macro.clear:
        return f"{second} and {first} differ by {points}{span} on {n} documents: that may be chance."
    return f"{second} is {'better' if macro.value > 0 else 'worse'} than {first} by {points}{span} on {n} documents."


def _without_gold(told: dict[str, Any]) -> str:
    return f"{told['same']} of {told['shared']} shared documents have the same verdict. There is no gold to say more."
