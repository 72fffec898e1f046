"""Tests of rows: values that another program wrote."""

from __future__ import annotations

import asyncio

import duckdb
import pytest

from core.documents import Document
from core.errors import ProjectError
from core.store.project import Project
from core.store.review_queue import Viewpoint
from core.store.rows import excerpt
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


@pytest.mark.parametrize(("text", "shown"), [("ab", "ab"), ("abc", "abc"), ("abcd", "abc…"), ("", ""), (None, None)])
def test_excerpt_ends_with_an_ellipsis_if_text_is_left_out(text: str | None, shown: str | None) -> None:
    with duckdb.connect() as connection:
        query = f"SELECT {excerpt(3)} FROM (SELECT $text::VARCHAR AS text)"
        assert connection.execute(query, {"text": text}).fetchall() == [(shown,)]


def test_excerpts_of_debates_and_of_the_review_queue_end_with_an_ellipsis(project: Project) -> None:
    project.store.documents.add([Document("d0", {"text": "x" * 300})])
    run_id = project.store.runs.create(make_settings(), ["d0"]).run_id
    asyncio.run(store_debate(project, run_id, "d0", {"judge": {"a": True}}, {"a": True}))
    (finished,) = project.store.transcripts.page(run_id).rows
    (line,) = project.store.review_queue.lines(Viewpoint(run_id)).rows
    assert finished.text_start == "x" * 140 + "…"
    assert line.text_start == "x" * 240 + "…"
