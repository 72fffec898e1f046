"""Two sides of the documents with truth: one to tune on, one that is only scored on request, each look counted."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from core.services import cache
from core.services.session import ProjectSession
from core.store.lab import SPLIT

SEED, SHARE = "moot", 0.3
MOST_SEEN = 2_000
"""Documents without truth that can be chosen to look at."""


@dataclass(frozen=True, slots=True)
class Split:
    """How the documents with gold or review are divided, in numbers. A document's side depends on ``seed``, ``share``
    and its id alone, so that documents that get a truth later fall on either side without anybody choosing."""

    seed: str
    share: float
    development: int
    held_out: int
    looks: int
    """How often the held-out side was scored."""

    def holds(self, document_id: str) -> bool:
        """Whether a document is on the held-out side, be its truth known or not."""
        mark = hashlib.md5(f"{self.seed}{document_id}".encode(errors="replace")).hexdigest()
        return int(mark[:8], 16) < round(self.share * 0x100000000)


def split(session: ProjectSession) -> Split:
    """The split of this project; drawn now when it was not yet."""
    kept = session.store.settings.get(SPLIT)
    if kept is None:
        kept = {"seed": SEED, "share": SHARE}
        session.store.settings.set(SPLIT, kept)
    seed, share = str(kept["seed"]), float(kept["share"])
    return Split(seed, share, *_counted(session, seed, share), session.store.lab.looks())


def held_out(session: ProjectSession) -> list[str]:
    """The documents with truth that are held out."""
    now = split(session)
    return session.store.lab.known(now.seed, now.share, held_out=True)


def development(session: ProjectSession) -> list[str]:
    """The documents with truth that one may tune on."""
    now = split(session)
    return session.store.lab.known(now.seed, now.share, held_out=False)


def seen(session: ProjectSession) -> int:
    """How many documents may be looked at: those to tune on, or without any truth some of all."""
    now = split(session)
    return now.development or len(session.store.lab.unknown(now.seed, now.share, MOST_SEEN))


def nth(session: ProjectSession, number: int) -> str:
    """The id of one of the documents that may be looked at, counted from 1. IndexError past the last."""
    now = split(session)
    if now.development:
        return session.store.lab.known(now.seed, now.share, held_out=False, offset=number - 1, most=1)[0]
    return session.store.lab.unknown(now.seed, now.share, MOST_SEEN)[number - 1]


def _counted(session: ProjectSession, seed: str, share: float) -> tuple[int, int]:
    """The sizes of both sides, counted anew when documents or gold came or somebody did something."""
    known = cache.known(session)
    return cache.kept(session, lambda: session.store.lab.sizes(seed, share), "held-out sizes", seed, share, basis=known)
