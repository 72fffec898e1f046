"""What became of each document from one run to another: fixed, broken, both, or unchanged. And a comparison in JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from core.annotations import Reference
from core.services.cache import cached_until_commit
from core.services.evaluation import arrays, compare, stages
from core.services.evaluation.arrays import Grid
from core.services.evaluation.compare import Column, Comparison, Pair
from core.services.evaluation.debate_effect import change_json
from core.services.evaluation.scores import evaluate, to_json
from core.services.session import ProjectSession
from core.stats.arrays import Mask
from core.stats.intervals import Estimate, ends
from core.stats.significance import McNemar, TTest

Outcome: TypeAlias = Literal["broken", "mixed", "fixed", "right", "wrong"]
OUTCOMES: Mapping[Outcome, str] = {
    "broken": "broken: a label went wrong and none was mended",
    "mixed": "mixed: a label was mended and another went wrong",
    "fixed": "fixed: a label was mended and none went wrong",
    "wrong": "unchanged, and wrong on a label",
    "right": "unchanged, and right",
}
"""In the order in which they are worth a look."""
LISTED = 1000
"""Documents of an outcome that the JSON names at most."""


@dataclass(frozen=True, slots=True)
class Row:
    """A document whose outcome is known. ``mended`` and ``broken`` are the names of labels (of a choice ``Label``)."""

    document_id: str
    text: str
    outcome: Outcome
    mended: tuple[str, ...]
    broken: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """All shared documents with truth and a full verdict in both runs. Masks are ``[document, item]``."""

    documents: tuple[str, ...]
    kinds: tuple[Outcome, ...]
    mended: Mask
    broken: Mask
    names: tuple[str, ...]

    @property
    def counts(self) -> dict[Outcome, int]:
        """Documents by outcome."""
        return {name: self.kinds.count(name) for name in OUTCOMES}


@cached_until_commit
def outcomes(session: ProjectSession, first: str, second: str, reference: Reference = "gold") -> Outcomes:
    """Return the changes from ``first`` to ``second``. Raises UsageError like ``comparison``."""
    runs = [arrays.get_run(session, id) for id in (first, second)]
    codebook = runs[0].settings.codebook
    measured = codebook.kind == "rating"
    documents, gold, (one, two) = compare.aligned(session, runs, reference)
    whole = ~np.isnan(gold).all(axis=1) & ~np.isnan(one).any(axis=1) & ~np.isnan(two).any(axis=1)
    known = ~np.isnan(gold[whole])
    target = stages.reference_codes(gold[whole], measured=measured)
    was, now = (np.equal(stages.as_codes(gold[whole], grid[whole], measured=measured), target) for grid in (one, two))
    mended: Mask = known & now & ~was
    broken: Mask = known & was & ~now
    kinds: list[Outcome] = []
    each = (np.any(mended, axis=1), np.any(broken, axis=1), np.all(now | ~known, axis=1))
    for fixed, lost, right in zip(*(side.tolist() for side in each), strict=True):
        if fixed and lost:
            kinds.append("mixed")
        elif fixed or lost:
            kinds.append("fixed" if fixed else "broken")
        else:
            kinds.append("right" if right else "wrong")
    return Outcomes(
        documents=tuple(documents[row] for row in np.flatnonzero(whole)),
        kinds=tuple(kinds),
        mended=mended,
        broken=broken,
        names=codebook.names if codebook.kind != "choice" else ("Label",),
    )


def page(
    session: ProjectSession,
    found: Outcomes,
    kinds: Sequence[Outcome],
    *,
    label: str = "",
    offset: int = 0,
    limit: int = 50,
) -> tuple[tuple[Row, ...], int]:
    """Return a page of the documents with one of these outcomes, and their total number.

    ``label`` limits the page to documents with a correction or regression in this label.
    """
    column = found.names.index(label) if label in found.names else None
    rows = [
        row
        for row, kind in enumerate(found.kinds)
        if kind in kinds and (column is None or found.mended[row, column] or found.broken[row, column])
    ]
    rows.sort(key=lambda row: list(OUTCOMES).index(found.kinds[row]))
    shown = rows[offset : offset + limit]
    texts = {
        one.id: one.text for one in session.store.documents.load([found.documents[row] for row in shown], gold=False)
    }

    def named(mask: Mask, row: int) -> tuple[str, ...]:
        return tuple(name for place, name in enumerate(found.names) if mask[row, place])

    return tuple(
        Row(
            id := found.documents[row],
            texts.get(id, ""),
            found.kinds[row],
            named(found.mended, row),
            named(found.broken, row),
        )
        for row in shown
    ), len(rows)


def comparison_report(session: ProjectSession, run_ids: Sequence[str], reference: Reference = "gold") -> dict[str, Any]:
    """Return the output of ``moot compare --json``. Differences are second minus first, shares are from 0 to 1.

    For two runs: ``runs documents shared same reports n macro_f1 micro_f1 accuracy labels mcnemar sentence``, and also
    ``tests``, ``outcomes``, ``changes`` and ``columns``. For more runs, ``pairs`` contains these for each run against
    the first, and ``cochran`` is the test for any difference. Without a reference label on a shared document, n is 0
    and only results from the verdicts are included. Raises UsageError like ``comparison``.
    """
    found = compare.comparison(session, run_ids, reference)
    shared = [_two(session, found, place, reference) for place in range(len(found.pairs))]
    common = {
        "runs": list(run_ids),
        "reference": reference,
        "columns": [_column_json(column) for column in found.columns],
        "reports": [to_json(evaluate(session, arrays.get_run(session, id), reference)) for id in run_ids],
    }
    if len(shared) == 1:
        return common | shared[0]
    several = found.several
    return common | {
        "pairs": [
            {"runs": [pair.first, pair.second], **one, "p_adjusted": p}
            for pair, one, p in zip(found.pairs, shared, found.adjusted, strict=True)
        ],
        "cochran": {
            "n": several.n,
            "q": several.statistic,
            "df": several.df,
            "p": several.p,
            "sentence": several.sentence(),
        }
        if several is not None
        else None,
        "sentence": " ".join(one["sentence"] for one in shared),
    }


def _two(session: ProjectSession, found: Comparison, place: int, reference: Reference) -> dict[str, Any]:
    pair = found.pairs[place]
    runs = [found.columns[0].run, found.columns[place + 1].run]
    documents, gold, (one, two) = compare.aligned(session, runs, reference)
    whole = ~np.isnan(one).any(axis=1) & ~np.isnan(two).any(axis=1)
    same = int((one[whole] == two[whole]).all(axis=1).sum())
    result: dict[str, Any] = {"documents": len(documents), "shared": int(whole.sum()), "same": same, "n": pair.n}
    if np.isnan(gold).all():
        said = f"{same} of {int(whole.sum())} shared documents have the same verdict. No reference to score them."
        return result | {"agreement": _agreement(one[whole], two[whole]), "sentence": said}
    each = outcomes(session, pair.first, pair.second, reference)
    return result | {
        "excluded": pair.excluded,
        "agreement": _agreement(one[whole], two[whole]),
        **{key: _estimate(estimate) for key, estimate in pair.scores.overall.items()},
        "labels": {
            test.name: _estimate(test.f1)
            | {"mcnemar": _mcnemar(test.test), "p_adjusted": test.adjusted, "sentence": test.sentence}
            for test in pair.labels
        },
        "mcnemar": _mcnemar(pair.documents)
        | {"odds_ratio": pair.discordance.odds_ratio, "cohen_g": pair.discordance.cohen_g},
        "tests": {"paired_t": _t_json(pair.paired), "welch": _t_json(pair.welch), "hedges_g": pair.size},
        "changes": change_json(pair.flip_table.whole),
        "outcomes": each.counts
        | {
            "documents": {
                name: [id for id, kind in zip(each.documents, each.kinds, strict=True) if kind == name][:LISTED]
                for name in ("fixed", "broken", "mixed")
            }
        },
        "sentence": pair.sentence,
    }


def _agreement(one: Grid, two: Grid) -> float | None:
    """Share of cells on which both say the same."""
    return float((one == two).mean()) if one.size else None


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {"difference": estimate.value, "interval": ends(estimate.interval)}


def _mcnemar(test: McNemar) -> dict[str, Any]:
    return {
        "n": test.n,
        "only_first": test.only_first,
        "only_second": test.only_second,
        "exact": test.exact,
        "statistic": test.statistic,
        "p": test.p,
        "direction": test.direction,
    }


def _t_json(test: TTest | None) -> dict[str, Any] | None:
    if test is None:
        return None
    return {
        "n": [test.n_first, test.n_second],
        "difference": test.difference,
        "t": test.t,
        "df": test.df,
        "p": test.p,
        "interval": ends(test.interval),
        "direction": test.direction,
        "sentence": test.sentence(),
    }


def _column_json(column: Column) -> dict[str, Any]:
    return {
        "run_id": column.run.run_id,
        "protocol": column.run.settings.protocol,
        "n": column.scores.n,
        "excluded": column.scores.excluded,
        **{key: estimate.value for key, estimate in column.scores.overall.items()},
        **column.cost,
        "efficient": column.efficient,
    }


def of_pair(found: Comparison, second: str) -> Pair:
    """Return the pair of the first run and this run. Raises KeyError if the run is not compared."""
    for pair in found.pairs:
        if pair.second == second:
            return pair
    raise KeyError(second)
