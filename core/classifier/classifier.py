"""A small classifier that is trained on reviewed documents and reports its certainty.

It starts from the evidence of the codebook's words and is corrected by decisions. Each item has a logistic regression
whose offset is the evidence's log-odds and whose weights have a normal prior around zero (MAP estimation). Its features
are the codebook's words for its label that were found, TF-IDF of the text, vectors of the text if there are any, and
the log-odds themselves. Without decisions it predicts like the words, and each decision moves it as far as the prior
allows. An item without different answers stays as it is, because nothing can be learned from positives or negatives
alone.

Ratings start from the share of each rating so far. Their median is predicted, as a mode may jump over the middle of
an ordinal scale.

The file of a trained classifier is a skops archive, which holds plain values and arrays and executes nothing.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from core.codebook import MAX_LABELS, MAX_STEPS, Codebook, Kind
from core.errors import InputError

VERSION = "12"
"""Part of a classifier's hash. Raise it whenever the same decisions train a different classifier."""

# Standard deviations of the weights before any decision, in log-odds of two values. A listed word starts with 2.
WORD_DEVIATION = 3.0  # of a codebook's word: a few corrections can turn a listed word round
TEXT_DEVIATION = 3.5  # of TF-IDF and of vectors, whose rows have length 1: about 0.8 for one word among twenty
SCORE_DEVIATION = 0.8  # of the evidence as a whole, which may prove worthless or nearly twice as reliable as assumed
# Of the base rate. The shares measured in ``core/baseline/evidence.py`` are 0.1 to 1.3 lower than assumed, in log-odds.
# Corrections are of single words more often than of all words at once: a wider base rate lowers all of them after
# the first few, which loses positives of rare labels (macro F1 after 25 decisions fell below that of the words alone).
BIAS_DEVIATION = 1.0
# Probability from which a label is present. The threshold that maximises F1 is half of the F1 reached (Lipton, Elkan
# and Naryanaswamy 2014, *Optimal thresholding of classifiers to maximize F1 measure*, section 4): 0.35 at an F1 of 0.7.
PRESENT = 0.35
FOLDS = 5
MAX_EXPLAINED_WORDS = 3
ROOT = 2**0.5

Grid: TypeAlias = npt.NDArray[np.float64]
"""``[document, item]``: 1 and 0 for multiple labels, the label's index for a choice, a rating; NaN without a value."""


@dataclass(frozen=True, slots=True)
class Task:
    """A learning task. ``labels`` counts the codebook's labels, ``scales`` holds both ends of each rating scale."""

    kind: Kind
    labels: int
    scales: tuple[tuple[int, int], ...] = ()

    @classmethod
    def from_codebook(cls, codebook: Codebook) -> Self:
        """Return the learning task of a codebook."""
        return cls(codebook.kind, len(codebook.labels), tuple((scale.min, scale.max) for scale in codebook.scales))

    @property
    def items(self) -> int:
        """Number of columns of a grid."""
        return 1 if self.kind == "choice" else self.labels

    def values(self, item: int) -> Grid:
        """Return the possible values of an item in ascending order, that of a probability's last axis."""
        low, high = 0, self.labels - 1 if self.kind == "choice" else 1
        if self.kind == "rating":
            low, high = self.scales[item]
        return np.arange(low, high + 1, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class ClassifierInput:
    """A document as the classifier sees it.

    ``prior`` has a number per label: the log-odds of presence by the codebook's words; for a choice the log weight of
    the label; for ratings a score from 0. ``words`` are the codebook's words that were found, each with the number of
    its label, and their strength.
    ``vector`` is an embedding of length 1, None without one.
    """

    text: str
    prior: tuple[float, ...]
    words: Mapping[tuple[int, str], float] = field(default_factory=dict)
    vector: npt.NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """A value for every item of each document, and its certainty (the probability of that value, 0 to 1)."""

    values: Grid
    certainty: Grid


@dataclass(frozen=True, eq=False)
class Classifier:
    """A trained classifier."""

    task: Task
    vocabulary: tuple[str, ...]
    """The words of TF-IDF."""
    idf: Grid
    """Their weights."""
    words: tuple[tuple[int, str], ...]
    """The codebook's words that were found, each with the number of its label."""
    centre: Grid
    """The mean vector of the training examples, empty without vectors."""
    models: tuple[Grid, ...] = ()
    """The weights ``[feature, value]`` of each item.

    The last rows are those of the evidence of each label and of the bias.
    """

    @cached_property
    def tfidf(self) -> Any:
        """TF-IDF of words, None without a vocabulary."""
        if not self.vocabulary:
            return None
        tfidf = _new_tfidf(self.vocabulary)
        tfidf.idf_ = self.idf
        return tfidf

    def predict(self, examples: Sequence[ClassifierInput], among: Sequence[int] = ()) -> Predictions:
        """Return values and certainties for documents.

        ``among`` are the labels that may be chosen, by default all; their probabilities then sum to 1.
        """
        probabilities = self.predict_proba(examples)
        if self.task.kind == "multilabel":
            offsets = (probabilities[:, :, 1] >= PRESENT).astype(np.int64)
        elif self.task.kind == "rating":  # the median: a mode may jump over the middle of an ordinal scale
            offsets = (probabilities.cumsum(axis=2) >= 0.5 - 1e-9).argmax(axis=2)
        else:
            if among:
                probabilities *= np.isin(np.arange(probabilities.shape[2]), among)
                probabilities /= probabilities.sum(axis=2, keepdims=True)
            offsets = probabilities.argmax(axis=2)
        certainty = np.take_along_axis(probabilities, offsets[:, :, None], axis=2)[:, :, 0]
        lowest = np.array([self.task.values(item)[0] for item in range(self.task.items)])
        return Predictions(offsets + lowest, certainty)

    def predict_proba(self, examples: Sequence[ClassifierInput]) -> npt.NDArray[np.float64]:
        """Return the probability of each value as ``[document, item, value]``, summing to 1 over the last axis.

        That axis is as long as the longest scale; values beyond an item's own have probability 0.
        """
        from scipy.special import softmax

        features = self.features(examples)
        longest = max((weights.shape[1] for weights in self.models), default=0)
        result = np.zeros((len(examples), self.task.items, longest))
        for item, weights in enumerate(self.models):
            result[:, item, : weights.shape[1]] = softmax(features @ weights, axis=1)
        return result

    def explain(self, example: ClassifierInput, values: Iterable[float]) -> list[tuple[str, ...]]:
        """Return the words with the largest weights for the value of each item, strongest first; empty without any."""
        row = self.features([example]).tocoo()
        names = (*self.vocabulary, *(word for _, word in self.words))
        found = [
            (names[index], index, amount) for index, amount in zip(row.col, row.data, strict=True) if index < len(names)
        ]
        explained = []
        for item, value in enumerate(values):
            column = self.models[item][:, int(value - self.task.values(item)[0])]
            gains: Counter[str] = Counter()
            for name, index, amount in found:
                gains[name] += amount * column[index]
            explained.append(tuple(name for name, gain in gains.most_common(MAX_EXPLAINED_WORDS) if gain > 0))
        return explained

    def features(self, examples: Sequence[ClassifierInput]) -> Any:
        """Return features scaled by the deviation of their weights, so that one penalty fits all of them.

        All are divided by the root of 2, since a log-odds is the difference of the weights of two values. Vectors are
        centred: what texts of one kind have in common would be a second bias, with a much larger deviation. A text
        without a vector of this length is an average text.
        """
        from scipy import sparse

        count = len(examples)
        words = [[example.words.get(word, 0.0) for word in self.words] for example in examples]
        vectors = [
            self.centre if example.vector is None or example.vector.shape != self.centre.shape else example.vector
            for example in examples
        ]
        dense = (
            np.array(words).reshape(count, len(self.words)) * WORD_DEVIATION,
            (np.array(vectors, dtype=np.float64).reshape(count, len(self.centre)) - self.centre) * TEXT_DEVIATION,
            np.array([example.prior for example in examples]).reshape(count, self.task.labels) * SCORE_DEVIATION,
            np.full((count, 1), BIAS_DEVIATION),
        )
        blocks = [sparse.csr_array(np.hstack(dense))]
        if self.tfidf is not None:
            blocks.insert(0, self.tfidf.transform([example.text for example in examples]) * TEXT_DEVIATION)
        return sparse.hstack(blocks, format="csr") / ROOT


def train(task: Task, examples: Sequence[ClassifierInput], reference: npt.ArrayLike) -> Classifier:
    """Train a classifier. ``reference`` is a grid in which NaN is undecided.

    Documents without any decision are ignored. Deterministic.
    """
    grid = np.asarray(reference, dtype=np.float64)
    decided = np.flatnonzero(~np.isnan(grid).all(axis=1))
    examples = [examples[index] for index in decided.tolist()]
    words = tuple(sorted({word for example in examples for word in example.words}))
    vectors = [example.vector for example in examples if example.vector is not None]
    centre = np.array(vectors, dtype=np.float64).mean(axis=0) if vectors else np.zeros(0)
    try:
        tfidf = _new_tfidf(None).fit([example.text for example in examples])
        vocabulary, idf = tuple(map(str, tfidf.get_feature_names_out())), tfidf.idf_
    except ValueError:  # scikit-learn's "empty vocabulary": no text contains a word
        vocabulary, idf = (), np.zeros(0)
    untrained = Classifier(task, vocabulary, idf, words, centre)
    features = untrained.features(examples)
    models = []
    for item in range(task.items):
        # A word of another label says little about this one, and it may be so common that it would outweigh all others.
        foreign = [len(vocabulary) + place for place, (label, _) in enumerate(words) if label != item]
        models.append(_train_item(task, features, item, grid[decided, item], foreign))
    return replace(untrained, models=tuple(models))


def cross_val_predict(
    task: Task,
    examples: Sequence[ClassifierInput],
    reference: npt.ArrayLike,
    *,
    groups: npt.NDArray[np.int64] | None = None,
    share: float = 1.0,
) -> Grid:
    """Return cross-validated values of the decided documents.

    Other documents are NaN, and all are when fewer than two documents or groups are decided. Folds are drawn at random.
    Documents with equal codes in ``groups`` (``[document]``) are in one fold, so that a document is not predicted from
    others of its author. With a ``share`` below 1, only that share of the other folds is trained on, to see what more
    documents gain; with 0 nothing is, and the values are those of the words alone.
    """
    grid = np.asarray(reference, dtype=np.float64)
    decided = np.flatnonzero(~np.isnan(grid).all(axis=1))
    predicted = np.full(grid.shape, np.nan)
    units, unit = np.unique(decided if groups is None else groups[decided], return_inverse=True)
    if len(units) < 2:
        return predicted
    order = np.random.default_rng(0).permutation(len(units))
    place = np.argsort(order)[unit]
    shuffled = decided[np.argsort(place, kind="stable")]
    for fold_units in np.array_split(order, min(FOLDS, len(units))):
        fold = decided[np.isin(unit, fold_units)]
        training = shuffled[~np.isin(shuffled, fold)]
        training = np.sort(training[: math.ceil(share * len(training))])
        trained = train(task, [examples[index] for index in training], grid[training])
        predicted[fold] = trained.predict([examples[index] for index in fold]).values
    return predicted


def training_size(documents: int, share: float, groups: int | None = None) -> int:
    """Return how many documents ``cross_val_predict`` trains on at once, as a rounded mean over its folds.

    ``groups`` is the number of groups of the documents, None without groups.
    """
    return round(share * documents * (1 - 1 / max(2, min(FOLDS, documents if groups is None else groups))))


def _new_tfidf(vocabulary: Sequence[str] | None) -> Any:
    """Return TF-IDF of words that has no weights yet."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, strip_accents="unicode", token_pattern=r"\b\w+\b", vocabulary=vocabulary)


def _train_item(task: Task, features: Any, item: int, reference: Grid, foreign: Sequence[int]) -> Grid:
    """Return the weights ``[feature, value]`` of an item. Without different answers they stay those of the words.

    The evidence of the words starts with a weight of 1, ratings start from the share of each rating. Unless a label is
    chosen, the weights of ``foreign`` features and of the evidence of other items are 0.
    """
    values, trained = task.values(item), ~np.isnan(reference)
    answers = np.searchsorted(values, reference[trained])
    weights = np.zeros((features.shape[1], len(values)))
    evidence = np.arange(-1 - task.labels, -1)
    of_item = evidence if task.kind == "choice" else evidence[[item]]
    if task.kind == "rating":
        counts = np.bincount(answers, minlength=len(values)) + 0.5
        weights[-1] = np.log(counts / counts.sum()) * ROOT / BIAS_DEVIATION
    else:
        weights[of_item] = np.eye(len(values))[-len(of_item) :] * ROOT / SCORE_DEVIATION
    if len(np.unique(answers)) > 1:
        others = [] if task.kind == "choice" else [*foreign, *np.setdiff1d(evidence, of_item)]
        used = np.delete(np.arange(len(weights)), others)
        weights[used] = _fit(features[trained][:, used], weights[used], np.eye(len(values))[answers])
    return weights


def _fit(features: Any, initial: Grid, answered: Grid) -> Grid:
    """Return MAP weights ``[feature, value]`` of a multinomial logistic regression with normal priors around others.

    ``answered`` is 1 for the value of each document and 0 for the others.
    """
    from scipy.optimize import minimize
    from scipy.special import log_softmax

    def loss(flat: Grid) -> tuple[float, Grid]:
        change = flat.reshape(initial.shape)
        logs = log_softmax(features @ (initial + change), axis=1)
        slope = features.T @ (np.exp(logs) - answered) + change
        return float(flat @ flat / 2 - (answered * logs).sum()), slope.ravel()

    solution = minimize(loss, np.zeros(initial.size), jac=True, method="L-BFGS-B")
    return np.asarray(initial + solution.x.reshape(initial.shape))


MAX_UNPACKED = 200_000_000  # bytes; a million words with five labels have about 60 MB
MAX_VALUES = 6_000_000
"""Limit of values in the description of a file. A classifier of 200 MB has fewer; ``[{},{}`` would need gigabytes."""
_PARTS = frozenset({"DictNode", "ListNode", "TupleNode", "JsonNode", "TypeNode", "NdArrayNode"})
"""The parts of the description in a skops file that plain values and arrays need."""


def dumps(classifier: Classifier, facts: dict[str, Any]) -> bytes:
    """Return the classifier with plain ``facts`` about it (label names, training data) as a skops file.

    The file holds a dict: ``facts`` and the fields of the classifier. The rows of a model's weights are the vocabulary,
    the words, the vector, the evidence and the bias.
    """
    import skops.io

    return bytes(skops.io.dumps({"facts": facts, **asdict(classifier)}))


def loads(data: bytes, *, name: str = "the file") -> tuple[Classifier, dict[str, Any]]:
    """Return the classifier and the facts that ``dumps`` wrote.

    InputError for anything else, and for too large a file. Other types are refused without being opened, and nothing
    in the file is executed.
    """
    import skops.io

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_size(archive)
        contents = skops.io.loads(data, trusted=[])
        return _load_classifier(contents), dict(contents["facts"])
    except Exception as error:  # a hostile or broken file fails in skops in whatever way it likes
        raise InputError(
            f"{name} is not a classifier file.", "Choose a .skops file that this version of Moot exported."
        ) from error


def _check_size(archive: zipfile.ZipFile) -> None:
    """Refuse a file that unpacks to more than ``MAX_UNPACKED`` bytes or has more than ``MAX_VALUES`` values.

    An array counts as often as the description refers to it, because skops may read it each time. Parts that plain
    values and arrays do not need are refused, too. ValueError.
    """
    sizes = {member.filename: member.file_size for member in archive.infolist()}
    if sum(sizes.values()) > MAX_UNPACKED:
        raise ValueError("too large")
    schema, parts = archive.read("schema.json"), list[dict[str, Any]]()
    if schema.count(b",") > MAX_VALUES:
        raise ValueError("more values than a classifier has")
    json.loads(schema, object_hook=parts.append)
    if any(part.get("__loader__", "DictNode") not in _PARTS for part in parts):
        raise ValueError("a part that a classifier does not need")
    files = (part.get("file") for part in parts)
    if sum(sizes[file] for file in files if isinstance(file, str)) > MAX_UNPACKED:
        raise ValueError("too large")


def _numbers(stored: Any, *shape: int) -> Grid:
    """Return an array of a file. ValueError for another shape and for anything but numbers."""
    array = np.asarray(stored, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError("an array of another shape, or not of numbers")
    return array


def _load_classifier(contents: dict[str, Any]) -> Classifier:
    """Return the classifier with the contents of a file. ValueError for impossible contents."""
    task, stored = Task(**contents["task"]), contents["models"]
    if (
        task.labels > MAX_LABELS
        or any(high - low >= MAX_STEPS for low, high in task.scales)
        or len(stored) != task.items
    ):
        raise ValueError("too many labels, too long a scale, or models of other labels")
    vocabulary = tuple(map(str, contents["vocabulary"]))
    words = tuple((int(label), str(word)) for label, word in contents["words"])
    idf, centre = _numbers(contents["idf"], len(set(vocabulary))), _numbers(contents["centre"], len(contents["centre"]))
    size = len(vocabulary) + len(words) + len(centre) + task.labels + 1
    models = (_numbers(weights, size, len(task.values(item))) for item, weights in enumerate(stored))
    return Classifier(task, vocabulary, idf, words, centre, tuple(models))
