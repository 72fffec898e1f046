"""Tests of files that were read and are not imported yet."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest

from core.codebook import load_yaml
from core.services import projects
from core.services.background_jobs import Job
from core.services.data.importing import ImportDraft, read_files
from core.services.data.pending_imports import MAX_PENDING, PendingImports
from core.services.project_session import ProjectSession
from core.services.workspace import Workspace
from tests.core.services.data.soup import CODEBOOK, CSV, with_id


@pytest.fixture
def session(workspace: Workspace) -> ProjectSession:
    return projects.create_project(workspace, "p")


def soup_draft(name: str = "a.csv") -> ImportDraft:
    return read_files([(name, b"id,text\n1,some soup\n2,some bread\n")])


def test_pending_import_is_kept_per_project_until_removed():
    pending, here = PendingImports(), Path("p.duckdb")
    first, second = pending.add(soup_draft("a.csv"), here), pending.add(soup_draft("b.csv"), here)
    other = pending.add(soup_draft("c.csv"), None)
    assert [item.draft.name for item in pending.of_project(here)] == ["b.csv", "a.csv"]
    assert pending.of_project(None) == (other,)
    first.draft = soup_draft("renamed.csv")
    assert [item.draft.name for item in pending.of_project(here)] == ["b.csv", "renamed.csv"]
    pending.remove(second.id)
    assert pending.get(second.id) is None


def test_removing_a_pending_import_twice_does_nothing():
    pending = PendingImports()
    first = pending.add(soup_draft(), None)
    pending.remove(first.id)
    pending.remove(first.id)
    assert pending.of_project(None) == ()


def test_oldest_pending_import_is_dropped_unless_it_is_importing():
    pending = PendingImports()
    importing, *rest = [pending.add(soup_draft(f"{number}.csv"), None) for number in range(MAX_PENDING)]
    importing.job = Job(lambda _report: Future(), "Importing")
    pending.add(soup_draft("last.csv"), None)
    assert pending.get(importing.id) is not None
    assert pending.get(rest[0].id) is None
    assert len(pending.of_project(None)) == MAX_PENDING


def test_new_pending_import_is_kept_beside_imports_that_run_or_have_ended():
    pending, running, ended = PendingImports(), Future(), Future()
    ended.set_result(None)
    held = [pending.add(soup_draft(f"{number}.csv"), None) for number in range(MAX_PENDING)]
    for item in held:
        item.job = Job(lambda _report: running, "Importing")
    held[1].job = Job(lambda _report: ended, "Importing")
    fifth = pending.add(soup_draft("fifth.csv"), None)
    assert [pending.get(item.id) for item in (*held, fifth)] == [held[0], None, held[2], held[3], fifth]
    fifth.job = held[0].job
    sixth = pending.add(soup_draft("sixth.csv"), None)
    assert pending.get(sixth.id) is sixth


def test_preview_is_cached_until_draft_or_codebook_changes():
    pending = PendingImports()
    one = pending.add(soup_draft(), None)
    first = one.preview(None, None)
    assert one.preview(None, None) is first
    assert one.preview(load_yaml("labels: [{name: Food}]"), None) is not first
    one.draft = soup_draft("b.csv")
    assert one.preview(None, None).draft.name == "b.csv"


def test_preview_counts_documents_that_replaced_others(session: ProjectSession) -> None:
    draft = with_id(read_files([("soup.csv", CSV)], CODEBOOK))
    pending = PendingImports().add(draft, session.path)
    documents = pending.preview(CODEBOOK, None).built.documents
    session.store.documents.add([replace(document, id=f"other {document.id}") for document in documents])
    assert pending.preview(CODEBOOK, session).existing == 0
    session.store.documents.replace_all(documents)
    assert session.store.documents.count() == len(documents)
    assert pending.preview(CODEBOOK, session).existing == len(documents)
