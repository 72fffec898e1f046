"""Tests of sampling frames of the review queue: drawn documents, their probabilities, and new frames."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.stats import chisquare

from core.codebook import Codebook, Label
from core.documents import Document
from core.runs import RunRow
from core.services.evaluation import annotation_arrays
from core.services.project_session import ProjectSession
from core.services.review import actions, queue, sampling_frames
from core.services.review.queue import QueueFilter, ReviewSettings
from core.services.workspace import Workspace
from core.store.project import Project
from core.store.review_queue import Viewpoint
from tests.core.services.sample_world import session_on
from tests.core.services.sessions import annotate
from tests.core.store.helpers import make_settings, store_debate, store_debates

BOOK = Codebook(labels=(Label(name="Clean", keywords=("clean",)), Label(name="Staff", keywords=("staff",))))


@pytest.fixture
def world(workspace: Workspace, tmp_path: Path) -> tuple[ProjectSession, RunRow]:
    """Return a run on 60 documents, two of them about Staff."""
    session = workspace.open(tmp_path / "p.duckdb")
    texts = ["a clean bath" if n % 2 else "a bath" for n in range(58)] + ["kind staff", "rude staff"]
    session.store.documents.add([Document(f"d{n:02}", {"text": text}) for n, text in enumerate(texts)])
    session.store.codebooks.save(BOOK)
    return session, annotate(session)


def _sizes(session: ProjectSession, run: RunRow, frame: int) -> dict[str, float]:
    sizes = annotation_arrays.frame_sizes(session, run, run.run_id, frame).tolist()
    return dict(zip(session.store.runs.document_ids(run.run_id), sizes, strict=True))


def _queue(session: ProjectSession, run: RunRow, actor: str = "ada", **options: int) -> queue.QueuePage:
    return queue.list_queue(session, run, QueueFilter(sort="queue", **{"size": 60, **options}), actor=actor)  # type: ignore[arg-type]


def test_each_document_is_drawn_once_with_probability_by_size(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    result = _queue(session, run)
    ids = [line.document_id for line in result.lines]
    assert sorted(ids) == sorted(session.store.runs.document_ids(run.run_id))
    sizes = _sizes(session, run, 1)
    left = sum(sizes.values())
    for position, document in enumerate(ids):
        draw = result.sampling[document]
        assert (draw.remaining, draw.frame) == (60 - position, 1)
        assert draw.probability == pytest.approx(sizes[document] / left)
        left -= sizes[document]
    assert sizes["d59"] > 2 * sizes["d01"] > 2 * sizes["d00"]
    page = _queue(session, run, number=3, size=20)
    assert [line.document_id for line in page.lines] == ids[40:], "pages continue the order"
    assert [line.document_id for line in _queue(session, run, "ben").lines] != ids, (
        "each reviewer has a different order"
    )


def test_grid_rows_have_a_sampling_record_on_the_first_page_of_the_queue(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    draws = _queue(session, run).sampling
    ids = list(draws)

    def page(**options: int) -> list[queue.ReviewRow]:
        wanted = QueueFilter(sort="queue", **{"size": 20, **options})  # type: ignore[arg-type]
        return list(queue.review_page(session, run, wanted, actor="ada").rows)

    assert [(row.document_id, row.sampling) for row in page()] == [(id, draws[id]) for id in ids[:20]]
    assert {row.sampling for row in page(number=2)} == {None}, "documents of the first page come first"
    actions.mark(session, run.run_id, ids[0], "skip", True, actions.Attribution("ada"))
    last = page(size=60)[-1]
    assert (last.document_id, last.sampling) == (ids[0], None)
    assert _queue(session, run, number=9, size=20).total == 60


def test_new_frame_uses_new_reviews(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    listed = _queue(session, run, size=20)
    actions.submit(session, run.run_id, list(listed.sampling), actions.Attribution("ada"), sampling=listed.sampling)
    frames = Counter(draw.frame for draw in _queue(session, run).sampling.values())
    assert frames == {2: 40}
    selections = session.store.sampling_frames.selections()
    assert {(selection.how, selection.frame) for selection in selections} == {("drawn", 1)}
    queue.save_review_settings(session, ReviewSettings(even=1.0))
    assert {draw.frame for draw in _queue(session, run).sampling.values()} == {3}
    assert len(set(_sizes(session, run, 3).values())) == 1
    loaded = annotation_arrays.verdict_arrays(session, run, "reviewed")
    design = annotation_arrays.sampling_design(session, run, "reviewed", loaded)
    assert design.sample is not None
    assert (design.sample.drawn, design.sample.population) == (20, 60)
    assert design.weights(60).sum() == pytest.approx(60)


def test_first_document_is_drawn_in_proportion_to_its_size(world: tuple[ProjectSession, RunRow]) -> None:
    # Chi-squared test of the first documents of 200 queues against their sizes, with p > 0.001.
    session, run = world
    view = queue.viewpoint(session, run, "ada")
    frame = queue.sampling_frames.current_frame(session, run, view, 0.5)
    top = Counter(
        session.store.review_queue.draws(view, frame, seed=str(seed), offset=0, limit=1)[0][0][0] for seed in range(200)
    )
    sizes = _sizes(session, run, 1)
    assert chisquare([top[document] for document in sizes], [200 * size for size in sizes.values()]).pvalue > 0.001


@pytest.mark.parametrize("wrong", [{"how": "audit"}, {"probability": 0.0}, {"remaining": 0}, {"frame": 0}])
def test_invalid_sampling_record_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        queue.SAMPLING_RECORD.validate_python({"probability": 0.1, "remaining": 3, "frame": 1} | wrong)


@pytest.mark.parametrize(("rating", "differs"), [(3, False), (5, True)])
def test_role_less_than_a_point_from_the_verdict_does_not_differ(project: Project, rating: int, differs: bool) -> None:
    project.store.documents.add([Document("d", {"text": "d"})])
    book = Codebook(kind="rating", labels=(Label(name="Clarity", id="c"),))
    run = project.store.runs.create(make_settings(book), ["d"])
    store_debates([store_debate(project, run.run_id, "d", {"extractor": {"c": rating}, "judge": {"c": 3}}, {"c": 3.4})])
    signals = sampling_frames.signals(session_on(project), run, Viewpoint(run.run_id))
    assert signals.differs.tolist() == [[differs]]


def test_comparison_draws_in_proportion_to_the_differing_labels() -> None:
    differs = np.array([[True, False, False], [True, True, True], [False, False, False], [False, False, False]])
    even = 0.1 / 4
    np.testing.assert_allclose(
        sampling_frames.comparison_sizes(differs, 0.1), [even + 0.9 / 4, even + 0.9 * 3 / 4, even, even]
    )
    np.testing.assert_allclose(sampling_frames.comparison_sizes(np.zeros((4, 3), dtype=bool), 0.1), 1 / 4)
