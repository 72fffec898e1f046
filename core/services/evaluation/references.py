"""What a truth is called, wherever it is told: on a switch, within a sentence, and where a document has none."""

from __future__ import annotations

from dataclasses import dataclass

from core.annotations import VERDICT
from core.services.evaluation.grids import Reference
from core.store.annotators import source_of


@dataclass(frozen=True, slots=True)
class ReferenceNames:
    """One truth, in the words that each place needs."""

    title: str
    """by itself: "Gold", "Reviewed by Ann" """
    noun: str
    """within a sentence, without an article: "gold", "review by Ann" """
    says: str
    """as the beginning of a sentence: "gold says", "the authors say" """
    missing: str
    """what a document lacks that it does not speak of: "gold", "a review by Ann" """


def of(reference: Reference) -> ReferenceNames:
    """The words of a truth. UsageError for what is none."""
    source = source_of(reference)
    who = source.who
    match source.kind:
        case "gold" if source.by_author:
            return ReferenceNames("Authors", "authors", "the authors say", "a label by its author")
        case "gold" if who:
            return ReferenceNames(f"Rater {who}", f"rater {who}", f"Rater {who} says", f"gold by {who}")
        case "gold":
            return ReferenceNames("Gold", "gold", "gold says", "gold")
        case "reviewed" if who:
            return ReferenceNames(
                f"Reviewed by {who}", f"review by {who}", f"the review by {who} says", f"a review by {who}"
            )
        case "reviewed":
            return ReferenceNames("Reviewed", "review", "the review says", "a review")
        case "run":
            role = "" if source.role == VERDICT else f", {source.role}"
            what = f"a verdict of {who}" if not role else f"a list of {who}{role}"
            return ReferenceNames(f"Run {who}{role}", f"run {who}{role}", f"Run {who}{role} says", what)
