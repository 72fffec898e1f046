"""Tests of the error analysis of ratings with known errors."""

from __future__ import annotations

from core.codebook import Codebook, Label
from core.documents import Document
from core.services.evaluation import error_analysis
from tests.core.services import sample_world
from tests.core.store.helpers import make_settings, store_debate, store_debates

RATINGS = Codebook(kind="rating", labels=(Label(name="Clarity", id="c"), Label(name="Depth", id="d")))


def test_cue_words_of_a_rating_are_compared_with_all_correct_documents(project):
    # Ten documents for each rating from 1 to 5. The first two of each are rated too low or too high; they are about
    # noise, and so is one correct document for each rating.
    gold = {f"d{rating}{n}": {"c": rating, "d": rating} for rating in range(1, 6) for n in range(10)}
    project.store.documents.add(
        Document(id, {"text": "noise at night" if id[-1] in "012" else "quiet garden"}, gold={"gold": values})
        for id, values in gold.items()
    )
    run = project.store.runs.create(make_settings(RATINGS), list(gold))
    verdicts = {
        id: {item: {"0": 1, "1": 5}.get(id[-1], rating) for item, rating in values.items()}
        for id, values in gold.items()
    }
    store_debates(store_debate(project, run.run_id, id, {"judge": None}, verdict) for id, verdict in verdicts.items())
    session = sample_world.session_on(project)
    for label in RATINGS.labels:
        result = error_analysis.of_label(session, project.store.runs.get(run.run_id), label.id)
        assert [side.wrong for side in result.sides] == [4, 4]  # ratings of 1 and 5 cannot be wrong in one direction
        for side in result.sides:
            noise = next(cue for cue in side.cues if cue.word == "noise")
            # Of the 42 correct documents, five are about noise, and the two with the possible rating.
            assert (len(noise.errors), noise.hits) == (4, 7)


def test_documents_that_an_iteration_has_not_debated_are_not_right_there(project):
    ids = [f"d{n}" for n in range(10)]
    project.store.documents.add(Document(id, {"text": "t"}, gold={"gold": {"c": 5, "d": 5}}) for id in ids)
    runs = [
        project.store.runs.create(make_settings(RATINGS, iteration=number), ids, experiment_id="e") for number in (0, 1)
    ]
    wrong = {"c": 1, "d": 5}
    for run, debated in zip(runs, (ids, ids[:3]), strict=True):  # the second one was stopped
        store_debates(store_debate(project, run.run_id, id, {"judge": None}, wrong) for id in debated)
    result = error_analysis.of_label(sample_world.session_on(project), project.store.runs.get(runs[0].run_id), "c")
    low, high = result.sides
    assert (low.wrong, low.debated, low.consistent) == (10, 3, 3)
    assert (high.wrong, high.debated, high.consistent) == (0, 0, 0)


def test_label_with_most_errors_is_named(project):
    ids = [f"d{n}" for n in range(6)]
    project.store.documents.add(Document(id, {"text": "t"}, gold={"gold": {"d": 5}}) for id in ids)
    session = sample_world.session_on(project)
    run = project.store.runs.create(make_settings(RATINGS), ids)
    store_debates(store_debate(project, run.run_id, id, {"judge": None}, {"c": 5, "d": 5}) for id in ids[:3])
    assert error_analysis.label_with_most_errors(session, run) == "d", "no document has a reference for the first one"
    gold = [Document(f"e{n}", {"text": "t"}, gold={"gold": {"c": 5, "d": 5}}) for n in range(3)]
    project.store.documents.add(gold)
    run = project.store.runs.create(make_settings(RATINGS), [document.id for document in gold])
    verdicts = {"e0": {"c": 1, "d": 5}, "e1": {"c": 1, "d": 1}, "e2": {"c": 5, "d": 5}}
    store_debates(store_debate(project, run.run_id, id, {"judge": None}, values) for id, values in verdicts.items())
    assert error_analysis.label_with_most_errors(session, run) == "c"
    project.store.documents.add(Document(f"f{n}", {"text": "t"}, gold={"gold": {"c": 5, "d": 5}}) for n in range(2))
    run = project.store.runs.create(make_settings(RATINGS), ["f0", "f1"])
    store_debates(store_debate(project, run.run_id, id, {"judge": None}, {"c": 5, "d": 1}) for id in ("f0", "f1"))
    assert error_analysis.label_with_most_errors(session, run) == "d"
