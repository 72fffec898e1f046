"""Few-shot examples: select precedents for a debate, and format them as a prompt shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from core import prompts
from core.codebook import CHOICE_ITEM, Codebook
from core.debate.context import DebateContext
from core.documents import Precedent, Value, is_number


def format_labels(codebook: Codebook, values: Mapping[str, Value]) -> str:
    """Return the labels of a document in the words of a decision: names, one name, or a number per dimension."""
    match codebook.kind:
        case "multilabel":
            return ", ".join(label.name for label in codebook.labels if values.get(label.id) is True) or "none"
        case "choice":
            return codebook.label_names.get(values.get(CHOICE_ITEM), "none")
        case "rating":
            return ", ".join(f"{label.name}: {values[label.id]:g}" for label in codebook.labels if label.id in values)


def select_examples(context: DebateContext, shots: int) -> tuple[Precedent, ...]:
    """Return up to ``shots`` precedents for each label, each document once, in codebook order, the nearest first.

    For ratings they are taken for both ends of each dimension's scale. Empty if there are none.
    """
    examples: dict[str, Precedent] = {}
    for item, value in _example_values(context):
        for precedent in context.nearest(item, value, shots):
            examples.setdefault(precedent.document_id, precedent)
    return tuple(examples.values())


def template_rows(codebook: Codebook, precedents: Iterable[Precedent]) -> list[dict[str, Any]]:
    """Return each precedent as templates show it: ``label``, ``text``, and ``unlabelled`` names of multiple labels."""
    return [
        {
            "label": format_labels(codebook, precedent.values),
            "unlabelled": ", ".join(label.name for label in codebook.labels if label.id not in precedent.values)
            if codebook.kind == "multilabel"
            else "",
            "text": prompts.delimit(precedent.text, "precedent"),
        }
        for precedent in precedents
    ]


def _example_values(context: DebateContext) -> list[tuple[str, Value]]:
    codebook = context.codebook
    match codebook.kind:
        case "multilabel":
            return [(label.id, True) for label in codebook.labels]
        case "choice":
            return [(CHOICE_ITEM, label.id) for label in codebook.labels]
        case "rating":
            ends: dict[tuple[str, Value], None] = {}
            for label in codebook.labels:
                rated = sorted(value for item, value in context.precedents if item == label.id and is_number(value))
                ends |= dict.fromkeys((label.id, value) for value in (*rated[:1], *rated[-1:]))
            return list(ends)
