"""The review order: the most urgent documents first, with random audits in between. Pure.

The audits make the reviewed sample informative about all other documents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

How: TypeAlias = Literal["audit", "queue", "chosen"]
"""How a document was selected: drawn at random, as the most urgent one, or picked by hand."""


@dataclass(frozen=True, slots=True)
class SamplingRecord:
    """A document and how it was selected as the next one.

    ``probability`` is the chance that this document and no other is next, given the ``remaining`` documents (itself
    included); None when picked by hand. It weights the reviewed sample: with share s of audits it is s / remaining,
    plus 1 - s for the most urgent document.
    """

    document_id: str
    how: How
    probability: float | None
    remaining: int


def interleave(
    ranked: Sequence[str], shuffled: Sequence[str], total: int, *, share: float, seed: str, done: int
) -> Iterator[SamplingRecord]:
    """Yield the documents in review order, each once.

    At each step a coin with probability ``share`` (0 to 1) decides between the next of ``shuffled`` (a random order)
    and the next of ``ranked`` (the most urgent first). Both are heads of orders of the same ``total`` documents. Coins
    are fixed by ``seed`` and the number of the step, where ``done`` steps came before, so that reading the queue again
    changes no draw. Ends when either order is used up.

    Each draw's probability is known, and none is 0 while share is above 0. Unbiased estimation from an actively chosen
    sample needs both (Farquhar, Gal and Rainforth 2021, section 3; Kossen et al. 2021, section 3).
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
    """Return a number from 0 to below 1 for this step."""
    digest = hashlib.blake2b(f"{seed}/{step}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64
