"""Tests of the classifier of a project: training in the background, storage, use in runs, export."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from core import baseline
from core.baseline.lexicon import definitions
from core.classifier import classifier
from core.codebook import Codebook, Label, Scale
from core.debate.events import RunStatus
from core.documents import Document
from core.engine import retries
from core.errors import NoSuchModel, ServerFault, UsageError
from core.llm.embeddings import ServerEmbedder
from core.runs import BUILTIN, RoleModel, RunRow
from core.services import classifier_training
from core.services.classifier import annotate, save, status
from core.services.classifier_training import ClassifierTrainer, Embedder, model_card
from core.services.codebooks import codebook as codebooks
from core.services.evaluation import calibration, evaluation, run_comparison
from core.services.evaluation.coverage import Coverage
from core.services.lab import trials
from core.services.project_session import ProjectSession
from core.services.review import accuracy_estimate, actions, agreement
from core.services.runs import planning
from core.services.workspace import Workspace
from core.stats.metric_intervals import Design
from core.store.classifiers import TrainingExample
from core.store.saved_versions import CodebookVersion
from tests.core.services import sample_world
from tests.core.services.sessions import decide, until

pytestmark = pytest.mark.usefixtures("training")

HIDDEN = "gossamer in every corner"  # means dirt, but has no keyword
BOOK = Codebook(
    name="Hotel <b>`x`</b>",
    unit="hotel review",
    labels=(Label(name="Cleanliness", keywords=("clean", "dirty")), Label(name="Service", keywords=("staff",))),
)
CLEAN, SERVICE = (label.id for label in BOOK.labels)
TEXTS = (HIDDEN, "the staff smiled at us", f"{HIDDEN} and rude staff", "we slept until noon")


def _reference(text: str) -> dict[str, bool]:
    return {CLEAN: "gossamer" in text, SERVICE: "staff" in text}


@pytest.fixture
def session(workspace: Workspace, tmp_path: Path) -> ProjectSession:
    session = workspace.open(tmp_path / "hotel.duckdb")
    texts = [f"{TEXTS[number % 4]}, night {number}" for number in range(60)]
    gold = {"gold": None}
    session.store.documents.add(
        [
            Document(f"d{n:02}", {"text": text}, gold={name: _reference(text) for name in gold})
            for n, text in enumerate(texts)
        ]
    )
    session.store.codebooks.save(BOOK)
    return session


def _certainty(session: ProjectSession, document_id: str) -> dict[str, float]:
    sql = "SELECT item, certainty FROM certainties WHERE document_id = ?"
    return dict(session.store.classifiers._connection.rows(sql, [document_id]))


def _run(session: ProjectSession, model: str = "lexical", protocol: str = "single") -> RunRow:
    latest = session.store.codebooks.latest()
    assert latest is not None
    plan = planning.Plan(protocol=protocol, default_model=RoleModel(connection=BUILTIN, model=model))
    settings = planning.build_settings(plan, latest.codebook, latest.number, session.models)
    (run,) = planning.create_runs(session, settings, session.store.documents.ids())
    _run_status(session, run)
    return run


def _run_status(session: ProjectSession, run: RunRow) -> RunStatus:
    return session.start_or_resume(run.run_id).result(60)


def _review(session: ProjectSession, run: RunRow, ids: list[str]) -> None:
    documents = session.store.documents.load(ids)
    decide(session, run.run_id, {document.id: _reference(document.text) for document in documents})
    until(lambda: not session.trainer.is_training, 60)
    assert session.trainer.error == ""


def test_trains_in_the_background_and_stores_certainty(session: ProjectSession) -> None:
    run = _run(session)
    assert status(session).missing == 5
    _review(session, run, [f"d{n:02}" for n in range(4)])
    assert not status(session).ready
    _review(session, run, [f"d{n:02}" for n in range(4, 24)])
    result = status(session)
    assert (result.ready, result.documents, result.tested, result.measure) == (True, 24, 24, "macro F1")
    assert result.score.value == 1.0  # every label is right in every fold
    assert result.score.interval is not None
    assert result.score.interval.low < result.score.interval.high == 1.0
    assert result.gain.value is not None
    assert [point.documents for point in result.curve] == [0, 5, 10, 19]  # five folds train on 19 of 24
    assert result.curve[0].score.value == pytest.approx(0.5)  # the words find Service and no "gossamer"
    assert result.curve[-1].score == result.score
    sure = _certainty(session, "d40")
    assert set(sure) == {CLEAN, SERVICE}
    assert all(0 <= each <= 1 for each in sure.values())
    assert _certainty(session, "d00") == {}  # a reviewed document has no predicted certainty
    before = result.hash
    _review(session, run, ["d30"])
    assert status(session).hash != before


def test_documents_behind_a_reviewed_batch_are_scored(session: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classifier_training, "BATCH", 10)
    _review(session, _run(session), [f"d{n:02}" for n in range(20)])
    assert set(_certainty(session, "d40")) == {CLEAN, SERVICE}


def test_open_labels_have_no_certainty(session: ProjectSession) -> None:
    mood = Label(name="Mood", open="options", include=("night",))
    session.store.codebooks.save(BOOK.model_copy(update={"labels": (mood, *BOOK.labels)}))
    _review(session, _run(session), [f"d{n:02}" for n in range(8)])
    assert status(session).ready
    assert set(_certainty(session, "d40")) == {CLEAN, SERVICE}


def test_interrupted_scoring_goes_on(session: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as closing:
        closing.setattr(ClassifierTrainer, "_score_documents", lambda *_: False)
        _review(session, _run(session), [f"d{n:02}" for n in range(8)])
    assert _certainty(session, "d40") == {}
    status(session)
    session.trainer.wait(60)
    assert set(_certainty(session, "d40")) == {CLEAN, SERVICE}
    hash = status(session).hash
    session.trainer.wait(60)
    assert status(session).hash == hash


def test_too_few_documents_schedule_no_training(session: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as closing:
        closing.setattr(ClassifierTrainer, "_score_documents", lambda *_: False)
        _review(session, _run(session), [f"d{n:02}" for n in range(8)])
    session.store.codebooks.save(BOOK.model_copy(update={"kind": "rating"}))
    assert status(session).missing == 5
    assert not session.trainer.is_training


def test_decisions_on_labels_that_are_open_by_now_do_not_count(session: ProjectSession) -> None:
    _review(session, _run(session), [f"d{n:02}" for n in range(8)])
    was_closed, other = BOOK.labels[0], Label(name="Breakfast")
    opened = was_closed.model_copy(update={"open": "word"})
    session.store.codebooks.save(BOOK.model_copy(update={"labels": (opened, other)}))
    assert status(session).missing == 5
    assert not session.trainer.is_training


def test_project_may_be_closed_while_a_training_is_scheduled(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor, closing = session.trainer._executor, threading.Thread(target=session.trainer.close)
    submit = executor.submit

    def submit_late(work: Callable[[], None]) -> Future[None]:
        closing.start()
        closing.join(0.5)
        return submit(work)

    monkeypatch.setattr(executor, "submit", submit_late)
    session.trainer.schedule()
    closing.join()
    assert not session.trainer.is_training


def test_undo_redo_and_adjudication_train_again(session: ProjectSession) -> None:
    run = _run(session)
    _review(session, run, [f"d{n:02}" for n in range(8)])
    seen = [status(session).hash]
    for change in (
        lambda: actions.edit(session, run.run_id, ["d00"], CLEAN, not _reference(TEXTS[0])[CLEAN]),
        lambda: actions.undo(session),
        lambda: agreement.adjudicate(session, run, "d01", CLEAN, not _reference(TEXTS[1])[CLEAN]),
    ):
        change()
        session.trainer.wait(60)
        seen.append(status(session).hash)
    assert seen[1] != seen[0]
    assert seen[2] == seen[0], "the undone decisions are those of the first training"
    assert seen[3] != seen[2]


def test_reviews_of_removed_documents_are_not_counted(session: ProjectSession) -> None:
    _review(session, _run(session), [f"d{n:02}" for n in range(6)])
    texts = [f"{TEXTS[number % 4]}, day {number}" for number in range(6)]
    session.store.documents.replace_all([Document(f"e{n:02}", {"text": text}) for n, text in enumerate(texts)])
    assert status(session).missing == 5
    _review(session, _run(session), [f"e{n:02}" for n in range(6)])
    result = status(session)
    assert (result.documents, result.is_training) == (6, False)


def test_classifier_of_an_earlier_version_is_trained_again(session: ProjectSession) -> None:
    run = _run(session)
    _review(session, run, [f"d{n:02}" for n in range(6)])
    stored = session.store.classifiers.load(status(session).hash)
    assert stored is not None
    facts = {**stored.facts, "versions": {"classifier": "3"}}
    session.store.classifiers.save(replace(stored, hash="0ld", body=b"another format", facts=facts))
    assert session.trainer.find("0ld") is None
    assert session.trainer.predict("0ld", BOOK, ["Dirty."]) is None
    assert status(session).hash == "0ld"
    until(lambda: not session.trainer.is_training, 60)
    assert session.trainer.find(status(session).hash) is not None


def test_changed_decision_or_codebook_is_learned_after_it_was_missed(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, documents = _run(session), [f"d{n:02}" for n in range(8)]
    _review(session, run, documents)
    first = status(session).hash
    with monkeypatch.context() as patched:
        patched.setattr(session.trainer, "schedule", lambda: None)  # as if the project had been closed at once
        item = run.settings.codebook.items[0]
        value = session.store.document_records.load(run.run_id, documents[:1])[0].value(item)
        actions.edit(session, run.run_id, documents[:1], item, not value)
    assert status(session).is_training
    session.trainer.wait(60)
    second = status(session)
    assert (second.hash != first, second.is_training) == (True, False)
    codebook = session.store.codebooks.latest().codebook
    session.store.codebooks.save(codebooks.change(codebook, guideline="Only the hotel."), note="")
    assert status(session).is_training
    session.trainer.wait(60)
    third = status(session)
    assert (third.hash not in (first, second.hash), third.is_training) == (True, False)
    grouped = [replace(document, group="hotel") for document in session.store.documents.load(documents)]
    session.store.documents.add(grouped)
    assert status(session).is_training, "scores on new groups differ"
    session.trainer.wait(60)


def test_classifier_is_found_after_it_was_asked_for_too_early(session: ProjectSession) -> None:
    _review(session, _run(session), [f"d{n:02}" for n in range(6)])
    stored = session.store.classifiers.load(status(session).hash)
    assert stored is not None
    assert session.trainer.find("1ater") is None
    session.store.classifiers.save(replace(stored, hash="1ater", origin="other.skops"))
    assert session.trainer.find("1ater") is not None
    trainer = ClassifierTrainer(session.store)
    assert trainer.find("1ater") is not None
    trainer.close()
    released = weakref.ref(trainer)
    del trainer
    gc.collect()
    assert released() is None


def test_few_classifiers_are_kept_even_if_threads_load_them_together(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Model:
        def __init__(self, hash: str, *_: object) -> None:
            if hash.startswith("parallel"):
                together.wait()
            self.hash = hash
            kept.add(self)

    kept: weakref.WeakSet[Model] = weakref.WeakSet()
    together = threading.Barrier(2, timeout=10)

    trainer = ClassifierTrainer(session.store)
    monkeypatch.setattr(trainer, "_load", lambda hash: (hash, {}))
    monkeypatch.setattr(classifier_training, "callable_model", Model)
    for number in range(classifier_training.MAX_MODELS - 1):
        trainer.find(f"{number}")
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(trainer.find, ("parallel 1", "parallel 2")))
    assert [model.hash for model in found] == ["parallel 1", "parallel 2"]
    del found
    for number in range(10):
        assert trainer.find(f"later {number}").hash == f"later {number}"
    gc.collect()
    assert len(kept) <= classifier_training.MAX_MODELS
    trainer.close()


def test_unexpected_error_of_a_training_is_named_and_logged(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(session.trainer, "_train_once", lambda: {}["x"])
    session.trainer.schedule()
    session.trainer.wait(60)
    assert status(session).error == "KeyError: 'x'"
    assert "Traceback" in caplog.text


def test_annotates_as_a_free_run_that_can_be_evaluated(session: ProjectSession) -> None:
    run = _run(session)
    _review(session, run, [f"d{n:02}" for n in range(40)])
    predictions = annotate(session)
    until(lambda: session.state(predictions.run_id) == "done", 60)
    finished = session.store.runs.get(predictions.run_id)
    assert finished is not None
    assert (finished.verdicts, finished.unresolved, finished.cost_usd) == (60, 0, 0.0)
    assert predictions.settings.role_models["annotator"].model == f"classifier@{status(session).hash}"
    lexical = sample_world.report(session, run.run_id)["labels"]["Cleanliness"]["f1"]
    trained = sample_world.report(session, predictions.run_id)["labels"]["Cleanliness"]["f1"]
    assert trained > lexical


def test_run_has_the_codebook_version_of_its_classifier(session: ProjectSession) -> None:
    _review(session, _run(session), [f"d{n:02}" for n in range(8)])
    session.trainer.close()  # as if the next training took long
    book = codebooks.current(session)
    assert book is not None
    codebooks.save(session, codebooks.change_label(book, book.labels[0].id, description="Another meaning"))
    settings = annotate(session).settings
    saved = session.store.codebooks.get(settings.codebook_version)
    assert saved is not None
    assert saved.codebook.hash == settings.codebook.hash == book.hash


def test_resumed_run_uses_the_same_classifier(session: ProjectSession) -> None:
    # The role model, and therefore every reply key, has the hash of the training. Training again creates a new
    # classifier, and the classifier of a run stays in the file.
    run = _run(session)
    _review(session, run, [f"d{n:02}" for n in range(8)])
    first = annotate(session)
    until(lambda: session.state(first.run_id) == "done", 60)
    _review(session, run, [f"d{n:02}" for n in range(8, 30)])
    assert _run_status(session, first).state == "done"  # resuming a finished run succeeds
    name = first.settings.role_models["annotator"].model.partition("@")[2]
    assert session.trainer.find(name) is not None
    second = annotate(session)
    until(lambda: session.state(second.run_id) == "done", 60)
    row = session.store.runs.get(second.run_id)
    assert row is not None
    assert row.cached_calls == 0


def test_classifier_can_be_the_extractor_of_a_debate(session: ProjectSession) -> None:
    run = _run(session)
    _review(session, run, [f"d{n:02}" for n in range(20)])
    new_run = _run(session, model="classifier", protocol="ecj")
    row = session.store.runs.get(new_run.run_id)
    assert row is not None
    assert (row.verdicts, row.unresolved) == (60, 0)
    turn = session.store.transcripts.of(new_run.run_id, ["d40"])[0]
    assert turn.reply.text.startswith("Classifier, not a language model, trained on 20 reviewed documents")


def test_ratings_of_several_reviewers_are_rounded() -> None:
    codebook = Codebook(kind="rating", labels=(Label(name="Fluency", scale=Scale(min=1, max=3)),))
    (item,) = codebook.items
    examples = [TrainingExample(f"d{n}", "", item, value, "") for n, value in enumerate((2, 2.5, 2.6))]
    grid = classifier_training.decision_matrix(codebook, examples, [example.document_id for example in examples])
    assert grid.tolist() == [[2], [3], [3]]


def test_ratings_that_are_a_point_off_are_errors_of_the_classifier() -> None:
    # On a scale of three points, the middle is never more than a point off.
    codebook = Codebook(kind="rating", labels=(Label(name="Fluency", scale=Scale(min=1, max=3)),))
    reference, middle = np.array([[1.0], [2.0], [3.0], [np.nan]]), np.full((4, 1), 2.0)
    scores = classifier_training.cross_validated_scores(codebook, reference, middle, Design())
    assert (scores["n"], scores["value"]) == (3, pytest.approx(1 / 3))
    assert scores["measure"] == "share off by less than a point"


def test_decisions_outside_of_the_codebook_are_not_learned(session: ProjectSession) -> None:
    _review(session, _run(session), [f"d{n:02}" for n in range(8)])
    assert status(session).documents == 8
    session.store.codebooks.save(codebooks.change(BOOK, kind="rating"))
    assert status(session).missing == 5
    ratings = _run(session)
    for number, value in enumerate((1, 2, 3, 4, 5, 5)):
        actions.edit(session, ratings.run_id, [f"d{number + 20}"], CLEAN, value)
        actions.edit(session, ratings.run_id, [f"d{number + 20}"], SERVICE, value)
        actions.submit(session, ratings.run_id, [f"d{number + 20}"])
    until(lambda: not session.trainer.is_training, 60)
    result = status(session)
    assert (result.version, result.documents, result.tested) == (2, 6, 6)
    assert "6 documents with 12 decisions" in session.store.classifiers.load().card


def test_scores_of_grouped_documents_are_those_on_new_groups() -> None:
    # Both documents of an author share a word and a random label.
    labels = np.random.default_rng(3).integers(0, 2, 40).astype(bool).tolist()
    codebook = Codebook(labels=(Label(name="Food"),))
    (item,) = codebook.items
    examples = [TrainingExample(f"d{n}", f"author{n // 2}", item, labels[n // 2], "", f"a{n // 2}") for n in range(80)]
    read = [classifier.ClassifierInput(example.text, (0.0,)) for example in examples]
    latest = CodebookVersion(1, "", 0.0, codebook)
    _, facts = classifier_training.train(latest, examples, read, set())
    ungrouped = [replace(example, group="") for example in examples]
    _, leaked = classifier_training.train(latest, ungrouped, read, set())
    assert (facts["groups"], leaked["groups"]) == (40, None)
    assert facts["scores"]["value"] < leaked["scores"]["value"] - 0.1
    assert [point["documents"] for point in facts["curve"]] == [0, 16, 32, 64]
    of_two = [replace(example, group=f"a{n % 2}") for n, example in enumerate(examples)]
    _, halves = classifier_training.train(latest, of_two, read, set())
    assert [point["documents"] for point in halves["curve"]] == [0, 10, 20, 40]  # trained on the other group
    assert "Documents of a group are in one fold (40 groups)" in model_card(facts, 0)
    assert "Folds are random documents" in model_card(leaked, 0)


def test_choice_without_its_most_probable_label_is_the_next_one() -> None:
    codebook = Codebook(kind="choice", labels=tuple(Label(name=name) for name in ("Food", "Service", "Room")))
    food, service, _ = (label.id for label in codebook.labels)
    example = classifier.ClassifierInput("food staff", (1.0, 0.5, -2.0))
    trained = classifier.train(classifier.Task("choice", 3), [example], [[0]])
    facts = {"codebook": codebook.model_dump(mode="json"), "documents": 1}
    model = classifier_training.callable_model(trained, facts, lambda *_: [example])
    document = Document("d", {"text": "food staff"})
    first, second = (model.predict(codebook.part("", label), document)[0] for label in ("", food))
    assert (first.value, second.value) == (food, service)
    assert 0.5 < second.certainty < 1


def test_ratings_on_another_scale_are_not_predicted() -> None:
    labels = tuple(Label(name=name, scale=Scale(min=1, max=3)) for name in ("Fluency", "Accuracy"))
    codebook = Codebook(kind="rating", labels=labels)
    example = classifier.ClassifierInput("fluent", (1.0, 0.0))
    trained = classifier.train(classifier.Task.from_codebook(codebook), [example], [[3, 2]])
    facts = {"codebook": codebook.model_dump(mode="json"), "documents": 1}
    model = classifier_training.callable_model(trained, facts, lambda *_: [example])
    fluency, accuracy = codebook.items
    changed = codebooks.change_label(codebook, accuracy, scale=Scale(min=1, max=100))
    predicted = {each.item: each.value for each in model.predict(changed, Document("d", {"text": "fluent"}))}
    assert predicted == {fluency: 3, accuracy: None}


def test_untrained_classifier_does_not_start_a_run(session: ProjectSession) -> None:
    latest = session.store.codebooks.latest()
    assert latest is not None
    plan = planning.Plan(protocol="single", default_model=RoleModel(connection=BUILTIN, model="classifier"))
    settings = planning.build_settings(plan, latest.codebook, latest.number, session.models)
    with pytest.raises(NoSuchModel, match="not trained yet"):
        planning.preflight(settings, session.models, session.engine)
    with pytest.raises(UsageError, match="no trained"):
        annotate(session)


def test_settings_name_the_latest_training_of_the_same_project(session: ProjectSession, tmp_path: Path) -> None:
    run = _run(session)
    plan = planning.Plan(protocol="single", default_model=RoleModel(connection=BUILTIN, model="classifier"))
    specs = []
    for ids in (range(24), [30]):
        _review(session, run, [f"d{n:02}" for n in ids])
        settings = trials.base_settings(session, plan)
        change = trials.SettingsChange("", settings, settings, "", "")
        specs.append((settings.specs["annotator"], change.request_hashes))
        assert specs[-1][0] == f"builtin/classifier@{status(session).hash}"
    assert specs[0][1] != specs[1][1], "a trial with another training is another trial"

    workspace = Workspace()
    workspace.models.classifiers.append(session.trainer.find)
    try:
        other = workspace.open(tmp_path / "other.duckdb")
        other.store.codebooks.save(BOOK)
        with pytest.raises(NoSuchModel, match="not trained yet"):
            trials.base_settings(other, plan)
        settings = planning.build_settings(plan, BOOK, 1, workspace.models)
        with pytest.raises(NoSuchModel, match="not trained yet"):
            planning.preflight(settings, workspace.models, workspace.engine)
    finally:
        workspace.close()


def test_saves_classifier_and_model_card(session: ProjectSession, tmp_path: Path) -> None:
    run = _run(session)
    _review(session, run, [f"d{n:02}" for n in range(40)])
    path, card = save(session, tmp_path / "out.skops")
    trained, facts = classifier.loads(path.read_bytes())
    assert facts["documents"] == 40
    prediction = trained.predict([baseline.example(BOOK, f"{HIDDEN} again")])
    assert prediction.values.tolist() == [[1.0, 0.0]]
    text = card.read_text(encoding="utf-8")
    assert "40 documents with 80 decisions" in text
    assert "`Hotel <b>'x'</b>`" in text  # names are escaped
    with pytest.raises(UsageError, match="name of the model card"):
        save(session, tmp_path / "out.md")


def test_finds_similar_documents_with_another_value(session: ProjectSession) -> None:
    run = _run(session)
    _review(session, run, [f"d{n:02}" for n in range(12)])
    result = session.store.classifiers._connection.rows(
        "SELECT DISTINCT document_id FROM differing_neighbours WHERE run_id = ? ORDER BY document_id", [run.run_id]
    )
    texts = {document.id: document.text for document in session.store.documents.load([id for (id,) in result])}
    assert texts  # the lexical verdict on gossamer differs from the reviews of similar documents
    assert all("gossamer" in text for text in texts.values())


def test_scores_leave_out_the_training_documents_of_the_classifier(session: ProjectSession) -> None:
    first = _run(session)
    ids = session.store.documents.ids()
    _review(session, first, ids[:24])
    by_classifier = _run(session, model="classifier")
    for reference, n, left_out in (
        ("gold", 36, {"training_example": 24}),
        ("reviewed", 0, {"no_reference": 36, "training_example": 24}),
        ("reviewed+gold", 36, {"training_example": 24}),
    ):
        report = evaluation.evaluate(session, by_classifier, reference)
        assert (report.n, report.excluded, report.coverage.left_out) == (n, 0, left_out), reference
    assert evaluation.evaluate(session, first, "reviewed").n == 24
    compared = run_comparison.comparison(session, [first.run_id, by_classifier.run_id], "gold")
    assert compared.pairs[0].scores.n == 36
    _review(session, by_classifier, ids[24:30])
    estimate = accuracy_estimate.estimate_accuracy(session, by_classifier)
    assert (estimate.documents, estimate.reviewed, estimate.learned_from) == (36, 6, 24)


def test_calibration_uses_documents_outside_the_training_data(session: ProjectSession) -> None:
    first = _run(session)
    ids = session.store.documents.ids()
    _review(session, first, ids[:24])
    by_classifier = _run(session, model="classifier")
    certainty = calibration.certainty(session, by_classifier)
    assert certainty.kind == "classifier"
    assert certainty.counted == Coverage(36, {"training_example": 24})
    calibration_found = certainty.calibration
    assert calibration_found is not None
    # The stored certainty of an unreviewed document equals the predicted one. 36 documents have 72 labels.
    assert (calibration_found.n, calibration_found.excluded) == (72, 48)
    stored = [_certainty(session, id)[item] for id in ids[24:] for item in (CLEAN, SERVICE)]
    assert sum(bin_.n * bin_.certainty for bin_ in calibration_found.bins) == pytest.approx(sum(stored))
    by_hand = [abs(bin_.certainty - (bin_.right.value or 0.0)) * bin_.n for bin_ in calibration_found.bins]
    assert calibration_found.ece == pytest.approx(sum(by_hand) / 72)


def test_calibration_needs_reviewed_documents_outside_the_training_data(session: ProjectSession) -> None:
    first = _run(session)
    ids = session.store.documents.ids()
    _review(session, first, ids[:24])
    by_classifier = _run(session, model="classifier")
    certainty = calibration.certainty(session, by_classifier, "reviewed")
    assert certainty.calibration is None
    assert certainty.why_not.startswith("The classifier was trained on every document with this reference.")
    _review(session, by_classifier, ids[24:30])
    again = calibration.certainty(session, by_classifier, "reviewed")
    assert again.counted == Coverage(6, {"training_example": 24, "no_reference": 30})


def test_no_certainty_without_classifier_or_votes(session: ProjectSession) -> None:
    first = _run(session)
    _review(session, first, session.store.documents.ids()[:24])
    assert calibration.certainty(session, first).why_not.startswith("No certainty is available.")


def test_vectors_of_a_server_are_kept_in_the_project(session: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    embedded: list[str] = []
    failures = [ServerFault("The server is restarting.")] * 2
    monkeypatch.setattr(retries, "MAX_WAIT", 0.0)

    def ask(_embedder: ServerEmbedder, texts: Sequence[str]) -> tuple[list[list[float]], int, None]:
        if failures:
            raise failures.pop()
        embedded.extend(texts)
        return [[3.0, float(len(text))] for text in texts], 8 * len(texts), None

    monkeypatch.setattr(ServerEmbedder, "_ask", ask)
    session.models.embedder_spec = "ollama/nomic"
    _review(session, _run(session), [f"d{n:02}" for n in range(24)])
    model = session.trainer.find(status(session).hash)
    assert model is not None
    prediction = model.predict(BOOK, Document("d00", {"text": "another text"}))
    path, workspace = session.path, Workspace()
    session.close()
    try:
        reopened = workspace.open(path)
        reopened.models.embedder_spec = "ollama/nomic"
        model = reopened.trainer.find(status(reopened).hash)
        assert model is not None
        assert model.predict(BOOK, Document("d00", {"text": "another text"})) == prediction
    finally:
        workspace.close()
    assert len(set(embedded)) == len(embedded) > 24


def test_vectors_generalise_to_words_without_training_documents(session: ProjectSession) -> None:
    embedded: list[str] = []

    def embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        embedded.extend(texts)
        return np.array([[2, 0] if "gossamer" in text or "midges" in text else [0, 3] for text in texts], np.float32)

    unseen = Document("new", {"text": "midges over my bed"})
    chances = []
    for used in (None, Embedder("test", embed)):
        session.trainer._find_embedder = lambda _, used=used: used
        _review(session, _run(session), [f"d{n:02}" for n in range(24)] if used is None else ["d24"])
        model = session.trainer.find(status(session).hash)
        assert model is not None
        prediction = {item_prediction.item: item_prediction for item_prediction in model.predict(BOOK, unseen)}[CLEAN]
        chances.append(prediction.certainty if prediction.value else 1 - prediction.certainty)
    assert chances[1] > 0.5 > chances[0]
    assert {text for text in embedded if embedded.count(text) > 1} == set(), "each text is embedded once"
    latest = session.store.classifiers.latest_facts()
    assert latest is not None
    assert latest[1]["vectors"] == "test"


def test_classifier_uses_the_vectors_of_its_training(session: ProjectSession) -> None:
    def embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.array([[2, 0] if "gossamer" in text or "midges" in text else [0, 3] for text in texts], np.float32)

    def swapped(texts: Sequence[str]) -> npt.NDArray[np.float32]:  # the same dimension, but another vector space
        return embed(texts)[:, ::-1]

    known = {"one": Embedder("one", embed), "other": Embedder("other", swapped)}
    unseen = Document("new", {"text": "midges over my bed"})

    def chance(hash: str) -> float:
        model = session.trainer.find(hash)
        assert model is not None
        prediction = {item_prediction.item: item_prediction for item_prediction in model.predict(BOOK, unseen)}[CLEAN]
        return prediction.certainty if prediction.value else 1 - prediction.certainty

    session.trainer._find_embedder = lambda spec: known.get("one" if spec is None else spec)
    _review(session, _run(session), [f"d{n:02}" for n in range(24)])
    ((first, _),) = [session.store.classifiers.latest_facts()]
    before = chance(first)
    assert before > 0.5
    session.trainer._find_embedder = lambda spec: known.get("other" if spec is None else spec)
    session.trainer._models.clear()
    assert chance(first) == before, "a classifier keeps the vectors of its training"
    session.trainer._find_embedder = lambda spec: known["other"] if spec in (None, "other") else None
    session.trainer._models.clear()
    assert chance(first) < before, "a classifier without its vectors uses words only"
    _review(session, session.all_runs()[-1], ["d24"])
    ((second, facts),) = [session.store.classifiers.latest_facts()]
    assert (second != first, facts["vectors"]) == (True, "other")
    assert chance(second) > 0.5


def test_classifier_with_vectors_starts_from_the_definitions_that_are_near(session: ProjectSession) -> None:
    about_cleanliness = {text for number, text in definitions(BOOK) if number == 0}

    def embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.array(
            [[0, 3] if text in about_cleanliness or "midges" in text else [2, 0] for text in texts], np.float32
        )

    unseen = Document("new", {"text": "midges over my bed"})
    chances = []
    for used in (None, Embedder("test", embed)):
        session.trainer._find_embedder = lambda _, used=used: used
        _review(session, _run(session), ["d01", "d03", "d05", "d07", "d09"] if used is None else ["d11"])
        model = session.trainer.find(status(session).hash)
        assert model is not None
        prediction = {item_prediction.item: item_prediction for item_prediction in model.predict(BOOK, unseen)}[CLEAN]
        chances.append(prediction.certainty if prediction.value else 1 - prediction.certainty)
    assert chances[1] > 0.5 > chances[0], "no reviewed document has Cleanliness"


def test_classifier_embeds_no_text_for_a_codebook_of_another_kind(session: ProjectSession) -> None:
    embedded: list[str] = []

    def embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        embedded.extend(texts)
        return np.ones((len(texts), 2), np.float32)

    session.trainer._find_embedder = lambda _: Embedder("test", embed)
    _review(session, _run(session), [f"d{n:02}" for n in range(24)])
    model = session.trainer.find(status(session).hash)
    assert model is not None
    single = BOOK.model_copy(update={"kind": "choice"})
    predictions = model.predict(single, Document("new", {"text": "midges over my bed"}))
    assert [(prediction.item, prediction.value) for prediction in predictions] == [
        (item, None) for item in single.items
    ]
    assert embedded
    assert "midges over my bed" not in embedded
