"""Net effect of a change to a codebook: decisions of the built-in model that it corrects and breaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core import baseline
from core.baseline.evidence import changed_words, lexicon_of
from core.baseline.words import tokens
from core.codebook import Codebook
from core.formatting import format_count


@dataclass(frozen=True, slots=True)
class NetEffect:
    """Decisions that are right only after a change (``corrected``) and only before it (``regressed``).

    ``documents`` is the number of documents with known labels.
    """

    corrected: int
    regressed: int
    documents: int

    @property
    def net(self) -> int:
        """Number of right decisions gained; negative if more are lost."""
        return self.corrected - self.regressed

    @property
    def pays(self) -> bool:
        """False if the change breaks at least as many decisions as it corrects, and breaks any."""
        return not self.regressed or self.corrected > self.regressed

    def __str__(self) -> str:
        """Describe the effect in a sentence for the page."""
        of = format_count(self.documents, "labelled document")
        return f"Word-list baseline: +{self.corrected} right, -{self.regressed} wrong on {of}"


def net_effect(before: Codebook, after: Codebook, known: Sequence[tuple[str, Mapping[str, bool]]]) -> NetEffect:
    """Return the net effect of a change on documents, as (text, True by the id of each label known to be present).

    All labels count, because a word that one label gains may be another's no longer.
    """
    changed = changed_words(lexicon_of(before), lexicon_of(after))
    corrected = regressed = 0
    for text, present in known:
        if changed.isdisjoint(word for word, _, _ in tokens(text)):
            continue  # nothing that is looked for in this text has changed
        old, new = (baseline.select(codebook, text) for codebook in (before, after))
        was, now = ([(label in chosen) == right for label, right in present.items()] for chosen in (old, new))
        if before.kind == "choice":  # one decision, which is right if all labels are
            was, now = [all(was)], [all(now)]
        corrected += sum(b and not a for a, b in zip(was, now, strict=True))
        regressed += sum(a and not b for a, b in zip(was, now, strict=True))
    return NetEffect(corrected, regressed, len(known))
