"""Tests of few-shot examples: labelled documents outside the run, frozen at its first start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from core.codebook import Scale
from core.documents import Document, Value
from core.engine.interfaces import no_examples
from core.errors import ServerFault
from core.runs import RoleModel, RunRow
from core.services import few_shot_examples
from core.services.evaluation import model_drift
from core.services.project_session import ProjectSession
from core.services.runs import planning
from tests.core.services.sessions import BOOK, studio
from tests.core.store.helpers import set_gold

SERVICE, FOOD = BOOK.items[:2]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[ProjectSession]:
    with studio(tmp_path) as (_, opened):
        opened.store.documents.add(
            [
                Document(f"g{n}", {"text": f"The waiter number {n} was kind."}, n, gold={"gold": {SERVICE: n % 2 == 0}})
                for n in range(6)
            ]
        )
        yield opened


def run_of(session: ProjectSession, *ids: str, **params: object) -> RunRow:
    plan = planning.Plan(protocol="courtroom", params=params)
    return planning.create_runs(session, planning.build_settings(plan, BOOK, 1, session.models), ids)[0]


async def _documents(session: ProjectSession, ids):  # type: ignore[no-untyped-def]
    return session.store.documents.load(ids, gold=False)


def test_example_pool_contains_labelled_documents_outside_the_run(session: ProjectSession) -> None:
    run = run_of(session, "g0", "g1")
    assert few_shot_examples.example_pool(session.store, run) == {f"g{n}": {SERVICE: n % 2 == 0} for n in range(2, 6)}
    assert few_shot_examples.example_pool(session.store, run_of(session, *(f"g{n}" for n in range(6)))) == {}


def test_values_of_an_earlier_kind_or_scale_are_no_examples(session: ProjectSession) -> None:
    labels = tuple(label.model_copy(update={"scale": Scale(min=0, max=3)}) for label in BOOK.labels)
    ratings = BOOK.model_copy(update={"kind": "rating", "labels": labels})
    settings = run_of(session, "g0").settings.model_copy(update={"codebook": ratings})
    assert "shows no examples" in few_shot_examples.example_warnings(session.store, settings, ["g0"])[0]
    set_gold(session.store, {"g1": {"gold": {SERVICE: 4}}, "g2": {"gold": {SERVICE: 3}}, "g3": {"gold": {SERVICE: 0}}})
    run = session.store.runs.create(settings, ["g0"])
    assert few_shot_examples.example_pool(session.store, run) == {"g2": {SERVICE: 3}, "g3": {SERVICE: 0}}
    copied = session.store.runs.create(settings, ["g0"])
    session.store.precedents.freeze(copied.run_id, {"g4": {SERVICE: True}})
    assert few_shot_examples.example_pool(session.store, copied) == {}


def test_example_pool_is_frozen_with_the_run(session: ProjectSession) -> None:
    run = run_of(session, "g0")
    before = few_shot_examples.example_pool(session.store, run)
    set_gold(session.store, {"g1": {"gold": {SERVICE: True}}})
    assert few_shot_examples.example_pool(session.store, run) == before
    empty = run_of(session, *(f"g{n}" for n in range(6)))
    assert few_shot_examples.example_pool(session.store, empty) == {}
    assert session.store.precedents.frozen(empty.run_id) == {}


def test_iterations_and_canaries_show_the_examples_of_the_first_run(session: ProjectSession) -> None:
    settings = planning.build_settings(planning.Plan(protocol="courtroom"), BOOK, 1, session.models)
    first, second = planning.create_runs(session, settings, ["g0"], iterations=2)
    pool = few_shot_examples.example_pool(session.store, first)
    set_gold(session.store, {"g1": {"gold": {SERVICE: True}}})
    session.start_or_resume(first.run_id).result(30)
    canaries = model_drift.start_canary_run(session, session.run(first.run_id))
    for later in (second, canaries):
        assert few_shot_examples.example_pool(session.store, later) == pool


def test_nearest_examples_of_each_value_exclude_the_document_itself(session: ProjectSession) -> None:
    run = run_of(session, "g0", shots=2)

    async def documents(ids):  # type: ignore[no-untyped-def]
        return session.store.documents.load(ids, gold=False)

    library = few_shot_examples.example_library(session.store, session.models, documents, run)
    (document,) = session.store.documents.load(["g2"])
    result = session.engine.submit(library(document)).result()
    assert {example.document_id for example in result[SERVICE, True]} == {"g4"}
    assert len(result[SERVICE, False]) == 2
    assert all(example.text.startswith("The waiter") for examples in result.values() for example in examples)
    again = replace(document, id="copy")
    assert session.engine.submit(library(again)).result() == result, "a copy gives away the label of its text"


@pytest.mark.parametrize("pool", [{}, {"g4": {SERVICE: 4}}, {"removed": {SERVICE: True}}])
def test_pool_without_usable_examples_gives_none(session: ProjectSession, pool: dict[str, dict[str, Value]]) -> None:
    run = run_of(session, "g0")
    session.store.precedents.freeze(run.run_id, pool)

    async def documents(ids: Sequence[str]) -> Sequence[Document]:
        return session.store.documents.load(ids, gold=False)

    library = few_shot_examples.example_library(session.store, session.models, documents, run)
    (document,) = session.store.documents.load(["g2"])
    assert session.engine.submit(library(document)).result(30) == {}


def test_pool_that_could_not_be_embedded_is_embedded_once_more(
    session: ProjectSession,
) -> None:
    embedded: list[Sequence[str]] = []

    async def embed(_model: RoleModel, texts: Sequence[str]) -> np.ndarray:
        embedded.append(texts)
        if len(embedded) == 1:
            raise ServerFault("it is busy", "")
        return np.ones((len(texts), 2), np.float32)

    run = run_of(session, "g0", shots=3, likeness="vllm/tiny")
    library = few_shot_examples.example_library(session.store, session.models, partial(_documents, session), run)
    (document,) = session.store.documents.load(["g2"])
    with pytest.raises(ServerFault):
        session.engine.submit(library(document, embed)).result()
    shown = session.engine.submit(library(document, embed)).result()[SERVICE, True]
    assert [example.document_id for example in shown] == ["g4"]
    assert list(map(len, embedded)) == [5, 5, 1]


def test_protocol_without_examples_loads_none(session: ProjectSession) -> None:
    run = run_of(session, "g0", shots=0)
    assert few_shot_examples.example_library(session.store, session.models, None, run) is no_examples  # type: ignore[arg-type]
    assert session.store.precedents.frozen(run.run_id) is None


def test_run_over_all_labelled_documents_is_warned_of_no_examples(session: ProjectSession) -> None:
    settings = run_of(session, "g0").settings
    documents = [f"g{n}" for n in range(6)]
    assert "shows no examples" in few_shot_examples.example_warnings(session.store, settings, documents)[0]
    assert few_shot_examples.example_warnings(session.store, settings, ["g0"]) == []


def test_courtroom_requests_the_reason_of_each_example_once(session: ProjectSession) -> None:
    run = run_of(session, "g0", "g2", judges=1, trials="all")
    assert session.start_or_resume(run.run_id).result(60).state == "done"
    clerk = [turn for turn in session.store.transcripts.of(run.run_id, ["g0", "g2"]) if turn.role == "clerk"]
    assert clerk
    assert len({turn.reply.key for turn in clerk}) < len(clerk)
    judged = [turn for turn in session.store.transcripts.of(run.run_id, ["g0"]) if turn.role == "judge_1"]
    assert any("Precedents:" in turn.messages[1].content for turn in judged)
