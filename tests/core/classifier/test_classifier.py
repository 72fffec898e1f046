"""The classifier: starts at the word lists, learns, reports certainty; kinds of labels; files without pickles."""

from __future__ import annotations

import csv
import io
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import baseline, resources
from core.classifier import classifier
from core.codebook import load_yaml
from core.errors import InputError

RNG = np.random.default_rng


def _invented(count: int, seed: int = 0) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Texts about two things: the first is told by a keyword or by a word that no list knows, the second by a keyword
    that also stands where it means nothing."""
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


def _wrong(said: np.ndarray, reference: np.ndarray) -> float:
    return float((said != reference).mean())


def test_without_decisions_predicts_like_the_word_lists() -> None:
    texts, evidence, reference = _invented(50)
    trained = classifier.train(classifier.Task("multilabel", 2), texts, evidence, np.full(reference.shape, np.nan))
    assert (trained.predict(texts, evidence).values == (evidence >= classifier.THRESHOLD)).all()


def test_learns_words_outside_the_word_lists() -> None:
    texts, evidence, reference = _invented(400)
    task = classifier.Task("multilabel", 2)
    trained = classifier.train(task, texts[:150], evidence[:150], reference[:150])
    lexical = _wrong(evidence[150:] >= classifier.THRESHOLD, reference[150:])
    learned = _wrong(trained.predict(texts[150:], evidence[150:]).values, reference[150:])
    assert lexical > 0.1
    assert learned < lexical / 3
    assert "cobwebs" in " ".join(trained.explain("cobwebs hung in june", 0, 1.0))


def test_weight_grows_with_decisions() -> None:
    """m / (m + 50): with every decision "absent", k+1/2 of m+1 is what the learned half says; at m = 50 it is half.

    Evidence 1 says present with 1 / (1 + exp(-4 * 0.5)) = 0.8808; 50 same answers say 0.5 / 51 = 0.0098; the mean of
    both is 0.4453, so the label tips to absent at 50 decisions.
    """
    task = classifier.Task("multilabel", 1)
    texts, evidence, reference = ["a word"] * 50, np.ones((50, 1)), np.zeros((50, 1))
    chance = classifier.train(task, texts, evidence, reference).predict_proba(["a word"], [[1.0]])[0, 0, 1]
    assert chance == pytest.approx(0.4453, abs=1e-4)
    few = classifier.train(task, texts[:5], evidence[:5], reference[:5]).predict(["a word"], [[1.0]])
    assert few.values[0, 0] == 1.0


def test_certainty_is_the_probability_of_the_predicted_value() -> None:
    texts, evidence, reference = _invented(120)
    trained = classifier.train(classifier.Task("multilabel", 2), texts, evidence, reference)
    chances, said = trained.predict_proba(texts, evidence), trained.predict(texts, evidence)
    assert chances.sum(axis=2) == pytest.approx(1.0)
    assert (said.certainty >= 0.5).all()
    assert said.certainty == pytest.approx(chances.max(axis=2))


def test_choice_keeps_labels_without_examples_possible() -> None:
    texts = ["goal and keeper", "match won late", "vote in parliament", "the minister spoke"] * 8
    reference = np.array([[0.0], [0.0], [1.0], [1.0]] * 8)
    task = classifier.Task("choice", 3)
    none = np.zeros((len(texts), 3))
    trained = classifier.train(task, texts, none, reference)
    said = trained.predict(
        ["a late goal", "the parliament", "nothing known"], np.array([[0, 0, 0], [0, 0, 0], [0, 0, 5]])
    )
    assert said.values[:, 0].tolist() == [0.0, 1.0, 2.0]
    assert "goal" in trained.explain("a late goal", 0, 0.0)


def test_ratings_are_ordinal() -> None:
    words = {1: "awful", 2: "poor", 3: "fair", 4: "good", 5: "superb"}
    reference = np.array([[float(1 + number % 5)] for number in range(100)])
    texts = [f"{words[int(value[0])]} stay in room {number}" for number, value in enumerate(reference)]
    trained = classifier.train(classifier.Task("rating", 1), texts, np.zeros((100, 1)), reference)
    said = trained.predict(["awful stay", "superb stay"], np.zeros((2, 1)))
    assert said.values[0, 0] < 3 < said.values[1, 0]
    assert trained.predict_proba(["fair stay"], [[0.0]]).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["multilabel", "choice", "rating"])
@pytest.mark.parametrize("texts", [[], ["one"], ["", "", ""], ["?!", "..."], ["a b", "c", "a"]])
def test_few_decisions_are_handled(kind: str, texts: list[str]) -> None:
    task = classifier.Task(kind, 2)  # type: ignore[arg-type]
    reference = np.full((len(texts), task.items), task.values[-1])
    evidence = np.zeros((len(texts), 2))
    trained = classifier.train(task, texts, evidence, reference)
    said = trained.predict(["something else", ""], np.zeros((2, 2)))
    assert said.values.shape == (2, task.items)
    assert np.isfinite(said.certainty).all()
    assert classifier.cross_val_predict(task, texts, evidence, reference).shape == reference.shape


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=30), st.sampled_from([0.0, 1.0, np.nan])), max_size=12))
def test_any_texts_and_gaps_give_probabilities(rows: list[tuple[str, float]]) -> None:
    texts, reference = [text for text, _ in rows], np.array([[value] for _, value in rows]).reshape(len(rows), 1)
    trained = classifier.train(classifier.Task("multilabel", 1), texts, np.zeros((len(rows), 1)), reference)
    chances = trained.predict_proba([*texts, "other"], np.zeros((len(rows) + 1, 1)))
    assert ((chances >= 0) & (chances <= 1)).all()


def test_refuses_mismatched_shapes() -> None:
    task = classifier.Task("multilabel", 2)
    with pytest.raises(ValueError, match="evidence of shape"):
        classifier.train(task, ["a"], [[1.0]], [[1.0, 0.0]])
    with pytest.raises(ValueError, match="decisions of shape"):
        classifier.train(task, ["a"], [[1.0, 0.0]], [[1.0]])
    with pytest.raises(ValueError, match="outside 0 to 1"):
        classifier.train(task, ["a"], [[1.0, 0.0]], [[2.0, 0.0]])


def test_cross_validation_does_not_predict_training_documents() -> None:
    """Random labels: a classifier that was trained on them is right, any other is right by chance."""
    rng = RNG(1)
    texts = [f"token{number} alone" for number in range(120)]
    reference = rng.integers(0, 2, (120, 1)).astype(float)
    none = np.full((120, 1), classifier.THRESHOLD)
    said = classifier.cross_val_predict(classifier.Task("multilabel", 1), texts, none, reference)
    assert 0.3 < _wrong(said, reference) < 0.7
    seen = classifier.train(classifier.Task("multilabel", 1), texts, none, reference).predict(texts, none).values
    assert _wrong(seen, reference) < 0.1


def _hotels() -> tuple[list[str], np.ndarray, np.ndarray]:
    folder = resources.folder("sample_data")
    codebook = load_yaml((folder / "hotel_aspects.yaml").read_text(encoding="utf-8"))
    with (folder / "hotel_reviews.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [row["text"] for row in rows]
    evidence = np.array([baseline.scores(codebook, text) for text in texts])
    return texts, evidence, np.array([[float(row[name]) for name in codebook.names] for row in rows])


def test_uncertainty_finds_errors_on_the_sample_hotels() -> None:
    """Cross-validated, over three shuffles: two fifths of the wrong labels are among the fifth of all labels that the
    classifier is least certain of. (By chance it would be a fifth. These reviews are mostly hard cases.)"""
    texts, evidence, reference = _hotels()
    task = classifier.Task("multilabel", reference.shape[1])
    found = []
    for seed in range(3):
        wrong, sure = [], []
        for test in np.array_split(RNG(seed).permutation(len(texts)), 5):
            rest = np.setdiff1d(np.arange(len(texts)), test)
            trained = classifier.train(task, [texts[i] for i in rest], evidence[rest], reference[rest])
            said = trained.predict([texts[i] for i in test], evidence[test])
            wrong.append((said.values != reference[test]).ravel())
            sure.append(said.certainty.ravel())
        errors, certainty = np.concatenate(wrong), np.concatenate(sure)
        first = np.argsort(certainty, kind="stable")[: len(certainty) // 5]
        found.append(errors[first].sum() / errors.sum())
    assert np.mean(found) >= 0.4


def test_not_worse_than_the_baseline_on_the_sample_hotels() -> None:
    texts, evidence, reference = _hotels()
    task = classifier.Task("multilabel", reference.shape[1])
    learned = _wrong(classifier.cross_val_predict(task, texts, evidence, reference), reference)
    assert learned <= _wrong(evidence >= classifier.THRESHOLD, reference) + 0.01


# -- files


@pytest.mark.parametrize("kind", ["multilabel", "choice", "rating"])
def test_file_round_trip(kind: str) -> None:
    task = classifier.Task(kind, 2)  # type: ignore[arg-type]
    texts = ["red apple", "green pear", "red plum", "green leaf"]
    reference = np.array([[task.values[0]] * task.items, [task.values[-1]] * task.items] * 2)
    trained = classifier.train(task, texts, np.zeros((4, 2)), reference)
    data = classifier.dumps(trained, {"labels": ["A", "B"]})
    again, facts = classifier.loads(data)
    assert facts == {"labels": ["A", "B"]}
    assert (again.predict_proba(["red leaf"], [[1, 0]]) == trained.predict_proba(["red leaf"], [[1, 0]])).all()


def test_neither_writes_nor_reads_pickles() -> None:
    trained = classifier.train(classifier.Task("multilabel", 1), ["a word"], [[0.0]], [[1.0]])
    data = classifier.dumps(trained, {})
    names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    assert not [name for name in names if name.endswith((".pkl", ".pickle", ".joblib"))]
    for hostile in (pickle.dumps({"words": 1}), b"", b"PK\x03\x04 broken", _foreign()):
        with pytest.raises(InputError):
            classifier.loads(hostile)


def _foreign() -> bytes:
    """A skops file with a foreign type, which would call a function when it is loaded."""
    import functools

    import skops.io

    data: bytes = skops.io.dumps({"facts": functools.partial(print, "ran")})
    return data
