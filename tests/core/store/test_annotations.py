"""Tests of the annotations of a run and of the imported columns of its documents."""

from __future__ import annotations

from core.documents import Document
from tests.core.store.helpers import make_settings


def test_columns_of_every_imported_file_are_named(project):
    for file, column in enumerate(("year", "City")):
        project.store.documents.add(
            Document(f"{file}/{n}", {"text": "t"}, source={"id": f"{file}/{n}", column: "x"}) for n in range(300)
        )
    run_id = project.store.runs.create(make_settings(), project.store.documents.ids()).run_id
    assert project.store.annotations.columns(run_id) == ["id", "year", "City"]
