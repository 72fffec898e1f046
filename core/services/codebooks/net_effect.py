"""Net effect of a change to a codebook: decisions of the built-in model that it corrects and breaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from core import baseline
from core.baseline.lexicon import changed_words, lexicon_of, tokenise
from core.codebook import CHOICE_ITEM, Codebook
from core.documents import Value
from core.formatting import format_count, format_effect
from core.services.project_session import ProjectSession


@dataclass(frozen=True, slots=True)
class NetEffect:
    """Decisions that are right only after a change (``corrected``) and only before it (``regressed``).

    ``documents`` is the number of documents with known labels, ``f1_change`` the change in macro F1, -1 to 1.
    """

    corrected: int
    regressed: int
    documents: int
    f1_change: float = field(default=0.0, compare=False)

    @property
    def net(self) -> int:
        """Number of right decisions gained; negative if more are lost."""
        return self.corrected - self.regressed

    @property
    def pays(self) -> bool:
        """False if the change breaks as many decisions as it corrects, and any, or if it lowers macro F1.

        A label that few documents have weighs as much in macro F1 as one that many have, so more right decisions may
        still lower it.
        """
        return (not self.regressed or self.net > 0) and self.f1_change > -1e-9

    def __str__(self) -> str:
        """Describe the effect in a sentence for the page."""
        if not self.documents:
            return "Effect unknown until other documents are reviewed"
        documents = format_count(self.documents, "labelled document")
        return f"Word-list baseline on {documents}: {format_effect(self.corrected, self.regressed)}"


LabelledTexts = Sequence[tuple[str, Mapping[str, bool]]]
"""Documents as (text, True by the id of each label known to be present)."""


def present_labels(codebook: Codebook, values: Mapping[str, Value]) -> dict[str, bool]:
    """Return True or False for each label that values of items decide. A choice decides all labels.

    Values for a codebook of another kind are left out. Empty for ratings.
    """
    if codebook.kind == "choice" and CHOICE_ITEM in values:
        return {label.id: label.id == values[CHOICE_ITEM] for label in codebook.labels}
    is_multilabel = codebook.kind == "multilabel"
    return {item: value for item, value in values.items() if is_multilabel and isinstance(value, bool)}


def reviewed_labels(session: ProjectSession, codebook: Codebook) -> dict[str, tuple[str, dict[str, bool]]]:
    """Return the text and the known labels of each reviewed document, by its id, as ``present_labels``."""
    labelled: dict[str, tuple[str, dict[str, bool]]] = {}
    for example in session.store.classifiers.training_examples():
        if labels := present_labels(codebook, {example.item: example.value}):
            labelled.setdefault(example.document_id, (example.text, {}))[1].update(labels)
    return labelled


def net_effect(before: Codebook, after: Codebook, labelled: LabelledTexts) -> NetEffect:
    """Return the net effect of a change on documents with known labels.

    All labels but open ones count, because a word that one label gains may be another's no longer. A choice is one
    decision, which is right if all labels are.
    """
    before, after = before.closed, after.closed
    lexicons = lexicon_of(before), lexicon_of(after)
    changed = changed_words(*lexicons)
    same_rest = lexicons[0].rest_label == lexicons[1].rest_label
    old, new = [], []
    for text, _ in labelled:
        words, selected = _words_and_labels(before, text)
        old.append(selected)
        new.append(selected if same_rest and changed.isdisjoint(words) else baseline.select(after, text))
    corrected = regressed = 0
    for (_, present), *selections in zip(labelled, old, new, strict=True):
        if selections[0] != selections[1]:
            was, now = ([(label in selected) == right for label, right in present.items()] for selected in selections)
            if before.kind == "choice":
                was, now = [all(was)], [all(now)]
            corrected += sum(b and not a for a, b in zip(was, now, strict=True))
            regressed += sum(a and not b for a, b in zip(was, now, strict=True))
    return NetEffect(corrected, regressed, len(labelled), _macro_f1(labelled, new) - _macro_f1(labelled, old))


@lru_cache(maxsize=10_000)  # many changes to one codebook are compared in a row, each on almost the same texts
def _words_and_labels(codebook: Codebook, text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of a text and the labels that they select."""
    return frozenset(word for word, _, _ in tokenise(text)), baseline.select(codebook, text)


def _macro_f1(labelled: LabelledTexts, selected: Sequence[frozenset[str]]) -> float:
    """Return the mean F1 of the labels that are present in a document, 0 without any."""
    cells = Counter(
        (label, is_present, label in labels)
        for (_, present), labels in zip(labelled, selected, strict=True)
        for label, is_present in present.items()
    )
    scores = []
    for label in {label for label, *_ in cells}:
        right, wrong = cells[label, True, True], cells[label, False, True] + cells[label, True, False]
        if right or cells[label, True, False]:
            scores.append(2 * right / (2 * right + wrong))
    return sum(scores) / len(scores) if scores else 0.0
