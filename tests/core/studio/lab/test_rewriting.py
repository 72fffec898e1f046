"""A model proposes other words for a label: read in any reasonable form, taken field by field, asked once."""

from __future__ import annotations

import json

import pytest

from core.codebook import Label
from core.documents import Document
from core.errors import MootError, UsageError
from core.runs import Seat
from core.studio.codebooks import codebook as codebooks
from core.studio.lab import rewriting, samples, suggesting, trying
from core.studio.running import runs
from tests.core.studio.desks import BOOK, make, studio, until
from tests.servers.scripted import Scripted, saying

LABEL = Label(name="Service", include=("kind staff",), keywords=("staff", "friendly"))
TOLD = {
    "description": "How  staff\ntreat guests.",
    "add_keywords": ["porter", "Staff"],
    "remove_include": ["Kind staff"],
    "why": "w",
}


@pytest.mark.parametrize("text", [json.dumps(TOLD), f"Here:\n```json\n{json.dumps(TOLD, indent=1)}\n```\nDone."])
def test_a_proposal_is_read_bare_or_fenced(text):
    after, why = rewriting.read(text, LABEL)
    assert (after.description, after.include, why) == ("How staff treat guests.", (), "w")
    assert after.keywords == ("staff", "friendly", "porter")  # what is there already is not added


@pytest.mark.parametrize("text", ["", "no", "{}", '{"labels": []}', '{"description": '])
def test_what_cannot_be_read_is_said(text):
    with pytest.raises(MootError, match="could not be read"):
        rewriting.read(text, LABEL)


def test_wrong_types_are_passed_over():
    after, why = rewriting.read('{"description": 7, "add_keywords": "x", "add_include": [1, "a  b"], "why": []}', LABEL)
    assert (after.description, after.keywords, after.include, why) == ("", LABEL.keywords, ("kind staff", "a b"), "")


def test_a_model_is_asked_once_with_the_errors_and_each_change_is_taken_or_left(tmp_path):
    with (
        Scripted(saying(json.dumps(TOLD | {"remove_include": []}))) as server,
        studio(tmp_path, documents=0) as (space, desk),
    ):
        space.use_connection("mock", server.url)
        service = BOOK.labels[1]
        gold = {"gold": {service.id: True}}
        desk.store.documents.add([Document(f"d{n}", {"text": f"A porter helped, {n}."}, gold=gold) for n in range(20)])
        codebooks.keep(desk, codebooks.change(BOOK, guideline="Only the hotel."))
        trial = trying.begin(desk, trying.definition_change(desk), samples.sample(desk, 5))
        until(lambda: not trying.moves(desk, trial))
        with pytest.raises(UsageError, match="built-in"):
            rewriting.propose(desk, runs.Plan(), service.id)
        plan = runs.Plan(everyone=Seat(connection="mock", model="m"))
        proposal = rewriting.propose(desk, plan, service.id)
        asked = server.requests[0]["messages"][-1]["content"]
        assert "A porter helped" in asked
        assert "was not given" in asked
        assert list(proposal.changes) == ["description", "keywords"]
        proposal = rewriting.take(desk, proposal, "keywords")
        assert codebooks.standing(desk).codebook.label(service.id).keywords[-1] == "porter"
        assert list(proposal.changes) == ["description"]
        assert rewriting.leave(proposal, "description").changes == {}
        assert codebooks.standing(desk).codebook.label(service.id).description == ""
        codebooks.keep(desk, codebooks.change(BOOK, guideline="Only the hotel."))
        assert rewriting.propose(desk, plan, service.id).cached
        assert len(server.requests) == 1


def test_an_example_that_is_taken_takes_its_document_out_of_the_test(tmp_path):
    with studio(tmp_path, documents=0) as (_, desk):
        service = BOOK.labels[1]
        gold = {"gold": {service.id: True}}
        none = {"gold": {service.id: False}}
        desk.store.documents.add([Document(f"d{n}", {"text": f"A porter helped, {n}."}, gold=gold) for n in range(20)])
        desk.store.documents.add([Document(f"n{n}", {"text": f"We slept, {n}."}, gold=none) for n in range(20)])
        codebooks.keep(desk, codebooks.change(BOOK, guideline="Only the hotel."))
        trial = trying.begin(desk, trying.definition_change(desk), samples.sample(desk, 20))
        until(lambda: not trying.moves(desk, trial))
        found = suggesting.suggestions(desk)
        assert found[0].part == "keywords"
        assert "porter" in found[0].text or "helped" in found[0].text
        example = next(one for one in found if one.part == "include")
        (later,) = make(desk, runs.Plan(limit=1))
        desk.go(later.run_id).result(30)
        assert suggesting.judged(desk) == later.run_id
        assert suggesting.suggestions(desk) != found
        assert suggesting.suggestions(desk, trial.after_run) == found  # of the run that was chosen
        suggesting.dismiss(desk, found[0])
        assert found[0].name not in {one.name for one in suggesting.suggestions(desk)}
        suggesting.accept(desk, example)
        assert example.text in codebooks.standing(desk).codebook.label(service.id).include
        after = trying.begin(desk, trying.definition_change(desk), samples.sample(desk, 20))
        until(lambda: not trying.moves(desk, after))
        assert desk.store.evaluations.guarded(after.after_run) == [example.document_id]
        assert trying.outcome(desk, after).n == 19
