"""A student in a file that anybody may open: skops, which rebuilds known types and never runs what a file says."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from core.errors import InputError
from core.learning.student import Model, Student, Task


def dumps(student: Student, facts: dict[str, Any]) -> bytes:
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


def loads(data: bytes, *, name: str = "the file") -> tuple[Student, dict[str, Any]]:
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


def _student(held: dict[str, Any]) -> Student:
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
    return Student(task, words, tuple(models))
