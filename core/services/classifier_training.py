"""Background training of a project's classifier, and its evaluation by cross-validation."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter

from core import baseline
from core.baseline.classifier_replies import NAME, ClassifierModel, ItemPrediction, not_trained
from core.baseline.evidence import LabelProbabilities, definition_probabilities
from core.classifier import classifier
from core.classifier.text_similarity import MIN_SIMILARITY, Embed, TextSpace, normalised
from core.codebook import Codebook, nearest_point
from core.documents import Document
from core.errors import MootError
from core.formatting import format_count, format_number, format_signed, format_timestamp
from core.hashing import digest
from core.runs import RunSettings
from core.stats import scoring
from core.stats.arrays import codes_of_groups, in_order_of, is_right
from core.stats.intervals import Estimate, Interval, format_interval
from core.stats.metric_intervals import Design, ratio
from core.store.annotations import decode_value
from core.store.classifiers import StoredClassifier, TrainingExample
from core.store.project import Store
from core.store.rows import validated
from core.store.saved_versions import CodebookVersion

logger = logging.getLogger(__name__)

_CODEBOOK = TypeAdapter(Codebook)
MIN_DOCUMENTS = 5
"""Reviewed documents that a first training needs."""
DEBOUNCE_SECONDS = 0.6
"""Seconds to wait for further decisions before training."""
BATCH = 400
"""Documents scored per transaction; other writers get their turn in between."""
SMALL_PROJECT = 3_000
"""Up to so many documents, all are scored after each training; above, only after ``RESCORE_GROWTH``."""
RESCORE_GROWTH = 1.15
"""Factor by which the reviewed documents must grow before a large project is scored again."""
UNSCORED = "unscored_classifier"
"""Setting with the hash of the classifier whose scoring of the documents has begun and not ended; else empty."""
EMBEDDED_AT_ONCE = 32
"""Texts that are embedded between two looks at whether the project is closing."""
CURVE_SHARES = (0.0, 0.25, 0.5, 1.0)
"""Shares of the training documents at which the learning curve is measured."""
MAX_MODELS = 4
"""Classifiers kept in memory."""
MAX_VECTORS = 20_000
"""Vectors kept in memory, 1.5 kB each with MiniLM."""


@dataclass(frozen=True, slots=True)
class Embedder:
    """Function that computes vectors of texts, and the name of these vectors, as a run names them."""

    spec: str
    embed: Embed


class ClassifierTrainer:
    """Trains the classifier in one background thread, one training at a time.

    Call ``schedule`` after each decision. A training stores the classifier, its certainty on every unreviewed document
    and the most similar reviewed document of each. ``close`` waits for the current batch. ``find_embedder``
    returns the embedder with a name, the chosen one for None, or None without one. Vectors are used in projects of up
    to ``SMALL_PROJECT`` documents. A classifier always gets the vectors it was trained with, whatever is chosen now.
    """

    def __init__(self, store: Store, find_embedder: Callable[[str | None], Embedder | None] = lambda _: None) -> None:
        self._store = store
        self._find_embedder = find_embedder
        self._vectors: dict[tuple[str, str], npt.NDArray[np.float32]] = {}
        self._label_probabilities: dict[str, LabelProbabilities] = {}
        self._models: dict[str, ClassifierModel] = {}
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="moot-classifier")
        self._task: Future[None] | None = None
        self._pending = False
        self._stop = threading.Event()
        self._scored_at = 0
        self.error = ""
        """Message of the error that ended the last training; empty after a success."""

    def schedule(self) -> None:
        """Request a training after a decision or a codebook change. Nothing happens without new or enough decisions."""
        with self._lock:
            self._pending = True
            if self._stop.is_set() or (self._task is not None and not self._task.done()):
                return
            self._task = self._executor.submit(self._train_when_needed)

    def is_outdated(self) -> bool:
        """Return True if decisions, their texts or the codebook changed after the last training, or if there is none.

        Another choice of vectors is left to the next training.
        """
        latest, stored = self._store.codebooks.latest(), self._store.classifiers.latest_facts()
        if latest is None or stored is None:
            return True
        codebook, (hash, facts) = latest.codebook.closed, stored
        return training_hash(codebook, self._examples(codebook), str(facts.get("vectors", ""))) != hash

    @property
    def is_training(self) -> bool:
        """True while a training runs or is about to run."""
        with self._lock:
            return self._task is not None and not self._task.done()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until no training is left, for at most ``seconds``."""
        with self._lock:
            task = self._task
        if task is not None:
            task.result(seconds)

    def close(self) -> None:
        """Stop training. May be called more than once."""
        with self._lock:  # a training that is being scheduled is submitted before the shutdown
            self._stop.set()
        self._executor.shutdown(wait=True, cancel_futures=True)

    def pin_classifier(self, settings: RunSettings) -> RunSettings:
        """Return settings in which each role model ``classifier`` names the current classifier by its hash.

        A resumed run then calls the same classifier, and replies of an earlier training are not reused. Other role
        models stay unchanged. Raises NoSuchModel if the classifier is not trained yet.
        """
        role_models = dict(settings.role_models)
        for role, role_model in settings.role_models.items():
            if role_model.is_builtin and role_model.model == NAME:
                latest = self._store.classifiers.latest_facts()
                if latest is None:
                    raise not_trained()
                role_models[role] = role_model.model_copy(update={"model": f"{NAME}@{latest[0]}"})
        return settings.model_copy(update={"role_models": role_models})

    def find(self, hash: str) -> ClassifierModel | None:
        """Return the classifier with this hash; None when this project does not have it."""
        model = self._models.get(hash)
        if model is None and (loaded := self._load(hash)) is not None:
            model = callable_model(*loaded, self._read)
            if len(self._models) >= MAX_MODELS:  # more if several threads added one
                self._models.clear()
            self._models[hash] = model
        return model

    def predict(self, hash: str, codebook: Codebook, texts: Sequence[str]) -> classifier.Predictions | None:
        """Return predictions of the classifier with this hash as ``[text, item]`` of the codebook.

        Items that the classifier was not trained on are NaN. None when the classifier is deleted or was trained on
        other labels.
        """
        loaded = self._load(hash)
        if loaded is None:
            return None
        trained, facts = loaded
        trained_codebook = codebook_of(facts)
        examples = self._read(trained_codebook, texts, str(facts.get("vectors", "")))
        return _align(codebook, trained_codebook, trained.predict(examples))

    def _read(self, codebook: Codebook, texts: Sequence[str], spec: str) -> list[classifier.ClassifierInput]:
        """Return texts as examples for a classifier that was trained with these vectors; ``spec`` is empty for none.

        The examples have no vectors if the embedder is no longer available.
        """
        embedder = self._find_embedder(spec) if spec else None
        if embedder is None:
            return [baseline.example(codebook, text) for text in texts]
        if embedder.spec not in self._label_probabilities:
            self._label_probabilities[embedder.spec] = definition_probabilities(partial(self._embed, embedder))
        label_probabilities = self._label_probabilities[embedder.spec]
        vectors = self._embed(embedder, texts)
        examples = [baseline.example(codebook, text, label_probabilities) for text in texts]
        return [replace(example, vector=vector) for example, vector in zip(examples, vectors, strict=True)]

    def _embed(self, embedder: Embedder, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the vectors of texts ``[text, dimension]``, each of length 1. They are kept in memory."""
        cache = self._vectors
        if len(cache) > MAX_VECTORS and any((embedder.spec, text) not in cache for text in texts):
            cache = {}
        new = list(dict.fromkeys(text for text in texts if (embedder.spec, text) not in cache))
        for start in range(0, len(new), EMBEDDED_AT_ONCE):
            if self._stop.is_set():
                raise MootError("Training was stopped.", "Training continues when the project is opened again.")
            chunk = new[start : start + EMBEDDED_AT_ONCE]
            vectors = normalised(embedder.embed(chunk))
            cache.update({(embedder.spec, text): vector for text, vector in zip(chunk, vectors, strict=True)})
        self._vectors = cache
        return np.array([cache[embedder.spec, text] for text in texts])

    def _load(self, hash: str) -> tuple[classifier.Classifier, dict[str, Any]] | None:
        """Return a classifier and its facts; None if it was deleted or an earlier version of Moot trained it."""
        stored = self._store.classifiers.load(hash)
        if stored is None or version_of(stored.facts) != classifier.VERSION:
            return None
        return classifier.loads(stored.body, name="the classifier")

    def _train_when_needed(self) -> None:
        while not self._stop.wait(DEBOUNCE_SECONDS):
            with self._lock:
                if not self._pending:
                    self._task = None
                    return
                self._pending = False
            try:
                self._train_once()
                self.error = ""
            except MootError as error:  # the page shows it; the next decision tries again
                self.error = str(error)
            except Exception as error:
                logger.exception("training the classifier failed")
                self.error = f"{type(error).__name__}: {error}"

    def _train_once(self) -> None:
        latest = self._store.codebooks.latest()
        if latest is None:
            return
        latest = replace(latest, codebook=latest.codebook.closed)
        examples = self._examples(latest.codebook)
        texts = {example.document_id: example.text for example in examples}
        if len(texts) < MIN_DOCUMENTS:
            return
        small = self._store.documents.count() <= SMALL_PROJECT
        embedder = self._find_embedder(None) if small else None
        spec = embedder.spec if embedder is not None else ""
        name = training_hash(latest.codebook, examples, spec)
        stored = self._store.classifiers.latest_facts()
        if stored is None or stored[0] != name:
            used = {document for document, *_ in self._store.classifiers.codebook_examples()}
            read = self._read(latest.codebook, list(texts.values()), spec)
            trained, facts = train(latest, examples, read, used)
            facts |= {"hash": name, "vectors": spec}
            body = classifier.dumps(trained, facts)
            at = time.time()
            self._store.classifiers.save(StoredClassifier(name, body, facts, model_card(facts, at), at))
            if len(texts) >= self._scored_at * RESCORE_GROWTH or small:
                self._store.settings.set(UNSCORED, name)
            else:
                self._store.classifiers.save_predictions(list(texts), [], [])  # reviewed documents need no certainty
        unscored = self._load(name) if self._store.settings.get(UNSCORED) == name else None
        if unscored is not None and self._score_documents(unscored[0], latest.codebook, texts, spec):
            self._store.settings.set(UNSCORED, "")
            self._scored_at = len(texts)

    def _examples(self, codebook: Codebook) -> list[TrainingExample]:
        """Return the examples that the codebook allows; others are from before the kind or a scale changed."""
        examples = self._store.classifiers.training_examples()
        return [example for example in examples if codebook.allows(example.item, example.value)]

    def _score_documents(
        self, trained: classifier.Classifier, codebook: Codebook, reviewed: Mapping[str, str], spec: str
    ) -> bool:
        """Store the certainty and the nearest reviewed document of every unreviewed document; False if interrupted."""
        names = list(reviewed)
        space = TextSpace(list(reviewed.values()), "word")
        ids = self._store.documents.ids()
        for start in range(0, len(ids), BATCH):
            if self._stop.wait(0.02 if len(ids) > SMALL_PROJECT else 0):  # let other threads run
                return False
            batch = ids[start : start + BATCH]
            unreviewed = [
                document for document in self._store.documents.load(batch, gold=False) if document.id not in reviewed
            ]
            if not unreviewed:
                self._store.classifiers.save_predictions(batch, [], [])
                continue
            texts = [document.text for document in unreviewed]
            certainty = trained.predict(self._read(codebook, texts, spec)).certainty
            self._store.classifiers.save_predictions(
                batch,
                [
                    (document.id, item, float(certainty[row, column]))
                    for row, document in enumerate(unreviewed)
                    for column, item in enumerate(codebook.items)
                ],
                [
                    (document.id, names[int(row.argmax())], float(row.max()))
                    for document, row in zip(unreviewed, space.similarities(texts), strict=True)
                    if row.max() >= MIN_SIMILARITY
                ],
            )
        return True


def training_hash(codebook: Codebook, examples: Sequence[TrainingExample], vectors: str) -> str:
    """Return the hash of a training; it changes with decisions, texts, groups, codebook, code and the vectors."""
    rows = [
        [example.document_id, example.text, example.item, example.value, *([example.group] if example.group else ())]
        for example in examples
    ]
    return digest([classifier.VERSION, baseline.VERSION, codebook.hash, rows, vectors], size=6)


def train(
    latest: CodebookVersion,
    examples: Sequence[TrainingExample],
    read: Sequence[classifier.ClassifierInput],
    used_as_example: set[str],
) -> tuple[classifier.Classifier, dict[str, Any]]:
    """Train a classifier and return it with plain facts about it, including cross-validated scores.

    The facts have the scores, the gain from twice as many documents and the learning curve: the score by number of
    training documents, from none (the words alone) on, all on the same held-out documents.

    ``read`` are the documents as the classifier sees them, in order of appearance. Documents in ``used_as_example`` are
    training examples but not test documents, because the codebook contains their words.
    """
    codebook = latest.codebook
    documents = list(dict.fromkeys(example.document_id for example in examples))
    reference = decision_matrix(codebook, examples, documents)
    task = classifier.Task.from_codebook(codebook)
    trained = classifier.train(task, read, reference)
    tested = np.array([document not in used_as_example for document in documents])
    group_of = {example.document_id: example.group for example in examples}
    groups = codes_of_groups([group_of[document] for document in documents])
    held_out = {
        share: classifier.cross_val_predict(task, read, reference, groups=groups, share=share)[tested]
        for share in CURVE_SHARES
    }
    group_count = None if groups is None else len(np.unique(groups))
    design = Design() if groups is None else Design(groups=groups[tested])
    scores = {
        share: cross_validated_scores(codebook, reference[tested], held, design) for share, held in held_out.items()
    }
    facts: dict[str, Any] = {
        "codebook": codebook.model_dump(mode="json"),
        "codebook_version": latest.number,
        "documents": len(documents),
        "decisions": len(examples),
        "people": sorted({example.actor for example in examples}),
        "groups": group_count,
        "scores": scores[1.0],
        "gain": learning_gain(codebook, reference[tested], held_out[0.5], held_out[1.0], design),
        "curve": [
            {
                "documents": classifier.training_size(len(documents), share, group_count),
                "value": score["value"],
                "interval": score["interval"],
            }
            for share, score in scores.items()
        ],
        "answers": decision_counts(codebook, examples),
        "versions": {"classifier": classifier.VERSION, "word lists": baseline.VERSION},
    }
    return trained, facts


def decision_matrix(
    codebook: Codebook, examples: Sequence[TrainingExample], documents: Sequence[str]
) -> classifier.Grid:
    """Return decisions that the codebook allows as ``[document, item]``, NaN without one."""
    rows = {document: row for row, document in enumerate(documents)}
    columns = {item: column for column, item in enumerate(codebook.items)}
    grid = np.full((len(documents), len(codebook.items)), np.nan)
    for example in examples:
        value = example.value
        number = codebook.label_numbers[value] if isinstance(value, str) else nearest_point(value)
        grid[rows[example.document_id], columns[example.item]] = number
    return grid


Read: TypeAlias = Callable[[Codebook, Sequence[str], str], Sequence[classifier.ClassifierInput]]
"""Function that reads texts for a classifier that was trained with the vectors of a name."""


def version_of(facts: Mapping[str, Any]) -> str:
    """Return the version of the code that trained a classifier, empty if unknown."""
    return str(dict(facts.get("versions") or {}).get("classifier", ""))


def codebook_of(facts: Mapping[str, Any]) -> Codebook:
    """Return the codebook on which a classifier was trained. Raises ProjectError for facts that Moot did not write."""
    return validated(_CODEBOOK, facts["codebook"], "the codebook of a classifier")


def callable_model(trained: classifier.Classifier, facts: Mapping[str, Any], read: Read) -> ClassifierModel:
    """Return the classifier in the form that the built-in connection calls.

    It uses the word lists of the codebook it was trained on, and predicts nothing for items that codebook did not have
    or rated on another scale.
    """
    trained_codebook = codebook_of(facts)

    def predict(codebook: Codebook, document: Document) -> list[ItemPrediction]:
        among = [number for id, number in trained_codebook.label_numbers.items() if id in codebook.label_numbers]
        if codebook.kind != trained_codebook.kind or not among:
            return [ItemPrediction(item, None) for item in codebook.items]
        (example,) = read(trained_codebook, [document.text], str(facts.get("vectors", "")))
        predictions = trained.predict([example], among)
        values, certainty = predictions.values[0].tolist(), predictions.certainty[0].tolist()
        words = trained.explain(example, values)
        predicted = {
            item: ItemPrediction(item, decode_value(trained_codebook, value), chance, words_of_item)
            for item, value, chance, words_of_item in zip(trained_codebook.items, values, certainty, words, strict=True)
            if codebook.scale_of(item) == trained_codebook.scale_of(item)
        }
        return [predicted.get(item, ItemPrediction(item, None)) for item in codebook.items]

    return ClassifierModel(int(facts["documents"]), predict)


def _align(target: Codebook, trained: Codebook, predicted: classifier.Predictions) -> classifier.Predictions | None:
    """Return predictions on the items of ``trained`` as predictions on those of ``target``; None if they cannot be."""
    ids, trained_ids = ({label.id for label in codebook.labels} for codebook in (target, trained))
    if target.kind != trained.kind or ids.isdisjoint(trained_ids):
        return None
    values = in_order_of(target, trained, predicted.values)
    if trained.kind != "choice":
        return classifier.Predictions(values, in_order_of(target, trained, predicted.certainty))
    return classifier.Predictions(values, predicted.certainty) if ids == trained_ids else None


def cross_validated_scores(
    codebook: Codebook, reference: classifier.Grid, held_out: classifier.Grid, design: Design
) -> dict[str, Any]:
    """Return cross-validated scores as plain data.

    The keys are ``n``, ``measure`` (macro F1; for ratings the share less than a point off), its ``value`` and 95%
    ``interval``.
    """
    if not len(reference):
        return {"n": 0, "measure": "macro F1", "value": None, "interval": None}
    if codebook.kind == "rating":
        return _rating_scores(reference, held_out, design)
    drawn = scoring.score(codebook.kind, reference, held_out, codebook.names, design=design)
    return {"n": drawn.n, "measure": "macro F1", **drawn["macro_f1"].to_json()}


def learning_gain(
    codebook: Codebook, reference: classifier.Grid, half: classifier.Grid, full: classifier.Grid, design: Design
) -> dict[str, Any]:
    """Return the gain in macro F1 from twice as many training documents, with its 95% interval.

    Both are measured on the same held-out documents. ``value`` and ``interval`` are None for ratings and where they
    cannot be estimated.
    """
    if codebook.kind == "rating" or not len(reference):
        return Estimate().to_json()
    return scoring.difference(codebook.kind, reference, half, full, codebook.names, design=design)["macro_f1"].to_json()


def decision_counts(codebook: Codebook, examples: Sequence[TrainingExample]) -> dict[str, dict[str, int]]:
    """Return how often each value was decided, by item and value name."""
    counted: dict[str, Counter[str]] = {}
    for example in examples:
        counted.setdefault(codebook.item_title(example.item), Counter())[codebook.value_name(example.value)] += 1
    return {item: dict(sorted(values.items())) for item, values in counted.items()}


def _rating_scores(gold: classifier.Grid, predicted: classifier.Grid, design: Design) -> dict[str, Any]:
    """Return the share of ratings that are right: less than a point off those of the reviewer."""
    rated = ~np.isnan(gold) & ~np.isnan(predicted)
    right = is_right(gold, predicted, kind="rating")
    estimate = ratio(right.sum(axis=1), rated.sum(axis=1), design)
    return {"n": int(rated.any(axis=1).sum()), "measure": "share off by less than a point", **estimate.to_json()}


MAX_CARD_LABELS = 40
"""Labels listed in the model card."""


def model_card(facts: Mapping[str, Any], at: float) -> str:
    """Return the model card in Markdown: method, training data, performance, limits, file format.

    Names are written as inline code, so that they stay text.
    """
    codebook = codebook_of(facts)
    vectors = " and on sentence vectors" if facts.get("vectors") else ""
    sections = {
        "Training data": _training_data(facts, at),
        "Performance": _performance(facts["scores"], facts["gain"]["value"], facts.get("groups")),
        "Limits": (
            "It knows the words of its training examples and the word lists; it does not understand irony, hints or "
            "new subjects. Its certainty orders a queue; it is calibrated on similar documents only. Do not use it to "
            "decide about people."
        ),
        "The file": (
            "A skops file: open it with `skops.io.load(path, trusted=[])`. It is a dict of `facts` (the codebook among "
            "them), `task`, `vocabulary` and `idf` (of TF-IDF), `words` (words of the codebook), `centre` (of vectors) "
            "and `models` (for each item the weights of vocabulary, words, vector, evidence and bias)."
        ),
    }
    return "\n\n".join(
        [
            "# Classifier of a Moot project",
            f"Logistic regressions that start from the evidence of the codebook {_code(codebook.name)} (version "
            f"{facts['codebook_version']}, kind {codebook.kind}) and are corrected by decisions: on the codebook's "
            f"words that occur and on TF-IDF of all words{vectors}. It is not a language model.",
            *(f"## {heading}\n\n{text}" for heading, text in sections.items()),
            f"Classifier {_code(facts.get('hash', ''))}.\n",
        ]
    )


def _training_data(facts: Mapping[str, Any], at: float) -> str:
    people = ", ".join(map(_code, facts["people"])) or "nobody"
    rows = [
        f"| {_code(item)} | {', '.join(f'{_code(word)} {count:,}' for word, count in values.items())} |"
        for item, values in list(facts["answers"].items())[:MAX_CARD_LABELS]
    ]
    table = "\n".join(["| item | decisions |", "|---|---|", *rows])
    return (
        f"{facts['documents']:,} documents with {facts['decisions']:,} decisions by {people}, until "
        f"{format_timestamp(at)}. The texts themselves are not in the file; single words of them are.\n\n{table}"
    )


def _performance(scores: Mapping[str, Any], gain: float | None, groups: int | None) -> str:
    score = "not known yet" if scores["value"] is None else format_number(scores["value"])
    if scores["interval"] is not None:
        score += f" ({format_interval(Interval(*scores['interval']), named=True)})"
    change = "" if gain is None else f" Twice as many training documents changed it by {format_signed(gain)}."
    folds = (
        "Folds are random documents, so the score may be lower on texts of other authors, places or times."
        if groups is None
        else f"Documents of a group are in one fold ({format_count(groups, 'group')}), so the score is for new groups."
    )
    return (
        f"Cross-validated {scores['measure']} on {scores['n']:,} of these documents: {score}. They were selected for "
        f"review and are mostly harder than the rest. {folds}{change}"
    )


def _code(text: str) -> str:
    """Return text as inline code on one line: backquotes, pipes and line breaks cannot end it."""
    plain = " ".join(str(text).split()).replace("`", "'").replace("|", "/")
    return f"`{plain}`" if plain else "(no name)"
