"""The file of a trained classifier: a skops archive, which holds plain values and arrays and executes nothing."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from core.classifier.classifier import Classifier, Grid, Task, new_tfidf, vocabulary_of
from core.codebook import MAX_LABELS, MAX_STEPS
from core.errors import InputError

MAX_UNPACKED = 200_000_000  # bytes; a million words with five labels have about 60 MB
_PARTS = frozenset({"DictNode", "ListNode", "TupleNode", "JsonNode", "TypeNode", "NdArrayNode"})
"""The parts of the description in a skops file that plain values and arrays need."""


def dumps(classifier: Classifier, facts: dict[str, Any]) -> bytes:
    """Return the classifier with plain ``facts`` about it (label names, training data) as a skops file.

    The file holds a dict: ``facts``, ``task``, ``vocabulary`` and ``idf`` (words of TF-IDF and their weights),
    ``words``, ``centre`` and ``models``. The rows of a model's weights are the vocabulary, the words, the vector, the
    evidence and the bias.
    """
    import skops.io

    task, tfidf = classifier.task, classifier.tfidf
    held = {
        "facts": facts,
        "task": {"kind": task.kind, "labels": task.labels, "scales": [list(scale) for scale in task.scales]},
        "vocabulary": vocabulary_of(tfidf),
        "idf": np.zeros(0) if tfidf is None else tfidf.idf_,
        "words": list(classifier.words),
        "centre": classifier.centre,
        "models": list(classifier.models),
    }
    return bytes(skops.io.dumps(held))


def loads(data: bytes, *, name: str = "the file") -> tuple[Classifier, dict[str, Any]]:
    """Return the classifier and the facts that ``dumps`` wrote.

    InputError for anything else, and for more than ``MAX_UNPACKED`` bytes. Other types are refused without being
    opened, and nothing in the file is executed.
    """
    import skops.io

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_contents(archive, name)
        held = skops.io.loads(data, trusted=[])
        return _load_classifier(held), dict(held["facts"])
    except InputError:
        raise
    except Exception as error:  # a hostile or broken file fails in skops in whatever way it likes
        raise InputError(
            f"{name} is not a classifier file.", "Choose a .skops file that this version of Moot exported."
        ) from error


def _check_contents(archive: zipfile.ZipFile, name: str) -> None:
    """Raise InputError for too many bytes, and for parts that plain values and arrays do not need.

    An array counts as often as the description refers to it, because skops may read it each time.
    """
    sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    total = sum(sizes.values())
    is_plain = True

    def add(part: dict[str, Any]) -> None:
        nonlocal total, is_plain
        is_plain &= part.get("__loader__", "DictNode") in _PARTS
        file = part.get("file")
        total += sizes[file] if isinstance(file, str) else 0

    if total <= MAX_UNPACKED:
        json.loads(archive.read("schema.json"), object_hook=add)
    if total > MAX_UNPACKED:
        raise InputError(f"{name} is larger than {MAX_UNPACKED / 1e6:,.0f} MB.", "It was not loaded.")
    if not is_plain:
        raise InputError(f"{name} holds types that a classifier does not need.", "It was not loaded.")


def _load_tfidf(vocabulary: Sequence[str], idf: Grid) -> Any:
    """Return a vectorizer with a vocabulary and its weights, None for no words."""
    if not len(vocabulary):
        return None
    tfidf = new_tfidf()
    tfidf.vocabulary_ = {str(word): place for place, word in enumerate(vocabulary)}
    tfidf.idf_ = _numbers(idf, (len(tfidf.vocabulary_),))
    return tfidf


def _numbers(held: Any, shape: tuple[int, ...]) -> Grid:
    """Return an array of a file. InputError for another shape and for anything but numbers."""
    found = np.asarray(held, dtype=np.float64)
    if found.shape != shape or not np.isfinite(found).all():
        raise InputError("The classifier's weights do not match its vocabulary.", "It was not loaded.")
    return found


def _load_classifier(held: dict[str, Any]) -> Classifier:
    labels = int(held["task"]["labels"])
    scales = tuple((int(low), int(high)) for low, high in held["task"]["scales"])
    if labels > MAX_LABELS or any(high - low >= MAX_STEPS for low, high in scales):
        raise InputError("The classifier has too many labels, or too long a scale.", "It was not loaded.")
    task = Task(held["task"]["kind"], labels, scales)
    tfidf = _load_tfidf(held["vocabulary"], held["idf"])
    words = tuple(map(str, held["words"]))
    centre = _numbers(held["centre"], (len(held["centre"]),))
    size = len(held["vocabulary"]) + len(words) + len(centre) + (task.labels if task.kind == "choice" else 1) + 1
    if len(held["models"]) != task.items:
        raise InputError("The classifier does not cover all of its labels.", "It was not loaded.")
    models = [_numbers(weights, (size, len(task.values(item)))) for item, weights in enumerate(held["models"])]
    return Classifier(task, tfidf, words, centre, tuple(models))
