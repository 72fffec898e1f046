"""The model card of a project's classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.codebook import Codebook
from core.formatting import format_count, format_number, format_signed, format_timestamp
from core.stats.intervals import Interval, format_interval

MAX_CARD_LABELS = 40
"""Labels listed in the model card."""


def model_card(facts: Mapping[str, Any], at: float) -> str:
    """Return the model card in Markdown: method, training data, performance, limits, file format.

    Names are written as inline code, so that they stay text.
    """
    codebook = Codebook.model_validate(facts["codebook"])
    vectors = " and on sentence vectors" if facts.get("vectors") else ""
    sections = {
        "Training data": _training_data(facts, at),
        "Performance": _performance(facts["scores"], facts["gain"]["value"], facts.get("groups")),
        "Limits": (
            "It knows the words of its training examples and the word lists; it does not understand irony, hints or "
            "new subjects. Its certainty orders a queue; it is calibrated on similar documents only. Do not use it to "
            "decide about people."
        ),
        "The file": (
            "A skops file: open it with `skops.io.load(path, trusted=[])`. It is a dict of `facts` (the codebook among "
            "them), `task`, `vocabulary` and `idf` (of TF-IDF), `words` (words of the codebook), `centre` (of vectors) "
            "and `models` (for each item the weights of vocabulary, words, vector, evidence and bias)."
        ),
    }
    return "\n\n".join(
        [
            "# Classifier of a Moot project",
            f"Logistic regressions that start from the evidence of the codebook {_code(codebook.name)} (version "
            f"{facts['codebook_version']}, kind {codebook.kind}) and are corrected by decisions: on the codebook's "
            f"words that occur and on TF-IDF of all words{vectors}. It is not a language model.",
            *(f"## {heading}\n\n{text}" for heading, text in sections.items()),
            f"Classifier {_code(facts.get('hash', ''))}.\n",
        ]
    )


def _training_data(facts: Mapping[str, Any], at: float) -> str:
    people = ", ".join(map(_code, facts["people"])) or "nobody"
    rows = [
        f"| {_code(item)} | {', '.join(f'{_code(word)} {count:,}' for word, count in values.items())} |"
        for item, values in list(facts["answers"].items())[:MAX_CARD_LABELS]
    ]
    table = "\n".join(["| item | decisions |", "|---|---|", *rows])
    return (
        f"{facts['documents']:,} documents with {facts['decisions']:,} decisions by {people}, until "
        f"{format_timestamp(at)}. The texts themselves are not in the file; single words of them are.\n\n{table}"
    )


def _performance(scores: Mapping[str, Any], gain: float | None, groups: int | None) -> str:
    score = "not known yet" if scores["value"] is None else format_number(scores["value"])
    if scores["interval"] is not None:
        score += f" ({format_interval(Interval(*scores['interval']), named=True)})"
    change = "" if gain is None else f" Twice as many training documents changed it by {format_signed(gain)}."
    folds = (
        "Folds are random documents, so the score may be lower on texts of other authors, places or times."
        if groups is None
        else f"Documents of a group are in one fold ({format_count(groups, 'group')}), so the score is for new groups."
    )
    return (
        f"Cross-validated {scores['measure']} on {scores['n']:,} of these documents: {score}. They were selected for "
        f"review and are mostly harder than the rest. {folds}{change}"
    )


def _code(text: str) -> str:
    """Return text as inline code on one line: backquotes, pipes and line breaks cannot end it."""
    plain = " ".join(str(text).split()).replace("`", "'").replace("|", "/")
    return f"`{plain}`" if plain else "(no name)"
