"""Precedents of a run: only labelled documents that it does not debate, frozen when it first moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.documents import Document
from core.engine.ports import no_precedents
from core.runs import RunRow
from core.studio.desk import Desk
from core.studio.running import precedents, runs
from tests.core.studio.desks import BOOK, studio

SERVICE, FOOD = BOOK.items[:2]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with studio(tmp_path) as (_, opened):
        opened.store.documents.add(
            [
                Document(f"g{n}", {"text": f"The waiter number {n} was kind."}, n, gold={"gold": {SERVICE: n % 2 == 0}})
                for n in range(6)
            ]
        )
        yield opened


def run_of(desk: Desk, *ids: str, **params: object) -> RunRow:
    plan = runs.Plan(protocol="courtroom", params=params)
    return runs.create(desk, runs.settle(plan, BOOK, 1, desk.models), ids)[0]


async def _documents(desk: Desk, ids):  # type: ignore[no-untyped-def]
    return desk.store.documents.load(ids, gold=False)


def test_the_pool_is_what_is_labelled_and_not_debated(desk: Desk) -> None:
    run = run_of(desk, "g0", "g1")
    assert precedents.pool(desk.store, run) == {f"g{n}": {SERVICE: n % 2 == 0} for n in range(2, 6)}
    assert precedents.pool(desk.store, run_of(desk, *(f"g{n}" for n in range(6)))) == {}


def test_the_pool_is_frozen_with_the_run(desk: Desk) -> None:
    run = run_of(desk, "g0")
    before = precedents.pool(desk.store, run)
    desk.store.documents.replace_gold({"g1": {"gold": {SERVICE: True}}})
    assert precedents.pool(desk.store, run) == before
    empty = run_of(desk, *(f"g{n}" for n in range(6)))
    assert precedents.pool(desk.store, empty) == {}
    assert desk.store.precedents.frozen(empty.run_id) == {}


def test_the_nearest_of_each_value_are_found_and_never_the_document(desk: Desk) -> None:
    run = run_of(desk, "g0", shots=2)

    async def documents(ids):  # type: ignore[no-untyped-def]
        return desk.store.documents.load(ids, gold=False)

    library = precedents.library(desk.store, desk.models, documents, run)
    (asked,) = desk.store.documents.load(["g2"])
    found = desk.engine.submit(library(asked)).result()
    assert {one.document_id for one in found[SERVICE, True]} == {"g4"}
    assert len(found[SERVICE, False]) == 2
    assert all(one.text.startswith("The waiter") for each in found.values() for one in each)


def test_a_protocol_that_shows_none_looks_nothing_up(desk: Desk) -> None:
    run = run_of(desk, "g0", shots=0)
    assert precedents.library(desk.store, desk.models, None, run) is no_precedents  # type: ignore[arg-type]
    assert desk.store.precedents.frozen(run.run_id) is None


def test_a_run_on_everything_that_is_labelled_is_said_to_have_none(desk: Desk) -> None:
    whole = run_of(desk, "g0").settings
    assert "goes without precedents" in precedents.notes(desk.store, whole, [f"g{n}" for n in range(6)])[0]
    assert precedents.notes(desk.store, whole, ["g0"]) == []


def test_the_trial_shows_them_and_pays_a_reason_once(desk: Desk) -> None:
    run = run_of(desk, "g0", "g2", judges=1, trials="all")
    assert desk.go(run.run_id).result(60).state == "done"
    clerk = [turn for turn in desk.store.transcripts.of(run.run_id, ["g0", "g2"]) if turn.role == "clerk"]
    assert clerk
    assert len({turn.reply.key for turn in clerk}) < len(clerk)
    judged = [turn for turn in desk.store.transcripts.turns(run.run_id, "g0") if turn.role == "judge_1"]
    assert any("Precedents:" in turn.messages[1].content for turn in judged)
