"""The output of ``moot compare --json``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.documents import Reference
from core.services.evaluation.compare import ComparedRun, Comparison, comparison, load_shared, outcomes
from core.services.evaluation.scores import evaluate, json_data, to_json
from core.services.project_session import ProjectSession
from core.stats.intervals import Estimate, ends

MAX_LISTED = 1000
"""Maximum number of documents of an outcome that the JSON names."""


def comparison_report(
    session: ProjectSession, run_ids: Sequence[str], reference: Reference = "gold", margin: float | None = None
) -> dict[str, Any]:
    """Return the output of ``moot compare --json``. Differences are second minus first, shares are from 0 to 1.

    For two runs: ``runs documents shared same reports n macro_f1 micro_f1 accuracy labels mcnemar sentence``, and also
    ``tests``, ``outcomes``, ``changes`` and ``columns``. For more runs, ``pairs`` contains these for each run against
    the first, and ``cochran`` is the test for any difference. Without a reference label on a shared document, n is 0
    and only results from the verdicts are included. Raises UsageError like ``comparison``.
    """
    compared = comparison(session, run_ids, reference, margin)
    pairs = [_pair_json(session, compared, index, reference) for index in range(len(compared.pairs))]
    common = {
        "runs": list(run_ids),
        "reference": reference,
        "columns": [_column_json(column) for column in compared.columns],
        "reports": [to_json(evaluate(session, session.run(id), reference)) for id in run_ids],
    }
    if len(pairs) == 1:
        return common | pairs[0]
    cochran = compared.cochran
    return common | {
        "pairs": [
            {"runs": [pair.first, pair.second], **pair_json, "p_adjusted": p}
            for pair, pair_json, p in zip(compared.pairs, pairs, compared.adjusted, strict=True)
        ],
        "cochran": json_data(cochran) | {"sentence": cochran.sentence()} if cochran is not None else None,
        "sentence": " ".join(pair_json["sentence"] for pair_json in pairs),
    }


def _pair_json(session: ProjectSession, comparison: Comparison, index: int, reference: Reference) -> dict[str, Any]:
    pair = comparison.pairs[index]
    runs = [comparison.columns[0].run, comparison.columns[index + 1].run]
    documents, gold, (first_verdicts, second_verdicts) = load_shared(session, runs, reference)
    complete = ~np.isnan(first_verdicts).any(axis=1) & ~np.isnan(second_verdicts).any(axis=1)
    same = int((first_verdicts[complete] == second_verdicts[complete]).all(axis=1).sum())
    result: dict[str, Any] = {
        "documents": len(documents),
        "shared": int(complete.sum()),
        "same": same,
        "n": pair.scores.n,
    }
    agreement = float((first_verdicts == second_verdicts)[complete].mean()) if complete.any() else None
    if np.isnan(gold).all():
        summary = f"{same} of {int(complete.sum())} shared documents have the same verdict. No reference to score them."
        return result | {"agreement": agreement, "sentence": summary}
    pair_outcomes = outcomes(comparison, pair)
    return result | {
        "excluded": pair.scores.excluded,
        "agreement": agreement,
        **{key: _difference_json(estimate) for key, estimate in pair.scores.overall.items()},
        "labels": {
            test.name: _difference_json(test.difference)
            | {"mcnemar": json_data(test.test), "p_adjusted": test.adjusted, "positives": test.positives}
            | {"verdict": test.verdict, "sentence": test.sentence}
            for test in pair.labels
        },
        "main": json_data(pair.main),
        "equivalence": json_data(pair.equivalence),
        "mcnemar": json_data(pair.documents)
        | json_data(pair.discordance)
        | {
            "odds_ratio": pair.discordance.odds_ratio.value,
            "odds_ratio_interval": ends(pair.discordance.odds_ratio.interval),
        },
        "tests": {"paired_t": json_data(pair.paired), "welch": json_data(pair.welch), "hedges_g": pair.effect_size},
        "changes": json_data(pair.flip_table.whole),
        "outcomes": pair_outcomes.counts
        | {
            "documents": {
                name: [
                    id for id, kind in zip(pair_outcomes.documents, pair_outcomes.kinds, strict=True) if kind == name
                ][:MAX_LISTED]
                for name in ("corrected", "regressed", "mixed")
            }
        },
        "sentence": pair.sentence,
    }


def _difference_json(estimate: Estimate) -> dict[str, Any]:
    return {"difference": estimate.value, "interval": json_data(estimate.interval)}


def _column_json(column: ComparedRun) -> dict[str, Any]:
    return {
        "run_id": column.run.run_id,
        "protocol": column.run.settings.protocol,
        "n": column.scores.n,
        "excluded": column.scores.excluded,
        **{key: estimate.value for key, estimate in column.scores.overall.items()},
        "intervals": {key: ends(estimate.interval) for key, estimate in column.scores.overall.items()},
        **column.cost,
        "efficient": column.efficient,
    }
