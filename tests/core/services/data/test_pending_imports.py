"""Tests of pending imports: shared by all tabs, kept per project, limited in number."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from core.codebook import load_yaml
from core.services.data.importing import ImportDraft, read_files
from core.services.data.pending_imports import MAX_PENDING, PendingImports
from core.services.jobs import Job


def draft(name: str = "a.csv") -> ImportDraft:
    return read_files([(name, b"id,text\n1,some soup\n2,some bread\n")])


def test_pending_import_is_kept_per_project_until_removed():
    pending, here = PendingImports(), Path("p.duckdb")
    first, second = pending.add(draft("a.csv"), here), pending.add(draft("b.csv"), here)
    other = pending.add(draft("c.csv"), None)
    assert [one.draft.name for one in pending.of_project(here)] == ["b.csv", "a.csv"]
    assert pending.of_project(None) == (other,)
    first.draft = draft("renamed.csv")
    assert [one.draft.name for one in pending.of_project(here)] == ["b.csv", "renamed.csv"]
    pending.remove(second.id)
    assert pending.get(second.id) is None


def test_removing_a_pending_import_twice_does_nothing():
    pending = PendingImports()
    one = pending.add(draft(), None)
    pending.remove(one.id)
    pending.remove(one.id)
    assert pending.of_project(None) == ()


def test_oldest_pending_import_is_dropped_unless_it_is_importing():
    pending = PendingImports()
    importing, *rest = [pending.add(draft(f"{number}.csv"), None) for number in range(MAX_PENDING)]
    importing.job = cast(Job, object())
    pending.add(draft("last.csv"), None)
    assert pending.get(importing.id) is not None
    assert pending.get(rest[0].id) is None
    assert len(pending.of_project(None)) == MAX_PENDING


def test_preview_is_cached_until_draft_or_codebook_changes():
    pending = PendingImports()
    one = pending.add(draft(), None)
    first = one.preview(None, None)
    assert one.preview(None, None) is first
    assert one.preview(load_yaml("labels: [{name: Food}]"), None) is not first
    one.draft = draft("b.csv")
    assert one.preview(None, None).draft.name == "b.csv"
