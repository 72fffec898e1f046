"""The held-out split of the labelled documents, on which definitions and prompts are never tuned.

It is scored only on request, and each look is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.services.project_session import ProjectSession
from core.services.result_cache import cached_by_reviews
from core.store.lab import SPLIT

SPLIT_SEED, HELD_OUT_SHARE = "moot", 0.3


@dataclass(frozen=True, slots=True)
class HoldoutSplit:
    """Sizes of the split of labelled documents.

    The side of a document depends only on ``seed``, ``share`` and its id. So documents that are labelled later are
    split without anybody's choice.
    """

    seed: str
    share: float
    development: int
    held_out: int
    looks: int
    """Number of times that the held-out split was scored."""


def holdout_split(session: ProjectSession) -> HoldoutSplit:
    """Return the project's split, creating it on first use."""
    stored = session.store.settings.get(SPLIT)
    if stored is None:
        stored = {"seed": SPLIT_SEED, "share": HELD_OUT_SHARE}
        session.store.settings.set(SPLIT, stored)
    seed, share = str(stored["seed"]), float(stored["share"])
    return HoldoutSplit(seed, share, *_split_sizes(session, seed, share), session.store.lab.looks())


def held_out_among(session: ProjectSession, document_ids: Sequence[str]) -> set[str]:
    """Return the documents of these, labelled or not, that are on the held-out side."""
    now = holdout_split(session)
    return session.store.lab.held_out_among(now.seed, now.share, document_ids)


def labelled_ids(session: ProjectSession, *, held_out: bool) -> list[str]:
    """Return the labelled documents of the held-out or of the development split."""
    now = holdout_split(session)
    return session.store.lab.known(now.seed, now.share, held_out=held_out)


@cached_by_reviews
def _split_sizes(session: ProjectSession, seed: str, share: float) -> tuple[int, int]:
    """Return the sizes of both sides."""
    return session.store.lab.sizes(seed, share)
