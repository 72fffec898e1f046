"""Stored runs with gold for the tests of Evaluate and Compare, and the words of a page."""

from __future__ import annotations

import re

from core.codebook import Codebook, Label
from core.documents import Document
from tests.core.services import sample_world
from tests.core.services.sample_world import both
from tests.core.store.helpers import make_settings, store_debate, store_debates

GOLD = {"d0": "a", "d1": "ab", "d2": "b", "d3": ""}
CHOICE = Codebook(kind="choice", labels=(Label(name="Sport", id="s"), Label(name="Politics", id="p")))
RATING = Codebook(kind="rating", labels=(Label(name="Clarity", id="c"),))


def texts(app):
    shown = [*(element.proto.body for element in app.get("html")), *(caption.value for caption in app.caption)]
    return re.sub(r"<style>.*?</style>", "", "\n".join(shown))


def debates(project, codebook, gold, answers, **fields):
    """Create a run with these claims and verdicts, on new documents if the project has none; return its id."""
    if not project.store.documents.count():
        project.store.documents.add(
            Document(id, {"text": f"text of <b>{id}</b>"}, gold={"gold": values}) for id, values in gold.items()
        )
    run = project.store.runs.create(make_settings(codebook, **fields), list(gold)).run_id
    store_debates(
        store_debate(project, run, id, {"extractor": claim, "critic": verdict, "judge": verdict}, verdict)
        for id, (claim, verdict) in answers.items()
    )
    return run


def two_runs(project):
    gold = {id: both(present) for id, present in GOLD.items()}
    first = {id: (both("ab"), both(present)) for id, present in {**GOLD, "d1": "b"}.items()}
    second = {id: (both("ab"), both(present)) for id, present in {**GOLD, "d3": "b"}.items()}
    return [debates(project, sample_world.CODEBOOK, gold, answers) for answers in (first, second)]
