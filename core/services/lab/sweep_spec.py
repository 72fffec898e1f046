"""A sweep as values: what is crossed with what, the cells of the grid, and how they are halved. Pure.

Successive halving (Jamieson and Talwalkar 2016, Non-stochastic Best Arm Identification and Hyperparameter Optimization,
AISTATS, algorithm 1): all cells get a few documents, the better half gets twice as many, and so on until the last two
have all. Deviation: the documents of a rung hold those of the rung before, so that what was asked is not asked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, log2
from typing import Any

from core.errors import UsageError
from core.runs import RoleModel

MOST_CELLS = 64
LEAST_DOCUMENTS = 4


@dataclass(frozen=True, slots=True)
class Spec:
    """What is compared: for each slot the names of its versions, who sits everywhere, the values of each parameter.

    ``size`` documents are drawn with ``seed``; ``budget_usd`` bounds the whole, None leaves it open.
    """

    protocol: str
    versions: Mapping[str, Sequence[str]]
    role_models: Sequence[RoleModel]
    params: Mapping[str, Sequence[Any]]
    size: int = 20
    seed: int = 0
    budget_usd: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "protocol": self.protocol,
            "versions": {slot: list(names) for slot, names in self.versions.items()},
            "role_models": [role_model.model_dump(mode="json") for role_model in self.role_models],
            "params": {name: list(values) for name, values in self.params.items()},
            "size": self.size,
            "seed": self.seed,
            "budget_usd": self.budget_usd,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Spec:
        """What ``to_json`` gave."""
        return cls(
            **{**data, "role_models": [RoleModel.model_validate(role_model) for role_model in data["role_models"]]}
        )


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination: ``versions`` by slot, a seat, ``params``."""

    number: int
    versions: Mapping[str, str]
    role_model: RoleModel
    params: Mapping[str, Any]


def cells(spec: Spec) -> tuple[Cell, ...]:
    """Every combination, the first of each list being the first cell. UsageError for fewer than two or too many."""
    slots, names = list(spec.versions), list(spec.params)
    crossed = product(*spec.versions.values(), spec.role_models, *spec.params.values())
    found = []
    for number, values in enumerate(crossed):
        if number == MOST_CELLS:
            raise UsageError(f"This grid has more than {MOST_CELLS} cells.", "Choose fewer values.")
        versions, role_model, params = values[: len(slots)], values[len(slots)], values[len(slots) + 1 :]
        found.append(
            Cell(number, dict(zip(slots, versions, strict=True)), role_model, dict(zip(names, params, strict=True)))
        )
    if len(found) < 2:
        raise UsageError("A sweep compares at least two cells.", "Choose a second version, model or value.")
    return tuple(found)


def rungs(count: int, size: int) -> tuple[int, ...]:
    """How many documents each rung gives a cell, for ``count`` cells and ``size`` documents in the last rung."""
    rounds = max(1, ceil(log2(count)))
    sizes = [max(min(size, LEAST_DOCUMENTS), size // 2 ** (rounds - 1 - number)) for number in range(rounds)]
    return tuple(sizes)


def survivors(scores: Mapping[int, float | None]) -> tuple[int, ...]:
    """The better half of the cells, at least one; cells without a score go first, of equal ones the later."""
    order = sorted(scores, key=lambda number: (-1.0 if (value := scores[number]) is None else value, -number))
    return tuple(sorted(order[len(order) // 2 :]))


def asks(count: int, size: int) -> int:
    """Documents that are debated in all, those of earlier rungs counted once."""
    total, before, alive = 0, 0, count
    for documents in rungs(count, size):
        total += alive * (documents - before)
        before, alive = documents, max(1, ceil(alive / 2))
    return total
