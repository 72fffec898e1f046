"""Tests of personas: drafts that other personas replace."""

from __future__ import annotations

from core.codebook import Codebook, Label
from core.debate.personas import DEFAULT_PERSONAS
from core.services import personas
from core.services.runs import planning
from tests.core.services.sessions import studio

SOURCE = b"Guests want a clean room and they expect quiet nights in the hotel. Staff want a short list of what to fix."
BOOK = Codebook(unit="review", labels=(Label(name="Clean"),))


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
