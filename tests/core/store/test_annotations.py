"""Tests of the annotations of a run and of the imported columns of its documents."""

from __future__ import annotations

import asyncio
import time

from core.debate.turns import ReplyError
from core.documents import Document
from tests.core.store.helpers import make_codebook, make_documents, make_settings, store_debate


def test_columns_of_every_imported_file_are_named(project):
    for file, column in enumerate(("year", "City")):
        project.store.documents.add(
            Document(f"{file}/{n}", {"text": "t"}, source={"id": f"{file}/{n}", column: "x"}) for n in range(300)
        )
    run_id = project.store.runs.create(make_settings(), project.store.documents.ids()).run_id
    assert project.store.annotations.columns(run_id) == ["id", "year", "City"]


def test_basis_changes_with_a_verdict_that_is_replaced_after_the_clock_was_set_back(project, monkeypatch):
    codebook = make_codebook(1)
    values = dict.fromkeys(codebook.items, True)
    project.store.documents.add(make_documents(2))
    run_id = project.store.runs.create(make_settings(codebook), ["d0", "d1"]).run_id
    for document_id, error in (("d0", ReplyError("stalled", "silence")), ("d1", None)):
        asyncio.run(store_debate(project, run_id, document_id, {"judge": values}, values, error=error))
    before = project.store.annotations.basis()
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    project.store.runs.work(run_id, retry_failed=True)
    asyncio.run(store_debate(project, run_id, "d0", {"judge": values}, values))
    assert project.store.annotations.basis() != before
