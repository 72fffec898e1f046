"""Precedents as a prompt shows them: labelled documents, delimited, with what is right for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from core import prompts
from core.annotations import Precedent
from core.codebook import CHOICE_ITEM, Codebook
from core.debate.context import DebateContext
from core.documents import Value


def stated(codebook: Codebook, values: Mapping[str, Value]) -> str:
    """What is right for a document, in the words of a decision: names of labels, one name, or a number a dimension."""
    match codebook.kind:
        case "multilabel":
            return ", ".join(label.name for label in codebook.labels if values.get(label.id) is True) or "none"
        case "choice":
            chosen = values.get(CHOICE_ITEM)
            return next((label.name for label in codebook.labels if label.id == chosen), "none")
        case "rating":
            return ", ".join(f"{label.name}: {values[label.id]:g}" for label in codebook.labels if label.id in values)


def examples(case: DebateContext, shots: int) -> tuple[Precedent, ...]:
    """Up to ``shots`` precedents for each label (of a rating: for both ends of each dimension's scale), each once, in
    the order of the codebook, the nearest first. Empty where there are none."""
    found: dict[str, Precedent] = {}
    for item, value in _shown_values(case):
        for precedent in case.nearest(item, value, shots):
            found.setdefault(precedent.document_id, precedent)
    return tuple(found.values())


def rows(codebook: Codebook, precedents: Iterable[Precedent]) -> list[dict[str, Any]]:
    """What a template shows of precedents: ``label`` and ``text`` of each."""
    return [
        {"label": stated(codebook, one.values), "text": prompts.delimited(one.text, "precedent")} for one in precedents
    ]


def _shown_values(case: DebateContext) -> list[tuple[str, Value]]:
    codebook = case.codebook
    match codebook.kind:
        case "multilabel":
            return [(label.id, True) for label in codebook.labels]
        case "choice":
            return [(CHOICE_ITEM, label.id) for label in codebook.labels]
        case "rating":
            present: dict[str, set[float]] = {label.id: set() for label in codebook.labels}
            for item, value in case.precedents:
                if item in present and not isinstance(value, str):
                    present[item].add(float(value))
            return [
                (item, end)
                for item, values in present.items()
                if values
                for end in dict.fromkeys((min(values), max(values)))
            ]
