"""Tests of the Export page, with Streamlit's AppTest."""

from __future__ import annotations

import asyncio

from core.documents import Document
from core.services.project_session import ProjectSession
from core.services.review import queue
from core.store.project import Project
from tests.app.studio import html, open_page
from tests.core.services.sessions import annotate, fill, queue_runs
from tests.core.store.helpers import make_reply, make_turn, store_debate


def test_debates_that_have_begun_are_not_called_not_started(session: ProjectSession, project: Project) -> None:
    fill(session)
    (run,) = queue_runs(session)
    labels = dict.fromkeys(run.settings.codebook.items, True)
    asyncio.run(store_debate(project, run.run_id, "d0", {"judge": labels}, labels))
    asyncio.run(project.replies.commit(make_reply("k")))
    project.sink.turn(make_turn(run.run_id, "d1", 0, "extractor", "k", values=labels))
    shown = html(open_page("export"))
    assert "<td>With a verdict</td><td>1</td>" in shown
    assert "<td>Not debated yet</td><td>3</td>" in shown


def test_preview_says_that_it_hides_verdicts_in_a_blind_review(session: ProjectSession) -> None:
    fill(session)
    run = annotate(session)
    note = "Documents whose verdict Review hides from you are left out here."
    shown = html(open_page("export"))
    assert note not in shown
    assert "d0" in shown
    queue.save_review_settings(session, queue.ReviewSettings(blind=True))
    shown = html(at := open_page("export"))
    assert note in shown
    assert "d0" not in shown
    assert f"<td>With a verdict</td><td>{run.verdicts}</td>" in shown
    at.radio(key="export-format").set_value("transcript").run()
    assert "No preview." in [code.value for code in at.code]


def test_replaced_documents_are_named_as_those_of_transcripts_alone(session: ProjectSession, project: Project) -> None:
    fill(session)
    (run,) = queue_runs(session)
    assert "Only in transcripts" not in html(open_page("export"))
    kept = project.store.runs.document_ids(run.run_id)[1:]
    project.store.documents.replace_all([*project.store.documents.load(kept), Document("new", {"text": "new"})])
    assert "<td>Only in transcripts, as they were replaced</td><td>1</td>" in html(open_page("export"))
