"""Tests of importing a classifier file: labels are matched by name, invalid files are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from core.classifier import classifier
from core.codebook import Codebook, Label
from core.documents import Document
from core.errors import CodebookError, InputError, UsageError
from core.services.classifier import annotate_with_imported, import_classifier, load, status
from core.services.evaluation import calibration
from core.services.evaluation.coverage import Coverage
from core.services.project_session import ProjectSession
from core.services.workspace import Workspace
from tests.core.services.sessions import decide, queue_runs

pytestmark = pytest.mark.usefixtures("training")

HIDDEN = "cobwebs in every corner"  # means dirt, but has no keyword
TEXTS = (HIDDEN, "the staff smiled at us", f"{HIDDEN} and rude staff", "we slept until noon")
BOOK = Codebook(labels=(Label(name="Cleanliness", keywords=("dirty",)), Label(name="Service", keywords=("staff",))))
CLEAN, SERVICE = (label.id for label in BOOK.labels)


def filled(workspace: Workspace, path: Path, book: Codebook | None) -> ProjectSession:
    session = workspace.open(path)
    session.store.documents.add([Document(f"d{n:02}", {"text": f"{TEXTS[n % 4]}, night {n}"}) for n in range(64)])
    if book is not None:
        session.store.codebooks.save(book)
    return session


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[bytes]:
    """Return a classifier file trained in a project where cobwebs mean dirt."""
    workspace = Workspace()
    try:
        session = filled(workspace, tmp_path_factory.mktemp("trained") / "trained.duckdb", BOOK)
        (run,) = queue_runs(session)
        session.start_or_resume(run.run_id).result(30)
        texts = {f"d{n:02}": TEXTS[n % 4] for n in range(60)}
        decide(
            session,
            run.run_id,
            {id: {CLEAN: "cobwebs" in text, SERVICE: "staff" in text} for id, text in texts.items()},
        )
        session.trainer.wait(60)
        yield load(session).body
    finally:
        workspace.close()


def test_imported_classifier_annotates_labels_of_the_same_name(
    workspace: Workspace, tmp_path: Path, data: bytes
) -> None:
    here = Codebook(labels=(Label(name="Noise"), Label(name="#service", id="s1"), Label(name="CLEANLINESS", id="c1")))
    mood = Label(name="Mood", open="word")  # only authors answer it
    session = filled(workspace, tmp_path / "here.duckdb", here.model_copy(update={"labels": (*here.labels, mood)}))
    result = import_classifier(session, data, "hotel.skops")
    assert (result.documents, result.known, result.unknown) == (60, ("#service", "CLEANLINESS"), ("Noise",))
    assert import_classifier(session, data, "hotel.skops") == result  # importing again has the same result
    run = annotate_with_imported(session, result)
    session.start_or_resume(run.run_id).result(30)
    dirty, kind = (session.store.transcripts.verdict(run.run_id, id) for id in ("d60", "d61"))
    assert dirty is not None
    assert kind is not None
    assert (dirty.verdict.values["c1"], dirty.verdict.values["s1"]) == (True, False)
    assert (kind.verdict.values["c1"], kind.verdict.values["s1"]) == (False, True)
    assert [value for item, value in kind.verdict.values.items() if item not in ("c1", "s1")] == [None]
    assert not status(session).ready  # the project's own classifier is untrained
    # This codebook has another order of labels and one unknown label; predictions are matched by name.
    prediction = session.trainer.predict(result.hash, here, [HIDDEN])
    assert prediction is not None
    assert np.array_equal(prediction.values, [[np.nan, 0, 1]], equal_nan=True)
    assert np.array_equal(np.isnan(prediction.certainty), [[True, False, False]])
    assert session.trainer.predict(result.hash, Codebook(labels=(Label(name="Noise"),)), [HIDDEN]) is None


def test_refuses_other_files_and_unknown_labels(workspace: Workspace, tmp_path: Path, data: bytes) -> None:
    empty = filled(workspace, tmp_path / "empty.duckdb", None)
    with pytest.raises(CodebookError, match="No codebook"):
        import_classifier(empty, data, "hotel.skops")
    session = filled(workspace, tmp_path / "here.duckdb", Codebook(labels=(Label(name="Noise"),)))
    with pytest.raises(UsageError, match=r"hotel\.skops has none of this codebook's labels\. Its labels are Clean"):
        import_classifier(session, data, "hotel.skops")
    with pytest.raises(InputError, match=r"bad\.skops is not a classifier file"):
        import_classifier(session, b"PK not a zip", "bad.skops")
    trained, facts = classifier.loads(data)
    for wrong in ({}, {**facts, "codebook": {"labels": [{"name": "One"}]}}, {**facts, "documents": "many"}):
        with pytest.raises(InputError, match="does not describe its training"):
            import_classifier(session, classifier.dumps(trained, wrong), "odd.skops")
    older = {**facts, "versions": {**facts["versions"], "classifier": "1"}}
    with pytest.raises(InputError, match=r"older\.skops is of another version of Moot"):
        import_classifier(session, classifier.dumps(trained, older), "older.skops")
    rated = Codebook(kind="rating", labels=(Label(name="Service"),))
    other = filled(workspace, tmp_path / "rated.duckdb", rated)
    with pytest.raises(UsageError, match="another kind of label"):
        import_classifier(other, data, "hotel.skops")
    assert session.store.classifiers.load() is None


def test_imported_classifier_is_calibrated_on_reviewed_documents(
    workspace: Workspace, tmp_path: Path, data: bytes
) -> None:
    here = Codebook(labels=(Label(name="Service", id="s1"), Label(name="Cleanliness", id="c1")))
    session = filled(workspace, tmp_path / "here.duckdb", here)
    run = annotate_with_imported(session, import_classifier(session, data, "hotel.skops"))
    session.start_or_resume(run.run_id).result(30)
    texts = {f"d{n:02}": TEXTS[n % 4] for n in range(8)}
    decide(session, run.run_id, {id: {"c1": "cobwebs" in text, "s1": "staff" in text} for id, text in texts.items()})
    row = session.store.runs.get(run.run_id)
    assert row is not None
    certainty = calibration.certainty(session, row, "reviewed")
    assert (certainty.kind, certainty.why_not) == ("classifier", "")
    assert certainty.calibration is not None
    assert certainty.counted == Coverage(8, {"no_reference": 56})  # the training documents are in another project
    assert certainty.calibration.n == 16
    assert sum(bin_.right.value == 1 for bin_ in certainty.calibration.bins) == len(certainty.calibration.bins)
    kept = session.store.documents.load(["d00", "d01"])
    session.store.documents.replace_all(kept)
    fewer = calibration.certainty(session, row, "reviewed")
    assert fewer.calibration is not None
    assert fewer.calibration.n == 4, "a document without its text cannot be predicted again"
