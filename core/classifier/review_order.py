"""The order in which documents come before a person: the most urgent first, and among them some drawn at random, so
that what was reviewed says something about all the rest. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

How: TypeAlias = Literal["audit", "queue", "chosen"]
"""How a document came before a person: drawn at random, as the most urgent one, picked by hand."""


@dataclass(frozen=True, slots=True)
class SamplingRecord:
    """A document and how it comes to be the next one.

    ``probability`` is the chance with which this document and no other would be the next, given those that were left,
    of which there were ``remaining`` (itself included); None when a person picked it by hand. It is what weights the
    reviewed sample: with share s of audits it is s / remaining, and 1 - s more for the most urgent one.
    """

    document_id: str
    how: How
    probability: float | None
    remaining: int


def interleave(
    ranked: Sequence[str], shuffled: Sequence[str], total: int, *, share: float, seed: str, done: int
) -> Iterator[SamplingRecord]:
    """The documents in the order in which they come, each once.

    Step by step a coin that falls on its side with probability ``share`` (0 to 1) decides between the next of
    ``shuffled`` (a random order) and the next of ``ranked`` (the most urgent first), both of the same ``total``
    documents, of which only the first may be given. Coins are fixed by ``seed`` and the number of the step, ``done``
    being the number of steps before: looking again at the queue changes no draw. Ends when either order is used up.

    Each draw's probability is known and none is 0 while share is above 0, which is what unbiased estimation from an
    actively chosen sample needs (Farquhar, Gal and Rainforth 2021, section 3; Kossen et al. 2021, section 3).
    """
    taken: set[str] = set()
    heads = [0, 0]
    orders = (ranked, shuffled)
    while len(taken) < total:
        for side in (0, 1):
            while heads[side] < len(orders[side]) and orders[side][heads[side]] in taken:
                heads[side] += 1
            if heads[side] == len(orders[side]):
                return
        remaining = total - len(taken)
        urgent = ranked[heads[0]]
        audit = _coin(seed, done + len(taken)) < share
        chosen = shuffled[heads[1]] if audit else urgent
        probability = share / remaining + (1 - share) * (chosen == urgent)
        yield SamplingRecord(chosen, "audit" if audit else "queue", probability, remaining)
        taken.add(chosen)


def _coin(seed: str, step: int) -> float:
    """A number from 0 to below 1 for this step."""
    digest = hashlib.blake2b(f"{seed}/{step}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64
