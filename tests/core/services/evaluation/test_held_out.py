"""Tests of the documents that may have shaped a codebook or prompts, and of the words beside scores on them."""

from __future__ import annotations

import pytest

from core.codebook import Codebook
from core.documents import Document
from core.runs import RunRow, Template
from core.services import document_samples, manuscript
from core.services.codebooks import codebook as codebooks
from core.services.evaluation import held_out
from core.services.evaluation.evaluation import evaluate, to_json
from core.services.evaluation.run_comparison import comparison, comparison_report
from core.services.lab import accepted_changes
from core.services.project_session import ProjectSession
from core.services.review.accuracy_estimate import estimate_accuracy
from core.store.project import Project
from tests.core.services.sample_world import CODEBOOK, both, session_on
from tests.core.services.sessions import BOOK, annotate, studio, until
from tests.core.store.helpers import make_settings, record_review, set_status, store_debate, store_debates

DOCUMENTS = [f"d{n}" for n in range(40)]
CHANGED = codebooks.change_label(CODEBOOK, "a", description="Errors of the first run taught this.")
CAVEAT = "of the scored documents are not held out and may have shaped the codebook or prompts"


def add_run(project: Project, book: Codebook, wrong: int = 0, **settings: object) -> RunRow:
    """Add a finished run that misses Beta in the first ``wrong`` documents."""
    run = project.store.runs.create(make_settings(book, **settings), DOCUMENTS).run_id
    verdicts = {id: both("a" if n < wrong else "ab") for n, id in enumerate(DOCUMENTS)}
    store_debates(store_debate(project, run, id, {"judge": values}, values) for id, values in verdicts.items())
    return project.store.runs.require(run)


@pytest.fixture
def session(project: Project) -> ProjectSession:
    """Return a session on documents with gold, some of which the Lab holds out."""
    project.store.documents.add(Document(id, {"text": id}, gold={"gold": both("ab")}) for id in DOCUMENTS)
    opened = session_on(project)
    document_samples.holdout_split(opened)
    return opened


def test_comparison_of_two_versions_names_documents_that_are_not_held_out(project, session):
    first, second = add_run(project, CODEBOOK, 20), add_run(project, CHANGED)
    held = document_samples.held_out_among(session, DOCUMENTS)
    assert 0 < len(held) < 40
    sentence = comparison_report(session, [first.run_id, second.run_id])["sentence"]
    difference, _, without = sentence.partition(f" {40 - len(held)} {CAVEAT}. Without them: ")
    assert " is better on 40 shared documents: " in difference
    assert f" on {len(held)} shared documents: " in without
    (back,) = comparison(session, [second.run_id, first.run_id]).pairs
    assert CAVEAT in back.sentence


def test_comparison_of_one_version_has_no_caveat(project, session):
    add_run(project, CODEBOOK, 20)
    runs = [add_run(project, CHANGED, wrong) for wrong in (20, 0)]
    (pair,) = comparison(session, [run.run_id for run in runs]).pairs
    assert pair.sentence.endswith("points.") or pair.sentence[-2].isdigit()
    assert CAVEAT not in pair.sentence


def test_only_the_pair_of_different_versions_has_the_caveat(project, session):
    runs = [add_run(project, book, wrong) for book, wrong in ((CODEBOOK, 20), (CODEBOOK, 10), (CHANGED, 0))]
    same, changed = comparison(session, [run.run_id for run in runs]).pairs
    assert (CAVEAT in same.sentence, CAVEAT in changed.sentence) == (False, True)


def test_changed_prompt_counts_and_shipped_prompt_of_another_moot_does_not(project, session):
    first = add_run(project, CODEBOOK, 20)
    for name, is_own in (("ecj/judge.v1", False), ("own/ecj/judge.v2", True)):
        run = add_run(project, CODEBOOK, templates={"judge": Template(name=name, text=f"Decide. {name}")})
        (pair,) = comparison(session, [first.run_id, run.run_id]).pairs
        assert (CAVEAT in pair.sentence) == is_own


def test_colour_and_order_of_labels_are_not_a_new_version(project, session):
    recoloured = codebooks.change_label(CODEBOOK, "a", colour=7)
    moved = recoloured.model_copy(update={"labels": recoloured.labels[::-1]})
    runs = [add_run(project, CODEBOOK, 20), add_run(project, moved)]
    (pair,) = comparison(session, [run.run_id for run in runs]).pairs
    assert CAVEAT not in pair.sentence


def test_label_from_after_the_first_use_of_a_version_did_not_shape_it(project):
    project.store.documents.add(Document(id, {"text": id}) for id in DOCUMENTS)
    session = session_on(project)

    def review(id: str) -> None:
        for item in "ab":
            record_review(project.store.reviews, id, item, None, True, actor="ada")
        set_status(project.store.reviews, id, "Submitted", actor="ada")

    first = add_run(project, CODEBOOK, 20)
    for id in DOCUMENTS[:3]:
        review(id)
    second = add_run(project, CHANGED)
    third = add_run(project, CHANGED)
    for id in DOCUMENTS[3:10]:
        review(id)
    later = add_run(project, CHANGED)
    for run in (second, third, later):
        assert held_out.shaping_documents(session, run) == {"d0", "d1", "d2"}
    assert held_out.shaping_documents(session, first) == frozenset()
    assert evaluate(session, second, "reviewed").basis.shaped_by == 3
    assert estimate_accuracy(session, second).caveat == f"3 {CAVEAT}"
    assert estimate_accuracy(session, first).caveat == ""
    assert (
        f"3 {CAVEAT}; scores on other documents may be lower."
        in manuscript.build(session, second, "reviewed").sections["Methods"][1]
    )


def test_evaluation_and_paper_name_the_documents_that_may_have_shaped_the_version(project, session):
    first, second = add_run(project, CODEBOOK, 20), add_run(project, CHANGED)
    count = 40 - len(document_samples.held_out_among(session, DOCUMENTS))
    report = evaluate(session, second)
    assert to_json(report)["basis"]["shaped_by"] == count
    assert report.describe_basis().endswith(f"{count} {CAVEAT}")
    assert (
        f"{count} {CAVEAT}; scores on other documents may be lower."
        in manuscript.build(session, second).sections["Methods"][1]
    )
    assert CAVEAT not in evaluate(session, first).describe_basis()
    assert CAVEAT not in manuscript.build(session, first).sections["Methods"][1]
    assert not evaluate(session, second, f"run:{first.run_id}").basis.shaped_by


@pytest.mark.parametrize("is_suggested", [True, False])
def test_gold_may_have_shaped_a_suggestion_that_was_accepted_before_any_run(tmp_path, is_suggested):
    with studio(tmp_path, documents=0) as (_, session):
        label = BOOK.labels[1]
        gold = {"gold": {label.id: True}}
        session.store.documents.add([Document(id, {"text": f"A gondolier {id}."}, gold=gold) for id in DOCUMENTS])
        changed = codebooks.change_label(BOOK, label.id, keywords=(*label.keywords, "gondolier"))
        codebooks.save(session, changed)
        if is_suggested:
            accepted_changes.record(session, BOOK, changed)
            until(lambda: (found := accepted_changes.accepted(session)) is not None and not found.is_running)
        run = annotate(session)
        held = document_samples.held_out_among(session, DOCUMENTS)
        assert held_out.shaping_documents(session, run) == ({*DOCUMENTS} - held if is_suggested else set())
