"""Tests of the sentence about a review plan."""

from __future__ import annotations

from pathlib import Path

from app.screens.review.plan import plan_sentence
from core.codebook import Codebook, Label
from core.documents import Document
from core.services.review import actions, queue, review_plan
from core.services.review.queue import QueueFilter
from core.services.review.review_plan import ReviewPlan
from core.services.workspace import Workspace
from tests.core.services.sessions import annotate


def test_f1_without_interval_after_the_planned_reviews_asks_for_another_plan(tmp_path: Path) -> None:
    workspace = Workspace()
    session = workspace.open(tmp_path / "p.duckdb")
    book = Codebook(labels=(Label(name="Clean", keywords=("clean",)), Label(name="Staff", keywords=("staff",))))
    session.store.documents.add([Document(f"d{n}", {"text": f"a clean bath {n}"}) for n in range(40)])
    session.store.codebooks.save(book)
    run = annotate(session)
    new_plan = ReviewPlan("f1", book.labels[1].id, 0.1, 0.1, 20)  # no document is about Staff
    review_plan.save_plan(session, run, new_plan)
    assert "0 reviewed, about 20 more" in plan_sentence(run, review_plan.plan_status(session, run, new_plan))
    listed = queue.list_queue(session, run, QueueFilter(sort="queue", size=25), actor="ada")
    actions.submit(session, run.run_id, list(listed.sampling), actions.Attribution("ada"), sampling=listed.sampling)
    result = plan_sentence(run, review_plan.plan_status(session, run, new_plan))
    assert "20 reviewed, too few for an interval: plan again with a smaller margin of error." in result
    actions.submit(session, run.run_id, session.store.documents.ids(), actions.Attribution("ada"))
    result = plan_sentence(run, review_plan.plan_status(session, run, new_plan))
    assert result.strip() == "Plan: F1 of Staff within 0.10. All 40 documents with a verdict are reviewed."
    workspace.close()
