from __future__ import annotations

import asyncio

import numpy as np
import pytest

from core.codebook import Codebook, Label, Scale
from core.documents import Document
from core.errors import UsageError
from core.runs import RunSettings
from core.store.annotation_sources import AnnotationSource, of_run, source_of
from core.store.reviews import Decision, ReviewChange
from tests.core.store.helpers import ROLE_MODEL, make_codebook, store_debate


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("gold", AnnotationSource("gold")),
        ("gold@ann", AnnotationSource("gold", "ann")),
        ("gold@ann@home", AnnotationSource("gold", "ann@home")),
        ("reviewed", AnnotationSource("reviewed")),
        ("reviewed@kim", AnnotationSource("reviewed", "kim")),
        ("run:r0002", of_run("r0002")),
        ("run:r0002/critic", of_run("r0002", "critic")),
    ],
)
def test_source_is_parsed_from_its_name(name, source):
    assert source_of(name) == source
    assert str(source) == name


def test_author_labels_have_their_own_source_name():
    assert source_of("author") == source_of("gold@author") == AnnotationSource("gold", "author")
    assert source_of("author").by_author
    assert source_of("gold@Authors").by_author
    assert not any(source_of(name).by_author for name in ("gold", "gold@ann", "reviewed@author", "run:author"))


@pytest.mark.parametrize("name", ["", "silver", "gold@", "reviewed@", "run:", "verdict"])
def test_unknown_source_is_rejected(name):
    with pytest.raises(UsageError, match="There is no reference"):
        source_of(name)


def test_ratings_outside_the_scale_of_their_dimension_are_left_out(project):
    labels = (Label(name="a"), Label(name="b", scale=Scale(min=0, max=10)))
    codebook = Codebook(kind="rating", labels=labels, scale=Scale(min=1, max=5))
    first, second = codebook.items
    gold = {"d0": {first: 5, second: 10}, "d1": {first: 5.5, second: 0}, "d2": {first: 0, second: -1}}
    project.store.documents.add(Document(id, {"text": "t"}, gold={"gold": values}) for id, values in gold.items())
    settings = RunSettings(protocol="single", codebook=codebook, role_models={"annotator": ROLE_MODEL}, templates={})
    run = project.store.runs.create(settings, list(gold)).run_id
    grid = project.store.annotations.grid(run, codebook, "gold")
    np.testing.assert_array_equal(grid, [[5, 10], [np.nan, 0], [np.nan, np.nan]])
    assert project.store.annotations.grid(run, Codebook(kind="rating"), "gold").shape == (3, 0)


def test_values_of_every_source_are_read(project):
    codebook = make_codebook(1)
    item = codebook.items[0]
    raters = {"d0": {"ann": True, "bob": True}, "d1": {"ann": True, "bob": False}, "d2": {"ann": False}}
    project.store.documents.add(
        Document(id, {"text": "t"}, gold={rater: {item: value} for rater, value in values.items()})
        for id, values in raters.items()
    )
    settings = RunSettings(protocol="single", codebook=codebook, role_models={"annotator": ROLE_MODEL}, templates={})
    runs = [project.store.runs.create(settings, list(raters)).run_id for _ in range(2)]

    async def debates():
        for run, verdicts in zip(runs, ((True, True, True), (True, False, True)), strict=True):
            for id, value in zip(raters, verdicts, strict=True):
                await store_debate(project, run, id, {"annotator": {item: value}}, {item: value})

    asyncio.run(debates())
    for person, value in (("kim", True), ("lee", False)):
        project.store.reviews.record([Decision("d0", (ReviewChange(item, True, value),), "Submitted")], actor=person)
    read = project.store.annotations

    def values(source):
        return [{1.0: True, 0.0: False}.get(value) for value in read.grid(runs[0], codebook, source)[:, 0].tolist()]

    assert values("verdict") == values("annotator") == [True, True, True]
    assert values("gold@ann") == [True, True, False]
    assert values("gold@bob") == [True, False, None]
    assert values("gold") == [True, None, False]  # a tie has no value
    assert values(f"run:{runs[1]}") == values(f"run:{runs[1]}/annotator") == [True, False, True]
    assert values("reviewed@kim") == [True, None, None]
    assert values("reviewed@lee") == [False, None, None]
    sources = read.sources(runs[0], codebook)
    assert {name: sources[name] for name in ("gold", "gold@ann", "gold@bob", "reviewed", f"run:{runs[1]}")} == {
        "gold": 2,
        "gold@ann": 3,
        "gold@bob": 2,
        "reviewed": 1,
        f"run:{runs[1]}": 3,
    }


def test_values_outside_the_codebook_are_left_out(project):
    codebook = make_codebook(2)
    x, _ = codebook.items
    project.store.documents.add(
        Document(id, {"text": "t"}, gold={"gold": values})
        for id, values in {"d0": {x: True, "a label of later": True}, "d1": {"a label of later": False}}.items()
    )
    settings = RunSettings(protocol="single", codebook=codebook, role_models={"annotator": ROLE_MODEL}, templates={})
    run = project.store.runs.create(settings, ["d1", "d0"]).run_id
    grid = project.store.annotations.grid(run, codebook, "gold")
    np.testing.assert_equal(grid, [[np.nan, np.nan], [1, np.nan]])
    assert project.store.annotations.sources(run, codebook) == {"gold": 1, "reviewed": 0}


def test_documents_used_as_examples_are_known(project):
    codebook = make_codebook(1)
    label = codebook.labels[0].model_copy(update={"include": ("from d0",)})
    codebook = codebook.model_copy(update={"labels": (label,)})
    project.store.documents.add(Document(f"d{n}", {"text": "t"}, gold={"gold": {label.id: True}}) for n in range(2))
    settings = RunSettings(protocol="single", codebook=codebook, role_models={"annotator": ROLE_MODEL}, templates={})
    run = project.store.runs.create(settings, ["d0", "d1"]).run_id
    assert project.store.annotations.example_documents(run) == []

    def add_example(cursor):
        cursor.execute("INSERT INTO codebook_examples VALUES ('d0', ?, 'include', 'from d0', 1, 0, 'kim')", [label.id])

    project._writer.do(add_example)
    assert project.store.annotations.example_documents(run) == ["d0"]
