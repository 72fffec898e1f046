"""Which documents a change is tried on: some that were wrong before, some right, some contested, some at random. The
same seed gives the same documents, so that versions meet the same rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias

from core.errors import UsageError
from core.services import cache
from core.services.session import ProjectSession
from core.store.lab import SPLIT

Stratum: TypeAlias = Literal["wrong", "right", "contested", "random"]
STRATA: tuple[Stratum, ...] = ("wrong", "right", "contested", "random")
SAMPLE_SETTING = "lab sample"
"""Begins the names of the settings that keep samples, so that a later run does not change who is in one."""
SIZES = (5, 10, 20, 40, 100, 200)


@dataclass(frozen=True, slots=True)
class Sample:
    """Documents with the stratum that each was drawn from. ``run_id`` is the run whose verdicts they were judged by,
    empty when there was none; ``held_out_sample`` is set for the whole of the held-out side."""

    strata: Mapping[str, Stratum]
    seed: int
    run_id: str = ""
    held_out: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """The documents in the order in which they are asked."""
        return tuple(self.strata)

    def to_json(self) -> dict[str, Any]:
        """Plain data, for what was tried on it."""
        return {"strata": dict(self.strata), "seed": self.seed, "run_id": self.run_id, "held_out": self.held_out}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Sample:
        """What ``to_json`` gave."""
        return cls(data["strata"], data["seed"], data["run_id"], data["held_out"])


def draw_stratified(
    known: Iterable[str], standing: Mapping[str, tuple[bool | None, bool]], size: int, seed: int
) -> dict[str, Stratum]:
    """At most ``size`` of the documents, a quarter from each stratum as far as it goes, the rest at random.

    ``standing`` tells of a document whether its verdict was right (None: unknown) and whether it was contested. The
    order within a stratum is that of a hash of seed and id. Pure.
    """
    order = sorted(known, key=lambda id: hashlib.md5(f"{seed}:{id}".encode(errors="replace")).digest())
    pools: dict[Stratum, list[str]] = {
        "wrong": [id for id in order if standing.get(id, (None, False))[0] is False],
        "right": [id for id in order if standing.get(id, (None, False))[0] is True],
        "contested": [id for id in order if standing.get(id, (None, False))[1]],
        "random": order,
    }
    chosen: dict[str, Stratum] = {}
    for stratum in STRATA:
        left = size - len(chosen)
        quota = left if stratum == "random" else min(left, max(1, size // len(STRATA)))
        free = (id for id in pools[stratum] if id not in chosen)
        chosen |= dict.fromkeys(islice(free, quota), stratum)
    return chosen


def project_sample(session: ProjectSession, size: int, seed: int = 0) -> Sample:
    """The project's sample of this size and seed: drawn the first time, the same ever after.

    From documents with gold or review when there are any, never from the held-out side. UsageError without documents.
    """
    name = f"{SAMPLE_SETTING} {size}/{seed}"
    kept = session.store.settings.get(name)
    if kept is not None:
        found = Sample.from_json(kept)
        if len(session.store.documents.load(found.ids, gold=False)) == len(found.ids):  # none was deleted since
            return found
    split = holdout_split(session)
    known: Sequence[str] = development_ids(session) or session.store.lab.unknown(split.seed, split.share, 20 * size)
    if not known:
        raise UsageError("There are no documents to try this on.", "Import some on the Data page.")
    run_id = _latest_run_with_verdicts(session)
    drawn = Sample(
        draw_stratified(known, session.store.lab.standing(run_id) if run_id else {}, size, seed), seed, run_id
    )
    session.store.settings.set(name, drawn.to_json())
    return drawn


def held_out_sample(session: ProjectSession) -> Sample:
    """All of the held-out side. UsageError when it is empty."""
    held = held_out_ids(session)
    if not held:
        raise UsageError(
            "No document of the held-out split has gold or review.", "Map a gold column, or review some more."
        )
    return Sample(dict.fromkeys(held, "random"), 0, held_out=True)


def single_document(session: ProjectSession, document_id: str) -> Sample:
    """A single document. UsageError for one that is held out or not there."""
    if holdout_split(session).holds(document_id):
        raise UsageError(f"{document_id} is held out.", "Choose another, so that the held-out score stays honest.")
    if session.store.documents.get(document_id) is None:
        raise UsageError(f"There is no document '{document_id}'.", "Choose another.")
    return Sample({document_id: "random"}, 0)


def _latest_run_with_verdicts(session: ProjectSession) -> str:
    """The latest run that ended verdicts, empty when none did."""
    return next((row.run_id for row in reversed(session.store.runs.all()) if row.verdicts), "")


SPLIT_SEED, HELD_OUT_SHARE = "moot", 0.3
MAX_VISIBLE = 2_000
"""Documents without truth that can be chosen to look at."""


@dataclass(frozen=True, slots=True)
class HoldoutSplit:
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


def holdout_split(session: ProjectSession) -> HoldoutSplit:
    """The split of this project; drawn now when it was not yet."""
    kept = session.store.settings.get(SPLIT)
    if kept is None:
        kept = {"seed": SPLIT_SEED, "share": HELD_OUT_SHARE}
        session.store.settings.set(SPLIT, kept)
    seed, share = str(kept["seed"]), float(kept["share"])
    return HoldoutSplit(seed, share, *_split_sizes(session, seed, share), session.store.lab.looks())


def held_out_ids(session: ProjectSession) -> list[str]:
    """The documents with truth that are held out."""
    now = holdout_split(session)
    return session.store.lab.known(now.seed, now.share, held_out=True)


def development_ids(session: ProjectSession) -> list[str]:
    """The documents with truth that one may tune on."""
    now = holdout_split(session)
    return session.store.lab.known(now.seed, now.share, held_out=False)


def count_visible(session: ProjectSession) -> int:
    """How many documents may be looked at: those to tune on, or without any truth some of all."""
    now = holdout_split(session)
    return now.development or len(session.store.lab.unknown(now.seed, now.share, MAX_VISIBLE))


def visible_document(session: ProjectSession, number: int) -> str:
    """The id of one of the documents that may be looked at, counted from 1. IndexError past the last."""
    now = holdout_split(session)
    if now.development:
        return session.store.lab.known(now.seed, now.share, held_out=False, offset=number - 1, most=1)[0]
    return session.store.lab.unknown(now.seed, now.share, MAX_VISIBLE)[number - 1]


def _split_sizes(session: ProjectSession, seed: str, share: float) -> tuple[int, int]:
    """The sizes of both sides, counted anew when documents or gold came or somebody did something."""
    known = cache.known(session)
    return cache.kept(session, lambda: session.store.lab.sizes(seed, share), "held-out sizes", seed, share, basis=known)
