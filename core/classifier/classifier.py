"""A small classifier that is trained on reviewed documents and reports its certainty.

For each item, a logistic regression on TF-IDF of the text plus the lexical evidence (scores of the codebook's own
words) is blended with the lexical evidence alone. After m decisions the regression has the weight m / (m + 50). The
classifier thus starts at the word lists and needs no minimum number of labels. A label without any usable decision
stays lexical.

Ratings are learned as "more than k" for each step k of the scale (Frank and Hall 2001, *A simple approach to ordinal
classification*, section 2). The share of each rating so far replaces the lexical evidence.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from core.codebook import Kind
from core.errors import InputError

VERSION = "1"
"""Part of a classifier's hash. Raise it whenever the same decisions train a different classifier."""

HALF_WEIGHT = 50
"""Number of decisions at which regression and lexical evidence have the same weight."""
STRENGTH = 20.0
"""Inverse of the regularisation (scikit-learn's C)."""
THRESHOLD = 0.5
"""Evidence at which the lexical evidence alone predicts a label; the built-in judge uses the same threshold."""
STEEPNESS = 4.0
"""Slope of the lexical probability around the threshold."""
MAX_EVIDENCE = 2.0
FOLDS = 5
MAX_EXPLAINED_WORDS = 3
"""Words in an explanation."""

Grid: TypeAlias = npt.NDArray[np.float64]
"""``[document, item]``: 1 and 0 for multiple labels, the label's index for a choice, a rating; NaN without a value."""


@dataclass(frozen=True, slots=True)
class Task:
    """A learning task. ``labels`` counts the codebook's labels, ``scale`` holds both ends of a rating scale."""

    kind: Kind
    labels: int
    scale: tuple[int, int] = (1, 5)

    @property
    def items(self) -> int:
        """Number of columns of a grid."""
        return 1 if self.kind == "choice" else self.labels

    @property
    def values(self) -> Grid:
        """The possible values of an item, in the order of a probability's last axis."""
        if self.kind == "multilabel":
            return np.array([0.0, 1.0])
        if self.kind == "choice":
            return np.arange(self.labels, dtype=np.float64)
        return np.arange(self.scale[0], self.scale[1] + 1, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """A value for every item of each document, and its certainty (the probability of that value, 0 to 1)."""

    values: Grid
    certainty: Grid


@dataclass(frozen=True, slots=True, eq=False)
class ItemModel:
    """The model of one item: the number of ``decisions``, and weights and intercept of each estimator.

    Where all decisions were the same, the estimator is their share. Weights end with those of the evidence.
    """

    decisions: int
    estimators: tuple[tuple[npt.NDArray[np.float64], float], ...]
    prior: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """For ratings: the smoothed share of each rating so far."""


@dataclass(frozen=True, slots=True, eq=False)
class Classifier:
    """A trained classifier; ``words`` is the fitted TF-IDF, None without training examples."""

    task: Task
    words: Any
    models: tuple[ItemModel, ...]

    def predict(self, texts: Sequence[str], evidence: npt.ArrayLike) -> Predictions:
        """Return values and certainties for documents.

        ``evidence`` is ``[document, label]``, 0 where no word supports a label. ValueError for another shape.
        """
        probabilities = self.predict_proba(texts, evidence)
        best = probabilities.argmax(axis=2)
        if self.task.kind == "rating":  # the median: a mode may jump over the middle of an ordinal scale
            best = (probabilities.cumsum(axis=2) >= 0.5 - 1e-9).argmax(axis=2)
        certainty = np.take_along_axis(probabilities, best[:, :, None], axis=2)[:, :, 0]
        return Predictions(self.task.values[best], certainty)

    def predict_proba(self, texts: Sequence[str], evidence: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the probability of each value as ``[document, item, value]``, summing to 1 over the last axis."""
        known = _check_evidence(evidence, len(texts), self.task)
        features = self.words.transform(texts) if self.words is not None else None
        result = np.zeros((len(texts), self.task.items, len(self.task.values)))
        for item, model in enumerate(self.models):
            lexical = _lexical_proba(self.task, known, item, model)
            weight = (
                model.decisions / (model.decisions + HALF_WEIGHT) if features is not None and model.estimators else 0.0
            )
            learned = (
                _model_proba(self.task, model, features, _item_evidence(self.task, known, item)) if weight else lexical
            )
            result[:, item] = weight * learned + (1 - weight) * lexical
        return result

    def explain(self, text: str, item: int, value: float) -> tuple[str, ...]:
        """Return the words with the largest weights for an item's value, strongest first; empty without any."""
        model = self.models[item]
        if self.words is None or not model.estimators or self.task.kind == "rating":
            return ()
        estimator, sign = (int(value), 1.0) if self.task.kind == "choice" else (0, 1.0 if value else -1.0)
        if estimator >= len(model.estimators):
            return ()
        row = self.words.transform([text])
        weights = model.estimators[estimator][0]
        parts = [(sign * each * weights[place], place) for each, place in zip(row.data, row.indices, strict=True)]
        names = self.words.get_feature_names_out()
        strongest = sorted(parts, reverse=True)[:MAX_EXPLAINED_WORDS]
        return tuple(str(names[place]) for gain, place in strongest if gain > 0)


def train(task: Task, texts: Sequence[str], evidence: npt.ArrayLike, reference: npt.ArrayLike) -> Classifier:
    """Train a classifier. ``reference`` is a grid in which NaN is undecided.

    Documents without any decision are ignored. Deterministic. ValueError for shapes that do not match.
    """
    known, grid = _check_evidence(evidence, len(texts), task), _check_reference(reference, len(texts), task)
    decided = np.flatnonzero(~np.isnan(grid).all(axis=1))
    texts = [texts[place] for place in decided.tolist()]
    known, grid = known[decided], grid[decided]
    words, features = _vectorize(texts)
    models = tuple(
        _train_item(task, features, _item_evidence(task, known, item), grid[:, item])
        if features is not None
        else _untrained(task, grid, item)
        for item in range(task.items)
    )
    return Classifier(task, words, models)


def cross_val_predict(
    task: Task,
    texts: Sequence[str],
    evidence: npt.ArrayLike,
    reference: npt.ArrayLike,
    *,
    folds: int = FOLDS,
    seed: int = 0,
) -> Grid:
    """Return cross-validated values of the decided documents.

    Other documents are NaN, and all are when fewer than two are decided. Folds are drawn at random from ``seed``.
    """
    known, grid = _check_evidence(evidence, len(texts), task), _check_reference(reference, len(texts), task)
    places = np.flatnonzero(~np.isnan(grid).all(axis=1))
    predicted = np.full(grid.shape, np.nan)
    if len(places) < 2:
        return predicted
    shuffled = np.random.default_rng(seed).permutation(places)
    for fold in np.array_split(shuffled, min(folds, len(places))):
        rest = np.setdiff1d(places, fold)
        trained = train(task, [texts[place] for place in rest], known[rest], grid[rest])
        predicted[fold] = trained.predict([texts[place] for place in fold], known[fold]).values
    return predicted


def _vectorize(texts: Sequence[str]) -> tuple[Any, Any]:
    """Fit TF-IDF of words and word pairs on the texts; (None, None) when no text contains a word."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, strip_accents="unicode", token_pattern=r"\b\w+\b")
    try:
        return words, words.fit_transform(texts)
    except ValueError:  # scikit-learn's "empty vocabulary"
        return None, None


def _train_item(task: Task, features: Any, own: Grid, reference: Grid) -> ItemModel:
    trained = ~np.isnan(reference)
    count = int(trained.sum())
    if not count:
        return ItemModel(0, (), _prior(task, reference))
    features, answers = _features(features[trained], own[trained]), reference[trained]
    if task.kind == "choice":
        estimators = _multinomial(features, answers.astype(int), task.labels)
    else:
        cuts = (0.5,) if task.kind == "multilabel" else tuple(task.values[:-1] + 0.5)
        estimators = tuple(_binary(features, answers > cut) for cut in cuts)
    return ItemModel(count, estimators, _prior(task, reference))


def _untrained(task: Task, grid: Grid, item: int) -> ItemModel:
    return ItemModel(0, (), _prior(task, grid[:, item]))


def _binary(features: Any, yes: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.float64], float]:
    """Return the weights of one binary estimator; the smoothed share alone when all answers are the same."""
    from sklearn.linear_model import LogisticRegression

    if yes.all() or not yes.any():
        share = (float(yes.sum()) + 0.5) / (len(yes) + 1)
        return np.zeros(features.shape[1]), float(np.log(share / (1 - share)))
    # Balanced, so that a rare label is not drowned: certainty is about the boundary, not about the base rate.
    fitted = LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=400).fit(features, yes)
    return fitted.coef_[0].astype(np.float64), float(fitted.intercept_[0])


def _multinomial(
    features: Any, answers: npt.NDArray[np.int64], labels: int
) -> tuple[tuple[npt.NDArray[np.float64], float], ...]:
    """Return multinomial weights for each label; a label that was never chosen gets the intercept of a share of 1/2."""
    from sklearn.linear_model import LogisticRegression

    seen = np.unique(answers)
    rare = float(np.log(0.5 / (len(answers) + 0.5)))
    estimators = [(np.zeros(features.shape[1]), rare) for _ in range(labels)]
    if len(seen) == 1:
        estimators[seen[0]] = (np.zeros(features.shape[1]), 0.0)
        return tuple(estimators)
    fitted = LogisticRegression(C=STRENGTH, max_iter=400).fit(features, answers)
    coefficients, intercepts = fitted.coef_, fitted.intercept_
    if len(seen) == 2:  # scikit-learn keeps one row for two classes
        coefficients, intercepts = np.vstack([-coefficients, coefficients]) / 2, np.r_[-intercepts, intercepts] / 2
    for place, label in enumerate(seen):
        estimators[label] = (coefficients[place].astype(np.float64), float(intercepts[place]))
    return tuple(estimators)


def _model_proba(task: Task, model: ItemModel, features: Any, own: Grid) -> npt.NDArray[np.float64]:
    features = _features(features, own)
    scores = np.column_stack([features @ weights + intercept for weights, intercept in model.estimators])
    if task.kind == "choice":
        exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))
    above = _sigmoid(scores)
    if task.kind == "multilabel":
        return np.column_stack([1 - above, above])
    above = np.minimum.accumulate(above, axis=1)  # more than 3 is never likelier than more than 2
    edges = np.column_stack([np.ones(len(above)), above, np.zeros(len(above))])
    return np.asarray(edges[:, :-1] - edges[:, 1:])


def _lexical_proba(task: Task, evidence: Grid, item: int, model: ItemModel) -> npt.NDArray[np.float64]:
    """Return ``[document, value]``: the probabilities before anything was learned from the text."""
    if task.kind == "multilabel":
        present = _sigmoid(STEEPNESS * (evidence[:, item] - THRESHOLD))
        return np.column_stack([1 - present, present])
    if task.kind == "choice":
        smoothed = evidence + 0.25
        return np.asarray(smoothed / smoothed.sum(axis=1, keepdims=True))
    return np.tile(model.prior, (len(evidence), 1))


def _prior(task: Task, reference: Grid) -> npt.NDArray[np.float64]:
    if task.kind != "rating":
        return np.zeros(0)
    counts = np.array([(np.round(reference) == value).sum() for value in task.values], dtype=np.float64) + 0.5
    return np.asarray(counts / counts.sum())


def _item_evidence(task: Task, evidence: Grid, item: int) -> Grid:
    """Return the evidence for an item's model: that of its own label; for a choice, that of all labels."""
    return evidence if task.kind == "choice" else evidence[:, item : item + 1]


def _features(features: Any, own: Grid) -> Any:
    from scipy import sparse

    return sparse.hstack([features, sparse.csr_array(own)], format="csr")


def _sigmoid(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-np.clip(scores, -30, 30))))


def _check_evidence(evidence: npt.ArrayLike, documents: int, task: Task) -> Grid:
    grid = np.asarray(evidence, dtype=np.float64).reshape(documents, -1) if documents else np.zeros((0, task.labels))
    if grid.shape != (documents, task.labels):
        raise ValueError(f"evidence of shape {grid.shape} for {documents} documents and {task.labels} labels")
    return np.clip(grid, 0.0, MAX_EVIDENCE)


def _check_reference(reference: npt.ArrayLike, documents: int, task: Task) -> Grid:
    grid = np.asarray(reference, dtype=np.float64)
    if grid.shape != (documents, task.items):
        raise ValueError(f"decisions of shape {grid.shape} for {documents} documents and {task.items} items")
    known = grid[~np.isnan(grid)]
    low, high = task.values[0], task.values[-1]
    if known.size and (known.min() < low or known.max() > high):
        raise ValueError(f"a decision lies outside {low:g} to {high:g}")
    return grid


def dumps(classifier: Classifier, facts: dict[str, Any]) -> bytes:
    """Return the classifier with plain ``facts`` about it (label names, training data) as a skops file.

    The file holds a dict: ``facts``, ``task``, ``words`` (a fitted TfidfVectorizer, None without training examples) and
    ``models``. Weights of a model are one per word in the vectorizer's order, then those of the lexical evidence.
    """
    import skops.io

    task = classifier.task
    data: bytes = skops.io.dumps(
        {
            "facts": facts,
            "task": {"kind": task.kind, "labels": task.labels, "scale": list(task.scale)},
            "words": classifier.words,
            "models": [
                {
                    "decisions": model.decisions,
                    "weights": [weights for weights, _ in model.estimators],
                    "intercepts": [intercept for _, intercept in model.estimators],
                    "prior": model.prior,
                }
                for model in classifier.models
            ],
        }
    )
    return data


def loads(data: bytes, *, name: str = "the file") -> tuple[Classifier, dict[str, Any]]:
    """Return the classifier and the facts that ``dumps`` wrote.

    InputError for anything else. Other types are refused without being opened, and nothing in the file is executed.
    """
    import skops.io

    try:
        if skops.io.get_untrusted_types(data=data):
            raise InputError(f"{name} holds types that a classifier does not need.", "It was not loaded.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of another version of scikit-learn: the weights are checked below
            held = skops.io.loads(data, trusted=[])
        return _load_classifier(held), dict(held["facts"])
    except InputError:
        raise
    except Exception as error:  # a hostile or broken file fails in skops in whatever way it likes
        raise InputError(f"{name} is not a classifier file.", "Choose a .skops file that Moot exported.") from error


def _load_classifier(held: dict[str, Any]) -> Classifier:
    task = Task(held["task"]["kind"], int(held["task"]["labels"]), tuple(held["task"]["scale"]))
    words = held["words"]
    size = (len(words.vocabulary_) if words is not None else 0) + (task.labels if task.kind == "choice" else 1)
    models = []
    for model in held["models"]:
        weights = [np.asarray(each, dtype=np.float64) for each in model["weights"]]
        if any(each.shape != (size,) for each in weights):
            raise InputError("The classifier's weights do not match its vocabulary.", "It was not loaded.")
        estimators = tuple(zip(weights, map(float, model["intercepts"]), strict=True))
        models.append(ItemModel(int(model["decisions"]), estimators, np.asarray(model["prior"], dtype=np.float64)))
    if len(models) != task.items:
        raise InputError("The classifier does not cover all of its labels.", "It was not loaded.")
    return Classifier(task, words, tuple(models))
