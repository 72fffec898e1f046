"""Documents for testing changes: the held-out split, and stratified samples of the development split.

Definitions and prompts are never tuned on the held-out split. It is scored only on request, and each look is counted.

Samples hold some documents that were wrong before, some right, some with disagreement, and some at random. The same
seed gives the same documents, so that versions are compared on equal terms.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from core.documents import Document
from core.errors import UsageError
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_by_reviews
from core.store.lab import SPLIT, Split

SPLIT_SEED, HELD_OUT_SHARE = "moot", 0.3
Stratum: TypeAlias = Literal["wrong", "right", "disagreement", "random"]
T = TypeVar("T")
STRATA: tuple[Stratum, ...] = ("wrong", "right", "disagreement", "random")
SAMPLE_SETTING = "lab sample"
"""Prefix of the project settings that store samples, so that a later run does not change them."""
SIZES = (5, 10, 20, 40, 100, 200)


@dataclass(frozen=True, slots=True)
class HoldoutSplit:
    """Sizes of the split of labelled documents."""

    development: int
    held_out: int
    looks: int
    """Number of times that the held-out split was scored."""


def fixed_sample(values: Sequence[T], limit: int) -> list[T]:
    """Return at most ``limit`` values in their order: all of them, or a random sample with a fixed seed.

    A larger sample of the same values contains a smaller one, so that a larger pilot reuses the replies of a smaller.
    """
    if len(values) <= limit:
        return list(values)
    return [values[index] for index in sorted(np.random.default_rng(3).permutation(len(values))[:limit])]


def _split(session: ProjectSession) -> Split:
    """Return the project's split, creating it on first use."""
    stored = session.store.settings.get(SPLIT)
    if stored is None:
        stored = {"seed": SPLIT_SEED, "share": HELD_OUT_SHARE}
        session.store.settings.set(SPLIT, stored)
    return Split(**stored)


def holdout_split(session: ProjectSession) -> HoldoutSplit:
    """Return the sizes of the project's split."""
    return HoldoutSplit(*_split_sizes(session, _split(session)), session.store.lab.looks())


def held_out_among(session: ProjectSession, document_ids: Sequence[str]) -> set[str]:
    """Return the documents of these, labelled or not, that are on the held-out side."""
    return session.store.lab.held_out_among(_split(session), document_ids)


def labelled_ids(session: ProjectSession, *, held_out: bool) -> list[str]:
    """Return the labelled documents of the held-out or of the development split."""
    return session.store.lab.labelled(_split(session), held_out=held_out)


@cached_by_reviews
def _split_sizes(session: ProjectSession, split: Split) -> tuple[int, int]:
    """Return the sizes of both sides."""
    return session.store.lab.sizes(split)


@dataclass(frozen=True, slots=True)
class DocumentSample:
    """Documents with the stratum that each was drawn from.

    ``run_id`` is the run whose verdicts defined the strata, empty if there was none. ``held_out`` marks the whole
    held-out split.
    """

    strata: Mapping[str, Stratum]
    seed: int
    run_id: str = ""
    held_out: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """Documents in the order in which they are debated."""
        return tuple(self.strata)


def shuffled(ids: Iterable[str], seed: int) -> list[str]:
    """Return ids in the order of a hash of seed and id."""
    return sorted(ids, key=lambda id: hashlib.md5(f"{seed}:{id}".encode(errors="replace")).digest())


def draw_stratified(
    document_ids: Iterable[str], outcomes: Mapping[str, tuple[bool | None, bool]], size: int, seed: int
) -> dict[str, Stratum]:
    """Return at most ``size`` documents, a quarter per stratum where available, the rest at random.

    ``outcomes`` gives for a document whether its verdict was right (None: unknown) and whether there was disagreement.
    The order within a stratum is that of a hash of seed and id. Pure.
    """
    order = shuffled(document_ids, seed)
    pools: dict[Stratum, list[str]] = {
        "wrong": [id for id in order if outcomes.get(id, (None, False))[0] is False],
        "right": [id for id in order if outcomes.get(id, (None, False))[0] is True],
        "disagreement": [id for id in order if outcomes.get(id, (None, False))[1]],
        "random": order,
    }
    drawn: dict[str, Stratum] = {}
    for stratum in STRATA:
        remaining = size - len(drawn)
        quota = remaining if stratum == "random" else min(remaining, max(1, size // len(STRATA)))
        free = (id for id in pools[stratum] if id not in drawn)
        drawn |= dict.fromkeys(islice(free, quota), stratum)
    return drawn


def project_sample(session: ProjectSession, size: int, seed: int = 0) -> DocumentSample:
    """Return the project's sample of this size and seed, drawing and storing it on first use.

    It is drawn again once one of its documents is deleted, and if only other documents are labelled by now. A sample
    that has too few (labelled) documents is drawn again once there are enough, or twice as many. It consists of
    labelled documents if there are any, never of held-out ones, stratified by the latest run that is not a canary run.
    Raises UsageError without documents.
    """
    name = f"{SAMPLE_SETTING} {size}/{seed}"
    labelled = labelled_ids(session, held_out=False)
    stored = session.store.settings.get(name)
    candidates = labelled or session.store.lab.development(_split(session), 20 * size)
    if stored is not None:
        sample = DocumentSample(**stored)
        was_deleted = len(session.store.documents.load(sample.ids, gold=False)) < len(sample.ids)
        usable = len(set(labelled).intersection(sample.ids)) if labelled else len(sample.ids)
        possible = min(size, len(candidates))
        would_grow = usable < possible and possible >= min(size, max(len(sample.ids), 2 * usable))
        if usable and not was_deleted and not would_grow:
            return sample
    if not candidates:
        raise UsageError("The project has no documents to test on.", "Import some on the Data page.")
    run = next((run for run in reversed(session.all_runs()) if run.verdicts and not run.is_canary), None)
    outcomes = session.store.lab.outcomes(run.run_id, run.settings.codebook) if run else {}
    drawn = DocumentSample(draw_stratified(candidates, outcomes, size, seed), seed, run.run_id if run else "")
    session.store.settings.set(name, asdict(drawn))
    return drawn


def held_out_sample(session: ProjectSession) -> DocumentSample:
    """Return the whole held-out split as a sample. Raises UsageError if it is empty."""
    held = labelled_ids(session, held_out=True)
    if not held:
        raise UsageError("The held-out split has no labelled document.", "Map a gold column or review more documents.")
    return DocumentSample(dict.fromkeys(held, "random"), 0, held_out=True)


def single_document(session: ProjectSession, document_id: str) -> DocumentSample:
    """Return a sample of one document. Raises UsageError for a held-out or unknown document."""
    if held_out_among(session, [document_id]):
        raise UsageError(
            f"{document_id} is held out.", "Choose another document; held-out ones are for the final score only."
        )
    if session.store.documents.get(document_id) is None:
        raise UsageError(f"Document '{document_id}' does not exist.", "Choose another one.")
    return DocumentSample({document_id: "random"}, 0)


MAX_VISIBLE = 2_000
"""Number of unlabelled documents that can be selected."""


def count_visible(session: ProjectSession) -> int:
    """Return the number of documents that may be looked at: the development split, else unlabelled documents."""
    return holdout_split(session).development or len(_visible_ids(session))


def visible_document(session: ProjectSession, number: int) -> Document:
    """Return one of the visible documents, counted from 1. Raises IndexError past the last."""
    return session.store.documents.load(_visible_ids(session, number - 1, 1)[:1], gold=False)[0]


def visible_number(session: ProjectSession, document_id: str) -> int | None:
    """Return the number of a visible document, counted from 1; None if it is not visible."""
    ids = _visible_ids(session)
    return ids.index(document_id) + 1 if document_id in ids else None


def _visible_ids(session: ProjectSession, offset: int = 0, limit: int | None = None) -> list[str]:
    """Return the visible documents after the first ``offset``; of the development split at most ``limit``."""
    lab, split = session.store.lab, _split(session)
    if holdout_split(session).development:
        return lab.labelled(split, held_out=False, offset=offset, max_documents=limit)
    return lab.development(split, MAX_VISIBLE)[offset:]
