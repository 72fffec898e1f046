"""Annotations: who says what of which item of which document. One model for every kind of label."""

from __future__ import annotations

from dataclasses import dataclass

from core.documents import Value

VERDICT = "verdict"
"""The annotator of what a debate ends in; a role's own list is annotated under the role's name."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """(document, item, value or None with a reason, annotator).

    ``item`` is a label id (multilabel, rating); a choice has the one item ``"label"`` whose value is a label id.
    ``value`` None means that it could not be read, and ``reason`` says why: never a default of False.
    """

    document_id: str
    item: str
    value: Value | None
    annotator: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Words that an agent offers for a label, located in the document.

    ``start`` and ``end`` are character offsets into ``field``'s stored text (end exclusive); both are -1 when the words
    are not there (``match`` ``missing``), which is shown as unsupported. ``exact`` means the very characters, ``fuzzy``
    the same words after Unicode, case, quote and white-space normalisation or a near-identical alignment.
    """

    item: str
    quote: str
    field: str
    start: int
    end: int
    match: str

    @property
    def supported(self) -> bool:
        """Whether the quoted words are in the document."""
        return self.match != "missing"
