"""Tests of the classifier: priors from the word lists, training, certainty, kinds of codebooks, files."""

from __future__ import annotations

import csv
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import baseline
from core.classifier import classifier
from core.classifier.classifier import ClassifierInput
from core.codebook import load_yaml
from core.files import shipped_folder

RNG = np.random.default_rng


def _synthetic_texts(count: int, seed: int = 0) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return texts, keyword evidence and reference of two labels.

    The first label is expressed by a keyword or by an unlisted word; the keyword of the second also occurs in an idiom.
    """
    rng = RNG(seed)
    texts, evidence, reference = [], [], []
    for _ in range(count):
        dirty, pricey, idiom = rng.random() < 0.5, rng.random() < 0.5, rng.random() < 0.3
        hidden = rng.random() < 0.5
        words = ["we stayed two nights in june and"]
        if dirty:
            words.append("cobwebs hung everywhere" if hidden else "everything was dirty")
        if pricey:
            words.append("the price hurt")
        if idiom:
            words.append("whatever the price of fame may be")
        words.append("greetings from the coast")
        texts.append(" ".join(words))
        evidence.append([float(dirty and not hidden), float(pricey or idiom)])
        reference.append([float(dirty), float(pricey)])
    return texts, np.array(evidence), np.array(reference)


def _examples(texts: Sequence[str], scores: npt.ArrayLike) -> list[ClassifierInput]:
    """Return examples with prior log odds of 2 for a score of 1 and -2 for 0."""
    priors = [4 * (np.atleast_1d(score) - 0.5) for score in np.asarray(scores, dtype=float)]
    return [ClassifierInput(text, tuple(prior.tolist())) for text, prior in zip(texts, priors, strict=True)]


def _error_rate(predicted: np.ndarray, reference: np.ndarray) -> float:
    return float((predicted != reference).mean())


def test_untrained_classifier_predicts_like_the_word_lists() -> None:
    texts, scores, reference = _synthetic_texts(50)
    examples = _examples(texts, scores)
    trained = classifier.train(classifier.Task("multilabel", 2), examples, np.full(reference.shape, np.nan))
    assert (trained.predict(examples).values == (scores >= 0.5)).all()


def test_classifier_learns_words_outside_the_word_lists() -> None:
    texts, scores, reference = _synthetic_texts(400)
    examples = _examples(texts, scores)
    trained = classifier.train(classifier.Task("multilabel", 2), examples[:150], reference[:150])
    lexical = _error_rate(scores[150:] >= 0.5, reference[150:])
    assert lexical > 0.1
    assert _error_rate(trained.predict(examples[150:]).values, reference[150:]) < lexical / 3
    (cobwebs,) = _examples(["cobwebs hung in june"], [[0, 0]])
    assert "cobwebs" in trained.explain(cobwebs, [1.0])[0]
    assert "cobwebs" not in trained.explain(cobwebs, [0.0])[0]


def test_documents_without_a_label_do_not_take_it_from_its_unreviewed_words() -> None:
    absent = [ClassifierInput(f"we stayed {number} nights", (-2.0,)) for number in range(60)]
    trained = classifier.train(
        classifier.Task("multilabel", 1), [*absent, ClassifierInput("a toll", (-2.0,))], [[0.0]] * 60 + [[1.0]]
    )
    derived, without = trained.predict_proba(
        [ClassifierInput("the fee", (1.2,), {(0, "fee"): 1.0}), ClassifierInput("again", (-2.0,))]
    )
    assert derived[0, 1] > 0.6  # 0.77 before any decision
    assert without[0, 1] < 0.08  # 0.12 before


def test_single_valued_training_data_does_not_change_predictions() -> None:
    examples = _examples(["a word"] * 50, np.ones(50))
    task = classifier.Task("multilabel", 1)
    for answer in (0.0, 1.0):
        trained = classifier.train(task, examples, np.full((50, 1), answer))
        assert trained.predict_proba(examples[:1])[0, 0, 1] == pytest.approx(1 / (1 + np.exp(-2)))


def test_words_of_another_label_do_not_count_against_a_label() -> None:
    # "room" belongs to the second label and is in every text without the first, as framing words are.
    task = classifier.Task("multilabel", 2)
    clean = ClassifierInput("", (2.0, 2.0), {(0, "clean"): 1.0, (1, "room"): 1.0})
    room = ClassifierInput("", (-2.0, 2.0), {(1, "room"): 1.0})
    without = ClassifierInput("", (-2.0, -2.0))
    trained = classifier.train(task, [room] * 20 + [without] * 20, [[0.0, 1.0]] * 20 + [[0.0, 0.0]] * 19 + [[1.0, 0.0]])
    alone = ClassifierInput("", (2.0, 2.0), {(0, "clean"): 1.0})
    beside, by_itself = trained.predict_proba([clean, alone])[:, 0, 1]
    assert beside == pytest.approx(by_itself)


def test_corrections_gradually_outweigh_a_listed_word() -> None:
    # A word that was right twice keeps its label after one correction and loses it after several. Another word that was
    # always right is not affected.
    task = classifier.Task("multilabel", 1)
    word, other = (ClassifierInput("", (2.0,), {(0, word): 1.0}) for word in ("wait", "staff"))
    without = ClassifierInput("", (-2.0,))
    chances = []
    for count in (0, 1, 6, 9):
        decided = [word] * 2 + [other] * 2 + [without] * 2 + [word] * count
        reference = np.array([[1.0]] * 4 + [[0.0]] * (2 + count))
        trained = classifier.train(task, decided, reference)
        chances.append(trained.predict_proba([word])[0, 0, 1])
    assert chances == sorted(chances, reverse=True)
    assert chances[1] > classifier.PRESENT > chances[2]
    assert trained.predict_proba([other])[0, 0, 1] > 0.8


def test_embeddings_are_features_if_present() -> None:
    task = classifier.Task("multilabel", 1)
    here, there = np.array([1.0, 0.0], np.float32), np.array([0.0, 1.0], np.float32)
    examples = [ClassifierInput("", (0.0,), {}, vector) for vector in (here, there)] * 20
    trained = classifier.train(task, examples, np.array([[1.0], [0.0]] * 20))
    assert trained.predict(
        [ClassifierInput("", (0.0,), {}, here), ClassifierInput("", (0.0,), {}, there)]
    ).values.tolist() == [
        [1],
        [0],
    ]


def test_certainty_is_the_probability_of_the_predicted_value() -> None:
    texts, scores, reference = _synthetic_texts(120)
    examples = _examples(texts, scores)
    trained = classifier.train(classifier.Task("multilabel", 2), examples, reference)
    chances, predicted = trained.predict_proba(examples), trained.predict(examples)
    assert chances.sum(axis=2) == pytest.approx(1.0)
    assert (predicted.values == (chances[:, :, 1] >= classifier.PRESENT)).all()
    assert predicted.certainty == pytest.approx(np.where(predicted.values == 1, chances[:, :, 1], chances[:, :, 0]))


def test_common_part_of_all_vectors_changes_nothing() -> None:
    task = classifier.Task("multilabel", 1)
    vectors = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    reference = (vectors[:, :1] > 0.5).astype(float)
    chances = [
        classifier.train(task, examples, reference).predict_proba(examples)
        for common in (0, 5)
        for examples in [[ClassifierInput("", (0.0,), {}, vector + np.float32(common)) for vector in vectors]]
    ]
    assert chances[0] == pytest.approx(chances[1], abs=1e-3)


def _choices(texts: Sequence[str], weights: npt.ArrayLike) -> list[ClassifierInput]:
    return [
        ClassifierInput(text, tuple(prior))
        for text, prior in zip(texts, np.log(np.asarray(weights, dtype=float) + 0.25).tolist(), strict=True)
    ]


def test_choice_keeps_labels_without_examples_possible() -> None:
    texts = ["goal and keeper", "match won late", "vote in parliament", "the minister spoke"] * 8
    reference = np.array([[0.0], [0.0], [1.0], [1.0]] * 8)
    trained = classifier.train(classifier.Task("choice", 3), _choices(texts, np.zeros((32, 3))), reference)
    examples_to_predict = _choices(
        ["a late goal", "the parliament", "nothing known"], [[0, 0, 0], [0, 0, 0], [0, 0, 30]]
    )
    assert trained.predict(examples_to_predict).values[:, 0].tolist() == [0.0, 1.0, 2.0]
    assert "goal" in trained.explain(examples_to_predict[0], [0.0])[0]


def test_ratings_are_ordinal() -> None:
    words = {1: "awful", 2: "poor", 3: "fair", 4: "good", 5: "superb"}
    reference = np.array([[float(1 + number % 5)] for number in range(100)])
    texts = [f"{words[int(value[0])]} stay in room {number}" for number, value in enumerate(reference)]
    trained = classifier.train(classifier.Task("rating", 1, ((1, 5),)), _examples(texts, np.zeros(100)), reference)
    predicted = trained.predict(_examples(["awful stay", "superb stay"], np.zeros(2)))
    assert predicted.values[0, 0] < 3 < predicted.values[1, 0]
    assert trained.predict_proba(_examples(["fair stay"], [0])).sum() == pytest.approx(1.0)


def test_each_dimension_is_predicted_on_its_own_scale() -> None:
    words = {0: "awful", 1: "fair", 2: "superb"}
    reference = np.array([[float(number % 3), float(2 * (number % 3) - 1)] for number in range(30)])  # 0 to 2, -1 to 3
    examples = _examples([f"{words[int(row[0])]} stay" for row in reference], np.zeros((30, 2)))
    trained = classifier.train(classifier.Task("rating", 2, ((0, 2), (-1, 3))), examples, reference)
    examples_to_predict = _examples(["awful stay", "superb stay"], np.zeros((2, 2)))
    assert trained.predict(examples_to_predict).values.tolist() == [[0.0, -1.0], [2.0, 3.0]]
    assert trained.predict_proba(examples_to_predict).sum(axis=2) == pytest.approx(1.0)
    assert trained.predict_proba(examples_to_predict)[:, 0, 3:].sum() == 0, "the scale has three points"


@pytest.mark.parametrize("kind", ["multilabel", "choice", "rating"])
@pytest.mark.parametrize("texts", [[], ["one"], ["", "", ""], ["?!", "..."], ["a b", "c", "a"]])
def test_few_decisions_are_handled(kind: str, texts: list[str]) -> None:
    task = classifier.Task(kind, 2, ((1, 5), (1, 5)))  # type: ignore[arg-type]
    reference = np.full((len(texts), task.items), task.values(0)[-1])
    examples = _examples(texts, np.zeros((len(texts), 2)))
    trained = classifier.train(task, examples, reference)
    predicted = trained.predict(_examples(["something else", ""], np.zeros((2, 2))))
    assert predicted.values.shape == (2, task.items)
    assert np.isfinite(predicted.certainty).all()
    assert classifier.cross_val_predict(task, examples, reference).shape == reference.shape


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=30), st.sampled_from([0.0, 1.0, np.nan])), max_size=12))
def test_any_texts_and_missing_values_give_probabilities(rows: list[tuple[str, float]]) -> None:
    texts, reference = [text for text, _ in rows], np.array([[value] for _, value in rows]).reshape(len(rows), 1)
    trained = classifier.train(classifier.Task("multilabel", 1), _examples(texts, np.zeros(len(rows))), reference)
    chances = trained.predict_proba(_examples([*texts, "other"], np.zeros(len(rows) + 1)))
    assert ((chances >= 0) & (chances <= 1)).all()


def test_cross_validation_does_not_predict_training_documents() -> None:
    # The labels are random, so only a classifier that was trained on a document predicts it better than by chance.
    rng = RNG(1)
    task = classifier.Task("multilabel", 1)
    examples = [ClassifierInput(f"token{number} alone", (0.0,)) for number in range(120)]
    reference = rng.integers(0, 2, (120, 1)).astype(float)
    assert 0.3 < _error_rate(classifier.cross_val_predict(task, examples, reference), reference) < 0.7
    assert _error_rate(classifier.train(task, examples, reference).predict(examples).values, reference) < 0.1


def test_cross_validation_does_not_predict_a_group_from_its_own_documents() -> None:
    # Ten documents of an author share a word and a random label, which says nothing about other authors.
    rng, groups = RNG(2), np.repeat(np.arange(30), 10)
    task = classifier.Task("multilabel", 1)
    examples = [ClassifierInput(f"author{group} text{number}", (0.0,)) for number, group in enumerate(groups)]
    reference = rng.integers(0, 2, (30, 1)).astype(float)[groups]
    assert _error_rate(classifier.cross_val_predict(task, examples, reference), reference) < 0.1
    by_group = classifier.cross_val_predict(task, examples, reference, groups=groups)
    assert 0.3 < _error_rate(by_group, reference) < 0.7
    one_group = classifier.cross_val_predict(task, examples, reference, groups=np.zeros(300, dtype=np.int64))
    assert np.isnan(one_group).all()


def test_more_training_documents_improve_learnable_labels() -> None:
    texts, scores, reference = _synthetic_texts(60)
    task, examples = classifier.Task("multilabel", 2), _examples(texts, scores)
    wrong = [
        _error_rate(classifier.cross_val_predict(task, examples, reference, share=share), reference)
        for share in (0.1, 1.0)
    ]
    assert wrong[1] < wrong[0]


def _hotels() -> tuple[list[ClassifierInput], np.ndarray]:
    folder = shipped_folder("sample_data")
    codebook = load_yaml((folder / "hotel_aspects.yaml").read_text(encoding="utf-8"))
    with (folder / "hotel_reviews.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    examples = [baseline.example(codebook, row["text"]) for row in rows]
    return examples, np.array([[float(row[name]) for name in codebook.names] for row in rows])


def test_least_certain_labels_contain_most_errors_on_the_sample_hotels() -> None:
    # Cross-validated over three shuffles, the least certain fifth of all labels contains at least two fifths of the
    # errors; by chance it would contain one fifth.
    examples, reference = _hotels()
    task = classifier.Task("multilabel", reference.shape[1])
    scores = []
    for seed in range(3):
        wrong, certainties = [], []
        for test in np.array_split(RNG(seed).permutation(len(examples)), 5):
            rest = np.setdiff1d(np.arange(len(examples)), test)
            trained = classifier.train(task, [examples[i] for i in rest], reference[rest])
            predicted = trained.predict([examples[i] for i in test])
            wrong.append((predicted.values != reference[test]).ravel())
            certainties.append(predicted.certainty.ravel())
        errors, certainty = np.concatenate(wrong), np.concatenate(certainties)
        first = np.argsort(certainty, kind="stable")[: len(certainty) // 5]
        scores.append(errors[first].sum() / errors.sum())
    assert np.mean(scores) >= 0.4


def test_classifier_is_not_worse_than_the_baseline_on_the_sample_hotels() -> None:
    examples, reference = _hotels()
    task = classifier.Task("multilabel", reference.shape[1])
    untrained = classifier.train(task, examples, np.full(reference.shape, np.nan)).predict(examples).values
    learned = _error_rate(classifier.cross_val_predict(task, examples, reference), reference)
    assert learned <= _error_rate(untrained, reference) + 0.01
