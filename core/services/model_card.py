"""What a student was taught and how well it does: numbers for the page, and the card that goes with its file."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from core.codebook import Codebook
from core.documents import Value
from core.stats import arrays, bootstrap
from core.stats.intervals import Estimate, ends, wilson
from core.store.classifiers import Decided

SHOWN = 40
"""Labels in the card at most."""


def scores(codebook: Codebook, reference: npt.ArrayLike, held_out: npt.ArrayLike) -> dict[str, Any]:
    """Cross-validated scores as plain data: ``n``, ``measure`` (macro F1; of ratings the share within one step), its
    ``value`` and 95% ``interval``, and F1 by label."""
    gold, said = np.asarray(reference, dtype=np.float64), np.asarray(held_out, dtype=np.float64)
    if not len(gold):
        return {"n": 0, "measure": "macro F1", "value": None, "interval": None, "labels": {}}
    if codebook.kind == "rating":
        return _near(codebook, gold, said)
    if codebook.kind == "choice":
        count = len(codebook.labels)
        own, its = (arrays.one_hot(arrays.codes(side[:, 0]), count) for side in (gold, said))
        drawn = bootstrap.scores(own, its, codebook.names)
    else:
        drawn = bootstrap.scores(gold, said, codebook.names)
    return {
        "n": drawn.n,
        "measure": "macro F1",
        **_plain(drawn.macro.f1),
        "labels": {name: summary.f1.value for name, summary in drawn.labels.items()},
    }


def answers(codebook: Codebook, decided: Sequence[Decided]) -> dict[str, dict[str, int]]:
    """For each item how often which value was decided, in words."""
    names = {label.id: label.name for label in codebook.labels}
    counted: dict[str, Counter[str]] = {}
    for one in decided:
        counted.setdefault(names.get(one.item, "Label"), Counter())[_word(one.value, names)] += 1
    return {item: dict(sorted(values.items())) for item, values in counted.items()}


def markdown(facts: Mapping[str, Any], at: float) -> str:
    """The model card: what it is, what it was taught on, how well it does, what not to use it for. Names and people are
    written as code, so that whatever they hold stays text."""
    codebook = Codebook.model_validate(facts["codebook"])
    told = facts["scores"]
    value, interval = told["value"], told["interval"]
    score = "not known yet" if value is None else f"{value:.3f}"
    if interval is not None:
        score += f" (95% interval {interval[0]:.3f} to {interval[1]:.3f})"
    lines = [
        "# Student of a Moot project",
        "",
        f"Logistic regressions on TF-IDF of words and word pairs and on the word lists of the codebook "
        f"{_code(codebook.name)} (version {facts['codebook_version']}, kind {codebook.kind}), blended with the word "
        "lists alone: after m decisions the regressions weigh m / (m + 50). It is no language model.",
        "",
        "## What it was taught on",
        "",
        f"{facts['documents']:,} documents with {facts['decisions']:,} decisions by "
        f"{', '.join(map(_code, facts['people'])) or 'nobody'}, until "
        f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(at))}. The texts themselves are not in the file; single "
        "words and word pairs of them are.",
        "",
        "| item | decisions |",
        "|---|---|",
    ]
    for item, values in list(facts["answers"].items())[:SHOWN]:
        lines.append(f"| {_code(item)} | {', '.join(f'{_code(word)} {count:,}' for word, count in values.items())} |")
    lines += [
        "",
        "## How well it does",
        "",
        f"Cross-validated {told['measure']} on {told['n']:,} of these documents: {score}. They were chosen for review "
        "and are for the most part harder than the rest.",
        "",
        "## Limits",
        "",
        "It knows the words it was taught and the word lists; irony, hints and new subjects are beyond it. Its "
        "certainty orders a queue and is not calibrated. Don't decide about people with it.",
        "",
        "## The file",
        "",
        "A skops file: open it with `skops.io.load(path, trusted=[])`. It is a dict of `facts` (the codebook among "
        "them), `task`, `words` (a fitted TfidfVectorizer) and `models` (for each item the weights of the words and, "
        "last, of the word lists' evidence).",
        "",
        f"Student {_code(facts.get('hash', ''))}.",
        "",
    ]
    return "\n".join(lines)


def _near(codebook: Codebook, gold: npt.NDArray[np.float64], said: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Of ratings: the share within one step of the person's, per document, with Wilson's interval over documents."""
    known = ~np.isnan(gold) & ~np.isnan(said)
    close = known & (np.abs(gold - said) <= 1)
    cells, documents = int(known.sum()), int(known.any(axis=1).sum())
    value = float(close.sum()) / cells if cells else None
    interval = wilson(round((value or 0.0) * documents), documents) if cells else None
    labels = {
        name: float(close[:, column].sum()) / known[:, column].sum() if known[:, column].any() else None
        for column, name in enumerate(codebook.names)
    }
    return {"n": documents, "measure": "share within one step", **_plain(Estimate(value, interval)), "labels": labels}


def _plain(estimate: Estimate) -> dict[str, Any]:
    return {"value": estimate.value, "interval": ends(estimate.interval)}


def _word(value: Value, names: Mapping[str, str]) -> str:
    if isinstance(value, bool):
        return "present" if value else "absent"
    return names.get(value, value) if isinstance(value, str) else f"{value:g}"


def _code(text: str) -> str:
    """Text as inline code on one line: backquotes, pipes and line breaks cannot end it."""
    plain = " ".join(str(text).split()).replace("`", "'").replace("|", "/")
    return f"`{plain}`" if plain else "(no name)"
