"""Files of classifiers: what is written is read again, and hostile files are refused."""

from __future__ import annotations

import io
import json
import pickle
import tracemalloc
import zipfile
from typing import Any

import numpy as np
import pytest

from core.classifier import classifier
from core.classifier.classifier import ClassifierInput
from core.errors import InputError

TEXTS = ("red apple", "green pear", "red plum", "green leaf")


def _examples(labels: int) -> list[ClassifierInput]:
    return [ClassifierInput(text, (0.0,) * labels) for text in TEXTS]


@pytest.mark.parametrize("kind", ["multilabel", "choice", "rating"])
def test_file_round_trip(kind: str) -> None:
    task = classifier.Task(kind, 2, ((0, 2), (-1, 3)))  # type: ignore[arg-type]
    reference = np.array([[task.values(0)[0]] * task.items, [task.values(0)[-1]] * task.items] * 2)
    trained = classifier.train(task, _examples(2), reference)
    data = classifier.dumps(trained, {"labels": ["A", "B"]})
    again, facts = classifier.loads(data)
    examples_to_predict = [ClassifierInput("red leaf", (2.0, -2.0))]
    assert facts == {"labels": ["A", "B"]}
    assert again.task == trained.task
    assert (again.predict_proba(examples_to_predict) == trained.predict_proba(examples_to_predict)).all()


def test_pickles_are_neither_written_nor_read() -> None:
    trained = classifier.train(classifier.Task("multilabel", 1), [ClassifierInput("a word", (-2.0,))], [[1.0]])
    data = classifier.dumps(trained, {})
    names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    assert not [name for name in names if name.endswith((".pkl", ".pickle", ".joblib"))]
    for hostile in (pickle.dumps({"words": 1}), b"", b"PK\x03\x04 broken", _foreign()):
        with pytest.raises(InputError):
            classifier.loads(hostile)


def _foreign() -> bytes:
    """Return a skops file with a foreign type that would call a function when loaded."""
    import functools

    import skops.io

    data: bytes = skops.io.dumps({"facts": functools.partial(print, "ran")})
    return data


def _held(**changes: Any) -> bytes:
    """Return a classifier file with changed contents."""
    import skops.io

    task = classifier.Task("multilabel", 1)
    trained = classifier.train(task, _examples(1), [[1.0], [0.0], [1.0], [0.0]])
    held = skops.io.loads(classifier.dumps(trained, {}), trusted=[])
    data: bytes = skops.io.dumps({**held, **changes})
    return data


def test_objects_in_a_file_are_refused() -> None:
    """A vectorizer could open the files that texts name, or search with a pattern that takes hours."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    fitted = TfidfVectorizer(input="filename")
    for changes in ({"vocabulary": fitted}, {"idf": fitted}, {"words": fitted}):
        with pytest.raises(InputError):
            classifier.loads(_held(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"task": {"kind": "rating", "labels": 1, "scales": [[0, 10**9]]}},
        {"task": {"kind": "choice", "labels": 10**9, "scales": []}},
        {"models": [np.full((8, 2), np.nan)]},
        {"models": [None]},
        {"models": [np.ones((3, 2))]},
        {"models": []},
        {"facts": 3},
        {"words": 5},
        {"centre": "x"},
        {"centre": np.ones(1)},
        {"vocabulary": "words"},
        {"vocabulary": ["a", "a"]},
        {"idf": None},
    ],
    ids=str,
)
def test_refuses_impossible_contents(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        classifier.loads(_held(**changes))


def test_refuses_a_file_that_unpacks_to_too_much() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.npy", "w") as file:
        for _ in range(classifier.MAX_UNPACKED // 10**7 + 1):
            file.write(bytes(10**7))
    with pytest.raises(InputError, match="not a classifier file"):
        classifier.loads(packed.getvalue(), name="a.skops")


def test_refuses_a_description_of_too_many_values() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b"[" + b"{}," * classifier.MAX_VALUES + b"{},{}]")
    tracemalloc.start()
    with pytest.raises(InputError):
        classifier.loads(packed.getvalue())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6


def test_refuses_an_array_that_is_read_too_often() -> None:
    rows = 300_000
    packed, held = io.BytesIO(), io.BytesIO(_held(idf=np.zeros(rows), centre=np.zeros(rows)))
    with zipfile.ZipFile(held) as source, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        description = json.loads(source.read("schema.json"))
        array = description["content"]["centre"]
        array["__id__"] = 0  # skops reads an array without an id each time
        description["content"]["models"]["content"] = [array] * (classifier.MAX_UNPACKED // (8 * rows))
        for entry in source.infolist():
            if entry.filename != "schema.json":
                archive.writestr(entry.filename, source.read(entry))
        archive.writestr("schema.json", json.dumps(description))
    with pytest.raises(InputError, match="not a classifier file"):
        classifier.loads(packed.getvalue(), name="a.skops")
