"""Tests of author labelling with the built-in model and with a scripted language model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from core.author_labelling.questions import ConversationMessage, Submission
from core.author_labelling.screening import SPAM_TEXTS
from core.author_labelling.selection import SELECTOR, AnsweredText
from core.codebook import CHOICE_ITEM, Codebook, Label
from core.errors import TimedOut, UsageError
from core.llm.connections import parse_connection
from core.services.author_labelling import labelling
from core.services.author_labelling.report import author_report
from core.services.project_session import ProjectSession
from core.services.workspace import Workspace
from tests.servers.running import llama_cpp
from tests.servers.scripted import Scripted, reply_with

BOOK = Codebook(
    name="Notes",
    unit="message",
    labels=(
        Label(name="Urgent", keywords=("today", "tomorrow")),
        Label(name="Feeling", description="How do you feel?", open="options", include=("calm", "worried", "proud")),
        Label(name="Mood", open="word"),
    ),
)
URGENT, FEELING, MOOD = (label.id for label in BOOK.labels)
TEXT = "I have to hand in the report tomorrow and it is not done."


@pytest.fixture
def session(workspace: Workspace, tmp_path: Path) -> ProjectSession:
    opened = workspace.open(tmp_path / "notes.duckdb")
    opened.store.codebooks.save(BOOK)
    return opened


def test_two_clicks_store_one_answer(session: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    author = labelling.give_consent(session, "ada")
    question = next(question for question in labelling.submit(session, author, TEXT).questions if question.options)
    before = labelling.load_labelling(session)
    labelling.answer(session, question.id, author, choice=question.options[0], seconds=6)
    labelling.answer(session, question.id, "bo", choice=question.options[0], seconds=6, group="people")
    stored = labelling.load_labelling(session).log
    monkeypatch.setattr(labelling, "load_labelling", lambda _: before)  # the other click saw no answer
    for by, group in ((author, "author"), ("bo", "people")):
        with pytest.raises(UsageError, match="already answered"):
            labelling.answer(session, question.id, by, choice=question.options[1], seconds=6, group=group)
    monkeypatch.undo()
    assert labelling.load_labelling(session).log == stored
    labelling.answer(session, question.id, "bo", choice=question.options[0], seconds=6, group="others")
    assert len(labelling.load_labelling(session).log) == len(stored) + 1


def test_text_to_label_with_the_built_in_model(session: ProjectSession) -> None:
    with pytest.raises(UsageError, match="not agreed"):
        labelling.submit(session, "ada", TEXT)
    author = labelling.give_consent(session, "  ada ")
    submission = labelling.submit(session, author, TEXT)
    assert not submission.excluded
    assert set(submission.relevant) == {URGENT, FEELING, MOOD}
    assert {question.item for question in submission.questions} == {URGENT, FEELING, MOOD}
    urgent = next(question for question in submission.questions if question.item == URGENT)
    assert set(urgent.options) == {"Yes", "No"}
    assert urgent.predicted == "Yes"
    waiting = author_report(session)
    assert [(row.asked, row.answered) for row in waiting.features] == [(1, 0)] * 3, "asked before they are answered"
    assert waiting.collection.asked == 3
    with pytest.raises(UsageError, match="reading time"):
        labelling.answer(session, urgent.id, author, choice="Yes", seconds=4.9)
    with pytest.raises(UsageError, match="not an option"):
        labelling.answer(session, urgent.id, author, choice="Perhaps", seconds=5)
    with pytest.raises(UsageError, match="Only the author"):
        labelling.answer(session, urgent.id, "bo", choice="Yes", seconds=5)
    effect = labelling.answer(session, urgent.id, author, choice="yes", seconds=6.5)
    assert effect is not None
    assert effect.after < effect.before
    with pytest.raises(UsageError, match="already answered"):
        labelling.answer(session, urgent.id, author, choice="No", seconds=6)
    document = session.store.documents.get(submission.document_id)
    assert document is not None
    assert document.gold == {"author": {URGENT: True}}
    feeling = next(question for question in submission.questions if question.item == FEELING)
    abstained = labelling.answer(session, feeling.id, author, abstention="not sure", seconds=7)
    assert abstained is not None
    assert abstained.loss is None
    assert abstained.before == abstained.after
    mood = next(question for question in submission.questions if question.item == MOOD)
    with pytest.raises(UsageError, match="one word"):
        labelling.answer(session, mood.id, author, choice="two words", seconds=6)
    labelling.answer(session, mood.id, author, declined=True, seconds=0)
    after = labelling.load_labelling(session)
    assert after.next_question(submission) is None
    counts = {row.name: (row.asked, row.answered, row.abstained) for row in author_report(session).features}
    assert counts == {"Urgent": (1, 1, 0), "Feeling": (1, 0, 1), "Mood": (1, 0, 0)}
    assert document.gold["author"].keys() == {URGENT}, "neither an abstention nor a free answer becomes a label"
    assert labelling.next_for_annotator(after, "bo", "people") == after.questions[urgent.id]
    labelling.answer(session, urgent.id, "bo", choice="No", seconds=6, group="people")
    left = labelling.next_for_annotator(labelling.load_labelling(session), "bo", "people")
    assert left is None, "the answer to a question on which the author abstained could not be compared"


def test_draft_is_sent_once_and_stays_if_it_is_refused(session: ProjectSession) -> None:
    drafts, job_name = labelling.AuthorDrafts(), labelling.sending_job("ada")
    draft = drafts.of("ada")
    assert drafts.of("ada") is draft is not drafts.of("bo")
    draft.text, draft.is_chat = TEXT, True
    draft.send(session, "ada")
    with pytest.raises(UsageError, match="not agreed"):
        session.jobs.pop(job_name).result()
    assert (draft.text, draft.messages) == (TEXT, ())
    author = labelling.give_consent(session, "ada")
    draft.send(session, author)
    job = session.jobs[job_name]
    draft.send(session, author)
    assert session.jobs.pop(job_name) is job
    job.result()
    (submission,) = labelling.load_labelling(session).submissions(author)
    assert (draft.text, draft.document_id) == ("", submission.document_id)
    assert [message.role for message in draft.messages] == ["author", "assistant"]
    draft.text = "The call is tomorrow."
    draft.send(session, author)
    draft.text = "The call is tomorrow. Or"
    session.jobs[job_name].result()
    assert draft.text == "The call is tomorrow. Or"
    draft.renew()
    assert (draft.messages, draft.conversation, draft.document_id) == ((), "", "")


def test_refused_text_is_kept_before_a_text_that_the_author_began(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = labelling.AuthorDrafts().of("ada")

    def refuse(*_text: object, **_options: object) -> None:
        draft.text = "Then I"
        raise UsageError("no", "")

    monkeypatch.setattr(labelling, "submit", refuse)
    draft.text = TEXT
    draft.send(session, "ada")
    with pytest.raises(UsageError):
        session.jobs[labelling.sending_job("ada")].result()
    assert draft.text == f"{TEXT}\n\nThen I"


def test_author_continues_the_latest_text_with_open_questions(session: ProjectSession) -> None:
    author = labelling.give_consent(session, "ada")
    texts = [labelling.submit(session, author, text) for text in (TEXT, "Nothing is due today.", "Hello!")]
    draft = labelling.AuthorDraft()
    draft.continue_latest(labelling.load_labelling(session), "bo")
    assert draft.document_id == ""
    draft.continue_latest(labelling.load_labelling(session), author)
    assert draft.document_id == texts[1].document_id
    for question in texts[1].questions:
        labelling.answer(session, question.id, author, declined=True, seconds=0)
    draft.continue_latest(labelling.load_labelling(session), author)
    assert draft.document_id == texts[0].document_id
    labelling.submit(session, author, "The call is tomorrow.")
    draft.continue_latest(labelling.load_labelling(session), author)
    assert draft.document_id == texts[0].document_id


def test_answer_after_a_rename_gives_the_label(session: ProjectSession) -> None:
    moods = Codebook(name="Mood", kind="choice", labels=(Label(name="Calm", id="a"), Label(name="Worried", id="b")))
    session.store.codebooks.save(moods)
    author = labelling.give_consent(session, "ada")
    submission = labelling.submit(session, author, TEXT)
    renamed = (Label(name="Relaxed", id="a"), moods.labels[1])
    session.store.codebooks.save(Codebook(name="Mood", kind="choice", labels=renamed))
    labelling.answer(session, submission.questions[0].id, author, choice="Calm", seconds=6)
    document = session.store.documents.get(submission.document_id)
    assert document is not None
    assert document.gold == {"author": {CHOICE_ITEM: "a"}}
    assert labelling.load_labelling(session).learned.examples == {CHOICE_ITEM: [AnsweredText(TEXT, "Relaxed")]}
    removed = labelling.submit(session, author, "Nothing of this will be ready before the end of the week.")
    reduced = (moods.labels[1], Label(name="Proud", id="c"))
    session.store.codebooks.save(Codebook(name="Mood", kind="choice", labels=reduced))
    labelling.answer(session, removed.questions[0].id, author, choice="Relaxed", seconds=6)
    document = session.store.documents.get(removed.document_id)
    assert document is not None
    assert document.gold == {}, "a label that was removed gives no gold"
    assert labelling.load_labelling(session).learned.examples == {}


def test_excluded_texts_are_counted_without_their_words(session: ProjectSession) -> None:
    author = labelling.give_consent(session, "ada")
    submission = labelling.submit(session, author, "I was diagnosed today and need advice.")
    assert (submission.excluded, submission.text, submission.questions) == ("sensitive", "", ())
    assert session.store.documents.count() == 0
    labelling.submit(session, author, TEXT)
    assert labelling.submit(session, author, TEXT.upper()).excluded == "repeated"
    assert session.store.documents.count() == 1


def test_personal_data_never_reaches_the_project(session: ProjectSession) -> None:
    labelling.save_settings(session, names=["Zork"])
    author = labelling.give_consent(session, "ada")
    submission = labelling.submit(session, author, "Tell Zork and Emma today: my mail is e@x.org, call +49 30 901820.")
    assert submission.text == "Tell [name] and [name] today: my mail is [email], call [phone]."
    log = json.dumps([str(entry) for entry in session.store.author_log.entries()])
    assert not {"Zork", "Emma", "e@x.org", "901820"} & set(log.replace("'", " ").split())
    assert "e@x.org" not in log


def test_conversation_is_context_of_the_document(session: ProjectSession) -> None:
    author = labelling.give_consent(session, "ada")
    first = labelling.submit(session, author, TEXT)
    reply = labelling.reply_in_chat(session, first)
    assert "not a language model" in reply.text
    before = (ConversationMessage("author", first.text), reply)
    later = "And today I still have no idea."
    second = labelling.submit(session, author, later, conversation=first.conversation, before=before)
    document = session.store.documents.get(second.document_id)
    assert document is not None
    assert document.group == first.conversation
    assert document.fields["conversation"].startswith("Author: I have to hand in")
    sensitive = (ConversationMessage("author", "I was diagnosed last week."),)
    third = labelling.submit(session, author, "So the report has to wait, I fear.", before=sensitive)
    assert (third.excluded, third.before) == ("sensitive", ())


def test_recommends_after_warm_up_and_alternates(session: ProjectSession) -> None:
    catalogue = "[{name: Planner, text: Plan the week., keywords: [report], labels: {Urgent: Yes}}]"
    labelling.save_settings(session, warm_up=1, catalogue=catalogue.replace("Yes", '"Yes"'))
    author = labelling.give_consent(session, "ada")
    first = labelling.submit(session, author, TEXT)
    assert labelling.recommend(session, first) is None, "no recommendations during the warm-up"
    urgent = next(question for question in first.questions if question.item == URGENT)
    labelling.answer(session, urgent.id, author, choice="Yes", seconds=6)
    second = labelling.submit(session, author, "The second report is due tomorrow as well.")
    assert second.questions, "questions do not depend on recommendations"
    for _ in range(2):
        entry = labelling.recommend(session, second)
        assert entry is not None
        assert entry.name == "Planner"
    shown = labelling.load_labelling(session).impression(second.document_id)
    assert shown is not None
    assert (shown.arm, shown.matches) == (SELECTOR, (URGENT,))
    labelling.react(session, second)
    labelling.react(session, second, helpful=True)
    assert len(labelling.load_labelling(session).reactions(second.document_id)) == 2
    third = labelling.submit(session, author, "Tomorrow the third report follows, sadly.")
    assert labelling.recommend(session, third) is not None
    keywords = labelling.load_labelling(session).impression(third.document_id)
    assert keywords is not None
    assert keywords.arm == "keywords"


def test_state_is_replayed_from_the_file(session: ProjectSession) -> None:
    author = labelling.give_consent(session, "ada")
    submission = labelling.submit(session, author, TEXT)
    labelling.answer(session, submission.questions[0].id, author, abstention="none of these", seconds=5)
    before = labelling.load_labelling(session)
    assert [entry for entry in session.store.author_log.entries() if isinstance(entry, Submission)] == [submission]
    assert labelling.replay(session.store.author_log.entries()) == before.learned


REPLIES = {
    "which questions make sense": '{"relevant": [2]}',
    "guess how the author of a text": '{"value": "Uneasy about time", "certainty": 80}',
    "write one question": '{"question": "How do you feel?", "options": ["Uneasy about time", "Bored", "Keen", "none"]}',
    "helpful chat model": "<think>They want help.</think>\nStart with the summary. Ask Emma.",
}


def replying(replies: dict[str, str]) -> Any:
    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        head = body["messages"][0]["content"]
        text = next(reply for phrase, reply in replies.items() if phrase in head)
        return await reply_with(text)(request, body)

    return behave


def test_language_model_makes_options_for_the_text(session: ProjectSession) -> None:
    with Scripted(replying(REPLIES)) as server:
        session.models.add(parse_connection("local", server.url))
        labelling.save_settings(session, model="local/tiny")
        author = labelling.give_consent(session, "ada")
        submission = labelling.submit(session, author, TEXT + " Emma knows.")
        (question,) = submission.questions
        assert question.item == FEELING
        assert set(question.options) == {"Uneasy about time", "Bored", "Keen"}, "'none' is not an option"
        assert question.predicted == "Uneasy about time"
        assert submission.predictions[FEELING].certainty == pytest.approx(0.8)
        assert labelling.reply_in_chat(session, submission).text == "Start with the summary. Ask [name]."
        assert not any("Emma" in json.dumps(body) for body in server.requests), "names are masked before sending"


def test_unreadable_replies_leave_a_text_without_questions(session: ProjectSession) -> None:
    with Scripted(replying(dict.fromkeys(REPLIES, "I would rather not say."))) as server:
        session.models.add(parse_connection("local", server.url))
        labelling.save_settings(session, model="local/tiny")
        submission = labelling.submit(session, labelling.give_consent(session, "ada"), TEXT)
        assert (submission.excluded, submission.questions) == ("nothing relevant", ())
        assert len(server.requests) == 2, "retried once"
        assert session.store.documents.count() == 1, "the text is kept"


def test_text_whose_reply_was_unreadable_can_be_sent_again(session: ProjectSession) -> None:
    replies = dict.fromkeys(REPLIES, "I would rather not say.")
    with Scripted(replying(replies)) as server:
        session.models.add(parse_connection("local", server.url))
        labelling.save_settings(session, model="local/tiny")
        author = labelling.give_consent(session, "ada")
        labelling.submit(session, author, "The first report is due tomorrow.")
        for _ in range(SPAM_TEXTS):
            assert labelling.submit(session, author, TEXT).excluded == "nothing relevant"
        assert author_report(session).collection.spam_authors == 0
        replies |= REPLIES
        assert labelling.submit(session, author, TEXT).questions, "the unreadable reply is not reused"
        assert labelling.submit(session, author, TEXT).excluded == "repeated"


def test_random_text_of_a_real_server_is_a_chat_reply_but_not_a_question(
    session: ProjectSession, tmp_path: Path
) -> None:
    with llama_cpp(tmp_path, "--ctx", "2048") as url:
        session.models.add(parse_connection("toy", url))
        labelling.save_settings(session, model="toy/tiny-random")
        submission = labelling.submit(session, labelling.give_consent(session, "ada"), TEXT)
        assert (submission.excluded, submission.questions) == ("nothing relevant", ()), (
            "random text does not have the requested format"
        )
        assert labelling.reply_in_chat(session, submission).text


def test_settings_are_checked(session: ProjectSession) -> None:
    for changes in ({"m": 5}, {"model": "nowhere/x"}, {"catalogue": "- {name: A}"}, {"catalogue": "just text"}):
        with pytest.raises(UsageError):
            labelling.save_settings(session, **changes)
    assert labelling.load_settings(session) == labelling.LabellingSettings()


def test_codebook_with_only_open_labels_cannot_run(session: ProjectSession) -> None:
    from core.errors import CodebookError
    from core.services.runs import planning

    assert planning.project_settings(session, planning.Plan()).codebook.names == ("Urgent",)
    session.store.codebooks.save(Codebook(labels=(Label(name="Mood", open="word"),)))
    with pytest.raises(CodebookError, match="only open labels"):
        planning.project_settings(session, planning.Plan())


def test_model_that_takes_too_long_is_a_model_error(session: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        await asyncio.sleep(5)
        return await reply_with("late")(request, _body)

    with Scripted(wait) as server:
        session.models.add(parse_connection("lab", server.url))
        labelling.save_settings(session, model="lab/m")
        author = labelling.give_consent(session, "ada")
        monkeypatch.setattr(labelling, "STEP_SECONDS", 0.5)
        with pytest.raises(TimedOut, match="lab/m did not answer within"):
            labelling.submit(session, author, TEXT)
    assert not [entry for entry in session.store.author_log.entries() if isinstance(entry, Submission)]
