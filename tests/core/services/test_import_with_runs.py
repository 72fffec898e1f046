"""Tests of runs on files that are imported with them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from core.errors import UsageError
from core.ingest.mapping import ColumnMapping
from core.runs import Prepass
from core.services import import_with_runs
from core.services.data.importing import ImportOptions, preview_file
from core.services.project_session import ProjectSession
from core.services.runs.planning import Plan
from core.services.workspace import Workspace
from tests.core.services.sessions import BOOK
from tests.core.store.helpers import make_settings, store_debate


def _annotate(session: ProjectSession, path: Path, rows: str) -> tuple[dict[str, object], list[str]]:
    path.write_text(f"text,Service\n{rows}", encoding="utf-8")
    source = ImportOptions((path,), ColumnMapping("text"), gold_same_names=True)
    stored, (run,) = import_with_runs.create_runs(session, preview_file(source, BOOK, session), BOOK, Plan())
    return dict(stored.counts), session.store.runs.document_ids(run.run_id)


def test_rows_have_the_ids_that_their_texts_have_in_the_project(workspace: Workspace, tmp_path: Path) -> None:
    session, path = workspace.open(tmp_path / "p.duckdb"), tmp_path / "t.csv"
    assert _annotate(session, path, "The room was clean.,0\nFriendly staff.,1\n")[1] == ["1", "2"]
    counts, documents = _annotate(session, path, "Friendly staff.,0\nWe slept.,0\n")
    assert documents == ["2", "3"]
    assert (counts["documents"], counts["repeated"], counts["gold_conflicts"]) == (1, 1, 1)
    assert [version.number for version in session.store.codebooks.history()] == [1]


def test_run_is_extended_by_the_first_documents_of_a_file(workspace: Workspace, tmp_path: Path) -> None:
    session, path = workspace.open(tmp_path / "p.duckdb"), tmp_path / "t.csv"
    _annotate(session, path, "The room was clean.,0\n")
    path.write_text("text\nThe room was clean.\nFriendly staff.\nWe slept.\n", encoding="utf-8")
    preview = preview_file(ImportOptions((path,), ColumnMapping("text")), BOOK, session)
    new = import_with_runs.new_documents(session, "r0001", preview, Plan(limit=2))
    import_with_runs.extend_run(session, "r0001", preview, new)
    assert session.store.runs.document_ids("r0001") == ["1", "2"]
    assert session.store.documents.count() == 3


def test_run_is_not_extended_by_all_of_its_examples(workspace: Workspace, tmp_path: Path) -> None:
    session, path = workspace.open(tmp_path / "p.duckdb"), tmp_path / "t.csv"
    source = ImportOptions((path,), ColumnMapping("text", id="id"), gold_same_names=True)
    path.write_text("id,text,Service\na,The room was clean.,0\nb,Friendly staff.,1\n", encoding="utf-8")
    plan = Plan(protocol="single", params={"method": "few_shot"}, limit=1)
    _, (run,) = import_with_runs.create_runs(session, preview_file(source, BOOK, session), BOOK, plan)
    session.start_or_resume(run.run_id).result(30)
    path.write_text("id,text,Service\na,The room was clean.,0\nc,We slept.,0\nb,Friendly staff.,1\n", encoding="utf-8")
    preview = preview_file(source, BOOK, session)
    assert import_with_runs.new_documents(session, run.run_id, preview, Plan(limit=2)) == ["c"]
    with pytest.raises(UsageError, match="All examples of r0001 are among the new documents"):
        import_with_runs.new_documents(session, run.run_id, preview, Plan())


def test_run_on_ambiguous_documents_is_extended_by_such_documents(workspace: Workspace, tmp_path: Path) -> None:
    session, path = workspace.open(tmp_path / "p.duckdb"), tmp_path / "t.csv"
    path.write_text(
        "id,text\na,Friendly staff.\nb,We slept.\nc,The room was clean.\nd,It was dirty.\n", encoding="utf-8"
    )
    preview = preview_file(ImportOptions((path,), ColumnMapping("text", id="id")), BOOK, session)
    import_with_runs.store_documents(session, preview)
    settings = make_settings(BOOK, params={"method": "vote", "k": 2})
    vote = session.store.runs.create(settings.model_copy(update={"protocol": "single"}), ["a", "b", "c"])
    present, absent = (dict.fromkeys(BOOK.items, value) for value in (True, False))

    async def debates() -> None:
        for id, second in {"a": present, "b": absent, "c": absent}.items():
            await store_debate(session.project, vote.run_id, id, {"one": present, "two": second}, present)
        await session.project.sink.state(vote.run_id, "done")

    asyncio.run(debates())
    prepass = Prepass(ambiguous=vote.run_id)
    later = session.store.runs.create(make_settings(BOOK, prepass=prepass), ["b"])
    plan = import_with_runs.extension_plan(later, None)
    assert import_with_runs.new_documents(session, later.run_id, preview, plan) == ["c"]
    whole = session.store.runs.create(make_settings(BOOK), ["b"])
    plan = import_with_runs.extension_plan(whole, None)
    assert import_with_runs.new_documents(session, whole.run_id, preview, plan) == ["a", "c", "d"]
