"""Tests of suggested definitions: parsing, acceptance by field, caching of requests."""

from __future__ import annotations

import json
import re

import pytest

from core.codebook import Label
from core.documents import Document
from core.errors import MootError, UsageError
from core.runs import LONG_MAX_TOKENS, RoleModel
from core.services import document_samples
from core.services.codebooks import codebook as codebooks
from core.services.lab import suggestions, trials
from core.services.runs import planning
from tests.core.services.sessions import BOOK, queue_runs, studio, until
from tests.servers.scripted import Scripted, reply_with

LABEL = Label(name="Service", include=("kind staff",), keywords=("staff", "friendly"))
PROPOSAL = {
    "description": "How  staff\ntreat guests.",
    "add_keywords": ["gondolier", "Staff"],
    "remove_include": ["Kind staff"],
    "why": "w",
}


@pytest.mark.parametrize(
    "text", [json.dumps(PROPOSAL), f"Here:\n```json\n{json.dumps(PROPOSAL, indent=1)}\n```\nDone."]
)
def test_proposal_is_read_with_and_without_a_code_fence(text):
    after, reason = suggestions.parse_proposal(text, LABEL)
    assert (after.description, after.include, reason) == ("How staff treat guests.", (), "w")
    assert after.keywords == ("staff", "friendly", "gondolier")  # an existing keyword is not added again


@pytest.mark.parametrize("text", ["", "no", "{}", '{"labels": []}', '{"description": '])
def test_unreadable_proposal_is_an_error(text):
    with pytest.raises(MootError, match="could not be read"):
        suggestions.parse_proposal(text, LABEL)


def test_fields_of_wrong_type_are_ignored():
    after, reason = suggestions.parse_proposal(
        '{"description": 7, "add_keywords": "x", "add_include": [1, "a  b"], "why": []}', LABEL
    )
    assert (after.description, after.keywords, after.include, reason) == ("", LABEL.keywords, ("kind staff", "a b"), "")


def test_suggestions_are_requested_once_and_accepted_one_by_one(tmp_path):
    with (
        Scripted(reply_with(json.dumps(PROPOSAL | {"remove_include": []}))) as server,
        studio(tmp_path, documents=0) as (space, session),
    ):
        space.use_connection("mock", server.url)
        service = BOOK.labels[1]
        gold = {"gold": {service.id: True}}
        session.store.documents.add(
            [Document(f"d{n}", {"text": f"A gondolier sang, {n}."}, gold=gold) for n in range(20)]
        )
        codebooks.save_draft(session, codebooks.change(BOOK, guideline="Only the hotel."))
        sample = document_samples.project_sample(session, 5)
        trial = trials.start_trial(session, trials.definition_change(session), sample)
        until(lambda: not trials.is_trial_active(session, trial))
        with pytest.raises(UsageError, match="built-in"):
            suggestions.propose_rewrite(session, planning.Plan(), service.id)
        plan = planning.Plan(default_model=RoleModel(connection="mock", model="m"))
        proposal = suggestions.propose_rewrite(session, plan, service.id).result()
        prompt = server.requests[0]["messages"][-1]["content"]
        assert "A gondolier sang" in prompt
        assert "was not given" in prompt
        assert list(proposal.changes) == ["description", "keywords"]
        proposal = suggestions.accept_field(session, proposal, "keywords")
        assert codebooks.codebook_status(session).codebook.label(service.id).keywords[-1] == "gondolier"
        assert list(proposal.changes) == ["description"]
        assert suggestions.dismiss_field(proposal, "description").changes == {}
        assert codebooks.codebook_status(session).codebook.label(service.id).description == ""
        codebooks.save_draft(session, codebooks.change(BOOK, guideline="Only the hotel."))
        assert suggestions.propose_rewrite(session, plan, service.id).result().cached
        assert len(server.requests) == 1


def test_model_is_asked_again_after_unreadable_proposals(tmp_path):
    replies = iter(["Let me think.", "I am sorry.", json.dumps(PROPOSAL)])

    async def answer_next(request, body):
        return await reply_with(next(replies))(request, body)

    with Scripted(answer_next) as server, studio(tmp_path, documents=0) as (space, session):
        space.use_connection("mock", server.url)
        codebooks.save_draft(session, BOOK)
        plan = planning.Plan(default_model=RoleModel(connection="mock", model="m"))
        with pytest.raises(MootError, match="could not be read"):
            suggestions.propose_rewrite(session, plan, BOOK.labels[1].id).result()
        assert len(server.requests) == 2
        after = suggestions.propose_rewrite(session, plan, BOOK.labels[1].id).result().after
        assert (after.description, len(server.requests)) == ("How staff treat guests.", 3)


def test_reasoning_model_has_tokens_to_write_a_proposal(tmp_path):
    with Scripted(reply_with(json.dumps(PROPOSAL))) as server, studio(tmp_path, documents=0) as (space, session):
        space.use_connection("mock", server.url)
        codebooks.save_draft(session, BOOK)
        plan = planning.Plan(default_model=RoleModel(connection="mock", model="o3-mini"))
        suggestions.propose_rewrite(session, plan, BOOK.labels[1].id).result()
        (request,) = server.requests
        assert request.get("max_tokens", request.get("max_completion_tokens")) == LONG_MAX_TOKENS


def test_suggested_keyword_counts_the_documents_with_it():
    missed = {f"d{n}": f"A gondolier came, {n}." for n in range(20)}
    correct = {f"n{n}": f"We slept late, {n}." for n in range(19)} | {"n19": "No gondolier sang."}
    sides = {"fn": missed, "tn": correct, "fp": {}, "tp": {}}
    reasons = {change.text: change.why for change in suggestions._label_suggestions(LABEL, sides, (), lambda *_: "n0")}
    assert reasons["gondolier"] == "occurs in 20 of 20 false negatives and in 1 true negative"
    assert reasons["came"].endswith("and in 0 true negatives")


def test_accepted_example_excludes_its_document_from_scores(tmp_path):
    with studio(tmp_path, documents=0) as (_, session):
        service = BOOK.labels[1]
        gold = {"gold": {service.id: True}}
        none = {"gold": {service.id: False}}
        session.store.documents.add(
            [Document(f"d{n}", {"text": f"A gondolier sang in Murano, {n}."}, gold=gold) for n in range(20)]
        )
        session.store.documents.add(
            [Document(f"n{n}", {"text": f"We slept in Murano, {n}."}, gold=none) for n in range(20)]
        )
        codebooks.save_draft(session, codebooks.change(BOOK, guideline="Only the hotel."))
        sample = document_samples.project_sample(session, 20)
        trial = trials.start_trial(session, trials.definition_change(session), sample)
        until(lambda: not trials.is_trial_active(session, trial))
        result = suggestions.suggest_changes(session)
        assert result[0].part == "keywords"
        assert "gondolier" in result[0].text or "sang" in result[0].text
        example = next(change for change in result if change.part == "include")
        assert re.search(r"d\d+ is a false negative; n\d+ is similar, labelled correctly", example.why)
        (later,) = queue_runs(session, planning.Plan(limit=1))
        session.start_or_resume(later.run_id).result(30)
        assert suggestions.latest_scored_run(session) == later.run_id
        assert suggestions.suggest_changes(session) != result
        assert suggestions.suggest_changes(session, trial.after_run) == result  # suggestions of the chosen run
        suggestions.dismiss(session, result[0])
        assert result[0].name not in {suggestion.name for suggestion in suggestions.suggest_changes(session)}
        suggestions.accept(session, example)
        assert example.text in codebooks.codebook_status(session).codebook.label(service.id).include
        sample = document_samples.project_sample(session, 20)
        after = trials.start_trial(session, trials.definition_change(session), sample)
        until(lambda: not trials.is_trial_active(session, after))
        assert session.store.annotations.example_documents(after.after_run) == [example.document_id]
        assert trials.trial_result(session, after).labelled == 19

        assert suggestions.latest_scored_run(session) == after.after_run
        delete = f"DELETE FROM verdicts WHERE run_id = '{after.after_run}'"  # as if its model had not answered
        session.project._writer.do(lambda cursor: cursor.execute(delete))
        assert suggestions.latest_scored_run(session) == later.run_id


def test_errors_are_those_of_documents_that_are_still_there(tmp_path):
    with studio(tmp_path, documents=0) as (_, session):
        service = BOOK.labels[1]
        gold = {"gold": {service.id: True}}
        texts = {f"d{n}": f"A gondolier sang, {n}." for n in range(40)}
        documents = [Document(id, {"text": text}, gold=gold) for id, text in texts.items()]
        session.store.documents.add(documents)
        (run,) = queue_runs(session, planning.Plan())
        session.start_or_resume(run.run_id).result(30)
        session.store.documents.replace_all(documents[1::2])
        errors = dict(suggestions.label_errors(session, BOOK, run.run_id))[service]["fn"]
        assert errors
        assert errors.items() <= {id: text for id, text in texts.items() if int(id[1:]) % 2}.items()


def test_helpful_suggestions_are_listed_before_neutral_ones_with_more_errors(tmp_path):
    with studio(tmp_path, documents=0) as (_, session):
        clean, service = (label.id for label in BOOK.labels)
        groups = (("A gondolier sang", service, 24), ("Midges in a corner", clean, 12), ("We slept", "", 30))
        session.store.documents.add(
            [
                Document(
                    f"{text[0]}{n}",
                    {"text": f"{text}, {n}."},
                    gold={"gold": {id: id == label for id in (clean, service)}},
                )
                for text, label, count in groups
                for n in range(count)
            ]
        )
        (run,) = queue_runs(session, planning.Plan())
        session.start_or_resume(run.run_id).result(30)
        keywords = (*BOOK.label(service).keywords, "gondolier")  # the draft corrects these errors of the run already
        codebooks.save_draft(session, codebooks.change_label(BOOK, service, keywords=keywords))
        keyword_changes = [
            suggestion
            for suggestion in suggestions.suggest_changes(session, run.run_id)
            if suggestion.part == "keywords"
        ]
        nets, errors = [one.net for one in keyword_changes], [len(one.documents) for one in keyword_changes]
        assert nets == sorted(nets, reverse=True)
        assert (keyword_changes[0].label_id, keyword_changes[-1].label_id, keyword_changes[-1].net) == (
            clean,
            service,
            0,
        )
        assert errors[0] < errors[-1]
