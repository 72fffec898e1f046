"""Label definitions as training data: the labels of a codebook, compared with a text by vectors of both.

A logistic regression learns the labels from the vectors of what defines them: name, description, include examples,
keywords and common words. Common aspects that no label is about are further classes, because a text without any word of
the codebook is most often about something else. Without them, two labels would share every text between them.
"""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import Any

from core.baseline.evidence import Near
from core.baseline.lexicon import is_rest
from core.baseline.word_forms import other_aspects, starters
from core.classifier.text_similarity import Embed, normalised
from core.codebook import Codebook, Label

CACHED = 64
"""Codebooks and texts whose results are kept: several roles read the same text in a row."""
INVERSE_PENALTY = 10.0  # vectors have length 1, so that weights of about 3 tell two words of different labels apart
ASPECT_WORDS = 40  # of a common aspect that no label is about, which stand for it: the first ones are the most typical


def definition_probabilities(embed: Embed) -> Near:
    """Return the function that compares texts with definitions by the vectors of ``embed``; it raises what that raises.

    Thread-safe. Definitions are embedded once per codebook.
    """
    lock = Lock()

    @lru_cache(maxsize=CACHED)
    def train(codebook: Codebook) -> tuple[list[int], Any]:
        """Return the numbers of the labels that can be compared, and the model, whose first classes they are."""
        from sklearn.linear_model import LogisticRegression

        labels = [number for number, label in enumerate(codebook.labels) if not is_rest(codebook, label)]
        classes = [_definition(codebook, codebook.labels[number]) for number in labels]
        own = {text.casefold() for texts in classes for text in texts}
        others = other_aspects(codebook.names) if codebook.kind == "multilabel" else []
        classes += [[word for word in words[:ASPECT_WORDS] if word.casefold() not in own] for words in others]
        texts = [text for each in classes for text in each]
        answers = [number for number, each in enumerate(classes) for _ in each]
        # balanced, because the length of a list tells how much somebody wrote, and not how frequent a label is
        model = LogisticRegression(C=INVERSE_PENALTY, class_weight="balanced", max_iter=1000)
        return labels, model.fit(normalised(embed(texts)), answers) if len(set(answers)) > 1 else None

    @lru_cache(maxsize=CACHED)
    def probabilities(codebook: Codebook, text: str) -> tuple[float, ...]:
        with lock:  # many documents start at once, and all of them would embed the definitions
            labels, model = train(codebook)
        result = [0.0] * len(codebook.labels)
        if model is not None and text.strip():
            for number, chance in zip(labels, model.predict_proba(normalised(embed([text])))[0], strict=False):
                result[number] = float(chance)
        return tuple(result)

    return probabilities


def _definition(codebook: Codebook, label: Label) -> list[str]:
    common = starters(label.name, (other.name for other in codebook.labels if other.id != label.id))
    described = f"{label.name}: {label.description}" if label.description else ""
    texts = (label.name, described, *label.include, *label.keywords, *common)
    return list(dict.fromkeys(text for text in texts if text.strip()))
