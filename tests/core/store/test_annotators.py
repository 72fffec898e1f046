from __future__ import annotations

import asyncio

import pytest

from core.documents import Document
from core.errors import UsageError
from core.runs import RunSettings
from core.store.annotators import AnnotationSource, of_run, source_of
from core.store.confusion import Cell
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


def test_any_annotator_is_scored_against_any_other(project):
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
    read = project.store.evaluations

    def cells(annotator, reference):
        found = read.cells(runs[0], annotator, reference=reference)
        counts = {(cell.reference, cell.value): cell.count for cell in found}
        sides = ((True, True), (False, True), (True, False), (False, False))
        return tuple(counts.get(side, 0) for side in sides)

    # Values on d0, d1, d2: first run yes, yes, yes; ann yes, yes, no; gold of both raters yes, tie, no.
    assert cells("verdict", "gold@ann") == (2, 1, 0, 0)
    assert cells("verdict", "gold") == (1, 1, 0, 0)
    assert cells("gold@bob", "gold@ann") == (1, 0, 1, 0)
    assert cells("verdict", f"run:{runs[1]}") == (2, 1, 0, 0)
    assert cells(f"run:{runs[1]}/annotator", "gold@ann") == (1, 1, 1, 0)
    assert cells("verdict", "reviewed@kim") == (1, 0, 0, 0)
    sources = read.sources(runs[0])
    assert {name: sources[name] for name in ("gold", "gold@ann", "gold@bob", "reviewed", f"run:{runs[1]}")} == {
        "gold": 3, "gold@ann": 3, "gold@bob": 2, "reviewed": 1, f"run:{runs[1]}": 3,
    }  # fmt: skip
    table = read.placed(runs[0], "gold@bob", [item], ["false", "true"])
    assert sorted(zip(*(table[name].tolist() for name in ("row", "column", "value")), strict=True)) == [
        (0, 0, 1.0), (1, 0, 0.0),
    ]  # fmt: skip


def test_cells_labelled_by_only_one_side_are_not_scored(project):
    codebook = make_codebook(2)
    x, y = codebook.items
    raters = {
        "d0": {"ann": {x: True, y: False}, "bob": {x: True}},  # ann and bob agree on the one common label
        "d1": {"ann": {x: True, y: True}, "bob": {x: True, y: False}},
        "d2": {"ann": {x: True}, "bob": {y: True}},  # no common label
        "d3": {"ann": {"a label of later": True}, "bob": {x: True}},
    }
    project.store.documents.add(Document(id, {"text": "t"}, gold=values) for id, values in raters.items())
    settings = RunSettings(protocol="single", codebook=codebook, role_models={"annotator": ROLE_MODEL}, templates={})
    run = project.store.runs.create(settings, list(raters)).run_id
    cells = project.store.evaluations.cells(run, "gold@bob", reference="gold@ann")
    assert set(cells) == {Cell(x, True, True, 2), Cell(y, True, False, 1)}


def test_gold_labels_missing_from_the_runs_codebook_are_ignored(project):
    codebook = make_codebook(1)
    (x,) = codebook.items
    project.store.documents.add(
        Document(id, {"text": "t"}, gold={"gold": values})
        for id, values in {"d0": {x: True, "a label of later": True}, "d1": {"a label of later": False}}.items()
    )
    settings = RunSettings(protocol="single", codebook=codebook, role_models={"annotator": ROLE_MODEL}, templates={})
    run = project.store.runs.create(settings, ["d0", "d1"]).run_id
    asyncio.run(store_debate(project, run, "d0", {"annotator": {x: True}}, {x: True}))
    asyncio.run(store_debate(project, run, "d1", {"annotator": {x: True}}, {x: True}))
    # d0 is right on the only label of the run's codebook; d1 has no gold for it.
    assert project.store.evaluations.cells(run) == (Cell(x, True, True, 1),)


def test_documents_used_as_examples_are_excluded_from_scores(project):
    codebook = make_codebook(1)
    label = codebook.labels[0].model_copy(update={"include": ("from d0",)})
    codebook = codebook.model_copy(update={"labels": (label,)})
    project.store.documents.add(Document(f"d{n}", {"text": "t"}, gold={"gold": {label.id: True}}) for n in range(2))
    settings = RunSettings(protocol="single", codebook=codebook, role_models={"annotator": ROLE_MODEL}, templates={})
    run = project.store.runs.create(settings, ["d0", "d1"]).run_id

    async def debates():
        for id in ("d0", "d1"):
            await store_debate(project, run, id, {"annotator": {label.id: True}}, {label.id: True})

    asyncio.run(debates())
    assert project.store.evaluations.cells(run) == (Cell(label.id, True, True, 2),)

    def add_example(cursor):
        cursor.execute("INSERT INTO codebook_examples VALUES ('d0', ?, 'include', 'from d0', 1, 0, 'kim')", [label.id])

    project._writer.do(add_example)
    assert project.store.evaluations.cells(run) == (Cell(label.id, True, True, 1),)
    assert project.store.evaluations.example_documents(run) == ["d0"]
