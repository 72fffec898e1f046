"""The student: a small classifier that learns from what a person decided, and says how sure it is.

For each item a logistic regression on TF-IDF of the text plus the lexical evidence (what the codebook's own words
say), blended with that lexical evidence alone: after m decisions the student's voice weighs m / (m + 50). So it starts
where the word lists are and needs no least number of labels. A label without any usable decision stays lexical.

Ratings are learned as "more than k" for each step k of the scale (Frank and Hall 2001, *A simple approach to ordinal
classification*, section 2), with the share of each rating so far in the place of the lexical evidence.
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
"""Part of a student's hash: raise it whenever the same decisions teach something else."""

HALF = 50
"""Decisions after which the student and the lexical evidence weigh the same."""
STRENGTH = 20.0
"""Inverse of the regularisation (scikit-learn's C)."""
THRESHOLD = 0.4
"""Evidence at which the lexical evidence alone says present: what the built-in model's judge takes to keep a label."""
STEEPNESS = 4.0
"""How quickly the lexical evidence becomes sure on both sides of the threshold."""
MOST_EVIDENCE = 2.0
FOLDS = 5
EXPLAINED = 3
"""Words named for a value at most."""

Grid: TypeAlias = npt.NDArray[np.float64]
"""``[document, item]``: 1 and 0 in a multilabel codebook, a label's index in a choice, a rating; NaN for no value."""


@dataclass(frozen=True, slots=True)
class Task:
    """What there is to learn. ``labels`` counts the codebook's labels, ``scale`` the ratings' both ends."""

    kind: Kind
    labels: int
    scale: tuple[int, int] = (1, 5)

    @property
    def items(self) -> int:
        """Columns of a grid."""
        return 1 if self.kind == "choice" else self.labels

    @property
    def values(self) -> Grid:
        """The values that an item can have, in the order of a probability's last axis."""
        if self.kind == "multilabel":
            return np.array([0.0, 1.0])
        if self.kind == "choice":
            return np.arange(self.labels, dtype=np.float64)
        return np.arange(self.scale[0], self.scale[1] + 1, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Opinion:
    """What a student says of documents: a value for every item, and how sure it is of it (0 to 1: the probability it
    gives to that value)."""

    values: Grid
    certainty: Grid


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """One item's part: ``taught`` decisions, for each learned question its weights and intercept, or the share of
    right answers where all decisions were the same. A question's weights end with those of the evidence."""

    taught: int
    questions: tuple[tuple[npt.NDArray[np.float64], float], ...]
    prior: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """Ratings: the smoothed share of each so far."""


@dataclass(frozen=True, slots=True, eq=False)
class Classifier:
    """A trained student; ``words`` is the fitted TF-IDF, None while nothing was taught."""

    task: Task
    words: Any
    models: tuple[Model, ...]

    def judge(self, texts: Sequence[str], evidence: npt.ArrayLike) -> Opinion:
        """Values and certainties for documents; ``evidence`` is ``[document, label]``, 0 where no word speaks for a
        label. ValueError for another shape."""
        chances = self.chances(texts, evidence)
        best = chances.argmax(axis=2)
        if self.task.kind == "rating":  # the median: a mode may jump over the middle of an ordinal scale
            best = (chances.cumsum(axis=2) >= 0.5 - 1e-9).argmax(axis=2)
        sure = np.take_along_axis(chances, best[:, :, None], axis=2)[:, :, 0]
        return Opinion(self.task.values[best], sure)

    def chances(self, texts: Sequence[str], evidence: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """``[document, item, value]``: the probability of each value, summing to 1 over the last axis."""
        known = _evidence(evidence, len(texts), self.task)
        told = self.words.transform(texts) if self.words is not None else None
        result = np.zeros((len(texts), self.task.items, len(self.task.values)))
        for item, model in enumerate(self.models):
            lexical = _lexical(self.task, known, item, model)
            weight = model.taught / (model.taught + HALF) if told is not None and model.questions else 0.0
            learned = _learned(self.task, model, told, _own(self.task, known, item)) if weight else lexical
            result[:, item] = weight * learned + (1 - weight) * lexical
        return result

    def reasons(self, text: str, item: int, value: float) -> tuple[str, ...]:
        """The words of a text that speak most for an item's value, strongest first; empty when none does."""
        model = self.models[item]
        if self.words is None or not model.questions or self.task.kind == "rating":
            return ()
        question, sign = (int(value), 1.0) if self.task.kind == "choice" else (0, 1.0 if value else -1.0)
        if question >= len(model.questions):
            return ()
        row = self.words.transform([text])
        weights = model.questions[question][0]
        parts = [(sign * each * weights[place], place) for each, place in zip(row.data, row.indices, strict=True)]
        names = self.words.get_feature_names_out()
        return tuple(str(names[place]) for gain, place in sorted(parts, reverse=True)[:EXPLAINED] if gain > 0)


def train(task: Task, texts: Sequence[str], evidence: npt.ArrayLike, reference: npt.ArrayLike) -> Classifier:
    """A student from decided documents. ``reference`` is a grid in which NaN is undecided; documents without any
    decision teach nothing. Deterministic. ValueError for shapes that do not fit."""
    known, grid = _evidence(evidence, len(texts), task), _reference(reference, len(texts), task)
    decided = np.flatnonzero(~np.isnan(grid).all(axis=1))
    texts = [texts[place] for place in decided.tolist()]
    known, grid = known[decided], grid[decided]
    words, told = _read(texts)
    models = tuple(
        _model(task, told, _own(task, known, item), grid[:, item]) if told is not None else _untaught(task, grid, item)
        for item in range(task.items)
    )
    return Classifier(task, words, models)


def held_out(
    task: Task,
    texts: Sequence[str],
    evidence: npt.ArrayLike,
    reference: npt.ArrayLike,
    *,
    folds: int = FOLDS,
    seed: int = 0,
) -> Grid:
    """What students that were not taught a document say of it: cross-validated values of the decided documents, NaN
    for the others, and everywhere when there are fewer than two. Folds are drawn at random from ``seed``."""
    known, grid = _evidence(evidence, len(texts), task), _reference(reference, len(texts), task)
    places = np.flatnonzero(~np.isnan(grid).all(axis=1))
    said = np.full(grid.shape, np.nan)
    if len(places) < 2:
        return said
    shuffled = np.random.default_rng(seed).permutation(places)
    for fold in np.array_split(shuffled, min(folds, len(places))):
        rest = np.setdiff1d(places, fold)
        taught = train(task, [texts[place] for place in rest], known[rest], grid[rest])
        said[fold] = taught.judge([texts[place] for place in fold], known[fold]).values
    return said


def _read(texts: Sequence[str]) -> tuple[Any, Any]:
    """TF-IDF of words and pairs of words, fitted on the texts; (None, None) when there is no word in any."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, strip_accents="unicode", token_pattern=r"\b\w+\b")
    try:
        return words, words.fit_transform(texts)
    except ValueError:  # scikit-learn's "empty vocabulary"
        return None, None


def _model(task: Task, told: Any, own: Grid, reference: Grid) -> Model:
    taught = ~np.isnan(reference)
    count = int(taught.sum())
    if not count:
        return Model(0, (), _shares(task, reference))
    features, answers = _joined(told[taught], own[taught]), reference[taught]
    if task.kind == "choice":
        questions = _several(features, answers.astype(int), task.labels)
    else:
        cuts = (0.5,) if task.kind == "multilabel" else tuple(task.values[:-1] + 0.5)
        questions = tuple(_one(features, answers > cut) for cut in cuts)
    return Model(count, questions, _shares(task, reference))


def _untaught(task: Task, grid: Grid, item: int) -> Model:
    return Model(0, (), _shares(task, grid[:, item]))


def _one(features: Any, yes: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.float64], float]:
    """The weights of one yes-or-no question; the smoothed share alone when all answers are the same."""
    from sklearn.linear_model import LogisticRegression

    if yes.all() or not yes.any():
        share = (float(yes.sum()) + 0.5) / (len(yes) + 1)
        return np.zeros(features.shape[1]), float(np.log(share / (1 - share)))
    # Balanced, so that a rare label is not drowned: certainty is about the boundary, not about the base rate.
    fitted = LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=400).fit(features, yes)
    return fitted.coef_[0].astype(np.float64), float(fitted.intercept_[0])


def _several(
    features: Any, answers: npt.NDArray[np.int64], labels: int
) -> tuple[tuple[npt.NDArray[np.float64], float], ...]:
    """Multinomial weights for each label; a label that was never chosen gets the intercept of a share of 1/2."""
    from sklearn.linear_model import LogisticRegression

    seen = np.unique(answers)
    rare = float(np.log(0.5 / (len(answers) + 0.5)))
    questions = [(np.zeros(features.shape[1]), rare) for _ in range(labels)]
    if len(seen) == 1:
        questions[seen[0]] = (np.zeros(features.shape[1]), 0.0)
        return tuple(questions)
    fitted = LogisticRegression(C=STRENGTH, max_iter=400).fit(features, answers)
    coefficients, intercepts = fitted.coef_, fitted.intercept_
    if len(seen) == 2:  # scikit-learn keeps one row for two classes
        coefficients, intercepts = np.vstack([-coefficients, coefficients]) / 2, np.r_[-intercepts, intercepts] / 2
    for place, label in enumerate(seen):
        questions[label] = (coefficients[place].astype(np.float64), float(intercepts[place]))
    return tuple(questions)


def _learned(task: Task, model: Model, told: Any, own: Grid) -> npt.NDArray[np.float64]:
    features = _joined(told, own)
    scores = np.column_stack([features @ weights + intercept for weights, intercept in model.questions])
    if task.kind == "choice":
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))
    above = _logistic(scores)
    if task.kind == "multilabel":
        return np.column_stack([1 - above, above])
    above = np.minimum.accumulate(above, axis=1)  # more than 3 is never likelier than more than 2
    edges = np.column_stack([np.ones(len(above)), above, np.zeros(len(above))])
    return np.asarray(edges[:, :-1] - edges[:, 1:])


def _lexical(task: Task, evidence: Grid, item: int, model: Model) -> npt.NDArray[np.float64]:
    """``[document, value]``: what is to be said before anything was learned from the text."""
    if task.kind == "multilabel":
        present = _logistic(STEEPNESS * (evidence[:, item] - THRESHOLD))
        return np.column_stack([1 - present, present])
    if task.kind == "choice":
        smoothed = evidence + 0.25
        return np.asarray(smoothed / smoothed.sum(axis=1, keepdims=True))
    return np.tile(model.prior, (len(evidence), 1))


def _shares(task: Task, reference: Grid) -> npt.NDArray[np.float64]:
    if task.kind != "rating":
        return np.zeros(0)
    counts = np.array([(np.round(reference) == value).sum() for value in task.values], dtype=np.float64) + 0.5
    return np.asarray(counts / counts.sum())


def _own(task: Task, evidence: Grid, item: int) -> Grid:
    """The evidence that an item's model sees: its own label's; of a choice, all labels'."""
    return evidence if task.kind == "choice" else evidence[:, item : item + 1]


def _joined(told: Any, own: Grid) -> Any:
    from scipy import sparse

    return sparse.hstack([told, sparse.csr_array(own)], format="csr")


def _logistic(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-np.clip(scores, -30, 30))))


def _evidence(evidence: npt.ArrayLike, documents: int, task: Task) -> Grid:
    grid = np.asarray(evidence, dtype=np.float64).reshape(documents, -1) if documents else np.zeros((0, task.labels))
    if grid.shape != (documents, task.labels):
        raise ValueError(f"evidence of shape {grid.shape} for {documents} documents and {task.labels} labels")
    return np.clip(grid, 0.0, MOST_EVIDENCE)


def _reference(reference: npt.ArrayLike, documents: int, task: Task) -> Grid:
    grid = np.asarray(reference, dtype=np.float64)
    if grid.shape != (documents, task.items):
        raise ValueError(f"decisions of shape {grid.shape} for {documents} documents and {task.items} items")
    known = grid[~np.isnan(grid)]
    low, high = task.values[0], task.values[-1]
    if known.size and (known.min() < low or known.max() > high):
        raise ValueError(f"a decision lies outside {low:g} to {high:g}")
    return grid


def dumps(student: Classifier, facts: dict[str, Any]) -> bytes:
    """The student with plain ``facts`` about it (names of labels, what it was taught) as a skops file.

    The file holds a dict: ``facts``, ``task``, ``words`` (a fitted TfidfVectorizer, None when nothing was taught) and
    ``models``, whose weights are one for each word in the vectorizer's order and then those of the lexical evidence.
    """
    import skops.io

    task = student.task
    data: bytes = skops.io.dumps(
        {
            "facts": facts,
            "task": {"kind": task.kind, "labels": task.labels, "scale": list(task.scale)},
            "words": student.words,
            "models": [
                {
                    "taught": model.taught,
                    "weights": [weights for weights, _ in model.questions],
                    "intercepts": [intercept for _, intercept in model.questions],
                    "prior": model.prior,
                }
                for model in student.models
            ],
        }
    )
    return data


def loads(data: bytes, *, name: str = "the file") -> tuple[Classifier, dict[str, Any]]:
    """The student and the facts that ``dumps`` wrote. InputError for anything else: other types are refused unopened,
    and nothing in the file is ever run."""
    import skops.io

    try:
        if skops.io.get_untrusted_types(data=data):
            raise InputError(f"{name} holds types that a student does not need.", "It was not loaded.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of another version of scikit-learn: the weights are checked below
            held = skops.io.loads(data, trusted=[])
        return _student(held), dict(held["facts"])
    except InputError:
        raise
    except Exception as error:  # a hostile or broken file fails in skops in whatever way it likes
        raise InputError(f"{name} is not a student.", "Choose a .skops file that Moot exported.") from error


def _student(held: dict[str, Any]) -> Classifier:
    task = Task(held["task"]["kind"], int(held["task"]["labels"]), tuple(held["task"]["scale"]))
    words = held["words"]
    size = (len(words.vocabulary_) if words is not None else 0) + (task.labels if task.kind == "choice" else 1)
    models = []
    for model in held["models"]:
        weights = [np.asarray(each, dtype=np.float64) for each in model["weights"]]
        if any(each.shape != (size,) for each in weights):
            raise InputError("The student's weights do not fit its words.", "It was not loaded.")
        questions = tuple(zip(weights, map(float, model["intercepts"]), strict=True))
        models.append(Model(int(model["taught"]), questions, np.asarray(model["prior"], dtype=np.float64)))
    if len(models) != task.items:
        raise InputError("The student does not know all of its labels.", "It was not loaded.")
    return Classifier(task, words, tuple(models))
