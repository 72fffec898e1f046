"""Tests of the Authors page: consent, excluded texts, questions, settings, and answers of a second person."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from typing import Any

import pytest
from aiohttp import web

from core.author_labelling import requests
from core.author_labelling.questions import Submission
from core.codebook import Codebook, Label, Scale
from core.debate.turns import Step
from core.llm.connections import parse_connection
from core.services.author_labelling import labelling
from core.services.author_labelling.report import COPIES
from core.services.background_jobs import Job
from core.services.project_session import ProjectSession
from tests.app.studio import HOSTILE, button, html, open_page, until_shown
from tests.servers.scripted import Scripted, reply_with

BOOK = Codebook(
    unit="message",
    labels=(
        Label(name="Urgent", keywords=("today", "tomorrow")),
        Label(name="Feeling", description="How do you feel?", open="options", include=("calm", "worried", "proud")),
    ),
)


@pytest.fixture(autouse=True)
def _no_double_clicks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.state.DOUBLE_CLICK_SECONDS", 0.0)  # tests are faster than people


def agree(at, name: str = "p1"):
    at.text_input(key="authors-name").set_value(name).run()
    return at.button(key="authors-agree").click().run()


def start(session: ProjectSession, codebook: Codebook = BOOK):
    """Open the page of a project with a codebook as the author p1."""
    session.store.codebooks.save(codebook)
    return agree(open_page("authors"))


def send(at, text: str):
    at.text_area(key="authors-text").set_value(text).run()
    at.button(key="authors-send").click().run()
    deadline = time.monotonic() + 30
    while at.button(key="authors-send").disabled:
        assert time.monotonic() < deadline, "the questions are still being prepared"
        at.run()
    return at


def show(at, view: str):
    at.session_state["authors_view"] = view
    return at.run()


def test_page_without_a_codebook_names_the_next_step(session: ProjectSession) -> None:
    at = open_page("authors")
    assert "No codebook yet" in html(at)
    assert [button.label for button in at.main.button][:2] == ["Open Codebook", "Open the sample chats"]


def test_results_without_answers_name_the_next_step(session: ProjectSession) -> None:
    session.store.codebooks.save(BOOK)
    at = show(open_page("authors"), "Results")
    assert "Under Write, authors write a text" in html(at)
    assert ">Predicted correctly</th>" not in html(at)


def test_consent_comes_first_and_needs_a_name(session: ProjectSession) -> None:
    session.store.codebooks.save(BOOK)
    at = open_page("authors")
    assert any("Answering is voluntary" in element.value for element in at.text)
    at.button(key="authors-agree").click().run()
    assert "name or code is missing" in html(at)
    agree(at)
    assert "writing as p1" in html(at)


def test_a_double_click_sends_a_text_once(session: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.state.DOUBLE_CLICK_SECONDS", 1e9)  # longer than the machine has run, however slow it is
    at = start(session)
    send(at, "The report is due tomorrow")
    at.button(key="authors-send").click().run()
    send(at, "The report is due tomorrow")
    assert "The text is empty" not in html(at)
    assert len(labelling.load_labelling(session).submissions("p1")) == 1


def test_text_is_sent_in_the_background_and_a_reload_shows_its_questions(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All tabs wait for a callback, so it must not wait for a model."""
    answered, submit = threading.Event(), labelling.submit

    def slow_submit(*arguments, **options) -> Submission:
        answered.wait(10)
        return submit(*arguments, **options)

    monkeypatch.setattr(labelling, "submit", slow_submit)
    at = start(session)
    at.text_area(key="authors-text").set_value("The report is due tomorrow").run()
    at.button(key="authors-send").click().run()
    assert not labelling.load_labelling(session).submissions("p1")
    for tab in (at, reloaded := agree(open_page("authors"))):
        assert [bar.proto.text for bar in tab.get("progress")] == ["Preparing questions"]
        assert tab.text_area(key="authors-text").value == ""
        assert [text.value for text in tab.text] == ["The report is due tomorrow"]
        assert "Saved" not in html(tab)
        assert tab.button(key="authors-send").disabled
    answered.set()
    until_shown(reloaded, "1 of 2")
    until_shown(at, "1 of 2")
    assert at.text_area(key="authors-text").value == ""


def test_questions_are_shown_in_two_tabs_of_an_author(session: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    at = start(session)
    wait = Job.wait

    def wait_while_the_other_tab_finishes(job: Job[None], seconds: float) -> bool:
        has_ended = wait(job, seconds)
        if has_ended:
            session.jobs.clear()
        return has_ended

    monkeypatch.setattr(Job, "wait", wait_while_the_other_tab_finishes)
    send(at, "The report is due tomorrow")
    assert not at.exception
    assert "1 of 2" in html(at)


def test_reload_keeps_the_unsent_text_and_the_open_questions(session: ProjectSession) -> None:
    at = start(session)
    send(at, "The report is due tomorrow")
    assert "Saved" in html(at)
    at.text_area(key="authors-text").set_value("And the next one").run()
    assert "Saved" not in html(at), "the text is in memory only"
    at = agree(open_page("authors"))
    assert at.text_area(key="authors-text").value == "And the next one"
    assert "1 of 2" in html(at)
    assert "Saved" not in html(at)
    assert agree(open_page("authors"), "p2").text_area(key="authors-text").value == ""


def test_next_author_starts_with_the_consent_text_and_an_empty_field(session: ProjectSession) -> None:
    at = start(session)
    at.text_area(key="authors-text").set_value("The report of p1").run()
    at.button(key="authors-change").click().run()
    assert any("Answering is voluntary" in element.value for element in at.text)
    assert "writing as" not in html(at)
    assert at.text_input(key="authors-name").value == ""
    agree(at, "p2")
    assert "writing as p2" in html(at)
    assert at.text_area(key="authors-text").value == ""
    at.button(key="authors-change").click().run()
    assert agree(at).text_area(key="authors-text").value == "The report of p1"


def test_exclusion_gives_a_reason_and_hostile_text_is_escaped(session: ProjectSession) -> None:
    at = start(session)
    send(at, "Good morning!")
    assert "only a greeting" in html(at)
    send(at, "I was diagnosed last week and need advice")
    assert "a word of a short English list" in html(at), "other words are not found"
    send(at, "")
    assert "The text is empty." in html(at)
    send(at, f"{HOSTILE} and the report is due tomorrow")
    assert "<img src=x" not in html(at)
    assert any("<img src=x" in element.value for element in at.text)


@pytest.mark.parametrize("step", ["find_relevant", "write_questions"])
def test_text_without_questions_has_a_reason(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def unreadable(*_arguments: object, **_options: object) -> Step[tuple[()]]:
        yield ()
        return ()

    monkeypatch.setattr(requests, step, unreadable)
    session.store.codebooks.save(BOOK)
    page = html(send(agree(open_page("authors")), "The report is due tomorrow"))
    assert "No questions about this text" in page
    assert "unreadable." in page


def test_answers_are_disabled_at_first_and_a_question_can_be_skipped(session: ProjectSession) -> None:
    at = start(session)
    send(at, "The report is due tomorrow and not done.")
    asked = [button for button in at.button if "/" in str(button.key)]
    assert [button.disabled for button in asked if button.label in ("Not sure", "None of these")] == [True, True]
    button(at, "Skip")
    assert "skipped" in html(at)


def test_yes_and_no_are_not_followed_by_none_of_these(session: ProjectSession) -> None:
    at = start(session, Codebook(labels=BOOK.labels[:1]))
    send(at, "The report is due tomorrow and not done.")
    asked = [button.label for button in at.button if "/" in str(button.key)]
    assert (sorted(asked[:2]), asked[2:]) == (["No", "Yes"], ["Not sure", "Skip"])
    assert "Keys 1 to 3 answer." in html(at) or "Take your time" in html(at)


LETTERS = Codebook(kind="choice", labels=tuple(Label(name=f"Topic {letter}") for letter in "ABCDEFGHIJKL"))
WIT = Codebook(kind="rating", labels=(Label(name="Wit", scale=Scale(min=0, max=10)),))


@pytest.mark.parametrize(("codebook", "keys"), [(LETTERS, "Keys 1 to 9 answer."), (WIT, "Keys 0 to 9 answer.")])
def test_more_than_nine_answers_have_the_keys_that_exist(
    session: ProjectSession, codebook: Codebook, keys: str
) -> None:
    session.store.codebooks.save(codebook)
    labelling.save_settings(session, reading_seconds=0)
    at = agree(open_page("authors"))
    send(at, "The report is due tomorrow and not done.")
    assert not at.exception
    assert keys in html(at)
    if codebook is WIT:
        assert any("0 is the lowest, 10 the highest." in element.value for element in at.text)
        asked = [button for button in at.button if "/" in str(button.key)]
        assert [button.label for button in asked[:11]] == [str(point) for point in range(11)]
        assert [button.proto.shortcut for button in asked[:11]] == [*map(str, range(10)), ""]
    keys_of_blocks = [node.proto.id for node in at.main if node.type == "flex_container"]
    hides_shortcuts = any(key.endswith("authors-points") for key in keys_of_blocks)
    assert hides_shortcuts == (codebook is WIT), "a point of a scale is its own shortcut"


def test_answers_of_a_second_person_are_in_the_results(session: ProjectSession) -> None:
    session.store.codebooks.save(BOOK)
    labelling.save_settings(session, reading_seconds=0, m=1)
    author = labelling.give_consent(session, "p1")
    report = labelling.submit(session, author, "The report is due tomorrow and not done.")
    (question,) = report.questions
    labelling.answer(session, question.id, author, choice=question.options[0], seconds=6)
    at = open_page("authors")
    show(at, "Answer for others")
    at.text_input(key="authors-annotator").set_value("bo").run()
    assert any("report is due" in element.value for element in at.text)
    button(at, question.options[0])
    assert "No questions left" in html(at)
    show(at, "Results")
    assert re.search(r"<td>people</td>(<td[^>]*>[100]</td>){3}", html(at)), "labels, abstained, unresolved"
    assert "95% intervals over questions of one author." in html(at)
    assert 'tabindex="0" role="region" aria-label="Annotators against authors"' in html(at)
    assert not at.expander, "no question has several answers"
    assert at.number_input(key="authors-copies").value == COPIES
    assert ">Predicted correctly</th>" in html(at)
    show(at, "Answer for others")
    at.text_input(key="authors-annotator").set_value("cy").run()
    button(at, question.options[1])
    show(at, "Results")
    assert ">1 agrees</td>" in html(at)


def test_model_answers_in_the_background_and_can_be_stopped(session: ProjectSession) -> None:
    session.store.codebooks.save(BOOK)
    labelling.save_settings(session, reading_seconds=0, m=1)
    author = labelling.give_consent(session, "p1")
    (question,) = labelling.submit(session, author, "The report is due tomorrow and not done.").questions
    labelling.answer(session, question.id, author, choice=question.options[0], seconds=6)
    answered = threading.Event()

    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        await asyncio.to_thread(answered.wait, 30)
        return await reply_with("The label is 1")(request, body)

    with Scripted(behave) as server:
        session.models.add(parse_connection("slow", server.url))
        labelling.save_settings(session, model="slow/m")  # AppTest cannot enter a new option
        at = show(open_page("authors"), "Results")
        at.selectbox(key="authors-annotate-model").set_value("slow/m").run()
        at.button(key="authors-annotate").click().run()
        for tab in (at, show(open_page("authors"), "Results")):
            assert [bar.proto.text for bar in tab.get("progress")] == [r"slow\/m: 0 of 1 question"]
        at.button(key="authors-annotate-stop").click().run()
        assert "The work was stopped." in until_shown(at, "was stopped")
        assert "<td>models</td>" not in html(at)
        at.button(key="authors-annotate").click().run()
        answered.set()
        assert "The model gave 3 new answers" in until_shown(at, "<td>models</td>")


def test_settings_are_saved_and_invalid_ones_are_refused(session: ProjectSession) -> None:
    session.store.codebooks.save(BOOK)
    at = open_page("authors")
    show(at, "Settings")
    assert "moot-saved" not in html(at), "nothing was saved on this page"
    at.number_input(key="authors-set-m").set_value(2).run()
    assert "moot-saved" in html(at)
    at.text_area(key="authors-set-names").set_value("Zork\n\n Ada ").run()
    assert (labelling.load_settings(session).m, labelling.load_settings(session).names) == (2, ("Zork", "Ada"))
    at.text_area(key="authors-set-catalogue").set_value("- {name: A}").run()
    assert "catalogue" in html(at)
    assert labelling.load_settings(session).catalogue == ""
    assert at.text_area(key="authors-set-catalogue").value == "- {name: A}", "the user may correct it"
    at.text_area(key="authors-set-catalogue").set_value("").run()
    assert "moot-wrong" not in html(at)


def test_suggestion_is_shown_on_request_and_rated_once(session: ProjectSession) -> None:
    session.store.codebooks.save(BOOK)
    catalogue = "[{name: Planner, text: Plan the week., keywords: [report], labels: {Urgent: 'Yes'}}]"
    labelling.save_settings(session, warm_up=0, catalogue=catalogue)
    at = send(agree(open_page("authors")), "I have to hand in the report today.")
    assert "Planner" in html(at)
    assert "Plan the week." not in [shown.value for shown in at.text]
    at.button(key="authors-click").click().run()
    assert "Plan the week." in [shown.value for shown in at.text]
    assert "authors-click" not in {button.key for button in at.button}
    at.button(key="authors-helpful").click().run()
    assert "Plan the week." in [shown.value for shown in at.text]
    assert "authors-helpful" not in {button.key for button in at.button}
    (submission,) = labelling.load_labelling(session).submissions("p1")
    reactions = labelling.load_labelling(session).reactions(submission.document_id)
    assert [reaction.helpful for reaction in reactions] == [None, True]


def test_label_is_opened_on_the_codebook_page(session: ProjectSession) -> None:
    from core.services.codebooks import codebook as codebooks

    session.store.codebooks.save(BOOK)
    at = open_page("codebook")
    urgent = BOOK.labels[0].id
    at.selectbox(key=f"codebook-label-open-{urgent}").set_value("word").run()
    status = codebooks.codebook_status(session)
    assert status.codebook.label(urgent).open == "word"
    assert status.dirty
