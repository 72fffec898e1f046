"""Tests of rows: values that another program wrote."""

from __future__ import annotations

import asyncio

import duckdb
import pytest

from core.errors import ProjectError
from core.store.project import Project
from tests.core.store.helpers import make_documents, make_settings, record_review, store_debate


def documents(store):
    return store.documents.page()


def events(store):
    return store.events.all()


@pytest.mark.parametrize(
    ("change", "read"),
    [
        ("UPDATE documents SET source = 'none'", documents),
        ("UPDATE documents SET context = '[1]'", documents),
        ("UPDATE documents SET source = '7'", documents),
        ("UPDATE gold SET value = repeat('[', 5000)", documents),
        ("UPDATE events SET after = 'yes'", events),
        ("UPDATE events SET payload = 'null'", events),
        ("UPDATE imports SET counts = '[]'", lambda store: store.documents.imports()),
        ("UPDATE settings SET value = ''", lambda store: store.settings.get("pace")),
        ("UPDATE verdicts SET verdict = '[]'", lambda store: store.transcripts.verdict("r0001", "d0")),
        ("UPDATE turns SET reading = '7'", lambda store: store.transcripts.of("r0001", ["d0"])),
        ("UPDATE turns SET evidence = '{}'", lambda store: store.transcripts.of("r0001", ["d0"])),
        ("UPDATE turns SET role_model = '{}'", lambda store: store.transcripts.of("r0001", ["d0"])),
        ("UPDATE events SET kind = 'author_answer'", lambda store: store.author_log.entries()),
    ],
)
def test_value_that_another_program_wrote_is_reported(path, change, read):
    with Project(path) as project:
        project.store.documents.add(make_documents(1, {"d0": {"gold": {"a": True}}}))
        record_review(project.store.reviews, "d0", "a", None, True, actor="me")
        project.store.settings.set("pace", 1)
        run = project.store.runs.create(make_settings(), ["d0"])
        asyncio.run(store_debate(project, run.run_id, "d0", {"judge": {"a": True}}, {"a": True}))
    with duckdb.connect(str(path)) as foreign:
        foreign.execute(change)
    with Project(path) as project, pytest.raises(ProjectError, match="changed by another program"):
        read(project.store)
