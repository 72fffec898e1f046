"""Measure macro F1 of the built-in model and of the classifier on labelled texts, with 95% intervals.

``python -m tests.benchmarks.classifier [FILE.csv [CODEBOOK.yaml]]``: a table with a column ``text`` and 0/1 gold
columns named like the labels of the codebook or, without one, like common aspects, whose starter keywords are the word
lists. Without a file, the sample hotels with their own codebook.

The baseline is measured on single texts and on texts joined in fours, because word lists find more in longer texts. The
classifier is trained on one half in the order of the review queue, whose reasons for doubt are the differences between
the roles and the certainty of the classifier. It is measured on the other half. All of it is repeated with MiniLM's
vectors if they are installed.

The figures in the README come from the validation half of MAMS for choices and from its test half for reports: give the
rows of one half as FILE.csv. ``OPENBLAS_NUM_THREADS=1`` saves time on a busy machine.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from core import baseline
from core.baseline.evidence import LabelProbabilities, definition_probabilities
from core.classifier import classifier
from core.codebook import Codebook, Label, load_yaml
from core.debate.context import parse_reply
from core.debate.turns import Reply, Request
from core.documents import Document
from core.files import shipped_folder
from core.llm import embeddings
from core.services.review.queue import DEFAULT_EVEN
from core.services.review.sampling_frames import EXTRA_REVIEWS, REVIEW_GROWTH
from core.stats import sampling
from core.store.review_queue import UNSURE_CERTAINTY

STEPS = (0, 10, 25, 50, 100, 200, 300)
SEEDS = 10
RESAMPLES = 500

Grid = npt.NDArray[np.float64]


def main(path: Path | None, book: Path | None) -> None:
    """Print the scores of each role of the baseline, then those of the classifier by number of decisions."""
    rows, codebook = _given(path, book) if path else _hotels()
    texts = [row["text"] for row in rows]
    reference = np.array([[float(row[name]) for name in codebook.names] for row in rows])
    print(f"{len(texts)} documents, {', '.join(codebook.names)}")
    steps = [step for step in STEPS if step <= len(texts) // 2]
    kinds: dict[str, LabelProbabilities | None] = {"words": None}
    if embeddings.available():
        kinds["words and MiniLM"] = definition_probabilities(embeddings.embed_minilm)
    for kind, near in kinds.items():
        print(f"{kind}:")
        roles = _debates(codebook, texts, near)
        for size in (1, 4):
            starts = range(0, len(texts) - size + 1, size)
            joined = [" ".join(texts[at : at + size]) for at in starts]
            gold = np.array([reference[at : at + size].max(axis=0) for at in starts])
            by_role = roles if size == 1 else _debates(codebook, joined, near)
            scores = (f"{role} {_interval(gold, found)}" for role, found in by_role.items())
            print(f"texts joined: {size}; {'; '.join(scores)}")
        known = [baseline.example(codebook, text, near) for text in texts]
        if near is not None:
            vectors = embeddings.embed_minilm(texts)
            known = [replace(example, vector=vector) for example, vector in zip(known, vectors, strict=True)]
        result = np.array([_learn(codebook, known, reference, roles, steps, seed) for seed in range(SEEDS)])
        print("decided  macro F1 (range of seeds)   calibration error  wrong labels among the least certain fifth")
        for position, step in enumerate(steps):
            f1, error, caught = result[:, position].T
            span = f"{f1.mean():.3f} ({f1.min():.3f} to {f1.max():.3f})"
            print(f"{step:>7}  {span}  {error.mean():.3f}  {caught.mean():.0%}")


def _debates(codebook: Codebook, texts: Sequence[str], near: LabelProbabilities | None) -> dict[str, Grid]:
    """Return the present labels by role of a debate, as arrays ``[document, label]``."""
    f1_by_role: dict[str, list[list[float]]] = {"extractor": [], "critic": [], "judge": []}
    for text in texts:
        document, inputs = Document("1", {"text": text}), dict[str, Reply]()
        for role, name in (("extractor", "extraction"), ("critic", "critique"), ("judge", "ruling")):
            request = Request(role, (), dict(inputs), form="labels")
            reply = Reply(baseline.write_reply(request, codebook, document, near))
            inputs[name] = parse_reply(request, reply, codebook, document)
            f1_by_role[role].append([float(label.id in inputs[name].reading.present) for label in codebook.labels])
    return {role: np.array(rows) for role, rows in f1_by_role.items()}


def _learn(
    codebook: Codebook,
    examples: Sequence[classifier.ClassifierInput],
    reference: Grid,
    roles: Mapping[str, Grid],
    steps: Sequence[int],
    seed: int,
) -> list[tuple[float, float, float]]:
    """Return (macro F1, calibration error, share of errors found) on the held-out half for each number of decisions."""
    task, rng = classifier.Task.from_codebook(codebook), np.random.default_rng(seed)
    shuffled = rng.permutation(len(examples))
    held, pool = shuffled[: len(examples) // 2], shuffled[len(examples) // 2 :]

    def trained(decided: npt.NDArray[np.int64]) -> classifier.Classifier:
        return classifier.train(task, [examples[i] for i in decided], reference[decided])

    decided = np.zeros(0, dtype=np.int64)
    differs = (roles["extractor"] != roles["judge"])[pool]
    while len(decided) < max(steps):
        certainty = trained(decided).predict([examples[i] for i in pool]).certainty.min(axis=1)
        unsure = (certainty < UNSURE_CERTAINTY) & (len(decided) > 0)
        sizes = sampling.draw_sizes(
            roles["judge"][pool] > 0, np.column_stack([differs, differs.any(axis=1) | unsure]), DEFAULT_EVEN
        )
        order = pool[np.argsort(rng.exponential(size=len(pool)) / sizes)]
        size = int(np.ceil(REVIEW_GROWTH * len(decided) + EXTRA_REVIEWS))
        decided = np.concatenate([decided, order[~np.isin(order, decided)]])[:size]
    return [_measure(trained(decided[:step]), [examples[i] for i in held], reference[held]) for step in steps]


def _measure(
    trained: classifier.Classifier, examples: Sequence[classifier.ClassifierInput], reference: Grid
) -> tuple[float, float, float]:
    predicted, chance = trained.predict(examples), trained.predict_proba(examples)[:, :, 1].ravel()
    bins = np.minimum((chance * 10).astype(int), 9)
    gaps = [abs((chance - reference.ravel())[bins == bin_].sum()) for bin_ in range(10)]
    wrong = (predicted.values != reference).ravel()
    least = np.argsort(predicted.certainty, axis=None, kind="stable")[: wrong.size // 5]
    caught = float(wrong[least].sum() / max(1, wrong.sum()))
    return _macro_f1(reference, predicted.values), float(sum(gaps) / len(chance)), caught


def _interval(reference: Grid, predicted: Grid) -> str:
    rng = np.random.default_rng(0)
    draws = [rng.integers(0, len(reference), len(reference)) for _ in range(RESAMPLES)]
    low, high = np.quantile([_macro_f1(reference[draw], predicted[draw]) for draw in draws], [0.025, 0.975])
    return f"{_macro_f1(reference, predicted):.3f} ({low:.3f} to {high:.3f})"


def _macro_f1(reference: Grid, predicted: Grid) -> float:
    both, either = (reference * predicted).sum(axis=0), (reference + predicted).sum(axis=0)
    present = reference.sum(axis=0) > 0
    return float((2 * both[present] / either[present]).mean())


def _given(path: Path, book: Path | None) -> tuple[list[dict[str, str]], Codebook]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    if book is not None:
        return rows, load_yaml(book.read_text(encoding="utf-8"))
    names = [name for name in rows[0] if baseline.starters(name) and {row[name] for row in rows} <= {"0", "1"}]
    return rows, Codebook(labels=tuple(Label(name=name, keywords=baseline.starters(name, names)) for name in names))


def _hotels() -> tuple[list[dict[str, str]], Codebook]:
    folder = shipped_folder("sample_data")
    with (folder / "hotel_reviews.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return rows, load_yaml((folder / "hotel_aspects.yaml").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main(*(Path(sys.argv[number]) if len(sys.argv) > number else None for number in (1, 2)))
