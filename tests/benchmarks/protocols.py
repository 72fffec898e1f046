"""Run every protocol, preset and kind of label with a random model that JSON schemas constrain.

The model is llama.cpp's server with random weights: its replies are meaningless, but each has the form of its schema.
So the engine sends, constrains, streams, reads and stores every form of a reply. Complete decisions that cannot be
read, and failed documents, are errors.

    python -m tests.benchmarks.protocols [--documents 2] [--protocol NAME]
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb

from core.codebook import dump_yaml, parse_codebook
from core.debate.protocols import PROTOCOLS
from tests.core.cli.invoking import moot
from tests.servers.running import llama_cpp

LABELS = ("Cleanliness", "Service", "Food and drinks")
TEXTS = ("The rooms were spotless.", "Breakfast was cold.", "Friendly staff.", "Nothing to say.", "A clean bar.")
SCALES = ((0, 3), (-1, 4), (1, 7))
"""Scales of the labels of the rating codebook."""


class Refused(Exception):
    """The protocol does not support this combination."""


def cases(only: str | None) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Yield protocol, kind, name of the case and its parameters: the defaults, each preset, each choice of a value."""
    for name, spec in PROTOCOLS.items():
        for kind in spec.kinds if only in (None, name) else ():
            yield name, kind, "default", ()
            for preset in spec.presets:
                yield name, kind, f"preset={preset}", (f"preset={preset}",)
            for param in spec.params:
                for value in param.choices if not param.hidden else ():
                    if value != param.default:
                        yield name, kind, f"{param.name}={value}", (f"{param.name}={value}",)


def prepare(folder: Path) -> None:
    """Write the codebooks and a file of texts whose last rows have gold, for precedents."""
    for kind in ("multilabel", "choice", "rating"):
        labels: list[dict[str, object]] = [{"name": name} for name in LABELS]
        if kind == "rating":
            for label, (low, high) in zip(labels, SCALES, strict=True):
                label["scale"] = {"min": low, "max": high}
        book = parse_codebook({"kind": kind, "unit": "review", "labels": labels})
        (folder / f"{kind}.yaml").write_text(dump_yaml(book), encoding="utf-8")
    with (folder / "texts.csv").open("w", newline="", encoding="utf-8") as file:
        rows = [
            [text, LABELS[row % 3], *(str(1 + (row + column) % 3) for column in range(3))]
            for row, text in enumerate(TEXTS)
        ]
        csv.writer(file).writerows([["text", "label", *LABELS], *rows])


def run(folder: Path, url: str, protocol: str, kind: str, params: tuple[str, ...], documents: int) -> Path:
    """Run a case and return its project.

    Raises Refused if the protocol does not support the parameter for this kind, RuntimeError if the command fails.
    """
    project = Path(tempfile.mkdtemp(dir=folder)) / "p.duckdb"
    gold = ("--gold", "label=label") if kind == "choice" else ("--gold-same-names",) if kind == "rating" else ()
    done = moot(
        "annotate",
        folder / "texts.csv",
        "--text",
        "text",
        "--codebook",
        folder / f"{kind}.yaml",
        *gold,
        "--project",
        project,
        "--protocol",
        protocol,
        "--connection",
        f"random={url}",
        "--model",
        "random/tiny-random",
        "--limit",
        documents,
        "--json",
        *(part for param in ("schema=on", "max_tokens=2048", *params) for part in ("--param", param)),
        code=None,
    )
    if "Change the parameter or the codebook." in done.stderr:
        raise Refused(done.stderr.strip())
    if done.code not in (0, 1):
        raise RuntimeError(done.stderr.strip())
    return project


def check(project: Path) -> tuple[Counter[str], list[str]]:
    """Return counts of turns and verdicts, and the errors."""
    counts: Counter[str] = Counter()
    errors: list[str] = []
    with duckdb.connect(str(project), read_only=True) as connection:
        turns = connection.execute(
            "SELECT role, form, turns.reading, finish_reason, replies.text FROM turns JOIN replies USING (key)"
        ).fetchall()
        for role, form, reading, finish, text in turns:
            counts[form] += 1
            counts["cut"] += finish == "length"
            problem = json.loads(reading)["problem"]
            if form != "text" and finish != "length" and problem:
                errors.append(f"{role} ({form}): {problem}: {text[-300:]!r}")
        for status, verdict in connection.execute("SELECT status, verdict FROM verdicts").fetchall():
            counts[status] += 1
            if status == "failed":
                errors.append(f"failed: {json.loads(verdict)['error']}")
    return counts, errors


def main() -> None:
    """Run all cases, print a line for each, and exit with 1 after an error."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, default=2)
    parser.add_argument("--protocol", choices=sorted(PROTOCOLS))
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        with llama_cpp(folder, "--slots", "2", "--ctx", "32768") as url:
            for protocol, kind, case, params in cases(options.protocol):
                try:
                    counts, errors = check(run(folder, url, protocol, kind, params, options.documents))
                except Refused:
                    counts, errors = Counter({"refused": 1}), []
                except RuntimeError as error:
                    counts, errors = Counter(), [str(error)]
                wrong += len(errors)
                summary = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()) if count)
                print(f"{protocol:<11}{kind:<11}{case:<28}{summary}", flush=True)
                for error in errors[:3]:
                    print(f"    {error}", flush=True)
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
