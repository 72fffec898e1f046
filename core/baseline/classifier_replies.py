"""The trained classifier in a role of a debate: its predictions, written in the form of a reply.

The classifier reads the document and nothing else, so it replies the same in every role: its values, their certainty
and the words with the largest weights. It ignores the other replies. Its replies say that it is not a language model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from core.baseline.evidence import quote_around
from core.codebook import Codebook
from core.debate.turns import Request
from core.documents import Document, Value

NAME = "classifier"
"""The model's name at the built-in connection; ``classifier@HASH`` is the classifier trained on certain decisions."""

_DECIDING = frozenset({"judge"})


@dataclass(frozen=True, slots=True)
class Prediction:
    """The classifier's prediction for one item.

    ``value`` is None for an item that the classifier was not trained on. ``certainty`` is from 0 to 1, ``words`` are
    the words of the text that count most for the value.
    """

    item: str
    value: Value | None
    certainty: float = 0.0
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClassifierModel:
    """A trained classifier.

    ``documents`` is the number of training documents. ``predict`` returns a prediction for each item of a codebook.
    """

    documents: int
    predict: Callable[[Codebook, Document], Sequence[Prediction]]


Lookup: TypeAlias = Callable[[str], ClassifierModel | None]
"""Returns the classifier with a hash, the latest one for an empty hash, None if there is none."""


def write_reply(request: Request, codebook: Codebook, document: Document, model: ClassifierModel) -> str:
    """Return the reply to a request, in the formats that the parser reads."""
    predictions = model.predict(codebook, document)
    opening = f"Classifier, not a language model, trained on {model.documents} reviewed documents:"
    lines = [line for prediction in predictions if (line := _line(prediction, codebook, document.text))]
    return "\n".join([opening, *lines, *_decision(request, codebook, predictions)])


def _decision(request: Request, codebook: Codebook, predictions: Sequence[Prediction]) -> list[str]:
    names = {label.id: label.name for label in codebook.labels}
    if codebook.kind == "choice":
        chosen = predictions[0].value if predictions else None
        if chosen not in names:
            return ["The classifier was not trained on these labels, so the choice stays undecided."]
        return [f"The label is {names[str(chosen)]}"]
    if codebook.kind == "rating":
        ratings = {names[one.item]: one.value for one in predictions if one.value is not None}
        return ["```json", json.dumps({"ratings": ratings}, ensure_ascii=False), "```"]
    undecided = [f"Undecided: #{names[one.item]}" for one in predictions if one.value is None]
    present = [names[one.item] for one in predictions if one.value is True]
    if request.role in _DECIDING:
        return [*undecided, f"Final Decision: The present aspects are: {', '.join(present) or 'none'}"]
    unit = " ".join(codebook.unit.split()) or "text"
    listed = ", ".join(f"#{name}" for name in present) or "none"
    return [*undecided, f"The aspects present in this {unit} are: {listed}"]


def _line(prediction: Prediction, codebook: Codebook, text: str) -> str:
    """Return one label's line with the clause that holds its first word; empty for a label that is surely absent."""
    if prediction.value is None or (prediction.value is False and prediction.certainty > 0.75):
        return ""
    if codebook.kind == "choice":
        name = next((label.name for label in codebook.labels if label.id == prediction.value), "")
    else:
        name = codebook.label(prediction.item).name
    words = f", by {', '.join(prediction.words)}" if prediction.words else ""
    stance = "absent" if prediction.value is False else "present" if prediction.value is True else f"{prediction.value}"
    if codebook.kind == "choice":
        return f"- {name}: certainty {prediction.certainty:.2f}{words}{_quoted(text, prediction.words)}"
    return f"- {name}: {stance}, certainty {prediction.certainty:.2f}{words}{_quoted(text, prediction.words)}"


def _quoted(text: str, words: Sequence[str]) -> str:
    lowered = text.lower()
    starts = (lowered.find(word) for word in words if len(lowered) == len(text))
    quotes = (quote_around(text, at, at + 1) for at in starts if at >= 0)
    return next((f': "{quote}"' for quote in quotes if quote.strip()), "")
