"""The tutor teaches a project's student in the background: after a few decisions, and again as more come.

One thread, one training at a time. What is learned goes into the file: the student itself, how sure it is of every
document that waits, and which decided documents those read like.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np

from core import baseline
from core.baseline.classifier_model import NAME, ClassifierModel, Prediction
from core.classifier import classifier
from core.classifier.similarity import Neighbourhood
from core.codebook import Codebook
from core.documents import Document, Value
from core.hashing import digest
from core.runs import BUILTIN, RunSettings
from core.services import model_card
from core.store.classifiers import Decided, StoredClassifier
from core.store.store import Store

LEAST = 5
"""Settled documents before which there is nothing to learn from."""
PAUSE = 0.6
"""Seconds that the tutor waits for further decisions before it teaches."""
SLAB = 400
"""Documents that are read at a time; between two, others may write."""
FEW = 3_000
"""So many documents are all read again at each lesson; of more, only when it has learned a good deal more."""
GROWN = 1.15
"""A good deal more: so many times the decided documents of the last reading."""


class ClassifierTrainer:
    """Owns the thread. ``notice`` whenever something was decided; ``close`` waits for the slab under way."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._gate = threading.Lock()
        self._workers = ThreadPoolExecutor(1, thread_name_prefix="moot-student")
        self._task: Future[None] | None = None
        self._again = False
        self._stop = threading.Event()
        self._read_at = 0
        self.trouble = ""
        """What went wrong in the last training, empty when nothing did."""

    def notice(self) -> None:
        """Something was decided, or the codebook was changed: teach, unless there is too little or nothing new."""
        with self._gate:
            self._again = True
            if self._stop.is_set() or (self._task is not None and not self._task.done()):
                return
            self._task = self._workers.submit(self._teach)

    @property
    def busy(self) -> bool:
        """Whether it teaches now."""
        with self._gate:
            return self._task is not None and not self._task.done()

    def wait(self, seconds: float | None = None) -> None:
        """Until nothing is left to teach, at most so long."""
        with self._gate:
            task = self._task
        if task is not None:
            task.result(seconds)

    def close(self) -> None:
        """Stop teaching. Harmless when repeated."""
        self._stop.set()
        self._workers.shutdown(wait=True, cancel_futures=True)

    def resolve(self, settings: RunSettings) -> RunSettings:
        """The settings with the student as it is now on every seat that has one, so that a resumed run asks the very
        same. Seats without one stay."""
        role_models = dict(settings.role_models)
        for role, role_model in settings.role_models.items():
            if (
                role_model.connection == BUILTIN
                and role_model.model == NAME
                and (known := self._store.learning.facts())
            ):
                role_models[role] = role_model.model_copy(update={"model": f"{NAME}@{known[0]}"})
        return settings.model_copy(update={"role_models": role_models})

    def find(self, hash: str) -> ClassifierModel | None:
        """The student with this hash, the latest for an empty one; None when this project has none."""
        if not hash:
            known = self._store.learning.facts()
            return self.find(known[0]) if known else None
        return self._pupil(hash)

    def opinion(self, hash: str, codebook: Codebook, texts: Sequence[str]) -> classifier.Opinion | None:
        """What the student with this hash says of texts, ``[text, item]`` of the codebook, NaN for items that it was
        not taught. None when it is gone, and when it was taught other labels."""
        kept = self._store.learning.student(hash)
        if kept is None:
            return None
        taught, facts = classifier.loads(kept.body, name="the student")
        own = Codebook.model_validate(facts["codebook"])
        return _told_in(codebook, own, taught.judge(texts, [baseline.evidence(own, text) for text in texts]))

    @lru_cache(maxsize=4)  # noqa: B019 - a tutor lives as long as its project is open
    def _pupil(self, hash: str) -> ClassifierModel | None:
        kept = self._store.learning.student(hash)
        return pupil_of(*classifier.loads(kept.body, name="the student")) if kept else None

    def _teach(self) -> None:
        while not self._stop.wait(PAUSE):
            with self._gate:
                if not self._again:
                    self._task = None
                    return
                self._again = False
            try:
                self._lesson()
                self.trouble = ""
            except Exception as error:  # the page shows it; the next decision tries again
                self.trouble = str(error)

    def _lesson(self) -> None:
        latest = self._store.codebooks.latest()
        if latest is None:
            return
        decided = [one for one in self._store.learning.decided() if one.item in latest.codebook.items]
        texts = dict.fromkeys(one.document_id for one in decided)
        if len(texts) < LEAST:
            return
        name = hash_of(latest.codebook, decided)
        known = self._store.learning.facts()
        if known is None or known[0] != name:
            used = {document for document, *_ in self._store.learning.examples()}
            taught, facts = teach(latest.codebook, decided, version=latest.version, examples=used)
            facts["hash"] = name
            body, at = classifier.dumps(taught, facts), time.time()
            self._store.learning.keep(StoredClassifier(name, body, facts, model_card.markdown(facts, at), at))
            if len(texts) >= self._read_at * GROWN or self._store.documents.count() <= FEW:
                self._read(taught, latest.codebook, decided)
                self._read_at = len(texts)
            else:
                self._store.learning.note(list(texts), [], [])  # decided: nothing to be sure of

    def _read(self, taught: classifier.Classifier, codebook: Codebook, decided: Sequence[Decided]) -> None:
        """Say of every document how sure the student is and what it reads like; decided ones need neither."""
        settled = {one.document_id: one.text for one in decided}
        names, nearby = list(settled), Neighbourhood(list(settled.values()))
        ids = self._store.documents.ids()
        for start in range(0, len(ids), SLAB):
            if self._stop.wait(0.02 if len(ids) > FEW else 0):  # whoever waits for the interpreter gets it
                return
            slab = ids[start : start + SLAB]
            waiting = [one for one in self._store.documents.load(slab, gold=False) if one.id not in settled]
            read = [document.text for document in waiting]
            evidence = [baseline.evidence(codebook, text) for text in read]
            sure = taught.judge(read, evidence).certainty if read else np.zeros((0, 0))
            self._store.learning.note(
                slab,
                [
                    (document.id, item, float(sure[row, column]))
                    for row, document in enumerate(waiting)
                    for column, item in enumerate(codebook.items)
                ],
                [
                    (document.id, names[found.place], found.similarity)
                    for document, found in zip(waiting, nearby.nearest(read), strict=True)
                    if found is not None
                ],
            )


def task_of(codebook: Codebook) -> classifier.Task:
    """What a codebook asks a student to learn."""
    scale = (codebook.scale.min, codebook.scale.max) if codebook.scale else (1, 5)
    return classifier.Task(codebook.kind, len(codebook.labels), scale)


def hash_of(codebook: Codebook, decided: Sequence[Decided]) -> str:
    """The name of the student that these decisions teach: another for other decisions, texts, codebook or code."""
    lessons = [[one.document_id, one.text, one.item, one.value] for one in decided]
    return digest([classifier.VERSION, baseline.VERSION, codebook.hash, lessons], size=6)


def teach(
    codebook: Codebook, decided: Sequence[Decided], *, version: int = 0, examples: set[str] | None = None
) -> tuple[classifier.Classifier, dict[str, Any]]:
    """A student taught these decisions, and plain facts about it, its cross-validated scores among them. Documents in
    ``examples`` teach but are no test: their words are in the codebook."""
    texts = {one.document_id: one.text for one in decided}
    documents = list(texts)
    reference = grid_of(codebook, decided, documents)
    evidence = [baseline.evidence(codebook, text) for text in texts.values()]
    task = task_of(codebook)
    taught = classifier.train(task, list(texts.values()), evidence, reference)
    held = classifier.held_out(task, list(texts.values()), evidence, reference)
    tested = np.array([document not in (examples or set()) for document in documents])
    facts: dict[str, Any] = {
        "codebook": codebook.model_dump(mode="json"),
        "codebook_version": version,
        "documents": len(documents),
        "decisions": len(decided),
        "people": sorted({one.actor for one in decided}),
        "scores": model_card.scores(codebook, reference[tested], held[tested]),
        "answers": model_card.answers(codebook, decided),
        "versions": {"student": classifier.VERSION, "word lists": baseline.VERSION},
    }
    return taught, facts


def grid_of(codebook: Codebook, decided: Sequence[Decided], documents: Sequence[str]) -> classifier.Grid:
    """Decisions as ``[document, item]``, NaN where there is none. Values that the codebook does not have are
    none, other documents are passed over."""
    rows = {document: place for place, document in enumerate(documents)}
    columns = {item: place for place, item in enumerate(codebook.items)}
    labels = {label.id: place for place, label in enumerate(codebook.labels)}
    grid = np.full((len(documents), len(codebook.items)), np.nan)
    for one in decided:
        value = _number(codebook, one.value, labels)
        if value is not None and one.item in columns and one.document_id in rows:
            grid[rows[one.document_id], columns[one.item]] = value
    return grid


def _number(codebook: Codebook, value: Value, labels: Mapping[str, int]) -> float | None:
    if codebook.kind == "choice":
        return float(labels[value]) if isinstance(value, str) and value in labels else None
    if isinstance(value, str) or (codebook.kind == "multilabel") != isinstance(value, bool):
        return None
    if codebook.scale is not None:
        return float(min(max(round(value), codebook.scale.min), codebook.scale.max))
    return float(value)


def pupil_of(taught: classifier.Classifier, facts: Mapping[str, Any]) -> ClassifierModel:
    """The student as one who can be asked. It reads with the word lists of the codebook it was taught under, and says
    nothing of items that this had not."""
    own = Codebook.model_validate(facts["codebook"])

    def judge(codebook: Codebook, document: Document) -> list[Prediction]:
        if codebook.kind != own.kind:
            return [Prediction(item, None) for item in codebook.items]
        evidence = [baseline.evidence(own, document.text)]
        opinion = taught.judge([document.text], evidence)
        said = []
        for item in codebook.items:
            column = own.items.index(item) if item in own.items else -1
            if column < 0:
                said.append(Prediction(item, None))
                continue
            number = float(opinion.values[0, column])
            said.append(
                Prediction(item, value_of(own, number), float(opinion.certainty[0, column]),
                     taught.reasons(document.text, column, number))
            )  # fmt: skip
        return said

    return ClassifierModel(int(facts["documents"]), judge)


def _told_in(here: Codebook, own: Codebook, said: classifier.Opinion) -> classifier.Opinion | None:
    """An opinion on the items of ``own`` as one on those of ``here``, whose labels may stand in another order."""
    if here.kind != own.kind:
        return None
    if own.kind == "choice":
        ids = [label.id for label in here.labels]
        if set(ids) != {label.id for label in own.labels}:
            return None
        places = np.array([ids.index(label.id) for label in own.labels], dtype=np.float64)
        return classifier.Opinion(places[said.values.astype(np.int64)], said.certainty)
    known = [(column, own.items.index(item)) for column, item in enumerate(here.items) if item in own.items]
    if not known:
        return None
    columns, taken = (list(each) for each in zip(*known, strict=True))
    values, certainty = (np.full((len(said.values), len(here.items)), np.nan) for _ in range(2))
    values[:, columns], certainty[:, columns] = said.values[:, taken], said.certainty[:, taken]
    return classifier.Opinion(values, certainty)


def value_of(codebook: Codebook, number: float) -> Value:
    """The value that stands for a number in a grid."""
    if codebook.kind == "choice":
        return codebook.labels[int(number)].id
    return number >= 0.5 if codebook.kind == "multilabel" else int(number)
