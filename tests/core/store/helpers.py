"""Helpers for tests of the store: codebooks, documents, and debates written as the engine writes them."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import threading
import time
from collections import Counter
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

import pytest

from core.codebook import Codebook, Label
from core.debate import protocols
from core.debate.events import VerdictReached
from core.debate.turns import Reading, Reply, ReplyError, Turn, Usage, Verdict
from core.documents import Document, Evidence, Value
from core.errors import StorageFull
from core.prompts import Message
from core.runs import RoleModel, RunSettings
from core.store.project import Project, Store
from core.store.reviews import Decision, ReviewChange

ROLE_MODEL = RoleModel(connection="builtin", model="lexical")
ROLES = ("extractor", "critic", "judge")


def make_codebook(labels: int = 3, **fields) -> Codebook:
    return Codebook(labels=tuple(Label(name=f"Label {number}") for number in range(labels)), **fields)


def make_settings(codebook: Codebook | None = None, **fields) -> RunSettings:
    defaults = {param.name: param.default for param in protocols.find("ecj").params}
    return RunSettings(
        protocol="ecj",
        codebook=codebook or make_codebook(),
        **{"templates": {}, "params": defaults, "role_models": dict.fromkeys(ROLES, ROLE_MODEL), **fields},
    )


def make_documents(count: int, gold: Mapping[str, Mapping[str, Mapping[str, Value]]] | None = None) -> list[Document]:
    return [
        Document(f"d{n}", {"text": f"text number {n}"}, source={"id": f"d{n}"}, gold=(gold or {}).get(f"d{n}", {}))
        for n in range(count)
    ]


def make_reply(
    key: str, *, cost: float | None = 0.5, text: str = "said", run_id: str = "r0001", served_model: str = ""
) -> Reply:
    usage = Usage(10, 5, 2, 1)
    return Reply(
        text,
        "thought",
        usage=usage,
        cost_usd=cost,
        refused_params=("seed",),
        served_model=served_model,
        key=key,
        run_id=run_id,
        seconds=0.25,
        unix_time=time.time(),
    )


def make_turn(
    run_id: str,
    document_id: str,
    turn: int,
    role: str,
    key: str,
    *,
    values: Mapping[str, Value | None] | None = None,
    quotes: Sequence[str] = (),
    cached: bool = False,
    reask: int = 0,
) -> Turn:
    """Return a turn with one quote per match in ``quotes`` (``exact`` or ``missing``), unreadable without values."""
    reading = Reading(
        values={item: value for item, value in (values or {}).items() if value is not None},
        undecided={item: "" for item, value in (values or {}).items() if value is None},
        unknown=("Pool",),
        problem="" if values else "no decision",
    )
    evidence = tuple(Evidence("x", "words", "text", 0, 5, match) for match in quotes)
    return Turn(
        run_id=run_id,
        document_id=document_id,
        turn=turn,
        role=role,
        role_model=ROLE_MODEL,
        messages=(Message("system", "the rules"), Message("user", f"read {document_id}")),
        form="labels",
        reask=reask,
        cached=cached,
        reply=Reply(key=key, reading=reading, evidence=evidence),
        values=dict(values) if values else None,
    )


def make_verdict(
    run_id: str, document_id: str, values: Mapping[str, Value | None], *, error: ReplyError | None = None
) -> VerdictReached:
    reasons = {item: "could not be read" for item, value in values.items() if value is None}
    return VerdictReached(run_id, document_id, Verdict(values, reasons, ("a note",), error), time.time())


def flush(project: Project) -> None:
    """Wait until all queued writes are on disk."""
    project.store.runs.recover()


async def store_rounds(project, run_id, document_id, turns, verdict):
    """Store a debate from its turns, each given as (role, round, values)."""
    keys = [f"{run_id}/{document_id}/{role}/{round}" for role, round, _ in turns]
    await asyncio.gather(*(project.replies.commit(make_reply(key, run_id=run_id)) for key in keys))
    for number, ((role, round, values), key) in enumerate(zip(turns, keys, strict=True)):
        turn = make_turn(run_id, document_id, number, role, key, values=values)
        project.sink.turn(dataclasses.replace(turn, round=round))
    await project.sink.verdict(make_verdict(run_id, document_id, verdict))


async def store_debate(
    project: Project,
    run_id: str,
    document_id: str,
    lists: Mapping[str, Mapping[str, Value | None] | None],
    values: Mapping[str, Value | None],
    *,
    quotes: Mapping[str, Sequence[str]] | None = None,
    error: ReplyError | None = None,
    retry: int = 0,
    served_model: str = "",
) -> None:
    """Store a debate through the ports: a turn for each role with its own values, then the verdict."""
    keys = {role: f"{run_id}/{document_id}/{role}/{retry}" for role in lists}
    replies = (
        make_reply(key, text=f"{role} on {document_id}", run_id=run_id, served_model=served_model)
        for role, key in keys.items()
    )
    await asyncio.gather(*map(project.replies.commit, replies))
    for number, (role, labels) in enumerate(lists.items()):
        project.sink.turn(
            make_turn(run_id, document_id, number, role, keys[role], values=labels, quotes=(quotes or {}).get(role, ()))
        )
    await project.sink.verdict(make_verdict(run_id, document_id, values, error=error))


def set_gold(store: Store, gold: Mapping[str, Mapping[str, Mapping[str, Value]]]) -> None:
    """Replace all gold by ``document id -> rater -> item -> value``."""
    store.documents.replace_gold(gold, raters=(), documents=(), dropped=store.annotations.raters())


def store_debates(debates: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Store debates concurrently, in a few transactions."""

    async def gather() -> None:
        await asyncio.gather(*debates)

    asyncio.run(gather())


def fill_randomly(project: Project, seed: int, count: int = 40) -> tuple[str, Codebook]:
    """Fill a project with random gold of up to three raters, debates and quotes; return the run's id and codebook."""
    rng = random.Random(seed)
    codebook = make_codebook(3)
    items = [label.id for label in codebook.labels]

    def values(chance: float) -> dict[str, Value]:
        return {item: rng.random() < 0.4 for item in items if rng.random() < chance}

    gold = {
        f"d{n}": {
            rater: values_of_rater
            for rater in ("ann", "bob", "cy")
            if rng.random() < 0.6 and (values_of_rater := values(0.7))
        }
        for n in range(count)
    }
    project.store.documents.add(make_documents(count, gold))
    run = project.store.runs.create(make_settings(codebook), project.store.documents.ids()[: count - 3])

    debates = []
    for document_id in project.store.runs.document_ids(run.run_id):
        if rng.random() < 0.1:
            continue
        error = ReplyError("stalled", "silence") if rng.random() < 0.1 else None
        debates.append(
            store_debate(
                project,
                run.run_id,
                document_id,
                {"extractor": values(1), "critic": values(1) if rng.random() < 0.8 else None, "judge": None},
                {item: None if error or rng.random() < 0.05 else rng.random() < 0.4 for item in items},
                quotes={"extractor": [rng.choice(["exact", "missing"]) for _ in range(rng.randrange(3))]},
                error=error,
            )
        )
    store_debates(debates)
    return run.run_id, codebook


def majority(gold, item):
    """Return the value of most raters; None for a tie and without raters."""
    votes = Counter(values[item] for values in gold.values() if item in values)
    ranked = votes.most_common()
    if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def reference_of(record, item, reference, rater=None):
    if reference == "reviewed":
        review = record.reviews.get(item)
        return review.value if review and record.review_status == "Submitted" else None
    if rater is not None:
        return record.document.gold.get(rater, {}).get(item)
    return majority(record.document.gold, item)


def values_of(record, annotator):
    """Return the resolved values of an annotator by item."""
    if annotator == "verdict":
        return {item: value for item, value in record.values.items() if value is not None}
    if annotator == "reviewed":
        submitted = record.review_status == "Submitted"
        return {item: review.value for item, review in record.reviews.items()} if submitted else {}
    return {item: value for item, value in record.roles.get(annotator, {}).items() if value is not None}


def count_cells(records, items, annotator, reference, rater=None):
    """Return (counted, excluded, exactly right documents, counts by item, reference and value)."""
    with_reference = counted = exact = 0
    cells = Counter()
    for record in records:
        known = {item: value for item in items if (value := reference_of(record, item, reference, rater)) is not None}
        values = values_of(record, annotator)
        common = known.keys() & values.keys()
        with_reference += bool(known)
        if common and (annotator == "reviewed" or record.status == "verdict"):
            counted += 1
            exact += all(known[item] == values[item] for item in common)
            cells.update((item, known[item], values[item]) for item in common)
    return counted, with_reference - counted, exact, cells


def run_values(project, run_id):
    """Return (document, item, annotator, value) of a run, one row per readable value."""
    sql = "SELECT document_id, item, annotator, value FROM run_values WHERE run_id = ?"
    return project.store.annotations._connection.rows(sql, [run_id])


def record_review(reviews, document_id, item, before, after, **context):
    """Record the review of one cell and return its event."""
    return reviews.record([Decision(document_id, (ReviewChange(item, before, after),))], **context)[0]


def set_status(reviews, document_id, status, *, actor):
    """Record a status alone."""
    reviews.record([Decision(document_id, status=status)], actor=actor)


def fail_while(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, full: threading.Event) -> None:
    """Make a function of the store that inserts rows fail as on a full disk while ``full`` is set."""
    insert = getattr(module, name)

    def failing(*args: Any) -> None:
        if full.is_set():
            raise StorageFull("The disk is full.", "Free some space.")
        insert(*args)

    monkeypatch.setattr(module, name, failing)
