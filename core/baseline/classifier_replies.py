"""The trained classifier in a role of a debate: its predictions, written in the form of a reply.

The classifier reads the document and nothing else, so it replies the same in every role: its values, their certainty
and the words with the largest weights. It ignores the other replies. Its replies say that it is not a language model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from core.baseline.debate_replies import decision
from core.baseline.evidence import find_keywords, quote_around
from core.codebook import Codebook
from core.debate.turns import Request
from core.documents import Document, Value
from core.errors import NoSuchModel

NAME = "classifier"
"""The model's name at the built-in connection; ``classifier@HASH`` is the classifier trained on certain decisions."""

MAX_ABSENT_CERTAINTY = 0.75
"""Absent labels are listed up to this certainty."""


@dataclass(frozen=True, slots=True)
class ItemPrediction:
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
    predict: Callable[[Codebook, Document], Sequence[ItemPrediction]]


Lookup: TypeAlias = Callable[[str], ClassifierModel | None]
"""Returns the classifier with a hash, None if there is none."""


def not_trained() -> NoSuchModel:
    """Return the error of a role whose classifier is not trained yet, so that the run cannot start."""
    return NoSuchModel(
        "The classifier of this project is not trained yet.", "Submit a few documents on Review, then assign it."
    )


def write_reply(request: Request, codebook: Codebook, document: Document, model: ClassifierModel) -> str:
    """Return the reply to a request, in the formats that the parser reads."""
    document = request.document or document
    values: dict[int, Value] = {}
    undecided, lines = [], [f"Classifier, not a language model, trained on {model.documents} reviewed documents:"]
    for prediction in model.predict(codebook, document):
        value = prediction.value
        number = codebook.label_numbers.get(str(value if codebook.kind == "choice" else prediction.item))
        if number is None:  # nothing was predicted, or a label that was deleted since
            continue
        if value is None:
            undecided.append(number)
            continue
        values[number] = True if codebook.kind == "choice" else value
        if value is not False or prediction.certainty <= MAX_ABSENT_CERTAINTY:
            word = "present" if value is True else "absent" if value is False else value
            stance = "" if codebook.kind == "choice" else f"{word}, "
            words = f", by {', '.join(prediction.words)}" if prediction.words else ""
            quote = _quoted(document.text, prediction.words)
            lines.append(f"- {codebook.names[number]}: {stance}certainty {prediction.certainty:.2f}{words}{quote}")
    if codebook.kind == "choice" and not values:
        lines.append("The classifier was not trained on these labels, so the choice stays undecided.")
    return "\n".join([*lines, *decision(codebook, values, undecided, final=request.role == "judge")])


def _quoted(text: str, words: Sequence[str]) -> str:
    """Return the clause with the first of the words that is in the text, after a colon."""
    found = find_keywords(tuple(words), text)
    return f': "{quote_around(text, *min(found)[1:])}"' if found else ""
