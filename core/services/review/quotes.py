"""What was quoted of a document, for the screens that mark it in the colours of the labels."""

from __future__ import annotations

from dataclasses import replace

from core.annotations import Evidence
from core.codebook import CHOICE_ITEM
from core.store.document_records import DocumentRecord


def by_role(found: DocumentRecord) -> tuple[tuple[str, Evidence], ...]:
    """The quotes with the role that gave each.

    Where one label is chosen, a quote speaks for the one that its role chose with it: its ``item`` is that label's id
    then, and stays the choice's own where the role chose none.
    """
    return tuple(
        (role, _spoken_for(quote, found.roles.get(role, {}).get(CHOICE_ITEM)))
        for role, quotes in found.evidence.items()
        for quote in quotes
    )


def all_of(found: DocumentRecord) -> tuple[Evidence, ...]:
    """The quotes of all roles."""
    return tuple(quote for _, quote in by_role(found))


def _spoken_for(quote: Evidence, chosen: object) -> Evidence:
    return replace(quote, item=chosen) if quote.item == CHOICE_ITEM and isinstance(chosen, str) else quote
