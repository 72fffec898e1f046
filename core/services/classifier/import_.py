"""A student from a file at work in this project: read without running anything in it, matched to the codebook by the
names of labels, and asked as a run of its own. The project's own student stays as it is."""

from __future__ import annotations

import time
from dataclasses import dataclass

from core.baseline.classifier_model import NAME
from core.classifier import classifier
from core.codebook import Codebook, normalise
from core.errors import CodebookError, InputError, UsageError
from core.hashing import digest
from core.runs import BUILTIN, RoleModel, RunRow
from core.services.classifier.classifier import PROTOCOL
from core.services.runs import planning
from core.services.session import ProjectSession
from core.services.trainer import task_of
from core.store.classifiers import StoredClassifier


@dataclass(frozen=True, slots=True)
class Adopted:
    """A student that was brought in. ``known`` and ``strange`` are the names of this codebook's labels that it was
    taught and those that it was not, which stay unresolved; ``documents`` is what it was taught on, elsewhere."""

    hash: str
    documents: int
    known: tuple[str, ...]
    strange: tuple[str, ...]


def adopt(session: ProjectSession, data: bytes, name: str) -> Adopted:
    """Read a student's file and keep the student under a name of its own.

    InputError for a file that is none. CodebookError before a codebook is saved; UsageError when the student was taught
    another kind of label, another scale, other choices, or none of the codebook's labels.
    """
    latest = session.store.codebooks.latest()
    if latest is None:
        raise CodebookError("No codebook is saved yet.", "Save one on the Codebook page first.")
    taught, facts = classifier.loads(data, name=name)
    try:
        own = Codebook.model_validate(facts["codebook"])
        documents = int(facts["documents"])
        if taught.task != task_of(own):
            raise ValueError("the weights are another codebook's")
    except (KeyError, TypeError, ValueError, CodebookError) as error:
        raise InputError(
            f"{name} does not say what it was taught.", "Choose a .skops file that Moot exported."
        ) from error
    fitted = _fitted(own, latest.codebook, name)
    ids = {label.id for label in fitted.labels}
    known = tuple(label.name for label in latest.codebook.labels if label.id in ids)
    strange = tuple(label.name for label in latest.codebook.labels if label.id not in ids)
    facts = {**facts, "codebook": fitted.model_dump(mode="json")}
    body = classifier.dumps(taught, facts)
    hash = digest([name, facts["codebook"], data.hex()], size=6)
    session.store.learning.keep(StoredClassifier(hash, body, facts, "", time.time(), name))
    return Adopted(hash, documents, known, strange)


def annotate(session: ProjectSession, adopted: Adopted) -> RunRow:
    """Have it annotate all documents as a run of its own, which costs nothing, and start it. UsageError without
    documents, CodebookError before a codebook is saved."""
    latest = session.store.codebooks.latest()
    if latest is None:
        raise CodebookError("No codebook is saved yet.", "Save one on the Codebook page first.")
    plan = planning.Plan(protocol=PROTOCOL, default_model=RoleModel(connection=BUILTIN, model=f"{NAME}@{adopted.hash}"))
    settings = planning.build_settings(plan, latest.codebook, latest.version, session.models)
    (made,) = planning.create_runs(session, settings, session.store.documents.ids())
    session.start_or_resume(made.run_id)
    return made


def _fitted(own: Codebook, here: Codebook, name: str) -> Codebook:
    """The student's codebook with this project's ids for labels of the same name, in the order it was taught."""
    if own.kind != here.kind or (own.kind == "rating" and own.scale != here.scale):
        raise UsageError(
            f"{name} was taught another kind of label or scale.", "It can be used with a codebook of its own kind."
        )
    ids = {normalise(label.name): label.id for label in here.labels}
    names = {normalise(label.name) for label in own.labels}
    if not names & set(ids):
        told = ", ".join(own.names[:5])
        raise UsageError(f"{name} knows none of this codebook's labels.", f"It was taught {told}.")
    if own.kind == "choice" and names != set(ids):
        told = ", ".join(own.names[:5])
        raise UsageError(f"{name} chooses among other labels.", f"It was taught {told}.")
    # a label that this codebook lacks keeps an id that is none here, so that it is never asked
    labels = [label.model_copy(update={"id": ids.get(normalise(label.name), f"-{label.id}")}) for label in own.labels]
    return own.model_copy(update={"labels": tuple(labels)})
