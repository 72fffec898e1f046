"""Tests of the assignment of quotes to labels."""

from __future__ import annotations

from core.documents import Document, Evidence
from core.services.review import actions
from core.store.document_records import DocumentRecord


def quote(item: str, words: str) -> Evidence:
    return Evidence(item, words, "text", 0, len(words), "exact")


def record(roles: dict, evidence: dict) -> DocumentRecord:
    return DocumentRecord(
        document=Document("d1", {"text": "rates will rise"}),
        status=None,
        values={},
        unresolved={},
        error=None,
        roles=roles,
        evidence=evidence,
        reviews={},
        review_status="Pending",
    )


def test_quote_of_a_choice_belongs_to_the_label_its_role_chose():
    result = record(
        {"extractor": {"label": "hawk"}, "critic": {"label": "dove"}, "judge": {"label": None}},
        {role: (quote("label", "rise"),) for role in ("extractor", "critic", "judge", "clerk")},
    )
    assert [(role, quote_found.item) for role, quote_found in actions.quotes_by_role(result)] == [
        ("extractor", "hawk"),
        ("critic", "dove"),
        ("judge", "label"),
        ("clerk", "label"),
    ]


def test_quote_of_a_multilabel_codebook_keeps_its_label():
    quotes_given = (quote("food", "rates"), quote("staff", "will"))
    assert (
        actions.all_quotes(record({"extractor": {"food": True, "staff": False}}, {"extractor": quotes_given}))
        == quotes_given
    )
