"""The classifier of a project: its status, its runs, export and import."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.baseline.classifier_replies import NAME
from core.classifier import classifier
from core.codebook import Codebook, normalise
from core.errors import CodebookError, InputError, UsageError
from core.export import replacing
from core.hashing import digest
from core.runs import BUILTIN, RoleModel, RunRow
from core.services.classifier_training import MIN_DOCUMENTS, UNSCORED, codebook_of, version_of
from core.services.project_session import ProjectSession, check_output_path
from core.services.result_cache import cached_until_commit
from core.services.runs import planning
from core.stats.intervals import Estimate, Interval
from core.store.classifiers import StoredClassifier

EXPORT_FORMAT = "classifier"
"""Name of the export format on the command line."""
SUFFIX = ".skops"
PROTOCOL = "single"


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A point of the learning curve: the score on held-out documents after training on so many ``documents``."""

    documents: int
    score: Estimate


@dataclass(frozen=True, slots=True)
class ClassifierStatus:
    """The state of a project's classifier."""

    missing: int
    """Documents that must still be submitted for a first training."""
    available: int
    """Documents in the project that can be training data."""
    hash: str = ""
    documents: int = 0
    """Documents in the training data."""
    version: int = 0
    score: Estimate = Estimate()
    """The cross-validated ``measure``, with a 95% interval."""
    measure: str = ""
    tested: int = 0
    """Documents that the score is from."""
    gain: Estimate = Estimate()
    """The change of the score from half of the training documents to all of them."""
    curve: tuple[CurvePoint, ...] = ()
    """The points with a score, from no training documents (the words of the codebook alone) to all of them."""
    is_training: bool = False
    error: str = ""

    @property
    def ready(self) -> bool:
        """True when the project has a trained classifier."""
        return bool(self.hash)

    @property
    def complete(self) -> bool:
        """True when all documents were in the training data."""
        return self.documents >= self.available


def count_reviewed(session: ProjectSession) -> int:
    """Return the number of reviewed documents from which a classifier of the latest codebook would learn."""
    latest = session.store.codebooks.latest()
    return 0 if latest is None else session.store.classifiers.count_reviewed(latest.codebook.closed)


def status(session: ProjectSession) -> ClassifierStatus:
    """Return the current status.

    Schedules a training when decisions or changes of the codebook are missing from the last one, for instance after
    a crash, when an earlier version of Moot trained it, and when the scoring of documents was interrupted.
    """
    reviewed = count_reviewed(session)
    latest = session.store.classifiers.latest_facts()
    outdated = latest is None or version_of(latest[1]) != classifier.VERSION or _is_outdated(session)
    interrupted = session.store.settings.get(UNSCORED) and not session.trainer.error
    if reviewed >= MIN_DOCUMENTS and (outdated or interrupted):
        session.trainer.schedule()
    untrained = ClassifierStatus(
        max(0, MIN_DOCUMENTS - reviewed),
        session.store.documents.count(),
        is_training=session.trainer.is_training,
        error=session.trainer.error,
    )
    if latest is None:
        return untrained
    hash, facts = latest
    score: Mapping[str, Any] = facts["scores"]
    return replace(
        untrained,
        hash=hash,
        documents=int(facts["documents"]),
        version=int(facts["codebook_version"]),
        score=_estimate(score),
        gain=_estimate(facts["gain"]),
        curve=tuple(
            CurvePoint(int(point["documents"]), _estimate(point))
            for point in facts.get("curve", ())  # earlier versions stored none
            if point["value"] is not None
        ),
        measure=str(score["measure"]),
        tested=int(score["n"]),
    )


@cached_until_commit
def _is_outdated(session: ProjectSession) -> bool:
    return session.trainer.is_outdated()


def _estimate(plain: Mapping[str, Any]) -> Estimate:
    return Estimate(plain["value"], Interval(*plain["interval"]) if plain["interval"] else None)


def annotate(session: ProjectSession) -> RunRow:
    """Start a run in which the classifier annotates all documents, at no cost.

    UsageError without a trained classifier or without documents.
    """
    latest = session.store.classifiers.latest_facts()
    if latest is None:
        raise _not_trained()
    facts = latest[1]
    return _start_run(session, NAME, codebook_of(facts), int(facts["codebook_version"]))


def _start_run(session: ProjectSession, model: str, codebook: Codebook, version: int) -> RunRow:
    plan = planning.Plan(protocol=PROTOCOL, default_model=RoleModel(connection=BUILTIN, model=model))
    settings = planning.build_settings(plan, codebook, version, session.models)
    (run,) = planning.create_runs(session, settings, session.store.documents.ids())
    session.start_or_resume(run.run_id)
    return run


def save(session: ProjectSession, path: Path) -> tuple[Path, Path]:
    """Write the classifier to ``path`` (skops, no pickle) and its model card to the same name with ``.md``.

    UsageError without a trained classifier and for a path that ends in ``.md``; ExportError when a file cannot be
    written.
    """
    stored = load(session)
    card = path.with_suffix(".md")
    if card == path:
        raise UsageError(f"{path.name} is the name of the model card.", f"Choose a name that ends in {SUFFIX}.")
    for target, data in ((path, stored.body), (card, stored.card.encode())):
        with replacing(check_output_path(session.path, target)) as file:
            file.write(data)
    return path, card


def load(session: ProjectSession) -> StoredClassifier:
    """Return the file of the classifier and its model card. UsageError without a trained classifier."""
    stored = session.store.classifiers.load()
    if stored is None:
        raise _not_trained()
    return stored


def _not_trained() -> UsageError:
    return UsageError("This project has no trained classifier yet.", f"Submit {MIN_DOCUMENTS} documents on Review.")


@dataclass(frozen=True, slots=True)
class ImportedClassifier:
    """An imported classifier.

    ``known`` are the names of this codebook's labels that it was trained on, ``unknown`` the others, which stay
    unresolved. ``documents`` is the size of its training data.
    """

    hash: str
    documents: int
    known: tuple[str, ...]
    unknown: tuple[str, ...]


def import_classifier(session: ProjectSession, data: bytes, name: str) -> ImportedClassifier:
    """Read a classifier file and store the classifier under a hash of its own.

    Nothing in the file is executed, and the project's own classifier stays as it is. InputError for another file.
    CodebookError before a codebook is saved. UsageError for another kind of label, another scale, other choices, or no
    common label.
    """
    latest = planning.saved_codebook(session)
    trained, facts = classifier.loads(data, name=name)
    try:
        codebook = Codebook.model_validate(facts["codebook"])
        documents = int(facts["documents"])
        if trained.task != classifier.Task.from_codebook(codebook):
            raise ValueError("the weights belong to another codebook")
        if version_of(facts) != classifier.VERSION:
            raise InputError(f"{name} is of another version of Moot.", "Export it again with this one.")
    except (KeyError, TypeError, ValueError, CodebookError) as error:
        raise InputError(
            f"{name} does not describe its training.", "Choose a .skops file that Moot exported."
        ) from error
    target = latest.codebook.closed
    matched = _match_labels(codebook, target, name)
    ids = {label.id for label in matched.labels}
    known = tuple(label.name for label in target.labels if label.id in ids)
    unknown = tuple(label.name for label in target.labels if label.id not in ids)
    facts = {**facts, "codebook": matched.model_dump(mode="json")}
    body = classifier.dumps(trained, facts)
    hash = digest([name, facts["codebook"], data.hex()], size=6)
    session.store.classifiers.save(StoredClassifier(hash, body, facts, "", time.time(), name))
    return ImportedClassifier(hash, documents, known, unknown)


def annotate_with_imported(session: ProjectSession, imported: ImportedClassifier) -> RunRow:
    """Start a run in which an imported classifier annotates all documents, at no cost.

    UsageError without documents, CodebookError before a codebook is saved.
    """
    latest = planning.saved_codebook(session)
    return _start_run(session, f"{NAME}@{imported.hash}", latest.codebook, latest.number)


def _match_labels(codebook: Codebook, target: Codebook, name: str) -> Codebook:
    """Return the classifier's codebook with this project's ids for labels of the same name, in training order."""
    ids = {normalise(label.name): label.id for label in target.labels}
    # a label that this codebook lacks gets an id that does not exist here, so it is never requested
    labels = tuple(
        label.model_copy(update={"id": ids.get(normalise(label.name), f"-{label.id}")}) for label in codebook.labels
    )
    matched = codebook.model_copy(update={"labels": labels})
    shared = {label.id for label in labels} & {*ids.values()}
    if codebook.kind != target.kind or any(matched.scale_of(id) != target.scale_of(id) for id in shared):
        raise UsageError(
            f"{name} was trained on another kind of label or scale.", "Use it with a codebook of the same kind."
        )
    its_labels = f"Its labels are {', '.join(codebook.names[:5])}."
    if not shared:
        raise UsageError(f"{name} has none of this codebook's labels.", its_labels)
    if codebook.kind == "choice" and len(shared) < max(len(ids), len(labels)):
        raise UsageError(f"{name} chooses among other labels.", its_labels)
    return matched
