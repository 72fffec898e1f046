"""Two sides of the documents with truth: one to tune on, one that is only scored on request, each look counted."""

from __future__ import annotations

from dataclasses import dataclass

from core.store.lab import SPLIT
from core.studio.desk import Desk

SEED, SHARE = "moot", 0.3


@dataclass(frozen=True, slots=True)
class Split:
    """How the documents with gold or review are divided. A document's side depends on ``seed``, ``share`` and its id
    alone, so that documents that get a truth later fall on either side without anybody choosing."""

    seed: str
    share: float
    development: tuple[str, ...]
    held_out: tuple[str, ...]
    looks: int
    """How often the held-out side was scored."""


def split(desk: Desk) -> Split:
    """The split of this project; drawn now when it was not yet."""
    kept = desk.store.settings.get(SPLIT)
    if kept is None:
        kept = {"seed": SEED, "share": SHARE}
        desk.store.settings.set(SPLIT, kept)
    seed, share = str(kept["seed"]), float(kept["share"])
    known = {side: tuple(desk.store.lab.known(seed, share, held_out=side)) for side in (False, True)}
    return Split(seed, share, known[False], known[True], desk.store.lab.looks())
