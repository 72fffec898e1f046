"""Net effect of a change to a label's words: decisions of the built-in model that it corrects and breaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core import baseline
from core.baseline.words import FUNCTION_WORDS, forms, tokens
from core.codebook import Codebook
from core.formatting import format_count


@dataclass(frozen=True, slots=True)
class NetEffect:
    """Decisions on a label that are right only after a change (``corrected``) and only before it (``regressed``).

    ``documents`` is the number of documents whose label is known.
    """

    corrected: int
    regressed: int
    documents: int

    @property
    def net(self) -> int:
        """Number of right decisions gained; negative if more are lost."""
        return self.corrected - self.regressed

    def __str__(self) -> str:
        """Describe the effect in a sentence for the page."""
        of = format_count(self.documents, "labelled document")
        return f"Word-list baseline: +{self.corrected} right, -{self.regressed} wrong on {of}"


def net_effect(
    before: Codebook, after: Codebook, label_id: str, words: str, known: Sequence[tuple[str, bool]]
) -> NetEffect:
    """Return the net effect of a change on documents, as (text, True if the label is present).

    ``words`` are those that were added or removed. Only texts with one of them are looked at, because the decisions on
    all others stay the same.
    """
    changed = frozenset[str]().union(*(forms(word) for word, _, _ in tokens(words) if word not in FUNCTION_WORDS))
    corrected = regressed = 0
    for text, present in known:
        if changed.isdisjoint(word for word, _, _ in tokens(text)):
            continue
        old, new = (label_id in baseline.select(codebook, text) for codebook in (before, after))
        corrected += new == present != old
        regressed += old == present != new
    return NetEffect(corrected, regressed, len(known))
