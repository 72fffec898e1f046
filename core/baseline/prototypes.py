"""Label definitions as prototypes: the labels of a choice, compared with a text by vectors of both.

A label's prototype is the mean of the vectors of its name with its description, of its include examples and of its
keywords, each of length 1 (prototypes as class means: Snell, Swersky and Zemel 2017, *Prototypical networks for
few-shot learning*, section 2.1; here the members are the definition, not labelled texts, and similarity is
the cosine).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from core.classifier.text_similarity import Embed, Vectors, normalised
from core.codebook import Codebook

Similarities: TypeAlias = Callable[[Codebook, str], Sequence[float]]
"""Function that returns the similarity, -1 to 1, of a text with each label of a codebook."""
CACHED = 64
"""Codebooks and texts whose vectors are kept: several roles read the same text in a row."""


def prototype_similarities(embed: Embed) -> Similarities:
    """Return the function that compares texts with prototypes by the vectors of ``embed``; it raises what that raises.

    Thread-safe. Vectors of a codebook are computed once.
    """

    @lru_cache(maxsize=CACHED)
    def prototypes(codebook: Codebook) -> Vectors:
        members = [
            [f"{label.name}: {label.description}".rstrip(": "), *label.include, ", ".join(label.keywords)]
            for label in codebook.labels
        ]
        members = [[text for text in own if text] for own in members]
        vectors = normalised(embed([text for own in members for text in own]))
        sizes = [len(own) for own in members]
        means = [vectors[sum(sizes[:n]) : sum(sizes[: n + 1])].mean(axis=0) for n in range(len(sizes))]
        return normalised(np.array(means, dtype=np.float32))

    @lru_cache(maxsize=CACHED)
    def similarities(codebook: Codebook, text: str) -> tuple[float, ...]:
        (vector,) = normalised(embed([text]))
        return tuple(float(each) for each in prototypes(codebook) @ vector)

    return similarities
