"""Documents whose verdicts differ between two runs: corrected, regressed, or both in different labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from core.annotations import Reference
from core.services.evaluation import run_data
from core.services.evaluation.compare import load_shared
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit
from core.stats.arrays import Mask

Outcome: TypeAlias = Literal["regressed", "mixed", "corrected", "right", "wrong"]
OUTCOMES: Mapping[Outcome, str] = {
    "regressed": "regressed: a label became wrong and none was corrected",
    "mixed": "mixed: a label was corrected and another became wrong",
    "corrected": "corrected: a label was corrected and none became wrong",
    "wrong": "unchanged, and wrong on a label",
    "right": "unchanged, and right",
}
"""In display order, the most interesting first."""


@dataclass(frozen=True, slots=True)
class ChangedDocument:
    """A document with its outcome. ``corrected`` and ``regressed`` are names of labels (of a choice ``Label``)."""

    document_id: str
    text: str
    outcome: Outcome
    corrected: tuple[str, ...]
    regressed: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """All shared documents with a reference and a complete verdict in both runs. Masks are ``[document, item]``."""

    documents: tuple[str, ...]
    kinds: tuple[Outcome, ...]
    corrected: Mask
    regressed: Mask
    names: tuple[str, ...]

    @property
    def counts(self) -> dict[Outcome, int]:
        """Documents by outcome."""
        return {name: self.kinds.count(name) for name in OUTCOMES}


@cached_until_commit
def outcomes(session: ProjectSession, first: str, second: str, reference: Reference = "gold") -> Outcomes:
    """Return the changes from ``first`` to ``second``. Raises UsageError like ``comparison``."""
    runs = [session.run(id) for id in (first, second)]
    codebook = runs[0].settings.codebook
    measured = codebook.kind == "rating"
    documents, gold, (first_verdicts, second_verdicts) = load_shared(session, runs, reference)
    is_complete = (
        ~np.isnan(gold).all(axis=1) & ~np.isnan(first_verdicts).any(axis=1) & ~np.isnan(second_verdicts).any(axis=1)
    )
    known = ~np.isnan(gold[is_complete])
    target, *coded = run_data.coded(
        gold[is_complete], first_verdicts[is_complete], second_verdicts[is_complete], measured=measured
    )
    was_right, is_right = (np.equal(codes, target) for codes in coded)
    corrected: Mask = known & is_right & ~was_right
    regressed: Mask = known & was_right & ~is_right
    is_corrected, is_regressed, all_right = (
        corrected.any(axis=1),
        regressed.any(axis=1),
        (is_right | ~known).all(axis=1),
    )
    kinds = np.select(
        [is_corrected & is_regressed, is_corrected, is_regressed, all_right],
        ["mixed", "corrected", "regressed", "right"],
        "wrong",
    )
    return Outcomes(
        documents=tuple(documents[row] for row in np.flatnonzero(is_complete)),
        kinds=tuple(kinds.tolist()),
        corrected=corrected,
        regressed=regressed,
        names=codebook.names if codebook.kind != "choice" else ("Label",),
    )


def outcome_page(
    session: ProjectSession,
    outcomes: Outcomes,
    kinds: Sequence[Outcome],
    *,
    label: str = "",
    limit: int = 50,
) -> tuple[tuple[ChangedDocument, ...], int]:
    """Return the first ``limit`` documents with one of these outcomes, and their total number.

    ``label`` limits them to documents with a correction or regression in this label.
    """
    column = outcomes.names.index(label) if label in outcomes.names else None
    rows = [
        index
        for index, kind in enumerate(outcomes.kinds)
        if kind in kinds and (column is None or outcomes.corrected[index, column] or outcomes.regressed[index, column])
    ]
    rows.sort(key=lambda index: list(OUTCOMES).index(outcomes.kinds[index]))
    shown = rows[:limit]
    texts = session.store.documents.texts([outcomes.documents[index] for index in shown])

    def named(mask: Mask, index: int) -> tuple[str, ...]:
        return tuple(name for place, name in enumerate(outcomes.names) if mask[index, place])

    return tuple(
        ChangedDocument(
            id := outcomes.documents[index],
            texts.get(id, ""),
            outcomes.kinds[index],
            named(outcomes.corrected, index),
            named(outcomes.regressed, index),
        )
        for index in shown
    ), len(rows)
