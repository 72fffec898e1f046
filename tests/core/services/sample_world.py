"""Sample project with one run that has every outcome, small enough to count by hand.

====  =======  =========  ========  ==========
doc   gold     extractor  critic    ended in
====  =======  =========  ========  ==========
d0    A        A B        A         A
d1    A B      A B        B         B
d2    B        A          A B       A B
d3    (none)   B          no list   (none)
d4    A        A          A         unresolved on A
d5    no gold  A B        A B       A B
d6    A                             failed
d7    (none)                        no debate yet
====  =======  =========  ========  ==========
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from core.codebook import Codebook, Label
from core.debate.turns import ReplyError
from core.documents import Document, Value
from core.runs import RoleModel, RunRow, RunSettings
from core.services.evaluation import evaluation
from core.services.project_session import ProjectSession
from core.store.project import Project
from tests.core.store.helpers import ROLE_MODEL, ROLES, make_settings, store_debate, store_debates

CODEBOOK = Codebook(labels=(Label(name="Alpha", id="a"), Label(name="Beta", id="b")))
CHOICE = Codebook(kind="choice", labels=(Label(name="Yes", id="y"), Label(name="No", id="n")))
UNRESOLVED: Mapping[str, bool | None] = {"a": None, "b": None}
GOLD = {"d0": "a", "d1": "ab", "d2": "b", "d3": "", "d4": "a", "d6": "a", "d7": ""}


def both(present: str) -> dict[str, bool]:
    return {"a": "a" in present, "b": "b" in present}


def build(project: Project, texts: Mapping[str, str] | None = None) -> str:
    """Fill the project and return the id of its run; ``texts`` replaces texts of documents by id."""
    texts = {"d0": "text number 0, =SUM(1)", **(texts or {})}
    project.store.documents.add(
        Document(
            f"d{n}",
            {"text": texts.get(f"d{n}", f"text number {n}")},
            source={"id": f"d{n}", "stars": n},
            gold={"gold": both(GOLD[f"d{n}"])} if f"d{n}" in GOLD else {},
        )
        for n in range(8)
    )
    run = project.store.runs.create(make_settings(CODEBOOK, codebook_version=1), project.store.documents.ids())

    async def debates() -> None:
        for document, extractor, critic, verdict in (
            ("d0", "ab", "a", "a"),
            ("d1", "ab", "b", "b"),
            ("d2", "a", "ab", "ab"),
            ("d3", "b", None, ""),
            ("d5", "ab", "ab", "ab"),
        ):
            lists = {"extractor": both(extractor), "critic": None if critic is None else both(critic), "judge": None}
            await store_debate(
                project, run.run_id, document, lists, both(verdict), quotes={"extractor": ["exact", "missing"]}
            )
        lists = {"extractor": both("a"), "critic": both("a"), "judge": None}
        await store_debate(project, run.run_id, "d4", lists, {"a": None, "b": False})
        undecided = {"a": None, "b": None}
        await store_debate(project, run.run_id, "d6", {}, undecided, error=ReplyError("stalled", "silence"))

    asyncio.run(debates())
    return run.run_id


def report(session: ProjectSession, run_id: str, *arguments: str, **options: str) -> dict[str, Any]:
    """Return one run of ``moot evaluate --json`` without further analyses."""
    return evaluation.to_json(evaluation.evaluate(session, session.run(run_id), *arguments, **options))


class _Session(ProjectSession):
    """A session without an engine, so it cannot start runs."""

    path = Path("/projects/small.duckdb")

    def __init__(self, project: Project) -> None:
        self.project, self.store = project, project.store
        self.trainer = cast(Any, SimpleNamespace(schedule=lambda: None))


def session_on(project: Project) -> ProjectSession:
    return _Session(project)


def annotated(
    project: Project,
    codebook: Codebook,
    gold: Mapping[str, Mapping[str, Mapping[str, Value]]],
    verdicts: Mapping[str, Mapping[str, Value | None]],
) -> tuple[ProjectSession, RunRow]:
    """Store documents with gold by rater and a run of one annotator with verdicts; return a session and the run."""
    project.store.documents.add(Document(id, {"text": id}, gold=values) for id, values in gold.items())
    settings = RunSettings(protocol="single", codebook=codebook, role_models={"annotator": ROLE_MODEL}, templates={})
    run_id = project.store.runs.create(settings, list(gold)).run_id
    store_debates(store_debate(project, run_id, id, {"annotator": values}, values) for id, values in verdicts.items())
    session = session_on(project)
    return session, session.run(run_id)


def create_run(project, protocol, codebook, roles, gold):
    project.store.documents.add(Document(id, {"text": "t"}, gold={"gold": answers}) for id, answers in gold.items())
    settings = RunSettings(
        protocol=protocol, codebook=codebook, role_models=dict.fromkeys(roles, ROLE_MODEL), templates={}
    )
    return project.store.runs.create(settings, list(gold)).run_id


def session_with_runs(
    project,
    gold: Mapping[str, str],
    *verdicts: Mapping[str, str],
    groups: Mapping[str, str] | None = None,
    models: Sequence[str] = (),
):
    """Return a session and one finished run per mapping in ``verdicts``; other documents get their gold labels.

    The verdict "?" is unresolved. ``models`` has the model of each run, by default that of ``make_settings``.
    """
    project.store.documents.add(
        Document(id, {"text": id}, gold={"gold": both(present)}, group=(groups or {}).get(id, ""))
        for id, present in gold.items()
    )
    runs = []
    for verdict, model in zip_longest(verdicts, models):
        fields = {} if model is None else {"role_models": dict.fromkeys(ROLES, RoleModel.parse(model))}
        run = project.store.runs.create(make_settings(CODEBOOK, **fields), list(gold)).run_id
        said = {id: UNRESOLVED if verdict.get(id) == "?" else both(verdict.get(id, gold[id])) for id in gold}
        store_debates(
            store_debate(project, run, id, {"extractor": values, "critic": None, "judge": None}, values)
            for id, values in said.items()
        )
        asyncio.run(project.sink.state(run, "done"))
        runs.append(run)
    return session_on(project), runs
