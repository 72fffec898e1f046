"""Tests of personas: drafts that other personas replace, unreadable replies."""

from __future__ import annotations

import json

import pytest

from core.codebook import Codebook, Label
from core.debate.persona_extraction import SourceDocument
from core.debate.personas import DEFAULT_PERSONAS
from core.errors import MootError, UsageError
from core.llm.prices import Price
from core.runs import RoleModel
from core.services import personas
from core.services.runs import planning
from tests.core.services.sessions import studio
from tests.servers.scripted import Scripted, reply_with

SOURCE = b"Guests want a clean room and they expect quiet nights in the hotel. Staff want a short list of what to fix."
BOOK = Codebook(unit="review", labels=(Label(name="Clean"),))


def test_name_of_an_added_persona_differs_in_more_than_case():
    taken = personas.change_persona(DEFAULT_PERSONAS, "Critic", name="new persona")
    added = personas.add_persona(personas.add_persona(taken, "Readers"), "Others")
    names = [member.persona.name for member in added.members]
    assert names == ["General public", "new persona", "New persona 2", "New persona 3"]


def test_draft_that_a_file_replaces_is_saved_as_a_version(session):
    mine = personas.change_persona(DEFAULT_PERSONAS, "Critic", traits="An hour of writing.")
    other = personas.change_persona(DEFAULT_PERSONAS, "Critic", name="Ada")
    assert personas.replace_draft(session, DEFAULT_PERSONAS, "default.yaml") is None
    personas.discard(session)
    personas.save_draft(session, mine)
    assert personas.replace_draft(session, other, "other.yaml") == 1
    assert personas.persona_status(session).personas == other
    (kept,) = personas.history(session)
    assert (kept.personas, kept.note) == (mine, "draft that other.yaml replaced")
    assert personas.replace_draft(session, other, "other.yaml") is None, "the draft is the same"
    personas.save(session, other)
    personas.save_draft(session, mine)
    assert personas.replace_draft(session, other, "other.yaml") is None, "v1 has the draft"
    assert not personas.persona_status(session).dirty


def test_draft_that_generated_personas_replace_is_saved_as_a_version(tmp_path):
    with studio(tmp_path) as (_, session):
        mine = personas.change_persona(DEFAULT_PERSONAS, "Critic", traits="An hour of writing.")
        personas.save_draft(session, mine)
        personas.add_sources(session, [("guests.txt", SOURCE)])
        personas.start(session, BOOK, planning.DEFAULT_ROLE_MODEL, personas.GenerationSettings())
        generated = session.jobs[personas.JOB].result()
        assert personas.persona_status(session).personas == generated.extraction.persona_set
        (kept,) = personas.history(session)
        assert (kept.personas, kept.note) == (mine, "draft that generated personas replaced")
        assert generated.extraction.notes[-1] == "The draft that they replace was saved as v1."


def test_model_is_asked_again_after_unreadable_replies(tmp_path):
    guests = {
        "name": "Guests",
        "characteristics": "",
        "dimensions": [{"dimension": "Rest", "evidence": ["Guests want a clean room"]}],
    }
    readable = json.dumps({"stakeholders": [guests], "name": "Ann", "dimension": "Rest"})
    replies = iter(["I will think about guests.", "So I did.", *[readable] * 9])

    async def answer_next(request, body):
        return await reply_with(next(replies))(request, body)

    with Scripted(answer_next) as server, studio(tmp_path) as (space, session):
        space.use_connection("mock", server.url)
        sources = [SourceDocument("guests.txt", SOURCE.decode())]
        wanted = BOOK, RoleModel(connection="mock", model="m"), personas.GenerationSettings()
        with pytest.raises(MootError, match="No answer of mock/m on the sources can be read"):
            personas.generate(session, sources, *wanted).result()
        assert len(server.requests) == 2
        generated = personas.generate(session, sources, *wanted).result()
        assert [group.name for group in generated.extraction.persona_set.groups] == ["Guests"]
        paid = len(server.requests)
        assert personas.generate(session, sources, *wanted).result().extraction == generated.extraction
        assert len(server.requests) == paid


def test_price_that_is_removed_while_personas_are_generated_is_named(tmp_path):
    with studio(tmp_path) as (space, session):
        prices = session.models.prices.user_prices

        async def answer_without_price(request, body):
            prices.clear()
            return await reply_with("I will think about guests.")(request, body)

        with Scripted(answer_without_price) as server:
            space.use_connection("mock", server.url)
            prices["mock/m"] = Price(prompt=1, completion=1)
            wanted = BOOK, RoleModel(connection="mock", model="m"), personas.GenerationSettings()
            generated = personas.generate(session, [SourceDocument("a.txt", SOURCE.decode())], *wanted, budget_usd=5)
            with pytest.raises(UsageError, match=r"The price of mock/m .*is unknown"):
                generated.result()
