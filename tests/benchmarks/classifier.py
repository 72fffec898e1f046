"""How a student grows with decisions: macro F1 on what it was not trained, and the errors that its uncertainty finds.

``python -m tests.benchmarks.student [FILE.csv]``: a table with a column ``text`` and 0/1 gold columns named like common
aspects, whose starter keywords are the word lists. Without a file, the sample hotels with their own codebook.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

from core import baseline, resources
from core.classifier import classifier
from core.codebook import Codebook, Label, load_yaml
from core.services.classifier_training import task_of
from core.services.codebooks.codebook import starters

STEPS = (0, 10, 30, 50, 100, 200, 300)
SEEDS = 3


def main(path: Path | None) -> None:
    """Print a line for each number of decided documents."""
    rows, codebook = _given(path) if path else _hotels()
    texts = [row["text"] for row in rows]
    reference = np.array([[float(row[name]) for name in codebook.names] for row in rows])
    evidence = np.array([baseline.scores(codebook, text) for text in texts])
    print(f"{len(texts)} documents, {', '.join(codebook.names)}")
    print("decided  macro F1  wrong labels among the least certain fifth")
    for decided in (step for step in STEPS if step <= len(texts) * 2 // 3):
        found = [_once(codebook, texts, evidence, reference, decided, seed) for seed in range(SEEDS)]
        f1, caught = np.mean(found, axis=0)
        print(f"{decided:>7}  {f1:8.3f}  {caught:.0%}")


def _once(
    codebook: Codebook, texts: list[str], evidence: classifier.Grid, reference: classifier.Grid, decided: int, seed: int
) -> tuple[float, float]:
    shuffled = np.random.default_rng(seed).permutation(len(texts))
    known, rest = shuffled[:decided], shuffled[decided:]
    trained = classifier.train(task_of(codebook), [texts[i] for i in known], evidence[known], reference[known])
    said = trained.predict([texts[i] for i in rest], evidence[rest])
    wrong = said.values != reference[rest]
    least = np.argsort(said.certainty, axis=None, kind="stable")[: wrong.size // 5]
    return _macro_f1(reference[rest], said.values), float(wrong.ravel()[least].sum() / max(1, wrong.sum()))


def _macro_f1(reference: classifier.Grid, said: classifier.Grid) -> float:
    both, either = (reference * said).sum(axis=0), (reference + said).sum(axis=0)
    present = reference.sum(axis=0) > 0
    return float((2 * both[present] / either[present]).mean())


def _given(path: Path) -> tuple[list[dict[str, str]], Codebook]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if starters(name) and {row[name] for row in rows} <= {"0", "1"}]
    return rows, Codebook(labels=tuple(Label(name=name, keywords=starters(name)) for name in names))


def _hotels() -> tuple[list[dict[str, str]], Codebook]:
    folder = resources.folder("sample_data")
    with (folder / "hotel_reviews.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return rows, load_yaml((folder / "hotel_aspects.yaml").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
