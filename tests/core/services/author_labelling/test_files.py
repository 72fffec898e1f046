"""Tests of hostile chat files: they are refused with an error message and nothing is stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.author_labelling.questions import Submission
from core.codebook import Codebook, Label
from core.errors import InputError
from core.services.author_labelling import files, labelling
from core.services.author_labelling.report import author_report
from core.services.codebooks.codebook import read_codebook
from core.services.project_session import ProjectSession
from core.services.workspace import Workspace

SAMPLES = Path(__file__).parents[4] / "sample_data"
CHATS = [json.loads(line) for line in (SAMPLES / "author_chats.jsonl").read_text(encoding="utf-8").splitlines()]
YES_NO = next(
    {**question, "answer": "", "annotators": {}}
    for chat in CHATS
    for question in chat.get("questions", [])
    if set(question.get("options", ())) == {"Yes", "No"}
)
Import: Any = Callable[..., int]


@pytest.fixture
def session(workspace: Workspace, tmp_path: Path) -> ProjectSession:
    opened = workspace.open(tmp_path / "p.duckdb")
    opened.store.codebooks.save(read_codebook(SAMPLES / "author_chats.yaml"))
    return opened


def import_one(session: ProjectSession, **changes: object) -> tuple[int, int]:
    path = session.path.with_name("chats.jsonl")
    path.write_text(json.dumps({**CHATS[0], "questions": [], **changes}), encoding="utf-8")
    return files.import_chats(session, path)


@pytest.mark.parametrize("at", [float("nan"), float("inf"), 1e300, -1e300, 1e18, -1])
def test_invalid_time_is_refused(session: ProjectSession, at: float) -> None:
    with pytest.raises(InputError, match="line 1: at"):
        import_one(session, at=at, recommended="Tent")
    assert author_report(session).collection.texts == 0


@pytest.mark.parametrize("group", ["author", " author ", "", "built-in", "models", "random"])
def test_annotators_cannot_answer_in_the_name_of_the_author(session: ProjectSession, group: str) -> None:
    with pytest.raises(InputError, match="cannot be a group of annotators"):
        import_one(session, questions=[YES_NO | {"annotators": {group: "A"}}])
    assert session.store.documents.ids() == []


def test_arm_counts_only_if_something_was_recommended(session: ProjectSession) -> None:
    with pytest.raises(InputError, match="line 1: the arm '' does not exist"):
        import_one(session, recommended="Tent", arm="")
    assert import_one(session, recommended="", arm="", clicks=0) == (1, 0)


def test_number_of_answers_is_limited(session: ProjectSession) -> None:
    with pytest.raises(InputError, match="at most 1000"):
        import_one(session, questions=[YES_NO | {"annotators": {"people": "A" * 1001}}])
    with pytest.raises(InputError, match="at most 100"):
        import_one(session, questions=[YES_NO | {"annotators": {f"g{n}": "A" for n in range(101)}}])


@pytest.mark.parametrize("options", [["Good", "good"], ["Yes", " yes "], ["Good", ""], ["Good", "#"]])
def test_empty_or_repeated_option_is_refused(session: ProjectSession, options: list[str]) -> None:
    with pytest.raises(InputError, match="has an empty or repeated option"):
        import_one(session, questions=[YES_NO | {"options": options, "predicted": None}])
    assert session.store.documents.ids() == []


def test_questions_options_and_answers_are_masked(session: ProjectSession) -> None:
    labels = (Label(name="Urgent"), Label(name="Person", open="options"), Label(name="Who", open="word"))
    session.store.codebooks.save(Codebook(name="Notes", labels=labels))
    labelling.save_settings(session, names=["Zork", "Yes"])
    options = ["Zork", "Write to e@x.org"]
    questions = [
        {
            "label": "Urgent",
            "question": "Does Zork ask?",
            "options": ["Yes", "No"],
            "predicted": "Yes",
            "answer": "Yes",
        },
        {"label": "Person", "question": "Which?", "options": options, "predicted": "Zork", "answer": "Zork"},
        {"label": "Who", "question": "Who?", "predicted": "Zork", "answer": "Zork"},
    ]
    import_one(session, questions=questions)
    text = files.export_labels(session, ".jsonl").decode()
    assert "Zork" not in text
    assert "e@x.org" not in text
    urgent, person, who = labelling.load_labelling(session).questions.values()
    assert urgent.question.options == ("Yes", "No"), "names in the codebook stay"
    assert (person.question.options, person.question.predicted) == (("[name]", "Write to [email]"), "[name]")
    assert person.author_answer is not None
    assert person.truth == 0
    assert who.author_answer is not None
    assert who.author_answer.choice == "[name]"
    with pytest.raises(InputError, match="has an empty or repeated option"):
        import_one(session, author="bo", questions=[questions[1] | {"options": ["Zork", "Emma"]}])


@pytest.mark.parametrize("answer", ["not sure", "Not sure", "None of these"])
def test_abstention_is_read_in_any_case(session: ProjectSession, answer: str) -> None:
    session.store.codebooks.save(Codebook(name="Notes", labels=(Label(name="Urgent"), Label(name="Who", open="word"))))
    word = {"label": "Who", "question": "Who?", "answer": answer}
    import_one(session, questions=[YES_NO | {"label": "Urgent", "answer": answer}, word])
    answers = [question.author_answer for question in labelling.load_labelling(session).questions.values()]
    assert [(each.choice, each.abstention) for each in answers if each] == [(None, answer.lower())] * 2


def test_second_file_continues_the_first(session: ProjectSession) -> None:
    def line(text: str, conversation: str) -> str:
        messages = [{"role": "author", "text": text}]
        return json.dumps({"author": "ada", "conversation": conversation, "at": 1, "messages": messages})

    first = "I have to hand in the report tomorrow."
    path = session.path.with_name("chats.jsonl")
    path.write_text(line(first, "a"), encoding="utf-8")
    assert files.import_chats(session, path) == (1, 0)
    path.write_text("\n".join([line(first, "a"), line(first, "b"), line("Then I am off for a week.", "c")]))
    assert files.import_chats(session, path) == (2, 0)
    current = labelling.load_labelling(session)
    assert [submission.excluded for submission in current.submissions("ada")] == ["", "repeated", ""]
    assert current.consenting == set(), "the author of an imported text has not read the text of Moot"
    assert labelling.give_consent(session, "ada") in labelling.load_labelling(session).consenting
    documents = session.store.documents
    assert [document.order for id in documents.ids() if (document := documents.get(id))] == [0, 2]


def test_sample_project_opens_after_a_label_was_renamed(workspace: Workspace) -> None:
    path = files.ensure_sample_project(workspace)
    book = read_codebook(SAMPLES / "author_chats.yaml")
    labels = (book.labels[0].model_copy(update={"name": "Plan"}), *book.labels[1:])
    workspace.open(path).store.codebooks.save(book.model_copy(update={"labels": labels}))
    assert files.ensure_sample_project(workspace) == path


def test_sample_that_does_not_fit_the_codebook_changes_nothing(session: ProjectSession) -> None:
    session.store.codebooks.save(Codebook(labels=(Label(name="Urgent"),)))
    with pytest.raises(InputError, match="no label"):
        files.load_sample(session)
    assert labelling.load_settings(session).catalogue == ""


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"author": "  "}, "A name or code is missing"),
        ({"questions": [{"label": "Mood", "question": "Mood?", "answer": "two words"}]}, "not one word"),
        ({"questions": [{"label": "Mood", "question": "Mood?", "answer": "a" * 41}]}, "not one word"),
        ({"questions": [YES_NO | {"options": ["today", "later"]}]}, "not those of the label"),
        ({"questions": [YES_NO | {"options": []}]}, "not those of the label"),
    ],
)
def test_file_gives_only_answers_that_the_page_accepts(
    session: ProjectSession, changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError, match=f"line 1: .*{problem}"):
        import_one(session, **changes)


def test_names_of_authors_have_single_spaces(session: ProjectSession) -> None:
    import_one(session, author=" Ann \n Lee")
    assert len(labelling.load_labelling(session).submissions("Ann Lee")) == 1


def test_annotators_are_added_to_texts_imported_before(session: ProjectSession) -> None:
    yes = YES_NO | {"answer": "Yes", "annotators": {"readers": "A"}}
    chat = {"questions": [yes], "recommended": "Tent", "clicks": 1}
    assert import_one(session, **chat) == (1, 2)
    assert import_one(session, **chat) == (0, 0)
    added = yes | {"annotators": {"readers": "AB", "experts": "A"}}
    assert import_one(session, **chat | {"questions": [added]}) == (0, 2)
    assert {group.group: group.labels for group in author_report(session).groups} == {"readers": 2, "experts": 1}
    for changes in (
        {"questions": [yes, {"label": "Mood", "question": "Mood?", "answer": "glad"}]},
        {"questions": [yes | {"options": ["No", "Yes"]}]},
        {"questions": [yes | {"answer": "No"}]},
        {"questions": [yes | {"annotators": {"readers": "B"}}]},
        {"recommended": "Stove"},
        {"clicks": 2},
    ):
        with pytest.raises(InputError, match="line 1: the text was imported before"):
            import_one(session, **chat | changes)


def test_sensitive_message_is_not_stored_with_a_later_text(session: ProjectSession) -> None:
    messages = [
        {"role": "author", "text": "My doctor diagnosed me with cancer yesterday."},
        {"role": "assistant", "text": "I am sorry."},
        {"role": "author", "text": "Should I tell my boss about it before tomorrow?"},
    ]
    assert import_one(session, messages=messages, questions=[YES_NO]) == (1, 0)
    (entry,) = (entry for entry in labelling.load_labelling(session).log if isinstance(entry, Submission))
    assert (entry.excluded, entry.text, entry.before) == ("sensitive", "", ())
    assert session.store.documents.ids() == []


def test_second_question_about_a_label_is_refused(session: ProjectSession) -> None:
    second = YES_NO | {"label": YES_NO["label"].upper()}
    with pytest.raises(InputError, match="has two questions"):
        import_one(session, questions=[YES_NO, second])
    assert session.store.documents.ids() == []


def test_formulas_are_escaped_in_the_export(session: ProjectSession) -> None:
    question = YES_NO | {"annotators": {"=1+1": "A"}}
    import_one(session, author='=HYPERLINK("http://evil")', conversation="@SUM(1)", questions=[question])
    text = files.export_labels(session, ".csv").decode("utf-8-sig")
    assert "'=1+1" in text
    assert "'=HYPERLINK" in text
    assert ",=" not in text
    assert ",@" not in text
