"""The mean of a panel: within groups, then across groups. Pure.

After phase 3 of Chen et al., *Multi-Agent-as-Judge*. Each group weighs the same, however many sit in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.codebook import CHOICE_ITEM, Codebook
from core.documents import Value

DIGITS = 4
"""Digits of a mean that are kept, so that it is the same on every machine."""

Finals = Mapping[str, Mapping[str, Mapping[str, Value]]]
"""Group -> persona -> item -> value; a persona without a value for an item leaves it out."""


@dataclass(frozen=True, slots=True)
class Averaged:
    """The panel's decision. ``lines`` tell each group's mean and the whole's, for the synthesis."""

    values: Mapping[str, Value | None]
    reasons: Mapping[str, str]
    notes: tuple[str, ...]
    lines: tuple[str, ...]


def average(codebook: Codebook, finals: Finals) -> Averaged:
    """The decision on each item. One that no persona of any group could give a value for is unresolved, and so is a
    tie; a group in which nobody could is left out, and both are noted with whoever gave none."""
    values: dict[str, Value | None] = {}
    reasons: dict[str, str] = {}
    lines: list[str] = []
    for item in codebook.items:
        by_group = {
            group: [said[item] for said in personas.values() if item in said] for group, personas in finals.items()
        }
        given = {group: said for group, said in by_group.items() if said}
        if not given:
            values[item], reasons[item] = None, "no persona gave a value that can be read"
            continue
        values[item], words = _decided(codebook, given)
        if values[item] is None:
            reasons[item] = f"the panel is divided: {words}"
        lines.append(f"{_title(codebook, item)}: {words}")
    return Averaged(values, reasons, (*lines, *_silent(codebook, finals)), tuple(lines))


def distance(codebook: Codebook, own: Mapping[str, Value], others: Sequence[Mapping[str, Value]]) -> float:
    """How far one stands from the others: for ratings the most points that a dimension lies from their mean, else the
    largest share of them that say otherwise of an item. Whoever has no value for an item is as far as can be."""
    far = [0.0]
    for item in codebook.items:
        said = [other[item] for other in others if item in other]
        if item not in own:
            far.append(float("inf"))
        elif said and codebook.kind == "rating":
            far.append(abs(_number(own[item]) - sum(map(_number, said)) / len(said)))
        elif said:
            far.append(sum(value != own[item] for value in said) / len(said))
    return max(far)


def apart(codebook: Codebook) -> float:
    """From which distance on somebody is in disagreement: a point of the scale, or half of the others."""
    return 1.0 if codebook.kind == "rating" else 0.5


def _decided(codebook: Codebook, given: Mapping[str, Sequence[Value]]) -> tuple[Value | None, str]:
    match codebook.kind:
        case "rating":
            means = {group: _mean([_number(value) for value in said]) for group, said in given.items()}
            mean = round(_mean(list(means.values())), DIGITS)
            told = ", ".join(f"{group} {mean:.2f}" for group, mean in means.items())
            return int(mean) if mean == int(mean) else mean, f"{told}; the panel {mean:.2f}"
        case "multilabel":
            share = _share(given, True)
            told = ", ".join(f"{group} {_share({group: said}, True):.0%}" for group, said in given.items())
            told = f"{told}; present to {share:.0%} of the panel"
            return (None if abs(share - 0.5) < 1e-9 else share > 0.5), told
        case "choice":
            shares = {label.id: _share(given, label.id) for label in codebook.labels}
            named = sorted((label for label in codebook.labels if shares[label.id]), key=lambda one: -shares[one.id])
            told = ", ".join(f"{label.name} {shares[label.id]:.0%}" for label in named)
            tie = len(named) > 1 and abs(shares[named[0].id] - shares[named[1].id]) < 1e-9
            return (None if tie or not named else named[0].id), told


def _share(given: Mapping[str, Sequence[Value]], value: Value) -> float:
    return _mean([sum(said == value for said in each) / len(each) for each in given.values()])


def _silent(codebook: Codebook, finals: Finals) -> list[str]:
    """Who gave no value for what."""
    notes = []
    for group, personas in finals.items():
        for persona, said in personas.items():
            missing = [_title(codebook, item) for item in codebook.items if item not in said]
            if missing:
                notes.append(f"{persona} ({group}) gave no value for {', '.join(missing)} and is left out there")
    return notes


def _title(codebook: Codebook, item: str) -> str:
    return "Label" if item == CHOICE_ITEM else codebook.label(item).name


def _number(value: Value) -> float:
    return float(value) if not isinstance(value, str) else 0.0


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)
