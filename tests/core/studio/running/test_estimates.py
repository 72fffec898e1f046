"""What a run is said to cost before it starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.documents import Document
from core.llm.connections import connection
from core.llm.reply import estimated
from core.runs import Engine, Sampling, Seat
from core.studio.desk import Desk
from core.studio.running import runs
from core.studio.running.estimates import REPLY_TOKENS, Estimate, estimate
from core.studio.running.preview import first_messages
from tests.core.studio.desks import BOOK, TEXTS, make, studio


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with studio(tmp_path) as (_, opened):
        yield opened


def of(desk: Desk, plan: runs.Plan, documents: int = 4) -> Estimate:
    return estimate(desk, runs.settle(plan, BOOK, 1, desk.models), documents, iterations=plan.iterations)


def test_calls_are_documents_times_asks_times_iterations(desk: Desk) -> None:
    assert of(desk, runs.Plan(iterations=3), documents=10).calls == 90
    assert of(desk, runs.Plan(protocol="single"), documents=10).calls == 10


def test_the_builtin_is_free(desk: Desk) -> None:
    told = of(desk, runs.Plan())
    assert told.free
    assert told.basis == "The built-in baseline costs nothing."


def test_a_list_price_times_the_rendered_prompts(desk: Desk) -> None:
    told = of(desk, runs.Plan(everyone=Seat(connection="openai", model="gpt-4.1-mini")))
    extractor, critic, judge = told.roles
    assert extractor.completion_tokens == 4 * REPLY_TOKENS
    # what was said before is in the prompts of the later roles
    assert extractor.prompt_tokens + 4 * REPLY_TOKENS < critic.prompt_tokens + 2000
    assert judge.prompt_tokens > critic.prompt_tokens > 4 * REPLY_TOKENS
    assert told.cost_usd is not None
    # gpt-4.1-mini: $0.40 in, $1.60 out a million tokens
    wanted = sum(role.prompt_tokens * 0.40e-6 + role.completion_tokens * 1.60e-6 for role in told.roles)
    assert told.cost_usd == pytest.approx(wanted, rel=1e-3)
    assert told.basis.startswith("List prices; tokens: the prompts of 4 documents")


def test_a_batch_costs_half(desk: Desk) -> None:
    plan = runs.Plan(everyone=Seat(connection="openai", model="gpt-4.1-mini"))
    live, batch = of(desk, plan), of(desk, replace(plan, engine=Engine(name="batch")))
    assert live.cost_usd is not None
    assert batch.cost_usd == pytest.approx(live.cost_usd / 2)
    assert batch.basis.endswith("In batches, at half of that.")


def test_a_short_output_limit_bounds_the_assumed_reply(desk: Desk) -> None:
    seat = Seat(connection="openai", model="gpt-4.1-mini", sampling=Sampling(max_tokens=50))
    assert of(desk, runs.Plan(everyone=seat)).roles[0].completion_tokens == 4 * 50


def test_an_unknown_price_is_said_and_not_guessed(desk: Desk) -> None:
    desk.models.add(connection("local", "http://127.0.0.1:9/v1"))
    told = of(desk, runs.Plan(everyone=Seat(connection="local", model="tiny")))
    assert told.cost_usd is None
    assert "No list price is known for local/tiny" in told.basis


def test_an_earlier_run_with_the_same_seats_is_the_measure(desk: Desk) -> None:
    (run,) = make(desk)
    desk.go(run.run_id).result(30)
    turns = desk.store.ended.usage(run.run_id)
    assert turns["judge"][0] == 4
    told = of(desk, runs.Plan(), documents=100)
    assert told.roles[2].completion_tokens == 100 * turns["judge"][1].completion_tokens


def test_a_file_that_begins_with_its_short_texts_is_estimated_by_its_mean_length(tmp_path: Path) -> None:
    with studio(tmp_path, documents=0) as (_, desk):
        short = [Document(f"s{number}", {"text": "Short."}) for number in range(60)]
        long = [Document(f"l{number}", {"text": "Long. " * 400}) for number in range(60)]
        desk.store.documents.add([*short, *long])
        plan = runs.Plan(protocol="single", everyone=Seat(connection="openai", model="gpt-4.1-mini"))
        (annotator,) = of(desk, plan, documents=120).roles
        settings = runs.settle(plan, BOOK, 1, desk.models)
        asked = [first_messages(settings, document)["annotator"] for document in (*short, *long)]
        true = sum(estimated(sum(len(message.content) for message in each), 0).prompt_tokens for each in asked)
        assert annotator.prompt_tokens == pytest.approx(true, rel=0.01)


def test_what_was_measured_on_other_documents_is_taken_to_their_length(desk: Desk) -> None:
    (run,) = make(desk, runs.Plan(protocol="single"))
    desk.go(run.run_id).result(30)
    measured = desk.store.ended.usage(run.run_id)["annotator"][1].prompt_tokens
    assert of(desk, runs.Plan(protocol="single"), documents=1).roles[0].prompt_tokens == measured
    before = desk.store.documents.mean_length()
    assert before == desk.store.documents.mean_length(run.run_id) == sum(map(len, TEXTS)) / 4
    desk.store.documents.add([Document("long", {"text": "x" * 10_000})])
    longer = desk.store.documents.mean_length() - before
    told = of(desk, runs.Plan(protocol="single"), documents=1).roles[0].prompt_tokens
    assert told == measured + round(longer / 4)
