"""Tests of the SQL views of a project file: the fields of appendix C of the ECJ paper."""

from __future__ import annotations

import asyncio
import itertools
import json

import numpy as np
import pytest

from core.codebook import Codebook, Label, Scale
from core.documents import differs
from core.stats.arrays import is_right
from core.store.rows import dump
from core.store.transcripts import FinishedPage
from tests.core.store.helpers import make_documents, make_settings, record_review, set_status, store_debate

LABELS = (Label(name="Clean"), Label(name='Staff "and" more'))
MULTI = Codebook(labels=LABELS)
CHOICE = Codebook(kind="choice", labels=LABELS)
RATING = Codebook(kind="rating", labels=LABELS, scale=Scale(min=1, max=5))
A, B = (label.id for label in MULTI.labels)
NAMES = MULTI.names


def view(project, name):
    rows = project.store.codebooks._connection.arrow(f"SELECT * FROM {name} ORDER BY run_id, id").to_pylist()
    return [{key: json.loads(cell) if "aspect" in key and cell else cell for key, cell in row.items()} for row in rows]


def store_run(project, codebook, values, gold):
    project.store.documents.add(make_documents(2, {"d0": {"gold": gold}}))
    run = project.store.runs.create(make_settings(codebook), ["d0", "d1"])
    lists = {"extractor": None, "critic": None, "judge": None}
    asyncio.run(store_debate(project, run.run_id, "d0", lists, values))
    asyncio.run(store_debate(project, run.run_id, "d1", lists, values))
    return run.run_id


@pytest.mark.parametrize(
    ("codebook", "values", "gold", "aspect", "reference"),
    [
        (MULTI, {A: True, B: False}, {A: False}, {NAMES[0]: True, NAMES[1]: False}, {NAMES[0]: False}),
        (MULTI, {A: True, B: None}, {B: True}, {NAMES[0]: True, NAMES[1]: None}, {NAMES[1]: True}),
        (CHOICE, {"label": A}, {"label": B}, {NAMES[0]: True, NAMES[1]: False}, {NAMES[0]: False, NAMES[1]: True}),
        (RATING, {A: 3, B: 5}, {A: 2, B: 5}, {NAMES[0]: 3, NAMES[1]: 5}, {NAMES[0]: 2, NAMES[1]: 5}),
    ],
)
def test_annotated_review_view_has_the_papers_fields(project, codebook, values, gold, aspect, reference):
    run_id = store_run(project, codebook, values, gold)
    first, second = view(project, "annotated_review")
    assert first == {
        "run_id": run_id,
        "id": "d0",
        "conversation": "extractor: extractor on d0\n\ncritic: critic on d0",
        "review": "text number 0",
        "verdict": "judge on d0",
        "aspect": aspect,
    }
    assert list(first["aspect"]) == list(NAMES)
    assert second["id"] == "d1"
    assert view(project, "evaluation_review") == [{**first, "true_aspect": reference}]


def test_annotated_review_view_covers_all_runs(project):
    store_run(project, MULTI, {A: True, B: True}, {A: True})
    project.store.runs.create(make_settings(CHOICE), ["d0"])
    asyncio.run(store_debate(project, "r0002", "d0", {"judge": None}, {"label": B}))
    rows = view(project, "annotated_review")
    assert [(row["run_id"], row["id"], row["conversation"] == "") for row in rows] == [
        ("r0001", "d0", False),
        ("r0001", "d1", False),
        ("r0002", "d0", True),
    ]
    assert rows[2]["aspect"] == {NAMES[0]: False, NAMES[1]: True}


def test_gold_of_several_raters_is_the_majority(project):
    gold = {"d0": {"a": {A: True, B: True}, "b": {A: True, B: False}, "c": {A: False}}}
    project.store.documents.add(make_documents(1, gold))
    rows = project.store.codebooks._connection.rows("SELECT document_id, item, value FROM gold_labels")
    assert rows == [("d0", A, "true")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *itertools.product([1, 2, 2.0, 2.3333, 2.5, 2.99, 2.9995, 3, 10], repeat=2),
        *itertools.product([True, False], repeat=2),
        *itertools.product(["1", "2", "Warm"], repeat=2),
        ("Warm", 2),
    ],
)
def test_values_differ_alike_in_sql_and_python(project, one, other):
    rows = project.store.runs._connection.rows
    texts = [dump(one), dump(other)]
    assert rows("SELECT differs(?, ?)", texts) == [(differs(one, other),)]
    assert rows("SELECT any_differ(value) FROM (SELECT unnest(?) AS value)", [[*texts, *texts]]) == [
        (differs(one, other),)
    ]
    if not isinstance(one, bool | str):
        assert differs(one, other) != is_right(np.array(one), np.array(other), kind="rating")


def test_any_of_several_ratings_may_differ(project):
    def any_differ(*values):
        return project.store.runs._connection.value(
            "SELECT any_differ(value) FROM (SELECT unnest(?) AS value)", [values]
        )

    assert any_differ("9", "9.5", "10")
    assert not any_differ("9.5", "10")
    assert any_differ("9", "")  # a role that gave no rating
    assert any_differ("9", None) is False


def test_finished_documents_are_listed_newest_first(project):
    run_id = store_run(project, MULTI, {A: True, B: None}, {})
    page = project.store.transcripts.page(run_id)
    rows = page.rows
    assert (page.total, [row.document_id for row in rows]) == (2, ["d1", "d0"])
    assert rows[0].values == {A: True, B: None}
    assert project.store.transcripts.page(run_id, search="NUMBER 0", status="unresolved").total == 1
    assert project.store.transcripts.page(run_id, status="verdict") == FinishedPage(0, ())
    at, in_progress = project.store.transcripts.last_reply(run_id)
    assert at is not None
    assert in_progress == 0
    assert project.store.transcripts.last_reply("r9") == (None, 0)


@pytest.mark.parametrize(
    ("codebook", "verdict", "reviewed", "differing"),
    [
        (MULTI, {A: True, B: False}, {A: False, B: False}, [A]),
        (CHOICE, {"label": A}, {"label": B}, ["label"]),
        (RATING, {A: 2, B: 2}, {A: 2.9, B: 3}, [B]),
        (RATING, {A: 2, B: 2.5}, {A: 3.25, B: 2.5}, [A]),
    ],
)
def test_verdict_differs_from_a_neighbour_as_from_a_reference(project, codebook, verdict, reviewed, differing):
    project.store.documents.add(make_documents(2))
    run = project.store.runs.create(make_settings(codebook), ["d0"])
    asyncio.run(store_debate(project, run.run_id, "d0", {"judge": None}, verdict))
    for item, value in reviewed.items():
        record_review(project.store.reviews, "d1", item, None, value, actor="me")
    set_status(project.store.reviews, "d1", "Submitted", actor="me")
    project.store.classifiers.save_predictions(["d0"], [], [("d0", "d1", 0.9)])
    sql = "SELECT item FROM differing_neighbours WHERE document_id = 'd0' ORDER BY item"
    assert [item for (item,) in project.store.runs._connection.rows(sql)] == differing
